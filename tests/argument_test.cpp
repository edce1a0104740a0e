// The argument types: any integer or real number in, nothing lost.
#include "rope/argument.hpp"

#include <cstdint>
#include <limits>
#include <type_traits>

#include "rope/pairing.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using rope::Extent;
using rope::Real;

static_assert(std::is_convertible_v<unsigned short, Extent>);
static_assert(std::is_convertible_v<std::size_t, Extent>);
static_assert(!std::is_convertible_v<bool, Extent>);
static_assert(!std::is_convertible_v<double, Extent>, "a real number is no size");
static_assert(!std::is_default_constructible_v<Extent>, "a shape that is too short must not pass");
static_assert(std::is_convertible_v<int, Real> && std::is_convertible_v<float, Real>);
static_assert(!std::is_convertible_v<bool, Real>);
static_assert(!std::is_default_constructible_v<rope::required<Extent>>);
static_assert(!std::is_default_constructible_v<rope::required<rope::Pairing>>);
static_assert(std::is_convertible_v<int, rope::required<Extent>>);
static_assert(!std::is_convertible_v<double, rope::required<Extent>>);

constexpr std::int64_t value_of(Extent extent) { return extent; }

}  // namespace

TEST_CASE("an extent keeps every integer that fits") {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();
  static_assert(value_of(largest) == largest);
  static_assert(value_of(smallest) == smallest);
  CHECK(value_of(static_cast<std::uint64_t>(largest)) == largest);
  CHECK(value_of(std::numeric_limits<std::uint32_t>::max()) == 4294967295);
  CHECK(value_of(static_cast<signed char>(-1)) == -1);
}

TEST_CASE("an extent refuses what 64 signed bits cannot hold") {
  rope_test::require_throws<rope::OutOfRange>(
      "rope::Extent: a value of 2^63 or more does not fit in 64 signed bits",
      [] { (void)value_of(std::uint64_t{1} << 63); });
  CHECK_THROWS_AS(value_of(std::numeric_limits<std::uint64_t>::max()), rope::OutOfRange);
}

TEST_CASE("extents are in the order in which they are given") {
  const rope::Extents<3> shape = {1, 2U, std::int64_t{3}};
  CHECK(shape[0] == 1);
  CHECK(shape[1] == 2);
  CHECK(shape[2] == 3);
}

TEST_CASE("a real parameter keeps its value") {
  CHECK(static_cast<double>(Real(0.1)) == 0.1);
  CHECK(static_cast<double>(Real(5)) == 5.0);
  CHECK(static_cast<double>(Real(0.5F)) == 0.5);
  CHECK(static_cast<double>(Real(std::int64_t{50000000000})) == 5e10);
}

TEST_CASE("a required field holds what it was given") {
  const rope::required<Extent> extent = 7;
  CHECK(extent.value() == 7);
  const rope::required<rope::Pairing> pairing = rope::Pairing::half_split;
  CHECK(pairing.value() == rope::Pairing::half_split);
  const rope::required<rope::Pairing> copy = pairing;
  CHECK(copy.value() == rope::Pairing::half_split);
}
