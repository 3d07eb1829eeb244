#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""A signal ends the soak with its totals and with status 0. It is sent once the soak has said that it begins.

usage: check_signal.py INT|TERM COMMAND...
"""

import re
import signal
import subprocess
import sys


def main():
    number = signal.Signals["SIG" + sys.argv[1]]
    soak = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, text=True)
    output = soak.stdout.readline()
    soak.send_signal(number)
    output += soak.communicate()[0]
    expected = rf" operations/s, .*\nsoak: ended by signal {number.value}, nothing found\n"
    print(output, end="")
    if soak.returncode != 0 or not output.startswith("soak: seed 1,") or not re.search(expected, output):
        sys.exit(f"exit status {soak.returncode}; expected status 0 and this text: {expected!r}")


main()
