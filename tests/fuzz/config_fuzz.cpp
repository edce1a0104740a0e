// Any bytes as a config: a result or an exception of ours, and nothing else.
//
// With libFuzzer (clang, -fsanitize=fuzzer) this is a fuzzer. With ROPE_FUZZ_CORPUS it has a main()
// that runs every file of the folders it is given, and deterministic mutations of each.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "rope/huggingface.hpp"

namespace {

int results = 0;
int refusals = 0;

void fail(const char* what) {
  std::fprintf(stderr, "config_fuzz: %s\n", what);
  std::abort();
}

/// What every result must be, whatever the config.
void check(const rope::ModelRope& model) {
  for (const rope::LayerRope& layer : model.layer_types) {
    if (layer.rotary_dim() < 2 || layer.rotary_dim() % 2 != 0) fail("a width that is not even");
    if (layer.first_dim < 0 || layer.first_dim + layer.rotary_dim() > layer.head_dim) {
      fail("rotated features outside the head");
    }
    if (layer.rotary_dim() > 1024) continue;  // only slow
    for (const std::int64_t length : {1, 5000, 200000}) {
      try {
        layer.frequencies(length);
      } catch (const rope::InvalidArgument&) {
        // Numbers whose frequencies no double holds.
      }
    }
  }
  for (const int layer : model.layers) {
    if (layer < rope::ModelRope::no_rope || layer >= static_cast<int>(model.layer_types.size())) {
      fail("a layer of no type");
    }
  }
}

void run(std::string_view text) {
  for (const rope::Dialect dialect : {rope::Dialect::transformers5, rope::Dialect::transformers4}) {
    try {
      check(rope::model_rope_from_text(
          text, {.dialect = dialect, .model_type_if_missing = "llama", .head_dim_if_missing = 64}));
      ++results;
    } catch (const rope::Error& error) {
      if (std::string_view(error.what()).empty()) fail("an exception without a message");
      ++refusals;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  run({reinterpret_cast<const char*>(data), size});
  return 0;
}

#if defined(ROPE_FUZZ_CORPUS)

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

std::uint64_t random_state = 1;
std::size_t below(std::size_t limit) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<std::size_t>(random_state >> 33) % limit;
}

constexpr const char* pieces[] = {"null",
                                  "0",
                                  "-1",
                                  "1e308",
                                  "1e-320",
                                  "1e999",
                                  "NaN",
                                  "\"x\"",
                                  "[]",
                                  "{}",
                                  "[[1]]",
                                  "true",
                                  "18446744073709551615",
                                  "9223372036854775807",
                                  "-9223372036854775808",
                                  "0.3",
                                  "\"yarn\"",
                                  "{\"full_attention\": {}}",
                                  "\xff"};

/// The text with one value replaced, a part taken away, or a byte changed.
std::string mutated(std::string text) {
  if (text.empty()) return text;
  const std::size_t at = below(text.size());
  switch (below(4)) {
    case 0:
      text[at] = static_cast<char>(below(256));
      break;
    case 1:
      text.erase(at, below(12) + 1);
      break;
    default: {
      const std::size_t start = text.find(": ", at);
      if (start == std::string::npos) break;
      const std::size_t end = std::min(text.find_first_of(",}\n", start), text.size());
      text.replace(start + 2, end - start - 2, pieces[below(std::size(pieces))]);
    }
  }
  return text;
}

}  // namespace

int main(int count, char* folders[]) {
  int files = 0;
  for (int i = 1; i < count; ++i) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folders[i])) {
      paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
      std::ifstream stream(path, std::ios::binary);
      const std::string text((std::istreambuf_iterator<char>(stream)), {});
      run(text);
      for (int j = 0; j < 150; ++j) run(mutated(j % 3 == 0 ? mutated(text) : text));
      ++files;
    }
  }
  std::printf("%d files, %d results, %d refusals\n", files, results, refusals);
  // Where all is refused, or nothing, the mutations miss their aim.
  return files > 0 && results > 100 && refusals > 100 ? 0 : 1;
}

#endif
