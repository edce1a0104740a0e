// The same attention the plain way, to compare with: one process, the whole sequence, double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rope/frequencies.hpp"
#include "rope/positions.hpp"
#include "rope/rotate.hpp"
#include "rope/table.hpp"
#include "rope/view.hpp"
#include "shape.hpp"

namespace context_parallel {

/// All tokens' projections, [tokens, heads, dim].
inline std::vector<double> whole_sequence(Projection projection, std::int64_t tokens,
                                          std::int64_t elements) {
  std::vector<double> x;
  x.reserve(static_cast<std::size_t>(tokens * elements));
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (std::int64_t i = 0; i < elements; ++i) {
      x.push_back(static_cast<double>(projected(projection, token, i)));
    }
  }
  return x;
}

/// Attention over the whole sequence, [tokens, heads * dim]. O(tokens^2), all on this process.
inline std::vector<double> one_process_attention(const LayerShape& shape,
                                                 const rope::Frequencies& frequencies, Mask mask) {
  const std::int64_t dim = shape.dim;
  std::vector<double> q = whole_sequence(Projection::query, shape.tokens, shape.heads * dim);
  std::vector<double> k = whole_sequence(Projection::key, shape.tokens, shape.kv_heads * dim);
  const std::vector<double> v =
      whole_sequence(Projection::value, shape.tokens, shape.kv_heads * dim);
  const rope::CosSinTable<double> table(frequencies, shape.tokens);
  rope::rotate_qk<rope::Pairing::half_split>(rope::thd(q, {shape.tokens, shape.heads, dim}),
                                             rope::thd(k, {shape.tokens, shape.kv_heads, dim}),
                                             table, rope::from(0));

  std::vector<double> result(q.size(), 0.0);
  std::vector<double> scores(static_cast<std::size_t>(shape.tokens));
  for (std::int64_t t = 0; t < shape.tokens; ++t) {
    const std::int64_t seen = mask == Mask::causal ? t + 1 : shape.tokens;
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const std::int64_t kv_head = head * shape.kv_heads / shape.heads;
      const double* query = q.data() + (t * shape.heads + head) * dim;
      for (std::int64_t s = 0; s < seen; ++s) {
        const double* key = k.data() + (s * shape.kv_heads + kv_head) * dim;
        double score = 0;
        for (std::int64_t i = 0; i < dim; ++i) score += query[i] * key[i];
        scores[static_cast<std::size_t>(s)] = score / std::sqrt(static_cast<double>(dim));
      }
      const double greatest = *std::max_element(scores.begin(), scores.begin() + seen);
      double sum = 0;
      double* out = result.data() + (t * shape.heads + head) * dim;
      for (std::int64_t s = 0; s < seen; ++s) {
        const double term = std::exp(scores[static_cast<std::size_t>(s)] - greatest);
        const double* value = v.data() + (s * shape.kv_heads + kv_head) * dim;
        for (std::int64_t i = 0; i < dim; ++i) out[i] += term * value[i];
        sum += term;
      }
      for (std::int64_t i = 0; i < dim; ++i) out[i] /= sum;
    }
  }
  return result;
}

}  // namespace context_parallel
