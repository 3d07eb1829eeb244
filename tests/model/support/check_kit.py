#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Tries the check kit: what it says of checks that are wrong, and whether a printed execution names what went wrong.

usage: check_kit.py CHECK_PROGRAM MISTAKES_PROGRAM SYNC_PROGRAM GUIDE_PROGRAM GUIDE_SYNC_PROGRAM AUDITED_PROGRAM ROOT
                    WORK_FOLDER CLASS[,CLASS]...|--update

Runs the classes of tests that are named. With --update the guide gets what its programs print.
"""

import contextlib
import json
import os
import pty
import re
import shutil
import signal
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
            self.expect(check, 1, "CHECKS NOTHING",
                        "no two threads have used the same atomic, field or mutex of the checker")

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
        code, said = play(self.program, "started_thread")
        self.assertNotEqual(code, 0, said)
        self.assertIn("is used by a thread that the check has started.", said)
        code, said = play(self.program, "null_pointer")
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"the check 'null_pointer' crashes \(memory access, .*\) behind .*check\.cpp:\d+\n$")
        code, said = play(self.program, "great_stack")
        self.assertEqual(code, 1, said)
        self.assertIn("the check 'great_stack' crashes (memory access, perhaps beyond the 50 KB of a stack)", said)
        self.expect("exception", 1, "USER ASSERT FAILED", "FAILS: an exception has left the check: t")

    def test_a_twin_that_names_its_failure(self):
        self.expect("leak", 0, "MEMORY LEAK", ", as expected")
        self.expect("another_failure", 1, "MEMORY LEAK", "; another failure was expected: DATA RACE\n")

    def test_livelock(self):
        self.expect("livelock", 0, "LIVELOCK", "as expected")
        self.assertIn("must call tidemark::verify::yield()", play(self.program, "livelock", "--table")[1])
        said = play(self.program, "livelock", "--table")[1]
        self.assertIn(" steps between\n", said)
        self.assertLess(said.count("\n"), 100)

    def test_what_does_not_end(self):
        code, said = play(self.program, "hang", "--hang", "2")
        self.assertEqual(code, 1, said)
        self.assertRegex(
            said, r"tidemark: an execution of 'hang' does not end\. It blocks, or .*check\.cpp:\d+\. Mutexes, ")

    def test_operations_and_threads(self):
        for check in ("operations", "three_threads", "four_threads"):
            self.expect(check, 0, "holds")

    def test_names(self):
        self.assertEqual(play(self.program, "no_such_check"),
                         (2, "unknown check: no_such_check (--list prints the names)\n"))
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
        """The number, text and source line of each row, whose text may take several lines."""
        found = []
        number = text = ""
        for line in table.splitlines():
            cell = re.match(r"^(.{4})(?:\| *)*?\| ( *)([^ |].*)$", line)
            if not cell:
                continue
            content = cell.group(3).rstrip(" |")
            place = re.match(r"^(\d+): ", content)
            if len(cell.group(2)) == 3 and place:
                found.append((number, text, int(place.group(1))))
            elif len(cell.group(2)) == 2:
                text += " " + content
            else:
                number, text = cell.group(1).strip(), content
        return found

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
            for options, width in (([], 100), (["--width", "160"], 160)):
                lines = [line for line in play(self.program, name, "--table", *options)[1].splitlines() if "|" in line]
                self.assertLessEqual(max(map(len, lines)), width)
        self.assertGreater(max(map(len, lines)), 100)
        self.assertEqual(play(self.program, "--width", "39")[0], 2)

    def test_a_weakened_order_is_marked(self):
        site = re.search(r"site (\S+) store release -", play(self.program, "flag.mended", "--sites")[1])[1]
        said = play(self.program, "flag.mended", "--bound", "2", "--weaken", f"{site}=relaxed")[1]
        self.assertRegex(said, r" = 1 \(release, WEAKENED to relaxed\)")

    def test_a_failure_is_stored_and_played_again(self):
        for number, name in enumerate(self.marks()):
            with self.subTest(name):
                stored = self.folder / f"failure_{number}.txt"
                said = play(self.program, name, "--table", "--store", stored)[1]
                code, again = play(self.program, "--replay", stored)
                self.assertEqual(code, 0, again)  # a twin must fail
                tables = [text[text.index("thread 0"):] for text in (said, again)]
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
                self.assertTrue(any(text in row for row in found), f"{number}: {text}\n{said}")

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
        self.assertRegex(said, r"\nExecuted by twins alone:( mistakes\.cpp:\d+)+\n")
        self.assertTrue(said.endswith("; 1 sites never executed\n"), said[-200:])

    def test_the_guide(self):
        """Each order of the guide's protocol is executed, and needed or reviewed."""
        code, said = play(Guide.programs["guide_verify"], "--audit", "--only", "verify.cpp", "--reviewed",
                          Guide.path.parent.parent / "examples/guide/verify_reviewed.txt")
        self.assertEqual(code, 0, said)
        self.assertTrue(said.endswith(" 0 not needed by any check, 2 reviewed; 0 sites never executed\n"), said)

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
        for check in ("messages", "long", "counter", "twice", "barrier", "time"):
            with self.subTest(check):
                limit = {"time": ("--seconds", "0.001"), "long": ("--most-steps", "200")}
                code, said, found = self.audit(check, *limit.get(check, ()))
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
        said = self.audit("long", "--most-steps", "200")[1]
        self.assertIn("CUT OFF: long takes more than 200 steps (--most-steps)\n", said)
        self.assertTrue(said.endswith(", 2 cut off\n"), said)
        # With enough of them nobody notices.
        self.assertEqual(self.audit("long")[2]["totals"]["not_needed"], 2)

    def test_two_orders_of_one_line(self):
        found = self.audit("orders")[2]
        self.assertEqual({(step["what"], step["verdict"]) for site in found["sites"] for step in site["steps"]},
                         {("release -> relaxed", "not_needed"), ("seq_cst -> release", "not_needed"),
                          ("seq_cst -> relaxed", "needed"), ("acquire -> relaxed", "needed")})

    def test_all_at_once(self):
        code, said, found = self.audit("twice")
        self.assertEqual(code, 1)
        self.assertIn("\n\nAll 4 that no check notices, at once: twice fails (DATA RACE, bound 0, 1 execution).\n"
                      "Each verdict holds alone: make one change, and audit again.\n\n4 sites, ", said)
        keys = [step["key"] for site in found["sites"] for step in site["steps"]]
        self.assertEqual(found["together"], {"keys": keys, "check": "twice", "failure": "DATA RACE",
                                             "search": "bound 0, 1 execution"})
        said, found = self.audit("messages")[1:]
        self.assertIn("\n\nAll 2 that no check notices, at once: no check fails.\n\n6 sites, ", said)
        self.assertEqual(len(found["together"]["keys"]), 2)
        self.assertEqual(found["together"]["check"], "")
        self.assertNotIn("at once", self.audit("barrier")[1])
        # By hand: two of them do no harm, and the other two do.
        for chosen, code in ((keys[::2], 0), (keys[:2], 1)):
            weaken = [word for key in chosen for word in ("--weaken", key)]
            done = play(self.program, "twice", *weaken, "--bound", "2")
            self.assertEqual(done[0], code, done[1])
            self.assertIn(f" with {chosen[0]} and {chosen[1]}: ", done[1])

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
        code, said, found = self.audit("--seconds", "0.05")
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


