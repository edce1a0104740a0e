// The header of a safetensors file: every lie is refused by a message that names the tensor, and
// thousands of damaged headers give a result or a message.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "../../examples/convert_weights/plan.hpp"
#include "../../examples/convert_weights/safetensors.hpp"
#include "convert_weights/small_file.hpp"
#include "support/catch.hpp"
#include "support/tensor.hpp"

namespace {

using convert_weights::Header;
using convert_weights::read_header;
using rope_test::as_bytes;
using rope_test::contains;
using rope_test::Random;
using rope_test::safetensors;

Header read(const std::string& bytes) { return read_header("f", as_bytes(bytes)); }

Header read(const std::string& header, std::size_t data_bytes) {
  return read(safetensors(header, std::string(data_bytes, 'x')));
}

std::string refusal(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "accepted";
}

std::string refusal(const std::string& header, std::size_t data_bytes) {
  return refusal(safetensors(header, std::string(data_bytes, 'x')));
}

/// A file of 8 data bytes with one tensor "a" that is described so.
std::string refusal_of_a(const std::string& entry) { return refusal("{\"a\":" + entry + "}", 8); }

}  // namespace

TEST_CASE("a header is read as it stands") {
  const Header header =
      read(R"({"b":{"dtype":"F32","shape":[],"data_offsets":[12,16]},)"
           R"("a":{"shape":[2,3],"dtype":"BF16","data_offsets":[0,12],"later":[1,"x"]},)"
           R"("none":{"dtype":"I64","shape":[0,7],"data_offsets":[12,12]},)"
           R"("__metadata__":{"format":"pt"},)"
           R"("half":{"dtype":"F4","shape":[2,3],"data_offsets":[16,19]}}    )",
           19);
  REQUIRE(header.tensors.size() == 4);
  CHECK(header.tensors[0].name == "a");
  CHECK(header.tensors[0].shape == std::vector<std::int64_t>{2, 3});
  CHECK(header.tensors[0].element_bits == 16);
  CHECK(header.tensors[0].elements == 6);
  CHECK(header.tensors[0].end == 12);
  CHECK(header.tensors[1].name == "none");
  CHECK(header.tensors[2].name == "b");
  CHECK(header.tensors[2].elements == 1);
  CHECK(header.tensors[3].name == "half");
  CHECK(read("{}", 0).tensors.empty());
}

TEST_CASE("a file that is too short for what it says is refused") {
  CHECK(refusal("") == "f: 0 bytes are too few for a safetensors file");
  CHECK(refusal("1234567") == "f: 7 bytes are too few for a safetensors file");
  CHECK(refusal(std::string("\x05\0\0\0\0\0\0\0{}", 10)) ==
        "f: a header of 5 bytes does not fit into 10 bytes");
  CHECK(refusal(std::string(8, '\xFF')) ==
        "f: a header of 18446744073709551615 bytes is more than 100000000");
  CHECK(refusal(std::string("\0\0\0\0\1\0\0\0{}", 10)) ==
        "f: a header of 4294967296 bytes is more than 100000000");
}

TEST_CASE("a header that is no object of tensors is refused") {
  CHECK_THAT(refusal("", 0), contains("f: the header is not JSON"));
  CHECK_THAT(refusal("{\"a\":", 0), contains("f: the header is not JSON"));
  CHECK_THAT(refusal("{} x", 0), contains("f: the header is not JSON"));
  CHECK_THAT(refusal(std::string("{}\0", 3), 0), contains("f: the header is not JSON"));
  CHECK_THAT(refusal("{\"\xC3\x28\":1}", 0), contains("f: the header is not JSON"));
  CHECK(refusal("[]", 0) == "f: the header is not a JSON object");
  CHECK(refusal("7", 0) == "f: the header is not a JSON object");
  CHECK(refusal(R"({"__metadata__":{"a":1}})", 0) ==
        R"(f: "__metadata__": is not an object of strings)");
  CHECK(refusal(R"({"__metadata__":[]})", 0) ==
        R"(f: "__metadata__": is not an object of strings)");
  // 10 million opening brackets: neither the parser's stack nor memory for them.
  CHECK(refusal(std::string(10'000'000, '['), 0) == "f: the header is nested too deeply");
  CHECK(refusal(R"({"a":{"b":{}}})", 0) == "f: the header is nested too deeply");
  // Time must not grow with the square of the number of tensors.
  std::string many = "{";
  for (int i = 0; i < 200'000; ++i) many += "\"" + std::to_string(i) + "\":{},";
  CHECK(refusal(many + "\"x\":{}}", 0) == R"(f: "0": needs a dtype, a shape and data_offsets)");
  std::string zeros = R"({"a":{"shape":[0)";
  for (int i = 0; i < 1'000'000; ++i) zeros += ",0";
  CHECK(refusal(zeros + "]}}", 0) == "f: the header has an array of more than 64 values");
}

TEST_CASE("equal names are refused") {
  const std::string a = R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  const std::string later = R"("a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]})";
  CHECK(refusal("{" + a + "," + later + "}", 8) == R"(f: the header names "a" twice)");
  CHECK(refusal(R"({"__metadata__":{},"__metadata__":{}})", 0) ==
        R"(f: the header names "__metadata__" twice)");
  CHECK(refusal_of_a(R"({"dtype":"U8","dtype":"I8","shape":[8],"data_offsets":[0,8]})") ==
        R"(f: the header names "dtype" twice)");
}

