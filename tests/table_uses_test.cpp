// Every table wherever a table can be used: a CompactTable in place of a CosSinTable, and the norm
// of heads with rows of tokens and of heads.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "rope/cache_index.hpp"
#include "rope/check_rotate.hpp"
#include "rope/compact_table.hpp"
#include "rope/coordinates.hpp"
#include "rope/encodings/sinusoidal.hpp"
#include "rope/frequencies.hpp"
#include "rope/full_width.hpp"
#include "rope/key_store.hpp"
#include "rope/normalize.hpp"
#include "rope/rotate.hpp"
#include "rope/rotate_inverse.hpp"
#include "rope/rotate_normed.hpp"
#include "rope/rotate_part.hpp"
#include "rope/row_positions.hpp"
#include "rope/scalar.hpp"
#include "rope/spatial/axis_map.hpp"
#include "rope/spatial/mrope_table.hpp"
#include "rope/spatial/rotate_axes.hpp"
#include "rope/table.hpp"
#include "rope/thread_pool.hpp"
#include "rope/token_table.hpp"
#include "support/catch.hpp"
#include "support/tensor.hpp"

namespace {

using rope::bf16;
using rope::CompactTable;
using rope::CosSinTable;
using rope::f16;
using rope::Frequencies;
using rope::Pairing;
using rope_test::Arrangement;
using rope_test::Random;
using rope_test::Shape;
using rope_test::Tensor;

constexpr auto half_split = Pairing::half_split;
constexpr auto interleaved = Pairing::interleaved;

constexpr std::int64_t heads = 3;
constexpr std::int64_t dim = 22;
constexpr std::int64_t pairs = 9;

Frequencies some_frequencies(std::int64_t axes, std::int64_t table_heads) {
  Random random(static_cast<std::uint64_t>(10 * axes + table_heads));
  std::vector<double> values(static_cast<std::size_t>(axes * table_heads * pairs));
  for (double& value : values) value = 2 * random.real();
  return Frequencies(values, {axes, table_heads, pairs}, 1.25);
}

/// The results of calls, as bytes.
class Results {
 public:
  template <class T>
  void add(const Tensor<T>& tensor) {
    tensor.for_each([&](const Shape& at) { add_value(tensor[at]); });
  }
  template <class T>
  void add(std::span<const T> values) {
    for (const T& value : values) add_value(value);
  }
  bool operator==(const Results&) const = default;

 private:
  template <class T>
  void add_value(const T& value) {
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof bytes);
  }
  std::vector<unsigned char> bytes_;
};

