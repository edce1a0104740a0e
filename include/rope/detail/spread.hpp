#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/frequencies.hpp"

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// Frequencies under construction, [axes, heads, pairs], zeros at first.
class SpreadValues {
 public:
  SpreadValues(std::int64_t axes, std::int64_t heads, std::int64_t pairs)
      : values_(static_cast<std::size_t>(axes * heads * pairs)),
        axes_(axes),
        heads_(heads),
        pairs_(pairs) {}

  double& operator()(std::int64_t axis, std::int64_t head, std::int64_t pair) {
    return values_[static_cast<std::size_t>((axis * heads_ + head) * pairs_ + pair)];
  }
  Frequencies frequencies() && { return Frequencies(std::move(values_), {axes_, heads_, pairs_}); }

 private:
  std::vector<double> values_;
  std::int64_t axes_;
  std::int64_t heads_;
  std::int64_t pairs_;
};

/// Fails unless frequencies of this shape can be held; `layers` of them at once.
inline Status check_spread(const char* who, std::int64_t axes, std::int64_t heads,
                           std::int64_t rotary_dim, std::int64_t layers = 1) noexcept {
  if (rotary_dim <= 0 || rotary_dim % 2 != 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: rotary_dim must be even and above 0, got %lld",
                   who, static_cast<long long>(rotary_dim));
  }
  std::int64_t bytes = 0;
  if (axes < 1 || heads < 1 || layers < 1 || __builtin_mul_overflow(axes, heads, &bytes) ||
      __builtin_mul_overflow(bytes, rotary_dim, &bytes) ||
      __builtin_mul_overflow(bytes, layers, &bytes) ||
      __builtin_mul_overflow(bytes, std::int64_t{sizeof(double)}, &bytes)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: axes, heads and layers must be at least 1 and their frequencies fewer than "
                   "2^59, got axes %lld, heads %lld, rotary_dim %lld, layers %lld",
                   who, static_cast<long long>(axes), static_cast<long long>(heads),
                   static_cast<long long>(rotary_dim), static_cast<long long>(layers));
  }
  return {};
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
