// Llama 3.1's scheme.
#include "rope/scaling/llama3.hpp"

#include <cstdint>
#include <string>

#include "rope/frequencies.hpp"
#include "scaling/check.hpp"
#include "scaling/reference.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using namespace rope_test::scaling;
using rope::Llama3;
using rope_test::require_throws;

rope::Frequencies llama3_of(int rotary_dim, const Llama3& scaling) {
  return rope::frequencies({.rotary_dim = rotary_dim, .base = 5e5, .scaling = scaling});
}

}  // namespace

TEST_CASE("the bands of Llama 3.1") {
  const rope::Frequencies plain = rope::frequencies({.rotary_dim = 128, .base = 5e5});
  const rope::Frequencies scaled = llama3_of(128, {.factor = 8, .original_max_positions = 8192});
  for (std::int64_t i = 0; i < 64; ++i) {
    INFO("pair " << i);
    CHECK((scaled(0, 0, i) == plain(0, 0, i)) == (i <= 28));
    CHECK((scaled(0, 0, i) == plain(0, 0, i) / 8) == (i >= 35));
  }
  check_pairs(scaled, {{28, 0.0032114459947525913},
                       {29, 0.002166570763503359},
                       {30, 0.001371893567761138},
                       {34, 0.00017850781276799638},
                       {35, 9.556212353964683e-05},
                       {63, 3.068925988914511e-07}});
  CHECK(scaled.magnitude() == 1);
}

TEST_CASE("the bands of Llama 3.2 and of a short original context") {
  check_pairs(llama3_of(64, {.factor = 32, .original_max_positions = 8192}),
              {{14, 0.0032114459947525913},
               {15, 0.0012905479282092638},
               {16, 0.00042955679655936815},
               {17, 9.70828780262767e-05},
               {18, 1.9461638184831125e-05},
               {31, 9.418306725434909e-08}});
  check_pairs(llama3_of(128, {.factor = 32,
                              .low_freq_factor = 0.125,
                              .high_freq_factor = 0.5,
                              .original_max_positions = 1024}),
              {{20, 0.016560440080994446},
               {29, 0.002118406996779608},
               {30, 0.0012905479282092638},
               {34, 9.70828780262767e-05},
               {35, 2.3890530884911708e-05},
               {63, 7.672314972286278e-08}});
}

TEST_CASE("factor 1 is plain RoPE, for any bounds") {
  for (const double high : {1.0, 4.0, 100.0}) {
    CHECK(same_values(
        llama3_of(64, {.factor = 1, .high_freq_factor = high, .original_max_positions = 8192}),
        rope::frequencies({.rotary_dim = 64, .base = 5e5})));
  }
}

TEST_CASE("equal bounds: nothing is blended, and nothing divides by zero") {
  const rope::Frequencies plain = rope::frequencies({.rotary_dim = 128, .base = 5e5});
  const rope::Frequencies scaled = llama3_of(
      128,
      {.factor = 8, .low_freq_factor = 2, .high_freq_factor = 2, .original_max_positions = 8192});
  // 8192 positions are 2 turns of a frequency of 4 pi / 8192 = 0.001534, between pairs 31 and 32.
  for (std::int64_t i = 0; i < 64; ++i) {
    CHECK(scaled(0, 0, i) == (i <= 31 ? plain(0, 0, i) : plain(0, 0, i) / 8));
  }
}

TEST_CASE("the frequencies are continuous at both bounds") {
  const rope::Frequencies plain = rope::frequencies({.rotary_dim = 128, .base = 5e5});
  for (const std::int64_t pair : {27, 30, 33}) {
    const double turns = plain(0, 0, pair) * 8192 / (2 * 3.14159265358979323846);
    const auto with_bounds = [&](double low, double high) {
      return llama3_of(128, {.factor = 8,
                             .low_freq_factor = low,
                             .high_freq_factor = high,
                             .original_max_positions = 8192})(0, 0, pair);
    };
    // Just inside and just outside of the blended band.
    const double kept = with_bounds(turns / 4, turns * (1 - 1e-10));
    const double nearly_kept = with_bounds(turns / 4, turns * (1 + 1e-10));
    CHECK(kept == plain(0, 0, pair));
    CHECK(nearly_kept < kept);
    CHECK(relative_error(nearly_kept, kept) <= 1e-9);
    const double divided = with_bounds(turns * (1 + 1e-10), turns * 4);
    const double nearly_divided = with_bounds(turns * (1 - 1e-10), turns * 4);
    CHECK(divided == plain(0, 0, pair) / 8);
    CHECK(nearly_divided > divided);
    CHECK(relative_error(nearly_divided, divided) <= 1e-9);
  }
}

TEST_CASE("Llama 3's rotated vectors") {
  check_close(rotated(llama3_of(16, {.factor = 8, .original_max_positions = 8192}),
                      golden_head(1, 3), 2048),
              {1.2516708185227867, -0.7139979225608908, -1.0463645065096083, -1.4096058258342252,
               -0.4060103987936962, 0.9237290291446145, 0.9836512928477993, 0.9955716085681485,
               0.6391902472101655, 1.2125169101295774, 0.9429716087304187, -0.02245437754064683,
               1.351073454625022, 1.0672630311584683, 1.0129989288735501, 1.001655199520684},
              1e-11);
}

TEST_CASE("what Llama 3's scheme refuses") {
  const auto refused = [](const std::string& message, const Llama3& scaling) {
    require_throws<rope::InvalidArgument>("rope::frequencies: scaling." + message,
                                          [&] { (void)llama3_of(64, scaling); });
  };
  refused("factor must be finite and above 0, got -8",
          {.factor = -8, .original_max_positions = 8192});
  refused("low_freq_factor must be finite and above 0, got 0",
          {.factor = 8, .low_freq_factor = 0, .original_max_positions = 8192});
  refused(
      "high_freq_factor 1 must not be below scaling.low_freq_factor 4",
      {.factor = 8, .low_freq_factor = 4, .high_freq_factor = 1, .original_max_positions = 8192});
  refused("original_max_positions must be at least 1, got 0",
          {.factor = 8, .original_max_positions = 0});
}
