#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/source.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/padding.hpp"
#include "rope/row_positions.hpp"

namespace rope {

/// What a token of a prompt with images and videos stands for. The first three have the numbers of
/// transformers' mm_token_type_ids.
enum class TokenKind : unsigned char {
  text = 0,   ///< also the tokens around an image, such as vision_start
  image = 1,  ///< one merged block of patches of an image
  video = 2,  ///< of a video
  padding = 3,
};

/// The tokens that stand for a merged block of patches: image_token_id and video_token_id of the
/// model's config.json.
struct VisionTokens {
  required<Extent> image;
  required<Extent> video;
};

/// GLM-4V's: the frames of a video are the image's token as well, between the tokens that begin and
/// end a video (image_token_id, video_start_token_id, video_end_token_id).
struct GlmVisionTokens {
  required<Extent> image;
  required<Extent> video_start;
  required<Extent> video_end;
};

namespace detail {

/// Token ids as the caller has them; read during the call only.
template <class S>
concept TokenIdSource =
    LastingContainer<S&> && IntegerArgument<std::remove_const_t<source_element_t<S&>>>;

inline namespace ROPE_DETAIL_UNIT {

template <class Mask>
void pad_token_kinds(const char* who, std::vector<TokenKind>& kinds, const Mask& mask) {
  const auto given = source(mask);
  require(check_mask(who, given, {kinds.size()}));
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (mask_bit(given.data[i]) == 0) kinds[i] = TokenKind::padding;
  }
}

template <class S>
std::vector<TokenKind> make_token_kinds(const S& ids, const VisionTokens& tokens) {
  const auto given = source(ids);
  std::vector<TokenKind> kinds(static_cast<std::size_t>(given.size), TokenKind::text);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const Extent id = given.data[i];
    if (id == tokens.image.value()) kinds[i] = TokenKind::image;
    if (id == tokens.video.value()) kinds[i] = TokenKind::video;
  }
  return kinds;
}

/// Marks the image's tokens among kinds that are text or padding: those inside a video are its.
template <class S>
void mark_glm_tokens(std::vector<TokenKind>& kinds, const S& ids, const PositionShape& shape,
                     const GlmVisionTokens& tokens) {
  const auto given = source(ids);
  require(check_listed("rope::token_kinds", "ids", false, given.size, shape));
  bool is_video = false;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (static_cast<std::int64_t>(i) % shape.tokens() == 0) is_video = false;
    if (kinds[i] == TokenKind::padding) continue;
    const Extent id = given.data[i];
    if (id == tokens.video_start.value()) is_video = true;
    if (id == tokens.video_end.value()) is_video = false;
    if (id == tokens.image.value()) kinds[i] = is_video ? TokenKind::video : TokenKind::image;
  }
}

template <class S>
std::vector<TokenKind> make_token_kinds_from_types(const S& types) {
  const auto given = source(types);
  std::vector<TokenKind> kinds(static_cast<std::size_t>(given.size));
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const Extent type = given.data[i];
    if (type < 0 || type > 2) [[unlikely]] {
      raise(failure(ErrorKind::invalid_argument,
                    "rope::token_kinds_from_types: a type is 0 (text), 1 (image) or 2 (video), got "
                    "%lld for token %lld",
                    static_cast<long long>(type), static_cast<long long>(i)));
    }
    kinds[i] = static_cast<TokenKind>(std::int64_t{type});
  }
  return kinds;
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace detail

inline namespace ROPE_DETAIL_UNIT {

/// The kind of each token of `ids`, a container or span of any integers, [batch, tokens] or
/// [tokens]: whether it is the image's token, the video's token, or text. O(number of ids).
template <detail::TokenIdSource S>
std::vector<TokenKind> token_kinds(const S& ids, const VisionTokens& tokens) {
  return detail::make_token_kinds(ids, tokens);
}

/// The same where `mask`, as many values as there are ids, has 0 for padding and 1 for tokens. (The
/// id of a padding token often also ends a text, so the ids alone do not tell.)
///
/// Throws InvalidArgument for a mask of another size or with other values.
template <detail::TokenIdSource S, detail::MaskSource Mask>
std::vector<TokenKind> token_kinds(const S& ids, const Mask& mask, const VisionTokens& tokens) {
  std::vector<TokenKind> kinds = detail::make_token_kinds(ids, tokens);
  detail::pad_token_kinds("rope::token_kinds", kinds, mask);
  return kinds;
}

/// The kinds for GLM-4V, whose ids alone do not tell a video from images: rows of the batch begin
/// outside of a video.
///
/// Throws InvalidArgument for ids that are not as many as the shape says.
template <detail::TokenIdSource S>
std::vector<TokenKind> token_kinds(const S& ids, const PositionShape& shape,
                                   const GlmVisionTokens& tokens) {
  std::vector<TokenKind> kinds(std::size(ids), TokenKind::text);
  detail::mark_glm_tokens(kinds, ids, shape, tokens);
  return kinds;
}

/// The same with a mask, as above.
template <detail::TokenIdSource S, detail::MaskSource Mask>
std::vector<TokenKind> token_kinds(const S& ids, const Mask& mask, const PositionShape& shape,
                                   const GlmVisionTokens& tokens) {
  std::vector<TokenKind> kinds(std::size(ids), TokenKind::text);
  detail::pad_token_kinds("rope::token_kinds", kinds, mask);
  detail::mark_glm_tokens(kinds, ids, shape, tokens);
  return kinds;
}

/// The kinds from transformers' mm_token_type_ids: 0 for text, 1 for images, 2 for videos.
///
/// Throws InvalidArgument for another type.
template <detail::TokenIdSource S>
std::vector<TokenKind> token_kinds_from_types(const S& types) {
  return detail::make_token_kinds_from_types(types);
}

/// The same with a mask, as above.
template <detail::TokenIdSource S, detail::MaskSource Mask>
std::vector<TokenKind> token_kinds_from_types(const S& types, const Mask& mask) {
  std::vector<TokenKind> kinds = detail::make_token_kinds_from_types(types);
  detail::pad_token_kinds("rope::token_kinds_from_types", kinds, mask);
  return kinds;
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
