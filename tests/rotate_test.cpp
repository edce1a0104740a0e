// rotate, rotate_to and rotate_qk: numbers worked out by hand, every width and layout against a
// slow reference, and what must not be touched.
#include "rope/rotate.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "rope/frequencies.hpp"
#include "rope/table.hpp"
#include "rope/table_view.hpp"
#include "support/catch.hpp"
#include "support/isa.hpp"
#include "support/own_tables.hpp"
#include "support/pairings.hpp"
#include "support/tensor.hpp"

namespace {

using rope::CosSinTable;
using rope::Frequencies;
using rope::Pairing;
using rope_test::all_arrangements;
using rope_test::Arrangement;
using rope_test::for_both_pairings;
using rope_test::on_every_isa;
using rope_test::partners_of;
using rope_test::Reference;
using rope_test::rotation_tolerance;
using rope_test::Shape;
using rope_test::Tensor;
using rope_test::worst_error;

const CosSinTable<float>& hand_table() {
  static const CosSinTable<float> table(rope::frequencies({.rotary_dim = 4, .base = 100}), 16);
  return table;
}

std::vector<float> rotated(std::vector<float> x, std::int64_t position) {
  rope::rotate<Pairing::interleaved>(rope::bthd(x, {1, 1, 1, 4}), hand_table(),
                                     rope::from(position));
  return x;
}

float dot(const std::vector<float>& a, const std::vector<float>& b) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

bool close(const std::vector<float>& values, const std::vector<float>& expected, float tolerance) {
  if (values.size() != expected.size()) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(std::abs(values[i] - expected[i]) <= tolerance)) return false;
  }
  return true;
}

constexpr float printed_digits = 0.00005001F;  // four decimals

template <Pairing pairing>
std::vector<float> rotated_head(const std::vector<float>& x, const CosSinTable<float>& table,
                                std::int64_t position, std::int64_t first_dim = 0) {
  Tensor<float> tensor = Tensor<float>::head(x);
  rope::rotate<pairing>(tensor.view(), table, rope::from(position), {.first_dim = first_dim});
  return tensor.values(0, 0, 0);
}

Reference reference_of(const Frequencies& frequencies, Pairing pairing, std::int64_t first_dim = 0,
                       std::int64_t head = 0) {
  const auto pairs = frequencies.pairs();
  const auto first = frequencies.values().begin() + head * pairs;
  return {{first, first + pairs}, partners_of(pairing), first_dim, frequencies.magnitude()};
}

}  // namespace

TEST_CASE("the hand numbers of d = 4, base 100, interleaved") {
  const std::vector<float> q = {1, 2, 0, 1};
  const std::vector<float> k = {0, 1, 1, 1};
  CHECK(dot(q, k) == 3.0F);
  struct Pair {
    int m;
    int n;
    std::vector<float> q;
    std::vector<float> k;
    float score;
  };
  const std::vector<Pair> pairs = {
      {3,
       1,
       {-1.2722F, -1.8389F, -0.2955F, 0.9553F},
       {-0.8415F, 0.5403F, 0.8952F, 1.0948F},
       0.8584F},
      {5,
       3,
       {2.2015F, -0.3916F, -0.4794F, 0.8776F},
       {-0.1411F, -0.9900F, 0.6598F, 1.2509F},
       0.8584F},
      {10,
       8,
       {0.2490F, -2.2222F, -0.8415F, 0.5403F},
       {-0.9894F, -0.1455F, -0.0206F, 1.4141F},
       0.8584F},
  };
  for (const Pair& pair : pairs) {
    const std::vector<float> rotated_q = rotated(q, pair.m);
    const std::vector<float> rotated_k = rotated(k, pair.n);
    CHECK(close(rotated_q, pair.q, printed_digits));
    CHECK(close(rotated_k, pair.k, printed_digits));
    CHECK(std::abs(dot(rotated_q, rotated_k) - pair.score) <= printed_digits);
    CHECK(std::abs(std::sqrt(dot(rotated_q, rotated_q)) - std::sqrt(6.0F)) <= 1e-6F);
  }
  CHECK(std::abs(dot(rotated(q, 1), rotated(k, 3)) - -0.5629F) <= printed_digits);
  CHECK(std::abs(dot(rotated(q, 0), rotated(k, 2)) - -0.5629F) <= printed_digits);
  CHECK(close(rotated(k, 2), {-0.9093F, -0.4161F, 0.7814F, 1.1787F}, printed_digits));
}

