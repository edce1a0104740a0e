#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "rope/detail/unit.hpp"
#include "rope/frequencies.hpp"
#include "rope/huggingface/config_keys.hpp"
#include "rope/huggingface/model_types.hpp"
#include "rope/huggingface/result.hpp"
#include "rope/huggingface/scheme.hpp"
#include "rope/scaling/yarn.hpp"

// The rotation of one layer type: sizes, base, scheme, sections.

namespace rope::detail::huggingface::inline ROPE_DETAIL_UNIT {

inline constexpr std::int64_t most_head_dim = std::int64_t{1} << 16;
inline constexpr std::int64_t most_hidden_size = std::int64_t{1} << 40;

inline std::optional<std::int64_t> first_integer(const Keys& keys,
                                                 std::initializer_list<const char*> names,
                                                 std::int64_t most) {
  for (const char* const name : names) {
    if (const auto value = keys.integer(name, 1, most)) return value;
  }
  return std::nullopt;
}

inline std::optional<std::int64_t> hidden_size_of(const Config& config) {
  return first_integer(config.keys, {"hidden_size", "n_embd", "d_model"}, most_hidden_size);
}

inline std::optional<std::int64_t> heads_of(const Config& config) {
  return first_integer(config.keys,
                       {"num_attention_heads", "n_head", "n_heads", "decoder_num_attention_heads"},
                       most_hidden_size);
}

/// One of the two alone would change the other's default.
inline bool has_a_size(const Config& config) { return hidden_size_of(config) || heads_of(config); }

inline std::optional<std::int64_t> head_dim_of_sizes(const Config& config) {
  const auto hidden = hidden_size_of(config);
  const auto heads = heads_of(config);
  if (!hidden || !heads) return std::nullopt;
  const std::int64_t head_dim = *hidden / *heads;
  if (head_dim < 1 || head_dim > most_head_dim) {
    refuse("hidden_size " + std::to_string(*hidden) + " and num_attention_heads " +
           std::to_string(*heads) + " give a head of " + std::to_string(head_dim) +
           " features, not 1 to " + std::to_string(most_head_dim));
  }
  return head_dim;
}

/// The size of a head of q and k without latent attention.
inline std::int64_t head_dim_of(const Config& config, std::string_view layer) {
  const ModelType& type = config.type;
  const bool is_global = type.quirk == Quirk::global_head_dim && layer == "full_attention";
  if (is_global) {
    return config.keys.integer("global_head_dim", 1, most_head_dim).value_or(512);
  }
  if (const auto given = config.keys.integer("head_dim", 1, most_head_dim)) return *given;
  // Its heads are twice as wide as hidden_size / heads.
  if (type.quirk == Quirk::use_mem_rope) {
    if (const auto given = config.keys.integer("attention_head_dim", 1, most_head_dim)) {
      return *given;
    }
    config.warn("attention_head_dim is missing: hidden_size / heads is taken");
  }
  const auto of_sizes = head_dim_of_sizes(config);
  if (type.head_dim != 0) {
    if (of_sizes && *of_sizes != type.head_dim) {
      config.warn("head_dim is missing: that of the class " + std::string(type.name) + ", " +
                  std::to_string(type.head_dim) + ", is taken, not hidden_size / heads");
    }
    return type.head_dim;
  }
  if (of_sizes) return *of_sizes;
  if (const auto& otherwise = config.options.head_dim_if_missing) {
    if (*otherwise < 1 || *otherwise > most_head_dim) {
      refuse("options.head_dim_if_missing must be from 1 to " + std::to_string(most_head_dim) +
             ", got " + std::to_string(std::int64_t{*otherwise}));
    }
    return *otherwise;
  }
  if (type.usual_head_dim != 0 && !has_a_size(config)) {
    config.warn("head_dim is missing, and so are hidden_size and heads: that of the class " +
                std::string(type.name) + ", " + std::to_string(type.usual_head_dim) + ", is taken");
    return type.usual_head_dim;
  }
  refuse(
      "head_dim is missing, and so is hidden_size or num_attention_heads, from which it would "
      "follow");
}

/// Which features of a head could rotate.
struct Span {
  std::int64_t head_dim;
  std::int64_t first_dim;
  std::int64_t count;
};

inline Span latent_span(const Config& config) {
  const Keys& keys = config.keys;
  const auto given = keys.integer("head_dim", 1, most_head_dim);
  const auto plain = keys.integer("qk_nope_head_dim", 0, most_head_dim);
  auto rotated = keys.integer("qk_rope_head_dim", 1, most_head_dim);
  if (!rotated) {
    rotated = given && !plain ? *given : config.type.rope_head_dim;
    config.warn("qk_rope_head_dim is missing: " + std::to_string(*rotated) + " is taken");
  }
  if (!plain) {
    config.warn("qk_nope_head_dim is missing: positions in the head are those in its rotated part");
    return {*rotated, 0, *rotated};
  }
  const std::int64_t head_dim = *plain + *rotated;
  if (given && *given != *rotated && *given != head_dim) {
    config.warn("head_dim " + std::to_string(*given) + " is neither qk_rope_head_dim " +
                std::to_string(*rotated) + " nor that and qk_nope_head_dim " +
                std::to_string(*plain));
  }
  return {head_dim, *plain, *rotated};
}

/// A number in the dictionary that transformers 4 only looks for beside it.
inline std::optional<double> number_inside(const Config& config, const Dictionary& dictionary,
                                           const char* key, std::optional<double> outside) {
  const auto inside = dictionary.keys.number(key);
  if (!inside || outside || dictionary.is_class_default ||
      config.options.dialect != Dialect::transformers4 || config.keys.has(key)) {
    return inside;
  }
  config.warn(dictionary.keys.name(key) + " is not read by transformers 4");
  return std::nullopt;
}

/// partial_rotary_factor, from the config or the class.
struct Partial {
  double value;
  bool is_given;
  std::string name;
};

inline Partial read_partial(const Config& config, const Dictionary& dictionary,
                            const LayerDefaults& defaults) {
  const bool has_alias = is_one_of(config.type.name, {"gpt_neox", "gpt_neox_japanese"});
  const char* const key =
      has_alias && config.keys.has("rotary_pct") ? "rotary_pct" : "partial_rotary_factor";
  const auto inside =
      number_inside(config, dictionary, "partial_rotary_factor", config.keys.number(key));
  const auto value = one_of_two<double>(dictionary, "partial_rotary_factor", inside,
                                        config.keys.name(key), config.keys.number(key));
  const std::string name =
      inside ? dictionary.keys.name("partial_rotary_factor") : config.keys.name(key);
  if (!value) return {defaults.partial != 0 ? defaults.partial : 1, false, name};
  if (config.type.name == "bamba" && *value != defaults.partial) {
    config.warn(name + " is not read by bamba, which rotates half of a head");
    return {defaults.partial, false, name};
  }
  if (!(*value > 0 && *value <= 1)) {
    refuse(name + " must be above 0 and at most 1, got " + shown(*value));
  }
  return {*value, true, name};
}

inline Span trailing_span(const Config& config, const Partial& partial) {
  const std::int64_t head_dim =
      config.keys.integer("head_dim", 1, most_head_dim).value_or(config.type.head_dim);
  const auto given = config.keys.integer("qk_rope_head_dim", 1, head_dim);
  const auto of_part = static_cast<std::int64_t>(static_cast<double>(head_dim) * partial.value);
  if (given && partial.is_given && *given != of_part) {
    refuse(partial.name + " " + shown(partial.value) + " of head_dim " + std::to_string(head_dim) +
           " contradicts qk_rope_head_dim " + std::to_string(*given));
  }
  const std::int64_t count = given.value_or(of_part);
  return {head_dim, head_dim - count, count};
}

inline std::int64_t part_of(const Config& config, const std::string& scheme, const Partial& partial,
                            const Span& span) {
  const double ratio = static_cast<double>(span.count) / static_cast<double>(span.head_dim);
  if (config.type.place == Place::latent) {
    if (partial.is_given && partial.value != 1 && partial.value != ratio) {
      const std::string both = partial.name + " " + shown(partial.value);
      const std::string count = "qk_rope_head_dim " + std::to_string(span.count);
      if (span.first_dim != 0) refuse(both + " contradicts " + count);
      config.warn(both + " is not read: " + count + " says what rotates");
    }
    return span.count;
  }
  if (config.type.place == Place::trailing || scheme == "proportional") return span.count;
  const bool is_heeded = scheme != "default" || config.type.partial ||
                         config.options.dialect == Dialect::transformers4;
  if (!is_heeded) {
    if (partial.is_given && partial.value != 1) {
      config.warn(partial.name + " " + shown(partial.value) +
                  " has no effect on the plain scheme "
                  "of " +
                  std::string(config.type.name));
    }
    return span.count;
  }
  // One product in double, cut, as Python's int() does.
  return static_cast<std::int64_t>(static_cast<double>(span.count) * partial.value);
}

/// The rotated features of GPT-J are counted, not a share.
inline std::int64_t gptj_part(const Config& config, const Span& span) {
  if (config.keys.is_null("rotary_dim")) return span.count;
  const std::int64_t count = config.keys.integer("rotary_dim", 1, most_head_dim).value_or(64);
  if (count > span.head_dim) {
    refuse("rotary_dim " + std::to_string(count) + " is above the head's " +
           std::to_string(span.head_dim) + " features");
  }
  return count;
}

inline void check_even(std::int64_t rotary_dim, const Span& span, const Partial& partial) {
  if (rotary_dim > 0 && rotary_dim % 2 == 0) return;
  refuse(partial.name + " " + shown(partial.value) + " of head_dim " + std::to_string(span.count) +
         " gives " + std::to_string(rotary_dim) +
         " rotated features, which must be even and above 0");
}

inline double read_theta(const Config& config, const Dictionary& dictionary,
                         const LayerDefaults& defaults) {
  const Keys& keys = config.keys;
  const char* key = defaults.theta_key;
  const bool has_alias = is_one_of(
      config.type.name, {"gpt_neox", "gpt_neox_japanese", "nomic_bert", "jina_embeddings_v3"});
  if (has_alias && keys.has("rotary_emb_base")) {
    key = "rotary_emb_base";
    one_of_two<double>({keys}, key, keys.number(key), keys.name("rope_theta"),
                       keys.number("rope_theta"));
  }
  std::optional<double> outside = key != nullptr ? keys.number(key) : std::nullopt;
  if (!outside && config.type.name == "dbrx") {
    if (const Json* const attention = keys.dictionary("attn_config")) {
      outside = Keys(*attention, keys.name("attn_config.")).number("rope_theta");
    }
  }
  const auto inside = number_inside(config, dictionary, "rope_theta", outside);
  std::string name = dictionary.keys.name("rope_theta");
  auto theta = one_of_two<double>(dictionary, "rope_theta", inside,
                                  keys.name(key != nullptr ? key : "rope_theta"), outside);
  if (!inside && outside) name = keys.name(key);
  if (!theta && defaults.theta != 0) {
    theta = defaults.theta;
    // Types that have no key for it have nothing missing.
    if (key != nullptr && !dictionary.is_class_default) {
      config.warn(name + " is missing: that of the class " + std::string(config.type.name) + ", " +
                  shown(*theta) + ", is taken");
    }
  }
  if (!theta)
    refuse(name + " is missing, and " + std::string(config.type.name) + " has no default");
  if (!(*theta > 1)) refuse(name + " must be above 1, got " + shown(*theta));
  return *theta;
}

inline void read_sections(const Config& config, const Dictionary& dictionary, LayerRope& layer) {
  const Keys& keys = dictionary.keys;
  const DefaultSections& defaults = config.type.sections;
  const std::int64_t pairs = layer.rotary_dim() / 2;
  const char* const key = keys.has("xdrope_section") ? "xdrope_section" : "mrope_section";
  const Json* const list = keys.list(key, 8);
  std::vector<std::int64_t> sections;
  std::int64_t sum = 0;
  if (list != nullptr) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::string name = key + std::string("[") + std::to_string(i) + "]";
      const Json item = {{name, (*list)[i].is_structured() ? Json("a list") : (*list)[i]}};
      const Keys one(item, keys.name(""));
      const auto value = one.integer(name.c_str(), 0, most_head_dim);
      if (!value) refuse_text(keys.name(name) + " must be an integer, got null");
      sections.push_back(*value);
    }
  } else {
    sections.assign(defaults.pairs.begin(), defaults.pairs.end());
  }
  for (const std::int64_t count : sections) sum += count;
  if (list == nullptr && sum != pairs) {
    if (defaults.layout != SectionLayout::none) {
      config.warn(keys.name(key) + " is missing: " +
                  (sum == 0 ? "the class has no default"
                            : "the default of the class is for " + std::to_string(2 * sum) +
                                  " rotated features"));
    }
    return;
  }
  if (sum != pairs) {
    refuse(keys.name(key) + " has a sum of " + std::to_string(sum) + ", but there are " +
           std::to_string(pairs) + " pairs");
  }
  layer.section_layout = defaults.layout;
  const bool is_interleaved = keys.flag("mrope_interleaved").value_or(false);
  if (defaults.layout == SectionLayout::none) {
    layer.section_layout = is_interleaved ? SectionLayout::interleaved : SectionLayout::blocks;
    config.warn(keys.name(key) + " is not read by " + std::string(config.type.name));
  } else if (keys.has("mrope_interleaved") &&
             is_interleaved != (defaults.layout == SectionLayout::interleaved)) {
    config.warn(keys.name("mrope_interleaved") + " is not read by " +
                std::string(config.type.name));
  }
  if (layer.section_layout != SectionLayout::blocks && sections.size() != 3) {
    refuse(keys.name(key) + " must have 3 values, got " + std::to_string(sections.size()));
  }
  layer.sections = std::move(sections);
}

