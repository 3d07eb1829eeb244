#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Tries the check kit: what it says of checks that are wrong, and whether a printed execution names what went wrong.

usage: check_kit.py CHECK_PROGRAM MISTAKES_PROGRAM SYNC_PROGRAM GUIDE_PROGRAM GUIDE_SYNC_PROGRAM AUDITED_PROGRAM ROOT
                    WORK_FOLDER [--update]

With --update the guide gets what its programs print.
"""

import json
import re
import subprocess
import sys
import unittest
from pathlib import Path


def play(program, *arguments):
    said = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run([program, *arguments], **said, check=False)
    return done.returncode, done.stdout


class Checks(unittest.TestCase):
    """Mistakes in checks."""

    program = ""

    def expect(self, check, status, *texts):
        code, said = play(self.program, check)
        self.assertEqual(code, status, said)
        for text in texts:
            self.assertIn(text, said)
        return said

    def test_nothing_is_shared(self):
        for check in ("std_atomic", "nothing_shared"):
            self.expect(check, 1, "holds", "no two threads have used the same atomic, field or mutex of the checker")

    def test_orders_that_an_operation_cannot_have(self):
        load = self.expect("wrong_load", 1, "USER ASSERT FAILED", "FAILS: a load can't have this order")
        self.assertIn("static_cast<void>(word.load", load)
        self.expect("wrong_store", 1, "FAILS: a store can't have this order", "word.store(1, ")
        self.expect("wrong_exchange", 1, "FAILS: a load can't have this order")

    def test_statics(self):
        self.expect("static_word", 1, "RESOURCE LEAK", "is it a static?")
        self.expect("not_deterministic", 1, "The execution did not fail again: the check is not deterministic.")

    def test_memory(self):
        for check in ("leak", "wide_leak"):
            self.expect(check, 0, "MEMORY LEAK", "as expected")
        self.expect("double_free", 0, "DOUBLE FREE", "as expected")
        for check in ("used_freed", "used_null"):
            self.expect(check, 0, "ACCESS TO FREED MEMORY", "as expected")
        for check in ("freed", "wide_freed", "library"):
            self.expect(check, 0, "holds")

    def test_the_end_of_a_field(self):
        self.expect("references", 0, "holds")
        said = play(self.program, "references_relaxed", "--table")[1]
        self.assertIn("references_relaxed: DATA RACE", said)
        self.assertRegex(said, r"RACE: destroys shared->value")
        self.assertRegex(said, r"RACE: (reads )?shared->value")
        code, said = play(self.program, "references", "--audit")
        self.assertEqual(code, 0, said)

    def test_what_ends_the_program(self):
        code, said = play(self.program, "dice", "--bound", "3")
        self.assertEqual(code, 1, said)
        self.assertIn("the program was aborted in the check 'dice'", said)
        self.expect("exception", 1, "USER ASSERT FAILED", "FAILS: an exception has left the check: t")

    def test_livelock(self):
        self.expect("livelock", 0, "LIVELOCK", "as expected")
        said = play(self.program, "livelock", "--table")[1]
        self.assertIn(" steps between\n", said)
        self.assertLess(said.count("\n"), 100)

    def test_what_does_not_end(self):
        code, said = play(self.program, "hang", "--hang", "2")
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"tidemark: an execution does not end\. It blocks, .*check\.cpp:\d+\n$")

    def test_operations_and_threads(self):
        for check in ("operations", "three_threads", "four_threads"):
            self.expect(check, 0, "holds")

    def test_names(self):
        self.assertEqual(play(self.program, "no_such_check"), (2, "unknown check: no_such_check\n"))
        code, said = play(self.program, "--bond", "3")
        self.assertEqual(code, 2)
        self.assertTrue(said.startswith("tidemark: unknown option '--bond'\nusage: "), said)
        self.assertEqual(play(self.program, "library", "--bound", "many")[0], 2)
        self.assertEqual(play(self.program, "library", "--bound")[0], 2)
        self.assertEqual(play(self.program, "library", "--executions", "0")[0], 2)
        self.assertEqual(play(self.program, "library", "--weaken", "nowhere.cpp:1:1=relaxed")[0], 1)
        self.assertEqual(play(self.program, "library", "--weaken", "nowhere.cpp:1:1=weaker")[0], 2)
        self.assertIn("three_threads\nfour_threads\n", play(self.program, "--list")[1])


class Mistakes(unittest.TestCase):
    """Each of them is found, its mended form holds, and the printed execution marks the lines that went wrong."""

    program = ""
    root = Path()
    folder = Path()

    # How a row says that it is the place of a kind of mark.
    MARKS = {
        "race": r"RACE: ",
        "old": r"  OLD: newest \d+$",
        "aba": r"  ABA$",
        "fails": r"FAILS: ",
        "sleeps": r"sleeps on ",
        "wakes nobody": r"wakes nobody on ",
    }

    def marks(self):
        """For each mistake the pairs of kind and line that the source names."""
        found = {}
        for number, line in enumerate((self.root / "tests/model/verify/mistakes.cpp").read_text().splitlines(), 1):
            mark = re.search(r"// (\w+): (\w[\w ]*)$", line)
            if mark and mark.group(2) in (*self.MARKS, "newest"):
                found.setdefault(mark.group(1), set()).add((mark.group(2), number))
        return found

    @staticmethod
    def rows(table):
        """The number, text and source line of each row."""
        lines = [re.sub(r"^(.{4})[| ]*", r"\1", line).rstrip(" |") for line in table.splitlines()]
        return [(text[:4].strip(), text[4:], int(place.group(1)))
                for text, following in zip(lines, lines[1:])
                if (place := re.match(r"^ {4}(\d+): ", following))]

    def test_each_is_found_and_shown(self):
        marks = self.marks()
        names = play(self.program, "--list")[1].split()
        self.assertEqual(set(marks), {name for name in names if not name.endswith(".mended")})
        self.assertEqual(len(marks), 8)
        for name, expected in marks.items():
            with self.subTest(name):
                code, said = play(self.program, name, "--table")
                self.assertEqual(code, 0, said)
                rows = self.rows(said)
                found = set()
                for _, text, line in rows:
                    found |= {(kind, line) for kind, pattern in self.MARKS.items() if re.search(pattern, text)}
                    newest = re.search(r"OLD: newest (\d+)$", text)
                    if newest:
                        found |= {("newest", place) for number, _, place in rows if number == newest.group(1)}
                self.assertLessEqual(expected, found, said)
                # Nothing else is called a race or a failure.
                strict = {"race", "fails", "aba"} & {kind for kind, _ in expected}
                self.assertEqual({mark for mark in found if mark[0] in strict},
                                 {mark for mark in expected if mark[0] in strict}, said)

    def test_each_mended_one_holds(self):
        for name in self.marks():
            code, said = play(self.program, name + ".mended")
            self.assertEqual(code, 0, said)
            self.assertIn("holds (bound 0, ", said)

    def test_the_table_is_as_wide_as_a_page(self):
        for name in self.marks():
            for line in play(self.program, name, "--table")[1].splitlines():
                if "|" in line:
                    self.assertLessEqual(len(line), 100)

    def test_a_failure_is_stored_and_played_again(self):
        for number, name in enumerate(self.marks()):
            with self.subTest(name):
                stored = self.folder / f"failure_{number}.txt"
                said = play(self.program, name, "--table", "--store", stored)[1]
                code, again = play(self.program, "--replay", stored)
                self.assertEqual(code, 0, again)  # a twin must fail
                tables = [re.sub("0x[0-9a-f]+", "address", text[text.index("thread 0"):]) for text in (said, again)]
                self.assertEqual(tables[0].split(), tables[1].split())
        random = self.folder / "random.txt"
        self.assertEqual(play(self.program, "stack", "--executions", "100000", "--store", random)[0], 0)
        self.assertIn("FAILS: nobody else has this node", play(self.program, "--replay", random)[1])
        self.assertEqual(play(self.program, "--replay", self.folder / "none.txt")[0], 2)
        (self.folder / "other.txt").write_text("no_such_check\nrandom 2 2000\n1\n")
        self.assertEqual(play(self.program, "--replay", self.folder / "other.txt")[0], 2)
        # The choices of another check do not fit this one.
        other = stored.read_text().split("\n", 1)[1]
        (self.folder / "changed.txt").write_text("flag\n" + other)
        self.assertIn("changed since", play(self.program, "--replay", self.folder / "changed.txt")[1])


class Sync(unittest.TestCase):
    """Names of the standard library: what is printed of locks and operators."""

    program = ""
    source = Path()

    def test_all_checks(self):
        names = play(self.program, "--list")[1].split()
        self.assertGreater(len(names), 40)
        for name in names:
            code, said = play(self.program, name, "--seconds", "1")
            self.assertEqual(code, 0, said)
        self.assertIn("random, ", play(self.program, "spurious")[1])

    def test_lines_and_names(self):
        """The row of each line that the source marks says what stands there."""
        marks = [(check, text, number)
                 for number, line in enumerate(self.source.read_text().splitlines(), 1)
                 if " // " in line
                 for check, text in re.findall(r"(\w+): ([^;]+)", line.split(" // ")[1])]
        self.assertGreater(len(marks), 15)
        for check, text, number in marks:
            with self.subTest(check):
                said = play(self.program, check, "--table")[1]
                found = [row for _, row, line in Mistakes.rows(said) if line == number]
                # A cell of the table is cut at its width.
                self.assertTrue(any(text.startswith(part) for row in found for part in self.endings(row, text)),
                                f"{number}: {text}\n{said}")

    @staticmethod
    def endings(row, text):
        """What the row says from the first word of the text on."""
        begin = row.find(text[:12])
        return [row[begin:].rstrip("~")[:len(text)]] if begin >= 0 else []

    def test_ends_of_deadlocks(self):
        said = play(self.program, "deadlock", "--table")[1]
        self.assertRegex(said, r"\nthread 0 waits for right, which thread 1 has locked in row [12]\n")
        self.assertRegex(said, r"\nthread 1 waits for left, which thread 0 has locked in row [12]\n")
        self.assertRegex(play(self.program, "lost", "--table")[1],
                         r"\nthread 1 sleeps on changed since row \d+, and nobody wakes it\n")
        self.assertIn("\nguard is destroyed, and thread 1 has locked it in row 1\n",
                      play(self.program, "kept", "--table")[1])
        self.assertIn("goes on: the deadline has passed", play(self.program, "timed", "--table")[1])

    def test_misuse(self):
        for check, verdict in {"unlock": "UNLOCKING MUTEX W/O OWNERSHIP", "kept": "DESTROYING OWNED MUTEX",
                               "twice": "RECURSION ON NON-RECURSIVE MUTEX", "lost": "DEADLOCK",
                               "wait_unlocked": "USER ASSERT FAILED", "shared_write": "DATA RACE"}.items():
            self.assertIn(f"{check}: {verdict} (", play(self.program, check)[1])

    def test_the_audit_leaves_alone_what_has_no_order_of_the_user(self):
        self.assertIn("Nothing was audited", play(self.program, "once", "--audit")[1])

    def test_the_audit_weakens_operators(self):
        said = play(self.program, "operators.mended", "--audit")[1]
        self.assertIn("ready = 1;\n    seq_cst -> release: ", said)
        self.assertIn("} else if (ready == 1) {\n    seq_cst -> acquire: ", said)  # it has no position of its own
        self.assertIn("seq_cst -> relaxed:             needed: operators.mended, DATA RACE, ", said)
        self.assertTrue(said.splitlines()[-1].startswith("2 sites, "), said)


class Audit(unittest.TestCase):
    """The audit of a program tells needed orders from needless ones."""

    program = ""

    def test_verdicts(self):
        code, said = play(self.program, "flag.mended", "event_count.mended", "--audit")
        self.assertEqual(code, 1, said)
        self.assertRegex(
            said, r"ready\.store\(true, Order\);\n    release -> relaxed: +needed: flag\.mended, DATA RACE,")
        self.assertRegex(said, r"condition\.store\(1\);\n    seq_cst -> release: +NOT NEEDED by any check")
        self.assertRegex(said, r"7 sites, \d+ weakenings: 2 noticed, \d+ not needed by any check\n$")

    def test_all_needed(self):
        code, said = play(self.program, "flag.mended", "--audit")
        self.assertEqual(code, 0, said)
        self.assertTrue(said.endswith("2 sites, 2 weakenings: 2 noticed, 0 not needed by any check\n"), said)

    def test_what_is_never_executed(self):
        said = play(self.program, "--audit", "--seconds", "1")[1]
        self.assertRegex(said, r"mistakes\.cpp:\d+: .*\(spare\.load\(\)\); }\n    NEVER EXECUTED\n")
        self.assertTrue(said.endswith("; 1 sites never executed\n"), said[-200:])

    def test_nothing_to_audit(self):
        self.assertEqual(play(self.program, "flag", "--audit")[0], 1)
        code, said = play(self.program, "flag.mended", "--audit", "--only", "no_such_folder")
        self.assertEqual(code, 1)
        self.assertIn("Nothing was audited", said)


class Verdicts(unittest.TestCase):
    """What the audit says of each line of audited.cpp, as text and as JSON."""

    program = ""
    source = Path()
    folder = Path()

    WORDS = {"needed": "    release -> relaxed:             needed: ", "not_needed": "NOT NEEDED by any check",
             "cut_off": "CUT OFF: ", "already_relaxed": "    already relaxed",
             "without_effect": "    without effect: no other thread runs beside it",
             "unmodelled": "    not weakened: it holds back the compiler"}

    def marks(self, check):
        """The verdict that the source names for a line."""
        return {number: mark.group(1)
                for number, line in enumerate(self.source.read_text().splitlines(), 1)
                if (mark := re.search(rf"// {check}: (\w+)$", line))}

    def audit(self, *arguments):
        """The status, the text, and what the JSON holds."""
        path = self.folder / "audit.json"
        path.unlink(missing_ok=True)
        code, said = play(self.program, *arguments, "--audit", "--json", path)
        return code, said, json.loads(path.read_text())

    def test_each_verdict(self):
        for check in ("messages", "long", "barrier", "time"):
            with self.subTest(check):
                code, said, found = self.audit(check, "--seconds", "0.001" if check == "time" else "5")
                marks = self.marks(check)
                self.assertEqual(code, 0 if check == "barrier" else 1)
                of_lines = {site["line"]: site["verdict"] for site in found["sites"]
                            if site["file"].endswith("audited.cpp")}
                self.assertEqual({line: of_lines.get(line) for line in marks}, marks, said)
                self.assertLessEqual({said for line, said in of_lines.items() if line not in marks},
                                     {"already_relaxed"})
                for line, mark in marks.items():
                    text = said[said.index(f"audited.cpp:{line}:"):].split("\naudited.cpp")[0]
                    self.assertIn(self.WORDS[mark].replace("release", "acquire" if "acquire" in text else "release"),
                                  text)
        self.assertIn("time had no time for its searches (--seconds)", said)

    def test_too_many_steps(self):
        said = self.audit("long")[1]
        self.assertIn("CUT OFF: long takes more than 2000 steps (--most-steps)\n", said)
        self.assertTrue(said.endswith(", 2 cut off\n"), said)
        # With enough of them nobody notices.
        self.assertEqual(self.audit("long", "--most-steps", "4000")[2]["totals"]["not_needed"], 2)

    def test_members(self):
        code, said, found = self.audit("messages")
        self.assertEqual((code, found["tidemark_audit"], found["good"], found["refusal"]), (1, 1, False, ""))
        self.assertEqual(found["totals"], {"sites": 6, "needed": 2, "not_needed": 2, "reviewed": 0, "not_weakened": 0,
                                           "cut_off": 0, "never_executed": 0})
        self.assertTrue(said.endswith("\n6 sites, 4 weakenings: 2 noticed, 2 not needed by any check\n"), said)
        sites = {site["key"]: site for site in found["sites"]}
        self.assertEqual(len(sites), 6)
        store = sites["audited.cpp: ready.store(1, memory_order_release);"]
        self.assertEqual((store["operation"], store["order"], store["failure"], store["beside_others"],
                          store["checks"]), ("store", "release", "", True, ["messages"]))
        self.assertTrue(store["text"].startswith("ready.store(1, memory_order_release);  "), store["text"])
        self.assertRegex(store["function"], "thread")
        self.assertEqual(store["steps"], [
            {"what": "release -> relaxed", "verdict": "needed", "key": store["key"] + " | release -> relaxed",
             "check": "messages", "failure": "DATA RACE", "search": "bound 0", "execution": 1}])
        # The second of two equal lines.
        again = sites["audited.cpp #2: looks.store(5, memory_order_release);"]
        self.assertEqual(again["line"], sites["audited.cpp: looks.store(5, memory_order_release);"]["line"] + 1)
        self.assertIn("\n" + again["steps"][0]["key"] + "\n", said)
        sources = {source["file"]: source["lines"] for source in found["sources"]}
        self.assertEqual(sources[store["file"]], self.source.read_text().splitlines())

    def test_all_of_the_program(self):
        code, said, found = self.audit("--seconds", "1")
        self.assertEqual(code, 1)
        lines = {site["line"]: site["key"] for site in found["never_executed"]}
        self.assertEqual(set(lines), set(self.marks("all")), said)
        self.assertIn("audited.cpp: static_cast<void>(spare.load()); | never executed", lines.values())
        self.assertEqual(found["totals"]["never_executed"], 2)
        self.assertIn(found["never_executed"][0]["file"], [source["file"] for source in found["sources"]])

    def test_standard_output(self):
        code, said = play(self.program, "messages", "--audit", "--json", "-")
        self.assertEqual((code, json.loads(said)["totals"]["sites"]), (1, 6))
        self.assertNotIn("<", said)  # so that it may stand in a page

    def test_refusals(self):
        self.assertEqual(play(self.program, "messages", "--audit", "--json", self.folder / "no" / "folder")[0], 2)
        path = self.folder / "refused.json"
        code = play(self.program, "messages", "--audit", "--only", "no_such_folder", "--json", path)[0]
        self.assertEqual((code, json.loads(path.read_text())["good"]), (1, False))


class Guide(unittest.TestCase):
    """The guide shows what its program prints."""

    programs = {}
    path = Path()

    BLOCK = re.compile(r"(<!-- printed by (\w+): ([^,\n]*), (--\w+) -->\n```text\n)(.*?)(```\n)", re.S)

    def printed(self, block):
        said = play(self.programs[block.group(2)], block.group(3), block.group(4))[1]
        return block.group(1) + said.rstrip() + "\n" + block.group(6)

    def test_what_is_printed(self):
        text = self.path.read_text()
        self.assertGreater(len(self.BLOCK.findall(text)), 5)
        for block in self.BLOCK.finditer(text):
            self.assertEqual(block.group(), self.printed(block))

    def update(self):
        self.path.write_text(self.BLOCK.sub(self.printed, self.path.read_text()))


if __name__ == "__main__":
    Checks.program, Mistakes.program, Sync.program, guide, guide_sync, audited, root, folder = sys.argv[1:9]
    Audit.program = Mistakes.program
    Verdicts.program, Verdicts.folder = audited, Path(folder)
    Verdicts.source = Path(root) / "tests/model/verify/audited.cpp"
    Guide.programs = {"guide_verify": guide, "guide_verify_sync": guide_sync}
    Sync.source = Path(root) / "tests/model/verify/sync.cpp"
    Mistakes.root = Path(root)
    Guide.path = Path(root) / "docs/guide-verify.md"
    if sys.argv[9:] == ["--update"]:
        Guide().update()
    Mistakes.folder = Path(folder)
    Mistakes.folder.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=sys.argv[:1])
