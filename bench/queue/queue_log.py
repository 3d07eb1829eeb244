# SPDX-License-Identifier: BSL-1.0
"""Entries of a queue's log are read, beside a deque under a mutex"""

BUFFERS = (1, 16, 256)


def reads(page):
    page.heading("Entries of 48 bytes are read, and pass from one thread to another (medians)")
    page.head()
    for group, what in (("read", "read"), ("pass", "two threads")):
        for buffer in BUFFERS:
            page.compare(f"mutex, deque / log, {what}, {buffer} each", f"{group}/locked_deque/{buffer}",
                         f"{group}/queue_log/{buffer}")
    page.line()
    page.cells("millions of entries per second, at a time", BUFFERS, title_width=46)
    for group, what in (("read", "read"), ("pass", "two threads")):
        for subject, name in (("queue_log", "log"), ("locked_deque", "mutex and deque")):
            times = [page.typical(f"{group}/{subject}/{buffer}", "median_ns") for buffer in BUFFERS]
            page.cells(f"{what}, {name}", [f"{1e3 / each:.3g}" if each else "-" for each in times], title_width=46)


SECTIONS = (("(read|pass)", 3, 9, (reads,)),)
