# SPDX-License-Identifier: Apache-2.0
"""dmlop explain: the sources and targets of elements, and the calculation of values, checked with exact fractions."""

import decimal
import json
import math
import os
import struct
import subprocess
import sys
import unittest
from fractions import Fraction

import numpy as np

sys.dont_write_bytecode = True
from program import COPY, DMLOP, ROOT, SUM, X, ProgramTest, documents_in

SEED = int(os.environ.get("DMLOP_TEST_SEED", "20240229"), 0)
MATMUL_ADD = str(ROOT / "testdata/models/matmul_add.json")
IDENTITY = str(ROOT / "testdata/models/element_wise_identity.json")
QUADRATIC = str(ROOT / "testdata/models/serialized_graph.json")

REDUCE_X = json.dumps({"type": "REDUCE", "Function": "SUM", "Axes": [0], "bindings": {"InputTensor": "x.npy"}})
UNFOLD = json.dumps({
    "type": "UNFOLD", "InputTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 5, 5]}, "WindowSizes": [3, 3],
    "Strides": [1, 1], "Dilations": [1, 1], "StartPadding": [1, 0], "EndPadding": [1, 0],
    "bindings": {"InputTensor": {"valueStart": 0, "valueDelta": 1}}})
JOIN_2X2 = json.dumps({  # of the JOIN page
    "type": "JOIN", "Axis": 3, "InputTensors": [{"DataType": "FLOAT32", "Sizes": [1, 1, 2, 2]}] * 3,
    "bindings": {"InputTensors": [{"valueStart": 4 * i + 1, "valueDelta": 1} for i in range(3)]}})
SPLIT_6X2 = json.dumps({  # of the SPLIT page
    "type": "SPLIT", "Axis": 2, "InputTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 6, 2]},
    "OutputTensors": [{"DataType": "FLOAT32", "Sizes": [1, 1, n, 2]} for n in (2, 1, 3)],
    "bindings": {"InputTensor": {"valueStart": 1, "valueDelta": 1}}})
PADDED = json.dumps({
    "type": "ELEMENT_WISE_IDENTITY", "ScaleBias": {"Scale": 2, "Bias": 10},
    "InputTensor": {"DataType": "FLOAT32", "Sizes": [2, 3], "Strides": [5, 1]},
    "OutputTensor": {"DataType": "FLOAT32", "Sizes": [2, 3], "Strides": [1, 2]},
    "bindings": {"InputTensor": [[1, 2, 3], [4, 5, 6]]}})
BLOCKS = json.dumps({
    "type": "DEQUANTIZE", "QuantizationType": "SCALE_ZERO_POINT",
    "InputTensor": {"DataType": "UINT4", "Sizes": [1, 6]},
    "QuantizationTensors": [{"DataType": "FLOAT32", "Sizes": [1, 3]}, {"DataType": "UINT4", "Sizes": [1, 3]}],
    "bindings": {"InputTensor": [0, 8, 15, 1, 2, 9], "QuantizationTensors": [[0.5, 1, 2], [1, 2, 3]]}})

FOLDED = json.dumps({
    "type": "PADDING", "PaddingMode": "SYMMETRIC", "PaddingValue": 0, "StartPadding": [5], "EndPadding": [4],
    "InputTensor": {"DataType": "FLOAT32", "Sizes": [2]}, "bindings": {"InputTensor": [1, 2]}})
BAND = json.dumps({
    "type": "DIAGONAL_MATRIX1", "Value": 9, "DiagonalFillBegin": 0, "DiagonalFillEnd": 1,
    "InputTensor": {"DataType": "FLOAT32", "Sizes": [2, 2]}, "bindings": {"InputTensor": [[1, 2], [3, 4]]}})
GATHERED = json.dumps({
    "type": "GATHER", "Axis": 0, "IndexDimensions": 1, "InputTensor": {"DataType": "FLOAT32", "Sizes": [3]},
    "IndicesTensor": {"DataType": "INT32", "Sizes": [2]}, "OutputTensor": {"DataType": "FLOAT32", "Sizes": [2]},
    "bindings": {"InputTensor": [5, 6, 7], "IndicesTensor": [2, 0]}})
CHOSEN = json.dumps({
    "type": "ELEMENT_WISE_IF", "ConditionTensor": {"DataType": "UINT8", "Sizes": [2]},
    "ATensor": {"DataType": "FLOAT32", "Sizes": [2]}, "BTensor": {"DataType": "FLOAT32", "Sizes": [2]}})
ONE_HOT = json.dumps({
    "type": "ONE_HOT", "Axis": 1, "IndicesTensor": {"DataType": "UINT32", "Sizes": [2, 1]},
    "ValuesTensor": {"DataType": "INT8", "Sizes": [1, 2]}, "OutputTensor": {"DataType": "INT8", "Sizes": [2, 3]}})

# The expected text for each element.
TEXTS = [
    (CHOSEN, "OutputTensor[1]", """\
OutputTensor[1]: FLOAT32, byte offset 4
ELEMENT_WISE_IF, fed by at most 3 elements:
  ConditionTensor[1]  byte offset 1
  ATensor[1]          byte offset 4
  BTensor[1]          byte offset 4
"""),
    (ONE_HOT, "OutputTensor[1,2]", """\
OutputTensor[1, 2]: INT8, byte offset 5
ONE_HOT along axis 1, fed by at most 3 elements:
  IndicesTensor[1, 0]  byte offset 4
  ValuesTensor[0, 0]   byte offset 0
  ValuesTensor[0, 1]   byte offset 1
"""),
    (GATHERED, "OutputTensor[1]", """\
OutputTensor[1]: FLOAT32, byte offset 4
GATHER along axis 0, fed by at most 4 elements:
  InputTensor[0]    byte offset 0  value 5
  InputTensor[1]    byte offset 4  value 6
  InputTensor[2]    byte offset 8  value 7
  IndicesTensor[1]  byte offset 4  value 0
result: 5
"""),
    (GATHERED, "InputTensor[1]", """\
InputTensor[1]: FLOAT32, byte offset 4
GATHER along axis 0, reaches at most 2 elements:
  OutputTensor[0]  byte offset 0
  OutputTensor[1]  byte offset 4
value: 6
"""),
    (FOLDED, "InputTensor[1]", """\
InputTensor[1]: FLOAT32, byte offset 4
PADDING SYMMETRIC, reaches 5 elements:
  OutputTensor[2]   byte offset  8
  OutputTensor[3]   byte offset 12
  OutputTensor[6]   byte offset 24
  OutputTensor[7]   byte offset 28
  OutputTensor[10]  byte offset 40
value: 2
"""),
    (FOLDED, "OutputTensor[1]", """\
OutputTensor[1]: FLOAT32, byte offset 4
PADDING SYMMETRIC, fed by 1 element:
  InputTensor[0]  byte offset 0  value 1
result: 1
"""),
    (BAND, "OutputTensor[1,1]", """\
OutputTensor[1, 1]: FLOAT32, byte offset 12
DIAGONAL_MATRIX1 with 9, fed by no element
result: 9
"""),
    (BAND, "InputTensor[1,1]", """\
InputTensor[1, 1]: FLOAT32, byte offset 12
DIAGONAL_MATRIX1 with 9, reaches no element
value: 4
"""),
    (BAND, "OutputTensor[1,0]", """\
OutputTensor[1, 0]: FLOAT32, byte offset 8
DIAGONAL_MATRIX1 with 9, fed by 1 element:
  InputTensor[1, 0]  byte offset 8  value 3
result: 3
"""),
    (REDUCE_X, "OutputTensor[0,1]", """\
OutputTensor[0, 1]: FLOAT32, byte offset 4
REDUCE SUM over axes {0}, fed by 3 elements:
  InputTensor[0, 1]  byte offset  4  value 2
  InputTensor[1, 1]  byte offset 16  value 0
  InputTensor[2, 1]  byte offset 28  value 4
sum: 6
result: 6 (exact: a FLOAT32 number, so nothing is rounded)
"""),
    (REDUCE_X, "InputTensor[2, -1]", """\
InputTensor[2, 2]: FLOAT32, byte offset 32
REDUCE SUM over axes {0}, reaches 1 element:
  OutputTensor[0, 2]  byte offset 8
value: 2
"""),
    (PADDED, "OutputTensor[1,2]", """\
OutputTensor[1, 2]: FLOAT32, byte offset 20
ELEMENT_WISE_IDENTITY with Scale 2 and Bias 10, fed by 1 element:
  InputTensor[1, 2]  byte offset 28  value 6
x * Scale + Bias = InputTensor[1, 2] * 2 + 10: 22
result: 22 (exact: a FLOAT32 number, so nothing is rounded)
"""),
    (BLOCKS, "OutputTensor[0,5]", """\
OutputTensor[0, 5]: FLOAT32, byte offset 20
DEQUANTIZE SCALE_ZERO_POINT, fed by 3 elements:
  InputTensor[0, 5]             byte offset 2  value 9
  QuantizationTensors[0][0, 2]  byte offset 8  value 2
  QuantizationTensors[1][0, 2]  byte offset 1  value 3
exact value = (InputTensor[0, 5] - QuantizationTensors[1][0, 2]) * QuantizationTensors[0][0, 2]: 12
result: 12 (exact: a FLOAT32 number, so nothing is rounded)
"""),
    (BLOCKS, "QuantizationTensors[1][0,1]", """\
QuantizationTensors[1][0, 1]: UINT4, byte offset 0
DEQUANTIZE SCALE_ZERO_POINT, reaches 2 elements:
  OutputTensor[0, 2]  byte offset  8
  OutputTensor[0, 3]  byte offset 12
value: 2
"""),
    (JOIN_2X2, "OutputTensor[0,0,1,3]", """\
OutputTensor[0, 0, 1, 3]: FLOAT32, byte offset 36
JOIN along axis 3, fed by 1 element:
  InputTensors[1][0, 0, 1, 1]  byte offset 12  value 8
result: 8
"""),
    (JOIN_2X2, "InputTensors/2[0,0,0,1]", """\
InputTensors[2][0, 0, 0, 1]: FLOAT32, byte offset 4
JOIN along axis 3, reaches 1 element:
  OutputTensor[0, 0, 0, 5]  byte offset 20
value: 10
"""),
    (SPLIT_6X2, "OutputTensors[2][0,0,1,0]", """\
OutputTensors[2][0, 0, 1, 0]: FLOAT32, byte offset 8
SPLIT along axis 2, fed by 1 element:
  InputTensor[0, 0, 4, 0]  byte offset 32  value 9
result: 9
"""),
    (SPLIT_6X2, "InputTensor[0,0,2,1]", """\
InputTensor[0, 0, 2, 1]: FLOAT32, byte offset 20
SPLIT along axis 2, reaches 1 element:
  OutputTensors[1][0, 0, 0, 1]  byte offset 4
value: 6
"""),
    (UNFOLD, "OutputTensor[0,3,4]", """\
OutputTensor[0, 3, 4]: FLOAT32, byte offset 196
UNFOLD, window [1, 1], tap [1, 0], channel 0: position [1, 1]
  InputTensor[0, 0, 1, 1]  byte offset 24  value 6
result: 6
"""),
    (UNFOLD, "OutputTensor[0,0,2]", """\
OutputTensor[0, 0, 2]: FLOAT32, byte offset 8
UNFOLD, window [0, 2], tap [0, 0], channel 0: position [-1, 2], in the padding
result: 0
"""),
    (UNFOLD, "InputTensor[0,0,4,1]", """\
InputTensor[0, 0, 4, 1]: FLOAT32, byte offset 84
UNFOLD, reaches 4 elements:
  OutputTensor[0, 3, 13]  byte offset 232  window [4, 1], tap [1, 0], channel 0
  OutputTensor[0, 4, 12]  byte offset 288  window [4, 0], tap [1, 1], channel 0
  OutputTensor[0, 6, 10]  byte offset 400  window [3, 1], tap [2, 0], channel 0
  OutputTensor[0, 7, 9]   byte offset 456  window [3, 0], tap [2, 1], channel 0
value: 21
"""),
]

