#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Every test has a time limit that only what hangs can reach, also on a machine that is ten times slower and busy.

  check_limits.py CTEST BUILD-FOLDER SECONDS TOOL-SECONDS

Tests of the house start compilers, CMake and a browser: they may take TOOL-SECONDS. All others may take SECONDS.
"""

import json
import subprocess
import sys


def complaints_about(tests, seconds, tool_seconds):
    for test in tests:
        properties = {each["name"]: each["value"] for each in test.get("properties", [])}
        least = tool_seconds if {"house", "house-long"} & set(properties.get("LABELS", [])) else seconds
        limit = properties.get("TIMEOUT", 0)
        if limit < least:
            yield f"{test['name']}: a limit of {limit:g} seconds, less than {least}"


def main(ctest, folder, seconds, tool_seconds):
    listing = subprocess.run(
        [ctest, "--test-dir", folder, "--show-only=json-v1"], capture_output=True, text=True, check=True).stdout
    tests = json.loads(listing)["tests"]
    if len(tests) < 20:
        return f"only {len(tests)} tests are listed"
    built = [test for test in tests if not test["name"].endswith(": not built")]
    return "\n".join(complaints_about(built, int(seconds), int(tool_seconds)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) or None)
