// Views of Eigen's matrices: every kind of object, rotated and compared with plain loops in double.
#include "rope/eigen.hpp"

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "rope/rotate.hpp"
#include "rope/rotate_inverse.hpp"
#include "rope/table.hpp"
#include "rope/table_view.hpp"
#include "support/catch.hpp"

namespace {

using rope::Pairing;
using rope_test::contains;

template <class T>
using RowMajorMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using ColMajorMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;
using AnyStride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::MatrixXf;
using MatrixXfR = RowMajorMatrix<float>;

constexpr Index first_position = 3;
constexpr double base = 10000;

template <class T>
constexpr double tolerance = std::is_same_v<T, float> ? 1e-6 : 1e-14;

/// x is [batch * tokens, heads * dim].
MatrixXd rotated_rows(Pairing pairing, const MatrixXd& x, Index heads, Index batch = 1) {
  const Index tokens = x.rows() / batch;
  const Index dim = x.cols() / heads;
  MatrixXd y = x;
  for (Index row = 0; row < x.rows(); ++row) {
    for (Index head = 0; head < heads; ++head) {
      for (Index i = 0; i < dim / 2; ++i) {
        const double angle =
            static_cast<double>(first_position + row % tokens) *
            std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
        const Index a = head * dim + (pairing == Pairing::interleaved ? 2 * i : i);
        const Index b = pairing == Pairing::interleaved ? a + 1 : a + dim / 2;
        y(row, a) = x(row, a) * std::cos(angle) - x(row, b) * std::sin(angle);
        y(row, b) = x(row, a) * std::sin(angle) + x(row, b) * std::cos(angle);
      }
    }
  }
  return y;
}

/// Any values that are all different and none of them small.
template <class M>
void fill(M&& matrix) {
  for (Index row = 0; row < matrix.rows(); ++row) {
    for (Index col = 0; col < matrix.cols(); ++col) {
      matrix(row, col) = static_cast<typename std::remove_cvref_t<M>::Scalar>(
          1.0 + 0.7 * std::sin(1.3 * static_cast<double>(row) + 0.37 * static_cast<double>(col)));
    }
  }
}

template <class T>
rope::CosSinTable<T> table_of(Index dim) {
  return rope::CosSinTable<T>(rope::frequencies({.rotary_dim = dim, .base = base}), 64);
}

template <class M>
double distance(const M& matrix, const MatrixXd& expected) {
  REQUIRE(matrix.rows() == expected.rows());
  REQUIRE(matrix.cols() == expected.cols());
  double largest = 0;
  for (Index row = 0; row < matrix.rows(); ++row) {
    for (Index col = 0; col < matrix.cols(); ++col) {
      largest =
          std::fmax(largest, std::fabs(static_cast<double>(matrix(row, col)) - expected(row, col)));
    }
  }
  return largest;
}

template <class M>
MatrixXd in_double(const M& matrix) {
  MatrixXd copy(matrix.rows(), matrix.cols());
  for (Index row = 0; row < matrix.rows(); ++row) {
    for (Index col = 0; col < matrix.cols(); ++col) {
      copy(row, col) = static_cast<double>(matrix(row, col));
    }
  }
  return copy;
}

template <Pairing pairing, class M>
void check_rows_with(M&& matrix, Index heads, Index batch) {
  using T = typename std::remove_cvref_t<M>::Scalar;
  fill(matrix);
  const MatrixXd expected = rotated_rows(pairing, in_double(matrix), heads, batch);
  rope::rotate<pairing>(
      rope::tokens_in_rows(std::forward<M>(matrix), {.heads = heads, .batch = batch}),
      table_of<T>(matrix.cols() / heads), rope::from(first_position));
  CHECK(distance(matrix, expected) < tolerance<T>);
}

template <Pairing pairing, class M>
void check_columns_with(M&& matrix, Index heads, Index batch) {
  using T = typename std::remove_cvref_t<M>::Scalar;
  fill(matrix);
  const MatrixXd expected =
      rotated_rows(pairing, in_double(matrix).transpose(), heads, batch).transpose();
  rope::rotate<pairing>(
      rope::tokens_in_columns(std::forward<M>(matrix), {.heads = heads, .batch = batch}),
      table_of<T>(matrix.rows() / heads), rope::from(first_position));
  CHECK(distance(matrix, expected) < tolerance<T>);
}

/// Rotates a matrix whose rows are tokens, and compares.
template <class M>
void check_rows(M&& matrix, Index heads, Index batch = 1) {
  check_rows_with<Pairing::interleaved>(std::forward<M>(matrix), heads, batch);
  check_rows_with<Pairing::half_split>(std::forward<M>(matrix), heads, batch);
}

/// The same for a matrix whose columns are tokens.
template <class M>
void check_columns(M&& matrix, Index heads, Index batch = 1) {
  check_columns_with<Pairing::interleaved>(std::forward<M>(matrix), heads, batch);
  check_columns_with<Pairing::half_split>(std::forward<M>(matrix), heads, batch);
}

template <class T>
bool same_layout(const rope::View<T>& view, const std::vector<std::int64_t>& extents,
                 const std::vector<std::int64_t>& strides) {
  return extents ==
             std::vector<std::int64_t>{view.batch(), view.tokens(), view.heads(), view.dim()} &&
         strides == std::vector<std::int64_t>{view.batch_stride(), view.token_stride(),
                                              view.head_stride(), view.dim_stride()};
}

struct Sizes {
  Index tokens;
  Index heads;
  Index dim;
};

// Odd sizes, tokens == heads, tokens == heads == dim, one token, one head.
const Sizes all_sizes[] = {{3, 2, 4}, {5, 3, 6},  {4, 4, 8}, {4, 4, 4}, {1, 5, 10},
                           {7, 1, 2}, {9, 2, 34}, {2, 7, 2}, {1, 1, 2}, {13, 8, 16}};

}  // namespace