JSONS = [
    (REDUCE_X, "OutputTensor[0,1]", {
        "operator": "REDUCE", "function": "SUM",
        "element": {"tensor": "OutputTensor", "index": [0, 1], "dataType": "FLOAT32", "byteOffset": 4, "value": 6},
        "relation": "fedBy", "count": 3,
        "elements": [
            {"tensor": "InputTensor", "index": [i, 1], "dataType": "FLOAT32", "byteOffset": 12 * i + 4, "value": v}
            for i, v in enumerate([2, 0, 4])],
        "calculation": {
            "rule": "exact", "reason": "a FLOAT32 number, so nothing is rounded", "quantity": "sum", "exact": "6",
            "steps": [{"name": "sum", "operation": "sum", "count": 3, "value": 6, "terms": [
                {"expression": f"InputTensor[{i}, 1]", "value": v,
                 "elements": [{"tensor": "InputTensor", "index": [i, 1], "value": v}]}
                for i, v in enumerate([2, 0, 4])]}]}}),
    (UNFOLD, "OutputTensor[0,0,2]", {
        "operator": "UNFOLD",
        "element": {"tensor": "OutputTensor", "index": [0, 0, 2], "dataType": "FLOAT32", "byteOffset": 8, "value": 0,
                    "window": {"block": [0, 2], "tap": [0, 0], "channel": 0, "position": [-1, 2], "padding": True}},
        "relation": "fedBy", "count": 0, "elements": []}),
    (GATHERED, "InputTensor[1]", {
        "operator": "GATHER",
        "element": {"tensor": "InputTensor", "index": [1], "dataType": "FLOAT32", "byteOffset": 4, "value": 6},
        "relation": "reaches", "count": 2, "atMost": True,
        "elements": [{"tensor": "OutputTensor", "index": [i], "dataType": "FLOAT32", "byteOffset": 4 * i}
                     for i in range(2)]}),
    (SPLIT_6X2, "InputTensor[0,0,2,1]", {
        "operator": "SPLIT",
        "element": {"tensor": "InputTensor", "index": [0, 0, 2, 1], "dataType": "FLOAT32", "byteOffset": 20,
                    "value": 6},
        "relation": "reaches", "count": 1,
        "elements": [{"tensor": "OutputTensors[1]", "index": [0, 0, 0, 1], "dataType": "FLOAT32", "byteOffset": 4}]}),
    (JOIN_2X2, "OutputTensor[0,0,1,3]", {
        "operator": "JOIN",
        "element": {"tensor": "OutputTensor", "index": [0, 0, 1, 3], "dataType": "FLOAT32", "byteOffset": 36,
                    "value": 8},
        "relation": "fedBy", "count": 1,
        "elements": [{"tensor": "InputTensors[1]", "index": [0, 0, 1, 1], "dataType": "FLOAT32", "byteOffset": 12,
                      "value": 8}]}),
    (PADDED, "OutputTensor[1,2]", {
        "operator": "ELEMENT_WISE_IDENTITY",
        "element": {"tensor": "OutputTensor", "index": [1, 2], "dataType": "FLOAT32", "byteOffset": 20, "value": 22},
        "relation": "fedBy", "count": 1,
        "elements": [{"tensor": "InputTensor", "index": [1, 2], "dataType": "FLOAT32", "byteOffset": 28, "value": 6}],
        "calculation": {
            "rule": "exact", "reason": "a FLOAT32 number, so nothing is rounded", "quantity": "x * Scale + Bias",
            "exact": "22",
            "steps": [{"name": "x * Scale + Bias", "operation": "sum", "expression": "InputTensor[1, 2] * 2 + 10",
                       "count": 2, "value": 22, "terms": [
                           {"expression": "InputTensor[1, 2] * 2", "factors": [6, 2], "product": 12,
                            "elements": [{"tensor": "InputTensor", "index": [1, 2], "value": 6}]},
                           {"expression": "10", "elements": [], "value": 10}]}]}}),
]

# Rows of function and element: a number, and whether the value is the next one below (-1) or above (1) it, or equal
# (0). The first terms of the series decide that, or that a function approaches its limit from one side.
NEXT_TO_NUMBERS = [
    *((f"ELEMENT_WISE_{name}", {}, x, x, side * (1 if x > 0 else -1))
      for names, side in [(("SIN", "ATAN", "TANH", "ASINH"), -1), (("TAN", "ASIN", "SINH", "ATANH"), 1)]
      for name in names for x in (1e-15, 1e-18, 1e-30, -1e-30, 1e-45)),
    ("ELEMENT_WISE_COS", {}, 1e-30, 1, -1),
    ("ELEMENT_WISE_COSH", {}, 1e-30, 1, 1),
    ("ELEMENT_WISE_COSH", {}, -1e-9, 1, 1),
    ("ELEMENT_WISE_EXP", {}, 1e-30, 1, 1),
    ("ELEMENT_WISE_EXP", {}, -1e-30, 1, -1),
    ("ELEMENT_WISE_EXP", {}, -1000, 0, 1),
    ("ELEMENT_WISE_TANH", {}, 30, 1, -1),
    ("ELEMENT_WISE_TANH", {}, -40, -1, 1),
    ("ELEMENT_WISE_TANH", {}, 1e38, 1, -1),
    ("ELEMENT_WISE_ERF", {}, 10, 1, -1),
    ("ELEMENT_WISE_ERF", {}, -60, -1, 1),
    ("ACTIVATION_TANH", {}, 60, 1, -1),
    ("ACTIVATION_SCALED_TANH", {"Alpha": 2, "Beta": 1}, 40, 2, -1),
    ("ACTIVATION_SCALED_TANH", {"Alpha": 0.5, "Beta": 2}, 1e-30, 1e-30, -1),
    ("ACTIVATION_SIGMOID", {}, 200, 1, -1),
    ("ACTIVATION_SIGMOID", {}, -200, 0, 1),
    ("ACTIVATION_SIGMOID", {}, 1e-30, 0.5, 1),
    ("ACTIVATION_GELU", {}, 40, 40, -1),
    ("ACTIVATION_GELU", {}, 2.0 ** -99, 2.0 ** -100, 1),
    ("ACTIVATION_SOFTPLUS", {"Steepness": 1}, 300, 300, 1),
    ("ACTIVATION_PARAMETRIC_SOFTPLUS", {"Alpha": 2, "Beta": 1}, 300, 600, 1),
    ("ACTIVATION_SWISH", {"SigmoidInputScale": 1}, 200, 200, -1),
    ("ACTIVATION_ELU", {"Alpha": 2}, -200, -2, 1),
    ("ACTIVATION_ELU", {"Alpha": 1}, -1e-30, -1e-30, 1),
    ("ACTIVATION_CELU", {"Alpha": 3}, -1e-30, -1e-30, 1),
    ("ACTIVATION_CELU", {"Alpha": 3}, -1e-20, -1e-20, 1),
    ("ACTIVATION_SCALED_ELU", {"Alpha": 2, "Gamma": 0.5}, -1e-30, -1e-30, 1),
    ("ELEMENT_WISE_CONSTANT_POW", {"Exponent": 1e-30}, 9, 1, 1),
    ("ELEMENT_WISE_CONSTANT_POW", {"Exponent": -1000}, 3, 0, 1),
    ("ELEMENT_WISE_EXP", {}, 0, 1, 0),
    ("ELEMENT_WISE_LOG", {}, 1, 0, 0),
    ("ELEMENT_WISE_COS", {}, 0, 1, 0),
    ("ELEMENT_WISE_TANH", {}, 0, 0, 0),
    ("ELEMENT_WISE_ACOS", {}, 1, 0, 0),
    ("ELEMENT_WISE_ACOSH", {}, 1, 0, 0),
    ("ACTIVATION_SIGMOID", {}, 0, 0.5, 0),
    ("ACTIVATION_SOFTSIGN", {}, -3, -0.75, 0),
    ("ACTIVATION_CELU", {"Alpha": 3}, 7, 7, 0),
    ("ACTIVATION_SWISH", {"SigmoidInputScale": 0}, 3, 1.5, 0),
    ("ELEMENT_WISE_SQRT", {}, 2.25, 1.5, 0),
    ("ELEMENT_WISE_CONSTANT_POW", {"Exponent": 3}, -3, -27, 0),
    ("ELEMENT_WISE_CONSTANT_POW", {"Exponent": -2}, 4, 0.0625, 0),
    ("ELEMENT_WISE_CONSTANT_POW", {"Exponent": 1.5}, 2.25, 3.375, 0),
    ("ELEMENT_WISE_CONSTANT_POW", {"Exponent": 0.125}, 256, 2, 0),
]

