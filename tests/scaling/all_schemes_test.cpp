// What holds for every scheme: exact frequencies, algebra of the rotation, tables at far positions,
// and the same bits on every platform. Built a second time with -ffast-math.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "rope/core.hpp"
#include "scaling/check.hpp"
#include "scaling/reference.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using namespace rope_test::scaling;

constexpr std::int64_t rotary_dim = 16;
constexpr std::int64_t long_sequence = 1000000;
const std::vector<double> short_list = {1, 1.02, 1.03, 1.1, 1.3, 1.7, 2, 2.5};
const std::vector<double> long_list = {1.08, 1.5, 2.6, 7.7, 17.67, 31.5, 60, 64.3};

struct Case {
  std::string name;
  double base;
  rope::Scaling scaling;
  Ladder expected;
  Real magnitude = 1;
  bool falls = true;  // each frequency is below the one before

  rope::Frequencies frequencies() const {
    return rope::frequencies({.rotary_dim = rotary_dim, .base = base, .scaling = scaling},
                             long_sequence);
  }
};

std::vector<Case> all_cases() {
  constexpr std::int64_t d = rotary_dim;
  const Ladder w = plain(d, 1e4);
  return {
      {"plain", 1e4, rope::Plain{}, w},
      {"linear", 1e6, rope::Linear{7.3}, divided(plain(d, 1e6), std::vector<double>(8, 7.3))},
      {"NTK base", 1e4, rope::NtkBase{4}, base_changed(d, 1e4, 4)},
      {"NTK alpha", 1e4, rope::NtkAlpha{1000}, base_changed(d, 1e4, 1000)},
      {"NTK fixed", 1e4, rope::NtkFixed{4}, ntk_fixed(d, 1e4, 4)},
      {"NTK mixed", 1e4, rope::NtkMixed{4, 0.625}, ntk_mixed(d, 1e4, 4, 0.625)},
      {"dynamic NTK", 1e4, rope::DynamicNtk{3, 4096}, dynamic_ntk(d, 1e4, 3, 4096, 1e6)},
      {"YaRN", 1e4, rope::Yarn{.factor = 40, .original_max_positions = 4096},
       yarn(d, 1e4, {40, 4096}), yarn_magnitude(40)},
      {"YaRN, not truncated", 150000,
       rope::Yarn{.factor = 32, .original_max_positions = 4096, .truncate = false},
       yarn(d, 150000, {32, 4096, 32, 1, false}), yarn_magnitude(32)},
      {"Llama 3", 5e5, rope::Llama3{.factor = 8, .original_max_positions = 8192},
       llama3(d, 5e5, 8, 1, 4, 8192)},
      {"LongRoPE", 1e4,
       rope::LongRope{.short_factors = short_list,
                      .long_factors = long_list,
                      .original_max_positions = 4096,
                      .max_positions = 131072},
       divided(w, long_list), longrope_magnitude(4096, 32)},
      {"proportional",
       1e4,
       rope::Proportional{.partial_rotary_factor = 0.5, .factor = 2},
       {w[0] / 2, w[1] / 2, w[2] / 2, w[3] / 2, 0, 0, 0, 0},
       1,
       false},
      {"pair divisors", 1e4, rope::PairDivisors{long_list}, divided(w, long_list)},
      {"ggml", 1e4,
       rope::Ggml{.freq_scale = 0.0625,
                  .ext_factor = 1,
                  .attn_factor = 1.1,
                  .n_ctx_orig = 4096,
                  .freq_factors = short_list},
       divided(yarn(d, 1e4, {16, 4096}), short_list), yarn_magnitude(16) * 1.1L},
  };
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

std::vector<double> some_head(double seed) {
  std::vector<double> head;
  for (int i = 0; i < rotary_dim; ++i) head.push_back(std::sin(seed + 1.7 * i));
  return head;
}

}  // namespace

