// Rows made on demand: the bits of a CosSinTable's, wherever a table can be used.
#include "rope/compact_table.hpp"

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "rope/check_rotate.hpp"
#include "rope/frequencies.hpp"
#include "rope/full_width.hpp"
#include "rope/rotate.hpp"
#include "rope/rotate_inverse.hpp"
#include "rope/row_positions.hpp"
#include "rope/table.hpp"
#include "support/catch.hpp"
#include "support/counting_executor.hpp"
#include "support/errors.hpp"
#include "support/isa.hpp"
#include "support/tensor.hpp"

namespace {

using rope::CompactTable;
using rope::CosSinTable;
using rope::Frequencies;
using rope::InvalidArgument;
using rope::OutOfRange;
using rope::Pairing;
using rope_test::require_throws;

Frequencies per_head(std::int64_t heads, std::int64_t pairs, double magnitude) {
  rope_test::Random random(static_cast<std::uint64_t>(heads * 100 + pairs));
  std::vector<double> values(static_cast<std::size_t>(heads * pairs));
  for (double& value : values) value = 3 * random.real();
  return Frequencies(values, {1, heads, pairs}, magnitude);
}

template <class T>
bool same_row(const CompactTable<T>& compact, const CosSinTable<T>& stored, std::int64_t row,
              std::int64_t head, std::int64_t first, std::int64_t count) {
  std::vector<T> scratch(static_cast<std::size_t>(2 * count), T{-7});
  const auto made = compact.row(row, head, first, count, scratch.data());
  const auto kept = stored.row(row, head, first, count, nullptr);
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
  return std::memcmp(made.cos, kept.cos, bytes) == 0 && std::memcmp(made.sin, kept.sin, bytes) == 0;
}

const rope::TableOptions all_options[] = {
    {},
    {.angles = rope::Angles::float32},
    {.round_entries_to = rope::EntryRounding::bf16},
    {.angles = rope::Angles::float32, .round_entries_to = rope::EntryRounding::f16}};

}  // namespace

