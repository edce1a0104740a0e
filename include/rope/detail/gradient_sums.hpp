#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "rope/detail/fused.hpp"
#include "rope/detail/unit.hpp"
#include "rope/executor.hpp"
#include "rope/pairing.hpp"
#include "rope/scalar.hpp"
#include "rope/view.hpp"

// The sums behind the gradients. With g the gradient of the output y, the angle of a pair (a, b)
// has the gradient r = g_b * y_a - g_a * y_b. All sums are of doubles, each product and each sum
// rounded once and in an order that depends on the shapes alone, so that results have the same bits
// for any number of threads and on every platform.

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// Two doubles that are computed with at once, on every machine that has 16-byte vectors.
using TwoDoubles [[gnu::vector_size(16)]] = double;

[[gnu::always_inline]] inline TwoDoubles keep(TwoDoubles value) {
#if defined(__SSE2__)
  __asm__("" : "+x"(value));
  return value;
#elif defined(__aarch64__)
  __asm__("" : "+w"(value));
  return value;
#else
  return TwoDoubles{keep(value[0]), keep(value[1])};
#endif
}

[[gnu::always_inline]] inline TwoDoubles load_two(const double* from) {
  return TwoDoubles{from[0], from[1]};
}
[[gnu::always_inline]] inline void store_two(double* to, TwoDoubles value) {
  to[0] = value[0];
  to[1] = value[1];
}

/// Pairs whose r is held at a time: a multiple of 2.
inline constexpr std::int64_t gradient_chunk = 64;

/// The rotated features of one head of y and of its gradient.
template <class Y, class G>
struct GradientHead {
  const Y* y;
  const G* g;
  std::int64_t y_stride;
  std::int64_t g_stride;
  std::int64_t pairs;
};

/// Adds r of `count` pairs from `first` on to sums[0 .. count - 1]. Unit strides are told apart for
/// the compiler only.
template <Pairing pairing, bool is_packed, class Y, class G>
[[gnu::always_inline]] inline void add_angle_gradients(const GradientHead<Y, G>& head,
                                                       std::int64_t first, std::int64_t count,
                                                       double* sums) {
  const std::int64_t y_stride = is_packed ? 1 : head.y_stride;
  const std::int64_t g_stride = is_packed ? 1 : head.g_stride;
  constexpr bool neighbours = pairing == Pairing::interleaved;
  const std::int64_t step = neighbours ? 2 : 1;              // from pair to pair
  const std::int64_t partner = neighbours ? 1 : head.pairs;  // from a to b
  const auto y_at = [&](std::int64_t i) {
    return static_cast<double>(to_compute(head.y[i * y_stride]));
  };
  const auto g_at = [&](std::int64_t i) {
    return static_cast<double>(to_compute(head.g[i * g_stride]));
  };
  std::int64_t j = 0;
  for (; j + 1 < count; j += 2) {
    const std::int64_t a = (first + j) * step;
    const TwoDoubles y_a = {y_at(a), y_at(a + step)};
    const TwoDoubles y_b = {y_at(a + partner), y_at(a + partner + step)};
    const TwoDoubles g_a = {g_at(a), g_at(a + step)};
    const TwoDoubles g_b = {g_at(a + partner), g_at(a + partner + step)};
    const TwoDoubles r = keep(keep(g_b * y_a) - keep(g_a * y_b));
    store_two(sums + j, keep(load_two(sums + j) + r));
  }
  if (j < count) {
    const std::int64_t a = (first + j) * step;
    const double r = keep(keep(g_at(a + partner) * y_at(a)) - keep(g_at(a) * y_at(a + partner)));
    sums[j] = keep(sums[j] + r);
  }
}

template <Pairing pairing, class Y, class G>
void add_angle_gradients(const GradientHead<Y, G>& head, std::int64_t first, std::int64_t count,
                         double* sums) {
  if (head.y_stride == 1 && head.g_stride == 1) {
    add_angle_gradients<pairing, true>(head, first, count, sums);
  } else {
    add_angle_gradients<pairing, false>(head, first, count, sums);
  }
}

