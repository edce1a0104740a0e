// rope-inspect [config.json] [--length N] [--svg out.svg] [--dialect transformers4]
//
// Prints what a Hugging Face config says about a model's rotary embedding, pair by pair, and draws
// it. Without a config: the part of Llama 3.1 8B's that matters.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "chart.hpp"
#include "pairs.hpp"
#include "report.hpp"
#include "rope/huggingface.hpp"

namespace {

constexpr const char* llama_3_1_8b = R"({
  "model_type": "llama",
  "hidden_size": 4096,
  "num_attention_heads": 32,
  "num_key_value_heads": 8,
  "num_hidden_layers": 32,
  "max_position_embeddings": 131072,
  "rope_theta": 500000.0,
  "rope_scaling": {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192
  }
})";

struct Arguments {
  std::string config;
  std::string svg;
  std::optional<std::int64_t> length;
  rope::ModelOptions options;
};

[[noreturn]] void stop(const std::string& message) {
  std::fprintf(stderr, "rope-inspect: %s\n", message.c_str());
  std::exit(1);
}

[[noreturn]] void explain(const char* problem) {
  stop(std::string(problem) +
       "\nusage: rope-inspect [config.json] [--length N] [--svg out.svg] "
       "[--dialect transformers5|transformers4]");
}

std::int64_t length_of(const char* text) {
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text, &end, 10);
  if (*text == '\0' || *end != '\0' || errno != 0 || value < 1) {
    explain("--length needs a number above 0");
  }
  return value;
}

Arguments read(int count, char* words[]) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const bool is_option = word.starts_with("--");
    if (is_option && i + 1 == count) explain((word + " needs a value").c_str());
    if (word == "--length") {
      arguments.length = length_of(words[++i]);
    } else if (word == "--svg") {
      arguments.svg = words[++i];
    } else if (word == "--dialect") {
      const std::string name = words[++i];
      if (name != "transformers4" && name != "transformers5") explain("no such dialect");
      arguments.options.dialect =
          name == "transformers4" ? rope::Dialect::transformers4 : rope::Dialect::transformers5;
    } else if (is_option) {
      explain((word + " is not an option").c_str());
    } else if (!arguments.config.empty()) {
      explain("one config at a time");
    } else {
      arguments.config = word;
    }
  }
  return arguments;
}

void run(const Arguments& arguments) {
  rope::ModelRope model =
      arguments.config.empty()
          ? rope::model_rope_from_text(llama_3_1_8b, arguments.options)
          : rope::model_rope(std::filesystem::path(arguments.config), arguments.options);
  const std::int64_t trained = model.max_positions.value_or(0);
  const std::int64_t length = arguments.length.value_or(trained);
  if (trained > 0 && length > trained) {
    model.warnings.push_back(
        "the context " + inspect::grouped(static_cast<double>(length)) + " is longer than the " +
        inspect::grouped(static_cast<double>(trained)) + " positions of the config");
  }
  if (trained == 0) model.warnings.push_back("max_position_embeddings is missing");
  std::vector<inspect::Layer> layers;
  for (const rope::LayerRope& layer : model.layer_types) {
    layers.push_back(
        inspect::look_at(layer, length > 0 ? layer.frequencies(length) : layer.frequencies()));
  }
  inspect::print_report(model, layers, length);
  if (arguments.svg.empty()) return;
  std::ofstream file(arguments.svg, std::ios::binary);
  file << inspect::chart(model, layers, length);
  file.close();
  if (!file) stop("cannot write " + arguments.svg);
}

}  // namespace

int main(int count, char* words[]) {
  const Arguments arguments = read(count, words);
  try {
    run(arguments);
  } catch (const rope::Error& error) {
    stop(error.what());
  }
  return 0;
}
