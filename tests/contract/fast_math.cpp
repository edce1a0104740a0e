// Built with -ffast-math: long positions keep their accuracy, and settings that are no numbers are
// still refused, although the compiler may take it for granted that there are none.

#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "expect.hpp"
#include "rope/core.hpp"

#if !defined(__FAST_MATH__)
#error "to be built with -ffast-math"
#endif

namespace {

/// Not a constant to the compiler, and not tested by it.
double from_bits(std::uint64_t bits) {
  volatile std::uint64_t hidden = bits;
  return std::bit_cast<double>(std::uint64_t{hidden});
}

template <class Body>
bool refuses(const Body& body) {
  try {
    body();
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

bool is_near(double value, double wanted) { return std::abs(value - wanted) < 1e-6; }

/// One pair of a head of 128 features, as a table of its own: all 64 would be half a gigabyte.
rope::Frequencies pair_of_128(int pair) {
  return rope::Frequencies({rope::frequencies({.rotary_dim = 128})(0, 0, pair)}, {1, 1, 1});
}

template <class T>
void test_long_position() {
  const rope::CosSinTable<T> table(pair_of_128(1), 1000000);
  CONTRACT_EXPECT(is_near(static_cast<double>(table.cos(999999)[0]), -0.660281339748));
  CONTRACT_EXPECT(is_near(static_cast<double>(table.sin(999999)[0]), 0.751018343571));
  // A rotated unit vector shows the same, as does one that came from two positions.
  T x[4] = {1, 0, 0, 1};
  rope::rotate<rope::Pairing::interleaved>(rope::thd(x, {1, 2, 2}), table, rope::from(999999));
  CONTRACT_EXPECT(is_near(static_cast<double>(x[0]), -0.660281339748));
  CONTRACT_EXPECT(is_near(static_cast<double>(x[1]), 0.751018343571));
  CONTRACT_EXPECT(is_near(static_cast<double>(x[2]), -0.751018343571));
  CONTRACT_EXPECT(is_near(static_cast<double>(x[3]), -0.660281339748));
  T y[2] = {1, 0};
  const auto view = rope::thd(y, {1, 1, 2});
  rope::rotate<rope::Pairing::half_split>(view, table, rope::from(990000));
  rope::rotate<rope::Pairing::half_split>(view, table, rope::from(9999));
  CONTRACT_EXPECT(is_near(static_cast<double>(y[0]), -0.660281339748));
  rope::rotate_inverse<rope::Pairing::half_split>(view, table, rope::from(999999));
  CONTRACT_EXPECT(is_near(static_cast<double>(y[0]), 1));
  CONTRACT_EXPECT(is_near(static_cast<double>(y[1]), 0));
}

}  // namespace

int main() {
  test_long_position<float>();
  test_long_position<double>();

  constexpr std::uint64_t not_numbers[] = {0x7ff8000000000000, 0x7ff0000000000000,
                                           0xfff0000000000000, 0xfff8000000000001};
  for (const std::uint64_t bits : not_numbers) {
    CONTRACT_EXPECT(
        refuses([&] { rope::frequencies({.rotary_dim = 8, .base = from_bits(bits)}); }));
    CONTRACT_EXPECT(refuses([&] {
      rope::frequencies({.rotary_dim = 8, .scaling = rope::Linear{.factor = from_bits(bits)}});
    }));
    CONTRACT_EXPECT(refuses([&] { rope::Frequencies({1.0, from_bits(bits)}, {1, 1, 2}); }));
    CONTRACT_EXPECT(refuses([&] { rope::Frequencies({1.0}, {1, 1, 1}, from_bits(bits)); }));
  }
  // 1 over the square of such magnitudes is no number.
  const rope::CosSinTable<float> zero(rope::Frequencies({1.0}, {1, 1, 1}, 0), 1);
  float x[2] = {1, 2};
  const auto view = rope::thd(x, {1, 1, 2});
  CONTRACT_EXPECT(refuses(
      [&] { rope::rotate_inverse<rope::Pairing::interleaved>(view, zero, rope::from(0)); }));
  for (const double magnitude : {from_bits(not_numbers[0]), from_bits(not_numbers[1]), 1e-30}) {
    const float cos_sin[2] = {1, 0};
    const auto table =
        rope::fused_table_view(cos_sin, {1, 2}, {.rotary_dim = 2, .magnitude = magnitude});
    CONTRACT_EXPECT(refuses(
        [&] { rope::rotate_inverse<rope::Pairing::interleaved>(view, table, rope::from(0)); }));
  }
  CONTRACT_EXPECT(x[0] == 1 && x[1] == 2);
  return contract::failures == 0 ? 0 : 1;
}
