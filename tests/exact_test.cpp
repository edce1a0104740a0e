// The exact arithmetic beneath frequencies and tables, against MPFR with 320 bits.
// Bounds are asserted; the worst error that was measured stands beside each.

#include <mpfr.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "rope/detail/double_double.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/fused.hpp"
#include "rope/detail/rotor_kernels.hpp"
#include "support/catch.hpp"

namespace {

using rope::detail::DoubleDouble;

constexpr mpfr_prec_t precision_bits = 320;

class Real {
 public:
  Real() {
    mpfr_init2(value_, precision_bits);
    mpfr_set_zero(value_, 1);
  }
  explicit Real(double value) : Real() { mpfr_set_d(value_, value, MPFR_RNDN); }
  explicit Real(DoubleDouble value) : Real(value.hi) {
    mpfr_add_d(value_, value_, value.lo, MPFR_RNDN);
  }
  Real(const Real& other) : Real() { mpfr_set(value_, other.value_, MPFR_RNDN); }
  Real& operator=(const Real&) = delete;
  ~Real() { mpfr_clear(value_); }

  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }
  double rounded() const { return mpfr_get_d(value_, MPFR_RNDN); }

  friend Real operator+(const Real& a, const Real& b) { return apply(mpfr_add, a, b); }
  friend Real operator-(const Real& a, const Real& b) { return apply(mpfr_sub, a, b); }
  friend Real operator*(const Real& a, const Real& b) { return apply(mpfr_mul, a, b); }
  friend Real operator/(const Real& a, const Real& b) { return apply(mpfr_div, a, b); }

 private:
  template <class Operation>
  static Real apply(Operation operation, const Real& a, const Real& b) {
    Real result;
    operation(result.value_, a.value_, b.value_, MPFR_RNDN);
    return result;
  }

  mpfr_t value_;
};

template <class Operation>
Real evaluate(Operation operation, const Real& argument) {
  Real result;
  operation(result.get(), argument.get(), MPFR_RNDN);
  return result;
}

double absolute_error(const Real& actual, const Real& exact) {
  return std::fabs((actual - exact).rounded());
}

double relative_error(const Real& actual, const Real& exact) {
  return std::fabs(((actual - exact) / exact).rounded());
}

/// Distance in units of the last place of a double of `exact`'s size.
double error_in_ulps(double actual, const Real& exact) {
  const double ulp = std::ldexp(1.0, std::ilogb(exact.rounded()) - 52);
  return absolute_error(Real(actual), exact) / ulp;
}

std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }
std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

// ---- fused multiply-add

/// Layout of an IEEE type, for making numbers of chosen exponents.
template <class T>
struct Format;
template <>
struct Format<double> {
  using Bits = std::uint64_t;
  static constexpr int fraction_bits = 52;
  static constexpr int exponents = 2048;
};
template <>
struct Format<float> {
  using Bits = std::uint32_t;
  static constexpr int fraction_bits = 23;
  static constexpr int exponents = 256;
};

/// a * b + c with one rounding, by MPFR, also where the result is subnormal or overflows.
template <class T>
T reference_fma(T a, T b, T c) {
  constexpr int digits = std::numeric_limits<T>::digits;
  const mpfr_exp_t old_min = mpfr_get_emin();
  const mpfr_exp_t old_max = mpfr_get_emax();
  std::array<mpfr_t, 4> numbers;
  for (auto& number : numbers) mpfr_init2(number, digits);
  mpfr_set_d(numbers[0], static_cast<double>(a), MPFR_RNDN);
  mpfr_set_d(numbers[1], static_cast<double>(b), MPFR_RNDN);
  mpfr_set_d(numbers[2], static_cast<double>(c), MPFR_RNDN);
  mpfr_set_emin(std::numeric_limits<T>::min_exponent - digits + 1);
  mpfr_set_emax(std::numeric_limits<T>::max_exponent);
  int inexact = mpfr_fma(numbers[3], numbers[0], numbers[1], numbers[2], MPFR_RNDN);
  inexact = mpfr_check_range(numbers[3], inexact, MPFR_RNDN);
  mpfr_subnormalize(numbers[3], inexact, MPFR_RNDN);
  const double result = mpfr_get_d(numbers[3], MPFR_RNDN);
  mpfr_set_emin(old_min);
  mpfr_set_emax(old_max);
  for (auto& number : numbers) mpfr_clear(number);
  return static_cast<T>(result);
}

