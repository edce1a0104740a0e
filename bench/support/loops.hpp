// The obvious loops, which are what rotating comes to without a library, and a check of results.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "memory.hpp"
#include "rope/core.hpp"
#include "run.hpp"

namespace rope_bench {

/// Rows of cos and sin, for those who take pointers.
struct Rows {
  const float* cos;
  const float* sin;
  std::int64_t stride;  // from one token's row to the next
};

inline Rows rows(std::int64_t dim) {
  const auto& all = table(dim);
  return {all.cos(first_position).data(), all.sin(first_position).data(), dim};
}

inline void loop_half_split(const float* in, float* out, const Shape& shape, const Rows& rows) {
  const std::int64_t half = shape.dim / 2;
  for (std::int64_t token = 0; token < shape.tokens; ++token) {
    const float* cos = rows.cos + token * rows.stride;
    const float* sin = rows.sin + token * rows.stride;
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const std::int64_t at = (token * shape.heads + head) * shape.dim;
      for (std::int64_t i = 0; i < half; ++i) {
        const float a = in[at + i];
        const float b = in[at + half + i];
        out[at + i] = a * cos[i] - b * sin[i];
        out[at + half + i] = b * cos[i] + a * sin[i];
      }
    }
  }
}

inline void loop_interleaved(const float* in, float* out, const Shape& shape, const Rows& rows) {
  const std::int64_t half = shape.dim / 2;
  for (std::int64_t token = 0; token < shape.tokens; ++token) {
    const float* cos = rows.cos + token * rows.stride;
    const float* sin = rows.sin + token * rows.stride;
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const std::int64_t at = (token * shape.heads + head) * shape.dim;
      for (std::int64_t i = 0; i < half; ++i) {
        const float a = in[at + 2 * i];
        const float b = in[at + 2 * i + 1];
        out[at + 2 * i] = a * cos[i] - b * sin[i];
        out[at + 2 * i + 1] = b * cos[i] + a * sin[i];
      }
    }
  }
}

/// Ends the program unless `out` is `in` rotated, as double arithmetic and std::cos have it:
/// nothing wrong is timed.
inline void require_rotated(const char* what, rope::Pairing pairing, const std::vector<float>& in,
                            const std::vector<float>& out, const Shape& shape,
                            double tolerance = 2e-6) {
  const bool interleaved = pairing == rope::Pairing::interleaved;
  const std::int64_t half = shape.dim / 2;
  for (std::int64_t i = 0; i < shape.elements() / 2; ++i) {
    const std::int64_t pair = i % half;
    const std::int64_t head = i / half;
    const double position = static_cast<double>(head / shape.heads + first_position);
    const double angle =
        position * std::pow(10000.0, -static_cast<double>(pair) / static_cast<double>(half));
    const auto a = static_cast<std::size_t>(head * shape.dim + (interleaved ? 2 * pair : pair));
    const std::size_t b = a + static_cast<std::size_t>(interleaved ? 1 : half);
    const double x0 = static_cast<double>(in[a]);
    const double x1 = static_cast<double>(in[b]);
    const double error0 =
        static_cast<double>(out[a]) - (x0 * std::cos(angle) - x1 * std::sin(angle));
    const double error1 =
        static_cast<double>(out[b]) - (x1 * std::cos(angle) + x0 * std::sin(angle));
    if (!(std::abs(error0) <= tolerance && std::abs(error1) <= tolerance)) {
      std::fprintf(stderr, "%s is wrong: pair %lld of head %lld is off by %g and %g\n", what,
                   static_cast<long long>(pair), static_cast<long long>(head), error0, error1);
      std::exit(1);
    }
  }
}

/// Checks `rotate(in, out, shape)`, float to float, on a few tokens.
template <class Rotate>
void check(const char* what, rope::Pairing pairing, Rotate rotate) {
  for (const Shape& shape : {Shape{1, 32, 128}, Shape{5, 3, 128}}) {
    std::vector<float> in(static_cast<std::size_t>(shape.elements()));
    for (std::size_t i = 0; i < in.size(); ++i) {
      in[i] = static_cast<float>(i % 251) / 128.0F - 1.0F;
    }
    std::vector<float> out(in.size());
    rotate(in.data(), out.data(), shape);
    require_rotated(what, pairing, in, out, shape);
  }
}

/// As check(), of `rotate(x, shape)` in place.
template <class Rotate>
void check_in_place(const char* what, rope::Pairing pairing, Rotate rotate) {
  check(what, pairing, [&](const float* in, float* out, const Shape& shape) {
    for (std::int64_t i = 0; i < shape.elements(); ++i) out[i] = in[i];
    rotate(out, shape);
  });
}

inline void check_loops() {
  check("the loop, half-split", rope::Pairing::half_split,
        [](const float* in, float* out, const Shape& shape) {
          loop_half_split(in, out, shape, rows(shape.dim));
        });
  check("the loop, interleaved", rope::Pairing::interleaved,
        [](const float* in, float* out, const Shape& shape) {
          loop_interleaved(in, out, shape, rows(shape.dim));
        });
}

/// The loops in place on one shape.
inline void add_loops(const Shape& shape, const std::string& limit) {
  float* x = input<float>();
  add("loop/half_split/" + shape.name(), limit,
      [=, r = rows(shape.dim)] { loop_half_split(x, x, shape, r); });
  add("loop/interleaved/" + shape.name(), limit,
      [=, r = rows(shape.dim)] { loop_interleaved(x, x, shape, r); });
}

}  // namespace rope_bench
