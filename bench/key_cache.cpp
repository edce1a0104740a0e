// Writing keys through a key cache beside rotating and converting them into the same memory with
// rotate_to(), also those of many sequences that are decoded together; turning shifted keys beside
// rotating as many in place; and the bookkeeping.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rope/core.hpp"
#include "rope/key_cache.hpp"
#include "support/memory.hpp"
#include "support/run.hpp"

namespace {

using namespace rope_bench;
using rope::Pairing;

/// The keys of one layer, in the memory that all benchmarks write, and one sequence.
template <class T>
struct Cache {
  explicit Cache(const Shape& keys, rope::KeyStorage storage = rope::KeyStorage::rotated)
      : shape(keys),
        index(keys.tokens),
        store(view(output<T>(), keys), {.pairing = Pairing::half_split, .storage = storage}),
        sequence(index.add_sequence()) {
    index.set_next_position(sequence, first_position);
    index.append(sequence, keys.tokens);
  }

  void write() {
    store.write(view(input<float>(), shape), index, index.slots(sequence), table(shape.dim));
  }

  Shape shape;
  rope::CacheIndex index;
  rope::KeyStore<T> store;
  rope::SequenceId sequence;
  std::int64_t delta = -1;
};

template <class T>
void add_writes(const std::string& type, const Shape& shape) {
  const std::string what = "<" + type + ">/" + std::to_string(shape.tokens);
  add("plain" + what, "", [=, in = input<float>(), out = output<T>()] {
    rope::rotate_to<Pairing::half_split>(view(in, shape), view(out, shape), table(shape.dim),
                                         rope::from(first_position));
  });
  const auto cache = std::make_shared<Cache<T>>(shape);
  add("write" + what, "plain" + what, [=] { cache->write(); });
  const auto unrotated = std::make_shared<Cache<T>>(shape, rope::KeyStorage::unrotated);
  add("write unrotated" + what, "plain" + what, [=] { unrotated->write(); });
}

/// The newest token of each of many sequences, whose slots lie apart.
void add_decoding(std::int64_t sequences, std::int64_t length) {
  const Shape keys{sequences, 8, 128};
  const Shape all{sequences * length, 8, 128};
  const std::string what = "<rope::bf16>/" + std::to_string(sequences) + " sequences";
  const auto index = std::make_shared<rope::CacheIndex>(all.tokens);
  const auto store = std::make_shared<rope::KeyStore<rope::bf16>>(
      view(output<rope::bf16>(), all), rope::KeyStoreOptions{.pairing = Pairing::half_split});
  std::vector<std::int64_t> slots;
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < sequences; ++i) {
    slots.push_back(index->append(index->add_sequence(), length).slots.back());
    positions.push_back(length - 1);
  }
  add("plain" + what, "", [=, in = input<float>(), out = output<rope::bf16>()] {
    rope::rotate_to<Pairing::half_split>(view(in, keys), view(out, keys), table(keys.dim),
                                         rope::at(positions, {keys.tokens}));
  });
  add("write" + what, "plain" + what,
      [=] { store->write(view(input<float>(), keys), *index, slots, table(keys.dim)); });
}

/// A shift to and fro, and the keys turned each time.
template <class T>
void add_turns(const std::string& type, const Shape& shape) {
  const std::string what = "<" + type + ">/" + std::to_string(shape.tokens);
  add("rotate in place" + what, "", [=, x = output<T>()] {
    rope::rotate<Pairing::half_split>(view(x, shape), table(shape.dim), rope::from(first_position));
  });
  const auto cache = std::make_shared<Cache<T>>(shape);
  cache->write();
  add("shift and materialise" + what, "rotate in place" + what, [=] {
    static_cast<void>(cache->index.shift(cache->sequence, {0, rope::no_end}, cache->delta));
    cache->delta = -cache->delta;
    benchmark::DoNotOptimize(
        cache->store.materialise(cache->index, cache->sequence, table(shape.dim)));
  });
  add("materialise nothing" + what, "", [=] {
    benchmark::DoNotOptimize(
        cache->store.materialise(cache->index, cache->sequence, table(shape.dim)));
  });
}

/// All keys from one set of frequencies to another and back, as where LongRoPE switches.
void add_switch(const Shape& shape) {
  const auto cache = std::make_shared<Cache<rope::bf16>>(shape);
  const auto other = std::make_shared<rope::CosSinTable<float>>(
      rope::frequencies({.rotary_dim = shape.dim, .base = 20000}), shape.tokens + first_position);
  cache->write();
  add("to other frequencies and back/" + std::to_string(shape.tokens), "", [=] {
    cache->store.materialise(cache->index, cache->sequence, *other);
    cache->store.materialise(cache->index, cache->sequence, table(shape.dim));
  });
}

/// One token of a sliding window.
void add_bookkeeping(std::int64_t window) {
  const auto index = std::make_shared<rope::CacheIndex>(8192);
  const rope::SequenceId sequence = index->add_sequence();
  add("append and slide/" + std::to_string(window), "", [=] {
    index->append(sequence, 1);
    index->slide(sequence, window);
  });
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::int64_t tokens : {1, 16, 512, 4096}) {
    const Shape shape{tokens, 8, 128};
    add_writes<float>("float", shape);
    add_writes<rope::bf16>("rope::bf16", shape);
  }
  add_decoding(32, 40);
  for (const std::int64_t tokens : {512, 4096}) {
    add_turns<rope::bf16>("rope::bf16", {tokens, 8, 128});
  }
  add_switch({512, 8, 128});
  add_bookkeeping(1024);
  return run(argc, argv, "The key cache: 8 heads of 128");
}
