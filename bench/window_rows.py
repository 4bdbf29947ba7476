# SPDX-License-Identifier: Apache-2.0
"""Rows of peers.py for gradients and other kinds of pooling, and for local response normalization."""

import numpy as np
import torch

from onnx_runtime import Node
from peer_row import Row, array, operator, tensor

IMAGES = [8, 64, 56, 56]
WINDOWS = {"WindowSize": [3, 3], "Strides": [2, 2], "StartPadding": [1, 1], "EndPadding": [1, 1]}
DILATIONS = {"Dilations": [1, 1]}


ONNX_WINDOWS = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}


def row(name, descriptor, peer, type="FLOAT32", node=None):
    """Makes a row. `peer` makes PyTorch's function of the input; NumPy has none."""
    def peers(library):
        return None if library is np else peer(array(library, type, IMAGES))

    return Row(name, "read", None, descriptor, peers, node)


def max_pooling_grad(x):
    """Looks for the winners as the operator does: PyTorch's backward alone is given them."""
    gradient = torch.ones(8, 64, 28, 28)

    def run():
        _, places = torch.nn.functional.max_pool2d(x, 3, 2, 1, return_indices=True)
        torch.ops.aten.max_pool2d_with_indices_backward(gradient, x, [3, 3], [2, 2], [1, 1], [1, 1],
                                                        False, places)

    return run


def average_of_halves(x):
    return lambda: torch.nn.functional.avg_pool2d(x.float(), 3, 2, 1).half()


def norm(x):
    return lambda: torch.nn.functional.lp_pool2d(torch.nn.functional.pad(x, [1] * 4), 3, 3, 2)


def quantized_average(x):
    quantized = torch._make_per_tensor_quantized_tensor(x, 0.1, 3)
    return lambda: torch.nn.functional.avg_pool2d(quantized, 3, 2, 1)


def local_response(across_channels):
    return operator("LOCAL_RESPONSE_NORMALIZATION", InputTensor=tensor("FLOAT32", IMAGES),
                    CrossChannel=across_channels, LocalSize=5, Alpha=1e-4, Beta=0.75, Bias=1)


WINDOW_ROWS = [
    row("MAX_POOLING_GRAD 3 x 3, stride 2",
        operator("MAX_POOLING_GRAD", InputTensor=tensor("FLOAT32", IMAGES),
                 InputGradientTensor=tensor("FLOAT32", [8, 64, 28, 28]), **WINDOWS, **DILATIONS),
        max_pooling_grad),
    row("AVERAGE_POOLING FLOAT16 3 x 3, stride 2",
        operator("AVERAGE_POOLING", InputTensor=tensor("FLOAT16", IMAGES), **WINDOWS,
                 IncludePadding=True),
        average_of_halves, "FLOAT16"),
    row("LP_POOLING P=3 3 x 3, stride 2",
        operator("LP_POOLING", InputTensor=tensor("FLOAT32", IMAGES), **WINDOWS, P=3), norm,
        node=Node("LpPool", ("FLOAT32", IMAGES), p=3, **ONNX_WINDOWS)),
    row("QUANTIZED_LINEAR_AVERAGE_POOLING 3 x 3, stride 2",
        operator("QUANTIZED_LINEAR_AVERAGE_POOLING", InputTensor=tensor("UINT8", IMAGES),
                 InputScaleTensor=tensor("FLOAT32", [1]), OutputScaleTensor=tensor("FLOAT32", [1]),
                 **WINDOWS, **DILATIONS, IncludePadding=True),
        quantized_average, "UINT8"),
    row("LOCAL_RESPONSE_NORMALIZATION across 5 channels", local_response(True),
        lambda x: lambda: torch.nn.functional.local_response_norm(x, 5),
        node=Node("LRN", ("FLOAT32", IMAGES), size=5)),
    row("LOCAL_RESPONSE_NORMALIZATION 5 x 5", local_response(False), lambda x: None),
]
