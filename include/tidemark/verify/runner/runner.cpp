// SPDX-License-Identifier: BSL-1.0
//
// The program that plays checks: what its command line asks for, and its verdicts.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

#include "../check.hpp"
#include "audit.hpp"
#include "audit_json.hpp"
#include "audit_text.hpp"
#include "command.hpp"
#include "execution.hpp"
#include "found_so_far.hpp"
#include "helpers.hpp"
#include "page.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "reviewed.hpp"
#include "seam.hpp"
#include "searching.hpp"
#include "sites.hpp"
#include "tables.hpp"
#include "watchdog.hpp"

namespace tidemark::verify {
namespace {

using namespace runner;

// ---- the checks of the program --------------------------------------------------------------------------------------

/// In the order in which they stand in the program.
std::vector<const entry*> checks_until(const entry* last) {
  std::vector<const entry*> found;
  for (; last != nullptr; last = last->next) found.push_back(last);
  std::reverse(found.begin(), found.end());
  return found;
}

/// Returns what is wrong with them; empty if nothing is.
std::string complaint_about(const std::vector<const entry*>& checks) {
  if (checks.empty()) return "this program has no check";
  std::set<std::string_view> names;
  for (const entry* each : checks) {
    if (!names.insert(each->name).second) return std::string{"this program has two checks '"} + each->name + "'";
  }
  return "";
}

/// Compares the checks of this program with the lines of tables. The file has a line FORM CHECK PLACE for each line
/// that names a check of this program, whatever the form.
int compare(const command& request, const std::string& program, const std::vector<const entry*>& checks) {
  std::ifstream lines{request.lines};
  if (!lines) {
    std::cerr << "there is no file " << request.lines << "\n";
    return 2;
  }
  std::set<std::string_view> registered;
  for (const entry* each : checks) registered.insert(each->name);
  unsigned complaints = 0;
  const auto complain = [&complaints]() -> std::ostream& {
    ++complaints;
    return std::cout;
  };
  std::set<std::string, std::less<>> named;
  for (std::string form, name, place; lines >> form >> name >> place;) {
    if (form == request.form && !registered.contains(name))
      complain() << place << ": " << program << " has no check '" << name << "'\n";
    named.insert(name);
  }
  for (const std::string_view name : registered) {
    if (!named.contains(name))
      complain() << program << " has the check '" << name << "', but no line of the tables names it: it never runs\n";
  }
  if (complaints == 0) std::cout << "each of " << registered.size() << " checks has a line\n";
  return complaints == 0 ? 0 : 1;
}

// ---- verdicts -------------------------------------------------------------------------------------------------------

/// Of the audit. The other ways to name a site have no such sign.
bool is_key(const std::string& weaken) { return weaken.find(" | ") != std::string::npos; }

/// After `before`; empty if nothing is weakened.
std::string words_of_weakened(const std::vector<std::string>& weaken, const char* before, bool with_places) {
  std::string text;
  for (std::size_t i = 0; i < weaken.size(); ++i) {
    const weakened_site& its = i == 0 ? seam : further_seams[i - 1];
    text += (i == 0 ? before : " and ") + weaken[i];
    if (with_places && !is_key(weaken[i])) text += " at " + its.file + ":" + std::to_string(its.line);
  }
  return text;
}

unsigned jobs_of(const command& request) { return request.jobs == 0 ? processors() : request.jobs; }

result search_once(const entry& check, const command& request) {
  result one;
  one.how.bounded = request.search == "bounded";
  one.how.bound = request.bound;
  one.how.executions = request.executions;
  one.how.most_steps = request.most_steps;
  name_search(check.name, request.search);
  // What counts sites counts those of this process.
  const bool is_alone = one.how.bounded || request.sites || !request.weaken.empty();
  one.found = is_alone ? play(check, one.how) : play_by_several(jobs_of(request), check, one.how);
  one.searched = words_of(one.how, one.found);
  return one;
}

void say_where_it_was_aborted(int) {
  say("tidemark: the program was aborted in the check '");
  say(running.check);
  say("'. If Relacy has printed an assertion of its own, the check is not deterministic: it depends on addresses, on "
      "rand(), on the time or on a static. If the C library has, something was written beyond its memory.\n");
  _exit(1);
}

void say_where_it_crashed(int number) {
  char place[300];
  write_last_place(place, sizeof place);
  say("tidemark: the check '");
  say(running.check);
  say(number == SIGFPE ? "' crashes (arithmetic)" : "' crashes (memory access, perhaps beyond the 50 KB of a stack)");
  say(place);
  say("\n");
  _exit(1);
}

/// Names the check in which the program ends.
void watch_for_crashes() {
  signal(SIGABRT, say_where_it_was_aborted);
  // The stack may be what is wrong.
  static char stack[1 << 16];
  const stack_t other{stack, 0, sizeof stack};
  sigaltstack(&other, nullptr);
  struct sigaction action = {};
  action.sa_handler = say_where_it_crashed;
  action.sa_flags = SA_ONSTACK;
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE}) sigaction(number, &action, nullptr);
}

