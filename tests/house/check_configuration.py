#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Whether all that depends on the parts of a platform lies in the namespace that is named after them.

Compiles configuration.cpp twice: for the platforms of this machine, and for those of ThreadSanitizer with portable
parking. A function of the headers that has the same name both times must consist of the same instructions. Otherwise a
linker would keep one of the two for files of both kinds. (platform/detail/configuration.hpp)

    check_configuration.py SOURCE INCLUDE WORK_DIR COMPILER [FLAG]...
"""

import pathlib
import re
import subprocess
import sys

OTHER_PARTS = ["-D__SANITIZE_THREAD__=1", "-DTIDEMARK_FORCE_PORTABLE_PARKING"]
FUNCTION = re.compile(r"^(_Z\w+):")
INSTRUCTION = re.compile(r"^\t(?!\.)(?P<text>[^#]+)")
# The marks differ on purpose, and names that exist once can't be mixed.
MARKS = "all_files_of_a_program_must_agree_on"


def functions_of(assembly: pathlib.Path) -> dict[str, list[str]]:
    """Returns the instructions of each function, without the numbers of labels."""
    found: dict[str, list[str]] = {}
    body: list[str] | None = None
    for line in assembly.read_text().splitlines():
        if start := FUNCTION.match(line):
            body = found[start[1]] = []
        elif line.startswith("\t.size"):
            body = None
        elif body is not None and (match := INSTRUCTION.match(line)):
            body.append(re.sub(r"\.L[\w.]+", "label", match["text"].strip()))
    return found


def main() -> int:
    source, include, work, compiler, *flags = sys.argv[1:]
    folder = pathlib.Path(work)
    folder.mkdir(parents=True, exist_ok=True)
    texts = []
    for name, parts in ("these", []), ("others", OTHER_PARTS):
        assembly = folder / f"{name}.s"
        subprocess.run([compiler, *flags, "-std=c++20", "-O0", "-g0", "-w", "-UTIDEMARK_FORCE_PORTABLE_PARKING",
                        "-UTIDEMARK_FORCE_LOCKED_DOUBLE_WORD", *parts, "-I", include, "-S", "-o", assembly, source],
                       check=True)
        texts.append(functions_of(assembly))
    these, others = texts
    common = sorted(name for name in these.keys() & others.keys() if "8tidemark" in name and MARKS not in name)
    differ = [name for name in common if these[name] != others[name]]
    if differ:
        subprocess.run(["c++filt", *differ], check=False)
    print(f"{len(common)} functions with the same name, {len(differ)} of them differ")
    return 1 if differ or not common else 0


if __name__ == "__main__":
    sys.exit(main())
