// SPDX-License-Identifier: BSL-1.0
//
// Reads the x86-64 assembly of hot_path.cpp (AT&T syntax, as g++ and clang write it) and holds the signals to what the
// README promises when nobody is due:
//
//   progress_signal       one store, one load, one compare, one branch; no locked instruction, no fence, no call
//   progress_signal_next  the same, and one more load for the old value
//   fence_signal          exactly one locked instruction, no fence, no call
//   fence_signal_next     exactly one locked instruction, no fence, no call
//   shared_...            the same as in one process, and one more load for where the pages lie
//   unrecorded_...        what the same signal promises without an unrecorded_thread
//
//   check_hot_path FILE.s        prints a line for each function; exit status 1 if one breaks its promise
//   check_hot_path FILE.s -v     prints the instructions of each hot path, too
//
// The hot path is the shortest way from the function's first instruction to a `ret` that passes the store (the locked
// instruction) once, after it a load, and no call; the compiler may have placed the slow path anywhere.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

struct instruction {
  std::string text;
  std::string mnemonic;
  std::string operands;
  bool is_locked = false;  // a lock prefix, or an exchange with memory, which locks without one

  bool begins(std::string_view start) const { return mnemonic.starts_with(start); }
  bool is_call() const { return begins("call"); }
  bool is_return() const { return mnemonic == "ret" || mnemonic == "retq"; }
  bool is_jump() const { return begins("j"); }
  bool is_unconditional() const { return begins("jmp"); }
  bool is_fence() const { return mnemonic == "mfence" || mnemonic == "lfence" || mnemonic == "sfence"; }
  bool is_compare() const { return begins("cmp") && !begins("cmpxchg"); }
  bool ends_in_memory() const { return !operands.empty() && operands.back() == ')'; }
  bool names_memory() const { return operands.find('(') != std::string::npos && !begins("lea") && !begins("nop"); }
  bool is_store() const { return names_memory() && ends_in_memory() && !is_compare() && !begins("test"); }
  bool is_load() const { return names_memory() && (!is_store() || !begins("mov")); }
};

struct function {
  std::vector<instruction> body;
  std::map<std::string, std::size_t> labels;
};

struct promise {
  const char* name;
  bool is_locked;  // one locked instruction; otherwise one plain store
  long loads;      // at most so many on the hot path
};

constexpr promise promises[] = {{"progress_signal", false, 1},
                                {"progress_signal_next", false, 2},
                                {"fence_signal", true, 3},
                                {"fence_signal_next", true, 2},
                                {"shared_progress_signal", false, 2},
                                {"shared_fence_signal", true, 4},
                                {"unrecorded_progress_signal", false, 1},
                                {"unrecorded_fence_signal", true, 3}};

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

instruction parse(std::string_view line) {
  instruction result;
  result.text = line;
  std::replace(result.text.begin(), result.text.end(), '\t', ' ');
  const auto take_word = [&line] {
    const std::size_t end = std::min(line.find_first_of(" \t;"), line.size());
    const std::string word{line.substr(0, end)};
    const std::size_t rest = std::min(line.find_first_not_of(" \t;", end), line.size());
    line = line.substr(rest);
    return word;
  };
  result.mnemonic = take_word();
  while (result.mnemonic == "lock" || result.mnemonic == "notrack" || result.mnemonic == "rep") {
    result.is_locked = result.is_locked || result.mnemonic == "lock";
    result.mnemonic = take_word();
  }
  result.operands = trim(line.substr(0, line.find('#')));
  const bool exchanges_memory = result.begins("xchg") && result.names_memory();
  result.is_locked = result.is_locked || exchanges_memory;
  return result;
}

/// Everything between the label of `name` and its .size directive, the cold part that g++ puts elsewhere included.
bool read_function(const std::string& path, const std::string& name, function& result) {
  std::ifstream in(path);
  std::string raw;
  bool inside = false;
  while (std::getline(in, raw)) {
    const std::string_view line = trim(std::string_view{raw}.substr(0, raw.find("  #")));
    if (line == name + ":") inside = true;
    if (!inside || line.empty() || line.front() == '#') continue;
    if (line.starts_with(".size") && trim(line.substr(5)).starts_with(name + ",")) return true;
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && line.find_first_of(" \t,(") > colon) {
      result.labels[std::string{line.substr(0, colon)}] = result.body.size();
    } else if (line.front() != '.') {
      result.body.push_back(parse(line));
    }
  }
  return false;
}

