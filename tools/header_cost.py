#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""What each public header costs who includes it alone: preprocessed lines, and the time to compile it.

usage: header_cost.py [--include FOLDER] [--compiler COMMAND] [--repeat N] [--most-lines N]
                      [--most-lines-of-all N]

Prints a Markdown table. A line counts if it is neither empty nor a line marker. The time is the least of N runs
(default 3) of the compiler without code generation, less that of an empty file; with --repeat 0 nothing is timed. With
--most-lines the exit status is 1 if a header has more lines; --most-lines-of-all is for those that include several
rooms.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STANDARD = "-std=c++20"


def preprocessed_lines(compiler, folder, source):
    text = subprocess.run(
        [*compiler, STANDARD, "-E", f"-I{folder}", str(source)], check=True, capture_output=True, text=True
    ).stdout
    return sum(1 for line in text.splitlines() if line.strip() and not line.startswith("#"))


def compile_seconds(compiler, folder, source, repeat):
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        subprocess.run([*compiler, STANDARD, "-fsyntax-only", f"-I{folder}", str(source)], check=True)
        times.append(time.perf_counter() - begin)
    return min(times)


def public_headers(folder):
    for path in sorted((folder / "tidemark").rglob("*.hpp")):
        name = path.relative_to(folder)
        if not {"detail", "tools", "verify"} & set(name.parts):
            yield name


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--include", type=Path, default=Path(__file__).resolve().parent.parent / "include")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--most-lines", type=int)
    parser.add_argument("--most-lines-of-all", type=int)
    options = parser.parse_args()
    compiler = options.compiler.split()

    too_long = []
    print("| header | preprocessed lines | seconds |\n|---|---:|---:|")
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "one.cpp"
        source.write_text("")
        is_timed = options.repeat > 0
        nothing = compile_seconds(compiler, options.include, source, options.repeat) if is_timed else 0
        for name in public_headers(options.include):
            source.write_text(f"#include <{name}>\n")
            lines = preprocessed_lines(compiler, options.include, source)
            seconds = "-"
            if is_timed:
                seconds = f"{compile_seconds(compiler, options.include, source, options.repeat) - nothing:.2f}"
            print(f"| `{name}` | {lines:,} | {seconds} |", flush=True)
            most = options.most_lines
            if options.most_lines_of_all is not None and len(name.parts) == 2:
                most = options.most_lines_of_all
            if most is not None and lines > most:
                too_long.append(f"{name} has more than {most:,} lines")
    for sentence in too_long:
        print(sentence, file=sys.stderr)
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
