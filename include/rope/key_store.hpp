#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "rope/argument.hpp"
#include "rope/cache_index.hpp"
#include "rope/detail/key_calls.hpp"
#include "rope/detail/key_state.hpp"
#include "rope/detail/unit.hpp"
#include "rope/frequencies.hpp"
#include "rope/scalar.hpp"
#include "rope/table_concept.hpp"
#include "rope/view.hpp"

namespace rope {

/// A table that keys can be stored with: addressed by position, and able to say its frequencies, so
/// that a key can be turned on from where it is.
template <class X>
concept KeyTable = PositionTable<X> && requires(const X& table) {
  { table.frequencies() } -> std::same_as<const Frequencies&>;
};

/// Stands in the list of slots for KeyStore::write() for a token that is padding.
inline constexpr std::int64_t no_slot = detail::padding;

/// The keys of one layer, in the slots of a CacheIndex that may serve all layers: [slots, heads,
/// dim] elements of type T (float, double, f16, bf16, or another with element_traits).
///
/// With KeyStorage::rotated, write() rotates and converts a key into its slot in one pass, and
/// notes for which position. When the index has moved the token since, materialise() turns the key
/// by the difference, with magnitude 1, however many shifts made it up: a key has the error of at
/// most 1 + (times that it was turned) roundings to T. With KeyStorage::unrotated, write() only
/// converts and read() rotates, which is one rounding whatever happened in between.
///
/// A key knows which token it belongs to. What write() or follow() was forgotten for is refused
/// instead of read.
///
/// Every call checks first, and changes nothing if it throws: InvalidArgument, or OutOfRange for a
/// position or slot that there is not. Only where the caller's executor throws, the keys that it
/// was at count as not written. Movable, not copyable; one that was moved from has no slots. Const
/// functions may be called by many threads while nothing changes the store or the index.
template <Element T>
class KeyStore {
 public:
  using value_type = T;

  /// Room for the keys of `shape` {slots, heads, dim}, packed, all zero. Throws InvalidArgument for
  /// a negative extent, for more bytes than an address can hold, and for a pairing that is none.
  ROPE_DETAIL_FORWARD KeyStore(const Extents<3>& shape, const KeyStoreOptions& options)
      : state_(detail::own_key_state<T>(shape, options)) {}

  /// The same in the caller's memory, [1, slots, heads, dim] with any strides, which must last as
  /// long as the store. Throws InvalidArgument also for a batch other than 1, and for a view that
  /// has an element twice.
  ROPE_DETAIL_FORWARD KeyStore(View<T> keys, const KeyStoreOptions& options)
      : state_(detail::foreign_key_state(keys, options)) {}

  KeyStore(const KeyStore&) = delete;
  KeyStore& operator=(const KeyStore&) = delete;
  // Spelt out for their attribute: implicit ones could be shared by differently compiled units.
  ROPE_DETAIL_FORWARD KeyStore(KeyStore&&) = default;
  ROPE_DETAIL_FORWARD KeyStore& operator=(KeyStore&&) = default;
  ROPE_DETAIL_FORWARD ~KeyStore() = default;

  ROPE_DETAIL_FORWARD std::int64_t slots() const noexcept { return state_.slots(); }
  ROPE_DETAIL_FORWARD std::int64_t heads() const noexcept { return state_.keys.heads(); }
  ROPE_DETAIL_FORWARD std::int64_t dim() const noexcept { return state_.keys.dim(); }

  /// The keys as attention takes them, [1, slots, heads, dim]; a sequence's are those of its
  /// CacheIndex::runs(), current after materialise().
  ROPE_DETAIL_FORWARD View<const T> keys() const& noexcept { return state_.keys; }
  View<const T> keys() const&& = delete;  // of a temporary, they would be gone

