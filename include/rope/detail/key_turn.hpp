#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "rope/detail/double_double.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/fused.hpp"
#include "rope/detail/rotor.hpp"
#include "rope/detail/unit.hpp"
#include "rope/frequencies.hpp"
#include "rope/table_concept.hpp"

namespace rope::detail {

/// One row for any number of tokens: what turns a key from the position that it was rotated for to
/// another one.
template <class C>
class TurnRow {
 public:
  using value_type = C;
  static constexpr RowAddressing addressing = RowAddressing::token;

  /// Room for the row of some frequencies.
  ROPE_DETAIL_FORWARD explicit TurnRow(const Frequencies& frequencies)
      : entries_(static_cast<std::size_t>(frequencies.heads() * 2 * frequencies.pairs())),
        heads_(frequencies.heads()),
        pairs_(frequencies.pairs()) {}

  // Spelt out for their attribute: implicit ones could be shared by differently compiled units.
  ROPE_DETAIL_FORWARD TurnRow(const TurnRow&) = default;
  ROPE_DETAIL_FORWARD TurnRow& operator=(const TurnRow&) = default;
  ROPE_DETAIL_FORWARD ~TurnRow() = default;

  ROPE_DETAIL_FORWARD std::int64_t heads() const noexcept { return heads_; }
  ROPE_DETAIL_FORWARD std::int64_t pairs() const noexcept { return pairs_; }
  ROPE_DETAIL_FORWARD double magnitude() const noexcept { return 1; }
  ROPE_DETAIL_FORWARD std::int64_t batch() const noexcept { return 1; }
  ROPE_DETAIL_FORWARD std::int64_t tokens() const noexcept { return 0; }  // any number

  ROPE_DETAIL_FORWARD TableRow<C> row(std::int64_t /*row*/, std::int64_t head,
                                      std::int64_t first_pair, std::int64_t /*count*/,
                                      C* /*scratch*/) const noexcept {
    const C* cos = entries_.data() + head * 2 * pairs_ + first_pair;
    return {cos, cos + pairs_};
  }

  ROPE_DETAIL_FORWARD C* cos(std::int64_t head) noexcept {
    return entries_.data() + head * 2 * pairs_;
  }
  ROPE_DETAIL_FORWARD C* sin(std::int64_t head) noexcept { return cos(head) + pairs_; }

 private:
  std::vector<C> entries_;  // [heads, 2, pairs]
  std::int64_t heads_;
  std::int64_t pairs_;
};

/// The rows of a token-addressed table for the tokens from `first` on.
template <TokenAddressedTable X>
class RowsFrom {
 public:
  using value_type = typename X::value_type;
  static constexpr RowAddressing addressing = RowAddressing::token;

  ROPE_DETAIL_FORWARD RowsFrom(const X& table, std::int64_t first) noexcept
      : table_(table), first_(first) {}

  ROPE_DETAIL_FORWARD std::int64_t heads() const noexcept { return table_.heads(); }
  ROPE_DETAIL_FORWARD std::int64_t pairs() const noexcept { return table_.pairs(); }
  ROPE_DETAIL_FORWARD double magnitude() const noexcept { return table_.magnitude(); }
  ROPE_DETAIL_FORWARD std::int64_t batch() const noexcept { return 1; }
  ROPE_DETAIL_FORWARD std::int64_t tokens() const noexcept {
    return table_.batch() * table_.tokens() - first_;
  }
  ROPE_DETAIL_FORWARD TableRow<value_type> row(std::int64_t row, std::int64_t head,
                                               std::int64_t first_pair, std::int64_t count,
                                               value_type* scratch) const noexcept {
    return table_.row(first_ + row, head, first_pair, count, scratch);
  }

