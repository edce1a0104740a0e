// The program of docs/key_cache.md, section by section.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include "rope/core.hpp"
#include "rope/key_cache.hpp"

namespace {

void print(const char* label, const std::vector<std::int64_t>& numbers) {
  std::printf("%-28s", label);
  for (const std::int64_t number : numbers) {
    std::printf(" %2lld", static_cast<long long>(number));
  }
  std::printf("\n");
}

std::vector<std::int64_t> listed(std::span<const std::int64_t> slots) {
  return {slots.begin(), slots.end()};
}

}  // namespace

int main() {
  // [setup] Two layers of a model with 4 query heads and 2 key heads of 8 features.
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = 8}), 4096);
  rope::CacheIndex index(16);  // slots, once for all layers
  std::vector<rope::KeyStore<rope::bf16>> keys;
  for (int layer = 0; layer < 2; ++layer) {
    keys.emplace_back(rope::Extents<3>{index.slots(), 2, 8},
                      rope::KeyStoreOptions{.pairing = rope::Pairing::half_split});
  }
  std::vector<float> values(16 * 2 * 8);  // yours, in the same slots
  // [setup]

  // [read] A prompt of 7 tokens: slots and positions once, then the keys of each layer.
  const rope::SequenceId chat = index.add_sequence();
  const rope::Placement placed = index.append(chat, 7);
  for (rope::KeyStore<rope::bf16>& layer : keys) {
    std::vector<float> q(7 * 4 * 8, 1.0F);
    std::vector<float> k(7 * 2 * 8, 1.0F);
    rope::rotate<rope::Pairing::half_split>(rope::thd(q, {7, 4, 8}), table,
                                            rope::from(placed.first_position));
    layer.write(rope::thd(k, {7, 2, 8}), index, placed.slots, table);
  }
  // [read]
  print("slots", listed(index.slots(chat)));
  print("positions", index.positions(chat));

  // [keep] Attention sinks: the first 2 tokens stay, and the last 3 move to behind them.
  const auto moves = index.keep(chat, {.sinks = 2, .window = 3});
  for (rope::KeyStore<rope::bf16>& layer : keys) {
    layer.follow(moves);
  }
  // [keep]
  print("slots of sinks and window", listed(index.slots(chat)));
  print("positions", index.positions(chat));
  print("next position", {index.next_position(chat)});

  // [attend] Before attention: turn what was shifted, then read the slots block by block.
  for (rope::KeyStore<rope::bf16>& layer : keys) {
    const std::int64_t turned = layer.materialise(index, chat, table);
    for (const rope::SlotRun& run : index.runs(chat)) {
      const rope::View<const rope::bf16> block = layer.keys().slice_tokens(run.first, run.count);
      std::printf("turned %lld; %lld keys from slot %lld on, the last one %.4f %.4f\n",
                  static_cast<long long>(turned), static_cast<long long>(run.count),
                  static_cast<long long>(run.first),
                  static_cast<double>(block(0, run.count - 1, 0, 0)),
                  static_cast<double>(block(0, run.count - 1, 0, 4)));
    }
  }
  // [attend]

  // [share] Another answer to the same prompt shares its slots, until one of the two is shifted.
  const rope::SequenceId other = index.copy(chat);
  print("free slots", {index.free_slots()});
  const auto copies = index.shift(other, {2, rope::no_end}, 10);
  for (rope::KeyStore<rope::bf16>& layer : keys) {
    layer.follow(copies);
  }
  for (const auto& [from, to] : copies) {  // and so do the values
    for (std::int64_t i = 0; i < 2 * 8; ++i) {
      values[static_cast<std::size_t>(to * 2 * 8 + i)] =
          values[static_cast<std::size_t>(from * 2 * 8 + i)];
    }
  }
  // [share]
  print("free slots", {index.free_slots()});
  print("slots of the other", listed(index.slots(other)));
  print("positions of the other", index.positions(other));
  print("positions of the first", index.positions(chat));

  // [padding] Two prompts as one batch of 4 columns, the first padded on the left by 2.
  const int mask[] = {0, 0, 1, 1,  //
                      1, 1, 1, 1};
  index.drop(other);
  std::vector<rope::SequenceId> rows;
  std::vector<std::int64_t> slots;
  for (int row = 0; row < 2; ++row) {
    rows.push_back(index.add_sequence());
    const rope::Placement at = index.append(rows.back(), row == 0 ? 2 : 4);
    for (std::size_t column = 0, next = 0; column < 4; ++column) {
      const bool is_real = mask[4 * static_cast<std::size_t>(row) + column] == 1;
      slots.push_back(is_real ? at.slots[next++] : rope::no_slot);
    }
  }
  std::vector<float> k(2 * 4 * 2 * 8, 1.0F);
  keys[0].write(rope::bthd(k, {2, 4, 2, 8}), index, slots, table);
  print("positions of the queries", rope::positions_from_mask(mask, {2, 4}));
  // [padding]
  print("slots of the keys", slots);

  // [switch] The frequencies change for one sequence, as those of LongRoPE do past a length.
  const rope::CosSinTable<float> longer(rope::frequencies({.rotary_dim = 8, .base = 50000}), 4096);
  std::printf("turned %lld\n", static_cast<long long>(keys[0].materialise(index, rows[1], longer)));
  // [switch]
}
