// The forward pass of a Llama 2 model over a batch of texts. Eigen multiplies; rope rotates, and
// keeps the keys.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <rope/core.hpp>
#include <rope/key_cache.hpp>
#include <span>
#include <utility>
#include <vector>

#include "checkpoint.hpp"
#include "tokenizer.hpp"

namespace tinystories {

/// How the model reads.
struct ModelOptions {
  rope::Pairing pairing;
  /// Texts at a time, and the positions of the longest of them.
  std::int64_t texts = 1;
  std::int64_t positions = 1;
  /// A token sees this many positions, its own included; all that there are if not set.
  std::optional<std::int64_t> window{};
  /// When the positions that the model was trained for are used up, this many tokens are kept in
  /// front, and of the others the newer half is moved to directly behind them.
  std::optional<std::int64_t> context_shift{};
};

/// The next tokens of some texts, [rows, columns]. Where texts are of different lengths, the
/// shorter ones have padding on the left, so that the last column has the newest token of each.
struct Batch {
  std::span<const rope::SequenceId> texts;
  std::int64_t columns;
  std::vector<Token> tokens;
  std::vector<std::uint8_t> mask;  // 1 for a token, 0 for padding

  std::int64_t rows() const { return static_cast<std::int64_t>(texts.size()); }
};

/// A model and the texts that it has read so far, with keys of type Key: float, or 16 bits.
///
/// A token's numbers do not depend on what else is in its batch: each is multiplied alone.
template <class Key>
class Model {
 public:
  /// The weights are in the file's order, and are reordered here if the pairing asks for it.
  Model(Checkpoint checkpoint, const ModelOptions& options)
      : checkpoint_(std::move(checkpoint)),
        options_(options),
        table_(rope::frequencies({.rotary_dim = sizes().head_dim(), .base = 10000}),
               sizes().positions),
        index_(options.texts * slots_of_a_text(options)) {
    if (options.pairing == rope::Pairing::half_split) {
      reorder_to_half_split(checkpoint_);
    }
    for (std::int64_t layer = 0; layer < sizes().layers; ++layer) {
      keys_.emplace_back(rope::Extents<3>{index_.slots(), sizes().kv_heads, sizes().head_dim()},
                         rope::KeyStoreOptions{.pairing = options.pairing});
      values_.emplace_back(index_.slots(), sizes().kv_dim());
    }
  }

  const Sizes& sizes() const { return checkpoint_.sizes(); }

  /// Begins a text, and forgets one.
  rope::SequenceId begin() { return index_.add_sequence(); }
  void end(rope::SequenceId text) { index_.drop(text); }

  /// Reads the next tokens of some texts.
  void read(const Batch& batch) {
    for (std::int64_t first = 0; first < batch.columns;) {
      const std::int64_t count = make_room(batch, first);
      read_columns(batch, first, count);
      first += count;
    }
  }

  /// The most likely token after the last one of a row of the batch that was read; the first one of
  /// equals.
  Token next_token(std::int64_t row) const {
    const Vector logits =
        checkpoint_.matrix(Weight::classifier) *
        normalized(x_.row(row * columns_ + columns_ - 1), checkpoint_.vector(Weight::final_norm));
    return static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }

 private:
  /// Columns that are read at once. The results do not depend on it.
  static constexpr std::int64_t chunk = 64;

  static std::int64_t slots_of_a_text(const ModelOptions& options) {
    return options.window ? std::min(options.positions, *options.window + chunk)
                          : options.positions;
  }

  /// Sees to it that every text has positions and slots for its next tokens; returns for how many
  /// columns of the batch, from column `first` on.
  std::int64_t make_room(const Batch& batch, std::int64_t first) {
    std::int64_t count = std::min(chunk, batch.columns - first);
    for (const rope::SequenceId text : batch.texts) {
      if (options_.context_shift && index_.next_position(text) == sizes().positions) {
        const std::int64_t sinks = *options_.context_shift;
        const auto moves =
            index_.keep(text, {.sinks = sinks, .window = (sizes().positions - sinks) / 2});
        follow(moves);
      }
      if (options_.window) {
        index_.slide(text, *options_.window);
      }
      count = std::min(count,
                       std::max(std::int64_t{1}, sizes().positions - index_.next_position(text)));
    }
    return count;
  }

