// What has to be known of a model: its heads, and which part of each is rotated.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <rope/huggingface.hpp>
#include <string>

#include "failure.hpp"

namespace convert_weights {

/// Each from the command line, or else from config.json.
struct ModelOptions {
  std::optional<std::int64_t> heads;
  std::optional<std::int64_t> kv_heads;
  std::optional<std::int64_t> head_dim;
  std::optional<std::int64_t> rotary_dim;
  std::optional<std::int64_t> first_dim;
};

struct Model {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t rotary_dim = 0;
  std::int64_t first_dim = 0;
};

namespace model_detail {

using nlohmann::json;

/// A count that is there and not null; it must then be from 1 to a million.
inline std::optional<std::int64_t> count(const json& config, const char* key) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) {
    return std::nullopt;
  }
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() < 1 ||
      found->get<std::uint64_t>() > 1'000'000) {
    fail("config.json: ", key, " is ", found->dump(), ", which is not a sensible count");
  }
  return found->get<std::int64_t>();
}

/// What all layers that rotate have in common, as the library reads it from a config: a type of
/// model has defaults that its config need not repeat. Nothing if layers differ or none rotates.
inline std::optional<rope::LayerRope> common_rotation(const json& config) {
  const rope::ModelRope model = rope::model_rope(config);
  for (const rope::LayerRope& layer : model.layer_types) {
    const rope::LayerRope& first = model.layer_types.front();
    if (layer.head_dim != first.head_dim || layer.first_dim != first.first_dim ||
        layer.rotary_dim() != first.rotary_dim()) {
      return std::nullopt;
    }
  }
  if (model.layer_types.empty()) {
    return std::nullopt;
  }
  return model.layer_types.front();
}

}  // namespace model_detail

/// The parsed file, or an empty object for an empty path.
inline nlohmann::json read_config(const std::filesystem::path& path) {
  if (path.empty()) {
    return nlohmann::json::object();
  }
  // Reading one would throw something that does not name it.
  if (std::filesystem::is_directory(path)) {
    fail(path.string(), ": is a folder");
  }
  std::ifstream stream(path);
  nlohmann::json config = nlohmann::json::parse(stream, nullptr, false);
  if (!stream || !config.is_object()) {
    fail(path.string(), ": cannot be read as a JSON object");
  }
  return config;
}

/// Completes `options` by what a model's config.json says, which may be an empty object.
inline Model model_of(const ModelOptions& options, const nlohmann::json& whole_config) {
  namespace detail = model_detail;
  const auto text = whole_config.find("text_config");  // of a model that also sees or hears
  const bool nested = text != whole_config.end() && text->is_object();
  const nlohmann::json& config = nested ? *text : whole_config;

  const auto need = [](std::optional<std::int64_t> value, const char* what) {
    if (!value) {
      fail("the model's ", what, " is not known: no config.json says it for all layers");
    }
    return *value;
  };
  const auto or_else = [](std::optional<std::int64_t> value, std::optional<std::int64_t> other) {
    return value ? value : other;
  };
  Model model;
  model.heads = need(or_else(options.heads, detail::count(config, "num_attention_heads")),
                     "number of heads (--heads)");
  model.kv_heads =
      or_else(options.kv_heads, detail::count(config, "num_key_value_heads")).value_or(model.heads);
  std::optional<rope::LayerRope> rotation;
  if (!(options.head_dim && options.rotary_dim) && !whole_config.empty()) {
    rotation = detail::common_rotation(whole_config);
  }
  const auto from_config = [&](std::optional<std::int64_t> option, std::int64_t value) {
    return option || !rotation ? option : value;
  };
  model.head_dim = need(from_config(options.head_dim, rotation ? rotation->head_dim : 0),
                        "head size (--head-dim)");
  model.rotary_dim = need(from_config(options.rotary_dim, rotation ? rotation->rotary_dim() : 0),
                          "rotated part (--rotary-dim)");
  model.first_dim = options.first_dim.value_or(rotation ? rotation->first_dim : 0);
  if (model.rotary_dim < 2 || model.rotary_dim % 2 != 0 || model.rotary_dim > model.head_dim ||
      model.first_dim > model.head_dim - model.rotary_dim) {
    fail("the rotated part, ", model.rotary_dim, " features from ", model.first_dim,
         " on, is not an even number of features within a head of ", model.head_dim);
  }
  return model;
}

}  // namespace convert_weights
