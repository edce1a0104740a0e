// The RMS norm of heads, alone and in one pass with the rotation.
#include "rope/rms_norm.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "rope/frequencies.hpp"
#include "rope/normalize.hpp"
#include "rope/rotate.hpp"
#include "rope/rotate_normed.hpp"
#include "rope/scalar.hpp"
#include "rope/table.hpp"
#include "rope/thread_pool.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/isa.hpp"
#include "support/own_tables.hpp"
#include "support/pairings.hpp"
#include "support/tensor.hpp"

namespace {

using rope::bf16;
using rope::CosSinTable;
using rope::f16;
using rope::NormRounding;
using rope::NormWeight;
using rope::Pairing;
using rope_test::all_arrangements;
using rope_test::Arrangement;
using rope_test::for_both_pairings;
using rope_test::on_every_isa;
using rope_test::Random;
using rope_test::require_throws;
using rope_test::Shape;
using rope_test::Tensor;

template <class C>
std::vector<C> random_weights(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<C> weights(static_cast<std::size_t>(count));
  for (C& weight : weights) weight = static_cast<C>(1 + 0.5 * random.real());
  return weights;
}

template <class T>
Tensor<T> random_tensor(const Shape& shape, std::uint64_t seed,
                        Arrangement arrangement = Arrangement::bthd) {
  using C = rope::compute_type_t<T>;
  Tensor<T> tensor(shape, arrangement);
  Random random(seed);
  tensor.for_each(
      [&](const Shape& at) { tensor[at] = static_cast<T>(static_cast<C>(3 * random.real())); });
  return tensor;
}

/// One head normalised in the order that the library promises.
template <class C>
std::vector<C> normalized_head(const std::vector<C>& x, const std::vector<C>& weights,
                               double epsilon) {
  C sums[16] = {};
  for (std::size_t j = 0; j < x.size(); ++j) sums[j % 16] = std::fma(x[j], x[j], sums[j % 16]);
  for (std::size_t half = 8; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) {
      volatile C sum = sums[i] + sums[i + half];
      sums[i] = sum;
    }
  }
  volatile double mean = static_cast<double>(sums[0]) * (1.0 / static_cast<double>(x.size()));
  volatile double root = std::sqrt(mean + epsilon);
  const auto scale = static_cast<C>(1.0 / root);
  std::vector<C> result;
  for (std::size_t j = 0; j < x.size(); ++j) {
    volatile C scaled = x[j] * scale;
    result.push_back(scaled * weights[j]);
  }
  return result;
}

template <class C>
bool same_bits(const std::vector<C>& a, const std::vector<C>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!Tensor<C>::same_bits(a[i], b[i])) return false;
  }
  return true;
}

template <class In, class Out>
Tensor<Out> converted(const Tensor<In>& from) {
  Tensor<Out> to(from.shape());
  from.for_each([&](const Shape& at) {
    to[at] = static_cast<Out>(static_cast<rope::compute_type_t<In>>(from[at]));
  });
  return to;
}

const std::vector<float> ones(8, 1.0F);
constexpr rope::RmsNormOptions plain{
    .epsilon = 0, .weight = NormWeight::times_w, .rounding = NormRounding::none};

TEST_CASE("the mean is over the whole head, of which only a part is rotated") {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 4}), 2);
  const float rms = std::sqrt(25.5F);
  const float c0 = std::cos(1.0F);
  const float s0 = std::sin(1.0F);
  const float c1 = std::cos(0.01F);
  const float s1 = std::sin(0.01F);
  const auto near = [](float value, float expected) {
    return std::abs(value - expected) <= 1e-6F * std::abs(expected);
  };
  on_every_isa([&] {
    auto halves = Tensor<float>::head(x);
    rope::rotate<Pairing::half_split>(halves.view(), table, rope::from(1),
                                      {.norm = rope::rms_norm(ones, plain)});
    const auto h = halves.values(0, 0, 0);
    CHECK(near(h[0], (1 * c0 - 3 * s0) / rms));
    CHECK(near(h[1], (2 * c1 - 4 * s1) / rms));
    CHECK(near(h[2], (1 * s0 + 3 * c0) / rms));
    CHECK(near(h[3], (2 * s1 + 4 * c1) / rms));
    for (std::size_t i = 4; i < 8; ++i) CHECK(near(h[i], x[i] / rms));

    auto neighbours = Tensor<float>::head(x);
    rope::rotate(
        neighbours.view(), table, rope::from(1),
        {.pairing = Pairing::interleaved, .norm = rope::rms_norm(ones, plain), .first_dim = 3});
    const auto n = neighbours.values(0, 0, 0);
    CHECK(near(n[3], (4 * c0 - 5 * s0) / rms));
    CHECK(near(n[4], (4 * s0 + 5 * c0) / rms));
    CHECK(near(n[0], 1 / rms));
    CHECK(near(n[7], 8 / rms));
  });
}

