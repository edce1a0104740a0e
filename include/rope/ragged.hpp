#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/source.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/row_positions.hpp"

namespace rope {
namespace detail {

/// A list whose size is known; read during the call only.
template <class S>
concept IdList = LastingContainer<S&> && PositionId<std::remove_const_t<source_element_t<S&>>>;

inline namespace ROPE_DETAIL_UNIT {

template <class Id>
Status check_cu_seqlens(const char* who, const Source<const Id>& cu_seqlens) noexcept {
  if (cu_seqlens.size < 1) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: cu_seqlens has one entry more than there are sequences, got none", who);
  }
  if (cu_seqlens.data[0] != 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: cu_seqlens must begin with 0, got %lld", who,
                   static_cast<long long>(cu_seqlens.data[0]));
  }
  for (std::int64_t i = 1; i < cu_seqlens.size; ++i) {
    if (cu_seqlens.data[i] < cu_seqlens.data[i - 1]) [[unlikely]] {
      return failure(ErrorKind::invalid_argument,
                     "%s: cu_seqlens must not fall, but entry %lld is %lld after %lld", who,
                     static_cast<long long>(i), static_cast<long long>(cu_seqlens.data[i]),
                     static_cast<long long>(cu_seqlens.data[i - 1]));
    }
  }
  return {};
}

template <class Id, class Start>
std::vector<std::int64_t> make_ragged(const Id* cu_seqlens, std::int64_t sequences,
                                      const Start* starts) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(cu_seqlens[sequences]));
  std::size_t token = 0;
  for (std::int64_t s = 0; s < sequences; ++s) {
    const std::int64_t start = starts == nullptr ? 0 : starts[s];
    const std::int64_t count = std::int64_t{cu_seqlens[s + 1]} - cu_seqlens[s];
    for (std::int64_t t = 0; t < count; ++t) positions[token++] = start + t;
  }
  return positions;
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace detail

inline namespace ROPE_DETAIL_UNIT {

/// The position of each token of sequences that are packed one after the other, without padding:
/// counted from 0 in each. For at(ids, {ids.size()}) with a view of the packed tokens, thd().
///
/// `cu_seqlens` holds int32 or int64, the cumulated lengths that attention kernels take: sequence s
/// is tokens cu_seqlens[s] .. cu_seqlens[s + 1] - 1. Throws InvalidArgument if it is empty, does
/// not begin with 0 or falls somewhere. O(tokens).
template <detail::IdList S>
std::vector<std::int64_t> ragged_positions(const S& cu_seqlens) {
  const auto given = detail::source(cu_seqlens);
  using Id = std::remove_const_t<detail::source_element_t<const S&>>;
  detail::require(detail::check_cu_seqlens<Id>("rope::ragged_positions", {given.data, given.size}));
  return detail::make_ragged<Id, Id>(given.data, given.size - 1, nullptr);
}

/// The same where the first token of sequence s is at `starts[s]`: the next tokens of sequences
/// that each have some in the cache.
///
/// Throws InvalidArgument also for starts that are not one for each sequence.
template <detail::IdList S, detail::IdList Starts>
std::vector<std::int64_t> ragged_positions(const S& cu_seqlens, const Starts& starts) {
  const char* const who = "rope::ragged_positions";
  const auto given = detail::source(cu_seqlens);
  const auto first = detail::source(starts);
  using Id = std::remove_const_t<detail::source_element_t<const S&>>;
  detail::require(detail::check_cu_seqlens<Id>(who, {given.data, given.size}));
  if (first.size != given.size - 1) [[unlikely]] {
    detail::raise(detail::failure(
        ErrorKind::invalid_argument, "%s: %lld starts for the %lld sequences of cu_seqlens", who,
        static_cast<long long>(first.size), static_cast<long long>(given.size - 1)));
  }
  for (std::int64_t s = 0; s < first.size; ++s) {
    if (std::int64_t ignored; __builtin_add_overflow(
            std::int64_t{first.data[s]}, std::int64_t{given.data[s + 1]} - given.data[s], &ignored))
        [[unlikely]] {
      detail::raise(detail::failure(
          ErrorKind::invalid_argument, "%s: sequence %lld from %lld on ends beyond 2^63", who,
          static_cast<long long>(s), static_cast<long long>(first.data[s])));
    }
  }
  return detail::make_ragged(given.data, first.size, first.data);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
