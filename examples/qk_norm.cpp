// What Qwen 3, Gemma 3 and OLMo 2 do with q and k: an RMS norm, and then the rotation, here in one
// pass over the memory. And a key that is converted on its way into a cache.

#include <cstdint>
#include <cstdio>
#include <vector>

#include "rope/core.hpp"

namespace {

constexpr auto pairing = rope::Pairing::half_split;
constexpr std::int64_t tokens = 2;
constexpr std::int64_t q_heads = 4;
constexpr std::int64_t k_heads = 2;
constexpr std::int64_t dim = 8;

std::vector<float> values(std::int64_t heads) {
  std::vector<float> x(static_cast<std::size_t>(tokens * heads * dim));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 2;
  return x;
}

void print(const char* name, const float* head) {
  std::printf("%-18s", name);
  for (std::int64_t i = 0; i < dim; ++i) std::printf(" %8.4f", static_cast<double>(head[i]));
  std::printf("\n");
}

}  // namespace

int main() {
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = dim}), 64);
  std::vector<float> q_data = values(q_heads);
  std::vector<float> k_data = values(k_heads);
  const std::vector<float> q_weights = {1.0F, 1.1F, 0.9F, 1.2F, 1.0F, 0.8F, 1.0F, 1.3F};
  const std::vector<float> k_weights = {0.9F, 1.0F, 1.0F, 1.1F, 1.2F, 1.0F, 0.7F, 1.0F};
  const auto q = rope::thd(q_data, {tokens, q_heads, dim});
  const auto k = rope::thd(k_data, {tokens, k_heads, dim});

  // [qwen3] Each head of q and of k: an RMS norm over its features, times the weights, and turned.
  rope::rotate_qk<pairing>(
      q, k, table, rope::from(10),
      {.q_norm = rope::qwen3_norm(q_weights, 1e-6), .k_norm = rope::qwen3_norm(k_weights, 1e-6)});
  // [qwen3]
  print("q, token 1, head 0", &q(0, 1, 0, 0));
  print("k, token 0, head 1", &k(0, 0, 1, 0));

  // [apart] The same in two passes, to the bit.
  std::vector<float> apart = values(k_heads);
  const auto two_passes = rope::thd(apart, {tokens, k_heads, dim});
  rope::normalize(two_passes, rope::qwen3_norm(k_weights, 1e-6));
  rope::rotate<pairing>(two_passes, table, rope::from(10));
  // [apart]
  std::printf("two passes         %s\n", apart == k_data ? "same bits" : "different");

  std::vector<float> gemma = values(k_heads);
  // [gemma3] Gemma stores its weights less 1.
  const std::vector<float> near_zero = {-0.1F, 0, 0, 0.1F, 0.2F, 0, -0.3F, 0};
  rope::rotate<pairing>(rope::thd(gemma, {tokens, k_heads, dim}), table, rope::from(10),
                        {.norm = rope::gemma3_norm(near_zero, 1e-6)});
  // [gemma3]
  print("Gemma 3", &gemma[dim]);

  std::vector<float> olmo = values(k_heads);
  const std::vector<float> all_weights(k_heads * dim, 1.0F);
  // [olmo2] The mean is over all heads of a token, and all their features have weights of their
  // own.
  const auto olmo_k = rope::thd(olmo, {tokens, k_heads, dim});
  std::vector<float> scales(tokens);
  rope::token_scales(olmo_k, 1e-6, scales);
  rope::rotate<pairing>(olmo_k, table, rope::from(10),
                        {.norm = rope::olmo2_norm(all_weights, scales)});
  // [olmo2]
  print("OLMo 2", &olmo[dim]);

  // [cache] Keys in float go normalised and rotated into a cache of bf16: one pass, rounded once.
  const std::vector<float> new_k = values(k_heads);
  std::vector<rope::bf16> cache(64 * k_heads * dim);
  const auto slots = rope::thd(cache, {64, k_heads, dim}).slice_tokens(10, tokens);
  rope::rotate_to<pairing>(rope::thd(new_k, {tokens, k_heads, dim}), slots, table, rope::from(10),
                           {.norm = rope::qwen3_norm(k_weights, 1e-6)});
  // [cache]
  std::printf("cached             %8.4f\n", static_cast<double>(float{slots(0, 0, 1, 0)}));
}
