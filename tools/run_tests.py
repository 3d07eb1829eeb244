#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the tests of a build folder with ctest, says how far it is, and prints what failed. It builds nothing.

usage: run_tests.py FOLDER [CTEST-OPTION]...
       run_tests.py --check VERB [CTEST-OPTION]...

The second form runs nothing: it ends with status 2 where ctest does not know one of the options, which ctest itself
would ignore. The first form ends with 0 if all tests passed, with 1 if not, and with 130 if SIGINT or SIGTERM ended it;
all children of ctest end then, too. The results come from the file that ctest writes for --output-junit. ctest's own
output goes to build/log/, beside FOLDER; its lines serve only to say how far it is.
"""

import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import running

# With one of these ctest runs no test, or its own output is what was asked for.
PASSED_ON = re.compile(r"-N|--show-only(=.*)?|--print-labels|-V|-VV|--verbose|--extra-verbose|--version|--help.*")

PASSED, FAILED, SKIPPED, DISABLED = "passed", "failed", "skipped", "disabled"


# ---- results ---------------------------------------------------------------------------------------------------------


@dataclass
class Test:
    name: str
    outcome: str
    why: str
    seconds: float
    output: str


@dataclass
class Results:
    tests: list
    status: int  # ctest's own

    def count(self, outcome):
        return sum(test.outcome == outcome for test in self.tests)

    def passed(self):
        return self.status == 0 and bool(self.tests) and self.count(FAILED) == 0

    def totals(self):
        text = f"{self.count(PASSED)} passed, {self.count(FAILED)} failed"
        for outcome in (SKIPPED, DISABLED):
            if self.count(outcome):
                text += f", {self.count(outcome)} {outcome}"
        return text


def outcome_of(case):
    """A test that was not run has failed, unless it skipped itself."""
    status = case.get("status")
    skipped = case.find("skipped")
    failure = case.find("failure")
    if status == "run":
        return PASSED, ""
    if status == "disabled":
        return DISABLED, ""
    if skipped is not None:
        why = skipped.get("message", "")
        return (SKIPPED if why.startswith("SKIP_") else FAILED), why
    return FAILED, failure.get("message", "") if failure is not None else ""


def read_results(path, status):
    tests = []
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        outcome, why = outcome_of(case)
        output = case.findtext("system-out") or ""
        tests.append(Test(case.get("name"), outcome, why.strip(), float(case.get("time", 0)), output))
    return Results(tests, status)


# ---- running ---------------------------------------------------------------------------------------------------------

TOTAL = re.compile(r"Total Tests: (\d+)")
ENDED = re.compile(r" *(\d+)/(\d+) Test +#\d+: (.*)")
NOT_PASSED = re.compile(r"\*\*\*(?!Skipped|Not Run \(Disabled\))")


class Watch:
    """Follows ctest's lines."""

    def __init__(self, progress, total):
        self.progress = progress
        self.done = 0
        self.total = total
        self.failed = 0
        self.progress.update(self.state())

    def state(self):
        return f"{self.done} of {self.total} tests, {self.failed} failed"

    def follow(self, line):
        match = ENDED.match(line)
        if not match:
            return
        self.done += 1
        if NOT_PASSED.search(line):
            self.failed += 1
            self.progress.say("FAILED: " + re.sub(r" *\.\.+ *\*\*\*", "  ", match.group(3)))


def command_for(folder, options, junit):
    # What a test that left something out has to say may come late in its output.
    return ["ctest", "--test-dir", str(folder), "--no-tests=error", "-j2", "--output-junit", str(junit),
            "--test-output-size-passed", "65536", *options]


def run(folder, options=(), show_progress=True):
    """Runs the tests. Returns their results; raises running.Interrupted where a signal ended them."""
    folder = Path(folder).resolve()
    logs = folder.parent / "log"
    logs.mkdir(parents=True, exist_ok=True)
    junit = logs / f"ctest-{folder.name}.xml"
    junit.unlink(missing_ok=True)
    command = command_for(folder, options, junit)
    status, listing = running.output_of([*command, "--show-only"])
    total = TOTAL.search(listing)
    progress = running.Progress(folder.name, None if show_progress else open(os.devnull, "w"))
    watch = Watch(progress, int(total.group(1)) if total else 0)
    with open(logs / f"ctest-{folder.name}.txt", "w") as log:
        child = running.start(command, stderr=subprocess.STDOUT)
        try:
            for line in running.lines(child):
                if line is not None:
                    log.write(line + "\n")
                    watch.follow(line)
                progress.update(watch.state())
        finally:
            progress.close()
        status = running.finish(child)
    if not junit.exists():
        return Results([], status or 1)
    return read_results(junit, status)


def report(name, results, seconds):
    for test in results.tests:
        if test.outcome == FAILED:
            print(f"\n---- {test.name}: {test.why or 'failed'}, after {test.seconds:.1f} s")
            print(test.output.rstrip("\n"))
    failures = [test.name for test in results.tests if test.outcome == FAILED]
    if failures:
        print("\nthese tests failed:")
        print("\n".join(f"  {failure}" for failure in failures))
    if not results.tests:
        print(f"{name}: ctest ended with status {results.status}, no test was run")
    print(f"{name}: {len(results.tests)} tests, {results.totals()}, in {seconds:.0f} s", flush=True)


# ---- options ---------------------------------------------------------------------------------------------------------


def check_options(verb, options):
    """What is wrong with the options, or nothing. ctest ignores what it does not know, and would run all tests."""
    if not options:
        return ""
    text = subprocess.run(["ctest", "--help"], capture_output=True, text=True, check=False).stdout
    known = set(re.split(r"[ ,=<>\[\]\n]+", text))
    before = ""
    for option in options:
        name = option.split("=")[0]
        if option.startswith("-"):
            if not re.fullmatch(r"-j\d+", option) and name not in known:
                return f"{verb}: ctest has no option '{name}'; 'ctest --help' lists them"
            before = option
        elif before.startswith("-") and "=" not in before:
            before = ""  # the value of that option
        else:
            return f"{verb}: unexpected argument '{option}'; see './dev help {verb}'"
    return ""


def main(arguments):
    if arguments[:1] == ["--check"]:
        wrong = check_options(arguments[1], arguments[2:])
        if wrong:
            print(f"dev: {wrong}", file=sys.stderr)
        return 2 if wrong else 0
    if not arguments or arguments[0].startswith("-"):
        print(__doc__)
        return 0 if arguments[:1] == ["--help"] else 2

    folder, options = arguments[0], arguments[1:]
    if any(PASSED_ON.fullmatch(option) for option in options):
        os.execvp("ctest", ["ctest", "--test-dir", folder, "--no-tests=error", "-j2", *options])
    running.end_on_signals()
    began = time.monotonic()
    try:
        results = run(folder, options)
    except running.Interrupted:
        print("\ndev: interrupted, and all tests ended", file=sys.stderr)
        return running.INTERRUPTED
    report(Path(folder).resolve().name, results, time.monotonic() - began)
    return 0 if results.passed() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
