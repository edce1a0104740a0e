// Which tensors of a model are reordered, found by their names and held against their shapes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "failure.hpp"
#include "model.hpp"
#include "safetensors.hpp"

namespace convert_weights {

/// Patterns of whole names, in which * stands for any text.
struct Patterns {
  std::vector<std::string> q;
  std::vector<std::string> k;
  std::vector<std::string> skip;
};

/// The names that Hugging Face's Llama and most of its other models have, and those of Meta's.
inline Patterns default_patterns() {
  return {.q = {"*self_attn.q_proj.weight", "*self_attn.q_proj.bias", "*self_attn.q_norm.weight",
                "*attention.wq.weight", "*attention.wq.bias"},
          .k = {"*self_attn.k_proj.weight", "*self_attn.k_proj.bias", "*self_attn.k_norm.weight",
                "*attention.wk.weight", "*attention.wk.bias"},
          .skip = {}};
}

/// One tensor of the file that is written: `heads` heads of `head_dim` rows each, which are
/// reordered; copied as it is if there are 0.
struct Step {
  Tensor tensor;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t row_bytes = 0;
};

/// The steps of a file, in the order of its data, and how many of them reorder something.
struct Plan {
  std::vector<Step> steps;
  std::int64_t q = 0;
  std::int64_t k = 0;
};

namespace plan_detail {

inline bool matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;  // where the text for that star ends so far
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

inline bool matches_any(const std::vector<std::string>& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches(pattern, name); });
}

/// Whether a part of a dotted name satisfies `condition`.
template <class Condition>
bool any_part(std::string_view name, Condition condition) {
  while (true) {
    const std::size_t dot = name.find('.');
    if (condition(name.substr(0, dot))) {
      return true;
    }
    if (dot == std::string_view::npos) {
      return false;
    }
    name.remove_prefix(dot + 1);
  }
}

inline bool is_value_or_output(std::string_view part) {
  return part.starts_with("v_") || part.starts_with("value") || part == "wv" || part == "to_v" ||
         part.starts_with("o_") || part.starts_with("out_") || part == "wo" || part == "to_out" ||
         part == "dense" || part == "c_proj";
}

/// Parts of names that speak of q or k, packed projections and latent ones among them. To leave
/// such a tensor as it is would spoil the model without a word.
inline bool concerns_q_or_k(std::string_view part) {
  return part.starts_with("q_") || part.starts_with("k_") || part == "wq" || part == "wk" ||
         part == "q" || part == "k" || part == "to_q" || part == "to_k" ||
         part.starts_with("query") || part == "key" || part.starts_with("key_") ||
         part.starts_with("kv_") || part.find("qkv") != std::string_view::npos ||
         part == "c_attn" || part == "W_pack";
}

inline bool is_norm(std::string_view name) {
  return any_part(name, [](std::string_view part) { return part.find("norm") < part.size(); });
}

inline std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  }
  return text + "]";
}

/// A step for a tensor of q or k, which has `heads` heads.
inline Step reordering(const std::string& where, const Tensor& tensor, std::int64_t heads,
                       std::int64_t head_dim) {
  const std::vector<std::int64_t>& shape = tensor.shape;
  Step step{.tensor = tensor, .heads = heads, .head_dim = head_dim};
  const bool norm = is_norm(tensor.name);
  const bool of_one_head = norm && shape == std::vector{head_dim};
  const bool by_head = norm && shape == std::vector{heads, head_dim};
  if (of_one_head) {
    step.heads = 1;
  } else if (!by_head && (shape.empty() || shape[0] != heads * head_dim)) {
    fail(where, "has the shape ", shape_text(shape), ", but ", heads, " heads of ", head_dim,
         " need ", heads * head_dim, " rows");
  }
  const std::int64_t rows = step.heads * head_dim;
  if (tensor.bytes() % rows != 0) {
    fail(where, "has rows that are not whole bytes");
  }
  step.row_bytes = tensor.bytes() / rows;
  return step;
}

}  // namespace plan_detail

/// Throws std::runtime_error, naming the tensor, for a tensor of v or of the output that a pattern
/// matches, for a shape that the model's heads do not explain, and for a tensor that seems to
/// belong to q or k but that no pattern matches.
inline Plan plan_of(const std::string& file, const Header& header, const Model& model,
                    const Patterns& patterns) {
  namespace detail = plan_detail;
  Plan plan;
  for (const Tensor& tensor : header.tensors) {
    const std::string where = file + ": " + quoted(tensor.name) + ": ";
    const bool is_q = detail::matches_any(patterns.q, tensor.name);
    const bool is_k = detail::matches_any(patterns.k, tensor.name);
    if (detail::matches_any(patterns.skip, tensor.name)) {
      plan.steps.push_back({.tensor = tensor});
    } else if (is_q || is_k) {
      if (is_q && is_k) {
        fail(where, "matches patterns of both q and k");
      }
      if (detail::any_part(tensor.name, detail::is_value_or_output)) {
        fail(where, "is of v or of the output projection, which must not be reordered");
      }
      plan.steps.push_back(
          detail::reordering(where, tensor, is_q ? model.heads : model.kv_heads, model.head_dim));
      ++(is_q ? plan.q : plan.k);
    } else {
      // A single number, such as a scale, is the same for all rows.
      if (tensor.elements > 1 && detail::any_part(tensor.name, detail::concerns_q_or_k)) {
        fail(where,
             "seems to belong to q or k, but is not known: name it with --q or --k if its rows are "
             "those of the heads, or leave it as it is with --skip");
      }
      plan.steps.push_back({.tensor = tensor});
    }
  }
  return plan;
}

}  // namespace convert_weights
