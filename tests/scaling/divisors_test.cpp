// Linear interpolation, proportional RoPE, divisors of GGUF files, and ggml's parameter set.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "rope/frequencies.hpp"
#include "rope/scaling/ggml.hpp"
#include "rope/scaling/linear.hpp"
#include "rope/scaling/llama3.hpp"
#include "rope/scaling/pair_divisors.hpp"
#include "rope/scaling/proportional.hpp"
#include "rope/scaling/yarn.hpp"
#include "scaling/check.hpp"
#include "scaling/reference.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using namespace rope_test::scaling;
using rope::Ggml;
using rope_test::require_throws;

rope::Frequencies frequencies_of(int rotary_dim, const rope::Scaling& scaling, double base = 1e4) {
  return rope::frequencies({.rotary_dim = rotary_dim, .base = base, .scaling = scaling});
}

/// Head 1, token 3 of the golden files of ggml.
std::vector<double> ggml_head() {
  std::vector<double> head;
  for (int d = 0; d < 16; ++d) {
    head.push_back(
        static_cast<double>(static_cast<float>(std::sin(0.1 + 0.37 * 3 + 0.11 + 0.013 * d))));
  }
  return head;
}

}  // namespace

TEST_CASE("linear interpolation scales a position once") {
  // Position 8 with factor 4 is an angle of 2; scaled twice it would be 0.5.
  const std::vector<double> turned = rotated(frequencies_of(4, rope::Linear{4}), {1, 0, 0, 0}, 8);
  CHECK(std::abs(turned[0] + 0.416146837) <= 1e-9);
}

TEST_CASE("local and global layers of Gemma 3: base and factor both differ") {
  const rope::Frequencies global = frequencies_of(256, rope::Linear{8}, 1e6);
  check_pairs(global, {{0, 0.125},
                       {1, 0.11221089155591428},
                       {60, 0.00019249081575743648},
                       {127, 1.3924673249935028e-07}});
  const rope::CosSinTable<double> local_table(frequencies_of(256, rope::Plain{}), 17);
  const rope::CosSinTable<double> global_table(global, 17);
  CHECK(std::abs(local_table.cos(16)[0] + 0.9576594803) <= 1e-10);
  CHECK(std::abs(global_table.cos(16)[0] + 0.4161468365) <= 1e-10);
}

TEST_CASE("linear interpolation's rotated vectors") {
  check_close(rotated(frequencies_of(16, rope::Linear{4}), golden_head(1, 3), 2048),
              {-1.0649525304085257, 1.1078712533438442, -0.21455314991989027, -0.4157899889033444,
               1.3125421693653236, -1.0467622998596042, 0.3797742832048211, 0.8241128280885357,
               -0.9171260099062577, -0.8675318880512609, 1.3921354392494227, -1.3470751532205925,
               -0.5171817643331764, 0.9468972407577527, 1.3599662457709645, 1.1468714021605506},
              1e-11);
}

TEST_CASE("proportional RoPE turns the first pairs of a whole head") {
  const rope::Frequencies half =
      frequencies_of(8, rope::Proportional{.partial_rotary_factor = 0.5});
  check_pairs(half, {{0, 1.0}, {1, 0.1}, {2, 0.0}, {3, 0.0}}, 1e-15);
  // Paired with i + head_dim / 2, not with i + rotated / 2.
  check_close(rotated(half, {1, 2, 3, 4, 5, 6, 7, 8}, 1),
              {-3.667052618, 1.391007831, 3, 4, 3.542982514, 6.169691825, 7, 8}, 1e-9);
  check_pairs(frequencies_of(512, rope::Proportional{.partial_rotary_factor = 0.25}, 1e6),
              {{0, 1.0},
               {1, 0.9474635256553754},
               {40, 0.1154781984689458},
               {63, 0.033376246942920386},
               {64, 0.0},
               {255, 0.0}});
  check_close(rotated(frequencies_of(16, rope::Proportional{.partial_rotary_factor = 0.25}, 1e6),
                      golden_head(1, 3), 2048),
              {1.2516708185227867, 1.1946136470157942, 0.9922230395521413, 0.9937572967161127,
               0.9951236112621508, 0.9963217522863493, 0.997351517305727, 0.9982127322924464,
               0.6391902472101655, 0.7435647417239934, 0.9997837641893571, 0.9999696087981924,
               0.9999864609231385, 0.9998343177162264, 0.9995132048892957, 0.99902317670965},
              1e-11);
}

