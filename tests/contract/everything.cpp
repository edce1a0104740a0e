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
#include <vector>

#include "rope/core.hpp"
#include "rope/key_cache.hpp"
#include "rope/thread_pool.hpp"

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

template <class From, class To>
void use_conversion() {
  static From from[tokens * heads * dim];
  static To to[tokens * heads * dim];
  for (std::size_t i = 0; i < std::size(from); ++i) {
    from[i] = static_cast<From>(0.375f * static_cast<float>(i % 23) - 3.0f);
  }
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = rotary_dim}), 8);
  const auto in = rope::thd(from, {tokens, heads, dim});
  const auto out = rope::thd(to, {tokens, heads, dim});
  rope::rotate<Pairing::interleaved>(in, table, rope::from(3), {.first_dim = 1});
  rope::rotate_to<Pairing::half_split>(in, out, table, rope::from(2), {.first_dim = 2});
  for (const From value : from) add(static_cast<float>(value));
  for (const To value : to) add(static_cast<float>(value));
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

/// Tables of other kinds and options, by their rows.
template <class T, class X>
void add_rows(const X& table, std::int64_t count) {
  T scratch[2 * rotary_dim];
  for (std::int64_t row = 0; row < count; ++row) {
    const auto entries = table.row(row, 0, 0, table.pairs(), scratch);
    for (std::int64_t i = 0; i < table.pairs(); ++i) {
      add(entries.cos[i]);
      add(entries.sin[i]);
    }
  }
}

template <class T>
void use_other_tables(const rope::Frequencies& frequencies) {
  const rope::TableOptions as_models{.angles = rope::Angles::float32,
                                     .round_entries_to = rope::EntryRounding::bf16};
  add_rows<T>(rope::CosSinTable<T>(frequencies, 5, as_models).grown(40), 40);
  rope::CompactTable<T> made(frequencies, rows, {.round_entries_to = rope::EntryRounding::f16});
  const rope::CompactTable<T> copy = made;
  rope::CompactTable<T> compact = std::move(made);
  made = copy;
  made = std::move(compact);
  add_position_table(made);
  add(made.bytes());
  add(made.frequencies().pairs());
  add_rows<T>(made, rows);
  add_rows<T>(rope::CompactTable<T>(frequencies, rows, as_models), 7);
  rotate_all<Pairing::interleaved, T>(rope::CompactTable<T>(frequencies, rows), rope::from(2040));

  double places[batch * tokens] = {0, 1.5, -3, 4097, 1e6, 1};
  const auto places_of = rope::coordinates(places, {batch, tokens, 1});
  rope::TokenTable<T> first(frequencies, places_of);
  const rope::TokenTable<T> other = first;
  rope::TokenTable<T> per_token = std::move(first);
  first = other;
  first = std::move(per_token);
  add(first.batch());
  add(first.tokens());
  add(first.heads());
  add(first.capacity());
  add(first.frequencies().pairs());
  for (const T value : first.cos(1, 2)) add(value);
  for (const T value : first.sin(1, 0)) add(value);
  rotate_all<Pairing::half_split, T>(first);
  places[2] = 0.1;
  first.refill(places_of);
  add_rows<T>(first, batch * tokens);
  add_rows<T>(rope::TokenTable<T>(frequencies, places_of, as_models), batch * tokens);
}

