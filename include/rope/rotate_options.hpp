#pragma once

#include "rope/argument.hpp"
#include "rope/pairing.hpp"

namespace rope {

/// What a rotation may be told beside its views, table and positions, when the pairing is a
/// template argument.
struct RotateOptions {
  /// The first feature of a head that is rotated; the table says how many follow. 64 for a DeepSeek
  /// query of 64 plain and 64 rotated features, for example. The features outside the rotated part
  /// stay as they are (out of place: are copied).
  Extent first_dim = 0;
};

/// The same, with the pairing as a run-time value. It has no default.
struct PairingOptions {
  required<Pairing> pairing;
  /// See RotateOptions.
  Extent first_dim = 0;
};

}  // namespace rope
