// Which tensors are reordered, and what config.json says of the heads.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../../examples/convert_weights/command_line.hpp"
#include "../../examples/convert_weights/model.hpp"
#include "../../examples/convert_weights/plan.hpp"
#include "convert_weights/small_file.hpp"
#include "support/catch.hpp"

namespace {

using convert_weights::default_patterns;
using convert_weights::Model;
using convert_weights::model_of;
using convert_weights::ModelOptions;
using convert_weights::Patterns;
using convert_weights::Plan;
using convert_weights::plan_of;
using nlohmann::json;
using rope_test::contains;
using rope_test::SmallTensor;

const Model small_model{.heads = 4, .kv_heads = 2, .head_dim = 8, .rotary_dim = 8, .first_dim = 0};

Plan plan(const std::vector<SmallTensor>& tensors, const Patterns& patterns = default_patterns(),
          const Model& model = small_model) {
  const std::string bytes = rope_test::file_of(tensors);
  return plan_of("f", convert_weights::read_header("f", rope_test::as_bytes(bytes)), model,
                 patterns);
}

template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "accepted";
}

std::string refusal_of(const std::string& name, const std::vector<std::int64_t>& shape,
                       const Patterns& patterns = default_patterns()) {
  return refusal([&] { plan({{name, shape}}, patterns); });
}

/// {heads, kv_heads, head_dim, rotary_dim} as config.json has them.
std::vector<std::int64_t> model(const char* config, const ModelOptions& options = {}) {
  const Model found = model_of(options, json::parse(config));
  return {found.heads, found.kv_heads, found.head_dim, found.rotary_dim};
}

std::string model_refusal(const char* config, const ModelOptions& options = {}) {
  return refusal([&] { model_of(options, json::parse(config)); });
}

using Counts = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("q and k are reordered by their own heads, all else is copied") {
  const Plan found = plan(rope_test::layer(3, 4, 2, 8));
  CHECK(found.q == 3);
  CHECK(found.k == 3);
  const Counts heads = {0, 4, 4, 2, 2, 0, 0, 0, 1, 2};
  const Counts row_bytes = {0, 12, 2, 12, 2, 0, 0, 0, 2, 2};
  REQUIRE(found.steps.size() == heads.size());
  for (std::size_t i = 0; i < heads.size(); ++i) {
    CAPTURE(found.steps[i].tensor.name);
    CHECK(found.steps[i].heads == heads[i]);
    if (heads[i] > 0) CHECK(found.steps[i].head_dim == 8);
    if (heads[i] > 0) CHECK(found.steps[i].row_bytes == row_bytes[i]);
  }
  const Plan meta = plan({{"layers.0.attention.wq.weight", {32, 6}},
                          {"layers.0.attention.wk.weight", {16, 6}},
                          {"layers.0.attention.wv.weight", {16, 6}},
                          {"layers.0.attention.wo.weight", {6, 32}}});
  CHECK(meta.q == 1);
  CHECK(meta.k == 1);
  // A norm with a row of its own for each head.
  const Plan norm = plan({{"self_attn.q_norm.weight", {4, 8}}});
  CHECK(norm.steps[0].heads == 4);
  CHECK(norm.steps[0].row_bytes == 2);
}

TEST_CASE("v and the output projection are refused") {
  Patterns all = default_patterns();
  all.k = {"a.*"};
  for (const char* name :
       {"a.v_proj.weight", "a.v_norm.weight", "a.v_lin.bias", "a.self.value.weight",
        "a.to_v.weight", "a.o_proj.weight", "a.out_proj.weight", "a.to_out.0.weight",
        "a.self_attn.dense.weight", "a.attn.c_proj.weight"}) {
    CHECK(refusal_of(name, {16, 6}, all) ==
          "f: \"" + std::string(name) +
              "\": is of v or of the output projection, which must not be reordered");
  }
  all.k = {"*.wo", "*.wv"};
  CHECK_THAT(refusal_of("a.wv", {16, 6}, all), contains("is of v or of the output projection"));
  CHECK_THAT(refusal_of("a.wo", {16, 6}, all), contains("is of v or of the output projection"));
}

