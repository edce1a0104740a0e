#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "rope/detail/finite.hpp"
#include "rope/detail/kernels.hpp"
#include "rope/detail/pairing_call.hpp"
#include "rope/detail/rotate_check.hpp"
#include "rope/detail/rotate_work.hpp"
#include "rope/detail/unit.hpp"
#include "rope/detail/work_split.hpp"
#include "rope/error.hpp"
#include "rope/pairing.hpp"
#include "rope/rotate_options.hpp"
#include "rope/row_positions.hpp"
#include "rope/scalar.hpp"
#include "rope/table_concept.hpp"
#include "rope/view.hpp"

namespace rope::detail {

enum class Direction : unsigned char { forward, inverse, transpose };

/// What the rows of a table are multiplied by to give the rows of a direction.
template <class C>
struct RowScale {
  C cos;
  C sin;
};

/// The element type of a view that is written.
template <class T>
concept Mutable = Element<T> && !std::is_const_v<T>;

/// The element type of a view that is read into one of T: the same, or one that is computed with in
/// the same type, and is converted on the way.
template <class In, class T>
concept ReadableAs = Element<std::remove_const_t<In>> &&
    std::same_as<compute_type_t<std::remove_const_t<In>>, compute_type_t<T>>;

inline namespace ROPE_DETAIL_UNIT {

template <Direction direction, class C>
RowScale<C> row_scale(double magnitude) noexcept {
  if constexpr (direction == Direction::forward) {
    return {1, 1};
  } else if constexpr (direction == Direction::transpose) {
    return {1, -1};
  } else {
    const C inverse_square = static_cast<C>(1 / (magnitude * magnitude));
    return {inverse_square, -inverse_square};
  }
}

template <Direction direction, class C>
Status check_magnitude(const char* who, double magnitude) noexcept {
  if constexpr (direction == Direction::inverse) {
    const auto scale = static_cast<double>(row_scale<direction, C>(magnitude).cos);
    if (!is_finite(scale) || scale == 0) [[unlikely]] {
      return failure(ErrorKind::invalid_argument,
                     "%s: the table's magnitude is %g, and 1 over its square is no usable number",
                     who, magnitude);
    }
  }
  return {};
}

inline RotateOptions without_pairing(const PairingOptions& options) noexcept {
  return {.first_dim = options.first_dim, .executor = options.executor, .part = options.part};
}

inline Status check_part(const char* who, const Part& part) noexcept {
  if (part.count < 1 || part.index < 0 || part.index >= part.count) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: part must be one of 0 to count - 1, got %lld of a count of %lld", who,
                   static_cast<long long>(part.index), static_cast<long long>(part.count));
  }
  return {};
}

/// Everything that can be wrong with rotating one view, with the pairing known at compile time.
template <Direction direction, class T, class In, Table X>
Status check_one(const char* who, const View<In>& in, const View<T>& out, const X& table,
                 const Positions* positions, const RotateOptions& options) noexcept {
  static_assert(Element<T>,
                "rope::element_traits must say how elements of this type are computed with");
  static_assert(std::same_as<typename X::value_type, compute_type_t<T>>,
                "the table's entries must be of the element's compute type: float, or double for "
                "double data");
  if (Status status = check_magnitude<direction, typename X::value_type>(who, table.magnitude());
      !status.ok()) [[unlikely]] {
    return status;
  }
  if (Status status = check_part(who, options.part); !status.ok()) [[unlikely]] {
    return status;
  }
  return check_rotation(who, in, out, table, positions, options.first_dim);
}

/// Whether check_one() need not be asked.
template <Direction direction, class T, class In, Table X>
[[gnu::always_inline]] inline bool is_plainly_fine(const View<In>& in, const View<T>& out,
                                                   const X& table, const Positions* positions,
                                                   const RotateOptions& options) noexcept {
  const bool is_same_view = static_cast<const void*>(&in) == static_cast<const void*>(&out);
  return direction != Direction::inverse && is_same_view && options.part.count == 1 &&
         options.part.index == 0 && is_plainly_fine(out, table, positions, options.first_dim);
}

/// Everything that can be wrong with rotating one view, with the pairing known at run time.
template <Direction direction, class T, class In, Table X>
Status check_one(const char* who, const View<In>& in, const View<T>& out, const X& table,
                 const Positions* positions, const PairingOptions& options) noexcept {
  if (Status status = check_pairing(who, options.pairing); !status.ok()) [[unlikely]] {
    return status;
  }
  return check_one<direction, T>(who, in, out, table, positions, without_pairing(options));
}

