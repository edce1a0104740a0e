// What the original implementations made of published configs: frequencies, tables, rotated
// vectors. A case is what its file says; the file's name means nothing.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "golden/multi_axis.hpp"
#include "golden/rope_index.hpp"
#include "rope/core.hpp"
#include "rope/huggingface.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/reference.hpp"

namespace {

using nlohmann::json;
using Numbers = std::vector<double>;

struct Case {
  std::filesystem::path file;
  json content;
};

std::optional<std::filesystem::path> folder_of_cases() {
  std::filesystem::path golden;
  if (std::getenv("ROPE_GOLDEN_DIR") != nullptr) {
    golden = rope_test::golden_dir();
  } else if (const auto shared = rope_test::shared_dir()) {
    golden = *shared / "golden";
  }
  if (std::filesystem::is_directory(golden / "llm")) return golden / "llm";
  if (std::getenv("ROPE_GOLDEN_DIR") != nullptr && std::filesystem::is_directory(golden))
    return golden;
  return std::nullopt;
}

std::vector<Case> all_cases(const std::filesystem::path& folder) {
  std::vector<Case> cases;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream stream(entry.path());
    json content = json::parse(stream);
    if (content.is_object() && content.contains("kind")) {
      cases.push_back({entry.path(), std::move(content)});
    }
  }
  std::sort(cases.begin(), cases.end(),
            [](const Case& a, const Case& b) { return a.file < b.file; });
  return cases;
}

/// All numbers of a list of lists, in order.
void flatten(const json& value, Numbers& numbers) {
  if (value.is_array()) {
    for (const json& item : value) flatten(item, numbers);
  } else {
    numbers.push_back(value.get<double>());
  }
}
Numbers flat(const json& value) {
  Numbers numbers;
  flatten(value, numbers);
  return numbers;
}

bool has(const json& content, const char* key) {
  return content.contains(key) && !content[key].is_null();
}

template <class T>
T value_or(const json& content, const char* key, T otherwise) {
  return has(content, key) ? content[key].get<T>() : otherwise;
}

/// Largest relative difference; where nothing is expected nothing may be there.
double worst_relative(const Numbers& found, const Numbers& expected) {
  if (found.size() != expected.size()) return HUGE_VAL;
  double worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double difference = std::abs(found[i] - expected[i]);
    if (difference > 0) worst = std::max(worst, difference / std::abs(expected[i]));
  }
  return worst;
}

/// How many things were compared, by what they are.
using Tally = std::map<std::string, int>;

rope::ModelOptions options_of(const json& content) {
  rope::ModelOptions options;
  const std::string dialect = value_or<std::string>(content, "dialect", "transformers5");
  if (dialect == "transformers4") {
    options.dialect = rope::Dialect::transformers4;
  } else if (dialect != "transformers5") {
    throw std::runtime_error("dialect " + dialect + " with a config");
  }
  return options;
}

/// Where every pair but the last has a partner: the original then rotates one feature more than it
/// says. Told from the base and the second frequency.
bool has_odd_width(const json& content) {
  const json parameters = content.value("rope_parameters_after_standardization", json());
  if (!parameters.is_object() || !has(parameters, "rope_theta") || !has(content, "inv_freq_f64") ||
      content.at("inv_freq_f64").size() < 2) {
    return false;
  }
  const double width = -2 * std::log(parameters["rope_theta"].get<double>()) /
                       std::log(content.at("inv_freq_f64")[1].get<double>());
  return std::abs(width - std::round(width)) < 1e-6 && std::fmod(std::round(width), 2) == 1;
}

