#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rope/coordinates.hpp"
#include "rope/detail/angle_addition.hpp"
#include "rope/detail/rotor_kernels.hpp"
#include "rope/detail/rotor_work.hpp"
#include "rope/detail/table_options_check.hpp"
#include "rope/detail/token_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/executor.hpp"
#include "rope/frequencies.hpp"
#include "rope/table_options.hpp"

namespace rope::detail {

/// What the making of a TokenTable needs room for, kept so that refilling allocates nothing.
///
/// Vectors of numbers only: of a struct, the standard library's functions would copy more at once,
/// with instructions of the unit whose copy of them a linker happens to keep.
struct TokenScratch {
  std::vector<std::uint16_t> slots;  // [axes, rows]
  TokenAxis axis[max_axes] = {};
  std::int64_t axes = 0;
  TableEntries<double> rows;  // of the RotorRows [parts, group, factor_rows]
  std::int64_t parts = 1;
  std::int64_t group = 1;  // chunks of columns at a time
  std::int64_t factor_rows = 0;

  ROPE_DETAIL_FORWARD TokenScratch() = default;
  ROPE_DETAIL_FORWARD TokenScratch(const TokenScratch&) = default;
  ROPE_DETAIL_FORWARD TokenScratch(TokenScratch&&) = default;
  ROPE_DETAIL_FORWARD TokenScratch& operator=(const TokenScratch&) = default;
  ROPE_DETAIL_FORWARD TokenScratch& operator=(TokenScratch&&) = default;
  ROPE_DETAIL_FORWARD ~TokenScratch() = default;
};

inline namespace ROPE_DETAIL_UNIT {

/// Gives each token the number of its coordinate on an axis among the axis's different ones, in the
/// order of their first appearance. Returns how many there are, or limit + 1 for more than `limit`.
inline std::int64_t list_values(const double* coordinates, std::int64_t axes, std::int64_t rows,
                                std::int64_t limit, std::uint16_t* slots) noexcept {
  constexpr int bucket_bits = 11;
  constexpr std::size_t buckets = std::size_t{1} << bucket_bits;
  static_assert(buckets == 2 * max_listed);
  // Compared by their bits: -0 is told apart from 0, and costs a row.
  std::uint64_t values[max_listed];
  std::uint16_t numbers[buckets] = {};  // 0: empty, else slot + 1
  std::int64_t count = 0;
  std::int64_t slot = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::uint64_t value = bits_of(coordinates[row * axes]);
    // In grids values stay the same for a while, or run through all that there are.
    if (count > 0 && value == values[slot]) {
      slots[row] = static_cast<std::uint16_t>(slot);
      continue;
    }
    const std::int64_t next = slot + 1 < count ? slot + 1 : 0;
    if (count > 0 && value == values[next]) {
      slot = next;
      slots[row] = static_cast<std::uint16_t>(slot);
      continue;
    }
    // The upper bits of the product: fractions of few digits have only zeros in their lower ones.
    std::size_t bucket =
        static_cast<std::size_t>((value * 0x9e3779b97f4a7c15) >> (64 - bucket_bits));
    while (numbers[bucket] != 0 && values[numbers[bucket] - 1] != value) {
      bucket = (bucket + 1) % buckets;
    }
    if (numbers[bucket] == 0) {
      if (count == limit) {
        return limit + 1;
      }
      values[count] = value;
      numbers[bucket] = static_cast<std::uint16_t>(++count);
    }
    slot = numbers[bucket] - 1;
    slots[row] = static_cast<std::uint16_t>(slot);
  }
  return count;
}

/// For an axis that is not listed: the tokens of one step take rows in their order, those of a run
/// of equal values the same one.
inline void number_tokens(const double* coordinates, std::int64_t axes, std::int64_t rows,
                          std::int64_t step, std::uint16_t* slots) noexcept {
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t number = row % step;
    const bool is_repeated = number > 0 && coordinates[row * axes] == coordinates[(row - 1) * axes];
    slots[row] = is_repeated ? slots[row - 1] : static_cast<std::uint16_t>(number);
  }
}

/// The tokens at a time of axes that are not listed, where there is room.
inline constexpr std::int64_t token_step = 64;

/// How many values of an axis are worth a row of factors each.
inline std::int64_t list_limit(std::int64_t rows) noexcept {
  const std::int64_t worth = rows / 4 > token_step ? rows / 4 : token_step;
  return worth < max_listed ? worth : max_listed;
}

