// SPDX-License-Identifier: BSL-1.0
#include "watchdog.hpp"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "execution.hpp"
#include "progress.hpp"

namespace tidemark::verify::runner {
namespace {

unsigned patience = 0;
unsigned looks = 0;           // in a row that have found the same execution
std::uint32_t execution = 0;  // which that is

// Runs on the stack of whatever is interrupted.
void look(int) {
  show_search();
  if (running.now == phase::outside || running.number != execution) {
    execution = running.number;
    looks = 0;
    return;
  }
  if (++looks < patience) return;
  char place[300];
  write_last_place(place, sizeof place);
  say("tidemark: an execution of '");
  say(running.check);
  say("' does not end. It blocks, or loops without an operation of the checker");
  say(place);
  say(". Mutexes, condition variables and whatever else blocks in the system are not seen, unless the check is "
      "INSTRUMENTED.\n");
  _exit(1);
}

}  // namespace

void say(const char* text) { static_cast<void>(!write(STDERR_FILENO, text, std::strlen(text))); }

void start_watchdog(unsigned its_patience) {
  patience = its_patience;
  restart_watchdog();
}

void restart_watchdog() {
  looks = 0;
  struct sigaction action = {};
  action.sa_handler = look;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval second{{1, 0}, {1, 0}};
  setitimer(ITIMER_REAL, &second, nullptr);
}

}  // namespace tidemark::verify::runner