/// DeepSeek's part in the softmax, for which transformers takes the dictionary's own factor.
inline double read_softmax_multiplier(const Config& config, const Dictionary& dictionary,
                                      const std::string& scheme, const Scaling& scaling) {
  const ModelType& type = config.type;
  if (type.place != Place::latent || type.name == "minicpm3" || scheme == "default") return 1;
  const double mscale = not_negative(dictionary.keys, "mscale_all_dim").value_or(0.0);
  if (mscale == 0) return 1;
  auto factor = dictionary.keys.positive("factor");
  if (const Yarn* const yarn = std::get_if<Yarn>(&scaling); yarn != nullptr && !factor) {
    factor = static_cast<double>(yarn->factor.value());
  }
  return detail::softmax_scale_multiplier(Yarn{
      .factor = factor.value_or(1), .original_max_positions = 1, .mscale_all_dim = Real(mscale)});
}

inline void read_query_scale(const Config& config, const Dictionary& dictionary, LayerRope& layer) {
  const Keys& keys = dictionary.keys;
  const auto beta = not_negative(keys, "llama_4_scaling_beta");
  if (!beta) return;
  if (!config.type.query_scale) {
    config.warn(keys.name("llama_4_scaling_beta") + " is not read by " +
                std::string(config.type.name));
    return;
  }
  layer.query_scale =
      QueryScale{.beta = *beta,
                 .period = original_or_max_positions(config, dictionary, "llama_4_scaling_beta")};
}

