// CacheIndex by examples worked out by hand, and every refusal. Random operations: model_test.cpp.
#include "rope/cache_index.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using rope::CacheIndex;
using rope::InvalidArgument;
using rope::no_end;
using rope::OutOfRange;
using rope::SequenceId;
using rope::SlotMove;
using rope::SlotRun;
using rope_test::require_throws;
using Numbers = std::vector<std::int64_t>;

constexpr SequenceId nobody{77};

Numbers slots(const CacheIndex& index, SequenceId sequence) {
  const std::span<const std::int64_t> found = index.slots(sequence);
  return {found.begin(), found.end()};
}

std::vector<std::pair<std::int64_t, std::int64_t>> pairs(const std::vector<SlotMove>& moves) {
  std::vector<std::pair<std::int64_t, std::int64_t>> result;
  for (const auto& [from, to] : moves) result.emplace_back(from, to);
  return result;
}

std::vector<std::pair<std::int64_t, std::int64_t>> pairs(const std::vector<SlotRun>& runs) {
  std::vector<std::pair<std::int64_t, std::int64_t>> result;
  for (const auto& [first, count] : runs) result.emplace_back(first, count);
  return result;
}

using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

}  // namespace

TEST_CASE("chunks of any size get the positions and slots of one call") {
  CacheIndex whole(8);
  const SequenceId a = whole.add_sequence();
  CHECK(whole.append(a, 6).first_position == 0);

  CacheIndex chunked(8);
  const SequenceId b = chunked.add_sequence();
  CHECK(chunked.append(b, 3).first_position == 0);
  CHECK(chunked.append(b, 2).first_position == 3);
  CHECK(chunked.append(b, 0).slots.empty());
  const rope::Placement decoded = chunked.append(b, 1);
  CHECK(decoded.first_position == 5);
  CHECK(Numbers(decoded.slots.begin(), decoded.slots.end()) == Numbers{5});

  CHECK(slots(whole, a) == Numbers{0, 1, 2, 3, 4, 5});
  CHECK(slots(chunked, b) == slots(whole, a));
  CHECK(chunked.positions(b) == whole.positions(a));
  CHECK(chunked.next_position(b) == 6);
  CHECK(chunked.free_slots() == 2);
  CHECK(chunked.tokens(b) == 6);
}

TEST_CASE("attention sinks and a window are at the positions of the cache") {
  // Tokens 0 .. 6, sinks 2, window 3: the tokens 0 1 4 5 6 are left, at positions 0 .. 4.
  CacheIndex index(16);
  const SequenceId sequence = index.add_sequence();
  index.append(sequence, 7);
  CHECK(index.keep(sequence, {.sinks = 2, .window = 3}).empty());
  CHECK(slots(index, sequence) == Numbers{0, 1, 4, 5, 6});
  CHECK(index.positions(sequence) == Numbers{0, 1, 2, 3, 4});
  CHECK(index.next_position(sequence) == 5);
  CHECK(index.position(6) == 4);  // of the newest token, and so of its query
  CHECK(index.append(sequence, 1).first_position == 5);
  CHECK(index.free_slots() == 10);

  // No more tokens than are kept: nothing happens.
  CHECK(index.keep(sequence, {.sinks = 2, .window = 4}).empty());
  CHECK(index.positions(sequence) == Numbers{0, 1, 2, 3, 4, 5});

  // Without sinks, the window starts where the sequence did; without a window, only sinks are left.
  CHECK(index.keep(sequence, {.sinks = 0, .window = 2}).empty());
  CHECK(index.positions(sequence) == Numbers{0, 1});
  CHECK(slots(index, sequence) == Numbers{6, 7});
  index.append(sequence, 3);
  CHECK(index.keep(sequence, {.sinks = 1, .window = 0}).empty());
  CHECK(index.positions(sequence) == Numbers{0});
  CHECK(index.next_position(sequence) == 1);
  CHECK(index.keep(sequence, {.sinks = 0, .window = 0}).empty());
  CHECK(index.next_position(sequence) == 0);
  CHECK(index.free_slots() == 16);

  // A position that was left out stays left out within the window.
  index.append(sequence, 4);
  index.set_next_position(sequence, 10);
  index.append(sequence, 2);
  CHECK(index.keep(sequence, {.sinks = 1, .window = 3}).empty());
  CHECK(index.positions(sequence) == Numbers{0, 1, 8, 9});
  CHECK(index.next_position(sequence) == 10);
}

