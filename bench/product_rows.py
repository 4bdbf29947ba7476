# SPDX-License-Identifier: Apache-2.0
"""Rows of peers.py for matrix products and convolutions.

Peers compute with a copy of the inputs in FLOAT64, the least that exact rounding costs.
"""

import numpy as np
import torch

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
                        TransB="NONE", Alpha=1, Beta=0), peers)


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
                        OutputPadding=[0, 0], GroupCount=groups), peers)


PRODUCT_ROWS = [
    product("GEMM FLOAT32 1024 cubed", "FLOAT32", 1024, 1024, 1024),
    product("GEMM FLOAT32 4096 x 64 x 4096", "FLOAT32", 4096, 64, 4096),
    product("GEMM FLOAT32 64 of 128 cubed", "FLOAT32", 128, 128, 128, batch=(64,)),
    product("GEMM FLOAT16 1024 cubed", "FLOAT16", 1024, 1024, 1024),
    product("GEMM FLOAT32 matrix x vector", "FLOAT32", 4096, 4096, 1),
    convolution("CONVOLUTION 3x3, 64 to 64 channels", [8, 64, 56, 56], [64, 64, 3, 3], padding=1),
    convolution("CONVOLUTION 1x1, 256 to 64 channels", [8, 256, 56, 56], [64, 256, 1, 1]),
    convolution("CONVOLUTION 7x7, stride 2", [8, 3, 224, 224], [64, 3, 7, 7], 2, 3),
    convolution("CONVOLUTION 3x3, depthwise", [8, 64, 56, 56], [64, 1, 3, 3], padding=1,
                groups=64),
]
