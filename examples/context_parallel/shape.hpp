// What all parts of the program agree on: sizes, and the input that each rank can make by itself.
#pragma once

#include <Eigen/Core>
#include <cstdint>

namespace context_parallel {

/// [rows, columns], row-major: a token is a row.
using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The sizes of one attention layer; each key head serves heads / kv_heads query heads.
struct LayerShape {
  std::int64_t tokens;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t dim;

  /// A token's query, all heads.
  std::int64_t query_elements() const { return heads * dim; }
  /// A token's keys and values, all heads: what travels.
  std::int64_t kv_elements() const { return 2 * kv_heads * dim; }
};

enum class Mask { none, causal };

/// Stands for what a layer's projections make of the tokens.
enum class Projection : std::uint64_t { query, key, value };

/// Element `index` of a token, in -1 .. 1 (queries: -4 .. 4, so that some scores stand out). It is
/// a function of its arguments alone: whoever holds the token makes the same number.
inline float projected(Projection projection, std::int64_t token, std::int64_t index) {
  std::uint64_t bits = static_cast<std::uint64_t>(projection) << 60 ^
                       static_cast<std::uint64_t>(token) << 24 ^ static_cast<std::uint64_t>(index);
  for (int round = 0; round < 3; ++round) {
    bits = (bits ^ bits >> 31) * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u;
  }
  const float uniform = static_cast<float>(bits >> 40) * 0x1p-23f - 1.0f;
  return projection == Projection::query ? 4.0f * uniform : uniform;
}

}  // namespace context_parallel
