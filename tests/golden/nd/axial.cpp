// Families with a ladder for each axis.
#include "rope/spatial/axial.hpp"

#include <algorithm>
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
#include "rope/spatial/ladders.hpp"
#include "rope/spatial/memory_attention.hpp"
#include "rope/spatial/rotate_axes.hpp"
#include "rope/spatial/rotated_tokens.hpp"
#include "support/catch.hpp"

namespace rope_test::nd {
namespace {

using Grid = std::vector<std::vector<double>>;

/// Two axes with half of the head each; axis 0 is that of the first half.
rope::Frequencies two_axes(std::int64_t head_dim, double base) {
  return rope::axial_frequencies({.axis_dims = rope::equal_axis_dims(head_dim, 2), .base = base});
}

/// {row, column} tokens as {column, row}.
Grid swapped(Grid tokens) {
  for (std::vector<double>& token : tokens) std::swap(token.at(0), token.at(1));
  return tokens;
}

void check_ladder(const Case& one, const char* name, const rope::Frequencies& frequencies,
                  Tally& tally) {
  if (!one.has(name)) return;
  const Array array = one.array(name);
  const auto values = frequencies.values();
  compare({values.begin(), values.begin() + array.size()}, array.values, one.tolerance(),
          "frequencies", tally);
}

void run_naver_axial(const Case& one, Tally& tally) {
  const bool is_vit = one.has_param("end_x(width)");
  const auto width = one.param<std::int64_t>(is_vit ? "end_x(width)" : "width");
  const auto height = one.param<std::int64_t>(is_vit ? "end_y(height)" : "height");
  const auto head_dim = one.param<std::int64_t>("head_dim");
  const Setup setup = {.pairing = pairing_of(one),
                       .frequencies = two_axes(head_dim, one.param<double>("theta")),
                       .positions = listed(swapped(row_column_grid(height, width))),
                       .first_tokens = one.param<std::int64_t>("num_prefix", 0)};
  check_ladder(one, "freqs_per_axis", setup.frequencies, tally);
  if (one.has("freqs")) {
    // [axes, heads, pairs]; its zeros are cos(pi/2) in float32.
    const auto values = setup.frequencies.values();
    const auto pairs = setup.frequencies.pairs();
    const Array array = one.array("freqs");
    std::vector<double> expected;
    for (std::int64_t axis = 0; axis < 2; ++axis) {
      for (std::int64_t head = 0; head < array.shape.at(1); ++head) {
        expected.insert(expected.end(), values.begin() + axis * pairs,
                        values.begin() + (axis + 1) * pairs);
      }
    }
    compare(expected, array.values, one.tolerance(), "frequencies", tally);
  }
  check_table(one, setup, tally);
  check_rotation(one, setup, tally);
}

template <class T>
void run_sam2_keys(const Case& one, const Setup& setup, Tally& tally) {
  const Array expected = one.array("k_out");
  const Block block = block_of(expected);
  std::vector<T> k = input<T>(block);
  const rope::TokenTable<T> table(setup.frequencies, setup.positions);
  const auto view = rope::bhtd(k, {block.batch, block.heads, block.tokens, block.dim});
  rope::rotate_memory_keys(view, table,
                           {.pairing = setup.pairing,
                            .unrotated_last = one.param<std::int64_t>("num_k_exclude_rope", 0)});
  compare({k.begin(), k.end()}, expected.values, one.tolerance(), "keys of memory frames", tally);
}

void run_sam2(const Case& one, Tally& tally) {
  const Setup setup = {
      .pairing = pairing_of(one),
      .frequencies = two_axes(one.param<std::int64_t>("head_dim"), one.param<double>("theta")),
      .positions = listed(swapped(
          row_column_grid(one.param<std::int64_t>("height"), one.param<std::int64_t>("width"))))};
  check_table(one, setup, tally);
  for (const char* const name : {"q_out", "y"}) {
    if (one.has(name)) check_rotation(one, setup, tally, name);
  }
  if (one.has("k_out")) {
    run_sam2_keys<float>(one, setup, tally);
    run_sam2_keys<double>(one, setup, tally);
  }
}

/// DINOv3's coordinates of one axis: cell centres from -1 to 1.
std::vector<double> cell_centres(std::int64_t count, double extent, double offset) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(2 * (static_cast<double>(i) + 0.5 + offset) / extent - 1);
  }
  return values;
}

