#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "rope/detail/fused.hpp"
#include "rope/detail/isa.hpp"
#include "rope/detail/norm_work.hpp"
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

/// Where the pairs of a row are divided into chunks of about the same size, so that none is too
/// small for a register.
constexpr std::int64_t chunk_begin(std::int64_t pairs, std::int64_t chunk,
                                   std::int64_t chunks) noexcept {
  return chunk == 0 ? 0 : chunk == chunks ? pairs : pairs * chunk / chunks;
}

/// Calls that turn more bytes in place than this, or write past the caches, ask for what they will
/// need prefetch_distance bytes later: beyond the second-level cache, the processor's own
/// prefetching alone takes up to 15 % longer for float, and 1.3 to 1.5 times as long for 16 bits.
inline constexpr std::int64_t prefetch_from_bytes = std::int64_t{1} << 20;
inline constexpr std::int64_t prefetch_distance = 4096;
/// Calls in place of more bytes than this ask as far ahead as streams do: 128 MiB take 5 % less
/// time. 8 MiB would take a tenth more, 32 MiB of 16 bits 6 %.
inline constexpr std::int64_t prefetch_far_from_bytes = std::int64_t{64} << 20;

/// Calls out of place whose result has more bytes than this ask so for what they will read and for
/// what they will write: 1 MiB takes a fifth less time, 8 MiB 6 % less. Asking for only one of the
/// two gains nothing.
inline constexpr std::int64_t prefetch_both_from_bytes = std::int64_t{1} << 18;
/// How far ahead: 4 KiB take 1 % longer, 12 KiB 7 %.
inline constexpr std::int64_t prefetch_both_distance = 2048;

/// Calls whose result has more bytes than this write it past the caches. Below, whoever reads the
/// result next still finds much of it in the last-level cache.
inline constexpr std::int64_t stream_from_bytes = std::int64_t{16} << 20;
/// Heads of more bytes than this are not.
inline constexpr std::int64_t stream_buffer_bytes = 2048;
/// The results that are collected before they are written there: few, so that reading goes on while
/// they are. 2 KiB of float take a tenth longer, but 1 KiB of 16 bits does so too.
inline constexpr std::int64_t stream_group_bytes = 1024;
/// How far ahead what they are made of is asked for, into the second-level cache: over several
/// pages, at whose ends the processor's own prefetching stops. 4 KiB ahead, into the first-level
/// cache, takes a tenth longer.
inline constexpr std::int64_t stream_prefetch_distance = 16384;

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

/// Heads of one token that are turned by the same entries of a row.
template <class In, class Out>
struct Heads {
  const In* in;  // the first feature of the first pair, in the first head
  Out* out;
  std::int64_t in_stride;  // from one head to the next
  std::int64_t out_stride;
  std::int64_t count;
  PairGeometry in_pairs;
  PairGeometry out_pairs;
  std::int64_t prefetched_bytes = 0;      // of each head, where it is read
  std::int64_t prefetched_bytes_out = 0;  // and where it is written
  bool prefetches_far = false;
};

/// Asks for memory that will be read soon. It may lie behind all that the caller owns: asking for
/// it reads nothing.
[[gnu::always_inline]] inline void prefetch(const void* at, std::int64_t bytes,
                                            std::int64_t distance = prefetch_distance) noexcept {
  const char* const first = static_cast<const char*>(at) + distance;
  for (std::int64_t i = 0; i < bytes; i += 64) {
    __builtin_prefetch(first + i);
  }
}
/// Asks for memory that will be read later, for the second-level cache. GCC would take a call of a
/// function that only asks for memory as one without effect.
[[gnu::always_inline]] inline void prefetch_for_stream(const void* at,
                                                       std::int64_t bytes) noexcept {
  const char* const first = static_cast<const char*>(at) + stream_prefetch_distance;
  for (std::int64_t i = 0; i < bytes; i += 64) {
    __builtin_prefetch(first + i, 0, 2);
  }
}
template <class In, class Out>
[[gnu::always_inline]] inline void prefetch(const Heads<In, Out>& heads) noexcept {
  if (heads.prefetches_far) {
    prefetch_for_stream(heads.in, heads.prefetched_bytes);
  } else if (heads.prefetched_bytes_out > 0) {
    prefetch(heads.in, heads.prefetched_bytes, prefetch_both_distance);
    prefetch(heads.out, heads.prefetched_bytes_out, prefetch_both_distance);
  } else if (heads.prefetched_bytes > 0) {
    prefetch(heads.in, heads.prefetched_bytes);
  }
}

