// SPDX-License-Identifier: BSL-1.0
//
// A search of the executions of one check, and what it has found.
#ifndef TIDEMARK_VERIFY_RUNNER_SEARCH_HPP
#define TIDEMARK_VERIFY_RUNNER_SEARCH_HPP

#include <string>

#include "../check.hpp"

namespace tidemark::verify::runner {

struct search {
  bool bounded = true;
  unsigned bound = 2;                  // preemptions in an execution of a bounded search
  unsigned long executions = 200'000;  // of a random one
  unsigned most_steps = 2000;          // of an execution; with more it is a livelock
  std::string state{};                 // where it begins: empty, or that of an outcome
  bool repeats = false;                // one execution only, which is that of the state
  double seconds = 0;                  // after which it is cut off; 0: never
};

struct outcome {
  bool failed = false;
  bool cut_off = false;  // a search had no more time, or a repetition did not fail
  unsigned long executions = 0;
  std::string what;   // how it has failed, as Relacy calls it
  std::string state;  // of the failing execution
};

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_SEARCH_HPP