Grid dinov3_grid(std::int64_t height, std::int64_t width, const std::string& normalize,
                 double offset) {
  const auto h = static_cast<double>(height);
  const auto w = static_cast<double>(width);
  if (normalize != "separate" && normalize != "max" && normalize != "min") {
    throw std::runtime_error("normalize_coords " + normalize);
  }
  const bool is_max = normalize == "max";
  const double extent = is_max ? std::max(h, w) : std::min(h, w);
  const bool is_separate = normalize == "separate";
  return product_grid({cell_centres(height, is_separate ? h : extent, offset),
                       cell_centres(width, is_separate ? w : extent, offset)});
}

/// Two axes of the same periods; `base` names the parameter.
rope::Frequencies two_axes_of_periods(const Case& one, const char* base) {
  const auto pairs = one.param<std::int64_t>("head_dim") / 4;
  rope::PeriodFrequencies periods = {.pairs = pairs};
  if (one.has_param("min_period") && one.has_param("max_period")) {
    periods.min_period = one.param<double>("min_period");
    periods.max_period = one.param<double>("max_period");
  } else {
    periods.base = one.param<double>(base);
  }
  const rope::Frequencies ladder = rope::period_frequencies(periods);
  return rope::axis_blocks({{0, ladder}, {1, ladder}});
}

void check_periods(const Case& one, const rope::Frequencies& frequencies, Tally& tally) {
  if (!one.has("periods")) return;
  const Array array = one.array("periods");
  std::vector<double> periods;
  std::vector<double> relative;
  for (std::int64_t i = 0; i < array.size(); ++i) {
    periods.push_back(2 * std::numbers::pi / frequencies(0, 0, i) / array[i]);
    relative.push_back(1);
  }
  compare(periods, relative, one.tolerance(), "periods", tally);
}

void run_dinov3(const Case& one, Tally& tally) {
  Grid grid = dinov3_grid(one.param<std::int64_t>("grid_h"), one.param<std::int64_t>("grid_w"),
                          one.param<std::string>("normalize_coords", "separate"), 0);
  // What training adds is drawn at random; the file says what was drawn.
  for (const char* const name : {"shift_hw", "jitter_hw", "rescale"}) {
    if (!one.has(name)) continue;
    const Array drawn = one.array(name);
    for (std::vector<double>& token : grid) {
      for (std::size_t axis = 0; axis < 2; ++axis) {
        const double value = drawn[drawn.size() == 1 ? 0 : static_cast<std::int64_t>(axis)];
        token[axis] = std::string(name) == "shift_hw" ? token[axis] + value : token[axis] * value;
      }
    }
  }
  const Setup setup = {.pairing = pairing_of(one),
                       .frequencies = two_axes_of_periods(one, "base"),
                       .positions = listed(grid),
                       .first_tokens = one.param<std::int64_t>("num_prefix", 0)};
  check_periods(one, setup.frequencies, tally);
  if (one.has("y")) {
    check_table(one, setup, tally);
    check_rotation(one, setup, tally);
  } else {
    check_table(one, setup, tally);
    check_rotation_by_table(one, setup, tally);
  }
}

void run_timm_dinov3(const Case& one, Tally& tally) {
  const auto shape = one.param<std::vector<std::int64_t>>("feat_shape_HW");
  const bool is_half = one.param<bool>("rotate_half", true);
  CHECK(is_half == (pairing_of(one) == rope::Pairing::half_split));
  const Setup setup = {
      .pairing = pairing_of(one),
      .frequencies = two_axes_of_periods(one, "temperature"),
      .positions = listed(dinov3_grid(shape.at(0), shape.at(1),
                                      one.param<std::string>("normalize_coords", "separate"),
                                      one.param<double>("grid_offset", 0))),
      .first_tokens = one.param<std::int64_t>("num_prefix", 0)};
  check_periods(one, setup.frequencies, tally);
  check_table(one, setup, tally);
  check_rotation(one, setup, tally);
}