/// The config says one thing in two ways, leaves out what it must say, or has a width that cannot
/// be rotated in pairs: the original takes it without a word, model_rope() must not.
bool is_to_be_refused(const json& content) {
  if (!has(content, "config")) return false;
  const json& config = content.at("config");
  json dictionary = json::object();
  int dictionaries = 0;
  for (const char* const key : {"rope_parameters", "rope_scaling"}) {
    if (has(config, key) && config[key].is_object() && !config[key].empty()) {
      if (++dictionaries == 2 && config[key] != dictionary) return true;
      dictionary = config[key];
    }
  }
  for (const char* const key :
       {"rope_theta", "partial_rotary_factor", "original_max_position_embeddings"}) {
    if (has(dictionary, key) && dictionary[key].is_number() && has(config, key) &&
        config[key].is_number() && dictionary[key].get<double>() != config[key].get<double>()) {
      return true;
    }
  }
  const std::string scheme =
      value_or<std::string>(dictionary, "rope_type", value_or<std::string>(dictionary, "type", ""));
  const char* const original = "original_max_position_embeddings";
  if (scheme == "llama3" && !has(dictionary, original) && !has(config, original)) return true;
  return has_odd_width(content);
}

const rope::LayerRope& layer_of(const rope::ModelRope& model, const json& content) {
  const std::string name = value_or<std::string>(content, "layer_type", "");
  return name.empty() ? model.only()
         : model.layer_types.size() == 1 && model.layer_types[0].name.empty()
             ? model.only()
             : model.layer_type(name);
}

rope::Frequencies frequencies_of(const rope::LayerRope& layer, const json& content) {
  return has(content, "seq_len") ? layer.frequencies(content.at("seq_len").get<std::int64_t>())
                                 : layer.frequencies();
}

/// The frequencies as the original stores them.
Numbers stored(const rope::LayerRope& layer, const rope::Frequencies& frequencies) {
  Numbers values(frequencies.values().begin(), frequencies.values().end());
  if (layer.is_backwards) {
    for (double& value : values) value = -value;
  }
  if (layer.section_layout != rope::SectionLayout::height_width_time) return values;
  const auto tail = static_cast<std::size_t>(layer.sections[0] + layer.sections[1]);
  Numbers sorted;
  for (std::size_t i = 0; i < tail; i += 2) sorted.push_back(values[i]);
  for (std::size_t i = 1; i < tail; i += 2) sorted.push_back(values[i]);
  sorted.insert(sorted.end(), values.begin() + static_cast<std::ptrdiff_t>(tail), values.end());
  return sorted;
}

void check_frequencies(const Numbers& found, const json& content, Tally& tally) {
  if (has(content, "inv_freq_f64")) {
    CHECK(worst_relative(found, flat(content.at("inv_freq_f64"))) <= 1e-12);
    ++tally["frequencies against the original's double"];
  }
  CHECK(worst_relative(found, flat(content.at("inv_freq"))) <= 1e-6);
  ++tally["frequencies against the original's float32"];
}

void check_magnitude(double found, const json& content) {
  const double expected = content.at("attention_factor").get<double>();
  CHECK(std::abs(found - expected) <= 1e-12 * std::abs(expected));
}

void check_pairing(const rope::LayerRope& layer, const json& content) {
  if (!has(content, "pairing")) return;
  const std::string pairing = content.at("pairing").get<std::string>();
  const bool reads_neighbours = pairing.starts_with("interleaved");
  if (!reads_neighbours && pairing != "half_split") {
    FAIL("a pairing that nobody knows: " << pairing);
  }
  CHECK((layer.pairing == rope::Pairing::interleaved) == reads_neighbours);
  if (pairing == "interleaved_in_half_split_out") {
    CHECK(layer.output_order == rope::Pairing::half_split);
  }
  if (pairing == "interleaved_trailing") {
    CHECK(layer.first_dim == layer.head_dim - layer.rotary_dim());
  }
}