/// Gives all tokens their rows of factors, where an axis has room for as many as `room_of(axis)`
/// says. Returns how many tokens are worked on at a time.
template <class Room>
std::int64_t plan_tokens(CoordinatesView coordinates, TokenScratch& scratch,
                         const Room& room_of) noexcept {
  const std::int64_t axes = coordinates.axes();
  const std::int64_t rows = coordinates.batch() * coordinates.tokens();
  std::int64_t step = token_step;
  for (std::int64_t a = 0; a < axes; ++a) {
    TokenAxis& axis = scratch.axis[a];
    const std::int64_t limit = room_of(axis);
    const std::int64_t listed =
        list_values(coordinates.data() + a, axes, rows, limit, scratch.slots.data() + a * rows);
    axis.is_listed = listed <= limit;
    axis.listed = listed;
    step = axis.is_listed || axis.room > step ? step : axis.room;
  }
  for (std::int64_t a = 0; a < axes; ++a) {
    if (!scratch.axis[a].is_listed) {
      number_tokens(coordinates.data() + a, axes, rows, step, scratch.slots.data() + a * rows);
    }
  }
  return step;
}

/// The first plan, which finds out how much room there must be.
inline std::int64_t plan_new_tokens(CoordinatesView coordinates, TokenScratch& scratch) noexcept {
  const std::int64_t rows = coordinates.batch() * coordinates.tokens();
  const std::int64_t least = rows < token_step ? rows : token_step;
  const std::int64_t limit = list_limit(rows);
  for (std::int64_t a = 0; a < scratch.axes; ++a) {
    scratch.axis[a].room = least;
  }
  const std::int64_t step =
      plan_tokens(coordinates, scratch, [&](const TokenAxis&) { return limit; });
  for (std::int64_t a = 0; a < scratch.axes; ++a) {
    TokenAxis& axis = scratch.axis[a];
    axis.first_row = scratch.factor_rows;
    axis.room = axis.is_listed && axis.listed > least ? axis.listed : least;
    scratch.factor_rows += axis.room;
  }
  return step;
}

/// How many chunks of columns there are in all heads.
inline std::int64_t chunk_count(const Frequencies& frequencies) noexcept {
  return frequencies.heads() * ((frequencies.pairs() + chunk_columns - 1) / chunk_columns);
}

/// How many chunks have their factors at the same time: with many, long pieces of rows are written
/// together; but the factors shall be small beside the table.
inline std::int64_t group_of(std::int64_t chunks, std::int64_t rows,
                             std::int64_t factor_rows) noexcept {
  constexpr std::int64_t least = 2;
  const std::int64_t most = chunks < most_chunks ? chunks : most_chunks;
  const bool is_small = factor_rows * 8 <= rows;
  return is_small || most < least ? most : least;
}

/// Into how many parts the making of a table is split: runs of chunks of columns, or where there
/// are few of these, of tokens.
struct TokenParts {
  std::int64_t chunks;
  std::int64_t runs;  // of tokens
  std::int64_t run_length;

  std::int64_t count() const noexcept { return chunks * runs; }
};

inline TokenParts token_parts(std::int64_t wanted, std::int64_t chunks, std::int64_t rows,
                              std::int64_t step) noexcept {
  constexpr std::int64_t shortest_run = 512;
  if (wanted <= chunks) {
    return {wanted, 1, rows};
  }
  std::int64_t runs = wanted / chunks;
  const std::int64_t most = rows / shortest_run;
  runs = runs < most ? runs : most;
  runs = runs < 1 ? 1 : runs;
  const std::int64_t steps = (rows + step - 1) / step;
  return {chunks, runs, (steps + runs - 1) / runs * step};
}