TEMPLATE_TEST_CASE("matrices of dynamic size", "[eigen]", ColMajorMatrix<float>,
                   RowMajorMatrix<float>, ColMajorMatrix<double>, RowMajorMatrix<double>) {
  for (const Sizes& s : all_sizes) {
    CAPTURE(s.tokens, s.heads, s.dim);
    TestType rows(s.tokens, s.heads * s.dim);
    check_rows(rows, s.heads);
    TestType columns(s.heads * s.dim, s.tokens);
    check_columns(columns, s.heads);
  }
}

TEMPLATE_TEST_CASE("a batch of sequences", "[eigen]", ColMajorMatrix<float>,
                   RowMajorMatrix<double>) {
  for (const Sizes& s : all_sizes) {
    CAPTURE(s.tokens, s.heads, s.dim);
    for (const Index batch : {1, 2, 3, 4}) {
      TestType rows(batch * s.tokens, s.heads * s.dim);
      check_rows(rows, s.heads, batch);
      TestType columns(s.heads * s.dim, batch * s.tokens);
      check_columns(columns, s.heads, batch);
    }
  }
}

TEST_CASE("shapes and strides of the views", "[eigen]") {
  MatrixXf a(6, 20);
  CHECK(same_layout(rope::tokens_in_rows(a, {.heads = 5}), {1, 6, 5, 4}, {6, 1, 24, 6}));
  CHECK(
      same_layout(rope::tokens_in_rows(a, {.heads = 5, .batch = 2}), {2, 3, 5, 4}, {3, 1, 24, 6}));
  CHECK(same_layout(rope::tokens_in_columns(a, {.heads = 3, .batch = 4}), {4, 5, 3, 2},
                    {30, 6, 2, 1}));
  MatrixXfR b(6, 20);
  CHECK(same_layout(rope::tokens_in_rows(b, {.heads = 5}), {1, 6, 5, 4}, {120, 20, 4, 1}));
  CHECK(same_layout(rope::tokens_in_columns(b, {.heads = 2}), {1, 20, 2, 3}, {20, 1, 60, 20}));
  CHECK(rope::tokens_in_rows(b, {.heads = std::size_t{5}}).data() == b.data());
}

TEST_CASE("matrices, vectors and arrays of fixed size", "[eigen]") {
  Eigen::Matrix<float, 3, 8> m38;
  check_rows(m38, 2);
  Eigen::Matrix<double, 3, 8, Eigen::RowMajor> m38r;
  check_rows(m38r, 2);
  Eigen::Matrix<double, 12, 5> m125;
  check_columns(m125, 3);
  Eigen::Matrix4f square;  // vectorisable: over-aligned in memory
  check_rows(square, 1);
  check_columns(square, 2);
  Eigen::Vector4d four;
  check_columns(four, 2);
  Eigen::RowVectorXf row(12);
  check_rows(row, 3);
  Eigen::VectorXf column(12);
  check_columns(column, 3);
  // A vector may also be the one feature of many tokens.
  CHECK(rope::tokens_in_rows(column, {.heads = 1}).tokens() == 12);
  CHECK(rope::tokens_in_rows(column, {.heads = 1}).token_stride() == 1);
  Eigen::ArrayXXf array(5, 12);
  check_rows(array, 3);
  Eigen::ArrayXXd array_columns(12, 5);
  check_columns(array_columns, 3);
}

