#include "rope/huggingface.hpp"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rope/rotate.hpp"
#include "rope/table.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using nlohmann::json;
using rope::Dialect;
using rope::model_rope;
using rope::ModelRope;
using rope::Pairing;

/// A small Llama; what a test is about is laid over it, null takes a key away.
json llama(const char* changes = "{}") {
  json config = json::parse(R"({"model_type": "llama", "hidden_size": 4096,
      "num_attention_heads": 32, "max_position_embeddings": 131072, "rope_theta": 500000})");
  config.merge_patch(json::parse(changes));
  return config;
}

double base_of(const json& config) { return model_rope(config).only().parameters.base; }

/// The error that a config is refused with; its type by what it is caught as.
template <class Expected>
std::string refusal(const json& config, const rope::ModelOptions& options = {}) {
  try {
    model_rope(config, options);
  } catch (const Expected& error) {
    return static_cast<const rope::Error&>(error).what();
  }
  FAIL("nothing was thrown, or something else, for " << config.dump());
  return {};
}

bool has_warning(const ModelRope& model, const std::string& part) {
  for (const std::string& warning : model.warnings) {
    if (warning.find(part) != std::string::npos) return true;
  }
  return false;
}

std::string theta_text(const char* value) {
  return std::string(R"({"model_type": "llama", "head_dim": 8, "rope_theta": )") + value + "}";
}

constexpr const char* yarn_keys =
    R"("rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 32768)";

TEST_CASE("the base comes out of every generation's place") {
  CHECK(base_of(llama(R"({"rope_theta": 1e6})")) == 1e6);
  CHECK(base_of(llama(R"({"rope_theta": null, "rope_parameters": {"rope_theta": 1000000}})")) ==
        1e6);
  const ModelRope both = model_rope(llama(
      (std::string(R"({"rope_theta": 1e6, "rope_parameters": {)") + yarn_keys + "}}").c_str()));
  CHECK(both.only().parameters.base == 1e6);
  CHECK(std::holds_alternative<rope::Yarn>(both.only().parameters.scaling));
  CHECK(base_of(llama(R"({"rope_parameters": {"rope_theta": 500000.0}})")) == 500000);
  for (const char* const text : {"1e7", "5e10", "11158840"}) {
    CHECK(base_of(json::parse(theta_text(text))) == std::stod(text));
  }
  CHECK(refusal<rope::InvalidArgument>(llama(R"({"rope_parameters": {"rope_theta": 1e6}})")) ==
        "rope::model_rope: rope_parameters.rope_theta 1000000 contradicts rope_theta 500000");
}

TEST_CASE("the class's default base, and an error where there is none") {
  const auto base = [](const char* type) {
    return base_of({{"model_type", type}, {"head_dim", 64}});
  };
  CHECK(base("llama") == 10000);
  CHECK(base("mixtral") == 1e6);
  CHECK(base("cohere") == 5e5);
  CHECK(base("smollm3") == 2e6);
  CHECK(base("apertus") == 1.2e7);
  CHECK(base("hy_v3") == 11158840);
  CHECK(base("nomic_bert") == 1000);
  CHECK(has_warning(model_rope(llama(R"({"rope_theta": null})")), "rope_theta is missing"));
  CHECK(refusal<rope::InvalidArgument>({{"model_type", "cohere_compass_text"}, {"head_dim", 64}}) ==
        "rope::model_rope: rope_theta is missing, and cohere_compass_text has no default");
}

TEST_CASE("a base that cannot be right") {
  for (const char* const text : {"0", "-1", "1", "0.5"}) {
    CHECK(refusal<rope::InvalidArgument>(json::parse(theta_text(text))) ==
          std::string("rope::model_rope: rope_theta must be above 1, got ") + text);
  }
  for (const double value :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    json config = llama();
    config["rope_theta"] = value;
    CHECK(refusal<rope::InvalidArgument>(config) == "rope::model_rope: rope_theta must be finite");
  }
  // Python writes and reads these three; JSON has none of them.
  for (const char* const text : {"NaN", "Infinity", "-Infinity", "1e999"}) {
    try {
      rope::model_rope_from_text(theta_text(text));
      FAIL("accepted " << text);
    } catch (const rope::ParseError& error) {
      CHECK_THAT(error.what(), rope_test::contains("after the key \"rope_theta\""));
    }
  }
}

