// The position-dependent query scale of Llama 4 and Ministral 3.
#include "rope/query_scale.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "scaling/check.hpp"
#include "support/catch.hpp"
#include "support/counting_executor.hpp"
#include "support/errors.hpp"

namespace {

using rope_test::require_throws;
using rope_test::scaling::relative_error;

constexpr rope::QueryScale ministral3 = {.beta = 0.1, .period = 16384};
constexpr rope::QueryScale llama4 = {.beta = 0.1, .period = 8192, .offset = 1};

}  // namespace

TEST_CASE("query scales of the golden file") {
  const std::int64_t positions[] = {0, 1, 16383, 16384, 32767, 32768, 131072, 262143};
  const double of_ministral3[] = {1.0,
                                  1.0,
                                  1.0,
                                  1.06931471824646,
                                  1.06931471824646,
                                  1.1098612546920776,
                                  1.2197225093841553,
                                  1.2772588729858398};
  const double of_llama4[] = {1.0,
                              1.0,
                              1.1098612546920776,
                              1.1098612546920776,
                              1.1609437465667725,
                              1.1609437465667725,
                              1.2833213806152344,
                              1.3496507406234741};
  for (std::size_t i = 0; i < std::size(positions); ++i) {
    INFO("position " << positions[i]);
    CHECK(relative_error(rope::query_scale(ministral3, positions[i]), of_ministral3[i]) <= 1e-7);
    CHECK(relative_error(rope::query_scale(llama4, positions[i]), of_llama4[i]) <= 1e-7);
  }
  // 1 + 0.1 ln 2
  CHECK(relative_error(rope::query_scale(ministral3, 16384), 1.0693147180559945) <= 1e-15);
}

TEST_CASE("queries are scaled by the position of their token") {
  // [batch 2, tokens 2, heads 2, dim 4]
  std::vector<float> q(2 * 2 * 2 * 4, 3.0f);
  const std::int64_t ids[] = {0, 8191, 16383, 262143};
  rope::scale_queries(rope::bthd(q, {2, 2, 2, 4}), llama4, rope::at(ids, {2, 2}));
  for (std::size_t token = 0; token < 4; ++token) {
    const float factor = static_cast<float>(rope::query_scale(llama4, ids[token]));
    for (std::size_t i = 0; i < 8; ++i) CHECK(q[8 * token + i] == 3.0f * factor);
  }
  CHECK(q[0] == 3.0f);
  CHECK(q[8] > 3.2f);
}

TEST_CASE("strides are respected and gaps are not touched") {
  std::vector<double> memory(2 * 2 * 4, 5.0);
  // Two tokens of one head of two features, each in a place of four.
  const rope::View<double> q(memory.data(), {1, 2, 1, 2}, {16, 8, 4, 2});
  rope::scale_queries(q, {.beta = 1, .period = 10}, rope::from(19));
  const double scaled[] = {5 * rope::query_scale({.beta = 1, .period = 10}, 19),
                           5 * rope::query_scale({.beta = 1, .period = 10}, 20)};
  CHECK(scaled[0] != scaled[1]);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const bool is_element = i % 8 == 0 || i % 8 == 2;
    CHECK(memory[i] == (is_element ? scaled[i / 8] : 5.0));
  }
}

TEST_CASE("what the query scale refuses, before anything is written") {
  std::vector<float> q(8, 1.0f);
  const rope::View<float> view = rope::bthd(q, {1, 2, 1, 4});
  require_throws<rope::InvalidArgument>(
      "rope::query_scale: scale.beta must be finite and not negative, got -0.1",
      [] { (void)rope::query_scale({.beta = -0.1, .period = 8192}, 0); });
  require_throws<rope::InvalidArgument>(
      "rope::scale_queries: scale.period must be at least 1 and scale.offset not negative, got 0 "
      "and 0",
      [&] { rope::scale_queries(view, {.beta = 0.1, .period = 0}, rope::from(0)); });
  require_throws<rope::OutOfRange>(
      "rope::query_scale: position must not be negative, nor reach 2^63 with the offset 1, got -1",
      [] { (void)rope::query_scale(llama4, -1); });
  require_throws<rope::OutOfRange>(
      "rope::query_scale: position must not be negative, nor reach 2^63 with the offset 1, got "
      "9223372036854775807",
      [] { (void)rope::query_scale(llama4, std::numeric_limits<std::int64_t>::max()); });
  const std::int32_t negative[] = {10000, -1};
  require_throws<rope::OutOfRange>(
      "rope::scale_queries: positions must not be negative, nor reach 2^63 with the offset 1",
      [&] { rope::scale_queries(view, llama4, rope::at(negative, {2})); });
  const std::int32_t three[] = {1, 2, 3};
  require_throws<rope::InvalidArgument>(
      "rope::scale_queries: positions have the shape [3] (tokens), but the view has tokens 2",
      [&] { rope::scale_queries(view, llama4, rope::at(three, {3})); });
  const rope::View<float> broadcast(q.data(), {1, 2, 1, 4}, {0, 0, 4, 1});
  CHECK_THROWS_AS(rope::scale_queries(broadcast, llama4, rope::from(0)), rope::InvalidArgument);
  CHECK(q == std::vector<float>(8, 1.0f));
}

TEST_CASE("a pool scales queries to the same bits") {
  rope_test::CountingExecutor pool(3);
  std::vector<float> alone(2 * 101 * 8 * 64);
  for (std::size_t i = 0; i < alone.size(); ++i) alone[i] = static_cast<float>(i % 1013) - 500;
  std::vector<float> together = alone;
  const std::int64_t starts[] = {5, 16380};
  const auto positions = rope::from_each(starts);
  rope::scale_queries(rope::bthd(alone, {2, 101, 8, 64}), llama4, positions);
  rope::scale_queries(rope::bthd(together, {2, 101, 8, 64}), llama4, positions, pool);
  CHECK(together == alone);
  CHECK(pool.calls == 1);
}
