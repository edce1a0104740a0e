// The tinystories program as its user sees it, on models made from scratch.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/program.hpp"
#include "tinystories/reference.hpp"
#include "tinystories/small_model.hpp"

namespace {

using rope_test::contains;
using rope_test::Outcome;
using rope_test::reference_story;
using rope_test::small_tokenizer;
using rope_test::SmallModel;
using rope_test::with_random_weights;
using rope_test::workspace;

Outcome run(const std::vector<std::string>& arguments) {
  return rope_test::run_program(ROPE_TEST_TINYSTORIES, arguments);
}

std::string tokenizer_file() {
  return workspace().write("tokenizer.bin", small_tokenizer().bytes());
}

std::string model_file(const SmallModel& model) {
  return workspace().write("model.bin", model.bytes());
}

/// The text for these options, from a run that must succeed.
std::string story(const SmallModel& model, const std::vector<std::string>& options) {
  std::vector<std::string> arguments{model_file(model), tokenizer_file()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const Outcome outcome = run(arguments);
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.error, contains("tokens per second\n"));
  return outcome.out;
}

/// The run must fail with one line on stderr that starts with the file, and no text.
std::string refusal(const std::string& culprit, const std::vector<std::string>& arguments) {
  const Outcome outcome = run(arguments);
  CHECK(outcome.status == 1);
  CHECK(outcome.out.empty());
  CHECK(std::count(outcome.error.begin(), outcome.error.end(), '\n') == 1);
  CHECK(outcome.error.substr(0, culprit.size() + 15) == "tinystories: " + culprit + ": ");
  return outcome.error;
}

}  // namespace

TEST_CASE("the program tells what plain loops tell") {
  const auto [heads, kv_heads, shared] =
      GENERATE(table<int, int, bool>({{4, 2, true}, {4, 2, false}, {4, 4, true}, {8, 1, true}}));
  SmallModel model;
  model.heads = heads;
  model.kv_heads = kv_heads;
  model.shared_classifier = shared;
  model = with_random_weights(model, static_cast<unsigned>(10 * heads + kv_heads));
  const std::string prompts[] = {"", "the cat",
                                 "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x99\x82 \xFF\x80 end",
                                 "aab aba", "--steps"};
  bool rotation_matters = false;
  for (const std::string& prompt : prompts) {
    for (const int steps : {1, 5, 32}) {
      CAPTURE(heads, kv_heads, shared, prompt, steps);
      const auto expected = reference_story(model, small_tokenizer(), prompt, steps);
      REQUIRE(expected.margin > 1e-4);  // else rounding may decide: take another seed
      rotation_matters |=
          reference_story(model, small_tokenizer(), prompt, steps, {.rotated = false}).text !=
          expected.text;
      for (const char* pairing : {"interleaved", "half_split"}) {
        CAPTURE(pairing);
        CHECK(story(model, {"--prompt", prompt, "--steps", std::to_string(steps), "--pairing",
                            pairing}) == expected.text);
      }
    }
  }
  CHECK(rotation_matters);
}

TEST_CASE("positions are counted with those of the prompt") {
  SmallModel model;
  model.positions = 300;
  model = with_random_weights(model, 21);
  const auto told = [&](const std::string& prompt, int steps) {
    return reference_story(model, small_tokenizer(), prompt, steps).text;
  };
  // 256 if not given.
  CHECK(story(model, {}) == told("", 256));
  CHECK(story(model, {}) != told("", 257));
  CHECK(story(model, {"--steps", "300"}) == told("", 300));
  // The start, the space, and the z's with no token of their own: n + 2 tokens.
  CHECK(story(model, {"--prompt", std::string(9, 'z'), "--steps", "7"}) ==
        std::string(6, 'z') + "\n");
  CHECK(story(model, {"--prompt", std::string(298, 'z'), "--steps", "300"}) ==
        told(std::string(298, 'z'), 300));
  CHECK(story(model, {"--prompt", std::string(5000, 'z'), "--steps", "300"}) ==
        std::string(299, 'z') + "\n");

  // A model with room for less has that as its default.
  SmallModel shorter;
  shorter.positions = 20;
  shorter = with_random_weights(shorter, 22);
  CHECK(story(shorter, {}) == reference_story(shorter, small_tokenizer(), "", 20).text);
  CHECK_THAT(refusal(model_file(shorter), {model_file(shorter), tokenizer_file(), "--steps", "21"}),
             contains("--steps 21 is more than the model's seq_len of 20"));
}