TEST_CASE("a type derived from a matrix", "[eigen]") {
  struct Queries : MatrixXf {
    Queries() : MatrixXf(5, 12) {}
  } queries;
  check_rows(queries, 3);
}

TEST_CASE("maps with any strides", "[eigen]") {
  std::vector<float> memory(1000, -7.0f);
  float* const data = memory.data();

  check_rows(Eigen::Map<MatrixXf>(data, 5, 12), 3);
  check_rows(Eigen::Map<MatrixXfR>(data, 5, 12), 3);
  check_columns(Eigen::Map<Eigen::VectorXf>(data, 12), 3);
  // 3 floats past an aligned address
  check_rows(Eigen::Map<MatrixXfR>(data + 3, 5, 12), 2);

  SECTION("an inner stride of 2, fixed and not") {
    check_rows(Eigen::Map<MatrixXf, 0, Eigen::InnerStride<2>>(data, 5, 12), 3);
    check_rows(Eigen::Map<MatrixXfR, 0, Eigen::InnerStride<2>>(data, 5, 12), 3);
    check_columns(
        Eigen::Map<MatrixXf, 0, Eigen::InnerStride<>>(data, 12, 5, Eigen::InnerStride<>(2)), 3);
    check_columns(Eigen::Map<Eigen::VectorXf, 0, Eigen::InnerStride<3>>(data, 12), 3);
    check_rows(
        Eigen::Map<Eigen::RowVectorXf, 0, Eigen::InnerStride<>>(data, 12, Eigen::InnerStride<>(5)),
        2);
  }
  SECTION("an outer stride") {
    check_rows(
        Eigen::Map<MatrixXfR, 0, Eigen::OuterStride<>>(data, 5, 12, Eigen::OuterStride<>(17)), 3);
    check_columns(Eigen::Map<MatrixXf, 0, Eigen::OuterStride<16>>(data, 12, 5), 3);
  }
  SECTION("both") {
    check_rows(Eigen::Map<MatrixXf, 0, AnyStride>(data, 5, 12, AnyStride(31, 3)), 3);
    check_rows(Eigen::Map<MatrixXfR, 0, AnyStride>(data, 5, 12, AnyStride(31, 2)), 3);
    check_columns(Eigen::Map<MatrixXf, 0, AnyStride>(data, 12, 5, AnyStride(31, 2)), 3);
    check_rows(Eigen::Map<Eigen::Matrix<float, 3, 4>, 0, Eigen::Stride<8, 2>>(data), 2);
    // An inner stride above the outer one: the transposed order.
    check_columns(Eigen::Map<MatrixXfR, 0, AnyStride>(data, 12, 5, AnyStride(1, 13)), 3);
  }
  SECTION("negative strides") {
    // The last row first.
    check_rows(Eigen::Map<MatrixXfR, 0, Eigen::OuterStride<>>(data + 4 * 12, 5, 12,
                                                              Eigen::OuterStride<>(-12)),
               3);
    // The last feature first.
    check_rows(Eigen::Map<MatrixXfR, 0, AnyStride>(data + 11, 5, 12, AnyStride(12, -1)), 3);
    check_columns(Eigen::Map<MatrixXf, 0, AnyStride>(data + 500, 12, 5, AnyStride(-40, -3)), 3);
    check_rows(Eigen::Map<MatrixXf, 0, AnyStride>(data + 999, 6, 12, AnyStride(-40, -3)), 3, 2);
  }
}

TEST_CASE("a map writes its elements and no other", "[eigen]") {
  std::vector<float> memory(400, -7.0f);
  // Features of stride 2, rows of stride 40: the gaps keep their values.
  Eigen::Map<MatrixXfR, 0, AnyStride> map(memory.data() + 11, 6, 12, AnyStride(40, 2));
  std::vector<bool> in_map(memory.size(), false);
  for (Index row = 0; row < map.rows(); ++row) {
    for (Index col = 0; col < map.cols(); ++col) {
      in_map[static_cast<std::size_t>(&map(row, col) - memory.data())] = true;
    }
  }
  check_rows(map, 3);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    CAPTURE(i);
    CHECK((memory[i] == -7.0f) == !in_map[i]);
  }
}

