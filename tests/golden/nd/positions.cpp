// Position ids of prompts with images and videos, as six implementations count them, and the
// coordinates of grids, which other families rotate by.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "golden/nd/check.hpp"
#include "golden/nd/families.hpp"
#include "rope/spatial/grid.hpp"
#include "rope/spatial/grid_axis.hpp"
#include "rope/spatial/mrope_ids.hpp"
#include "rope/spatial/token_kinds.hpp"
#include "rope/spatial/token_lists.hpp"
#include "rope/spatial/video_rope.hpp"
#include "support/catch.hpp"

namespace rope_test::nd {
namespace {

using Ids = std::vector<std::int64_t>;

bool has(const json& content, const char* key) {
  return content.contains(key) && !content.at(key).is_null();
}

/// [[t, h, w], ...], or one [t, h, w].
std::vector<rope::VisionGrid> grids(const json& content, const char* key) {
  std::vector<rope::VisionGrid> found;
  if (!has(content, key) || content.at(key).empty()) return found;
  const json& list = content.at(key);
  if (!list.at(0).is_array()) {
    const Ids one = list.get<Ids>();
    return {{one.at(0), one.at(1), one.at(2)}};
  }
  for (const json& entry : list) {
    const Ids one = entry.get<Ids>();
    found.push_back({one.at(0), one.at(1), one.at(2)});
  }
  return found;
}

/// The mask that the case gives, or implies by its padding.
std::vector<int> mask_of(const json& content, std::size_t tokens) {
  if (has(content, "attention_mask")) {
    const json& mask = content.at("attention_mask");
    return (mask.at(0).is_array() ? mask.at(0) : mask).get<std::vector<int>>();
  }
  std::vector<int> mask(tokens, 1);
  std::fill_n(mask.begin(), content.value("left_pad", 0), 0);
  std::fill_n(mask.rbegin(), content.value("right_pad", 0), 0);
  return mask;
}

bool ends_with_any(const std::string& text, std::initializer_list<const char*> ends) {
  return std::any_of(ends.begin(), ends.end(),
                     [&](const char* end) { return text.ends_with(end); });
}

rope::MropeRule rule_of(const std::string& implementation, const Case& one) {
  if (ends_with_any(implementation, {"_25", "qwen2_5_vl"})) {
    return rope::Qwen25Vl{.tokens_per_second = one.param<double>("tokens_per_second")};
  }
  if (ends_with_any(implementation, {"_2", "qwen2_vl"})) return rope::Qwen2Vl{};
  if (ends_with_any(implementation, {"_3", "qwen3_vl"})) return rope::Qwen3Vl{};
  throw std::runtime_error("an implementation that nobody knows: " + implementation);
}

rope::MropeReading reading_of(const std::string& implementation) {
  if (implementation.starts_with("qwenlm")) return rope::MropeReading::published;
  if (implementation.starts_with("hf_2026_01")) return rope::MropeReading::transformers_4;
  if (implementation.starts_with("hf_2026_05")) return rope::MropeReading::transformers_5;
  throw std::runtime_error("an implementation that nobody knows: " + implementation);
}

void run_qwen_rope_index(const Case& one, Tally& tally) {
  const rope::VisionTokens vision = {.image = one.param<std::int64_t>("image_id"),
                                     .video = one.param<std::int64_t>("video_id")};
  for (const json& content : one.content().at("cases")) {
    INFO(content.value("label", "a case without a label"));
    const Ids input = content.at("input_ids").get<Ids>();
    const std::vector<int> mask = mask_of(content, input.size());
    const std::vector<rope::TokenKind> kinds = rope::token_kinds(input, mask, vision);
    if (has(content, "mm_token_type_ids")) {
      CHECK(kinds ==
            rope::token_kinds_from_types(content.at("mm_token_type_ids").get<Ids>(), mask));
    }
    for (const auto& result : content.at("results").items()) {
      INFO(result.key());
      rope::MropeOptions options = {.rule = rule_of(result.key(), one),
                                    .merge_size = one.param<std::int64_t>("spatial_merge_size"),
                                    .images = grids(content, "image_grid_thw"),
                                    .videos = grids(content, "video_grid_thw"),
                                    .reading = reading_of(result.key())};
      // The others do not look at it.
      if (std::holds_alternative<rope::Qwen25Vl>(options.rule.value()) &&
          has(content, "second_per_grid_ts")) {
        options.seconds_per_grid = content.at("second_per_grid_ts").get<std::vector<double>>();
      }
      const rope::MropeIds ids = rope::mrope_ids(kinds, {1, input.size()}, options);
      const json& expected = result.value().at("position_ids");
      REQUIRE(expected.size() == 3);
      for (std::int64_t axis = 0; axis < 3; ++axis) {
        INFO("axis " << axis);
        const auto own = ids.axis(axis);
        CHECK(Ids(own.begin(), own.end()) ==
              expected.at(static_cast<std::size_t>(axis)).get<Ids>());
      }
      CHECK(ids.deltas()[0] == result.value().at("delta").get<std::int64_t>());
      ++tally["position ids of prompts, exactly"];
    }
  }
}

void run_videorope_index(const Case& one, Tally& tally) {
  const Ids input = one.param<Ids>("input_ids");
  // The ids of Qwen2-VL, which the model is made of, where the file does not say.
  const rope::VisionTokens vision = {.image = one.param<std::int64_t>("image_id", 151655),
                                     .video = one.param<std::int64_t>("video_id", 151656)};
  const rope::VideoRopePositions found = rope::video_rope_positions(
      rope::token_kinds(input, mask_of(one.params(), input.size()), vision), {1, input.size()},
      {.time_step = one.param<double>("scale_factor"),
       .merge_size = one.param<std::int64_t>("spatial_merge_size"),
       .images = grids(one.params(), "image_grid_thw"),
       .videos = grids(one.params(), "video_grid_thw")});
  const Array expected = one.array("position_ids");
  const auto tokens = static_cast<std::int64_t>(input.size());
  REQUIRE(expected.size() == 3 * tokens);
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    for (std::int64_t token = 0; token < tokens; ++token) {
      INFO("axis " << axis << ", token " << token);
      // The original's are float32.
      CHECK(std::abs(found.coordinates(0, token, axis) - expected[axis * tokens + token]) <=
            one.tolerance(2e-7 * std::max(1.0, std::abs(expected[axis * tokens + token]))));
    }
  }
  CHECK(std::abs(found.deltas[0] - one.array("delta")[0]) <= one.tolerance(1e-5));
  ++tally["position ids of prompts, exactly"];
}

// The originals' coordinates are float32.
void check_values(std::span<const double> found, const Array& expected, Tally& tally) {
  REQUIRE(static_cast<std::int64_t>(found.size()) == expected.size());
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    INFO("value " << i);
    CHECK(std::abs(found[static_cast<std::size_t>(i)] - expected[i]) <=
          2.5e-7 * std::max(1.0, std::abs(expected[i])));
  }
  ++tally["coordinates of a grid"];
}

