// Built with -fno-exceptions -fno-rtti: check_rotate() returns the verdict, and a call that is
// refused prints its message and aborts.

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "child.hpp"
#include "expect.hpp"
#include "rope/core.hpp"

#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "to be built with -fno-exceptions -fno-rtti"
#endif

namespace {

/// Whether `body` aborts and says `words`, and nothing else than one line.
template <class Body>
bool aborts_with(const char* words, const Body& body) {
  const contract::Ended ended = contract::run_in_child(body);
  const std::string& text = ended.stderr_text;
  const bool is_right =
      ended.by_abort && text.find(words) != std::string::npos && text.find('\n') == text.size() - 1;
  if (!is_right)
    std::fprintf(stderr, "%s: %s\n", ended.by_abort ? "said" : "went on", text.c_str());
  return is_right;
}

bool ends_with(const rope::Status& status, const char* words) {
  return std::strstr(status.message(), words) != nullptr;
}

}  // namespace

int main() {
  using rope::Pairing;
  const auto frequencies = rope::frequencies({.rotary_dim = 4});
  const rope::CosSinTable<float> table(frequencies, 8);
  std::vector<float> data = {1, 2, 3, 4};
  const std::vector<float> before = data;
  const auto x = rope::thd(data, {1, 1, 4});

  const rope::Status fine = rope::check_rotate(x, table, rope::from(7));
  CONTRACT_EXPECT(fine.ok());
  CONTRACT_EXPECT(fine.kind() == rope::ErrorKind::none);
  CONTRACT_EXPECT(*fine.message() == '\0');
  const rope::Status refused = rope::check_rotate(x, table, rope::from(8));
  CONTRACT_EXPECT(refused.kind() == rope::ErrorKind::out_of_range);
  CONTRACT_EXPECT(ends_with(refused, "rope::rotate"));
  const rope::Status misplaced = rope::check_rotate(x, table, rope::from(0), {.first_dim = 1});
  CONTRACT_EXPECT(misplaced.kind() == rope::ErrorKind::invalid_argument);
  CONTRACT_EXPECT(ends_with(misplaced, "first_dim"));
  CONTRACT_EXPECT(data == before);

  rope::rotate<Pairing::interleaved>(x, table, rope::from(7));
  CONTRACT_EXPECT(data != before);

  CONTRACT_EXPECT(aborts_with(refused.message(),
                              [&] { rope::rotate<Pairing::half_split>(x, table, rope::from(8)); }));
  CONTRACT_EXPECT(aborts_with("rope::rotate_inverse", [&] {
    rope::rotate_inverse(x, table, rope::from(-1), {.pairing = Pairing::half_split});
  }));
  CONTRACT_EXPECT(aborts_with("rope::thd", [&] { rope::thd(data, {2, 1, 4}); }));
  CONTRACT_EXPECT(aborts_with("rope::View::slice_tokens", [&] { x.slice_tokens(0, 2); }));
  CONTRACT_EXPECT(aborts_with("rope::frequencies", [] { rope::frequencies({.rotary_dim = 3}); }));
  CONTRACT_EXPECT(aborts_with("rope::CosSinTable",
                              [&] { rope::CosSinTable<double> refused_table(frequencies, -1); }));
  CONTRACT_EXPECT(aborts_with("rope::CosSinTable::cos", [&] { table.cos(8); }));
  CONTRACT_EXPECT(
      aborts_with("rope::Extent", [] { rope::Extent refused_extent(~std::uint64_t{0}); }));
  return contract::failures == 0 ? 0 : 1;
}
