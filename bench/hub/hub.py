# SPDX-License-Identifier: BSL-1.0
"""A signal served by a hub, in each of its ways; entries of a log were lost"""

from report_page import nice

FENCES = (16, 256, 4096)


def serve(page):
    page.heading("One signal that a hub serves, without the wakes (medians)")
    page.head()
    for count in FENCES:
        for how, name in (("by_fence", "by fence"), ("by_queue", "by queue, values"), ("log", "by the log alone"),
                          ("by_scan", "by scan")):
            page.compare(f"hub, {name} / queue alone, {count:,}", f"serve/{how}/{count}", f"serve/queue/{count}")
        page.compare(f"mutex and map / hub, by fence, {count:,}", f"serve/locked_map/{count}",
                     f"serve/by_fence/{count}")
    page.line()
    page.cells("fences", [f"{count:,}" for count in FENCES], title_width=46)
    for how, name in (
        ("fence", "a fence alone, without a log"),
        ("queue", "a queue alone, stamped"),
        ("by_fence", "hub, by fence"),
        ("by_queue", "hub, by queue, values read"),
        ("log", "hub, by the log alone"),
        ("by_scan", "hub, by scan"),
        ("locked_map", "mutex and map of callables, without a log"),
    ):
        page.times_of(name, [f"serve/{how}/{count}" for count in FENCES], title_width=46)


def overruns(page):
    page.heading("Entries of a log were lost: all fences are looked at (medians)")
    page.head()
    for count in FENCES:
        page.compare(f"hub / fence after fence, {count:,}", f"overrun/hub/{count}", f"overrun/fences/{count}")
        page.compare(f"hub / mutex and map, {count:,}", f"overrun/hub/{count}", f"overrun/locked_map/{count}")
    # In proportion to the fences it would be 16 times; 4,096 do not fit into the caches that 256 fit into.
    page.compare("hub, 4,096 / 256 fences", "overrun/hub/4096", "overrun/hub/256", at_most=32)
    page.line()
    page.cells("for each fence", [f"{count:,}" for count in FENCES], title_width=46)
    for subject, name in (("hub", "hub"), ("fences", "fence after fence"), ("locked_map", "mutex and map")):
        times = [(page.typical(f"overrun/{subject}/{count}", "median_ns"), count) for count in FENCES]
        page.cells(name, [nice(each / count if each else None) for each, count in times], title_width=46)


SECTIONS = (("(serve|overrun)", 3, 9, (serve, overruns)),)
