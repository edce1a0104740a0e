// KeyStore: traps by name, what it refuses, and its promises about bits. Random operations:
// model_test.cpp.
#include "rope/key_store.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "rope/cache_index.hpp"
#include "rope/compact_table.hpp"
#include "rope/coordinates.hpp"
#include "rope/executor.hpp"
#include "rope/frequencies.hpp"
#include "rope/padding.hpp"
#include "rope/rotate.hpp"
#include "rope/scalar.hpp"
#include "rope/table.hpp"
#include "rope/thread_pool.hpp"
#include "rope/token_table.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/isa.hpp"

namespace {

using rope::bf16;
using rope::CacheIndex;
using rope::f16;
using rope::Frequencies;
using rope::InvalidArgument;
using rope::KeyStorage;
using rope::KeyStore;
using rope::no_end;
using rope::OutOfRange;
using rope::Pairing;
using rope::SequenceId;
using rope_test::Approx;
using rope_test::require_throws;
using Numbers = std::vector<std::int64_t>;
using Table = rope::CosSinTable<float>;

/// Keys of made-up numbers, exact in every type.
std::vector<float> some_keys(std::int64_t count) {
  std::vector<float> keys(static_cast<std::size_t>(count));
  std::uint32_t state = 7;
  for (float& value : keys) {
    state = state * 1664525 + 1013904223;
    value = static_cast<float>(static_cast<int>(state >> 25) - 64) / 64;
  }
  return keys;
}

template <class T>
std::vector<float> all(rope::View<T> view) {
  std::vector<float> values;
  for (std::int64_t t = 0; t < view.tokens(); ++t) {
    for (std::int64_t h = 0; h < view.heads(); ++h) {
      for (std::int64_t i = 0; i < view.dim(); ++i) {
        values.push_back(static_cast<float>(view(0, t, h, i)));
      }
    }
  }
  return values;
}

/// One sequence of `tokens` keys of [1 head, 2], in float or 16 bits, all (1, 0), at the positions
/// from `first` on; one pair that turns by `frequency` a position.
template <class T>
struct OnePair {
  OnePair(std::int64_t first, std::int64_t tokens, std::vector<double> frequencies = {1.0})
      : table(Frequencies(std::move(frequencies), {1, 1, 1}), first + tokens + 10),
        index(tokens),
        store({tokens, 1, 2}, {.pairing = Pairing::half_split}),
        sequence(index.add_sequence()) {
    std::vector<float> keys;
    for (std::int64_t t = 0; t < tokens; ++t) keys.insert(keys.end(), {1.0F, 0.0F});
    index.set_next_position(sequence, first);
    const auto placed = index.append(sequence, tokens);
    store.write(rope::thd(keys, {tokens, 1, 2}), index, placed.slots, table);
  }

  Table table;
  CacheIndex index;
  KeyStore<T> store;
  SequenceId sequence;
};

/// The half of another library.
struct TheirHalf {
  std::uint16_t pattern;
};

/// A type that is no format of the library's: multiples of 1/64.
struct Fixed {
  std::int16_t count;
};

/// One that gives up in the middle, as when a thread cannot be started.
struct FailingExecutor {
  void operator()(std::int64_t count, const rope::TaskRef& body) const {
    REQUIRE(count > 1);
    body(0);
    throw std::runtime_error("interrupted");
  }
  static std::int64_t threads() { return 2; }
};

}  // namespace

template <>
struct rope::element_traits<TheirHalf> {
  using compute_type = float;
  static constexpr Format format = Format::f16;
};
template <>
struct rope::element_traits<Fixed> {
  using compute_type = float;
  static constexpr Format format = Format::other;
  static float to_compute(Fixed x) noexcept { return static_cast<float>(x.count) / 64; }
  static Fixed from_compute(float x) noexcept {
    return {static_cast<std::int16_t>(std::lround(x * 64))};
  }
};

TEST_CASE("many small shifts do not drift") {
  // A unit key at position 1000 in bf16, shifted 1000 times by -1. Turned and rounded each time it
  // drifts to (0.918, 0.371); turned once it is (1, 6e-4), which one rounding of the key at 1000
  // and one of the result allow.
  OnePair<bf16> together(1000, 1);
  OnePair<bf16> one_by_one(1000, 1);
  for (int i = 0; i < 1000; ++i) {
    CHECK(together.index.shift(together.sequence, {0, no_end}, -1).empty());
    CHECK(one_by_one.index.shift(one_by_one.sequence, {0, no_end}, -1).empty());
    CHECK(one_by_one.store.materialise(one_by_one.index, one_by_one.sequence, one_by_one.table) ==
          1);
  }
  CHECK(together.store.materialise(together.index, together.sequence, together.table) == 1);
  CHECK(together.store.materialise(together.index, together.sequence, together.table) == 0);
  const std::vector<float> once = all(together.store.keys());
  CHECK(once[0] == Approx(1.0F).margin(0x1p-8));
  CHECK(once[1] == Approx(0.0F).margin(0x1p-8));
  const std::vector<float> drifted = all(one_by_one.store.keys());
  CHECK(drifted[1] > 0.1F);
}

TEST_CASE("shifts by -3 and -4 are a shift by -7") {
  OnePair<float> twice(20, 3);
  OnePair<float> once(20, 3);
  OnePair<float> there_and_back(20, 3);
  const auto shift = [](OnePair<float>& cache, std::int64_t delta, bool materialise) {
    CHECK(cache.index.shift(cache.sequence, {0, no_end}, delta).empty());
    if (materialise) {
      CHECK(cache.store.materialise(cache.index, cache.sequence, cache.table) == 3);
    }
  };
  shift(twice, -3, false);
  shift(twice, -4, true);
  shift(once, -7, true);
  CHECK(all(twice.store.keys()) == all(once.store.keys()));
  for (std::size_t t = 0; t < 3; ++t) {
    const auto position = static_cast<double>(13 + t);
    CHECK(all(once.store.keys())[2 * t] == Approx(std::cos(position)).margin(2e-7));
    CHECK(all(once.store.keys())[2 * t + 1] == Approx(std::sin(position)).margin(2e-7));
  }
  // Both signs, and nothing at all when they cancel.
  const std::vector<float> before = all(there_and_back.store.keys());
  shift(there_and_back, 5, false);
  shift(there_and_back, -5, false);
  CHECK(there_and_back.store.materialise(there_and_back.index, there_and_back.sequence,
                                         there_and_back.table) == 0);
  CHECK(all(there_and_back.store.keys()) == before);
  shift(there_and_back, 5, true);
  shift(there_and_back, -5, true);
  const std::vector<float> after = all(there_and_back.store.keys());
  for (std::size_t i = 0; i < after.size(); ++i) {
    CHECK(after[i] == Approx(before[i]).margin(3e-7));
  }
}

