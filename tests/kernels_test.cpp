// Every instruction set gives the same bits, for every width, layout, element type and direction,
// and touches nothing else. What the bits should be is computed here, a pair at a time.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "rope/core.hpp"
#include "rope/detail/isa.hpp"
#include "support/catch.hpp"
#include "support/half.hpp"
#include "support/isa.hpp"

namespace {

/// A type that only its trait knows: hundredths, as an integer.
struct Cents {
  std::int32_t count;
};

}  // namespace

template <>
struct rope::element_traits<Cents> {
  using compute_type = float;
  static constexpr Format format = Format::other;
  static float to_compute(Cents x) noexcept { return static_cast<float>(x.count) / 100; }
  static Cents from_compute(float x) noexcept {
    return {static_cast<std::int32_t>(std::lrint(x * 100))};
  }
};

namespace {

using rope::bf16;
using rope::f16;
using rope::Pairing;
using rope::detail::Isa;
using rope_test::Approx;
using rope_test::name_of;
using rope_test::UseIsa;
using rope_test::vector_isas;

template <class T>
constexpr const char* type_name = std::is_same_v<T, float>    ? "float"
                                  : std::is_same_v<T, double> ? "double"
                                  : std::is_same_v<T, f16>    ? "f16"
                                                              : "bf16";

/// Numbers of all sizes, with some subnormal, infinite, zero and huge ones.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 2 + 1) {}

  template <class T>
  T next() {
    const std::uint64_t bits = next_bits();
    if constexpr (sizeof(T) == 2) {
      T element{};
      element.bits = static_cast<std::uint16_t>(bits);
      // One of the few NaN patterns becomes an infinity.
      if (element != element) {
        element = T(bits % 2 == 0 ? HUGE_VALF : -HUGE_VALF);
      }
      return element;
    } else {
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
  }

 private:
  std::uint64_t next_bits() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return state_ >> 11;
  }

  std::uint64_t state_;
};

template <class T>
bool same_bits(const T& a, const T& b) {
  const bool both_nan = a != a && b != b;
  return both_nan || std::memcmp(&a, &b, sizeof(T)) == 0;
}
template <class T, class Allocator>
bool same_bits(const std::vector<T, Allocator>& a, const std::vector<T, Allocator>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same_bits(a[i], b[i])) return false;
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
  bool row_per_head = false;
};

enum class Verb { rotate, inverse, transpose };

constexpr std::int64_t tokens = 2;
constexpr std::int64_t first_position = 31;

/// A table with a magnitude, so that the three verbs differ. Kept, since making it takes longer
/// than a rotation.
template <class C>
const rope::CosSinTable<C>& table_for(const Case& c) {
  static std::map<std::pair<std::int64_t, std::int64_t>, std::unique_ptr<rope::CosSinTable<C>>>
      made;
  const std::int64_t heads = c.row_per_head ? c.heads : 1;
  auto& table = made[{c.rotary_dim, heads}];
  if (!table) {
    const rope::Frequencies plain = rope::frequencies({.rotary_dim = c.rotary_dim});
    std::vector<double> values;
    for (std::int64_t head = 0; head < heads; ++head) {
      for (const double value : plain.values())
        values.push_back(value / static_cast<double>(head + 1));
    }
    table = std::make_unique<rope::CosSinTable<C>>(
        rope::Frequencies(values, {1, heads, plain.pairs()}, 1.25), first_position + tokens);
  }
  return *table;
}

/// Memory of a case, and what stands in it before.
template <class T>
struct Memory {
  Memory(const Case& c, T fill)
      : first(c.dim_stride < 0 ? (1 - c.dim) * c.dim_stride : 0),
        head_stride(c.dim * (c.dim_stride < 0 ? -c.dim_stride : c.dim_stride) + c.head_gap),
        token_stride(c.heads * head_stride + 5),
        shape{1, tokens, c.heads, c.dim},
        strides{0, token_stride, head_stride, c.dim_stride},
        values(static_cast<std::size_t>(tokens * token_stride) + 2 * guard, fill) {}

  rope::View<T> view() { return rope::View<T>(values.data() + guard + first, shape, strides); }

  static constexpr std::size_t guard = 9;  // odd, so that the view starts off any alignment
  std::int64_t first;                      // where feature 0 is, with a negative stride
  std::int64_t head_stride;
  std::int64_t token_stride;
  rope::Extents<4> shape;
  rope::Extents<4> strides;
  std::vector<T> values;
};

