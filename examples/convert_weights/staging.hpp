// Files that appear whole or not at all.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "failure.hpp"

namespace convert_weights {

/// Somebody asked the program to end; set by its signal handler.
inline volatile std::sig_atomic_t interrupted_by = 0;

class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

inline void flush_to_disk(const std::filesystem::path& path, int file) {
  // Some file systems cannot flush a folder and say EINVAL.
  if (::fsync(file) != 0 && errno != EINVAL) {
    fail_with_errno(path.string(), ": cannot be written to the disk");
  }
}

inline void flush_folder(const std::filesystem::path& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) {
    fail_with_errno(path.string(), ": cannot be opened");
  }
  const bool failed = ::fsync(folder) != 0 && errno != EINVAL;
  const int error = errno;
  ::close(folder);
  if (failed) {
    errno = error;
    fail_with_errno(path.string(), ": cannot be written to the disk");
  }
}

/// A new file that is written from its start to its end.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path)
      : path_(std::move(path)),
        file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
    if (file_ < 0) {
      fail_with_errno(path_.string(), ": cannot be made");
    }
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() {
    if (file_ >= 0) {
      ::close(file_);
    }
  }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      if (interrupted_by != 0) {
        throw Interrupted();
      }
      const ssize_t written = ::write(file_, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) {
        fail_with_errno(path_.string(), ": cannot be written");
      }
      bytes = bytes.subspan(static_cast<std::size_t>(std::max(written, ssize_t{0})));
    }
  }

  /// Makes sure that all is on the disk.
  void finish() {
    flush_to_disk(path_, file_);
    if (::close(std::exchange(file_, -1)) != 0) {
      fail_with_errno(path_.string(), ": cannot be closed");
    }
  }

 private:
  std::filesystem::path path_;
  int file_;
};

/// A folder beside `target`, in which its content is made. It is gone with this object; only a kill
/// that no program can catch leaves it behind, under a name that ends in .partial- and six letters.
class Staging {
 public:
  explicit Staging(std::filesystem::path target) : target_(std::move(target)) {
    if (std::filesystem::exists(std::filesystem::symlink_status(target_))) {
      fail(target_.string(), ": is there already");
    }
    std::string name = target_.string() + ".partial-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
      fail_with_errno(name, ": cannot be made");
    }
    path_ = name;
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

  /// Makes the one file `name` the target. Never replaces anything.
  void publish_file(const std::string& name) {
    const std::filesystem::path file = path_ / name;
    // A new link to the file cannot replace another one, as renaming would.
    if (::link(file.c_str(), target_.c_str()) != 0) {
      const bool without_links = errno == EPERM || errno == EOPNOTSUPP || errno == EMLINK;
      if (!without_links || std::filesystem::exists(target_) ||
          ::rename(file.c_str(), target_.c_str()) != 0) {
        fail_with_errno(target_.string(), ": cannot be put in place");
      }
    }
    flush_folder(parent());
  }

  /// Makes the folder with all that is in it the target. Never replaces anything but an empty
  /// folder.
  void publish_folder() {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    if (::chmod(path_.c_str(), 0777 & ~mask) != 0) {
      fail_with_errno(path_.string(), ": cannot be opened to others");
    }
    flush_folder(path_);
    if (::rename(path_.c_str(), target_.c_str()) != 0) {
      fail_with_errno(target_.string(), ": cannot be put in place");
    }
    flush_folder(parent());
  }

 private:
  std::filesystem::path parent() const {
    return target_.has_parent_path() ? target_.parent_path() : std::filesystem::path(".");
  }

  std::filesystem::path target_;
  std::filesystem::path path_;
};

}  // namespace convert_weights
