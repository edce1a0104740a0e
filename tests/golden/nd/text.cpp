// lucidrains' two libraries: one axis and several, pixel frequencies, xPos.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "golden/nd/check.hpp"
#include "golden/nd/families.hpp"
#include "rope/rotate.hpp"
#include "rope/spatial/axial.hpp"
#include "rope/spatial/ladders.hpp"
#include "rope/spatial/xpos.hpp"
#include "support/catch.hpp"

namespace rope_test::nd {
namespace {

/// The ladder of one axis.
rope::Frequencies ladder_of(const Case& one) {
  const auto dim = one.param<std::int64_t>("dim");
  const auto kind = one.param<std::string>("freqs_for", "lang");
  if (kind == "constant") {
    const auto count = one.param<std::int64_t>("num_freqs", 1);
    return {std::vector<double>(static_cast<std::size_t>(count), 1.0), {1, 1, count}};
  }
  if (kind == "pixel") {
    return rope::pixel_frequencies({.pairs = dim / 2,
                                    .max_frequency = one.param<double>("max_freq", 10),
                                    .spacing = rope::Spacing::linear});
  }
  if (kind != "lang") throw std::runtime_error("freqs_for " + kind);
  const double rescale = one.param<double>(
      one.has_param("theta_rescale_factor") ? "theta_rescale_factor" : "base_rescale_factor", 1.0);
  rope::Parameters parameters = {.rotary_dim = dim, .base = one.param<double>("theta", 10000.0)};
  if (rescale != 1) parameters.scaling = rope::NtkBase{.factor = rescale};
  return rope::frequencies(parameters);
}

void check_ladder(const Case& one, const rope::Frequencies& ladder, Tally& tally) {
  for (const char* const name : {"freqs", "inv_freq"}) {
    if (!one.has(name)) continue;
    const Array array = one.array(name);
    std::vector<double> relative;
    for (std::int64_t i = 0; i < array.size(); ++i) {
      relative.push_back(ladder(0, 0, i) / array[i]);
    }
    REQUIRE(array.size() == ladder.pairs());
    compare(relative, std::vector<double>(relative.size(), 1.0), 1e-6, "frequencies", tally);
  }
}

/// Angles, each twice. Their error grows with their size, as both factors are float32.
void check_angles(const Case& one, const Setup& setup, const std::string& name, Tally& tally) {
  const Array array = one.array(name);
  std::vector<double> angles;
  double largest = 1;
  for (std::int64_t token = 0; token < setup.positions.tokens(); ++token) {
    for (std::int64_t i = 0; i < setup.frequencies.pairs(); ++i) {
      double angle = 0;
      for (std::int64_t axis = 0; axis < setup.frequencies.axes(); ++axis) {
        angle += setup.positions(0, token, axis) * setup.frequencies(axis, 0, i);
      }
      angles.insert(angles.end(), {angle, angle});
      largest = std::max(largest, std::abs(angle));
    }
  }
  compare(angles, array.values, 3e-7 * largest, "angles", tally);
}

void run_axial(const Case& one, Tally& tally) {
  const auto dims = one.param<std::vector<std::int64_t>>("dims");
  const auto offsets =
      one.param<std::vector<double>>("offsets", std::vector<double>(dims.size(), 0.0));
  const bool is_pixel = one.param<std::string>("freqs_for", "lang") == "pixel";
  const rope::Frequencies ladder = ladder_of(one);
  check_ladder(one, ladder, tally);
  std::vector<std::vector<double>> values;
  std::vector<rope::AxisBlock> blocks;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    values.push_back(is_pixel ? linspace(-1, 1, dims[axis]) : counted(dims[axis]));
    for (double& position : values.back()) position += offsets.at(axis);
    blocks.emplace_back(axis, ladder);
  }
  const Setup setup = {.pairing = pairing_of(one),
                       .frequencies = rope::axis_blocks(blocks),
                       .positions = listed(product_grid(values))};
  for (const char* const name : {"angles", "angles_cache_off"}) {
    if (one.has(name)) check_angles(one, setup, name, tally);
  }
  // What the original's cache makes of offsets is wrong: those files only show by how much.
  for (const char* const name :
       {"angles_default_cache_fresh", "angles_default_cache_after_no_offset_call"}) {
    if (!one.has(name)) continue;
    const Array wrong = one.array(name);
    const Array right = one.array("angles_cache_off");
    double difference = 0;
    for (std::int64_t i = 0; i < right.size(); ++i) {
      difference = std::max(difference, std::abs(right[i] - wrong[i]));
    }
    CHECK(difference > 0.1);
    ++tally["angles that a defect of the original changes, not followed"];
  }
  for (const char* const name : {"y", "y_cache_off"}) {
    if (one.has(name)) check_rotation(one, setup, tally, name);
  }
}

void run_one_axis(const Case& one, Tally& tally) {
  const rope::Frequencies ladder = ladder_of(one);
  check_ladder(one, ladder, tally);
  const double offset = one.param<double>("offset", 0);
  const double factor = one.param<double>("interpolate_factor", 1);
  std::vector<double> positions = counted(block_of(one.array("y")).tokens);
  for (double& position : positions) position = (position + offset) / factor;
  check_rotation(one,
                 {.pairing = pairing_of(one),
                  .frequencies = ladder,
                  .positions = {positions, {positions.size(), 1}}},
                 tally);
}

/// One side of xPos, or plain: token t is at `first` + t.
template <class T>
void check_side(const Case& one, const rope::Frequencies& ladder, const std::string& name,
                std::int64_t first, const rope::Xpos* xpos, Tally& tally) {
  const Array expected = one.array(name);
  const Block block = block_of(expected);
  std::vector<T> x = input<T>(block);
  const auto view = rope::bhtd(x, {block.batch, block.heads, block.tokens, block.dim});
  const rope::PairingOptions options = {.pairing = pairing_of(one)};
  const std::int64_t rows = first + block.tokens;
  if (xpos != nullptr) {
    rope::rotate(view, rope::XposTable<T>(ladder, rows, *xpos), rope::from(first), options);
  } else {
    rope::rotate(view, rope::CosSinTable<T>(ladder, rows), rope::from(first), options);
  }
  compare({x.begin(), x.end()}, expected.values, one.tolerance(),
          xpos != nullptr ? "sides of xPos" : "tensors rotated by a 1-D table", tally);
}

void check_sides(const Case& one, const rope::Frequencies& ladder, const std::string& name,
                 std::int64_t first, const rope::Xpos* xpos, Tally& tally) {
  check_side<float>(one, ladder, name, first, xpos, tally);
  check_side<double>(one, ladder, name, first, xpos, tally);
}

/// The query is the end of the keys; its scale is 1 at half of its own length, not of the keys'.
void run_query_and_keys(const Case& one, Tally& tally) {
  const rope::Frequencies ladder = ladder_of(one);
  check_ladder(one, ladder, tally);
  const std::int64_t q_len = block_of(one.array("q_out")).tokens;
  const std::int64_t k_len = block_of(one.array("k_out")).tokens;
  CHECK(q_len == one.param<std::int64_t>("q_len", q_len));
  CHECK(k_len == one.param<std::int64_t>("k_len", k_len));
  const bool has_xpos = one.has_param("xpos_scale_base") || one.param<bool>("use_xpos", false);
  const double base = one.param<double>("xpos_scale_base", 512);
  const rope::Xpos query = {.side = rope::XposSide::query, .center = q_len / 2, .scale_base = base};
  const rope::Xpos key = {.side = rope::XposSide::key, .center = k_len / 2, .scale_base = base};
  check_sides(one, ladder, "q_out", k_len - q_len, has_xpos ? &query : nullptr, tally);
  check_sides(one, ladder, "k_out", 0, has_xpos ? &key : nullptr, tally);
}

void run_lucidrains(const Case& one, Tally& tally) {
  if (one.has_param("dims")) {
    run_axial(one, tally);
  } else if (one.has("q_out")) {
    run_query_and_keys(one, tally);
  } else {
    run_one_axis(one, tally);
  }
}

void run_xtransformers(const Case& one, Tally& tally) {
  const auto tokens = one.param<std::int64_t>("T");
  const double interpolation = one.param<double>("interpolation_factor", 1);
  const rope::Frequencies plain = ladder_of(one);
  check_ladder(one, plain, tally);
  // Angles are divided by the factor: so are the frequencies.
  std::vector<double> divided(plain.values().begin(), plain.values().end());
  for (double& frequency : divided) frequency /= interpolation;
  const rope::Frequencies ladder(divided, {1, 1, divided.size()});
  if (one.has("angles")) {
    check_angles(one,
                 {.pairing = pairing_of(one),
                  .frequencies = ladder,
                  .positions = {counted(tokens), {tokens, 1}}},
                 "angles", tally);
  }
  const bool has_xpos = one.param<bool>("use_xpos", false);
  const double base = one.param<double>("scale_base", 512);
  const rope::Xpos query = {
      .side = rope::XposSide::query, .center = tokens / 2, .scale_base = base};
  const rope::Xpos key = {.side = rope::XposSide::key, .center = tokens / 2, .scale_base = base};
  check_sides(one, ladder, "q_out", 0, has_xpos ? &query : nullptr, tally);
  if (one.has("k_out")) check_sides(one, ladder, "k_out", 0, has_xpos ? &key : nullptr, tally);
  if (one.has("scale")) {
    // The scale of a query, each twice: the length of a row's pair.
    const rope::XposTable<double> table(ladder, tokens, query);
    std::vector<double> scales;
    for (std::int64_t row = 0; row < tokens; ++row) {
      for (std::size_t i = 0; i < divided.size(); ++i) {
        const double scale = std::hypot(table.cos(row)[i], table.sin(row)[i]);
        scales.insert(scales.end(), {scale, scale});
      }
    }
    compare(scales, one.array("scale").values, one.tolerance(), "scales of xPos", tally);
  }
}

}  // namespace

std::vector<Family> text_families() {
  return {{"lucidrains", run_lucidrains}, {"xtransformers", run_xtransformers}};
}

}  // namespace rope_test::nd
