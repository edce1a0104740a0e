// Grids: the coordinates along an axis, their combinations, and what is refused.
#include "rope/spatial/grid.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "rope/spatial/grid_axis.hpp"
#include "rope/spatial/normalised_grid.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using rope::AxisOrder;
using rope::InvalidArgument;
using rope::NormaliseBy;
using rope_test::require_throws;

using List = std::vector<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

List values(const rope::Coordinates& coordinates) {
  return {coordinates.values().begin(), coordinates.values().end()};
}

void check_close(const List& found, const List& expected, double tolerance) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO("value " << i);
    CHECK(std::abs(found[i] - expected[i]) <= tolerance);
  }
}

}  // namespace

TEST_CASE("steps: patch indices, one-based ones, crops, frames in time") {
  CHECK(rope::axis_steps(3) == List{0, 1, 2});
  CHECK(rope::axis_steps(3, {.first = 1}) == List{1, 2, 3});
  CHECK(rope::axis_steps(4, {.first = -2, .step = 0.5}) == List{-2, -1.5, -1, -0.5});
  CHECK(rope::axis_steps(2, {.first = 10, .step = -3}) == List{10, 7});
  CHECK(rope::axis_steps(0).empty());
  CHECK(rope::axis_steps(std::size_t{1}, {.first = 7}) == List{7});
}

TEST_CASE("centred steps have their odd one below zero") {
  CHECK(rope::axis_centred(4) == List{-2, -1, 0, 1});
  CHECK(rope::axis_centred(5) == List{-3, -2, -1, 0, 1});
  CHECK(rope::axis_centred(1) == List{-1});
  CHECK(rope::axis_centred(0).empty());
}

TEST_CASE("end points are reached, and one point is the low one") {
  CHECK(rope::axis_end_points(5, {.low = -1, .high = 1}) == List{-1, -0.5, 0, 0.5, 1});
  CHECK(rope::axis_end_points(2, {.low = 3, .high = 4}) == List{3, 4});
  CHECK(rope::axis_end_points(1, {.low = -1, .high = 1}) == List{-1});
  CHECK(rope::axis_end_points(1, {.low = 0, .high = 1}) == List{0});
  CHECK(rope::axis_end_points(3, {.low = 1, .high = -1}) == List{1, 0, -1});
  CHECK(rope::axis_end_points(0, {.low = 0, .high = 1}).empty());
  for (const std::int64_t count : {2, 3, 7, 49, 1000}) {
    const List axis = rope::axis_end_points(count, {.low = -0.1, .high = 0.1});
    CHECK(axis.front() == -0.1);
    CHECK(axis.back() == 0.1);
    for (std::size_t i = 0; i < axis.size(); ++i) {
      REQUIRE(axis[i] == -axis[axis.size() - 1 - i]);
      REQUIRE(std::abs(axis[i] - (-0.1 + 0.2 * static_cast<double>(i) /
                                             static_cast<double>(count - 1))) <= 3e-17);
    }
  }
}

TEST_CASE("half-open ranges leave out the high end, cell centres both") {
  CHECK(rope::axis_half_open(4, {.low = 2, .high = 10}) == List{2, 4, 6, 8});
  CHECK(rope::axis_half_open(1, {.low = 2, .high = 10}) == List{2});
  // CogVideoX: linspace(3, 8 * (4 - 1) / 4, 4) is not 3 + (8 - 3) * i / 4.
  CHECK(rope::axis_end_points(4, {.low = 3, .high = 8 * 3 / 4.0}) == List{3, 4, 5, 6});
  CHECK(rope::axis_half_open(4, {.low = 3, .high = 8}) == List{3, 4.25, 5.5, 6.75});
  CHECK(rope::axis_cell_centres(4, {.low = -1, .high = 1}) == List{-0.75, -0.25, 0.25, 0.75});
  CHECK(rope::axis_cell_centres(1, {.low = -1, .high = 1}) == List{0});
  CHECK(rope::axis_cell_centres(2, {.low = 0, .high = 4}) == List{1, 3});
  CHECK(rope::axis_half_open(0, {.low = 0, .high = 1}).empty());
  CHECK(rope::axis_cell_centres(0, {.low = 0, .high = 1}).empty());
}

