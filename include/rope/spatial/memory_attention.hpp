#pragma once

#include <cstdint>

#include "rope/argument.hpp"
#include "rope/detail/kernels.hpp"
#include "rope/detail/pairing_call.hpp"
#include "rope/detail/rotate_call.hpp"
#include "rope/detail/rotate_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/executor.hpp"
#include "rope/pairing.hpp"
#include "rope/rotate_options.hpp"
#include "rope/spatial/rotated_tokens.hpp"
#include "rope/table_concept.hpp"
#include "rope/view.hpp"

// Keys from several frames that all lie on the grid of the query: SAM 2's memory attention.

namespace rope {

/// A table with a row for each token, repeated: token t of it has the row of token t mod n of a
/// table for n tokens. Refers to that table without owning it. Made by repeated().
template <TokenAddressedTable X>
class RepeatedTable {
 public:
  using value_type = typename X::value_type;
  static constexpr RowAddressing addressing = RowAddressing::token;

  /// For repeated(), which checks.
  ROPE_DETAIL_FORWARD RepeatedTable(const X* table, std::int64_t times) noexcept
      : table_(table), times_(times) {}

  ROPE_DETAIL_FORWARD std::int64_t batch() const noexcept { return table_->batch(); }
  ROPE_DETAIL_FORWARD std::int64_t tokens() const noexcept { return times_ * table_->tokens(); }
  ROPE_DETAIL_FORWARD std::int64_t heads() const noexcept { return table_->heads(); }
  ROPE_DETAIL_FORWARD std::int64_t pairs() const noexcept { return table_->pairs(); }
  ROPE_DETAIL_FORWARD std::int64_t rotary_dim() const noexcept { return 2 * pairs(); }
  ROPE_DETAIL_FORWARD double magnitude() const noexcept { return table_->magnitude(); }

  /// For rotate(): see the concept Table. Not checked.
  ROPE_DETAIL_FORWARD TableRow<value_type> row(std::int64_t row, std::int64_t head,
                                               std::int64_t first_pair, std::int64_t count,
                                               value_type* scratch) const noexcept {
    const std::int64_t own = table_->tokens();
    const std::int64_t before = row / (times_ * own) * own;  // the rows of earlier batch rows
    return table_->row(before + row % own, head, first_pair, count, scratch);
  }

 private:
  const X* table_;
  std::int64_t times_;
};

/// What rotate_memory_keys() may be told beside the keys and the query's table, when the pairing is
/// a template argument.
struct MemoryKeys {
  /// So many of the last keys are not rotated: object pointers.
  Extent unrotated_last = 0;
  /// See RotateOptions.
  Extent first_dim = 0;
  ExecutorRef executor = {};
  Part part = {};
};

/// The same, with the pairing as a run-time value. It has no default.
struct PairingMemoryKeys {
  required<Pairing> pairing;
  /// For the others see MemoryKeys.
  Extent unrotated_last = 0;
  Extent first_dim = 0;
  ExecutorRef executor = {};
  Part part = {};
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_memory_keys(const char* who, std::int64_t keys, std::int64_t unrotated,
                                std::int64_t query_tokens) noexcept {
  if (unrotated < 0 || unrotated > keys) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: unrotated_last must be from 0 to the %lld keys, got %lld", who,
                   static_cast<long long>(keys), static_cast<long long>(unrotated));
  }
  const std::int64_t rotated = keys - unrotated;
  if (rotated == 0) return {};
  if (query_tokens == 0 || rotated % query_tokens != 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: %lld rotated keys (%lld without the last %lld) are not a multiple of the "
                   "%lld tokens of the query's table",
                   who, static_cast<long long>(rotated), static_cast<long long>(keys),
                   static_cast<long long>(unrotated), static_cast<long long>(query_tokens));
  }
  return {};
}

/// Copies the last tokens of `in` to `out`, of the same shape.
template <class T, class In>
void copy_last_tokens(const View<In>& in, const View<T>& out, std::int64_t last) noexcept {
  for (std::int64_t b = 0; b < in.batch(); ++b) {
    for (std::int64_t t = in.tokens() - last; t < in.tokens(); ++t) {
      for (std::int64_t h = 0; h < in.heads(); ++h) {
        copy_features(&in(b, t, h, 0), in.dim_stride(), &out(b, t, h, 0), out.dim_stride(),
                      in.dim());
      }
    }
  }
}

