#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

// Checks that several scaling schemes share. `who` is the function that was called, `field` the
// scheme's field.

namespace rope::detail::inline ROPE_DETAIL_UNIT {

inline Status check_positive(const char* who, const char* field, double value) noexcept {
  if (!is_finite(value) || !(value > 0)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: scaling.%s must be finite and above 0, got %g",
                   who, field, value);
  }
  return {};
}

inline Status check_positive_if_given(const char* who, const char* field,
                                      const std::optional<Real>& value) noexcept {
  return value ? check_positive(who, field, static_cast<double>(*value)) : Status();
}

inline Status check_not_negative(const char* who, const char* field, double value) noexcept {
  if (!is_finite(value) || value < 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: scaling.%s must be finite and not negative, got %g", who, field, value);
  }
  return {};
}

inline Status check_at_least(const char* who, const char* prefix, const char* name,
                             std::int64_t value, std::int64_t least) noexcept {
  if (value < least) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: %s%s must be at least %lld, got %lld", who,
                   prefix, name, static_cast<long long>(least), static_cast<long long>(value));
  }
  return {};
}

inline Status check_length(const char* who, const char* field, std::int64_t positions,
                           std::int64_t least = 1) noexcept {
  return check_at_least(who, "scaling.", field, positions, least);
}

/// For an argument of the function itself.
inline Status check_argument_length(const char* who, const char* argument, std::int64_t positions,
                                    std::int64_t least = 1) noexcept {
  return check_at_least(who, "", argument, positions, least);
}

/// One positive finite number for each pair.
inline Status check_list(const char* who, const char* field, const std::vector<double>& values,
                         std::int64_t rotary_dim) noexcept {
  if (!std::cmp_equal(values.size(), rotary_dim / 2)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: scaling.%s has %zu values, but rotary_dim %lld needs %lld, one for each "
                   "pair",
                   who, field, values.size(), static_cast<long long>(rotary_dim),
                   static_cast<long long>(rotary_dim / 2));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_finite(values[i]) || !(values[i] > 0)) [[unlikely]] {
      return failure(ErrorKind::invalid_argument,
                     "%s: scaling.%s[%zu] must be finite and above 0, got %g", who, field, i,
                     values[i]);
    }
  }
  return {};
}

/// For a change of the base by factor^(d / (d - 2)).
inline Status check_base_change(const char* who, std::int64_t rotary_dim) noexcept {
  if (rotary_dim == 2) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: rotary_dim must be above 2 for a scheme that changes the base by a power "
                   "of rotary_dim / (rotary_dim - 2), got 2",
                   who);
  }
  return {};
}

/// The first verdict that is not fine.
template <class... Statuses>
Status first_failure(const Status& first, const Statuses&... others) noexcept {
  if constexpr (sizeof...(others) == 0) {
    return first;
  } else {
    return first.ok() ? first_failure(others...) : first;
  }
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
