#include <rope/rope.hpp>
