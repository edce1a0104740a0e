// YaRN: frequencies, the magnitude, DeepSeek's softmax multiplier, and the dialects of engines.
#include "rope/scaling/yarn.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "rope/frequencies.hpp"
#include "rope/rotate_inverse.hpp"
#include "scaling/check.hpp"
#include "scaling/reference.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using namespace rope_test::scaling;
using rope::Yarn;
using rope_test::require_throws;

rope::Frequencies yarn_of(int rotary_dim, double base, const Yarn& scaling) {
  return rope::frequencies({.rotary_dim = rotary_dim, .base = base, .scaling = scaling});
}

double magnitude(const Yarn& scaling) { return yarn_of(64, 1e4, scaling).magnitude(); }

}  // namespace

TEST_CASE("the ramp counts pairs, not features, and scales once") {
  const rope::Frequencies frequencies =
      yarn_of(8, 1e4, {.factor = 4, .original_max_positions = 4096});
  check_pairs(frequencies, {{0, 1.0}, {1, 0.1}, {2, 0.00625}, {3, 0.00025}}, 1e-15);
  CHECK(relative_error(frequencies.magnitude(), 1.1386294361119891) <= 1e-15);
}

TEST_CASE("the ramp is computed from the original length, with rounded ends") {
  // floor 23 and ceil 40 for d = 128, base 1e6, 32768 positions (raw 23.596 and 39.651).
  const rope::Frequencies rounded =
      yarn_of(128, 1e6, {.factor = 4, .original_max_positions = 32768});
  const rope::Frequencies plain = rope::frequencies({.rotary_dim = 128, .base = 1e6});
  for (std::int64_t i = 0; i < 64; ++i) {
    INFO("pair " << i);
    CHECK((rounded(0, 0, i) == plain(0, 0, i)) == (i <= 23));
    CHECK((rounded(0, 0, i) == plain(0, 0, i) / 4) == (i >= 40));
  }
  check_pairs(rounded, {{23, 0.006978305848598663},
                        {24, 0.005375321490790102},
                        {30, 0.0010643609812470017},
                        {39, 6.490394320837028e-05},
                        {40, 4.445698525097307e-05},
                        {63, 3.102344401879299e-07}});
  const rope::Frequencies raw =
      yarn_of(128, 1e6, {.factor = 4, .original_max_positions = 32768, .truncate = false});
  for (std::int64_t i = 0; i < 64; ++i) {
    CHECK((raw(0, 0, i) == plain(0, 0, i)) == (i <= 23));
    CHECK((raw(0, 0, i) == plain(0, 0, i) / 4) == (i >= 40));
  }
  CHECK(raw(0, 0, 24) > rounded(0, 0, 24));
}

TEST_CASE("YaRN of published models") {
  check_pairs(
      yarn_of(64, 150000, {.factor = 32, .original_max_positions = 4096, .truncate = false}),
      {{8, 0.050813274815461475},
       {9, 0.03170569618466377},
       {12, 0.006794959489732219},
       {17, 0.00012931870124506317},
       {18, 3.8308812373753384e-05},
       {31, 3.0235114281192144e-07}});  // gpt-oss
  check_pairs(yarn_of(64, 1e4, {.factor = 40, .original_max_positions = 4096}),
              {{10, 0.056234132519034905},
               {11, 0.03900692656714386},
               {15, 0.008334508951020777},
               {22, 0.0001778279410038922},
               {23, 3.33380358040831e-05},
               {31, 3.33380358040831e-06}});  // DeepSeek-V3
  check_pairs(yarn_of(64, 5e4, {.factor = 32, .original_max_positions = 4096, .beta_fast = 1}),
              {{18, 0.0022742037565104418},
               {19, 0.0016217599081159522},
               {20, 3.6140467735726306e-05},
               {31, 8.764412911589875e-07}});  // Kimi K2: both ends of the ramp are neighbours
  check_pairs(
      yarn_of(64, 1e4,
              {.factor = 4, .original_max_positions = 8192, .beta_fast = 16, .beta_slow = 2}),
      {{10, 0.056234132519034905},
       {12, 0.03162277660168379},
       {15, 0.01333521432163324},
       {20, 0.0016799600069644512},
       {23, 0.000333380358040831},
       {31, 3.33380358040831e-05}});
}

