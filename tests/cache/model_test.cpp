// CacheIndex and KeyStore, driven by random operations beside a model that does the same slowly
// and obviously: lists of tokens that know their unrotated key and their position. Shares no code
// with the library.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "rope/cache_index.hpp"
#include "rope/frequencies.hpp"
#include "rope/key_store.hpp"
#include "rope/scalar.hpp"
#include "rope/table.hpp"
#include "support/catch.hpp"

namespace {

constexpr std::int64_t slot_count = 40;
constexpr std::int64_t head_count = 2;
constexpr std::int64_t head_dim = 9;
constexpr std::int64_t first_dim = 1;
constexpr std::int64_t pair_count = 3;
constexpr std::int64_t key_elements = head_count * head_dim;
constexpr std::int64_t rows = 3000;

/// The frequencies and magnitudes that sequences may have: as when LongRoPE changes its list.
struct Scheme {
  std::vector<double> frequencies;
  double magnitude;
};
const Scheme schemes[] = {{{1.0, 0.1, 0.01}, 1.0}, {{0.7, 0.1, 0.0025}, 1.25}};

/// A token as the model has it. Sequences that were copied share it until one is shifted.
struct Token {
  std::int64_t number = 0;
  std::vector<float> key;
  std::int64_t position = 0;
  // What a store of rotated keys has done to it.
  std::int64_t rotated_for = 0;
  int rotated_with = 0;
  int roundings = 1;
};
using TokenPointer = std::shared_ptr<Token>;

struct Sequence {
  std::vector<TokenPointer> tokens;
  std::int64_t next = 0;
  int scheme = 0;
};

struct Model {
  std::map<rope::SequenceId, Sequence> sequences;

  std::int64_t holders(const TokenPointer& token) const {
    std::int64_t count = 0;
    for (const auto& [id, sequence] : sequences) {
      count += std::count(sequence.tokens.begin(), sequence.tokens.end(), token);
    }
    return count;
  }
  std::int64_t used() const {
    std::set<const Token*> distinct;
    for (const auto& [id, sequence] : sequences) {
      for (const TokenPointer& token : sequence.tokens) distinct.insert(token.get());
    }
    return static_cast<std::int64_t>(distinct.size());
  }
  /// Replaces what is shared by copies, from entry `begin` on.
  void make_own(rope::SequenceId id, const std::vector<std::size_t>& entries) {
    for (const std::size_t i : entries) {
      TokenPointer& token = sequences[id].tokens[i];
      if (holders(token) > 1) token = std::make_shared<Token>(*token);
    }
  }
};

bool is_in_order(const Sequence& sequence) {
  std::int64_t last = -1;
  for (const TokenPointer& token : sequence.tokens) {
    if (token->position <= last) return false;
    last = token->position;
  }
  return sequence.next > last;
}

/// The key rotated for its token's position, in double and by the textbook.
std::vector<double> rotated(const Token& token, int scheme, bool interleaved) {
  std::vector<double> key(token.key.begin(), token.key.end());
  for (std::int64_t head = 0; head < head_count; ++head) {
    for (std::int64_t pair = 0; pair < pair_count; ++pair) {
      const std::int64_t start = head * head_dim + first_dim;
      const auto first = static_cast<std::size_t>(start + (interleaved ? 2 * pair : pair));
      const auto second = static_cast<std::size_t>(first + (interleaved ? 1 : pair_count));
      const Scheme& numbers = schemes[scheme];
      const double angle =
          static_cast<double>(token.position) * numbers.frequencies[static_cast<std::size_t>(pair)];
      const double a = key[first] * numbers.magnitude;
      const double b = key[second] * numbers.magnitude;
      key[first] = a * std::cos(angle) - b * std::sin(angle);
      key[second] = a * std::sin(angle) + b * std::cos(angle);
    }
  }
  return key;
}

/// What a key's error can be: each rounding to T moves a pair by at most its length times half the
/// distance of two numbers beside 1, and turns do not change that.
template <class T>
double tolerance(const Token& token, int roundings) {
  if constexpr (std::is_same_v<T, float>) {
    return 1e-5;
  } else {
    double squares = 0;
    for (const float value : token.key)
      squares += static_cast<double>(value) * static_cast<double>(value);
    return roundings * 0x1p-8 * 1.02 * 1.25 * std::sqrt((std::min)(squares, 2.0)) + 1e-5;
  }
}

/// The library's side: one index and three stores.
struct Cache {
  rope::CacheIndex index{slot_count};
  rope::KeyStore<float> floats{{slot_count, head_count, head_dim},
                               {.pairing = rope::Pairing::interleaved, .first_dim = first_dim}};
  rope::KeyStore<rope::bf16> halves{{slot_count, head_count, head_dim},
                                    {.pairing = rope::Pairing::half_split, .first_dim = first_dim}};
  rope::KeyStore<rope::bf16> unrotated{{slot_count, head_count, head_dim},
                                       {.pairing = rope::Pairing::half_split,
                                        .first_dim = first_dim,
                                        .storage = rope::KeyStorage::unrotated}};
  std::vector<std::int64_t> values = std::vector<std::int64_t>(slot_count, 0);  // token numbers

