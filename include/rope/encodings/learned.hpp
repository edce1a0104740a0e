#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "rope/argument.hpp"
#include "rope/detail/double_double.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/encoding_check.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/fused.hpp"
#include "rope/detail/rotate_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/row_positions.hpp"
#include "rope/view.hpp"

namespace rope {
namespace detail::inline ROPE_DETAIL_UNIT {

/// A number from -1 to 1, in steps of 2^-53, made of 54 bits of the engine.
///
/// By hand, because the standard leaves open how its distributions turn bits into numbers.
template <class Engine>
double symmetric_uniform(Engine& engine) {
  using Word = typename Engine::result_type;
  constexpr Word range = static_cast<Word>((Engine::max)() - (Engine::min)());
  constexpr bool is_whole = range == (std::numeric_limits<Word>::max)() ||
                            std::has_single_bit(static_cast<Word>(range + 1));
  constexpr Word mask = is_whole ? range : static_cast<Word>(std::bit_floor(range) - 1);
  constexpr int bits_each = std::popcount(mask);
  static_assert(bits_each > 0, "the engine must have at least one random bit");
  std::uint64_t bits = 0;
  for (int have = 0; have < 54;) {
    const Word word = static_cast<Word>(engine() - (Engine::min)());
    if (word > mask) {
      continue;  // keeps every value below the power of two equally likely
    }
    const int take = (std::min)(bits_each, 54 - have);
    bits = (bits << take) | (static_cast<std::uint64_t>(word) >> (bits_each - take));
    have += take;
  }
  const std::int64_t centred = static_cast<std::int64_t>(bits) - (std::int64_t{1} << 53);
  return static_cast<double>(centred) * 0x1p-53;
}

struct NormalPair {
  double first;
  double second;
};

/// Two independent numbers of the standard normal distribution (Marsaglia's polar method), the same
/// for the same engine on every platform.
template <class Engine>
NormalPair normal_pair(Engine& engine) {
  for (;;) {
    const double u = symmetric_uniform(engine);
    const double v = symmetric_uniform(engine);
    const double square = keep(keep(u * u) + keep(v * v));
    if (!(square > 0) || square >= 1) {
      continue;
    }
    const DoubleDouble logarithm = log(square);
    const double radius = std::sqrt(rounded_quotient(keep(-2 * logarithm.hi), square));
    return {keep(u * radius), keep(v * radius)};
  }
}

inline Status check_initialize_learned(const Layout& table, double deviation) noexcept {
  constexpr const char* who = "rope::initialize_learned";
  if (!is_finite(deviation) || !(deviation >= 0)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: standard_deviation must be finite and not negative, got %g", who,
                   deviation);
  }
  return first_failure([&] { return check_matrix(who, "table", table); },
                       [&] { return check_output(who, table); });
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

/// Which tokens a model with learned positions runs next. Made by learned_window().
struct LearnedWindow {
  std::int64_t first_token;  ///< the first token of the text to run
  std::int64_t tokens;       ///< how many to run, to the end of the text
  std::int64_t start;        ///< the position of the first one, for from()
  bool keeps_cache;          ///< false: empty the cache of keys and values first
};

inline namespace ROPE_DETAIL_UNIT {

/// How many parameters a learned table has: max_positions * width.
///
/// 393,216 for GPT-1 (512 x 768), 786,432 for GPT-2 (1024 x 768). Throws InvalidArgument for a
/// negative size or a product of 2^63 and more.
inline std::int64_t learned_parameters(Extent max_positions, Extent width) {
  constexpr const char* who = "rope::learned_parameters";
  const std::int64_t rows = max_positions;
  const std::int64_t columns = width;
  std::int64_t parameters = 0;
  if (rows < 0 || columns < 0 || __builtin_mul_overflow(rows, columns, &parameters)) [[unlikely]] {
    detail::raise(detail::failure(
        ErrorKind::invalid_argument,
        "%s: max_positions %lld and width %lld must not be negative or multiply to 2^63", who,
        static_cast<long long>(rows), static_cast<long long>(columns)));
  }
  return parameters;
}

/// Fills a table [max_positions, width] with numbers of the normal distribution around 0, as GPT-1
/// and GPT-2 start their training.
///
/// `engine` is a random number engine of the standard library or one like it, and the only source
/// of randomness; the same engine state gives the same table on every platform. Throws
/// InvalidArgument for a table that is no matrix, and for a deviation that is negative or not
/// finite. O(table), about a microsecond an entry.
///
/// Source: Radford et al., "Improving Language Understanding by Generative Pre-Training" (2018),
/// section 4.1.
template <detail::FloatOrDouble T, std::uniform_random_bit_generator Engine>
void initialize_learned(View<T> table, Engine& engine, Real standard_deviation = 0.02) {
  const double deviation = standard_deviation;
  detail::require(detail::check_initialize_learned(table.layout(), deviation));
  double spare = 0;
  bool has_spare = false;
  for (std::int64_t row = 0; row < table.tokens(); ++row) {
    for (std::int64_t i = 0; i < table.dim(); ++i) {
      double value = spare;
      if (!has_spare) {
        const detail::NormalPair drawn = detail::normal_pair(engine);
        value = drawn.first;
        spare = drawn.second;
      }
      has_spare = !has_spare;
      table(0, row, 0, i) = static_cast<T>(value * deviation);
    }
  }
}

/// Adds to each token's embedding the learned row of its position: x [batch, tokens, 1, width] in
/// place, `table` a matrix [max_positions, width].
///
/// Positions are from(start), from_each(starts) or at(ids, shape), as for rotate(): ids made from
/// an attention mask serve padded batches. Add it once, before the first layer.
///
/// Throws InvalidArgument if the widths differ, if x has several heads or the table is no matrix,
/// or if elements of x coincide with each other or with the table; OutOfRange for a position
/// without a row: past the trained length there is nothing to add, see learned_window(). Never
/// allocates. O(x). Costs max_positions * width parameters; absolute, where RoPE is relative.
///
/// Source: Gehring et al., "Convolutional Sequence to Sequence Learning" (2017), section 3.1.
template <detail::FloatOrDouble T, detail::ReadWith<T> In>
void add_learned(View<T> x, View<In> table, const Positions& positions) {
  constexpr const char* who = "rope::add_learned";
  detail::require(detail::first_failure(
      [&] { return detail::check_matrix(who, "table", table.layout()); },
      [&] { return detail::check_embeddings(who, x.layout(), table.dim(), "the table has dim"); },
      [&] { return detail::check_positions(who, positions, x.layout(), table.tokens()); },
      [&] { return detail::check_disjoint(who, "x and table", x, table); }));
  for (std::int64_t b = 0; b < x.batch(); ++b) {
    for (std::int64_t token = 0; token < x.tokens(); ++token) {
      const std::int64_t position = positions.position(b, token);
      for (std::int64_t i = 0; i < x.dim(); ++i) {
        x(b, token, 0, i) += table(0, position, 0, i);
      }
    }
  }
}

/// What to run when a text has grown to `length` tokens, of which the first `cached` are in the
/// cache of keys and values, with a table of `max_positions` rows.
///
/// While the text fits, only the tokens after the cached ones, at the positions that follow. Once
/// it does not, its last max_positions tokens from position 0 on, without the cache: every token
/// has moved to another row, so that every cached key and value is wrong. From there on a token
/// costs max_positions tokens of work. (RoPE's keys keep their angle to each other, and stay.)
///
/// Throws InvalidArgument if max_positions is below 1, length negative, or cached not within 0 ..
/// length and 0 .. max_positions. O(1).
inline LearnedWindow learned_window(Extent cached, Extent length, Extent max_positions) {
  constexpr const char* who = "rope::learned_window";
  detail::require(detail::first_failure(
      [&] { return detail::check_at_least(who, "max_positions", max_positions, 1); },
      [&] { return detail::check_at_least(who, "length", length, 0); }));
  if (cached < 0 || cached > length || cached > max_positions) [[unlikely]] {
    detail::raise(detail::failure(ErrorKind::invalid_argument,
                                  "%s: cached must be within 0 .. length %lld and 0 .. "
                                  "max_positions %lld, got %lld",
                                  who, static_cast<long long>(length),
                                  static_cast<long long>(max_positions),
                                  static_cast<long long>(cached)));
  }
  if (length <= max_positions) {
    return {cached, length - cached, cached, true};
  }
  return {length - max_positions, max_positions, 0, false};
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
