// The NTK schemes: static, dynamic, and the rules for lengths that go with them.
#include "rope/scaling/ntk.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "rope/frequencies.hpp"
#include "rope/scaling/dynamic_ntk.hpp"
#include "scaling/check.hpp"
#include "scaling/reference.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using namespace rope_test::scaling;
using rope_test::require_throws;

rope::Frequencies dynamic(int rotary_dim, double base, double factor, int max_positions,
                          int length) {
  return rope::frequencies(
      {.rotary_dim = rotary_dim, .base = base, .scaling = rope::DynamicNtk{factor, max_positions}},
      length);
}

}  // namespace

TEST_CASE("the static variants of vLLM") {
  check_pairs(rope::frequencies({.rotary_dim = 32, .scaling = rope::NtkFixed{.factor = 4}}),
              {{0, 0.9170040488243103},
               {1, 0.4728708267211914},
               {3, 0.1257433444261551},
               {8, 0.0045850202441215515},
               {15, 4.445698141353205e-05}},
              1e-6);
  check_pairs(rope::frequencies(
                  {.rotary_dim = 32, .scaling = rope::NtkMixed{.factor = 4, .mixed_b = 0.625}}),
              {{0, 0.7826540470123291},
               {1, 0.3853560984134674},
               {3, 0.09928072988986969},
               {8, 0.0038000564090907574},
               {15, 4.4456985051510856e-05}},
              1e-6);
}

TEST_CASE("Hunyuan's alpha of 1000") {
  const rope::Parameters parameters = {.rotary_dim = 128, .scaling = rope::NtkAlpha{.alpha = 1000}};
  check_pairs(rope::frequencies(parameters), {{0, 1.0},
                                              {1, 0.7760343630469744},
                                              {20, 0.0062750768310550495},
                                              {40, 3.9376589235643876e-05},
                                              {63, 1.1547819846894587e-07}});
  CHECK(same_values(rope::frequencies(parameters), rope::frequencies(parameters, 100000)));
  // The same as a base of 11158839.9251, which is how later Hunyuan configs say it.
  check_pairs(rope::frequencies({.rotary_dim = 128, .base = 11158839.9251}),
              {{40, 3.9376589235643876e-05}}, 1e-10);
}

TEST_CASE("a static base change interpolates the slowest pair by exactly the factor") {
  // A factor of 2 changes the base by 2^(d / (d - 2)), not by 2.
  for (const int rotary_dim : {4, 8, 64, 128}) {
    const std::int64_t last = rotary_dim / 2 - 1;
    const double plain = rope::frequencies({.rotary_dim = rotary_dim})(0, 0, last);
    for (const double factor : {2.0, 3.0, 40.0}) {
      const rope::Frequencies scaled =
          rope::frequencies({.rotary_dim = rotary_dim, .scaling = rope::NtkBase{.factor = factor}});
      CHECK(scaled(0, 0, 0) == 1);
      CHECK(relative_error(scaled(0, 0, last), plain / factor) <= 4e-16);
      CHECK(same_values(scaled, rope::frequencies({.rotary_dim = rotary_dim,
                                                   .scaling = rope::NtkAlpha{.alpha = factor}})));
    }
  }
}

TEST_CASE("the fixed and mixed variants divide the slowest pair by exactly the factor") {
  const double plain = rope::frequencies({.rotary_dim = 64})(0, 0, 31);
  for (const double b : {0.0, 0.5, 0.625, 1.0, 7.0, 1e300}) {
    const rope::Frequencies mixed = rope::frequencies(
        {.rotary_dim = 64, .scaling = rope::NtkMixed{.factor = 12, .mixed_b = b}});
    CHECK(relative_error(mixed(0, 0, 31), plain / 12) <= 4e-16);
  }
  CHECK(relative_error(rope::frequencies(
                           {.rotary_dim = 64, .scaling = rope::NtkFixed{.factor = 12}})(0, 0, 31),
                       plain / 12) <= 4e-16);
  // b = 0 is linear interpolation.
  const rope::Frequencies linear =
      rope::frequencies({.rotary_dim = 64, .scaling = rope::Linear{.factor = 12}});
  const rope::Frequencies mixed =
      rope::frequencies({.rotary_dim = 64, .scaling = rope::NtkMixed{.factor = 12, .mixed_b = 0}});
  for (std::int64_t i = 0; i < 32; ++i) {
    CHECK(relative_error(mixed(0, 0, i), linear(0, 0, i)) <= 4e-16);
  }
}

TEST_CASE("dynamic NTK follows the length") {
  check_pairs(dynamic(128, 1e4, 2, 4096, 16384), {{0, 1.0},
                                                  {1, 0.8396257425643113},
                                                  {20, 0.030319002436777584},
                                                  {40, 0.0009192419087613249},
                                                  {63, 1.649688549556369e-05}});
  check_pairs(dynamic(128, 1e4, 2, 4096, 4097), {{1, 0.865957613371064},
                                                 {20, 0.056225418473294854},
                                                 {40, 0.0031612976824971265},
                                                 {63, 0.00011542184014856077}});
  check_pairs(dynamic(128, 1e6, 2, 32768, 65536), {{1, 0.7919114945129185},
                                                   {20, 0.009408771793751027},
                                                   {40, 8.85249866668849e-05},
                                                   {63, 4.136459202505732e-07}});
  // vLLM's one table for the whole range.
  check_pairs(dynamic(32, 1e4, 2, 64, 128),
              {{1, 0.5226271152496338}, {8, 0.005565898958593607}, {15, 5.927597885602154e-05}},
              1e-6);
}

