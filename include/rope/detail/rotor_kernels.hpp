#pragma once

#include <cstdint>

#include "rope/detail/double_double.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/entry_rounding.hpp"
#include "rope/detail/fused.hpp"
#include "rope/detail/isa.hpp"
#include "rope/detail/kernels.hpp"
#include "rope/detail/rotor_work.hpp"
#include "rope/detail/split_magnitude.hpp"
#include "rope/detail/unit.hpp"
#include "rope/table_options.hpp"

// The kernels that make tables, compiled once for each instruction set as those of kernels.hpp are.

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// How many of `columns` columns that are left are worked on together.
inline std::int64_t columns_of(std::int64_t columns) noexcept {
  return columns < chunk_columns ? columns : chunk_columns;
}

/// Makes `columns` ones for `count` columns of frequency 0 and magnitude 1.
inline void start_columns(RotorColumns& columns, std::int64_t count) noexcept {
  constexpr std::int64_t widest_vector = 8;
  columns.width = (count + widest_vector - 1) / widest_vector * widest_vector;
  columns.has_negligible = false;
  for (std::int64_t i = 0; i < columns.width; ++i) {
    columns.frequency[i] = 0;
    columns.magnitude[i] = columns.significand[i] = columns.scale[i] = 1;
    columns.ones[i] = 1;
  }
}

inline void set_column(RotorColumns& columns, std::int64_t i, double frequency,
                       double magnitude) noexcept {
  const SplitMagnitude split = split_magnitude(magnitude);
  columns.frequency[i] = frequency;
  columns.magnitude[i] = magnitude;
  columns.significand[i] = split.significand;
  columns.scale[i] = split.scale;
  columns.has_negligible =
      columns.has_negligible || (frequency != 0 && absolute(frequency) < negligible);
}

inline void start_steps(RotorSteps& steps, std::int64_t step, bool has_magnitude) noexcept {
  steps.step = step;
  steps.has_magnitude = has_magnitude;
  steps.made = 0;
  steps.block = -1;
}

namespace portable {
#include "rope/detail/lanes/portable_rotors.inc"

#include "rope/detail/kernels/sin_cos.inc"

#include "rope/detail/kernels/rotors.inc"

#include "rope/detail/kernels/table_rows.inc"
}  // namespace portable

#if ROPE_DETAIL_HAS_AVX2_KERNELS
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
namespace avx2 {
#include "rope/detail/lanes/avx2_rotors.inc"

#include "rope/detail/kernels/sin_cos.inc"

#include "rope/detail/kernels/rotors.inc"

#include "rope/detail/kernels/table_rows.inc"
}  // namespace avx2
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#if ROPE_DETAIL_HAS_AVX512_KERNELS
#if defined(__clang__)
#pragma clang attribute push( \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
// As in kernels.hpp.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
#endif
namespace avx512 {
#include "rope/detail/lanes/avx512_rotors.inc"

#include "rope/detail/kernels/sin_cos.inc"

#include "rope/detail/kernels/rotors.inc"

#include "rope/detail/kernels/table_rows.inc"
}  // namespace avx512
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC diagnostic pop
#pragma GCC pop_options
#endif
#endif

#if ROPE_DETAIL_HAS_NEON_KERNELS
namespace neon {
#include "rope/detail/lanes/neon_rotors.inc"

#include "rope/detail/kernels/sin_cos.inc"

#include "rope/detail/kernels/rotors.inc"

#include "rope/detail/kernels/table_rows.inc"
}  // namespace neon
#endif

#if ROPE_DETAIL_HAS_AVX512_KERNELS
#define ROPE_DETAIL_ROTORS(...)     \
  switch (isa()) {                  \
    case Isa::avx512:               \
      return avx512::__VA_ARGS__;   \
    case Isa::avx2:                 \
      return avx2::__VA_ARGS__;     \
    default:                        \
      return portable::__VA_ARGS__; \
  }
#elif ROPE_DETAIL_HAS_NEON_KERNELS
#define ROPE_DETAIL_ROTORS(...) \
  return isa() == Isa::neon ? neon::__VA_ARGS__ : portable::__VA_ARGS__;
#else
#define ROPE_DETAIL_ROTORS(...) return portable::__VA_ARGS__;
#endif

/// Writes magnitude * exp(i * j * step * frequency) for j = first .. end - 1, 0 <= first, of up to
/// chunk_columns frequencies: cos at rows[(j - first) * stride + i], sin `sin_offset` behind it.
///
/// They are the correct roundings of the real and the imaginary part, where the angle is the exact
/// product with the given double. The error is at most 0.5001 ulp, but never asked to be below
/// 2^-94
/// * |magnitude|, which matters next to a zero of cos or sin. Entry 0 is exactly (magnitude, +0).
/// An entry does not depend on `first` and `end`. Needs |j * step| <= 2^53 and |j * step *
/// frequency| <= max_angle.
///
/// Cost: with j = 32 u + v one product of two anchors an entry, and for 32 entries a sine and a
/// cosine in double-double.
///
/// D is double: a template, as are all callers, so that units without tables need not compile it.
template <class D>
void write_multiples(const RotorColumns& columns, RotorSteps& steps, std::int64_t first,
                     std::int64_t end, D* rows, std::int64_t sin_offset, std::int64_t stride,
                     std::int64_t count) noexcept {
  ROPE_DETAIL_ROTORS(write_multiples(columns, steps, first, end, rows, sin_offset, stride, count))
}

/// Makes a part of a TokenTable.
template <class T>
void write_tokens(const TokenWork<T>& work, std::int64_t chunk, std::int64_t end_chunk,
                  std::int64_t first, std::int64_t end, RotorRow* rows) noexcept {
  ROPE_DETAIL_ROTORS(write_tokens(work, chunk, end_chunk, first, end, rows))
}

/// Makes some rows of a table whose row is a position.
template <class T>
void write_rows(const RowsWork<T>& work, std::int64_t first, std::int64_t end) noexcept {
  ROPE_DETAIL_ROTORS(write_rows(work, first, end))
}

/// Makes some entries of a row with float angles.
template <class T>
void write_float_entries(double position, const double* frequencies, double magnitude,
                         EntryRounding rounding, T* cos, T* sin, std::int64_t count) noexcept {
  ROPE_DETAIL_ROTORS(
      write_float_entries(position, frequencies, magnitude, rounding, cos, sin, count))
}

/// Makes some entries of a row, rounded to a narrow type, from its factors.
template <class T>
void write_narrow_sums(const double* a_cos, const double* a_sin, const double* b_cos,
                       const double* b_sin, EntryRounding rounding, T* cos, T* sin,
                       std::int64_t count) noexcept {
  ROPE_DETAIL_ROTORS(write_narrow_sums(a_cos, a_sin, b_cos, b_sin, rounding, cos, sin, count))
}

#undef ROPE_DETAIL_ROTORS

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