/// Everything that takes a table addressed by position.
template <class X>
Results all_uses(const X& table, rope::ThreadPool& pool) {
  Results results;
  const Shape shape = {2, 4, heads, dim};
  const std::int32_t ids[] = {0, 1, 1023, 1024, 2999, 7, 2047, 2048};
  const auto positions = rope::at(ids, {2, 4});
  const auto x = Tensor<float>::random(shape, 1, Arrangement::gaps);
  const auto narrow = [&] {
    Tensor<bf16> all(shape);
    x.for_each([&](const Shape& at) { all[at] = bf16(x[at]); });
    return all;
  }();
  std::vector<float> weights(dim);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 0.5F + 0.1F * static_cast<float>(i);
  const auto norm = rope::qwen3_norm(weights, 1e-6);
  const auto in_place = [&](const auto& values, auto call) {
    auto out = values;
    call(out.view());
    results.add(out);
  };

  in_place(x, [&](auto view) {
    rope::rotate_part<half_split>(view, table, positions, {1, 3}, {.executor = pool});
  });
  in_place(x, [&](auto view) {
    rope::rotate_part(view, table, positions, {2, 3}, {.pairing = interleaved, .first_dim = 3});
  });
  in_place(x, [&](auto view) {
    rope::rotate<half_split>(view, table, rope::from(1022), {.executor = pool});
  });
  in_place(narrow, [&](auto view) { rope::rotate<interleaved>(view, table, positions); });
  in_place(narrow, [&](auto view) {
    rope::rotate<half_split>(view, table, positions, {.norm = norm, .first_dim = 2});
  });
  in_place(x, [&](auto view) {
    rope::rotate(view, table, positions, {.pairing = interleaved, .norm = norm, .part = {0, 2}});
  });
  in_place(narrow, [&](auto view) {
    rope::rotate_inverse<half_split>(view, table, positions, {.executor = pool});
  });
  in_place(x, [&](auto view) { rope::rotate_transpose<interleaved>(view, table, positions); });
  in_place(x, [&](auto q) {
    auto k = x;
    rope::rotate_qk<half_split>(q, k.view(), table, positions, {.executor = pool});
    results.add(k);
  });
  in_place(x, [&](auto q) {
    auto k = x;
    rope::rotate_qk<interleaved>(q, k.view(), table, positions,
                                 {.q_norm = norm, .k_norm = rope::gemma3_norm(weights, 1e-5)});
    results.add(k);
  });
  // Converted on the way.
  Tensor<f16> half(shape, Arrangement::bhtd);
  rope::rotate_to<half_split>(x.view(), half.view(), table, positions, {.first_dim = 1});
  results.add(half);
  Tensor<float> back(shape);
  rope::rotate_inverse_to<half_split>(half.view(), back.view(), table, positions, {.first_dim = 1});
  results.add(back);
  rope::rotate_transpose_to(narrow.view(), back.view(), table, positions,
                            {.pairing = interleaved, .executor = pool});
  results.add(back);
  rope::rotate_to<interleaved>(narrow.view(), back.view(), table, positions, {.norm = norm});
  results.add(back);
  // Within axes, a slice of the pairs, rows picked by axis.
  in_place(x, [&](auto view) {
    rope::rotate_axes<half_split>(view, table, positions, {.axis_dims = {4, 14}, .first_dim = 4});
  });
  in_place(x, [&](auto view) {
    rope::rotate<half_split>(view, rope::pair_slice(table, 3, 5), positions);
  });
  const std::int64_t three[] = {0, 1500, 2, 2999, /**/ 3, 4, 1024, 6, /**/ 2048, 8, 9, 10};
  const rope::AxisMap map = rope::contiguous_axes({2, 3, 4});
  in_place(x, [&](auto view) {
    rope::rotate<half_split>(view.slice_batch(0, 1), rope::mrope_table(table, map, three, {3, 4}));
  });
  // Verdicts.
  const auto view = x.view();
  const bool verdicts[] = {rope::check_rotate_to(view, back.view(), table, positions).ok(),
                           rope::check_rotate(back.view(), table, rope::from(2997)).ok(),
                           rope::check_rotate(back.view(), table, positions, {.norm = norm}).ok(),
                           rope::check_rotate_qk(back.view(), back.view(), table, positions).ok()};
  CHECK(verdicts[0]);
  CHECK(!verdicts[1]);
  CHECK(verdicts[2]);
  CHECK(!verdicts[3]);  // the same memory twice
  if (table.heads() == 1) {
    std::vector<float> cos(static_cast<std::size_t>(table.rows() * 2 * pairs));
    std::vector<float> sin(cos.size());
    rope::write_full_width<interleaved>(table, cos, sin);
    results.add(std::span<const float>(cos));
    results.add(std::span<const float>(sin));
    // Keys that are written, shifted, turned and read.
    for (const auto storage : {rope::KeyStorage::rotated, rope::KeyStorage::unrotated}) {
      rope::CacheIndex index(4);
      rope::KeyStore<bf16> store({4, heads, dim}, {.pairing = half_split, .storage = storage});
      const auto sequence = index.add_sequence();
      index.set_next_position(sequence, 1022);
      const auto placed = index.append(sequence, 4);
      store.write(x.view().slice_batch(0, 1), index, placed.slots, table, {.executor = pool});
      CHECK(index.shift(sequence, {0, rope::no_end}, -7).empty());
      Tensor<float> keys({1, 4, heads, dim});
      store.read(index, sequence, table, keys.view());
      results.add(keys);
      if (storage == rope::KeyStorage::rotated) {
        CHECK(store.materialise(index, table) == 4);
        store.read(index, sequence, table, keys.view());
        results.add(keys);
      }
    }
  }
  return results;
}

}  // namespace

TEST_CASE("a table made on demand does all that a stored one does, to the bit") {
  rope::ThreadPool pool(2);
  for (const std::int64_t table_heads : {std::int64_t{1}, heads}) {
    for (const rope::TableOptions& options :
         {rope::TableOptions{}, rope::TableOptions{.angles = rope::Angles::float32}}) {
      const Frequencies frequencies = some_frequencies(1, table_heads);
      const CosSinTable<float> stored(frequencies, 3000, options);
      const CompactTable<float> compact(frequencies, 3000, options);
      CHECK(all_uses(stored, pool) == all_uses(compact, pool));
    }
  }
}

