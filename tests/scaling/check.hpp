// What the tests of the schemes ask of frequencies.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "rope/frequencies.hpp"
#include "rope/parameters.hpp"
#include "rope/rotate.hpp"
#include "rope/table.hpp"
#include "support/catch.hpp"

namespace rope_test::scaling {

inline double relative_error(double value, double expected) {
  return std::abs(value - expected) / std::abs(expected);
}

/// A frequency of one pair, as a golden file or a text has it.
struct PairValue {
  std::int64_t pair;
  double value;
};

inline void check_pairs(const rope::Frequencies& frequencies,
                        const std::vector<PairValue>& expected, double tolerance = 1e-12) {
  for (const auto& [pair, value] : expected) {
    INFO("pair " << pair << ": " << frequencies(0, 0, pair) << ", expected " << value);
    if (value == 0) {
      CHECK(frequencies(0, 0, pair) == 0);
    } else {
      CHECK(relative_error(frequencies(0, 0, pair), value) <= tolerance);
    }
  }
}

/// The largest error in units of the last place of the expected double.
inline double worst_ulp(const rope::Frequencies& frequencies,
                        const std::vector<long double>& expected) {
  if (frequencies.values().size() != expected.size()) return 1e300;
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    int exponent = 0;
    (void)std::frexp(static_cast<double>(expected[i]), &exponent);
    const long double ulp = std::ldexp(1.0L, exponent - 53);
    const long double error =
        std::abs(static_cast<long double>(frequencies.values()[i]) - expected[i]);
    worst = (std::max)(worst, static_cast<double>(error / ulp));
  }
  return worst;
}

inline bool same_values(const rope::Frequencies& a, const rope::Frequencies& b) {
  return std::equal(a.values().begin(), a.values().end(), b.values().begin(), b.values().end());
}

/// Head 1 of q in the golden files of rotated vectors, for a batch row and token: 16 features.
inline std::vector<double> golden_head(double batch_row, double token) {
  std::vector<double> head;
  for (int d = 0; d < 16; ++d) {
    head.push_back(std::sin(0.1 * (1 + batch_row) + 0.37 * token + 0.11 + 0.013 * d));
  }
  return head;
}

/// `head` rotated to `position`, half-split, in double.
inline std::vector<double> rotated(const rope::Frequencies& frequencies, std::vector<double> head,
                                   std::int64_t position) {
  const rope::CosSinTable<double> table(frequencies, position + 1);
  const auto dim = static_cast<std::int64_t>(head.size());
  rope::rotate<rope::Pairing::half_split>(rope::thd(head, {1, 1, dim}), table,
                                          rope::from(position));
  return head;
}

inline void check_close(const std::vector<double>& values, const std::vector<double>& expected,
                        double tolerance) {
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    INFO("feature " << i << ": " << values[i] << ", expected " << expected[i]);
    CHECK(std::abs(values[i] - expected[i]) <= tolerance);
  }
}

}  // namespace rope_test::scaling
