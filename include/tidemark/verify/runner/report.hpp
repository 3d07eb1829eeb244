// SPDX-License-Identifier: BSL-1.0
//
// A failing execution as a table that people can read: a column for each thread, a row for each step.
#ifndef TIDEMARK_VERIFY_RUNNER_REPORT_HPP
#define TIDEMARK_VERIFY_RUNNER_REPORT_HPP

#include <ostream>

#include "rows.hpp"

namespace tidemark::verify::runner {

/// Prints an execution in 100 columns.
void print_execution(std::ostream& out, told_execution& told, std::size_t width);

/// How often the recorded execution goes from one thread to another, and how many steps it has. The smaller, the easier
/// to read.
struct length {
  std::size_t switches = 0;
  std::size_t steps = 0;
  friend auto operator<=>(const length&, const length&) = default;
};
length length_of_execution();

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_REPORT_HPP
