// What the checks of a whole call cost, beside the bare kernels on work that was checked before.
#include <cstdint>
#include <string>

#include "rope/core.hpp"
#include "rope/detail/kernels.hpp"
#include "rope/detail/rotate_call.hpp"
#include "support/memory.hpp"
#include "support/run.hpp"

namespace {

using namespace rope_bench;
using rope::Pairing;

template <Pairing pairing>
void bare_kernel(const rope::View<float>& x, const rope::Positions& positions) {
  if (x.tokens() == 1) {
    const auto& rows = table(128);
    return rope::detail::rotate_token<pairing>(x.data(), x.head_stride(), x.heads(),
                                               rows.cos(first_position).data(),
                                               rows.sin(first_position).data(), rows.pairs());
  }
  rope::detail::rotate_tokens<pairing>(
      rope::detail::rotate_work<rope::detail::Direction::forward>(x, x, table(128), &positions, 0),
      rope::detail::whole_of(x));
}

template <Pairing pairing>
void add_both(std::int64_t tokens) {
  const std::string what =
      std::string(name_of(pairing)) + "/" + std::to_string(tokens) + "x(32+8)x128";
  const auto q = view(input<float>(), {tokens, 32, 128});
  const auto k = view(output<float>(), {tokens, 8, 128});
  const std::string bare = "bare kernels/" + what;
  add(bare, "", [=] {
    const rope::Positions positions = rope::from(first_position);
    bare_kernel<pairing>(q, positions);
    bare_kernel<pairing>(k, positions);
  });
  add("rotate_qk/" + what, bare, [=, &rows = table(128)] {
    rope::rotate_qk<pairing>(q, k, rows, rope::from(first_position));
  });
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::int64_t tokens : {1, 4, 512}) {
    add_both<Pairing::half_split>(tokens);
    add_both<Pairing::interleaved>(tokens);
  }
  return run(argc, argv, "Whole calls for q and k");
}
