#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "rope/argument.hpp"
#include "rope/detail/layout.hpp"
#include "rope/detail/rotate_check.hpp"
#include "rope/detail/source.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/pairing.hpp"
#include "rope/view.hpp"

namespace rope {

/// Which rows of each head of a weight belong to rotated features: `rotary_dim` of them from
/// `first_dim` on. The others keep their places.
struct RotatedPart {
  /// Even. It has no default: taken for the whole head where a model rotates only a part of it, it
  /// would spoil the weights in silence.
  required<Extent> rotary_dim;
  Extent first_dim = 0;
};

namespace detail {

/// Rows of one head, [rows, columns].
template <class T>
struct HeadRows {
  T* data;
  std::int64_t row_stride;
  std::int64_t column_stride;

  ROPE_DETAIL_FORWARD operator HeadRows<const T>() const noexcept requires(!std::is_const_v<T>) {
    return {data, row_stride, column_stride};
  }
  ROPE_DETAIL_FORWARD T* row(std::int64_t index) const noexcept {
    return data + index * row_stride;
  }
};

inline namespace ROPE_DETAIL_UNIT {

/// Batch, tokens (the columns), heads, dim (the rows of a head) of a weight [heads * head_dim, in].
inline Status weight_layout(const char* who, const Extents<3>& shape, std::int64_t row_stride,
                            std::int64_t size, Layout& layout) noexcept {
  const std::int64_t heads = shape[0];
  const std::int64_t head_dim = shape[1];
  const std::int64_t columns = shape[2];
  std::int64_t head_stride = 0;
  if (heads > 0 && head_dim > 0 && __builtin_mul_overflow(head_dim, row_stride, &head_stride))
      [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: %lld rows in a head with row stride %lld overflow a 64-bit offset", who,
                   static_cast<long long>(head_dim), static_cast<long long>(row_stride));
  }
  layout = {{1, columns, heads, head_dim}, {0, 1, head_stride, row_stride}};
  if (Status status = check_layout(who, layout, false, 1); !status.ok()) [[unlikely]] {
    return status;
  }
  if (row_stride < columns && !is_empty(layout)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: row stride %lld is less than the %lld elements of a row", who,
                   static_cast<long long>(row_stride), static_cast<long long>(columns));
  }
  // check_layout() has shown that this fits.
  const std::int64_t needed =
      is_empty(layout) ? 0 : (heads - 1) * head_stride + (head_dim - 1) * row_stride + columns;
  const bool padded = row_stride != columns;
  if (size >= 0 && (padded ? size < needed : size != needed)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: data has %lld elements, but [%lld, %lld, %lld] (heads, head_dim, in) with "
                   "row stride %lld needs %lld",
                   who, static_cast<long long>(size), static_cast<long long>(heads),
                   static_cast<long long>(head_dim), static_cast<long long>(columns),
                   static_cast<long long>(row_stride), static_cast<long long>(needed));
  }
  return {};
}

template <class S>
View<source_element_t<S>> weight_view(S&& from, const char* who, const Extents<3>& shape,
                                      std::int64_t row_stride) {
  const auto elements = source(from);
  Layout layout;
  require(weight_layout(who, shape, row_stride, elements.size, layout));
  return View<source_element_t<S>>(elements.data, layout, who);
}

inline Status check_rotated_part(const char* who, std::int64_t dim,
                                 const RotatedPart& part) noexcept {
  const std::int64_t rotary_dim = part.rotary_dim.value();
  if (rotary_dim < 0 || rotary_dim % 2 != 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: rotary_dim must be even and not negative, got %lld", who,
                   static_cast<long long>(rotary_dim));
  }
  if (part.first_dim < 0 || rotary_dim > dim || part.first_dim > dim - rotary_dim) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: rotary_dim %lld from first_dim %lld on is not within the view's %lld dims",
                   who, static_cast<long long>(rotary_dim), static_cast<long long>(part.first_dim),
                   static_cast<long long>(dim));
  }
  return {};
}