POOLED = {"type": "MAX_POOLING1", "InputTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 3, 3]}, "WindowSize": [2, 2],
          "Strides": [1, 1], "StartPadding": [0, 0], "EndPadding": [0, 0]}
# The element, the code, the column of the caret (from 1) and a part of the message.
BAD_ELEMENTS = [
    (REDUCE_X, "", "ELEM-1", 1, "expected the name of a tensor here"),
    (REDUCE_X, "[0,1]", "ELEM-1", 1, "expected the name of a tensor"),
    (REDUCE_X, "OutputTensor", "ELEM-1", 13, "OutputTensor has the Sizes {1, 3}; its last element is written OutputTensor[0,2]"),
    (REDUCE_X, "OutputTensor[", "ELEM-1", 14, "expected an index"),
    (REDUCE_X, "OutputTensor[]", "ELEM-1", 14, "expected an index"),
    (REDUCE_X, "OutputTensor[0,1", "ELEM-1", 17, "expected ',' or ']'"),
    (REDUCE_X, "OutputTensor[0;1]", "ELEM-1", 15, "expected ',' or ']'"),
    (REDUCE_X, "OutputTensor[0,]", "ELEM-1", 16, "expected an index"),
    (REDUCE_X, "OutputTensor[0,x]", "ELEM-1", 16, "expected an index"),
    (REDUCE_X, "OutputTensor[0,1.5]", "ELEM-1", 17, "expected ',' or ']'"),
    (REDUCE_X, "OutputTensor[0,--1]", "ELEM-1", 17, "expected an index"),
    (REDUCE_X, "OutputTensor[0,1]x", "ELEM-1", 18, "expected the end"),
    (REDUCE_X, "OutputTensor[0][0][0]", "ELEM-1", 19, "expected the end"),
    (REDUCE_X, "OutputTensor/[0,1]", "ELEM-1", 14, "expected an index"),
    (REDUCE_X, "Output\tTensor[0,1]", "ELEM-1", 7, "expected '['"),
    (REDUCE_X, "\u00fc[0]", "ELEM-1", 1, "expected the name of a tensor"),
    (JOIN_2X2, "InputTensors", "ELEM-2", 13, "name an element of one tensor, as InputTensors[0][0,0,1,1]"),
    (JOIN_2X2, "InputTensors/1", "ELEM-1", 15, "its last element is written InputTensors[1][0,0,1,1]"),
    (POOLED, "OutputIndicesTensor[0,0,0,0]", "ELEM-2", 1,
     """MAX_POOLING1 has no tensor 'OutputIndicesTensor' here; it is optional, and "OutputIndicesTensor": {} in the descriptor asks for it"""),
    (REDUCE_X, "OutputTensr[0,1]", "ELEM-2", 1, "REDUCE has no tensor 'OutputTensr' (did you mean 'OutputTensor'?)"),
    (REDUCE_X, "y[0,1]", "ELEM-2", 1, "it has InputTensor, OutputTensor"),
    (REDUCE_X, "OutputTensor/0[0,1]", "ELEM-2", 14, "OutputTensor is one tensor, not an array"),
    (REDUCE_X, "OutputTensor[0][0,1]", "ELEM-2", 16, "OutputTensor is one tensor, not an array"),
    (JOIN_2X2, "InputTensors[0,0,0,0]", "ELEM-2", 22, "InputTensors is an array"),
    (JOIN_2X2, "InputTensors[0,1][0,0,0,0]", "ELEM-2", 16, "InputTensors takes one number"),
    (JOIN_2X2, "InputTensors[3][0,0,0,0]", "ELEM-2", 14, "3 is out of range for InputTensors, which has 3 tensors"),
    (JOIN_2X2, "InputTensors/99999999999999999999[0,0,0,0]", "ELEM-2", 14, "99999999999999999999 is out of range"),
    (JOIN_2X2, "InputTensors[-1][0,0,0,0]", "ELEM-2", 14, "-1 is out of range"),
    (REDUCE_X, "OutputTensor[0]", "ELEM-3", 15, "1 index; OutputTensor has 2 dimensions, with Sizes {1, 3}"),
    (REDUCE_X, "OutputTensor[0,1,2]", "ELEM-3", 18, "3 indices; OutputTensor has 2 dimensions"),
    (JOIN_2X2, "InputTensors[1][0,0]", "ELEM-3", 20, "2 indices; InputTensors[1] has 4 dimensions"),
    (REDUCE_X, "OutputTensor[0,3]", "ELEM-4", 16, "3 is out of range for dimension 1 of OutputTensor, whose size is 3"),
    (REDUCE_X, "OutputTensor[0,-4]", "ELEM-4", 16, "-4 is out of range for dimension 1"),
    (REDUCE_X, "OutputTensor[1 , 0]", "ELEM-4", 14, "1 is out of range for dimension 0"),
    (REDUCE_X, "InputTensor[0,99999999999999999999]", "ELEM-4", 15, "99999999999999999999 is out of range for dimension 1"),
    (REDUCE_X, "OutputTensor@", "ELEM-1", 14, "expected the number of a byte here"),
    (REDUCE_X, "OutputTensor@0x", "ELEM-1", 14, "expected the number of a byte here"),
    (REDUCE_X, "OutputTensor@1 2", "ELEM-1", 16, "expected the end here"),
    (REDUCE_X, "OutputTensor[0]@1", "ELEM-1", 13, "an index and a byte are one too many"),
    (JOIN_2X2, "InputTensors/1[0]@1", "ELEM-1", 15, "an index and a byte are one too many"),
    (JOIN_2X2, "InputTensors@1", "ELEM-2", 13, "InputTensors is an array; name an element of one tensor, as InputTensors[0]@1"),
    (REDUCE_X, "OutputTensor@0xC", "ELEM-5", 14, "byte 0xC is behind OutputTensor, which has 12 bytes"),
    (REDUCE_X, "OutputTensor@99999999999999999999", "ELEM-5", 14, "is behind OutputTensor"),
    (PADDED, "InputTensor@12", "ELEM-5", 13, "byte 12 belongs to no element of InputTensor"),
]


def document(function, axes=(0,), **more):
    return json.dumps({"type": "REDUCE", "Function": function, "Axes": list(axes)} | more)


def place(value):
    """A float as a fraction; infinity counts as the number after the greatest one."""
    if np.isinf(value):
        return Fraction(2) ** (16 if value.dtype == np.float16 else 128) * (1 if value > 0 else -1)
    return Fraction(float(value))


class ExplainTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.save(x=X)

    def explain(self, *arguments):
        return json.loads(self.text_of("explain", *arguments, "--format", "json"))

    def calculation(self, function, array, *options, axes=(0,)):
        self.save(a=array)
        index = ",".join("0" for _ in range(array.ndim))
        return self.explain(document(function, axes), f"OutputTensor[{index}]", "-i", "a.npy", *options)

    def test_text(self):
        for descriptor, element, text in TEXTS:
            with self.subTest(element):
                self.write("d.json", descriptor)
                self.assertEqual(self.text_of("explain", "d.json", element), text)

    def test_json(self):
        for descriptor, element, expected in JSONS:
            with self.subTest(element):
                self.write("d.json", descriptor)
                self.assertEqual(self.explain("d.json", element), expected)

    def test_bad_elements(self):
        for descriptor, element, code, column, message in BAD_ELEMENTS:
            with self.subTest(element):
                self.write("d.json", descriptor)
                done = self.run_program("explain", "d.json", element, status=2)
                lines = done.stderr.decode().splitlines()
                self.assertEqual(done.stdout, b"")
                self.assertTrue(lines[0].startswith(f"<element>:1:{column}: error: "), lines[0])
                self.assertIn(message, lines[0])
                self.assertTrue(lines[0].endswith(f"[{code}]"), lines[0])
                caret = lines[2].index("^") - lines[1].index("|") - 2
                self.assertEqual(caret, column - 1)

    def test_other_faults_keep_their_status(self):
        model = '{"resources": {}, "dispatchables": {}, "commands": []}'
        for arguments, status, message in [
            (["none.json", "OutputTensor[0,0]"], 5, "none.json"),
            ([document("SUM", [4]), "OutputTensor[0,0]", "-i", "x.npy"], 3, "RED-3"),
            ([SUM, "OutputTensor[0,0]"], 2, "InputTensor has no file that tells DataType and Sizes"),
            ([SUM, "OutputTensor[0,0]", "-i", "Inputs=x.npy"], 2, "has no input 'Inputs'"),
            ([model, "OutputTensor[0,0]"], 2, "is a model without operators"),
            ([MATMUL_ADD, "model_outputt[0,0,0,2]"], 2, "<element>:1:1: error: the model has no tensor 'model_outputt' "
                                                        "(did you mean 'model_output'?) [ELEM-2]"),
            *(([tensors, ""], 2, "<element>:1:1: error: expected the name of a tensor here [ELEM-1]")
              for tensors in (IDENTITY, MATMUL_ADD, QUADRATIC)),
            ([QUADRATIC, "nope[0]"], 2, "<element>:1:1: error: the model has no tensor 'nope'; expected one of m, quadratic.m, "
                                        "quadratic.s, quadratic.y, s, x, y, InputTensor, OutputTensor, ATensor, BTensor [ELEM-2]"),
            ([QUADRATIC, "OutputTensor[0]", "--dispatchable", "time"], 2, "serialized_graph.json: is a model; --dispatchable NAME "
             "says which of scale, times, plus is meant, and there is no 'time' (did you mean 'times'?)"),
            ([MATMUL_ADD, "model_output"], 2, "model_output has the Sizes {1, 1, 1, 5}; its last element is written model_output[0,0,0,4] [ELEM-1]"),
            ([QUADRATIC, "m"], 2, "<element>:1:2: error: m has the Sizes {4}; its last element is written m[3] [ELEM-1]"),
            ([MATMUL_ADD, "model_output[0,0]"], 2, "2 indices; model_output has 4 dimensions, with Sizes {1, 1, 1, 5} [ELEM-3]"),
            ([MATMUL_ADD, "model_output[5]"], 2, "5 is out of range for dimension 0 of model_output, whose size is 5 [ELEM-4]"),
            ([MATMUL_ADD, "OutputTenso[0,0,0,2]"], 2, "(did you mean 'OutputTensor'?) [ELEM-2]"),
            ([MATMUL_ADD, "matmul_b_tensor[0,0,0,2]"], 2, "<element>:1:1: error: the model has no tensor 'matmul_b_tensor'"),
            *(([tensors, name + place], 2, f"<element>:1:{len(name) + column}: error: expected {what} here [ELEM-1]")
              for tensors, name in ((MATMUL_ADD, "model_output"), (QUADRATIC, "m"))
              for place, column, what in (("[0", 3, "',' or ']'"), ("@-1", 2, "the number of a byte"),
                                          ("@0x", 2, "the number of a byte"))),
            ([SUM, "OutputTensor[0,0]", "-i", "x.npy", "--dispatchable", "a"], 2, "--dispatchable is for models"),
            ([SUM, "OutputTensor[0,0]", "-i", "x.npy", "--input-path", "."], 2,
             "--input-path is for models; name the folder in -i"),
            ([QUADRATIC, "OutputTensor[0]", "--dispatchable", "times", "-i", "ATensor=none.npy"], 5, "none.npy"),
            *(([tensors, element, "-i", "InputTensor=x.npy"], 2,
               "-i is for operator descriptors; a model binds its tensors itself")
              for tensors, element in ((IDENTITY, "identity.OutputTensor[0]"), (IDENTITY, "Out[0]"), (QUADRATIC, "m[0]"))),
            ([SUM, "OutputTensor[0,0]", "-i", "none.npy"], 5, "none.npy"),
            (["-", "OutputTensor[0,0]", "-i", "-"], 2, "standard input"),
            ([SUM], 2, "element"),
            ([UNFOLD.replace("valueStart\": 0", "valueStart\": []"), "OutputTensor[0,0,0]"], 3, "valueStart"),
        ]:
            with self.subTest(arguments):
                self.assertIn(message, self.errors_of("explain", *arguments, status=status))
        self.save(wrong=X.astype("f8"))
        self.errors_of("explain", PADDED, "OutputTensor[0,0]", "-i", "wrong.npy", status=4)

    def test_a_byte_names_its_element(self):
        for index in np.ndindex(2, 3):
            for tensor, strides in (("InputTensor", (5, 1)), ("OutputTensor", (1, 2))):
                offset = 4 * sum(i * s for i, s in zip(index, strides))
                for byte in (offset, offset + 3, hex(offset + 1)):
                    self.assertEqual(self.explain(PADDED, f"{tensor}@{byte}"), self.explain(PADDED, f"{tensor}{list(index)}"))
        self.assertEqual(self.explain(JOIN_2X2, "InputTensors[1]@8"), self.explain(JOIN_2X2, "InputTensors/1[0,0,1,0]"))
        self.assertEqual(self.explain(BLOCKS, "InputTensor@2")["element"]["index"], [0, 4])

    def test_a_byte_of_overlapping_elements_names_the_first(self):
        rng = np.random.default_rng(SEED)
        for _ in range(30):
            sizes = [int(n) for n in rng.integers(1, 5, rng.integers(1, 5))]
            strides = [int(n) for n in rng.integers(0, 6, len(sizes))]
            places = {}
            for index in np.ndindex(*sizes):
                places.setdefault(sum(i * s for i, s in zip(index, strides)), list(index))
            text = json.dumps(json.loads(COPY) | {"InputTensor": {"DataType": "FLOAT32", "Sizes": sizes, "Strides": strides}})
            for place in range(max(places) + 1):
                name = f"InputTensor@{4 * place}"
                if place in places:
                    self.assertEqual(self.explain(text, name)["element"]["index"], places[place])
                else:
                    self.assertIn("ELEM-5", self.errors_of("explain", text, name, status=2))

    def test_dispatchables_of_models(self):
        models = ROOT / "testdata/models"
        self.assertIn("sum: 15\n", self.text_of("explain", models / "reduce.json", "OutputTensor[0,0,1,0]"))
        self.write("model.json", {
            "resources": {name: {"initialValuesDataType": "FLOAT32", "initialValues": [1, 2]} for name in "xyz"},
            "dispatchables": {name: {"type": "ELEMENT_WISE_ADD", "desc": {
                tensor: {"DataType": "FLOAT32", "Sizes": [2]} for tensor in ("ATensor", "BTensor", "OutputTensor")}}
                              for name in ("one", "two")},
            "commands": [{"type": "dispatch", "dispatchable": name, "bindings": {"ATensor": a, "BTensor": b, "OutputTensor": out}}
                         for name, a, b, out in [("one", "x", "x", "y"), ("two", "x", "y", "z")]]})
        element = ["explain", "model.json", "OutputTensor[1]"]
        for name, value in (("one", 4), ("two", 6)):
            found = json.loads(self.text_of(*element, "--dispatchable", name, "--format", "json"))
            self.assertEqual(found["element"]["value"], value)
        for arguments in (element, [*element, "--dispatchable", "three"]):
            self.assertIn("model.json: is a model; --dispatchable NAME says which of one, two is meant",
                          self.errors_of(*arguments, status=2))
        graph = ["explain", ROOT / "testdata/models/serialized_graph.json", "OutputTensor[0]", "--dispatchable", "quadratic"]
        self.assertIn("quadratic is a graph; --dispatchable takes one of its operators, scale, times, plus, and the names of its edges",
                      self.errors_of(*graph, status=2))
        names = [document["name"] for document in documents_in(self.text_of("validate", "model.json", "--print-complete"))]
        self.assertEqual(names, ["one", "two"])

    def test_a_manifest_wants_a_line(self):
        self.write("cases.jsonl", f"{SUM}\n{SUM}\n")
        self.assertIn("another after the document; --line N takes one case of a manifest",
                      self.errors_of("explain", "cases.jsonl", "OutputTensor[0]", status=3))

    def test_geometry_needs_no_values(self):
        typed = document("SUM", InputTensor={"DataType": "FLOAT16", "Sizes": [3, 4], "Strides": [8, 2]})
        found = self.explain(typed, "OutputTensor[0,3]")
        self.assertNotIn("value", found["element"])
        self.assertNotIn("calculation", found)
        self.assertEqual([e["byteOffset"] for e in found["elements"]], [12, 28, 44])
        self.assertNotIn("value", self.text_of("explain", typed, "OutputTensor[0,3]"))

    def test_only_the_inputs_that_are_bound_have_values(self):
        left = {"DataType": "FLOAT32", "Sizes": [3, 3]}
        join = json.dumps({"type": "JOIN", "Axis": 0, "InputTensors": [left, left]})
        for row, value in [(1, None), (4, 0)]:
            found = self.explain(join, f"OutputTensor[{row},1]", "-i", "InputTensors[1]=x.npy")
            self.assertEqual(found["element"].get("value"), value)

    def test_groups_are_those_of_numpy(self):
        random = np.random.default_rng(SEED)
        print("DMLOP_TEST_SEED =", SEED)
        for _ in range(40):
            rank = int(random.integers(1, 6))
            sizes = random.integers(1, 5, rank)
            axes = random.permutation(rank)[: random.integers(0, rank + 1)].tolist()
            # Packed in a random order of dimensions, with gaps.
            strides, step = [0] * rank, 1
            for d in random.permutation(rank):
                strides[d] = int(step)
                step *= int(sizes[d] + random.integers(0, 2))
            descriptor = document("SUM", axes, InputTensor={
                "DataType": "INT32", "Sizes": sizes.tolist(), "Strides": strides})
            array = np.arange(np.prod(sizes), dtype="i4").reshape(sizes)
            self.save(a=array)
            output = [0 if d in axes else int(random.integers(sizes[d])) for d in range(rank)]
            group = np.zeros(sizes, bool)
            group[tuple(slice(None) if d in axes else output[d] for d in range(rank))] = True
            element = f"OutputTensor{output}"
            found = self.explain(descriptor, element, "-i", "a.npy", "--full")
            indices = np.argwhere(group)
            self.assertEqual(found["count"], len(indices))
            self.assertEqual([e["index"] for e in found["elements"]], indices.tolist())
            self.assertEqual([e["value"] for e in found["elements"]], array[group].tolist())
            self.assertEqual([e["byteOffset"] for e in found["elements"]], (indices @ strides * 4).tolist())
            self.assertEqual(found["element"]["value"], array[group].sum())
            back = self.explain(descriptor, f"InputTensor{indices[-1].tolist()}")
            self.assertEqual([e["index"] for e in back["elements"]], [output])

    def test_long_groups_are_abridged_unless_full(self):
        self.save(a=np.ones((2, 100), "f4"))
        text = self.text_of("explain", document("SUM", [1]), "OutputTensor[1,0]", "-i", "a.npy")
        self.assertEqual(text.count("InputTensor["), 6)
        self.assertIn("  InputTensor[1, 2]   byte offset 408  value 1\n  ... 94 more\n  InputTensor[1, 97]", text)
        found = self.explain(document("SUM", [1]), "OutputTensor[1,0]", "-i", "a.npy")
        self.assertEqual([e["index"][1] for e in found["elements"]], [0, 1, 2, 97, 98, 99])
        self.assertEqual(found["count"], 100)
        full = self.text_of("explain", document("SUM", [1]), "OutputTensor[1,0]", "-i", "a.npy", "--full")
        self.assertEqual(full.count("InputTensor["), 100)

    def test_lists_in_json_are_abridged_unless_full(self):
        def tensor(*sizes):
            return {"DataType": "FLOAT32", "Sizes": list(sizes)}

        ones = {"valueStart": 1, "valueDelta": 0}
        gemm = json.dumps({"type": "GEMM", "TransA": "NONE", "TransB": "NONE", "Alpha": 1, "Beta": 0,
                           "ATensor": tensor(100, 100), "BTensor": tensor(100, 2), "bindings": {"ATensor": ones, "BTensor": ones}})
        convolution = json.dumps({
            "type": "CONVOLUTION", "Mode": "CROSS_CORRELATION", "Direction": "FORWARD", "Strides": [1], "Dilations": [1],
            "StartPadding": [0], "EndPadding": [0], "OutputPadding": [0], "GroupCount": 1, "InputTensor": tensor(1, 1, 100),
            "FilterTensor": tensor(1, 1, 100), "bindings": {"InputTensor": ones, "FilterTensor": ones}})
        gradient = json.dumps({
            "type": "RESAMPLE_GRAD", "InterpolationMode": "LINEAR", "Scales": [1], "InputPixelOffsets": [0.5],
            "OutputPixelOffsets": [-0.5], "InputGradientTensor": tensor(100), "OutputGradientTensor": tensor(1),
            "bindings": {"InputGradientTensor": ones}})
        for document, element in ((gemm, "OutputTensor[0,0]"), (convolution, "OutputTensor[0,0,0]"),
                                  (gradient, "OutputGradientTensor[0]")):
            with self.subTest(element):
                long, full = (self.explain(document, element, *option)["calculation"] for option in ([], ["--full"]))
                [sum_of_products] = full["steps"]
                terms = sum_of_products["terms"]
                self.assertEqual((sum_of_products["count"], len(terms)), (100, 100))
                self.assertEqual(long, full | {"steps": [sum_of_products | {"terms": terms[:3] + terms[-3:]}]})
        for option, rows in (([], [0, 1, 2, 97, 98, 99]), (["--full"], list(range(100)))):
            reached = self.explain(gemm, "BTensor[5,1]", *option)
            self.assertEqual(reached["count"], 100)
            self.assertEqual([e["index"] for e in reached["elements"]], [[row, 1] for row in rows])

    def test_what_has_too_many_parts_is_said_to_be_so(self):
        millions = {"DataType": "FLOAT32", "Sizes": [1, 3_000_000]}
        document = json.dumps({"type": "ACTIVATION_SOFTMAX1", "Axes": [1], "InputTensor": millions,
                               "bindings": {"InputTensor": {"valueStart": 0, "valueDelta": 0}}})
        found = self.explain(document, "OutputTensor[0,7]")
        self.assertEqual(np.float32(found["element"]["value"]), np.float32(1 / 3_000_000))
        self.assertEqual(found["calculation"], {"rule": "too-long", "reason": "made of more than 4194304 parts, which are not told"})

    def test_many_elements_of_a_model_are_followed_together(self):
        """Every second column of 100 x 200 elements is kept and summed; the others are listed, too, as an upper
        bound."""
        def tensor(columns):
            return {"DataType": "FLOAT32", "Sizes": [100, columns]}

        steps = {"copy": {"type": "ELEMENT_WISE_IDENTITY", "InputTensor": tensor(200), "OutputTensor": tensor(200)},
                 "half": {"type": "SLICE1", "DimensionCount": 2, "InputTensor": tensor(200), "OutputTensor": tensor(100), "InputWindowOffsets": [0, 0],
                          "InputWindowSizes": [100, 199], "InputWindowStrides": [1, 2]},
                 "sum": {"type": "REDUCE", "Function": "SUM", "AxisCount": 2, "Axes": [0, 1], "InputTensor": tensor(100),
                         "OutputTensor": {"DataType": "FLOAT32", "Sizes": [1, 1]}}}
        sizes = {"x": 20000, "y": 20000, "z": 10000, "s": 1}
        self.write("model.json", {
            "resources": {name: {"initialValuesDataType": "FLOAT32", "initialValues": {"valueCount": count, "value": 1}}
                          for name, count in sizes.items()},
            "dispatchables": {name: {"type": step["type"], "desc": {key: value for key, value in step.items() if key != "type"}}
                              for name, step in steps.items()},
            "commands": [{"type": "dispatch", "dispatchable": name, "bindings": {"InputTensor": here, "OutputTensor": there}}
                         for name, here, there in (("copy", "x", "y"), ("half", "y", "z"), ("sum", "z", "s"))]})
        found = self.explain("model.json", "sum.OutputTensor[0,0]")
        self.assertEqual([(o["name"], o["outputs"][0]["count"], o.get("atMost", False)) for o in found["operators"]],
                         [("sum", 1, False), ("half", 10000, True), ("copy", 19900, False)])
        self.assertEqual(found["origins"][0]["count"], 19900)
        self.assertEqual([e["index"] for e in found["operators"][2]["outputs"][0]["elements"]],
                         [[0, 0], [0, 1], [0, 2], [99, 196], [99, 197], [99, 198]])
        self.assertIn("operator 'half': SLICE1 of copy.OutputTensor, which uses at most what is listed\n",
                      self.text_of("explain", "model.json", "sum.OutputTensor[0,0]"))

    # --- calculations --------------------------------------------------------------------------------------

    def check_rounding(self, found, exact, dtype, compare):
        """`exact` is the value, or None if only `compare` can tell its sign relative to a fraction."""
        calculation = found["calculation"]
        result = np.array(float(found["element"]["value"])).astype(dtype)
        rule = calculation["rule"]
        if compare(place(result)) == 0 and np.isfinite(result):
            self.assertIn(rule, ("exact", "zero-sign"))
            self.assertNotIn("below", calculation)
            return rule
        below, above = (np.array(float(calculation[side]["value"])).astype(dtype) for side in ("below", "above"))
        self.assertIn(result.tobytes(), (below.tobytes(), above.tobytes()))
        if np.isfinite(below):
            with np.errstate(over="ignore"):
                self.assertEqual(np.nextafter(below, np.array(np.inf, dtype)), above)
        self.assertTrue(compare(place(below)) > 0 or np.isinf(below) or np.isinf(above))
        self.assertTrue(compare(place(above)) < 0 or np.isinf(below) or np.isinf(above))
        side = compare((place(below) + place(above)) / 2)
        integer = {np.dtype("f2"): "u2", np.dtype("f4"): "u4"}[np.dtype(dtype)]
        even = below if below.view(integer) % 2 == 0 else above
        nearest = even if side == 0 else below if side < 0 else above
        self.assertEqual(result.tobytes(), nearest.tobytes())
        self.assertEqual(rule, "overflow" if np.isinf(result) else "tie-to-even" if side == 0 else "nearest")
        for name, number in (("below", below), ("above", above)):
            if not np.isfinite(number):
                self.assertEqual(set(calculation[name]), {"value"})
                continue
            self.assertEqual(Fraction(calculation[name]["exact"]), place(number))
            if exact is not None:
                self.assertEqual(Fraction(calculation[name]["distance"]), abs(exact - place(number)))
        return rule

    def test_the_rounding_of_sums_and_products(self):
        random = np.random.default_rng(SEED)
        print("DMLOP_TEST_SEED =", SEED)
        rules = set()
        for case in range(200):
            dtype = ["f4", "f2"][case % 2]
            function = ["SUM", "AVERAGE", "L1", "L2", "SUM_SQUARE", "MULTIPLY"][case // 2 % 6]
            count = int(random.integers(1, 9))
            kind = case // 12 % 4
            if kind == 0:  # close to each other
                array = random.normal(size=count)
            elif kind == 1:  # half a unit in the last place of others: ties
                array = random.choice([1, 2.0 ** -11 if dtype == "f2" else 2.0 ** -24, 3, -1, 0], count)
            elif kind == 2:  # subnormal results
                array = random.normal(size=count) * (2.0 ** -12 if dtype == "f2" else 2.0 ** -75)
            else:  # overflow
                array = random.uniform(0.2, 1, count) * np.finfo(dtype).max
            array = array.astype(dtype)
            found = self.calculation(function, array)
            xs = [Fraction(float(x)) for x in array]
            terms = {"L1": map(abs, xs), "L2": (x * x for x in xs), "SUM_SQUARE": (x * x for x in xs)}
            total = math.prod(xs) if function == "MULTIPLY" else sum(terms.get(function, xs))
            with self.subTest(f"{function} {array!r}"):
                self.assertEqual(Fraction(found["calculation"]["exact"]), total)
                sign = lambda x: (x > 0) - (x < 0)
                exact, compare = total, lambda y: sign(total - y)
                if function == "AVERAGE":
                    exact, compare = None, lambda y: sign(total / count - y)
                    self.assertAlmostEqual(found["calculation"]["result"] / float(total / count) if total else 1, 1)
                elif function == "L2":
                    exact, compare = None, lambda y: sign(total - y * y)
                rules.add(self.check_rounding(found, exact, dtype, compare))
        self.assertEqual(rules, {"exact", "nearest", "tie-to-even", "overflow"} | (rules & {"zero-sign"}))

    def test_the_rounding_of_scale_and_bias(self):
        random = np.random.default_rng(SEED)
        for case in range(40):
            dtype = ["f4", "f2"][case % 2]
            x = random.normal(size=1).astype(dtype)
            scale, bias = (float(np.float32(v)) for v in random.normal(size=2) * [1, 2.0 ** random.integers(-20, 4)])
            self.save(a=x)
            descriptor = json.dumps({"type": "ELEMENT_WISE_IDENTITY", "ScaleBias": {"Scale": scale, "Bias": bias}})
            found = self.explain(descriptor, "OutputTensor[0]", "-i", "a.npy")
            exact = Fraction(float(x[0])) * Fraction(scale) + Fraction(bias)
            self.assertEqual(Fraction(found["calculation"]["exact"]), exact)
            self.check_rounding(found, exact, dtype, lambda y: (exact > y) - (exact < y))

    def test_the_rounding_of_functions(self):
        random = np.random.default_rng(SEED)
        sign = lambda x: (x > 0) - (x < 0)
        digits = decimal.Context(prec=80)
        exact_functions = {
            "ADD": lambda a, b: a + b, "SUBTRACT": lambda a, b: a - b, "MULTIPLY": lambda a, b: a * b,
            "MEAN": lambda a, b: (a + b) / 2, "DIFFERENCE_SQUARE": lambda a, b: (a - b) ** 2}
        other_functions = {
            "DIVIDE": lambda a, b, y: sign(a / b - y), "RECIP": lambda a, y: sign(1 / a - y),
            "SQRT": lambda a, y: 1 if y < 0 else sign(a - y * y),
            "EXP": lambda a, y: sign(Fraction(digits.exp(decimal.Decimal(float(a)))) - y),
            "LOG": lambda a, y: sign(Fraction(digits.ln(decimal.Decimal(float(a)))) - y)}
        for case in range(120):
            dtype = ["f4", "f2"][case % 2]
            names = [*exact_functions, *other_functions]
            name = names[case // 2 % len(names)]
            arguments = [random.uniform(0.1, 9, 1).astype(dtype) for _ in "ab"]
            if case % 12 == 0:
                arguments[1][0] = 2.0 ** -24  # half a unit in the last place: a tie of sums
            self.save(a=arguments[0], b=arguments[1])
            is_unary = name in ("RECIP", "SQRT", "EXP", "LOG")
            inputs = ["InputTensor=a.npy"] if is_unary else ["ATensor=a.npy", "BTensor=b.npy"]
            found = self.explain(json.dumps({"type": f"ELEMENT_WISE_{name}"}), "OutputTensor[0]",
                                 *(word for file in inputs for word in ("-i", file)))
            xs = [Fraction(float(x[0])) for x in arguments[:len(inputs)]]
            with self.subTest(f"{name} {arguments!r}"):
                self.assertEqual(found["calculation"]["quantity"], "exact value")
                if name in exact_functions:
                    exact = exact_functions[name](*xs)
                    self.assertEqual(Fraction(found["calculation"]["exact"]), exact)
                    self.check_rounding(found, exact, dtype, lambda y: sign(exact - y))
                else:
                    self.check_rounding(found, None, dtype, lambda y: other_functions[name](*xs, y))

    def test_values_next_to_a_number(self):
        for name, fields, x, number, side in NEXT_TO_NUMBERS:
            number = np.float32(number)
            found = self.explain(json.dumps({
                "type": name, **fields, "InputTensor": {"DataType": "FLOAT32", "Sizes": [1]},
                "bindings": {"InputTensor": [x]}}), "OutputTensor[0]")
            calculation = found["calculation"]
            with self.subTest(f"{name} {fields} {x}"):
                self.assertEqual(np.float32(found["element"]["value"]), number)
                self.assertEqual(calculation["rule"], "nearest" if side else "exact")
                if side == 0:
                    self.assertEqual(Fraction(calculation["exact"]), place(number))
                    continue
                self.assertNotIn("exact", calculation)
                other = np.nextafter(number, np.float32(side * np.inf))
                self.assertEqual([np.float32(calculation[key]["value"]) for key in ("below", "above")],
                                 sorted([number, other]))

    def test_angles_and_powers_of_two_elements(self):
        for name, inputs, value, exact in [
                ("POW", {"InputTensor": 3, "ExponentTensor": 4}, 81, "81"),
                ("POW", {"InputTensor": 2, "ExponentTensor": 0.5}, 2 ** 0.5, None),
                ("POW", {"InputTensor": 1.5, "ExponentTensor": 1e-30}, 1, None),
                ("ATAN_YX", {"ATensor": 0, "BTensor": 1}, 0, "0"),
                ("ATAN_YX", {"ATensor": 1, "BTensor": 0}, math.pi / 2, None),
                ("ATAN_YX", {"ATensor": 0, "BTensor": -1}, math.pi, None),
                ("ATAN_YX", {"ATensor": 1e-30, "BTensor": 1}, 1e-30, None)]:
            tensor = {"DataType": "FLOAT32", "Sizes": [1]}
            found = self.explain(json.dumps({
                "type": f"ELEMENT_WISE_{name}", **dict.fromkeys(inputs, tensor),
                "bindings": {key: [x] for key, x in inputs.items()}}), "OutputTensor[0]")
            with self.subTest(f"{name} {inputs}"):
                self.assertEqual(np.float32(found["element"]["value"]), np.float32(value))
                self.assertEqual(found["calculation"].get("exact"), exact)
                self.assertEqual(found["calculation"]["rule"], "exact" if exact else "nearest")

    def test_choices_and_poles(self):
        self.save(a=np.array([-1.5, np.nan], "f4"), b=np.array([0, 1], "f4"))
        for name, index, value, rule, reason, expression in [
                ("MAX", 0, 0, "exact", "a FLOAT32 number, so nothing is rounded", "max(ATensor[0], BTensor[0])"),
                ("MAX", 1, 1, "exact", "a FLOAT32 number, so nothing is rounded", "max(ATensor[1], BTensor[1])"),
                ("DIVIDE", 0, "-inf", "infinity", "BTensor[0] is 0, by which a number divided is infinite",
                 "ATensor[0] / BTensor[0]"),
                ("DIVIDE", 1, "nan", "nan", "ATensor[1] is NaN", "ATensor[1] / BTensor[1]"),
                ("MODULUS_FLOOR", 0, "nan", "nan", "", "ATensor[0] - BTensor[0] * quotient")]:
            found = self.explain(json.dumps({"type": f"ELEMENT_WISE_{name}"}), f"OutputTensor[{index}]",
                                 "-i", "ATensor=a.npy", "-i", "BTensor=b.npy")
            with self.subTest(name, index=index):
                calculation = found["calculation"]
                self.assertEqual((found["element"]["value"], calculation["rule"]), (value, rule))
                self.assertIn(reason, calculation["reason"])
                self.assertEqual(calculation["steps"][-1]["expression"], expression)
        found = self.explain(json.dumps({"type": "ELEMENT_WISE_LOGICAL_EQUALS"}), "OutputTensor[0]",
                             "-i", "ATensor=a.npy", "-i", "BTensor=b.npy")
        self.assertNotIn("calculation", found)

    def test_a_zero_need_not_be_an_element(self):
        self.save(x=np.array([-2], "f4"))
        for name, fields, reason in [
                ("LEAKY_RELU", {"Alpha": 0}, "0 is 0; an odd number of factors is negative"),
                ("HARD_SWISH", {"Alpha": 0, "Beta": 0}, "hard sigmoid is 0; an odd number of factors is negative")]:
            with self.subTest(name):
                found = self.explain(json.dumps({"type": f"ACTIVATION_{name}", "desc": fields}),
                                     "OutputTensor[0]", "-i", "x.npy")["calculation"]
                self.assertEqual((found["rule"], found["reason"], found.get("deciding")), ("zero-sign", reason, None))

    def check_wraps(self, found, total, dtype):
        calculation = found["calculation"]
        self.assertEqual(int(Fraction(calculation["exact"])), total)
        wraps = int(Fraction(calculation.get("wraps", "0")))
        self.assertEqual(found["element"]["value"], total - wraps * 2 ** (8 * dtype.itemsize))
        info = np.iinfo(dtype)
        self.assertTrue(info.min <= found["element"]["value"] <= info.max)
        self.assertEqual(calculation["rule"], "modulo" if wraps else "exact")

    def test_integers_say_how_often_they_wrap(self):
        random = np.random.default_rng(SEED)
        for case in range(48):
            dtype = np.dtype(["i4", "u4", "i8", "u8"][case % 4])
            function = ["SUM", "L1", "SUM_SQUARE", "MULTIPLY"][case // 4 % 4]
            info = np.iinfo(dtype)
            array = random.integers(info.min, info.max, int(random.integers(1, 7)), dtype=dtype, endpoint=True)
            if case % 3 == 0:
                array //= dtype.type(info.max // 3)
            xs = [int(x) for x in array]
            total = {"SUM": sum(xs), "L1": sum(map(abs, xs)), "SUM_SQUARE": sum(x * x for x in xs),
                     "MULTIPLY": math.prod(xs)}[function]
            found = self.calculation(function, array)
            with self.subTest(f"{function} {array!r}"):
                self.check_wraps(found, total, dtype)

    def test_functions_of_integers_say_how_often_they_wrap(self):
        random = np.random.default_rng(SEED)
        functions = {"ADD": lambda a, b: a + b, "SUBTRACT": lambda a, b: a - b, "MULTIPLY": lambda a, b: a * b,
                     "DIFFERENCE_SQUARE": lambda a, b: (a - b) ** 2, "ABS": abs, "NEGATE": lambda a: -a}
        wrapped = set()
        for name, function in functions.items():
            count = function.__code__.co_argcount if name != "ABS" else 1
            for dtype in map(np.dtype, ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")):
                if count == 1 and dtype.kind == "u" or name == "DIFFERENCE_SQUARE" and dtype.itemsize != 4:
                    continue
                info = np.iinfo(dtype)
                for first in (info.min, info.max, 3):
                    a, b = first, int(random.integers(1, info.max, dtype=dtype.type, endpoint=True))
                    inputs = {"InputTensor": a} if count == 1 else {"ATensor": a, "BTensor": b}
                    self.save(**{key: np.array([x], dtype) for key, x in inputs.items()})
                    found = self.explain(json.dumps({"type": f"ELEMENT_WISE_{name}"}), "OutputTensor[0]",
                                         *(word for key in inputs for word in ("-i", f"{key}={key}.npy")))
                    total = function(*inputs.values())
                    with self.subTest(f"{name} {dtype} {inputs}"):
                        self.check_wraps(found, total, dtype)
                        if "wraps" in found["calculation"]:
                            wrapped.add(name)
        self.assertEqual(wrapped, set(functions))

    def test_cumulative_sums_and_products(self):
        random = np.random.default_rng(SEED)
        sign = lambda x: (x > 0) - (x < 0)
        for case in range(80):
            dtype = np.dtype(["f4", "f2", "i4", "u8"][case % 4])
            is_sum, is_exclusive, direction = case // 4 % 2, case // 8 % 2, case // 16 % 2
            array = random.normal(size=4) if dtype.kind == "f" else random.integers(0, 2 ** 31, 4)
            self.save(a=array.astype(dtype))
            array = [Fraction(float(x)) if dtype.kind == "f" else int(x) for x in array.astype(dtype)]
            at = int(random.integers(0, 4))
            taken = array[at + is_exclusive:] if direction else array[:at + 1 - is_exclusive]
            kind = "Sum" if is_sum else "Product"
            found = self.explain(json.dumps({
                "type": "CUMULATIVE_SUMMATION" if is_sum else "CUMULATIVE_PRODUCT", "Axis": 0,
                "AxisDirection": ["INCREASING", "DECREASING"][direction],
                f"HasExclusive{kind}": bool(is_exclusive)}), f"OutputTensor[{at}]", "-i", "a.npy")
            total = sum(taken) if is_sum else math.prod(taken)
            with self.subTest(f"{kind} {array} {at} {is_exclusive} {direction}"):
                calculation = found["calculation"]
                self.assertEqual(calculation["quantity"], "sum" if is_sum else "product")
                self.assertEqual(Fraction(calculation["exact"]), total)
                if dtype.kind == "f":
                    self.check_rounding(found, total, dtype, lambda y: sign(total - y))
                else:
                    self.check_wraps(found, total, dtype)

    def test_logarithms(self):
        random = np.random.default_rng(SEED)
        for case in range(24):
            array = random.uniform(0.1, 3, int(random.integers(1, 9))).astype(["f4", "f2"][case % 2])
            exact = sum(Fraction(float(x)) for x in array)
            for function, value in [("LOG_SUM", math.log(exact)),
                                    ("LOG_SUM_EXP", math.log(math.fsum(math.exp(x) for x in array.astype(float))))]:
                found = self.calculation(function, array)
                calculation = found["calculation"]
                is_exact = function == "LOG_SUM_EXP" and len(array) == 1  # ln(1) + x
                self.assertEqual(calculation["rule"], "exact" if is_exact else "within-bound")
                if function == "LOG_SUM":
                    self.assertAlmostEqual(calculation["result"], value, delta=1e-14)
                    self.assertEqual(Fraction(calculation["exact"]), exact)
                else:
                    told = calculation["exact" if is_exact else "approximate"]
                    self.assertAlmostEqual(float(told), value, delta=1e-14)
                    greatest = int(array.argmax())
                    maximum, exponentials = calculation["steps"]
                    self.assertEqual(maximum["winner"]["elements"][0]["index"], [greatest])
                    shifted = math.fsum(math.exp(float(x) - float(array[greatest])) for x in array)
                    self.assertAlmostEqual(exponentials["value"], shifted, delta=1e-14)
                if "below" in calculation:
                    below, above = (calculation[side]["value"] for side in ("below", "above"))
                    self.assertIn(found["element"]["value"], (below, above))
                    self.assertLess(float(array.dtype.type(below)), value)
                    self.assertGreater(float(array.dtype.type(above)), value)

    def test_elements_that_decide_alone(self):
        nan, inf = np.nan, np.inf
        for function, values, value, rule, decided, reason in [
            ("SUM", [1, nan, inf], "nan", "nan", [1], "InputTensor[1] is NaN"),
            ("SUM", [1, inf, -inf], "nan", "nan", [1, 2], "inf - inf is NaN"),
            ("SUM", [1, -inf, 3], "-inf", "infinity", [1], "InputTensor[1] is infinite"),
            ("SUM", [-0.0, -0.0], -0.0, "zero-sign", [], "all elements are -0"),
            ("SUM", [1, -1], 0.0, "exact", [], "a FLOAT32 number"),
            ("L2", [1, -inf], "inf", "infinity", [1], "InputTensor[1] is infinite"),
            ("MULTIPLY", [0, 2, inf], "nan", "nan", [0, 2], "0 * inf is NaN"),
            ("MULTIPLY", [-2, 0, 3], -0.0, "zero-sign", [1], "an odd number of elements is negative"),
            ("MULTIPLY", [-inf, 3], "-inf", "infinity", [0], "InputTensor[0] is infinite"),
            ("LOG_SUM", [-1, 0.5], "nan", "nan", [], "a negative sum has no logarithm"),
            ("LOG_SUM", [1, -1], "-inf", "infinity", [], "the logarithm of 0 is -inf"),
            ("LOG_SUM", [1, -inf], "nan", "nan", [1], "the logarithm of -inf is NaN"),
            ("LOG_SUM_EXP", [-inf, -inf], "-inf", "infinity", [0], "all elements are -inf"),
            ("LOG_SUM_EXP", [-inf, inf], "inf", "infinity", [1], "InputTensor[1] is infinite"),
            ("LOG_SUM_EXP", [-inf, 5], 5, "exact", [], "a FLOAT32 number"),
            ("LOG_SUM_EXP", [4, 5], np.float32(math.log(math.exp(4) + math.exp(5))), "within-bound", [], "0.51 ULP"),
            ("MAX", [nan, 1, nan, -2], 1, "extreme", [1], "InputTensor[1] is the greatest element; 2 NaN are skipped"),
            ("MAX", [3, 5, 5], 5, "first", [1], "InputTensor[1] is the first of 2 equal greatest elements"),
            ("MAX", [-0.0, 0.0], 0.0, "extreme", [1], "+0 is greater than -0"),
            ("MIN", [0.0, -0.0], -0.0, "extreme", [1], "-0 is less than +0"),
            ("MIN", [nan, nan], "nan", "only-nan", [], "all elements are NaN"),
            ("MIN", [nan, 2], 2, "extreme", [1], "1 NaN is skipped"),
            ("ARGMAX", [nan, 3, nan, 3], 1, "first", [1], "number 1 of the group"),
            ("ARGMIN", [0.0, -0.0], 0, "first", [0], "the first of 2 equal least elements"),
            ("ARGMIN", [nan, nan], 0, "only-nan", [], "the first index is taken"),
        ]:
            with self.subTest(f"{function} {values}"):
                found = self.calculation(function, np.array(values, "f4"))
                calculation = found["calculation"]
                self.assertEqual(found["element"]["value"], value)
                if value == 0:
                    self.assertEqual(math.copysign(1, found["element"]["value"]), math.copysign(1, value))
                self.assertEqual(calculation["rule"], rule)
                self.assertEqual([k for (k,) in calculation.get("decidedBy", [])], decided)
                self.assertIn(reason, calculation["reason"])

    def test_the_last_of_equals_may_be_asked_for(self):
        for values, value, rule, decided, reason in [
            ([4, 1, 4, np.nan], 2, "last", [2], "InputTensor[2] is the last of 2 equal greatest elements"),
            ([0.0, -0.0, -3], 1, "last", [1], "number 1 of the group"),
            ([1, 5, 4], 1, "extreme", [1], "InputTensor[1] is the greatest element"),
            ([np.nan, np.nan], 1, "only-nan", [], "the last index is taken"),
        ]:
            with self.subTest(values):
                self.save(a=np.array(values, "f4"))
                descriptor = json.dumps({"type": "ARGMAX", "Axes": [0], "AxisDirection": "DECREASING"})
                found = self.explain(descriptor, "OutputTensor[0]", "-i", "a.npy")
                self.assertEqual(found["element"]["value"], value)
                self.assertEqual(found["calculation"]["rule"], rule)
                self.assertEqual([k for (k,) in found["calculation"].get("decidedBy", [])], decided)
                self.assertIn(reason, found["calculation"]["reason"])

    def test_winners_are_those_of_numpy(self):
        random = np.random.default_rng(SEED)
        for dtype in ("i1", "u2", "i4", "u8", "f2", "f4"):
            array = random.integers(0, 20, (2, 3, 4)).astype(dtype)
            for function, pick in [("MAX", np.argmax), ("MIN", np.argmin), ("ARGMAX", np.argmax), ("ARGMIN", np.argmin)]:
                self.save(a=array)
                found = self.explain(document(function, [0, 2]), "OutputTensor[0,1,0]", "-i", "a.npy")
                row = array[:, 1, :].ravel()
                k = int(pick(row))
                self.assertEqual(found["calculation"]["decidedBy"], [[k // 4, 1, k % 4]])
                self.assertEqual(found["element"]["value"], k if function.startswith("ARG") else row[k])

    def test_integers_with_scale_and_bias(self):
        for dtype, x, scale, bias, value, rule, exact in [
            ("i1", -128, -1, 0, 127, "clamped", "128"), ("i1", 5, 0.5, 0, 2, "truncated", "2.5"),
            ("i1", -5, 0.5, 0, -2, "truncated", "-2.5"), ("u1", 7, 2, 1, 15, "exact", "15"),
            ("u4", 7, -1, 0.5, 0, "clamped", "-6.5"), ("i4", 3, 1, "nan", 0, "nan", None),
            ("u2", 3, 1, "inf", 65535, "clamped", None), ("u1", 1, -0.5, 0, 0, "truncated", "-0.5"),
        ]:
            with self.subTest(f"{dtype} {x} * {scale} + {bias}"):
                self.save(a=np.array([x], dtype))
                descriptor = json.dumps({"type": "ELEMENT_WISE_IDENTITY", "ScaleBias": {"Scale": scale, "Bias": bias}})
                found = self.explain(descriptor, "OutputTensor[0]", "-i", "a.npy")
                self.assertEqual(found["element"]["value"], value)
                self.assertEqual(found["calculation"]["rule"], rule)
                self.assertEqual(found["calculation"].get("exact"), exact)

    def products(self, calculation):
        (step,) = calculation["steps"]
        self.assertEqual((step["name"], step["count"]), ("sum of products", len(step["terms"])))
        return [(term["expression"], term["factors"], term["product"]) for term in step["terms"]]

    def test_products_of_matrices_and_windows(self):
        gemm = json.dumps({
            "type": "GEMM", "ATensor": {"DataType": "FLOAT32", "Sizes": [1, 3]},
            "BTensor": {"DataType": "FLOAT32", "Sizes": [3, 2]}, "CTensor": {"DataType": "FLOAT32", "Sizes": [1, 2]},
            "TransA": "NONE", "TransB": "NONE", "Alpha": 0.5, "Beta": 2,
            "bindings": {"ATensor": [[1, 2.0**-24, 3]], "BTensor": [[9, 2], [9, 2], [9, 0]], "CTensor": [[9, 1]]}})
        calculation = self.explain(gemm, "OutputTensor[0,1]")["calculation"]
        self.assertEqual(self.products(calculation), [
            ("ATensor[0, 0] * BTensor[0, 1]", [1, 2], 2),
            ("ATensor[0, 1] * BTensor[1, 1]", [2.0**-24, 2], 2.0**-23),
            ("ATensor[0, 2] * BTensor[2, 1]", [3, 0], 0)])
        self.assertEqual(calculation["quantity"], "0.5 * (sum of products) + 2 * CTensor[0, 1]")
        self.assertEqual(Fraction(calculation["exact"]), 3 + Fraction(1, 2**24))
        self.assertEqual(calculation["rule"], "nearest")
        convolution = json.dumps({
            "type": "CONVOLUTION", "InputTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 2]},
            "FilterTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 3]}, "Mode": "CONVOLUTION", "Direction": "FORWARD",
            "Strides": [1], "Dilations": [1], "StartPadding": [1], "EndPadding": [1], "OutputPadding": [0],
            "GroupCount": 1, "bindings": {"InputTensor": [[[1, 2]]], "FilterTensor": [[[10, 20, 30]]]}})
        calculation = self.explain(convolution, "OutputTensor[0,0,0]")["calculation"]
        self.assertEqual(self.products(calculation), [
            ("InputTensor[0, 0, 0] * FilterTensor[0, 0, 1]", [1, 20], 20),
            ("InputTensor[0, 0, 1] * FilterTensor[0, 0, 0]", [2, 10], 20)])
        self.assertEqual((calculation["exact"], calculation["rule"]), ("40", "exact"))

    def test_products_with_an_addend_that_is_not_finite(self):
        for alpha, beta, c, rule in [(1, 0, "inf", "nan"), (1, 1, "-inf", "infinity"), (1, "inf", 2, "infinity"),
                                     ("inf", 1, "-inf", "nan"), (0, 0, "inf", "nan")]:
            gemm = json.dumps({
                "type": "GEMM", "ATensor": {"DataType": "FLOAT32", "Sizes": [1, 3]},
                "BTensor": {"DataType": "FLOAT32", "Sizes": [3, 1]}, "CTensor": {"DataType": "FLOAT32", "Sizes": [1, 1]},
                "TransA": "NONE", "TransB": "NONE", "Alpha": alpha, "Beta": beta,
                "bindings": {"ATensor": [[1, 1, 1]], "BTensor": [[1], [1], [1]], "CTensor": [[c]]}})
            with self.subTest(alpha=alpha, beta=beta, c=c):
                calculation = self.explain(gemm, "OutputTensor[0,0]")["calculation"]
                self.assertEqual(calculation["rule"], rule)
                self.assertNotIn("exact", calculation)

    def test_elements_of_windows_that_overlap_are_told_once(self):
        document = json.dumps({
            "type": "MAX_POOLING_GRAD", "InputTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 5]},
            "InputGradientTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 3]}, "Strides": [1, 1],
            "WindowSize": [1, 2], "StartPadding": [0, 0], "EndPadding": [0, 0], "Dilations": [1, 2],
            "bindings": {"InputTensor": [[[[1, 3, 2, 5, 4]]]], "InputGradientTensor": [[[[10, 20, 30]]]]}})
        self.assertEqual(self.explain(document, "OutputGradientTensor[0,0,0,2]")["count"], 8)

    def test_weighted_sums(self):
        resample = json.dumps({
            "type": "RESAMPLE", "InputTensor": {"DataType": "FLOAT32", "Sizes": [1, 2]}, "InterpolationMode": "LINEAR",
            "Scales": [1, 2], "bindings": {"InputTensor": [[1, 3]]}})
        calculation = self.explain(resample, "OutputTensor[0,1]")["calculation"]
        self.assertEqual(self.products(calculation), [
            ("0.75 * InputTensor[0, 0]", [0.75, 1], 0.75), ("0.25 * InputTensor[0, 1]", [0.25, 3], 0.75)])
        self.assertEqual((calculation["exact"], calculation["rule"]), ("1.5", "exact"))
        thirds = json.dumps({
            "type": "RESAMPLE", "InputTensor": {"DataType": "FLOAT32", "Sizes": [2]}, "InterpolationMode": "LINEAR",
            "Scales": [1.5], "bindings": {"InputTensor": [1, 2]}})
        calculation = self.explain(thirds, "OutputTensor[1]")["calculation"]
        self.assertEqual(self.products(calculation), [
            ("0.75 * InputTensor[0]", [0.75, 1], 0.75), ("0.75 * InputTensor[1]", [0.75, 2], 1.5)])
        self.assertEqual((calculation["exact"], calculation["then"], calculation["rule"]),
                         ("2.25", "divided by 1.5", "exact"))
        fold = {"type": "FOLD", "InputTensor": {"DataType": "UINT8", "Sizes": [1, 2, 2]},
                "OutputTensor": {"DataType": "UINT8", "Sizes": [1, 1, 3]}, "WindowSizes": [2], "Strides": [1],
                "Dilations": [1], "StartPadding": [0], "EndPadding": [0],
                "bindings": {"InputTensor": [[[1, 200], [100, 3]]]}}
        calculation = self.explain(json.dumps(fold), "OutputTensor[0,0,1]")["calculation"]
        self.assertEqual(self.products(calculation), [
            ("1 * InputTensor[0, 0, 1]", [1, 200], 200), ("1 * InputTensor[0, 1, 0]", [1, 100], 100)])
        self.assertEqual((calculation["exact"], calculation["rule"], calculation["wraps"]), ("300", "modulo", "1"))

    def test_an_activation_of_what_is_rounded(self):
        def document(**activation):
            return json.dumps({
                "type": "GEMM", "ATensor": {"DataType": "FLOAT32", "Sizes": [1, 2]},
                "BTensor": {"DataType": "FLOAT32", "Sizes": [2, 2]}, "TransA": "NONE", "TransB": "NONE",
                "Alpha": 1, "Beta": 0, "FusedActivation": activation,
                "bindings": {"ATensor": [[1, 2.0**-24]], "BTensor": [[-3, 1], [2, 2]]}})
        found = self.explain(document(type="ACTIVATION_TANH"), "OutputTensor[0,0]")
        self.assertEqual(found["count"], 4)
        self.assertEqual(Fraction(found["calculation"]["exact"]), -3 + Fraction(1, 2**23))
        self.assertEqual(found["calculation"]["rule"], "tie-to-even")
        activation = found["activation"]
        self.assertEqual((activation["operator"], activation["ownResult"]), ("ACTIVATION_TANH", -3))
        self.assertEqual(activation["calculation"]["quantity"], "exact value")
        self.assertEqual(activation["calculation"]["rule"], "nearest")
        self.assertAlmostEqual(found["element"]["value"], math.tanh(-3), 7)

        found = self.explain(document(type="ACTIVATION_SOFTMAX1", Axes=[1]), "OutputTensor[0,0]")
        self.assertEqual(found["count"], 6)  # the row of A and both columns of B
        self.assertEqual(found["activation"]["ownResult"], -3)
        steps = {step["name"]: step["value"] for step in found["activation"]["calculation"]["steps"]}
        self.assertAlmostEqual(steps["maximum"], 1, 6)
        self.assertAlmostEqual(steps["sum of exponentials"], 1 + math.exp(-4), 6)
        text = self.text_of("explain", document(type="ACTIVATION_RELU"), "OutputTensor[0,0]")
        self.assertIn("\nown result: -3 (tie-to-even: ", text)
        self.assertTrue(text.endswith("\nthen ACTIVATION_RELU\nexact value = max(0, own result[0, 0]): 0\n"
                                      "result: 0 (exact: a FLOAT32 number, so nothing is rounded)\n"), text)

    def test_a_tie_in_text(self):
        self.save(a=np.array([16777216, 1], "f4"))
        self.assertEqual(self.text_of("explain", SUM, "OutputTensor[0]", "-i", "a.npy"), """\
OutputTensor[0]: FLOAT32, byte offset 0
REDUCE SUM over axes {0}, fed by 2 elements:
  InputTensor[0]  byte offset 0  value 16777216
  InputTensor[1]  byte offset 4  value 1
sum: 16777217
  below: 16777216, distance 1
  above: 16777218, distance 1
result: 16777216 (tie-to-even: both neighbours are equally near; the one whose last bit is 0 is taken)
""")

    def test_long_products(self):
        sys.set_int_max_str_digits(0)
        array = np.full(4000, 1.25, "f4")
        calculation = self.calculation("MULTIPLY", array)["calculation"]
        self.assertEqual(Fraction(calculation["exact"]), Fraction(5, 4) ** 4000)
        self.assertEqual(calculation["rule"], "overflow")
        text = self.text_of("explain", document("MULTIPLY"), "OutputTensor[0]", "-i", "a.npy")
        self.assertLess(max(map(len, text.splitlines())), 200)
        self.assertRegex(text, r"product: \d\.\d{58}\.\.\.e\+387 \(\d+ digits\)")
        array = np.full(4000, np.nextafter(np.float32(1), np.float32(2)))
        calculation = self.calculation("MULTIPLY", array)["calculation"]
        self.assertEqual(calculation["rule"], "within-bound")
        self.assertNotIn("exact", calculation)
        wide = np.full(2000, 3**20, "i8")
        calculation = self.calculation("MULTIPLY", wide)["calculation"]
        self.assertEqual((calculation["rule"], "exact" in calculation), ("modulo", False))

    def test_files_are_not_read_whole(self):
        with open(self.folder / "big.npy", "wb") as file:
            header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (32768, 32768), }"
            header += b" " * (128 - 10 - len(header) - 1) + b"\n"
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
            file.truncate(128 + (4 << 30))
            file.seek(128 + 4 * (20000 * 32768 + 5))
            file.write(struct.pack("<f", 7))
        for descriptor, value in [(COPY, 7), (document("SUM", [1]), 7)]:
            command = [DMLOP, "explain", descriptor, "OutputTensor[20000,0]".replace(
                "0]", "5]" if descriptor == COPY else "0]"), "-i", "big.npy", "--format", "json"]
            process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE)
            output = process.stdout.read()
            process.stdout.close()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = status
            self.assertEqual((status, json.loads(output)["element"]["value"]), (0, value))
            self.assertLess(usage.ru_maxrss, 400 << 10)  # KiB: a tenth of the file


if __name__ == "__main__":
    unittest.main()
