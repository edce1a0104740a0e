#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/array.hpp"
#include "rope/detail/cache_check.hpp"
#include "rope/detail/cache_state.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope {

/// The positions begin .. end - 1. An end beyond a sequence's next position is fine.
struct CacheRange {
  required<Extent> begin;
  required<Extent> end;
};

inline namespace ROPE_DETAIL_UNIT {  // unoptimised code reads constants from memory

/// As the end of a CacheRange: behind everything.
inline constexpr std::int64_t no_end = (std::numeric_limits<std::int64_t>::max)();

}  // namespace ROPE_DETAIL_UNIT

/// Where CacheIndex::append() put tokens: token i is at position first_position + i, in slots[i].
struct Placement {
  std::int64_t first_position;
  /// Valid until the sequence is changed.
  std::span<const std::int64_t> slots;
};

/// What CacheIndex::keep() leaves of a sequence, in tokens.
struct Kept {
  required<Extent> sinks;   ///< the first ones
  required<Extent> window;  ///< the last ones
};

struct CacheIndexOptions {
  /// How many coordinates a position has. With more than 1 (M-RoPE, images) the index only keeps
  /// the order of the tokens, the coordinates stay with the caller, and nothing can be shifted.
  Extent axes = 1;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline std::span<const std::int64_t> slots_of(const CachedSequence& sequence) noexcept {
  return {sequence.slots.begin(), static_cast<std::size_t>(sequence.slots.size)};
}

inline SequenceId add_sequence(CacheState& state) {
  append(state.sequences, CachedSequence(SequenceId{state.next_id}, 0));
  return SequenceId{state.next_id++};
}

inline SequenceId copy_sequence(CacheState& state, SequenceId source, std::int64_t begin,
                                std::int64_t end) {
  constexpr const char* who = "rope::CacheIndex::copy";
  const CachedSequence& from = sequence_of(who, state, source);
  require_range(who, begin, end);
  const std::int64_t first = first_entry_from(state, from, begin);
  const std::int64_t last = first_entry_from(state, from, end);
  CachedSequence made(SequenceId{state.next_id}, (std::min)(end, from.next_position));
  make_room(made.slots, last - first);
  for (std::int64_t entry = first; entry < last; ++entry) {
    append_in_room(made.slots, from.slots[entry]);
  }
  append(state.sequences, std::move(made));
  for (const std::int64_t slot : state.sequences.back().slots) {
    ++state[slot].holders;
  }
  return SequenceId{state.next_id++};
}

inline void drop_sequence(CacheState& state, SequenceId id) {
  const std::int64_t place = require_sequence("rope::CacheIndex::drop", state, id);
  for (const std::int64_t slot : state.sequences[place].slots) {
    release(state, slot);
  }
  erase(state.sequences, place, place + 1);
}

inline Placement append(CacheState& state, SequenceId id, std::int64_t count) {
  constexpr const char* who = "rope::CacheIndex::append";
  CachedSequence& sequence = sequence_of(who, state, id);
  require_count(who, "count", count);
  require_free(who, state, count, state.free);
  const std::int64_t first = sequence.next_position;
  if (count > no_end - first) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument,
                  "%s: %lld tokens from position %lld on do not fit in 64 bits", who,
                  static_cast<long long>(count), static_cast<long long>(first)));
  }
  append_tokens(state, sequence, count);
  return {first, slots_of(sequence).last(static_cast<std::size_t>(count))};
}

inline void set_next_position(CacheState& state, SequenceId id, std::int64_t position) {
  constexpr const char* who = "rope::CacheIndex::set_next_position";
  CachedSequence& sequence = sequence_of(who, state, id);
  const std::int64_t least =
      sequence.slots.size == 0 ? 0 : state[sequence.slots.back()].position + 1;
  if (position < least) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument,
                  "%s: the next position of sequence %lld must be at least %lld, got %lld", who,
                  static_cast<long long>(id), static_cast<long long>(least),
                  static_cast<long long>(position)));
  }
  sequence.next_position = position;
}

inline void remove_range(CacheState& state, SequenceId id, std::int64_t begin, std::int64_t end) {
  constexpr const char* who = "rope::CacheIndex::remove";
  CachedSequence& sequence = sequence_of(who, state, id);
  require_range(who, begin, end);
  remove_entries(state, sequence, first_entry_from(state, sequence, begin),
                 first_entry_from(state, sequence, end));
  if (end >= sequence.next_position) {
    sequence.next_position = (std::min)(sequence.next_position, begin);
  }
}

