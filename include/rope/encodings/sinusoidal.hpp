#pragma once

#include <concepts>
#include <cstdint>

#include "rope/argument.hpp"
#include "rope/detail/encoding_check.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/rotate_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/frequencies.hpp"
#include "rope/pairing.hpp"
#include "rope/rotate.hpp"
#include "rope/rotate_inverse.hpp"
#include "rope/row_positions.hpp"
#include "rope/table_concept.hpp"
#include "rope/view.hpp"

// The sinusoids of a position are the sines and cosines of RoPE's angles: this header reads them
// from the tables that rotate() takes.

namespace rope {
namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_sinusoidal_frequencies(std::int64_t width, double base) noexcept {
  constexpr const char* who = "rope::sinusoidal_frequencies";
  if (width <= 0 || width % 2 != 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: width must be even and above 0, got %lld", who,
                   static_cast<long long>(width));
  }
  if (!is_finite(base) || !(base > 1)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: base must be finite and above 1, got %g", who,
                   base);
  }
  return {};
}

template <class X>
Status check_sinusoidal_table(const char* who, const X& table) noexcept {
  if (table.heads() != 1 || table.magnitude() != 1) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: the table must have one row for all heads and magnitude 1, but has heads "
                   "%lld and magnitude %g",
                   who, static_cast<long long>(table.heads()), table.magnitude());
  }
  return {};
}

/// Checks a call, then calls apply(x element, sinusoid) for every element.
template <class T, class X, class Apply>
void for_each_sinusoid(const char* who, View<T> x, const X& table, const Positions& positions,
                       const Apply& apply) {
  require(first_failure([&] { return check_sinusoidal_table(who, table); },
                        [&] {
                          return check_embeddings(who, x.layout(), 2 * table.pairs(),
                                                  "the table's pairs make a width of");
                        },
                        [&] { return check_positions(who, positions, x.layout(), table.rows()); }));
  constexpr std::int64_t most_pairs = 64;
  T scratch[2 * most_pairs];
  for (std::int64_t b = 0; b < x.batch(); ++b) {
    for (std::int64_t token = 0; token < x.tokens(); ++token) {
      const std::int64_t position = positions.position(b, token);
      for (std::int64_t first = 0; first < table.pairs(); first += most_pairs) {
        const std::int64_t rest = table.pairs() - first;
        const std::int64_t count = rest < most_pairs ? rest : most_pairs;
        const TableRow<T> row = table.row(position, 0, first, count, scratch);
        for (std::int64_t i = 0; i < count; ++i) {
          apply(x(b, token, 0, 2 * (first + i)), row.sin[i]);
          apply(x(b, token, 0, 2 * (first + i) + 1), row.cos[i]);
        }
      }
    }
  }
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// The frequencies of the sinusoidal encoding of a width: base^(-2i / width) for pair i, those of a
/// RoPE over the full width.
///
/// Throws InvalidArgument for a width that is not even and above 0, and a base that is not finite
/// and above 1. O(width).
inline Frequencies sinusoidal_frequencies(Extent width, Real base = 10000.0) {
  detail::require(detail::check_sinusoidal_frequencies(width, base));
  return frequencies({.rotary_dim = width, .base = base});
}

/// Adds the sinusoidal encoding to embeddings x [batch, tokens, 1, width] in place:
///
///   PE(t, 2i) = sin(t / 10000^(2i / width)),  PE(t, 2i + 1) = cos(t / 10000^(2i / width)).
///
/// `table` is any position table of sinusoidal_frequencies(), a CosSinTable<T> for example: as long
/// as the longest text, and longer at will, for its rows never change. The original multiplies the
/// embeddings by sqrt(width) first; do so if the model does.
///
/// Throws InvalidArgument if the width is not that of the table, if x has several heads or elements
/// that coincide, or if the table has rows per head or a magnitude; OutOfRange for a position
/// without a row. Never allocates. O(x). No parameters. Products of two encodings depend on the
/// distance alone, but the sum with the embeddings is absolute once q and k are projected from it;
/// RoPE keeps the relative part and drops the rest.
///
/// Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.5.
template <detail::FloatOrDouble T, PositionTable X>
requires std::same_as<typename X::value_type, T>
void add_sinusoidal(View<T> x, const X& table, const Positions& positions) {
  detail::for_each_sinusoid("rope::add_sinusoidal", x, table, positions,
                            [](T& element, T value) { element += value; });
}

/// Writes the sinusoidal encoding itself. As add_sinusoidal().
template <detail::FloatOrDouble T, PositionTable X>
requires std::same_as<typename X::value_type, T>
void write_sinusoidal(View<T> out, const X& table, const Positions& positions) {
  detail::for_each_sinusoid("rope::write_sinusoidal", out, table, positions,
                            [](T& element, T value) { element = value; });
}

/// Turns encodings PE(t) into PE(t + shift) in place, for all tokens of x [batch, tokens, 1,
/// width]: multiplies by the block rotation M_shift, which does not depend on t.
///
/// Each pair (sin, cos) is turned by minus the angle of position `shift`: M_k is rotate_inverse()
/// with the interleaved pairing at position k, and a negative shift is rotate(). That is the linear
/// map which the original paper hoped attention would learn, and which RoPE applies itself.
///
/// Throws as add_sinusoidal(), and OutOfRange if |shift| has no row. Never allocates. O(x).
///
/// Source: Vaswani et al., section 3.5.
template <detail::FloatOrDouble T, PositionTable X>
requires std::same_as<typename X::value_type, T>
void shift_sinusoidal(View<T> x, const X& table, Extent shift) {
  constexpr const char* who = "rope::shift_sinusoidal";
  const std::int64_t by = shift;
  detail::require(detail::first_failure(
      [&] { return detail::check_sinusoidal_table(who, table); },
      [&] {
        return detail::check_embeddings(who, x.layout(), 2 * table.pairs(),
                                        "the table's pairs make a width of");
      },
      [&] {
        return by > -table.rows() && by < table.rows()
                   ? Status()
                   : detail::failure(ErrorKind::out_of_range,
                                     "%s: a shift of %lld has no row in a table of rows 0 .. %lld",
                                     who, static_cast<long long>(by),
                                     static_cast<long long>(table.rows() - 1));
      }));
  // All tokens turn alike, as the heads of one token do.
  const View<T> as_heads(x.data(), {x.batch(), 1, x.tokens(), x.dim()},
                         {x.batch_stride(), 0, x.token_stride(), x.dim_stride()});
  if (by < 0) {
    rotate<Pairing::interleaved>(as_heads, table, from(-by));
  } else {
    rotate_inverse<Pairing::interleaved>(as_heads, table, from(by));
  }
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
