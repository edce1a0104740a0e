// Tables as models make them that compute angles in float or keep cos and sin in 16 bits; growth;
// who builds a table.
#include "rope/table_options.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <utility>
#include <vector>

#include "rope/coordinates.hpp"
#include "rope/frequencies.hpp"
#include "rope/table.hpp"
#include "rope/thread_pool.hpp"
#include "rope/token_table.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/isa.hpp"
#include "support/tensor.hpp"

namespace {

using rope::Angles;
using rope::CosSinTable;
using rope::EntryRounding;
using rope::Frequencies;
using rope::InvalidArgument;
using rope::TableOptions;
using rope_test::require_throws;

/// The number of `bits` significant bits that is nearest to a value, ties to even; for numbers far
/// from the ends of the type's range.
double nearest(double value, int bits) {
  if (value == 0) return value;
  const int exponent = std::ilogb(value) - bits + 1;
  return std::ldexp(std::nearbyint(std::ldexp(value, -exponent)), exponent);
}

template <class T>
bool same_rows(const CosSinTable<T>& a, const CosSinTable<T>& b, std::int64_t rows) {
  const std::size_t bytes = static_cast<std::size_t>(rows * a.heads() * 2 * a.pairs()) * sizeof(T);
  return std::memcmp(a.row(0, 0, 0, 0, nullptr).cos, b.row(0, 0, 0, 0, nullptr).cos, bytes) == 0;
}

Frequencies some_frequencies(std::int64_t heads, std::int64_t pairs) {
  rope_test::Random random(static_cast<std::uint64_t>(pairs));
  std::vector<double> values(static_cast<std::size_t>(heads * pairs));
  for (double& value : values) value = 2 * random.real();
  return Frequencies(values, {1, heads, pairs}, 1.2);
}

}  // namespace

TEMPLATE_TEST_CASE("float angles are those of a model that multiplies in float", "", float,
                   double) {
  const Frequencies frequencies({0.7498942093324559, 1.0, 1e-3, -0.3}, {1, 1, 4}, 1.13862943611);
  const CosSinTable<TestType> table(frequencies, 131072, {.angles = Angles::float32});
  for (const std::int64_t row : {0, 1, 2, 7, 100, 1000, 4095, 65535, 99999, 131071}) {
    for (std::size_t i = 0; i < 4; ++i) {
      const float angle = static_cast<float>(row) * static_cast<float>(frequencies.values()[i]);
      const auto magnitude = static_cast<float>(1.13862943611);
      // The double is right to 2^-53; its rounding to float is that of the exact cosine but for
      // one case in many millions.
      const float cos = static_cast<float>(std::cos(static_cast<double>(angle))) * magnitude;
      const float sin = static_cast<float>(std::sin(static_cast<double>(angle))) * magnitude;
      INFO("row " << row << " pair " << i);
      CHECK(table.cos(row)[i] == static_cast<TestType>(cos));
      CHECK(table.sin(row)[i] == static_cast<TestType>(sin));
    }
  }
  // Position 131071, pair 10 of d = 128: the float angle is wrong by 1.5e-3, and so is this table.
  const double frequency = rope::frequencies({.rotary_dim = 128})(0, 0, 10);
  const Frequencies single({frequency}, {1, 1, 1});
  const CosSinTable<double> exact(single, 131072);
  const CosSinTable<double> rough(single, 131072, {.angles = Angles::float32});
  const double difference = std::abs(exact.cos(131071)[0] - rough.cos(131071)[0]);
  CHECK(difference > 1e-5);
  CHECK(difference < 3e-3);
}

