// Checkpoints and tokenizers made from scratch, so that tests need no file from outside.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/temporary_folder.hpp"

namespace rope_test {

/// A folder for one test program's files.
inline const TemporaryFolder& workspace() {
  static const TemporaryFolder one;
  return one;
}

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// A tokenizer file's content: spellings and scores, in the order of the tokens.
struct SmallTokenizer {
  std::vector<std::pair<std::string, float>> tokens;

  std::string bytes() const {
    std::int32_t longest = 1;
    for (const auto& [spelling, score] : tokens) {
      longest = (std::max)(longest, static_cast<std::int32_t>(spelling.size()));
    }
    std::string result;
    append(result, longest);
    for (const auto& [spelling, score] : tokens) {
      append(result, score);
      append(result, static_cast<std::int32_t>(spelling.size()));
      result += spelling;
    }
    return result;
  }
};

/// The 259 tokens that every tokenizer has, then letters, two characters of several bytes, and
/// merges, some of them with equal scores.
inline SmallTokenizer small_tokenizer() {
  SmallTokenizer made;
  for (const char* special : {"<unk>", "\n<s>\n", "\n</s>\n"}) {
    made.tokens.emplace_back(special, 0.0F);
  }
  constexpr char digits[] = "0123456789ABCDEF";
  for (std::size_t byte = 0; byte < 256; ++byte) {
    made.tokens.emplace_back(std::string("<0x") + digits[byte / 16] + digits[byte % 16] + '>',
                             0.0F);
  }
  const std::pair<const char*, float> others[] = {
      {" ", -40.0F},         {"a", -41.0F},         {"b", -42.0F},  {"c", -43.0F},
      {"e", -44.0F},         {"h", -45.0F},         {"t", -46.0F},  {"\xC3\xA9", -47.0F},
      {"\xE2\x82\xAC", -48}, {"he", -2.0F},         {"th", -3.0F},  {"the", -4.0F},
      {" the", -5.0F},       {" t", -1.0F},         {"ab", -6.0F},  {"ba", -6.0F},
      {"aa", -6.0F},         {"bb", -7.0F},         {"aab", -8.0F}, {"aba", -8.0F},
      {"cat", -9.0F},        {"at", -10.0F},        {"ca", -9.5F},  {" cat", -3.5F},
      {"  ", -11.0F},        {"c\xC3\xA9", -12.0F},
  };
  for (const auto& [spelling, score] : others) {
    made.tokens.emplace_back(spelling, score);
  }
  return made;
}

/// A checkpoint's content. The weights are in the order of the file.
struct SmallModel {
  std::int32_t dim = 16;
  std::int32_t hidden_dim = 20;
  std::int32_t layers = 2;
  std::int32_t heads = 4;
  std::int32_t kv_heads = 2;
  std::int32_t vocabulary = static_cast<std::int32_t>(small_tokenizer().tokens.size());
  std::int32_t positions = 32;
  bool shared_classifier = true;
  std::vector<float> weights{};

  /// How many floats there are of each kind: embedding, attention norm, q, k, v, output,
  /// feed-forward norm, w1, w2, w3, final norm, obsolete tables, classifier.
  std::array<std::int32_t, 13> counts() const {
    const std::int32_t head_dim = dim / heads;
    const std::int32_t kv = kv_heads * head_dim;
    return {vocabulary * dim,
            layers * dim,
            layers * dim * dim,
            layers * kv * dim,
            layers * kv * dim,
            layers * dim * dim,
            layers * dim,
            layers * hidden_dim * dim,
            layers * dim * hidden_dim,
            layers * hidden_dim * dim,
            dim,
            positions * head_dim,
            shared_classifier ? 0 : vocabulary * dim};
  }

  std::array<std::int32_t, 7> header() const {
    return {dim,      hidden_dim, layers,
            heads,    kv_heads,   shared_classifier ? vocabulary : -vocabulary,
            positions};
  }

  std::string bytes() const {
    std::string result;
    append(result, header());
    result.append(reinterpret_cast<const char*>(weights.data()), weights.size() * sizeof(float));
    return result;
  }
};

/// Fills in random weights, large enough for attention to prefer some tokens clearly. The obsolete
/// tables are NaN: who uses them does not go unnoticed.
inline SmallModel with_random_weights(SmallModel model, unsigned seed) {
  std::mt19937 engine(seed);
  const auto random = [&] {
    return static_cast<float>(static_cast<double>(engine()) / 2147483648.0 - 1.0);
  };
  const auto counts = model.counts();
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    const bool is_norm = kind == 1 || kind == 6 || kind == 10;
    for (std::int32_t i = 0; i < counts[kind]; ++i) {
      model.weights.push_back(kind == 11 ? std::numeric_limits<float>::quiet_NaN()
                              : is_norm  ? 1.0F + 0.3F * random()
                                         : 0.8F * random());
    }
  }
  return model;
}

}  // namespace rope_test
