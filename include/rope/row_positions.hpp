#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "rope/argument.hpp"
#include "rope/detail/source.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope {

/// The shape of listed positions: {tokens}, the same for every row of the batch, or {batch,
/// tokens}.
class PositionShape {
 public:
  ROPE_DETAIL_FORWARD constexpr PositionShape(Extent tokens) noexcept
      : has_batch_(false), batch_(1), tokens_(tokens) {}
  ROPE_DETAIL_FORWARD constexpr PositionShape(Extent batch, Extent tokens) noexcept
      : has_batch_(true), batch_(batch), tokens_(tokens) {}

  ROPE_DETAIL_FORWARD constexpr bool has_batch() const noexcept { return has_batch_; }
  ROPE_DETAIL_FORWARD constexpr std::int64_t batch() const noexcept { return batch_; }
  ROPE_DETAIL_FORWARD constexpr std::int64_t tokens() const noexcept { return tokens_; }

 private:
  bool has_batch_;
  std::int64_t batch_;  // 1 without a batch
  std::int64_t tokens_;
};

/// Which row of a position-addressed table each token takes. Made by from(), from_each() and at().
///
/// Refers to the caller's ids without owning them; trivially copyable.
class Positions {
 public:
  enum class Kind : unsigned char {
    from,       ///< token t of every batch row is at start() + t
    from_each,  ///< token t of batch row b is at id(b) + t
    at,         ///< token t of batch row b is at id(t) or id(b * tokens + t)
  };

  /// Consecutive positions from `start` on.
  ROPE_DETAIL_FORWARD explicit constexpr Positions(std::int64_t start) noexcept
      : kind_(Kind::from), start_(start) {}

  /// A start for each batch row: `size` of them, or a negative size if that is not known.
  template <class Id>
  ROPE_DETAIL_FORWARD constexpr Positions(const Id* starts, std::int64_t size) noexcept
      : kind_(Kind::from_each), start_(size) {
    set_ids(starts);
  }

  /// A position for each token.
  template <class Id>
  ROPE_DETAIL_FORWARD constexpr Positions(const Id* ids, const PositionShape& shape) noexcept
      : kind_(Kind::at), shape_(shape) {
    set_ids(ids);
  }

  ROPE_DETAIL_FORWARD constexpr Kind kind() const noexcept { return kind_; }
  /// The first position. Only for Kind::from.
  ROPE_DETAIL_FORWARD constexpr std::int64_t start() const noexcept { return start_; }
  /// How many starts there are, negative if not known. Only for Kind::from_each.
  ROPE_DETAIL_FORWARD constexpr std::int64_t starts() const noexcept { return start_; }
  /// The shape of the ids. Only for Kind::at.
  ROPE_DETAIL_FORWARD constexpr const PositionShape& shape() const noexcept { return shape_; }

  /// The i-th id or start; not checked.
  ROPE_DETAIL_FORWARD constexpr std::int64_t id(std::int64_t i) const noexcept {
    return narrow_ids_ != nullptr ? narrow_ids_[i] : wide_ids_[i];
  }
  ROPE_DETAIL_FORWARD constexpr bool has_ids() const noexcept {
    return narrow_ids_ != nullptr || wide_ids_ != nullptr;
  }
  /// The ids or starts in memory, and the bytes of one. Null and any where there are none.
  ROPE_DETAIL_FORWARD constexpr const void* ids() const noexcept {
    return narrow_ids_ != nullptr ? static_cast<const void*>(narrow_ids_) : wide_ids_;
  }
  ROPE_DETAIL_FORWARD constexpr std::int64_t id_bytes() const noexcept {
    return narrow_ids_ != nullptr ? std::int64_t{sizeof(std::int32_t)}
                                  : std::int64_t{sizeof(std::int64_t)};
  }

