#pragma once

#include "rope/detail/unit.hpp"

namespace rope {

/// Which two features of a head turn together. There is no default anywhere: both conventions are
/// in wide use, and weights made for one give fluent nonsense with the other.
///
/// With d rotated features, pair i of d / 2 is
enum class Pairing : unsigned char {
  /// features 2i and 2i + 1: RoFormer, Meta's Llama code, GPT-J, llama2.c, ggml's "normal" mode,
  /// complex numbers;
  interleaved,
  /// features i and i + d/2: GPT-NeoX, Hugging Face's Llama and most of its models, `rotate_half`.
  half_split,
};

/// True for a value that is one of the two: a run-time value may come from anywhere.
ROPE_DETAIL_FORWARD constexpr bool is_valid(Pairing pairing) noexcept {
  return pairing == Pairing::interleaved || pairing == Pairing::half_split;
}

}  // namespace rope
