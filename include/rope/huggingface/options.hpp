#pragma once

#include <optional>
#include <string_view>

#include "rope/argument.hpp"

namespace rope {

/// Whose reading of a config is meant, where two read it differently.
enum class Dialect : unsigned char {
  /// Hugging Face transformers 5 (5.16).
  transformers5,
  /// transformers 4 (4.56): knows no rope_parameters; YaRN's factor is max_position_embeddings /
  /// original_max_position_embeddings where rope_scaling has the latter; LongRoPE looks for the
  /// latter beside rope_scaling only, and so does every scheme for rope_theta and
  /// partial_rotary_factor, which the plain scheme heeds in all models.
  transformers4,
};

/// What model_rope() may be told beside the config.
struct ModelOptions {
  Dialect dialect = Dialect::transformers5;
  /// For a config that names no model_type; otherwise not looked at.
  std::string_view model_type_if_missing = {};
  /// For a config that gives neither head_dim nor the sizes that it follows from, of a model type
  /// whose class has no head_dim of its own; otherwise not looked at.
  std::optional<Extent> head_dim_if_missing = std::nullopt;
};

}  // namespace rope
