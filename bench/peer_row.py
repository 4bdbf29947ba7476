# SPDX-License-Identifier: Apache-2.0
"""The parts of a row of the table of peers.py."""

import numpy as np
import torch

TORCH_TYPES = {"FLOAT32": torch.float32, "FLOAT16": torch.float16, "FLOAT64": torch.float64,
               "INT8": torch.int8, "UINT8": torch.uint8, "INT32": torch.int32,
               "INT64": torch.int64}


class Row:
    """A row of the table: a descriptor and what the peers do for it.

    If `limit` is None, it is the one that matches what the operator moves.
    `peers` is called with the array library, `numpy` or `torch`, and returns the function to time,
    or None if the peer has no such operator. `node` is the node that ONNX Runtime runs, if any.
    """

    def __init__(self, name, limit, target, descriptor, peers, node=None):
        self.name, self.limit, self.target = name, limit, target
        self.descriptor, self.peers, self.node = descriptor, peers, node


def operator(type, **desc):
    return {"type": type, "desc": desc}


def tensor(type, sizes, strides=None):
    desc = {"DataType": type, "Sizes": list(sizes)}
    if strides:
        desc["Strides"] = list(strides)
    return desc


def array(library, type, sizes):
    """Returns ordinary values: floats uniform in [-1, 1), integers of any bits."""
    count = int(np.prod(sizes))
    generator = np.random.default_rng(1)
    numpy_type = np.dtype(type.lower())
    if numpy_type.kind == "f":
        pattern = generator.uniform(-1, 1, 65521).astype(numpy_type)
    else:
        pattern = generator.integers(0, 256, 65521 * numpy_type.itemsize, np.uint8).view(numpy_type)
    values = np.resize(pattern, count).reshape(sizes)
    return values if library is np else torch.from_numpy(values)


def empty(library, type, sizes):
    if library is np:
        return np.ones(sizes, type.lower())
    return torch.ones(*sizes, dtype=TORCH_TYPES[type])


def copy_into(library, target, source):
    if library is np:
        return lambda: np.copyto(target, source)
    return lambda: target.copy_(source)
