#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what a case of a batch costs: tiny cases per second, for the whole process.

    bench/batch.py [CASES]     (default 20000)

The rows are cases without files (values in the line, results to /dev/null), with a new output file each, with an
input file as well, and checked against the files; with one thread and with all. "A core" counts the seconds that
cores were busy, which other processes on the machine disturb less.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

DMLOP = pathlib.Path(__file__).resolve().parent.parent / "build/release/dmlop"
TINY = {"DataType": "FLOAT32", "Sizes": [2, 3]}


def line(i, source, target):
    return json.dumps({"type": "REDUCE", "desc": {"Function": "SUM", "Axes": [1], "InputTensor": TINY},
                       "bindings": {"InputTensor": source, "OutputTensor": target}}) + "\n"


def rows(folder, count):
    np.save(folder / "x.npy", np.ones((2, 3), "f4"))
    values = [[1, 2, 3], [4, 5, 6]]
    for name, source, target, options in [
        ("no files", values, "/dev/null", []),
        ("no files, report", values, "/dev/null", ["--report", "/dev/null"]),
        ("output files", values, "out/{i}.npy", []),
        ("output files, report", values, "report/{i}.npy", ["--report", "/dev/null"]),
        ("output files again", values, "out/{i}.npy", []),
        ("input and output files", "x.npy", "out/{i}.npy", []),
        ("checked", "x.npy", "out/{i}.npy", ["--check"]),
    ]:
        for threads in sorted({1, os.cpu_count()}):
            # Each number of threads has folders of its own: only new files compare with new ones.
            manifest = folder / "cases.jsonl"
            paths = [target.format(i=i) for i in range(count)]
            paths = [path if path.startswith("/") else f"{threads}/{path}" for path in paths]
            manifest.write_text("".join(line(i, source, path) for i, path in enumerate(paths)))
            yield name, threads, [manifest, "-t", str(threads), *options]


def times(command, folder):
    """Returns the seconds from start to end, and those of all cores together."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command} ended with {process.returncode}")
    return seconds, usage.ru_utime + usage.ru_stime


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    with tempfile.TemporaryDirectory(prefix="dmlop-bench-") as name:
        folder = pathlib.Path(name)
        print(f"{'cases':24}{'threads':>8}{'cases/s':>10}{'a core':>10}")
        for row, threads, arguments in rows(folder, count):
            seconds, cpu_seconds = times([DMLOP, "batch", "-q", *arguments], folder)
            print(f"{row:24}{threads:8}{count / seconds:10.0f}{count / cpu_seconds:10.0f}", flush=True)


if __name__ == "__main__":
    main()
