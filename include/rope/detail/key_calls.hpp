#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rope/detail/cache_check.hpp"
#include "rope/detail/cache_state.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/key_copy.hpp"
#include "rope/detail/key_state.hpp"
#include "rope/detail/key_turn.hpp"
#include "rope/detail/rotate_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/executor.hpp"
#include "rope/frequencies.hpp"
#include "rope/row_positions.hpp"
#include "rope/scalar.hpp"
#include "rope/table_concept.hpp"
#include "rope/view.hpp"

namespace rope::detail::inline ROPE_DETAIL_UNIT {

template <class T, class In, class X>
void write_keys(KeyState<T>& state, const View<In>& keys, const CacheState& index,
                std::span<const std::int64_t> slots, const X& table, const ExecutorRef& executor) {
  constexpr const char* who = "rope::KeyStore::write";
  require(check_write(who, state, keys, index, slots, table));
  if constexpr (X::addressing == RowAddressing::position) {
    require(check_position_axes(who, index));
    for (const std::int64_t slot : slots) {
      if (slot != padding) {
        require(check_key_position(who, slot, index[slot].position, table.rows()));
      }
    }
  } else {
    require(check_token_table(who, keys.layout(), table.batch(), table.tokens()));
  }
  const bool rotated = state.storage == KeyStorage::rotated;
  std::int32_t rotation = own_rotation;
  if constexpr (X::addressing == RowAddressing::position) {
    rotation = rotated ? note_rotation(state, table.frequencies()) : no_rotation;
  } else if (!rotated) {
    raise(failure(ErrorKind::invalid_argument,
                  "%s: a store of unrotated keys rotates them by their positions when they are "
                  "read, and cannot keep a row for each token",
                  who));
  }
  if (!rotated) {
    write_runs(state, index, keys.batch(), keys.tokens(), slots, rotation,
               [&](std::int64_t row, std::int64_t token, const SlotRun& run) {
                 copy_keys(keys.slice_batch(row, 1).slice_tokens(token, run.count),
                           state.keys.slice_tokens(run.first, run.count));
               });
    return;
  }
  // Without views of each run: sequences that are decoded together have a run each, and a token of
  // 8 x 128 is rotated in 130 ns.
  Layout in_layout = keys.layout();
  Layout out_layout = state.keys.layout();
  in_layout.extent[0] = 1;
  write_runs(state, index, keys.batch(), keys.tokens(), slots, rotation,
             [&](std::int64_t row, std::int64_t token, const SlotRun& run) {
               in_layout.extent[1] = run.count;
               out_layout.extent[1] = run.count;
               const In* const in =
                   keys.data() + row * keys.batch_stride() + token * keys.token_stride();
               T* const out = state.keys.data() + run.first * state.keys.token_stride();
               if constexpr (X::addressing == RowAddressing::position) {
                 const Positions positions(index[run.first].position);
                 rotate_run(state, in, in_layout, out, out_layout, table, &positions, executor);
               } else {
                 const std::int64_t first = table.batch() == 1 ? 0 : row * table.tokens();
                 const RowsFrom<X> rows(table, first + token);
                 rotate_run(state, in, in_layout, out, out_layout, rows, nullptr, executor);
               }
             });
}

/// Fails unless keys of one set of frequencies can be turned into those of another.
inline Status check_change(const char* who, const Frequencies& from,
                           const Frequencies& to) noexcept {
  if (from.heads() != to.heads() || from.pairs() != to.pairs()) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: keys are rotated with %lld heads and %lld pairs of frequencies, but the "
                   "table has %lld and %lld",
                   who, static_cast<long long>(from.heads()), static_cast<long long>(from.pairs()),
                   static_cast<long long>(to.heads()), static_cast<long long>(to.pairs()));
  }
  const double ratio = to.magnitude() / from.magnitude();
  if (!is_finite(ratio) || ratio == 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: keys of magnitude %g cannot be turned into keys of magnitude %g", who,
                   from.magnitude(), to.magnitude());
  }
  return {};
}

/// Whether the key in a slot must be turned for its token's position and these frequencies, whose
/// number in the store is `rotation`. The key is one of frequencies, not of a row of its own.
inline bool is_stale(const StoredKey& key, const Slot& slot, std::int32_t rotation) noexcept {
  return key.position != slot.position || key.rotation != rotation;
}