// Schemes without a config, as other engines have them.
rope::Parameters parameters_of(const json& content) {
  const json& scheme = content.at("scheme");
  const std::set<std::string> known = {"type",
                                       "base",
                                       "factor",
                                       "original_max_positions",
                                       "mscale",
                                       "alpha",
                                       "mscale_all_dim",
                                       "mixed_b",
                                       "extrapolation_factor",
                                       "attn_factor",
                                       "beta_fast",
                                       "beta_slow",
                                       "truncate",
                                       "attention_factor_rule",
                                       "max_positions",
                                       "sequence_length",
                                       "low_freq_factor",
                                       "high_freq_factor",
                                       "attention_factor"};
  for (const auto& item : scheme.items()) {
    if (!known.contains(item.key())) throw std::runtime_error("scheme key " + item.key());
  }
  const auto number = [&](const char* key) { return scheme.at(key).get<double>(); };
  rope::Parameters parameters = {.rotary_dim = content.at("args")["rotary_dim"].get<std::int64_t>(),
                                 .base = number("base")};
  const std::string type = scheme.at("type").get<std::string>();
  if (type == "yarn") {
    rope::Yarn yarn = {
        .factor = number("factor"),
        .original_max_positions = scheme.at("original_max_positions").get<std::int64_t>(),
        .beta_fast = value_or(scheme, "beta_fast", 32.0),
        .beta_slow = value_or(scheme, "beta_slow", 1.0),
        .truncate = value_or(scheme, "truncate", true),
        .extrapolation_factor = value_or(scheme, "extrapolation_factor", 1.0)};
    const std::string rule = value_or<std::string>(scheme, "attention_factor_rule", "");
    double factor = rope::yarn_mscale(number("factor"));
    if (rule == "deepseek (mscale alone counts)") {
      factor = rope::yarn_mscale(number("factor"), number("mscale")) /
               rope::yarn_mscale(number("factor"), number("mscale_all_dim"));
    } else if (rule == "slope 0.07") {
      factor = rope::yarn_mscale(number("factor"), 1.0, 0.07);
    } else if (!rule.empty()) {
      throw std::runtime_error("attention_factor_rule " + rule);
    }
    yarn.attention_factor =
        value_or(scheme, "attention_factor", factor * value_or(scheme, "attn_factor", 1.0));
    parameters.scaling = yarn;
  } else if (type == "ntk_alpha") {
    parameters.scaling = rope::NtkAlpha{.alpha = number("alpha")};
  } else if (type == "ntk_fixed") {
    parameters.scaling = rope::NtkFixed{.factor = number("factor")};
  } else if (type == "ntk_mixed") {
    parameters.scaling = rope::NtkMixed{.factor = number("factor"), .mixed_b = number("mixed_b")};
  } else if (type == "dynamic") {
    parameters.scaling =
        rope::DynamicNtk{.factor = number("factor"),
                         .max_positions = scheme.at("max_positions").get<std::int64_t>()};
  } else if (type == "linear") {
    parameters.scaling = rope::Linear{.factor = number("factor")};
  } else if (type == "llama3") {
    parameters.scaling = rope::Llama3{
        .factor = number("factor"),
        .low_freq_factor = number("low_freq_factor"),
        .high_freq_factor = number("high_freq_factor"),
        .original_max_positions = scheme.at("original_max_positions").get<std::int64_t>()};
  } else if (type != "default") {
    throw std::runtime_error("scheme " + type);
  }
  return parameters;
}

void run_scheme(const json& content, Tally& tally) {
  const rope::Parameters parameters = parameters_of(content);
  const rope::Frequencies frequencies =
      has(content.at("scheme"), "sequence_length")
          ? rope::frequencies(parameters,
                              content.at("scheme")["sequence_length"].get<std::int64_t>())
          : rope::frequencies(parameters);
  check_frequencies({frequencies.values().begin(), frequencies.values().end()}, content, tally);
  check_magnitude(frequencies.magnitude(), content);
  if (!has(content, "cache_rows")) return;
  // Rows [cos | sin] of a float32 table, with float32 angles.
  for (const auto& row : content.at("cache_rows").items()) {
    const std::int64_t position = std::stoll(row.key());
    const rope::CosSinTable<double> table(frequencies, position + 1);
    Numbers found(table.cos(position).begin(), table.cos(position).end());
    found.insert(found.end(), table.sin(position).begin(), table.sin(position).end());
    const Numbers expected = flat(row.value());
    REQUIRE(found.size() == expected.size());
    const double tolerance = 1e-6 + static_cast<double>(position) * 2e-7;
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(std::abs(found[i] - expected[i]) <= tolerance * frequencies.magnitude());
    }
    ++tally["table rows of another engine against its float32"];
  }
}

