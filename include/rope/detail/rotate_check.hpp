#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "rope/detail/finite.hpp"
#include "rope/detail/layout.hpp"
#include "rope/detail/overlap.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/row_positions.hpp"
#include "rope/table_concept.hpp"
#include "rope/view.hpp"

namespace rope::detail::inline ROPE_DETAIL_UNIT {

ROPE_DETAIL_COLD inline Status position_failure(const char* who, std::int64_t position,
                                                std::int64_t batch, std::int64_t token,
                                                std::int64_t rows) noexcept {
  return failure(ErrorKind::out_of_range,
                 "%s: positions: the position %lld of batch row %lld, token %lld is outside the "
                 "table's rows 0 .. %lld",
                 who, static_cast<long long>(position), static_cast<long long>(batch),
                 static_cast<long long>(token), static_cast<long long>(rows - 1));
}

/// Checks `tokens` consecutive positions from `start` on, for one batch row.
inline Status check_run(const char* who, std::int64_t start, std::int64_t batch,
                        std::int64_t tokens, std::int64_t rows) noexcept {
  if (start < 0) [[unlikely]] {
    return position_failure(who, start, batch, 0, rows);
  }
  if (tokens > 0 && start > rows - tokens) [[unlikely]] {
    return failure(ErrorKind::out_of_range,
                   "%s: positions: %lld tokens from position %lld on in batch row %lld end outside "
                   "the table's rows 0 .. %lld",
                   who, static_cast<long long>(tokens), static_cast<long long>(start),
                   static_cast<long long>(batch), static_cast<long long>(rows - 1));
  }
  return {};
}

inline Status check_position_list(const char* who, const Positions& positions, const Layout& layout,
                                  std::int64_t rows) noexcept {
  const PositionShape& shape = positions.shape();
  const std::int64_t batch = layout.extent[0];
  const std::int64_t tokens = layout.extent[1];
  if (shape.tokens() != tokens || (shape.has_batch() && shape.batch() != batch)) [[unlikely]] {
    if (shape.has_batch()) {
      return failure(ErrorKind::invalid_argument,
                     "%s: positions have the shape [%lld, %lld] (batch, tokens), but the view has "
                     "batch %lld and tokens %lld",
                     who, static_cast<long long>(shape.batch()),
                     static_cast<long long>(shape.tokens()), static_cast<long long>(batch),
                     static_cast<long long>(tokens));
    }
    return failure(ErrorKind::invalid_argument,
                   "%s: positions have the shape [%lld] (tokens), but the view has tokens %lld",
                   who, static_cast<long long>(shape.tokens()), static_cast<long long>(tokens));
  }
  const std::int64_t listed = shape.has_batch() ? batch * tokens : tokens;
  for (std::int64_t i = 0; i < listed; ++i) {
    const std::int64_t position = positions.id(i);
    if (position < 0 || position >= rows) [[unlikely]] {
      return position_failure(who, position, i / tokens, i % tokens, rows);
    }
  }
  return {};
}

inline Status check_positions(const char* who, const Positions& positions, const Layout& layout,
                              std::int64_t rows) noexcept {
  const std::int64_t batch = layout.extent[0];
  const std::int64_t tokens = layout.extent[1];
  if (rows == 0 && batch > 0 && tokens > 0) [[unlikely]] {
    return failure(ErrorKind::out_of_range,
                   "%s: positions: the table has no rows, but the view has batch %lld and tokens "
                   "%lld",
                   who, static_cast<long long>(batch), static_cast<long long>(tokens));
  }
  switch (positions.kind()) {
    case Positions::Kind::from:
      return check_run(who, positions.start(), 0, tokens, rows);
    case Positions::Kind::from_each:
      if (positions.starts() >= 0 && positions.starts() != batch) [[unlikely]] {
        return failure(ErrorKind::invalid_argument,
                       "%s: positions have %lld starts, but the view has batch %lld", who,
                       static_cast<long long>(positions.starts()), static_cast<long long>(batch));
      }
      for (std::int64_t b = 0; b < batch; ++b) {
        if (Status status = check_run(who, positions.id(b), b, tokens, rows); !status.ok())
            [[unlikely]] {
          return status;
        }
      }
      return {};
    case Positions::Kind::at:
      break;
  }
  return check_position_list(who, positions, layout, rows);
}

/// Checks a table that has a row for each token.
inline Status check_token_table(const char* who, const Layout& layout, std::int64_t batch,
                                std::int64_t tokens) noexcept {
  if (tokens != layout.extent[1] || (batch != 1 && batch != layout.extent[0])) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: the table has rows for [%lld, %lld] (batch or 1, tokens), but the view has "
                   "batch %lld and tokens %lld",
                   who, static_cast<long long>(batch), static_cast<long long>(tokens),
                   static_cast<long long>(layout.extent[0]),
                   static_cast<long long>(layout.extent[1]));
  }
  return {};
}