TEST_CASE("a sliding window drops tokens and keeps positions") {
  CacheIndex index(4);
  const SequenceId sequence = index.add_sequence();
  for (int token = 0; token < 11; ++token) {
    if (token >= 4) index.slide(sequence, 3);  // room for the next one
    CHECK(index.append(sequence, 1).first_position == token);
    index.slide(sequence, 4);
  }
  CHECK(index.positions(sequence) == Numbers{7, 8, 9, 10});
  // The slots go round.
  CHECK(slots(index, sequence) == Numbers{3, 0, 1, 2});
  CHECK(pairs(index.runs(sequence)) == Pairs{{3, 1}, {0, 3}});
  index.slide(sequence, 0);
  CHECK(index.tokens(sequence) == 0);
  CHECK(index.next_position(sequence) == 11);
  index.slide(sequence, 1000);
  CHECK(index.next_position(sequence) == 11);
}

TEST_CASE("the end of a sequence is taken back, what is in front is left out") {
  CacheIndex index(16);
  const SequenceId sequence = index.add_sequence();
  index.append(sequence, 10);
  index.remove(sequence, {7, no_end});
  CHECK(index.next_position(sequence) == 7);
  index.remove(sequence, {5, 7});
  CHECK(index.next_position(sequence) == 5);
  index.remove(sequence, {1, 3});
  CHECK(index.positions(sequence) == Numbers{0, 3, 4});
  CHECK(index.next_position(sequence) == 5);
  index.remove(sequence, {1, 3});  // nothing is there any more
  index.remove(sequence, {4, 4});
  index.remove(sequence, {9, 12});
  CHECK(index.positions(sequence) == Numbers{0, 3, 4});
  CHECK(index.next_position(sequence) == 5);
  CHECK(index.append(sequence, 2).first_position == 5);
  CHECK(index.positions(sequence) == Numbers{0, 3, 4, 5, 6});
  index.remove(sequence, {0, no_end});
  CHECK(index.next_position(sequence) == 0);
  CHECK(index.free_slots() == 16);
}

TEST_CASE("shifts add up, and the next position goes with the end") {
  CacheIndex index(16);
  const SequenceId sequence = index.add_sequence();
  index.append(sequence, 10);
  index.remove(sequence, {2, 6});
  CHECK(index.shift(sequence, {6, no_end}, -3).empty());
  CHECK(index.shift(sequence, {3, no_end}, -1).empty());
  CHECK(index.positions(sequence) == Numbers{0, 1, 2, 3, 4, 5});
  CHECK(index.next_position(sequence) == 6);
  // Not to the end: the next position stays.
  CHECK(index.shift(sequence, {0, 0}, 5).empty());
  CHECK(index.shift(sequence, {5, 6}, 0).empty());
  index.set_next_position(sequence, 20);
  CHECK(index.shift(sequence, {4, 6}, 10).empty());
  CHECK(index.positions(sequence) == Numbers{0, 1, 2, 3, 14, 15});
  CHECK(index.next_position(sequence) == 20);
  // Only the next position.
  CHECK(index.shift(sequence, {20, 20}, -4).empty());
  CHECK(index.next_position(sequence) == 16);
}

TEST_CASE("copied sequences share slots until one is shifted") {
  CacheIndex index(12);
  const SequenceId a = index.add_sequence();
  index.append(a, 5);
  const SequenceId b = index.copy(a);
  const SequenceId c = index.copy(a, {1, 3});
  CHECK(index.free_slots() == 7);
  CHECK(index.sequences() == 3);
  CHECK(slots(index, b) == Numbers{0, 1, 2, 3, 4});
  CHECK(slots(index, c) == Numbers{1, 2});
  CHECK(index.next_position(b) == 5);
  CHECK(index.next_position(c) == 3);
  CHECK(index.holders(0) == 2);
  CHECK(index.holders(1) == 3);
  CHECK(index.holders(5) == 0);
  CHECK(index.holders(-1) == 0);
  CHECK(index.holders(12) == 0);

  // b moves two of its tokens; a and c must not notice.
  const auto moves = index.shift(b, {2, 4}, 0);
  CHECK(moves.empty());
  index.remove(b, {0, 2});
  CHECK(index.holders(1) == 2);
  // Its new slots are in the middle of the free ones: a will grow into slot 5.
  CHECK(pairs(index.shift(b, {0, no_end}, -2)) == Pairs{{2, 8}, {3, 9}, {4, 10}});
  CHECK(index.positions(b) == Numbers{0, 1, 2});
  CHECK(slots(index, b) == Numbers{8, 9, 10});
  CHECK(index.positions(a) == Numbers{0, 1, 2, 3, 4});
  CHECK(index.positions(c) == Numbers{1, 2});
  CHECK(index.next_position(a) == 5);
  CHECK(index.next_position(b) == 3);
  CHECK(index.free_slots() == 4);

  // Once they are its own, they are shifted where they are.
  CHECK(index.shift(b, {0, no_end}, 4).empty());
  CHECK(index.positions(b) == Numbers{4, 5, 6});

  index.drop(a);
  CHECK(index.free_slots() == 7);  // slots 1 and 2 are c's, 8 to 10 b's
  CHECK_FALSE(index.contains(a));
  CHECK(index.contains(c));
  CHECK(pairs(index.unshare(c)).empty());
  const SequenceId d = index.copy(c);
  CHECK(pairs(index.unshare(d)).size() == 2);
  CHECK(index.positions(d) == Numbers{1, 2});
  CHECK(index.free_slots() == 5);
}