TEST_CASE("another resolution: nearest cells, rescaled and shifted axes") {
  CHECK(rope::axis_nearest(4, 10) == List{0, 2, 5, 7});
  CHECK(rope::axis_nearest(4, 2) == List{0, 0, 1, 1});
  CHECK(rope::axis_nearest(1, 5) == List{0});
  CHECK(rope::axis_nearest(0, 5).empty());
  CHECK(rope::axis_nearest(3, std::int64_t{1} << 40) ==
        List{0, std::floor(0x1p40 / 3), std::floor(0x1p41 / 3)});
  CHECK(rope::axis_rescaled({0, 1, 2, 3}, {.from = 4, .to = 2}) == List{0, 0.5, 1, 1.5});
  // timm adds the offset first: (1, 2, 3) / 3 * 2.
  check_close(rope::axis_rescaled(rope::axis_steps(3, {.first = 1}), {.from = 3, .to = 2}),
              {2 / 3.0, 4 / 3.0, 2}, 1e-16);
  CHECK(rope::axis_shifted({0, 1.5}, -2) == List{-2, -0.5});
  CHECK(rope::axis_shifted({}, 1).empty());
}

TEST_CASE("ranges keep the shape of the image, and its area") {
  for (const std::int64_t height : {1, 3, 14, 37}) {
    for (const std::int64_t width : {1, 4, 14, 16}) {
      CAPTURE(height, width);
      const rope::AxisRange x = rope::aspect_range(width, height);
      const rope::AxisRange y = rope::aspect_range(height, width);
      const double h = static_cast<double>(height);
      const double w = static_cast<double>(width);
      CHECK(x.low.value() == -x.high.value());
      CHECK(x.high.value() * y.high.value() == rope_test::Approx(1.0).epsilon(1e-15));
      CHECK(x.high.value() / y.high.value() == rope_test::Approx(w / h).epsilon(1e-15));
      // A cell of a grid of the same shape has the same size, whatever the area says.
      const rope::AxisRange columns = rope::area_range(width, height, 64);
      const rope::AxisRange rows = rope::area_range(height, width, 64);
      CHECK(4 * columns.high.value() * rows.high.value() == rope_test::Approx(64).epsilon(1e-15));
      CHECK(columns.high.value() / w == rope_test::Approx(rows.high.value() / h).epsilon(1e-15));
    }
  }
  CHECK(rope::aspect_range(4, 4).high.value() == 1.0);
  CHECK(rope::aspect_range(16, 4).high.value() == 2.0);
}

TEST_CASE("a grid runs through its last axis first") {
  const rope::Grid video = rope::grid({{0, 10}, {5, 6, 7}, {-1, 1}});
  CHECK(video.tokens() == 12);
  CHECK(video.axes() == 3);
  CHECK(video.stride(0) == 6);
  CHECK(video.stride(1) == 2);
  CHECK(video.stride(2) == 1);
  const rope::Coordinates all = video.coordinates();
  CHECK(all.batch() == 1);
  std::int64_t token = 0;
  for (const double frame : {0.0, 10.0}) {
    for (const double row : {5.0, 6.0, 7.0}) {
      for (const double column : {-1.0, 1.0}) {
        CAPTURE(token);
        CHECK(all(0, token, 0) == frame);
        CHECK(all(0, token, 1) == row);
        CHECK(all(0, token, 2) == column);
        ++token;
      }
    }
  }
  CHECK(values(rope::grid({{4, 5}}).coordinates()) == List{4, 5});
  CHECK(values(rope::grid({{4}, {5}, {6}}).coordinates()) == List{4, 5, 6});
}

TEST_CASE("an image is row-major, whichever coordinate comes first") {
  const List rows = {0, 1};
  const List columns = {0, 1, 2};
  CHECK(values(rope::image_grid(rows, columns, AxisOrder::row_first).coordinates()) ==
        List{0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2});
  CHECK(values(rope::image_grid(rows, columns, AxisOrder::x_first).coordinates()) ==
        List{0, 0, 1, 0, 2, 0, 0, 1, 1, 1, 2, 1});
  CHECK(values(rope::image_grid({3}, {7}, AxisOrder::x_first).coordinates()) == List{7, 3});
}

