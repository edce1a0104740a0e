// Tables of a user's own, through the concept only: not one of them stores rows of cos and sin.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "rope/table_concept.hpp"

namespace rope_test {

enum class ScratchOrder { cos_first, sin_first };

/// A table by position whose rows, one for each head, are made in scratch when they are asked for.
/// `frequencies` is [heads, pairs].
template <class T>
class MadeOnDemand {
 public:
  using value_type = T;
  static constexpr rope::RowAddressing addressing = rope::RowAddressing::position;

  MadeOnDemand(std::vector<double> frequencies, std::int64_t heads, std::int64_t rows,
               double magnitude = 1, ScratchOrder order = ScratchOrder::cos_first)
      : frequencies_(std::move(frequencies)),
        heads_(heads),
        rows_(rows),
        magnitude_(magnitude),
        order_(order) {}

  std::int64_t rows() const noexcept { return rows_; }
  std::int64_t heads() const noexcept { return heads_; }
  std::int64_t pairs() const noexcept {
    return static_cast<std::int64_t>(frequencies_.size()) / heads_;
  }
  double magnitude() const noexcept { return magnitude_; }

  rope::TableRow<T> row(std::int64_t row, std::int64_t head, std::int64_t first, std::int64_t count,
                        T* scratch) const noexcept {
    T* const cos = order_ == ScratchOrder::cos_first ? scratch : scratch + count;
    T* const sin = order_ == ScratchOrder::cos_first ? scratch + count : scratch;
    for (std::int64_t i = 0; i < count; ++i) {
      const long double angle =
          static_cast<long double>(row) *
          static_cast<long double>(
              frequencies_[static_cast<std::size_t>(head * pairs() + first + i)]);
      const auto magnitude = static_cast<long double>(magnitude_);
      cos[i] = static_cast<T>(magnitude * std::cos(angle));
      sin[i] = static_cast<T>(magnitude * std::sin(angle));
    }
    return {cos, sin};
  }

 private:
  std::vector<double> frequencies_;
  std::int64_t heads_;
  std::int64_t rows_;
  double magnitude_;
  ScratchOrder order_;
};

/// A table by token: the row of a token stands for any position, also a fractional or negative one.
/// `positions` is [batch, tokens].
template <class T>
class MadeForTokens {
 public:
  using value_type = T;
  static constexpr rope::RowAddressing addressing = rope::RowAddressing::token;

  MadeForTokens(std::vector<double> frequencies, std::vector<double> positions, std::int64_t batch)
      : frequencies_(std::move(frequencies)), positions_(std::move(positions)), batch_(batch) {}

  std::int64_t batch() const noexcept { return batch_; }
  std::int64_t tokens() const noexcept {
    return static_cast<std::int64_t>(positions_.size()) / batch_;
  }
  std::int64_t heads() const noexcept { return 1; }
  std::int64_t pairs() const noexcept { return static_cast<std::int64_t>(frequencies_.size()); }
  double magnitude() const noexcept { return 1; }

  rope::TableRow<T> row(std::int64_t row, std::int64_t, std::int64_t first, std::int64_t count,
                        T* scratch) const noexcept {
    for (std::int64_t i = 0; i < count; ++i) {
      const double angle = positions_[static_cast<std::size_t>(row)] *
                           frequencies_[static_cast<std::size_t>(first + i)];
      scratch[i] = static_cast<T>(std::cos(angle));
      scratch[count + i] = static_cast<T>(std::sin(angle));
    }
    return {scratch, scratch + count};
  }

 private:
  std::vector<double> frequencies_;
  std::vector<double> positions_;
  std::int64_t batch_;
};

static_assert(rope::PositionTable<MadeOnDemand<float>>);
static_assert(rope::TokenAddressedTable<MadeForTokens<double>>);

}  // namespace rope_test
