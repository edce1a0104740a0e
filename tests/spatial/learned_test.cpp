#include "rope/spatial/learned.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "rope/coordinates.hpp"
#include "rope/rotate.hpp"
#include "rope/row_positions.hpp"
#include "rope/scalar.hpp"
#include "rope/spatial/polar.hpp"
#include "rope/table.hpp"
#include "rope/token_table.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/pairings.hpp"
#include "support/tensor.hpp"

namespace {

using rope::Learned;
using rope::LearnedLayout;
using rope_test::require_throws;

/// 2 axes, 3 layers, 2 heads, 2 pairs; each number says where it stands: axis, layer, head, pair.
const std::vector<float> by_axes = {1000, 1001, 1010, 1011, 1100, 1101, 1110, 1111,
                                    1200, 1201, 1210, 1211, 2000, 2001, 2010, 2011,
                                    2100, 2101, 2110, 2111, 2200, 2201, 2210, 2211};
/// The same, axes last.
const std::vector<float> by_layers = {1000, 2000, 1001, 2001, 1010, 2010, 1011, 2011,
                                      1100, 2100, 1101, 2101, 1110, 2110, 1111, 2111,
                                      1200, 2200, 1201, 2201, 1210, 2210, 1211, 2211};

Learned learned(LearnedLayout layout, std::int64_t layer) {
  return {.layout = layout, .axes = 2, .layers = 3, .layer = layer, .heads = 2, .pairs = 2};
}

std::vector<double> values_of(const rope::Frequencies& frequencies) {
  const std::span<const double> values = frequencies.values();
  return {values.begin(), values.end()};
}

TEST_CASE("Learned frequencies are found in both layouts of a parameter") {
  const std::vector<double> middle = {1100, 1101, 1110, 1111, 2100, 2101, 2110, 2111};
  CHECK(values_of(rope::learned_frequencies(
            by_axes, learned(LearnedLayout::axes_layers_heads_pairs, 1))) == middle);
  CHECK(values_of(rope::learned_frequencies(
            by_layers, learned(LearnedLayout::layers_heads_pairs_axes, 1))) == middle);
  const std::vector<double> last = {1200, 1201, 1210, 1211, 2200, 2201, 2210, 2211};
  CHECK(values_of(rope::learned_frequencies(
            by_axes.data(), learned(LearnedLayout::axes_layers_heads_pairs, 2))) == last);
  const rope::Frequencies frequencies =
      rope::learned_frequencies(by_layers, learned(LearnedLayout::layers_heads_pairs_axes, 2));
  CHECK(frequencies.axes() == 2);
  CHECK(frequencies.heads() == 2);
  CHECK(frequencies.pairs() == 2);
  CHECK(frequencies(1, 0, 1) == 2201);
}

TEST_CASE("A linear layer's weight is shared by all heads") {
  const std::vector<double> weight = {1, 10, 2, 20, 3, 30};
  const rope::Frequencies frequencies = rope::learned_frequencies(
      weight,
      {.layout = LearnedLayout::layers_heads_pairs_axes, .axes = 2, .heads = 1, .pairs = 3});
  CHECK(values_of(frequencies) == std::vector<double>{1, 2, 3, 10, 20, 30});
}

TEST_CASE("Storing is the way back, and leaves other layers alone") {
  for (const LearnedLayout layout :
       {LearnedLayout::axes_layers_heads_pairs, LearnedLayout::layers_heads_pairs_axes}) {
    const std::vector<float>& original =
        layout == LearnedLayout::axes_layers_heads_pairs ? by_axes : by_layers;
    std::vector<float> parameter(24, -1);
    for (const std::int64_t layer : {0, 2}) {
      const rope::Frequencies f = rope::learned_frequencies(original, learned(layout, layer));
      rope::store_learned(f.values(), parameter, learned(layout, layer),
                          rope::Accumulation::overwrite);
    }
    int kept = 0;
    for (std::size_t i = 0; i < 24; ++i) {
      const bool is_middle = static_cast<int>(original[i]) / 100 % 10 == 1;
      CHECK(parameter[i] == (is_middle ? -1 : original[i]));
      kept += is_middle ? 1 : 0;
    }
    CHECK(kept == 8);
    const std::vector<double> one(8, 1);
    rope::store_learned(one, parameter, learned(layout, 1), rope::Accumulation::add);
    rope::store_learned(one, parameter, learned(layout, 0), rope::Accumulation::add);
    for (std::size_t i = 0; i < 24; ++i) {
      const int layer = static_cast<int>(original[i]) / 100 % 10;
      CHECK(parameter[i] == (layer == 1 ? 0 : layer == 0 ? original[i] + 1 : original[i]));
    }
  }
}

TEST_CASE("Parameters of 16 bits") {
  const std::vector<rope::bf16> parameter = {rope::bf16(0.5F), rope::bf16(-3.0F)};
  const Learned shape = {
      .layout = LearnedLayout::axes_layers_heads_pairs, .axes = 1, .heads = 1, .pairs = 2};
  CHECK(values_of(rope::learned_frequencies(parameter, shape)) == std::vector<double>{0.5, -3});
  std::vector<rope::f16> stored(2, rope::f16(1.0F));
  rope::store_learned(std::vector<double>{0.5, 1.0 / 3}, stored, shape, rope::Accumulation::add);
  CHECK(static_cast<float>(stored[0]) == 1.5F);
  CHECK(static_cast<float>(stored[1]) == 1.3330078125F);  // 1365 / 1024
}

TEST_CASE("Learned frequencies of one axis are plain RoPE, bit for bit") {
  const rope::Frequencies plain = rope::frequencies({.rotary_dim = 24});
  const std::vector<double> parameter = values_of(plain);
  const rope::Frequencies same = rope::learned_frequencies(
      parameter,
      {.layout = LearnedLayout::axes_layers_heads_pairs, .axes = 1, .heads = 1, .pairs = 12});
  CHECK(values_of(same) == parameter);
  std::vector<double> positions;
  for (int t = 0; t < 700; ++t) positions.push_back(t);
  rope_test::for_both_pairings([&]<rope::Pairing pairing>() {
    const rope_test::Shape shape = {2, 700, 3, 26};
    auto x = rope_test::Tensor<float>::random(shape, 3);
    auto y = x;
    rope::rotate<pairing>(x.view(), rope::CosSinTable<float>(plain, 700), rope::from(0));
    rope::rotate<pairing>(y.view(),
                          rope::TokenTable<float>(same, rope::coordinates(positions, {700, 1})));
    CHECK(x.same_values(y));
  });
}

TEST_CASE("Frequencies from logarithms and angles") {
  const std::vector<double> logs = {0, std::log(2.0), -1, 3};
  const std::vector<double> angles = {0, 1, -2, 100};
  const rope::Frequencies f = rope::polar_frequencies(logs, angles, {2, 2});
  for (std::int64_t i = 0; i < 4; ++i) {
    const auto log = static_cast<long double>(logs[static_cast<std::size_t>(i)]);
    const auto angle = static_cast<long double>(angles[static_cast<std::size_t>(i)]);
    CHECK(std::abs(static_cast<long double>(f(0, i / 2, i % 2)) -
                   std::exp(log) * std::cos(angle)) <= std::exp(log) * 0x1p-53L * 1.01L);
    CHECK(std::abs(static_cast<long double>(f(1, i / 2, i % 2)) -
                   std::exp(log) * std::sin(angle)) <= std::exp(log) * 0x1p-53L * 1.01L);
  }
  require_throws<rope::InvalidArgument>(
      "rope::polar_frequencies: log_frequencies and angles must have the shape [2, 3] (heads, "
      "pairs), but have 4 and 4 values",
      [&] {
        rope::polar_frequencies(logs, angles, {2, 3});
      });
  require_throws<rope::InvalidArgument>(
      "rope::polar_frequencies: log_frequencies and angles must have the shape [0, 4] (heads, "
      "pairs), but have 4 and 4 values",
      [&] {
        rope::polar_frequencies(logs, angles, {0, 4});
      });
  const std::vector<double> large = {0, 0, 0, 701};
  require_throws<rope::InvalidArgument>(
      "rope::polar_frequencies: log_frequencies must be within 700 and angles within 2^53 of 0, "
      "got "
      "701 and 100 for head 1, pair 1",
      [&] {
        rope::polar_frequencies(large, angles, {2, 2});
      });
}

TEST_CASE("Learned frequencies refuse what does not fit") {
  const auto refused = [](const std::string& message, auto change) {
    Learned shape = learned(LearnedLayout::axes_layers_heads_pairs, 1);
    change(shape);
    require_throws<rope::InvalidArgument>("rope::learned_frequencies: " + message,
                                          [&] { rope::learned_frequencies(by_axes, shape); });
  };
  refused("24 parameters, but axes 2, layers 3, heads 2 and pairs 3 need 36",
          [](Learned& shape) { shape.pairs = 3; });
  refused(
      "axes, layers, heads and pairs must be at least 1 and make fewer than 2^60 values, got 0, "
      "3, 2 and 2",
      [](Learned& shape) { shape.axes = 0; });
  refused("layout has the value 9, which names no layout",
          [](Learned& shape) { shape.layout = static_cast<LearnedLayout>(9); });
  require_throws<rope::OutOfRange>("rope::learned_frequencies: layer 3 is not one of 3 layers", [] {
    rope::learned_frequencies(by_axes, learned(LearnedLayout::axes_layers_heads_pairs, 3));
  });
  require_throws<rope::InvalidArgument>(
      "rope::learned_frequencies: parameters are null, but 24 are needed", [] {
        rope::learned_frequencies(static_cast<const float*>(nullptr),
                                  learned(LearnedLayout::axes_layers_heads_pairs, 0));
      });
  std::vector<float> wrong = by_axes;
  wrong[3] = std::numeric_limits<float>::quiet_NaN();
  require_throws<rope::InvalidArgument>(
      "rope::Frequencies: values[3] must be finite, got nan", [&] {
        rope::learned_frequencies(wrong, learned(LearnedLayout::axes_layers_heads_pairs, 0));
      });
  std::vector<float> parameter = by_axes;
  const std::vector<double> seven(7, 1);
  require_throws<rope::InvalidArgument>(
      "rope::store_learned: 7 values, but axes, heads and pairs need 8", [&] {
        rope::store_learned(seven, parameter, learned(LearnedLayout::axes_layers_heads_pairs, 0),
                            rope::Accumulation::add);
      });
  require_throws<rope::InvalidArgument>(
      "rope::store_learned: accumulation has the value 5, which names none", [&] {
        rope::store_learned(std::vector<double>(8), parameter,
                            learned(LearnedLayout::axes_layers_heads_pairs, 0),
                            static_cast<rope::Accumulation>(5));
      });
  CHECK(parameter == by_axes);
}

}  // namespace
