// Weights of q and k between interleaved and half-split order: row tables written out by hand,
// random shapes in every arrangement, scores that stay the same, and what must not be touched.
#include "rope/weights.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "rope/frequencies.hpp"
#include "rope/rotate.hpp"
#include "rope/table.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/tensor.hpp"

namespace {

using rope::InvalidArgument;
using rope::Pairing;
using rope_test::all_arrangements;
using rope_test::Arrangement;
using rope_test::Random;
using rope_test::require_throws;
using rope_test::Shape;
using rope_test::Tensor;

std::vector<int> counted(int count) {
  std::vector<int> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

std::vector<int> interleaved(std::vector<int> rows, std::int64_t heads,
                             const rope::RotatedPart& part) {
  std::vector<int> scratch(rows.size());
  const auto head_dim = static_cast<std::int64_t>(rows.size()) / heads;
  rope::to_interleaved(rope::bias(rows, {heads, head_dim}), scratch, part);
  return rows;
}

std::vector<int> half_split(std::vector<int> rows, std::int64_t heads,
                            const rope::RotatedPart& part) {
  std::vector<int> scratch(rows.size());
  const auto head_dim = static_cast<std::int64_t>(rows.size()) / heads;
  rope::to_half_split(rope::bias(rows, {heads, head_dim}), scratch, part);
  return rows;
}

/// Where row `row` of a head comes from, worked out pair by pair.
std::int64_t old_row(Pairing to, std::int64_t row, std::int64_t first, std::int64_t rotary_dim) {
  for (std::int64_t pair = 0; pair < rotary_dim / 2; ++pair) {
    const std::array<std::int64_t, 2> neighbours = {first + 2 * pair, first + 2 * pair + 1};
    const std::array<std::int64_t, 2> halves = {first + pair, first + pair + rotary_dim / 2};
    const auto& now = to == Pairing::interleaved ? neighbours : halves;
    const auto& before = to == Pairing::interleaved ? halves : neighbours;
    for (std::size_t member = 0; member < 2; ++member) {
      if (row == now[member]) return before[member];
    }
  }
  return row;
}

Tensor<float> expected_of(const Tensor<float>& weight, Pairing to, std::int64_t first,
                          std::int64_t rotary_dim) {
  Tensor<float> expected = weight;
  weight.for_each([&](const Shape& at) {
    expected[at] = weight[{at[0], at[1], at[2], old_row(to, at[3], first, rotary_dim)}];
  });
  return expected;
}

void reorder(Tensor<float>& weight, Pairing to, std::vector<float>& scratch,
             const rope::RotatedPart& part) {
  if (to == Pairing::interleaved) {
    rope::to_interleaved(weight.view(), scratch, part);
  } else {
    rope::to_half_split(weight.view(), scratch, part);
  }
}

void copy_reordered(const Tensor<float>& weight, Tensor<float>& out, Pairing to,
                    const rope::RotatedPart& part) {
  if (to == Pairing::interleaved) {
    rope::copy_to_interleaved(weight.view(), out.view(), part);
  } else {
    rope::copy_to_half_split(weight.view(), out.view(), part);
  }
}

/// y = W x with W row-major [rows, x.size()].
std::vector<double> projected(const std::vector<double>& weight, const std::vector<double>& x) {
  std::vector<double> y(weight.size() / x.size());
  for (std::size_t row = 0; row < y.size(); ++row) {
    for (std::size_t i = 0; i < x.size(); ++i) y[row] += weight[row * x.size() + i] * x[i];
  }
  return y;
}

std::vector<double> random_values(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> values(count);
  for (double& value : values) value = random.real();
  return values;
}

}  // namespace

TEST_CASE("the order of rows is the one written by hand") {
  CHECK(interleaved(counted(8), 1, {.rotary_dim = 8}) == std::vector{0, 4, 1, 5, 2, 6, 3, 7});
  CHECK(half_split(counted(8), 1, {.rotary_dim = 8}) == std::vector{0, 2, 4, 6, 1, 3, 5, 7});
  CHECK(interleaved(counted(4), 1, {.rotary_dim = 4}) == std::vector{0, 2, 1, 3});
  CHECK(half_split(counted(4), 1, {.rotary_dim = 4}) == std::vector{0, 2, 1, 3});
  CHECK(interleaved(counted(6), 1, {.rotary_dim = 6}) == std::vector{0, 3, 1, 4, 2, 5});
  CHECK(half_split(counted(6), 1, {.rotary_dim = 6}) == std::vector{0, 2, 4, 1, 3, 5});
  // Head by head.
  CHECK(interleaved(counted(8), 2, {.rotary_dim = 4}) == std::vector{0, 2, 1, 3, 4, 6, 5, 7});
  // The first rows of each head only.
  CHECK(interleaved(counted(12), 2, {.rotary_dim = 4}) ==
        std::vector{0, 2, 1, 3, 4, 5, 6, 8, 7, 9, 10, 11});
  // The last rows, after two plain ones.
  CHECK(interleaved(counted(6), 1, {.rotary_dim = 4, .first_dim = 2}) ==
        std::vector{0, 1, 2, 4, 3, 5});
  CHECK(half_split(counted(9), 1, {.rotary_dim = 6, .first_dim = 2}) ==
        std::vector{0, 1, 2, 4, 6, 3, 5, 7, 8});
  // Nothing is rotated, or a single pair.
  CHECK(interleaved(counted(5), 1, {.rotary_dim = 0}) == counted(5));
  CHECK(half_split(counted(4), 2, {.rotary_dim = 2}) == counted(4));
}

TEST_CASE("weights of random shapes are reordered in place and out of place, and back") {
  Random random(1);
  for (int round = 0; round < 150; ++round) {
    const std::int64_t rotary_dim = 2 * random.integer(0, 9);
    const std::int64_t first = random.integer(0, 3);
    const std::int64_t dim = first + rotary_dim + random.integer(rotary_dim + first == 0, 4);
    const Shape shape = {random.integer(1, 2), round % 10 == 0 ? 70 : random.integer(1, 9),
                         random.integer(1, 4), dim};
    const Arrangement arrangement = all_arrangements[random.integer(0, 5)];
    const Arrangement other = all_arrangements[random.integer(0, 5)];
    const Pairing to = random.integer(0, 1) == 0 ? Pairing::interleaved : Pairing::half_split;
    const Pairing back = to == Pairing::interleaved ? Pairing::half_split : Pairing::interleaved;
    const rope::RotatedPart part = {.rotary_dim = rotary_dim, .first_dim = first};
    CAPTURE(shape, rotary_dim, first, arrangement, other, to);

    const auto weight = Tensor<float>::random(shape, random.bits(), arrangement);
    const Tensor<float> expected = expected_of(weight, to, first, rotary_dim);
    // From one column's rows to more than a whole head.
    std::vector<float> scratch(
        static_cast<std::size_t>(random.integer(rotary_dim, rotary_dim * (shape[1] + 1))));

    Tensor<float> changed = weight;
    reorder(changed, to, scratch, part);
    CHECK(changed.same_values(expected));
    CHECK(changed.gaps_are_intact());

    Tensor<float> out(shape, other);
    copy_reordered(weight, out, to, part);
    CHECK(out.same_values(expected));
    CHECK(out.gaps_are_intact());

    reorder(changed, back, scratch, part);
    CHECK(changed.same_memory(weight));
  }
}

TEST_CASE("scores stay the same if the pairing changes with the weights, and only then") {
  constexpr std::size_t in = 10;
  constexpr std::int64_t head_dim = 12;
  constexpr std::int64_t q_heads = 4;
  constexpr std::int64_t k_heads = 2;
  const auto rotary_dim = GENERATE(std::int64_t{12}, std::int64_t{8});
  const rope::CosSinTable<double> table(rope::frequencies({.rotary_dim = rotary_dim}), 64);
  const auto x = random_values(in, 1);
  const auto y = random_values(in, 2);
  const auto q_weight = random_values(q_heads * head_dim * in, 3);
  const auto k_weight = random_values(k_heads * head_dim * in, 4);

  const auto scores = [&](const std::vector<double>& wq, const std::vector<double>& wk,
                          Pairing pairing) {
    auto q = projected(wq, x);
    auto k = projected(wk, y);
    const rope::PairingOptions options{.pairing = pairing};
    rope::rotate(rope::thd(q, {1, q_heads, head_dim}), table, rope::from(37), options);
    rope::rotate(rope::thd(k, {1, k_heads, head_dim}), table, rope::from(20), options);
    std::vector<double> values;
    for (std::int64_t head = 0; head < q_heads; ++head) {
      double sum = 0;
      for (std::int64_t i = 0; i < head_dim; ++i) {
        const std::int64_t k_head = head / (q_heads / k_heads);
        sum += q[static_cast<std::size_t>(head * head_dim + i)] *
               k[static_cast<std::size_t>(k_head * head_dim + i)];
      }
      values.push_back(sum);
    }
    return values;
  };
  const auto distance = [](const std::vector<double>& a, const std::vector<double>& b) {
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::fmax(largest, std::fabs(a[i] - b[i]));
    return largest;
  };

  auto new_q = q_weight;
  auto new_k = k_weight;
  std::vector<double> scratch(head_dim * in);
  rope::to_half_split(rope::row_major_weight(new_q, {q_heads, head_dim, in}), scratch,
                      {.rotary_dim = rotary_dim});
  rope::to_half_split(rope::row_major_weight(new_k, {k_heads, head_dim, in}), scratch,
                      {.rotary_dim = rotary_dim});
  const auto expected = scores(q_weight, k_weight, Pairing::interleaved);
  CHECK(distance(scores(new_q, new_k, Pairing::half_split), expected) < 1e-13);
  CHECK(distance(scores(new_q, new_k, Pairing::interleaved), expected) > 1e-2);
  CHECK(distance(scores(q_weight, k_weight, Pairing::half_split), expected) > 1e-2);
  CHECK(distance(scores(new_q, k_weight, Pairing::half_split), expected) > 1e-2);
}

TEST_CASE("row-major, padded, column-major and byte weights name the same rows") {
  // 2 heads of 4 rows, 3 columns; the value says row and column.
  const auto value = [](int row, int column) { return static_cast<short>(10 * row + column); };
  const int order[] = {0, 2, 1, 3, 4, 6, 5, 7};
  std::vector<short> rows, padded(8 * 5 - 2, short{-1}), columns(24);
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 3; ++column) {
      rows.push_back(value(row, column));
      padded[static_cast<std::size_t>(5 * row + column)] = value(row, column);
      columns[static_cast<std::size_t>(8 * column + row)] = value(row, column);
    }
  }
  auto bytes = rows;
  std::vector<short> scratch(12);
  rope::to_interleaved(rope::row_major_weight(rows, {2, 4, 3}), scratch, {.rotary_dim = 4});
  rope::to_interleaved(rope::row_major_weight(padded, {2, 4, 3}, 5), scratch, {.rotary_dim = 4});
  rope::to_interleaved(rope::column_major_weight(columns, {2, 4, 3}), scratch, {.rotary_dim = 4});
  std::vector<std::byte> byte_scratch(4);
  rope::to_interleaved(
      rope::row_major_weight(std::as_writable_bytes(std::span(bytes)), {2, 4, 3 * sizeof(short)}),
      byte_scratch, {.rotary_dim = 4});
  for (std::size_t row = 0; row < 8; ++row) {
    for (std::size_t column = 0; column < 3; ++column) {
      CAPTURE(row, column);
      const short expected = value(order[row], static_cast<int>(column));
      CHECK(rows[3 * row + column] == expected);
      CHECK(padded[5 * row + column] == expected);
      CHECK(columns[8 * column + row] == expected);
    }
    if (row < 7) CHECK(padded[5 * row + 3] == -1);
  }
  CHECK(bytes == rows);
}