def play_apart(program, *arguments):
    """The status, what is printed, and what is told on standard error."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


class Helpers(unittest.TestCase):
    """The processes that try weakenings at the same time."""

    program = ""
    folder = Path()

    def audit(self, jobs):
        path = self.folder / "audit.json"
        checks = ("messages", "twice", "orders", "counter")
        said = play_apart(self.program, *checks, "--audit", "--jobs", jobs, "--json", path)
        return said, path.read_text()

    def test_they_find_the_same(self):
        alone = self.audit("1")
        self.assertEqual(alone[0][0], 1)
        for jobs in ("2", "3", "40"):
            self.assertEqual(self.audit(jobs), alone)

    @staticmethod
    def state_and_starter(process):
        """The letter of its state, Z if it has ended, and the number of who has started it."""
        try:
            return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            return "Z", ""

    def started_by(self, starter):
        return [each.name for each in Path("/proc").glob("[0-9]*") if self.state_and_starter(each.name)[1] == starter]

    @unittest.skipUnless(sys.platform == "linux", "processes are looked for in /proc")
    def test_they_end_with_who_has_started_them(self):
        endless = [self.program, "messages", "time", "--audit", "--seconds", "100000", "--jobs", "3"]
        with subprocess.Popen(endless, stdout=subprocess.DEVNULL) as starter:
            while len(helpers := self.started_by(str(starter.pid))) < 3:
                pass
            starter.kill()
        while any(self.state_and_starter(each)[0] != "Z" for each in helpers):
            pass

    def test_how_many(self):
        self.assertEqual(play(self.program, "messages", "--audit", "--jobs", "0")[0], 2)
        code, said = play(self.program, "messages", "--jobs", "2")
        self.assertEqual(code, 2)
        self.assertIn("--jobs is for --executions and for --audit", said)

    def test_a_random_search(self):
        """It is the same, whoever plays which executions, and notices that something is shared."""
        for check in ("messages", "counter", "messages at once"):
            alone = play(self.program, check, "--executions", "30000", "--jobs", "1")
            for jobs in ((), ("--jobs", "3")):
                self.assertEqual(play(self.program, check, "--executions", "30000", *jobs), alone)
        # One that takes long to be found: the state of the failure is the number of its execution.
        alone, others = (play(Mistakes.program, "stack", "--executions", "100000", "--jobs", jobs) for jobs in "14")
        self.assertEqual(alone, others)
        self.assertRegex(alone[1], r"after \d+ executions")
        self.assertIn("no two threads",
                      play(Checks.program, "std_atomic", "--executions", "12000", "--jobs", "2")[1])


class Reviewed(unittest.TestCase):
    """The list of what may stay unnoticed."""

    program = ""
    folder = Path()

    LOOKS = "audited.cpp: looks.store(5, memory_order_release); | release -> relaxed\n  A number for people.\n"
    AGAIN = "audited.cpp #2: looks.store(5, memory_order_release); | release -> relaxed\n\tThe same,\n  once more.\n"

    def audit(self, text, *arguments):
        path = self.folder / "reviewed.txt"
        path.write_text(text)
        return play(self.program, *arguments, "--audit", "--reviewed", path)

    def test_what_is_reviewed_is_good(self):
        code, said = self.audit("# Ours.\n" + self.LOOKS + "\n" + self.AGAIN, "messages")
        self.assertEqual(code, 0, said)
        self.assertIn("    release -> relaxed:             reviewed: A number for people.\n", said)
        self.assertIn("    release -> relaxed:             reviewed: The same, once more.\n", said)
        self.assertNotIn("Keys for a list", said)
        self.assertTrue(said.endswith("\n6 sites, 4 weakenings: 2 noticed, 0 not needed by any check, 2 reviewed\n"))

    def test_what_is_left_is_not(self):
        code, said = self.audit(self.AGAIN, "messages")
        self.assertEqual(code, 1, said)
        self.assertIn("Keys for a list of --reviewed:\n" + self.LOOKS.splitlines()[0] + "\n\n", said)

    def test_entries_that_are_not_needed(self):
        needed = "audited.cpp: ready.store(1, memory_order_release); | release -> relaxed\n  Wrong.\n"
        code, said = self.audit(self.LOOKS + self.AGAIN + needed, "messages")
        self.assertEqual(code, 1, said)
        self.assertIn("reviewed.txt:6: it is needed after all, messages notices: audited.cpp: ready.store(1, ", said)
        nothing = self.LOOKS + "audited.cpp: nowhere.load(); | seq_cst -> acquire\n  Gone.\n"
        # The checks of other sites do not run here.
        self.assertNotIn("nothing has this key", self.audit(nothing, "messages")[1])
        code, said = self.audit(nothing, "--seconds", "0.01")
        self.assertEqual(code, 1, said)
        self.assertIn("reviewed.txt:3: nothing has this key: audited.cpp: nowhere.load(); | seq_cst -> acquire\n", said)
        self.assertEqual(said.count("reviewed.txt:"), 1, said)
        # Nor do those of files that nobody asked for.
        for only, count in (("verify/audited.cpp", 1), ("barriers.hpp", 0)):
            said = self.audit(nothing, "--seconds", "0.01", "--only", only)[1]
            self.assertEqual(said.count("nothing has this key"), count, said)
        both = self.audit(nothing, "--seconds", "0.01", "--only", "barriers.hpp", "--only", "audited.cpp")[1]
        self.assertIn("\nbarriers.hpp:" if both.startswith("audited.cpp:") else "\naudited.cpp:", both)

    def test_the_weakest_speaks_for_those_between(self):
        key = "audited.cpp: number.fetch_add(1); | seq_cst -> "
        code, said = self.audit(f"{key}relaxed\n  A statistic.\n", "counter")
        self.assertEqual(code, 0, said)
        self.assertEqual(said.count("reviewed: A statistic."), 4, said)
        code, said = self.audit(f"{key}release\n  A statistic.\n", "counter")
        self.assertEqual(code, 1, said)
        self.assertEqual([line for line in said.splitlines() if line.startswith(key)],
                         [key + order for order in ("acq_rel", "acquire", "relaxed")])

    def test_one_that_is_implied_is_needed(self):
        path = self.folder / "implied.txt"
        path.write_text("mistakes.cpp: first.store(1, Store); | seq_cst -> relaxed\n  As release.\n")
        code, said = play(Mistakes.program, "dekker.mended", "--audit", "--reviewed", path)
        self.assertEqual(code, 1, said)
        self.assertNotIn("seq_cst -> relaxed: ", said)  # release is too weak
        self.assertIn("implied.txt:1: it is needed after all, dekker.mended notices: ", said)

    def test_lines_that_are_never_executed(self):
        keys = [line for line in self.audit("", "--seconds", "0.01")[1].splitlines() if " | " in line]
        self.assertIn("audited.cpp: static_cast<void>(spare.load()); | never executed", keys)
        code, said = self.audit("".join(f"{key}\n  Spare.\n" for key in keys), "--seconds", "0.01")
        self.assertIn("    NEVER EXECUTED, reviewed: Spare.\n", said)
        # What was never searched to its end has no key.
        self.assertEqual(code, 1, said)
        self.assertFalse([key for key in keys if "second.store" in key], keys)
        self.assertRegex(said, r", \d+ cut off; 0 sites never executed\n$")

    def test_files_that_are_no_list(self):
        code, said = self.audit(self.LOOKS.splitlines()[0] + "\n" + self.AGAIN, "messages")
        self.assertEqual(code, 2, said)
        self.assertIn("reviewed.txt:1: it has no reason in an indented line below: audited.cpp: looks.store(5", said)
        self.assertIn("reviewed.txt:1: a reason without a key above it", self.audit("  Why.\n", "messages")[1])
        code, said = self.audit(self.LOOKS + self.LOOKS, "messages")
        self.assertEqual(code, 2, said)
        self.assertIn("reviewed.txt:3: it stands there twice: audited.cpp: looks", said)
        code, said = play(self.program, "--audit", "--reviewed", self.folder / "no_such_list")
        self.assertEqual((code, said), (2, f"tidemark: there is no file {self.folder}/no_such_list\n"))

    def test_options_of_the_audit_alone(self):
        for option in ("--only", "--reviewed", "--json", "--resume"):
            code, said = play(self.program, "messages", option, "x")
            self.assertEqual(code, 2, said)
            self.assertIn("are for --audit", said)
            self.assertIn(f"  {option} ", play(self.program, "--help")[1])


class Tables(unittest.TestCase):
    """The searches of checks, and weakenings that must be noticed, as tables name them."""

    program = ""
    folder = Path()

    CHECKS = "# Ours.\nmessages: bound 2\n\nmessages: random 500\nlong: bound 1\ntime: random 20\norders: bound 0\n" \
             "counter: bound 0\ntwice: bound 1\nbarrier: bound 1\n"
    READY = "audited.cpp: ready.store(1, memory_order_release); | release -> relaxed"
    LOOKS = "audited.cpp: looks.store(5, memory_order_release); | release -> relaxed"

    def play(self, *arguments, **tables):
        options = []
        for kind, text in tables.items():
            path = self.folder / f"{kind}.txt"
            path.write_text(text)
            options += [f"--{kind}", path]
        return play(self.program, *arguments, *options)

    def wrong(self, complaint, **tables):
        self.assertEqual(self.play(**tables), (2, f"tidemark: {self.folder}/{complaint}\n"))
        self.assertEqual(self.play("--list-tests", **tables)[0], 2)

    def test_searches(self):
        code, said = self.play(checks=self.CHECKS)
        self.assertEqual(code, 0, said)
        verdicts = said.splitlines()
        self.assertEqual(len(verdicts), 8)
        self.assertRegex(verdicts[0], r"^messages \[bounded 2\]: holds after \d+ executions$")
        self.assertEqual(verdicts[1], "messages [random]: holds after 500 executions")
        self.assertEqual(verdicts[3], "time [random]: holds after 20 executions")
        self.assertEqual(self.play("long", "time", checks=self.CHECKS)[1].splitlines(), verdicts[2:4])

    def test_twins(self):
        twins = f"{self.READY}\n  messages: bound 1\n\tmessages: random 200\n"
        code, said = self.play(twins=twins)
        self.assertEqual(code, 0, said)
        caught = rf"with {re.escape(self.READY)}: DATA RACE after \d+ executions, as expected\n"
        self.assertRegex(said, rf"^messages \[bounded 1\] {caught}messages \[random\] {caught}$")
        code, said = self.play(twins=f"{twins}{self.LOOKS}\n  messages: bound 1\n")
        self.assertEqual(code, 1, said)
        self.assertRegex(said, rf"with {re.escape(self.LOOKS)}: holds after \d+ executions; a failure was expected\n$")
        code, said = self.play(twins=f"{self.READY}\n  long: bound 1\n")
        self.assertEqual((code, said), (1, f"tidemark: {self.folder}/twins.txt:2: no order that these checks execute "
                                           f"has this key: {self.READY}\n"))

    def test_a_key_by_hand(self):
        """The command that shows what the audit has found."""
        code, said = self.play("messages", "--weaken", self.READY)
        self.assertEqual(code, 1, said)
        self.assertIn("messages: DATA RACE (bound 0, 1 execution)", said)
        self.assertIn("ready = 1 (release, WEAKENED to relaxed)", said)
        code, said = self.play("messages", "--weaken", self.READY, "--blind-seam")
        self.assertEqual(code, 0, said)
        # The second one of two equal lines, and the second order of a line.
        code, said = self.play("messages", "--weaken", self.LOOKS.replace("cpp:", "cpp #2:"), "--bound", "1")
        self.assertEqual(code, 0, said)
        unknown = self.READY.replace("relaxed", "acquire")
        self.assertEqual(self.play("--weaken", unknown, "messages"),
                         (2, f"tidemark: no order that these checks execute has this key: {unknown}\n"))

    def test_several_keys_by_hand(self):
        other = "audited.cpp: word.store(1, Order); | release -> relaxed"
        code, said = self.play("messages", "orders", "--weaken", self.READY, "--weaken", other, "--bound", "1")
        self.assertEqual((code, said), (1, said))
        self.assertIn(f"; never executed, and so not weakened: {other}\n", said)
        code, said = self.play("messages", "--weaken", self.READY, "--weaken", self.READY)
        self.assertEqual(code, 2)
        self.assertIn(f"--weaken twice: {self.READY}\n", said)
        code, said = self.play("messages", "--audit", "--weaken", self.READY)
        self.assertEqual(code, 2)
        self.assertIn("--weaken is not for --audit", said)

    def test_a_twin_fails_anyway(self):
        self.assertEqual(self.play("messages at once", "--expect-failure"),
                         (2, "tidemark: 'messages at once' is a twin, and fails as it is\n"))

    def test_tests(self):
        twin = "messages at once\tmessages at once\n"
        self.assertEqual(self.play("--list-tests")[1],
                         "".join(f"{name}\t{name}\n" for name in self.play("--list")[1].splitlines()))
        said = self.play("--list-tests", checks=self.CHECKS, twins=f"{self.READY}\n  messages: bound 1\n")[1]
        self.assertEqual(said, twin + "messages, bound 2\tmessages\t--bound\t2\n"
                         "messages, random 500\tmessages\t--executions\t500\t--jobs\t1\n"
                         "long, bound 1\tlong\t--bound\t1\n"
                         "time, random 20\ttime\t--executions\t20\t--jobs\t1\norders, bound 0\torders\t--bound\t0\n"
                         "counter, bound 0\tcounter\t--bound\t0\ntwice, bound 1\ttwice\t--bound\t1\n"
                         "barrier, bound 1\tbarrier\t--bound\t1\n"
                         f"twin {self.READY} (messages, bound 1)\tmessages\t--bound\t1\t--weaken\t{self.READY}\t"
                         "--expect-failure\n")

    def test_wrong_tables(self):
        for line, complaint in (("messages bound 2", "'messages bound 2' is not CHECK: SEARCH, such as box: bound 2"),
                                ("message: bound 2", "there is no check 'message'"),
                                ("messages: bound", "'bound' is no search: that is `bound N` or `random N`"),
                                ("messages: bound 2x", "'bound 2x' is no search: that is `bound N` or `random N`"),
                                ("messages: random 0", "'random 0' is no search: that is `bound N` or `random N`"),
                                ("messages: all 3", "'all 3' is no search: that is `bound N` or `random N`")):
            self.wrong(f"checks.txt:2: {complaint}", checks=f"# Ours.\n{line}\n")
        self.wrong("checks.txt has no line for the check 'long'", checks="messages: bound 1\n")
        self.wrong("checks.txt:2: it stands there twice: messages: bound 1",
                   checks="messages: bound 1\nmessages: bound 1\n")
        self.wrong("twins.txt: it has no line", twins="# None yet.\n")
        self.wrong("twins.txt:3: it stands there twice: messages: bound 1",
                   twins=f"{self.READY}\n  messages: bound 1\n  messages: bound 1\n")
        for text, complaint in (("  messages: bound 1", ":1: a check without a key above it: messages: bound 1"),
                                ("messages: bound 1", ":1: 'messages: bound 1' is no key, as the audit prints it: "
                                                      "FILE: TEXT | FROM -> TO"),
                                (f"{self.READY}\n  messages at once: bound 1",
                                 ":2: 'messages at once' is a twin, and fails as it is"),
                                (f"{self.READY}\n{self.LOOKS}\n  messages: bound 1",
                                 f":2: the key above has no check in an indented line below: {self.READY}"),
                                (self.READY, f": the last key has no check in an indented line below: {self.READY}")):
            self.wrong(f"twins.txt{complaint}", twins=f"{text}\n")
        nowhere = self.folder / "nowhere.txt"
        self.assertEqual(self.play("--checks", nowhere), (2, f"tidemark: there is no file {nowhere}\n"))
        for beside in (["--bound", "2"], ["--audit"], ["--weaken", self.READY]):
            code, said = self.play(*beside, checks=self.CHECKS)
            self.assertEqual(code, 2)
            self.assertIn("--checks and --twins name what is played: no search, --weaken or --audit beside", said)


class Resumed(unittest.TestCase):
    """An audit that was interrupted goes on where it was."""

    program = ""
    folder = Path()

    AUDIT = ("messages", "time", "--audit", "--seconds", "100", "--resume")

    def setUp(self):
        self.path = self.folder / "so_far.txt"
        self.path.unlink(missing_ok=True)

    def audit(self, *arguments):
        return play_apart(self.program, *(arguments or self.AUDIT), self.path)

    def test_it_goes_on_after_it_was_killed(self):
        whole = self.audit()
        self.path.unlink()
        with subprocess.Popen([self.program, *self.AUDIT, self.path], stdout=subprocess.PIPE, text=True) as killed:
            while "needed: " not in killed.stdout.readline():
                pass
            killed.send_signal(signal.SIGKILL)
        # A verdict that nobody finds twice shows that the first ones are not looked for again.
        kept = self.path.read_text()
        self.assertIn("\tneeded\t1\tmessages\t", kept)
        self.path.write_text(kept.replace("\tneeded\t1\t", "\tneeded\t4711\t", 1))
        code, said, told = self.audit()
        self.assertIn("messages, DATA RACE, bound 0, 4711 executions\n", said)
        self.assertEqual((code, said.replace("4711 executions", "1 execution")), whole[:2])
        self.assertRegex(told, r"^tidemark: goes on with \d weakenings of .*so_far.txt\n$")

    def test_the_rest_is_found(self):
        whole = self.audit()
        header, first, *others = self.path.read_text().splitlines()
        self.assertEqual(len(others), 4)
        self.path.write_text(f"{header}\n{first}\n")
        self.assertEqual(self.audit(), (*whole[:2], f"tidemark: goes on with 1 weakenings of {self.path}\n"))
        self.assertEqual(self.path.read_text().splitlines(), [header, first, *others])
        self.assertFalse(self.path.with_suffix(".txt.new").exists())

    def test_another_program_begins_anew(self):
        whole = self.audit()[:2]
        kept = self.path.read_text()
        changed = kept.replace("program ", "program 1").replace("\tneeded\t1\t", "\tneeded\t4711\t")
        self.path.write_text(changed)
        code, said, told = self.audit()
        self.assertEqual((code, said), whole)
        self.assertIn(" is of another program, of other checks or of other limits: begins anew\n", told)
        self.assertEqual(self.path.read_text(), kept)
        for other in (("messages", "time", "--audit", "--seconds", "50", "--resume"),
                      ("messages", "--audit", "--seconds", "100", "--resume")):
            self.path.write_text(kept)
            self.assertIn("begins anew", self.audit(*other)[2])

    def test_another_file_is_left_alone(self):
        self.path.write_text("something\nelse\n")
        self.assertEqual(self.audit()[::2],
                         (2, f"tidemark: '{self.path}' is not written by --resume, and is left alone\n"))
        self.assertEqual(self.path.read_text(), "something\nelse\n")

    def test_it_must_be_writable(self):
        self.path = self.folder / "no" / "folder"
        self.assertEqual(self.audit()[::2], (2, f"tidemark: cannot write '{self.path}'\n"))


class Progress(unittest.TestCase):
    """How far it is, on standard error."""

    program = ""

    def test_lines(self):
        told = play_apart(self.program, "messages", "--audit", "--progress", "--jobs", "1")[2].splitlines()
        self.assertEqual(told[:2], ["looks at messages", "audit: 1 of 6 sites, 0 of 4 weakenings"])
        self.assertRegex(told[2], r"^audit: 3 of 6 sites, 1 of 4 weakenings, about \d+ (s|min|h) left$")
        self.assertRegex(told[-2], r"^audit: 5 of 6 sites, 3 of 4 weakenings, about ")
        self.assertEqual(told[-1], "audit: all weakenings that no check has noticed, at once")

    def test_lines_of_several(self):
        told = play_apart(self.program, "messages", "--audit", "--progress", "--jobs", "3")[2].splitlines()
        self.assertEqual(told[:2], ["looks at messages", "audit: 0 of 6 sites, 0 of 4 weakenings"])
        self.assertRegex(told[-2], r"^audit: 5 of 6 sites, 4 of 4 weakenings")

    def test_nobody_asked(self):
        self.assertEqual(play_apart(self.program, "messages", "--audit")[2], "")
        self.assertEqual(play_apart(self.program, "messages", "--progress")[2], "")

    @staticmethod
    def rest(terminal):
        """All that was written. A terminal gives it in pieces, and an error at its end."""
        told = b""
        with contextlib.suppress(OSError):
            while piece := os.read(terminal, 10_000):
                told += piece
        return told.decode()

    def test_a_terminal(self):
        ours, its = pty.openpty()
        done = subprocess.run([self.program, "messages", "--audit"], stdout=subprocess.PIPE, stderr=its, check=False)
        os.close(its)
        told = self.rest(ours)
        os.close(ours)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(told.startswith("\rlooks at messages\x1b[K\r"), told)
        self.assertTrue(told.endswith("\r\x1b[K"), told)
        self.assertNotIn("\n", told)

    def test_a_long_search(self):
        """Until it tells of itself, which it does each second on a terminal."""
        for jobs in ("1", "3"):
            self.look_at([self.program, "time", "--executions", "4000000000", "--jobs", jobs])

    def look_at(self, endless):
        ours, its = pty.openpty()
        with subprocess.Popen(endless, stdout=subprocess.DEVNULL, stderr=its) as searching:
            os.close(its)
            told = ""
            while not re.search(r"time: random, [1-9]\d* executions so far\x1b\[K", told):
                told += os.read(ours, 10_000).decode()
            searching.kill()
        os.close(ours)


class Debugger(unittest.TestCase):
    """What gdb.py tells of a failure that is played again."""

    program = ""
    root = Path()
    folder = Path()

    def debug(self, *commands):
        stored = self.folder / "debugged.txt"
        self.assertEqual(play(self.program, "flag", "--store", stored)[0], 0)
        # Where a call of a function fails, gdb would wait for ever in a condition that makes one.
        called = self.gdb(stored, "break main", "run", "print ((int (*)(void))tidemark_simulated_thread)()")
        if "ptrace: " in called or "Couldn't get registers" in called:
            self.skip("no process may be debugged here")
        if "Couldn't write extended state" in called:
            self.skip("this gdb can't call functions of a program on this processor")
        return self.gdb(stored, f"source {self.root / 'include/tidemark/verify/runner/gdb.py'}", *commands)

    def gdb(self, stored, *commands):
        options = [word for command in commands for word in ("-ex", command)]
        return play("gdb", "-nx", "-q", "-batch", *options, "--args", self.program, "--replay", stored)[1]

    def skip(self, why):
        print(f"not tested: {why}")
        self.skipTest(why)

    def setUp(self):
        if shutil.which("gdb") is None:
            self.skip("there is no gdb (Debian: gdb)")

    def line_of(self, text):
        lines = (self.root / "tests/model/verify/mistakes.cpp").read_text().splitlines()
        return next(number for number, line in enumerate(lines, 1) if text in line)

    def test_where_it_fails(self):
        said = self.debug("run", "print $simulated_thread()", "continue")
        place = rf"mistakes\.cpp:{self.line_of('expect(message.load() == 42')}\b"
        self.assertRegex(said, r"Simulated thread 1\nThe check fails here:\n.*" + place)
        self.assertIn("$1 = 1\n", said)
        self.assertIn("flag: DATA RACE", said)  # it has gone on to the end

    def test_a_condition(self):
        stop = f"break mistakes.cpp:{self.line_of('message.store(42)')} if $simulated_thread() == "
        self.assertRegex(self.debug(stop + "0", "run"), r"message\.store.*\nSimulated thread 0\n")
        said = self.debug(stop + "1", "run")
        self.assertNotIn("message.store", said.split("The check fails here:")[0])
        self.assertIn("The check fails here:", said)

    def test_outside_of_threads(self):
        self.assertIn("$1 = -1\n", self.debug("print $simulated_thread()"))
        said = self.debug("break main", "run", "print $simulated_thread()")
        self.assertIn("$1 = -1\n", said)
        self.assertNotIn("Simulated thread", said)


class Guide(unittest.TestCase):
    """The guide shows what its program prints."""

    programs = {}
    path = Path()

    BLOCK = re.compile(r"(<!-- printed by (\w+): ([^,\n]*), (--[^\n]+) -->\n```text\n)(.*?)(```\n)", re.S)

    def printed(self, block):
        # A path is one of the repository.
        options = [self.path.parent.parent / word if "/" in word else word for word in block.group(4).split()]
        said = play(self.programs[block.group(2)], block.group(3), *options)[1]
        return block.group(1) + said.rstrip() + "\n" + block.group(6)

    def test_what_is_printed(self):
        text = self.path.read_text()
        self.assertGreater(len(self.BLOCK.findall(text)), 5)
        for block in self.BLOCK.finditer(text):
            self.assertEqual(block.group(), self.printed(block))

    def test_a_file_that_is_shown(self):
        shown = re.findall(r"<!-- the whole of (\S+) -->\n```text\n(.*?)```\n", self.path.read_text(), re.S)
        self.assertGreater(len(shown), 0)
        for name, text in shown:
            self.assertEqual(text, (self.path.parent.parent / name).read_text())

    def update(self):
        self.path.write_text(self.BLOCK.sub(self.printed, self.path.read_text()))


if __name__ == "__main__":
    Checks.program, Mistakes.program, Sync.program, guide, guide_sync, audited, root, folder, what = sys.argv[1:10]
    Audit.program = Mistakes.program
    for tests in (Verdicts, Helpers, Reviewed, Tables, Resumed, Progress):
        tests.program, tests.folder = audited, Path(folder)
    Verdicts.source = Path(root) / "tests/model/verify/audited.cpp"
    Guide.programs = {"guide_verify": guide, "guide_verify_sync": guide_sync}
    Sync.source = Path(root) / "tests/model/verify/sync.cpp"
    Debugger.program = Mistakes.program
    Mistakes.root = Debugger.root = Path(root)
    Guide.path = Path(root) / "docs/guide-verify.md"
    if what == "--update":
        Guide().update()
        what = "Guide"
    Mistakes.folder = Debugger.folder = Path(folder)
    Mistakes.folder.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *what.split(",")])
