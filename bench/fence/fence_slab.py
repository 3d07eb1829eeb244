# SPDX-License-Identifier: BSL-1.0
"""Fences of a slab: taken and released beside a free list, signalled beside a fence; memory"""


def slab(page):
    page.heading("A slab of fences (medians)")
    page.head()
    for kind in ("fence_slab", "progress_fence_slab"):
        page.compare(f"{kind}: acquire, release / pop, push", f"slab/{kind}/take", "slab/free_list/take", at_most=2)
    for kind in ("fence", "progress_fence"):
        page.compare(f"{kind}, pinned / its own", f"slab/{kind}_slab/pinned", f"slab/{kind}/signal")
        page.compare(f"{kind}, by handle / its own", f"slab/{kind}_slab/signal", f"slab/{kind}/signal")
    for counter, name in (("bytes", "a packed fence"), ("room_bytes", "a room"), ("fence_bytes", "a progress_fence")):
        for bytes_of in page.rounds("slab/memory", counter)[:1]:
            page.line(f"{name:<46} {bytes_of:>9.1f} bytes")


SECTIONS = (("slab", 1, 5, (slab,)),)