TEST_CASE("names of schemes, old and new") {
  const auto scaling = [](const char* dictionary) {
    return model_rope(llama((std::string(R"({"rope_scaling": )") + dictionary + "}").c_str()))
        .only()
        .parameters.scaling;
  };
  for (const char* const plain : {"null", "{}", R"({"rope_type": "default"})",
                                  R"({"type": "default"})", R"({"rope_type": null})"}) {
    CHECK(std::holds_alternative<rope::Plain>(scaling(plain)));
  }
  for (const char* const linear :
       {R"({"type": "linear", "factor": 4})", R"({"rope_type": "linear", "factor": 4.0})",
        R"({"type": "linear", "rope_type": "linear", "factor": 4})"}) {
    REQUIRE(std::holds_alternative<rope::Linear>(scaling(linear)));
    CHECK(std::get<rope::Linear>(scaling(linear)).factor.value() == 4.0);
  }
  const std::string list = "[" + [] {
    std::string ones = "1";
    for (int i = 1; i < 64; ++i) ones += ", 1.5";
    return ones;
  }() + "]";
  const std::string factors = R"("short_factor": )" + list + R"(, "long_factor": )" + list;
  for (const std::string name : {R"("type": "su")", R"("rope_type": "longrope")",
                                 R"("type": "su", "rope_type": "longrope")"}) {
    CHECK(std::holds_alternative<rope::LongRope>(scaling(
        ("{" + name + R"(, "original_max_position_embeddings": 4096, )" + factors + "}").c_str())));
  }
  CHECK(refusal<rope::InvalidArgument>(
            llama(R"({"rope_scaling": {"type": "linear", "rope_type": "yarn", "factor": 4}})")) ==
        "rope::model_rope: rope_scaling.rope_type \"yarn\" contradicts rope_scaling.type "
        "\"linear\"");
  CHECK(refusal<rope::InvalidArgument>(llama(R"({"rope_scaling": {"rope_type": "foo"}})")) ==
        "rope::model_rope: rope_scaling.rope_type \"foo\" is not a known scheme");
  CHECK(refusal<rope::InvalidArgument>(llama(R"({"rope_scaling": {"type": "mrope"}})")) ==
        "rope::model_rope: rope_scaling.type \"mrope\" is not a known scheme");
}

TEST_CASE("the original length, given, missing, and contradictory") {
  const auto model = [](const std::string& keys, const char* more = "{}") {
    json config = llama(more);
    config["rope_scaling"] = json::parse("{" + keys + "}");
    return model_rope(config);
  };
  const auto yarn = [](const ModelRope& from) {
    return std::get<rope::Yarn>(from.only().parameters.scaling);
  };
  CHECK(yarn(model(yarn_keys)).original_max_positions.value() == 32768);

  const ModelRope no_original = model(R"("rope_type": "yarn", "factor": 4)");
  CHECK(yarn(no_original).original_max_positions.value() == 131072);
  CHECK(has_warning(no_original, "original_max_position_embeddings is missing"));

  const ModelRope no_factor =
      model(R"("rope_type": "yarn", "original_max_position_embeddings": 32768)");
  CHECK(yarn(no_factor).factor.value() == 4.0);
  CHECK(has_warning(no_factor, "rope_scaling.factor is missing"));

  CHECK(yarn(model(R"("rope_type": "yarn", "factor": 4)",
                   R"({"original_max_position_embeddings": 8192})"))
            .original_max_positions.value() == 8192);
  CHECK_THROWS_WITH(model(yarn_keys, R"({"original_max_position_embeddings": 8192})"),
                    rope_test::contains("original_max_position_embeddings 32768 contradicts "
                                        "original_max_position_embeddings 8192"));
  CHECK_THROWS_WITH(
      model(R"("rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4)"),
      "rope::model_rope: rope_scaling.original_max_position_embeddings is missing, which llama3 "
      "needs");
  CHECK_THROWS_WITH(model(R"("rope_type": "linear")"),
                    "rope::model_rope: rope_scaling.factor is missing, which linear needs");
  CHECK(has_warning(model(yarn_keys, R"({"max_position_embeddings": 40960})"),
                    "factor is 4, although the lengths would make it 1.25"));
}

TEST_CASE("transformers 4 reads lengths differently") {
  const rope::ModelOptions old = {.dialect = Dialect::transformers4};
  json config = llama(R"({"max_position_embeddings": 40960})");
  config["rope_scaling"] = json::parse(std::string("{") + yarn_keys + "}");
  const ModelRope model = model_rope(config, old);
  CHECK(std::get<rope::Yarn>(model.only().parameters.scaling).factor.value() == 1.25);
  CHECK(has_warning(model, "factor 4 has no effect in transformers 4"));
  CHECK(refusal<rope::InvalidArgument>(llama(R"({"rope_parameters": {"rope_type": "default"}})"),
                                       old) ==
        "rope::model_rope: rope_parameters is not known to transformers 4");

  // It looks for these two beside the dictionary only, and has its own default without a word.
  const json inside = json::parse(R"({"model_type": "llama", "head_dim": 64, "rope_scaling":
      {"type": "linear", "factor": 2, "rope_theta": 1000000, "partial_rotary_factor": 0.5}})");
  CHECK(model_rope(inside).only().parameters.base == 1e6);
  CHECK(model_rope(inside).only().rotary_dim() == 32);
  const ModelRope outside = model_rope(inside, old);
  CHECK(outside.only().parameters.base == 10000);
  CHECK(outside.only().rotary_dim() == 64);
  CHECK(has_warning(outside, "rope_scaling.rope_theta is not read by transformers 4"));
  CHECK(has_warning(outside, "rope_scaling.partial_rotary_factor is not read by transformers 4"));
}