TEST_CASE("a broadcast map can be read, not rotated in place", "[eigen]") {
  std::vector<float> one(12);
  Eigen::Map<MatrixXfR, 0, Eigen::OuterStride<>> many(one.data(), 5, 12, Eigen::OuterStride<>(0));
  fill(many);
  const MatrixXd expected = rotated_rows(Pairing::half_split, in_double(many), 3);
  const auto table = table_of<float>(4);
  MatrixXf out(5, 12);
  rope::rotate_to<Pairing::half_split>(rope::tokens_in_rows(many, {.heads = 3}),
                                       rope::tokens_in_rows(out, {.heads = 3}), table,
                                       rope::from(first_position));
  CHECK(distance(out, expected) < tolerance<float>);
  CHECK_THROWS_AS(rope::rotate<Pairing::half_split>(rope::tokens_in_rows(many, {.heads = 3}), table,
                                                    rope::from(first_position)),
                  rope::InvalidArgument);
}

TEST_CASE("a block leaves the rest of its matrix alone", "[eigen]") {
  const auto check = [](auto& matrix, auto&& block, bool rows) {
    matrix.setConstant(-7);
    if (rows) {
      check_rows(block, 3);
    } else {
      check_columns(block, 3);
    }
    // fill() writes no -7, and a rotation of what it writes is at most sqrt(2) * 1.7 in size.
    Index untouched = 0;
    for (Index row = 0; row < matrix.rows(); ++row) {
      for (Index col = 0; col < matrix.cols(); ++col) {
        untouched += matrix(row, col) == -7 ? 1 : 0;
      }
    }
    CHECK(untouched == matrix.size() - block.size());
  };
  MatrixXf a(20, 30);
  MatrixXfR b(20, 30);
  Eigen::Matrix<double, 12, 15> c;
  check(a, a.block(3, 5, 5, 12), true);
  check(a, a.block(3, 5, 12, 5), false);
  check(b, b.block(3, 5, 5, 12), true);
  check(b, b.block(3, 5, 12, 5), false);
  check(c, c.template block<5, 12>(2, 1), true);
  check(a, a.middleCols(4, 12), true);
  check(b, b.middleRows(4, 12), false);
  check(a, a.row(7).segment(2, 12), true);
  check(b, b.row(7).tail(12), true);
  check(b, b.col(7).head(12), false);
  check(a, a.transpose().block(2, 3, 5, 12), true);
  check(a, a.block(3, 5, 12, 5).transpose(), true);
  check(a, a.block(3, 5, 9, 20).block(1, 2, 5, 12), true);
  check(a, a.array().block(3, 5, 5, 12), true);
  check(b, b.block(3, 5, 5, 12).array(), true);
  auto kept = b.block(0, 0, 5, 12);
  check(b, kept, true);
  Eigen::Map<MatrixXf, 0, AnyStride> map(a.data(), 10, 15, AnyStride(40, 2));
  check(a, map.block(1, 2, 5, 12), true);
}

TEST_CASE("the one slice of a packed q, k, v that is rotated", "[eigen]") {
  // Rows of [q of 4 heads | k of 2 heads | v of 2 heads], 6 features each.
  MatrixXfR qkv(5, 8 * 6);
  fill(qkv);
  const MatrixXd before = in_double(qkv);
  MatrixXd expected = before;
  expected.leftCols(24) = rotated_rows(Pairing::half_split, before.leftCols(24), 4);
  expected.middleCols(24, 12) = rotated_rows(Pairing::half_split, before.middleCols(24, 12), 2);
  rope::rotate_qk<Pairing::half_split>(rope::tokens_in_rows(qkv.leftCols(24), {.heads = 4}),
                                       rope::tokens_in_rows(qkv.middleCols(24, 12), {.heads = 2}),
                                       table_of<float>(6), rope::from(first_position));
  CHECK(distance(qkv, expected) < tolerance<float>);
  CHECK(distance(qkv.rightCols(12), before.rightCols(12)) == 0);
}