TEST_CASE("a long shift turns by the exact angle") {
  // 0.1 * 189,987 as a float is off by up to 1e-3, and as a double by up to 2e-12.
  const rope::CompactTable<double> table(Frequencies({0.1}, {1, 1, 1}), 200'000);
  CacheIndex index(1);
  KeyStore<double> store({1, 1, 2}, {.pairing = Pairing::half_split});
  const SequenceId sequence = index.add_sequence();
  index.set_next_position(sequence, 190'000);
  const double key[] = {1, 0};
  store.write(rope::thd(key, {1, 1, 2}), index, index.append(sequence, 1).slots, table);
  CHECK(index.shift(sequence, {0, no_end}, -189'987).empty());
  CHECK(store.materialise(index, sequence, table) == 1);
  CHECK(store.keys()(0, 0, 0, 0) == Approx(std::cos(1.3)).margin(3e-15));
  CHECK(store.keys()(0, 0, 0, 1) == Approx(std::sin(1.3)).margin(3e-15));
}

TEST_CASE("the keys of an attention-sink window are one position apart") {
  // Sinks 2, window 3, tokens 0 .. 6: the deltas are 0 0 -2 -2 -2, and with frequency 1 the angle
  // of a key is its position.
  OnePair<float> cache(0, 7);
  cache.store.follow(cache.index.keep(cache.sequence, {.sinks = 2, .window = 3}));
  CHECK(cache.store.materialise(cache.index, cache.sequence, cache.table) == 3);
  const rope::View<const float> keys = cache.store.keys();
  double position = 0;
  for (const std::int64_t slot : {0, 1, 4, 5, 6}) {
    CHECK(keys(0, slot, 0, 0) == Approx(std::cos(position)).margin(2e-7));
    CHECK(keys(0, slot, 0, 1) == Approx(std::sin(position)).margin(2e-7));
    ++position;
  }
}

TEST_CASE("a magnitude is in a key once, however often it is turned") {
  const Table table(Frequencies({1.0}, {1, 1, 1}, 1.5), 100);
  CacheIndex index(1);
  KeyStore<float> store({1, 1, 2}, {.pairing = Pairing::interleaved});
  const SequenceId sequence = index.add_sequence();
  index.set_next_position(sequence, 40);
  const float key[] = {3, 4};
  store.write(rope::thd(key, {1, 1, 2}), index, index.append(sequence, 1).slots, table);
  for (const std::int64_t delta : {-7, 30, -13}) {
    CHECK(index.shift(sequence, {0, no_end}, delta).empty());
    store.materialise(index, sequence, table);
    const auto keys = all(store.keys());
    CHECK(std::hypot(keys[0], keys[1]) == Approx(7.5).epsilon(1e-6));
  }
  const auto keys = all(store.keys());
  CHECK(keys[0] == Approx(1.5 * (3 * std::cos(50.0) - 4 * std::sin(50.0))).margin(2e-6));
  CHECK(keys[1] == Approx(1.5 * (3 * std::sin(50.0) + 4 * std::cos(50.0))).margin(2e-6));
}

TEST_CASE("keys follow a change of the magnitude alone") {
  const Table plain(Frequencies({1.0}, {1, 1, 1}, 1.0), 100);
  const Table longer(Frequencies({1.0}, {1, 1, 1}, 1.5), 100);
  OnePair<float> cache(40, 2);
  const std::vector<float> before = all(cache.store.keys());
  CHECK(cache.store.materialise(cache.index, cache.sequence, longer) == 2);
  const std::vector<float> after = all(cache.store.keys());
  for (std::size_t i = 0; i < after.size(); ++i) {
    CHECK(after[i] == Approx(1.5F * before[i]).margin(2e-7));
  }
  CHECK(cache.store.materialise(cache.index, cache.sequence, longer) == 0);
  CHECK(cache.store.materialise(cache.index, cache.sequence, plain) == 2);
  CHECK(all(cache.store.keys())[0] == Approx(std::cos(40.0)).margin(3e-7));
}

TEST_CASE("keys follow LongRoPE across its switch") {
  // d = 4, base 10000, short list [1, 1], long list [1, 4]: a key at position 100 turns its second
  // pair by 100 * (0.0025 - 0.01) = -0.75 rad more; magnitudes 1.25 and 1.5.
  const Table short_table(Frequencies({1.0, 0.01}, {1, 1, 2}, 1.25), 128);
  const Table long_table(Frequencies({1.0, 0.0025}, {1, 1, 2}, 1.5), 128);
  CacheIndex index(4);
  KeyStore<float> store({4, 1, 4}, {.pairing = Pairing::half_split});
  const SequenceId growing = index.add_sequence();
  index.set_next_position(growing, 100);
  const float key[] = {1, 1, 0, 0};
  store.write(rope::thd(key, {1, 1, 4}), index, index.append(growing, 1).slots, short_table);
  const SequenceId other = index.copy(growing);

  // One choice for each sequence: a slot that both use cannot follow one of them.
  const auto before = all(store.keys());
  require_throws<InvalidArgument>(
      "rope::KeyStore::materialise: slot 0 is shared by 2 sequences, and the frequencies would "
      "change for all: unshare() this one first",
      [&] { store.materialise(index, growing, long_table); });
  CHECK(all(store.keys()) == before);
  store.follow(index.unshare(growing));
  CHECK(store.materialise(index, growing, long_table) == 1);
  CHECK(store.materialise(index, growing, long_table) == 0);
  CHECK(store.materialise(index, other, short_table) == 0);

  const auto keys = store.keys();
  const std::int64_t slot = index.slots(growing)[0];
  REQUIRE(slot != index.slots(other)[0]);
  CHECK(keys(0, slot, 0, 0) == Approx(1.5 * std::cos(100.0)).margin(1e-6));
  CHECK(keys(0, slot, 0, 2) == Approx(1.5 * std::sin(100.0)).margin(1e-6));
  CHECK(keys(0, slot, 0, 1) == Approx(1.5 * std::cos(0.25)).margin(1e-6));
  CHECK(keys(0, slot, 0, 3) == Approx(1.5 * std::sin(0.25)).margin(1e-6));
  const double turned = std::atan2(static_cast<double>(keys(0, slot, 0, 3)),
                                   static_cast<double>(keys(0, slot, 0, 1))) -
                        1.0;
  CHECK(turned == Approx(-0.75).margin(1e-6));
  CHECK(keys(0, index.slots(other)[0], 0, 1) == Approx(1.25 * std::cos(1.0)).margin(1e-6));

  // All at once needs no slots of their own.
  CHECK(store.materialise(index, short_table) == 1);
  CHECK(keys(0, slot, 0, 1) == Approx(1.25 * std::cos(1.0)).margin(1e-6));
  // Both a shift and another list: from 100 * 0.01 to 60 * 0.0025.
  CHECK(index.shift(growing, {0, no_end}, -40).empty());
  CHECK(store.materialise(index, growing, long_table) == 1);
  CHECK(keys(0, slot, 0, 1) == Approx(1.5 * std::cos(0.15)).margin(1e-6));
  CHECK(keys(0, slot, 0, 0) == Approx(1.5 * std::cos(60.0)).margin(1e-6));
}

TEST_CASE("a long text follows a change of frequencies in one go") {
  // Longer than the blocks that turns are made in, with a gap, a shift, two old sets of
  // frequencies, and positions that are not next to each other in memory.
  const rope::CosSinTable<double> first(Frequencies({0.9, 0.03}, {1, 1, 2}, 0.5), 400);
  const rope::CosSinTable<double> second(Frequencies({0.5, 0.02}, {1, 1, 2}, 2.0), 400);
  const rope::CosSinTable<double> last(Frequencies({0.9, 0.001}, {1, 1, 2}, 1.25), 400);
  CacheIndex index(200);
  KeyStore<double> store({200, 1, 4}, {.pairing = Pairing::half_split});
  const SequenceId sequence = index.add_sequence();
  const std::vector<double> keys(200 * 4, 1.0);
  const auto view = rope::thd(keys, {200, 1, 4});
  store.write(view.slice_tokens(0, 90), index, index.append(sequence, 90).slots, first);
  index.set_next_position(sequence, 150);
  store.write(view.slice_tokens(0, 70), index, index.append(sequence, 70).slots, second);
  index.remove(sequence, {40, 45});
  CHECK(index.shift(sequence, {100, no_end}, -13).empty());
  store.write(view.slice_tokens(0, 30), index, index.append(sequence, 30).slots, last);
  const Numbers positions = index.positions(sequence);
  REQUIRE(positions.size() == 185);
  std::vector<double> read(185 * 4);
  store.read(index, sequence, last, rope::thd(read, {185, 1, 4}));
  CHECK(store.materialise(index, sequence, last) == 155);
  for (std::size_t t = 0; t < 185; ++t) {
    const std::int64_t slot = index.slots(sequence)[t];
    for (const std::int64_t pair : {0, 1}) {
      const double angle = static_cast<double>(positions[t]) * (pair == 0 ? 0.9 : 0.001);
      const double a = 1.25 * (std::cos(angle) - std::sin(angle));
      const double b = 1.25 * (std::sin(angle) + std::cos(angle));
      CHECK(store.keys()(0, slot, 0, pair) == Approx(a).margin(1e-13));
      CHECK(store.keys()(0, slot, 0, pair + 2) == Approx(b).margin(1e-13));
      CHECK(read[4 * t + static_cast<std::size_t>(pair)] == Approx(a).margin(1e-13));
    }
  }
}

TEST_CASE("frequencies may change at every token, as with dynamic NTK") {
  CacheIndex index(64);
  KeyStore<double> store({64, 1, 2}, {.pairing = Pairing::half_split});
  const SequenceId sequence = index.add_sequence();
  const double key[] = {1, 0};
  for (int t = 0; t < 64; ++t) {
    const rope::CosSinTable<double> table(Frequencies({1.0 / (t + 1)}, {1, 1, 1}), 64);
    store.write(rope::thd(key, {1, 1, 2}), index, index.append(sequence, 1).slots, table);
    CHECK(store.materialise(index, sequence, table) == t);
  }
  for (std::int64_t t = 0; t < 64; ++t) {
    const double angle = static_cast<double>(t) / 64;
    CHECK(store.keys()(0, t, 0, 0) == Approx(std::cos(angle)).margin(1e-13));
    CHECK(store.keys()(0, t, 0, 1) == Approx(std::sin(angle)).margin(1e-13));
  }
}

TEST_CASE("stored keys have the bits of rotate_to, whole or in chunks") {
  constexpr std::int64_t tokens = 11;
  constexpr std::int64_t heads = 3;
  constexpr std::int64_t dim = 10;
  const Table table(rope::frequencies({.rotary_dim = 6, .base = 100}), 32);
  const std::vector<float> keys = some_keys(tokens * heads * dim);
  const auto in = rope::thd(keys, {tokens, heads, dim});
  const auto run = [&]<class T>(T, Pairing pairing) {
    std::vector<T> expected(keys.size());
    const auto out = rope::thd(expected, {tokens, heads, dim});
    rope::rotate_to(in, out, table, rope::from(0), {.pairing = pairing, .first_dim = 3});
    for (const std::vector<std::int64_t>& chunks :
         std::vector<std::vector<std::int64_t>>{{11}, {3, 2, 6}, {1, 10}, {5, 0, 5, 1}}) {
      CacheIndex index(16);
      KeyStore<T> store({16, heads, dim}, {.pairing = pairing, .first_dim = 3});
      const SequenceId sequence = index.add_sequence();
      std::int64_t first = 0;
      for (const std::int64_t count : chunks) {
        const auto placed = index.append(sequence, count);
        CHECK(placed.first_position == first);
        store.write(in.slice_tokens(first, count), index, placed.slots, table);
        first += count;
      }
      CHECK(std::memcmp(&store.keys()(0, 0, 0, 0), expected.data(), expected.size() * sizeof(T)) ==
            0);
      // read() of current keys only converts.
      std::vector<float> read(keys.size());
      store.read(index, sequence, table, rope::thd(read, {tokens, heads, dim}));
      CHECK(read == all(rope::View<const T>(out)));
    }
  };
  for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved}) {
    run(float{}, pairing);
    run(bf16{}, pairing);
    run(f16{}, pairing);
  }
}

TEST_CASE("unrotated keys are rotated when they are read, in one rounding") {
  const Table table(rope::frequencies({.rotary_dim = 4, .base = 100}), 64);
  const std::vector<float> keys = some_keys(6 * 2 * 5);
  CacheIndex index(12);
  KeyStore<bf16> store(
      {12, 2, 5},
      {.pairing = Pairing::interleaved, .first_dim = 1, .storage = KeyStorage::unrotated});
  const SequenceId sequence = index.add_sequence();
  index.append(sequence, 1);
  index.remove(sequence, {0, no_end});
  index.set_next_position(sequence, 20);
  store.write(rope::thd(keys, {6, 2, 5}), index, index.append(sequence, 6).slots, table);
  CHECK(all(store.keys().slice_tokens(0, 6)) == keys);  // as they came
  for (int i = 0; i < 10; ++i) {
    CHECK(index.shift(sequence, {0, no_end}, i % 2 == 0 ? -2 : 1).empty());
  }
  store.follow(index.compact());
  index.remove(sequence, {17, 18});
  // Positions 15 16 18 19 20, tokens 0 1 3 4 5.
  std::vector<float> expected = keys;
  expected.erase(expected.begin() + 2 * 10, expected.begin() + 3 * 10);
  const Numbers positions = index.positions(sequence);
  CHECK(positions == Numbers{15, 16, 18, 19, 20});
  rope::rotate<Pairing::interleaved>(rope::thd(expected, {5, 2, 5}), table,
                                     rope::at(positions, {5}), {.first_dim = 1});
  std::vector<float> read(expected.size());
  store.read(index, sequence, table, rope::thd(read, {5, 2, 5}));
  CHECK(read == expected);
  // The values are exact in bf16, so the same in that type is the one rounding.
  std::vector<bf16> rounded(expected.size());
  store.read(index, sequence, table, rope::thd(rounded, {5, 2, 5}));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(rounded[i].bits == bf16(expected[i]).bits);
  }
  require_throws<InvalidArgument>(
      "rope::KeyStore::materialise: the store has unrotated keys, which only read() rotates",
      [&] { store.materialise(index, sequence, table); });
}

TEST_CASE("a padded batch is stored like its rows alone") {
  // Left-padded, right-padded and full rows; the last token is decoded for all.
  constexpr std::int64_t batch = 3;
  constexpr std::int64_t tokens = 5;
  const std::int32_t mask[] = {0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1};
  const Table table(rope::frequencies({.rotary_dim = 4}), 16);
  const std::vector<float> prompts = some_keys(batch * tokens * 2 * 4);
  const std::vector<float> decoded = some_keys(batch * 2 * 4);
  CacheIndex index(24);
  KeyStore<bf16> store({24, 2, 4}, {.pairing = Pairing::half_split});

  // The positions that the queries are rotated for, and the slots of the keys.
  const auto positions = rope::positions_from_mask(mask, {batch, tokens});
  std::vector<SequenceId> sequences;
  Numbers slots;
  for (std::int64_t row = 0; row < batch; ++row) {
    sequences.push_back(index.add_sequence());
    const auto* row_mask = mask + row * tokens;
    const auto placed = index.append(sequences.back(), std::count(row_mask, row_mask + tokens, 1));
    std::size_t next = 0;
    for (std::int64_t t = 0; t < tokens; ++t) {
      slots.push_back(row_mask[t] == 1 ? placed.slots[next++] : rope::no_slot);
      if (row_mask[t] == 1) {
        CHECK(index.position(slots.back()) ==
              positions[static_cast<std::size_t>(row * tokens + t)]);
      }
    }
  }
  store.write(rope::bthd(prompts, {batch, tokens, 2, 4}), index, slots, table);
  Numbers next_slots;
  Numbers next_positions;
  for (const SequenceId sequence : sequences) {
    next_positions.push_back(index.next_position(sequence));
    next_slots.push_back(index.append(sequence, 1).slots[0]);
  }
  CHECK(next_positions == Numbers{3, 4, 5});
  CHECK(next_positions == rope::next_positions_from_mask(mask, {batch, tokens}));
  store.write(rope::bthd(decoded, {batch, 1, 2, 4}), index, next_slots, table);

  for (std::int64_t row = 0; row < batch; ++row) {
    std::vector<float> alone;
    for (std::int64_t t = 0; t < tokens; ++t) {
      if (mask[row * tokens + t] == 1) {
        const auto begin = prompts.begin() + (row * tokens + t) * 8;
        alone.insert(alone.end(), begin, begin + 8);
      }
    }
    alone.insert(alone.end(), decoded.begin() + row * 8, decoded.begin() + row * 8 + 8);
    const auto count = static_cast<std::int64_t>(alone.size()) / 8;
    std::vector<bf16> expected(alone.size());
    rope::rotate_to<Pairing::half_split>(rope::thd(std::as_const(alone), {count, 2, 4}),
                                         rope::thd(expected, {count, 2, 4}), table, rope::from(0));
    std::vector<bf16> read(alone.size());
    store.read(index, sequences[static_cast<std::size_t>(row)], table,
               rope::thd(read, {count, 2, 4}));
    CHECK(std::memcmp(read.data(), expected.data(), read.size() * sizeof(bf16)) == 0);
  }
}

TEST_CASE("keys may lie in the caller's memory, in any order") {
  // [heads, slots, dim], with a gap between heads that nobody touches.
  constexpr std::int64_t slots = 6;
  std::vector<float> memory(2 * (slots * 4 + 3), -99.0F);
  const rope::View<float> view(memory.data(), {1, slots, 2, 4}, {0, 4, slots * 4 + 3, 1});
  const Table table(rope::frequencies({.rotary_dim = 4}), 16);
  CacheIndex index(slots);
  KeyStore<float> foreign(view, {.pairing = Pairing::half_split});
  KeyStore<float> own({slots, 2, 4}, {.pairing = Pairing::half_split});
  const SequenceId sequence = index.add_sequence();
  const std::vector<float> keys = some_keys(5 * 2 * 4);
  const auto placed = index.append(sequence, 5);
  foreign.write(rope::thd(keys, {5, 2, 4}), index, placed.slots, table);
  own.write(rope::thd(keys, {5, 2, 4}), index, placed.slots, table);
  index.remove(sequence, {0, 2});
  const auto moves = index.compact();
  foreign.follow(moves);
  own.follow(moves);
  CHECK(index.shift(sequence, {0, no_end}, -2).empty());
  CHECK(foreign.materialise(index, sequence, table) == 3);
  CHECK(own.materialise(index, sequence, table) == 3);
  CHECK(all(foreign.keys().slice_tokens(0, 3)) == all(own.keys().slice_tokens(0, 3)));
  CHECK(foreign.keys().data() == memory.data());
  CHECK(memory[slots * 4] == -99.0F);
  CHECK(memory[2 * slots * 4 + 5] == -99.0F);

  // A store can be moved, and keeps what it has.
  KeyStore<float> moved = std::move(own);
  CHECK(all(moved.keys().slice_tokens(0, 3)) == all(foreign.keys().slice_tokens(0, 3)));
  CHECK(moved.materialise(index, sequence, table) == 0);
  // The one that was moved from has none, and no view of memory that is the other's now.
  CHECK(own.slots() == 0);  // NOLINT(bugprone-use-after-move): that is the question
  CHECK(own.keys().empty());
  CHECK(own.keys().data() == nullptr);
  require_throws<InvalidArgument>(
      "rope::KeyStore::materialise: the index has 6 slots, but the store 0",
      [&] { own.materialise(index, sequence, table); });
  own = std::move(moved);
  CHECK(moved.keys().empty());  // NOLINT(bugprone-use-after-move)
  CHECK(own.materialise(index, sequence, table) == 0);
  CHECK(all(own.keys().slice_tokens(0, 3)) == all(foreign.keys().slice_tokens(0, 3)));

  const rope::View<float> twice(memory.data(), {1, 2, 2, 4}, {0, 4, 0, 1});
  require_throws<InvalidArgument>(
      "rope::KeyStore: the written view of strides [0, 4, 0, 1] (batch, tokens, heads, dim) has "
      "the same element at several indices",
      [&] { KeyStore<float>(twice, {.pairing = Pairing::half_split}); });
  const rope::View<float> batches(memory.data(), {2, 3, 1, 4}, {12, 4, 4, 1});
  require_throws<InvalidArgument>(
      "rope::KeyStore: keys must have batch 1, and slots as tokens, got batch 2",
      [&] { KeyStore<float>(batches, {.pairing = Pairing::half_split}); });
  require_throws<InvalidArgument>("rope::KeyStore: heads must not be negative, got -2", [] {
    KeyStore<float>({4, -2, 4}, {.pairing = Pairing::half_split});
  });
  require_throws<InvalidArgument>(
      "rope::KeyStore: pairing has the value 9, which names no pairing", [] {
        KeyStore<float>({4, 2, 4}, {.pairing = static_cast<Pairing>(9)});
      });
}

TEST_CASE("frequencies of each head are turned back by head") {
  const Table table(Frequencies({1.0, 0.5, 0.25, 0.125}, {1, 2, 2}), 64);
  CacheIndex index(3);
  KeyStore<float> store({3, 2, 4}, {.pairing = Pairing::interleaved});
  const SequenceId sequence = index.add_sequence();
  index.set_next_position(sequence, 30);
  const std::vector<float> keys = some_keys(3 * 2 * 4);
  store.write(rope::thd(keys, {3, 2, 4}), index, index.append(sequence, 3).slots, table);
  CHECK(index.shift(sequence, {0, no_end}, -29).empty());
  CHECK(store.materialise(index, sequence, table) == 3);
  std::vector<float> expected = keys;
  rope::rotate<Pairing::interleaved>(rope::thd(expected, {3, 2, 4}), table, rope::from(1));
  const auto found = all(store.keys());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i] == Approx(expected[i]).margin(5e-7));
  }
}

