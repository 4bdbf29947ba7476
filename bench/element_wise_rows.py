# SPDX-License-Identifier: Apache-2.0
"""Compares element-wise functions with others, for the table of peers.py.

The inputs are uniform in [-1, 1), so that LOG and POW have no value for half of them.
"""

import numpy as np
import torch

from onnx_runtime import Node
from peer_row import Row, array, empty, operator, tensor

A_B = ("ATensor", "BTensor")
ONNX_FUNCTIONS = {"ELEMENT_WISE_EXP": "Exp", "ELEMENT_WISE_LOG": "Log", "ELEMENT_WISE_TANH": "Tanh",
                  "ELEMENT_WISE_SIN": "Sin", "ELEMENT_WISE_COS": "Cos", "ELEMENT_WISE_ERF": "Erf",
                  "ELEMENT_WISE_ASIN": "Asin", "ELEMENT_WISE_ATANH": "Atanh",
                  "ACTIVATION_SIGMOID": "Sigmoid", "ACTIVATION_SOFTPLUS": "Softplus",
                  "ELEMENT_WISE_ADD": "Add", "ELEMENT_WISE_POW": "Pow"}
FORMS = {"row": [0, 1], "column": [1, 0], "scalar": [0, 0]}  # strides of all inputs but the first


def row(name, target, type, peers, inputs=("InputTensor",), types=(), out="FLOAT32", form=None,
        sizes=(1 << 13, 1 << 13), **fields):
    """Makes a row of 256 MiB of FLOAT32, unless `sizes` says otherwise; its limit matches what is
    moved. `peers` are a function of NumPy and one of PyTorch, called with the inputs and `out`;
    None if the library lacks it."""
    types = types or [out] * len(inputs)
    forms = [None, *[form] * (len(inputs) - 1)]
    descs = {field: tensor(of_type, sizes, FORMS.get(of_form))
             for field, of_type, of_form in zip(inputs, types, forms)}

    def operand(library, of_type, of_form):
        strides = FORMS.get(of_form, [1, 1])
        return array(library, of_type, [size if step else 1 for size, step in zip(sizes, strides)])

    def call_of(library):
        peer = peers[0 if library is np else 1]
        if peer is None:
            return None
        operands = [operand(library, *of) for of in zip(types, forms)]
        result = empty(library, out, sizes)
        return lambda: peer(*operands, out=result)

    node = None
    if type in ONNX_FUNCTIONS and not form and {*types, out} == {"FLOAT32"}:
        node = Node(ONNX_FUNCTIONS[type], *[(of_type, sizes) for of_type in types])
    return Row(name + (f", {form}" if form else ""), None, target,
               operator(type, **descs, OutputTensor=tensor(out, sizes), **fields), call_of, node)


def simple(name, target, peers, out="FLOAT32", **more):
    return row(f"{name} {out}", target, f"ELEMENT_WISE_{name}", peers, out=out, **more)


def returning(function):
    """Wraps a function that takes no `out`."""
    return lambda *operands, out: function(*operands)


def copied(x, out):
    return out.copy_(x) if isinstance(out, torch.Tensor) else np.copyto(out, x, casting="unsafe")


def functions(out):
    """Returns the rows of functions of one value that are limited by arithmetic."""
    half_as_long = {"out": out, "sizes": [1 << 12, 1 << 13]}
    torch_functions = torch.nn.functional
    return [
        simple("EXP", None, (np.exp, torch.exp), **half_as_long),
        simple("LOG", None, (np.log, torch.log), **half_as_long),
        simple("TANH", None, (np.tanh, torch.tanh), **half_as_long),
        simple("SIN", None, (np.sin, torch.sin), **half_as_long),
        simple("COS", None, (np.cos, torch.cos), **half_as_long),
        simple("ERF", None, (None, torch.erf), **half_as_long),
        simple("ASIN", None, (np.arcsin, torch.asin), **half_as_long),
        simple("ATANH", None, (np.arctanh, torch.atanh), **half_as_long),
        row(f"SIGMOID {out}", None, "ACTIVATION_SIGMOID", (None, torch.sigmoid), **half_as_long),
        row(f"GELU {out}", None, "ACTIVATION_GELU", (None, returning(torch_functions.gelu)),
            **half_as_long),
        row(f"SOFTPLUS {out}", None, "ACTIVATION_SOFTPLUS",
            (None, returning(torch_functions.softplus)), Steepness=1, **half_as_long),
    ]


