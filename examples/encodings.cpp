// The encodings that RoPE is compared with, each through the library, and a table of what they cost
// and do. Nothing in the table is typed: it is counted, or found by trying.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "rope/analysis.hpp"
#include "rope/core.hpp"
#include "rope/encodings/alibi.hpp"
#include "rope/encodings/learned.hpp"
#include "rope/encodings/matrix.hpp"
#include "rope/encodings/scores.hpp"
#include "rope/encodings/shaw.hpp"
#include "rope/encodings/sinusoidal.hpp"
#include "rope/encodings/t5_bias.hpp"

namespace {

// A model of the size of GPT-2, trained on texts of 1024 tokens.
constexpr std::int64_t layers = 12;
constexpr std::int64_t heads = 12;
constexpr std::int64_t head_dim = 64;
constexpr std::int64_t width = heads * head_dim;
constexpr std::int64_t trained = 1024;

using Vector = std::vector<float>;

std::int64_t bytes(const Vector& values) {
  return static_cast<std::int64_t>(values.size() * sizeof(float));
}

/// `rows` rows of normally distributed numbers, the same on every machine.
Vector random_rows(std::int64_t rows, std::int64_t columns, double deviation, unsigned seed) {
  Vector values(static_cast<std::size_t>(rows * columns));
  std::mt19937 engine(seed);
  rope::initialize_learned(rope::matrix(values, {rows, columns}), engine, deviation);
  return values;
}

float dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return static_cast<float>(sum);
}

struct Encoding {
  const char* name;
  std::int64_t parameters;
  std::int64_t bytes;
  /// The score of one fixed query at position m with one fixed key at position n, in head 0.
  std::function<float(std::int64_t m, std::int64_t n)> score;
  std::vector<double> wavelengths;  // of what turns, if anything does
};

Encoding learned() {
  const Vector table = random_rows(trained, width, 0.5, 1);
  return {"learned",
          rope::learned_parameters(trained, width),
          bytes(table),
          [table](std::int64_t m, std::int64_t n) {
            Vector q = random_rows(1, width, 1, 8);
            Vector k = random_rows(1, width, 1, 9);
            // [learned]
            const auto rows = rope::matrix(table, {trained, width});
            rope::add_learned(rope::matrix(q, {1, width}), rows, rope::from(m));
            rope::add_learned(rope::matrix(k, {1, width}), rows, rope::from(n));
            // [learned]
            return dot(q, k);
          },
          {}};
}

Encoding sinusoidal() {
  // [sinusoidal-table]
  const rope::Frequencies frequencies = rope::sinusoidal_frequencies(width);
  const rope::CosSinTable<float> table(frequencies, 4 * trained);
  // [sinusoidal-table]
  return {"sinusoidal", 0, trained * width * static_cast<std::int64_t>(sizeof(float)),
          [table](std::int64_t m, std::int64_t n) {
            Vector q = random_rows(1, width, 1, 8);
            Vector k = random_rows(1, width, 1, 9);
            // [sinusoidal]
            rope::add_sinusoidal(rope::matrix(q, {1, width}), table, rope::from(m));
            rope::add_sinusoidal(rope::matrix(k, {1, width}), table, rope::from(n));
            // [sinusoidal]
            return dot(q, k);
          },
          rope::wavelengths(frequencies)};
}

Encoding shaw() {
  constexpr std::int64_t max_distance = 16;
  constexpr std::int64_t rows = 2 * max_distance + 1;
  const Vector relative_keys = random_rows(rows, head_dim, 0.5, 2);
  // Keys and values have a table each, in every layer.
  constexpr std::int64_t tables = 2 * layers;
  return {"Shaw",
          tables * rows * head_dim,
          tables * bytes(relative_keys),
          [relative_keys](std::int64_t m, std::int64_t n) {
            const Vector q = random_rows(1, head_dim, 1, 8);
            const Vector k = random_rows(1, head_dim, 1, 9);
            Vector score = {dot(q, k)};
            // [shaw]
            rope::add_shaw_scores(rope::scores(score, {1, 1, 1}), rope::thd(q, {1, 1, head_dim}),
                                  rope::matrix(relative_keys, {rows, head_dim}),
                                  {.scale = 1, .positions = {.first_query = m, .first_key = n}});
            // [shaw]
            return score[0];
          },
          {}};
}

