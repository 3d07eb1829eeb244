# SPDX-License-Identifier: BSL-1.0
"""A waiter for each k-th value, and the processor time of long waits"""

SUBJECTS = ("progress_fence", "progress_fence.symmetric", "condition_variable")
LOADS = ("work_20", "work_200", "payload")
EACH_KTH = (1, 8, 64, 512, 4096, 1000000)


def waits(page):
    page.heading("A waiter for each k-th value: a signal, with what the signaller does before it (medians)")
    for load in LOADS:
        page.cells(f"{load}, k =", SUBJECTS, width=26, title_width=34)
        for each_kth in EACH_KTH:
            rows = [f"signals_per_wait/{subject}/{load}.{each_kth}" for subject in SUBJECTS]
            page.times_of(f"{each_kth:,}", rows, width=26, title_width=34)
    page.head("tidemark", "beside the better one of the two platforms")
    for load in LOADS:
        for each_kth in EACH_KTH:
            rows = [f"signals_per_wait/{subject}/{load}.{each_kth}" for subject in SUBJECTS[:2]]
            known = [row for row in rows if page.typical(row, "median_ns") is not None]
            best = min(known, key=lambda row: page.typical(row, "median_ns"), default=rows[0])
            page.compare(f"{load}, a wait for {each_kth:,} signals", rows[0], best, at_most=1.1)
    page.line("share of its time that a waiter is busy, in waits of a millisecond")
    for subject in page.subjects_of("long_waits"):
        busy = page.typical(f"long_waits/{subject}/1ms", "busy_percent")
        page.line(f"  {subject:<44}{busy:>10.2f} %")


SECTIONS = (("[a-z_]+", 2, 5, (waits,)),)
