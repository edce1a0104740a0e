// What one writes with LibTorch, beside this library: Hugging Face's style for half-split pairs,
// Meta's for interleaved ones, with the tables given and one thread.
#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

#include "rope/core.hpp"
#include "support/loops.hpp"
#include "support/memory.hpp"
#include "support/run.hpp"

namespace {

using namespace rope_bench;
using rope::Pairing;

/// A tensor on memory of ours.
torch::Tensor tensor(float* data, const Shape& shape) {
  return torch::from_blob(data, {shape.tokens, shape.heads, shape.dim});
}

/// Rows of cos or sin for the tokens, [tokens, 1, pairs].
torch::Tensor rows_of(const float* data, const Shape& shape) {
  return torch::from_blob(const_cast<float*>(data), {shape.tokens, 1, shape.dim / 2},
                          {shape.dim, shape.dim, 1})
      .contiguous();
}

/// Both halves the same, as Hugging Face's models keep them: [tokens, 1, dim].
struct HuggingFaceRows {
  explicit HuggingFaceRows(const Shape& shape) {
    const Rows r = rows(shape.dim);
    const torch::Tensor c = rows_of(r.cos, shape);
    const torch::Tensor s = rows_of(r.sin, shape);
    cos = torch::cat({c, c}, -1);
    sin = torch::cat({s, s}, -1);
  }

  torch::Tensor cos;
  torch::Tensor sin;
};

torch::Tensor hugging_face(const torch::Tensor& x, const HuggingFaceRows& rows) {
  const std::int64_t half = x.size(-1) / 2;
  const torch::Tensor turned = torch::cat({-x.narrow(-1, half, half), x.narrow(-1, 0, half)}, -1);
  return x * rows.cos + turned * rows.sin;
}

/// cos + i sin, [tokens, 1, pairs].
torch::Tensor meta_rows(const Shape& shape) {
  const Rows r = rows(shape.dim);
  return torch::complex(rows_of(r.cos, shape), rows_of(r.sin, shape));
}

torch::Tensor as_complex(const torch::Tensor& x) {
  return torch::view_as_complex(x.view({x.size(0), x.size(1), -1, 2}));
}

torch::Tensor meta(const torch::Tensor& x, const torch::Tensor& rows) {
  return torch::view_as_real(as_complex(x) * rows).flatten(2);
}

void meta_in_place(const torch::Tensor& x, const torch::Tensor& rows) { as_complex(x).mul_(rows); }

void copy_to(float* out, const torch::Tensor& result, const Shape& shape) {
  const torch::Tensor packed = result.contiguous();
  const float* from = packed.data_ptr<float>();
  for (std::int64_t i = 0; i < shape.elements(); ++i) out[i] = from[i];
}

void check_torch() {
  check("LibTorch, Hugging Face's style", Pairing::half_split,
        [](const float* in, float* out, const Shape& shape) {
          copy_to(out, hugging_face(tensor(const_cast<float*>(in), shape), HuggingFaceRows(shape)),
                  shape);
        });
  check("LibTorch, Meta's style", Pairing::interleaved,
        [](const float* in, float* out, const Shape& shape) {
          copy_to(out, meta(tensor(const_cast<float*>(in), shape), meta_rows(shape)), shape);
        });
  check_in_place(
      "LibTorch, Meta's style in place", Pairing::interleaved,
      [](float* x, const Shape& shape) { meta_in_place(tensor(x, shape), meta_rows(shape)); });
}

template <Pairing pairing>
void add_rope(const Shape& shape, const std::string& copy, const std::string& stream) {
  const std::string what = std::string(name_of(pairing)) + "/" + shape.name();
  const auto in = view(input<float>(), shape);
  const auto out = view(output<float>(), shape);
  add("rope, out of place/" + what, copy, [=, &rows = table(128)] {
    rope::rotate_to<pairing>(in, out, rows, rope::from(first_position));
  });
  add("rope, in place/" + what, stream,
      [=, &rows = table(128)] { rope::rotate<pairing>(in, rows, rope::from(first_position)); });
}

}  // namespace

int main(int argc, char** argv) {
  const torch::NoGradGuard no_grad;
  at::set_num_threads(1);
  check_torch();
  for (const Shape& shape : shapes()) {
    const std::string copy = add_memcpy(shape);
    const std::string stream = add_stream(shape);
    add_rope<Pairing::half_split>(shape, copy, stream);
    add_rope<Pairing::interleaved>(shape, copy, stream);
    const torch::Tensor x = tensor(input<float>(), shape);
    add("LibTorch, Hugging Face/half_split/" + shape.name(), copy,
        [=, rows = HuggingFaceRows(shape)] { benchmark::DoNotOptimize(hugging_face(x, rows)); });
    add("LibTorch, Meta/interleaved/" + shape.name(), copy,
        [=, rows = meta_rows(shape)] { benchmark::DoNotOptimize(meta(x, rows)); });
    add("LibTorch, Meta in place/interleaved/" + shape.name(), stream,
        [=, rows = meta_rows(shape)] { meta_in_place(x, rows); });
  }
  return run(argc, argv, "LibTorch " TORCH_VERSION " eager, one thread");
}
