#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rope/detail/unit.hpp"
#include "rope/huggingface/config_keys.hpp"
#include "rope/huggingface/layer.hpp"
#include "rope/huggingface/layer_types.hpp"
#include "rope/huggingface/model_types.hpp"
#include "rope/huggingface/result.hpp"
#include "rope/huggingface/scheme.hpp"

// Which layer of a model rotates, and how.

namespace rope::detail::huggingface::inline ROPE_DETAIL_UNIT {

inline std::optional<std::int64_t> layer_count(const Config& config) {
  if (const auto given =
          first_integer(config.keys, {"num_hidden_layers", "n_layer", "n_layers"}, most_layers)) {
    return given;
  }
  const Json* const list = config.keys.list("layer_types", static_cast<std::size_t>(most_layers));
  if (list == nullptr || list->empty()) return std::nullopt;
  return static_cast<std::int64_t>(list->size());
}

/// A list with one value for each layer; null if the config has none.
inline const Json* list_by_layer(const Config& config, const char* key, std::int64_t count) {
  const Json* const list = config.keys.list(key, static_cast<std::size_t>(most_layers));
  if (list == nullptr || list->empty()) return nullptr;
  if (list->size() < static_cast<std::size_t>(count)) {
    refuse(config.keys.name(key) + " has " + std::to_string(list->size()) +
           " values, but there are " + std::to_string(count) + " layers");
  }
  return list;
}

inline std::string default_label(const Config& config, std::int64_t layer, std::int64_t count) {
  const ModelType& type = config.type;
  const std::string full = "full_attention";
  const std::string sliding = "sliding_attention";
  if (is_one_of(type.name, {"modernbert", "modernbert-decoder"})) {
    const std::int64_t every =
        config.keys.integer("global_attn_every_n_layers", 1, most_layers).value_or(3);
    return layer % every == 0 ? full : sliding;
  }
  if (type.name == "mimo_v2_flash") {
    return layer == 0 || (layer + 1) % 6 == 0 ? full : sliding;
  }
  if (type.name == "olmo_hybrid") return layer % 4 == 3 ? full : "linear_attention";
  if (is_one_of(type.name, {"qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"})) {
    const std::int64_t every =
        config.keys.integer("full_attention_interval", 1, most_layers).value_or(4);
    return (layer + 1) % every == 0 ? full : "linear_attention";
  }
  if (type.name == "minimax") return layer % 2 == 0 ? full : "linear_attention";
  if (type.name == "recurrent_gemma") return layer % 3 == 2 ? full : "recurrent";
  if (type.split == Split::deepseek_v4) {
    const Json* const ratios = list_by_layer(config, "compress_ratios", count);
    if (ratios == nullptr) return "compress";
    const double ratio =
        Keys::number_of((*ratios)[static_cast<std::size_t>(layer)],
                        config.keys.name("compress_ratios[" + std::to_string(layer) + "]"));
    return ratio == 0 ? sliding : "compress";
  }
  if (type.full_every == 0) return {};
  const char* const key =
      type.name == "afmoe" ? "global_attn_every_n_layers" : "sliding_window_pattern";
  const Json* const pattern = config.keys.find(key);
  // ExaOne 4 has it as text, such as "LLLG".
  if (pattern != nullptr && pattern->is_string()) {
    const auto text = config.keys.text(key).value_or("");
    if (text.empty() || text.find_first_not_of("LG") != std::string::npos) {
      refuse(config.keys.name(key) + " \"" + printable(text) + "\" must be letters L and G");
    }
    return text[static_cast<std::size_t>(layer) % text.size()] == 'G' || layer == count - 1
               ? full
               : sliding;
  }
  const std::int64_t every = config.keys.integer(key, 1, most_layers).value_or(type.full_every);
  const bool is_last = type.quirk == Quirk::global_head_dim && layer == count - 1;
  return is_last || (layer + 1) % every == 0 ? full : sliding;
}

/// Where a list counts the layers that have attention at all: whether each has. Empty without one.
inline std::vector<bool> layers_with_attention(const Config& config, std::int64_t count) {
  std::vector<bool> has_attention;
  for (const char* const key : {"attn_layer_indices", "full_attn_idxs"}) {
    const Json* const list = config.keys.list(key, static_cast<std::size_t>(most_layers));
    if (list == nullptr) continue;
    has_attention.assign(static_cast<std::size_t>(count), false);
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::string name = config.keys.name(std::string(key) + "[" + std::to_string(i) + "]");
      const double layer = Keys::number_of((*list)[i], name);
      if (!(layer >= 0 && layer < static_cast<double>(count))) {
        refuse(name + " is " + shown(layer) + ", but there are " + std::to_string(count) +
               " layers");
      }
      has_attention[static_cast<std::size_t>(layer)] = true;
    }
    break;
  }
  return has_attention;
}

