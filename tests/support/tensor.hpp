// q and k for tests: values by logical index in memory of any arrangement, with canaries in every
// gap and around it.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "rope/view.hpp"
#include "support/reference.hpp"

namespace rope_test {

/// Numbers that are the same on every platform (Steele et al., "Fast splittable pseudorandom number
/// generators", 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// An integer from `low` to `high`, both included.
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(high - low + 1));
  }
  /// A real number from -1 to 1.
  double real() { return static_cast<double>(static_cast<std::int64_t>(bits()) >> 10) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

/// {batch, tokens, heads, dim}.
using Shape = std::array<std::int64_t, 4>;

inline std::int64_t element_count(const Shape& shape) {
  return shape[0] * shape[1] * shape[2] * shape[3];
}

enum class Arrangement { bthd, bhtd, gaps, spread_dims, reversed, dims_outermost };

constexpr Arrangement all_arrangements[] = {Arrangement::bthd,     Arrangement::bhtd,
                                            Arrangement::gaps,     Arrangement::spread_dims,
                                            Arrangement::reversed, Arrangement::dims_outermost};

/// Strides in elements of a tensor of `shape`.
inline Shape strides_of(const Shape& shape, Arrangement arrangement) {
  const auto [batch, tokens, heads, dim] = shape;
  switch (arrangement) {
    case Arrangement::bthd:
      return {tokens * heads * dim, heads * dim, dim, 1};
    case Arrangement::bhtd:
      return {heads * tokens * dim, dim, tokens * dim, 1};
    case Arrangement::gaps: {
      const std::int64_t head = dim + 3;
      const std::int64_t token = heads * head + 5;
      return {tokens * token + 7, token, head, 1};
    }
    case Arrangement::spread_dims: {
      const std::int64_t head = 3 * dim + 1;
      const std::int64_t token = heads * head + 2;
      return {tokens * token, token, head, 3};
    }
    case Arrangement::reversed:
      return {-tokens * heads * dim, -heads * dim, -dim, -1};
    case Arrangement::dims_outermost:
      return {tokens * heads, heads, 1, batch * tokens * heads};
  }
  return {};
}

template <class T>
class Tensor {
 public:
  static constexpr std::int64_t guard_bytes = 64;

  Tensor(const Shape& shape, const Shape& strides) : shape_(shape), strides_(strides) {
    std::int64_t lowest = 0;
    std::int64_t highest = 0;
    for (std::size_t axis = 0; axis < 4; ++axis) {
      const std::int64_t reach = (shape[axis] - 1) * strides[axis];
      (reach < 0 ? lowest : highest) += reach;
    }
    // One element more than the guard needs, so that no start is aligned for vectors.
    const std::int64_t guard = guard_bytes / static_cast<std::int64_t>(sizeof(T)) + 1;
    first_ = guard - lowest;
    memory_.resize(static_cast<std::size_t>(first_ + highest + 1 + guard), canary());
    is_element_.resize(memory_.size(), false);
    for_each([&](const Shape& at) { is_element_[index(at)] = true; });
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if (is_element_[i]) memory_[i] = T{0};
    }
  }
  explicit Tensor(const Shape& shape, Arrangement arrangement = Arrangement::bthd)
      : Tensor(shape, strides_of(shape, arrangement)) {}

  static Tensor random(const Shape& shape, std::uint64_t seed,
                       Arrangement arrangement = Arrangement::bthd) {
    Tensor tensor(shape, arrangement);
    Random random(seed);
    tensor.for_each([&](const Shape& at) { tensor[at] = static_cast<T>(random.real()); });
    return tensor;
  }
  /// One head, given by its values.
  static Tensor head(const std::vector<T>& values) {
    Tensor tensor(Shape{1, 1, 1, static_cast<std::int64_t>(values.size())});
    for (std::size_t i = 0; i < values.size(); ++i) {
      tensor[{0, 0, 0, static_cast<std::int64_t>(i)}] = values[i];
    }
    return tensor;
  }
  /// The same values in another arrangement.
  Tensor rearranged(Arrangement arrangement) const {
    Tensor copy(shape_, arrangement);
    for_each([&](const Shape& at) { copy[at] = (*this)[at]; });
    return copy;
  }

  const Shape& shape() const { return shape_; }
  T& operator[](const Shape& at) { return memory_[index(at)]; }
  const T& operator[](const Shape& at) const { return memory_[index(at)]; }

  rope::View<T> view() { return {memory_.data() + first_, extents(shape_), extents(strides_)}; }
  rope::View<const T> view() const {
    return {memory_.data() + first_, extents(shape_), extents(strides_)};
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (std::int64_t b = 0; b < shape_[0]; ++b) {
      for (std::int64_t t = 0; t < shape_[1]; ++t) {
        for (std::int64_t h = 0; h < shape_[2]; ++h) {
          for (std::int64_t i = 0; i < shape_[3]; ++i) visit(Shape{b, t, h, i});
        }
      }
    }
  }

  /// One head's values.
  std::vector<T> values(std::int64_t batch, std::int64_t token, std::int64_t head) const {
    std::vector<T> all;
    for (std::int64_t i = 0; i < shape_[3]; ++i) all.push_back((*this)[{batch, token, head, i}]);
    return all;
  }
  std::vector<long double> exact(std::int64_t batch, std::int64_t token, std::int64_t head) const {
    const std::vector<T> all = values(batch, token, head);
    return {all.begin(), all.end()};
  }

  /// Whether all elements have the same bits as those of `other`, wherever they lie.
  bool same_values(const Tensor& other) const {
    bool same = shape_ == other.shape_;
    if (same) {
      for_each([&](const Shape& at) { same = same && same_bits((*this)[at], other[at]); });
    }
    return same;
  }
  /// Whether the memory is as it was when `before` was copied from this tensor, gaps and all.
  bool same_memory(const Tensor& before) const {
    return std::memcmp(memory_.data(), before.memory_.data(), memory_.size() * sizeof(T)) == 0;
  }
  bool gaps_are_intact() const {
    const T expected = canary();
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if (!is_element_[i] && !same_bits(memory_[i], expected)) return false;
    }
    return true;
  }

  static bool same_bits(const T& a, const T& b) { return std::memcmp(&a, &b, sizeof(T)) == 0; }
  /// A NaN with a payload: it shows when it is read into a result as well as when it is written.
  static T canary() {
    const std::uint64_t bits = sizeof(T) == 4 ? 0x7fc0beef : 0x7ff800000000beef;
    T value{};
    std::memcpy(&value, &bits, sizeof(T));
    return value;
  }

 private:
  static rope::Extents<4> extents(const Shape& values) {
    return {values[0], values[1], values[2], values[3]};
  }
  std::size_t index(const Shape& at) const {
    std::int64_t offset = first_;
    for (std::size_t axis = 0; axis < 4; ++axis) offset += at[axis] * strides_[axis];
    return static_cast<std::size_t>(offset);
  }

  Shape shape_;
  Shape strides_;
  std::int64_t first_ = 0;
  std::vector<T> memory_;
  std::vector<bool> is_element_;
};

