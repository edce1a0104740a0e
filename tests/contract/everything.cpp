// Calls every public function of rope/core.hpp, and folds the results into one number.
//
// Compiled with all warnings by contract.warnings, and in many ways into the programs of
// contract.units, with ROPE_CONTRACT_UNIT naming the unit. Nothing but the two functions at the end
// is visible to other units, and there are no standard containers where the interface does not ask
// for them: what differently compiled units share shall be the library's doing alone. With
// ROPE_CONTRACT_ALL also what takes long to compile and differs only in the element type.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "rope/core.hpp"

#if !defined(ROPE_CONTRACT_UNIT)
#define ROPE_CONTRACT_UNIT alone
#endif

namespace contract::ROPE_CONTRACT_UNIT {
std::uint64_t digest();
void fail(int kind);
}  // namespace contract::ROPE_CONTRACT_UNIT

namespace {

using rope::Pairing;

constexpr std::int64_t batch = 2;
constexpr std::int64_t tokens = 3;
constexpr std::int64_t heads = 2;
constexpr std::int64_t dim = 14;
constexpr std::int64_t rotary_dim = 12;
constexpr std::int64_t elements = batch * tokens * heads * dim;
constexpr std::int64_t rows = 2050;

std::uint64_t hash = 0;

[[gnu::noinline]] void add(std::uint64_t value) {
  for (int byte = 0; byte < 8; ++byte) {
    hash = (hash ^ (value >> (8 * byte) & 0xff)) * 0x100000001b3;
  }
}
void add(std::int64_t value) { add(static_cast<std::uint64_t>(value)); }
void add(bool value) { add(std::uint64_t{value}); }
void add(float value) { add(std::uint64_t{std::bit_cast<std::uint32_t>(value)}); }
void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
void add(const char* text) {
  for (; *text != '\0'; ++text) {
    add(static_cast<std::uint64_t>(static_cast<unsigned char>(*text)));
  }
}
void add(const rope::Status& status) {
  add(status.ok());
  add(static_cast<bool>(status));
  add(static_cast<std::int64_t>(status.kind()));
  add(status.message());
}

/// q and k, numbers that are exact in float.
template <class T>
struct Data {
  T q[elements];
  T k[elements];
  T out[elements];

  Data() {
    std::uint32_t state = 1;
    for (std::int64_t i = 0; i < elements; ++i) {
      q[i] = next(state);
      k[i] = next(state);
      out[i] = 0;
    }
  }

  [[gnu::noinline]] void add_all() const {
    for (std::int64_t i = 0; i < elements; ++i) {
      add(q[i]);
      add(k[i]);
      add(out[i]);
    }
  }

