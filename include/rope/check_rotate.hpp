#pragma once

#include "rope/detail/rotate_call.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/positions.hpp"
#include "rope/rotate_options.hpp"
#include "rope/table_concept.hpp"
#include "rope/view.hpp"

namespace rope::inline ROPE_DETAIL_UNIT {

/// The verdict of rotate() and rotate_transpose() on the same arguments, without rotating: for code
/// that is built without exceptions.
///
/// Where status.ok() is false, rotate() would throw (without exceptions: abort) with
/// status.message(). Neither throws nor allocates. O(1), or O(batch * tokens) for listed positions.
template <detail::Mutable T, PositionTable X>
Status check_rotate(View<T> x, const X& table, const Positions& positions,
                    const RotateOptions& options = {}) noexcept {
  return detail::check_call<detail::Direction::forward, T>("rope::rotate", x, x, table, &positions,
                                                           options.first_dim);
}
template <detail::Mutable T, TokenAddressedTable X>
Status check_rotate(View<T> x, const X& table, const RotateOptions& options = {}) noexcept {
  return detail::check_call<detail::Direction::forward, T>("rope::rotate", x, x, table, nullptr,
                                                           options.first_dim);
}

/// The verdict of rotate_to() and rotate_transpose_to().
template <class In, detail::Mutable T, PositionTable X>
requires detail::ReadableAs<In, T> Status check_rotate_to(View<In> in, View<T> out, const X& table,
                                                          const Positions& positions,
                                                          const RotateOptions& options = {})
noexcept {
  return detail::check_call<detail::Direction::forward, T>("rope::rotate_to", in, out, table,
                                                           &positions, options.first_dim);
}
template <class In, detail::Mutable T, TokenAddressedTable X>
requires detail::ReadableAs<In, T> Status check_rotate_to(View<In> in, View<T> out, const X& table,
                                                          const RotateOptions& options = {})
noexcept {
  return detail::check_call<detail::Direction::forward, T>("rope::rotate_to", in, out, table,
                                                           nullptr, options.first_dim);
}

/// The verdict of rotate_qk().
template <detail::Mutable T, PositionTable X>
Status check_rotate_qk(View<T> q, View<T> k, const X& table, const Positions& positions,
                       const RotateOptions& options = {}) noexcept {
  return detail::check_both(q, k, table, &positions, options.first_dim);
}
template <detail::Mutable T, TokenAddressedTable X>
Status check_rotate_qk(View<T> q, View<T> k, const X& table,
                       const RotateOptions& options = {}) noexcept {
  return detail::check_both(q, k, table, nullptr, options.first_dim);
}

}  // namespace rope::inline ROPE_DETAIL_UNIT