TEST_CASE("ramps that begin and end at the same place, or the wrong way round") {
  // Both ends equal: a step, a thousandth of a pair wide.
  const Yarn step = {.factor = 4,
                     .original_max_positions = 8192,
                     .beta_fast = 3,
                     .beta_slow = 3,
                     .truncate = false};
  CHECK(worst_ulp(yarn_of(64, 1e4, step), yarn(64, 1e4, {4, 8192, 3, 3, false})) <= 0.52);
  // So short a context that both ends are below pair 0: Hugging Face and vLLM then keep all pairs.
  const rope::Frequencies kept = yarn_of(64, 1e4, {.factor = 40, .original_max_positions = 4});
  CHECK(same_values(kept, rope::frequencies({.rotary_dim = 64})));
  check_pairs(
      kept, {{1, 0.7498942017555237}, {8, 0.10000000149011612}, {31, 0.0001333521504420787}}, 1e-6);
  // So long a context and so small a base that the ramp begins after the last feature.
  const Yarn beyond = {.factor = 4, .original_max_positions = 1000000000};
  CHECK(worst_ulp(yarn_of(32, 2, beyond), yarn(32, 2, {4, 1e9})) <= 0.52);
}

TEST_CASE("the ramp may end after the last pair, up to the last feature") {
  // Ends at 12 and, limited, at 15, with 8 pairs.
  const Yarn twelve = {.factor = 4, .original_max_positions = 4096};
  CHECK(worst_ulp(yarn_of(16, 100, twelve), yarn(16, 100, {4, 4096})) <= 0.52);
  const Yarn limited = {.factor = 4, .original_max_positions = 4096, .beta_fast = 2000};
  CHECK(worst_ulp(yarn_of(16, 10, limited), yarn(16, 10, {4, 4096, 2000})) <= 0.52);
  const rope::Frequencies plain = rope::frequencies({.rotary_dim = 16, .base = 10});
  // 7 / 15 of the way from kept to divided: 1 - 7 / 15 * 3 / 4.
  CHECK(relative_error(yarn_of(16, 10, limited)(0, 0, 7), plain(0, 0, 7) * 0.65) <= 4e-16);
}

TEST_CASE("factor 1 is plain RoPE") {
  for (const bool truncate : {true, false}) {
    const rope::Frequencies frequencies =
        yarn_of(64, 1e4, {.factor = 1, .original_max_positions = 8192, .truncate = truncate});
    CHECK(same_values(frequencies, rope::frequencies({.rotary_dim = 64})));
    CHECK(frequencies.magnitude() == 1);
  }
  CHECK(magnitude({.factor = 0.5, .original_max_positions = 8192}) == 1);
}

TEST_CASE("the frequencies are continuous in both ends of the ramp") {
  for (const double beta : {1.5, 7.0, 25.0}) {
    const auto at = [&](double fast, double slow) {
      return yarn_of(64, 1e4,
                     {.factor = 8,
                      .original_max_positions = 8192,
                      .beta_fast = fast,
                      .beta_slow = slow,
                      .truncate = false});
    };
    const rope::Frequencies a = at(32, beta);
    const rope::Frequencies b = at(32, beta * (1 + 1e-9));
    const rope::Frequencies c = at(beta, 1);
    const rope::Frequencies d = at(beta * (1 + 1e-9), 1);
    for (std::int64_t i = 0; i < 32; ++i) {
      CHECK(relative_error(a(0, 0, i), b(0, 0, i)) <= 1e-7);
      CHECK(relative_error(c(0, 0, i), d(0, 0, i)) <= 1e-7);
    }
  }
}