TEST_CASE("a shift of what is shared can take the slots that it frees") {
  // All 6 slots in use; keep() gives up the tokens 1 .. 3 of b, of which 3 is b's alone.
  CacheIndex index(6);
  const SequenceId a = index.add_sequence();
  index.append(a, 5);
  const SequenceId b = index.copy(a);
  index.remove(a, {3, 4});
  index.append(a, 1);
  CHECK(index.free_slots() == 0);
  CHECK(pairs(index.keep(b, {.sinks = 1, .window = 1})) == Pairs{{4, 3}});
  CHECK(index.positions(b) == Numbers{0, 1});
  CHECK(slots(index, b) == Numbers{0, 3});
  CHECK(index.positions(a) == Numbers{0, 1, 2, 4, 5});
}

TEST_CASE("identifiers are not given out again") {
  CacheIndex index(4);
  const SequenceId a = index.add_sequence();
  const SequenceId b = index.add_sequence();
  index.drop(b);
  const SequenceId c = index.add_sequence();
  CHECK(c != b);
  CHECK(c != a);
  CHECK_FALSE(index.contains(b));
  CHECK(index.contains(a));
  CHECK(index.sequences() == 2);
}

TEST_CASE("sequences that grow side by side stay in long runs") {
  CacheIndex index(64);
  std::vector<SequenceId> sequences;
  for (int i = 0; i < 4; ++i) {
    sequences.push_back(index.add_sequence());
    index.append(sequences.back(), 4);
  }
  for (int step = 0; step < 11; ++step) {
    for (const SequenceId sequence : sequences) index.append(sequence, 1);
  }
  CHECK(index.free_slots() == 4);
  std::size_t runs = 0;
  for (const SequenceId sequence : sequences) runs += index.runs(sequence).size();
  CHECK(runs <= 8);  // striped, it would be 44 or more
}

TEST_CASE("compacting moves everything down in order") {
  CacheIndex index(10);
  const SequenceId a = index.add_sequence();
  index.append(a, 10);
  const SequenceId b = index.copy(a, {6, 8});
  index.remove(a, {0, 2});
  index.remove(a, {4, 5});
  CHECK(pairs(index.compact()) == Pairs{{2, 0}, {3, 1}, {5, 2}, {6, 3}, {7, 4}, {8, 5}, {9, 6}});
  CHECK(slots(index, a) == Numbers{0, 1, 2, 3, 4, 5, 6});
  CHECK(slots(index, b) == Numbers{3, 4});
  CHECK(index.positions(a) == Numbers{2, 3, 5, 6, 7, 8, 9});
  CHECK(index.positions(b) == Numbers{6, 7});
  CHECK(index.free_slots() == 3);
  CHECK(index.compact().empty());
  CHECK(index.holders(7) == 0);
  require_throws<OutOfRange>("rope::CacheIndex::position: no token is in slot 7 of 10",
                             [&] { static_cast<void>(index.position(7)); });
}

