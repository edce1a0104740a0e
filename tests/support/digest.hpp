// A fingerprint of doubles, bit for bit.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace rope_test {

/// FNV-1a of their bytes, the least significant first.
inline std::uint64_t digest(std::span<const double> values) {
  std::uint64_t hash = 14695981039346656037U;
  for (const double value : values) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    for (int byte = 0; byte < 8; ++byte) {
      hash = (hash ^ ((bits >> (8 * byte)) & 0xff)) * 1099511628211U;
    }
  }
  return hash;
}

}  // namespace rope_test