inline std::vector<SlotMove> shift_range(CacheState& state, SequenceId id, std::int64_t begin,
                                         std::int64_t end, std::int64_t delta) {
  constexpr const char* who = "rope::CacheIndex::shift";
  CachedSequence& sequence = sequence_of(who, state, id);
  require_one_axis(who, state);
  require_range(who, begin, end);
  const std::int64_t first = first_entry_from(state, sequence, begin);
  const std::int64_t last = first_entry_from(state, sequence, end);
  const bool moves_next = begin <= sequence.next_position && end >= sequence.next_position;
  require_order(who, state, sequence, first, last, moves_next, delta);
  if (delta != 0) {
    require_free(who, state, count_shared(state, sequence, first, last), state.free);
  }
  std::vector<SlotMove> moves = remove_and_shift(state, sequence, first, first, last, delta);
  if (moves_next) {
    sequence.next_position += delta;
  }
  return moves;
}

inline void slide(CacheState& state, SequenceId id, std::int64_t window) {
  constexpr const char* who = "rope::CacheIndex::slide";
  CachedSequence& sequence = sequence_of(who, state, id);
  require_count(who, "window", window);
  const std::int64_t begin = (std::max)(std::int64_t{0}, sequence.next_position - window);
  remove_entries(state, sequence, 0, first_entry_from(state, sequence, begin));
}

inline std::vector<SlotMove> keep(CacheState& state, SequenceId id, std::int64_t sinks,
                                  std::int64_t window) {
  constexpr const char* who = "rope::CacheIndex::keep";
  CachedSequence& sequence = sequence_of(who, state, id);
  require_count(who, "sinks", sinks);
  require_count(who, "window", window);
  const std::int64_t size = sequence.slots.size;
  if (sinks >= size || window >= size - sinks) {
    return {};
  }
  const auto position = [&](std::int64_t entry) { return state[sequence.slots[entry]].position; };
  const std::int64_t begin = size - window;
  const std::int64_t target = sinks == 0 ? position(0) : position(sinks - 1) + 1;
  const std::int64_t delta = target - (begin < size ? position(begin) : sequence.next_position);
  if (delta != 0) {
    require_one_axis(who, state);
    const std::int64_t freed = begin - sinks - count_shared(state, sequence, sinks, begin);
    require_free(who, state, count_shared(state, sequence, begin, size), state.free + freed);
  }
  std::vector<SlotMove> moves = remove_and_shift(state, sequence, sinks, begin, size, delta);
  sequence.next_position += delta;
  return moves;
}

inline std::vector<SlotMove> unshare(CacheState& state, SequenceId id) {
  constexpr const char* who = "rope::CacheIndex::unshare";
  CachedSequence& sequence = sequence_of(who, state, id);
  const std::int64_t size = sequence.slots.size;
  const std::int64_t shared = count_shared(state, sequence, 0, size);
  require_free(who, state, shared, state.free);
  std::vector<SlotMove> moves;
  Array<std::int64_t> scratch;
  moves.reserve(static_cast<std::size_t>(shared));
  make_room(scratch, shared);
  unshare_entries(state, sequence, 0, size, moves, scratch);
  return moves;
}

inline std::vector<SlotRun> slot_runs(const CachedSequence& sequence) {
  std::vector<SlotRun> runs;
  for (const std::int64_t slot : sequence.slots) {
    if (!runs.empty() && runs.back().first + runs.back().count == slot) {
      ++runs.back().count;
    } else {
      runs.push_back({slot, 1});
    }
  }
  return runs;
}