TEST_CASE("every scheme is in the list of cases") {
  std::vector<bool> seen(std::variant_size_v<rope::Scaling>, false);
  for (const Case& scheme : all_cases()) seen[scheme.scaling.index()] = true;
  CHECK(std::count(seen.begin(), seen.end(), true) ==
        static_cast<std::ptrdiff_t>(std::variant_size_v<rope::Scaling>));
}

TEST_CASE("frequencies are within 0.51 ulp of their formula, and magnitudes too") {
  double worst = 0;
  for (const Case& scheme : all_cases()) {
    INFO(scheme.name);
    const rope::Frequencies frequencies = scheme.frequencies();
    const double error = worst_ulp(frequencies, scheme.expected);
    CHECK(error <= 0.52);  // 0.01 for the reference itself
    worst = (std::max)(worst, error);
    CHECK(std::abs(static_cast<Real>(frequencies.magnitude()) - scheme.magnitude) <=
          scheme.magnitude * 0x1.1p-53L);
  }
  CHECK(worst > 0.3);  // otherwise nothing was measured
}

TEST_CASE("frequencies of large heads are as exact") {
  for (const std::int64_t d : {64, 128, 256, 130}) {
    const auto check = [&](const rope::Scaling& scaling, double base, const Ladder& expected) {
      INFO("rotary_dim " << d << ", scheme " << scaling.index());
      CHECK(worst_ulp(rope::frequencies({.rotary_dim = d, .base = base, .scaling = scaling},
                                        long_sequence),
                      expected) <= 0.52);
    };
    for (const double factor : {1.0, 1.5, 8.0, 64.0}) {
      check(rope::NtkBase{factor}, 1e4, base_changed(d, 1e4, factor));
      check(rope::NtkFixed{factor}, 1e4, ntk_fixed(d, 1e4, factor));
      check(rope::NtkMixed{factor, 0.7}, 1e4, ntk_mixed(d, 1e4, factor, 0.7));
      check(rope::DynamicNtk{factor, 32768}, 1e6, dynamic_ntk(d, 1e6, factor, 32768, 1e6));
      check(rope::Llama3{factor, 1, 4, 8192}, 5e5, llama3(d, 5e5, factor, 1, 4, 8192));
      for (const bool truncate : {true, false}) {
        check(rope::Yarn{.factor = factor,
                         .original_max_positions = 32768,
                         .beta_fast = 24,
                         .beta_slow = 1.5,
                         .truncate = truncate},
              1e6, yarn(d, 1e6, {factor, 32768, 24, 1.5, truncate}));
      }
    }
  }
}

TEST_CASE("where a scheme is monotone, frequencies fall with the pair index") {
  for (const Case& scheme : all_cases()) {
    INFO(scheme.name);
    const rope::Frequencies frequencies = scheme.frequencies();
    for (std::int64_t i = 1; i < frequencies.pairs(); ++i) {
      CHECK((frequencies(0, 0, i) < frequencies(0, 0, i - 1)) ==
            (scheme.falls || frequencies(0, 0, i - 1) > 0));
    }
  }
}

TEST_CASE("a factor of 1 is plain RoPE, bit for bit") {
  const rope::Frequencies plain = rope::frequencies({.rotary_dim = 64});
  for (const rope::Scaling& scaling :
       {rope::Scaling(rope::Linear{1}), rope::Scaling(rope::NtkBase{1}),
        rope::Scaling(rope::NtkAlpha{1}), rope::Scaling(rope::NtkFixed{1}),
        rope::Scaling(rope::NtkMixed{1, 0.625}),
        rope::Scaling(rope::Yarn{.factor = 1, .original_max_positions = 4096}),
        rope::Scaling(rope::Llama3{.factor = 1, .original_max_positions = 512}),
        rope::Scaling(rope::LongRope{.short_factors = std::vector<double>(32, 1.0),
        .long_factors = std::vector<double>(32, 1.0),
        .original_max_positions = 4096,
        .factor = 1}),
        rope::Scaling(rope::Proportional{}),
        rope::Scaling(rope::PairDivisors{std::vector<double>(32, 1.0)}),
        rope::Scaling(rope::Ggml{.ext_factor = 1, .n_ctx_orig = 4096})}) {
    INFO("scheme " << scaling.index());
    const rope::Frequencies scaled =
        rope::frequencies({.rotary_dim = 64, .scaling = scaling}, 5000);
    CHECK(same_values(scaled, plain));
    CHECK(scaled.magnitude() == 1);
  }
}

