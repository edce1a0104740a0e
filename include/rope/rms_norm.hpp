#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include "rope/argument.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/norm_work.hpp"
#include "rope/detail/source.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope {

/// What a normalised feature is multiplied by.
enum class NormWeight : unsigned char {
  times_w,           ///< the weight w: Llama, Qwen 3, OLMo 2
  times_one_plus_w,  ///< 1 + w: Gemma
};

/// How an RMS norm is done. Nothing of it can be guessed.
struct RmsNormOptions {
  /// Added to the mean of the squares. At least 0; with 0, a head of zeros becomes NaN.
  required<Real> epsilon;
  required<NormWeight> weight;
  required<NormRounding> rounding;
};

/// The same where the scale of each token is given.
struct ScaledNormOptions {
  required<NormWeight> weight;
  required<NormRounding> rounding;
};

/// The RMS norm of heads: x * scale * weight, where scale is 1 / sqrt(mean of x^2 + epsilon) of the
/// head, or given for each token. Made by rms_norm(), scaled_norm() and the models' own.
///
/// The mean is over all features of a head, also those that are not rotated, and all of them are
/// normalised. Weights stand in the order of the features in memory, so that they belong to a
/// pairing just as the weights of q and k do: a model whose q and k are permuted from one pairing
/// to the other needs its norm weights permuted as well. C is the type that elements are computed
/// with, float or double. Refers to the caller's weights and scales without owning them; trivially
/// copyable.
template <class C>
class RmsNorm {
 public:
  using value_type = C;

  /// For the factories.
  ROPE_DETAIL_FORWARD RmsNorm(std::span<const C> weights, std::span<const C> token_scales,
                              bool has_token_scales, double epsilon, NormWeight weight,
                              NormRounding rounding) noexcept
      : weights_(weights),
        token_scales_(token_scales),
        epsilon_(epsilon),
        has_token_scales_(has_token_scales),
        weight_(weight),
        rounding_(rounding) {}

  ROPE_DETAIL_FORWARD std::span<const C> weights() const noexcept { return weights_; }
  /// Empty where scales are made from each head.
  ROPE_DETAIL_FORWARD std::span<const C> token_scales() const noexcept { return token_scales_; }
  ROPE_DETAIL_FORWARD bool has_token_scales() const noexcept { return has_token_scales_; }
  ROPE_DETAIL_FORWARD double epsilon() const noexcept { return epsilon_; }
  ROPE_DETAIL_FORWARD NormWeight weight() const noexcept { return weight_; }
  ROPE_DETAIL_FORWARD NormRounding rounding() const noexcept { return rounding_; }

 private:
  std::span<const C> weights_;
  std::span<const C> token_scales_;
  double epsilon_;
  bool has_token_scales_;
  NormWeight weight_;
  NormRounding rounding_;
};

namespace detail {

/// Weights or scales: float or double, and how many is known, so that it can be checked.
template <class S>
concept NormSource = LastingContainer<S> &&
    (std::same_as<std::remove_const_t<source_element_t<S>>, float> ||
     std::same_as<std::remove_const_t<source_element_t<S>>, double>);

template <NormSource S>
using norm_value_t = std::remove_const_t<source_element_t<S>>;

inline namespace ROPE_DETAIL_UNIT {

template <class T>
std::span<const T> norm_span(const Source<T>& given) noexcept {
  return {given.data, static_cast<std::size_t>(given.size)};
}
template <class T>
std::span<const T> norm_span(const Source<const T>& given) noexcept {
  return {given.data, static_cast<std::size_t>(given.size)};
}

inline Status check_epsilon(const char* who, double epsilon) noexcept {
  if (!is_finite(epsilon) || epsilon < 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: epsilon must be a finite number of at least 0, got %g", who, epsilon);
  }
  return {};
}

inline Status check_norm_choices(const char* who, NormWeight weight,
                                 NormRounding rounding) noexcept {
  if (weight != NormWeight::times_w && weight != NormWeight::times_one_plus_w) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: weight has the value %d, which names nothing",
                   who, static_cast<int>(weight));
  }
  if (rounding != NormRounding::none && rounding != NormRounding::after_weight &&
      rounding != NormRounding::before_and_after_weight) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: rounding has the value %d, which names nothing", who,
                   static_cast<int>(rounding));
  }
  return {};
}

