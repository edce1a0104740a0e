// The RotaryEmbedding operator of ONNX, opset 23: the official cases with their data, and more of
// its reference implementation with inputs given by a formula. What a case is, its file says; the
// file's name means nothing.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "rope/frequencies.hpp"
#include "rope/rotate.hpp"
#include "rope/table.hpp"
#include "rope/table_view.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

namespace {

using nlohmann::json;
using rope::Pairing;
using Shape = std::vector<std::int64_t>;

struct Case {
  std::filesystem::path file;
  json content;
};

/// The first of: the folder that the environment names, the shared one, the committed one.
std::filesystem::path folder_of_cases() {
  if (std::getenv("ROPE_GOLDEN_DIR") != nullptr) {
    const auto chosen = rope_test::golden_dir();
    return std::filesystem::is_directory(chosen / "llm") ? chosen / "llm" : chosen;
  }
  if (const auto shared = rope_test::shared_dir()) {
    if (std::filesystem::is_directory(*shared / "golden" / "llm"))
      return *shared / "golden" / "llm";
  }
  return rope_test::golden_dir();
}

std::vector<Case> cases_of_kind(const std::string& kind) {
  std::vector<Case> cases;
  const auto folder = folder_of_cases();
  if (!std::filesystem::is_directory(folder)) return cases;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream stream(entry.path());
    json content = json::parse(stream);
    if (content.is_object() && content.value("kind", "") == kind) {
      cases.push_back({entry.path(), std::move(content)});
    }
  }
  std::sort(cases.begin(), cases.end(),
            [](const Case& a, const Case& b) { return a.file < b.file; });
  return cases;
}

/// An attribute that may be missing or null.
std::int64_t attribute(const json& attributes, const char* name, std::int64_t otherwise) {
  const auto found = attributes.find(name);
  return found == attributes.end() || found->is_null() ? otherwise : found->get<std::int64_t>();
}

/// What the operator is asked to do.
struct Problem {
  Pairing pairing;
  bool tokens_before_heads;  // [batch, tokens, heads * dim] instead of [batch, heads, tokens, dim]
  std::int64_t batch;
  std::int64_t tokens;
  std::int64_t heads;
  std::int64_t dim;
  std::int64_t rotary_dim;

  Problem(const json& attributes, const Shape& shape) {
    for (const auto& [name, value] : attributes.items()) {
      if (name != "interleaved" && name != "num_heads" && name != "rotary_embedding_dim") {
        throw std::runtime_error("unknown attribute " + name);
      }
    }
    pairing =
        attribute(attributes, "interleaved", 0) != 0 ? Pairing::interleaved : Pairing::half_split;
    tokens_before_heads = shape.size() == 3;
    if (tokens_before_heads) {
      batch = shape.at(0);
      tokens = shape.at(1);
      heads = attribute(attributes, "num_heads", 0);
      if (heads <= 0) throw std::runtime_error("a 3-D input needs num_heads");
      dim = shape.at(2) / heads;
    } else {
      if (shape.size() != 4) throw std::runtime_error("the input has neither 3 nor 4 axes");
      batch = shape[0];
      heads = shape[1];
      tokens = shape[2];
      dim = shape[3];
    }
    rotary_dim = attribute(attributes, "rotary_embedding_dim", 0);
    if (rotary_dim == 0) rotary_dim = dim;
  }

  template <class T>
  rope::View<T> view(std::vector<T>& data) const {
    return tokens_before_heads ? rope::bthd(data, {batch, tokens, heads, dim})
                               : rope::bhtd(data, {batch, heads, tokens, dim});
  }

  /// Which element is paired with that at `index` of a packed array; -1 if it is not rotated.
  std::int64_t partner(std::int64_t index) const {
    const std::int64_t i = index % dim;
    if (i >= rotary_dim) return -1;
    if (pairing == Pairing::interleaved) return i % 2 == 0 ? index + 1 : index - 1;
    return i < rotary_dim / 2 ? index + rotary_dim / 2 : index - rotary_dim / 2;
  }
};