TEST_CASE("refused calls say why and change nothing") {
  CacheIndex index(8);
  const SequenceId a = index.add_sequence();
  index.append(a, 3);
  index.set_next_position(a, 5);
  index.append(a, 2);  // positions 0 1 2 5 6
  const SequenceId b = index.copy(a);
  const auto refuse = [&](const std::string& message, auto kind, auto call) {
    CacheIndex before = index;
    require_throws<typename decltype(kind)::type>(message, call);
    CHECK(index.free_slots() == before.free_slots());
    CHECK(index.sequences() == before.sequences());
    for (const SequenceId id : {a, b}) {
      CHECK(index.positions(id) == before.positions(id));
      CHECK(slots(index, id) == slots(before, id));
      CHECK(index.next_position(id) == before.next_position(id));
    }
  };
  const std::type_identity<InvalidArgument> invalid;
  const std::type_identity<OutOfRange> range;
  const auto ignore = [](const auto&) {};

  refuse("rope::CacheIndex::append: there is no sequence 77", range,
         [&] { index.append(nobody, 1); });
  refuse("rope::CacheIndex::copy: there is no sequence 77", range, [&] { index.copy(nobody); });
  refuse("rope::CacheIndex::drop: there is no sequence 77", range, [&] { index.drop(nobody); });
  refuse("rope::CacheIndex::remove: there is no sequence -1", range, [&] {
    index.remove(SequenceId{-1}, {0, 1});
  });
  refuse("rope::CacheIndex::shift: there is no sequence 77", range, [&] {
    ignore(index.shift(nobody, {0, 1}, 1));
  });
  refuse("rope::CacheIndex::slide: there is no sequence 77", range,
         [&] { index.slide(nobody, 1); });
  refuse("rope::CacheIndex::keep: there is no sequence 77", range,
         [&] { ignore(index.keep(nobody, {.sinks = 1, .window = 1})); });
  refuse("rope::CacheIndex::unshare: there is no sequence 77", range,
         [&] { ignore(index.unshare(nobody)); });
  refuse("rope::CacheIndex::set_next_position: there is no sequence 77", range,
         [&] { index.set_next_position(nobody, 1); });
  refuse("rope::CacheIndex::next_position: there is no sequence 77", range,
         [&] { ignore(index.next_position(nobody)); });
  refuse("rope::CacheIndex::slots: there is no sequence 77", range,
         [&] { ignore(index.slots(nobody)); });
  refuse("rope::CacheIndex::runs: there is no sequence 77", range,
         [&] { ignore(index.runs(nobody)); });
  refuse("rope::CacheIndex::positions: there is no sequence 77", range,
         [&] { ignore(index.positions(nobody)); });
  refuse("rope::CacheIndex::tokens: there is no sequence 77", range,
         [&] { ignore(index.tokens(nobody)); });

  refuse("rope::CacheIndex::append: 4 slots are needed, but 3 of 8 are free", range,
         [&] { index.append(a, 4); });
  refuse("rope::CacheIndex::append: count must not be negative, got -1", invalid,
         [&] { index.append(a, -1); });
  refuse("rope::CacheIndex::unshare: 5 slots are needed, but 3 of 8 are free", range,
         [&] { ignore(index.unshare(b)); });
  refuse("rope::CacheIndex::shift: 5 slots are needed, but 3 of 8 are free", range, [&] {
    ignore(index.shift(b, {0, no_end}, 1));
  });
  refuse("rope::CacheIndex::keep: 4 slots are needed, but 3 of 8 are free", range,
         [&] { ignore(index.keep(b, {.sinks = 0, .window = 4})); });

  refuse("rope::CacheIndex::remove: the positions from 3 to before 2 are no range", invalid, [&] {
    index.remove(a, {3, 2});
  });
  refuse("rope::CacheIndex::shift: the positions from -1 to before 2 are no range", invalid, [&] {
    ignore(index.shift(a, {-1, 2}, 1));
  });
  refuse("rope::CacheIndex::copy: the positions from 3 to before 2 are no range", invalid, [&] {
    index.copy(a, {3, 2});
  });
  refuse("rope::CacheIndex::slide: window must not be negative, got -2", invalid,
         [&] { index.slide(a, -2); });
  refuse("rope::CacheIndex::keep: sinks must not be negative, got -1", invalid,
         [&] { ignore(index.keep(a, {.sinks = -1, .window = 2})); });
  refuse("rope::CacheIndex::keep: window must not be negative, got -3", invalid,
         [&] { ignore(index.keep(a, {.sinks = 1, .window = -3})); });

  refuse("rope::CacheIndex::shift: position 0 shifted by -1 is negative", invalid, [&] {
    ignore(index.shift(a, {0, 3}, -1));
  });
  refuse(
      "rope::CacheIndex::shift: the tokens at positions 5 to 7, shifted by -3, would meet or pass "
      "the token at 2",
      invalid, [&] {
        ignore(index.shift(a, {3, no_end}, -3));
      });
  refuse(
      "rope::CacheIndex::shift: the tokens at positions 0 to 2, shifted by 3, would meet or pass "
      "the token at 5",
      invalid, [&] {
        ignore(index.shift(a, {0, 3}, 3));
      });
  refuse(
      "rope::CacheIndex::shift: the tokens at positions 1 to 1, shifted by 9, would meet or pass "
      "the token at 2",
      invalid, [&] {
        ignore(index.shift(a, {1, 2}, 9));
      });
  index.set_next_position(a, 9);
  refuse(
      "rope::CacheIndex::shift: the tokens at positions 5 to 6, shifted by 3, would meet or pass "
      "the next position 9",
      invalid, [&] {
        ignore(index.shift(a, {5, 7}, 3));
      });
  refuse(
      "rope::CacheIndex::shift: position 9 shifted by 9223372036854775807 does not fit in 64 bits",
      invalid, [&] {
        ignore(index.shift(a, {5, no_end}, no_end));
      });
  refuse("rope::CacheIndex::shift: position 5 shifted by -9223372036854775808 is negative", invalid,
         [&] {
           ignore(index.shift(a, {5, no_end}, (std::numeric_limits<std::int64_t>::min)()));
         });
  refuse(
      "rope::CacheIndex::set_next_position: the next position of sequence 0 must be at least 7, "
      "got 6",
      invalid, [&] { index.set_next_position(a, 6); });
  const SequenceId late = index.add_sequence();
  index.set_next_position(late, no_end - 1);
  require_throws<InvalidArgument>(
      "rope::CacheIndex::append: 2 tokens from position 9223372036854775806 on do not fit in 64 "
      "bits",
      [&] { index.append(late, 2); });
  require_throws<OutOfRange>("rope::CacheIndex::position: no token is in slot -1 of 8",
                             [&] { ignore(index.position(-1)); });
  require_throws<OutOfRange>("rope::CacheIndex::position: no token is in slot 8 of 8",
                             [&] { ignore(index.position(8)); });

  require_throws<InvalidArgument>(
      "rope::CacheIndex: slots must be from 0 to 2^48 and axes at least 1, got slots -1 and axes 1",
      [] { CacheIndex(-1); });
  require_throws<InvalidArgument>(
      "rope::CacheIndex: slots must be from 0 to 2^48 and axes at least 1, got slots 4 and axes 0",
      [] { CacheIndex(4, {.axes = 0}); });
}

