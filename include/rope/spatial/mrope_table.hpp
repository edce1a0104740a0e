#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/source.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/row_positions.hpp"
#include "rope/spatial/axis_map.hpp"
#include "rope/table_concept.hpp"

// M-RoPE without a sine or cosine for each token: all axes share one ladder, so that each pair's
// entry stands in the table that text has, in the row of that pair's axis.

namespace rope {

/// The shape of position ids: {axes, tokens}, the same for every row of the batch, or {axes, batch,
/// tokens}, as Hugging Face has them.
class AxisIdShape {
 public:
  ROPE_DETAIL_FORWARD constexpr AxisIdShape(Extent axes, Extent tokens) noexcept
      : axes_(axes), batch_(1), tokens_(tokens) {}
  ROPE_DETAIL_FORWARD constexpr AxisIdShape(Extent axes, Extent batch, Extent tokens) noexcept
      : axes_(axes), batch_(batch), tokens_(tokens) {}

  ROPE_DETAIL_FORWARD constexpr std::int64_t axes() const noexcept { return axes_; }
  ROPE_DETAIL_FORWARD constexpr std::int64_t batch() const noexcept { return batch_; }
  ROPE_DETAIL_FORWARD constexpr std::int64_t tokens() const noexcept { return tokens_; }

 private:
  std::int64_t axes_;
  std::int64_t batch_;
  std::int64_t tokens_;
};

namespace detail {

/// Position ids in memory of the caller.
struct AxisIds {
  const std::int32_t* narrow = nullptr;
  const std::int64_t* wide = nullptr;
};

/// The pairs of one axis: `count` runs from number `first` on, and the axis' plane of ids.
struct AxisRuns {
  std::int64_t axis;  ///< negative for the pairs that follow none
  std::size_t first;
  std::size_t count;
};

struct PairRun {
  std::int64_t first;
  std::int64_t end;
};

inline namespace ROPE_DETAIL_UNIT {

inline AxisIds axis_ids(const std::int32_t* ids) noexcept { return {.narrow = ids}; }
inline AxisIds axis_ids(const std::int64_t* ids) noexcept { return {.wide = ids}; }

inline std::int64_t id_at(const AxisIds& ids, std::int64_t i) noexcept {
  return ids.narrow != nullptr ? ids.narrow[i] : ids.wide[i];
}

inline Status check_mrope_ids(const AxisMap& map, const AxisIds& ids, std::int64_t size,
                              const AxisIdShape& shape, std::int64_t rows) noexcept {
  constexpr const char* who = "rope::mrope_table";
  std::int64_t count = 0;
  if (shape.axes() < 1 || shape.batch() < 0 || shape.tokens() < 0 ||
      __builtin_mul_overflow(shape.axes(), shape.batch(), &count) ||
      __builtin_mul_overflow(count, shape.tokens(), &count)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: the shape of the ids has axes %lld, batch %lld and tokens %lld", who,
                   static_cast<long long>(shape.axes()), static_cast<long long>(shape.batch()),
                   static_cast<long long>(shape.tokens()));
  }
  if (shape.axes() != map.axes.value()) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: the ids have %lld axes, but the map is for %lld", who,
                   static_cast<long long>(shape.axes()), static_cast<long long>(map.axes.value()));
  }
  if (size >= 0 && size != count) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: %lld ids, but the shape of axes %lld, batch %lld and tokens %lld needs "
                   "%lld",
                   who, static_cast<long long>(size), static_cast<long long>(shape.axes()),
                   static_cast<long long>(shape.batch()), static_cast<long long>(shape.tokens()),
                   static_cast<long long>(count));
  }
  if (count != 0 && ids.narrow == nullptr && ids.wide == nullptr) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: ids are null, but %lld are needed", who,
                   static_cast<long long>(count));
  }
  if (count != 0 && rows == 0) [[unlikely]] {
    return failure(ErrorKind::out_of_range, "%s: the table has no rows, but there are %lld ids",
                   who, static_cast<long long>(count));
  }
  const std::int64_t plane = shape.batch() * shape.tokens();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t position = id_at(ids, i);
    if (position < 0 || position >= rows) [[unlikely]] {
      return failure(ErrorKind::out_of_range,
                     "%s: the id %lld of axis %lld, batch row %lld, token %lld is outside the "
                     "table's rows 0 .. %lld",
                     who, static_cast<long long>(position), static_cast<long long>(i / plane),
                     static_cast<long long>(i % plane / shape.tokens()),
                     static_cast<long long>(i % shape.tokens()), static_cast<long long>(rows - 1));
    }
  }
  return {};
}

