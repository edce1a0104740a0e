#pragma once

#include <cstdint>
#include <utility>

#include "rope/argument.hpp"
#include "rope/detail/array.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/frequencies.hpp"

namespace rope {
namespace detail::inline ROPE_DETAIL_UNIT {

inline std::int64_t checked_layer(std::int64_t layer, std::int64_t layers) {
  if (layer < 0 || layer >= layers) [[unlikely]] {
    raise(failure(ErrorKind::out_of_range, "rope::LayerFrequencies: there is no layer %lld of %lld",
                  static_cast<long long>(layer), static_cast<long long>(layers)));
  }
  return layer;
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

/// Frequencies of each layer of a model whose layers differ.
///
/// Not a std::vector: its functions would be shared by units that are compiled for different
/// machines.
class LayerFrequencies {
 public:
  /// For the functions that make them.
  ROPE_DETAIL_FORWARD explicit LayerFrequencies(detail::Array<Frequencies>&& layers) noexcept
      : layers_(std::move(layers)) {}

  ROPE_DETAIL_FORWARD LayerFrequencies(const LayerFrequencies&) = default;
  ROPE_DETAIL_FORWARD LayerFrequencies(LayerFrequencies&&) noexcept = default;
  ROPE_DETAIL_FORWARD LayerFrequencies& operator=(const LayerFrequencies&) = default;
  ROPE_DETAIL_FORWARD LayerFrequencies& operator=(LayerFrequencies&&) noexcept = default;
  ROPE_DETAIL_FORWARD ~LayerFrequencies() = default;

  /// How many layers there are.
  ROPE_DETAIL_FORWARD std::int64_t size() const noexcept { return layers_.size; }
  /// Those of one layer. Throws OutOfRange if there is none of that number.
  ROPE_DETAIL_FORWARD const Frequencies& operator[](Extent layer) const {
    return layers_[detail::checked_layer(layer, layers_.size)];
  }
  ROPE_DETAIL_FORWARD const Frequencies* begin() const noexcept { return layers_.begin(); }
  ROPE_DETAIL_FORWARD const Frequencies* end() const noexcept { return layers_.end(); }

 private:
  detail::Array<Frequencies> layers_;
};

}  // namespace rope
