// Position ids of prompts with images and videos: the files of golden/llm of kind rope_index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "rope/spatial/mrope_ids.hpp"
#include "rope/spatial/token_kinds.hpp"
#include "support/catch.hpp"

namespace rope_test {

inline bool has_value(const nlohmann::json& content, const char* key) {
  return content.contains(key) && !content.at(key).is_null();
}

inline std::vector<rope::VisionGrid> vision_grids(const nlohmann::json& content, const char* key) {
  std::vector<rope::VisionGrid> grids;
  if (!has_value(content, key)) return grids;
  for (const nlohmann::json& entry : content.at(key)) {
    grids.push_back({entry.at(0).get<std::int64_t>(), entry.at(1).get<std::int64_t>(),
                     entry.at(2).get<std::int64_t>()});
  }
  return grids;
}

/// The rule of the model whose function made the file: the file has no config.
inline rope::MropeRule mrope_rule(const nlohmann::json& content) {
  const std::string function = content.at("source").at("function").get<std::string>();
  const auto is_of = [&](const char* module, const char* type) {
    return function.find(module) != std::string::npos || function.find(type) != std::string::npos;
  };
  if (is_of("ernie4_5_vl", "Ernie4_5_VL")) {
    return rope::Ernie45Vl{.temporal_merge_size =
                               content.at("temporal_merge_size").get<std::int64_t>()};
  }
  if (is_of("qwen2_5_vl", "Qwen2_5_VL")) {
    return rope::Qwen25Vl{.tokens_per_second = content.at("tokens_per_second").get<double>()};
  }
  if (is_of("qwen3_vl", "Qwen3VL")) return rope::Qwen3Vl{};
  if (is_of("qwen2_vl", "Qwen2VL")) return rope::Qwen2Vl{};
  throw std::runtime_error("position ids of a model that nobody knows: " + function);
}

inline void run_rope_index(const nlohmann::json& content) {
  std::vector<std::int64_t> types;
  for (const nlohmann::json& row : content.at("token_types")) {
    for (const nlohmann::json& type : row) types.push_back(type.get<std::int64_t>());
  }
  const std::size_t batch = content.at("token_types").size();
  std::vector<int> mask(types.size(), 1);
  if (has_value(content, "attention_mask")) {
    mask.clear();
    for (const nlohmann::json& row : content.at("attention_mask")) {
      for (const nlohmann::json& bit : row) mask.push_back(bit.get<int>());
    }
  }
  const bool is_old = content.at("source").at("version").get<std::string>().starts_with("4.");
  rope::MropeOptions options = {
      .rule = mrope_rule(content),
      .merge_size = content.at("spatial_merge_size").get<std::int64_t>(),
      .images = vision_grids(content, "image_grid_thw"),
      .videos = vision_grids(content, "video_grid_thw"),
      .reading = is_old ? rope::MropeReading::transformers_4 : rope::MropeReading::transformers_5};
  if (std::holds_alternative<rope::Qwen25Vl>(options.rule.value()) &&
      has_value(content, "second_per_grid_ts")) {
    options.seconds_per_grid = content.at("second_per_grid_ts").get<std::vector<double>>();
  }
  const rope::MropeIds ids = rope::mrope_ids(rope::token_kinds_from_types(types, mask),
                                             {batch, types.size() / batch}, options);
  const nlohmann::json& expected = content.at("position_ids");
  REQUIRE(static_cast<std::int64_t>(expected.size()) == ids.axes());
  for (std::int64_t axis = 0; axis < ids.axes(); ++axis) {
    std::vector<std::int64_t> values;
    for (const nlohmann::json& row : expected.at(static_cast<std::size_t>(axis))) {
      for (const nlohmann::json& id : row) values.push_back(id.get<std::int64_t>());
    }
    INFO("axis " << axis);
    const auto own = ids.axis(axis);
    CHECK(std::vector<std::int64_t>(own.begin(), own.end()) == values);
  }
  const auto deltas = ids.deltas();
  CHECK(std::vector<std::int64_t>(deltas.begin(), deltas.end()) ==
        content.at("mrope_position_delta").get<std::vector<std::int64_t>>());
}

}  // namespace rope_test
