// Parts of a rotation, and executors that do them: the bits of the whole, whoever does what.
#include "rope/rotate_part.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rope/check_rotate.hpp"
#include "rope/detail/work_split.hpp"
#include "rope/frequencies.hpp"
#include "rope/rotate.hpp"
#include "rope/rotate_inverse.hpp"
#include "rope/scalar.hpp"
#include "rope/table.hpp"
#include "rope/thread_pool.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/own_tables.hpp"
#include "support/pairings.hpp"
#include "support/tensor.hpp"

namespace {

using rope::CosSinTable;
using rope::ExecutorRef;
using rope::Pairing;
using rope::Part;
using rope::PositionTable;
using rope::TaskRef;
using rope_test::all_arrangements;
using rope_test::Arrangement;
using rope_test::for_both_pairings;
using rope_test::MadeForTokens;
using rope_test::MadeOnDemand;
using rope_test::require_throws;
using rope_test::Shape;
using rope_test::Tensor;

/// Does its parts from the last to the first, and counts them.
struct Backwards {
  std::int64_t parts = 0;
  void operator()(std::int64_t count, TaskRef body) {
    parts += count;
    while (count > 0) body(--count);
  }
};

/// A rotation that takes options. `call(options)` does it on fresh data and returns the result.
template <class Call>
void check_parts(const Call& call, ExecutorRef executor) {
  const auto whole = call([](auto rotate) { rotate(Part{}, ExecutorRef()); });
  const auto same = [&](const auto& outs) {
    bool equal = true;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      equal = equal && outs[i].same_memory(whole[i]);
    }
    return equal;
  };
  for (const std::int64_t parts : {1, 2, 3, 7, 16, 1000}) {
    INFO(parts << " parts");
    CHECK(same(call([&](auto rotate) {
      for (std::int64_t i = parts; i-- > 0;) rotate(Part{i, parts}, ExecutorRef());
    })));
    CHECK(same(call([&](auto rotate) {
      for (std::int64_t i = 0; i < parts; ++i) rotate(Part{i, parts}, executor);
    })));
  }
}

template <Pairing pairing, class T, class X, class... Positions>
void check_all_verbs(const X& table, const Shape& shape, Arrangement arrangement,
                     ExecutorRef executor, const Positions&... positions) {
  using Tensors = std::vector<Tensor<T>>;
  const auto x = Tensor<float>::random(shape, 3, arrangement);
  Tensor<T> in(shape, arrangement);
  x.for_each([&](const Shape& at) { in[at] = static_cast<T>(x[at]); });
  const std::int64_t first_dim = (shape[3] - 2 * table.pairs()) / 2;
  const auto in_place = [&](auto verb) {
    return [&, verb](auto run) {
      Tensors out = {in};
      run([&](Part part, ExecutorRef who) {
        verb(out[0].view(),
             rope::RotateOptions{.first_dim = first_dim, .executor = who, .part = part});
      });
      return out;
    };
  };
  const auto out_of_place = [&](auto verb) {
    return [&, verb](auto run) {
      Tensors out = {Tensor<T>(shape, Arrangement::gaps)};
      run([&](Part part, ExecutorRef who) {
        verb(out[0].view(),
             rope::RotateOptions{.first_dim = first_dim, .executor = who, .part = part});
      });
      return out;
    };
  };
  const auto source = static_cast<const Tensor<T>&>(in).view();
  check_parts(in_place([&](auto view, const auto& options) {
                rope::rotate<pairing>(view, table, positions..., options);
              }),
              executor);
  check_parts(in_place([&](auto view, const auto& options) {
                rope::rotate_part<pairing>(
                    view, table, positions..., options.part,
                    {.first_dim = options.first_dim, .executor = options.executor});
              }),
              executor);
  check_parts(
      in_place([&](auto view, const auto& options) {
        rope::rotate_part(
            view, table, positions..., options.part,
            {.pairing = pairing, .first_dim = options.first_dim, .executor = options.executor});
      }),
      executor);
  check_parts(in_place([&](auto view, const auto& options) {
                rope::rotate_inverse<pairing>(view, table, positions..., options);
              }),
              executor);
  check_parts(in_place([&](auto view, const auto& options) {
                rope::rotate_transpose<pairing>(view, table, positions..., options);
              }),
              executor);
  check_parts(out_of_place([&](auto view, const auto& options) {
                rope::rotate_to<pairing>(source, view, table, positions..., options);
              }),
              executor);
  check_parts(out_of_place([&](auto view, const auto& options) {
                rope::rotate_inverse_to<pairing>(source, view, table, positions..., options);
              }),
              executor);
  check_parts(out_of_place([&](auto view, const auto& options) {
                rope::rotate_transpose_to(source, view, table, positions...,
                                          {.pairing = pairing,
                                           .first_dim = options.first_dim,
                                           .executor = options.executor,
                                           .part = options.part});
              }),
              executor);
  check_parts(
      [&](auto run) {
        const std::int64_t k_heads = table.heads() == 1 ? 1 : shape[2];
        Tensors out = {in, Tensor<T>({shape[0], shape[1], k_heads, shape[3]})};
        out[1].for_each([&](const Shape& at) { out[1][at] = in[at]; });
        run([&](Part part, ExecutorRef who) {
          rope::rotate_qk<pairing>(out[0].view(), out[1].view(), table, positions...,
                                   {.first_dim = first_dim, .executor = who, .part = part});
        });
        return out;
      },
      executor);
}

