# SPDX-License-Identifier: BSL-1.0
"""How an object's block is found in a context, beside maps"""

from report_page import nice, whole

OBJECTS = (16, 256, 4096, 65536)


def storage(page):
    page.heading("Blocks of contexts: an object's block is found (medians; for each number of objects)")
    page.head()
    for count in OBJECTS:
        ours = f"look_up/storage/{count}"
        page.compare(f"unordered_map / storage, {count:,}", f"look_up/unordered_map/{count}", ours, at_least=5)
        page.compare(f"  by address, {count:,}", f"look_up/unordered_map.pointer/{count}", ours)
    for count in OBJECTS:
        page.compare(f"shared_mutex / storage, two threads, {count:,}", f"look_up_two/shared_mutex/{count}",
                     f"look_up_two/storage/{count}", at_least=10)
    one_line = "write_two/unpadded/2"
    page.compare("two write: in one line / in two lines", one_line, "write_two/padded/2", at_least=1)
    page.compare("two write: in one line / in their blocks", one_line, "write_two/storage/2", at_least=1)
    page.line()
    page.cells("objects", [f"{count:,}" for count in OBJECTS], title_width=46)
    for title, row, counter, shown in (
        ("a block is found", "look_up/storage", "median_ns", nice),
        ("  while another thread does the same", "look_up_two/storage", "median_ns", nice),
        ("the first use of an object", "first_use/storage", "median_ns", nice),
        ("bytes of an object for each deferred context", "memory/storage", "bytes", whole),
        ("  of which its block", "memory/storage", "block", whole),
        ("  for the immediate one", "memory/storage", "immediate_bytes", whole),
    ):
        page.cells(title, [shown(page.typical(f"{row}/{count}", counter)) for count in OBJECTS], title_width=46)


SECTIONS = (("(look_up|write|first_use|memory)(_[a-z]+)?", 3, 9, (storage,)),)
