// Position ids of prompts with images and videos. Expected ids are counted by hand here; those of
// the original implementations are in golden/.
#include "rope/spatial/mrope_ids.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "rope/frequencies.hpp"
#include "rope/rotate.hpp"
#include "rope/spatial/token_kinds.hpp"
#include "rope/table.hpp"
#include "rope/token_table.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/tensor.hpp"

namespace {

using rope::InvalidArgument;
using rope::MropeIds;
using rope::MropeReading;
using rope::TokenKind;
using rope_test::require_throws;

using Ids = std::vector<std::int64_t>;

/// 't', 'i', 'v' and '-' for text, image, video and padding.
std::vector<TokenKind> kinds(const std::string& letters) {
  std::vector<TokenKind> list;
  for (const char letter : letters) {
    list.push_back(letter == 't'   ? TokenKind::text
                   : letter == 'i' ? TokenKind::image
                   : letter == 'v' ? TokenKind::video
                                   : TokenKind::padding);
  }
  return list;
}

Ids axis(const MropeIds& ids, std::int64_t index) {
  const auto own = ids.axis(index);
  return {own.begin(), own.end()};
}

Ids next(const MropeIds& ids) { return {ids.next().begin(), ids.next().end()}; }
Ids deltas(const MropeIds& ids) { return {ids.deltas().begin(), ids.deltas().end()}; }

constexpr auto readings = {MropeReading::published, MropeReading::transformers_4,
                           MropeReading::transformers_5};

}  // namespace

TEST_CASE("text alone is at consecutive positions on all axes") {
  for (const MropeReading reading : readings) {
    const MropeIds ids = rope::mrope_ids(
        kinds("tttt"), {4}, {.rule = rope::Qwen2Vl{}, .merge_size = 2, .reading = reading});
    CHECK(ids.axes() == 3);
    CHECK(ids.batch() == 1);
    CHECK(ids.tokens() == 4);
    for (std::int64_t a = 0; a < 3; ++a) CHECK(axis(ids, a) == Ids{0, 1, 2, 3});
    CHECK(next(ids) == Ids{4});
    CHECK(deltas(ids) == Ids{0});
  }
}

TEST_CASE("an image takes its rows and columns, and text goes on past the larger of them") {
  // 2 x 6 patches in blocks of 2 x 2: one row of three tokens.
  for (const MropeReading reading : readings) {
    const MropeIds ids = rope::mrope_ids(
        kinds("ttiiit"), {6},
        {.rule = rope::Qwen2Vl{}, .merge_size = 2, .images = {{1, 2, 6}}, .reading = reading});
    CHECK(axis(ids, 0) == Ids{0, 1, 2, 2, 2, 5});
    CHECK(axis(ids, 1) == Ids{0, 1, 2, 2, 2, 5});
    CHECK(axis(ids, 2) == Ids{0, 1, 2, 3, 4, 5});
    CHECK(next(ids) == Ids{6});
    CHECK(deltas(ids) == Ids{0});
    CHECK(ids(2, 0, 4) == 4);
  }
}

TEST_CASE("a video longer than wide: only the last reading goes back in time") {
  const auto ids = [](MropeReading reading) {
    return rope::mrope_ids(
        kinds("tvvvt"), {5},
        {.rule = rope::Qwen2Vl{}, .merge_size = 1, .videos = {{3, 1, 1}}, .reading = reading});
  };
  for (const MropeReading reading : {MropeReading::published, MropeReading::transformers_4}) {
    CHECK(axis(ids(reading), 0) == Ids{0, 1, 2, 3, 4});
    CHECK(axis(ids(reading), 1) == Ids{0, 1, 1, 1, 4});
    CHECK(next(ids(reading)) == Ids{5});
  }
  CHECK(axis(ids(MropeReading::transformers_5), 0) == Ids{0, 1, 2, 3, 2});
  CHECK(next(ids(MropeReading::transformers_5)) == Ids{4});
  CHECK(deltas(ids(MropeReading::transformers_5)) == Ids{-1});
}

