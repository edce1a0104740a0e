// The tables of cos and sin: all rows stored, rows made on demand, and a row for each of listed
// tokens.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "rope/core.hpp"
#include "rope/thread_pool.hpp"

namespace {

constexpr std::int64_t heads = 2;
constexpr std::int64_t head_dim = 128;

float rotated_first(const std::vector<float>& x) { return x.front(); }

}  // namespace

int main() {
  const auto frequencies = rope::frequencies({.rotary_dim = head_dim, .base = 500000});

  // [stored]
  const rope::CosSinTable<float> stored(frequencies, 8192);     // rows for positions 0 .. 8191
  const rope::CosSinTable<float> longer = stored.grown(16384);  // the first 8192 have the same bits
  // [stored]
  std::printf("stored: %lld rows, cos %.7f\n", static_cast<long long>(longer.rows()),
              static_cast<double>(longer.cos(8191)[40]));

  // [compact]
  const rope::CompactTable<float> compact(frequencies, 1 << 20);  // any position below 2^20
  std::vector<float> x(heads * head_dim, 1.0F);
  rope::rotate<rope::Pairing::half_split>(rope::thd(x, {1, heads, head_dim}), compact,
                                          rope::from(1000000));
  // [compact]
  std::printf("compact: %lld rows in %.1f MB, rotated %.6f\n",
              static_cast<long long>(compact.rows()), static_cast<double>(compact.bytes()) * 1e-6,
              static_cast<double>(rotated_first(x)));

  // [tokens]
  // Two axes, three pairs: the first turns with x, the second with y, the third with both.
  const rope::Frequencies directions({1.0, 0.0, 0.6, 0.0, 1.0, 0.8}, {2, 1, 3});
  std::vector<double> places = {0, 0, 0.5, 0, 0, -0.5, 2, 1.25};  // [tokens 4, axes 2]
  rope::TokenTable<float> table(directions, rope::coordinates(places, {4, 2}));
  std::vector<float> points(4 * 6, 1.0F);
  rope::rotate<rope::Pairing::interleaved>(rope::thd(points, {4, 1, 6}), table);  // no positions

  places = {3, 3, 1, 0};
  table.refill(rope::coordinates(places, {2, 2}));  // for two other tokens; allocates nothing
  // [tokens]
  std::printf("tokens: %lld now, room for %lld, cos of the third pair %.6f\n",
              static_cast<long long>(table.tokens()), static_cast<long long>(table.capacity()),
              static_cast<double>(table.cos(0, 0)[2]));

  // [parity]
  const rope::CosSinTable<float> as_pytorch(
      frequencies, 131072,
      {.angles = rope::Angles::float32, .round_entries_to = rope::EntryRounding::bf16});
  // [parity]
  const rope::CosSinTable<float> right(frequencies, 131072);
  std::printf("position 131071, pair 5: %.7f, with float angles and bf16 entries %.7f\n",
              static_cast<double>(right.cos(131071)[5]),
              static_cast<double>(as_pytorch.cos(131071)[5]));

  // [threads]
  rope::ThreadPool pool(2);
  const rope::CosSinTable<float> threaded(frequencies, 131072, {.executor = pool});
  // [threads]
  std::printf("made by two threads: %s\n",
              threaded.cos(131071)[5] == right.cos(131071)[5] ? "the same" : "different");
}