TEST_CASE("a repeated grid has whole copies one after another") {
  const rope::Grid two = rope::image_grid({0, 1}, {0, 1}, AxisOrder::x_first).repeated(2);
  CHECK(two.tokens() == 8);
  CHECK(values(two.coordinates()) == List{0, 0, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 1, 1, 1});
  CHECK(two.repeated(0).coordinates().tokens() == 0);
}

TEST_CASE("a grid without tokens") {
  for (const rope::Grid& grid : {rope::image_grid({}, {1, 2}, AxisOrder::x_first),
                                 rope::grid({{1}, {}}), rope::grid({{}})}) {
    CHECK(grid.tokens() == 0);
    CHECK(grid.coordinates().tokens() == 0);
    CHECK(grid.coordinates().axes() == grid.axes());
  }
}

TEST_CASE("normalised grids: by its own size, by the larger, by the smaller") {
  const auto grid = [](NormaliseBy by) {
    return rope::normalised_grid(2, 4, {.normalise_by = by, .order = AxisOrder::row_first});
  };
  const auto axis = [](const rope::Grid& of, std::int64_t index) {
    return List(of.values(index).begin(), of.values(index).end());
  };
  CHECK(axis(grid(NormaliseBy::separate), 0) == List{-0.5, 0.5});
  CHECK(axis(grid(NormaliseBy::separate), 1) == List{-0.75, -0.25, 0.25, 0.75});
  // The rows' middles are 0.5 / 4 and 1.5 / 4.
  CHECK(axis(grid(NormaliseBy::max), 0) == List{-0.75, -0.25});
  CHECK(axis(grid(NormaliseBy::max), 1) == List{-0.75, -0.25, 0.25, 0.75});
  CHECK(axis(grid(NormaliseBy::min), 0) == List{-0.5, 0.5});
  CHECK(axis(grid(NormaliseBy::min), 1) == List{-0.5, 0.5, 1.5, 2.5});
  const rope::Grid x_first = rope::normalised_grid(
      2, 4, {.normalise_by = NormaliseBy::separate, .order = AxisOrder::x_first});
  CHECK(axis(x_first, 1) == List{-0.5, 0.5});
  CHECK(x_first.stride(0) == 1);
  CHECK(rope::normalised_grid(0, 4, {.normalise_by = NormaliseBy::min, .order = AxisOrder::x_first})
            .tokens() == 0);
}

TEST_CASE("augmentations: shift, then a factor for each axis, then one for both") {
  const rope::Grid grid = rope::normalised_grid(2, 1,
                                                {.normalise_by = NormaliseBy::separate,
                                                 .order = AxisOrder::row_first,
                                                 .shift = {.row = 0.5, .column = -1},
                                                 .jitter = {.row = 2, .column = 3},
                                                 .rescale = 0.25});
  // Rows (-0.5 + 0.5) * 2 * 0.25 and (0.5 + 0.5) * 2 * 0.25; column (0 - 1) * 3 * 0.25.
  CHECK(values(grid.coordinates()) == List{0, -0.75, 0.5, -0.75});
  // timm's offset counts in cells, before the division: (0.5 + 0.25) / 2 * 2 - 1.
  const rope::Grid offset = rope::normalised_grid(
      2, 1, {.normalise_by = NormaliseBy::separate, .order = AxisOrder::row_first, .offset = 0.25});
  CHECK(values(offset.coordinates()) == List{-0.25, 0.5, 0.75, 0.5});
}