TEST_CASE("a file of prompts is told like one prompt after the other") {
  SmallModel model;
  model.positions = 90;
  model = with_random_weights(model, 31);
  // From no token at all to more than the steps, so that rows are padded, and end at other times.
  const std::vector<std::string> prompts = {
      "the cat", "", "aab aba the cat the", "z", std::string(70, 'z'), "caf\xC3\xA9"};
  std::string file;
  std::string expected;
  for (const std::string& prompt : prompts) {
    file += prompt + '\n';
    const auto told = reference_story(model, small_tokenizer(), prompt, 40);
    REQUIRE(told.margin > 1e-4);
    expected += told.text;
  }
  for (const char* pairing : {"interleaved", "half_split"}) {
    CAPTURE(pairing);
    for (const std::string& content : {file, file.substr(0, file.size() - 1)}) {
      const std::string path = workspace().write("prompts.txt", content);
      CHECK(story(model, {"--prompts", path, "--steps", "40", "--pairing", pairing}) == expected);
    }
  }
  std::string singles;
  for (const std::string& prompt : prompts) {
    singles += story(model, {"--prompt", prompt, "--steps", "40"});
  }
  CHECK(singles == expected);

  // More than are read at a time.
  std::string many;
  std::string many_expected;
  for (int i = 0; i < 70; ++i) {
    const std::string prompt(static_cast<std::size_t>(i % 7), "abt"[i % 3]);
    many += prompt + '\n';
    many_expected += story(model, {"--prompt", prompt, "--steps", "12"});
  }
  CHECK(story(model, {"--prompts", workspace().write("many.txt", many), "--steps", "12"}) ==
        many_expected);

  const std::string empty = workspace().write("empty.txt", "");
  CHECK_THAT(refusal(empty, {model_file(model), tokenizer_file(), "--prompts", empty}),
             contains("has no lines, and so no prompts"));
  const std::string missing = workspace() / "missing.txt";
  CHECK_FALSE(
      refusal(missing, {model_file(model), tokenizer_file(), "--prompts", missing}).empty());
}

TEST_CASE("a sliding window") {
  SmallModel model;
  model.positions = 200;
  model = with_random_weights(model, 32);
  const std::string prompt = "the cat aab " + std::string(80, 'z');
  const std::string whole = reference_story(model, small_tokenizer(), prompt, 200).text;
  // Nothing changes while it covers all positions.
  for (const char* window : {"200", "1000"}) {
    CHECK(story(model, {"--prompt", prompt, "--steps", "200", "--window", window}) == whole);
  }
  bool window_matters = false;
  for (const int window : {1, 2, 9, 60, 199}) {
    CAPTURE(window);
    const auto expected =
        reference_story(model, small_tokenizer(), prompt, 200, {.window = window});
    REQUIRE(expected.margin > 1e-4);
    window_matters |= expected.text != whole;
    for (const char* pairing : {"interleaved", "half_split"}) {
      CHECK(story(model, {"--prompt", prompt, "--steps", "200", "--window", std::to_string(window),
                          "--pairing", pairing}) == expected.text);
    }
  }
  CHECK(window_matters);
}

