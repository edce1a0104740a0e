// Nothing that rotates or checks allocates: every form of operator new counts here.

#include <atomic>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "counting_new.hpp"
#include "rope/core.hpp"
#include "rope/thread_pool.hpp"
#include "support/catch.hpp"

namespace {

using rope::Pairing;

/// How often `body` allocates.
template <class Body>
std::int64_t allocations_of(const Body& body) {
  const std::int64_t before = contract::allocations;
  body();
  return contract::allocations - before;
}

constexpr std::int64_t batch = 2;
constexpr std::int64_t tokens = 40;
constexpr std::int64_t heads = 3;
constexpr std::int64_t dim = 600;  // more pairs than a kernel keeps at once
constexpr std::int64_t rotary_dim = 590;

template <class T>
struct Tensors {
  std::vector<T> q = std::vector<T>(static_cast<std::size_t>(batch * tokens * heads * dim), T{1});
  std::vector<T> k = std::vector<T>(static_cast<std::size_t>(batch * tokens * dim), T{2});
  std::vector<T> out = q;
};

/// Views, checks and rotations of every kind, with a table that is followed by positions or not.
template <Pairing pairing, class T, class X, class... Positions>
void use(Tensors<T>& data, const X& table, const Positions&... positions) {
  const auto q = rope::bthd(data.q, {batch, tokens, heads, dim});
  const auto k = rope::bthd(std::span(data.k), {batch, tokens, 1, dim});
  const auto out = rope::bhtd(data.out, {batch, heads, tokens, dim});
  const rope::RotateOptions options{.first_dim = 3};
  const rope::PairingOptions run_time{.pairing = pairing, .first_dim = 4};

  static_cast<void>(rope::check_rotate(q, table, positions...).ok());
  static_cast<void>(rope::check_rotate_to(q, out, table, positions..., options).ok());
  static_cast<void>(rope::check_rotate_qk(q, k, table, positions..., options).ok());
  // A refusal does not allocate either.
  static_cast<void>(rope::check_rotate(q, table, positions..., {.first_dim = 11}).ok());

  rope::rotate<pairing>(q, table, positions...);
  rope::rotate(q, table, positions..., run_time);
  rope::rotate_to<pairing>(q, out, table, positions..., options);
  rope::rotate_to(q, out, table, positions..., run_time);
  rope::rotate_qk<pairing>(q, k, table, positions..., options);
  rope::rotate_qk(q, k, table, positions..., run_time);
  rope::rotate_inverse<pairing>(q, table, positions..., options);
  rope::rotate_inverse_to(q, out, table, positions..., run_time);
  rope::rotate_transpose<pairing>(q, table, positions..., options);
  rope::rotate_transpose_to(q, out, table, positions..., run_time);
}

template <class T, class X, class... Positions>
void use_both(Tensors<T>& data, const X& table, const Positions&... positions) {
  use<Pairing::interleaved>(data, table, positions...);
  use<Pairing::half_split>(data, table, positions...);
}

}  // namespace

TEST_CASE("the counter counts every form of operator new", "[allocation]") {
  struct alignas(64) Wide {
    char bytes[64];
  };
  // Called by name: a new-expression may be optimised away.
  CHECK(allocations_of([] { ::operator delete(::operator new(1)); }) == 1);
  CHECK(allocations_of([] { ::operator delete[](::operator new[](1)); }) == 1);
  CHECK(allocations_of([] { ::operator delete(::operator new(1, std::nothrow)); }) == 1);
  constexpr std::align_val_t wide{alignof(Wide)};
  CHECK(allocations_of([] { ::operator delete(::operator new(64, wide), wide); }) == 1);
  CHECK(allocations_of([] { ::operator delete[](::operator new[](64, wide), wide); }) == 1);
  const auto frequencies = rope::frequencies({.rotary_dim = 4});
  CHECK(allocations_of([&] { rope::CosSinTable<float>(frequencies, 1); }) > 0);
}

