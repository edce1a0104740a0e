// Reading of a little-endian binary file, with errors that name the file and the numbers.
#pragma once

#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace tinystories {

static_assert(std::endian::native == std::endian::little, "both file formats are little-endian");

/// All `parts` as one text.
template <class... Parts>
std::string text_of(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

/// A regular file that is read from its start to its end. Every failure throws std::runtime_error
/// with "<path>: <what, with the numbers>".
class BinaryFile {
 public:
  explicit BinaryFile(const std::string& path) : path_(path) {
    // A folder or a device would open, and then have no size that lengths can be held against.
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
      fail(error ? error.message() : std::string("not a regular file"));
    }
    size_ = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
    stream_.open(path, std::ios::binary);
    if (error || !stream_) {
      fail("cannot be opened");
    }
  }

  std::int64_t size() const { return size_; }
  std::int64_t remaining() const { return size_ - position_; }

  /// Reads `count` objects of a trivial type; `what` names them if the file is too short.
  template <class T>
  void read(T* out, std::int64_t count, const std::string& what) {
    const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
    if (bytes > remaining()) {
      fail("truncated: ", what, " takes ", bytes, " bytes from byte ", position_, " on, but only ",
           remaining(), " are left");
    }
    if (!stream_.read(reinterpret_cast<char*>(out), bytes)) {
      fail("cannot read ", what, ", ", bytes, " bytes from byte ", position_, " on");
    }
    position_ += bytes;
  }

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... what) const {
    throw std::runtime_error(text_of(path_, ": ", what...));
  }

 private:
  std::string path_;
  std::ifstream stream_;
  std::int64_t size_ = 0;
  std::int64_t position_ = 0;
};

}  // namespace tinystories
