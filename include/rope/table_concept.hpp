#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace rope {

/// What chooses the row of a table that a token is turned by.
enum class RowAddressing : unsigned char {
  position,  ///< the token's position: rotate() takes Positions with it
  token,     ///< the token itself, [batch or 1, tokens]: the table was made for these tokens, and
             ///< rotate() takes no positions
};

/// Cos and sin of consecutive pairs of one row, one after another in memory.
template <class T>
struct TableRow {
  const T* cos;
  const T* sin;
};

/// Anything that has rows of cos and sin: the tables of this library, and yours.
///
/// `row(row, head, first_pair, count, scratch)` gives the entries of `count` pairs from
/// `first_pair` on, either where they are stored or made on demand in `scratch`, which has room for
/// 2 * count values. rotate() calls it after it has checked the indices, so it needs no checks; it
/// must not throw or allocate, and must be safe to call from several threads. `heads()` is 1 where
/// all heads share a row; `magnitude()` is the factor contained in cos and sin.
template <class X>
concept Table = requires(const X& table, std::int64_t i, typename X::value_type* scratch) {
  requires std::same_as<std::remove_cv_t<decltype(X::addressing)>, RowAddressing>;
  { table.heads() } -> std::convertible_to<std::int64_t>;
  { table.pairs() } -> std::convertible_to<std::int64_t>;
  { table.magnitude() } -> std::convertible_to<double>;
  { table.row(i, i, i, i, scratch) }
  noexcept->std::same_as<TableRow<typename X::value_type>>;
};

/// A table whose row is a position from 0 to rows() - 1.
template <class X>
concept PositionTable = Table<X> &&(X::addressing == RowAddressing::position) &&
                        requires(const X& table) {
  { table.rows() } -> std::convertible_to<std::int64_t>;
};

/// A table whose row is a token: row number batch_row * tokens() + token, or just the token where
/// batch() is 1.
template <class X>
concept TokenAddressedTable = Table<X> &&(X::addressing == RowAddressing::token) &&
                              requires(const X& table) {
  { table.batch() } -> std::convertible_to<std::int64_t>;
  { table.tokens() } -> std::convertible_to<std::int64_t>;
};

}  // namespace rope
