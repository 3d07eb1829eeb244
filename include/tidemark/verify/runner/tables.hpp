// SPDX-License-Identifier: BSL-1.0
//
// What is to be played, as tables say it: the searches of checks, and weakenings that must be noticed.
#ifndef TIDEMARK_VERIFY_RUNNER_TABLES_HPP
#define TIDEMARK_VERIFY_RUNNER_TABLES_HPP

#include <string>
#include <vector>

#include "search.hpp"

namespace tidemark::verify::runner {

/// A check and one search of it.
struct planned_search {
  const entry* check = nullptr;
  bool bounded = true;
  unsigned long amount = 0;  // the bound, or the executions of a random search
  std::string weakened{};    // the key of a weakening that it must notice; empty: none
  std::string place{};       // FILE:LINE of the table
};

/// Adds the lines of a table `CHECK: bound N` or `CHECK: random N`. Each check must have one; twins need none. Returns
/// what is wrong; empty if nothing is.
std::string read_checks(const std::string& path, const std::vector<const entry*>& checks,
                        std::vector<planned_search>& plan);

/// Adds the lines of a table of twins: a key as the audit prints it, and below it, indented, a line like those of the
/// checks, or several.
std::string read_twins(const std::string& path, const std::vector<const entry*>& checks,
                       std::vector<planned_search>& plan);

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_TABLES_HPP