struct PairOrder {
  Pairing in;
  Pairing out;
};

inline PairOrder pair_order(const Config& config) {
  constexpr Pairing halves = Pairing::half_split;
  constexpr Pairing neighbours = Pairing::interleaved;
  const auto flag = config.keys.flag("rope_interleave");
  switch (config.type.order) {
    case Order::interleaved_to_halves:
      return {flag.value_or(true) ? neighbours : halves, halves};
    case Order::interleaved:
      return {neighbours, neighbours};
    case Order::half_split:
    case Order::half_split_backwards:
      break;
  }
  return {halves, halves};
}

inline LayerRope read_layer(const Config& config, std::string name, const Dictionary& dictionary,
                            const LayerDefaults& defaults) {
  const std::string scheme = scheme_of(config, dictionary);
  const Partial partial = read_partial(config, dictionary, defaults);
  const ModelType& type = config.type;
  const Span span = type.place == Place::latent     ? latent_span(config)
                    : type.place == Place::trailing ? trailing_span(config, partial)
                                                    : [&]() -> Span {
    const std::int64_t head_dim = head_dim_of(config, name);
    return {head_dim, 0, head_dim};
  }();
  const std::int64_t rotary_dim =
      type.quirk == Quirk::gptj ? gptj_part(config, span) : part_of(config, scheme, partial, span);
  check_even(rotary_dim, span, partial);
  const double theta = read_theta(config, dictionary, defaults);
  const Scaling scaling = read_scaling(config, dictionary, scheme, partial.value, rotary_dim);
  warn_of_unread_keys(config, dictionary.keys, scheme);
  const PairOrder order = pair_order(config);
  LayerRope layer = {
      .name = std::move(name),
      .pairing = order.in,
      .output_order = order.out,
      .head_dim = span.head_dim,
      .first_dim = span.first_dim,
      .parameters = {.rotary_dim = rotary_dim, .base = theta, .scaling = scaling},
      .is_backwards = type.order == Order::half_split_backwards,
      .softmax_scale_multiplier = read_softmax_multiplier(config, dictionary, scheme, scaling)};
  read_sections(config, dictionary, layer);
  read_query_scale(config, dictionary, layer);
  require(check_parameters("rope::model_rope", layer.parameters, std::nullopt));
  return layer;
}

}  // namespace rope::detail::huggingface::inline ROPE_DETAIL_UNIT