inline std::vector<std::int64_t> positions_of(const CacheState& state,
                                              const CachedSequence& sequence) {
  std::vector<std::int64_t> positions;
  positions.reserve(static_cast<std::size_t>(sequence.slots.size));
  for (const std::int64_t slot : sequence.slots) {
    positions.push_back(state[slot].position);
  }
  return positions;
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

/// Which token of which sequence is at what position, and in which slot of a key and value cache:
/// all that a cache must know beside the numbers, once for all layers.
///
/// A slot is one token's place, from 0 to slots() - 1, in every store that goes with the index: a
/// KeyStore for each layer, and the caller's values. A sequence's tokens have rising positions, and
/// its next position is kept apart from their number, so that tokens can be dropped in front (a
/// sliding window), in the middle (attention sinks) or at the end (speculation that failed).
///
/// Changing a position changes an integer here and nothing else: a KeyStore compares it with the
/// position that its key is rotated for, and turns the key by the difference when it is next used,
/// once, however many shifts there were.
///
/// Sequences made by copy() share slots. A shared slot has one position: when one of the sequences
/// is shifted, it gets slots of its own for what it shares, the others keep theirs, and the moves
/// that are returned say what to copy. Pass moves to KeyStore::follow() and do the same with the
/// values, in their order and before the next call that changes the index.
///
/// A copy of an index goes its own way, and gives its tokens numbers that the original gives to
/// others: a store goes with one of them.
///
/// Every call checks first and changes nothing if it throws: OutOfRange for a sequence or slot that
/// there is not and for want of free slots, InvalidArgument otherwise; std::bad_alloc. Not to be
/// changed by several threads at once; const functions may be called from many.
class CacheIndex {
 public:
  /// An empty cache. Throws InvalidArgument for a negative number of slots, or one above 2^48, and
  /// for fewer than 1 axis. 24 bytes a slot.
  ROPE_DETAIL_FORWARD explicit CacheIndex(Extent slots, const CacheIndexOptions& options = {})
      : state_(detail::make_cache_state(slots, options.axes)) {}

  // Spelt out for their attribute: implicit ones could be shared by differently compiled units.
  ROPE_DETAIL_FORWARD CacheIndex(const CacheIndex&) = default;
  ROPE_DETAIL_FORWARD CacheIndex(CacheIndex&&) = default;
  ROPE_DETAIL_FORWARD CacheIndex& operator=(const CacheIndex&) = default;
  ROPE_DETAIL_FORWARD CacheIndex& operator=(CacheIndex&&) = default;
  ROPE_DETAIL_FORWARD ~CacheIndex() = default;

  ROPE_DETAIL_FORWARD std::int64_t slots() const noexcept { return state_.size(); }
  ROPE_DETAIL_FORWARD std::int64_t free_slots() const noexcept { return state_.free; }
  ROPE_DETAIL_FORWARD std::int64_t axes() const noexcept { return state_.axes; }
  /// How many sequences there are.
  ROPE_DETAIL_FORWARD std::int64_t sequences() const noexcept { return state_.sequences.size; }
  ROPE_DETAIL_FORWARD bool contains(SequenceId sequence) const noexcept {
    return detail::find_sequence(state_, sequence) >= 0;
  }

  /// A new, empty sequence, whose next position is 0.
  ROPE_DETAIL_FORWARD SequenceId add_sequence() { return detail::add_sequence(state_); }

  /// A new sequence of the same tokens at the same positions, in the same slots: for another answer
  /// to one prompt, or the next step of a beam. Takes no slot. O(tokens).
  ROPE_DETAIL_FORWARD SequenceId copy(SequenceId source) {
    return detail::copy_sequence(state_, source, 0, no_end);
  }
  /// The same with only the tokens at these positions, such as a common prompt; its next position
  /// is the end of the range, if the source's does not come before.
  ROPE_DETAIL_FORWARD SequenceId copy(SequenceId source, const CacheRange& range) {
    return detail::copy_sequence(state_, source, range.begin.value(), range.end.value());
  }

  /// Ends a sequence. Slots that no other one shares become free. O(tokens).
  ROPE_DETAIL_FORWARD void drop(SequenceId sequence) { detail::drop_sequence(state_, sequence); }

  /// Gives `count` new tokens slots and the positions from the next one on. Chunks of any size give
  /// the same positions as one call. Consecutive slots as far as possible. O(count), and O(slots)
  /// for each place where they are not.
  ROPE_DETAIL_FORWARD Placement append(SequenceId sequence, Extent count) {
    return detail::append(state_, sequence, count);
  }

  /// Leaves out positions: the next appended token is at `position`. Throws InvalidArgument if that
  /// is not above the last token's.
  ROPE_DETAIL_FORWARD void set_next_position(SequenceId sequence, Extent position) {
    detail::set_next_position(state_, sequence, position);
  }

  /// Takes the tokens at these positions out of a sequence; the others stay where they are. If the
  /// range reaches to the next position, that goes back to where the range begins: removing {5,
  /// no_end} takes back all from position 5 on. O(tokens).
  ROPE_DETAIL_FORWARD void remove(SequenceId sequence, const CacheRange& range) {
    detail::remove_range(state_, sequence, range.begin.value(), range.end.value());
  }

  /// Adds `delta` to the positions of a range of a sequence, and to the next position if the range
  /// reaches to it. Throws InvalidArgument if a position would be negative, or if tokens would meet
  /// or pass others, and for positions of more than one axis; OutOfRange if there are not as many
  /// free slots as the sequence shares in the range. O(tokens).
  [[nodiscard]] ROPE_DETAIL_FORWARD std::vector<SlotMove> shift(SequenceId sequence,
                                                                const CacheRange& range,
                                                                Extent delta) {
    return detail::shift_range(state_, sequence, range.begin.value(), range.end.value(), delta);
  }

  /// Drops the tokens that are `window` positions or more before the next one, as models with a
  /// sliding window do (Mistral, Gemma). Positions stay as they are. O(tokens).
  ROPE_DETAIL_FORWARD void slide(SequenceId sequence, Extent window) {
    detail::slide(state_, sequence, window);
  }

  /// Drops all but the first and the last tokens, and moves the last ones to directly behind the
  /// first ones, the next position too: attention sinks with a window, and the context shift past a
  /// trained length. Nothing happens if the sequence has no more tokens than that. With sinks = 0
  /// the window moves to where the sequence began. O(tokens); moves and errors as shift().
  ///
  /// Source: Xiao et al., "Efficient Streaming Language Models with Attention Sinks" (2023),
  /// section 3.2: positions are those within the cache.
  [[nodiscard]] ROPE_DETAIL_FORWARD std::vector<SlotMove> keep(SequenceId sequence,
                                                               const Kept& kept) {
    return detail::keep(state_, sequence, kept.sinks.value(), kept.window.value());
  }

  /// Gives a sequence slots of its own for all that it shares: before its frequencies change, but
  /// not those of the others.
  [[nodiscard]] ROPE_DETAIL_FORWARD std::vector<SlotMove> unshare(SequenceId sequence) {
    return detail::unshare(state_, sequence);
  }

  /// Moves what is in use to the lowest slots, in its order, so that the free ones are in one
  /// piece. O(slots).
  [[nodiscard]] ROPE_DETAIL_FORWARD std::vector<SlotMove> compact() {
    return detail::compact_slots(state_);
  }

  /// The position that the next appended token gets.
  ROPE_DETAIL_FORWARD std::int64_t next_position(SequenceId sequence) const {
    return detail::sequence_of("rope::CacheIndex::next_position", state_, sequence).next_position;
  }

  /// The slots of a sequence's tokens, by rising position. Valid until the index is changed.
  ROPE_DETAIL_FORWARD std::span<const std::int64_t> slots(SequenceId sequence) const& {
    return detail::slots_of(detail::sequence_of("rope::CacheIndex::slots", state_, sequence));
  }
  std::span<const std::int64_t> slots(SequenceId sequence) const&& = delete;  // would dangle

  /// The same as runs of consecutive slots: each is a block of keys, `keys.slice_tokens(run.first,
  /// run.count)`, whose positions rise. O(tokens).
  ROPE_DETAIL_FORWARD std::vector<SlotRun> runs(SequenceId sequence) const {
    return detail::slot_runs(detail::sequence_of("rope::CacheIndex::runs", state_, sequence));
  }

  /// The positions of a sequence's tokens, rising. O(tokens).
  ROPE_DETAIL_FORWARD std::vector<std::int64_t> positions(SequenceId sequence) const {
    return detail::positions_of(
        state_, detail::sequence_of("rope::CacheIndex::positions", state_, sequence));
  }

  /// How many tokens a sequence has.
  ROPE_DETAIL_FORWARD std::int64_t tokens(SequenceId sequence) const {
    return detail::sequence_of("rope::CacheIndex::tokens", state_, sequence).slots.size;
  }

  /// The position of the token in a slot. Throws OutOfRange if there is none.
  ROPE_DETAIL_FORWARD std::int64_t position(Extent slot) const {
    return detail::used_slot("rope::CacheIndex::position", state_, slot).position;
  }

  /// How many sequences the token in a slot belongs to; 0 for a free one.
  ROPE_DETAIL_FORWARD std::int64_t holders(Extent slot) const noexcept {
    return slot < 0 || slot >= slots() ? 0 : state_[slot].holders;
  }

  /// For KeyStore. Not part of the interface.
  ROPE_DETAIL_FORWARD const detail::CacheState& state() const noexcept { return state_; }

 private:
  detail::CacheState state_;
};

}  // namespace rope
