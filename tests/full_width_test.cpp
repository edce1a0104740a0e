// Export of a table to the full-width forms of x * cos + rotate(x) * sin.
#include "rope/full_width.hpp"

#include <cstdint>
#include <span>
#include <vector>

#include "rope/rotate.hpp"
#include "rope/table.hpp"
#include "rope/table_view.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/tensor.hpp"

namespace {

using rope::InvalidArgument;
using rope::Pairing;
using rope_test::require_throws;

/// x * cos + rotate(x) * sin as PyTorch code has it.
std::vector<double> full_width_rotation(const std::vector<double>& x, const double* cos,
                                        const double* sin, Pairing pairing) {
  const std::size_t dim = x.size();
  std::vector<double> turned(dim);
  for (std::size_t i = 0; i < dim; ++i) {
    if (pairing == Pairing::half_split) {
      turned[i] = i < dim / 2 ? -x[i + dim / 2] : x[i - dim / 2];
    } else {
      turned[i] = i % 2 == 0 ? -x[i + 1] : x[i - 1];
    }
  }
  std::vector<double> result(dim);
  for (std::size_t i = 0; i < dim; ++i) result[i] = x[i] * cos[i] + turned[i] * sin[i];
  return result;
}

template <Pairing pairing>
void check_against_rotate() {
  constexpr std::int64_t rows = 7;
  constexpr std::int64_t dim = 10;
  const rope::CosSinTable<double> table(rope::frequencies({.rotary_dim = dim}), rows);
  std::vector<double> cos(rows * dim);
  std::vector<double> sin(rows * dim);
  rope::write_full_width<pairing>(table, std::span<double>(cos), std::span<double>(sin));
  auto x = rope_test::Tensor<double>::random({1, rows, 1, dim}, 3);
  const auto before = x;
  rope::rotate<pairing>(x.view(), table, rope::from(0));
  for (std::int64_t t = 0; t < rows; ++t) {
    const std::vector<double> expected = full_width_rotation(
        before.values(0, t, 0), cos.data() + t * dim, sin.data() + t * dim, pairing);
    for (std::int64_t i = 0; i < dim; ++i) {
      REQUIRE(std::abs(x[{0, t, 0, i}] - expected[static_cast<std::size_t>(i)]) <= 1e-15);
    }
  }
}

}  // namespace

TEST_CASE("half-split tables are tiled, interleaved ones have each value twice") {
  const std::vector<float> cos = {1, 2, 3, 4, 5, 6};
  const std::vector<float> sin = {11, 12, 13, 14, 15, 16};
  const auto table = rope::table_view(cos, sin, {2, 3}, {.rotary_dim = 6});
  std::vector<float> wide_cos(12);
  std::vector<float> wide_sin(12);
  rope::write_full_width<Pairing::half_split>(table, wide_cos, wide_sin);
  CHECK(wide_cos == std::vector<float>{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  CHECK(wide_sin == std::vector<float>{11, 12, 13, 11, 12, 13, 14, 15, 16, 14, 15, 16});
  rope::write_full_width<Pairing::interleaved>(table, wide_cos, wide_sin);
  CHECK(wide_cos == std::vector<float>{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6});
  CHECK(wide_sin == std::vector<float>{11, 11, 12, 12, 13, 13, 14, 14, 15, 15, 16, 16});
}

TEST_CASE("the exported tables rotate as rotate() does") {
  check_against_rotate<Pairing::interleaved>();
  check_against_rotate<Pairing::half_split>();
}

TEST_CASE("the first half and every second value lead back to the table") {
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = 8}), 5);
  std::vector<float> cos(40);
  std::vector<float> sin(40);
  rope::write_full_width<Pairing::half_split>(table, cos, sin);
  const auto halves = rope::table_view(cos, sin, {5, 4}, {.rotary_dim = 8, .row_stride = 8});
  std::vector<float> other_cos(40);
  std::vector<float> other_sin(40);
  rope::write_full_width<Pairing::half_split>(halves, other_cos, other_sin);
  CHECK(other_cos == cos);
  CHECK(other_sin == sin);
  rope::write_full_width<Pairing::interleaved>(table, cos, sin);
  const auto seconds = rope::table_view(cos, sin, {5, 4}, {.rotary_dim = 8, .pair_stride = 2});
  rope::write_full_width<Pairing::interleaved>(seconds, other_cos, other_sin);
  CHECK(other_cos == cos);
  CHECK(other_sin == sin);
}

TEST_CASE("output of another size is refused and untouched") {
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = 8}), 5);
  std::vector<float> right(40, 7);
  std::vector<float> wrong(20, 7);
  require_throws<InvalidArgument>(
      "rope::write_full_width: cos has 20 elements, but 5 rows of the full width 8 need exactly as "
      "many",
      [&] { rope::write_full_width<Pairing::half_split>(table, wrong, right); });
  require_throws<InvalidArgument>(
      "rope::write_full_width: sin has 20 elements, but 5 rows of the full width 8 need exactly as "
      "many",
      [&] { rope::write_full_width<Pairing::half_split>(table, right, wrong); });
  CHECK(right == std::vector<float>(40, 7));
  CHECK(wrong == std::vector<float>(20, 7));
}

TEST_CASE("a table with rows for each head has no full-width form") {
  const rope::CosSinTable<float> table(rope::Frequencies({1, 2}, {1, 2, 1}), 5);
  std::vector<float> cos(10);
  std::vector<float> sin(10);
  require_throws<InvalidArgument>(
      "rope::write_full_width: the table has rows for each of 2 heads, which this form cannot hold",
      [&] { rope::write_full_width<Pairing::interleaved>(table, cos, sin); });
}
