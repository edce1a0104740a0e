// Safetensors files made by hand, without the code that reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rope_test {

/// The length of a header, the header, the data.
inline std::string safetensors(const std::string& header, const std::string& data) {
  std::string bytes;
  for (unsigned i = 0; i < 8; ++i) {
    bytes += static_cast<char>(static_cast<unsigned char>(header.size() >> (8 * i)));
  }
  return bytes + header + data;
}

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// A tensor of elements of two bytes, whose bytes follow from its name.
struct SmallTensor {
  std::string name;
  std::vector<std::int64_t> shape;

  std::int64_t bytes() const {
    std::int64_t count = 2;
    for (const std::int64_t extent : shape) count *= extent;
    return count;
  }
  std::string data() const {
    std::uint64_t state = 1469598103934665603U;
    for (const char letter : name) {
      state = (state ^ static_cast<unsigned char>(letter)) * 1099511628211U;
    }
    std::string text;
    for (std::int64_t i = 0; i < bytes(); ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      text += static_cast<char>(static_cast<unsigned char>(state >> 56));
    }
    return text;
  }
};

inline std::string header_of(const std::vector<SmallTensor>& tensors) {
  std::string header = R"({"__metadata__":{"format":"pt"})";
  std::int64_t begin = 0;
  for (const SmallTensor& tensor : tensors) {
    header += ",\"" + tensor.name + R"(":{"dtype":"BF16","shape":[)";
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
      header += (i > 0 ? "," : "") + std::to_string(tensor.shape[i]);
    }
    const std::int64_t end = begin + tensor.bytes();
    header += "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}";
    begin = end;
  }
  header += "}";
  header.append((8 - header.size() % 8) % 8, ' ');
  return header;
}

inline std::string file_of(const std::vector<SmallTensor>& tensors) {
  std::string data;
  for (const SmallTensor& tensor : tensors) data += tensor.data();
  return safetensors(header_of(tensors), data);
}

/// Layer `layer` of a model of width 6 with `heads` heads of `head_dim` for q, and of `kv_heads`.
inline std::vector<SmallTensor> layer(int number, std::int64_t heads, std::int64_t kv_heads,
                                      std::int64_t head_dim) {
  const std::string start = "model.layers." + std::to_string(number) + ".";
  const std::int64_t q = heads * head_dim;
  const std::int64_t k = kv_heads * head_dim;
  return {
      {start + "input_layernorm.weight", {6}},         {start + "self_attn.q_proj.weight", {q, 6}},
      {start + "self_attn.q_proj.bias", {q}},          {start + "self_attn.k_proj.weight", {k, 6}},
      {start + "self_attn.k_proj.bias", {k}},          {start + "self_attn.v_proj.weight", {k, 6}},
      {start + "self_attn.v_proj.bias", {k}},          {start + "self_attn.o_proj.weight", {6, q}},
      {start + "self_attn.q_norm.weight", {head_dim}}, {start + "self_attn.k_norm.weight", {k}}};
}

}  // namespace rope_test
