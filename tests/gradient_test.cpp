#include "rope/gradient.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rope/coordinates.hpp"
#include "rope/frequencies.hpp"
#include "rope/gradient_chain.hpp"
#include "rope/rotate.hpp"
#include "rope/scalar.hpp"
#include "rope/spatial/polar.hpp"
#include "rope/table.hpp"
#include "rope/thread_pool.hpp"
#include "rope/token_table.hpp"
#include "support/catch.hpp"
#include "support/digest.hpp"
#include "support/errors.hpp"
#include "support/pairings.hpp"
#include "support/reference.hpp"
#include "support/tensor.hpp"

namespace {

using rope::Accumulation;
using rope_test::Arrangement;
using rope_test::for_both_pairings;
using rope_test::Random;
using rope_test::require_throws;
using rope_test::Shape;
using rope_test::Tensor;

using Numbers = std::vector<double>;
constexpr rope::GradientOptions overwrite = {.accumulation = Accumulation::overwrite};
constexpr rope::GradientOptions add = {.accumulation = Accumulation::add};

std::size_t to_size(std::int64_t value) { return static_cast<std::size_t>(value); }

Numbers random_numbers(std::int64_t count, std::uint64_t seed, double scale = 1) {
  Random random(seed);
  Numbers numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(scale * random.real());
  return numbers;
}

/// A rotation to differentiate: q of a shape, and where its tokens stand.
struct Problem {
  Shape shape;
  std::int64_t axes;
  std::int64_t frequency_heads;
  std::int64_t pairs;
  std::int64_t position_batch;
  std::int64_t first_dim;
  Numbers frequencies;
  Numbers positions;

  Problem(const Shape& x, std::int64_t axis_count, std::int64_t heads, std::int64_t pair_count,
          std::int64_t batch, std::int64_t first)
      : shape(x),
        axes(axis_count),
        frequency_heads(heads),
        pairs(pair_count),
        position_batch(batch),
        first_dim(first),
        frequencies(random_numbers(axis_count * heads * pair_count, 11, 2)),
        positions(random_numbers(batch * x[1] * axis_count, 12, 3)) {}

  double frequency(const Numbers& from, std::int64_t axis, std::int64_t head,
                   std::int64_t pair) const {
    const std::int64_t h = frequency_heads == 1 ? 0 : head;
    return from[to_size((axis * frequency_heads + h) * pairs + pair)];
  }
  double position(const Numbers& from, std::int64_t batch, std::int64_t token,
                  std::int64_t axis) const {
    const std::int64_t b = position_batch == 1 ? 0 : batch;
    return from[to_size((b * shape[1] + token) * axes + axis)];
  }
  /// The sum of w * rotate(x), in long double and without the library.
  long double loss(const Tensor<double>& x, const Tensor<double>& w, rope::Pairing pairing,
                   const Numbers& f, const Numbers& p) const {
    long double sum = 0;
    for (std::int64_t b = 0; b < shape[0]; ++b) {
      for (std::int64_t t = 0; t < shape[1]; ++t) {
        for (std::int64_t h = 0; h < shape[2]; ++h) {
          for (std::int64_t j = 0; j < pairs; ++j) {
            long double angle = 0;
            for (std::int64_t a = 0; a < axes; ++a) {
              angle += static_cast<long double>(position(p, b, t, a)) *
                       static_cast<long double>(frequency(f, a, h, j));
            }
            const bool neighbours = pairing == rope::Pairing::interleaved;
            const std::int64_t i = first_dim + (neighbours ? 2 * j : j);
            const std::int64_t k = neighbours ? i + 1 : i + pairs;
            const auto x_a = static_cast<long double>(x[{b, t, h, i}]);
            const auto x_b = static_cast<long double>(x[{b, t, h, k}]);
            sum += static_cast<long double>(w[{b, t, h, i}]) *
                   (x_a * std::cos(angle) - x_b * std::sin(angle));
            sum += static_cast<long double>(w[{b, t, h, k}]) *
                   (x_a * std::sin(angle) + x_b * std::cos(angle));
          }
        }
      }
    }
    return sum;
  }

