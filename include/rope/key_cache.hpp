#pragma once

// The key cache: positions and slots, and keys that follow them. Needs only the standard library,
// and is not part of rope/core.hpp.

#include "rope/cache_index.hpp"
#include "rope/key_store.hpp"
