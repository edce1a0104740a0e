// From files to files: all is read and checked first, then written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <rope/weights.hpp>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "failure.hpp"
#include "mapped_file.hpp"
#include "model.hpp"
#include "plan.hpp"
#include "progress.hpp"
#include "safetensors.hpp"
#include "staging.hpp"

namespace convert_weights {

/// What the command line asks for.
struct Request {
  std::filesystem::path source;
  std::filesystem::path target;
  std::filesystem::path config;  // empty: config.json beside the weights, if there is one
  rope::Pairing to = rope::Pairing::interleaved;
  ModelOptions model;
  Patterns patterns = default_patterns();
};

struct Summary {
  std::int64_t files = 0;
  std::int64_t tensors = 0;
  std::int64_t q = 0;
  std::int64_t k = 0;
  std::int64_t bytes = 0;
};

namespace convert_detail {

constexpr const char* index_name = "model.safetensors.index.json";

struct Shard {
  std::string name;
  MappedFile file;
  Header header;
  Plan plan;
};

inline Shard open_shard(const std::filesystem::path& path) {
  MappedFile file(path);
  Header header = read_header(path.string(), file.bytes());
  return {path.filename().string(), std::move(file), std::move(header), {}};
}

/// The shard of each tensor, as the index of a folder has it.
inline std::map<std::string, std::string> read_index(const std::filesystem::path& path) {
  const nlohmann::json index = read_config(path);
  const auto map = index.find("weight_map");
  if (map == index.end() || !map->is_object() || map->empty()) {
    fail(path.string(), ": has no weight_map");
  }
  std::map<std::string, std::string> shard_of;
  for (const auto& [tensor, shard] : map->items()) {
    const std::string name = shard.is_string() ? shard.get<std::string>() : "";
    // A name that leads out of the folder would be written outside of the target, too, and the
    // system takes a zero byte for the end of a name.
    if (std::filesystem::path(name).filename() != name || !name.ends_with(".safetensors") ||
        name.find('\0') != std::string::npos) {
      fail(path.string(), ": ", quoted(tensor), ": ", shard.dump(), " is not the name of a shard");
    }
    shard_of.emplace(tensor, name);
  }
  return shard_of;
}

inline std::vector<Shard> open_indexed_shards(const std::filesystem::path& folder) {
  auto shard_of = read_index(folder / index_name);
  std::set<std::string> names;
  for (const auto& entry : shard_of) {
    names.insert(entry.second);
  }
  std::vector<Shard> shards;
  for (const std::string& name : names) {
    shards.push_back(open_shard(folder / name));
    for (const Tensor& tensor : shards.back().header.tensors) {
      // What is found is struck off, so a tensor in two shards is not listed the second time.
      const auto listed = shard_of.find(tensor.name);
      if (listed == shard_of.end() || listed->second != name) {
        fail((folder / name).string(), ": ", quoted(tensor.name), ": the index ",
             listed == shard_of.end() ? "does not list it there" : "has it in " + listed->second);
      }
      shard_of.erase(listed);
    }
  }
  if (!shard_of.empty()) {
    const auto& [tensor, shard] = *shard_of.begin();
    fail((folder / index_name).string(), ": ", quoted(tensor), ": is not in ", shard);
  }
  return shards;
}

/// All files of weights at `source`.
inline std::vector<Shard> open_shards(const std::filesystem::path& source) {
  if (!std::filesystem::is_directory(source)) {
    std::vector<Shard> one;
    one.push_back(open_shard(source));
    return one;
  }
  if (std::filesystem::exists(source / index_name)) {
    return open_indexed_shards(source);
  }
  for (const auto& entry : std::filesystem::directory_iterator(source)) {
    if (entry.path().extension() == ".safetensors" &&
        entry.path().filename() != "model.safetensors") {
      fail(source.string(), ": has ", entry.path().filename().string(), ", but no ", index_name);
    }
  }
  std::vector<Shard> one;
  one.push_back(open_shard(source / "model.safetensors"));
  return one;
}

constexpr std::int64_t block_bytes = 1 << 20;  // stays in the cache between reading and writing

inline std::span<const std::byte> part(const Shard& shard, std::int64_t first, std::int64_t count) {
  return shard.file.bytes().subspan(static_cast<std::size_t>(first),
                                    static_cast<std::size_t>(count));
}

inline void write_as_it_is(const Shard& shard, std::int64_t first, std::int64_t bytes,
                           OutputFile& out, Progress& progress) {
  for (std::int64_t done = 0; done < bytes; done += block_bytes) {
    const std::int64_t count = std::min(block_bytes, bytes - done);
    out.write(part(shard, first + done, count));
    progress.add(count);
  }
}

inline void write_reordered(const Shard& shard, const Step& step, rope::Pairing to,
                            const rope::RotatedPart& rotated, OutputFile& out, Progress& progress) {
  const std::int64_t head_bytes = step.head_dim * step.row_bytes;
  const std::int64_t at_once =
      std::clamp(block_bytes / std::max(head_bytes, std::int64_t{1}), std::int64_t{1}, step.heads);
  std::vector<std::byte> buffer(static_cast<std::size_t>(at_once * head_bytes));
  for (std::int64_t head = 0; head < step.heads; head += at_once) {
    const std::int64_t heads = std::min(at_once, step.heads - head);
    const rope::Extents<3> shape{heads, step.head_dim, step.row_bytes};
    const std::int64_t first = shard.header.data_start + step.tensor.begin + head * head_bytes;
    const auto in = rope::row_major_weight(part(shard, first, heads * head_bytes), shape);
    const auto reordered = std::span(buffer).first(static_cast<std::size_t>(heads * head_bytes));
    const auto view = rope::row_major_weight(reordered, shape);
    if (to == rope::Pairing::interleaved) {
      rope::copy_to_interleaved(in, view, rotated);
    } else {
      rope::copy_to_half_split(in, view, rotated);
    }
    out.write(reordered);
    progress.add(heads * head_bytes);
  }
}

/// The header goes over byte for byte: no tensor changes its name, type, shape or place.
inline void write_shard(const Shard& shard, rope::Pairing to, const rope::RotatedPart& rotated,
                        const std::filesystem::path& path, Progress& progress) {
  OutputFile out(path);
  write_as_it_is(shard, 0, shard.header.data_start, out, progress);
  for (const Step& step : shard.plan.steps) {
    if (step.heads > 0) {
      write_reordered(shard, step, to, rotated, out, progress);
    } else {
      write_as_it_is(shard, shard.header.data_start + step.tensor.begin, step.tensor.bytes(), out,
                     progress);
    }
  }
  out.finish();
}

inline void copy_whole(const std::filesystem::path& from, const std::filesystem::path& to) {
  const MappedFile file(from);
  OutputFile out(to);
  out.write(file.bytes());
  out.finish();
}

}  // namespace convert_detail

/// Writes the target. Throws std::runtime_error with a line to show, and then leaves nothing.
inline Summary convert(const Request& request) {
  namespace detail = convert_detail;
  const bool is_folder = std::filesystem::is_directory(request.source);
  const std::filesystem::path beside =
      (is_folder ? request.source : request.source.parent_path()) / "config.json";
  const bool has_config = std::filesystem::exists(beside);
  const std::filesystem::path config =
      request.config.empty() && has_config ? beside : request.config;

  std::vector<detail::Shard> shards = detail::open_shards(request.source);
  const Model model = model_of(request.model, read_config(config));
  Summary summary;
  for (detail::Shard& shard : shards) {
    shard.plan = plan_of((is_folder ? request.source / shard.name : request.source).string(),
                         shard.header, model, request.patterns);
    summary.files += 1;
    summary.tensors += static_cast<std::int64_t>(shard.plan.steps.size());
    summary.q += shard.plan.q;
    summary.k += shard.plan.k;
    summary.bytes += static_cast<std::int64_t>(shard.file.bytes().size());
  }
  if (summary.q == 0 || summary.k == 0) {
    fail(request.source.string(), ": ", summary.q, " tensors of q and ", summary.k,
         " of k match the patterns, but q and k can only be reordered together");
  }

  const rope::RotatedPart rotated{.rotary_dim = model.rotary_dim, .first_dim = model.first_dim};
  Staging staging(request.target);
  Progress progress(summary.bytes);
  for (const detail::Shard& shard : shards) {
    detail::write_shard(shard, request.to, rotated, staging.path() / shard.name, progress);
  }
  if (!is_folder) {
    staging.publish_file(shards[0].name);
    return summary;
  }
  for (const char* name : {detail::index_name, "config.json"}) {
    if (std::filesystem::exists(request.source / name)) {
      detail::copy_whole(request.source / name, staging.path() / name);
    }
  }
  staging.publish_folder();
  return summary;
}

}  // namespace convert_weights
