// Files that are not what they should be: an error that says so, and no memory taken for it.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>

#include "../../examples/tinystories/checkpoint.hpp"
#include "../../examples/tinystories/tokenizer.hpp"
#include "support/catch.hpp"
#include "tinystories/small_model.hpp"

namespace {
std::size_t largest_allocation = 0;
}

// Not inlined, so that the compiler does not see malloc meet delete.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  largest_allocation = (std::max)(largest_allocation, bytes);
  return std::malloc((std::max)(bytes, std::size_t{1}));
}
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (void* memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}

namespace {

using rope_test::contains;
using rope_test::small_tokenizer;
using rope_test::SmallModel;
using rope_test::with_random_weights;
using rope_test::workspace;

/// The error of opening `path`, which must start with the path; empty if there is none.
template <class Open>
std::string error_of(const std::string& path, const Open& open) {
  largest_allocation = 0;
  try {
    open();
    return "";
  } catch (const std::runtime_error& error) {
    const std::string message = error.what();
    REQUIRE(message.substr(0, path.size() + 2) == path + ": ");
    REQUIRE(message.find('\n') == std::string::npos);
    // A file's buffer, a message; never what a number in the file asks for.
    REQUIRE(largest_allocation < 100000);
    return message.substr(path.size() + 2);
  }
}

std::string checkpoint_error(const std::string& path) {
  return error_of(path, [&] { tinystories::Checkpoint checkpoint(path); });
}

std::string tokenizer_error(const std::string& path, std::size_t size) {
  return error_of(path,
                  [&] { tinystories::Tokenizer tokenizer(path, static_cast<std::int64_t>(size)); });
}

std::string checkpoint_error_of(const std::string& bytes) {
  return checkpoint_error(workspace().write("model.bin", bytes));
}

std::string tokenizer_error_of(const std::string& bytes) {
  return tokenizer_error(workspace().write("tokenizer.bin", bytes),
                         small_tokenizer().tokens.size());
}

template <class T>
std::string with(std::string bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}

constexpr std::int32_t int_max = (std::numeric_limits<std::int32_t>::max)();
constexpr std::int32_t int_min = (std::numeric_limits<std::int32_t>::min)();

}  // namespace

TEST_CASE("a whole checkpoint is read") {
  SmallModel model;
  model.shared_classifier = GENERATE(true, false);
  model = with_random_weights(model, 1);
  const tinystories::Checkpoint checkpoint(workspace().write("model.bin", model.bytes()));
  const auto counts = model.counts();
  const float* expected = model.weights.data();
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    CAPTURE(kind);
    if (counts[kind] > 0) {
      const auto first = checkpoint.matrix(static_cast<tinystories::Weight>(kind));
      CHECK(std::memcmp(first.data(), expected, sizeof(float)) == 0);
    }
    expected += counts[kind];
  }
  CHECK(checkpoint.sizes().vocabulary == model.vocabulary);
  CHECK(checkpoint.matrix(tinystories::Weight::classifier)(1, 2) ==
        (model.shared_classifier ? model.weights.data()
                                 : expected - counts.back())[1 * model.dim + 2]);
  // Layer 1 of w2, [dim, hidden_dim].
  CHECK(checkpoint.matrix(tinystories::Weight::down, 1).rows() == model.dim);
  CHECK(checkpoint.matrix(tinystories::Weight::down, 1).data() -
            checkpoint.matrix(tinystories::Weight::down, 0).data() ==
        model.dim * model.hidden_dim);
}

TEST_CASE("half-split order takes the even rows of each head first") {
  SmallModel model;
  model.heads = 2;
  model.kv_heads = 1;
  model = with_random_weights(model, 2);
  const std::string path = workspace().write("model.bin", model.bytes());
  const tinystories::Checkpoint before(path);
  tinystories::Checkpoint after(path);
  tinystories::reorder_to_half_split(after);
  constexpr int order[] = {0, 2, 4, 6, 1, 3, 5, 7};
  for (const auto weight : {tinystories::Weight::query, tinystories::Weight::key}) {
    for (int layer = 0; layer < 2; ++layer) {
      const auto from = before.matrix(weight, layer);
      for (int row = 0; row < from.rows(); ++row) {
        CAPTURE(layer, row);
        CHECK(after.matrix(weight, layer).row(row) == from.row(row / 8 * 8 + order[row % 8]));
      }
    }
  }
  CHECK(after.matrix(tinystories::Weight::value) == before.matrix(tinystories::Weight::value));
}

TEST_CASE("a checkpoint cut anywhere or with bytes at its end is refused") {
  SmallModel model;
  model.layers = 1;
  model = with_random_weights(model, 3);
  const std::string bytes = model.bytes();
  const std::string path = workspace().write("model.bin", bytes);
  REQUIRE(checkpoint_error(path).empty());
  for (std::size_t size = bytes.size(); size-- > 0;) {
    std::filesystem::resize_file(path, size);
    const std::string error = checkpoint_error(path);
    CAPTURE(size, error);
    REQUIRE(error.find("truncated") != std::string::npos);
    REQUIRE(error.find(std::to_string(size)) != std::string::npos);
  }
  for (std::size_t extra : {1U, 3U, 4U, 4096U}) {
    const std::string error = checkpoint_error_of(bytes + std::string(extra, '\0'));
    CHECK_THAT(error, contains("too long: " + std::to_string(bytes.size() + extra) + " bytes"));
    CHECK_THAT(error, contains("needs " + std::to_string(bytes.size())));
  }
}

