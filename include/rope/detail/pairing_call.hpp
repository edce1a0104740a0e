#pragma once

#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/pairing.hpp"

namespace rope::detail::inline ROPE_DETAIL_UNIT {

inline Status check_pairing(const char* who, Pairing pairing) noexcept {
  if (!is_valid(pairing)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: pairing has the value %d, which names no pairing", who,
                   static_cast<int>(pairing));
  }
  return {};
}

/// Calls `body.operator()<pairing>()` with a pairing that is known at run time, which it checks.
template <class Body>
void with_pairing(const char* who, Pairing pairing, const Body& body) {
  require(check_pairing(who, pairing));
  if (pairing == Pairing::interleaved) {
    body.template operator()<Pairing::interleaved>();
  } else {
    body.template operator()<Pairing::half_split>();
  }
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
