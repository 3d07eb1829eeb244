// SPDX-License-Identifier: BSL-1.0
#include "command.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "seam.hpp"

namespace tidemark::verify::runner {
namespace {

/// The words of a command line, and whether all of them made sense.
class words {
 public:
  words(int count, char** first) : left_{first + 1, first + count} {}

  bool more() const { return next_ < left_.size(); }
  std::string take() {
    if (!more()) {
      complain("something is missing at the end");
      return "";
    }
    return left_[next_++];
  }
  /// A number of at least `least`.
  template <class Number>
  void take(Number& number, Number least) {
    const std::string word = take();
    char* end = nullptr;
    const double found = std::strtod(word.c_str(), &end);
    if (word.empty() || *end != '\0' || found < static_cast<double>(least)) {
      complain("'" + word + "' is no such number");
      return;
    }
    number = static_cast<Number>(found);
  }
  void complain(const std::string& text) {
    if (valid_) std::cerr << "tidemark: " << text << "\n";
    valid_ = false;
  }
  bool valid() const { return valid_; }

 private:
  std::vector<std::string> left_;
  std::size_t next_ = 0;
  bool valid_ = true;
};

/// Returns whether it is an option of the audit.
bool parse_audit(const std::string& word, words& rest, command& result) {
  if (word == "--audit") {
    result.audit = true;
  } else if (word == "--only") {
    result.only.push_back(rest.take());
  } else if (word == "--reviewed") {
    result.reviewed = rest.take();
  } else if (word == "--json") {
    result.json = rest.take();
  } else if (word == "--jobs") {
    rest.take(result.jobs, 1u);
  } else if (word == "--resume") {
    result.resume = rest.take();
  } else {
    return false;
  }
  return true;
}

/// Returns whether it is an option about what the program has, or about tables.
bool parse_list(const std::string& word, words& rest, command& result) {
  if (word == "--list") {
    result.list = true;
  } else if (word == "--list-tests") {
    result.list_tests = true;
  } else if (word == "--checks") {
    result.checks = rest.take();
  } else if (word == "--twins") {
    result.twins = rest.take();
  } else if (word == "--compare") {
    result.lines = rest.take();
    result.form = rest.take();
  } else {
    return false;
  }
  return true;
}

void parse_option(const std::string& word, words& rest, command& result) {
  if (word == "--help") {
    result.help = true;
  } else if (word == "--search") {
    result.search = rest.take();
    if (result.search != "random" && result.search != "bounded")
      rest.complain("unknown search: '" + result.search + "'");
  } else if (word == "--executions") {
    rest.take(result.executions, 1ul);
    if (result.search.empty()) result.search = "random";
  } else if (word == "--bound") {
    rest.take(result.bound, 0u);
    if (result.search.empty()) result.search = "bounded";
  } else if (word == "--seconds") {
    rest.take(result.seconds, 0.001);
  } else if (word == "--width") {
    rest.take(result.width, 40u);
  } else if (word == "--most-steps") {
    rest.take(result.most_steps, 1u);
  } else if (word == "--hang") {
    rest.take(result.patience, 1u);
  } else if (word == "--weaken") {
    result.weaken.push_back(rest.take());
  } else if (word == "--sources") {
    result.sources.push_back(rest.take());
  } else if (word == "--store") {
    result.store = rest.take();
  } else if (word == "--replay") {
    result.replay = rest.take();
  } else if (word == "--page") {
    result.page = rest.take();
  } else if (word == "--expect-failure") {
    result.expect_failure = true;
  } else if (word == "--table") {
    result.table = true;
  } else if (word == "--sites") {
    result.sites = true;
  } else if (word == "--progress") {
    result.progress = true;
  } else if (word == "--blind-seam") {
    seam.blind = true;
  } else if (!parse_audit(word, rest, result) && !parse_list(word, rest, result)) {
    rest.complain("unknown option '" + word + "'");
  }
}

}  // namespace

// Lines of at most 100 characters.
const char* const usage =
    "usage: PROGRAM [CHECK]... [OPTION]...\n"
    "\n"
    "Plays the checks, or all of them, in every order of their threads that it can think of: first all\n"
    "orders with no preemption, then with one, two and three, as far as the time goes, then at random. A\n"
    "preemption is a switch away from a thread that could go on. If a check fails, the execution is\n"
    "printed; a twin must fail.\n"
    "\n"
    "  --list              print the names of the checks\n"
    "  --checks FILE       play the searches that this table names: lines `CHECK: bound 3` or `CHECK: random\n"
    "                      1000000`. A check without a line is an error\n"
    "  --twins FILE        play weakenings that must be noticed: each key as the audit prints it, and below\n"
    "                      it, indented, such a line of the check that notices\n"
    "  --seconds S         the time for each check (5)\n"
    "  --bound N           only the search of all orders with up to N preemptions, to its end\n"
    "  --executions N      only the random search, of so many executions\n"
    "  --jobs N            processes for --executions and for --audit (as many as there are processors)\n"
    "  --search KIND       `bounded` or `random`: only that one\n"
    "  --expect-failure    each check must fail, as if it were a twin\n"
    "  --width N           of a printed execution, in characters (100)\n"
    "  --table             print the failing execution also where a failure was expected\n"
    "  --most-steps N      steps of an execution; one with more is a livelock (2000)\n"
    "  --progress          tell on standard error how far it is, also where that is no terminal\n"
    "  --hang SECONDS      end the program if one execution takes so long (60)\n"
    "  --store FILE        write down how the check has failed\n"
    "  --replay FILE       play that execution again and print it; no search\n"
    "  --page FILE         write how the check has failed, or the audit, as a page for a browser\n"
    "  --audit             weaken each memory order and barrier that the checks execute, one at a time,\n"
    "                      and print which check notices\n"
    "  --only TEXT         audit only sites in files whose path contains this, such as a folder, or one of\n"
    "                      several\n"
    "  --reviewed FILE     what may stay unnoticed: each key as the audit prints it, and below it, indented,\n"
    "                      the reason; an entry that is not needed is an error\n"
    "  --json FILE         write the audit as JSON, too; `-` prints that and no text\n"
    "  --resume FILE       keep there what the audit has found, and go on with it next time\n"
    "  --weaken KEY        play the checks with one order weakened: a key as the audit prints it. Said several\n"
    "                      times, with all of them weakened\n"
    "  --sites             print each memory order and barrier that was executed\n"
    "  --weaken SITE=HOW   weaken one of them. SITE is FILE:LINE:COLUMN as --sites prints it. HOW is relaxed,\n"
    "                      acquire, release or acq_rel, the same after `failure:` for the order of a\n"
    "                      compare-exchange that fails, `removed` for a barrier, `own_thread` for a heavy one\n"
    "\n"
    "For build scripts and for tests of the checker itself:\n"
    "\n"
    "  --list-tests        print what would be played: for each a name and words of a command, after tabs\n"
    "  --compare FILE FORM compare the checks with lines `FORM CHECK PLACE`, so that none is left out\n"
    "  --sources FOLDER    SITE may be the number of an ordering comment, `(F2):`, in a file of this folder\n"
    "  --blind-seam        find the site and weaken nothing; HOW may be `spurious`, for the exchange of a pair\n"
    "\n"
    "Exit status: 0 if all is as expected, 1 if not, 2 for a bad command line. Of an audit: 0 if each\n"
    "weakening is noticed or reviewed, each site is executed, and the list has no other entry.\n";

std::optional<command> parse(int argc, char** argv) {
  command result;
  result.program = argv[0];
  words rest{argc, argv};
  while (rest.more() && rest.valid()) {
    const std::string word = rest.take();
    if (word.starts_with("-")) {
      parse_option(word, rest, result);
    } else {
      result.names.push_back(word);
    }
  }
  const bool is_for_audit =
      !(result.only.empty() && result.reviewed.empty() && result.json.empty() && result.resume.empty());
  if (is_for_audit && !result.audit) rest.complain("--only, --reviewed, --json and --resume are for --audit");
  if (result.jobs > 1 && !result.audit && result.search != "random")
    rest.complain("--jobs is for --executions and for --audit");
  if (result.audit && !result.weaken.empty())
    rest.complain("--weaken is not for --audit, which weakens one after another");
  for (const std::string& each : result.weaken) {
    if (std::count(result.weaken.begin(), result.weaken.end(), each) != 1) rest.complain("--weaken twice: " + each);
  }
  const bool has_table = !result.checks.empty() || !result.twins.empty();
  if (has_table && (!result.search.empty() || !result.weaken.empty() || result.audit))
    rest.complain("--checks and --twins name what is played: no search, --weaken or --audit beside them");
  if (!rest.valid()) return std::nullopt;
  return result;
}

}  // namespace tidemark::verify::runner
