#include <rope/core.hpp>
