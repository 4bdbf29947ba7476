# SPDX-License-Identifier: Apache-2.0
"""Compares softmax and normalizations with others, for the table of peers.py; NumPy lacks them."""

import numpy as np
import torch

from onnx_runtime import Node
from peer_row import Row, array, operator, tensor


def row(name, target, type, sizes, peer, parameters=(), parameter_sizes=None, node=None, **fields):
    """Makes a row of FLOAT32. `peer` makes PyTorch's function of the input and the parameters."""
    descs = {"InputTensor": tensor("FLOAT32", sizes)}
    descs |= {field: tensor("FLOAT32", parameter_sizes) for field in parameters}

    def peers(library):
        if library is np:
            return None
        count = int(np.prod(parameter_sizes or [1]))
        return peer(array(library, "FLOAT32", sizes),
                    *[array(library, "FLOAT32", [count]).abs() for _ in parameters])

    return Row(name, "copy", target, operator(type, **descs, **fields), peers, node)


def softmax(type, function, onnx_type, sizes, axis, where):
    return row(f"{type.removeprefix('ACTIVATION_')} {where}", None, type, sizes,
               lambda x: lambda: function(x, axis),
               node=Node(onnx_type, ("FLOAT32", sizes), axis=axis), Axes=[axis])


def constants(count, of):
    return [np.abs(array(np, "FLOAT32", [count]))] * of


SOFTMAX = ("ACTIVATION_SOFTMAX1", torch.softmax, "Softmax")
LOG_SOFTMAX = ("ACTIVATION_LOG_SOFTMAX1", torch.log_softmax, "LogSoftmax")
IMAGES = [32, 64, 56, 56]
EPSILON = 1e-5

NORMALIZATION_ROWS = [
    *[softmax(*function, sizes, axis, where) for function in (SOFTMAX, LOG_SOFTMAX)
      for sizes, axis, where in (([4096, 4096], 1, "4096 x 4096, rows"),
                                 ([1 << 16, 128], 1, "65536 x 128, rows"),
                                 ([4096, 4096], 0, "4096 x 4096, columns"))],
    row("layer normalization 4096 x 1024", None, "MEAN_VARIANCE_NORMALIZATION1", [4096, 1024],
        lambda x, scale, bias: lambda: torch.nn.functional.layer_norm(x, [1024], scale, bias),
        ("ScaleTensor", "BiasTensor"), [1, 1024],
        Node("LayerNormalization", ("FLOAT32", [4096, 1024]), *constants(1024, 2), axis=1),
        Axes=[1], NormalizeVariance=True, Epsilon=EPSILON),
    row("batch normalization, NCHW", 0.7, "BATCH_NORMALIZATION", IMAGES,
        lambda x, mean, variance, scale, bias: lambda: torch.nn.functional.batch_norm(
            x, mean, variance, scale, bias),
        ("MeanTensor", "VarianceTensor", "ScaleTensor", "BiasTensor"), [1, 64, 1, 1],
        Node("BatchNormalization", ("FLOAT32", IMAGES), *constants(64, 4)),
        Spatial=True, Epsilon=EPSILON),
    row("batch normalization, training", None, "BATCH_NORMALIZATION_TRAINING", IMAGES,
        lambda x, scale, bias: lambda: torch.nn.functional.batch_norm(
            x, None, None, scale, bias, training=True),
        ("ScaleTensor", "BiasTensor"), [1, 64, 1, 1], Epsilon=EPSILON),
]
