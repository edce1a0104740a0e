#include "rope/spatial/mixed.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rope/spatial/random_directions.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using rope_test::require_throws;

const long double pi = std::acos(-1.0L);

/// Gives the numbers of a list, over and over.
template <std::uint64_t lowest, std::uint64_t highest>
class Listed {
 public:
  using result_type = std::uint64_t;
  explicit Listed(std::vector<std::uint64_t> numbers) : numbers_(std::move(numbers)) {}
  static constexpr result_type min() { return lowest; }
  static constexpr result_type max() { return highest; }
  result_type operator()() { return numbers_[drawn_++ % numbers_.size()]; }
  std::size_t drawn() const { return drawn_; }

 private:
  std::vector<std::uint64_t> numbers_;
  std::size_t drawn_ = 0;
};

/// What an angle of Mixed RoPE makes of pair `j` of `pairs`.
std::array<long double, 2> mixed_pair(long double angle, long double base, std::int64_t j,
                                      std::int64_t pairs) {
  const std::int64_t k = j % (pairs / 2);
  const long double size =
      std::pow(base, -4.0L * static_cast<long double>(k) / static_cast<long double>(2 * pairs));
  const long double turned = j < pairs / 2 ? angle : angle + pi / 2;
  return {size * std::cos(turned), size * std::sin(turned)};
}

TEST_CASE("Mixed RoPE starts as axial RoPE, turned by an angle for each layer and head") {
  const std::vector<double> angles = {0, 1, -2.5, 3, 100, 0.125};
  const auto layers =
      rope::mixed_frequencies({.layers = 3, .heads = 2, .rotary_dim = 20, .base = 50}, angles);
  REQUIRE(layers.size() == 3);
  for (std::int64_t layer = 0; layer < 3; ++layer) {
    const rope::Frequencies& f = layers[static_cast<std::size_t>(layer)];
    REQUIRE(f.axes() == 2);
    REQUIRE(f.heads() == 2);
    REQUIRE(f.pairs() == 10);
    for (std::int64_t h = 0; h < 2; ++h) {
      for (std::int64_t j = 0; j < 10; ++j) {
        const auto expected = mixed_pair(
            static_cast<long double>(angles[static_cast<std::size_t>(2 * layer + h)]), 50, j, 10);
        for (std::int64_t axis = 0; axis < 2; ++axis) {
          CHECK(std::abs(static_cast<long double>(f(axis, h, j)) -
                         expected[static_cast<std::size_t>(axis)]) <= 0x1p-53L * 1.01L);
        }
      }
    }
  }
  // Without an angle it is axial: x in the first half of the pairs, y in the second.
  for (std::int64_t j = 0; j < 5; ++j) {
    CHECK(layers[0](1, 0, j) == 0);
    CHECK(layers[0](0, 0, 5 + j) == 0);
    CHECK(layers[0](0, 0, j) == layers[0](1, 0, 5 + j));
  }
  CHECK(layers[0](0, 0, 0) == 1);
}

TEST_CASE("The base of Mixed RoPE is 10") {
  const auto layers =
      rope::mixed_frequencies({.layers = 1, .heads = 1, .rotary_dim = 8}, std::vector<double>{0});
  CHECK(layers[0](0, 0, 1) == 0.31622776601683794);  // 1 / sqrt(10)
}

double angle_of(const rope::Frequencies& f, std::int64_t head) {
  const double angle = std::atan2(f(1, head, 0), f(0, head, 0));
  return angle < 0 ? angle + static_cast<double>(2 * pi) : angle;
}

TEST_CASE("Angles are drawn from the engine's bits, layers outermost") {
  // The first numbers of the two engines, as the standard's own example seeds give them.
  std::mt19937 engine;
  std::mt19937_64 wide;
  {
    std::mt19937 copy = engine;
    REQUIRE(copy() == 3499211612U);
    REQUIRE(copy() == 581869302U);
    std::mt19937_64 wide_copy = wide;
    REQUIRE(wide_copy() == 14514284786278117030U);
    REQUIRE(wide_copy() == 4620546740167642908U);
  }
  const long double two_pi = 2 * pi;
  const auto layers = rope::mixed_frequencies({.layers = 2, .heads = 2, .rotary_dim = 4}, engine);
  const long double first = (3499211612.0L + 581869302.0L / 4294967296.0L) / 4294967296.0L;
  CHECK(std::abs(angle_of(layers[0], 0) - static_cast<double>(two_pi * first)) < 1e-15);
  // Two draws for each of four angles.
  std::mt19937 expected;
  expected.discard(8);
  CHECK(engine == expected);

  const auto wide_layers =
      rope::mixed_frequencies({.layers = 2, .heads = 1, .rotary_dim = 4}, wide);
  constexpr long double range = 18446744073709551616.0L;
  CHECK(std::abs(angle_of(wide_layers[0], 0) -
                 static_cast<double>(two_pi * (14514284786278117030.0L / range))) < 2e-15);
  CHECK(std::abs(angle_of(wide_layers[1], 0) -
                 static_cast<double>(two_pi * (4620546740167642908.0L / range))) < 2e-15);

  // A quarter of a turn.
  Listed<0, ~std::uint64_t{0}> quarters({std::uint64_t{1} << 62});
  const auto drawn = rope::mixed_frequencies({.layers = 1, .heads = 1, .rotary_dim = 8}, quarters);
  CHECK(std::abs(drawn[0](0, 0, 0)) < 1e-30);
  CHECK(drawn[0](1, 0, 0) == 1);
}

