// Where tests find their data.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>

namespace rope_test {

/// The committed golden files: tests/golden, or what the environment's ROPE_GOLDEN_DIR says.
inline std::filesystem::path golden_dir() {
  if (const char* const chosen = std::getenv("ROPE_GOLDEN_DIR")) return chosen;
  return ROPE_TEST_GOLDEN_DIR;
}

/// The folder with the larger data that is not committed: what the environment's ROPE_SHARED_DIR
/// says, else what CMake was told. Nothing if there is no such folder: then ROPE_TEST_SKIP.
inline std::optional<std::filesystem::path> shared_dir() {
  const char* const chosen = std::getenv("ROPE_SHARED_DIR");
  const std::filesystem::path path = chosen != nullptr ? chosen : ROPE_TEST_SHARED_DIR;
  if (path.empty() || !std::filesystem::is_directory(path)) return std::nullopt;
  return path;
}

}  // namespace rope_test
