// Runs a test on every instruction set that this machine can run.
#pragma once

#include "rope/detail/isa.hpp"

namespace rope_test {

/// Calls `body()` once for each instruction set, with the kernels of it in use; afterwards those
/// that were in use before.
template <class Body>
void on_every_isa(Body body) {
  using rope::detail::Isa;
  const Isa before = rope::detail::isa();
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::neon}) {
    if (!rope::detail::is_available(isa)) continue;
    rope::detail::isa_in_use.store(isa);
    body();
  }
  rope::detail::isa_in_use.store(before);
}

}  // namespace rope_test