void run_inv_freq(const json& content, Tally& tally) {
  if (!has(content, "config")) {
    run_scheme(content, tally);
    return;
  }
  const rope::ModelRope model = rope::model_rope(content.at("config"), options_of(content));
  const rope::LayerRope& layer = layer_of(model, content);
  const rope::Frequencies frequencies = frequencies_of(layer, content);
  check_frequencies(stored(layer, frequencies), content, tally);
  check_magnitude(frequencies.magnitude(), content);
  check_pairing(layer, content);
  if (has(content, "rotary_dim"))
    CHECK(layer.rotary_dim() == content.at("rotary_dim").get<std::int64_t>());
  if (has(content, "softmax_scale_multiplier")) {
    CHECK(std::abs(layer.softmax_scale_multiplier -
                   content.at("softmax_scale_multiplier").get<double>()) <= 1e-12);
    ++tally["softmax scale multipliers"];
  }
}

void run_stateful(const json& content, Tally& tally) {
  const rope::ModelRope model = rope::model_rope(content.at("config"), options_of(content));
  const rope::LayerRope& layer = layer_of(model, content);
  const auto* const dynamic = std::get_if<rope::DynamicNtk>(&layer.parameters.scaling);
  std::int64_t kept = dynamic != nullptr ? std::int64_t{dynamic->max_positions.value()} : 0;
  for (const json& step : content.at("steps")) {
    const auto length = step.at("seq_len").get<std::int64_t>();
    INFO("seq_len " << length);
    if (dynamic != nullptr) kept = rope::next_length(kept, length, dynamic->max_positions.value());
    if (has(step, "max_seq_len_cached"))
      CHECK(kept == step.at("max_seq_len_cached").get<std::int64_t>());
    const rope::Frequencies frequencies = layer.frequencies(dynamic != nullptr ? kept : length);
    check_frequencies(stored(layer, frequencies), step, tally);
    if (has(content, "attention_factor")) check_magnitude(frequencies.magnitude(), content);
    ++tally["steps of a call sequence"];
  }
}

/// How many floats lie between two.
double distance_in_ulps(float a, float b) {
  const auto size = static_cast<double>(std::max(std::abs(a), std::abs(b)));
  if (size == 0) return 0;
  return std::abs(static_cast<double>(a) - static_cast<double>(b)) /
         std::ldexp(1.0, std::ilogb(size) - 23);
}

/// The float32 and bfloat16 columns, with angles as the original computes them. It has its inverse
/// frequencies from a float32 power, an ulp or two from ours; one and the same must explain all
/// rows.
void run_float_table(const json& content, const rope::Frequencies& frequencies,
                     const std::vector<std::int64_t>& positions, Tally& tally) {
  const std::int64_t rows = *std::max_element(positions.begin(), positions.end()) + 1;
  const auto pairs = static_cast<std::size_t>(frequencies.pairs());
  const rope::TableOptions options{.angles = rope::Angles::float32};
  const rope::TableOptions narrow_options{.angles = rope::Angles::float32,
                                          .round_entries_to = rope::EntryRounding::bf16};
  std::vector<bool> explained(pairs, false);
  int equal = 0;
  int all = 0;
  for (const int step : {0, -1, 1, -2, 2}) {
    Numbers values;
    for (const double frequency : frequencies.values()) {
      auto value = static_cast<float>(frequency);
      const float beyond = step < 0 ? 0.0F : 9.0F;
      for (int i = 0; i < std::abs(step); ++i) value = std::nextafter(value, beyond);
      values.push_back(static_cast<double>(value));
    }
    const rope::Frequencies own(values, {1, 1, frequencies.pairs()}, frequencies.magnitude());
    const rope::CosSinTable<float> table(own, rows, options);
    const rope::CosSinTable<float> narrow(own, rows, narrow_options);
    for (std::size_t i = 0; i < pairs; ++i) {
      if (explained[i]) continue;
      bool is_near = true;
      for (std::size_t row = 0; row < positions.size() && is_near; ++row) {
        const auto cos = content.at("cos").at(row).at(i).get<float>();
        const auto sin = content.at("sin").at(row).at(i).get<float>();
        is_near = distance_in_ulps(table.cos(positions[row])[i], cos) <= 1 &&
                  distance_in_ulps(table.sin(positions[row])[i], sin) <= 1;
      }
      if (!is_near) continue;
      explained[i] = true;
      for (std::size_t row = 0; row < positions.size(); ++row) {
        for (const char* const name : {"cos", "sin"}) {
          const bool is_cos = std::string(name) == "cos";
          const auto expected = content.at(name).at(row).at(i).get<float>();
          const float found = (is_cos ? table.cos(positions[row]) : table.sin(positions[row]))[i];
          ++all;
          equal += found == expected ? 1 : 0;
          const std::string narrow_name = std::string(name) + "_bf16";
          if (!has(content, narrow_name.c_str())) continue;
          INFO(narrow_name << " at position " << positions[row] << ", pair " << i);
          CHECK((is_cos ? narrow.cos(positions[row]) : narrow.sin(positions[row]))[i] ==
                content.at(narrow_name).at(row).at(i).get<float>());
          ++tally["table entries, the bfloat16 columns bit for bit"];
        }
      }
    }
  }
  for (std::size_t i = 0; i < pairs; ++i) {
    INFO("pair " << i);
    CHECK(explained[i]);
  }
  INFO(equal << " of " << all << " entries equal");
  CHECK(equal >= all * 9 / 10);
  tally["table entries with float32 angles, the float32 columns to 1 ulp"] += all;
  tally["of these bit for bit"] += equal;
}

