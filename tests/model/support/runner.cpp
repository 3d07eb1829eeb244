// SPDX-License-Identifier: BSL-1.0
//
// The bodies behind model_check.hpp, compiled once for all programs. So is the checker: of each number of threads it
// knows one suite, `stage`, on which any check is played.
#include "model_check.hpp"

#include <regex.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>
#include <set>
#include <string>

namespace model {
namespace {

struct command {
  std::string check;
  std::string search = "random";
  std::string weaken;
  std::string lines;  // of the tables, see compare()
  std::string form;
  unsigned long executions = 200000;
  unsigned bound = 2;
  bool list = false;
  bool expect_failure = false;
  bool history = false;
  bool sites = false;
};

std::optional<command> parse(int argc, char** argv) {
  command result;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto value = [&]() -> std::string { return i + 1 < argc ? argv[++i] : ""; };
    if (word == "--list") {
      result.list = true;
    } else if (word == "--compare") {
      result.lines = value();
      result.form = value();
    } else if (word == "--search") {
      result.search = value();
    } else if (word == "--executions") {
      result.executions = std::strtoul(value().c_str(), nullptr, 10);
    } else if (word == "--bound") {
      result.bound = static_cast<unsigned>(std::strtoul(value().c_str(), nullptr, 10));
    } else if (word == "--weaken") {
      result.weaken = value();
    } else if (word == "--expect-failure") {
      result.expect_failure = true;
    } else if (word == "--history") {
      result.history = true;
    } else if (word == "--sites") {
      result.sites = true;
    } else if (word == "--blind-seam") {
      tidemark::verify::seam.blind = true;
    } else if (result.check.empty() && !word.starts_with("--")) {
      result.check = word;
    } else {
      return std::nullopt;
    }
  }
  const bool needs_check = !result.list && result.lines.empty();
  if (needs_check && (result.check.empty() || result.executions == 0)) return std::nullopt;
  return result;
}

/// An extended regular expression of the C library: std::regex would be a third of the time to compile a program.
class pattern {
 public:
  explicit pattern(const char* text) { valid_ = regcomp(&compiled_, text, REG_EXTENDED) == 0; }
  pattern(const pattern&) = delete;
  pattern& operator=(const pattern&) = delete;
  ~pattern() {
    if (valid_) regfree(&compiled_);
  }

  /// The whole match and its groups, or nothing.
  std::optional<std::array<std::string, 4>> find_in(const std::string& text) const {
    std::array<regmatch_t, 4> found;
    if (!valid_ || regexec(&compiled_, text.c_str(), found.size(), found.data(), 0) != 0) return std::nullopt;
    std::array<std::string, 4> parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (found[i].rm_so < 0) continue;
      parts[i] = text.substr(static_cast<std::size_t>(found[i].rm_so),
                             static_cast<std::size_t>(found[i].rm_eo - found[i].rm_so));
    }
    return parts;
  }

 private:
  regex_t compiled_;
  bool valid_;
};

/// Finds the operation to which the ordering comment `tag` belongs: the first one at or after the comment.
bool find_site(const std::string& tag, tidemark::verify::weakened_site& site) {
  const pattern operation{
      "([.]|->|::)(load[a-z_]*|is_below|is_at_most|store|exchange|compare_exchange_[a-z]+|fetch_[a-z]+|[a-z]+_barrier|"
      "[a-z]+_fence)[(]"};
  static std::string found_file;
  std::vector<std::filesystem::path> sources;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TIDEMARK_MODEL_HEADERS))
    sources.push_back(entry.path());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TIDEMARK_MODEL_CHECKS)) {
    if (entry.path().extension() == ".cpp") sources.push_back(entry.path());
  }
  for (const std::filesystem::path& path : sources) {
    std::ifstream source{path};
    std::string line;
    bool tagged = false;
    for (unsigned number = 1; std::getline(source, line); ++number) {
      tagged = tagged || line.find("// (" + tag + "):") != std::string::npos;
      const std::string code = line.substr(0, line.find("//"));
      if (!tagged || !operation.find_in(code)) continue;
      found_file = path.filename().string();
      site.file = found_file;
      site.line = number;
      return true;
    }
  }
  return false;
}

