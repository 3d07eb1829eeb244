# SPDX-License-Identifier: BSL-1.0
"""Two threads hand a turn back and forth, with and without work, on one core and on two"""

from report_page import nice

PLACES = {
    "two_cores": "a core for each",
    "work_3000": "the same, 3,000 multiplications before each hand-over",
    "work_20000": "the same, 20,000 multiplications",
    "one_core": "both on one core",
    "crowded": "as many pairs as cores",
}


def compare(page, what, subject, above, below, place, counter="p50_ns", **target):
    page.compare(what, f"ping_pong/{subject}{above}/{place}", f"ping_pong/{below}/{place}", counter, **target)


def ping_pong(page):
    page.heading("Ping-pong, a round trip: p50, p99, p99.9 (medians of the rounds)")
    for place, text in PLACES.items():
        page.line(text)
        for subject in page.subjects_of("ping_pong"):
            row = f"ping_pong/{subject}/{place}"
            if row in page.results.rows:
                cells = [nice(page.typical(row, counter)) for counter in ("p50_ns", "p99_ns", "p999_ns")]
                page.cells(f"  {subject}", cells, title_width=46)
    page.head("tidemark", "as it comes, beside the best spin")
    for subject in ("fence", "progress_fence"):
        for place in ("two_cores", "work_3000", "work_20000"):
            for counter, at_most in (("p50_ns", 1.3), ("p99_ns", 2)):
                text = f"{subject}, {place}, {counter[:3]}"
                compare(page, text, subject, ".default", subject + ".spinning", place, counter, at_most=at_most)
    page.head("tidemark", "as it comes, beside no spin at all")
    for subject in ("fence", "progress_fence"):
        for place in ("one_core", "crowded"):
            compare(page, f"{subject}, {place}", subject, ".default", subject + ".parked", place, at_most=1.05)
    page.head("tidemark", "no spin at all, beside the bare futex")
    for place in ("one_core", "two_cores"):
        for subject in ("fence", "progress_fence"):
            compare(page, f"{subject}.parked, {place.replace('_', ' ')}", subject, ".parked", "futex", place)


SECTIONS = (("ping_pong", 2, 7, (ping_pong,)),)
