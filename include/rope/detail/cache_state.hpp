#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "rope/detail/array.hpp"
#include "rope/detail/unit.hpp"

namespace rope {

/// Names a sequence of a CacheIndex. Given out by the index, and never again for another sequence.
enum class SequenceId : std::int64_t {};

/// What a slot holds must be copied to another slot. `from` may still be in use by other sequences.
struct SlotMove {
  std::int64_t from;
  std::int64_t to;
};

/// The slots first .. first + count - 1.
struct SlotRun {
  std::int64_t first;
  std::int64_t count;
};

namespace detail {

/// What a slot holds; all zero if it is free. Without initialisers, so that no constructor could be
/// shared by differently compiled units.
struct Slot {
  std::int64_t token;  // a number that no other append() has given; copies of a token share it
  std::int64_t position;
  std::int64_t holders;  // sequences; 0 if free, -1 if about to be taken
};

inline namespace ROPE_DETAIL_UNIT {
inline void append_free_slots(Array<Slot>& slots, std::int64_t count);
}

/// The tokens that one sequence has in the cache.
struct CachedSequence {
  ROPE_DETAIL_FORWARD CachedSequence(SequenceId sequence, std::int64_t next) noexcept
      : id(sequence), next_position(next) {}

  // Spelt out for their attribute: implicit ones could be shared by differently compiled units.
  ROPE_DETAIL_FORWARD CachedSequence(const CachedSequence&) = default;
  ROPE_DETAIL_FORWARD CachedSequence(CachedSequence&&) noexcept = default;
  ROPE_DETAIL_FORWARD CachedSequence& operator=(const CachedSequence&) = default;
  ROPE_DETAIL_FORWARD CachedSequence& operator=(CachedSequence&&) noexcept = default;
  ROPE_DETAIL_FORWARD ~CachedSequence() = default;

  SequenceId id;
  std::int64_t next_position;
  Array<std::int64_t> slots;  // of rising position
};

/// All that a CacheIndex knows.
struct CacheState {
  ROPE_DETAIL_FORWARD CacheState(std::int64_t slot_count, std::int64_t position_axes)
      : slots(), free(slot_count), axes(position_axes) {
    append_free_slots(slots, slot_count);
  }

  ROPE_DETAIL_FORWARD CacheState(const CacheState&) = default;
  ROPE_DETAIL_FORWARD CacheState(CacheState&&) = default;
  ROPE_DETAIL_FORWARD CacheState& operator=(const CacheState&) = default;
  ROPE_DETAIL_FORWARD CacheState& operator=(CacheState&&) = default;
  ROPE_DETAIL_FORWARD ~CacheState() = default;

  ROPE_DETAIL_FORWARD Slot& operator[](std::int64_t slot) noexcept { return slots[slot]; }
  ROPE_DETAIL_FORWARD const Slot& operator[](std::int64_t slot) const noexcept {
    return slots[slot];
  }
  ROPE_DETAIL_FORWARD std::int64_t size() const noexcept { return slots.size; }