/// What a kernel is told of a rotation that check_one() found fine.
template <Direction direction, class T, class In, Table X>
RotateWork<std::remove_const_t<In>, T, X> rotate_work(const View<In>& in, const View<T>& out,
                                                      const X& table, const Positions* positions,
                                                      std::int64_t first_dim) noexcept {
  const auto scale = row_scale<direction, typename X::value_type>(table.magnitude());
  const bool in_place = static_cast<const void*>(in.data()) == out.data();
  return {in.data(), out.data(), in.layout(), out.layout(), &table,
          positions, first_dim,  in_place,    scale.cos,    scale.sin};
}

template <class In, class Out, Table X>
Splittable splittable(const RotateWork<In, Out, X>& work) noexcept {
  return {&work.out_layout, sizeof(Out), sizeof(In)};
}

/// All tokens and heads of a view.
template <class T>
WorkPart whole_of(const View<T>& view) noexcept {
  return {0, view.batch() * view.tokens(), 0, view.heads()};
}

/// Whether a view in place is what rotate_one_token() is for.
template <class T, Table X>
[[gnu::always_inline]] inline bool is_one_token(const View<T>& x, const X& table) noexcept {
  return x.tokens() == 1 && x.batch() == 1 && x.heads() > 0 && x.dim_stride() == 1 &&
         table.heads() == 1 && table.pairs() <= chunk_pairs;
}

/// One view or several, by one row, which a compact table has to make.
template <Pairing pairing, Table X, class... T>
[[gnu::always_inline]] inline void rotate_one_token(const X& table, const Positions* positions,
                                                    std::int64_t first_dim,
                                                    const View<T>&... x) noexcept {
  using C = typename X::value_type;
  C scratch[2 * chunk_pairs];
  std::int64_t row = 0;
  if constexpr (X::addressing == RowAddressing::position) {
    row = positions->position(0, 0);
  }
  const std::int64_t pairs = table.pairs();
  const TableRow<C> entries = table.row(row, 0, 0, pairs, scratch);
  (rotate_token<pairing>(x.data() + first_dim, x.head_stride(), x.heads(), entries.cos, entries.sin,
                         pairs),
   ...);
}

/// Rotates what check_one() found fine.
template <Direction direction, Pairing pairing, class T, Place place = Place::anywhere, class In,
          Table X>
void rotate_checked(const View<In>& in, const View<T>& out, const X& table,
                    const Positions* positions, const RotateOptions& options) {
  if (in.empty()) {
    return;
  }
  if constexpr (direction == Direction::forward && std::same_as<In, T>) {
    // Without the general case's bookkeeping, which takes as long as two heads.
    if (&in == &out && is_whole_and_serial(options) && is_one_token(out, table)) {
      return rotate_one_token<pairing>(table, positions, options.first_dim, out);
    }
  }
  const auto work = rotate_work<direction>(in, out, table, positions, options.first_dim);
  if (is_whole_and_serial(options)) [[likely]] {
    return rotate_tokens<pairing, place>(work, whole_of(in));
  }
  run_split(splittable(work), options,
            [&](const WorkPart& part) { rotate_tokens<pairing, place>(work, part); });
}

/// One view, with the pairing known at compile time.
template <Direction direction, Pairing pairing, class T, Place place = Place::anywhere, class In,
          Table X>
void rotate_one(const char* who, const View<In>& in, const View<T>& out, const X& table,
                const Positions* positions, const RotateOptions& options) {
  static_assert(is_valid(pairing));
  if (!is_plainly_fine<direction, T>(in, out, table, positions, options)) {
    require(check_one<direction, T>(who, in, out, table, positions, options));
  }
  rotate_checked<direction, pairing, T, place>(in, out, table, positions, options);
}

/// One view in place, with the pairing known at compile time. Inlined, so that a token of usual
/// form costs the caller no copies in memory of what describes it: they took 9 ns of 138. All else
/// is given copies, since what others see the address of must be in memory from the start.
template <Pairing pairing, class T, Table X>
[[gnu::always_inline]] inline void rotate_in_place(const char* who, const View<T>& x,
                                                   const X& table, const Positions* positions,
                                                   const RotateOptions& options) {
  if (is_whole_and_serial(options) && is_one_token(x, table) &&
      is_plainly_fine(x, table, positions, options.first_dim)) [[likely]] {
    return rotate_one_token<pairing>(table, positions, options.first_dim, x);
  }
  const View<T> view = x;
  const RotateOptions all_options = options;
  if constexpr (X::addressing == RowAddressing::position) {
    const Positions all_positions = *positions;
    rotate_one<Direction::forward, pairing, T, Place::in_place>(who, view, view, table,
                                                                &all_positions, all_options);
  } else {
    rotate_one<Direction::forward, pairing, T, Place::in_place>(who, view, view, table, nullptr,
                                                                all_options);
  }
}