TEST_CASE("16-bit data is rounded where the norm says") {
  // mean of the squares 5; 3 / sqrt(5) = 1.34164, of which bf16 makes 172/128 = 1.34375.
  // Times 147/128 that is 1.54321, rounded to 198/128; unrounded 1.54079, rounded to 197/128.
  const std::vector<bf16> x = {bf16(3.0F), bf16(1.0F)};
  const std::vector<float> times_w = {147.0F / 128, 1};
  const std::vector<float> one_plus_w = {19.0F / 128, 0};
  const auto normalized = [&](const rope::RmsNorm<float>& norm) {
    std::vector<float> out(2);
    rope::normalize_to(rope::thd(x, {1, 1, 2}), rope::thd(out, {1, 1, 2}), norm);
    return out;
  };
  on_every_isa([&] {
    const float second = 229.0F / 512;  // 1 / sqrt(5) = 0.447214
    CHECK(normalized(rope::qwen3_norm(times_w, 0)) == std::vector<float>{198.0F / 128, second});
    CHECK(normalized(rope::gemma3_norm(one_plus_w, 0)) == std::vector<float>{197.0F / 128, second});
    const std::vector<float> scale = {0.4472136F};
    CHECK(normalized(rope::olmo2_norm(times_w, scale)) == std::vector<float>{197.0F / 128, second});
    const auto exact = normalized(rope::rms_norm(times_w, plain));
    CHECK(std::abs(exact[0] - 1.5407906F) < 3e-7F);
    CHECK(std::abs(exact[1] - 0.4472136F) < 1e-7F);
  });
  // For f16: 1.341797 = 1374/1024 before the weight, and 1.540970 = 1578/1024 after; else
  // 1.540791 * 1024 = 1577.77, 1578 as well. A weight of 1213/1024 tells them apart.
  const std::vector<f16> half = {f16(3.0F), f16(1.0F)};
  const std::vector<float> weights = {1213.0F / 1024, 1};
  const auto first = [&](const rope::RmsNorm<float>& norm) {
    std::vector<float> out(2);
    rope::normalize_to(rope::thd(half, {1, 1, 2}), rope::thd(out, {1, 1, 2}), norm);
    return out[0] * 1024;
  };
  // 1374 * 1213 / 1024 = 1627.60; 1.3416408 * 1213 = 1627.41
  CHECK(first(rope::qwen3_norm(weights, 0)) == 1628);
  CHECK(first(rope::rms_norm(weights, {.epsilon = 0,
                                       .weight = NormWeight::times_w,
                                       .rounding = NormRounding::after_weight})) == 1627);
}

TEMPLATE_TEST_CASE("sums have one order on every instruction set", "", float, double) {
  for (const std::int64_t dim : {1, 2, 7, 8, 15, 16, 17, 24, 33, 64, 80, 96, 127, 128, 256, 513}) {
    const Shape shape{1, 2, 3, dim};
    const auto weights = random_weights<TestType>(dim, 7);
    const auto norm = rope::rms_norm(
        weights, {.epsilon = 1e-6, .weight = NormWeight::times_w, .rounding = NormRounding::none});
    for (const Arrangement arrangement : all_arrangements) {
      on_every_isa([&] {
        const auto x = random_tensor<TestType>(shape, 1, arrangement);
        auto out = x;
        rope::normalize(out.view(), norm);
        CHECK(out.gaps_are_intact());
        for (std::int64_t t = 0; t < 2; ++t) {
          for (std::int64_t h = 0; h < 3; ++h) {
            const auto expected = normalized_head(x.values(0, t, h), weights, 1e-6);
            INFO("dim " << dim << ", token " << t << ", head " << h);
            CHECK(same_bits(out.values(0, t, h), expected));
          }
        }
      });
    }
  }
}

