// A model of the Llama 2 architecture in the checkpoint format of llama2.c.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "binary_file.hpp"

namespace tinystories {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXf;

/// The sizes of a model. Numbers of the file's header, in 64 bits.
struct Sizes {
  std::int64_t dim;
  std::int64_t hidden_dim;
  std::int64_t layers;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t vocabulary;
  std::int64_t positions;
  bool shared_classifier;

  std::int64_t head_dim() const { return dim / heads; }
  std::int64_t kv_dim() const { return kv_heads * head_dim(); }
};

/// The arrays of the file, in its order.
enum class Weight : std::size_t {
  token_embedding,
  attention_norm,
  query,
  key,
  value,
  attention_output,
  feed_forward_norm,
  gate,
  down,
  up,
  final_norm,
  obsolete_angles,  // cos and sin, which the rotation makes itself
  classifier,
  count,
};

namespace detail {

/// Saturates: a size that does not fit 64 bits is larger than any file.
inline std::int64_t product(std::initializer_list<std::int64_t> factors) {
  std::int64_t result = 1;
  for (const std::int64_t factor : factors) {
    if (__builtin_mul_overflow(result, factor, &result)) {
      return std::numeric_limits<std::int64_t>::max();
    }
  }
  return result;
}

inline std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? std::numeric_limits<std::int64_t>::max() : result;
}

}  // namespace detail

/// The sizes and weights of a model. Each weight matrix is row-major, y = W x.
class Checkpoint {
 public:
  /// Reads the file at `path`. Throws std::runtime_error if it is not a whole checkpoint and
  /// nothing else; the weights' memory is only taken once the file is known to have them.
  explicit Checkpoint(const std::string& path) {
    BinaryFile file(path);
    read_sizes(file);
    const std::int64_t floats = place_weights();
    const std::int64_t expected =
        detail::sum(header_bytes, detail::product({floats, sizeof(float)}));
    if (file.size() != expected) {
      file.fail(file.size() < expected ? "truncated or no model: " : "too long: ", file.size(),
                " bytes, but its header (", header(), ") needs ",
                expected == std::numeric_limits<std::int64_t>::max() ? "2^63 or more"
                                                                     : text_of(expected));
    }
    values_.resize(static_cast<std::size_t>(floats));
    file.read(values_.data(), floats, "the weights");
  }

  const Sizes& sizes() const { return sizes_; }

  /// One layer's matrix of a kind; layer 0 for those that exist once.
  Eigen::Map<const Matrix> matrix(Weight weight, std::int64_t layer = 0) const {
    const Place& at = place(weight);
    return {values_.data() + at.offset + layer * at.rows * at.columns, at.rows, at.columns};
  }
  Eigen::Map<Matrix> matrix(Weight weight, std::int64_t layer = 0) {
    const Place& at = place(weight);
    return {values_.data() + at.offset + layer * at.rows * at.columns, at.rows, at.columns};
  }

  /// One layer's vector of a kind.
  Eigen::Map<const Vector> vector(Weight weight, std::int64_t layer = 0) const {
    const Place& at = place(weight);
    return {values_.data() + at.offset + layer * at.columns, at.columns};
  }

 private:
  static constexpr std::int64_t header_bytes = 7 * sizeof(std::int32_t);

  struct Place {
    std::int64_t layers;
    std::int64_t rows;
    std::int64_t columns;
    std::int64_t offset = 0;
  };

  const Place& place(Weight weight) const { return places_[static_cast<std::size_t>(weight)]; }

