// Errors: types, verdicts and messages.
#include "rope/error.hpp"

#include <stdexcept>
#include <string>
#include <type_traits>

#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using rope::ErrorKind;
using rope::Status;

static_assert(std::is_base_of_v<std::invalid_argument, rope::InvalidArgument>);
static_assert(std::is_base_of_v<std::out_of_range, rope::OutOfRange>);
static_assert(std::is_base_of_v<std::runtime_error, rope::ParseError>);
static_assert(std::is_base_of_v<rope::Error, rope::InvalidArgument>);
static_assert(std::is_base_of_v<rope::Error, rope::OutOfRange>);
static_assert(std::is_base_of_v<rope::Error, rope::ParseError>);
static_assert(!std::is_convertible_v<Status, bool>, "only in a condition, never as a number");
static_assert(std::is_trivially_copyable_v<Status>);

}  // namespace

TEST_CASE("a verdict is fine unless it says otherwise") {
  const Status fine;
  CHECK(fine.ok());
  CHECK(static_cast<bool>(fine));
  CHECK(fine.kind() == ErrorKind::none);
  CHECK(std::string(fine.message()).empty());
  CHECK_NOTHROW(rope::detail::require(fine));

  const Status failed(ErrorKind::out_of_range, "f: argument: 3");
  CHECK_FALSE(failed.ok());
  CHECK_FALSE(static_cast<bool>(failed));
  CHECK(failed.kind() == ErrorKind::out_of_range);
  const Status copy = failed;
  CHECK(std::string(copy.message()) == "f: argument: 3");
}

TEST_CASE("each kind of verdict is thrown as its own type") {
  using rope_test::require_throws;
  require_throws<rope::InvalidArgument>(
      "f: x 1", [] { rope::detail::require(Status(ErrorKind::invalid_argument, "f: x 1")); });
  require_throws<rope::OutOfRange>(
      "f: x 2", [] { rope::detail::require(Status(ErrorKind::out_of_range, "f: x 2")); });
  require_throws<rope::ParseError>(
      "f: x 3", [] { rope::detail::require(Status(ErrorKind::parse_error, "f: x 3")); });
}

TEST_CASE("rope::Error alone catches them all") {
  for (const ErrorKind kind :
       {ErrorKind::invalid_argument, ErrorKind::out_of_range, ErrorKind::parse_error}) {
    bool caught = false;
    try {
      rope::detail::require(Status(kind, "message"));
    } catch (const rope::Error& error) {
      caught = std::string(error.what()) == "message";
    }
    CHECK(caught);
  }
}

TEST_CASE("a long message is cut, and stays a string") {
  const std::string long_message(1000, 'x');
  const Status cut(ErrorKind::invalid_argument, long_message);
  CHECK(std::string(cut.message()) == std::string(255, 'x'));
  const Status formatted =
      rope::detail::failure(ErrorKind::invalid_argument, "%s!", long_message.c_str());
  CHECK(std::string(formatted.message()) == std::string(255, 'x'));
}

TEST_CASE("numbers are put into the message") {
  const Status status = rope::detail::failure(ErrorKind::out_of_range, "%s: %lld of %g", "f",
                                              -9223372036854775807LL - 1, 0.5);
  CHECK(std::string(status.message()) == "f: -9223372036854775808 of 0.5");
  CHECK(status.kind() == ErrorKind::out_of_range);
}