TEST_CASE("every rotation, in parts and by executors") {
  rope::ThreadPool pool(3);
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 16}), 64);
  const std::int64_t ids[] = {5, 0, 63, 7, 7, 1, 2, 3, 4, 50};
  for_both_pairings([&]<Pairing pairing>() {
    check_all_verbs<pairing, float>(table, {1, 1, 13, 16}, Arrangement::bthd, pool, rope::from(3));
    check_all_verbs<pairing, float>(table, {2, 5, 4, 22}, Arrangement::bhtd, pool,
                                    rope::at(ids, {2, 5}));
    check_all_verbs<pairing, rope::bf16>(table, {1, 37, 3, 16}, Arrangement::spread_dims, pool,
                                         rope::from(0));
    check_all_verbs<pairing, float>(MadeOnDemand<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 5, 64),
                                    {1, 7, 5, 9}, Arrangement::gaps, pool, rope::from(1));
    check_all_verbs<pairing, float>(MadeForTokens<float>({0.5, 0.25, 3}, {1, -2, 0.5, 7, 3.25}, 1),
                                    {2, 5, 3, 6}, Arrangement::bthd, pool);
  });
}

TEST_CASE("work that is worth it is divided, by tokens and by heads") {
  rope::ThreadPool pool(4);
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 128}), 64);
  for (const Shape& shape :
       {Shape{1, 64, 64, 128}, Shape{1, 1, 3000, 128}, Shape{2, 3, 501, 130}}) {
    auto alone = Tensor<float>::random(shape, 1);
    auto together = alone;
    auto backwards = alone;
    rope::rotate<Pairing::half_split>(alone.view(), table, rope::from(0));
    rope::rotate<Pairing::half_split>(together.view(), table, rope::from(0), {.executor = pool});
    Backwards executor;
    rope::rotate(backwards.view(), table, rope::from(0),
                 {.pairing = Pairing::half_split, .executor = executor});
    CHECK(executor.parts > 4);
    CHECK(together.same_memory(alone));
    CHECK(backwards.same_memory(alone));
  }
  // A token of 32 heads is done before another thread wakes up.
  Backwards unused;
  auto token = Tensor<float>::random({1, 1, 32, 128}, 1);
  rope::rotate<Pairing::half_split>(token.view(), table, rope::from(0), {.executor = unused});
  CHECK(unused.parts == 0);
}

TEST_CASE("parts are even in heads of tokens") {
  using rope::detail::HeadRange;
  using rope::detail::heads_per_group;
  using rope::detail::part_of;
  using rope::detail::PartSplit;
  using rope::detail::Splittable;
  using rope::detail::WorkPart;
  const rope::detail::Layout one_token{{1, 1, 32, 128}, {0, 4096, 128, 1}};
  const rope::detail::Layout sequence{{1, 4096, 32, 128}, {0, 4096, 128, 1}};
  CHECK(heads_per_group(one_token, 4, 3) == 1);
  CHECK(heads_per_group(sequence, 4, 3) == 32);  // whole tokens
  // 10 floats a head: 8 heads are 5 cache lines.
  const rope::detail::Layout narrow{{1, 1, 32, 10}, {0, 320, 10, 1}};
  CHECK(heads_per_group(narrow, 4, 2) == 8);
  const rope::detail::Layout seven{{1, 1, 7, 10}, {0, 70, 10, 1}};
  CHECK(heads_per_group(seven, 4, 2) == 1);

  for (const std::int64_t parts : {1, 2, 5, 31, 32, 33, 1000}) {
    std::int64_t next = 0;
    std::int64_t least = 32;
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < parts; ++i) {
      const HeadRange part = part_of({0, 32}, 1, i, parts);
      CHECK(part.begin == next);
      next = part.end;
      least = part.end - part.begin < least ? part.end - part.begin : least;
      most = part.end - part.begin > most ? part.end - part.begin : most;
    }
    CHECK(next == 32);
    CHECK(most - least <= 1);
  }

  // Three tokens of five heads in two parts: 8 heads and 7.
  const rope::detail::Layout small{{1, 3, 5, 16}, {0, 80, 16, 1}};
  const PartSplit split({&small, 4, 4}, {1, 2}, 1);
  std::vector<std::vector<std::int64_t>> blocks;
  split.run(0, [&](const WorkPart& part) {
    blocks.push_back({part.first_token, part.end_token, part.first_head, part.end_head});
  });
  CHECK(blocks == std::vector<std::vector<std::int64_t>>{{1, 2, 3, 5}, {2, 3, 0, 5}});
}

