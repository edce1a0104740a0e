// A model with learned positions at the end of its table: from there on every token costs a whole
// window, because all cached keys and values belong to positions that their tokens have left.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "rope/core.hpp"
#include "rope/encodings/learned.hpp"
#include "rope/encodings/matrix.hpp"

namespace {

constexpr std::int64_t dim = 8;
constexpr std::int64_t max_positions = 6;
using Rows = std::vector<double>;  // [tokens, dim]

Rows random_rows(std::int64_t rows, unsigned seed) {
  Rows values(static_cast<std::size_t>(rows * dim));
  std::mt19937 engine(seed);
  rope::initialize_learned(rope::matrix(values, {rows, dim}), engine, 1);
  return values;
}

Rows last_rows(const Rows& rows, std::int64_t count) {
  const std::int64_t size = std::min<std::int64_t>(count * dim, std::ssize(rows));
  return {rows.end() - size, rows.end()};
}

/// What the last of the rows gets from attention to all of them; a row is query, key and value.
Rows attend(const Rows& rows, const Rows& query) {
  Rows out(dim, 0.0);
  double sum = 0;
  for (std::size_t row = 0; row < rows.size(); row += dim) {
    double score = 0;
    for (std::size_t i = 0; i < dim; ++i) {
      score += query[i] * rows[row + i];
    }
    const double weight = std::exp(score / std::sqrt(static_cast<double>(dim)));
    sum += weight;
    for (std::size_t i = 0; i < dim; ++i) {
      out[i] += weight * rows[row + i];
    }
  }
  for (double& value : out) {
    value /= sum;
  }
  return out;
}

double distance(const Rows& a, const Rows& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::fmax(largest, std::fabs(a[i] - b[i]));
  }
  return largest;
}

}  // namespace

int main() {
  const Rows text = random_rows(10, 1);
  const Rows table = random_rows(max_positions, 2);
  const auto table_rows = rope::matrix(table, {max_positions, dim});

  Rows cache;  // embeddings with their positions: what keys and values are made of
  std::int64_t tokens_run = 0;
  std::printf("length  run  cache    against no cache  against stale cache\n");
  for (std::int64_t length = 1; length <= 10; ++length) {
    Rows stale = last_rows(cache, max_positions - 1);

    // [window] What to run for the newest token of the text.
    const std::int64_t cached = std::ssize(cache) / dim;
    const rope::LearnedWindow window = rope::learned_window(cached, length, max_positions);
    if (!window.keeps_cache) {
      cache.clear();
    }
    Rows x(text.begin() + window.first_token * dim, text.begin() + length * dim);
    rope::add_learned(rope::matrix(x, {window.tokens, dim}), table_rows, rope::from(window.start));
    cache.insert(cache.end(), x.begin(), x.end());
    // [window]
    tokens_run += window.tokens;
    const Rows out = attend(cache, last_rows(cache, 1));

    // The last tokens of the text from scratch, and the newest token with what was in the cache.
    const std::int64_t shown = std::min(length, max_positions);
    Rows scratch = last_rows({text.begin(), text.begin() + length * dim}, shown);
    rope::add_learned(rope::matrix(scratch, {shown, dim}), table_rows, rope::from(0));
    const Rows newest = last_rows(cache, 1);
    stale.insert(stale.end(), newest.begin(), newest.end());
    const double from_scratch = distance(out, attend(scratch, last_rows(scratch, 1)));
    const double from_stale = distance(out, attend(stale, newest));
    std::printf("%6lld %4lld  %-7s  %-16s  %s%.3f\n", static_cast<long long>(length),
                static_cast<long long>(window.tokens), window.keeps_cache ? "kept" : "emptied",
                from_scratch == 0 ? "same" : "different", from_stale == 0 ? "same " : "off by ",
                from_stale);
  }
  std::printf("tokens run: %lld for a text of 10\n\n", static_cast<long long>(tokens_run));

  // RoPE turns every key once. The window slides by dropping the oldest; the rest stay.
  const rope::CosSinTable<double> angles(rope::frequencies({.rotary_dim = dim}), 16);
  const auto rotated = [&](Rows rows, std::int64_t start) {
    rope::rotate<rope::Pairing::interleaved>(rope::thd(rows, {std::ssize(rows) / dim, 1, dim}),
                                             angles, rope::from(start));
    return rows;
  };
  const auto scores = [&](const Rows& keys, const Rows& query) {
    std::vector<double> result;
    for (std::size_t row = 0; row < keys.size(); row += dim) {
      double score = 0;
      for (std::size_t i = 0; i < dim; ++i) {
        score += query[i] * keys[row + i];
      }
      result.push_back(score);
    }
    return result;
  };
  double largest = 0;
  const Rows keys = rotated(text, 0);  // each in its time, at its own position
  for (std::int64_t length = max_positions; length <= 10; ++length) {
    const Rows kept(keys.begin() + (length - max_positions) * dim, keys.begin() + length * dim);
    const Rows fresh =
        rotated({text.begin() + (length - max_positions) * dim, text.begin() + length * dim}, 0);
    largest = std::fmax(
        largest, distance(scores(kept, last_rows(kept, 1)), scores(fresh, last_rows(fresh, 1))));
  }
  std::printf("RoPE, kept keys against recomputed ones: scores %s\n",
              largest < 1e-12 ? "the same" : "different");
  std::printf("tokens run: 10 for a text of 10\n");
}
