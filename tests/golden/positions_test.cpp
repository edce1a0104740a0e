// Position ids of prompts, as the original implementations count them: those files of golden/nd
// that are committed here, so that they are run where the larger folder is not.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "golden/nd/families.hpp"
#include "support/catch.hpp"

namespace rope_test::nd {
namespace {

TEST_CASE("position ids of prompts with images and videos") {
  // Not what ROPE_GOLDEN_DIR says: golden.nd runs that.
  const auto folder = std::filesystem::path(ROPE_TEST_GOLDEN_DIR) / "nd";
  Tally compared;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    INFO(entry.path().filename().string());
    std::ifstream stream(entry.path());
    const Case one(entry.path(), json::parse(stream), std::nullopt);
    if (!one.content().contains("family") || !one.family().ends_with("_index")) continue;
    for (const Family& family : position_families()) {
      if (one.family() == family.name) family.check(one, compared);
    }
  }
  for (const auto& [what, count] : compared) {
    std::cout << "compared: " << count << " " << what << std::endl;
  }
  CHECK(!compared.empty());
}

}  // namespace
}  // namespace rope_test::nd
