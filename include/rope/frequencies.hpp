#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/ladder.hpp"
#include "rope/detail/scheme.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/parameters.hpp"

namespace rope {
namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_frequencies(std::span<const double> values, std::int64_t axes,
                                std::int64_t heads, std::int64_t pairs, double magnitude) noexcept {
  std::int64_t count = 0;
  if (axes < 1 || heads < 1 || pairs < 1 || __builtin_mul_overflow(axes, heads, &count) ||
      __builtin_mul_overflow(count, pairs, &count) || !std::in_range<std::ptrdiff_t>(count))
      [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "rope::Frequencies: the shape [%lld, %lld, %lld] (axes, heads, pairs) must have "
                   "extents of at least 1 "
                   "and fewer than 2^63 values",
                   static_cast<long long>(axes), static_cast<long long>(heads),
                   static_cast<long long>(pairs));
  }
  if (!std::cmp_equal(values.size(), count)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "rope::Frequencies: %zu values, but the shape [%lld, %lld, %lld] (axes, heads, "
                   "pairs) needs %lld",
                   values.size(), static_cast<long long>(axes), static_cast<long long>(heads),
                   static_cast<long long>(pairs), static_cast<long long>(count));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_finite(values[i])) [[unlikely]] {
      return failure(ErrorKind::invalid_argument,
                     "rope::Frequencies: values[%zu] must be finite, got %g", i, values[i]);
    }
  }
  if (!is_finite(magnitude)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "rope::Frequencies: magnitude must be finite, got %g", magnitude);
  }
  return {};
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

/// The numbers behind every rotary embedding: a frequency, in radians per unit of position, for
/// each position axis, head and pair, and one magnitude by which cos and sin are multiplied (the
/// attention factor of YaRN and LongRoPE).
///
/// A pair turns by the sum over the axes of position[axis] * frequency. One set of heads serves all
/// heads of q and k. Immutable; made by frequencies(), or from any numbers of the caller.
class Frequencies {
 public:
  /// Any frequencies: `values` is [axes, heads, pairs], row-major, in the order of `shape`; heads
  /// is 1 where all share them.
  ///
  /// Throws InvalidArgument for an extent below 1, a wrong number of values, and values or a
  /// magnitude that are not finite. O(values).
  ROPE_DETAIL_FORWARD Frequencies(std::vector<double> values, const Extents<3>& shape,
                                  Real magnitude = 1.0)
      : values_(std::move(values)),
        axes_(shape[0]),
        heads_(shape[1]),
        pairs_(shape[2]),
        magnitude_(magnitude) {
    detail::require(detail::check_frequencies({values_.data(), values_.size()}, axes_, heads_,
                                              pairs_, magnitude_));
  }

  // Spelt out for their attribute: implicit ones could be shared by differently compiled units.
  ROPE_DETAIL_FORWARD Frequencies(const Frequencies&) = default;
  ROPE_DETAIL_FORWARD Frequencies(Frequencies&&) = default;
  ROPE_DETAIL_FORWARD Frequencies& operator=(const Frequencies&) = default;
  ROPE_DETAIL_FORWARD Frequencies& operator=(Frequencies&&) = default;
  ROPE_DETAIL_FORWARD ~Frequencies() = default;

  ROPE_DETAIL_FORWARD std::int64_t axes() const noexcept { return axes_; }
  /// 1 where all heads share the frequencies.
  ROPE_DETAIL_FORWARD std::int64_t heads() const noexcept { return heads_; }
  ROPE_DETAIL_FORWARD std::int64_t pairs() const noexcept { return pairs_; }
  ROPE_DETAIL_FORWARD std::int64_t rotary_dim() const noexcept { return 2 * pairs_; }
  ROPE_DETAIL_FORWARD double magnitude() const noexcept { return magnitude_; }

  /// All values, [axes, heads, pairs] row-major.
  ROPE_DETAIL_FORWARD std::span<const double> values() const& noexcept {
    return {values_.data(), values_.size()};
  }
  std::span<const double> values() const&& = delete;  // of a temporary: the span would dangle

  /// One frequency; the indices are not checked.
  ROPE_DETAIL_FORWARD double operator()(std::int64_t axis, std::int64_t head,
                                        std::int64_t pair) const noexcept {
    return values_[static_cast<std::size_t>((axis * heads_ + head) * pairs_ + pair)];
  }

 private:
  std::vector<double> values_;
  std::int64_t axes_;
  std::int64_t heads_;
  std::int64_t pairs_;
  double magnitude_;
};

namespace detail::inline ROPE_DETAIL_UNIT {

/// Far above any head, and low enough that every size made of it can be computed.
inline constexpr std::int64_t largest_rotary_dim = std::int64_t{1} << 32;

inline Status check_parameters(const char* who, const Parameters& parameters,
                               std::optional<std::int64_t> sequence_length) noexcept {
  const std::int64_t rotary_dim = parameters.rotary_dim.value();
  if (rotary_dim <= 0 || rotary_dim % 2 != 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: rotary_dim must be even and above 0, got %lld",
                   who, static_cast<long long>(rotary_dim));
  }
  if (rotary_dim > largest_rotary_dim) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: rotary_dim must be at most 2^32, got %lld",
                   who, static_cast<long long>(rotary_dim));
  }
  const double base = parameters.base;
  if (!is_finite(base) || !(base > 1)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: base must be finite and above 1, got %g", who,
                   base);
  }
  if (sequence_length && *sequence_length < 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: sequence_length must not be negative, got %lld", who,
                   static_cast<long long>(*sequence_length));
  }
  return check_scheme(who, parameters.scaling, rotary_dim);
}

inline Frequencies make_frequencies(const Parameters& parameters,
                                    std::optional<std::int64_t> sequence_length) {
  require(check_parameters("rope::frequencies", parameters, sequence_length));
  const Ladder ladder = {log(parameters.base), parameters.rotary_dim.value(), sequence_length};
  std::vector<double> values(static_cast<std::size_t>(ladder.pairs()));
  write_frequencies(parameters.scaling, ladder, values.data());
  return Frequencies(std::move(values), {1, 1, ladder.pairs()},
                     scheme_magnitude(parameters.scaling, ladder));
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// The frequencies of a 1-D rotary embedding, [1, 1, rotary_dim / 2]: base^(-2i / rotary_dim) for
/// pair i, in radians per position, changed by the scaling scheme, and the scheme's magnitude.
///
/// Each is within 0.51 ulp of the exact value of its formula, and has the same bits on every
/// platform. Schemes that depend on the length of the sequence give what they give up to the
/// trained length: DynamicNtk the plain frequencies, LongRope those of the short list. Throws
/// InvalidArgument for a rotary_dim that is not even, above 0 and at most 2^32, a base that is not
/// finite and above 1, and what the scheme refuses. O(rotary_dim), a few microseconds a pair.
///
/// Source: Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding" (2021),
/// section 3.2.2.
inline Frequencies frequencies(const Parameters& parameters) {
  return detail::make_frequencies(parameters, std::nullopt);
}

/// The same for a sequence of `sequence_length` positions, the largest position + 1: DynamicNtk and
/// LongRope decide by it, and by nothing else; the other schemes do not look at it.
///
/// Throws InvalidArgument also for a negative sequence_length.
inline Frequencies frequencies(const Parameters& parameters, Extent sequence_length) {
  return detail::make_frequencies(parameters, sequence_length);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