/// One view, with the pairing known at run time.
template <Direction direction, class T, Place place = Place::anywhere, class In, Table X>
void rotate_one(const char* who, const View<In>& in, const View<T>& out, const X& table,
                const Positions* positions, const PairingOptions& options) {
  with_pairing(who, options.pairing, [&]<Pairing pairing>() {
    rotate_one<direction, pairing, T, place>(who, in, out, table, positions,
                                             without_pairing(options));
  });
}

/// All that can be wrong with rotating q and k, with the pairing known at compile time.
template <class T, Table X>
Status check_both(const View<T>& q, const View<T>& k, const X& table, const Positions* positions,
                  const RotateOptions& options) noexcept {
  if (q.batch() != k.batch() || q.tokens() != k.tokens()) [[unlikely]] {
    return failure(
        ErrorKind::invalid_argument,
        "rope::rotate_qk: q has batch %lld and tokens %lld, but k has batch %lld and tokens %lld",
        static_cast<long long>(q.batch()), static_cast<long long>(q.tokens()),
        static_cast<long long>(k.batch()), static_cast<long long>(k.tokens()));
  }
  if (!is_plainly_fine<Direction::forward, T>(q, q, table, positions, options) ||
      !is_plainly_fine<Direction::forward, T>(k, k, table, positions, options)) {
    if (Status status =
            check_one<Direction::forward, T>("rope::rotate_qk: q", q, q, table, positions, options);
        !status.ok()) [[unlikely]] {
      return status;
    }
    if (Status status = check_rotation("rope::rotate_qk: k", k, k, table, positions,
                                       options.first_dim, CheckRows::no);
        !status.ok()) [[unlikely]] {
      return status;
    }
  }
  return check_disjoint("rope::rotate_qk", "q and k", q, k);
}

/// All that can be wrong with rotating q and k, with the pairing known at run time.
template <class T, Table X>
Status check_both(const View<T>& q, const View<T>& k, const X& table, const Positions* positions,
                  const PairingOptions& options) noexcept {
  if (Status status = check_pairing("rope::rotate_qk", options.pairing); !status.ok())
      [[unlikely]] {
    return status;
  }
  return check_both(q, k, table, positions, without_pairing(options));
}

/// q and k, with the pairing known at compile time.
template <Pairing pairing, class T, Table X>
void rotate_both(const View<T>& q, const View<T>& k, const X& table, const Positions* positions,
                 const RotateOptions& options) {
  static_assert(is_valid(pairing));
  require(check_both(q, k, table, positions, options));
  if (is_whole_and_serial(options)) [[likely]] {
    if (is_one_token(q, table) && is_one_token(k, table)) {
      return rotate_one_token<pairing>(table, positions, options.first_dim, q, k);
    }
    rotate_checked<Direction::forward, pairing, T, Place::in_place>(q, q, table, positions,
                                                                    options);
    rotate_checked<Direction::forward, pairing, T, Place::in_place>(k, k, table, positions,
                                                                    options);
    return;
  }
  const auto q_work = rotate_work<Direction::forward>(q, q, table, positions, options.first_dim);
  const auto k_work = rotate_work<Direction::forward>(k, k, table, positions, options.first_dim);
  run_split(
      splittable(q_work),
      [&](const WorkPart& part) { rotate_tokens<pairing, Place::in_place>(q_work, part); },
      splittable(k_work),
      [&](const WorkPart& part) { rotate_tokens<pairing, Place::in_place>(k_work, part); },
      options);
}

/// q and k, with the pairing known at run time.
template <class T, Table X>
void rotate_both(const View<T>& q, const View<T>& k, const X& table, const Positions* positions,
                 const PairingOptions& options) {
  with_pairing("rope::rotate_qk", options.pairing, [&]<Pairing pairing>() {
    rotate_both<pairing>(q, k, table, positions, without_pairing(options));
  });
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope::detail
