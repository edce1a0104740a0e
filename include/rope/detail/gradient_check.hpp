#pragma once

#include <cstdint>

#include "rope/coordinates.hpp"
#include "rope/detail/layout.hpp"
#include "rope/detail/overlap.hpp"
#include "rope/detail/rotate_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/frequencies.hpp"
#include "rope/row_positions.hpp"
#include "rope/view.hpp"

namespace rope::detail::inline ROPE_DETAIL_UNIT {

inline Status check_frequency_gradient(std::int64_t axes, std::int64_t heads, std::int64_t pairs,
                                       bool is_null, std::int64_t size) noexcept {
  constexpr const char* who = "rope::FrequencyGradient";
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  if (axes < 1 || heads < 1 || pairs < 1 || __builtin_mul_overflow(axes, heads, &count) ||
      __builtin_mul_overflow(count, pairs, &count) ||
      __builtin_mul_overflow(count, std::int64_t{sizeof(double)}, &bytes)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: the shape [%lld, %lld, %lld] (axes, heads, pairs) must have extents of at "
                   "least 1 and fewer than 2^60 values",
                   who, static_cast<long long>(axes), static_cast<long long>(heads),
                   static_cast<long long>(pairs));
  }
  if (size >= 0 && size != count) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: %lld values, but the shape [%lld, %lld, %lld] (axes, heads, pairs) needs "
                   "%lld",
                   who, static_cast<long long>(size), static_cast<long long>(axes),
                   static_cast<long long>(heads), static_cast<long long>(pairs),
                   static_cast<long long>(count));
  }
  if (is_null) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: values are null, but %lld are needed", who,
                   static_cast<long long>(count));
  }
  return {};
}

/// Checks y and its gradient against each other and the frequencies' heads and pairs.
inline Status check_gradient_input(const char* who, const Layout& y, const Layout& gradient_y,
                                   std::int64_t heads, std::int64_t pairs,
                                   std::int64_t first_dim) noexcept {
  for (int axis = 0; axis < 4; ++axis) {
    if (y.extent[axis] != gradient_y.extent[axis]) [[unlikely]] {
      return failure(ErrorKind::invalid_argument, "%s: y has %s %lld, but gradient_y has %lld", who,
                     axis_name(axis), static_cast<long long>(y.extent[axis]),
                     static_cast<long long>(gradient_y.extent[axis]));
    }
  }
  if (heads != 1 && heads != y.extent[2]) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: there are frequencies for each of %lld heads, but y has %lld heads", who,
                   static_cast<long long>(heads), static_cast<long long>(y.extent[2]));
  }
  const std::int64_t dim = y.extent[3];
  if (first_dim < 0 || pairs > dim / 2 || first_dim > dim - 2 * pairs) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: the rotated part, %lld dims from first_dim %lld on, is not within the %lld "
                   "dims of y",
                   who, static_cast<long long>(2 * pairs), static_cast<long long>(first_dim),
                   static_cast<long long>(dim));
  }
  return {};
}

/// Checks positions, or their gradient, against the tokens; `what` says which.
inline Status check_gradient_tokens(const char* who, const char* what, std::int64_t batch,
                                    std::int64_t tokens, const Layout& y) noexcept {
  if (tokens != y.extent[1] || (batch != 1 && batch != y.extent[0])) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: %s [%lld, %lld] (batch or 1, tokens), but y has batch %lld and tokens %lld",
                   who, what, static_cast<long long>(batch), static_cast<long long>(tokens),
                   static_cast<long long>(y.extent[0]), static_cast<long long>(y.extent[1]));
  }
  return {};
}

inline Status check_gradient_positions(const char* who, const CoordinatesView& positions,
                                       std::int64_t axes, const Layout& y) noexcept {
  if (positions.axes() != axes) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: positions have %lld axes, but the gradient has %lld", who,
                   static_cast<long long>(positions.axes()), static_cast<long long>(axes));
  }
  return check_gradient_tokens(who, "positions have", positions.batch(), positions.tokens(), y);
}

inline Status check_gradient_positions(const char* who, const Positions& positions,
                                       std::int64_t axes, const Layout& y) noexcept {
  if (axes != 1) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: whole positions have 1 axis, but the gradient has %lld", who,
                   static_cast<long long>(axes));
  }
  // As many as a double counts.
  return check_positions(who, positions, y, std::int64_t{1} << 53);
}

inline Status check_gradient_frequencies(const char* who, const Frequencies& frequencies,
                                         std::int64_t axes) noexcept {
  if (frequencies.axes() != axes) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: frequencies have %lld axes, but the gradient has %lld", who,
                   static_cast<long long>(frequencies.axes()), static_cast<long long>(axes));
  }
  const auto values = static_cast<std::int64_t>(frequencies.values().size());
  if (values != frequencies.axes() * frequencies.heads() * frequencies.pairs()) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: frequencies hold %lld values for %lld axes, %lld heads and %lld pairs: "
                   "they were moved from",
                   who, static_cast<long long>(values), static_cast<long long>(frequencies.axes()),
                   static_cast<long long>(frequencies.heads()),
                   static_cast<long long>(frequencies.pairs()));
  }
  return {};
}

/// Checks that `size` packed doubles share no memory with y or its gradient.
template <class Y, class G>
Status check_gradient_memory(const char* who, const double* gradient, std::int64_t size,
                             View<const Y> y, View<const G> gradient_y) noexcept {
  if (y.empty() || size == 0) return {};
  const Footprint written = {reinterpret_cast<std::uintptr_t>(gradient),
                             Layout{{1, 1, 1, size}, {0, 0, 0, 1}}, sizeof(double)};
  const Footprint read[] = {
      {reinterpret_cast<std::uintptr_t>(y.data()), y.layout(), sizeof(Y)},
      {reinterpret_cast<std::uintptr_t>(gradient_y.data()), gradient_y.layout(), sizeof(G)}};
  for (int i = 0; i < 2; ++i) {
    if (share_memory(written, read[i])) [[unlikely]] {
      return failure(ErrorKind::invalid_argument, "%s: the gradient and %s share memory", who,
                     i == 0 ? "y" : "gradient_y");
    }
  }
  return {};
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
