// The caller's own cos and sin: where each entry is read, and which shapes are refused.
#include "rope/table_view.hpp"

#include <climits>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "rope/table_concept.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using rope::InvalidArgument;
using rope_test::require_throws;

using ByPosition = rope::TableView<float, rope::RowAddressing::position>;
using ByToken = rope::TableView<double, rope::RowAddressing::token>;
static_assert(rope::PositionTable<ByPosition> && !rope::TokenAddressedTable<ByPosition>);
static_assert(rope::TokenAddressedTable<ByToken> && !rope::PositionTable<ByToken>);
static_assert(std::is_trivially_copyable_v<ByPosition>);

std::vector<float> counted(std::size_t count, float first) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// Fails unless the pairs from `first` on of a row are as expected.
template <class Table>
void check_row(const Table& table, std::int64_t row, std::int64_t first,
               const std::vector<float>& cos, const std::vector<float>& sin) {
  std::vector<float> scratch(2 * cos.size());
  const auto entries =
      table.row(row, 0, first, static_cast<std::int64_t>(cos.size()), scratch.data());
  for (std::size_t i = 0; i < cos.size(); ++i) {
    CHECK(entries.cos[i] == cos[i]);
    CHECK(entries.sin[i] == sin[i]);
  }
}

}  // namespace

TEST_CASE("two arrays with a row for each position") {
  const std::vector<float> cos = counted(12, 0);
  const std::vector<float> sin = counted(12, 100);
  const auto table = rope::table_view(cos, sin, {4, 3}, {.rotary_dim = 6});
  static_assert(rope::PositionTable<decltype(table)>);
  CHECK(table.rows() == 4);
  CHECK(table.pairs() == 3);
  CHECK(table.rotary_dim() == 6);
  CHECK(table.heads() == 1);
  CHECK(table.magnitude() == 1.0);
  check_row(table, 2, 0, {6, 7, 8}, {106, 107, 108});
  check_row(table, 3, 1, {10, 11}, {110, 111});
}

TEST_CASE("two arrays with a row for each token") {
  const std::vector<float> cos = counted(12, 0);
  const std::vector<float> sin = counted(12, 100);
  const auto table = rope::table_view(cos, sin, {2, 3, 2}, {.rotary_dim = 4, .magnitude = 1.5});
  static_assert(rope::TokenAddressedTable<decltype(table)>);
  CHECK(table.batch() == 2);
  CHECK(table.tokens() == 3);
  CHECK(table.pairs() == 2);
  CHECK(table.magnitude() == 1.5);
  check_row(table, 4, 0, {8, 9}, {108, 109});  // batch row 1, token 1
}

TEST_CASE("cos and sin fused in one row") {
  const std::vector<float> rows = counted(24, 0);
  const auto by_position = rope::fused_table_view(rows, {4, 6}, {.rotary_dim = 6});
  check_row(by_position, 1, 0, {6, 7, 8}, {9, 10, 11});
  check_row(by_position, 3, 2, {20}, {23});
  const auto by_token = rope::fused_table_view(rows, {3, 2, 4}, {.rotary_dim = 4});
  CHECK(by_token.batch() == 3);
  check_row(by_token, 3, 0, {12, 13}, {14, 15});  // batch row 1, token 1
}

TEST_CASE("tables in strided memory") {
  const std::vector<float> memory = counted(100, 0);
  const float* const sin = memory.data() + 1;
  // Cos and sin interleaved, two numbers a pair, with a gap behind each row.
  const auto complex = rope::table_view(memory.data(), sin, {3, 4},
                                        {.rotary_dim = 8, .row_stride = 10, .pair_stride = 2});
  check_row(complex, 2, 0, {20, 22, 24, 26}, {21, 23, 25, 27});
  check_row(complex, 1, 3, {16}, {17});
  // Every second value of the full-width form.
  const auto doubled =
      rope::table_view(memory, memory, {5, 4}, {.rotary_dim = 8, .pair_stride = 2});
  check_row(doubled, 1, 0, {8, 10, 12, 14}, {8, 10, 12, 14});
  // A batch stride, and a row for each token.
  const auto batched = rope::table_view(memory, memory, {2, 3, 2},
                                        {.rotary_dim = 4, .row_stride = 5, .batch_stride = 40});
  check_row(batched, 5, 0, {50, 51}, {50, 51});
  // A fused row whose pairs are two apart: sin starts after all cos.
  const auto fused =
      rope::fused_table_view(memory, {2, 6}, {.rotary_dim = 6, .row_stride = 20, .pair_stride = 2});
  check_row(fused, 1, 1, {22, 24}, {28, 30});
  // The same row for all positions.
  const auto constant = rope::table_view(memory, sin, {50, 2}, {.rotary_dim = 4, .row_stride = 0});
  check_row(constant, 49, 0, {0, 1}, {1, 2});
}