/// Triples (a, b, c) that reach the corners of a fused multiply-add: all bit patterns, few
/// significant bits (exact and halfway results), products next to underflow and overflow, and
/// addends that nearly cancel the product.
template <class T>
class Triples {
 public:
  using Bits = typename Format<T>::Bits;

  std::array<T, 3> next() {
    const T a = number(any_exponent());
    T b = number(any_exponent());
    if (below(3) == 0) b = number(exponent_of(T{1}) + target_of_product() - exponent_of(a));
    const T product = a * b;
    T c = number(any_exponent());
    switch (below(6)) {
      case 0:  // the product's neighbours, of the other sign
        c = std::bit_cast<T>(
            static_cast<Bits>((bits_of(product) ^ sign_bit) + static_cast<Bits>(below(5)) - 2));
        break;
      case 1:
      case 2:
      case 3:
        c = number(exponent_of(product) + below(4 * fraction_bits) - 2 * fraction_bits);
        break;
      default:
        break;
    }
    return {a, b, c};
  }

 private:
  static constexpr int fraction_bits = Format<T>::fraction_bits;
  static constexpr int exponents = Format<T>::exponents;
  static constexpr Bits sign_bit = Bits{1} << (fraction_bits + std::bit_width(exponents - 1u));

  int below(int end) { return static_cast<int>(generator_() % static_cast<std::uint64_t>(end)); }

  static int exponent_of(T value) {
    return static_cast<int>(bits_of(value) >> fraction_bits) & (exponents - 1);
  }

  int any_exponent() {
    switch (below(6)) {
      case 0:
        return 0;  // zero and subnormal
      case 1:
        return exponents - 1 - below(3);  // infinity, NaN and large
      case 2:
        return below(exponents);
      default:
        return exponents / 2 - 30 + below(60);
    }
  }

  int target_of_product() {
    switch (below(3)) {
      case 0:
        return -exponents / 2 - fraction_bits - 3 + below(2 * fraction_bits);
      case 1:
        return exponents / 2 - 4 + below(6);
      default:
        return -960 / (2048 / exponents) - 5 + below(10);  // where the double fast path ends
    }
  }

  T number(int exponent) {
    exponent = (std::min)((std::max)(exponent, 0), exponents - 1);
    const std::uint64_t random = generator_();
    auto fraction = static_cast<Bits>(random >> 8) & ((Bits{1} << fraction_bits) - 1);
    switch (below(4)) {
      case 0:
        break;
      case 1:
        fraction = (Bits{1} << below(fraction_bits)) | (Bits{1} << below(fraction_bits));
        break;
      case 2:
        fraction = below(2) == 0 ? Bits{0} : (Bits{1} << fraction_bits) - 1;
        break;
      default:
        fraction &= static_cast<Bits>(~Bits{0} << below(fraction_bits));
        break;
    }
    const Bits sign = (random & 1) != 0 ? sign_bit : Bits{0};
    return std::bit_cast<T>(
        static_cast<Bits>(sign | (static_cast<Bits>(exponent) << fraction_bits) | fraction));
  }

  std::mt19937_64 generator_{20240229};
};

template <class T>
bool same_number(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || bits_of(a) == bits_of(b);
}

#if defined(__x86_64__)
[[gnu::target("fma"), gnu::noinline]] float hardware_fma(float a, float b, float c) {
  __asm__("vfmadd213ss %2, %1, %0" : "+x"(a) : "x"(b), "x"(c));
  return a;
}
[[gnu::target("fma"), gnu::noinline]] double hardware_fma(double a, double b, double c) {
  __asm__("vfmadd213sd %2, %1, %0" : "+x"(a) : "x"(b), "x"(c));
  return a;
}
bool has_hardware_fma() { return __builtin_cpu_supports("fma") != 0; }
#else
template <class T>
T hardware_fma(T a, T b, T c) {
  return rope::detail::fused_multiply_add(a, b, c);
}
bool has_hardware_fma() { return ROPE_DETAIL_HAS_FMA != 0; }
#endif

