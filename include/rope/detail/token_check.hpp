#pragma once

#include <cstdint>

#include "rope/coordinates.hpp"
#include "rope/detail/bits.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/rotor_work.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/frequencies.hpp"

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// Coordinates from here on are not told apart from their neighbours.
inline constexpr double max_coordinate = 0x1p53;

inline Status check_token_coordinates(const char* who, const Frequencies& frequencies,
                                      CoordinatesView coordinates) noexcept {
  if (coordinates.axes() != frequencies.axes()) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: the coordinates have %lld axes, but the frequencies %lld", who,
                   static_cast<long long>(coordinates.axes()),
                   static_cast<long long>(frequencies.axes()));
  }
  if (frequencies.axes() > max_axes) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: frequencies have %lld axes, but at most %lld are supported", who,
                   static_cast<long long>(frequencies.axes()), static_cast<long long>(max_axes));
  }
  const std::int64_t columns = frequencies.heads() * frequencies.pairs();
  const auto values = static_cast<std::int64_t>(frequencies.values().size());
  if (values != frequencies.axes() * columns) [[unlikely]] {
    return failure(
        ErrorKind::invalid_argument,
        "%s: frequencies hold %lld values for %lld axes, %lld heads and %lld pairs: they "
        "were moved from",
        who, static_cast<long long>(values), static_cast<long long>(frequencies.axes()),
        static_cast<long long>(frequencies.heads()), static_cast<long long>(frequencies.pairs()));
  }
  for (std::int64_t axis = 0; axis < coordinates.axes(); ++axis) {
    double highest = 0;
    for (std::int64_t i = 0; i < columns; ++i) {
      const double frequency =
          absolute(frequencies.values()[static_cast<std::size_t>(axis * columns + i)]);
      highest = frequency > highest ? frequency : highest;
    }
    if (!(highest <= max_angle)) [[unlikely]] {
      return failure(ErrorKind::invalid_argument,
                     "%s: a frequency of axis %lld is %g, but at most 2^53 is supported", who,
                     static_cast<long long>(axis), highest);
    }
    // The largest first, by its bits, which NaN are larger than: tests and jumps for each took a
    // twentieth of the time of a table.
    const std::int64_t rows = coordinates.batch() * coordinates.tokens();
    std::uint64_t largest = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::uint64_t size =
          bits_of(absolute(coordinates.data()[row * coordinates.axes() + axis]));
      largest = size > largest ? size : largest;
    }
    if (largest <= bits_of(max_coordinate) && double_of(largest) * highest <= max_angle)
        [[likely]] {
      continue;
    }
    for (std::int64_t batch = 0; batch < coordinates.batch(); ++batch) {
      for (std::int64_t token = 0; token < coordinates.tokens(); ++token) {
        const double coordinate = coordinates(batch, token, axis);
        if (!is_finite(coordinate)) [[unlikely]] {
          return failure(ErrorKind::invalid_argument,
                         "%s: the coordinate at [%lld, %lld, %lld] (batch, token, axis) must be "
                         "finite, got %g",
                         who, static_cast<long long>(batch), static_cast<long long>(token),
                         static_cast<long long>(axis), coordinate);
        }
        if (!(absolute(coordinate) <= max_coordinate) ||
            !(absolute(coordinate) * highest <= max_angle)) [[unlikely]] {
          return failure(
              ErrorKind::invalid_argument,
              "%s: the coordinate %g at [%lld, %lld, %lld] (batch, token, axis) with the "
              "frequency %g: neither a coordinate nor an angle may be beyond 2^53",
              who, coordinate, static_cast<long long>(batch), static_cast<long long>(token),
              static_cast<long long>(axis), highest);
        }
      }
    }
  }
  return {};
}

template <class T>
Status check_token_table(const char* who, const Frequencies& frequencies,
                         CoordinatesView coordinates) noexcept {
  if (Status status = check_token_coordinates(who, frequencies, coordinates); !status.ok())
      [[unlikely]] {
    return status;
  }
  std::int64_t size = 0;
  if (__builtin_mul_overflow(frequencies.heads() * 2, frequencies.pairs(), &size) ||
      __builtin_mul_overflow(size, coordinates.batch() * coordinates.tokens(), &size) ||
      __builtin_mul_overflow(size, static_cast<std::int64_t>(sizeof(T)), &size)) [[unlikely]] {
    return failure(
        ErrorKind::invalid_argument,
        "%s: rows of %lld heads and %lld pairs for %lld tokens are more bytes than 64 bits can "
        "count",
        who, static_cast<long long>(frequencies.heads()),
        static_cast<long long>(frequencies.pairs()),
        static_cast<long long>(coordinates.batch() * coordinates.tokens()));
  }
  if (!is_finite(static_cast<double>(static_cast<T>(frequencies.magnitude())))) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: the magnitude %g is beyond the range of the table's %zu-byte entries", who,
                   frequencies.magnitude(), sizeof(T));
  }
  return {};
}

inline Status check_token_row(const char* who, std::int64_t batch, std::int64_t batches,
                              std::int64_t token, std::int64_t tokens, std::int64_t head,
                              std::int64_t heads) noexcept {
  if (batch < 0 || batch >= batches || token < 0 || token >= tokens || head < 0 || head >= heads)
      [[unlikely]] {
    return failure(ErrorKind::out_of_range,
                   "%s: batch row %lld, token %lld, head %lld is not in a table of [%lld, %lld, "
                   "%lld] (batch or 1, tokens, heads)",
                   who, static_cast<long long>(batch), static_cast<long long>(token),
                   static_cast<long long>(head), static_cast<long long>(batches),
                   static_cast<long long>(tokens), static_cast<long long>(heads));
  }
  return {};
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