/// The same for as many bytes of each half of a row, where rows lie one behind another.
template <class C>
[[gnu::always_inline]] inline void prefetch_row(const TableRow<C>& row, std::int64_t bytes,
                                                bool far = false) noexcept {
  if (far) {
    prefetch_for_stream(row.cos, bytes);
    prefetch_for_stream(row.sin, bytes);
  } else {
    prefetch(row.cos, bytes);
    prefetch(row.sin, bytes);
  }
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

/// Of the whole call, even where it is done in parts.
template <class In, class Out, Table X>
std::int64_t bytes_of_result(const RotateWork<In, Out, X>& work) noexcept {
  const Layout& out = work.out_layout;
  return out.extent[0] * out.extent[1] * out.extent[2] * out.extent[3] * std::int64_t{sizeof(Out)};
}

template <class In, class Out, Table X>
bool has_features_side_by_side(const RotateWork<In, Out, X>& work) noexcept {
  return work.in_layout.stride[3] == 1 && work.out_layout.stride[3] == 1;
}

/// Whether tokens that follow one another take rows that do.
template <class In, class Out, Table X>
bool takes_rows_in_order(const RotateWork<In, Out, X>& work) noexcept {
  return X::addressing == RowAddressing::token || work.positions->kind() != Positions::Kind::at;
}

/// Whether one row, which is not divided, turns all heads of a token.
template <class In, class Out, Table X>
bool has_row_for_all_heads(const RotateWork<In, Out, X>& work) noexcept {
  return work.table->heads() == 1 && work.table->pairs() <= chunk_pairs;
}

/// Whether the result is written past the caches.
template <class In, class Out, Table X>
bool is_streamed(const RotateWork<In, Out, X>& work) noexcept {
  return !work.in_place && work.table->pairs() <= chunk_pairs &&
         work.out_layout.extent[3] <= stream_buffer_bytes / std::int64_t{sizeof(Out)} &&
         bytes_of_result(work) >= stream_from_bytes;
}

/// Whether the result of such a call consists of whole lines: of heads that begin and end at one,
/// of which everything is rotated, all heads of a token by one row.
template <class In, class Out, Table X>
bool is_streamed_in_lines(const RotateWork<In, Out, X>& work) noexcept {
  const auto is_at_line = [](std::int64_t elements) {
    return elements * std::int64_t{sizeof(Out)} % 64 == 0;
  };
  const Layout& out = work.out_layout;
  return reinterpret_cast<std::uintptr_t>(work.out) % 64 == 0 && is_at_line(out.extent[3]) &&
         is_at_line(out.stride[0]) && is_at_line(out.stride[1]) && is_at_line(out.stride[2]) &&
         2 * work.table->pairs() == out.extent[3] && work.table->heads() == 1;
}

/// Whether it pays to ask for heads ahead of time: in place for what is read, out of place also for
/// what is written.
template <class In, class Out, Table X>
bool asks_ahead(const RotateWork<In, Out, X>& work) noexcept {
  const std::int64_t from_bytes = work.in_place ? prefetch_from_bytes : prefetch_both_from_bytes;
  return bytes_of_result(work) >= from_bytes && has_features_side_by_side(work) &&
         work.table->pairs() <= chunk_pairs;
}
template <class In, class Out, Table X>
void set_prefetched_bytes(const RotateWork<In, Out, X>& work, Heads<In, Out>& heads) noexcept {
  if (asks_ahead(work)) {
    const std::int64_t dims = 2 * work.table->pairs();
    heads.prefetched_bytes = dims * std::int64_t{sizeof(In)};
    heads.prefetched_bytes_out = work.in_place ? 0 : dims * std::int64_t{sizeof(Out)};
  }
}

/// The library's own type of an element's format: kernels are compiled for these only.
template <class T, Format format = element_traits<T>::format>
struct StoredAs {
  using type = T;
};
template <class T>
struct StoredAs<T, Format::f16> {
  using type = f16;
};
template <class T>
struct StoredAs<T, Format::bf16> {
  using type = bf16;
};

namespace portable {
#include "rope/detail/lanes/portable.inc"
#include "rope/detail/lanes/portable_norms.inc"

#include "rope/detail/kernels/angle_addition.inc"
#include "rope/detail/kernels/steps.inc"

#include "rope/detail/kernels/row_once.inc"

#include "rope/detail/kernels/rotate.inc"

// After what they use.
#include "rope/detail/kernels/norm_sums.inc"

#include "rope/detail/kernels/norm.inc"

#include "rope/detail/kernels/normed_row.inc"

#include "rope/detail/kernels/rotate_normed.inc"
}  // namespace portable

#if ROPE_DETAIL_HAS_AVX2_KERNELS
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
// GCC does not see that a row of as many steps as are not held in registers was put down.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC target("avx2,fma,f16c")
#endif
namespace avx2 {
#include "rope/detail/lanes/avx2.inc"
#include "rope/detail/lanes/avx2_norms.inc"

#include "rope/detail/kernels/angle_addition.inc"
#include "rope/detail/kernels/steps.inc"

#include "rope/detail/kernels/row_once.inc"

#include "rope/detail/kernels/rotate.inc"

// After what they use.
#include "rope/detail/kernels/norm_sums.inc"

#include "rope/detail/kernels/norm.inc"

#include "rope/detail/kernels/normed_row.inc"

#include "rope/detail/kernels/rotate_normed.inc"
}  // namespace avx2
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC diagnostic pop
#pragma GCC pop_options
#endif
#endif

#if ROPE_DETAIL_HAS_AVX512_KERNELS
#if defined(__clang__)
#pragma clang attribute push(                                                    \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"))), \
    apply_to = function)
