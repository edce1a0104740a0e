#pragma once

#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope {

/// What happens to the numbers that are already where a gradient goes. There is no default: adding
/// to what was never set, or losing the gradient of the other of q and k, both look almost right.
enum class Accumulation : unsigned char {
  overwrite,  ///< they are replaced
  add,        ///< the gradient is added to them
};

/// True for a value that is one of the two.
ROPE_DETAIL_FORWARD constexpr bool is_valid(Accumulation accumulation) noexcept {
  return accumulation == Accumulation::overwrite || accumulation == Accumulation::add;
}

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_accumulation(const char* who, Accumulation accumulation) noexcept {
  if (!is_valid(accumulation)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: accumulation has the value %d, which names none", who,
                   static_cast<int>(accumulation));
  }
  return {};
}

}  // namespace detail::inline ROPE_DETAIL_UNIT
}  // namespace rope
