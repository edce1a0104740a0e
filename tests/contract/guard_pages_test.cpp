// Rotations of memory that ends just before a page without access, or starts just after one: a read
// or write beyond the view, even of a vector load's unused lanes, ends the test.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "rope/core.hpp"
#include "support/catch.hpp"

namespace {

using rope::Pairing;

/// Accessible memory between two pages that are not.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t bytes)
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        usable_((bytes + page_ - 1) / page_ * page_) {
    void* const all =
        mmap(nullptr, usable_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(all != MAP_FAILED);
    start_ = static_cast<std::byte*>(all) + page_;
    REQUIRE(mprotect(start_, usable_, PROT_READ | PROT_WRITE) == 0);
  }
  ~GuardedMemory() { munmap(start_ - page_, usable_ + 2 * page_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  /// `count` values right after the first forbidden page, or right before the second.
  template <class T>
  T* place(std::int64_t count, bool at_end) const {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
    REQUIRE(bytes <= usable_);
    return reinterpret_cast<T*>(at_end ? start_ + usable_ - bytes : start_);
  }

 private:
  std::size_t page_;
  std::size_t usable_;
  std::byte* start_;
};

struct Case {
  std::int64_t tokens;
  std::int64_t heads;
  std::int64_t dim;
  std::int64_t rotary_dim;
  std::int64_t first_dim;
};

class Memories {
 public:
  const GuardedMemory in{12288};
  const GuardedMemory out{12288};
  const GuardedMemory cos{12288};
  const GuardedMemory sin{12288};
};

/// In place and out of place, x and table at the same edge, against the same in ordinary memory.
template <class T, Pairing pairing>
void rotate_at_edge(const Memories& memories, const Case& c, bool at_end) {
  using C = rope::compute_type_t<T>;
  const std::int64_t size = c.tokens * c.heads * c.dim;
  const std::int64_t table_size = c.tokens * c.rotary_dim / 2;
  T* const x = memories.in.place<T>(size, at_end);
  T* const y = memories.out.place<T>(size, at_end);
  C* const cos = memories.cos.place<C>(table_size, at_end);
  C* const sin = memories.sin.place<C>(table_size, at_end);
  for (std::int64_t i = 0; i < size; ++i) x[i] = static_cast<T>(static_cast<C>(i % 31 - 15));
  for (std::int64_t i = 0; i < table_size; ++i) {
    cos[i] = static_cast<C>(0.25) + static_cast<C>(i % 7);
    sin[i] = static_cast<C>(0.5) - static_cast<C>(i % 5);
  }
  std::vector<T> plain(x, x + size);
  const std::vector<C> plain_cos(cos, cos + table_size);
  const std::vector<C> plain_sin(sin, sin + table_size);
  std::vector<T> plain_out(plain.size());

  const rope::Extents<3> shape{c.tokens, c.heads, c.dim};
  const rope::RotateOptions options{.first_dim = c.first_dim};
  const auto table =
      rope::table_view(cos, sin, {c.tokens, c.rotary_dim / 2}, {.rotary_dim = c.rotary_dim});
  const auto plain_table = rope::table_view(plain_cos, plain_sin, {c.tokens, c.rotary_dim / 2},
                                            {.rotary_dim = c.rotary_dim});
  const auto positions = rope::from(0);
  const auto bytes = static_cast<std::size_t>(size) * sizeof(T);

  rope::rotate_to<pairing>(rope::thd(x, shape), rope::thd(y, shape), table, positions, options);
  rope::rotate_to<pairing>(rope::thd(plain, shape), rope::thd(plain_out, shape), plain_table,
                           positions, options);
  const bool same_out_of_place = std::memcmp(y, plain_out.data(), bytes) == 0;
  rope::rotate<pairing>(rope::thd(x, shape), table, positions, options);
  rope::rotate_transpose<pairing>(rope::thd(y, shape), table, positions, options);
  const bool same_in_place = std::memcmp(x, plain_out.data(), bytes) == 0;
  // One REQUIRE a case: there are thousands.
  if (!same_out_of_place || !same_in_place) {
    CAPTURE(c.tokens, c.heads, c.dim, c.rotary_dim, c.first_dim, at_end, sizeof(T));
    REQUIRE(same_out_of_place);
    REQUIRE(same_in_place);
  }
}

template <class T>
void rotate_at_edges(const Memories& memories, const Case& c) {
  for (const bool at_end : {false, true}) {
    rotate_at_edge<T, Pairing::interleaved>(memories, c, at_end);
    rotate_at_edge<T, Pairing::half_split>(memories, c, at_end);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("a rotation stays within the view and the table", "[guard]", float, double,
                   rope::f16, rope::bf16) {
  const Memories memories;
  std::vector<std::int64_t> dims;
  for (std::int64_t dim = 2; dim <= 72; dim += 2) dims.push_back(dim);
  for (const std::int64_t dim : {80, 96, 112, 128, 192, 256}) dims.push_back(dim);
  for (const std::int64_t dim : dims) {
    for (std::int64_t tokens = 1; tokens <= 2; ++tokens) {
      for (std::int64_t heads = 1; heads <= 2; ++heads) {
        // The whole head; its tail, so that it ends at the page; its front, with a tail that is
        // not rotated.
        rotate_at_edges<TestType>(memories, {tokens, heads, dim, dim, 0});
        rotate_at_edges<TestType>(memories, {tokens, heads, dim + 1, dim, 1});
        rotate_at_edges<TestType>(memories, {tokens, heads, dim + 3, dim, 0});
      }
    }
  }
}

TEST_CASE("features outside the rotated part are not touched in place", "[guard]") {
  // The gap between two rows of a view may be memory that is not there.
  const GuardedMemory memory(8192);
  constexpr std::int64_t dim = 6;
  float* const x = memory.place<float>(dim, true);
  for (std::int64_t i = 0; i < dim; ++i) x[i] = 1;
  const float cos_sin[dim] = {0, 0, 0, 1, 1, 1};
  const auto table = rope::fused_table_view(cos_sin, {1, dim}, {.rotary_dim = dim});
  // A stride that leads far into the forbidden page, for the one token that there is.
  const rope::View<float> view(x, {1, 1, 1, dim}, {4096, 4096, 4096, 1});
  rope::rotate<Pairing::half_split>(view, table, rope::from(0));
  rope::rotate<Pairing::interleaved>(view, table, rope::from(0));
  REQUIRE(x[0] == 1);
  REQUIRE(x[1] == -1);
}