/// One pass gives the bits of two: of normalize_to() into Mid, and rotate_to() from there.
template <class In, class Mid, class Out, class X>
void check_fused(const X& table, const Shape& shape, std::int64_t first_dim,
                 const rope::RmsNorm<rope::compute_type_t<In>>& norm, Arrangement in_arrangement,
                 Arrangement out_arrangement) {
  const auto x = random_tensor<In>(shape, 3, in_arrangement);
  for_both_pairings([&]<Pairing pairing>() {
    on_every_isa([&] {
      Tensor<Mid> middle(shape);
      Tensor<Out> apart(shape);
      rope::normalize_to(x.view(), middle.view(), norm);
      rope::rotate_to<pairing>(middle.view(), apart.view(), table, rope::from(5),
                               {.first_dim = first_dim});
      Tensor<Out> fused(shape, out_arrangement);
      rope::rotate_to<pairing>(x.view(), fused.view(), table, rope::from(5),
                               {.norm = norm, .first_dim = first_dim});
      INFO("dim " << shape[3] << ", pairs " << table.pairs() << ", first_dim " << first_dim);
      CHECK(fused.same_values(apart));
      CHECK(fused.gaps_are_intact());
      // In parts, and with the run-time pairing.
      Tensor<Out> parts(shape, out_arrangement);
      for (std::int64_t i = 0; i < 3; ++i) {
        rope::rotate_to(x.view(), parts.view(), table, rope::from(5),
                        {.pairing = pairing, .norm = norm, .first_dim = first_dim, .part = {i, 3}});
      }
      CHECK(parts.same_values(apart));
    });
    if constexpr (std::is_same_v<In, Out>) {
      auto in_place = x;
      rope::rotate<pairing>(in_place.view(), table, rope::from(5),
                            {.norm = norm, .first_dim = first_dim});
      Tensor<Out> apart(shape);
      rope::rotate_to<pairing>(x.view(), apart.view(), table, rope::from(5),
                               {.norm = norm, .first_dim = first_dim});
      CHECK(in_place.same_values(apart));
      CHECK(in_place.gaps_are_intact());
    }
  });
}

TEST_CASE("one pass has the bits of two") {
  struct Case {
    std::int64_t dim;
    std::int64_t rotary_dim;
    std::int64_t first_dim;
  };
  for (const Case& c :
       {Case{2, 2, 0}, Case{7, 4, 1}, Case{24, 10, 3}, Case{64, 64, 0}, Case{80, 32, 0},
        Case{96, 70, 13}, Case{128, 128, 0}, Case{600, 590, 2}, Case{1100, 1030, 0}}) {
    const Shape shape{2, 3, 5, c.dim};
    const auto weights = random_weights<float>(c.dim, 11);
    const auto double_weights = random_weights<double>(c.dim, 11);
    const auto frequencies = rope::frequencies({.rotary_dim = c.rotary_dim});
    const CosSinTable<float> table(frequencies, 8);
    const CosSinTable<double> double_table(frequencies, 8);
    const rope::RmsNormOptions twice{.epsilon = 1e-5,
                                     .weight = NormWeight::times_one_plus_w,
                                     .rounding = NormRounding::before_and_after_weight};
    const auto qwen = rope::qwen3_norm(weights, 1e-6);
    const auto gemma = rope::gemma3_norm(weights, 1e-6);
    const auto unrounded = rope::rms_norm(weights, plain);
    const auto strange = rope::rms_norm(weights, twice);
    const auto packed = Arrangement::bthd;
    check_fused<float, float, float>(table, shape, c.first_dim, qwen, packed, packed);
    check_fused<float, float, float>(table, shape, c.first_dim, gemma, Arrangement::gaps,
                                     Arrangement::bhtd);
    check_fused<float, float, float>(table, shape, c.first_dim, gemma, Arrangement::spread_dims,
                                     Arrangement::reversed);
    check_fused<double, double, double>(double_table, shape, c.first_dim,
                                        rope::qwen3_norm(double_weights, 1e-6), packed, packed);
    check_fused<bf16, bf16, bf16>(table, shape, c.first_dim, qwen, packed, packed);
    check_fused<bf16, bf16, bf16>(table, shape, c.first_dim, strange, Arrangement::gaps, packed);
    check_fused<bf16, float, bf16>(table, shape, c.first_dim, unrounded, packed, packed);
    check_fused<f16, f16, f16>(table, shape, c.first_dim, gemma, packed, packed);
    check_fused<f16, float, f16>(table, shape, c.first_dim, unrounded, packed,
                                 Arrangement::dims_outermost);
    check_fused<float, float, bf16>(table, shape, c.first_dim, qwen, packed, packed);
    check_fused<bf16, bf16, float>(table, shape, c.first_dim, strange, packed, packed);
  }
}