TEST_CASE("the size of a head") {
  const auto pairs = [](const char* changes) {
    return model_rope(llama(changes)).only().frequencies().pairs();
  };
  CHECK(pairs(R"({"hidden_size": 3584, "num_attention_heads": 16, "head_dim": 256})") == 128);
  CHECK(pairs(R"({"hidden_size": 3584, "num_attention_heads": 16})") == 112);
  json null_head = llama(R"({"hidden_size": 3584, "num_attention_heads": 16})");
  null_head["head_dim"] = nullptr;
  CHECK(model_rope(null_head).only().frequencies().pairs() == 112);
  CHECK(pairs(R"({"hidden_size": 640, "num_attention_heads": 4, "head_dim": 256})") == 128);
  CHECK(
      model_rope(json{{"model_type", "qwen3"}, {"hidden_size", 1024}, {"num_attention_heads", 16}})
          .only()
          .head_dim == 128);

  // The class has the size of a whole default model, which one size from elsewhere would spoil.
  const ModelRope bare = model_rope(json{{"model_type", "llama"}});
  CHECK(bare.only().head_dim == 128);
  CHECK(has_warning(bare, "head_dim is missing, and so are"));
  CHECK(model_rope(json{{"model_type", "arcee"}}).only().head_dim == 80);
  CHECK_THAT(refusal<rope::InvalidArgument>({{"model_type", "llama"}, {"hidden_size", 2048}}),
             rope_test::contains("head_dim is missing"));
  CHECK_THAT(refusal<rope::InvalidArgument>({{"model_type", "qwen2"}}),
             rope_test::contains("head_dim is missing"));
  CHECK(model_rope(json{{"model_type", "llama"}}, {.head_dim_if_missing = 80}).only().head_dim ==
        80);
  CHECK(
      model_rope(json::parse(R"({"model_type": "zamba2", "use_mem_rope": true, "hidden_size": 2048,
      "num_attention_heads": 32, "attention_head_dim": 128})"))
          .only()
          .head_dim == 128);
  CHECK_THAT(refusal<rope::InvalidArgument>({{"model_type", "llama"}}, {.head_dim_if_missing = -2}),
             rope_test::contains("options.head_dim_if_missing"));
}

TEST_CASE("a part of the head") {
  const auto phi = [](int head_dim, double part) {
    return json{{"model_type", "phi"}, {"head_dim", head_dim}, {"partial_rotary_factor", part}};
  };
  CHECK(model_rope(phi(80, 0.4)).only().rotary_dim() == 32);
  CHECK(model_rope(phi(100, 0.29)).only().rotary_dim() == 28);  // 28.999999999999996
  CHECK(model_rope(phi(8, 0.5)).only().frequencies()(0, 0, 1) == 0.01);
  CHECK(refusal<rope::InvalidArgument>(phi(10, 0.3)) ==
        "rope::model_rope: partial_rotary_factor 0.3 of head_dim 10 gives 3 rotated features, "
        "which must be even and above 0");
  CHECK_THAT(refusal<rope::InvalidArgument>(phi(65, 1)), rope_test::contains("65 rotated"));
  for (const double part : {0.0, -0.5, 1.5}) {
    CHECK_THAT(refusal<rope::InvalidArgument>(phi(64, part)),
               rope_test::contains("partial_rotary_factor must be above 0 and at most 1"));
  }
  CHECK_THAT(refusal<rope::InvalidArgument>(phi(64, 0.01)), rope_test::contains("gives 0"));

  // A plain Llama does not read it, a scaled one does.
  const ModelRope plain = model_rope(llama(R"({"partial_rotary_factor": 0.5})"));
  CHECK(plain.only().rotary_dim() == 128);
  CHECK(has_warning(plain, "partial_rotary_factor 0.5 has no effect"));
  CHECK(model_rope(llama(R"({"partial_rotary_factor": 0.5,
                             "rope_scaling": {"type": "linear", "factor": 2}})"))
            .only()
            .rotary_dim() == 64);
}

TEST_CASE("Gemma 4's proportional part and its larger global heads") {
  const json config = json::parse(R"({"model_type": "gemma4_text", "num_hidden_layers": 7})");
  const ModelRope model = model_rope(config);
  const auto& full = model.layer_type("full_attention");
  CHECK(full.head_dim == 512);
  CHECK(full.rotary_dim() == 512);
  const rope::Frequencies frequencies = full.frequencies();
  CHECK(frequencies(0, 0, 63) > 0);
  CHECK(frequencies(0, 0, 64) == 0);
  CHECK(model.layer_type("sliding_attention").head_dim == 256);
  const int sliding = model.layers[0];
  CHECK(model.layer_types[static_cast<std::size_t>(sliding)].name == "sliding_attention");
  CHECK(model.layers[5] != sliding);  // every 6th
  CHECK(model.layers[6] != sliding);  // and the last

  const json small = json::parse(R"({"model_type": "gemma4_text", "global_head_dim": 8,
      "rope_parameters": {"full_attention": {"rope_type": "proportional", "rope_theta": 10000,
                                             "partial_rotary_factor": 0.5},
                          "sliding_attention": {"rope_theta": 10000}}})");
  const rope::Frequencies four = model_rope(small).layer_type("full_attention").frequencies();
  CHECK(std::vector<double>(four.values().begin(), four.values().end()) ==
        std::vector<double>{1, 0.1, 0, 0});
}

