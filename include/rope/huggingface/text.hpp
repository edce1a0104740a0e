#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "rope/detail/unit.hpp"
#include "rope/huggingface/config_keys.hpp"

// From text to JSON, with limits: a config is small and flat.

namespace rope::detail::huggingface::inline ROPE_DETAIL_UNIT {

inline constexpr std::size_t most_config_bytes = std::size_t{16} << 20;
inline constexpr std::size_t most_config_depth = 64;

/// Looks through a text without keeping it: is it JSON, not too deep, and no key twice?
class TextCheck : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override {
    last_key_ = name;
    if (keys_.back().insert(name).second) return true;
    return stop("the key \"" + printable(name) + "\" is there twice");
  }
  bool parse_error(std::size_t position, const std::string& last_token,
                   const Json::exception& error) override {
    // Its message has the text in it, of any length.
    const bool is_range = error.id == 406;
    return stop(std::string(is_range ? "a number beyond double precision" : "no JSON") +
                " at byte " + std::to_string(position) + ", \"" + printable(last_token) + "\"" +
                (last_key_.empty() ? "" : ", after the key \"" + printable(last_key_) + "\""));
  }

  const std::string& problem() const { return problem_; }

 private:
  bool enter() {
    if (keys_.size() >= most_config_depth) {
      return stop("nested more than " + std::to_string(most_config_depth) + " deep" +
                  (last_key_.empty() ? "" : ", under the key \"" + printable(last_key_) + "\""));
    }
    keys_.emplace_back();
    return true;
  }
  bool leave() {
    keys_.pop_back();
    return true;
  }
  bool stop(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  std::vector<std::set<std::string>> keys_;
  std::string last_key_;
  std::string problem_;
};

inline Json parse_config(std::string_view text) {
  if (text.size() > most_config_bytes) {
    refuse_text("a config of " + std::to_string(text.size()) + " bytes is longer than " +
                std::to_string(most_config_bytes));
  }
  TextCheck check;
  if (!Json::sax_parse(text.begin(), text.end(), &check)) refuse_text(check.problem());
  return Json::parse(text.begin(), text.end(), nullptr, false);
}

inline Json read_config(const std::filesystem::path& path) {
  // A folder opens like a file, and reads as one of endless length.
  std::error_code error;
  const std::string name = printable(path.string());
  if (std::filesystem::is_directory(path, error)) refuse_text(name + " is a folder");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) refuse_text("cannot open " + name);
  std::string text;
  std::vector<char> piece(std::size_t{1} << 16);
  while (stream.read(piece.data(), static_cast<std::streamsize>(piece.size())),
         stream.gcount() > 0) {
    text.append(piece.data(), static_cast<std::size_t>(stream.gcount()));
    if (text.size() > most_config_bytes) break;  // which parse_config() refuses
  }
  if (stream.bad()) refuse_text("cannot read " + name);
  return parse_config(text);
}

}  // namespace rope::detail::huggingface::inline ROPE_DETAIL_UNIT