  rope::Frequencies rope_frequencies() const {
    return rope::Frequencies(frequencies, {axes, frequency_heads, pairs});
  }
  rope::CoordinateShape position_shape() const { return {position_batch, shape[1], axes}; }
  rope::CoordinatesView rope_positions() const {
    return rope::coordinates(positions, position_shape());
  }
  rope::FrequencyGradient into(Numbers& gradient) const {
    gradient.resize(frequencies.size(), 1e300);
    return {gradient, {axes, frequency_heads, pairs}};
  }
  rope::PositionGradient into_positions(Numbers& gradient) const {
    gradient.resize(positions.size(), 1e300);
    return {gradient, position_shape()};
  }
};

/// Sizes of 1, an odd number of pairs, more pairs than are held at a time, several heads and rows.
std::vector<Problem> problems() {
  return {
      {{1, 1, 1, 2}, 1, 1, 1, 1, 0},  {{2, 5, 3, 10}, 2, 3, 5, 2, 0},
      {{2, 5, 3, 10}, 2, 1, 5, 1, 0}, {{3, 4, 2, 13}, 3, 2, 3, 1, 5},
      {{1, 3, 2, 6}, 6, 2, 3, 1, 0},  {{1, 2, 1, 134}, 2, 1, 67, 1, 0},
  };
}

struct Gradients {
  Numbers frequencies;
  Numbers positions;
};

template <rope::Pairing pairing, class T>
Gradients gradients(const Problem& problem, rope::View<const T> y, rope::View<const T> g,
                    rope::ExecutorRef executor = {}) {
  const rope::GradientOptions options = {.accumulation = Accumulation::overwrite,
                                         .first_dim = problem.first_dim,
                                         .executor = executor};
  Gradients result;
  rope::frequency_gradient<pairing>(y, g, problem.rope_positions(),
                                    problem.into(result.frequencies), options);
  rope::position_gradient<pairing>(y, g, problem.rope_frequencies(),
                                   problem.into_positions(result.positions), options);
  return result;
}

template <rope::Pairing pairing>
Tensor<double> rotated(const Problem& problem, Tensor<double> x) {
  rope::rotate<pairing>(
      x.view(), rope::TokenTable<double>(problem.rope_frequencies(), problem.rope_positions()),
      {.first_dim = problem.first_dim});
  return x;
}

TEST_CASE("gradients by hand") {
  // y = (3, 4) and its gradient (5, 7): r = 7 * 3 - 5 * 4 = 1.
  const std::vector<float> y = {3, 4};
  const std::vector<float> g = {5, 7};
  const Numbers positions = {2, -1};
  Numbers frequencies(2);
  const auto y_view = rope::thd(y, {1, 1, 2});
  const auto g_view = rope::thd(g, {1, 1, 2});
  rope::frequency_gradient<rope::Pairing::interleaved>(
      y_view, g_view, rope::coordinates(positions, {1, 2}), {frequencies, {2, 1, 1}}, overwrite);
  CHECK(frequencies == Numbers{2, -1});
  Numbers of_positions(2);
  rope::position_gradient<rope::Pairing::half_split>(
      y_view, g_view, rope::Frequencies({0.25, 8}, {2, 1, 1}), {of_positions, {1, 2}}, overwrite);
  CHECK(of_positions == Numbers{0.25, 8});
}

TEST_CASE("gradients are the slopes of the loss") {
  constexpr double step = 1e-5;
  for (const Problem& problem : problems()) {
    for_both_pairings([&]<rope::Pairing pairing>() {
      const auto x = Tensor<double>::random(problem.shape, 1);
      const auto w = Tensor<double>::random(problem.shape, 2);
      const auto y = rotated<pairing>(problem, x);
      const Gradients found =
          gradients<pairing, double>(problem, std::as_const(y).view(), w.view());
      const auto slope = [&](Numbers f, Numbers p, bool of_frequency, std::size_t i) {
        double& value = of_frequency ? f[i] : p[i];
        const double before = value;
        value = before + step;
        const long double above = problem.loss(x, w, pairing, f, p);
        value = before - step;
        const long double below = problem.loss(x, w, pairing, f, p);
        return static_cast<double>((above - below) / (static_cast<long double>(before + step) -
                                                      static_cast<long double>(before - step)));
      };
      for (std::size_t i = 0; i < problem.frequencies.size(); ++i) {
        CHECK(std::abs(found.frequencies[i] -
                       slope(problem.frequencies, problem.positions, true, i)) < 2e-8);
      }
      for (std::size_t i = 0; i < problem.positions.size(); ++i) {
        CHECK(std::abs(found.positions[i] -
                       slope(problem.frequencies, problem.positions, false, i)) < 2e-8);
      }
      // With respect to x: the transposed rotation.
      auto gradient_x = w;
      rope::rotate_transpose<pairing>(
          gradient_x.view(),
          rope::TokenTable<double>(problem.rope_frequencies(), problem.rope_positions()),
          {.first_dim = problem.first_dim});
      const std::int64_t end = problem.first_dim + 2 * problem.pairs;
      x.for_each([&](const Shape& at) {
        auto moved = x;
        if (at[3] < problem.first_dim || at[3] >= end) return;
        if (at[1] > 1 || at[3] > 12) return;
        moved[at] = x[at] + step;
        const long double above =
            problem.loss(moved, w, pairing, problem.frequencies, problem.positions);
        moved[at] = x[at] - step;
        const long double below =
            problem.loss(moved, w, pairing, problem.frequencies, problem.positions);
        CHECK(std::abs(static_cast<double>((above - below) / (2 * static_cast<long double>(step))) -
                       gradient_x[at]) < 1e-8);
      });
    });
  }
}

TEST_CASE("gradients do not depend on how y lies in memory") {
  for (const Problem& problem : problems()) {
    for_both_pairings([&]<rope::Pairing pairing>() {
      const auto y = Tensor<float>::random(problem.shape, 3);
      const auto g = Tensor<float>::random(problem.shape, 4);
      const Gradients packed = gradients<pairing, float>(problem, y.view(), g.view());
      for (const Arrangement arrangement : rope_test::all_arrangements) {
        const auto other_y = y.rearranged(arrangement);
        const auto other_g = g.rearranged(Arrangement::gaps);
        const Gradients found = gradients<pairing, float>(problem, std::as_const(other_y).view(),
                                                          std::as_const(other_g).view());
        CHECK(found.frequencies == packed.frequencies);
        CHECK(found.positions == packed.positions);
      }
    });
  }
}

TEST_CASE("gradients of 16-bit and mixed data are those of the same numbers in float") {
  const Problem problem({2, 5, 3, 10}, 2, 3, 5, 2, 0);
  const auto y = Tensor<float>::random(problem.shape, 3);
  const auto g = Tensor<float>::random(problem.shape, 4);
  std::vector<rope::bf16> y_narrow;
  std::vector<rope::f16> g_narrow;
  std::vector<float> y_rounded;
  std::vector<double> g_rounded;
  y.for_each([&](const Shape& at) {
    y_narrow.emplace_back(y[at]);
    g_narrow.emplace_back(g[at]);
    y_rounded.push_back(static_cast<float>(y_narrow.back()));
    g_rounded.push_back(static_cast<double>(static_cast<float>(g_narrow.back())));
  });
  const rope::Extents<4> shape = {2, 5, 3, 10};
  Numbers narrow;
  Numbers wide;
  rope::frequency_gradient<rope::Pairing::half_split>(
      rope::bthd(y_narrow, shape), rope::bthd(g_narrow, shape), problem.rope_positions(),
      problem.into(narrow), overwrite);
  rope::frequency_gradient<rope::Pairing::half_split>(
      rope::bthd(y_rounded, shape), rope::bthd(g_rounded, shape), problem.rope_positions(),
      problem.into(wide), overwrite);
  CHECK(narrow == wide);
}

TEST_CASE("gradients are added or overwritten, as the caller says") {
  const Problem problem({2, 5, 3, 10}, 2, 3, 5, 2, 0);
  constexpr auto pairing = rope::Pairing::interleaved;
  const auto y = Tensor<double>::random(problem.shape, 3);
  const auto g = Tensor<double>::random(problem.shape, 4);
  const Gradients once = gradients<pairing, double>(problem, y.view(), g.view());

  Numbers frequencies(once.frequencies.size(), 0.5);
  rope::frequency_gradient<pairing>(y.view(), g.view(), problem.rope_positions(),
                                    problem.into(frequencies), add);
  Numbers positions(once.positions.size(), 0.5);
  rope::position_gradient<pairing>(y.view(), g.view(), problem.rope_frequencies(),
                                   problem.into_positions(positions), add);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    CHECK(frequencies[i] == 0.5 + once.frequencies[i]);
  }
  for (std::size_t i = 0; i < positions.size(); ++i) {
    CHECK(positions[i] == 0.5 + once.positions[i]);
  }
  // The run-time pairing is the same function.
  Numbers again;
  rope::frequency_gradient(y.view(), g.view(), problem.rope_positions(), problem.into(again),
                           {.pairing = pairing, .accumulation = Accumulation::overwrite});
  CHECK(again == once.frequencies);
  Numbers again_positions;
  rope::position_gradient(y.view(), g.view(), problem.rope_frequencies(),
                          problem.into_positions(again_positions),
                          {.pairing = pairing, .accumulation = Accumulation::overwrite});
  CHECK(again_positions == once.positions);
  rope::frequency_gradient(
      y.view(), g.view(), problem.rope_positions(), problem.into(again),
      {.pairing = rope::Pairing::half_split, .accumulation = Accumulation::overwrite});
  CHECK(again != once.frequencies);
}

