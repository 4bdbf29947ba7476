# SPDX-License-Identifier: Apache-2.0
"""Rows of peers.py for slices, indices, selections, scans and resampling."""

import numpy as np
import torch

from onnx_runtime import Node
from peer_row import Row, array, copy_into, empty, operator, tensor

# --- copies of 256 MiB ---------------------------------------------------------------------------


def slice_of(name, target, sizes, begins, steps, type="FLOAT32"):
    """Takes elements of a larger input at constant steps."""
    whole = [begin + size * step for begin, size, step in zip(begins, sizes, steps)]

    def peers(library):
        places = tuple(slice(begin, None, step) for begin, step in zip(begins, steps))
        return copy_into(library, empty(library, type, sizes), array(library, type, whole)[places])

    return Row(f"SLICE {name}", "copy", target,
               operator("SLICE", InputTensor=tensor(type, whole), Offsets=begins, Sizes=sizes,
                        Strides=steps), peers)


NUMPY_PADDINGS = {"CONSTANT": "constant", "EDGE": "edge", "REFLECTION": "reflect"}


def padding(mode, target, sizes, pads):
    def peers(library):
        x = array(library, "FLOAT32", sizes)
        if library is np:
            return lambda: np.pad(x, [(pad, pad) for pad in pads], NUMPY_PADDINGS[mode])
        if mode != "CONSTANT":
            return None
        return lambda: torch.nn.functional.pad(x, [pad for pad in reversed(pads) for _ in "se"])

    return Row(f"PADDING {mode}", "copy", target,
               operator("PADDING", InputTensor=tensor("FLOAT32", sizes), PaddingMode=mode,
                        PaddingValue=0, StartPadding=pads, EndPadding=pads), peers)


def tile(name, target, sizes, repeats):
    def peers(library):
        x = array(library, "FLOAT32", sizes)
        return lambda: np.tile(x, repeats) if library is np else x.repeat(*repeats)

    return Row(f"TILE {name}", "write", target,
               operator("TILE", InputTensor=tensor("FLOAT32", sizes), Repeats=repeats), peers)


# Order of the dimensions of the split deep tensor {N, A, B, C, H, W} in {N, C, H, b, W, b}.
DEPTH_ORDERS = {"DEPTH_COLUMN_ROW": [0, 3, 4, 1, 5, 2], "COLUMN_ROW_DEPTH": [0, 1, 4, 2, 5, 3]}


def depth_space(type, order, target, n, c, h, w, block):
    """Converts from a deep tensor {n, c * block^2, h, w}, or to it."""
    split = [n, block, block, c, h, w] if order == "DEPTH_COLUMN_ROW" else [n, c, block, block, h, w]
    wide = [n, c, h, block, w, block]
    order_of = DEPTH_ORDERS[order]
    to_space = type == "DEPTH_TO_SPACE1"

    def peers(library):
        permutation = order_of if to_space else [order_of.index(d) for d in range(6)]
        x = array(library, "FLOAT32", split if to_space else wide)
        view = x.transpose(permutation) if library is np else x.permute(*permutation)
        return copy_into(library, empty(library, "FLOAT32", wide if to_space else split), view)

    sizes = [n, c * block * block, h, w] if to_space else [n, c, h * block, w * block]
    return Row(f"{type} {order}", "copy", target,
               operator(type, InputTensor=tensor("FLOAT32", sizes), BlockSize=block, Order=order),
               peers)


# --- indices -------------------------------------------------------------------------------------


def with_indices(row, sizes, end):
    """Binds random INT32 indices in [0, end)."""
    row.descriptor["bindings"] = {
        "IndicesTensor": {"random": "integers", "seed": 1, "low": 0, "high": end - 1}}
    row.descriptor["desc"]["IndicesTensor"] = tensor("INT32", sizes)
    return row


def indices(library, sizes, end):
    """Draws random indices; PyTorch wants 64 bits."""
    values = np.random.default_rng(1).integers(0, end, sizes)
    return values.astype(np.int32) if library is np else torch.from_numpy(values)


def gather(name, target, rows, columns, count):
    def peers(library):
        x, places = array(library, "FLOAT32", [rows, columns]), indices(library, [count], rows)
        if library is np:
            return lambda: x.take(places, 0)
        return lambda: x.index_select(0, places)

    row = Row(f"GATHER {name}", "copy", target,
              operator("GATHER", InputTensor=tensor("FLOAT32", [rows, columns]), Axis=0,
                       IndexDimensions=1), peers)
    return with_indices(row, [1, count], rows)


