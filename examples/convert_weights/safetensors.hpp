// The header of a safetensors file, held against the file before anything relies on it.
//
// A file is: the length of the header as 8 bytes, little-endian; the header, JSON padded with
// spaces; the data. The header maps each tensor's name to its dtype, its shape, and where its data
// begins and ends, counted from the end of the header.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "failure.hpp"

namespace convert_weights {

struct Tensor {
  std::string name;
  std::int64_t element_bits = 0;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;
  std::int64_t begin = 0;  // in the data
  std::int64_t end = 0;

  std::int64_t bytes() const { return end - begin; }
};

struct Header {
  std::int64_t data_start = 0;  // in the file
  std::vector<Tensor> tensors;  // in the order of their data, which they cover without gaps
};

/// The limit that the format's own library sets.
constexpr std::int64_t max_header_bytes = 100'000'000;

namespace header_detail {

using nlohmann::json;

inline std::int64_t bits_of(const std::string& dtype) {
  static const std::map<std::string, std::int64_t> known = {
      {"F4", 4},   {"F6_E2M3", 6},     {"F6_E3M2", 6}, {"BOOL", 8},    {"U8", 8},
      {"I8", 8},   {"F8_E4M3", 8},     {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
      {"I16", 16}, {"F8_E5M2FNUZ", 8}, {"U16", 16},    {"F16", 16},    {"BF16", 16},
      {"I32", 32}, {"U32", 32},        {"F32", 32},    {"I64", 64},    {"U64", 64},
      {"F64", 64}, {"C64", 64}};
  const auto found = known.find(dtype);
  return found == known.end() ? 0 : found->second;
}

[[noreturn]] inline void refuse_entry(const std::string& file, const std::string& name) {
  fail(file, ": ", quoted(name),
       name == "__metadata__" ? ": is not an object of strings"
                              : ": needs a dtype, a shape and data_offsets");
}

/// Parses JSON without trusting its depth, its duplicate keys or the lengths of its arrays: the
/// parser alone would keep the last of two equal names, and take any amount of memory.
inline json parse_strictly(const std::string& file, std::span<const std::byte> text) {
  // The parser takes a zero byte for the end of the text, whatever comes after it.
  if (std::find(text.begin(), text.end(), std::byte{0}) != text.end()) {
    fail(file, ": the header is not JSON: it has a zero byte");
  }
  constexpr int max_rank = 64;
  std::set<std::string> names[3];
  std::size_t array_length = 0;
  bool is_object = false;
  std::string entry;
  // The parser walks through an object's members whenever one of them ends, which takes forever
  // for many. So entries are taken out of its hands as they come.
  json entries = json::object();
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    switch (event) {
      case json::parse_event_t::object_start:
        if (depth > 1) {
          fail(file, ": the header is nested too deeply");
        }
        is_object = is_object || depth == 0;
        names[depth + 1].clear();
        break;
      case json::parse_event_t::array_start:
        if (depth > 2) {
          fail(file, ": the header is nested too deeply");
        }
        if (depth == 1 && is_object) {
          refuse_entry(file, entry);
        }
        array_length = 0;
        break;
      case json::parse_event_t::key: {
        const auto& name = parsed.get_ref<const std::string&>();
        if (!names[depth].insert(name).second) {
          fail(file, ": the header names ", quoted(name), " twice");
        }
        if (depth == 1) {
          entry = name;
        }
        break;
      }
      case json::parse_event_t::value:
        if (depth == 1 && is_object) {
          refuse_entry(file, entry);
        }
        if (depth == 3 && ++array_length > max_rank) {
          fail(file, ": the header has an array of more than ", max_rank, " values");
        }
        break;
      case json::parse_event_t::object_end:
        if (depth == 1 && is_object) {
          entries[entry] = std::move(parsed);
          return false;
        }
        break;
      case json::parse_event_t::array_end:
        break;
    }
    return true;
  };
  try {
    const auto* const first = reinterpret_cast<const char*>(text.data());
    json whole = json::parse(first, first + text.size(), watch);
    return is_object ? std::move(entries) : std::move(whole);
  } catch (const json::exception& error) {
    fail(file, ": the header is not JSON: ", error.what());
  }
}

/// A number from 0 to 2^63 - 1, or -1.
inline std::int64_t count_of(const json& value) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > INT64_MAX) {
    return -1;
  }
  return value.get<std::int64_t>();
}