TEST_CASE("a tensor that does not hold together is refused by its name") {
  const std::string incomplete = R"(f: "a": needs a dtype, a shape and data_offsets)";
  CHECK(refusal_of_a("7") == incomplete);
  CHECK(refusal_of_a("[]") == incomplete);
  CHECK(refusal_of_a(R"({"dtype":"U8","shape":[8]})") == incomplete);
  CHECK(refusal_of_a(R"({"dtype":"U8","data_offsets":[0,8]})") == incomplete);
  CHECK(refusal_of_a(R"({"shape":[8],"data_offsets":[0,8]})") == incomplete);
  CHECK(refusal_of_a(R"({"dtype":"Q8","shape":[8],"data_offsets":[0,8]})") ==
        R"(f: "a": unknown dtype "Q8")");
  CHECK(refusal_of_a(R"({"dtype":8,"shape":[8],"data_offsets":[0,8]})") ==
        R"(f: "a": unknown dtype )");
  CHECK(refusal_of_a(R"({"dtype":"U8","shape":8,"data_offsets":[0,8]})") ==
        R"(f: "a": the shape is not an array)");
  for (const std::string extent : {"-8", "8.0", "\"8\"", "null", "9223372036854775808", "1e1"}) {
    CAPTURE(extent);
    CHECK_THAT(refusal_of_a(R"({"dtype":"U8","shape":[)" + extent + R"(],"data_offsets":[0,8]})"),
               contains("f: \"a\": the shape has "));
  }
  const std::string huge = "4611686018427387904";
  CHECK(refusal_of_a(R"({"dtype":"U8","shape":[4,)" + huge + R"(],"data_offsets":[0,0]})") ==
        R"(f: "a": the shape is too large)");
  CHECK(refusal_of_a(R"({"dtype":"F64","shape":[)" + huge + R"(],"data_offsets":[0,0]})") ==
        R"(f: "a": the shape is too large)");
  for (const std::string offsets : {"[]", "[8]", "[0,8,8]", "8"}) {
    CAPTURE(offsets);
    CHECK(refusal_of_a(R"({"dtype":"U8","shape":[8],"data_offsets":)" + offsets + "}") ==
          R"(f: "a": data_offsets are not two numbers)");
  }
  for (const std::string offsets : {"[8,0]", "[-8,0]", "[0,-8]", "[0,\"8\"]", "[0,8.5]"}) {
    CAPTURE(offsets);
    CHECK_THAT(refusal_of_a(R"({"dtype":"U8","shape":[8],"data_offsets":)" + offsets + "}"),
               contains("f: \"a\": data_offsets "));
  }
  CHECK(refusal_of_a(R"({"dtype":"U8","shape":[7],"data_offsets":[0,8]})") ==
        R"(f: "a": the shape takes 56 bits, but data_offsets span 8 bytes)");
  CHECK(refusal_of_a(R"({"dtype":"F16","shape":[8],"data_offsets":[0,8]})") ==
        R"(f: "a": the shape takes 128 bits, but data_offsets span 8 bytes)");
  CHECK(refusal_of_a(R"({"dtype":"F4","shape":[15],"data_offsets":[0,8]})") ==
        R"(f: "a": the shape takes 60 bits, but data_offsets span 8 bytes)");
}

