# SPDX-License-Identifier: BSL-1.0
"""1,000 threads wait for 1,000 values, signalled one by one; more waiters than slots"""

from report_page import nice, times, verdict_of, whole


def lockstep(page):
    page.heading("1,000 threads, 1,000 values, one by one (whole rounds, medians)")
    page.head("total", "beside 1,000 bare futex wakes")
    for where in ("apart", "free"):
        for subject in ("progress_fence", "fence"):
            row = f"lockstep/{subject}/{where}"
            page.compare(f"{subject}, {where}", row, f"lockstep/futex_row/{where}", at_most=1.25)
    for where in ("apart", "free"):
        for peer in ("std_atomic", "condition_variable", "ck_ec"):
            rows = [f"lockstep/{name}/{where}" for name in (peer, "progress_fence")]
            herd, ours = (page.typical(row, "median_ns") for row in rows)
            if herd and ours:
                page.line(f"{peer + ', ' + where:<46} {nice(herd):>9} {nice(ours):>9} {times(herd / ours):>7}"
                          "  beside progress_fence")
    counts(page)


def counts(page):
    """How many wake-ups there were, and how many context switches."""
    for subject in ("progress_fence", "fence"):
        rows = (f"lockstep/{subject}.counted/{where}" for where in ("apart", "free"))
        unparks = [count for row in rows for count in page.rounds(row, "unparks")]
        if unparks:
            verdict = verdict_of(all(abs(count - 1000) <= 10 for count in unparks), "OFF TARGET")
            page.line(f"{subject}: unparks of sleeping threads in a round {min(unparks):.0f} to {max(unparks):.0f}"
                      f" (1,000 within 1%)  {verdict}")
    for name in sorted(name for name in page.results.rows if name.startswith("lockstep/")):
        page.line(f"  {name:<38} {page.typical(name, 'switches'):>9.0f} voluntary context switches")


def overflow(page):
    page.heading("More waiters than slots: 64 threads one by one (whole rounds, medians)")
    page.head("8 slots", "beside capacity 64")
    for subject in ("progress_fence", "fence"):
        for kind, what in (("capacity_8", "a heap that grows"), ("fixed_8", "56 share the overflow lane")):
            wide, narrow = (f"overflow/{subject}.{each}" for each in ("capacity_64", kind))
            page.compare(f"{subject}, {what}", f"{narrow}/apart", f"{wide}/apart")
            wide, narrow = (page.typical(f"{row}.counted/apart", "returns") for row in (wide, narrow))
            if narrow is not None:
                page.line(f"  wake-ups in a round: {whole(narrow)} instead of {whole(wide)}")


def sizes(page):
    page.heading("Sizes in bytes")
    for key, value in page.results.context.items():
        if key.startswith("sizeof "):
            page.cells(key.removeprefix("sizeof "), [value], title_width=34)


SECTIONS = (
    (r"lockstep/(futex_row|(progress_)?fence(\.counted)?)/(apart|free)|overflow/.*/apart", 5, 15, ()),
    ("lockstep/(std_atomic|condition_variable|ck_ec)/apart", 0, 1, ()),
    ("lockstep/(std_atomic|condition_variable|ck_ec)/free", 1, 3, (lockstep, overflow, sizes)),
)