TEST_CASE("keys turned by rows of their own stay where they are") {
  // Two axes, as an image has; the index only knows their order.
  const Frequencies frequencies({1.0, 0.0, 0.0, 0.5}, {2, 1, 2});
  const std::vector<double> places = {0, 0, 0, 1, 1, 0, 1, 1};
  const rope::Coordinates coordinates(places, {1, 4, 2});
  const rope::TokenTable<float> grid(frequencies, coordinates);
  const Table table(rope::frequencies({.rotary_dim = 4}), 16);
  CacheIndex index(8);
  KeyStore<float> store({8, 1, 4}, {.pairing = Pairing::half_split});
  const SequenceId sequence = index.add_sequence();
  const std::vector<float> keys = some_keys(4 * 4);
  const auto in = rope::thd(keys, {4, 1, 4});
  store.write(in, index, index.append(sequence, 4).slots, grid);
  std::vector<float> expected(keys.size());
  rope::rotate_to<Pairing::half_split>(in, rope::thd(expected, {4, 1, 4}), grid);
  CHECK(all(store.keys().slice_tokens(0, 4)) == expected);
  CHECK(store.materialise(index, sequence, table) == 0);
  CHECK(index.shift(sequence, {2, no_end}, 3).empty());
  require_throws<InvalidArgument>(
      "rope::KeyStore::materialise: the key in slot 2 was rotated by a table with a row for each "
      "token, and cannot be shifted from position 2 to 5",
      [&] { store.materialise(index, sequence, table); });
  CHECK(all(store.keys().slice_tokens(0, 4)) == expected);
  require_throws<InvalidArgument>(
      "rope::KeyStore::write: the table has rows for [1, 4] (batch or 1, tokens), but the view has "
      "batch 1 and tokens 2",
      [&] { store.write(in.slice_tokens(0, 2), index, index.slots(sequence).first(2), grid); });
  KeyStore<float> unrotated({8, 1, 4},
                            {.pairing = Pairing::half_split, .storage = KeyStorage::unrotated});
  require_throws<InvalidArgument>(
      "rope::KeyStore::write: a store of unrotated keys rotates them by their positions when they "
      "are read, and cannot keep a row for each token",
      [&] { unrotated.write(in, index, index.slots(sequence), grid); });
}

