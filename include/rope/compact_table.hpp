#pragma once

#include <concepts>
#include <cstdint>

#include "rope/argument.hpp"
#include "rope/detail/angle_addition.hpp"
#include "rope/detail/position_table_check.hpp"
#include "rope/detail/rotor_kernels.hpp"
#include "rope/detail/table_options_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/frequencies.hpp"
#include "rope/table_concept.hpp"
#include "rope/table_options.hpp"

namespace rope {
namespace detail::inline ROPE_DETAIL_UNIT {

/// The fine factors, after the checks of the whole table.
template <class T>
TableEntries<double> checked_fine_factors(const Frequencies& frequencies, std::int64_t rows,
                                          const TableOptions& options) {
  constexpr const char* who = "rope::CompactTable";
  require(check_table_shape<T>(who, frequencies, rows));
  require(check_table_options(who, options));
  return options.angles == Angles::exact ? fine_factors(frequencies, rows, options.executor)
                                         : TableEntries<double>();
}

/// Makes the entries of `count` pairs of a row, cos and then sin.
template <class T>
void make_compact_row(const Frequencies& frequencies, const double* fine, const double* coarse,
                      Angles angles, EntryRounding rounding, std::int64_t row, std::int64_t column,
                      std::int64_t count, T* cos) noexcept {
  T* const sin = cos + count;
  if (angles != Angles::exact) [[unlikely]] {
    write_float_entries(static_cast<double>(row), frequencies.values().data() + column,
                        frequencies.magnitude(), rounding, cos, sin, count);
    return;
  }
  const std::int64_t columns = frequencies.heads() * frequencies.pairs();
  coarse += row / angle_addition_step * 2 * columns + column;
  fine += row % angle_addition_step * 2 * columns + column;
  if (rounding == EntryRounding::none) {
    add_angles(coarse, coarse + columns, fine, fine + columns, cos, sin, count);
  } else {
    write_narrow_sums(coarse, coarse + columns, fine, fine + columns, rounding, cos, sin, count);
  }
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

/// Cos and sin of every pair at the positions 0 .. rows - 1, made on demand from two short tables
/// in double: the table for contexts so long that all rows would be too many.
///
/// A million positions of 64 pairs take 2.1 MB rather than 512 MB. A row costs one complex product
/// a pair, and is made once for all heads of a token. Rows have the bits of those of a CosSinTable
/// of the same frequencies and options, and this can be used wherever that can, except that there
/// is no cos(row) to refer to. Immutable; share it between layers and threads.
template <class T>
class CompactTable {
  static_assert(std::same_as<T, float> || std::same_as<T, double>,
                "table entries are float, or double for double data");

 public:
  using value_type = T;
  static constexpr RowAddressing addressing = RowAddressing::position;

  /// For the positions 0 .. rows - 1 of `frequencies`, which must have one axis.
  ///
  /// Throws as the constructor of CosSinTable does. O((rows / 1024 + 1024) * heads * pairs), with
  /// 16 bytes for each of these. With Angles::float32 there are no short tables, and a row costs a
  /// sine and a cosine a pair. The executor is given 32 pairs at a time.
  ROPE_DETAIL_FORWARD CompactTable(const Frequencies& frequencies, Extent rows,
                                   const TableOptions& options = {})
      : frequencies_(frequencies),
        rows_(rows),
        angles_(options.angles),
        rounding_(options.round_entries_to),
        fine_(detail::checked_fine_factors<T>(frequencies_, rows_, options)),
        coarse_(detail::coarse_factors(frequencies_, fine_.empty() ? 0 : rows_, options.executor)) {
  }

  // Spelt out for their attribute: implicit ones could be shared by differently compiled units.
  ROPE_DETAIL_FORWARD CompactTable(const CompactTable&) = default;
  ROPE_DETAIL_FORWARD CompactTable(CompactTable&&) = default;
  ROPE_DETAIL_FORWARD CompactTable& operator=(const CompactTable&) = default;
  ROPE_DETAIL_FORWARD CompactTable& operator=(CompactTable&&) = default;
  ROPE_DETAIL_FORWARD ~CompactTable() = default;

  /// How many positions there are, from 0 on; none where this was moved from.
  ROPE_DETAIL_FORWARD std::int64_t rows() const noexcept {
    return frequencies_.values().empty() ? 0 : rows_;
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
  const rope::Frequencies& frequencies() const&& = delete;  // of a temporary

  /// How much memory the short tables take.
  ROPE_DETAIL_FORWARD std::int64_t bytes() const noexcept {
    return static_cast<std::int64_t>((fine_.size() + coarse_.size()) * sizeof(double));
  }

  /// For rotate(): see the concept Table. Not checked.
  ROPE_DETAIL_FORWARD TableRow<T> row(std::int64_t row, std::int64_t head, std::int64_t first_pair,
                                      std::int64_t count, T* scratch) const noexcept {
    detail::make_compact_row(frequencies_, fine_.data(), coarse_.data(), angles_, rounding_, row,
                             head * pairs() + first_pair, count, scratch);
    return {scratch, scratch + count};
  }

 private:
  rope::Frequencies frequencies_;
  std::int64_t rows_;
  Angles angles_;
  EntryRounding rounding_;
  detail::TableEntries<double> fine_;
  detail::TableEntries<double> coarse_;
};

}  // namespace rope
