#pragma once

#include "rope/argument.hpp"
#include "rope/executor.hpp"
#include "rope/pairing.hpp"

namespace rope {

/// One of several parts of a rotation, for engines whose own threads call rotate(): number `index`,
/// from 0 on, of `count`.
///
/// Together the parts are the whole, to the bit, in whatever order and threads they run; parts may
/// be empty. They are even in heads of tokens, so that one long sequence and one token of many
/// heads both divide well. Every part checks the whole call, its own number apart: if one is
/// refused, all are, and nothing is written.
struct Part {
  Extent index = 0;
  Extent count = 1;
};

/// What a rotation may be told beside its views, table and positions, when the pairing is a
/// template argument.
struct RotateOptions {
  /// The first feature of a head that is rotated; the table says how many follow. 64 for a DeepSeek
  /// query of 64 plain and 64 rotated features, for example. The features outside the rotated part
  /// stay as they are (out of place: are copied).
  Extent first_dim = 0;
  /// Who does it: the calling thread alone, or `.executor = pool`. Results have the same bits. Work
  /// that is done sooner than another thread wakes up stays in the calling thread.
  ExecutorRef executor = {};
  /// Only this part of it.
  Part part = {};
};

/// The same, with the pairing as a run-time value. It has no default.
struct PairingOptions {
  required<Pairing> pairing;
  /// For the others see RotateOptions.
  Extent first_dim = 0;
  ExecutorRef executor = {};
  Part part = {};
};

}  // namespace rope
