// T5's buckets against integers worked out from the formula without any logarithm, and its bias.

#include "rope/encodings/t5_bias.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "encodings/message.hpp"
#include "rope/encodings/matrix.hpp"
#include "support/catch.hpp"

using rope_test::message_of;

namespace {

/// A number of any size, least digit first, in base 2^32.
class Natural {
 public:
  explicit Natural(std::uint32_t value) : digits_{value} {}

  Natural& operator*=(std::uint32_t factor) {
    std::uint64_t carry = 0;
    for (std::uint32_t& digit : digits_) {
      carry += std::uint64_t{digit} * factor;
      digit = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) digits_.push_back(static_cast<std::uint32_t>(carry));
    return *this;
  }

  bool operator<(const Natural& other) const {
    if (digits_.size() != other.digits_.size()) return digits_.size() < other.digits_.size();
    for (std::size_t i = digits_.size(); i-- > 0;) {
      if (digits_[i] != other.digits_[i]) return digits_[i] < other.digits_[i];
    }
    return false;
  }

 private:
  std::vector<std::uint32_t> digits_;
};

Natural product_of_powers(int a, int times_a, int b, int times_b) {
  Natural product(1);
  for (int i = 0; i < times_a; ++i) product *= static_cast<std::uint32_t>(a);
  for (int i = 0; i < times_b; ++i) product *= static_cast<std::uint32_t>(b);
  return product;
}

/// One direction's bucket: exact up to e = half of the buckets, then e + the largest m below L =
/// buckets - e with log(distance / e) / log(max / e) * L >= m, that is
/// distance^L * e^m >= max^m * e^L.
int one_direction(int distance, int buckets, int max_distance) {
  const int e = buckets / 2;
  const int l = buckets - e;
  if (distance < e) return distance;
  int m = 0;
  while (m + 1 < l && !(product_of_powers(distance, l, e, m + 1) <
                        product_of_powers(max_distance, m + 1, e, l))) {
    ++m;
  }
  return e + m;
}

int expected_bucket(int relative, bool bidirectional, int buckets, int max_distance) {
  if (!bidirectional) {
    return relative > 0 ? 0 : one_direction(-relative, buckets, max_distance);
  }
  const int half = buckets / 2;
  return relative > 0 ? half + one_direction(relative, half, max_distance)
                      : one_direction(-relative, half, max_distance);
}

}  // namespace

TEST_CASE("all distances from -200 to 200, in both kinds of attention") {
  for (const bool bidirectional : {true, false}) {
    const rope::T5Buckets buckets({.bidirectional = bidirectional});
    CHECK(buckets.buckets() == 32);
    for (int relative = -200; relative <= 200; ++relative) {
      INFO("bidirectional " << bidirectional << ", relative position " << relative);
      CHECK(buckets(relative) == expected_bucket(relative, bidirectional, 32, 128));
    }
  }
}

TEST_CASE("where buckets start, by hand") {
  // Bidirectional: 8 exact distances, then 8 * 16^(m/8) = 8 * 2^(m/2), rounded up: 8, 11.3, 16,
  // 22.6, 32, 45.3, 64, 90.5. The powers of two are ties, where a logarithm that is off by an ulp
  // gives the bucket before.
  const rope::T5Buckets both({.bidirectional = true});
  const std::vector<std::int64_t> starts = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91};
  CHECK(std::vector<std::int64_t>(both.first_distances().begin(), both.first_distances().end()) ==
        starts);
  CHECK(both(0) == 0);
  CHECK(both(1) == 17);
  CHECK(both(-1) == 1);
  CHECK(both(15) == 25);
  CHECK(both(16) == 26);
  CHECK(both(31) == 27);
  CHECK(both(32) == 28);
  CHECK(both(63) == 29);
  CHECK(both(64) == 30);
  CHECK(both(90) == 30);
  CHECK(both(91) == 31);
  CHECK(both(128) == 31);
  CHECK(both(-64) == 14);
  CHECK(both(-1000000) == 15);

  // Causal: 16 exact distances, then 16 * 8^(m/16) = 2^(4 + 3m/16).
  const rope::T5Buckets causal({.bidirectional = false});
  CHECK(causal(5) == 0);
  CHECK(causal(0) == 0);
  CHECK(causal(-15) == 15);
  CHECK(causal(-16) == 16);
  CHECK(causal(-18) == 16);
  CHECK(causal(-19) == 17);  // 2^(4 + 3/16) = 18.2
  CHECK(causal(-112) == 30);
  CHECK(causal(-113) == 31);  // 2^(4 + 45/16) = 112.4
  CHECK(causal(-1000) == 31);

  CHECK(both((std::numeric_limits<std::int64_t>::min)()) == 15);
  CHECK(both((std::numeric_limits<std::int64_t>::max)()) == 31);
  CHECK(causal((std::numeric_limits<std::int64_t>::min)()) == 31);
  CHECK(causal((std::numeric_limits<std::int64_t>::max)()) == 0);
}

