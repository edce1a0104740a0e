// Prints docs/models.md from the table that model_rope() itself uses.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "rope/huggingface/model_types.hpp"

namespace {

using rope::detail::huggingface::LayerDefaults;
using rope::detail::huggingface::ModelType;
using rope::detail::huggingface::Order;
using rope::detail::huggingface::Place;
using rope::detail::huggingface::Rotated;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.12g", value);
  return text;
}

std::string pairing(const ModelType& type) {
  switch (type.order) {
    case Order::interleaved:
      return "interleaved";
    case Order::interleaved_to_halves:
      return "interleaved, written as half_split";
    case Order::half_split_backwards:
      return "half_split, backwards";
    case Order::half_split:
      break;
  }
  return "half_split";
}

std::string rotated(const ModelType& type) {
  if (type.quirk == rope::detail::huggingface::Quirk::gptj) return "rotary_dim (64)";
  if (type.place != Place::leading) {
    return "the last qk_rope_head_dim (" + std::to_string(type.rope_head_dim) + ")";
  }
  std::string text = type.head_dim != 0 ? "head_dim (" + std::to_string(type.head_dim) + ")"
                     : type.usual_head_dim != 0
                         ? "head_dim (" + std::to_string(type.usual_head_dim) + " without sizes)"
                         : "head_dim";
  if (type.partial) {
    text += " × partial_rotary_factor (" +
            number(type.first.partial != 0 ? type.first.partial : 1) + ")";
  }
  return text;
}

std::string scheme(const LayerDefaults& defaults) {
  std::string text = defaults.layer.empty() ? "" : std::string(defaults.layer) + ": ";
  if (defaults.theta == 0) return text + "none";
  text += number(defaults.theta);
  if (defaults.scheme != nullptr) {
    const auto keys = nlohmann::json::parse(defaults.scheme);
    text += " " + keys.at("rope_type").get<std::string>();
    for (const char* const key : {"factor", "partial_rotary_factor"}) {
      if (keys.contains(key)) text += " " + number(keys[key].get<double>());
    }
  }
  return text;
}

std::string base(const ModelType& type) {
  std::string text = scheme(type.first);
  if (!type.second.layer.empty()) text += "; " + scheme(type.second);
  return text;
}

}  // namespace

int main() {
  std::printf(
      "# Model types\n\n"
      "<!-- Made by tests/docs/models.cpp from include/rope/huggingface/model_types.hpp; do not "
      "edit. "
      "-->\n\n"
      "What [model_rope()](huggingface.md) knows about each `model_type` of Hugging Face "
      "transformers "
      "5.16. Numbers in parentheses\nand in the column *base and scheme* are what the model's "
      "class has "
      "where the config says nothing: they are often not those\nof Llama. A `head_dim` without a "
      "number is hidden_size / num_attention_heads where the config has none;\na number *without "
      "sizes* is for a config that has neither of these two. Types with two bases have two "
      "rotations, by\nlayer type.\n\n"
      "| model_type | pairing | rotated features | base and scheme | what to know |\n"
      "|---|---|---|---|---|\n");
  for (const ModelType& type : rope::detail::huggingface::model_types) {
    std::printf("| %s | %s | %s | %s | %s |\n", std::string(type.name).c_str(),
                pairing(type).c_str(), rotated(type).c_str(), base(type).c_str(), type.note);
  }
  std::printf(
      "\nConfigs of models with more than text name a type of their own. Their part for text is "
      "read, "
      "nested in `text_config` or,\nin older files, not nested:\n\n| model_type | read as "
      "|\n|---|---|\n");
  for (const rope::detail::huggingface::ModelTypeAlias& alias :
       rope::detail::huggingface::model_type_aliases) {
    const std::string part =
        alias.part != nullptr ? ", from `" + std::string(alias.part) + "`" : std::string();
    std::printf("| %s | %s%s |\n", std::string(alias.name).c_str(),
                std::string(alias.text_type).c_str(), part.c_str());
  }
}
