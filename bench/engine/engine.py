# SPDX-License-Identifier: BSL-1.0
"""Queues of an engine: hand-overs, chains, and 10,000 queues that wait"""

from report_page import nice, times, verdict_of


def percent(value):
    return f"{value:.2g} %"


def size(value):
    return f"{value:.0f} bytes"


def beside_sleeping_threads(page):
    bare, parked = (page.typical(row, "median_ns") for row in ("engine/hand_over/bare", "engine/between/parked"))
    if bare and parked:
        ratio = bare / (parked / 2)
        page.line(f"{'that sleep':<46} {nice(bare):>9} {nice(parked / 2):>9} {times(ratio):>7}"
                  f"                   <= 0.02x {verdict_of(ratio <= 0.02)}")


def engine(page):
    page.heading("Queues of an engine: a signal of one queue for which another one waits")
    page.limit("between queues of one thread, without logs", "engine/hand_over/bare", "median_ns", 100)
    page.limit("  with logs, tsc_log_clock", "engine/hand_over/logs.tsc", "median_ns", 100)
    page.limit("  with logs, the default clock", "engine/hand_over/logs", "median_ns", 200)
    page.head("queues", "one hand-over, beside half a round trip of two threads")
    beside_sleeping_threads(page)
    page.compare("between two engines, a round trip; spinning", "engine/between/engines", "engine/between/spinning",
                 at_most=1.3)
    for threads in (2, 3):
        page.compare(f"a link of a chain with 20 us of work, {threads} threads; 1", f"engine/chain/{threads}/20",
                     "engine/chain/1/20")
    page.head("unbroken runs of 8 commands", "engine-wide, beside those of one thread")
    for threads, others in (("1", ""), ("3", ""), ("1", ".busy"), ("3", ".busy")):
        page.compare(f"{threads} thread{'s' if threads != '1' else ''}{', others are busy' if others else ''}",
                     f"engine/run/engine/{threads}{others}", f"engine/run/thread/{threads}{others}")
    page.limit("10,000 queues that wait: the thread is busy", "engine/idle/10000", "busy_percent", 1, percent)
    page.limit("a queue without logs", "engine/idle/10000", "bytes", 1024, size)


SECTIONS = (("[a-z_]+", 2, 5, (engine,)),)
