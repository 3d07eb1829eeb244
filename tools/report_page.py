# SPDX-License-Identifier: BSL-1.0
"""What the text beside each benchmark is written with: results of rounds, and lines that compare them.

A row is what one benchmark of a program measures, "group/subject/variant". It is measured in several rounds, and each
round gives it some counters, such as `min_ns` and `median_ns`.
"""

import statistics

# What a row that is compared is called on the left, in columns.
WIDTH = 46


class Results:
    """Rounds of all rows: name -> list of counters, one entry for each round."""

    def __init__(self):
        self.rows = {}
        self.context = {}
        self.notes = []

    def add(self, data):
        self.context.update(data["context"])
        for row in data["benchmarks"]:
            if row.get("run_type") != "iteration":
                continue
            name = row["run_name"].split("/iterations:")[0].split("/manual_time")[0]
            if row.get("error_occurred"):
                self.note(f"{name}: {row.get('error_message', 'failed')}")
            else:
                self.rows.setdefault(name, []).append(row)

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def rounds(self, name, counter):
        return [row[counter] for row in self.rows.get(name, []) if counter in row]

    def typical(self, name, counter):
        values = self.rounds(name, counter)
        return statistics.median(values) if values else None

    def ratio(self, above, below, counter):
        """Of the medians. None where one of them was not measured."""
        values = [self.typical(name, counter) for name in (above, below)]
        return values[0] / values[1] if all(values) else None


# ---- numbers as text -------------------------------------------------------------------------------------------------


def nice(nanoseconds):
    if nanoseconds is None:
        return "-"
    for limit, unit, scale in ((1e3, "ns", 1), (1e6, "us", 1e3), (1e9, "ms", 1e6)):
        if nanoseconds < limit:
            value = nanoseconds / scale
            digits = f"{value:.3f}" if value < 1 else f"{value:.3g}" if value < 100 else f"{value:.0f}"
            return f"{digits} {unit}"
    return f"{nanoseconds / 1e9:.3g} s"


def times(ratio):
    if ratio is None:
        return "-"
    return f"{ratio:.2f}x" if ratio < 10 else f"{ratio:,.0f}x"


def whole(value):
    return "-" if value is None else f"{value:.0f}"


def verdict_of(is_met, otherwise="OVER TARGET"):
    return "PASS" if is_met else otherwise


# ---- lines -----------------------------------------------------------------------------------------------------------


class Page:
    """What a benchmark's text gets: its results, and ways to print them."""

    def __init__(self, results, cycle=None):
        self.results = results
        self.cycle = cycle  # nanoseconds of one dependent addition, at best
        self.typical = results.typical
        self.rounds = results.rounds

    def line(self, text=""):
        print(text.rstrip())

    def heading(self, text):
        self.line(f"\n{text}\n{'-' * len(text)}")

    def head(self, first="", text=""):
        """The head of the lines that compare() prints."""
        self.line(f"{text:<{WIDTH}} {first:>9} {'beside':>9} {'ratio':>7}  {'rounds':<16} {'target':<8}")

    def compare(self, what, above, below, counter="median_ns", at_most=None, at_least=None, least=None):
        """Prints a line: what `above` and `below` take, their ratio, its range over the rounds, the target.

        The row `least` does only what `above` can't do without. So no better ratio can be had on this processor than
        that of `least` to `below`. Where that is more than 1, the target counts from there.
        """
        each = [a / b for a, b in zip(self.rounds(above, counter), self.rounds(below, counter)) if b > 0]
        ratio = self.results.ratio(above, below, counter)
        if not each or ratio is None:
            return self.line(f"{what:<{WIDTH}} not measured")
        doubt = "?" if max(each) > 3 * min(each) else ""
        target = verdict = ""
        if at_most is not None:
            target = f"<= {at_most:g}x"
            verdict = self.judge(ratio, at_most, self.results.ratio(least, below, counter), doubt)
        if at_least is not None:
            target, verdict = f">= {at_least:g}x", verdict_of(ratio >= at_least, "UNDER TARGET") + doubt
        values = " ".join(f"{nice(self.typical(row, counter)):>9}" for row in (above, below))
        spread = f"{times(min(each))}..{times(max(each))}"
        self.line(f"{what:<{WIDTH}} {values} {times(ratio):>7}  {spread:<16} {target:<8} {verdict}")

    def judge(self, ratio, at_most, best, doubt):
        if ratio <= at_most or best is None or best <= 1:
            return verdict_of(ratio <= at_most) + doubt
        return f"{verdict_of(ratio <= at_most * best)}{doubt}: here {times(ratio)}, can be had {times(best)}"

    def limit(self, what, row, counter, limit, shown=nice):
        """Prints a line: a value, its range, and the most that it may be. `shown` writes one; as a rule a time."""
        rounds = self.rounds(row, counter)
        if not rounds:
            return self.line(f"{what:<{WIDTH}} not measured")
        value = self.typical(row, counter)
        spread = f"{shown(min(rounds))}..{shown(max(rounds))}"
        self.line(f"{what:<{WIDTH}} {shown(value):>9}  {spread}  <= {shown(limit)}  {verdict_of(value <= limit)}")

    # Tables: a title, and a cell for each column.

    def cells(self, title, cells, width=11, title_width=28):
        self.line(f"{title:<{title_width}}" + "".join(f"{cell:>{width}}" for cell in cells))

    def times_of(self, title, rows, counter="median_ns", width=11, title_width=28):
        """Prints what these rows take."""
        self.cells(title, [nice(self.typical(row, counter)) for row in rows], width, title_width)

    def subjects_of(self, group):
        return sorted({name.split("/")[1] for name in self.results.rows if name.startswith(f"{group}/")})
