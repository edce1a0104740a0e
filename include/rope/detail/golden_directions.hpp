#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/double_double.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/fused.hpp"
#include "rope/detail/ladder.hpp"
#include "rope/detail/quantile.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope {

/// Which directions the pairs of Golden Gate RoPE look in. Four incompatible sets are published;
/// weights trained with one give wrong results with another.
enum class GoldenGateForm : unsigned char {
  /// What blog_2d means, without its rounding: direction k has the angle k * pi / golden ratio, k
  /// from 0, and the components (cos, sin) along axes 0 and 1.
  exact_2d,
  /// What blog_nd means, without its rounding: see there.
  exact_nd,
  /// The two-dimensional class of the article, whose angles are in float32 (wrong by 3e-5 at k =
  /// 383). Axis 0 is x, the column, axis 1 is y, the row. The numbers in the article itself were
  /// made with twice the spacing.
  blog_2d,
  /// The class of the article for any number of axes P: the normal quantiles of the fractions of k
  /// / g^p, p = 1 .. P, k from 1, made a unit vector, where g is the root of g^(P + 1) = g + 1. The
  /// code stops after 10 steps towards g, which moves the directions by up to 4e-4. With 2 axes it
  /// is another set than blog_2d.
  blog_nd,
  /// The author's later library: as blog_nd with 20 steps, but as exact_2d where there are 2 axes;
  /// and it rounds the number of the pairs that are not 0.
  bnnp,
  /// The code of the article's experiments: as blog_2d, but axis 0 is y, the row, axis 1 is x, and
  /// the spacing is negative: a mirrored set.
  experiment,
};

/// True for a value that is one of these.
ROPE_DETAIL_FORWARD constexpr bool is_valid(GoldenGateForm form) noexcept {
  return form >= GoldenGateForm::exact_2d && form <= GoldenGateForm::experiment;
}

/// pi / golden ratio = pi * (sqrt(5) - 1) / 2: from one direction to the next. Not 2 pi / golden
/// ratio, since opposite directions give mirrored rotations, which attention cannot tell apart.
inline constexpr double golden_gate_spacing = 0x1.f10d6bc8e0e35p+0;

namespace detail::inline ROPE_DETAIL_UNIT {

inline bool is_exact(GoldenGateForm form) noexcept {
  return form == GoldenGateForm::exact_2d || form == GoldenGateForm::exact_nd;
}

/// Whether its directions in the plane are multiples of an angle that can be chosen.
inline bool has_spacing(GoldenGateForm form) noexcept {
  return form == GoldenGateForm::exact_2d || form == GoldenGateForm::blog_2d ||
         form == GoldenGateForm::experiment;
}

inline Status check_golden_directions(const char* who, GoldenGateForm form, std::int64_t axes,
                                      std::int64_t count, std::optional<double> spacing) noexcept {
  if (!is_valid(form)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: form has the value %d, which names no form",
                   who, static_cast<int>(form));
  }
  if (has_spacing(form) ? axes != 2 : axes < 1) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: axes must be %s for this form, got %lld", who,
                   has_spacing(form) ? "2" : "at least 1", static_cast<long long>(axes));
  }
  if (spacing && !has_spacing(form)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: direction_spacing is for exact_2d, blog_2d and experiment only, got %g",
                   who, *spacing);
  }
  if (spacing && (!is_finite(*spacing) ||
                  !(absolute(*spacing) * static_cast<double>(count) <= 0x1p50))) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: direction_spacing must be finite and the last angle at most 2^50, got %g "
                   "for %lld directions",
                   who, *spacing, static_cast<long long>(count));
  }
  return {};
}

/// The unit vector of each number k.
class GoldenDirections {
 public:
  GoldenDirections(GoldenGateForm form, std::int64_t axes, std::optional<double> spacing)
      : form_(form), in_plane_(has_spacing(form) || (form == GoldenGateForm::bnnp && axes == 2)) {
    const DoubleDouble pi = {keep(half_pi[0] * 2.0), keep(half_pi[1] * 2.0)};
    if (form == GoldenGateForm::exact_2d) {
      const DoubleDouble root_5 = square_root(exactly(5.0));
      spacing_ = spacing ? exactly(*spacing) : pi * (root_5 - 1.0) * 0.5;
    } else if (has_spacing(form)) {
      const double sign = form == GoldenGateForm::experiment ? -1.0 : 1.0;
      spacing_ = exactly(static_cast<double>(
          keep(static_cast<float>(spacing.value_or(sign * golden_gate_spacing)))));
    } else if (in_plane_) {
      spacing_ = exactly(published_root(1, 20));
    } else {
      const DoubleDouble root =
          form == GoldenGateForm::exact_nd
              ? exact_root(axes)
              : exactly(published_root(axes, form == GoldenGateForm::bnnp ? 20 : 10));
      const DoubleDouble log_root = log(root);
      for (std::int64_t p = 1; p <= axes; ++p) {
        const DoubleDouble step = exp(log_root * static_cast<double>(-p));
        steps_.push_back(is_exact(form) ? step : exactly(rounded(step)));
      }
    }
  }

