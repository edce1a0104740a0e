// A file as read-only memory.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>

#include "failure.hpp"

namespace convert_weights {

/// A regular file, mapped while this object lives.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path) {
    // Without O_NONBLOCK, opening a pipe would wait for somebody to write into it.
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
      fail_with_errno(path.string(), ": cannot be opened");
    }
    struct stat status {};
    const bool known = ::fstat(file, &status) == 0;
    if (known && S_ISREG(status.st_mode) && status.st_size > 0) {
      size_ = static_cast<std::size_t>(status.st_size);
      void* const memory = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
      if (memory != MAP_FAILED) {
        data_ = static_cast<std::byte*>(memory);
        ::madvise(data_, size_, MADV_SEQUENTIAL);
      }
    }
    const int error = errno;
    ::close(file);
    if (!known || !S_ISREG(status.st_mode)) {
      fail(path.string(), ": is not a regular file");
    }
    if (size_ > 0 && data_ == nullptr) {
      errno = error;
      fail_with_errno(path.string(), ": ", size_, " bytes cannot be mapped");
    }
  }

  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile() {
    if (data_ != nullptr) {
      ::munmap(data_, size_);
    }
  }

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace convert_weights
