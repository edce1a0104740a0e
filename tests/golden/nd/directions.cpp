// Directions of their own for every pair, and all gradients of the files.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "golden/nd/check.hpp"
#include "golden/nd/families.hpp"
#include "rope/coordinates.hpp"
#include "rope/frequencies.hpp"
#include "rope/gradient.hpp"
#include "rope/rotate.hpp"
#include "rope/rotate_inverse.hpp"
#include "rope/spatial/axial.hpp"
#include "rope/spatial/golden_gate.hpp"
#include "rope/spatial/grid.hpp"
#include "rope/spatial/grid_axis.hpp"
#include "rope/spatial/ladders.hpp"
#include "rope/spatial/learned.hpp"
#include "rope/spatial/mixed.hpp"
#include "rope/spatial/random_directions.hpp"
#include "rope/spatial/rotated_tokens.hpp"
#include "rope/token_table.hpp"
#include "rope/view.hpp"
#include "support/catch.hpp"

namespace rope_test::nd {
namespace {

using Numbers = std::vector<double>;

std::size_t to_size(std::int64_t value) { return static_cast<std::size_t>(value); }
double real(std::int64_t value) { return static_cast<double>(value); }

/// The float that a file shows with nine digits.
double to_float(double shown) { return static_cast<double>(static_cast<float>(shown)); }

/// Compares numbers that should be the same floats but for the last bit of a cosine, and where the
/// folder does not say how they were made, of the ladder's power.
void compare_floats(const Case& one, const Numbers& found, const Numbers& expected,
                    const std::string& what, Tally& tally) {
  INFO(what);
  REQUIRE(found.size() == expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double difference = std::abs(found[i] - expected[i]);
    if (difference != 0) worst = std::max(worst, difference / std::abs(expected[i]));
  }
  CHECK(worst <= (one.has_tolerance() ? 2.5e-7 : 5e-7));
  ++tally[what];
}

/// [axes, heads, pairs] as the files have it, [heads, pairs, axes].
Numbers axes_last(const rope::Frequencies& frequencies) {
  Numbers values(frequencies.values().size());
  rope::store_learned(frequencies.values(), values,
                      {.layout = rope::LearnedLayout::layers_heads_pairs_axes,
                       .axes = frequencies.axes(),
                       .heads = frequencies.heads(),
                       .pairs = frequencies.pairs()},
                      rope::Accumulation::overwrite);
  return values;
}

/// The loss's gradient with respect to y, a formula of four indices, rounded to float.
Numbers loss_weights(const Block& block) {
  Numbers w;
  for (std::int64_t b = 0; b < block.batch; ++b) {
    for (std::int64_t h = 0; h < block.heads; ++h) {
      for (std::int64_t t = 0; t < block.tokens; ++t) {
        for (std::int64_t d = 0; d < block.dim; ++d) {
          const double value =
              std::cos(0.05 * real(1 + b) + 0.21 * real(t) + 0.17 * real(h) + 0.029 * real(d));
          w.push_back(static_cast<double>(static_cast<float>(value)));
        }
      }
    }
  }
  return w;
}

/// The rotation and all gradients of one layer.
struct Layer {
  Numbers y;
  Numbers gradient_x;
  Numbers gradient_frequencies;  // [axes, heads or 1, pairs]
  Numbers gradient_positions;    // [batch or 1, tokens, axes]
};

/// With x, y and w in type T; the loss is `weight` * sum(w * y).
template <class T>
Layer run_layer(const Setup& setup, const Block& block, double weight) {
  const rope::Extents<4> shape = {block.batch, block.heads, block.tokens, block.dim};
  const rope::UnrotatedTokens unrotated = {setup.first_tokens, setup.last_tokens};
  std::vector<T> y = input<T>(block);
  std::vector<T> g;
  for (const double value : loss_weights(block)) g.push_back(static_cast<T>(weight * value));
  const auto y_view = rope::rotated_tokens(rope::bhtd(y, shape), unrotated);
  const auto g_view = rope::rotated_tokens(rope::bhtd(g, shape), unrotated);
  const rope::TokenTable<T> table(setup.frequencies, setup.positions);
  const rope::Frequencies& frequencies = setup.frequencies;

  rope::rotate(y_view, table, {.pairing = setup.pairing});
  Layer result;
  result.gradient_frequencies.assign(frequencies.values().size(), 1e300);
  rope::frequency_gradient(
      y_view, g_view, setup.positions,
      {result.gradient_frequencies, {frequencies.axes(), frequencies.heads(), frequencies.pairs()}},
      {.pairing = setup.pairing, .accumulation = rope::Accumulation::overwrite});
  result.gradient_positions.assign(setup.positions.values().size(), 1e300);
  rope::position_gradient(
      y_view, g_view, frequencies, {result.gradient_positions, setup.positions.shape()},
      {.pairing = setup.pairing, .accumulation = rope::Accumulation::overwrite});
  rope::rotate_transpose(g_view, table, {.pairing = setup.pairing});
  result.y.assign(y.begin(), y.end());
  result.gradient_x.assign(g.begin(), g.end());
  return result;
}

void add(Numbers& sum, const Numbers& values) {
  if (sum.empty()) sum.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
}

/// One or several layers that turn the same x; the loss weighs them 1, 0.5, ...
struct Layers {
  std::vector<Setup> setups;
  /// How the file has the frequencies of all layers.
  rope::LearnedLayout layout;
};

struct GradientNames {
  const char* frequencies;
  /// One array [batch or 1, tokens, axes], or one for each axis; empty if the file has none.
  std::vector<const char*> positions;
};

template <class T>
void check_layers_as(const Case& one, const Layers& layers, const GradientNames& names,
                     Tally& tally) {
  const std::string type = sizeof(T) == 4 ? " in float" : " in double";
  const Array y = one.array("y");
  const auto depth = static_cast<std::int64_t>(layers.setups.size());
  const std::size_t rank = y.shape.size();
  REQUIRE((rank == 4 || (rank == 5 && y.shape[0] == depth)));
  const Block block = {y.shape[rank - 4], y.shape[rank - 3], y.shape[rank - 2], y.shape[rank - 1]};
  const rope::Frequencies& first = layers.setups.front().frequencies;

  Numbers all_y;
  Numbers gradient_x;
  Numbers gradient_positions;
  Numbers gradient_frequencies(first.values().size() * to_size(depth));
  for (std::int64_t layer = 0; layer < depth; ++layer) {
    const Setup& setup = layers.setups[to_size(layer)];
    const Layer result = run_layer<T>(setup, block, std::pow(0.5, real(layer)));
    all_y.insert(all_y.end(), result.y.begin(), result.y.end());
    add(gradient_x, result.gradient_x);
    add(gradient_positions, result.gradient_positions);
    rope::store_learned(result.gradient_frequencies, gradient_frequencies,
                        {.layout = layers.layout,
                         .axes = first.axes(),
                         .layers = depth,
                         .layer = layer,
                         .heads = first.heads(),
                         .pairs = first.pairs()},
                        rope::Accumulation::overwrite);
  }
  const double tolerance = one.tolerance();
  compare(all_y, y.values, tolerance, "tensors rotated" + type, tally);
  const auto compare_gradients = [&](const Numbers& found, const Numbers& expected,
                                     const std::string& what) {
    // Sums of many terms in float, where the folder does not say what they are good to.
    double largest = 0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    compare(found, expected, one.tolerance(std::max(5e-6, 4e-6 * largest)), what + type, tally);
  };
  compare_gradients(gradient_x, one.array("grad_x").values, "gradients of x");
  if (names.frequencies != nullptr) {
    compare_gradients(gradient_frequencies, one.array(names.frequencies).values,
                      "gradients of frequencies");
  }
  Numbers expected;
  if (names.positions.size() == 1) {
    expected = one.array(names.positions[0]).values;
  } else if (!names.positions.empty()) {
    const auto axes = names.positions.size();
    expected.resize(gradient_positions.size());
    for (std::size_t a = 0; a < axes; ++a) {
      const Array axis = one.array(names.positions[a]);
      REQUIRE(axis.values.size() * axes == expected.size());
      for (std::size_t t = 0; t < axis.values.size(); ++t) expected[t * axes + a] = axis.values[t];
    }
  }
  if (!expected.empty()) {
    compare_gradients(gradient_positions, expected, "gradients of positions");
  }
}

void check_layers(const Case& one, const Layers& layers, const GradientNames& names, Tally& tally) {
  check_layers_as<double>(one, layers, names, tally);
  check_layers_as<float>(one, layers, names, tally);
}

/// Compares tables whose layout check_table() does not know: [layers, heads, tokens, width] or, as
/// `tokens_first`, [tokens, heads, width].
void check_tables(const Case& one, const std::vector<Setup>& setups, bool tokens_first,
                  Tally& tally) {
  for (const bool is_sin : {false, true}) {
    const Array expected = one.array(is_sin ? "sin" : "cos");
    Numbers found;
    for (const Setup& setup : setups) {
      const rope::TokenTable<double> table(setup.frequencies, setup.positions);
      const std::int64_t repeats =
          expected.shape.back() / table.pairs();  // 1, or 2 for all features
      const std::int64_t rows = table.tokens() * table.heads();
      for (std::int64_t i = 0; i < rows; ++i) {
        const std::int64_t token = tokens_first ? i / table.heads() : i % table.tokens();
        const std::int64_t head = tokens_first ? i % table.heads() : i / table.tokens();
        const auto row = is_sin ? table.sin(0, token, head) : table.cos(0, token, head);
        for (const double value : row) found.insert(found.end(), to_size(repeats), value);
      }
    }
    compare(found, expected.values, one.tolerance(), "tables", tally);
  }
}

// Golden Gate RoPE.

/// A grid as the article has it: ends included, the area of a square kept.
std::pair<Numbers, Numbers> aspect_axes(std::int64_t rows, std::int64_t columns) {
  return {rope::axis_end_points(rows, rope::aspect_range(rows, columns)),
          rope::axis_end_points(columns, rope::aspect_range(columns, rows))};
}

rope::GoldenGate golden_gate(const Case& one, rope::GoldenGateForm form, std::int64_t axes) {
  const auto dim = one.param<std::int64_t>("head_dim");
  rope::GoldenGate options = {.form = form,
                              .axes = axes,
                              .heads = one.param<std::int64_t>("heads"),
                              .rotary_dim = dim,
                              .min_frequency = one.param<double>("min_freq"),
                              .max_frequency = one.param<double>("max_freq")};
  if (one.has_param("p_zero_freqs")) {
    options.zero_share = one.param<double>("p_zero_freqs");
  } else if (one.has_param("n_zero_freqs")) {
    options.zero_share = one.param<double>("n_zero_freqs") / real(dim / 2);
  }
  if (one.has_param("direction_spacing")) {
    options.direction_spacing = one.param<double>("direction_spacing");
  }
  return options;
}

std::int64_t count_zero_pairs(const rope::Frequencies& frequencies) {
  std::int64_t zeros = 0;
  for (std::int64_t j = 0; j < frequencies.pairs(); ++j) {
    bool is_zero = true;
    for (std::int64_t a = 0; a < frequencies.axes(); ++a) {
      is_zero = is_zero && frequencies(a, 0, j) == 0;
    }
    zeros += is_zero ? 1 : 0;
  }
  return zeros;
}

/// The same with frequencies 1: the directions.
rope::Frequencies only_directions(rope::GoldenGate options) {
  options.min_frequency = 1;
  options.max_frequency = 1;
  options.zero_share = 0;
  return rope::golden_gate_frequencies(options);
}

void check_golden_gate_2d(const Case& one, Tally& tally) {
  const rope::GoldenGate options = golden_gate(one, rope::GoldenGateForm::blog_2d, 2);
  const rope::Frequencies frequencies = rope::golden_gate_frequencies(options);
  const auto [y, x] = aspect_axes(one.param<std::int64_t>("H"), one.param<std::int64_t>("W"));
  compare(x, one.array("pos_x").values, 3e-7, "position lists", tally);
  compare(y, one.array("pos_y").values, 3e-7, "position lists", tally);
  compare_floats(one, axes_last(frequencies), one.array("freqs").values, "float frequencies",
                 tally);
  if (one.has_param("n_zero_freqs")) {
    CHECK(count_zero_pairs(frequencies) == one.param<std::int64_t>("n_zero_freqs"));
  }
  // Sizes and angles apart.
  const Array omega = one.array("omega");
  const Array phi = one.array("phi");
  const rope::Frequencies directions = only_directions(options);
  for (std::int64_t h = 0; h < frequencies.heads(); ++h) {
    for (std::int64_t j = 0; j < frequencies.pairs(); ++j) {
      const double size = std::hypot(frequencies(0, h, j), frequencies(1, h, j));
      CHECK(std::abs(size - omega[j]) <= (one.has_tolerance() ? 2e-7 : 5e-7) * omega[j]);
      const double angle = to_float(phi[h * frequencies.pairs() + j]);
      CHECK(std::abs(directions(0, h, j) - std::cos(angle)) <= 6e-8);
      CHECK(std::abs(directions(1, h, j) - std::sin(angle)) <= 6e-8);
    }
  }
  const Setup setup = {pairing_of(one), frequencies,
                       rope::image_grid(y, x, rope::AxisOrder::x_first).coordinates()};
  check_table(one, setup, tally);
  check_rotation(one, setup, tally);
}

void check_golden_gate_nd(const Case& one, Tally& tally) {
  const bool is_bnnp = one.family() == "golden_gate_bnnp";
  const auto axes = one.param<std::int64_t>("pos_dim");
  const rope::GoldenGate options =
      golden_gate(one, is_bnnp ? rope::GoldenGateForm::bnnp : rope::GoldenGateForm::blog_nd, axes);
  const rope::Frequencies frequencies = rope::golden_gate_frequencies(options);
  compare_floats(one, axes_last(frequencies), one.array("freqs").values, "float frequencies",
                 tally);
  if (one.has("directions")) {
    compare_floats(one, axes_last(only_directions(options)), one.array("directions").values,
                   "float directions", tally);
  }
  if (one.has_param("n_zero_freqs")) {
    CHECK(count_zero_pairs(frequencies) == one.param<std::int64_t>("n_zero_freqs"));
  }
  if (one.has_param("n_nonzero_freqs")) {
    CHECK(frequencies.pairs() - count_zero_pairs(frequencies) ==
          one.param<std::int64_t>("n_nonzero_freqs"));
  }
  const Array pos = one.array("pos");
  if (one.has("grad_freqs")) {
    const auto batch = one.param<std::int64_t>("batch");
    const auto tokens = one.param<std::int64_t>("N");
    const Setup setup = {pairing_of(one), frequencies,
                         rope::Coordinates(pos.values, {batch, tokens, axes})};
    check_layers(one, {{setup}, rope::LearnedLayout::layers_heads_pairs_axes},
                 {"grad_freqs", {"grad_pos"}}, tally);
    return;
  }
  std::vector<Numbers> lists;
  for (const auto count : one.param<std::vector<std::int64_t>>("grid")) {
    lists.push_back(rope::axis_end_points(count, {.low = -1, .high = 1}));
  }
  const Setup setup = {pairing_of(one), frequencies, rope::grid(lists).coordinates()};
  const auto found = setup.positions.values();
  compare({found.begin(), found.end()}, pos.values, 1e-7, "position lists", tally);
  if (one.has("theta")) {
    Numbers theta;
    for (std::int64_t h = 0; h < frequencies.heads(); ++h) {
      for (std::int64_t t = 0; t < setup.positions.tokens(); ++t) {
        for (std::int64_t j = 0; j < frequencies.pairs(); ++j) {
          double angle = 0;
          for (std::int64_t a = 0; a < axes; ++a) {
            angle += frequencies(a, h, j) * setup.positions(0, t, a);
          }
          theta.push_back(angle);
        }
      }
    }
    compare(theta, one.array("theta").values, one.tolerance(), "angles", tally);
  }
  check_table(one, setup, tally);
  check_rotation(one, setup, tally);
}

void check_golden_directions(const Case& one, Tally& tally) {
  const auto heads = one.param<std::int64_t>("heads");
  const auto pairs = one.param<std::int64_t>("n_freqs");
  const std::int64_t count = heads * pairs;
  for (const auto& item : one.content().at("data").items()) {
    const std::string& name = item.key();
    const Array expected = one.array(name);
    INFO(name);
    if (name == "phi_2d_f32") {
      const Numbers found = rope::golden_gate_directions(rope::GoldenGateForm::blog_2d, 2, count);
      for (std::int64_t k = 0; k < count; ++k) {
        const double angle = to_float(expected[k]);
        CHECK(std::abs(found[to_size(2 * k)] - std::cos(angle)) <= 6e-8);
        CHECK(std::abs(found[to_size(2 * k + 1)] - std::sin(angle)) <= 6e-8);
      }
      ++tally["angles"];
      continue;
    }
    const rope::GoldenGateForm form =
        name == "dirs_2d_blog"             ? rope::GoldenGateForm::blog_2d
        : name.starts_with("dirs_nd_blog") ? rope::GoldenGateForm::blog_nd
        : name.starts_with("dirs_bnnp")
            ? rope::GoldenGateForm::bnnp
            : throw std::runtime_error("directions that nobody knows: " + name);
    compare_floats(one, rope::golden_gate_directions(form, expected.shape.back(), count),
                   expected.values, "float directions", tally);
  }
}

void check_golden_zero_count(const Case& one, Tally& tally) {
  for (const json& row : one.content().at("rows")) {
    const auto pairs = row.at("n_freqs").get<std::int64_t>();
    const auto zeros = [&](rope::GoldenGateForm form) {
      return count_zero_pairs(
          rope::golden_gate_frequencies({.form = form,
                                         .axes = 2,
                                         .heads = 1,
                                         .rotary_dim = 2 * pairs,
                                         .min_frequency = 1,
                                         .max_frequency = 2,
                                         .zero_share = row.at("p").get<double>()}));
    };
    INFO(row.dump());
    const auto expected = row.at("blog_round_p_F").get<std::int64_t>();
    CHECK(zeros(rope::GoldenGateForm::blog_2d) == expected);
    CHECK(zeros(rope::GoldenGateForm::blog_nd) == expected);
    CHECK(zeros(rope::GoldenGateForm::exact_2d) == expected);
    CHECK(zeros(rope::GoldenGateForm::bnnp) ==
          pairs - row.at("bnnp_nonzero_round").get<std::int64_t>());
    ++tally["numbers of zero frequencies"];
  }
}

/// The positions of the article's experiments: (y, x).
rope::Coordinates experiment_grid(const Case& one) {
  const auto [y, x] = aspect_axes(one.param<std::int64_t>("nh"), one.param<std::int64_t>("nw"));
  return rope::image_grid(y, x, rope::AxisOrder::row_first).coordinates();
}

void check_golden_experiment(const Case& one, Tally& tally) {
  const Setup setup = {
      pairing_of(one),
      rope::golden_gate_frequencies(golden_gate(one, rope::GoldenGateForm::experiment, 2)),
      experiment_grid(one)};
  check_table(one, setup, tally);
  check_rotation(one, setup, tally);
}

void check_axial_experiment(const Case& one, Tally& tally) {
  const rope::Frequencies ladder =
      rope::geometric_frequencies({.pairs = one.param<std::int64_t>("head_dim") / 4,
                                   .min_frequency = one.param<double>("min_freq"),
                                   .max_frequency = one.param<double>("max_freq"),
                                   .zero_pairs = one.param<std::int64_t>("n_zero_freqs", 0)});
  const Setup setup = {pairing_of(one), rope::axis_blocks({{0, ladder}, {1, ladder}}),
                       experiment_grid(one)};
  check_table(one, setup, tally);
  check_rotation(one, setup, tally);
}

// Learned frequencies.

rope::Frequencies learned(const Array& values, rope::LearnedLayout layout, std::int64_t axes,
                          std::int64_t heads, std::int64_t pairs, std::int64_t layers = 1,
                          std::int64_t layer = 0) {
  return rope::learned_frequencies(values.values, {.layout = layout,
                                                   .axes = axes,
                                                   .layers = layers,
                                                   .layer = layer,
                                                   .heads = heads,
                                                   .pairs = pairs});
}

void check_mixed_experiment(const Case& one, Tally& tally) {
  const auto heads = one.param<std::int64_t>("heads");
  const auto pairs = one.param<std::int64_t>("head_dim") / 2;
  const auto layout = rope::LearnedLayout::layers_heads_pairs_axes;
  const Setup setup = {pairing_of(one), learned(one.array("freqs"), layout, 2, heads, pairs),
                       experiment_grid(one)};
  const auto positions = setup.positions.values();
  compare({positions.begin(), positions.end()}, one.array("pos_yx").values, 2e-7, "position lists",
          tally);
  // Random directions cannot be drawn again, but their sizes are the ladder's.
  std::mt19937_64 engine;
  const rope::Frequencies ladder = rope::random_direction_frequencies(
      {.axes = 2,
       .heads = heads,
       .rotary_dim = 2 * pairs,
       .min_frequency = one.param<double>("min_freq"),
       .max_frequency = one.param<double>("max_freq"),
       .zero_share = one.param<double>("n_zero_freqs", 0.0) / real(pairs)},
      engine);
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t j = 0; j < pairs; ++j) {
      const double size = std::hypot(setup.frequencies(0, h, j), setup.frequencies(1, h, j));
      CHECK(std::abs(size - std::hypot(ladder(0, h, j), ladder(1, h, j))) <= 5e-7 * size);
    }
  }
  check_layers(one, {{setup}, layout}, {"grad_freqs", {}}, tally);
}