template <class T>
Memory<T> numbers_for(const Case& c) {
  Memory<T> memory(c, T(0.0f));
  Numbers numbers(static_cast<std::uint64_t>(c.dim * 1000 + c.heads));
  for (T& x : memory.values) x = numbers.next<T>();
  return memory;
}

template <Pairing pairing, class In, class Out, class X>
void run(Verb verb, rope::View<In> in, rope::View<Out> out, const X& table,
         const rope::RotateOptions& options) {
  const auto positions = rope::from(first_position);
  switch (verb) {
    case Verb::rotate:
      return rope::rotate_to<pairing>(in, out, table, positions, options);
    case Verb::inverse:
      return rope::rotate_inverse_to<pairing>(in, out, table, positions, options);
    case Verb::transpose:
      return rope::rotate_transpose_to<pairing>(in, out, table, positions, options);
  }
}

/// Rotates pseudo-random numbers under an instruction set and returns all memory around the result.
template <class In, class Out, Pairing pairing>
std::vector<Out> rotated(Isa isa, const Case& c, Verb verb, bool in_place) {
  const UseIsa use(isa);
  Memory<In> in = numbers_for<In>(c);
  const auto& table = table_for<rope::compute_type_t<In>>(c);
  const rope::RotateOptions options{.first_dim = c.first_dim};
  if constexpr (std::is_same_v<In, Out>) {
    if (in_place) {
      run<pairing>(verb, in.view(), in.view(), table, options);
      return in.values;
    }
  }
  Memory<Out> out(c, Out(77.0f));
  run<pairing>(verb, in.view(), out.view(), table, options);
  return out.values;
}

template <class T>
T rounded_to(double x) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    static const rope_test::NearestHalf nearest(std::is_same_v<T, f16> ? rope_test::binary16
                                                                       : rope_test::bfloat16);
    T element{};
    element.bits = x != x ? std::uint16_t{0x7fff} : nearest(x);
    return element;
  } else {
    return static_cast<T>(x);
  }
}

/// The same by the formula that is promised, with the mathematics library's fma.
template <class In, class Out, Pairing pairing>
std::vector<Out> expected(const Case& c, Verb verb, bool in_place) {
  using C = rope::compute_type_t<In>;
  Memory<In> in = numbers_for<In>(c);
  Memory<Out> out(c, Out(77.0f));
  if constexpr (std::is_same_v<In, Out>) {
    if (in_place) out = in;
  }
  const rope::View<In> x = in.view();
  const rope::View<Out> y = out.view();
  const auto& table = table_for<C>(c);
  const C inverse_square = static_cast<C>(1 / (1.25 * 1.25));
  const C cos_scale = verb == Verb::inverse ? inverse_square : C(1);
  const C sin_scale = verb == Verb::rotate ? C(1) : -cos_scale;
  const std::int64_t pairs = c.rotary_dim / 2;
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (std::int64_t head = 0; head < c.heads; ++head) {
      if (!in_place) {
        for (std::int64_t i = 0; i < c.dim; ++i) {
          y(0, token, head, i) = rounded_to<Out>(static_cast<double>(x(0, token, head, i)));
        }
      }
      for (std::int64_t i = 0; i < pairs; ++i) {
        const std::int64_t a = c.first_dim + (pairing == Pairing::interleaved ? 2 * i : i);
        const std::int64_t b = pairing == Pairing::interleaved ? a + 1 : a + pairs;
        const auto row = static_cast<std::size_t>(i);
        const std::int64_t row_head = c.row_per_head ? head : 0;
        // Volatile, so that no compiler makes one operation of two.
        volatile C cos = table.cos(first_position + token, row_head)[row] * cos_scale;
        volatile C sin = table.sin(first_position + token, row_head)[row] * sin_scale;
        const auto x0 = static_cast<C>(x(0, token, head, a));
        const auto x1 = static_cast<C>(x(0, token, head, b));
        volatile C x1_sin = x1 * sin;
        volatile C x0_sin = x0 * sin;
        const C y0 = std::fma(x0, C(cos), -C(x1_sin));
        const C y1 = std::fma(x1, C(cos), C(x0_sin));
        y(0, token, head, a) = rounded_to<Out>(static_cast<double>(y0));
        y(0, token, head, b) = rounded_to<Out>(static_cast<double>(y1));
      }
    }
  }
  return out.values;
}

