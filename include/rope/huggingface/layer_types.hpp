#pragma once

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
#include "rope/huggingface/model_types.hpp"
#include "rope/huggingface/result.hpp"
#include "rope/huggingface/scheme.hpp"

// From one config to the rotations of its layer types, and to which layer has which.

namespace rope::detail::huggingface::inline ROPE_DETAIL_UNIT {

inline constexpr std::int64_t most_layers = std::int64_t{1} << 16;
inline constexpr std::size_t most_layer_types = 64;

/// Whether two JSON values of a bounded depth are the same; deeper ones are not.
inline bool is_same(const Json& a, const Json& b, int depth = 8) {
  if (!a.is_structured() || !b.is_structured()) return a == b;
  if (depth == 0 || a.type() != b.type() || a.size() != b.size()) return false;
  if (a.is_array()) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!is_same(a[i], b[i], depth - 1)) return false;
    }
    return true;
  }
  for (const auto& item : a.items()) {
    const auto other = b.find(item.key());
    if (other == b.end() || !is_same(item.value(), *other, depth - 1)) return false;
  }
  return true;
}

/// The config's dictionary of the scheme, and its key; null if it has none.
struct Source {
  const Json* dictionary = nullptr;
  const char* key = nullptr;
};

inline Source source_of(const Config& config) {
  const Json* const newer = config.keys.dictionary("rope_parameters");
  const Json* const older = config.keys.dictionary("rope_scaling");
  const bool has_newer = newer != nullptr && !newer->empty();
  const bool has_older = older != nullptr && !older->empty();
  if (has_newer && has_older && !is_same(*newer, *older)) {
    refuse(config.keys.name("rope_scaling") + " contradicts " +
           config.keys.name("rope_parameters"));
  }
  if (has_older) return {older, "rope_scaling"};
  if (!has_newer) return {};
  if (config.options.dialect == Dialect::transformers4) {
    refuse(config.keys.name("rope_parameters") + " is not known to transformers 4");
  }
  return {newer, "rope_parameters"};
}

/// Whether a dictionary holds one dictionary for each layer type.
inline bool is_nested(const Json& dictionary) {
  for (const auto& item : dictionary.items()) {
    if (item.value().is_object()) return true;
  }
  return false;
}

inline const LayerDefaults& defaults_of(const ModelType& type, std::string_view layer) {
  return layer == type.second.layer && !layer.empty() ? type.second : type.first;
}

/// The layer type `defaults` as the class has it, whatever the config says.
inline LayerRope read_default_layer(const Config& config, const LayerDefaults& defaults) {
  const Json dictionary =
      defaults.scheme != nullptr ? Json::parse(defaults.scheme, nullptr, false) : Json::object();
  return read_layer(
      config, std::string(defaults.layer),
      {.keys = Keys(dictionary,
                    defaults.scheme != nullptr ? "default rope_parameters." : config.keys.name("")),
       .is_class_default = defaults.scheme != nullptr},
      defaults);
}

inline std::vector<LayerRope> read_nested(const Config& config, const Source& source) {
  std::vector<LayerRope> layers;
  const std::string prefix = config.keys.name(source.key) + ".";
  for (const auto& item : source.dictionary->items()) {
    if (item.value().is_null()) continue;  // a layer type that does not rotate
    if (!item.value().is_object()) {
      config.warn(prefix + printable(item.key()) + " is not read beside those of layer types");
      continue;
    }
    if (layers.size() == most_layer_types) {
      refuse(config.keys.name(source.key) + " has more than " + std::to_string(most_layer_types) +
             " layer types");
    }
    layers.push_back(read_layer(
        config, item.key(),
        {.keys = Keys(item.value(), prefix + printable(item.key()) + "."), .is_nested = true},
        defaults_of(config.type, item.key())));
  }
  return layers;
}

/// A copy without nesting: copying would recurse as deep as a caller's JSON is.
inline Json flat_copy(const Json& dictionary, const Source& source) {
  Json copy = Json::object();
  for (const auto& item : dictionary.items()) {
    for (const auto& element : item.value()) {
      if (element.is_structured()) {
        refuse_text(std::string(source.key) + "." + printable(item.key()) +
                    " must be a list of numbers");
      }
    }
    copy[item.key()] = item.value();
  }
  return copy;
}

/// Two layer types share the keys of a config that has no nested dictionary.
inline std::vector<LayerRope> read_split(const Config& config, const Source& source) {
  const ModelType& type = config.type;
  const Json none = Json::object();
  const Dictionary given = {.keys = Keys(source.dictionary != nullptr ? *source.dictionary : none,
                                         source.key != nullptr ? config.keys.name(source.key) + "."
                                                               : config.keys.name(""))};
  const auto has_scheme = [&](const LayerDefaults& defaults) {
    return type.split == Split::both || defaults.layer == "full_attention" ||
           defaults.layer == "compress";
  };
  std::vector<LayerRope> layers;
  for (const LayerDefaults* defaults : {&type.first, &type.second}) {
    if (source.dictionary != nullptr && type.split == Split::nested_only) {
      refuse(config.keys.name(source.key) + " of " + std::string(type.name) +
             " must have a dictionary for each layer type");
    }
    if (source.dictionary == nullptr || !has_scheme(*defaults)) {
      layers.push_back(read_default_layer(config, *defaults));
      continue;
    }
    // A base inside belongs to one of the two.
    Json dictionary = flat_copy(*source.dictionary, source);
    if (type.split == Split::both || type.split == Split::deepseek_v4) {
      dictionary.erase("rope_theta");
    }
    if (type.split == Split::deepseek_v4 && scheme_of(config, given) == "yarn" &&
        !given.keys.has("attention_factor")) {
      dictionary["attention_factor"] = 1.0;
    }
    layers.push_back(read_layer(config, std::string(defaults->layer),
                                {.keys = Keys(dictionary, given.keys.name(""))}, *defaults));
  }
  return layers;
}

inline std::vector<LayerRope> read_layer_types(const Config& config) {
  const Source source = source_of(config);
  std::vector<LayerRope> layers;
  if (source.dictionary != nullptr && is_nested(*source.dictionary)) {
    layers = read_nested(config, source);
  } else if (!config.type.second.layer.empty()) {
    layers = read_split(config, source);
  } else if (source.dictionary != nullptr) {
    layers.push_back(read_layer(
        config, {}, {.keys = Keys(*source.dictionary, config.keys.name(source.key) + ".")},
        config.type.first));
  } else {
    layers.push_back(read_default_layer(config, config.type.first));
    layers.back().name.clear();
  }
  if (config.type.split == Split::olmo3) {
    const auto theta = config.keys.number("rope_theta");
    if (theta && *theta != config.type.first.theta) {
      config.warn("rope_theta is not read for sliding_attention: transformers 5 takes 500000");
    }
  }
  return layers;
}

}  // namespace rope::detail::huggingface::inline ROPE_DETAIL_UNIT