void run_table(const json& content, Tally& tally) {
  const rope::ModelRope model = rope::model_rope(content.at("config"), options_of(content));
  const rope::LayerRope& layer = layer_of(model, content);
  const auto positions = content.at("positions").get<std::vector<std::int64_t>>();
  const rope::Frequencies frequencies = frequencies_of(layer, content);
  check_magnitude(frequencies.magnitude(), content);
  const rope::CosSinTable<double> table(frequencies,
                                        *std::max_element(positions.begin(), positions.end()) + 1);
  for (std::size_t row = 0; row < positions.size(); ++row) {
    INFO("position " << positions[row]);
    const Numbers cos(table.cos(positions[row]).begin(), table.cos(positions[row]).end());
    const Numbers sin(table.sin(positions[row]).begin(), table.sin(positions[row]).end());
    const std::pair<const Numbers*, const char*> both[] = {{&cos, "cos"}, {&sin, "sin"}};
    for (const auto& [found, name] : both) {
      const Numbers exact = flat(content.at(std::string(name) + "_f64").at(row));
      const Numbers rounded = flat(content.at(name).at(row));
      REQUIRE(found->size() == exact.size());
      REQUIRE(found->size() == rounded.size());
      // The original's double angle is itself rounded: half an ulp of the position, and as many
      // roundings of the frequency as its scheme has steps.
      const double tolerance =
          frequencies.magnitude() * (4e-15 + static_cast<double>(positions[row]) * 8e-16);
      // Its float32 angle is wrong by up to this much, which the file measured.
      const double float_tolerance =
          2e-6 + (content.contains("max_abs_diff_per_position")
                      ? flat(content.at("max_abs_diff_per_position"))[row]
                      : static_cast<double>(positions[row]) * 6e-8);
      for (std::size_t i = 0; i < exact.size(); ++i) {
        CHECK(std::abs((*found)[i] - exact[i]) <= tolerance);
        CHECK(std::abs((*found)[i] - rounded[i]) <= float_tolerance);
      }
    }
    ++tally
        ["table rows, the double columns to 1e-10 and the float32 columns within their own error"];
  }
  run_float_table(content, frequencies, positions, tally);
}