template <Pairing pairing, class T, class In, TokenAddressedTable X>
void rotate_memory_keys(const char* who, const View<In>& in, const View<T>& out, const X& table,
                        const MemoryKeys& keys) {
  static_assert(is_valid(pairing));
  const std::int64_t last = keys.unrotated_last;
  require(check_memory_keys(who, in.tokens(), last, table.tokens()));
  require(check_shapes_equal(who, in.layout(), out.layout()));
  const std::int64_t rotated = in.tokens() - last;
  const RepeatedTable<X> repeated(&table, rotated == 0 ? 0 : rotated / table.tokens());
  const RotateOptions options = {keys.first_dim, keys.executor, keys.part};
  const View<In> from = rotated_tokens(in, {.last = last});
  const View<T> to = rotated_tokens(out, {.last = last});
  require(check_one<Direction::forward, T>(who, from, to, repeated, nullptr, options));
  require(check_written(who, in, out));
  rotate_checked<Direction::forward, pairing, T>(from, to, repeated, nullptr, options);
  if (static_cast<const void*>(in.data()) != out.data() && options.part.index == 0 &&
      !out.empty()) {
    copy_last_tokens(in, out, last);
  }
}

/// The same, with the pairing known at run time.
template <class T, class In, TokenAddressedTable X>
void rotate_memory_keys(const char* who, const View<In>& in, const View<T>& out, const X& table,
                        const PairingMemoryKeys& keys) {
  with_pairing(who, keys.pairing, [&]<Pairing pairing>() {
    rotate_memory_keys<pairing, T>(who, in, out, table,
                                   {keys.unrotated_last, keys.first_dim, keys.executor, keys.part});
  });
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// The table of one frame for the tokens of `times` frames, one after another: any rotation takes
/// it. The table must live as long as what is returned.
///
/// Throws InvalidArgument for a negative number of times, and one whose tokens overflow. O(1).
template <TokenAddressedTable X>
RepeatedTable<X> repeated(const X& table, Extent times) {
  const std::int64_t count = times;
  std::int64_t tokens = 0;
  if (count < 0 || __builtin_mul_overflow(count, table.tokens(), &tokens) ||
      __builtin_mul_overflow(tokens, table.batch(), &tokens)) {
    detail::raise(detail::failure(
        ErrorKind::invalid_argument,
        "rope::repeated: times must not be negative, nor make more tokens than 64 bits can count, "
        "got %lld for %lld tokens",
        static_cast<long long>(count), static_cast<long long>(table.tokens())));
  }
  return RepeatedTable<X>(&table, count);
}
template <TokenAddressedTable X>
RepeatedTable<X> repeated(const X&& table, Extent times) = delete;

/// Rotates the keys of SAM 2's memory attention in place: the keys are frames of as many tokens as
/// the query has, one frame after another, each turned by the query's own table (there is no angle
/// for time), and then `unrotated_last` keys that stay as they are.
///
/// Throws as rotate() does, and InvalidArgument if the rotated keys are not a multiple of the
/// table's tokens; no keys at all are fine. Everything is checked before the first write.
///
/// Source: Ravi et al., "SAM 2: Segment Anything in Images and Videos" (2024), and the code
/// published with it (`rope_k_repeat`, `num_k_exclude_rope`).
template <Pairing pairing, detail::Mutable T, TokenAddressedTable X>
void rotate_memory_keys(View<T> k, const X& table, const MemoryKeys& keys = {}) {
  detail::rotate_memory_keys<pairing, T>("rope::rotate_memory_keys", k, k, table, keys);
}
template <detail::Mutable T, TokenAddressedTable X>
void rotate_memory_keys(View<T> k, const X& table, const PairingMemoryKeys& keys) {
  detail::rotate_memory_keys<T>("rope::rotate_memory_keys", k, k, table, keys);
}

/// As rotate_memory_keys(), from `in` into `out` under the conditions of rotate_to(). The keys that
/// are not rotated are copied.
template <Pairing pairing, detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
void rotate_memory_keys_to(View<In> in, View<T> out, const X& table, const MemoryKeys& keys = {}) {
  detail::rotate_memory_keys<pairing, T>("rope::rotate_memory_keys_to", in, out, table, keys);
}
template <detail::Mutable T, detail::ReadableAs<T> In, TokenAddressedTable X>
void rotate_memory_keys_to(View<In> in, View<T> out, const X& table,
                           const PairingMemoryKeys& keys) {
  detail::rotate_memory_keys<T>("rope::rotate_memory_keys_to", in, out, table, keys);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
