#include "rope/spatial/golden_gate.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "rope/coordinates.hpp"
#include "rope/rotate.hpp"
#include "rope/spatial/random_directions.hpp"
#include "rope/token_table.hpp"
#include "support/catch.hpp"
#include "support/digest.hpp"
#include "support/errors.hpp"
#include "support/tensor.hpp"

namespace {

using rope::GoldenGate;
using rope::GoldenGateForm;
using rope_test::require_throws;

constexpr GoldenGateForm all_forms[] = {GoldenGateForm::exact_2d, GoldenGateForm::exact_nd,
                                        GoldenGateForm::blog_2d,  GoldenGateForm::blog_nd,
                                        GoldenGateForm::bnnp,     GoldenGateForm::experiment};

const long double pi = std::acos(-1.0L);

/// Of two axes, so that every form can be it.
GoldenGate plane(GoldenGateForm form, std::int64_t heads, std::int64_t pairs) {
  return {.form = form,
          .axes = 2,
          .heads = heads,
          .rotary_dim = 2 * pairs,
          .min_frequency = 0.5,
          .max_frequency = 40};
}

/// x with erf x = p, by halving an interval.
long double inverse_erf(long double p) {
  long double low = -7;
  long double high = 7;
  for (int i = 0; i < 80; ++i) {
    const long double middle = (low + high) / 2;
    (std::erf(middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// The root of g^(axes + 1) = g + 1, by halving an interval.
long double root(int axes) {
  long double low = 1;
  long double high = 2;
  for (int i = 0; i < 80; ++i) {
    const long double g = (low + high) / 2;
    (std::pow(g, static_cast<long double>(axes + 1)) < g + 1 ? low : high) = g;
  }
  return (low + high) / 2;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

TEST_CASE("Golden Gate in the plane is as its formula says") {
  const std::int64_t heads = 3;
  const std::int64_t pairs = 7;
  const rope::Frequencies f =
      golden_gate_frequencies(plane(GoldenGateForm::exact_2d, heads, pairs));
  REQUIRE(f.axes() == 2);
  REQUIRE(f.heads() == heads);
  REQUIRE(f.pairs() == pairs);
  CHECK(f.magnitude() == 1);
  // The first direction is the first axis; the ladder's ends are exact.
  CHECK(f(0, 0, 0) == 0.5);
  CHECK(f(1, 0, 0) == 0.0);
  const long double spacing = pi * (std::sqrt(5.0L) - 1) / 2;
  CHECK(static_cast<double>(spacing) == rope::golden_gate_spacing);
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t j = 0; j < pairs; ++j) {
      const long double size = 0.5L * std::pow(80.0L, static_cast<long double>(j) / 6);
      const long double angle = static_cast<long double>(h * pairs + j) * spacing;
      const long double allowed = size * 0x1p-53L * 1.03L + 1e-17L;
      CHECK(std::abs(static_cast<long double>(f(0, h, j)) - size * std::cos(angle)) <= allowed);
      CHECK(std::abs(static_cast<long double>(f(1, h, j)) - size * std::sin(angle)) <= allowed);
    }
  }
}

TEST_CASE("Golden Gate in space is as its formula says") {
  for (const int axes : {1, 2, 3, 4, 5}) {
    const std::int64_t count = 40;
    const std::vector<double> found =
        rope::golden_gate_directions(GoldenGateForm::exact_nd, axes, count);
    REQUIRE(found.size() == static_cast<std::size_t>(count * axes));
    const long double g = root(axes);
    for (std::int64_t k = 1; k <= count; ++k) {
      std::vector<long double> expected;
      long double square = 0;
      for (int p = 1; p <= axes; ++p) {
        const long double multiple =
            static_cast<long double>(k) * std::pow(g, -static_cast<long double>(p));
        expected.push_back(inverse_erf(2 * (multiple - std::floor(multiple)) - 1));
        square += expected.back() * expected.back();
      }
      for (int p = 0; p < axes; ++p) {
        const double u = found[static_cast<std::size_t>((k - 1) * axes + p)];
        CHECK(std::abs(static_cast<long double>(u) -
                       expected[static_cast<std::size_t>(p)] / std::sqrt(square)) <= 2e-16L);
      }
    }
  }
}

TEST_CASE("What the published code rounds shows at the expected size") {
  // The largest errors over 12 heads of 32 pairs, found by running the original code.
  const auto error = [](GoldenGateForm published, GoldenGateForm exact, int axes) {
    return largest_difference(rope::golden_gate_directions(published, axes, 384),
                              rope::golden_gate_directions(exact, axes, 384));
  };
  const double in_plane = error(GoldenGateForm::blog_2d, GoldenGateForm::exact_2d, 2);
  CHECK(in_plane > 2.5e-5);
  CHECK(in_plane < 4.5e-5);
  const double two = error(GoldenGateForm::blog_nd, GoldenGateForm::exact_nd, 2);
  CHECK(two > 2.5e-4);
  CHECK(two < 5e-4);
  const double three = error(GoldenGateForm::blog_nd, GoldenGateForm::exact_nd, 3);
  CHECK(three > 0.8e-5);
  CHECK(three < 1.4e-5);
  const double four = error(GoldenGateForm::blog_nd, GoldenGateForm::exact_nd, 4);
  CHECK(four > 1.7e-6);
  CHECK(four < 3e-6);
  // Twenty steps are enough but for the rounding to float.
  CHECK(error(GoldenGateForm::bnnp, GoldenGateForm::exact_nd, 3) < 1e-7);
  CHECK(error(GoldenGateForm::bnnp, GoldenGateForm::exact_2d, 2) < 1e-7);
}

TEST_CASE("The four published forms are four different sets") {
  constexpr GoldenGateForm published[] = {GoldenGateForm::blog_2d, GoldenGateForm::blog_nd,
                                          GoldenGateForm::bnnp, GoldenGateForm::experiment};
  for (const GoldenGateForm a : published) {
    for (const GoldenGateForm b : published) {
      if (a == b) continue;
      CHECK(largest_difference(rope::golden_gate_directions(a, 2, 384),
                               rope::golden_gate_directions(b, 2, 384)) > 2e-5);
    }
  }
  // The experiments' set is the mirror image of the article's, the angle counted from y.
  const std::vector<double> article = rope::golden_gate_directions(GoldenGateForm::blog_2d, 2, 50);
  const std::vector<double> mirrored =
      rope::golden_gate_directions(GoldenGateForm::experiment, 2, 50);
  for (std::size_t i = 0; i < article.size(); i += 2) {
    CHECK(article[i] == mirrored[i]);
    CHECK(article[i + 1] == -mirrored[i + 1]);
  }
}

TEST_CASE("Golden Gate directions are unit vectors, spread evenly") {
  for (const GoldenGateForm form : all_forms) {
    const std::vector<double> directions = rope::golden_gate_directions(form, 2, 100);
    for (std::size_t i = 0; i < directions.size(); i += 2) {
      CHECK(std::abs(std::hypot(directions[i], directions[i + 1]) - 1) < 1.3e-7);
    }
  }
  // Between n multiples of the golden ratio of a circle the largest gap is at most the square of
  // the golden ratio times the smallest. Here the circle is half a turn: -u is as good as u.
  for (const std::int64_t count : {2, 3, 10, 32, 100}) {
    const std::vector<double> u = rope::golden_gate_directions(GoldenGateForm::exact_2d, 2, count);
    const double half_turn = static_cast<double>(pi);
    std::vector<double> angles;
    for (std::size_t i = 0; i < u.size(); i += 2) {
      const double angle = std::atan2(u[i + 1], u[i]);
      angles.push_back(angle < 0 ? angle + half_turn : angle);
    }
    std::sort(angles.begin(), angles.end());
    angles.push_back(angles.front() + half_turn);
    double least = 10;
    double greatest = 0;
    for (std::size_t i = 1; i < angles.size(); ++i) {
      least = std::min(least, angles[i] - angles[i - 1]);
      greatest = std::max(greatest, angles[i] - angles[i - 1]);
    }
    INFO(count);
    CHECK(greatest / least < 2.6181);
  }
}

TEST_CASE("Golden Gate's zeros come first, halves rounded to even") {
  const auto zeros = [](GoldenGateForm form, std::int64_t pairs, double share) {
    GoldenGate options = plane(form, 1, pairs);
    options.zero_share = share;
    const rope::Frequencies f = golden_gate_frequencies(options);
    std::int64_t count = 0;
    while (count < pairs && f(0, 0, count) == 0 && f(1, 0, count) == 0) ++count;
    // The rest goes from one end to the other.
    if (count < pairs) {
      CHECK(std::abs(std::hypot(f(0, 0, count), f(1, 0, count)) - 0.5) < 1e-7);
      if (count + 1 < pairs) {
        CHECK(std::abs(std::hypot(f(0, 0, pairs - 1), f(1, 0, pairs - 1)) - 40) < 1e-5);
      }
    }
    return count;
  };
  for (const GoldenGateForm form : {GoldenGateForm::exact_2d, GoldenGateForm::blog_2d,
                                    GoldenGateForm::blog_nd, GoldenGateForm::experiment}) {
    CHECK(zeros(form, 4, 0.125) == 0);
    CHECK(zeros(form, 6, 0.75) == 4);
    CHECK(zeros(form, 20, 0.125) == 2);
    CHECK(zeros(form, 32, 0.25) == 8);
    CHECK(zeros(form, 5, 1) == 5);
    CHECK(zeros(form, 5, 0) == 0);
    CHECK(zeros(form, 7, 3.0 / 7) == 3);
    CHECK(zeros(form, 1, 0.5) == 0);
  }
  // bnnp rounds the others: 2.5 of 5 are 2, so 3 are zero.
  CHECK(zeros(GoldenGateForm::bnnp, 5, 0.5) == 3);
  CHECK(zeros(GoldenGateForm::blog_nd, 5, 0.5) == 2);
}

TEST_CASE("Golden Gate counts directions as if no frequency were zero") {
  GoldenGate options = plane(GoldenGateForm::exact_2d, 2, 8);
  const rope::Frequencies all = golden_gate_frequencies(options);
  options.zero_share = 0.25;
  const rope::Frequencies some = golden_gate_frequencies(options);
  for (std::int64_t h = 0; h < 2; ++h) {
    for (std::int64_t j = 2; j < 8; ++j) {
      const double size = std::hypot(some(0, h, j), some(1, h, j));
      const double before = std::hypot(all(0, h, j), all(1, h, j));
      CHECK(std::abs(some(0, h, j) / size - all(0, h, j) / before) < 1e-15);
      CHECK(std::abs(some(1, h, j) / size - all(1, h, j) / before) < 1e-15);
    }
  }
}

TEST_CASE("A spacing of a right angle is nearly axial") {
  GoldenGate options = plane(GoldenGateForm::exact_2d, 1, 4);
  options.direction_spacing = static_cast<double>(pi / 2);
  const rope::Frequencies f = golden_gate_frequencies(options);
  for (std::int64_t j = 0; j < 4; ++j) {
    CHECK(std::abs(f(j % 2 == 0 ? 1 : 0, 0, j)) < 1e-14);
  }
  options.form = GoldenGateForm::experiment;
  options.direction_spacing = -2 * rope::golden_gate_spacing;
  const rope::Frequencies runs = golden_gate_frequencies(options);
  const double angle = -2.0 * static_cast<double>(pi * (std::sqrt(5.0L) - 1) / 2);
  CHECK(std::abs(std::atan2(runs(1, 0, 1), runs(0, 0, 1)) -
                 std::remainder(angle, 2 * 3.141592653589793)) < 1e-6);
}

TEST_CASE("One pair, one head and equal ends") {
  for (const GoldenGateForm form : all_forms) {
    GoldenGate options = plane(form, 1, 1);
    const rope::Frequencies f = golden_gate_frequencies(options);
    CHECK(std::abs(std::hypot(f(0, 0, 0), f(1, 0, 0)) - 0.5) < 1e-7);
    options.rotary_dim = 6;
    options.max_frequency = 0.5;
    const rope::Frequencies equal = golden_gate_frequencies(options);
    for (std::int64_t j = 0; j < 3; ++j) {
      CHECK(std::abs(std::hypot(equal(0, 0, j), equal(1, 0, j)) - 0.5) < 1e-7);
    }
  }
}

TEST_CASE("Golden Gate has the same bits on every platform") {
  // From GCC 12 at -O2 on x86-64. Whatever the compiler, its options and its mathematics library,
  // frequencies must be these: weights are trained with them.
  const auto bits = [](GoldenGateForm form, std::int64_t axes) {
    const rope::Frequencies f = rope::golden_gate_frequencies({.form = form,
                                                               .axes = axes,
                                                               .heads = 6,
                                                               .rotary_dim = 64,
                                                               .min_frequency = 0.2,
                                                               .max_frequency = 20,
                                                               .zero_share = 0.25});
    return rope_test::digest(f.values());
  };
  CHECK(bits(GoldenGateForm::exact_2d, 2) == 0x088214bf814d05e1);
  CHECK(bits(GoldenGateForm::exact_nd, 3) == 0x428ac6d5d8e8bd26);
  CHECK(bits(GoldenGateForm::blog_2d, 2) == 0xefcc8387ce1e940a);
  CHECK(bits(GoldenGateForm::blog_nd, 3) == 0x7b9c663c9c9b13a8);
}

/// Scores of one q and k at positions `a` and `b` in the plane.
template <rope::Pairing pairing>
double score(const rope::Frequencies& f, const std::vector<double>& a,
             const std::vector<double>& b) {
  const rope_test::Shape shape = {1, 1, f.heads(), f.rotary_dim()};
  auto q = rope_test::Tensor<double>::random(shape, 1);
  auto k = rope_test::Tensor<double>::random(shape, 2);
  const rope::CoordinateShape one = {1, f.axes()};
  rope::rotate<pairing>(q.view(), rope::TokenTable<double>(f, rope::coordinates(a, one)));
  rope::rotate<pairing>(k.view(), rope::TokenTable<double>(f, rope::coordinates(b, one)));
  double sum = 0;
  q.for_each([&](const rope_test::Shape& at) { sum += q[at] * k[at]; });
  return sum;
}

TEST_CASE("Scores depend on the difference of positions alone, in every direction") {
  std::mt19937_64 engine;
  const rope::Frequencies random = rope::random_direction_frequencies(
      {.axes = 2, .heads = 3, .rotary_dim = 14, .min_frequency = 0.5, .max_frequency = 40}, engine);
  std::vector<rope::Frequencies> all = {random};
  for (const GoldenGateForm form : all_forms) {
    all.push_back(golden_gate_frequencies(plane(form, 3, 7)));
  }
  for (const rope::Frequencies& f : all) {
    const double near = score<rope::Pairing::half_split>(f, {0.25, -0.5}, {-0.75, 1});
    const double moved = score<rope::Pairing::half_split>(f, {2.25, -3.5}, {1.25, -2});
    CHECK(std::abs(near - moved) < 1e-12);
    const double swapped = score<rope::Pairing::half_split>(f, {-0.5, 0.25}, {1, -0.75});
    CHECK(std::abs(near - swapped) > 1e-3);
    const double interleaved = score<rope::Pairing::interleaved>(f, {0.25, -0.5}, {-0.75, 1});
    CHECK(std::abs(interleaved - score<rope::Pairing::interleaved>(f, {2.25, -3.5}, {1.25, -2})) <
          1e-12);
  }
}

TEST_CASE("Golden Gate refuses what it cannot be") {
  const auto refused = [](const std::string& message, auto change) {
    GoldenGate options = plane(GoldenGateForm::exact_2d, 2, 4);
    change(options);
    require_throws<rope::InvalidArgument>("rope::golden_gate_frequencies: " + message,
                                          [&] { golden_gate_frequencies(options); });
  };
  refused("rotary_dim must be even and above 0, got 7", [](auto& o) { o.rotary_dim = 7; });
  refused("rotary_dim must be even and above 0, got 0", [](auto& o) { o.rotary_dim = 0; });
  refused(
      "axes, heads and layers must be at least 1 and their frequencies fewer than 2^59, got "
      "axes 2, heads 0, rotary_dim 8, layers 1",
      [](auto& o) { o.heads = 0; });
  refused(
      "axes, heads and layers must be at least 1 and their frequencies fewer than 2^59, got "
      "axes 2, heads 4611686018427387904, rotary_dim 8, layers 1",
      [](auto& o) { o.heads = std::int64_t{1} << 62; });
  refused("axes must be 2 for this form, got 3", [](auto& o) { o.axes = 3; });
  refused(
      "min_frequency must be above 0 and max_frequency not below it, both within the range of "
      "float, got 0 and 40",
      [](auto& o) { o.min_frequency = 0; });
  refused(
      "min_frequency must be above 0 and max_frequency not below it, both within the range of "
      "float, got 0.5 and 0.25",
      [](auto& o) { o.max_frequency = 0.25; });
  refused(
      "min_frequency must be above 0 and max_frequency not below it, both within the range of "
      "float, got 0.5 and inf",
      [](auto& o) { o.max_frequency = std::numeric_limits<double>::infinity(); });
  refused(
      "min_frequency must be above 0 and max_frequency not below it, both within the range of "
      "float, got nan and 40",
      [](auto& o) { o.min_frequency = std::numeric_limits<double>::quiet_NaN(); });
  refused("zero_share must be between 0 and 1, got 1.5", [](auto& o) { o.zero_share = 1.5; });
  refused("zero_share must be between 0 and 1, got -0.25", [](auto& o) { o.zero_share = -0.25; });
  refused("form has the value 17, which names no form",
          [](auto& o) { o.form = static_cast<GoldenGateForm>(17); });
  refused("direction_spacing is for exact_2d, blog_2d and experiment only, got 1", [](auto& o) {
    o.form = GoldenGateForm::bnnp;
    o.direction_spacing = 1;
  });
  refused(
      "direction_spacing must be finite and the last angle at most 2^50, got inf for 8 "
      "directions",
      [](auto& o) { o.direction_spacing = std::numeric_limits<double>::infinity(); });
  require_throws<rope::InvalidArgument>(
      "rope::golden_gate_directions: axes must be at least 1 for this form, got 0",
      [] { rope::golden_gate_directions(GoldenGateForm::blog_nd, 0, 3); });
  require_throws<rope::InvalidArgument>(
      "rope::golden_gate_directions: count must not be negative nor make more than 2^59 values, "
      "got -1",
      [] { rope::golden_gate_directions(GoldenGateForm::blog_nd, 2, -1); });
  CHECK(rope::golden_gate_directions(GoldenGateForm::blog_nd, 2, 0).empty());
}

}  // namespace
