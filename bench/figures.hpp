// The figures that the library is held to, as data: what scripts/bench prints pass or fail for.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rope_bench {

enum class Kind {
  ratio,       ///< over / under
  difference,  ///< over - under
  value,       ///< over
};

/// Two benchmarks of one program.
struct Comparison {
  std::string over;
  std::string under;
};

struct Figure {
  std::string_view group;
  std::string_view work;
  Kind kind;
  std::string_view unit;
  double at_most;
  std::string_view program;  // whose results these are
  /// The worst of them counts.
  std::vector<Comparison> comparisons;
  /// In the benchmarks' own unit, nanoseconds for times.
  double unit_size = 1;
};

inline std::vector<Comparison> half_and_interleaved(const std::string& over,
                                                    const std::string& shape,
                                                    const std::string& under) {
  return {{over + "/half_split/" + shape, under}, {over + "/interleaved/" + shape, under}};
}

inline std::vector<Comparison> in_place(const std::vector<std::string>& shapes) {
  std::vector<Comparison> all;
  for (const std::string& shape : shapes) {
    for (auto& one : half_and_interleaved("rotate", shape, "stream/" + shape)) all.push_back(one);
  }
  return all;
}

/// Each benchmark beside its namesake.
inline std::vector<Comparison> namesakes(const std::string& over, const std::string& under,
                                         const std::vector<std::string>& names) {
  std::vector<Comparison> all;
  for (const std::string& name : names) {
    all.push_back({over + "/" + name, under + "/" + name});
  }
  return all;
}

inline std::vector<std::string> with_both_pairings(const std::vector<std::string>& shapes) {
  std::vector<std::string> all;
  for (const std::string& shape : shapes) {
    all.push_back("half_split/" + shape);
    all.push_back("interleaved/" + shape);
  }
  return all;
}

