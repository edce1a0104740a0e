#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/array.hpp"
#include "rope/detail/cache_check.hpp"
#include "rope/detail/cache_line_allocator.hpp"
#include "rope/detail/cache_state.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/key_turn.hpp"
#include "rope/detail/layout.hpp"
#include "rope/detail/pairing_call.hpp"
#include "rope/detail/rotate_call.hpp"
#include "rope/detail/rotate_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/executor.hpp"
#include "rope/frequencies.hpp"
#include "rope/pairing.hpp"
#include "rope/rotate_options.hpp"
#include "rope/row_positions.hpp"
#include "rope/scalar.hpp"
#include "rope/table_concept.hpp"
#include "rope/view.hpp"

namespace rope {

/// How a KeyStore keeps its keys.
enum class KeyStorage : unsigned char {
  rotated,    ///< for their positions, ready for attention; turned again when positions change
  unrotated,  ///< as they came; read() rotates them
};

struct KeyStoreOptions {
  required<Pairing> pairing;
  /// The first feature of a head that is rotated; see RotateOptions.
  Extent first_dim = 0;
  KeyStorage storage = KeyStorage::rotated;
};

/// What one call of a KeyStore may be told.
struct KeyCallOptions {
  /// Who rotates: the calling thread alone, or `.executor = pool`. The bits are the same.
  ExecutorRef executor = {};
};

namespace detail {

/// What one slot's key is; all zero if there is none. Without initialisers, as Slot.
struct StoredKey {
  std::int64_t token;     // as in Slot
  std::int64_t position;  // that it is rotated for
  std::int32_t rotation;  // the number of its frequencies, or one of the following
  bool is_listed;         // during a check for slots that are listed twice
};
inline constexpr std::int32_t own_rotation = -1;  // by a table with a row for each token
inline constexpr std::int32_t no_rotation = -2;   // not rotated

/// All that a KeyStore has.
template <class T>
struct KeyState {
  using Memory = std::vector<T, CacheLineAllocator<T>>;

  ROPE_DETAIL_FORWARD KeyState(Memory own, View<T> view, const KeyStoreOptions& options)
      : memory(std::move(own)),
        keys(view),
        stored(static_cast<std::size_t>(view.tokens())),
        pairing(options.pairing),
        first_dim(options.first_dim),
        storage(options.storage) {}

  // A copy would have its own memory, but a view of the original's.
  KeyState(const KeyState&) = delete;
  KeyState& operator=(const KeyState&) = delete;
  // What was moved from has no slots: not a view of memory that is another store's now.
  ROPE_DETAIL_FORWARD KeyState(KeyState&& other) noexcept
      : memory(std::move(other.memory)),
        keys(other.keys),
        stored(std::move(other.stored)),
        rotations(std::move(other.rotations)),
        pairing(other.pairing),
        first_dim(other.first_dim),
        storage(other.storage) {
    other.keys = no_keys();
  }
  ROPE_DETAIL_FORWARD KeyState& operator=(KeyState&& other) noexcept {
    memory = std::move(other.memory);
    keys = other.keys;
    other.keys = no_keys();
    stored = std::move(other.stored);
    rotations = std::move(other.rotations);
    pairing = other.pairing;
    first_dim = other.first_dim;
    storage = other.storage;
    return *this;
  }
  ROPE_DETAIL_FORWARD ~KeyState() = default;

  ROPE_DETAIL_FORWARD static View<T> no_keys() {
    return {nullptr, Layout{{1, 0, 0, 0}, {0, 0, 0, 1}}, "rope::KeyStore"};
  }

  ROPE_DETAIL_FORWARD StoredKey& operator[](std::int64_t slot) noexcept {
    return stored[static_cast<std::size_t>(slot)];
  }
  ROPE_DETAIL_FORWARD const StoredKey& operator[](std::int64_t slot) const noexcept {
    return stored[static_cast<std::size_t>(slot)];
  }
  ROPE_DETAIL_FORWARD std::int64_t slots() const noexcept {
    return static_cast<std::int64_t>(stored.size());
  }