// ---- bits

/// FNV-1a over the bits of doubles.
class Checksum {
 public:
  void add(double value) {
    for (int byte = 0; byte < 8; ++byte) {
      hash_ = (hash_ ^ ((bits_of(value) >> (8 * byte)) & 0xff)) * 0x100000001b3;
    }
  }
  void add(DoubleDouble value) {
    add(value.hi);
    add(value.lo);
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace

TEMPLATE_TEST_CASE("fused multiply-add is rounded once", "", float, double) {
  Triples<TestType> triples;
  int wrong_emulated = 0;
  int wrong_selected = 0;
  for (int i = 0; i < 400000; ++i) {
    const auto [a, b, c] = triples.next();
    const TestType expected = reference_fma(a, b, c);
    wrong_emulated += !same_number(rope::detail::emulated_fma(a, b, c), expected);
    wrong_selected += !same_number(rope::detail::fused_multiply_add(a, b, c), expected);
    if (wrong_emulated + wrong_selected != 0) {
      CAPTURE(a, b, c, expected, rope::detail::emulated_fma(a, b, c));
      REQUIRE(wrong_emulated + wrong_selected == 0);
    }
  }
  CHECK(wrong_emulated == 0);
  CHECK(wrong_selected == 0);
}

TEMPLATE_TEST_CASE("emulated fused multiply-add equals the instruction", "", float, double) {
  if (!has_hardware_fma()) ROPE_TEST_SKIP("this processor has no fused multiply-add");
  Triples<TestType> triples;
  int wrong = 0;
  for (int i = 0; i < 3000000; ++i) {
    const auto [a, b, c] = triples.next();
    wrong += !same_number(rope::detail::emulated_fma(a, b, c), hardware_fma(a, b, c));
  }
  CHECK(wrong == 0);
}

TEST_CASE("fused multiply-add, cases worked out by hand") {
  using rope::detail::emulated_fma;
  // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: rounding the product first loses the last term.
  CHECK(emulated_fma(0x1.001p0f, 0x1.001p0f, -0x1.002p0f) == 0x1p-24f);
  CHECK(emulated_fma(0x1.0000001p0, 0x1.0000001p0, -0x1.0000002p0) == 0x1p-56);
  // 97 * 172961 = 2^24 + 1 is halfway between floats and goes to even. A little more goes up,
  // though the sum rounded to double is that halfway number; 1549 * 10831 = 2^24 + 3 is the mirror
  // image.
  CHECK(emulated_fma(97.0f, 172961.0f, 0.0f) == 0x1p24f);
  CHECK(emulated_fma(97.0f, 172961.0f, 0x1p-60f) == 0x1.000002p24f);
  CHECK(emulated_fma(-97.0f, 172961.0f, -0x1p-60f) == -0x1.000002p24f);
  CHECK(emulated_fma(97.0f, 172961.0f, -0x1p-60f) == 0x1p24f);
  CHECK(emulated_fma(1549.0f, 10831.0f, 0.0f) == 0x1.000004p24f);
  CHECK(emulated_fma(1549.0f, 10831.0f, -0x1p-60f) == 0x1.000002p24f);
  // 1 + 2^-53 is halfway between doubles: a little more, a little less, and just that.
  CHECK(emulated_fma(0x1p-53, 1.0 + 0x1p-52, 1.0) == 1.0 + 0x1p-52);
  CHECK(emulated_fma(0x1p-53, 1.0 - 0x1p-53, 1.0) == 1.0);
  CHECK(emulated_fma(0x1p-53, 1.0, 1.0) == 1.0);
  // 143299792160977 * 8846144025137201 = 2^100 + 1, scaled to lie above half an ulp of the addend
  // by one part in 2^100, where only the integer path reaches.
  CHECK(emulated_fma(143299792160977.0, 0x1p869 * 8846144025137201.0, 0x1p1022) ==
        0x1.0000000000001p1022);
  CHECK(emulated_fma(143299792160977.0, 0x1p869 * -8846144025137201.0, 0x1.0000000000001p1022) ==
        0x1p1022);
  // A subnormal float: (1 + 2^-23) * (1 - 2^-23) * 2^-150 is just below half of the smallest one.
  CHECK(emulated_fma(0x1.000002p-75f, 0x1.fffffcp-76f, 0x1.000004p-127f) == 0x1.000004p-127f);
  // Exact cancellation gives +0; a product that vanishes keeps its sign.
  CHECK(bits_of(emulated_fma(3.0, 5.0, -15.0)) == 0);
  CHECK(bits_of(emulated_fma(0x1p-600, -0x1p-600, 0.0)) == bits_of(-0.0));
  CHECK(bits_of(emulated_fma(-0.0, 1.0, -0.0)) == bits_of(-0.0));
  CHECK(bits_of(emulated_fma(-0.0f, 1.0f, 0.0f)) == bits_of(0.0f));
  // An overflowing product beside an infinity, and one that the addend brings back.
  const double infinity = std::numeric_limits<double>::infinity();
  const double largest = (std::numeric_limits<double>::max)();
  CHECK(emulated_fma(largest, 2.0, -infinity) == -infinity);
  CHECK(emulated_fma(largest, 2.0, -largest) == largest);
  CHECK(emulated_fma(largest, 2.0, 0.0) == infinity);
  CHECK(std::isnan(emulated_fma(infinity, 0.0, 1.0)));
  CHECK(std::isnan(emulated_fma(infinity, 1.0, -infinity)));
  // Half the smallest subnormal goes to even, a little more goes up.
  CHECK(emulated_fma(0x1p-1074, 0.5, 0.0) == 0.0);
  CHECK(emulated_fma(0x1p-1074, 0x1.8p-1, 0.0) == 0x1p-1074);
  CHECK(emulated_fma(0x1p-75f, 0x1.8p-75f, 0.0f) == 0x1p-149f);
}

TEST_CASE("sums and products of two doubles are exact") {
  std::mt19937_64 generator(7);
  std::uniform_real_distribution<double> significand(-2.0, 2.0);
  std::uniform_int_distribution<int> exponent(-60, 60);
  bool products_exact = true;
  bool sums_exact = true;
  bool parts_rounded = true;
  for (int i = 0; i < 100000; ++i) {
    const double a = std::ldexp(significand(generator), exponent(generator));
    const double b = std::ldexp(significand(generator), exponent(generator));
    const DoubleDouble product = rope::detail::two_product(a, b);
    const DoubleDouble sum = rope::detail::two_sum(a, b);
    products_exact = products_exact && absolute_error(Real(product), Real(a) * Real(b)) == 0.0;
    sums_exact = sums_exact && absolute_error(Real(sum), Real(a) + Real(b)) == 0.0;
    parts_rounded = parts_rounded && product.hi == a * b && sum.hi == a + b;
    // Both ways to the error of a product, whichever one this unit is compiled to use.
    const DoubleDouble a_halves = rope::detail::halves_of(a);
    const DoubleDouble b_halves = rope::detail::halves_of(b);
    products_exact =
        products_exact && rope::detail::product_error(product.hi, a_halves, b_halves) == product.lo;
  }
  CHECK(products_exact);
  CHECK(sums_exact);
  CHECK(parts_rounded);
}

TEST_CASE("64-bit integers become double-doubles exactly") {
  const auto limits = std::numeric_limits<std::int64_t>();
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{-1}, (std::int64_t{1} << 53) + 1,
        -(std::int64_t{1} << 53) - 1, (limits.max)(), (limits.max)() - 1, (limits.min)(),
        (limits.min)() + 1, std::int64_t{1234567890123456789}}) {
    const DoubleDouble converted = rope::detail::double_double(value);
    Real expected;
    mpfr_set_si(expected.get(), static_cast<long>(value), MPFR_RNDN);
    CAPTURE(value);
    CHECK(absolute_error(Real(converted), expected) == 0.0);
    CHECK(converted.hi == static_cast<double>(value));
  }
}

