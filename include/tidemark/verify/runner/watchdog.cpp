// SPDX-License-Identifier: BSL-1.0
#include "watchdog.hpp"

#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>

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
  char text[512];
  const int size = snprintf(text, sizeof text,
                            "tidemark: an execution of '%s' does not end. It blocks, or loops without an operation of "
                            "the checker%s\n",
                            running.check, place);
  static_cast<void>(!write(STDERR_FILENO, text, static_cast<std::size_t>(size)));
  _exit(1);
}

}  // namespace

void start_watchdog(unsigned its_patience) {
  patience = its_patience;
  struct sigaction action = {};
  action.sa_handler = look;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval second{{1, 0}, {1, 0}};
  setitimer(ITIMER_REAL, &second, nullptr);
}

}  // namespace tidemark::verify::runner
