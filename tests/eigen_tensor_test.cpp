// Views of Eigen's tensors: every layout and storage order, rotated and compared with plain loops
// in double.
#include "rope/eigen_tensor.hpp"

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "rope/rotate.hpp"
#include "rope/table.hpp"
#include "support/catch.hpp"

namespace {

using Eigen::Index;
using rope::Pairing;
using rope_test::contains;

constexpr Index first_position = 3;

struct Sizes {
  Index batch;
  Index tokens;
  Index heads;
  Index dim;
};

// Odd sizes, and sizes that are equal, so that no layout can be told from the sizes.
const Sizes all_sizes[] = {{1, 3, 2, 4},  {2, 5, 3, 6}, {4, 4, 4, 4},
                           {3, 1, 5, 10}, {1, 7, 1, 2}, {2, 2, 3, 34}};

double value(Index b, Index t, Index h, Index i) {
  return 1.0 + 0.7 * std::sin(0.9 * static_cast<double>(b) + 1.3 * static_cast<double>(t) +
                              2.1 * static_cast<double>(h) + 0.37 * static_cast<double>(i));
}

double angle(Index t, Index pair, Index dim) {
  return static_cast<double>(first_position + t) *
         std::pow(10000.0, -2.0 * static_cast<double>(pair) / static_cast<double>(dim));
}

double rotated_value(Pairing pairing, Index b, Index t, Index h, Index i, Index dim) {
  const bool split = pairing == Pairing::half_split;
  const Index pair = split ? i % (dim / 2) : i / 2;
  const bool second = split ? i >= dim / 2 : i % 2 == 1;
  const Index a_index = split ? pair : 2 * pair;
  const Index b_index = split ? pair + dim / 2 : 2 * pair + 1;
  const double a = value(b, t, h, a_index);
  const double c = value(b, t, h, b_index);
  const double phi = angle(t, pair, dim);
  return second ? a * std::sin(phi) + c * std::cos(phi) : a * std::cos(phi) - c * std::sin(phi);
}

template <class T>
rope::CosSinTable<T> table_of(Index dim) {
  return rope::CosSinTable<T>(rope::frequencies({.rotary_dim = dim}), 32);
}

/// Fills a tensor, rotates its view, and compares; `element(b, t, h, i)` is how its layout reads an
/// element.
template <Pairing pairing, class Element, class MakeView>
void check_with(const Sizes& s, Element element, MakeView view) {
  using T = std::remove_cvref_t<decltype(element(Index{0}, Index{0}, Index{0}, Index{0}))>;
  const auto each = [&](auto body) {
    for (Index b = 0; b < s.batch; ++b) {
      for (Index t = 0; t < s.tokens; ++t) {
        for (Index h = 0; h < s.heads; ++h) {
          for (Index i = 0; i < s.dim; ++i) {
            body(b, t, h, i);
          }
        }
      }
    }
  };
  each([&](Index b, Index t, Index h, Index i) {
    element(b, t, h, i) = static_cast<T>(value(b, t, h, i));
  });
  rope::rotate<pairing>(view(), table_of<T>(s.dim), rope::from(first_position));
  double largest = 0;
  each([&](Index b, Index t, Index h, Index i) {
    largest = std::fmax(largest, std::fabs(static_cast<double>(element(b, t, h, i)) -
                                           rotated_value(pairing, b, t, h, i, s.dim)));
  });
  CHECK(largest < (std::is_same_v<T, float> ? 1e-6 : 1e-14));
}

template <class Element, class MakeView>
void check(const Sizes& s, Element element, MakeView view) {
  CAPTURE(s.batch, s.tokens, s.heads, s.dim);
  check_with<Pairing::interleaved>(s, element, view);
  check_with<Pairing::half_split>(s, element, view);
}

template <class T, int order>
struct Kind {
  using Scalar = T;
  template <int rank>
  using Tensor = Eigen::Tensor<T, rank, order>;
};

}  // namespace

TEMPLATE_TEST_CASE("tensors of rank 4", "[eigen_tensor]", (Kind<float, Eigen::ColMajor>),
                   (Kind<float, Eigen::RowMajor>), (Kind<double, Eigen::ColMajor>)) {
  using Tensor = typename TestType::template Tensor<4>;
  using T = typename TestType::Scalar;
  for (const Sizes& s : all_sizes) {
    Tensor x(s.batch, s.tokens, s.heads, s.dim);
    check(
        s, [&](Index b, Index t, Index h, Index i) -> T& { return x(b, t, h, i); },
        [&] { return rope::bthd(x); });
    x = Tensor(s.batch, s.heads, s.tokens, s.dim);
    check(
        s, [&](Index b, Index t, Index h, Index i) -> T& { return x(b, h, t, i); },
        [&] { return rope::bhtd(x); });
    x = Tensor(s.dim, s.heads, s.tokens, s.batch);
    check(
        s, [&](Index b, Index t, Index h, Index i) -> T& { return x(i, h, t, b); },
        [&] { return rope::dhtb(x); });
    x = Tensor(s.dim, s.tokens, s.heads, s.batch);
    check(
        s, [&](Index b, Index t, Index h, Index i) -> T& { return x(i, t, h, b); },
        [&] { return rope::dthb(x); });
  }
}

