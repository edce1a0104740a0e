#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/pairing_call.hpp"
#include "rope/detail/rotate_call.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/executor.hpp"
#include "rope/pairing.hpp"
#include "rope/rotate_options.hpp"
#include "rope/row_positions.hpp"
#include "rope/table_concept.hpp"
#include "rope/view.hpp"

// Models whose pairs are formed within each axis' part of the head, not over the whole of it.

namespace rope {

/// Some consecutive pairs of a table, as a table: what rotates one axis' part of a head.
///
/// Refers to the table without owning it; trivially copyable. Made by pair_slice().
template <Table X>
class PairSlice {
 public:
  using value_type = typename X::value_type;
  static constexpr RowAddressing addressing = X::addressing;

  /// For pair_slice(), which checks.
  ROPE_DETAIL_FORWARD PairSlice(const X* table, std::int64_t first_pair,
                                std::int64_t count) noexcept
      : table_(table), first_(first_pair), pairs_(count) {}

  ROPE_DETAIL_FORWARD std::int64_t rows() const noexcept requires(PositionTable<X>) {
    return table_->rows();
  }
  ROPE_DETAIL_FORWARD std::int64_t batch() const noexcept requires(TokenAddressedTable<X>) {
    return table_->batch();
  }
  ROPE_DETAIL_FORWARD std::int64_t tokens() const noexcept requires(TokenAddressedTable<X>) {
    return table_->tokens();
  }
  ROPE_DETAIL_FORWARD std::int64_t heads() const noexcept { return table_->heads(); }
  ROPE_DETAIL_FORWARD std::int64_t pairs() const noexcept { return pairs_; }
  ROPE_DETAIL_FORWARD std::int64_t rotary_dim() const noexcept { return 2 * pairs_; }
  ROPE_DETAIL_FORWARD double magnitude() const noexcept { return table_->magnitude(); }

  /// For rotate(): see the concept Table. Not checked.
  ROPE_DETAIL_FORWARD TableRow<value_type> row(std::int64_t row, std::int64_t head,
                                               std::int64_t first_pair, std::int64_t count,
                                               value_type* scratch) const noexcept {
    return table_->row(row, head, first_ + first_pair, count, scratch);
  }

 private:
  const X* table_;
  std::int64_t first_;
  std::int64_t pairs_;
};

/// Which features of a head belong to which axis, for rotate_axes(), when the pairing is a template
/// argument.
struct RotateAxesOptions {
  /// Features of each axis, in the order in which they stand in the head and their pairs in the
  /// table: even and above 0, and together the table's rotary_dim.
  std::vector<std::int64_t> axis_dims = {};
  /// Where the first axis begins in the head.
  Extent first_dim = 0;
  /// See RotateOptions.
  ExecutorRef executor = {};
  Part part = {};
};

/// The same, with the pairing as a run-time value. It has no default.
struct PairingAxesOptions {
  required<Pairing> pairing;
  /// For the others see RotateAxesOptions.
  std::vector<std::int64_t> axis_dims = {};
  Extent first_dim = 0;
  ExecutorRef executor = {};
  Part part = {};
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_axis_dims(const char* who, const std::vector<std::int64_t>& axis_dims,
                              std::int64_t pairs) noexcept {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < axis_dims.size(); ++i) {
    if (axis_dims[i] < 2 || axis_dims[i] % 2 != 0) [[unlikely]] {
      return failure(ErrorKind::invalid_argument,
                     "%s: options.axis_dims[%zu] must be even and above 0, got %lld", who, i,
                     static_cast<long long>(axis_dims[i]));
    }
    if (axis_dims[i] > 2 * pairs - sum) [[unlikely]] {
      return failure(ErrorKind::invalid_argument,
                     "%s: options.axis_dims are more than the table's %lld dims at axis %zu", who,
                     static_cast<long long>(2 * pairs), i);
    }
    sum += axis_dims[i];
  }
  if (sum != 2 * pairs) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: options.axis_dims are %lld dims together, but the table has %lld", who,
                   static_cast<long long>(sum), static_cast<long long>(2 * pairs));
  }
  return {};
}

