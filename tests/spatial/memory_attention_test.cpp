// Keys of several frames on the query's grid, and tokens that no rotation touches.
#include "rope/spatial/memory_attention.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rope/rotate.hpp"
#include "rope/rotate_inverse.hpp"
#include "rope/scalar.hpp"
#include "rope/spatial/axial.hpp"
#include "rope/spatial/rotated_tokens.hpp"
#include "rope/token_table.hpp"
#include "support/catch.hpp"
#include "support/counting_executor.hpp"
#include "support/errors.hpp"
#include "support/tensor.hpp"

namespace {

using rope_test::require_throws;
using rope_test::Tensor;

constexpr auto interleaved = rope::Pairing::interleaved;

// Three tokens; two batch rows with other places in the second test.
const std::vector<double> places = {0, 0, 1, 2, 3, 1, /**/ 5, 5, 4, 1, 0, 7};

rope::TokenTable<float> table(std::int64_t batch) {
  return {rope::axial_frequencies({.axis_dims = {4, 4}, .base = 100}),
          rope::coordinates(std::span(places).first(static_cast<std::size_t>(batch * 6)),
                            {batch, 3, 2})};
}

}  // namespace

TEST_CASE("every frame is rotated as the query is, and the last keys are left alone") {
  for (const std::int64_t batch : {1, 2}) {
    const auto own = table(batch);
    for (const std::int64_t frames : {0, 1, 3}) {
      for (const std::int64_t last : {0, 2}) {
        const auto before = Tensor<float>::random({2, 3 * frames + last, 2, 10}, 31);
        auto keys = before;
        rope::rotate_memory_keys<interleaved>(keys.view(), own,
                                              {.unrotated_last = last, .first_dim = 2});
        auto expected = before;
        for (std::int64_t frame = 0; frame < frames; ++frame) {
          rope::rotate<interleaved>(expected.view().slice_tokens(3 * frame, 3), own,
                                    {.first_dim = 2});
        }
        CHECK(keys.same_values(expected));
      }
    }
  }
}

TEST_CASE("the pairing as a run-time value, and from one tensor into another, bit for bit") {
  const auto own = table(2);
  const auto before = Tensor<float>::random({2, 8, 2, 11}, 36);
  const auto check = [&]<rope::Pairing pairing>() {
    auto expected = before;
    rope::rotate_memory_keys<pairing>(expected.view(), own, {.unrotated_last = 2, .first_dim = 2});
    const rope::PairingMemoryKeys chosen = {
        .pairing = pairing, .unrotated_last = 2, .first_dim = 2};
    auto found = before;
    rope::rotate_memory_keys(found.view(), own, chosen);
    CHECK(found.same_memory(expected));
    auto out = Tensor<float>::random({2, 8, 2, 11}, 37);
    rope::rotate_memory_keys_to<pairing>(before.view(), out.view(), own,
                                         {.unrotated_last = 2, .first_dim = 2});
    CHECK(out.same_values(expected));
    out = Tensor<float>::random({2, 8, 2, 11}, 38);
    rope::rotate_memory_keys_to(before.view(), out.view(), own, chosen);
    CHECK(out.same_values(expected));
    // In parts: the keys that are not rotated belong to the first.
    out = Tensor<float>::random({2, 8, 2, 11}, 39);
    for (const std::int64_t part : {1, 0, 2}) {
      rope::rotate_memory_keys_to<pairing>(
          before.view(), out.view(), own,
          {.unrotated_last = 2, .first_dim = 2, .part = {.index = part, .count = 3}});
    }
    CHECK(out.same_values(expected));
    // Rounded once on the way to 16 bits.
    std::vector<rope::f16> narrow(2 * 8 * 2 * 11);
    rope::rotate_memory_keys_to(before.view(), rope::bthd(narrow, {2, 8, 2, 11}), own, chosen);
    std::size_t i = 0;
    expected.for_each([&](const rope_test::Shape& at) {
      CHECK(static_cast<float>(narrow[i++]) == static_cast<float>(rope::f16(expected[at])));
    });
  };
  check.operator()<interleaved>();
  check.operator()<rope::Pairing::half_split>();
  // Keys that all stay as they are.
  auto out = Tensor<float>::random({2, 8, 2, 11}, 40);
  rope::rotate_memory_keys_to<interleaved>(before.view(), out.view(), own, {.unrotated_last = 8});
  CHECK(out.same_values(before));

  auto x = before;
  require_throws<rope::InvalidArgument>(
      "rope::rotate_memory_keys: pairing has the value 9, which names no pairing", [&] {
        rope::rotate_memory_keys(x.view(), own,
                                 {.pairing = static_cast<rope::Pairing>(9), .unrotated_last = 2});
      });
  require_throws<rope::InvalidArgument>(
      "rope::rotate_memory_keys_to: in has tokens 8, but out has 7", [&] {
        rope::rotate_memory_keys_to<interleaved>(before.view(), x.view().slice_tokens(0, 7), own,
                                                 {.unrotated_last = 2});
      });
  // The rotated keys lie apart, the others do not.
  require_throws<rope::InvalidArgument>(
      "rope::rotate_memory_keys_to: in and out share elements", [&] {
        rope::rotate_memory_keys_to<interleaved>(
            x.view().slice_tokens(0, 5), x.view().slice_tokens(3, 5), own, {.unrotated_last = 2});
      });
  CHECK(x.same_memory(before));
}

