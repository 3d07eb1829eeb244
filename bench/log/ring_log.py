# SPDX-License-Identifier: BSL-1.0
"""An append to a log, beside a copy, a queue, a seqlock and a mutex"""

from report_page import nice, verdict_of


def append(page):
    page.heading("An append of 48 bytes to one of 84 slots (least time of each round)")
    page.head()
    copy, ours = "append/plain_array", "append/ring_log."
    for what, above, below, at_most in (
        ("ring_log, header only / copy", ours + "header_only", copy, 2.5),
        ("ring_log, stamped / copy", ours + "stamped", copy, 2.5),
        ("ring_log, many producers / copy", ours + "many_producers", copy, None),
        ("Boost spsc_queue, push and pop / copy", "append/boost_spsc_queue", copy, None),
        ("seqlock for each entry / copy", "append/seqlock_array", copy, None),
        ("mutex and array / copy", "append/locked_array", copy, None),
        ("stamped, with rdtsc / without", ours + "stamped.tsc", ours + "stamped", None),
        ("stamped, with steady_clock / without", ours + "stamped.steady", ours + "stamped", None),
    ):
        page.compare(what, above, below, "min_ns", at_most=at_most)
    floor = page.typical(copy, "min_ns")
    if floor is not None and page.cycle is not None:
        # Three stores of 16 bytes and one of the position; processors do two in a cycle.
        verdict = verdict_of(floor >= 2 * page.cycle, "the compiler may have spared a part of it")
        page.line(f"{'the copy takes at least two cycles':<46} {nice(floor):>9} {nice(2 * page.cycle):>9}  {verdict}")


def company(page):
    page.head("in company", "another core reads all the time (medians)")
    for row in ("ring_log.header_only", "ring_log.stamped", "ring_log.many_producers", "seqlock_array", "locked_array"):
        page.compare(row, f"append_read/{row}", f"append/{row}")
    page.head("in company", "another core appends, too (medians)")
    for row in ("ring_log.many_producers", "locked_array"):
        page.compare(row, f"append_two/{row}", f"append/{row}")


SECTIONS = (("append(_[a-z]+)?", 4, 15, (append, company)),)
