#pragma once

#include <atomic>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "rope/detail/unit.hpp"

// Which instruction sets the kernels are compiled for, beside the portable one, whatever the flags
// of the translation unit.
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define ROPE_DETAIL_HAS_AVX2_KERNELS 1
#define ROPE_DETAIL_HAS_AVX512_KERNELS 1
#else
#define ROPE_DETAIL_HAS_AVX2_KERNELS 0
#define ROPE_DETAIL_HAS_AVX512_KERNELS 0
#endif
#if defined(__aarch64__) && defined(__ARM_NEON)
#define ROPE_DETAIL_HAS_NEON_KERNELS 1
#else
#define ROPE_DETAIL_HAS_NEON_KERNELS 0
#endif

namespace rope::detail {

/// The instruction sets that kernels are written for. All of them give the same bits.
enum class Isa : unsigned char {
  undetected,
  portable,  ///< what the translation unit was compiled for
  avx2,      ///< x86-64 with AVX2, FMA and F16C
  avx512,    ///< x86-64 with AVX-512 F, BW, DQ and VL, and the above
  neon,      ///< AArch64
};

inline namespace ROPE_DETAIL_UNIT {

/// The instruction set in use: the only mutable state of the library. Found out at the first call,
/// and the same for ever after but for tests, which set it.
inline constinit std::atomic<Isa> isa_in_use{Isa::undetected};

#if ROPE_DETAIL_HAS_AVX2_KERNELS
/// The compilers' builtin, which also asks whether the operating system saves the registers, knows
/// all but F16C in every version.
inline bool has_avx2() noexcept {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned f16c = 1u << 29;
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
         __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & f16c) != 0;
}

inline bool has_avx512() noexcept {
  return has_avx2() && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}
#endif

/// Whether this machine, and the way the unit was compiled, can run the kernels of an instruction
/// set.
inline bool is_available(Isa isa) noexcept {
  switch (isa) {
    case Isa::portable:
      return true;
    case Isa::avx2:
#if ROPE_DETAIL_HAS_AVX2_KERNELS
      return has_avx2();
#else
      return false;
#endif
    case Isa::avx512:
#if ROPE_DETAIL_HAS_AVX512_KERNELS
      return has_avx512();
#else
      return false;
#endif
    case Isa::neon:
      return ROPE_DETAIL_HAS_NEON_KERNELS != 0;
    case Isa::undetected:
      break;
  }
  return false;
}

[[gnu::cold, gnu::noinline]] inline Isa detect_isa() noexcept {
  Isa best = Isa::portable;
  for (const Isa isa : {Isa::neon, Isa::avx2, Isa::avx512}) {
    if (is_available(isa)) {
      best = isa;
    }
  }
  isa_in_use.store(best, std::memory_order_relaxed);
  return best;
}

inline Isa isa() noexcept {
  const Isa known = isa_in_use.load(std::memory_order_relaxed);
  return known != Isa::undetected ? known : detect_isa();
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope::detail