TEST_CASE("three frames of a 2 x 2 grid and two object pointers") {
  const std::vector<double> grid = {0, 0, 1, 0, 0, 1, 1, 1};
  const rope::TokenTable<float> query(rope::axial_frequencies({.axis_dims = {4, 4}, .base = 10000}),
                                      rope::coordinates(grid, {4, 2}));
  const auto one = Tensor<float>::random({1, 1, 1, 8}, 35);
  Tensor<float> keys(rope_test::Shape{1, 14, 1, 8});
  keys.for_each([&](const rope_test::Shape& at) { keys[at] = one[{0, 0, 0, at[3]}]; });
  rope::rotate_memory_keys<interleaved>(keys.view(), query, {.unrotated_last = 2});
  for (std::int64_t t = 0; t < 12; ++t) {
    CHECK(keys.values(0, t, 0) == keys.values(0, t % 4, 0));
    CHECK((keys.values(0, t, 0) == one.values(0, 0, 0)) == (t % 4 == 0));
  }
  for (const std::int64_t t : {12, 13}) CHECK(keys.values(0, t, 0) == one.values(0, 0, 0));
}

TEST_CASE("a repeated table is a table, for inverses too") {
  const auto own = table(2);
  const auto twice = rope::repeated(own, 2);
  CHECK(twice.tokens() == 6);
  CHECK(twice.batch() == 2);
  CHECK(twice.rotary_dim() == 8);
  CHECK(twice.magnitude() == 1);
  CHECK(twice.heads() == 1);
  const auto before = Tensor<float>::random({2, 6, 1, 8}, 32);
  auto x = before;
  rope::rotate<interleaved>(x.view(), twice);
  CHECK(!x.same_values(before));
  auto back = x;
  rope::rotate_inverse<interleaved>(back.view(), twice);
  for (std::int64_t frame = 0; frame < 2; ++frame) {
    rope::rotate_inverse<interleaved>(x.view().slice_tokens(3 * frame, 3), own);
  }
  CHECK(back.same_values(x));
  CHECK(rope::repeated(own, 0).tokens() == 0);
  require_throws<rope::InvalidArgument>(
      "rope::repeated: times must not be negative, nor make more tokens than 64 bits can count, "
      "got -1 for 3 tokens",
      [&] { static_cast<void>(rope::repeated(own, -1)); });
  require_throws<rope::InvalidArgument>(
      "rope::repeated: times must not be negative, nor make more tokens than 64 bits can count, "
      "got 4611686018427387904 for 3 tokens",
      [&] { static_cast<void>(rope::repeated(own, std::int64_t{1} << 62)); });
}

