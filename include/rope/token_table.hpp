#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "rope/argument.hpp"
#include "rope/coordinates.hpp"
#include "rope/detail/angle_addition.hpp"
#include "rope/detail/token_check.hpp"
#include "rope/detail/token_rows.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/executor.hpp"
#include "rope/frequencies.hpp"
#include "rope/table_concept.hpp"
#include "rope/table_options.hpp"

namespace rope {

/// Cos and sin of every pair for each of listed tokens, whose positions may have several axes,
/// fractions and any sign: the table for images, video and learned frequencies.
///
/// Entry: magnitude * cos(sum over the axes of coordinate * frequency), each product taken exactly
/// for the given doubles. T = float: within 0.51 ulp for values above 2^-20 and up to 4 axes; T =
/// double: within 4 * 2^-53 * magnitude for each axis. An entry depends on its own coordinates and
/// frequencies alone. With one axis and whole coordinates from 0 on, rows have the bits of those of
/// a CosSinTable; opposite coordinates have the same cos and opposite sin. The same bits on every
/// platform and for every executor.
///
/// rotate() takes it without positions. Made for tokens [batch or 1, tokens]; refill() makes it one
/// for others.
template <class T>
class TokenTable {
  static_assert(std::same_as<T, float> || std::same_as<T, double>,
                "table entries are float, or double for double data");

 public:
  using value_type = T;
  static constexpr RowAddressing addressing = RowAddressing::token;

  /// Rows for the tokens of `coordinates`, with the axes in the order of those of `frequencies`.
  ///
  /// Throws InvalidArgument if the numbers of axes differ, for coordinates that are not finite,
  /// angles beyond 2^53 radians on one axis, and sizes that overflow. O(tokens * heads * pairs *
  /// axes), near the speed of memory where few values occur on each axis, as in a grid.
  ROPE_DETAIL_FORWARD TokenTable(const Frequencies& frequencies, CoordinatesView coordinates,
                                 const TableOptions& options = {})
      : frequencies_(frequencies),
        angles_(options.angles),
        rounding_(options.round_entries_to),
        entries_(detail::token_table_entries<T>(frequencies_, coordinates, options, scratch_)),
        batch_(coordinates.batch()),
        tokens_(coordinates.tokens()) {}

  // Spelt out for their attribute: implicit ones could be shared by differently compiled units.
  ROPE_DETAIL_FORWARD TokenTable(const TokenTable&) = default;
  ROPE_DETAIL_FORWARD TokenTable(TokenTable&&) = default;
  ROPE_DETAIL_FORWARD TokenTable& operator=(const TokenTable&) = default;
  ROPE_DETAIL_FORWARD TokenTable& operator=(TokenTable&&) = default;
  ROPE_DETAIL_FORWARD ~TokenTable() = default;

  /// Makes this a table for other tokens: any batch and number of tokens that capacity() has room
  /// for. Never allocates, and is therefore divided into as many parts as the table was made in at
  /// most, or one for each 32 pairs of a head where that was one.
  ///
  /// Throws as the constructor does, and InvalidArgument for too many tokens; the table is then
  /// what it was. What the executor itself throws passes through, and leaves rows of either. Not
  /// while others use the table.
  ROPE_DETAIL_FORWARD void refill(CoordinatesView coordinates, ExecutorRef executor = {}) {
    detail::refill_token_table<T>(
        frequencies_, coordinates,
        {.angles = angles_, .round_entries_to = rounding_, .executor = executor}, scratch_,
        entries_, capacity());
    batch_ = coordinates.batch();
    tokens_ = coordinates.tokens();
  }

  /// 1 where all rows of a batch share the tokens' rows.
  ROPE_DETAIL_FORWARD std::int64_t batch() const noexcept { return batch_; }
  /// None where this was moved from.
  ROPE_DETAIL_FORWARD std::int64_t tokens() const noexcept {
    return frequencies_.values().empty() ? 0 : tokens_;
  }
  /// The largest batch * tokens that refill() has room for.
  ROPE_DETAIL_FORWARD std::int64_t capacity() const noexcept {
    return static_cast<std::int64_t>(entries_.size()) / row_elements();
  }
  /// 1 where all heads share the rows.
  ROPE_DETAIL_FORWARD std::int64_t heads() const noexcept { return frequencies_.heads(); }
  ROPE_DETAIL_FORWARD std::int64_t pairs() const noexcept { return frequencies_.pairs(); }
  ROPE_DETAIL_FORWARD std::int64_t rotary_dim() const noexcept { return frequencies_.rotary_dim(); }
  ROPE_DETAIL_FORWARD double magnitude() const noexcept { return frequencies_.magnitude(); }
  ROPE_DETAIL_FORWARD const rope::Frequencies& frequencies() const& noexcept {
    return frequencies_;
  }

  /// Cos of every pair for a token, for one set of heads. Throws OutOfRange if there is no such
  /// row.
  ROPE_DETAIL_FORWARD std::span<const T> cos(Extent batch, Extent token, Extent head = 0) const& {
    detail::require(detail::check_token_row("rope::TokenTable::cos", batch, batch_, token, tokens(),
                                            head, heads()));
    return {at(batch * tokens_ + token, head), static_cast<std::size_t>(pairs())};
  }

  /// Sin of every pair for a token, for one set of heads. Throws OutOfRange if there is no such
  /// row.
  ROPE_DETAIL_FORWARD std::span<const T> sin(Extent batch, Extent token, Extent head = 0) const& {
    detail::require(detail::check_token_row("rope::TokenTable::sin", batch, batch_, token, tokens(),
                                            head, heads()));
    return {at(batch * tokens_ + token, head) + pairs(), static_cast<std::size_t>(pairs())};
  }

  // Of a temporary, what these refer to would be gone.
  const rope::Frequencies& frequencies() const&& = delete;
  std::span<const T> cos(Extent batch, Extent token, Extent head = 0) const&& = delete;
  std::span<const T> sin(Extent batch, Extent token, Extent head = 0) const&& = delete;

  /// For rotate(): see the concept Table. Not checked.
  ROPE_DETAIL_FORWARD TableRow<T> row(std::int64_t row, std::int64_t head, std::int64_t first_pair,
                                      std::int64_t /*count*/, T* /*scratch*/) const noexcept {
    const T* cos = at(row, head) + first_pair;
    return {cos, cos + pairs()};
  }

 private:
  ROPE_DETAIL_FORWARD std::int64_t row_elements() const noexcept { return heads() * 2 * pairs(); }
  ROPE_DETAIL_FORWARD const T* at(std::int64_t row, std::int64_t head) const noexcept {
    return entries_.data() + row * row_elements() + head * 2 * pairs();
  }

  rope::Frequencies frequencies_;
  Angles angles_;
  EntryRounding rounding_;
  detail::TokenScratch scratch_;
  detail::TableEntries<T> entries_;
  std::int64_t batch_;
  std::int64_t tokens_;
};

}  // namespace rope