def along_axis(type, sizes, axis):
    where = "last" if axis == len(sizes) - 1 else "first"
    scatters = type == "SCATTER"

    def peers(library):
        x, places = array(library, "FLOAT32", sizes), indices(library, sizes, sizes[axis])
        if not scatters:
            if library is np:
                return lambda: np.take_along_axis(x, places, axis)
            return lambda: x.gather(axis, places)
        updates = empty(library, "FLOAT32", sizes)
        if library is torch:
            return lambda: x.scatter(axis, places, updates)

        def scatter():
            out = x.copy()
            np.put_along_axis(out, places, updates, axis)

        return scatter

    descs = {"InputTensor": tensor("FLOAT32", sizes)}
    if scatters:
        descs["UpdatesTensor"] = tensor("FLOAT32", sizes)
    row = Row(f"{type} {where} axis", "copy", None, operator(type, Axis=axis, **descs), peers)
    return with_indices(row, sizes, sizes[axis])


def scatter_nd(name, rows, columns, count):
    def peers(library):
        x, places = array(library, "FLOAT32", [rows, columns]), indices(library, [count], rows)
        updates = empty(library, "FLOAT32", [count, columns])

        def scatter():
            out = x.copy() if library is np else x.clone()
            out[places] = updates

        return scatter

    row = Row(f"SCATTER_ND {name}", "copy", None,
              operator("SCATTER_ND", InputTensor=tensor("FLOAT32", [rows, columns]),
                       UpdatesTensor=tensor("FLOAT32", [count, columns]), InputDimensionCount=2,
                       IndicesDimensionCount=2), peers)
    return with_indices(row, [count, 1], rows)


# --- selections and scans ------------------------------------------------------------------------


def top_k(name, sizes, k):
    def peers(library):
        x = array(library, "FLOAT32", sizes)
        if library is torch:
            return lambda: torch.topk(x, k)

        def sort_best():
            best = np.argpartition(x, -k)[..., -k:]
            values = np.take_along_axis(x, best, -1)
            order = np.argsort(-values)
            return np.take_along_axis(values, order, -1), np.take_along_axis(best, order, -1)

        return sort_best

    return Row(f"TOP_K {name}", "read", None,
               operator("TOP_K", InputTensor=tensor("FLOAT32", sizes), Axis=len(sizes) - 1, K=k),
               peers, Node("TopK", ("FLOAT32", sizes), np.array([k]), outputs=2))


def nonzero(name, sizes, high):
    """Draws integers from 0 to `high`."""

    def peers(library):
        values = np.random.default_rng(1).integers(0, high + 1, sizes).astype(np.float32)
        if library is np:
            return lambda: np.argwhere(values)
        x = torch.from_numpy(values)
        return lambda: x.nonzero()

    row = Row(f"NONZERO_COORDINATES {name}", "read", None,
              operator("NONZERO_COORDINATES", InputTensor=tensor("FLOAT32", sizes)), peers)
    row.descriptor["bindings"] = {
        "InputTensor": {"random": "integers", "seed": 1, "low": 0, "high": high}}
    return row


def scan(type, function, name, sizes, axis, element="FLOAT32"):
    def peers(library):
        x = array(library, element, sizes)
        return lambda: getattr(library, function)(x, axis)

    exclusive = "HasExclusive" + ("Sum" if function == "cumsum" else "Product")
    return Row(f"{type} {element} {name}", "copy", None,
               operator(type, InputTensor=tensor(element, sizes), Axis=axis,
                        AxisDirection="INCREASING", **{exclusive: False}), peers)


SUMMATION = ("CUMULATIVE_SUMMATION", "cumsum")
PRODUCT = ("CUMULATIVE_PRODUCT", "cumprod")

# --- weighted sums -------------------------------------------------------------------------------


def resample(name, mode, sizes, scale, antialiased=False):
    desc = {"InputTensor": tensor("FLOAT32", sizes), "InterpolationMode": mode,
            "Scales": [1, 1, scale, scale]}
    if antialiased:
        desc |= {"RoundingDirection": "DECREASING", "InputPixelOffsets": [0.5] * 4,
                 "OutputPixelOffsets": [-0.5] * 4, "Antialiased": True}

    def peers(library):
        if library is np:
            return None
        x = array(torch, "FLOAT32", sizes)
        torch_mode = "nearest" if mode == "NEAREST_NEIGHBOR" else "bilinear"
        return lambda: torch.nn.functional.interpolate(x, scale_factor=scale, mode=torch_mode,
                                                       antialias=antialiased)

    node = None
    if not antialiased:
        node = Node("Resize", ("FLOAT32", sizes), np.zeros(0, "f4"),
                    np.array([1, 1, scale, scale], "f4"),
                    mode="linear" if mode == "LINEAR" else "nearest")
    type = "RESAMPLE3" if antialiased else "RESAMPLE"
    return Row(f"{type} {name}", "copy", None, operator(type, **desc), peers, node)


