// SPDX-License-Identifier: BSL-1.0
//
// With this file CMake compiles once what all model checks include.
#include "model_check.hpp"