  void follow(const std::vector<rope::SlotMove>& moves) {
    floats.follow(moves);
    halves.follow(moves);
    unrotated.follow(moves);
    for (const auto& [from, to] : moves) {
      values[static_cast<std::size_t>(to)] = values[static_cast<std::size_t>(from)];
    }
  }
};

class Driver {
 public:
  explicit Driver(unsigned seed) : engine_(seed) {
    for (const Scheme& scheme : schemes) {
      tables_.emplace_back(
          rope::Frequencies(scheme.frequencies, {1, 1, pair_count}, scheme.magnitude), rows);
    }
  }

  void run(int operations) {
    for (int i = 0; i < operations; ++i) {
      step();
      if (!same_bookkeeping()) FAIL("bookkeeping differs after operation " << i);
      if (i % 16 == 0) check_keys();
    }
    check_keys();
    CHECK(refusals_ > operations / 100);
    CHECK(turns_ > operations / 10);
    CHECK(most_roundings_ > 3);
    CHECK(copies_ > operations / 100);
  }

 private:
  std::int64_t random(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }

  std::optional<rope::SequenceId> pick() {
    if (model_.sequences.empty()) return std::nullopt;
    auto found = model_.sequences.begin();
    std::advance(found, random(0, static_cast<std::int64_t>(model_.sequences.size()) - 1));
    return found->first;
  }

  rope::CacheRange random_range(const Sequence& sequence) {
    const std::int64_t begin = random(0, sequence.next + 2);
    const std::int64_t end = random(0, 2) == 0 ? rope::no_end : begin + random(0, 8);
    return {begin, end};
  }

  static bool is_in(const Token& token, const rope::CacheRange& range) {
    return token.position >= range.begin.value() && token.position < range.end.value();
  }

  /// Does `change` to the model and `call` to the library; both must agree whether it works.
  template <class Change, class Call>
  void both(Change change, Call call) {
    Model changed = model_;
    const bool allowed = change(changed) && changed.used() <= slot_count;
    bool done = false;
    try {
      call();
      done = true;
    } catch (const rope::Error&) {
      ++refusals_;
    }
    if (done != allowed) {
      FAIL("the library says " << done << ", the model " << allowed);
    }
    if (allowed) model_ = std::move(changed);
  }

  void follow(const std::vector<rope::SlotMove>& moves) {
    copies_ += static_cast<int>(moves.size());
    cache_.follow(moves);
  }

