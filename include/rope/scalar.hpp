#pragma once

#include <concepts>
#include <type_traits>

namespace rope {

/// How an element type of q and k is computed with. Specialise it to plug in another storage type.
///
/// `compute_type` is the type of the table and of the arithmetic; for float and double it is the
/// type itself.
template <class T>
struct element_traits;

template <>
struct element_traits<float> {
  using compute_type = float;
};

template <>
struct element_traits<double> {
  using compute_type = double;
};

/// A type whose values rotate() can turn.
template <class T>
concept Element = requires {
  typename element_traits<T>::compute_type;
};

/// The type of the table entries that go with elements of type T.
template <Element T>
using compute_type_t = typename element_traits<T>::compute_type;

}  // namespace rope