 private:
  static T next(std::uint32_t& state) {
    state = state * 1664525 + 1013904223;
    return static_cast<T>(static_cast<std::int32_t>(state >> 8) - 8388608) / 1048576;
  }
};

template <class T>
void add_view(const rope::View<T>& view) {
  add(view.batch());
  add(view.tokens());
  add(view.heads());
  add(view.dim());
  add(view.batch_stride());
  add(view.token_stride());
  add(view.head_stride());
  add(view.dim_stride());
  add(view.empty());
  add(view.layout() == view.layout());
  add(view.data() == &view(0, 0, 0, 0));
}

template <class T>
void use_views() {
  Data<T> data;
  const rope::View<T> view(data.q, {batch, tokens, heads, dim},
                           {tokens * heads * dim, heads * dim, dim, 1});
  add_view(view);
  add_view(rope::View<const T>(view));
  add_view(rope::bthd(data.q, {batch, tokens, heads, dim}));
  add_view(rope::bhtd(std::span(data.q), {batch, heads, tokens, dim}));
  add_view(rope::thd(&data.q[0], {tokens, heads, dim}));
  add_view(rope::htd(std::span<const T>(data.q, 6 * dim), {heads, tokens, dim}));
  add_view(view.slice_batch(1, 1));
  add_view(view.slice_tokens(1, 2));
  add_view(view.slice_heads(1, 1));
  add_view(view.slice_dims(1, 0));
}

template <class X>
void add_position_table(const X& table) {
  add(table.rows());
  add(table.heads());
  add(table.pairs());
  add(table.rotary_dim());
  add(table.magnitude());
}

/// All rotations with a table that is followed by `positions`, or by nothing.
template <Pairing pairing, class T, class X, class... Positions>
void rotate_all(const X& table, const Positions&... positions) {
  const rope::RotateOptions options{.first_dim = 1};
  const rope::PairingOptions run_time{.pairing = pairing, .first_dim = 2};
  Data<T> data;
  const auto q = rope::bthd(data.q, {batch, tokens, heads, dim});
  const auto k = rope::bthd(data.k, {batch, tokens, heads, dim});
  const auto out = rope::bhtd(data.out, {batch, heads, tokens, dim});

  add(rope::check_rotate(q, table, positions..., options));
  add(rope::check_rotate_to(q, out, table, positions..., options));
  add(rope::check_rotate_qk(q, k, table, positions..., options));
  add(rope::check_rotate(q, table, positions..., {.first_dim = 3}));

  rope::rotate<pairing>(q, table, positions...);
  rope::rotate<pairing>(q, table, positions..., options);
  rope::rotate(q, table, positions..., run_time);
  rope::rotate_to<pairing>(q, out, table, positions..., options);
  rope::rotate_to(rope::View<const T>(k), out, table, positions..., run_time);
  rope::rotate_qk<pairing>(q, k, table, positions..., options);
  rope::rotate_qk(q, k, table, positions..., run_time);
  data.add_all();
  rope::rotate_inverse<pairing>(q, table, positions..., options);
  rope::rotate_inverse(q, table, positions..., run_time);
  rope::rotate_inverse_to<pairing>(k, out, table, positions..., options);
  rope::rotate_inverse_to(k, out, table, positions..., run_time);
  data.add_all();
  rope::rotate_transpose<pairing>(q, table, positions..., options);
  rope::rotate_transpose(q, table, positions..., run_time);
  rope::rotate_transpose_to<pairing>(k, out, table, positions..., options);
  rope::rotate_transpose_to(k, out, table, positions..., run_time);
  data.add_all();
}

template <class T, class X>
void rotate_by_position(const X& table) {
  constexpr std::int32_t starts[batch] = {5, 2040};
  constexpr std::int64_t ids[batch * tokens] = {0, 2049, 7, 1023, 1024, 1025};
  const std::int32_t more[tokens] = {3, 1, 2};
  rotate_all<Pairing::interleaved, T>(table, rope::from(2047));
  rotate_all<Pairing::half_split, T>(table, rope::from(0));
  rotate_all<Pairing::interleaved, T>(table, rope::from_each(starts));
  rotate_all<Pairing::half_split, T>(table, rope::from_each(std::span(starts)));
  rotate_all<Pairing::interleaved, T>(table, rope::at(ids, {batch, tokens}));
  rotate_all<Pairing::half_split, T>(table, rope::at(&more[0], {tokens}));
}

template <class T>
void use_tables(const rope::Frequencies& frequencies) {
  rope::CosSinTable<T> made(frequencies, rows);
  const rope::CosSinTable<T> copy = made;
  rope::CosSinTable<T> table = std::move(made);
  made = copy;
  made = std::move(table);
  table = copy;
  add_position_table(table);
  add(table.frequencies().rotary_dim());
  for (const std::int64_t row : {0, 1, 1023, 1024, 2049}) {
    for (const T value : table.cos(row)) add(value);
    for (const T value : table.sin(row)) add(value);
  }
#if !defined(ROPE_CONTRACT_ALL)
  if constexpr (sizeof(T) == sizeof(double)) {
    rotate_all<Pairing::half_split, T>(table, rope::from(2047));
    return;
  }
#endif
  rotate_by_position<T>(table);

  // The same entries as the caller's own, in every form.
  constexpr std::int64_t pairs = rotary_dim / 2;
  static T wide_cos[rows * rotary_dim];
  static T wide_sin[rows * rotary_dim];
  rope::write_full_width<Pairing::half_split>(table, wide_cos, wide_sin);
  add(wide_cos[rows * rotary_dim - 1]);
  const auto halves = rope::table_view(wide_cos, wide_sin, {rows, pairs},
                                       {.rotary_dim = rotary_dim, .row_stride = rotary_dim});
  add_position_table(halves);
  rotate_all<Pairing::interleaved, T>(halves, rope::from(2000));

  rope::write_full_width<Pairing::interleaved>(table, wide_cos, wide_sin);
  const auto every_second =
      rope::table_view(&wide_cos[0], std::span(wide_sin), {rows, pairs},
                       {.rotary_dim = rotary_dim, .pair_stride = 2, .magnitude = 2});
  rotate_all<Pairing::interleaved, T>(every_second, rope::from(2000));

  const auto fused =
      rope::fused_table_view(wide_cos, {rows, rotary_dim}, {.rotary_dim = rotary_dim});
  add_position_table(fused);
  rotate_all<Pairing::interleaved, T>(fused, rope::from(1));

  const auto per_token = rope::table_view(wide_cos, wide_sin, {batch, rows / batch, pairs},
                                          {.rotary_dim = rotary_dim, .batch_stride = pairs});
  add(per_token.batch());
  add(per_token.tokens());
  const auto few = rope::table_view(&wide_cos[0], &wide_sin[0], {batch, tokens, pairs},
                                    {.rotary_dim = rotary_dim});
  rotate_all<Pairing::interleaved, T>(few);
  const auto few_fused =
      rope::fused_table_view(&wide_cos[0], {1, tokens, rotary_dim}, {.rotary_dim = rotary_dim});
  rotate_all<Pairing::interleaved, T>(few_fused);
}

void use_frequencies(const rope::Frequencies& frequencies) {
  rope::Frequencies copy = frequencies;
  rope::Frequencies moved = std::move(copy);
  copy = moved;
  moved = std::move(copy);
  add(moved.axes());
  add(moved.heads());
  add(moved.pairs());
  add(moved.rotary_dim());
  add(moved.magnitude());
  add(moved(0, moved.heads() - 1, 1));
  for (const double value : moved.values()) add(value);
}

void use_positions() {
  const std::int64_t ids[3] = {4, 5, 6};
  for (const rope::Positions& positions : {rope::from(std::size_t{7}), rope::from_each(ids),
                                           rope::at(ids, {3}), rope::at(ids, {1, 3})}) {
    add(static_cast<std::int64_t>(positions.kind()));
    add(positions.has_ids());
    add(positions.position(0, 2));
    add(positions.kind() == rope::Positions::Kind::from ? positions.start() : positions.id(0));
    add(positions.starts());
    add(positions.shape().has_batch());
    add(positions.shape().batch());
    add(positions.shape().tokens());
  }
}

void use_arguments() {
  add(std::int64_t{rope::Extent(std::uint16_t{3})});
  add(double{rope::Real(0.5F)});
  add(double{rope::Real(-3)});
  const rope::required<rope::Extent> mandatory = 12;
  add(std::int64_t{mandatory.value()});
  const rope::Extents<2> extents{1, 2};
  add(extents[1]);
  add(rope::is_valid(Pairing::half_split));
  add(std::int64_t{ROPE_VERSION_MAJOR});
}

}  // namespace

