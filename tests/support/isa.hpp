// Runs a test on every instruction set that this machine can run.
#pragma once

#include <vector>

#include "rope/detail/isa.hpp"

namespace rope_test {

inline const char* name_of(rope::detail::Isa isa) {
  using rope::detail::Isa;
  switch (isa) {
    case Isa::portable:
      return "portable";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    case Isa::neon:
      return "neon";
    case Isa::undetected:
      break;
  }
  return "undetected";
}

/// Those with vectors that this machine can run.
inline std::vector<rope::detail::Isa> vector_isas() {
  using rope::detail::Isa;
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::avx2, Isa::avx512, Isa::neon}) {
    if (rope::detail::is_available(isa)) isas.push_back(isa);
  }
  return isas;
}

/// Uses an instruction set for as long as it lives.
class UseIsa {
 public:
  explicit UseIsa(rope::detail::Isa isa) : before_(rope::detail::isa_in_use.load()) {
    rope::detail::isa_in_use.store(isa);
  }
  ~UseIsa() { rope::detail::isa_in_use.store(before_); }
  UseIsa(const UseIsa&) = delete;
  UseIsa& operator=(const UseIsa&) = delete;

 private:
  rope::detail::Isa before_;
};

/// Calls `body()` once for each instruction set, with the kernels of it in use; afterwards those
/// that were in use before.
template <class Body>
void on_every_isa(Body body) {
  using rope::detail::Isa;
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512, Isa::neon}) {
    if (!rope::detail::is_available(isa)) continue;
    const UseIsa use(isa);
    body();
  }
}

}  // namespace rope_test
