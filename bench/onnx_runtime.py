# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's side of a row of peers.py: a model of one node, and the process that runs it."""

import os
import struct
import subprocess
import tempfile

import numpy as np

FOLDER = os.path.dirname(os.path.abspath(__file__))
PACKAGES = f"{os.path.dirname(FOLDER)}/build/onnxruntime/node_modules"  # where ./dev installs it

OPSET = 17
TYPES = {"FLOAT32": 1, "UINT8": 2, "INT8": 3, "INT64": 7}  # ONNX's numbers


def is_installed():
    return os.path.isdir(f"{PACKAGES}/onnxruntime-node")


# --- a writer of protobuf's messages --------------------------------------------------------------


def varint(number):
    number &= (1 << 64) - 1
    low = []
    while number > 127:
        low.append(number & 127 | 128)
        number >>= 7
    return bytes([*low, number])


def field(number, content):
    """Returns a field that is an integer, a text or bytes."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def attribute(name, value):
    if isinstance(value, float):
        return field(1, name) + b"\x15" + struct.pack("<f", value) + field(20, 1)
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    if isinstance(value, str):
        return field(1, name) + field(4, value) + field(20, 3)
    return field(1, name) + b"".join(field(8, number) for number in value) + field(20, 7)


def constant(name, array):
    return (b"".join(field(1, size) for size in array.shape) +
            field(2, TYPES[array.dtype.name.upper()]) + field(8, name) + field(9, array.tobytes()))


def input_of(name, type, sizes):
    shape = b"".join(field(1, field(1, size)) for size in sizes)
    return field(1, name) + field(2, field(1, field(1, TYPES[type]) + field(2, shape)))


# --- the peer ------------------------------------------------------------------------------------


class Node:
    """A node of ONNX. Each of its inputs is a pair of type and sizes, or a constant array."""

    def __init__(self, type, *inputs, outputs=1, **attributes):
        self.type, self.inputs, self.outputs = type, inputs, outputs
        self.attributes = attributes

    def model(self):
        inputs = [(f"x{i}", value) for i, value in enumerate(self.inputs)]
        outputs = [f"y{i}" for i in range(self.outputs)]
        node = b"".join([*(field(1, name) for name, _ in inputs),
                         *(field(2, name) for name in outputs), field(4, self.type),
                         *(field(5, attribute(*one)) for one in self.attributes.items())])
        graph = [field(1, node), field(2, "row")]
        for name, value in inputs:
            is_constant = isinstance(value, np.ndarray)
            graph.append(field(5, constant(name, value)) if is_constant
                         else field(11, input_of(name, *value)))
        graph += [field(12, field(1, name)) for name in outputs]
        return field(1, 8) + field(7, b"".join(graph)) + field(8, field(2, OPSET))


class OnnxRuntime:
    """The process that runs a node, on so many threads."""

    def __init__(self, node, threads):
        self._file = tempfile.NamedTemporaryFile(suffix=".onnx")
        self._file.write(node.model())
        self._file.flush()
        self._process = subprocess.Popen(
            ["node", f"{FOLDER}/onnx_runtime.js", PACKAGES, self._file.name, str(threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._process.stdout.readline()

    def turn(self):
        print(file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.communicate()
        self._file.close()
