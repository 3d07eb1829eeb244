#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compares two lists of ctest's tests, so that a move or a rewrite of the build loses none of them.

usage: compare_tests.py BEFORE AFTER [--renamed FILE]
       compare_tests.py --save BUILD LIST

BEFORE and AFTER are lists in the format of `ctest --show-only=json-v1`. ctest leaves out the command of a program that
is not built; --save writes the same list for a build folder with the commands in it, and calls the two folders <source>
and <build>. A test is known by its name. Two tests are alike if the names of their programs, their arguments and their
labels are. Folders in front of a file's name do not count.

Each line of FILE is `old name<TAB>new name`.

Prints the tests that are missing, added and changed, and their numbers. The exit status is 1 if a test is missing or
has lost a label, 2 for a bad command line or an unreadable list, and 0 otherwise.
"""

import argparse
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Test:
    command: list
    labels: set


def without_folders(argument):
    """The same argument with each path below the root, the source or the build folder cut to its last part."""
    return re.sub(r"(^|[=;,:])(?:<source>|<build>)?(?:/[^/;,=]+)*/([^/;,=]+)/*", r"\1\2", argument)


def read_list(path):
    """Returns a Test for each name, and the names that stand there twice."""
    tests, twice = {}, []
    for test in json.loads(path.read_text())["tests"]:
        labels = [each["value"] for each in test.get("properties", ()) if each["name"] == "LABELS"]
        if test["name"] in tests:
            twice.append(test["name"])
        command = [without_folders(argument) for argument in test.get("command", ())]
        tests[test["name"]] = Test(command, set(*labels))
    return tests, twice


def read_renamed(path):
    """Returns the new name for each old one."""
    renamed = {}
    for number, line in enumerate(path.read_text().split("\n") if path else (), 1):
        if not line.strip() or line.startswith("#"):
            continue
        names = line.split("\t")
        if len(names) != 2 or names[0] in renamed:
            raise ValueError(f"{path}:{number}: not `old name<TAB>new name` with an old name of its own")
        renamed[names[0]] = names[1]
    return renamed


def difference(before, after):
    """Returns what distinguishes two tests of one name, and whether a label was lost."""
    texts = []
    if before.command != after.command:
        texts.append(f"command {' '.join(before.command)} -> {' '.join(after.command)}")
    lost, gained = before.labels - after.labels, after.labels - before.labels
    texts += [f"label {label} lost" for label in sorted(lost)]
    texts += [f"label {label} gained" for label in sorted(gained)]
    return "; ".join(texts), bool(lost)


def compare(before, after, renamed):
    """Prints the difference. Returns whether anything was lost."""
    expected = {renamed.get(name, name): test for name, test in before.items()}
    unused = [old for old in renamed if old not in before]
    missing = sorted(expected.keys() - after.keys())
    added = sorted(after.keys() - expected.keys())
    changed, lost = [], False
    for name in sorted(expected.keys() & after.keys()):
        text, lost_label = difference(expected[name], after[name])
        lost = lost or lost_label
        if text:
            changed.append(f"{name}: {text}")
    for what, lines in (("missing", missing), ("added", added), ("changed", changed), ("renamed, but unknown", unused)):
        for line in lines:
            print(f"{what}: {line}")
    print(f"{len(before)} tests before, {len(after)} after: {len(missing)} missing, {len(added)} added, "
          f"{len(changed)} changed, {len(renamed)} renamed")
    return bool(missing) or lost or len(expected) != len(before)


# ---- saving a list ---------------------------------------------------------------------------------------------------

TEST_LINE = re.compile(
    r'^add_test\((?:\[(?P<level>=*)\[(?P<bracketed>.*?)\](?P=level)\]|"?(?P<plain>[^" ]+)"?) (?P<command>.*)\)$'
)
ARGUMENT = re.compile(r'"((?:\\.|[^"\\])*)"|\[(?P<level>=*)\[(?P<bracketed>.*?)\](?P=level)\]')


def commands_of(build):
    """The command of each test, from the files that CMake has written for ctest."""
    commands = {}
    for path in sorted(build.rglob("CTestTestfile.cmake")):
        for line in path.read_text().split("\n"):
            match = TEST_LINE.match(line)
            if match:
                name = match.group("bracketed") or match.group("plain")
                commands[name] = [
                    re.sub(r"\\(.)", r"\1", argument.group(1)) if argument.group(1) is not None
                    else argument.group("bracketed")
                    for argument in ARGUMENT.finditer(match.group("command"))
                ]
    return commands


def source_of(build):
    """The folder from which a build folder was configured."""
    return re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", (build / "CMakeCache.txt").read_text(), re.M).group(1)


def save(build, out):
    command = ["ctest", "--test-dir", str(build), "--show-only=json-v1"]
    listed = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    data = json.loads(listed.stdout)
    commands = commands_of(build)
    for test in data["tests"]:
        if "command" not in test and test["name"] in commands:
            test["command"] = commands[test["name"]]
        for folder, name in ((str(build.resolve()), "<build>"), (source_of(build), "<source>")):
            test["command"] = [
                re.sub(rf"{re.escape(folder)}(?=/|$)", name, argument) for argument in test.get("command", ())
            ]
    out.write_text(json.dumps(data, indent=1) + "\n")
    without = [test["name"] for test in data["tests"] if not test["command"]]
    print(f"{len(data['tests'])} tests, {len(without)} without a command")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=Path, metavar="BEFORE|BUILD")
    parser.add_argument("second", type=Path, metavar="AFTER|LIST")
    parser.add_argument("--renamed", type=Path, metavar="FILE")
    parser.add_argument("--save", action="store_true")
    arguments = parser.parse_args()
    try:
        if arguments.save:
            return save(arguments.first, arguments.second)
        before, twice_before = read_list(arguments.first)
        after, twice_after = read_list(arguments.second)
        renamed = read_renamed(arguments.renamed)
    except (OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
        print(f"compare_tests: {error}", file=sys.stderr)
        return 2
    for name in twice_before + twice_after:
        print(f"compare_tests: a name that stands there twice: {name}", file=sys.stderr)
    return 1 if compare(before, after, renamed) else 0


if __name__ == "__main__":
    sys.exit(main())