TEST_CASE("the order of tokens of several axes is no position to rotate for") {
  const Table table(rope::frequencies({.rotary_dim = 4}), 16);
  CacheIndex index(8, {.axes = 3});
  const std::vector<float> keys = some_keys(2 * 4);
  const auto in = rope::thd(keys, {2, 1, 4});
  const auto placed = index.append(index.add_sequence(), 2);
  for (const KeyStorage storage : {KeyStorage::rotated, KeyStorage::unrotated}) {
    KeyStore<float> store({8, 1, 4}, {.pairing = Pairing::half_split, .storage = storage});
    require_throws<InvalidArgument>(
        "rope::KeyStore::write: positions of 3 axes need a table with a row for each token",
        [&] { store.write(in, index, placed.slots, table); });
    CHECK(all(store.keys()) == std::vector<float>(8 * 4, 0.0F));
  }
}

TEST_CASE("keys of an interrupted call count as not written") {
  // Which of them were turned or written before the executor threw, nobody knows.
  constexpr std::int64_t tokens = 600;
  const Table table(rope::frequencies({.rotary_dim = 64}), 700);
  const std::vector<float> keys = some_keys(tokens * 8 * 64);
  const auto in = rope::thd(keys, {tokens, 8, 64});
  FailingExecutor failing;
  CacheIndex index(tokens);
  KeyStore<float> store({tokens, 8, 64}, {.pairing = Pairing::half_split});
  const SequenceId sequence = index.add_sequence();
  const auto placed = index.append(sequence, tokens);
  store.write(in, index, placed.slots, table);
  const std::vector<float> written = all(store.keys());
  std::vector<float> out(keys.size());
  const auto refuses_all = [&] {
    require_throws<InvalidArgument>(
        "rope::KeyStore::materialise: the store has no key for the token in slot 0, at position " +
            std::to_string(index.position(0)) + ": it was not written, or a move was not followed",
        [&] { store.materialise(index, sequence, table); });
    CHECK_THROWS_AS(store.read(index, sequence, table, rope::thd(out, {tokens, 8, 64})),
                    InvalidArgument);
  };

  CHECK(index.shift(sequence, {0, no_end}, 3).empty());
  CHECK_THROWS_AS(store.materialise(index, sequence, table, {.executor = failing}),
                  std::runtime_error);
  refuses_all();
  store.write(in, index, index.slots(sequence), table);
  CHECK(index.shift(sequence, {0, no_end}, -3).empty());
  CHECK(store.materialise(index, sequence, table) == tokens);
  const std::vector<float> healed = all(store.keys());
  CHECK(std::equal(healed.begin(), healed.end(), written.begin(),
                   [](float a, float b) { return std::abs(a - b) < 1e-5F; }));

  // The same tokens again.
  CHECK_THROWS_AS(store.write(in, index, index.slots(sequence), table, {.executor = failing}),
                  std::runtime_error);
  refuses_all();
}