template <class In, class Out, Pairing pairing>
void check_case(const Case& c, bool portable_too) {
  for (const bool in_place : {true, false}) {
    if (in_place && !std::is_same_v<In, Out>) continue;
    for (const Verb verb : {Verb::rotate, Verb::inverse, Verb::transpose}) {
      const std::vector<Out> wanted =
          portable_too ? expected<In, Out, pairing>(c, verb, in_place)
                       : rotated<In, Out, pairing>(Isa::portable, c, verb, in_place);
      std::vector<Isa> isas = vector_isas();
      if (portable_too) isas.push_back(Isa::portable);
      for (const Isa isa : isas) {
        if (same_bits(wanted, rotated<In, Out, pairing>(isa, c, verb, in_place))) continue;
        INFO(name_of(isa) << ", " << type_name<In> << " to " << type_name<Out> << ", "
                          << (pairing == Pairing::interleaved ? "interleaved" : "half_split")
                          << ", dim " << c.dim << ", rotary_dim " << c.rotary_dim << ", first_dim "
                          << c.first_dim << ", heads " << c.heads << ", dim_stride " << c.dim_stride
                          << ", in_place " << in_place << ", verb " << static_cast<int>(verb)
                          << ", row_per_head " << c.row_per_head);
        FAIL("bits differ");
      }
    }
  }
}

template <class In, class Out>
void check_pairings(const Case& c, bool portable_too) {
  check_case<In, Out, Pairing::interleaved>(c, portable_too);
  check_case<In, Out, Pairing::half_split>(c, portable_too);
}

/// All pairs of types that can be rotated into one another.
void check_all(const Case& c, bool portable_too = false) {
  check_pairings<float, float>(c, portable_too);
  check_pairings<double, double>(c, portable_too);
  check_pairings<f16, f16>(c, portable_too);
  check_pairings<bf16, bf16>(c, portable_too);
  check_pairings<float, f16>(c, portable_too);
  check_pairings<float, bf16>(c, portable_too);
  check_pairings<f16, float>(c, portable_too);
  check_pairings<bf16, float>(c, portable_too);
  check_pairings<f16, bf16>(c, portable_too);
  check_pairings<bf16, f16>(c, portable_too);
}

}  // namespace

TEST_CASE("the best instruction set of the machine is the one that runs") {
  const UseIsa undetected(Isa::undetected);
  std::vector<float> x(4);
  rope::rotate<Pairing::half_split>(
      rope::thd(x, {1, 1, 4}), rope::CosSinTable<float>(rope::frequencies({.rotary_dim = 4}), 1),
      rope::from(0));
  const Isa used = rope::detail::isa_in_use;
  std::printf("instruction set in use: %s\n", name_of(used));
#if defined(__x86_64__)
  const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") != 0 &&
                          __builtin_cpu_supports("avx512bw") != 0 &&
                          __builtin_cpu_supports("avx512dq") != 0 &&
                          __builtin_cpu_supports("avx512vl") != 0;
  CHECK(used == (has_avx512 ? Isa::avx512 : has_avx2 ? Isa::avx2 : Isa::portable));
  CHECK(vector_isas().size() == (has_avx512 ? 2 : has_avx2 ? 1 : 0));
#elif defined(__aarch64__)
  CHECK(used == Isa::neon);
  CHECK(vector_isas().size() == 1);
#else
  CHECK(used == Isa::portable);
#endif
}

TEST_CASE("all even widths give the same bits on every instruction set") {
  for (std::int64_t dim = 2; dim <= 256; dim += 2) {
    check_all({dim, dim, 0, 3, 1, 1});
  }
}

TEST_CASE("the bits are those of the promised formula") {
  for (const std::int64_t dim : {2, 6, 10, 16, 30, 32, 34, 42, 64, 70, 80, 96, 128, 190, 256}) {
    check_all({dim, dim, 0, 3, 1, 1}, true);
  }
  check_all({67, 60, 3, 3, 0, 1}, true);
  check_all({35, 34, 0, 2, 1, 2}, true);
  check_all({66, 66, 0, 3, 0, 1, true}, true);
}