/// Whether all of these keys are there and need no turn. A pass of its own, since it is made over
/// all tokens of a text, for each layer and token that is decoded: 1.5 ns a key, a third of what
/// check_key() takes.
template <class T>
bool all_current(const KeyState<T>& state, const CacheState& index,
                 std::span<const std::int64_t> slots, std::int32_t rotation) noexcept {
  bool current = true;
  for (const std::int64_t slot : slots) {
    const StoredKey& key = state[slot];
    const Slot& held = index[slot];
    current &= key.token == held.token;
    current &= key.position == held.position;
    current &= key.rotation == rotation || key.rotation == own_rotation;
  }
  return current;
}

/// Fails unless the key in a slot can be had for its token's position and these frequencies.
template <class T>
Status check_key(const char* who, const KeyState<T>& state, const CacheState& index,
                 std::int64_t slot, const Frequencies& frequencies, std::int32_t rotation,
                 std::int64_t rows) noexcept {
  const StoredKey& key = state[slot];
  const Slot& held = index[slot];
  if (key.token != held.token) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: the store has no key for the token in slot %lld, at position %lld: it was "
                   "not written, or a move was not followed",
                   who, static_cast<long long>(slot), static_cast<long long>(held.position));
  }
  if (key.rotation == own_rotation) {
    if (key.position != held.position) [[unlikely]] {
      return failure(ErrorKind::invalid_argument,
                     "%s: the key in slot %lld was rotated by a table with a row for each token, "
                     "and cannot be shifted from position %lld to %lld",
                     who, static_cast<long long>(slot), static_cast<long long>(key.position),
                     static_cast<long long>(held.position));
    }
    return {};
  }
  if (!is_stale(key, held, rotation)) {
    return {};
  }
  if (Status status = check_key_position(who, slot, held.position, rows); !status.ok())
      [[unlikely]] {
    return status;
  }
  if (key.rotation != no_rotation && key.rotation != rotation) {
    return check_change(who, state.rotations[key.rotation], frequencies);
  }
  return {};
}

/// Splits a list of slots into runs of keys that take the same turn, and calls turn(entry of the
/// list, run, row), with a null row for those that need none.
template <class T, class Turn>
void turn_runs(const KeyState<T>& state, const CacheState& index,
               std::span<const std::int64_t> slots, const Frequencies& frequencies,
               std::int32_t rotation, Turn turn) {
  TurnMaker<compute_type_t<T>> maker(frequencies);
  const auto size = static_cast<std::int64_t>(slots.size());
  for (std::int64_t i = 0; i < size;) {
    const std::int64_t slot = slots[static_cast<std::size_t>(i)];
    const StoredKey key = state[slot];
    const bool turns = key.rotation >= 0 && is_stale(key, index[slot], rotation);
    const std::int64_t shift = index[slot].position - key.position;
    std::int64_t count = 1;
    // Other frequencies turn every key by another angle.
    while (!(turns && key.rotation != rotation) && i + count < size &&
           slots[static_cast<std::size_t>(i + count)] == slot + count) {
      const StoredKey& next = state[slot + count];
      const Slot& held = index[slot + count];
      const bool next_turns = next.rotation >= 0 && is_stale(next, held, rotation);
      if (turns != next_turns ||
          (turns && (next.rotation != rotation || held.position - next.position != shift))) {
        break;
      }
      ++count;
    }
    const TurnRow<compute_type_t<T>>* row = nullptr;
    if (turns) {
      row = &maker.make(state.rotations[key.rotation], key.position, index[slot].position);
    }
    turn(i, SlotRun{slot, count}, row);
    i += count;
  }
}