/// Checks that the table's rows fit the heads of the view, and the rotated part the head.
inline Status check_placement(const char* who, const Layout& layout, std::int64_t table_heads,
                              std::int64_t pairs, std::int64_t first_dim) noexcept {
  if (table_heads != 1 && table_heads != layout.extent[2]) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: the table has rows for each of %lld heads, but the view has %lld heads",
                   who, static_cast<long long>(table_heads),
                   static_cast<long long>(layout.extent[2]));
  }
  const std::int64_t dim = layout.extent[3];
  if (first_dim < 0 || pairs > dim / 2 || first_dim > dim - 2 * pairs) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: the rotated part, %lld dims (2 for each pair of the table) from first_dim "
                   "%lld on, is not within the "
                   "view's %lld dims",
                   who, static_cast<long long>(2 * pairs), static_cast<long long>(first_dim),
                   static_cast<long long>(dim));
  }
  return {};
}

/// Checks a view that is written.
inline Status check_output(const char* who, const Layout& layout) noexcept {
  if (!is_empty(layout) && overlaps_itself(layout)) [[unlikely]] {
    return failure(
        ErrorKind::invalid_argument,
        "%s: the written view of strides [%lld, %lld, %lld, %lld] (batch, tokens, heads, dim) has "
        "the same element "
        "at several indices",
        who, static_cast<long long>(layout.stride[0]), static_cast<long long>(layout.stride[1]),
        static_cast<long long>(layout.stride[2]), static_cast<long long>(layout.stride[3]));
  }
  return {};
}

inline Status check_shapes_equal(const char* who, const Layout& in, const Layout& out) noexcept {
  for (int axis = 0; axis < 4; ++axis) {
    if (in.extent[axis] != out.extent[axis]) [[unlikely]] {
      return failure(ErrorKind::invalid_argument, "%s: in has %s %lld, but out has %lld", who,
                     axis_name(axis), static_cast<long long>(in.extent[axis]),
                     static_cast<long long>(out.extent[axis]));
    }
  }
  return {};
}

/// The bytes from the first to the last element of a view that is not empty.
struct ByteRange {
  std::uintptr_t begin;
  std::uintptr_t end;
};

inline ByteRange byte_range(std::uintptr_t address, const Layout& layout,
                            std::int64_t element_bytes) noexcept {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  for (int axis = 0; axis < 4; ++axis) {
    const std::int64_t reach = layout.stride[axis] * (layout.extent[axis] - 1);
    (reach < 0 ? lowest : highest) += reach;
  }
  return {address + static_cast<std::uintptr_t>(lowest * element_bytes),
          address + static_cast<std::uintptr_t>((highest + 1) * element_bytes)};
}

/// Checks that two views share no element.
template <class A, class B>
Status check_disjoint(const char* who, const char* names, const View<A>& a,
                      const View<B>& b) noexcept {
  if (a.empty() || b.empty()) {
    return {};
  }
  const auto a_address = reinterpret_cast<std::uintptr_t>(a.data());
  const auto b_address = reinterpret_cast<std::uintptr_t>(b.data());
  // Most views lie apart from each other, which is much cheaper to see than the full question.
  const ByteRange a_bytes = byte_range(a_address, a.layout(), sizeof(A));
  const ByteRange b_bytes = byte_range(b_address, b.layout(), sizeof(B));
  if (a_bytes.end <= b_bytes.begin || b_bytes.end <= a_bytes.begin) [[likely]] {
    return {};
  }
  if (share_memory({a_address, a.layout(), sizeof(A)}, {b_address, b.layout(), sizeof(B)})) {
    return failure(ErrorKind::invalid_argument, "%s: %s share elements", who, names);
  }
  return {};
}

/// Checks that `count` packed numbers, which are read, are not where a view is written; `what` they
/// are, a plural.
template <class T>
Status check_read_apart(const char* who, const char* what, const void* numbers, std::int64_t count,
                        std::int64_t number_bytes, const View<T>& out) noexcept {
  if (count == 0 || out.empty()) {
    return {};
  }
  const Footprint read = {
      reinterpret_cast<std::uintptr_t>(numbers), {{1, 1, 1, count}, {0, 0, 0, 1}}, number_bytes};
  const Footprint written = {reinterpret_cast<std::uintptr_t>(out.data()), out.layout(), sizeof(T)};
  const ByteRange read_bytes = byte_range(read.address, read.layout, read.element_bytes);
  const ByteRange written_bytes =
      byte_range(written.address, written.layout, written.element_bytes);
  if (read_bytes.end <= written_bytes.begin || written_bytes.end <= read_bytes.begin) [[likely]] {
    return {};
  }
  if (share_memory(read, written)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: %s lie where the result is written", who,
                   what);
  }
  return {};
}