DEQUANTIZE = (lambda x, scale, zero, out: np.multiply(np.subtract(x, zero, out=out), scale, out=out),
              lambda x, scale, zero, out: torch.sub(x, zero, out=out).mul_(scale))
QUANTIZE = (lambda x, scale, zero, out: np.copyto(
                out, np.clip(np.rint(x / scale) + zero, 0, 255), casting="unsafe"),
            lambda x, scale, zero, out: out.copy_(
                torch.clamp(torch.round(x / scale) + zero, 0, 255)))


def quantized(name, target, peers, integer, float, form):
    """Returns the rows of conversions between integers and floats."""
    type, out = (float, integer) if name == "QUANTIZE" else (integer, float)
    return row(f"{name}_LINEAR {type} to {out}", target, f"ELEMENT_WISE_{name}_LINEAR", peers,
               inputs=("InputTensor", "ScaleTensor", "ZeroPointTensor"),
               types=(type, float, integer), out=out, form=form)


ADD = (np.add, torch.add)

ELEMENT_WISE_ROWS = [
    simple("ABS", 0.8, (np.abs, torch.abs)),
    simple("ADD", 0.8, ADD, inputs=A_B),
    simple("MULTIPLY", 0.8, (np.multiply, torch.mul), inputs=A_B),
    simple("MAX", 0.8, (np.maximum, torch.maximum), inputs=A_B),
    simple("CLIP", 0.8, (lambda x, out: np.clip(x, -0.5, 0.5, out=out),
                         lambda x, out: torch.clamp(x, -0.5, 0.5, out=out)), Min=-0.5, Max=0.5),
    row("RELU FLOAT32", 0.8, "ACTIVATION_RELU",
        (lambda x, out: np.maximum(x, 0, out=out), returning(torch.relu))),
    simple("IF", 0.8, (returning(np.where), lambda c, a, b, out: torch.where(c.bool(), a, b)),
           inputs=("ConditionTensor", *A_B), types=("UINT8", "FLOAT32", "FLOAT32")),
    row("EQUALS FLOAT32", 0.8, "ELEMENT_WISE_LOGICAL_EQUALS", (returning(np.equal),
                                                               returning(torch.eq)),
        inputs=A_B, types=("FLOAT32", "FLOAT32"), out="UINT8"),
    simple("BIT_AND", 0.8, (np.bitwise_and, torch.bitwise_and), out="INT32", inputs=A_B),
    row("CAST FLOAT32 to FLOAT16", 0.8, "CAST", (copied, copied), types=["FLOAT32"],
        out="FLOAT16"),
    row("CAST FLOAT32 to INT32", 0.8, "CAST", (copied, copied), types=["FLOAT32"], out="INT32"),
    quantized("DEQUANTIZE", 0.8, DEQUANTIZE, "UINT8", "FLOAT32", "scalar"),
    quantized("DEQUANTIZE", 0.7, DEQUANTIZE, "UINT8", "FLOAT32", "row"),
    quantized("DEQUANTIZE", 0.7, DEQUANTIZE, "UINT8", "FLOAT32", "column"),
    quantized("DEQUANTIZE", 0.6, DEQUANTIZE, "UINT8", "FLOAT16", "scalar"),
    quantized("DEQUANTIZE", None, DEQUANTIZE, "INT32", "FLOAT32", "row"),
    quantized("QUANTIZE", 0.7, QUANTIZE, "UINT8", "FLOAT32", "scalar"),
    quantized("QUANTIZE", 0.6, QUANTIZE, "UINT8", "FLOAT16", "scalar"),
    *[simple("ADD", 0.7, ADD, inputs=A_B, form=form) for form in FORMS],
    simple("ADD", 0.7, ADD, inputs=A_B, out="INT8", sizes=(1 << 14, 1 << 14)),
    simple("ADD", 0.7, ADD, inputs=A_B, out="FLOAT16", sizes=(1 << 14, 1 << 13)),
    *functions("FLOAT32"),
    *functions("FLOAT16"),
    row("POW FLOAT32", None, "ELEMENT_WISE_POW", (np.power, torch.pow),
        inputs=("InputTensor", "ExponentTensor"), sizes=(1 << 12, 1 << 12)),
    row("ATAN_YX FLOAT32", None, "ELEMENT_WISE_ATAN_YX", (np.arctan2, torch.atan2), inputs=A_B,
        sizes=(1 << 12, 1 << 12)),
    row("ADD of 9 elements", None, "ELEMENT_WISE_ADD", ADD, inputs=A_B, sizes=(3, 3)),
]
