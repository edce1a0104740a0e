#pragma once

// All of rope for code that uses Eigen; rope/core.hpp is the part that does without.

#include "rope/core.hpp"
#include "rope/eigen.hpp"
