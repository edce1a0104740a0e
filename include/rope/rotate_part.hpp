#pragma once

#include "rope/argument.hpp"
#include "rope/detail/rotate_call.hpp"
#include "rope/detail/unit.hpp"
#include "rope/pairing.hpp"
#include "rope/rotate.hpp"
#include "rope/rotate_options.hpp"
#include "rope/row_positions.hpp"
#include "rope/table_concept.hpp"
#include "rope/view.hpp"

namespace rope {
namespace detail::inline ROPE_DETAIL_UNIT {

template <class Options>
Options with_part(Options options, const Part& part) noexcept {
  options.part = part;
  return options;
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// Part number `part`, 0 to `parts` - 1, of rotate() with the same arguments: for engines that have
/// threads of their own, each of which calls it once.
///
/// The same as rotate() with `.part = {part, parts}` among its options, which all other rotations
/// take too. See Part.
template <Pairing pairing, detail::Mutable T, PositionTable X>
void rotate_part(View<T> x, const X& table, const Positions& positions, const Part& part,
                 const RotateOptions& options = {}) {
  rotate<pairing>(x, table, positions, detail::with_part(options, part));
}
template <detail::Mutable T, PositionTable X>
void rotate_part(View<T> x, const X& table, const Positions& positions, const Part& part,
                 const PairingOptions& options) {
  rotate(x, table, positions, detail::with_part(options, part));
}
template <Pairing pairing, detail::Mutable T, TokenAddressedTable X>
void rotate_part(View<T> x, const X& table, const Part& part, const RotateOptions& options = {}) {
  rotate<pairing>(x, table, detail::with_part(options, part));
}
template <detail::Mutable T, TokenAddressedTable X>
void rotate_part(View<T> x, const X& table, const Part& part, const PairingOptions& options) {
  rotate(x, table, detail::with_part(options, part));
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
