// Every instruction set gives the same bits, for every width, layout and direction, and touches nothing else.

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "rope/core.hpp"
#include "rope/detail/isa.hpp"
#include "support/catch.hpp"

namespace {

using rope::Pairing;
using rope::detail::Isa;

const char* name_of(Isa isa) {
  switch (isa) {
    case Isa::portable:
      return "portable";
    case Isa::avx2:
      return "avx2";
    case Isa::neon:
      return "neon";
    case Isa::undetected:
      break;
  }
  return "undetected";
}

/// Uses an instruction set for as long as it lives.
class UseIsa {
 public:
  explicit UseIsa(Isa isa) { rope::detail::isa_in_use = isa; }
  ~UseIsa() { rope::detail::isa_in_use = Isa::undetected; }
  UseIsa(const UseIsa&) = delete;
  UseIsa& operator=(const UseIsa&) = delete;
};

/// Numbers of all sizes, with some subnormal, infinite, zero and huge ones.
template <class T>
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 2 + 1) {}

  T next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t bits = state_ >> 11;
    const T sign = (bits & 1) != 0 ? T(-1) : T(1);
    switch (bits % 61) {
      case 0:
        return sign * std::numeric_limits<T>::denorm_min() * static_cast<T>(bits >> 40);
      case 1:
        return sign * std::numeric_limits<T>::infinity();
      case 2:
        return sign * T(0);
      case 3:
        return sign * (std::numeric_limits<T>::max)();
      case 4:
        return sign * (std::numeric_limits<T>::min)();
      default:
        return sign * static_cast<T>(bits >> 20) * T(0x1p-30);
    }
  }

 private:
  std::uint64_t state_;
};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool both_nan = a[i] != a[i] && b[i] != b[i];
    if (!both_nan && std::memcmp(&a[i], &b[i], sizeof(T)) != 0) {
      return false;
    }
  }
  return a.size() == b.size();
}

/// A layout to try: `heads` heads of `dim` features in an array with odd gaps around everything.
struct Case {
  std::int64_t dim;
  std::int64_t rotary_dim;
  std::int64_t first_dim;
  std::int64_t heads;
  std::int64_t head_gap;
  std::int64_t dim_stride;
};

enum class Verb { rotate, inverse, transpose };

/// Rotates pseudo-random numbers under an instruction set and returns all memory around the view.
template <class T, Pairing pairing>
std::vector<T> rotated(Isa isa, const Case& c, Verb verb, bool in_place) {
  const UseIsa use(isa);
  constexpr std::int64_t tokens = 3;
  const std::int64_t head_stride = c.dim * c.dim_stride + c.head_gap;
  const std::int64_t token_stride = c.heads * head_stride + 5;
  const std::size_t guard = 9;  // odd, so that the view starts off any vector's alignment
  const auto size = static_cast<std::size_t>(tokens * token_stride) + 2 * guard;

  Numbers<T> numbers(static_cast<std::uint64_t>(c.dim * 1000 + c.heads));
  std::vector<T> in(size);
  for (T& x : in) {
    x = numbers.next();
  }
  std::vector<T> out(in_place ? 0 : size, T(77));
  const auto view_of = [&](std::vector<T>& memory) {
    return rope::View<T>(memory.data() + guard, {1, tokens, c.heads, c.dim},
                         {0, token_stride, head_stride, c.dim_stride});
  };
  // A magnitude, so that the three verbs differ.
  const rope::Frequencies plain = rope::frequencies({.rotary_dim = c.rotary_dim});
  const rope::CosSinTable<T> table(
      rope::Frequencies({plain.values().begin(), plain.values().end()}, {1, 1, plain.pairs()}, 1.25), 40);
  const auto x = view_of(in);
  const auto y = in_place ? x : view_of(out);
  const rope::RotateOptions options{.first_dim = c.first_dim};
  switch (verb) {
    case Verb::rotate:
      rope::rotate_to<pairing>(x, y, table, rope::from(31), options);
      break;
    case Verb::inverse:
      rope::rotate_inverse_to<pairing>(x, y, table, rope::from(31), options);
      break;
    case Verb::transpose:
      rope::rotate_transpose_to<pairing>(x, y, table, rope::from(31), options);
      break;
  }
  return in_place ? in : out;
}

