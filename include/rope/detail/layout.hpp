#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope::detail {

/// Extents and strides, in elements, of the four axes batch, tokens, heads, dim.
struct Layout {
  std::int64_t extent[4];
  std::int64_t stride[4];

  ROPE_DETAIL_FORWARD bool operator==(const Layout&) const = default;
};

inline namespace ROPE_DETAIL_UNIT {

inline const char* axis_name(int axis) noexcept {
  constexpr const char* names[] = {"batch", "tokens", "heads", "dim"};
  return names[axis];
}

inline bool is_empty(const Layout& layout) noexcept {
  return layout.extent[0] == 0 || layout.extent[1] == 0 || layout.extent[2] == 0 ||
         layout.extent[3] == 0;
}

/// Whether equal indices lead to equal elements, from the same start. The stride of an axis with
/// one index, or of an empty view, is never walked.
inline bool same_offsets(const Layout& a, const Layout& b) noexcept {
  for (int axis = 0; axis < 4; ++axis) {
    if (a.extent[axis] != b.extent[axis] ||
        (a.extent[axis] > 1 && a.stride[axis] != b.stride[axis])) {
      return false;
    }
  }
  return true;
}

inline Status check_extents(const char* who, const Layout& layout) noexcept {
  for (int axis = 0; axis < 4; ++axis) {
    if (layout.extent[axis] < 0) [[unlikely]] {
      return failure(ErrorKind::invalid_argument, "%s: %s must not be negative, got %lld", who,
                     axis_name(axis), static_cast<long long>(layout.extent[axis]));
    }
  }
  return {};
}

/// Fails unless every offset in the layout, in bytes, can be computed in 64 bits.
inline Status check_layout(const char* who, const Layout& layout, bool data_is_null,
                           std::size_t element_bytes) noexcept {
  if (Status status = check_extents(who, layout); !status.ok()) [[unlikely]] {
    return status;
  }
  if (is_empty(layout)) {
    return {};
  }
  if (data_is_null) [[unlikely]] {
    return failure(
        ErrorKind::invalid_argument,
        "%s: data is null, but the shape [%lld, %lld, %lld, %lld] is not empty", who,
        static_cast<long long>(layout.extent[0]), static_cast<long long>(layout.extent[1]),
        static_cast<long long>(layout.extent[2]), static_cast<long long>(layout.extent[3]));
  }
  // The sum of |stride| * (extent - 1) bounds every offset and every distance between two elements.
  const auto bytes = static_cast<std::int64_t>(element_bytes);
  std::int64_t span = 1;
  for (int axis = 0; axis < 4; ++axis) {
    const std::int64_t stride = layout.stride[axis];
    std::int64_t reach = 0;
    if (stride == (std::numeric_limits<std::int64_t>::min)() ||
        __builtin_mul_overflow(stride < 0 ? -stride : stride, layout.extent[axis] - 1, &reach) ||
        __builtin_add_overflow(span, reach, &span)) [[unlikely]] {
      return failure(ErrorKind::invalid_argument,
                     "%s: %s %lld with stride %lld overflows a 64-bit offset", who, axis_name(axis),
                     static_cast<long long>(layout.extent[axis]), static_cast<long long>(stride));
    }
  }
  if (std::int64_t ignored; __builtin_mul_overflow(span, bytes, &ignored)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: a span of %lld elements of %lld bytes overflows a 64-bit offset", who,
                   static_cast<long long>(span), static_cast<long long>(bytes));
  }
  return {};
}

/// Gives `layout` the strides of a packed array with the named axes, slowest first. Fails if the
/// number of elements overflows, or is not `size` where that is known (not negative).
inline Status pack(const char* who, Layout& layout, std::span<const int> axes,
                   std::int64_t size) noexcept {
  if (Status status = check_extents(who, layout); !status.ok()) [[unlikely]] {
    return status;
  }
  const bool empty = is_empty(layout);
  std::int64_t stride = 1;
  for (std::size_t i = axes.size(); i > 0; --i) {
    const int axis = axes[i - 1];
    layout.stride[axis] = stride;
    if (!empty && __builtin_mul_overflow(stride, layout.extent[axis], &stride)) [[unlikely]] {
      return failure(
          ErrorKind::invalid_argument,
          "%s: the shape [%lld, %lld, %lld, %lld] (batch, tokens, heads, dim) has more than 2^63 - "
          "1 elements",
          who, static_cast<long long>(layout.extent[0]), static_cast<long long>(layout.extent[1]),
          static_cast<long long>(layout.extent[2]), static_cast<long long>(layout.extent[3]));
    }
  }
  const std::int64_t elements = empty ? 0 : stride;
  if (size >= 0 && size != elements) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: data has %lld elements, but the shape [%lld, %lld, %lld, %lld] (batch, "
                   "tokens, heads, dim) "
                   "needs %lld",
                   who, static_cast<long long>(size), static_cast<long long>(layout.extent[0]),
                   static_cast<long long>(layout.extent[1]),
                   static_cast<long long>(layout.extent[2]),
                   static_cast<long long>(layout.extent[3]), static_cast<long long>(elements));
  }
  return {};
}

inline Status check_slice(const char* who, const Layout& layout, int axis, std::int64_t first,
                          std::int64_t count) noexcept {
  const std::int64_t extent = layout.extent[axis];
  if (first < 0 || count < 0 || first > extent || count > extent - first) [[unlikely]] {
    return failure(ErrorKind::out_of_range,
                   "%s: %lld from %lld on is not within the view's %s of %lld", who,
                   static_cast<long long>(count), static_cast<long long>(first), axis_name(axis),
                   static_cast<long long>(extent));
  }
  return {};
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope::detail
