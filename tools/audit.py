#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Weakens every memory order and every barrier of the headers, one at a time, and says which model check notices.

usage: audit.py MANIFEST [--full] [--fresh] [--only TAG]... [--part K/N] [--out FOLDER] [--self-test] [--blind-seam]

MANIFEST is written by CMake: where the headers are, which checks there are and how each is searched, which changed
copies of the headers ("mutants") must fail. What happens:

  1. Every check runs once, unchanged, and names the sites that it executes with their orders. Every order that is
     written in the headers is listed from the source text. One that no check executes is *uncovered*.
  2. For each site and each weaker step the checks that execute the site run again with that one site weakened, until
     one fails: first those that a twin names for this site, then all of the quick mode with a short random search of
     each, a longer one, and the context-bound search. --full takes all checks, adds a long random search and gives the
     bounded ones all the time they need. What no check notices has *survived*; a compiler barrier is *unmodelled*,
     since the checker has no compiler.
  3. Every mutant runs, and must fail.

Whatever is not caught is an error unless the reviewed file names it with a reason; an entry of that file that is not
needed is an error too. The rows are printed and written to FOLDER as Markdown and JSON. A run that was interrupted goes
on where it stopped, as long as headers and checks are the same; --fresh begins anew.

--part weakens of the sites only each N-th, from the K-th on, and those in headers that differ from where this branch
left main, or from the commit before the last, unless these are more than a quarter of all: a move of headers would take
hours. What is reviewed takes longest, since no check notices it; so each part makes an N-th of the searches for each of
these weakenings. Which sites are executed is looked at for all.

--self-test runs the audit on planted headers, whose needless, needed, missing and unexecuted orders it must tell apart.
--blind-seam leaves every site as it is and pretends; a self-test must fail then.
"""

import argparse
import concurrent.futures
import hashlib
import itertools
import json
import os
import re
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import running
from changed import ROOT, changed_files

MOST_REVIEWED = 8

# A compiler barrier: the checker runs operations as they are written, so leaving it out would change nothing.
UNMODELLED = "unmodelled"

LOADS = {"seq_cst": ("acquire", "relaxed"), "acquire": ("relaxed",)}
STORES = {"seq_cst": ("release", "relaxed"), "release": ("relaxed",)}
EXCHANGES = {
    "seq_cst": ("acq_rel", "acquire", "release", "relaxed"),
    "acq_rel": ("acquire", "release", "relaxed"),
    "acquire": ("relaxed",),
    "release": ("relaxed",),
}
STEPS = {
    "load": lambda order: LOADS.get(order, ()),
    "store": lambda order: STORES.get(order, ()),
    "read_modify_write": lambda order: EXCHANGES.get(order, ()),
    "compare_exchange": lambda order: EXCHANGES.get(order, ()),
    "fence": lambda order: EXCHANGES.get(order, ()),
    "light_barrier": lambda _: (UNMODELLED,),
    "heavy_barrier": lambda _: ("own_thread", "removed"),
    "full_barrier": lambda _: ("removed",),
}


# ---- what is written in the headers ----------------------------------------------------------------------------------


@dataclass
class WrittenSite:
    """One operation in the source that names an order, or one call of a barrier."""

    file: str  # below the headers' folder
    first_line: int
    last_line: int
    operation: str
    orders: tuple  # as written: the alternatives of each argument are joined
    tag: str

    @property
    def name(self):
        return f"{self.file}:{self.first_line}"


CALL = re.compile(
    r"(?:\.|->|::)\s*(load\w*|is_below|store|exchange|compare_exchange_\w+|fetch_\w+|test_and_set|clear"
    r"|(?:light|heavy|full)_barrier|(?:thread|compiler)_fence)\s*\("
)
ORDER = re.compile(r"(==\s*)?\bstd::memory_order_(\w+)")
# What a concept asks for is executed by nobody.
CONCEPT = re.compile(r"\bconcept\s+\w+\s*=.*?;\n(?=\S|\n)", re.S)
NAMED = re.compile(r"constexpr auto (\w+_order)\s*=([^;]*);")
TAG = re.compile(r"^\s*// \(([A-Z]+\d+)\):")


def blanked(match):
    """The text of a match with everything but its line ends blanked."""
    return re.sub(r"[^\n]", " ", match.group())


def without_comments(text):
    """The same text with comments and literals blanked, so that offsets stay."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
    return token.sub(blanked, text)


