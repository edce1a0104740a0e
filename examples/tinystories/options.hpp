// The command line.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <rope/core.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "binary_file.hpp"

namespace tinystories {

constexpr std::string_view usage =
    "usage: tinystories MODEL TOKENIZER [--prompt TEXT | --prompts FILE] [--steps N]\n"
    "                   [--pairing interleaved|half_split] [--keys float|bf16]\n"
    "                   [--window N | --context-shift KEPT]\n"
    "  --prompts FILE        a story for each line, all of them read as one batch\n"
    "  --steps N             positions of a story; 256, or as many as the model has\n"
    "  --keys TYPE           how the keys are stored\n"
    "  --window N            each token sees the last N positions\n"
    "  --context-shift KEPT  goes on when the model's positions are used up: keeps the first KEPT\n"
    "                        tokens, and drops the older half of the others\n";

enum class KeyType { float32, bf16 };

struct Options {
  std::string model;
  std::string tokenizer;
  std::optional<std::string> prompt;
  std::optional<std::string> prompts;
  std::optional<std::int64_t> steps;
  rope::Pairing pairing = rope::Pairing::interleaved;
  KeyType keys = KeyType::float32;
  std::optional<std::int64_t> window;
  std::optional<std::int64_t> context_shift;
};

/// A command line that says nothing sensible.
class UsageError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace detail {

inline std::int64_t parse_number(std::string_view option, std::string_view text,
                                 std::int64_t least) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least) {
    throw UsageError(text_of(option, " needs a whole number of at least ", least, ", got ", text));
  }
  return number;
}

inline rope::Pairing parse_pairing(std::string_view text) {
  if (text == "interleaved") return rope::Pairing::interleaved;
  if (text == "half_split") return rope::Pairing::half_split;
  throw UsageError(text_of("--pairing is interleaved or half_split, got ", text));
}

inline KeyType parse_keys(std::string_view text) {
  if (text == "float") return KeyType::float32;
  if (text == "bf16") return KeyType::bf16;
  throw UsageError(text_of("--keys is float or bf16, got ", text));
}

inline bool set_option(Options& options, const std::string& name, const std::string& value) {
  if (name == "--prompt") {
    options.prompt = value;
  } else if (name == "--prompts") {
    options.prompts = value;
  } else if (name == "--steps") {
    options.steps = parse_number(name, value, 1);
  } else if (name == "--pairing") {
    options.pairing = parse_pairing(value);
  } else if (name == "--keys") {
    options.keys = parse_keys(value);
  } else if (name == "--window") {
    options.window = parse_number(name, value, 1);
  } else if (name == "--context-shift") {
    options.context_shift = parse_number(name, value, 0);
  } else {
    return false;
  }
  return true;
}

}  // namespace detail

/// Throws UsageError.
inline Options parse(const std::vector<std::string>& arguments) {
  Options options;
  std::vector<std::string> files;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!argument.starts_with('-')) {
      files.push_back(argument);
      continue;
    }
    const bool has_value = i + 1 < arguments.size();
    // Without a value, one that every option takes: whether there is the option is said first.
    Options scratch;
    if (!has_value && (argument == "--pairing" || argument == "--keys" ||
                       detail::set_option(scratch, argument, "1"))) {
      throw UsageError(argument + " needs a value");
    }
    if (!has_value || !detail::set_option(options, argument, arguments[i + 1])) {
      throw UsageError("unknown option " + argument);
    }
    ++i;
  }
  if (files.size() != 2) {
    throw UsageError(text_of("needs MODEL and TOKENIZER, got ", files.size(),
                             files.size() == 1 ? " file" : " files"));
  }
  if (options.prompt && options.prompts) {
    throw UsageError("--prompt and --prompts exclude each other");
  }
  if (options.window && options.context_shift) {
    throw UsageError("--window and --context-shift exclude each other");
  }
  options.model = files[0];
  options.tokenizer = files[1];
  return options;
}

}  // namespace tinystories
