// Attention scores with Eigen, where four query heads share two key heads; the program of
// docs/eigen.md.

#include <Eigen/Core>
#include <cmath>
#include <complex>
#include <cstdio>

#include "rope/rope.hpp"

namespace {

using RowMajorComplex =
    Eigen::Matrix<std::complex<float>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr int tokens = 5;
constexpr int heads = 4;
constexpr int kv_heads = 2;
constexpr int dim = 8;

/// Stands for what a layer's projection makes of the tokens.
Eigen::MatrixXf projected(int columns, float phase) {
  Eigen::MatrixXf x(tokens, columns);
  for (int t = 0; t < tokens; ++t) {
    for (int i = 0; i < columns; ++i) {
      x(t, i) = std::sin(phase + 0.9f * static_cast<float>(t) + 0.4f * static_cast<float>(i));
    }
  }
  return x;
}

void print(const char* label, const Eigen::Ref<const Eigen::RowVectorXf>& values) {
  std::printf("%-28s", label);
  for (const float value : values) {
    std::printf(" %7.3f", static_cast<double>(value));
  }
  std::printf("\n");
}

/// What the last token's query in the last head sees of all keys.
Eigen::RowVectorXf last_scores(const Eigen::MatrixXf& q, const Eigen::MatrixXf& k) {
  // [scores] Each key head serves two query heads.
  const int head = heads - 1;
  const auto q_head = q.middleCols(head * dim, dim);
  const auto k_head = k.middleCols(head / (heads / kv_heads) * dim, dim);
  const Eigen::MatrixXf scores = q_head * k_head.transpose() / std::sqrt(static_cast<float>(dim));
  // [scores]
  return scores.row(tokens - 1);
}

}  // namespace

int main() {
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = dim}), 1024);

  // [rotate] Rows are tokens: [tokens, heads * dim] and [tokens, kv_heads * dim].
  Eigen::MatrixXf q = projected(heads * dim, 0.0f);
  Eigen::MatrixXf k = projected(kv_heads * dim, 1.0f);
  rope::rotate_qk<rope::Pairing::half_split>(rope::tokens_in_rows(q, {.heads = heads}),
                                             rope::tokens_in_rows(k, {.heads = kv_heads}), table,
                                             rope::from(0));
  // [rotate]
  print("scores from position 0", last_scores(q, k));

  // The same tokens 100 positions later: the scores know only how far apart tokens are.
  q = projected(heads * dim, 0.0f);
  k = projected(kv_heads * dim, 1.0f);
  rope::rotate_qk<rope::Pairing::half_split>(rope::tokens_in_rows(q, {.heads = heads}),
                                             rope::tokens_in_rows(k, {.heads = kv_heads}), table,
                                             rope::from(100));
  print("scores from position 100", last_scores(q, k));

  // [cache] Columns are tokens: the keys of one more token go into column 7 of a cache.
  Eigen::MatrixXf cache = Eigen::MatrixXf::Zero(kv_heads * dim, 16);
  cache.col(7) = projected(kv_heads * dim, 1.0f).row(0).transpose();
  rope::rotate<rope::Pairing::half_split>(
      rope::tokens_in_columns(cache.col(7), {.heads = kv_heads}), table, rope::from(7));
  // [cache]
  print("key in the cache", cache.col(7).head(dim).transpose());

  // [batch] Three sequences of five tokens, one below the other: each starts at position 0.
  Eigen::MatrixXf batch = projected(heads * dim, 0.0f).replicate(3, 1);
  rope::rotate<rope::Pairing::half_split>(rope::tokens_in_rows(batch, {.heads = heads, .batch = 3}),
                                          table, rope::from(0));
  // [batch]
  print("sequence 2, token 4", batch.row(14).head(dim));

  // [complex] Two heads of four complex numbers each, side by side: a row-major matrix.
  RowMajorComplex z = RowMajorComplex::Constant(tokens, 2 * 4, {1.0f, 0.0f});
  rope::rotate<rope::Pairing::interleaved>(rope::tokens_in_rows(z, {.heads = 2}), table,
                                           rope::from(0));
  // [complex]
  const std::complex<float> turned = std::polar(1.0f, 4.0f * 0.1f);  // position * frequency
  std::printf("%-28s (%.3f, %.3f)\n", "z(4, 1)", static_cast<double>(z(4, 1).real()),
              static_cast<double>(z(4, 1).imag()));
  std::printf("%-28s (%.3f, %.3f)\n", "std::polar(1, 4 * 0.1)", static_cast<double>(turned.real()),
              static_cast<double>(turned.imag()));
  return 0;
}