/// Copies to each of `rows` rows of `out` the row `source_of(row)` of `from`.
template <class T, class SourceOfRow>
void copy_rows(HeadRows<const T> from, HeadRows<T> out, std::int64_t rows, std::int64_t columns,
               SourceOfRow source_of) noexcept {
  if (from.column_stride == 1 && out.column_stride == 1) {
    for (std::int64_t row = 0; row < rows; ++row) {
      std::memcpy(out.row(row), from.row(source_of(row)),
                  static_cast<std::size_t>(columns) * sizeof(T));
    }
    return;
  }
  for (std::int64_t column = 0; column < columns; ++column) {
    const T* const source = from.data + column * from.column_stride;
    T* const target = out.data + column * out.column_stride;
    for (std::int64_t row = 0; row < rows; ++row) {
      std::memcpy(target + row * out.row_stride, source + source_of(row) * from.row_stride,
                  sizeof(T));
    }
  }
}

template <class T>
void copy_rows_as_they_are(HeadRows<const T> from, HeadRows<T> out, std::int64_t rows,
                           std::int64_t columns) noexcept {
  copy_rows(from, out, rows, columns, [](std::int64_t row) { return row; });
}

/// Copies rotated rows, each to where the order `to` has it. Pair i stands in the rows 2i and 2i +
/// 1 of one order, and in the rows i and i + rows / 2 of the other.
template <class T>
void copy_rows_reordered(HeadRows<const T> from, HeadRows<T> out, Pairing to, std::int64_t rows,
                         std::int64_t columns) noexcept {
  const std::int64_t pairs = rows / 2;
  if (to == Pairing::interleaved) {
    copy_rows(from, out, rows, columns,
              [pairs](std::int64_t row) { return row / 2 + (row % 2 == 0 ? 0 : pairs); });
  } else {
    copy_rows(from, out, rows, columns,
              [pairs](std::int64_t row) { return row < pairs ? 2 * row : 2 * (row - pairs) + 1; });
  }
}

/// How many columns of a head are moved together: all if its rows are contiguous. If not, a few,
/// so that a head's neighbours in memory come next, as they do in a column-major weight.
inline std::int64_t columns_at_once(std::int64_t columns, bool rows_are_contiguous) noexcept {
  return rows_are_contiguous ? columns : (std::min)(columns, std::int64_t{32});
}

/// Calls `body(batch, head, column, columns)` for each head's part of each block of columns.
template <class Body>
void for_each_block(const Layout& layout, std::int64_t block, Body body) {
  for (std::int64_t batch = 0; batch < layout.extent[0]; ++batch) {
    for (std::int64_t column = 0; column < layout.extent[1]; column += block) {
      const std::int64_t columns = (std::min)(block, layout.extent[1] - column);
      for (std::int64_t head = 0; head < layout.extent[2]; ++head) {
        body(batch, head, column, columns);
      }
    }
  }
}

/// The rows of one head from row `first_dim` and column `column` on.
template <class T>
HeadRows<T> head_rows(const View<T>& view, std::int64_t first_dim, std::int64_t batch,
                      std::int64_t head, std::int64_t column) noexcept {
  return {view.data() + batch * view.batch_stride() + column * view.token_stride() +
              head * view.head_stride() + first_dim * view.dim_stride(),
          view.dim_stride(), view.token_stride()};
}

template <class T>
Status check_reorder(const char* who, View<T> weight, std::span<T> scratch,
                     const RotatedPart& part) noexcept {
  if (Status status = check_rotated_part(who, weight.dim(), part); !status.ok()) [[unlikely]] {
    return status;
  }
  if (Status status = check_output(who, weight.layout()); !status.ok()) [[unlikely]] {
    return status;
  }
  const std::int64_t rotary_dim = part.rotary_dim.value();
  if (weight.empty() || rotary_dim == 0) {
    return {};
  }
  const auto size = static_cast<std::int64_t>(scratch.size());
  if (size < rotary_dim) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: scratch has %lld elements, but needs at least rotary_dim, %lld", who,
                   static_cast<long long>(size), static_cast<long long>(rotary_dim));
  }
  const View<T> all_scratch(scratch.data(), Layout{{1, 1, 1, size}, {0, 0, 0, 1}}, who);
  return check_disjoint(who, "weight and scratch", weight, all_scratch);
}

