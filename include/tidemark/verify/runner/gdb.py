# SPDX-License-Identifier: BSL-1.0
"""For gdb: which thread of a check is running. For the debugger all of them are one thread.

    gdb -x FOLDER/tidemark/verify/runner/gdb.py --args ./my_checks --replay failed.txt

Where the program stops, the number of the thread is printed, as in the printed execution. It stops where the check
fails, in the frame of the check. `$simulated_thread()` is that number, for conditions, and -1 outside of threads:

    break counter.hpp:12 if $simulated_thread() == 1

It calls a function of the program. Where gdb can't do that ("Couldn't write extended state": gdb 13 on processors that
are newer than it), it may wait for ever at such a condition.
"""

import gdb

NOT_OF_CHECK = ("/tidemark/verify/", "/relacy/", "/include/c++/")


def simulated_thread():
    try:
        return int(gdb.parse_and_eval("((int (*)(void))tidemark_simulated_thread)()"))
    except gdb.error:  # there is no process, or it is no program of checks
        return -1


class SimulatedThread(gdb.Function):
    """The number of the running thread of a check; -1 if none runs."""

    def __init__(self):
        super().__init__("simulated_thread")

    def invoke(self):
        return simulated_thread()


def frame_of_check():
    """The innermost frame with a source line of the check, or None."""
    frame = gdb.newest_frame()
    while frame is not None:
        table = frame.find_sal().symtab
        if table is not None and not any(part in table.fullname() for part in NOT_OF_CHECK):
            return frame
        frame = frame.older()
    return None


def show_failure():
    print("The check fails here:")
    frame = frame_of_check()
    if frame is not None:
        frame.select()
        gdb.execute("frame")


def tell_thread(event):
    thread = simulated_thread()
    if thread >= 0:
        print(f"Simulated thread {thread}")


SimulatedThread()
gdb.events.stop.connect(tell_thread)
gdb.execute("set breakpoint pending on")
where_checks_fail = gdb.Breakpoint("tidemark_check_failed")
where_checks_fail.commands = "silent\npython show_failure()"
