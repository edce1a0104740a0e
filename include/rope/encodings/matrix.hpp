#pragma once

#include <cstdint>

#include "rope/argument.hpp"
#include "rope/detail/source.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/view.hpp"

namespace rope {
namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_matrix_shape(const char* who, std::int64_t rows,
                                 std::int64_t columns) noexcept {
  if (rows < 0 || columns < 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: the shape [%lld, %lld] (rows, columns) has a negative extent", who,
                   static_cast<long long>(rows), static_cast<long long>(columns));
  }
  return {};
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// A packed matrix {rows, columns}, row-major: a View with batch 1, `rows` tokens, heads 1 and
/// `columns` dims.
///
/// The embeddings of one sequence [tokens, width], and the learned tables of the encodings. As
/// thd(): `source` is a pointer, or a lasting container or span of exactly as many elements. Throws
/// as it does. O(1).
template <detail::SourceOf S>
View<detail::source_element_t<S>> matrix(S&& source, const Extents<2>& shape) {
  detail::require(detail::check_matrix_shape("rope::matrix", shape[0], shape[1]));
  return detail::packed_view<2>(source, "rope::matrix", shape, {1, 3});
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