TEST_CASE("Gemma 3: local layers have a base of their own and no scaling") {
  const ModelRope model = model_rope(json::parse(R"({"model_type": "gemma3_text", "head_dim": 256,
      "num_hidden_layers": 12, "rope_theta": 1000000, "rope_local_base_freq": 10000,
      "rope_scaling": {"rope_type": "linear", "factor": 8.0}})"));
  const auto cos0 = [&](const char* name) {
    const rope::CosSinTable<double> table(model.layer_type(name).frequencies(), 17);
    return table.cos(16)[0];
  };
  CHECK(std::abs(cos0("sliding_attention") - -0.9576594803) < 1e-10);
  CHECK(std::abs(cos0("full_attention") - -0.4161468365) < 1e-10);
  const auto name_of = [&](std::size_t layer) {
    return model.layer_types[static_cast<std::size_t>(model.layers[layer])].name;
  };
  CHECK(name_of(0) == "sliding_attention");
  CHECK(name_of(5) == "full_attention");
  CHECK(name_of(11) == "full_attention");
  CHECK_THROWS_WITH(model.only(), rope_test::contains("2 rotations"));
  CHECK_THROWS_WITH(model.layer_type("other"), rope_test::contains("\"other\""));
}

TEST_CASE("which layers do not rotate") {
  const auto rotating = [](const json& config) {
    std::string text;
    for (const int layer : model_rope(config).layers)
      text += layer == ModelRope::no_rope ? '-' : 'r';
    return text;
  };
  const auto of = [](const char* type, const char* more = "{}") {
    json config = {{"model_type", type}, {"head_dim", 64}, {"num_hidden_layers", 8}};
    config.update(json::parse(more));
    return config;
  };
  CHECK(rotating(of("llama")) == "rrrrrrrr");
  CHECK(rotating(of("smollm3")) == "rrr-rrr-");
  CHECK(rotating(of("llama4_text")) == "rrr-rrr-");
  CHECK(rotating(of("llama4_text", R"({"no_rope_layers": [1, 1, 0, 0, 1, 1, 1, 1]})")) ==
        "rr--rrrr");
  CHECK(rotating(of("cohere2")) == "rrr-rrr-");
  CHECK(rotating(of("cohere2", R"({"sliding_window_pattern": 2})")) == "r-r-r-r-");
  CHECK(rotating(of("exaone4")) == "rrr-rrr-");
  CHECK(rotating(of("exaone4", R"({"sliding_window": null})")) == "rrrrrrrr");
  CHECK(rotating(of("exaone4", R"({"sliding_window": 4096, "sliding_window_pattern": "LLLG"})")) ==
        "rrr-rrr-");
  CHECK(rotating(of("granite_swa", R"({"layer_rope_theta": [1e4, 0, 1e6, 0, 1e4, 0, 1e6, 0]})")) ==
        "r-r-r-r-");
  CHECK(rotating(of("muse_glimmer_text")) == "rrr-rrr-");
  CHECK(rotating(of("olmo_hybrid")) == "---r---r");
  CHECK(rotating(of("qwen3_next")) == "---r---r");
  CHECK(rotating(of("qwen3_5_text", R"({"full_attention_interval": 2})")) == "-r-r-r-r");
  CHECK(rotating(of("minimax")) == "r-r-r-r-");
  CHECK(rotating(of("recurrent_gemma")) == "--r--r--");
  CHECK(rotating(of("bamba", R"({"attn_layer_indices": [1, 6]})")) == "-r----r-");
  CHECK(rotating(of("lfm2", R"({"full_attn_idxs": [2, 5]})")) == "--r--r--");
  CHECK(rotating(of("zamba2", R"({"use_mem_rope": true, "layers_block_type": ["mamba", "hybrid",
      "mamba", "mamba", "mamba", "hybrid", "mamba", "mamba"]})")) == "-r---r--");
  CHECK_THAT(refusal<rope::InvalidArgument>(of("bamba", R"({"attn_layer_indices": [8]})")),
             rope_test::contains("attn_layer_indices[0] is 8"));
  CHECK(rotating(of("falcon", R"({"alibi": true})")) == "--------");
  // DeepSeek-V4's older key: 0 for a layer that is not compressed.
  CHECK(model_rope(of("deepseek_v4", R"({"compress_ratios": [0, 0, 4, 128, 4, 128, 4, 0, 0]})"))
            .layers == std::vector<int>{0, 0, 1, 1, 1, 1, 1, 0});
  CHECK(rotating(of("zamba2")) == "--------");
  CHECK(rotating(of("zamba2", R"({"use_mem_rope": true})")) == "rrrrrrrr");
  CHECK(rotating(of("granitemoehybrid", R"({"position_embedding_type": "nope"})")) == "--------");
  CHECK(rotating(of("gemma3_text", R"({"layer_types": ["full_attention", "sliding_attention",
      "full_attention", "sliding_attention", "full_attention", "sliding_attention",
      "full_attention", "sliding_attention"], "rope_parameters": {"full_attention":
      {"rope_theta": 1e6}, "sliding_attention": null}})")) == "r-r-r-r-");

  const ModelRope granite =
      model_rope(of("granite_swa", R"({"layer_rope_theta": [1e4, 0, 1e6, 0, 1e4, 0, 1e6, 0]})"));
  REQUIRE(granite.layer_types.size() == 2);
  CHECK(granite.layer_types[1].parameters.base == 1e6);
  CHECK(granite.layers[6] == 1);

  CHECK(model_rope(of("falcon", R"({"alibi": true})")).layer_types.empty());
  CHECK_THAT(refusal<rope::InvalidArgument>(of("smollm3", R"({"no_rope_layers": [1]})")),
             rope_test::contains("no_rope_layers has 1 values, but there are 8 layers"));
  CHECK_THAT(refusal<rope::InvalidArgument>(
                 of("gemma3_text", R"({"num_hidden_layers": 1, "layer_types": ["middle"]})")),
             rope_test::contains("layer_types has \"middle\""));
  CHECK(has_warning(model_rope(of("laguna")), "layer_types is missing"));
}

