// The message of what a call throws, to compare whole.
#pragma once

#include <string>

#include "rope/error.hpp"

namespace rope_test {

/// What `call` throws, "InvalidArgument: message" or "OutOfRange: message"; "nothing thrown"
/// otherwise.
template <class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const rope::InvalidArgument& error) {
    return std::string("InvalidArgument: ") + error.what();
  } catch (const rope::OutOfRange& error) {
    return std::string("OutOfRange: ") + error.what();
  }
  return "nothing thrown";
}

}  // namespace rope_test
