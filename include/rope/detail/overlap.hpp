#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "rope/detail/layout.hpp"
#include "rope/detail/unit.hpp"

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// One term stride * d of a sum, with lowest <= d <= highest and stride > 0.
struct StrideTerm {
  std::int64_t stride;
  std::int64_t lowest;
  std::int64_t highest;
};

/// Answers whether a sum of stride * d, each d in its range, can be a given number.
///
/// Two strided views share an element exactly if the difference of their addresses is such a sum.
/// The largest stride is tried first; what the others can add up to leaves one or two candidates
/// for it when strides are nested, as those of real tensors are. For strides that are not, the
/// search is bounded, and gives up by answering yes: a rotation is then refused rather than wrong.
class StrideSum {
 public:
  void add(std::int64_t stride, std::int64_t lowest, std::int64_t highest) noexcept {
    if (stride == 0 || (lowest == 0 && highest == 0)) {
      return;
    }
    const StrideTerm term =
        stride > 0 ? StrideTerm{stride, lowest, highest} : StrideTerm{-stride, -highest, -lowest};
    StrideTerm* end = terms_ + count_;
    StrideTerm* place = terms_;
    while (place != end && place->stride > term.stride) {
      ++place;
    }
    if (place != end && place->stride == term.stride) {
      place->lowest += term.lowest;
      place->highest += term.highest;
      return;
    }
    std::copy_backward(place, end, end + 1);
    *place = term;
    ++count_;
  }

  /// Whether the sum can be `target`.
  bool reaches(std::int64_t target) noexcept {
    prepare();
    steps_left_ = max_steps;
    return search(0, target);
  }

  /// Whether the sum can be 0 with some d that is not.
  bool reaches_zero_twice() noexcept {
    steps_left_ = max_steps;
    for (int k = 0; k < count_; ++k) {
      // The first d that is not 0; by symmetry of the ranges it may be taken as positive.
      StrideTerm& first = terms_[k];
      const StrideTerm whole = first;
      first.lowest = 1;
      prepare();
      const bool found = first.highest >= 1 && search(k, 0);
      first = whole;
      if (found) {
        return true;
      }
    }
    return false;
  }

 private:
  static constexpr int max_terms = 9;  // four axes of two views, and the units of an element
  static constexpr int max_steps = 20000;

  /// The least and greatest sum, and the common divisor, of the terms from each one on.
  void prepare() noexcept {
    least_[count_] = greatest_[count_] = divisor_[count_] = 0;
    for (int k = count_ - 1; k >= 0; --k) {
      least_[k] = least_[k + 1] + terms_[k].stride * terms_[k].lowest;
      greatest_[k] = greatest_[k + 1] + terms_[k].stride * terms_[k].highest;
      divisor_[k] = std::gcd(divisor_[k + 1], terms_[k].stride);
    }
  }

  bool search(int k, std::int64_t target) noexcept {
    if (target < least_[k] || target > greatest_[k]) {
      return false;
    }
    if (k == count_) {
      return true;  // both bounds are 0 here, so the target is
    }
    if (target % divisor_[k] != 0) {
      return false;
    }
    const StrideTerm& term = terms_[k];
    const std::int64_t lowest =
        (std::max)(term.lowest, divide_up(target - greatest_[k + 1], term.stride));
    const std::int64_t highest =
        (std::min)(term.highest, -divide_up(least_[k + 1] - target, term.stride));
    for (std::int64_t d = lowest; d <= highest; ++d) {
      if (--steps_left_ <= 0 || search(k + 1, target - term.stride * d)) {
        return true;
      }
    }
    return false;
  }

  /// The quotient rounded towards plus infinity.
  static std::int64_t divide_up(std::int64_t value, std::int64_t divisor) noexcept {
    return value / divisor + (value % divisor > 0 ? 1 : 0);
  }

  StrideTerm terms_[max_terms];
  std::int64_t least_[max_terms + 1];
  std::int64_t greatest_[max_terms + 1];
  std::int64_t divisor_[max_terms + 1];
  int count_ = 0;
  int steps_left_ = 0;
};

/// Whether each axis, from dim to batch, steps over everything that the axes after it reach: then
/// no two indices meet. True of every packed [batch, tokens, heads, dim] and its slices, and much
/// cheaper than the full question.
inline bool is_nested(const Layout& layout) noexcept {
  std::int64_t reach = 0;
  for (int axis = 3; axis >= 0; --axis) {
    const std::int64_t last = layout.extent[axis] - 1;
    const std::int64_t stride =
        layout.stride[axis] < 0 ? -layout.stride[axis] : layout.stride[axis];
    if (last > 0 && stride <= reach) {
      return false;
    }
    reach += stride * last;
  }
  return true;
}

/// Whether two different indices of a view that is not empty lead to the same element.
inline bool overlaps_itself(const Layout& layout) noexcept {
  if (is_nested(layout)) {
    return false;
  }
  StrideSum sum;
  for (int axis = 0; axis < 4; ++axis) {
    if (layout.extent[axis] == 1) {
      continue;
    }
    for (int other = 0; other < axis; ++other) {
      const bool same_stride = layout.stride[axis] == layout.stride[other] ||
                               layout.stride[axis] == -layout.stride[other];
      if (layout.extent[other] > 1 && same_stride) {
        return true;
      }
    }
    if (layout.stride[axis] == 0) {
      return true;
    }
    sum.add(layout.stride[axis], 1 - layout.extent[axis], layout.extent[axis] - 1);
  }
  return sum.reaches_zero_twice();
}

/// Where a view's elements lie: its first address, its layout, and the bytes of an element.
struct Footprint {
  std::uintptr_t address;
  Layout layout;
  std::int64_t element_bytes;
};

/// Whether two views, neither of them empty, share memory.
inline bool share_memory(const Footprint& a, const Footprint& b) noexcept {
  // Counted in the larger unit that divides both elements, each of which is a few units long.
  const std::int64_t unit = a.element_bytes < b.element_bytes ? a.element_bytes : b.element_bytes;
  const std::int64_t a_units = a.element_bytes / unit;
  const std::int64_t b_units = b.element_bytes / unit;
  StrideSum sum;  // of an offset in a minus an offset in b
  for (int axis = 0; axis < 4; ++axis) {
    if (a.layout.extent[axis] > 1) {  // a stride that is never taken may be any number
      sum.add(a.layout.stride[axis] * a_units, 0, a.layout.extent[axis] - 1);
    }
    if (b.layout.extent[axis] > 1) {
      sum.add(b.layout.stride[axis] * b_units, 1 - b.layout.extent[axis], 0);
    }
  }
  sum.add(1, 1 - b_units, a_units - 1);
  const auto distance = static_cast<std::int64_t>(b.address - a.address);
  const std::int64_t units = distance / unit;
  if (distance % unit == 0) {
    return sum.reaches(units);
  }
  // Misaligned to each other: units share bytes where the distance lies between two multiples of
  // their size.
  return sum.reaches(units) || sum.reaches(units + (distance < 0 ? -1 : 1));
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
