#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The programs behind `dev`, run from a copy of it beside stand-ins for cmake, ctest, g++ and clang-tidy.

  check_tools.py REPOSITORY WORK_FOLDER TEST_CLASS

A stand-in that must seem slow waits until this program lets it go on, so that nothing here depends on time.
"""

import contextlib
import io
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

REPOSITORY = Path(sys.argv[1])
WORK = Path(sys.argv[2])
sys.dont_write_bytecode = True
sys.path.insert(0, str(REPOSITORY / "tools"))

import running  # noqa: E402
import test_targets  # noqa: E402

PATIENCE = 600  # seconds until a test gives up waiting for a line

# cmake configures, says "2 of 3" while it builds test_two, and goes on when it is told to.
CMAKE = """#!/bin/sh
case "$1" in
  --version) echo 'cmake version 3.25.1' ;;
  --build)
    echo "built $*" >>"$WORK/calls"
    printf '[1/3] one\\n[2/3] Building CXX object tests/CMakeFiles/test_two.dir/room/two.cpp.o\\n'
    sh -c 'exec 9>"$WORK/building"; echo begun >&9; read x <"$WORK/go"' &
    wait
    echo '[3/3] three'
    ;;
  *) echo "configured $*" >>"$WORK/calls" ;;
esac
"""

# ctest has four tests. Its lines tell of one failure, its result file of two.
CTEST = """#!/bin/sh
junit=
while [ $# -gt 0 ]; do
  case "$1" in
    --help) echo '  -R <regex>, --tests-regex <regex>'; exit ;;
    --show-only) echo 'Total Tests: 4'; exit ;;
    --output-junit) junit=$2; shift ;;
  esac
  shift
done
echo '    Start 1: first'
echo '1/4 Test #1: first ....   Passed    0.01 sec'
echo '2/4 Test #2: second ...***Failed    0.01 sec'
echo '3/4 Test #3: third ....***Skipped   0.01 sec'
sh -c 'exec 9>"$WORK/testing"; echo begun >&9; read x <"$WORK/go"' &
wait
cat >"$junit" <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)" tests="5">
 <testcase name="first" time="0.01" status="run"><system-out>fine &lt;here&gt;</system-out></testcase>
 <testcase name="second" time="0.01" status="fail"><failure message=""/><system-out>is wrong</system-out></testcase>
 <testcase name="third" time="0" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
  <system-out>not tested: no such machine</system-out></testcase>
 <testcase name="fourth" time="0" status="notrun"><skipped message="Unable to find executable"/>
  <system-out>Unable to find executable: fourth</system-out></testcase>
 <testcase name="fifth" time="0" status="disabled"><system-out>Disabled</system-out></testcase>
</testsuite>
XML
exit 8
"""

ALL_PASS = """#!/bin/sh
for word; do
  case "$word" in
    --help) echo '  -R <regex> -LE <regex>, --label-exclude <regex>'; exit ;;
    --show-only) echo 'Total Tests: 2'; exit ;;
  esac
  if [ "$before" = --output-junit ]; then junit=$word; fi
  before=$word
done
cat >"$junit" <<'XML'
<testsuite name="(empty)" tests="2">
 <testcase name="first" time="0.01" status="run"><system-out>[case] not tested: no io_uring here</system-out></testcase>
 <testcase name="second" time="0.01" status="run"><system-out></system-out></testcase>
