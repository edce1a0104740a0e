#include "golden/multi_axis.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "rope/core.hpp"
#include "rope/huggingface/axis_map.hpp"
#include "rope/spatial/axial.hpp"
#include "rope/spatial/axis_map.hpp"
#include "rope/spatial/mrope_table.hpp"
#include "rope/spatial/shared_ladder.hpp"
#include "rope/token_table.hpp"
#include "support/catch.hpp"

namespace rope_test {
namespace {

using nlohmann::json;
using Tally = std::map<std::string, int>;

void flatten(const json& value, std::vector<double>& numbers) {
  if (value.is_array()) {
    for (const json& item : value) flatten(item, numbers);
  } else {
    numbers.push_back(value.get<double>());
  }
}
std::vector<double> flat(const json& value) {
  std::vector<double> numbers;
  flatten(value, numbers);
  return numbers;
}

/// [batch, tokens, heads, dim]
using Shape = std::vector<std::int64_t>;

template <class T>
std::vector<T> formula(const Shape& shape, double more) {
  std::vector<T> values;
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    for (std::int64_t t = 0; t < shape[1]; ++t) {
      for (std::int64_t h = 0; h < shape[2]; ++h) {
        for (std::int64_t d = 0; d < shape[3]; ++d) {
          values.push_back(static_cast<T>(
              std::sin(0.1 * static_cast<double>(1 + b) + 0.37 * static_cast<double>(t) +
                       0.11 * static_cast<double>(h) + 0.013 * static_cast<double>(d) + more)));
        }
      }
    }
  }
  return values;
}

/// Positions [axes, batch, tokens] of a case.
struct Ids {
  std::int64_t axes;
  std::int64_t batch;
  std::int64_t tokens;
  std::vector<std::int64_t> values;

  std::int64_t rows() const { return *std::max_element(values.begin(), values.end()) + 1; }
  rope::Coordinates coordinates() const {
    std::vector<double> by_token;
    for (std::int64_t row = 0; row < batch * tokens; ++row) {
      for (std::int64_t axis = 0; axis < axes; ++axis) {
        by_token.push_back(
            static_cast<double>(values[static_cast<std::size_t>(axis * batch * tokens + row)]));
      }
    }
    return {std::move(by_token), {batch, tokens, axes}};
  }
};

/// The input rotated both ways: by rows picked from a 1-D table, and by a row for each token. They
/// must agree bit for bit.
template <class T>
std::vector<T> rotated(const Shape& shape, double more, const rope::Frequencies& ladder,
                       const rope::AxisMap& map, const Ids& ids,
                       const rope::PairingOptions& options) {
  const rope::CosSinTable<T> table(ladder, ids.rows());
  const auto picked = rope::mrope_table(table, map, ids.values, {ids.axes, ids.batch, ids.tokens});
  const rope::TokenTable<T> by_token(rope::share_ladder(ladder, map), ids.coordinates());
  std::vector<T> x = formula<T>(shape, more);
  std::vector<T> same = x;
  const rope::Extents<4> extents = {shape[0], shape[1], shape[2], shape[3]};
  rope::rotate(rope::bthd(x, extents), picked, options);
  rope::rotate(rope::bthd(same, extents), by_token, options);
  CHECK(x == same);
  return x;
}

/// The rows of the other axes as the original reads them: sections doubled and counted over the
/// whole width, so that the two features of a pair follow different axes. That is no rotation, and
/// takes two: the first features of one, the second ones of the other.
bool wraps_over_both_halves(const json& content) {
  return content.at("config").value("model_type", "").starts_with("hunyuan_vl");
}
rope::AxisMap wrapped(const std::vector<std::int64_t>& sections, bool is_second) {
  std::vector<std::int64_t> axis_of_feature;
  for (std::size_t axis = 0; axis < sections.size(); ++axis) {
    axis_of_feature.insert(axis_of_feature.end(), static_cast<std::size_t>(2 * sections[axis]),
                           static_cast<std::int64_t>(axis));
  }
  const auto half = static_cast<std::ptrdiff_t>(axis_of_feature.size() / 2);
  rope::AxisMap map = {.axes = sections.size()};
  const auto first = axis_of_feature.begin() + (is_second ? half : 0);
  map.axis_of_pair.assign(first, first + half);
  return map;
}

template <class T>
void check_rotation(const json& content, const std::string& tensor, const rope::LayerRope& layer,
                    const rope::Frequencies& frequencies, const Ids& ids, Tally& tally) {
  const auto shape = content.at("shape_" + tensor).get<Shape>();
  const double more = tensor == "q" ? 0.0 : 1.0;
  const rope::PairingOptions options = {.pairing = layer.pairing, .first_dim = layer.first_dim};
  std::vector<T> x = rotated<T>(shape, more, frequencies, rope::axis_map(layer), ids, options);
  const std::vector<double> exact = flat(content.at(tensor + "_out_f64"));
  REQUIRE(exact.size() == x.size());
  if (wraps_over_both_halves(content)) {
    double difference = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      difference = std::max(difference, std::abs(static_cast<double>(x[i]) - exact[i]));
    }
    CHECK(difference > 0.1);  // the rotation by sections, vLLM's reading, is another
    x = rotated<T>(shape, more, frequencies, wrapped(layer.sections, false), ids, options);
    const std::vector<T> seconds =
        rotated<T>(shape, more, frequencies, wrapped(layer.sections, true), ids, options);
    const auto dim = static_cast<std::size_t>(shape[3]);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i % dim >= static_cast<std::size_t>(frequencies.pairs())) x[i] = seconds[i];
    }
    ++tally["tensors of a model that turns a pair's features by two angles, from two rotations"];
  }
  // |x0| + |x1| is at most 2.
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(x[i]) - exact[i]));
  }
  CHECK(worst <= frequencies.magnitude() * (sizeof(T) == 4 ? 0x1p-21 : 4e-12));
  ++tally[sizeof(T) == 4 ? "tensors with several axes in float"
                         : "tensors with several axes in "
                           "double"];
}

}  // namespace