TEST_CASE("sinusoidal encodings from a table made on demand") {
  const Frequencies frequencies = rope::sinusoidal_frequencies(20);
  const CosSinTable<double> stored(frequencies, 2000);
  const CompactTable<double> compact(frequencies, 2000);
  auto a = Tensor<double>::random({1, 30, 1, 20}, 3);
  auto b = a;
  rope::add_sinusoidal(a.view(), stored, rope::from(1000));
  rope::add_sinusoidal(b.view(), compact, rope::from(1000));
  rope::shift_sinusoidal(a.view(), stored, 1500);
  rope::shift_sinusoidal(b.view(), compact, 1500);
  CHECK(a.same_values(b));
}

namespace {

/// A norm and a rotation in one pass give the bits of two, in place, elsewhere, in parts, by a
/// pool, and for q and k with fewer heads together.
template <class T, class X>
void check_norm_with(const X& table, std::int64_t batch, std::int64_t tokens, std::int64_t k_heads,
                     rope::ThreadPool& pool) {
  const auto filled = [&](std::int64_t head_count, Arrangement arrangement) {
    const Shape shape = {batch, tokens, head_count, dim};
    const auto x = Tensor<float>::random(shape, 5);
    Tensor<T> typed(shape, arrangement);
    x.for_each([&](const Shape& at) { typed[at] = static_cast<T>(3 * x[at]); });
    return typed;
  };
  Random random(6);
  std::vector<float> q_weights(heads * dim);
  std::vector<float> k_weights(static_cast<std::size_t>(k_heads * dim));
  for (float& w : q_weights) w = static_cast<float>(random.real());
  for (float& w : k_weights) w = static_cast<float>(random.real());
  std::vector<float> scales(static_cast<std::size_t>(batch * tokens));
  for (const Arrangement arrangement : {Arrangement::bthd, Arrangement::spread_dims}) {
    const auto q = filled(heads, arrangement);
    const auto k = filled(k_heads, arrangement);
    rope::token_scales(q.view(), 1e-6, scales);
    const rope::RmsNorm<float> q_norms[] = {
        rope::qwen3_norm(std::span<const float>(q_weights).first(dim), 1e-6),
        rope::gemma3_norm(q_weights, 1e-6), rope::olmo2_norm(q_weights, scales)};
    const rope::RmsNorm<float> k_norms[] = {
        rope::qwen3_norm(std::span<const float>(k_weights).first(dim), 1e-6),
        rope::gemma3_norm(k_weights, 1e-6), rope::olmo2_norm(k_weights, scales)};
    for (std::size_t n = 0; n < 3; ++n) {
      auto q_apart = q;
      auto k_apart = k;
      rope::normalize(q_apart.view(), q_norms[n]);
      rope::normalize(k_apart.view(), k_norms[n], {.executor = pool});
      rope::rotate_qk<half_split>(q_apart.view(), k_apart.view(), table, {.first_dim = 3});

      auto q_fused = q;
      auto k_fused = k;
      rope::rotate_qk<half_split>(
          q_fused.view(), k_fused.view(), table,
          {.q_norm = q_norms[n], .k_norm = k_norms[n], .first_dim = 3, .executor = pool});
      CHECK(q_fused.same_memory(q_apart));
      CHECK(k_fused.same_memory(k_apart));

      auto parts = q;
      for (std::int64_t i = 0; i < 5; ++i) {
        rope::rotate<half_split>(
            parts.view(), table,
            {.norm = q_norms[n], .first_dim = 3, .executor = pool, .part = {i, 5}});
      }
      CHECK(parts.same_memory(q_apart));

      Tensor<T> elsewhere({batch, tokens, k_heads, dim}, Arrangement::bhtd);
      rope::rotate_to(k.view(), elsewhere.view(), table,
                      {.pairing = half_split, .norm = k_norms[n], .first_dim = 3});
      CHECK(elsewhere.same_values(k_apart));
    }
  }
}

}  // namespace

TEST_CASE("norms with rows of tokens, shared by heads or not, and of batch rows") {
  rope::ThreadPool pool(3);
  Random random(9);
  std::vector<double> places(2 * 7 * 2);
  for (double& place : places) place = 20 * random.real();
  const rope::TokenTable<float> shared(some_frequencies(2, 1), rope::coordinates(places, {14, 2}));
  const rope::TokenTable<float> per_head(some_frequencies(2, heads),
                                         rope::coordinates(places, {2, 7, 2}));
  check_norm_with<float>(shared, 3, 14, 1, pool);
  check_norm_with<bf16>(shared, 1, 14, 2, pool);
  check_norm_with<f16>(per_head, 2, 7, heads, pool);
  check_norm_with<float>(per_head, 2, 7, heads, pool);
}