/// A check that holds because nothing of it was seen is no check.
bool was_shared(const entry& check) { return check.threads == 1 || running.shared || check.may_share_nothing; }

const char* verdict_without_failure(const entry& check, const command& request, const result& all) {
  if (request.expect_failure || check.must_fail) return "DOES NOT FAIL";
  if (!was_shared(check)) return "CHECKS NOTHING";
  if (!all.has_ended) return "no failure found, but no search has ended";
  return all.is_whole ? "holds" : "holds as far as it was searched";
}

/// The first line, without its end.
void print_verdict(const entry& check, const command& request, const result& all) {
  std::cout << check.name;
  if (request.search.empty()) {
    std::cout << ": " << (all.found.failed ? all.found.what : verdict_without_failure(check, request, all)) << " ("
              << all.searched << ")";
    return;
  }
  std::cout << " [" << request.search;
  if (request.search == "bounded") std::cout << " " << request.bound;
  std::cout << "]";
  std::cout << words_of_weakened(request.weaken, " with ", true);
  std::cout << ": " << (all.found.failed ? all.found.what : "holds") << " after " << all.found.executions
            << " executions";
}

/// Lets `write` write a file. Returns whether that was possible.
template <class Write>
bool write_file(const std::string& path, Write write) {
  std::ofstream file{path};
  write(file);
  file.close();
  if (!file) std::cerr << "tidemark: cannot write '" << path << "'\n";
  return !file.fail();
}

/// Returns whether it is written, or not wanted.
bool write_page(const std::string& path, told_execution& told, const std::string& found_by) {
  if (path.empty()) return true;
  if (!write_file(path, [&](std::ostream& out) { write_execution_page(out, told, found_by); })) return false;
  std::cout << "The execution is shown in " << path << "\n";
  return true;
}

/// Shows how a check has failed: as a table, unless only the page is wanted. Returns whether the page could be written.
bool show(const entry& check, const command& request, const result& all, bool as_table) {
  if (all.found.what == "RESOURCE LEAK") {
    std::cout << "An atomic, a plain field or a mutex has outlived its execution: is it a static?\n";
    return true;
  }
  if (!repeat(check, all.how, all.found)) {
    std::cout << "The execution did not fail again: the check is not deterministic. Does it depend on addresses, on\n"
                 "rand(), on the time or on a static?\n";
    return true;
  }
  told_execution told = tell(check, all.found);
  if (as_table) {
    std::cout << "\n";
    print_execution(std::cout, told, request.width);
    std::cout << "\n";
  }
  return write_page(request.page, told, all.searched + words_of_weakened(request.weaken, ", with ", false));
}

void store(const std::string& path, const entry& check, const result& all) {
  write_file(path, [&](std::ostream& out) {
    out << check.name << "\n"
        << (all.how.bounded ? "bounded " : "random ") << all.how.bound << " " << all.how.most_steps << "\n"
        << all.found.state << "\n";
  });
}

/// As Relacy calls it; of a leak there are two kinds.
const char* name_of(fails_by how) {
  constexpr const char* names[] = {
      "", "DATA RACE", "USER ASSERT FAILED", "DEADLOCK", "LIVELOCK", "ACCESS TO FREED MEMORY", " LEAK"};
  return names[static_cast<std::size_t>(how)];
}