void run_eva02(const Case& one, Tally& tally) {
  const auto side = one.param<std::int64_t>("ft_seq_len");
  const double scale = one.param<double>("pt_seq_len") / static_cast<double>(side);
  Grid grid = row_column_grid(side, side);
  for (std::vector<double>& token : grid) {
    for (double& position : token) position *= scale;
  }
  const Setup setup = {
      .pairing = pairing_of(one),
      .frequencies = two_axes(one.param<std::int64_t>("head_dim"), one.param<double>("theta")),
      .positions = listed(grid),
      .first_tokens = one.param<std::int64_t>("num_prefix", 0)};
  check_table(one, setup, tally);
  check_rotation(one, setup, tally);
}

rope::Frequencies timm_cat_frequencies(const Case& one) {
  const auto head_dim = one.param<std::int64_t>("head_dim");
  if (!one.param<bool>("in_pixels", false)) {
    return two_axes(head_dim, one.param<double>("temperature", 10000.0));
  }
  const rope::Frequencies ladder = rope::pixel_frequencies(
      {.pairs = head_dim / 4,
       .max_frequency = one.param<double>("max_res", 224),
       .spacing = one.param<bool>("linear_bands", false) ? rope::Spacing::linear
                                                         : rope::Spacing::logarithmic});
  return rope::axis_blocks({{0, ladder}, {1, ladder}});
}

/// {row, column} of each token in row-major order, or {column, row}.
Grid timm_cat_grid(const Case& one, const std::vector<std::int64_t>& shape) {
  std::vector<std::vector<double>> values;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t count = shape.at(axis);
    std::vector<double> own = one.param<bool>("in_pixels", false)
                                  ? linspace(-1, 1, count)
                                  : counted(count, one.param<double>("grid_offset", 0));
    if (one.has_param("ref_feat_shape")) {
      const double reference =
          static_cast<double>(one.param<std::vector<std::int64_t>>("ref_feat_shape").at(axis));
      for (double& value : own) value = value / static_cast<double>(count) * reference;
    }
    values.push_back(own);
  }
  const Grid grid = product_grid(values);
  const auto indexing = one.param<std::string>("grid_indexing", "ij");
  if (indexing != "ij" && indexing != "xy") {
    throw std::runtime_error("grid_indexing " + indexing);
  }
  return indexing == "xy" ? swapped(grid) : grid;
}

