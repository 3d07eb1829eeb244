# SPDX-License-Identifier: BSL-1.0
"""A signal of a fence of several domains, for which nobody waits"""

from report_page import whole


def domain(page):
    page.heading("A signal of a fence of several domains, for which nobody waits")
    for what, row in (("fence", "fence"), ("fence of a native and a legacy domain", "legacy")):
        count = whole(page.typical(f"domain/idle/{row}", "notified"))
        page.line(f"{'notifications of 1,000 signals, ' + what:<70} {count:>9}")
    page.head("domains", "a signal, beside one of a fence")
    rows = (("in one domain only", "alone"), ("and in a native one", "native"), ("and in a legacy one", "legacy"))
    for what, row in rows:
        page.compare(what, f"domain/idle/{row}", "domain/idle/fence")


SECTIONS = (("[a-z_]+", 2, 5, (domain,)),)