TEST_CASE("double-double arithmetic") {
  std::mt19937_64 generator(11);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::uniform_int_distribution<int> exponent(-20, 20);
  const auto random = [&] {
    const double hi = std::ldexp(uniform(generator), exponent(generator));
    return rope::detail::two_sum(hi, hi * uniform(generator) * 0x1p-54);
  };
  double add = 0.0;
  double cancel = 0.0;
  double multiply = 0.0;
  double divide = 0.0;
  for (int i = 0; i < 50000; ++i) {
    const DoubleDouble a = random();
    const DoubleDouble b = random();
    const DoubleDouble near_a = {a.hi, a.lo * uniform(generator)};
    add = (std::max)(add, relative_error(Real(a + b), Real(a) + Real(b)));
    cancel = (std::max)(cancel, relative_error(Real(a - near_a), Real(a) - Real(near_a)));
    multiply = (std::max)(multiply, relative_error(Real(a * b), Real(a) * Real(b)));
    divide = (std::max)(divide, relative_error(Real(a / b), Real(a) / Real(b)));
  }
  CAPTURE(std::log2(add), std::log2(cancel), std::log2(multiply), std::log2(divide));
  CHECK(add < 0x1p-104);       // measured 2^-105.5
  CHECK(cancel < 0x1p-104);    // measured 0
  CHECK(multiply < 0x1p-103);  // measured 2^-104.8
  CHECK(divide < 0x1p-102);    // measured 2^-105.3
}

