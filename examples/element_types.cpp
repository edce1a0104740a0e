// Elements of 16 bits, rotation while converting, and a type of one's own.

#include <cstdint>
#include <cstdio>
#include <vector>

#include "rope/core.hpp"

// [own-type]
// The half of another library: the same bits as rope::f16, and so the same kernels.
struct TheirHalf {
  std::uint16_t pattern;
};
template <>
struct rope::element_traits<TheirHalf> {
  using compute_type = float;
  static constexpr Format format = Format::f16;
};
// [own-type]

int main() {
  constexpr std::int64_t tokens = 2;
  constexpr std::int64_t heads = 1;
  constexpr std::int64_t dim = 4;
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = dim}), 16);

  // [bf16]
  std::vector<rope::bf16> q(tokens * heads * dim, rope::bf16(1.5f));
  rope::rotate<rope::Pairing::half_split>(rope::thd(q, {tokens, heads, dim}), table, rope::from(1));
  // [bf16]
  std::printf("bf16     ");
  for (const rope::bf16 x : q) std::printf(" %8.5f", static_cast<double>(x));

  // [convert]
  std::vector<float> k(tokens * heads * dim, 1.5f);
  std::vector<rope::f16> cache(k.size());
  rope::rotate_to<rope::Pairing::half_split>(rope::thd(k, {tokens, heads, dim}),
                                             rope::thd(cache, {tokens, heads, dim}), table,
                                             rope::from(1));
  // [convert]
  std::printf("\nto f16   ");
  for (const rope::f16 x : cache) std::printf(" %8.5f", static_cast<double>(x));

  std::vector<TheirHalf> theirs(cache.size(), TheirHalf{rope::f16(1.5f).bits});
  rope::rotate<rope::Pairing::half_split>(rope::thd(theirs, {tokens, heads, dim}), table,
                                          rope::from(1));
  bool same = true;
  for (std::size_t i = 0; i < theirs.size(); ++i) same &= theirs[i].pattern == cache[i].bits;
  std::printf("\ntheir half has %s\n", same ? "the same bits" : "other bits");
}
