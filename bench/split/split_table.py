# SPDX-License-Identifier: BSL-1.0
"""Entries of split tables, applied, planned and read, beside a mutex and a map"""

from report_page import nice, times, verdict_of, whole

SLOTS = (16, 256, 4096, 65536)


def split_table(page):
    page.heading("Split tables: an entry is applied (medians; for each number of slots)")
    page.head()
    for count in SLOTS:
        for peer, name in (("unordered_map", "mutex and unordered_map"), ("map", "mutex and map")):
            page.compare(f"{name} / split_table, {count:,}", f"apply/{peer}/{count}", f"apply/split_table/{count}",
                         at_least=5)
    for count in SLOTS:
        page.compare(f"mutex and map of uses / split_table, {count:,}", f"apply/uses/{count}",
                     f"apply/split_table/{count}")
        page.compare(f"  need_of / the same map, {count:,}", f"need/split_table/{count}", f"need/uses/{count}")
    page.line()
    page.cells("slots", [f"{count:,}" for count in SLOTS], title_width=46)
    for title, row, counter, shown in (
        ("an entry, nobody reads", "apply/split_table", "median_ns", nice),
        ("a snapshot every 1,000 entries, beside none", "apply_read/split_table", "ratio", times),
        ("  snapshots in a work item", "apply_read/split_table", "snapshots", whole),
        ("an entry, while one reads all the time", "apply_beside/split_table", "median_ns", nice),
        ("  snapshots in a work item", "apply_beside/split_table", "snapshots", whole),
        ("a row of a snapshot of all, split_table", "snapshot/split_table", "median_ns", nice),
        ("  mutex and unordered_map", "snapshot/unordered_map", "median_ns", nice),
        ("  mutex and map", "snapshot/map", "median_ns", nice),
        ("whether a part of 64 offsets needs something", "need/split_table", "median_ns", nice),
        ("  mutex and map of uses", "need/uses", "median_ns", nice),
        ("an entry, planned by the splitter", "plan/splitter", "median_ns", nice),
        ("  parts", "plan/splitter", "parts", whole),
    ):
        page.cells(title, [shown(page.typical(f"{row}/{count}", counter)) for count in SLOTS], title_width=46)
    slowest = max(page.typical(f"apply_read/split_table/{count}", "ratio") or 0 for count in SLOTS)
    if slowest:
        page.line(f"a reader every 1,000 entries slows the writer by at most 1.2x: {verdict_of(slowest <= 1.2)}")


SECTIONS = (("(apply|snapshot|need|plan)(_[a-z]+)?", 3, 9, (split_table,)),)