TEST_CASE("widths beyond one chunk of pairs give the same bits on every instruction set") {
  for (const std::int64_t dim : {510, 512, 514, 1030, 1538}) {
    check_all({dim, dim, 0, 2, 3, 1});
    check_all({dim + 3, dim, 2, 2, 3, 1, true});
  }
}

TEST_CASE("parts of a head and strided features give the same bits on every instruction set") {
  for (const Case& c :
       {Case{96, 32, 64, 5, 0, 1}, Case{80, 30, 7, 1, 7, 1}, Case{12, 6, 3, 7, 0, 1},
        Case{34, 34, 0, 3, 1, 2}, Case{20, 10, 5, 3, 0, 3}, Case{64, 64, 0, 1, 0, 1},
        Case{131, 128, 1, 3, 0, 1}, Case{130, 128, 2, 3, 1, -1}}) {
    check_all(c);
  }
}

TEST_CASE("rows that differ by head give the same bits on every instruction set") {
  for (const std::int64_t dim : {2, 10, 64, 80, 128, 256}) {
    check_all({dim, dim, 0, 5, 1, 1, true});
    check_all({dim + 5, dim, 4, 2, 0, 1, true});
  }
}

TEST_CASE("converting alone gives every pattern on every instruction set") {
  // Features that are not rotated are only converted: as many as there are patterns.
  constexpr std::int64_t dim = 65536 + 2;
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = 2}), 1);
  const auto converted = [&]<class In, class Out>(std::vector<In>& in, Out) {
    std::vector<Out> out(in.size());
    rope::rotate_to<Pairing::half_split>(rope::thd(in, {1, 1, dim}), rope::thd(out, {1, 1, dim}),
                                         table, rope::from(0), {.first_dim = 65536});
    return out;
  };
  std::vector<f16> halves(dim);
  std::vector<bf16> brains(dim);
  std::vector<float> floats(dim);
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < 65536; ++i) {
    halves[i].bits = brains[i].bits = static_cast<std::uint16_t>(i);
    // Any floats, most of them near the range of f16, with many halfway points.
    state = state * 1664525 + 1013904223;
    const std::uint32_t near = (state & 0x8fffffff) | 0x30000000;
    const std::uint32_t tie = (near & 0xfffff000) | (i % 3 == 0 ? 0x1000 : 0);
    const std::uint32_t wide_tie = (state & 0xffff0000) | 0x8000;
    floats[i] = rope_test::float_of_bits(i % 4 == 0   ? state
                                         : i % 4 == 1 ? near
                                         : i % 4 == 2 ? tie
                                                      : wide_tie);
  }
  rope_test::on_every_isa([&] {
    int differences = 0;
    const std::vector<float> of_halves = converted(halves, 0.0f);
    const std::vector<float> of_brains = converted(brains, 0.0f);
    const std::vector<f16> to_halves = converted(floats, f16{});
    const std::vector<bf16> to_brains = converted(floats, bf16{});
    const std::vector<bf16> across = converted(halves, bf16{});
    for (std::size_t i = 0; i < 65536; ++i) {
      const auto bits = static_cast<std::uint16_t>(i);
      const auto half = static_cast<float>(rope_test::binary16.value(bits));
      const auto brain = static_cast<float>(rope_test::bfloat16.value(bits));
      const auto number = static_cast<double>(floats[i]);
      differences += !same_bits(of_halves[i], half);
      differences += !same_bits(of_brains[i], brain);
      differences += !same_bits(to_halves[i], rounded_to<f16>(number));
      differences += !same_bits(to_brains[i], rounded_to<bf16>(number));
      differences += !same_bits(across[i], rounded_to<bf16>(static_cast<double>(half)));
    }
    INFO(name_of(rope::detail::isa_in_use));
    CHECK(differences == 0);
  });
}

