// SPDX-License-Identifier: BSL-1.0
#include "audit_text.hpp"

#include <algorithm>
#include <string>

#include "sources.hpp"

namespace tidemark::verify::runner {
namespace {

std::string words_of(const audited_step& step) {
  switch (step.said) {
    case verdict::needed:
      return "needed: " + step.check + ", " + step.failure + ", " + step.search + ", " +
             std::to_string(step.executions) + (step.executions == 1 ? " execution" : " executions");
    case verdict::reviewed:
      return "reviewed: " + step.reason;
    case verdict::not_weakened:
      return "NOT WEAKENED: it was not executed again";
    case verdict::cut_off:
      return "CUT OFF: " + step.reason;
    default:
      return "NOT NEEDED by any check";
  }
}

std::string words_of(verdict said) {
  switch (said) {
    case verdict::already_relaxed:
      return "already relaxed";
    case verdict::without_effect:
      return "without effect: no other thread runs beside it";
    default:
      return "not weakened: it holds back the compiler, which the checker does not have";
  }
}

void print_keys(std::ostream& out, const audit_result& result) {
  bool is_first = true;
  const auto print = [&](const std::string& key) {
    if (is_first) out << "\nKeys for a list of --reviewed:\n";
    is_first = false;
    out << key << "\n";
  };
  for (const audited_site& site : result.sites) {
    for (const audited_step& step : site.steps) {
      if (step.said > verdict::reviewed && step.said != verdict::cut_off) print(step.key);
    }
  }
  for (const unexecuted_line& line : result.never_executed) {
    if (line.reason.empty()) print(line.key);
  }
}

void print_unexecuted(std::ostream& out, const audit_result& result) {
  if (result.looked_for_unexecuted && !result.knows_unexecuted)
    out << "Sites that no check executes are unknown: that needs debug information (-g1), objdump and addr2line.\n";
  for (const unexecuted_line& line : result.never_executed) {
    const source_position at{line.file.c_str(), line.line, 0, ""};
    out << file_name_of(at) << ":" << line.line << ": " << line.text << "\n    NEVER EXECUTED"
        << (line.reason.empty() ? "" : ", reviewed: ") << line.reason << "\n";
  }
  if (result.only_by_twins.empty()) return;
  out << "Executed by twins alone:";
  for (const std::string& place : result.only_by_twins) out << " " << place;
  out << "\n";
}

void print_together(std::ostream& out, const applied_together& all) {
  if (all.keys.empty()) return;
  out << "\nAll " << all.keys.size() << " that no check notices, at once: ";
  if (all.check.empty()) {
    out << "no check fails.\n";
  } else {
    out << all.check << " fails (" << all.failure << ", " << all.searched << ").\n"
        << "Each verdict holds alone: make one change, and audit again.\n";
  }
}

}  // namespace

void print_site(std::ostream& out, const audited_site& site) {
  out << file_name_of(site.is.at) << ":" << site.is.at.line;
  if (site.is.at.column != 0) out << ":" << site.is.at.column;
  out << ": " << site.text << "\n";
  if (site.steps.empty()) out << "    " << words_of(site.said) << "\n";
  for (const audited_step& step : site.steps) {
    if (step.is_implied) continue;
    std::string what = "    " + step.what + ": ";
    what.resize(std::max<std::size_t>(what.size(), 36), ' ');
    out << what << words_of(step) << "\n";
  }
  out.flush();
}

void print_end(std::ostream& out, const audit_result& result) {
  if (!result.refusal.empty()) {
    out << result.refusal << "\n";
    return;
  }
  print_unexecuted(out, result);
  for (const std::string& complaint : result.complaints) out << complaint << "\n";
  print_keys(out, result);
  print_together(out, result.together);
  const unsigned needed = count_of(verdict::needed, result);
  const unsigned not_needed = count_of(verdict::not_needed, result);
  unsigned all = needed + not_needed;
  std::string others;
  const auto add = [&](verdict said, const char* words) {
    const unsigned count = count_of(said, result);
    all += count;
    if (count != 0) others += ", " + std::to_string(count) + words;
  };
  add(verdict::reviewed, " reviewed");
  add(verdict::not_weakened, " not weakened");
  add(verdict::cut_off, " cut off");
  out << "\n"
      << result.sites.size() << " sites, " << all << " weakenings: " << needed << " noticed, " << not_needed
      << " not needed by any check" << others;
  if (result.looked_for_unexecuted && result.knows_unexecuted)
    out << "; " << unexecuted_lines_of(result) << " sites never executed";
  out << "\n";
  if (!result.sites.empty()) return;
  out << "Nothing was audited: no check that holds executes an operation there";
  if (!result.left_out.empty()) out << ", but in files whose paths have no such part:";
  for (const std::string& file : result.left_out) out << "\n  " << file;
  out << "\n";
}

}  // namespace tidemark::verify::runner
