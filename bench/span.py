#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Bounds how much faster many cores can make an operator, on a machine that has few.

    bench/span.py [--program PROGRAM] [--descriptor JSON]... [ROW...]

Runs rows of the table of peers.py, or other descriptors, on one thread, which records its loops in
the pieces that they may be cut into. On P cores an operator takes at least the time outside of its
loops, and for each loop its time by P, or that of its longest piece, and what it takes to wake P
threads up. Prints, as a Markdown table, the time on one thread, the pieces of the longest loop for
64 cores, and the bounds on the gain at 4, 16, 64 and 128 cores. ROW is a regular expression of
names to run.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass

sys.dont_write_bytecode = True

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CORES = (4, 16, 64, 128)
START = 4e-6  # seconds to begin a loop; 3 to 6 were measured on 16 cores


@dataclass
class Loop:
    pieces: int
    seconds: float
    longest: float  # piece, in seconds


@dataclass
class Record:
    serial: float
    loops: list

    def work(self):
        return self.serial + sum(loop.seconds for loop in self.loops)

    def span(self, cores):
        return self.serial + sum(
            min(loop.seconds, max(loop.seconds / cores, loop.longest) + START)
            for loop in self.loops)

    def pieces(self):
        return max(self.loops, key=lambda loop: loop.seconds).pieces if self.loops else 1


def record(program, descriptor, threads):
    lines = subprocess.run([program, "--loops", str(threads), json.dumps(descriptor)], check=True,
                           stdout=subprocess.PIPE, text=True).stdout.splitlines()
    loops = [line.split() for line in lines[1:]]
    return Record(float(lines[0]), [Loop(int(pieces), float(seconds), float(longest))
                                    for pieces, seconds, longest in loops])


def line_of(program, name, descriptor):
    records = {cores: record(program, descriptor, cores) for cores in (1,) + CORES}
    # Work that only pieces cause counts against them.
    work = min(one.work() for one in records.values())
    gains = " | ".join(f"{work / records[cores].span(cores):.1f}" for cores in CORES)
    return f"| {name} | {work * 1e3:.2f} | {records[64].pieces()} | {gains} |"


def rows(wanted):
    from peers import ROWS
    chosen = [row for row in ROWS if any(re.search(text, row.name) for text in wanted)]
    return [(row.name, row.descriptor) for row in (chosen if wanted else ROWS)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default=f"{ROOT}/build/release/bench/operator_turns")
    parser.add_argument("--descriptor", action="append", type=json.loads, default=[])
    parser.add_argument("rows", nargs="*")
    options = parser.parse_args()
    print("| work | ms | pieces | " + " | ".join(f"{cores} cores" for cores in CORES) + " |")
    print("|---" * (len(CORES) + 3) + "|")
    others = [(descriptor["type"], descriptor) for descriptor in options.descriptor]
    for name, descriptor in others + (rows(options.rows) if options.rows or not others else []):
        print(line_of(options.program, name, descriptor), flush=True)


if __name__ == "__main__":
    main()