TEST_CASE("one vector broadcast to 16 positions by a stride of 0") {
  const std::vector<float> q = {1, 2, 0, 1};
  const rope::View<const float> broadcast(q.data(), {1, 16, 1, 4}, {0, 0, 4, 1});
  Tensor<float> out({1, 16, 1, 4}, Arrangement::gaps);
  rope::rotate_to<Pairing::interleaved>(broadcast, out.view(), hand_table(), rope::from(0));
  for (std::int64_t t = 0; t < 16; ++t) {
    CHECK(out.values(0, t, 0) == rotated(q, t));
    CHECK(std::abs(dot(out.values(0, t, 0), out.values(0, t, 0)) - 6.0F) <= 2e-6F);
  }
  CHECK(close(out.values(0, 5, 0), {2.2015F, -0.3916F, -0.4794F, 0.8776F}, printed_digits));
  CHECK(close(out.values(0, 10, 0), {0.2490F, -2.2222F, -0.8415F, 0.5403F}, printed_digits));
  CHECK(out.gaps_are_intact());
  CHECK(q == std::vector<float>{1, 2, 0, 1});
}

TEST_CASE("the two pairings of d = 4, base 10000") {
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 4}), 2);
  const std::vector<float> x = {1, 2, 3, 4};
  CHECK(close(rotated_head<Pairing::interleaved>(x, table, 1),
              {-1.142639664F, 1.922075597F, 2.959850668F, 4.029799502F}, 5e-7F));
  CHECK(close(rotated_head<Pairing::half_split>(x, table, 1),
              {-1.984110649F, 1.959900667F, 2.462377902F, 4.019799668F}, 5e-7F));
}

TEST_CASE("the pairing as a run-time value") {
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 6}), 20);
  const auto in = Tensor<float>::random({2, 4, 3, 10}, 1);
  for_both_pairings([&]<Pairing pairing>() {
    Tensor<float> fixed = in;
    Tensor<float> chosen = in;
    rope::rotate<pairing>(fixed.view(), table, rope::from(3), {.first_dim = 2});
    rope::rotate(chosen.view(), table, rope::from(3), {.pairing = pairing, .first_dim = 2});
    CHECK(chosen.same_memory(fixed));
    Tensor<float> out(in.shape());
    rope::rotate_to(in.view(), out.view(), table, rope::from(3),
                    {.pairing = pairing, .first_dim = 2});
    CHECK(out.same_values(fixed));
    Tensor<float> q = in;
    Tensor<float> k = in;
    rope::rotate_qk(q.view(), k.view(), table, rope::from(3), {.pairing = pairing, .first_dim = 2});
    CHECK(q.same_memory(fixed));
    CHECK(k.same_memory(fixed));
  });
}

TEST_CASE("the partner and the exponent go by rotary_dim, not by the head's size") {
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 4}), 2);
  CHECK(close(rotated_head<Pairing::half_split>({1, 2, 3, 4, 5, 6, 7, 8}, table, 1),
              {-1.984110649F, 1.959900667F, 2.462377902F, 4.019799668F, 5, 6, 7, 8}, 5e-7F));
}

TEST_CASE("the rotated part at the end of the head, and two pairings side by side") {
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 4}), 2);
  const std::vector<float> x = {7, 8, 1, 2, 3, 4};
  CHECK(close(rotated_head<Pairing::half_split>(x, table, 1, 2),
              {7, 8, -1.984110649F, 1.959900667F, 2.462377902F, 4.019799668F}, 5e-7F));
  CHECK(close(rotated_head<Pairing::interleaved>(x, table, 1, 2),
              {7, 8, -1.142639664F, 1.922075597F, 2.959850668F, 4.029799502F}, 5e-7F));
}

TEST_CASE("heads of one token are at the same position") {
  // An angle of pos + head would give head 1 a cos of 0.0044256980.
  const CosSinTable<float> table(Frequencies({1.0}, {1, 1, 1}), 16);
  Tensor<float> x({1, 1, 2, 2});
  x[{0, 0, 0, 0}] = x[{0, 0, 1, 0}] = 1;
  rope::rotate<Pairing::interleaved>(x.view(), table, rope::from(10));
  CHECK(std::abs(x[{0, 0, 0, 0}] - -0.8390715291F) <= 1e-7F);
  CHECK(std::abs(x[{0, 0, 1, 0}] - -0.8390715291F) <= 1e-7F);
}