TEST_CASE("tensors that overlap, leave gaps or miss the data's end are refused") {
  const auto two = [](const std::string& a, const std::string& b) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + a +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}";
  };
  CHECK(refusal(two("[0,4]", "[4,8]"), 8) == "accepted");
  CHECK(refusal(two("[0,4]", "[3,7]"), 8) ==
        R"(f: "b": data begin at byte 3, but the tensor before ends at byte 4)");
  CHECK(refusal(two("[0,4]", "[0,4]"), 4) ==
        R"(f: "b": data begin at byte 0, but the tensor before ends at byte 4)");
  CHECK(refusal(two("[0,4]", "[5,9]"), 9) ==
        R"(f: "b": data begin at byte 5, but the tensor before ends at byte 4)");
  CHECK(refusal(two("[1,5]", "[5,9]"), 9) ==
        R"(f: "a": data begin at byte 1, but the tensor before ends at byte 0)");
  CHECK(refusal(two("[0,4]", "[4,8]"), 7) ==
        "f: the tensors take 8 bytes of data, but the file has 7");
  CHECK(refusal(two("[0,4]", "[4,8]"), 9) ==
        "f: the tensors take 8 bytes of data, but the file has 9");
}

TEST_CASE("names do not disturb the terminal") {
  CHECK(refusal(R"({"a\u001b[31m\n":7})", 0) ==
        R"(f: "a\u001b[31m\n": needs a dtype, a shape and data_offsets)");
}

TEST_CASE("damaged headers give a result or a message") {
  const auto tensors = rope_test::layer(0, 4, 2, 4);
  const std::string header = rope_test::header_of(tensors);
  const std::string whole = rope_test::file_of(tensors);
  const std::string data = whole.substr(8 + header.size());
  const std::string pieces[] = {"0",
                                "-1",
                                "18446744073709551615",
                                "9223372036854775807",
                                "1e999",
                                "null",
                                "true",
                                "\"\"",
                                "[",
                                "]",
                                "{",
                                "}",
                                ",",
                                ":",
                                "\"",
                                "\\",
                                "{}",
                                "[]",
                                "\xFF",
                                "\\ud800",
                                "F32",
                                "BOOL",
                                "shape",
                                "data_offsets",
                                "__metadata__"};
  const convert_weights::Model model{
      .heads = 4, .kv_heads = 2, .head_dim = 4, .rotary_dim = 4, .first_dim = 0};
  Random random(7);
  int accepted = 0;
  int planned = 0;
  constexpr int rounds = 8000;
  for (int round = 0; round < rounds; ++round) {
    std::string damaged = header;
    const auto changes = random.integer(1, 3);
    for (std::int64_t change = 0; change < changes; ++change) {
      const auto at = static_cast<std::size_t>(
          random.integer(0, static_cast<std::int64_t>(damaged.size()) - 1));
      const auto length = static_cast<std::size_t>(random.integer(0, 9));
      const auto from =
          static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(header.size()) - 1));
      switch (random.integer(0, 4)) {
        case 0:
          damaged[at] = static_cast<char>(random.integer(-128, 127));
          break;
        case 1: {
          // A digit, most often in an offset or a shape.
          const std::size_t digit = damaged.find_first_of("0123456789", at);
          if (digit < damaged.size())
            damaged[digit] = static_cast<char>('0' + random.integer(0, 9));
          break;
        }
        case 2:
          damaged.replace(
              at, length,
              pieces[random.integer(0, static_cast<std::int64_t>(std::size(pieces)) - 1)]);
          break;
        case 3:
          damaged.replace(at, length, header.substr(from, 4 * length));
          break;
        default:
          damaged.erase(at, length * length);
      }
      if (damaged.empty()) damaged = "{";
    }
    std::string file = safetensors(damaged, data);
    if (random.integer(0, 9) == 0) {
      file[static_cast<std::size_t>(random.integer(0, 7))] =
          static_cast<char>(random.integer(-128, 127));
    }
    if (random.integer(0, 9) == 0) {
      file.resize(
          static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(file.size()))));
    }
    try {
      const Header result = read(file);
      ++accepted;
      std::int64_t covered = 0;
      for (const auto& tensor : result.tensors) {
        REQUIRE(tensor.begin == covered);
        REQUIRE(tensor.bytes() * 8 == tensor.elements * tensor.element_bits);
        covered = tensor.end;
      }
      REQUIRE(result.data_start + covered == static_cast<std::int64_t>(file.size()));
      convert_weights::plan_of("f", result, model, convert_weights::default_patterns());
      ++planned;
    } catch (const std::runtime_error& error) {
      REQUIRE(std::string(error.what()).starts_with("f: "));
    }
  }
  // Both ends are reached: most are refused, but not all.
  CHECK(accepted > rounds / 200);
  CHECK(planned > 0);
  CHECK(accepted < rounds / 2);
}
