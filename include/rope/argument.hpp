#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope {
namespace detail {

template <class T>
concept IntegerArgument = std::integral<T> && !std::same_as<T, bool>;

template <class T>
concept NumberArgument = std::is_arithmetic_v<T> && !std::same_as<T, bool>;

/// What a `Field`, required<T>, can be made of; not a copy of itself.
template <class U, class Field, class T>
concept FieldArgument = std::convertible_to<U, T> && !std::same_as<std::remove_cvref_t<U>, Field>;

template <class Integer>
inline constexpr bool always_fits = std::signed_integral<Integer> || sizeof(Integer) < 8;

inline namespace ROPE_DETAIL_UNIT {

template <IntegerArgument Integer>
constexpr std::int64_t checked_extent(Integer value) noexcept(always_fits<Integer>) {
  if constexpr (!always_fits<Integer>) {
    if (!std::in_range<std::int64_t>(value)) {
      raise(failure(ErrorKind::out_of_range,
                    "rope::Extent: a value of 2^63 or more does not fit in 64 signed bits"));
    }
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace detail

/// A size, count, stride or offset in elements: any integer type converts to it without a narrowing
/// error.
///
/// Negative values are kept, so that the function that gets one can name the argument. Throws
/// OutOfRange for an unsigned value of 2^63 or more.
class Extent {
 public:
  template <detail::IntegerArgument Integer>
  ROPE_DETAIL_FORWARD constexpr Extent(Integer value) noexcept(detail::always_fits<Integer>)
      : value_(detail::checked_extent(value)) {}

  ROPE_DETAIL_FORWARD constexpr operator std::int64_t() const noexcept { return value_; }

 private:
  std::int64_t value_;
};

/// `count` extents in the order that the receiving function names: a shape or a set of strides.
template <std::size_t count>
struct Extents {
  Extent values[count];

  ROPE_DETAIL_FORWARD constexpr std::int64_t operator[](std::size_t index) const noexcept {
    return values[index];
  }
};

/// A real parameter: integers and any floating type convert to it without a narrowing error.
class Real {
 public:
  template <detail::NumberArgument Number>
  ROPE_DETAIL_FORWARD constexpr Real(Number value) noexcept : value_(static_cast<double>(value)) {}

  ROPE_DETAIL_FORWARD constexpr operator double() const noexcept { return value_; }

 private:
  double value_;
};

/// A field of an options aggregate that has no sensible default: leaving it out does not compile.
template <class T>
class required {
 public:
  template <detail::FieldArgument<required, T> U>
  ROPE_DETAIL_FORWARD constexpr required(U&& value) : value_(std::forward<U>(value)) {}

  ROPE_DETAIL_FORWARD constexpr operator const T&() const noexcept { return value_; }
  ROPE_DETAIL_FORWARD constexpr const T& value() const noexcept { return value_; }

 private:
  T value_;
};

}  // namespace rope