TEST_CASE("Draws of an engine that does not fill whole bits") {
  // 1 .. 2147483646: 30 bits a draw, and what lies above is left out. 53 bits are 30 of one draw
  // and the upper 23 of another.
  Listed<1, 2147483646> engine({1 + (std::uint64_t{1} << 30), 1 + (std::uint64_t{1} << 29),
                                std::uint64_t{2147483646}, 1 + (std::uint64_t{1} << 28)});
  const auto layers = rope::mixed_frequencies({.layers = 1, .heads = 1, .rotary_dim = 4}, engine);
  CHECK(engine.drawn() == 4);
  // Half of the range, and a quarter of the 2^30-th part of it.
  const long double expected = 2 * pi * (0.5L + 0.25L / 1073741824.0L);
  CHECK(std::abs(angle_of(layers[0], 0) - static_cast<double>(expected)) < 1e-15);

  Listed<0, 1> coin({1, 0, 0});
  rope::mixed_frequencies({.layers = 1, .heads = 2, .rotary_dim = 4}, coin);
  CHECK(coin.drawn() == 106);
  Listed<10, 15> die({10, 14, 15, 13});  // 2 bits of 10 .. 13
  rope::mixed_frequencies({.layers = 1, .heads = 1, .rotary_dim = 4}, die);
  CHECK(die.drawn() == 53);  // 27 of them, every other pair left out
}

TEST_CASE("Random directions have the ladder's sizes and every direction") {
  for (const std::int64_t axes : {1, 2, 3, 5}) {
    std::mt19937_64 engine(7);
    const rope::Frequencies f = rope::random_direction_frequencies({.axes = axes,
                                                                    .heads = 40,
                                                                    .rotary_dim = 50,
                                                                    .min_frequency = 2,
                                                                    .max_frequency = 32,
                                                                    .zero_share = 0.2},
                                                                   engine);
    std::vector<double> sums(static_cast<std::size_t>(axes));
    std::vector<double> squares(static_cast<std::size_t>(axes));
    for (std::int64_t h = 0; h < 40; ++h) {
      for (std::int64_t j = 0; j < 25; ++j) {
        double square = 0;
        for (std::int64_t a = 0; a < axes; ++a) square += f(a, h, j) * f(a, h, j);
        const double size = j < 5 ? 0 : 2 * std::pow(16.0, static_cast<double>(j - 5) / 19);
        CHECK(std::abs(std::sqrt(square) - size) <= 1e-14 * size);
        if (j < 5) continue;
        for (std::int64_t a = 0; a < axes; ++a) {
          sums[static_cast<std::size_t>(a)] += f(a, h, j) / size;
          squares[static_cast<std::size_t>(a)] += f(a, h, j) * f(a, h, j) / (size * size);
        }
      }
    }
    // 800 directions: the mean of a component is 0 and that of its square 1 / axes, both to within
    // about four of their standard deviations.
    for (std::size_t a = 0; a < sums.size(); ++a) {
      if (axes > 1) CHECK(std::abs(sums[a] / 800) < 0.11);
      CHECK(std::abs(squares[a] / 800 - 1.0 / static_cast<double>(axes)) < 0.06);
    }
  }
}

