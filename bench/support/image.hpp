// Positions and frequencies of image models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "rope/core.hpp"
#include "rope/spatial/golden_gate.hpp"

namespace rope_bench {

/// The centres of side x side patches, (x, y) from -1 to 1.
inline rope::Coordinates patches_of(std::int64_t side) {
  std::vector<double> values;
  const auto centre = [side](std::int64_t i) {
    return (2 * static_cast<double>(i) + 1) / static_cast<double>(side) - 1;
  };
  for (std::int64_t row = 0; row < side; ++row) {
    for (std::int64_t column = 0; column < side; ++column) {
      values.push_back(centre(column));
      values.push_back(centre(row));
    }
  }
  return rope::Coordinates(std::move(values), {side * side, 2});
}

/// Every pair of every head in a direction of its own.
inline rope::Frequencies golden_gate(std::int64_t heads, std::int64_t dim) {
  return rope::golden_gate_frequencies({.form = rope::GoldenGateForm::exact_2d,
                                        .axes = 2,
                                        .heads = heads,
                                        .rotary_dim = dim,
                                        .min_frequency = 0.5,
                                        .max_frequency = 50.0});
}

}  // namespace rope_bench