TEST_CASE("a slice of a packed qkv weight is reordered alone") {
  // One head each of 4 rows: q, k, v.
  std::vector<int> packed = counted(12);
  std::vector<int> scratch(4);
  rope::to_half_split(rope::bias(packed.data(), {2, 4}), scratch, {.rotary_dim = 4});
  CHECK(packed == std::vector{0, 2, 1, 3, 4, 6, 5, 7, 8, 9, 10, 11});
}

TEST_CASE("a refused call names what is wrong and writes nothing") {
  std::vector<int> weight = counted(24);
  std::vector<int> out(24, -1);
  std::vector<int> scratch(8, -2);
  const auto rows = rope::row_major_weight(weight, {2, 4, 3});
  const auto refused = [&](const char* message, auto call) {
    require_throws<InvalidArgument>(message, call);
    CHECK(weight == counted(24));
    CHECK(out == std::vector<int>(24, -1));
    CHECK(scratch == std::vector<int>(8, -2));
  };
  refused("rope::to_half_split: rotary_dim must be even and not negative, got 3",
          [&] { rope::to_half_split(rows, scratch, {.rotary_dim = 3}); });
  refused("rope::to_interleaved: rotary_dim must be even and not negative, got -2",
          [&] { rope::to_interleaved(rows, scratch, {.rotary_dim = -2}); });
  refused("rope::to_half_split: rotary_dim 6 from first_dim 0 on is not within the view's 4 dims",
          [&] { rope::to_half_split(rows, scratch, {.rotary_dim = 6}); });
  refused("rope::to_half_split: rotary_dim 4 from first_dim 1 on is not within the view's 4 dims",
          [&] { rope::to_half_split(rows, scratch, {.rotary_dim = 4, .first_dim = 1}); });
  refused("rope::to_half_split: rotary_dim 2 from first_dim -1 on is not within the view's 4 dims",
          [&] { rope::to_half_split(rows, scratch, {.rotary_dim = 2, .first_dim = -1}); });
  refused("rope::to_half_split: scratch has 3 elements, but needs at least rotary_dim, 4",
          [&] { rope::to_half_split(rows, std::span(scratch).first(3), {.rotary_dim = 4}); });
  refused("rope::to_half_split: weight and scratch share elements",
          [&] { rope::to_half_split(rows, std::span(weight).last(4), {.rotary_dim = 4}); });
  refused("rope::copy_to_half_split: in and out share elements",
          [&] { rope::copy_to_half_split(rows, rows, {.rotary_dim = 4}); });
  refused("rope::copy_to_interleaved: in has tokens 3, but out has 2", [&] {
    rope::copy_to_interleaved(rows, rope::row_major_weight(out, {3, 4, 2}), {.rotary_dim = 4});
  });
  refused(
      "rope::copy_to_interleaved: rotary_dim 8 from first_dim 0 on is not within the view's 4 dims",
      [&] {
        rope::copy_to_interleaved(rows, rope::row_major_weight(out, {2, 4, 3}), {.rotary_dim = 8});
      });
  refused(
      "rope::to_half_split: the written view of strides [0, 0, 0, 1] (batch, tokens, heads, dim) "
      "has the same element at several indices",
      [&] {
        rope::to_half_split(rope::View<int>(weight.data(), {1, 1, 2, 4}, {0, 0, 0, 1}), scratch,
                            {.rotary_dim = 4});
      });
}