namespace contract::ROPE_CONTRACT_UNIT {

/// The same number wherever and however this is compiled.
std::uint64_t digest() {
  hash = 0xcbf29ce484222325;
  use_arguments();
  use_views<float>();
  use_views<double>();
  use_positions();

  const rope::Frequencies plain = rope::frequencies({.rotary_dim = rotary_dim, .base = 500000});
  const rope::Frequencies linear =
      rope::frequencies({.rotary_dim = rotary_dim, .scaling = rope::Linear{.factor = 3}});
  // Rows for each of two heads, and a magnitude.
  const rope::Frequencies own({1, 0.5, 0.25, 0.125, 0.0625, 0.03125, -1, 2, -3, 4, -5, 6},
                              {1, heads, rotary_dim / 2}, 1.25);
  use_frequencies(plain);
  use_frequencies(linear);
  use_frequencies(own);
  use_tables<float>(plain);
  use_tables<double>(linear);
  const rope::CosSinTable<float> table(own, rows);
  rotate_by_position<float>(table);
  return hash;
}

/// Does what is refused: 0 a position without a row, else a base of 1.
void fail(int kind) {
  if (kind == 0) {
    float x[4] = {1, 2, 3, 4};
    const float cos_sin[4] = {1, 1, 0, 0};
    rope::rotate<Pairing::half_split>(rope::bthd(x, {1, 1, 1, 4}),
                                      rope::fused_table_view(cos_sin, {1, 4}, {.rotary_dim = 4}),
                                      rope::from(12345));
  } else {
    add(rope::frequencies({.rotary_dim = 8, .base = 1}).pairs());
  }
}

}  // namespace contract::ROPE_CONTRACT_UNIT