TEST_CASE("the magnitude of cos and sin, apart from the softmax multiplier") {
  const Yarn both_1 = {
      .factor = 40, .original_max_positions = 4096, .mscale = 1.0, .mscale_all_dim = 1.0};
  CHECK(magnitude(both_1) == 1.0);
  CHECK(relative_error(rope::softmax_scale_multiplier(both_1), 1.8738542070926265) <= 1e-15);

  const Yarn both_0_707 = {
      .factor = 40, .original_max_positions = 4096, .mscale = 0.707, .mscale_all_dim = 0.707};
  CHECK(magnitude(both_0_707) == 1.0);
  CHECK(relative_error(rope::softmax_scale_multiplier(both_0_707), 1.589626165) <= 1e-9);

  CHECK(
      relative_error(
          magnitude(
              {.factor = 8, .original_max_positions = 4096, .mscale = 0.8, .mscale_all_dim = 0.5}),
          1.056507993) <= 1e-9);
  CHECK(relative_error(
            magnitude(
                {.factor = 40, .original_max_positions = 4096, .mscale = 1, .mscale_all_dim = 0.8}),
            1.0569662567531275) <= 1e-15);

  const Yarn neither = {.factor = 16, .original_max_positions = 4096};
  CHECK(relative_error(magnitude(neither), 1.27725887222397812) <= 1e-15);
  CHECK(rope::softmax_scale_multiplier(neither) == 1.0);

  // One alone, or a zero, does not count.
  for (const std::optional<rope::Real> other : {std::optional<rope::Real>(), {rope::Real(0)}}) {
    CHECK(magnitude({.factor = 16,
                     .original_max_positions = 4096,
                     .mscale = 0.5,
                     .mscale_all_dim = other}) == magnitude(neither));
    CHECK(magnitude({.factor = 16,
                     .original_max_positions = 4096,
                     .mscale = other,
                     .mscale_all_dim = 0.5}) == magnitude(neither));
  }
  CHECK(magnitude({.factor = 16,
                   .original_max_positions = 4096,
                   .attention_factor = 1,
                   .mscale = 3,
                   .mscale_all_dim = 2}) == 1.0);
}

TEST_CASE("rules of other engines for the magnitude") {
  CHECK(relative_error(rope::yarn_mscale(40, 1), 1.3688879454113936) <= 1e-15);
  CHECK(relative_error(rope::yarn_mscale(4, 1, 0.07), 1.0970406052783923) <= 1e-15);
  CHECK(relative_error(1.2 * rope::yarn_mscale(4), 1.3663553233343868) <= 1e-15);
  CHECK(rope::yarn_mscale(1) == 1.0);
  CHECK(rope::yarn_mscale(0.25) == 1.0);
  CHECK(rope::yarn_mscale(7, 0) == 1.0);
  require_throws<rope::InvalidArgument>(
      "rope::yarn_mscale: factor must be finite and above 0, got factor 0, mscale 1, slope 0.1",
      [] { (void)rope::yarn_mscale(0); });
  require_throws<rope::InvalidArgument>(
      "rope::yarn_mscale: mscale must be finite and not negative, got factor 4, mscale -1, slope "
      "0.1",
      [] { (void)rope::yarn_mscale(4, -1); });
  require_throws<rope::InvalidArgument>(
      "rope::softmax_scale_multiplier: scaling.mscale_all_dim must be finite and not negative, got "
      "-1",
      [] {
        (void)rope::softmax_scale_multiplier(
            {.factor = 4, .original_max_positions = 64, .mscale_all_dim = -1});
      });
}

TEST_CASE("vLLM's extrapolation factor weakens the kept part") {
  check_pairs(yarn_of(32, 1e4, {.factor = 4, .original_max_positions = 64}),
              {{0, 1.0},
               {1, 0.47799012064933777},
               {3, 0.09780536592006683},
               {8, 0.0024999999441206455},
               {15, 4.4456985051510856e-05}},
              1e-6);
  check_pairs(
      yarn_of(32, 1e4, {.factor = 4, .original_max_positions = 64, .extrapolation_factor = 0.5}),
      {{0, 0.625},
       {1, 0.3092877268791199},
       {3, 0.07113116979598999},
       {8, 0.0024999999441206455},
       {15, 4.4456985051510856e-05}},
      1e-6);
  CHECK(same_values(
      yarn_of(32, 1e4, {.factor = 4, .original_max_positions = 64, .extrapolation_factor = 0}),
      rope::frequencies({.rotary_dim = 32, .scaling = rope::Linear{4}})));
}

