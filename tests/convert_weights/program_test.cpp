// The program convert_weights as its user sees it: byte for byte, and when the disk is full or it
// is killed.
#include <signal.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "convert_weights/small_file.hpp"
#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;
using rope_test::contains;
using rope_test::file_bytes;
using rope_test::layer;
using rope_test::Outcome;
using rope_test::SmallTensor;
using rope_test::TemporaryFolder;

Outcome run(const std::vector<std::string>& arguments, rlim_t file_limit = RLIM_INFINITY) {
  return rope_test::run_program(ROPE_TEST_CONVERT_WEIGHTS, arguments, file_limit);
}

std::string refusal(const std::vector<std::string>& arguments) {
  const Outcome outcome = run(arguments);
  CHECK(outcome.status == 1);
  CHECK(outcome.out.empty());
  CHECK(std::count(outcome.error.begin(), outcome.error.end(), '\n') == 1);
  CHECK(outcome.error.starts_with("convert_weights: "));
  return outcome.error;
}

/// Half-split rows of `data` in interleaved order, for heads of `head_dim` rows with `rotary_dim`
/// rotated ones from `first` on.
std::string interleaved(const std::string& data, std::size_t row_bytes, std::size_t head_dim,
                        std::size_t first, std::size_t rotary_dim) {
  std::string result;
  for (std::size_t row = 0; row < data.size() / row_bytes; ++row) {
    const std::size_t in_head = row % head_dim;
    std::size_t from = in_head;
    if (in_head >= first && in_head < first + rotary_dim) {
      const std::size_t feature = in_head - first;
      from = first + (feature % 2) * (rotary_dim / 2) + feature / 2;
    }
    result += data.substr((row - in_head + from) * row_bytes, row_bytes);
  }
  return result;
}

/// The whole file of `tensors` after the conversion.
std::string expected_file(const std::vector<SmallTensor>& tensors, std::size_t head_dim,
                          std::size_t first, std::size_t rotary_dim) {
  std::string data;
  for (const SmallTensor& tensor : tensors) {
    const bool concerned = tensor.name.find(".q_") != std::string::npos ||
                           tensor.name.find(".k_") != std::string::npos;
    const std::size_t row_bytes = tensor.shape.size() == 2 ? 12 : 2;
    data += concerned ? interleaved(tensor.data(), row_bytes, head_dim, first, rotary_dim)
                      : tensor.data();
  }
  return rope_test::safetensors(rope_test::header_of(tensors), data);
}

const char* const config =
    R"({"model_type":"llama","num_attention_heads":4,"num_key_value_heads":2,"head_dim":8})";

}  // namespace

TEST_CASE("a file is converted as by hand, and back to the same bytes") {
  const TemporaryFolder folder;
  const auto tensors = layer(0, 4, 2, 8);
  folder.write("model.safetensors", rope_test::file_of(tensors));
  folder.write("config.json", config);
  struct Part {
    std::size_t first;
    std::size_t rotary_dim;
  };
  const auto [first, rotary_dim] = GENERATE(Part{0, 8}, Part{0, 4}, Part{2, 6}, Part{4, 4});
  const std::vector<std::string> part = {"--first-dim", std::to_string(first), "--rotary-dim",
                                         std::to_string(rotary_dim)};
  const auto converted = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), part.begin(), part.end());
    const Outcome outcome = run(arguments);
    CHECK(outcome.status == 0);
    CHECK(outcome.error.empty());
    CHECK_THAT(outcome.out, contains("reordered 3 tensors of q and 3 of k, copied 4, in 1 file\n"));
    return file_bytes(arguments[3]);
  };
  const std::string there =
      converted({"--to", "interleaved", folder / "model.safetensors", folder / "there"});
  CHECK(there == expected_file(tensors, 8, first, rotary_dim));
  CHECK(there != rope_test::file_of(tensors));
  CHECK(converted({"--to", "half_split", folder / "there", folder / "back"}) ==
        rope_test::file_of(tensors));
  CHECK(folder.names() ==
        std::vector<std::string>{"back", "config.json", "model.safetensors", "there"});
}

