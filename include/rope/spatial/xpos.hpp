#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/ladder.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/executor.hpp"
#include "rope/frequencies.hpp"
#include "rope/table.hpp"
#include "rope/table_concept.hpp"

namespace rope {

/// Which of the two an xPos table is for: their scales are each other's inverse.
enum class XposSide : unsigned char { query, key };

/// What xPos adds to the frequencies.
struct Xpos {
  required<XposSide> side;
  /// The position whose scale is 1. The same for the table of the queries and that of the keys,
  /// else scores no longer depend on distances alone. The originals take half the length of the
  /// sequence, rounded down.
  required<Real> center;
  /// So many positions from the center, pair i is scaled by its zeta once. Finite and above 0.
  Real scale_base = 512.0;
  /// Who builds the table; the same entries, whoever does. Used only during the call.
  ExecutorRef executor = {};
};

namespace detail::inline ROPE_DETAIL_UNIT {

template <class T>
Status check_xpos(const Xpos& xpos, std::int64_t rows, std::int64_t pairs) noexcept {
  constexpr const char* who = "rope::XposTable";
  const double center = xpos.center.value();
  const double base = xpos.scale_base;
  if (rows < 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: rows must not be negative, got %lld", who,
                   static_cast<long long>(rows));
  }
  if (!is_finite(center)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: xpos.center must be finite, got %g", who,
                   center);
  }
  if (!is_finite(base) || !(base > 0)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: xpos.scale_base must be finite and above 0, got %g", who, base);
  }
  if (xpos.side.value() != XposSide::query && xpos.side.value() != XposSide::key) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: xpos.side has the value %d, which names no side", who,
                   static_cast<int>(xpos.side.value()));
  }
  // -ln zeta is largest for pair 0: ln(7 / 2). Beyond e^80 or e^700 the scale or its inverse is no
  // normal number of the type.
  const double reach = absolute(center) > absolute(static_cast<double>(rows) - center)
                           ? absolute(center)
                           : absolute(static_cast<double>(rows) - center);
  const double largest = sizeof(T) == 4 ? 80.0 : 700.0;
  if (pairs > 0 && !(reach / base * 1.26 < largest)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: %lld rows around the center %g at a scale_base of %g have scales beyond "
                   "the range of the table's %zu-byte entries",
                   who, static_cast<long long>(rows), center, base, sizeof(T));
  }
  return {};
}

/// All rows, [rows, heads, 2, pairs]: those of a CosSinTable times zeta_i^((row - center) / base).
///
/// zeta_i = (2i + 0.4 d) / 1.4 d for d = 2 * pairs, which is (5i + 2 pairs) / (7 pairs).
template <class T>
std::vector<T> xpos_entries(const Frequencies& frequencies, std::int64_t rows, const Xpos& xpos) {
  require(check_xpos<T>(xpos, rows, frequencies.pairs()));
  const CosSinTable<double> plain(frequencies, rows, {.executor = xpos.executor});
  const std::int64_t heads = frequencies.heads();
  const std::int64_t pairs = frequencies.pairs();
  const DoubleDouble base = exactly(xpos.scale_base);
  const DoubleDouble center = exactly(xpos.center.value());
  // With row = 64 a + b the power is that of 64 a - center times that of b.
  constexpr std::int64_t step = 64;
  std::vector<DoubleDouble> logarithms(static_cast<std::size_t>(pairs));
  std::vector<double> fine(static_cast<std::size_t>(step * pairs));
  const std::int64_t blocks = rows / step + (rows % step != 0);
  std::vector<double> coarse(static_cast<std::size_t>(blocks * pairs));
  for (std::int64_t i = 0; i < pairs; ++i) {
    DoubleDouble& logarithm = logarithms[static_cast<std::size_t>(i)];
    logarithm = log(quotient(5 * i + 2 * pairs, 7 * pairs)) / base;
    if (xpos.side.value() == XposSide::key) logarithm = -logarithm;
    for (std::int64_t b = 0; b < step; ++b) {
      fine[static_cast<std::size_t>(b * pairs + i)] =
          rounded(exp(logarithm * static_cast<double>(b)));
    }
  }
  std::vector<T> entries(static_cast<std::size_t>(rows * heads * 2 * pairs));
  const auto write_block = [&](std::int64_t block) noexcept {
    const std::int64_t first = block * step;
    const std::int64_t end = rows - first < step ? rows : first + step;
    double* const scales = coarse.data() + block * pairs;
    for (std::int64_t i = 0; i < pairs; ++i) {
      scales[i] =
          rounded(exp(logarithms[static_cast<std::size_t>(i)] * (double_double(first) - center)));
    }
    for (std::int64_t row = first; row < end; ++row) {
      const double* const powers = fine.data() + (row - first) * pairs;
      for (std::int64_t head = 0; head < heads; ++head) {
        const TableRow<double> own = plain.row(row, head, 0, pairs, nullptr);
        T* const out = entries.data() + (row * heads + head) * 2 * pairs;
        for (std::int64_t i = 0; i < pairs; ++i) {
          const double scale = keep(scales[i] * powers[i]);
          out[i] = static_cast<T>(keep(own.cos[i] * scale));
          out[pairs + i] = static_cast<T>(keep(own.sin[i] * scale));
        }
      }
    }
  };
  const auto bytes = static_cast<std::int64_t>(entries.size() * sizeof(T));
  if (part_count(xpos.executor, bytes) == 1) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      write_block(block);
    }
  } else {
    xpos.executor(blocks, write_block);
  }
  return entries;
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

