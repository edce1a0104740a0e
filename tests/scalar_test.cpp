// The 16-bit element types: every pattern, and every place where rounding could go wrong.

#include "rope/scalar.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "support/catch.hpp"
#include "support/half.hpp"

namespace {

using rope::bf16;
using rope::f16;
using rope_test::bits_of_float;
using rope_test::float_of_bits;
using rope_test::HalfFormat;
using rope_test::NearestHalf;

template <class T>
constexpr HalfFormat format_of = std::is_same_v<T, f16> ? rope_test::binary16 : rope_test::bfloat16;

template <class T>
T of_pattern(unsigned pattern) {
  T element{};
  element.bits = static_cast<std::uint16_t>(pattern);
  return element;
}

template <class T>
void check_rounding(const NearestHalf& nearest, float x) {
  if (x != x) return;
  const std::uint16_t expected = nearest(static_cast<double>(x));
  const std::uint16_t actual = T(x).bits;
  if (actual != expected) {
    CAPTURE(bits_of_float(x), expected, actual);
    FAIL("not the nearest");
  }
}

}  // namespace

TEMPLATE_TEST_CASE("every pattern is worth what its format says", "[scalar]", f16, bf16) {
  const HalfFormat format = format_of<TestType>;
  int differences = 0;
  for (unsigned pattern = 0; pattern < 0x10000; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const auto x = static_cast<float>(of_pattern<TestType>(pattern));
    if (format.is_nan(bits)) {
      differences += x == x;
    } else {
      const double expected = format.value(bits);
      differences +=
          static_cast<double>(x) != expected || std::signbit(x) != std::signbit(expected);
    }
  }
  CHECK(differences == 0);
}

TEMPLATE_TEST_CASE("every pattern survives float, and NaN comes back quiet", "[scalar]", f16,
                   bf16) {
  const HalfFormat format = format_of<TestType>;
  const unsigned quiet = 1u << (format.fraction_bits() - 1);
  int differences = 0;
  for (unsigned pattern = 0; pattern < 0x10000; ++pattern) {
    const TestType back(static_cast<float>(of_pattern<TestType>(pattern)));
    if (format.is_nan(static_cast<std::uint16_t>(pattern))) {
      differences += !format.is_nan(back.bits) || (back.bits & quiet) == 0;
    } else {
      differences += back.bits != pattern;
    }
  }
  CHECK(differences == 0);
}

TEMPLATE_TEST_CASE("a float becomes the nearest pattern, the even one of two", "[scalar]", f16,
                   bf16) {
  const NearestHalf nearest(format_of<TestType>);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  // Every value, every halfway point and the floats around both, of either sign.
  for (unsigned pattern = 0; pattern <= format_of<TestType>.infinity(); ++pattern) {
    const double low = format_of<TestType>.magnitude(static_cast<int>(pattern));
    const double high = format_of<TestType>.magnitude(static_cast<int>(pattern) + 1);
    for (const double at : {low, low + (high - low) / 2}) {
      const auto x = static_cast<float>(at);
      for (const float y : {x, std::nextafter(x, 0.0f), std::nextafter(x, infinity)}) {
        check_rounding<TestType>(nearest, y);
        check_rounding<TestType>(nearest, -y);
      }
    }
  }
  // Any floats, subnormal ones among them.
  std::uint64_t state = 1;
  for (int i = 0; i < 300000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto bits = static_cast<std::uint32_t>(state >> 32);
    check_rounding<TestType>(nearest, float_of_bits(bits));
    check_rounding<TestType>(nearest, float_of_bits(bits & 0x83ffffff));
  }
}

TEST_CASE("the ends of the ranges", "[scalar]") {
  CHECK(f16(1.0f).bits == 0x3c00);
  CHECK(f16(-2.0f).bits == 0xc000);
  CHECK(f16(65504.0f).bits == 0x7bff);
  CHECK(f16(65519.996f).bits == 0x7bff);
  CHECK(f16(65520.0f).bits == 0x7c00);
  CHECK(f16(0x1p-24f).bits == 0x0001);
  CHECK(f16(0x1p-25f).bits == 0x0000);
  CHECK(f16(-0x1p-25f).bits == 0x8000);
  CHECK(f16(0x1.000002p-25f).bits == 0x0001);
  CHECK(bf16(1.0f).bits == 0x3f80);
  CHECK(bf16(0x1.01p0f).bits == 0x3f80);
  CHECK(bf16(0x1.03p0f).bits == 0x3f82);
  CHECK(bf16((std::numeric_limits<float>::max)()).bits == 0x7f80);
  CHECK(bf16(std::numeric_limits<float>::denorm_min()).bits == 0x0000);
  CHECK(bf16(float_of_bits(0x00018000)).bits == 0x0002);
  // A NaN whose upper half alone would be an infinity, and one that rounding would carry away.
  for (const std::uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xff800001u, 0xffffffffu}) {
    CHECK(rope_test::bfloat16.is_nan(bf16(float_of_bits(bits)).bits));
    CHECK(rope_test::binary16.is_nan(f16(float_of_bits(bits)).bits));
  }
}

TEST_CASE("conversions are constant expressions", "[scalar]") {
  static_assert(f16(1.5f).bits == 0x3e00);
  static_assert(static_cast<float>(bf16(-0.5f)) == -0.5f);
  static_assert(!std::is_convertible_v<float, f16>, "rounding must be asked for");
  static_assert(std::is_convertible_v<f16, float>);
  static_assert(std::is_trivial_v<f16> && sizeof(f16) == 2 && alignof(f16) == 2);
  static_assert(std::is_trivial_v<bf16> && sizeof(bf16) == 2 && alignof(bf16) == 2);
  SUCCEED();
}