TEST_CASE("float angles of several axes are added in float, in the order of the axes") {
  const Frequencies frequencies({0.7, 0.3, 1e-3, 5.0, -0.2, 0.01}, {3, 1, 2});
  const std::vector<double> values = {1000.1, -33.3, 7.0, 0.1, 0.2, 0.3};
  const rope::TokenTable<float> table(frequencies, rope::coordinates(values, {2, 3}),
                                      {.angles = Angles::float32});
  for (std::size_t t = 0; t < 2; ++t) {
    for (std::size_t i = 0; i < 2; ++i) {
      float angle = 0;
      for (std::size_t a = 0; a < 3; ++a) {
        const volatile float product = static_cast<float>(values[3 * t + a]) *
                                       static_cast<float>(frequencies.values()[2 * a + i]);
        angle = a == 0 ? product : angle + product;
      }
      CHECK(table.cos(0, t)[i] == static_cast<float>(std::cos(static_cast<double>(angle))));
      CHECK(table.sin(0, t)[i] == static_cast<float>(std::sin(static_cast<double>(angle))));
    }
  }
}

TEMPLATE_TEST_CASE("entries are rounded once to 16 bits", "", float, double) {
  const Frequencies frequencies = rope::frequencies({.rotary_dim = 32});
  const CosSinTable<double> exact(frequencies, 2000);
  for (const auto& [rounding, bits] :
       {std::pair{EntryRounding::bf16, 8}, std::pair{EntryRounding::f16, 11}}) {
    const CosSinTable<TestType> table(frequencies, 2000, {.round_entries_to = rounding});
    for (std::int64_t row = 0; row < 2000; ++row) {
      for (std::size_t i = 0; i < 16; ++i) {
        for (const auto& [found, value] : {std::pair{table.cos(row)[i], exact.cos(row)[i]},
                                           std::pair{table.sin(row)[i], exact.sin(row)[i]}}) {
          if (std::abs(value) > 1e-4) {  // below, f16 has fewer bits
            REQUIRE(static_cast<double>(found) == nearest(value, bits));
          }
        }
      }
    }
  }
  // Position 1857, pair 1 of d = 32: cos 0.306692810, of which bf16 keeps 0.306640625; a frequency
  // in 16 bits gives -0.408.
  const CosSinTable<TestType> table(frequencies, 1858, {.round_entries_to = EntryRounding::bf16});
  CHECK(table.cos(1857)[1] == TestType(0.306640625));
}

TEST_CASE("a value just beyond the middle of two 16-bit numbers is rounded away from it") {
  // cos of a tiny angle lies below 1 by half its square; the middle of 1 and the bf16 below is
  // 1 - 2^-9. A float is too coarse to tell on which side of it these are.
  const double middle = 1 - 0x1p-9;
  const double angle = std::acos(middle);
  const double near[] = {angle * (1 - 1e-9), angle * (1 + 1e-9)};
  const rope::TokenTable<float> table(Frequencies({1.0}, {1, 1, 1}),
                                      rope::coordinates(near, {2, 1}),
                                      {.round_entries_to = EntryRounding::bf16});
  CHECK(table.cos(0, 0)[0] == 1.0F);
  CHECK(table.cos(0, 1)[0] == 1.0F - 0x1p-8F);
  CHECK(static_cast<float>(std::cos(near[0])) == static_cast<float>(std::cos(near[1])));
}

TEST_CASE("entries beyond the range of f16 become infinite, and small ones subnormal") {
  const Frequencies large({1.0}, {1, 1, 1}, 1e5);
  const CosSinTable<float> table(large, 2, {.round_entries_to = EntryRounding::f16});
  CHECK(std::isinf(table.cos(0)[0]));
  const Frequencies slow({1e-7}, {1, 1, 1});
  const CosSinTable<float> small(slow, 2, {.round_entries_to = EntryRounding::f16});
  CHECK(small.sin(1)[0] == 0x1p-23F);  // 1e-7 is 1.68 of the smallest, 2^-24
}

TEMPLATE_TEST_CASE("a grown table keeps the bits of its rows and has those of a large one", "",
                   float, double) {
  for (const TableOptions& options : {TableOptions{}, TableOptions{.angles = Angles::float32},
                                      TableOptions{.round_entries_to = EntryRounding::f16}}) {
    const Frequencies frequencies = some_frequencies(2, 13);
    const CosSinTable<TestType> large(frequencies, 5000, options);
    for (const std::int64_t rows : {0, 1, 63, 64, 1000, 1024, 1025, 4999, 5000}) {
      const CosSinTable<TestType> small(frequencies, rows, options);
      const CosSinTable<TestType> grown = small.grown(5000);
      REQUIRE(grown.rows() == 5000);
      CHECK(grown.angles() == options.angles);
      CHECK(grown.rounding() == options.round_entries_to);
      CHECK(same_rows(grown, large, 5000));
      CHECK(same_rows(grown, small, rows));
    }
  }
}