/// The config's names of its layers' types; empty ones where it does not say.
inline std::vector<std::string> layer_labels(const Config& config, std::int64_t count) {
  std::vector<std::string> labels;
  const char* key = "layer_types";
  // The older name, of models that mix attention with other layers.
  if (!config.keys.has(key) && config.keys.has("layers_block_type")) key = "layers_block_type";
  const Json* const list = list_by_layer(config, key, count);
  const std::vector<bool> attention =
      list == nullptr ? layers_with_attention(config, count) : std::vector<bool>();
  for (std::int64_t i = 0; i < count; ++i) {
    if (list == nullptr) {
      const bool has_none = !attention.empty() && !attention[static_cast<std::size_t>(i)];
      labels.push_back(has_none ? "linear_attention" : default_label(config, i, count));
      continue;
    }
    const Json& item = (*list)[static_cast<std::size_t>(i)];
    const std::string name = config.keys.name(std::string(key) + "[" + std::to_string(i) + "]");
    if (!item.is_string()) Keys::refuse_type(name, "a string", item);
    labels.push_back(item.get_ref<const std::string&>());
  }
  return labels;
}

inline bool is_without_attention(std::string_view label) {
  return is_one_of(label, {"linear_attention", "mamba", "mamba2", "recurrent", "conv", "moe"});
}

/// The layer type of a label.
inline int layer_type_of(const Config& config, const std::vector<LayerRope>& layers,
                         const std::string& label) {
  if (is_without_attention(label)) return ModelRope::no_rope;
  if (layers.size() == 1 && layers.front().name.empty()) return 0;
  std::string name = label;
  if (config.type.split == Split::deepseek_v4 && name != "main" && name != "compress") {
    name = label == "sliding_attention" ? "main" : "compress";
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].name == name) return static_cast<int>(i);
  }
  // A null in the nested dictionary, or no word at all.
  const Source source = source_of(config);
  if (source.dictionary != nullptr && Keys(*source.dictionary, {}).is_null(name.c_str())) {
    return ModelRope::no_rope;
  }
  refuse(config.keys.name("layer_types") + " has \"" + printable(label) +
         "\", for which there is no rotation");
}

inline bool rotates_everywhere(const Config& config) {
  return is_one_of(config.type.name, {"exaone4", "exaone_moe"}) &&
         config.keys.is_null("sliding_window");
}

/// Llama 4 and SmolLM3: 1 for a layer that rotates, in spite of the key's name.
inline void apply_no_rope_layers(const Config& config, std::vector<int>& map) {
  const auto count = static_cast<std::int64_t>(map.size());
  const std::int64_t interval =
      config.keys.integer("no_rope_layer_interval", 1, most_layers).value_or(4);
  const Json* const list = list_by_layer(config, "no_rope_layers", count);
  for (std::int64_t i = 0; i < count; ++i) {
    bool rotates = (i + 1) % interval != 0;
    if (list != nullptr) {
      const Json& item = (*list)[static_cast<std::size_t>(i)];
      const std::string name = config.keys.name("no_rope_layers[" + std::to_string(i) + "]");
      rotates = item.is_boolean() ? item.get<bool>() : Keys::number_of(item, name) != 0;
    }
    if (!rotates) map[static_cast<std::size_t>(i)] = ModelRope::no_rope;
  }
}

/// A layer type for each pair of base and rotated share that layers have: `base` is what they have
/// in common.
class LayersByValue {
 public:
  LayersByValue(const Config& config, LayerRope base) : config_(config), base_(std::move(base)) {}

