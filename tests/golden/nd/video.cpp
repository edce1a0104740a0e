// Families with three axes and more: video, generated images, points in space.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

#include "golden/nd/check.hpp"
#include "golden/nd/families.hpp"
#include "rope/rotate.hpp"
#include "rope/spatial/axial.hpp"
#include "rope/spatial/axis_map.hpp"
#include "rope/spatial/ladders.hpp"
#include "rope/spatial/shared_ladder.hpp"
#include "rope/spatial/split_heads.hpp"
#include "support/catch.hpp"

namespace rope_test::nd {
namespace {

using Grid = std::vector<std::vector<double>>;

std::vector<double> flat(const Grid& grid) {
  std::vector<double> values;
  for (const auto& token : grid) values.insert(values.end(), token.begin(), token.end());
  return values;
}

void run_flux(const Case& one, Tally& tally) {
  const auto dims = one.param<std::vector<std::int64_t>>("axes_dim");
  const Array ids = one.array("ids");
  // The ids of 3 axes are known: text at 0, then (0, row, column).
  if (dims.size() == 3 && one.has_param("img_hw")) {
    const auto image = one.param<std::vector<std::int64_t>>("img_hw");
    Grid tokens(one.param<std::size_t>("txt_len", 0), std::vector<double>(3, 0.0));
    const Grid patches = product_grid({{0.0}, counted(image.at(0)), counted(image.at(1))});
    tokens.insert(tokens.end(), patches.begin(), patches.end());
    compare(flat(tokens), ids.values, one.tolerance(), "positions", tally);
  }
  const Setup setup = {.pairing = pairing_of(one),
                       .frequencies = rope::axial_frequencies(
                           {.axis_dims = dims, .base = one.param<double>("theta")}),
                       .positions = {ids.values, {ids.shape.at(0), ids.shape.at(1)}}};
  if (one.has("rot")) {
    const rope::TokenTable<double> table(setup.frequencies, setup.positions);
    std::vector<double> matrices;
    for (std::int64_t token = 0; token < table.tokens(); ++token) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(table.pairs()); ++i) {
        const double cos = table.cos(0, token)[i];
        const double sin = table.sin(0, token)[i];
        matrices.insert(matrices.end(), {cos, -sin, sin, cos});
      }
    }
    compare(matrices, one.array("rot").values, one.tolerance(), "tables", tally);
  }
  check_table(one, setup, tally);
  check_rotation(one, setup, tally);
}

void run_wan(const Case& one, Tally& tally) {
  const auto head_dim = one.param<std::int64_t>("head_dim");
  const std::int64_t spatial = 2 * (head_dim / 6);
  const std::vector<std::int64_t> dims = {head_dim - 2 * spatial, spatial, spatial};
  CHECK(dims == one.param<std::vector<std::int64_t>>("dims_t_h_w", dims));
  const auto shape = one.param<std::vector<std::int64_t>>("F,H,W");
  const Setup setup = {
      .pairing = pairing_of(one),
      .frequencies =
          rope::axial_frequencies({.axis_dims = dims, .base = one.param<double>("theta")}),
      .positions =
          listed(product_grid({counted(shape.at(0)), counted(shape.at(1)), counted(shape.at(2))})),
      .last_tokens = one.param<std::int64_t>("trailing_unrotated_tokens", 0)};
  check_table(one, setup, tally);
  check_rotation(one, setup, tally);
}

