#pragma once

#include <cstdint>

#include "rope/argument.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/view.hpp"

namespace rope {

/// Tokens that no rotation touches.
struct UnrotatedTokens {
  /// At the front: a class token and registers (DINOv3, EVA-02, naver), text (FLUX, CogVideoX).
  Extent first = 0;
  /// At the end: the class token of Llama 4's vision tower, object pointers (SAM 2), padding (Wan).
  Extent last = 0;
};

inline namespace ROPE_DETAIL_UNIT {

/// The tokens of x between the unrotated ones, for rotate() in place: nothing is copied, and the
/// others stay as they are.
///
/// For a rotation from `in` into `out` the unrotated tokens of `out` are left to the caller. Throws
/// InvalidArgument if x has fewer tokens than are to be left out. O(1).
template <class T>
View<T> rotated_tokens(View<T> x, const UnrotatedTokens& unrotated) {
  const std::int64_t first = unrotated.first;
  const std::int64_t last = unrotated.last;
  if (first < 0 || last < 0 || first > x.tokens() || last > x.tokens() - first) {
    detail::raise(detail::failure(ErrorKind::invalid_argument,
                                  "rope::rotated_tokens: %lld unrotated tokens at the front and "
                                  "%lld at the end are not among the view's %lld tokens",
                                  static_cast<long long>(first), static_cast<long long>(last),
                                  static_cast<long long>(x.tokens())));
  }
  return x.slice_tokens(first, x.tokens() - first - last);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