TEST_CASE("exp and log in double-double") {
  std::mt19937_64 generator(3);
  std::uniform_real_distribution<double> argument(-600.0, 600.0);
  std::uniform_real_distribution<double> small(-1.0, 1.0);
  double exp_error = 0.0;
  double log_error = 0.0;
  for (int i = 0; i < 20000; ++i) {
    double x = i % 2 == 0 ? argument(generator) : small(generator);
    if (i % 10 == 3) x = std::ldexp(x, -(i % 300));
    const DoubleDouble angle = rope::detail::two_sum(x, x * small(generator) * 0x1p-54);
    exp_error = (std::max)(
        exp_error, relative_error(Real(rope::detail::exp(angle)), evaluate(mpfr_exp, Real(angle))));
    double y = std::ldexp(1.0 + std::fabs(small(generator)), i % 2000 - 1000);
    if (i % 10 == 3) y = 1.0 + x * 1e-3;  // where the logarithm is small
    log_error = (std::max)(log_error,
                           relative_error(Real(rope::detail::log(y)), evaluate(mpfr_log, Real(y))));
  }
  for (const double y :
       {0x1p-1074, 0x1.8p-1030, 0x1p-1022, 1.0 - 0x1p-53, 1.0 + 0x1p-52, 0x1.6a09e667f3bcdp-1,
        0x1.6a09e667f3bcdp0, (std::numeric_limits<double>::max)()}) {
    log_error = (std::max)(log_error,
                           relative_error(Real(rope::detail::log(y)), evaluate(mpfr_log, Real(y))));
  }
  CAPTURE(std::log2(exp_error), std::log2(log_error));
  CHECK(exp_error < 0x1p-98);  // measured 2^-104.5
  CHECK(log_error < 0x1p-98);  // measured 2^-104.5
  CHECK(rope::detail::exp({0.0, 0.0}).hi == 1.0);
  CHECK(bits_of(rope::detail::log(1.0).hi) == 0);
  CHECK(rope::detail::exp({800.0, 0.0}).hi == std::numeric_limits<double>::infinity());
  CHECK(rope::detail::exp({-800.0, 0.0}).hi == 0.0);
}

