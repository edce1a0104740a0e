#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

// Which position axis each pair of a head follows, where all axes share one ladder of frequencies.

namespace rope {

/// For each pair of a head: the position axis that it follows, and the frequency of the shared
/// ladder that it takes. Made by the functions below, or filled by the caller.
struct AxisMap {
  /// For a pair that follows no axis, and stays as it is.
  static constexpr std::int64_t no_axis = -1;

  /// How many position axes there are; at least 1.
  required<Extent> axes;
  /// One for each pair, from 0 to axes - 1, or no_axis.
  std::vector<std::int64_t> axis_of_pair = {};
  /// One for each pair: the number of its frequency in the ladder. Empty where pair i takes
  /// frequency i.
  std::vector<std::int64_t> rung_of_pair = {};
};

/// How many pairs follow time, height and width: `mrope_section` of a config, whose order differs
/// between models. The position axes are 0: time, 1: height, 2: width.
struct MropeSections {
  required<Extent> time;
  required<Extent> height;
  required<Extent> width;
};

/// What frequency_major_axes() is made of.
struct FrequencyMajorAxes {
  /// At least 1.
  required<Extent> axes;
  /// How many frequencies the ladder has; at least 1.
  required<Extent> frequencies;
  /// Pairs before the first that stay as they are.
  Extent unrotated_pairs = 0;
};

namespace detail::inline ROPE_DETAIL_UNIT {

/// Far above any head, and low enough that three times it can be computed.
inline constexpr std::int64_t largest_pair_count = std::int64_t{1} << 31;

/// Fails unless the map can be used with a ladder of `rungs` frequencies.
inline Status check_axis_map(const char* who, const AxisMap& map, std::int64_t rungs) noexcept {
  const std::int64_t axes = map.axes.value();
  const std::size_t pairs = map.axis_of_pair.size();
  if (axes < 1) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: map.axes must be at least 1, got %lld", who,
                   static_cast<long long>(axes));
  }
  if (pairs == 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: map.axis_of_pair is empty", who);
  }
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::int64_t axis = map.axis_of_pair[i];
    if (axis != AxisMap::no_axis && (axis < 0 || axis >= axes)) [[unlikely]] {
      return failure(ErrorKind::invalid_argument,
                     "%s: map.axis_of_pair[%zu] must be an axis from 0 to %lld, or -1 for none, "
                     "got %lld",
                     who, i, static_cast<long long>(axes - 1), static_cast<long long>(axis));
    }
  }
  if (map.rung_of_pair.empty()) {
    if (!std::cmp_equal(pairs, rungs)) [[unlikely]] {
      return failure(ErrorKind::invalid_argument,
                     "%s: the map is for %zu pairs, but the ladder has %lld frequencies", who,
                     pairs, static_cast<long long>(rungs));
    }
    return {};
  }
  if (map.rung_of_pair.size() != pairs) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: map.rung_of_pair has %zu values, but map.axis_of_pair has %zu", who,
                   map.rung_of_pair.size(), pairs);
  }
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::int64_t rung = map.rung_of_pair[i];
    if (map.axis_of_pair[i] != AxisMap::no_axis && (rung < 0 || rung >= rungs)) [[unlikely]] {
      return failure(ErrorKind::invalid_argument,
                     "%s: map.rung_of_pair[%zu] must be from 0 to %lld, the last frequency of the "
                     "ladder, got %lld",
                     who, i, static_cast<long long>(rungs - 1), static_cast<long long>(rung));
    }
  }
  return {};
}

/// Fails unless the sections are counts, and at least one of them is above 0.
inline Status check_sections(const char* who, const std::vector<std::int64_t>& sections) noexcept {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (sections[i] < 0 || sections[i] > largest_pair_count) [[unlikely]] {
      return failure(ErrorKind::invalid_argument,
                     "%s: sections[%zu] must be from 0 to 2^31, got %lld", who, i,
                     static_cast<long long>(sections[i]));
    }
    sum += sections[i];
    if (sum > largest_pair_count) [[unlikely]] {
      return failure(ErrorKind::invalid_argument, "%s: the sections have more than 2^31 pairs",
                     who);
    }
  }
  if (sum == 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: the sections have no pairs", who);
  }
  return {};
}

inline std::int64_t sum_of(const std::vector<std::int64_t>& values) {
  std::int64_t sum = 0;
  for (const std::int64_t value : values) sum += value;
  return sum;
}

