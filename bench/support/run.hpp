// What all benchmarks share: how they are named, registered and run.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "limits.hpp"
#include "rope/core.hpp"
#include "rope/detail/isa.hpp"

namespace rope_bench {

/// Of q or k, packed: [tokens, heads, dim].
struct Shape {
  std::int64_t tokens;
  std::int64_t heads;
  std::int64_t dim;

  std::int64_t elements() const { return tokens * heads * dim; }
  std::string name() const {
    return std::to_string(tokens) + "x" + std::to_string(heads) + "x" + std::to_string(dim);
  }
};

/// One token to decode, a few, and prompts; the last one with few heads, as keys have.
inline const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all{
      {1, 32, 128}, {4, 32, 128}, {512, 32, 128}, {4096, 32, 128}, {32768, 8, 128}};
  return all;
}

/// Not 0, where nothing would turn.
inline constexpr std::int64_t first_position = 7;

inline const char* name_of(rope::Pairing pairing) {
  return pairing == rope::Pairing::interleaved ? "interleaved" : "half_split";
}

inline const char* name_of(rope::detail::Isa isa) {
  using rope::detail::Isa;
  switch (isa) {
    case Isa::portable:
      return "portable";
    case Isa::avx2:
      return "AVX2";
    case Isa::avx512:
      return "AVX-512";
    case Isa::neon:
      return "NEON";
    case Isa::undetected:
      break;
  }
  return "undetected";
}

/// Registers `body()`, to be compared with the benchmark called `limit` of the same program; none
/// where that is empty.
template <class Body>
benchmark::internal::Benchmark* add(const std::string& name, const std::string& limit, Body body) {
  return benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    body();  // pages and caches are as they will be
    for (auto _ : state) {
      body();
      benchmark::ClobberMemory();
    }
    state.SetLabel(limit);
  });
}

inline std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

/// Runs what has been registered; what main() returns.
inline int run(int argc, char** argv, const std::string& title) {
  benchmark::AddCustomContext("title", title);
  benchmark::AddCustomContext("cpu", cpu_model());
  benchmark::AddCustomContext("rope_isa", name_of(rope::detail::isa()));
  benchmark::AddCustomContext("stream_isa", widest().name);
#ifdef __clang__
  benchmark::AddCustomContext("compiler", __VERSION__);
#else
  benchmark::AddCustomContext("compiler", "GCC " __VERSION__);
#endif
#ifdef ROPE_BENCH_FLAGS
  benchmark::AddCustomContext("flags", ROPE_BENCH_FLAGS);
#endif
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace rope_bench