  void step() {
    const std::int64_t kind = random(0, 99);
    const auto id = pick();
    if (!id || (kind < 4 && model_.sequences.size() < 6)) {
      const rope::SequenceId made = cache_.index.add_sequence();
      REQUIRE_FALSE(model_.sequences.contains(made));
      model_.sequences[made].scheme = static_cast<int>(random(0, 1));
      return;
    }
    if (kind < 8 && model_.sequences.size() < 6) return copy(*id);
    if (kind < 10) {
      cache_.index.drop(*id);
      model_.sequences.erase(*id);
      return;
    }
    if (kind < 45) return append(*id, random(0, 10) == 0 ? random(4, 20) : random(0, 3));
    if (kind < 52) return remove(*id);
    if (kind < 66) return shift(*id);
    if (kind < 70) return slide(*id);
    if (kind < 78) return keep(*id);
    if (kind < 80) return compact();
    if (kind < 83) return change_scheme(*id);
    if (kind < 84) return unknown();
    if (kind < 85) return jump(*id);
    materialise(*id);
  }

  void copy(rope::SequenceId id) {
    const bool whole = random(0, 1) == 0;
    const rope::CacheRange range = random_range(model_.sequences[id]);
    const rope::SequenceId made = whole ? cache_.index.copy(id) : cache_.index.copy(id, range);
    Sequence copied = model_.sequences[id];
    if (!whole) {
      std::erase_if(copied.tokens,
                    [&](const TokenPointer& token) { return !is_in(*token, range); });
      copied.next = (std::min)(copied.next, static_cast<std::int64_t>(range.end.value()));
    }
    REQUIRE_FALSE(model_.sequences.contains(made));
    model_.sequences[made] = copied;
  }

  void append(rope::SequenceId id, std::int64_t count) {
    std::vector<float> keys(static_cast<std::size_t>(count * key_elements));
    for (float& value : keys) value = static_cast<float>(random(-1000, 1000)) / 1000;
    const std::int64_t first_number = numbers_ + 1;
    both(
        [&](Model& model) {
          Sequence& sequence = model.sequences[id];
          for (std::int64_t i = 0; i < count; ++i) {
            const auto begin = keys.begin() + i * key_elements;
            sequence.tokens.push_back(std::make_shared<Token>(Token{first_number + i,
                                                                    {begin, begin + key_elements},
                                                                    sequence.next,
                                                                    sequence.next,
                                                                    sequence.scheme,
                                                                    1}));
            ++sequence.next;
          }
          return true;
        },
        [&] {
          const rope::Placement placed = cache_.index.append(id, count);
          REQUIRE(placed.first_position == model_.sequences[id].next);
          const auto& table = tables_[static_cast<std::size_t>(model_.sequences[id].scheme)];
          const rope::View<const float> view =
              rope::thd(std::as_const(keys), {count, head_count, head_dim});
          cache_.floats.write(view, cache_.index, placed.slots, table);
          cache_.halves.write(view, cache_.index, placed.slots, table);
          cache_.unrotated.write(view, cache_.index, placed.slots, table);
          for (const std::int64_t slot : placed.slots) {
            cache_.values[static_cast<std::size_t>(slot)] = ++numbers_;
          }
        });
  }

  void remove(rope::SequenceId id) {
    const rope::CacheRange range = random_range(model_.sequences[id]);
    cache_.index.remove(id, range);
    Sequence& sequence = model_.sequences[id];
    std::erase_if(sequence.tokens, [&](const TokenPointer& token) { return is_in(*token, range); });
    if (range.end.value() >= sequence.next) {
      sequence.next = (std::min)(sequence.next, static_cast<std::int64_t>(range.begin.value()));
    }
  }

  void shift(rope::SequenceId id) {
    const rope::CacheRange range = random_range(model_.sequences[id]);
    const std::int64_t delta = random(-6, 6);
    both(
        [&](Model& model) {
          std::vector<std::size_t> moved;
          Sequence& sequence = model.sequences[id];
          for (std::size_t i = 0; i < sequence.tokens.size(); ++i) {
            if (is_in(*sequence.tokens[i], range)) moved.push_back(i);
          }
          if (delta == 0) return true;
          // All are replaced, so that the old model keeps its positions.
          const std::int64_t used = model.used();
          std::int64_t shared = 0;
          for (const std::size_t i : moved) {
            shared += model.holders(sequence.tokens[i]) > 1 ? 1 : 0;
          }
          for (const std::size_t i : moved) {
            sequence.tokens[i] = std::make_shared<Token>(*sequence.tokens[i]);
            sequence.tokens[i]->position += delta;
          }
          if (range.begin.value() <= sequence.next && range.end.value() >= sequence.next) {
            sequence.next += delta;
          }
          return is_in_order(sequence) && sequence.next >= 0 && used + shared <= slot_count;
        },
        [&] { follow(cache_.index.shift(id, range, delta)); });
  }

