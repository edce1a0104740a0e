// The rotation as a matrix, to read its algebra off.

#include <Eigen/Core>
#include <iostream>

#include "rope/core.hpp"
#include "rope/eigen_analysis.hpp"

int main() {
  // [matrix]
  const rope::Frequencies frequencies = rope::frequencies({.rotary_dim = 4, .base = 100});
  const auto r = [&](double position) {
    return rope::rotation_matrix<rope::Pairing::interleaved>(frequencies, position);
  };
  const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(4, 4);
  const bool orthogonal = (r(5).transpose() * r(5)).isApprox(identity, 1e-14);
  const bool additive = (r(5) * r(3)).isApprox(r(8), 1e-14);
  const bool relative = (r(5).transpose() * r(3)).isApprox(r(3 - 5), 1e-14);
  // [matrix]
  const Eigen::IOFormat format(4, 0, " ", "\n", " ", "");
  std::cout << r(1).format(format) << "\northogonal " << orthogonal << ", additive " << additive
            << ", relative " << relative << '\n';
}