TEST_CASE("what was not written cannot be read") {
  const Table table(rope::frequencies({.rotary_dim = 4}), 16);
  CacheIndex index(8);
  KeyStore<float> store({8, 1, 4}, {.pairing = Pairing::half_split});
  KeyStore<float> forgetful({8, 1, 4}, {.pairing = Pairing::half_split});
  const SequenceId sequence = index.add_sequence();
  const std::vector<float> keys = some_keys(4 * 4);
  const auto in = rope::thd(keys, {4, 1, 4});
  const auto placed = index.append(sequence, 4);
  store.write(in, index, placed.slots, table);
  std::vector<float> out(4 * 4, 7.0F);
  const auto view = rope::thd(out, {4, 1, 4});
  require_throws<InvalidArgument>(
      "rope::KeyStore::read: the store has no key for the token in slot 0, at position 0: it was "
      "not written, or a move was not followed",
      [&] { forgetful.read(index, sequence, table, view); });
  CHECK(out == std::vector<float>(4 * 4, 7.0F));
  forgetful.write(in, index, placed.slots, table);

  // A move that one store does not follow.
  const SequenceId copied = index.copy(sequence);
  store.follow(index.shift(copied, {0, no_end}, 1));
  CHECK(store.materialise(index, copied, table) == 4);
  require_throws<InvalidArgument>(
      "rope::KeyStore::materialise: the store has no key for the token in slot 4, at position 1: "
      "it was not written, or a move was not followed",
      [&] { forgetful.materialise(index, copied, table); });
  CHECK(forgetful.materialise(index, sequence, table) == 0);

  // A slot that was given to another token since.
  index.drop(copied);
  index.remove(sequence, {3, no_end});
  index.append(sequence, 1);
  require_throws<InvalidArgument>(
      "rope::KeyStore::materialise: the store has no key for the token in slot 3, at position 3: "
      "it was not written, or a move was not followed",
      [&] { store.materialise(index, sequence, table); });
  require_throws<OutOfRange>(
      "rope::KeyStore::follow: moves[1] is from slot 0 to 8, but the store has 8 slots", [&] {
        const rope::SlotMove moves[] = {{0, 1}, {0, 8}};
        store.follow(moves);
      });
}

