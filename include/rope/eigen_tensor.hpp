#pragma once

// Views of Eigen's tensors. Not part of rope/rope.hpp, because Eigen's tensor header is heavy, and
// unsupported by Eigen.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <unsupported/Eigen/CXX11/Tensor>
#include <utility>

#include "rope/detail/complex_pairs.hpp"
#include "rope/detail/layout.hpp"
#include "rope/detail/source.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/view.hpp"

namespace rope {
namespace detail {

// For overload resolution only, never defined: what of Eigen a type is or derives from.
template <class Derived>
Derived tensor_part(const Eigen::TensorBase<Derived, Eigen::ReadOnlyAccessors>*);
template <class Scalar, int rank, int options, class Index>
std::true_type is_plain_tensor(const Eigen::Tensor<Scalar, rank, options, Index>*);
template <class Scalar, class Sizes, int options, class Index>
std::true_type is_plain_tensor(const Eigen::TensorFixedSize<Scalar, Sizes, options, Index>*);
std::false_type is_plain_tensor(const void*);
template <class Plain, int options, template <class> class MakePointer>
std::true_type is_tensor_map(const Eigen::TensorMap<Plain, options, MakePointer>*);
std::false_type is_tensor_map(const void*);

/// Any tensor or tensor expression of Eigen.
template <class X>
concept EigenTensor = requires(std::remove_cvref_t<X>* tensor) {
  detail::tensor_part(tensor);
};

template <class X>
inline constexpr bool owns_tensor =
    decltype(detail::is_plain_tensor(static_cast<std::remove_cvref_t<X>*>(nullptr)))::value;

/// One whose elements are in memory, and not computed when asked for.
template <class X>
concept TensorInMemory = EigenTensor<X> &&
    (owns_tensor<X> ||
     decltype(detail::is_tensor_map(static_cast<std::remove_cvref_t<X>*>(nullptr)))::value);

/// What a view of X has for elements; const where X, or what X maps, is. Of refused types too, so
/// that the refusal is the only error.
template <class X>
struct tensor_element {
  using type = typename std::remove_cvref_t<X>::Scalar;
};
template <TensorInMemory X>
struct tensor_element<X> {
  using type = std::remove_pointer_t<decltype(std::declval<X&>().data())>;
};

template <class X>
using tensor_view_element_t = view_element_t<typename tensor_element<X>::type>;

inline namespace ROPE_DETAIL_UNIT {

/// The view of a packed tensor; `order` names the axis of each of its dimensions.
template <class X, std::size_t rank, std::size_t... dimension>
View<tensor_view_element_t<X>> packed_tensor_view(const char* who, X& tensor,
                                                  const int (&order)[rank],
                                                  std::index_sequence<dimension...>) {
  constexpr bool first_is_slowest =
      static_cast<int>(std::remove_cvref_t<X>::Layout) == static_cast<int>(Eigen::RowMajor);
  Layout layout{{1, 1, 1, 1}, {0, 0, 0, 0}};
  ((layout.extent[order[dimension]] = tensor.dimension(dimension)), ...);
  const int slowest_first[rank] = {order[first_is_slowest ? dimension : rank - 1 - dimension]...};
  require(pack(who, layout, slowest_first, Source<int>::unknown_size));
  if constexpr (view_element<typename tensor_element<X>::type>::is_complex) {
    require(spread_pairs(who, layout));
  }
  return View<tensor_view_element_t<X>>(view_elements(tensor.data()), layout, who);
}

/// Refuses at compile time what cannot be viewed. `X` is as deduced for a forwarding reference.
template <class X, std::size_t rank>
View<tensor_view_element_t<X>> tensor_view(const char* who, std::remove_reference_t<X>& tensor,
                                           const int (&order)[rank]) {
  constexpr bool in_memory = TensorInMemory<X>;
  constexpr bool lasts = std::is_lvalue_reference_v<X> || !owns_tensor<X>;
  constexpr bool rank_fits =
      static_cast<std::size_t>(std::remove_cvref_t<X>::NumDimensions) == rank;
  static_assert(in_memory,
                "rope: this Eigen tensor expression has no elements in memory that a view could "
                "refer to; evaluate it into a tensor first");
  static_assert(lasts, "rope: a view of this temporary tensor would dangle; give it a name first");
  static_assert(rank_fits,
                "rope: the tensor must have as many dimensions as the layout's name has letters");
  if constexpr (in_memory && lasts && rank_fits) {
    return packed_tensor_view<std::remove_reference_t<X>>(who, tensor, order,
                                                          std::make_index_sequence<rank>());
  }
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace detail

inline namespace ROPE_DETAIL_UNIT {

/// Views an Eigen tensor whose dimensions are (batch, tokens, heads, dim), in either storage order.
///
/// `tensor` is a Tensor, TensorFixedSize or TensorMap of rank 4; of std::complex<T>, it is viewed
/// as T with real and imaginary parts as the features 2i and 2i + 1 (Pairing::interleaved), and
/// then dim must be the dimension that varies fastest. A const tensor gives a view that cannot
/// write. Refused by the compiler: expressions that are computed, temporaries that own their
/// memory, and other ranks.
///
/// Throws InvalidArgument for complex numbers of a head that are not side by side. O(1). The same
/// holds for the other layouts.
template <detail::EigenTensor X>
View<detail::tensor_view_element_t<X>> bthd(X&& tensor) {
  return detail::tensor_view<X>("rope::bthd", tensor, {0, 1, 2, 3});
}

/// Views an Eigen tensor whose dimensions are (batch, heads, tokens, dim).
template <detail::EigenTensor X>
View<detail::tensor_view_element_t<X>> bhtd(X&& tensor) {
  return detail::tensor_view<X>("rope::bhtd", tensor, {0, 2, 1, 3});
}

/// Views an Eigen tensor whose dimensions are (tokens, heads, dim); a batch of 1.
template <detail::EigenTensor X>
View<detail::tensor_view_element_t<X>> thd(X&& tensor) {
  return detail::tensor_view<X>("rope::thd", tensor, {1, 2, 3});
}

/// Views an Eigen tensor whose dimensions are (heads, tokens, dim); a batch of 1.
template <detail::EigenTensor X>
View<detail::tensor_view_element_t<X>> htd(X&& tensor) {
  return detail::tensor_view<X>("rope::htd", tensor, {2, 1, 3});
}

/// Views an Eigen tensor whose dimensions are (dim, heads, tokens, batch): what is packed and fast
/// in Eigen's default storage order, where the first dimension varies fastest.
template <detail::EigenTensor X>
View<detail::tensor_view_element_t<X>> dhtb(X&& tensor) {
  return detail::tensor_view<X>("rope::dhtb", tensor, {3, 2, 1, 0});
}

/// Views an Eigen tensor whose dimensions are (dim, tokens, heads, batch).
template <detail::EigenTensor X>
View<detail::tensor_view_element_t<X>> dthb(X&& tensor) {
  return detail::tensor_view<X>("rope::dthb", tensor, {3, 1, 2, 0});
}

/// Views an Eigen tensor whose dimensions are (dim, heads, tokens); a batch of 1.
template <detail::EigenTensor X>
View<detail::tensor_view_element_t<X>> dht(X&& tensor) {
  return detail::tensor_view<X>("rope::dht", tensor, {3, 2, 1});
}

/// Views an Eigen tensor whose dimensions are (dim, tokens, heads); a batch of 1.
template <detail::EigenTensor X>
View<detail::tensor_view_element_t<X>> dth(X&& tensor) {
  return detail::tensor_view<X>("rope::dth", tensor, {3, 1, 2});
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
