# SPDX-License-Identifier: BSL-1.0
"""What differs from a commit, for the programs beside this file that look only at that."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Trouble(Exception):
    """What the user is told."""


def git(*arguments):
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def default_base():
    head = git("rev-parse", "HEAD")
    for branch in ("origin/main", "main"):
        base = git("merge-base", "HEAD", branch)
        if base and base != head:
            return base
    return git("rev-parse", "HEAD~1")


def changed_files(base):
    """The files that differ from `base`, relative to the repository, with those that git does not know yet."""
    commit = git("rev-parse", "--verify", f"{base}^{{commit}}") if base else default_base()
    if not commit:
        raise Trouble(f"there is no commit '{base}'" if base else "there is no commit to compare with; name one")
    changed = git("diff", "--name-only", "--diff-filter=d", commit)
    untracked = git("ls-files", "--others", "--exclude-standard")
    if changed is None or untracked is None:
        raise Trouble(f"git can't compare with {commit}")
    return sorted({*changed.split("\n"), *untracked.split("\n")} - {""})
