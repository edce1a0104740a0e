#pragma once

// The one place where the version is written: CMake and the vcpkg port read it from here.
#define ROPE_VERSION_MAJOR 0
#define ROPE_VERSION_MINOR 1
#define ROPE_VERSION_PATCH 0
