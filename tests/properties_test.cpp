// The algebra of rotations, on random data, for every even width up to 256: laws that hold whatever
// the numbers are.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "rope/frequencies.hpp"
#include "rope/rotate.hpp"
#include "rope/rotate_inverse.hpp"
#include "rope/table.hpp"
#include "support/catch.hpp"
#include "support/pairings.hpp"
#include "support/tensor.hpp"

namespace {

using rope::CosSinTable;
using rope::Pairing;
using rope_test::for_both_pairings;
using rope_test::Shape;
using rope_test::Tensor;

constexpr std::int64_t rows = 200;

/// Calls `body.operator()<pairing>(table, x)` for every width, with x of [2, 3, 2, width].
template <class T, class Body>
void for_every_width(Body body) {
  for (int width = 2; width <= 256; width += 2) {
    const CosSinTable<T> table(rope::frequencies({.rotary_dim = width}), rows);
    const auto x = Tensor<T>::random({2, 3, 2, width}, 1000 + static_cast<std::uint64_t>(width));
    INFO("width " << width);
    for_both_pairings([&]<Pairing pairing>() {
      INFO("pairing " << static_cast<int>(pairing));
      body.template operator()<pairing>(table, x);
    });
  }
}

template <Pairing pairing, class T>
Tensor<T> rotated(Tensor<T> x, const CosSinTable<T>& table, std::int64_t position) {
  // One position for all tokens, so that a rotation is an element of the group.
  const std::vector<std::int64_t> ids(3, position);
  rope::rotate<pairing>(x.view(), table, rope::at(ids, {3}));
  return x;
}

/// Rounding errors of two rotations of values up to 1.
template <class T>
constexpr T tolerance = sizeof(T) == 4 ? T(2e-6) : T(4e-15);

template <class T>
T largest_difference(const Tensor<T>& a, const Tensor<T>& b) {
  T largest = 0;
  a.for_each([&](const Shape& at) {
    const T difference = std::abs(a[at] - b[at]);
    if (!(difference <= largest)) largest = difference;
  });
  return largest;
}

template <class T>
long double dot(const Tensor<T>& a, const Tensor<T>& b, const Shape& head) {
  long double sum = 0;
  for (std::int64_t i = 0; i < a.shape()[3]; ++i) {
    const Shape at{head[0], head[1], head[2], i};
    sum += static_cast<long double>(a[at]) * static_cast<long double>(b[at]);
  }
  return sum;
}

/// Calls `visit` for every head of every token.
template <class T, class Visit>
void for_each_head(const Tensor<T>& x, Visit visit) {
  x.for_each([&](const Shape& at) {
    if (at[3] == 0) visit(at);
  });
}

}  // namespace

TEMPLATE_TEST_CASE("rotations compose: R(a) R(b) = R(a + b)", "", float, double) {
  rope_test::Random random(1);
  for_every_width<TestType>([&]<Pairing pairing>(const auto& table, const auto& x) {
    const std::int64_t a = random.integer(0, 99);
    const std::int64_t b = random.integer(0, 99);
    const auto twice = rotated<pairing>(rotated<pairing>(x, table, b), table, a);
    const auto once = rotated<pairing>(x, table, a + b);
    REQUIRE(largest_difference(twice, once) <= tolerance<TestType>);
    REQUIRE(largest_difference(once, x) > TestType(0.01 * (a + b > 0 ? 1 : -1)));
  });
}

TEMPLATE_TEST_CASE("the inverse of a rotation gives back x", "", float, double) {
  for_every_width<TestType>([]<Pairing pairing>(const auto& table, const auto& x) {
    auto y = x;
    rope::rotate<pairing>(y.view(), table, rope::from(190));
    REQUIRE(largest_difference(y, x) > TestType(0.01));
    rope::rotate_inverse<pairing>(y.view(), table, rope::from(190));
    REQUIRE(largest_difference(y, x) <= tolerance<TestType>);
  });
}

TEMPLATE_TEST_CASE("a rotation keeps the norm", "", float, double) {
  for_every_width<TestType>([]<Pairing pairing>(const auto& table, const auto& x) {
    auto y = x;
    rope::rotate<pairing>(y.view(), table, rope::from(150));
    for_each_head(x, [&](const Shape& head) {
      const long double before = dot(x, x, head);
      REQUIRE(std::abs(dot(y, y, head) - before) <=
              static_cast<long double>(tolerance<TestType>) * before);
    });
  });
}

TEMPLATE_TEST_CASE("scores depend on the distance only", "", float, double) {
  rope_test::Random random(2);
  for_every_width<TestType>([&]<Pairing pairing>(const auto& table, const auto& q) {
    const auto k = Tensor<TestType>::random(q.shape(), 3);
    const std::int64_t m = random.integer(0, 90);
    const std::int64_t n = random.integer(0, 90);
    const std::int64_t shift = random.integer(1, 109);
    const auto q_here = rotated<pairing>(q, table, m);
    const auto k_here = rotated<pairing>(k, table, n);
    const auto q_there = rotated<pairing>(q, table, m + shift);
    const auto k_there = rotated<pairing>(k, table, n + shift);
    for_each_head(q, [&](const Shape& head) {
      const long double size = std::sqrt(dot(q, q, head) * dot(k, k, head));
      REQUIRE(std::abs(dot(q_here, k_here, head) - dot(q_there, k_there, head)) <=
              static_cast<long double>(tolerance<TestType>) * size);
    });
  });
}

TEMPLATE_TEST_CASE("position 0 is the identity, bit for bit", "", float, double) {
  for_every_width<TestType>([]<Pairing pairing>(const auto& table, auto x) {
    x[{1, 2, 1, 0}] = std::numeric_limits<TestType>::denorm_min();
    x[{1, 2, 1, 1}] = std::numeric_limits<TestType>::max();
    REQUIRE(rotated<pairing>(x, table, 0).same_values(x));
    Tensor<TestType> out(x.shape());
    const std::vector<std::int32_t> zeros(3);
    rope::rotate_to<pairing>(x.view(), out.view(), table, rope::at(zeros, {3}));
    REQUIRE(out.same_values(x));
    rope::rotate_inverse<pairing>(out.view(), table, rope::at(zeros, {3}));
    REQUIRE(out.same_values(x));
  });
}

TEMPLATE_TEST_CASE("half-split is interleaved under the permutation, bit for bit", "", float,
                   double) {
  for (int width = 2; width <= 256; width += 2) {
    const CosSinTable<TestType> table(rope::frequencies({.rotary_dim = width}), rows);
    // Pair i is features 2i, 2i + 1 in one order and i, i + width / 2 in the other.
    const auto to_halves = [&](const Tensor<TestType>& neighbours) {
      Tensor<TestType> halves(neighbours.shape());
      halves.for_each([&](const Shape& at) {
        const std::int64_t half = width / 2;
        const std::int64_t from = at[3] < half ? 2 * at[3] : 2 * (at[3] - half) + 1;
        halves[at] = neighbours[{at[0], at[1], at[2], from}];
      });
      return halves;
    };
    auto neighbours = Tensor<TestType>::random({2, 3, 2, width}, 7);
    auto halves = to_halves(neighbours);
    rope::rotate<Pairing::interleaved>(neighbours.view(), table, rope::from(120));
    rope::rotate<Pairing::half_split>(halves.view(), table, rope::from(120));
    INFO("width " << width);
    REQUIRE(halves.same_values(to_halves(neighbours)));
  }
}