  void write(std::int64_t k, std::vector<DoubleDouble>& direction) const {
    if (in_plane_) {
      const SinCos turned = sin_cos(angle(k));
      direction[0] = turned.cos;
      direction[1] = turned.sin;
    } else {
      write_quantiles(k + 1, direction);
    }
    if (!is_exact(form_)) {
      for (DoubleDouble& part : direction) {
        part = exactly(static_cast<double>(keep(static_cast<float>(rounded(part)))));
      }
    }
  }

 private:
  DoubleDouble angle(std::int64_t k) const {
    const auto number = static_cast<double>(k);
    if (form_ == GoldenGateForm::exact_2d) return spacing_ * number;
    if (form_ == GoldenGateForm::bnnp) {
      constexpr double pi = 0x1.921fb54442d18p+1;
      return exactly(rounded_quotient(keep(number * pi), spacing_.hi));
    }
    const auto product = keep(static_cast<float>(k) * static_cast<float>(spacing_.hi));
    return exactly(static_cast<double>(product));
  }

  void write_quantiles(std::int64_t k, std::vector<DoubleDouble>& direction) const {
    DoubleDouble square = exactly(0.0);
    for (std::size_t p = 0; p < direction.size(); ++p) {
      // The published forms multiply and take the fraction in double, which is exact.
      DoubleDouble multiple = steps_[p] * static_cast<double>(k);
      if (!is_exact(form_)) multiple = exactly(rounded(multiple));
      const DoubleDouble fraction = multiple - floor(multiple);
      DoubleDouble place = {keep(fraction.hi * 2.0), keep(fraction.lo * 2.0)};
      place = place - 1.0;
      if (!(place.hi > -1))
        place = exactly(-0x1.fffffffffffffp-1);  // the quantile of 0 is infinite
      direction[p] = inverse_(place);
      square = square + direction[p] * direction[p];
    }
    const DoubleDouble length = square_root(square);
    for (DoubleDouble& part : direction) part = part / length;
  }

  /// `steps` of x = (1 + x)^(1 / (P + 1)) from 2, in double.
  static double published_root(std::int64_t axes, int steps) {
    const double exponent = rounded_quotient(1.0, static_cast<double>(axes + 1));
    double x = 2.0;
    for (int i = 0; i < steps; ++i) x = rounded(exp(log(keep(1.0 + x)) * exponent));
    return x;
  }

  /// The root of x^(P + 1) = 1 + x above 1: of (P + 1) ln x = ln (1 + x), by Newton's method.
  static DoubleDouble exact_root(std::int64_t axes) {
    const auto power = static_cast<double>(axes + 1);
    DoubleDouble x = exactly(published_root(axes, 40));
    for (int i = 0; i < 3; ++i) {
      const DoubleDouble excess = log(x) * power - log(x + 1.0);
      const DoubleDouble slope = exactly(power) / x - exactly(1.0) / (x + 1.0);
      x = x - excess / slope;
    }
    return x;
  }

  GoldenGateForm form_;
  bool in_plane_;
  DoubleDouble spacing_ = {0.0, 0.0};  // for bnnp the golden ratio that pi is divided by
  std::vector<DoubleDouble> steps_;
  InverseErrorFunction inverse_;
};

inline std::vector<double> golden_gate_directions(GoldenGateForm form, std::int64_t axes,
                                                  std::int64_t count) {
  constexpr const char* who = "rope::golden_gate_directions";
  require(check_golden_directions(who, form, axes, count, std::nullopt));
  std::int64_t values = 0;
  if (count < 0 || __builtin_mul_overflow(count, axes, &values) || values > (std::int64_t{1} << 59))
      [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument,
                  "%s: count must not be negative nor make more than 2^59 values, got %lld", who,
                  static_cast<long long>(count)));
  }
  const GoldenDirections directions(form, axes, std::nullopt);
  std::vector<DoubleDouble> direction(static_cast<std::size_t>(axes));
  std::vector<double> all;
  all.reserve(static_cast<std::size_t>(values));
  for (std::int64_t k = 0; k < count; ++k) {
    directions.write(k, direction);
    for (const DoubleDouble part : direction) all.push_back(rounded(part));
  }
  return all;
}

}  // namespace detail::inline ROPE_DETAIL_UNIT
}  // namespace rope
