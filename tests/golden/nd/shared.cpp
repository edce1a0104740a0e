// Families with one ladder that a map shares out among the axes.
#include "rope/spatial/shared_ladder.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "golden/nd/check.hpp"
#include "golden/nd/families.hpp"
#include "rope/rotate.hpp"
#include "rope/spatial/axis_map.hpp"
#include "rope/spatial/mrope_table.hpp"
#include "rope/table.hpp"
#include "support/catch.hpp"

namespace rope_test::nd {
namespace {

/// [axes, tokens] of a file as one list of numbers for each token.
std::vector<std::vector<double>> tokens_of(const Array& ids) {
  const std::int64_t axes = ids.shape.at(0);
  const std::int64_t tokens = ids.shape.at(1);
  std::vector<std::vector<double>> listing(static_cast<std::size_t>(tokens));
  for (std::int64_t axis = 0; axis < axes; ++axis) {
    for (std::int64_t token = 0; token < tokens; ++token) {
      listing[static_cast<std::size_t>(token)].push_back(ids[axis * tokens + token]);
    }
  }
  return listing;
}

/// The same tokens with the rows picked from the ladder's own table, if all positions are whole.
template <class T>
void check_picked_rows(const Case& one, const Setup& setup, const rope::Frequencies& ladder,
                       const rope::AxisMap& map, Tally& tally) {
  const Array expected = one.array("y");
  const Block block = block_of(expected);
  const std::int64_t axes = setup.positions.axes();
  const std::int64_t tokens = setup.positions.tokens();
  std::vector<std::int64_t> ids;
  std::int64_t rows = 1;
  for (std::int64_t axis = 0; axis < axes; ++axis) {
    for (std::int64_t token = 0; token < tokens; ++token) {
      const double position = setup.positions(0, token, axis);
      if (position < 0 || position != std::floor(position)) return;
      ids.push_back(static_cast<std::int64_t>(position));
      rows = ids.back() >= rows ? ids.back() + 1 : rows;
    }
  }
  const rope::CosSinTable<T> table(ladder, rows);
  const auto picked = rope::mrope_table(table, map, ids, {axes, tokens});
  std::vector<T> x = input<T>(block);
  rope::rotate(rope::bhtd(x, {block.batch, block.heads, block.tokens, block.dim}), picked,
               {.pairing = setup.pairing});
  compare({x.begin(), x.end()}, expected.values, one.tolerance(),
          "tensors rotated by rows picked from a 1-D table", tally);
}

rope::Frequencies ladder_of(const Case& one) {
  const double part = one.param<double>("partial_rotary_factor", 1.0);
  const auto head_dim = one.param<std::int64_t>("head_dim");
  const auto rotary_dim = one.param<std::int64_t>(
      "rotary_dim", static_cast<std::int64_t>(part * static_cast<double>(head_dim)));
  return rope::frequencies(
      {.rotary_dim = rotary_dim,
       .base = one.param<double>(one.has_param("theta") ? "theta" : "temperature")});
}

void check_ladder(const Case& one, const std::vector<double>& found, Tally& tally) {
  if (!one.has("inv_freq")) return;
  compare(found, one.array("inv_freq").values, one.tolerance(), "frequencies", tally);
}
std::vector<double> values_of(const rope::Frequencies& ladder) {
  return {ladder.values().begin(), ladder.values().end()};
}

void run_mrope(const Case& one, const rope::AxisMap& map, Tally& tally) {
  const rope::Frequencies ladder = ladder_of(one);
  const Setup setup = {.pairing = pairing_of(one),
                       .frequencies = rope::share_ladder(ladder, map),
                       .positions = listed(tokens_of(one.array("position_ids")))};
  check_table(one, setup, tally);
  check_rotation(one, setup, tally);
  check_picked_rows<float>(one, setup, ladder, map, tally);
  check_picked_rows<double>(one, setup, ladder, map, tally);
}

std::vector<std::int64_t> sections_of(const Case& one) {
  return one.param<std::vector<std::int64_t>>("mrope_section");
}

/// Time, height, width.
rope::MropeSections named_sections(const Case& one) {
  const auto sections = sections_of(one);
  return {.time = sections.at(0), .height = sections.at(1), .width = sections.at(2)};
}

void run_contiguous(const Case& one, Tally& tally) {
  check_ladder(one, values_of(ladder_of(one)), tally);
  run_mrope(one, rope::contiguous_axes(sections_of(one)), tally);
}

void run_interleaved(const Case& one, Tally& tally) {
  check_ladder(one, values_of(ladder_of(one)), tally);
  run_mrope(one, rope::interleaved_axes(named_sections(one)), tally);
}

void run_videorope(const Case& one, Tally& tally) {
  check_ladder(one, values_of(ladder_of(one)), tally);
  run_mrope(one, rope::time_last_axes(named_sections(one)), tally);
}

void run_ernie(const Case& one, Tally& tally) {
  const auto sections = sections_of(one);  // height, width, time
  // The original keeps the even frequencies of height and width, then the odd ones, then time's.
  const std::vector<double> plain = values_of(ladder_of(one));
  const auto spatial = static_cast<std::size_t>(sections.at(0) + sections.at(1));
  std::vector<double> stored;
  for (std::size_t i = 0; i < spatial; i += 2) stored.push_back(plain.at(i));
  for (std::size_t i = 1; i < spatial; i += 2) stored.push_back(plain.at(i));
  for (std::size_t i = spatial; i < plain.size(); ++i) stored.push_back(plain[i]);
  check_ladder(one, stored, tally);
  run_mrope(one,
            rope::time_last_axes(
                {.time = sections.at(2), .height = sections.at(0), .width = sections.at(1)}),
            tally);
}

void run_timm_mrope(const Case& one, Tally& tally) {
  const rope::AxisMap map = rope::interleaved_axes(named_sections(one));
  const rope::Frequencies ladder = ladder_of(one);
  check_ladder(one, values_of(ladder), tally);
  compare({map.axis_of_pair.begin(), map.axis_of_pair.end()}, one.array("axis").values,
          one.tolerance(), "axis maps", tally);
  const auto shape = one.param<std::vector<std::int64_t>>("feat_shape_HW");
  const Setup setup = {
      .pairing = pairing_of(one),
      .frequencies = rope::share_ladder(ladder, map),
      .positions = listed(product_grid({{0.0}, counted(shape.at(0)), counted(shape.at(1))})),
      .first_tokens = one.param<std::int64_t>("num_prefix", 0)};
  check_table(one, setup, tally);
  check_rotation(one, setup, tally);
  if (setup.first_tokens == 0) {
    check_picked_rows<float>(one, setup, ladder, map, tally);
    check_picked_rows<double>(one, setup, ladder, map, tally);
  }
}

/// Rows and columns of several images, one after another.
std::vector<std::vector<double>> images(const Case& one) {
  std::vector<std::vector<double>> tokens;
  for (const auto& image : one.param<std::vector<std::vector<std::int64_t>>>("images_HW")) {
    const auto grid = row_column_grid(image.at(0), image.at(1));
    tokens.insert(tokens.end(), grid.begin(), grid.end());
  }
  return tokens;
}

void run_pixtral(const Case& one, Tally& tally) {
  const rope::Frequencies ladder = ladder_of(one);
  const rope::Frequencies shared = rope::share_ladder(ladder, rope::even_odd_axes(ladder.pairs()));
  const auto tokens = images(one);
  const Setup setup = {
      .pairing = pairing_of(one), .frequencies = shared, .positions = listed(tokens)};
  if (one.has("freqs_all")) {
    compare(values_of(ladder), one.array("freqs_all").values, one.tolerance(), "frequencies",
            tally);
  }
  // Row frequencies at the front, column frequencies behind them.
  std::vector<double> of_rows;
  std::vector<double> of_columns;
  for (std::int64_t i = 0; i < shared.pairs(); ++i) {
    if (shared(0, 0, i) != 0) of_rows.push_back(shared(0, 0, i));
    if (shared(1, 0, i) != 0) of_columns.push_back(shared(1, 0, i));
  }
  if (one.has("freqs_h")) {
    compare(of_rows, one.array("freqs_h").values, one.tolerance(), "frequencies", tally);
    compare(of_columns, one.array("freqs_w").values, one.tolerance(), "frequencies", tally);
  }
  if (one.has("positions")) {
    const Array array = one.array("positions");
    std::vector<double> flat;
    for (const auto& token : tokens) flat.insert(flat.end(), token.begin(), token.end());
    compare(flat, array.values, one.tolerance(), "positions", tally);
  }
  if (one.has("position_ids")) {
    const Array array = one.array("position_ids");
    const auto side = one.param<double>("max_patches_per_side");
    std::vector<double> flat;
    for (const auto& token : tokens) flat.push_back(token[0] * side + token[1]);
    compare(flat, array.values, one.tolerance(), "positions", tally);
  }
  check_table(one, setup, tally);
  check_rotation(one, setup, tally);
}

}  // namespace

std::vector<Family> shared_families() {
  return {
      {"mrope_contiguous", run_contiguous},
      {"mrope_interleaved", run_interleaved},
      {"ernie45vl", run_ernie},
      {"videorope", run_videorope},
      {"timm_mrope", run_timm_mrope},
      {"pixtral", run_pixtral},
      {"pixtral_hf", run_pixtral},
  };
}

}  // namespace rope_test::nd