TEST_CASE("lists of values by layer") {
  const ModelRope model = model_rope(json::parse(R"({"model_type": "step3p5", "head_dim": 128,
      "num_hidden_layers": 3, "rope_theta": [1e6, 1e4, 1e6],
      "partial_rotary_factors": [0.5, 1.0, 0.5]})"));
  REQUIRE(model.layer_types.size() == 2);
  CHECK(model.layers == std::vector<int>{0, 1, 0});
  CHECK(model.layer_types[0].rotary_dim() == 64);
  CHECK(model.layer_types[0].parameters.base == 1e6);
  CHECK(model.layer_types[1].rotary_dim() == 128);
}

TEST_CASE("DeepSeek: place, order, magnitude and softmax scale") {
  const auto config = [](const char* type, double mscale) {
    return json{{"model_type", type},
                {"qk_rope_head_dim", 64},
                {"qk_nope_head_dim", 128},
                {"max_position_embeddings", 163840},
                {"rope_theta", 10000},
                {"rope_scaling",
                 {{"type", "yarn"},
                  {"factor", 40},
                  {"original_max_position_embeddings", 4096},
                  {"mscale", mscale},
                  {"mscale_all_dim", mscale}}}};
  };
  const auto v3 = model_rope(config("deepseek_v3", 1.0)).only();
  CHECK(v3.head_dim == 192);
  CHECK(v3.first_dim == 128);
  CHECK(v3.rotary_dim() == 64);
  CHECK(v3.pairing == Pairing::interleaved);
  CHECK(v3.output_order == Pairing::half_split);
  CHECK(v3.frequencies().magnitude() == 1.0);
  CHECK(std::abs(v3.softmax_scale_multiplier - 1.873854207) < 1e-9);
  CHECK(std::abs(model_rope(config("deepseek_v3", 0.707)).only().softmax_scale_multiplier -
                 1.589626165) < 1e-9);
  CHECK(model_rope(config("deepseek_v2", 1.0)).only().output_order == Pairing::interleaved);
  json halves = config("deepseek_v3", 1.0);
  halves["rope_interleave"] = false;
  CHECK(model_rope(halves).only().pairing == Pairing::half_split);
  CHECK(model_rope(llama(R"({"rope_scaling": {"rope_type": "yarn", "factor": 8, "mscale": 0.8,
      "original_max_position_embeddings": 4096, "mscale_all_dim": 0.5}})"))
            .only()
            .softmax_scale_multiplier == 1);

  const ModelRope v4 = model_rope(json::parse(R"({"model_type": "deepseek_v4", "head_dim": 512,
      "num_hidden_layers": 3, "layer_types": ["sliding_attention", "compressed_sparse_attention",
      "heavily_compressed_attention"], "rope_scaling": {"type": "yarn", "factor": 16,
      "original_max_position_embeddings": 65536}})"));
  CHECK(v4.layers == std::vector<int>{0, 1, 1});
  CHECK(v4.layer_type("main").first_dim == 448);
  CHECK(std::holds_alternative<rope::Plain>(v4.layer_type("main").parameters.scaling));
  CHECK(v4.layer_type("compress").parameters.base == 160000);
  CHECK(v4.layer_type("compress").frequencies().magnitude() == 1);
}

