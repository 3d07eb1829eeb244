// SPDX-License-Identifier: BSL-1.0
//
// All of tidemark but the model checker's platform, platform/portable_platform.hpp, the senders of loop/senders.hpp and
// loop/loop_uring.hpp.
#ifndef TIDEMARK_TIDEMARK_HPP
#define TIDEMARK_TIDEMARK_HPP

#include "core.hpp"
#include "executors.hpp"

#endif  // TIDEMARK_TIDEMARK_HPP
