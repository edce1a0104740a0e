#pragma once

#include <cstdint>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/frequencies.hpp"

namespace rope {
namespace detail::inline ROPE_DETAIL_UNIT {

inline Frequencies split_heads(const Frequencies& all, std::int64_t heads) {
  constexpr const char* who = "rope::split_heads";
  if (all.heads() != 1) {
    raise(failure(ErrorKind::invalid_argument,
                  "%s: frequencies must have 1 head, which is split, got %lld", who,
                  static_cast<long long>(all.heads())));
  }
  if (heads < 1 || heads > all.pairs() || all.pairs() % heads != 0) {
    std::int64_t below = heads < all.pairs() ? heads : all.pairs();
    while (below > 1 && all.pairs() % below != 0) --below;
    raise(failure(ErrorKind::invalid_argument,
                  "%s: %lld pairs do not divide into %lld heads of whole pairs; %lld heads would",
                  who, static_cast<long long>(all.pairs()), static_cast<long long>(heads),
                  static_cast<long long>(below < 1 ? 1 : below)));
  }
  // The pairs of a head follow one another, so that [axes, 1, heads * n] is [axes, heads, n].
  return Frequencies(std::vector<double>(all.values().begin(), all.values().end()),
                     {all.axes(), heads, all.pairs() / heads}, all.magnitude());
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// The frequencies of each head for a model that rotates all features of a token in one piece and
/// splits them into heads afterwards (LTX-Video, Lepard, 3D Diffuser Actor): [axes, 1, pairs]
/// become [axes, heads, pairs / heads], head h getting the pairs from h * (pairs / heads) on.
///
/// Only right for the interleaved pairing, whose pairs stay within a head. Throws InvalidArgument
/// for frequencies that already differ by head, and where the pairs do not divide into the heads.
inline Frequencies split_heads(const Frequencies& frequencies, Extent heads) {
  return detail::split_heads(frequencies, heads);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