bool has_several_axes(const json& content) {
  const std::string kind = content.at("kind").get<std::string>();
  if (kind == "ggml_rope") return (content.at("mode").get<int>() & 8) != 0;
  return kind == "rotated_vectors" && content.at("positions").at(0).at(0).is_array();
}

void run_axis_pattern(const json& content, Tally& tally) {
  REQUIRE(!content.at("cases").empty());
  for (const json& one : content.at("cases")) {
    const auto sections = one.at("mrope_section").get<std::vector<std::int64_t>>();
    CHECK(rope::balanced_axes(sections).axis_of_pair ==
          one.at("axis_per_pair").get<std::vector<std::int64_t>>());
    ++tally["axis patterns"];
  }
}

void run_multi_axis_rotation(const json& content, const rope::LayerRope& layer,
                             const rope::Frequencies& frequencies, Tally& tally) {
  const json& positions = content.at("positions");
  Ids ids = {static_cast<std::int64_t>(positions.size()),
             static_cast<std::int64_t>(positions.at(0).size()),
             static_cast<std::int64_t>(positions.at(0).at(0).size()),
             {}};
  for (const double id : flat(positions)) ids.values.push_back(static_cast<std::int64_t>(id));
  for (const std::string tensor : {"q", "k"}) {
    INFO("tensor " << tensor);
    check_rotation<float>(content, tensor, layer, frequencies, ids, tally);
    check_rotation<double>(content, tensor, layer, frequencies, ids, tally);
  }
}

rope::Parameters ggml_parameters(const json& content) {
  const auto n_dims = content.at("n_dims").get<std::int64_t>();
  // ggml takes longer lists and looks at the first ones.
  auto freq_factors = flat(content.at("freq_factors"));
  const auto pairs = static_cast<std::size_t>(n_dims / 2);
  if (freq_factors.size() > pairs) freq_factors.resize(pairs);
  return {.rotary_dim = n_dims,
          .base = content.at("freq_base").get<double>(),
          .scaling = rope::Ggml{.freq_scale = content.at("freq_scale").get<double>(),
                                .ext_factor = content.at("ext_factor").get<double>(),
                                .attn_factor = content.at("attn_factor").get<double>(),
                                .beta_fast = content.at("beta_fast").get<double>(),
                                .beta_slow = content.at("beta_slow").get<double>(),
                                .n_ctx_orig = content.at("n_ctx_orig").get<std::int64_t>(),
                                .freq_factors = freq_factors}};
}

void run_multi_axis_ggml(const json& content, Tally& tally) {
  const auto own = content.at("shape").get<Shape>();
  const Shape shape = {1, own.at(0), own.at(1), own.at(2)};
  const auto mode = content.at("mode").get<int>();
  const auto n_dims = content.at("n_dims").get<std::int64_t>();
  const auto sections = content.at("sections").get<std::vector<std::int64_t>>();
  const Ids ids = {4, 1, shape[1], content.at("positions").get<std::vector<std::int64_t>>()};
  const rope::Frequencies ladder = rope::frequencies(ggml_parameters(content));
  const rope::PairingOptions options = {.pairing = rope::Pairing::half_split,
                                        .first_dim = content.value("n_offs", std::int64_t{0})};
  std::vector<float> x;
  if (mode == 24) {
    // VISION: half of the head's pairs for each of two planes, each plane's ladder from its start.
    std::vector<double> values(static_cast<std::size_t>(4 * n_dims), 0.0);
    for (std::int64_t axis = 0, pair = 0; axis < 4; ++axis) {
      for (std::int64_t i = 0; i < sections[static_cast<std::size_t>(axis)]; ++i, ++pair) {
        REQUIRE(pair < n_dims);
        values[static_cast<std::size_t>(axis * n_dims + pair)] = ladder(0, 0, i);
      }
    }
    const rope::TokenTable<float> table(rope::Frequencies(values, {4, 1, n_dims}),
                                        ids.coordinates());
    x = formula<float>(shape, 0.0);
    rope::rotate(rope::bthd(x, {shape[0], shape[1], shape[2], shape[3]}), table, options);
  } else if (mode == 8) {
    x = rotated<float>(shape, 0.0, ladder, rope::contiguous_axes(sections), ids, options);
  } else if (mode == 40) {
    x = rotated<float>(
        shape, 0.0, ladder,
        rope::ggml_interleaved_axes(
            {.time = sections.at(0), .height = sections.at(1), .width = sections.at(2)},
            sections.at(3)),
        ids, options);
  } else {
    throw std::runtime_error("a mode of ggml that nobody knows: " + std::to_string(mode));
  }
  if (!content.at("forward").get<bool>()) {
    throw std::runtime_error("a backward case with several axes");
  }
  const std::vector<double> expected = flat(content.at("output"));
  REQUIRE(expected.size() == x.size());
  // Its frequencies are products of up to 7 floats, its angle a float.
  const double tolerance = 1e-6 + static_cast<double>(ids.rows()) * 5e-7;
  for (std::size_t i = 0; i < x.size(); ++i) {
    INFO("element " << i);
    CHECK(std::abs(static_cast<double>(x[i]) - expected[i]) <= tolerance * ladder.magnitude() * 2);
  }
  ++tally["operations of ggml with several axes against its float32"];
}

}  // namespace rope_test
