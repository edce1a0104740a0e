// The command line of convert_weights.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "convert.hpp"

namespace convert_weights {

constexpr const char* usage =
    R"(usage: convert_weights --to interleaved|half_split SOURCE TARGET [option...]

Reorders the rows of a model's q and k weights, biases and norms from the other order to the one
named, and copies the rest. SOURCE is a .safetensors file, or a folder with model.safetensors or
with shards and their model.safetensors.index.json. TARGET must not be there yet.

  --config FILE      the model's config.json, if it is not beside the weights
  --heads N          instead of what config.json says: heads of q,
  --kv-heads N         heads of k,
  --head-dim N         features in a head,
  --rotary-dim N       how many of them are rotated,
  --first-dim N        and which is the first (0)
  --q PATTERN        names of tensors of q, where * is any text; instead of the usual names
  --k PATTERN        the same for k
  --skip PATTERN     names of tensors that are copied whatever they look like
                     (--q, --k and --skip may be repeated)
)";

/// A command line that says nothing sensible.
class UsageError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace command_line_detail {

inline std::int64_t number(const std::string& option, std::string_view text, std::int64_t least) {
  constexpr std::int64_t most = 1'000'000;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    throw UsageError(option + " needs a whole number from " + std::to_string(least) + " to " +
                     std::to_string(most) + ", got \"" + std::string(text) + "\"");
  }
  return value;
}

/// Replaces the usual names when the first is given.
inline void add_pattern(std::vector<std::string>& patterns, bool& replaced,
                        const std::string& pattern) {
  if (!replaced) {
    patterns.clear();
    replaced = true;
  }
  patterns.push_back(pattern);
}

inline rope::Pairing pairing(const std::string& text) {
  if (text == "interleaved") return rope::Pairing::interleaved;
  if (text == "half_split") return rope::Pairing::half_split;
  throw UsageError("--to is interleaved or half_split, got \"" + text + "\"");
}

}  // namespace command_line_detail

inline Request parse(const std::vector<std::string>& arguments) {
  namespace detail = command_line_detail;
  Request request;
  std::optional<rope::Pairing> to;
  std::vector<std::string> files;
  bool own_q = false;
  bool own_k = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& option = arguments[i];
    if (option.empty()) {
      throw UsageError("an argument is empty");
    }
    if (!option.starts_with('-')) {
      files.push_back(option);
      continue;
    }
    if (i + 1 == arguments.size()) {
      throw UsageError(option + " is unknown or needs a value");
    }
    const std::string& value = arguments[++i];
    if (option == "--to") {
      to = detail::pairing(value);
    } else if (option == "--config") {
      request.config = value;
    } else if (option == "--heads") {
      request.model.heads = detail::number(option, value, 1);
    } else if (option == "--kv-heads") {
      request.model.kv_heads = detail::number(option, value, 1);
    } else if (option == "--head-dim") {
      request.model.head_dim = detail::number(option, value, 1);
    } else if (option == "--rotary-dim") {
      request.model.rotary_dim = detail::number(option, value, 2);
    } else if (option == "--first-dim") {
      request.model.first_dim = detail::number(option, value, 0);
    } else if (option == "--q") {
      detail::add_pattern(request.patterns.q, own_q, value);
    } else if (option == "--k") {
      detail::add_pattern(request.patterns.k, own_k, value);
    } else if (option == "--skip") {
      request.patterns.skip.push_back(value);
    } else {
      throw UsageError("unknown option " + option);
    }
  }
  if (!to) {
    throw UsageError("--to has no default");
  }
  if (files.size() != 2) {
    throw UsageError("needs SOURCE and TARGET, got " + std::to_string(files.size()) +
                     (files.size() == 1 ? " file" : " files"));
  }
  request.to = *to;
  request.source = files[0];
  request.target = files[1];
  // "folder/" has an empty last part; a folder's temporary neighbour must not lie inside of it.
  for (auto* const path : {&request.source, &request.target}) {
    if (!path->has_filename() && path->has_parent_path()) {
      *path = path->parent_path();
    }
  }
  return request;
}

}  // namespace convert_weights