</testsuite>
XML
"""


class Copy(unittest.TestCase):
    """A copy of `dev` and tools/, with stand-ins at the head of PATH."""

    def setUp(self):
        self.work = WORK / self._testMethodName
        shutil.rmtree(self.work, ignore_errors=True)
        self.root = self.work / "a copy"
        self.bin = self.work / "bin"
        self.root.mkdir(parents=True)
        self.bin.mkdir()
        shutil.copy(REPOSITORY / "dev", self.root)
        shutil.copytree(REPOSITORY / "tools", self.root / "tools", ignore=shutil.ignore_patterns("__pycache__"))
        self.environment = {
            **os.environ,
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "WORK": str(self.work),
            "DEV_NO_INSTALL": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "TERM": "xterm",
        }
        self.environment.pop("CXX", None)
        for compiler in ("g++", "c++"):  # has every header
            self.stand_in(compiler, "#!/bin/sh\nexec cat >/dev/null\n")
        for program in ("ninja", "meson", "pkg-config"):
            self.stand_in(program, "#!/bin/sh\n")

    def stand_in(self, name, text):
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)


class Slow(Copy):
    """With a cmake and a ctest that wait, each with a child of its own."""

    def setUp(self):
        super().setUp()
        self.stand_in("cmake", CMAKE)
        self.stand_in("ctest", CTEST)
        os.mkfifo(self.work / "go")
        self.alive = {}  # for each stage a pipe that its child has open for writing while it lives
        for stage in ("building", "testing"):
            os.mkfifo(self.work / stage)
            self.alive[stage] = os.open(self.work / stage, os.O_RDONLY | os.O_NONBLOCK)
            self.addCleanup(os.close, self.alive[stage])
        self.text = ""

    def start(self, *arguments, every="0.02"):
        # As an interactive shell starts it: SIGINT is not ignored.
        self.dev = subprocess.Popen(
            [self.root / "dev", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**self.environment, "DEV_PROGRESS_SECONDS": every},
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        self.output = self.dev.stdout.fileno()
        self.addCleanup(self.dev.stdout.close)

    def start_on_terminal(self, *arguments):
        child, self.output = pty.fork()
        if child == 0:
            os.execve(self.root / "dev", [str(self.root / "dev"), *arguments], self.environment)
        self.addCleanup(os.close, self.output)
        return child

    def read(self):
        """Adds what is said next; false at the end."""
        ready, _, _ = select.select([self.output], [], [], PATIENCE)
        self.assertTrue(ready, f"nothing more is said after {self.text!r}")
        try:
            chunk = os.read(self.output, 4096)
        except OSError:  # the other end of a terminal is closed
            chunk = b""
        self.text += chunk.decode()
        return bool(chunk)

    def read_until(self, pattern, times=1):
        while len(re.findall(pattern, self.text)) < times:
            self.assertTrue(self.read(), f"{pattern} was not said {times} times: {self.text!r}")

    def read_all(self):
        while self.read():
            pass

    def wait_for(self, stage):
        """Until the child of the stand-in for this stage runs."""
        ready, _, _ = select.select([self.alive[stage]], [], [], PATIENCE)
        self.assertTrue(ready, f"{stage} has not begun")
        self.assertEqual(os.read(self.alive[stage], 100), b"begun\n")

    def let_go(self):
        with open(self.work / "go", "w") as go:
            go.write("go\n")

    def expect_ended(self, stage):
        ready, _, _ = select.select([self.alive[stage]], [], [], PATIENCE)
        self.assertTrue(ready, f"a child is still {stage}")
        self.assertEqual(os.read(self.alive[stage], 100), b"")


class Progress(Slow):
    def test_lines_come_while_nothing_happens(self):
        self.start("test")
        self.wait_for("building")
        self.read_until(r"build dev \.\.\. test_two +2 of 3 +\d+ s, still running\n", times=3)
        self.let_go()
        self.wait_for("testing")
        self.read_until(r"dev: 3 of 4 tests, 1 failed.*\n", times=3)
        self.let_go()
        self.read_all()
        self.assertEqual(self.dev.wait(), 1)
        self.assertNotIn("\r", self.text)

    def test_few_lines_are_enough_for_a_pipe(self):
        self.start("test", every="1000")
        for stage in ("building", "testing"):
            self.wait_for(stage)
            self.let_go()
        self.read_all()
        self.assertEqual(self.dev.wait(), 1)
        self.assertNotIn(" of 3", self.text)
        self.assertNotIn(" of 4", self.text)

    def test_one_line_moves_on_a_terminal(self):
        child = self.start_on_terminal("test")
        self.wait_for("building")
        self.read_until(r"\rbuild dev \.\.\. test_two +2 of 3 +\d+ s")
        self.let_go()
        self.wait_for("testing")
        self.read_until(r"\rdev: 3 of 4 tests, 1 failed")
        self.let_go()
        self.read_all()
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 1)

    def test_results_come_from_the_result_file(self):
        self.start("test", every="1000")
        for stage in ("building", "testing"):
            self.wait_for(stage)
            self.let_go()
        self.read_all()
        self.dev.wait()
        self.assertIn("these tests failed:\n  second\n  fourth\n", self.text)
        self.assertIn("is wrong", self.text)
        self.assertIn("dev: 5 tests, 1 passed, 2 failed, 1 skipped, 1 disabled", self.text)

    def test_a_line_of_ninja_is_shortened_to_the_target(self):
        long = "model_mutant_allocation_nested_lock_looks_for_a_way"
        for text, name in (
            ("Building CXX object tests/CMakeFiles/test_wait.dir/fence/wait.cpp.o", "test_wait"),
            ("Building CXX object tests/model/CMakeFiles/model_hub_pinned.dir/queue/hub.cpp.o", "model_hub_pinned"),
            ("Building CXX object CMakeFiles/checks.dir/all/a_hpp.cpp.o", "checks: a_hpp.cpp"),
            ("Linking CXX executable tests/test_wait", "test_wait"),
            (f"Linking CXX executable tests/model/{long}", long),
            ("Generating hot_path.s", "hot_path.s"),
            ("Re-running CMake...", "Re-running CMake"),
            ("two", "two"),
        ):
            line = f"[12/300] {text}"
            self.assertEqual(running.edge_state(line), f"12 of 300, {name}"[:57])
            script = '. "$1/tools/steps.sh"; step_start=0; step_progress "$2"; step_state "$3"; echo "$step_text"'
            shown = subprocess.check_output(["bash", "-c", script, "", self.root, line, "build dev"], text=True)
            self.assertEqual(shown[:46], f"{f'build dev ... {name}'[:46]:<46}")
            self.assertRegex(shown[46:], r"^ +12 of 300 +\d+ s\n$")
        self.assertEqual(running.edge_state("In [1/2] there is nothing"), "")

    def check_what_is_run(self, arguments, target, labels):
        self.stand_in("ctest", ALL_PASS.replace("#!/bin/sh\n", '#!/bin/sh\necho "ctest $*" >>"$WORK/calls"\n'))
        self.start(*arguments)
        self.wait_for("building")
        self.let_go()
        self.read_all()
        self.assertEqual(self.dev.wait(), 0, self.text)
        calls = (self.work / "calls").read_text()
        self.assertIn(f"--target {target}\n", calls)
        self.assertIn(labels, calls)

    def test_without_an_option_it_runs_what_a_newcomer_waits_for(self):
        self.check_what_is_run(["test"], "tidemark_first_tests", " -L ^(unit|house|model-first)$\n")

    def choose_targets(self, answer):
        """Lets the program say that these targets are needed, and that the stem stands for `^some`."""
        script = f'import sys\nprint("^some" if "--stems" in sys.argv else {answer!r})\n'
        (self.root / "tools" / "test_targets.py").write_text(script)

    def test_what_is_chosen_is_built_alone(self):
        self.choose_targets("one\ntwo")
        self.check_what_is_run(["test", "some"], "one two", "|model-first|")
        self.assertIn(" -R ^some\n", (self.work / "calls").read_text())

    def test_what_can_not_be_foreseen_is_built(self):
        self.choose_targets("everything")
        self.check_what_is_run(["test", "-R", "any"], "tidemark_first_tests", " -L ^(unit|house|model-first)$ -R any\n")

    def test_all_runs_more(self):
        self.check_what_is_run(["test", "--all"], "tidemark_all_tests", "-LE ^model-full$\n")

    def test_a_part_leaves_out_those_of_other_parts(self):
        self.check_what_is_run(["test", "--all", "--part", "2/9"], "tidemark_all_tests",
                               "-LE ^(model-full|other-part)$\n")

    def test_an_option_takes_the_place_of_what_is_left_out(self):
        self.check_what_is_run(["test", "-LE", "soak", "--all"], "tidemark_all_tests", "65536 -LE soak\n")


class Ending(Slow):
    def check(self, number, stages):
        self.start("test", every="1000")
        for stage in stages[:-1]:
            self.wait_for(stage)
            self.let_go()
        self.wait_for(stages[-1])
        self.dev.send_signal(number)  # to this one alone
        self.read_all()
        self.assertEqual(self.dev.wait(), 130, self.text)
        self.expect_ended(stages[-1])

    def test_sigint_ends_the_build(self):
        self.check(signal.SIGINT, ["building"])

    def test_sigterm_ends_the_build(self):
        self.check(signal.SIGTERM, ["building"])

    def test_sigint_ends_the_tests(self):
        self.check(signal.SIGINT, ["building", "testing"])

    def test_sigterm_ends_the_tests(self):
        self.check(signal.SIGTERM, ["building", "testing"])

    def check_terminal(self, stages):
        child = self.start_on_terminal("test")
        for stage in stages[:-1]:
            self.wait_for(stage)
            self.let_go()
        self.wait_for(stages[-1])
        os.write(self.output, b"\x03")
        self.read_all()
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 130, self.text)
        self.expect_ended(stages[-1])

    def test_control_c_ends_the_build(self):
        self.check_terminal(["building"])

    def test_control_c_ends_the_tests(self):
        self.check_terminal(["building", "testing"])


class Packages(Copy):
    """Needs a package `there-is-none`, which the stand-in for apt-get installs."""

    INSTALLING = 'cp "$WORK/bin/ninja" "$WORK/bin/there-is-none"'

    def setUp(self):
        super().setUp()
        self.stand_in("sudo", '#!/bin/sh\nif [ "$1" = -n ]; then shift; fi\nexec "$@"\n')
        self.apt_get(self.INSTALLING)
        del self.environment["DEV_NO_INSTALL"]

    def apt_get(self, installing, otherwise=0):
        calls = 'echo "$*" >>"$WORK/apt"'
        answers = f'*" install "*) {installing} ;; *) exit {otherwise} ;;'
        self.stand_in("apt-get", f'#!/bin/sh\n{calls}\ncase "$*" in {answers} esac\n')

    def need(self, **environment):
        (self.work / "apt").write_text("")
        done = subprocess.run(
            ["bash", self.root / "tools" / "packages.sh", "need", "g++", "there-is-none"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env={**self.environment, **environment},
            check=False,
        )
        return done, (self.work / "apt").read_text()

    def test_what_is_missing_is_installed_once(self):
        done, calls = self.need()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(calls, "-q -y update\n-q -y install --no-install-recommends there-is-none\n")
        done, calls = self.need()
        self.assertEqual((done.returncode, calls), (0, ""))

    def test_old_lists_may_do(self):
        self.apt_get(self.INSTALLING + "; exit 0", otherwise=100)
        done, _ = self.need()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("apt-get update failed", done.stdout)

    def test_a_failure_is_shown_with_the_command(self):
        self.apt_get("echo 'no such package'; exit 100")
        done, _ = self.need()
        self.assertEqual(done.returncode, 3)
        self.assertIn("no such package", done.stderr)
        self.assertIn("apt-get install --no-install-recommends there-is-none", done.stderr)

    def test_an_installation_that_changes_nothing_is_a_failure(self):
        self.apt_get("exit 0")
        done, _ = self.need()
        self.assertEqual(done.returncode, 3)
        self.assertIn("still missing", done.stderr)

    def test_nothing_is_installed_where_that_is_not_wanted(self):
        done, calls = self.need(DEV_NO_INSTALL="1")
        self.assertEqual((done.returncode, calls), (3, ""))
        self.assertIn("sudo apt-get install --no-install-recommends there-is-none", done.stderr)


class Demo(Copy):
    def test_it_does_without_python_and_ends_as_the_pipeline_does(self):
        self.stand_in("python3", '#!/bin/sh\necho "python3 $*" >>"$WORK/python"\nexit 1\n')
        examples = self.root / "build" / "release" / "examples"
        self.stand_in(
            "cmake",
            '#!/bin/sh\ncase "$1" in --version) echo "cmake version 3.25.1" ;; esac\n',
        )
        examples.mkdir(parents=True)
        for name, status in (("quickstart", 0), ("pipeline", 7)):
            (examples / name).write_text(f'#!/bin/sh\necho "{name} $*"\nexit {status}\n')
            (examples / name).chmod(0o755)
        command = [self.root / "dev", "demo", "some file"]
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment, check=False)
        self.assertEqual(done.returncode, 7, done.stdout + done.stderr)
        self.assertIn("quickstart \n", done.stdout)
        self.assertIn(f"pipeline --trace {self.root}/build/trace.html some file\n", done.stdout)
        self.assertFalse((self.work / "python").exists())


class Matrix(Copy):
    def setUp(self):
        super().setUp()
        self.stand_in("ctest", ALL_PASS)
        self.stand_in("g++-12", "#!/bin/sh\necho 'g++-12 (Some System) 12.2.0'\n")
        self.cmake("exit 0")

    def cmake(self, building):
        self.stand_in(
            "cmake", f'#!/bin/sh\ncase "$1" in --version) echo "cmake version 3.25.1" ;; --build) {building} ;; esac\n'
        )

    def matrix(self, *arguments):
        command = [self.root / "dev", "matrix", *arguments]
        path = f"{self.bin}:/usr/bin:/bin"
        return subprocess.run(
            command, capture_output=True, text=True, env={**self.environment, "PATH": path}, check=False
        )

    def test_a_row_counts_tests_and_says_what_was_left_out(self):
        done = self.matrix("gcc12")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"gcc12 +g\+\+-12 12\.2\.0 +2/2 +\d+ +passed\n")
        self.assertIn("gcc12: 1 not tested: no io_uring here\n", done.stdout)

    def test_a_part_of_the_kinds(self):
        told = self.root / "told.txt"
        version = '[ "$1" != --version ] || echo "cmake version 3.25.1"'
        self.stand_in("cmake", f'#!/bin/sh\necho "$@" >>"{told}"\n{version}\n')
        self.assertEqual(self.matrix("gcc12").returncode, 0)
        self.assertEqual(self.matrix("--part", "2/3", "gcc12").returncode, 0)
        kinds = [word for word in told.read_text().split() if word.startswith("-DTIDEMARK_TEST_KINDS=")]
        self.assertEqual(kinds, ["-DTIDEMARK_TEST_KINDS=all", "-DTIDEMARK_TEST_KINDS=2/3"])
        for part in ("4/3", "1/9", ""):
            self.assertEqual(self.matrix("gcc12", "--part", *part.split()).returncode, 2)

    def test_a_row_that_can_not_be_configured_fails(self):
        self.stand_in(
            "cmake",
            '#!/bin/sh\ncase "$1" in --version) echo "cmake version 3.25.1" ;; *) echo unknown; exit 1 ;; esac\n',
        )
        done = self.matrix("gcc12")
        self.assertEqual(done.returncode, 1)
        self.assertIn("unknown", done.stderr)
        self.assertRegex(done.stdout, r"gcc12 .* - +\d+ +FAILED\n")

    def test_a_row_of_which_a_program_can_not_be_built_fails_and_its_tests_are_run(self):
        self.cmake("echo 'no such thing'; exit 1")
        done = self.matrix("gcc12")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no such thing", done.stderr)
        self.assertRegex(done.stdout, r"gcc12 .* 2/2 +\d+ +FAILED\n")

    def test_a_row_without_its_tools_is_a_failure_unless_skips_are_allowed(self):
        row = ("i386", "i386", "i386")
        packages = self.root / "tools" / "packages.sh"
        packages.write_text(packages.read_text().replace("i686-linux-gnu", "there-is-none"))
        matrix = self.root / "tools" / "matrix.py"
        matrix.write_text(matrix.read_text().replace("i686-linux-gnu", "there-is-none-linux-gnu"))
        for options, status in (([], 1), (["--allow-skips"], 0)):
            done = self.matrix(row[0], "gcc12", *options)
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
            self.assertRegex(done.stdout, r"i386 +- +- +- +skipped: apt-get install ")
            self.assertRegex(done.stdout, r"gcc12 .* passed\n")


# A program of Google Benchmark, which knows the rows of $WORK/rows.json and measures those that the filter names.
PROGRAM = """#!/usr/bin/env python3
import json, os, re, sys
work, name = os.environ["WORK"], os.path.basename(sys.argv[0])
options = dict(word[len("--benchmark_"):].split("=", 1) for word in sys.argv[1:])
with open(f"{work}/calls", "a") as calls:
    calls.write(f"ran {name}\\n")
