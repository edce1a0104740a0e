#pragma once

// Names the way this translation unit is compiled, and gives the attributes that depend on it.
//
// A linker keeps one copy of an inline function that several units define. If one unit was built
// with -mavx2 or -fno-exceptions, the other could end up running AVX instructions on an older
// machine, or aborting where it expects an exception. Every free function of rope therefore lives
// in an inline namespace named after the unit's baseline instruction set, exception mode and
// floating-point mode: users write rope::rotate, and units that are compiled differently never
// share a copy. Types stay outside it, so that they are the same type everywhere; all their member
// functions, even those that only return a value, are marked ROPE_DETAIL_FORWARD, which leaves no
// copy behind for a linker to pick: without optimisation, every one would be a function that may
// have been compiled to AVX instructions.

#if defined(__AVX512F__)
#define ROPE_DETAIL_UNIT_ISA avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define ROPE_DETAIL_UNIT_ISA avx2_fma
#elif defined(__AVX2__)
#define ROPE_DETAIL_UNIT_ISA avx2
#elif defined(__FMA__)
#define ROPE_DETAIL_UNIT_ISA avx_fma
#elif defined(__AVX__)
#define ROPE_DETAIL_UNIT_ISA avx
#elif defined(__SSE4_1__)
#define ROPE_DETAIL_UNIT_ISA sse4
#elif defined(__SSE2__)
#define ROPE_DETAIL_UNIT_ISA sse2
#elif defined(__aarch64__)
#define ROPE_DETAIL_UNIT_ISA neon
#else
#define ROPE_DETAIL_UNIT_ISA generic
#endif

#if defined(__cpp_exceptions)
#define ROPE_DETAIL_UNIT_EXCEPTIONS throwing
#else
#define ROPE_DETAIL_UNIT_EXCEPTIONS aborting
#endif

#if defined(__FAST_MATH__)
#define ROPE_DETAIL_UNIT_MATH fast
#else
#define ROPE_DETAIL_UNIT_MATH strict
#endif

#define ROPE_DETAIL_JOIN_EXPANDED(isa, exceptions, math) unit_##isa##_##exceptions##_##math
#define ROPE_DETAIL_JOIN(isa, exceptions, math) ROPE_DETAIL_JOIN_EXPANDED(isa, exceptions, math)
#define ROPE_DETAIL_UNIT \
  ROPE_DETAIL_JOIN(ROPE_DETAIL_UNIT_ISA, ROPE_DETAIL_UNIT_EXCEPTIONS, ROPE_DETAIL_UNIT_MATH)

// For every member function of a type that is not in the unit's namespace.
#define ROPE_DETAIL_FORWARD [[gnu::always_inline]]

// For functions that only run when something is wrong: kept out of line and away from the hot code.
#define ROPE_DETAIL_COLD [[gnu::cold, gnu::noinline]]