/// How much of a signal a way through the function has done.
enum stage { nothing_done, value_written, monitored_read };

stage stage_after(stage before, const instruction& now, const promise& wanted) {
  if (wanted.is_locked ? now.is_locked : now.is_store()) return value_written;
  return before == value_written && now.is_load() ? monitored_read : before;
}

/// The hot path as indices into the body; empty when there is none.
std::vector<std::size_t> hot_path(const function& code, const promise& wanted) {
  using position = std::pair<std::size_t, stage>;
  const position outside{code.body.size(), nothing_done};
  std::map<position, position> came_from{{{0, nothing_done}, outside}};
  std::deque<position> open{{0, nothing_done}};
  while (!open.empty()) {
    const position here = open.front();
    open.pop_front();
    if (here.first >= code.body.size()) continue;
    const instruction& now = code.body[here.first];
    const stage done = stage_after(here.second, now, wanted);
    if (now.is_call() || done < here.second) continue;
    if (now.is_return()) {
      if (done != monitored_read) continue;
      std::vector<std::size_t> path;
      for (position at = here; at != outside; at = came_from[at]) path.push_back(at.first);
      std::reverse(path.begin(), path.end());
      return path;
    }
    const auto go = [&](std::size_t next) {
      if (came_from.emplace(position{next, done}, here).second) open.push_back({next, done});
    };
    const auto target = now.is_jump() ? code.labels.find(now.operands) : code.labels.end();
    if (!now.is_unconditional()) go(here.first + 1);
    if (target != code.labels.end()) go(target->second);
  }
  return {};
}

bool check(const std::string& path, const promise& wanted, bool verbose) {
  function code;
  if (!read_function(path, wanted.name, code)) {
    std::printf("%s: no function %s\n", path.c_str(), wanted.name);
    return false;
  }
  const std::vector<std::size_t> hot = hot_path(code, wanted);
  if (hot.empty()) {
    std::printf("%-21s FAILED: no way through it writes, then reads, and makes no call\n", wanted.name);
    return false;
  }
  const auto in_body = [&](auto is) { return std::count_if(code.body.begin(), code.body.end(), is); };
  const auto on_path = [&](auto is) {
    return std::count_if(hot.begin(), hot.end(), [&](std::size_t at) { return is(code.body[at]); });
  };
  const auto locked = in_body([](const instruction& i) { return i.is_locked; });
  const auto fences = in_body([](const instruction& i) { return i.is_fence(); });
  const auto stores = on_path([](const instruction& i) { return i.is_store() && !i.is_locked; });
  const auto loads = on_path([](const instruction& i) { return i.is_load() && !i.is_locked; });
  const auto compares = on_path([](const instruction& i) { return i.is_compare(); });
  const auto branches = on_path([](const instruction& i) { return i.is_jump() && !i.is_unconditional(); });

  const bool kept = fences == 0 && locked == (wanted.is_locked ? 1 : 0) && stores == (wanted.is_locked ? 0 : 1) &&
                    loads <= wanted.loads && (wanted.is_locked || (compares <= 1 && branches <= 1));
  std::printf("%-21s %s: %td locked, %td fences, 0 calls, %td stores, %td loads, %td compares, %td branches\n",
              wanted.name, kept ? "ok" : "FAILED", locked, fences, stores, loads, compares, branches);
  if (verbose || !kept) {
    for (const std::size_t at : hot) std::printf("        %s\n", code.body[at].text.c_str());
  }
  return kept;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fputs("usage: check_hot_path FILE.s [-v]\n", stderr);
    return 2;
  }
  const bool verbose = argc == 3 && std::string_view{argv[2]} == "-v";
  bool kept = true;
  for (const promise& wanted : promises) kept = check(argv[1], wanted, verbose) && kept;
  return kept ? 0 : 1;
}