TEST_CASE("sections of several position axes") {
  const auto qwen = [](const char* more) {
    json config = {{"model_type", "qwen2_vl_text"}, {"head_dim", 128}};
    config["rope_scaling"] = json::parse(more);
    return config;
  };
  const auto layer = model_rope(qwen(R"({"type": "mrope", "mrope_section": [16, 24, 24]})")).only();
  CHECK(layer.sections == std::vector<std::int64_t>{16, 24, 24});
  CHECK(layer.section_layout == rope::SectionLayout::blocks);
  CHECK(model_rope(llama(R"({"rope_scaling": {"rope_type": "default",
      "mrope_section": [16, 24, 24]}})"))
            .only()
            .sections.size() == 3);
  CHECK(refusal<rope::InvalidArgument>(qwen(R"({"type": "mrope", "mrope_section": [16, 24]})")) ==
        "rope::model_rope: rope_scaling.mrope_section has a sum of 40, but there are 64 pairs");
  CHECK_THAT(refusal<rope::InvalidArgument>(qwen(R"({"mrope_section": [64, -1, 1]})")),
             rope_test::contains("rope_scaling.mrope_section[1]"));
  CHECK_THAT(refusal<rope::ParseError>(qwen(R"({"mrope_section": [64, null]})")),
             rope_test::contains("rope_scaling.mrope_section[1]"));
  CHECK_THAT(refusal<rope::ParseError>(qwen(R"({"mrope_section": [[64], 0]})")),
             rope_test::contains("rope_scaling.mrope_section[0]"));
  const auto three = model_rope(json{{"model_type", "qwen3_vl"}}).only();
  CHECK(three.sections == std::vector<std::int64_t>{24, 20, 20});
  CHECK(three.section_layout == rope::SectionLayout::interleaved);
  CHECK(three.pairing == Pairing::half_split);
}

TEST_CASE("query scales") {
  const auto mistral = model_rope(json{{"model_type", "ministral3"}}).only();
  REQUIRE(mistral.query_scale);
  CHECK(std::abs(rope::query_scale(*mistral.query_scale, 16384) - 1.0693147180559945) < 1e-15);
  const ModelRope llama4 = model_rope(json{{"model_type", "llama4_text"}, {"head_dim", 128}});
  REQUIRE(llama4.query_scale_without_rope);
  CHECK(rope::query_scale(*llama4.query_scale_without_rope, 8190) == 1);
  CHECK(rope::query_scale(*llama4.query_scale_without_rope, 8191) > 1);
  CHECK_FALSE(model_rope(json{{"model_type", "llama4_text"},
                              {"head_dim", 128},
                              {"attn_temperature_tuning", false}})
                  .query_scale_without_rope);
}

TEST_CASE("nested configs and model types") {
  const ModelRope nested = model_rope(json::parse(
      R"({"model_type": "llava", "text_config": {"model_type": "mistral", "head_dim": 128,
          "rope_theta": 1e6}})"));
  CHECK(nested.model_type == "mistral");
  CHECK(nested.only().parameters.base == 1e6);
  CHECK(model_rope(json::parse(R"({"model_type": "gemma3", "text_config": {"head_dim": 64}})"))
            .model_type == "gemma3_text");
  CHECK(model_rope(json{{"head_dim", 64}}, {.model_type_if_missing = "phi"}).only().rotary_dim() ==
        32);
  const ModelRope dia = model_rope(json::parse(R"({"model_type": "dia", "decoder_config":
      {"model_type": "dia_decoder", "head_dim": 64, "rope_theta": 20000}})"));
  CHECK(dia.only().parameters.base == 20000);
  CHECK(dia.only().head_dim == 64);
  CHECK(model_rope(json::parse(R"({"model_type": "t5gemma", "decoder": {"head_dim": 64}})"))
            .only()
            .head_dim == 64);
  CHECK(refusal<rope::InvalidArgument>({{"head_dim", 64}}) ==
        "rope::model_rope: model_type is missing");
  CHECK(refusal<rope::InvalidArgument>({{"model_type", "lla\nma"}}) ==
        "rope::model_rope: model_type \"lla?ma\" is not known");
  CHECK(refusal<rope::InvalidArgument>(
            json::parse(R"({"model_type": "llava", "text_config": {"head_dim": 64}})")) ==
        "rope::model_rope: text_config.model_type is missing");
  CHECK_THAT(refusal<rope::InvalidArgument>(json::parse(
                 R"({"rope_theta": 1e4, "text_config": {"model_type": "llama", "head_dim": 64,
                     "rope_theta": 1e6}})")),
             rope_test::contains("rope_theta contradicts text_config.rope_theta"));
  CHECK(refusal<rope::InvalidArgument>(llama(R"({"rope_scaling": {"type": "linear", "factor": 2},
      "rope_parameters": {"rope_type": "default"}})")) ==
        "rope::model_rope: rope_scaling contradicts rope_parameters");
}

TEST_CASE("GPT-J and GPT-NeoX have their own keys") {
  const auto gptj =
      model_rope(json{{"model_type", "gptj"}, {"n_embd", 4096}, {"n_head", 16}}).only();
  CHECK(gptj.rotary_dim() == 64);
  CHECK(gptj.head_dim == 256);
  CHECK(gptj.pairing == Pairing::interleaved);
  const auto neox = model_rope(json{{"model_type", "gpt_neox"},
                                    {"head_dim", 96},
                                    {"rotary_pct", 0.5},
                                    {"rotary_emb_base", 20000}})
                        .only();
  CHECK(neox.rotary_dim() == 48);
  CHECK(neox.parameters.base == 20000);
  CHECK(has_warning(model_rope(json{{"model_type", "minimax_m2"}, {"rotary_dim", 64}}),
                    "rotary_dim is not read by minimax_m2"));
}