void run_query_scale(const json& content, Tally& tally) {
  const auto positions = content.at("positions").get<std::vector<std::int64_t>>();
  const auto check = [&](const rope::QueryScale& scale, const json& expected) {
    REQUIRE(expected.size() == positions.size());
    for (std::size_t i = 0; i < positions.size(); ++i) {
      INFO("position " << positions[i]);
      // The numbers are float32.
      CHECK(std::abs(rope::query_scale(scale, positions[i]) - expected[i].get<double>()) <= 3e-7);
      ++tally["query scales"];
    }
  };
  // One object for each model; what it says, not what it is called, tells the two rules apart.
  int found = 0;
  for (const auto& item : content.items()) {
    const json& own = item.value();
    if (!own.is_object() || !has(own, "scale")) continue;
    INFO(item.key());
    if (has(own, "llama_4_scaling_beta")) {
      check({.beta = own.at("llama_4_scaling_beta").get<double>(),
             .period = own.at("original_max_position_embeddings").get<std::int64_t>()},
            own.at("scale"));
    } else {
      check({.beta = own.at("attn_scale").get<double>(),
             .period = own.at("floor_scale").get<std::int64_t>(),
             .offset = 1},
            own.at("scale"));
    }
    ++found;
  }
  REQUIRE(found > 0);
}

/// q and k of the cases: a formula of four indices.
double formula(std::int64_t b, std::int64_t t, std::int64_t h, std::int64_t d, double more) {
  return std::sin(0.1 * static_cast<double>(1 + b) + 0.37 * static_cast<double>(t) +
                  0.11 * static_cast<double>(h) + 0.013 * static_cast<double>(d) + more);
}

struct Block {
  std::int64_t batch, tokens, heads, dim;
  std::size_t size() const { return static_cast<std::size_t>(batch * tokens * heads * dim); }
};

template <class T>
std::vector<T> input(const Block& block, double more) {
  std::vector<T> values;
  for (std::int64_t b = 0; b < block.batch; ++b) {
    for (std::int64_t t = 0; t < block.tokens; ++t) {
      for (std::int64_t h = 0; h < block.heads; ++h) {
        for (std::int64_t d = 0; d < block.dim; ++d) {
          values.push_back(static_cast<T>(formula(b, t, h, d, more)));
        }
      }
    }
  }
  return values;
}

/// Interleaved pairs to halves, in the rotated part of each head.
template <class T>
void to_halves(std::vector<T>& values, const Block& block, std::int64_t first, std::int64_t width) {
  const auto pairs = static_cast<std::size_t>(width / 2);
  for (std::size_t head = 0; head < values.size(); head += static_cast<std::size_t>(block.dim)) {
    T* const part = values.data() + head + first;
    const std::vector<T> old(part, part + width);
    for (std::size_t i = 0; i < pairs; ++i) {
      part[i] = old[2 * i];
      part[pairs + i] = old[2 * i + 1];
    }
  }
}

/// The size that each feature's error is measured by: magnitude * (|x0| + |x1|).
std::vector<double> sizes(const std::vector<double>& in, const Block& block,
                          const rope::LayerRope& layer, std::int64_t first, double magnitude) {
  std::vector<double> result(in.size(), 0);
  const auto pairs = static_cast<std::size_t>(layer.rotary_dim() / 2);
  for (std::size_t head = 0; head < in.size(); head += static_cast<std::size_t>(block.dim)) {
    const std::size_t start = head + static_cast<std::size_t>(first);
    for (std::size_t i = 0; i < pairs; ++i) {
      const bool is_half = layer.pairing == rope::Pairing::half_split;
      const std::size_t a = start + (is_half ? i : 2 * i);
      const std::size_t b = is_half ? a + pairs : a + 1;
      const double size = magnitude * (std::abs(in[a]) + std::abs(in[b]));
      const bool is_moved = layer.output_order != layer.pairing;
      result[is_moved ? start + i : a] = size;
      result[is_moved ? start + pairs + i : b] = size;
    }
  }
  return result;
}

