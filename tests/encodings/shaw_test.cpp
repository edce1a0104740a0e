// Relative keys and values of Shaw et al., against the paper's sums written out.

#include "rope/encodings/shaw.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "encodings/message.hpp"
#include "rope/encodings/matrix.hpp"
#include "support/catch.hpp"

using rope_test::message_of;

namespace {

template <class T>
std::vector<T> random_values(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(uniform(engine));
  return values;
}

}  // namespace

TEST_CASE("rows of distances, clipped") {
  const std::vector<std::int64_t> expected = {0, 0, 0, 1, 2, 3, 4, 4, 4};
  for (int relative = -4; relative <= 4; ++relative) {
    CHECK(rope::shaw_row(relative, 2) == expected[static_cast<std::size_t>(relative + 4)]);
  }
  CHECK(rope::shaw_row(5, 0) == 0);
  CHECK(rope::shaw_row((std::numeric_limits<std::int64_t>::min)(), 3) == 0);
  CHECK(rope::shaw_row((std::numeric_limits<std::int64_t>::max)(), 3) == 6);
  CHECK(message_of([] { rope::shaw_row(1, -1); }) ==
        "InvalidArgument: rope::shaw_row: max_distance must be from 0 to below 2^62, got -1");
}

TEMPLATE_TEST_CASE("relative keys by hand", "", float, double) {
  using T = TestType;
  // One head of two features, k = 1: rows for the key before the query, at it, and after it.
  const std::vector<T> rows = {1, 0, 0, 1, 2, 2};
  const std::vector<T> q = {3, 5, 7, 11, 13, 17};
  std::vector<T> s(9, T(100));
  rope::add_shaw_scores(rope::scores(s, {1, 3, 3}), rope::thd(q, {3, 1, 2}),
                        rope::matrix(rows, {3, 2}),
                        {.scale = 0.5, .positions = {.first_query = 0}});
  // q . row: query 0: before 3, at 5, after 16; query 1: 7, 11, 36; query 2: 13, 17, 60.
  CHECK(s == std::vector<T>{T(102.5), T(108), T(108),    //
                            T(103.5), T(105.5), T(118),  //
                            T(106.5), T(106.5), T(108.5)});
}

TEMPLATE_TEST_CASE("relative values by hand", "", float, double) {
  using T = TestType;
  const std::vector<T> rows = {1, 0, 0, 1, 2, 2};
  const std::vector<T> weights = {T(0.5),  T(0.25), T(0.25), T(0.25), T(0.5),
                                  T(0.25), T(0.5),  T(0.25), T(0.25)};
  std::vector<T> out(6, T(10));
  rope::add_shaw_values(rope::thd(out, {3, 1, 2}), rope::scores(weights, {1, 3, 3}),
                        rope::matrix(rows, {3, 2}), {.first_query = 0});
  // Query 0: 0.5 at, 0.5 after; query 1: 0.25 before, 0.5 at, 0.25 after; query 2: 0.75 before,
  // 0.25 at.
  CHECK(out == std::vector<T>{T(11), T(11.5), T(10.75), T(11), T(10.75), T(10.25)});
}

