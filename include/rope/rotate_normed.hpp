#pragma once

#include "rope/detail/norm_call.hpp"
#include "rope/detail/rotate_call.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/normed_options.hpp"
#include "rope/pairing.hpp"
#include "rope/row_positions.hpp"
#include "rope/scalar.hpp"
#include "rope/table_concept.hpp"
#include "rope/view.hpp"

namespace rope::inline ROPE_DETAIL_UNIT {

/// Normalises every head of x, all of its features, and rotates it, in one pass over the memory.
///
/// As normalize() and then rotate(), to the bit, except that 16-bit data is rounded between the two
/// only where the norm's rounding says so. Chosen by the options:
/// `rotate<pairing>(x, table, positions, {.norm = qwen3_norm(weights, 1e-6)})`. Also throws
/// InvalidArgument where the weights or the scales are not as many as the view needs or lie in it,
/// and for heads of more than 4096 dims.
template <Pairing pairing, detail::Mutable T, PositionTable X>
void rotate(View<T> x, const X& table, const Positions& positions,
            const NormedOptions<compute_type_t<T>>& options) {
  detail::rotate_normed<pairing, T>("rope::rotate", x, x, table, &positions, options);
}
template <detail::Mutable T, PositionTable X>
void rotate(View<T> x, const X& table, const Positions& positions,
            const NormedPairingOptions<compute_type_t<T>>& options) {
  detail::rotate_normed<T>("rope::rotate", x, x, table, &positions, options);
}
template <Pairing pairing, detail::Mutable T, TokenAddressedTable X>
void rotate(View<T> x, const X& table, const NormedOptions<compute_type_t<T>>& options) {
  detail::rotate_normed<pairing, T>("rope::rotate", x, x, table, nullptr, options);
}
template <detail::Mutable T, TokenAddressedTable X>
void rotate(View<T> x, const X& table, const NormedPairingOptions<compute_type_t<T>>& options) {
  detail::rotate_normed<T>("rope::rotate", x, x, table, nullptr, options);
}

/// The same from `in` into `out`, under the conditions of rotate_to(). Rounding is to the type of
/// `in`.
template <Pairing pairing, detail::Mutable T, detail::ReadableAs<T> In, PositionTable X>
void rotate_to(View<In> in, View<T> out, const X& table, const Positions& positions,
               const NormedOptions<compute_type_t<T>>& options) {
  detail::rotate_normed<pairing, T>("rope::rotate_to", in, out, table, &positions, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, PositionTable X>
void rotate_to(View<In> in, View<T> out, const X& table, const Positions& positions,
               const NormedPairingOptions<compute_type_t<T>>& options) {
  detail::rotate_normed<T>("rope::rotate_to", in, out, table, &positions, options);
}
template <Pairing pairing, detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
void rotate_to(View<In> in, View<T> out, const X& table,
               const NormedOptions<compute_type_t<T>>& options) {
  detail::rotate_normed<pairing, T>("rope::rotate_to", in, out, table, nullptr, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
void rotate_to(View<In> in, View<T> out, const X& table,
               const NormedPairingOptions<compute_type_t<T>>& options) {
  detail::rotate_normed<T>("rope::rotate_to", in, out, table, nullptr, options);
}

/// The same for q and k of the same tokens, as rotate_qk(), each with its norm:
/// `{.q_norm = ..., .k_norm = ...}`.
template <Pairing pairing, detail::Mutable T, PositionTable X>
void rotate_qk(View<T> q, View<T> k, const X& table, const Positions& positions,
               const NormedQkOptions<compute_type_t<T>>& options) {
  detail::rotate_normed_both<pairing>(q, k, table, &positions, options);
}
template <detail::Mutable T, PositionTable X>
void rotate_qk(View<T> q, View<T> k, const X& table, const Positions& positions,
               const NormedQkPairingOptions<compute_type_t<T>>& options) {
  detail::rotate_normed_both(q, k, table, &positions, options);
}
template <Pairing pairing, detail::Mutable T, TokenAddressedTable X>
void rotate_qk(View<T> q, View<T> k, const X& table,
               const NormedQkOptions<compute_type_t<T>>& options) {
  detail::rotate_normed_both<pairing>(q, k, table, nullptr, options);
}
template <detail::Mutable T, TokenAddressedTable X>
void rotate_qk(View<T> q, View<T> k, const X& table,
               const NormedQkPairingOptions<compute_type_t<T>>& options) {
  detail::rotate_normed_both(q, k, table, nullptr, options);
}

/// The verdict of rotate() with a norm.
template <detail::Mutable T, PositionTable X>
Status check_rotate(View<T> x, const X& table, const Positions& positions,
                    const NormedOptions<compute_type_t<T>>& options) noexcept {
  return detail::check_normed<T>("rope::rotate", x, x, table, &positions, options);
}
template <detail::Mutable T, PositionTable X>
Status check_rotate(View<T> x, const X& table, const Positions& positions,
                    const NormedPairingOptions<compute_type_t<T>>& options) noexcept {
  return detail::check_normed<T>("rope::rotate", x, x, table, &positions, options);
}
template <detail::Mutable T, TokenAddressedTable X>
Status check_rotate(View<T> x, const X& table,
                    const NormedOptions<compute_type_t<T>>& options) noexcept {
  return detail::check_normed<T>("rope::rotate", x, x, table, nullptr, options);
}
template <detail::Mutable T, TokenAddressedTable X>
Status check_rotate(View<T> x, const X& table,
                    const NormedPairingOptions<compute_type_t<T>>& options) noexcept {
  return detail::check_normed<T>("rope::rotate", x, x, table, nullptr, options);
}

/// The verdict of rotate_to() with a norm.
template <detail::Mutable T, detail::ReadableAs<T> In, PositionTable X>
Status check_rotate_to(View<In> in, View<T> out, const X& table, const Positions& positions,
                       const NormedOptions<compute_type_t<T>>& options) noexcept {
  return detail::check_normed<T>("rope::rotate_to", in, out, table, &positions, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, PositionTable X>
Status check_rotate_to(View<In> in, View<T> out, const X& table, const Positions& positions,
                       const NormedPairingOptions<compute_type_t<T>>& options) noexcept {
  return detail::check_normed<T>("rope::rotate_to", in, out, table, &positions, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
Status check_rotate_to(View<In> in, View<T> out, const X& table,
                       const NormedOptions<compute_type_t<T>>& options) noexcept {
  return detail::check_normed<T>("rope::rotate_to", in, out, table, nullptr, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
Status check_rotate_to(View<In> in, View<T> out, const X& table,
                       const NormedPairingOptions<compute_type_t<T>>& options) noexcept {
  return detail::check_normed<T>("rope::rotate_to", in, out, table, nullptr, options);
}

/// The verdict of rotate_qk() with a norm.
template <detail::Mutable T, PositionTable X>
Status check_rotate_qk(View<T> q, View<T> k, const X& table, const Positions& positions,
                       const NormedQkOptions<compute_type_t<T>>& options) noexcept {
  return detail::check_normed_both(q, k, table, &positions, options);
}
template <detail::Mutable T, PositionTable X>
Status check_rotate_qk(View<T> q, View<T> k, const X& table, const Positions& positions,
                       const NormedQkPairingOptions<compute_type_t<T>>& options) noexcept {
  return detail::check_normed_both(q, k, table, &positions, options);
}
template <detail::Mutable T, TokenAddressedTable X>
Status check_rotate_qk(View<T> q, View<T> k, const X& table,
                       const NormedQkOptions<compute_type_t<T>>& options) noexcept {
  return detail::check_normed_both(q, k, table, nullptr, options);
}
template <detail::Mutable T, TokenAddressedTable X>
Status check_rotate_qk(View<T> q, View<T> k, const X& table,
                       const NormedQkPairingOptions<compute_type_t<T>>& options) noexcept {
  return detail::check_normed_both(q, k, table, nullptr, options);
}

}  // namespace rope::inline ROPE_DETAIL_UNIT