if os.path.exists(f"{work}/fails_{name}"):
    sys.exit("benchmark aborted: " + name)
rows = json.load(open(f"{work}/rows.json")).get(name, {})
found = [{"run_type": "iteration", "run_name": f"{row}/iterations:5/manual_time", **counters}
         for row, counters in rows.items() if re.search(options["filter"], row)]
json.dump({"context": {"compiler": "g++ 12", "build": "optimised"}, "benchmarks": found}, open(options["out"], "w"))
"""

# cmake makes the programs that are wanted, or all, and keeps what was printed before that.
BUILDS_BENCHMARKS = """#!/bin/sh
case "$1" in
  --version) echo 'cmake version 3.25.1' ;;
  --build)
    if [ -e "$WORK/wrong" ]; then echo '[1/2] one'; echo 'no such thing'; exit 1; fi
    folder=$2
    wanted=$(echo "$*" | sed -n 's/.*--target //p')
    if [ -z "$wanted" ]; then cp "$WORK/said" "$WORK/said_first"; fi
    echo "built ${wanted:-all}" >>"$WORK/calls"
    mkdir -p "$folder/bench"
    for program in ${wanted:-$(cat "$WORK/all")}; do
      if [ -e "$WORK/lacks_$program" ]; then continue; fi
      cp "$WORK/program" "$folder/bench/$program"
      chmod +x "$folder/bench/$program"
    done
    ;;
  *) echo "configured" >>"$WORK/calls" ;;
