#pragma once

#include "rope/detail/rotate_call.hpp"
#include "rope/detail/unit.hpp"
#include "rope/pairing.hpp"
#include "rope/rotate_options.hpp"
#include "rope/row_positions.hpp"
#include "rope/table_concept.hpp"
#include "rope/view.hpp"

namespace rope::inline ROPE_DETAIL_UNIT {

/// Rotates q or k in place: x is [batch, tokens, heads, dim] in any layout.
///
/// Pair i of each head, features (a, b), becomes (a cos - b sin, a sin + b cos) with cos and sin
/// from pair i of the token's table row. The pairing is a template argument,
/// `rotate<Pairing::half_split>(x, ...)`, or a run-time value in the options, `rotate(x, ...,
/// {.pairing = p})`. A table addressed by position is followed by the positions; a table with a row
/// for each token is not.
///
/// Everything is checked before the first write. Throws InvalidArgument if the table's pairs do not
/// fit into the head, if the shape of the positions or of the table is not that of the view, if
/// listed positions lie in x, or if two indices of x lead to the same element; OutOfRange if a
/// position has no row. check_rotate() gives the same verdict without throwing. Never allocates.
/// Features outside the rotated part, and gaps between rows, are neither read nor written.
/// O(batch * tokens * heads * rotary_dim).
///
/// The arithmetic is in the table's type: fma(a, cos, -(b * sin)) and fma(b, cos, a * sin), each
/// rounded once, so that results have the same bits everywhere.
///
/// Source: Su et al., "RoFormer" (2021), section 3.4.2.
template <Pairing pairing, detail::Mutable T, PositionTable X>
[[gnu::always_inline]] inline void rotate(View<T> x, const X& table, const Positions& positions,
                                          const RotateOptions& options = {}) {
  detail::rotate_in_place<pairing>("rope::rotate", x, table, &positions, options);
}
template <detail::Mutable T, PositionTable X>
void rotate(View<T> x, const X& table, const Positions& positions, const PairingOptions& options) {
  detail::rotate_one<detail::Direction::forward, T, detail::Place::in_place>(
      "rope::rotate", x, x, table, &positions, options);
}
template <Pairing pairing, detail::Mutable T, TokenAddressedTable X>
[[gnu::always_inline]] inline void rotate(View<T> x, const X& table,
                                          const RotateOptions& options = {}) {
  detail::rotate_in_place<pairing>("rope::rotate", x, table, nullptr, options);
}
template <detail::Mutable T, TokenAddressedTable X>
void rotate(View<T> x, const X& table, const PairingOptions& options) {
  detail::rotate_one<detail::Direction::forward, T, detail::Place::in_place>(
      "rope::rotate", x, x, table, nullptr, options);
}

/// Rotates `in` into `out`, of the same shape but any layout; features outside the rotated part are
/// copied.
///
/// As rotate(). `in` may have strides of 0 (one vector rotated to many positions). `out` may be the
/// very same view as `in`; otherwise the two may not share an element (slices of one packed q, k, v
/// do not), or InvalidArgument is thrown.
template <Pairing pairing, detail::Mutable T, detail::ReadableAs<T> In, PositionTable X>
void rotate_to(View<In> in, View<T> out, const X& table, const Positions& positions,
               const RotateOptions& options = {}) {
  detail::rotate_one<detail::Direction::forward, pairing, T>("rope::rotate_to", in, out, table,
                                                             &positions, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, PositionTable X>
void rotate_to(View<In> in, View<T> out, const X& table, const Positions& positions,
               const PairingOptions& options) {
  detail::rotate_one<detail::Direction::forward, T>("rope::rotate_to", in, out, table, &positions,
                                                    options);
}
template <Pairing pairing, detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
void rotate_to(View<In> in, View<T> out, const X& table, const RotateOptions& options = {}) {
  detail::rotate_one<detail::Direction::forward, pairing, T>("rope::rotate_to", in, out, table,
                                                             nullptr, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
void rotate_to(View<In> in, View<T> out, const X& table, const PairingOptions& options) {
  detail::rotate_one<detail::Direction::forward, T>("rope::rotate_to", in, out, table, nullptr,
                                                    options);
}

/// Rotates q and k of the same tokens in place, with one table; their head counts may differ
/// (grouped-query attention).
///
/// As rotate() on q and then on k, except that both are checked before either is written, and that
/// they may not share an element. The table must have one row for all heads, or q and k must have
/// as many heads as it has rows.
template <Pairing pairing, detail::Mutable T, PositionTable X>
void rotate_qk(View<T> q, View<T> k, const X& table, const Positions& positions,
               const RotateOptions& options = {}) {
  detail::rotate_both<pairing>(q, k, table, &positions, options);
}
template <detail::Mutable T, PositionTable X>
void rotate_qk(View<T> q, View<T> k, const X& table, const Positions& positions,
               const PairingOptions& options) {
  detail::rotate_both(q, k, table, &positions, options);
}
template <Pairing pairing, detail::Mutable T, TokenAddressedTable X>
void rotate_qk(View<T> q, View<T> k, const X& table, const RotateOptions& options = {}) {
  detail::rotate_both<pairing>(q, k, table, nullptr, options);
}
template <detail::Mutable T, TokenAddressedTable X>
void rotate_qk(View<T> q, View<T> k, const X& table, const PairingOptions& options) {
  detail::rotate_both(q, k, table, nullptr, options);
}

}  // namespace rope::inline ROPE_DETAIL_UNIT