template <class T, Pairing pairing>
void check_case(Isa isa, const Case& c) {
  for (const bool in_place : {true, false}) {
    for (const Verb verb : {Verb::rotate, Verb::inverse, Verb::transpose}) {
      const std::vector<T> expected = rotated<T, pairing>(Isa::portable, c, verb, in_place);
      const std::vector<T> actual = rotated<T, pairing>(isa, c, verb, in_place);
      if (!same_bits(expected, actual)) {
        INFO(name_of(isa) << ", " << sizeof(T) << " bytes, " << (pairing == Pairing::interleaved ? "interleaved" : "half_split")
                          << ", dim " << c.dim << ", rotary_dim " << c.rotary_dim << ", first_dim " << c.first_dim
                          << ", heads " << c.heads << ", dim_stride " << c.dim_stride << ", in_place " << in_place
                          << ", verb " << static_cast<int>(verb));
        FAIL("bits differ");
      }
    }
  }
}

template <class T>
void check_both_pairings(Isa isa, const Case& c) {
  check_case<T, Pairing::interleaved>(isa, c);
  check_case<T, Pairing::half_split>(isa, c);
}

std::vector<Isa> vector_isas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::avx2, Isa::neon}) {
    if (rope::detail::is_available(isa)) {
      isas.push_back(isa);
    }
  }
  return isas;
}

}  // namespace

TEST_CASE("the best instruction set of the machine is the one that runs") {
  const UseIsa undetected(Isa::undetected);
  std::vector<float> x(4);
  rope::rotate<Pairing::half_split>(rope::thd(x, {1, 1, 4}),
                                    rope::CosSinTable<float>(rope::frequencies({.rotary_dim = 4}), 1), rope::from(0));
  const Isa used = rope::detail::isa_in_use;
  std::printf("instruction set in use: %s\n", name_of(used));
#if defined(__x86_64__)
  const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  CHECK(used == (has_avx2 ? Isa::avx2 : Isa::portable));
#elif defined(__aarch64__)
  CHECK(used == Isa::neon);
#else
  CHECK(used == Isa::portable);
#endif
}

TEST_CASE("all even widths give the same bits on every instruction set") {
  for (const Isa isa : vector_isas()) {
    for (std::int64_t dim = 2; dim <= 256; dim += 2) {
      const Case odd_heads{dim, dim, 0, 3, 1, 1};
      check_both_pairings<float>(isa, odd_heads);
      check_both_pairings<double>(isa, odd_heads);
    }
  }
}

TEST_CASE("widths beyond one chunk of pairs give the same bits on every instruction set") {
  for (const Isa isa : vector_isas()) {
    for (const std::int64_t dim : {510, 512, 514, 1030}) {
      check_both_pairings<float>(isa, {dim, dim, 0, 2, 3, 1});
      check_both_pairings<double>(isa, {dim, dim, 0, 2, 3, 1});
    }
  }
}

TEST_CASE("parts of a head and strided features give the same bits on every instruction set") {
  for (const Isa isa : vector_isas()) {
    for (const Case& c : {Case{96, 32, 64, 5, 0, 1}, Case{80, 30, 7, 1, 7, 1}, Case{12, 6, 3, 7, 0, 1},
                          Case{34, 34, 0, 3, 1, 2}, Case{20, 10, 5, 3, 0, 3}, Case{64, 64, 0, 1, 0, 1}}) {
      check_both_pairings<float>(isa, c);
      check_both_pairings<double>(isa, c);
    }
  }
}

TEST_CASE("tables have the same bits on every instruction set") {
  for (const Isa isa : vector_isas()) {
    for (const std::int64_t rotary_dim : {2, 6, 30, 64, 70}) {
      const rope::Frequencies frequencies = rope::frequencies({.rotary_dim = rotary_dim, .base = 500000});
      const auto entries_of = [&]<class T>(Isa used, T) {
        const UseIsa use(used);
        const rope::CosSinTable<T> table(frequencies, 2050);
        std::vector<T> entries;
        for (std::int64_t row = 0; row < table.rows(); ++row) {
          entries.insert(entries.end(), table.cos(row).begin(), table.cos(row).end());
          entries.insert(entries.end(), table.sin(row).begin(), table.sin(row).end());
        }
        return entries;
      };
      CHECK(same_bits(entries_of(Isa::portable, 0.0f), entries_of(isa, 0.0f)));
      CHECK(same_bits(entries_of(Isa::portable, 0.0), entries_of(isa, 0.0)));
    }
  }
}
