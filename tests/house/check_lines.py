#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""No line of a file that a person edits is longer than 120 characters.

  check_lines.py REPOSITORY

Rows of Markdown tables and of the .table files of the model checks are excepted, because such a row can't be broken; so
are JSON files, whose strings can't be, and the inputs of the fuzz targets, which nobody reads. All files that git knows
are looked at, and without git all files outside of build/.

And tools/README.md has a line for each file in tools/, and none for a file that is not there.
"""

import re
import subprocess
import sys
from pathlib import Path

LONGEST = 120

EXCEPTED = (".json", ".png", ".svg")


def names_of(root):
    done = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True, check=False,
    ) if (root / ".git").exists() else None
    if done and done.returncode == 0:
        return sorted(name for name in done.stdout.split("\0") if (root / name).is_file())
    paths = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return sorted(str(path) for path in paths if path.parts[0] not in (".git", "build"))


def too_long(path):
    """Yields the number and the length of each line that is too long."""
    for number, line in enumerate(path.read_text(errors="replace").split("\n"), 1):
        is_table_row = (path.suffix == ".md" and line.startswith("|")) or (path.suffix == ".table" and " | " in line)
        if len(line) > LONGEST and not is_table_row:
            yield number, len(line)


def tool_complaints(root, names):
    """Compares the first column of the table in tools/README.md with the files and folders in tools/."""
    readme = root / "tools" / "README.md"
    if not readme.exists():
        return ["tools/README.md is missing"] if (root / "tools").exists() else []
    listed = set(re.findall(r"^[|] `([^`]+?)/?` [|]", readme.read_text(), re.MULTILINE))
    there = {name.split("/")[1] for name in names if name.startswith("tools/")} - {"README.md"}
    return [f"tools/README.md has no line for {name}" for name in sorted(there - listed)] + [
        f"tools/README.md has a line for {name}, which is not there" for name in sorted(listed - there)
    ]


def main(root):
    names = [name for name in names_of(root) if not name.endswith(EXCEPTED) and "/corpus/" not in name]
    complaints = [
        f"{name}:{number}: {length} characters, more than {LONGEST}"
        for name in names for number, length in too_long(root / name)
    ]
    complaints += tool_complaints(root, names_of(root))
    if not names:
        complaints.append(f"there is no file below {root}")
    print("\n".join(complaints) or f"no line of {len(names)} files is longer than {LONGEST} characters")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