TEST_CASE("refused calls of a store say why and write nothing") {
  const Table table(rope::frequencies({.rotary_dim = 4}), 6);
  const Table wide(rope::frequencies({.rotary_dim = 8}), 6);
  const Table per_head(Frequencies({1.0, 0.5, 0.25, 0.125, 1.0, 1.0}, {1, 3, 2}), 6);
  CacheIndex index(8);
  CacheIndex small(4);
  KeyStore<float> store({8, 2, 4}, {.pairing = Pairing::half_split});
  const SequenceId sequence = index.add_sequence();
  std::vector<float> keys = some_keys(4 * 2 * 4);
  const auto in = rope::thd(keys, {4, 2, 4});
  const auto placed = index.append(sequence, 4);
  store.write(in, index, placed.slots, table);
  const std::vector<float> before = all(store.keys());
  const auto refuse = [&](const std::string& message, auto kind, auto call) {
    require_throws<typename decltype(kind)::type>(message, call);
    CHECK(all(store.keys()) == before);
    CHECK(store.materialise(index, sequence, table) == 0);
  };
  const std::type_identity<InvalidArgument> invalid;
  const std::type_identity<OutOfRange> range;
  const auto write = [&](std::vector<std::int64_t> slots, const auto& with) {
    store.write(in.slice_tokens(0, static_cast<std::int64_t>(slots.size())), index, slots, with);
  };

  refuse("rope::KeyStore::write: the index has 4 slots, but the store 8", invalid,
         [&] { store.write(in, small, placed.slots, table); });
  refuse("rope::KeyStore::write: keys has heads 1 and dim 4, but the store has heads 2 and dim 4",
         invalid, [&] { store.write(in.slice_heads(0, 1), index, placed.slots, table); });
  refuse("rope::KeyStore::write: keys has heads 2 and dim 3, but the store has heads 2 and dim 4",
         invalid, [&] { store.write(in.slice_dims(0, 3), index, placed.slots, table); });
  refuse("rope::KeyStore::write: 3 slots, but keys have batch 1 and tokens 4", invalid,
         [&] { store.write(in, index, placed.slots.first(3), table); });
  refuse("rope::KeyStore::write: slots[1] is 4, where the index of 8 slots has no token", range,
         [&] {
           write({0, 4}, table);
         });
  refuse("rope::KeyStore::write: slots[0] is -2, where the index of 8 slots has no token", range,
         [&] {
           write({-2, 1}, table);
         });
  refuse("rope::KeyStore::write: slots[2] is 8, where the index of 8 slots has no token", range,
         [&] {
           write({0, 1, 8}, table);
         });
  refuse("rope::KeyStore::write: slots[3] is 2, as one before it", invalid, [&] {
    write({2, -1, 1, 2}, table);
  });
  refuse("rope::KeyStore::write: slots[1] is 2, as one before it", invalid, [&] {
    write({2, 2}, table);
  });
  refuse(
      "rope::KeyStore::write: the rotated part, 8 dims (2 for each pair of the table) from "
      "first_dim 0 on, is not within the view's 4 dims",
      invalid, [&] {
        write({0, 1}, wide);
      });
  refuse("rope::KeyStore::write: the table has rows for each of 3 heads, but the view has 2 heads",
         invalid, [&] {
           write({0, 1}, per_head);
         });
  refuse("rope::KeyStore::write: keys and the store share elements", invalid, [&] {
    store.write(store.keys().slice_tokens(4, 2), index, placed.slots.first(2), table);
  });

  std::vector<float> out(4 * 2 * 4, 7.0F);
  const auto view = rope::thd(out, {4, 2, 4});
  refuse("rope::KeyStore::read: out has batch 1 and tokens 3, but the sequence has 1 and 4",
         invalid, [&] { store.read(index, sequence, table, view.slice_tokens(0, 3)); });
  refuse("rope::KeyStore::read: out has heads 1 and dim 4, but the store has heads 2 and dim 4",
         invalid, [&] { store.read(index, sequence, table, view.slice_heads(0, 1)); });
  refuse("rope::KeyStore::read: the index has 4 slots, but the store 8", invalid, [&] {
    static_cast<void>(small.add_sequence());
    store.read(small, SequenceId{0}, table, view);
  });
  refuse("rope::KeyStore::read: there is no sequence 5", range,
         [&] { store.read(index, SequenceId{5}, table, view); });
  refuse("rope::KeyStore::materialise: there is no sequence 5", range,
         [&] { store.materialise(index, SequenceId{5}, table); });
  const rope::View<float> flat(out.data(), {1, 4, 2, 4}, {0, 0, 4, 1});
  refuse(
      "rope::KeyStore::read: the written view of strides [0, 0, 4, 1] (batch, tokens, heads, dim) "
      "has the same element at several indices",
      invalid, [&] { store.read(index, sequence, table, flat); });

  // Frequencies that keys cannot be turned to.
  const Table nothing(Frequencies({1.0, 0.5}, {1, 1, 2}, 0.0), 6);
  refuse(
      "rope::KeyStore::materialise: keys of magnitude 1 cannot be turned into keys of magnitude 0",
      invalid, [&] { store.materialise(index, sequence, nothing); });
  const Table fewer(rope::frequencies({.rotary_dim = 2}), 6);
  refuse(
      "rope::KeyStore::materialise: keys are rotated with 1 heads and 2 pairs of frequencies, but "
      "the table has 1 and 1",
      invalid, [&] { store.materialise(index, sequence, fewer); });

  // Positions beyond the table: at once when written, and when turned.
  CHECK(index.shift(sequence, {2, no_end}, 3).empty());
  require_throws<OutOfRange>(
      "rope::KeyStore::materialise: the token in slot 3 is at position 6, outside the table's rows "
      "0 .. 5",
      [&] { store.materialise(index, sequence, table); });
  require_throws<OutOfRange>(
      "rope::KeyStore::read: the token in slot 3 is at position 6, outside the table's rows 0 .. 5",
      [&] { store.read(index, sequence, table, view); });
  require_throws<OutOfRange>(
      "rope::KeyStore::write: the token in slot 3 is at position 6, outside the table's rows 0 .. "
      "5",
      [&] {
        write({0, 1, 2, 3}, table);
      });
  CHECK(all(store.keys()) == before);
  CHECK(out == std::vector<float>(4 * 2 * 4, 7.0F));
}