/// Rotates some tokens and heads of what was found fine, every axis' part in turn. The first and
/// the last part bring what is before and behind them along, to be copied.
template <Direction direction, Pairing pairing, class T, class In, Table X>
void rotate_axes_of(const View<In>& in, const View<T>& out, const X& table,
                    const Positions* positions, const std::vector<std::int64_t>& axis_dims,
                    std::int64_t first_dim, const WorkPart& part) {
  std::int64_t pair = 0;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < axis_dims.size(); ++i) {
    const std::int64_t end = begin + first_dim + axis_dims[i];
    const std::int64_t width = (i + 1 == axis_dims.size() ? in.dim() : end) - begin;
    const View<In> from = in.slice_dims(begin, width);
    const View<T> to = out.slice_dims(begin, width);
    const PairSlice<X> own(&table, pair, axis_dims[i] / 2);
    rotate_tokens<pairing>(rotate_work<direction>(from, to, own, positions, first_dim), part);
    pair += own.pairs();
    begin = end;
    first_dim = 0;
  }
}

/// All parts are checked as one first, so that none is rotated unless all can be. Whoever rotates a
/// token rotates all parts of it: an executor is called once.
template <Direction direction, Pairing pairing, class T, class In, Table X, class Options>
void rotate_axes(const char* who, const View<In>& in, const View<T>& out, const X& table,
                 const Positions* positions, const Options& options) {
  static_assert(is_valid(pairing));
  require(check_axis_dims(who, options.axis_dims, table.pairs()));
  const RotateOptions own = {options.first_dim, options.executor, options.part};
  require(check_one<direction, T>(who, in, out, table, positions, own));
  if (in.empty()) return;
  const auto rotate = [&](const WorkPart& part) {
    rotate_axes_of<direction, pairing>(in, out, table, positions, options.axis_dims, own.first_dim,
                                       part);
  };
  if (is_whole_and_serial(own)) return rotate(whole_of(in));
  run_split({&out.layout(), sizeof(T), sizeof(In)}, own, rotate);
}

