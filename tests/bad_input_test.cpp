// What every rotation refuses: the type, the exact message, the same verdict from check_rotate(),
// and not a byte of the output changed.
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rope/check_rotate.hpp"
#include "rope/frequencies.hpp"
#include "rope/rotate.hpp"
#include "rope/rotate_inverse.hpp"
#include "rope/table.hpp"
#include "rope/table_view.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/own_tables.hpp"
#include "support/pairings.hpp"
#include "support/tensor.hpp"

namespace {

using rope::CosSinTable;
using rope::ErrorKind;
using rope::InvalidArgument;
using rope::OutOfRange;
using rope::Pairing;
using rope::View;
using rope_test::Arrangement;
using rope_test::for_both_pairings;
using rope_test::require_throws;
using rope_test::Shape;
using rope_test::Tensor;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();

template <class Expected>
constexpr ErrorKind kind_of =
    std::is_same_v<Expected, OutOfRange> ? ErrorKind::out_of_range : ErrorKind::invalid_argument;

/// Fails unless the verdict is the one that `Expected` with this message stands for.
template <class Expected>
void require_verdict(const rope::Status& verdict, const std::string& message) {
  CHECK_FALSE(verdict.ok());
  CHECK(verdict.kind() == kind_of<Expected>);
  CHECK(std::string(verdict.message()) == message);
}

/// Fails unless every rotation in place of `x`, a view of `memory`, is refused with "name: rest".
/// `where` are the positions, or nothing for a table by token.
template <class Expected, class X, class... Where>
void require_refused_in_place(const std::string& rest, Tensor<float>& memory, View<float> x,
                              const X& table, const rope::RotateOptions& options,
                              const Where&... where) {
  const Tensor<float> before = memory;
  for_both_pairings([&]<Pairing pairing>() {
    const rope::PairingOptions chosen{.pairing = pairing, .first_dim = options.first_dim};
    const auto refused = [&](const std::string& name, auto call) {
      require_throws<Expected>(name + ": " + rest, call);
      REQUIRE(memory.same_memory(before));
    };
    refused("rope::rotate", [&] { rope::rotate<pairing>(x, table, where..., options); });
    refused("rope::rotate", [&] { rope::rotate(x, table, where..., chosen); });
    refused("rope::rotate_inverse",
            [&] { rope::rotate_inverse<pairing>(x, table, where..., options); });
    refused("rope::rotate_inverse", [&] { rope::rotate_inverse(x, table, where..., chosen); });
    refused("rope::rotate_transpose",
            [&] { rope::rotate_transpose<pairing>(x, table, where..., options); });
    refused("rope::rotate_transpose", [&] { rope::rotate_transpose(x, table, where..., chosen); });
    refused("rope::rotate_to", [&] { rope::rotate_to<pairing>(x, x, table, where..., options); });
  });
  require_verdict<Expected>(rope::check_rotate(x, table, where..., options),
                            "rope::rotate: " + rest);
  require_verdict<Expected>(rope::check_rotate_to(x, x, table, where..., options),
                            "rope::rotate_to: " + rest);
  require_verdict<Expected>(rope::check_rotate_inverse(x, table, where..., options),
                            "rope::rotate_inverse: " + rest);
  const rope::PairingOptions chosen{.pairing = Pairing::half_split, .first_dim = options.first_dim};
  require_verdict<Expected>(rope::check_rotate(x, table, where..., chosen),
                            "rope::rotate: " + rest);
  require_verdict<Expected>(rope::check_rotate_inverse(x, table, where..., chosen),
                            "rope::rotate_inverse: " + rest);
  CHECK(memory.same_memory(before));
}

/// The same for rotations from `in` to `out`, both within `memory`.
template <class Expected, class X, class... Where>
void require_refused_out_of_place(const std::string& rest, Tensor<float>& memory,
                                  View<const float> in, View<float> out, const X& table,
                                  const rope::RotateOptions& options, const Where&... where) {
  const Tensor<float> before = memory;
  for_both_pairings([&]<Pairing pairing>() {
    const rope::PairingOptions chosen{.pairing = pairing, .first_dim = options.first_dim};
    const auto refused = [&](const std::string& name, auto call) {
      require_throws<Expected>(name + ": " + rest, call);
      REQUIRE(memory.same_memory(before));
    };
    refused("rope::rotate_to",
            [&] { rope::rotate_to<pairing>(in, out, table, where..., options); });
    refused("rope::rotate_to", [&] { rope::rotate_to(in, out, table, where..., chosen); });
    refused("rope::rotate_inverse_to",
            [&] { rope::rotate_inverse_to<pairing>(in, out, table, where..., options); });
    refused("rope::rotate_inverse_to",
            [&] { rope::rotate_inverse_to(in, out, table, where..., chosen); });
    refused("rope::rotate_transpose_to",
            [&] { rope::rotate_transpose_to<pairing>(in, out, table, where..., options); });
    refused("rope::rotate_transpose_to",
            [&] { rope::rotate_transpose_to(in, out, table, where..., chosen); });
  });
  require_verdict<Expected>(rope::check_rotate_to(in, out, table, where..., options),
                            "rope::rotate_to: " + rest);
  require_verdict<Expected>(rope::check_rotate_inverse_to(in, out, table, where..., options),
                            "rope::rotate_inverse_to: " + rest);
  CHECK(memory.same_memory(before));
}

const CosSinTable<float>& eight_rows() {
  static const CosSinTable<float> table(rope::frequencies({.rotary_dim = 4}), 8);
  return table;
}

std::string outside(const std::string& position, int batch, int token) {
  return "positions: the position " + position + " of batch row " + std::to_string(batch) +
         ", token " + std::to_string(token) + " is outside the table's rows 0 .. 7";
}

}  // namespace

