// What a rotation by positions on several axes should give, the slow and obvious way: in long
// double, with the mathematics library, pair by pair. Shares no code with the library.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/reference.hpp"
#include "support/tensor.hpp"

namespace rope_test::spatial {

/// Frequencies [axes][pairs].
using Ladders = std::vector<std::vector<double>>;
/// The positions of one token.
using Place = std::vector<double>;

inline Ladders ladders_of(const std::vector<double>& values, std::size_t axes) {
  const std::size_t pairs = values.size() / axes;
  Ladders ladders;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(axis * pairs);
    ladders.emplace_back(first, first + static_cast<std::ptrdiff_t>(pairs));
  }
  return ladders;
}

/// The rotation of each pair: its two features, and its angle.
struct Turn {
  std::size_t first;
  std::size_t second;
  long double angle;
};

inline std::vector<Turn> turns(const Ladders& ladders, const Place& place, Partners partners,
                               std::size_t first_dim = 0) {
  const std::size_t pairs = ladders.at(0).size();
  std::vector<Turn> all;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    long double angle = 0;
    for (std::size_t axis = 0; axis < ladders.size(); ++axis) {
      angle += static_cast<long double>(place.at(axis)) *
               static_cast<long double>(ladders[axis].at(pair));
    }
    const bool is_half = partners == Partners::halves;
    all.push_back({first_dim + (is_half ? pair : 2 * pair),
                   first_dim + (is_half ? pair + pairs : 2 * pair + 1), angle});
  }
  return all;
}

/// The largest error of a head that should have been turned so, in units of |x0| + |x1|; infinite
/// if a feature that no pair has is not what it was.
template <class T>
long double worst_error(const std::vector<T>& before, const std::vector<T>& after,
                        const std::vector<Turn>& all) {
  std::vector<bool> is_turned(before.size(), false);
  long double worst = 0;
  for (const Turn& turn : all) {
    const auto x = static_cast<long double>(before.at(turn.first));
    const auto y = static_cast<long double>(before.at(turn.second));
    const long double size = std::abs(x) + std::abs(y);
    const long double expected[] = {x * std::cos(turn.angle) - y * std::sin(turn.angle),
                                    x * std::sin(turn.angle) + y * std::cos(turn.angle)};
    const std::size_t features[] = {turn.first, turn.second};
    for (std::size_t i = 0; i < 2; ++i) {
      is_turned[features[i]] = true;
      const long double error =
          std::abs(static_cast<long double>(after.at(features[i])) - expected[i]);
      if (!(error <= size)) return HUGE_VALL;
      if (size > 0) worst = std::max(worst, error / size);
    }
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!is_turned[i] && !Tensor<T>::same_bits(before[i], after[i])) return HUGE_VALL;
  }
  return worst;
}

/// The same for every token of a tensor; `place_of(batch, token)` is where a token stands.
template <class T, class PlaceOf>
long double worst_error(const Tensor<T>& before, const Tensor<T>& after, const Ladders& ladders,
                        Partners partners, PlaceOf place_of) {
  long double worst = 0;
  const auto [batch, tokens, heads, dim] = before.shape();
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      const std::vector<Turn> all = turns(ladders, place_of(b, t), partners);
      for (std::int64_t h = 0; h < heads; ++h) {
        worst = std::max(worst, worst_error(before.values(b, t, h), after.values(b, t, h), all));
      }
    }
  }
  return worst;
}

/// The scalar product of two heads.
template <class T>
long double score(const std::vector<T>& q, const std::vector<T>& k) {
  long double sum = 0;
  for (std::size_t i = 0; i < q.size(); ++i) {
    sum += static_cast<long double>(q[i]) * static_cast<long double>(k[i]);
  }
  return sum;
}

}  // namespace rope_test::spatial