TEST_CASE("dynamic NTK is plain up to the trained length, and a factor of 1 grows too") {
  const rope::Frequencies plain = rope::frequencies({.rotary_dim = 128});
  const rope::Parameters parameters = {
      .rotary_dim = 128, .scaling = rope::DynamicNtk{.factor = 2, .max_positions = 4096}};
  CHECK(same_values(rope::frequencies(parameters), plain));
  for (const int length : {0, 1, 4095, 4096}) {
    CHECK(same_values(rope::frequencies(parameters, length), plain));
  }
  CHECK_FALSE(same_values(rope::frequencies(parameters, 4097), plain));
  check_pairs(dynamic(64, 1e4, 1, 2048, 8192), {{1, 0.7170983281048126},
                                                {10, 0.035957302156991396},
                                                {20, 0.0012929275784091781},
                                                {31, 3.3338035804083106e-05}});
}

TEST_CASE("one position more than trained changes little") {
  const rope::Frequencies plain = rope::frequencies({.rotary_dim = 128});
  const rope::Frequencies next = dynamic(128, 1e4, 2, 4096, 4097);
  for (std::int64_t i = 1; i < 64; ++i) {
    CHECK(next(0, 0, i) < plain(0, 0, i));
    CHECK(relative_error(next(0, 0, i), plain(0, 0, i)) <= 2.0 / 4096);
  }
}

TEST_CASE("the engines' rules for the base differ, and each has its own name") {
  // d = 128, L = 2048. At 4096: Qwen's alpha 3, Hugging Face's with factor 2 is 3 too; the static
  // form with factor 2 stays 2. At 5000 Qwen jumps to 7, Hugging Face goes to 3.8828125.
  CHECK(rope::qwen_alpha(4096, 2048) == 3);
  CHECK(rope::qwen_alpha(5000, 2048) == 7);
  const auto with_alpha = [](double alpha) {
    return rope::frequencies({.rotary_dim = 128, .scaling = rope::NtkAlpha{.alpha = alpha}});
  };
  for (std::int64_t i = 0; i < 64; ++i) {
    CHECK(relative_error(dynamic(128, 1e4, 2, 2048, 4096)(0, 0, i), with_alpha(3)(0, 0, i)) <=
          4e-16);
    CHECK(relative_error(dynamic(128, 1e4, 2, 2048, 5000)(0, 0, i),
                         with_alpha(3.8828125)(0, 0, i)) <= 4e-16);
  }
}

TEST_CASE("Qwen's alpha") {
  CHECK(rope::qwen_alpha(0, 2048) == 1);
  CHECK(rope::qwen_alpha(100, 2048) == 1);
  CHECK(rope::qwen_alpha(2048, 2048) == 1);
  CHECK(rope::qwen_alpha(2049, 2048) == 3);
  CHECK(rope::qwen_alpha(4097, 2048) == 7);
  CHECK(rope::qwen_alpha(8192, 2048) == 7);
  CHECK(rope::qwen_alpha(8193, 2048) == 15);
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(rope::qwen_alpha(most, 1) == 0x1p64 - 1);
  CHECK(rope::qwen_alpha(most, most) == 1);
  require_throws<rope::InvalidArgument>("rope::qwen_alpha: max_positions must be at least 1, got 0",
                                        [] { (void)rope::qwen_alpha(5, 0); });
  require_throws<rope::InvalidArgument>(
      "rope::qwen_alpha: sequence_length must be at least 0, got -1",
      [] { (void)rope::qwen_alpha(-1, 5); });
}

TEST_CASE("Hugging Face's state is a fold over the calls") {
  // The sequence of calls of the golden file: after 5000, calls of 4500 and of exactly 4096 keep
  // its frequencies, and 4095 goes back.
  const std::int64_t calls[] = {100, 4096, 5000, 4500, 4096, 4095, 6000, 100, 4097};
  const std::int64_t lengths[] = {4096, 4096, 5000, 5000, 5000, 4096, 6000, 4096, 4097};
  std::int64_t kept = 4096;
  for (std::size_t i = 0; i < std::size(calls); ++i) {
    kept = rope::next_length(kept, calls[i], 4096);
    CHECK(kept == lengths[i]);
  }
  require_throws<rope::InvalidArgument>("rope::next_length: call_length must be at least 0, got -2",
                                        [] { (void)rope::next_length(4096, -2, 4096); });
  require_throws<rope::InvalidArgument>("rope::next_length: kept_length must be at least 0, got -1",
                                        [] { (void)rope::next_length(-1, 2, 4096); });
  require_throws<rope::InvalidArgument>(
      "rope::next_length: max_positions must be at least 1, got 0",
      [] { (void)rope::next_length(0, 0, 0); });
}

TEST_CASE("a base change needs more than one pair") {
  const std::string message =
      "rope::frequencies: rotary_dim must be above 2 for a scheme that changes the base by a power "
      "of rotary_dim / (rotary_dim - 2), got 2";
  for (const rope::Scaling& scaling :
       {rope::Scaling(rope::NtkBase{2}), rope::Scaling(rope::NtkAlpha{2}),
        rope::Scaling(rope::DynamicNtk{2, 64})}) {
    require_throws<rope::InvalidArgument>(
        message, [&] { (void)rope::frequencies({.rotary_dim = 2, .scaling = scaling}); });
  }
  // The two of vLLM do not.
  check_pairs(rope::frequencies({.rotary_dim = 2, .scaling = rope::NtkFixed{4}}), {{0, 0.25}});
  check_pairs(rope::frequencies({.rotary_dim = 2, .scaling = rope::NtkMixed{4, 0.625}}),
              {{0, 0.25}});
}
