#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs benchmarks and prints what they say, as ratios.

A part of the report is bench/ROOM/NAME.cpp, a program, with bench/ROOM/NAME.py beside it, its text. That has

    a docstring     what the part is about, in one line; --list prints it
    SECTIONS        what is run, and what is printed then: (rows, rounds with --quick, rounds otherwise, functions).
                    `rows` is a regular expression for the names of rows up to a slash. 0 rounds are none. Each function
                    gets a Page of report_page.py.

Both sides of a ratio come from one run of one program, with random interleaving and repetitions (rounds). Operations of
a few cycles are compared by the least time of each round, everything else by the median of each round. Printed are the
medians over the rounds, their ratio, and the lowest and the highest ratio of any one round. A verdict with a question
mark comes from rounds too far apart to be believed. The machine is probed before and after. Slow results are marked,
never turned into an error; the exit status tells only whether the benchmarks ran.
"""

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import running
from report_page import Page, Results, nice

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("fence", "loop", "log", "memory", "split", "context", "queue", "engine", "hub")  # in this order; others follow
FIRST = "headline"  # the part that comes before all others
PROBE = "probe"  # the program that tells whether the machine is fit for measuring


# ---- parts -----------------------------------------------------------------------------------------------------------


def find_parts():
    """Name -> file of each part, in the order of the report."""

    def place(path):
        room = path.parent.name
        return path.stem != FIRST, ROOMS.index(room) if room in ROOMS else len(ROOMS), room, path.stem

    return {path.stem: path for path in sorted((ROOT / "bench").glob("*/*.py"), key=place)}


def load(path):
    spec = importlib.util.spec_from_file_location(f"text_of_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def list_of_parts(parts):
    return "\n".join(f"  {name:<12} {load(path).__doc__.splitlines()[0]}" for name, path in parts.items())


# ---- building and running --------------------------------------------------------------------------------------------


class Failure(Exception):
    """What can't be reported at all."""


def build(folder, names):
    """Builds the programs of these parts. `names` is None for all of them."""
    command = ["cmake", "--build", str(folder), "--parallel", str(os.cpu_count() or 2)]
    if names is not None:
        command += ["--target", *(f"bench_{name}" for name in names)]
    status, text = watch("building", command, running.EDGE)
    if status != 0:
        said = [line for line in text.splitlines() if not running.EDGE.match(line)]
        raise Failure("the benchmarks were not built:\n" + "\n".join(said))


def watch(what, command, edge=None):
    """Runs a child to its end, and says on stderr how far it is. Returns its status and what it said."""
    progress = running.Progress("bench", sys.stderr)
    said = []
    try:
        child = running.start(command, stderr=subprocess.STDOUT)
        for line in running.lines(child):
            if line is not None:
                said.append(line)
            reached = edge.match(line) if edge and line else None
            progress.update(f"{what}, {reached.group(1)} of {reached.group(2)}" if reached else progress.state or what)
        return running.finish(child), "\n".join(said)
    finally:
        progress.close()


class Runner:
    """Runs programs of a build folder, and keeps what they say in a folder."""

    def __init__(self, build_folder, kept):
        self.build_folder = build_folder
        self.kept = kept
        self.runs = 0
        self.all_ran = True

    def run(self, results, name, rows, rounds):
        self.runs += 1
        program = self.build_folder / "bench" / f"bench_{name}"
        out = self.kept / f"{self.runs:02}_{name}.json"
        out.unlink(missing_ok=True)
        if not os.access(program, os.X_OK):
            raise Failure(f"there is no program {program}")
        command = [
            str(program),
            f"--benchmark_filter=^({rows})/",
            "--benchmark_enable_random_interleaving=true",
            f"--benchmark_repetitions={rounds}",
            f"--benchmark_out={out}",
            "--benchmark_out_format=json",
        ]
        status, said = watch(f"{name}, {rows}, {rounds} rounds", command)
        for line in said.splitlines():
            if "left out" in line:
                results.note(line)
        try:
            results.add(json.loads(out.read_text()))
        except (OSError, ValueError, KeyError):
            status = status or "0 and left no results"
        if status != 0:
            self.all_ran = False
            last = (said.strip() or "it said nothing").splitlines()[-1]
            results.note(f"FAILED: bench_{name}, rows {rows}, ended with status {status}: {last}")


def share_of_others(seconds=0.25):
    """How busy the processors are, stolen time included, while this program sleeps. 0 where that can't be told."""

    def look():
        first = read("/proc/stat").split("\n", 1)[0].split()[1:9]
        values = [int(value) for value in first]
        return sum(values), (values[3] + values[4]) if len(values) > 4 else sum(values)

    total, idle = look()
    time.sleep(seconds)
    total_after, idle_after = look()
    passed = total_after - total
    return 1 - (idle_after - idle) / passed if passed else 0.0


def read(path):
    try:
        return Path(path).read_text()
    except OSError:
        return ""


# ---- the machine -----------------------------------------------------------------------------------------------------