/// Reads a site from FILE:LINE:COLUMN, as --sites prints it.
bool parse_site(const std::string& position, tidemark::verify::weakened_site& site) {
  static std::string file;
  const auto parts = pattern{"^(.+):([0-9]+):([0-9]+)$"}.find_in(position);
  if (!parts) return false;
  file = (*parts)[1];
  site.file = file;
  site.line = static_cast<unsigned>(std::stoul((*parts)[2]));
  site.column = static_cast<unsigned>(std::stoul((*parts)[3]));
  return true;
}

bool weaken(const std::string& how_of_site) {
  using tidemark::verify::weakening;
  auto& site = tidemark::verify::seam;
  const std::size_t equals = how_of_site.find('=');
  if (equals == std::string::npos) return false;
  const std::string where = how_of_site.substr(0, equals);
  if (!parse_site(where, site) && !find_site(where, site)) return false;
  std::string how = how_of_site.substr(equals + 1);
  site.how = weakening::order;
  if (how.starts_with("failure:")) {
    site.how = weakening::failure_order;
    how.erase(0, 8);
  }
  if (how == "removed") {
    site.how = weakening::removed;
  } else if (how == "own_thread") {
    site.how = weakening::own_thread;
  } else if (how == "spurious") {
    site.how = weakening::spurious;
  } else if (how == "relaxed") {
    site.to = std::memory_order_relaxed;
  } else if (how == "acquire") {
    site.to = std::memory_order_acquire;
  } else if (how == "release") {
    site.to = std::memory_order_release;
  } else if (how == "acq_rel") {
    site.to = std::memory_order_acq_rel;
  } else {
    return false;
  }
  return true;
}

/// Every site that was executed, with its orders. It is a plain array, because an observer must not allocate.
class site_list {
 public:
  using operation = tidemark::verify::operation;

  static void note(const tidemark::verify::source_position& at, operation what, std::memory_order order,
                   std::memory_order failure) {
    for (std::size_t i = 0; i < count_; ++i) {
      const entry& known = entries_[i];
      if (known.at.line == at.line && known.at.column == at.column && known.order == order &&
          known.at.file == at.file) {
        return;
      }
    }
    if (count_ == entries_.size()) std::abort();
    entries_[count_++] = {at, what, order, failure};
  }

  static void print() {
    for (std::size_t i = 0; i < count_; ++i) {
      const auto& [at, what, order, failure] = entries_[i];
      std::cout << "site " << at.file << ":" << at.line << ":" << at.column << " " << name(what) << " " << name(order)
                << " " << (what == operation::compare_exchange ? name(failure) : "-") << "\n";
    }
  }

 private:
  struct entry {
    tidemark::verify::source_position at;
    operation what;
    std::memory_order order;
    std::memory_order failure;
  };

  static const char* name(operation what) {
    constexpr const char* names[] = {"load",  "store",         "read_modify_write", "compare_exchange",
                                     "fence", "light_barrier", "heavy_barrier",     "full_barrier"};
    return names[static_cast<std::size_t>(what)];
  }
  static const char* name(std::memory_order order) {
    constexpr const char* names[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
    return names[static_cast<std::size_t>(order)];
  }

  static inline std::array<entry, 512> entries_;
  static inline std::size_t count_ = 0;
};

// ---- the checker
// -----------------------------------------------------------------------------------------------------

/// A suite of Relacy's for any check of that many threads.
template <unsigned Threads>
class stage : public rl::test_suite<stage<Threads>, Threads> {
 public:
  stage() { played_->construct(place_); }
  ~stage() { played_->destroy(place_); }
  void before() { played_->before(place_); }
  void thread(unsigned index) { played_->thread(place_, index); }
  void after() { played_->after(place_); }

  /// Searches the executions of `played` and writes the outcome to `params`. It does the same as rl::simulate(), which
  /// would also be compiled for a third search.
  static bool play(const check& played, rl::test_params& params, bool shows_history) {
    played_ = &played;
    place_ = std::aligned_alloc(played.alignment,
                                (played.size + played.alignment - 1) / played.alignment * played.alignment);
    if (place_ == nullptr) throw std::bad_alloc{};
    const bool passed = search(params, shows_history);
    std::free(place_);
    return passed;
  }

 private:
  static bool search(rl::test_params& params, bool shows_history) {
    const auto run = [&params](rl::ostringstream& state, bool repeats) {
      return params.search_type == rl::random_scheduler_type
                 ? rl::run_test<stage, rl::random_scheduler<Threads>>(params, state, repeats)
                 : rl::run_test<stage, rl::context_bound_scheduler<Threads>>(params, state, repeats);
    };
    rl::ostringstream state;
    if (run(state, false) == rl::test_result_success) return true;
    if (shows_history) {  // executed once more, to print what happened
      params.initial_state = params.final_state = state.str();
      params.collect_history = true;
      rl::ostringstream unused;
      run(unused, true);
    }
    return false;
  }