  Memory memory;  // empty if the caller owns it
  View<T> keys;   // [1, slots, heads, dim]
  std::vector<StoredKey> stored;
  Array<Frequencies> rotations;  // that keys are, or were, rotated with
  Pairing pairing;
  std::int64_t first_dim;
  KeyStorage storage;
};

inline namespace ROPE_DETAIL_UNIT {

template <class T>
KeyState<T> own_key_state(const Extents<3>& shape, const KeyStoreOptions& options) {
  constexpr const char* who = "rope::KeyStore";
  Layout layout{{1, shape[0], shape[1], shape[2]}, {0, 0, 0, 0}};
  constexpr int axes[] = {0, 1, 2, 3};
  require(pack(who, layout, axes, Source<T>::unknown_size));
  require(check_layout(who, layout, false, sizeof(T)));
  require(check_pairing(who, options.pairing));
  // Zeros: attention that masks free slots out still multiplies by what is in them.
  typename KeyState<T>::Memory memory(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]),
                                      T{});
  const View<T> view(memory.data(), layout, who);
  return {std::move(memory), view, options};
}

template <class T>
KeyState<T> foreign_key_state(View<T> keys, const KeyStoreOptions& options) {
  constexpr const char* who = "rope::KeyStore";
  if (keys.batch() != 1) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument,
                  "%s: keys must have batch 1, and slots as tokens, got batch %lld", who,
                  static_cast<long long>(keys.batch())));
  }
  require(check_output(who, keys.layout()));
  require(check_pairing(who, options.pairing));
  return {{}, keys, options};
}

/// Rotates `in` into `out`, both of any type, as the store's options say.
template <class T, class In, class Out, Table X>
void rotate_keys(const KeyState<T>& state, const View<In>& in, const View<Out>& out, const X& table,
                 const Positions* positions, const ExecutorRef& executor) {
  const RotateOptions options{.first_dim = state.first_dim, .executor = executor};
  if (state.pairing == Pairing::interleaved) {
    rotate_checked<Direction::forward, Pairing::interleaved, Out>(in, out, table, positions,
                                                                  options);
  } else {
    rotate_checked<Direction::forward, Pairing::half_split, Out>(in, out, table, positions,
                                                                 options);
  }
}

/// The same of one batch row, as pointers and layouts of the same extents that are not empty.
template <class T, class In, class Out, Table X>
void rotate_run(const KeyState<T>& state, const In* in, const Layout& in_layout, Out* out,
                const Layout& out_layout, const X& table, const Positions* positions,
                const ExecutorRef& executor) {
  const RotateWork<std::remove_const_t<In>, Out, X> work{
      in, out, in_layout, out_layout, &table, positions, state.first_dim, false, 1, 1};
  const auto rotate = [&]<Pairing pairing>() {
    if (executor.is_serial()) [[likely]] {
      return rotate_tokens<pairing>(work, {0, in_layout.extent[1], 0, in_layout.extent[2]});
    }
    run_split(splittable(work), {.executor = executor},
              [&](const WorkPart& part) { rotate_tokens<pairing>(work, part); });
  };
  if (state.pairing == Pairing::interleaved) {
    rotate.template operator()<Pairing::interleaved>();
  } else {
    rotate.template operator()<Pairing::half_split>();
  }
}

template <class T>
Status check_index(const char* who, const KeyState<T>& state, const CacheState& index) noexcept {
  if (index.size() != state.slots()) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: the index has %lld slots, but the store %lld",
                   who, static_cast<long long>(index.size()),
                   static_cast<long long>(state.slots()));
  }
  return {};
}

template <class T>
Status check_key_shape(const char* who, const char* name, const KeyState<T>& state,
                       const Layout& layout) noexcept {
  if (layout.extent[2] != state.keys.heads() || layout.extent[3] != state.keys.dim()) [[unlikely]] {
    return failure(
        ErrorKind::invalid_argument,
        "%s: %s has heads %lld and dim %lld, but the store has heads %lld and dim %lld", who, name,
        static_cast<long long>(layout.extent[2]), static_cast<long long>(layout.extent[3]),
        static_cast<long long>(state.keys.heads()), static_cast<long long>(state.keys.dim()));
  }
  return {};
}