TEST_CASE("without tokens the gradient is nothing") {
  const std::vector<float> none;
  for (const std::int64_t heads : {0, 2}) {
    Numbers frequencies = {3, 4};
    const auto empty = rope::thd(none, {0, heads, 4});
    const Numbers no_positions;
    const auto positions = rope::coordinates(no_positions, {0, 1});
    const auto options = [](Accumulation how) {
      return rope::PairingGradientOptions{.pairing = rope::Pairing::half_split,
                                          .accumulation = how};
    };
    rope::frequency_gradient(empty, empty, positions, {frequencies, {1, 1, 2}},
                             options(Accumulation::add));
    CHECK(frequencies == Numbers{3, 4});
    rope::frequency_gradient(empty, empty, positions, {frequencies, {1, 1, 2}},
                             options(Accumulation::overwrite));
    CHECK(frequencies == Numbers{0, 0});
    Numbers nothing;
    rope::position_gradient(empty, empty, rope::Frequencies({1, 2}, {1, 1, 2}), {nothing, {0, 1}},
                            options(Accumulation::overwrite));
    CHECK(nothing.empty());
  }
  // Tokens without heads have a gradient of 0.
  Numbers positions = {7, 8, 9};
  const auto no_heads = rope::thd(none, {3, 0, 4});
  rope::position_gradient<rope::Pairing::half_split>(
      no_heads, no_heads, rope::Frequencies({1, 2}, {1, 1, 2}), {positions, {3, 1}}, overwrite);
  CHECK(positions == Numbers{0, 0, 0});
}

