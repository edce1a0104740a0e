// How far the work is, on stderr if somebody may be looking.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>

namespace convert_weights {

class Progress {
 public:
  explicit Progress(std::int64_t total_bytes)
      : total_(total_bytes), is_shown_(::isatty(STDERR_FILENO) == 1) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() {
    if (is_shown_) {
      std::fputs("\r\033[K", stderr);
    }
  }

  void add(std::int64_t bytes) {
    done_ += bytes;
    const auto now = std::chrono::steady_clock::now();
    if (!is_shown_ || now - last_ < std::chrono::milliseconds(100)) {
      return;
    }
    last_ = now;
    const double share = total_ > 0 ? static_cast<double>(done_) / static_cast<double>(total_) : 1;
    std::fprintf(stderr, "\r%3.0f %%  %.2f of %.2f GB", 100 * share,
                 static_cast<double>(done_) * 1e-9, static_cast<double>(total_) * 1e-9);
    std::fflush(stderr);
  }

 private:
  std::int64_t total_;
  std::int64_t done_ = 0;
  bool is_shown_;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace convert_weights