TEST_CASE("a folder of shards is converted, and back to the same bytes") {
  const TemporaryFolder folder;
  const auto first = layer(0, 4, 2, 8);
  const auto second = layer(1, 4, 2, 8);
  std::string index;
  for (const auto& tensor : first) index += ",\"" + tensor.name + "\":\"a.safetensors\"";
  for (const auto& tensor : second) index += ",\"" + tensor.name + "\":\"b.safetensors\"";
  index = R"({"metadata":{},"weight_map":{)" + index.substr(1) + "}}";
  const std::string index_name = "model.safetensors.index.json";
  folder.write("in/a.safetensors", rope_test::file_of(first));
  folder.write("in/b.safetensors", rope_test::file_of(second));
  folder.write("in/" + index_name, index);
  folder.write("in/config.json", config);
  folder.write("in/notes.txt", "not of the model");

  CHECK(run({folder / "in", folder / "out/", "--to", "interleaved"}).status == 0);
  CHECK(file_bytes(folder / "out/a.safetensors") == expected_file(first, 8, 0, 8));
  CHECK(file_bytes(folder / "out/b.safetensors") == expected_file(second, 8, 0, 8));
  CHECK(run({folder / "out", folder / "back", "--to", "half_split"}).status == 0);
  CHECK(folder.names("back") ==
        std::vector<std::string>{"a.safetensors", "b.safetensors", "config.json", index_name});
  for (const std::string& name : folder.names("back")) {
    CAPTURE(name);
    CHECK(file_bytes(folder / ("back/" + name)) == file_bytes(folder / ("in/" + name)));
  }

  SECTION("an index that does not fit the shards is refused") {
    const auto refused_with = [&](const std::string& from, const std::string& to) {
      std::string wrong = index;
      wrong.replace(wrong.find(from), from.size(), to);
      folder.write("in/" + index_name, wrong);
      return refusal({folder / "in", folder / "again", "--to", "interleaved"});
    };
    CHECK_THAT(refused_with("a.safetensors", "b.safetensors"), contains("the index has it in b."));
    CHECK_THAT(refused_with("a.safetensors", "../a.safetensors"), contains("not the name of a"));
    CHECK_THAT(refused_with("a.safetensors", "a\\u0000.safetensors"),
               contains("not the name of a"));
    CHECK_THAT(
        refused_with("{\"model.layers.0.input", "{\"x\":\"c.safetensors\",\"model.layers.0.input"),
        contains("c.safetensors: cannot"));
    CHECK_THAT(refused_with("model.layers.0.input_layernorm", "x"), contains("does not list it"));
    CHECK_THAT(
        refused_with("{\"model.layers.0.input", "{\"x\":\"b.safetensors\",\"model.layers.0.input"),
        contains("\"x\": is not in b.safetensors"));
    CHECK_THAT(refused_with("weight_map", "weights"), contains("has no weight_map"));
    CHECK_THAT(refused_with("}}", "}"), contains("cannot be read as a JSON object"));
    fs::remove(folder / ("in/" + index_name));
    CHECK_THAT(refusal({folder / "in", folder / "again", "--to", "interleaved"}),
               contains("but no " + index_name));
    CHECK_FALSE(fs::exists(folder / "again"));
  }
}

