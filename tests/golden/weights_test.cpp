// The permutation between Hugging Face's and Meta's or GGUF's Llama weights, as recorded from the
// programs that convert them. What a case is, its file says; the file's name means nothing.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "rope/weights.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

namespace {

using nlohmann::json;
using Rows = std::vector<std::int64_t>;

/// The first of: the folder that the environment names, the shared one, the committed one.
std::filesystem::path folder_of_cases() {
  if (std::getenv("ROPE_GOLDEN_DIR") == nullptr) {
    const auto shared = rope_test::shared_dir();
    if (shared && std::filesystem::is_directory(*shared / "golden" / "llm")) {
      return *shared / "golden" / "llm";
    }
  }
  return rope_test::golden_dir();
}

std::vector<json> files_of_kind(const std::string& kind) {
  std::vector<json> files;
  const auto folder = folder_of_cases();
  if (!std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream stream(entry.path());
    json content = json::parse(stream);
    if (content.is_object() && content.value("kind", "") == kind)
      files.push_back(std::move(content));
  }
  return files;
}

}  // namespace

TEST_CASE("rows land where the converters of Hugging Face and llama.cpp put them") {
  const auto files = files_of_kind("weight_permutation");
  if (files.empty()) ROPE_TEST_SKIP("no golden file of kind weight_permutation");
  int cases = 0;
  for (const json& file : files) {
    for (const json& golden : file.at("cases")) {
      INFO(golden.dump());
      const bool is_k = golden.at("tensor") == "k";
      const auto heads = golden.at(is_k ? "n_head_kv" : "n_head").get<std::int64_t>();
      const auto head_dim = golden.at("head_dim").get<std::int64_t>();
      const rope::RotatedPart part = {.rotary_dim = golden.at("rotary_dim").get<std::int64_t>()};
      Rows rows(static_cast<std::size_t>(heads * head_dim));
      std::iota(rows.begin(), rows.end(), 0);
      const Rows before = rows;
      Rows out(rows.size());
      Rows scratch(static_cast<std::size_t>(head_dim));
      const auto in_rows = rope::bias(rows, {heads, head_dim});

      rope::copy_to_interleaved(in_rows, rope::bias(out, {heads, head_dim}), part);
      CHECK(out == golden.at("hf_to_gguf_rows").get<Rows>());
      for (const char* name : {"meta_to_hf_rows", "gguf_to_hf_rows"}) {
        rope::copy_to_half_split(in_rows, rope::bias(out, {heads, head_dim}), part);
        CHECK(out == golden.at(name).get<Rows>());
      }
      rope::to_interleaved(in_rows, scratch, part);
      CHECK(rows == golden.at("hf_to_gguf_rows").get<Rows>());
      rope::to_half_split(in_rows, scratch, part);
      CHECK(rows == before);
      ++cases;
    }
  }
  CHECK(cases > 0);
}
