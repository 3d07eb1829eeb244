// SPDX-License-Identifier: BSL-1.0
//
// Where the program has memory orders, whether a check executes them or not.
#ifndef TIDEMARK_VERIFY_RUNNER_WRITTEN_HPP
#define TIDEMARK_VERIFY_RUNNER_WRITTEN_HPP

#include <string>
#include <vector>

namespace tidemark::verify::runner {

struct written_line {
  std::string file;
  unsigned line = 0;
  friend auto operator<=>(const written_line&, const written_line&) = default;
};

/// The lines of the checked code that have been compiled to an operation with a memory order, sorted. They are read
/// from the program's own file, so macros, operators and templates need no care; a template that nobody uses is not
/// there. Empty without debug information (-g1), objdump or addr2line.
std::vector<written_line> written_lines();

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_WRITTEN_HPP
