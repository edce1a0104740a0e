#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "rope/argument.hpp"
#include "rope/detail/angle_addition.hpp"
#include "rope/detail/position_table_check.hpp"
#include "rope/detail/rotor_work.hpp"
#include "rope/detail/table_options_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/executor.hpp"
#include "rope/frequencies.hpp"
#include "rope/table_concept.hpp"
#include "rope/table_options.hpp"

namespace rope {
namespace detail::inline ROPE_DETAIL_UNIT {

/// What makes rows, from factors that outlive it.
template <class T>
RowsWork<T> rows_work(const Frequencies& frequencies, const TableOptions& options,
                      const TableEntries<double>& coarse, const TableEntries<double>& fine,
                      TableEntries<T>& entries) noexcept {
  return {coarse.data(),
          fine.data(),
          frequencies.values().data(),
          frequencies.heads(),
          frequencies.pairs(),
          frequencies.magnitude(),
          options.angles,
          options.round_entries_to,
          static_cast<std::int64_t>(entries.size() * sizeof(T)) >= smallest_stream,
          entries.data()};
}

/// All rows, [rows, heads, 2, pairs]: for each row and head cos of every pair, then sin of every
/// pair. The first of them are those of `known`, which has as many or fewer.
template <class T>
TableEntries<T> table_entries(const char* who, const Frequencies& frequencies, std::int64_t rows,
                              const TableOptions& options, std::span<const T> known = {}) {
  require(check_table_shape<T>(who, frequencies, rows));
  require(check_table_options(who, options));
  const std::int64_t row_elements = frequencies.heads() * 2 * frequencies.pairs();
  TableEntries<T> entries(static_cast<std::size_t>(rows * row_elements));
  std::copy(known.begin(), known.end(), entries.begin());
  const std::int64_t first = static_cast<std::int64_t>(known.size()) / row_elements;
  TableEntries<double> fine;
  TableEntries<double> coarse;
  if (options.angles == Angles::exact) {
    fine = fine_factors(frequencies, rows, options.executor);
    coarse = coarse_factors(frequencies, rows, options.executor);
  }
  write_all_rows(rows_work(frequencies, options, coarse, fine, entries), first, rows,
                 options.executor);
  return entries;
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

/// Cos and sin of every pair at the positions 0 .. rows - 1, all stored: the table for text of a
/// bounded length.
///
/// Entry of T = float: magnitude * cos(position * frequency), the product taken exactly for the
/// stored double frequency, within 0.51 ulp for values above 2^-20 and positions to 2^24. T =
/// double: within 4 * 2^-53 * magnitude. TableOptions can ask for the numbers of models that
/// compute angles in float or round entries to 16 bits. The same bits on every platform, for every
/// number of rows and for every executor. Immutable; share it between layers and threads.
template <class T>
class CosSinTable {
  static_assert(std::same_as<T, float> || std::same_as<T, double>,
                "table entries are float, or double for double data");

 public:
  using value_type = T;
  static constexpr RowAddressing addressing = RowAddressing::position;

  /// Rows for the positions 0 .. rows - 1 of `frequencies`, which must have one axis.
  ///
  /// Throws InvalidArgument for more axes, a negative number of rows, a size that overflows, and
  /// angles beyond 2^53 radians. O(rows * heads * pairs), near the speed of memory, with 2 *
  /// sizeof(T) bytes an entry, and 16 bytes for every 1024th row and each of 1024 rows while it is
  /// built. With Angles::float32 about 20 times slower.
  ROPE_DETAIL_FORWARD CosSinTable(const Frequencies& frequencies, Extent rows,
                                  const TableOptions& options = {})
      : entries_(detail::table_entries<T>("rope::CosSinTable", frequencies, rows, options)),
        frequencies_(frequencies),
        angles_(options.angles),
        rounding_(options.round_entries_to) {}

  // Spelt out for their attribute: implicit ones could be shared by differently compiled units.
  ROPE_DETAIL_FORWARD CosSinTable(const CosSinTable&) = default;
  ROPE_DETAIL_FORWARD CosSinTable(CosSinTable&&) = default;
  ROPE_DETAIL_FORWARD CosSinTable& operator=(const CosSinTable&) = default;
  ROPE_DETAIL_FORWARD CosSinTable& operator=(CosSinTable&&) = default;
  ROPE_DETAIL_FORWARD ~CosSinTable() = default;

  /// A table of the same frequencies and options with `rows` rows, of which the first ones are
  /// those of this table, bit for bit.
  ///
  /// Throws as the constructor does, and InvalidArgument for fewer rows than there are. Copies the
  /// old rows and makes the new ones.
  ROPE_DETAIL_FORWARD CosSinTable grown(Extent rows, ExecutorRef executor = {}) const {
    detail::require(detail::check_growth("rope::CosSinTable::grown", this->rows(), rows));
    return CosSinTable(*this, rows, {angles_, rounding_, executor});
  }

  /// How many positions there are, from 0 on.
  ROPE_DETAIL_FORWARD std::int64_t rows() const noexcept {
    return static_cast<std::int64_t>(entries_.size()) / row_elements();
  }
  ROPE_DETAIL_FORWARD std::int64_t heads() const noexcept { return frequencies_.heads(); }
  ROPE_DETAIL_FORWARD std::int64_t pairs() const noexcept { return frequencies_.pairs(); }
  ROPE_DETAIL_FORWARD std::int64_t rotary_dim() const noexcept { return frequencies_.rotary_dim(); }
  ROPE_DETAIL_FORWARD double magnitude() const noexcept { return frequencies_.magnitude(); }
  ROPE_DETAIL_FORWARD Angles angles() const noexcept { return angles_; }
  ROPE_DETAIL_FORWARD EntryRounding rounding() const noexcept { return rounding_; }
  ROPE_DETAIL_FORWARD const rope::Frequencies& frequencies() const& noexcept {
    return frequencies_;
  }

  /// Cos of every pair at a position, for one set of heads. Throws OutOfRange if there is no such
  /// row.
  ROPE_DETAIL_FORWARD std::span<const T> cos(Extent row, Extent head = 0) const& {
    detail::require(detail::check_row("rope::CosSinTable::cos", row, rows(), head, heads()));
    return {at(row, head), static_cast<std::size_t>(pairs())};
  }

  /// Sin of every pair at a position, for one set of heads. Throws OutOfRange if there is no such
  /// row.
  ROPE_DETAIL_FORWARD std::span<const T> sin(Extent row, Extent head = 0) const& {
    detail::require(detail::check_row("rope::CosSinTable::sin", row, rows(), head, heads()));
    return {at(row, head) + pairs(), static_cast<std::size_t>(pairs())};
  }

  // Of a temporary, what these refer to would be gone.
  const rope::Frequencies& frequencies() const&& = delete;
  std::span<const T> cos(Extent row, Extent head = 0) const&& = delete;
  std::span<const T> sin(Extent row, Extent head = 0) const&& = delete;

  /// For rotate(): see the concept Table. Not checked.
  ROPE_DETAIL_FORWARD TableRow<T> row(std::int64_t row, std::int64_t head, std::int64_t first_pair,
                                      std::int64_t /*count*/, T* /*scratch*/) const noexcept {
    const T* cos = at(row, head) + first_pair;
    return {cos, cos + pairs()};
  }

 private:
  ROPE_DETAIL_FORWARD CosSinTable(const CosSinTable& known, std::int64_t rows,
                                  const TableOptions& options)
      : entries_(detail::table_entries<T>("rope::CosSinTable::grown", known.frequencies_, rows,
                                          options, known.entries_)),
        frequencies_(known.frequencies_),
        angles_(known.angles_),
        rounding_(known.rounding_) {}

  ROPE_DETAIL_FORWARD std::int64_t row_elements() const noexcept { return heads() * 2 * pairs(); }
  ROPE_DETAIL_FORWARD const T* at(std::int64_t row, std::int64_t head) const noexcept {
    return entries_.data() + row * row_elements() + head * 2 * pairs();
  }

  detail::TableEntries<T> entries_;
  rope::Frequencies frequencies_;
  Angles angles_;
  EntryRounding rounding_;
};

}  // namespace rope
