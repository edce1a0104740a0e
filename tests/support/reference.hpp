// What a rotation should give, the slow and obvious way: in long double, with the mathematics
// library's sine and cosine, pair by pair. Shares no code with the library.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace rope_test {

/// Which two features of the rotated part turn together.
enum class Partners { neighbours, halves };

/// Everything that determines the rotation of one head.
struct Reference {
  std::vector<double> frequencies;  // one for each pair
  Partners partners = Partners::neighbours;
  std::int64_t first_dim = 0;
  double magnitude = 1;
};

enum class Sense { forward, transpose };

/// The two features of pair `i`.
inline std::pair<std::size_t, std::size_t> features_of_pair(const Reference& reference,
                                                            std::size_t i) {
  const auto first = static_cast<std::size_t>(reference.first_dim);
  if (reference.partners == Partners::neighbours) return {first + 2 * i, first + 2 * i + 1};
  return {first + i, first + i + reference.frequencies.size()};
}

/// `head` rotated to `position`; the transpose turns the other way.
inline std::vector<long double> rotated_head(const Reference& reference,
                                             std::vector<long double> head, std::int64_t position,
                                             Sense sense = Sense::forward) {
  const long double sign = sense == Sense::forward ? 1 : -1;
  for (std::size_t i = 0; i < reference.frequencies.size(); ++i) {
    const long double angle = sign * static_cast<long double>(position) *
                              static_cast<long double>(reference.frequencies[i]);
    const long double scale = static_cast<long double>(reference.magnitude);
    const auto [first, second] = features_of_pair(reference, i);
    const long double a = head[first];
    const long double b = head[second];
    head[first] = scale * (a * std::cos(angle) - b * std::sin(angle));
    head[second] = scale * (a * std::sin(angle) + b * std::cos(angle));
  }
  return head;
}

/// base^(-2i/d) for each pair, by the mathematics library.
inline std::vector<double> plain_frequencies(std::int64_t rotary_dim, double base) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < rotary_dim / 2; ++i) {
    values.push_back(static_cast<double>(
        std::pow(static_cast<long double>(base),
                 -2.0L * static_cast<long double>(i) / static_cast<long double>(rotary_dim))));
  }
  return values;
}

}  // namespace rope_test