template <class T>
void reorder(const char* who, View<T> weight, Pairing to, std::span<T> scratch,
             const RotatedPart& part) {
  require(check_reorder(who, weight, scratch, part));
  const std::int64_t rotary_dim = part.rotary_dim.value();
  if (weight.empty() || rotary_dim <= 2) {
    return;  // one pair is in order either way
  }
  const std::int64_t block =
      (std::min)(static_cast<std::int64_t>(scratch.size()) / rotary_dim,
                 columns_at_once(weight.tokens(), weight.token_stride() == 1));
  for_each_block(
      weight.layout(), block,
      [&](std::int64_t batch, std::int64_t head, std::int64_t column, std::int64_t columns) {
        const HeadRows<T> rows = head_rows(weight, part.first_dim, batch, head, column);
        const HeadRows<T> kept = rows.column_stride == 1
                                     ? HeadRows<T>{scratch.data(), columns, 1}
                                     : HeadRows<T>{scratch.data(), 1, rotary_dim};
        copy_rows_reordered<T>(rows, kept, to, rotary_dim, columns);
        copy_rows_as_they_are<T>(kept, rows, rotary_dim, columns);
      });
}

template <class T>
Status check_copy_reordered(const char* who, View<const T> in, View<T> out,
                            const RotatedPart& part) noexcept {
  if (Status status = check_shapes_equal(who, in.layout(), out.layout()); !status.ok())
      [[unlikely]] {
    return status;
  }
  if (Status status = check_rotated_part(who, in.dim(), part); !status.ok()) [[unlikely]] {
    return status;
  }
  if (Status status = check_output(who, out.layout()); !status.ok()) [[unlikely]] {
    return status;
  }
  return check_disjoint(who, "in and out", in, out);
}

template <class T>
void copy_reordered(const char* who, View<const T> in, View<T> out, Pairing to,
                    const RotatedPart& part) {
  require(check_copy_reordered(who, in, out, part));
  if (in.empty()) {
    return;
  }
  const std::int64_t first = part.first_dim;
  const std::int64_t end = first + part.rotary_dim.value();
  const std::int64_t block =
      columns_at_once(in.tokens(), in.token_stride() == 1 && out.token_stride() == 1);
  for_each_block(
      in.layout(), block,
      [&](std::int64_t batch, std::int64_t head, std::int64_t column, std::int64_t columns) {
        const auto from = [&](std::int64_t dim) { return head_rows(in, dim, batch, head, column); };
        const auto target = [&](std::int64_t dim) {
          return head_rows(out, dim, batch, head, column);
        };
        copy_rows_as_they_are<T>(from(0), target(0), first, columns);
        copy_rows_reordered<T>(from(first), target(first), to, end - first, columns);
        copy_rows_as_they_are<T>(from(end), target(end), in.dim() - end, columns);
      });
}

}  // namespace ROPE_DETAIL_UNIT

/// What the functions below move: any type that is no more than its bytes.
template <class T>
concept Movable = std::is_trivially_copyable_v<T> && !std::is_const_v<T>;

}  // namespace detail