  static inline const check* played_ = nullptr;
  static inline void* place_ = nullptr;
};

bool play(const check& played, rl::test_params& params, bool shows_history) {
  switch (played.threads) {
    case 1:
      return stage<1>::play(played, params, shows_history);
    case 2:
      return stage<2>::play(played, params, shows_history);
    case 3:
      return stage<3>::play(played, params, shows_history);
    case 4:
      return stage<4>::play(played, params, shows_history);
  }
  std::abort();  // a suite has one of these numbers
}

/// Compares the checks of this program with the lines of the tables. A check that no line names would never run. The
/// file has a line FORM CHECK PLACE for each line that names a check of this program, whatever the form.
int compare(const command& request, const char* program, const std::vector<check>& checks) {
  std::ifstream lines{request.lines};
  if (!lines) {
    std::cerr << "there is no file " << request.lines << "\n";
    return 2;
  }
  std::set<std::string_view> registered;
  unsigned complaints = 0;
  const auto complain = [&complaints]() -> std::ostream& {
    ++complaints;
    return std::cout;
  };
  for (const check& each : checks) {
    if (!registered.insert(each.name).second) complain() << program << " has two checks '" << each.name << "'\n";
  }
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

int judge(const command& request, const rl::test_params& params, bool passed) {
  const auto& site = tidemark::verify::seam;
  std::cout << request.check << " [" << request.search;
  if (request.search == "bounded") std::cout << " " << request.bound;
  std::cout << "]";
  if (!request.weaken.empty()) std::cout << " with " << request.weaken << " at " << site.file << ":" << site.line;
  std::cout << ": " << (passed ? "holds" : rl::test_result_str(params.test_result)) << " after "
            << params.stop_iteration << " executions";
  if (!request.weaken.empty() && site.hits == 0) {
    std::cout << "; the weakened site was never executed\n";
    return 1;
  }
  if (request.sites) {
    std::cout << "\n";
    site_list::print();
  }
  if (request.expect_failure) std::cout << (passed ? "; a failure was expected" : ", as expected");
  std::cout << "\n";
  return passed != request.expect_failure ? 0 : 1;
}

}  // namespace

void require(bool condition, const char* text, const char* file, unsigned line) {
  if (condition) return;
  rl::ctx().fail_test(text, rl::test_result_user_assert_failed, rl::debug_info("require", file, line));
}

int run(int argc, char** argv, const std::vector<check>& checks) {
  const std::optional<command> request = parse(argc, argv);
  if (!request) {
    std::cerr << "usage: CHECK --search random|bounded [--executions N] [--bound N] [--weaken TAG=HOW]"
                 " [--expect-failure] [--history] [--sites] [--blind-seam] | --list | --compare LINES FORM\n";
    return 2;
  }
  if (request->list) {
    for (const check& each : checks) {
      if (each.threads != 0) std::cout << each.name << "\n";
    }
    return 0;
  }
  if (!request->lines.empty()) {
    const std::string program = std::filesystem::path{argv[0]}.filename().string();
    return compare(*request, program.c_str(), checks);
  }
  rl::test_params params;
  std::ostream silence{nullptr};
  if (!request->history) params.output_stream = params.progress_stream = &silence;
  params.test_name = request->check.c_str();
  params.iteration_count = request->executions;
  params.context_bound = request->bound;
  if (request->search == "random") {
    params.search_type = rl::random_scheduler_type;
    tidemark::verify::spurious_wakeups = true;
  } else if (request->search == "bounded") {
    params.search_type = rl::fair_context_bound_scheduler_type;
  } else {
    std::cerr << "unknown search: " << request->search << "\n";
    return 2;
  }
  if (!request->weaken.empty() && !weaken(request->weaken)) {
    std::cerr << "no such site or order: " << request->weaken << "\n";
    return 2;
  }
  if (request->sites) tidemark::verify::observer = site_list::note;
  for (const check& each : checks) {
    if (each.name != request->check || each.threads == 0) continue;
    return judge(*request, params, play(each, params, request->history));
  }
  std::cerr << "unknown check: " << request->check << "\n";
  return 2;
}

}  // namespace model