TEST_CASE("powers with rational exponents") {
  using rope::detail::power;
  double worst = 0.0;
  const auto check = [&](double base, const Real& logarithm, int i, int d) {
    const Real exact =
        evaluate(mpfr_exp, logarithm * Real(static_cast<double>(i)) / Real(static_cast<double>(d)));
    worst = (std::max)(worst, error_in_ulps(power(base, i, d), exact));
  };
  for (const double base : {1e4, 5e5, 1e6, 100.0, 10007.3, 5e10, 1e-6, 1e30, 2.0, 1.0000001}) {
    const Real logarithm = evaluate(mpfr_log, Real(base));
    // Every exponent for the bases in use, a few for the others.
    const int stride = base == 1e4 || base == 5e5 ? 1 : 11;
    for (int d = 2; d <= 256; ++d) {
      for (int i = 0; i <= d; i += stride) check(base, logarithm, -i, d);
      check(base, logarithm, d - 1, d);
    }
  }
  CAPTURE(worst);
  CHECK(worst < 0.501);  // measured 0.49998: every power is the correctly rounded one

  CHECK(power(10000.0, -126, 128) == Catch::Detail::Approx(1.15478198469e-4).epsilon(1e-12));
  CHECK(power(10000.0, 0, 128) == 1.0);
  CHECK(power(10007.3, 128, 128) == 10007.3);
  CHECK(power(10007.3, -3, -3) == 10007.3);
  CHECK(power(10000.0, -1, 2) == 0.01);
  CHECK(power(10000.0, -1, 4) == 0.1);
  CHECK(power(10000.0, -3, 4) == 0.001);
  CHECK(power(1.0, 5, 7) == 1.0);
  CHECK(power(2.0, 900, 1) == 0x1p900);
  CHECK(power(2.0, -1050, 1) == 0x1p-1050);
  CHECK(power(2.0, 2000, 2) == 0x1p1000);
  CHECK(power(4.0, 999, 1) == std::numeric_limits<double>::infinity());
  CHECK(power(4.0, -999, 1) == 0.0);
}

TEST_CASE("sin and cos of exact products") {
  using rope::detail::sin_cos;
  using rope::detail::two_product;
  std::mt19937_64 generator(5);
  double absolute = 0.0;
  double relative = 0.0;  // of angles below pi/4, which are not reduced
  double huge = 0.0;
  const auto check = [](DoubleDouble angle, double& worst, auto error) {
    const rope::detail::SinCos actual = sin_cos(angle);
    const Real exact_angle(angle);
    worst = (std::max)(worst, error(Real(actual.sin), evaluate(mpfr_sin, exact_angle)));
    worst = (std::max)(worst, error(Real(actual.cos), evaluate(mpfr_cos, exact_angle)));
  };
  for (int i = 0; i < 30000; ++i) {
    const double theta = rope::detail::power(10000.0, -(i % 128), 128);
    const std::int64_t m = static_cast<std::int64_t>(generator() >> (40 + i % 24));  // < 2^24
    const double sign = i % 3 == 0 ? -1.0 : 1.0;
    check(two_product(sign * static_cast<double>(m), theta), absolute, absolute_error);
    const double near_quarter = static_cast<double>(i) * 0x1.921fb54442d18p+0;
    check({near_quarter, 0.0}, absolute, absolute_error);
    if (i % 4 == 0) {
      const double odd = static_cast<double>((generator() >> 11) | 1);  // < 2^53
      check(two_product(odd, 1.0 - 0x1p-53), huge, absolute_error);
      check({rope::detail::max_angle - static_cast<double>(i), 0.5}, huge, absolute_error);
    }
    const double fraction = static_cast<double>(generator() >> 11) * 0x1p-53;
    const double small = std::ldexp(0.78 * fraction + 0x1p-60, -(i % 3 == 0 ? i % 500 : 0));
    check(rope::detail::two_sum(small, small * 0x1p-55), relative, relative_error);
  }
  for (int i = -4000; i <= 4000;
       ++i) {  // about the borders of the table of 32nds and of the quadrants
    check({i / 64.0, 0x1p-80}, absolute, absolute_error);
    check({i / 64.0, -0x1p-60}, absolute, absolute_error);
  }
  CAPTURE(std::log2(absolute), std::log2(huge), std::log2(relative));
  CHECK(absolute < 0x1p-100);  // measured 2^-105.8
  CHECK(huge < 0x1p-98);       // measured 2^-104.7
  CHECK(relative < 0x1p-98);   // measured 2^-101.1

  CHECK(sin_cos({0.0, 0.0}).cos.hi == 1.0);
  CHECK(bits_of(sin_cos({0.0, 0.0}).sin.hi) == 0);
  CHECK(sin_cos({0x1p-1000, 0.0}).sin.hi == 0x1p-1000);
  CHECK(sin_cos({0x1p-1000, 0.0}).cos.hi == 1.0);
}

