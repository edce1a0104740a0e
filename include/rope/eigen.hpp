#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "rope/argument.hpp"
#include "rope/detail/complex_pairs.hpp"
#include "rope/detail/layout.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/scalar.hpp"
#include "rope/view.hpp"

namespace rope {

/// Eigen's 16-bit types have the same bits as f16 and bf16, and are rotated by the same kernels.
template <>
struct element_traits<Eigen::half> {
  using compute_type = float;
  static constexpr Format format = Format::f16;
};
template <>
struct element_traits<Eigen::bfloat16> {
  using compute_type = float;
  static constexpr Format format = Format::bf16;
};

/// How the heads, and the sequences of a batch, share the two sides of a matrix.
struct MatrixHeads {
  /// How many heads a token has; they follow one another along the side of the features.
  required<Extent> heads;
  /// How many sequences of the same length follow one another along the side of the tokens.
  Extent batch = 1;
};

namespace detail {

// For overload resolution only, never defined: what of Eigen a type is or derives from.
template <class Derived>
Derived dense_part(const Eigen::DenseBase<Derived>*);
template <class Derived>
std::true_type is_plain(const Eigen::PlainObjectBase<Derived>*);
std::false_type is_plain(const void*);
template <class Plain, int options, class Strides>
std::true_type may_hold_copy(const Eigen::Ref<const Plain, options, Strides>*);
template <class Expression>
std::true_type may_hold_copy(const Eigen::NestByValue<Expression>*);
std::false_type may_hold_copy(const void*);

template <class M>
using bare_pointer = std::remove_cvref_t<M>*;

/// Any dense matrix, array or expression of Eigen.
template <class M>
concept EigenDense = requires(bare_pointer<M> matrix) {
  detail::dense_part(matrix);
};

/// One whose elements are in memory, and not computed when asked for.
template <class M>
concept EigenInMemory =
    EigenDense<M> &&
        (decltype(detail::dense_part(bare_pointer<M>{}))::Flags& Eigen::DirectAccessBit) != 0 &&
    requires(M& matrix) {
  matrix.data();
  matrix.rowStride();
  matrix.colStride();
};

/// One whose memory may go with it: a matrix, or a Ref<const ...>, which copies what it cannot
/// refer to.
template <class M>
inline constexpr bool owns_memory = decltype(detail::is_plain(bare_pointer<M>{}))::value ||
                                    decltype(detail::may_hold_copy(bare_pointer<M>{}))::value;

/// What a view of M has for elements; const where M, or what M refers to, is. Of refused types too,
/// so that the refusal is the only error.
template <class M>
struct matrix_element {
  using type = typename decltype(dense_part(bare_pointer<M>{}))::Scalar;
};
template <EigenInMemory M>
struct matrix_element<M> {
  using type = std::remove_pointer_t<decltype(std::declval<M&>().data())>;
};

template <class M>
using matrix_element_t = typename matrix_element<M>::type;

/// One side of a matrix: its name, how many there are, and how far apart in elements.
struct MatrixSide {
  const char* name;
  std::int64_t extent;
  std::int64_t stride;
};

inline namespace ROPE_DETAIL_UNIT {

inline Status split_sides(const char* who, const MatrixSide& tokens, const MatrixSide& features,
                          const MatrixHeads& shape, Layout& layout) noexcept {
  const std::int64_t heads = shape.heads.value();
  const std::int64_t batch = shape.batch;
  if (heads < 1 || features.extent % heads != 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: the %lld %s of the matrix cannot be divided into %lld heads", who,
                   static_cast<long long>(features.extent), features.name,
                   static_cast<long long>(heads));
  }
  if (batch < 1 || tokens.extent % batch != 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: the %lld %s of the matrix cannot be divided into a batch of %lld", who,
                   static_cast<long long>(tokens.extent), tokens.name,
                   static_cast<long long>(batch));
  }
  layout = {{batch, tokens.extent / batch, heads, features.extent / heads},
            {0, tokens.stride, 0, features.stride}};
  if (__builtin_mul_overflow(layout.extent[1], layout.stride[1], &layout.stride[0]) ||
      __builtin_mul_overflow(layout.extent[3], layout.stride[3], &layout.stride[2])) [[unlikely]] {
    return failure(
        ErrorKind::invalid_argument,
        "%s: a matrix of %lld %s with stride %lld and %lld %s with stride %lld overflows "
        "a 64-bit offset",
        who, static_cast<long long>(tokens.extent), tokens.name,
        static_cast<long long>(tokens.stride), static_cast<long long>(features.extent),
        features.name, static_cast<long long>(features.stride));
  }
  return {};
}

template <class T>
View<view_element_t<T>> matrix_view(const char* who, T* data, const MatrixSide& tokens,
                                    const MatrixSide& features, const MatrixHeads& shape) {
  Layout layout;
  require(split_sides(who, tokens, features, shape, layout));
  if constexpr (view_element<T>::is_complex) {
    require(spread_pairs(who, layout));
  }
  return View<view_element_t<T>>(view_elements(data), layout, who);
}

/// Refuses at compile time what cannot be viewed. `M` is as deduced for a forwarding reference.
template <class M>
constexpr bool can_be_viewed() {
  static_assert(EigenInMemory<M>,
                "rope: this Eigen expression has no elements in memory that a view could refer to; "
                "evaluate it into a matrix first");
  static_assert(std::is_lvalue_reference_v<M> || !owns_memory<M>,
                "rope: a view of this temporary would dangle, because its memory goes with it (a "
                "Ref<const ...> may hold a copy); give the matrix a name first");
  return EigenInMemory<M> && (std::is_lvalue_reference_v<M> || !owns_memory<M>);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace detail

inline namespace ROPE_DETAIL_UNIT {

/// Views an Eigen matrix [tokens, heads * dim]: each row is a token, its heads one after another.
///
/// `matrix` is a Matrix, Array, Map, Ref, Block, transpose or other expression of Eigen that stands
/// for memory, in any storage order and with any strides; of std::complex<T>, it is viewed as T
/// with real and imaginary parts as the features 2i and 2i + 1 (Pairing::interleaved), and the
/// complex numbers of a head must then lie side by side. With a batch, the rows of one sequence
/// follow those of the one before. A const matrix gives a view that cannot write. Refused by the
/// compiler: expressions that are computed (sums, products), and temporaries that own their memory,
/// to which Ref<const ...> belongs because it may hold a copy.
///
/// Throws InvalidArgument if the columns cannot be divided into the heads, or the rows into the
/// batch, and for complex numbers that are not side by side. O(1).
template <detail::EigenDense M>
View<detail::view_element_t<detail::matrix_element_t<M>>> tokens_in_rows(M&& matrix,
                                                                         const MatrixHeads& shape) {
  if constexpr (detail::can_be_viewed<M>()) {
    return detail::matrix_view("rope::tokens_in_rows", matrix.data(),
                               {"rows", matrix.rows(), matrix.rowStride()},
                               {"columns", matrix.cols(), matrix.colStride()}, shape);
  }
}

/// Views an Eigen matrix [heads * dim, tokens]: each column is a token, its heads one after
/// another. Otherwise as tokens_in_rows(), with rows and columns exchanged.
template <detail::EigenDense M>
View<detail::view_element_t<detail::matrix_element_t<M>>> tokens_in_columns(
    M&& matrix, const MatrixHeads& shape) {
  if constexpr (detail::can_be_viewed<M>()) {
    return detail::matrix_view("rope::tokens_in_columns", matrix.data(),
                               {"columns", matrix.cols(), matrix.colStride()},
                               {"rows", matrix.rows(), matrix.rowStride()}, shape);
  }
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