TEST_CASE("YaRN's rotated vectors") {
  check_close(rotated(yarn_of(16, 1e4, {.factor = 4, .original_max_positions = 4096}),
                      golden_head(1, 3), 2048),
              {1.4251892382924325, 0.4956894600835825, -0.2952182890596715, -1.6052198828751645,
               0.8386939077520145, -1.4263207814701937, 0.4324221779353403, 0.938359124739106,
               0.7278008307491937, 1.5235825599803925, -1.576436687679959, -0.0027918602900356415,
               1.3699992650456208, -0.7406844514253641, 1.5484975995535322, 1.305861537935034},
              1e-11);
  check_close(rotated(yarn_of(16, 150000,
                              {.factor = 32, .original_max_positions = 4096, .truncate = false}),
                      golden_head(1, 3), 2048),
              {1.685466867946901, -1.5290113656886266, -0.7186171812968822, -1.0203058391500477,
               -0.2874891607929251, 1.290550316855454, 1.3316586561429178, 1.3416182187198353,
               0.8607167060577359, -1.1190899417085385, -1.7553439761439291, 1.6008803895003965,
               1.8778127018947877, 1.3953799617615517, 1.3571474090690647, 1.3478000266809453},
              1e-11);
}

TEST_CASE("the gradient keeps the magnitude, the inverse divides by it") {
  // d = 4 at position 1: pair 0 turns by one radian, magnitude 1.13862943611.
  const rope::CosSinTable<double> table(
      yarn_of(4, 1e4, {.factor = 4, .original_max_positions = 4096}), 2);
  std::vector<double> gradient = {1, 0, 0, 0};
  rope::rotate_transpose<rope::Pairing::half_split>(rope::thd(gradient, {1, 1, 4}), table,
                                                    rope::from(1));
  check_close(gradient, {0.6152041099, 0, -0.9581236329, 0}, 1e-10);
  std::vector<double> undone = {1, 0, 0, 0};
  rope::rotate_inverse<rope::Pairing::half_split>(rope::thd(undone, {1, 1, 4}), table,
                                                  rope::from(1));
  check_close(undone, {0.4745198822, 0, -0.7390209300, 0}, 1e-10);
}

TEST_CASE("what YaRN refuses") {
  const auto refused = [](const std::string& message, const Yarn& scaling) {
    require_throws<rope::InvalidArgument>("rope::frequencies: scaling." + message,
                                          [&] { (void)yarn_of(64, 1e4, scaling); });
  };
  refused("factor must be finite and above 0, got 0", {.factor = 0, .original_max_positions = 64});
  refused("original_max_positions must be at least 1, got 0",
          {.factor = 4, .original_max_positions = 0});
  refused("original_max_positions must be at least 1, got -5",
          {.factor = 4, .original_max_positions = -5});
  refused("beta_fast 1 must not be below scaling.beta_slow 32",
          {.factor = 4, .original_max_positions = 64, .beta_fast = 1, .beta_slow = 32});
  refused("beta_fast must be finite and above 0, got 0",
          {.factor = 4, .original_max_positions = 64, .beta_fast = 0});
  refused("beta_slow must be finite and above 0, got -1",
          {.factor = 4, .original_max_positions = 64, .beta_slow = -1});
  refused("attention_factor must be finite and above 0, got 0",
          {.factor = 4, .original_max_positions = 64, .attention_factor = 0});
  refused("mscale must be finite and not negative, got -0.5",
          {.factor = 4, .original_max_positions = 64, .mscale = -0.5});
  refused("mscale_all_dim must be finite and not negative, got -0.5",
          {.factor = 4, .original_max_positions = 64, .mscale_all_dim = -0.5});
  refused("extrapolation_factor must be between 0 and 1, got 1.5",
          {.factor = 4, .original_max_positions = 64, .extrapolation_factor = 1.5});
}