TEST_CASE("proportional RoPE cuts as the models do") {
  const auto turning = [](int head_dim, double part) {
    const rope::Frequencies frequencies =
        frequencies_of(head_dim, rope::Proportional{.partial_rotary_factor = part});
    std::int64_t count = 0;
    for (const double value : frequencies.values()) count += value != 0;
    return count;
  };
  CHECK(turning(100, 0.29) == 14);  // 0.29 * 100 is 28.999999999999996
  CHECK(turning(192, 0.334) == 32);
  CHECK(turning(8, 0.1) == 0);
  CHECK(turning(8, 1) == 4);
  const rope::Frequencies plain = frequencies_of(64, rope::Plain{});
  CHECK(same_values(frequencies_of(64, rope::Proportional{}), plain));
  const rope::Frequencies divided = frequencies_of(64, rope::Proportional{.factor = 8});
  for (std::int64_t i = 0; i < 32; ++i) CHECK(divided(0, 0, i) == plain(0, 0, i) / 8);
  require_throws<rope::InvalidArgument>(
      "rope::frequencies: scaling.partial_rotary_factor must be above 0 and at most 1, got 0",
      [] { (void)frequencies_of(8, rope::Proportional{.partial_rotary_factor = 0}); });
  require_throws<rope::InvalidArgument>(
      "rope::frequencies: scaling.partial_rotary_factor must be above 0 and at most 1, got 1.5",
      [] { (void)frequencies_of(8, rope::Proportional{.partial_rotary_factor = 1.5}); });
  require_throws<rope::InvalidArgument>(
      "rope::frequencies: scaling.factor must be finite and above 0, got 0",
      [] { (void)frequencies_of(8, rope::Proportional{.factor = 0}); });
}

TEST_CASE("divisors of a GGUF file are Llama 3's scheme in another form") {
  const rope::Frequencies expected =
      frequencies_of(128, rope::Llama3{.factor = 8, .original_max_positions = 8192}, 5e5);
  const rope::Frequencies plain = frequencies_of(128, rope::Plain{}, 5e5);
  std::vector<double> divisors;
  for (std::int64_t i = 0; i < 64; ++i) divisors.push_back(plain(0, 0, i) / expected(0, 0, i));
  const rope::Frequencies scaled = frequencies_of(128, rope::PairDivisors{divisors}, 5e5);
  for (std::int64_t i = 0; i < 64; ++i) {
    CHECK(relative_error(scaled(0, 0, i), expected(0, 0, i)) <= 4e-16);
  }
}

TEST_CASE("a divisor of 1e30 holds a pair still") {
  const rope::CosSinTable<float> table(frequencies_of(8, rope::PairDivisors{{1, 1, 1e30, 1e30}}),
                                       4096);
  CHECK(table.cos(4095)[2] == 1.0f);
  CHECK(table.sin(4095)[2] <= 1e-20f);
}

TEST_CASE("what divisors refuse") {
  require_throws<rope::InvalidArgument>(
      "rope::frequencies: scaling.divisors has 1 values, but rotary_dim 8 needs 4, one for each "
      "pair",
      [] { (void)frequencies_of(8, rope::PairDivisors{{1}}); });
  require_throws<rope::InvalidArgument>(
      "rope::frequencies: scaling.divisors[3] must be finite and above 0, got -1", [] {
        (void)frequencies_of(8, rope::PairDivisors{{1, 1, 1, -1}});
      });
}

