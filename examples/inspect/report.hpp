// The report for a terminal.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "pairs.hpp"
#include "rope/huggingface.hpp"

namespace inspect {

inline void print_line(const char* label, const std::string& text) {
  std::printf("  %-16s %s\n", label, text.c_str());
}

/// Layers as ranges: "0-2, 4-6".
inline std::string ranges(const std::vector<int>& layers, int wanted) {
  std::string text;
  for (std::size_t i = 0; i < layers.size();) {
    if (layers[i] != wanted) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end + 1 < layers.size() && layers[end + 1] == wanted) ++end;
    if (!text.empty()) text += ", ";
    text += std::to_string(i);
    if (end > i) text += "-" + std::to_string(end);
    i = end + 1;
  }
  return text.empty() ? "none" : text;
}

inline std::string place_of(const rope::LayerRope& rope) {
  std::string text = std::to_string(rope.rotary_dim()) + " of " + std::to_string(rope.head_dim) +
                     " features of a head";
  if (rope.first_dim != 0) text += ", from feature " + std::to_string(rope.first_dim) + " on";
  return text;
}

inline std::string sections_of(const rope::LayerRope& rope) {
  std::string text;
  for (const std::int64_t count : rope.sections) {
    text += (text.empty() ? "" : ", ") + std::to_string(count);
  }
  switch (rope.section_layout) {
    case rope::SectionLayout::interleaved:
      return text + " (time, height, width; interleaved)";
    case rope::SectionLayout::height_width_time:
      return text + " (height, width, time)";
    default:
      return text + " (in blocks)";
  }
}

inline void print_slowest(const Layer& layer, std::int64_t length) {
  double slowest = 0;
  for (const Pair& pair : layer.pairs) {
    if (pair.frequency != 0) slowest = (std::max)(slowest, pair.wavelength);
  }
  print_line("slowest pair", "has turned fully after " + positions(slowest) + " positions");
  if (length > 0) {
    const auto turned = std::count_if(
        layer.pairs.begin(), layer.pairs.end(),
        [&](const Pair& pair) { return pair.wavelength <= static_cast<double>(length); });
    print_line("full turns", std::to_string(turned) + " of " + std::to_string(layer.pairs.size()) +
                                 " pairs turn fully within " +
                                 grouped(static_cast<double>(length)) + " positions");
  }
}

inline void print_pairs(const Layer& layer) {
  std::printf("\n  %4s  %-12s  %16s  %16s  %10s\n", "pair", "frequency", "wavelength",
              "without scaling", "divided by");
  for (std::size_t i = 0; i < layer.pairs.size(); ++i) {
    const Pair& pair = layer.pairs[i];
    const bool is_stopped = pair.change == Change::stopped;
    std::printf("  %4zu  %-12s  %16s  %16s  %10s  %s\n", i, number(pair.frequency).c_str(),
                positions(pair.wavelength).c_str(), positions(pair.plain_wavelength).c_str(),
                is_stopped ? "" : number(pair.divisor, 5).c_str(),
                std::string(text_of(pair.change)).c_str());
  }
}

inline void print_layer(const rope::ModelRope& model, std::size_t index, const Layer& layer,
                        std::int64_t length) {
  const rope::LayerRope& rope = *layer.rope;
  if (!rope.name.empty()) std::printf("\n%s\n", clean(rope.name).c_str());
  std::string pairing = name_of(rope.pairing);
  if (rope.output_order != rope.pairing) {
    pairing += std::string(", written as ") + name_of(rope.output_order);
  }
  if (rope.is_backwards) pairing += ", turning backwards";
  print_line("pairing", pairing);
  print_line("rotated", place_of(rope));
  print_line("base", number(rope.parameters.base, 12));
  print_line("scheme", scheme_text(rope.parameters.scaling));
  print_line("magnitude", number(layer.magnitude, 12));
  if (rope.softmax_scale_multiplier != 1) {
    print_line("softmax scale", "times " + number(rope.softmax_scale_multiplier, 12));
  }
  if (rope.query_scale) {
    print_line("query scale", "by position, in steps of " +
                                  grouped(static_cast<double>(rope.query_scale->period.value())));
  }
  if (!rope.sections.empty()) print_line("axis sections", sections_of(rope));
  if (!model.layers.empty()) print_line("layers", ranges(model.layers, static_cast<int>(index)));
  print_slowest(layer, length);
  print_pairs(layer);
}

inline void print_report(const rope::ModelRope& model, const std::vector<Layer>& layers,
                         std::int64_t length) {
  std::printf("%s\n", model.model_type.c_str());
  for (std::size_t i = 0; i < layers.size(); ++i) print_layer(model, i, layers[i], length);
  if (!model.layers.empty()) {
    const std::string without = ranges(model.layers, rope::ModelRope::no_rope);
    if (without != "none") std::printf("\nnot rotated: layers %s\n", without.c_str());
  }
  if (!model.warnings.empty()) std::printf("\n");
  for (const std::string& warning : model.warnings) {
    std::printf("warning: %s\n", warning.c_str());
  }
}

}  // namespace inspect
