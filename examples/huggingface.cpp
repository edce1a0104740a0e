// A model's config.json straight to its rotation.
#include "rope/huggingface.hpp"

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "rope/rotate.hpp"
#include "rope/table.hpp"

namespace {

constexpr const char* gemma = R"({
  "model_type": "gemma3_text",
  "head_dim": 8,
  "num_hidden_layers": 6,
  "max_position_embeddings": 131072,
  "rope_theta": 1000000,
  "rope_local_base_freq": 10000,
  "rope_scaling": {"rope_type": "linear", "factor": 8, "finetuned": true}
})";

}  // namespace

int main() {
  // [read] From a file it is rope::model_rope("config.json").
  const rope::ModelRope model = rope::model_rope_from_text(gemma);
  for (const std::string& warning : model.warnings) std::printf("warning: %s\n", warning.c_str());
  // [read]

  // [layers] One table for each layer type, shared by its layers.
  const std::int64_t length = 4096;
  std::vector<rope::CosSinTable<float>> tables;
  for (const rope::LayerRope& layer : model.layer_types) {
    tables.emplace_back(layer.frequencies(length), length);
    std::printf("%-18s base %7.0f, first frequency %.4f\n", layer.name.c_str(),
                static_cast<double>(layer.parameters.base), tables.back().frequencies()(0, 0, 0));
  }
  // [layers]

  // [rotate] Each layer of the model, whichever type it has.
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const int type = model.layers[i];
    if (type == rope::ModelRope::no_rope) continue;
    const rope::LayerRope& layer = model.layer_types[static_cast<std::size_t>(type)];
    std::vector<float> q = {1, 0, 0, 0, 0, 0, 0, 0};  // one token, one head
    rope::rotate(rope::thd(q, {1, 1, layer.head_dim}), tables[static_cast<std::size_t>(type)],
                 rope::from(16), {.pairing = layer.pairing, .first_dim = layer.first_dim});
    std::printf("layer %zu: %.4f %.4f\n", i, static_cast<double>(q[0]), static_cast<double>(q[4]));
  }
  // [rotate]
}
