#pragma once

#include <cstdint>
#include <numeric>

#include "rope/detail/layout.hpp"
#include "rope/detail/rotate_work.hpp"
#include "rope/detail/unit.hpp"
#include "rope/executor.hpp"
#include "rope/rotate_options.hpp"

// How a rotation is cut into parts. The heads of all tokens stand in one row, [batch, tokens,
// heads], and a part is a stretch of it: one long sequence and one token of many heads both divide
// evenly. Which head is in which part changes nothing in what is computed for it.

namespace rope::detail {

/// The heads number `begin` to `end` - 1, counted over batch, tokens and heads.
struct HeadRange {
  std::int64_t begin;
  std::int64_t end;
};

inline namespace ROPE_DETAIL_UNIT {

/// The tokens of all batch rows; none where the view is empty, whose other extents may be any.
inline std::int64_t tokens_of(const Layout& layout) noexcept {
  return is_empty(layout) ? 0 : layout.extent[0] * layout.extent[1];
}

/// How many heads stay together: parts differ by at most one such group.
///
/// Whole tokens where there are so many that this costs no balance, since a token's row is then
/// loaded once. Otherwise as many heads as fill whole cache lines, so that two threads do not write
/// the same line, if the heads divide so.
inline std::int64_t heads_per_group(const Layout& out, std::int64_t element_bytes,
                                    std::int64_t parts) noexcept {
  constexpr std::int64_t tokens_per_part = 16;
  constexpr std::int64_t line_bytes = 64;
  const std::int64_t tokens = tokens_of(out);
  const std::int64_t heads = out.extent[2];
  if (tokens / tokens_per_part >= parts && heads > 0) {
    return heads;
  }
  // The stride of a single head may be any number.
  const std::int64_t stride_in_line = out.stride[2] % line_bytes * element_bytes % line_bytes;
  const std::int64_t group = line_bytes / std::gcd(line_bytes, stride_in_line);
  return heads % group == 0 ? group : 1;
}

/// Number `index` of `count` nearly equal parts of a range that consists of whole groups.
inline HeadRange part_of(const HeadRange& whole, std::int64_t heads_together, std::int64_t index,
                         std::int64_t count) noexcept {
  const std::int64_t groups = (whole.end - whole.begin) / heads_together;
  const std::int64_t least = groups / count;
  const std::int64_t larger_parts = groups % count;  // the first ones have one group more
  const std::int64_t first = index * least + (index < larger_parts ? index : larger_parts);
  const std::int64_t size = least + (index < larger_parts ? 1 : 0);
  const std::int64_t begin = whole.begin + first * heads_together;
  return {begin, begin + size * heads_together};
}

/// Calls `run(WorkPart)` for a range: the end of its first token, its whole tokens, and the
/// beginning of its last.
template <class Run>
void for_each_block(const HeadRange& range, std::int64_t heads, const Run& run) noexcept {
  std::int64_t begin = range.begin;
  while (begin < range.end) {
    const std::int64_t token = begin / heads;
    const std::int64_t first_head = begin % heads;
    const std::int64_t rest = range.end - begin;
    if (first_head == 0 && rest >= heads) {
      const std::int64_t tokens = rest / heads;
      run(WorkPart{token, token + tokens, 0, heads});
      begin += tokens * heads;
    } else {
      const std::int64_t end_head = heads - first_head < rest ? heads : first_head + rest;
      run(WorkPart{token, token + 1, first_head, end_head});
      begin += end_head - first_head;
    }
  }
}

/// What is to be split: a view, and the bytes that are read and written for each of its elements.
struct Splittable {
  const Layout* out;
  std::int64_t out_bytes;
  std::int64_t in_bytes;
};

inline bool is_whole_and_serial(const RotateOptions& options) noexcept {
  return options.part.count == 1 && options.executor.is_serial();
}

/// The heads of one view that are those of a part.
class PartSplit {
 public:
  /// `shares` is into how many an executor divides the part.
  PartSplit(const Splittable& work, const Part& part, std::int64_t shares) noexcept
      : heads_(is_empty(*work.out) ? 0 : work.out->extent[2]),
        // The product may be too large for 64 bits.
        together_(heads_per_group(*work.out, work.out_bytes,
                                  part.count > many / shares ? many : part.count * shares)),
        shares_(shares),
        range_(part_of({0, tokens_of(*work.out) * heads_}, together_, part.index, part.count)) {}

  template <class Run>
  void run(std::int64_t share, const Run& run) const noexcept {
    for_each_block(part_of(range_, together_, share, shares_), heads_, run);
  }

 private:
  static constexpr std::int64_t many = std::int64_t{1} << 62;

  std::int64_t heads_;
  std::int64_t together_;
  std::int64_t shares_;
  HeadRange range_;
};

/// The bytes that a part of the work moves, nearly.
inline std::int64_t part_bytes(const Splittable& work, const Part& part) noexcept {
  const Layout& out = *work.out;
  if (is_empty(out)) {
    return 0;
  }
  return tokens_of(out) * out.extent[2] * out.extent[3] / part.count *
         (work.in_bytes + work.out_bytes);
}

/// Does `run(WorkPart)` for all of a part, in whatever threads the executor has.
template <class Run>
void run_split(const Splittable& work, const RotateOptions& options, const Run& run) {
  const std::int64_t shares = part_count(options.executor, part_bytes(work, options.part));
  const PartSplit split(work, options.part, shares);
  if (shares == 1) {
    split.run(0, run);
  } else {
    options.executor(shares, [&](std::int64_t share) { split.run(share, run); });
  }
}

/// The same for two views at once; the executor is called once for both.
template <class RunFirst, class RunSecond>
void run_split(const Splittable& first, const RunFirst& run_first, const Splittable& second,
               const RunSecond& run_second, const RotateOptions& options) {
  const std::int64_t shares = part_count(
      options.executor, part_bytes(first, options.part) + part_bytes(second, options.part));
  const PartSplit first_split(first, options.part, shares);
  const PartSplit second_split(second, options.part, shares);
  const auto do_share = [&](std::int64_t share) {
    first_split.run(share, run_first);
    second_split.run(share, run_second);
  };
  if (shares == 1) {
    do_share(0);
  } else {
    options.executor(shares, do_share);
  }
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope::detail
