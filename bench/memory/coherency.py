# SPDX-License-Identifier: BSL-1.0
"""An access that makes or joins two runs of a coherency tracker, beside a map"""

from report_page import nice, verdict_of

RUNS = (16, 1024, 128000)


def coherency(page):
    page.heading("Coherency: an access that makes or joins two runs, one line in random order (medians)")
    page.head()
    for count in RUNS:
        rows = (f"access/{subject}/{count}" for subject in ("map", "coherency_tracker"))
        page.compare(f"map / coherency_tracker, {count:,} runs", *rows)
    longest = page.typical(f"access/coherency_tracker/{RUNS[-1]}", "median_ns")
    if longest is not None:
        verdict = verdict_of(longest < 1000)
        page.line(f"an access among {RUNS[-1]:,} runs takes less than a microsecond: {nice(longest)}, {verdict}")


SECTIONS = (("access", 3, 9, (coherency,)),)
