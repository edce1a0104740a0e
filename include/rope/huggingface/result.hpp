#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/frequencies.hpp"
#include "rope/pairing.hpp"
#include "rope/parameters.hpp"
#include "rope/query_scale.hpp"

// What model_rope() returns.

namespace rope {

/// How the pairs of a head are shared out among the position axes of images and video.
enum class SectionLayout : unsigned char {
  /// One axis, which is that of text.
  none,
  /// The first sections[0] pairs follow axis 0, the next sections[1] axis 1, and so on: Qwen2-VL.
  blocks,
  /// Pair i follows axis 1 if i mod 3 is 1 and i < 3 * sections[1], axis 2 if i mod 3 is 2 and i <
  /// 3 * sections[2], else axis 0: Qwen3-VL.
  interleaved,
  /// Sections are height, width, time; of the pairs before the time's, the even ones follow height
  /// and the odd ones width: ERNIE 4.5 VL.
  height_width_time,
};

/// The rotation of one layer type of a model.
struct LayerRope {
  /// The config's name for the layer type ("full_attention"); empty if all layers are alike.
  std::string name = {};
  /// Which features the model reads as pairs. Weights must be in the order of their config.
  required<Pairing> pairing;
  /// In which order the original writes the two features of its pairs. It differs from `pairing` in
  /// the DeepSeek-V3 family, which reads features 2i and 2i + 1 and writes them to i and i + d / 2.
  /// Scores are the same either way, as q and k are written alike; it only matters for a cache of
  /// keys that another program shares.
  required<Pairing> output_order;
  /// Features of a whole head of q or k.
  std::int64_t head_dim = 0;
  /// Where the rotated features begin, the `first_dim` of rotate(). In models with latent attention
  /// (DeepSeek) that is behind the plain features of the head; if you hold the rotated features as
  /// a tensor of their own, it is 0 in that tensor.
  std::int64_t first_dim = 0;
  /// How many features are rotated, the base, and the scheme.
  Parameters parameters;
  /// The model turns the other way (nanochat): frequencies() are negative.
  bool is_backwards = false;
  /// Multiply the softmax scale by this (DeepSeek's mscale_all_dim); not part of cos and sin.
  double softmax_scale_multiplier = 1;
  /// Multiply the queries by this scale of their position (Ministral 3, Mistral 4).
  std::optional<QueryScale> query_scale = std::nullopt;
  /// For images and video: how many pairs follow each position axis. For text, whose positions are
  /// the same on all axes, it makes no difference. Empty if there are none.
  std::vector<std::int64_t> sections = {};
  SectionLayout section_layout = SectionLayout::none;

  /// Features that are rotated: 2 * pairs. For Gemma 4's proportional scheme the whole head, of
  /// which most pairs have frequency 0.
  ROPE_DETAIL_FORWARD std::int64_t rotary_dim() const { return parameters.rotary_dim.value(); }

  /// As rope::frequencies(parameters): without a length, what the model has up to the length it was
  /// trained for.
  ROPE_DETAIL_FORWARD Frequencies frequencies() const;
  /// As rope::frequencies(parameters, sequence_length). transformers keeps the length of DynamicNtk
  /// between calls: see next_length().
  ROPE_DETAIL_FORWARD Frequencies frequencies(Extent sequence_length) const;
};

/// What a model's config.json says about its rotary embedding.
struct ModelRope {
  /// An entry of `layers` for a layer that does not rotate.
  static constexpr int no_rope = -1;

  /// The type whose rules were used: that of text_config, if there is one.
  std::string model_type = {};
  /// max_position_embeddings, if it is there.
  std::optional<std::int64_t> max_positions = std::nullopt;
  /// One for each layer type; empty if the model has no rotary embedding.
  std::vector<LayerRope> layer_types = {};
  /// For each layer of the model an index into layer_types, or no_rope. Empty if the config does
  /// not say how many layers there are, or which is of which type.
  std::vector<int> layers = {};
  /// For the queries of layers that do not rotate (Llama 4).
  std::optional<QueryScale> query_scale_without_rope = std::nullopt;
  /// What the original accepts without a word, and whoever loads the model should know.
  std::vector<std::string> warnings = {};

  /// The layer type of this name. Throws InvalidArgument if there is none.
  ROPE_DETAIL_FORWARD const LayerRope& layer_type(std::string_view name) const;
  /// The rotation of the only layer type. Throws InvalidArgument if there is not exactly one.
  ROPE_DETAIL_FORWARD const LayerRope& only() const;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Frequencies layer_frequencies(const LayerRope& layer, std::optional<Extent> length) {
  Frequencies plain =
      length ? rope::frequencies(layer.parameters, *length) : rope::frequencies(layer.parameters);
  if (!layer.is_backwards) return plain;
  std::vector<double> values(plain.values().begin(), plain.values().end());
  for (double& value : values) value = -value;
  return Frequencies(std::move(values), {1, 1, plain.pairs()}, plain.magnitude());
}

inline const LayerRope& find_layer_type(const ModelRope& model, std::string_view name) {
  for (const LayerRope& layer : model.layer_types) {
    if (layer.name == name) return layer;
  }
  raise(failure(ErrorKind::invalid_argument, "rope::ModelRope::layer_type: %s has no \"%.60s\"",
                model.model_type.c_str(), std::string(name).c_str()));
}

inline const LayerRope& only_layer_type(const ModelRope& model) {
  if (model.layer_types.size() != 1) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument,
                  "rope::ModelRope::only: %s has %zu rotations, by layer type",
                  model.model_type.c_str(), model.layer_types.size()));
  }
  return model.layer_types.front();
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline Frequencies LayerRope::frequencies() const {
  return detail::layer_frequencies(*this, std::nullopt);
}
inline Frequencies LayerRope::frequencies(Extent sequence_length) const {
  return detail::layer_frequencies(*this, sequence_length);
}
inline const LayerRope& ModelRope::layer_type(std::string_view name) const {
  return detail::find_layer_type(*this, name);
}
inline const LayerRope& ModelRope::only() const { return detail::only_layer_type(*this); }

}  // namespace rope
