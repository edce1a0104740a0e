#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rope/argument.hpp"
#include "rope/coordinates.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope {

/// The size of one image or video in patches, before patches are merged: "grid_thw". An image has
/// one frame; the frames of a video are what the patch embedding makes of them, one of every two
/// with Qwen-VL.
struct VisionGrid {
  Extent frames;
  Extent height;
  Extent width;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_merge_size(const char* who, const char* what, std::int64_t size) noexcept {
  if (size < 1) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: %s must be at least 1, got %lld", who, what,
                   static_cast<long long>(size));
  }
  return {};
}

/// Fails unless the grid has patches, few enough to count, whose sides the merged blocks divide.
/// `what` and `index` say which grid it is.
inline Status check_vision_grid(const char* who, const char* what, std::int64_t index,
                                const VisionGrid& grid, std::int64_t merge_size) noexcept {
  std::int64_t count = 0;
  const bool fits =
      grid.frames >= 1 && grid.height >= 1 && grid.width >= 1 &&
      !__builtin_mul_overflow(std::int64_t{grid.frames}, std::int64_t{grid.height}, &count) &&
      !__builtin_mul_overflow(count, std::int64_t{grid.width}, &count) &&
      !__builtin_mul_overflow(count, 2, &count);
  if (!fits) [[unlikely]] {
    return failure(
        ErrorKind::invalid_argument,
        "%s: %s %lld has %lld frames of %lld x %lld patches: there must be some, and fewer "
        "than 2^62",
        who, what, static_cast<long long>(index), static_cast<long long>(grid.frames),
        static_cast<long long>(grid.height), static_cast<long long>(grid.width));
  }
  if (grid.height % merge_size != 0 || grid.width % merge_size != 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: %s %lld has %lld x %lld patches, which merge_size %lld does not divide",
                   who, what, static_cast<long long>(index), static_cast<long long>(grid.height),
                   static_cast<long long>(grid.width), static_cast<long long>(merge_size));
  }
  return {};
}

inline Coordinates make_merge_blocks(std::span<const VisionGrid> grids, std::int64_t merge_size) {
  const char* const who = "rope::merge_block_coordinates";
  require(check_merge_size(who, "merge_size", merge_size));
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < grids.size(); ++i) {
    const VisionGrid& grid = grids[i];
    require(check_vision_grid(who, "grid", static_cast<std::int64_t>(i), grid, merge_size));
    if (std::int64_t ignored;
        __builtin_add_overflow(tokens, grid.frames * grid.height * grid.width, &tokens) ||
        __builtin_mul_overflow(tokens, 2, &ignored)) [[unlikely]] {
      raise(failure(ErrorKind::invalid_argument, "%s: more than 2^62 tokens", who));
    }
  }
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(2 * tokens));
  for (std::size_t i = 0; i < grids.size(); ++i) {
    const VisionGrid& grid = grids[i];
    for (std::int64_t frame = 0; frame < grid.frames; ++frame) {
      for (std::int64_t block_row = 0; block_row < grid.height; block_row += merge_size) {
        for (std::int64_t block_column = 0; block_column < grid.width; block_column += merge_size) {
          for (std::int64_t cell = 0; cell < merge_size * merge_size; ++cell) {
            values.push_back(static_cast<double>(block_row + cell / merge_size));
            values.push_back(static_cast<double>(block_column + cell % merge_size));
          }
        }
      }
    }
  }
  return Coordinates(std::move(values), {tokens, 2});
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// The (row, column) of each patch of one or several images and videos, one after the other, in the
/// order of the vision towers of Qwen2-VL, 2.5-VL and 3-VL: the merge_size x merge_size patches
/// that will become one token stand together, and so on block by block, row-major. Each frame of a
/// video has the same coordinates; there is no time axis. [tokens, 2].
///
/// With a merge_size of 1 this is the plain row-major order. Throws InvalidArgument for a
/// merge_size below 1 and for a grid without patches or with sides that it does not divide.
/// O(tokens).
inline Coordinates merge_block_coordinates(const std::vector<VisionGrid>& grids,
                                           Extent merge_size) {
  return detail::make_merge_blocks({grids.data(), grids.size()}, merge_size);
}

/// The same for one image or video.
inline Coordinates merge_block_coordinates(const VisionGrid& grid, Extent merge_size) {
  return detail::make_merge_blocks({&grid, 1}, merge_size);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
