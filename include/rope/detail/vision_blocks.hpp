#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/row_positions.hpp"
#include "rope/spatial/token_kinds.hpp"
#include "rope/spatial/vision_grid.hpp"

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// One run of vision tokens: so many frames of height x width merged blocks, row-major.
struct VisionBlock {
  std::int64_t frames;
  std::int64_t height;
  std::int64_t width;
  /// The number of its grid among the images or videos.
  std::int64_t index;

  std::int64_t tokens() const noexcept { return frames * height * width; }
};

/// The blocks of images or of videos, in the order of their tokens.
struct VisionBlocks {
  const char* name;  // "image" or "video"
  std::vector<VisionBlock> list;
  std::size_t used = 0;
};

inline const char* name_of(TokenKind kind) noexcept {
  switch (kind) {
    case TokenKind::image:
      return "an image's";
    case TokenKind::video:
      return "a video's";
    case TokenKind::padding:
      return "padding";
    case TokenKind::text:
      break;
  }
  return "text";
}

/// Walks over the tokens of a batch, and calls
///
///     walk.start_row(row)
///     walk.padding(token)                 token: its index in [batch, tokens]
///     walk.text(token)
///     walk.start_block(kind, block)
///     walk.vision(token, frame, row, column)
///     walk.end_block()
///     walk.end_row(row)
///
/// Raises where the tokens and the grids are not of one another. Whatever was written is lost then,
/// so it must not be the caller's.
template <class Walk>
void walk_tokens(const char* who, std::span<const TokenKind> kinds, const PositionShape& shape,
                 VisionBlocks& images, VisionBlocks& videos, Walk& walk) {
  std::size_t token = 0;
  for (std::int64_t row = 0; row < shape.batch(); ++row) {
    walk.start_row(row);
    const VisionBlock* block = nullptr;
    TokenKind block_kind = TokenKind::text;
    std::int64_t done = 0;
    for (std::int64_t t = 0; t < shape.tokens(); ++t, ++token) {
      const TokenKind kind = kinds[token];
      if (kind == TokenKind::padding) {
        walk.padding(token);
        continue;
      }
      if (kind != TokenKind::text && kind != TokenKind::image && kind != TokenKind::video)
          [[unlikely]] {
        raise(failure(ErrorKind::invalid_argument, "%s: token %lld of batch row %lld has kind %d",
                      who, static_cast<long long>(t), static_cast<long long>(row),
                      static_cast<int>(kind)));
      }
      if (block == nullptr) {
        if (kind == TokenKind::text) {
          walk.text(token);
          continue;
        }
        VisionBlocks& blocks = kind == TokenKind::image ? images : videos;
        if (blocks.used == blocks.list.size()) [[unlikely]] {
          const std::int64_t grids = blocks.list.empty() ? 0 : blocks.list.back().index + 1;
          raise(failure(ErrorKind::invalid_argument,
                        "%s: token %lld of batch row %lld is %s, but the grids are used up (%s "
                        "grids: %lld)",
                        who, static_cast<long long>(t), static_cast<long long>(row), name_of(kind),
                        blocks.name, static_cast<long long>(grids)));
        }
        block = &blocks.list[blocks.used++];
        block_kind = kind;
        done = 0;
        walk.start_block(kind, *block);
      } else if (kind != block_kind) [[unlikely]] {
        raise(
            failure(ErrorKind::invalid_argument,
                    "%s: %s %lld takes %lld tokens in a row, but after %lld of them token %lld of "
                    "batch row %lld is %s",
                    who, (block_kind == TokenKind::image ? images : videos).name,
                    static_cast<long long>(block->index), static_cast<long long>(block->tokens()),
                    static_cast<long long>(done), static_cast<long long>(t),
                    static_cast<long long>(row), name_of(kind)));
      }
      const std::int64_t cell = done % (block->height * block->width);
      walk.vision(token, done / (block->height * block->width), cell / block->width,
                  cell % block->width);
      if (++done == block->tokens()) {
        walk.end_block();
        block = nullptr;
      }
    }
    if (block != nullptr) [[unlikely]] {
      raise(failure(ErrorKind::invalid_argument,
                    "%s: %s %lld takes %lld tokens in a row, but batch row %lld ends after %lld of "
                    "them",
                    who, (block_kind == TokenKind::image ? images : videos).name,
                    static_cast<long long>(block->index), static_cast<long long>(block->tokens()),
                    static_cast<long long>(row), static_cast<long long>(done)));
    }
    walk.end_row(row);
  }
  for (const VisionBlocks* blocks : {&images, &videos}) {
    if (blocks->used != blocks->list.size()) [[unlikely]] {
      raise(failure(ErrorKind::invalid_argument,
                    "%s: no token is of %s %lld, the first of its kind "
                    "that is left over",
                    who, blocks->name, static_cast<long long>(blocks->list[blocks->used].index)));
    }
  }
}

/// How grids become blocks.
struct BlockRule {
  std::int64_t merge_size;
  std::int64_t temporal_merge_size = 1;  // of videos
  bool each_frame = false;               // of a video is a block of its own
};

/// The blocks of `grids`, for a batch of `tokens`.
inline VisionBlocks make_blocks(const char* who, const char* name,
                                const std::vector<VisionGrid>& grids, const BlockRule& rule,
                                std::size_t tokens) {
  VisionBlocks blocks{name, {}};
  for (std::size_t i = 0; i < grids.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    const VisionGrid& grid = grids[i];
    require(check_vision_grid(who, name, index, grid, rule.merge_size));
    if (grid.frames % rule.temporal_merge_size != 0) [[unlikely]] {
      raise(failure(ErrorKind::invalid_argument,
                    "%s: %s %lld has %lld frames, which temporal_merge_size %lld does not divide",
                    who, name, static_cast<long long>(index), static_cast<long long>(grid.frames),
                    static_cast<long long>(rule.temporal_merge_size)));
    }
    const std::int64_t frames = grid.frames / rule.temporal_merge_size;
    // Before a list of as many blocks is made.
    if (rule.each_frame && std::cmp_greater(frames, tokens)) [[unlikely]] {
      raise(failure(ErrorKind::invalid_argument,
                    "%s: %s %lld has %lld frames, but there are only %lld tokens", who, name,
                    static_cast<long long>(index), static_cast<long long>(frames),
                    static_cast<long long>(tokens)));
    }
    const VisionBlock block = {rule.each_frame ? 1 : frames, grid.height / rule.merge_size,
                               grid.width / rule.merge_size, index};
    for (std::int64_t left = rule.each_frame ? frames : 1; left > 0; --left) {
      blocks.list.push_back(block);
    }
  }
  return blocks;
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
