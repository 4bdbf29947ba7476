#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what `dmlop fuzz` costs by itself, beside its engine, which is `dmlop` here.

    bench/fuzz_cost.py [CASES [OPERATOR...]]     (default 1000 of each of some operators)

The rows are many cases a start, and a start for each of a tenth of the cases. "Plan ms" are the milliseconds of a
processor that an operator takes before its first case, "own ms" those of a case without its engine, "all ms" those
with it, "MiB" the most memory of the process, and "files" the most MiB in $TMPDIR, which is in memory.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

DMLOP = pathlib.Path(__file__).resolve().parent.parent / "build/release/dmlop"
OPERATORS = ["ELEMENT_WISE_ADD", "GEMM", "CONVOLUTION", "MAX_POOLING2", "REDUCE", "GATHER", "JOIN", "LSTM"]
ROWS = [
    ("many a start, small", ["--per-start", "1000", "--max-elements", "64"], "batch -q {}/cases.jsonl", 1),
    ("many a start", ["--per-start", "1000"], "batch -q {}/cases.jsonl", 1),
    ("one a start, small", ["--max-elements", "64"], "run -q {}/case.json", 0.1),
    ("one a start", [], "run -q {}/case.json", 0.1),
]
TICKS = os.sysconf("SC_CLK_TCK")


class Watched:
    """A process and what it uses while it runs."""

    def __init__(self, pid, folder):
        self.pid, self.folder = pid, folder
        self.own_seconds = self.memory = self.files = 0

    def look(self):
        process = pathlib.Path(f"/proc/{self.pid}")
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            self.own_seconds = (int(fields[11]) + int(fields[12])) / TICKS
            peak = [line for line in (process / "status").read_text().splitlines() if line.startswith("VmHWM:")]
            self.memory = max([self.memory, *(int(line.split()[1]) for line in peak)])
        except OSError:  # it has ended
            return
        used = subprocess.run(["du", "-sk", self.folder], capture_output=True, text=True).stdout
        self.files = max(self.files, int(used.split()[0]) if used else 0)


def measure(arguments, engine, count):
    with tempfile.TemporaryDirectory(prefix="dmlop-bench-", dir="/dev/shm") as folder:
        command = [DMLOP, "fuzz", "-q", "-n", str(count), "--engine", f"{DMLOP} {engine}", "-o", f"{folder}/findings", *arguments]
        (pathlib.Path(folder) / "tmp").mkdir()
        begin = time.perf_counter()
        process = subprocess.Popen(command, env=os.environ | {"TMPDIR": f"{folder}/tmp"}, stdout=subprocess.DEVNULL)
        watched = Watched(process.pid, f"{folder}/tmp")
        while True:
            watched.look()
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(0.05)
        if status != 0:
            sys.exit(f"{command} ended with {os.waitstatus_to_exitcode(status)}")
        return watched, time.perf_counter() - begin, usage.ru_utime + usage.ru_stime


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    operators = sys.argv[2:] or OPERATORS
    print(f"{'cases':24}{'cases/s':>10}{'plan ms':>10}{'own ms':>10}{'all ms':>10}{'MiB':>8}{'files':>8}")
    for row, options, engine, share in ROWS:
        cases = max(2, int(count * share))
        first, _, _ = measure([*operators, *options], engine, 1)
        watched, seconds, all_seconds = measure([*operators, *options], engine, cases)
        own = (watched.own_seconds - first.own_seconds) / (cases - 1)
        every = (all_seconds - first.own_seconds) / (cases - 1)
        milliseconds = "".join(f"{1000 * of / len(operators):10.2f}" for of in (first.own_seconds, own, every))
        print(f"{row:24}{cases * len(operators) / seconds:10.0f}{milliseconds}{watched.memory / 1024:8.0f}"
              f"{watched.files / 1024:8.0f}", flush=True)


if __name__ == "__main__":
    main()
