#include "golden/nd/check.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include "rope/rotate.hpp"
#include "rope/spatial/rotated_tokens.hpp"
#include "rope/view.hpp"
#include "support/catch.hpp"

namespace rope_test::nd {
namespace {

std::size_t to_size(std::int64_t value) { return static_cast<std::size_t>(value); }

/// Where the two features of a pair stand in a head.
std::pair<std::int64_t, std::int64_t> features(rope::Pairing pairing, std::int64_t pair,
                                               std::int64_t pairs) {
  if (pairing == rope::Pairing::interleaved) return {2 * pair, 2 * pair + 1};
  return {pair, pair + pairs};
}

template <class T>
std::vector<double> table_entries(const rope::TokenTable<T>& table, bool is_sin, const Setup& setup,
                                  bool has_heads, bool is_wide) {
  std::vector<double> values;
  const std::int64_t heads = has_heads ? table.heads() : 1;
  const std::int64_t pairs = table.pairs();
  // [heads, tokens, ...] of the file, where it has heads; [batch, tokens, ...] where it has not.
  const std::int64_t all_tokens = table.batch() * table.tokens();
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t t = 0; t < all_tokens; ++t) {
      const std::int64_t batch = t / table.tokens();
      const std::int64_t token = t % table.tokens();
      const auto row = is_sin ? table.sin(batch, token, head) : table.cos(batch, token, head);
      std::vector<double> wide(to_size(is_wide ? 2 * pairs : pairs));
      for (std::int64_t pair = 0; pair < pairs; ++pair) {
        const auto value = static_cast<double>(row[to_size(pair)]);
        if (is_wide) {
          const auto [a, b] = features(setup.pairing, pair, pairs);
          wide[to_size(a)] = value;
          wide[to_size(b)] = value;
        } else {
          wide[to_size(pair)] = value;
        }
      }
      values.insert(values.end(), wide.begin(), wide.end());
    }
  }
  return values;
}

template <class T>
std::vector<double> rotated(const Setup& setup, const Block& block) {
  std::vector<T> x = input<T>(block);
  const rope::TokenTable<T> table(setup.frequencies, setup.positions);
  rope::rotate(
      rope::rotated_tokens(rope::bhtd(x, {block.batch, block.heads, block.tokens, block.dim}),
                           {.first = setup.first_tokens, .last = setup.last_tokens}),
      table, {.pairing = setup.pairing});
  return {x.begin(), x.end()};
}

}  // namespace

Block block_of(const Array& y) {
  const std::size_t rank = y.shape.size();
  if (rank < 4 || (rank == 5 && y.shape[0] != 1) || rank > 5) {
    throw std::runtime_error("rotated vectors of a shape that nobody knows");
  }
  return {y.shape[rank - 4], y.shape[rank - 3], y.shape[rank - 2], y.shape[rank - 1]};
}

template <class T>
std::vector<T> input(const Block& block) {
  std::vector<T> x;
  for (std::int64_t b = 0; b < block.batch; ++b) {
    for (std::int64_t h = 0; h < block.heads; ++h) {
      for (std::int64_t t = 0; t < block.tokens; ++t) {
        for (std::int64_t d = 0; d < block.dim; ++d) {
          const double value =
              std::sin(0.1 * static_cast<double>(1 + b) + 0.37 * static_cast<double>(t) +
                       0.11 * static_cast<double>(h) + 0.013 * static_cast<double>(d));
          x.push_back(static_cast<T>(static_cast<float>(value)));
        }
      }
    }
  }
  return x;
}
template std::vector<float> input<float>(const Block&);
template std::vector<double> input<double>(const Block&);

rope::Pairing pairing_of(const Case& one) {
  const std::string text = one.content().at("pairing").get<std::string>();
  if (text.starts_with("interleaved")) return rope::Pairing::interleaved;
  if (text.starts_with("half") && !text.starts_with("half WITHIN")) {
    return rope::Pairing::half_split;
  }
  throw std::runtime_error("a pairing that nobody knows: " + text);
}

void compare(const std::vector<double>& found, const std::vector<double>& expected,
             double tolerance, const std::string& what, Tally& tally) {
  INFO(what);
  REQUIRE(found.size() == expected.size());
  REQUIRE(tolerance > 0);
  double worst = 0;
  std::size_t where = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double error = std::abs(found[i] - expected[i]);
    if (!(error <= worst)) {
      worst = error;
      where = i;
    }
  }
  INFO("worst at element " << where);
  CHECK(worst <= tolerance);
  ++tally[what];
}