TEMPLATE_TEST_CASE("rows have the bits of a stored table's", "", float, double) {
  for (const auto& [heads, pairs] :
       {std::pair{1, 1}, std::pair{1, 3}, std::pair{3, 5}, std::pair{1, 64}, std::pair{2, 37}}) {
    const Frequencies frequencies = per_head(heads, pairs, 1.1);
    for (const rope::TableOptions& options : all_options) {
      const CosSinTable<TestType> stored(frequencies, 5000, options);
      const CompactTable<TestType> compact(frequencies, 5000, options);
      REQUIRE(compact.rows() == 5000);
      REQUIRE(compact.heads() == heads);
      REQUIRE(compact.pairs() == pairs);
      CHECK(compact.rotary_dim() == 2 * pairs);
      CHECK(compact.magnitude() == 1.1);
      for (std::int64_t row = 0; row < 5000; row += row % 1024 < 3 || row % 1024 > 1021 ? 1 : 61) {
        for (std::int64_t head = 0; head < heads; ++head) {
          REQUIRE(same_row(compact, stored, row, head, 0, pairs));
          REQUIRE(same_row(compact, stored, row, head, pairs / 2, pairs - pairs / 2));
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("rows far out have the bits of a stored table's, on every instruction set", "",
                   float, double) {
  const Frequencies frequencies({1.0, 0.7498942093324559, 1e-4}, {1, 1, 3});
  constexpr std::int64_t rows = (std::int64_t{1} << 20) + 5;
  const CosSinTable<TestType> stored(frequencies, rows);
  rope_test::on_every_isa([&] {
    const CompactTable<TestType> compact(frequencies, rows);
    for (const std::int64_t row : {rows - 1, rows - 5, std::int64_t{1} << 19, std::int64_t{999999},
                                   std::int64_t{1023}, std::int64_t{1024}}) {
      CHECK(same_row(compact, stored, row, 0, 0, 3));
    }
  });
}

TEST_CASE("a million positions of 64 pairs take 2.1 MB") {
  const CompactTable<float> table(rope::frequencies({.rotary_dim = 128}), 1 << 20);
  CHECK(table.rows() == 1 << 20);
  CHECK(table.bytes() == 2 * 1024 * 128 * 8);
  // The border of a coarse row, and a capacity that is no multiple of one.
  CHECK(CompactTable<float>(Frequencies({1.0}, {1, 1, 1}), 1024).bytes() == (1024 + 1) * 16);
  CHECK(CompactTable<float>(Frequencies({1.0}, {1, 1, 1}), 1025).bytes() == (1024 + 2) * 16);
  CHECK(CompactTable<float>(Frequencies({1.0}, {1, 1, 1}), 3).bytes() == (3 + 1) * 16);
}

TEMPLATE_TEST_CASE("rotations with either table have the same bits", "", float, double) {
  // More pairs than a kernel asks for at once, and rows for each head.
  for (const auto& [table_heads, pairs] : {std::pair{1, 300}, std::pair{4, 20}, std::pair{1, 1}}) {
    const Frequencies frequencies = per_head(table_heads, pairs, 1.0);
    const CosSinTable<TestType> stored(frequencies, 3000);
    const CompactTable<TestType> compact(frequencies, 3000);
    const std::int64_t dim = 2 * pairs + 3;
    std::vector<TestType> x(static_cast<std::size_t>(2 * 5 * 4 * dim));
    rope_test::Random random(1);
    for (TestType& value : x) value = static_cast<TestType>(random.real());
    const std::int32_t ids[] = {0, 1, 1023, 1024, 2999, 7, 2047, 2048, 5, 1500};
    const auto positions = rope::at(ids, {2, 5});
    for (const Pairing pairing : {Pairing::interleaved, Pairing::half_split}) {
      const rope::PairingOptions options{.pairing = pairing, .first_dim = 2};
      std::vector<TestType> a = x;
      std::vector<TestType> b = x;
      const auto view_a = rope::bthd(a, {2, 5, 4, dim});
      const auto view_b = rope::bthd(b, {2, 5, 4, dim});
      rope::rotate(view_a, stored, positions, options);
      rope::rotate(view_b, compact, positions, options);
      CHECK(a == b);
      CHECK(a != x);
      rope::rotate_inverse(view_a, stored, rope::from(40), options);
      rope::rotate_inverse(view_b, compact, rope::from(40), options);
      CHECK(a == b);
      rope::rotate_transpose(view_a, stored, rope::from(2995), options);
      rope::rotate_transpose(view_b, compact, rope::from(2995), options);
      CHECK(a == b);
    }
  }
}

TEST_CASE("q and k rotated together, as with a stored table") {
  const Frequencies frequencies = rope::frequencies({.rotary_dim = 128});
  const CosSinTable<float> stored(frequencies, 5000);
  const CompactTable<float> compact(frequencies, 5000);
  for (const std::int64_t tokens : {1, 3, 40}) {
    std::vector<float> q(static_cast<std::size_t>(tokens * 8 * 128));
    for (std::size_t i = 0; i < q.size(); ++i) q[i] = static_cast<float>(i % 17) - 8;
    std::vector<float> k(q.begin(), q.begin() + static_cast<std::ptrdiff_t>(tokens * 2 * 128));
    std::vector<float> q2 = q;
    std::vector<float> k2 = k;
    rope::rotate_qk<Pairing::half_split>(rope::thd(q, {tokens, 8, 128}),
                                         rope::thd(k, {tokens, 2, 128}), stored, rope::from(1000));
    rope::rotate_qk<Pairing::half_split>(rope::thd(q2, {tokens, 8, 128}),
                                         rope::thd(k2, {tokens, 2, 128}), compact,
                                         rope::from(1000));
    CHECK(q == q2);
    CHECK(k == k2);
  }
}

TEST_CASE("the full-width form of a table made on demand") {
  const Frequencies frequencies = per_head(1, 5, 1.0);
  const CosSinTable<float> stored(frequencies, 1030);
  const CompactTable<float> compact(frequencies, 1030);
  std::vector<float> cos(1030 * 10);
  std::vector<float> sin(1030 * 10);
  std::vector<float> cos2(1030 * 10);
  std::vector<float> sin2(1030 * 10);
  rope::write_full_width<Pairing::half_split>(stored, cos, sin);
  rope::write_full_width<Pairing::half_split>(compact, cos2, sin2);
  CHECK(cos == cos2);
  CHECK(sin == sin2);
}

TEST_CASE("positions outside the table are refused, and nothing is written") {
  const CompactTable<float> table(Frequencies({1.0}, {1, 1, 1}), 8);
  float x[4] = {1, 2, 3, 4};
  const auto view = rope::thd(x, {2, 1, 2});
  require_throws<OutOfRange>(
      "rope::rotate: positions: 2 tokens from position 7 on in batch row 0 end outside the table's "
      "rows 0 .. 7",
      [&] { rope::rotate<Pairing::half_split>(view, table, rope::from(7)); });
  CHECK_FALSE(rope::check_rotate(view, table, rope::from(-1)).ok());
  CHECK(x[0] == 1);
  CHECK(x[3] == 4);
}

TEST_CASE("compact tables that cannot be are refused") {
  const Frequencies plain = rope::frequencies({.rotary_dim = 8});
  require_throws<InvalidArgument>(
      "rope::CompactTable: frequencies have 2 axes, but a table addressed by one integer position "
      "needs 1",
      [] {
        (void)CompactTable<float>(Frequencies({1, 2}, {2, 1, 1}), 8);
      });
  require_throws<InvalidArgument>("rope::CompactTable: rows must not be negative, got -1",
                                  [&] { (void)CompactTable<float>(plain, -1); });
  require_throws<InvalidArgument>(
      "rope::CompactTable: frequency 1e+15 at 100 rows makes angles beyond 2^53 radians", [] {
        (void)CompactTable<double>(Frequencies({1e15}, {1, 1, 1}), 100);
      });
  require_throws<InvalidArgument>(
      "rope::CompactTable: round_entries_to has the value 9, which names no type", [&] {
        (void)CompactTable<float>(plain, 8,
                                  {.round_entries_to = static_cast<rope::EntryRounding>(9)});
      });
  const CompactTable<float> none(plain, 0);
  CHECK(none.rows() == 0);
  CHECK(none.bytes() == 0);
}

TEST_CASE("a pool makes the short tables, with the same bits") {
  rope_test::CountingExecutor pool(3);
  const Frequencies frequencies = per_head(3, 50, 1.5);
  const CosSinTable<float> stored(frequencies, 2100);
  const CompactTable<float> compact(frequencies, 2100, {.executor = pool});
  CHECK(pool.calls > 0);
  bool same = true;
  for (std::int64_t row = 0; row < 2100; ++row) {
    for (std::int64_t head = 0; head < 3; ++head) {
      same = same && same_row(compact, stored, row, head, 0, 50);
    }
  }
  CHECK(same);
}

TEST_CASE("a table that was moved from has no rows") {
  CompactTable<float> table(per_head(1, 3, 1.0), 5000);
  const CompactTable<float> taken = std::move(table);
  CHECK(taken.rows() == 5000);
  CHECK(table.rows() == 0);
  float x[6] = {1, 2, 3, 4, 5, 6};
  require_throws<OutOfRange>(
      "rope::rotate: positions: the table has no rows, but the view has batch 1 and tokens 1", [&] {
        rope::rotate<Pairing::half_split>(rope::thd(x, {1, 1, 6}), table, rope::from(0));
      });
  CHECK(x[0] == 1);
}