TEST_CASE("keys that are not whole frames are refused, and nothing is written") {
  const auto own = table(1);
  auto keys = Tensor<float>::random({1, 8, 1, 8}, 33);
  const auto before = keys;
  require_throws<rope::InvalidArgument>(
      "rope::rotate_memory_keys: 7 rotated keys (8 without the last 1) are not a multiple of the 3 "
      "tokens of the query's table",
      [&] { rope::rotate_memory_keys<interleaved>(keys.view(), own, {.unrotated_last = 1}); });
  require_throws<rope::InvalidArgument>(
      "rope::rotate_memory_keys: unrotated_last must be from 0 to the 8 keys, got 9",
      [&] { rope::rotate_memory_keys<interleaved>(keys.view(), own, {.unrotated_last = 9}); });
  require_throws<rope::InvalidArgument>(
      "rope::rotate_memory_keys: unrotated_last must be from 0 to the 8 keys, got -1",
      [&] { rope::rotate_memory_keys<interleaved>(keys.view(), own, {.unrotated_last = -1}); });
  const std::vector<double> nothing;
  const rope::TokenTable<float> empty(rope::axial_frequencies({.axis_dims = {4, 4}}),
                                      rope::coordinates(nothing, {0, 2}));
  require_throws<rope::InvalidArgument>(
      "rope::rotate_memory_keys: 8 rotated keys (8 without the last 0) are not a multiple of the 0 "
      "tokens of the query's table",
      [&] { rope::rotate_memory_keys<interleaved>(keys.view(), empty); });
  require_throws<rope::InvalidArgument>(
      "rope::rotate_memory_keys: the rotated part, 8 dims (2 for each pair of the table) from "
      "first_dim 2 on, is not within the view's 8 dims",
      [&] {
        rope::rotate_memory_keys<interleaved>(keys.view(), own,
                                              {.unrotated_last = 2, .first_dim = 2});
      });
  CHECK(keys.same_memory(before));
  // All keys left alone: fine, whatever the table.
  rope::rotate_memory_keys<interleaved>(keys.view(), empty, {.unrotated_last = 8});
  CHECK(keys.same_memory(before));
}

TEST_CASE("tokens at the front and at the end stay as they are") {
  const auto own = table(1);
  const auto before = Tensor<float>::random({2, 6, 2, 8}, 34);
  auto x = before;
  rope::rotate<interleaved>(rope::rotated_tokens(x.view(), {.first = 1, .last = 2}), own);
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t h = 0; h < 2; ++h) {
      for (const std::int64_t t : {0, 4, 5}) {
        CHECK(x.values(b, t, h) == before.values(b, t, h));
      }
      for (const std::int64_t t : {2, 3}) CHECK(x.values(b, t, h) != before.values(b, t, h));
    }
  }
  CHECK(rope::rotated_tokens(x.view(), {}).tokens() == 6);
  CHECK(rope::rotated_tokens(x.view(), {.first = 4, .last = 2}).tokens() == 0);
  const auto refuse = [&](const char* message, const rope::UnrotatedTokens& tokens) {
    require_throws<rope::InvalidArgument>(
        message, [&] { static_cast<void>(rope::rotated_tokens(x.view(), tokens)); });
  };
  refuse(
      "rope::rotated_tokens: 5 unrotated tokens at the front and 2 at the end are not among the "
      "view's 6 tokens",
      {.first = 5, .last = 2});
  refuse(
      "rope::rotated_tokens: -1 unrotated tokens at the front and 0 at the end are not among the "
      "view's 6 tokens",
      {.first = -1});
  refuse(
      "rope::rotated_tokens: 0 unrotated tokens at the front and -1 at the end are not among the "
      "view's 6 tokens",
      {.last = -1});
}

TEST_CASE("a pool, and parts, rotate the keys to the same bits") {
  rope_test::CountingExecutor pool(2);
  const auto own = table(1);
  const auto before = Tensor<float>::random({1, 3 * 300 + 2, 8, 10}, 36);  // 289 KB
  auto alone = before;
  rope::rotate_memory_keys<interleaved>(alone.view(), own, {.unrotated_last = 2});
  auto together = before;
  rope::rotate_memory_keys<interleaved>(together.view(), own,
                                        {.unrotated_last = 2, .executor = pool});
  CHECK(together.same_values(alone));
  CHECK(pool.calls == 1);
  auto parts = before;
  for (const std::int64_t i : {2, 0, 1}) {
    rope::rotate_memory_keys<interleaved>(parts.view(), own, {.unrotated_last = 2, .part = {i, 3}});
  }
  CHECK(parts.same_values(alone));
}