  Array<Slot> slots;
  Array<CachedSequence> sequences;  // of rising id
  std::int64_t free;
  std::int64_t axes;
  std::int64_t next_id = 0;
  std::int64_t last_token = 0;
};

inline namespace ROPE_DETAIL_UNIT {

inline void append_free_slots(Array<Slot>& slots, std::int64_t count) {
  make_room(slots, count);
  for (std::int64_t i = 0; i < count; ++i) {
    append_in_room(slots, Slot{0, 0, 0});
  }
}

/// Where the sequence is among the others, or -1.
inline std::int64_t find_sequence(const CacheState& state, SequenceId id) noexcept {
  const auto found = std::lower_bound(
      state.sequences.begin(), state.sequences.end(), id,
      [](const CachedSequence& sequence, SequenceId wanted) { return sequence.id < wanted; });
  return found != state.sequences.end() && found->id == id ? found - state.sequences.begin() : -1;
}

/// The first of a sequence's entries that is at `position` or later.
inline std::int64_t first_entry_from(const CacheState& state, const CachedSequence& sequence,
                                     std::int64_t position) noexcept {
  const auto found = std::lower_bound(
      sequence.slots.begin(), sequence.slots.end(), position,
      [&](std::int64_t slot, std::int64_t wanted) { return state[slot].position < wanted; });
  return found - sequence.slots.begin();
}

/// The longest run of free slots, the first of equals.
inline SlotRun longest_gap(const CacheState& state) noexcept {
  SlotRun longest{0, 0};
  SlotRun run{0, 0};
  for (std::int64_t slot = 0; slot < state.size(); ++slot) {
    if (state[slot].holders != 0) {
      run = {slot + 1, 0};
    } else if (++run.count > longest.count) {
      longest = run;
    }
  }
  return longest;
}

/// Whether the next token of some sequence would go into `slot`.
inline bool is_wanted(const CacheState& state, std::int64_t slot) noexcept {
  return std::any_of(state.sequences.begin(), state.sequences.end(),
                     [&](const CachedSequence& sequence) {
                       return sequence.slots.size > 0 && sequence.slots.back() + 1 == slot;
                     });
}

/// Chooses `count` free slots, which are all there, and adds them to `chosen`, which has room.
///
/// Attention reads runs of slots, so a sequence goes on behind its last slot while it can; else in
/// the longest gap, in whose middle it starts if another sequence would grow into its beginning.
/// O(count), and O(slots) for each run.
inline void choose_slots(CacheState& state, std::int64_t last_slot, std::int64_t count,
                         Array<std::int64_t>& chosen) noexcept {
  const std::int64_t already_chosen = chosen.size;
  std::int64_t slot = last_slot + 1;
  while (count > 0) {
    if (slot >= state.size() || state[slot].holders != 0) {
      const SlotRun gap = longest_gap(state);
      const bool leave_room = gap.count >= 2 * count && is_wanted(state, gap.first);
      slot = leave_room ? gap.first + gap.count / 2 : gap.first;
    }
    state[slot].holders = -1;
    append_in_room(chosen, slot++);
    --count;
  }
  for (std::int64_t i = already_chosen; i < chosen.size; ++i) {
    state[chosen[i]].holders = 0;
  }
}

/// Takes `count` slots for new tokens of a sequence, from its next position on. Does nothing if
/// memory runs out.
inline void append_tokens(CacheState& state, CachedSequence& sequence, std::int64_t count) {
  make_room(sequence.slots, count);
  const std::int64_t before = sequence.slots.size;
  choose_slots(state, before == 0 ? state.size() : sequence.slots.back(), count, sequence.slots);
  for (std::int64_t i = before; i < sequence.slots.size; ++i) {
    state[sequence.slots[i]] = {++state.last_token, sequence.next_position++, 1};
  }
  state.free -= count;
}

inline void release(CacheState& state, std::int64_t slot) noexcept {
  if (--state[slot].holders == 0) {
    state[slot].token = 0;
    ++state.free;
  }
}

/// Takes the entries begin .. end - 1 out of a sequence.
inline void remove_entries(CacheState& state, CachedSequence& sequence, std::int64_t begin,
                           std::int64_t end) noexcept {
  for (std::int64_t entry = begin; entry < end; ++entry) {
    release(state, sequence.slots[entry]);
  }
  erase(sequence.slots, begin, end);
}

/// How many of the entries begin .. end - 1 are in slots that other sequences hold too.
inline std::int64_t count_shared(const CacheState& state, const CachedSequence& sequence,
                                 std::int64_t begin, std::int64_t end) noexcept {
  return std::count_if(sequence.slots.begin() + begin, sequence.slots.begin() + end,
                       [&](std::int64_t slot) { return state[slot].holders > 1; });
}

/// Gives a sequence slots of its own for those of the entries begin .. end - 1 that it shares, as
/// many as `moves` has room for; `scratch` has that room too.
inline void unshare_entries(CacheState& state, CachedSequence& sequence, std::int64_t begin,
                            std::int64_t end, std::vector<SlotMove>& moves,
                            Array<std::int64_t>& scratch) noexcept {
  const std::int64_t shared = count_shared(state, sequence, begin, end);
  choose_slots(state, state.size(), shared, scratch);
  std::int64_t used = 0;
  for (std::int64_t entry = begin; entry < end; ++entry) {
    std::int64_t& slot = sequence.slots[entry];
    if (state[slot].holders > 1) {
      const std::int64_t own = scratch[used++];
      --state[slot].holders;
      state[own] = {state[slot].token, state[slot].position, 1};
      moves.push_back({slot, own});
      slot = own;
    }
  }
  state.free -= shared;
}

/// Removes the entries kept .. begin - 1 of a sequence, and adds `delta` to the positions of those
/// from `begin` to `end` - 1, in slots of its own. There are slots enough. Does nothing if memory
/// runs out.
inline std::vector<SlotMove> remove_and_shift(CacheState& state, CachedSequence& sequence,
                                              std::int64_t kept, std::int64_t begin,
                                              std::int64_t end, std::int64_t delta) {
  const std::int64_t shared = delta == 0 ? 0 : count_shared(state, sequence, begin, end);
  std::vector<SlotMove> moves;
  Array<std::int64_t> scratch;
  moves.reserve(static_cast<std::size_t>(shared));
  make_room(scratch, shared);
  remove_entries(state, sequence, kept, begin);
  if (delta != 0) {
    const std::int64_t last = kept + (end - begin);
    unshare_entries(state, sequence, kept, last, moves, scratch);
    for (std::int64_t entry = kept; entry < last; ++entry) {
      state[sequence.slots[entry]].position += delta;
    }
  }
  return moves;
}

/// Moves what is in use to the lowest slots, in its order, so that copying in the order of the
/// moves never overwrites what is still to be copied.
inline std::vector<SlotMove> compact_slots(CacheState& state) {
  std::vector<std::int64_t> target(static_cast<std::size_t>(state.size()));
  std::vector<SlotMove> moves;
  std::int64_t used = 0;
  for (std::int64_t slot = 0; slot < state.size(); ++slot) {
    if (state[slot].holders > 0) {
      if (slot != used) {
        moves.push_back({slot, used});
      }
      target[static_cast<std::size_t>(slot)] = used++;
    }
  }
  for (const SlotMove& move : moves) {
    state[move.to] = std::exchange(state[move.from], Slot{0, 0, 0});
  }
  for (CachedSequence& sequence : state.sequences) {
    for (std::int64_t& slot : sequence.slots) {
      slot = target[static_cast<std::size_t>(slot)];
    }
  }
  return moves;
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace detail
}  // namespace rope
