#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "rope/argument.hpp"
#include "rope/detail/source.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/table_concept.hpp"

namespace rope {

/// The shape of a caller's cos or sin that is addressed by position: {rows, width}.
struct RowsShape {
  ROPE_DETAIL_FORWARD constexpr RowsShape(Extent row_count, Extent row_width)
      : rows(row_count), width(row_width) {}
  std::int64_t rows;
  std::int64_t width;
};

/// The shape of a caller's cos or sin with a row for each token: {batch or 1, tokens, width}.
struct TokensShape {
  ROPE_DETAIL_FORWARD constexpr TokensShape(Extent batch_rows, Extent token_count, Extent row_width)
      : batch(batch_rows), tokens(token_count), width(row_width) {}
  std::int64_t batch;
  std::int64_t tokens;
  std::int64_t width;
};

/// How a caller's cos and sin are stored. Strides count elements and must not be negative; packed
/// where not given.
struct TableViewOptions {
  /// How many features of a head the table rotates. Asked for so that a table with every value
  /// stored twice (width rotary_dim instead of rotary_dim / 2) is noticed instead of read wrongly.
  required<Extent> rotary_dim;
  /// From one row (position or token) to the next.
  std::optional<Extent> row_stride = std::nullopt;
  /// From one batch row to the next. Only for tables with a row for each token.
  std::optional<Extent> batch_stride = std::nullopt;
  /// From one pair to the next.
  Extent pair_stride = 1;
  /// The factor that is contained in cos and sin (attention factor); rotate_inverse() divides by
  /// its square.
  Real magnitude = 1.0;
};

namespace detail {

/// Where the entries of a caller's table lie: row r of batch row b starts at b * batch_stride + r *
/// row_stride.
struct CallerTable {
  std::int64_t batch;
  std::int64_t rows;
  std::int64_t pairs;
  std::int64_t batch_stride;
  std::int64_t row_stride;
  std::int64_t pair_stride;
  double magnitude;
};

}  // namespace detail

/// The caller's own cos and sin, [rows, pairs] with a row for each position or [batch or 1, tokens,
/// pairs] with a row for each token. Made by table_view() and fused_table_view(). Non-owning;
/// trivially copyable.
template <class T, RowAddressing by>
class TableView {
 public:
  using value_type = T;
  static constexpr RowAddressing addressing = by;

  /// For table_view() and fused_table_view(), which check.
  ROPE_DETAIL_FORWARD TableView(const T* cos, const T* sin,
                                const detail::CallerTable& shape) noexcept
      : cos_(cos), sin_(sin), shape_(shape) {}

  ROPE_DETAIL_FORWARD std::int64_t rows() const noexcept requires(by == RowAddressing::position) {
    return shape_.rows;
  }
  ROPE_DETAIL_FORWARD std::int64_t batch() const noexcept requires(by == RowAddressing::token) {
    return shape_.batch;
  }
  ROPE_DETAIL_FORWARD std::int64_t tokens() const noexcept requires(by == RowAddressing::token) {
    return shape_.rows;
  }
  ROPE_DETAIL_FORWARD std::int64_t heads() const noexcept { return 1; }
  ROPE_DETAIL_FORWARD std::int64_t pairs() const noexcept { return shape_.pairs; }
  ROPE_DETAIL_FORWARD std::int64_t rotary_dim() const noexcept { return 2 * shape_.pairs; }
  ROPE_DETAIL_FORWARD double magnitude() const noexcept { return shape_.magnitude; }

  /// For rotate(): see the concept Table. Not checked.
  ROPE_DETAIL_FORWARD TableRow<T> row(std::int64_t row, std::int64_t /*head*/,
                                      std::int64_t first_pair, std::int64_t count,
                                      T* scratch) const noexcept {
    const std::int64_t stride = shape_.pair_stride;
    const std::int64_t offset = row_offset(row) + first_pair * stride;
    if (stride == 1) {
      return {cos_ + offset, sin_ + offset};
    }
    for (std::int64_t i = 0; i < count; ++i) {
      scratch[i] = cos_[offset + i * stride];
      scratch[count + i] = sin_[offset + i * stride];
    }
    return {scratch, scratch + count};
  }

 private:
  ROPE_DETAIL_FORWARD std::int64_t row_offset(std::int64_t row) const noexcept {
    if (shape_.batch == 1) {
      return row * shape_.row_stride;
    }
    return row / shape_.rows * shape_.batch_stride + row % shape_.rows * shape_.row_stride;
  }

