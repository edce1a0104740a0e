// What scaling did to each pair of a layer type, in the numbers that both the table and the chart
// show.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <numbers>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rope/huggingface.hpp"

namespace inspect {

enum class Change { kept, blended, divided, changed, stopped };

struct Pair {
  double frequency;   // 0: it does not turn
  double wavelength;  // positions for a full turn
  double plain_wavelength;
  double divisor;  // plain frequency / frequency
  Change change;
};

struct Layer {
  const rope::LayerRope* rope;
  std::vector<Pair> pairs;
  double magnitude;
};

inline double factor_of(const rope::Scaling& scaling) {
  if (const auto* const linear = std::get_if<rope::Linear>(&scaling)) return linear->factor.value();
  if (const auto* const yarn = std::get_if<rope::Yarn>(&scaling)) return yarn->factor.value();
  if (const auto* const llama3 = std::get_if<rope::Llama3>(&scaling)) return llama3->factor.value();
  if (const auto* const part = std::get_if<rope::Proportional>(&scaling)) return part->factor;
  return 0;  // there is no single divisor
}

inline Change change_of(double frequency, double divisor, double factor) {
  constexpr double rounding = 1e-9;
  if (frequency == 0) return Change::stopped;
  if (std::abs(divisor - 1) < rounding) return Change::kept;
  if (factor <= 0) return Change::changed;
  return std::abs(divisor / factor - 1) < rounding ? Change::divided : Change::blended;
}

inline std::string_view text_of(Change change) {
  switch (change) {
    case Change::kept:
      return "kept";
    case Change::blended:
      return "blended";
    case Change::divided:
      return "divided";
    case Change::changed:
      return "changed";
    case Change::stopped:
      return "does not turn";
  }
  return "";
}

inline Layer look_at(const rope::LayerRope& rope, const rope::Frequencies& frequencies) {
  const rope::Frequencies plain =
      rope::frequencies({.rotary_dim = rope.parameters.rotary_dim, .base = rope.parameters.base});
  Layer layer = {&rope, {}, frequencies.magnitude()};
  const double turn = 2 * std::numbers::pi;
  for (std::int64_t i = 0; i < frequencies.pairs(); ++i) {
    const double frequency = std::abs(frequencies(0, 0, i));
    const double divisor = plain(0, 0, i) / frequency;
    layer.pairs.push_back({frequency, turn / frequency, turn / plain(0, 0, i), divisor,
                           change_of(frequency, divisor, factor_of(rope.parameters.scaling))});
  }
  return layer;
}

/// 131072 as "131,072".
inline std::string grouped(double value) {
  char digits[64];
  std::snprintf(digits, sizeof digits, "%.0f", value);
  std::string text = digits;
  for (std::size_t i = text.size(); i > 3;) {
    i -= 3;
    text.insert(i, 1, ',');
  }
  return text;
}

inline std::string number(double value, int digits = 6) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

/// A wavelength as people read it: few digits below 1000, whole positions above.
inline std::string positions(double value) {
  if (std::isinf(value)) return "never";
  if (value >= 1e15) return number(value, 4);
  if (value >= 999.5) return grouped(value);
  char text[64];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

inline const char* name_of(rope::Pairing pairing) {
  return pairing == rope::Pairing::interleaved ? "interleaved" : "half_split";
}

inline std::string scheme_text(const rope::Scaling& scaling) {
  struct Text {
    std::string operator()(const rope::Plain&) const { return "plain"; }
    std::string operator()(const rope::Linear& s) const {
      return "linear, factor " + number(s.factor.value());
    }
    std::string operator()(const rope::NtkAlpha& s) const {
      return "NTK, alpha " + number(s.alpha.value());
    }
    std::string operator()(const rope::DynamicNtk& s) const {
      return "dynamic NTK, factor " + number(s.factor.value()) + " beyond " +
             grouped(static_cast<double>(s.max_positions.value()));
    }
    std::string operator()(const rope::Yarn& s) const {
      return "yarn, factor " + number(s.factor.value()) + " from " +
             grouped(static_cast<double>(s.original_max_positions.value())) + ", beta " +
             number(s.beta_fast) + " to " + number(s.beta_slow) +
             (s.truncate ? "" : ", not truncated");
    }
    std::string operator()(const rope::Llama3& s) const {
      return "llama3, factor " + number(s.factor.value()) + " from " +
             grouped(static_cast<double>(s.original_max_positions.value())) + ", turns " +
             number(s.low_freq_factor) + " to " + number(s.high_freq_factor);
    }
    std::string operator()(const rope::LongRope& s) const {
      return "longrope, long list beyond " +
             grouped(static_cast<double>(s.original_max_positions.value()));
    }
    std::string operator()(const rope::Proportional& s) const {
      return "proportional, " + number(s.partial_rotary_factor) + " of the pairs";
    }
    // The other schemes do not come out of a config.
    std::string operator()(const rope::NtkBase&) const { return "NTK"; }
    std::string operator()(const rope::NtkFixed&) const { return "NTK"; }
    std::string operator()(const rope::NtkMixed&) const { return "NTK"; }
    std::string operator()(const rope::PairDivisors&) const { return "divisors"; }
    std::string operator()(const rope::Ggml&) const { return "ggml"; }
  };
  return std::visit(Text(), scaling);
}

/// The length before scaling, where a scheme has one; 0 if not.
inline std::int64_t original_of(const rope::Scaling& scaling) {
  if (const auto* const yarn = std::get_if<rope::Yarn>(&scaling)) {
    return yarn->original_max_positions.value();
  }
  if (const auto* const llama3 = std::get_if<rope::Llama3>(&scaling)) {
    return llama3->original_max_positions.value();
  }
  if (const auto* const both = std::get_if<rope::LongRope>(&scaling)) {
    return both->original_max_positions.value();
  }
  return 0;
}

/// Names out of a config, without what would steer a terminal.
inline std::string clean(std::string_view text) {
  return rope::detail::huggingface::printable(text);
}

}  // namespace inspect