template <class T>
void use_tables(const rope::Frequencies& frequencies) {
  use_other_tables<T>(frequencies);
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

void add_coordinates(const rope::Coordinates& coordinates) {
  rope::Coordinates copy = coordinates;
  rope::Coordinates moved = std::move(copy);
  copy = moved;
  moved = std::move(copy);
  add(moved.batch());
  add(moved.tokens());
  add(moved.axes());
  for (const double value : moved.values()) add(value);
}

void use_masks_and_ragged() {
  const float mask[6] = {0, 1, 1, 1, 1, 0};
  const std::int32_t cu_seqlens[3] = {0, 2, 5};
  const std::int64_t starts[2] = {7, 0};
  for (const std::int64_t id : rope::positions_from_mask(mask, {2, 3}, 4)) add(id);
  for (const std::int64_t id : rope::next_positions_from_mask(&mask[0], {6})) add(id);
  for (const std::int64_t id : rope::ragged_positions(cu_seqlens)) add(id);
  for (const std::int64_t id : rope::ragged_positions(cu_seqlens, starts)) add(id);
}

void use_grids() {
  const rope::AxisRange range = rope::aspect_range(3, 7);
  rope::Grid grid = rope::grid({rope::axis_steps(2, {.first = 0.1, .step = 0.7}),
                                rope::axis_end_points(3, range), rope::axis_half_open(4, range)});
  const rope::Grid copy = grid;
  rope::Grid moved = std::move(grid);
  grid = copy;
  moved = std::move(grid);
  add(moved.axes());
  add(moved.stride(0));
  add(moved.values(1).front());
  add_coordinates(moved.repeated(2).coordinates());
  const rope::Coordinates image =
      rope::image_grid(
          rope::axis_cell_centres(3, rope::area_range(3, 2, 10)),
          rope::axis_shifted(rope::axis_rescaled(rope::axis_centred(3), {.from = 3, .to = 7}), 0.3),
          rope::AxisOrder::x_first)
          .coordinates();
  add_coordinates(image);
  add_coordinates(rope::normalised_grid(3, 5,
                                        {.normalise_by = rope::NormaliseBy::max,
                                         .order = rope::AxisOrder::row_first,
                                         .offset = 0.3,
                                         .shift = {.row = 0.1, .column = 0.2},
                                         .jitter = {.row = 1.1, .column = 0.7},
                                         .rescale = 1.3})
                      .coordinates());
  add_coordinates(rope::join_tokens({rope::text_coordinates(2, 2, 0.1), image,
                                     rope::constant_coordinates(1, {3, 4}),
                                     rope::merge_block_coordinates({1, 2, 4}, 2),
                                     rope::merge_block_coordinates({{1, 1, 2}, {2, 1, 1}}, 1)}));
  add_coordinates(
      rope::join_batch({image, rope::select_tokens(image, {8, 7, 6, 5, 4, 3, 2, 1, 0})}));
  const std::vector<double> columns = rope::axis_nearest(3, 10);
  add_coordinates(rope::coordinates_in_units(rope::coordinates_by_axis({columns, columns}),
                                             {.origin = {0.1, 0.2}, .unit = {0.3, 7}}));
}

void use_prompts() {
  const std::int64_t prompt[7] = {0, 1, 8, 8, 1, 9, 9};
  const std::int32_t mask[7] = {0, 1, 1, 1, 1, 1, 1};
  const rope::VisionTokens tokens_of = {.image = 8, .video = 9};
  const auto kinds = rope::token_kinds(prompt, mask, tokens_of);
  add(rope::token_kinds(prompt, tokens_of).size() == kinds.size());
  const std::uint8_t types[7] = {0, 0, 1, 1, 0, 2, 2};
  add(rope::token_kinds_from_types(types, mask) == kinds);
  add(rope::token_kinds_from_types(types).size() == kinds.size());
  const rope::GlmVisionTokens glm = {.image = 8, .video_start = 0, .video_end = 1};
  add(rope::token_kinds(prompt, {7}, glm).size() == kinds.size());
  add(rope::token_kinds(prompt, mask, {1, 7}, glm).size() == kinds.size());
  for (const rope::MropeReading reading :
       {rope::MropeReading::published, rope::MropeReading::transformers_4,
        rope::MropeReading::transformers_5}) {
    const rope::MropeIds ids = rope::mrope_ids(kinds, {7},
                                               {.rule = rope::Qwen25Vl{.tokens_per_second = 1.7},
                                                .merge_size = 1,
                                                .images = {{1, 1, 2}},
                                                .videos = {{2, 1, 1}},
                                                .seconds_per_grid = {rope::seconds_per_grid(3, 7)},
                                                .reading = reading});
    rope::MropeIds copy = ids;
    rope::MropeIds moved = std::move(copy);
    copy = moved;
    moved = std::move(copy);
    add(moved.axes());
    add(moved.batch());
    add(moved.tokens());
    add(moved(2, 0, 3));
    add(moved.next()[0]);
    add(moved.deltas()[0]);
    for (const std::int64_t id : moved.axis(0)) add(id);
    add(moved.values().back());
    add_coordinates(moved.coordinates());
  }
  rope::VideoRopePositions found = rope::video_rope_positions(
      kinds, {7},
      {.time_step = 0.3, .merge_size = 1, .images = {{1, 1, 2}}, .videos = {{2, 1, 1}}});
  const rope::VideoRopePositions copy = found;
  rope::VideoRopePositions moved = std::move(found);
  found = copy;
  moved = std::move(found);
  add(moved.next[0]);
  add(moved.deltas[0]);
  add_coordinates(moved.coordinates);
}

template <class X>
void rotate_once(const X& table, float (&x)[elements]) {
  rope::rotate<Pairing::half_split>(rope::bthd(x, {batch, tokens, heads, dim}), table);
  for (const float value : x) add(value);
}

void add_map(const rope::AxisMap& map) {
  add(std::int64_t{map.axes.value()});
  for (const std::int64_t axis : map.axis_of_pair) add(axis);
  for (const std::int64_t rung : map.rung_of_pair) add(rung);
}

void use_spatial(const rope::Frequencies& ladder) {
  const rope::MropeSections sections = {.time = 2, .height = 2, .width = 2};
  const rope::AxisMap map = rope::interleaved_axes(sections);
  add_map(map);
  add_map(rope::contiguous_axes({1, 2, 3}));
  add_map(rope::ggml_interleaved_axes(sections, 1));
  add_map(rope::time_last_axes(sections));
  add_map(rope::balanced_axes({3, 2, 1}));
  add_map(rope::even_odd_axes(5));
  add_map(rope::frequency_major_axes({.axes = 2, .frequencies = 3, .unrotated_pairs = 1}));
  const rope::Frequencies pixels =
      rope::pixel_frequencies({.pairs = 3, .spacing = rope::Spacing::logarithmic});
  use_frequencies(rope::pixel_frequencies({.pairs = 3, .spacing = rope::Spacing::linear}));
  use_frequencies(rope::geometric_frequencies(
      {.pairs = 4, .min_frequency = 0.3, .max_frequency = 7, .zero_pairs = 1}));
  use_frequencies(rope::period_frequencies({.pairs = 3, .min_period = 0.7, .max_period = 9}));
  use_frequencies(rope::axial_frequencies(
      {.axis_dims = rope::equal_axis_dims(8, 2), .base = 70, .axis_of_block = {1, 0}}));
  rope::AxisBlock block(1, pixels);
  const rope::AxisBlock copied = block;
  rope::AxisBlock moved = std::move(block);
  block = copied;
  moved = std::move(block);
  add(moved.axis());
  const rope::Frequencies blocks =
      rope::axis_blocks({{0, rope::period_frequencies({.pairs = 3, .base = 100})}, moved});
  use_frequencies(rope::split_heads(blocks, heads));
  use_frequencies(rope::share_ladder(ladder, map));
  add(rope::attention_temperature({.trained = 196, .now = 576}));

  Data<float> data;
  const auto x = rope::bthd(data.q, {batch, tokens, heads, dim});
  const double places[2 * tokens] = {0.5, -1, 3, 4.25, 1e3, 7};
  const rope::TokenTable<float> table(blocks, rope::coordinates(places, {tokens, 2}));
  rope::rotate_axes<Pairing::half_split>(x, table, {.axis_dims = {6, 6}, .first_dim = 1});
  rope::rotate_axes_inverse<Pairing::half_split>(x, table, {.axis_dims = {8, 4}});
  rope::rotate_axes_transpose<Pairing::half_split>(x, table, {.axis_dims = {6, 6}});
  Data<float> other_data;
  const auto y = rope::bthd(other_data.q, {batch, tokens, heads, dim});
  const rope::RotateAxesOptions fixed = {.axis_dims = {6, 6}};
  const rope::PairingAxesOptions chosen = {.pairing = Pairing::half_split, .axis_dims = {6, 6}};
  rope::rotate_axes(x, table, chosen);
  rope::rotate_axes_inverse(x, table, chosen);
  rope::rotate_axes_transpose(x, table, chosen);
  rope::rotate_axes_to<Pairing::half_split>(x, y, table, fixed);
  rope::rotate_axes_inverse_to<Pairing::half_split>(x, y, table, fixed);
  rope::rotate_axes_transpose_to<Pairing::half_split>(x, y, table, fixed);
  rope::rotate_axes_to(x, y, table, chosen);
  rope::rotate_axes_inverse_to(x, y, table, chosen);
  rope::rotate_axes_transpose_to(x, y, table, chosen);
  rotate_once(rope::pair_slice(table, 1, 4), data.q);
  const double place[2] = {2, 3};
  const rope::TokenTable<float> single(blocks, rope::coordinates(place, {1, 2}));
  const auto repeated = rope::repeated(single, tokens);
  add(repeated.batch());
  add(repeated.rotary_dim());
  add(repeated.magnitude());
  rotate_once(repeated, data.q);
  rope::rotate_memory_keys<Pairing::half_split>(x, single, {.unrotated_last = 1});
  rope::rotate_memory_keys_to<Pairing::half_split>(x, y, single, {.unrotated_last = 1});
  rope::rotate_memory_keys(x, single, {.pairing = Pairing::half_split, .unrotated_last = 1});
  rope::rotate_memory_keys_to(x, y, single, {.pairing = Pairing::half_split, .unrotated_last = 1});
  rope::rotate<Pairing::half_split>(rope::rotated_tokens(x, {.first = 1, .last = 1}), single);

  const rope::CosSinTable<float> text(ladder, rows);
  rope::rotate_axes<Pairing::half_split>(x, text, rope::from(1), {.axis_dims = {6, 6}});
  rope::rotate_axes_inverse<Pairing::half_split>(x, text, rope::from(1), {.axis_dims = {4, 8}});
  rope::rotate_axes_transpose<Pairing::half_split>(x, text, rope::from(1), {.axis_dims = {6, 6}});
  rope::rotate_axes(x, text, rope::from(1), chosen);
  rope::rotate_axes_inverse(x, text, rope::from(1), chosen);
  rope::rotate_axes_transpose(x, text, rope::from(1), chosen);
  rope::rotate_axes_to<Pairing::half_split>(x, y, text, rope::from(1), fixed);
  rope::rotate_axes_inverse_to<Pairing::half_split>(x, y, text, rope::from(1), fixed);
  rope::rotate_axes_transpose_to<Pairing::half_split>(x, y, text, rope::from(1), fixed);
  rope::rotate_axes_to(x, y, text, rope::from(1), chosen);
  rope::rotate_axes_inverse_to(x, y, text, rope::from(1), chosen);
  rope::rotate_axes_transpose_to(x, y, text, rope::from(1), chosen);
  const auto slice = rope::pair_slice(text, 0, 2);
  add_position_table(slice);
  const std::int64_t ids[3 * tokens] = {0, 1, 2, 3, 5, 8, 2049, 1, 1024};
  const std::int32_t narrow[3 * tokens] = {0, 1, 2, 3, 5, 8, 2049, 1, 1024};
  auto picked = rope::mrope_table(text, map, ids, {3, tokens});
  const auto copy = picked;
  auto other = std::move(picked);
  picked = copy;
  other = std::move(picked);
  add(other.batch());
  add(other.rotary_dim());
  add(other.magnitude());
  rotate_once(other, data.q);
  rotate_once(rope::mrope_table(text, map, narrow, {3, 1, tokens}), data.q);

  rope::XposTable<float> keys(ladder, 70,
                              {.side = rope::XposSide::key, .center = 35, .scale_base = 77});
  const rope::XposTable<float> kept = keys;
  rope::XposTable<float> last = std::move(keys);
  keys = kept;
  last = std::move(keys);
  add_position_table(last);
  for (const float value : last.cos(69)) add(value);
  for (const float value : last.sin(69)) add(value);
  rope::rotate<Pairing::interleaved>(x, last, rope::from(67));
  data.add_all();
}

/// A congruential generator: 32 bits a draw.
struct Engine {
  std::uint32_t state = 7;
  static constexpr std::uint32_t(min)() { return 0; }
  static constexpr std::uint32_t(max)() { return 0xffffffff; }
  std::uint32_t operator()() { return state = state * 1664525 + 1013904223; }
};

void add_numbers(const std::vector<double>& numbers) {
  for (const double number : numbers) add(number);
}

template <Pairing pairing, class T>
void use_gradients(const rope::Frequencies& frequencies) {
  Data<T> data;
  const auto y = rope::bthd(data.q, {batch, tokens, heads, dim});
  const auto g = rope::bthd(data.k, {batch, tokens, heads, dim});
  const double places[2 * tokens] = {0.5, -1, 3, 4.25, 1e3, 7};
  const auto positions = rope::coordinates(places, {tokens, 2});
  std::vector<double> gradient(2 * heads * rotary_dim / 2);
  const rope::FrequencyGradient into(gradient, {2, heads, rotary_dim / 2});
  rope::frequency_gradient<pairing>(y, g, positions, into,
                                    {.accumulation = rope::Accumulation::overwrite});
  rope::frequency_gradient(y, g, positions, into,
                           {.pairing = pairing, .accumulation = rope::Accumulation::add});
  add_numbers(gradient);
  add_numbers(rope::log_frequency_gradient(gradient, frequencies));
  add_numbers(rope::direction_angle_gradient(gradient, frequencies));
  add_numbers(rope::frequency_length_gradient(gradient, gradient, frequencies));
  add_numbers(rope::direction_gradient(gradient, gradient, frequencies));
  rope::keep_zero_frequencies(gradient, frequencies);
  add_numbers(gradient);

  double shared[rotary_dim / 2] = {};
  rope::frequency_gradient<pairing>(y, g, rope::from(5), {shared, {1, 1, rotary_dim / 2}},
                                    {.accumulation = rope::Accumulation::add});
  rope::frequency_gradient(y, g, rope::from(5), {shared, {1, 1, rotary_dim / 2}},
                           {.pairing = pairing, .accumulation = rope::Accumulation::add});
  for (const double value : shared) add(value);

  double of_positions[2 * tokens] = {};
  const rope::PositionGradient to(of_positions, {tokens, 2});
  rope::position_gradient<pairing>(y, g, frequencies, to,
                                   {.accumulation = rope::Accumulation::overwrite});
  rope::position_gradient(y, g, frequencies, to,
                          {.pairing = pairing, .accumulation = rope::Accumulation::add});
  for (const double value : of_positions) add(value);
  add(into.axes() + into.heads() + into.pairs() + to.batch() + to.tokens() + to.axes());
  add(into.data() == gradient.data() && to.data() == of_positions);
}

void use_directions() {
  Engine engine;
  const rope::GoldenGate plane = {.form = rope::GoldenGateForm::exact_2d,
                                  .axes = 2,
                                  .heads = heads,
                                  .rotary_dim = rotary_dim,
                                  .min_frequency = 0.3,
                                  .max_frequency = 31,
                                  .zero_share = 0.2};
  const rope::Frequencies golden = rope::golden_gate_frequencies(plane);
  use_frequencies(golden);
  for (const auto form : {rope::GoldenGateForm::exact_nd, rope::GoldenGateForm::blog_2d,
                          rope::GoldenGateForm::blog_nd, rope::GoldenGateForm::bnnp,
                          rope::GoldenGateForm::experiment}) {
    add_numbers(rope::golden_gate_directions(form, 2, 5));
    add(rope::is_valid(form));
  }
  const double angles[heads] = {1, -2};
  const rope::Mixed mixed = {.layers = 1, .heads = heads, .rotary_dim = rotary_dim};
  for (const auto& layer : rope::mixed_frequencies(mixed, angles)) use_frequencies(layer);
  for (const auto& layer : rope::mixed_frequencies(mixed, engine)) use_frequencies(layer);
  use_frequencies(rope::random_direction_frequencies(
      {.axes = 3, .heads = heads, .rotary_dim = 4, .min_frequency = 1, .max_frequency = 7},
      engine));
  use_frequencies(rope::polar_frequencies(angles, angles, {1, heads}));
  float parameters[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const rope::Learned learned = {.layout = rope::LearnedLayout::layers_heads_pairs_axes,
                                 .axes = 2,
                                 .layers = 2,
                                 .layer = 1,
                                 .heads = 1,
                                 .pairs = 2};
  const rope::Frequencies layer = rope::learned_frequencies(parameters, learned);
  use_frequencies(layer);
  rope::store_learned(layer.values(), parameters, learned, rope::Accumulation::add);
  for (const float value : parameters) add(value);
  add(rope::is_valid(rope::Accumulation::add));
  use_gradients<Pairing::half_split, float>(golden);
  use_gradients<Pairing::interleaved, double>(golden);
}

template <class T>
void use_key_cache(const rope::Frequencies& frequencies, const rope::Frequencies& others) {
  const rope::CosSinTable<float> table(frequencies, 64);
  const rope::CosSinTable<float> other(others, 64);
  rope::CacheIndex index(16, {.axes = 1});
  rope::KeyStore<T> store({16, heads, dim}, {.pairing = Pairing::half_split});
  static T memory[16 * heads * dim];
  rope::KeyStore<T> foreign(
      rope::thd(memory, {16, heads, dim}),
      {.pairing = Pairing::interleaved, .first_dim = 1, .storage = rope::KeyStorage::unrotated});
  const Data<float> keys;
  const auto first = index.add_sequence();
  const rope::Placement placed = index.append(first, batch * tokens);
  store.write(rope::bthd(keys.q, {batch, tokens, heads, dim}), index, placed.slots, table);
  foreign.write(rope::bthd(keys.q, {batch, tokens, heads, dim}), index, placed.slots, table);
  const auto follow = [&](const auto& moves) {
    store.follow(moves);
    foreign.follow(moves);
    for (const rope::SlotMove& move : moves) {
      add(move.from);
      add(move.to);
    }
  };
  const auto second = index.copy(first);
  const auto third = index.copy(first, {1, 4});
  follow(index.shift(second, {2, rope::no_end}, 5));
  follow(index.unshare(third));
  follow(index.keep(first, {.sinks = 1, .window = 2}));
  index.set_next_position(second, 20);
  index.remove(second, {0, 1});
  index.slide(third, 2);
  follow(index.compact());
  add(store.materialise(index, first, table));
  add(store.materialise(index, second, other));
  add(store.materialise(index, table));
  float read[16 * heads * dim];
  for (const auto sequence : {first, second, third}) {
    const std::int64_t count = index.tokens(sequence);
    const auto out = rope::thd(read, {16, heads, dim}).slice_tokens(0, count);
    store.read(index, sequence, other, out);
    for (std::int64_t i = 0; i < count * heads * dim; ++i) add(read[i]);
    foreign.read(index, sequence, table, out);
    for (std::int64_t i = 0; i < count * heads * dim; ++i) add(read[i]);
    for (const std::int64_t position : index.positions(sequence)) add(position);
    for (const rope::SlotRun& run : index.runs(sequence)) add(run.count);
    for (const std::int64_t slot : index.slots(sequence)) {
      add(index.position(slot));
      add(index.holders(slot));
    }
    add(index.next_position(sequence));
  }
  index.drop(second);
  add(index.contains(second));
  add(index.slots() + index.free_slots() + index.sequences() + index.axes());
  add(store.slots() + store.heads() + store.dim());
  add(static_cast<float>(store.keys()(0, 1, 1, 2)));
  const rope::KeyStore<T> moved = std::move(store);
  add(moved.slots());
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

void count_backwards(std::int64_t count, rope::TaskRef body) {
  while (count > 0) body(--count);
}

/// Executors, parts and norms, for what is stored as T; bytes, since the result may be of 16 bits.
template <Pairing pairing, class T, class C>
void use_norms(const rope::CosSinTable<C>& table) {
  constexpr std::int64_t size = tokens * heads * dim;
  static T q[size];
  static T k[size];
  static T out[size];
  static C weights[heads * dim];
  C scales[tokens];
  const Data<C> data;
  for (std::int64_t i = 0; i < size; ++i) {
    q[i] = static_cast<T>(data.q[i]);
    k[i] = static_cast<T>(data.k[i]);
  }
  for (std::int64_t i = 0; i < heads * dim; ++i) weights[i] = data.k[i];
  const auto q_view = rope::thd(q, {tokens, heads, dim});
  const auto k_view = rope::thd(k, {tokens, heads, dim});
  const auto out_view = rope::htd(out, {heads, tokens, dim});
  const std::span<const C> of_head(weights, dim);
  rope::token_scales(q_view, 1e-5, scales);
  const auto qwen3 = rope::qwen3_norm(of_head, 1e-6);
  const auto gemma3 = rope::gemma3_norm(of_head, 1e-6);
  const auto olmo2 = rope::olmo2_norm(weights, scales);
  const auto any = rope::rms_norm(
      of_head,
      {.epsilon = 1, .weight = rope::NormWeight::times_w, .rounding = rope::NormRounding::none});
  const auto scaled = rope::scaled_norm(
      of_head, std::span<const C>(scales),
      {.weight = rope::NormWeight::times_w, .rounding = rope::NormRounding::after_weight});
  add(scaled.has_token_scales());
  add(scaled.token_scales().size() == tokens && any.weights().size() == dim);
  add(any.epsilon());
  add(any.weight() == gemma3.weight() || any.rounding() == gemma3.rounding());
  add(rope::check_normalize(q_view, qwen3));
  add(rope::check_normalize_to(q_view, out_view, any));
  add(rope::check_rotate(q_view, table, rope::from(1), {.norm = qwen3}));
  add(rope::check_rotate_to(q_view, out_view, table, rope::from(1), {.norm = olmo2}));
  add(rope::check_rotate_qk(q_view, k_view, table, rope::from(1),
                            {.q_norm = qwen3, .k_norm = gemma3}));
  rope::rotate<pairing>(q_view, table, rope::from(1), {.norm = qwen3, .executor = count_backwards});
  rope::rotate(k_view, table, rope::from(1), {.pairing = pairing, .norm = scaled});
  rope::rotate_to<pairing>(q_view, out_view, table, rope::from(1), {.norm = olmo2, .first_dim = 1});
  rope::rotate_to(k_view, q_view, table, rope::from(1), {.pairing = pairing, .norm = gemma3});
  rope::rotate_qk<pairing>(q_view, k_view, table, rope::from(1), {.q_norm = any, .k_norm = gemma3});
  rope::rotate_qk(q_view, k_view, table, rope::from(1),
                  {.pairing = pairing, .q_norm = qwen3, .k_norm = gemma3, .part = {1, 2}});
  rope::normalize(k_view, qwen3, {.part = {0, 2}});
  rope::normalize_to(k_view, out_view.slice_dims(0, dim), any);
  rope::rotate_part<pairing>(q_view, table, rope::from(2), {1, 3});
  rope::rotate_part(q_view, table, rope::from(2), {2, 3}, {.pairing = pairing});
  for (std::int64_t i = 0; i < size; ++i) {
    add(static_cast<C>(q[i]));
    add(static_cast<C>(k[i]));
    add(static_cast<C>(out[i]));
  }
}

void use_executors() {
  rope::ThreadPool pool(2);
  rope::ExecutorRef executor = pool;
  add(executor.threads() == pool.threads() && !executor.is_serial() && rope::serial.is_serial());
  std::int64_t sums[3] = {};
  const auto body = [&](std::int64_t i) { sums[i] += i; };
  executor(3, body);
  executor = rope::serial;
  executor(3, body);
  executor = count_backwards;
  executor(3, rope::TaskRef(body));
  for (const std::int64_t sum : sums) add(sum);
}

}  // namespace

namespace contract::ROPE_CONTRACT_UNIT {

/// The same number wherever and however this is compiled.
std::uint64_t digest() {
  hash = 0xcbf29ce484222325;
  use_arguments();
  use_views<float>();
  use_views<double>();
  use_conversion<rope::f16, float>();
  use_conversion<float, rope::f16>();
  use_conversion<rope::bf16, rope::bf16>();
  use_conversion<rope::bf16, rope::f16>();
  use_positions();
  use_masks_and_ragged();
  use_grids();
  use_prompts();

  const rope::Frequencies plain = rope::frequencies({.rotary_dim = rotary_dim, .base = 500000});
  const rope::Frequencies linear =
      rope::frequencies({.rotary_dim = rotary_dim, .scaling = rope::Linear{.factor = 3}});
  // Rows for each of two heads, and a magnitude.
  const rope::Frequencies own({1, 0.5, 0.25, 0.125, 0.0625, 0.03125, -1, 2, -3, 4, -5, 6},
                              {1, heads, rotary_dim / 2}, 1.25);
  use_spatial(plain);
  use_directions();
  use_frequencies(plain);
  use_frequencies(linear);
  use_frequencies(own);
  use_tables<float>(plain);
  use_tables<double>(linear);
  const rope::CosSinTable<float> table(own, rows);
  rotate_by_position<float>(table);
  use_key_cache<float>(plain, linear);
  use_key_cache<rope::bf16>(linear, plain);
  const rope::CosSinTable<float> norm_table(plain, tokens + 2);
  use_executors();
  use_norms<Pairing::half_split, float>(norm_table);
  use_norms<Pairing::interleaved, rope::bf16>(norm_table);
#if defined(ROPE_CONTRACT_ALL)
  use_norms<Pairing::half_split, rope::f16>(norm_table);
  use_norms<Pairing::interleaved, double>(rope::CosSinTable<double>(plain, tokens + 2));
#endif
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
