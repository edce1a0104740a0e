// What most families of golden/nd have in common: frequencies, positions, a pairing, and tokens
// that are left alone. The tables and the rotated vectors of the file are compared with those of
// the library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "golden/nd/families.hpp"
#include "rope/coordinates.hpp"
#include "rope/frequencies.hpp"
#include "rope/pairing.hpp"
#include "rope/token_table.hpp"

namespace rope_test::nd {

/// The shape of q or k as the files have them, [batch, heads, tokens, dim].
struct Block {
  std::int64_t batch;
  std::int64_t heads;
  std::int64_t tokens;
  std::int64_t dim;
};
Block block_of(const Array& y);

/// The files' input: a formula of four indices, rounded to float.
template <class T>
std::vector<T> input(const Block& block);

/// What the file's text says: "half ..." or "interleaved ...".
rope::Pairing pairing_of(const Case& one);

/// Compares numbers one by one, and counts them as one comparison of `what`.
void compare(const std::vector<double>& found, const std::vector<double>& expected,
             double tolerance, const std::string& what, Tally& tally);

/// A rotation that a file describes.
struct Setup {
  rope::Pairing pairing;
  rope::Frequencies frequencies;
  rope::Coordinates positions;
  /// Tokens at the front and at the end that stay as they are.
  std::int64_t first_tokens = 0;
  std::int64_t last_tokens = 0;
};

/// Compares cos and sin, if the file has them: each pair once, or over the whole width of a head in
/// the order of the pairing; alike for all heads, or [heads, tokens, ...].
void check_table(const Case& one, const Setup& setup, Tally& tally, const std::string& cos = "cos",
                 const std::string& sin = "sin");

/// Rotates the file's input in float and in double, and compares with the array `y`, which is
/// [batch, heads, tokens, dim], possibly behind a first extent of 1.
void check_rotation(const Case& one, const Setup& setup, Tally& tally, const std::string& y = "y");

/// For a file that has only a table: rotates the input, and compares with what the file's own cos
/// and sin make of it.
void check_rotation_by_table(const Case& one, const Setup& setup, Tally& tally);

/// V-JEPA 2: whether rows and columns are scaled to the trained grid, as its action-conditioned
/// variant does; told from the file's own positions.
bool vjepa2_is_scaled(const Case& one);

/// One axis: lists of numbers as coordinates.
rope::Coordinates listed(const std::vector<std::vector<double>>& tokens);

/// Rows 0 .. height-1 and columns 0 .. width-1, row by row; {row, column} of each.
std::vector<std::vector<double>> row_column_grid(std::int64_t height, std::int64_t width);

/// The same for any number of axes: the product of the axes' values, the last one fastest.
std::vector<std::vector<double>> product_grid(const std::vector<std::vector<double>>& values);

/// 0, 1, ..., count - 1.
std::vector<double> counted(std::int64_t count, double first = 0);

/// `count` numbers from `first` to `last`, both included; only `first` if there is one.
std::vector<double> linspace(double first, double last, std::int64_t count);

}  // namespace rope_test::nd
