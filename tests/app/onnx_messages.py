# SPDX-License-Identifier: Apache-2.0
"""Writes the messages of ONNX's tensors and models."""

import struct

import numpy as np

# ONNX's number of each type, and NumPy's name.
TYPES = {1: "f4", 2: "u1", 3: "i1", 4: "u2", 5: "i2", 6: "i4", 7: "i8", 10: "f2", 11: "f8", 12: "u4", 13: "u8"}
NUMBERS = {np.dtype(name): number for number, name in TYPES.items()} | {np.dtype("?"): 9}


def varint(number):
    number &= 2**64 - 1
    text = bytearray()
    while number > 127:
        text.append(number & 127 | 128)
        number >>= 7
    return bytes([*text, number])


def field(number, content):
    """A field of a message: an integer, or bytes."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def packed(numbers):
    return b"".join(map(varint, numbers))


def tensor(data_type, shape, *fields, packs_shape=True):
    sizes = field(1, packed(shape)) if packs_shape else b"".join(field(1, size) for size in shape)
    return sizes + field(2, data_type) + b"".join(fields)


def text(number, string):
    return field(number, string if isinstance(string, bytes) else string.encode())


def constant(name, array):
    array = np.asarray(array)
    return tensor(NUMBERS[array.dtype], array.shape, text(8, name), field(9, array.tobytes()))


def attribute(name, value):
    def numbered(kind, *fields):
        return text(1, name) + b"".join(fields) + field(20, kind)

    if isinstance(value, float):
        return numbered(1, b"\x15" + struct.pack("<f", value))
    if isinstance(value, int):
        return numbered(2, field(3, value))
    if isinstance(value, str):
        return numbered(3, text(4, value))
    if isinstance(value, np.ndarray):
        return numbered(4, field(5, constant("", value)))
    if isinstance(value, bytes):  # a graph
        return numbered(5, field(6, value))
    if isinstance(value[0], str):
        return numbered(8, *(text(9, one) for one in value))
    if isinstance(value[0], float):
        return numbered(6, *(b"\x3d" + struct.pack("<f", one) for one in value))
    return numbered(7, *(field(8, one) for one in value))


def node(op, inputs, outputs, name="", domain="", **attributes):
    return (b"".join(text(1, one) for one in inputs.split(",") if inputs) + b"".join(text(2, one) for one in outputs.split(",") if outputs) +
            text(3, name) + text(4, op) + text(7, domain) +
            b"".join(field(5, attribute(key, value)) for key, value in attributes.items()))


def value(name, kind, sizes):
    """`kind` is a NumPy type or a number of ONNX; a size may be a name, and there may be none at all."""
    number = kind if isinstance(kind, int) else NUMBERS[np.dtype(kind)]
    shape = b"" if sizes is None else field(2, b"".join(
        field(1, field(1, size) if isinstance(size, int) else text(2, size)) for size in sizes))
    return text(1, name) + field(2, field(1, field(1, number) + shape))


def graph(nodes, inputs=(), outputs=(), constants=(), values=()):
    return (b"".join(field(1, one) for one in nodes) + text(2, "g") + b"".join(field(5, one) for one in constants) +
            b"".join(field(11, one) for one in inputs) + b"".join(field(12, one) for one in outputs) + b"".join(field(13, one) for one in values))


def model(nodes, inputs=(), outputs=(), constants=(), opset=17, domains=(), values=()):
    opsets = b"".join(field(8, text(1, name) + field(2, version)) for name, version in [("", opset), *domains])
    return field(1, 8) + opsets + field(7, graph(nodes, inputs, outputs, constants, values))


def function(name, inputs, outputs, nodes, opset=17, **defaults):
    """A function of the domain 'my'; an attribute whose default is None is required."""
    stated = {key: default for key, default in defaults.items() if default is not None}
    return field(25, text(1, name) + b"".join(text(4, one) for one in inputs.split(",")) + b"".join(text(5, one) for one in outputs.split(",")) +
                 b"".join(text(6, key) for key in defaults if key not in stated) + b"".join(field(7, one) for one in nodes) +
                 b"".join(field(9, text(1, domain) + field(2, version)) for domain, version in [("", opset), ("my", 1)]) +
                 text(10, "my") + b"".join(field(11, attribute(key, default)) for key, default in stated.items()))


def reference(attribute, to, kind):
    """An attribute of a function's node with the value of another one of the call."""
    return field(5, text(1, attribute) + text(21, to) + field(20, kind))


def outputs(*names):
    return [value(name, "f4", None) for name in names]


F3 = value("X", "f4", [3, 3])
RELU = model([node("Relu", "X", "Y", "r")], [F3], outputs("Y"))
