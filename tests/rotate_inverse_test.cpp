// The inverse and the transpose: the same where the magnitude is 1, and the difference where not.
#include "rope/check_rotate.hpp"
#include "rope/rotate_inverse.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "rope/frequencies.hpp"
#include "rope/rotate.hpp"
#include "rope/table.hpp"
#include "rope/table_view.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/isa.hpp"
#include "support/own_tables.hpp"
#include "support/pairings.hpp"
#include "support/tensor.hpp"

namespace {

using rope::CosSinTable;
using rope::Frequencies;
using rope::Pairing;
using rope_test::Arrangement;
using rope_test::for_both_pairings;
using rope_test::on_every_isa;
using rope_test::Reference;
using rope_test::rotation_tolerance;
using rope_test::Sense;
using rope_test::Shape;
using rope_test::Tensor;
using rope_test::worst_error;

constexpr double magnitudes[] = {1.0, 1.13862943611, 0.5, -1.25, 3.0};

Frequencies with_magnitude(int rotary_dim, double magnitude) {
  const Frequencies plain = rope::frequencies({.rotary_dim = rotary_dim});
  return Frequencies({plain.values().begin(), plain.values().end()}, {1, 1, plain.pairs()},
                     magnitude);
}

Reference reference_of(const Frequencies& frequencies, Pairing pairing, double magnitude,
                       std::int64_t first_dim) {
  return {{frequencies.values().begin(), frequencies.values().end()},
          rope_test::partners_of(pairing),
          first_dim,
          magnitude};
}

bool close(const std::vector<double>& values, const std::vector<double>& expected) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(std::abs(values[i] - expected[i]) <= 1e-9)) return false;
  }
  return values.size() == expected.size();
}

}  // namespace

TEST_CASE("the gradient keeps the magnitude, the inverse divides by its square") {
  const CosSinTable<double> table(with_magnitude(4, 1.13862943611), 2);
  auto gradient = Tensor<double>::head({1, 0, 0, 0});
  auto inverse = gradient;
  rope::rotate_transpose<Pairing::half_split>(gradient.view(), table, rope::from(1));
  rope::rotate_inverse<Pairing::half_split>(inverse.view(), table, rope::from(1));
  CHECK(close(gradient.values(0, 0, 0), {0.6152041099, 0, -0.9581236329, 0}));
  CHECK(close(inverse.values(0, 0, 0), {0.4745198822, 0, -0.7390209300, 0}));
}

TEMPLATE_TEST_CASE("both agree with the reference in every layout", "", float, double) {
  for (const double magnitude : magnitudes) {
    const Frequencies frequencies = with_magnitude(14, magnitude);
    const CosSinTable<TestType> table(frequencies, 40);
    const auto position = [](std::int64_t, std::int64_t t) { return 35 + t; };
    const rope::RotateOptions options{.first_dim = 2};
    on_every_isa([&] {
      for_both_pairings([&]<Pairing pairing>() {
        const Reference transposed = reference_of(frequencies, pairing, magnitude, 2);
        const Reference inverted = reference_of(frequencies, pairing, 1 / magnitude, 2);
        for (const Arrangement arrangement : rope_test::all_arrangements) {
          const auto in = Tensor<TestType>::random({2, 3, 2, 18}, 21, arrangement);
          auto x = in;
          rope::rotate_transpose<pairing>(x.view(), table, rope::from(35), options);
          REQUIRE(worst_error(in, x, position, transposed, Sense::transpose) <=
                  rotation_tolerance<TestType>);
          REQUIRE(x.gaps_are_intact());
          Tensor<TestType> out(in.shape(), Arrangement::gaps);
          rope::rotate_transpose_to<pairing>(in.view(), out.view(), table, rope::from(35), options);
          REQUIRE(out.same_values(x));

          x = in;
          rope::rotate_inverse<pairing>(x.view(), table, rope::from(35), options);
          // Two roundings more: of 1 / magnitude^2, and of the row times it.
          REQUIRE(worst_error(in, x, position, inverted, Sense::transpose) <=
                  1.5L * rotation_tolerance<TestType>);
          REQUIRE(x.gaps_are_intact());
          rope::rotate_inverse_to<pairing>(in.view(), out.view(), table, rope::from(35), options);
          REQUIRE(out.same_values(x));
          REQUIRE(out.gaps_are_intact());
        }
      });
    });
  }
}

