#pragma once

#include <cstddef>
#include <new>

#include "rope/detail/unit.hpp"

namespace rope::detail {

/// Starts every block on a cache line of its own, so that a vector load of a table row does not
/// touch two lines.
template <class T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t alignment{64};

  ROPE_DETAIL_FORWARD CacheLineAllocator() = default;
  template <class U>
  ROPE_DETAIL_FORWARD CacheLineAllocator(const CacheLineAllocator<U>&) noexcept {}

  ROPE_DETAIL_FORWARD T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), alignment));
  }
  ROPE_DETAIL_FORWARD void deallocate(T* block, std::size_t) noexcept {
    ::operator delete(block, alignment);
  }

  /// Elements that are not made of anything are left as they are: a table writes every entry once.
  template <class U>
  ROPE_DETAIL_FORWARD void construct(U*) noexcept {}

  ROPE_DETAIL_FORWARD bool operator==(const CacheLineAllocator&) const = default;
};

}  // namespace rope::detail
