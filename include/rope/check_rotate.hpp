#pragma once

#include "rope/detail/rotate_call.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/rotate_options.hpp"
#include "rope/row_positions.hpp"
#include "rope/table_concept.hpp"
#include "rope/view.hpp"

namespace rope::inline ROPE_DETAIL_UNIT {

/// The verdict of rotate() on the same arguments, without rotating: for code that is built without
/// exceptions.
///
/// Where status.ok() is false, rotate() would throw (without exceptions: abort) with
/// status.message(). Neither throws nor allocates. O(1), or O(batch * tokens) for listed positions.
/// It is the verdict of rotate_transpose() as well, but for the function's name.
template <detail::Mutable T, PositionTable X>
Status check_rotate(View<T> x, const X& table, const Positions& positions,
                    const RotateOptions& options = {}) noexcept {
  return detail::check_one<detail::Direction::forward, T>("rope::rotate", x, x, table, &positions,
                                                          options);
}
template <detail::Mutable T, TokenAddressedTable X>
Status check_rotate(View<T> x, const X& table, const RotateOptions& options = {}) noexcept {
  return detail::check_one<detail::Direction::forward, T>("rope::rotate", x, x, table, nullptr,
                                                          options);
}
template <detail::Mutable T, PositionTable X>
Status check_rotate(View<T> x, const X& table, const Positions& positions,
                    const PairingOptions& options) noexcept {
  return detail::check_one<detail::Direction::forward, T>("rope::rotate", x, x, table, &positions,
                                                          options);
}
template <detail::Mutable T, TokenAddressedTable X>
Status check_rotate(View<T> x, const X& table, const PairingOptions& options) noexcept {
  return detail::check_one<detail::Direction::forward, T>("rope::rotate", x, x, table, nullptr,
                                                          options);
}

/// The verdict of rotate_to(), and but for the function's name of rotate_transpose_to().
template <detail::Mutable T, detail::ReadableAs<T> In, PositionTable X>
Status check_rotate_to(View<In> in, View<T> out, const X& table, const Positions& positions,
                       const RotateOptions& options = {}) noexcept {
  return detail::check_one<detail::Direction::forward, T>("rope::rotate_to", in, out, table,
                                                          &positions, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
Status check_rotate_to(View<In> in, View<T> out, const X& table,
                       const RotateOptions& options = {}) noexcept {
  return detail::check_one<detail::Direction::forward, T>("rope::rotate_to", in, out, table,
                                                          nullptr, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, PositionTable X>
Status check_rotate_to(View<In> in, View<T> out, const X& table, const Positions& positions,
                       const PairingOptions& options) noexcept {
  return detail::check_one<detail::Direction::forward, T>("rope::rotate_to", in, out, table,
                                                          &positions, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
Status check_rotate_to(View<In> in, View<T> out, const X& table,
                       const PairingOptions& options) noexcept {
  return detail::check_one<detail::Direction::forward, T>("rope::rotate_to", in, out, table,
                                                          nullptr, options);
}

/// The verdict of rotate_inverse().
template <detail::Mutable T, PositionTable X>
Status check_rotate_inverse(View<T> x, const X& table, const Positions& positions,
                            const RotateOptions& options = {}) noexcept {
  return detail::check_one<detail::Direction::inverse, T>("rope::rotate_inverse", x, x, table,
                                                          &positions, options);
}
template <detail::Mutable T, TokenAddressedTable X>
Status check_rotate_inverse(View<T> x, const X& table, const RotateOptions& options = {}) noexcept {
  return detail::check_one<detail::Direction::inverse, T>("rope::rotate_inverse", x, x, table,
                                                          nullptr, options);
}
template <detail::Mutable T, PositionTable X>
Status check_rotate_inverse(View<T> x, const X& table, const Positions& positions,
                            const PairingOptions& options) noexcept {
  return detail::check_one<detail::Direction::inverse, T>("rope::rotate_inverse", x, x, table,
                                                          &positions, options);
}
template <detail::Mutable T, TokenAddressedTable X>
Status check_rotate_inverse(View<T> x, const X& table, const PairingOptions& options) noexcept {
  return detail::check_one<detail::Direction::inverse, T>("rope::rotate_inverse", x, x, table,
                                                          nullptr, options);
}

/// The verdict of rotate_inverse_to().
template <detail::Mutable T, detail::ReadableAs<T> In, PositionTable X>
Status check_rotate_inverse_to(View<In> in, View<T> out, const X& table, const Positions& positions,
                               const RotateOptions& options = {}) noexcept {
  return detail::check_one<detail::Direction::inverse, T>("rope::rotate_inverse_to", in, out, table,
                                                          &positions, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
Status check_rotate_inverse_to(View<In> in, View<T> out, const X& table,
                               const RotateOptions& options = {}) noexcept {
  return detail::check_one<detail::Direction::inverse, T>("rope::rotate_inverse_to", in, out, table,
                                                          nullptr, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, PositionTable X>
Status check_rotate_inverse_to(View<In> in, View<T> out, const X& table, const Positions& positions,
                               const PairingOptions& options) noexcept {
  return detail::check_one<detail::Direction::inverse, T>("rope::rotate_inverse_to", in, out, table,
                                                          &positions, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
Status check_rotate_inverse_to(View<In> in, View<T> out, const X& table,
                               const PairingOptions& options) noexcept {
  return detail::check_one<detail::Direction::inverse, T>("rope::rotate_inverse_to", in, out, table,
                                                          nullptr, options);
}

/// The verdict of rotate_qk().
template <detail::Mutable T, PositionTable X>
Status check_rotate_qk(View<T> q, View<T> k, const X& table, const Positions& positions,
                       const RotateOptions& options = {}) noexcept {
  return detail::check_both(q, k, table, &positions, options);
}
template <detail::Mutable T, TokenAddressedTable X>
Status check_rotate_qk(View<T> q, View<T> k, const X& table,
                       const RotateOptions& options = {}) noexcept {
  return detail::check_both(q, k, table, nullptr, options);
}
template <detail::Mutable T, PositionTable X>
Status check_rotate_qk(View<T> q, View<T> k, const X& table, const Positions& positions,
                       const PairingOptions& options) noexcept {
  return detail::check_both(q, k, table, &positions, options);
}
template <detail::Mutable T, TokenAddressedTable X>
Status check_rotate_qk(View<T> q, View<T> k, const X& table,
                       const PairingOptions& options) noexcept {
  return detail::check_both(q, k, table, nullptr, options);
}

}  // namespace rope::inline ROPE_DETAIL_UNIT