TEST_CASE("attention does not see a common shift, so neither do its gradients") {
  // The loss is a sum of c * (q . k) over all pairs of tokens. Moving every token by the same
  // amount changes nothing: the sums over tokens of r, and of the positions' gradients, are 0 for q
  // and k together.
  const Problem problem({1, 6, 2, 8}, 2, 2, 4, 1, 0);
  for_both_pairings([&]<rope::Pairing pairing>() {
    const auto q = rotated<pairing>(problem, Tensor<double>::random(problem.shape, 5));
    const auto k = rotated<pairing>(problem, Tensor<double>::random(problem.shape, 6));
    Random random(7);
    Tensor<double> gradient_q(problem.shape);
    Tensor<double> gradient_k(problem.shape);
    for (std::int64_t h = 0; h < 2; ++h) {
      for (std::int64_t i = 0; i < 6; ++i) {
        for (std::int64_t j = 0; j < 6; ++j) {
          const double c = random.real();
          for (std::int64_t d = 0; d < 8; ++d) {
            gradient_q[{0, i, h, d}] += c * k[{0, j, h, d}];
            gradient_k[{0, j, h, d}] += c * q[{0, i, h, d}];
          }
        }
      }
    }
    // Positions of 1 on one axis: the frequencies' gradient is then the sum of r.
    const Numbers ones(6, 1);
    Numbers sums(8);
    Numbers only_q(8);
    const rope::FrequencyGradient into(sums, {1, 2, 4});
    const auto positions = rope::coordinates(ones, {6, 1});
    const auto& const_q = q;
    rope::frequency_gradient<pairing>(const_q.view(), gradient_q.view(), positions,
                                      rope::FrequencyGradient(only_q, {1, 2, 4}), overwrite);
    rope::frequency_gradient<pairing>(const_q.view(), gradient_q.view(), positions, into,
                                      overwrite);
    rope::frequency_gradient<pairing>(k.view(), gradient_k.view(), positions, into, add);
    for (std::size_t i = 0; i < 8; ++i) {
      CHECK(std::abs(sums[i]) < 1e-13);
      CHECK(std::abs(only_q[i]) > 1e-3);
    }
    Numbers of_positions;
    const rope::PositionGradient to = problem.into_positions(of_positions);
    rope::position_gradient<pairing>(q.view(), gradient_q.view(), problem.rope_frequencies(), to,
                                     overwrite);
    rope::position_gradient<pairing>(k.view(), gradient_k.view(), problem.rope_frequencies(), to,
                                     add);
    for (std::size_t axis = 0; axis < 2; ++axis) {
      double sum = 0;
      double sizes = 0;
      for (std::size_t t = 0; t < 6; ++t) {
        sum += of_positions[2 * t + axis];
        sizes += std::abs(of_positions[2 * t + axis]);
      }
      CHECK(std::abs(sum) < 1e-13);
      CHECK(sizes > 1);
    }
  });
}