TEST_CASE("as many tokens as heads do not confuse the layouts") {
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 4}), 16);
  const auto x = Tensor<float>::random({1, 4, 4, 4}, 2);
  auto by_token = x;
  auto by_head = x.rearranged(Arrangement::bhtd);
  rope::rotate<Pairing::half_split>(by_token.view(), table, rope::from(1));
  rope::rotate<Pairing::half_split>(by_head.view(), table, rope::from(1));
  CHECK(by_token.same_values(by_head));
}

TEMPLATE_TEST_CASE("every width agrees with the reference, in place and out of place", "", float,
                   double) {
  on_every_isa([] {
    for (const int rotary_dim :
         {2, 4, 6, 8, 10, 16, 24, 30, 32, 42, 64, 70, 80, 96, 112, 128, 192, 256, 600}) {
      const Frequencies frequencies = rope::frequencies({.rotary_dim = rotary_dim});
      const CosSinTable<TestType> table(frequencies, 40);
      for (const int extra : {0, 7}) {
        const std::int64_t first_dim = extra == 0 ? 0 : 3;
        const auto in = Tensor<TestType>::random({2, 3, 2, rotary_dim + extra},
                                                 static_cast<std::uint64_t>(rotary_dim));
        for_both_pairings([&]<Pairing pairing>() {
          INFO("rotary_dim " << rotary_dim << " of " << rotary_dim + extra << ", pairing "
                             << static_cast<int>(pairing));
          const auto position = [](std::int64_t, std::int64_t t) { return 31 + t; };
          Tensor<TestType> x = in;
          rope::rotate<pairing>(x.view(), table, rope::from(31), {.first_dim = first_dim});
          REQUIRE(worst_error(in, x, position, reference_of(frequencies, pairing, first_dim)) <=
                  rotation_tolerance<TestType>);
          REQUIRE(x.gaps_are_intact());
          Tensor<TestType> out(in.shape());
          rope::rotate_to<pairing>(in.view(), out.view(), table, rope::from(31),
                                   {.first_dim = first_dim});
          REQUIRE(out.same_values(x));
          REQUIRE(out.gaps_are_intact());
          // The very same view as input and output is in place.
          Tensor<TestType> same = in;
          rope::rotate_to<pairing>(same.view(), same.view(), table, rope::from(31),
                                   {.first_dim = first_dim});
          REQUIRE(same.same_memory(x));
        });
      }
    }
  });
}

TEMPLATE_TEST_CASE("every layout gives the bits of the packed one", "", float, double) {
  const Frequencies frequencies = rope::frequencies({.rotary_dim = 20});
  const CosSinTable<TestType> table(frequencies, 100);
  const std::vector<std::int32_t> ids = {5, 99, 0, 7, 8, 9};
  const auto in = Tensor<TestType>::random({2, 3, 4, 26}, 8);
  on_every_isa([&] {
    for_both_pairings([&]<Pairing pairing>() {
      Tensor<TestType> expected = in;
      const rope::Positions positions = rope::at(ids, {2, 3});
      rope::rotate<pairing>(expected.view(), table, positions, {.first_dim = 4});
      const auto position = [&](std::int64_t b, std::int64_t t) {
        return std::int64_t{ids[static_cast<std::size_t>(3 * b + t)]};
      };
      REQUIRE(worst_error(in, expected, position, reference_of(frequencies, pairing, 4)) <=
              rotation_tolerance<TestType>);
      for (const Arrangement from : all_arrangements) {
        Tensor<TestType> x = in.rearranged(from);
        rope::rotate<pairing>(x.view(), table, positions, {.first_dim = 4});
        REQUIRE(x.same_values(expected));
        REQUIRE(x.gaps_are_intact());
        for (const Arrangement to : all_arrangements) {
          const Tensor<TestType> source = in.rearranged(from);
          Tensor<TestType> out(in.shape(), to);
          rope::rotate_to<pairing>(source.view(), out.view(), table, positions, {.first_dim = 4});
          REQUIRE(out.same_values(expected));
          REQUIRE(out.gaps_are_intact());
        }
      }
    });
  });
}

