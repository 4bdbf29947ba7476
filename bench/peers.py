#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares operators with other libraries and the limits of memory, in one run on one machine.

    bench/peers.py [--program PROGRAM] [--rounds N] [--ratios] [ROW...]

Prints a Markdown table: for each row the bytes per second, and the share of the limit that each
contestant reaches: copies, moves and element-wise functions against the best copy past the caches,
reductions and poolings against the best read, in one stream or a few, UNFOLD against the best
write. Limit and contestants take short turns, round after round; the medians of the rounds' ratios
count, because memory itself is faster at some times than at others. With --ratios, prints how many
times as long dmlop takes as each peer. All of them run on as many threads as the process may use
cores. ROW is a regular expression of names to run.
"""

import argparse
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import time

import numpy as np
import torch
from numpy.lib.stride_tricks import as_strided

sys.dont_write_bytecode = True
from element_wise_rows import ELEMENT_WISE_ROWS
from movement_rows import MOVEMENT_ROWS
from normalization_rows import NORMALIZATION_ROWS
from onnx_runtime import Node, OnnxRuntime, is_installed
from peer_row import Row, array, copy_into, empty, operator, tensor
from product_rows import PRODUCT_ROWS
from window_rows import WINDOW_ROWS

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SECONDS_PER_TURN = 0.02
SECONDS_PER_CONTESTANT = 3
CONTESTANTS = ["dmlop", "NumPy", "PyTorch", *["ONNX Runtime"] * is_installed()]
THREADS = len(os.sched_getaffinity(0))


# --- moves ---------------------------------------------------------------------------------------


def packed_copy(name, type, sizes):
    def peers(library):
        return copy_into(library, empty(library, type, sizes), array(library, type, sizes))

    return Row(name, "copy", 0.8,
               operator("ELEMENT_WISE_IDENTITY", InputTensor=tensor(type, sizes)), peers)


def permuted_copy(name, target, type, sizes, order):
    """Makes the output's dimension i the dimension order[i] of a packed input of `sizes`."""
    packed = [int(np.prod(sizes[d + 1:])) for d in range(len(sizes))]
    out = [sizes[d] for d in order]

    def peers(library):
        source = array(library, type, sizes)
        view = source.transpose(order) if library is np else source.permute(*order)
        return copy_into(library, empty(library, type, out), view)

    return Row(name, "copy", target,
               operator("ELEMENT_WISE_IDENTITY",
                        InputTensor=tensor(type, out, [packed[d] for d in order])), peers)


def scale_bias(type):
    sizes = [1 << 27 if type == "FLOAT16" else 1 << 26]

    def peers(library):
        x, out = array(library, type, sizes), empty(library, type, sizes)
        if library is np:
            two, ten = out.dtype.type(2), out.dtype.type(10)
            return lambda: np.add(np.multiply(x, two, out=out), ten, out=out)
        bias = torch.tensor(10, dtype=out.dtype)
        return lambda: torch.add(bias, x, alpha=2, out=out)

    return Row(f"ScaleBias {type}", "copy", 0.75,
               operator("ELEMENT_WISE_IDENTITY", InputTensor=tensor(type, sizes),
                        ScaleBias={"Scale": 2, "Bias": 10}), peers)


def parts_of(sizes, axis, widths):
    return [[*sizes[:axis], width, *sizes[axis + 1:]] for width in widths]


def join(name, target, type, sizes, axis, widths):
    parts = parts_of(sizes, axis, widths)
    whole = [*sizes[:axis], sum(widths), *sizes[axis + 1:]]

    def peers(library):
        arrays = [array(library, type, part) for part in parts]
        out = empty(library, type, whole)
        if library is np:
            return lambda: np.concatenate(arrays, axis, out=out)
        return lambda: torch.cat(arrays, axis, out=out)

    return Row(f"JOIN {name}", "copy", target,
               operator("JOIN", InputTensors=[tensor(type, part) for part in parts], Axis=axis),
               peers)


def split(name, target, type, sizes, axis, widths):
    parts = parts_of(sizes, axis, widths)
    whole = [*sizes[:axis], sum(widths), *sizes[axis + 1:]]

    def peers(library):
        source = array(library, type, whole)
        if library is np:
            pieces = np.split(source, np.cumsum(widths)[:-1], axis)
        else:
            pieces = torch.split(source, widths, axis)
        copies = [copy_into(library, empty(library, type, part), piece)
                  for part, piece in zip(parts, pieces)]
        return lambda: [copy() for copy in copies]

    return Row(f"SPLIT {name}", "copy", target,
               operator("SPLIT", InputTensor=tensor(type, whole),
                        OutputTensors=[tensor(type, part) for part in parts], Axis=axis), peers)


