# SPDX-License-Identifier: BSL-1.0
"""One signal that releases up to 1,000 threads; one thread that waits for up to 1,000 timelines"""


def release_all(page):
    page.heading("One signal that releases all (medians)")
    for what, field, limit in (("the signaller is back", "back_ns", 1.3), ("all of them run", "all_ns", 1.3)):
        page.head("tidemark", f"{what}, beside notify_all()")
        for subject in ("progress_fence", "fence"):
            for count in (2, 4, 8, 16, 64, 1000):
                rows = [f"release_all/{name}/{count}" for name in (subject, "condition_variable")]
                page.compare(f"{subject}, {count:,} waiters", *rows, field, at_most=limit)
    page.head("tidemark", "the signaller is back, beside as many bare wakes")
    for subject in ("progress_fence", "fence"):
        for count, limit in ((16, 1.1), (1000, 0.15)):
            rows = [f"release_all/{name}/{count}" for name in (subject, "bare_wakes")]
            page.compare(f"{subject}, {count:,} waiters", *rows, "back_ns", at_most=limit)
    page.head("tidemark", "all of them run, beside as many bare wakes")
    for subject in ("progress_fence", "fence"):
        for count in (16, 1000):
            rows = [f"release_all/{name}/{count}" for name in (subject, "bare_wakes")]
            page.compare(f"{subject}, {count:,} waiters", *rows, "all_ns", at_most=1.2)


def lists(page):
    page.heading("One wait for many timelines: to register, wake and withdraw (medians)")
    page.head("peer", "condition variable with 16 others / tidemark")
    for which, what in (("any", "any, one is signalled"), ("all", "all, one after the other")):
        for count in (1, 64, 65, 1000):
            rows = [f"list/{name}/{which}/{count}" for name in ("condition_variable", "progress_fence")]
            page.compare(f"{what}, {count:,}", *rows, at_least=5)


SECTIONS = (("[a-z_]+", 2, 5, (release_all, lists)),)