TEST_CASE("positions that the table has no row for") {
  auto x = Tensor<float>::random({2, 3, 2, 6}, 1, Arrangement::gaps);
  const auto refused = [&](const std::string& rest, const rope::Positions& positions) {
    require_refused_in_place<OutOfRange>(rest, x, x.view(), eight_rows(), {}, positions);
  };
  refused(outside("-1", 0, 0), rope::from(-1));
  refused(outside("-9223372036854775808", 0, 0), rope::from(smallest));
  refused(
      "positions: 3 tokens from position 6 on in batch row 0 end outside the table's rows 0 .. 7",
      rope::from(6));
  refused(
      "positions: 3 tokens from position 2147483648 on in batch row 0 end outside the table's rows "
      "0 .. 7",
      rope::from(1LL << 31));
  // start + tokens would overflow.
  refused(
      "positions: 3 tokens from position 9223372036854775807 on in batch row 0 end outside the "
      "table's rows 0 .. 7",
      rope::from(largest));
  const std::int64_t starts[] = {5, 6};
  refused(
      "positions: 3 tokens from position 6 on in batch row 1 end outside the table's rows 0 .. 7",
      rope::from_each(starts));
  const std::int32_t negative_starts[] = {5, -2};
  refused(outside("-2", 1, 0), rope::from_each(negative_starts));

  // One bad position, the last of the list, of each kind.
  for (const auto& [position, text] : {std::pair<std::int64_t, const char*>{8, "8"},
                                       {-1, "-1"},
                                       {1LL << 31, "2147483648"},
                                       {smallest, "-9223372036854775808"},
                                       {largest, "9223372036854775807"}}) {
    const std::vector<std::int64_t> for_all = {0, 7, position};
    refused(outside(text, 0, 2), rope::at(for_all, {3}));
    const std::vector<std::int64_t> for_each = {0, 1, 2, 3, 4, position};
    refused(outside(text, 1, 2), rope::at(for_each, {2, 3}));
  }
  const std::vector<std::int32_t> narrow = {0, std::numeric_limits<std::int32_t>::min(), 0};
  refused(outside("-2147483648", 0, 1), rope::at(narrow, {3}));
  // Position 7 itself is there.
  const std::vector<std::int64_t> last = {7, 7, 7};
  CHECK(rope::check_rotate(x.view(), eight_rows(), rope::at(last, {3})).ok());
  CHECK(rope::check_rotate(x.view(), eight_rows(), rope::from(5)).ok());
}

TEST_CASE("a table without rows") {
  const CosSinTable<float> no_rows(rope::frequencies({.rotary_dim = 4}), 0);
  auto x = Tensor<float>::random({1, 2, 1, 4}, 13);
  require_refused_in_place<OutOfRange>(
      "positions: the table has no rows, but the view has batch 1 and tokens 2", x, x.view(),
      no_rows, {}, rope::from(0));
  CHECK(rope::check_rotate(x.view().slice_tokens(0, 0), no_rows, rope::from(0)).ok());
}