TEST_CASE("the named layouts rotate as what they are called") {
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 6}), 9);
  const auto in = Tensor<float>::random({1, 5, 3, 6}, 4);
  auto expected = in;
  rope::rotate<Pairing::half_split>(expected.view(), table, rope::from(4));
  std::vector<float> by_token;
  std::vector<float> by_head;
  in.for_each([&](const Shape& at) { by_token.push_back(in[at]); });
  for (std::int64_t h = 0; h < 3; ++h) {
    for (std::int64_t t = 0; t < 5; ++t) {
      for (const float value : in.values(0, t, h)) by_head.push_back(value);
    }
  }
  const auto check = [&](const rope::View<float>& view) {
    rope::rotate<Pairing::half_split>(view, table, rope::from(4));
    bool same = true;
    in.for_each(
        [&](const Shape& at) { same = same && view(at[0], at[1], at[2], at[3]) == expected[at]; });
    CHECK(same);
  };
  auto copy = by_token;
  check(rope::bthd(copy, {1, 5, 3, 6}));
  copy = by_token;
  check(rope::thd(copy, {5, 3, 6}));
  copy = by_head;
  check(rope::bhtd(copy, {1, 3, 5, 6}));
  copy = by_head;
  check(rope::htd(copy, {3, 5, 6}));
}

TEST_CASE("features outside the rotated part keep their bits, NaN payloads as well") {
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 4}), 9);
  for_both_pairings([&]<Pairing pairing>() {
    Tensor<float> x({1, 3, 2, 10}, Arrangement::gaps);
    x.for_each(
        [&](const Shape& at) { x[at] = at[3] >= 3 && at[3] < 7 ? 1.0F : Tensor<float>::canary(); });
    const Tensor<float> before = x;
    rope::rotate<pairing>(x.view(), table, rope::from(5), {.first_dim = 3});
    Tensor<float> out(x.shape(), Arrangement::reversed);
    rope::rotate_to<pairing>(before.view(), out.view(), table, rope::from(5), {.first_dim = 3});
    x.for_each([&](const Shape& at) {
      const bool is_rotated = at[3] >= 3 && at[3] < 7;
      REQUIRE(std::isnan(x[at]) == !is_rotated);
      if (!is_rotated) {
        REQUIRE(Tensor<float>::same_bits(x[at], before[at]));
        REQUIRE(Tensor<float>::same_bits(out[at], before[at]));
      }
    });
    CHECK(x.gaps_are_intact());
    CHECK(out.gaps_are_intact());
  });
}

TEST_CASE("a NaN or an infinity stays within its pair") {
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 16}), 9);
  for (const float odd :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    on_every_isa([&] {
      for_both_pairings([&]<Pairing pairing>() {
        auto x = Tensor<float>::random({1, 2, 1, 16}, 9);
        auto clean = x;
        x[{0, 1, 0, 3}] = odd;
        rope::rotate<pairing>(x.view(), table, rope::from(5));
        rope::rotate<pairing>(clean.view(), table, rope::from(5));
        const std::int64_t partner = pairing == Pairing::interleaved ? 2 : 11;
        x.for_each([&](const Shape& at) {
          const bool hit = at[1] == 1 && (at[3] == 3 || at[3] == partner);
          REQUIRE(std::isfinite(x[at]) == !hit);
          if (!hit) REQUIRE(x[at] == clean[at]);
        });
      });
    });
  }
}

TEST_CASE("q and k of different head counts share positions and table") {
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 8}), 30);
  const std::vector<std::int64_t> starts = {3, 20};
  for_both_pairings([&]<Pairing pairing>() {
    auto q = Tensor<float>::random({2, 4, 6, 8}, 1, Arrangement::gaps);
    auto k = Tensor<float>::random({2, 4, 2, 8}, 2, Arrangement::bhtd);
    auto expected_q = q;
    auto expected_k = k;
    rope::rotate<pairing>(expected_q.view(), table, rope::from_each(starts));
    rope::rotate<pairing>(expected_k.view(), table, rope::from_each(starts));
    rope::rotate_qk<pairing>(q.view(), k.view(), table, rope::from_each(starts));
    CHECK(q.same_memory(expected_q));
    CHECK(k.same_memory(expected_k));
  });
}

