#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/bits.hpp"
#include "rope/detail/source.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/row_positions.hpp"

namespace rope {
namespace detail {

/// An attention mask as the caller has it. A temporary will do: it is only read during the call.
template <class S>
concept MaskSource = SourceOf<S&> && std::is_arithmetic_v<source_element_t<S&>>;

inline namespace ROPE_DETAIL_UNIT {

/// Whether the token is there (1) or padding (0); negative for any other value.
template <class Value>
constexpr int mask_bit(Value value) noexcept {
  if constexpr (std::floating_point<Value>) {
    // By bits: under -ffast-math a NaN compares equal to 0.
    const auto bits = bits_of(static_cast<double>(value));
    if ((bits << 1) == 0) return 0;
    return bits == bits_of(1.0) ? 1 : -1;
  } else if constexpr (std::same_as<Value, bool>) {
    return value ? 1 : 0;
  } else {
    return value == 0 ? 0 : value == 1 ? 1 : -1;
  }
}

template <class Value>
Status check_mask(const char* who, const Source<Value>& mask, const PositionShape& shape) noexcept {
  if (const Status status =
          check_listed(who, "mask values", mask.data == nullptr, mask.size, shape);
      !status) {
    return status;
  }
  const std::int64_t count = shape.batch() * shape.tokens();
  for (std::int64_t i = 0; i < count; ++i) {
    if (mask_bit(mask.data[i]) < 0) [[unlikely]] {
      return failure(
          ErrorKind::invalid_argument,
          "%s: a mask has 1 for tokens and 0 for padding, got %g for token %lld of batch "
          "row %lld",
          who, static_cast<double>(mask.data[i]), static_cast<long long>(i % shape.tokens()),
          static_cast<long long>(i / shape.tokens()));
    }
  }
  return {};
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace detail

inline namespace ROPE_DETAIL_UNIT {

/// The position of each token of a padded batch, [batch, tokens] packed: the number of real tokens
/// before it in its row. Padding, on the left, on the right or in between, gets `pad_position`.
///
/// `mask` holds 1 for a token and 0 for padding, of any arithmetic type: a pointer, an array, a
/// container or a span, of the shape {batch, tokens} or, for one sequence, {tokens}. An additive
/// mask of 0 and -infinity is refused, because 0 means the opposite there. Tables have no row for a
/// negative position, so choose a pad_position that they have; models differ (0 and 1 are usual),
/// and nothing that attends to real tokens alone depends on it.
///
/// Throws InvalidArgument for a mask that does not have the shape or holds another value. O(batch *
/// tokens).
template <detail::MaskSource S>
std::vector<std::int64_t> positions_from_mask(const S& mask, const PositionShape& shape,
                                              Extent pad_position = 0) {
  const auto given = detail::source(mask);
  detail::require(detail::check_mask("rope::positions_from_mask", given, shape));
  const std::int64_t tokens = shape.tokens();
  std::vector<std::int64_t> positions(static_cast<std::size_t>(shape.batch() * tokens));
  std::size_t i = 0;
  for (std::int64_t row = 0; row < shape.batch(); ++row) {
    std::int64_t before = 0;
    for (std::int64_t token = 0; token < tokens; ++token, ++i) {
      const bool is_real = detail::mask_bit(given.data[i]) == 1;
      positions[i] = is_real ? before++ : std::int64_t{pad_position};
    }
  }
  return positions;
}

/// The position of the next token of each row, [batch]: how many real tokens the row has. For
/// from_each(), when decoding goes on after a padded prompt.
///
/// Takes and throws what positions_from_mask() does. O(batch * tokens).
template <detail::MaskSource S>
std::vector<std::int64_t> next_positions_from_mask(const S& mask, const PositionShape& shape) {
  const auto given = detail::source(mask);
  detail::require(detail::check_mask("rope::next_positions_from_mask", given, shape));
  std::vector<std::int64_t> next(static_cast<std::size_t>(shape.batch()), 0);
  std::size_t i = 0;
  for (std::int64_t& count : next) {
    for (std::int64_t token = 0; token < shape.tokens(); ++token, ++i) {
      count += detail::mask_bit(given.data[i]);
    }
  }
  return next;
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