TEST_CASE("a context shift goes on past the trained length") {
  SmallModel model;
  model.positions = 24;
  model = with_random_weights(model, 33);
  bool shift_matters = false;
  for (const int kept : {0, 1, 5, 22, 23}) {
    for (const std::string& prompt : {std::string("the cat"), std::string(60, 'z')}) {
      CAPTURE(kept, prompt);
      const auto expected =
          reference_story(model, small_tokenizer(), prompt, 120, {.context_shift = kept});
      REQUIRE(expected.margin > 1e-4);
      shift_matters |= expected.text != reference_story(model, small_tokenizer(), prompt, 120,
                                                        {.rotated = false, .context_shift = kept})
                                            .text;
      for (const char* pairing : {"interleaved", "half_split"}) {
        CAPTURE(pairing);
        CHECK(story(model, {"--prompt", prompt, "--steps", "120", "--context-shift",
                            std::to_string(kept), "--pairing", pairing}) == expected.text);
      }
    }
  }
  CHECK(shift_matters);
  // Rows of a batch are shifted one by one, each when it is full.
  const std::string path = workspace().write("prompts.txt", "the cat\n\naab aba\n");
  std::string expected;
  for (const char* prompt : {"the cat", "", "aab aba"}) {
    expected += reference_story(model, small_tokenizer(), prompt, 90, {.context_shift = 3}).text;
  }
  CHECK(story(model, {"--prompts", path, "--steps", "90", "--context-shift", "3"}) == expected);
  // Up to there nothing changes.
  CHECK(story(model, {"--steps", "24", "--context-shift", "0"}) ==
        reference_story(model, small_tokenizer(), "", 24).text);
  CHECK_THAT(
      refusal(model_file(model), {model_file(model), tokenizer_file(), "--context-shift", "24"}),
      contains("--context-shift 24 leaves no room in the model's seq_len of 24"));
}

TEST_CASE("keys in 16 bits tell the same as in float where every token is a clear choice") {
  for (const unsigned seed : {38U, 40U, 130U, 181U}) {
    CAPTURE(seed);
    const SmallModel model = with_random_weights(SmallModel{}, seed);
    const auto expected = reference_story(model, small_tokenizer(), "the cat", 32);
    REQUIRE(expected.margin > 0.1);  // what some roundings of keys to 8 bits do not move
    for (const char* pairing : {"interleaved", "half_split"}) {
      for (const char* keys : {"float", "bf16"}) {
        CAPTURE(pairing, keys);
        CHECK(story(model, {"--prompt", "the cat", "--keys", keys, "--pairing", pairing}) ==
              expected.text);
      }
    }
  }
}

TEST_CASE("how far it is goes to stderr") {
  const std::string model = model_file(with_random_weights(SmallModel{}, 35));
  const Outcome outcome = run({model, tokenizer_file(), "--steps", "7"});
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.error, contains("\r1 of at most 7 tokens, "));
  CHECK_THAT(outcome.error, contains("\n7 tokens, "));
  const std::string prompts = workspace().write("prompts.txt", "a\nb\nc\n");
  const Outcome batch = run({model, tokenizer_file(), "--steps", "7", "--prompts", prompts});
  CHECK_THAT(batch.error, contains(" of at most 21 tokens, "));
  CHECK_THAT(batch.error, contains("\n21 tokens, "));
}

TEST_CASE("the first of the largest logits wins, and the start token ends the text") {
  // All weights 0 but the embedding and the norm, so that every logit is its classifier row's sum.
  SmallModel model;
  model.shared_classifier = false;
  const auto counts = model.counts();
  std::size_t floats = 0;
  for (const std::int32_t count : counts) floats += static_cast<std::size_t>(count);
  model.weights.assign(floats, 0.0F);
  const auto dim = static_cast<std::size_t>(model.dim);
  std::fill_n(model.weights.begin(), counts[0], 1.0F);
  const std::size_t classifier = floats - static_cast<std::size_t>(counts[12]);
  std::fill_n(model.weights.begin() + static_cast<std::ptrdiff_t>(
                                          classifier - static_cast<std::size_t>(counts[11]) - dim),
              dim, 1.0F);
  CHECK(story(model, {"--steps", "2"}) == "<unk><unk>\n");  // all are equal
  const auto favour = [&](std::size_t token, float value) {
    model.weights[classifier + token * dim] = value;
  };
  favour(3 + 'x', 1);
  favour(3 + 'y', 1);
  CHECK(story(model, {"--steps", "3"}) == "xxx\n");
  favour(3, 2);
  CHECK(story(model, {"--steps", "2"}) == std::string("\0\0\n", 3));
  favour(1, 3);
  CHECK(story(model, {"--steps", "9"}) == "\n");
  CHECK(story(model, {"--steps", "9", "--prompt", "the"}) == "the\n");
}