/// A batch of images padded to one length. The original gives padding cos = 0 as well as sin = 0,
/// which would erase those tokens; here they are left alone, by slices or by position 0.
void run_timm_cat_batch(const Case& one, Tally& tally) {
  const Array emb = one.array("emb");
  const rope::Frequencies frequencies = timm_cat_frequencies(one);
  const auto shapes = one.param<std::vector<std::vector<std::int64_t>>>("shapes");
  const auto tokens = one.param<std::int64_t>("seq_len");
  const std::int64_t width = emb.shape.at(2);
  REQUIRE(width == 4 * frequencies.pairs());
  std::vector<double> positions;
  for (const auto& shape : shapes) {
    Grid grid = timm_cat_grid(one, shape);
    REQUIRE(static_cast<std::int64_t>(grid.size()) <= tokens);
    grid.resize(static_cast<std::size_t>(tokens), std::vector<double>{0, 0});
    for (const auto& token : grid) positions.insert(positions.end(), token.begin(), token.end());
  }
  const rope::TokenTable<double> table(frequencies,
                                       rope::Coordinates(positions, {shapes.size(), tokens, 2}));
  std::vector<double> found;
  std::vector<double> expected;
  for (std::int64_t b = 0; b < table.batch(); ++b) {
    const auto& shape = shapes[static_cast<std::size_t>(b)];
    for (std::int64_t t = 0; t < tokens; ++t) {
      const bool is_padding = t >= shape.at(0) * shape.at(1);
      for (std::int64_t i = 0; i < width; ++i) {
        const bool is_cos = i >= width / 2;
        const auto pair = static_cast<std::size_t>(i % (width / 2) / 2);
        const double entry = emb[(b * tokens + t) * width + i];
        found.push_back(is_cos ? table.cos(b, t)[pair] : table.sin(b, t)[pair]);
        if (is_padding) CHECK(entry == 0);
        expected.push_back(is_padding && is_cos ? 1 : entry);
      }
    }
  }
  compare(found, expected, one.tolerance(), "tables of a padded batch", tally);
  // And turned: x of ones becomes cos - sin and sin + cos.
  const Block block = {table.batch(), 1, tokens, width / 2};
  std::vector<double> x(static_cast<std::size_t>(tokens * table.batch() * width / 2), 1.0);
  rope::rotate<rope::Pairing::interleaved>(
      rope::bhtd(x, {block.batch, block.heads, block.tokens, block.dim}), table);
  std::vector<double> turned;
  for (std::int64_t row = 0; row < block.batch * tokens; ++row) {
    for (std::int64_t i = 0; i < width / 2; ++i) {
      const auto at = static_cast<std::size_t>(row * width + i);
      const double sin = expected[at];
      const double cos = expected[at + static_cast<std::size_t>(width / 2)];
      turned.push_back(i % 2 == 0 ? cos - sin : sin + cos);
    }
  }
  compare(x, turned, 2 * one.tolerance(), "tensors rotated in double", tally);
}

void run_timm_cat(const Case& one, Tally& tally) {
  if (one.has("emb")) {
    run_timm_cat_batch(one, tally);
    return;
  }
  const Setup setup = {.pairing = pairing_of(one),
                       .frequencies = timm_cat_frequencies(one),
                       .positions = listed(timm_cat_grid(
                           one, one.param<std::vector<std::int64_t>>("feat_shape_HW"))),
                       .first_tokens = one.param<std::int64_t>("num_prefix", 0)};
  if (one.has("bands")) {
    // In pixel mode up to pi * max_res / 2, in float32.
    const Array bands = one.array("bands");
    std::vector<double> relative;
    for (std::int64_t i = 0; i < bands.size(); ++i) {
      relative.push_back(setup.frequencies(0, 0, i) / bands[i]);
    }
    compare(relative, std::vector<double>(relative.size(), 1.0), 1e-6, "frequencies", tally);
  }
  check_table(one, setup, tally);
  check_rotation(one, setup, tally);
}

template <class T>
void run_gemma4_rotation(const Case& one, const Setup& setup, Tally& tally) {
  const Array expected = one.array("y");
  const Block block = block_of(expected);
  std::vector<T> x = input<T>(block);
  const rope::TokenTable<T> table(setup.frequencies, setup.positions);
  rope::rotate_axes<rope::Pairing::half_split>(
      rope::bhtd(x, {block.batch, block.heads, block.tokens, block.dim}), table,
      {.axis_dims = {block.dim / 2, block.dim / 2}});
  compare({x.begin(), x.end()}, expected.values, one.tolerance(), "tensors rotated axis by axis",
          tally);
}

void run_gemma4(const Case& one, Tally& tally) {
  const auto head_dim = one.param<std::int64_t>("head_dim");
  const Setup setup = {.pairing = rope::Pairing::half_split,
                       .frequencies = two_axes(head_dim, one.param<double>("theta")),
                       .positions = listed(swapped(row_column_grid(
                           one.param<std::int64_t>("grid_h"), one.param<std::int64_t>("grid_w"))))};
  check_ladder(one, "inv_freq", setup.frequencies, tally);
  // Over each half of the head, every entry twice.
  const rope::TokenTable<double> table(setup.frequencies, setup.positions);
  for (const char* const name : {"cos", "sin"}) {
    const Array array = one.array(name);
    std::vector<double> found;
    for (std::int64_t token = 0; token < table.tokens(); ++token) {
      const auto row = std::string(name) == "cos" ? table.cos(0, token) : table.sin(0, token);
      for (std::int64_t i = 0; i < head_dim; ++i) {
        const std::int64_t quarter = head_dim / 4;
        found.push_back(row[static_cast<std::size_t>(i / (head_dim / 2) * quarter + i % quarter)]);
      }
    }
    compare(found, array.values, one.tolerance(), "tables", tally);
  }
  run_gemma4_rotation<float>(one, setup, tally);
  run_gemma4_rotation<double>(one, setup, tally);
}

