#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rope/detail/finite.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

// Reading of keys. Whatever is wrong with one, the error names it.

namespace rope::detail::huggingface::inline ROPE_DETAIL_UNIT {

using Json = nlohmann::json;

inline constexpr std::int64_t largest_position_count = std::int64_t{1} << 53;

/// Text out of a config as it may stand in a message: short, and nothing that steers a terminal.
inline std::string printable(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string result(text.substr(0, longest));
  for (char& c : result) {
    if (c < ' ' || c > '~') c = '?';
  }
  if (text.size() > longest) result += "...";
  return result;
}

[[noreturn]] ROPE_DETAIL_COLD inline void refuse(const std::string& message) {
  raise(Status(ErrorKind::invalid_argument, "rope::model_rope: " + message));
}
[[noreturn]] ROPE_DETAIL_COLD inline void refuse_text(const std::string& message) {
  raise(Status(ErrorKind::parse_error, "rope::model_rope: " + message));
}

/// As few digits as a reader needs.
inline std::string shown(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

/// The keys of one JSON object. A null counts as missing. Wrong types are ParseErrors, values that
/// cannot be right are InvalidArgument.
class Keys {
 public:
  /// `prefix` stands before every key in messages: "rope_scaling." for those of rope_scaling.
  Keys(const Json& object, std::string prefix) : object_(&object), prefix_(std::move(prefix)) {}

  const Json& object() const { return *object_; }
  std::string name(std::string_view key) const { return prefix_ + printable(key); }

  const Json* find(const char* key) const {
    const auto found = object_->find(key);
    return found == object_->end() || found->is_null() ? nullptr : &*found;
  }
  bool has(const char* key) const { return find(key) != nullptr; }
  /// Whether it is there and null.
  bool is_null(const char* key) const {
    const auto found = object_->find(key);
    return found != object_->end() && found->is_null();
  }

  std::optional<double> number(const char* key) const {
    const Json* const value = find(key);
    if (value == nullptr) return std::nullopt;
    return number_of(*value, name(key));
  }

  std::optional<double> positive(const char* key) const {
    const std::optional<double> value = number(key);
    if (value && !(*value > 0)) refuse(name(key) + " must be above 0, got " + shown(*value));
    return value;
  }

  /// An integer, also if it is written as 4096.0.
  std::optional<std::int64_t> integer(const char* key, std::int64_t least,
                                      std::int64_t most) const {
    const Json* const value = find(key);
    if (value == nullptr) return std::nullopt;
    const std::optional<std::int64_t> result = exact_integer(*value, name(key));
    if (!result || *result < least || *result > most) {
      refuse(name(key) + " must be an integer from " + std::to_string(least) + " to " +
             std::to_string(most) + ", got " + shown(number_of(*value, name(key))));
    }
    return result;
  }

  std::optional<std::string> text(const char* key) const {
    const Json* const value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) refuse_type(name(key), "a string", *value);
    return value->get_ref<const std::string&>();
  }

  std::optional<bool> flag(const char* key) const {
    const Json* const value = find(key);
    if (value == nullptr) return std::nullopt;
    // Some published configs have a count where a flag is meant.
    if (value->is_number_integer()) return *value != 0;
    if (!value->is_boolean()) refuse_type(name(key), "true or false", *value);
    return value->get<bool>();
  }

  /// A list of numbers; longer than `most` is an error before anything is copied.
  std::optional<std::vector<double>> numbers(const char* key, std::size_t most) const {
    const Json* const value = list(key, most);
    if (value == nullptr) return std::nullopt;
    std::vector<double> result;
    for (std::size_t i = 0; i < value->size(); ++i) {
      result.push_back(number_of((*value)[i], name(key) + "[" + std::to_string(i) + "]"));
    }
    return result;
  }

  const Json* list(const char* key, std::size_t most) const {
    const Json* const value = find(key);
    if (value == nullptr) return nullptr;
    if (!value->is_array()) refuse_type(name(key), "a list", *value);
    if (value->size() > most) {
      refuse(name(key) + " has " + std::to_string(value->size()) + " values, more than " +
             std::to_string(most));
    }
    return value;
  }

  const Json* dictionary(const char* key) const {
    const Json* const value = find(key);
    if (value != nullptr && !value->is_object()) refuse_type(name(key), "an object", *value);
    return value;
  }

  [[noreturn]] static void refuse_type(const std::string& key, const char* wanted,
                                       const Json& value) {
    refuse_text(key + " must be " + wanted + ", got " +
                (value.is_boolean() ? "true or false"
                                    : std::string("a value of type ") + value.type_name()));
  }

  static double number_of(const Json& value, const std::string& key) {
    if (!value.is_number()) refuse_type(key, "a number", value);
    const double result = value.get<double>();
    if (!is_finite(result)) refuse(key + " must be finite");
    return result;
  }

 private:
  /// Nothing for a fraction, and what 64 signed bits do not hold.
  static std::optional<std::int64_t> exact_integer(const Json& value, const std::string& key) {
    if (value.is_number_unsigned()) {
      const auto number = value.get<std::uint64_t>();
      if (!std::in_range<std::int64_t>(number)) return std::nullopt;
      return static_cast<std::int64_t>(number);
    }
    if (value.is_number_integer()) return value.get<std::int64_t>();
    const double number = number_of(value, key);
    constexpr double limit = 0x1p53;
    if (!(number >= -limit && number <= limit)) return std::nullopt;
    const auto whole = static_cast<std::int64_t>(number);
    if (static_cast<double>(whole) != number) return std::nullopt;
    return whole;
  }

  const Json* object_;
  std::string prefix_;
};

}  // namespace rope::detail::huggingface::inline ROPE_DETAIL_UNIT