namespace {

struct Rotors {
  std::vector<double> cos;
  std::vector<double> sin;
};

/// Multiples of one frequency, as a column of several.
void write(double frequency, std::int64_t step, std::int64_t count, double magnitude, double* cos,
           std::ptrdiff_t sin_offset, std::ptrdiff_t stride) {
  rope::detail::RotorColumns columns;
  rope::detail::RotorSteps steps;
  rope::detail::start_columns(columns, 1);
  rope::detail::set_column(columns, 0, frequency, magnitude);
  rope::detail::start_steps(steps, step, true);
  rope::detail::write_multiples(columns, steps, 0, count, cos, sin_offset, stride, 1);
}

Rotors multiples(double frequency, std::int64_t step, std::int64_t count, double magnitude = 1.0) {
  const auto size = static_cast<std::size_t>(count);
  std::vector<double> both(2 * size);
  write(frequency, step, count, magnitude, both.data(), count, 1);
  const auto middle = both.begin() + static_cast<std::ptrdiff_t>(count);
  return {{both.begin(), middle}, {middle, both.end()}};
}

/// The largest error in ulps, where one below 2^-94 * magnitude counts as none.
double worst_rotor_error(double frequency, std::int64_t step, std::int64_t count,
                         double magnitude = 1.0) {
  const Rotors actual = multiples(frequency, step, count, magnitude);
  double worst = 0.0;
  for (std::size_t j = 0; j < actual.cos.size(); ++j) {
    const Real multiple(static_cast<double>(static_cast<std::int64_t>(j) * step));
    const Real angle = multiple * Real(frequency);
    const auto check = [&](double value, const Real& exact) {
      if (absolute_error(Real(value), exact) <= 0x1p-94 * std::fabs(magnitude)) return;
      worst = (std::max)(worst, error_in_ulps(value, exact));
    };
    check(actual.cos[j], Real(magnitude) * evaluate(mpfr_cos, angle));
    check(actual.sin[j], Real(magnitude) * evaluate(mpfr_sin, angle));
  }
  return worst;
}

}  // namespace

TEST_CASE("rotors are rounded correctly") {
  double worst = 0.0;
  for (int pair = 0; pair < 64; pair += 3) {
    const double frequency = rope::detail::power(10000.0, -2 * pair, 128);
    worst = (std::max)(worst, worst_rotor_error(frequency, 1, 200));
    worst = (std::max)(worst, worst_rotor_error(frequency, 1024, 300, 1.1907142857142857));
    worst = (std::max)(worst, worst_rotor_error(-frequency, 131071, 128));  // to 2^24
    worst = (std::max)(worst, worst_rotor_error(frequency, -1023, 70, -0.7));
  }
  worst = (std::max)(worst, worst_rotor_error(1e-20, 1, 100));
  worst = (std::max)(worst, worst_rotor_error(3e5, 1001, 200));
  worst = (std::max)(worst, worst_rotor_error(0x1.921fb54442d18p+0, 1, 2000));  // next to the zeros
  worst = (std::max)(worst, worst_rotor_error(0.1, std::int64_t{1} << 45, 200));
  CAPTURE(worst);
  CHECK(worst < 0.5001);  // measured 0.499991: every entry is the correctly rounded one
}

TEST_CASE("rotor of position 999999, pair 1, d = 128") {
  const double frequency = rope::detail::power(10000.0, -2, 128);
  const Rotors rotors = multiples(frequency, 999999, 2);
  CHECK(std::fabs(rotors.cos[1] - -0.660281339748) < 1e-10);
  CHECK(std::fabs(rotors.sin[1] - 0.751018343571) < 1e-10);
}

