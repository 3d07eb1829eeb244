// SPDX-License-Identifier: BSL-1.0
#include "searching.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "execution.hpp"
#include "helpers.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "seam.hpp"

namespace tidemark::verify::runner {
namespace {

constexpr unsigned greatest_bound = 3;
constexpr unsigned long random_executions = 20'000;
// Of a failure that is to be shown: how many others are looked at, in search of a shorter one. Each leaves the stacks
// of its threads behind, which Relacy does not free.
constexpr unsigned most_compared = 100;

}  // namespace

std::string words_of(const search& how, const outcome& found) {
  std::string text = how.bounded ? "bound " + std::to_string(how.bound) : "random";
  text += ", " + std::to_string(found.executions) + (found.executions == 1 ? " execution" : " executions");
  return found.cut_off ? text + ", cut off" : text;
}

outcome play(const entry& check, const search& how) {
  spurious_wakeups = !how.bounded;
  stubborn_threads = !how.bounded || how.bound == 0;
  return check.play(check, how);
}

outcome play_by_several(unsigned jobs, const entry& check, const search& how) {
  // The number of a random execution is its seed, and each part has some of them.
  constexpr unsigned in_a_part = 5000;
  const auto parts = static_cast<unsigned>((how.executions + in_a_part - 1) / in_a_part);
  const auto part_of = [&](unsigned part) {
    search its = how;
    const unsigned long before = static_cast<unsigned long>(part) * in_a_part;
    its.state = std::to_string(before + 1) + " ";
    its.executions = std::min(how.executions, before + in_a_part);
    return its;
  };
  if (jobs < 2 || parts < 2) return play(check, how);
  helpers others;
  others.start(jobs, parts, [&](unsigned part) {
    const bool has_failed = play(check, part_of(part)).failed;
    others.tell(std::to_string(part) + (has_failed ? " fails" : (running.shared ? " shared" : " alone")));
  });
  std::vector<bool> holds(parts);
  unsigned first = 0;  // that has not held
  unsigned failing = parts;
  while (first < failing) {
    const std::optional<std::string> line = others.next_line();
    if (!line) break;
    const auto part = static_cast<unsigned>(std::stoul(*line));
    running.shared = running.shared || line->ends_with("shared");
    if (line->ends_with("fails")) {
      failing = std::min(failing, part);
    } else {
      running.number += in_a_part;  // for who looks how far it is
      holds[part] = true;
    }
    while (first < parts && holds[first]) ++first;
  }
  others.stop();
  if (first == parts) {
    outcome all;
    all.executions = how.executions;
    return all;
  }
  // It fails, or a process has ended before its time.
  search rest = part_of(first);
  rest.executions = how.executions;
  return play(check, rest);
}

bool repeat(const entry& check, search how, const outcome& found) {
  how.state = found.state;
  how.repeats = true;
  how.seconds = 0;
  running.steps.begin();
  const outcome again = play(check, how);
  running.steps.end();
  return again.failed && again.what == found.what;
}

result search_all(const entry& check, const limits& allowed) {
  result all;
  bool cut_off = false;
  bool ended_with_one = false;
  // What one search leaves of its time is the next one's, but the last one has its own.
  const double at_random = allowed.seconds / (greatest_bound + 2);
  const std::clock_t began = std::clock();
  for (unsigned bound = 0; bound <= greatest_bound + 1; ++bound) {
    const bool bounded = bound <= greatest_bound;
    if (bounded && cut_off) continue;  // a greater bound takes longer still
    all.how = {};
    all.how.bounded = bounded;
    all.how.bound = bound;
    all.how.most_steps = allowed.most_steps;
    all.how.executions = random_executions;
    if (allowed.seconds != 0) {
      const double used = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
      all.how.seconds = std::max(at_random, allowed.seconds - used - (bounded ? at_random : 0));
    }
    name_search(check.name, bounded ? "bound " + std::to_string(bound) : "random");
    all.found = play(check, all.how);
    all.searched += (all.searched.empty() ? "" : "; ") + words_of(all.how, all.found);
    all.has_ended = all.has_ended || !all.found.cut_off;
    all.is_whole = all.is_whole && !all.found.cut_off;
    ended_with_one = ended_with_one || (bound == 1 && !all.found.cut_off);
    const bool is_thorough = bounded ? bound >= 2 : ended_with_one;
    all.is_thorough = all.is_thorough || (is_thorough && !all.found.cut_off);
    if (all.found.failed) break;
    cut_off = cut_off || all.found.cut_off;
  }
  return all;
}

result shortest(const entry& check, const result& first) {
  if (!repeat(check, first.how, first.found)) return first;
  result best = first;
  length least = length_of_execution();
  search how;
  how.bounded = false;
  how.executions = random_executions;
  how.most_steps = first.how.most_steps;
  // The number of a random execution is its seed. Where one begins is the state of a search.
  unsigned long next = 1;
  for (unsigned compared = 0; compared < most_compared && next <= random_executions; ++compared) {
    how.state = std::to_string(next) + " ";
    const outcome found = play(check, how);
    if (!found.failed) break;
    next = found.executions + 1;
    if (found.what != first.found.what || !repeat(check, how, found)) continue;
    const length its = length_of_execution();
    if (its >= least) continue;
    least = its;
    best.how = how;
    best.found = found;
  }
  return best;
}

}  // namespace tidemark::verify::runner