TEST_CASE("rows and weights of each head, and scales of each token") {
  const std::int64_t heads = 40;  // more than are normalised together
  const std::int64_t dim = 130;
  const Shape shape{1, 3, heads, dim};
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < heads * 32; ++i)
    frequencies.push_back(0.001 * static_cast<double>(i));
  const rope_test::MadeOnDemand<float> table(frequencies, heads, 16);
  const auto weights = random_weights<float>(heads * dim, 5);
  const std::vector<float> scales = {0.5F, 2.0F, 3.25F};
  const auto norm = rope::rms_norm(
      weights,
      {.epsilon = 1e-6, .weight = NormWeight::times_w, .rounding = NormRounding::after_weight});
  check_fused<float, float, float>(table, shape, 4, norm, Arrangement::bthd, Arrangement::bthd);
  check_fused<bf16, bf16, bf16>(table, shape, 4, rope::olmo2_norm(weights, scales),
                                Arrangement::bthd, Arrangement::gaps);

  const auto x = random_tensor<float>(shape, 9);
  auto out = x;
  rope::normalize(out.view(), rope::olmo2_norm(weights, scales));
  bool same = true;
  x.for_each([&](const Shape& at) {
    const float scaled = x[at] * scales[static_cast<std::size_t>(at[1])];
    same = same && out[at] == scaled * weights[static_cast<std::size_t>(at[2] * dim + at[3])];
  });
  CHECK(same);
}

TEST_CASE("scales over all heads of a token") {
  const Shape shape{2, 3, 70, 9};
  const auto x = random_tensor<float>(shape, 21, Arrangement::gaps);
  std::vector<float> scales(6);
  rope::ThreadPool pool(2);
  on_every_isa([&] {
    rope::token_scales(x.view(), 1e-5, scales, pool);
    for (std::int64_t b = 0; b < 2; ++b) {
      for (std::int64_t t = 0; t < 3; ++t) {
        double sum = 0;
        for (std::int64_t h = 0; h < 70; ++h) {
          for (const float value : x.values(b, t, h))
            sum += static_cast<double>(value) * static_cast<double>(value);
        }
        const double expected = 1 / std::sqrt(sum / 630 + 1e-5);
        CHECK(std::abs(static_cast<double>(scales[static_cast<std::size_t>(3 * b + t)]) -
                       expected) < 1e-6 * expected);
      }
    }
  });
  // All heads together are one head of all features.
  const auto packed = random_tensor<float>({1, 1, 4, 16}, 2);
  std::vector<float> scale(1);
  rope::token_scales(packed.view(), 1e-6, scale);
  const auto weights = random_weights<float>(64, 8);
  auto heads = packed;
  rope::normalize(heads.view(), rope::olmo2_norm(weights, scale));
  auto one = packed;
  const auto whole = rope::thd(&one[{0, 0, 0, 0}], {1, 1, 64});
  rope::normalize(whole, rope::qwen3_norm(weights, 1e-6));
  packed.for_each(
      [&](const Shape& at) { CHECK(std::abs(heads[at] - one[at]) <= 1e-6F * std::abs(one[at])); });
}

