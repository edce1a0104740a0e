#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "rope/detail/unit.hpp"

namespace rope::detail {

/// An array that grows, for members of public types. std::vector's functions that grow and copy are
/// too large to be inlined, and then the linker keeps one copy for units of all instruction sets;
/// here they belong to the unit.
template <class T>
struct Array {
  ROPE_DETAIL_FORWARD Array() noexcept : elements(nullptr), size(0), capacity(0) {}
  ROPE_DETAIL_FORWARD Array(const Array& other) : Array() { append_copies(*this, other); }
  ROPE_DETAIL_FORWARD Array(Array&& other) noexcept : Array() { exchange_arrays(*this, other); }
  ROPE_DETAIL_FORWARD Array& operator=(const Array& other) {
    Array copy(other);
    exchange_arrays(*this, copy);
    return *this;
  }
  ROPE_DETAIL_FORWARD Array& operator=(Array&& other) noexcept {
    exchange_arrays(*this, other);
    return *this;
  }
  ROPE_DETAIL_FORWARD ~Array() { free_array(*this); }

  ROPE_DETAIL_FORWARD T* begin() noexcept { return elements; }
  ROPE_DETAIL_FORWARD T* end() noexcept { return elements + size; }
  ROPE_DETAIL_FORWARD const T* begin() const noexcept { return elements; }
  ROPE_DETAIL_FORWARD const T* end() const noexcept { return elements + size; }
  ROPE_DETAIL_FORWARD T& operator[](std::int64_t i) noexcept { return elements[i]; }
  ROPE_DETAIL_FORWARD const T& operator[](std::int64_t i) const noexcept { return elements[i]; }
  ROPE_DETAIL_FORWARD const T& back() const noexcept { return elements[size - 1]; }

  T* elements;
  std::int64_t size;
  std::int64_t capacity;
};

inline namespace ROPE_DETAIL_UNIT {

template <class T>
void exchange_arrays(Array<T>& a, Array<T>& b) noexcept {
  std::swap(a.elements, b.elements);
  std::swap(a.size, b.size);
  std::swap(a.capacity, b.capacity);
}

template <class T>
void free_array(Array<T>& array) noexcept {
  for (T& element : array) {
    element.~T();
  }
  ::operator delete(array.elements);
}

/// Room for `count` more elements.
template <class T>
void make_room(Array<T>& array, std::int64_t count) {
  const std::int64_t needed = array.size + count;
  if (needed <= array.capacity) {
    return;
  }
  Array<T> grown;
  grown.capacity = needed > 2 * array.capacity ? needed : 2 * array.capacity;
  grown.elements =
      static_cast<T*>(::operator new(static_cast<std::size_t>(grown.capacity) * sizeof(T)));
  for (T& element : array) {
    ::new (static_cast<void*>(grown.end())) T(std::move(element));
    ++grown.size;
  }
  exchange_arrays(array, grown);
}

/// Adds an element where there is room.
template <class T>
void append_in_room(Array<T>& array, T element) noexcept {
  ::new (static_cast<void*>(array.end())) T(std::move(element));
  ++array.size;
}

template <class T>
void append(Array<T>& array, T element) {
  make_room(array, 1);
  append_in_room(array, std::move(element));
}

template <class T>
void append_copies(Array<T>& array, const Array<T>& other) {
  make_room(array, other.size);
  for (const T& element : other) {
    ::new (static_cast<void*>(array.end())) T(element);
    ++array.size;
  }
}

/// Takes the elements first .. last - 1 out.
template <class T>
void erase(Array<T>& array, std::int64_t first, std::int64_t last) noexcept {
  const std::int64_t gap = last - first;
  if (gap == 0) {
    return;
  }
  for (std::int64_t i = last; i < array.size; ++i) {
    array[i - gap] = std::move(array[i]);
  }
  for (std::int64_t i = array.size - gap; i < array.size; ++i) {
    array[i].~T();
  }
  array.size -= gap;
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope::detail