TEST_CASE("only dynamic NTK and LongRoPE look at the length") {
  for (const Case& scheme : all_cases()) {
    INFO(scheme.name);
    const rope::Parameters parameters = {
        .rotary_dim = rotary_dim, .base = scheme.base, .scaling = scheme.scaling};
    const bool looks = std::holds_alternative<rope::DynamicNtk>(scheme.scaling) ||
                       std::holds_alternative<rope::LongRope>(scheme.scaling);
    CHECK(same_values(rope::frequencies(parameters), scheme.frequencies()) != looks);
    CHECK(same_values(rope::frequencies(parameters), rope::frequencies(parameters, 0)));
    rope_test::require_throws<rope::InvalidArgument>(
        "rope::frequencies: sequence_length must not be negative, got -1",
        [&] { (void)rope::frequencies(parameters, -1); });
  }
}

TEST_CASE("position 0 is the identity times the magnitude") {
  for (const Case& scheme : all_cases()) {
    INFO(scheme.name);
    const rope::Frequencies frequencies = scheme.frequencies();
    const std::vector<double> head = some_head(0.3);
    const std::vector<double> turned = rotated(frequencies, head, 0);
    for (std::size_t i = 0; i < head.size(); ++i) {
      CHECK(turned[i] == head[i] * frequencies.magnitude());
    }
  }
}

TEST_CASE("a score depends on the distance only") {
  for (const Case& scheme : all_cases()) {
    INFO(scheme.name);
    const rope::Frequencies frequencies = scheme.frequencies();
    const std::vector<double> q = some_head(0.3);
    const std::vector<double> k = some_head(2.1);
    const double near = dot(rotated(frequencies, q, 17), rotated(frequencies, k, 5));
    const double far = dot(rotated(frequencies, q, 5017), rotated(frequencies, k, 5005));
    const double scale =
        frequencies.magnitude() * frequencies.magnitude() * std::sqrt(dot(q, q) * dot(k, k));
    CHECK(std::abs(near - far) <= 1e-12 * scale);
    CHECK(std::abs(dot(rotated(frequencies, q, 29), rotated(frequencies, k, 5)) - near) >
          1e-6 * scale);
  }
}

TEST_CASE("float tables are exact at position 999999") {
  // A float angle is off by 3e-2 rad here, and by 6e-2 in the table.
  for (const Case& scheme : all_cases()) {
    INFO(scheme.name);
    const rope::Frequencies frequencies = scheme.frequencies();
    const rope::CosSinTable<float> table(frequencies, long_sequence);
    const Real magnitude = static_cast<Real>(frequencies.magnitude());
    for (const std::int64_t position : {131071, 524287, 999998, 999999}) {
      for (std::int64_t i = 0; i < frequencies.pairs(); ++i) {
        const auto pair = static_cast<std::size_t>(i);
        const Real angle = static_cast<Real>(position) * static_cast<Real>(frequencies(0, 0, i));
        const Real tolerance = 0x1.01p-25L * (magnitude > 1 ? 2 : 1);
        CHECK(std::abs(static_cast<Real>(table.cos(position)[pair]) -
                       magnitude * std::cos(angle)) <= tolerance);
        CHECK(std::abs(static_cast<Real>(table.sin(position)[pair]) -
                       magnitude * std::sin(angle)) <= tolerance);
      }
    }
  }
}