void check_mixed(const Case& one, Tally& tally) {
  const bool is_timm = one.family() == "timm_mixed";
  const auto heads = one.param<std::int64_t>("heads");
  const auto depth = one.param<std::int64_t>("depth");
  const auto dim = one.param<std::int64_t>("head_dim");
  std::int64_t width = 0;
  std::int64_t height = 0;
  if (is_timm) {
    const auto shape = one.param<std::vector<std::int64_t>>("feat_shape_HW");
    height = shape.at(0);
    width = shape.at(1);
  } else {
    width = one.param<std::int64_t>("end_x(width)");
    height = one.param<std::int64_t>("end_y(height)");
  }
  const bool rows_first = one.param<std::string>("grid_indexing", "xy") == "ij";
  const rope::Coordinates positions =
      rope::image_grid(counted(height), counted(width),
                       rows_first ? rope::AxisOrder::row_first : rope::AxisOrder::x_first)
          .coordinates();
  const Array t_x = one.array("t_x");
  const Array t_y = one.array("t_y");
  REQUIRE(t_x.size() == positions.tokens());
  for (std::int64_t t = 0; t < positions.tokens(); ++t) {
    CHECK(positions(0, t, 0) == t_x[t]);
    CHECK(positions(0, t, 1) == t_y[t]);
  }
  ++tally["position lists"];

  const auto layout = rope::LearnedLayout::axes_layers_heads_pairs;
  const Array freqs = one.array("freqs");
  std::vector<Setup> setups;
  Numbers angles;
  for (std::int64_t layer = 0; layer < depth; ++layer) {
    setups.push_back({pairing_of(one), learned(freqs, layout, 2, heads, dim / 2, depth, layer),
                      positions, one.param<std::int64_t>("num_prefix", 0)});
    for (std::int64_t h = 0; h < heads; ++h) {
      const rope::Frequencies& own = setups.back().frequencies;
      angles.push_back(std::atan2(own(1, h, 0), own(0, h, 0)));
    }
  }
  // The start of training, from the angles that must have been drawn.
  const auto starts =
      rope::mixed_frequencies({.layers = depth,
                               .heads = heads,
                               .rotary_dim = dim,
                               .base = one.param<double>(is_timm ? "temperature" : "theta")},
                              angles);
  for (std::size_t layer = 0; layer < to_size(starts.size()); ++layer) {
    const auto found = starts[layer].values();
    const auto expected = setups[layer].frequencies.values();
    compare({found.begin(), found.end()}, {expected.begin(), expected.end()}, 3e-7,
            "starts of Mixed RoPE", tally);
  }
  check_tables(one, setups, false, tally);
  check_layers(one, {setups, layout}, {"grad_freqs", {"grad_t_x", "grad_t_y"}}, tally);
  if (one.has("loss")) {
    // sum(w * y) over all tokens, of float32 sums.
    const Array y = one.array("y");
    const std::size_t rank = y.shape.size();
    const Numbers w =
        loss_weights({y.shape[rank - 4], y.shape[rank - 3], y.shape[rank - 2], y.shape[rank - 1]});
    double loss = 0;
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      loss += std::pow(0.5, real(static_cast<std::int64_t>(i / w.size()))) * w[i % w.size()] *
              y.values[i];
    }
    CHECK(std::abs(loss - one.array("loss")[0]) <= 1e-5 * std::abs(loss));
  }
}