  void slide(rope::SequenceId id) {
    const std::int64_t window = random(0, 12);
    cache_.index.slide(id, window);
    Sequence& sequence = model_.sequences[id];
    std::erase_if(sequence.tokens, [&](const TokenPointer& token) {
      return token->position < sequence.next - window;
    });
  }

  void keep(rope::SequenceId id) {
    const std::int64_t sinks = random(0, 4);
    const std::int64_t window = random(0, 8);
    both(
        [&](Model& model) {
          Sequence& sequence = model.sequences[id];
          std::vector<TokenPointer>& tokens = sequence.tokens;
          const auto size = static_cast<std::int64_t>(tokens.size());
          if (size <= sinks + window) return true;
          const std::int64_t start =
              sinks == 0 ? tokens[0]->position
                         : tokens[static_cast<std::size_t>(sinks) - 1]->position + 1;
          tokens.erase(tokens.begin() + sinks, tokens.end() - window);
          const auto kept = static_cast<std::size_t>(sinks);
          const std::int64_t delta = start - (window == 0 ? sequence.next : tokens[kept]->position);
          if (delta == 0) return true;
          for (std::size_t i = kept; i < tokens.size(); ++i) {
            tokens[i] = std::make_shared<Token>(*tokens[i]);
            tokens[i]->position += delta;
          }
          sequence.next += delta;
          return true;
        },
        [&] { follow(cache_.index.keep(id, {.sinks = sinks, .window = window})); });
  }

  void compact() {
    follow(cache_.index.compact());
    std::int64_t highest = -1;
    for (const auto& [id, sequence] : model_.sequences) {
      for (const std::int64_t slot : cache_.index.slots(id)) highest = (std::max)(highest, slot);
    }
    CHECK(highest + 1 == model_.used());
  }

  void jump(rope::SequenceId id) {
    const std::int64_t to = random(0, 40);
    both(
        [&](Model& model) {
          model.sequences[id].next = to;
          return is_in_order(model.sequences[id]);
        },
        [&] { cache_.index.set_next_position(id, to); });
  }

  void change_scheme(rope::SequenceId id) {
    bool done = false;
    both(
        [&](Model& model) {
          for (TokenPointer& token : model.sequences[id].tokens) {
            if (model.holders(token) > 1) token = std::make_shared<Token>(*token);
          }
          return true;
        },
        [&] {
          follow(cache_.index.unshare(id));
          done = true;
        });
    if (!done) return;
    model_.sequences[id].scheme ^= 1;
    materialise(id);
  }

  void unknown() {
    ++refusals_;
    const auto nobody = static_cast<rope::SequenceId>(1 << 30);
    CHECK_THROWS_AS(cache_.index.append(nobody, 1), rope::OutOfRange);
    CHECK_THROWS_AS(cache_.index.drop(nobody), rope::OutOfRange);
    CHECK_THROWS_AS(cache_.index.copy(nobody), rope::OutOfRange);
  }

