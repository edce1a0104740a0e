#include "../../examples/tinystories/tokenizer.hpp"

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tinystories/reference.hpp"
#include "tinystories/small_model.hpp"

using rope_test::reference_tokens;
using rope_test::small_tokenizer;
using rope_test::workspace;

namespace {

tinystories::Tokenizer loaded(const rope_test::SmallTokenizer& small) {
  return {workspace().write("tokenizer.bin", small.bytes()),
          static_cast<std::int64_t>(small.tokens.size())};
}

std::vector<std::string> spellings(const std::string& text) {
  const auto small = small_tokenizer();
  std::vector<std::string> result;
  for (const tinystories::Token token : loaded(small).encode(text)) {
    result.push_back(small.tokens[static_cast<std::size_t>(token)].first);
  }
  return result;
}

}  // namespace

TEST_CASE("texts are encoded by the best merge first") {
  using Spellings = std::vector<std::string>;
  const std::string bos = "\n<s>\n";
  // No space before nothing.
  CHECK(spellings("") == Spellings{bos});
  CHECK(spellings("b") == Spellings{bos, " ", "b"});
  // " t", then "he", then the two.
  CHECK(spellings("the") == Spellings{bos, " the"});
  CHECK(spellings("th") == Spellings{bos, " t", "h"});
  // "he", then "the" takes the "t" from "at".
  CHECK(spellings("athe") == Spellings{bos, " ", "a", "the"});
  // "aa", "ab" and "ba" score the same: the leftmost merges first.
  CHECK(spellings("cabab") == Spellings{bos, " ", "c", "ab", "ab"});
  CHECK(spellings("aaab") == Spellings{bos, " ", "aa", "ab"});
}

TEST_CASE("characters that are no token are encoded as their bytes") {
  const auto tokenizer = loaded(small_tokenizer());
  using Tokens = std::vector<tinystories::Token>;
  constexpr int space = 259;
  CHECK(tokenizer.encode("\xC3\xA9") == Tokens{1, space, 266});
  CHECK(tokenizer.encode("\xC3\xA8") == Tokens{1, space, 3 + 0xC3, 3 + 0xA8});
  CHECK(tokenizer.encode("\xF0\x9F\x99\x82") ==
        Tokens{1, space, 3 + 0xF0, 3 + 0x9F, 3 + 0x99, 3 + 0x82});
  // Bytes that are no valid UTF-8. Continuation bytes belong to what stands before them, but not to
  // the space that is put there.
  CHECK(tokenizer.encode("b\xFF") == Tokens{1, space, 261, 3 + 0xFF});
  CHECK(tokenizer.encode("b\xA9") == Tokens{1, space, 3 + 'b', 3 + 0xA9});
  CHECK(tokenizer.encode("\xA9") == Tokens{1, space, 3 + 0xA9});
  CHECK(tokenizer.encode("\xA9\xA9\xA9\xA9\xA9") ==
        Tokens{1, space, 3 + 0xA9, 3 + 0xA9, 3 + 0xA9, 3 + 0xA9, 3 + 0xA9});
  CHECK(tokenizer.encode("b\xC3") == Tokens{1, space, 261, 3 + 0xC3});
}

TEST_CASE("any text is encoded as by the definition, and decoded to itself") {
  const auto small = small_tokenizer();
  const auto tokenizer = loaded(small);
  const std::vector<std::string> parts = {
      "a", "b", "c", "e", "h", "t", " ", "\xC3", "\xC3\xA9", "\xA9", "\xE2\x82\xAC", "z", "\xFF"};
  std::mt19937 random(7);
  for (int repeat = 0; repeat < 2000; ++repeat) {
    std::string text;
    const std::size_t alphabet = repeat % 2 == 0 ? 3 : parts.size();  // many ties, or many kinds
    for (std::size_t length = random() % 24; length > 0; --length) {
      text += parts[random() % alphabet];
    }
    CAPTURE(text);
    const std::vector<tinystories::Token> tokens = tokenizer.encode(text);
    const std::vector<std::size_t> expected = reference_tokens(small, text);
    REQUIRE(std::vector<std::size_t>(tokens.begin(), tokens.end()) == expected);
    std::string decoded;
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      decoded += tokenizer.decode(tokens[i - 1], tokens[i]);
    }
    REQUIRE(decoded == text);
  }
}

TEST_CASE("a token of the form of a byte is decoded as the byte, a similar one is not") {
  auto small = small_tokenizer();
  for (const char* spelling : {"<0x0G>", "<0x0A ", "<0xaf>"}) {
    small.tokens.emplace_back(spelling, -50.0F);
  }
  const auto tokenizer = loaded(small);
  const auto last = static_cast<tinystories::Token>(small.tokens.size()) - 1;
  CHECK(tokenizer.decode(5, 3) == std::string(1, '\0'));
  CHECK(tokenizer.decode(5, 3 + 0xAF) == "\xAF");
  CHECK(tokenizer.decode(5, last - 2) == "<0x0G>");
  CHECK(tokenizer.decode(5, last - 1) == "<0x0A ");
  CHECK(tokenizer.decode(5, last) == "\xAF");
  // Only right after the start.
  CHECK(tokenizer.decode(1, 272) == "t");
  CHECK(tokenizer.decode(5, 272) == " t");
}

TEST_CASE("a long text is encoded in a moment") {
  // Quadratic work would take minutes here and run into the test's time limit.
  std::string text;
  std::mt19937 random(8);
  while (text.size() < 300000) {
    text += "abc the"[random() % 7];
  }
  const auto tokenizer = loaded(small_tokenizer());
  const std::vector<tinystories::Token> tokens = tokenizer.encode(text);
  CHECK(tokens.size() > 50000);
  CHECK(tokens.size() < 250000);
}