inline namespace ROPE_DETAIL_UNIT {

/// A row-major weight [heads * head_dim, in] of the q or k projection, as PyTorch and safetensors
/// have it; `shape` is {heads, head_dim, in}. Under grouped queries, k has fewer heads than q.
///
/// The result is a View whose heads and dims are the rows and whose tokens are the columns: a
/// permutation of the weight's rows is one of the features of what the projection puts out.
/// `source` as for bthd(); a type that C++ lacks is given as bytes, `in` then being the bytes of a
/// row. Throws InvalidArgument as bthd() does. O(1).
template <detail::SourceOf S>
View<detail::source_element_t<S>> row_major_weight(S&& source, const Extents<3>& shape) {
  return detail::weight_view(source, "rope::row_major_weight", shape, shape[2]);
}

/// The same with rows `row_stride_elements` apart, at least `in`; a container may then be larger
/// than needed.
template <detail::SourceOf S>
View<detail::source_element_t<S>> row_major_weight(S&& source, const Extents<3>& shape,
                                                   Extent row_stride_elements) {
  return detail::weight_view(source, "rope::row_major_weight", shape, row_stride_elements);
}

/// A column-major weight [heads * head_dim, in], as Eigen has it by default, or a row-major
/// transposed one [in, heads * head_dim], as Flax has it; `shape` is {heads, head_dim, in}.
/// Otherwise as row_major_weight().
template <detail::SourceOf S>
View<detail::source_element_t<S>> column_major_weight(S&& source, const Extents<3>& shape) {
  return detail::packed_view<3>(source, "rope::column_major_weight", {shape[2], shape[0], shape[1]},
                                {1, 2, 3});
}

/// A bias [heads * head_dim] of the q or k projection, or the weight of a norm over all of q or k;
/// `shape` is {heads, head_dim}. The weight of a norm that all heads share is of one head: {1,
/// head_dim}. Otherwise as row_major_weight().
template <detail::SourceOf S>
View<detail::source_element_t<S>> bias(S&& source, const Extents<2>& shape) {
  return detail::weight_view(source, "rope::bias", {shape[0], shape[1], 1}, 1);
}

/// Reorders interleaved rows to half-split order, in place: of 8 rows, 0 2 4 6 1 3 5 7 become rows
/// 0 to 7.
///
/// `weight` [batch, tokens, heads, dim] comes from the factories above, or is any view: experts may
/// be its batch, and q or k themselves are reordered just as well. Where q and k have both been
/// reordered and are rotated with the other pairing, their products stay the same up to rounding;
/// v and the output projection stay as they are. Reorder the biases and the norms' weights, too.
///
/// Elements are of any trivially copyable type. `scratch` has at least rotary_dim of them; for
/// row-major weights it is fastest with rotary_dim * in, a whole head. Throws InvalidArgument,
/// before the first write, if the part is not within a head, if scratch is too small or shares
/// elements with the weight, or if two indices of the weight are one element. O(elements).
///
/// Source: the permutation between Meta's and Hugging Face's Llama checkpoints.
template <detail::Movable T>
void to_half_split(View<T> weight, std::span<std::type_identity_t<T>> scratch,
                   const RotatedPart& part) {
  detail::reorder("rope::to_half_split", weight, Pairing::half_split, scratch, part);
}

/// Reorders half-split rows to interleaved order, in place: of 8 rows, 0 4 1 5 2 6 3 7 become rows
/// 0 to 7. Undoes to_half_split() and is otherwise like it.
template <detail::Movable T>
void to_interleaved(View<T> weight, std::span<std::type_identity_t<T>> scratch,
                    const RotatedPart& part) {
  detail::reorder("rope::to_interleaved", weight, Pairing::interleaved, scratch, part);
}

/// As to_half_split(), from `in` to `out` of the same shape, whatever their strides. Rows outside
/// the part are copied, gaps between rows are not written. Throws InvalidArgument, before the first
/// write, also if the shapes differ, or if in and out share elements.
template <detail::Movable T>
void copy_to_half_split(View<const std::type_identity_t<T>> in, View<T> out,
                        const RotatedPart& part) {
  detail::copy_reordered<T>("rope::copy_to_half_split", in, out, Pairing::half_split, part);
}

/// As to_interleaved(), from `in` to `out`; see copy_to_half_split().
template <detail::Movable T>
void copy_to_interleaved(View<const std::type_identity_t<T>> in, View<T> out,
                         const RotatedPart& part) {
  detail::copy_reordered<T>("rope::copy_to_interleaved", in, out, Pairing::interleaved, part);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