esac
"""


class Bench(Copy):
    """`dev bench` with the texts of the real benchmarks, and programs that measure what they are told."""

    def setUp(self):
        super().setUp()
        no_sources = shutil.ignore_patterns("__pycache__", "*.cpp", "*.hpp")
        shutil.copytree(REPOSITORY / "bench", self.root / "bench", ignore=no_sources)
        self.parts = sorted(path.stem for path in self.root.glob("bench/*/*.py"))
        (self.work / "all").write_text(" ".join(f"bench_{part}" for part in ("probe", *self.parts)))
        (self.work / "program").write_text(PROGRAM)
        self.stand_in("cmake", BUILDS_BENCHMARKS)
        self.environment.pop("PYTHONUNBUFFERED", None)
        self.rows(bench_probe=self.row("probe/one_cycle_loop", 0.25))

    @staticmethod
    def row(name, nanoseconds, **counters):
        return {name: {"min_ns": nanoseconds, "median_ns": nanoseconds, **counters}}

    def rows(self, **programs):
        (self.work / "rows.json").write_text(json.dumps(programs))

    def calls(self):
        path = self.work / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def bench(self, *arguments, status=0):
        """Returns what is said on stdout and on stderr."""
        with (self.work / "said").open("w") as said:
            done = subprocess.run(
                [self.root / "dev", "bench", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.PIPE,
                text=True,
                env=self.environment,
                check=False,
            )
        said = (self.work / "said").read_text()
        self.assertEqual(done.returncode, status, said + done.stderr)
        return said, done.stderr

    def test_a_wrong_name_is_refused_with_the_list(self):
        for arguments in (["bogus"], ["coherency", "bogus"], ["--quick", "bogus"]):
            _, said = self.bench(*arguments, status=2)
            self.assertIn("there is no part 'bogus'", said)
            for part in self.parts:
                self.assertRegex(said, rf"(?m)^  {part} +\S.*$")
        self.bench("--bogus", status=2)
        self.assertEqual(self.calls(), [])

    def test_the_list_names_each_part_with_a_line(self):
        said, _ = self.bench("--list")
        self.assertEqual([line.split()[0] for line in said.splitlines()][0], "headline")
        self.assertEqual(sorted(line.split()[0] for line in said.splitlines()), self.parts)
        for line in said.splitlines():
            self.assertGreater(len(line.split()), 5, line)
            self.assertLessEqual(len(line), 120)
        self.assertEqual(self.calls(), [])

    def test_each_program_has_a_text_and_each_text_a_program(self):
        folders = [path for path in (REPOSITORY / "bench").iterdir() if path.name not in ("peers", "support")]
        for folder in folders:
            programs, texts = ({path.stem for path in folder.glob(f"*.{kind}")} for kind in ("cpp", "py"))
            self.assertEqual(programs, texts, folder)

    def test_the_first_lines_measure_signals_for_which_threads_wait(self):
        rows = {"idle/progress_fence": 1, "paced/progress_fence/1000": 2, "due/progress_fence/1000": 3}
        self.rows(bench_headline={name: row for key in rows for name, row in self.row(key, rows[key]).items()})
        said, _ = self.bench("headline", "--quick")
        lines = {line[:31].strip(): line[31:].split()[:2] for line in said.splitlines()}
        self.assertEqual(lines["signal, nobody due"][0], "1")
        self.assertEqual(lines["signal, 1,000 asleep, none due"][0], "2")
        self.assertEqual(lines["signal, one due of 1,000"][0], "3")
        for waited in ("a turn there and back, p50, p99", "1,000 signals for 1,000 asleep"):
            self.assertEqual(lines[waited], ["not", "measured"])

    def test_names_build_and_run_these_parts_only(self):
        said, _ = self.bench("coherency", "domain", "--quick")
        ran = [f"ran bench_{name}" for name in ("probe", "coherency", "probe", "domain", "probe")]
        self.assertEqual(self.calls(), ["configured", "built bench_probe bench_coherency bench_domain", *ran])
        self.assertIn("Coherency:", said)
        self.assertNotIn("five lines", said)

    def test_the_first_lines_come_before_the_rest_is_built(self):
        self.bench("--quick")
        self.assertIn("1,000 signals for 1,000", (self.work / "said_first").read_text())
        built = [call for call in self.calls() if call.startswith("built")]
        self.assertEqual(built, ["built bench_probe bench_headline", "built all"])
        ran = [call.removeprefix("ran bench_") for call in self.calls() if call.startswith("ran")]
        self.assertEqual(ran[:2], ["probe", "headline"])
        self.assertEqual(set(ran), {"probe", *self.parts})

    def test_parts_for_which_nothing_is_measured_are_printed(self):
        self.rows()
        said, _ = self.bench(*self.parts)
        for line in ("signal, nobody due  .* not measured", "map / coherency_tracker, 16 runs  .* not measured"):
            self.assertRegex(said, line.replace("  .* ", " +"))

    def headline(self, signal, can_be_had):
        row = self.row
        self.rows(
            bench_headline={
                **row("idle/progress_fence", signal),
                **row("idle/release_store", 0.2),
                **row("idle/store_load_and_branch", can_be_had),
                **row("idle/ck_ec", 8 * signal),
                **row("idle/std_atomic", 50 * signal),
                **row("paced/progress_fence/1000", 300),
                **row("paced/release_store/1000", 200),
                **row("paced/store_load_and_branch/1000", 240),
                **row("paced/condition_variable/1000", 3e6),
                **row("due/progress_fence/1000", 9000),
                **row("due/futex/1000", 8000),
                **row("due/std_atomic/1000", 4.5e6),
                **row("ping_pong/progress_fence/two_cores", 0, p50_ns=400, p99_ns=500),
                **row("ping_pong/progress_fence.spinning/two_cores", 0, p50_ns=390, p99_ns=480),
                **row("ping_pong/spinning_word/two_cores", 0, p50_ns=300, p99_ns=400),
                **row("ping_pong/condition_variable/two_cores", 0, p50_ns=80e3, p99_ns=150e3),
                **row("lockstep/progress_fence/free", 8.4e6),
                **row("lockstep/futex/free", 8e6),
                **row("lockstep/ck_ec/free", 2e9),
            }
        )
        said, _ = self.bench("headline")
        lines = said[said.index("five lines\n") :].splitlines()
        return [re.sub(" +", " ", line) for line in lines[3:8]]

    def test_five_lines_are_first(self):
        self.assertEqual(
            self.headline(0.3, 0.28),
            [
                "signal, nobody due 0.300 ns a store: here 1.50x, can be had 1.40x 8.00x 50x -",
                "signal, 1,000 asleep, none due 300 ns a store: here 1.50x, can be had 1.20x - - 10,000x",
                "signal, one due of 1,000 9 us a bare wake: here 1.12x, can be had 1.00x - 500x -",
                "a turn there and back, p50, p99 400 ns, 500 ns bare words: here 1.33x, can be had 1.30x -, - -, -"
                " 200x, 300x",
                "1,000 signals for 1,000 asleep 8.4 ms bare wakes: here 1.05x, can be had 1.00x 238x - -",
            ],
        )

    def test_no_line_of_the_first_five_is_a_bare_failure(self):
        for line in self.headline(20, 0.2):
            self.assertIn("here", line)
            self.assertNotIn("TARGET", line)

    def verdict(self, ours, least):
        """What a line says whose target is 1.1 times another row that takes 1 ns."""
        sys.path.insert(0, str(self.root / "tools"))
        try:
            from report_page import Page, Results
        finally:
            sys.path.pop(0)
        results = Results()
        results.rows = {name: [{"min_ns": value}] for name, value in (("ours", ours), ("bare", 1), ("least", least))}
        with contextlib.redirect_stdout(io.StringIO()) as said:
            Page(results).compare("ours / bare", "ours", "bare", "min_ns", at_most=1.1, least="least")
        return re.search(r"<= 1.1x +(.*)", said.getvalue()).group(1)

    def test_a_target_that_the_processor_decides_says_what_can_be_had(self):
        self.assertEqual(self.verdict(1.05, 1.5), "PASS")
        self.assertEqual(self.verdict(1.55, 1.5), "PASS: here 1.55x, can be had 1.50x")
        self.assertEqual(self.verdict(1.7, 1.5), "OVER TARGET: here 1.70x, can be had 1.50x")
        self.assertEqual(self.verdict(1.7, 1), "OVER TARGET")

    def test_a_build_that_fails_is_a_failure(self):
        (self.work / "wrong").touch()
        _, said = self.bench("coherency", status=1)
        self.assertIn("no such thing\n", said)
        self.assertNotIn("[1/2]", said)

    def test_a_program_that_is_missing_is_a_failure(self):
        (self.work / "lacks_bench_coherency").touch()
        _, said = self.bench("coherency", status=1)
        self.assertRegex(said, "there is no program .*bench_coherency\n")

    def test_a_benchmark_that_fails_is_told_and_the_others_are_run(self):
        (self.work / "fails_bench_coherency").touch()
        said, _ = self.bench("coherency", "domain", status=1)
        self.assertRegex(said, "FAILED: bench_coherency, .* status 1: benchmark aborted: bench_coherency\n")
        self.assertIn("A signal of a fence of several domains", said)

    def test_a_row_that_fails_is_a_note(self):
        wrong = {"error_occurred": True, "error_message": "not what is measured"}
        self.rows(bench_coherency={"access/map/16": wrong})
        said, _ = self.bench("coherency")
        self.assertIn("note      access/map/16: not what is measured\n", said)


class Tidy(Copy):
    """tidy.py in a repository of five files, with a clang-tidy that complains of the word `wrong`."""

    def setUp(self):
        super().setUp()
        self.stand_in(
            "clang-tidy-19",
            '#!/bin/sh\nfor file; do :; done\necho "$file" >>"$WORK/checked"\nif grep wrong "$file"; then exit 1; fi\n',
        )
        self.write("include/tidemark/low.hpp", "int low;\n")
        self.write("include/tidemark/high.hpp", "#include <tidemark/low.hpp>\n")
        self.write("tests/room/low.cpp", "#include <tidemark/low.hpp>\n")
        self.write("tests/room/high.cpp", "#include <tidemark/high.hpp>\n")
        self.write("examples/show.cpp", "int main() {}\n")
        self.git("init", "-q", "-b", "main")
        self.commit()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def git(self, *arguments):
        identity = ["-c", "user.name=tests", "-c", "user.email=tests@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", self.root, *identity, *arguments], check=True, stdout=subprocess.DEVNULL)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "work")

    def tidy(self, *options):
        (self.work / "checked").write_text("")
        command = [sys.executable, self.root / "tools" / "tidy.py", self.root / "build", *options]
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment, check=False)
        checked = (self.work / "checked").read_text().split("\n")
        prefix = f"{self.root.resolve()}/"
        return done, sorted(name.removeprefix(prefix) for name in checked if name)

    def expect(self, options, *sources):
        done, checked = self.tidy(*options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(checked, list(sources))

    def test_without_options_it_checks_everything(self):
        self.expect([], "examples/show.cpp", "tests/room/high.cpp", "tests/room/low.cpp")

    def test_what_has_changed_is_told_from_what_has_not(self):
        self.expect(["--changed", "HEAD"])
        self.write("examples/show.cpp", "int main() { return 0; }\n")
        self.expect(["--changed", "HEAD"], "examples/show.cpp")
        self.write("tests/room/new.cpp", "int added;\n")
        self.expect(["--changed", "HEAD"], "examples/show.cpp", "tests/room/new.cpp")

    def test_a_changed_header_is_checked_through_the_nearest_source(self):
        self.write("include/tidemark/low.hpp", "long low;\n")
        self.expect(["--changed", "HEAD"], "tests/room/low.cpp")
        (self.root / "tests/room/low.cpp").unlink()
        self.expect(["--changed", "HEAD"], "tests/room/high.cpp")

    def test_the_base_is_where_the_branch_left_main_or_the_commit_before(self):
        self.write("examples/show.cpp", "int main() { return 0; }\n")
        self.commit()
        self.expect(["--changed"], "examples/show.cpp")
        self.git("checkout", "-q", "-b", "topic")
        self.write("tests/room/low.cpp", "#include <tidemark/low.hpp>\nint more;\n")
        self.commit()
        self.write("tests/room/high.cpp", "#include <tidemark/high.hpp>\nint more;\n")
        self.commit()
        self.expect(["--changed"], "tests/room/high.cpp", "tests/room/low.cpp")
        done, _ = self.tidy("--changed", "bogus")
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no commit 'bogus'", done.stderr)

    def test_a_complaint_is_a_failure(self):
        self.write("tests/room/low.cpp", "wrong\n")
        done, _ = self.tidy("--changed", "HEAD")
        self.assertEqual(done.returncode, 1)
        self.assertIn("wrong", done.stdout)
        self.assertIn("1 of 1 files have complaints", done.stderr)


class Targets(unittest.TestCase):
    """test_targets.py, with a repository of two rooms in which CMake has configured, and nothing is built."""

    SOURCES = {
        "tests/support/kinds.hpp": """
            #define SOME_OF(one, other) other
            #define EVERY_KIND testing::first, \\
                SOME_OF(testing::second, testing::first)
            TYPE_TO_STRING_AS("kind/first", testing::first);
            TYPE_TO_STRING_AS("kind/second, of 2", testing::second);
            """,
        "tests/fence/wait.cpp": r"""
            // TEST_CASE("in a comment") {
            TEST_CASE("[A1] a \"wait\" "
                      "ends" * doctest::skip()) { text = "TEST_CASE(\"in a string\")"; big = 1'000; }
            TEST_CASE_TEMPLATE("no wake-up is lost, ever", Kind, EVERY_KIND, own<kind_of<int>, 3>) {}
            TYPE_TO_STRING_AS("own", own<kind_of<int>, 3>);
            """,
        "tests/log/clock.cpp": 'TEST_CASE("time") {}',
        "tests/fuzz/wait.cpp": "the rooms are those of the headers",
        "tests/model/programs.table": "# comment | x\nheap | fence | symmetric | symmetric\n",
        "tests/model/fence/mutants/deaf.mutant": "",
    }
    CONFIGURED = """
        include("FOLDER/test_wait.include.cmake")
        include("FOLDER/test_clock.include.cmake")
        add_test([=[model heap a.b, symmetric]=] "FOLDER/model_heap" "a.b")
        add_test("twin deaf" "FOLDER/deaf" "a.b")
        add_test("house: reader" "cmake" "-D" "LIST=FOLDER/list.txt" "FOLDER/made.s")
        add_test("house: all" "check" "FOLDER")
        add_test("house: nothing" "check" "--self-test")
        add_test("page: written" "FOLDER/writer")
        add_test("page: shown" "node")
        set_tests_properties("page: written" PROPERTIES FIXTURES_SETUP pages)
        set_tests_properties("page: shown" PROPERTIES FIXTURES_REQUIRED pages)
        set_tests_properties("twin deaf" PROPERTIES LABELS quick)
        """
    NINJA = """
        build deaf: link
        build all.stamp list.o | made.s ${cmake_ninja_workdir}made.s: make x
        build writer model_heap: link
        """

    def setUp(self):
        self.root = WORK / self._testMethodName
        shutil.rmtree(self.root, ignore_errors=True)
        for room in ("fence", "log"):
            (self.root / "include" / "tidemark" / room).mkdir(parents=True)
        for name, text in self.SOURCES.items():
            self.write(name, text)
        self.path = self.root.resolve() / "build"
        lines = [line.strip() for line in self.CONFIGURED.replace("FOLDER", str(self.path)).split("\n")]
        self.write("build/CTestTestfile.cmake", "\n".join(lines))
        self.write("build/build.ninja", "\n".join(line.strip() for line in self.NINJA.split("\n")))
        self.write("build/list.txt", f"{self.path}/list.o\n{self.path}/foreign.o\n")
        for stem in ("wait", "clock"):
            self.write(
                f"build/test_{stem}.include.cmake",
                f"if(EXISTS [==[{self.path}/test_{stem}.ctest.cmake]==])\n"
                f"  include([==[{self.path}/test_{stem}.ctest.cmake]==])\nelse()\n"
                f"  add_test([==[{stem}: not built]==] [==[no]==])\n"
                f"  set_tests_properties([==[{stem}: not built]==] PROPERTIES LABELS unit)\nendif()\n",
            )

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def folder(self):
        return test_targets.Folder(self.path)

    def expect(self, options, *targets):
        self.assertEqual(test_targets.targets_of(self.folder(), self.root, options), set(targets))

    def test_the_names_of_test_cases_are_read_from_their_source(self):
        names, unknown = test_targets.foreseen_names(self.root, ["wait", "clock"])
        lost = "no wake-up is lost, ever"
        self.assertEqual(
            names["wait"],
            {'[A1] a "wait" ends', f"{lost}<kind/first>", f"{lost}<kind/second, of 2>", f"{lost}<own>", "not built"},
        )
        self.assertEqual(names["clock"], {"time", "not built"})
        self.assertEqual(unknown, {})

    def test_only_what_the_chosen_tests_need_is_built(self):
        self.expect(["-R", "wake-up"], "test_wait")
        self.expect(["-R", "^clock: "], "test_clock")
        self.expect(["-R", "kind/second"], "test_wait")
        self.expect(["-R", r"a\.b|time", "-j2"], "test_clock", "model_heap")
        self.expect(["-L", "quick"], "deaf")
        self.expect(["--label-regex", "unit", "-E", "clock"], "test_wait")
        self.expect(["-R", "reader"], "list.o", "made.s")
        self.expect(["-R", "shown"], "writer")
        self.expect(["-R", "nothing"])
        self.expect(["-R", "no such test"])
        self.expect(["-R", "not built"], "test_wait", "test_clock")

    def test_a_program_that_is_built_is_built_again(self):
        name = "[==[clock: an older name]==]"
        self.write("build/test_clock.ctest.cmake", f"add_test({name} [==[{sys.executable}]==])\n")
        self.expect(["-R", "older"], "test_clock")

    def test_what_can_not_be_foreseen_is_built(self):
        self.assertIsNone(test_targets.targets_of(self.folder(), self.root, ["-R", "all"]))
        self.assertIsNone(test_targets.targets_of(self.folder(), self.root, ["-R", "wait", "-I", "3,5"]))
        self.assertIsNone(test_targets.targets_of(self.folder(), self.root, ["-j2"]))
        self.write("tests/log/clock.cpp", 'TEST_CASE_TEMPLATE("time", T, unknown) {}')
        self.expect(["-R", "wake-up"], "test_wait", "test_clock")

    def test_what_was_not_foreseen_is_named(self):
        self.assertEqual(list(test_targets.unforeseen(self.folder(), self.root)), [])
        self.write("build/test_clock.ctest.cmake", "add_test([==[clock: time]==] x)\nadd_test([==[clock: tide]==] x)\n")
        complaints = ["this test was not foreseen: clock: tide"]
        self.assertEqual(list(test_targets.unforeseen(self.folder(), self.root)), complaints)
        self.write("tests/fence/wait.cpp", 'TEST_CASE_TEMPLATE("time", T, unknown) {}')
        complaints.insert(0, "wait: no TYPE_TO_STRING_AS gives a name to unknown")
        self.assertEqual(list(test_targets.unforeseen(self.folder(), self.root)), complaints)

    def test_a_stem_that_names_nothing_is_refused_and_near_ones_are_named(self):
        stems = test_targets.stems_of(self.root)
        self.assertLessEqual({"wait", "clock", "heap", "deaf", "house"}, stems)
        self.assertEqual(test_targets.wrong_stem(["wait", "heap", "house"], stems), "")
        wrong = test_targets.wrong_stem(["wait", "clok"], stems)
        self.assertEqual(wrong, "there are no tests of 'clok'; do you mean clock?")
        self.assertEqual(test_targets.wrong_stem(["zzz"], stems), "there are no tests of 'zzz'")

    def test_a_stem_stands_for_the_tests_that_begin_with_it(self):
        chosen = re.compile(test_targets.expression_for(["wait", "heap"]))
        for name in ("wait: a", "model heap a.b, symmetric", "model heap: each", "twin heap a, pinned: b", "twin heap"):
            self.assertTrue(chosen.search(name), name)
        for name in ("wait_many: a", "model heaps a", "house: wait: a", "clock: wait"):
            self.assertFalse(chosen.search(name), name)


class Lines(unittest.TestCase):
    """check_lines.py on a folder that git does not know."""

    def setUp(self):
        self.root = WORK / self._testMethodName
        shutil.rmtree(self.root, ignore_errors=True)
        (self.root / "tests").mkdir(parents=True)
        self.write("tests/good.cpp", "x" * 120 + "\n" + "\u00e4" * 120)
        self.write("table.md", "| " + "x" * 200 + " |")
        self.write("tests/checks.table", "one | " + "x" * 200)
        self.write("presets.json", "x" * 200)

    def write(self, name, text):
        (self.root / name).write_text(text)

    def check(self, status, *complaints):
        command = [sys.executable, REPOSITORY / "tests" / "house" / "check_lines.py", self.root]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        for complaint in complaints:
            self.assertIn(complaint, done.stdout)

    def test_what_is_excepted_may_be_long(self):
        self.check(0)

    def test_a_long_line_is_named(self):
        self.write("tests/bad.cmake", "short\n" + "x" * 121 + "\n")
        self.write("prose.md", "x" * 121)
        self.write("bad.table", "# " + "x" * 120)
        self.check(
            1, "tests/bad.cmake:2: 121 characters", "prose.md:1: 121 characters", "bad.table:1: 122 characters"
        )

    def test_each_tool_has_a_line(self):
        (self.root / "tools" / "page").mkdir(parents=True)
        self.write("tools/page/page.css", "")
        self.write("tools/one.py", "")
        self.check(1, "tools/README.md is missing")
        self.write("tools/README.md", "| file | what |\n|---|---|\n| `one.py` | a |\n| `page/` | b |\n")
        self.check(0)
        self.write("tools/two.sh", "")
        self.check(1, "tools/README.md has no line for two.sh")
        self.write("tools/README.md", "| `one.py` | a |\n| `page/` | b |\n| `two.sh` | c |\n| `gone.py` | d |\n")
        self.check(1, "tools/README.md has a line for gone.py, which is not there")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