inline std::vector<Figure> figures() {
  const std::string one = "1x32x128";
  const std::string four = "4x32x128";
  const std::string prompt = "512x32x128";
  const std::string large = "4096x32x128";
  const std::string keys = "32768x8x128";
  const std::vector<std::string> all{one, four, prompt, large, keys};
  const std::string_view kernels = "Rotation";
  const std::string_view engines = "Tables, threads and fused passes";
  const std::string_view images = "Images and rows per head";
  const std::string_view compiling = "Compilation";

  std::vector<Comparison> short_16_bit;
  std::vector<Comparison> large_16_bit;
  for (const std::string type : {"f16", "bf16"}) {
    for (const std::string pairing : {"half_split", "interleaved"}) {
      short_16_bit.push_back({type + "/" + pairing + "/" + one, "float/" + pairing + "/" + one});
      large_16_bit.push_back({type + "/" + pairing + "/" + large, "stream/16-bit " + large});
    }
  }
  const auto peers = [&](const std::string& ours, const std::string& peer,
                         const std::string& pairing) {
    std::vector<Comparison> compared;
    for (const std::string& shape : all) {
      compared.push_back({ours + "/" + pairing + "/" + shape, peer + "/" + pairing + "/" + shape});
    }
    return compared;
  };
  const auto qk = [](const std::string& what, const std::string& tokens) {
    std::vector<std::string> names;
    for (const std::string pairing : {"half_split/", "interleaved/"}) {
      names.push_back(pairing + tokens + "x(32+8)x128");
    }
    return namesakes(what == "call" ? "rotate_qk" : "CompactTable",
                     what == "call" ? "bare kernels" : "CosSinTable", names);
  };

  return {
      {kernels,
       "float, 1 token (L1), in place, half-split",
       Kind::ratio,
       "x stream",
       1.4,
       "rotate",
       {{"rotate/half_split/" + one, "stream/" + one}}},
      {kernels,
       "float, 1 token (L1), in place, interleaved",
       Kind::ratio,
       "x stream",
       1.7,
       "rotate",
       {{"rotate/interleaved/" + one, "stream/" + one}}},
      {kernels, "float, 4 tokens (L2) and 512 tokens, in place", Kind::ratio, "x stream", 1.1,
       "rotate", in_place({four, prompt})},
      {kernels, "float, 4096 tokens, and 32768 tokens x 8 heads, in place", Kind::ratio, "x stream",
       1.05, "rotate", in_place({large, keys})},
      {kernels, "float, 4096 tokens, out of place", Kind::ratio, "x memcpy", 0.70, "rotate_to",
       half_and_interleaved("rotate_to", large, "memcpy/" + large)},
      {kernels, "float, 512 tokens, out of place", Kind::ratio, "x memcpy", 1.05, "rotate_to",
       half_and_interleaved("rotate_to", prompt, "memcpy/" + prompt)},
      {kernels, "f16 and bf16, 1 token, over the float kernel", Kind::ratio, "x", 2.7,
       "rotate_16_bit", short_16_bit},
      {kernels, "f16 and bf16, 4096 tokens, in place", Kind::ratio, "x stream", 1.25,
       "rotate_16_bit", large_16_bit},
      {kernels, "plain flags over -O3 -march=native, every size", Kind::ratio, "x", 1.05, "flags",
       namesakes("plain", "native", with_both_pairings(all))},
      {kernels, "rotate_qk, 1 token, 32 + 8 heads, over the bare kernels", Kind::difference, "ns",
       40, "rotate_qk", qk("call", "1")},
      {kernels, "the portable kernel over the obvious loop", Kind::ratio, "x", 8, "portable",
       namesakes("portable", "loop", with_both_pairings({one, prompt}))},
      {kernels, "over Eigen's expression (half-split), every size", Kind::ratio, "x", 1, "eigen",
       peers("rope", "Eigen", "half_split")},
      {kernels, "over Eigen's complex arrays (interleaved), every size", Kind::ratio, "x", 1,
       "eigen", peers("rope", "Eigen", "interleaved")},
      {kernels, "over Eigen's expression at -O3 -march=native, every size", Kind::ratio, "x", 1,
       "eigen_native", peers("rope", "Eigen", "half_split")},
      {kernels, "over Eigen's complex arrays at -O3 -march=native, every size", Kind::ratio, "x", 1,
       "eigen_native", peers("rope", "Eigen", "interleaved")},
      {kernels, "over LibTorch, Hugging Face's style, every size", Kind::ratio, "x", 1, "torch",
       peers("rope, out of place", "LibTorch, Hugging Face", "half_split")},
      {kernels, "over LibTorch, Meta's style, every size", Kind::ratio, "x", 1, "torch",
       peers("rope, out of place", "LibTorch, Meta", "interleaved")},
      {kernels, "over LibTorch, Meta's style in place, every size", Kind::ratio, "x", 1, "torch",
       peers("rope, in place", "LibTorch, Meta in place", "interleaved")},

      {compiling,
       "rope.hpp over Eigen/Core alone",
       Kind::difference,
       "s",
       1.2,
       "compile",
       {{"rope.hpp", "Eigen/Core"}},
       1e9},
      {compiling,
       "a unit with one rotate call over the bare include",
       Kind::difference,
       "s",
       2,
       "compile",
       {{"core.hpp and a call", "core.hpp"}},
       1e9},
      {compiling,
       "the same, code",
       Kind::difference,
       "KB",
       200,
       "compile",
       {{"core.hpp and a call, code", "core.hpp, code"}},
       1e3},

      {engines,
       "building 32768 x 64 entries of a CosSinTable",
       Kind::ratio,
       "x memset",
       3,
       "table",
       {{"CosSinTable/32768x64", "memset/16 MiB"}}},
      {engines,
       "the same over a double std::sin and std::cos loop",
       Kind::ratio,
       "x",
       0.05,
       "table",
       {{"CosSinTable/32768x64", "std::sin and std::cos/32768x64"}}},
      {engines,
       "CompactTable for 1,048,576 positions, size",
       Kind::value,
       "MB",
       2.2,
       "compact_table",
       {{"size/1048576 positions", ""}},
       1e6},
      {engines,
       "CompactTable for 1,048,576 positions, building",
       Kind::value,
       "ms",
       5,
       "compact_table",
       {{"build/1048576 positions", ""}},
       1e6},
      {engines, "CompactTable over CosSinTable, 32 + 8 heads, 1 token", Kind::ratio, "x", 1.20,
       "compact_table", qk("table", "1")},
      {engines, "CompactTable over CosSinTable, 32 + 8 heads, 4096 tokens", Kind::ratio, "x", 1.05,
       "compact_table", qk("table", "4096")},
      {engines, "2 threads, 4096 tokens in place, over the stream of 2 threads", Kind::ratio,
       "x stream", 1.08, "threads", in_place({large})},
      {engines, "norm and rotation in one pass over rotation alone, 4096 tokens", Kind::ratio, "x",
       1.25, "norm",
       namesakes("norm and rotate", "rotate",
                 {"float/half_split/" + large, "float/interleaved/" + large})},
      {engines, "the same over the two passes apart", Kind::ratio, "x", 0.65, "norm",
       namesakes("norm and rotate", "norm, then rotate",
                 {"float/half_split/" + large, "float/interleaved/" + large})},
      {engines, "float to bf16 in one pass over rotation and conversion, 4096 tokens", Kind::ratio,
       "x", 0.6, "convert",
       namesakes("rotate_to bf16", "rotate, then convert", with_both_pairings({large}))},
      {engines,
       "writing keys through the cache over a plain rotation with conversion",
       Kind::ratio,
       "x",
       1.1,
       "key_cache",
       {{"write<rope::bf16>/512", "plain<rope::bf16>/512"},
        {"write<rope::bf16>/4096", "plain<rope::bf16>/4096"},
        {"write<float>/512", "plain<float>/512"},
        {"write<float>/4096", "plain<float>/4096"}}},

      {images,
       "the table of a 64 x 64 grid, d = 128",
       Kind::ratio,
       "x memset",
       3,
       "table",
       {{"TokenTable, axial/64x64x64", "memset/2 MiB"}}},
      {images,
       "the same with rows for each of 16 heads",
       Kind::ratio,
       "x memset",
       3,
       "table",
       {{"TokenTable, 16 heads/64x64x16x64", "memset/32 MiB"}}},
      {images,
       "rotation with rows per head over a stream that reads as much",
       Kind::ratio,
       "x stream",
       1.2,
       "per_head",
       {{"rotate/half_split/4096x16x128", "product/4096x16x128"},
        {"rotate/interleaved/4096x16x128", "product/4096x16x128"}}},
  };
}

