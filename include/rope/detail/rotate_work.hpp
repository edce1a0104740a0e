#pragma once

#include <cstdint>

#include "rope/detail/layout.hpp"
#include "rope/row_positions.hpp"
#include "rope/table_concept.hpp"

namespace rope::detail {

/// What is known of a call where it is compiled. What only results out of place need is not
/// compiled for calls that are always in place: a third of all code.
enum class Place : unsigned char { anywhere, in_place };

/// What one call of rotate() asks of a kernel, all of it checked.
template <class In, class Out, Table X>
struct RotateWork {
  const In* in;
  Out* out;
  const Layout& in_layout;
  const Layout& out_layout;  // of the same extents
  const X* table;
  const Positions* positions;  // null for a table that is addressed by token
  std::int64_t first_dim;
  bool in_place;  // `out` is `in`, so what is not rotated is there already
  // The inverse and the transpose are the same rotation with other rows: cos times cos_scale, sin
  // times sin_scale.
  typename X::value_type cos_scale;
  typename X::value_type sin_scale;
};

/// The tokens and heads of one part of a call; tokens are counted over batch and tokens.
struct WorkPart {
  std::int64_t first_token;
  std::int64_t end_token;
  std::int64_t first_head;
  std::int64_t end_head;
};

}  // namespace rope::detail
