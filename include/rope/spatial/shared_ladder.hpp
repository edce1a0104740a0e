#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/frequencies.hpp"
#include "rope/spatial/axis_map.hpp"

namespace rope {
namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_shared_ladder(const Frequencies& ladder, const AxisMap& map) noexcept {
  constexpr const char* who = "rope::share_ladder";
  if (ladder.axes() != 1) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: the ladder must have 1 axis, which the map shares out, got %lld", who,
                   static_cast<long long>(ladder.axes()));
  }
  return check_axis_map(who, map, ladder.pairs());
}

inline Frequencies share_ladder(const Frequencies& ladder, const AxisMap& map) {
  require(check_shared_ladder(ladder, map));
  const std::int64_t axes = map.axes.value();
  const std::int64_t heads = ladder.heads();
  const auto pairs = static_cast<std::int64_t>(map.axis_of_pair.size());
  std::vector<double> values(static_cast<std::size_t>(axes * heads * pairs), 0.0);
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    const auto at = static_cast<std::size_t>(pair);
    const std::int64_t axis = map.axis_of_pair[at];
    if (axis == AxisMap::no_axis) continue;
    const std::int64_t rung = map.rung_of_pair.empty() ? pair : map.rung_of_pair[at];
    for (std::int64_t head = 0; head < heads; ++head) {
      values[static_cast<std::size_t>((axis * heads + head) * pairs + pair)] =
          ladder(0, head, rung);
    }
  }
  return Frequencies(std::move(values), {axes, heads, pairs}, ladder.magnitude());
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// The frequencies of several axes that share one ladder: pair i keeps its frequency on the axis
/// that the map names, and has 0 on the others. [map.axes, heads, pairs], the magnitude unchanged.
///
/// `ladder` comes from frequencies() with any scaling scheme (or is the caller's), and has one
/// axis. A token whose coordinates are the same on all axes is turned as by the ladder itself. To
/// pick the rows from a table of the ladder, without a sine or cosine for each token, see
/// mrope_table().
///
/// Throws InvalidArgument for a ladder of several axes, and a map that does not fit it. O(axes *
/// heads * pairs).
inline Frequencies share_ladder(const Frequencies& ladder, const AxisMap& map) {
  return detail::share_ladder(ladder, map);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