TEST_CASE("Qwen2.5: frames by time, cut down after the product or before it") {
  const auto time = [](double tokens_per_second, std::vector<double> seconds,
                       MropeReading reading) {
    return axis(rope::mrope_ids(kinds("tvvvt"), {5},
                                {.rule = rope::Qwen25Vl{.tokens_per_second = tokens_per_second},
                                 .merge_size = 1,
                                 .videos = {{3, 1, 1}},
                                 .seconds_per_grid = std::move(seconds),
                                 .reading = reading}),
                0);
  };
  CHECK(time(2, {0.5}, MropeReading::published) == Ids{0, 1, 2, 3, 4});
  CHECK(time(2, {0.5}, MropeReading::transformers_4) == Ids{0, 1, 1, 1, 2});
  CHECK(time(2, {0.5}, MropeReading::transformers_5) == Ids{0, 1, 1, 1, 2});
  // 1.3 * 2 = 2.6 and 2.6 * 2 = 5.2 seconds; cut to 1 second first, 2 and 4.
  CHECK(time(2, {1.3}, MropeReading::published) == Ids{0, 1, 3, 6, 7});
  CHECK(time(2, {1.3}, MropeReading::transformers_4) == Ids{0, 1, 3, 5, 6});
  CHECK(time(2, {1.3}, MropeReading::transformers_5) == Ids{0, 1, 3, 5, 2});
  // No times given: one second.
  CHECK(time(2, {}, MropeReading::published) == Ids{0, 1, 3, 5, 6});
  CHECK(time(25, {1}, MropeReading::published) == Ids{0, 1, 26, 51, 52});
  CHECK(time(0, {1}, MropeReading::published) == Ids{0, 1, 1, 1, 2});
  // The product is one of floats: 0.1f * 10 is 1.
  CHECK(time(10, {0.1}, MropeReading::published) == Ids{0, 1, 2, 3, 4});
  // In double, 0.29 * 100 is just below 29; in float it rounds to 29.
  CHECK(time(100, {0.29}, MropeReading::published) == Ids{0, 1, 30, 59, 60});
  // 5 * 0.04f falls between two floats, of which the lower one is even: times 25 it is below 5.
  const MropeIds ids = rope::mrope_ids(kinds("vvvvvv"), {6},
                                       {.rule = rope::Qwen25Vl{.tokens_per_second = 25},
                                        .merge_size = 1,
                                        .videos = {{6, 1, 1}},
                                        .seconds_per_grid = {0.04}});
  CHECK(axis(ids, 0) == Ids{0, 1, 2, 3, 4, 4});
}

TEST_CASE("Qwen3: each frame is a block of its own, with text between") {
  const MropeIds ids = rope::mrope_ids(
      kinds("tvvtvvt"), {7}, {.rule = rope::Qwen3Vl{}, .merge_size = 2, .videos = {{2, 2, 4}}});
  CHECK(axis(ids, 0) == Ids{0, 1, 1, 3, 4, 4, 6});
  CHECK(axis(ids, 1) == Ids{0, 1, 1, 3, 4, 4, 6});
  CHECK(axis(ids, 2) == Ids{0, 1, 2, 3, 4, 5, 6});
}

TEST_CASE("GLM-4V: frames as with Qwen3, made of the image's token inside a video") {
  // 9 is the image's token, 7 begins and 8 ends a video; 6 and 5 stand around a frame.
  const rope::GlmVisionTokens tokens = {.image = 9, .video_start = 7, .video_end = 8};
  const std::vector<int> prompt = {1, 9, 9, 7, 6, 9, 9, 5, 6, 9, 9, 5, 8, 9, 9, 2};
  const auto found = rope::token_kinds(prompt, {prompt.size()}, tokens);
  CHECK(found == kinds("tiittvvttvvttiit"));
  const MropeIds ids = rope::mrope_ids(found, {prompt.size()},
                                       {.rule = rope::Glm4v{},
                                        .merge_size = 2,
                                        .images = {{1, 2, 4}, {1, 4, 2}},
                                        .videos = {{2, 2, 4}}});
  CHECK(axis(ids, 0) == Ids{0, 1, 1, 3, 4, 5, 5, 7, 8, 9, 9, 11, 12, 13, 13, 15});
  CHECK(axis(ids, 1) == Ids{0, 1, 1, 3, 4, 5, 5, 7, 8, 9, 9, 11, 12, 13, 14, 15});
  CHECK(axis(ids, 2) == Ids{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 13, 15});
  CHECK(deltas(ids) == Ids{0});

  // A row begins outside of a video, whatever the one before ends with. Padding begins nothing.
  const std::vector<int> batch = {7, 9, 9, /**/ 9, 1, 9};
  CHECK(rope::token_kinds(batch, {2, 3}, tokens) == kinds("tvviti"));
  const std::vector<int> padded = {7, 9, 9, /**/ 9, 7, 9};
  const std::vector<int> mask = {0, 1, 1, /**/ 0, 1, 1};
  CHECK(rope::token_kinds(padded, mask, {2, 3}, tokens) == kinds("-ii-tv"));

  const std::vector<int> nothing;
  CHECK(rope::token_kinds(nothing, {0}, tokens).empty());
  CHECK(rope::token_kinds(nothing, {0, 4}, tokens).empty());
  require_throws<InvalidArgument>(
      "rope::token_kinds: 6 ids, but the shape of batch 2 and tokens 4 needs 8", [&] {
        static_cast<void>(rope::token_kinds(batch, {2, 4}, tokens));
      });
  require_throws<InvalidArgument>(
      "rope::token_kinds: 6 ids, but the shape of batch 2 and tokens 2 needs 4", [&] {
        static_cast<void>(rope::token_kinds(padded, mask, {2, 2}, tokens));
      });
}

