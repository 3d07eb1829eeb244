// SPDX-License-Identifier: BSL-1.0
//
// An audit as text for people.
#ifndef TIDEMARK_VERIFY_RUNNER_AUDIT_TEXT_HPP
#define TIDEMARK_VERIFY_RUNNER_AUDIT_TEXT_HPP

#include <ostream>

#include "audit.hpp"

namespace tidemark::verify::runner {

void print_site(std::ostream& out, const audited_site& site);

/// All that stands behind the sites.
void print_end(std::ostream& out, const audit_result& result);

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_AUDIT_TEXT_HPP
