// SPDX-License-Identifier: BSL-1.0
//
// Searches of one check, one after the other.
#ifndef TIDEMARK_VERIFY_RUNNER_SEARCHING_HPP
#define TIDEMARK_VERIFY_RUNNER_SEARCHING_HPP

#include <string>

#include "search.hpp"

namespace tidemark::verify::runner {

/// One search.
outcome play(const entry& check, const search& how);

/// The same by up to so many processes, of a random search without a limit of time. It finds the same execution as by
/// one.
outcome play_by_several(unsigned jobs, const entry& check, const search& how);

/// `bound 2, 17 executions, cut off`
std::string words_of(const search& how, const outcome& found);

/// Plays a failing execution once more and records it. Returns whether it has failed in the same way.
bool repeat(const entry& check, search how, const outcome& found);

struct limits {
  double seconds = 5;          // of all searches together
  unsigned most_steps = 2000;  // of an execution
};

struct result {
  search how;  // the last search
  outcome found;
  std::string searched;      // all of them, in words
  bool has_ended = false;    // one of them had enough time
  bool is_whole = true;      // all had
  bool is_thorough = false;  // the one with two preemptions had, or the random one and that with one
};

/// Looks for a failure of the same kind in an execution that is easier to read: with fewer switches from one thread to
/// another, then with fewer steps. Returns it, or `first` if there is none among the next random ones.
result shortest(const entry& check, const result& first);

/// Searches with growing bounds, as far as the time goes, and then at random, until a failure is found.
result search_all(const entry& check, const limits& allowed);

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_SEARCHING_HPP