def resample_grad(name, sizes, scale):
    large = [*sizes[:2], *[size * scale for size in sizes[2:]]]

    def peers(library):
        if library is np:
            return None
        gradient = array(torch, "FLOAT32", large)
        return lambda: torch.ops.aten.upsample_bilinear2d_backward(
            gradient, large[2:], sizes, False, None, None)

    return Row(f"RESAMPLE_GRAD {name}", "copy", None,
               operator("RESAMPLE_GRAD", InputGradientTensor=tensor("FLOAT32", large),
                        OutputGradientTensor=tensor("FLOAT32", sizes), InterpolationMode="LINEAR",
                        Scales=[1, 1, scale, scale], InputPixelOffsets=[0.5] * 4,
                        OutputPixelOffsets=[-0.5] * 4), peers)


def fold(name, sizes, window, stride=1, padding=0):
    blocks = [(size + 2 * padding - window) // stride + 1 for size in sizes[2:]]
    columns = [sizes[0], sizes[1] * window * window, int(np.prod(blocks))]

    def peers(library):
        if library is np:
            return None
        x = array(torch, "FLOAT32", columns)
        return lambda: torch.nn.functional.fold(x, sizes[2:], window, 1, padding, stride)

    return Row(f"FOLD {name}", "copy", None,
               operator("FOLD", InputTensor=tensor("FLOAT32", columns),
                        OutputTensor=tensor("FLOAT32", sizes), WindowSizes=[window] * 2,
                        Strides=[stride] * 2, Dilations=[1, 1], StartPadding=[padding] * 2,
                        EndPadding=[padding] * 2), peers)


MOVEMENT_ROWS = [
    slice_of("of columns", 0.7, [1 << 13, 1 << 13], [0, 256], [1, 1]),
    slice_of("every other row", 0.7, [1 << 13, 1 << 13], [0, 0], [2, 1]),
    slice_of("every other column", None, [1 << 13, 1 << 13], [0, 0], [1, 2]),
    *[padding(mode, 0.7, [64, 64, 126, 126], [0, 0, 1, 1])
      for mode in NUMPY_PADDINGS],
    tile("of rows", 0.7, [1 << 10, 1 << 13], [8, 1]),
    tile("of columns", 0.7, [1 << 13, 1 << 10], [1, 8]),
    *[depth_space(type, order, 0.7, 16, 64, 128, 128, 2)
      for type in ("DEPTH_TO_SPACE1", "SPACE_TO_DEPTH1") for order in DEPTH_ORDERS],
    gather("of 4-byte elements", None, 1 << 22, 1, 1 << 22),
    gather("of rows of 256 bytes", 0.6, 1 << 20, 64, 1 << 20),
    *[along_axis(type, [1 << 12, 1 << 12], axis)
      for type in ("GATHER_ELEMENTS", "SCATTER") for axis in (1, 0)],
    scatter_nd("of 4-byte elements", 1 << 22, 1, 1 << 22),
    scatter_nd("of rows of 256 bytes", 1 << 18, 64, 1 << 18),
    top_k("10 of 1 Mi", [1 << 20], 10),
    top_k("half of 1 Mi", [1 << 20], 1 << 19),
    top_k("10 of 1024, 4096 times", [1 << 12, 1 << 10], 10),
    top_k("512 of 1024, 1024 times", [1 << 10, 1 << 10], 512),
    nonzero("half of 16 Mi", [1 << 12, 1 << 12], 1),
    nonzero("all but a few of 16 Mi", [1 << 12, 1 << 12], 1000),
    *[scan(*SUMMATION, name, [1 << 13, 1 << 12], axis)
      for name, axis in (("last axis", 1), ("first axis", 0))],
    scan(*SUMMATION, "one row", [1 << 24], 0),
    scan(*SUMMATION, "last axis", [1 << 13, 1 << 12], 1, "INT32"),
    scan(*PRODUCT, "last axis", [1 << 12, 1 << 12], 1),
    resample("linear, 2 times", "LINEAR", [8, 64, 56, 56], 2),
    resample("linear, 1.5 times", "LINEAR", [8, 64, 56, 56], 1.5),
    resample("linear, half", "LINEAR", [8, 64, 112, 112], 0.5),
    resample("antialiased, a quarter", "LINEAR", [8, 64, 112, 112], 0.25, True),
    resample("nearest, 2 times", "NEAREST_NEIGHBOR", [8, 64, 56, 56], 2),
    resample_grad("linear, 2 times", [8, 64, 56, 56], 2),
    fold("3 x 3, padding 1", [16, 64, 56, 56], 3, padding=1),
    fold("7 x 7, stride 2, padding 3", [16, 3, 224, 224], 7, 2, 3),
]