#else
#pragma GCC push_options
// GCC warns of its own operations: of conversions of masks where they are macros, and of lanes left
// undefined on purpose.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")
#endif
namespace avx512 {
#include "rope/detail/lanes/avx512.inc"
#include "rope/detail/lanes/avx512_norms.inc"

#include "rope/detail/kernels/angle_addition.inc"
#include "rope/detail/kernels/steps.inc"

#include "rope/detail/kernels/row_once.inc"

#include "rope/detail/kernels/rotate.inc"

// After what they use.
#include "rope/detail/kernels/norm_sums.inc"

#include "rope/detail/kernels/norm.inc"

#include "rope/detail/kernels/normed_row.inc"

#include "rope/detail/kernels/rotate_normed.inc"
}  // namespace avx512
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC diagnostic pop
#pragma GCC pop_options
#endif
#endif

#if ROPE_DETAIL_HAS_NEON_KERNELS
#if !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // as above
#endif
namespace neon {
#include "rope/detail/lanes/neon.inc"
#include "rope/detail/lanes/neon_norms.inc"

#include "rope/detail/kernels/angle_addition.inc"
#include "rope/detail/kernels/steps.inc"

#include "rope/detail/kernels/row_once.inc"

#include "rope/detail/kernels/rotate.inc"

// After what they use.
#include "rope/detail/kernels/norm_sums.inc"

#include "rope/detail/kernels/norm.inc"

#include "rope/detail/kernels/normed_row.inc"

#include "rope/detail/kernels/rotate_normed.inc"
}  // namespace neon
#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif

#if ROPE_DETAIL_HAS_AVX512_KERNELS
#define ROPE_DETAIL_CASE_AVX512(...) \
  case Isa::avx512:                  \
    return avx512::__VA_ARGS__;
#else
#define ROPE_DETAIL_CASE_AVX512(...)
#endif
#if ROPE_DETAIL_HAS_AVX2_KERNELS
#define ROPE_DETAIL_CASE_AVX2(...) \
  case Isa::avx2:                  \
    return avx2::__VA_ARGS__;
#else
#define ROPE_DETAIL_CASE_AVX2(...)
#endif
#if ROPE_DETAIL_HAS_NEON_KERNELS
#define ROPE_DETAIL_CASE_NEON(...) \
  case Isa::neon:                  \
    return neon::__VA_ARGS__;
#else
#define ROPE_DETAIL_CASE_NEON(...)
#endif
/// Returns the result of a call of a kernel, compiled for the instruction set in use.
#define ROPE_DETAIL_RETURN_DISPATCHED(...) \
  switch (isa()) {                         \
    ROPE_DETAIL_CASE_AVX512(__VA_ARGS__)   \
    ROPE_DETAIL_CASE_AVX2(__VA_ARGS__)     \
    ROPE_DETAIL_CASE_NEON(__VA_ARGS__)     \
    default:                               \
      return portable::__VA_ARGS__;        \
  }

