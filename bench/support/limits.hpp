// What no rotation can be faster than: passes over the same memory that do next to nothing, with
// the widest vectors of the machine whatever the flags.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rope_bench {

// Vectors of the compilers' own kind rather than intrinsics: one text for all widths. A function
// with a target attribute uses the registers of that target for them.
template <std::size_t bytes>
struct Lanes {
  using Float [[gnu::vector_size(bytes), gnu::may_alias]] = float;
  using Word [[gnu::vector_size(bytes), gnu::may_alias]] = std::uint32_t;
  using Half [[gnu::vector_size(bytes / 2), gnu::may_alias]] = std::uint16_t;
  static constexpr std::int64_t count = bytes / sizeof(float);
};

/// x *= factor. Aligned to cache lines, `count` a multiple of 64, as is everything below.
template <std::size_t bytes>
[[gnu::always_inline]] inline void stream_loop(float* x, std::int64_t count, float factor) {
  using Float = typename Lanes<bytes>::Float;
  auto* at = reinterpret_cast<Float*>(x);
  auto* const end = at + count / Lanes<bytes>::count;
  for (; at != end; at += 4) {
    at[0] *= factor;
    at[1] *= factor;
    at[2] *= factor;
    at[3] *= factor;
  }
}

/// x *= y, which reads a second array as a rotation reads a table.
template <std::size_t bytes>
[[gnu::always_inline]] inline void product_loop(float* x, const float* y, std::int64_t count) {
  using Float = typename Lanes<bytes>::Float;
  auto* at = reinterpret_cast<Float*>(x);
  auto* by = reinterpret_cast<const Float*>(y);
  auto* const end = at + count / Lanes<bytes>::count;
  for (; at != end; at += 4, by += 4) {
    at[0] *= by[0];
    at[1] *= by[1];
    at[2] *= by[2];
    at[3] *= by[3];
  }
}

/// The nearest bfloat16 of each finite float.
template <std::size_t bytes>
[[gnu::always_inline]] inline void to_bf16_loop(const float* from, std::uint16_t* to,
                                                std::int64_t count) {
  using Word = typename Lanes<bytes>::Word;
  using Half = typename Lanes<bytes>::Half;
  auto* at = reinterpret_cast<const Word*>(from);
  auto* const end = at + count / Lanes<bytes>::count;
  auto* out = reinterpret_cast<Half*>(to);
  for (; at != end; ++at, ++out) {
    const Word word = *at;
    *out = __builtin_convertvector((word + 0x7fffu + ((word >> 16) & 1u)) >> 16, Half);
  }
}

struct Limits {
  const char* name;
  void (*stream)(float*, std::int64_t, float);
  void (*product)(float*, const float*, std::int64_t);
  void (*to_bf16)(const float*, std::uint16_t*, std::int64_t);
};

#if defined(__x86_64__)
[[gnu::target("avx512f,avx512bw")]] inline void stream_512(float* x, std::int64_t count,
                                                           float factor) {
  stream_loop<64>(x, count, factor);
}
[[gnu::target("avx512f,avx512bw")]] inline void product_512(float* x, const float* y,
                                                            std::int64_t count) {
  product_loop<64>(x, y, count);
}
[[gnu::target("avx512f,avx512bw")]] inline void to_bf16_512(const float* from, std::uint16_t* to,
                                                            std::int64_t count) {
  to_bf16_loop<64>(from, to, count);
}
[[gnu::target("avx2")]] inline void stream_256(float* x, std::int64_t count, float factor) {
  stream_loop<32>(x, count, factor);
}
[[gnu::target("avx2")]] inline void product_256(float* x, const float* y, std::int64_t count) {
  product_loop<32>(x, y, count);
}
[[gnu::target("avx2")]] inline void to_bf16_256(const float* from, std::uint16_t* to,
                                                std::int64_t count) {
  to_bf16_loop<32>(from, to, count);
}
#endif
inline void stream_128(float* x, std::int64_t count, float factor) {
  stream_loop<16>(x, count, factor);
}
inline void product_128(float* x, const float* y, std::int64_t count) {
  product_loop<16>(x, y, count);
}
inline void to_bf16_128(const float* from, std::uint16_t* to, std::int64_t count) {
  to_bf16_loop<16>(from, to, count);
}

/// Those of the widest vectors that this machine has.
inline const Limits& widest() {
#if defined(__x86_64__)
  static const Limits avx512{"AVX-512", stream_512, product_512, to_bf16_512};
  static const Limits avx2{"AVX2", stream_256, product_256, to_bf16_256};
  if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0) {
    return avx512;
  }
  if (__builtin_cpu_supports("avx2") != 0) return avx2;
  static const Limits narrow{"SSE2", stream_128, product_128, to_bf16_128};
#else
  static const Limits narrow{"128-bit vectors", stream_128, product_128, to_bf16_128};
#endif
  return narrow;
}

}  // namespace rope_bench
