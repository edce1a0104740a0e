#pragma once

#include <complex>
#include <cstdint>

#include "rope/detail/layout.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope::detail {

/// The type of the elements that a view of T has: a complex number is two of its reals.
template <class T>
struct view_element {
  using type = T;
  static constexpr bool is_complex = false;
};
template <class R>
struct view_element<std::complex<R>> {
  using type = R;
  static constexpr bool is_complex = true;
};
template <class R>
struct view_element<const std::complex<R>> {
  using type = const R;
  static constexpr bool is_complex = true;
};

template <class T>
using view_element_t = typename view_element<T>::type;

inline namespace ROPE_DETAIL_UNIT {

/// The same memory, read as reals where T is complex; [complex.numbers] allows that for arrays.
template <class T>
view_element_t<T>* view_elements(T* data) noexcept {
  return reinterpret_cast<view_element_t<T>*>(data);
}

/// Turns a layout that counts complex numbers into one that counts their reals: real and imaginary
/// part of pair i become the features 2i and 2i + 1.
///
/// Fails where the pairs of a head do not lie side by side, since one stride cannot then lead to
/// all reals of the head, and where a stride overflows.
inline Status spread_pairs(const char* who, Layout& layout) noexcept {
  const std::int64_t pairs = layout.extent[3];
  if (pairs > 1 && layout.stride[3] != 1) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: the complex numbers of a head must lie side by side in memory, but the "
                   "stride between its %lld pairs is %lld: use the other storage order",
                   who, static_cast<long long>(pairs), static_cast<long long>(layout.stride[3]));
  }
  bool overflow = __builtin_mul_overflow(pairs, 2, &layout.extent[3]);
  for (int axis = 0; axis < 3; ++axis) {
    overflow |= __builtin_mul_overflow(layout.stride[axis], 2, &layout.stride[axis]);
  }
  layout.stride[3] = 1;
  if (overflow) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: a stride overflows 64 bits", who);
  }
  return {};
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope::detail