  void materialise(rope::SequenceId id) {
    const Sequence& sequence = model_.sequences[id];
    // Another sequence may have changed its frequencies after this one was copied, but then it took
    // slots of its own.
    const auto& table = tables_[static_cast<std::size_t>(sequence.scheme)];
    std::int64_t stale = 0;
    for (const TokenPointer& token : sequence.tokens) {
      if (token->rotated_for != token->position || token->rotated_with != sequence.scheme) {
        ++stale;
        ++token->roundings;
        token->rotated_for = token->position;
        token->rotated_with = sequence.scheme;
        most_roundings_ = (std::max)(most_roundings_, token->roundings);
      }
    }
    CHECK(cache_.floats.materialise(cache_.index, id, table) == stale);
    CHECK(cache_.halves.materialise(cache_.index, id, table) == stale);
    turns_ += static_cast<int>(stale);
    // Now attention can read the store itself, run by run.
    std::size_t entry = 0;
    for (const rope::SlotRun& run : cache_.index.runs(id)) {
      const auto keys = cache_.floats.keys().slice_tokens(run.first, run.count);
      for (std::int64_t t = 0; t < run.count; ++t, ++entry) {
        compare<float>(*sequence.tokens[entry], sequence.scheme, true, 1,
                       [&](std::int64_t head, std::int64_t i) { return keys(0, t, head, i); });
      }
    }
    REQUIRE(entry == sequence.tokens.size());
  }

  template <class T, class Element>
  void compare(const Token& token, int scheme, bool interleaved, int roundings, Element element) {
    const std::vector<double> expected = rotated(token, scheme, interleaved);
    const double bound = tolerance<T>(token, roundings);
    for (std::int64_t head = 0; head < head_count; ++head) {
      for (std::int64_t i = 0; i < head_dim; ++i) {
        const auto at = static_cast<std::size_t>(head * head_dim + i);
        const double error = std::abs(static_cast<double>(element(head, i)) - expected[at]);
        if (!(error <= bound)) {
          FAIL("token " << token.number << " head " << head << " feature " << i << ": error "
                        << error << " above " << bound << " after " << roundings << " roundings");
        }
      }
    }
  }

  bool same_bookkeeping() {
    if (cache_.index.free_slots() != slot_count - model_.used()) return false;
    if (cache_.index.sequences() != static_cast<std::int64_t>(model_.sequences.size()))
      return false;
    for (const auto& [id, sequence] : model_.sequences) {
      const std::span<const std::int64_t> slots = cache_.index.slots(id);
      if (slots.size() != sequence.tokens.size()) return false;
      if (cache_.index.next_position(id) != sequence.next) return false;
      for (std::size_t i = 0; i < slots.size(); ++i) {
        const TokenPointer& token = sequence.tokens[i];
        if (cache_.index.position(slots[i]) != token->position) return false;
        if (cache_.values[static_cast<std::size_t>(slots[i])] != token->number) return false;
        if (cache_.index.holders(slots[i]) != model_.holders(token)) return false;
      }
    }
    return true;
  }

  /// All keys of all sequences through read(), whatever is pending.
  void check_keys() {
    for (const auto& entry : model_.sequences) {
      const rope::SequenceId id = entry.first;
      const Sequence& sequence = entry.second;
      const auto& table = tables_[static_cast<std::size_t>(sequence.scheme)];
      const auto count = static_cast<std::int64_t>(sequence.tokens.size());
      std::vector<float> out(static_cast<std::size_t>(count * key_elements));
      const auto view = rope::thd(out, {count, head_count, head_dim});
      const auto check = [&]<class T>(const rope::KeyStore<T>& store, bool interleaved,
                                      bool by_history) {
        store.read(cache_.index, id, table, view);
        for (std::int64_t t = 0; t < count; ++t) {
          const Token& token = *sequence.tokens[static_cast<std::size_t>(t)];
          compare<T>(token, sequence.scheme, interleaved, by_history ? token.roundings : 1,
                     [&](std::int64_t head, std::int64_t i) { return view(0, t, head, i); });
        }
      };
      check(cache_.floats, true, true);
      check(cache_.halves, false, true);
      check(cache_.unrotated, false, false);
    }
  }

  std::mt19937 engine_;
  std::vector<rope::CosSinTable<float>> tables_;
  Model model_;
  Cache cache_;
  std::int64_t numbers_ = 0;
  int refusals_ = 0;
  int turns_ = 0;
  int copies_ = 0;
  int most_roundings_ = 0;
};

}  // namespace

TEST_CASE("100,000 random operations agree with a slow model") {
  for (const unsigned seed : {1U, 2U, 3U, 4U}) {
    CAPTURE(seed);
    Driver(seed).run(25'000);
  }
}