/// Returns whether the outcome is as expected.
bool judge(const entry& check, const command& request) {
  running.shared = false;
  seam.hits = 0;
  for (weakened_site& each : further_seams) each.hits = 0;
  const result all =
      request.search.empty() ? search_all(check, {request.seconds, request.most_steps}) : search_once(check, request);
  const bool must_fail = request.expect_failure || check.must_fail;
  const bool failed = all.found.failed;
  hide_progress();
  print_verdict(check, request, all);
  for (std::size_t i = 0; i < request.weaken.size(); ++i) {
    if ((i == 0 ? seam : further_seams[i - 1]).hits != 0) continue;
    std::cout << "; never executed, and so not weakened: " << request.weaken[i] << "\n";
    return false;
  }
  const bool is_another = failed && all.found.what.find(name_of(check.by)) == std::string::npos;
  bool as_expected = failed == must_fail && !is_another;
  if (!failed && !was_shared(check)) {
    std::cout << "\n  no two threads have used the same atomic, field or mutex of the checker: are they those of the\n"
                 "  standard library, or does the check not share anything?";
    as_expected = false;
  }
  if (request.sites) {
    std::cout << "\n";
    print_sites(std::cout);
  }
  if (is_another) {
    std::cout << "; another failure was expected: " << name_of(check.by);
  } else if (must_fail) {
    std::cout << (failed ? ", as expected" : "; a failure was expected");
  }
  std::cout << "\n" << std::flush;
  const bool is_shown = failed && (!must_fail || is_another || request.table);
  if (!failed && !request.page.empty()) std::cout << "There is no page, because nothing has failed.\n";
  if (!failed || (!is_shown && request.store.empty() && request.page.empty())) return as_expected;
  const result shown = shortest(check, all);
  if (!request.store.empty()) store(request.store, check, shown);
  if (is_shown || !request.page.empty()) as_expected = show(check, request, shown, is_shown) && as_expected;
  return as_expected;
}

/// Relacy gives up where the operations of an execution are not those that it has chosen for.
void say_that_code_has_changed(int) {
  say("tidemark: the execution does not go on as it was stored: the code has changed since\n");
  _exit(1);
}

/// Plays the execution that `store` has written.
int replay(const command& request, const std::vector<const entry*>& checks) {
  std::ifstream file{request.replay};
  std::string name;
  std::string kind;
  result stored;
  std::getline(file, name);
  file >> kind >> stored.how.bound >> stored.how.most_steps;
  std::getline(file >> std::ws, stored.found.state);
  if (!file) {
    std::cerr << "tidemark: '" << request.replay << "' is no file that --store has written\n";
    return 2;
  }
  stored.how.bounded = kind == "bounded";
  stored.how.state = stored.found.state;
  stored.how.repeats = true;
  for (const entry* check : checks) {
    if (check->name != name) continue;
    signal(SIGABRT, say_that_code_has_changed);
    running.steps.begin();
    stored.found = play(*check, stored.how);
    running.steps.end();
    std::cout << name << ": " << (stored.found.failed ? stored.found.what : "does not fail: the code has changed since")
              << "\n\n";
    told_execution told = tell(*check, stored.found);
    print_execution(std::cout, told, request.width);
    if (!write_page(request.page, told, "replayed")) return 1;
    return stored.found.failed && !check->must_fail ? 1 : 0;
  }
  std::cerr << "tidemark: there is no check '" << name << "'\n";
  return 2;
}

/// The checks that are named, or all; nothing if there is no such check, or if there must be one only.
std::optional<std::vector<const entry*>> choose_checks(const command& request,
                                                       const std::vector<const entry*>& checks) {
  std::vector<const entry*> chosen;
  for (const std::string& name : request.names) {
    const auto found =
        std::find_if(checks.begin(), checks.end(), [&](const entry* each) { return each->name == name; });
    if (found == checks.end()) {
      std::cerr << "unknown check: " << name << " (--list prints the names)\n";
      return std::nullopt;
    }
    if (request.expect_failure && (*found)->must_fail) {
      std::cerr << "tidemark: '" << name << "' is a twin, and fails as it is\n";
      return std::nullopt;
    }
    chosen.push_back(*found);
  }
  if (chosen.empty()) chosen = checks;
  const bool wants_execution = !request.store.empty() || (!request.page.empty() && !request.audit);
  if (wants_execution && chosen.size() != 1) {
    std::cerr << "tidemark: --store and --page are for one check\n";
    return std::nullopt;
  }
  return chosen;
}

/// Where a call has only an address, the addresses of a site are found by playing the checks.
void find_addresses_of_seam(const std::vector<const entry*>& chosen, const command& request) {
  const weakened_site wanted = seam;
  clear_seam();
  note_sites();
  for (const entry* check : chosen) static_cast<void>(search_all(*check, {request.seconds, request.most_steps}));
  seam = wanted;
  seam.addresses = addresses_at(seam.file, seam.line, seam.column);
  if (!request.sites) observer = nullptr;
  forget_sites();
}

