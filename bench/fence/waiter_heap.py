# SPDX-License-Identifier: BSL-1.0
"""What a waiter pays: to register, for a barrier, for a wait that times out; a pass that releases"""


def waiters_side(page):
    page.heading("What the waiter pays (medians)")
    counts = (0, 15, 63, 1000)
    page.cells("add and withdraw, others", counts)
    for row in ("heap_16", "heap_64", "heap_1024", "locked_set"):
        page.times_of(row, [f"register/{row}/{count}" for count in counts])
    for row, name in (
        ("barrier/full", "store and full barrier"),
        ("barrier/heavy/alone", "heavy barrier, alone"),
        ("barrier/heavy/beside_a_running_thread", "heavy barrier, one running"),
    ):
        page.times_of(name, [row])
    rows = [f"short_wait/{subject}" for subject in page.subjects_of("short_wait")]
    for row in sorted(rows, key=lambda row: page.typical(row, "median_ns")):
        page.times_of("5 us: " + row.split("/")[1], [row])


def releases(page):
    page.heading("A pass releases some of the waiters, without the wakes (medians)")
    page.head()
    for count in (64, 1000):
        for due in (1, 4, 16, 64):
            page.compare(f"mutex and map / heap, {due} of {count:,}", f"release/locked_map/{count}.{due}",
                         f"release/heap/{count}.{due}")
    page.times_of("reading the clock, in each", ["release/nothing/0"])


SECTIONS = (("[a-z_]+", 2, 5, (waiters_side, releases)),)
