#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "rope/argument.hpp"
#include "rope/detail/ladder.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/parameters.hpp"

// What a Scaling asks of the scheme that it holds.

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// Calls `use` with the scheme that `scaling` holds. Compilers take a fifth of the time that they
/// take for the tables of functions of std::visit, which every unit that includes rope would pay.
template <std::size_t i = 0, class Use>
auto with_scheme(const Scaling& scaling, const Use& use) {
  if constexpr (i + 1 < std::variant_size_v<Scaling>) {
    if (scaling.index() != i) return with_scheme<i + 1>(scaling, use);
  }
  return use(*std::get_if<i>(&scaling));
}

inline Status check_scheme(const char* who, const Scaling& scaling,
                           std::int64_t rotary_dim) noexcept {
  if (scaling.valueless_by_exception()) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: scaling holds no scheme", who);
  }
  return with_scheme(scaling,
                     [&](const auto& scheme) { return check_scaling(who, scheme, rotary_dim); });
}

inline double scheme_magnitude(const Scaling& scaling, const Ladder& ladder) {
  return with_scheme(scaling,
                     [&](const auto& scheme) { return scaling_magnitude(scheme, ladder); });
}

/// Writes the frequency of each pair of the ladder.
inline void write_frequencies(const Scaling& scaling, const Ladder& ladder, double* values) {
  with_scheme(scaling, [&](const auto& scheme) {
    const auto rule = frequency_rule(scheme, ladder);
    for (std::int64_t i = 0; i < ladder.pairs(); ++i) {
      values[i] = rounded(rule(i, ladder.plain(i)));
    }
  });
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
