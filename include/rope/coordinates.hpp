#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/source.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope {

/// The shape of coordinates: {tokens, axes}, the same for every row of the batch, or {batch,
/// tokens, axes}.
class CoordinateShape {
 public:
  ROPE_DETAIL_FORWARD constexpr CoordinateShape(Extent tokens, Extent axes) noexcept
      : batch_(1), tokens_(tokens), axes_(axes) {}
  ROPE_DETAIL_FORWARD constexpr CoordinateShape(Extent batch, Extent tokens, Extent axes) noexcept
      : batch_(batch), tokens_(tokens), axes_(axes) {}

  ROPE_DETAIL_FORWARD constexpr std::int64_t batch() const noexcept { return batch_; }
  ROPE_DETAIL_FORWARD constexpr std::int64_t tokens() const noexcept { return tokens_; }
  ROPE_DETAIL_FORWARD constexpr std::int64_t axes() const noexcept { return axes_; }

 private:
  std::int64_t batch_;
  std::int64_t tokens_;
  std::int64_t axes_;
};

namespace detail::inline ROPE_DETAIL_UNIT {

/// Fails unless `size` values (negative: not known) can have the shape.
inline Status check_coordinates(const char* who, bool values_are_null, std::int64_t size,
                                const CoordinateShape& shape) noexcept {
  std::int64_t count = 0;
  if (shape.batch() < 0 || shape.tokens() < 0 || shape.axes() < 1 ||
      __builtin_mul_overflow(shape.batch(), shape.tokens(), &count) ||
      __builtin_mul_overflow(count, shape.axes(), &count)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: the shape has batch %lld, tokens %lld and axes %lld", who,
                   static_cast<long long>(shape.batch()), static_cast<long long>(shape.tokens()),
                   static_cast<long long>(shape.axes()));
  }
  if (size >= 0 && size != count) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: %lld values, but the shape of batch %lld, tokens %lld and axes %lld needs "
                   "%lld",
                   who, static_cast<long long>(size), static_cast<long long>(shape.batch()),
                   static_cast<long long>(shape.tokens()), static_cast<long long>(shape.axes()),
                   static_cast<long long>(count));
  }
  if (values_are_null && count != 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: values are null, but %lld are needed", who,
                   static_cast<long long>(count));
  }
  return {};
}

inline std::vector<double> checked_coordinates(std::vector<double>&& values,
                                               const CoordinateShape& shape) {
  require(check_coordinates("rope::Coordinates", false, static_cast<std::int64_t>(values.size()),
                            shape));
  return std::move(values);
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

/// Positions of tokens on one or several axes, [batch or 1, tokens, axes], packed: whole numbers or
/// fractions, of any sign. Owned; made by grid builders and the like.
class Coordinates {
 public:
  /// Throws InvalidArgument if the number of values is not that of the shape, or for fewer than 1
  /// axis or a negative extent.
  ROPE_DETAIL_FORWARD Coordinates(std::vector<double> values, const CoordinateShape& shape)
      : values_(detail::checked_coordinates(std::move(values), shape)), shape_(shape) {}

  ROPE_DETAIL_FORWARD Coordinates(const Coordinates&) = default;
  ROPE_DETAIL_FORWARD Coordinates& operator=(const Coordinates&) = default;
  // What was moved from has no tokens.
  ROPE_DETAIL_FORWARD Coordinates(Coordinates&& other) noexcept
      : values_(std::move(other.values_)),
        shape_(std::exchange(other.shape_, CoordinateShape(0, other.axes()))) {}
  ROPE_DETAIL_FORWARD Coordinates& operator=(Coordinates&& other) noexcept {
    values_ = std::move(other.values_);
    shape_ = std::exchange(other.shape_, CoordinateShape(0, other.axes()));
    return *this;
  }
  ROPE_DETAIL_FORWARD ~Coordinates() = default;

  ROPE_DETAIL_FORWARD const CoordinateShape& shape() const noexcept { return shape_; }
  ROPE_DETAIL_FORWARD std::int64_t batch() const noexcept { return shape_.batch(); }
  ROPE_DETAIL_FORWARD std::int64_t tokens() const noexcept { return shape_.tokens(); }
  ROPE_DETAIL_FORWARD std::int64_t axes() const noexcept { return shape_.axes(); }
  ROPE_DETAIL_FORWARD std::span<const double> values() const& noexcept {
    return {values_.data(), values_.size()};
  }
  std::span<const double> values() const&& = delete;  // of a temporary: the span would dangle

  /// One coordinate; the indices are not checked.
  ROPE_DETAIL_FORWARD double operator()(std::int64_t batch, std::int64_t token,
                                        std::int64_t axis) const noexcept {
    return values_[static_cast<std::size_t>((batch * tokens() + token) * axes() + axis)];
  }

 private:
  std::vector<double> values_;
  CoordinateShape shape_;
};

/// Coordinates in memory of the caller: [batch or 1, tokens, axes], packed. Made by coordinates(),
/// or from Coordinates.
class CoordinatesView {
 public:
  /// Throws InvalidArgument for null values of a non-empty shape, fewer than 1 axis or a negative
  /// extent.
  ROPE_DETAIL_FORWARD CoordinatesView(const double* values, const CoordinateShape& shape)
      : values_(values), shape_(shape) {
    detail::require(
        detail::check_coordinates("rope::CoordinatesView", values == nullptr, -1, shape));
  }
  /// For the length of a call; a view that is kept must not outlive `coordinates`.
  ROPE_DETAIL_FORWARD CoordinatesView(const Coordinates& coordinates) noexcept
      : values_(coordinates.values().data()), shape_(coordinates.shape()) {}

  ROPE_DETAIL_FORWARD constexpr std::int64_t batch() const noexcept { return shape_.batch(); }
  ROPE_DETAIL_FORWARD constexpr std::int64_t tokens() const noexcept { return shape_.tokens(); }
  ROPE_DETAIL_FORWARD constexpr std::int64_t axes() const noexcept { return shape_.axes(); }

  ROPE_DETAIL_FORWARD constexpr const double* data() const noexcept { return values_; }

  /// One coordinate; the indices are not checked.
  ROPE_DETAIL_FORWARD constexpr double operator()(std::int64_t batch, std::int64_t token,
                                                  std::int64_t axis) const noexcept {
    return values_[(batch * tokens() + token) * axes() + axis];
  }

 private:
  const double* values_;
  CoordinateShape shape_;
};

namespace detail {

template <class S>
concept CoordinateSource = SourceOf<S> && IsDouble<std::remove_const_t<source_element_t<S>>>;

}  // namespace detail

inline namespace ROPE_DETAIL_UNIT {

/// Coordinates that lie in `values`, doubles [tokens, axes] or [batch, tokens, axes]: a pointer, or
/// a lasting container or span, whose size must then be that of the shape.
///
/// Throws InvalidArgument for a size that does not match, null values of a non-empty shape, fewer
/// than 1 axis or a negative extent.
template <detail::CoordinateSource S>
CoordinatesView coordinates(S&& values, const CoordinateShape& shape) {
  const auto given = detail::source(values);
  detail::require(
      detail::check_coordinates("rope::coordinates", given.data == nullptr, given.size, shape));
  return CoordinatesView(given.data, shape);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
