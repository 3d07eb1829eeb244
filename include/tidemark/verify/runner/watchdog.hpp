// SPDX-License-Identifier: BSL-1.0
//
// Ends the program if an execution does not end: one that blocks in the system, or loops without an operation of the
// checker, would run for ever.
#ifndef TIDEMARK_VERIFY_RUNNER_WATCHDOG_HPP
#define TIDEMARK_VERIFY_RUNNER_WATCHDOG_HPP

namespace tidemark::verify::runner {

/// Looks once a second from now on. If the same execution runs at `patience` looks in a row, it prints the last
/// operation and ends the program with status 1. Seconds for which the whole program is stopped count as one.
void start_watchdog(unsigned patience);
/// In a process that fork() has made of one with a watchdog, which it does not inherit.
void restart_watchdog();

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_WATCHDOG_HPP
