// One line on stderr that says how far a long run is.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>

namespace tinystories {

/// Tokens read, of how many at most, and how fast: rewritten in place several times a second, with
/// the totals on a line below at the end.
class Progress {
 public:
  /// With `is_shown` false only the totals appear: where a story runs over the same terminal, it
  /// shows by itself how far it is.
  Progress(std::int64_t most_tokens, bool is_shown) : most_(most_tokens), is_shown_(is_shown) {}

  /// So many more were read.
  void add(std::int64_t tokens) {
    tokens_ += tokens;
    const auto now = Clock::now();
    if (is_shown_ && now - shown_ >= std::chrono::milliseconds(200)) {
      shown_ = now;
      std::fprintf(stderr, "\r%lld of at most %lld tokens, %.0f tokens per second ",
                   static_cast<long long>(tokens_), static_cast<long long>(most_), speed());
      std::fflush(stderr);
      has_line_ = true;
    }
  }

  void finish() const {
    std::fprintf(stderr, "%s%lld tokens, %.0f tokens per second\n", has_line_ ? "\n" : "",
                 static_cast<long long>(tokens_), speed());
  }

 private:
  using Clock = std::chrono::steady_clock;

  double speed() const {
    const std::chrono::duration<double> elapsed = Clock::now() - start_;
    return static_cast<double>(tokens_) / elapsed.count();
  }

  std::int64_t most_;
  bool is_shown_;
  bool has_line_ = false;
  std::int64_t tokens_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_{};  // long ago: the first tokens show at once
};

}  // namespace tinystories
