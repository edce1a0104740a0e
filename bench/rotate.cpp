// How long a rotation takes beside what no rotation can be faster than: memcpy of the same bytes
// for one out of place, and a pass that reads and writes them for one in place.
//
//   cmake --preset release && cmake --build --preset release --target bench_rotate
//   build/release/bench/bench_rotate
//
// Each size is a line of its own for the limit and for both pairings; compare lines of one run,
// since machines drift.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "rope/core.hpp"

namespace {

using rope::Pairing;

constexpr std::int64_t head_dim = 128;

const rope::CosSinTable<float>& table() {
  static const rope::CosSinTable<float> made(rope::frequencies({.rotary_dim = head_dim}), 4096);
  return made;
}

/// q of [tokens, heads, 128], tokens and heads being the two arguments of a benchmark.
struct Query {
  explicit Query(const benchmark::State& state)
      : tokens(state.range(0)),
        heads(state.range(1)),
        values(static_cast<std::size_t>(tokens * heads * head_dim), 1.0F) {}

  rope::View<float> view() { return rope::thd(values, {tokens, heads, head_dim}); }
  std::int64_t bytes() const { return static_cast<std::int64_t>(values.size() * sizeof(float)); }

  std::int64_t tokens;
  std::int64_t heads;
  std::vector<float> values;
};

void copy(benchmark::State& state) {
  Query in(state);
  Query out(state);
  for (auto _ : state) {
    std::memcpy(out.values.data(), in.values.data(), static_cast<std::size_t>(in.bytes()));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * in.bytes());
}

/// Four floats at a time, because GCC 12 does not vectorise a loop at -O2.
using FourFloats [[gnu::vector_size(16), gnu::may_alias, gnu::aligned(4)]] = float;

void scale_in_place(benchmark::State& state) {
  Query x(state);
  float factor = 1.0F;
  benchmark::DoNotOptimize(factor);
  auto* const begin = reinterpret_cast<FourFloats*>(x.values.data());
  auto* const end = begin + x.values.size() / 4;
  for (auto _ : state) {
    for (FourFloats* four = begin; four != end; ++four) {
      *four *= factor;
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * x.bytes());
}

template <Pairing pairing>
void rotate(benchmark::State& state) {
  Query x(state);
  const rope::View<float> view = x.view();
  for (auto _ : state) {
    rope::rotate<pairing>(view, table(), rope::from(0));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * x.bytes());
}

template <Pairing pairing>
void rotate_to(benchmark::State& state) {
  Query in(state);
  Query out(state);
  const rope::View<float> from = in.view();
  const rope::View<float> to = out.view();
  for (auto _ : state) {
    rope::rotate_to<pairing>(from, to, table(), rope::from(0));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * in.bytes());
}

void build_table(benchmark::State& state) {
  const rope::Frequencies frequencies = rope::frequencies({.rotary_dim = head_dim});
  for (auto _ : state) {
    const rope::CosSinTable<float> made(frequencies, state.range(0));
    benchmark::DoNotOptimize(made.rows());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * head_dim / 2);
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"tokens", "heads"});
  for (const std::int64_t tokens : {1, 4, 512, 4096}) {
    benchmark->Args({tokens, 32});
  }
}

}  // namespace

BENCHMARK(copy)->Apply(sizes);
BENCHMARK_TEMPLATE(rotate_to, Pairing::half_split)->Apply(sizes);
BENCHMARK_TEMPLATE(rotate_to, Pairing::interleaved)->Apply(sizes);
BENCHMARK(scale_in_place)->Apply(sizes);
BENCHMARK_TEMPLATE(rotate, Pairing::half_split)->Apply(sizes);
BENCHMARK_TEMPLATE(rotate, Pairing::interleaved)->Apply(sizes);
BENCHMARK(build_table)->ArgName("rows")->Arg(4096)->Arg(32768)->Unit(benchmark::kMillisecond);

BENCHMARK_MAIN();
