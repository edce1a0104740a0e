#pragma once

#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/table_options.hpp"

namespace rope::detail::inline ROPE_DETAIL_UNIT {

inline Status check_table_options(const char* who, const TableOptions& options) noexcept {
  if (options.angles != Angles::exact && options.angles != Angles::float32) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: angles has the value %d, which names no way to compute them", who,
                   static_cast<int>(options.angles));
  }
  if (options.round_entries_to != EntryRounding::none &&
      options.round_entries_to != EntryRounding::bf16 &&
      options.round_entries_to != EntryRounding::f16) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: round_entries_to has the value %d, which names no type", who,
                   static_cast<int>(options.round_entries_to));
  }
  return {};
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