TEST_CASE("Ernie: several frames of a video share a token, those of an image do not") {
  const MropeIds ids = rope::mrope_ids(kinds("vvtit"), {5},
                                       {.rule = rope::Ernie45Vl{.temporal_merge_size = 2},
                                        .merge_size = 2,
                                        .images = {{1, 2, 2}},
                                        .videos = {{4, 2, 2}}});
  CHECK(axis(ids, 0) == Ids{0, 1, 2, 3, 4});
  CHECK(axis(ids, 1) == Ids{0, 0, 2, 3, 4});
}

TEST_CASE("images and videos are taken in order, over all rows of the batch") {
  const MropeIds ids = rope::mrope_ids(kinds("iivt"
                                             "tvvi"),
                                       {2, 4},
                                       {.rule = rope::Qwen2Vl{},
                                        .merge_size = 1,
                                        .images = {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
                                        .videos = {{1, 1, 1}, {1, 2, 1}}});
  CHECK(axis(ids, 1) == Ids{0, 1, 2, 3, 0, 1, 2, 3});
  CHECK(axis(ids, 2) == Ids{0, 1, 2, 3, 0, 1, 1, 3});
  CHECK(ids(2, 1, 2) == 1);
  CHECK(next(ids) == Ids{4, 4});
}

TEST_CASE("padding on either side, and what deltas count") {
  const auto ids = [](MropeReading reading) {
    return rope::mrope_ids(
        kinds("--tiit"
              "ttt---"),
        {2, 6},
        {.rule = rope::Qwen2Vl{}, .merge_size = 1, .images = {{1, 1, 2}}, .reading = reading});
  };
  const MropeIds published = ids(MropeReading::published);
  CHECK(axis(published, 0) == Ids{1, 1, 0, 1, 1, 3, 0, 1, 2, 1, 1, 1});
  CHECK(axis(published, 2) == Ids{1, 1, 0, 1, 2, 3, 0, 1, 2, 1, 1, 1});
  CHECK(next(published) == Ids{4, 3});
  CHECK(deltas(published) == Ids{-2, -3});
  const MropeIds later = ids(MropeReading::transformers_5);
  CHECK(axis(later, 0) == Ids{0, 0, 0, 1, 1, 3, 0, 1, 2, 0, 0, 0});
  CHECK(next(later) == Ids{4, 3});
  CHECK(deltas(later) == Ids{0, 0});
  // A decoded token is at the number of tokens before it, as the reading counts them, plus delta.
  CHECK(6 + published.deltas()[0] == published.next()[0]);
  CHECK(4 + later.deltas()[0] == later.next()[0]);
}

TEST_CASE("a prompt in several calls is where it would be in one") {
  for (const MropeReading reading : readings) {
    const auto ids = [&](const std::string& letters, std::vector<rope::VisionGrid> images,
                         std::vector<std::int64_t> starts) {
      return rope::mrope_ids(kinds(letters + letters),
                             {2, static_cast<std::int64_t>(letters.size())},
                             {.rule = rope::Qwen2Vl{},
                              .merge_size = 1,
                              .images = std::move(images),
                              .starts = std::move(starts),
                              .reading = reading});
    };
    const MropeIds whole = ids("tiiittii", {{1, 1, 3}, {1, 2, 1}, {1, 1, 3}, {1, 2, 1}}, {});
    const MropeIds first = ids("tiiit", {{1, 1, 3}, {1, 1, 3}}, {});
    const MropeIds second = ids("tii", {{1, 2, 1}, {1, 2, 1}}, next(first));
    for (std::int64_t a = 0; a < 3; ++a) {
      for (std::int64_t t = 0; t < 8; ++t) {
        CHECK(whole(a, 1, t) == (t < 5 ? first(a, 1, t) : second(a, 1, t - 5)));
      }
    }
    CHECK(next(second) == next(whole));
    CHECK(whole.deltas()[1] == first.deltas()[1] + second.deltas()[1]);
  }
  require_throws<InvalidArgument>("rope::mrope_ids: 2 starts for a batch of 1", [] {
    (void)rope::mrope_ids(kinds("t"), {1},
                          {.rule = rope::Qwen2Vl{}, .merge_size = 1, .starts = {0, 0}});
  });
  require_throws<InvalidArgument>(
      "rope::mrope_ids: the start of batch row 0 must be 0 to below 2^62, got -1", [] {
        (void)rope::mrope_ids(kinds("t"), {1},
                              {.rule = rope::Qwen2Vl{}, .merge_size = 1, .starts = {-1}});
      });
}

TEST_CASE("no rows, no tokens, nothing but padding") {
  const rope::MropeOptions options = {.rule = rope::Qwen3Vl{}, .merge_size = 2};
  const MropeIds none = rope::mrope_ids({}, {0, 5}, options);
  CHECK(none.values().empty());
  CHECK(none.next().empty());
  CHECK(next(rope::mrope_ids({}, {2, 0}, options)) == Ids{0, 0});
  const MropeIds padded = rope::mrope_ids(kinds("--"), {2}, options);
  CHECK(axis(padded, 0) == Ids{1, 1});
  CHECK(next(padded) == Ids{0});
  CHECK(rope::mrope_ids({}, {0}, options).coordinates().tokens() == 0);
}

TEST_CASE("kinds come from token ids or from transformers' types, with or without a mask") {
  const std::array<std::int32_t, 6> ids = {0, 5, 7, 7, 8, 0};
  const rope::VisionTokens vision = {.image = 7, .video = 8};
  CHECK(rope::token_kinds(ids, vision) == kinds("ttiivt"));
  CHECK(rope::token_kinds(ids, std::vector<int>{0, 1, 1, 1, 1, 1}, vision) == kinds("-tiivt"));
  CHECK(rope::token_kinds(std::vector<std::uint64_t>{8, 1}, vision) == kinds("vt"));
  CHECK(rope::token_kinds_from_types(std::vector<std::uint8_t>{0, 1, 2}) == kinds("tiv"));
  CHECK(rope::token_kinds_from_types(Ids{0, 1, 2}, std::array<bool, 3>{true, true, false}) ==
        kinds("ti-"));
  CHECK(rope::token_kinds(Ids{}, vision).empty());
  require_throws<InvalidArgument>(
      "rope::token_kinds: 1 mask values, but the shape of batch 1 and tokens 2 needs 2", [&] {
        (void)rope::token_kinds(Ids{1, 2}, std::vector<int>{1}, vision);
      });
  require_throws<InvalidArgument>(
      "rope::token_kinds_from_types: a type is 0 (text), 1 (image) or 2 (video), got 3 for token 1",
      [] {
        (void)rope::token_kinds_from_types(Ids{0, 3});
      });
}

TEST_CASE("a prompt of text is rotated as by plain RoPE, and images by their distance alone") {
  // One ladder for three axes, shared out: pair 0 time, 1 height, 2 width.
  const auto ladder = rope::frequencies({.rotary_dim = 6, .base = 100});
  std::vector<double> shared(9, 0.0);
  for (std::size_t pair = 0; pair < 3; ++pair) {
    shared[pair * 3 + pair] = ladder(0, 0, static_cast<std::int64_t>(pair));
  }
  const rope::Frequencies frequencies(shared, {3, 1, 3});
  const auto rotated = [&](const MropeIds& ids, rope_test::Tensor<double> x) {
    const rope::TokenTable<double> table(frequencies, ids.coordinates());
    rope::rotate<rope::Pairing::half_split>(x.view(), table);
    return x;
  };
  const auto x = rope_test::Tensor<double>::random({1, 6, 1, 6}, 3);
  const MropeIds text =
      rope::mrope_ids(kinds("tttttt"), {6}, {.rule = rope::Qwen2Vl{}, .merge_size = 1});
  auto plain = x;
  rope::rotate<rope::Pairing::half_split>(plain.view(), rope::CosSinTable<double>(ladder, 6),
                                          rope::from(0));
  const auto found = rotated(text, x);
  plain.for_each(
      [&](const rope_test::Shape& at) { REQUIRE(std::abs(found[at] - plain[at]) <= 1e-15); });
  // The same image after one and after three tokens of text: equal scores within it.
  const auto scores = [&](const std::string& letters, std::int64_t first) {
    const MropeIds ids = rope::mrope_ids(
        kinds(letters), {6}, {.rule = rope::Qwen2Vl{}, .merge_size = 1, .images = {{1, 1, 3}}});
    auto same = x;
    for (std::int64_t t = 0; t < 3; ++t) {
      for (std::int64_t i = 0; i < 6; ++i) same[{0, first + t, 0, i}] = x[{0, t, 0, i}];
    }
    const auto y = rotated(ids, same);
    std::vector<double> list;
    for (std::int64_t a = 0; a < 3; ++a) {
      for (std::int64_t b = 0; b < 3; ++b) {
        double score = 0;
        for (std::int64_t i = 0; i < 6; ++i) {
          score += y[{0, first + a, 0, i}] * y[{0, first + b, 0, i}];
        }
        list.push_back(score);
      }
    }
    return list;
  };
  const auto early = scores("tiiitt", 1);
  const auto late = scores("tttiii", 3);
  for (std::size_t i = 0; i < early.size(); ++i) CHECK(std::abs(early[i] - late[i]) <= 1e-14);
}

TEST_CASE("tokens and grids that do not belong together are refused") {
  const auto call = [](const std::string& letters, const rope::MropeOptions& options) {
    return [letters, &options] {
      (void)rope::mrope_ids(kinds(letters), {static_cast<std::int64_t>(letters.size())}, options);
    };
  };
  const rope::MropeOptions one = {
      .rule = rope::Qwen2Vl{}, .merge_size = 2, .images = {{1, 2, 4}}, .videos = {}};
  require_throws<InvalidArgument>(
      "rope::mrope_ids: 2 kinds, but the shape of batch 1 and tokens 3 "
      "needs 3",
      [&] { (void)rope::mrope_ids(kinds("tt"), {3}, one); });
  require_throws<InvalidArgument>("rope::mrope_ids: the shape has batch -1 and tokens 3", [&] {
    (void)rope::mrope_ids({}, {-1, 3}, one);
  });
  require_throws<InvalidArgument>(
      "rope::mrope_ids: token 3 of batch row 0 is an image's, but the grids are used up (image "
      "grids: 1)",
      call("tiii", one));
  require_throws<InvalidArgument>(
      "rope::mrope_ids: token 0 of batch row 0 is a video's, but the grids are used up (video "
      "grids: 0)",
      call("viit", one));
  require_throws<InvalidArgument>(
      "rope::mrope_ids: image 0 takes 2 tokens in a row, but after 1 of them token 2 of batch row "
      "0 "
      "is text",
      call("titi", one));
  require_throws<InvalidArgument>(
      "rope::mrope_ids: image 0 takes 2 tokens in a row, but batch row 0 ends after 1 of them",
      call("tti", one));
  require_throws<InvalidArgument>(
      "rope::mrope_ids: no token is of image 0, the first of its kind that is left over",
      call("ttt", one));
  require_throws<InvalidArgument>(
      "rope::mrope_ids: image 0 has 2 x 4 patches, which merge_size 3 does not divide",
      call("t", {.rule = rope::Qwen2Vl{}, .merge_size = 3, .images = {{1, 2, 4}}}));
  require_throws<InvalidArgument>(
      "rope::mrope_ids: video 0 has 0 frames of 2 x 4 patches: there must be some, and fewer than "
      "2^62",
      call("t", {.rule = rope::Qwen2Vl{}, .merge_size = 2, .videos = {{0, 2, 4}}}));
  require_throws<InvalidArgument>("rope::mrope_ids: merge_size must be at least 1, got 0",
                                  call("t", {.rule = rope::Qwen2Vl{}, .merge_size = 0}));
  require_throws<InvalidArgument>(
      "rope::mrope_ids: temporal_merge_size must be at least 1, got 0",
      call("t", {.rule = rope::Ernie45Vl{.temporal_merge_size = 0}, .merge_size = 1}));
  require_throws<InvalidArgument>(
      "rope::mrope_ids: video 0 has 3 frames, which temporal_merge_size 2 does not divide",
      call("t", {.rule = rope::Ernie45Vl{.temporal_merge_size = 2},
                 .merge_size = 1,
                 .videos = {{3, 1, 1}}}));
  require_throws<InvalidArgument>(
      "rope::mrope_ids: video 0 has 1152921504606846976 frames, but there are only 1 tokens",
      call("v", {.rule = rope::Qwen3Vl{}, .merge_size = 1, .videos = {{1LL << 60, 1, 1}}}));
  require_throws<InvalidArgument>(
      "rope::mrope_ids: reading has no value 9",
      call("t",
           {.rule = rope::Qwen2Vl{}, .merge_size = 1, .reading = static_cast<MropeReading>(9)}));
  require_throws<InvalidArgument>("rope::mrope_ids: token 1 of batch row 0 has kind 8", [&] {
    const std::vector<TokenKind> wrong = {TokenKind::text, static_cast<TokenKind>(8)};
    (void)rope::mrope_ids(wrong, {2}, one);
  });
}

TEST_CASE("time steps that make no sense are refused") {
  const auto call = [](double rate, std::vector<double> seconds) {
    return [rate, seconds = std::move(seconds)] {
      (void)rope::mrope_ids(kinds("vv"), {2},
                            {.rule = rope::Qwen25Vl{.tokens_per_second = rate},
                             .merge_size = 1,
                             .videos = {{2, 1, 1}},
                             .seconds_per_grid = seconds});
    };
  };
  require_throws<InvalidArgument>(
      "rope::mrope_ids: tokens_per_second must be finite and not negative, got -1", call(-1, {1}));
  require_throws<InvalidArgument>(
      "rope::mrope_ids: seconds_per_grid has 2 entries, but there are 1 videos", call(2, {1, 1}));
  require_throws<InvalidArgument>(
      "rope::mrope_ids: seconds_per_grid of video 0 must be finite and not negative, got nan",
      call(2, {std::numeric_limits<double>::quiet_NaN()}));
  require_throws<InvalidArgument>(
      "rope::mrope_ids: 2 frames of 1e+12 seconds at 2 tokens per second put the end of video 0 "
      "beyond 2^40",
      call(2, {1e12}));
  require_throws<InvalidArgument>(
      "rope::mrope_ids: seconds_per_grid has 1 entries, but only the rule Qwen25Vl has times", [] {
        (void)rope::mrope_ids(kinds("t"), {1},
                              {.rule = rope::Qwen2Vl{}, .merge_size = 1, .seconds_per_grid = {1}});
      });
  require_throws<InvalidArgument>(
      "rope::mrope_ids: video 0 takes 2305843009213693952 tokens in a row, but batch row 0 ends "
      "after 1 of them",
      [] {
        (void)rope::mrope_ids(kinds("v"), {1},
                              {.rule = rope::Qwen25Vl{.tokens_per_second = 0},
                               .merge_size = 1,
                               .videos = {{1LL << 60, 2, 1}},
                               .seconds_per_grid = {1e12},
                               .reading = MropeReading::transformers_4});
      });
  CHECK(rope::seconds_per_grid(2, 2) == 1.0);
  CHECK(rope::seconds_per_grid(8, 2) == 0.25);
  require_throws<InvalidArgument>(
      "rope::seconds_per_grid: frames_per_second must be finite and above 0, frames_per_patch at "
      "least 1, got 0 and 2",
      [] { (void)rope::seconds_per_grid(0, 2); });
}

TEST_CASE("ids from elsewhere must be as many as their shape says") {
  const MropeIds ids({0, 1, 0, 1, 0, 1}, {2}, {2}, {0});
  CHECK(axis(ids, 2) == Ids{0, 1});
  require_throws<InvalidArgument>(
      "rope::MropeIds: 4 values, which are not as many for each of 3 axes", [] {
        (void)MropeIds({0, 1, 2, 3}, {2}, {2}, {0});
      });
  require_throws<InvalidArgument>(
      "rope::MropeIds: 1 ids for each axis, but the shape of batch 1 and tokens 2 needs 2", [] {
        (void)MropeIds({0, 1, 2}, {2}, {2}, {0});
      });
  require_throws<InvalidArgument>(
      "rope::MropeIds: 2 values of next and 1 of deltas for a batch of 1", [] {
        (void)MropeIds({0, 1, 2}, {1}, {2, 2}, {0});
      });
}
