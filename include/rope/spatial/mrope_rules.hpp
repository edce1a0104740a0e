#pragma once

#include <cstdint>
#include <type_traits>
#include <variant>

#include "rope/argument.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

// How the models of the Qwen-VL family, GLM-4V and Ernie count positions: see mrope_ids().

namespace rope {

/// Qwen2-VL: the frames of a video are one position apart.
struct Qwen2Vl {};

/// Qwen2.5-VL: frame f of a video is at trunc(f * seconds_per_grid * tokens_per_second), in float32
/// like the original.
struct Qwen25Vl {
  /// vision_config.tokens_per_second: 2 in the released models.
  required<Real> tokens_per_second;
};

/// Qwen3-VL: each frame of a video is a block of its own, like an image. Text with its time stands
/// between the frames.
struct Qwen3Vl {};

/// GLM-4.1V, GLM-4.5V and later: as Qwen3-VL. Their videos are made of the image's token, see
/// GlmVisionTokens.
struct Glm4v {};

/// Ernie 4.5 VL: as Qwen2-VL, but `temporal_merge_size` frames of a video share one token.
struct Ernie45Vl {
  required<Extent> temporal_merge_size;
};

using MropeRule = std::variant<Qwen2Vl, Qwen25Vl, Qwen3Vl, Ernie45Vl, Glm4v>;

/// Implementations of these rules differ. A model should be run as it was trained.
enum class MropeReading : unsigned char {
  /// As the models' authors published it. The first token after an image or video is one past the
  /// largest position so far on any axis, padding is at 1, and deltas count padding.
  published,
  /// transformers 4.x up to 4.57: as published, but seconds_per_grid is cut to a whole number
  /// first, so that all frames of a video of 0.5 seconds per grid share one position.
  transformers_4,
  /// transformers 5.x, seen in 5.16: also, the token after an image or video is max(height, width)
  /// of the merged grid past its start, so that after a long video positions come twice; padding is
  /// at 0, and deltas do not count it.
  transformers_5,
};

static_assert(std::is_trivially_copyable_v<MropeRule>);

inline namespace ROPE_DETAIL_UNIT {

/// The time between two frames of a grid, for Qwen25Vl: `frames_per_patch` frames of the video make
/// one (temporal_patch_size, 2 in the released models), of `frames_per_second` that were sampled.
///
/// Throws InvalidArgument unless both are finite and above 0.
inline double seconds_per_grid(Real frames_per_second, Extent frames_per_patch) {
  if (!detail::is_finite(frames_per_second) || !(frames_per_second > 0) || frames_per_patch < 1)
      [[unlikely]] {
    detail::raise(detail::failure(
        ErrorKind::invalid_argument,
        "rope::seconds_per_grid: frames_per_second must be finite and above 0, frames_per_patch at "
        "least 1, got %g and %lld",
        double{frames_per_second}, static_cast<long long>(std::int64_t{frames_per_patch})));
  }
  return static_cast<double>(std::int64_t{frames_per_patch}) / double{frames_per_second};
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