  void add(double theta, std::int64_t rotary_dim, const std::string& theta_name) {
    if (theta == 0) {
      map.push_back(ModelRope::no_rope);
      return;
    }
    if (!(theta > 1)) refuse(theta_name + " must be 0 or above 1, got " + shown(theta));
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const Parameters& other = layers[i].parameters;
      if (other.base == theta && other.rotary_dim.value() == rotary_dim) {
        map.push_back(static_cast<int>(i));
        return;
      }
    }
    if (layers.size() == most_layer_types) {
      refuse(config_.keys.name("layers") + " have more than " + std::to_string(most_layer_types) +
             " different rotations");
    }
    LayerRope layer = base_;
    layer.name = "base " + shown(theta) + ", " + std::to_string(rotary_dim) + " features";
    layer.parameters.base = theta;
    layer.parameters.rotary_dim = rotary_dim;
    require(check_parameters("rope::model_rope", layer.parameters, std::nullopt));
    map.push_back(static_cast<int>(layers.size()));
    layers.push_back(std::move(layer));
  }

  std::vector<LayerRope> layers;
  std::vector<int> map;

 private:
  const Config& config_;
  LayerRope base_;
};

/// Granite with sliding windows, Muse Glimmer: layer_rope_theta.
inline void apply_layer_rope_theta(const Config& config, ModelRope& model) {
  const auto count = static_cast<std::int64_t>(model.layers.size());
  const Json* const list = list_by_layer(config, "layer_rope_theta", count);
  if (list == nullptr) {
    if (config.type.name == "muse_glimmer_text") {
      for (std::int64_t i = 0; i < count; ++i) {
        if ((count - 1 - i) % 4 == 0)
          model.layers[static_cast<std::size_t>(i)] = ModelRope::no_rope;
      }
    }
    return;
  }
  LayersByValue by_value(config, model.layer_types.front());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string name = config.keys.name("layer_rope_theta[" + std::to_string(i) + "]");
    by_value.add(Keys::number_of((*list)[static_cast<std::size_t>(i)], name),
                 model.layer_types.front().rotary_dim(), name);
  }
  model.layer_types = std::move(by_value.layers);
  model.layers = std::move(by_value.map);
}

/// Step 3.5: rope_theta and partial_rotary_factors may be lists.
inline void apply_lists_by_layer(const Config& config, const Json* thetas, ModelRope& model) {
  const auto count = static_cast<std::int64_t>(model.layers.size());
  const Json* const partials = list_by_layer(config, "partial_rotary_factors", count);
  if (thetas == nullptr && partials == nullptr) return;
  if (count == 0) refuse(config.keys.name("num_hidden_layers") + " is missing");
  const LayerRope& base = model.layer_types.front();
  LayersByValue by_value(config, base);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::string index = "[" + std::to_string(i) + "]";
    const std::string theta_name = config.keys.name("rope_theta" + index);
    const std::string partial_name = config.keys.name("partial_rotary_factors" + index);
    const double theta = thetas != nullptr ? Keys::number_of((*thetas)[at], theta_name)
                                           : static_cast<double>(base.parameters.base);
    std::int64_t rotary_dim = base.rotary_dim();
    if (partials != nullptr) {
      const double partial = Keys::number_of((*partials)[at], partial_name);
      if (!(partial > 0 && partial <= 1)) {
        refuse(partial_name + " must be above 0 and at most 1, got " + shown(partial));
      }
      rotary_dim = static_cast<std::int64_t>(static_cast<double>(base.head_dim) * partial);
      check_even(rotary_dim, {base.head_dim, 0, base.head_dim}, {partial, true, partial_name});
    }
    by_value.add(theta, rotary_dim, theta_name);
  }
  model.layer_types = std::move(by_value.layers);
  model.layers = std::move(by_value.map);
}

/// Fills in `layers`. The layer types must be there.
inline void map_layers(const Config& config, ModelRope& model) {
  const auto count = layer_count(config);
  if (!count) return;
  const std::vector<std::string> labels = layer_labels(config, *count);
  const bool needs_labels =
      (model.layer_types.size() > 1 || config.type.rotated == Rotated::sliding_only) &&
      !rotates_everywhere(config);
  if (needs_labels && std::find(labels.begin(), labels.end(), std::string()) != labels.end()) {
    config.warn("layer_types is missing: which layers rotate how is not known");
    return;
  }
  for (const std::string& label : labels) {
    const bool is_plain = config.type.rotated == Rotated::sliding_only &&
                          label == "full_attention" && !rotates_everywhere(config);
    model.layers.push_back(is_plain ? ModelRope::no_rope
                                    : layer_type_of(config, model.layer_types, label));
  }
  if (config.type.rotated == Rotated::no_rope_layers) apply_no_rope_layers(config, model.layers);
  if (config.type.rotated == Rotated::layer_rope_theta) apply_layer_rope_theta(config, model);
}

}  // namespace rope::detail::huggingface::inline ROPE_DETAIL_UNIT
