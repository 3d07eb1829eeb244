// SPDX-License-Identifier: BSL-1.0
#include "audit.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "seam.hpp"
#include "sites.hpp"
#include "sources.hpp"
#include "written.hpp"

namespace tidemark::verify::runner {
namespace {

/// A site, and the checks that execute it.
struct audited_site {
  executed_site is;
  std::vector<const entry*> checks;
  std::vector<const void*> addresses;  // of calls that do not say where they are
};

/// One way to weaken a site.
struct step_down {
  weakening how = weakening::order;
  std::memory_order to = std::memory_order_relaxed;
};

bool is_same_site(const executed_site& one, const executed_site& other) {
  return one.at.line == other.at.line && one.at.column == other.at.column && one.order == other.order &&
         std::string_view{one.at.file} == other.at.file;
}

/// The compiler names a file as it was told to, and debug information by its whole path.
bool is_same_file(std::string_view whole, std::string_view named) {
  while (named.starts_with("./")) named.remove_prefix(2);
  while (named.starts_with("../")) named.remove_prefix(3);
  return whole.ends_with(named);
}

bool comes_before(const audited_site& one, const audited_site& other) {
  const int files = std::string_view{one.is.at.file}.compare(other.is.at.file);
  if (files != 0) return files < 0;
  return std::pair{one.is.at.line, one.is.at.column} < std::pair{other.is.at.line, other.is.at.column};
}

/// Each weaker order that the operation may have, the strongest first.
std::vector<step_down> weaker(const executed_site& of) {
  using enum std::memory_order;
  std::vector<step_down> steps;
  const auto add = [&steps](std::initializer_list<std::memory_order> orders) {
    for (const std::memory_order to : orders) steps.push_back({weakening::order, to});
  };
  switch (of.what) {
    case operation::load:
      if (of.order == seq_cst) add({acquire});
      if (of.order != relaxed) add({relaxed});
      break;
    case operation::store:
      if (of.order == seq_cst) add({release});
      if (of.order != relaxed) add({relaxed});
      break;
    case operation::read_modify_write:
    case operation::compare_exchange:
    case operation::fence:
      if (of.order == seq_cst) add({acq_rel});
      if (of.order == seq_cst || of.order == acq_rel) add({acquire, release});
      if (of.order != relaxed) add({relaxed});
      break;
    case operation::heavy_barrier:
      steps = {{weakening::own_thread}, {weakening::removed}};
      break;
    case operation::full_barrier:
      steps = {{weakening::removed}};
      break;
    case operation::light_barrier:
      break;  // what it forbids is the compiler's doing, and the checker executes the code as it is written
  }
  if (of.what == operation::compare_exchange && of.failure != relaxed) {
    if (of.failure == seq_cst) steps.push_back({weakening::failure_order, acquire});
    steps.push_back({weakening::failure_order, relaxed});
  }
  return steps;
}

std::string text_of(const executed_site& site, const step_down& step) {
  switch (step.how) {
    case weakening::removed:
      return "left out";
    case weakening::own_thread:
      return "of its own thread only";
    case weakening::failure_order:
      return std::string{"where it fails, "} + name_of(site.failure) + " -> " + name_of(step.to);
    default:
      return std::string{name_of(site.order)} + " -> " + name_of(step.to);
  }
}

/// Whether a step that is weaker still fails for certain where this one has failed.
bool is_implied(const step_down& weaker, const step_down& failed) {
  return weaker.how == failed.how && weaker.to == std::memory_order_relaxed && failed.to != std::memory_order_relaxed;
}

class auditor {
 public:
  auditor(std::ostream& out, const std::vector<const entry*>& checks, const audit_request& request)
      : out_{out}, request_{request} {
    for (const entry* each : checks) (each->must_fail ? twins_ : checks_).push_back(each);
  }

  bool run() {
    if (!find_sites()) return false;
    for (const audited_site& site : sites_) audit_site(site);
    const unsigned never_executed = list_unexecuted();
    out_ << "\n"
         << sites_.size() << " sites, " << needed_ + not_needed_ << " weakenings: " << needed_ << " noticed, "
         << not_needed_ << " not needed by any check";
    if (request_.lists_unexecuted) out_ << "; " << never_executed << " sites never executed";
    out_ << "\n";
    if (sites_.empty()) out_ << "Nothing was audited: no check that holds executes an operation there.\n";
    return not_needed_ == 0 && never_executed == 0 && !sites_.empty();
  }