TEST_CASE("the magnitude is in the gradient") {
  Numbers frequencies;
  Numbers larger;
  const Problem problem({1, 4, 2, 6}, 1, 2, 3, 1, 0);
  const auto x = Tensor<double>::random(problem.shape, 8);
  const auto g = Tensor<double>::random(problem.shape, 9);
  for (const double magnitude : {1.0, 2.0}) {
    auto y = x;
    rope::rotate<rope::Pairing::half_split>(
        y.view(),
        rope::TokenTable<double>(rope::Frequencies(problem.frequencies, {1, 2, 3}, magnitude),
                                 problem.rope_positions()));
    rope::frequency_gradient<rope::Pairing::half_split>(
        y.view(), g.view(), problem.rope_positions(),
        problem.into(magnitude == 1 ? frequencies : larger), overwrite);
  }
  for (std::size_t i = 0; i < 6; ++i) CHECK(larger[i] == 2 * frequencies[i]);
}

/// Runs the parts backwards, and counts them.
class Backwards {
 public:
  void operator()(std::int64_t count, const rope::TaskRef& body) {
    parts_ += count;
    for (std::int64_t i = count; i-- > 0;) body(i);
  }
  std::int64_t parts() const { return parts_; }

 private:
  std::int64_t parts_ = 0;
};

TEST_CASE("gradients have the same bits whoever computes them") {
  rope::ThreadPool two(2);
  rope::ThreadPool five(5);
  for (const std::int64_t frequency_heads : {1, 6}) {
    for (const std::int64_t position_batch : {1, 2}) {
      const Problem problem({2, 900, 6, 32}, 3, frequency_heads, 16, position_batch, 0);
      const auto y = Tensor<float>::random(problem.shape, 3);
      const auto g = Tensor<float>::random(problem.shape, 4);
      constexpr auto pairing = rope::Pairing::half_split;
      const Gradients alone = gradients<pairing, float>(problem, y.view(), g.view());
      Backwards backwards;
      for (const rope::ExecutorRef executor :
           {rope::ExecutorRef(two), rope::ExecutorRef(five), rope::ExecutorRef(backwards)}) {
        const Gradients found = gradients<pairing, float>(problem, y.view(), g.view(), executor);
        CHECK(std::memcmp(found.frequencies.data(), alone.frequencies.data(),
                          alone.frequencies.size() * sizeof(double)) == 0);
        CHECK(std::memcmp(found.positions.data(), alone.positions.data(),
                          alone.positions.size() * sizeof(double)) == 0);
      }
      CHECK(backwards.parts() > 10);
    }
  }
}

TEST_CASE("gradients have the same bits on every platform") {
  // From GCC 12 at -O2 on x86-64; compilers, contraction and -ffast-math must not change them.
  const Problem per_head({2, 300, 3, 10}, 2, 3, 5, 2, 0);
  const auto y = Tensor<double>::random(per_head.shape, 3);
  const auto g = Tensor<double>::random(per_head.shape, 4);
  const Gradients found =
      gradients<rope::Pairing::interleaved, double>(per_head, y.view(), g.view());
  CHECK(rope_test::digest(found.frequencies) == 0x6849dd4ea710cfc8);
  CHECK(rope_test::digest(found.positions) == 0x87da88ca23e9bfce);
  const Problem shared({2, 300, 3, 10}, 2, 1, 5, 1, 0);
  const Gradients sums = gradients<rope::Pairing::half_split, double>(shared, y.view(), g.view());
  CHECK(rope_test::digest(sums.frequencies) == 0xbbb9194a23255273);
  CHECK(rope_test::digest(sums.positions) == 0x402f70d644eafc07);
}