/// Checks that ids, which fit `out`, are not written: what was checked would not be what is used.
template <class T>
Status check_ids_apart(const char* who, const Positions& positions, const View<T>& out) noexcept {
  if (!positions.has_ids()) {
    return {};
  }
  const bool is_for_tokens = positions.kind() == Positions::Kind::at;
  const std::int64_t rows = !is_for_tokens || positions.shape().has_batch() ? out.batch() : 1;
  return check_read_apart(who, is_for_tokens ? "positions: the ids" : "positions: the starts",
                          positions.ids(), is_for_tokens ? rows * out.tokens() : rows,
                          positions.id_bytes(), out);
}

/// Checks that `out` can be written while `in`, of the same extents, is read: it is the same view,
/// or shares nothing with it.
template <class In, class T>
Status check_written(const char* who, const View<In>& in, const View<T>& out) noexcept {
  if (Status status = check_output(who, out.layout()); !status.ok()) [[unlikely]] {
    return status;
  }
  if constexpr (std::same_as<std::remove_const_t<In>, T>) {
    if (in.data() == out.data() && same_offsets(in.layout(), out.layout())) {
      return {};
    }
  }
  return check_disjoint(who, "in and out", in, out);
}

/// Whether a rotation also checks the rows that it takes: not for the second of two views whose
/// tokens are the same.
enum class CheckRows : unsigned char { yes, no };

/// Checks that every token has a row; `positions` is null for a table addressed by token.
template <Table X>
Status check_rows(const char* who, const Layout& layout, const X& table,
                  const Positions* positions) noexcept {
  if constexpr (X::addressing == RowAddressing::position) {
    return check_positions(who, *positions, layout, table.rows());
  } else {
    return check_token_table(who, layout, table.batch(), table.tokens());
  }
}

/// Whether a rotation in place is one of the usual ones in which nothing can be wrong: a view whose
/// axes step over one another, and tokens that follow one another. check_rotation() passes them
/// too, but takes as long as three heads are turned in.
template <class T, Table X>
[[gnu::always_inline]] inline bool is_plainly_fine(const View<T>& x, const X& table,
                                                   const Positions* positions,
                                                   std::int64_t first_dim) noexcept {
  if (x.empty()) {  // its extents and strides may be any
    return false;
  }
  const auto& [extent, stride] = x.layout();
  const std::int64_t dim_reach = stride[3] * (extent[3] - 1);
  const std::int64_t head_reach = stride[2] * (extent[2] - 1) + dim_reach;
  const std::int64_t token_reach = stride[1] * (extent[1] - 1) + head_reach;
  const bool is_nested = stride[3] > 0 && stride[2] > dim_reach && stride[1] > head_reach &&
                         (extent[0] == 1 || stride[0] > token_reach);
  bool has_rows = false;
  if constexpr (X::addressing == RowAddressing::position) {
    has_rows = positions->kind() == Positions::Kind::from && positions->start() >= 0 &&
               positions->start() <= table.rows() - extent[1];
  } else {
    has_rows = table.tokens() == extent[1] && table.batch() == 1;
  }
  return is_nested && has_rows && table.heads() == 1 && first_dim >= 0 &&
         first_dim <= extent[3] - 2 * table.pairs();
}

/// All that can be wrong with a rotation of `in` into `out`.
template <class In, class T, Table X>
Status check_rotation(const char* who, const View<In>& in, const View<T>& out, const X& table,
                      const Positions* positions, std::int64_t first_dim,
                      CheckRows rows = CheckRows::yes) noexcept {
  const Layout& layout = in.layout();
  const bool is_same_view = static_cast<const void*>(&in) == static_cast<const void*>(&out);
  if (!is_same_view) {
    if (Status status = check_shapes_equal(who, layout, out.layout()); !status.ok()) [[unlikely]] {
      return status;
    }
  }
  if (Status status = check_placement(who, layout, table.heads(), table.pairs(), first_dim);
      !status.ok()) [[unlikely]] {
    return status;
  }
  if (rows == CheckRows::yes) {
    if (Status status = check_rows(who, layout, table, positions); !status.ok()) [[unlikely]] {
      return status;
    }
  }
  if (Status status = is_same_view ? check_output(who, layout) : check_written(who, in, out);
      !status.ok()) [[unlikely]] {
    return status;
  }
  if constexpr (X::addressing == RowAddressing::position) {
    return check_ids_apart(who, *positions, out);
  } else {
    return {};
  }
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
