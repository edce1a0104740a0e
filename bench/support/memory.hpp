// The memory that all benchmarks of a program work on, and the limits as benchmarks.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "limits.hpp"
#include "rope/core.hpp"
#include "run.hpp"

namespace rope_bench {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

/// Memory on pages of its own, so that no benchmark is luckier than another.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::int64_t count)
      : memory_(static_cast<T*>(std::aligned_alloc(4096, bytes_for(count)))) {
    if (memory_ == nullptr) std::abort();
    for (std::int64_t i = 0; i < count; ++i) {
      memory_.get()[i] = T(static_cast<float>(i % 251 - 125) / 128.0F);
    }
  }

  T* data() const { return memory_.get(); }

 private:
  static std::size_t bytes_for(std::int64_t count) {
    return (static_cast<std::size_t>(count) * sizeof(T) + 4096) / 4096 * 4096;
  }

  std::unique_ptr<T, Free> memory_;
};

/// Enough for the largest of shapes().
inline constexpr std::int64_t most_elements = std::int64_t{1} << 25;

/// What is rotated in place, or read. The same for all benchmarks of a program: each then finds in
/// the caches what the others would.
template <class T>
T* input() {
  static const Buffer<T> buffer(most_elements);
  return buffer.data();
}

/// What is written out of place.
template <class T>
T* output() {
  static const Buffer<T> buffer(most_elements);
  return buffer.data();
}

template <class T>
rope::View<T> view(T* data, const Shape& shape) {
  return rope::thd(data, {shape.tokens, shape.heads, shape.dim});
}

/// Plain frequencies for positions of the longest of shapes().
inline const rope::CosSinTable<float>& table(std::int64_t dim) {
  static std::map<std::int64_t, rope::CosSinTable<float>> made;
  auto found = made.find(dim);
  if (found == made.end()) {
    const std::int64_t rows = (dim == 128 ? 32768 : 4096) + first_position;
    found = made.try_emplace(dim, rope::frequencies({.rotary_dim = dim}), rows).first;
  }
  return found->second;
}

/// The limit of a pass in place over `bytes`; returns its name.
inline std::string add_stream(const std::string& of, std::int64_t bytes) {
  const std::string name = "stream/" + of;
  add(name, "", [x = input<float>(), count = bytes / 4] { widest().stream(x, count, 1.0F); });
  return name;
}
inline std::string add_stream(const Shape& shape) {
  return add_stream(shape.name(), shape.elements() * 4);
}

/// The limit of a pass out of place that reads and writes `bytes`; returns its name.
inline std::string add_memcpy(const Shape& shape) {
  const std::string name = "memcpy/" + shape.name();
  add(name, "", [from = input<float>(), to = output<float>(), bytes = shape.elements() * 4] {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  });
  return name;
}

}  // namespace rope_bench