template <class C>
RmsNorm<C> make_rms_norm(const char* who, std::span<const C> weights, double epsilon,
                         NormWeight weight, NormRounding rounding) {
  require(check_epsilon(who, epsilon));
  require(check_norm_choices(who, weight, rounding));
  return {weights, {}, false, epsilon, weight, rounding};
}

template <class C>
RmsNorm<C> make_scaled_norm(const char* who, std::span<const C> weights,
                            std::span<const C> token_scales, NormWeight weight,
                            NormRounding rounding) {
  require(check_norm_choices(who, weight, rounding));
  return {weights, token_scales, true, 0, weight, rounding};
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace detail

inline namespace ROPE_DETAIL_UNIT {

/// The RMS norm of each head: `weights` holds float or double (what the elements are computed
/// with), one for each feature of a head, or for each of every head, [heads, dim].
///
/// A container or span that must live until the rotation is done; weights of 16 bits are converted
/// exactly by the caller. How many there are is checked by the rotation. Throws InvalidArgument for
/// an epsilon that is negative or not finite.
template <detail::NormSource S>
RmsNorm<detail::norm_value_t<S>> rms_norm(S&& weights, const RmsNormOptions& options) {
  return detail::make_rms_norm("rope::rms_norm", detail::norm_span(detail::source(weights)),
                               double{options.epsilon.value()}, options.weight, options.rounding);
}

/// The same with a scale given for each token, [batch * tokens], in place of 1 / sqrt(mean +
/// epsilon): where the mean is over more than a head. See token_scales().
template <detail::NormSource S, detail::NormSource Scales>
RmsNorm<detail::norm_value_t<S>> scaled_norm(S&& weights, Scales&& token_scales,
                                             const ScaledNormOptions& options) {
  return detail::make_scaled_norm("rope::scaled_norm", detail::norm_span(detail::source(weights)),
                                  detail::norm_span(detail::source(token_scales)), options.weight,
                                  options.rounding);
}

/// The norm of Qwen 3's q and k, and of most models in Hugging Face's library: for each head, times
/// w, rounded to the element's type before and after the weight.
template <detail::NormSource S>
RmsNorm<detail::norm_value_t<S>> qwen3_norm(S&& weights, Real epsilon) {
  return detail::make_rms_norm("rope::qwen3_norm", detail::norm_span(detail::source(weights)),
                               double{epsilon}, NormWeight::times_w,
                               NormRounding::before_and_after_weight);
}

/// The norm of Gemma 3's q and k: for each head, times 1 + w, rounded once after it.
template <detail::NormSource S>
RmsNorm<detail::norm_value_t<S>> gemma3_norm(S&& weights, Real epsilon) {
  return detail::make_rms_norm("rope::gemma3_norm", detail::norm_span(detail::source(weights)),
                               double{epsilon}, NormWeight::times_one_plus_w,
                               NormRounding::after_weight);
}

/// The norm of OLMo 2's q and k: over all heads of a token together, so that `weights` are [heads,
/// dim] and the scales come from token_scales(); times w, rounded once after it.
template <detail::NormSource S, detail::NormSource Scales>
RmsNorm<detail::norm_value_t<S>> olmo2_norm(S&& weights, Scales&& token_scales) {
  return detail::make_scaled_norm("rope::olmo2_norm", detail::norm_span(detail::source(weights)),
                                  detail::norm_span(detail::source(token_scales)),
                                  NormWeight::times_w, NormRounding::after_weight);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