/// Makes the rows of all tokens, [rows, heads, 2, pairs], as planned.
template <class T>
void write_token_table(const Frequencies& frequencies, CoordinatesView coordinates,
                       const TableOptions& options, std::int64_t step, TokenScratch& scratch,
                       T* entries) {
  const std::int64_t rows = coordinates.batch() * coordinates.tokens();
  const std::int64_t bytes =
      rows * frequencies.heads() * 2 * frequencies.pairs() * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t chunks = chunk_count(frequencies);
  std::int64_t wanted = part_count(options.executor, bytes);
  std::int64_t group = scratch.group;
  if (options.angles == Angles::exact) {
    // Where more parts are wanted than the table was made by, each has fewer chunks at a time.
    const std::int64_t room = scratch.parts * scratch.group;
    wanted = wanted < room ? wanted : room;
    group = room / wanted < group ? room / wanted : group;
  }
  const TokenWork<T> work{frequencies.values().data(),
                          frequencies.axes(),
                          frequencies.heads(),
                          frequencies.pairs(),
                          frequencies.magnitude(),
                          coordinates.data(),
                          rows,
                          scratch.slots.data(),
                          scratch.axis,
                          scratch.factor_rows,
                          group,
                          step,
                          options.angles,
                          options.round_entries_to,
                          bytes >= smallest_stream,
                          entries};
  const TokenParts parts = token_parts(wanted, chunks, rows, step);
  auto* const rotor_rows = reinterpret_cast<RotorRow*>(scratch.rows.data());
  const auto write_part = [&](std::int64_t index) noexcept {
    const std::int64_t part = index % parts.chunks;
    const std::int64_t first = index / parts.chunks * parts.run_length;
    const std::int64_t end = rows - first < parts.run_length ? rows : first + parts.run_length;
    write_tokens(work, chunks * part / parts.chunks, chunks * (part + 1) / parts.chunks, first, end,
                 rotor_rows + index * group * scratch.factor_rows);
  };
  if (parts.count() == 1) {
    write_part(0);
  } else {
    options.executor(parts.count(), write_part);
  }
}

template <class T>
TableEntries<T> token_table_entries(const Frequencies& frequencies, CoordinatesView coordinates,
                                    const TableOptions& options, TokenScratch& scratch) {
  constexpr const char* who = "rope::TokenTable";
  require(check_token_table<T>(who, frequencies, coordinates));
  require(check_table_options(who, options));
  const std::int64_t rows = coordinates.batch() * coordinates.tokens();
  const std::int64_t row_elements = frequencies.heads() * 2 * frequencies.pairs();
  TableEntries<T> entries(static_cast<std::size_t>(rows * row_elements));
  scratch.parts =
      part_count(options.executor, rows * row_elements * static_cast<std::int64_t>(sizeof(T)));
  std::int64_t step = token_step;
  if (options.angles == Angles::exact) {
    scratch.axes = coordinates.axes();
    scratch.slots.resize(static_cast<std::size_t>(rows * coordinates.axes()));
    step = plan_new_tokens(coordinates, scratch);
    scratch.group = group_of(chunk_count(frequencies), rows, scratch.factor_rows);
    constexpr auto row_values = static_cast<std::int64_t>(sizeof(RotorRow) / sizeof(double));
    // No more parts than have room in as much memory as the entries take: with many different
    // values on each axis, 64 parts would take 25 times as much.
    const auto part_bytes = static_cast<std::int64_t>(sizeof(RotorRow)) * scratch.group *
                            (scratch.factor_rows < 1 ? 1 : scratch.factor_rows);
    const std::int64_t fit =
        rows * row_elements * static_cast<std::int64_t>(sizeof(T)) / part_bytes;
    scratch.parts = fit < 1 ? 1 : fit < scratch.parts ? fit : scratch.parts;
    scratch.rows = TableEntries<double>(
        static_cast<std::size_t>(scratch.parts * scratch.group * scratch.factor_rows * row_values));
  }
  write_token_table(frequencies, coordinates, options, step, scratch, entries.data());
  return entries;
}

template <class T>
void refill_token_table(const Frequencies& frequencies, CoordinatesView coordinates,
                        const TableOptions& options, TokenScratch& scratch,
                        TableEntries<T>& entries, std::int64_t capacity) {
  constexpr const char* who = "rope::TokenTable::refill";
  require(check_token_table<T>(who, frequencies, coordinates));
  const std::int64_t rows = coordinates.batch() * coordinates.tokens();
  if (rows > capacity) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument,
                  "%s: the coordinates have %lld tokens, but the table has room for %lld", who,
                  static_cast<long long>(rows), static_cast<long long>(capacity)));
  }
  std::int64_t step = token_step;
  if (options.angles == Angles::exact) {
    step = plan_tokens(coordinates, scratch, [](const TokenAxis& axis) { return axis.room; });
  }
  write_token_table(frequencies, coordinates, options, step, scratch, entries.data());
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope::detail
