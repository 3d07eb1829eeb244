// SPDX-License-Identifier: BSL-1.0
//
// The audit of memory orders: which of them do the checks need?
#ifndef TIDEMARK_VERIFY_RUNNER_AUDIT_HPP
#define TIDEMARK_VERIFY_RUNNER_AUDIT_HPP

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "searching.hpp"
#include "sites.hpp"

namespace tidemark::verify::runner {

/// What is said of a weakening, or of a site. Of a site with several weakenings it is the last one of these.
enum class verdict {
  already_relaxed,  // there is nothing weaker
  without_effect,   // no other thread runs beside it
  unmodelled,       // it holds the compiler back, and the checker executes the code as it is written
  needed,           // a check notices
  reviewed,         // none does, and the reviewed list says why that is right
  not_weakened,     // it was not executed again
  cut_off,          // none has noticed, and a search had no time to end or too few steps
  not_needed,
};
const char* name_of(verdict said);

/// One way to weaken a site, and what became of it.
struct audited_step {
  std::string what;  // `release -> relaxed`
  std::string key;   // for the reviewed list: the site's and `what`
  verdict said = verdict::not_needed;
  std::string check;  // which has noticed
  std::string failure;
  std::string search;
  unsigned long executions = 0;
  std::string reason;       // of the reviewed list, or for `cut_off`
  bool is_implied = false;  // not tried: a stronger one is needed
};

struct audited_site {
  executed_site is;
  std::vector<const entry*> checks{};    // that execute it
  std::vector<const void*> addresses{};  // of calls that do not say where they are
  std::string text{};                    // of its line
  std::string key{};                     // the same wherever the line is moved to
  verdict said = verdict::without_effect;
  std::vector<audited_step> steps{};
};

/// The end of the key of an unexecuted line.
inline constexpr std::string_view never_executed_key = " | never executed";

/// A line with an operation that no check executes.
struct unexecuted_line {
  std::string file;
  unsigned line = 0;
  std::string text;
  std::string key;
  std::string reason;  // of the reviewed list
};

/// All weakenings that no check has noticed, applied at once.
struct applied_together {
  std::vector<std::string> keys;  // none: there were not several
  std::string check;              // that fails; empty: none
  std::string failure;
  std::string searched;
};

struct source_text {
  std::string file;
  std::vector<std::string> lines;
};

struct audit_result {
  std::string refusal;  // why nothing was audited: a check fails as it is
  std::vector<audited_site> sites;
  bool looked_for_unexecuted = false;
  bool knows_unexecuted = false;
  std::vector<unexecuted_line> never_executed;
  std::set<std::string> left_out;          // names of files with sites that the request left out
  std::vector<std::string> only_by_twins;  // FILE:LINE of what no check executes that is expected to hold
  applied_together together;
  std::vector<std::string> complaints;  // about the reviewed list
  std::vector<source_text> sources;     // of all sites and lines
};

/// How many weakenings got a verdict.
unsigned count_of(verdict said, const audit_result& result);
/// Lines that no check executes, without those that are reviewed.
unsigned unexecuted_lines_of(const audit_result& result);
/// Whether each order is needed by a check, or reviewed, and the reviewed list has nothing else.
bool is_good(const audit_result& result);

class reviewed_list;
class found_so_far;

struct audit_request {
  std::vector<std::string> only{};  // only sites in files whose path contains one of these; empty: all
  bool lists_unexecuted = true;     // false where the checks are not all of the program
  limits allowed{};
  reviewed_list* reviewed = nullptr;
  found_so_far* known = nullptr;  // what need not be tried again; it gets what is found
  unsigned jobs = 1;              // processes that try at the same time; several need `known`
  /// Is told of each site, once all of it is known.
  std::function<void(const audited_site&)> finished{};
};

/// Sets the seam to the weakening that has this key in an audit of the checks, which are played to find it. Returns
/// what is wrong; empty if nothing is.
std::string weaken_by_key(const std::vector<const entry*>& checks, const std::string& key, const limits& allowed);

/// Weakens each order and barrier that the checks execute, one at a time, and looks which check notices. Twins need
/// not notice anything.
audit_result audit(const std::vector<const entry*>& checks, const audit_request& request);

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_AUDIT_HPP