TEST_CASE("one token of many sequences, grouped heads, a part of each head") {
  // Decoding: partial rotary, a strided cache and a position for each sequence, all at once.
  const Frequencies frequencies = rope::frequencies({.rotary_dim = 12, .base = 5e5});
  const CosSinTable<float> table(frequencies, 5000);
  const std::vector<std::int32_t> starts = {0, 4999, 17, 1024, 2048};
  for_both_pairings([&]<Pairing pairing>() {
    for (const Arrangement arrangement : all_arrangements) {
      auto q = Tensor<float>::random({5, 1, 8, 16}, 1, arrangement);
      auto k = Tensor<float>::random({5, 1, 2, 16}, 2, arrangement);
      const auto q_before = q;
      const auto k_before = k;
      rope::rotate_qk<pairing>(q.view(), k.view(), table, rope::from_each(starts),
                               {.first_dim = 4});
      const auto position = [&](std::int64_t b, std::int64_t) {
        return std::int64_t{starts[static_cast<std::size_t>(b)]};
      };
      const Reference reference = reference_of(frequencies, pairing, 4);
      REQUIRE(worst_error(q_before, q, position, reference) <= rotation_tolerance<float>);
      REQUIRE(worst_error(k_before, k, position, reference) <= rotation_tolerance<float>);
      REQUIRE(q.gaps_are_intact());
      REQUIRE(k.gaps_are_intact());
    }
  });
}

TEST_CASE("slices of one packed qkv") {
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 8}), 30);
  // [tokens, 4 heads of q | 2 of k | 2 of v, dim]
  auto qkv = Tensor<float>::random({2, 5, 8, 8}, 3);
  const auto before = qkv;
  const rope::View<float> view = qkv.view();
  rope::rotate_qk<Pairing::half_split>(view.slice_heads(0, 4), view.slice_heads(4, 2), table,
                                       rope::from(7));
  // v takes the place of nothing: rotated k into it, out of place, is fine as well.
  rope::rotate_to<Pairing::half_split>(view.slice_heads(4, 2), view.slice_heads(6, 2), table,
                                       rope::from(0));
  auto expected = before;
  rope::rotate<Pairing::half_split>(expected.view().slice_heads(0, 6), table, rope::from(7));
  qkv.for_each([&](const Shape& at) {
    if (at[2] < 6) REQUIRE(qkv[at] == expected[at]);
  });
}

TEST_CASE("chunks continue where the last one ended") {
  // 5 tokens as 3 + 2, then one more, give the bits of one call.
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 8}), 6);
  for_both_pairings([&]<Pairing pairing>() {
    auto whole = Tensor<float>::random({2, 6, 2, 8}, 6);
    auto parts = whole;
    rope::rotate<pairing>(whole.view(), table, rope::from(0));
    const rope::View<float> view = parts.view();
    rope::rotate<pairing>(view.slice_tokens(0, 3), table, rope::from(0));
    rope::rotate<pairing>(view.slice_tokens(3, 2), table, rope::from(3));
    rope::rotate<pairing>(view.slice_tokens(5, 1), table, rope::from(5));
    CHECK(parts.same_memory(whole));
  });
}

TEST_CASE("equal shapes at other positions give other results") {
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 8}), 9);
  const auto in = Tensor<float>::random({1, 2, 1, 8}, 6);
  auto first = in;
  auto second = in;
  rope::rotate<Pairing::half_split>(first.view(), table, rope::from(0));
  rope::rotate<Pairing::half_split>(second.view(), table, rope::from(5));
  CHECK_FALSE(first.same_values(second));
  const auto position = [](std::int64_t, std::int64_t t) { return 5 + t; };
  CHECK(worst_error(in, second, position, reference_of(table.frequencies(), Pairing::half_split)) <=
        rotation_tolerance<float>);
}

TEST_CASE("as many tokens as the table has rows, and fewer at its end") {
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 4}), 8);
  auto x = Tensor<float>::random({1, 8, 1, 4}, 1);
  CHECK_NOTHROW(rope::rotate<Pairing::half_split>(x.view(), table, rope::from(0)));
  const std::int64_t ids[] = {4, 5, 6, 7};
  CHECK_NOTHROW(
      rope::rotate<Pairing::half_split>(x.view().slice_tokens(0, 4), table, rope::at(ids, {4})));
  const std::int32_t start[] = {7};  // 7 means 7, not 7, 8, 9: one token fits
  CHECK_NOTHROW(rope::rotate<Pairing::half_split>(x.view().slice_tokens(0, 1), table,
                                                  rope::from_each(start)));
}

