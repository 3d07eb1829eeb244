// SPDX-License-Identifier: BSL-1.0
//
// An audit for programs.
#ifndef TIDEMARK_VERIFY_RUNNER_AUDIT_JSON_HPP
#define TIDEMARK_VERIFY_RUNNER_AUDIT_JSON_HPP

#include <ostream>

#include "audit.hpp"

namespace tidemark::verify::runner {

/// Writes one object of JSON, with the sources of all sites. It has no `<`, so that it may stand in a page of HTML.
void write_audit_json(std::ostream& out, const audit_result& result);

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_AUDIT_JSON_HPP
