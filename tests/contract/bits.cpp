// Prints digests of numbers that must have the same bits on every machine and with every compiler
// and its options; bits.expected has them. A line says "normal" or "extreme": extreme ones, with
// subnormal numbers and infinities, are not promised under -ffast-math.

#include <bit>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "rope/core.hpp"

namespace {

using rope::Pairing;

/// FNV-1a, 64 bits, byte by byte from the lowest.
class Digest {
 public:
  [[gnu::noinline]] void add(float value) {
    add_bits(std::bit_cast<std::uint32_t>(value), 0x7f800000, 4);
  }
  [[gnu::noinline]] void add(double value) {
    add_bits(std::bit_cast<std::uint64_t>(value), 0x7ff0000000000000, 8);
  }

  [[gnu::noinline]] void add(rope::f16 value) { add_bits(value.bits, 0x7c00, 2); }
  [[gnu::noinline]] void add(rope::bf16 value) { add_bits(value.bits, 0x7f80, 2); }

  void print(const char* name) const { std::printf("%s %016" PRIx64 "\n", name, hash_); }

 private:
  /// What payload and sign a NaN has is not promised.
  void add_bits(std::uint64_t bits, std::uint64_t infinity, int bytes) {
    const std::uint64_t magnitude = bits & (infinity | (infinity - 1));
    if (magnitude > infinity) bits = infinity + 1;
    for (int byte = 0; byte < bytes; ++byte) {
      hash_ = (hash_ ^ (bits >> (8 * byte) & 0xff)) * 0x100000001b3;
    }
  }

  std::uint64_t hash_ = 0xcbf29ce484222325;
};

/// Knuth's 64-bit linear congruential generator; the high bits are good.
class Random {
 public:
  std::uint64_t bits() {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    const std::uint64_t high = state_ >> 32;
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return high << 32 | state_ >> 32;
  }

  /// A number of either sign between 2^-20 and 2^20.
  void normal(float& value) {
    const std::uint64_t random = bits();
    const auto exponent = static_cast<std::uint32_t>(127 - 20 + (random >> 32) % 40);
    value =
        std::bit_cast<float>((static_cast<std::uint32_t>(random) & 0x807fffff) | exponent << 23);
  }
  void normal(double& value) {
    const std::uint64_t random = bits();
    const std::uint64_t exponent = 1023 - 20 + bits() % 40;
    value = std::bit_cast<double>((random & 0x800fffffffffffff) | exponent << 52);
  }

  void normal(rope::f16& value) {
    const std::uint64_t random = bits();
    value.bits = static_cast<std::uint16_t>((random & 0x83ff) | (10 + (random >> 32) % 10) << 10);
  }
  void normal(rope::bf16& value) {
    float wide = 0;
    normal(wide);
    value.bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(wide) >> 16);
  }

  /// Any number but NaN: every fourth is infinite, subnormal or zero.
  void extreme(float& value) {
    const std::uint64_t random = bits();
    const auto low = static_cast<std::uint32_t>(random);
    const std::uint32_t choices[8] = {0, low & 0x7fffff, 0x7f800000, low & 0x7fffff,
                                      1, 0x007fffff,     0x00800000, 0x7f7fffff};
    const bool any = (random >> 40 & 3) != 0 && (low & 0x7f800000) != 0x7f800000;
    value = std::bit_cast<float>(any ? low : (low & 0x80000000) | choices[random >> 50 & 7]);
  }
  void extreme(double& value) {
    const std::uint64_t low = bits();
    const std::uint64_t random = bits();
    constexpr std::uint64_t infinity = 0x7ff0000000000000;
    const std::uint64_t fraction = low & 0xfffffffffffff;
    const std::uint64_t choices[8] = {
        0, fraction, infinity, fraction, 1, 0xfffffffffffff, std::uint64_t{1} << 52, infinity - 1};
    const bool any = (random >> 40 & 3) != 0 && (low & infinity) != infinity;
    value = std::bit_cast<double>(any ? low : (low >> 63 << 63) | choices[random >> 50 & 7]);
  }
  void extreme(rope::f16& value) {
    const std::uint64_t random = bits();
    value.bits = static_cast<std::uint16_t>(random);
    if ((random & 0x7c00) == 0x7c00) value.bits &= 0xfc00;
    if ((random >> 40 & 3) == 0) value.bits &= 0x83ff;
  }
  void extreme(rope::bf16& value) {
    float wide = 0;
    extreme(wide);
    value.bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(wide) >> 16);
  }

 private:
  std::uint64_t state_ = 42;
};