/// The same, with the pairing known at run time. The list of dims is not copied: no rotation
/// allocates.
template <Direction direction, class T, class In, Table X>
void rotate_axes(const char* who, const View<In>& in, const View<T>& out, const X& table,
                 const Positions* positions, const PairingAxesOptions& options) {
  with_pairing(who, options.pairing, [&]<Pairing pairing>() {
    rotate_axes<direction, pairing, T>(who, in, out, table, positions, options);
  });
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// `count` pairs of a table from `first_pair` on, as a table of their own. The table must live as
/// long as the slice.
///
/// Throws OutOfRange if they are not all there, or none. O(1).
template <Table X>
PairSlice<X> pair_slice(const X& table, Extent first_pair, Extent count) {
  const std::int64_t first = first_pair;
  const std::int64_t pairs = count;
  if (first < 0 || pairs < 1 || pairs > table.pairs() || first > table.pairs() - pairs) {
    detail::raise(detail::failure(
        ErrorKind::out_of_range,
        "rope::pair_slice: %lld pairs from pair %lld on are not within the table's %lld pairs",
        static_cast<long long>(pairs), static_cast<long long>(first),
        static_cast<long long>(table.pairs())));
  }
  return PairSlice<X>(&table, first, pairs);
}
template <Table X>
PairSlice<X> pair_slice(const X&& table, Extent first_pair, Extent count) = delete;

/// Rotates q or k in place, each axis' part of the head for itself: the pairing is within the part.
/// Gemma 4's vision tower has half-split pairs so, {head_dim / 2, head_dim / 2}.
///
/// As rotate() on each part with the table's pairs for that axis (interleaved pairs are the same
/// either way), with the pairing as a template argument or among the options. Everything is checked
/// before the first write. Throws as rotate() does, and InvalidArgument if the axis_dims are not
/// even, above 0 and together the table's rotary_dim.
template <Pairing pairing, detail::Mutable T, TokenAddressedTable X>
void rotate_axes(View<T> x, const X& table, const RotateAxesOptions& options) {
  detail::rotate_axes<detail::Direction::forward, pairing, T>("rope::rotate_axes", x, x, table,
                                                              nullptr, options);
}
template <detail::Mutable T, TokenAddressedTable X>
void rotate_axes(View<T> x, const X& table, const PairingAxesOptions& options) {
  detail::rotate_axes<detail::Direction::forward, T>("rope::rotate_axes", x, x, table, nullptr,
                                                     options);
}
template <Pairing pairing, detail::Mutable T, PositionTable X>
void rotate_axes(View<T> x, const X& table, const Positions& positions,
                 const RotateAxesOptions& options) {
  detail::rotate_axes<detail::Direction::forward, pairing, T>("rope::rotate_axes", x, x, table,
                                                              &positions, options);
}
template <detail::Mutable T, PositionTable X>
void rotate_axes(View<T> x, const X& table, const Positions& positions,
                 const PairingAxesOptions& options) {
  detail::rotate_axes<detail::Direction::forward, T>("rope::rotate_axes", x, x, table, &positions,
                                                     options);
}

/// As rotate_axes(), from `in` into `out` under the conditions of rotate_to(); features outside the
/// rotated part are copied.
template <Pairing pairing, detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
void rotate_axes_to(View<In> in, View<T> out, const X& table, const RotateAxesOptions& options) {
  detail::rotate_axes<detail::Direction::forward, pairing, T>("rope::rotate_axes_to", in, out,
                                                              table, nullptr, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
void rotate_axes_to(View<In> in, View<T> out, const X& table, const PairingAxesOptions& options) {
  detail::rotate_axes<detail::Direction::forward, T>("rope::rotate_axes_to", in, out, table,
                                                     nullptr, options);
}
template <Pairing pairing, detail::Mutable T, detail::ReadableAs<T> In, PositionTable X>
void rotate_axes_to(View<In> in, View<T> out, const X& table, const Positions& positions,
                    const RotateAxesOptions& options) {
  detail::rotate_axes<detail::Direction::forward, pairing, T>("rope::rotate_axes_to", in, out,
                                                              table, &positions, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, PositionTable X>
void rotate_axes_to(View<In> in, View<T> out, const X& table, const Positions& positions,
                    const PairingAxesOptions& options) {
  detail::rotate_axes<detail::Direction::forward, T>("rope::rotate_axes_to", in, out, table,
                                                     &positions, options);
}

/// Undoes rotate_axes(), as rotate_inverse() undoes rotate().
template <Pairing pairing, detail::Mutable T, TokenAddressedTable X>
void rotate_axes_inverse(View<T> x, const X& table, const RotateAxesOptions& options) {
  detail::rotate_axes<detail::Direction::inverse, pairing, T>("rope::rotate_axes_inverse", x, x,
                                                              table, nullptr, options);
}
template <detail::Mutable T, TokenAddressedTable X>
void rotate_axes_inverse(View<T> x, const X& table, const PairingAxesOptions& options) {
  detail::rotate_axes<detail::Direction::inverse, T>("rope::rotate_axes_inverse", x, x, table,
                                                     nullptr, options);
}
template <Pairing pairing, detail::Mutable T, PositionTable X>
void rotate_axes_inverse(View<T> x, const X& table, const Positions& positions,
                         const RotateAxesOptions& options) {
  detail::rotate_axes<detail::Direction::inverse, pairing, T>("rope::rotate_axes_inverse", x, x,
                                                              table, &positions, options);
}
template <detail::Mutable T, PositionTable X>
void rotate_axes_inverse(View<T> x, const X& table, const Positions& positions,
                         const PairingAxesOptions& options) {
  detail::rotate_axes<detail::Direction::inverse, T>("rope::rotate_axes_inverse", x, x, table,
                                                     &positions, options);
}

/// As rotate_axes_inverse(), from `in` into `out`.
template <Pairing pairing, detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
void rotate_axes_inverse_to(View<In> in, View<T> out, const X& table,
                            const RotateAxesOptions& options) {
  detail::rotate_axes<detail::Direction::inverse, pairing, T>("rope::rotate_axes_inverse_to", in,
                                                              out, table, nullptr, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
void rotate_axes_inverse_to(View<In> in, View<T> out, const X& table,
                            const PairingAxesOptions& options) {
  detail::rotate_axes<detail::Direction::inverse, T>("rope::rotate_axes_inverse_to", in, out, table,
                                                     nullptr, options);
}
template <Pairing pairing, detail::Mutable T, detail::ReadableAs<T> In, PositionTable X>
void rotate_axes_inverse_to(View<In> in, View<T> out, const X& table, const Positions& positions,
                            const RotateAxesOptions& options) {
  detail::rotate_axes<detail::Direction::inverse, pairing, T>("rope::rotate_axes_inverse_to", in,
                                                              out, table, &positions, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, PositionTable X>
void rotate_axes_inverse_to(View<In> in, View<T> out, const X& table, const Positions& positions,
                            const PairingAxesOptions& options) {
  detail::rotate_axes<detail::Direction::inverse, T>("rope::rotate_axes_inverse_to", in, out, table,
                                                     &positions, options);
}

/// The gradient of rotate_axes() with respect to x, as rotate_transpose() is that of rotate().
template <Pairing pairing, detail::Mutable T, TokenAddressedTable X>
void rotate_axes_transpose(View<T> x, const X& table, const RotateAxesOptions& options) {
  detail::rotate_axes<detail::Direction::transpose, pairing, T>("rope::rotate_axes_transpose", x, x,
                                                                table, nullptr, options);
}
template <detail::Mutable T, TokenAddressedTable X>
void rotate_axes_transpose(View<T> x, const X& table, const PairingAxesOptions& options) {
  detail::rotate_axes<detail::Direction::transpose, T>("rope::rotate_axes_transpose", x, x, table,
                                                       nullptr, options);
}
template <Pairing pairing, detail::Mutable T, PositionTable X>
void rotate_axes_transpose(View<T> x, const X& table, const Positions& positions,
                           const RotateAxesOptions& options) {
  detail::rotate_axes<detail::Direction::transpose, pairing, T>("rope::rotate_axes_transpose", x, x,
                                                                table, &positions, options);
}
template <detail::Mutable T, PositionTable X>
void rotate_axes_transpose(View<T> x, const X& table, const Positions& positions,
                           const PairingAxesOptions& options) {
  detail::rotate_axes<detail::Direction::transpose, T>("rope::rotate_axes_transpose", x, x, table,
                                                       &positions, options);
}

/// As rotate_axes_transpose(), from `in` into `out`.
template <Pairing pairing, detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
void rotate_axes_transpose_to(View<In> in, View<T> out, const X& table,
                              const RotateAxesOptions& options) {
  detail::rotate_axes<detail::Direction::transpose, pairing, T>("rope::rotate_axes_transpose_to",
                                                                in, out, table, nullptr, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
void rotate_axes_transpose_to(View<In> in, View<T> out, const X& table,
                              const PairingAxesOptions& options) {
  detail::rotate_axes<detail::Direction::transpose, T>("rope::rotate_axes_transpose_to", in, out,
                                                       table, nullptr, options);
}
template <Pairing pairing, detail::Mutable T, detail::ReadableAs<T> In, PositionTable X>
void rotate_axes_transpose_to(View<In> in, View<T> out, const X& table, const Positions& positions,
                              const RotateAxesOptions& options) {
  detail::rotate_axes<detail::Direction::transpose, pairing, T>(
      "rope::rotate_axes_transpose_to", in, out, table, &positions, options);
}
template <detail::Mutable T, detail::ReadableAs<T> In, PositionTable X>
void rotate_axes_transpose_to(View<In> in, View<T> out, const X& table, const Positions& positions,
                              const PairingAxesOptions& options) {
  detail::rotate_axes<detail::Direction::transpose, T>("rope::rotate_axes_transpose_to", in, out,
                                                       table, &positions, options);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
