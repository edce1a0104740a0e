// LongRoPE: two lists, the switch between them, and the magnitude.
#include "rope/scaling/longrope.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "rope/frequencies.hpp"
#include "scaling/check.hpp"
#include "scaling/reference.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using namespace rope_test::scaling;
using rope::LongRope;
using rope_test::require_throws;

LongRope small(std::int64_t max_positions = 131072) {
  return {.short_factors = {1, 1},
          .long_factors = {1, 4},
          .original_max_positions = 4096,
          .max_positions = max_positions};
}

rope::Frequencies at_length(const LongRope& scaling, std::int64_t length) {
  return rope::frequencies(
      {.rotary_dim = 2 * static_cast<std::int64_t>(scaling.short_factors.size()),
       .scaling = scaling},
      length);
}

}  // namespace

TEST_CASE("the long list is for sequences longer than the original context") {
  for (const std::int64_t length : {0, 1, 100, 4095, 4096}) {
    check_pairs(at_length(small(), length), {{0, 1.0}, {1, 0.01}}, 1e-15);
  }
  for (const std::int64_t length : {4097, 5000, 131072}) {
    check_pairs(at_length(small(), length), {{0, 1.0}, {1, 0.0025}}, 1e-15);
  }
  // Without a length it is the short list, whatever the capacity.
  check_pairs(rope::frequencies({.rotary_dim = 4, .scaling = small()}), {{1, 0.01}}, 1e-15);
}

TEST_CASE("each sequence of a batch chooses for itself") {
  // A batch of lengths 100 and 5000; the calls do not know of each other.
  const rope::Frequencies first = at_length(small(), 100);
  const rope::Frequencies second = at_length(small(), 5000);
  check_pairs(first, {{1, 0.01}}, 1e-15);
  check_pairs(second, {{1, 0.0025}}, 1e-15);
  // A key at position 100 that moves from the short list to the long one turns by -0.75 rad.
  CHECK(std::abs(100 * (second(0, 0, 1) - first(0, 0, 1)) + 0.75) <= 1e-15);
}

TEST_CASE("the magnitude comes from the factor and the original context") {
  const auto magnitude = [](const LongRope& scaling) { return at_length(scaling, 1).magnitude(); };
  CHECK(relative_error(magnitude(small(131072)), 1.1902380714238083) <= 1e-15);
  CHECK(relative_error(magnitude(small(8192)), 1.04083299973) <= 1e-11);
  CHECK(magnitude(small(4096)) == 1);
  CHECK(magnitude(small(2048)) == 1);

  LongRope scaling = small(131072);
  scaling.factor = 2;
  CHECK(relative_error(magnitude(scaling), 1.04083299973) <= 1e-11);
  scaling.attention_factor = 1.5;
  CHECK(magnitude(scaling) == 1.5);
  CHECK(at_length(scaling, 5000).magnitude() == 1.5);

  scaling.long_magnitude = 1.25;
  CHECK(magnitude(scaling) == 1.5);
  CHECK(at_length(scaling, 5000).magnitude() == 1.25);
  scaling.short_magnitude = 1.125;
  CHECK(magnitude(scaling) == 1.125);

  // 32 = 4096^(5/12), so that the square of the magnitude is 1 + 5/12.
  CHECK(std::abs(magnitude(small(131072)) * magnitude(small(131072)) - 17.0 / 12) <= 4e-16);
}

TEST_CASE("LongRoPE's rotated vectors") {
  // Three quarters of a head of 16 are rotated; Phi-3's long list at position 6000.
  const LongRope phi3 = {.short_factors = {1.0, 1.1, 1.2, 1.3, 1.4, 1.5},
                         .long_factors = {1, 2, 4, 8, 16, 32},
                         .original_max_positions = 4096,
                         .max_positions = 131072};
  check_pairs(at_length(phi3, 6001), {{0, 1.0},
                                      {1, 0.1077217345015942},
                                      {2, 0.01160397208403195},
                                      {3, 0.00125},
                                      {4, 0.00013465216812699277},
                                      {5, 1.4504965105039927e-05}});
  check_close(rotated(at_length(phi3, 6001), golden_head(1, 1), 6000),
              {1.0264824452746493, 1.1251748965896256, 0.2650027116587593, -0.5268126299827461,
               -0.07344604621335504, 0.7280413793968655, 0.4195176884250612, -0.009994384219871977,
               1.1101580507247713, 1.0304279398666762, 1.1707293471140015, 0.9395067873102358,
               0.7419673186500751, 0.7506200464642337, 0.7591459212770683, 0.7675435022360272},
              1e-11);
}

TEST_CASE("what LongRoPE refuses") {
  const auto refused = [](const std::string& message, const LongRope& scaling) {
    require_throws<rope::InvalidArgument>("rope::frequencies: scaling" + message, [&] {
      (void)rope::frequencies({.rotary_dim = 4, .scaling = scaling});
    });
  };
  LongRope scaling = small();
  scaling.short_factors = {1, 1, 1};
  refused(".short_factors has 3 values, but rotary_dim 4 needs 2, one for each pair", scaling);
  scaling = small();
  scaling.long_factors = {};
  refused(".long_factors has 0 values, but rotary_dim 4 needs 2, one for each pair", scaling);
  scaling.long_factors = {1, 0};
  refused(".long_factors[1] must be finite and above 0, got 0", scaling);
  scaling = small();
  scaling.original_max_positions = 1;
  refused(".original_max_positions must be at least 2, got 1", scaling);
  scaling = small();
  scaling.max_positions = -1;
  refused(".max_positions must be at least 1, got -1", scaling);
  scaling.max_positions.reset();
  refused(
      " needs max_positions, factor or attention_factor, or both short_magnitude and "
      "long_magnitude, for the magnitude of LongRoPE",
      scaling);
  scaling.factor = 0;
  refused(".factor must be finite and above 0, got 0", scaling);
  scaling = small();
  scaling.attention_factor = -1;
  refused(".attention_factor must be finite and above 0, got -1", scaling);
  scaling = small();
  scaling.long_magnitude = 0;
  refused(".long_magnitude must be finite and above 0, got 0", scaling);
}