/// sums[j] += factor * values[j].
inline void add_multiple(double factor, const double* values, std::int64_t count, double* sums) {
  const TwoDoubles factors = {factor, factor};
  std::int64_t j = 0;
  for (; j + 1 < count; j += 2) {
    const TwoDoubles product = keep(factors * load_two(values + j));
    store_two(sums + j, keep(load_two(sums + j) + product));
  }
  if (j < count) sums[j] = keep(sums[j] + keep(factor * values[j]));
}

/// y and its gradient, of the same shape, and which part of their heads is rotated.
template <class Y, class G>
struct GradientInput {
  View<const Y> y;
  View<const G> g;
  std::int64_t first_dim;
  std::int64_t pairs;

  std::int64_t rows() const noexcept { return y.batch() * y.tokens(); }
  GradientHead<Y, G> head(std::int64_t batch, std::int64_t token, std::int64_t head) const {
    return {&y(batch, token, head, first_dim), &g(batch, token, head, first_dim), y.dim_stride(),
            g.dim_stride(), pairs};
  }
};

/// Frequencies' gradient of rows [first_row, end_row) and heads [first_head, end_head), added to
/// `sums`, [axes, heads of the frequencies, pairs]. `where(batch, token, axis)` is a position.
template <Pairing pairing, class Y, class G, class Where>
void add_frequency_sums(const GradientInput<Y, G>& input, Where where, std::int64_t axes,
                        bool is_shared, std::int64_t first_row, std::int64_t end_row,
                        std::int64_t first_head, std::int64_t end_head, double* sums) {
  double r[gradient_chunk];
  const std::int64_t heads = is_shared ? 1 : input.y.heads();
  const std::int64_t group = is_shared ? end_head - first_head : 1;  // heads with one frequency
  for (std::int64_t row = first_row; row < end_row; ++row) {
    const std::int64_t batch = row / input.y.tokens();
    const std::int64_t token = row % input.y.tokens();
    for (std::int64_t h = first_head; h < end_head; h += group) {
      for (std::int64_t first = 0; first < input.pairs; first += gradient_chunk) {
        const std::int64_t count = (std::min)(gradient_chunk, input.pairs - first);
        std::fill(r, r + count, 0.0);
        for (std::int64_t i = 0; i < group; ++i) {
          add_angle_gradients<pairing>(input.head(batch, token, h + i), first, count, r);
        }
        for (std::int64_t a = 0; a < axes; ++a) {
          double* to = sums + (a * heads + (is_shared ? 0 : h)) * input.pairs + first;
          add_multiple(where(batch, token, a), r, count, to);
        }
      }
    }
  }
}

/// How the rows are divided: by their number alone, so that sums do not depend on the threads.
struct GradientParts {
  std::int64_t rows;
  std::int64_t rows_per_part;

  GradientParts(std::int64_t all_rows, std::int64_t least_rows, std::int64_t most_parts)
      : rows(all_rows),
        rows_per_part((std::max)(least_rows, (all_rows + most_parts - 1) / most_parts)) {}

  std::int64_t count() const { return (rows + rows_per_part - 1) / rows_per_part; }
  std::int64_t first(std::int64_t part) const { return part * rows_per_part; }
  std::int64_t end(std::int64_t part) const { return (std::min)(rows, (part + 1) * rows_per_part); }
};

/// What the work reads, for part_count(): small work is not worth waking other threads.
template <class Y, class G>
ExecutorRef gradient_executor(const GradientInput<Y, G>& input, const ExecutorRef& executor) {
  const std::int64_t bytes = input.rows() * input.y.heads() * input.pairs * 2 *
                             static_cast<std::int64_t>(sizeof(Y) + sizeof(G));
  return part_count(executor, bytes) > 1 ? executor : ExecutorRef();
}

