// What a refused call must throw.
#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>

#include "rope/error.hpp"
#include "support/catch.hpp"

namespace rope_test {

/// Fails unless `call` throws just an `Expected`, which is both its standard type and rope::Error,
/// with exactly this message.
template <class Expected, class Call>
void require_throws(const std::string& message, Call call) {
  using Standard =
      std::conditional_t<std::is_same_v<Expected, rope::OutOfRange>, std::out_of_range,
                         std::conditional_t<std::is_same_v<Expected, rope::InvalidArgument>,
                                            std::invalid_argument, std::runtime_error>>;
  INFO("expected: " << message);
  try {
    call();
  } catch (const Standard& error) {
    CHECK(std::string(error.what()) == message);
    CHECK(dynamic_cast<const Expected*>(&error) != nullptr);
    const auto* const ours = dynamic_cast<const rope::Error*>(&error);
    REQUIRE(ours != nullptr);
    CHECK(std::string(ours->what()) == message);
    return;
  } catch (const std::exception& error) {
    FAIL("an exception of another type: " << error.what());
  }
  FAIL("nothing was thrown");
}

}  // namespace rope_test
