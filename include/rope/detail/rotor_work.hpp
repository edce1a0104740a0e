#pragma once

#include <cstdint>

#include "rope/detail/unit.hpp"
#include "rope/table_options.hpp"

// What the kernels of rotor_kernels.hpp work on.

namespace rope::detail {

/// How many columns (pairs of one head) are worked on together, padded to as many: the anchors of
/// 32 steps of them fit into the first-level cache.
inline constexpr std::int64_t chunk_columns = 32;

/// The columns of one axis that are worked on together.
struct RotorColumns {
  std::int64_t width;  // how many columns are worked on, rounded up to whole vectors
  double frequency[chunk_columns];
  double magnitude[chunk_columns];
  // The magnitude in two factors, see split_magnitude().
  double significand[chunk_columns];
  double scale[chunk_columns];
  double ones[chunk_columns];
  bool has_negligible;  // a frequency that is not 0, but so small that products need care
};

/// Rotors to the accuracy of double-double, one for each column.
struct AnchorRow {
  double cos_hi[chunk_columns];
  double cos_lo[chunk_columns];
  double sin_hi[chunk_columns];
  double sin_lo[chunk_columns];
};

/// The anchors that multiples of one step are products of, see rotor_multiples(): made when they
/// are first needed.
struct RotorSteps {
  std::int64_t step;
  bool has_magnitude;
  std::uint32_t made;   // which of `units`, a bit each
  std::int64_t block;   // which multiple of 32 steps `anchor` is, or -1
  AnchorRow anchor;     // exp(i * 32 * block * step * frequency), times the magnitude's significand
  AnchorRow units[32];  // exp(i * v * step * frequency)
};

/// One row of cosines and sines in double, one for each column.
struct RotorRow {
  double cos[chunk_columns];
  double sin[chunk_columns];
};

/// The rows of a table whose row is a position.
template <class T>
struct RowsWork {
  // magnitude * exp(i * 1024 * a * frequency) and exp(i * b * frequency), [a or b, 2, heads,
  // pairs].
  const double* coarse;
  const double* fine;
  const double* frequencies;  // [heads, pairs]
  std::int64_t heads;
  std::int64_t pairs;
  double magnitude;
  Angles angles;
  EntryRounding rounding;
  bool streams;  // past the caches, from a cache line on
  T* entries;    // [rows, heads, 2, pairs]
};

/// The most axes that tables of tokens have.
inline constexpr std::int64_t max_axes = 64;

/// The most values that are listed for one axis.
inline constexpr std::int64_t max_listed = 1024;

/// The rows of tokens that the making of a TokenTable works on.
///
/// Each axis has `room` rows of factors for a chunk of columns. Where the axis has no more
/// different values than that, it is listed: each value has its own row for the whole chunk. Else
/// the rows are those of a few tokens at a time.
struct TokenAxis {
  std::int64_t first_row;
  std::int64_t room;
  std::int64_t listed;  // how many values there are, as far as they were counted
  bool is_listed;
};

template <class T>
struct TokenWork {
  const double* frequencies;  // [axes, heads, pairs]
  std::int64_t axes;
  std::int64_t heads;
  std::int64_t pairs;
  double magnitude;
  const double* coordinates;  // [rows, axes]
  std::int64_t rows;
  const std::uint16_t* slots;  // [axes, rows]: which of the axis's rows of factors a token takes
  const TokenAxis* axis;       // [axes]
  std::int64_t factor_rows;    // of all axes, for one chunk
  std::int64_t group;          // how many chunks at a time, at most most_chunks
  std::int64_t step;           // how many tokens at a time, for the axes that are not listed
  Angles angles;
  EntryRounding rounding;
  bool streams;  // past the caches, from a cache line on
  T* entries;    // [rows, heads, 2, pairs]
};

/// The most chunks that have their rows of factors at the same time.
inline constexpr std::int64_t most_chunks = 64;

/// Up to chunk_columns pairs of a head from `first_pair` on.
struct TokenChunk {
  std::int64_t head;
  std::int64_t first_pair;
  std::int64_t count;
  bool has_entries;  // rather than factors: only one axis turns these columns
  std::int64_t actives;
  unsigned char active[max_axes];  // the axes that turn any of these columns
};

}  // namespace rope::detail