TEST_CASE("only the tokens of the view are written") {
  // 5 tokens with a canary row behind them.
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 4}), 8);
  Tensor<float> x({1, 6, 2, 4});
  x.for_each([&](const Shape& at) { x[at] = at[1] < 5 ? 1.0F : Tensor<float>::canary(); });
  rope::rotate<Pairing::half_split>(x.view().slice_tokens(0, 5), table, rope::from(1));
  x.for_each([&](const Shape& at) { REQUIRE(std::isnan(x[at]) == (at[1] == 5)); });
}

TEST_CASE("views with nothing in them are rotated without a word") {
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 4}), 8);
  float* const null = nullptr;
  for (const Shape& shape : {Shape{0, 3, 2, 4}, Shape{1, 0, 2, 4}, Shape{1, 3, 0, 4}}) {
    const rope::View<float> nothing = rope::bthd(null, {shape[0], shape[1], shape[2], shape[3]});
    CHECK_NOTHROW(rope::rotate<Pairing::half_split>(nothing, table, rope::from(0)));
    CHECK_NOTHROW(rope::rotate_to<Pairing::interleaved>(nothing, nothing, table, rope::from(0)));
  }
}

TEMPLATE_TEST_CASE("a table with rows for each head", "", float, double) {
  std::vector<double> values;
  for (int i = 0; i < 3 * 7; ++i) values.push_back(1.0 / (1 + i));
  const Frequencies frequencies(values, {1, 3, 7}, 1.25);
  const CosSinTable<TestType> table(frequencies, 60);
  on_every_isa([&] {
    for_both_pairings([&]<Pairing pairing>() {
      const auto in = Tensor<TestType>::random({2, 4, 3, 20}, 11);
      auto x = in.rearranged(Arrangement::gaps);
      rope::rotate<pairing>(x.view(), table, rope::from(50), {.first_dim = 5});
      const auto position = [](std::int64_t, std::int64_t t) { return 50 + t; };
      REQUIRE(rope_test::worst_error_by_head(in, x, position, [&](std::int64_t head) {
                return reference_of(frequencies, pairing, 5, head);
              }) <= rotation_tolerance<TestType>);
      REQUIRE(x.gaps_are_intact());
    });
  });
}

TEMPLATE_TEST_CASE("rows made on demand, more pairs than fit into one piece of scratch", "", float,
                   double) {
  using rope_test::MadeOnDemand;
  using rope_test::ScratchOrder;
  for (const std::int64_t pairs : {1, 5, 255, 256, 257, 511, 700}) {
    for (const std::int64_t heads : {1, 3}) {
      for (const ScratchOrder order : {ScratchOrder::cos_first, ScratchOrder::sin_first}) {
        std::vector<double> values;
        for (std::int64_t i = 0; i < heads * pairs; ++i) {
          values.push_back(
              std::pow(1e4, -static_cast<double>(i) / static_cast<double>(heads * pairs)));
        }
        const MadeOnDemand<TestType> table(values, heads, 50, 1.5, order);
        on_every_isa([&] {
          for_both_pairings([&]<Pairing pairing>() {
            const auto in = Tensor<TestType>::random({1, 2, 3, 2 * pairs + 1}, 12);
            auto x = in;
            rope::rotate<pairing>(x.view(), table, rope::from(48), {.first_dim = 1});
            const auto position = [](std::int64_t, std::int64_t t) { return 48 + t; };
            const auto reference = [&](std::int64_t head) {
              const auto first = values.begin() + (heads == 1 ? 0 : head * pairs);
              return Reference{{first, first + pairs}, partners_of(pairing), 1, 1.5};
            };
            REQUIRE(rope_test::worst_error_by_head(in, x, position, reference) <=
                    rotation_tolerance<TestType>);
            REQUIRE(x.gaps_are_intact());
          });
        });
      }
    }
  }
}

