// Attention to keys that come block by block.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "rope/shards.hpp"
#include "shape.hpp"

namespace context_parallel {

/// How many keys of a range a query at `position` may see.
inline std::int64_t visible_keys(Mask mask, std::int64_t position,
                                 const rope::PositionRange& keys) {
  if (mask == Mask::none) return keys.count;
  return (std::clamp)(position - keys.first + 1, std::int64_t{0}, keys.count);
}

/// Keys and values of some tokens of one key head, [tokens, dim] each, rows apart by a stride.
struct HeadBlock {
  using Matrix = Eigen::Map<const Rows, Eigen::Unaligned, Eigen::OuterStride<>>;
  Matrix keys;
  Matrix values;
};

/// The attention of some queries to all keys, of which only a block needs to be at hand.
///
/// For each query and head it keeps the greatest score so far, the sum of exp(score - greatest),
/// and the values weighted by the same terms. A block with a greater score makes the terms so far
/// smaller by one common factor, which is applied to the sum and to the weighted values (Milakov
/// and Gimelshein, "Online normalizer calculation for softmax", 2018).
class OnlineSoftmax {
 public:
  OnlineSoftmax(std::int64_t queries, const LayerShape& shape)
      : shape_(shape),
        greatest_(
            Eigen::ArrayXXf::Constant(shape.heads, queries, std::numeric_limits<float>::lowest())),
        sum_(Eigen::ArrayXXf::Zero(shape.heads, queries)),
        weighted_(Rows::Zero(queries, shape.query_elements())) {}

  /// Adds a block of keys at the positions `key_range` to `queries.rows()` queries from row `first`
  /// on, which are at consecutive positions from `position` on. One head; returns the number of
  /// scores that the mask lets through.
  template <class Queries>
  std::int64_t add(const Eigen::MatrixBase<Queries>& queries, std::int64_t head, std::int64_t first,
                   std::int64_t position, Mask mask, const rope::PositionRange& key_range,
                   const HeadBlock& block) {
    // The last query sees the most: keys after that need not be multiplied.
    const std::int64_t columns = visible_keys(mask, position + queries.rows() - 1, key_range);
    if (columns == 0) return 0;
    const float scale = 1.0f / std::sqrt(static_cast<float>(shape_.dim));
    terms_.noalias() = scale * queries * block.keys.topRows(columns).transpose();

    auto weighted = weighted_.block(first, head * shape_.dim, queries.rows(), shape_.dim);
    std::int64_t scores = 0;
    for (std::int64_t i = 0; i < queries.rows(); ++i) {
      const std::int64_t visible = visible_keys(mask, position + i, key_range);
      scores += visible;
      auto row = terms_.row(i).array();
      row.tail(columns - visible).setZero();
      if (visible == 0) continue;
      float& greatest = greatest_(head, first + i);
      float& sum = sum_(head, first + i);
      const float new_greatest = (std::max)(greatest, row.head(visible).maxCoeff());
      const float shrink = std::exp(greatest - new_greatest);
      row.head(visible) = (row.head(visible) - new_greatest).exp();
      sum = sum * shrink + row.head(visible).sum();
      weighted.row(i) *= shrink;
      greatest = new_greatest;
    }
    weighted.noalias() += terms_ * block.values.topRows(columns);
    return scores;
  }

  /// The attention to all keys added so far, [queries, heads * dim]. Each query must have seen one.
  Rows result() const {
    Rows result = weighted_;
    for (std::int64_t head = 0; head < shape_.heads; ++head) {
      result.middleCols(head * shape_.dim, shape_.dim).array().colwise() /=
          sum_.row(head).transpose();
    }
    return result;
  }

 private:
  LayerShape shape_;
  Eigen::ArrayXXf greatest_;  // [heads, queries]
  Eigen::ArrayXXf sum_;       // [heads, queries]
  Rows weighted_;             // [queries, heads * dim]
  Rows terms_;                // of one call; kept for its memory
};

}  // namespace context_parallel
