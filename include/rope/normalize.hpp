#pragma once

#include <concepts>
#include <type_traits>

#include "rope/argument.hpp"
#include "rope/detail/norm_call.hpp"
#include "rope/detail/rotate_call.hpp"
#include "rope/detail/source.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/executor.hpp"
#include "rope/normed_options.hpp"
#include "rope/rms_norm.hpp"
#include "rope/scalar.hpp"
#include "rope/view.hpp"

namespace rope {
namespace detail {

/// A container or span of what elements of T are computed with, to be written.
template <class S, class T>
concept ScalesOf = LastingContainer<S> && Element<std::remove_const_t<T>> &&
    std::same_as<source_element_t<S>, compute_type_t<std::remove_const_t<T>>>;

}  // namespace detail

inline namespace ROPE_DETAIL_UNIT {

/// Normalises every head of x in place, without rotating it: for heads that are normalised but not
/// rotated, or where the two happen apart.
///
/// The sum of squares has a fixed order and the square root and the division are correctly rounded,
/// so the bits are the same everywhere. 16-bit results are rounded at the end in any case. Throws
/// InvalidArgument as rotate() with a norm does. Never allocates.
template <detail::Mutable T>
void normalize(View<T> x, const RmsNorm<compute_type_t<T>>& norm,
               const NormalizeOptions& options = {}) {
  detail::normalize_one<T>("rope::normalize", x, x, norm, options);
}

/// The same from `in` into `out`, under the conditions of rotate_to().
template <detail::Mutable T, detail::ReadableAs<T> In>
void normalize_to(View<In> in, View<T> out, const RmsNorm<compute_type_t<T>>& norm,
                  const NormalizeOptions& options = {}) {
  detail::normalize_one<T>("rope::normalize_to", in, out, norm, options);
}

/// The verdicts of normalize() and normalize_to() on the same arguments; neither throws nor
/// allocates.
template <detail::Mutable T>
Status check_normalize(View<T> x, const RmsNorm<compute_type_t<T>>& norm,
                       const NormalizeOptions& options = {}) noexcept {
  return detail::check_normalization<T>("rope::normalize", x, x, norm, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In>
Status check_normalize_to(View<In> in, View<T> out, const RmsNorm<compute_type_t<T>>& norm,
                          const NormalizeOptions& options = {}) noexcept {
  return detail::check_normalization<T>("rope::normalize_to", in, out, norm, options);
}

/// Writes the scale of each token, 1 / sqrt(mean of x^2 + epsilon) over all of its heads, for
/// olmo2_norm() and scaled_norm(): `scales` has room for [batch * tokens].
///
/// Where the heads are divided among machines, the mean needs all of them; then make the scales
/// there. Throws InvalidArgument for another number of scales, for scales that lie in x, and for an
/// epsilon that is negative or not finite.
template <class T, detail::ScalesOf<T> S>
void token_scales(View<T> x, Real epsilon, S&& scales, ExecutorRef executor = {}) {
  const auto room = detail::source(scales);
  detail::write_token_scales<std::remove_const_t<T>>("rope::token_scales", x, epsilon, room.data,
                                                     room.size, executor);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
