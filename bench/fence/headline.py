# SPDX-License-Identifier: BSL-1.0
"""This machine in five lines: a signal, a hand-over and 1,000 sleepers, beside peers"""

from report_page import nice, times

PEERS = ("ck_ec", "std_atomic", "condition_variable")


def print_line(page, what, row, floor, least, counters=("median_ns",)):
    """Prints what tidemark takes, beside the floor: here, and as it can be had on this processor; then the peers.

    `row` names tidemark's row and those of the peers, with {} for the subject. `floor` is something that costs less, in
    words and as a row. The row `least` does only what tidemark can't do without.
    """
    ours = row.format("progress_fence")
    if page.typical(ours, counters[0]) is None:
        return page.line(f"{what:<31} not measured")
    values = ", ".join(nice(page.typical(ours, counter)) for counter in counters)
    here = page.results.ratio(ours, floor[1], counters[0])
    best = page.results.ratio(least, floor[1], counters[0])
    beside = f"{floor[0]}: here {times(here)}, can be had {times(best)}"
    peers = (
        ", ".join(times(page.results.ratio(row.format(peer), ours, counter)) for counter in counters) for peer in PEERS
    )
    page.line(f"{what:<31} {values:<17} {beside:<42}" + "".join(f"{peer:>14}" for peer in peers))


def signal(page):
    page.heading("This machine in five lines")
    peers = "".join(f"{name:>14}" for name in ("ck_ec", "std::atomic", "condvar"))
    page.line(f"{'':<31} {'tidemark':<17} {'beside what costs less':<42}{peers}")
    floor = ("a store", "idle/release_store")
    print_line(page, "signal, nobody due", "idle/{}", floor, "idle/store_load_and_branch", ("min_ns",))


def asleep(page):
    floor = ("a store", "paced/release_store/1000")
    print_line(page, "signal, 1,000 asleep, none due", "paced/{}/1000", floor, "paced/store_load_and_branch/1000")


def one_due(page):
    wake = "due/futex/1000"
    print_line(page, "signal, one due of 1,000", "due/{}/1000", ("a bare wake", wake), wake)


def hand_over(page):
    row, words, least, best = "ping_pong/{}/two_cores", "bare words", "spinning_word", "progress_fence.spinning"
    if row.format(least) not in page.results.rows:  # there is one core
        row, words, least, best = "ping_pong/{}/one_core", "a bare futex", "futex", "futex"
    floor = (words, row.format(least))
    print_line(page, "a turn there and back, p50, p99", row, floor, row.format(best), ("p50_ns", "p99_ns"))


def one_by_one(page):
    row = "lockstep/{}/free"
    wakes = row.format("futex")
    print_line(page, "1,000 signals for 1,000 asleep", row, ("bare wakes", wakes), wakes)
    page.line("The last columns: how many times longer the peers take. What a line compares was measured in turn.")
    page.line("The second and third lines include the reading of a clock, with cold caches. The first is a bare loop.")


SECTIONS = (
    ("idle", 5, 15, (signal,)),
    ("paced", 3, 7, (asleep,)),
    ("due", 3, 7, (one_due,)),
    ("ping_pong", 3, 7, (hand_over,)),
    ("lockstep", 2, 5, (one_by_one,)),
)