TEMPLATE_TEST_CASE("tensors of rank 3", "[eigen_tensor]", (Kind<float, Eigen::ColMajor>),
                   (Kind<double, Eigen::RowMajor>)) {
  using Tensor = typename TestType::template Tensor<3>;
  using T = typename TestType::Scalar;
  for (Sizes s : all_sizes) {
    s.batch = 1;
    Tensor x(s.tokens, s.heads, s.dim);
    check(
        s, [&](Index, Index t, Index h, Index i) -> T& { return x(t, h, i); },
        [&] { return rope::thd(x); });
    x = Tensor(s.heads, s.tokens, s.dim);
    check(
        s, [&](Index, Index t, Index h, Index i) -> T& { return x(h, t, i); },
        [&] { return rope::htd(x); });
    x = Tensor(s.dim, s.heads, s.tokens);
    check(
        s, [&](Index, Index t, Index h, Index i) -> T& { return x(i, h, t); },
        [&] { return rope::dht(x); });
    x = Tensor(s.dim, s.tokens, s.heads);
    check(
        s, [&](Index, Index t, Index h, Index i) -> T& { return x(i, t, h); },
        [&] { return rope::dth(x); });
  }
}

TEST_CASE("maps of memory as tensors, also temporary ones", "[eigen_tensor]") {
  using RowMajor = Eigen::Tensor<float, 4, Eigen::RowMajor>;
  using ColMajor = Eigen::Tensor<float, 4>;
  const Sizes s{2, 5, 3, 6};
  std::vector<float> memory(3 + 2 * 5 * 3 * 6 + 4, -7.0f);
  float* const data = memory.data() + 3;
  Eigen::TensorMap<RowMajor> rows(data, s.batch, s.tokens, s.heads, s.dim);
  check(
      s, [&](Index b, Index t, Index h, Index i) -> float& { return rows(b, t, h, i); },
      [&] { return rope::bthd(rows); });
  check(
      s, [&](Index b, Index t, Index h, Index i) -> float& { return rows(b, t, h, i); },
      [&] {
        return rope::bthd(Eigen::TensorMap<RowMajor>(data, s.batch, s.tokens, s.heads, s.dim));
      });
  Eigen::TensorMap<ColMajor> columns(data, s.batch, s.heads, s.tokens, s.dim);
  check(
      s, [&](Index b, Index t, Index h, Index i) -> float& { return columns(b, h, t, i); },
      [&] { return rope::bhtd(columns); });
  const std::size_t outside_the_maps[] = {0, 1, 2, 183, 184, 185, 186};
  for (const std::size_t outside : outside_the_maps) {
    CHECK(memory[outside] == -7.0f);
  }
}

TEST_CASE("tensors of fixed size", "[eigen_tensor]") {
  const Sizes s{1, 5, 3, 6};
  Eigen::TensorFixedSize<float, Eigen::Sizes<5, 3, 6>> x;
  check(
      s, [&](Index, Index t, Index h, Index i) -> float& { return x(t, h, i); },
      [&] { return rope::thd(x); });
  Eigen::TensorFixedSize<double, Eigen::Sizes<1, 3, 5, 6>, Eigen::RowMajor> y;
  check(
      s, [&](Index b, Index t, Index h, Index i) -> double& { return y(b, h, t, i); },
      [&] { return rope::bhtd(y); });
}

TEST_CASE("shapes and strides of the views of tensors", "[eigen_tensor]") {
  Eigen::Tensor<float, 4> columns(2, 3, 4, 10);
  const rope::View<float> a = rope::bthd(columns);
  CHECK(a.batch() == 2);
  CHECK(a.tokens() == 3);
  CHECK(a.heads() == 4);
  CHECK(a.dim() == 10);
  CHECK(a.batch_stride() == 1);
  CHECK(a.token_stride() == 2);
  CHECK(a.head_stride() == 6);
  CHECK(a.dim_stride() == 24);
  Eigen::Tensor<float, 3, Eigen::RowMajor> rows(3, 4, 10);
  const rope::View<float> b = rope::htd(rows);
  CHECK(b.batch() == 1);
  CHECK(b.tokens() == 4);
  CHECK(b.heads() == 3);
  CHECK(b.token_stride() == 10);
  CHECK(b.head_stride() == 40);
  CHECK(b.dim_stride() == 1);
  Eigen::Tensor<float, 4> none(0, 3, 4, 10);
  CHECK(rope::bthd(none).empty());
}

