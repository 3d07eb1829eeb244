#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Builds and runs the tests with each compiler, on each emulated machine and on the fallbacks, and prints a table.

usage: matrix.py [--install] [--allow-skips] [--part K/3] [ROW]...

A row is a preset of CMakePresets.json. A row whose tools are missing is a failure unless skips are allowed. With
--install they are installed first. With --part the tests are built with that third of the kinds of fences and loops.
"""

import os
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import run_tests
import running

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ["bash", str(ROOT / "tools" / "packages.sh")]

# A row: its compiler, then the Debian packages that it needs.
ROWS = {
    "gcc12": ("g++-12", "g++-12"),
    "clang14": ("clang++-14", "clang-14"),
    "clang19-libcxx": ("clang++-19", "clang-19", "libc++-19-dev", "libc++abi-19-dev"),
    "portable": ("g++", "g++"),
    "i386": ("i686-linux-gnu-g++", "g++-i686-linux-gnu"),
    "i386-time64": ("i686-linux-gnu-g++", "g++-i686-linux-gnu"),
    "aarch64": ("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu", "qemu-user"),
    "riscv64": ("riscv64-linux-gnu-g++", "g++-riscv64-linux-gnu", "qemu-user"),
    "armhf": ("arm-linux-gnueabihf-g++", "g++-arm-linux-gnueabihf", "qemu-user"),
    "s390x": ("s390x-linux-gnu-g++", "g++-s390x-linux-gnu", "qemu-user"),
}


@dataclass
class Outcome:
    row: str
    verdict: str
    compiler: str = "-"
    passed: str = "-"
    seconds: str = "-"
    left_out: Counter = field(default_factory=Counter)  # what tests skipped as a whole or in part, and why

    def line(self):
        return f"{self.row:<15} {self.compiler:<30} {self.passed:>8} {self.seconds:>8}  {self.verdict}"


def missing_of(packages):
    """The packages that are missing, of those named."""
    done = subprocess.run([*PACKAGES, "missing", *packages], stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout.split()


def version_of(compiler):
    done = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    return re.sub(r" \([^)]*\)", "", done.stdout.split("\n", 1)[0])


def left_out(results):
    found = Counter()
    for test in results.tests:
        if test.outcome == run_tests.DISABLED:
            found[f"disabled: {test.name}"] += 1
        found.update(re.findall(r"not tested: [^]\n][^\n]*", test.output))
    return found


def run_row(row, kinds):
    outcome = Outcome(row, "FAILED", version_of(ROWS[row][0]))
    logs = ROOT / "build" / "log"
    jobs = str(os.cpu_count() or 2)
    build = ROOT / "build" / row
    if not running.step(
        f"configure {row}",
        ["cmake", "-S", str(ROOT), "--preset", row, f"-DTIDEMARK_TEST_KINDS={kinds}"],
        logs / f"configure_{row}.txt",
    ):
        return outcome
    # Where one program does not build, the tests of the others still say something.
    is_built = running.step(
        f"build {row}",
        ["cmake", "--build", str(build), "--parallel", jobs, "--", "-k", "0"],
        logs / f"build_{row}.txt",
    )
    results = run_tests.run(build)
    for test in results.tests:
        if test.outcome == run_tests.FAILED:
            print(f"\n---- {test.name}: {test.why or 'failed'}\n{test.output}", file=sys.stderr)
    print(f"test {row}: {results.totals()}", flush=True)
    # A test that was skipped or disabled counts, but not as passed.
    outcome.passed = f"{results.count(run_tests.PASSED)}/{len(results.tests)}"
    outcome.left_out = left_out(results)
    if is_built and results.passed():
        outcome.verdict = "passed"
    return outcome


def judge(row, install, allow_skips, kinds):
    """The outcome of a row, and whether the matrix may pass with it."""
    packages = ROWS[row][1:]
    if install:  # whatever can't be installed is reported below
        subprocess.run([*PACKAGES, "need", *packages], check=False)
    missing = missing_of(packages)
    if missing:
        command = f"apt-get install --no-install-recommends {' '.join(missing)}"
        return Outcome(row, f"skipped: {command}"), allow_skips
    began = time.monotonic()
    outcome = run_row(row, kinds)
    outcome.seconds = str(round(time.monotonic() - began))
    return outcome, outcome.verdict == "passed"


def print_table(outcomes):
    print()
    print(Outcome("row", "verdict", "compiler", "passed", "seconds").line())
    for outcome in outcomes:
        print(outcome.line())
    remarks = [
        f"{outcome.row}: {count} {what}" for outcome in outcomes for what, count in sorted(outcome.left_out.items())
    ]
    if remarks:
        print("\nleft out, with the number of tests:")
        print("\n".join(remarks))


def parse(arguments):
    """Returns install, allow_skips, the kinds and the rows; ends the program where an argument is unknown."""
    options = {"--install": False, "--allow-skips": False}
    kinds = "all"
    rows = []
    left = list(arguments)
    while left:
        argument = left.pop(0)
        if argument == "--part":
            kinds = left.pop(0) if left else ""
            if kinds not in ("1/3", "2/3", "3/3"):
                print(f"dev: matrix: --part takes 1/3, 2/3 or 3/3, not '{kinds}'", file=sys.stderr)
                sys.exit(2)
        elif argument in options:
            options[argument] = True
        elif argument in ROWS:
            rows.append(argument)
        else:
            print(f"dev: matrix: unknown option or row '{argument}'", file=sys.stderr)
            sys.exit(2)
    return options["--install"], options["--allow-skips"], kinds, rows or list(ROWS)


def main(arguments):
    if arguments == ["--help"]:
        print(__doc__)
        print("rows: " + " ".join(ROWS))
        return 0
    if arguments[:1] == ["--check"]:
        parse(arguments[1:])
        return 0
    install, allow_skips, kinds, rows = parse(arguments)
    running.end_on_signals()
    outcomes = []
    passed = True
    try:
        for row in rows:
            outcome, may_pass = judge(row, install, allow_skips, kinds)
            outcomes.append(outcome)
            passed = passed and may_pass
    except running.Interrupted:
        print("\ndev: interrupted", file=sys.stderr)
        return running.INTERRUPTED
    print_table(outcomes)
    if not passed:
        print("dev: the matrix has not passed", file=sys.stderr)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