  /// Lets keys and values follow a change of slots. There are none as long as texts share nothing.
  void follow(const std::vector<rope::SlotMove>& moves) {
    for (std::size_t layer = 0; layer < keys_.size(); ++layer) {
      keys_[layer].follow(moves);
      for (const auto& [from, to] : moves) {
        values_[layer].row(to) = values_[layer].row(from);
      }
    }
  }

  /// What the tokens at hand need to know about each other and about those before, for all layers.
  struct Place {
    std::vector<std::int64_t> positions;  // [rows, columns]
    std::vector<std::int64_t> slots;      // [rows, columns], no_slot for padding
  };

  Place place(const Batch& batch, std::int64_t first) {
    std::vector<std::uint8_t> mask;
    for (std::int64_t row = 0; row < batch.rows(); ++row) {
      const auto begin = batch.mask.begin() + row * batch.columns + first;
      mask.insert(mask.end(), begin, begin + columns_);
    }
    Place result{rope::positions_from_mask(mask, {batch.rows(), columns_}),
                 std::vector<std::int64_t>(mask.size(), rope::no_slot)};
    for (std::int64_t row = 0; row < batch.rows(); ++row) {
      const auto begin = mask.begin() + row * columns_;
      const rope::Placement placed = index_.append(batch.texts[static_cast<std::size_t>(row)],
                                                   std::count(begin, begin + columns_, 1));
      std::size_t next = 0;
      for (auto i = static_cast<std::size_t>(row * columns_);
           i < static_cast<std::size_t>((row + 1) * columns_); ++i) {
        result.positions[i] += placed.first_position;
        if (mask[i] == 1) {
          result.slots[i] = placed.slots[next++];
        }
      }
    }
    return result;
  }

  void read_columns(const Batch& batch, std::int64_t first, std::int64_t count) {
    columns_ = count;
    const Place at = place(batch, first);
    const auto embedding = checkpoint_.matrix(Weight::token_embedding);
    x_.setZero(batch.rows() * columns_, sizes().dim);
    for (std::int64_t i = 0; i < x_.rows(); ++i) {
      const std::int64_t row = i / columns_;
      if (is_real(at, i)) {
        const std::int64_t column = first + i % columns_;
        x_.row(i) =
            embedding.row(batch.tokens[static_cast<std::size_t>(row * batch.columns + column)]);
      }
    }
    for (std::int64_t layer = 0; layer < sizes().layers; ++layer) {
      add_attention(layer, batch, at);
      for (std::int64_t i = 0; i < x_.rows(); ++i) {
        if (is_real(at, i)) {
          x_.row(i).transpose() += feed_forward(
              layer, normalized(x_.row(i), checkpoint_.vector(Weight::feed_forward_norm, layer)));
        }
      }
    }
  }

  static bool is_real(const Place& at, std::int64_t i) {
    return at.slots[static_cast<std::size_t>(i)] != rope::no_slot;
  }

  /// x / rms(x) * weight.
  Vector normalized(const Vector& x, const Eigen::Ref<const Vector>& weight) const {
    const float mean_square = x.squaredNorm() / static_cast<float>(sizes().dim);
    return x.cwiseProduct(weight) / std::sqrt(mean_square + 1e-5F);
  }

