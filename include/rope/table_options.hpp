#pragma once

#include "rope/executor.hpp"

namespace rope {

/// How the angle of a table entry is computed.
enum class Angles : unsigned char {
  exact,    ///< position * frequency as it is
  float32,  ///< as PyTorch models do it: position and frequency rounded to float, their product and
            ///< the sum over the axes again, then cos and sin of that, rounded to float and
            ///< multiplied by the magnitude as a float. Off by 2e-3 radians at position 131072: for
            ///< comparing with numbers that were made so, not for anything new
};

/// What the entries of a table are rounded to.
enum class EntryRounding : unsigned char {
  none,  ///< nothing but their own type
  bf16,  ///< the nearest bfloat16, as models do that keep cos and sin in the type of their weights
  f16,   ///< the nearest IEEE binary16
};

/// What the tables of this library may be told beside frequencies and positions.
struct TableOptions {
  Angles angles = Angles::exact;
  /// Entries still have the table's type, but only values that the narrow type has. Each is rounded
  /// once from the exact value, or with Angles::float32 from the float, as the models do.
  EntryRounding round_entries_to = EntryRounding::none;
  /// Who builds the table; the same entries, whoever does. Used only during the call.
  ExecutorRef executor = {};
};

}  // namespace rope