TEST_CASE("a magnitude of 1 makes the inverse and the transpose the same bits") {
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 32}), 100);
  for_both_pairings([&]<Pairing pairing>() {
    auto inverse = Tensor<float>::random({1, 50, 2, 32}, 22);
    auto transpose = inverse;
    rope::rotate_inverse<pairing>(inverse.view(), table, rope::from(50));
    rope::rotate_transpose<pairing>(transpose.view(), table, rope::from(50));
    CHECK(inverse.same_memory(transpose));
  });
}

TEST_CASE("the transpose is the gradient, by central differences") {
  // Of the loss sum(w * rotate(x)) with respect to x.
  for (const double magnitude : magnitudes) {
    const CosSinTable<double> table(with_magnitude(8, magnitude), 12);
    for_both_pairings([&]<Pairing pairing>() {
      const auto x = Tensor<double>::random({1, 2, 1, 10}, 23);
      const auto w = Tensor<double>::random({1, 2, 1, 10}, 24);
      auto gradient = w;
      rope::rotate_transpose<pairing>(gradient.view(), table, rope::from(9), {.first_dim = 1});
      const auto loss = [&](const Tensor<double>& at) {
        auto y = at;
        rope::rotate<pairing>(y.view(), table, rope::from(9), {.first_dim = 1});
        double sum = 0;
        y.for_each([&](const Shape& i) { sum += w[i] * y[i]; });
        return sum;
      };
      x.for_each([&](const Shape& i) {
        constexpr double step = 0x1p-12;
        auto above = x;
        auto below = x;
        above[i] += step;
        below[i] -= step;
        REQUIRE(std::abs((loss(above) - loss(below)) / (2 * step) - gradient[i]) <= 1e-6);
      });
    });
  }
}

TEST_CASE("both with the pairing as a run-time value, and with a table by token") {
  const std::vector<double> frequencies = {1.0, 0.3, 0.01};
  const CosSinTable<float> table(Frequencies(frequencies, {1, 1, 3}), 9);
  const rope_test::MadeForTokens<float> by_token(frequencies, {7, 8}, 1);
  const auto in = Tensor<float>::random({1, 2, 2, 6}, 25);
  for_both_pairings([&]<Pairing pairing>() {
    const rope::PairingOptions chosen{.pairing = pairing};
    auto expected = in;
    rope::rotate_inverse<pairing>(expected.view(), table, rope::from(7));
    const auto check = [&](auto rotation) {
      auto x = in;
      rotation(x.view());
      bool close_enough = true;
      x.for_each([&](const Shape& at) {
        close_enough = close_enough && std::abs(x[at] - expected[at]) <= 2e-7F;
      });
      CHECK(close_enough);
    };
    const rope::View<const float> from = in.view();
    using View = rope::View<float>;
    check([&](View x) { rope::rotate_inverse(x, table, rope::from(7), chosen); });
    check([&](View x) { rope::rotate_transpose(x, table, rope::from(7), chosen); });
    check([&](View x) { rope::rotate_inverse_to(from, x, table, rope::from(7), chosen); });
    check([&](View x) { rope::rotate_transpose_to(from, x, table, rope::from(7), chosen); });
    check([&](View x) { rope::rotate_inverse(x, by_token, chosen); });
    check([&](View x) { rope::rotate_transpose(x, by_token, chosen); });
    check([&](View x) { rope::rotate_inverse_to(from, x, by_token, chosen); });
    check([&](View x) { rope::rotate_transpose_to(from, x, by_token, chosen); });
    check([&](View x) { rope::rotate_inverse<pairing>(x, by_token); });
    check([&](View x) { rope::rotate_transpose<pairing>(x, by_token); });
    check([&](View x) { rope::rotate_inverse_to<pairing>(from, x, by_token); });
    check([&](View x) { rope::rotate_transpose_to<pairing>(from, x, by_token); });
  });
}

