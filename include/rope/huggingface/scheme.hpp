#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rope/detail/unit.hpp"
#include "rope/huggingface/config_keys.hpp"
#include "rope/huggingface/model_types.hpp"
#include "rope/huggingface/options.hpp"
#include "rope/parameters.hpp"
#include "rope/scaling/dynamic_ntk.hpp"
#include "rope/scaling/linear.hpp"
#include "rope/scaling/llama3.hpp"
#include "rope/scaling/longrope.hpp"
#include "rope/scaling/ntk.hpp"
#include "rope/scaling/plain.hpp"
#include "rope/scaling/proportional.hpp"
#include "rope/scaling/yarn.hpp"

// From a dictionary (rope_parameters or rope_scaling) to a scaling scheme.

namespace rope::detail::huggingface::inline ROPE_DETAIL_UNIT {

/// The part of a config that is about text, and how it is read.
struct Config {
  const ModelType& type;
  Keys keys;
  ModelOptions options;
  std::optional<std::int64_t> max_positions;
  std::vector<std::string>& warnings;

  void warn(std::string text) const { warnings.push_back(std::move(text)); }
};

/// One dictionary of a scheme.
struct Dictionary {
  Keys keys;
  /// It stands for one layer type inside another dictionary: keys beside that are not looked at.
  bool is_nested = false;
  /// It is not in the config but that of the model's class: the config's own keys prevail.
  bool is_class_default = false;
};

inline bool is_one_of(std::string_view text, std::initializer_list<std::string_view> list) {
  for (const std::string_view item : list) {
    if (item == text) return true;
  }
  return false;
}

/// A value that may be in the dictionary or beside it: two different ones are a contradiction.
template <class Number>
std::optional<Number> one_of_two(const Dictionary& dictionary, const char* key,
                                 std::optional<Number> inside, const std::string& outer_name,
                                 std::optional<Number> outside) {
  if (!inside || !outside || *inside == *outside) return inside ? inside : outside;
  if (dictionary.is_class_default) return outside;
  if (dictionary.is_nested) return inside;
  refuse(dictionary.keys.name(key) + " " + shown(static_cast<double>(*inside)) + " contradicts " +
         outer_name + " " + shown(static_cast<double>(*outside)));
}

/// The scheme's present name. Some have older ones.
inline std::string scheme_name(const Config& config, const Keys& keys, const char* key) {
  const std::optional<std::string> given = keys.text(key);
  if (!given) return {};
  const Quirk quirk = config.type.quirk;
  if (*given == "su") return "longrope";
  if (*given == "mrope" &&
      (keys.has("mrope_section") || config.type.sections.layout != SectionLayout::none)) {
    return "default";
  }
  if (*given == "xdrope" && quirk == Quirk::alpha) return "dynamic";
  if (*given == "yarn" && quirk == Quirk::phi3) {
    config.warn(keys.name(key) + " \"yarn\" means longrope in phi3");
    return "longrope";
  }
  if (!is_one_of(*given,
                 {"default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional"})) {
    refuse(keys.name(key) + " \"" + printable(*given) + "\" is not a known scheme");
  }
  return *given;
}

inline std::string scheme_of(const Config& config, const Dictionary& dictionary) {
  const Keys& keys = dictionary.keys;
  const std::string name = scheme_name(config, keys, "rope_type");
  const std::string old_name = scheme_name(config, keys, "type");
  if (!name.empty() && !old_name.empty() && name != old_name) {
    refuse(keys.name("rope_type") + " \"" + name + "\" contradicts " + keys.name("type") + " \"" +
           old_name + "\"");
  }
  if (name.empty() && old_name.empty()) {
    if (keys.has("factor")) {
      config.warn(keys.name("factor") + " has no effect: " + keys.name("rope_type") +
                  " is missing, and so the scheme is the plain one");
    }
    return "default";
  }
  const std::string scheme = name.empty() ? old_name : name;
  if (config.type.default_only && scheme != "default") {
    refuse(keys.name("rope_type") + " \"" + scheme + "\": " + std::string(config.type.name) +
           " has only the plain scheme");
  }
  if (config.type.quirk == Quirk::phi3 && !is_one_of(scheme, {"default", "longrope"})) {
    refuse(keys.name("rope_type") + " \"" + scheme + "\": phi3 has only longrope");
  }
  return scheme;
}

inline double needed(const Keys& keys, const char* key, const std::string& scheme) {
  const std::optional<double> value = keys.positive(key);
  if (!value) refuse(keys.name(key) + " is missing, which " + scheme + " needs");
  return *value;
}

inline std::int64_t needed_max_positions(const Config& config, const std::string& reader) {
  if (!config.max_positions) {
    refuse(config.keys.name("max_position_embeddings") + " is missing, which " + reader + " needs");
  }
  return *config.max_positions;
}

inline constexpr const char* original_key = "original_max_position_embeddings";

/// The length before scaling, as far as the config has it.
inline std::optional<std::int64_t> original_positions(const Config& config,
                                                      const Dictionary& dictionary) {
  const auto inside = dictionary.keys.integer(original_key, 1, largest_position_count);
  if (dictionary.is_nested) return inside;
  return one_of_two<std::int64_t>(dictionary, original_key, inside, config.keys.name(original_key),
                                  config.keys.integer(original_key, 1, largest_position_count));
}

/// The same, with max_position_embeddings where it is missing.
inline std::int64_t original_or_max_positions(const Config& config, const Dictionary& dictionary,
                                              const std::string& scheme) {
  if (const auto original = original_positions(config, dictionary)) return *original;
  const std::int64_t max =
      needed_max_positions(config, scheme + " without " + dictionary.keys.name(original_key));
  config.warn(dictionary.keys.name(original_key) + " is missing: max_position_embeddings " +
              std::to_string(max) + " is taken for it");
  return max;
}

inline Scaling read_dynamic(const Config& config, const Dictionary& dictionary) {
  const Keys& keys = dictionary.keys;
  const double alpha = keys.number("alpha").value_or(0);
  if (alpha != 0) {
    if (config.type.quirk == Quirk::alpha) {
      if (alpha < 0) refuse(keys.name("alpha") + " must be above 0, got " + shown(alpha));
      return NtkAlpha{.alpha = alpha};
    }
    config.warn(keys.name("alpha") + " is only read by Hunyuan models");
  }
  return DynamicNtk{.factor = needed(keys, "factor", "dynamic"),
                    .max_positions = needed_max_positions(config, "dynamic")};
}

struct YarnLengths {
  double factor;
  std::int64_t original;
};

/// transformers 4 takes the factor from the lengths, if the dictionary has the original one.
inline YarnLengths yarn_lengths4(const Config& config, const Dictionary& dictionary) {
  const Keys& keys = dictionary.keys;
  const std::int64_t max = needed_max_positions(config, "yarn");
  const auto original = keys.integer(original_key, 1, largest_position_count);
  if (!original) return {needed(keys, "factor", "yarn"), max};
  const double ratio = static_cast<double>(max) / static_cast<double>(*original);
  if (const auto factor = keys.positive("factor"); factor && *factor != ratio) {
    config.warn(keys.name("factor") + " " + shown(*factor) +
                " has no effect in transformers 4: the lengths make it " + shown(ratio));
  }
  return {ratio, *original};
}

inline YarnLengths yarn_lengths(const Config& config, const Dictionary& dictionary) {
  if (config.options.dialect == Dialect::transformers4) return yarn_lengths4(config, dictionary);
  const Keys& keys = dictionary.keys;
  const std::int64_t original = original_or_max_positions(config, dictionary, "yarn");
  const auto factor = keys.positive("factor");
  if (!factor) {
    const double ratio =
        static_cast<double>(needed_max_positions(config, "yarn without " + keys.name("factor"))) /
        static_cast<double>(original);
    config.warn(keys.name("factor") + " is missing: the lengths make it " + shown(ratio));
    return {ratio, original};
  }
  if (config.max_positions && !dictionary.is_class_default) {
    const double ratio = static_cast<double>(*config.max_positions) / static_cast<double>(original);
    if (ratio != 1 && ratio != *factor) {
      config.warn(keys.name("factor") + " is " + shown(*factor) +
                  ", although the lengths would make it " + shown(ratio));
    }
  }
  return {*factor, original};
}

inline std::optional<Real> real(std::optional<double> value) {
  return value ? std::optional<Real>(*value) : std::nullopt;
}

inline std::optional<Real> not_negative(const Keys& keys, const char* key) {
  const auto value = keys.number(key);
  if (value && *value < 0) refuse(keys.name(key) + " must not be negative, got " + shown(*value));
  return real(value);
}

/// 0 stands for the default, as in the original.
inline double beta(const Keys& keys, const char* key, double otherwise) {
  const double value = keys.number(key).value_or(0);
  if (value < 0) refuse(keys.name(key) + " must not be negative, got " + shown(value));
  return value == 0 ? otherwise : value;
}

inline Scaling read_yarn(const Config& config, const Dictionary& dictionary) {
  const Keys& keys = dictionary.keys;
  const YarnLengths lengths = yarn_lengths(config, dictionary);
  const double beta_fast = beta(keys, "beta_fast", 32);
  const double beta_slow = beta(keys, "beta_slow", 1);
  if (beta_fast < beta_slow) {
    refuse(keys.name("beta_fast") + " " + shown(beta_fast) + " is below " + keys.name("beta_slow") +
           " " + shown(beta_slow));
  }
  bool truncate = keys.flag("truncate").value_or(true);
  if (!truncate && dictionary.is_nested) {
    config.warn(keys.name("truncate") + " has no effect inside a layer type's dictionary");
    truncate = true;
  }
  return Yarn{.factor = lengths.factor,
              .original_max_positions = lengths.original,
              .beta_fast = beta_fast,
              .beta_slow = beta_slow,
              .truncate = truncate,
              .attention_factor = real(keys.positive("attention_factor")),
              .mscale = not_negative(keys, "mscale"),
              .mscale_all_dim = not_negative(keys, "mscale_all_dim")};
}

inline std::vector<double> factor_list(const Keys& keys, const char* key, std::int64_t rotary_dim) {
  const auto pairs = static_cast<std::size_t>(rotary_dim / 2);
  const auto values = keys.numbers(key, pairs);
  if (!values) refuse(keys.name(key) + " is missing, which longrope needs");
  if (values->size() != pairs) {
    refuse(keys.name(key) + " has " + std::to_string(values->size()) + " values, but " +
           std::to_string(rotary_dim) + " rotated features need " + std::to_string(pairs));
  }
  for (std::size_t i = 0; i < pairs; ++i) {
    if (!((*values)[i] > 0)) {
      refuse(keys.name(key) + "[" + std::to_string(i) + "] must be above 0, got " +
             shown((*values)[i]));
    }
  }
  return *values;
}

inline void read_longrope_lengths(const Config& config, const Dictionary& dictionary,
                                  LongRope& scaling) {
  const Keys& keys = dictionary.keys;
  scaling.factor = real(keys.positive("factor"));
  std::int64_t original = 0;
  if (config.options.dialect == Dialect::transformers4) {
    const auto beside = config.keys.integer(original_key, 1, largest_position_count);
    original = beside ? *beside : needed_max_positions(config, "longrope");
    if (beside) {
      if (scaling.factor) {
        config.warn(keys.name("factor") + " has no effect in transformers 4");
      }
      scaling.factor = static_cast<double>(needed_max_positions(config, "longrope")) /
                       static_cast<double>(original);
    } else {
      if (keys.has(original_key)) {
        config.warn(keys.name(original_key) +
                    " has no effect in transformers 4: max_position_embeddings is taken for it");
      }
      if (!scaling.factor && !keys.has("attention_factor")) {
        refuse(keys.name("factor") + " is missing, which longrope of transformers 4 needs");
      }
    }
  } else {
    original = original_or_max_positions(config, dictionary, "longrope");
  }
  if (original < 2) refuse(keys.name(original_key) + " must be at least 2 for longrope");
  scaling.original_max_positions = original;
  if (config.max_positions) scaling.max_positions = *config.max_positions;
}

inline Scaling read_longrope(const Config& config, const Dictionary& dictionary,
                             std::int64_t rotary_dim) {
  const Keys& keys = dictionary.keys;
  LongRope scaling = {.short_factors = factor_list(keys, "short_factor", rotary_dim),
                      .long_factors = factor_list(keys, "long_factor", rotary_dim),
                      .original_max_positions = 2};
  read_longrope_lengths(config, dictionary, scaling);
  scaling.attention_factor = real(keys.positive("attention_factor"));
  if (config.type.quirk == Quirk::phimoe) {
    scaling.short_magnitude = needed(keys, "short_mscale", "longrope of phimoe");
    scaling.long_magnitude = needed(keys, "long_mscale", "longrope of phimoe");
  } else if (!scaling.max_positions && !scaling.factor && !scaling.attention_factor) {
    refuse(keys.name("factor") +
           " is missing, and so is max_position_embeddings, from which "
           "longrope would take it");
  }
  return scaling;
}

inline Scaling read_llama3(const Config& config, const Dictionary& dictionary) {
  const Keys& keys = dictionary.keys;
  const double factor = needed(keys, "factor", "llama3");
  const double low = needed(keys, "low_freq_factor", "llama3");
  const double high = needed(keys, "high_freq_factor", "llama3");
  if (high < low) {
    refuse(keys.name("high_freq_factor") + " " + shown(high) + " is below " +
           keys.name("low_freq_factor") + " " + shown(low));
  }
  const auto original = original_positions(config, dictionary);
  if (!original) refuse(keys.name(original_key) + " is missing, which llama3 needs");
  if (config.max_positions && *original >= *config.max_positions) {
    config.warn(keys.name(original_key) + " " + std::to_string(*original) +
                " is not below max_position_embeddings " + std::to_string(*config.max_positions));
  }
  return Llama3{.factor = factor,
                .low_freq_factor = low,
                .high_freq_factor = high,
                .original_max_positions = *original};
}

inline Scaling read_scaling(const Config& config, const Dictionary& dictionary,
                            const std::string& scheme, double partial, std::int64_t rotary_dim) {
  const Keys& keys = dictionary.keys;
  if (const auto factor = keys.number("factor"); factor && *factor > 0 && *factor < 1) {
    config.warn(keys.name("factor") + " " + shown(*factor) + " is below 1");
  }
  if (scheme == "linear") return Linear{.factor = needed(keys, "factor", scheme)};
  if (scheme == "dynamic") return read_dynamic(config, dictionary);
  if (scheme == "yarn") return read_yarn(config, dictionary);
  if (scheme == "longrope") return read_longrope(config, dictionary, rotary_dim);
  if (scheme == "llama3") return read_llama3(config, dictionary);
  if (scheme == "proportional") {
    return Proportional{.partial_rotary_factor = partial,
                        .factor = keys.positive("factor").value_or(1)};
  }
  return Plain{};
}

/// Whether `scheme` reads this key of its dictionary.
inline bool is_read(std::string_view scheme, std::string_view key) {
  if (is_one_of(key, {"rope_type", "type", "rope_theta", "partial_rotary_factor", "mrope_section",
                      "mrope_interleaved", "xdrope_section", "alpha", "llama_4_scaling_beta",
                      "max_position_embeddings"})) {
    return true;  // read or warned about elsewhere
  }
  if (scheme == "default") return key == "factor";
  if (key == "factor" || key == "mscale_all_dim") return true;
  if (scheme == "yarn") {
    return is_one_of(
        key, {original_key, "beta_fast", "beta_slow", "attention_factor", "mscale", "truncate"});
  }
  if (scheme == "longrope") {
    return is_one_of(key, {original_key, "short_factor", "long_factor", "attention_factor",
                           "short_mscale", "long_mscale"});
  }
  return scheme == "llama3" &&
         is_one_of(key, {original_key, "low_freq_factor", "high_freq_factor"});
}

inline void warn_of_unread_keys(const Config& config, const Keys& keys, const std::string& scheme) {
  constexpr int most = 20;
  int count = 0;
  for (const auto& item : keys.object().items()) {
    if (item.value().is_null() || is_read(scheme, item.key())) continue;
    if (++count > most) return config.warn("more keys are not read by " + scheme);
    config.warn(keys.name(item.key()) + " is not read by the scheme " + scheme);
  }
}

}  // namespace rope::detail::huggingface::inline ROPE_DETAIL_UNIT