void run_cogvideox(const Case& one, Tally& tally) {
  const auto head_dim = one.param<std::int64_t>("head_dim");
  const std::vector<std::int64_t> dims = {head_dim / 4, head_dim / 8 * 3, head_dim / 8 * 3};
  CHECK(dims == one.param<std::vector<std::int64_t>>("dims_t_h_w", dims));
  const auto grid = one.param<std::vector<std::int64_t>>("grid_size");
  const auto frames = one.param<std::int64_t>("temporal_size");
  Grid values = {counted(frames), counted(grid.at(0)), counted(grid.at(1))};
  if (one.param<std::string>("grid_type", "linspace") == "linspace") {
    const auto crops = one.param<std::vector<std::vector<double>>>("crops_coords");
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const auto count = static_cast<double>(grid.at(axis));
      values[axis + 1] =
          linspace(crops.at(0).at(axis), crops.at(1).at(axis) * (count - 1) / count, grid.at(axis));
    }
  }
  const Setup setup = {.pairing = pairing_of(one),
                       .frequencies = rope::axial_frequencies(
                           {.axis_dims = dims, .base = one.param<double>("theta")}),
                       .positions = listed(product_grid(values)),
                       .first_tokens = one.param<std::int64_t>("text_tokens", 0)};
  check_table(one, setup, tally);
  check_rotation(one, setup, tally);
}

/// One number for all axes, or one for each.
std::vector<double> for_each_axis(const Case& one, const std::string& key, std::size_t axes) {
  if (!one.has_param(key)) return std::vector<double>(axes, 1.0);
  const json& value = one.params().at(key);
  if (value.is_array()) return value.get<std::vector<double>>();
  return std::vector<double>(axes, value.get<double>());
}

void run_hunyuan(const Case& one, Tally& tally) {
  const auto dims = one.param<std::vector<std::int64_t>>("rope_dim_list");
  const std::size_t axes = dims.size();
  const auto rescale = for_each_axis(one, "theta_rescale_factor", axes);
  const auto interpolation = for_each_axis(one, "interpolation_factor", axes);
  Grid values(axes);
  std::vector<rope::AxisBlock> blocks;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (one.has_param("sizes")) {
      values[axis] = counted(one.param<std::vector<std::int64_t>>("sizes").at(axis));
    } else {
      const double start = for_each_axis(one, "start", axes).at(axis);
      const double stop = for_each_axis(one, "stop", axes).at(axis);
      const double count = for_each_axis(one, "num", axes).at(axis);
      for (double i = 0; i < count; ++i) {
        values[axis].push_back(start + (stop - start) * i / count);
      }
    }
    for (double& position : values[axis]) position *= interpolation.at(axis);
    rope::Parameters parameters = {.rotary_dim = dims[axis], .base = one.param<double>("theta")};
    if (rescale.at(axis) != 1) parameters.scaling = rope::NtkBase{.factor = rescale[axis]};
    blocks.emplace_back(axis, rope::frequencies(parameters));
  }
  const Setup setup = {.pairing = pairing_of(one),
                       .frequencies = rope::axis_blocks(blocks),
                       .positions = listed(product_grid(values))};
  check_table(one, setup, tally);
  if (one.has("y")) {
    check_rotation(one, setup, tally);
  } else {
    check_rotation_by_table(one, setup, tally);
  }
}

void run_qwenimage(const Case& one, Tally& tally) {
  const auto dims = one.param<std::vector<std::int64_t>>("axes_dim");
  const auto shape = one.param<std::vector<std::int64_t>>("frame,height,width");
  Grid values = {counted(shape.at(0))};
  for (const std::size_t axis : {1U, 2U}) {
    const std::int64_t count = shape.at(axis);
    values.push_back(counted(count, -static_cast<double>(count - count / 2)));
  }
  const rope::Frequencies frequencies =
      rope::axial_frequencies({.axis_dims = dims, .base = one.param<double>("theta")});
  const Setup image = {.pairing = pairing_of(one),
                       .frequencies = frequencies,
                       .positions = listed(product_grid(values))};
  check_table(one, image, tally);
  check_rotation(one, image, tally);
  if (one.has("txt_cos")) {
    const auto first = static_cast<double>(std::max(shape.at(1) / 2, shape.at(2) / 2));
    Grid tokens;
    for (const double position : counted(one.param<std::int64_t>("txt_len"), first)) {
      tokens.emplace_back(3, position);
    }
    const Setup text = {
        .pairing = pairing_of(one), .frequencies = frequencies, .positions = listed(tokens)};
    check_table(one, text, tally, "txt_cos", "txt_sin");
  }
}