void print_frequencies(const char* name, const std::vector<double>& bases) {
  Digest digest;
  for (const std::int64_t dim : {2, 6, 10, 64, 80, 96, 128, 192, 256}) {
    for (const double base : bases) {
      const auto plain = rope::frequencies({.rotary_dim = dim, .base = base});
      for (const double value : plain.values()) digest.add(value);
      const auto scaled = rope::frequencies(
          {.rotary_dim = dim, .base = base, .scaling = rope::Linear{.factor = 3.7}});
      for (const double value : scaled.values()) digest.add(value);
    }
  }
  digest.print(name);
}

template <class T>
void print_table(const char* name, const rope::Frequencies& frequencies, std::int64_t rows) {
  const rope::CosSinTable<T> table(frequencies, rows);
  Digest digest;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t head = 0; head < table.heads(); ++head) {
      for (const T value : table.cos(row, head)) digest.add(value);
      for (const T value : table.sin(row, head)) digest.add(value);
    }
  }
  digest.print(name);
}

/// Any positions: text to 131072 for two of the pairs of a long-context model, and frequencies so
/// high that the angles are those of position 2^24 and more.
template <class T>
void print_tables(const char* text, const char* high, const char* tiny) {
  const auto model = rope::frequencies({.rotary_dim = 128, .base = 500000});
  print_table<T>(text, rope::Frequencies({model(0, 0, 1), model(0, 0, 40)}, {1, 1, 2}), 131072);
  const std::vector<double> values = {8191.99999, -0.7390851332151607, 5.0e9,
                                      1.0e-9,     3.1415926535897931,  0.0};
  print_table<T>(high, rope::Frequencies(values, {1, 2, 3}, 1.2079441541679836), 3000);
  // Sines and products below the smallest normal number.
  print_table<T>(tiny, rope::Frequencies({1e-320, 1e-40, 2.2250738585072014e-308}, {1, 1, 3}, 0.1),
                 1100);
}

/// A grid, whose values are listed, and points, which are not; whole numbers and fractions, up to
/// angles of many turns.
template <class T>
void print_token_tables(const char* exact, const char* rounded) {
  std::vector<double> values;
  for (int axis = 0; axis < 3; ++axis) {
    for (int pair = 0; pair < 37; ++pair) {
      const bool turns = pair < 20 || axis == pair % 3;
      values.push_back(turns ? 3.0 / (1 + 7 * pair + axis) * (axis == 1 ? -1 : 1) : 0.0);
    }
  }
  const rope::Frequencies frequencies(values, {3, 1, 37}, 1.2);
  std::vector<double> places;
  Random random;
  for (int token = 0; token < 300; ++token) {
    if (token < 200) {
      places.insert(places.end(), {static_cast<double>(token / 20), -0.3 * (token % 20), 7.0});
    } else {
      for (int axis = 0; axis < 3; ++axis) {
        double place = 0;
        random.normal(place);
        places.push_back(token % 2 == 0 ? place : static_cast<double>(random.bits() >> 24));
      }
    }
  }
  const auto tokens = rope::coordinates(places, {300, 3});
  Digest digest;
  const auto add = [&](const rope::TokenTable<T>& table) {
    for (std::int64_t token = 0; token < 300; ++token) {
      for (const T value : table.cos(0, token)) digest.add(value);
      for (const T value : table.sin(0, token)) digest.add(value);
    }
  };
  add(rope::TokenTable<T>(frequencies, tokens));
  digest.print(exact);
  digest = {};
  add(rope::TokenTable<T>(frequencies, tokens, {.angles = rope::Angles::float32}));
  add(rope::TokenTable<T>(frequencies, tokens, {.round_entries_to = rope::EntryRounding::bf16}));
  add(rope::TokenTable<T>(frequencies, tokens, {.round_entries_to = rope::EntryRounding::f16}));
  digest.print(rounded);
}

struct Shape {
  std::int64_t dim;
  std::int64_t rotary_dim;
  std::int64_t first_dim;
};

