// SPDX-License-Identifier: BSL-1.0
#include "audit.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "found_so_far.hpp"
#include "helpers.hpp"
#include "progress.hpp"
#include "reviewed.hpp"
#include "seam.hpp"
#include "sites.hpp"
#include "sources.hpp"
#include "written.hpp"

namespace tidemark::verify::runner {
namespace {

/// One way to weaken a site.
struct step_down {
  weakening how = weakening::order;
  std::memory_order to = std::memory_order_relaxed;
};

bool is_same_site(const executed_site& one, const executed_site& other) {
  return one.at.line == other.at.line && one.at.column == other.at.column && one.order == other.order &&
         one.failure == other.failure && std::string_view{one.at.file} == other.at.file;
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

constexpr unsigned longer = 4;  // times the steps, where a weakened order makes an execution long

class auditor {
 public:
  auditor(const std::vector<const entry*>& checks, const audit_request& request) : request_{request} {
    for (const entry* each : checks) (each->must_fail ? twins_ : checks_).push_back(each);
  }

  audit_result run() {
    if (!find_sites()) return result_;
    name_sites();
    audit_sites();
    apply_together();
    list_unexecuted();
    if (request_.reviewed != nullptr) request_.reviewed->complain(result_, request_.lists_unexecuted, result_.left_out);
    add_sources();
    return result_;
  }

  std::string weaken(const std::string& key) {
    if (!find_sites()) return result_.refusal;
    name_sites();
    for (const audited_site& site : result_.sites) {
      for (const step_down& step : weaker(site.is)) {
        if (key_of(site, step) != key) continue;
        seam = weakened(site, step);
        return "";
      }
    }
    return "no order that these checks execute has this key: " + key;
  }

 private:
  /// Plays each check as it is, and notes what it executes.
  bool find_sites() {
    note_sites();
    for (const entry* check : checks_) {
      forget_sites();
      show_progress("looks at " + std::string{check->name});
      const result as_it_is = search_all(*check, request_.allowed);
      if (as_it_is.found.failed) {
        result_.refusal =
            std::string{check->name} + " fails as it is: " + as_it_is.found.what + ". An audit needs checks that hold.";
        return false;
      }
      for (const executed_site& executed : noted_sites()) note(executed, check);
    }
    forget_sites();
    for (const entry* twin : twins_) search_all(*twin, request_.allowed);
    for (const executed_site& executed : noted_sites()) executed_by_twins_.push_back(executed.at);
    observer = nullptr;
    std::stable_sort(result_.sites.begin(), result_.sites.end(), comes_before);
    return true;
  }

  void note(const executed_site& executed, const entry* check) {
    if (!is_asked_for(executed.at.file)) return;
    for (audited_site& known : result_.sites) {
      if (!is_same_site(known.is, executed)) continue;
      known.is.beside_others = known.is.beside_others || executed.beside_others;
      if (known.checks.back() != check) known.checks.push_back(check);
      known.addresses.push_back(executed.at.address);
      return;
    }
    result_.sites.push_back({executed, {check}, {executed.at.address}});
  }

  /// Gives each site its text and its key.
  void name_sites() {
    const audited_site* before = nullptr;
    unsigned column = 1;  // which one of its line
    for (audited_site& site : result_.sites) {
      const bool is_same_line = before != nullptr && before->is.at.line == site.is.at.line &&
                                std::string_view{before->is.at.file} == site.is.at.file;
      if (!is_same_line) column = 1;
      if (is_same_line && before->is.at.column != site.is.at.column) ++column;
      site.text = sources_.text_of(site.is.at);
      site.key = sources_.key_of(site.is.at, column);
      before = &site;
    }
  }

  /// Notes the names of the other files.
  bool is_asked_for(std::string_view file) {
    const bool is_it = request_.only.empty() ||
                       std::any_of(request_.only.begin(), request_.only.end(),
                                   [&](const std::string& part) { return file.find(part) != std::string_view::npos; });
    if (!is_it) result_.left_out.emplace(file.substr(file.find_last_of('/') + 1));
    return is_it;
  }
  bool is_in_scope(std::string_view file) {
    if (!request_.only.empty()) return is_asked_for(file);
    return std::any_of(result_.sites.begin(), result_.sites.end(),
                       [&](const audited_site& site) { return is_same_file(file, site.is.at.file); });
  }
  static bool is_there(const source_position& at, const written_line& line) {
    return at.line == line.line && is_same_file(line.file, at.file);
  }
  bool is_executed(const written_line& line) const {
    return std::any_of(result_.sites.begin(), result_.sites.end(),
                       [&](const audited_site& site) { return is_there(site.is.at, line); });
  }
  bool is_executed_by_twins(const written_line& line) const {
    return std::any_of(executed_by_twins_.begin(), executed_by_twins_.end(),
                       [&](const source_position& at) { return is_there(at, line); });
  }
  /// As the sites name the file, if they do.
  std::string name_of_file(const std::string& whole) const {
    for (const audited_site& site : result_.sites) {
      if (is_same_file(whole, site.is.at.file)) return site.is.at.file;
    }
    return whole;
  }

  /// Finds the lines that have an operation which no check executes.
  void list_unexecuted() {
    result_.looked_for_unexecuted = request_.lists_unexecuted;
    if (!request_.lists_unexecuted) return;
    const std::vector<written_line> written = written_lines();
    result_.knows_unexecuted = !written.empty();
    for (const written_line& line : written) {
      if (!is_in_scope(line.file) || is_executed(line)) continue;
      const source_position at{line.file.c_str(), line.line, 0, ""};
      if (is_executed_by_twins(line)) {  // which may be a line of a twin
        result_.only_by_twins.push_back(std::string{file_name_of(at)} + ":" + std::to_string(line.line));
        continue;
      }
      result_.never_executed.push_back({name_of_file(line.file), line.line, sources_.text_of(at),
                                        sources_.key_of(at, 1).append(never_executed_key), ""});
      if (request_.reviewed != nullptr) request_.reviewed->apply_to(result_.never_executed.back());
    }
  }

  void add_sources() {
    std::set<std::string> files;
    for (const audited_site& site : result_.sites) files.insert(site.is.at.file);
    for (const unexecuted_line& line : result_.never_executed) files.insert(line.file);
    for (const std::string& file : files) result_.sources.push_back({file, sources_.lines_of(file)});
  }

  void audit_sites() {
    for (const audited_site& site : result_.sites) weakenings_ += is_tried(site) ? weaker(site.is).size() : 0;
    time_left_ = time_left{weakenings_};
    const auto count = static_cast<unsigned>(result_.sites.size());
    if (request_.jobs > 1 && request_.known != nullptr && count > 1)
      others_.start(request_.jobs, count, [this](unsigned part) { audit_for_another(part); });
    std::vector<bool> is_done(count);
    for (unsigned i = 0; i < count; ++i) {
      while (others_.have_started() && !is_done[i]) {
        if (!hear(is_done)) break;
      }
      audited_site& site = result_.sites[i];
      audit_site(site);
      if (request_.reviewed != nullptr) request_.reviewed->apply_to(site);
      if (!others_.have_started()) ++sites_done_;
      if (request_.finished) request_.finished(site);
    }
  }

  // ---- several processes ----

  // What one tells: `found` and a line, for each step that it has tried; `known` for each of the others; `done` and the
  // number of a site.

  void audit_for_another(unsigned part) {
    is_helper_ = true;
    audited_site site = result_.sites[part];
    audit_site(site);
    others_.tell("done\t" + std::to_string(part));
  }

  /// Returns whether something was said.
  bool hear(std::vector<bool>& is_done) {
    say_how_far();
    const std::optional<std::string> line = others_.next_line();
    if (!line) return false;
    const std::size_t tab = line->find('\t');
    const std::string rest = tab == std::string::npos ? "" : line->substr(tab + 1);
    if (line->starts_with("found")) {
      request_.known->keep_line(rest);
      time_left_.part_is_done();
      ++steps_done_;
    } else if (line->starts_with("known")) {
      time_left_.part_is_left_out();
      ++steps_done_;
    } else {
      is_done[std::stoul(rest)] = true;
      ++sites_done_;
    }
    return true;
  }

  /// A step has its verdict. It counts where it was tried, or where nobody else counts.
  void count_step(const audited_site& site, const audited_step& step, bool was_tried) {
    if (is_helper_) {
      others_.tell(was_tried ? "found\t" + found_so_far::line_of(site, step) : "known");
      return;
    }
    if (others_.have_started()) return;
    ++steps_done_;
    if (was_tried || step.is_implied) {
      time_left_.part_is_done();
    } else {
      time_left_.part_is_left_out();
    }
  }

  void say_how_far() {
    std::string text = "audit: " + std::to_string(sites_done_) + " of " + std::to_string(result_.sites.size()) +
                       " sites, " + std::to_string(steps_done_) + " of " + std::to_string(weakenings_) + " weakenings";
    const std::string left = time_left_.text();
    show_progress(left.empty() ? text : text + ", " + left);
  }

  /// Alone, a thread needs no order, and what holds the compiler back is not played.
  static bool is_tried(const audited_site& site) {
    return site.is.beside_others && site.is.what != operation::light_barrier;
  }

  void audit_site(audited_site& site) {
    if (site.is.what == operation::light_barrier) {
      site.said = verdict::unmodelled;
      return;
    }
    const std::vector<step_down> steps = weaker(site.is);
    site.said = steps.empty() ? verdict::already_relaxed : verdict::without_effect;
    if (steps.empty() || !is_tried(site)) return;
    step_down failed;
    const audited_step* failure = nullptr;
    site.steps.reserve(steps.size());
    site.said = verdict::already_relaxed;
    for (const step_down& step : steps) {
      audited_step& next = site.steps.emplace_back();
      next.what = text_of(site.is, step);
      next.key = key_of(site, step);
      if (failure != nullptr && is_implied(step, failed)) {
        next.said = verdict::needed;
        next.is_implied = true;
        next.check = failure->check;
        count_step(site, next, false);
        continue;
      }
      find_verdict(site, step, next);
      site.said = std::max(site.said, next.said);
      if (next.said != verdict::needed) continue;
      failed = step;
      failure = &next;
    }
  }

  /// Looks whether the verdict is known, and tries the step if not.
  void find_verdict(const audited_site& site, const step_down& step, audited_step& next) {
    const bool is_known = request_.known != nullptr && request_.known->recall(site, next);
    if (!is_known) {
      if (!is_helper_) say_how_far();
      try_step(site, step, next);
      if (request_.known != nullptr && !is_helper_) request_.known->keep(site, next);
    }
    count_step(site, next, !is_known);
  }

  static std::string key_of(const audited_site& site, const step_down& step) {
    return site.key + " | " + text_of(site.is, step);
  }

  static weakened_site weakened(const audited_site& site, const step_down& step) {
    weakened_site made;
    made.how = step.how;
    made.to = step.to;
    made.from = step.how == weakening::failure_order ? site.is.failure : site.is.order;
    made.file = site.is.at.file;
    made.line = site.is.at.line;
    made.column = site.is.at.column;
    made.addresses = site.addresses;
    made.blind = seam.blind;
    return made;
  }

  void try_step(const audited_site& site, const step_down& step, audited_step& tried) {
    seam = weakened(site, step);
    tried.said = verdict::not_needed;
    for (const entry* check : site.checks) {
      if (is_noticed_by(*check, tried)) break;
    }
    if (seam.hits == 0) tried.said = verdict::not_weakened;
    clear_seam();
  }

  /// Each verdict is that of one weakening alone, and two orders may stand in for each other: so all are tried at once.
  void apply_together() {
    std::vector<weakened_site> all;
    std::vector<std::string> keys;
    std::vector<const entry*> affected;
    for (const audited_site& site : result_.sites) {
      const std::vector<step_down> steps = weaker(site.is);
      const std::size_t before = all.size();
      for (std::size_t i = 0; i < site.steps.size(); ++i) {
        const bool is_unnoticed = site.steps[i].said == verdict::not_needed || site.steps[i].said == verdict::reviewed;
        if (!is_unnoticed) continue;
        // The weakest of each kind, which comes last.
        if (all.size() > before && all.back().how == steps[i].how) {
          all.pop_back();
          keys.pop_back();
        }
        all.push_back(weakened(site, steps[i]));
        keys.push_back(site.steps[i].key);
      }
      if (all.size() == before) continue;
      for (const entry* check : site.checks) {
        if (std::find(affected.begin(), affected.end(), check) == affected.end()) affected.push_back(check);
      }
    }
    if (all.size() < 2) return;
    result_.together.keys = keys;
    show_progress("audit: all weakenings that no check has noticed, at once");
    seam = all.front();
    further_seams.assign(all.begin() + 1, all.end());
    for (const entry* check : affected) {
      const result weakened = search_all(*check, request_.allowed);
      if (!weakened.found.failed || weakened.found.what == "LIVELOCK") continue;
      result_.together.check = check->name;
      result_.together.failure = weakened.found.what;
      result_.together.searched = last_search_of(weakened);
      break;
    }
    clear_seam();
  }

  static std::string last_search_of(const result& searched) {
    const std::size_t last = searched.searched.rfind("; ");
    return searched.searched.substr(last == std::string::npos ? 0 : last + 2);
  }

  /// Searches one check with the weakened site, and says so if it fails, or if it could not say.
  bool is_noticed_by(const entry& check, audited_step& tried) {
    result weakened = search_all(check, request_.allowed);
    const bool is_long = weakened.found.failed && weakened.found.what == "LIVELOCK";
    if (is_long) {
      // It may just have taken more steps than the check has had before.
      limits more = request_.allowed;
      more.most_steps *= longer;
      weakened = search_all(check, more);
    }
    if (weakened.found.failed) {
      tried.said = verdict::needed;
      tried.check = check.name;
      tried.failure = weakened.found.what;
      tried.search = last_search_of(weakened);
      tried.search.resize(tried.search.find(", "));
      tried.executions = weakened.found.executions;
      tried.reason.clear();
      return true;
    }
    if (!is_long && weakened.is_thorough) return false;
    tried.said = verdict::cut_off;
    tried.reason = is_long ? std::string{check.name} + " takes more than " +
                                 std::to_string(request_.allowed.most_steps) + " steps (--most-steps)"
                           : std::string{check.name} + " had no time for its searches (--seconds)";
    return false;
  }

  const audit_request& request_;
  std::vector<const entry*> checks_;
  std::vector<const entry*> twins_;
  std::vector<source_position> executed_by_twins_;
  sources sources_;
  audit_result result_;
  std::size_t weakenings_ = 0;
  std::size_t sites_done_ = 0;
  std::size_t steps_done_ = 0;
  time_left time_left_{0};
  helpers others_;
  bool is_helper_ = false;
};

}  // namespace

const char* name_of(verdict said) {
  constexpr const char* names[] = {"already_relaxed", "without_effect", "unmodelled", "needed",
                                   "reviewed",        "not_weakened",   "cut_off",    "not_needed"};
  return names[static_cast<std::size_t>(said)];
}

unsigned count_of(verdict said, const audit_result& result) {
  unsigned count = 0;
  for (const audited_site& site : result.sites) {
    for (const audited_step& step : site.steps) count += !step.is_implied && step.said == said ? 1 : 0;
  }
  return count;
}

unsigned unexecuted_lines_of(const audit_result& result) {
  return static_cast<unsigned>(std::count_if(result.never_executed.begin(), result.never_executed.end(),
                                             [](const unexecuted_line& line) { return line.reason.empty(); }));
}

bool is_good(const audit_result& result) {
  if (!result.refusal.empty() || !result.complaints.empty() || result.sites.empty() || unexecuted_lines_of(result) != 0)
    return false;
  return std::none_of(result.sites.begin(), result.sites.end(),
                      [](const audited_site& site) { return site.said > verdict::reviewed; });
}

std::string weaken_by_key(const std::vector<const entry*>& checks, const std::string& key, const limits& allowed) {
  audit_request request;
  request.allowed = allowed;
  return auditor{checks, request}.weaken(key);
}

audit_result audit(const std::vector<const entry*>& checks, const audit_request& request) {
  return auditor{checks, request}.run();
}

}  // namespace tidemark::verify::runner