 private:
  const X& table_;
  std::int64_t first_;
};

inline namespace ROPE_DETAIL_UNIT {

/// Whether two sets of frequencies turn every key alike. By bytes, because it is asked for every
/// token that is written.
inline bool same_frequencies(const Frequencies& a, const Frequencies& b) noexcept {
  return &a == &b || (a.axes() == b.axes() && a.heads() == b.heads() && a.pairs() == b.pairs() &&
                      a.magnitude() == b.magnitude() && a.values().size() == b.values().size() &&
                      std::memcmp(a.values().data(), b.values().data(),
                                  a.values().size() * sizeof(double)) == 0);
}

/// Beyond 2^53, positions are no longer all doubles.
inline constexpr std::int64_t last_exact_position = std::int64_t{1} << 53;

/// exp(i * (target * to - start * from)): the turn there times the turn back, each exact to far
/// more than a double.
inline void exact_turn(double from, std::int64_t start, double to, std::int64_t target, double& cos,
                       double& sin) noexcept {
  if (from == to) {
    const SinCos turn = sin_cos(two_product(static_cast<double>(target - start), to));
    cos = turn.cos.hi;
    sin = turn.sin.hi;
  } else {
    const Rotor there = rotor(to, target);
    const Rotor back = rotor(from, -start);
    cos = product_cos(there, back);
    sin = product_sin(there, back);
  }
}

/// Makes the rows that turn keys to their positions and to one set of frequencies.
///
/// Same frequencies: the angle is the exact product of difference and frequency, and the entries
/// are its cosine and sine rounded once, with no magnitude, since the key has it. About 0.2 us a
/// pair, for all keys of the same shift.
///
/// Other frequencies: the exact turn, times the ratio of the magnitudes. Every key has its own, so
/// behind a key whose turn was made exactly, those at the next 31 positions that are shifted alike
/// take it times exp(i * distance * (to - from)), a product in double.
template <class C>
class TurnMaker {
 public:
  explicit TurnMaker(const Frequencies& to)
      : to_(to), row_(to), columns_(static_cast<std::size_t>(to.heads() * to.pairs())) {}

  /// The row for a key rotated with `from` for `start`, which is to be at `target`; neither is
  /// above 2^53, and no angle above max_angle. Valid until the next one is made.
  const TurnRow<C>& make(const Frequencies& from, std::int64_t start, std::int64_t target) {
    if (same_frequencies(from, to_)) {
      if (from_ != &from || target - start != shift_) {
        for_each_column([&](std::int64_t head, std::int64_t pair, std::size_t) {
          double cos = 0;
          double sin = 0;
          exact_turn(to_(0, head, pair), start, to_(0, head, pair), target, cos, sin);
          set(head, pair, cos, sin);
        });
      }
    } else {
      make_changed(from, start, target);
    }
    from_ = &from;
    shift_ = target - start;
    return row_;
  }

 private:
  static constexpr std::int64_t block = 32;

  template <class Do>
  void for_each_column(Do act) const noexcept {
    std::size_t column = 0;
    for (std::int64_t head = 0; head < to_.heads(); ++head) {
      for (std::int64_t pair = 0; pair < to_.pairs(); ++pair) {
        act(head, pair, column++);
      }
    }
  }

  void set(std::int64_t head, std::int64_t pair, double cos, double sin) noexcept {
    row_.cos(head)[pair] = static_cast<C>(cos);
    row_.sin(head)[pair] = static_cast<C>(sin);
  }

  void make_changed(const Frequencies& from, std::int64_t start, std::int64_t target) {
    const double ratio = to_.magnitude() / from.magnitude();
    const bool goes_on = from_ == &from && target - start == shift_ && target >= anchor_ &&
                         target < anchor_ + block && !anchor_turns_.empty();
    if (!goes_on) {
      if (anchor_turns_.empty()) {
        anchor_turns_ = std::vector<double>(2 * columns_);
        steps_ = std::vector<double>(2 * columns_ * static_cast<std::size_t>(block));
      }
      if (from_ != &from) {
        made_steps_ = 0;
      }
      anchor_ = target;
      for_each_column([&](std::int64_t head, std::int64_t pair, std::size_t column) {
        exact_turn(from(0, head, pair), start, to_(0, head, pair), target,
                   anchor_turns_[2 * column], anchor_turns_[2 * column + 1]);
      });
    }
    const std::int64_t distance = target - anchor_;
    double* const step = steps_.data() + 2 * columns_ * static_cast<std::size_t>(distance);
    if ((made_steps_ >> distance & 1) == 0) {
      made_steps_ |= std::uint32_t{1} << distance;
      for_each_column([&](std::int64_t head, std::int64_t pair, std::size_t column) {
        exact_turn(from(0, head, pair), distance, to_(0, head, pair), distance, step[2 * column],
                   step[2 * column + 1]);
      });
    }
    for_each_column([&](std::int64_t head, std::int64_t pair, std::size_t column) {
      const double a_cos = anchor_turns_[2 * column];
      const double a_sin = anchor_turns_[2 * column + 1];
      const double b_cos = step[2 * column];
      const double b_sin = step[2 * column + 1];
      set(head, pair, keep(keep(keep(a_cos * b_cos) - keep(a_sin * b_sin)) * ratio),
          keep(keep(keep(a_sin * b_cos) + keep(a_cos * b_sin)) * ratio));
    });
  }

  const Frequencies& to_;
  TurnRow<C> row_;
  std::size_t columns_;
  const Frequencies* from_ = nullptr;  // of the row at hand, as shift_ is
  std::int64_t shift_ = 0;
  std::int64_t anchor_ = 0;
  std::vector<double> anchor_turns_;  // cos and sin of each column
  std::vector<double> steps_;         // the same for each distance
  std::uint32_t made_steps_ = 0;      // a bit for each distance that has come up
};

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope::detail