void run_llama4(const Case& one, Tally& tally) {
  const auto side = one.param<std::int64_t>("grid");
  const auto last = one.param<std::int64_t>("num_suffix_cls", 0);
  const Grid patches = swapped(product_grid({counted(side, 1), counted(side, 1)}));
  const rope::Frequencies frequencies =
      two_axes(one.param<std::int64_t>("head_dim"), one.param<double>("theta"));
  // The class token has a row of its own there, with no angle.
  Grid all = patches;
  all.resize(all.size() + static_cast<std::size_t>(last), std::vector<double>{0, 0});
  const Setup with_rows = {
      .pairing = pairing_of(one), .frequencies = frequencies, .positions = listed(all)};
  check_table(one, with_rows, tally);
  check_rotation(one, with_rows, tally);
  const Setup with_slice = {.pairing = pairing_of(one),
                            .frequencies = frequencies,
                            .positions = listed(patches),
                            .last_tokens = last};
  check_rotation(one, with_slice, tally);
}

/// Merge blocks of size x size patches, one after another.
Grid merge_block_grid(std::int64_t height, std::int64_t width, std::int64_t size) {
  Grid grid;
  for (std::int64_t block_row = 0; block_row < height / size; ++block_row) {
    for (std::int64_t block_column = 0; block_column < width / size; ++block_column) {
      for (std::int64_t row = 0; row < size; ++row) {
        for (std::int64_t column = 0; column < size; ++column) {
          grid.push_back({static_cast<double>(block_row * size + row),
                          static_cast<double>(block_column * size + column)});
        }
      }
    }
  }
  return grid;
}

void run_qwen_vision(const Case& one, Tally& tally) {
  Grid grid;
  for (const auto& image : one.param<std::vector<std::vector<std::int64_t>>>("grid_thw")) {
    const Grid frame =
        merge_block_grid(image.at(1), image.at(2), one.param<std::int64_t>("spatial_merge_size"));
    for (std::int64_t t = 0; t < image.at(0); ++t) {
      grid.insert(grid.end(), frame.begin(), frame.end());
    }
  }
  const Setup setup = {
      .pairing = pairing_of(one),
      .frequencies = two_axes(one.param<std::int64_t>("head_dim"), one.param<double>("theta")),
      .positions = listed(grid)};
  check_ladder(one, "inv_freq", setup.frequencies, tally);
  if (one.has("angles")) {
    std::vector<double> angles;
    for (const std::vector<double>& token : grid) {
      for (std::int64_t i = 0; i < setup.frequencies.pairs(); ++i) {
        angles.push_back(token[0] * setup.frequencies(0, 0, i) +
                         token[1] * setup.frequencies(1, 0, i));
      }
    }
    compare(angles, one.array("angles").values, one.tolerance(), "angles", tally);
  }
  check_table(one, setup, tally);
  check_rotation(one, setup, tally);
}

}  // namespace

std::vector<Family> axial_families() {
  return {
      {"naver_axial", run_naver_axial},
      {"sam2_axial", run_sam2},
      {"dinov3", run_dinov3},
      {"timm_dinov3", run_timm_dinov3},
      {"eva02", run_eva02},
      {"timm_cat", run_timm_cat},
      {"gemma4_vision", run_gemma4},
      {"llama4_vision", run_llama4},
      {"qwen_vision", run_qwen_vision},
  };
}

}  // namespace rope_test::nd