  void read_sizes(BinaryFile& file) {
    std::array<std::int32_t, 7> numbers{};
    file.read(numbers.data(), 7, "the header");
    // Negative: the classifier is an array of its own.
    const std::int64_t vocabulary = numbers[5];
    sizes_ = {.dim = numbers[0],
              .hidden_dim = numbers[1],
              .layers = numbers[2],
              .heads = numbers[3],
              .kv_heads = numbers[4],
              .vocabulary = vocabulary < 0 ? -vocabulary : vocabulary,
              .positions = numbers[6],
              .shared_classifier = vocabulary > 0};
    for (const auto& [name, number] : {std::pair{"dim", sizes_.dim},
                                       {"hidden_dim", sizes_.hidden_dim},
                                       {"n_layers", sizes_.layers},
                                       {"n_heads", sizes_.heads},
                                       {"n_kv_heads", sizes_.kv_heads},
                                       {"vocab_size", sizes_.vocabulary},
                                       {"seq_len", sizes_.positions}}) {
      if (number <= 0) {
        file.fail("no model: ", name, " in its header is ", number);
      }
    }
    if (sizes_.dim % sizes_.heads != 0) {
      file.fail("no model: dim ", sizes_.dim, " is no multiple of n_heads ", sizes_.heads);
    }
    if (sizes_.heads % sizes_.kv_heads != 0) {
      file.fail("no model: n_heads ", sizes_.heads, " is no multiple of n_kv_heads ",
                sizes_.kv_heads);
    }
    if (sizes_.head_dim() % 2 != 0) {
      file.fail("no model: dim ", sizes_.dim, " / n_heads ", sizes_.heads, " = ", sizes_.head_dim(),
                " is odd, so that its features make no pairs");
    }
  }

  /// Finds where each array starts; returns how many floats there are.
  std::int64_t place_weights() {
    const auto& [dim, hidden, layers, heads, kv_heads, vocabulary, positions, shared] = sizes_;
    const std::int64_t kv = sizes_.kv_dim();
    places_ = {{
        {1, vocabulary, dim},
        {layers, 1, dim},
        {layers, dim, dim},
        {layers, kv, dim},
        {layers, kv, dim},
        {layers, dim, dim},
        {layers, 1, dim},
        {layers, hidden, dim},
        {layers, dim, hidden},
        {layers, hidden, dim},
        {1, 1, dim},
        {1, positions, sizes_.head_dim()},
        {shared ? 0 : 1, vocabulary, dim},
    }};
    std::int64_t floats = 0;
    for (Place& at : places_) {
      at.offset = floats;
      floats = detail::sum(floats, detail::product({at.layers, at.rows, at.columns}));
    }
    if (shared) {
      places_.back() = places_.front();
    }
    return floats;
  }

  std::string header() const {
    return text_of("dim ", sizes_.dim, ", hidden_dim ", sizes_.hidden_dim, ", n_layers ",
                   sizes_.layers, ", n_heads ", sizes_.heads, ", n_kv_heads ", sizes_.kv_heads,
                   ", vocab_size ", sizes_.shared_classifier ? "" : "-", sizes_.vocabulary,
                   ", seq_len ", sizes_.positions);
  }

  Sizes sizes_{};
  std::array<Place, static_cast<std::size_t>(Weight::count)> places_{};
  std::vector<float> values_;
};

/// Reorders the rows of the query and key matrices so that the features of a pair, neighbours in
/// the file, are half a head apart: rows 0 2 4 6 1 3 5 7 of each head of 8. Rotated with
/// rope::Pairing::half_split, the model then computes the same as before, since both sides of every
/// score are reordered alike.
inline void reorder_to_half_split(Checkpoint& checkpoint) {
  const std::int64_t head_dim = checkpoint.sizes().head_dim();
  const std::int64_t half = head_dim / 2;
  for (const Weight weight : {Weight::query, Weight::key}) {
    for (std::int64_t layer = 0; layer < checkpoint.sizes().layers; ++layer) {
      auto matrix = checkpoint.matrix(weight, layer);
      for (std::int64_t first = 0; first < matrix.rows(); first += head_dim) {
        const Matrix head = matrix.middleRows(first, head_dim);
        for (std::int64_t i = 0; i < half; ++i) {
          matrix.row(first + i) = head.row(2 * i);
          matrix.row(first + half + i) = head.row(2 * i + 1);
        }
      }
    }
  }
}

}  // namespace tinystories