TEMPLATE_TEST_CASE("rotating never allocates", "[allocation]", float, double) {
  using T = TestType;
  Tensors<T> data;
  const auto frequencies = rope::frequencies({.rotary_dim = rotary_dim});
  const rope::CosSinTable<T> table(frequencies, 100);
  std::vector<std::int32_t> ids(batch * tokens, 99);
  const std::vector<std::int64_t> wide_ids(tokens, 5);
  const std::int64_t starts[batch] = {0, 60};

  SECTION("with a table and positions") {
    CHECK(allocations_of([&] { use_both(data, table, rope::from(60)); }) == 0);
    CHECK(allocations_of([&] { use_both(data, table, rope::from_each(starts)); }) == 0);
    CHECK(allocations_of([&] { use_both(data, table, rope::at(ids, {batch, tokens})); }) == 0);
    CHECK(allocations_of([&] { use_both(data, table, rope::at(wide_ids, {tokens})); }) == 0);
  }
  SECTION("with the caller's cos and sin") {
    std::vector<T> cos(100 * rotary_dim);
    std::vector<T> sin(100 * rotary_dim);
    rope::write_full_width<Pairing::half_split>(table, cos, sin);
    const auto use_views = [&] {
      const rope::TableViewOptions packed{.rotary_dim = rotary_dim};
      const rope::TableViewOptions every_second{.rotary_dim = rotary_dim, .pair_stride = 2};
      use_both(data, rope::table_view(cos, sin, {100, rotary_dim / 2}, packed), rope::from(3));
      use_both(data, rope::table_view(cos, sin, {50, rotary_dim / 2}, every_second), rope::from(3));
      use_both(data, rope::fused_table_view(cos, {100, rotary_dim}, packed), rope::from(3));
      use_both(data, rope::table_view(cos, sin, {batch, tokens, rotary_dim / 2}, packed));
      use_both(data, rope::fused_table_view(cos, {1, tokens, rotary_dim}, packed));
    };
    CHECK(allocations_of(use_views) == 0);
  }
  SECTION("with rows for each head") {
    const std::vector<double> values(heads * 4, 0.5);
    const rope::CosSinTable<T> per_head(rope::Frequencies(values, {1, heads, 4}, 2), 100);
    const auto q = rope::bthd(data.q, {batch, tokens, heads, dim});
    CHECK(allocations_of([&] {
            rope::rotate<Pairing::half_split>(q, per_head, rope::from(0));
            rope::rotate_inverse<Pairing::interleaved>(q, per_head, rope::from(0));
          }) == 0);
  }
}

TEMPLATE_TEST_CASE("rows made on demand and refilled tables never allocate", "[allocation]", float,
                   double) {
  using T = TestType;
  Tensors<T> data;
  const auto frequencies = rope::frequencies({.rotary_dim = rotary_dim});
  const rope::CompactTable<T> compact(frequencies, 100);
  const rope::CompactTable<T> rough(
      frequencies, 100,
      {.angles = rope::Angles::float32, .round_entries_to = rope::EntryRounding::bf16});
  CHECK(allocations_of([&] { use_both(data, compact, rope::from(60)); }) == 0);
  CHECK(allocations_of([&] { use_both(data, rough, rope::from(60)); }) == 0);

  // A grid, whose values are few, and then points of which all differ.
  std::vector<double> places(batch * tokens);
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<double>(i / 8);
  const auto places_of = rope::coordinates(places, {batch, tokens, 1});
  rope::TokenTable<T> table(frequencies, places_of);
  CHECK(allocations_of([&] { use_both(data, table); }) == 0);
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = 0.1 * static_cast<double>(i);
  CHECK(allocations_of([&] { table.refill(places_of); }) == 0);
  CHECK(allocations_of([&] { table.refill(rope::coordinates(places.data(), {1, 1})); }) == 0);

  // Several axes, rows for each head, and threads.
  rope::ThreadPool pool(3);
  std::vector<double> many(2 * 500 * 3);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<double>(i % 7);
  const rope::Frequencies per_head(std::vector<double>(3 * heads * 40, 0.5), {3, heads, 40});
  for (const rope::Angles angles : {rope::Angles::exact, rope::Angles::float32}) {
    const auto all_places = rope::coordinates(many, {2, 500, 3});
    rope::TokenTable<T> made(per_head, all_places, {.angles = angles});
    for (std::size_t i = 0; i < many.size(); ++i) many[i] += 0.1 * static_cast<double>(i);
    CHECK(allocations_of([&] { made.refill(all_places, pool); }) == 0);
    const auto fewer = rope::coordinates(many.data(), {999, 3});
    CHECK(allocations_of([&] { made.refill(fewer, pool); }) == 0);
  }
}

