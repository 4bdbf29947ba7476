# SPDX-License-Identifier: Apache-2.0
"""Rows of peers.py for matrix products, convolutions and recurrent networks.

NumPy and PyTorch compute products of floats with a copy of the inputs in FLOAT64, the least that
exact rounding costs, ONNX Runtime in FLOAT32. Its filters and weights are constants, as in models.
"""

import numpy as np
import torch

from onnx_runtime import Node
from peer_row import Row, array, operator, tensor


def wide(library, type, sizes):
    values = array(library, type, sizes)
    return values.astype(np.float64) if library is np else values.to(torch.float64)


def product(name, type, m, k, n, batch=()):
    a, b = [*batch, m, k], [*batch, k, n]

    def peers(library):
        left, right = wide(library, type, a), wide(library, type, b)
        return lambda: left @ right

    return Row(name, "read", None,
               operator("GEMM", ATensor=tensor(type, a), BTensor=tensor(type, b), TransA="NONE",
                        TransB="NONE", Alpha=1, Beta=0), peers,
               Node("MatMul", (type, a), (type, b)) if type == "FLOAT32" else None)


def integer_product(name, types, size):
    sizes = [size, size]
    descs = [tensor(type, sizes) for type in types]
    return Row(f"MATRIX_MULTIPLY_INTEGER {name}", "read", None,
               operator("MATRIX_MULTIPLY_INTEGER", ATensor=descs[0], BTensor=descs[1]),
               lambda library: None,
               Node("MatMulInteger", *[(type, sizes) for type in types]))


def convolution(name, input, filter, stride=1, padding=0, groups=1):
    def peers(library):
        if library is np:
            return None
        x, w = wide(library, "FLOAT32", input), wide(library, "FLOAT32", filter)
        return lambda: torch.nn.functional.conv2d(x, w, stride=stride, padding=padding,
                                                  groups=groups)

    return Row(name, "read", None,
               operator("CONVOLUTION", InputTensor=tensor("FLOAT32", input),
                        FilterTensor=tensor("FLOAT32", filter), Mode="CROSS_CORRELATION",
                        Direction="FORWARD", Strides=[stride] * 2, Dilations=[1, 1],
                        StartPadding=[padding] * 2, EndPadding=[padding] * 2,
                        OutputPadding=[0, 0], GroupCount=groups), peers,
               Node("Conv", ("FLOAT32", input), array(np, "FLOAT32", filter),
                    strides=[stride] * 2, pads=[padding] * 4, group=groups))


def lstm(steps, items, size):
    weights = [1, 4 * size, size]

    def peers(library):
        if library is np:
            return None
        network, x = torch.nn.LSTM(size, size), array(torch, "FLOAT32", [steps, items, size])
        return lambda: network(x)

    return Row(f"LSTM of {steps} steps, {items} items, {size} to {size}", "read", None,
               operator("LSTM", InputTensor=tensor("FLOAT32", [1, steps, items, size]),
                        WeightTensor=tensor("FLOAT32", [1, *weights]),
                        RecurrenceTensor=tensor("FLOAT32", [1, *weights]),
                        OutputSequenceTensor=tensor("FLOAT32", [steps, 1, items, size]),
                        ActivationDescs=[{"type": f"ACTIVATION_{name}"}
                                         for name in ("SIGMOID", "TANH", "TANH")],
                        Direction="FORWARD", ClipThreshold=0, UseClipThreshold=False,
                        CoupleInputForget=False), peers,
               Node("LSTM", ("FLOAT32", [steps, items, size]),
                    *[array(np, "FLOAT32", weights)] * 2, hidden_size=size))


PRODUCT_ROWS = [
    product("GEMM FLOAT32 1024 cubed", "FLOAT32", 1024, 1024, 1024),
    product("GEMM FLOAT32 2048 cubed", "FLOAT32", 2048, 2048, 2048),
    product("GEMM FLOAT32 256 cubed", "FLOAT32", 256, 256, 256),
    product("GEMM FLOAT32 4096 x 64 x 4096", "FLOAT32", 4096, 64, 4096),
    product("GEMM FLOAT32 64 of 128 cubed", "FLOAT32", 128, 128, 128, batch=(64,)),
    product("GEMM FLOAT16 1024 cubed", "FLOAT16", 1024, 1024, 1024),
    product("GEMM FLOAT32 matrix x vector", "FLOAT32", 4096, 4096, 1),
    integer_product("UINT8 x INT8 1024 cubed", ["UINT8", "INT8"], 1024),
    integer_product("INT8 x INT8 1024 cubed", ["INT8", "INT8"], 1024),
    convolution("CONVOLUTION 3x3, 64 to 64 channels", [8, 64, 56, 56], [64, 64, 3, 3], padding=1),
    convolution("CONVOLUTION 1x1, 256 to 64 channels", [8, 256, 56, 56], [64, 256, 1, 1]),
    convolution("CONVOLUTION 7x7, stride 2", [8, 3, 224, 224], [64, 3, 7, 7], 2, 3),
    convolution("CONVOLUTION 3x3, depthwise", [8, 64, 56, 56], [64, 1, 3, 3], padding=1,
                groups=64),
    lstm(64, 32, 256),
]
