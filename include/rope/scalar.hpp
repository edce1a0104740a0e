#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "rope/detail/half_bits.hpp"
#include "rope/detail/unit.hpp"

namespace rope {

/// A number of 16 bits with 11 significant ones (IEEE binary16), stored; computed with in float.
struct f16 {
  std::uint16_t bits;

  f16() = default;
  /// The nearest one, ties to even; subnormals are kept, and above 65520 is infinity.
  ROPE_DETAIL_FORWARD explicit constexpr f16(float value) noexcept
      : bits(detail::f16_of_float(value)) {}
  ROPE_DETAIL_FORWARD constexpr operator float() const noexcept {
    return detail::float_of_f16(bits);
  }
};

/// A number of 16 bits with 8 significant ones (bfloat16: the upper half of a float), stored;
/// computed with in float.
struct bf16 {
  std::uint16_t bits;

  bf16() = default;
  /// The nearest one, ties to even; subnormals are kept.
  ROPE_DETAIL_FORWARD explicit constexpr bf16(float value) noexcept
      : bits(detail::bf16_of_float(value)) {}
  ROPE_DETAIL_FORWARD constexpr operator float() const noexcept {
    return detail::float_of_bf16(bits);
  }
};

static_assert(std::is_trivially_copyable_v<f16> && sizeof(f16) == 2);
static_assert(std::is_trivially_copyable_v<bf16> && sizeof(bf16) == 2);

/// How the bits of an element are laid out.
enum class Format : unsigned char {
  f32,    ///< float
  f64,    ///< double
  f16,    ///< IEEE binary16, as rope::f16
  bf16,   ///< bfloat16, as rope::bf16
  other,  ///< only its trait knows
};

/// How an element type of q and k is computed with. Specialise it to plug in another storage type.
///
/// `compute_type`, float or double, is the type of the table and of the arithmetic. `format` says
/// what the bits mean: a type of format f16 or bf16, whatever its name, is a trivially copyable one
/// of 2 bytes and gets the kernels of rope::f16 or rope::bf16. A type of Format::other also has
/// `static compute_type to_compute(T) noexcept` and `static T from_compute(compute_type) noexcept`,
/// and is turned one pair at a time.
template <class T>
struct element_traits;

template <>
struct element_traits<float> {
  using compute_type = float;
  static constexpr Format format = Format::f32;
};

template <>
struct element_traits<double> {
  using compute_type = double;
  static constexpr Format format = Format::f64;
};

template <>
struct element_traits<f16> {
  using compute_type = float;
  static constexpr Format format = Format::f16;
};

template <>
struct element_traits<bf16> {
  using compute_type = float;
  static constexpr Format format = Format::bf16;
};

/// A type whose values rotate() can turn.
template <class T>
concept Element = requires {
  typename element_traits<T>::compute_type;
  { element_traits<T>::format } -> std::same_as<const Format&>;
};

/// The type of the table entries that go with elements of type T.
template <Element T>
using compute_type_t = typename element_traits<T>::compute_type;

namespace detail::inline ROPE_DETAIL_UNIT {

/// An element as a number to compute with; exact.
template <Element T>
constexpr compute_type_t<T> to_compute(T element) noexcept {
  constexpr Format format = element_traits<T>::format;
  if constexpr (format == Format::f16) {
    return float_of_f16(__builtin_bit_cast(std::uint16_t, element));
  } else if constexpr (format == Format::bf16) {
    return float_of_bf16(__builtin_bit_cast(std::uint16_t, element));
  } else if constexpr (format == Format::other) {
    return element_traits<T>::to_compute(element);
  } else {
    return element;
  }
}

/// The element nearest to a number, ties to even.
template <Element T>
constexpr T from_compute(compute_type_t<T> value) noexcept {
  constexpr Format format = element_traits<T>::format;
  if constexpr (format == Format::f16) {
    return __builtin_bit_cast(T, f16_of_float(value));
  } else if constexpr (format == Format::bf16) {
    return __builtin_bit_cast(T, bf16_of_float(value));
  } else if constexpr (format == Format::other) {
    return element_traits<T>::from_compute(value);
  } else {
    return value;
  }
}

}  // namespace detail::inline ROPE_DETAIL_UNIT
}  // namespace rope