TEST_CASE("whole positions are coordinates of one axis") {
  const Problem problem({2, 5, 3, 10}, 1, 3, 5, 2, 0);
  const auto y = Tensor<float>::random(problem.shape, 3);
  const auto g = Tensor<float>::random(problem.shape, 4);
  const auto compare = [&](const rope::Positions& positions, const Numbers& same,
                           const rope::CoordinateShape& shape) {
    for_both_pairings([&]<rope::Pairing pairing>() {
      Numbers found;
      Numbers expected;
      Numbers run_time;
      rope::frequency_gradient<pairing>(y.view(), g.view(), positions, problem.into(found),
                                        overwrite);
      rope::frequency_gradient<pairing>(y.view(), g.view(), rope::coordinates(same, shape),
                                        problem.into(expected), overwrite);
      rope::frequency_gradient(y.view(), g.view(), positions, problem.into(run_time),
                               {.pairing = pairing, .accumulation = Accumulation::overwrite});
      CHECK(found == expected);
      CHECK(run_time == expected);
    });
  };
  compare(rope::from(3), {3, 4, 5, 6, 7}, {5, 1});
  const std::vector<std::int64_t> starts = {7, 100};
  compare(rope::from_each(starts), {7, 8, 9, 10, 11, 100, 101, 102, 103, 104}, {2, 5, 1});
  const std::vector<std::int32_t> ids = {5, 0, 5, 1, 99};
  compare(rope::at(ids, {5}), {5, 0, 5, 1, 99}, {5, 1});
}

TEST_CASE("gradients go on to logarithms, angles, lengths and directions") {
  constexpr double step = 1e-6;
  constexpr auto pairing = rope::Pairing::half_split;
  const Problem problem({1, 6, 2, 6}, 2, 2, 3, 1, 0);
  const auto x = Tensor<double>::random(problem.shape, 1);
  const auto w = Tensor<double>::random(problem.shape, 2);
  const Numbers logs = random_numbers(6, 20, 1.5);
  const Numbers angles = random_numbers(6, 21, 3);
  Problem polar = problem;
  const auto loss = [&](const Numbers& l, const Numbers& a) {
    Numbers f;
    for (std::size_t i = 0; i < 6; ++i) f.push_back(std::exp(l[i]) * std::cos(a[i]));
    for (std::size_t i = 0; i < 6; ++i) f.push_back(std::exp(l[i]) * std::sin(a[i]));
    return problem.loss(x, w, pairing, f, problem.positions);
  };
  const rope::Frequencies frequencies = rope::polar_frequencies(logs, angles, {2, 3});
  polar.frequencies.assign(frequencies.values().begin(), frequencies.values().end());
  const auto y = rotated<pairing>(polar, x);
  const Gradients found = gradients<pairing, double>(polar, y.view(), w.view());
  const Numbers of_logs = rope::log_frequency_gradient(found.frequencies, frequencies);
  const Numbers of_angles = rope::direction_angle_gradient(found.frequencies, frequencies);
  REQUIRE(of_logs.size() == 6);
  REQUIRE(of_angles.size() == 6);
  Numbers directions;
  for (const double angle : angles) directions.push_back(std::cos(angle));
  for (const double angle : angles) directions.push_back(std::sin(angle));
  const Numbers of_lengths =
      rope::frequency_length_gradient(found.frequencies, directions, frequencies);
  const Numbers along = rope::direction_gradient(found.frequencies, directions, frequencies);
  for (std::size_t i = 0; i < 6; ++i) {
    const auto slope = [&](bool of_log) {
      Numbers l = logs;
      Numbers a = angles;
      double& value = of_log ? l[i] : a[i];
      const double before = value;
      value = before + step;
      const long double above = loss(l, a);
      value = before - step;
      return static_cast<double>((above - loss(l, a)) / (2 * static_cast<long double>(step)));
    };
    CHECK(std::abs(of_logs[i] - slope(true)) < 1e-7);
    CHECK(std::abs(of_angles[i] - slope(false)) < 1e-7);
    // d log = w d w; the angle's gradient is that of the direction along the circle.
    CHECK(std::abs(of_lengths[i] * std::exp(logs[i]) - of_logs[i]) < 1e-12);
    CHECK(std::abs(along[i] * -std::sin(angles[i]) + along[6 + i] * std::cos(angles[i]) -
                   of_angles[i]) < 1e-12);
    CHECK(std::abs(along[i] * std::cos(angles[i]) + along[6 + i] * std::sin(angles[i])) < 1e-12);
  }
}