inline Status check_mrope_map(const AxisMap& map, std::int64_t pairs) noexcept {
  constexpr const char* who = "rope::mrope_table";
  if (Status status = check_axis_map(who, map, pairs); !status.ok()) [[unlikely]] {
    return status;
  }
  for (std::size_t i = 0; i < map.rung_of_pair.size(); ++i) {
    if (map.axis_of_pair[i] != AxisMap::no_axis &&
        map.rung_of_pair[i] != static_cast<std::int64_t>(i)) [[unlikely]] {
      return failure(ErrorKind::invalid_argument,
                     "%s: map.rung_of_pair[%zu] is %lld, but rows can only be picked where pair i "
                     "takes frequency i (share_ladder() and a TokenTable take any map)",
                     who, i, static_cast<long long>(map.rung_of_pair[i]));
    }
  }
  return {};
}

/// The map as the runs of pairs that each axis owns; an axis without pairs is left out.
inline void list_runs(const AxisMap& map, std::vector<AxisRuns>& axes, std::vector<PairRun>& runs) {
  const std::vector<std::int64_t>& owner = map.axis_of_pair;
  for (std::int64_t axis = AxisMap::no_axis; axis < map.axes.value(); ++axis) {
    AxisRuns own = {.axis = axis, .first = runs.size(), .count = 0};
    for (std::size_t i = 0; i < owner.size(); ++i) {
      if (owner[i] != axis) continue;
      const auto pair = static_cast<std::int64_t>(i);
      if (own.count == 0 || runs.back().end != pair) {
        runs.push_back({.first = pair, .end = pair});
        ++own.count;
      }
      ++runs.back().end;
    }
    if (own.count != 0) axes.push_back(own);
  }
}

