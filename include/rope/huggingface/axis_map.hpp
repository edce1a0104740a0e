#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/huggingface/result.hpp"
#include "rope/spatial/axis_map.hpp"

namespace rope {
namespace detail::inline ROPE_DETAIL_UNIT {

/// Fails unless the layer's sections are those of its layout, and as many pairs as it rotates.
inline Status check_sections(const LayerRope& layer) noexcept {
  constexpr const char* who = "rope::axis_map";
  if (layer.section_layout == SectionLayout::none) return {};
  const std::size_t count = layer.sections.size();
  if (layer.section_layout != SectionLayout::blocks && count != 3) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: layer.sections must have 3 values for its layout, got %zu", who, count);
  }
  if (Status status = check_sections(who, layer.sections); !status.ok()) [[unlikely]] {
    return status;
  }
  const std::int64_t pairs = layer.rotary_dim() / 2;
  if (sum_of(layer.sections) != pairs) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: layer.sections have %lld pairs, but the layer rotates %lld", who,
                   static_cast<long long>(sum_of(layer.sections)), static_cast<long long>(pairs));
  }
  return {};
}

inline AxisMap axis_map(const LayerRope& layer) {
  require(check_sections(layer));
  const std::vector<std::int64_t>& sections = layer.sections;
  switch (layer.section_layout) {
    case SectionLayout::none:
      break;
    case SectionLayout::blocks:
      return contiguous_axes(sections);
    case SectionLayout::interleaved:
      return interleaved_axes({.time = sections[0], .height = sections[1], .width = sections[2]});
    case SectionLayout::height_width_time:
      return time_last_axes({.time = sections[2], .height = sections[0], .width = sections[1]});
  }
  return contiguous_axes({layer.rotary_dim() / 2});
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// Which position axis each pair of a layer follows, for share_ladder() and mrope_table(): axes 0
/// time, 1 height, 2 width, whatever the order of the config's sections (Hunyuan's: position,
/// width, height, image). A layer without sections has one axis.
///
/// Throws InvalidArgument where the sections are not as many pairs as the layer rotates.
inline AxisMap axis_map(const LayerRope& layer) { return detail::axis_map(layer); }

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
