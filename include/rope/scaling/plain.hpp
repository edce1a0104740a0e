#pragma once

#include <cstdint>

#include "rope/detail/ladder.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope {

/// No scaling: the frequencies of RoFormer as they are. `rope_type` "default" of Hugging Face.
struct Plain {};

// Each scheme of this folder is a struct and three functions: what is wrong with it for a
// rotary_dim; the frequency of a pair, from that of the plain ladder; and the magnitude by which
// cos and sin are multiplied.
namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_scaling(const char*, const Plain&, std::int64_t) noexcept { return {}; }

inline auto frequency_rule(const Plain&, const Ladder&) {
  return [](std::int64_t, DoubleDouble plain) { return plain; };
}

/// For every scheme that leaves the magnitude at 1.
template <class Scheme>
double scaling_magnitude(const Scheme&, const Ladder&) noexcept {
  return 1.0;
}

}  // namespace detail::inline ROPE_DETAIL_UNIT
}  // namespace rope