TEST_CASE("a store without slots, heads or tokens is fine") {
  const Table table(rope::frequencies({.rotary_dim = 4}), 6);
  CacheIndex index(0);
  KeyStore<float> store({0, 2, 4}, {.pairing = Pairing::half_split});
  const SequenceId sequence = index.add_sequence();
  std::vector<float> nothing;
  const auto view = rope::thd(nothing, {0, 2, 4});
  store.write(view, index, index.append(sequence, 0).slots, table);
  CHECK(store.materialise(index, sequence, table) == 0);
  store.read(index, sequence, table, view);
  CHECK(store.keys().tokens() == 0);
}

TEST_CASE("slots that hold nothing are zero") {
  const KeyStore<bf16> store({50, 2, 64}, {.pairing = Pairing::half_split});
  CHECK(all(store.keys()) == std::vector<float>(50 * 2 * 64, 0.0F));
}

TEST_CASE("a pool of threads writes, turns and reads the same bits") {
  rope::ThreadPool pool(2);
  const Table table(rope::frequencies({.rotary_dim = 64}), 400);
  const std::vector<float> keys = some_keys(300 * 8 * 64);
  const auto in = rope::thd(keys, {300, 8, 64});
  CacheIndex index(300);
  KeyStore<bf16> alone({300, 8, 64}, {.pairing = Pairing::half_split});
  KeyStore<bf16> shared({300, 8, 64}, {.pairing = Pairing::half_split});
  const SequenceId sequence = index.add_sequence();
  index.set_next_position(sequence, 50);
  const auto placed = index.append(sequence, 300);
  alone.write(in, index, placed.slots, table);
  shared.write(in, index, placed.slots, table, {.executor = pool});
  CHECK(all(alone.keys()) == all(shared.keys()));
  CHECK(index.shift(sequence, {0, no_end}, -50).empty());
  std::vector<float> read_alone(keys.size());
  std::vector<float> read_shared(keys.size());
  alone.read(index, sequence, table, rope::thd(read_alone, {300, 8, 64}));
  shared.read(index, sequence, table, rope::thd(read_shared, {300, 8, 64}), {.executor = pool});
  CHECK(read_alone == read_shared);
  CHECK(alone.materialise(index, sequence, table) == 300);
  CHECK(shared.materialise(index, table, {.executor = pool}) == 300);
  CHECK(all(alone.keys()) == all(shared.keys()));
}