/// Rotates pseudo-random q in every direction, with all rotated widths that kernels treat
/// differently, and feeds results to one digest.
template <class T>
void print_rotations(const char* name, bool extreme) {
  constexpr std::int64_t tokens = 7;
  constexpr std::int64_t heads = 3;
  constexpr std::int64_t rows = 1500;
  Digest digest;
  Random random;
  for (const Shape& shape : {Shape{2, 2, 0}, Shape{6, 6, 0}, Shape{10, 8, 1}, Shape{30, 30, 0},
                             Shape{64, 64, 0}, Shape{70, 62, 5}, Shape{80, 80, 0},
                             Shape{96, 64, 32}, Shape{128, 128, 0}, Shape{256, 256, 0}}) {
    const auto plain = rope::frequencies({.rotary_dim = shape.rotary_dim});
    const std::vector<double> values(plain.values().begin(), plain.values().end());
    const double magnitude = extreme ? 1.5 : 1.0;
    const rope::CosSinTable<rope::compute_type_t<T>> table(
        rope::Frequencies(values, {1, 1, plain.pairs()}, magnitude), rows);
    std::vector<T> x(static_cast<std::size_t>(tokens * heads * shape.dim));
    std::vector<T> y(x.size());
    const auto in = rope::thd(x, {tokens, heads, shape.dim});
    const auto out = rope::htd(y, {heads, tokens, shape.dim});
    const std::int32_t ids[tokens] = {0, 1, 2, 1023, 1024, 1499, 700};
    const auto positions = rope::at(ids, {tokens});
    const auto add_all = [&] {
      for (const T value : x) digest.add(value);
      for (const T value : y) digest.add(value);
    };
    for (const Pairing pairing : {Pairing::interleaved, Pairing::half_split}) {
      const rope::PairingOptions options{.pairing = pairing, .first_dim = shape.first_dim};
      for (T& value : x) {
        if (extreme) {
          random.extreme(value);
        } else {
          random.normal(value);
        }
      }
      rope::rotate_to(in, out, table, positions, options);
      add_all();
      rope::rotate_inverse_to(in, out, table, positions, options);
      add_all();
      rope::rotate_transpose_to(in, out, table, positions, options);
      add_all();
      rope::rotate(in, table, rope::from(1490), options);
      rope::rotate_transpose(out, table, positions, options);
      add_all();
      rope::rotate_inverse(in, table, rope::from(3), options);
      add_all();
    }
  }
  digest.print(name);
}

/// Rotates pseudo-random In into Out.
template <class In, class Out>
void print_conversions(const char* name, bool extreme) {
  constexpr std::int64_t tokens = 3;
  constexpr std::int64_t heads = 2;
  Digest digest;
  Random random;
  for (const Shape& shape : {Shape{2, 2, 0}, Shape{10, 8, 1}, Shape{67, 64, 2}, Shape{80, 80, 0},
                             Shape{128, 128, 0}, Shape{133, 70, 3}}) {
    const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = shape.rotary_dim}), 40);
    std::vector<In> x(static_cast<std::size_t>(tokens * heads * shape.dim));
    std::vector<Out> y(x.size());
    const auto in = rope::thd(x, {tokens, heads, shape.dim});
    const auto out = rope::thd(y, {tokens, heads, shape.dim});
    for (const Pairing pairing : {Pairing::interleaved, Pairing::half_split}) {
      for (In& value : x) {
        if (extreme) {
          random.extreme(value);
        } else {
          random.normal(value);
        }
      }
      rope::rotate_to(in, out, table, rope::from(37),
                      {.pairing = pairing, .first_dim = shape.first_dim});
      for (const Out value : y) digest.add(value);
    }
  }
  digest.print(name);
}

template <class T>
void print_conversions_of(const char* normal_from, const char* normal_to, const char* extreme_from,
                          const char* extreme_to) {
  print_conversions<float, T>(normal_to, false);
  print_conversions<T, float>(normal_from, false);
  print_conversions<float, T>(extreme_to, true);
  print_conversions<T, float>(extreme_from, true);
}

