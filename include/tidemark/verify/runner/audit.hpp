// SPDX-License-Identifier: BSL-1.0
//
// The audit of memory orders: which of them do the checks need?
#ifndef TIDEMARK_VERIFY_RUNNER_AUDIT_HPP
#define TIDEMARK_VERIFY_RUNNER_AUDIT_HPP

#include <ostream>
#include <string>
#include <vector>

#include "searching.hpp"

namespace tidemark::verify::runner {

struct audit_request {
  std::string only{};            // only sites in files whose path contains this
  bool lists_unexecuted = true;  // false where the checks are not all of the program
  limits allowed{};
};

/// Weakens each order and barrier that the checks execute, one at a time, and prints which check notices, then the
/// sites that none executes. Twins need not notice anything. Returns whether each order is needed by a check.
bool audit(std::ostream& out, const std::vector<const entry*>& checks, const audit_request& request);

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_AUDIT_HPP
