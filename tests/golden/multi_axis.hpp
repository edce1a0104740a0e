// The cases of golden/llm with several position axes: M-RoPE of Hugging Face, ggml and vLLM.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "rope/frequencies.hpp"
#include "rope/huggingface.hpp"
#include "rope/parameters.hpp"

namespace rope_test {

/// Whether a case of kind rotated_vectors or ggml_rope has several positions for each token.
bool has_several_axes(const nlohmann::json& content);

/// vLLM's list of the axis of each pair (openPangu).
void run_axis_pattern(const nlohmann::json& content, std::map<std::string, int>& tally);

/// q and k rotated by a model with sections.
void run_multi_axis_rotation(const nlohmann::json& content, const rope::LayerRope& layer,
                             const rope::Frequencies& frequencies,
                             std::map<std::string, int>& tally);

/// What a case of ggml says of its frequencies.
rope::Parameters ggml_parameters(const nlohmann::json& content);

/// ggml's MROPE, IMROPE and VISION.
void run_multi_axis_ggml(const nlohmann::json& content, std::map<std::string, int>& tally);

}  // namespace rope_test
