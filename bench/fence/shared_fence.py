# SPDX-License-Identifier: BSL-1.0
"""Fences that processes share: signals, ten processes asleep, turns between two, beside what is used today"""

from report_page import nice

KINDS = ("progress_fence", "progress_fence.symmetric", "fence")
PLACES = {"two_cores": "a core for each", "one_core": "both on one core"}


def signals(page):
    page.heading("A signal of a shared fence that nobody waits for (least time of each round)")
    page.head("shared", "beside a fence of one process")
    for kind in KINDS:
        rows = [f"shared_signal/{kind}/register", f"shared_signal/{kind}.of_one/reloaded"]
        page.compare(f"{kind}, in registers", *rows, "min_ns", at_most=1.05)
    for kind in KINDS:
        rows = [f"shared_signal/{kind}/reloaded", f"shared_signal/{kind}.of_one/reloaded"]
        form = kind.removeprefix("progress_fence")
        least = None if kind == "fence" else f"shared_signal/words_by_address{form}/reloaded"
        limit = 1.2 if kind == "progress_fence" else 1.05
        page.compare(f"{kind}, its address read each time", *rows, "min_ns", at_most=limit, least=least)
    page.head("1,000", "1,000 asleep in ten processes, none due, beside none")
    for kind in KINDS:
        page.compare(kind, f"shared_hot/{kind}/1000", f"shared_hot/{kind}/0", "min_ns", at_most=1.1)


def watchers(page):
    page.heading("Ten processes with 100 sleepers each, which somebody watches: share of one processor, for all")
    for kind in ("progress_fence", "fence"):
        page.limit(kind, f"watch/{kind}/1000", "busy_percent", 1, shown=lambda value: f"{value:.2f} %")


def deaths(page):
    page.heading("A signaller is killed: time until it is gone for who asks, and until a sleeper has found the loss")
    page.cells("its memory", ("who asks", "a sleeper"))
    for size in ("1", "256", "1024", "4096"):
        for row, text in (("death", ""), ("death.guarded", ", both have guards")):
            times = [nice(page.typical(f"{row}/{size}", counter)) for counter in ("gone_ns", "lost_ns")]
            page.cells(f"{size} MiB{text}", times)


def turns(page):
    page.heading("A turn to another process and back: p50, p99, p99.9 (medians of the rounds)")
    for place, text in PLACES.items():
        page.line(text)
        for subject in page.subjects_of("between"):
            row = f"between/{subject}/{place}"
            if row in page.results.rows:
                cells = [nice(page.typical(row, counter)) for counter in ("p50_ns", "p99_ns", "p999_ns")]
                page.cells(f"  {subject}", cells, title_width=46)
    page.head("processes", "as it comes, beside two threads with a fence of theirs")
    for place in PLACES:
        for kind in KINDS:
            rows = [f"between/{kind}.default{what}/{place}" for what in ("", ".threads")]
            page.compare(f"{kind}, {place.replace('_', ' ')}", *rows, "p50_ns", at_most=1.3)
    page.head("shared", "no spin at all, beside a bare futex that processes share")
    for place in PLACES:
        for kind, limit in (("fence", 1.15), ("progress_fence.symmetric", 1.15), ("progress_fence", 1.4)):
            rows = [f"between/{subject}/{place}" for subject in (f"{kind}.parked", "futex")]
            page.compare(f"{kind}.parked, {place.replace('_', ' ')}", *rows, "p50_ns", at_most=limit)
    page.head("shared", "beside a futex whose sleeps end after 50 ms at most")
    for form in ("default", "parked"):
        for kind in ("fence", "progress_fence.symmetric"):
            rows = [f"between/{subject}/one_core" for subject in (f"{kind}.{form}", "futex.with_limit")]
            page.compare(f"{kind}.{form}, one core", *rows, "p50_ns", at_most=1.15)
    page.head("shared", "no spin at all, beside a futex with a barrier of all processes before each sleep")
    for place in PLACES:
        rows = [f"between/{subject}/{place}" for subject in ("progress_fence.parked", "futex.with_barrier")]
        page.compare(f"progress_fence.parked, {place.replace('_', ' ')}", *rows, "p50_ns", at_most=1.15)


SECTIONS = (
    ("shared_signal|shared_hot", 4, 15, (signals,)),
    ("watch", 2, 5, (watchers,)),
    ("death|death[.]guarded", 2, 9, (deaths,)),
    ("between", 3, 9, (turns,)),
)