template <class T>
void run_rotation(const json& content, const std::string& tensor, const rope::LayerRope& layer,
                  const std::vector<std::int64_t>& ids, const rope::Frequencies& frequencies,
                  Tally& tally) {
  // k has one head where nothing else is said.
  const bool has_shape = has(content, ("shape_" + tensor).c_str());
  auto shape =
      content.at(has_shape ? "shape_" + tensor : "shape_q").get<std::vector<std::int64_t>>();
  if (!has_shape) shape.at(2) = 1;
  const Block block = {shape.at(0), shape.at(1), shape.at(2), shape.at(3)};
  const double more = tensor == "q" ? 0.0 : 1.0;
  // With latent attention the original passes in the rotated features alone.
  const std::int64_t first =
      block.dim == layer.rotary_dim() && layer.head_dim > block.dim ? 0 : layer.first_dim;
  std::vector<T> x = input<T>(block, more);
  const std::vector<double> size =
      sizes(input<double>(block, more), block, layer, first, frequencies.magnitude());
  const rope::CosSinTable<T> table(frequencies, *std::max_element(ids.begin(), ids.end()) + 1);
  rope::rotate(rope::bthd(x, {block.batch, block.tokens, block.heads, block.dim}), table,
               rope::at(ids, {block.batch, block.tokens}),
               {.pairing = layer.pairing, .first_dim = first});
  if (layer.output_order != layer.pairing) to_halves(x, block, first, layer.rotary_dim());
  const Numbers exact = flat(content.at(tensor + "_out_f64"));
  REQUIRE(exact.size() == x.size());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = std::abs(static_cast<double>(x[i]) - exact[i]);
    // A feature that is not rotated is copied: the float is that of the double.
    if (size[i] == 0) {
      CHECK(error <= 0x1p-24 * std::abs(exact[i]));
    } else {
      worst = std::max(worst, error / size[i]);
    }
  }
  // The original's double angles are rounded, by half an ulp of up to 2^13.
  CHECK(worst <= (sizeof(T) == 4 ? 0x1p-22 : 2e-12));
  ++tally[sizeof(T) == 4 ? "tensors rotated in float" : "tensors rotated in double"];
  if (sizeof(T) == 8) return;
  // Its float32 results have float32 angles: comparable where those are small.
  const Numbers rounded = flat(content.at(tensor + "_out"));
  REQUIRE(rounded.size() == x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto row = i / static_cast<std::size_t>(block.heads * block.dim);
    const double position = static_cast<double>(ids[row]);
    CHECK(std::abs(static_cast<double>(x[i]) - rounded[i]) <=
          (1e-6 + position * 1.2e-7) * (size[i] == 0 ? 1 : size[i]));
  }
  ++tally["of these also against the original's float32, within the error of its angle"];
}

void run_rotated_vectors(const json& content, Tally& tally) {
  rope::ModelOptions options = options_of(content);
  options.head_dim_if_missing = content.at("shape_q").at(3).get<std::int64_t>();
  const rope::ModelRope model = rope::model_rope(content.at("config"), options);
  const rope::LayerRope& layer = layer_of(model, content);
  check_pairing(layer, content);
  CHECK(layer.rotary_dim() == content.at("rotary_dim").get<std::int64_t>());
  if (rope_test::has_several_axes(content)) {
    const rope::Frequencies ladder = layer.frequencies();
    if (has(content, "inv_freq")) check_frequencies(stored(layer, ladder), content, tally);
    check_magnitude(ladder.magnitude(), content);
    rope_test::run_multi_axis_rotation(content, layer, ladder, tally);
    return;
  }
  std::vector<std::int64_t> ids;
  for (const json& row : content.at("positions")) {
    for (const json& id : row) ids.push_back(id.get<std::int64_t>());
  }
  // The original decides by the largest position of the whole batch.
  const std::int64_t length = *std::max_element(ids.begin(), ids.end()) + 1;
  const rope::Frequencies frequencies = layer.frequencies(length);
  if (has(content, "inv_freq")) check_frequencies(stored(layer, frequencies), content, tally);
  check_magnitude(frequencies.magnitude(), content);
  for (const std::string tensor : {"q", "k"}) {
    INFO("tensor " << tensor);
    run_rotation<float>(content, tensor, layer, ids, frequencies, tally);
    run_rotation<double>(content, tensor, layer, ids, frequencies, tally);
  }
}