/// Copies to `to` what the runs have of the pairs from `first` to `first` + `count` - 1.
template <class C>
void copy_runs(const PairRun* runs, std::size_t run_count, std::int64_t first, std::int64_t count,
               const TableRow<C>& from, C* cos, C* sin) noexcept {
  const std::int64_t end = first + count;
  for (std::size_t r = 0; r < run_count; ++r) {
    const std::int64_t begin = runs[r].first > first ? runs[r].first : first;
    const std::int64_t stop = runs[r].end < end ? runs[r].end : end;
    for (std::int64_t i = begin - first; i < stop - first; ++i) {
      cos[i] = from.cos[i];
      sin[i] = from.sin[i];
    }
  }
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace detail

/// A table with a row for each token, put together from the rows of a table that is addressed by
/// position: each pair is taken from the row of the token's position on that pair's axis.
///
/// Nothing is stored for a token: rows are picked while rotating, into scratch. Refers to the table
/// and to the caller's ids without owning them. Made by mrope_table().
template <PositionTable X>
class MropeTable {
 public:
  using value_type = typename X::value_type;
  static constexpr RowAddressing addressing = RowAddressing::token;

  /// For mrope_table(), which checks.
  ROPE_DETAIL_FORWARD MropeTable(const X* table, const AxisMap& map, const detail::AxisIds& ids,
                                 const AxisIdShape& shape)
      : table_(table), ids_(ids), shape_(shape) {
    detail::list_runs(map, axes_, runs_);
  }

  // Spelt out for their attribute: implicit ones could be shared by differently compiled units.
  ROPE_DETAIL_FORWARD MropeTable(const MropeTable&) = default;
  ROPE_DETAIL_FORWARD MropeTable(MropeTable&&) = default;
  ROPE_DETAIL_FORWARD MropeTable& operator=(const MropeTable&) = default;
  ROPE_DETAIL_FORWARD MropeTable& operator=(MropeTable&&) = default;
  ROPE_DETAIL_FORWARD ~MropeTable() = default;

  ROPE_DETAIL_FORWARD std::int64_t batch() const noexcept { return shape_.batch(); }
  ROPE_DETAIL_FORWARD std::int64_t tokens() const noexcept { return shape_.tokens(); }
  ROPE_DETAIL_FORWARD std::int64_t heads() const noexcept { return table_->heads(); }
  ROPE_DETAIL_FORWARD std::int64_t pairs() const noexcept { return table_->pairs(); }
  ROPE_DETAIL_FORWARD std::int64_t rotary_dim() const noexcept { return 2 * pairs(); }
  ROPE_DETAIL_FORWARD double magnitude() const noexcept { return table_->magnitude(); }

  /// For rotate(): see the concept Table. Not checked.
  ROPE_DETAIL_FORWARD TableRow<value_type> row(std::int64_t row, std::int64_t head,
                                               std::int64_t first_pair, std::int64_t count,
                                               value_type* scratch) const noexcept {
    constexpr std::int64_t piece = 64;
    value_type made[2 * piece];  // for a table that makes its rows on demand
    const std::int64_t plane = shape_.batch() * shape_.tokens();
    for (const detail::AxisRuns& own : axes_) {
      // At position 0 nothing turns.
      const std::int64_t position = own.axis < 0 ? 0 : detail::id_at(ids_, own.axis * plane + row);
      for (std::int64_t done = 0; done < count; done += piece) {
        const std::int64_t some = count - done < piece ? count - done : piece;
        detail::copy_runs(runs_.data() + own.first, own.count, first_pair + done, some,
                          table_->row(position, head, first_pair + done, some, made),
                          scratch + done, scratch + count + done);
      }
    }
    return {scratch, scratch + count};
  }

 private:
  const X* table_;
  detail::AxisIds ids_;
  AxisIdShape shape_;
  std::vector<detail::AxisRuns> axes_;
  std::vector<detail::PairRun> runs_;
};

inline namespace ROPE_DETAIL_UNIT {

/// A table for tokens at `ids`, their positions on each axis of `map`: pair i of a token has the
/// row of its position on axis map.axis_of_pair[i] in `table`, which is that of the ladder.
///
/// The same rotation as a TokenTable of share_ladder(ladder, map), bit for bit with a CosSinTable,
/// but with no sine or cosine for each token, and without memory for them. `ids` holds int32 or
/// int64, [axes, tokens] or [axes, batch, tokens]: a pointer, or a lasting container or span, whose
/// size must then be that of the shape. Table and ids must live until the rotation is done.
///
/// Throws InvalidArgument for a map that does not fit the table or takes its frequencies in
/// another order, a shape that is not that of the map and the ids, and null ids; OutOfRange for an
/// id that has no row. O(axes * batch * tokens).
template <PositionTable X, detail::PositionSource S>
MropeTable<X> mrope_table(const X& table, const AxisMap& map, S&& ids, const AxisIdShape& shape) {
  const auto given = detail::source(ids);
  detail::require(detail::check_mrope_map(map, table.pairs()));
  detail::require(
      detail::check_mrope_ids(map, detail::axis_ids(given.data), given.size, shape, table.rows()));
  return MropeTable<X>(&table, map, detail::axis_ids(given.data), shape);
}
template <PositionTable X, detail::PositionSource S>
MropeTable<X> mrope_table(const X&& table, const AxisMap& map, S&& ids,
                          const AxisIdShape& shape) = delete;

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