/// Frequencies in directions, and gradients with respect to frequencies and positions.
void print_directions() {
  Digest directions;
  const auto add = [&](const rope::Frequencies& frequencies) {
    for (const double value : frequencies.values()) directions.add(value);
  };
  for (const auto form : {rope::GoldenGateForm::exact_2d, rope::GoldenGateForm::exact_nd,
                          rope::GoldenGateForm::blog_2d, rope::GoldenGateForm::blog_nd,
                          rope::GoldenGateForm::bnnp, rope::GoldenGateForm::experiment}) {
    add(rope::golden_gate_frequencies({.form = form,
                                       .axes = 2,
                                       .heads = 5,
                                       .rotary_dim = 66,
                                       .min_frequency = 0.2,
                                       .max_frequency = 100,
                                       .zero_share = 0.1}));
  }
  for (const std::int64_t axes : {1, 3, 4}) {
    for (const double direction :
         rope::golden_gate_directions(rope::GoldenGateForm::exact_nd, axes, 300)) {
      directions.add(direction);
    }
  }
  const std::vector<double> angles = {0.1, -2, 3, 1e6, 0, 4};
  for (const auto& layer :
       rope::mixed_frequencies({.layers = 2, .heads = 3, .rotary_dim = 40}, angles)) {
    add(layer);
  }
  add(rope::polar_frequencies({{-3, 0.5, 2}}, {{1, -2, 1e5}}, {1, 3}));
  directions.print("normal directions");

  constexpr std::int64_t tokens = 300;
  constexpr std::int64_t heads = 3;
  constexpr std::int64_t pairs = 5;
  Random random;
  std::vector<float> y(tokens * heads * 2 * pairs);
  std::vector<double> g(y.size());
  std::vector<double> places(2 * tokens);
  for (float& value : y) random.normal(value);
  for (double& value : g) random.normal(value);
  for (double& value : places) random.normal(value);
  const auto y_view = rope::thd(y, {tokens, heads, 2 * pairs});
  const auto g_view = rope::thd(g, {tokens, heads, 2 * pairs});
  Digest gradients;
  for (const Pairing pairing : {Pairing::interleaved, Pairing::half_split}) {
    for (const std::int64_t own : {std::int64_t{1}, heads}) {
      std::vector<double> frequencies(static_cast<std::size_t>(2 * own * pairs));
      for (double& value : frequencies) random.normal(value);
      const rope::Frequencies used(frequencies, {2, own, pairs});
      std::vector<double> positions(places.size());
      rope::frequency_gradient(y_view, g_view, rope::coordinates(places, {tokens, 2}),
                               {frequencies, {2, own, pairs}},
                               {.pairing = pairing, .accumulation = rope::Accumulation::add});
      rope::position_gradient(y_view, g_view, used, {positions, {tokens, 2}},
                              {.pairing = pairing, .accumulation = rope::Accumulation::overwrite});
      for (const double value : frequencies) gradients.add(value);
      for (const double value : positions) gradients.add(value);
    }
  }
  gradients.print("normal gradients");
}

}  // namespace

int main() {
  print_frequencies("normal frequencies",
                    {1.0000000000000002, 2, 100, 10000, 500000, 1e6, 1e7, 1e200});
  // The trailing parts of such small frequencies are subnormal on the way.
  print_frequencies("extreme frequencies", {1e300, 1.7e308});
  print_tables<float>("normal float table, text", "normal float table, high angles",
                      "extreme float table, tiny angles");
  print_tables<double>("normal double table, text", "normal double table, high angles",
                       "extreme double table, tiny angles");
  print_token_tables<float>("normal float token table",
                            "normal float token table, as models round it");
  print_token_tables<double>("normal double token table",
                             "normal double token table, as models round it");
  print_rotations<float>("normal float rotations", false);
  print_rotations<double>("normal double rotations", false);
  print_rotations<float>("extreme float rotations", true);
  print_rotations<double>("extreme double rotations", true);
  print_rotations<rope::f16>("normal f16 rotations", false);
  print_rotations<rope::bf16>("normal bf16 rotations", false);
  print_rotations<rope::f16>("extreme f16 rotations", true);
  print_rotations<rope::bf16>("extreme bf16 rotations", true);
  print_conversions_of<rope::f16>("normal f16 to float", "normal float to f16",
                                  "extreme f16 to float", "extreme float to f16");
  print_conversions_of<rope::bf16>("normal bf16 to float", "normal float to bf16",
                                   "extreme bf16 to float", "extreme float to bf16");
  print_directions();
}
