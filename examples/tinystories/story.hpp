// Texts that a model continues, several at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <rope/key_cache.hpp>
#include <string>
#include <utility>
#include <vector>

#include "model.hpp"
#include "progress.hpp"
#include "tokenizer.hpp"

namespace tinystories {

/// A text as it grows, token by token.
class Story {
 public:
  Story(const Tokenizer& tokenizer, const std::string& prompt, std::int64_t steps)
      : tokenizer_(&tokenizer), tokens_(tokenizer.encode(prompt)), steps_(steps) {
    const auto second_begin = std::find(tokens_.begin() + 1, tokens_.end(), begin_token);
    is_ended_ = second_begin != tokens_.end();
    tokens_.erase(second_begin, tokens_.end());
  }

  /// How many tokens of the prompt the model reads.
  std::int64_t prompt_tokens() const {
    return std::min(steps_, static_cast<std::int64_t>(tokens_.size()));
  }
  std::int64_t tokens_read() const { return read_; }
  Token token(std::int64_t i) const { return tokens_[static_cast<std::size_t>(i)]; }

  bool is_finished() const { return is_ended_ || read_ == steps_; }

  /// Notes that the model has read `count` more tokens. Returns the text that follows from it: of
  /// the prompt's tokens up to the next one to read.
  std::string note_read(std::int64_t count) {
    std::string text;
    for (; count > 0; --count) {
      ++read_;
      if (read_ < static_cast<std::int64_t>(tokens_.size())) {
        text += tokenizer_->decode(token(read_ - 1), token(read_));
      }
    }
    return text;
  }

  /// Whether the model must say what comes next.
  bool needs_token() const {
    return !is_ended_ && read_ == static_cast<std::int64_t>(tokens_.size());
  }

  /// Appends the model's next token, or ends the text with it. Returns its text.
  std::string append(Token next) {
    if (next == begin_token) {
      is_ended_ = true;
      return {};
    }
    tokens_.push_back(next);
    return tokenizer_->decode(token(read_ - 1), next);
  }

 private:
  const Tokenizer* tokenizer_;
  std::vector<Token> tokens_;
  std::int64_t steps_;
  std::int64_t read_ = 0;
  bool is_ended_ = false;
};

/// Continues all stories with one model: first the prompts as one batch, padded on the left, then
/// a token of each at a time. Gives print(story, text) every piece of text as it comes.
template <class Key>
void tell(Model<Key>& model, std::vector<Story>& stories, Progress& progress,
          const std::function<void(std::size_t, const std::string&)>& print) {
  std::vector<std::size_t> rows(stories.size());
  std::vector<rope::SequenceId> texts(stories.size());
  std::int64_t columns = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    rows[row] = row;
    texts[row] = model.begin();
    columns = std::max(columns, stories[row].prompt_tokens());
  }
  std::vector<std::int64_t> counts;  // of the tokens of each row in the next batch
  for (const Story& story : stories) counts.push_back(story.prompt_tokens());

  while (!rows.empty()) {
    Batch batch{texts, columns, {}, {}};
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const Story& story = stories[rows[row]];
      const std::int64_t padding = columns - counts[row];
      batch.tokens.insert(batch.tokens.end(), static_cast<std::size_t>(padding), begin_token);
      batch.mask.insert(batch.mask.end(), static_cast<std::size_t>(padding), 0);
      batch.mask.insert(batch.mask.end(), static_cast<std::size_t>(counts[row]), 1);
      for (std::int64_t i = 0; i < counts[row]; ++i) {
        batch.tokens.push_back(story.token(story.tokens_read() + i));
      }
    }
    model.read(batch);

    std::vector<std::size_t> rows_left;
    std::vector<rope::SequenceId> texts_left;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      Story& story = stories[rows[row]];
      std::string text = story.note_read(counts[row]);
      if (story.needs_token()) {
        text += story.append(model.next_token(static_cast<std::int64_t>(row)));
      }
      print(rows[row], text);
      progress.add(counts[row]);
      if (story.is_finished()) {
        model.end(texts[row]);
      } else {
        rows_left.push_back(rows[row]);
        texts_left.push_back(texts[row]);
      }
    }
    rows = std::move(rows_left);
    texts = std::move(texts_left);
    columns = 1;
    counts.assign(rows.size(), 1);
  }
}

}  // namespace tinystories