TEST_CASE("q and k have norms of their own") {
  const Shape q_shape{2, 3, 6, 64};
  const Shape k_shape{2, 3, 2, 64};
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 64}), 8);
  const auto q_weights = random_weights<float>(64, 1);
  const auto k_weights = random_weights<float>(64, 2);
  const auto q_norm = rope::qwen3_norm(q_weights, 1e-6);
  const auto k_norm = rope::qwen3_norm(k_weights, 1e-6);
  rope::ThreadPool pool(3);
  for_both_pairings([&]<Pairing pairing>() {
    const auto q0 = random_tensor<bf16>(q_shape, 4);
    const auto k0 = random_tensor<bf16>(k_shape, 5);
    auto q = q0;
    auto k = k0;
    rope::rotate<pairing>(q.view(), table, rope::from(2), {.norm = q_norm});
    rope::rotate<pairing>(k.view(), table, rope::from(2), {.norm = k_norm});
    auto q_both = q0;
    auto k_both = k0;
    rope::rotate_qk<pairing>(q_both.view(), k_both.view(), table, rope::from(2),
                             {.q_norm = q_norm, .k_norm = k_norm});
    CHECK(q_both.same_values(q));
    CHECK(k_both.same_values(k));
    q_both = q0;
    k_both = k0;
    rope::rotate_qk(q_both.view(), k_both.view(), table, rope::from(2),
                    {.pairing = pairing, .q_norm = q_norm, .k_norm = k_norm, .executor = pool});
    CHECK(q_both.same_values(q));
    CHECK(k_both.same_values(k));
  });
}

TEST_CASE("a norm of large results, written past the caches") {
  const Shape shape{1, 1100, 32, 128};  // 18 MB
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 96}), 1100);
  const auto weights = random_weights<float>(128, 1);
  const auto norm = rope::qwen3_norm(weights, 1e-6);
  const auto x = random_tensor<float>(shape, 4);
  Tensor<float> out(shape);
  auto in_place = x;
  rope::rotate_to<Pairing::half_split>(x.view(), out.view(), table, rope::from(0),
                                       {.norm = norm, .first_dim = 8});
  rope::rotate<Pairing::half_split>(in_place.view(), table, rope::from(0),
                                    {.norm = norm, .first_dim = 8});
  CHECK(out.same_values(in_place));
  CHECK(out.gaps_are_intact());
}

TEST_CASE("what is not a number stays so, and zeros need an epsilon") {
  const std::vector<float> weights(64, 1.0F);
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 64}), 2);
  on_every_isa([&] {
    Tensor<bf16> x({1, 1, 2, 64});
    x[{0, 0, 0, 5}] = bf16(std::numeric_limits<float>::quiet_NaN());
    rope::rotate<Pairing::half_split>(x.view(), table, rope::from(1),
                                      {.norm = rope::qwen3_norm(weights, 1e-6)});
    for (const bf16 value : x.values(0, 0, 0)) CHECK(std::isnan(static_cast<float>(value)));
    for (const bf16 value : x.values(0, 0, 1)) CHECK(static_cast<float>(value) == 0);
    Tensor<float> zeros({1, 1, 1, 64});
    rope::normalize(zeros.view(), rope::rms_norm(weights, plain));
    for (const float value : zeros.values(0, 0, 0)) CHECK(std::isnan(value));
  });
}

TEST_CASE("nothing to normalise") {
  const std::vector<float> weights(8, 1.0F);
  const auto norm = rope::qwen3_norm(weights, 1e-6);
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 8}), 2);
  float* const nothing = nullptr;
  const auto empty = rope::thd(nothing, {0, 4, 8});
  rope::normalize(empty, norm);
  rope::rotate<Pairing::half_split>(empty, table, rope::from(0), {.norm = norm});
  std::vector<float> values(16, 1.0F);
  const auto k = rope::thd(values, {2, 1, 8});
  rope::rotate_qk<Pairing::half_split>(rope::thd(nothing, {2, 0, 8}), k, table, rope::from(0),
                                       {.q_norm = norm, .k_norm = norm});
  CHECK(values[0] != 1.0F);
  // Where there is nothing, the other extents may be any, and whoever does it has nothing to do.
  rope::ThreadPool pool(2);
  const rope::View<float> no_heads(nothing, {std::int64_t{1} << 62, 2, 0, 8}, {0, 0, 0, 1});
  rope::normalize(no_heads, norm, {.executor = pool, .part = {1, 2}});
  rope::rotate_qk<Pairing::half_split>(no_heads, no_heads, table, rope::from(0),
                                       {.q_norm = norm, .k_norm = norm, .executor = pool});
  rope::rotate_qk<Pairing::half_split>(no_heads, no_heads, table, rope::from(0),
                                       {.executor = pool});
  // The stride of a single head is never walked, and may be any number.
  rope::rotate<Pairing::half_split>(
      rope::View<float>(values.data(), {1, 2, 1, 8}, {0, 8, std::int64_t{1} << 62, 1}), table,
      rope::from(0), {.executor = pool, .part = {0, 2}});
}