TEST_CASE("positions of several axes cannot be shifted") {
  CacheIndex index(8, {.axes = 3});
  CHECK(index.axes() == 3);
  const SequenceId sequence = index.add_sequence();
  index.append(sequence, 6);
  require_throws<InvalidArgument>(
      "rope::CacheIndex::shift: positions of 3 axes cannot be shifted by one number", [&] {
        static_cast<void>(index.shift(sequence, {2, no_end}, -1));
      });
  require_throws<InvalidArgument>(
      "rope::CacheIndex::keep: positions of 3 axes cannot be shifted by one number",
      [&] { static_cast<void>(index.keep(sequence, {.sinks = 1, .window = 2})); });
  CHECK(index.tokens(sequence) == 6);
  // What moves no position is fine.
  index.slide(sequence, 4);
  index.remove(sequence, {5, no_end});
  CHECK(index.positions(sequence) == Numbers{2, 3, 4});
}

TEST_CASE("an index can be copied, and one that was moved from has no slots") {
  CacheIndex index(4);
  const SequenceId sequence = index.add_sequence();
  index.append(sequence, 3);
  CacheIndex copy = index;
  copy.append(sequence, 1);
  CHECK(index.positions(sequence) == Numbers{0, 1, 2});
  CHECK(copy.positions(sequence) == Numbers{0, 1, 2, 3});
  const CacheIndex moved = std::move(index);
  CHECK(moved.positions(sequence) == Numbers{0, 1, 2});
  CHECK(index.slots() == 0);  // NOLINT(bugprone-use-after-move): that is the question
  const SequenceId late = index.add_sequence();
  CHECK_THROWS_AS(index.append(late, 1), rope::OutOfRange);
  index = copy;
  CHECK(index.positions(sequence) == Numbers{0, 1, 2, 3});
}

TEST_CASE("an index without slots holds empty sequences") {
  CacheIndex index(0);
  const SequenceId sequence = index.add_sequence();
  CHECK(index.append(sequence, 0).slots.empty());
  CHECK(index.runs(sequence).empty());
  CHECK(index.compact().empty());
  require_throws<OutOfRange>("rope::CacheIndex::append: 1 slots are needed, but 0 of 0 are free",
                             [&] { index.append(sequence, 1); });
}