namespace {

void rotate_ref(Eigen::Ref<MatrixXf> x, Index heads) {
  rope::rotate<Pairing::interleaved>(rope::tokens_in_rows(x, {.heads = heads}),
                                     table_of<float>(x.cols() / heads), rope::from(first_position));
}

void rotate_strided_ref(Eigen::Ref<MatrixXf, 0, AnyStride> x, Index heads) {
  rope::rotate<Pairing::interleaved>(rope::tokens_in_rows(x, {.heads = heads}),
                                     table_of<float>(x.cols() / heads), rope::from(first_position));
}

/// A Ref<const ...> parameter: refers to its argument or holds a copy of it, and is right in both.
MatrixXf rotated_const_ref(const Eigen::Ref<const MatrixXf>& x, Index heads) {
  auto view = rope::tokens_in_rows(x, {.heads = heads});
  static_assert(std::is_same_v<decltype(view), rope::View<const float>>);
  MatrixXf out(x.rows(), x.cols());
  rope::rotate_to<Pairing::interleaved>(view, rope::tokens_in_rows(out, {.heads = heads}),
                                        table_of<float>(x.cols() / heads),
                                        rope::from(first_position));
  return out;
}

}  // namespace

TEST_CASE("references to matrices", "[eigen]") {
  MatrixXf big(20, 30);
  fill(big);
  const MatrixXd x = in_double(big).block(2, 3, 5, 12);
  const MatrixXd expected = rotated_rows(Pairing::interleaved, x, 3);

  SECTION("writable") {
    MatrixXf whole = big.block(2, 3, 5, 12);
    rotate_ref(whole, 3);
    CHECK(distance(whole, expected) < tolerance<float>);
    rotate_ref(big.block(2, 3, 5, 12), 3);
    CHECK(distance(big.block(2, 3, 5, 12), expected) < tolerance<float>);
  }
  SECTION("writable, with an inner stride") {
    MatrixXf spread = MatrixXf::Constant(10, 24, -7.0f);
    Eigen::Map<MatrixXf, 0, AnyStride> map(spread.data(), 5, 12, AnyStride(20, 2));
    map = big.block(2, 3, 5, 12);
    rotate_strided_ref(map, 3);
    CHECK(distance(map, expected) < tolerance<float>);
    CHECK((spread.array() == -7.0f).count() == 240 - 60);
  }
  SECTION("read only: of a matrix, a block, and of what has to be copied") {
    CHECK(distance(rotated_const_ref(big.block(2, 3, 5, 12), 3), expected) < tolerance<float>);
    const MatrixXf whole = big.block(2, 3, 5, 12);
    CHECK(distance(rotated_const_ref(whole, 3), expected) < tolerance<float>);
    const MatrixXfR row_major = whole;
    CHECK(distance(rotated_const_ref(row_major, 3), expected) < tolerance<float>);
    CHECK(distance(rotated_const_ref(whole + MatrixXf::Zero(5, 12), 3), expected) <
          tolerance<float>);
  }
  SECTION("a writable temporary reference owns nothing") {
    rope::rotate<Pairing::interleaved>(
        rope::tokens_in_rows(Eigen::Ref<MatrixXf>(big.block(2, 3, 5, 12)), {.heads = 3}),
        table_of<float>(4), rope::from(first_position));
    CHECK(distance(big.block(2, 3, 5, 12), expected) < tolerance<float>);
  }
}

TEST_CASE("between storage orders and sides", "[eigen]") {
  MatrixXf rows(5, 12);
  fill(rows);
  const MatrixXd before = in_double(rows);
  const MatrixXd expected = rotated_rows(Pairing::half_split, before, 3);
  MatrixXf columns(12, 5);
  MatrixXfR back(5, 12);
  const auto table = table_of<float>(4);
  rope::rotate_to<Pairing::half_split>(rope::tokens_in_rows(std::as_const(rows), {.heads = 3}),
                                       rope::tokens_in_columns(columns, {.heads = 3}), table,
                                       rope::from(first_position));
  CHECK(distance(columns.transpose(), expected) < tolerance<float>);
  CHECK(distance(rows, before) == 0);
  rope::rotate_inverse_to<Pairing::half_split>(rope::tokens_in_columns(columns, {.heads = 3}),
                                               rope::tokens_in_rows(back, {.heads = 3}), table,
                                               rope::from(first_position));
  CHECK(distance(back, before) < tolerance<float>);
}