void check_table(const Case& one, const Setup& setup, Tally& tally, const std::string& cos,
                 const std::string& sin) {
  for (const bool is_sin : {false, true}) {
    const std::string& name = is_sin ? sin : cos;
    if (!one.has(name)) continue;
    const Array array = one.array(name);
    const std::int64_t pairs = setup.frequencies.pairs();
    const std::int64_t width = array.shape.back();
    if (width != pairs && width != 2 * pairs) {
      throw std::runtime_error("a table of a width that nobody knows");
    }
    const std::int64_t rows = array.size() / width;
    const bool has_heads = rows != setup.positions.batch() * setup.positions.tokens();
    const rope::TokenTable<double> table(setup.frequencies, setup.positions);
    const rope::TokenTable<float> narrow(setup.frequencies, setup.positions);
    const bool is_wide = width != pairs;
    if (has_heads && table.heads() == 1) {
      // The file repeats the same rows for every head.
      const std::vector<double> row = table_entries(table, is_sin, setup, false, is_wide);
      std::vector<double> repeated;
      while (repeated.size() < array.values.size()) {
        repeated.insert(repeated.end(), row.begin(), row.end());
      }
      compare(repeated, array.values, one.tolerance(), "tables", tally);
      continue;
    }
    compare(table_entries(table, is_sin, setup, has_heads, is_wide), array.values, one.tolerance(),
            "tables", tally);
    compare(table_entries(narrow, is_sin, setup, has_heads, is_wide), array.values, one.tolerance(),
            "tables", tally);
  }
}

void check_rotation(const Case& one, const Setup& setup, Tally& tally, const std::string& y) {
  const Array expected = one.array(y);
  const Block block = block_of(expected);
  compare(rotated<float>(setup, block), expected.values, one.tolerance(),
          "tensors rotated in float", tally);
  compare(rotated<double>(setup, block), expected.values, one.tolerance(),
          "tensors rotated in double", tally);
}

void check_rotation_by_table(const Case& one, const Setup& setup, Tally& tally) {
  const Array cos = one.array("cos");
  const Array sin = one.array("sin");
  const std::int64_t pairs = setup.frequencies.pairs();
  const Block block = {2, setup.frequencies.heads(), setup.positions.tokens(), 2 * pairs + 2};
  const std::int64_t width = cos.shape.back();
  std::vector<double> expected = input<double>(block);
  for (std::size_t head = 0; head < expected.size(); head += to_size(block.dim)) {
    const std::int64_t token = static_cast<std::int64_t>(head) / block.dim % block.tokens;
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      const auto [a, b] = features(setup.pairing, pair, pairs);
      const std::int64_t entry = token * width + (width == pairs ? pair : a);
      double& x = expected[head + to_size(a)];
      double& z = expected[head + to_size(b)];
      const double turned = x * cos[entry] - z * sin[entry];
      z = x * sin[entry] + z * cos[entry];
      x = turned;
    }
  }
  for (const auto& found : {rotated<float>(setup, block), rotated<double>(setup, block)}) {
    compare(found, expected, 2 * one.tolerance(), "tensors rotated by a file's own table", tally);
  }
}

double usual_tolerance(const json& content) {
  const std::string family = content.at("family").get<std::string>();
  const json params = content.value("params", json::object());
  if (params.value("dtype", json()) == "bfloat16") return 0.08;
  if (family == "ltx") return 2e-3;
  if (family.starts_with("golden_gate")) return 1e-3;
  if (params.value("in_pixels", json()) == true || params.value("freqs_for", json()) == "pixel") {
    return 1e-4;
  }
  return 1e-5;
}

bool vjepa2_is_scaled(const Case& one) {
  const auto size = one.param<std::vector<std::int64_t>>("T,H,W");
  const Array rows = one.array("pos_h");
  const Array columns = one.array("pos_w");
  const auto ids = one.param<std::vector<std::int64_t>>("mask_ids", {});
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    const std::int64_t id = ids.empty() ? i : ids.at(to_size(i));
    if (rows[i] != static_cast<double>(id / size.at(2) % size.at(1)) ||
        columns[i] != static_cast<double>(id % size.at(2))) {
      return true;
    }
  }
  return false;
}

rope::Coordinates listed(const std::vector<std::vector<double>>& tokens) {
  std::vector<double> values;
  for (const std::vector<double>& token : tokens) {
    values.insert(values.end(), token.begin(), token.end());
  }
  return {std::move(values), {tokens.size(), tokens.at(0).size()}};
}

std::vector<std::vector<double>> row_column_grid(std::int64_t height, std::int64_t width) {
  return product_grid({counted(height), counted(width)});
}

std::vector<std::vector<double>> product_grid(const std::vector<std::vector<double>>& values) {
  std::vector<std::vector<double>> tokens = {{}};
  for (const std::vector<double>& axis : values) {
    std::vector<std::vector<double>> longer;
    for (const std::vector<double>& token : tokens) {
      for (const double value : axis) {
        longer.push_back(token);
        longer.back().push_back(value);
      }
    }
    tokens = std::move(longer);
  }
  return tokens;
}

std::vector<double> counted(std::int64_t count, double first) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(first + static_cast<double>(i));
  return values;
}

std::vector<double> linspace(double first, double last, std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(count == 1 ? first
                                : first + (last - first) * static_cast<double>(i) /
                                              static_cast<double>(count - 1));
  }
  return values;
}

}  // namespace rope_test::nd
