// What the types promise, told by the compiler.

#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "rope/core.hpp"
#include "support/catch.hpp"

namespace {

using rope::Pairing;
template <class T>
using RowsView = rope::TableView<T, rope::RowAddressing::position>;
template <class T>
using TokensView = rope::TableView<T, rope::RowAddressing::token>;

template <class T>
constexpr bool is_plain_value =
    std::is_trivially_copyable_v<T>&& std::is_trivially_destructible_v<T>&&
        std::is_copy_assignable_v<T> &&
    alignof(T) <= alignof(std::max_align_t);

static_assert(is_plain_value<rope::View<float>> && is_plain_value<rope::View<const float>>);
static_assert(is_plain_value<rope::View<double>> && is_plain_value<rope::View<const double>>);
static_assert(is_plain_value<rope::Positions> && is_plain_value<rope::PositionShape>);
static_assert(is_plain_value<RowsView<float>> && is_plain_value<TokensView<double>>);
static_assert(is_plain_value<rope::TableRow<float>> && is_plain_value<rope::Status>);
static_assert(is_plain_value<rope::Extent> && is_plain_value<rope::Real>);
static_assert(is_plain_value<rope::Extents<4>> && is_plain_value<rope::RotateOptions>);
static_assert(is_plain_value<rope::PairingOptions> && is_plain_value<rope::TableViewOptions>);
static_assert(is_plain_value<rope::RowsShape> && is_plain_value<rope::TokensShape>);

// Owners: no alignment that ordinary memory does not have, although their rows start on cache
// lines.
template <class T>
constexpr bool is_movable_owner =
    std::is_nothrow_move_constructible_v<T>&& std::is_nothrow_move_assignable_v<T>&&
        std::is_copy_constructible_v<T>&& std::is_copy_assignable_v<T> &&
    alignof(T) <= alignof(std::max_align_t);
static_assert(is_movable_owner<rope::CosSinTable<float>>);
static_assert(is_movable_owner<rope::CosSinTable<double>>);
static_assert(is_movable_owner<rope::Frequencies> && is_movable_owner<rope::Parameters>);

// Views may lose the right to write, and nothing else.
template <class From, class To>
constexpr bool converts = std::is_convertible_v<rope::View<From>, rope::View<To>>;
static_assert(converts<float, const float> && converts<double, const double>);
static_assert(!converts<const float, float> && !converts<float, double>);
static_assert(!converts<double, float> && !converts<float, const double>);
static_assert(!std::is_constructible_v<rope::View<float>, rope::View<const float>>);

// Mandatory fields.
static_assert(!std::is_default_constructible_v<rope::Parameters>);
static_assert(!std::is_default_constructible_v<rope::PairingOptions>);
static_assert(!std::is_default_constructible_v<rope::TableViewOptions>);
static_assert(!std::is_default_constructible_v<rope::View<float>>);

// A flag is not a size, and not a base.
static_assert(!std::is_convertible_v<bool, rope::Extent> &&
              !std::is_convertible_v<bool, rope::Real>);
static_assert(std::is_convertible_v<std::size_t, rope::Extent>);
static_assert(!std::is_convertible_v<double, rope::Extent>);

// Exceptions are the standard ones, and rope's.
template <class E, class Standard>
constexpr bool is_both = std::is_base_of_v<Standard, E>&& std::is_base_of_v<rope::Error, E>&&
    std::is_convertible_v<E*, Standard*>&& std::is_convertible_v<E*, rope::Error*>;
static_assert(is_both<rope::InvalidArgument, std::invalid_argument>);
static_assert(is_both<rope::OutOfRange, std::out_of_range>);
static_assert(is_both<rope::ParseError, std::runtime_error>);
static_assert(std::has_virtual_destructor_v<rope::Error>);
static_assert(std::is_nothrow_copy_constructible_v<rope::InvalidArgument>);

// Tables, and the addressing that chooses the overload.
static_assert(rope::PositionTable<rope::CosSinTable<float>>);
static_assert(!rope::TokenAddressedTable<rope::CosSinTable<float>>);
static_assert(rope::PositionTable<RowsView<double>> &&
              !rope::TokenAddressedTable<RowsView<double>>);
static_assert(rope::TokenAddressedTable<TokensView<float>> &&
              !rope::PositionTable<TokensView<float>>);

template <class X, class... Positions>
concept Rotates = requires(rope::View<float> x, const X& table, const Positions&... positions) {
  rope::rotate<Pairing::interleaved>(x, table, positions...);
};
static_assert(Rotates<rope::CosSinTable<float>, rope::Positions>);
static_assert(!Rotates<rope::CosSinTable<float>>);
static_assert(Rotates<TokensView<float>>);
static_assert(!Rotates<TokensView<float>, rope::Positions>);

// What does not throw says so.
template <class T>
constexpr bool view_is_noexcept = [](const rope::View<T>* view) {
  return noexcept(view->data())&& noexcept(view->batch())&& noexcept(view->tokens())&& noexcept(view->heads())&& noexcept(view->dim())&& noexcept(view->batch_stride())&& noexcept(view->token_stride())&& noexcept(
      view->head_stride())&& noexcept(view->dim_stride())&& noexcept(view->layout())&& noexcept(view->empty())&& noexcept((*view)(0,
                                                                                                                                  0,
                                                                                                                                  0,
                                                                                                                                  0));
}(nullptr);
static_assert(view_is_noexcept<float> && view_is_noexcept<const double>);
static_assert(noexcept(rope::View<const float>(std::declval<rope::View<float>>())));

template <class X>
constexpr bool table_is_noexcept = [](const X* table, typename X::value_type* scratch) {
  return noexcept(table->heads())&& noexcept(table->pairs())&& noexcept(
      table->rotary_dim())&& noexcept(table->magnitude())&& noexcept(table->row(0, 0, 0, 0,
                                                                                scratch));
}(nullptr, nullptr);
static_assert(table_is_noexcept<rope::CosSinTable<float>> && table_is_noexcept<RowsView<double>>);
static_assert(table_is_noexcept<TokensView<float>>);
static_assert(noexcept(std::declval<rope::CosSinTable<float>>().rows()));
static_assert(noexcept(std::declval<const rope::CosSinTable<float>&>().frequencies()));
static_assert(noexcept(std::declval<RowsView<float>>().rows()));
static_assert(noexcept(std::declval<TokensView<float>>().batch()));
static_assert(noexcept(std::declval<TokensView<float>>().tokens()));

constexpr bool positions_are_noexcept = [](const rope::Positions* positions) {
  return noexcept(positions->kind())&& noexcept(positions->start())&& noexcept(positions->starts())&& noexcept(
      positions
          ->shape())&& noexcept(positions
                                    ->id(
                                        0))&& noexcept(positions
                                                           ->has_ids())&& noexcept(positions
                                                                                       ->position(
                                                                                           0,
                                                                                           0))&& noexcept(positions
                                                                                                              ->shape()
                                                                                                              .has_batch());
}(nullptr);
static_assert(positions_are_noexcept);
static_assert(noexcept(rope::from(std::declval<rope::Extent>())));

constexpr bool frequencies_are_noexcept = [](const rope::Frequencies* frequencies) {
  return noexcept(frequencies->axes())&& noexcept(frequencies->heads())&& noexcept(frequencies->pairs())&& noexcept(
      frequencies
          ->rotary_dim())&& noexcept(frequencies
                                         ->magnitude())&& noexcept(frequencies
                                                                       ->values())&& noexcept((*frequencies)(0,
                                                                                                             0,
                                                                                                             0));
}(nullptr);
static_assert(frequencies_are_noexcept);

constexpr bool status_is_noexcept = [](const rope::Status* status) {
  return noexcept(status->ok())&& noexcept(status->kind())&& noexcept(status->message())&& noexcept(
      bool(*status))&& noexcept(rope::Status());
}(nullptr);
static_assert(status_is_noexcept);

template <class T, class X, class... Positions>
constexpr bool check_is_noexcept = [](const rope::View<T>* x, const X* table,
                                      const Positions*... positions) {
  return noexcept(rope::check_rotate(*x, *table, *positions..., std::declval<const rope::RotateOptions&>()))&& noexcept(
      rope::check_rotate_to(
          *x, *x, *table, *positions...,
          std::declval<
              const rope::RotateOptions&>()))&& noexcept(rope::
                                                             check_rotate_qk(
                                                                 *x, *x, *table, *positions...,
                                                                 std::declval<
                                                                     const rope::
                                                                         RotateOptions&>()));
}(nullptr, nullptr, static_cast<const Positions*>(nullptr)...);
static_assert(check_is_noexcept<float, rope::CosSinTable<float>, rope::Positions>);
static_assert(check_is_noexcept<double, RowsView<double>, rope::Positions>);
static_assert(check_is_noexcept<float, TokensView<float>>);

}  // namespace

TEST_CASE("types fit where memory is aligned by 8 only, and into vectors", "[traits]") {
  alignas(16) std::byte memory[16 + sizeof(rope::View<float>)];
  float x[2] = {1, 2};
  const auto view = rope::thd(x, {1, 1, 2});
  static_assert(alignof(rope::View<float>) <= 8);
  const auto* const placed = ::new (static_cast<void*>(memory + 8)) rope::View<float>(view);
  CHECK(placed->data() == x);

  std::vector<rope::CosSinTable<float>> tables;
  const auto frequencies = rope::frequencies({.rotary_dim = 4});
  for (int i = 1; i < 6; ++i) tables.emplace_back(frequencies, i);
  for (int i = 1; i < 6; ++i) CHECK(tables[static_cast<std::size_t>(i - 1)].rows() == i);
}

TEST_CASE("a moved table keeps its rows where they are", "[traits]") {
  rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = 8}), 3);
  const float* const entries = table.cos(0).data();
  const rope::CosSinTable<float> moved = std::move(table);
  CHECK(moved.cos(0).data() == entries);
  CHECK(moved.rows() == 3);
}