TEST_CASE("positions of a shape that is not the view's") {
  auto x = Tensor<float>::random({2, 5, 1, 4}, 2);
  const std::vector<std::int32_t> ids(15);
  const auto refused = [&](const std::string& rest, const rope::Positions& positions) {
    require_refused_in_place<InvalidArgument>(rest, x, x.view(), eight_rows(), {}, positions);
  };
  // Three axes of positions, flattened, are not 15 tokens.
  refused("positions have the shape [15] (tokens), but the view has tokens 5", rope::at(ids, {15}));
  refused("positions have the shape [3, 5] (batch, tokens), but the view has batch 2 and tokens 5",
          rope::at(ids, {3, 5}));
  refused("positions have the shape [1, 5] (batch, tokens), but the view has batch 2 and tokens 5",
          rope::at(ids.data(), {1, 5}));
  refused("positions have the shape [5, 2] (batch, tokens), but the view has batch 2 and tokens 5",
          rope::at(ids.data(), {5, 2}));
  refused("positions have 15 starts, but the view has batch 2", rope::from_each(ids));
}

TEST_CASE("positions that lie where the result is written") {
  // The first ids of each kind are in the memory of x, and what lies there are good positions.
  std::vector<std::int64_t> memory(2 * 3 * 2 + 6);
  const rope::View<float> x =
      rope::bthd(reinterpret_cast<float*>(memory.data()), {2, 3, 1, 4});  // 24 floats
  const auto refused = [&](const char* rest, const auto& call) {
    const std::vector<std::int64_t> before = memory;
    require_throws<InvalidArgument>(rest, call);
    CHECK(memory == before);
  };
  constexpr Pairing pairing = Pairing::half_split;
  const auto& table = eight_rows();
  refused("rope::rotate: positions: the ids lie where the result is written",
          [&] { rope::rotate<pairing>(x, table, rope::at(&memory[9], {3})); });
  refused("rope::rotate: positions: the ids lie where the result is written", [&] {
    rope::rotate<pairing>(x, table, rope::at(&memory[11], {2, 3}));
  });
  refused("rope::rotate: positions: the starts lie where the result is written",
          [&] { rope::rotate<pairing>(x, table, rope::from_each(&memory[11])); });
  auto k = Tensor<float>::random({2, 3, 1, 4}, 5);
  refused("rope::rotate_qk: k: positions: the ids lie where the result is written", [&] {
    rope::rotate_qk<pairing>(k.view(), x, table, rope::at(&memory[11], {2, 3}));
  });
  refused("rope::rotate_to: positions: the ids lie where the result is written", [&] {
    rope::rotate_to<pairing>(k.view(), x, table, rope::at(&memory[11], {2, 3}));
  });
  // Right behind it, and in a gap of it, they are no matter.
  CHECK(rope::check_rotate(x, table, rope::at(&memory[12], {2, 3})).ok());
  CHECK(rope::check_rotate(x.slice_tokens(0, 1), table, rope::at(&memory[2], {2, 1})).ok());
}

TEST_CASE("a rotated part outside the head") {
  auto x = Tensor<float>::random({1, 2, 1, 5}, 3, Arrangement::spread_dims);
  const auto refused = [&](std::int64_t first_dim, const std::string& text) {
    require_refused_in_place<InvalidArgument>(
        "the rotated part, 4 dims (2 for each pair of the table) from first_dim " + text +
            " on, is not within the view's 5 dims",
        x, x.view(), eight_rows(), {.first_dim = first_dim}, rope::from(0));
  };
  refused(2, "2");
  refused(-1, "-1");
  refused(largest, "9223372036854775807");
  refused(smallest, "-9223372036854775808");
  CHECK(rope::check_rotate(x.view(), eight_rows(), rope::from(0), {.first_dim = 1}).ok());

  // A table wider than the head.
  const CosSinTable<float> wide(rope::frequencies({.rotary_dim = 6}), 8);
  require_refused_in_place<InvalidArgument>(
      "the rotated part, 6 dims (2 for each pair of the table) from first_dim 0 on, is not within "
      "the view's 5 dims",
      x, x.view(), wide, {}, rope::from(0));
}