TEST_CASE("a table made for tokens, with a batch of its own or one for all") {
  using rope_test::MadeForTokens;
  // Half-integer positions stand for twice their number at half the frequency.
  const std::vector<double> frequencies = {1.0, 0.1, 0.01};
  const std::vector<double> positions = {0, 0.5, -3, 7, 2.5, 1};
  for_both_pairings([&]<Pairing pairing>() {
    const auto in = Tensor<float>::random({2, 3, 2, 6}, 13);
    auto own = in;
    rope::rotate<pairing>(own.view(), MadeForTokens<float>(frequencies, positions, 2));
    auto shared = in;
    rope::rotate<pairing>(
        shared.view(),
        MadeForTokens<float>(frequencies, {positions.begin(), positions.begin() + 3}, 1));
    const Reference halved{{0.5, 0.05, 0.005}, partners_of(pairing)};
    const auto doubled = [&](std::int64_t b, std::int64_t t) {
      return std::llround(2 * positions[static_cast<std::size_t>(3 * b + t)]);
    };
    REQUIRE(worst_error(in, own, doubled, halved) <= rotation_tolerance<float>);
    REQUIRE(worst_error(
                in, shared, [&](std::int64_t, std::int64_t t) { return doubled(0, t); }, halved) <=
            rotation_tolerance<float>);
    Tensor<float> out(in.shape(), Arrangement::bhtd);
    rope::rotate_to<pairing>(in.view(), out.view(),
                             MadeForTokens<float>(frequencies, positions, 2));
    CHECK(out.same_values(own));
    auto q = in;
    auto k = in;
    rope::rotate_qk<pairing>(q.view(), k.view(), MadeForTokens<float>(frequencies, positions, 2));
    CHECK(q.same_values(own));
    CHECK(k.same_values(own));
  });
}

TEST_CASE("the caller's own cos and sin") {
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 10}), 12);
  std::vector<float> fused;
  std::vector<float> spread;  // two arrays in one, each value followed by rubbish
  for (std::int64_t row = 0; row < 12; ++row) {
    for (const float value : table.cos(row)) fused.push_back(value);
    for (const float value : table.sin(row)) fused.push_back(value);
  }
  for (const float value : fused) spread.insert(spread.end(), {value, 1e9F});
  const auto packed = rope::fused_table_view(fused, {12, 10}, {.rotary_dim = 10});
  const auto strided = rope::table_view(spread.data(), spread.data() + 10, {12, 5},
                                        {.rotary_dim = 10, .row_stride = 20, .pair_stride = 2});
  const auto by_token = rope::fused_table_view(fused, {3, 4, 10}, {.rotary_dim = 10});
  on_every_isa([&] {
    for_both_pairings([&]<Pairing pairing>() {
      const auto in = Tensor<float>::random({3, 4, 2, 10}, 14);
      auto expected = in;
      const std::vector<std::int64_t> starts = {0, 4, 8};
      rope::rotate<pairing>(expected.view(), table, rope::from_each(starts));
      auto x = in;
      rope::rotate<pairing>(x.view(), packed, rope::from_each(starts));
      CHECK(x.same_memory(expected));
      x = in;
      rope::rotate<pairing>(x.view(), strided, rope::from_each(starts));
      CHECK(x.same_memory(expected));
      x = in;
      rope::rotate<pairing>(x.view(), by_token);
      CHECK(x.same_memory(expected));
    });
  });
}

TEST_CASE("offsets beyond 2^31 elements") {
  // Two tokens 2^31 + 8 floats apart, in a mapping of which only their pages can be touched.
  constexpr std::int64_t stride = (std::int64_t{1} << 31) + 8;
  const auto page = static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
  const std::int64_t second_byte = stride * 4;
  const std::int64_t bytes = second_byte + 2 * page;
  void* const mapping = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) ROPE_TEST_SKIP("this machine cannot reserve 8 GiB of addresses");
  char* const start = static_cast<char*>(mapping);
  const std::int64_t second_page = second_byte / page * page;
  REQUIRE(mprotect(start, static_cast<std::size_t>(page), PROT_READ | PROT_WRITE) == 0);
  REQUIRE(mprotect(start + second_page, static_cast<std::size_t>(page), PROT_READ | PROT_WRITE) ==
          0);
  float* const first = static_cast<float*>(mapping);
  const rope::View<float> x(first, {1, 2, 1, 4}, {0, stride, 4, 1});
  for (std::int64_t t = 0; t < 2; ++t) {
    for (std::int64_t i = 0; i < 4; ++i) x(0, t, 0, i) = static_cast<float>(i + 1);
  }
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 4}), 2);
  rope::rotate<Pairing::half_split>(x, table, rope::from(0));
  const float* const second = first + stride;
  CHECK(close({first, first + 4}, {1, 2, 3, 4}, 0));
  CHECK(close({second, second + 4}, {-1.984110649F, 1.959900667F, 2.462377902F, 4.019799668F},
              5e-7F));
  munmap(mapping, static_cast<std::size_t>(bytes));
}
