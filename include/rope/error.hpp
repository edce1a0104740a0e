#pragma once

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include "rope/detail/unit.hpp"

namespace rope {

/// What every exception of this library also is, beside the standard type beneath it.
///
/// `catch (const rope::Error&)` catches all of them and nothing else; `catch (const
/// std::invalid_argument&)` and its relatives work as usual. The message names the function, the
/// argument and the numbers.
class Error {
 public:
  virtual ~Error() = default;
  virtual const char* what() const noexcept = 0;

 protected:
  Error() = default;
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;
};

namespace detail {

template <class Standard>
class ErrorOf : public Standard, public Error {
 public:
  explicit ErrorOf(const char* message) : Standard(message) {}
  const char* what() const noexcept override { return Standard::what(); }
};

}  // namespace detail

/// An argument that can never be right: a shape, a stride, a parameter.
class InvalidArgument : public detail::ErrorOf<std::invalid_argument> {
  using ErrorOf::ErrorOf;
};

/// A value outside what the other arguments allow: a position that the table has no row for.
class OutOfRange : public detail::ErrorOf<std::out_of_range> {
  using ErrorOf::ErrorOf;
};

/// Text or a file that cannot be read as what it should be.
class ParseError : public detail::ErrorOf<std::runtime_error> {
  using ErrorOf::ErrorOf;
};

/// Which exception a failed check stands for.
enum class ErrorKind : unsigned char { none, invalid_argument, out_of_range, parse_error };

/// The verdict of a check: fine, or what is wrong in one line. Holds no memory of its own, so that
/// a check can be noexcept and work where exceptions are switched off.
class [[nodiscard]] Status {
 public:
  /// The verdict "fine". Leaves the message unset on purpose: every rotate() makes a Status, and
  /// clearing 256 bytes costs more than the rest of a one-token call's checks.
  ROPE_DETAIL_FORWARD Status() noexcept {
  }  // NOLINT(modernize-use-equals-default): a defaulted one would clear the message

  /// A verdict of `kind`, which is not `none`; a longer message is cut at 255 characters.
  ROPE_DETAIL_FORWARD Status(ErrorKind kind, std::string_view message) noexcept : kind_(kind) {
    message_[message.copy(message_, sizeof message_ - 1)] = '\0';
  }

  ROPE_DETAIL_FORWARD bool ok() const noexcept { return kind_ == ErrorKind::none; }
  ROPE_DETAIL_FORWARD explicit operator bool() const noexcept { return ok(); }
  ROPE_DETAIL_FORWARD ErrorKind kind() const noexcept { return kind_; }

  /// Function, argument and numbers; empty if ok().
  ROPE_DETAIL_FORWARD const char* message() const noexcept { return ok() ? "" : message_; }

 private:
  ErrorKind kind_ = ErrorKind::none;
  char message_[256];
};

static_assert(std::is_trivially_copyable_v<Status>);

namespace detail::inline ROPE_DETAIL_UNIT {

/// A failed verdict whose message is formatted as by printf.
[[gnu::format(printf, 2, 3)]] ROPE_DETAIL_COLD inline Status failure(ErrorKind kind,
                                                                     const char* format,
                                                                     ...) noexcept {
  char message[256];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return Status(kind, message);
}

/// Throws what `status` stands for; without exceptions it prints the message to stderr and aborts.
[[noreturn]] ROPE_DETAIL_COLD inline void raise(const Status& status) {
#if defined(__cpp_exceptions)
  switch (status.kind()) {
    case ErrorKind::out_of_range:
      throw OutOfRange(status.message());
    case ErrorKind::parse_error:
      throw ParseError(status.message());
    case ErrorKind::none:
    case ErrorKind::invalid_argument:
      break;
  }
  throw InvalidArgument(status.message());
#else
  std::fprintf(stderr, "%s\n", status.message());
  std::abort();
#endif
}

/// Raises unless `status` is fine.
inline void require(const Status& status) {
  if (!status.ok()) [[unlikely]] {
    raise(status);
  }
}

}  // namespace detail::inline ROPE_DETAIL_UNIT
}  // namespace rope