TEST_CASE("what cannot be done is said in one line and leaves nothing") {
  const TemporaryFolder folder;
  const std::string whole = rope_test::file_of(layer(0, 4, 2, 8));
  folder.write("a", whole);
  folder.write("config.json", config);
  folder.write("short", whole.substr(0, whole.size() - 1));
  folder.write("empty", "");
  folder.write("taken", "precious");
  folder.write("norm", rope_test::file_of({{"norm.weight", {6}}}));
  const auto names = folder.names();
  const auto refused = [&](const std::string& source, const std::string& target) {
    return refusal({folder / source, folder / target, "--to", "interleaved"});
  };
  CHECK_THAT(refused("a", "taken"), contains("taken: is there already"));
  CHECK(file_bytes(folder / "taken") == "precious");
  CHECK_THAT(refused("a", "a"), contains("a: is there already"));
  CHECK_THAT(refused("short", "out"), contains("short: the tensors take "));
  CHECK_THAT(refused("empty", "out"), contains("0 bytes are too few"));
  CHECK_THAT(refused("missing", "out"), contains("missing: cannot be opened: No such file"));
  CHECK_THAT(refused("a", "no/folder/out"), contains("cannot be made: No such file"));
  CHECK_THAT(refused("norm", "out"), contains("0 tensors of q and 0 of k match the patterns"));
  CHECK_THAT(
      refusal({folder / "a", folder / "out", "--to", "interleaved", "--q", "*v_proj.weight"}),
      contains("self_attn.q_proj.weight\": seems to belong to q or k"));
  CHECK_THAT(refusal({folder / "a", folder / "out", "--to", "interleaved", "--heads", "8"}),
             contains("but 8 heads of 8 need 64 rows"));
  CHECK_THAT(refusal({"/dev/zero", folder / "out", "--to", "interleaved"}),
             contains("/dev/zero: is not a regular file"));
  CHECK_THAT(
      refusal({folder / "a", folder / "out", "--to", "interleaved", "--config", folder / "."}),
      contains("is a folder"));
  const Outcome help = run({"--help"});
  CHECK(help.status == 0);
  CHECK(help.out.starts_with("usage: convert_weights"));
  const Outcome usage = run({folder / "a", folder / "out"});
  CHECK(usage.status == 2);
  CHECK_THAT(usage.error, contains("--to has no default") && contains("usage: convert_weights"));
  CHECK(folder.names() == names);
}

TEST_CASE("a disk that is full leaves nothing") {
  const TemporaryFolder folder;
  const std::string whole = rope_test::file_of(layer(0, 4, 2, 8));
  folder.write("in/model.safetensors", whole);
  folder.write("in/config.json", config);
  // Within the header, within a reordered tensor, and at the last byte.
  for (const std::size_t limit : {std::size_t{300}, whole.size() - 500, whole.size() - 1}) {
    CAPTURE(limit);
    for (const char* source : {"in", "in/model.safetensors"}) {
      const Outcome outcome = run({folder / source, folder / "out", "--to", "interleaved"}, limit);
      CHECK(outcome.status == 1);
      CHECK_THAT(outcome.error, contains("cannot be written: File too large"));
      CHECK(folder.names() == std::vector<std::string>{"in"});
    }
  }
  CHECK(run({folder / "in", folder / "out", "--to", "interleaved"}, whole.size()).status == 0);
}

TEST_CASE("a program that is ended leaves no half-written target") {
  const TemporaryFolder folder;
  // 256 MB of zeros that take no room here, so that there is time to end it.
  const std::string header =
      R"({"x.self_attn.q_proj.weight":{"dtype":"U8","shape":[32,4194304],"data_offsets":[0,134217728]},)"
      R"("x.self_attn.k_proj.weight":{"dtype":"U8","shape":[32,4194304],"data_offsets":[134217728,268435456]}})";
  folder.write("a", rope_test::safetensors(header, ""));
  const auto size = 8 + header.size() + 268435456;
  fs::resize_file(folder / "a", size);
  folder.write("config.json", R"({"model_type":"llama","num_attention_heads":4,"head_dim":8})");
  const std::size_t before = folder.names().size();

  for (const int signal_number : {SIGTERM, SIGINT, SIGKILL}) {
    CAPTURE(signal_number);
    const rope_test::RunningProgram program(ROPE_TEST_CONVERT_WEIGHTS,
                                            {folder / "a", folder / "out", "--to", "interleaved"});
    while (folder.names().size() == before && !program.has_ended()) {
    }
    program.send(signal_number);
    const Outcome outcome = program.wait();
    if (outcome.status == 0) {  // it was faster
      CHECK(fs::file_size(folder / "out") == size);
      fs::remove(folder / "out");
      continue;
    }
    CHECK(outcome.signal == signal_number);
    CHECK_FALSE(fs::exists(folder / "out"));
    if (signal_number != SIGKILL) CHECK(folder.names().size() == before);
  }
}