TEST_CASE("the same memory in both storage orders", "[eigen_tensor]") {
  const auto table = table_of<float>(8);
  // [tensors] Eigen's default storage order lets the first dimension vary fastest.
  Eigen::Tensor<float, 4, Eigen::RowMajor> x(2, 5, 3, 8);  // batch, tokens, heads, dim
  Eigen::Tensor<float, 4> y(8, 3, 5, 2);                   // dim, heads, tokens, batch
  x.setConstant(1.0f);
  y.setConstant(1.0f);
  rope::rotate<rope::Pairing::half_split>(rope::bthd(x), table, rope::from(0));
  rope::rotate<rope::Pairing::half_split>(rope::dhtb(y), table, rope::from(0));
  // [tensors]
  CHECK(rope::bthd(x).layout() == rope::dhtb(y).layout());
  for (Index i = 0; i < x.size(); ++i) {
    CHECK(x.data()[i] == y.data()[i]);
  }
  CHECK(std::fabs(x(1, 4, 2, 0) - 0.1031589f) < 1e-6f);  // cos 4 - sin 4
}

namespace {

template <class X>
using BthdView = decltype(rope::bthd(std::declval<X>()));
using Tensor4 = Eigen::Tensor<float, 4>;

static_assert(std::is_same_v<BthdView<Tensor4&>, rope::View<float>>);
static_assert(std::is_same_v<BthdView<const Tensor4&>, rope::View<const float>>);
static_assert(std::is_same_v<BthdView<Eigen::TensorMap<Tensor4>>, rope::View<float>>);
static_assert(std::is_same_v<BthdView<Eigen::TensorMap<const Tensor4>>, rope::View<const float>>);
static_assert(
    std::is_same_v<BthdView<Eigen::Tensor<std::complex<double>, 4>&>, rope::View<double>>);

}  // namespace

TEST_CASE("tensors with a shape of the caller still go as containers", "[eigen_tensor]") {
  Eigen::Tensor<float, 1> flat(24);
  CHECK(rope::bthd(flat, {1, 3, 2, 4}).tokens() == 3);
}

TEMPLATE_TEST_CASE("tensors of complex numbers are interleaved pairs", "[eigen_tensor]", float,
                   double) {
  using Complex = std::complex<TestType>;
  const Index tokens = 5;
  const Index heads = 3;
  const Index pairs = 4;
  const double tolerance = std::is_same_v<TestType, float> ? 1e-6 : 1e-14;
  const auto table = table_of<TestType>(2 * pairs);
  const auto start = [](Index t, Index h, Index i) {
    return Complex(static_cast<TestType>(value(0, t, h, i)),
                   static_cast<TestType>(value(1, t, h, i)));
  };
  Eigen::Tensor<Complex, 3, Eigen::RowMajor> rows(tokens, heads, pairs);
  Eigen::Tensor<Complex, 3> columns(pairs, tokens, heads);
  for (Index t = 0; t < tokens; ++t) {
    for (Index h = 0; h < heads; ++h) {
      for (Index i = 0; i < pairs; ++i) {
        rows(t, h, i) = columns(i, t, h) = start(t, h, i);
      }
    }
  }
  rope::rotate<Pairing::interleaved>(rope::thd(rows), table, rope::from(first_position));
  rope::rotate<Pairing::interleaved>(rope::dth(columns), table, rope::from(first_position));
  for (Index t = 0; t < tokens; ++t) {
    for (Index h = 0; h < heads; ++h) {
      for (Index i = 0; i < pairs; ++i) {
        const std::complex<double> turned =
            std::complex<double>(start(t, h, i)) * std::polar(1.0, angle(t, i, 2 * pairs));
        CHECK(std::abs(std::complex<double>(rows(t, h, i)) - turned) < tolerance);
        CHECK(std::abs(std::complex<double>(columns(i, t, h)) - turned) < tolerance);
      }
    }
  }
}

TEST_CASE("tensors whose complex numbers are not side by side are refused", "[eigen_tensor]") {
  Eigen::Tensor<std::complex<float>, 3> columns(5, 3, 4);
  REQUIRE_THROWS_WITH(rope::thd(columns),
                      contains("rope::thd") && contains("4 pairs") && contains("is 15"));
  Eigen::Tensor<std::complex<float>, 4, Eigen::RowMajor> rows(4, 3, 5, 2);
  CHECK_THROWS_AS(rope::dhtb(rows), rope::InvalidArgument);
}
