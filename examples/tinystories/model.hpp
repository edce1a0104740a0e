// The forward pass of a Llama 2 model, one token at a time. Eigen multiplies, rope rotates.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <rope/core.hpp>
#include <utility>
#include <vector>

#include "checkpoint.hpp"
#include "tokenizer.hpp"

namespace tinystories {

/// A model and the text that it has read so far.
class Model {
 public:
  /// Room for `positions` tokens, at most checkpoint.sizes().positions. The weights are in the
  /// file's order, and are reordered here if the pairing asks for it.
  Model(Checkpoint checkpoint, rope::Pairing pairing, std::int64_t positions)
      : checkpoint_(std::move(checkpoint)),
        pairing_(pairing),
        table_(rope::frequencies({.rotary_dim = sizes().head_dim(), .base = 10000}),
               sizes().positions),
        x_(sizes().dim) {
    if (pairing == rope::Pairing::half_split) {
      reorder_to_half_split(checkpoint_);
    }
    for (std::int64_t layer = 0; layer < sizes().layers; ++layer) {
      caches_.push_back({Matrix(positions, sizes().kv_dim()), Matrix(positions, sizes().kv_dim())});
    }
  }

  const Sizes& sizes() const { return checkpoint_.sizes(); }

  /// How many tokens have been read.
  std::int64_t position() const { return position_; }

  /// Reads the token at the next position, for which there must be room.
  void read(Token token) {
    x_ = checkpoint_.matrix(Weight::token_embedding).row(token);
    for (std::int64_t layer = 0; layer < sizes().layers; ++layer) {
      x_ += attention(layer, normalized(checkpoint_.vector(Weight::attention_norm, layer)));
      x_ += feed_forward(layer, normalized(checkpoint_.vector(Weight::feed_forward_norm, layer)));
    }
    ++position_;
  }

  /// The most likely token after those read; the first one of equals.
  Token next_token() const {
    const Vector logits =
        checkpoint_.matrix(Weight::classifier) * normalized(checkpoint_.vector(Weight::final_norm));
    return static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }

 private:
  /// One layer's keys, rotated, and values: [positions, kv_heads * head_dim].
  struct Cache {
    Matrix keys;
    Matrix values;
  };

  /// x / rms(x) * weight.
  Vector normalized(const Eigen::Ref<const Vector>& weight) const {
    const float mean_square = x_.squaredNorm() / static_cast<float>(sizes().dim);
    return x_.cwiseProduct(weight) / std::sqrt(mean_square + 1e-5F);
  }

  Vector attention(std::int64_t layer, const Vector& h) {
    const std::int64_t head_dim = sizes().head_dim();
    Cache& cache = caches_[static_cast<std::size_t>(layer)];

    Vector q = checkpoint_.matrix(Weight::query, layer) * h;
    auto k = cache.keys.row(position_);
    k.transpose() = checkpoint_.matrix(Weight::key, layer) * h;
    cache.values.row(position_).transpose() = checkpoint_.matrix(Weight::value, layer) * h;

    // k is the key's place in the cache: it is rotated there once, and never again.
    rope::rotate_qk(rope::thd(q.data(), {1, sizes().heads, head_dim}),
                    rope::thd(k.data(), {1, sizes().kv_heads, head_dim}), table_,
                    rope::from(position_), {.pairing = pairing_});

    const float scale = 1 / std::sqrt(static_cast<float>(head_dim));
    const std::int64_t heads_per_key = sizes().heads / sizes().kv_heads;
    Vector mixed(sizes().dim);
    for (std::int64_t head = 0; head < sizes().heads; ++head) {
      const std::int64_t first = head / heads_per_key * head_dim;
      const auto keys = cache.keys.block(0, first, position_ + 1, head_dim);
      const auto values = cache.values.block(0, first, position_ + 1, head_dim);
      const Vector scores = scale * (keys * q.segment(head * head_dim, head_dim));
      const Vector shares = (scores.array() - scores.maxCoeff()).exp();
      mixed.segment(head * head_dim, head_dim) = values.transpose() * shares / shares.sum();
    }
    return checkpoint_.matrix(Weight::attention_output, layer) * mixed;
  }

  Vector feed_forward(std::int64_t layer, const Vector& h) const {
    const Vector gate = checkpoint_.matrix(Weight::gate, layer) * h;
    const Vector up = checkpoint_.matrix(Weight::up, layer) * h;
    const Vector hidden = gate.array() / (1 + (-gate.array()).exp()) * up.array();
    return checkpoint_.matrix(Weight::down, layer) * hidden;
  }

  Checkpoint checkpoint_;
  rope::Pairing pairing_;
  rope::CosSinTable<float> table_;
  std::vector<Cache> caches_;
  Vector x_;  // the current token's features
  std::int64_t position_ = 0;
};

}  // namespace tinystories
