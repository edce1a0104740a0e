#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/array.hpp"
#include "rope/detail/double_double.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/ladder.hpp"
#include "rope/detail/spread.hpp"
#include "rope/detail/uniform.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/frequencies.hpp"
#include "rope/spatial/layer_frequencies.hpp"

namespace rope {

/// Mixed RoPE for images: learned frequencies along x and y for each layer, head and pair. This is
/// how training starts; the frequencies of a trained model come from learned_frequencies().
///
/// Each layer and head has an angle A. With m_k = base^(-4k / rotary_dim), pairs k below
/// rotary_dim / 4 get m_k * (cos A, sin A), and pairs rotary_dim / 4 + k get m_k * (-sin A, cos A):
/// the axial embedding, turned by A. Axis 0 is x, the column, axis 1 is y, the row, both in
/// patches; the published models pair interleaved.
///
/// Source: Heo et al., "Rotary position embedding for vision transformer" (2024), section 3.2, and
/// the code published with it.
struct Mixed {
  required<Extent> layers;
  required<Extent> heads;
  /// The rotated features of a head: a multiple of 4, above 0.
  required<Extent> rotary_dim;
  /// Finite and above 1.
  Real base = 10;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_mixed(const Mixed& options) noexcept {
  constexpr const char* who = "rope::mixed_frequencies";
  const std::int64_t rotary_dim = options.rotary_dim.value();
  if (rotary_dim <= 0 || rotary_dim % 4 != 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: rotary_dim must be a multiple of 4 and above 0, got %lld", who,
                   static_cast<long long>(rotary_dim));
  }
  if (Status status =
          check_spread(who, 2, options.heads.value(), rotary_dim, options.layers.value());
      !status.ok()) [[unlikely]] {
    return status;
  }
  const double base = options.base;
  if (!is_finite(base) || !(base > 1)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: base must be finite and above 1, got %g", who,
                   base);
  }
  return {};
}

/// The frequencies of each layer; `angle(layer, head)` is called once for each, layers outermost.
template <class Angle>
LayerFrequencies mixed_layers(const Mixed& options, Angle angle) {
  const std::int64_t layers = options.layers.value();
  const std::int64_t heads = options.heads.value();
  const std::int64_t quarter = options.rotary_dim.value() / 4;
  const Ladder ladder = {log(static_cast<double>(options.base)), quarter * 2, {}};
  std::vector<DoubleDouble> sizes;
  for (std::int64_t k = 0; k < quarter; ++k) sizes.push_back(ladder.plain(k));
  Array<Frequencies> all;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    SpreadValues values(2, heads, quarter * 2);
    for (std::int64_t h = 0; h < heads; ++h) {
      const SinCos turned = sin_cos(angle(layer, h));
      for (std::int64_t k = 0; k < quarter; ++k) {
        const DoubleDouble size = sizes[static_cast<std::size_t>(k)];
        values(0, h, k) = rounded(size * turned.cos);
        values(1, h, k) = rounded(size * turned.sin);
        values(0, h, quarter + k) = rounded(size * -turned.sin);
        values(1, h, quarter + k) = rounded(size * turned.cos);
      }
    }
    append(all, std::move(values).frequencies());
  }
  return LayerFrequencies(std::move(all));
}

inline LayerFrequencies mixed_frequencies(const Mixed& options, std::span<const double> angles) {
  constexpr const char* who = "rope::mixed_frequencies";
  require(check_mixed(options));
  const std::int64_t heads = options.heads.value();
  const std::int64_t wanted = options.layers.value() * heads;
  if (static_cast<std::int64_t>(angles.size()) != wanted) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument,
                  "%s: %zu angles, but %lld layers and %lld heads need %lld", who, angles.size(),
                  static_cast<long long>(options.layers.value()), static_cast<long long>(heads),
                  static_cast<long long>(wanted)));
  }
  for (std::size_t i = 0; i < angles.size(); ++i) {
    if (!is_finite(angles[i]) || !(absolute(angles[i]) <= max_angle)) [[unlikely]] {
      raise(failure(ErrorKind::invalid_argument,
                    "%s: angles[%zu] must be finite and at most 2^53, got %g", who, i, angles[i]));
    }
  }
  return mixed_layers(options, [&](std::int64_t layer, std::int64_t head) {
    return exactly(angles[static_cast<std::size_t>(layer * heads + head)]);
  });
}

/// 2 pi * bits / 2^53.
inline DoubleDouble angle_of_bits(std::uint64_t bits) {
  return two_pi() * keep(static_cast<double>(bits) * 0x1p-53);
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// The frequencies of each layer, [2, heads, rotary_dim / 2], of the given angles in radians,
/// [layers, heads].
///
/// Each is within 0.51 ulp of the formula, and has the same bits on every platform. With angles of
/// 0 they are axial. Throws InvalidArgument for a rotary_dim that is not a multiple of 4 and above
/// 0, fewer than one layer or head, a base that is not finite and above 1, a wrong number of
/// angles, and angles beyond 2^53. O(layers * heads * rotary_dim).
inline LayerFrequencies mixed_frequencies(const Mixed& options, std::span<const double> angles) {
  return detail::mixed_frequencies(options, angles);
}

/// The same with a random angle from 0 to 2 pi for each layer and head, drawn layer by layer.
///
/// An angle is 2 pi * n / 2^53, where n is the 53 first bits that the engine gives: of std::mt19937
/// those of two draws, of std::mt19937_64 the upper 53 of one. An engine whose numbers do not fill
/// whole bits has those that are too large left out. The result depends on the engine alone, not on
/// the standard library's distributions.
template <detail::RandomBits Engine>
LayerFrequencies mixed_frequencies(const Mixed& options, Engine& engine) {
  detail::require(detail::check_mixed(options));
  return detail::mixed_layers(options, [&](std::int64_t, std::int64_t) {
    return detail::angle_of_bits(detail::uniform_53_bits(engine));
  });
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