void check_coordinates(const rope::Coordinates& found, const Array& expected, Tally& tally) {
  check_values(found.values(), expected, tally);
}

void check_axis(const rope::Coordinates& found, std::int64_t axis, const Array& expected,
                Tally& tally) {
  std::vector<double> values;
  for (std::int64_t t = 0; t < found.tokens(); ++t) values.push_back(found(0, t, axis));
  check_values(values, expected, tally);
}

void run_aspect(const Case& one, Tally& tally) {
  const auto height = one.param<std::int64_t>("H");
  const auto width = one.param<std::int64_t>("W");
  check_values(rope::axis_end_points(width, rope::aspect_range(width, height)), one.array("pos_x"),
               tally);
  check_values(rope::axis_end_points(height, rope::aspect_range(height, width)), one.array("pos_y"),
               tally);
}

void run_aspect_experiment(const Case& one, Tally& tally) {
  if (!one.has("pos_yx")) return;
  const auto height = one.param<std::int64_t>("nh");
  const auto width = one.param<std::int64_t>("nw");
  const rope::Grid grid = rope::image_grid(
      rope::axis_end_points(height, rope::aspect_range(height, width)),
      rope::axis_end_points(width, rope::aspect_range(width, height)), rope::AxisOrder::row_first);
  check_coordinates(grid.coordinates(), one.array("pos_yx"), tally);
}

void run_end_points(const Case& one, Tally& tally) {
  if (!one.has_param("grid") || !one.has("pos")) return;
  std::vector<std::vector<double>> axes;
  for (const std::int64_t count : one.param<Ids>("grid")) {
    axes.push_back(rope::axis_end_points(count, {.low = -1, .high = 1}));
  }
  check_coordinates(rope::grid(axes).coordinates(), one.array("pos"), tally);
}

void run_mochi(const Case& one, Tally& tally) {
  const Ids size = one.param<Ids>("T,H,W");
  const double area = one.param<double>("base_height") * one.param<double>("base_width");
  const rope::Grid grid = rope::grid(
      {rope::axis_steps(size.at(0)),
       rope::axis_cell_centres(size.at(1), rope::area_range(size.at(1), size.at(2), area)),
       rope::axis_cell_centres(size.at(2), rope::area_range(size.at(2), size.at(1), area))});
  check_coordinates(grid.coordinates(), one.array("positions"), tally);
}