  const T* cos_;
  const T* sin_;
  detail::CallerTable shape_;
};

namespace detail::inline ROPE_DETAIL_UNIT {

/// Checks the shape and the options, fills in packed strides, and sees that the last entry lies
/// within `size` elements where that is known (not negative). A row must be `width` wide:
/// rotary_dim / 2, or rotary_dim if it is fused.
inline Status check_caller_table(const char* who, const char* argument, const TokensShape& shape,
                                 const TableViewOptions& options, bool fused, bool data_is_null,
                                 std::int64_t size, CallerTable& table) noexcept {
  const std::int64_t rotary_dim = options.rotary_dim.value();
  if (rotary_dim <= 0 || rotary_dim % 2 != 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: rotary_dim must be even and above 0, got %lld",
                   who, static_cast<long long>(rotary_dim));
  }
  const std::int64_t width = fused ? rotary_dim : rotary_dim / 2;
  if (shape.width != width) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: the width of %s is %lld, but for a rotary_dim of %lld it must be %lld (%s)",
                   who, argument, static_cast<long long>(shape.width),
                   static_cast<long long>(rotary_dim), static_cast<long long>(width),
                   fused ? "one cos and one sin for each pair" : "one value for each pair");
  }
  if (shape.batch < 0 || shape.tokens < 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: the shape of %s must not be negative, got [%lld, %lld, %lld]", who,
                   argument, static_cast<long long>(shape.batch),
                   static_cast<long long>(shape.tokens), static_cast<long long>(shape.width));
  }
  table = {.batch = shape.batch,
           .rows = shape.tokens,
           .pairs = rotary_dim / 2,
           .batch_stride = 0,
           .row_stride = 0,
           .pair_stride = options.pair_stride,
           .magnitude = options.magnitude};
  bool overflow = __builtin_mul_overflow(width, table.pair_stride, &table.row_stride);
  if (options.row_stride) {
    table.row_stride = *options.row_stride;
  }
  overflow |= __builtin_mul_overflow(table.rows, table.row_stride, &table.batch_stride);
  if (options.batch_stride) {
    table.batch_stride = *options.batch_stride;
  }
  if (overflow) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: the extent of %s overflows a 64-bit offset",
                   who, argument);
  }
  if (table.batch_stride < 0 || table.row_stride < 0 || table.pair_stride < 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: strides must not be negative, got batch_stride %lld, row_stride %lld, "
                   "pair_stride %lld",
                   who, static_cast<long long>(table.batch_stride),
                   static_cast<long long>(table.row_stride),
                   static_cast<long long>(table.pair_stride));
  }
  if (table.batch == 0 || table.rows == 0) {
    return {};
  }
  if (data_is_null) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: %s is null", who, argument);
  }
  const std::int64_t steps[3][2] = {{table.batch - 1, table.batch_stride},
                                    {table.rows - 1, table.row_stride},
                                    {width - 1, table.pair_stride}};
  std::int64_t needed = 1;
  for (const auto& [count, stride] : steps) {
    std::int64_t reach = 0;
    overflow |= __builtin_mul_overflow(count, stride, &reach) ||
                __builtin_add_overflow(needed, reach, &needed);
  }
  if (overflow) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: the extent of %s overflows a 64-bit offset",
                   who, argument);
  }
  if (size >= 0 && size < needed) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: %s has %lld elements, but its shape and strides need %lld", who, argument,
                   static_cast<long long>(size), static_cast<long long>(needed));
  }
  return {};
}

template <RowAddressing by, class Cos, class Sin>
auto two_array_view(const Source<Cos>& cos, const Source<Sin>& sin, const TokensShape& shape,
                    const TableViewOptions& options) {
  using Value = std::remove_const_t<Cos>;
  static_assert(std::same_as<Value, std::remove_const_t<Sin>>,
                "cos and sin must have the same element type");
  static_assert(std::floating_point<Value>, "table entries are float, or double for double data");
  constexpr const char* who = "rope::table_view";
  CallerTable table;
  require(
      check_caller_table(who, "cos", shape, options, false, cos.data == nullptr, cos.size, table));
  require(
      check_caller_table(who, "sin", shape, options, false, sin.data == nullptr, sin.size, table));
  return TableView<Value, by>(cos.data, sin.data, table);
}

template <RowAddressing by, class T>
auto fused_view(const Source<T>& cos_sin, const TokensShape& shape,
                const TableViewOptions& options) {
  using Value = std::remove_const_t<T>;
  static_assert(std::floating_point<Value>, "table entries are float, or double for double data");
  CallerTable table;
  require(check_caller_table("rope::fused_table_view", "cos_sin", shape, options, true,
                             cos_sin.data == nullptr, cos_sin.size, table));
  const Value* cos = cos_sin.data;
  return TableView<Value, by>(cos, cos == nullptr ? cos : cos + table.pairs * table.pair_stride,
                              table);
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// The caller's cos and sin in two arrays, each of the shape {rows, rotary_dim / 2}, as a table
/// addressed by position, or {batch or 1, tokens, rotary_dim / 2}, as a table with a row for each
/// token.
///
/// `cos` and `sin` are pointers, or lasting containers or spans of float or double, whose size is
/// then checked. Throws InvalidArgument for a width other than rotary_dim / 2 (the full-width form
/// of x * cos + rotate(x) * sin has every value twice: pass its first half, or its every second
/// value by pair_stride 2), for negative strides and for too few elements. O(1).
template <detail::SourceOf Cos, detail::SourceOf Sin>
auto table_view(Cos&& cos, Sin&& sin, const RowsShape& shape, const TableViewOptions& options) {
  return detail::two_array_view<RowAddressing::position>(detail::source(cos), detail::source(sin),
                                                         {1, shape.rows, shape.width}, options);
}
template <detail::SourceOf Cos, detail::SourceOf Sin>
auto table_view(Cos&& cos, Sin&& sin, const TokensShape& shape, const TableViewOptions& options) {
  return detail::two_array_view<RowAddressing::token>(detail::source(cos), detail::source(sin),
                                                      shape, options);
}

/// The caller's table with cos and sin in one row, [cos of every pair | sin of every pair]: {rows,
/// rotary_dim} by position, or {batch or 1, tokens, rotary_dim} with a row for each token.
/// Otherwise as table_view().
template <detail::SourceOf S>
auto fused_table_view(S&& cos_sin, const RowsShape& shape, const TableViewOptions& options) {
  return detail::fused_view<RowAddressing::position>(detail::source(cos_sin),
                                                     {1, shape.rows, shape.width}, options);
}
template <detail::SourceOf S>
auto fused_table_view(S&& cos_sin, const TokensShape& shape, const TableViewOptions& options) {
  return detail::fused_view<RowAddressing::token>(detail::source(cos_sin), shape, options);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