// What is const cannot be written through a view of it.
namespace {

template <class M>
using RowsView = decltype(rope::tokens_in_rows(std::declval<M>(), {.heads = 1}));

static_assert(std::is_same_v<RowsView<MatrixXf&>, rope::View<float>>);
static_assert(std::is_same_v<RowsView<const MatrixXf&>, rope::View<const float>>);
static_assert(std::is_same_v<RowsView<Eigen::Map<MatrixXd>>, rope::View<double>>);
static_assert(std::is_same_v<RowsView<Eigen::Map<MatrixXd>&>, rope::View<double>>);
static_assert(std::is_same_v<RowsView<Eigen::Map<const MatrixXd>>, rope::View<const double>>);
static_assert(std::is_same_v<RowsView<const Eigen::Map<MatrixXd>&>, rope::View<const double>>);
static_assert(std::is_same_v<RowsView<Eigen::Ref<MatrixXf>&>, rope::View<float>>);
static_assert(std::is_same_v<RowsView<Eigen::Ref<const MatrixXf>&>, rope::View<const float>>);
static_assert(std::is_same_v<RowsView<Eigen::Block<MatrixXf>>, rope::View<float>>);
static_assert(std::is_same_v<RowsView<Eigen::Block<const MatrixXf>>, rope::View<const float>>);
static_assert(std::is_same_v<RowsView<const Eigen::Block<MatrixXf>&>, rope::View<const float>>);
static_assert(std::is_same_v<RowsView<Eigen::Transpose<const MatrixXf>>, rope::View<const float>>);
static_assert(std::is_same_v<RowsView<Eigen::MatrixXcf&>, rope::View<float>>);
static_assert(std::is_same_v<RowsView<const Eigen::MatrixXcd&>, rope::View<const double>>);

// They may be members and elements of anything: nothing in them is over-aligned.
static_assert(alignof(rope::MatrixHeads) <= alignof(std::max_align_t));
static_assert(alignof(rope::View<float>) <= alignof(std::max_align_t));

}  // namespace

TEST_CASE("views and options in containers and at odd addresses", "[eigen]") {
  Eigen::Matrix4f matrix = Eigen::Matrix4f::Identity();
  std::vector<rope::MatrixHeads> options(3, rope::MatrixHeads{.heads = 2});
  options.push_back({.heads = 1});
  std::vector<rope::View<float>> views;
  for (const rope::MatrixHeads& heads : options) {
    views.push_back(rope::tokens_in_rows(matrix, heads));
  }
  CHECK(views.front().dim() == 2);
  CHECK(views.back().dim() == 4);
  alignas(16) std::byte memory[8 + sizeof(rope::View<float>)];
  const auto* placed = new (memory + 8) rope::View<float>(views.back());
  CHECK((*placed)(0, 2, 0, 2) == 1.0f);
}

TEST_CASE("heads are told from tokens", "[eigen]") {
  // One token with two equal heads at position 10: both must turn by 10 radians, none by 11.
  const rope::CosSinTable<double> table(rope::frequencies({.rotary_dim = 2}), 32);
  Eigen::RowVector4d row(1, 0, 1, 0);
  rope::rotate<Pairing::half_split>(rope::tokens_in_rows(row, {.heads = 2}), table, rope::from(10));
  Eigen::Vector4d column(1, 0, 1, 0);
  rope::rotate<Pairing::half_split>(rope::tokens_in_columns(column, {.heads = 2}), table,
                                    rope::from(10));
  for (const int head : {0, 1}) {
    CHECK(std::fabs(row(2 * head) - -0.8390715291) < 1e-10);
    CHECK(std::fabs(row(2 * head + 1) - -0.5440211109) < 1e-10);
    CHECK(std::fabs(column(2 * head) - -0.8390715291) < 1e-10);
  }
}

TEST_CASE("cos and sin from matrices of either storage order", "[eigen]") {
  // [positions, pairs]; the column-major one is read with strides.
  MatrixXf cos(16, 3);
  MatrixXf sin(16, 3);
  for (Index position = 0; position < 16; ++position) {
    for (Index i = 0; i < 3; ++i) {
      const double angle =
          static_cast<double>(position) * std::pow(base, -2.0 * static_cast<double>(i) / 6);
      cos(position, i) = static_cast<float>(std::cos(angle));
      sin(position, i) = static_cast<float>(std::sin(angle));
    }
  }
  const MatrixXfR cos_rows = cos;
  const MatrixXfR sin_rows = sin;
  const auto by_rows =
      rope::table_view(cos_rows.data(), sin_rows.data(), rope::RowsShape(16, 3), {.rotary_dim = 6});
  const auto by_columns =
      rope::table_view(cos.data(), sin.data(), rope::RowsShape(16, 3),
                       {.rotary_dim = 6, .row_stride = 1, .pair_stride = cos.rows()});
  MatrixXf x(5, 12);
  fill(x);
  const MatrixXd expected = rotated_rows(Pairing::half_split, in_double(x), 2);
  MatrixXf y = x;
  rope::rotate<Pairing::half_split>(rope::tokens_in_rows(x, {.heads = 2}), by_rows,
                                    rope::from(first_position));
  rope::rotate<Pairing::half_split>(rope::tokens_in_rows(y, {.heads = 2}), by_columns,
                                    rope::from(first_position));
  CHECK(distance(x, expected) < tolerance<float>);
  CHECK(distance(y, expected) < tolerance<float>);
}

