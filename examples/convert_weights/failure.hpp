// Errors of this program: one line that names the file and the tensor.
#pragma once

#include <cerrno>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace convert_weights {

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw std::runtime_error(text.str());
}

/// Fails with what `errno` says about a system call.
template <class... Parts>
[[noreturn]] void fail_with_errno(const Parts&... parts) {
  const int number = errno;
  fail(parts..., ": ", std::generic_category().message(number));
}

/// A name from a file in quotes, with everything escaped that would disturb a terminal.
inline std::string quoted(const std::string& name) {
  return nlohmann::json(name).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace convert_weights
