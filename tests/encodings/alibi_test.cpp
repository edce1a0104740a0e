// ALiBi: the slopes of all head counts to 64, and the bias.

#include "rope/encodings/alibi.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "encodings/message.hpp"
#include "support/catch.hpp"

using rope_test::Approx;
using rope_test::message_of;

namespace {

/// The authors' rule, recursively and with the mathematics library.
std::vector<double> slopes_of(int heads) {
  int power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<double> slopes;
  if (power == heads) {
    const double start = std::exp2(-std::exp2(-(std::log2(heads) - 3)));
    for (int i = 0; i < heads; ++i) slopes.push_back(start * std::pow(start, i));
    return slopes;
  }
  slopes = slopes_of(power);
  const std::vector<double> twice = slopes_of(2 * power);
  for (int i = 0; i < heads - power; ++i) slopes.push_back(twice[static_cast<std::size_t>(2 * i)]);
  return slopes;
}

}  // namespace

TEST_CASE("slopes of 8 heads are 1/2 to 1/256, exactly") {
  CHECK(rope::alibi_slopes(8) ==
        std::vector<double>{0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625});
}

TEST_CASE("slopes of other head counts") {
  CHECK(rope::alibi_slopes(1) == std::vector<double>{0.00390625});
  CHECK(rope::alibi_slopes(2) == std::vector<double>{0.0625, 0.00390625});
  // Two of two heads, then the first of four.
  CHECK(rope::alibi_slopes(3) == std::vector<double>{0.0625, 0.00390625, 0.25});
  // The powers of 2^(-1/2), correctly rounded.
  const std::vector<double> sixteen = rope::alibi_slopes(16);
  for (std::size_t i = 0; i < 16; ++i) {
    const double whole = std::ldexp(1.0, -static_cast<int>((i + 1) / 2));
    CHECK(sixteen[i] == (i % 2 == 0 ? 0.70710678118654752440 * whole : whole));
  }
  // 12 heads: all of 8, then 2^-0.5, 2^-1.5, 2^-2.5, 2^-3.5.
  const std::vector<double> twelve = rope::alibi_slopes(12);
  CHECK(twelve[7] == 0.00390625);
  CHECK(twelve[8] == 0.70710678118654752440);
  CHECK(twelve[9] == 0.70710678118654752440 / 2);
  CHECK(twelve[11] == 0.70710678118654752440 / 8);
}

TEST_CASE("slopes of 1 to 64 heads are those of the authors' rule") {
  for (int heads = 1; heads <= 64; ++heads) {
    const std::vector<double> slopes = rope::alibi_slopes(heads);
    const std::vector<double> expected = slopes_of(heads);
    REQUIRE(slopes.size() == static_cast<std::size_t>(heads));
    for (std::size_t i = 0; i < slopes.size(); ++i) {
      INFO("heads " << heads << ", head " << i);
      CHECK(slopes[i] == Approx(expected[i]).epsilon(1e-13));
    }
  }
}

TEMPLATE_TEST_CASE("the bias is added in place", "", float, double) {
  using T = TestType;
  std::vector<T> s(2 * 3 * 3, T(1));
  rope::add_alibi(rope::scores(s, {2, 3, 3}), rope::alibi_slopes(2), {.first_query = 0});
  // Slopes 1/16 and 1/256; exact in both types.
  const std::vector<T> expected = {T(1), T(0.9375),       T(0.875),        T(0.9375),
                                   T(1), T(0.9375),       T(0.875),        T(0.9375),
                                   T(1),  //
                                   T(1), T(1 - 1. / 256), T(1 - 2. / 256), T(1 - 1. / 256),
                                   T(1), T(1 - 1. / 256), T(1 - 2. / 256), T(1 - 1. / 256),
                                   T(1)};
  CHECK(s == expected);
}

TEST_CASE("decoding with a cache, in a batch, gives the last row of the whole") {
  constexpr std::int64_t heads = 3;
  constexpr std::int64_t keys = 7;
  std::vector<double> whole(heads * keys * keys);
  rope::add_alibi(rope::scores(whole, {heads, keys, keys}), rope::alibi_slopes(heads),
                  {.first_query = 0});
  std::vector<double> last(2 * heads * keys);
  rope::add_alibi(rope::bhtd(last, {2, heads, 1, keys}), rope::alibi_slopes(heads),
                  {.first_query = keys - 1});
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t head = 0; head < 3; ++head) {
      for (std::size_t key = 0; key < 7; ++key) {
        CHECK(last[(b * 3 + head) * 7 + key] == whole[(head * 7 + 6) * 7 + key]);
      }
    }
  }
  // Where both start does not matter.
  std::vector<double> later(heads * keys * keys);
  rope::add_alibi(rope::scores(later, {heads, keys, keys}), rope::alibi_slopes(heads),
                  {.first_query = 1000, .first_key = 1000});
  CHECK(later == whole);
}