TEST_CASE("norms that are refused") {
  using rope::InvalidArgument;
  const std::vector<float> eight(8, 1.0F);
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 8}), 4);
  std::vector<float> values(2 * 3 * 8, 1.0F);
  const std::vector<float> before = values;
  const auto x = rope::thd(values, {2, 3, 8});

  require_throws<InvalidArgument>(
      "rope::rms_norm: epsilon must be a finite number of at least 0, got -1e-06", [&] {
        (void)rope::rms_norm(
            eight,
            {.epsilon = -1e-6, .weight = NormWeight::times_w, .rounding = NormRounding::none});
      });
  require_throws<InvalidArgument>(
      "rope::qwen3_norm: epsilon must be a finite number of at least 0, got inf",
      [&] { (void)rope::qwen3_norm(eight, std::numeric_limits<double>::infinity()); });
  require_throws<InvalidArgument>(
      "rope::gemma3_norm: epsilon must be a finite number of at least 0, got nan",
      [&] { (void)rope::gemma3_norm(eight, std::numeric_limits<double>::quiet_NaN()); });
  require_throws<InvalidArgument>(
      "rope::rms_norm: weight has the value 9, which names nothing", [&] {
        (void)rope::rms_norm(
            eight,
            {.epsilon = 0, .weight = static_cast<NormWeight>(9), .rounding = NormRounding::none});
      });
  require_throws<InvalidArgument>(
      "rope::scaled_norm: rounding has the value 7, which names nothing", [&] {
        (void)rope::scaled_norm(
            eight, eight,
            {.weight = NormWeight::times_w, .rounding = static_cast<NormRounding>(7)});
      });

  const std::vector<float> nine(9, 1.0F);
  const auto wrong = rope::qwen3_norm(nine, 1e-6);
  const auto norm = rope::qwen3_norm(eight, 1e-6);
  const auto refused = [&](const std::string& message, auto call) {
    require_throws<InvalidArgument>(message, call);
    CHECK(values == before);
  };
  refused("rope::rotate: norm: there are 9 weights, but the view has heads 3 of dim 8",
          [&] { rope::rotate<Pairing::half_split>(x, table, rope::from(0), {.norm = wrong}); });
  refused("rope::normalize: norm: there are 9 weights, but the view has heads 3 of dim 8",
          [&] { rope::normalize(x, wrong); });
  refused("rope::rotate_qk: k: norm: there are 9 weights, but the view has heads 1 of dim 8", [&] {
    rope::rotate_qk<Pairing::half_split>(x.slice_heads(0, 2), x.slice_heads(2, 1), table,
                                         rope::from(0), {.q_norm = norm, .k_norm = wrong});
  });
  refused("rope::rotate_qk: q: norm: there are 9 weights, but the view has heads 2 of dim 8", [&] {
    rope::rotate_qk(x.slice_heads(0, 2), x.slice_heads(2, 1), table, rope::from(0),
                    {.pairing = Pairing::half_split, .q_norm = wrong, .k_norm = norm});
  });
  refused("rope::rotate: norm: there are 8 token scales, but the view has batch 1 and tokens 2",
          [&] {
            rope::rotate<Pairing::half_split>(x, table, rope::from(0),
                                              {.norm = rope::olmo2_norm(eight, eight)});
          });
  refused(
      "rope::rotate: positions: 2 tokens from position 3 on in batch row 0 end outside the table's "
      "rows 0 .. 3",
      [&] {
        try {
          rope::rotate<Pairing::half_split>(x, table, rope::from(3), {.norm = norm});
        } catch (const rope::OutOfRange& error) {
          throw rope::InvalidArgument(error.what());
        }
      });
  refused("rope::rotate: pairing has the value 5, which names no pairing", [&] {
    rope::rotate(x, table, rope::from(0), {.pairing = static_cast<Pairing>(5), .norm = norm});
  });
  refused("rope::normalize_to: in and out share elements", [&] {
    rope::normalize_to(x.slice_tokens(0, 1), rope::thd(&values[1], {1, 3, 8}), norm);
  });
  // What a norm refers to is read until the end.
  const auto within = std::span<const float>(values).subspan(16, 8);
  refused("rope::normalize: norm: the weights lie where the result is written",
          [&] { rope::normalize(x, rope::qwen3_norm(within, 1e-6)); });
  refused("rope::rotate: norm: the token scales lie where the result is written", [&] {
    rope::rotate<Pairing::half_split>(x, table, rope::from(0),
                                      {.norm = rope::olmo2_norm(eight, within.subspan(0, 2))});
  });
  refused("rope::rotate_qk: norm: the weights lie where the result is written", [&] {
    rope::rotate_qk<Pairing::half_split>(
        x.slice_heads(0, 2), x.slice_heads(2, 1), table, rope::from(0),
        {.q_norm = rope::qwen3_norm(within, 1e-6), .k_norm = norm});
  });
  CHECK(!rope::check_rotate(x, table, rope::from(0), {.norm = rope::qwen3_norm(within, 1e-6)}));
  // In a gap of the view, or where only input is read, they may lie.
  CHECK(rope::check_normalize(x.slice_heads(0, 2), rope::qwen3_norm(within, 1e-6)));
  std::vector<float> elsewhere(values.size());
  CHECK(
      rope::check_normalize_to(x, rope::thd(elsewhere, {2, 3, 8}), rope::qwen3_norm(within, 1e-6)));
  refused("rope::normalize: part must be one of 0 to count - 1, got 1 of a count of 1", [&] {
    rope::normalize(x, norm, {.part = {1, 1}});
  });
  std::vector<float> three(3);
  refused("rope::token_scales: there is room for 3 scales, but the view has batch 1 and tokens 2",
          [&] { rope::token_scales(x, 1e-6, three); });
  std::vector<float> two(2, 5.0F);
  refused("rope::token_scales: epsilon must be a finite number of at least 0, got -1",
          [&] { rope::token_scales(x, -1, two); });
  CHECK(two == std::vector<float>(2, 5.0F));
  refused("rope::token_scales: x and scales share elements",
          [&] { rope::token_scales(x, 1e-6, std::span<float>(values).subspan(5, 2)); });

  std::vector<float> long_head(4098, 1.0F);
  const auto long_norm = rope::qwen3_norm(long_head, 1e-6);
  require_throws<InvalidArgument>(
      "rope::normalize: norm: heads of at most 4096 dims can be normalised, got 4098", [&] {
        rope::normalize(rope::thd(long_head, {1, 1, 4098}), long_norm);
      });

  // The verdicts without exceptions.
  CHECK(rope::check_normalize(x, norm).ok());
  CHECK(std::string(rope::check_normalize(x, wrong).message()) ==
        "rope::normalize: norm: there are 9 weights, but the view has heads 3 of dim 8");
  CHECK(rope::check_normalize_to(x, x, norm).ok());
  CHECK(rope::check_rotate(x, table, rope::from(0), {.norm = norm}).ok());
  CHECK(!rope::check_rotate(x, table, rope::from(0), {.norm = wrong}).ok());
  CHECK(
      !rope::check_rotate(x, table, rope::from(0), {.pairing = Pairing::half_split, .norm = wrong})
           .ok());
  CHECK(!rope::check_rotate_to(x, x, table, rope::from(0), {.norm = wrong}).ok());
  CHECK(rope::check_rotate_qk(x.slice_heads(0, 2), x.slice_heads(2, 1), table, rope::from(0),
                              {.q_norm = norm, .k_norm = norm})
            .ok());
  CHECK(values == before);
}

}  // namespace
