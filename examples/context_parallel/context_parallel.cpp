// One long sequence over several MPI ranks: each rotates its own tokens by their positions in the
// whole sequence, and the attention goes around the ring. Compared with one process; the program of
// docs/context_parallel.md.
//
//   mpiexec -n RANKS context_parallel [--tokens N] [--positions global|local]
//
// `--positions local` makes the usual mistake, each rank counting from 0, to see that the
// comparison notices it. Status 0 if all results agree, 1 if not, 2 for wrong arguments.

#include <mpi.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "cost.hpp"
#include "one_process.hpp"
#include "ring.hpp"
#include "rope/rope.hpp"
#include "shape.hpp"

namespace context_parallel {
namespace {

constexpr double tolerance = 1e-5;
constexpr std::int64_t most_tokens = std::int64_t{1} << 24;

struct Arguments {
  std::int64_t tokens = 509;  // a prime: no number of ranks divides it
  bool local_positions = false;
};

std::optional<Arguments> parse(int count, char** texts) {
  Arguments arguments;
  for (int i = 1; i < count; i += 2) {
    const std::string_view name = texts[i];
    const std::string_view value = i + 1 < count ? texts[i + 1] : "";
    if (name == "--tokens") {
      const char* const end = value.data() + value.size();
      const auto [rest, error] = std::from_chars(value.data(), end, arguments.tokens);
      if (error != std::errc() || rest != end || arguments.tokens < 1 ||
          arguments.tokens > most_tokens) {
        return std::nullopt;
      }
    } else if (name == "--positions" && (value == "global" || value == "local")) {
      arguments.local_positions = value == "local";
    } else {
      return std::nullopt;
    }
  }
  return arguments;
}

/// What a rank holds: its tokens' queries, [tokens, heads * dim], and its block of keys and values.
struct Held {
  Rows queries;
  KvBlock block;
};

Held project(const std::vector<std::int64_t>& positions, const LayerShape& shape) {
  Held held;
  const auto tokens = static_cast<std::int64_t>(positions.size());
  held.queries.resize(tokens, shape.query_elements());
  held.block.resize(static_cast<std::size_t>(tokens * shape.kv_elements()));
  const auto [keys, values] = views_of(held.block, shape);
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::int64_t token = positions[static_cast<std::size_t>(t)];
    for (std::int64_t i = 0; i < shape.query_elements(); ++i) {
      held.queries(t, i) = projected(Projection::query, token, i);
    }
    for (std::int64_t i = 0; i < shape.kv_heads * shape.dim; ++i) {
      keys(0, t, i / shape.dim, i % shape.dim) = projected(Projection::key, token, i);
      values(0, t, i / shape.dim, i % shape.dim) = projected(Projection::value, token, i);
    }
  }
  return held;
}

void rotate(Held& held, const Sequence& sequence, int rank, const LayerShape& shape,
            const rope::CosSinTable<float>& table) {
  // [rotate] Queries and keys of this rank's tokens, by their positions in the whole sequence.
  const rope::View<float> q = rope::tokens_in_rows(held.queries, {.heads = shape.heads});
  const rope::View<float> k = views_of(held.block, shape).keys;
  if (sequence.sharding == rope::Sharding::contiguous) {
    const rope::Shard own = sequence.shard(rank);
    rope::rotate_qk<rope::Pairing::half_split>(q, k, table, rope::from(own.ranges[0].first));
  } else {
    const std::vector<std::int64_t> ids = rope::shard_positions(
        sequence.tokens,
        {.sharding = rope::Sharding::zig_zag, .rank = rank, .ranks = sequence.ranks});
    rope::rotate_qk<rope::Pairing::half_split>(q, k, table, rope::at(ids, {ids.size()}));
  }
  // [rotate]
}

std::vector<std::int64_t> positions_of(const Sequence& sequence, int rank) {
  return rope::shard_positions(
      sequence.tokens, {.sharding = sequence.sharding, .rank = rank, .ranks = sequence.ranks});
}

/// The rows of all ranks, one rank after another, on rank 0; nothing on the others.
Rows gather(const Rows& own, const Sequence& sequence, int rank) {
  std::vector<int> counts;
  std::vector<int> starts;
  int start = 0;
  for (int r = 0; r < sequence.ranks; ++r) {
    counts.push_back(static_cast<int>(sequence.shard(r).tokens()));
    starts.push_back(start);
    start += counts.back();
  }
  const TokenType row_type(own.cols());
  Rows all(rank == 0 ? start : 0, own.cols());
  MPI_Gatherv(own.data(), static_cast<int>(own.rows()), row_type.get(), all.data(), counts.data(),
              starts.data(), row_type.get(), 0, MPI_COMM_WORLD);
  return all;
}

/// The largest difference between the gathered rows and those of one process.
double largest_difference(const Rows& gathered, const Sequence& sequence,
                          const std::vector<double>& expected) {
  double largest = 0;
  std::int64_t row = 0;
  for (int rank = 0; rank < sequence.ranks; ++rank) {
    for (const std::int64_t token : positions_of(sequence, rank)) {
      for (std::int64_t i = 0; i < gathered.cols(); ++i) {
        const double other = expected[static_cast<std::size_t>(token * gathered.cols() + i)];
        const double difference = std::abs(static_cast<double>(gathered(row, i)) - other);
        if (std::isnan(difference)) return difference;
        largest = (std::max)(largest, difference);
      }
      ++row;
    }
  }
  return largest;
}

/// Sums over the ranks, on rank 0.
struct Measured {
  RingCost cost;
  std::int64_t bytes_sent = 0;
};

Measured collect(const RingWork& work) {
  const int steps = static_cast<int>(work.scores.size());
  std::vector<std::int64_t> sums(work.scores.size());
  std::vector<std::int64_t> most(work.scores.size());
  Measured measured;
  MPI_Reduce(work.scores.data(), sums.data(), steps, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(work.scores.data(), most.data(), steps, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&work.bytes_sent, &measured.bytes_sent, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  for (std::size_t step = 0; step < sums.size(); ++step) {
    measured.cost.all_scores += sums[step];
    measured.cost.waited_for += most[step];
  }
  return measured;
}

const char* name(Mask mask) { return mask == Mask::causal ? "causal" : "none"; }
const char* name(rope::Sharding sharding) {
  return sharding == rope::Sharding::contiguous ? "contiguous" : "zig-zag";
}

/// One kind of shards with one mask. Rank 0, which alone has what is expected, prints a line; the
/// verdict is known to all.
bool run(const Sequence& sequence, const LayerShape& shape, Mask mask, int rank,
         const Arguments& arguments, const rope::CosSinTable<float>& table,
         const std::vector<double>& expected) {
  Held held = project(positions_of(sequence, rank), shape);
  if (arguments.local_positions) {
    rope::rotate_qk<rope::Pairing::half_split>(
        rope::tokens_in_rows(held.queries, {.heads = shape.heads}),
        views_of(held.block, shape).keys, table, rope::from(0));
  } else {
    rotate(held, sequence, rank, shape, table);
  }

  RingWork work;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  const Rows own =
      ring_attention(held.queries, held.block, sequence, shape, mask, MPI_COMM_WORLD, work);
  MPI_Barrier(MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - start;

  const Rows gathered = gather(own, sequence, rank);
  const Measured measured = collect(work);
  int agrees = 0;
  if (rank == 0) {
    const double difference = largest_difference(gathered, sequence, expected);
    const RingCost planned = ring_cost(sequence, mask);
    const bool as_planned = measured.cost.all_scores == planned.all_scores &&
                            measured.cost.waited_for == planned.waited_for;
    agrees = difference <= tolerance && as_planned ? 1 : 0;
    std::printf("%-6s  %-10s  %18.0f  %8.2f  %s\n", name(mask), name(sequence.sharding),
                static_cast<double>(measured.bytes_sent) / static_cast<double>(shape.tokens),
                measured.cost.slowdown(sequence.ranks), difference <= tolerance ? "yes" : "NO");
    std::fprintf(stderr, "%s, %s: largest difference %.2e, %.1f ms\n", name(mask),
                 name(sequence.sharding), difference, seconds * 1e3);
    if (!as_planned) std::printf("The scores computed are not those that the shards foretell.\n");
  }
  MPI_Bcast(&agrees, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return agrees == 1;
}

/// What a layer as in current models costs as ranks grow, by the same functions that run() is
/// checked against.
void print_costs() {
  constexpr LayerShape shape = {.tokens = 131072, .heads = 32, .kv_heads = 8, .dim = 128};
  std::printf(
      "\nA layer of %lld tokens, %lld query heads and %lld key heads of %lld, float, causal:\n"
      "       sent per    sent by    operations    slowdown by waiting\n"
      "ranks     token  each rank  per byte sent  contiguous   zig-zag\n",
      static_cast<long long>(shape.tokens), static_cast<long long>(shape.heads),
      static_cast<long long>(shape.kv_heads), static_cast<long long>(shape.dim));
  for (const int ranks : {1, 2, 4, 8, 16, 32, 64}) {
    const auto cost = [&](rope::Sharding sharding) {
      return ring_cost({.tokens = shape.tokens, .sharding = sharding, .ranks = ranks},
                       Mask::causal);
    };
    const RingCost contiguous = cost(rope::Sharding::contiguous);
    const RingCost zig_zag = cost(rope::Sharding::zig_zag);
    const std::int64_t bytes_per_token =
        (ranks - 1) * shape.kv_elements() * std::int64_t{sizeof(float)};
    const double bytes = static_cast<double>(bytes_per_token * shape.tokens);
    // A multiplication and an addition for each feature, in scores and in weighted values.
    const double operations =
        4.0 * static_cast<double>(zig_zag.all_scores * shape.heads * shape.dim);
    std::printf("%5d %5lld KiB %6.0f MiB ", ranks, static_cast<long long>(bytes_per_token / 1024),
                bytes / ranks / (1 << 20));
    if (ranks == 1) {
      std::printf("%14s", "-");
    } else {
      std::printf("%14.0f", operations / bytes);
    }
    std::printf(" %11.2f %9.2f\n", contiguous.slowdown(ranks), zig_zag.slowdown(ranks));
  }
}

/// The same on all ranks.
bool run_all(const Arguments& arguments) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const LayerShape shape = {.tokens = arguments.tokens, .heads = 4, .kv_heads = 2, .dim = 32};

  // Made by each rank for itself: frequencies and tables have the same bits on every machine.
  const rope::Frequencies frequencies = rope::frequencies({.rotary_dim = shape.dim});
  const rope::CosSinTable<float> table(frequencies, shape.tokens);

  if (rank == 0) {
    std::printf("%lld tokens, %lld query heads and %lld key heads of %lld; ranks: %d\n",
                static_cast<long long>(shape.tokens), static_cast<long long>(shape.heads),
                static_cast<long long>(shape.kv_heads), static_cast<long long>(shape.dim), ranks);
    std::printf("mask    shards      bytes sent a token  slowdown  as one process to %.0e\n",
                tolerance);
  }
  bool all_agree = true;
  for (const Mask mask : {Mask::none, Mask::causal}) {
    std::vector<double> expected;
    if (rank == 0) expected = one_process_attention(shape, frequencies, mask);
    for (const rope::Sharding sharding : {rope::Sharding::contiguous, rope::Sharding::zig_zag}) {
      const Sequence sequence = {.tokens = shape.tokens, .sharding = sharding, .ranks = ranks};
      // Not within the loop's condition: all ranks must take part in every run.
      const bool agrees = run(sequence, shape, mask, rank, arguments, table, expected);
      all_agree = all_agree && agrees;
    }
  }
  if (rank == 0) print_costs();
  return all_agree;
}

}  // namespace
}  // namespace context_parallel

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 1;
  try {
    if (const auto arguments = context_parallel::parse(argc, argv)) {
      status = context_parallel::run_all(*arguments) ? 0 : 1;
    } else {
      int rank = 0;
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      if (rank == 0) {
        std::fprintf(stderr,
                     "usage: context_parallel [--tokens 1..%lld] [--positions global|local]\n",
                     static_cast<long long>(context_parallel::most_tokens));
      }
      status = 2;
    }
  } catch (const std::exception& error) {
    // The other ranks may be waiting for this one.
    std::fprintf(stderr, "context_parallel: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
