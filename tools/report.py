#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the benchmarks of a build folder and prints what they say, as ratios.

usage: report.py BUILD_FOLDER [--quick] [--keep FOLDER]

Both sides of a ratio come from one run of one executable, with random interleaving and repetitions (rounds).
Operations of a few cycles are compared by the least time of each round, everything else by the median of each round.
Printed are the medians over the rounds, their ratio, and the lowest and the highest ratio of any one round. A verdict
with a question mark comes from rounds too far apart to be believed. The machine is probed before and after. Slow
results are marked, never turned into an error; the exit status tells only whether the benchmarks ran.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WAITERS = (0, 1, 16, 17, 64, 1000)  # and 5,000 where no signal wakes them


# ---- running ---------------------------------------------------------------------------------------------------------


class Results:
    """Rounds of all rows: name -> list of counters, one entry for each repetition."""

    def __init__(self):
        self.rows = {}
        self.context = {}
        self.notes = []
        self.cycle = None  # nanoseconds of one dependent addition, at best
        self.others = 0.0  # share of the processors' time that other programs took while this one slept

    def add(self, data):
        self.context.update(data["context"])
        for row in data["benchmarks"]:
            if row.get("run_type") != "iteration":
                continue
            name = row["run_name"].split("/iterations:")[0].split("/manual_time")[0]
            if row.get("error_occurred"):
                self.notes.append(f"{name}: {row.get('error_message', 'failed')}")
            else:
                self.rows.setdefault(name, []).append(row)

    def rounds(self, name, counter):
        return [row[counter] for row in self.rows.get(name, []) if counter in row]

    def typical(self, name, counter):
        values = self.rounds(name, counter)
        return statistics.median(values) if values else None


