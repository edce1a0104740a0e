// Pairs within each axis' part of the head.
#include "rope/spatial/rotate_axes.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "rope/check_rotate.hpp"
#include "rope/rotate.hpp"
#include "rope/scalar.hpp"
#include "rope/spatial/axial.hpp"
#include "rope/table.hpp"
#include "rope/thread_pool.hpp"
#include "rope/token_table.hpp"
#include "spatial/reference.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/tensor.hpp"

namespace {

using rope_test::Partners;
using rope_test::require_throws;
using rope_test::Tensor;
using rope_test::spatial::Place;
using rope_test::spatial::Turn;
using rope_test::spatial::turns;
using rope_test::spatial::worst_error;

constexpr auto half_split = rope::Pairing::half_split;
const std::vector<double> places = {0, 0, 3, 1, -2, 5.5};

rope::TokenTable<float> table() {
  return {rope::axial_frequencies({.axis_dims = {4, 6}, .base = 100}),
          rope::coordinates(places, {3, 2})};
}

/// Each axis' part has half-split pairs of its own.
std::vector<Turn> part_turns(const Place& place, std::size_t first_dim) {
  std::vector<Turn> all =
      turns({rope_test::plain_frequencies(4, 100)}, {place[0]}, Partners::halves, first_dim);
  const std::vector<Turn> more =
      turns({rope_test::plain_frequencies(6, 100)}, {place[1]}, Partners::halves, first_dim + 4);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

TEST_CASE("each axis' part of the head is rotated for itself") {
  for (const std::int64_t first : {0, 1, 3}) {
    const auto before = Tensor<float>::random({2, 3, 2, 13}, 11);
    auto after = before;
    rope::rotate_axes<half_split>(after.view(), table(), {.axis_dims = {4, 6}, .first_dim = first});
    for (std::int64_t b = 0; b < 2; ++b) {
      for (std::int64_t t = 0; t < 3; ++t) {
        const auto at = static_cast<std::size_t>(2 * t);
        const auto all = part_turns({places[at], places[at + 1]}, static_cast<std::size_t>(first));
        for (std::int64_t h = 0; h < 2; ++h) {
          CHECK(worst_error(before.values(b, t, h), after.values(b, t, h), all) <=
                rope_test::rotation_tolerance<float>);
        }
      }
    }
    // Which is not the rotation over the whole width.
    auto whole = before;
    rope::rotate<half_split>(whole.view(), table(), {.first_dim = first});
    CHECK(!whole.same_values(after));
  }
}

TEST_CASE("neighbours are the same pairs either way, bit for bit") {
  const auto before = Tensor<float>::random({1, 3, 2, 10}, 12);
  auto parts = before;
  auto whole = before;
  rope::rotate_axes<rope::Pairing::interleaved>(parts.view(), table(), {.axis_dims = {4, 6}});
  rope::rotate<rope::Pairing::interleaved>(whole.view(), table());
  CHECK(parts.same_values(whole));
}

TEST_CASE("the inverse undoes it, the transpose is its gradient") {
  const rope::Frequencies frequencies({1, 0.5, 0, 0, 0, /**/ 0, 0, 1, 0.25, 0.125}, {2, 1, 5}, 1.5);
  const rope::TokenTable<double> scaled(frequencies, rope::coordinates(places, {3, 2}));
  const rope::RotateAxesOptions options = {.axis_dims = {4, 6}};
  const auto before = Tensor<double>::random({1, 3, 1, 10}, 13);
  const auto other = Tensor<double>::random({1, 3, 1, 10}, 14);
  auto there = before;
  rope::rotate_axes<half_split>(there.view(), scaled, options);
  // <R x, g> = <x, R^T g>
  auto gradient = other;
  rope::rotate_axes_transpose<half_split>(gradient.view(), scaled, options);
  for (std::int64_t t = 0; t < 3; ++t) {
    CHECK(std::abs(rope_test::spatial::score(there.values(0, t, 0), other.values(0, t, 0)) -
                   rope_test::spatial::score(before.values(0, t, 0), gradient.values(0, t, 0))) <=
          1e-14L);
  }
  rope::rotate_axes_inverse<half_split>(there.view(), scaled, options);
  there.for_each(
      [&](const rope_test::Shape& at) { CHECK(std::abs(there[at] - before[at]) <= 2e-15); });
}

TEST_CASE("a table addressed by position works the same way") {
  const rope::CosSinTable<float> text(rope::frequencies({.rotary_dim = 10}), 9);
  const auto before = Tensor<float>::random({1, 2, 1, 10}, 15);
  auto parts = before;
  rope::rotate_axes<half_split>(parts.view(), text, rope::from(7), {.axis_dims = {4, 6}});
  auto by_hand = before;
  rope::rotate<half_split>(by_hand.view(), rope::pair_slice(text, 0, 2), rope::from(7));
  rope::rotate<half_split>(by_hand.view(), rope::pair_slice(text, 2, 3), rope::from(7),
                           {.first_dim = 4});
  CHECK(parts.same_values(by_hand));
  auto back = parts;
  rope::rotate_axes_inverse<half_split>(back.view(), text, rope::from(7), {.axis_dims = {4, 6}});
  auto transposed = parts;
  rope::rotate_axes_transpose<half_split>(transposed.view(), text, rope::from(7),
                                          {.axis_dims = {4, 6}});
  CHECK(back.same_values(transposed));
  CHECK(rope::check_rotate(back.view(), rope::pair_slice(text, 0, 2), rope::from(0)).ok());
}

TEST_CASE("the pairing as a run-time value, bit for bit") {
  const auto own = table();
  const rope::CosSinTable<float> text(rope::frequencies({.rotary_dim = 10}), 9);
  const auto before = Tensor<float>::random({2, 3, 2, 11}, 21);
  const auto check = [&]<rope::Pairing pairing>() {
    const rope::RotateAxesOptions fixed = {.axis_dims = {4, 6}, .first_dim = 1};
    const rope::PairingAxesOptions chosen = {
        .pairing = pairing, .axis_dims = {4, 6}, .first_dim = 1};
    const auto same = [&](auto&& run) {
      auto expected = before;
      auto found = before;
      run(expected.view(), fixed);
      run(found.view(), chosen);
      CHECK(found.same_memory(expected));
      CHECK(!found.same_values(before));
    };
    same([&](rope::View<float> x, const auto& options) {
      if constexpr (requires { options.pairing; }) {
        rope::rotate_axes(x, own, options);
        rope::rotate_axes(x, text, rope::from(2), options);
        rope::rotate_axes_inverse(x, own, options);
        rope::rotate_axes_transpose(x, own, options);
        rope::rotate_axes_inverse(x, text, rope::from(4), options);
        rope::rotate_axes_transpose(x, text, rope::from(1), options);
      } else {
        rope::rotate_axes<pairing>(x, own, options);
        rope::rotate_axes<pairing>(x, text, rope::from(2), options);
        rope::rotate_axes_inverse<pairing>(x, own, options);
        rope::rotate_axes_transpose<pairing>(x, own, options);
        rope::rotate_axes_inverse<pairing>(x, text, rope::from(4), options);
        rope::rotate_axes_transpose<pairing>(x, text, rope::from(1), options);
      }
    });
  };
  check.operator()<half_split>();
  check.operator()<rope::Pairing::interleaved>();
  auto x = before;
  require_throws<rope::InvalidArgument>(
      "rope::rotate_axes: pairing has the value 7, which names no pairing", [&] {
        rope::rotate_axes(x.view(), own,
                          {.pairing = static_cast<rope::Pairing>(7), .axis_dims = {4, 6}});
      });
  CHECK(x.same_memory(before));
}

TEST_CASE("from one tensor into another, with what is outside the axes' parts copied") {
  const rope::Frequencies frequencies({1, 0.5, 0, 0, 0, /**/ 0, 0, 1, 0.25, 0.125}, {2, 1, 5}, 1.5);
  const rope::TokenTable<float> own(frequencies, rope::coordinates(places, {3, 2}));
  const rope::CosSinTable<float> text(rope::frequencies({.rotary_dim = 10}), 9);
  const auto in = Tensor<float>::random({2, 3, 2, 15}, 22);
  for (const std::int64_t first : {0, 2, 5}) {
    const rope::RotateAxesOptions fixed = {.axis_dims = {4, 6}, .first_dim = first};
    const rope::PairingAxesOptions chosen = {
        .pairing = half_split, .axis_dims = {4, 6}, .first_dim = first};
    const auto same = [&](auto&& in_place, auto&& to, auto&& to_chosen) {
      auto expected = in;
      in_place(expected.view());
      for (const bool is_chosen : {false, true}) {
        auto out = Tensor<float>::random({2, 3, 2, 15}, 23);
        if (is_chosen) {
          to_chosen(in.view(), out.view());
        } else {
          to(in.view(), out.view());
        }
        CHECK(out.same_values(expected));
      }
    };
    same([&](auto x) { rope::rotate_axes<half_split>(x, own, fixed); },
         [&](auto a, auto b) { rope::rotate_axes_to<half_split>(a, b, own, fixed); },
         [&](auto a, auto b) { rope::rotate_axes_to(a, b, own, chosen); });
    same([&](auto x) { rope::rotate_axes_inverse<half_split>(x, own, fixed); },
         [&](auto a, auto b) { rope::rotate_axes_inverse_to<half_split>(a, b, own, fixed); },
         [&](auto a, auto b) { rope::rotate_axes_inverse_to(a, b, own, chosen); });
    same([&](auto x) { rope::rotate_axes_transpose<half_split>(x, own, fixed); },
         [&](auto a, auto b) { rope::rotate_axes_transpose_to<half_split>(a, b, own, fixed); },
         [&](auto a, auto b) { rope::rotate_axes_transpose_to(a, b, own, chosen); });
    const auto at = rope::from(3);
    same([&](auto x) { rope::rotate_axes<half_split>(x, text, at, fixed); },
         [&](auto a, auto b) { rope::rotate_axes_to<half_split>(a, b, text, at, fixed); },
         [&](auto a, auto b) { rope::rotate_axes_to(a, b, text, at, chosen); });
    same([&](auto x) { rope::rotate_axes_inverse<half_split>(x, text, at, fixed); },
         [&](auto a, auto b) { rope::rotate_axes_inverse_to<half_split>(a, b, text, at, fixed); },
         [&](auto a, auto b) { rope::rotate_axes_inverse_to(a, b, text, at, chosen); });
    same([&](auto x) { rope::rotate_axes_transpose<half_split>(x, text, at, fixed); },
         [&](auto a, auto b) { rope::rotate_axes_transpose_to<half_split>(a, b, text, at, fixed); },
         [&](auto a, auto b) { rope::rotate_axes_transpose_to(a, b, text, at, chosen); });
  }
  // The same view is in place; two that share elements otherwise are refused.
  auto x = in;
  auto expected = in;
  rope::rotate_axes<half_split>(expected.view(), own, {.axis_dims = {4, 6}});
  rope::rotate_axes_to<half_split>(x.view(), x.view(), own, {.axis_dims = {4, 6}});
  CHECK(x.same_memory(expected));
  require_throws<rope::InvalidArgument>("rope::rotate_axes_to: in and out share elements", [&] {
    rope::rotate_axes_to<half_split>(x.view().slice_dims(0, 12), x.view().slice_dims(3, 12), own,
                                     {.axis_dims = {4, 6}});
  });
  CHECK(x.same_memory(expected));
}

TEST_CASE("elements are rounded once on the way to 16 bits") {
  const auto in = Tensor<float>::random({1, 3, 2, 13}, 24);
  auto turned = in;
  rope::rotate_axes<half_split>(turned.view(), table(), {.axis_dims = {4, 6}, .first_dim = 1});
  std::vector<rope::bf16> out(3 * 2 * 13);
  rope::rotate_axes_to<half_split>(in.view(), rope::thd(out, {3, 2, 13}), table(),
                                   {.axis_dims = {4, 6}, .first_dim = 1});
  std::size_t i = 0;
  turned.for_each([&](const rope_test::Shape& at) {
    CHECK(static_cast<float>(out[i++]) == static_cast<float>(rope::bf16(turned[at])));
  });
}

TEST_CASE("large tensors, whose stores pass by the caches, are the same") {
  // Each of the two parts has 17 MB.
  constexpr std::int64_t tokens = 3400;
  const rope::CosSinTable<float> text(rope::frequencies({.rotary_dim = 80}), tokens);
  std::vector<float> x(static_cast<std::size_t>(tokens * 32 * 83));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1009) - 504;
  std::vector<float> out(x.size());
  const auto from = rope::thd(x, {tokens, 32, 83});
  const rope::RotateAxesOptions options = {.axis_dims = {40, 40}, .first_dim = 1};
  rope::rotate_axes_to<half_split>(from, rope::thd(out, {tokens, 32, 83}), text, rope::from(0),
                                   options);
  rope::rotate_axes<half_split>(from, text, rope::from(0), options);
  CHECK(std::memcmp(out.data(), x.data(), x.size() * sizeof(float)) == 0);
}

TEST_CASE("threads and parts of it make the same bits") {
  const auto own = table();
  const auto before = Tensor<float>::random({1, 3, 4096, 10}, 25);
  auto expected = before;
  rope::rotate_axes<half_split>(expected.view(), own, {.axis_dims = {4, 6}});
  auto parts = before;
  for (const std::int64_t part : {2, 0, 1}) {
    rope::rotate_axes<half_split>(parts.view(), own,
                                  {.axis_dims = {4, 6}, .part = {.index = part, .count = 3}});
  }
  CHECK(parts.same_memory(expected));
  std::int64_t shares = 0;
  const auto backwards = [&](std::int64_t count, const auto& body) {
    shares += count;
    while (count-- > 0) body(count);
  };
  auto threads = before;
  rope::rotate_axes(threads.view(), own,
                    {.pairing = half_split, .axis_dims = {4, 6}, .executor = backwards});
  CHECK(shares > 1);
  CHECK(threads.same_memory(expected));
}

TEST_CASE("parts that are not the table's are refused, and nothing is written") {
  auto x = Tensor<float>::random({1, 3, 1, 10}, 16);
  const auto before = x;
  const auto own = table();
  const auto refuse = [&](const char* message, const rope::RotateAxesOptions& options) {
    require_throws<rope::InvalidArgument>(
        message, [&] { rope::rotate_axes<half_split>(x.view(), own, options); });
    CHECK(x.same_memory(before));
  };
  refuse("rope::rotate_axes: options.axis_dims[1] must be even and above 0, got 5",
         {.axis_dims = {4, 5}});
  refuse("rope::rotate_axes: options.axis_dims[0] must be even and above 0, got 0",
         {.axis_dims = {0, 10}});
  refuse("rope::rotate_axes: options.axis_dims are 8 dims together, but the table has 10",
         {.axis_dims = {4, 4}});
  refuse("rope::rotate_axes: options.axis_dims are 0 dims together, but the table has 10", {});
  refuse("rope::rotate_axes: options.axis_dims are more than the table's 10 dims at axis 1",
         {.axis_dims = {4, 8}});
  // The second part would not fit: the first must not be rotated either.
  refuse(
      "rope::rotate_axes: the rotated part, 10 dims (2 for each pair of the table) from first_dim "
      "2 "
      "on, is not within the view's 10 dims",
      {.axis_dims = {4, 6}, .first_dim = 2});
  require_throws<rope::OutOfRange>(
      "rope::pair_slice: 3 pairs from pair 3 on are not within the table's 5 pairs",
      [&] { static_cast<void>(rope::pair_slice(own, 3, 3)); });
  require_throws<rope::OutOfRange>(
      "rope::pair_slice: 0 pairs from pair 3 on are not within the table's 5 pairs",
      [&] { static_cast<void>(rope::pair_slice(own, 3, 0)); });
  require_throws<rope::OutOfRange>(
      "rope::pair_slice: 2 pairs from pair -1 on are not within the table's 5 pairs",
      [&] { static_cast<void>(rope::pair_slice(own, -1, 2)); });
}

TEST_CASE("a pool, and parts, give the same bits") {
  rope::ThreadPool pool(3);
  std::int64_t calls = 0;
  const auto backwards = [&](std::int64_t count, rope::TaskRef body) {
    ++calls;
    while (count > 0) body(--count);
  };
  std::vector<double> many(2 * 400);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = 0.25 * static_cast<double>(i % 37) - 3;
  const rope::TokenTable<float> own(rope::axial_frequencies({.axis_dims = {4, 6}, .base = 100}),
                                    rope::coordinates(many, {400, 2}));
  const auto before = Tensor<float>::random({1, 400, 16, 13}, 15);  // 332 KB
  auto alone = before;
  rope::rotate_axes<half_split>(alone.view(), own, {.axis_dims = {4, 6}, .first_dim = 1});
  auto together = before;
  rope::rotate_axes<half_split>(together.view(), own,
                                {.axis_dims = {4, 6}, .first_dim = 1, .executor = pool});
  CHECK(together.same_values(alone));
  auto reversed = before;
  rope::rotate_axes<half_split>(reversed.view(), own,
                                {.axis_dims = {4, 6}, .first_dim = 1, .executor = backwards});
  CHECK(reversed.same_values(alone));
  CHECK(calls == 1);  // for all axes at once
  auto parts = before;
  for (std::int64_t i = 3; i-- > 0;) {
    rope::rotate_axes<half_split>(parts.view(), own,
                                  {.axis_dims = {4, 6}, .first_dim = 1, .part = {i, 3}});
  }
  CHECK(parts.same_values(alone));
  require_throws<rope::InvalidArgument>(
      "rope::rotate_axes: part must be one of 0 to count - 1, got 3 of a count of 3", [&] {
        rope::rotate_axes<half_split>(parts.view(), own,
                                      {.axis_dims = {4, 6}, .first_dim = 1, .part = {3, 3}});
      });
  CHECK(parts.same_values(alone));
}
