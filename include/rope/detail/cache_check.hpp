#pragma once

#include <cstdint>
#include <utility>

#include "rope/detail/cache_state.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// The most slots there can be: all sizes made of it can be computed.
inline constexpr std::int64_t largest_slot_count = std::int64_t{1} << 48;

inline CacheState make_cache_state(std::int64_t slots, std::int64_t axes) {
  if (slots < 0 || slots > largest_slot_count || axes < 1) {
    raise(failure(ErrorKind::invalid_argument,
                  "rope::CacheIndex: slots must be from 0 to 2^48 and axes at least 1, got slots "
                  "%lld and axes %lld",
                  static_cast<long long>(slots), static_cast<long long>(axes)));
  }
  return {slots, axes};
}

/// The sequence's place among the others; raises if there is no such sequence.
inline std::int64_t require_sequence(const char* who, const CacheState& state, SequenceId id) {
  const std::int64_t found = find_sequence(state, id);
  if (found < 0) [[unlikely]] {
    raise(failure(ErrorKind::out_of_range, "%s: there is no sequence %lld", who,
                  static_cast<long long>(id)));
  }
  return found;
}

inline CachedSequence& sequence_of(const char* who, CacheState& state, SequenceId id) {
  return state.sequences[require_sequence(who, state, id)];
}
inline const CachedSequence& sequence_of(const char* who, const CacheState& state, SequenceId id) {
  return state.sequences[require_sequence(who, state, id)];
}

/// The slot, if a token is in it.
inline const Slot& used_slot(const char* who, const CacheState& state, std::int64_t slot) {
  if (slot < 0 || slot >= state.size() || state[slot].holders == 0) [[unlikely]] {
    raise(failure(ErrorKind::out_of_range, "%s: no token is in slot %lld of %lld", who,
                  static_cast<long long>(slot), static_cast<long long>(state.size())));
  }
  return state[slot];
}

inline void require_range(const char* who, std::int64_t begin, std::int64_t end) {
  if (begin < 0 || end < begin) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument,
                  "%s: the positions from %lld to before %lld are no range", who,
                  static_cast<long long>(begin), static_cast<long long>(end)));
  }
}

inline void require_free(const char* who, const CacheState& state, std::int64_t needed,
                         std::int64_t free) {
  // An index that was moved from has no slots left, whatever it counts as free.
  if (needed > free || needed > state.size()) [[unlikely]] {
    raise(failure(ErrorKind::out_of_range, "%s: %lld slots are needed, but %lld of %lld are free",
                  who, static_cast<long long>(needed), static_cast<long long>(free),
                  static_cast<long long>(state.size())));
  }
}

/// A shift turns keys by position * frequency once more, which says nothing about the other axes.
inline void require_one_axis(const char* who, const CacheState& state) {
  if (state.axes != 1) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument,
                  "%s: positions of %lld axes cannot be shifted by one number", who,
                  static_cast<long long>(state.axes)));
  }
}

inline void require_count(const char* who, const char* name, std::int64_t count) {
  if (count < 0) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument, "%s: %s must not be negative, got %lld", who, name,
                  static_cast<long long>(count)));
  }
}

[[noreturn]] ROPE_DETAIL_COLD inline void raise_collision(const char* who, std::int64_t begin,
                                                          std::int64_t end, std::int64_t delta,
                                                          const char* neighbour,
                                                          std::int64_t position) {
  raise(failure(ErrorKind::invalid_argument,
                "%s: the tokens at positions %lld to %lld, shifted by %lld, would meet or pass %s "
                "%lld",
                who, static_cast<long long>(begin), static_cast<long long>(end),
                static_cast<long long>(delta), neighbour, static_cast<long long>(position)));
}

/// Fails unless the entries begin .. end - 1 of a sequence, and its next position if that goes
/// with them, keep their places among the others when `delta` is added.
inline void require_order(const char* who, const CacheState& state, const CachedSequence& sequence,
                          std::int64_t begin, std::int64_t end, bool moves_next,
                          std::int64_t delta) {
  const auto position = [&](std::int64_t entry) { return state[sequence.slots[entry]].position; };
  const std::int64_t size = sequence.slots.size;
  if (begin == end && !moves_next) {
    return;
  }
  const std::int64_t next = sequence.next_position;
  const std::int64_t first = begin < end ? position(begin) : next;
  const std::int64_t last = moves_next ? next : position(end - 1);
  std::int64_t shifted_first = 0;
  std::int64_t shifted_last = 0;
  if (__builtin_add_overflow(first, delta, &shifted_first) ||
      __builtin_add_overflow(last, delta, &shifted_last)) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument,
                  "%s: position %lld shifted by %lld does not fit in 64 bits", who,
                  static_cast<long long>(delta < 0 ? first : last), static_cast<long long>(delta)));
  }
  if (shifted_first < 0) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument, "%s: position %lld shifted by %lld is negative", who,
                  static_cast<long long>(first), static_cast<long long>(delta)));
  }
  if (begin > 0 && shifted_first <= position(begin - 1)) [[unlikely]] {
    raise_collision(who, first, last, delta, "the token at", position(begin - 1));
  }
  if (!moves_next && end < size && shifted_last >= position(end)) [[unlikely]] {
    raise_collision(who, first, last, delta, "the token at", position(end));
  }
  if (!moves_next && shifted_last >= next) [[unlikely]] {
    raise_collision(who, first, last, delta, "the next position", next);
  }
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
