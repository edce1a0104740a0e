#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/angle_addition.hpp"
#include "rope/detail/cache_line_allocator.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/frequencies.hpp"
#include "rope/table_concept.hpp"

namespace rope {
namespace detail::inline ROPE_DETAIL_UNIT {

template <class T>
Status check_table_shape(const Frequencies& frequencies, std::int64_t rows) noexcept {
  constexpr const char* who = "rope::CosSinTable";
  if (frequencies.axes() != 1) [[unlikely]] {
    return failure(
        ErrorKind::invalid_argument,
        "%s: frequencies have %lld axes, but a table addressed by one integer position needs 1",
        who, static_cast<long long>(frequencies.axes()));
  }
  const auto values = static_cast<std::int64_t>(frequencies.values().size());
  if (values != frequencies.heads() * frequencies.pairs()) [[unlikely]] {
    return failure(
        ErrorKind::invalid_argument,
        "%s: frequencies hold %lld values for %lld heads and %lld pairs: they were moved from", who,
        static_cast<long long>(values), static_cast<long long>(frequencies.heads()),
        static_cast<long long>(frequencies.pairs()));
  }
  if (rows < 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: rows must not be negative, got %lld", who,
                   static_cast<long long>(rows));
  }
  std::int64_t elements = 0;
  if (__builtin_mul_overflow(frequencies.heads() * 2, frequencies.pairs(), &elements) ||
      __builtin_mul_overflow(elements, rows, &elements) ||
      __builtin_mul_overflow(elements, static_cast<std::int64_t>(sizeof(T)), &elements))
      [[unlikely]] {
    return failure(
        ErrorKind::invalid_argument,
        "%s: %lld rows of %lld heads and %lld pairs are more bytes than 64 bits can count", who,
        static_cast<long long>(rows), static_cast<long long>(frequencies.heads()),
        static_cast<long long>(frequencies.pairs()));
  }
  if (!is_finite(static_cast<double>(static_cast<T>(frequencies.magnitude())))) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: the magnitude %g is beyond the range of the table's %zu-byte entries", who,
                   frequencies.magnitude(), sizeof(T));
  }
  for (const double frequency : frequencies.values()) {
    if (!has_exact_angles(frequency, rows)) [[unlikely]] {
      return failure(ErrorKind::invalid_argument,
                     "%s: frequency %g at %lld rows makes angles beyond 2^53 radians", who,
                     frequency, static_cast<long long>(rows));
    }
  }
  return {};
}

/// All rows, [rows, heads, 2, pairs]: for each row and head cos of every pair, then sin of every
/// pair.
template <class T>
std::vector<T, CacheLineAllocator<T>> table_entries(const Frequencies& frequencies,
                                                    std::int64_t rows) {
  require(check_table_shape<T>(frequencies, rows));
  const std::int64_t heads = frequencies.heads();
  const std::int64_t pairs = frequencies.pairs();
  std::vector<T, CacheLineAllocator<T>> entries(static_cast<std::size_t>(rows * heads * 2 * pairs));
  const AngleFactors factors(frequencies, rows);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t head = 0; head < heads; ++head) {
      T* cos = entries.data() + (row * heads + head) * 2 * pairs;
      factors.write_row(row, head, cos, cos + pairs);
    }
  }
  return entries;
}

inline Status check_row(const char* who, std::int64_t row, std::int64_t rows, std::int64_t head,
                        std::int64_t heads) noexcept {
  if (row < 0 || row >= rows || head < 0 || head >= heads) [[unlikely]] {
    return failure(ErrorKind::out_of_range,
                   "%s: row %lld of head %lld is not in a table of %lld rows and %lld heads", who,
                   static_cast<long long>(row), static_cast<long long>(head),
                   static_cast<long long>(rows), static_cast<long long>(heads));
  }
  return {};
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

/// Cos and sin of every pair at the positions 0 .. rows - 1, all stored: the table for text of a
/// bounded length.
///
/// Entry of T = float: magnitude * cos(position * frequency), the product taken exactly for the
/// stored double frequency, within 0.51 ulp for values above 2^-20 and positions to 2^24. T =
/// double: within 4 * 2^-53 * magnitude. The same bits on every platform, and for every number of
/// rows. Immutable; share it between layers and threads.
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
  /// angles beyond 2^53 radians. O(rows * heads * pairs), with 2 * sizeof(T) bytes an entry, and 16
  /// bytes for every 1024th row and each of 1024 rows while it is built.
  ROPE_DETAIL_FORWARD CosSinTable(const Frequencies& frequencies, Extent rows)
      : entries_(detail::table_entries<T>(frequencies, rows)), frequencies_(frequencies) {}

  // Spelt out for their attribute: implicit ones could be shared by differently compiled units.
  ROPE_DETAIL_FORWARD CosSinTable(const CosSinTable&) = default;
  ROPE_DETAIL_FORWARD CosSinTable(CosSinTable&&) = default;
  ROPE_DETAIL_FORWARD CosSinTable& operator=(const CosSinTable&) = default;
  ROPE_DETAIL_FORWARD CosSinTable& operator=(CosSinTable&&) = default;
  ROPE_DETAIL_FORWARD ~CosSinTable() = default;

  /// How many positions there are, from 0 on.
  ROPE_DETAIL_FORWARD std::int64_t rows() const noexcept {
    return static_cast<std::int64_t>(entries_.size()) / row_elements();
  }
  ROPE_DETAIL_FORWARD std::int64_t heads() const noexcept { return frequencies_.heads(); }
  ROPE_DETAIL_FORWARD std::int64_t pairs() const noexcept { return frequencies_.pairs(); }
  ROPE_DETAIL_FORWARD std::int64_t rotary_dim() const noexcept { return frequencies_.rotary_dim(); }
  ROPE_DETAIL_FORWARD double magnitude() const noexcept { return frequencies_.magnitude(); }
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
  ROPE_DETAIL_FORWARD std::int64_t row_elements() const noexcept { return heads() * 2 * pairs(); }
  ROPE_DETAIL_FORWARD const T* at(std::int64_t row, std::int64_t head) const noexcept {
    return entries_.data() + row * row_elements() + head * 2 * pairs();
  }

  std::vector<T, detail::CacheLineAllocator<T>> entries_;
  rope::Frequencies frequencies_;
};

}  // namespace rope