TEST_CASE("frequencies of 0 move once they are learned, and stay when masked") {
  Problem problem({1, 6, 2, 6}, 2, 2, 3, 1, 0);
  // Pair 0 of head 0 is 0 on both axes, two others on one only.
  problem.frequencies[0] = problem.frequencies[6] = 0;
  problem.frequencies[4] = problem.frequencies[9] = 0;
  const auto x = Tensor<double>::random(problem.shape, 1);
  const auto w = Tensor<double>::random(problem.shape, 2);
  const auto y = rotated<rope::Pairing::half_split>(problem, x);
  Gradients found = gradients<rope::Pairing::half_split, double>(problem, y.view(), w.view());
  const Numbers before = found.frequencies;
  for (const double value : before) CHECK(std::abs(value) > 1e-3);
  const rope::Frequencies frequencies = problem.rope_frequencies();
  CHECK(rope::log_frequency_gradient(before, frequencies)[0] == 0);
  Numbers directions(12);
  directions[0] = 1;
  CHECK(rope::frequency_length_gradient(before, directions, frequencies)[0] == before[0]);
  rope::keep_zero_frequencies(found.frequencies, frequencies);
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(found.frequencies[i] == (i == 0 || i == 6 ? 0 : before[i]));
  }
}

TEST_CASE("gradients refuse what does not fit, and then write nothing") {
  const Problem problem({2, 5, 3, 10}, 2, 3, 5, 2, 0);
  auto y = Tensor<float>::random(problem.shape, 3);
  const auto g = Tensor<float>::random(problem.shape, 4);
  Numbers gradient(30, 42);
  const auto frequency = [&](const std::string& message, auto call) {
    require_throws<rope::InvalidArgument>("rope::frequency_gradient: " + message, call);
    CHECK(gradient == Numbers(30, 42));
  };
  constexpr auto pairing = rope::Pairing::half_split;
  const auto positions = problem.rope_positions();
  const rope::FrequencyGradient into(gradient, {2, 3, 5});
  const auto& const_y = y;
  frequency("y has tokens 5, but gradient_y has 4", [&] {
    rope::frequency_gradient<pairing>(const_y.view(), g.view().slice_tokens(0, 4), positions, into,
                                      overwrite);
  });
  frequency("there are frequencies for each of 3 heads, but y has 2 heads", [&] {
    rope::frequency_gradient<pairing>(const_y.view().slice_heads(0, 2), g.view().slice_heads(0, 2),
                                      positions, into, overwrite);
  });
  frequency("the rotated part, 10 dims from first_dim 1 on, is not within the 10 dims of y", [&] {
    rope::frequency_gradient<pairing>(const_y.view(), g.view(), positions, into,
                                      {.accumulation = Accumulation::add, .first_dim = 1});
  });
  frequency("positions have 1 axes, but the gradient has 2", [&] {
    const Numbers one(5);
    rope::frequency_gradient<pairing>(const_y.view(), g.view(), rope::coordinates(one, {5, 1}),
                                      into, overwrite);
  });
  frequency("positions have [3, 5] (batch or 1, tokens), but y has batch 2 and tokens 5", [&] {
    const Numbers three(30);
    rope::frequency_gradient<pairing>(const_y.view(), g.view(), rope::coordinates(three, {3, 5, 2}),
                                      into, overwrite);
  });
  frequency("whole positions have 1 axis, but the gradient has 2", [&] {
    rope::frequency_gradient<pairing>(const_y.view(), g.view(), rope::from(0), into, overwrite);
  });
  frequency("accumulation has the value 3, which names none", [&] {
    rope::frequency_gradient<pairing>(const_y.view(), g.view(), positions, into,
                                      {.accumulation = static_cast<Accumulation>(3)});
  });
  frequency("pairing has the value 9, which names no pairing", [&] {
    rope::frequency_gradient(
        const_y.view(), g.view(), positions, into,
        {.pairing = static_cast<rope::Pairing>(9), .accumulation = Accumulation::add});
  });
  require_throws<rope::OutOfRange>(
      "rope::frequency_gradient: positions: the position -1 of batch row 0, token 0 is outside the "
      "table's rows 0 .. 9007199254740991",
      [&] {
        Numbers one(15);
        rope::frequency_gradient<pairing>(const_y.view(), g.view(), rope::from(-1),
                                          {one, {1, 3, 5}}, overwrite);
      });
  {
    std::vector<double> memory(300, 1);
    const auto own = rope::bthd(memory, {2, 5, 3, 10});
    require_throws<rope::InvalidArgument>(
        "rope::frequency_gradient: the gradient and gradient_y share memory", [&] {
          rope::frequency_gradient<pairing>(const_y.view(), own, positions,
                                            {memory.data() + 10, {2, 3, 5}}, overwrite);
        });
    require_throws<rope::InvalidArgument>(
        "rope::position_gradient: the gradient and y share memory", [&] {
          rope::position_gradient<pairing>(own, g.view(), problem.rope_frequencies(),
                                           {memory.data() + 280, {2, 5, 2}}, overwrite);
        });
    CHECK(memory == Numbers(300, 1));
  }

  Numbers of_positions(20, 42);
  const auto position = [&](const std::string& message, auto call) {
    require_throws<rope::InvalidArgument>("rope::position_gradient: " + message, call);
    CHECK(of_positions == Numbers(20, 42));
  };
  const rope::PositionGradient to(of_positions, {2, 5, 2});
  position("frequencies have 3 axes, but the gradient has 2", [&] {
    rope::position_gradient<pairing>(const_y.view(), g.view(),
                                     rope::Frequencies(Numbers(45, 1), {3, 3, 5}), to, overwrite);
  });
  position("gradient has [2, 5] (batch or 1, tokens), but y has batch 2 and tokens 3", [&] {
    rope::position_gradient<pairing>(const_y.view().slice_tokens(0, 3), g.view().slice_tokens(0, 3),
                                     problem.rope_frequencies(), to, overwrite);
  });
  position("pairing has the value 9, which names no pairing", [&] {
    rope::position_gradient(
        const_y.view(), g.view(), problem.rope_frequencies(), to,
        {.pairing = static_cast<rope::Pairing>(9), .accumulation = Accumulation::add});
  });
  position("frequencies hold 0 values for 2 axes, 3 heads and 5 pairs: they were moved from", [&] {
    rope::Frequencies frequencies = problem.rope_frequencies();
    const rope::Frequencies taken = std::move(frequencies);
    rope::position_gradient<pairing>(const_y.view(), g.view(), frequencies, to, overwrite);
  });

  require_throws<rope::InvalidArgument>(
      "rope::FrequencyGradient: 30 values, but the shape [2, 3, 4] (axes, heads, pairs) needs 24",
      [&] {
        rope::FrequencyGradient(gradient, {2, 3, 4});
      });
  require_throws<rope::InvalidArgument>(
      "rope::FrequencyGradient: the shape [0, 3, 4] (axes, heads, pairs) must have extents of at "
      "least 1 and fewer than 2^60 values",
      [&] {
        rope::FrequencyGradient(gradient, {0, 3, 4});
      });
  require_throws<rope::InvalidArgument>(
      "rope::FrequencyGradient: values are null, but 6 are needed", [] {
        rope::FrequencyGradient(static_cast<double*>(nullptr), {1, 2, 3});
      });
  require_throws<rope::InvalidArgument>(
      "rope::PositionGradient: 20 values, but the shape of batch 1, tokens 5 and axes 2 needs 10",
      [&] {
        rope::PositionGradient(of_positions, {5, 2});
      });

  const rope::Frequencies frequencies = problem.rope_frequencies();
  const Numbers short_list(29);
  require_throws<rope::InvalidArgument>(
      "rope::log_frequency_gradient: gradient has 29 values and frequencies 30, but the shape [2, "
      "3, 5] (axes, heads, pairs) needs 30",
      [&] { rope::log_frequency_gradient(short_list, frequencies); });
  require_throws<rope::InvalidArgument>(
      "rope::direction_angle_gradient: frequencies must have 2 axes, got 3", [&] {
        rope::direction_angle_gradient(Numbers(45), rope::Frequencies(Numbers(45, 1), {3, 3, 5}));
      });
  require_throws<rope::InvalidArgument>(
      "rope::frequency_length_gradient: directions has 29 values and frequencies 30, but the shape "
      "[2, 3, 5] (axes, heads, pairs) needs 30",
      [&] { rope::frequency_length_gradient(Numbers(30), short_list, frequencies); });
  require_throws<rope::InvalidArgument>(
      "rope::direction_gradient: gradient has 29 values and frequencies 30, but the shape [2, 3, "
      "5] (axes, heads, pairs) needs 30",
      [&] { rope::direction_gradient(short_list, Numbers(30), frequencies); });
  Numbers untouched(29, 1);
  require_throws<rope::InvalidArgument>(
      "rope::keep_zero_frequencies: gradient has 29 values and frequencies 30, but the shape [2, "
      "3, 5] (axes, heads, pairs) needs 30",
      [&] { rope::keep_zero_frequencies(untouched, frequencies); });
}

}  // namespace
