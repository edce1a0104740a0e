#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "rope/detail/layout.hpp"
#include "rope/detail/rotate_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/view.hpp"

// What the functions of rope/encodings/ check in common.

namespace rope::detail {

template <class T>
concept FloatOrDouble = std::same_as<T, float> || std::same_as<T, double>;

/// The element type of a view that is read along with one of T.
template <class In, class T>
concept ReadWith = std::same_as<std::remove_const_t<In>, T>;

inline namespace ROPE_DETAIL_UNIT {

/// Fails unless an argument has the extent that another one asks for: "x has dim 3, but table has
/// dim 4".
inline Status check_extent(const char* who, const char* what, std::int64_t extent,
                           const char* other, std::int64_t needed) noexcept {
  if (extent != needed) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: %s %lld, but %s %lld", who, what,
                   static_cast<long long>(extent), other, static_cast<long long>(needed));
  }
  return {};
}

/// Fails unless a view is a matrix: batch 1 and heads 1.
inline Status check_matrix(const char* who, const char* name, const Layout& layout) noexcept {
  if (layout.extent[0] != 1 || layout.extent[2] != 1) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: %s must be a matrix, batch 1 and heads 1, but has batch %lld and heads "
                   "%lld",
                   who, name, static_cast<long long>(layout.extent[0]),
                   static_cast<long long>(layout.extent[2]));
  }
  return {};
}

/// Fails unless x are embeddings [batch, tokens, 1, width] that may be written.
inline Status check_embeddings(const char* who, const Layout& x, std::int64_t width,
                               const char* width_of) noexcept {
  if (x.extent[2] != 1) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: embeddings have 1 head of the full width, but x has heads %lld", who,
                   static_cast<long long>(x.extent[2]));
  }
  if (Status status = check_extent(who, "x has dim", x.extent[3], width_of, width); !status.ok())
      [[unlikely]] {
    return status;
  }
  return check_output(who, x);
}

/// Fails if a size that a caller gives is below its least value.
inline Status check_at_least(const char* who, const char* name, std::int64_t value,
                             std::int64_t least) noexcept {
  if (value < least) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: %s must be at least %lld, got %lld", who, name,
                   static_cast<long long>(least), static_cast<long long>(value));
  }
  return {};
}

/// The first of several verdicts that is not fine. Each is made only if those before it are.
template <class... Checks>
Status first_failure(const Checks&... checks) noexcept {
  Status status;
  static_cast<void>(((status = checks(), status.ok()) && ...));
  return status;
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope::detail
