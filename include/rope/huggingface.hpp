#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rope/detail/unit.hpp"
#include "rope/huggingface/axis_map.hpp"
#include "rope/huggingface/config_keys.hpp"
#include "rope/huggingface/layer_map.hpp"
#include "rope/huggingface/layer_types.hpp"
#include "rope/huggingface/model_types.hpp"
#include "rope/huggingface/options.hpp"
#include "rope/huggingface/result.hpp"
#include "rope/huggingface/scheme.hpp"
#include "rope/huggingface/text.hpp"

// A model's config.json straight to its rotation. The only header of rope that needs nlohmann/json,
// whose functions all units of a program share however each of them is compiled.

namespace rope {
namespace detail::huggingface::inline ROPE_DETAIL_UNIT {

/// The object that is about text: the config itself, or one inside it.
struct TextPart {
  const Json* object;
  std::string prefix;
  std::string outer_type;
};

inline TextPart text_part(const Json& config, std::vector<std::string>& warnings) {
  TextPart part = {&config, {}, {}};
  const Keys top(config, {});
  const char* const own = part_of_type(top.has("model_type") ? *top.text("model_type") : "");
  for (const char* const name : {own, "thinker_config", "text_config"}) {
    if (name == nullptr) continue;
    const Keys keys(*part.object, part.prefix);
    const Json* const inner = keys.dictionary(name);
    if (inner == nullptr) continue;
    if (const auto type = keys.text("model_type")) part.outer_type = *type;
    const Keys inner_keys(*inner, keys.name(name) + ".");
    for (const char* const key :
         {"rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor"}) {
      const Json* const here = keys.find(key);
      const Json* const there = inner_keys.find(key);
      if (here == nullptr) continue;
      if (there != nullptr && !is_same(*here, *there)) {
        refuse(keys.name(key) + " contradicts " + inner_keys.name(key));
      }
      if (there == nullptr) {
        warnings.push_back(keys.name(key) + " is not read: it stands beside " + keys.name(name));
      }
    }
    part = {inner, keys.name(name) + ".", part.outer_type};
  }
  return part;
}

inline const ModelType& type_of(const Keys& keys, const std::string& outer_type,
                                const ModelOptions& options) {
  std::string name = keys.text("model_type").value_or("");
  // A wrapper's name says what its part for text is, if the wrapper is a known one.
  if (name.empty() && find_model_type(outer_type) != nullptr) name = outer_type;
  if (name.empty()) name = options.model_type_if_missing;
  if (name.empty()) refuse(keys.name("model_type") + " is missing");
  const ModelType* const type = find_model_type(name);
  if (type == nullptr) {
    refuse(keys.name("model_type") + " \"" + printable(name) + "\" is not known");
  }
  return *type;
}

/// Why a model has no rotation at all; empty if it has.
inline std::string reason_for_none(const Config& config) {
  const Keys& keys = config.keys;
  switch (config.type.quirk) {
    case Quirk::alibi:
      return keys.flag("alibi").value_or(false) ? "alibi is true" : "";
    case Quirk::use_mem_rope:
      if (keys.flag("use_long_context").value_or(false)) {
        refuse(keys.name("use_long_context") + " of zamba2 is not supported");
      }
      return keys.flag("use_mem_rope").value_or(false) ? "" : "use_mem_rope is not true";
    case Quirk::position_embedding_type:
      return keys.text("position_embedding_type").value_or("") == "rope"
                 ? ""
                 : "position_embedding_type is not \"rope\"";
    case Quirk::null_means_none:
      return keys.is_null("rope_parameters") ? "rope_parameters is null" : "";
    default:
      return "";
  }
}

/// Llama 4: the layers without rotation have a query scale instead.
inline std::optional<QueryScale> llama4_query_scale(const Config& config) {
  const Keys& keys = config.keys;
  if (config.type.name != "llama4_text" || !keys.flag("attn_temperature_tuning").value_or(true)) {
    return std::nullopt;
  }
  return QueryScale{.beta = not_negative(keys, "attn_scale").value_or(0.1),
                    .period = keys.integer("floor_scale", 1, largest_position_count).value_or(8192),
                    .offset = 1};
}

/// Keys about rotation that this type, unlike others, does not read.
inline void warn_of_other_types_keys(const Config& config) {
  const ModelType& type = config.type;
  const auto warn = [&](const char* key, bool is_read_here) {
    if (!is_read_here && config.keys.has(key)) {
      config.warn(config.keys.name(key) + " is not read by " + std::string(type.name));
    }
  };
  const auto is_theta_key = [&](std::string_view key) {
    return (type.first.theta_key != nullptr && key == type.first.theta_key) ||
           (type.second.theta_key != nullptr && !type.second.layer.empty() &&
            key == type.second.theta_key);
  };
  for (const char* const key : {"rope_theta", "rope_local_base_freq", "global_rope_theta",
                                "local_rope_theta", "compress_rope_theta"}) {
    warn(key, is_theta_key(key));
  }
  const bool is_neox = is_one_of(type.name, {"gpt_neox", "gpt_neox_japanese"});
  warn("rotary_pct", is_neox);
  warn("rotary_emb_base", is_neox || is_one_of(type.name, {"nomic_bert", "jina_embeddings_v3"}));
  warn("rotary_dim", type.quirk == Quirk::gptj);
  warn("rope_interleave", type.order == Order::interleaved_to_halves);
  warn("alibi", type.quirk == Quirk::alibi);
  warn("layer_rope_theta", type.rotated == Rotated::layer_rope_theta);
  warn("no_rope_layers", type.rotated == Rotated::no_rope_layers);
  for (const char* const key : {"rope_ratio", "rope_pct", "rope_percent", "rotary_emb_fraction",
                                "swa_rope_theta", "rope_local_theta", "rope_freq_constant"}) {
    warn(key, false);
  }
}

/// Step 3.5 may have a list where others have a number; null where it has none.
inline const Json* theta_list(const Keys& keys, const ModelType& type) {
  const Json* const theta = keys.find("rope_theta");
  return type.quirk == Quirk::lists_by_layer && theta != nullptr && theta->is_array() ? theta
                                                                                      : nullptr;
}

inline ModelRope read_model(const Json& json, const ModelOptions& options) {
  ModelRope model;
  if (!json.is_object()) refuse_text("a config must be an object");
  const TextPart part = text_part(json, model.warnings);
  const Keys keys(*part.object, part.prefix);
  const ModelType& type = type_of(keys, part.outer_type, options);
  model.model_type = type.name;
  model.max_positions =
      first_integer(keys, {"max_position_embeddings", "n_positions"}, largest_position_count);

  // A list of bases is set aside, and one of them stands for all until the layers are sorted.
  Json without_list;
  const Json* const thetas = theta_list(keys, type);
  if (thetas != nullptr) {
    if (thetas->empty()) refuse(keys.name("rope_theta") + " is an empty list");
    without_list = Json::object();
    for (const auto& item : keys.object().items()) {
      if (!item.value().is_structured()) without_list[item.key()] = item.value();
    }
    for (const char* const key : {"rope_scaling", "rope_parameters"}) {
      if (keys.has(key)) refuse(keys.name(key) + " beside a list rope_theta is not understood");
    }
    without_list["rope_theta"] = Keys::number_of(thetas->front(), keys.name("rope_theta[0]"));
  }
  const Config config = {type, Keys(thetas != nullptr ? without_list : keys.object(), part.prefix),
                         options, model.max_positions, model.warnings};

  if (const std::string reason = reason_for_none(config); !reason.empty()) {
    model.layers.assign(static_cast<std::size_t>(layer_count(config).value_or(0)),
                        ModelRope::no_rope);
    config.warn("no layer rotates: " + reason);
    return model;
  }
  model.layer_types = read_layer_types(config);
  map_layers(config, model);
  if (type.quirk == Quirk::lists_by_layer) {
    const Config whole = {type, keys, options, model.max_positions, model.warnings};
    if (thetas != nullptr) list_by_layer(whole, "rope_theta", layer_count(whole).value_or(0));
    apply_lists_by_layer(whole, thetas, model);
  }
  model.query_scale_without_rope = llama4_query_scale(config);
  warn_of_other_types_keys(config);
  return model;
}

}  // namespace detail::huggingface::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// What a Hugging Face config says about a model's rotary embedding: for each layer type the
/// pairing, the place and number of the rotated features, and the frequencies.
///
/// Reads the keys of all generations (rope_theta, rope_scaling with type or rope_type,
/// rope_parameters flat or by layer type), looks into text_config, and has the defaults of the
/// model types of transformers 5.16, which often are not those of Llama. What is missing and has a
/// default is taken and noted in `warnings`; nothing else is guessed. Throws ParseError for a key
/// of the wrong type, InvalidArgument for a value that cannot be right, for keys that contradict
/// each other, and for a scheme or model type that is not known; each names the key. O(size of the
/// config).
///
/// Source: Hugging Face transformers 5.16 and, for Dialect::transformers4, 4.56.
template <std::same_as<nlohmann::json> J>
ModelRope model_rope(const J& config, const ModelOptions& options = {}) {
  return detail::huggingface::read_model(config, options);
}

/// The same from a file. Throws ParseError also for a file that cannot be read, is not JSON, is
/// above 16 MiB or nested more than 64 deep, or has a key twice.
inline ModelRope model_rope(const std::filesystem::path& file, const ModelOptions& options = {}) {
  return detail::huggingface::read_model(detail::huggingface::read_config(file), options);
}

/// The same from the text of a file.
inline ModelRope model_rope_from_text(std::string_view text, const ModelOptions& options = {}) {
  return detail::huggingface::read_model(detail::huggingface::parse_config(text), options);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