Encoding t5() {
  const Vector weights = random_rows(32, heads, 0.5, 3);
  return {
      "T5",
      static_cast<std::int64_t>(weights.size()),
      bytes(weights),
      [weights](std::int64_t m, std::int64_t n) {
        const float content = dot(random_rows(1, head_dim, 1, 8), random_rows(1, head_dim, 1, 9));
        Vector score(heads, content);
        // [t5]
        const rope::T5Buckets buckets({.bidirectional = false});
        rope::add_t5_bias(rope::scores(score, {heads, 1, 1}), rope::matrix(weights, {32, heads}),
                          buckets, {.first_query = m, .first_key = n});
        // [t5]
        return score[0];
      },
      {}};
}

Encoding alibi() {
  const std::vector<double> slopes = rope::alibi_slopes(heads);
  return {"ALiBi",
          0,
          static_cast<std::int64_t>(slopes.size() * sizeof(double)),
          [slopes](std::int64_t m, std::int64_t n) {
            const float content =
                dot(random_rows(1, head_dim, 1, 8), random_rows(1, head_dim, 1, 9));
            Vector score(heads, content);
            // [alibi]
            rope::add_alibi(rope::scores(score, {heads, 1, 1}), rope::alibi_slopes(heads),
                            {.first_query = m, .first_key = n});
            // [alibi]
            return score[0];
          },
          {}};
}

Encoding rotary() {
  const rope::Frequencies frequencies = rope::frequencies({.rotary_dim = head_dim});
  const rope::CosSinTable<float> table(frequencies, 4 * trained);
  return {"RoPE", 0, trained * head_dim * static_cast<std::int64_t>(sizeof(float)),
          [table](std::int64_t m, std::int64_t n) {
            Vector q = random_rows(1, head_dim, 1, 8);
            Vector k = random_rows(1, head_dim, 1, 9);
            // [rope]
            rope::rotate<rope::Pairing::interleaved>(rope::thd(q, {1, 1, head_dim}), table,
                                                     rope::from(m));
            rope::rotate<rope::Pairing::interleaved>(rope::thd(k, {1, 1, head_dim}), table,
                                                     rope::from(n));
            // [rope]
            return dot(q, k);
          },
          rope::wavelengths(frequencies)};
}

/// Whether scores stay the same when query and key move together.
bool is_relative(const Encoding& encoding) {
  float change = 0;
  for (const std::int64_t shift : {1, 10, 100, 900}) {
    for (const std::int64_t distance : {0, 3, 40, 100}) {
      change = std::fmax(
          change, std::fabs(encoding.score(distance + shift, shift) - encoding.score(distance, 0)));
    }
  }
  return change < 1e-3f;
}

/// What a text of twice and three times the trained length meets.
std::string past_the_end(const Encoding& encoding) {
  const float last = encoding.score(trained - 1, 0);
  float twice = 0;
  float thrice = 0;
  try {
    twice = encoding.score(2 * trained - 1, 0);
    thrice = encoding.score(3 * trained - 1, 0);
  } catch (const rope::OutOfRange&) {
    return "refused, there is no row";
  }
  if (twice == last && thrice == last) {
    return "far keys are all alike";
  }
  std::int64_t unfinished = 0;
  for (const double wavelength : encoding.wavelengths) {
    unfinished += wavelength > static_cast<double>(trained) ? 1 : 0;
  }
  if (unfinished > 0) {
    return std::to_string(unfinished) + " of " + std::to_string(encoding.wavelengths.size()) +
           " pairs at new angles";
  }
  return twice < last && thrice < twice ? "far keys keep fading" : "scores change";
}

}  // namespace

int main() {
  std::printf("%-11s %10s %9s  %-8s  past %lld tokens\n", "encoding", "parameters", "bytes",
              "relative", static_cast<long long>(trained));
  for (const Encoding& encoding : {learned(), sinusoidal(), shaw(), t5(), alibi(), rotary()}) {
    std::printf("%-11s %10lld %9lld  %-8s  %s\n", encoding.name,
                static_cast<long long>(encoding.parameters), static_cast<long long>(encoding.bytes),
                is_relative(encoding) ? "yes" : "no", past_the_end(encoding).c_str());
  }
}
