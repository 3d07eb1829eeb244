# SPDX-License-Identifier: BSL-1.0
"""What a waiter pays: to register, for a barrier, for a wait that times out"""


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


SECTIONS = (("[a-z_]+", 2, 5, (waiters_side,)),)