void run_ggml(const json& content, Tally& tally) {
  if (rope_test::has_several_axes(content)) {
    rope_test::run_multi_axis_ggml(content, tally);
    return;
  }
  const auto shape = content.at("shape").get<std::vector<std::int64_t>>();
  const Block block = {1, shape.at(0), shape.at(1), shape.at(2)};
  const auto first = value_or<std::int64_t>(content, "n_offs", 0);
  const auto ids = content.at("positions").get<std::vector<std::int64_t>>();
  const auto mode = content.at("mode").get<int>();
  const rope::Pairing pairing = mode == 2 ? rope::Pairing::half_split : rope::Pairing::interleaved;
  const rope::CosSinTable<float> table(rope::frequencies(rope_test::ggml_parameters(content)),
                                       *std::max_element(ids.begin(), ids.end()) + 1);
  std::vector<float> x = input<float>(block, 0.0);
  const auto view = rope::thd(x, {block.tokens, block.heads, block.dim});
  const rope::PairingOptions options = {.pairing = pairing, .first_dim = first};
  if (content.at("forward").get<bool>()) {
    rope::rotate(view, table, rope::at(ids, {block.tokens}), options);
  } else {
    rope::rotate_transpose(view, table, rope::at(ids, {block.tokens}), options);
  }
  const Numbers expected = flat(content.at("output"));
  REQUIRE(expected.size() == x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto token = i / static_cast<std::size_t>(block.heads * block.dim);
    INFO("element " << i);
    // Its frequencies are products of up to 7 floats, its angle a float.
    const double tolerance = 1e-6 + static_cast<double>(ids[token]) * 5e-7;
    CHECK(std::abs(static_cast<double>(x[i]) - expected[i]) <= tolerance * table.magnitude() * 2);
  }
  ++tally["operations of ggml against its float32"];
}

/// Why a case is not run here: it belongs to another part of the library.
std::string whose(const json& content) {
  const std::string kind = content.at("kind").get<std::string>();
  if (kind.starts_with("onnx_")) return "onnx";
  if (kind == "weight_permutation") return "weights";
  return {};
}

void run_position_ids(const json& content, Tally& tally) {
  rope_test::run_rope_index(content);
  ++tally["position ids of prompts, exactly"];
}

using Run = void (*)(const json&, Tally&);

TEST_CASE("what the original implementations made of their configs") {
  const auto folder = folder_of_cases();
  if (!folder) ROPE_TEST_SKIP("there is no folder golden/llm");
  const std::vector<Case> cases = all_cases(*folder);
  REQUIRE(!cases.empty());
  const std::map<std::string, Run> runs = {{"inv_freq", run_inv_freq},
                                           {"stateful", run_stateful},
                                           {"cos_sin_table", run_table},
                                           {"query_scale_by_position", run_query_scale},
                                           {"rotated_vectors", run_rotated_vectors},
                                           {"rope_index", run_position_ids},
                                           {"axis_pattern", rope_test::run_axis_pattern},
                                           {"ggml_rope", run_ggml}};
  Tally run;
  Tally left;
  Tally refused;
  Tally compared;
  for (const Case& one : cases) {
    const std::string kind = one.content.at("kind").get<std::string>();
    INFO(one.file.filename().string());
    if (const std::string other = whose(one.content); !other.empty()) {
      ++left[kind + " (" + other + ")"];
      continue;
    }
    const auto found = runs.find(kind);
    if (found == runs.end()) {
      FAIL_CHECK("a kind that nobody knows: " << kind);
      continue;
    }
    try {
      found->second(one.content, compared);
      ++run[kind];
    } catch (const rope::InvalidArgument& error) {
      INFO(error.what());
      CHECK(is_to_be_refused(one.content));
      ++refused[error.what()];
    } catch (const std::exception& error) {
      FAIL_CHECK(error.what());
    }
  }
  int count = 0;
  for (const auto& [kind, number] : run) {
    std::cout << number << " cases of " << kind << "\n";
    count += number;
  }
  std::cout << count << " cases run\n";
  for (const auto& [what, number] : compared)
    std::cout << "compared: " << number << " " << what << "\n";
  for (const auto& [why, number] : refused) {
    std::cout << "refused, as it must be: " << number << " with \"" << why << "\"\n";
  }
  for (const auto& [kind, number] : left)
    std::cout << "left to others: " << number << " " << kind << "\n";
  std::cout << std::flush;
}

}  // namespace