TEST_CASE("a table with rows for another number of heads") {
  auto x = Tensor<float>::random({1, 2, 4, 2}, 4);
  const CosSinTable<float> table(rope::Frequencies({1, 2}, {1, 2, 1}), 8);
  require_refused_in_place<InvalidArgument>(
      "the table has rows for each of 2 heads, but the view has 4 heads", x, x.view(), table, {},
      rope::from(0));
}

TEST_CASE("a table made for other tokens") {
  auto x = Tensor<float>::random({2, 3, 1, 2}, 5);
  const auto refused = [&](const std::vector<double>& positions, std::int64_t batch,
                           const std::string& shape) {
    require_refused_in_place<InvalidArgument>(
        "the table has rows for " + shape +
            " (batch or 1, tokens), but the view has batch 2 and tokens 3",
        x, x.view(), rope_test::MadeForTokens<float>({1.0}, positions, batch), {});
  };
  refused(std::vector<double>(4), 1, "[1, 4]");
  refused(std::vector<double>(2), 1, "[1, 2]");
  refused(std::vector<double>(9), 3, "[3, 3]");
  const std::vector<float> memory(12);
  const auto view = rope::table_view(memory, memory, {3, 2, 1}, {.rotary_dim = 2});
  require_refused_in_place<InvalidArgument>(
      "the table has rows for [3, 2] (batch or 1, tokens), but the view has batch 2 and tokens 3",
      x, x.view(), view, {});
}

TEST_CASE("a written view that has an element at several indices") {
  Tensor<float> memory({1, 8, 2, 4});
  const auto refused = [&](const Shape& strides, const std::string& text) {
    const View<float> x(memory.view().data(), {2, 3, 2, 4},
                        {strides[0], strides[1], strides[2], strides[3]});
    require_refused_in_place<InvalidArgument>(
        "the written view of strides " + text +
            " (batch, tokens, heads, dim) has the same element at several indices",
        memory, x, eight_rows(), {}, rope::from(0));
    const Tensor<float> source({2, 3, 2, 4});
    require_refused_out_of_place<InvalidArgument>(
        "the written view of strides " + text +
            " (batch, tokens, heads, dim) has the same element at several indices",
        memory, source.view(), x, eight_rows(), {}, rope::from(0));
  };
  refused({0, 8, 4, 1}, "[0, 8, 4, 1]");
  refused({24, 0, 4, 1}, "[24, 0, 4, 1]");
  refused({24, 8, 0, 1}, "[24, 8, 0, 1]");
  refused({24, 8, 4, 0}, "[24, 8, 4, 0]");
  refused({24, 8, 3, 1}, "[24, 8, 3, 1]");
  refused({8, 8, 4, 1}, "[8, 8, 4, 1]");
  refused({20, 8, 4, 1}, "[20, 8, 4, 1]");
}

TEST_CASE("input and output of different shapes") {
  Tensor<float> memory({2, 4, 3, 6});
  const Tensor<float> in({2, 3, 3, 6});
  const auto refused = [&](const std::string& rest, View<float> out) {
    require_refused_out_of_place<InvalidArgument>(rest, memory, in.view(), out, eight_rows(), {},
                                                  rope::from(0));
  };
  refused("in has tokens 3, but out has 4", memory.view());
  const View<float> same = memory.view().slice_tokens(0, 3);
  refused("in has batch 2, but out has 1", same.slice_batch(0, 1));
  refused("in has heads 3, but out has 2", same.slice_heads(0, 2));
  refused("in has dim 6, but out has 5", same.slice_dims(0, 5));
  CHECK(rope::check_rotate_to(in.view(), same, eight_rows(), rope::from(0)).ok());
}

