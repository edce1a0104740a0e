// The rotation as a dense matrix: its algebra, and that it is what rotate() does.

#include "rope/eigen_analysis.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "encodings/message.hpp"
#include "rope/encodings/sinusoidal.hpp"
#include "rope/frequencies.hpp"
#include "rope/rotate.hpp"
#include "rope/table.hpp"
#include "support/catch.hpp"

using rope::Pairing;
using rope::rotation_matrix;
using rope_test::message_of;

namespace {

double distance(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  return (a - b).cwiseAbs().maxCoeff();
}

template <Pairing pairing>
void check_algebra(std::int64_t dim) {
  const rope::Frequencies frequencies = rope::frequencies({.rotary_dim = dim, .base = 10000.0});
  const auto r = [&](double position) { return rotation_matrix<pairing>(frequencies, position); };
  const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(dim, dim);
  INFO("dim " << dim);
  CHECK(r(0) == identity);
  for (const double a : {1.0, -3.0, 0.25, 1000.0, 131071.0}) {
    CHECK(distance(r(a).transpose() * r(a), identity) < 1e-15);
    CHECK(distance(r(a).transpose(), r(-a)) == 0);
    for (const double b : {2.0, 57.5, -4096.0}) {
      CHECK(distance(r(a) * r(b), r(a + b)) < 1e-15);
      CHECK(distance(r(a).transpose() * r(b), r(b - a)) < 1e-15);
    }
  }
}

template <Pairing pairing>
void check_rotate(double magnitude) {
  const rope::Frequencies plain = rope::frequencies({.rotary_dim = 10});
  const rope::Frequencies frequencies({plain.values().begin(), plain.values().end()}, {1, 1, 5},
                                      magnitude);
  const rope::CosSinTable<double> table(frequencies, 64);
  Eigen::VectorXd x = Eigen::VectorXd::LinSpaced(10, -1, 2);
  const Eigen::VectorXd expected = rotation_matrix<pairing>(frequencies, 63) * x;
  rope::rotate<pairing>(rope::thd(x.data(), {1, 1, 10}), table, rope::from(63));
  CHECK((x - expected).cwiseAbs().maxCoeff() < 1e-14);
}

}  // namespace

TEST_CASE("R is orthogonal, R(a) R(b) = R(a + b), R(a)^T R(b) = R(b - a)") {
  for (const std::int64_t dim : {2, 4, 10, 64}) {
    check_algebra<Pairing::interleaved>(dim);
    check_algebra<Pairing::half_split>(dim);
  }
}

TEST_CASE("entries by hand") {
  const rope::Frequencies frequencies({1.0, 0.5}, {1, 1, 2});
  const double c = std::cos(1.0);
  const double s = std::sin(1.0);
  const double c_2 = std::cos(2.0);
  const double s_2 = std::sin(2.0);
  Eigen::MatrixXd blocks(4, 4);
  blocks << c_2, -s_2, 0, 0,  //
      s_2, c_2, 0, 0,         //
      0, 0, c, -s,            //
      0, 0, s, c;
  CHECK(distance(rotation_matrix<Pairing::interleaved>(frequencies, 2), blocks) < 1e-15);
  Eigen::MatrixXd bands(4, 4);
  bands << c_2, 0, -s_2, 0,  //
      0, c, 0, -s,           //
      s_2, 0, c_2, 0,        //
      0, s, 0, c;
  CHECK(distance(rotation_matrix<Pairing::half_split>(frequencies, 2), bands) < 1e-15);
}

TEST_CASE("R times x is what rotate makes of x") {
  for (const double magnitude : {1.0, 1.5}) {
    check_rotate<Pairing::interleaved>(magnitude);
    check_rotate<Pairing::half_split>(magnitude);
  }
}

TEST_CASE("the sinusoidal shift M_k is R(-k) of the interleaved pairing") {
  const rope::Frequencies frequencies = rope::sinusoidal_frequencies(8);
  const rope::CosSinTable<double> table(frequencies, 32);
  Eigen::VectorXd at_5(8);
  Eigen::VectorXd at_12(8);
  rope::write_sinusoidal(rope::bthd(at_5.data(), {1, 1, 1, 8}), table, rope::from(5));
  rope::write_sinusoidal(rope::bthd(at_12.data(), {1, 1, 1, 8}), table, rope::from(12));
  const Eigen::MatrixXd shift = rotation_matrix<Pairing::interleaved>(frequencies, -7);
  CHECK((shift * at_5 - at_12).cwiseAbs().maxCoeff() < 1e-14);
}

TEST_CASE("what has no such matrix is refused") {
  CHECK(message_of([] {
          rotation_matrix<Pairing::interleaved>(rope::Frequencies({1, 2}, {2, 1, 1}), 1);
        }) ==
        "InvalidArgument: rope::rotation_matrix: frequencies must have one axis and one set for "
        "all heads, but have axes 2 and heads 1");
  CHECK(message_of([] {
          rotation_matrix<Pairing::half_split>(rope::frequencies({.rotary_dim = 4}),
                                               std::numeric_limits<double>::infinity());
        }) == "InvalidArgument: rope::rotation_matrix: position is not finite");
}
