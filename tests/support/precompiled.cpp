// Nothing but a reason to precompile precompiled.hpp.