/// With several axes, an index knows the order of the tokens, which is no position to rotate for.
inline Status check_position_axes(const char* who, const CacheState& index) noexcept {
  if (index.axes != 1) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: positions of %lld axes need a table with a row for each token", who,
                   static_cast<long long>(index.axes));
  }
  return {};
}

inline Status check_key_position(const char* who, std::int64_t slot, std::int64_t position,
                                 std::int64_t rows) noexcept {
  if (position >= rows || position > last_exact_position) [[unlikely]] {
    return failure(ErrorKind::out_of_range,
                   "%s: the token in slot %lld is at position %lld, outside the table's rows 0 .. "
                   "%lld",
                   who, static_cast<long long>(slot), static_cast<long long>(position),
                   static_cast<long long>(rows - 1));
  }
  return {};
}

/// The number of listed slots from `first` on that follow each other, as their positions do.
inline std::int64_t listed_run(const CacheState& index, std::span<const std::int64_t> slots,
                               std::int64_t first, std::int64_t end) noexcept {
  const std::int64_t slot = slots[static_cast<std::size_t>(first)];
  const std::int64_t position = index[slot].position;
  std::int64_t count = 1;
  while (first + count < end && slots[static_cast<std::size_t>(first + count)] == slot + count &&
         index[slot + count].position == position + count) {
    ++count;
  }
  return count;
}

/// Stands in a list of slots for a token that has none.
inline constexpr std::int64_t padding = -1;

/// Checks a list of slots: each is in use, and none stands there twice.
template <class T>
Status check_listed_slots(const char* who, KeyState<T>& state, const CacheState& index,
                          std::span<const std::int64_t> slots) noexcept {
  bool rising = true;
  std::int64_t last = padding;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::int64_t slot = slots[i];
    if (slot == padding) {
      continue;
    }
    if (slot < 0 || slot >= index.size() || index[slot].holders == 0) [[unlikely]] {
      return failure(ErrorKind::out_of_range,
                     "%s: slots[%zu] is %lld, where the index of %lld slots has no token", who, i,
                     static_cast<long long>(slot), static_cast<long long>(index.size()));
    }
    rising &= slot > last;
    last = slot;
  }
  if (rising) {
    return {};
  }
  Status status;
  std::size_t i = 0;
  for (; i < slots.size() && status.ok(); ++i) {
    if (slots[i] != padding && std::exchange(state[slots[i]].is_listed, true)) {
      status = failure(ErrorKind::invalid_argument, "%s: slots[%zu] is %lld, as one before it", who,
                       i, static_cast<long long>(slots[i]));
    }
  }
  while (i-- > 0) {
    if (slots[i] != padding) {
      state[slots[i]].is_listed = false;
    }
  }
  return status;
}

/// All that is wrong with writing keys into slots, whatever the table.
template <class T, class In, Table X>
Status check_write(const char* who, KeyState<T>& state, const View<In>& keys,
                   const CacheState& index, std::span<const std::int64_t> slots,
                   const X& table) noexcept {
  if (Status status = check_index(who, state, index); !status.ok()) [[unlikely]] {
    return status;
  }
  if (Status status = check_key_shape(who, "keys", state, keys.layout()); !status.ok())
      [[unlikely]] {
    return status;
  }
  std::int64_t tokens = 0;
  if (__builtin_mul_overflow(keys.batch(), keys.tokens(), &tokens) ||
      tokens != static_cast<std::int64_t>(slots.size())) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: %zu slots, but keys have batch %lld and tokens %lld", who, slots.size(),
                   static_cast<long long>(keys.batch()), static_cast<long long>(keys.tokens()));
  }
  if (Status status =
          check_placement(who, keys.layout(), table.heads(), table.pairs(), state.first_dim);
      !status.ok()) [[unlikely]] {
    return status;
  }
  if (Status status = check_listed_slots(who, state, index, slots); !status.ok()) [[unlikely]] {
    return status;
  }
  return check_disjoint(who, "keys and the store", keys, state.keys);
}