TEST_CASE("a part that is refused") {
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 8}), 4);
  std::vector<float> values(4 * 8, 1.0F);
  const std::vector<float> before = values;
  const auto x = rope::thd(values, {4, 1, 8});
  const auto refused = [&](const std::string& message, auto call) {
    require_throws<rope::InvalidArgument>(message, call);
    CHECK(values == before);
  };
  refused("rope::rotate: part must be one of 0 to count - 1, got 2 of a count of 2", [&] {
    rope::rotate_part<Pairing::half_split>(x, table, rope::from(0), {2, 2});
  });
  refused("rope::rotate: part must be one of 0 to count - 1, got -1 of a count of 2", [&] {
    rope::rotate(x, table, rope::from(0), {.pairing = Pairing::half_split, .part = {-1, 2}});
  });
  refused("rope::rotate_inverse: part must be one of 0 to count - 1, got 0 of a count of 0", [&] {
    rope::rotate_inverse<Pairing::half_split>(x, table, rope::from(0), {.part = {0, 0}});
  });
  CHECK(std::string(rope::check_rotate(x, table, rope::from(0), {.part = {5, 4}}).message()) ==
        "rope::rotate: part must be one of 0 to count - 1, got 5 of a count of 4");
  // The first part is refused for what only the last would do.
  const int ids[] = {0, 1, 2, 4};
  require_throws<rope::OutOfRange>(
      "rope::rotate: positions: the position 4 of batch row 0, token 3 is outside the table's rows "
      "0 .. 3",
      [&] {
        rope::rotate_part<Pairing::half_split>(x, table, rope::at(ids, {4}), {0, 4});
      });
  CHECK(values == before);
}

TEST_CASE("a rotation that converts") {
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 64}), 64);
  const Shape shape{1, 9, 4, 70};
  const auto x = Tensor<float>::random(shape, 6);
  for_both_pairings([&]<Pairing pairing>() {
    Tensor<float> wide(shape);
    Tensor<rope::bf16> narrow(shape, Arrangement::bhtd);
    Tensor<rope::f16> half(shape, Arrangement::gaps);
    rope::rotate_to<pairing>(x.view(), wide.view(), table, rope::from(3), {.first_dim = 4});
    rope::rotate_to<pairing>(x.view(), narrow.view(), table, rope::from(3), {.first_dim = 4});
    rope::rotate_to<pairing>(x.view(), half.view(), table, rope::from(3), {.first_dim = 4});
    bool same = true;
    x.for_each([&](const Shape& at) {
      same = same && narrow[at].bits == rope::bf16(wide[at]).bits &&
             half[at].bits == rope::f16(wide[at]).bits;
    });
    CHECK(same);
    CHECK(half.gaps_are_intact());
    // And back.
    Tensor<float> back(shape);
    rope::rotate_inverse_to<pairing>(half.view(), back.view(), table, rope::from(3),
                                     {.first_dim = 4});
    bool close = true;
    x.for_each([&](const Shape& at) {
      const float error = back[at] - x[at];
      close = close && error < 0x1p-9F && error > -0x1p-9F;
    });
    CHECK(close);
  });
  // Elements of different sizes may not share a byte.
  std::vector<float> memory(64 * 2);
  const auto in = rope::thd(&memory[0], {1, 1, 64});
  const auto overlapping = rope::thd(reinterpret_cast<rope::bf16*>(&memory[63]) + 1, {1, 1, 64});
  require_throws<rope::InvalidArgument>("rope::rotate_to: in and out share elements", [&] {
    rope::rotate_to<Pairing::half_split>(in, overlapping, table, rope::from(0));
  });
  rope::rotate_to<Pairing::half_split>(
      in, rope::thd(reinterpret_cast<rope::bf16*>(&memory[64]), {1, 1, 64}), table, rope::from(0));
}

}  // namespace