TEST_CASE("NaN stays NaN, in elements and in tables, whatever its payload") {
  constexpr std::int64_t dim = 128;
  std::vector<float> cos(dim / 2, 0.5f);
  std::vector<float> sin(dim / 2, 0.25f);
  for (const std::uint32_t payload : {0x7f800001u, 0x7fffffffu, 0xffffffffu, 0xffc00000u}) {
    cos[5] = sin[40] = rope_test::float_of_bits(payload);
    const auto table = rope::table_view(cos, sin, {1, dim / 2}, {.rotary_dim = dim});
    rope_test::on_every_isa([&] {
      const auto nans_of = [&]<class T, Pairing pairing>(T,
                                                         std::integral_constant<Pairing, pairing>) {
        std::vector<T> x(dim, T(3.0f));
        const auto pattern = static_cast<std::uint16_t>(payload >> 16 | 1);
        if constexpr (sizeof(T) == 2) {
          x[0].bits = pattern;
        } else {
          x[0] = rope_test::float_of_bits(payload);
        }
        rope::rotate<pairing>(rope::thd(x, {1, 1, dim}), table, rope::from(0));
        std::vector<std::size_t> nans;
        for (std::size_t i = 0; i < x.size(); ++i) {
          if (x[i] != x[i]) nans.push_back(i);
        }
        return nans;
      };
      using Interleaved = std::integral_constant<Pairing, Pairing::interleaved>;
      using HalfSplit = std::integral_constant<Pairing, Pairing::half_split>;
      const std::vector<std::size_t> adjacent = {0, 1, 10, 11, 80, 81};
      const std::vector<std::size_t> apart = {0, 5, 40, 64, 69, 104};
      CHECK(nans_of(0.0f, Interleaved{}) == adjacent);
      CHECK(nans_of(f16{}, Interleaved{}) == adjacent);
      CHECK(nans_of(bf16{}, Interleaved{}) == adjacent);
      CHECK(nans_of(0.0f, HalfSplit{}) == apart);
      CHECK(nans_of(f16{}, HalfSplit{}) == apart);
      CHECK(nans_of(bf16{}, HalfSplit{}) == apart);
    });
  }
}

namespace {

/// Memory that begins at a line of the caches.
template <class T>
struct AtLines {
  using value_type = T;
  AtLines() = default;
  template <class Other>
  AtLines(const AtLines<Other>& /*other*/) {}
  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* memory, std::size_t /*count*/) {
    ::operator delete (memory, std::align_val_t{64});
  }
  friend bool operator==(AtLines, AtLines) { return true; }
};
template <class T>
using Lines = std::vector<T, AtLines<T>>;

/// A call large enough to go past the caches, against the same in calls of a token each. Heads
/// begin `guard` elements behind a line, and `gap` more lie behind the heads of a token.
template <class In, class Out, Pairing pairing>
void check_large(std::int64_t dim, std::int64_t rotary_dim, bool in_place, bool heads_outside,
                 std::size_t guard = 3, std::int64_t heads = 7, std::int64_t gap = 0) {
  const std::int64_t bytes =
      in_place ? rope::detail::prefetch_from_bytes : rope::detail::stream_from_bytes;
  const std::int64_t head_bytes = dim * std::int64_t{sizeof(Out)};
  const std::int64_t count = bytes / (heads * head_bytes) + 1;
  const auto size = static_cast<std::size_t>(count * (heads * dim + gap));
  Lines<In> in(size + 2 * guard);
  Numbers numbers(7);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = numbers.next<In>();
  const rope::CosSinTable<rope::compute_type_t<In>> table(
      rope::frequencies({.rotary_dim = rotary_dim}), count);
  const rope::RotateOptions options{.first_dim = dim - rotary_dim};
  const auto view_of = [&]<class T>(Lines<T>& memory) {
    return heads_outside ? rope::View<T>(memory.data() + guard, {1, count, heads, dim},
                                         {0, dim, count * dim, 1})
                         : rope::View<T>(memory.data() + guard, {1, count, heads, dim},
                                         {0, heads * dim + gap, dim, 1});
  };

  Lines<Out> wanted(size + 2 * guard, Out(5.0f));
  {
    const UseIsa use(Isa::portable);
    if constexpr (std::is_same_v<In, Out>) {
      if (in_place) wanted = in;
    }
    for (std::int64_t token = 0; token < count; ++token) {
      const auto to = view_of(wanted).slice_tokens(token, 1);
      rope::rotate_to<pairing>(view_of(in).slice_tokens(token, 1), to, table, rope::from(token),
                               options);
    }
  }
  for (const Isa isa : vector_isas()) {
    const UseIsa use(isa);
    Lines<Out> out(size + 2 * guard, Out(5.0f));
    if constexpr (std::is_same_v<In, Out>) {
      if (in_place) {
        out = in;
        rope::rotate_to<pairing>(view_of(out), view_of(out), table, rope::from(0), options);
      }
    }
    if (!in_place) {
      rope::rotate_to<pairing>(view_of(in), view_of(out), table, rope::from(0), options);
    }
    CAPTURE(name_of(isa), type_name<In>, type_name<Out>, pairing, dim, rotary_dim, in_place,
            heads_outside, guard, heads, gap);
    CHECK(same_bits(wanted, out));
  }
}

}  // namespace

