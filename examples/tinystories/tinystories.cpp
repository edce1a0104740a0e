// Tells a story: a small Llama 2 model, at temperature 0, from a llama2.c checkpoint.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <rope/core.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "checkpoint.hpp"
#include "model.hpp"
#include "tokenizer.hpp"

namespace {

using tinystories::Token;

constexpr std::string_view usage =
    "usage: tinystories MODEL TOKENIZER [--prompt TEXT] [--steps N] "
    "[--pairing interleaved|half_split]\n";

struct Options {
  std::string model;
  std::string tokenizer;
  std::string prompt;
  std::optional<std::int64_t> steps;
  rope::Pairing pairing = rope::Pairing::interleaved;
};

/// A command line that says nothing sensible.
class UsageError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::int64_t parse_steps(std::string_view text) {
  std::int64_t steps = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), steps);
  if (error != std::errc() || end != text.data() + text.size() || steps < 1) {
    throw UsageError(tinystories::text_of("--steps needs a whole number above 0, got ", text));
  }
  return steps;
}

rope::Pairing parse_pairing(std::string_view text) {
  if (text == "interleaved") return rope::Pairing::interleaved;
  if (text == "half_split") return rope::Pairing::half_split;
  throw UsageError(tinystories::text_of("--pairing is interleaved or half_split, got ", text));
}

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  std::vector<std::string> files;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!argument.starts_with('-')) {
      files.push_back(argument);
      continue;
    }
    if (argument != "--prompt" && argument != "--steps" && argument != "--pairing") {
      throw UsageError("unknown option " + argument);
    }
    if (++i == arguments.size()) {
      throw UsageError(argument + " needs a value");
    }
    if (argument == "--prompt") {
      options.prompt = arguments[i];
    } else if (argument == "--steps") {
      options.steps = parse_steps(arguments[i]);
    } else {
      options.pairing = parse_pairing(arguments[i]);
    }
  }
  if (files.size() != 2) {
    throw UsageError(tinystories::text_of("needs MODEL and TOKENIZER, got ", files.size(),
                                          files.size() == 1 ? " file" : " files"));
  }
  options.model = files[0];
  options.tokenizer = files[1];
  return options;
}

/// Flushes, so that the story appears as it is told.
void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw std::runtime_error("cannot write to the standard output");
  }
}

void tell(const Options& options) {
  tinystories::Checkpoint checkpoint(options.model);
  const tinystories::Tokenizer tokenizer(options.tokenizer, checkpoint.sizes().vocabulary);
  const std::int64_t limit = checkpoint.sizes().positions;
  const std::int64_t steps = options.steps.value_or(std::min(limit, std::int64_t{256}));
  if (steps > limit) {
    throw std::runtime_error(tinystories::text_of(options.model, ": --steps ", steps,
                                                  " is more than the model's seq_len of ", limit));
  }
  tinystories::Model model(std::move(checkpoint), options.pairing, steps);
  const std::vector<Token> prompt = tokenizer.encode(options.prompt);

  const auto start = std::chrono::steady_clock::now();
  Token token = prompt[0];
  while (model.position() < steps) {
    model.read(token);
    const auto read = static_cast<std::size_t>(model.position());
    const Token next = read < prompt.size() ? prompt[read] : model.next_token();
    if (next == tinystories::begin_token) {
      break;
    }
    print(tokenizer.decode(token, next));
    token = next;
  }
  print("\n");
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::fprintf(stderr, "%lld tokens, %.0f tokens per second\n",
               static_cast<long long>(model.position()),
               static_cast<double>(model.position()) / elapsed.count());
}

}  // namespace

int main(int argument_count, char* arguments[]) {
  try {
    tell(parse({arguments + std::min(argument_count, 1), arguments + argument_count}));
    return 0;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "tinystories: %s\n%s", error.what(), usage.data());
    return 2;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "tinystories: not enough memory\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tinystories: %s\n", error.what());
  }
  return 1;
}