TEST_CASE("matrices that do not divide into heads and batches are refused", "[eigen]") {
  MatrixXf m = MatrixXf::Constant(6, 20, -7.0f);
  REQUIRE_THROWS_WITH(rope::tokens_in_rows(m, {.heads = 3}), contains("rope::tokens_in_rows") &&
                                                                 contains("20 columns") &&
                                                                 contains("3 heads"));
  REQUIRE_THROWS_WITH(
      rope::tokens_in_columns(m, {.heads = 4}),
      contains("rope::tokens_in_columns") && contains("6 rows") && contains("4 heads"));
  REQUIRE_THROWS_WITH(
      rope::tokens_in_rows(m, {.heads = 5, .batch = 4}),
      contains("rope::tokens_in_rows") && contains("6 rows") && contains("batch of 4"));
  REQUIRE_THROWS_WITH(rope::tokens_in_columns(m, {.heads = 3, .batch = 7}),
                      contains("20 columns") && contains("batch of 7"));
  for (const int wrong : {0, -1, -4, std::numeric_limits<int>::min()}) {
    CHECK_THROWS_AS(rope::tokens_in_rows(m, {.heads = wrong}), rope::InvalidArgument);
    CHECK_THROWS_AS(rope::tokens_in_rows(m, {.heads = 4, .batch = wrong}), rope::InvalidArgument);
  }
  CHECK_THROWS_AS(rope::tokens_in_rows(m, {.heads = std::numeric_limits<std::int64_t>::min()}),
                  rope::InvalidArgument);
  CHECK_THROWS_AS(rope::tokens_in_rows(m, {.heads = ~std::size_t{0}}), rope::OutOfRange);
  // Heads of an odd size are a matter of the table: a view of them is fine.
  CHECK(rope::tokens_in_rows(m, {.heads = 4}).dim() == 5);
  CHECK((m.array() == -7.0f).all());
}

TEST_CASE("strides that overflow are refused", "[eigen]") {
  float x[4] = {};
  const Index huge = std::numeric_limits<Index>::max() / 2 + 1;
  const Eigen::Map<MatrixXfR, 0, AnyStride> outer(x, 4, 4, AnyStride(huge, 1));
  REQUIRE_THROWS_WITH(
      rope::tokens_in_rows(outer, {.heads = 2}),
      contains("rope::tokens_in_rows") && contains("4 rows") && contains("4611686018427387904"));
  CHECK_THROWS_AS(rope::tokens_in_columns(outer, {.heads = 2}), rope::InvalidArgument);
  const Eigen::Map<MatrixXfR, 0, AnyStride> half(x, 2, 2, AnyStride(huge / 2, 1));
  CHECK_THROWS_AS(rope::tokens_in_rows(half, {.heads = 2}), rope::InvalidArgument);  // in bytes
}

TEST_CASE("a null map is refused unless it is empty", "[eigen]") {
  float* const null = nullptr;
  CHECK(rope::tokens_in_rows(Eigen::Map<MatrixXf>(null, 0, 8), {.heads = 2}).empty());
  Eigen::MatrixXf none(0, 8);
  rope::rotate<Pairing::half_split>(rope::tokens_in_rows(none, {.heads = 2}), table_of<float>(4),
                                    rope::from(0));
  Eigen::MatrixXf no_columns(8, 0);
  rope::rotate<Pairing::half_split>(rope::tokens_in_columns(no_columns, {.heads = 2}),
                                    table_of<float>(4), rope::from(0));
  const rope::View<float> no_dims = rope::tokens_in_rows(no_columns, {.heads = 2});
  CHECK(no_dims.dim() == 0);
  CHECK(no_dims.tokens() == 8);
}