// V-JEPA 2 as it was released is not a rotation: the two features of a pair have different angles,
// as cos and sin were repeated block by block and not one by one. What each feature becomes is what
// it becomes in a rotation by its own angle, so two rotations give both.

/// One axis of `dim` features: the angle of the first or of the second feature of each pair.
void add_released_axis(rope::AxisMap& map, std::int64_t axis, std::int64_t dim, bool is_second) {
  const std::int64_t rungs = dim / 2;
  for (std::int64_t pair = 0; pair < rungs; ++pair) {
    map.axis_of_pair.push_back(axis);
    map.rung_of_pair.push_back((2 * pair + (is_second ? 1 : 0)) % rungs);
  }
}

template <class T>
std::vector<double> released(const Block& block, const rope::Coordinates& positions,
                             std::int64_t dim, double theta) {
  const rope::Frequencies ladder = rope::frequencies({.rotary_dim = dim, .base = theta});
  std::vector<double> out;
  for (const bool is_second : {false, true}) {
    rope::AxisMap map = {.axes = positions.axes()};
    for (std::int64_t axis = 0; axis < positions.axes(); ++axis) {
      add_released_axis(map, axis, dim, is_second);
    }
    const rope::TokenTable<T> table(rope::share_ladder(ladder, map), positions);
    std::vector<T> x = input<T>(block);
    rope::rotate<rope::Pairing::interleaved>(
        rope::bhtd(x, {block.batch, block.heads, block.tokens, block.dim}), table);
    if (out.empty()) {
      out.assign(x.begin(), x.end());
    } else {
      for (std::size_t i = 1; i < x.size(); i += 2) out[i] = static_cast<double>(x[i]);
    }
  }
  return out;
}

void run_vjepa2_function(const Case& one, Tally& tally) {
  const Array pos = one.array("pos");
  const auto dim = one.param<std::int64_t>("dim");
  const double theta = one.param<double>("theta", 10000.0);
  const rope::Coordinates positions(pos.values, {pos.size(), 1});
  const Array expected = one.array("y_released");
  const Block block = block_of(expected);
  compare(released<float>(block, positions, dim, theta), expected.values, one.tolerance(),
          "released V-JEPA 2 from two rotations", tally);
  compare(released<double>(block, positions, dim, theta), expected.values, one.tolerance(),
          "released V-JEPA 2 from two rotations", tally);
  const Setup fixed = {.pairing = rope::Pairing::interleaved,
                       .frequencies = rope::frequencies({.rotary_dim = dim, .base = theta}),
                       .positions = positions};
  check_rotation(one, fixed, tally, "y_fixed");
}

void run_vjepa2(const Case& one, Tally& tally) {
  if (one.has("y_fixed")) {
    run_vjepa2_function(one, tally);
    return;
  }
  const auto head_dim = one.param<std::int64_t>("head_dim");
  const std::int64_t dim = 2 * (head_dim / 3 / 2);
  CHECK(dim == one.param<std::int64_t>("per_axis_dim", dim));
  const auto shape = one.param<std::vector<std::int64_t>>("T,H,W");
  const auto size = one.param<double>("grid_size");
  const bool is_scaled = vjepa2_is_scaled(one);
  std::vector<std::int64_t> ids;
  if (one.has_param("mask_ids")) {
    ids = one.param<std::vector<std::int64_t>>("mask_ids");
  } else {
    for (std::int64_t id = 0; id < shape.at(0) * shape.at(1) * shape.at(2); ++id) {
      ids.push_back(id);
    }
  }
  const std::int64_t height = shape.at(1);
  const std::int64_t width = shape.at(2);
  const double row_scale = is_scaled ? size / static_cast<double>(height) : 1;
  const double column_scale = is_scaled ? size / static_cast<double>(width) : 1;
  Grid tokens;
  for (const std::int64_t id : ids) {
    tokens.push_back({static_cast<double>(id / (height * width)),
                      static_cast<double>(id / width % height) * row_scale,
                      static_cast<double>(id % width) * column_scale});
  }
  const char* const names[] = {"pos_t", "pos_h", "pos_w"};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::vector<double> own;
    for (const auto& token : tokens) own.push_back(token[axis]);
    compare(own, one.array(names[axis]).values, one.tolerance(), "positions", tally);
  }
  const Array expected = one.array("y");
  const Block block = block_of(expected);
  const rope::Coordinates positions = listed(tokens);
  const double theta = one.param<double>("theta", 10000.0);
  compare(released<float>(block, positions, dim, theta), expected.values, one.tolerance(),
          "released V-JEPA 2 from two rotations", tally);
  compare(released<double>(block, positions, dim, theta), expected.values, one.tolerance(),
          "released V-JEPA 2 from two rotations", tally);
}