TEST_CASE("nanochat turns backwards") {
  const auto layer = model_rope(json{{"model_type", "nanochat"}, {"head_dim", 8}}).only();
  CHECK(layer.frequencies()(0, 0, 1) == -0.1);
  std::vector<double> x = {1, 0, 0, 0, 0, 0, 0, 0};
  const rope::CosSinTable<double> table(layer.frequencies(), 2);
  rope::rotate(rope::thd(x, {1, 1, 8}), table, rope::from(1), {.pairing = layer.pairing});
  CHECK(std::abs(x[4] - -0.8414709848078965) < 1e-15);
}

TEST_CASE("LongRoPE's lists") {
  json config = json::parse(R"({"model_type": "phi3", "head_dim": 4, "rope_theta": 10000,
      "max_position_embeddings": 131072, "original_max_position_embeddings": 4096,
      "rope_scaling": {"type": "su", "short_factor": [1, 1], "long_factor": [1, 4]}})");
  const auto layer = model_rope(config).only();
  CHECK(layer.frequencies(4096)(0, 0, 1) == 0.01);
  CHECK(layer.frequencies(4097)(0, 0, 1) == 0.0025);
  CHECK(std::abs(layer.frequencies().magnitude() - 1.19023807142) < 1e-11);
  config["rope_scaling"]["type"] = "yarn";
  CHECK(std::holds_alternative<rope::LongRope>(model_rope(config).only().parameters.scaling));
  config["rope_scaling"]["long_factor"] = {1, 4, 9};
  CHECK(refusal<rope::InvalidArgument>(config) ==
        "rope::model_rope: rope_scaling.long_factor has 3 values, more than 2");
  config["rope_scaling"]["long_factor"] = {1, 0};
  CHECK(refusal<rope::InvalidArgument>(config) ==
        "rope::model_rope: rope_scaling.long_factor[1] must be above 0, got 0");
}

TEST_CASE("what transformers does in spite of the config") {
  // Magnitudes of its own beside the two lists.
  const ModelRope phimoe = model_rope(json::parse(R"({"model_type": "phimoe", "head_dim": 4,
      "max_position_embeddings": 131072, "rope_scaling": {"type": "longrope",
      "original_max_position_embeddings": 4096, "short_factor": [1, 2], "long_factor": [1, 4],
      "short_mscale": 1.25, "long_mscale": 1.5}})"));
  CHECK(phimoe.only().frequencies(4096)(0, 0, 1) == 0.0005);
  CHECK(phimoe.only().frequencies(4097)(0, 0, 1) == 0.00025);
  CHECK(phimoe.only().frequencies(4096).magnitude() == 1.25);
  CHECK(phimoe.only().frequencies(4097).magnitude() == 1.5);

  const std::string keys = std::string("{") + yarn_keys + R"(, "truncate": false})";
  const auto truncates = [&](const std::string& dictionary) {
    json config = llama();
    config["rope_parameters"] = json::parse(dictionary);
    const ModelRope model = model_rope(config);
    return std::get<rope::Yarn>(model.layer_types.at(0).parameters.scaling).truncate;
  };
  CHECK_FALSE(truncates(keys));
  CHECK(truncates(R"({"full_attention": )" + keys + "}"));

  const ModelRope olmo =
      model_rope(json::parse(R"({"model_type": "olmo3", "head_dim": 128, "rope_theta": 1000000})"));
  CHECK(olmo.layer_type("sliding_attention").parameters.base == 500000);
  CHECK(olmo.layer_type("full_attention").parameters.base == 1e6);
  CHECK(has_warning(olmo, "rope_theta is not read for sliding_attention"));

  const json hunyuan = json::parse(R"({"model_type": "hunyuan_v1_moe", "head_dim": 128,
      "rope_scaling": {"type": "dynamic", "alpha": 1000, "factor": 1}})");
  CHECK(std::holds_alternative<rope::NtkAlpha>(model_rope(hunyuan).only().parameters.scaling));
}

