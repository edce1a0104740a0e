// Runs a test for both pairings.
#pragma once

#include "rope/pairing.hpp"
#include "support/reference.hpp"

namespace rope_test {

/// Calls `body.operator()<pairing>()` for each pairing.
template <class Body>
void for_both_pairings(Body body) {
  body.template operator()<rope::Pairing::interleaved>();
  body.template operator()<rope::Pairing::half_split>();
}

constexpr Partners partners_of(rope::Pairing pairing) {
  return pairing == rope::Pairing::interleaved ? Partners::neighbours : Partners::halves;
}

}  // namespace rope_test
