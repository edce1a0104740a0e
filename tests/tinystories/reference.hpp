// What the tinystories example must compute, in plain loops and in double. Shares no code with the
// library or the example.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tinystories/small_model.hpp"

namespace rope_test {

/// Byte-pair encoding as its definition says: look at all neighbours, merge the best, start again.
inline std::vector<std::size_t> reference_tokens(const SmallTokenizer& tokenizer,
                                                 const std::string& text) {
  const auto& known = tokenizer.tokens;
  const auto find = [&](const std::string& spelling) {
    std::size_t i = 0;
    while (i < known.size() && known[i].first != spelling) ++i;
    return i;
  };
  std::vector<std::size_t> tokens{1};
  if (text.empty()) return tokens;
  tokens.push_back(find(" "));
  for (std::size_t i = 0; i < text.size();) {
    std::string character(1, text[i++]);
    while (i < text.size() && character.size() < 4 &&
           static_cast<unsigned char>(text[i]) / 64 == 2) {
      character += text[i++];
    }
    if (find(character) < known.size()) {
      tokens.push_back(find(character));
    } else {
      for (const char byte : character) tokens.push_back(3U + static_cast<unsigned char>(byte));
    }
  }
  for (;;) {
    float best_score = -std::numeric_limits<float>::infinity();
    std::size_t best = 0;
    std::size_t merged = 0;
    for (std::size_t i = 1; i + 1 < tokens.size(); ++i) {
      const std::size_t joint = find(known[tokens[i]].first + known[tokens[i + 1]].first);
      if (joint < known.size() && known[joint].second > best_score) {
        best_score = known[joint].second;
        best = i;
        merged = joint;
      }
    }
    if (best == 0) return tokens;
    tokens[best] = merged;
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

inline std::string reference_piece(const SmallTokenizer& tokenizer, std::size_t previous,
                                   std::size_t token) {
  if (token >= 3 && token < 259) return std::string(1, static_cast<char>(token - 3));
  const std::string& spelling = tokenizer.tokens[token].first;
  return previous == 1 && spelling[0] == ' ' ? spelling.substr(1) : spelling;
}

struct ReferenceStory {
  std::string text;
  /// The least distance between the largest logit and the next, of all tokens that were chosen.
  double margin = std::numeric_limits<double>::infinity();
};

struct ReferenceOptions {
  bool rotated = true;  ///< without, to see that a test would notice
  int window = 0;       ///< how many positions a token sees; 0 for all
  /// Tokens kept in front when the model's positions are used up; -1: there are enough.
  int context_shift = -1;
};

/// The text of `steps` tokens at temperature 0. Keys are kept as they come, and rotated anew for
/// each token, for the positions that their tokens have then.
inline ReferenceStory reference_story(const SmallModel& model, const SmallTokenizer& tokenizer,
                                      const std::string& prompt, int steps,
                                      const ReferenceOptions& options = {}) {
  using Numbers = std::vector<double>;
  const auto size = [](std::int32_t n) { return static_cast<std::size_t>(n); };
  const std::size_t dim = size(model.dim);
  const std::size_t hidden_dim = size(model.hidden_dim);
  const std::size_t heads = size(model.heads);
  const std::size_t head_dim = dim / heads;
  const std::size_t kv_dim = size(model.kv_heads) * head_dim;

  std::vector<const float*> weights;
  const float* next = model.weights.data();
  for (const std::int32_t count : model.counts()) {
    weights.push_back(next);
    next += count;
  }
  const float* classifier = model.shared_classifier ? weights[0] : weights[12];

  const auto times = [](const float* matrix, std::size_t rows, const Numbers& x) {
    Numbers y(rows, 0.0);
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        y[row] += static_cast<double>(matrix[row * x.size() + i]) * x[i];
      }
    }
    return y;
  };
  const auto normalized = [](const Numbers& x, const float* weight) {
    double squares = 0;
    for (const double value : x) squares += value * value;
    Numbers y;
    for (std::size_t i = 0; i < x.size(); ++i) {
      y.push_back(x[i] * static_cast<double>(weight[i]) /
                  std::sqrt(squares / static_cast<double>(x.size()) + 1e-5));
    }
    return y;
  };
  const auto rotate = [&](Numbers& x, std::size_t position) {
    for (std::size_t i = 0; options.rotated && i < x.size(); i += 2) {
      const double exponent = static_cast<double>(i % head_dim) / static_cast<double>(head_dim);
      const double angle = static_cast<double>(position) * std::pow(10000.0, -exponent);
      const double first = x[i];
      const double second = x[i + 1];
      x[i] = first * std::cos(angle) - second * std::sin(angle);
      x[i + 1] = first * std::sin(angle) + second * std::cos(angle);
    }
  };

  ReferenceStory story;
  const std::vector<std::size_t> given = reference_tokens(tokenizer, prompt);
  std::vector<std::vector<Numbers>> keys(size(model.layers));
  std::vector<std::vector<Numbers>> values(size(model.layers));
  std::size_t token = given[0];
  for (std::size_t read = 0; read < size(steps); ++read) {
    // Tokens that are left stand at the positions 0, 1, 2 and so on: none is ever left out.
    if (options.context_shift >= 0 && keys[0].size() == size(model.positions)) {
      const std::size_t kept = size(options.context_shift);
      const std::size_t dropped = size(model.positions) - kept - (size(model.positions) - kept) / 2;
      for (std::size_t layer = 0; layer < size(model.layers); ++layer) {
        for (auto* const list : {&keys[layer], &values[layer]}) {
          const auto first = list->begin() + static_cast<std::ptrdiff_t>(kept);
          list->erase(first, first + static_cast<std::ptrdiff_t>(dropped));
        }
      }
    }
    const std::size_t position = keys[0].size();
    const std::size_t window = options.window == 0 ? position + 1 : size(options.window);
    const std::size_t first_seen = position + 1 > window ? position + 1 - window : 0;
    Numbers x(weights[0] + token * dim, weights[0] + (token + 1) * dim);
    for (std::size_t layer = 0; layer < size(model.layers); ++layer) {
      const Numbers h = normalized(x, weights[1] + layer * dim);
      Numbers q = times(weights[2] + layer * dim * dim, dim, h);
      Numbers k = times(weights[3] + layer * kv_dim * dim, kv_dim, h);
      rotate(q, position);
      keys[layer].push_back(k);
      std::vector<Numbers> rotated = keys[layer];
      for (std::size_t t = 0; t <= position; ++t) rotate(rotated[t], t);
      values[layer].push_back(times(weights[4] + layer * kv_dim * dim, kv_dim, h));
      Numbers mixed(dim, 0.0);
      for (std::size_t i = 0; i < dim; i += head_dim) {
        const std::size_t kv = i / head_dim / (heads / size(model.kv_heads)) * head_dim;
        double total = 0;
        Numbers sum(head_dim, 0.0);
        for (std::size_t t = first_seen; t <= position; ++t) {
          double score = 0;
          for (std::size_t j = 0; j < head_dim; ++j) score += q[i + j] * rotated[t][kv + j];
          const double share = std::exp(score / std::sqrt(static_cast<double>(head_dim)));
          total += share;
          for (std::size_t j = 0; j < head_dim; ++j) sum[j] += share * values[layer][t][kv + j];
        }
        for (std::size_t j = 0; j < head_dim; ++j) mixed[i + j] = sum[j] / total;
      }
      const Numbers attended = times(weights[5] + layer * dim * dim, dim, mixed);
      for (std::size_t i = 0; i < dim; ++i) x[i] += attended[i];

      const Numbers g = normalized(x, weights[6] + layer * dim);
      Numbers gate = times(weights[7] + layer * hidden_dim * dim, hidden_dim, g);
      const Numbers up = times(weights[9] + layer * hidden_dim * dim, hidden_dim, g);
      for (std::size_t i = 0; i < hidden_dim; ++i) gate[i] *= up[i] / (1 + std::exp(-gate[i]));
      const Numbers fed = times(weights[8] + layer * dim * hidden_dim, dim, gate);
      for (std::size_t i = 0; i < dim; ++i) x[i] += fed[i];
    }
    std::size_t following = 0;
    if (read + 1 < given.size()) {
      following = given[read + 1];
    } else {
      const Numbers logits = times(classifier, size(model.vocabulary), normalized(x, weights[10]));
      for (std::size_t i = 1; i < logits.size(); ++i) {
        if (logits[i] > logits[following]) following = i;
      }
      for (std::size_t i = 0; i < logits.size(); ++i) {
        const double distance = logits[following] - logits[i];
        if (i != following && distance < story.margin) story.margin = distance;
      }
    }
    if (following == 1) break;
    story.text += reference_piece(tokenizer, token, following);
    token = following;
  }
  story.text += '\n';
  return story;
}

}  // namespace rope_test
