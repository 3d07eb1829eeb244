# SPDX-License-Identifier: BSL-1.0
"""Rename rings, upload rings, retired objects, and pages of a window"""

from report_page import verdict_of


def lend(page):
    page.heading("256 bytes given to an executor, and back (least time of each round; our fence's signal included)")
    line = lambda *args, **kwargs: page.compare(*args, "min_ns", **kwargs)
    one, several = "lend/rename_ring.one", "lend/rename_ring.several"
    page.head()
    line("malloc, free / rename ring, one mapper", "lend/malloc", one, at_least=2.5)
    line("rename ring, several mappers / malloc, free", several, "lend/malloc", at_most=1.5)
    line("boost::pool / rename ring, one mapper", "lend/boost_pool", one)
    line("rename ring, one mapper / next of a buffer", one, "lend/bump")
    page.head("", "a frame of 8 blocks")
    line("malloc, free / upload ring", "frame/malloc", "frame/upload_ring", at_least=6)
    line("the same, bytes written", "frame_written/malloc", "frame_written/upload_ring", at_least=2.4)
    line("boost::pool / upload ring", "frame/boost_pool", "frame/upload_ring", at_least=1.4)
    line("the same, bytes written", "frame_written/boost_pool", "frame_written/upload_ring")
    line("upload ring / next of a buffer", "frame/upload_ring", "frame/bump")
    line("upload ring, each block retired / the frame", "frame/upload_ring.each", "frame/upload_ring")
    line("upload ring, several writers / malloc, free", "frame/upload_ring.several", "frame/malloc")
    line("growing upload ring / upload ring", "frame/growing_upload_ring", "frame/upload_ring")
    line("the same, several writers", "frame/growing_upload_ring.several", "frame/upload_ring.several")
    page.head("", "the current block is mapped")
    for mappers in ("one", "several"):
        who = {"one": "one mapper", "several": "several mappers"}[mappers]
        for mode in ("read", "no_overwrite"):
            row = f"map/rename_ring.{mappers}.{mode}"
            line(f"{mode} / discard, {who}", row, f"lend/rename_ring.{mappers}")
            line(f"  mutex and count / {mode}", f"map/locked_block.{mode}", row)
    page.head("in company", "another core does the same (medians)")
    page.compare("rename ring, several mappers", "lend_two/rename_ring.several", several)
    page.compare("malloc, free", "lend_two/malloc", "lend/malloc")


def blocked(page):
    keys = ("waited_ms", "processor_ms", "parks")
    waited, used, parks = (page.typical("blocked/rename_ring", key) for key in keys)
    if waited is not None:
        slept = f"took {used:.2f} ms of its processor and slept {parks:.0f} time(s)"
        page.line(f"\na map that waited {waited:.0f} ms {slept}: {verdict_of(used < 2 and parks >= 1)}")


def retire(page):
    page.heading("An object retired, and disposed of 16 at a time (medians)")
    page.head()
    page.compare("mutex and deque / retire_queue, one thread", "retire/locked_deque", "retire/retire_queue")
    page.compare("the same, two threads", "retire_two/locked_deque", "retire_two/retire_queue")


def aperture(page):
    page.heading("Pages of a window of 65,536 mapped and unmapped (medians)")
    page.head()
    for pages in ("one_page", "eight_pages"):
        rows = (f"aperture/{pages}.{window}" for window in ("nearly_full", "nearly_empty"))
        page.compare(f"window nearly full / nearly empty, {pages.replace('_', ' ')}", *rows, at_most=2)
    page.head("in company", "another core does the same")
    for window in ("nearly_empty", "nearly_full"):
        rows = (f"{group}/one_page.{window}" for group in ("aperture_two", "aperture"))
        page.compare(f"one page, window {window.replace('_', ' ')}", *rows)


SECTIONS = (("(lend|map|frame|retire|blocked|aperture)(_[a-z]+)?", 4, 15, (lend, blocked, retire, aperture)),)
