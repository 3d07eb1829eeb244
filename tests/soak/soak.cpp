// SPDX-License-Identifier: BSL-1.0
//
// The soak: round after round of a random kind of fence under a random schedule, checked against a model, until the
// time is over or something is wrong. `./dev soak --help` says how to repeat what it has found.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "monitor.hpp"
#include "numbers.hpp"
#include "options.hpp"
#include "plan.hpp"
#include "round.hpp"
#include "subject.hpp"

namespace {

using namespace soak;

// Any thread may run the handler while the main thread reads this.
std::atomic<int> interrupted_by{0};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void interrupt(int signal_number) { interrupted_by = signal_number; }

std::vector<subject_kind> catalogue() {
  std::vector<subject_kind> kinds;
  add_fences(kinds);
  add_progress_fences(kinds);
  add_heaps(kinds);
  return kinds;
}

/// Prints all that there is to know about a mistake, and ends the program.
void report(const running_round& round, const std::string& what) {
  static std::mutex only_one;
  only_one.lock();  // for good: the first mistake is the one to look at
  const plan& planned = round.planned();
  std::fflush(stdout);
  std::ostringstream text;
  text << "\nsoak: FAILED, seed " << planned.seed << ", " << title(planned) << '\n' << what << '\n';
  round.print_state(text);
  text << "schedule ('.' has ended, '>' runs):\n";
  round.print_schedule(text);
  text << "\nsoak: FAILED, seed " << planned.seed << ", round " << planned.round << ": " << what
       << "\nthe same schedule again, a thousand times: ./dev soak --seed " << planned.seed << " --from-round "
       << planned.round << " --rounds 1 --repeat 1000\n";
  std::fputs(text.str().c_str(), stderr);
  std::fflush(stderr);
  std::_Exit(1);
}

void print_plan(const options& chosen, const plan& planned) {
  std::ostringstream text;
  if (chosen.prints_hashes || chosen.prints_schedule) text << title(planned) << '\n';
  if (chosen.prints_schedule) print(text, planned);
  std::fputs(text.str().c_str(), stdout);
  if (chosen.prints_hashes) std::fflush(stdout);
}

void soak_for(const options& chosen, const std::vector<subject_kind>& kinds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double, std::ratio<60>>{chosen.minutes};
  const auto goes_on = [&](std::uint64_t done) {
    return done < chosen.rounds && interrupted_by == 0 && std::chrono::steady_clock::now() < end;
  };
  monitor watched{chosen.limit, report};
  for (std::uint64_t done = 0; goes_on(done); ++done) {
    const plan planned = make_plan(chosen.seed, chosen.first_round + done, kinds);
    print_plan(chosen, planned);
    for (std::uint64_t time = 0; time < chosen.repeat && goes_on(done); ++time) {
      running_round round{planned, kinds[planned.kind], report};
      watched.begin(round);
      round.run();
      watched.end(round, planned.hash());
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  const options chosen = read_options({arguments + 1, arguments + count});
  const auto kinds = catalogue();
  if (chosen.runs) {  // before the first line, from which on a signal may be sent
    std::signal(SIGINT, interrupt);
    std::signal(SIGTERM, interrupt);
  }
  std::printf("soak: seed %llu, %zu kinds of fence\n", static_cast<unsigned long long>(chosen.seed), kinds.size());
  std::fflush(stdout);
  if (!chosen.runs) {
    for (std::uint64_t done = 0; done < chosen.rounds; ++done) {
      print_plan(chosen, make_plan(chosen.seed, chosen.first_round + done, kinds));
    }
    return 0;
  }
  soak_for(chosen, kinds);
  if (interrupted_by != 0) {
    std::printf("soak: ended by signal %d, nothing found\n", interrupted_by.load());
  } else {
    std::printf("soak: nothing found\n");
  }
  return 0;
}