void check_lightglue(const Case& one, Tally& tally) {
  const auto pairs = one.param<std::int64_t>("head_dim") / 2;
  const auto layout = rope::LearnedLayout::layers_heads_pairs_axes;
  const Array points = one.array("keypoints_normalised");
  const Setup setup = {
      pairing_of(one), learned(one.array("projector_weight"), layout, 2, 1, pairs),
      rope::Coordinates(points.values, {points.shape[0], points.shape[1], points.shape[2]})};
  check_table(one, setup, tally);
  check_layers(one, {{setup}, layout}, {"grad_weight", {"grad_keypoints"}}, tally);
}

void check_mochi(const Case& one, Tally& tally) {
  const auto heads = one.param<std::int64_t>("heads");
  const auto pairs = one.param<std::int64_t>("head_dim") / 2;
  const auto size = one.param<std::vector<std::int64_t>>("T,H,W");
  const double area = one.param<double>("base_height") * one.param<double>("base_width");
  const auto layout = rope::LearnedLayout::axes_layers_heads_pairs;
  const Setup setup = {
      pairing_of(one), learned(one.array("pos_frequencies"), layout, 3, heads, pairs),
      rope::grid(
          {rope::axis_steps(size.at(0)),
           rope::axis_cell_centres(size.at(1), rope::area_range(size.at(1), size.at(2), area)),
           rope::axis_cell_centres(size.at(2), rope::area_range(size.at(2), size.at(1), area))})
          .coordinates()};
  const auto positions = setup.positions.values();
  const Numbers expected = one.array("positions").values;
  double largest = 4;
  for (const double position : expected) largest = std::max(largest, std::abs(position));
  compare({positions.begin(), positions.end()}, expected, 2.5e-7 * largest, "position lists",
          tally);
  check_tables(one, {setup}, true, tally);
  check_layers(one, {{setup}, layout}, {"grad_freqs", {}}, tally);
}