TEST_CASE("axes that cannot be are refused") {
  require_throws<InvalidArgument>("rope::axis_steps: count must be 0 to 2^40, got -1",
                                  [] { (void)rope::axis_steps(-1); });
  require_throws<InvalidArgument>("rope::axis_centred: count must be 0 to 2^40, got 1099511627777",
                                  [] { (void)rope::axis_centred((1LL << 40) + 1); });
  require_throws<InvalidArgument>("rope::axis_steps: first must be finite, got nan",
                                  [] { (void)rope::axis_steps(1, {.first = not_a_number}); });
  require_throws<InvalidArgument>("rope::axis_steps: step must be finite, got inf",
                                  [] { (void)rope::axis_steps(1, {.step = infinity}); });
  require_throws<InvalidArgument>("rope::axis_end_points: low must be finite, got -inf", [] {
    (void)rope::axis_end_points(2, {.low = -infinity, .high = 1});
  });
  require_throws<InvalidArgument>("rope::axis_half_open: high must be finite, got nan", [] {
    (void)rope::axis_half_open(2, {.low = 0, .high = not_a_number});
  });
  require_throws<InvalidArgument>("rope::axis_end_points: high - low must be finite, got inf", [] {
    (void)rope::axis_end_points(2, {.low = -1e308, .high = 1e308});
  });
  require_throws<InvalidArgument>("rope::axis_cell_centres: count must be 0 to 2^40, got -2",
                                  [] { (void)rope::axis_cell_centres(-2, {.low = 0, .high = 1}); });
  require_throws<InvalidArgument>("rope::axis_nearest: reference must be 1 to 2^40, got 0",
                                  [] { (void)rope::axis_nearest(2, 0); });
  require_throws<InvalidArgument>(
      "rope::axis_rescaled: from must be finite and not 0, to finite, got 0 and 1",
      [] { (void)rope::axis_rescaled({1}, {.from = 0, .to = 1}); });
  require_throws<InvalidArgument>("rope::axis_shifted: offset must be finite, got inf",
                                  [] { (void)rope::axis_shifted({1}, infinity); });
  require_throws<InvalidArgument>("rope::aspect_range: other must be 1 to 2^40, got 0",
                                  [] { (void)rope::aspect_range(4, 0); });
  require_throws<InvalidArgument>("rope::area_range: area must be finite and above 0, got 0",
                                  [] { (void)rope::area_range(4, 4, 0); });
}

TEST_CASE("grids that cannot be are refused") {
  require_throws<InvalidArgument>(
      "rope::Grid: 0 axes with 0 strides; there must be as many, "
      "at least 1",
      [] { (void)rope::grid({}); });
  require_throws<InvalidArgument>("rope::Grid: value 1 of axis 0 must be finite, got nan", [] {
    (void)rope::grid({{0, not_a_number}, {1}});
  });
  require_throws<InvalidArgument>(
      "rope::Grid: axis 0 has 0 values and stride 1, but there are 3 tokens",
      [] { (void)rope::Grid({{}}, {1}, 3); });
  require_throws<InvalidArgument>(
      "rope::Grid: axis 0 has 1 values and stride 0, but there are 3 tokens",
      [] { (void)rope::Grid({{1}}, {0}, 3); });
  require_throws<InvalidArgument>("rope::Grid: -3 tokens of 1 axes are no size that can be",
                                  [] { (void)rope::Grid({{1}}, {1}, -3); });
  require_throws<InvalidArgument>("rope::grid: more than 2^63 tokens", [] {
    const List many(1 << 16);
    (void)rope::grid({many, many, many, many});
  });
  require_throws<InvalidArgument>("rope::image_grid: order has no value 7", [] {
    (void)rope::image_grid({1}, {1}, static_cast<AxisOrder>(7));
  });
  require_throws<InvalidArgument>("rope::Grid::repeated: 2 tokens cannot be repeated -1 times", [] {
    (void)rope::grid({{1, 2}}).repeated(-1);
  });
  const auto normalised = [](const rope::NormalisedGridOptions& options) {
    return [&options] { (void)rope::normalised_grid(2, 2, options); };
  };
  require_throws<InvalidArgument>(
      "rope::normalised_grid: jitter.column must be finite and above 0, got 0",
      normalised({.normalise_by = NormaliseBy::max,
                  .order = AxisOrder::x_first,
                  .jitter = {.row = 1, .column = 0}}));
  require_throws<InvalidArgument>("rope::normalised_grid: shift.row must be finite, got inf",
                                  normalised({.normalise_by = NormaliseBy::max,
                                              .order = AxisOrder::x_first,
                                              .shift = {.row = infinity, .column = 0}}));
  require_throws<InvalidArgument>(
      "rope::normalised_grid: normalise_by has no value 9",
      normalised({.normalise_by = static_cast<NormaliseBy>(9), .order = AxisOrder::x_first}));
  require_throws<InvalidArgument>("rope::normalised_grid: rows must be 0 to 2^40, got -1", [] {
    (void)rope::normalised_grid(-1, 2,
                                {.normalise_by = NormaliseBy::max, .order = AxisOrder::x_first});
  });
}
