#pragma once

#include "rope/detail/rotate_call.hpp"
#include "rope/detail/unit.hpp"
#include "rope/pairing.hpp"
#include "rope/rotate_options.hpp"
#include "rope/row_positions.hpp"
#include "rope/table_concept.hpp"
#include "rope/view.hpp"

namespace rope::inline ROPE_DETAIL_UNIT {

/// Undoes rotate() in place: the rotation by minus the angle, divided by the square of the table's
/// magnitude.
///
/// rotate_inverse(rotate(x)) is x up to rounding. As rotate(), and throws InvalidArgument if 1 over
/// the square of the magnitude is not a finite number above 0 in the table's type.
template <Pairing pairing, detail::Mutable T, PositionTable X>
void rotate_inverse(View<T> x, const X& table, const Positions& positions,
                    const RotateOptions& options = {}) {
  detail::rotate_one<detail::Direction::inverse, pairing, T, detail::Place::in_place>(
      "rope::rotate_inverse", x, x, table, &positions, options);
}
template <detail::Mutable T, PositionTable X>
void rotate_inverse(View<T> x, const X& table, const Positions& positions,
                    const PairingOptions& options) {
  detail::rotate_one<detail::Direction::inverse, T, detail::Place::in_place>(
      "rope::rotate_inverse", x, x, table, &positions, options);
}
template <Pairing pairing, detail::Mutable T, TokenAddressedTable X>
void rotate_inverse(View<T> x, const X& table, const RotateOptions& options = {}) {
  detail::rotate_one<detail::Direction::inverse, pairing, T, detail::Place::in_place>(
      "rope::rotate_inverse", x, x, table, nullptr, options);
}
template <detail::Mutable T, TokenAddressedTable X>
void rotate_inverse(View<T> x, const X& table, const PairingOptions& options) {
  detail::rotate_one<detail::Direction::inverse, T, detail::Place::in_place>(
      "rope::rotate_inverse", x, x, table, nullptr, options);
}

/// Undoes rotate_to(): as rotate_inverse(), from `in` into `out` under the conditions of
/// rotate_to().
template <Pairing pairing, detail::Mutable T, detail::ReadableAs<T> In, PositionTable X>
void rotate_inverse_to(View<In> in, View<T> out, const X& table, const Positions& positions,
                       const RotateOptions& options = {}) {
  detail::rotate_one<detail::Direction::inverse, pairing, T>("rope::rotate_inverse_to", in, out,
                                                             table, &positions, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, PositionTable X>
void rotate_inverse_to(View<In> in, View<T> out, const X& table, const Positions& positions,
                       const PairingOptions& options) {
  detail::rotate_one<detail::Direction::inverse, T>("rope::rotate_inverse_to", in, out, table,
                                                    &positions, options);
}
template <Pairing pairing, detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
void rotate_inverse_to(View<In> in, View<T> out, const X& table,
                       const RotateOptions& options = {}) {
  detail::rotate_one<detail::Direction::inverse, pairing, T>("rope::rotate_inverse_to", in, out,
                                                             table, nullptr, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
void rotate_inverse_to(View<In> in, View<T> out, const X& table, const PairingOptions& options) {
  detail::rotate_one<detail::Direction::inverse, T>("rope::rotate_inverse_to", in, out, table,
                                                    nullptr, options);
}

/// Multiplies by the transpose of the rotation in place: the gradient of a loss with respect to x
/// from that with respect to rotate(x).
///
/// The rotation by minus the angle, times the table's magnitude. Equal to rotate_inverse() only
/// where the magnitude is 1. As rotate().
template <Pairing pairing, detail::Mutable T, PositionTable X>
void rotate_transpose(View<T> x, const X& table, const Positions& positions,
                      const RotateOptions& options = {}) {
  detail::rotate_one<detail::Direction::transpose, pairing, T, detail::Place::in_place>(
      "rope::rotate_transpose", x, x, table, &positions, options);
}
template <detail::Mutable T, PositionTable X>
void rotate_transpose(View<T> x, const X& table, const Positions& positions,
                      const PairingOptions& options) {
  detail::rotate_one<detail::Direction::transpose, T, detail::Place::in_place>(
      "rope::rotate_transpose", x, x, table, &positions, options);
}
template <Pairing pairing, detail::Mutable T, TokenAddressedTable X>
void rotate_transpose(View<T> x, const X& table, const RotateOptions& options = {}) {
  detail::rotate_one<detail::Direction::transpose, pairing, T, detail::Place::in_place>(
      "rope::rotate_transpose", x, x, table, nullptr, options);
}
template <detail::Mutable T, TokenAddressedTable X>
void rotate_transpose(View<T> x, const X& table, const PairingOptions& options) {
  detail::rotate_one<detail::Direction::transpose, T, detail::Place::in_place>(
      "rope::rotate_transpose", x, x, table, nullptr, options);
}

/// As rotate_transpose(), from `in` into `out` under the conditions of rotate_to().
template <Pairing pairing, detail::Mutable T, detail::ReadableAs<T> In, PositionTable X>
void rotate_transpose_to(View<In> in, View<T> out, const X& table, const Positions& positions,
                         const RotateOptions& options = {}) {
  detail::rotate_one<detail::Direction::transpose, pairing, T>("rope::rotate_transpose_to", in, out,
                                                               table, &positions, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, PositionTable X>
void rotate_transpose_to(View<In> in, View<T> out, const X& table, const Positions& positions,
                         const PairingOptions& options) {
  detail::rotate_one<detail::Direction::transpose, T>("rope::rotate_transpose_to", in, out, table,
                                                      &positions, options);
}
template <Pairing pairing, detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
void rotate_transpose_to(View<In> in, View<T> out, const X& table,
                         const RotateOptions& options = {}) {
  detail::rotate_one<detail::Direction::transpose, pairing, T>("rope::rotate_transpose_to", in, out,
                                                               table, nullptr, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
void rotate_transpose_to(View<In> in, View<T> out, const X& table, const PairingOptions& options) {
  detail::rotate_one<detail::Direction::transpose, T>("rope::rotate_transpose_to", in, out, table,
                                                      nullptr, options);
}

}  // namespace rope::inline ROPE_DETAIL_UNIT
