#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Tries checks of code that is not written for the checker: what is followed, and that the rest is an error.

usage: check_instrumented.py INSTRUMENTED_PROGRAM UNFOLLOWED_PROGRAM THREAD_LOCALS_PROGRAM COMPILER OBJDUMP CMAKE ROOT
                             WORK_FOLDER
"""

import platform
import re
import subprocess
import sys
import unittest
from pathlib import Path


def play(*command):
    said = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run(command, **said, check=False)
    return done.returncode, done.stdout


# What code may use, and the checks and tests that show that it is followed, or is an error that says so.
ROWS = {
    "std::atomic, defaulted orders, operators, templates": [
        "flag", "flag_stored_relaxed", "flag_loaded_relaxed", "operators", "store_buffering", "ring",
        "ring_published_relaxed", "ring_freed_relaxed", "first_values"],
    "fences": ["seqlock", "seqlock_without_fence", "membarrier", "membarrier_forgotten"],
    "plain fields": ["flag_stored_relaxed", "side_by_side", "different_widths", "stack", "stack_relaxed"],
    "std::atomic_ref, __sync and __atomic builtins": [
        "builtins", "builtins_relaxed", "old_builtins", "old_builtins_early", "mixed", "two_sizes"],
    "globals, function statics": ["globals", "function_static", "call_once"],
    "volatile as atomic": ["volatile_flag", "volatile_loop"],
    "inline asm": ["test_inline_assembler"],
    "thread_local": ["test_thread_local", "emulated_thread_local", "thread_specific", "own_errno"],
    "std::mutex": [
        "mutex", "mutex_forgotten", "two_mutexes", "recursive_mutex", "shared_mutex", "timed_mutex", "c_mutex",
        "semaphore"],
    "std::condition_variable": ["condition", "condition_forgotten"],
    "std::atomic::wait, futex": ["wait", "wait_forgotten", "futex"],
    "std::thread, pthread_create": ["thread", "pthread", "c_thread", "async", "test_the_line_that_starts_a_thread"],
    "std::atomic<shared_ptr>": ["atomic_pointer", "atomic_pointer_relaxed", "shared_pointers"],
    "memory_order_consume": ["consumed", "consumed_relaxed"],
    "memcpy, memset of shared memory": [
        "copied_24_relaxed", "copied_300_relaxed", "copied_300", "set_24_relaxed", "set_300_relaxed",
        "filled_24_relaxed", "filled_300_relaxed", "filled_300"],
    "new/delete": [
        "handed", "handed_relaxed", "freed_too_early", "aligned", "aligned_freed_too_early", "memory_again"],
    "16-byte atomics": ["wide_atomic"],
}

# Not in each standard library, nor on each system.
OPTIONAL = {"atomic_pointer", "atomic_pointer_relaxed", "membarrier", "membarrier_forgotten", "boost_spsc",
            "moodycamel"}


class Followed(unittest.TestCase):
    """What is followed: each check holds, and each twin fails for its own reason."""

    program = ""
    source = Path()

    TWINS = {
        "flag_stored_relaxed": "DATA RACE",
        "flag_loaded_relaxed": "DATA RACE",
        "consumed_relaxed": "DATA RACE",
        "store_buffering": "USER ASSERT FAILED",
        "builtins_relaxed": "DATA RACE",
        "old_builtins_early": "DATA RACE",
        "mixed": "DATA RACE",
        "different_widths": "DATA RACE",
        "ring_published_relaxed": "DATA RACE",
        "ring_freed_relaxed": "DATA RACE",
        "seqlock_without_fence": "USER ASSERT FAILED",
        "copied_24_relaxed": "DATA RACE",
        "copied_300_relaxed": "DATA RACE",
        "set_24_relaxed": "DATA RACE",
        "set_300_relaxed": "DATA RACE",
        "filled_24_relaxed": "DATA RACE",
        "filled_300_relaxed": "DATA RACE",
        "handed_relaxed": "DATA RACE",
        "freed_too_early": "ACCESS TO FREED MEMORY",
        "aligned_freed_too_early": "ACCESS TO FREED MEMORY",
        "atomic_pointer": "DATA RACE",
        "atomic_pointer_relaxed": "DATA RACE",
        "stack_relaxed": "DATA RACE",
        "mutex_forgotten": "DATA RACE",
        "two_mutexes": "DEADLOCK",
        "condition_forgotten": "DEADLOCK",
        "wait_forgotten": "DEADLOCK",
        "membarrier_forgotten": "USER ASSERT FAILED",
    }

    def test_each(self):
        code, said = play(self.program)
        self.assertEqual(code, 0, said)
        found = dict(re.findall(r"^(\w+): ([^(]*[^( ])", said, re.M))
        for name in play(self.program, "--list")[1].split():
            self.assertEqual(found[name], self.TWINS.get(name, "holds"), said)
        self.assertLessEqual(set(self.TWINS) - OPTIONAL, set(found))

    def line_of(self, text):
        lines = [number for number, line in enumerate(self.source.read_text().splitlines(), 1) if text in line]
        self.assertEqual(len(lines), 1, text)
        return lines[0]

    def rows_with(self, mark, said):
        """The lines of the source that stand below the rows with this mark."""
        lines = [re.sub(r"^.{4}[| ]*", "", line) for line in said.splitlines()]
        return [int(re.match(r"\d+", below).group()) for above, below in zip(lines, lines[1:]) if mark in above]

    def test_both_sides_of_a_race(self):
        said = play(self.program, "ring_freed_relaxed", "--table")[1]
        self.assertEqual(self.rows_with("RACE: ", said),
                         [self.line_of("value = slots_[head % size];"), self.line_of("slots_[tail % size] = value;")])
        self.assertIn("slots_[tail % size] -> 1 (plain) <- ", said)
        self.assertIn("tail_ = 1 (release)", said)

    def test_values_that_are_old(self):
        said = play(self.program, "seqlock_without_fence", "--table")[1]
        self.assertIn("OLD: newest", said)
        self.assertIn("both belong together", said)

    def test_nothing_of_the_checker_is_shown(self):
        self.assertNotIn("check.hpp", play(self.program, *self.TWINS, "--table")[1])

    def test_a_failure_is_played_again(self):
        stored = self.folder / "failure.txt"
        self.assertEqual(play(self.program, "ring_freed_relaxed", "--store", stored)[0], 0)
        self.assertIn("DATA RACE", play(self.program, "--replay", stored)[1])

    def test_who_has_deleted(self):
        said = play(self.program, "freed_too_early", "--table")[1]
        row = re.search(r"\n(\d+) [ |]+deletes 24 bytes[^\n]*\n[ |]+in delete", said)
        self.assertTrue(row, said)
        self.assertIn(f"\nthis memory was destroyed in row {row[1]}\n", said)

    def test_an_object_has_one_name(self):
        """Whatever is done with it."""
        tables = "".join(play(self.program, name, "--table")[1] for name in self.TWINS)
        self.assertRegex(tables, r"\bmade: ")
        self.assertRegex(tables, r"\bmade (->|=) ")
        self.assertNotIn("made'1", tables)

    def test_the_audit_names_lines(self):
        code, said = play(self.program, "ring", "--audit")
        self.assertEqual(code, 0, said)
        publish = self.line_of("tail_.store(tail + 1, Publish);")
        self.assertRegex(said, rf"{self.source.name}:{publish}: tail_\.store\(tail \+ 1, Publish\);\n"
                         r"    release -> relaxed: +needed: ring, DATA RACE, bound 0, 1 execution\n")
        self.assertTrue(said.endswith("6 sites, 4 weakenings: 4 noticed, 0 not needed by any check\n"), said)

    def test_orders_that_nobody_names_are_audited(self):
        code, said = play(self.program, "operators", "--audit")
        self.assertEqual(code, 0, said)
        self.assertTrue(said.endswith("4 sites, 4 weakenings: 4 noticed, 0 not needed by any check\n"), said)
        line = self.line_of('seen[0] = y;')
        self.assertRegex(said, rf"{self.source.name}:{line}: seen\[0\] = y;\n    seq_cst -> acq")

    def test_the_audit_finds_what_is_not_needed(self):
        code, said = play(self.program, "flag_of_operators", "--audit")
        self.assertEqual(code, 1, said)
        self.assertEqual(len(re.findall(r"seq_cst -> (?:release|acquire): +NOT NEEDED by any check\n", said)), 2, said)
        self.assertEqual(len(re.findall(r"seq_cst -> relaxed: +needed: flag_of_operators, DATA RACE", said)), 2, said)

    def test_one_order_is_weakened(self):
        site = f"{self.source.name}:{self.line_of('head_.store(head + 1, Free);')}:0=relaxed"
        code, said = play(self.program, "ring", "--weaken", site, "--search", "bounded")
        self.assertEqual(code, 1, said)
        self.assertIn("DATA RACE", said)
        code, said = play(self.program, "ring", "--weaken", f"{self.source.name}:1:0=relaxed", "--search", "bounded")
        self.assertIn("never executed, and so not weakened", said)

    def test_somebody_elses_code(self):
        if "boost_spsc" not in play(self.program, "--list")[1]:
            self.skipTest("Boost is not installed")
        code, said = play(self.program, "boost_spsc", "--audit", "--seconds", "60")
        self.assertEqual(code, 0, said)
        found = re.findall(r"^spsc_queue\.hpp:\d+: .*\n    \w+ -> relaxed: +needed: ", said, re.M)
        self.assertEqual(len(found), 4, said)
        self.assertIn("4 weakenings: 4 noticed", said)


class Refused(unittest.TestCase):
    """What can't be followed is an error that says so."""

    program = ""
    thread_locals = ""

    TEXTS = {
        "volatile_flag": "two threads use a volatile variable, and nothing orders them: volatile is no atomic",
        "volatile_loop": "a volatile variable",
        "thread": "a check can't start threads: only its own are followed",
        "pthread": "a check can't start threads: only its own are followed",
        "c_thread": "a check can't start threads: only its own are followed",
        "async": "a check can't start threads: only its own are followed",
        "function_static": "the static of a function can't be followed: it outlives the execution that makes it",
        "call_once": "std::call_once can't be followed: what it makes outlives the execution",
        "recursive_mutex": "a recursive mutex can't be followed",
        "shared_mutex": "a shared mutex can't be followed",
        "timed_mutex": "a timed mutex can't be followed",
        "c_mutex": "a mutex of <threads.h> can't be followed",
        "semaphore": "a semaphore of the system can't be followed",
        "emulated_thread_local": "a thread_local variable can't be followed",
        "thread_specific": "thread-specific data can't be followed",
        "wide_atomic": "an atomic of more than eight bytes can't be followed",
        "two_sizes": "the same memory is used as atomics of different sizes, which can't be followed",
        "futex": "a futex is used in a way that can't be followed",
    }

    def test_each(self):
        self.assertEqual(set(play(self.program, "--list")[1].split()), set(self.TEXTS))
        for check, text in self.TEXTS.items():
            with self.subTest(check):
                code, said = play(self.program, check)
                self.assertEqual(code, 1, said)
                self.assertIn("USER ASSERT FAILED", said)
                self.assertIn(text, said)

    def test_the_line_that_starts_a_thread(self):
        self.assertRegex(play(self.program, "thread")[1],
                         r"FAILS: a check [^:]*: [^:]*\n    \| +\d+: std::thread\{\[\] \{\}\}")

    def test_thread_local(self):
        code, said = play(self.thread_locals)
        self.assertEqual(code, 2, said)
        self.assertIn("tidemark: a thread_local variable can't be followed, because the threads of a check are one "
                      "thread of the system: uses_of_this_thread\n", said)

    def test_inline_assembler(self):
        if platform.machine() not in ("x86_64", "aarch64"):
            self.skipTest("for x86_64 and aarch64")
        runner = self.root / "include/tidemark/verify/runner/instrumented"
        source = self.root / "tests/model/verify/locking_assembler.cpp"
        found = self.folder / "locking.o"
        self.assertEqual(play(self.compiler, "-c", "-O2", source, "-o", found)[0], 0)
        find = (self.cmake, "-D", f"OBJDUMP={self.objdump}")
        code, said = play(*find, "-D", f"OBJECTS={found}", "-P", runner / "find_locks.cmake")
        self.assertNotEqual(code, 0)
        self.assertIn("inline assembler can't be followed, but there is", " ".join(said.split()))


class Rows(unittest.TestCase):
    """Each row has its checks or tests."""

    def test_each(self):
        known = set(play(Followed.program, "--list")[1].split()) | set(Refused.TEXTS) | OPTIONAL
        known |= set(dir(Followed)) | set(dir(Refused))
        for row, names in ROWS.items():
            with self.subTest(row):
                self.assertLessEqual(set(names), known)
        unnamed = set(Followed.TWINS) | set(Refused.TEXTS)
        self.assertEqual(unnamed - {name for names in ROWS.values() for name in names}, set())


if __name__ == "__main__":
    (Followed.program, Refused.program, Refused.thread_locals, Refused.compiler, Refused.objdump, Refused.cmake, root,
     folder) = sys.argv[1:]
    Refused.root = Path(root)
    Followed.source = Path(root) / "tests/model/verify/instrumented.cpp"
    Followed.folder = Refused.folder = Path(folder)
    Followed.folder.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=sys.argv[:1])