TEST_CASE("pairs within an axis, and keys of several frames, never allocate", "[allocation]") {
  Tensors<float> data;
  Tensors<float> other;
  const auto x = rope::bthd(data.q, {batch, tokens, heads, dim});
  const auto y = rope::bthd(other.q, {batch, tokens, heads, dim});
  std::vector<double> places(tokens);
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = 0.5 * static_cast<double>(i);
  const auto frequencies = rope::frequencies({.rotary_dim = rotary_dim});
  const rope::TokenTable<float> table(frequencies, rope::coordinates(places, {tokens, 1}));
  const rope::TokenTable<float> one(frequencies, rope::coordinates(places.data(), {1, 1}));
  // The list of dims is the caller's, and is made once.
  const rope::RotateAxesOptions fixed = {.axis_dims = {2, rotary_dim - 2}};
  const rope::PairingAxesOptions chosen = {.pairing = Pairing::half_split,
                                           .axis_dims = {2, rotary_dim - 2}};
  CHECK(allocations_of([&] {
          rope::rotate_axes<Pairing::half_split>(x, table, fixed);
          rope::rotate_axes(x, table, chosen);
          rope::rotate_axes_to(x, y, table, chosen);
          rope::rotate_memory_keys(x, one, {.pairing = Pairing::half_split, .unrotated_last = 1});
          rope::rotate_memory_keys_to(x, y, one,
                                      {.pairing = Pairing::half_split, .unrotated_last = 1});
        }) == 0);
}

TEST_CASE("layers of two bases take turns without allocating", "[allocation]") {
  const rope::CosSinTable<float> local(rope::frequencies({.rotary_dim = 64}), 256);
  const rope::CosSinTable<float> global(rope::frequencies({.rotary_dim = 64, .base = 1e6}), 256);
  std::vector<float> q(8 * 64, 1.0F);
  std::vector<float> k(2 * 64, 1.0F);
  CHECK(allocations_of([&] {
          for (int position = 0; position < 256; ++position) {
            for (int layer = 0; layer < 26; ++layer) {
              rope::rotate_qk<Pairing::half_split>(
                  rope::thd(q, {1, 8, 64}), rope::thd(k, {1, 2, 64}),
                  layer % 6 == 5 ? global : local, rope::from(position));
            }
          }
        }) == 0);
}

TEST_CASE("the gradient of positions never allocates", "[allocation]") {
  Tensors<float> data;
  const auto y = rope::bthd(data.q, {batch, tokens, heads, dim});
  const rope::Frequencies frequencies(std::vector<double>(2 * heads * rotary_dim / 2, 0.5),
                                      {2, heads, rotary_dim / 2});
  std::vector<double> gradient(tokens * 2);
  CHECK(allocations_of([&] {
          rope::position_gradient<Pairing::half_split>(
              y, y, frequencies, {gradient, {tokens, 2}},
              {.accumulation = rope::Accumulation::overwrite, .first_dim = 3});
        }) == 0);
}

TEST_CASE("executors, parts and norms never allocate", "[allocation]") {
  rope::ThreadPool pool(3);
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = rotary_dim}), 64);
  Tensors<float> data;
  const auto q = rope::bthd(data.q, {batch, tokens, heads, dim});
  const auto k = rope::bthd(data.k, {batch, tokens, 1, dim});
  const auto out = rope::bhtd(data.out, {batch, heads, tokens, dim});
  const std::vector<float> weights(dim, 1.0F);
  std::vector<float> scales(batch * tokens);
  CHECK(allocations_of([&] {
          rope::rotate<Pairing::half_split>(q, table, rope::from(0), {.executor = pool});
          rope::rotate_part<Pairing::half_split>(q, table, rope::from(0), {1, 7});
          const auto norm = rope::qwen3_norm(weights, 1e-6);
          rope::rotate_qk<Pairing::interleaved>(q, k, table, rope::from(0),
                                                {.q_norm = norm, .k_norm = norm, .executor = pool});
          rope::token_scales(q, 1e-6, scales, pool);
          rope::normalize_to(q, out, rope::olmo2_norm(weights, scales), {.executor = pool});
          static_cast<void>(rope::check_rotate(q, table, rope::from(0), {.norm = norm}).ok());
        }) == 0);
}

TEST_CASE("a refused rotation allocates only its exception", "[allocation]") {
  float x[4] = {1, 2, 3, 4};
  const float cos_sin[4] = {1, 1, 0, 0};
  const auto table = rope::fused_table_view(cos_sin, {1, 4}, {.rotary_dim = 4});
  const auto refused = [&] {
    try {
      rope::rotate<Pairing::half_split>(rope::thd(x, {1, 1, 4}), table, rope::from(1));
    } catch (const rope::OutOfRange&) {
    }
  };
  // The standard exception's string; the exception object itself does not come from operator new.
  CHECK(allocations_of(refused) <= 1);
}