TEST_CASE("the sums of the paper, for any heads, batch, window and strides") {
  constexpr int batch = 2;
  constexpr int heads = 3;
  constexpr int queries = 6;
  constexpr int keys = 9;
  constexpr int dim = 5;
  for (const int k : {0, 1, 3, 20}) {
    for (const int row_heads : {1, heads}) {
      for (const int first_query : {0, 3, 40}) {
        const int first_key = first_query == 3 ? 1 : 0;
        const auto row_count = static_cast<std::size_t>((2 * k + 1) * row_heads * dim);
        const auto rows = random_values<double>(row_count, 1);
        const auto q = random_values<double>(batch * heads * queries * dim, 2);
        const auto weights = random_values<double>(batch * heads * queries * keys, 3);
        auto s = random_values<double>(batch * heads * queries * keys, 4);
        auto out = random_values<double>(batch * queries * heads * dim, 5);
        const auto s_before = s;
        const auto out_before = out;

        const auto row_view = rope::thd(rows, {2 * k + 1, row_heads, dim});
        rope::add_shaw_scores(
            rope::bhtd(s, {batch, heads, queries, keys}),
            rope::bhtd(q, {batch, heads, queries, dim}), row_view,
            {.scale = 0.25, .positions = {.first_query = first_query, .first_key = first_key}});
        rope::add_shaw_values(rope::bthd(out, {batch, queries, heads, dim}),
                              rope::bhtd(weights, {batch, heads, queries, keys}), row_view,
                              {.first_query = first_query, .first_key = first_key});

        double worst = 0;
        const auto row_at = [&](int query, int key, int head, int i) {
          const int relative = first_key + key - first_query - query;
          const int row = std::clamp(relative, -k, k) + k;
          return rows[static_cast<std::size_t>(
              (row * row_heads + (row_heads == 1 ? 0 : head)) * dim + i)];
        };
        for (int b = 0; b < batch; ++b) {
          for (int head = 0; head < heads; ++head) {
            for (int query = 0; query < queries; ++query) {
              const int line = (b * heads + head) * queries + query;
              for (int key = 0; key < keys; ++key) {
                double product = 0;
                for (int i = 0; i < dim; ++i) {
                  product +=
                      q[static_cast<std::size_t>(line * dim + i)] * row_at(query, key, head, i);
                }
                const auto at = static_cast<std::size_t>(line * keys + key);
                worst = std::fmax(worst, std::abs(s[at] - (s_before[at] + 0.25 * product)));
              }
              for (int i = 0; i < dim; ++i) {
                double sum = 0;
                for (int key = 0; key < keys; ++key) {
                  sum += weights[static_cast<std::size_t>(line * keys + key)] *
                         row_at(query, key, head, i);
                }
                const auto at =
                    static_cast<std::size_t>(((b * queries + query) * heads + head) * dim + i);
                worst = std::fmax(worst, std::abs(out[at] - (out_before[at] + sum)));
              }
            }
          }
        }
        INFO("k " << k << ", row heads " << row_heads << ", first query " << first_query);
        CHECK(worst < 1e-13);
      }
    }
  }
}

TEST_CASE("what cannot be right is refused, and the output stays as it is") {
  const std::vector<double> rows(6 * 2, 1.0);
  const std::vector<double> q(3 * 2, 1.0);
  const std::vector<double> before(9, 1.0);
  std::vector<double> s = before;
  const auto view = rope::scores(s, {1, 3, 3});
  const auto q_view = rope::thd(q, {3, 1, 2});
  const rope::ShawScoreOptions options{.scale = 1, .positions = {.first_query = 0}};
  CHECK(message_of([&] {
          rope::add_shaw_scores(view, q_view, rope::matrix(rows, {6, 2}), options);
        }) ==
        "InvalidArgument: rope::add_shaw_scores: relative rows must have batch 1 and an odd number "
        "2 k + 1 of rows, but have batch 1 and rows 6");
  const auto good = rope::matrix(rows.data(), {5, 2});
  CHECK(message_of([&] {
          rope::add_shaw_scores(view, rope::thd(q, {2, 1, 3}), good, options);
        }) ==
        "InvalidArgument: rope::add_shaw_scores: scores has [1, 1, 3] (batch, heads, queries), but "
        "q has [1, 1, 2]");
  CHECK(message_of([&] {
          rope::add_shaw_scores(view, q_view, rope::matrix(rows.data(), {3, 3}), options);
        }) ==
        "InvalidArgument: rope::add_shaw_scores: relative rows have heads 1 and dim 3, but q has "
        "heads 1 and dim 2");
  CHECK(message_of([&] {
          rope::add_shaw_scores(view, q_view, rope::thd(rows.data(), {3, 2, 2}), options);
        }) != "nothing thrown");
  CHECK(message_of([&] {
          rope::add_shaw_scores(
              view, q_view, good,
              {.scale = std::numeric_limits<double>::infinity(), .positions = {.first_query = 0}});
        }) == "InvalidArgument: rope::add_shaw_scores: scale is not finite");
  CHECK(message_of([&] {
          rope::add_shaw_scores(view, q_view, good, {.scale = 1, .positions = {.first_query = -7}});
        }) ==
        "OutOfRange: rope::add_shaw_scores: positions: 3 queries from -7 on and 3 keys from 0 on "
        "are not all within 0 .. 2^62");
  CHECK(s == before);

  std::vector<double> out(6, 2.0);
  CHECK(message_of([&] {
          rope::add_shaw_values(rope::thd(out, {2, 1, 3}), view, good, {.first_query = 0});
        }) ==
        "InvalidArgument: rope::add_shaw_values: weights has [1, 1, 3] (batch, heads, queries), "
        "but out has [1, 1, 2]");
  CHECK(message_of([&] {
          rope::add_shaw_values(rope::thd(out, {3, 1, 2}), view, rope::matrix(out, {3, 2}),
                                {.first_query = 0});
        }) == "InvalidArgument: rope::add_shaw_values: out and relative_values share elements");
  CHECK(out == std::vector<double>(6, 2.0));
}