/// The gradient of frequencies, [axes, 1 or heads, pairs], into or onto `gradient`.
template <Pairing pairing, class Y, class G, class Where>
void frequency_gradient(const GradientInput<Y, G>& input, Where where, std::int64_t axes,
                        bool is_shared, bool adds, double* gradient, const ExecutorRef& executor) {
  const std::int64_t heads = input.y.heads();
  const std::int64_t size = axes * (is_shared ? 1 : heads) * input.pairs;
  // A part's sums are a small share of what it reads. Frequencies of one head each are also divided
  // by heads, in groups whose sums stay in the first-level cache.
  const GradientParts parts =
      is_shared ? GradientParts(input.rows(), 64, 256) : GradientParts(input.rows(), 256, 64);
  const std::int64_t group = is_shared ? heads : (std::max)(std::int64_t{1}, 2048 / (size / heads));
  const std::int64_t groups = heads == 0 ? 0 : (heads + group - 1) / group;
  const std::int64_t count = parts.count();
  std::vector<double> sums(static_cast<std::size_t>(count * size));
  gradient_executor(input, executor)(count * groups, [&](std::int64_t index) {
    const std::int64_t part = index / groups;
    const std::int64_t first_head = index % groups * group;
    add_frequency_sums<pairing>(input, where, axes, is_shared, parts.first(part), parts.end(part),
                                first_head, (std::min)(heads, first_head + group),
                                sums.data() + part * size);
  });
  for (std::int64_t i = 0; i < size; ++i) {
    double sum = 0;
    for (std::int64_t part = 0; part < count; ++part) {
      sum = keep(sum + sums[static_cast<std::size_t>(part * size + i)]);
    }
    gradient[i] = adds ? keep(gradient[i] + sum) : sum;
  }
}

/// The sums of r * frequency for up to `most_axes` axes from `first_axis` on, over the heads and
/// pairs of one token, added to `sums`. `frequency(axis, head)` is a row of frequencies.
inline constexpr std::int64_t gradient_axes = 4;
template <Pairing pairing, class Y, class G, class Frequency>
void add_position_sums(const GradientInput<Y, G>& input, Frequency frequency, std::int64_t batch,
                       std::int64_t token, std::int64_t first_axis, std::int64_t axes,
                       TwoDoubles* sums) {
  double r[gradient_chunk + 1];
  for (std::int64_t h = 0; h < input.y.heads(); ++h) {
    for (std::int64_t first = 0; first < input.pairs; first += gradient_chunk) {
      const std::int64_t count = (std::min)(gradient_chunk, input.pairs - first);
      std::fill(r, r + count, 0.0);
      add_angle_gradients<pairing>(input.head(batch, token, h), first, count, r);
      for (std::int64_t a = 0; a < axes; ++a) {
        const double* const row = frequency(first_axis + a, h) + first;
        TwoDoubles sum = sums[a];
        std::int64_t j = 0;
        for (; j + 1 < count; j += 2) {
          sum = keep(sum + keep(load_two(r + j) * load_two(row + j)));
        }
        if (j < count) sum = keep(sum + TwoDoubles{keep(r[j] * row[j]), 0.0});
        sums[a] = sum;
      }
    }
  }
}

/// The gradient of positions, [batch or 1, tokens, axes], into or onto `gradient`.
template <Pairing pairing, class Y, class G, class Frequency>
void position_gradient(const GradientInput<Y, G>& input, Frequency frequency, std::int64_t axes,
                       std::int64_t batches, bool adds, double* gradient,
                       const ExecutorRef& executor) {
  const std::int64_t tokens = input.y.tokens();
  const std::int64_t added = batches == 0 ? 0 : input.y.batch() / batches;  // rows of one position
  const GradientParts parts(batches * tokens, 16, 1024);
  gradient_executor(input, executor)(parts.count(), [&](std::int64_t part) {
    for (std::int64_t row = parts.first(part); row < parts.end(part); ++row) {
      for (std::int64_t first = 0; first < axes; first += gradient_axes) {
        const std::int64_t count = (std::min)(gradient_axes, axes - first);
        TwoDoubles sums[gradient_axes] = {};
        for (std::int64_t i = 0; i < added; ++i) {
          add_position_sums<pairing>(input, frequency, row / tokens + i, row % tokens, first, count,
                                     sums);
        }
        for (std::int64_t a = 0; a < count; ++a) {
          double& to = gradient[row * axes + first + a];
          const double sum = keep(sums[a][0] + sums[a][1]);
          to = adds ? keep(to + sum) : sum;
        }
      }
    }
  });
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
