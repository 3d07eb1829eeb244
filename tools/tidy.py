#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs clang-tidy over tests and examples and, through them, over every header.

usage: tidy.py COMPILE_COMMANDS_FOLDER [--changed [BASE]]

With --changed only what differs from BASE is checked: changed sources, and for each changed header a source that
includes it, directly or through others; untracked files count. BASE is by default where this branch left origin/main or
main, and the commit before the last where that is the last commit itself.
"""

import concurrent.futures
import os
import re
import shutil
import sys
from pathlib import Path

import running
from changed import ROOT, Trouble, changed_files

PROGRAMS = ("clang-tidy-19", "clang-tidy-14", "clang-tidy")
INCLUDE_FOLDERS = [ROOT / name for name in ("include", "tests", "tests/model", "bench", "examples")]
CHECKED = ("include/", "tests/", "examples/", "bench/")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)


# ---- who includes what -----------------------------------------------------------------------------------------------


def includes_of(path):
    """The files of the repository that a file includes itself."""
    found = set()
    for name in INCLUDE.findall(path.read_text(errors="replace")):
        for folder in (path.parent, *INCLUDE_FOLDERS):
            candidate = folder / name
            if candidate.is_file():
                found.add(candidate.resolve())
                break
    return found


def distances(source):
    """All files that a source includes: how many steps away each is."""
    steps = {source: 0}
    pending = [source]
    while pending:
        path = pending.pop(0)
        for included in includes_of(path) - steps.keys():
            steps[included] = steps[path] + 1
            pending.append(included)
    return steps


def sources_to_check(changed, sources):
    """The sources among the changed files, and for each changed header the source that is nearest to it."""
    wanted = {path for path in changed if path in sources}
    headers = {path for path in changed if path.suffix == ".hpp"}
    if headers:
        reached = {source: distances(source) for source in sorted(sources)}
        for header in sorted(headers):
            if any(header in reached[source] for source in wanted):
                continue
            # The test of the same name, then whatever includes it most directly.
            candidates = [source for source in sorted(sources) if header in reached[source]]
            if candidates:
                wanted.add(min(candidates, key=lambda source: (source.stem != header.stem, reached[source][header])))
    return sorted(wanted)


# ---- checking --------------------------------------------------------------------------------------------------------


def all_sources():
    """The sources of tests and examples, and the runner of the model checks, without those checks."""
    folders = ("tests", "tests/*", "examples", "include/tidemark/verify/runner")
    found = [path for folder in folders for path in ROOT.glob(f"{folder}/*.cpp")]
    return {path.resolve() for path in found}


def check(program, folder, sources):
    """Returns how many sources clang-tidy complains about."""
    progress = running.Progress("clang-tidy")
    complaints = 0

    def one(source):
        return running.output_of([program, "--quiet", "-p", str(folder), str(source)])

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        pending = {pool.submit(one, source) for source in sources}
        try:
            while pending:
                done, pending = concurrent.futures.wait(pending, 0.2, concurrent.futures.FIRST_COMPLETED)
                for future in done:
                    status, output = future.result()
                    if status != 0:
                        complaints += 1
                        progress.say(output)
                progress.update(f"{len(sources) - len(pending)} of {len(sources)} files, {complaints} with complaints")
        finally:
            for future in pending:
                future.cancel()
            progress.close()
    return complaints


def main(arguments):
    if arguments == ["--help"]:
        print(__doc__)
        return 0
    folder, options = arguments[0], arguments[1:]
    program = next((name for name in PROGRAMS if shutil.which(name)), None)
    if not program:
        raise Trouble("clang-tidy is missing")
    sources = all_sources()
    if options[:1] == ["--changed"]:
        changed = changed_files(options[1] if len(options) > 1 else None)
        changed = [name for name in changed if name.startswith(CHECKED) and name.endswith((".cpp", ".hpp"))]
        sources = set(sources_to_check([ROOT / name for name in changed], sources))
        print(f"{len(changed)} C++ files have changed, which {len(sources)} sources check", flush=True)
    complaints = check(program, folder, sorted(sources))
    if complaints:
        raise Trouble(f"{complaints} of {len(sources)} files have complaints")
    print(f"{program} has nothing to say about {len(sources)} files and the headers they use")
    return 0


if __name__ == "__main__":
    running.end_on_signals()
    try:
        sys.exit(main(sys.argv[1:]))
    except running.Interrupted:
        sys.exit(running.INTERRUPTED)
    except Trouble as trouble:
        print(f"dev: tidy: {trouble}", file=sys.stderr)
        sys.exit(1)