TEST_CASE("a table does not shrink") {
  const CosSinTable<float> table(some_frequencies(1, 2), 100);
  require_throws<InvalidArgument>("rope::CosSinTable::grown: rows must be at least 100, got 99",
                                  [&] { (void)table.grown(99); });
  require_throws<InvalidArgument>("rope::CosSinTable::grown: rows must be at least 100, got -1",
                                  [&] { (void)table.grown(-1); });
  require_throws<InvalidArgument>(
      "rope::CosSinTable::grown: 4611686018427387904 rows of 1 heads and 2 pairs are more bytes "
      "than 64 bits can count",
      [&] { (void)table.grown(std::int64_t{1} << 62); });
}

TEMPLATE_TEST_CASE("a table does not depend on who makes it, nor on the instruction set", "", float,
                   double) {
  rope::ThreadPool pool(3);
  int calls = 0;
  const auto backwards = [&](std::int64_t count, const auto& body) {
    ++calls;
    for (std::int64_t i = count; i-- > 0;) body(i);
  };
  for (const auto& [heads, pairs] : {std::pair{1, 64}, std::pair{3, 7}, std::pair{1, 5}}) {
    for (const TableOptions& options : {TableOptions{}, TableOptions{.angles = Angles::float32},
                                        TableOptions{.round_entries_to = EntryRounding::bf16}}) {
      const Frequencies frequencies = some_frequencies(heads, pairs);
      const CosSinTable<TestType> serial(frequencies, 20001, options);
      TableOptions others = options;
      others.executor = pool;
      CHECK(same_rows(CosSinTable<TestType>(frequencies, 20001, others), serial, 20001));
      others.executor = backwards;
      CHECK(same_rows(CosSinTable<TestType>(frequencies, 20001, others), serial, 20001));
      rope_test::on_every_isa([&] {
        CHECK(same_rows(CosSinTable<TestType>(frequencies, 3000, options), serial, 3000));
      });
    }
  }
  CHECK(calls > 0);
}

TEST_CASE("a table whose stores pass by the caches is right to the last row") {
  const Frequencies frequencies = rope::frequencies({.rotary_dim = 128});
  constexpr std::int64_t rows = 20000;  // 10 MB
  const CosSinTable<float> large(frequencies, rows);
  const CosSinTable<float> grown = CosSinTable<float>(frequencies, 1000).grown(rows);
  CHECK(same_rows(large, grown, rows));
  const std::vector<double> some = {0, 1, 63, 64, 1023, 1024, 12345, rows - 1};
  const rope::TokenTable<float> tokens(frequencies, rope::coordinates(some, {8, 1}));
  for (std::size_t t = 0; t < some.size(); ++t) {
    const auto row = static_cast<std::int64_t>(some[t]);
    CHECK(std::memcmp(large.cos(row).data(), tokens.cos(0, t).data(), 64 * sizeof(float)) == 0);
    CHECK(std::memcmp(large.sin(row).data(), tokens.sin(0, t).data(), 64 * sizeof(float)) == 0);
  }
}

TEST_CASE("options that name nothing are refused") {
  const Frequencies frequencies = some_frequencies(1, 2);
  require_throws<InvalidArgument>(
      "rope::CosSinTable: angles has the value 2, which names no way to compute them",
      [&] { (void)CosSinTable<float>(frequencies, 1, {.angles = static_cast<Angles>(2)}); });
  require_throws<InvalidArgument>(
      "rope::CosSinTable: round_entries_to has the value 3, which names no type", [&] {
        (void)CosSinTable<float>(frequencies, 1,
                                 {.round_entries_to = static_cast<EntryRounding>(3)});
      });
}
