// The program of docs/scaling.md, section by section.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "rope/core.hpp"

namespace {

void print(const char* label, const rope::Frequencies& frequencies) {
  std::printf("%-24s", label);
  for (const double value : frequencies.values()) std::printf(" %9.3g", value);
  std::printf("   magnitude %.4f\n", frequencies.magnitude());
}

}  // namespace

int main() {
  // [parameters] A scheme is a small struct in the parameters of frequencies().
  const rope::Frequencies llama =
      rope::frequencies({.rotary_dim = 8,
                         .base = 500000.0,
                         .scaling = rope::Llama3{.factor = 8, .original_max_positions = 8192}});
  // [parameters]
  print("Llama 3.1", llama);

  // [length] LongRoPE and dynamic NTK ask for the length of the sequence: the largest position + 1.
  const rope::Parameters phi = {.rotary_dim = 8,
                                .scaling = rope::LongRope{.short_factors = {1, 1.1, 1.3, 1.5},
                                                          .long_factors = {1, 4, 16, 32},
                                                          .original_max_positions = 4096,
                                                          .max_positions = 131072}};
  const rope::Frequencies short_text = rope::frequencies(phi, 4096);
  const rope::Frequencies long_text = rope::frequencies(phi, 4097);
  // [length]
  print("LongRoPE, 4096 tokens", short_text);
  print("LongRoPE, 4097 tokens", long_text);

  // [fold] The length that a Hugging Face model of dynamic NTK has in mind, call after call.
  const std::int64_t max_positions = 4096;
  std::int64_t length = max_positions;
  for (const std::int64_t call : {100, 5000, 4500, 4000}) {
    length = rope::next_length(length, call, max_positions);
    std::printf("a call of %lld tokens uses the frequencies of %lld\n",
                static_cast<long long>(call), static_cast<long long>(length));
  }
  // [fold]

  // [softmax] DeepSeek-V3: the magnitude of cos and sin is 1, and attention is corrected elsewhere.
  const rope::Yarn deepseek = {
      .factor = 40, .original_max_positions = 4096, .mscale = 1.0, .mscale_all_dim = 1.0};
  const double magnitude = rope::frequencies({.rotary_dim = 64, .scaling = deepseek}).magnitude();
  const double softmax_scale = rope::softmax_scale_multiplier(deepseek) / std::sqrt(192.0);
  std::printf("magnitude %.4f, softmax scale %.4f\n", magnitude, softmax_scale);
  // [softmax]

  // [query] Ministral 3: queries grow with their position, here at 16383 and 16384.
  std::vector<float> q(2 * 8, 1.0f);
  rope::scale_queries(rope::thd(q, {2, 1, 8}), {.beta = 0.1, .period = 16384}, rope::from(16383));
  std::printf("queries are now %.4f and %.4f\n", static_cast<double>(q[0]),
              static_cast<double>(q[8]));
  // [query]
}
