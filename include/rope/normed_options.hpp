#pragma once

#include "rope/argument.hpp"
#include "rope/executor.hpp"
#include "rope/pairing.hpp"
#include "rope/rms_norm.hpp"
#include "rope/rotate_options.hpp"

namespace rope {

/// What normalize() may be told beside its views and the norm; see RotateOptions.
struct NormalizeOptions {
  ExecutorRef executor = {};
  Part part = {};
};

/// RotateOptions with a norm: each head is normalised first, in the same pass. C is what elements
/// are computed with.
template <class C>
struct NormedOptions {
  required<RmsNorm<C>> norm;
  Extent first_dim = 0;
  ExecutorRef executor = {};
  Part part = {};
};

/// The same, with the pairing as a run-time value.
template <class C>
struct NormedPairingOptions {
  required<Pairing> pairing;
  required<RmsNorm<C>> norm;
  Extent first_dim = 0;
  ExecutorRef executor = {};
  Part part = {};
};

/// For q and k at once, whose norms have weights of their own.
template <class C>
struct NormedQkOptions {
  required<RmsNorm<C>> q_norm;
  required<RmsNorm<C>> k_norm;
  Extent first_dim = 0;
  ExecutorRef executor = {};
  Part part = {};
};

template <class C>
struct NormedQkPairingOptions {
  required<Pairing> pairing;
  required<RmsNorm<C>> q_norm;
  required<RmsNorm<C>> k_norm;
  Extent first_dim = 0;
  ExecutorRef executor = {};
  Part part = {};
};

}  // namespace rope