 private:
  /// Plays each check as it is, and notes what it executes.
  bool find_sites() {
    note_sites();
    for (const entry* check : checks_) {
      forget_sites();
      const result as_it_is = search_all(*check, request_.allowed);
      if (as_it_is.found.failed) {
        out_ << check->name << " fails as it is: " << as_it_is.found.what << ". An audit needs checks that hold.\n";
        return false;
      }
      for (const executed_site& executed : noted_sites()) note(executed, check);
    }
    forget_sites();
    for (const entry* twin : twins_) search_all(*twin, request_.allowed);
    for (const executed_site& executed : noted_sites()) executed_by_twins_.push_back(executed.at);
    observer = nullptr;
    std::stable_sort(sites_.begin(), sites_.end(), comes_before);
    return true;
  }

  void note(const executed_site& executed, const entry* check) {
    if (std::string_view{executed.at.file}.find(request_.only) == std::string_view::npos) return;
    for (audited_site& known : sites_) {
      if (!is_same_site(known.is, executed)) continue;
      known.is.beside_others = known.is.beside_others || executed.beside_others;
      if (known.checks.back() != check) known.checks.push_back(check);
      known.addresses.push_back(executed.at.address);
      return;
    }
    sites_.push_back({executed, {check}, {executed.at.address}});
  }

  bool is_in_scope(std::string_view file) const {
    if (!request_.only.empty()) return file.find(request_.only) != std::string_view::npos;
    return std::any_of(sites_.begin(), sites_.end(),
                       [&](const audited_site& site) { return is_same_file(file, site.is.at.file); });
  }
  bool is_executed(const written_line& line) const {
    const auto is_it = [&](const source_position& at) {
      return at.line == line.line && is_same_file(line.file, at.file);
    };
    return std::any_of(sites_.begin(), sites_.end(), [&](const audited_site& site) { return is_it(site.is.at); }) ||
           std::any_of(executed_by_twins_.begin(), executed_by_twins_.end(), is_it);
  }

  /// Prints the lines that have an operation which no check executes. Returns how many there are.
  unsigned list_unexecuted() {
    if (!request_.lists_unexecuted) return 0;
    const std::vector<written_line> written = written_lines();
    if (written.empty())
      out_ << "Sites that no check executes are unknown: that needs debug information (-g1), objdump and addr2line.\n";
    unsigned count = 0;
    for (const written_line& line : written) {
      if (!is_in_scope(line.file) || is_executed(line)) continue;
      const source_position at{line.file.c_str(), line.line, 0, ""};
      out_ << file_name_of(at) << ":" << line.line << ": " << sources_.text_of(at) << "\n    NEVER EXECUTED\n";
      ++count;
    }
    return count;
  }

  void audit_site(const audited_site& site) {
    const std::vector<step_down> steps = weaker(site.is);
    if (steps.empty() || !site.is.beside_others) return;  // alone, a thread needs no order
    out_ << file_name_of(site.is.at) << ":" << site.is.at.line;
    if (site.is.at.column != 0) out_ << ":" << site.is.at.column;
    out_ << ": " << sources_.text_of(site.is.at) << "\n";
    step_down failed;
    bool has_failed = false;
    for (const step_down& step : steps) {
      if (has_failed && is_implied(step, failed)) continue;
      if (audit_step(site, step)) {
        failed = step;
        has_failed = true;
      }
    }
    out_.flush();
  }

  /// Returns whether a check notices.
  bool audit_step(const audited_site& site, const step_down& step) {
    seam = {};
    seam.how = step.how;
    seam.to = step.to;
    seam.file = site.is.at.file;
    seam.line = site.is.at.line;
    seam.column = site.is.at.column;
    seam.addresses = site.addresses;
    std::string what = "    " + text_of(site.is, step) + ": ";
    what.resize(std::max<std::size_t>(what.size(), 36), ' ');
    out_ << what;
    std::string verdict;
    for (const entry* check : site.checks) {
      const result weakened = search_all(*check, request_.allowed);
      if (!weakened.found.failed) continue;
      const std::size_t last = weakened.searched.rfind("; ");
      verdict = std::string{"needed: "} + check->name + ", " + weakened.found.what + ", " +
                weakened.searched.substr(last == std::string::npos ? 0 : last + 2);
      break;
    }
    const bool noticed = !verdict.empty();
    if (!noticed) verdict = seam.hits == 0 ? "NOT WEAKENED: it was not executed again" : "NOT NEEDED by any check";
    (noticed ? needed_ : not_needed_) += 1;
    out_ << verdict << "\n";
    seam = {};
    return noticed;
  }

  std::ostream& out_;
  const audit_request& request_;
  std::vector<const entry*> checks_;
  std::vector<const entry*> twins_;
  std::vector<source_position> executed_by_twins_;
  std::vector<audited_site> sites_;
  sources sources_;
  unsigned needed_ = 0;
  unsigned not_needed_ = 0;
};

}  // namespace

bool audit(std::ostream& out, const std::vector<const entry*>& checks, const audit_request& request) {
  return auditor{out, checks, request}.run();
}

}  // namespace tidemark::verify::runner