TEST_CASE("types of others are stored by their traits") {
  const Table table(rope::frequencies({.rotary_dim = 4, .base = 100}), 64);
  const std::vector<float> keys = some_keys(6 * 2 * 5);
  const auto in = rope::thd(keys, {6, 2, 5});
  CacheIndex index(12);
  const SequenceId sequence = index.add_sequence();
  const auto fill = [&]<class T>(T, KeyStorage storage) {
    KeyStore<T> store({12, 2, 5},
                      {.pairing = Pairing::half_split, .first_dim = 1, .storage = storage});
    store.write(in, index, index.slots(sequence), table);
    return store;
  };
  index.set_next_position(sequence, 20);
  index.append(sequence, 6);
  const KeyStore<f16> ours = fill(f16{}, KeyStorage::rotated);
  const KeyStore<TheirHalf> theirs = fill(TheirHalf{}, KeyStorage::rotated);
  const KeyStore<TheirHalf> their_unrotated = fill(TheirHalf{}, KeyStorage::unrotated);
  const KeyStore<Fixed> fixed = fill(Fixed{}, KeyStorage::rotated);
  const KeyStore<Fixed> fixed_unrotated = fill(Fixed{}, KeyStorage::unrotated);
  CHECK(std::memcmp(&ours.keys()(0, 0, 0, 0), &theirs.keys()(0, 0, 0, 0), 6 * 2 * 5 * 2) == 0);

  CHECK(index.shift(sequence, {0, no_end}, -15).empty());
  std::vector<float> expected = keys;
  rope::rotate<Pairing::half_split>(rope::thd(expected, {6, 2, 5}), table, rope::from(5),
                                    {.first_dim = 1});
  const auto check = [&](const auto& store, float error) {
    std::vector<float> read(keys.size());
    store.read(index, sequence, table, rope::thd(read, {6, 2, 5}));
    for (std::size_t i = 0; i < read.size(); ++i) {
      CHECK(read[i] == Approx(expected[i]).margin(error));
    }
  };
  check(ours, 0x1p-10F);
  check(theirs, 0x1p-10F);
  check(their_unrotated, 1e-6F);  // the values are exact in f16
  check(fixed, 0x1.8p-7F);
  check(fixed_unrotated, 1e-6F);
}

TEST_CASE("unrotated keys are converted element by element, whatever their strides") {
  // As its definition says, and with all that has no ordinary rounding.
  std::vector<float> values = some_keys(3 * 2 * 37);
  constexpr auto infinity = std::numeric_limits<float>::infinity();
  const float special[] = {infinity, -infinity, -0.0F,    0x1p-140F,   0x1p-24F,    -0x1p-26F,
                           1e30F,    65520.0F,  65519.0F, 1.00390625F, 1.01171875F, 0x1.ffp-15F};
  for (std::size_t i = 0; i < 180; ++i) values[i] = special[i % 12] * (i < 96 ? 1.0F : -1.0F);
  values[77] = std::numeric_limits<float>::quiet_NaN();
  const Table table(rope::frequencies({.rotary_dim = 4}), 16);
  const auto convert = [&]<class In, class Out>(In, Out, bool spread_in, bool spread_out,
                                                bool apart) {
    // [heads, tokens, dim] and two elements apart, or packed.
    const std::int64_t step = spread_in ? 2 : 1;
    std::vector<In> memory(values.size() * 2);
    const rope::Extents<4> strides = spread_in ? rope::Extents<4>{0, 37 * step, 3 * 37 * step, step}
                                               : rope::Extents<4>{0, 2 * 37, 37, 1};
    const rope::View<In> in(memory.data(), {1, 3, 2, 37}, strides);
    std::size_t next = 0;
    for (std::int64_t t = 0; t < 3; ++t) {
      for (std::int64_t h = 0; h < 2; ++h) {
        for (std::int64_t i = 0; i < 37; ++i) in(0, t, h, i) = In(values[next++]);
      }
    }
    std::vector<Out> kept(4 * 2 * 40 + 8);
    const rope::Extents<4> packed{0, apart ? 80 : 2 * 37, 37, 1};  // or only tokens apart
    const rope::View<Out> room(kept.data(), {1, 4, 2, 37},
                               spread_out ? rope::Extents<4>{0, 40, 160, 1} : packed);
    CacheIndex index(4);
    KeyStore<Out> store(room, {.pairing = Pairing::half_split, .storage = KeyStorage::unrotated});
    store.write(in, index, index.append(index.add_sequence(), 3).slots, table);
    for (std::int64_t t = 0; t < 3; ++t) {
      for (std::int64_t h = 0; h < 2; ++h) {
        for (std::int64_t i = 0; i < 37; ++i) {
          const Out expected(static_cast<float>(in(0, t, h, i)));
          const Out found = room(0, t, h, i);
          const auto number = static_cast<float>(expected);
          const bool same = std::isnan(number) ? std::isnan(static_cast<float>(found))
                                               : std::memcmp(&found, &expected, sizeof found) == 0;
          if (!same) FAIL("token " << t << " head " << h << " feature " << i);
        }
      }
    }
    for (const Out& behind : std::span(kept).last(8)) CHECK(static_cast<float>(behind) == 0.0F);
  };
  rope_test::on_every_isa([&] {
    for (const bool spread_in : {false, true}) {
      for (const auto& [spread_out, apart] :
           {std::pair(false, false), {false, true}, {true, false}}) {
        convert(float{}, bf16{}, spread_in, spread_out, apart);
        convert(float{}, f16{}, spread_in, spread_out, apart);
        convert(float{}, float{}, spread_in, spread_out, apart);
        convert(bf16{}, f16{}, spread_in, spread_out, apart);
        convert(f16{}, bf16{}, spread_in, spread_out, apart);
        convert(bf16{}, float{}, spread_in, spread_out, apart);
      }
    }
  });
}
