#pragma once

#include <cstdint>

#include "rope/detail/layout.hpp"
#include "rope/positions.hpp"
#include "rope/table_concept.hpp"

namespace rope::detail {

/// What one call of rotate() asks of a kernel, all of it checked.
template <class T, Table X>
struct RotateWork {
  const T* in;
  T* out;
  Layout in_layout;
  Layout out_layout;  // of the same extents
  const X* table;
  const Positions* positions;  // null for a table that is addressed by token
  std::int64_t first_dim;
  // The inverse and the transpose are the same rotation with other rows: cos times cos_scale, sin
  // times sin_scale.
  typename X::value_type cos_scale;
  typename X::value_type sin_scale;
};

}  // namespace rope::detail
