// Tells stories: a small Llama 2 model, at temperature 0, from a llama2.c checkpoint.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <rope/core.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "binary_file.hpp"
#include "checkpoint.hpp"
#include "model.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "story.hpp"
#include "tokenizer.hpp"

namespace {

using tinystories::Checkpoint;
using tinystories::KeyType;
using tinystories::Model;
using tinystories::Options;
using tinystories::Story;
using tinystories::text_of;

/// Flushes, so that the story appears as it is told.
void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw std::runtime_error("cannot write to the standard output");
  }
}

/// The prompts: one, or the lines of a file.
std::vector<std::string> read_prompts(const Options& options) {
  if (!options.prompts) {
    return {options.prompt.value_or("")};
  }
  tinystories::BinaryFile file(*options.prompts);
  std::string content(static_cast<std::size_t>(file.size()), '\0');
  file.read(content.data(), file.size(), "the prompts");
  std::vector<std::string> lines;
  for (std::size_t first = 0; first < content.size();) {
    const std::size_t end = std::min(content.find('\n', first), content.size());
    lines.push_back(content.substr(first, end - first));
    first = end + 1;
  }
  if (lines.empty()) {
    file.fail("has no lines, and so no prompts");
  }
  return lines;
}

/// Stories at a time: enough to show a batch, and memory stays bounded however long a file is.
constexpr std::size_t stories_at_a_time = 32;

template <class Key>
void tell(Checkpoint checkpoint, const Options& options, std::int64_t steps) {
  const tinystories::Tokenizer tokenizer(options.tokenizer, checkpoint.sizes().vocabulary);
  const std::vector<std::string> prompts = read_prompts(options);
  const auto rows = static_cast<std::int64_t>(std::min(prompts.size(), stories_at_a_time));
  const std::int64_t positions = std::min(steps, checkpoint.sizes().positions);
  Model<Key> model(std::move(checkpoint), {.pairing = options.pairing,
                                           .texts = rows,
                                           .positions = positions,
                                           .window = options.window,
                                           .context_shift = options.context_shift});

  const bool is_streamed = prompts.size() == 1;
  tinystories::Progress progress(steps * static_cast<std::int64_t>(prompts.size()),
                                 !(is_streamed && isatty(STDOUT_FILENO) != 0));
  for (std::size_t first = 0; first < prompts.size(); first += stories_at_a_time) {
    std::vector<Story> stories;
    for (std::size_t i = first; i < std::min(prompts.size(), first + stories_at_a_time); ++i) {
      stories.emplace_back(tokenizer, prompts[i], steps);
    }
    std::vector<std::string> texts(stories.size());
    tinystories::tell(model, stories, progress, [&](std::size_t story, const std::string& text) {
      if (is_streamed) {
        print(text);
      } else {
        texts[story] += text;
      }
    });
    for (const std::string& text : texts) {
      print(text + "\n");
    }
  }
  progress.finish();
}

void run(const Options& options) {
  Checkpoint checkpoint(options.model);
  const std::int64_t limit = checkpoint.sizes().positions;
  const std::int64_t steps = options.steps.value_or(std::min(limit, std::int64_t{256}));
  if (steps > limit && !options.context_shift) {
    throw std::runtime_error(text_of(options.model, ": --steps ", steps,
                                     " is more than the model's seq_len of ", limit));
  }
  if (options.context_shift && *options.context_shift >= limit) {
    throw std::runtime_error(text_of(options.model, ": --context-shift ", *options.context_shift,
                                     " leaves no room in the model's seq_len of ", limit));
  }
  switch (options.keys) {
    case KeyType::float32:
      return tell<float>(std::move(checkpoint), options, steps);
    case KeyType::bf16:
      return tell<rope::bf16>(std::move(checkpoint), options, steps);
  }
}

}  // namespace

int main(int argument_count, char* arguments[]) {
  try {
    run(tinystories::parse({arguments + std::min(argument_count, 1), arguments + argument_count}));
    return 0;
  } catch (const tinystories::UsageError& error) {
    std::fprintf(stderr, "tinystories: %s\n%s", error.what(), tinystories::usage.data());
    return 2;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "tinystories: not enough memory\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tinystories: %s\n", error.what());
  }
  return 1;
}