/// |error| <= tolerance * (|x0| + |x1|), and exact copies of what is not rotated.
template <class T>
void require_close(const Problem& problem, const std::vector<T>& in, const std::vector<T>& out,
                   const std::vector<double>& expected, double tolerance, double magnitude = 1) {
  REQUIRE(out.size() == expected.size());
  REQUIRE(out.size() == in.size());
  double worst = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t partner = problem.partner(static_cast<std::int64_t>(i));
    if (partner < 0) {
      REQUIRE(out[i] == in[i]);
      REQUIRE(std::abs(static_cast<double>(out[i]) - expected[i]) <= tolerance);
      continue;
    }
    const double size = std::abs(static_cast<double>(in[i])) +
                        std::abs(static_cast<double>(in[static_cast<std::size_t>(partner)]));
    const double error = std::abs(static_cast<double>(out[i]) - expected[i]) / (size * magnitude);
    if (!(error <= worst)) worst = error;
  }
  CHECK(worst <= tolerance);
}

/// Rotates `in` with a table of either kind: out of place, and in place, which must agree.
template <class T, class Table, class... Where>
std::vector<T> rotated(const Problem& problem, const std::vector<T>& in, const Table& table,
                       const Where&... where) {
  std::vector<T> in_place = in;
  rope::rotate(problem.view(in_place), table, where..., {.pairing = problem.pairing});
  std::vector<T> source = in;
  std::vector<T> out(in.size());
  rope::rotate_to(problem.view(source), problem.view(out), table, where...,
                  {.pairing = problem.pairing});
  REQUIRE(out == in_place);
  REQUIRE(source == in);
  return out;
}

/// The positions of a case: [batch, tokens], or [tokens] for all rows.
struct Ids {
  std::vector<std::int64_t> values;
  bool has_batch;

  rope::Positions positions(const Problem& problem) const {
    if (has_batch) return rope::at(values, {problem.batch, problem.tokens});
    return rope::at(values, {problem.tokens});
  }
};

/// Runs a case whose cos and sin are given, by position or for each token.
template <class T>
std::vector<T> run(const Problem& problem, const std::vector<T>& in, const std::vector<T>& cos,
                   const std::vector<T>& sin, const Shape& cache_shape, const Ids* ids) {
  const rope::TableViewOptions options{.rotary_dim = problem.rotary_dim};
  if (ids != nullptr) {
    REQUIRE(cache_shape.size() == 2);
    const auto table = rope::table_view(cos, sin, {cache_shape[0], cache_shape[1]}, options);
    return rotated(problem, in, table, ids->positions(problem));
  }
  REQUIRE(cache_shape.size() == 3);
  const auto table =
      rope::table_view(cos, sin, {cache_shape[0], cache_shape[1], cache_shape[2]}, options);
  return rotated(problem, in, table);
}

template <class T>
void run_official(const json& content) {
  const json& inputs = content.at("inputs");
  const json& input = inputs.at("input");
  const Problem problem(content.at("attributes"), input.at("shape").get<Shape>());
  const auto in = input.at("data").get<std::vector<T>>();
  const auto cos = inputs.at("cos_cache").at("data").get<std::vector<T>>();
  const auto sin = inputs.at("sin_cache").at("data").get<std::vector<T>>();
  const auto shape = inputs.at("cos_cache").at("shape").get<Shape>();
  REQUIRE(inputs.at("sin_cache").at("shape").get<Shape>() == shape);
  Ids ids{};
  if (inputs.contains("position_ids")) {
    ids = {inputs["position_ids"].at("data").get<std::vector<std::int64_t>>(),
           inputs["position_ids"].at("shape").size() == 2};
  }
  const std::vector<T> out =
      run(problem, in, cos, sin, shape, inputs.contains("position_ids") ? &ids : nullptr);
  REQUIRE(content.at("output").at("shape").get<Shape>() == input.at("shape").get<Shape>());
  // The caches are random numbers: the largest modulus of a pair of them is their magnitude.
  double magnitude = 0;
  for (std::size_t i = 0; i < cos.size(); ++i) {
    magnitude =
        std::fmax(magnitude, std::hypot(static_cast<double>(cos[i]), static_cast<double>(sin[i])));
  }
  require_close(problem, in, out, content["output"].at("data").get<std::vector<double>>(), 0x1p-22,
                magnitude);
}

/// The input formula of a case. Only one has been written so far; another must not pass unseen.
constexpr const char* known_formula =
    "X[b,h,t,d] = sin(0.1*(1+b)+0.37*t+0.11*h+0.013*d); "
    "cos_cache[p,i]=cos(p*10000^(-i/half)), sin_cache likewise, "
    "half=(rotary_embedding_dim or head_size)/2, computed in double, cast to the run's type";

