// Attention without positions does not know the order of its tokens. This program shows it, and
// what the causal mask, RoPE, and rotated values change about it.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "rope/core.hpp"
#include "rope/encodings/learned.hpp"
#include "rope/encodings/matrix.hpp"

namespace {

constexpr std::size_t dim = 8;
using Matrix = std::vector<double>;  // [tokens, dim]

Matrix random_tokens(std::size_t tokens, unsigned seed) {
  Matrix values(tokens * dim);
  std::mt19937 engine(seed);
  rope::initialize_learned(rope::matrix(values, {tokens, dim}), engine, 1);
  return values;
}

Matrix permuted(const Matrix& rows, const std::vector<std::size_t>& order) {
  Matrix result;
  for (const std::size_t from : order) {
    const auto row = rows.begin() + static_cast<std::ptrdiff_t>(from * dim);
    result.insert(result.end(), row, row + static_cast<std::ptrdiff_t>(dim));
  }
  return result;
}

double distance(const Matrix& a, const Matrix& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::fmax(largest, std::fabs(a[i] - b[i]));
  }
  return largest;
}

/// One head: softmax(q k^T / sqrt(dim)) v.
Matrix attention(const Matrix& q, const Matrix& k, const Matrix& v, bool causal) {
  const std::size_t tokens = q.size() / dim;
  Matrix out(q.size(), 0.0);
  for (std::size_t query = 0; query < tokens; ++query) {
    const std::size_t keys = causal ? query + 1 : tokens;
    std::vector<double> weights(keys);
    double sum = 0;
    for (std::size_t key = 0; key < keys; ++key) {
      double score = 0;
      for (std::size_t i = 0; i < dim; ++i) {
        score += q[query * dim + i] * k[key * dim + i];
      }
      weights[key] = std::exp(score / std::sqrt(static_cast<double>(dim)));
      sum += weights[key];
    }
    for (std::size_t key = 0; key < keys; ++key) {
      for (std::size_t i = 0; i < dim; ++i) {
        out[query * dim + i] += weights[key] / sum * v[key * dim + i];
      }
    }
  }
  return out;
}

Matrix rotated(Matrix x, std::int64_t start) {
  static const rope::CosSinTable<double> table(rope::frequencies({.rotary_dim = dim}), 4096);
  rope::rotate<rope::Pairing::interleaved>(rope::thd(x, {x.size() / dim, 1, dim}), table,
                                           rope::from(start));
  return x;
}

void print(const char* what, double change) {
  if (change < 1e-12) {
    std::printf("%-58s unchanged\n", what);
  } else {
    std::printf("%-58s differ by %.3f\n", what, change);
  }
}

}  // namespace

int main() {
  const Matrix q = random_tokens(6, 1);
  const Matrix k = random_tokens(6, 2);
  const Matrix v = random_tokens(6, 3);
  const std::vector<std::size_t> order = {3, 0, 5, 1, 4, 2};

  // [permute] The outputs of permuted tokens, against the permuted outputs.
  const Matrix out = attention(q, k, v, false);
  const Matrix out_permuted =
      attention(permuted(q, order), permuted(k, order), permuted(v, order), false);
  print("no positions, tokens permuted: each token's output",
        distance(out_permuted, permuted(out, order)));
  // [permute]

  // The mask lets the first token see itself alone.
  const Matrix causal = attention(q, k, v, true);
  const Matrix causal_permuted =
      attention(permuted(q, order), permuted(k, order), permuted(v, order), true);
  print("causal mask, tokens permuted: each token's output",
        distance(causal_permuted, permuted(causal, order)));

  // Two tokens: what does a get, standing first and standing second?
  const Matrix ab_v = {v.begin(), v.begin() + 2 * dim};
  const Matrix ab_q = {q.begin(), q.begin() + 2 * dim};
  const Matrix ab_k = {k.begin(), k.begin() + 2 * dim};
  const Matrix first = attention(ab_q, ab_k, ab_v, true);
  const Matrix second =
      attention(permuted(ab_q, {1, 0}), permuted(ab_k, {1, 0}), permuted(ab_v, {1, 0}), true);
  const Matrix v_a = {ab_v.begin(), ab_v.begin() + dim};
  const Matrix a_first = {first.begin(), first.begin() + dim};
  const Matrix a_second = {second.begin() + dim, second.end()};
  print("causal, order a b: output of a against v_a", distance(a_first, v_a));
  print("causal, order b a: output of a against v_a", distance(a_second, v_a));
  // a_second = share * v_a + (1 - share) * v_b, from any feature.
  const double share = (a_second[0] - ab_v[dim]) / (ab_v[0] - ab_v[dim]);
  std::printf("  there it is %.3f v_a + %.3f v_b\n", share, 1 - share);

  // [rope] Rotated q and k: order matters, where the text starts does not.
  const Matrix with_rope = attention(rotated(q, 0), rotated(k, 0), v, false);
  const Matrix with_rope_permuted = attention(
      rotated(permuted(q, order), 0), rotated(permuted(k, order), 0), permuted(v, order), false);
  const Matrix with_rope_later = attention(rotated(q, 1000), rotated(k, 1000), v, false);
  // [rope]
  print("RoPE on q and k, tokens permuted: each token's output",
        distance(with_rope_permuted, permuted(with_rope, order)));
  print("RoPE on q and k, text moved by 1000: outputs", distance(with_rope_later, with_rope));

  // [values] Rotated v too: the outputs carry the absolute position.
  const Matrix v_too = attention(rotated(q, 0), rotated(k, 0), rotated(v, 0), false);
  const Matrix v_too_later = attention(rotated(q, 1000), rotated(k, 1000), rotated(v, 1000), false);
  // [values]
  print("RoPE on q, k and v, text moved by 1000: outputs", distance(v_too_later, v_too));
}