class Runner:
    def __init__(self, executables, folder):
        self.executables = executables
        self.folder = folder
        self.runs = 0

    def run(self, results, stem, rows, rounds):
        if stem not in self.executables:
            return
        self.runs += 1
        out = self.folder / f"{self.runs:02}_{stem}.json"
        show(f"  {stem}: {rows} x {rounds}")
        done = subprocess.run(
            [
                str(self.executables[stem]),
                f"--benchmark_filter=^({rows})/",
                "--benchmark_enable_random_interleaving=true",
                f"--benchmark_repetitions={rounds}",
                f"--benchmark_out={out}",
                "--benchmark_out_format=json",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        for line in done.stderr.splitlines():
            if "left out" in line and line not in results.notes:
                results.notes.append(line)
        if done.returncode != 0:
            print(done.stderr, file=sys.stderr)
            sys.exit(f"{self.executables[stem]} ended with status {done.returncode}")
        results.add(json.loads(out.read_text()))


def show(text):
    print(text, file=sys.stderr, flush=True)


def find_executables(build):
    found = {}
    for stem in ("fence", "waiter_heap", "ping_pong", "waits", "lockstep", "crowd", "loop", "engine", "domain",
                 "ring_log", "memory", "coherency", "split_table", "storage"):
        for folder in (build / "bench", build, build / "bin"):
            candidate = folder / f"bench_{stem}"
            if candidate.is_file() and os.access(candidate, os.X_OK):
                found[stem] = candidate
                break
    missing = {"fence", "lockstep"} - found.keys()
    if missing:
        sys.exit(f"not found in {build}: " + ", ".join(f"bench_{stem}" for stem in sorted(missing)))
    return found


def share_of_others(seconds=0.5):
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


def run_everything(runner, quick):
    """Returns the results, and the probes before, between and after."""
    results = Results()
    probes = []

    def probe():
        probes.append(Results())
        probes[-1].others = share_of_others()
        runner.run(probes[-1], "fence", "probe", 3 if quick else 5)

    probe()
    runner.run(results, "fence", "idle|hot|payload|polled", 4 if quick else 15)
    runner.run(results, "ring_log", "append(_[a-z]+)?", 4 if quick else 15)
    runner.run(results, "memory", "(lend|frame|retire|blocked|aperture)(_[a-z]+)?", 4 if quick else 15)
    runner.run(results, "coherency", "access", 3 if quick else 9)
    runner.run(results, "split_table", "(apply|snapshot|plan)(_[a-z]+)?", 3 if quick else 9)
    runner.run(results, "storage", "(look_up|write|first_use|memory)(_[a-z]+)?", 3 if quick else 9)
    probe()
    runner.run(results, "fence", "paced|due", 2 if quick else 5)
    runner.run(results, "waiter_heap", "[a-z_]+", 2 if quick else 5)
    runner.run(results, "ping_pong", "ping_pong", 2 if quick else 7)
    runner.run(results, "waits", "[a-z_]+", 2 if quick else 5)
    runner.run(results, "crowd", "[a-z_]+", 2 if quick else 5)
    runner.run(results, "loop", "[a-z_]+", 3 if quick else 9)
    runner.run(results, "engine", "[a-z_]+", 2 if quick else 5)
    runner.run(results, "domain", "[a-z_]+", 2 if quick else 5)
    one_by_one = r"lockstep/(futex_row|(progress_)?fence(\.counted)?)/(apart|free)|overflow/.*/apart"
    runner.run(results, "lockstep", one_by_one, 5 if quick else 15)
    herds = "lockstep/(std_atomic|condition_variable|ck_ec)"
    runner.run(results, "lockstep", herds + "/free", 1 if quick else 3)
    if not quick:
        runner.run(results, "lockstep", herds + "/apart", 1)
    probe()
    results.cycle = min(value for each in probes for value in each.rounds("probe/one_cycle_loop", "min_ns"))
    return results, probes


# ---- printing --------------------------------------------------------------------------------------------------------


def nice(nanoseconds):
    if nanoseconds is None:
        return "-"
    for limit, unit, scale in ((1e3, "ns", 1), (1e6, "us", 1e3), (1e9, "ms", 1e6)):
        if nanoseconds < limit:
            value = nanoseconds / scale
            digits = f"{value:.3f}" if value < 1 else f"{value:.3g}" if value < 100 else f"{value:.0f}"
            return f"{digits} {unit}"
    return f"{nanoseconds / 1e9:.3g} s"


def times(ratio):
    return f"{ratio:.2f}x" if ratio < 10 else f"{ratio:.0f}x"


def heading(text):
    print(f"\n{text}\n{'-' * len(text)}")


def ratios(results, above, below, counter):
    return [a / b for a, b in zip(results.rounds(above, counter), results.rounds(below, counter)) if b > 0]


def compare(results, what, above, below, counter, at_most=None, at_least=None):
    """One line: time of `above`, time of `below`, their ratio, its range, the target."""
    each = ratios(results, above, below, counter)
    if not each:
        print(f"{what:<46} not measured")
        return
    ratio = results.typical(above, counter) / results.typical(below, counter)
    target = verdict = ""
    if at_most is not None:
        target, verdict = f"<= {at_most:g}x", "PASS" if ratio <= at_most else "OVER TARGET"
    if at_least is not None:
        target, verdict = f">= {at_least:g}x", "PASS" if ratio >= at_least else "UNDER TARGET"
    if verdict and max(each) > 3 * min(each):
        verdict += "?"
    print(
        f"{what:<46} {nice(results.typical(above, counter)):>9} {nice(results.typical(below, counter)):>9}"
        f" {times(ratio):>7}  {times(min(each)) + '..' + times(max(each)):<16} {target:<8} {verdict}".rstrip()
    )


def comparison_head(first="", text=""):
    print(f"{text:<46} {first:>9} {'beside':>9} {'ratio':>7}  {'rounds':<16} {'target':<8}".rstrip())


def print_machine(results, probes):
    context = results.context
    model = next(
        (line.split(":", 1)[1].strip() for line in read("/proc/cpuinfo").splitlines() if line.startswith("model name")),
        platform.processor() or "unknown",
    )
    print(f"cpu       {model}, {context.get('num_cpus', os.cpu_count())} cores")
    print(f"kernel    {platform.system()} {platform.release()}, {platform.machine()}")
    print("compiler  " + ", ".join(context.get(key, "?").strip() for key in ("compiler", "standard_library", "build")))
    print("flags     " + context.get("flags", "?"))
    for when, probe in zip(("before", "between", "after"), probes):
        cycle, trip = "probe/one_cycle_loop", "probe/round_trip"
        print(
            f"{when:<9} one addition {nice(probe.typical(cycle, 'min_ns'))} at best,"
            f" {nice(probe.typical(cycle, 'median_ns'))} typically; to the other core and back"
            f" {nice(probe.typical(trip, 'min_ns'))}, {nice(probe.typical(trip, 'median_ns'))};"
            f" others take {probe.others:.0%}"
        )
    print("verdict   " + judge(probes))
    for note in results.notes:
        print(f"note      {note}")


def judge(probes):
    complaints = []
    for row, allowed in (("probe/one_cycle_loop", 1.25), ("probe/round_trip", 1.6)):
        best = [value for probe in probes for value in probe.rounds(row, "min_ns")]
        typical = [value for probe in probes for value in probe.rounds(row, "median_ns")]
        if best and max(typical) > allowed * min(best):
            complaints.append(f"{row.split('/')[1]} went from {nice(min(best))} to {nice(max(typical))}")
    if max(probe.others for probe in probes) > 0.1:
        complaints.append("other programs were running")
    if complaints:
        return "disturbed (" + "; ".join(complaints) + "): look at the ranges, or run again on a quiet machine"
    return "steady"


def read(path):
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def print_idle(results):
    heading("A signal that nobody waits for (least time of each round)")
    on_clang = results.context.get("compiler", "").startswith("clang")
    signal, any_signal, store = "idle/progress_fence.signal", "idle/fence.signal", "idle/raw.release_store"
    comparison_head()
    line = lambda *args, **kwargs: compare(results, *args, "min_ns", **kwargs)
    line("progress_fence::signal / release store", signal, store, at_most=1.4 if on_clang else 1.1)
    line("  store and load / release store", "idle/raw.store_and_load", store)
    line("  store and branch / release store", "idle/raw.store_and_branch", store)
    line("  in one line / release store", signal + "/one_line", store)
    line("progress_fence::signal_next / its signal", "idle/progress_fence.signal_next", signal)
    line("  load, add, store / release store", "idle/raw.load_add_store", store)
    line("ck_ec64_inc / progress_fence::signal", "idle/ck_ec", signal, at_least=4)
    line("exchange / progress_fence::signal", "idle/raw.exchange", signal)
    line("store, barrier, load / progress_fence::signal", "idle/raw.store_barrier_load", signal)
    line("std::atomic / progress_fence::signal", "idle/std_atomic", signal)
    line("  a stranger waits / progress_fence::signal", "idle/std_atomic/unrelated_waiter", signal)
    line("condition variable / progress_fence::signal", "idle/condition_variable", signal)
    line("futex wake / progress_fence::signal", "idle/futex", signal)
    line("fence::signal / fetch_add", any_signal, "idle/raw.fetch_add", at_most=2)
    line("  compare-exchange maximum / fetch_add", "idle/raw.compare_exchange_maximum", "idle/raw.fetch_add")
    line("fence::signal_next / fetch_add", "idle/fence.signal_next", "idle/raw.fetch_add", at_most=2)


def print_hot(results):
    heading("The same loop while waiters sleep, none of them due (least time of each round)")
    comparison_head("1,000", "1,000 waiters beside none")
    for row, name, limit in (
        ("progress_fence.signal", "progress_fence::signal", 1.1),
        ("progress_fence.signal_next", "progress_fence::signal_next", None),
        ("fence.signal", "fence::signal", None),
        ("raw.release_store", "release store", None),
    ):
        compare(results, name, f"hot/{row}/1000", f"hot/{row}/0", "min_ns", at_most=limit)
    counts = (*WAITERS, 5000)
    for count in counts[2:]:
        compare(results, f"progress_fence::signal, {count:,} waiters", f"hot/progress_fence.signal/{count}",
                "hot/progress_fence.signal/0", "min_ns", at_most=1.1)
    print()
    print(f"{'waiters':<28}" + "".join(f"{count:>11}" for count in counts))
    for row in ("progress_fence.signal", "progress_fence.signal_next", "fence.signal", "raw.release_store"):
        cells = [nice(results.typical(f"hot/{row}/{count}", "min_ns")) for count in counts]
        print(f"{row:<28}" + "".join(f"{cell:>11}" for cell in cells))


def print_paced(results):
    heading("One signal at a time, none due, all asleep again before each (medians, clock reading included)")
    print(f"{'waiters':<32}" + "".join(f"{count:>11}" for count in WAITERS))
    subjects = ("nothing", "raw.release_store", "progress_fence", "fence", "std_atomic", "condition_variable", "ck_ec")
    for row in subjects:
        cells = [nice(results.typical(f"paced/{row}/{count}", "median_ns")) for count in WAITERS]
        print(f"{row:<32}" + "".join(f"{cell:>11}" for cell in cells))
    for ours in ("progress_fence", "fence"):
        for peer in ("std_atomic", "condition_variable", "ck_ec"):
            pairs = [
                [results.typical(f"paced/{subject}/{n}", "median_ns") for subject in (peer, ours)] for n in WAITERS
            ]
            cells = [times(pair[0] / pair[1]) if all(pair) else "-" for pair in pairs]
            name = f"{peer.replace('_', ' ')} / {ours}"
            print(f"{name:<36}{cells[0]:>7}" + "".join(f"{cell:>11}" for cell in cells[1:]))


def print_due(results):
    heading("One waiter is due, on another core (medians of the signaller's call)")
    print(f"{'waiters':<28}{'1':>11}{'1000':>11}")
    for row in ("futex", "progress_fence", "fence", "std_atomic", "condition_variable", "ck_ec"):
        cells = [nice(results.typical(f"due/{row}/{count}", "median_ns")) for count in (1, 1000)]
        print(f"{row:<28}" + "".join(f"{cell:>11}" for cell in cells))
    comparison_head("1,000", "one due of 1,000 beside one due of one")
    for subject in ("progress_fence", "fence"):
        compare(results, subject, f"due/{subject}/1000", f"due/{subject}/1", "median_ns", at_most=1.5)
    compare(results, "futex, each on a word of its own", "due/futex/1000", "due/futex/1", "median_ns")
    for subject in ("progress_fence", "fence"):
        compare(results, f"{subject} / futex, 1,000", f"due/{subject}/1000", "due/futex/1000", "median_ns")


def print_surroundings(results):
    heading("The same signal in company (least time of each round; polled: medians)")
    columns = ("payload/{}/64", "payload/{}/256", "payload/{}/1024", "polled/{}")
    print(f"{'':<28}{'64 B':>11}{'256 B':>11}{'1 KiB':>11}{'polled':>11}   behind a payload; while a core polls")
    for row in (
        "nothing",
        "raw.release_store",
        "progress_fence",
        "progress_fence.one_line",
        "ck_ec",
        "raw.exchange",
        "fence",
        "std_atomic",
        "raw.store_barrier_load",
    ):
        counters = ("min_ns", "min_ns", "min_ns", "median_ns")
        cells = [nice(results.typical(column.format(row), counter)) for column, counter in zip(columns, counters)]
        print(f"{row:<28}" + "".join(f"{cell:>11}" for cell in cells))

    def behind_payloads(above, below):
        for size in (64, 256, 1024):
            compare(results, f"behind {size} bytes", f"payload/{above}/{size}", f"payload/{below}/{size}", "min_ns")

    comparison_head("both", "progress_fence::signal / release store")
    behind_payloads("progress_fence", "raw.release_store")
    compare(results, "polled", "polled/progress_fence", "polled/raw.release_store", "median_ns")
    comparison_head("both", "progress_fence::signal_next / its signal")
    behind_payloads("progress_fence.signal_next", "progress_fence")


def print_waiters_side(results):
    heading("What the waiter pays (medians)")
    counts = (0, 15, 63, 1000)
    print(f"{'add and withdraw, others':<28}" + "".join(f"{count:>11}" for count in counts))
    for row in ("heap_16", "heap_64", "heap_1024", "locked_set"):
        cells = [nice(results.typical(f"register/{row}/{count}", "median_ns")) for count in counts]
        print(f"{row:<28}" + "".join(f"{cell:>11}" for cell in cells))
    for row, name in (
        ("barrier/full", "store and full barrier"),
        ("barrier/heavy/alone", "heavy barrier, alone"),
        ("barrier/heavy/beside_a_running_thread", "heavy barrier, one running"),
    ):
        print(f"{name:<28}{nice(results.typical(row, 'median_ns')):>11}")
    rows = [name for name in results.rows if name.startswith("short_wait/")]
    for name in sorted(rows, key=lambda name: results.typical(name, "median_ns")):
        print(f"{'5 us: ' + name.split('/')[1]:<28}{nice(results.typical(name, 'median_ns')):>11}")


def subjects_of(results, group):
    return sorted({name.split("/")[1] for name in results.rows if name.startswith(f"{group}/")})


def print_ping_pong(results):
    heading("Ping-pong, a round trip: p50, p99, p99.9 (medians of the rounds)")
    places = {
        "two_cores": "a core for each",
        "work_3000": "the same, 3,000 multiplications before each hand-over",
        "work_20000": "the same, 20,000 multiplications",
        "one_core": "both on one core",
        "crowded": "as many pairs as cores",
    }
    for place, text in places.items():
        print(f"{text}")
        for subject in subjects_of(results, "ping_pong"):
            row = f"ping_pong/{subject}/{place}"
            cells = [nice(results.typical(row, counter)) for counter in ("p50_ns", "p99_ns", "p999_ns")]
            if row in results.rows:
                print(f"  {subject:<44}" + "".join(f"{cell:>11}" for cell in cells))
    comparison_head("tidemark", "as it comes, beside the best spin")
    for subject in ("fence", "progress_fence"):
        for place in ("two_cores", "work_3000", "work_20000"):
            for counter, at_most in (("p50_ns", 1.3), ("p99_ns", 2)):
                text = f"{subject}, {place}, {counter[:3]}"
                rows = [f"ping_pong/{subject}.{form}/{place}" for form in ("default", "spinning")]
                compare(results, text, *rows, counter, at_most=at_most)
    comparison_head("tidemark", "as it comes, beside no spin at all")
    for subject in ("fence", "progress_fence"):
        for place in ("one_core", "crowded"):
            rows = [f"ping_pong/{subject}.{form}/{place}" for form in ("default", "parked")]
            compare(results, f"{subject}, {place}", *rows, "p50_ns", at_most=1.05)
    comparison_head("tidemark", "no spin at all, beside the bare futex")
    for place in ("one_core", "two_cores"):
        for subject in ("fence.parked", "progress_fence.parked"):
            text = f"{subject}, {place.replace('_', ' ')}"
            compare(results, text, f"ping_pong/{subject}/{place}", f"ping_pong/futex/{place}", "p50_ns")


def print_waits(results):
    heading("A waiter for each k-th value: nanoseconds for a signal with what the signaller does before it (medians)")
    subjects = ("progress_fence", "progress_fence.symmetric", "condition_variable")
    for load in ("work_20", "work_200", "payload"):
        print(f"{load + ', k =':<34}" + "".join(f"{subject:>26}" for subject in subjects))
        for each_kth in (1, 8, 64, 512, 4096, 1000000):
            rows = [f"signals_per_wait/{subject}/{load}.{each_kth}" for subject in subjects]
            cells = [nice(results.typical(row, "median_ns")) for row in rows]
            print(f"{each_kth:<34,}" + "".join(f"{cell:>26}" for cell in cells))
    comparison_head("tidemark", "beside the better one of the two platforms")
    for load in ("work_20", "work_200", "payload"):
        for each_kth in (1, 8, 64, 512, 4096, 1000000):
            rows = [f"signals_per_wait/{subject}/{load}.{each_kth}" for subject in subjects[:2]]
            known = [row for row in rows if results.typical(row, "median_ns") is not None]
            if known:
                best = min(known, key=lambda row: results.typical(row, "median_ns"))
                compare(results, f"{load}, a wait for {each_kth:,} signals", rows[0], best, "median_ns", at_most=1.1)
    print("share of its time that a waiter is busy, in waits of a millisecond")
    for subject in subjects_of(results, "long_waits"):
        busy = results.typical(f"long_waits/{subject}/1ms", "busy_percent")
        print(f"  {subject:<44}{busy:>10.2f} %")


def print_crowd(results):
    heading("One signal that releases all (medians)")
    comparison_head("tidemark", "the signaller is back, beside as many bare wakes")
    for subject in ("progress_fence", "fence"):
        for count, limit in ((16, 1.1), (1000, 0.15)):
            rows = [f"release_all/{name}/{count}" for name in (subject, "bare_wakes")]
            compare(results, f"{subject}, {count:,} waiters", *rows, "back_ns", at_most=limit)
    comparison_head("tidemark", "all of them run, beside as many bare wakes")
    for subject in ("progress_fence", "fence"):
        for count in (16, 1000):
            rows = [f"release_all/{name}/{count}" for name in (subject, "bare_wakes")]
            compare(results, f"{subject}, {count:,} waiters", *rows, "all_ns", at_most=1.2)
    heading("One wait for many timelines: to register, wake and withdraw (medians)")
    comparison_head("peer", "condition variable with 16 others / tidemark")
    for which, what in (("any", "any, one is signalled"), ("all", "all, one after the other")):
        for count in (1, 64, 65, 1000):
            rows = [f"list/{name}/{which}/{count}" for name in ("condition_variable", "progress_fence")]
            compare(results, f"{what}, {count:,}", *rows, "median_ns", at_least=5)


def compare_with_limit(results, what, row, counter, limit, shown=nice):
    """One line: a value, its range, and the most that it may be. `shown` writes one; they are times as a rule."""
    rounds = results.rounds(row, counter)
    if not rounds:
        print(f"{what:<46} not measured")
        return
    value = results.typical(row, counter)
    verdict = "PASS" if value <= limit else "OVER TARGET"
    print(f"{what:<46} {shown(value):>9}  {shown(min(rounds))}..{shown(max(rounds))}  <= {shown(limit)}  {verdict}")


def print_loop(results):
    heading("Waits without a thread: callables and coroutines on a loop")
    comparison_head("10,000", "a signal, 10,000 callables asleep beside none")
    for subject in ("progress_fence", "fence"):
        rows = [f"beside/{subject}/{count}" for count in (10000, 0)]
        compare(results, f"{subject}::signal", *rows, "min_ns", at_most=1.05)
    compare_with_limit(results, "one of 10,000 due callables, in order", "callables/in_order/10000", "median_ns", 100)
    compare_with_limit(results, "  registered in random order", "callables/random/10000", "median_ns", 100)
    compare_with_limit(results, "one of 10,000 operations of senders", "operations/10000", "median_ns", 100)
    compare_with_limit(results, "a signal with its callable in the signaller", "callables/signaller/10000", "median_ns",
                       250)
    compare_with_limit(results, "a signal with its coroutine in the signaller", "resume/signaller/10000", "median_ns",
                       250)
    compare_with_limit(results, "a turn between two coroutines", "hand_over/progress_fence/2", "median_ns", 50)
    compare_with_limit(results, "  with fence", "hand_over/fence/2", "median_ns", 50)
    comparison_head("coroutine", "a signal that resumes one of 10,000")
    compare(results, "coroutine / parked thread", "resume/coroutines/10000", "resume/thread/10000", "median_ns",
            at_most=0.2)
    comparison_head("futex", "a signal that wakes a loop in an io_uring, beside a poll of its descriptor")
    compare(results, "the signaller's call", "uring/futex/wake", "uring/poll/wake", "back_ns")
    compare(results, "until the callable runs", "uring/futex/wake", "uring/poll/wake", "runs_ns")
    compare(results, "all of it on one thread", "uring/futex/turn", "uring/poll/turn", "median_ns")


def print_engine(results):
    heading("Queues of an engine: a signal of one queue for which another one waits")
    compare_with_limit(results, "between queues of one thread, without logs", "engine/hand_over/bare", "median_ns", 100)
    compare_with_limit(results, "  with logs, tsc_log_clock", "engine/hand_over/logs.tsc", "median_ns", 100)
    compare_with_limit(results, "  with logs, the default clock", "engine/hand_over/logs", "median_ns", 200)
    comparison_head("queues", "one hand-over, beside half a round trip of two threads")
    ratio = results.typical("engine/hand_over/bare", "median_ns")
    parked = results.typical("engine/between/parked", "median_ns")
    if ratio and parked:
        verdict = "PASS" if ratio / (parked / 2) <= 0.02 else "OVER TARGET"
        print(f"{'that sleep':<46} {nice(ratio):>9} {nice(parked / 2):>9} {times(ratio / (parked / 2)):>7}"
              f"                   <= 0.02x {verdict}")
    compare(results, "between two engines, a round trip; spinning", "engine/between/engines",
            "engine/between/spinning", "median_ns", at_most=1.3)
    for threads in (2, 3):
        compare(results, f"a link of a chain with 20 us of work, {threads} threads; 1", f"engine/chain/{threads}/20",
                "engine/chain/1/20", "median_ns")
    compare_with_limit(results, "10,000 queues that wait: the thread is busy", "engine/idle/10000", "busy_percent", 1,
                       lambda percent: f"{percent:.2g} %")
    compare_with_limit(results, "a queue without logs", "engine/idle/10000", "bytes", 1024,
                       lambda bytes_of_one: f"{bytes_of_one:.0f} bytes")


def print_domain(results):
    heading("A signal of a fence of several domains, for which nobody waits")
    for what, row in (("fence", "fence"), ("fence of a native and a legacy domain", "legacy")):
        count = results.typical(f"domain/idle/{row}", "notified")
        cell = "not measured" if count is None else f"{count:>9.0f}"
        print(f"{'notifications of 1,000 signals, ' + what:<70} {cell}")
    comparison_head("domains", "a signal, beside one of a fence")
    rows = (("in one domain only", "alone"), ("and in a native one", "native"), ("and in a legacy one", "legacy"))
    for what, row in rows:
        compare(results, what, f"domain/idle/{row}", "domain/idle/fence", "median_ns")


def print_lockstep(results):
    heading("1,000 threads, 1,000 values, one by one (whole rounds, medians)")
    comparison_head("total", "beside 1,000 bare futex wakes")
    for where in ("apart", "free"):
        for subject in ("progress_fence", "fence"):
            row = f"lockstep/{subject}/{where}"
            compare(results, f"{subject}, {where}", row, f"lockstep/futex_row/{where}", "median_ns", at_most=1.25)
    for where in ("apart", "free"):
        for peer in ("std_atomic", "condition_variable", "ck_ec"):
            pair = (f"lockstep/{name}/{where}" for name in (peer, "progress_fence"))
            herd, ours = (results.typical(row, "median_ns") for row in pair)
            if herd and ours:
                print(f"{peer + ', ' + where:<46} {nice(herd):>9} {nice(ours):>9} {times(herd / ours):>7}"
                      "  beside progress_fence")
    for subject in ("progress_fence", "fence"):
        rows = (f"lockstep/{subject}.counted/{where}" for where in ("apart", "free"))
        unparks = [count for row in rows for count in results.rounds(row, "unparks")]
        if unparks:
            verdict = "PASS" if all(abs(count - 1000) <= 10 for count in unparks) else "OFF TARGET"
            print(f"{subject}: unparks of sleeping threads in a round {min(unparks):.0f} to {max(unparks):.0f}"
                  f" (1,000 within 1%)  {verdict}")
    for name in sorted(name for name in results.rows if name.startswith("lockstep/")):
        print(f"  {name:<38} {results.typical(name, 'switches'):>9.0f} voluntary context switches")


def print_overflow(results):
    heading("More waiters than slots: 64 threads one by one (whole rounds, medians)")
    comparison_head("8 slots", "beside capacity 64")
    for subject in ("progress_fence", "fence"):
        for kind, what in (("capacity_8", "a heap that grows"), ("fixed_8", "56 share the overflow lane")):
            wide, narrow = (f"overflow/{subject}.{each}/apart" for each in ("capacity_64", kind))
            compare(results, f"{subject}, {what}", narrow, wide, "median_ns")
            counted = (row.replace("/apart", ".counted/apart") for row in (wide, narrow))
            wide, narrow = (results.typical(row, "returns") for row in counted)
            if narrow is not None:
                print(f"  wake-ups in a round: {narrow:.0f} instead of {wide:.0f}")
    heading("Sizes in bytes")
    for key, value in results.context.items():
        if key.startswith("sizeof "):
            print(f"{key.removeprefix('sizeof '):<34}{value:>11}")


def print_append(results):
    heading("An append of 48 bytes to one of 84 slots (least time of each round)")
    comparison_head()
    line = lambda *args, **kwargs: compare(results, *args, "min_ns", **kwargs)
    copy, ours = "append/plain_array", "append/ring_log."
    line("ring_log, header only / copy", ours + "header_only", copy, at_most=2.5)
    line("ring_log, stamped / copy", ours + "stamped", copy, at_most=2.5)
    line("ring_log, many producers / copy", ours + "many_producers", copy)
    line("Boost spsc_queue, push and pop / copy", "append/boost_spsc_queue", copy)
    line("seqlock for each entry / copy", "append/seqlock_array", copy)
    line("mutex and array / copy", "append/locked_array", copy)
    line("stamped, with rdtsc / without", ours + "stamped.tsc", ours + "stamped")
    line("stamped, with steady_clock / without", ours + "stamped.steady", ours + "stamped")
    floor = results.typical(copy, "min_ns")
    if floor is not None:
        # Three stores of 16 bytes and one of the position; processors do two in a cycle.
        verdict = "PASS" if floor >= 2 * results.cycle else "the compiler may have spared a part of it"
        print(f"{'the copy takes at least two cycles':<46} {nice(floor):>9} {nice(2 * results.cycle):>9}  {verdict}")
    comparison_head("in company", "another core reads all the time (medians)")
    for row in ("ring_log.header_only", "ring_log.stamped", "ring_log.many_producers", "seqlock_array", "locked_array"):
        compare(results, row, f"append_read/{row}", f"append/{row}", "median_ns")
    comparison_head("in company", "another core appends, too (medians)")
    for row in ("ring_log.many_producers", "locked_array"):
        compare(results, row, f"append_two/{row}", f"append/{row}", "median_ns")


def print_memory(results):
    heading("256 bytes given to an executor, and back (least time of each round; our fence's signal included)")
    comparison_head()
    line = lambda *args, **kwargs: compare(results, *args, "min_ns", **kwargs)
    one, several = "lend/rename_ring.one", "lend/rename_ring.several"
    line("malloc, free / rename ring, one mapper", "lend/malloc", one, at_least=2.5)
    line("rename ring, several mappers / malloc, free", several, "lend/malloc", at_most=1.5)
    line("boost::pool / rename ring, one mapper", "lend/boost_pool", one)
    line("rename ring, one mapper / next of a buffer", one, "lend/bump")
    comparison_head("", "a frame of 8 blocks")
    line("malloc, free / upload ring", "frame/malloc", "frame/upload_ring", at_least=6)
    line("the same, bytes written", "frame_written/malloc", "frame_written/upload_ring", at_least=2.4)
    line("boost::pool / upload ring", "frame/boost_pool", "frame/upload_ring", at_least=1.4)
    line("the same, bytes written", "frame_written/boost_pool", "frame_written/upload_ring")
    line("upload ring / next of a buffer", "frame/upload_ring", "frame/bump")
    line("upload ring, each block retired / the frame", "frame/upload_ring.each", "frame/upload_ring")
    line("upload ring, several writers / malloc, free", "frame/upload_ring.several", "frame/malloc")
    comparison_head("in company", "another core does the same (medians)")
    compare(results, "rename ring, several mappers", "lend_two/rename_ring.several", several, "median_ns")
    compare(results, "malloc, free", "lend_two/malloc", "lend/malloc", "median_ns")
    keys = ("waited_ms", "processor_ms", "parks")
    waited, used, parks = (results.typical("blocked/rename_ring", key) for key in keys)
    if waited is not None:
        verdict = "PASS" if used < 2 and parks >= 1 else "OVER TARGET"
        slept = f"took {used:.2f} ms of its processor and slept {parks:.0f} time(s)"
        print(f"\na map that waited {waited:.0f} ms {slept}: {verdict}")
    heading("An object retired, and disposed of 16 at a time (medians)")
    comparison_head()
    rows = ("retire/locked_deque", "retire/retire_queue")
    compare(results, "mutex and deque / retire_queue, one thread", *rows, "median_ns")
    compare(results, "the same, two threads", "retire_two/locked_deque", "retire_two/retire_queue", "median_ns")
    heading("Pages of a window of 65,536 mapped and unmapped (medians)")
    comparison_head()
    for pages in ("one_page", "eight_pages"):
        rows = (f"aperture/{pages}.{window}" for window in ("nearly_full", "nearly_empty"))
        compare(results, f"window nearly full / nearly empty, {pages.replace('_', ' ')}", *rows, "median_ns", at_most=2)
    comparison_head("in company", "another core does the same")
    for window in ("nearly_empty", "nearly_full"):
        rows = (f"{group}/one_page.{window}" for group in ("aperture_two", "aperture"))
        compare(results, f"one page, window {window.replace('_', ' ')}", *rows, "median_ns")


def print_coherency(results):
    counts = (16, 1024, 128000)
    heading("Coherency: an access that makes or joins two runs, one line in random order (medians)")
    comparison_head()
    for count in counts:
        rows = (f"access/{subject}/{count}" for subject in ("map", "coherency_tracker"))
        compare(results, f"map / coherency_tracker, {count:,} runs", *rows, "median_ns")
    longest = results.typical(f"access/coherency_tracker/{counts[-1]}", "median_ns")
    if longest is not None:
        verdict = "PASS" if longest < 1000 else "OVER TARGET"
        print(f"an access among {counts[-1]:,} runs takes less than a microsecond: {nice(longest)}, {verdict}")


def print_split_table(results):
    counts = (16, 256, 4096, 65536)
    heading("Split tables: an entry is applied (medians; for each number of slots)")
    comparison_head()
    for count in counts:
        ours = f"apply/split_table/{count}"
        for peer, name in (("unordered_map", "mutex and unordered_map"), ("map", "mutex and map")):
            compare(results, f"{name} / split_table, {count:,}", f"apply/{peer}/{count}", ours, "median_ns", at_least=5)
    print(f"\n{'slots':<46}" + "".join(f"{count:>11,}" for count in counts))
    for title, row, counter, shown in (
        ("an entry, nobody reads", "apply/split_table", "median_ns", nice),
        ("a snapshot every 1,000 entries, beside none", "apply_read/split_table", "ratio", times),
        ("  snapshots in a work item", "apply_read/split_table", "snapshots", "{:.0f}".format),
        ("an entry, while one reads all the time", "apply_beside/split_table", "median_ns", nice),
        ("  snapshots in a work item", "apply_beside/split_table", "snapshots", "{:.0f}".format),
        ("a row of a snapshot of all, split_table", "snapshot/split_table", "median_ns", nice),
        ("  mutex and unordered_map", "snapshot/unordered_map", "median_ns", nice),
        ("  mutex and map", "snapshot/map", "median_ns", nice),
        ("an entry, planned by the splitter", "plan/splitter", "median_ns", nice),
        ("  parts", "plan/splitter", "parts", "{:.0f}".format),
    ):
        found = [results.typical(f"{row}/{count}", counter) for count in counts]
        print(f"{title:<46}" + "".join(f"{'-' if value is None else shown(value):>11}" for value in found))
    slowest = max((results.typical(f"apply_read/split_table/{count}", "ratio") or 0 for count in counts), default=0)
    if slowest:
        verdict = "PASS" if slowest <= 1.2 else "OVER TARGET"
        print(f"a reader every 1,000 entries slows the writer by at most 1.2x: {verdict}")


def print_storage(results):
    counts = (16, 256, 4096, 65536)
    heading("Blocks of contexts: an object's block is found (medians; for each number of objects)")
    comparison_head()
    for count in counts:
        for peer, name, target in (
            ("unordered_map", "unordered_map / storage", 5),
            ("unordered_map.pointer", "  by address", None),
        ):
            compare(results, f"{name}, {count:,}", f"look_up/{peer}/{count}", f"look_up/storage/{count}", "median_ns",
                    at_least=target)
    for count in counts:
        compare(results, f"shared_mutex / storage, two threads, {count:,}", f"look_up_two/shared_mutex/{count}",
                f"look_up_two/storage/{count}", "median_ns", at_least=10)
    compare(results, "two write: in one line / in two lines", "write_two/unpadded/2", "write_two/padded/2", "median_ns",
            at_least=1)
    compare(results, "two write: in one line / in their blocks", "write_two/unpadded/2", "write_two/storage/2",
            "median_ns", at_least=1)
    print(f"\n{'objects':<46}" + "".join(f"{count:>11,}" for count in counts))
    for title, row, counter, shown in (
        ("a block is found", "look_up/storage", "median_ns", nice),
        ("  while another thread does the same", "look_up_two/storage", "median_ns", nice),
        ("the first use of an object", "first_use/storage", "median_ns", nice),
        ("bytes of an object for each deferred context", "memory/storage", "bytes", "{:.0f}".format),
        ("  of which its block", "memory/storage", "block", "{:.0f}".format),
        ("  for the immediate one", "memory/storage", "immediate_bytes", "{:.0f}".format),
    ):
        found = [results.typical(f"{row}/{count}", counter) for count in counts]
        print(f"{title:<46}" + "".join(f"{'-' if value is None else shown(value):>11}" for value in found))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path, help="folder that the benchmarks were built in")
    parser.add_argument("--quick", action="store_true", help="about a minute instead of several; wider ranges")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the raw results there, as JSON")
    options = parser.parse_args()
    executables = find_executables(options.build)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        results, probes = run_everything(Runner(executables, folder), options.quick)
    print_machine(results, probes)
    print(f"duration  {time.monotonic() - began:.0f} s")
    for section in (print_idle, print_hot, print_paced, print_due, print_surroundings, print_waiters_side,
                    print_ping_pong, print_waits, print_crowd, print_loop, print_engine, print_domain, print_lockstep,
                    print_overflow, print_append, print_memory, print_coherency, print_split_table, print_storage):
        section(results)


if __name__ == "__main__":
    main()
