// What the original implementations made of several position axes: every file of golden/nd.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "golden/nd/families.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

namespace rope_test::nd {

namespace {

const OutOfScope out_of_scope[] = {
    {"liere",
     "a matrix exponential for each block; blocks of 2 are Mixed RoPE the other way round"},
};

/// A file of a family that is otherwise run, but is not a rotation itself.
const char* why_not_run(const Case& one) {
  for (const OutOfScope& other : out_of_scope) {
    if (one.family() == other.name) return other.reason;
  }
  // PoPE doubles the channels: softplus(x) * cos beside softplus(x) * sin.
  if (one.family() == "xtransformers" && one.has("bias")) {
    return "polar: softplus magnitudes and twice the features, not a rotation";
  }
  return nullptr;
}

/// The folder that was asked for; else the shared one, which has all of them; else the few that are
/// committed.
std::filesystem::path folder_of_cases() {
  if (std::getenv("ROPE_GOLDEN_DIR") == nullptr) {
    const auto shared = shared_dir();
    if (shared && std::filesystem::is_directory(*shared / "golden" / "nd")) {
      return *shared / "golden" / "nd";
    }
    std::cout << "skipped: all but the committed files, as there is no shared folder golden/nd\n";
  }
  return std::filesystem::is_directory(golden_dir() / "nd") ? golden_dir() / "nd" : golden_dir();
}

json read_json(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return json::parse(stream);
}

std::map<std::string, double> tolerances(const std::filesystem::path& folder) {
  std::map<std::string, double> found;
  if (!std::filesystem::is_regular_file(folder / "MANIFEST.json")) return found;
  const json manifest = read_json(folder / "MANIFEST.json");
  for (const json& entry : manifest.at("files")) {
    if (entry.contains("suggested_abs_tol")) {
      found[entry.at("file").get<std::string>()] = entry.at("suggested_abs_tol").get<double>();
    }
  }
  return found;
}

std::vector<Case> all_cases(const std::filesystem::path& folder) {
  const std::map<std::string, double> known = tolerances(folder);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Case> cases;
  for (const std::filesystem::path& file : files) {
    json content = read_json(file);
    if (!content.is_object() || !content.contains("family")) continue;
    const auto tolerance = known.find(std::filesystem::relative(file, folder).string());
    cases.emplace_back(
        file, std::move(content),
        tolerance == known.end() ? std::nullopt : std::optional<double>(tolerance->second));
  }
  return cases;
}

std::multimap<std::string, Check> all_checks() {
  std::multimap<std::string, Check> checks;
  for (const auto& group : {axial_families(), shared_families(), video_families(), text_families(),
                            direction_families(), position_families()}) {
    for (const Family& family : group) checks.emplace(family.name, family.check);
  }
  return checks;
}

TEST_CASE("what the original implementations made of several position axes") {
  const std::filesystem::path folder = folder_of_cases();
  INFO("in " << folder.string());
  const std::vector<Case> cases = all_cases(folder);
  REQUIRE(!cases.empty());
  const std::multimap<std::string, Check> checks = all_checks();
  std::map<std::string, int> run;
  Tally compared;
  Tally left;
  for (const Case& one : cases) {
    INFO(one.file().filename().string());
    const std::string family = one.family();
    if (const char* const reason = why_not_run(one)) {
      ++left["out of scope: " + family + " (" + reason + ")"];
      continue;
    }
    const auto [first, end] = checks.equal_range(family);
    if (first == end) {
      FAIL_CHECK("a family that nobody knows: " << family);
      continue;
    }
    Tally own;
    bool is_complete = true;
    for (auto check = first; check != end; ++check) {
      if (check->second == nullptr) {
        is_complete = false;
        continue;
      }
      try {
        check->second(one, own);
      } catch (const std::exception& error) {
        FAIL_CHECK(error.what());
      }
    }
    if (!is_complete) {
      ++left["not yet: " + family];
      if (own.empty()) continue;
    }
    CHECK(!own.empty());
    if (is_complete) {
      for (const std::string& name : one.unread_arrays()) {
        ++left["not compared: the array " + name + " of " + family];
        if (std::getenv("ROPE_GOLDEN_DIR") == nullptr) {
          FAIL_CHECK("no check looked at the array " << name);
        }
      }
    }
    for (const auto& [what, number] : own) compared[what] += number;
    ++run[family];
  }
  int count = 0;
  for (const auto& [family, number] : run) {
    std::cout << number << " cases of " << family << "\n";
    count += number;
  }
  std::cout << count << " cases run, of " << cases.size() << " files\n";
  for (const auto& [what, number] : compared) {
    std::cout << "compared: " << number << " " << what << "\n";
  }
  for (const auto& [why, number] : left) std::cout << "left out: " << number << " " << why << "\n";
  std::cout << std::flush;
  CHECK(count > 0);
}

}  // namespace
}  // namespace rope_test::nd
