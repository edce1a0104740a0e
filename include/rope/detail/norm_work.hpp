#pragma once

#include <cmath>
#include <cstdint>

#include "rope/detail/fused.hpp"
#include "rope/detail/layout.hpp"
#include "rope/detail/unit.hpp"
#include "rope/table_concept.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace rope {

/// Where an RMS norm rounds what is stored in 16 bits to the type of its input. Float and double
/// are never rounded.
enum class NormRounding : unsigned char {
  none,                     ///< nowhere: once in all, after the rotation
  after_weight,             ///< after the weight: Gemma 3, OLMo 2
  before_and_after_weight,  ///< before the weight too: Llama, Qwen 3, most of Hugging Face's models
};

namespace detail {

/// How many partial sums the squares of a head are added to: element j to number j mod 16.
inline constexpr std::int64_t norm_partial_sums = 16;

/// How many heads are normalised together: no more bytes than these, and no more heads.
inline constexpr std::int64_t norm_group_bytes = 4096;
inline constexpr std::int64_t norm_group_heads = 64;

/// Elements of the scratch that normalised heads are rotated from where they cannot stay in
/// registers. No head may have more.
inline constexpr std::int64_t norm_scratch_elements = 4096;

/// What a kernel is told of a norm, all of it checked.
template <class C>
struct NormWork {
  const C* weights;            // [1 or heads, dim]
  std::int64_t weight_stride;  // from head to head, 0 where they share the weights
  C plus;                      // added to each weight: 1, or -0, which changes nothing
  const C* token_scales;       // [batch * tokens], or null to make them from each head
  double epsilon;
  double per_dim;  // 1 / dim
  NormRounding rounding;
};

/// A norm without a rotation.
template <class In, class Out>
struct NormalizeWork {
  const In* in;
  Out* out;
  Layout in_layout;
  Layout out_layout;  // of the same extents
};

/// The rows of a table for the heads from `first_head` on.
template <Table X>
struct HeadsFrom {
  using value_type = typename X::value_type;
  static constexpr RowAddressing addressing = X::addressing;

  const X* table;
  std::int64_t first_head;  // 0 where all heads share a row

  ROPE_DETAIL_FORWARD std::int64_t heads() const noexcept { return table->heads(); }
  ROPE_DETAIL_FORWARD std::int64_t pairs() const noexcept { return table->pairs(); }
  ROPE_DETAIL_FORWARD double magnitude() const noexcept { return table->magnitude(); }
  ROPE_DETAIL_FORWARD std::int64_t rows() const noexcept requires PositionTable<X> {
    return table->rows();
  }
  ROPE_DETAIL_FORWARD std::int64_t batch() const noexcept requires TokenAddressedTable<X> {
    return table->batch();
  }
  ROPE_DETAIL_FORWARD std::int64_t tokens() const noexcept requires TokenAddressedTable<X> {
    return table->tokens();
  }
  ROPE_DETAIL_FORWARD TableRow<value_type> row(std::int64_t row, std::int64_t head,
                                               std::int64_t first_pair, std::int64_t count,
                                               value_type* scratch) const noexcept {
    return table->row(row, first_head + head, first_pair, count, scratch);
  }
};

inline namespace ROPE_DETAIL_UNIT {

/// The correctly rounded square root of a number that is not negative. std::sqrt also looks for
/// negative ones, to set errno.
inline double square_root(double x) noexcept {
#if defined(__SSE2__)
  const __m128d value = _mm_set_sd(keep(x));
  return keep(_mm_cvtsd_f64(_mm_sqrt_sd(value, value)));
#else
  return keep(std::sqrt(keep(x)));
#endif
}

/// 1 / sqrt(sum * per_count + epsilon), in double, whose square root and division are the same
/// everywhere.
template <class C>
C norm_scale(C sum, double per_count, double epsilon) noexcept {
  const double mean = keep(static_cast<double>(sum) * per_count);
  return static_cast<C>(keep(1.0 / square_root(mean + epsilon)));
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace detail
}  // namespace rope