TEST_CASE("wrong types and values name the key") {
  const auto parse_error = [](const char* changes) {
    return refusal<rope::ParseError>(llama(changes));
  };
  const auto value_error = [](const char* changes) {
    return refusal<rope::InvalidArgument>(llama(changes));
  };
  CHECK(parse_error(R"({"rope_theta": "10000"})") ==
        "rope::model_rope: rope_theta must be a number, got a value of type string");
  CHECK(parse_error(R"({"rope_theta": true})") ==
        "rope::model_rope: rope_theta must be a number, got true or false");
  CHECK(parse_error(R"({"rope_scaling": "linear"})") ==
        "rope::model_rope: rope_scaling must be an object, got a value of type string");
  CHECK(parse_error(R"({"rope_scaling": {"type": 3}})") ==
        "rope::model_rope: rope_scaling.type must be a string, got a value of type number");
  CHECK(parse_error(R"({"rope_scaling": {"type": "linear", "factor": [2]}})") ==
        "rope::model_rope: rope_scaling.factor must be a number, got a value of type array");
  CHECK(value_error(R"({"rope_scaling": {"type": "linear", "factor": -2}})") ==
        "rope::model_rope: rope_scaling.factor must be above 0, got -2");
  for (const char* const count : {"0", "-128", "1.5", "1e300", "18446744073709551615", "65537"}) {
    const std::string changes = std::string(R"({"head_dim": )") + count + "}";
    CHECK_THAT(value_error(changes.c_str()),
               rope_test::contains("head_dim must be an integer from 1 to 65536"));
  }
  CHECK_THAT(value_error(R"({"max_position_embeddings": 0})"),
             rope_test::contains("max_position_embeddings"));
  CHECK_THAT(value_error(R"({"num_hidden_layers": 1000000000})"),
             rope_test::contains("num_hidden_layers"));
  CHECK_THAT(value_error(R"({"hidden_size": 1099511627776, "num_attention_heads": 1})"),
             rope_test::contains("hidden_size"));
  CHECK(model_rope(llama(R"({"max_position_embeddings": 4096.0})")).max_positions == 4096);
  CHECK(refusal<rope::ParseError>(json::array()) == "rope::model_rope: a config must be an object");
}

TEST_CASE("JSON made to do harm") {
  const auto problem = [](const std::string& text) -> std::string {
    try {
      rope::model_rope_from_text(text);
    } catch (const rope::ParseError& error) {
      return error.what();
    }
    return "accepted";
  };
  CHECK_THAT(problem(R"({"rope_scaling": )" + std::string(1000000, '[')),
             rope_test::contains("nested more than 64 deep, under the key \"rope_scaling\""));
  CHECK_THAT(problem(R"({"rope_theta": 1e4, "rope_theta": 1e6})"),
             rope_test::contains("the key \"rope_theta\" is there twice"));
  CHECK_THAT(problem(""), rope_test::contains("no JSON"));
  CHECK_THAT(problem(R"({"rope_theta": 1e4)"), rope_test::contains("after the key \"rope_theta\""));
  CHECK_THAT(problem(std::string(std::size_t{17} << 20, ' ')), rope_test::contains("longer than"));

  // A caller's own JSON may be as deep as it likes.
  json deep = json::array();
  for (int i = 0; i < 200000; ++i) {
    json outer = json::array();
    outer.push_back(std::move(deep));
    deep = std::move(outer);
  }
  json config = {{"model_type", "gemma3_text"}};
  config["rope_scaling"]["mrope_section"] = std::move(deep);
  CHECK_THAT(refusal<rope::ParseError>(config), rope_test::contains("rope_scaling.mrope_section"));
  config["rope_parameters"]["mrope_section"] = std::move(config["rope_scaling"]["mrope_section"]);
  config.erase("rope_scaling");
  CHECK_THROWS_AS(model_rope(config), rope::ParseError);
}

TEST_CASE("files") {
  const auto folder = std::filesystem::temp_directory_path();
  const auto file = folder / "rope_huggingface_test_config.json";
  std::ofstream(file) << llama().dump();
  CHECK(model_rope(file).only().parameters.base == 500000);
  CHECK(model_rope(file.string().c_str()).only().head_dim == 128);
  std::filesystem::remove(file);
  CHECK_THROWS_WITH(model_rope(file), rope_test::contains("cannot open"));
  CHECK_THROWS_WITH(model_rope(folder), rope_test::contains("is a folder"));
}

TEST_CASE("every model type can be read with next to nothing in the config") {
  std::set<std::string_view> names;
  for (const rope::detail::huggingface::ModelType& type : rope::detail::huggingface::model_types) {
    INFO(type.name);
    CHECK(names.insert(type.name).second);
    json config = {{"model_type", type.name},           {"hidden_size", 5120},
                   {"num_attention_heads", 64},         {"use_mem_rope", true},
                   {"position_embedding_type", "rope"}, {"max_position_embeddings", 4096}};
    if (type.first.theta == 0) config["rope_theta"] = 10000;
    const ModelRope model = model_rope(config);
    CHECK(model.model_type == type.name);
    REQUIRE(!model.layer_types.empty());
    for (const rope::LayerRope& layer : model.layer_types) {
      CHECK(layer.frequencies(8192).pairs() == layer.rotary_dim() / 2);
      CHECK(layer.first_dim + layer.rotary_dim() <= layer.head_dim);
    }
  }
  CHECK(names.size() == 145);
  for (const rope::detail::huggingface::ModelTypeAlias& alias :
       rope::detail::huggingface::model_type_aliases) {
    CHECK(rope::detail::huggingface::find_model_type(alias.name)->name == alias.text_type);
  }
}

}  // namespace