/// The number that these frequencies have in the store, or -1.
template <class T>
std::int32_t find_rotation(const KeyState<T>& state, const Frequencies& frequencies) noexcept {
  for (auto i = static_cast<std::int32_t>(state.rotations.size); i-- > 0;) {
    if (same_frequencies(state.rotations[i], frequencies)) {
      return i;
    }
  }
  return -1;
}

/// Forgets frequencies that no key is rotated with.
template <class T>
void forget_rotations(KeyState<T>& state) {
  std::vector<std::int32_t> number(static_cast<std::size_t>(state.rotations.size));
  for (const StoredKey& key : state.stored) {
    if (key.token != 0 && key.rotation >= 0) {
      number[static_cast<std::size_t>(key.rotation)] = 1;
    }
  }
  std::int32_t kept = 0;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(number.size()); ++i) {
    if (std::exchange(number[static_cast<std::size_t>(i)], kept) == 1) {
      if (kept != i) {
        state.rotations[kept] = std::move(state.rotations[i]);
      }
      ++kept;
    }
  }
  erase(state.rotations, kept, state.rotations.size);
  for (StoredKey& key : state.stored) {
    if (key.token != 0 && key.rotation >= 0) {
      key.rotation = number[static_cast<std::size_t>(key.rotation)];
    }
  }
}

/// The number of these frequencies, which are noted if they are new. Dynamic NTK has new ones for
/// every length, so those that are out of use are forgotten each time that the list would grow.
template <class T>
std::int32_t note_rotation(KeyState<T>& state, const Frequencies& frequencies) {
  const std::int32_t found = find_rotation(state, frequencies);
  if (found >= 0) {
    return found;
  }
  constexpr std::int64_t few = 16;
  if (state.rotations.size >= few && state.rotations.size == state.rotations.capacity) {
    forget_rotations(state);
  }
  make_room(state.rotations, state.rotations.capacity == 0 ? few : 1);
  append(state.rotations, Frequencies(frequencies));
  return static_cast<std::int32_t>(state.rotations.size) - 1;
}

/// Before keys are overwritten: if the caller's executor throws in the middle, nobody can say what
/// they are, and they count as not written.
template <class T>
void forget_keys(KeyState<T>& state, const SlotRun& run) noexcept {
  for (std::int64_t slot = run.first; slot < run.first + run.count; ++slot) {
    state[slot].token = 0;
  }
}

/// Notes that keys are those of the index's tokens now.
template <class T>
void note_keys(KeyState<T>& state, const CacheState& index, const SlotRun& run,
               std::int32_t rotation) noexcept {
  for (std::int64_t slot = run.first; slot < run.first + run.count; ++slot) {
    state[slot] = {index[slot].token, index[slot].position, rotation, false};
  }
}

/// Calls write(batch row, first token, run of slots) for all that is not padding, with whole runs
/// of slots as far as they go, and notes what the slots now hold.
template <class T, class Write>
void write_runs(KeyState<T>& state, const CacheState& index, std::int64_t batch,
                std::int64_t tokens, std::span<const std::int64_t> slots, std::int32_t rotation,
                Write write) {
  for (std::int64_t row = 0; row < batch; ++row) {
    const std::int64_t end = (row + 1) * tokens;
    for (std::int64_t i = row * tokens; i < end;) {
      const std::int64_t slot = slots[static_cast<std::size_t>(i)];
      if (slot == padding) {
        ++i;
        continue;
      }
      const SlotRun run{slot, listed_run(index, slots, i, end)};
      forget_keys(state, run);
      write(row, i - row * tokens, run);
      note_keys(state, index, run, rotation);
      i += run.count;
    }
  }
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace detail
}  // namespace rope