/// How large an error of a rotated feature may be, in units of magnitude * (|x0| + |x1|).
template <class T>
constexpr long double rotation_tolerance = sizeof(T) == 4 ? 0x1p-22L : 0x1p-50L;

/// The largest error of `out` against the rotation of `in`, in units of magnitude * (|x0| + |x1|).
/// Infinite if an element is NaN, or a feature outside the rotated part is not copied bit for bit.
///
/// `position(batch, token)` is where a token stands; `reference_of(head)` how its head is turned.
template <class T, class Position, class ReferenceOf>
long double worst_error_by_head(const Tensor<T>& in, const Tensor<T>& out, Position position,
                                ReferenceOf reference_of, Sense sense = Sense::forward) {
  constexpr long double wrong = std::numeric_limits<long double>::infinity();
  if (in.shape() != out.shape()) return wrong;
  long double worst = 0;
  const auto [batch, tokens, heads, dim] = in.shape();
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t h = 0; h < heads; ++h) {
        const Reference reference = reference_of(h);
        const std::vector<T> before = in.values(b, t, h);
        const std::vector<T> after = out.values(b, t, h);
        const std::vector<long double> expected =
            rotated_head(reference, {before.begin(), before.end()}, position(b, t), sense);
        std::vector<bool> is_rotated(before.size(), false);
        for (std::size_t i = 0; i < reference.frequencies.size(); ++i) {
          const auto [first, second] = features_of_pair(reference, i);
          const long double size = std::abs(static_cast<long double>(before[first])) +
                                   std::abs(static_cast<long double>(before[second]));
          for (const std::size_t feature : {first, second}) {
            is_rotated[feature] = true;
            const long double error =
                std::abs(static_cast<long double>(after[feature]) - expected[feature]);
            const long double unit = size * static_cast<long double>(std::abs(reference.magnitude));
            if (!(error <= unit)) return wrong;
            if (error > 0 && error / unit > worst) worst = error / unit;
          }
        }
        for (std::size_t i = 0; i < before.size(); ++i) {
          if (!is_rotated[i] && !Tensor<T>::same_bits(before[i], after[i])) return wrong;
        }
      }
    }
  }
  return worst;
}

/// The same, with one reference for all heads.
template <class T, class Position>
long double worst_error(const Tensor<T>& in, const Tensor<T>& out, Position position,
                        const Reference& reference, Sense sense = Sense::forward) {
  return worst_error_by_head(
      in, out, position, [&](std::int64_t) { return reference; }, sense);
}

}  // namespace rope_test
