#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Searches one model check as the tables will, and prints the line for them.

usage: check.py PROGRAM_FILE PROGRAM CHECK FORM [--twin]

The bounds 1, 2, 3 and 4 in turn, as long as a search takes at most half a minute, and 50,000 random executions. With
--twin the check must fail.
"""

import subprocess
import sys
import time

LONGEST = 30  # seconds: what takes longer belongs to the full mode
FIRST = 0.33  # seconds of a first search
RANDOM = 50_000
GREATEST_BOUND = 4


def search(program, check, *how):
    """Returns the exit status, what it said, and its seconds; the status is None if it took too long."""
    began = time.monotonic()
    try:
        done = subprocess.run([program, check, "--search", *how], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=2 * LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return None, f"{check} [{' '.join(how)}]: more than {2 * LONGEST} s", 2.0 * LONGEST
    return done.returncode, done.stdout.strip(), time.monotonic() - began


def report(said, seconds):
    print(f"{seconds:6.2f} s  {said}", flush=True)


def first_search(bounded, random_seconds):
    """The cheapest search that finds something: the greatest bound that takes a third of a second, or a random one."""
    cheap = [bound for bound, seconds in bounded.items() if seconds <= FIRST]
    if cheap:
        return str(max(cheap))
    executions = int(RANDOM * FIRST / max(random_seconds, 0.01))
    return f"random {max(executions // 1000 * 1000, 1000)}"


def check_line(program, name, form, bounded, random_seconds):
    allowed = [bound for bound, seconds in bounded.items() if seconds <= LONGEST]
    bound = str(max(allowed)) if allowed else "-"
    when = "quick" if random_seconds <= LONGEST else "bounded"
    if not allowed:
        when = "random"
    return f"{program} | {name} | {bound} | - | {form} | {when} | {first_search(bounded, random_seconds)}"


def measure(program_file, name):
    """The seconds of each bounded search and of the random one; exits where the check fails."""
    bounded = {}
    for bound in range(1, GREATEST_BOUND + 1):
        status, said, seconds = search(program_file, name, "bounded", "--bound", str(bound))
        report(said, seconds)
        if status not in (0, None):
            sys.exit(status)
        bounded[bound] = seconds
        if seconds > LONGEST:
            break
    status, said, random_seconds = search(program_file, name, "random", "--executions", str(RANDOM), "--jobs", "1")
    report(said, random_seconds)
    if status not in (0, None):
        sys.exit(status)
    return bounded, random_seconds


def find_failure(program_file, name):
    """The search that finds the failure of a twin; exits where there is none."""
    for bound in range(1, GREATEST_BOUND + 1):
        how = ("bounded", "--bound", str(bound), "--expect-failure", "--table")
        status, said, seconds = search(program_file, name, *how)
        report(said, seconds)
        if status == 2:
            sys.exit(2)
        if status == 0:
            return f"bound {bound}"
        if seconds > LONGEST:
            break
    executions = 4 * RANDOM
    how = ("random", "--executions", str(executions), "--jobs", "1", "--expect-failure")
    status, said, seconds = search(program_file, name, *how)
    report(said, seconds)
    if status != 0:
        print("It does not fail: the check does not see what is wrong.")
        sys.exit(1)
    return f"random {executions}"


def main(arguments):
    if len(arguments) not in (4, 5) or arguments[4:] not in ([], ["--twin"]):
        print(__doc__, file=sys.stderr)
        return 2
    program_file, program, name, form = arguments[:4]
    if arguments[4:]:
        found = find_failure(program_file, name)
        print("\nThe line of twins.table, whose first column says what is wrong:\n")
        print(f"WHAT IS WRONG | {program} | {form} | {name} | - | {found}")
        return 0
    bounded, random_seconds = measure(program_file, name)
    print("\nThe line of checks.table; the fourth column is for requirements, such as [A17]:\n")
    print(check_line(program, name, form, bounded, random_seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