TEST_CASE("a factor that is no number is refused, however the program is compiled") {
  const double infinity = std::numeric_limits<double>::infinity();
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [value, text] :
       {std::pair{0.0, "0"}, {-2.0, "-2"}, {infinity, "inf"}, {not_a_number, "nan"}}) {
    const std::string message = std::string("must be finite and above 0, got ") + text;
    for (const rope::Scaling& scaling :
         {rope::Scaling(rope::Linear{value}), rope::Scaling(rope::NtkBase{value}),
          rope::Scaling(rope::NtkFixed{value}), rope::Scaling(rope::NtkMixed{value, 1}),
          rope::Scaling(rope::DynamicNtk{value, 64}),
          rope::Scaling(rope::Yarn{.factor = value, .original_max_positions = 64}),
          rope::Scaling(rope::Llama3{.factor = value, .original_max_positions = 64}),
          rope::Scaling(rope::Proportional{.factor = value})}) {
      INFO("scheme " << scaling.index());
      rope_test::require_throws<rope::InvalidArgument>(
          "rope::frequencies: scaling.factor " + message,
          [&] { (void)rope::frequencies({.rotary_dim = 8, .scaling = scaling}, 100); });
    }
    rope_test::require_throws<rope::InvalidArgument>(
        "rope::frequencies: scaling.alpha " + message, [&, bad = value] {
          (void)rope::frequencies({.rotary_dim = 8, .scaling = rope::NtkAlpha{bad}});
        });
    rope_test::require_throws<rope::InvalidArgument>(
        "rope::frequencies: scaling.divisors[0] " + message, [&, bad = value] {
          (void)rope::frequencies({.rotary_dim = 2, .scaling = rope::PairDivisors{{bad}}});
        });
  }
  for (const auto& [value, text] :
       {std::pair{-1.0, "-1"}, {infinity, "inf"}, {not_a_number, "nan"}}) {
    rope_test::require_throws<rope::InvalidArgument>(
        std::string("rope::frequencies: scaling.mixed_b must be finite and not negative, got ") +
            text,
        [&, bad = value] {
          (void)rope::frequencies({.rotary_dim = 8, .scaling = rope::NtkMixed{2, bad}});
        });
  }
}

TEST_CASE("the same bits on every platform") {
  // Recorded with GCC 12 at -O2 for baseline x86-64. Any other compiler, set of flags or machine
  // that gives another number has contracted or reassociated an expression, or called a
  // mathematics library.
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](double value) {
    hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 0x100000001b3;
  };
  for (const Case& scheme : all_cases()) {
    for (const std::int64_t d : {16, 16384}) {
      rope::Scaling scaling = scheme.scaling;
      if (d != 16 && (std::holds_alternative<rope::LongRope>(scaling) ||
                      std::holds_alternative<rope::PairDivisors>(scaling) ||
                      std::holds_alternative<rope::Ggml>(scaling))) {
        continue;  // their lists are for 16
      }
      const rope::Frequencies frequencies =
          rope::frequencies({.rotary_dim = d, .base = scheme.base, .scaling = scaling}, 9999);
      for (const double value : frequencies.values()) add(value);
      add(frequencies.magnitude());
    }
  }
  add(rope::query_scale({.beta = 0.1, .period = 8192, .offset = 1}, 123456));
  CHECK(hash == 0x86e5e56d52a6d311);
}

TEST_CASE("a scaling that lost its scheme to an exception is refused") {
  struct Throwing {
    operator rope::LongRope() const { throw 1; }
  };
  rope::Scaling scaling = rope::Plain{};
  CHECK_THROWS_AS(scaling.emplace<rope::LongRope>(Throwing{}), int);
  REQUIRE(scaling.valueless_by_exception());
  CHECK_THROWS_AS(rope::frequencies({.rotary_dim = rotary_dim, .scaling = scaling}),
                  rope::InvalidArgument);
  CHECK_THROWS_AS(rope::axial_frequencies({.axis_dims = {rotary_dim}, .scaling = scaling}),
                  rope::InvalidArgument);
}
