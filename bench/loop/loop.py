# SPDX-License-Identifier: BSL-1.0
"""Waits without a thread: callables and coroutines on a loop, a loop in an io_uring"""


def loop(page):
    page.heading("Waits without a thread: callables and coroutines on a loop")
    page.head("10,000", "a signal, 10,000 callables asleep beside none")
    for subject in ("progress_fence", "fence"):
        rows = [f"beside/{subject}/{count}" for count in (10000, 0)]
        page.compare(f"{subject}::signal", *rows, "min_ns", at_most=1.05)
    for what, row, limit in (
        ("one of 10,000 due callables, in order", "callables/in_order/10000", 100),
        ("  registered in random order", "callables/random/10000", 100),
        ("one of 10,000 operations of senders", "operations/10000", 100),
        ("a signal with its callable in the signaller", "callables/signaller/10000", 250),
        ("a signal with its coroutine in the signaller", "resume/signaller/10000", 250),
        ("a turn between two coroutines", "hand_over/progress_fence/2", 50),
        ("  with fence", "hand_over/fence/2", 50),
    ):
        page.limit(what, row, "median_ns", limit)
    page.head("coroutine", "a signal that resumes one of 10,000")
    page.compare("coroutine / parked thread", "resume/coroutines/10000", "resume/thread/10000", at_most=0.2)


def uring(page):
    page.head("futex", "a signal that wakes a loop in an io_uring, beside a poll of its descriptor")
    page.compare("the signaller's call", "uring/futex/wake", "uring/poll/wake", "back_ns")
    page.compare("until the callable runs", "uring/futex/wake", "uring/poll/wake", "runs_ns")
    page.compare("all of it on one thread", "uring/futex/turn", "uring/poll/turn")


SECTIONS = (("[a-z_]+", 3, 9, (loop, uring)),)
