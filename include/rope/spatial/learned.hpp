#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "rope/accumulation.hpp"
#include "rope/argument.hpp"
#include "rope/detail/fused.hpp"
#include "rope/detail/source.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/frequencies.hpp"
#include "rope/scalar.hpp"

namespace rope {

/// How a model's parameter with learned frequencies lies in memory, packed, the last index fastest.
enum class LearnedLayout : unsigned char {
  /// [axes, layers, heads, pairs]: [2, depth, heads * dim / 2] of naver's rope-vit, [2, depth,
  /// heads, dim / 2] of timm, [3, heads, dim / 2] of Mochi with its one set for all layers.
  axes_layers_heads_pairs,
  /// [layers, heads, pairs, axes]: [heads, dim / 2, 2] of the Golden Gate experiments, the weight
  /// [dim / 2, 2] of LightGlue's linear layer, which all heads share.
  layers_heads_pairs_axes,
};

/// The frequencies of one layer in such a parameter.
struct Learned {
  required<LearnedLayout> layout;
  required<Extent> axes;
  /// How many layers the parameter holds, and which one is meant, from 0 on.
  Extent layers = 1;
  Extent layer = 0;
  /// 1 where all heads share them.
  required<Extent> heads;
  required<Extent> pairs;
};

namespace detail {

/// Memory of numbers that a frequency can be made of.
template <class S>
concept LearnedSource = SourceOf<S> && Element<std::remove_const_t<source_element_t<S>>>;

inline namespace ROPE_DETAIL_UNIT {

inline Status check_learned(const char* who, const Learned& learned, bool is_null,
                            std::int64_t size) noexcept {
  const std::int64_t axes = learned.axes.value();
  const std::int64_t layers = learned.layers;
  const std::int64_t heads = learned.heads.value();
  const std::int64_t pairs = learned.pairs.value();
  const LearnedLayout layout = learned.layout.value();
  if (layout != LearnedLayout::axes_layers_heads_pairs &&
      layout != LearnedLayout::layers_heads_pairs_axes) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: layout has the value %d, which names no layout", who,
                   static_cast<int>(layout));
  }
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  if (axes < 1 || layers < 1 || heads < 1 || pairs < 1 ||
      __builtin_mul_overflow(axes, layers, &count) ||
      __builtin_mul_overflow(count, heads, &count) ||
      __builtin_mul_overflow(count, pairs, &count) ||
      __builtin_mul_overflow(count, std::int64_t{sizeof(double)}, &bytes)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: axes, layers, heads and pairs must be at least 1 and make fewer than 2^60 "
                   "values, got %lld, %lld, %lld and %lld",
                   who, static_cast<long long>(axes), static_cast<long long>(layers),
                   static_cast<long long>(heads), static_cast<long long>(pairs));
  }
  const std::int64_t layer = learned.layer;
  if (layer < 0 || layer >= layers) [[unlikely]] {
    return failure(ErrorKind::out_of_range, "%s: layer %lld is not one of %lld layers", who,
                   static_cast<long long>(layer), static_cast<long long>(layers));
  }
  if (size >= 0 && size != count) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: %lld parameters, but axes %lld, layers %lld, heads %lld and pairs %lld "
                   "need %lld",
                   who, static_cast<long long>(size), static_cast<long long>(axes),
                   static_cast<long long>(layers), static_cast<long long>(heads),
                   static_cast<long long>(pairs), static_cast<long long>(count));
  }
  if (is_null) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: parameters are null, but %lld are needed", who,
                   static_cast<long long>(count));
  }
  return {};
}

/// Where a frequency stands in the parameter.
inline std::int64_t learned_index(const Learned& learned, std::int64_t axis, std::int64_t head,
                                  std::int64_t pair) noexcept {
  const std::int64_t heads = learned.heads.value();
  const std::int64_t pairs = learned.pairs.value();
  if (learned.layout.value() == LearnedLayout::axes_layers_heads_pairs) {
    return ((axis * learned.layers + learned.layer) * heads + head) * pairs + pair;
  }
  return ((learned.layer * heads + head) * pairs + pair) * learned.axes.value() + axis;
}

/// Calls visit(i, k) for the i-th frequency, [axes, heads, pairs], and its index k in the
/// parameter.
template <class Visit>
void for_each_learned(const Learned& learned, Visit visit) {
  std::size_t i = 0;
  for (std::int64_t a = 0; a < learned.axes.value(); ++a) {
    for (std::int64_t h = 0; h < learned.heads.value(); ++h) {
      for (std::int64_t j = 0; j < learned.pairs.value(); ++j) {
        visit(i++, learned_index(learned, a, h, j));
      }
    }
  }
}

template <class T>
Frequencies learned_frequencies(const T* parameters, const Learned& learned) {
  std::vector<double> values(static_cast<std::size_t>(learned.axes.value() * learned.heads.value() *
                                                      learned.pairs.value()));
  for_each_learned(learned, [&](std::size_t i, std::int64_t k) {
    values[i] = static_cast<double>(to_compute(parameters[k]));
  });
  return Frequencies(std::move(values),
                     {learned.axes.value(), learned.heads.value(), learned.pairs.value()});
}

template <class T>
void store_learned(std::span<const double> values, T* parameters, const Learned& learned,
                   Accumulation accumulation) noexcept {
  for_each_learned(learned, [&](std::size_t i, std::int64_t k) {
    const double before =
        accumulation == Accumulation::add ? static_cast<double>(to_compute(parameters[k])) : 0.0;
    parameters[k] = from_compute<T>(static_cast<compute_type_t<T>>(keep(keep(before) + values[i])));
  });
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace detail

inline namespace ROPE_DETAIL_UNIT {

/// The frequencies of one layer of a trained model, [axes, heads, pairs].
///
/// `parameters` holds float, double or another element type: a pointer, or a lasting container or
/// span, whose size must then be that of all layers. Throws InvalidArgument for extents below 1, a
/// wrong size and values that are not finite, OutOfRange for a layer that is not there.
template <detail::LearnedSource S>
Frequencies learned_frequencies(S&& parameters, const Learned& learned) {
  const auto given = detail::source(parameters);
  detail::require(detail::check_learned("rope::learned_frequencies", learned, given.data == nullptr,
                                        given.size));
  return detail::learned_frequencies(given.data, learned);
}

/// The way back: `values`, a gradient or frequencies [axes, heads, pairs] of one layer, stored to
/// where the parameter has them, or added to what is there. Other layers are left alone.
///
/// Throws as learned_frequencies() does, and InvalidArgument for a wrong number of values.
template <detail::LearnedSource S>
void store_learned(std::span<const double> values, S&& parameters, const Learned& learned,
                   Accumulation accumulation) {
  static_assert(!std::is_const_v<detail::source_element_t<S>>, "the parameters are written");
  constexpr const char* who = "rope::store_learned";
  const auto given = detail::source(parameters);
  detail::require(detail::check_learned(who, learned, given.data == nullptr, given.size));
  detail::require(detail::check_accumulation(who, accumulation));
  const std::int64_t wanted = learned.axes.value() * learned.heads.value() * learned.pairs.value();
  if (static_cast<std::int64_t>(values.size()) != wanted) [[unlikely]] {
    detail::raise(detail::failure(ErrorKind::invalid_argument,
                                  "%s: %zu values, but axes, heads and pairs need %lld", who,
                                  values.size(), static_cast<long long>(wanted)));
  }
  detail::store_learned(values, given.data, learned, accumulation);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
