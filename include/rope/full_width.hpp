#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/pairing.hpp"
#include "rope/table_concept.hpp"

namespace rope {
namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_full_width(const char* argument, std::size_t size, std::int64_t rows,
                               std::int64_t rotary_dim) noexcept {
  std::int64_t needed = 0;
  if (__builtin_mul_overflow(rows, rotary_dim, &needed) || !std::cmp_equal(size, needed))
      [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "rope::write_full_width: %s has %zu elements, but %lld rows of the full width "
                   "%lld need exactly as many",
                   argument, size, static_cast<long long>(rows),
                   static_cast<long long>(rotary_dim));
  }
  return {};
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// Writes a table in the full-width form that PyTorch code uses as x * cos + rotate(x) * sin: every
/// value twice.
///
/// `cos` and `sin` become [rows, rotary_dim]. For half_split each row is the row of pairs followed
/// by itself
/// (`cat(freqs, freqs)`), for interleaved every value stands beside its twin
/// (`repeat_interleave(2)`). The table must have one row for all heads. Throws InvalidArgument if a
/// span has not exactly rows * rotary_dim elements, or the table has rows per head. O(rows *
/// rotary_dim).
template <Pairing pairing, PositionTable X>
void write_full_width(const X& table, std::span<typename X::value_type> cos,
                      std::span<typename X::value_type> sin) {
  using T = typename X::value_type;
  const std::int64_t rows = table.rows();
  const std::int64_t pairs = table.pairs();
  detail::require(detail::check_full_width("cos", cos.size(), rows, 2 * pairs));
  detail::require(detail::check_full_width("sin", sin.size(), rows, 2 * pairs));
  if (table.heads() != 1) [[unlikely]] {
    detail::raise(detail::failure(ErrorKind::invalid_argument,
                                  "rope::write_full_width: the table has rows for each of %lld "
                                  "heads, which this form cannot hold",
                                  static_cast<long long>(table.heads())));
  }
  constexpr bool halves = pairing == Pairing::half_split;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      T scratch[2];
      const TableRow<T> entry = table.row(row, 0, pair, 1, scratch);
      const auto first = static_cast<std::size_t>(row * 2 * pairs + (halves ? pair : 2 * pair));
      const auto second = first + static_cast<std::size_t>(halves ? pairs : 1);
      cos[first] = cos[second] = *entry.cos;
      sin[first] = sin[second] = *entry.sin;
    }
  }
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