TEST_CASE("absurd numbers in a checkpoint's header are refused") {
  const SmallModel model = with_random_weights(SmallModel{}, 4);
  const std::string bytes = model.bytes();
  constexpr const char* names[] = {"dim",        "hidden_dim", "n_layers", "n_heads",
                                   "n_kv_heads", "vocab_size", "seq_len"};
  for (std::size_t i = 0; i < 7; ++i) {
    CAPTURE(names[i]);
    const std::int32_t right = model.header()[i];
    CHECK_THAT(checkpoint_error_of(with(bytes, 4 * i, 0)),
               contains(std::string(names[i]) + " in its header is 0"));
    for (const std::int32_t wrong :
         {-1, int_min, int_max, int_max - 1, 1 << 30, -right, right + 1, right + right}) {
      const std::string error = checkpoint_error_of(with(bytes, 4 * i, wrong));
      CAPTURE(wrong, error);
      CHECK_FALSE(error.empty());
    }
  }
  const auto error_with = [&](const SmallModel& wrong) {
    return checkpoint_error_of(wrong.bytes() + bytes.substr(28));
  };
  CHECK_THAT(error_with({.dim = 17}), contains("dim 17 is no multiple of n_heads 4"));
  CHECK_THAT(error_with({.kv_heads = 3}), contains("n_heads 4 is no multiple of n_kv_heads 3"));
  CHECK_THAT(error_with({.dim = 12}), contains("dim 12 / n_heads 4 = 3 is odd"));

  // The true size is 2^64 bytes and a little more: what 64 bits keep of it may look right.
  CHECK_THAT(error_with({.dim = 1 << 30, .hidden_dim = 1 << 30, .layers = 1 << 2}),
             contains("needs 2^63 or more"));
  CHECK_THAT(error_with({.dim = int_max - 1,
                         .hidden_dim = int_max,
                         .layers = int_max,
                         .heads = 1,
                         .kv_heads = 1,
                         .vocabulary = int_max,
                         .positions = int_max}),
             contains("needs 2^63 or more"));
  CHECK_THAT(error_with({.vocabulary = 1 << 24}), contains("vocab_size 16777216"));
}

TEST_CASE("what is no file is refused") {
  CHECK_FALSE(checkpoint_error(workspace() / "missing").empty());
  CHECK_FALSE(tokenizer_error(workspace() / "missing", 300).empty());
  CHECK_THAT(checkpoint_error("/"), contains("not a regular file"));
  CHECK_THAT(tokenizer_error("/dev/zero", 300), contains("not a regular file"));
  CHECK_THAT(checkpoint_error_of(""), contains("truncated"));
  CHECK_THAT(tokenizer_error_of(""), contains("truncated"));
}

TEST_CASE("a tokenizer cut anywhere or of another vocabulary is refused") {
  const std::string bytes = small_tokenizer().bytes();
  const std::string path = workspace().write("tokenizer.bin", bytes);
  const std::size_t size = small_tokenizer().tokens.size();
  REQUIRE(tokenizer_error(path, size).empty());
  CHECK_THAT(tokenizer_error(path, size + 1),
             contains(std::to_string(size) + " tokens, but the model's vocabulary has " +
                      std::to_string(size + 1)));
  CHECK_THAT(tokenizer_error(path, size - 1), contains("too long"));
  CHECK_THAT(tokenizer_error(path, 258), contains("vocabulary of 258 has no room"));
  CHECK_THAT(tokenizer_error(path, (std::size_t{1} << 31) - 1), contains("2147483647"));
  CHECK_THAT(tokenizer_error_of(bytes + "x"), contains("too long: 1 bytes"));
  for (std::size_t cut = bytes.size(); cut-- > 0;) {
    std::filesystem::resize_file(path, cut);
    const std::string error = tokenizer_error(path, size);
    CAPTURE(cut, error);
    REQUIRE(error.find("truncated") != std::string::npos);
  }
}

TEST_CASE("absurd numbers in a tokenizer are refused") {
  const std::string bytes = small_tokenizer().bytes();
  CHECK_THAT(tokenizer_error_of(with(bytes, 0, 0)), contains("max_token_length is 0"));
  CHECK_THAT(tokenizer_error_of(with(bytes, 0, int_min)),
             contains("max_token_length is -2147483648"));
  CHECK_THAT(tokenizer_error_of(with(bytes, 0, 1)), contains("max_token_length is 1"));
  CHECK_THAT(tokenizer_error_of(with(bytes, 8, -1)), contains("token 0 has a length of -1"));
  CHECK_THAT(tokenizer_error_of(with(bytes, 8, int_max)),
             contains("token 0 has a length of 2147483647"));
  // Both numbers huge: only the file's size can tell.
  CHECK_THAT(tokenizer_error_of(with(with(bytes, 0, int_max), 8, int_max)),
             contains("token 0 has a length of 2147483647, but only"));
  CHECK_THAT(tokenizer_error_of(with(bytes, 4, std::numeric_limits<float>::quiet_NaN())),
             contains("token 0 has a score of"));
  // A max_token_length that is larger than needed does no harm.
  CHECK(tokenizer_error_of(with(bytes, 0, int_max)).empty());
}