  void add_attention(std::int64_t layer, const Batch& batch, const Place& at) {
    const std::int64_t head_dim = sizes().head_dim();
    auto& keys = keys_[static_cast<std::size_t>(layer)];
    Matrix& values = values_[static_cast<std::size_t>(layer)];

    Matrix q = Matrix::Zero(x_.rows(), sizes().dim);
    Matrix k = Matrix::Zero(x_.rows(), sizes().kv_dim());
    for (std::int64_t i = 0; i < x_.rows(); ++i) {
      if (is_real(at, i)) {
        const Vector h = normalized(x_.row(i), checkpoint_.vector(Weight::attention_norm, layer));
        q.row(i).transpose() = checkpoint_.matrix(Weight::query, layer) * h;
        k.row(i).transpose() = checkpoint_.matrix(Weight::key, layer) * h;
        values.row(at.slots[static_cast<std::size_t>(i)]).transpose() =
            checkpoint_.matrix(Weight::value, layer) * h;
      }
    }
    rope::rotate(rope::bthd(q.data(), {batch.rows(), columns_, sizes().heads, head_dim}), table_,
                 rope::at(at.positions, {batch.rows(), columns_}), {.pairing = options_.pairing});
    // Keys are rotated on their way into their slots.
    keys.write(rope::bthd(k.data(), {batch.rows(), columns_, sizes().kv_heads, head_dim}), index_,
               at.slots, table_);

    for (std::int64_t row = 0; row < batch.rows(); ++row) {
      const rope::SequenceId text = batch.texts[static_cast<std::size_t>(row)];
      // After a context shift, keys are turned here to their new positions; else nothing happens.
      keys.materialise(index_, text, table_);
      const Seen seen = gather(keys, values, text);
      for (std::int64_t i = row * columns_; i < (row + 1) * columns_; ++i) {
        if (is_real(at, i)) {
          x_.row(i).transpose() +=
              checkpoint_.matrix(Weight::attention_output, layer) *
              attention(seen, at.positions[static_cast<std::size_t>(i)], q.row(i));
        }
      }
    }
  }

  /// One text's keys and values of a layer, by rising position: [tokens, kv_heads * head_dim].
  struct Seen {
    std::vector<std::int64_t> positions;
    Matrix keys;
    Matrix values;
  };

  Seen gather(const rope::KeyStore<Key>& keys, const Matrix& values, rope::SequenceId text) const {
    const std::int64_t tokens = index_.tokens(text);
    Seen seen{index_.positions(text), Matrix(tokens, sizes().kv_dim()),
              Matrix(tokens, sizes().kv_dim())};
    keys.read(index_, text, table_,
              rope::thd(seen.keys.data(), {tokens, sizes().kv_heads, sizes().head_dim()}));
    std::int64_t done = 0;
    for (const rope::SlotRun& run : index_.runs(text)) {
      seen.values.middleRows(done, run.count) = values.middleRows(run.first, run.count);
      done += run.count;
    }
    return seen;
  }

  /// What a query at `position` takes from what it may see: itself, and what is before it.
  Vector attention(const Seen& seen, std::int64_t position, const Vector& q) const {
    const auto entry = [&](std::int64_t from) {
      return std::lower_bound(seen.positions.begin(), seen.positions.end(), from) -
             seen.positions.begin();
    };
    const std::int64_t first = options_.window ? entry(position - *options_.window + 1) : 0;
    const std::int64_t count = entry(position + 1) - first;
    const std::int64_t head_dim = sizes().head_dim();
    const float scale = 1 / std::sqrt(static_cast<float>(head_dim));
    const std::int64_t heads_per_key = sizes().heads / sizes().kv_heads;
    Vector mixed(sizes().dim);
    for (std::int64_t head = 0; head < sizes().heads; ++head) {
      const std::int64_t column = head / heads_per_key * head_dim;
      const auto keys = seen.keys.block(first, column, count, head_dim);
      const auto values = seen.values.block(first, column, count, head_dim);
      const Vector scores = scale * (keys * q.segment(head * head_dim, head_dim));
      const Vector shares = (scores.array() - scores.maxCoeff()).exp();
      mixed.segment(head * head_dim, head_dim) = values.transpose() * shares / shares.sum();
    }
    return mixed;
  }

  Vector feed_forward(std::int64_t layer, const Vector& h) const {
    const Vector gate = checkpoint_.matrix(Weight::gate, layer) * h;
    const Vector up = checkpoint_.matrix(Weight::up, layer) * h;
    const Vector hidden = gate.array() / (1 + (-gate.array()).exp()) * up.array();
    return checkpoint_.matrix(Weight::down, layer) * hidden;
  }

  Checkpoint checkpoint_;
  ModelOptions options_;
  rope::CosSinTable<float> table_;
  rope::CacheIndex index_;                 // of all texts, for all layers
  std::vector<rope::KeyStore<Key>> keys_;  // of each layer
  std::vector<Matrix> values_;             // of each layer, [slots, kv_heads * head_dim]
  Matrix x_;  // the features of the tokens at hand, [rows * columns, dim]
  std::int64_t columns_ = 0;
};

}  // namespace tinystories