TEST_CASE("shapes that do not fit the data are refused") {
  std::vector<int> data(24);
  require_throws<InvalidArgument>(
      "rope::row_major_weight: data has 24 elements, but [2, 4, 4] (heads, head_dim, in) with row "
      "stride 4 needs 32",
      [&] {
        rope::row_major_weight(data, {2, 4, 4});
      });
  // A k weight taken to have as many heads as q.
  require_throws<InvalidArgument>(
      "rope::bias: data has 24 elements, but [8, 4, 1] (heads, head_dim, in) with row stride 1 "
      "needs 32",
      [&] {
        rope::bias(data, {8, 4});
      });
  require_throws<InvalidArgument>(
      "rope::row_major_weight: data has 24 elements, but [2, 4, 3] (heads, head_dim, in) with row "
      "stride 4 needs 31",
      [&] {
        rope::row_major_weight(data, {2, 4, 3}, 4);
      });
  require_throws<InvalidArgument>(
      "rope::row_major_weight: row stride 2 is less than the 3 elements of a row", [&] {
        rope::row_major_weight(data, {2, 4, 3}, 2);
      });
  require_throws<InvalidArgument>("rope::row_major_weight: heads must not be negative, got -2",
                                  [&] {
                                    rope::row_major_weight(data, {-2, 4, 3});
                                  });
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  require_throws<InvalidArgument>(
      "rope::row_major_weight: 4611686018427387904 rows in a head with row stride 3 overflow a "
      "64-bit offset",
      [&] {
        rope::row_major_weight(data, {2, huge, 3});
      });
  // Nothing to reorder is fine, also without scratch.
  rope::to_half_split(rope::row_major_weight(std::span<int>(), {0, 4, 3}), std::span<int>(),
                      {.rotary_dim = 4});
}
