// SPDX-License-Identifier: BSL-1.0
//
// All of tidemark but the model checker's platform.
#ifndef TIDEMARK_TIDEMARK_HPP
#define TIDEMARK_TIDEMARK_HPP

#include "fence.hpp"
#include "platform.hpp"
#include "waiter_heap.hpp"

#endif  // TIDEMARK_TIDEMARK_HPP