def end_of_call(code, opening):
    depth = 0
    for at in range(opening, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if depth == 0:
            return at
    raise SystemExit("audit: a parenthesis is not closed")


def tag_above(lines, line):
    """The number of the ordering comment that the statement at `line` (from 1) belongs to."""
    at = line - 2
    while at >= 0 and not lines[at].lstrip().startswith("//"):
        if lines[at].rstrip().endswith((";", "{", "}")):
            return ""
        at -= 1
    while at >= 0 and lines[at].lstrip().startswith("//"):
        match = TAG.match(lines[at])
        if match:
            return match.group(1)
        at -= 1
    return ""


def written_sites(headers):
    """Every site of the headers. Stops with a message if an order stands where none is expected."""
    sources = {path: path.read_text() for path in sorted(headers.rglob("*.hpp")) if "verify" not in path.parts}
    code_of = {path: CONCEPT.sub(blanked, without_comments(text)) for path, text in sources.items()}
    named = {}
    for code in code_of.values():
        for match in NAMED.finditer(code):
            named[match.group(1)] = [order.group(2) for order in ORDER.finditer(match.group(2))]

    sites = []
    for path, code in code_of.items():
        lines = sources[path].split("\n")
        used = [match.span() for match in NAMED.finditer(code)]
        for match in CALL.finditer(code):
            end = end_of_call(code, match.end() - 1)
            arguments = code[match.end() : end]
            orders = [order.group(2) for order in ORDER.finditer(arguments)]
            for name, alternatives in named.items():
                if re.search(rf"\b{name}\b", arguments):
                    orders += alternatives
            is_barrier = match.group(1).endswith("_barrier")
            if not orders and not is_barrier:
                continue
            used.append((match.start(), end))
            first = code.count("\n", 0, match.start(1)) + 1
            last = code.count("\n", 0, end) + 1
            name = str(path.relative_to(headers))
            sites.append(WrittenSite(name, first, last, match.group(1), tuple(orders), tag_above(lines, first)))
        for order in ORDER.finditer(code):
            if not order.group(1) and not any(begin <= order.start() < end for begin, end in used):
                line = code.count("\n", 0, order.start()) + 1
                raise SystemExit(f"audit: {path}:{line}: an order outside of any operation that is known here")
    return sites


# ---- running checks --------------------------------------------------------------------------------------------------


@dataclass
class Check:
    program: str
    form: str
    name: str
    bound: int
    executable: str
    quick: bool = True  # its bounded search belongs to the quick mode
    seconds: float = 0.0  # of the run without a change

    def __str__(self):
        return f"{self.program} {self.name} ({self.form})"


@dataclass
class Outcome:
    failed: bool
    ended: bool
    executions: int
    text: str
    weakened: bool = True  # the site was executed


class Runner:
    def __init__(self, blind):
        self.blind = ["--blind-seam"] if blind else []

    def run(self, executable, check, search, weaken=None, limit=None, sites=False):
        command = [executable, check, *search, *self.blind]
        command += ["--weaken", weaken] if weaken else []
        command += ["--sites"] if sites else []
        status, text = running.output_of(command, limit)
        if status is None:
            return Outcome(False, False, 0, "not ended")
        after = re.search(r"\]([^\n]*?): (.*) after (\d+) executions", text)
        if not after:  # a program that was killed has not shown anything
            raise SystemExit(f"audit: {' '.join(command)}: exit status {status}\n{text}")
        if "never executed" in text:
            return Outcome(False, True, 0, "", weakened=False)
        result = text if sites else after.group(2)
        return Outcome(after.group(2) != "holds", True, int(after.group(3)), result)


def random_search(executions):
    return ["--search", "random", "--executions", str(executions)]


def bounded_search(bound):
    return ["--search", "bounded", "--bound", str(bound)]


SITE = re.compile(r"^site (.*):(\d+):(\d+) (\w+) (\w+) (\S+)$", re.M)


def each(pool, progress, function, items):
    """Returns the function's results for all items, in their order. Says meanwhile how many there are."""
    futures = [pool.submit(function, item) for item in items]
    pending = set(futures)
    try:
        while pending:
            done, pending = concurrent.futures.wait(pending, 0.2, concurrent.futures.FIRST_EXCEPTION)
            progress.update(f"{len(futures) - len(pending)} of {len(futures)}")
            for future in done:
                future.result()  # raises what it has raised
    finally:
        for future in pending:
            future.cancel()
        progress.close()
    return [future.result() for future in futures]


def progress_of(what):
    return running.Progress(f"audit, {what}")


def baseline(runner, pool, checks, executions):
    """Runs each check unchanged. Returns what each executes, and the checks that fail as they are."""
    executed, broken = {}, []

    def one(check):
        start = time.monotonic()
        outcome = runner.run(check.executable, check.name, random_search(executions), sites=True)
        check.seconds = time.monotonic() - start
        return check, outcome

    for check, outcome in each(pool, progress_of("unchanged checks"), one, checks):
        if outcome.failed:
            broken.append(check)
        for file, line, column, operation, order, failure in SITE.findall(outcome.text):
            key = (file, int(line), int(column), operation, order, failure)
            # A check that fails anyway can't tell anything about a weakening.
            executed.setdefault(key, []).extend([] if outcome.failed else [check])
    return executed, broken


# ---- rows ------------------------------------------------------------------------------------------------------------


@dataclass
class Row:
    tag: str
    site: str  # file:line
    operation: str
    order: str
    step: str
    weaken: str = ""  # what the programs are told
    verdict: str = ""  # caught, survived, uncovered, unmodelled, never weakened
    check: str = ""
    search: str = ""
    executions: int = 0
    note: str = ""

    def explained(self):
        return self.verdict == "caught" or self.note.startswith("reviewed")

    @property
    def key(self):
        return f"{self.site} {self.order} {self.step} {self.weaken}"


def make_rows(sites, executed, headers):
    """One row for each site and step, each with the checks that can notice."""
    rows = []
    for site in sites:
        found = [
            (key, checks)
            for key, checks in executed.items()
            if site.first_line <= key[1] <= site.last_line and key[0] == str(headers / site.file)
        ]
        for order in dict.fromkeys(site.orders) if site.orders else ("barrier",):
            seen = [key for key, _ in found if order == "barrier" or order in (key[4], key[5])]
            if not seen:
                rows.append((Row(site.tag, site.name, site.operation, order, "uncovered", verdict="uncovered"), []))
        for (file, line, column, operation, order, failure), checks in found:
            position = f"{file}:{line}:{column}"
            for step in STEPS[operation](order):
                verdict = UNMODELLED if step == UNMODELLED else ""
                row = Row(site.tag, site.name, site.operation, order, step, f"{position}={step}", verdict)
                rows.append((row, checks))
            for step in LOADS.get(failure, ()):
                row = Row(site.tag, site.name, site.operation, f"failure {failure}", f"failure {step}",
                          f"{position}=failure:{step}")
                rows.append((row, checks))
    return rows


def stages(full):
    """How each check is searched in turn: arguments, time limit in seconds."""
    yield lambda check: (random_search(2000), None)
    yield lambda check: (random_search(20000), None)
    yield lambda check: (bounded_search(check.bound), None if full else 10)
    if full:
        yield lambda check: (random_search(1000000), None)


def searches_for(checks, twins, full):
    """Yields each search that may catch a weakening: check, arguments, time limit. `twins` are checks that a twin names
    for the site."""
    known = lambda check: (bounded_search(check.bound), 45)
    for stage, candidates in [(known, twins), *((stage, checks) for stage in stages(full))]:
        for check in candidates:
            yield check, *stage(check)


def outcomes_in_turn(runner, row, searches):
    for check, search, limit in searches:
        yield check, search, runner.run(check.executable, check.name, search, row.weaken, limit)


def outcomes_at_once(runner, pool, row, searches):
    """All of them, on all processors: for what is expected to survive, which else would be searched on one."""
    def one(each_search):
        check, search, limit = each_search
        return check, search, runner.run(check.executable, check.name, search, row.weaken, limit)

    return each(pool, progress_of(f"{row.tag} {row.step}"), one, list(searches))


def judge(row, checks, outcomes, favourites):
    """Looks at outcomes until a check fails. `favourites` are the checks that have caught something at a site."""
    unended = []
    weakened = False
    for check, search, outcome in outcomes:
        if outcome.failed:
            row.verdict, row.check, row.executions = "caught", str(check), outcome.executions
            row.search = search[1] + (f" {check.bound}" if search[1] == "bounded" else "")
            row.note = outcome.text
            favourites.setdefault(row.site, set()).add(str(check))
            return row
        weakened = weakened or outcome.weakened
        if not outcome.ended:
            unended.append(check.name)
    row.verdict = "survived" if weakened else "never weakened"
    row.note = f"{len(checks)} checks"
    if unended:
        row.note += f"; bounded search cut off: {', '.join(sorted(set(unended)))}"
    return row


def read_reviewed(path):
    """TAG STEP: reason, one on each line; an indented line goes on with the one before, # begins a comment."""
    entries = {}
    text = re.sub(r"\n[ \t]+(?=\S)", " ", path.read_text()) if path else ""
    for line in text.split("\n"):
        if line.strip() and not line.startswith("#"):
            match = re.fullmatch(r"(\w+) (failure \w+|\w+): (.+)", line)
            if not match:
                raise SystemExit(f"audit: {path}: not `TAG STEP: reason`: {line}")
            entries[match.group(1), match.group(2)] = match.group(3)
    return entries


# ---- the whole -------------------------------------------------------------------------------------------------------


class Audit:
    def __init__(self, manifest, arguments):
        data = json.loads(manifest.read_text())
        self.headers = Path(data["headers"])
        self.full = arguments.full
        self.checks = [check for check in (Check(**check) for check in data["checks"]) if check.quick or self.full]
        self.twins = {}  # tag: the checks that a twin names for it
        for twin in data["twins"]:
            self.twins.setdefault(twin.pop("tag"), []).append(Check(**twin))
        self.part, self.mutants = data["part"], data["mutants"]
        self.reviewed = read_reviewed(Path(data["reviewed"]) if data["reviewed"] else None)
        self.only = set(arguments.only or ())
        self.sites_of = arguments.part  # (K, N)
        self.out = arguments.out or manifest.parent / manifest.stem
        self.runner = Runner(arguments.blind_seam)
        self.sites = []
        self.rows = []
        self.mutant_rows = []
        self.broken = []
        self.journal = None
        self.done = {}
        if not arguments.self_test:
            self.open_journal(arguments.fresh)

    def open_journal(self, fresh):
        """Rows of an earlier run count only if nothing that they depend on has changed."""
        digest = hashlib.sha256(b"full" if self.full else b"quick")
        for path in sorted({check.executable for check in self.checks} | {__file__}):
            digest.update(Path(path).read_bytes())
        self.out.mkdir(parents=True, exist_ok=True)
        path = self.out / f"rows-{digest.hexdigest()[:16]}.jsonl"
        if fresh:
            path.unlink(missing_ok=True)
        if path.exists():
            for line in path.read_text().split("\n"):
                if line.endswith("}"):
                    row = Row(**json.loads(line))
                    self.done[row.key] = row
        self.journal = path.open("a")

    def run(self):
        lock = threading.Lock()
        favourites = {}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            executed, self.broken = baseline(self.runner, pool, self.checks, 2000)
            self.sites = written_sites(self.headers)
            pairs = make_rows(self.sites, executed, self.headers)
            if self.only:
                pairs = [pair for pair in pairs if pair[0].tag in self.only]
            if self.sites_of:
                chosen = self.sites_in_part()
                pairs = [pair for pair in pairs if pair[0].site in chosen or pair[0].verdict == "uncovered"
                         or self.is_reviewed(pair[0])]

            def one(pair, at_once=False):
                row, checks = pair
                is_in_parts = at_once and self.sites_of  # such a row is not complete
                if row.verdict or (row.key in self.done and not is_in_parts):
                    return self.done.get(row.key, row)
                searches = self.searches_of(row, checks, favourites.get(row.site, ()))
                outcomes = (outcomes_at_once(self.runner, pool, row, searches) if at_once
                            else outcomes_in_turn(self.runner, row, searches))
                judge(row, checks, outcomes, favourites)
                with lock:
                    if self.journal:
                        if not is_in_parts:
                            self.journal.write(json.dumps(vars(row)) + "\n")
                            self.journal.flush()
                        say = print if at_once else progress.say
                        say(f"  {row.tag:<4} {row.site:<28} {row.order} -> {row.step}: {row.verdict}")
                return row

            # What no check notices takes longest.
            places = {row.key: place for place, (row, _) in enumerate(pairs)}
            expected = [pair for pair in pairs if self.is_reviewed(pair[0])]
            others = [pair for pair in pairs if not self.is_reviewed(pair[0])]
            rows = [one(pair, at_once=True) for pair in expected]
            progress = progress_of("weakened sites")
            rows += each(pool, progress, one, others)
            self.rows = sorted(rows, key=lambda row: places[row.key])
            self.mutant_rows = each(pool, progress_of("mutants"), self.try_mutant, [] if self.only else self.mutants)

    def sites_in_part(self):
        part, parts = self.sites_of
        changed = {Path(name) for name in changed_files(None)}
        touched = {site.name for site in self.sites if (self.headers / site.file).relative_to(ROOT) in changed}
        if 4 * len(touched) > len(self.sites):
            touched = set()
        return touched | {site.name for place, site in enumerate(self.sites, 1) if place % parts == part % parts}

    def searches_of(self, row, checks, known):
        """What may catch a weakening: first by checks that are known to have caught another one there. Of what is
        reviewed each part has its own searches, so in an order that is always the same."""
        twins = self.twins.get(row.tag, ())
        if self.sites_of and self.is_reviewed(row):
            part, parts = self.sites_of
            return itertools.islice(searches_for(sorted(checks, key=str), twins, self.full), part - 1, None, parts)
        order = sorted(checks, key=lambda check: (str(check) not in known, check.seconds))
        return searches_for(order, twins, self.full)

    def is_reviewed(self, row):
        return (row.tag, row.step) in self.reviewed

    def try_mutant(self, mutant):
        outcome = self.runner.run(mutant["executable"], mutant["check"], bounded_search(mutant["bound"]))
        what = Path(mutant["recipe"]).read_text().split("\n")[0]
        return {"name": mutant["name"], "check": mutant["check"], "caught": outcome.failed,
                "executions": outcome.executions, "how": outcome.text, "what": what}

    def errors(self):
        found = [f"{check} fails without any change" for check in self.broken]
        used = set()
        for row in self.rows:
            if row.verdict == "caught":
                continue
            entry = (row.tag, row.step)
            if entry in self.reviewed:
                used.add(entry)
                row.note = f"reviewed: {self.reviewed[entry]}"
            else:
                found.append(f"{row.tag} {row.site}: {row.order} -> {row.step}: {row.verdict}, and not reviewed")
        if not self.only:
            looked_at = {row.tag for row in self.rows} if self.sites_of else {tag for tag, _ in self.reviewed}
            found += [f"reviewed, but not needed: {' '.join(entry)}" for entry in self.reviewed.keys() - used
                      if entry[0] in looked_at]
            if len(self.reviewed) > MOST_REVIEWED:
                found.append(f"{len(self.reviewed)} reviewed entries; at most {MOST_REVIEWED}")
        found += [f"mutant {row['name']} is not caught" for row in self.mutant_rows if not row["caught"]]
        return found

    def totals(self):
        count = {verdict: sum(row.verdict == verdict for row in self.rows) for verdict in
                 ("caught", "survived", "uncovered", UNMODELLED)}
        unexplained = sum(not row.explained() for row in self.rows)
        if self.sites_of:
            chosen = self.sites_in_part()
            of_part = f", {len(chosen)} of them in part {self.sites_of[0]} of {self.sites_of[1]} or in changed headers"
        else:
            chosen = {site.name for site in self.sites}
            of_part = ""
        relaxed = len(chosen - {row.site for row in self.rows})
        steps = count["caught"] + count["survived"]
        text = (f"{len(self.sites)} sites{of_part}, {count['uncovered']} uncovered, {relaxed} that can't be weaker, "
                f"{count[UNMODELLED]} that the checker can't weaken; {steps} weakenings of the rest: "
                f"{count['caught']} caught, {count['survived']} survived; {unexplained} unexplained")
        if self.mutant_rows:
            caught = sum(row["caught"] for row in self.mutant_rows)
            of_part = f" (part {self.part} of them)" if self.part else ""
            text += f". {len(self.mutant_rows)} structural mutations{of_part}: {caught} caught"
        return text

    def table(self):
        head = ["site", "", "operation", "order", "weakened to", "verdict", "by", "after", "as"]
        lines = [head, ["---"] * len(head)]
        for row in self.rows:
            how = ["caught", f"{row.check}, {row.search}", str(row.executions), row.note.lower()]
            lines.append([row.site, row.tag, row.operation, row.order, row.step]
                         + (how if row.verdict == "caught" else [row.verdict, row.note, "", ""]))
        text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        if self.mutant_rows:
            text += "\n\n| mutation | what is wrong | verdict | by | after |\n|---|---|---|---|---|\n"
            text += "\n".join(f"| {row['name']} | {row['what']} | {'caught' if row['caught'] else 'SURVIVED'} | "
                              f"{row['check']} | {row['executions']} |" for row in self.mutant_rows)
        return text

    def write(self, errors, seconds):
        self.out.mkdir(parents=True, exist_ok=True)
        (self.out / "audit.md").write_text(f"{self.totals()}\n\n{self.table()}\n")
        data = {"totals": self.totals(), "seconds": round(seconds), "errors": errors, "mutants": self.mutant_rows,
                "rows": [vars(row) for row in self.rows]}
        (self.out / "audit.json").write_text(json.dumps(data, indent=1) + "\n")


def self_test(audit):
    """What the planted headers must bring to light. Returns what is wrong."""
    verdicts = {(row.tag, row.step): row.verdict for row in audit.rows}
    expected = {
        ("P1", "acquire"): "survived",  # needless: seq_cst where relaxed would do
        ("P1", "relaxed"): "survived",
        ("P2", "relaxed"): "caught",  # needed: the release of a hand-over
        ("P3", "relaxed"): "caught",  # needed: its acquire
        ("P4", "uncovered"): "uncovered",  # no check comes here
        ("P5", "removed"): "caught",  # needed barriers
        ("P5", "own_thread"): "caught",
    }
    wrong = [f"{' '.join(key)}: {verdicts.get(key, 'no row')}, expected {verdict}"
             for key, verdict in expected.items() if verdicts.get(key) != verdict]
    wrong += [f"{' '.join(key)}: {verdict}, not expected at all" for key, verdict in verdicts.items()
              if key not in expected]
    if [check.name for check in audit.broken] != ["missing_order"]:
        wrong.append(f"the missing order was not caught: {[str(check) for check in audit.broken]}")
    return wrong


def part_of(text):
    match = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", text)
    if not match or int(match.group(1)) > int(match.group(2)):
        raise argparse.ArgumentTypeError(f"'{text}' is not K/N with K up to N")
    return int(match.group(1)), int(match.group(2))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--only", action="append")
    parser.add_argument("--part", type=part_of)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--blind-seam", action="store_true")
    arguments = parser.parse_args()

    running.end_on_signals()
    start = time.monotonic()
    audit = Audit(arguments.manifest, arguments)
    try:
        audit.run()
    except running.Interrupted:
        print("\naudit: interrupted; the next run goes on from here", file=sys.stderr)
        return running.INTERRUPTED
    if arguments.self_test:
        wrong = self_test(audit)
        print("\n".join(wrong))
        print(f"self-test {'FAILED' if wrong else 'passed'}: {audit.totals()}")
        return 1 if wrong else 0

    errors = audit.errors()
    audit.write(errors, time.monotonic() - start)
    print(f"\n{audit.table()}\n\n{audit.totals()}, in {time.monotonic() - start:.0f} s")
    print(f"written to {audit.out}/audit.md and audit.json")
    for error in errors:
        print(f"audit: {error}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
