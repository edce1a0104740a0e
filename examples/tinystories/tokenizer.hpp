// Byte-pair encoding with the tokenizer files of llama2.c.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "binary_file.hpp"

namespace tinystories {

using Token = std::int32_t;

/// Starts every text; as a next token, ends it.
constexpr Token begin_token = 1;
/// The tokens of the bytes 0 to 255 follow from here on.
constexpr Token first_byte_token = 3;

/// Text to tokens and back.
class Tokenizer {
 public:
  /// Reads the file at `path`, which must hold exactly `size` tokens. Throws std::runtime_error if
  /// it does not.
  Tokenizer(const std::string& path, std::int64_t size) {
    BinaryFile file(path);
    if (size < first_byte_token + 256) {
      file.fail("the model's vocabulary of ", size, " has no room for the 256 byte tokens from ",
                first_byte_token, " on");
    }
    std::int32_t longest = 0;
    file.read(&longest, 1, "the header");
    if (longest <= 0) {
      file.fail("no tokenizer: max_token_length is ", longest);
    }
    longest_ = static_cast<std::size_t>(longest);
    // Grows with what is read, not to `size` at once: the file may be far shorter.
    while (file.remaining() > 0) {
      if (tokens() == size) {
        file.fail("too long: ", file.remaining(), " bytes follow the ", size,
                  " tokens of the model's vocabulary");
      }
      read_token(file);
    }
    if (tokens() != size) {
      file.fail("truncated or of another model: ", tokens(),
                " tokens, but the model's vocabulary has ", size);
    }
  }

  std::int64_t tokens() const { return static_cast<std::int64_t>(spellings_.size()); }

  /// The tokens of `text`, which may be any bytes: begin_token, then those of a space and the text
  /// unless the text is empty.
  ///
  /// Starts from one token for each UTF-8 character (its bytes' tokens where it has none), and
  /// merges the neighbours whose joint token scores best, the first of equals, until no two
  /// neighbours make a token. O(n log n) for n bytes.
  std::vector<Token> encode(std::string_view text) const {
    std::vector<Token> tokens{begin_token};
    if (!text.empty()) {
      append_characters(" ", tokens);
      append_characters(text, tokens);
      merge(tokens);
    }
    return tokens;
  }

  /// What `token` adds to the text after `previous`: the space that encode() put before the text is
  /// taken off again, and <0x0A> and its like are the byte.
  std::string decode(Token previous, Token token) const {
    const std::string& spelling = spellings_[index(token)];
    if (previous == begin_token && spelling.starts_with(' ')) {
      return spelling.substr(1);
    }
    if (spelling.size() == 6 && spelling.starts_with("<0x") && spelling[5] == '>') {
      const int high = hex_digit(spelling[3]);
      const int low = hex_digit(spelling[4]);
      if (high >= 0 && low >= 0) {
        return std::string(1, static_cast<char>(16 * high + low));
      }
    }
    return spelling;
  }

 private:
  static constexpr Token no_token = -1;

  static std::size_t index(Token token) { return static_cast<std::size_t>(token); }

  static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  }

  void read_token(BinaryFile& file) {
    const std::string name = text_of("token ", tokens());
    float score = 0;
    std::int32_t length = 0;
    file.read(&score, 1, name);
    file.read(&length, 1, name);
    if (length < 0 || index(length) > longest_) {
      file.fail(name, " has a length of ", length, ", but max_token_length is ", longest_);
    }
    if (length > file.remaining()) {  // before the memory is taken
      file.fail("truncated: ", name, " has a length of ", length, ", but only ", file.remaining(),
                " bytes are left");
    }
    if (!std::isfinite(score)) {  // would make "best" meaningless
      file.fail(name, " has a score of ", score);
    }
    std::string spelling(index(length), '\0');
    file.read(spelling.data(), length, name);
    by_spelling_.try_emplace(spelling, static_cast<Token>(tokens()));
    spellings_.push_back(spelling);
    scores_.push_back(score);
  }

  Token find(const std::string& spelling) const {
    const auto found = by_spelling_.find(spelling);
    return found == by_spelling_.end() ? no_token : found->second;
  }

  /// The token that `left` and `right` make together.
  Token joint(Token left, Token right) const {
    const std::string& start = spellings_[index(left)];
    const std::string& end = spellings_[index(right)];
    return start.size() + end.size() > longest_ ? no_token : find(start + end);
  }

  /// A character is a byte with the continuation bytes (10xxxxxx) after it, at most four in all,
  /// so that text that is no valid UTF-8 has characters as well.
  void append_characters(std::string_view text, std::vector<Token>& tokens) const {
    for (std::size_t first = 0; first < text.size();) {
      std::size_t end = first + 1;
      while (end < text.size() && end < first + 4 && (text[end] & 0xC0) == 0x80) {
        ++end;
      }
      const std::string_view character = text.substr(first, end - first);
      first = end;
      if (const Token token = find(std::string(character)); token != no_token) {
        tokens.push_back(token);
        continue;
      }
      for (const char byte : character) {
        tokens.push_back(first_byte_token + static_cast<unsigned char>(byte));
      }
    }
  }

  /// Two neighbours that could merge, by where the left one starts.
  struct Candidate {
    float score;
    std::size_t left;
    std::size_t right;
    Token left_token;
    Token right_token;
    Token merged;

    /// The queue's top is the greatest: the best score, then the leftmost.
    bool operator<(const Candidate& other) const {
      return score != other.score ? score < other.score : left > other.left;
    }
  };

  /// Merges in place. A merged pair stays where its left token was and leaves no_token on the
  /// right; candidates that a merge made invalid are recognised when they come up.
  void merge(std::vector<Token>& tokens) const {
    const std::size_t size = tokens.size();
    std::vector<std::size_t> previous(size);
    std::vector<std::size_t> next(size);
    std::priority_queue<Candidate> candidates;
    const auto consider = [&](std::size_t left, std::size_t right) {
      const Token merged = joint(tokens[left], tokens[right]);
      if (merged != no_token) {
        candidates.push({scores_[index(merged)], left, right, tokens[left], tokens[right], merged});
      }
    };
    for (std::size_t i = 0; i < size; ++i) {
      previous[i] = i - 1;  // not used for 0, which is begin_token
      next[i] = i + 1;
      if (i >= 2) {
        consider(i - 1, i);
      }
    }
    while (!candidates.empty()) {
      const Candidate best = candidates.top();
      candidates.pop();
      if (tokens[best.left] != best.left_token || next[best.left] != best.right ||
          tokens[best.right] != best.right_token) {
        continue;
      }
      tokens[best.left] = best.merged;
      tokens[best.right] = no_token;
      next[best.left] = next[best.right];
      if (next[best.left] < size) {
        previous[next[best.left]] = best.left;
        consider(best.left, next[best.left]);
      }
      if (previous[best.left] > 0) {
        consider(previous[best.left], best.left);
      }
    }
    std::erase(tokens, no_token);
  }

  std::size_t longest_ = 0;
  std::vector<std::string> spellings_;
  std::vector<float> scores_;
  std::unordered_map<std::string, Token> by_spelling_;
};

}  // namespace tinystories
