# SPDX-License-Identifier: BSL-1.0
"""What the programs beside this file share: children that end together with their parent, and a line of progress.

A child leads a process group of its own. SIGINT and SIGTERM set `ending`. The function that waits for a child sees
this, ends all groups and raises Interrupted; the program then leaves with status 130.
"""

import os
import re
import select
import signal
import subprocess
import sys
import threading
import time

INTERRUPTED = 130

ending = threading.Event()  # a signal has asked this program to end
_lock = threading.Lock()
_children = set()


class Interrupted(Exception):
    """A signal has asked this program to end, and its children have ended."""


def end_on_signals():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ending.set())


# ---- children --------------------------------------------------------------------------------------------------------


def start(command, **options):
    """Starts a child that leads a process group. Its output comes through a pipe, its input is empty."""
    with _lock:
        if ending.is_set():
            raise Interrupted
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True, **options
        )
        _children.add(child)
    return child


def finish(child):
    """Waits for a child whose output has ended. Returns its exit status."""
    status = child.wait()
    child.stdout.close()
    with _lock:
        _children.discard(child)
    return status


def lines(child, most_silence=0.2):
    """Yields each line of a child's output, and None whenever there was none for `most_silence` seconds."""
    rest = b""
    while True:
        if ending.is_set():
            end_children()
            raise Interrupted
        ready, _, _ = select.select([child.stdout], [], [], most_silence)
        if not ready:
            yield None
            continue
        chunk = os.read(child.stdout.fileno(), 65536)
        if not chunk:
            break
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.decode(errors="replace")
    if rest:
        yield rest.decode(errors="replace")


def output_of(command, limit=None, **options):
    """Runs a child. Returns its exit status and output. The status is None where it took more than `limit` seconds."""
    child = start(command, stderr=subprocess.STDOUT, **options)
    began = time.monotonic()
    text = []
    for line in lines(child):
        if line is not None:
            text.append(line + "\n")
        if limit is not None and time.monotonic() - began > limit:
            _end_group(child)
            finish(child)
            return None, "".join(text)
    return finish(child), "".join(text)


def _send(child, number):
    try:
        os.killpg(child.pid, number)
    except ProcessLookupError:
        pass


def _end_group(child, grace=5.0):
    """Ends all processes of a child's group: by request, and after `grace` seconds by force."""
    _send(child, signal.SIGTERM)
    until = time.monotonic() + grace
    while (left := until - time.monotonic()) > 0:
        ready, _, _ = select.select([child.stdout], [], [], left)
        if not ready or not os.read(child.stdout.fileno(), 65536):
            break
    _send(child, signal.SIGKILL)
    child.wait()


def end_children():
    ending.set()
    with _lock:
        children = list(_children)
        _children.clear()
    for child in children:
        _send(child, signal.SIGTERM)
    for child in children:
        _end_group(child)


# ---- progress --------------------------------------------------------------------------------------------------------


class Progress:
    """One line that moves on a terminal. Elsewhere a line at least every 30 seconds."""

    def __init__(self, title, stream=None):
        self.title = title
        self.stream = stream or sys.stdout
        self.moves = self.stream.isatty()
        self.every = float(os.environ.get("DEV_PROGRESS_SECONDS", "25"))
        self.began = self.shown = time.monotonic()
        self.state = ""
        self.lock = threading.Lock()  # say() may be called by any thread

    def seconds(self):
        return round(time.monotonic() - self.began)

    def update(self, state=None):
        """Takes the new state, if there is one, and shows it where it is time. To be called at least every second."""
        changed = state is not None and state != self.state
        if changed:
            self.state = state
        silent = time.monotonic() - self.shown
        if self.moves and (changed or silent >= 1):
            self._show(f"\r{self.title}: {self.state}, {self.seconds()} s\x1b[K")
        elif not self.moves and silent >= self.every:
            self._show(f"{self.title}: {self.state}, {self.seconds()} s\n")

    def say(self, text):
        """Prints a line that stays."""
        if self.moves:
            self._show(f"\r\x1b[K{text}\n{self.title}: {self.state}, {self.seconds()} s\x1b[K")
        else:
            self._show(f"{text}\n")

    def close(self):
        """Removes the line that moves."""
        if self.moves:
            self._show("\r\x1b[K")

    def _show(self, text):
        with self.lock:
            self.stream.write(text)
            self.stream.flush()
            self.shown = time.monotonic()


# ---- steps -----------------------------------------------------------------------------------------------------------

EDGE = re.compile(r"\[(\d+)/(\d+)\] (.*)")  # as ninja writes it
OBJECT = re.compile(r".*CMakeFiles/([^/]+)\.dir/(?:.*/)?([^/]+)\.o")


def edge_state(line):
    """What to say of a line of ninja, or nothing: how many edges are done, and the target that the line is about.

    The file is named with it where the target does not tell it, as with targets of many files.
    """
    edge = EDGE.fullmatch(line)
    if not edge:
        return ""
    done, total, text = edge.groups()
    built = OBJECT.fullmatch(text)
    if text.endswith("..."):  # "Re-running CMake..."
        name = text[:-3]
    elif built:
        target, source = built.groups()
        name = target if source.rsplit(".", 1)[0] in target else f"{target}: {source}"
    else:
        name = re.split("[ /]", text)[-1]
    return f"{done} of {total}, {name[:46]}"


def step(title, command, log, **options):
    """Runs a child and says how far it is, as `step` of steps.sh does.

    The output goes to the file `log`, and is printed if the child fails. Returns whether it ended with status 0.
    """
    progress = Progress(f"{title} ...")
    log.parent.mkdir(parents=True, exist_ok=True)
    state = "running"
    try:
        with log.open("w") as file:
            child = start(command, stderr=subprocess.STDOUT, **options)
            for line in lines(child):
                if line is not None:
                    file.write(line + "\n")
                    state = edge_state(line) or state
                progress.update(state)
        status = finish(child)
    finally:
        progress.close()
    if status == 0:
        print(f"{title + ' ...':<60} {progress.seconds():>4} s", flush=True)
        return True
    print(f"{title + ' ...':<60} FAILED", flush=True)
    wrong = [line for line in log.read_text().split("\n") if not EDGE.match(line)]
    print("\n".join(wrong), file=sys.stderr, flush=True)
    return False