TEST_CASE("rows made on demand are scaled whichever half of the scratch they are in") {
  using rope_test::MadeOnDemand;
  using rope_test::ScratchOrder;
  std::vector<double> values;
  for (int i = 0; i < 2 * 300; ++i) values.push_back(std::pow(0.99, i));
  for (const double magnitude : {1.0, 1.5}) {
    for (const ScratchOrder order : {ScratchOrder::cos_first, ScratchOrder::sin_first}) {
      const MadeOnDemand<double> table(values, 2, 50, magnitude, order);
      on_every_isa([&] {
        for_both_pairings([&]<Pairing pairing>() {
          const auto in = Tensor<double>::random({1, 2, 2, 600}, 26);
          const auto position = [](std::int64_t, std::int64_t t) { return 48 + t; };
          const auto reference = [&](double size) {
            return [&, size](std::int64_t head) {
              const auto first = values.begin() + head * 300;
              return Reference{{first, first + 300}, rope_test::partners_of(pairing), 0, size};
            };
          };
          auto x = in;
          rope::rotate_transpose<pairing>(x.view(), table, rope::from(48));
          REQUIRE(rope_test::worst_error_by_head(in, x, position, reference(magnitude),
                                                 Sense::transpose) <= rotation_tolerance<double>);
          x = in;
          rope::rotate_inverse<pairing>(x.view(), table, rope::from(48));
          REQUIRE(rope_test::worst_error_by_head(in, x, position, reference(1 / magnitude),
                                                 Sense::transpose) <= rotation_tolerance<double>);
        });
      });
    }
  }
}

TEST_CASE("a magnitude that cannot be divided by is refused by the inverse alone") {
  const std::vector<float> cos(4);
  const auto table_of = [&](double magnitude) {
    return rope::table_view(cos, cos, {2, 2}, {.rotary_dim = 4, .magnitude = magnitude});
  };
  auto x = Tensor<float>::random({1, 2, 1, 4}, 27);
  const auto before = x;
  Tensor<float> out(x.shape());
  const auto out_before = out;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  struct Case {
    double magnitude;
    const char* text;
  };
  // 1e-30 has a reciprocal square in double, but not in float.
  for (const Case& bad :
       {Case{0.0, "0"}, Case{1e-200, "1e-200"}, Case{1e-30, "1e-30"}, Case{1e200, "1e+200"},
        Case{infinity, "inf"}, Case{std::numeric_limits<double>::quiet_NaN(), "nan"}}) {
    const auto table = table_of(bad.magnitude);
    const std::string rest = std::string("the table's magnitude is ") + bad.text +
                             ", and 1 over its square is no usable number";
    rope_test::require_throws<rope::InvalidArgument>("rope::rotate_inverse: " + rest, [&] {
      rope::rotate_inverse<Pairing::half_split>(x.view(), table, rope::from(0));
    });
    rope_test::require_throws<rope::InvalidArgument>("rope::rotate_inverse_to: " + rest, [&] {
      rope::rotate_inverse_to<Pairing::half_split>(before.view(), out.view(), table, rope::from(0));
    });
    const rope::Status verdict = rope::check_rotate_inverse(x.view(), table, rope::from(0));
    CHECK(std::string(verdict.message()) == "rope::rotate_inverse: " + rest);
    CHECK(rope::check_rotate(x.view(), table, rope::from(0)).ok());
    CHECK(x.same_memory(before));
    CHECK(out.same_memory(out_before));
    CHECK_NOTHROW(
        rope::rotate_transpose_to<Pairing::half_split>(x.view(), out.view(), table, rope::from(0)));
    out = out_before;
  }
}