TEST_CASE("ggml's parameters: rotated vectors of its own code") {
  // In float and by repeated multiplication there, hence the tolerance.
  constexpr double tolerance = 2e-5;
  check_close(rotated(frequencies_of(16, Ggml{.freq_factors = {1, 1, 1, 1.5, 2, 4, 8, 8}}),
                      ggml_head(), 100),
              {1.3362608, 0.747600079, -0.277903259, -1.35451818, 0.383025527, 0.901009321,
               0.972560763, 0.983305335, 0.362520397, 1.16953409, -1.36329043, 0.330929458,
               1.34362566, 1.07115901, 1.00987005, 1.00233841},
              tolerance);
  check_close(rotated(frequencies_of(16, Ggml{.freq_scale = 0.25}), ggml_head(), 100),
              {1.09112144, -1.03997254, -1.37509751, -0.0189061165, 0.70353651, 0.901009321,
               0.959861696, 0.979335546, 0.852331042, 0.919332862, -0.211891353, 1.39422965,
               1.2070936, 1.07115901, 1.02194786, 1.00621748},
              tolerance);
  check_close(rotated(frequencies_of(16, Ggml{.freq_scale = 0.25,
                                              .ext_factor = 1,
                                              .attn_factor = 0.8782488562869419,
                                              .n_ctx_orig = 4096}),
                      ggml_head(), 100),
              {1.3362608, 0.747600079, -0.277903259, -1.36027873, 0.212520897, 0.835951209,
               0.959861696, 0.979335546, 0.362520397, 1.16953409, -1.36329043, -0.306391478,
               1.38089585, 1.12266874, 1.02194786, 1.00621748},
              tolerance);
}

TEST_CASE("ggml's parameters by other names") {
  const rope::Frequencies plain = frequencies_of(64, rope::Plain{});
  CHECK(same_values(frequencies_of(64, Ggml{}), plain));
  CHECK(frequencies_of(64, Ggml{.attn_factor = 1.25}).magnitude() == 1.25);
  CHECK(same_values(frequencies_of(64, Ggml{.freq_scale = 0.25}),
                    frequencies_of(64, rope::Linear{4})));
  // The operation multiplies the magnitude by 1 + 0.1 ln(1 / freq_scale).
  const rope::Frequencies ours =
      frequencies_of(64, rope::Yarn{.factor = 4, .original_max_positions = 4096});
  const rope::Frequencies theirs =
      frequencies_of(64, Ggml{.freq_scale = 0.25, .ext_factor = 1, .n_ctx_orig = 4096});
  CHECK(same_values(ours, theirs));
  CHECK(ours.magnitude() == theirs.magnitude());
  // Unlike YaRN's, it also falls below 1.
  CHECK(
      relative_error(
          frequencies_of(64, Ggml{.freq_scale = 2, .ext_factor = 1, .n_ctx_orig = 64}).magnitude(),
          1 - 0.1 * std::log(2.0)) <= 1e-15);
  // A ramp that ends before pair 0: ggml interpolates all pairs but the first, others none.
  const rope::Frequencies short_context =
      frequencies_of(64, Ggml{.freq_scale = 0.25, .ext_factor = 1, .n_ctx_orig = 4});
  CHECK(short_context(0, 0, 0) == 1);
  for (std::int64_t i = 1; i < 32; ++i) CHECK(short_context(0, 0, i) == plain(0, 0, i) / 4);
  // The divisor applies to both parts of the blend.
  const rope::Frequencies halved =
      frequencies_of(64, Ggml{.freq_scale = 0.25,
                              .ext_factor = 1,
                              .n_ctx_orig = 4096,
                              .freq_factors = std::vector<double>(32, 2.0)});
  for (std::int64_t i = 0; i < 32; ++i) CHECK(halved(0, 0, i) == theirs(0, 0, i) / 2);
}

TEST_CASE("what ggml's parameters refuse") {
  const auto refused = [](const std::string& message, const Ggml& scaling) {
    require_throws<rope::InvalidArgument>("rope::frequencies: scaling." + message,
                                          [&] { (void)frequencies_of(8, scaling); });
  };
  refused("freq_scale must be finite and above 0, got 0", {.freq_scale = 0});
  refused("ext_factor must be between 0 and 1, got -1", {.ext_factor = -1});
  refused("attn_factor must be finite and above 0, got 0", {.attn_factor = 0});
  refused("freq_factors has 3 values, but rotary_dim 8 needs 4, one for each pair",
          {.freq_factors = {1, 1, 1}});
  refused("n_ctx_orig must be at least 1, got 0", {.ext_factor = 1});
  refused("beta_fast must be finite and above 0, got 0",
          {.ext_factor = 1, .beta_fast = 0, .n_ctx_orig = 64});
  // As in the plain form of ggml, where the betas are 0.
  CHECK_NOTHROW(frequencies_of(8, Ggml{.beta_fast = 0, .beta_slow = 0}));
}