TEST_CASE("input and output that share elements without being the same view") {
  auto memory = Tensor<float>::random({1, 6, 2, 8}, 6);
  const View<float> all = memory.view();
  float* const data = all.data();
  const auto refused = [&](View<const float> in, View<float> out) {
    require_refused_out_of_place<InvalidArgument>("in and out share elements", memory, in, out,
                                                  eight_rows(), {}, rope::from(0));
  };
  // Shifted by one element, one token, one head, both ways.
  const View<float> first = rope::bthd(data, {1, 4, 1, 8});
  const View<float> next = rope::bthd(data + 1, {1, 4, 1, 8});
  refused(first, next);
  refused(next, first);
  refused(all.slice_tokens(0, 5), all.slice_tokens(1, 5));
  refused(all.slice_dims(0, 5), all.slice_dims(3, 5));
  // The same place with other strides; a broadcast of one of the output's own rows; backwards.
  refused(View<float>(data, {1, 4, 1, 8}, {0, 16, 8, 1}), first);
  refused(View<float>(data, {1, 4, 1, 8}, {0, 0, 8, 1}), first);
  refused(View<float>(data + 24, {1, 4, 1, 8}, {0, -8, 8, 1}), first);
  // Half an element apart.
  const auto* const bytes = reinterpret_cast<const char*>(data) + 2;
  const auto* const askew = reinterpret_cast<const float*>(bytes);
  CHECK_FALSE(rope::check_rotate_to(View<const float>(askew, {1, 4, 1, 8}, {0, 8, 8, 1}), first,
                                    eight_rows(), rope::from(0))
                  .ok());
  // Neighbours that share nothing.
  const auto accepted = [&](View<const float> in, View<float> out) {
    CHECK(rope::check_rotate_to(in, out, eight_rows(), rope::from(0)).ok());
  };
  accepted(all.slice_dims(0, 4), all.slice_dims(4, 4));
  accepted(all.slice_heads(1, 1), all.slice_heads(0, 1));
  accepted(all.slice_tokens(3, 3), all.slice_tokens(0, 3));
  accepted(View<float>(data, {1, 3, 1, 8}, {0, 16, 8, 1}),
           View<float>(data + 8, {1, 3, 1, 8}, {0, 16, 8, 1}));
  // Even features into odd ones.
  accepted(View<float>(data, {1, 2, 1, 4}, {0, 16, 8, 2}),
           View<float>(data + 1, {1, 2, 1, 4}, {0, 16, 8, 2}));
}

TEST_CASE("the same elements under another name are in place") {
  // The stride of an axis with one index is never walked, so that it does not matter.
  auto memory = Tensor<float>::random({1, 1, 3, 4}, 12);
  const auto before = memory;
  float* const data = memory.view().data();
  const View<float> tokens_first = rope::bthd(data, {1, 1, 3, 4});
  const View<float> heads_first = rope::bhtd(data, {1, 3, 1, 4});
  REQUIRE(tokens_first.token_stride() != heads_first.token_stride());
  CHECK(rope::check_rotate_to(tokens_first, heads_first, eight_rows(), rope::from(5)).ok());
  rope::rotate_to<Pairing::half_split>(tokens_first, heads_first, eight_rows(), rope::from(5));
  auto expected = before;
  rope::rotate<Pairing::half_split>(expected.view(), eight_rows(), rope::from(5));
  CHECK(memory.same_memory(expected));
}

TEST_CASE("q and k that do not go together") {
  auto q = Tensor<float>::random({2, 3, 4, 4}, 7);
  auto k = Tensor<float>::random({2, 3, 2, 4}, 8);
  const auto q_before = q;
  const auto k_before = k;
  const auto refused = [&]<class Expected>(Expected*, const std::string& message, View<float> a,
                                           View<float> b, const auto& table,
                                           const rope::Positions& positions,
                                           const rope::RotateOptions& options = {}) {
    for_both_pairings([&]<Pairing pairing>() {
      require_throws<Expected>(message,
                               [&] { rope::rotate_qk<pairing>(a, b, table, positions, options); });
      require_throws<Expected>(message, [&] {
        rope::rotate_qk(a, b, table, positions,
                        {.pairing = pairing, .first_dim = options.first_dim});
      });
    });
    require_verdict<Expected>(rope::check_rotate_qk(a, b, table, positions, options), message);
    CHECK(q.same_memory(q_before));
    CHECK(k.same_memory(k_before));
  };
  InvalidArgument* const invalid = nullptr;
  OutOfRange* const out_of_range = nullptr;
  refused(invalid, "rope::rotate_qk: q has batch 2 and tokens 3, but k has batch 2 and tokens 2",
          q.view(), k.view().slice_tokens(0, 2), eight_rows(), rope::from(0));
  refused(invalid, "rope::rotate_qk: q has batch 1 and tokens 3, but k has batch 2 and tokens 3",
          q.view().slice_batch(0, 1), k.view(), eight_rows(), rope::from(0));
  refused(out_of_range, "rope::rotate_qk: q: " + outside("-1", 0, 0), q.view(), k.view(),
          eight_rows(), rope::from(-1));
  // Fine for q, wrong for k: q is not touched either.
  refused(invalid,
          "rope::rotate_qk: k: the rotated part, 4 dims (2 for each pair of the table) from "
          "first_dim 0 on, is not within the view's 3 dims",
          q.view(), k.view().slice_dims(0, 3), eight_rows(), rope::from(0));
  const CosSinTable<float> for_four_heads(rope::Frequencies({1, 2, 3, 4}, {1, 4, 1}), 8);
  refused(invalid,
          "rope::rotate_qk: k: the table has rows for each of 4 heads, but the view has 2 heads",
          q.view(), k.view(), for_four_heads, rope::from(0));
  refused(invalid, "rope::rotate_qk: q and k share elements", q.view(), q.view(), eight_rows(),
          rope::from(0));
  refused(invalid, "rope::rotate_qk: q and k share elements", q.view().slice_heads(0, 3),
          q.view().slice_heads(2, 2), eight_rows(), rope::from(0));
}