  /// The position of a token; not checked: check_rotate() does that for all of them.
  ROPE_DETAIL_FORWARD constexpr std::int64_t position(std::int64_t batch,
                                                      std::int64_t token) const noexcept {
    switch (kind_) {
      case Kind::from:
        return start_ + token;
      case Kind::from_each:
        return id(batch) + token;
      case Kind::at:
        break;
    }
    return id(shape_.has_batch() ? batch * shape_.tokens() + token : token);
  }

 private:
  ROPE_DETAIL_FORWARD constexpr void set_ids(const std::int32_t* ids) noexcept {
    narrow_ids_ = ids;
  }
  ROPE_DETAIL_FORWARD constexpr void set_ids(const std::int64_t* ids) noexcept { wide_ids_ = ids; }

  Kind kind_;
  PositionShape shape_{0};
  std::int64_t start_ = 0;  // the number of starts for Kind::from_each
  const std::int32_t* narrow_ids_ = nullptr;
  const std::int64_t* wide_ids_ = nullptr;
};

static_assert(std::is_trivially_copyable_v<Positions>);

namespace detail {

template <class T>
concept PositionId = std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t>;

template <class S>
concept PositionSource = SourceOf<S> && PositionId<std::remove_const_t<source_element_t<S>>>;

inline namespace ROPE_DETAIL_UNIT {

/// Fails unless a list of `size` values (negative: not known) can have the shape; `what` they are,
/// a plural.
inline Status check_listed(const char* who, const char* what, bool is_null, std::int64_t size,
                           const PositionShape& shape) noexcept {
  const std::int64_t batch = shape.has_batch() ? shape.batch() : 1;
  std::int64_t count = 0;
  if (batch < 0 || shape.tokens() < 0 || __builtin_mul_overflow(batch, shape.tokens(), &count))
      [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: the shape has batch %lld and tokens %lld", who,
                   static_cast<long long>(batch), static_cast<long long>(shape.tokens()));
  }
  if (size >= 0 && size != count) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: %lld %s, but the shape of batch %lld and tokens %lld needs %lld", who,
                   static_cast<long long>(size), what, static_cast<long long>(batch),
                   static_cast<long long>(shape.tokens()), static_cast<long long>(count));
  }
  if (is_null && count != 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: %s are null, but %lld are needed", who, what,
                   static_cast<long long>(count));
  }
  return {};
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace detail

inline namespace ROPE_DETAIL_UNIT {

/// Token t is at position `start` + t, in every row of the batch: a prompt (start 0), the next
/// chunk of it, one token to decode.
inline Positions from(Extent start) noexcept { return Positions(start); }

/// Token t of batch row b is at `starts[b]` + t: decoding a batch of sequences of different
/// lengths.
///
/// `starts` holds int32 or int64, as many as the view has batch rows; a pointer, or a lasting
/// container or span. The memory must live until the rotation is done. A size that is known is
/// checked by rotate().
template <detail::PositionSource S>
Positions from_each(S&& starts) {
  const auto given = detail::source(starts);
  if (given.data == nullptr && given.size != 0) {
    detail::raise(detail::failure(ErrorKind::invalid_argument, "rope::from_each: starts are null"));
  }
  return Positions(given.data, given.size);
}

/// Token t of batch row b is at position `ids[t]` (`shape` is {tokens}) or `ids[b, t]` ({batch,
/// tokens}, packed).
///
/// `ids` holds int32 or int64: a pointer, or a lasting container or span, whose size must then be
/// that of the shape; made by positions_from_mask(), ragged_positions(), shard_positions() or the
/// caller. The memory must live until the rotation is done. Throws InvalidArgument for a negative
/// extent, for a size that does not match, and for null ids of a non-empty shape.
template <detail::PositionSource S>
Positions at(S&& ids, const PositionShape& shape) {
  const auto given = detail::source(ids);
  detail::require(
      detail::check_listed("rope::at", "ids", given.data == nullptr, given.size, shape));
  return Positions(given.data, shape);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
