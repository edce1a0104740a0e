#pragma once

// Where tokens are: one position each, on one axis or on several. Positions of sequences, padded
// and packed batches and shards of them, which a rotation takes; grids of images and videos,
// normalised or not, and ids of text with images between, from which a table of tokens is made.

#include "rope/coordinates.hpp"
#include "rope/padding.hpp"
#include "rope/ragged.hpp"
#include "rope/row_positions.hpp"
#include "rope/shards.hpp"
#include "rope/spatial/grid.hpp"
#include "rope/spatial/grid_axis.hpp"
#include "rope/spatial/mrope_ids.hpp"
#include "rope/spatial/mrope_rules.hpp"
#include "rope/spatial/normalised_grid.hpp"
#include "rope/spatial/token_kinds.hpp"
#include "rope/spatial/token_lists.hpp"
#include "rope/spatial/video_rope.hpp"
#include "rope/spatial/vision_grid.hpp"