void run_ltx(const Case& one, Tally& tally) {
  const auto inner = one.param<std::int64_t>("inner_dim");
  const auto heads = one.param<std::int64_t>("heads");
  const auto shape = one.param<std::vector<std::int64_t>>("F,H,W");
  const auto base = one.param<std::vector<double>>("base");
  const auto scale = one.param<std::vector<double>>("rope_interpolation_scale");
  Grid values(3);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (const double i : counted(shape.at(axis))) {
      values[axis].push_back(i * scale.at(axis) / base.at(axis));
    }
  }
  Grid tokens = product_grid(values);
  if (one.has("positions")) {
    compare(flat(tokens), one.array("positions").values, one.tolerance(), "positions", tally);
  }
  for (auto& token : tokens) {
    for (double& position : token) position = 2 * position - 1;
  }
  const std::int64_t rungs = inner / 6;
  const double half_pi = std::numbers::pi / 2;
  const rope::Frequencies whole = rope::share_ladder(
      rope::geometric_frequencies({.pairs = rungs,
                                   .min_frequency = half_pi,
                                   .max_frequency = one.param<double>("theta") * half_pi}),
      rope::frequency_major_axes(
          {.axes = 3, .frequencies = rungs, .unrotated_pairs = inner % 6 / 2}));
  check_table(one, {.pairing = pairing_of(one), .frequencies = whole, .positions = listed(tokens)},
              tally);
  check_rotation(one,
                 {.pairing = pairing_of(one),
                  .frequencies = rope::split_heads(whole, heads),
                  .positions = listed(tokens)},
                 tally);
}

/// Lepard, 3D Diffuser Actor: x, y, z with a third of the features of a token each.
void run_points(const Case& one, Tally& tally) {
  const auto features = one.param<std::int64_t>("feature_dim");
  const Array xyz = one.array("xyz");
  std::vector<double> positions = xyz.values;
  if (one.has_param("voxel_size")) {
    const auto origin = one.param<std::vector<double>>("vol_origin");
    for (std::size_t i = 0; i < positions.size(); ++i) {
      positions[i] = (positions[i] - origin.at(i % 3)) / one.param<double>("voxel_size");
    }
  }
  const Setup whole = {
      .pairing = pairing_of(one),
      .frequencies = rope::axial_frequencies({.axis_dims = rope::equal_axis_dims(features, 3)}),
      .positions = {positions, {xyz.shape.at(0), 3}}};
  check_table(one, whole, tally);
  check_rotation_by_table(one, whole, tally);
  if (one.has("y")) {
    check_rotation(
        one,
        {.pairing = whole.pairing,
         .frequencies = rope::split_heads(whole.frequencies, one.param<std::int64_t>("heads")),
         .positions = whole.positions},
        tally);
  }
}

}  // namespace

std::vector<Family> video_families() {
  return {
      {"flux", run_flux},       {"wan", run_wan},       {"cogvideox", run_cogvideox},
      {"hunyuan", run_hunyuan}, {"vjepa2", run_vjepa2}, {"qwenimage", run_qwenimage},
      {"ltx", run_ltx},         {"lepard", run_points}, {"diffuser_actor", run_points},
  };
}

}  // namespace rope_test::nd