TEST_CASE("other numbers of buckets and distances") {
  const auto check = [](bool bidirectional, int count, int max_distance) {
    const rope::T5Buckets buckets(
        {.bidirectional = bidirectional, .buckets = count, .max_distance = max_distance});
    for (int relative = -max_distance - 5; relative <= max_distance + 5; ++relative) {
      INFO("bidirectional " << bidirectional << ", " << count << " buckets to " << max_distance
                            << ", relative position " << relative);
      CHECK(buckets(relative) == expected_bucket(relative, bidirectional, count, max_distance));
    }
  };
  check(false, 2, 2);
  check(true, 4, 100);
  check(false, 3, 7);
  check(true, 6, 64);
  check(false, 32, 17);  // most of the logarithmic buckets are empty
  check(true, 64, 256);
  check(false, 20, 640);  // ties at 10 * 64^(m/10)
  check(true, 40, 160);
}

TEMPLATE_TEST_CASE("the bias is weights[bucket, head]", "", float, double) {
  using T = TestType;
  constexpr int heads = 3;
  std::vector<T> weights(32 * heads);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<T>(i);
  const auto table = rope::matrix(weights, {32, heads});
  for (const bool bidirectional : {true, false}) {
    const rope::T5Buckets buckets({.bidirectional = bidirectional});
    for (const int first_query : {0, 37, 150}) {
      for (const int first_key : {0, 100}) {
        constexpr int queries = 5;
        constexpr int keys = 140;
        std::vector<T> s(2 * heads * queries * keys, T(1000));
        std::vector<T> bias(heads * queries * keys, T(-1));
        const rope::ScorePositions positions{.first_query = first_query, .first_key = first_key};
        rope::add_t5_bias(rope::bhtd(s, {2, heads, queries, keys}), table, buckets, positions);
        rope::write_t5_bias(rope::scores(bias, {heads, queries, keys}), table, buckets, positions);
        bool same = true;
        for (int b = 0; b < 2; ++b) {
          for (int head = 0; head < heads; ++head) {
            for (int query = 0; query < queries; ++query) {
              for (int key = 0; key < keys; ++key) {
                const int bucket =
                    expected_bucket(first_key + key - first_query - query, bidirectional, 32, 128);
                const auto at = static_cast<std::size_t>((head * queries + query) * keys + key);
                const T expected = static_cast<T>(bucket * heads + head);
                same = same && bias[at] == expected &&
                       s[static_cast<std::size_t>(b * heads * queries * keys) + at] ==
                           T(1000) + expected;
              }
            }
          }
        }
        CHECK(same);
      }
    }
  }
}

TEST_CASE("what cannot be right is refused, and the scores stay as they are") {
  CHECK(message_of([] { rope::T5Buckets({.bidirectional = false, .buckets = 0}); }) ==
        "InvalidArgument: rope::T5Buckets: buckets must be from 2 to 2^20, got 0");
  CHECK(message_of([] { rope::T5Buckets({.bidirectional = true, .buckets = 0}); }) ==
        "InvalidArgument: rope::T5Buckets: buckets for both directions must be even, from 4 to "
        "2^20, got 0");
  CHECK(message_of([] { rope::T5Buckets({.bidirectional = true, .buckets = 33}); }) !=
        "nothing thrown");
  CHECK(message_of([] { rope::T5Buckets({.bidirectional = true, .buckets = -32}); }) !=
        "nothing thrown");
  CHECK(message_of([] { rope::T5Buckets({.bidirectional = false, .max_distance = 16}); }) ==
        "InvalidArgument: rope::T5Buckets: max_distance must be above the 16 distances with a "
        "bucket of their own and below 2^53, got 16");
  CHECK(message_of([] { rope::T5Buckets({.bidirectional = true, .max_distance = -1}); }) !=
        "nothing thrown");

  const rope::T5Buckets buckets({.bidirectional = true});
  const std::vector<float> weights(32 * 2, 1.0f);
  const std::vector<float> before(2 * 3 * 3, 7.0f);
  std::vector<float> s = before;
  const auto view = rope::scores(s, {2, 3, 3});
  CHECK(message_of([&] {
          rope::add_t5_bias(view, rope::matrix(weights, {16, 4}), buckets, {.first_query = 0});
        }) == "InvalidArgument: rope::add_t5_bias: weights has rows 16, but there are buckets 32");
  CHECK(message_of([&] {
          rope::add_t5_bias(rope::scores(s, {1, 3, 6}), rope::matrix(weights, {32, 2}), buckets,
                            {.first_query = 0});
        }) ==
        "InvalidArgument: rope::add_t5_bias: weights has columns 2, but the scores have heads 1");
  CHECK(message_of([&] {
          rope::add_t5_bias(view, rope::thd(weights, {16, 2, 2}), buckets, {.first_query = 0});
        }) ==
        "InvalidArgument: rope::add_t5_bias: weights must be a matrix, batch 1 and heads 1, but "
        "has batch 1 and heads 2");
  CHECK(message_of([&] {
          rope::write_t5_bias(view, rope::matrix(weights, {32, 2}), buckets,
                              {.first_query = 0, .first_key = -4});
        }) ==
        "OutOfRange: rope::write_t5_bias: positions: 3 queries from 0 on and 3 keys from -4 on are "
        "not all within 0 .. 2^62");
  CHECK(s == before);
}