  /// Stores `keys` [batch, tokens, heads, dim] of any type with T's compute type: key (b, t) goes
  /// to slots[b * tokens + t], unless that is no_slot, and is rotated for the position that the
  /// index has for it there.
  ///
  /// Throws if the store and index have different sizes, if shapes do not match, if a slot is not
  /// in use or stands in the list twice, if a position has no row in the table, if the index has
  /// positions of several axes, or if `keys` are in the store's memory. Rows of consecutive slots
  /// are written as one block.
  template <class In, KeyTable X>
  ROPE_DETAIL_FORWARD void write(View<In> keys, const CacheIndex& index,
                                 std::span<const std::int64_t> slots, const X& table,
                                 const KeyCallOptions& options = {}) {
    static_assert(detail::ReadableAs<In, T>, "keys must have the store's compute type");
    detail::write_keys(state_, keys, index.state(), slots, table, options.executor);
  }

  /// The same for positions of several coordinates, or any others that the index cannot know:
  /// `table` has a row for each key. Such keys can never be shifted. Not for unrotated storage.
  template <class In, TokenAddressedTable X>
  ROPE_DETAIL_FORWARD void write(View<In> keys, const CacheIndex& index,
                                 std::span<const std::int64_t> slots, const X& table,
                                 const KeyCallOptions& options = {}) {
    static_assert(detail::ReadableAs<In, T>, "keys must have the store's compute type");
    detail::write_keys(state_, keys, index.state(), slots, table, options.executor);
  }

  /// Turns the keys of a sequence that are not what the index and the table say: rotated for
  /// another position, or with other frequencies (LongRoPE and dynamic NTK change them as a
  /// sequence grows), and then by the difference of the angles, times the ratio of the magnitudes.
  /// Returns how many keys were turned.
  ///
  /// Frequencies cannot change in a slot that several sequences share: unshare() the sequence, or
  /// materialise all. A key that nothing was written for is refused, as is one that was rotated by
  /// a row of its own and then shifted. O(tokens), and about 0.2 us a pair for each run of keys
  /// with another shift than the one before, or 40 ns a pair for each key whose frequencies change.
  template <KeyTable X>
  ROPE_DETAIL_FORWARD std::int64_t materialise(const CacheIndex& index, SequenceId sequence,
                                               const X& table, const KeyCallOptions& options = {}) {
    const auto& found = detail::sequence_of("rope::KeyStore::materialise", index.state(), sequence);
    return detail::materialise_keys(state_, index.state(), detail::slots_of(found), false, table,
                                    options.executor);
  }

  /// The same for all sequences.
  template <KeyTable X>
  ROPE_DETAIL_FORWARD std::int64_t materialise(const CacheIndex& index, const X& table,
                                               const KeyCallOptions& options = {}) {
    return detail::materialise_keys(state_, index.state(), detail::used_slots(index.state()), true,
                                    table, options.executor);
  }

  /// Copies the keys of a sequence, by rising position, into `out` [1, tokens, heads, dim] of any
  /// type with T's compute type, rotated for their positions whatever they are stored as. Changes
  /// nothing: for readers in several threads, and for unrotated storage. Costs and refusals as
  /// materialise(), but shared slots are fine.
  template <class Out, KeyTable X>
  ROPE_DETAIL_FORWARD void read(const CacheIndex& index, SequenceId sequence, const X& table,
                                View<Out> out, const KeyCallOptions& options = {}) const {
    static_assert(detail::Mutable<Out> && detail::ReadableAs<T, Out>,
                  "out must have the store's compute type");
    const auto& found = detail::sequence_of("rope::KeyStore::read", index.state(), sequence);
    detail::read_keys(state_, index.state(), detail::slots_of(found), table, out, options.executor);
  }

  /// Copies keys as a change of the index asks for it. Throws OutOfRange for a slot that there is
  /// not.
  ROPE_DETAIL_FORWARD void follow(std::span<const SlotMove> moves) {
    detail::follow_moves(state_, moves);
  }

 private:
  detail::KeyState<T> state_;
};

}  // namespace rope
