// Eigen's 16-bit types: the same results as the library's own, in matrices of Eigen.

#include <Eigen/Core>
#include <cstdint>
#include <cstring>
#include <vector>

#include "rope/rope.hpp"
#include "support/catch.hpp"

namespace {

using rope::Pairing;

/// Rotates a matrix of Theirs, and the same bits as Ours in an array.
template <class Theirs, class Ours>
void check_same_bits() {
  static_assert(sizeof(Theirs) == sizeof(Ours));
  constexpr std::int64_t tokens = 3;
  constexpr std::int64_t heads = 5;
  constexpr std::int64_t dim = 70;
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = dim}), 20);
  Eigen::Matrix<Theirs, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> theirs(tokens,
                                                                                heads * dim);
  for (std::int64_t i = 0; i < theirs.size(); ++i) {
    theirs.data()[i] = Theirs(static_cast<float>(i % 101) * 0.37f - 18.0f);
  }
  std::vector<Ours> ours(static_cast<std::size_t>(theirs.size()));
  std::memcpy(ours.data(), theirs.data(), ours.size() * sizeof(Ours));

  const auto x = rope::tokens_in_rows(theirs, {.heads = heads});
  const auto y = rope::thd(ours, {tokens, heads, dim});
  rope::rotate<Pairing::half_split>(x, table, rope::from(7));
  rope::rotate<Pairing::half_split>(y, table, rope::from(7));
  rope::rotate<Pairing::interleaved>(
      x.slice_dims(1, 66), rope::CosSinTable<float>(rope::frequencies({.rotary_dim = 66}), 9),
      rope::from(2));
  rope::rotate<Pairing::interleaved>(
      y.slice_dims(1, 66), rope::CosSinTable<float>(rope::frequencies({.rotary_dim = 66}), 9),
      rope::from(2));
  CHECK(std::memcmp(ours.data(), theirs.data(), ours.size() * sizeof(Ours)) == 0);

  // Into float, by Eigen's own conversion of what was rotated last.
  Eigen::MatrixXf wide(heads * dim, tokens);
  rope::rotate_to<Pairing::interleaved>(x, rope::tokens_in_columns(wide, {.heads = heads}), table,
                                        rope::from(0));
  for (std::int64_t i = 0; i < heads * dim; ++i) {
    // Position 0: nothing turns.
    CHECK(wide(i, 0) == static_cast<float>(theirs(0, i)));
  }
}

}  // namespace

TEST_CASE("Eigen::half is rotated as f16", "[eigen]") { check_same_bits<Eigen::half, rope::f16>(); }

TEST_CASE("Eigen::bfloat16 is rotated as bf16", "[eigen]") {
  check_same_bits<Eigen::bfloat16, rope::bf16>();
}
