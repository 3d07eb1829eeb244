# SPDX-License-Identifier: BSL-1.0
"""A signal while nobody waits, while many wait, and with one who is due; behind a payload"""

from report_page import nice, times

WAITERS = (0, 1, 16, 17, 64, 1000)  # and 5,000 where no signal wakes them


def idle(page):
    page.heading("A signal that nobody waits for (least time of each round)")
    on_clang = page.results.context.get("compiler", "").startswith("clang")
    signal, any_signal, store = "idle/progress_fence.signal", "idle/fence.signal", "idle/raw.release_store"
    maximum = "idle/raw.compare_exchange_maximum"
    page.head()
    line = lambda *args, **kwargs: page.compare(*args, "min_ns", **kwargs)
    line("progress_fence::signal / release store", signal, store, at_most=1.4 if on_clang else 1.1,
         least="idle/raw.store_load_and_branch")
    line("  store and load / release store", "idle/raw.store_and_load", store)
    line("  store and branch / release store", "idle/raw.store_and_branch", store)
    line("  store, load and branch / release store", "idle/raw.store_load_and_branch", store)
    line("  in one line / release store", signal + "/one_line", store)
    line("  joins its signallers / progress_fence::signal", signal + "/joins_signallers", signal)
    line("progress_fence::signal_next / its signal", "idle/progress_fence.signal_next", signal)
    line("  load, add, store / release store", "idle/raw.load_add_store", store)
    line("ck_ec64_inc / progress_fence::signal", "idle/ck_ec", signal, at_least=4)
    line("exchange / progress_fence::signal", "idle/raw.exchange", signal)
    line("store, barrier, load / progress_fence::signal", "idle/raw.store_barrier_load", signal)
    line("std::atomic / progress_fence::signal", "idle/std_atomic", signal)
    line("  a stranger waits / progress_fence::signal", "idle/std_atomic/unrelated_waiter", signal)
    line("condition variable / progress_fence::signal", "idle/condition_variable", signal)
    line("futex wake / progress_fence::signal", "idle/futex", signal)
    line("fence::signal / fetch_add", any_signal, "idle/raw.fetch_add", at_most=2, least=maximum)
    line("  joins its signallers / fence::signal", any_signal + "/joins_signallers", any_signal)
    line("  compare-exchange maximum / fetch_add", maximum, "idle/raw.fetch_add")
    line("fence::signal_next / fetch_add", "idle/fence.signal_next", "idle/raw.fetch_add", at_most=2)


def hot(page):
    page.heading("The same loop while waiters sleep, none of them due (least time of each round)")
    page.head("1,000", "1,000 waiters beside none")
    for row, name, limit in (
        ("progress_fence.signal", "progress_fence::signal", 1.1),
        ("progress_fence.signal_next", "progress_fence::signal_next", None),
        ("fence.signal", "fence::signal", None),
        ("raw.release_store", "release store", None),
    ):
        page.compare(name, f"hot/{row}/1000", f"hot/{row}/0", "min_ns", at_most=limit)
    counts = (*WAITERS, 5000)
    for count in counts[2:]:
        page.compare(f"progress_fence::signal, {count:,} waiters", f"hot/progress_fence.signal/{count}",
                     "hot/progress_fence.signal/0", "min_ns", at_most=1.1)
    page.line()
    page.cells("waiters", counts)
    for row in ("progress_fence.signal", "progress_fence.signal_next", "fence.signal", "raw.release_store"):
        page.times_of(row, [f"hot/{row}/{count}" for count in counts], "min_ns")


def paced(page):
    page.heading("One signal at a time, none due, all asleep again before each (medians, clock reading included)")
    page.cells("waiters", WAITERS)
    subjects = ("nothing", "raw.release_store", "progress_fence", "fence", "std_atomic", "condition_variable", "ck_ec")
    for row in subjects:
        page.times_of(row, [f"paced/{row}/{count}" for count in WAITERS])
    for ours in ("progress_fence", "fence"):
        for peer in ("std_atomic", "condition_variable", "ck_ec"):
            pairs = [(f"paced/{peer}/{count}", f"paced/{ours}/{count}") for count in WAITERS]
            ratios = [times(page.results.ratio(*pair, "median_ns")) for pair in pairs]
            page.cells(f"{peer.replace('_', ' ')} / {ours}", ratios, title_width=36)


def due(page):
    page.heading("One waiter is due, on another core (medians of the signaller's call)")
    page.cells("waiters", (1, 1000))
    for row in ("futex", "progress_fence", "fence", "std_atomic", "condition_variable", "ck_ec"):
        page.times_of(row, [f"due/{row}/{count}" for count in (1, 1000)])
    page.head("1,000", "one due of 1,000 beside one due of one")
    for subject in ("progress_fence", "fence"):
        page.compare(subject, f"due/{subject}/1000", f"due/{subject}/1", at_most=1.5)
    page.compare("futex, each on a word of its own", "due/futex/1000", "due/futex/1")
    for subject in ("progress_fence", "fence"):
        page.compare(f"{subject} / futex, 1,000", f"due/{subject}/1000", "due/futex/1000")


def surroundings(page):
    page.heading("The same signal in company (least time of each round; polled: medians)")
    sizes = (64, 256, 1024)
    page.cells("behind so many bytes, polled", ("64", "256", "1,024", "polled"))
    for row in ("nothing", "raw.release_store", "progress_fence", "progress_fence.one_line", "ck_ec", "raw.exchange",
                "fence", "std_atomic", "raw.store_barrier_load"):
        cells = [nice(page.typical(f"payload/{row}/{size}", "min_ns")) for size in sizes]
        page.cells(row, [*cells, nice(page.typical(f"polled/{row}", "median_ns"))])

    def behind_payloads(above, below):
        for size in sizes:
            page.compare(f"behind {size} bytes", f"payload/{above}/{size}", f"payload/{below}/{size}", "min_ns")

    page.head("both", "progress_fence::signal / release store")
    behind_payloads("progress_fence", "raw.release_store")
    page.compare("polled", "polled/progress_fence", "polled/raw.release_store")
    page.head("both", "progress_fence::signal_next / its signal")
    behind_payloads("progress_fence.signal_next", "progress_fence")


SECTIONS = (
    ("idle|hot|payload|polled", 4, 15, (idle, hot, surroundings)),
    ("paced|due", 2, 5, (paced, due)),
)