TEST_CASE("large calls, with prefetching and past the caches, give the same bits", "[large]") {
  constexpr Pairing halves = Pairing::half_split;
  constexpr Pairing adjacent = Pairing::interleaved;
  check_large<float, float, halves>(128, 128, true, false);
  check_large<bf16, bf16, halves>(80, 80, true, false);
  check_large<f16, f16, adjacent>(70, 64, true, true);
  check_large<float, float, halves>(128, 128, false, false);
  check_large<float, float, adjacent>(67, 64, false, false);
  check_large<double, double, adjacent>(70, 70, false, true);
  check_large<f16, f16, halves>(96, 96, false, true);
  check_large<bf16, bf16, adjacent>(130, 128, false, false);
  check_large<float, bf16, halves>(129, 128, false, false);
  check_large<bf16, float, adjacent>(80, 80, false, false);
  check_large<float, f16, adjacent>(6, 6, false, false);
  // Heads that begin and end at lines, which go past the caches from registers.
  check_large<float, float, halves>(128, 128, false, false, 16, 33);
  check_large<float, float, adjacent>(128, 128, false, false, 16, 8);
  check_large<float, float, halves>(64, 64, false, true, 16);
  check_large<float, float, adjacent>(96, 96, false, false, 32, 3);
  check_large<double, double, halves>(256, 256, false, false, 8, 5, 8);
  check_large<double, double, adjacent>(16, 16, false, false, 8, 1);
  check_large<bf16, float, halves>(128, 128, false, false, 16);
  check_large<f16, float, adjacent>(32, 32, false, true, 16, 6);
  // The same but for one thing, and the first with gaps.
  check_large<float, float, halves>(128, 128, false, false, 16, 5, 1);
  check_large<float, float, halves>(128, 128, false, false, 4, 9);
  check_large<float, float, adjacent>(128, 96, false, false, 16, 9);
  check_large<float, float, halves>(80, 80, false, false, 16, 4);
  check_large<float, float, adjacent>(72, 72, false, true, 16, 4, 0);
  check_large<bf16, bf16, halves>(128, 128, false, false, 32, 9);
  check_large<float, bf16, adjacent>(64, 64, false, false, 32, 9);
  check_large<float, float, adjacent>(2, 2, false, false, 16, 4);
  // Too wide for the buffer, and more than a chunk of pairs.
  check_large<float, float, halves>(4096, 512, false, false);
  check_large<float, float, halves>(1030, 1030, false, false);
}

TEST_CASE("a type that only its trait knows is rotated by its conversions") {
  constexpr std::int64_t dim = 66;
  const std::vector<float> cos(dim / 2, 0.6f);
  const std::vector<float> sin(dim / 2, 0.8f);
  const auto table = rope::table_view(cos, sin, {1, dim / 2}, {.rotary_dim = dim});
  rope_test::on_every_isa([&] {
    std::vector<Cents> x(dim);
    for (std::size_t i = 0; i < x.size(); ++i) x[i].count = i % 2 == 0 ? 1000 : 500;
    rope::rotate<Pairing::interleaved>(rope::thd(x, {1, 1, dim}), table, rope::from(0));
    std::vector<float> wide(dim);
    rope::rotate_to<Pairing::interleaved>(rope::thd(x, {1, 1, dim}), rope::thd(wide, {1, 1, dim}),
                                          table, rope::from(0));
    for (std::size_t i = 0; i < x.size(); i += 2) {
      // (10, 5) turned is (2, 11), and that is (-7.6, 8.2).
      CHECK(x[i].count == 200);
      CHECK(x[i + 1].count == 1100);
      CHECK(wide[i] == Approx(-7.6));
      CHECK(wide[i + 1] == Approx(8.2));
    }
  });
}

TEST_CASE("tables have the same bits on every instruction set") {
  for (const Isa isa : vector_isas()) {
    for (const std::int64_t rotary_dim : {2, 6, 30, 64, 70}) {
      const rope::Frequencies frequencies =
          rope::frequencies({.rotary_dim = rotary_dim, .base = 500000});
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