int judge_all(const command& request, const std::vector<const entry*>& chosen) {
  bool as_expected = true;
  for (const entry* check : chosen) as_expected = judge(*check, request) && as_expected;
  return as_expected ? 0 : 1;
}

/// Sets the seam. Returns whether there is such a site.
bool find_seam(const std::string& weaken, const std::vector<const entry*>& chosen, const command& request) {
  if (!is_key(weaken)) {
    const bool is_there = runner::weaken(weaken, request.sources);
    if (!is_there) std::cerr << "no such site or order: " << weaken << "\n";
    const bool names_address = watching != nullptr || weaken.find(":0=") != std::string::npos;
    if (is_there && names_address) find_addresses_of_seam(chosen, request);
    return is_there;
  }
  std::vector<const entry*> holding;
  for (const entry* each : chosen) {
    if (!each->must_fail) holding.push_back(each);
  }
  const std::string complaint = weaken_by_key(holding, weaken, {request.seconds, request.most_steps});
  hide_progress();
  if (!complaint.empty())
    std::cerr << "tidemark: " << request.place << (request.place.empty() ? "" : ": ") << complaint << "\n";
  if (request.sites) note_sites();
  return complaint.empty();
}

/// Sets all seams. Returns whether there are such sites.
bool find_seams(const std::vector<const entry*>& chosen, const command& request) {
  std::vector<weakened_site> found;
  for (const std::string& weaken : request.weaken) {
    clear_seam();
    if (!find_seam(weaken, chosen, request)) return false;
    found.push_back(seam);
  }
  if (found.empty()) return true;
  seam = found.front();
  further_seams.assign(found.begin() + 1, found.end());
  return true;
}

// ---- tables ---------------------------------------------------------------------------------------------------------

/// What the tables name; nothing if one of them is wrong.
std::optional<std::vector<planned_search>> read_tables(const command& request,
                                                       const std::vector<const entry*>& checks) {
  std::vector<planned_search> plan;
  std::string complaint;
  if (!request.checks.empty()) complaint = read_checks(request.checks, checks, plan);
  if (complaint.empty() && !request.twins.empty()) complaint = read_twins(request.twins, checks, plan);
  if (complaint.empty()) return plan;
  std::cerr << "tidemark: " << complaint << "\n";
  return std::nullopt;
}

/// The tests of ctest: what the tables name, and each other check that must have no line.
void list_tests(const command& request, const std::vector<const entry*>& checks,
                const std::vector<planned_search>& plan) {
  for (const entry* check : checks) {
    const bool has_line = std::any_of(plan.begin(), plan.end(), [&](const planned_search& each) {
      return each.check == check && each.weakened.empty();
    });
    if (!has_line && (request.checks.empty() || check->must_fail))
      std::cout << check->name << "\t" << check->name << "\n";
  }
  for (const planned_search& each : plan) {
    const std::string amount = std::to_string(each.amount);
    const std::string search = (each.bounded ? "bound " : "random ") + amount;
    if (each.weakened.empty()) {
      std::cout << each.check->name << ", " << search;
    } else {
      std::cout << "twin " << each.weakened << " (" << each.check->name << ", " << search << ")";
    }
    std::cout << "\t" << each.check->name << "\t" << (each.bounded ? "--bound" : "--executions") << "\t" << amount;
    if (!each.bounded) std::cout << "\t--jobs\t1";  // ctest plays several tests at the same time
    if (!each.weakened.empty()) std::cout << "\t--weaken\t" << each.weakened << "\t--expect-failure";
    std::cout << "\n";
  }
}

int play_tables(const command& request, const std::vector<const entry*>& chosen,
                const std::vector<planned_search>& plan) {
  bool as_expected = true;
  for (const planned_search& each : plan) {
    if (std::find(chosen.begin(), chosen.end(), each.check) == chosen.end()) continue;
    command one = request;
    one.search = each.bounded ? "bounded" : "random";
    one.bound = static_cast<unsigned>(each.amount);
    one.executions = each.amount;
    if (!each.weakened.empty()) one.weaken = {each.weakened};
    one.expect_failure = !each.weakened.empty();
    clear_seam();
    one.place = each.place;
    as_expected = find_seams({each.check}, one) && judge(*each.check, one) && as_expected;
  }
  return as_expected ? 0 : 1;
}

