// A CompactTable in place of a CosSinTable: what its rows, made on demand, cost a whole call, and
// how long it takes to build.
#include <cstdint>
#include <string>

#include "rope/compact_table.hpp"
#include "rope/core.hpp"
#include "support/memory.hpp"
#include "support/run.hpp"

namespace {

using namespace rope_bench;
using rope::Pairing;

constexpr std::int64_t positions = 1048576;

template <Pairing pairing>
void add_both(std::int64_t tokens, const rope::CompactTable<float>& compact) {
  const std::string what =
      std::string(name_of(pairing)) + "/" + std::to_string(tokens) + "x(32+8)x128";
  const auto q = view(input<float>(), {tokens, 32, 128});
  const auto k = view(output<float>(), {tokens, 8, 128});
  const std::string stored = "CosSinTable/" + what;
  add(stored, "", [=, &rows = table(128)] {
    rope::rotate_qk<pairing>(q, k, rows, rope::from(first_position));
  });
  add("CompactTable/" + what, stored,
      [=, &compact] { rope::rotate_qk<pairing>(q, k, compact, rope::from(first_position)); });
}

}  // namespace

int main(int argc, char** argv) {
  const rope::Frequencies frequencies = rope::frequencies({.rotary_dim = 128});
  const rope::CompactTable<float> compact(frequencies, positions);
  for (const std::int64_t tokens : {1, 4, 512, 4096}) {
    add_both<Pairing::half_split>(tokens, compact);
    add_both<Pairing::interleaved>(tokens, compact);
  }
  benchmark::RegisterBenchmark("build/1048576 positions", [&](benchmark::State& state) {
    for (auto _ : state) {
      const rope::CompactTable<float> made(frequencies, positions);
      benchmark::DoNotOptimize(made.rows());
    }
    state.counters["bytes"] = static_cast<double>(compact.bytes());
  });
  return run(argc, argv, "Tables made on demand");
}