namespace {

/// Multiplies the pairs of each token by std::polar(1, position * frequency); x is [tokens, heads *
/// pairs].
template <class R>
Eigen::MatrixXcd turned(const Eigen::MatrixBase<R>& x, Index heads) {
  const Index pairs = x.cols() / heads;
  Eigen::MatrixXcd y = x.template cast<std::complex<double>>();
  for (Index token = 0; token < x.rows(); ++token) {
    for (Index i = 0; i < x.cols(); ++i) {
      const double frequency =
          std::pow(base, -static_cast<double>(i % pairs) / static_cast<double>(pairs));
      y(token, i) *= std::polar(1.0, static_cast<double>(first_position + token) * frequency);
    }
  }
  return y;
}

template <class M>
void fill_complex(M&& matrix) {
  using Complex = typename std::remove_cvref_t<M>::Scalar;
  using Real = typename Complex::value_type;
  for (Index row = 0; row < matrix.rows(); ++row) {
    for (Index col = 0; col < matrix.cols(); ++col) {
      const double at = 1.3 * static_cast<double>(row) + 0.37 * static_cast<double>(col);
      matrix(row, col) =
          Complex(static_cast<Real>(std::sin(at)), static_cast<Real>(std::cos(2 * at)));
    }
  }
}

template <class R>
void rotate_complex(rope::View<R> view) {
  rope::rotate<Pairing::interleaved>(view, table_of<R>(view.dim()), rope::from(first_position));
}

template <class M>
void check_complex_rows(M&& matrix, Index heads) {
  using Real = typename std::remove_cvref_t<M>::Scalar::value_type;
  fill_complex(matrix);
  const Eigen::MatrixXcd expected = turned(matrix, heads);
  rotate_complex(rope::tokens_in_rows(matrix, {.heads = heads}));
  CHECK((matrix.template cast<std::complex<double>>() - expected).cwiseAbs().maxCoeff() <
        tolerance<Real>);
}

template <class M>
void check_complex_columns(M&& matrix, Index heads) {
  using Real = typename std::remove_cvref_t<M>::Scalar::value_type;
  fill_complex(matrix);
  const Eigen::MatrixXcd expected = turned(matrix.transpose(), heads).transpose();
  rotate_complex(rope::tokens_in_columns(matrix, {.heads = heads}));
  CHECK((matrix.template cast<std::complex<double>>() - expected).cwiseAbs().maxCoeff() <
        tolerance<Real>);
}

}  // namespace

TEMPLATE_TEST_CASE("complex numbers are interleaved pairs", "[eigen]", float, double) {
  using Complex = std::complex<TestType>;
  for (const Sizes& s : all_sizes) {
    CAPTURE(s.tokens, s.heads, s.dim);
    const Index width = s.heads * s.dim / 2;
    RowMajorMatrix<Complex> rows(s.tokens, width);
    check_complex_rows(rows, s.heads);
    ColMajorMatrix<Complex> columns(width, s.tokens);
    check_complex_columns(columns, s.heads);
  }
  RowMajorMatrix<Complex> big = RowMajorMatrix<Complex>::Constant(9, 20, Complex(-7, -7));
  check_complex_rows(big.block(2, 3, 5, 12), 3);
  CHECK((big.array() == Complex(-7, -7)).count() == 9 * 20 - 5 * 12);
  std::vector<Complex> memory(200);
  check_complex_rows(Eigen::Map<RowMajorMatrix<Complex>, 0, Eigen::OuterStride<>>(
                         memory.data() + 80, 5, 12, Eigen::OuterStride<>(-17)),
                     3);
  // One pair a head: where the next head is does not matter.
  ColMajorMatrix<Complex> scattered(5, 3);
  check_complex_rows(scattered, 3);
  Eigen::Matrix<Complex, 4, 1> vector;
  check_complex_columns(vector, 2);
}

TEST_CASE("complex numbers that are not side by side are refused", "[eigen]") {
  Eigen::MatrixXcf m = Eigen::MatrixXcf::Constant(5, 12, {-7, -7});
  REQUIRE_THROWS_WITH(rope::tokens_in_rows(m, {.heads = 3}),
                      contains("rope::tokens_in_rows") && contains("4 pairs") && contains("is 5"));
  REQUIRE_THROWS_WITH(rope::tokens_in_columns(m.transpose(), {.heads = 2}),
                      contains("rope::tokens_in_columns") && contains("6 pairs"));
  std::vector<std::complex<float>> memory(100);
  const Eigen::Map<Eigen::VectorXcf, 0, Eigen::InnerStride<>> reversed(memory.data() + 11, 12,
                                                                       Eigen::InnerStride<>(-1));
  CHECK_THROWS_AS(rope::tokens_in_columns(reversed, {.heads = 3}), rope::InvalidArgument);
  CHECK((m.array() == std::complex<float>(-7, -7)).all());
  CHECK(same_layout(rope::tokens_in_columns(m, {.heads = 1, .batch = 3}), {3, 4, 1, 10},
                    {40, 10, 10, 1}));
}