TEST_CASE("a run-time value that names no pairing") {
  auto x = Tensor<float>::random({1, 2, 1, 4}, 9);
  auto k = x;
  const auto before = x;
  const auto bad = static_cast<Pairing>(7);
  const std::string rest = "pairing has the value 7, which names no pairing";
  require_throws<InvalidArgument>("rope::rotate: " + rest, [&] {
    rope::rotate(x.view(), eight_rows(), rope::from(0), {.pairing = bad});
  });
  require_throws<InvalidArgument>("rope::rotate_to: " + rest, [&] {
    rope::rotate_to(k.view(), x.view(), eight_rows(), rope::from(0), {.pairing = bad});
  });
  require_throws<InvalidArgument>("rope::rotate_qk: " + rest, [&] {
    rope::rotate_qk(x.view(), k.view(), eight_rows(), rope::from(0), {.pairing = bad});
  });
  require_throws<InvalidArgument>("rope::rotate_inverse: " + rest, [&] {
    rope::rotate_inverse(x.view(), eight_rows(), rope::from(0), {.pairing = bad});
  });
  require_verdict<InvalidArgument>(
      rope::check_rotate(x.view(), eight_rows(), rope::from(0), {.pairing = bad}),
      "rope::rotate: " + rest);
  require_verdict<InvalidArgument>(
      rope::check_rotate_qk(x.view(), k.view(), eight_rows(), rope::from(0), {.pairing = bad}),
      "rope::rotate_qk: " + rest);
  CHECK(x.same_memory(before));
}

TEST_CASE("the verdict is the same for calls that are fine") {
  auto x = Tensor<float>::random({2, 3, 2, 6}, 10);
  auto k = Tensor<float>::random({2, 3, 1, 6}, 11);
  Tensor<float> out(x.shape());
  const CosSinTable<float>& eight_rows_table = eight_rows();
  const rope::Positions positions = rope::from(0);
  const rope::RotateOptions options;
  const View<float> view = x.view();
  static_assert(noexcept(rope::check_rotate(view, eight_rows_table, positions, options)));
  static_assert(noexcept(rope::check_rotate(view, eight_rows_table, positions)));
  static_assert(noexcept(rope::check_rotate_inverse(view, eight_rows_table, positions)));
  CHECK(rope::check_rotate(x.view(), eight_rows(), rope::from(0)).ok());
  CHECK(rope::check_rotate_to(x.view(), out.view(), eight_rows(), rope::from(0)).ok());
  CHECK(rope::check_rotate_qk(x.view(), k.view(), eight_rows(), rope::from(5)).ok());
  const rope_test::MadeForTokens<float> by_token({1.0}, {1, 2, 3}, 1);
  CHECK(rope::check_rotate(x.view(), by_token).ok());
  CHECK(rope::check_rotate_to(x.view(), out.view(), by_token, {.first_dim = 4}).ok());
  CHECK(rope::check_rotate_qk(x.view(), k.view(), by_token).ok());
}