/// lucidrains with learned frequencies: one ladder for all axes and heads, so that its gradient is
/// the sum over the axes, each in the pairs that follow it.
void check_lucidrains_gradients(const Case& one, Tally& tally) {
  if (!one.has("grad_freqs")) return;
  const Array ladder = one.array("freqs");
  const auto own = ladder.size();
  const auto dims = one.param<std::vector<std::int64_t>>("dims");
  const auto axes = static_cast<std::int64_t>(dims.size());
  const bool is_pixel = one.param<std::string>("freqs_for") == "pixel";
  std::vector<Numbers> lists;
  for (const std::int64_t count : dims) {
    lists.push_back(is_pixel ? rope::axis_end_points(count, {.low = -1, .high = 1})
                             : rope::axis_steps(count));
  }
  std::vector<rope::AxisBlock> blocks;
  for (std::int64_t a = 0; a < axes; ++a) {
    blocks.emplace_back(a, rope::Frequencies(ladder.values, {1, 1, own}));
  }
  const Setup setup = {pairing_of(one), rope::axis_blocks(blocks), rope::grid(lists).coordinates()};
  check_layers(one, {{setup}, rope::LearnedLayout::axes_layers_heads_pairs}, {nullptr, {}}, tally);
  const Layer result = run_layer<double>(setup, block_of(one.array("y")), 1.0);
  Numbers gradient(to_size(own));
  for (std::int64_t a = 0; a < axes; ++a) {
    for (std::int64_t j = 0; j < own; ++j) {
      gradient[to_size(j)] += result.gradient_frequencies[to_size(a * axes * own + a * own + j)];
    }
  }
  compare(gradient, one.array("grad_freqs").values, one.tolerance(),
          "gradients of shared frequencies", tally);
}

}  // namespace

std::vector<Family> direction_families() {
  return {
      {"golden_gate_2d", check_golden_gate_2d},
      {"golden_gate_nd", check_golden_gate_nd},
      {"golden_gate_bnnp", check_golden_gate_nd},
      {"golden_gate_directions", check_golden_directions},
      {"golden_gate_experiment", check_golden_experiment},
      {"golden_gate_zero_count", check_golden_zero_count},
      {"axial_experiment", check_axial_experiment},
      {"mixed_experiment", check_mixed_experiment},
      {"naver_mixed", check_mixed},
      {"timm_mixed", check_mixed},
      {"lightglue", check_lightglue},
      {"mochi", check_mochi},
      {"lucidrains", check_lucidrains_gradients},
  };
}

}  // namespace rope_test::nd