template <class T>
std::vector<T> formula_input(const Problem& problem) {
  std::vector<T> values(
      static_cast<std::size_t>(problem.batch * problem.tokens * problem.heads * problem.dim));
  const rope::View<T> view = problem.view(values);
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    for (std::int64_t h = 0; h < problem.heads; ++h) {
      for (std::int64_t t = 0; t < problem.tokens; ++t) {
        for (std::int64_t d = 0; d < problem.dim; ++d) {
          view(b, t, h, d) = static_cast<T>(
              std::sin(0.1 * static_cast<double>(1 + b) + 0.37 * static_cast<double>(t) +
                       0.11 * static_cast<double>(h) + 0.013 * static_cast<double>(d)));
        }
      }
    }
  }
  return values;
}

template <class T>
void run_formula(const json& content, const std::vector<double>& expected, double tolerance) {
  const Problem problem(content.at("attributes"), content.at("x_shape").get<Shape>());
  const std::string layout = content.at("x_layout");
  REQUIRE(layout == (problem.tokens_before_heads ? "b,t,(h,d)" : "b,h,t,d"));
  const std::vector<T> in = formula_input<T>(problem);
  const std::int64_t half = problem.rotary_dim / 2;
  const std::int64_t rows = content.at("cache_rows");
  Ids ids{{}, true};
  const bool has_ids = !content.at("position_ids").is_null();
  if (has_ids) {
    for (const auto& row : content["position_ids"].get<std::vector<std::vector<std::int64_t>>>()) {
      ids.values.insert(ids.values.end(), row.begin(), row.end());
    }
  } else {
    REQUIRE(content.at("position_ids_absent_means") ==
            "cos/sin are given as [B,T,half] with row t for every batch");
  }

  // The case's own cache, by the mathematics library.
  std::vector<T> cos;
  std::vector<T> sin;
  const std::int64_t cache_rows = has_ids ? rows : problem.batch * problem.tokens;
  for (std::int64_t row = 0; row < cache_rows; ++row) {
    const std::int64_t position = has_ids ? row : row % problem.tokens;
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(position) *
                           std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half));
      cos.push_back(static_cast<T>(std::cos(angle)));
      sin.push_back(static_cast<T>(std::sin(angle)));
    }
  }
  const Shape cache_shape =
      has_ids ? Shape{rows, half} : Shape{problem.batch, problem.tokens, half};
  require_close(problem, in, run(problem, in, cos, sin, cache_shape, has_ids ? &ids : nullptr),
                expected, tolerance);

  // The whole path of this library: frequencies, table, rotation.
  const rope::CosSinTable<T> table(rope::frequencies({.rotary_dim = problem.rotary_dim}), rows);
  const rope::Positions positions = has_ids ? ids.positions(problem) : rope::from(0);
  require_close(problem, in, rotated(problem, in, table, positions), expected, tolerance);
}

}  // namespace

TEST_CASE("the official cases of ONNX RotaryEmbedding-23") {
  const std::vector<Case> cases = cases_of_kind("onnx_rotary_embedding_23");
  std::cout << "onnx_rotary_embedding_23: " << cases.size() << " cases in " << folder_of_cases()
            << std::endl;
  REQUIRE_FALSE(cases.empty());
  for (const Case& test : cases) {
    INFO("file " << test.file);
    const std::string type = test.content.at("inputs").at("input").at("dtype");
    if (type == "float32") {
      run_official<float>(test.content);
    } else {
      REQUIRE(type == "float64");
      run_official<double>(test.content);
    }
  }
}

TEST_CASE("more cases of the reference implementation of ONNX RotaryEmbedding-23") {
  const std::vector<Case> cases = cases_of_kind("onnx_rotary_embedding_23_formula");
  std::cout << "onnx_rotary_embedding_23_formula: " << cases.size() << " cases in "
            << folder_of_cases() << std::endl;
  REQUIRE_FALSE(cases.empty());
  for (const Case& test : cases) {
    INFO("file " << test.file);
    const json& content = test.content;
    REQUIRE(content.at("input_formula") == known_formula);
    const auto exact = content.at("output_f64").get<std::vector<double>>();
    run_formula<double>(content, exact, 0x1p-49);
    run_formula<float>(content, exact, 0x1p-22);
    // Float32 outputs of the original, at short positions.
    run_formula<float>(content, content.at("output").get<std::vector<double>>(), 0x1p-21);
  }
}