/// What was tried for a figure that is missed on some machine, by its work: the document says it
/// where it was missed.
inline const std::map<std::string_view, std::string_view>& tried() {
  static const std::map<std::string_view, std::string_view> all{
      {"float, 1 token (L1), in place, half-split",
       "With AVX-512 the loop over the heads alone takes 1.31 x, in every order of its loads and "
       "stores: 8 stores and 16 operations a head do not overlap fully. With AVX2 it has twice the "
       "stores; 32-byte vectors cannot pass 1.45."},
      {"float, 1 token (L1), in place, interleaved",
       "With AVX-512 the loop over the heads alone takes 1.54 x: three operations a vector, and "
       "two "
       "ports that can do them. Alternating two kinds of swaps gained 5 %."},
      {"float, 4096 tokens, and 32768 tokens x 8 heads, in place",
       "Asking for memory 2, 4, 8 and 16 KiB ahead, into the first and the second level; with 8 "
       "heads a token the table is another 1 / 17 of what is moved."},
      {"float, 512 tokens, out of place",
       "Stores past the caches would take 0.82 x here, but whoever reads the result next then "
       "takes 12 to 15 % longer, so they begin at 16 MiB. Asking ahead for what is written gained "
       "6 %."},
      {"rope.hpp over Eigen/Core alone",
       "0.5 s of it is the compiler's immintrin.h, of which only parts would do; compilers do not "
       "allow to include those."},
      {"norm and rotation in one pass over rotation alone, 4096 tokens",
       "Sums of the heads after next are made while others are turned; asking for memory 16 KiB "
       "ahead instead of 4 gained 15 %."},
  };
  return all;
}

}  // namespace rope_bench