inline Tensor read_tensor(const std::string& where, const std::string& name, const json& entry) {
  Tensor tensor;
  tensor.name = name;
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets")) {
    fail(where, "needs a dtype, a shape and data_offsets");
  }
  const json& dtype = entry["dtype"];
  tensor.element_bits = dtype.is_string() ? bits_of(dtype.get<std::string>()) : 0;
  if (tensor.element_bits == 0) {
    fail(where, "unknown dtype ", dtype.is_string() ? quoted(dtype.get<std::string>()) : "");
  }
  if (!entry["shape"].is_array()) {
    fail(where, "the shape is not an array");
  }
  tensor.elements = 1;
  bool overflows = false;
  for (const json& extent : entry["shape"]) {
    tensor.shape.push_back(count_of(extent));
    if (tensor.shape.back() < 0) {
      fail(where, "the shape has ", extent.dump(), ", which is not a size");
    }
    overflows |= __builtin_mul_overflow(tensor.elements, tensor.shape.back(), &tensor.elements);
  }
  std::int64_t bits = 0;
  if (overflows || __builtin_mul_overflow(tensor.elements, tensor.element_bits, &bits)) {
    fail(where, "the shape is too large");
  }
  const json& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2) {
    fail(where, "data_offsets are not two numbers");
  }
  tensor.begin = count_of(offsets[0]);
  tensor.end = count_of(offsets[1]);
  if (tensor.begin < 0 || tensor.end < tensor.begin) {
    fail(where, "data_offsets ", offsets[0].dump(), " to ", offsets[1].dump(), " are no range");
  }
  if (bits % 8 != 0 || bits / 8 != tensor.bytes()) {
    fail(where, "the shape takes ", bits, " bits, but data_offsets span ", tensor.bytes(),
         " bytes");
  }
  return tensor;
}

}  // namespace header_detail

/// Reads and checks the header of a whole file; `file` names it in messages.
///
/// Throws std::runtime_error, naming the tensor, unless every dtype is known, every shape takes
/// just the bytes between its offsets, and the tensors cover the data exactly once.
inline Header read_header(const std::string& file, std::span<const std::byte> bytes) {
  namespace detail = header_detail;
  if (bytes.size() < 8) {
    fail(file, ": ", bytes.size(), " bytes are too few for a safetensors file");
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    length |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  }
  if (length > static_cast<std::uint64_t>(max_header_bytes)) {
    fail(file, ": a header of ", length, " bytes is more than ", max_header_bytes);
  }
  if (length > bytes.size() - 8) {
    fail(file, ": a header of ", length, " bytes does not fit into ", bytes.size(), " bytes");
  }
  const auto text = bytes.subspan(8, static_cast<std::size_t>(length));
  const nlohmann::json json = detail::parse_strictly(file, text);
  if (!json.is_object()) {
    fail(file, ": the header is not a JSON object");
  }
  Header header;
  header.data_start = static_cast<std::int64_t>(8 + length);
  for (const auto& [name, entry] : json.items()) {
    const std::string where = file + ": " + quoted(name) + ": ";
    if (name != "__metadata__") {
      header.tensors.push_back(detail::read_tensor(where, name, entry));
      continue;
    }
    if (!entry.is_object() || !std::all_of(entry.begin(), entry.end(),
                                           [](const auto& value) { return value.is_string(); })) {
      fail(where, "is not an object of strings");
    }
  }
  std::sort(header.tensors.begin(), header.tensors.end(), [](const Tensor& a, const Tensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::int64_t covered = 0;
  for (const Tensor& tensor : header.tensors) {
    if (tensor.begin != covered) {
      fail(file, ": ", quoted(tensor.name), ": data begin at byte ", tensor.begin,
           ", but the tensor before ends at byte ", covered);
    }
    covered = tensor.end;
  }
  const std::int64_t data_bytes = static_cast<std::int64_t>(bytes.size()) - header.data_start;
  if (covered != data_bytes) {
    fail(file, ": the tensors take ", covered, " bytes of data, but the file has ", data_bytes);
  }
  return header;
}

}  // namespace convert_weights
