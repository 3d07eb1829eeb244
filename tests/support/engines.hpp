// SPDX-License-Identifier: BSL-1.0
//
// Engines on each kind of loop, and engines whose loop a test runs.
#pragma once

#include <cstddef>

#include <tidemark/engine/engine.hpp>
#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/log/log_clock.hpp>

namespace testing {

template <class Kind>
using engine_of = tidemark::basic_engine<typename Kind::platform>;

/// A queue whose log entries have no time stamps.
template <class Kind>
using unstamped_queue = tidemark::basic_engine_queue<typename Kind::platform, tidemark::no_log_clock>;

/// An engine without threads of its own, whose loop the test runs.
template <class Kind>
struct stepped {
  engine_of<Kind> engine{{.threads = 0}};

  /// Runs what is ready now, and returns how many pieces of work that were.
  std::size_t poll() { return engine.loop().poll(); }
  /// Runs the loop until nothing is ready.
  void step() {
    while (poll() != 0) {
    }
  }
};

}  // namespace testing
