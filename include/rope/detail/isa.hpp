#pragma once

#include <atomic>

#include "rope/detail/unit.hpp"

// Which instruction sets the kernels are compiled for, beside the portable one, whatever the flags
// of the translation unit.
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define ROPE_DETAIL_HAS_AVX2_KERNELS 1
#else
#define ROPE_DETAIL_HAS_AVX2_KERNELS 0
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
  avx2,      ///< x86-64 with AVX2 and FMA
  neon,      ///< AArch64
};

inline namespace ROPE_DETAIL_UNIT {

/// The instruction set in use: the only mutable state of the library. Found out at the first call,
/// and the same for ever after but for tests, which set it.
inline constinit std::atomic<Isa> isa_in_use{Isa::undetected};

/// Whether this machine, and the way the unit was compiled, can run the kernels of an instruction
/// set.
inline bool is_available(Isa isa) noexcept {
  switch (isa) {
    case Isa::portable:
      return true;
    case Isa::avx2:
#if ROPE_DETAIL_HAS_AVX2_KERNELS
      return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
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
  for (const Isa isa : {Isa::neon, Isa::avx2}) {
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
