// The program of docs/guide.md, section by section.

#include <cstdio>
#include <vector>

#include "rope/core.hpp"

namespace {

void print(const char* label, const std::vector<float>& values) {
  std::printf("%-22s", label);
  for (const float value : values) {
    std::printf(" %8.4f", static_cast<double>(value));
  }
  std::printf("\n");
}

}  // namespace

int main() {
  // [table] Frequencies are numbers, and a table holds cos and sin for the positions 0 .. 4095.
  const rope::Frequencies frequencies = rope::frequencies({.rotary_dim = 8, .base = 10000.0});
  const rope::CosSinTable<float> table(frequencies, 4096);
  // [table]
  std::printf("frequencies           ");
  for (const double frequency : frequencies.values()) {
    std::printf(" %8.4f", frequency);
  }
  std::printf("\n");

  // [rotate] Two tokens of two heads of eight features, at the positions 0 and 1.
  std::vector<float> q(2 * 2 * 8, 1.0f);
  rope::rotate<rope::Pairing::half_split>(rope::thd(q, {2, 2, 8}), table, rope::from(0));
  // [rotate]
  print("token 0, head 0", {q.begin(), q.begin() + 8});
  print("token 1, head 0", {q.begin() + 16, q.begin() + 24});

  // [decode] One more token of a sequence that has 100 already: queries of four heads, keys of two.
  std::vector<float> new_q(4 * 8, 1.0f);
  std::vector<float> new_k(2 * 8, 1.0f);
  rope::rotate_qk<rope::Pairing::half_split>(rope::thd(new_q, {1, 4, 8}),
                                             rope::thd(new_k, {1, 2, 8}), table, rope::from(100));
  // [decode]
  print("token 100, key head 0", {new_k.begin(), new_k.begin() + 8});

  // [padding] A batch of two rows, the first padded on the left by two tokens.
  std::vector<float> batch(2 * 5 * 1 * 8, 1.0f);
  const std::vector<int> ids = {0, 0, 0, 1, 2,  //
                                0, 1, 2, 3, 4};
  rope::rotate<rope::Pairing::half_split>(rope::bthd(batch, {2, 5, 1, 8}), table,
                                          rope::at(ids, {2, 5}));
  // [padding]
  print("row 0, token 4", {batch.begin() + 4 * 8, batch.begin() + 5 * 8});

  // [partial] Only the last four of eight features are rotated; the others are copied.
  const rope::CosSinTable<float> partial(rope::frequencies({.rotary_dim = 4}), 16);
  const std::vector<float> in = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> out(8);
  rope::rotate_to<rope::Pairing::interleaved>(rope::thd(in, {1, 1, 8}), rope::thd(out, {1, 1, 8}),
                                              partial, rope::from(1), {.first_dim = 4});
  // [partial]
  print("last half rotated", out);

  // [strides] q, k and v of each token side by side, as one projection writes them: three heads in
  // all. A slice is a view, not a copy.
  std::vector<float> packed(2 * 3 * 8, 1.0f);
  const auto qkv = rope::thd(packed, {2, 3, 8});
  rope::rotate_qk<rope::Pairing::half_split>(qkv.slice_heads(0, 1), qkv.slice_heads(1, 1), table,
                                             rope::from(7));
  // [strides]
  print("token 1, v untouched", {packed.end() - 8, packed.end()});

  // [interpolation] A model trained on 4096 positions, stretched to 16384.
  const rope::Frequencies stretched =
      rope::frequencies({.rotary_dim = 8, .scaling = rope::Linear{.factor = 4}});
  // [interpolation]
  std::printf("stretched             ");
  for (const double frequency : stretched.values()) {
    std::printf(" %8.4f", frequency);
  }
  std::printf("\n");

  // [own] Cos and sin that somebody else made, [rows, pairs] each, take the place of a table.
  const std::vector<float> cos = {1.0f, 1.0f, 0.0f, 0.5f};
  const std::vector<float> sin = {0.0f, 0.0f, 1.0f, 0.5f};
  const auto own = rope::table_view(cos, sin, {2, 2}, {.rotary_dim = 4});
  std::vector<float> x = {1, 2, 3, 4};
  rope::rotate<rope::Pairing::interleaved>(rope::thd(x, {1, 1, 4}), own, rope::from(1));
  // [own]
  print("own table", x);

  // [errors] What cannot be right is refused before anything is written.
  try {
    rope::rotate<rope::Pairing::half_split>(rope::thd(q, {2, 2, 8}), table, rope::from(4095));
  } catch (const rope::OutOfRange& error) {
    std::printf("%s\n", error.what());
  }
  // [errors]
}