TEST_CASE("a shape that the heads do not explain is refused") {
  const std::string q = "self_attn.q_proj.weight";
  CHECK(refusal_of(q, {32, 6}) == "accepted");
  CHECK(refusal_of(q, {16, 6}) ==
        R"(f: "self_attn.q_proj.weight": has the shape [16, 6], but 4 heads of 8 need 32 rows)");
  CHECK(refusal_of(q, {8}) ==
        R"(f: "self_attn.q_proj.weight": has the shape [8], but 4 heads of 8 need 32 rows)");
  CHECK(refusal_of(q, {}) ==
        R"(f: "self_attn.q_proj.weight": has the shape [], but 4 heads of 8 need 32 rows)");
  CHECK(refusal_of("self_attn.k_proj.weight", {32, 6}) ==
        R"(f: "self_attn.k_proj.weight": has the shape [32, 6], but 2 heads of 8 need 16 rows)");
}

TEST_CASE("what seems to belong to q or k is not passed over in silence") {
  for (const char* name :
       {"a.self_attn.q_proj.weight_scale", "a.self_attn.q_proj.lora_B.weight",
        "a.self_attn.qkv_proj.weight", "a.attention.query_key_value.weight", "a.q_layernorm.weight",
        "a.k_layernorm.norms.0.weight", "a.self_attn.kv_a_proj_with_mqa.weight",
        "a.attn.c_attn.weight", "a.attention.wq.scales", "a.self.key.bias",
        "a.SelfAttention.q.weight", "a.SelfAttention.k.weight", "a.to_q.weight", "a.to_k.weight"}) {
    CAPTURE(name);
    CHECK_THAT(refusal_of(name, {32, 6}), contains("seems to belong to q or k, but is not known"));
    Patterns patterns = default_patterns();
    patterns.skip = {"a.*"};
    CHECK(refusal_of(name, {32, 6}, patterns) == "accepted");
  }
  CHECK(refusal_of("a.self_attn.q_proj.input_scale", {}) == "accepted");
  CHECK(refusal_of("a.mlp.up_proj.weight", {32, 6}) == "accepted");
  CHECK_THAT(refusal_of("a.q_b", {32}, {.q = {"*q_b"}, .k = {"*q*"}, .skip = {}}),
             contains("matches patterns of both q and k"));
}

TEST_CASE("a star stands for any text") {
  using convert_weights::plan_detail::matches;
  CHECK(matches("a*c", "abc"));
  CHECK(matches("a*c", "ac"));
  CHECK(matches("*", ""));
  CHECK(matches("", ""));
  CHECK(matches("*ab*ab", "abxabxab"));
  CHECK(matches("a**b*", "axxb"));
  CHECK_FALSE(matches("a*c", "abcd"));
  CHECK_FALSE(matches("abc", "ab"));
  CHECK_FALSE(matches("", "a"));
  CHECK_FALSE(matches("*ab*ab", "ab"));
  CHECK_FALSE(matches("a.c", "abc"));
}

TEST_CASE("config.json gives the heads and the rotated part") {
  const char* const llama = R"({"model_type":"llama","num_attention_heads":32,
                                "num_key_value_heads":8,"hidden_size":4096})";
  CHECK(model(llama) == Counts{32, 8, 128, 128});
  CHECK(model(R"({"model_type":"llama","num_attention_heads":32,"hidden_size":4096,
                  "num_key_value_heads":null})") == Counts{32, 32, 128, 128});
  CHECK(model(R"({"model_type":"qwen3","num_attention_heads":16,"head_dim":256,
                  "num_key_value_heads":8,"hidden_size":3072})") == Counts{16, 8, 256, 256});
  // What the type of model implies.
  CHECK(model(R"({"model_type":"gemma","num_attention_heads":8,"num_key_value_heads":1,
                  "hidden_size":1024})") == Counts{8, 1, 256, 256});
  CHECK(model(R"({"model_type":"glm4","num_attention_heads":4,"num_key_value_heads":2,
                  "head_dim":128,"hidden_size":512})") == Counts{4, 2, 128, 64});
  CHECK(model(R"({"model_type":"stablelm","num_attention_heads":4,"num_key_value_heads":4,
                  "hidden_size":320,"partial_rotary_factor":0.4})") == Counts{4, 4, 80, 32});
  // The command line goes before, and is enough.
  CHECK(model(llama,
              {.heads = 16, .kv_heads = 2, .head_dim = 64, .rotary_dim = 32, .first_dim = 32}) ==
        Counts{16, 2, 64, 32});
  CHECK(model(llama,
              {.heads = {}, .kv_heads = {}, .head_dim = {}, .rotary_dim = 64, .first_dim = {}}) ==
        Counts{32, 8, 128, 64});
  const ModelOptions enough{
      .heads = 4, .kv_heads = {}, .head_dim = 6, .rotary_dim = 4, .first_dim = {}};
  CHECK(model("{}", enough) == Counts{4, 4, 6, 4});
  CHECK(model(R"({"model_type":"unheard of"})", enough) == Counts{4, 4, 6, 4});
}