// ---- the audit ------------------------------------------------------------------------------------------------------

/// Writes an audit for programs. Returns whether that was possible.
bool write_json(const std::string& path, const audit_result& all) {
  if (path == "-") {
    write_audit_json(std::cout, all);
    return true;
  }
  return write_file(path, [&](std::ostream& out) { write_audit_json(out, all); });
}

/// Returns whether it is written, or not wanted.
bool write_page(const command& request, const audit_result& all) {
  if (request.page.empty()) return true;
  const auto write = [&](std::ostream& out) { write_audit_page(out, request.program, all); };
  if (!write_file(request.page, write)) return false;
  if (request.json != "-") std::cout << "The audit is shown in " << request.page << "\n";
  return true;
}

int audit_all(const command& request, const std::vector<const entry*>& chosen) {
  audit_request asked;
  asked.only = request.only;
  asked.lists_unexecuted = request.names.empty();
  asked.allowed = {request.seconds, request.most_steps};
  const bool prints = request.json != "-";
  asked.finished = [prints](const audited_site& site) {
    hide_progress();
    if (prints) print_site(std::cout, site);
  };
  reviewed_list reviewed;
  if (!request.reviewed.empty()) {
    const std::string complaint = reviewed.read(request.reviewed);
    if (!complaint.empty()) {
      std::cerr << "tidemark: " << complaint << "\n";
      return 2;
    }
    asked.reviewed = &reviewed;
  }
  found_so_far known;
  if (!request.resume.empty()) {
    const std::string complaint = known.open(request.resume, chosen, asked.allowed);
    if (!complaint.empty()) {
      std::cerr << "tidemark: " << complaint << "\n";
      return 2;
    }
  }
  asked.known = &known;
  asked.jobs = jobs_of(request);
  const audit_result all = audit(chosen, asked);
  hide_progress();
  if (prints) print_end(std::cout, all);
  if (!request.json.empty() && !write_json(request.json, all)) return 2;
  if (!write_page(request, all)) return 2;
  return is_good(all) ? 0 : 1;
}

}  // namespace

int run(int argc, char** argv, const entry* last) {
#if __has_include(<sys/single_threaded.h>)
  // The threads of a simulation are one thread of the system, but what counts references must count as if they were
  // several.
  __libc_single_threaded = 0;
#endif
  const std::optional<command> request = parse(argc, argv);
  if (!request) {
    std::cerr << usage;
    return 2;
  }
  if (request->help) {
    std::cout << usage;
    return 0;
  }
  const std::vector<const entry*> checks = checks_until(last);
  if (const std::string complaint = complaint_about(checks); !complaint.empty()) {
    std::cerr << "tidemark: " << complaint << "\n";
    return 2;
  }
  if (request->list) {
    for (const entry* each : checks) std::cout << each->name << "\n";
    return 0;
  }
  const auto plan = read_tables(*request, checks);
  if (!plan) return 2;
  if (request->list_tests) {
    list_tests(*request, checks, *plan);
    return 0;
  }
  const std::string program = std::string{argv[0]}.substr(std::string{argv[0]}.find_last_of('/') + 1);
  if (!request->lines.empty()) return compare(*request, program, checks);
  begin_progress(request->progress);
  start_watchdog(request->patience);
  watch_for_crashes();
  if (!request->replay.empty()) return replay(*request, checks);
  if (watching != nullptr && watching->refusal() != nullptr) {
    std::cerr << "tidemark: " << watching->refusal() << "\n";
    return 2;
  }
  if (request->sites) note_sites();
  const auto chosen = choose_checks(*request, checks);
  if (!chosen) return 2;
  if (!plan->empty()) return play_tables(*request, *chosen, *plan);
  if (!find_seams(*chosen, *request)) return 2;
  if (request->audit) return audit_all(*request, *chosen);
  return judge_all(*request, *chosen);
}

}  // namespace tidemark::verify

extern "C" [[gnu::noinline]] void tidemark_check_failed() { asm volatile(""); }

/// For gdb.py: the thread that is running; -1 if none is.
extern "C" [[gnu::used]] int tidemark_simulated_thread() {
  using namespace tidemark::verify;
  return runner::running.now == runner::phase::threads ? static_cast<int>(engine::this_thread()) : -1;
}