template <class T, class X>
std::int64_t materialise_keys(KeyState<T>& state, const CacheState& index,
                              std::span<const std::int64_t> slots, bool all_sequences,
                              const X& table, const ExecutorRef& executor) {
  constexpr const char* who = "rope::KeyStore::materialise";
  if (state.storage != KeyStorage::rotated) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument,
                  "%s: the store has unrotated keys, which only read() rotates", who));
  }
  require(check_index(who, state, index));
  require(check_placement(who, state.keys.layout(), table.heads(), table.pairs(), state.first_dim));
  const Frequencies& frequencies = table.frequencies();
  const std::int32_t rotation = note_rotation(state, frequencies);
  if (all_current(state, index, slots, rotation)) {  // as for nearly every token that is decoded
    return 0;
  }
  for (const std::int64_t slot : slots) {
    require(check_key(who, state, index, slot, frequencies, rotation, table.rows()));
    const std::int32_t before = state[slot].rotation;
    if (!all_sequences && before >= 0 && before != rotation && index[slot].holders > 1)
        [[unlikely]] {
      raise(failure(ErrorKind::invalid_argument,
                    "%s: slot %lld is shared by %lld sequences, and the frequencies would change "
                    "for all: unshare() this one first",
                    who, static_cast<long long>(slot),
                    static_cast<long long>(index[slot].holders)));
    }
  }
  std::int64_t turned = 0;
  turn_runs(state, index, slots, frequencies, rotation,
            [&](std::int64_t, const SlotRun& run, const TurnRow<compute_type_t<T>>* turn) {
              if (turn == nullptr) {
                return;
              }
              const View<T> keys = state.keys.slice_tokens(run.first, run.count);
              forget_keys(state, run);
              rotate_keys(state, View<const T>(keys), keys, *turn, nullptr, executor);
              note_keys(state, index, run, rotation);
              turned += run.count;
            });
  return turned;
}

inline std::vector<std::int64_t> used_slots(const CacheState& index) {
  std::vector<std::int64_t> slots;
  for (std::int64_t slot = 0; slot < index.size(); ++slot) {
    if (index[slot].holders > 0) {
      slots.push_back(slot);
    }
  }
  return slots;
}

template <class T, class Out, class X>
void read_keys(const KeyState<T>& state, const CacheState& index,
               std::span<const std::int64_t> slots, const X& table, View<Out> out,
               const ExecutorRef& executor) {
  constexpr const char* who = "rope::KeyStore::read";
  require(check_index(who, state, index));
  if (out.batch() != 1 || out.tokens() != static_cast<std::int64_t>(slots.size())) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument,
                  "%s: out has batch %lld and tokens %lld, but the sequence has 1 and %zu", who,
                  static_cast<long long>(out.batch()), static_cast<long long>(out.tokens()),
                  slots.size()));
  }
  require(check_key_shape(who, "out", state, out.layout()));
  require(check_placement(who, out.layout(), table.heads(), table.pairs(), state.first_dim));
  require(check_output(who, out.layout()));
  require(check_disjoint(who, "out and the store", out, state.keys));
  const Frequencies& frequencies = table.frequencies();
  const std::int32_t rotation = find_rotation(state, frequencies);
  for (const std::int64_t slot : slots) {
    require(check_key(who, state, index, slot, frequencies, rotation, table.rows()));
  }
  const View<const T> keys = state.keys;
  if (state.storage == KeyStorage::unrotated) {
    const auto size = static_cast<std::int64_t>(slots.size());
    for (std::int64_t i = 0; i < size;) {
      const std::int64_t count = listed_run(index, slots, i, size);
      const std::int64_t slot = slots[static_cast<std::size_t>(i)];
      const Positions positions(index[slot].position);
      rotate_keys(state, keys.slice_tokens(slot, count), out.slice_tokens(i, count), table,
                  &positions, executor);
      i += count;
    }
    return;
  }
  turn_runs(state, index, slots, frequencies, rotation,
            [&](std::int64_t first, const SlotRun& run, const TurnRow<compute_type_t<T>>* turn) {
              const View<const T> in = keys.slice_tokens(run.first, run.count);
              const View<Out> to = out.slice_tokens(first, run.count);
              if (turn == nullptr) {
                copy_keys(in, to);
              } else {
                rotate_keys(state, in, to, *turn, nullptr, executor);
              }
            });
}

template <class T>
void follow_moves(KeyState<T>& state, std::span<const SlotMove> moves) {
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const auto [from, to] = moves[i];
    if (from < 0 || from >= state.slots() || to < 0 || to >= state.slots()) [[unlikely]] {
      raise(failure(ErrorKind::out_of_range,
                    "rope::KeyStore::follow: moves[%zu] is from slot %lld to %lld, but the store "
                    "has %lld slots",
                    i, static_cast<long long>(from), static_cast<long long>(to),
                    static_cast<long long>(state.slots())));
    }
  }
  for (const auto& [from, to] : moves) {
    if (from != to) {
      copy_keys(View<const T>(state.keys.slice_tokens(from, 1)), state.keys.slice_tokens(to, 1));
      state[to] = state[from];
    }
  }
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