TEST_CASE("a config.json that does not say enough, or nonsense, is refused") {
  const ModelOptions heads{
      .heads = 4, .kv_heads = {}, .head_dim = {}, .rotary_dim = {}, .first_dim = {}};
  const ModelOptions size{
      .heads = 4, .kv_heads = {}, .head_dim = 8, .rotary_dim = {}, .first_dim = {}};
  CHECK_THAT(model_refusal("{}"), contains("number of heads (--heads) is not known"));
  CHECK_THAT(model_refusal("{}", heads), contains("head size (--head-dim) is not known"));
  CHECK_THAT(model_refusal("{}", size), contains("rotated part (--rotary-dim) is not known"));
  CHECK_THAT(model_refusal(R"({"model_type":"unheard of"})", heads), contains("unheard of"));
  for (const char* value : {"0", "-4", "4.0", "\"4\"", "[]", "1000001", "1e30"}) {
    CAPTURE(value);
    const std::string config =
        R"({"model_type":"llama","head_dim":8,"num_attention_heads":)" + std::string(value) + "}";
    CHECK_THAT(model_refusal(config.c_str()), contains("config.json: num_attention_heads is "));
  }
  ModelOptions odd = size;
  for (const std::int64_t rotary_dim : {7, 10, 0}) {
    odd.rotary_dim = rotary_dim;
    CHECK_THAT(model_refusal("{}", odd),
               contains("is not an even number of features within a head of 8"));
  }
  odd.rotary_dim = 4;
  odd.first_dim = 5;
  CHECK_THAT(model_refusal("{}", odd), contains("the rotated part, 4 features from 5 on, is not"));
}

TEST_CASE("a command line that makes no sense is refused") {
  using convert_weights::parse;
  const std::vector<std::string> wrong[] = {{},
                                            {"a", "b"},
                                            {"a", "b", "--to"},
                                            {"a", "b", "--to", "split"},
                                            {"a", "--to", "interleaved"},
                                            {"a", "b", "c", "--to", "interleaved"},
                                            {"a", "", "--to", "interleaved"},
                                            {"a", "b", "--to", "interleaved", "--heads", "0"},
                                            {"a", "b", "--to", "interleaved", "--heads", "4x"},
                                            {"a", "b", "--to", "interleaved", "--head-dim", ""},
                                            {"a", "b", "--to", "interleaved", "--first-dim", "-1"},
                                            {"a", "b", "--to", "interleaved", "--rotary", "8"}};
  for (const auto& arguments : wrong) {
    CAPTURE(arguments);
    CHECK_THROWS_AS(parse(arguments), convert_weights::UsageError);
  }
  const auto request = parse({"--to", "half_split", "a/", "--q", "x", "--q", "y", "b//", "--skip",
                              "z", "--first-dim", "0"});
  CHECK(request.to == rope::Pairing::half_split);
  CHECK(request.source == "a");
  CHECK(request.target == "b");
  CHECK(request.patterns.q == std::vector<std::string>{"x", "y"});
  CHECK(request.patterns.k == default_patterns().k);
  CHECK(request.patterns.skip == std::vector<std::string>{"z"});
  CHECK(request.model.first_dim == 0);
  CHECK_FALSE(request.model.heads.has_value());
}
