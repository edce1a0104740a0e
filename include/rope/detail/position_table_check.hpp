#pragma once

#include <cstdint>

#include "rope/detail/angle_addition.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/frequencies.hpp"

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// All that can be wrong with a table of `rows` positions.
template <class T>
Status check_table_shape(const char* who, const Frequencies& frequencies,
                         std::int64_t rows) noexcept {
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

inline Status check_growth(const char* who, std::int64_t rows, std::int64_t wanted) noexcept {
  if (wanted < rows) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: rows must be at least %lld, got %lld", who,
                   static_cast<long long>(rows), static_cast<long long>(wanted));
  }
  return {};
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

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
