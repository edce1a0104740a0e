#pragma once

#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>

#include "rope/detail/unit.hpp"

namespace rope::detail {

/// Memory that a caller handed over: where it starts, and how many elements there are, if that is
/// known.
template <class T>
struct Source {
  static constexpr std::int64_t unknown_size = -1;
  T* data;
  std::int64_t size;
};

template <class T>
struct is_span : std::false_type {};
template <class T, std::size_t extent>
struct is_span<std::span<T, extent>> : std::true_type {};

template <class T>
concept PointerTo = std::is_pointer_v<std::remove_cvref_t<T>>;

template <class T>
concept Container = requires(T& container) {
  std::data(container);
  std::size(container);
};

/// A contiguous container that outlives the call: an lvalue, or a span. A temporary vector would
/// leave a dangling view.
template <class T>
concept LastingContainer =
    Container<T> && !PointerTo<T> &&
    (std::is_lvalue_reference_v<T> || is_span<std::remove_cvref_t<T>>::value);

/// What the factories of views take: a pointer, an array, a lasting container or a span.
template <class T>
concept SourceOf = PointerTo<T> || LastingContainer<T>;

template <class T>
concept IsDouble = std::is_same_v<T, double>;

inline namespace ROPE_DETAIL_UNIT {

template <PointerTo P>
constexpr auto source(P&& pointer) noexcept {
  return Source<std::remove_pointer_t<std::remove_cvref_t<P>>>{pointer, Source<int>::unknown_size};
}

template <LastingContainer C>
constexpr auto source(C&& container) noexcept {
  return Source<std::remove_pointer_t<decltype(std::data(container))>>{
      std::data(container), static_cast<std::int64_t>(std::size(container))};
}

}  // namespace ROPE_DETAIL_UNIT

template <SourceOf S>
using source_element_t = std::remove_pointer_t<decltype(source(std::declval<S>()).data)>;

}  // namespace rope::detail
