# SPDX-License-Identifier: BSL-1.0
"""A signal that a queue executes, with logs off, on and stamped, beside a bare fence's"""


def signals(page):
    page.heading("A signal of a queue (least time of each round)")
    for group, title in (("signal", "nobody waits"), ("signal_waited", "one sleeps, and is not due")):
        page.head("", title)
        for what, above, below, at_most in (
            ("queue without logs / fence", "queue.off", "fence", 1.05),
            ("queue with logs / fence", "queue.on", "fence", None),
            ("queue with logs / fence and log by hand", "queue.on", "fence_and_log", 1.25),
            ("fence and locked array / queue with logs", "fence_and_locked_array", "queue.on", None),
            ("queue, rdtsc / fence and log by hand", "queue.tsc", "fence_and_log.tsc", 1.25),
            ("queue, steady_clock / fence and log by hand", "queue.steady", "fence_and_log.steady", 1.25),
            ("queue, rdtsc / without a clock", "queue.tsc", "queue.on", None),
            ("queue, steady_clock / without a clock", "queue.steady", "queue.on", None),
        ):
            page.compare(what, f"{group}/{above}", f"{group}/{below}", "min_ns", at_most=at_most)
    page.head("", "one sleeps, and is due each time (medians)")
    for row, name in (("queue.off", "without logs"), ("queue.on", "with logs"), ("queue.steady", "steady_clock")):
        page.compare(f"queue, {name} / fence", f"signal_due/{row}", "signal_due/fence")


SECTIONS = (("signal(_[a-z]+)?", 3, 9, (signals,)),)
