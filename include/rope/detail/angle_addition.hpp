#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rope/detail/cache_line_allocator.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/entry_rounding.hpp"
#include "rope/detail/rotor_kernels.hpp"
#include "rope/detail/rotor_work.hpp"
#include "rope/detail/unit.hpp"
#include "rope/executor.hpp"
#include "rope/frequencies.hpp"
#include "rope/table_options.hpp"

// How rows are made of two factors each: with position = 1024 * a + b,
//
//   magnitude * exp(i * position * frequency) = [magnitude * exp(i * 1024 * a * frequency)] *
//   exp(i * b * frequency),
//
// both exact to double, so that an entry costs one complex product instead of a sine and a cosine,
// and is still the correct rounding to float in all but about one case in a hundred thousand. The
// step is fixed: how many rows there are never changes the bits of a row.

namespace rope::detail {

template <class T>
using TableEntries = std::vector<T, CacheLineAllocator<T>>;

inline namespace ROPE_DETAIL_UNIT {

/// Whether every angle position * frequency, 0 <= position < rows, is one that sin_cos() reduces
/// exactly.
inline bool has_exact_angles(double frequency, std::int64_t rows) noexcept {
  const double reach = (frequency < 0 ? -frequency : frequency) * static_cast<double>(rows);
  return reach <= max_angle;
}

/// Stores past the caches take 0.75 of the time where the table is larger than they are, and would
/// leave a smaller one where it takes longest to fetch. In bytes.
inline constexpr std::int64_t smallest_stream = std::int64_t{8} << 20;

/// magnitude * exp(i * j * step * frequency) for j = 0 .. count - 1, [count, 2, heads, pairs]: of
/// one-axis frequencies. O(count * heads * pairs). A template, as are its callers, for the reason
/// given at write_multiples().
template <class D = double>
TableEntries<D> angle_multiples(const Frequencies& frequencies, std::int64_t step,
                                std::int64_t count, double magnitude, const ExecutorRef& executor) {
  const std::int64_t all_columns = frequencies.heads() * frequencies.pairs();
  TableEntries<D> rows(static_cast<std::size_t>(count * 2 * all_columns));
  const auto write_chunk = [&](std::int64_t number) noexcept {
    const std::int64_t first = number * chunk_columns;
    const std::int64_t width = columns_of(all_columns - first);
    RotorColumns columns;
    RotorSteps steps;
    start_columns(columns, width);
    for (std::int64_t i = 0; i < width; ++i) {
      set_column(columns, i, frequencies.values()[static_cast<std::size_t>(first + i)], magnitude);
    }
    start_steps(steps, step, true);
    write_multiples(columns, steps, 0, count, rows.data() + first, all_columns, 2 * all_columns,
                    width);
  };
  const std::int64_t chunks = (all_columns + chunk_columns - 1) / chunk_columns;
  const auto bytes = static_cast<std::int64_t>(rows.size() * sizeof(double));
  if (part_count(executor, bytes) == 1) {
    for (std::int64_t number = 0; number < chunks; ++number) {
      write_chunk(number);
    }
  } else {
    executor(chunks, write_chunk);
  }
  return rows;
}

/// exp(i * b * frequency) for the positions b that a table of `rows` rows needs.
template <class D = double>
TableEntries<D> fine_factors(const Frequencies& frequencies, std::int64_t rows,
                             const ExecutorRef& executor) {
  return angle_multiples<D>(frequencies, 1, rows < angle_addition_step ? rows : angle_addition_step,
                            1.0, executor);
}

/// magnitude * exp(i * 1024 * a * frequency) for the a that a table of `rows` rows needs.
template <class D = double>
TableEntries<D> coarse_factors(const Frequencies& frequencies, std::int64_t rows,
                               const ExecutorRef& executor) {
  return angle_multiples<D>(frequencies, angle_addition_step,
                            rows / angle_addition_step + (rows % angle_addition_step != 0),
                            frequencies.magnitude(), executor);
}

/// Makes the rows `first` to `end` - 1.
template <class T>
void write_all_rows(const RowsWork<T>& work, std::int64_t first, std::int64_t end,
                    ExecutorRef executor) {
  // Rows that differ by multiples of the step share a fine factor: a block of them is used while it
  // is in the cache.
  constexpr std::int64_t block = 64;
  constexpr std::int64_t blocks = angle_addition_step / block;
  const std::int64_t row_bytes = work.heads * 2 * work.pairs * static_cast<std::int64_t>(sizeof(T));
  const auto write_block = [&](std::int64_t number) {
    const std::int64_t coarse = first / angle_addition_step * angle_addition_step;
    for (std::int64_t row = coarse + number * block; row < end; row += angle_addition_step) {
      write_rows(work, row < first ? first : row, end - row < block ? end : row + block);
    }
  };
  const std::int64_t parts = part_count(executor, (end - first) * row_bytes);
  if (parts == 1) {
    for (std::int64_t number = 0; number < blocks; ++number) {
      write_block(number);
    }
  } else {
    executor(blocks, write_block);
  }
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope::detail