TEST_CASE("files that are not whole are refused in one line") {
  const SmallModel model = with_random_weights(SmallModel{}, 23);
  const std::string bytes = model.bytes();
  const std::string vocabulary = small_tokenizer().bytes();
  const auto refused_model = [&](const std::string& content) {
    const std::string path = workspace().write("bad.bin", content);
    return refusal(path, {path, tokenizer_file()});
  };
  const auto refused_tokenizer = [&](const std::string& content) {
    const std::string path = workspace().write("bad.bin", content);
    return refusal(path, {model_file(model), path});
  };
  for (const std::size_t cut : {0U, 1U, 27U, 28U, 29U, 1000U, 4096U, 20000U}) {
    CAPTURE(cut);
    CHECK_THAT(refused_model(bytes.substr(0, cut)), contains("truncated"));
  }
  for (const std::size_t cut : {0U, 3U, 4U, 5U, 12U, 100U, 2000U}) {
    CAPTURE(cut);
    CHECK_THAT(refused_tokenizer(vocabulary.substr(0, cut)), contains("truncated"));
  }
  CHECK_THAT(refused_model(bytes + '\0'), contains("too long"));
  CHECK_THAT(refused_tokenizer(vocabulary + '\0'), contains("too long"));
  CHECK_THAT(refused_model(vocabulary), contains("no model"));
  CHECK_FALSE(refused_tokenizer(bytes).empty());
  CHECK_THAT(refused_model(std::string(bytes.size(), '\x7F')), contains("no model"));
  CHECK_FALSE(refused_model(std::string(bytes.size(), '\xFF')).empty());

  const std::string missing = workspace() / "missing.bin";
  CHECK_FALSE(refusal(missing, {missing, tokenizer_file()}).empty());
  CHECK_FALSE(refusal(missing, {model_file(model), missing}).empty());
}

TEST_CASE("weights that are no numbers make no crash") {
  SmallModel model = with_random_weights(SmallModel{}, 24);
  std::fill(model.weights.begin(), model.weights.end(), -__builtin_nanf(""));
  CHECK_FALSE(story(model, {"--steps", "4", "--prompt", "the cat"}).empty());
}

TEST_CASE("a command line that makes no sense shows the usage") {
  const std::string model = model_file(with_random_weights(SmallModel{}, 25));
  const std::string tokenizer = tokenizer_file();
  const std::vector<std::string> wrong[] = {
      {},
      {model},
      {model, tokenizer, tokenizer},
      {model, tokenizer, "--temperature", "1"},
      {model, tokenizer, "-n", "5"},
      {model, tokenizer, "--prompt"},
      {model, tokenizer, "--steps"},
      {model, tokenizer, "--steps", ""},
      {model, tokenizer, "--steps", "0"},
      {model, tokenizer, "--steps", "-3"},
      {model, tokenizer, "--steps", "5x"},
      {model, tokenizer, "--steps", "99999999999999999999"},
      {model, tokenizer, "--pairing"},
      {model, tokenizer, "--pairing", "half"},
      {model, tokenizer, "--prompts"},
      {model, tokenizer, "--prompts", "file", "--prompt", "text"},
      {model, tokenizer, "--keys"},
      {model, tokenizer, "--keys", "int4"},
      {model, tokenizer, "--window", "0"},
      {model, tokenizer, "--context-shift", "-1"},
      {model, tokenizer, "--window", "4", "--context-shift", "1"},
  };
  for (const auto& arguments : wrong) {
    CAPTURE(arguments);
    const Outcome outcome = run(arguments);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.error, contains("usage: tinystories MODEL TOKENIZER"));
  }
  // Options may stand before the files.
  CHECK(run({"--steps", "3", model, "--prompt", "z", tokenizer}).status == 0);
}