inline std::vector<std::int64_t> checked_sections(const char* who, const MropeSections& sections) {
  std::vector<std::int64_t> values = {sections.time.value(), sections.height.value(),
                                      sections.width.value()};
  require(check_sections(who, values));
  return values;
}

/// A map in which pair i follows axis_of(i) and takes frequency i.
template <class AxisOf>
AxisMap map_of(std::int64_t axes, std::int64_t pairs, AxisOf axis_of) {
  AxisMap map = {.axes = axes};
  map.axis_of_pair.reserve(static_cast<std::size_t>(pairs));
  for (std::int64_t i = 0; i < pairs; ++i) map.axis_of_pair.push_back(axis_of(i));
  return map;
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// The first sections[0] pairs follow axis 0, the next sections[1] axis 1, and so on, for any
/// number of axes: Qwen2-VL, Qwen2.5-VL, GLM-4V (time, height, width), ggml's MROPE, vLLM's
/// reading of Hunyuan's xdrope (position, width, height, image).
///
/// Throws InvalidArgument for a negative section, and where there is no pair.
///
/// Source: Wang et al., "Qwen2-VL" (2024), "Multimodal Rotary Position Embedding (M-RoPE)".
inline AxisMap contiguous_axes(const std::vector<std::int64_t>& sections) {
  detail::require(detail::check_sections("rope::contiguous_axes", sections));
  AxisMap map = {.axes = sections.size()};
  for (std::size_t axis = 0; axis < sections.size(); ++axis) {
    for (std::int64_t left = sections[axis]; left > 0; --left) {
      map.axis_of_pair.push_back(static_cast<std::int64_t>(axis));
    }
  }
  return map;
}

/// Time, height, width in turns, so that each has fast and slow pairs: pair i follows height if
/// i mod 3 is 1 and i < 3 * height, width if i mod 3 is 2 and i < 3 * width, else time. Qwen3-VL,
/// Qwen3.5, and timm's M-RoPE.
///
/// Throws InvalidArgument as contiguous_axes().
///
/// Source: Bai et al., "Qwen3-VL Technical Report" (2025), "Interleaved MRoPE".
inline AxisMap interleaved_axes(const MropeSections& sections) {
  const std::vector<std::int64_t> pairs =
      detail::checked_sections("rope::interleaved_axes", sections);
  return detail::map_of(3, detail::sum_of(pairs), [&](std::int64_t i) -> std::int64_t {
    if (i % 3 == 1 && i < 3 * pairs[1]) return 1;
    if (i % 3 == 2 && i < 3 * pairs[2]) return 2;
    return 0;
  });
}

/// The same as ggml has it (IMROPE), with a fourth axis, `extra`: what is left over when the turns
/// of time, height and width are used up follows that axis and not time. llama.cpp gives 0 as the
/// fourth position of text, so these pairs are not turned there.
///
/// Throws InvalidArgument as contiguous_axes(), also for a negative `extra`.
inline AxisMap ggml_interleaved_axes(const MropeSections& sections, Extent extra = 0) {
  constexpr const char* who = "rope::ggml_interleaved_axes";
  const std::vector<std::int64_t> pairs = {sections.time.value(), sections.height.value(),
                                           sections.width.value(), extra};
  detail::require(detail::check_sections(who, pairs));
  return detail::map_of(4, detail::sum_of(pairs), [&](std::int64_t i) -> std::int64_t {
    const std::int64_t axis = i % 3;
    return i < 3 * pairs[static_cast<std::size_t>(axis)] ? axis : 3;
  });
}

/// Height and width in turns on the fast pairs, time on the slow ones: pair i follows height if it
/// is below height + width and even, width if it is below and odd, else time. VideoRoPE, and
/// ERNIE 4.5 VL, whose config lists height, width, time.
///
/// Throws InvalidArgument as contiguous_axes().
///
/// Source: Wei et al., "VideoRoPE" (2025), "Low-frequency Temporal Allocation".
inline AxisMap time_last_axes(const MropeSections& sections) {
  const std::vector<std::int64_t> pairs =
      detail::checked_sections("rope::time_last_axes", sections);
  const std::int64_t spatial = pairs[1] + pairs[2];
  return detail::map_of(3, detail::sum_of(pairs), [&](std::int64_t i) -> std::int64_t {
    return i >= spatial ? 0 : 1 + i % 2;
  });
}

/// The axes spread as evenly as their counts allow, never the same twice in a row if that can be
/// helped, and axis 0 last: openPangu. Each pair goes to the axis of which the smallest share is
/// placed so far.
///
/// Throws InvalidArgument as contiguous_axes(), and where sections[0] is 0.
///
/// Source: the code published in vLLM for openPangu VL.
inline AxisMap balanced_axes(const std::vector<std::int64_t>& sections) {
  constexpr const char* who = "rope::balanced_axes";
  detail::require(detail::check_sections(who, sections));
  if (sections[0] == 0) {
    detail::raise(detail::failure(ErrorKind::invalid_argument,
                                  "%s: sections[0] must be above 0, as the last pair follows it",
                                  who));
  }
  std::vector<std::int64_t> counts = sections;
  --counts[0];
  std::vector<std::int64_t> placed(counts.size(), 0);
  std::size_t last = counts.size();
  AxisMap map = {.axes = counts.size()};
  const auto is_open = [&](std::size_t axis) { return placed[axis] < counts[axis]; };
  for (std::int64_t rest = detail::sum_of(counts); rest > 0; --rest) {
    std::size_t best = counts.size();
    for (std::size_t axis = 0; axis < counts.size(); ++axis) {
      if (!is_open(axis) || axis == last) continue;
      if (best == counts.size() || placed[axis] * counts[best] < placed[best] * counts[axis]) {
        best = axis;
      }
    }
    if (best == counts.size()) best = last;  // nothing else is left
    ++placed[best];
    map.axis_of_pair.push_back(static_cast<std::int64_t>(best));
    last = best;
  }
  map.axis_of_pair.push_back(0);
  return map;
}

/// Two axes: the first half of the pairs (one more if their number is odd) follow axis 0 and take
/// the even frequencies of the ladder, the others axis 1 and the odd ones. Pixtral, with the row as
/// axis 0.
///
/// Throws InvalidArgument for fewer than 2 pairs.
///
/// Source: Agrawal et al., "Pixtral 12B" (2024), and the code published with it.
inline AxisMap even_odd_axes(Extent pairs) {
  const std::int64_t count = pairs;
  if (count < 2 || count > detail::largest_pair_count) {
    detail::raise(detail::failure(ErrorKind::invalid_argument,
                                  "rope::even_odd_axes: pairs must be from 2 to 2^31, one for each "
                                  "axis at least, got %lld",
                                  static_cast<long long>(count)));
  }
  const std::int64_t even = (count + 1) / 2;
  AxisMap map =
      detail::map_of(2, count, [&](std::int64_t i) -> std::int64_t { return i < even ? 0 : 1; });
  for (std::int64_t i = 0; i < count; ++i) {
    map.rung_of_pair.push_back(i < even ? 2 * i : 2 * (i - even) + 1);
  }
  return map;
}

/// Every frequency for every axis, the axes in turns: pair axes * k + a follows axis a and takes
/// frequency k, behind the pairs that stay as they are. LTX-Video.
///
/// Throws InvalidArgument for fewer than 1 axis or frequency, and a negative number of unrotated
/// pairs.
inline AxisMap frequency_major_axes(const FrequencyMajorAxes& shape) {
  const std::int64_t axes = shape.axes.value();
  const std::int64_t frequencies = shape.frequencies.value();
  const std::int64_t unrotated = shape.unrotated_pairs;
  std::int64_t rotated = 0;
  if (axes < 1 || frequencies < 1 || unrotated < 0 ||
      __builtin_mul_overflow(axes, frequencies, &rotated) || rotated > detail::largest_pair_count ||
      unrotated > detail::largest_pair_count) {
    detail::raise(detail::failure(
        ErrorKind::invalid_argument,
        "rope::frequency_major_axes: axes and frequencies must be at least 1, unrotated_pairs not "
        "negative, and none beyond 2^31, got %lld, %lld and %lld",
        static_cast<long long>(axes), static_cast<long long>(frequencies),
        static_cast<long long>(unrotated)));
  }
  AxisMap map = detail::map_of(axes, unrotated + rotated, [&](std::int64_t i) {
    return i < unrotated ? AxisMap::no_axis : (i - unrotated) % axes;
  });
  for (std::int64_t i = 0; i < unrotated + rotated; ++i) {
    map.rung_of_pair.push_back(i < unrotated ? 0 : (i - unrotated) / axes);
  }
  return map;
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
