#pragma once

#include <variant>

#include "rope/argument.hpp"
#include "rope/scaling/dynamic_ntk.hpp"
#include "rope/scaling/ggml.hpp"
#include "rope/scaling/linear.hpp"
#include "rope/scaling/llama3.hpp"
#include "rope/scaling/longrope.hpp"
#include "rope/scaling/ntk.hpp"
#include "rope/scaling/pair_divisors.hpp"
#include "rope/scaling/plain.hpp"
#include "rope/scaling/proportional.hpp"
#include "rope/scaling/yarn.hpp"

namespace rope {

/// How a scheme changes the plain frequencies. Each alternative is a small struct of its own in
/// rope/scaling/.
using Scaling = std::variant<Plain, Linear, NtkBase, NtkAlpha, NtkFixed, NtkMixed, DynamicNtk, Yarn,
                             Llama3, LongRope, Proportional, PairDivisors, Ggml>;

/// What determines the frequencies of a 1-D rotary embedding.
struct Parameters {
  /// How many features of a head are rotated: the d of base^(-2i/d). Even, above 0 and at most
  /// 2^32; often, not always, the head's size.
  required<Extent> rotary_dim;
  /// `rope_theta` of Hugging Face, `freq_base` of llama.cpp. Finite and above 1.
  Real base = 10000.0;
  Scaling scaling = {};  // Plain
};

}  // namespace rope