TEST_CASE("Random directions by hand") {
  // An angle of an eighth of a turn, then of three eighths.
  Listed<0, ~std::uint64_t{0}> eighths({std::uint64_t{1} << 61, std::uint64_t{3} << 61});
  const rope::Frequencies plane = rope::random_direction_frequencies(
      {.axes = 2, .heads = 1, .rotary_dim = 4, .min_frequency = 1, .max_frequency = 2}, eighths);
  const double root = std::sqrt(0.5);
  CHECK(std::abs(plane(0, 0, 0) - root) < 1e-15);
  CHECK(std::abs(plane(1, 0, 0) - root) < 1e-15);
  CHECK(std::abs(plane(0, 0, 1) + 2 * root) < 1e-15);
  CHECK(std::abs(plane(1, 0, 1) - 2 * root) < 1e-15);
  // Three quantiles of the normal distribution: of 3/4, 1/4 and 7/8. They are 0.67449, -0.67449 and
  // 1.15035 (tables).
  Listed<0, ~std::uint64_t{0}> places(
      {std::uint64_t{3} << 62, std::uint64_t{1} << 62, std::uint64_t{7} << 61});
  const rope::Frequencies space = rope::random_direction_frequencies(
      {.axes = 3, .heads = 1, .rotary_dim = 2, .min_frequency = 1, .max_frequency = 1}, places);
  const double length = std::sqrt(0.67449 * 0.67449 * 2 + 1.15035 * 1.15035);
  CHECK(std::abs(space(0, 0, 0) - 0.67449 / length) < 1e-5);
  CHECK(std::abs(space(1, 0, 0) + 0.67449 / length) < 1e-5);
  CHECK(std::abs(space(2, 0, 0) - 1.15035 / length) < 1e-5);
  // The ends of the range are numbers too, and a line has one direction and takes no draw.
  Listed<0, ~std::uint64_t{0}> ends({0, ~std::uint64_t{0}, std::uint64_t{1} << 63});
  const rope::Frequencies extreme = rope::random_direction_frequencies(
      {.axes = 3, .heads = 1, .rotary_dim = 2, .min_frequency = 1, .max_frequency = 1}, ends);
  CHECK(std::abs(extreme(0, 0, 0) + root) < 1e-15);
  CHECK(std::abs(extreme(1, 0, 0) - root) < 1e-15);
  const rope::Frequencies line = rope::random_direction_frequencies(
      {.axes = 1, .heads = 1, .rotary_dim = 4, .min_frequency = 1, .max_frequency = 3}, ends);
  CHECK(line(0, 0, 0) == 1);
  CHECK(line(0, 0, 1) == 3);
  CHECK(ends.drawn() == 3);
}

TEST_CASE("Mixed RoPE and random directions refuse what they cannot be") {
  const std::vector<double> one = {0};
  const auto refused = [&](const std::string& message, const rope::Mixed& options,
                           const std::vector<double>& angles) {
    require_throws<rope::InvalidArgument>("rope::mixed_frequencies: " + message, [&] {
      rope::mixed_frequencies(options, std::span<const double>(angles));
    });
  };
  refused("rotary_dim must be a multiple of 4 and above 0, got 6",
          {.layers = 1, .heads = 1, .rotary_dim = 6}, one);
  refused("rotary_dim must be a multiple of 4 and above 0, got 0",
          {.layers = 1, .heads = 1, .rotary_dim = 0}, one);
  refused(
      "axes, heads and layers must be at least 1 and their frequencies fewer than 2^59, got "
      "axes 2, heads 1, rotary_dim 8, layers 0",
      {.layers = 0, .heads = 1, .rotary_dim = 8}, one);
  refused("base must be finite and above 1, got 1",
          {.layers = 1, .heads = 1, .rotary_dim = 8, .base = 1}, one);
  refused(
      "base must be finite and above 1, got nan",
      {.layers = 1, .heads = 1, .rotary_dim = 8, .base = std::numeric_limits<double>::quiet_NaN()},
      one);
  refused("1 angles, but 2 layers and 3 heads need 6", {.layers = 2, .heads = 3, .rotary_dim = 8},
          one);
  refused("angles[0] must be finite and at most 2^53, got inf",
          {.layers = 1, .heads = 1, .rotary_dim = 8}, {std::numeric_limits<double>::infinity()});
  std::mt19937 engine;
  require_throws<rope::InvalidArgument>(
      "rope::mixed_frequencies: rotary_dim must be a multiple of 4 and above 0, got 2",
      [&] { rope::mixed_frequencies({.layers = 1, .heads = 1, .rotary_dim = 2}, engine); });
  require_throws<rope::InvalidArgument>(
      "rope::random_direction_frequencies: rotary_dim must be even and above 0, got 3", [&] {
        rope::random_direction_frequencies(
            {.axes = 2, .heads = 1, .rotary_dim = 3, .min_frequency = 1, .max_frequency = 2},
            engine);
      });
  require_throws<rope::InvalidArgument>(
      "rope::random_direction_frequencies: zero_share must be between 0 and 1, got 2", [&] {
        rope::random_direction_frequencies({.axes = 2,
                                            .heads = 1,
                                            .rotary_dim = 4,
                                            .min_frequency = 1,
                                            .max_frequency = 2,
                                            .zero_share = 2},
                                           engine);
      });
  CHECK(engine == std::mt19937());
}

}  // namespace