TEST_CASE("a rotor does not depend on the count, the stride, or where it is written") {
  const double frequency = 0.7853;
  const Rotors all = multiples(frequency, 3, 100, 1.25);
  for (const std::int64_t count : {1, 2, 31, 32, 33, 64, 99}) {
    const Rotors some = multiples(frequency, 3, count, 1.25);
    CAPTURE(count);
    CHECK(std::equal(some.cos.begin(), some.cos.end(), all.cos.begin()));
    CHECK(std::equal(some.sin.begin(), some.sin.end(), all.sin.begin()));
  }
  std::vector<double> strided(100 * 4, -7.0);
  write(frequency, 3, 100, 1.25, strided.data(), 2, 4);
  bool same = true;
  bool gaps_untouched = true;
  for (std::size_t j = 0; j < 100; ++j) {
    same = same && strided[4 * j] == all.cos[j] && strided[4 * j + 2] == all.sin[j];
    gaps_untouched = gaps_untouched && strided[4 * j + 1] == -7.0 && strided[4 * j + 3] == -7.0;
  }
  CHECK(same);
  CHECK(gaps_untouched);
  write(frequency, 3, 0, 1.25, nullptr, 0, 1);
}

TEST_CASE("rotors at the ends of the range") {
  for (const double frequency : {0.0, 1.0, -2.5, 1e-310, 1e300}) {
    const Rotors first = multiples(frequency, 1000, 1, 1.5);
    CHECK(first.cos[0] == 1.5);
    CHECK(bits_of(first.sin[0]) == 0);
  }
  const Rotors still = multiples(0.0, -1, 70, 0.75);
  CHECK(std::all_of(still.cos.begin(), still.cos.end(), [](double c) { return c == 0.75; }));
  CHECK(std::all_of(still.sin.begin(), still.sin.end(), [](double s) { return bits_of(s) == 0; }));

  const Rotors tiny = multiples(0x1p-1060, 1, 4, 2.0);
  CHECK(tiny.cos[3] == 2.0);
  CHECK(tiny.sin[3] == 0x1.8p-1058);

  // The magnitude only scales, also where its products with small numbers would underflow.
  const Rotors plain = multiples(0.3, 7, 80, 1.0);
  for (const double scale : {0x1p1000, 0x1p-900, -0x1p-700}) {
    const Rotors scaled = multiples(0.3, 7, 80, scale);
    bool same = true;
    for (std::size_t j = 0; j < 80; ++j) {
      same = same && scaled.cos[j] == plain.cos[j] * scale && scaled.sin[j] == plain.sin[j] * scale;
    }
    CAPTURE(scale);
    CHECK(same);
  }
  const Rotors none = multiples(0.3, 7, 80, 0.0);
  CHECK(std::all_of(none.cos.begin(), none.cos.end(), [](double c) { return c == 0.0; }));
  CHECK(std::all_of(none.sin.begin(), none.sin.end(), [](double s) { return s == 0.0; }));
}

// Frequencies and tables are promised to have the same bits on every platform. This checksum covers
// all bits of a sample, trailing parts included, and came out alike with GCC and clang, -O0 to -O3,
// -march=native, -ffast-math, -ffp-contract=off, and on AArch64. If it has to change, so do the
// tables of users, and that needs a reason.
TEST_CASE("results have the same bits everywhere") {
  Checksum checksum;
  for (const double base : {100.0, 1e4, 5e5, 10007.3}) {
    for (int i = 0; i <= 128; ++i) checksum.add(rope::detail::power(base, -i, 128));
    checksum.add(rope::detail::log(base));
  }
  for (int i = -1000; i <= 1000; ++i) {
    checksum.add(rope::detail::exp({i * 0.37, i * 0x1p-60}));
    const rope::detail::SinCos value =
        rope::detail::sin_cos(rope::detail::two_product(i * 16411.0, 0.7498942093324559));
    checksum.add(value.sin);
    checksum.add(value.cos);
  }
  for (const double frequency : {1.0, 0.7498942093324559, 1.1547819846894582e-4, -3e-9}) {
    for (const std::int64_t step : {1, 1024}) {
      const Rotors rotors = multiples(frequency, step, 1000, 1.1907142857142857);
      for (const double value : rotors.cos) checksum.add(value);
      for (const double value : rotors.sin) checksum.add(value);
    }
  }
  CHECK(checksum.value() == 0x695bf417e7795d39);
}