void run_ltx(const Case& one, Tally& tally) {
  const Ids size = one.param<Ids>("F,H,W");
  const auto base = one.param<std::vector<double>>("base");
  const auto scale = one.param<std::vector<double>>("rope_interpolation_scale");
  std::vector<std::vector<double>> axes;
  for (std::size_t a = 0; a < size.size(); ++a) {
    axes.push_back(rope::axis_rescaled(rope::axis_steps(size[a], {.step = scale.at(a)}),
                                       {.from = base.at(a), .to = 1}));
  }
  check_coordinates(rope::grid(axes).coordinates(), one.array("positions"), tally);
}

void run_pixtral(const Case& one, Tally& tally) {
  std::vector<rope::Coordinates> images;
  for (const json& image : one.params().at("images_HW")) {
    images.push_back(rope::image_grid(rope::axis_steps(image.at(0).get<std::int64_t>()),
                                      rope::axis_steps(image.at(1).get<std::int64_t>()),
                                      rope::AxisOrder::row_first)
                         .coordinates());
  }
  const std::vector<rope::CoordinatesView> views(images.begin(), images.end());
  const rope::Coordinates all = rope::join_tokens(views);
  if (one.has("positions")) check_values(all.values(), one.array("positions"), tally);
  if (one.has("position_ids")) {
    std::vector<double> ids;
    for (std::int64_t t = 0; t < all.tokens(); ++t) {
      ids.push_back(all(0, t, 0) * one.param<double>("max_patches_per_side") + all(0, t, 1));
    }
    check_values(ids, one.array("position_ids"), tally);
  }
}

void run_flux(const Case& one, Tally& tally) {
  const auto axes = static_cast<std::size_t>(one.params().at("axes_dim").size());
  if (axes != 3 || !one.has_param("img_hw")) return;
  const Ids size = one.param<Ids>("img_hw");
  const rope::Grid image =
      rope::grid({{0}, rope::axis_steps(size.at(0)), rope::axis_steps(size.at(1))});
  const rope::Coordinates all = rope::join_tokens(
      {rope::constant_coordinates(one.param<std::int64_t>("txt_len", 0), std::vector<double>(axes)),
       image.coordinates()});
  check_values(all.values(), one.array("ids"), tally);
}

void run_naver(const Case& one, Tally& tally) {
  if (!one.has("t_x")) return;
  std::int64_t height = 0;
  std::int64_t width = 0;
  bool columns_first = true;
  if (one.has_param("feat_shape_HW")) {
    height = one.param<Ids>("feat_shape_HW").at(0);
    width = one.param<Ids>("feat_shape_HW").at(1);
    columns_first = one.param<std::string>("grid_indexing", "xy") == "xy";
  } else {
    height = one.param<std::int64_t>("end_y(height)");
    width = one.param<std::int64_t>("end_x(width)");
  }
  const rope::Coordinates all =
      rope::image_grid(rope::axis_steps(height), rope::axis_steps(width),
                       columns_first ? rope::AxisOrder::x_first : rope::AxisOrder::row_first)
          .coordinates();
  check_axis(all, 0, one.array("t_x"), tally);
  check_axis(all, 1, one.array("t_y"), tally);
}

void run_vjepa2(const Case& one, Tally& tally) {
  if (!one.has("pos_t")) return;
  const Ids size = one.param<Ids>("T,H,W");
  const auto trained = one.param<double>("grid_size");
  const bool is_scaled = vjepa2_is_scaled(one);
  const auto rescale_of = [&](std::int64_t count) -> rope::AxisRescale {
    return {.from = count, .to = is_scaled ? trained : static_cast<double>(count)};
  };
  const rope::Coordinates all =
      rope::grid({rope::axis_steps(size.at(0)),
                  rope::axis_rescaled(rope::axis_steps(size.at(1)), rescale_of(size.at(1))),
                  rope::axis_rescaled(rope::axis_steps(size.at(2)), rescale_of(size.at(2)))})
          .coordinates();
  const rope::Coordinates kept =
      one.has_param("mask_ids") ? rope::select_tokens(all, one.param<Ids>("mask_ids")) : all;
  check_axis(kept, 0, one.array("pos_t"), tally);
  check_axis(kept, 1, one.array("pos_h"), tally);
  check_axis(kept, 2, one.array("pos_w"), tally);
}

}  // namespace

std::vector<Family> position_families() {
  return {{"qwen_rope_index", run_qwen_rope_index},
          {"videorope_index", run_videorope_index},
          {"golden_gate_2d", run_aspect},
          {"mixed_experiment", run_aspect_experiment},
          {"golden_gate_nd", run_end_points},
          {"golden_gate_bnnp", run_end_points},
          {"mochi", run_mochi},
          {"ltx", run_ltx},
          {"pixtral", run_pixtral},
          {"pixtral_hf", run_pixtral},
          {"flux", run_flux},
          {"naver_mixed", run_naver},
          {"timm_mixed", run_naver},
          {"vjepa2", run_vjepa2}};
}

}  // namespace rope_test::nd