TEST_CASE("a slice of the heads takes a slice of the slopes") {
  const std::vector<double> slopes = rope::alibi_slopes(8);
  std::vector<double> all(8 * 4);
  rope::add_alibi(rope::scores(all, {8, 1, 4}), slopes, {.first_query = 3});
  std::vector<double> part(2 * 4);
  rope::add_alibi(rope::scores(part, {2, 1, 4}), std::span(slopes).subspan(4, 2),
                  {.first_query = 3});
  CHECK(part == std::vector<double>(all.begin() + 16, all.begin() + 24));
}

TEST_CASE("what cannot be right is refused, and the scores stay as they are") {
  CHECK(message_of([] { rope::alibi_slopes(0); }) ==
        "InvalidArgument: rope::alibi_slopes: heads must be at least 1, got 0");
  CHECK(message_of([] { rope::alibi_slopes(-3); }) ==
        "InvalidArgument: rope::alibi_slopes: heads must be at least 1, got -3");
  CHECK(rope::alibi_slopes(1 << 20).size() == std::size_t{1} << 20);
  CHECK(message_of([] { rope::alibi_slopes((1 << 20) + 1); }) ==
        "InvalidArgument: rope::alibi_slopes: heads must be at most 2^20, got 1048577");

  const std::vector<double> before(2 * 2 * 2, 3.0);
  std::vector<double> s = before;
  const auto view = rope::scores(s, {2, 2, 2});
  CHECK(message_of([&] { rope::add_alibi(view, rope::alibi_slopes(3), {.first_query = 0}); }) ==
        "InvalidArgument: rope::add_alibi: 3 slopes, but the scores have heads 2");
  CHECK(message_of([&] {
          const std::vector<double> slopes = {0.5, std::numeric_limits<double>::quiet_NaN()};
          rope::add_alibi(view, slopes, {.first_query = 0});
        }) == "InvalidArgument: rope::add_alibi: slopes[1] is not finite");
  CHECK(message_of([&] { rope::add_alibi(view, rope::alibi_slopes(2), {.first_query = -1}); }) ==
        "OutOfRange: rope::add_alibi: positions: 2 queries from -1 on and 2 keys from 0 on are not "
        "all within 0 .. 2^62");
  CHECK(message_of([&] {
          rope::add_alibi(view, rope::alibi_slopes(2),
                          {.first_query = (std::numeric_limits<std::int64_t>::max)()});
        }) != "nothing thrown");
  const rope::View<double> broadcast(s.data(), {1, 2, 2, 2}, {0, 0, 4, 1});
  CHECK(message_of([&] {
          rope::add_alibi(broadcast, rope::alibi_slopes(2), {.first_query = 0});
        }) != "nothing thrown");
  CHECK(s == before);
}

TEST_CASE("scores and biases: shapes") {
  std::vector<float> s(2 * 3 * 4, 1.0f);
  const auto view = rope::scores(s, {2, 3, 4});
  CHECK(view.heads() == 2);
  CHECK(view.tokens() == 3);
  CHECK(view.dim() == 4);
  CHECK(&view(0, 2, 1, 3) == &s[23]);
  CHECK(message_of([&] {
          rope::scores(s, {2, -3, 4});
        }) ==
        "InvalidArgument: rope::scores: the shape [2, -3, 4] (heads, queries, keys) has a negative "
        "extent");
  CHECK(message_of([&] { rope::scores(s, {2, 3, 5}); }) != "nothing thrown");

  const std::vector<float> bias(24, 0.5f);
  rope::add_bias(view, rope::scores(bias, {2, 3, 4}));
  CHECK(s == std::vector<float>(24, 1.5f));
  CHECK(message_of([&] {
          rope::add_bias(view, rope::scores(bias, {3, 2, 4}));
        }) ==
        "InvalidArgument: rope::add_bias: bias has the shape [1, 3, 2, 4] (batch or 1, heads, "
        "queries, keys), but the scores have [1, 2, 3, 4]");
  CHECK(message_of([&] {
          rope::add_bias(view, rope::bhtd(bias, {2, 1, 3, 4}));
        }) != "nothing thrown");
  CHECK(message_of([&] { rope::add_bias(view, rope::htd(bias, {2, 4, 3})); }) != "nothing thrown");
  CHECK(message_of([&] { rope::add_bias(view, view); }) ==
        "InvalidArgument: rope::add_bias: scores and bias share elements");
  CHECK(s == std::vector<float>(24, 1.5f));

  // One bias for both rows of a batch, or one for each.
  std::vector<float> batch(2 * 2, 0.0f);
  const std::vector<float> one = {1, 2};
  const std::vector<float> each = {1, 2, 3, 4};
  rope::add_bias(rope::bhtd(batch, {2, 1, 1, 2}), rope::scores(one, {1, 1, 2}));
  CHECK(batch == std::vector<float>{1, 2, 1, 2});
  rope::add_bias(rope::bhtd(batch, {2, 1, 1, 2}), rope::bhtd(each, {2, 1, 1, 2}));
  CHECK(batch == std::vector<float>{2, 4, 4, 6});
}
