#include <cstdint>
#include <rope/core.hpp>

void rotate_query(float* q, std::int64_t tokens, const rope::CosSinTable<float>& table) {
  rope::rotate<rope::Pairing::half_split>(rope::thd(q, {tokens, 32, 128}), table, rope::from(0));
}
