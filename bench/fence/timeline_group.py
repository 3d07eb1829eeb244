# SPDX-License-Identifier: BSL-1.0
"""The least of several timelines: a group that they join and leave, beside a fixed one and one by hand"""

SUBJECTS = ("timeline_group", "least_of", "by_hand")
MEMBERS = (1, 2, 8)
PLACES = {"round": "a core for each thread", "round_one_core": "both threads on one core"}


def table(page, group, counter, title="members beside the base"):
    page.cells(title, MEMBERS)
    for subject in SUBJECTS:
        page.times_of(subject, [f"{group}/{subject}/{count}" for count in MEMBERS], counter)


def beside_the_others(page, group, counter):
    for other, text in (("least_of", "least_of, which is fixed"), ("by_hand", "an array under a mutex")):
        page.head("group", f"the group beside {text}")
        for count in MEMBERS:
            what = f"{count} member" + ("s" if count > 1 else "")
            page.compare(what, f"{group}/timeline_group/{count}", f"{group}/{other}/{count}", counter)


def look(page):
    page.heading("A look at the least of several timelines (least time of each round)")
    table(page, "look", "min_ns")
    beside_the_others(page, "look", "min_ns")


def change(page):
    page.heading("One more timeline comes and leaves, while nobody looks (least time of each round)")
    page.cells("members beside the base", MEMBERS)
    for subject in ("timeline_group", "by_hand"):
        page.times_of(subject, [f"change/{subject}/{count}" for count in MEMBERS], "min_ns")


def rounds(page):
    page.heading("Each member is signalled, a thread that waits for all of them answers (medians)")
    for place, text in PLACES.items():
        page.line(text)
        for counter in ("p50", "p99"):
            table(page, place, f"{counter}_ns", f"{counter}; members")
        beside_the_others(page, place, "p50_ns")


SECTIONS = (
    ("look|change", 3, 9, (look, change)),
    ("round|round_one_core", 2, 7, (rounds,)),
)
