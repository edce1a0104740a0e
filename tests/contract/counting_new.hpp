// How often any form of operator new was called in this program; see counting_new.cpp.
#pragma once

#include <atomic>
#include <cstdint>

namespace contract {

extern std::atomic<std::int64_t> allocations;

}  // namespace contract
