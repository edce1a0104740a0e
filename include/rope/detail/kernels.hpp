#pragma once

#include <cstdint>
#include <type_traits>

#include "rope/detail/fused.hpp"
#include "rope/detail/isa.hpp"
#include "rope/detail/rotate_work.hpp"
#include "rope/detail/unit.hpp"
#include "rope/pairing.hpp"
#include "rope/scalar.hpp"
#include "rope/table_concept.hpp"

#if ROPE_DETAIL_HAS_AVX2_KERNELS
#include <immintrin.h>
#endif
#if ROPE_DETAIL_HAS_NEON_KERNELS
#include <arm_neon.h>
#endif

// The kernels, compiled once for each instruction set and chosen at run time, so that a program
// built with a plain -O2 runs at the speed of the machine that it is on.
//
// The algorithms stand once in kernels/*.inc, over a few operations for each instruction set in
// lanes/*.inc. Both are included inside a region with the instruction set's target options: a
// template that stood outside would compile as well, but the operations would silently not be
// inlined into it, and target attributes on single functions do not reach their lambdas.

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// Pairs that are turned together: their cos and sin stay in the first-level cache for all heads,
/// and rows that are made on demand need no more scratch than this.
inline constexpr std::int64_t chunk_pairs = 256;

/// Where the two members of pair i lie in a head, in elements from the first rotated feature: at i
/// * step and i * step + gap.
struct PairGeometry {
  std::int64_t step;
  std::int64_t gap;
};

template <Pairing pairing>
PairGeometry pair_geometry(std::int64_t pairs, std::int64_t dim_stride) noexcept {
  return pairing == Pairing::interleaved ? PairGeometry{2 * dim_stride, dim_stride}
                                         : PairGeometry{dim_stride, pairs * dim_stride};
}

/// Which row of the table a token takes.
template <class In, class Out, Table X>
std::int64_t row_of(const RotateWork<In, Out, X>& work, std::int64_t batch,
                    std::int64_t token) noexcept {
  if constexpr (X::addressing == RowAddressing::position) {
    return work.positions->position(batch, token);
  } else {
    return work.table->batch() == 1 ? token : batch * work.table->tokens() + token;
  }
}

namespace portable {
#include "rope/detail/lanes/portable.inc"

#include "rope/detail/kernels/angle_addition.inc"
#include "rope/detail/kernels/rotate.inc"
}  // namespace portable

#if ROPE_DETAIL_HAS_AVX2_KERNELS
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
namespace avx2 {
#include "rope/detail/lanes/avx2.inc"

#include "rope/detail/kernels/angle_addition.inc"
#include "rope/detail/kernels/rotate.inc"
}  // namespace avx2
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#if ROPE_DETAIL_HAS_NEON_KERNELS
namespace neon {
#include "rope/detail/lanes/neon.inc"

#include "rope/detail/kernels/angle_addition.inc"
#include "rope/detail/kernels/rotate.inc"
}  // namespace neon
#endif

/// Rotates a part of the work with the instruction set in use.
template <Pairing pairing, class In, class Out, Table X>
void rotate_tokens(const RotateWork<In, Out, X>& work, const WorkPart& part) noexcept {
  switch (isa()) {
#if ROPE_DETAIL_HAS_AVX2_KERNELS
    case Isa::avx2:
      return avx2::rotate_tokens<pairing>(work, part);
#endif
#if ROPE_DETAIL_HAS_NEON_KERNELS
    case Isa::neon:
      return neon::rotate_tokens<pairing>(work, part);
#endif
    default:
      return portable::rotate_tokens<pairing>(work, part);
  }
}

/// Makes one row of a table with the instruction set in use.
template <class T>
void add_angles(const double* coarse_cos, const double* coarse_sin, const double* fine_cos,
                const double* fine_sin, T* cos, T* sin, std::int64_t count) noexcept {
  switch (isa()) {
#if ROPE_DETAIL_HAS_AVX2_KERNELS
    case Isa::avx2:
      return avx2::add_angles(coarse_cos, coarse_sin, fine_cos, fine_sin, cos, sin, count);
#endif
#if ROPE_DETAIL_HAS_NEON_KERNELS
    case Isa::neon:
      return neon::add_angles(coarse_cos, coarse_sin, fine_cos, fine_sin, cos, sin, count);
#endif
    default:
      return portable::add_angles(coarse_cos, coarse_sin, fine_cos, fine_sin, cos, sin, count);
  }
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
