// The chart: the wavelength of each pair against the context, as an SVG.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pairs.hpp"
#include "rope/huggingface.hpp"

namespace inspect {

inline std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

inline std::string coordinate(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

inline std::string_view colour_of(Change change) {
  switch (change) {
    case Change::kept:
      return "#2463a6";
    case Change::blended:
      return "#d98a17";
    case Change::divided:
    case Change::changed:
      return "#c03a2b";
    case Change::stopped:
      break;
  }
  return "#8a94a0";
}

/// One layer type: pairs from left to right, wavelengths upwards on a logarithmic scale.
class Chart {
 public:
  static constexpr double width = 1000;
  static constexpr double height = 560;

  Chart(const rope::ModelRope& model, const Layer& layer, std::int64_t length, double top)
      : model_(model), layer_(layer), length_(length), top_(top) {
    double longest = static_cast<double>(length);
    for (const Pair& pair : layer.pairs) {
      longest = (std::max)(longest, pair.plain_wavelength);
      if (pair.frequency != 0) longest = (std::max)(longest, pair.wavelength);
    }
    decades_ = std::ceil(std::log10(longest) + 0.05);
  }

  std::string svg() {
    title();
    context();
    scale();
    contexts();
    series();
    legend();
    return std::move(text_);
  }

 private:
  static constexpr double left = 84;
  static constexpr double right = 812;
  static constexpr double upper = 104;
  static constexpr double lower = 500;

  double x(double pair) const {
    const double last = (std::max)(1.0, static_cast<double>(layer_.pairs.size()) - 1);
    return left + 18 + pair / last * (right - left - 36);
  }
  double y(double wavelength) const {
    return top_ + lower - std::log10(wavelength) / decades_ * (lower - upper);
  }

  void line(double x1, double y1, double x2, double y2, const std::string& style) {
    text_ += "<line x1=\"" + coordinate(x1) + "\" y1=\"" + coordinate(y1) + "\" x2=\"" +
             coordinate(x2) + "\" y2=\"" + coordinate(y2) + "\" " + style + "/>\n";
  }
  void label(double at_x, double at_y, const std::string& style, const std::string& words) {
    text_ += "<text x=\"" + coordinate(at_x) + "\" y=\"" + coordinate(at_y) + "\" " + style + ">" +
             escaped(words) + "</text>\n";
  }
  void dot(double at_x, double at_y, double radius, const std::string& style) {
    text_ += "<circle cx=\"" + coordinate(at_x) + "\" cy=\"" + coordinate(at_y) + "\" r=\"" +
             coordinate(radius) + "\" " + style + "/>\n";
  }

  void title() {
    const rope::LayerRope& rope = *layer_.rope;
    std::string name = model_.model_type;
    if (!rope.name.empty()) name += ", " + clean(rope.name);
    label(left, top_ + 44, "class=\"title\"", name + ": positions for a full turn, pair by pair");
    label(left, top_ + 70, "class=\"note\"",
          std::string(name_of(rope.pairing)) + " · " + std::to_string(rope.rotary_dim()) + " of " +
              std::to_string(rope.head_dim) + " features · base " + grouped(rope.parameters.base) +
              " · " + scheme_text(rope.parameters.scaling));
  }

  void context() {
    if (length_ < 1) return;
    const double edge = y(static_cast<double>(length_));
    text_ += "<rect x=\"" + coordinate(left) + "\" y=\"" + coordinate(top_ + upper) +
             "\" width=\"" + coordinate(right - left) + "\" height=\"" +
             coordinate(edge - top_ - upper) + "\" fill=\"#f3f0ea\"/>\n";
    if (edge - top_ - upper > 30) {
      label(left + 14, top_ + upper + 22, "class=\"small\"", "not a full turn within the context");
    }
  }

  void scale() {
    for (int decade = 0; decade <= static_cast<int>(decades_); ++decade) {
      const double at = y(std::pow(10.0, decade));
      line(left, at, right, at,
           decade == 0 ? "stroke=\"#9aa3ad\"" : "stroke=\"#dfe3e8\" stroke-width=\"0.8\"");
      label(left - 10, at + 4, "class=\"tick\" text-anchor=\"end\"",
            decade > 11  ? "1e" + std::to_string(decade)
            : decade > 5 ? grouped(std::pow(10.0, decade - 6)) + " M"
                         : grouped(std::pow(10.0, decade)));
    }
    const auto count = static_cast<int>(layer_.pairs.size());
    const int step = count <= 16 ? 2 : count <= 40 ? 4 : count <= 80 ? 8 : count <= 160 ? 16 : 64;
    for (int pair = 0; pair < count; pair += step) {
      label(x(pair), top_ + lower + 20, "class=\"tick\" text-anchor=\"middle\"",
            std::to_string(pair));
    }
    label((left + right) / 2, top_ + lower + 42, "class=\"small\" text-anchor=\"middle\"",
          "pair of features");
    label(left - 10, top_ + upper - 12, "class=\"small\" text-anchor=\"end\"", "positions");
  }

  void mark(double at, double word_y, const std::string& style, const std::string& name,
            double value) {
    line(left, at, right + 6, at, style);
    label(right + 14, word_y, "class=\"mark\"", grouped(value));
    label(right + 14, word_y + 15, "class=\"small\"", name);
  }

  void contexts() {
    const auto original = static_cast<double>(original_of(layer_.rope->parameters.scaling));
    const auto length = static_cast<double>(length_);
    if (length_ > 0) {
      const double at = y(length);
      const bool is_near = original > 0 && original != length && std::abs(at - y(original)) < 34;
      mark(at, is_near ? at - 22 : at - 2, "stroke=\"#3c4854\" stroke-width=\"1.3\"", "context",
           length);
    }
    if (original > 0 && original != length) {
      const double at = y(original);
      mark(at, at - 2, "stroke=\"#3c4854\" stroke-width=\"1.1\" stroke-dasharray=\"5 4\"",
           "before scaling", original);
    }
  }

  void series() {
    // From where a pair would be to where it is.
    for (std::size_t i = 0; i < layer_.pairs.size(); ++i) {
      const Pair& pair = layer_.pairs[i];
      const double at = x(static_cast<double>(i));
      if (pair.frequency != 0 && std::abs(y(pair.wavelength) - y(pair.plain_wavelength)) > 4) {
        line(at, y(pair.plain_wavelength), at, y(pair.wavelength),
             "stroke=\"" + std::string(colour_of(pair.change)) +
                 "\" stroke-width=\"1.2\" stroke-opacity=\"0.35\"");
      }
    }
    const double radius = layer_.pairs.size() > 160 ? 1.6 : layer_.pairs.size() > 80 ? 2.6 : 4.2;
    for (std::size_t i = 0; i < layer_.pairs.size(); ++i) {
      const Pair& pair = layer_.pairs[i];
      const double at = x(static_cast<double>(i));
      if (pair.change != Change::kept) {
        dot(at, y(pair.plain_wavelength), radius * 0.62,
            "fill=\"#ffffff\" stroke=\"#8a94a0\" stroke-width=\"1.1\"");
      }
      if (pair.frequency != 0) {
        dot(at, y(pair.wavelength), radius, "fill=\"" + std::string(colour_of(pair.change)) + "\"");
      }
    }
  }

  void legend() {
    double at = top_ + lower - 4;
    const auto entry = [&](const std::string& style, double radius, const std::string& words) {
      dot(right + 20, at - 4, radius, style);
      label(right + 32, at, "class=\"small\"", words);
      at -= 21;
    };
    const auto count = [&](Change change) {
      return std::count_if(layer_.pairs.begin(), layer_.pairs.end(),
                           [&](const Pair& pair) { return pair.change == change; });
    };
    if (count(Change::kept) != static_cast<std::ptrdiff_t>(layer_.pairs.size())) {
      entry("fill=\"#ffffff\" stroke=\"#8a94a0\" stroke-width=\"1.1\"", 2.8, "without scaling");
    }
    for (const Change change :
         {Change::divided, Change::changed, Change::blended, Change::kept, Change::stopped}) {
      const auto pairs = count(change);
      if (pairs == 0) continue;
      if (change == Change::stopped) {
        label(right + 14, at, "class=\"small\"", std::to_string(pairs) + " pairs do not turn");
        at -= 21;
        continue;
      }
      std::string words(text_of(change));
      if (change == Change::divided) {
        words += " by " + number(factor_of(layer_.rope->parameters.scaling), 4);
      }
      entry("fill=\"" + std::string(colour_of(change)) + "\"", 4.2,
            words + ": " + std::to_string(pairs) + (pairs == 1 ? " pair" : " pairs"));
    }
  }

  const rope::ModelRope& model_;
  const Layer& layer_;
  std::int64_t length_;
  double top_;
  double decades_ = 1;
  std::string text_;
};

inline std::string chart(const rope::ModelRope& model, const std::vector<Layer>& layers,
                         std::int64_t length) {
  const std::string width = coordinate(Chart::width);
  const std::string height =
      coordinate(Chart::height * static_cast<double>((std::max)(layers.size(), std::size_t{1})));
  std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + width + " " +
                     height + "\" width=\"" + width + "\" height=\"" + height + "\">\n" +
                     "<style>\ntext { font-family: 'Helvetica Neue', Helvetica, Arial, sans-serif; "
                     "fill: #1f2a36; }\n"
                     ".title { font-size: 21px; font-weight: 600; }\n"
                     ".note { font-size: 14px; fill: #52606d; }\n"
                     ".tick { font-size: 12px; fill: #52606d; }\n"
                     ".mark { font-size: 14px; font-weight: 600; }\n"
                     ".small { font-size: 12.5px; fill: #52606d; }\n</style>\n" +
                     "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  for (std::size_t i = 0; i < layers.size(); ++i) {
    text += Chart(model, layers[i], length, Chart::height * static_cast<double>(i)).svg();
  }
  return text + "</svg>\n";
}

}  // namespace inspect