TEST_CASE("just enough elements are enough") {
  // Rows of 3 at a stride of 5: the last row ends before its gap.
  const std::vector<float> memory = counted(13, 0);
  const auto table = rope::table_view(memory, memory, {3, 3}, {.rotary_dim = 6, .row_stride = 5});
  check_row(table, 2, 2, {12}, {12});
  require_throws<InvalidArgument>(
      "rope::table_view: sin has 12 elements, but its shape and strides need 13", [&] {
        (void)rope::table_view(memory, std::span(memory).first(12), {3, 3},
                               {.rotary_dim = 6, .row_stride = 5});
      });
}

TEST_CASE("a table may have no rows") {
  const std::vector<float> none;
  CHECK(rope::table_view(none, none, {0, 3}, {.rotary_dim = 6}).rows() == 0);
  CHECK(rope::fused_table_view(none, {2, 0, 6}, {.rotary_dim = 6}).tokens() == 0);
}

TEST_CASE("a table of the full width is refused, not read wrongly") {
  const std::vector<float> memory(64);
  require_throws<InvalidArgument>(
      "rope::table_view: the width of cos is 8, but for a rotary_dim of 8 it must be 4 (one value "
      "for each pair)",
      [&] {
        (void)rope::table_view(memory, memory, {8, 8}, {.rotary_dim = 8});
      });
  require_throws<InvalidArgument>(
      "rope::table_view: the width of cos is 4, but for a rotary_dim of 4 it must be 2 (one value "
      "for each pair)",
      [&] {
        (void)rope::table_view(memory, memory, {2, 8, 4}, {.rotary_dim = 4});
      });
  require_throws<InvalidArgument>(
      "rope::fused_table_view: the width of cos_sin is 16, but for a rotary_dim of 8 it must be 8 "
      "(one cos and one sin for each pair)",
      [&] {
        (void)rope::fused_table_view(memory, {4, 16}, {.rotary_dim = 8});
      });
  require_throws<InvalidArgument>(
      "rope::fused_table_view: the width of cos_sin is 4, but for a rotary_dim of 8 it must be 8 "
      "(one cos and one sin for each pair)",
      [&] {
        (void)rope::fused_table_view(memory, {4, 4}, {.rotary_dim = 8});
      });
}

TEST_CASE("tables that cannot be are refused") {
  const std::vector<float> memory(64);
  for (const int rotary_dim : {-2, 0, 3}) {
    require_throws<InvalidArgument>(
        "rope::table_view: rotary_dim must be even and above 0, got " + std::to_string(rotary_dim),
        [&] {
          (void)rope::table_view(memory, memory, {8, 4}, {.rotary_dim = rotary_dim});
        });
  }
  require_throws<InvalidArgument>(
      "rope::table_view: the shape of cos must not be negative, got [1, -8, 4]", [&] {
        (void)rope::table_view(memory, memory, {-8, 4}, {.rotary_dim = 8});
      });
  require_throws<InvalidArgument>(
      "rope::fused_table_view: the shape of cos_sin must not be negative, got [-1, 2, 8]", [&] {
        (void)rope::fused_table_view(memory, {-1, 2, 8}, {.rotary_dim = 8});
      });
  require_throws<InvalidArgument>(
      "rope::table_view: strides must not be negative, got batch_stride -32, row_stride -4, "
      "pair_stride 1",
      [&] {
        (void)rope::table_view(memory, memory, {8, 4}, {.rotary_dim = 8, .row_stride = -4});
      });
  require_throws<InvalidArgument>(
      "rope::table_view: cos has 64 elements, but its shape and strides need 68", [&] {
        (void)rope::table_view(memory, memory, {17, 4}, {.rotary_dim = 8});
      });
  require_throws<InvalidArgument>("rope::table_view: cos is null", [&] {
    (void)rope::table_view(static_cast<const float*>(nullptr), memory, {8, 4}, {.rotary_dim = 8});
  });
  require_throws<InvalidArgument>("rope::table_view: sin is null", [&] {
    (void)rope::table_view(memory, static_cast<const float*>(nullptr), {8, 4}, {.rotary_dim = 8});
  });
  require_throws<InvalidArgument>(
      "rope::table_view: the extent of cos overflows a 64-bit offset", [&] {
        (void)rope::table_view(memory.data(), memory.data(), {1LL << 62, 4}, {.rotary_dim = 8});
      });
  // The product that would be the batch stride wraps to a negative number: still an overflow.
  require_throws<InvalidArgument>(
      "rope::table_view: the extent of cos overflows a 64-bit offset", [&] {
        (void)rope::table_view(memory.data(), memory.data(), {LLONG_MAX, LLONG_MAX, 4},
                               {.rotary_dim = 8});
      });
}
