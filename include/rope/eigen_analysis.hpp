#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "rope/analysis.hpp"
#include "rope/argument.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/frequencies.hpp"
#include "rope/pairing.hpp"

namespace rope::inline ROPE_DETAIL_UNIT {

/// The rotation at a position as a dense matrix R [rotary_dim, rotary_dim]: R * x is what rotate()
/// makes of x. For reading, proofs and tests; rotate() does the same in O(rotary_dim).
///
/// With magnitude 1, R^T R = I, R(a) R(b) = R(a + b) and R(a)^T R(b) = R(b - a); a magnitude
/// multiplies the whole matrix. Positions may be negative or fractional. Entries are within an ulp
/// or so of the exact ones. Throws InvalidArgument for frequencies of several axes or sets of
/// heads, a position that is not finite, and angles beyond 2^53 radians. O(rotary_dim^2).
///
/// Source: Su et al., "RoFormer" (2021), section 3.2.2, equation 15.
template <Pairing pairing>
Eigen::MatrixXd rotation_matrix(const Frequencies& frequencies, Real position) {
  static_assert(is_valid(pairing));
  const double at = position;
  detail::require(detail::check_angles("rope::rotation_matrix", "position", frequencies, at));
  const std::int64_t pairs = frequencies.pairs();
  const auto size = static_cast<Eigen::Index>(2 * pairs);
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(size, size);
  for (std::int64_t i = 0; i < pairs; ++i) {
    constexpr bool halves = pairing == Pairing::half_split;
    const auto first = static_cast<Eigen::Index>(halves ? i : 2 * i);
    const auto second = static_cast<Eigen::Index>(halves ? i + pairs : 2 * i + 1);
    const auto [cos, sin] = detail::exact_cos_sin(at, frequencies(0, 0, i));
    matrix(first, first) = matrix(second, second) = frequencies.magnitude() * cos;
    matrix(second, first) = frequencies.magnitude() * sin;
    matrix(first, second) = -matrix(second, first);
  }
  return matrix;
}

}  // namespace rope::inline ROPE_DETAIL_UNIT
