#!/usr/bin/env python3
"""Compares the instructions of untraced calls with the feature `trace` and without it.

Fails where a governed call pays more than 3 %.
"""

import subprocess
import sys

BAR = 1.03


def counts(*features: str) -> dict[str, int]:
    """A number of instructions for each call, in a build with these features."""
    command = ["cargo", "bench", "--quiet", "-p", "tests", "--bench", "trace_off", *features]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = [line.split("\t") for line in printed.splitlines() if "\t" in line]
    return {name: int(count) for name, count in rows}


def main() -> int:
    without, compiled_in = counts("--no-default-features"), counts()
    if not without or without.keys() != compiled_in.keys():
        print("no counts to compare", file=sys.stderr)
        return 1
    missed = 0
    print(f"{'call':45} {'without':>9} {'compiled in':>12} {'ratio':>7}")
    for name, floor in without.items():
        ratio = compiled_in[name] / floor
        over = name.startswith("governed") and ratio > BAR
        missed += over
        print(f"{name:45} {floor:9} {compiled_in[name]:12} {ratio:7.3f}{' MISSED' if over else ''}")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
