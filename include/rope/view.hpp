#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "rope/argument.hpp"
#include "rope/detail/layout.hpp"
#include "rope/detail/source.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope {

/// A non-owning, strided view of q or k: [batch, tokens, heads, dim] elements of type T, whatever
/// their order in memory.
///
/// Strides count elements and may be zero (a broadcast input) or negative. The factories below make
/// views of the usual layouts; the layout is always named, never guessed from sizes or strides.
/// View<float> converts to View<const float>. Trivially copyable; pass it by value.
template <class T>
class View {
 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;

  /// Any layout: `shape` is {batch, tokens, heads, dim}, `strides` the distance in elements along
  /// each of them.
  ///
  /// Throws InvalidArgument if an extent is negative, if the view spans more bytes than an address
  /// can hold, or if `data` is null and the view is not empty. O(1).
  ROPE_DETAIL_FORWARD View(T* data, const Extents<4>& shape, const Extents<4>& strides)
      : View(data,
             detail::Layout{{shape[0], shape[1], shape[2], shape[3]},
                            {strides[0], strides[1], strides[2], strides[3]}},
             "rope::View") {}

  /// For the factories: a checked view of `layout`, on behalf of the function called `who`.
  ROPE_DETAIL_FORWARD View(T* data, const detail::Layout& layout, const char* who)
      : data_(data), layout_(layout) {
    detail::require(detail::check_layout(who, layout, data == nullptr, sizeof(T)));
  }

  /// A view of the same elements that cannot write them.
  ROPE_DETAIL_FORWARD operator View<const T>() const noexcept requires(!std::is_const_v<T>) {
    return View<const T>(data_, layout_);
  }

  ROPE_DETAIL_FORWARD T* data() const noexcept { return data_; }
  ROPE_DETAIL_FORWARD std::int64_t batch() const noexcept { return layout_.extent[0]; }
  ROPE_DETAIL_FORWARD std::int64_t tokens() const noexcept { return layout_.extent[1]; }
  ROPE_DETAIL_FORWARD std::int64_t heads() const noexcept { return layout_.extent[2]; }
  ROPE_DETAIL_FORWARD std::int64_t dim() const noexcept { return layout_.extent[3]; }
  ROPE_DETAIL_FORWARD std::int64_t batch_stride() const noexcept { return layout_.stride[0]; }
  ROPE_DETAIL_FORWARD std::int64_t token_stride() const noexcept { return layout_.stride[1]; }
  ROPE_DETAIL_FORWARD std::int64_t head_stride() const noexcept { return layout_.stride[2]; }
  ROPE_DETAIL_FORWARD std::int64_t dim_stride() const noexcept { return layout_.stride[3]; }
  ROPE_DETAIL_FORWARD const detail::Layout& layout() const noexcept { return layout_; }

  /// Whether there is no element in it.
  ROPE_DETAIL_FORWARD bool empty() const noexcept {
    return batch() == 0 || tokens() == 0 || heads() == 0 || dim() == 0;
  }

  /// One element; the indices are not checked.
  ROPE_DETAIL_FORWARD T& operator()(std::int64_t batch, std::int64_t token, std::int64_t head,
                                    std::int64_t i) const noexcept {
    return data_[batch * batch_stride() + token * token_stride() + head * head_stride() +
                 i * dim_stride()];
  }

  /// `count` rows of the batch, tokens, heads or dims from `first` on. Throws OutOfRange if they
  /// are not all there. O(1).
  ROPE_DETAIL_FORWARD View slice_batch(Extent first, Extent count) const {
    return slice(0, first, count, "rope::View::slice_batch");
  }
  ROPE_DETAIL_FORWARD View slice_tokens(Extent first, Extent count) const {
    return slice(1, first, count, "rope::View::slice_tokens");
  }
  ROPE_DETAIL_FORWARD View slice_heads(Extent first, Extent count) const {
    return slice(2, first, count, "rope::View::slice_heads");
  }
  ROPE_DETAIL_FORWARD View slice_dims(Extent first, Extent count) const {
    return slice(3, first, count, "rope::View::slice_dims");
  }

 private:
  template <class>
  friend class View;

  ROPE_DETAIL_FORWARD View(T* data, const detail::Layout& layout) noexcept
      : data_(data), layout_(layout) {}

  ROPE_DETAIL_FORWARD View slice(int axis, std::int64_t first, std::int64_t count,
                                 const char* who) const {
    detail::require(detail::check_slice(who, layout_, axis, first, count));
    detail::Layout sliced = layout_;
    sliced.extent[axis] = count;
    // An empty slice keeps the start, which may be null: there may be nothing to point at.
    return View(detail::is_empty(sliced) ? data_ : data_ + first * layout_.stride[axis], sliced);
  }

  T* data_;
  detail::Layout layout_;
};

static_assert(std::is_trivially_copyable_v<View<float>>);

namespace detail::inline ROPE_DETAIL_UNIT {

/// A packed view of `source`, whose extents stand in memory in the order in which `axes` names
/// them, slowest first.
template <std::size_t rank, class S>
View<source_element_t<S>> packed_view(S&& from, const char* who, const Extents<rank>& shape,
                                      const int (&axes)[rank]) {
  const auto elements = source(from);
  Layout layout{{1, 1, 1, 1}, {0, 0, 0, 0}};
  for (std::size_t i = 0; i < rank; ++i) {
    layout.extent[axes[i]] = shape[i];
  }
  require(pack(who, layout, axes, elements.size));
  return View<source_element_t<S>>(elements.data, layout, who);
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// Packed q or k of shape {batch, tokens, heads, dim}: dim varies fastest, then heads, then tokens.
///
/// `source` is a pointer, or an array, container or std::span that must then have exactly as many
/// elements as the shape; temporaries other than spans are refused. Throws as the constructor of
/// View does, and InvalidArgument for a wrong size. O(1). The same holds for the other layouts.
template <detail::SourceOf S>
View<detail::source_element_t<S>> bthd(S&& source, const Extents<4>& shape) {
  return detail::packed_view<4>(source, "rope::bthd", shape, {0, 1, 2, 3});
}

/// Packed q or k of shape {batch, heads, tokens, dim}, as Hugging Face and
/// scaled_dot_product_attention have it.
template <detail::SourceOf S>
View<detail::source_element_t<S>> bhtd(S&& source, const Extents<4>& shape) {
  return detail::packed_view<4>(source, "rope::bhtd", shape, {0, 2, 1, 3});
}

/// Packed q or k of one sequence, {tokens, heads, dim}; a batch of 1.
template <detail::SourceOf S>
View<detail::source_element_t<S>> thd(S&& source, const Extents<3>& shape) {
  return detail::packed_view<3>(source, "rope::thd", shape, {1, 2, 3});
}

/// Packed q or k of one sequence, {heads, tokens, dim}; a batch of 1.
template <detail::SourceOf S>
View<detail::source_element_t<S>> htd(S&& source, const Extents<3>& shape) {
  return detail::packed_view<3>(source, "rope::htd", shape, {2, 1, 3});
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
