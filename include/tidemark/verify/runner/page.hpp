// SPDX-License-Identifier: BSL-1.0
//
// What the program has found, as a page for a browser: one file that needs no other and no network.
#ifndef TIDEMARK_VERIFY_RUNNER_PAGE_HPP
#define TIDEMARK_VERIFY_RUNNER_PAGE_HPP

#include <ostream>
#include <string>

#include "audit.hpp"
#include "rows.hpp"

namespace tidemark::verify::runner {

/// Writes an execution, with the text of all files that it mentions. `found_by` says which searches have found it.
void write_execution_page(std::ostream& out, told_execution& told, const std::string& found_by);

/// Writes an audit, with the text of the files of its sites. `program` is what a command line calls it.
void write_audit_page(std::ostream& out, const std::string& program, const audit_result& result);

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_PAGE_HPP