/// The same work on elements of the library's own type of their format.
template <class In, class Out, Table X>
auto stored(const RotateWork<In, Out, X>& work) noexcept {
  using StoredIn = typename StoredAs<In>::type;
  using StoredOut = typename StoredAs<Out>::type;
  return RotateWork<StoredIn, StoredOut, X>{reinterpret_cast<const StoredIn*>(work.in),
                                            reinterpret_cast<StoredOut*>(work.out),
                                            work.in_layout,
                                            work.out_layout,
                                            work.table,
                                            work.positions,
                                            work.first_dim,
                                            work.in_place,
                                            work.cos_scale,
                                            work.sin_scale};
}

/// Rotates a part of the work with the instruction set in use.
template <Pairing pairing, Place place = Place::anywhere, class In, class Out, Table X>
void rotate_tokens(const RotateWork<In, Out, X>& work, const WorkPart& part) noexcept {
  using StoredIn = typename StoredAs<In>::type;
  using StoredOut = typename StoredAs<Out>::type;
  if constexpr (std::is_same_v<In, StoredIn> && std::is_same_v<Out, StoredOut>) {
    ROPE_DETAIL_RETURN_DISPATCHED(rotate_tokens<pairing, place>(work, part))
  } else {
    rotate_tokens<pairing, place>(stored(work), part);
  }
}

/// Rotates one token in place with the instruction set in use.
template <Pairing pairing, class T, class C>
void rotate_token(T* x, std::int64_t head_stride, std::int64_t heads, const C* cos, const C* sin,
                  std::int64_t pairs) noexcept {
  using Stored = typename StoredAs<T>::type;
  if constexpr (std::is_same_v<T, Stored>) {
    ROPE_DETAIL_RETURN_DISPATCHED(rotate_token<pairing>(x, head_stride, heads, cos, sin, pairs))
  } else {
    rotate_token<pairing>(reinterpret_cast<Stored*>(x), head_stride, heads, cos, sin, pairs);
  }
}

/// Copies features with the instruction set in use, rounded where the types differ.
template <class In, class Out>
void copy_features(const In* in, std::int64_t in_stride, Out* out, std::int64_t out_stride,
                   std::int64_t count) noexcept {
  using C = compute_type_t<Out>;
  const auto* const from = reinterpret_cast<const typename StoredAs<In>::type*>(in);
  auto* const to = reinterpret_cast<typename StoredAs<Out>::type*>(out);
  ROPE_DETAIL_RETURN_DISPATCHED(copy_features<C>(from, in_stride, to, out_stride, count))
}

/// Makes one row of a table with the instruction set in use.
template <class T>
void add_angles(const double* coarse_cos, const double* coarse_sin, const double* fine_cos,
                const double* fine_sin, T* cos, T* sin, std::int64_t count) noexcept {
  ROPE_DETAIL_RETURN_DISPATCHED(
      add_angles(coarse_cos, coarse_sin, fine_cos, fine_sin, cos, sin, count))
}

/// Normalises and rotates a part of the work with the instruction set in use.
template <Pairing pairing, class In, class Out, Table X, class C>
void rotate_normed_tokens(const RotateWork<In, Out, X>& work, const NormWork<C>& norm,
                          const WorkPart& part) noexcept {
  ROPE_DETAIL_RETURN_DISPATCHED(rotate_normed_tokens<pairing>(work, norm, part))
}

/// Normalises a part of the work with the instruction set in use.
template <class In, class Out, class C>
void normalize_tokens(const NormalizeWork<In, Out>& work, const NormWork<C>& norm,
                      const WorkPart& part) noexcept {
  ROPE_DETAIL_RETURN_DISPATCHED(normalize_tokens(work, norm, part))
}

/// The sum of the squares of all heads of the token at `in` with the instruction set in use.
template <class In>
compute_type_t<In> sum_of_token(const In* in, const Layout& layout) noexcept {
  ROPE_DETAIL_RETURN_DISPATCHED(sum_of_token(in, layout))
}

#undef ROPE_DETAIL_RETURN_DISPATCHED
#undef ROPE_DETAIL_CASE_NEON
#undef ROPE_DETAIL_CASE_AVX2
#undef ROPE_DETAIL_CASE_AVX512

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