/// Cos and sin of every pair at the positions 0 .. rows - 1 with the scales of xPos: what a query
/// or a key is rotated by so that scores also decay with the distance.
///
/// Pair i of a query at position p is multiplied by zeta_i^((p - center) / scale_base) with
/// zeta_i = (2i + 0.4 d) / 1.4 d, d = rotary_dim; that of a key by the inverse. A score of the two
/// tables is that of plain RoPE times zeta_i^((p - p') / scale_base) in each pair. Entries are
/// within 4 * 2^-53 of their own size of the product, rounded to T; the same bits on every
/// platform. Immutable; used as a CosSinTable is.
///
/// The scales are not part of magnitude(), so rotate_inverse() does not undo a rotation by such a
/// table: rotate_transpose() with the table of the other side does.
///
/// Source: Sun et al., "A Length-Extrapolatable Transformer" (2022), section 3.2 and its code.
template <class T>
class XposTable {
  static_assert(std::same_as<T, float> || std::same_as<T, double>,
                "table entries are float, or double for double data");

 public:
  using value_type = T;
  static constexpr RowAddressing addressing = RowAddressing::position;

  /// Rows for the positions 0 .. rows - 1 of `frequencies`, which must have one axis.
  ///
  /// Throws InvalidArgument as CosSinTable does, for a center or scale_base that is not finite, or
  /// not above 0, and where a scale is beyond the range of T. O(rows * heads * pairs).
  ROPE_DETAIL_FORWARD XposTable(const Frequencies& frequencies, Extent rows, const Xpos& xpos)
      : entries_(detail::xpos_entries<T>(frequencies, rows, xpos)),
        heads_(frequencies.heads()),
        pairs_(frequencies.pairs()),
        magnitude_(frequencies.magnitude()) {}

  // Spelt out for their attribute: implicit ones could be shared by differently compiled units.
  ROPE_DETAIL_FORWARD XposTable(const XposTable&) = default;
  ROPE_DETAIL_FORWARD XposTable(XposTable&&) = default;
  ROPE_DETAIL_FORWARD XposTable& operator=(const XposTable&) = default;
  ROPE_DETAIL_FORWARD XposTable& operator=(XposTable&&) = default;
  ROPE_DETAIL_FORWARD ~XposTable() = default;

  ROPE_DETAIL_FORWARD std::int64_t rows() const noexcept {
    return static_cast<std::int64_t>(entries_.size()) / (heads_ * 2 * pairs_);
  }
  ROPE_DETAIL_FORWARD std::int64_t heads() const noexcept { return heads_; }
  ROPE_DETAIL_FORWARD std::int64_t pairs() const noexcept { return pairs_; }
  ROPE_DETAIL_FORWARD std::int64_t rotary_dim() const noexcept { return 2 * pairs_; }
  /// That of the frequencies, without the scales.
  ROPE_DETAIL_FORWARD double magnitude() const noexcept { return magnitude_; }

  /// Cos and sin of every pair at a position, scaled. Throw OutOfRange if there is no such row.
  ROPE_DETAIL_FORWARD std::span<const T> cos(Extent row, Extent head = 0) const& {
    detail::require(detail::check_row("rope::XposTable::cos", row, rows(), head, heads_));
    return {at(row, head), static_cast<std::size_t>(pairs_)};
  }
  ROPE_DETAIL_FORWARD std::span<const T> sin(Extent row, Extent head = 0) const& {
    detail::require(detail::check_row("rope::XposTable::sin", row, rows(), head, heads_));
    return {at(row, head) + pairs_, static_cast<std::size_t>(pairs_)};
  }
  std::span<const T> cos(Extent row, Extent head = 0) const&& = delete;
  std::span<const T> sin(Extent row, Extent head = 0) const&& = delete;

  /// For rotate(): see the concept Table. Not checked.
  ROPE_DETAIL_FORWARD TableRow<T> row(std::int64_t row, std::int64_t head, std::int64_t first_pair,
                                      std::int64_t /*count*/, T* /*scratch*/) const noexcept {
    const T* const cos = at(row, head) + first_pair;
    return {cos, cos + pairs_};
  }

 private:
  ROPE_DETAIL_FORWARD const T* at(std::int64_t row, std::int64_t head) const noexcept {
    return entries_.data() + (row * heads_ + head) * 2 * pairs_;
  }

  std::vector<T> entries_;
  std::int64_t heads_;
  std::int64_t pairs_;
  double magnitude_;
};

}  // namespace rope