class Machine:
    """What the machine is, and whether it was fit for measuring: it is probed several times."""

    CYCLE, TRIP = "probe/one_cycle_loop", "probe/round_trip"

    def __init__(self, runner, quick):
        self.runner = runner
        self.rounds = 3 if quick else 5
        self.probes = []
        self.probe()

    def probe(self):
        found = Results()
        found.others = share_of_others()
        self.runner.run(found, PROBE, "probe", self.rounds)
        self.probes.append(found)

    def all(self, row, counter):
        return [value for probe in self.probes for value in probe.rounds(row, counter)]

    def cycle(self):
        return min(self.all(self.CYCLE, "min_ns"), default=None)

    def print(self):
        context = self.probes[0].context
        names = (line for line in read("/proc/cpuinfo").splitlines() if line.startswith("model name"))
        model = next((line.split(":", 1)[1].strip() for line in names), platform.processor() or "unknown")
        print(f"cpu       {model}, {context.get('num_cpus', os.cpu_count())} cores")
        print(f"kernel    {platform.system()} {platform.release()}, {platform.machine()}")
        built = (context.get(key, "?").strip() for key in ("compiler", "standard_library", "build"))
        print("compiler  " + ", ".join(built))
        print("flags     " + context.get("flags", "?"))

    def print_probes(self):
        for number, probe in enumerate(self.probes):
            when = "before" if number == 0 else "after" if number == len(self.probes) - 1 else "between"
            print(
                f"{when:<9} one addition {nice(probe.typical(self.CYCLE, 'min_ns'))} at best,"
                f" {nice(probe.typical(self.CYCLE, 'median_ns'))} typically; to the other core and back"
                f" {nice(probe.typical(self.TRIP, 'min_ns'))}, {nice(probe.typical(self.TRIP, 'median_ns'))};"
                f" others take {probe.others:.0%}"
            )
        print("verdict   " + self.verdict())

    def verdict(self):
        complaints = []
        for row, allowed in ((self.CYCLE, 1.25), (self.TRIP, 1.6)):
            best, typical = (self.all(row, counter) for counter in ("min_ns", "median_ns"))
            if best and typical and max(typical) > allowed * min(best):
                complaints.append(f"{row.split('/')[1]} went from {nice(min(best))} to {nice(max(typical))}")
        if max(probe.others for probe in self.probes) > 0.1:
            complaints.append("other programs were running")
        if complaints:
            return "disturbed (" + "; ".join(complaints) + "): look at the ranges, or run again on a quiet machine"
        return "steady"


# ---- the report ------------------------------------------------------------------------------------------------------


def report(parts, runner, quick, before_the_rest):
    """Runs and prints one part after the other. `before_the_rest` is called when the first one is printed."""
    began = time.monotonic()
    machine = Machine(runner, quick)
    machine.print()
    notes = Results()
    for number, (name, path) in enumerate(parts.items()):
        if number == 1:
            before_the_rest()
        if number > 0 and number == len(parts) // 2:
            machine.probe()
        results = Results()
        for rows, quick_rounds, full_rounds, functions in load(path).SECTIONS:
            if rounds := quick_rounds if quick else full_rounds:
                runner.run(results, name, rows, rounds)
            for function in functions:
                function(Page(results, machine.cycle()))
        for note in results.notes:
            notes.note(note)
    machine.probe()
    print()
    machine.print_probes()
    for note in notes.notes:
        print(f"note      {note}")
    print(f"duration  {time.monotonic() - began:.0f} s")


def options_of(arguments, parts):
    parser = argparse.ArgumentParser(
        prog="./dev bench",
        description=__doc__.splitlines()[0],
        epilog="parts:\n" + list_of_parts(parts),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a part of the report; without one, all of them")
    parser.add_argument("--list", action="store_true", help="name the parts, and do nothing else")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: some minutes, and wider ranges")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the raw results there, as JSON")
    # For `dev`: look at the arguments and do nothing else.
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in parts:
            parser.exit(2, f"bench: there is no part '{name}'. The parts are\n{list_of_parts(parts)}\n")
    return options


def run(parts, options):
    """Returns the exit status."""
    chosen = {name: path for name, path in parts.items() if not options.names or name in options.names}
    build_folder = ROOT / "build" / "bench"
    # The first part is soon built. It is printed before the rest is built.
    build(build_folder, [PROBE, *(options.names or [FIRST])])
    with tempfile.TemporaryDirectory() as scratch:
        kept = options.keep or Path(scratch)
        kept.mkdir(parents=True, exist_ok=True)
        runner = Runner(build_folder, kept)
        report(chosen, runner, options.quick, lambda: options.names or build(build_folder, None))
    return 0 if runner.all_ran else 1


def main():
    sys.stdout.reconfigure(line_buffering=True)
    parts = find_parts()
    options = options_of(sys.argv[1:], parts)
    if options.list:
        print(list_of_parts(parts))
    if options.list or options.check:
        return 0
    running.end_on_signals()
    try:
        return run(parts, options)
    except running.Interrupted:
        print("\ndev: interrupted", file=sys.stderr)
        return running.INTERRUPTED
    except Failure as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
