// The files of golden/nd: several position axes, as the original implementations compute them.
//
// A file is run by what its `family` and `params` say, never by its name. Each group of families
// has a source file of its own; nd_test.cpp finds the files and runs them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rope_test::nd {

using nlohmann::json;

/// One array of a file: row-major.
struct Array {
  std::vector<std::int64_t> shape;
  std::vector<double> values;

  std::int64_t size() const { return static_cast<std::int64_t>(values.size()); }
  double operator[](std::int64_t i) const { return values[static_cast<std::size_t>(i)]; }
};

/// What float32 (or bfloat16) with angles of the family's size allows.
double usual_tolerance(const json& content);

/// One file. An array that no check asks for is a failure: it would be a number that nobody
/// compares.
class Case {
 public:
  /// `tolerance` is empty where the folder's MANIFEST.json does not know the file.
  Case(std::filesystem::path file, json content, std::optional<double> tolerance)
      : file_(std::move(file)), content_(std::move(content)), tolerance_(tolerance) {}

  const std::filesystem::path& file() const { return file_; }
  const json& content() const { return content_; }
  std::string family() const { return content_.at("family").get<std::string>(); }

  /// Whether the file has the array. Does not count as asking for it.
  bool has(const std::string& name) const {
    return content_.contains("data") && content_.at("data").contains(name);
  }
  Array array(const std::string& name) const {
    read_.insert(name);
    const json& entry = content_.at("data").at(name);
    Array array;
    array.shape = entry.at("shape").get<std::vector<std::int64_t>>();
    array.values = entry.at("values").get<std::vector<double>>();
    return array;
  }
  std::set<std::string> unread_arrays() const {
    std::set<std::string> names;
    if (!content_.contains("data")) return names;
    for (const auto& item : content_.at("data").items()) {
      if (!read_.contains(item.key())) names.insert(item.key());
    }
    return names;
  }

  bool has_param(const std::string& key) const {
    return content_.at("params").contains(key) && !content_.at("params").at(key).is_null();
  }
  const json& params() const { return content_.at("params"); }
  template <class T>
  T param(const std::string& key) const {
    return params().at(key).get<T>();
  }
  template <class T>
  T param(const std::string& key, T otherwise) const {
    return has_param(key) ? params().at(key).get<T>() : otherwise;
  }

  /// The largest absolute difference that the original's arithmetic (float32, or bfloat16) allows:
  /// what the folder's MANIFEST.json says, or what is usual (or `otherwise`) where it does
  /// not know the file.
  double tolerance() const { return tolerance(usual_tolerance(content_)); }
  double tolerance(double otherwise) const { return tolerance_.value_or(otherwise); }
  /// Whether the folder says how good the file's numbers are.
  bool has_tolerance() const { return tolerance_.has_value(); }

 private:
  std::filesystem::path file_;
  json content_;
  std::optional<double> tolerance_;
  mutable std::set<std::string> read_;
};

/// How many things were compared, by what they are.
using Tally = std::map<std::string, int>;

using Check = void (*)(const Case&, Tally&);

/// What is done with the files of one family. Several entries may have the same name: all of them
/// are run (one for the rotation, one for the gradients, for example).
struct Family {
  const char* name;
  Check check;  ///< null: not yet written, which is counted and printed
};

std::vector<Family> axial_families();      // axial.cpp: a ladder for each axis
std::vector<Family> shared_families();     // shared.cpp: one ladder shared out by an axis map
std::vector<Family> video_families();      // video.cpp: three axes
std::vector<Family> text_families();       // text.cpp: lucidrains and x-transformers
std::vector<Family> direction_families();  // directions.cpp: mixed, Golden Gate, all gradients
std::vector<Family> position_families();   // positions.cpp: position ids of token lists

/// Families that are not rotations of pairs, and are left out on purpose.
struct OutOfScope {
  const char* name;
  const char* reason;
};

}  // namespace rope_test::nd