# --- UNFOLD --------------------------------------------------------------------------------------


def unfold(name, sizes, window, stride=1, dilation=1, padding=0, type="FLOAT32"):
    spatial = sizes[2:]
    rank = len(spatial)
    blocks = [(size + 2 * padding - dilation * (window - 1) - 1) // stride + 1 for size in spatial]

    def numpy_copy():
        """Pads into a frame of zeros, and copies a view of all windows."""
        source = array(np, type, sizes)
        frame = np.zeros([*sizes[:2], *[size + 2 * padding for size in spatial]], type.lower())
        inner = frame[(..., *[slice(padding, padding + size) for size in spatial])]
        steps = frame.strides[2:]
        view = as_strided(frame, [*sizes[:2], *[window] * rank, *blocks],
                          [*frame.strides[:2], *[step * dilation for step in steps],
                           *[step * stride for step in steps]])
        out = empty(np, type, view.shape)

        def run():
            np.copyto(inner, source)
            np.copyto(out, view)

        return run

    def peers(library):
        if library is np:
            return numpy_copy()
        if rank != 2:
            return None
        source = array(torch, type, sizes)
        return lambda: torch.nn.functional.unfold(source, window, dilation, padding, stride)

    desc = {"InputTensor": tensor(type, sizes), "WindowSizes": [window] * rank,
            "Strides": [stride] * rank, "Dilations": [dilation] * rank,
            "StartPadding": [padding] * rank, "EndPadding": [padding] * rank}
    return Row(f"UNFOLD {name}", "write", 0.8, operator("UNFOLD", **desc), peers)


# --- poolings ------------------------------------------------------------------------------------

TORCH_POOLINGS = {"MAX_POOLING": torch.nn.functional.max_pool2d,
                  "AVERAGE_POOLING": lambda *args: torch.nn.functional.avg_pool2d(
                      *args, count_include_pad=False)}
ONNX_POOLINGS = {"MAX_POOLING": "MaxPool", "AVERAGE_POOLING": "AveragePool"}


def pooling(name, type, sizes, window, stride, padding=0):
    def peers(library):
        if library is np:
            return None
        source = array(torch, "FLOAT32", sizes)
        return lambda: TORCH_POOLINGS[type](source, window, stride, padding)

    desc = {"InputTensor": tensor("FLOAT32", sizes), "Strides": [stride] * 2,
            "WindowSize": [window] * 2, "StartPadding": [padding] * 2, "EndPadding": [padding] * 2}
    if type == "AVERAGE_POOLING":
        desc["IncludePadding"] = False
    node = Node(ONNX_POOLINGS[type], ("FLOAT32", sizes), kernel_shape=[window] * 2,
                strides=[stride] * 2, pads=[padding] * 4)
    return Row(f"{type} {name}", "read", None, operator(type, **desc), peers, node)


def poolings():
    return [row for type in TORCH_POOLINGS for row in (
        pooling("3 x 3, stride 2, padding 1", type, [8, 64, 112, 112], 3, 2, 1),
        pooling("global, 7 x 7", type, [8, 2048, 7, 7], 7, 1))]


# --- REDUCE --------------------------------------------------------------------------------------

NUMPY_REDUCTIONS = {
    "SUM": lambda x, axes: lambda: x.sum(axes),
    "AVERAGE": lambda x, axes: lambda: x.mean(axes),
    "MIN": lambda x, axes: lambda: x.min(axes),
    "MAX": lambda x, axes: lambda: x.max(axes),
    "L1": lambda x, axes: lambda: np.abs(x).sum(axes),
    "L2": lambda x, axes: lambda: np.sqrt(np.square(x).sum(axes)),
    "SUM_SQUARE": lambda x, axes: lambda: np.square(x).sum(axes),
    "MULTIPLY": lambda x, axes: lambda: x.prod(axes),
    "LOG_SUM": lambda x, axes: lambda: np.log(x.sum(axes)),
    "LOG_SUM_EXP": lambda x, axes: lambda: np.logaddexp.reduce(x, axes),
    "ARGMIN": lambda x, axes: one_axis(x, axes, lambda axis: lambda: x.argmin(axis)),
    "ARGMAX": lambda x, axes: one_axis(x, axes, lambda axis: lambda: x.argmax(axis)),
}
TORCH_REDUCTIONS = {
    "SUM": lambda x, axes: lambda: x.sum(axes),
    "AVERAGE": lambda x, axes: lambda: x.mean(axes),
    "MIN": lambda x, axes: lambda: x.amin(axes),
    "MAX": lambda x, axes: lambda: x.amax(axes),
    "L1": lambda x, axes: lambda: torch.linalg.vector_norm(x, 1, axes),
    "L2": lambda x, axes: lambda: torch.linalg.vector_norm(x, 2, axes),
    "SUM_SQUARE": lambda x, axes: lambda: torch.linalg.vector_norm(x, 2, axes).square_(),
    "MULTIPLY": lambda x, axes: one_axis(
        x, axes, lambda axis: (lambda: x.prod()) if axis is None else lambda: x.prod(axis)),
    "LOG_SUM": lambda x, axes: lambda: x.sum(axes).log_(),
    "LOG_SUM_EXP": lambda x, axes: lambda: x.logsumexp(axes),
    "ARGMIN": lambda x, axes: one_axis(x, axes, lambda axis: lambda: x.argmin(axis)),
    "ARGMAX": lambda x, axes: one_axis(x, axes, lambda axis: lambda: x.argmax(axis)),
}
ONNX_REDUCTIONS = {"AVERAGE": "ReduceMean", "MIN": "ReduceMin", "MAX": "ReduceMax",
                   "L1": "ReduceL1", "L2": "ReduceL2", "SUM_SQUARE": "ReduceSumSquare",
                   "MULTIPLY": "ReduceProd", "LOG_SUM": "ReduceLogSum",
                   "LOG_SUM_EXP": "ReduceLogSumExp"}


def one_axis(x, axes, make):
    """Calls make(axis), or make(None) for all axes, for functions that take only these."""
    if len(axes) == 1:
        return make(axes[0])
    return make(None) if len(axes) == x.ndim else None


def reduction(where, target, function, type, sizes, axes):
    desc = {"Function": function, "InputTensor": tensor(type, sizes), "Axes": list(axes)}

    def peers(library):
        reductions = NUMPY_REDUCTIONS if library is np else TORCH_REDUCTIONS
        return reductions[function](array(library, type, sizes), tuple(axes))

    node = None
    if type == "FLOAT32" and function in ONNX_REDUCTIONS:
        node = Node(ONNX_REDUCTIONS[function], (type, sizes), axes=axes)
    return Row(f"{function} {type} {where}", "read", target, operator("REDUCE", **desc), peers, node)


AXES = {"all": ([1 << 13, 1 << 13], [0, 1]), "last": ([1 << 13, 1 << 13], [1]),
        "first": ([1 << 13, 1 << 13], [0]), "middle": ([64, 1 << 10, 1 << 10], [1])}


def reductions(functions, types, target):
    """Reduces 256 MiB of each type over all, the last, the first and a middle axis."""
    rows = []
    for type in types:
        scale = 4 // np.dtype(type.lower()).itemsize or 1
        for function in functions:
            for where, (sizes, axes) in AXES.items():
                larger = [sizes[0] * scale, *sizes[1:]]
                rows.append(reduction(where, target, function, type, larger, axes))
    return rows


# --- the table -----------------------------------------------------------------------------------

SUMS = ["SUM", "AVERAGE", "L1", "L2", "SUM_SQUARE"]
EXTREMES = ["MIN", "MAX"]
INDICES = ["ARGMIN", "ARGMAX"]

ROWS = [
    packed_copy("copy 256 MiB", "FLOAT32", [1 << 26]),
    join("axis 0", 0.8, "FLOAT32", [1, 1 << 13], 0, [1 << 12, 1 << 12]),
    split("axis 0", 0.8, "FLOAT32", [1, 1 << 13], 0, [1 << 12, 1 << 12]),
    join("256 + 256 columns", 0.8, "FLOAT32", [1 << 17, 1], 1, [256, 256]),
    split("256 + 256 columns", 0.8, "FLOAT32", [1 << 17, 1], 1, [256, 256]),
    join("3 + 5 + 7 columns, 4 bytes", 0.6, "FLOAT32", [1 << 22, 1], 1, [3, 5, 7]),
    split("3 + 5 + 7 columns, 4 bytes", 0.6, "FLOAT32", [1 << 22, 1], 1, [3, 5, 7]),
    join("3 + 5 + 7 columns, 1 byte", 0.45, "UINT8", [1 << 24, 1], 1, [3, 5, 7]),
    split("3 + 5 + 7 columns, 1 byte", 0.45, "UINT8", [1 << 24, 1], 1, [3, 5, 7]),
    permuted_copy("NCHW to NHWC, 64 channels", 0.5, "FLOAT32", [64, 64, 128, 128], [0, 2, 3, 1]),
    permuted_copy("NHWC to NCHW, 64 channels", 0.5, "FLOAT32", [64, 128, 128, 64], [0, 3, 1, 2]),
    permuted_copy("NCHW to NHWC, 3 channels", 0.5, "FLOAT32", [384, 3, 224, 224], [0, 2, 3, 1]),
    permuted_copy("NHWC to NCHW, 3 channels", 0.5, "FLOAT32", [384, 224, 224, 3], [0, 3, 1, 2]),
    permuted_copy("transpose 8192 x 8192, 4 bytes", 0.4, "FLOAT32", [1 << 13, 1 << 13], [1, 0]),
    permuted_copy("transpose 8192 x 8192, 2 bytes", 0.35, "FLOAT16", [1 << 13, 1 << 13], [1, 0]),
    permuted_copy("transpose 8192 x 8192, 8 bytes", 0.45, "FLOAT64", [1 << 13, 1 << 13], [1, 0]),
    permuted_copy("transpose 16384 x 16384, 1 byte", 0.25, "UINT8", [1 << 14, 1 << 14], [1, 0]),
    permuted_copy("rank 8, all dimensions reversed", None, "FLOAT32", [10] * 8, range(7, -1, -1)),
    scale_bias("FLOAT32"),
    scale_bias("FLOAT16"),
    unfold("3 x 3, padding 1", [16, 64, 56, 56], 3, padding=1),
    unfold("3 x 3, dilation 2", [16, 64, 56, 56], 3, dilation=2, padding=2),
    unfold("7 x 7, stride 2, padding 3, one image", [1, 3, 224, 224], 7, stride=2, padding=3),
    unfold("7 x 7, stride 2, padding 3", [32, 3, 224, 224], 7, stride=2, padding=3),
    unfold("1-D, 3, padding 1", [8, 64, 1 << 16], 3, padding=1),
    unfold("3-D, 3 x 3 x 3, padding 1", [2, 16, 16, 56, 56], 3, padding=1),
    *poolings(),
    *reductions([*SUMS, *EXTREMES], ["FLOAT32"], 0.85),
    *reductions(["MULTIPLY"], ["FLOAT32"], 0.6),
    *reductions(INDICES, ["FLOAT32"], 0.55),
    *reductions(["LOG_SUM"], ["FLOAT32"], None),
    *reductions(["LOG_SUM_EXP"], ["FLOAT32"], 0.27),
    *reductions([*SUMS, *EXTREMES, *INDICES, "MULTIPLY"], ["FLOAT16"], 0.6),
    *reductions(["LOG_SUM_EXP"], ["FLOAT16"], None),
    *reductions([*EXTREMES, *INDICES], ["INT8"], 0.5),
    *reductions(["SUM"], ["INT32", "INT64"], 0.85),
    *[reduction("rows of 32", None, function, "FLOAT32", [1 << 21, 32], [1])
      for function in ("SUM", "L2", "MAX", "ARGMAX")],
    *[reduction("64 rows", None, function, "FLOAT32", [64, 1 << 20], [0])
      for function in ("SUM", "L2", "MAX", "ARGMAX")],
    reduction("3 x 3", None, "SUM", "FLOAT32", [3, 3], [0]),
    *ELEMENT_WISE_ROWS,
    *NORMALIZATION_ROWS,
    *PRODUCT_ROWS,
    *MOVEMENT_ROWS,
    *WINDOW_ROWS,
]

# --- timing --------------------------------------------------------------------------------------


def seconds_of_turn(function):
    """Returns the median time of some calls, after one that wakes the threads up."""
    function()
    samples = []
    while sum(samples) < SECONDS_PER_TURN:
        start = time.perf_counter()
        function()
        samples.append(time.perf_counter() - start)
    return statistics.median(samples)


class Program:
    """dmlop's side of a row: `turns` are its operator and the ways to reach the limit."""

    def __init__(self, program, row):
        limit = [row.limit] if row.limit else []
        self._process = subprocess.Popen([program, json.dumps(row.descriptor), *limit],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        names = iter(lambda: self._process.stdout.readline().strip(), "")
        self.bytes = [int(line.split()[1]) for line in names]
        self.turns = [lambda number=number: self._turn(number)
                      for number in range(len(self.bytes))]

    def _turn(self, number):
        print(number, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.communicate()


def peers_of(row, stack):
    """Returns the peers' turns, by name; `stack` ends them."""
    turns = {}
    for name, library in (("NumPy", np), ("PyTorch", torch)):
        try:
            function = row.peers(library)
            if function:
                function()
                turns[name] = lambda function=function: seconds_of_turn(function)
        except (RuntimeError, TypeError):  # not implemented for the type
            pass
    if row.node and is_installed():
        turns["ONNX Runtime"] = stack.enter_context(OnnxRuntime(row.node, THREADS)).turn
    return turns


def take_turns(turns, rounds):
    """Returns the seconds of each in each round; slow ones only run in the first rounds."""
    seconds = {name: [] for name in turns}
    for _ in range(rounds):
        for name, turn in turns.items():
            if sum(seconds[name]) < SECONDS_PER_CONTESTANT:
                seconds[name].append(turn())
    return seconds


def median_ratio(above, below):
    """Compares rounds of the same number, as memory is faster at some times than at others."""
    return statistics.median(a / b for a, b in zip(above, below))


class Result:
    """A contestant's seconds, its bytes per second, its share of the limit, and how many times as
    long dmlop takes."""

    def __init__(self, seconds, own, moved, limits):
        self.seconds = statistics.median(seconds)
        self.rate = moved / self.seconds
        self.share = min(moved / size * median_ratio(limit, seconds) for size, limit in limits)
        self.behind = median_ratio(own, seconds)


def measure(program, row, rounds):
    with contextlib.ExitStack() as stack:
        peers = peers_of(row, stack)
        own = stack.enter_context(Program(program, row))
        limits = {f"limit {i}": turn for i, turn in enumerate(own.turns[1:])}
        seconds = take_turns({"dmlop": own.turns[0], **limits, **peers}, rounds)
    limits = list(zip(own.bytes[1:], (seconds[name] for name in limits)))
    return {name: Result(seconds[name], seconds["dmlop"], own.bytes[0], limits)
            for name in ("dmlop", *peers)}


def cell(result):
    if result is None:
        return "–"
    if result.seconds < 1e-4:
        return f"{result.seconds * 1e6:.2f} µs"
    return f"{result.share:.2f} ({result.rate / 1e9:.1f} GB/s)"


def verdict(row, results):
    """Tells where dmlop falls short. Peers within a twentieth of it are level: noise is larger."""
    share = results["dmlop"].share
    faults = [f"below {row.target}"] if row.target and share < row.target else []
    faults += [f"behind {name} ({result.behind:.2f})" for name, result in results.items()
               if result.behind > 1.05]
    return ", ".join(faults)


def cells(results, only_ratios):
    if not only_ratios:
        return [cell(results.get(name)) for name in CONTESTANTS]
    return [f"{results['dmlop'].seconds * 1e3:.3g} ms",
            *[f"{results[name].behind:.2f}" if name in results else "–"
              for name in CONTESTANTS[1:]]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=f"{ROOT}/build/release/bench/operator_turns")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--ratios", action="store_true")
    parser.add_argument("rows", nargs="*", metavar="ROW")
    options = parser.parse_args()
    torch.set_num_threads(THREADS)
    np.seterr(all="ignore")
    if not is_installed():
        print("ONNX Runtime is left out, as npm has not installed it.", file=sys.stderr)
    print(f"| work | at least | {' | '.join(CONTESTANTS)} | |")
    print("|---" * (len(CONTESTANTS) + 3) + "|")
    for row in ROWS:
        if options.rows and not any(re.search(pattern, row.name) for pattern in options.rows):
            continue
        results = measure(options.program, row, options.rounds)
        print(f"| {row.name} | {row.target or ''} | {' | '.join(cells(results, options.ratios))} "
              f"| {verdict(row, results)} |", flush=True)


if __name__ == "__main__":
    main()
