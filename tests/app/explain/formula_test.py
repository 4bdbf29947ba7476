# SPDX-License-Identifier: Apache-2.0
"""dmlop explain: the steps from elements to a result, checked with NumPy's float64, and the result, with dmlop run."""

import json
import math
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import ProgramTest, in_turn

EPSILON = float(np.float32(1e-5))
X = np.array([[[[1, 2, -3, 0.5], [7, 0.25, 5, 2]], [[3, 1, 4, 1], [5, 9, -2, 6]], [[0, -1, 2, 8], [2, 8, 1, 8]]]], "f4")
WITH_NAN = np.where(X == 9, np.nan, X).astype("f4")
WITH_INFINITY = np.where(X == 9, np.inf, X).astype("f4")
A = np.array([[[[200, 3, 17], [0, 255, 8]]]], "u1")
B = np.array([[[[5, -7], [100, -128], [3, 9]]]], "i1")
SCALAR = (1, 1, 1, 1)
PARAMETER = np.array([0.5, -2, 3], "f4").reshape(1, 3, 1, 1)
WINDOWS = {"Strides": [1, 1], "Dilations": [1, 1], "StartPadding": [1, 0], "EndPadding": [0, 0], "GroupCount": 1}


def softmax(inputs, index):
    row = inputs["InputTensor"][index[:-1]].astype("f8")
    greatest = np.fmax.reduce(row)
    return {"maximum": greatest, "sum of exponentials": np.exp(row - greatest).sum()}


def moments(axes, use_mean=True):
    def steps(inputs, index):
        x = inputs["InputTensor"].astype("f8")
        part = x[tuple(slice(None) if d in axes else i for d, i in enumerate(index))]
        variance = part.var() if use_mean else np.square(part).mean()
        of_mean = {"mean": part.mean()} if use_mean else {}
        return of_mean | {"variance" if use_mean else "mean of squares": variance,
                          "deviation": math.sqrt(variance + EPSILON)}
    return steps


def given(inputs, index):
    return {"deviation": math.sqrt(inputs["VarianceTensor"].astype("f8")[0, index[1], 0, 0] + EPSILON)}


def norm(power):
    def steps(inputs, index):
        row = inputs["InputTensor"].astype("f8")[index[:-1]]
        return {"norm": np.linalg.norm(row, power), "divisor": np.linalg.norm(row, power)}
    return steps


def response(inputs, index):
    x = inputs["InputTensor"].astype("f8")
    around = x[0, max(0, index[1] - 1):index[1] + 2, index[2], index[3]]
    base = 2 + 0.5 / 3 * np.square(around).sum()
    return {"sum of squares": np.square(around).sum(), "base": base, "divisor": base ** 0.75}


def matrix_product(zeros=(0, 0)):
    def steps(inputs, index):
        a, b = (inputs[name].astype("f8") - zero for name, zero in zip(("ATensor", "BTensor"), zeros))
        return {"sum of products": (a @ b)[index]}
    return steps


def quantized_product(inputs, index):
    steps = matrix_product((5, -3))(inputs, index)
    steps["real value"] = steps["sum of products"] * 0.5 * 0.25
    steps["in units of the output"] = steps["real value"] / 8
    return steps | {"rounded": np.rint(steps["in units of the output"])}


def convolution(bias=0, zero=0):
    def steps(inputs, index):
        x, taps = inputs["InputTensor"].astype("f8") - zero, inputs["FilterTensor"].astype("f8")
        padded = np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 0)))
        rows, columns = taps.shape[2:]
        part = padded[0, :, index[2]:index[2] + rows, index[3]:index[3] + columns]
        return {"sum of products": (part * taps[index[1]]).sum()}
    return steps


# Windows of 2 x 2 with a row of padding above.
POOLING = {"Strides": [1, 1], "WindowSize": [2, 2], "StartPadding": [1, 0], "EndPadding": [0, 0]}


def window(inputs, index):
    x = inputs["InputTensor"].astype("f8")
    return x[0, index[1], max(0, index[2] - 1):index[2] + 1, index[3]:index[3] + 2]


def average(name, count):
    def steps(inputs, index):
        taps = window(inputs, index)
        return {"sum": taps.sum(), name: count or taps.size} | ({"absent taps": 2} if index[2] == 0 else {})
    return steps


def quantized_average(inputs, index):
    total = (window(inputs, index) - 100).sum()
    return {"sum": total, "counted taps": 4, "in units of the output": total * 0.5 / (4 * 0.375),
            "rounded": np.rint(total * 0.5 / (4 * 0.375))}


def greatest(inputs, index):
    return {"maximum": np.fmax.reduce(window(inputs, index), axis=None)}


def place(inputs, index):
    own = window(inputs, index)
    row, column = np.unravel_index(np.argmax(own), own.shape)
    return greatest(inputs, index) | {
        "place in the input": np.ravel_multi_index((0, index[1], max(0, index[2] - 1) + row, index[3] + column), X.shape)}


def lp_pooling(power):
    def steps(inputs, index):
        magnitudes = np.abs(window(inputs, index))
        name = {1: "sum of magnitudes", 2: "sum of squares"}.get(power, "sum of powers")
        is_scaled = power > 2 and np.isfinite(np.fmax.reduce(magnitudes, axis=None))
        most = np.fmax.reduce(magnitudes, axis=None) if is_scaled else 1
        return {name: ((magnitudes / most) ** power).sum()} | ({"greatest magnitude": most} if is_scaled else {})
    return steps


def handed_out(name):
    """Each of the windows over an element of 3 x 4, of which the padding has none."""
    def steps(inputs, index):
        rows, columns = [p for p in (index[2], index[2] + 1) if p < 2], [p for p in (index[3] - 1, index[3]) if 0 <= p < 3]
        gradients = inputs["InputGradientTensor"].astype("f8")
        own = [(gradients[0, index[1], i, j], 2 if i == 0 else 4) for i in rows for j in columns]
        if name == "sum":
            return {name: sum(gradient for gradient, _ in own)}
        return {name: sum(gradient / count for gradient, count in own)}
    return steps


def won(inputs, index):
    x, gradients = inputs["InputTensor"].astype("f8"), inputs["InputGradientTensor"].astype("f8")
    own = []
    for i, j in np.ndindex(2, 3):
        taps = x[0, index[1], max(0, i - 1):i + 1, j:j + 2]
        row, column = np.unravel_index(np.argmax(taps), taps.shape)
        if (max(0, i - 1) + row, j + column) == index[2:]:
            own.append(gradients[0, index[1], i, j])
    return {"windows that it wins": len(own), "sum": sum(own)}


def response_gradient(inputs, index):
    x, gradients = inputs["InputTensor"].astype("f8"), inputs["InputGradientTensor"].astype("f8")
    column = x[0, :, index[2], index[3]]
    base = 2 + 0.5 / 3 * np.array([np.square(column[max(0, c - 1):c + 2]).sum() for c in range(3)])
    parts = gradients[0, :, index[2], index[3]] * column * base ** -1.75
    return {"base": base[index[1]], "own part": gradients[index] * base[index[1]] ** -0.75,
            "sum around": parts[max(0, index[1] - 1):index[1] + 2].sum(), "factor": 2 * 0.5 * 0.75 / 3}


RATES = {"LearningRate": 0.5, "Beta1": 0.75, "Beta2": 0.875, "Epsilon": 0.125}


def adam(inputs, index):
    names = ("InputFirstMomentTensor", "InputSecondMomentTensor", "GradientTensor")
    m, v, g = (inputs[name][index].astype("f8") for name in names)
    t = int(inputs["TrainingStepTensor"].item())
    steps = {"first moment": 0.75 * m + 0.25 * g, "second moment": 0.875 * v + 0.125 * g * g,
             "alpha": math.sqrt(1 - 0.875 ** t) / (1 - 0.75 ** t)}
    steps["divisor"] = math.sqrt(steps["second moment"]) + 0.125
    return steps | {"change": 0.5 * steps["alpha"] * steps["first moment"] / steps["divisor"]}


def dynamic_quantization(inputs, index):
    x = inputs["InputTensor"]
    scale = np.float32((x.max().astype("f8") - x.min()) / 255)
    return {"maximum": x.max(), "minimum": x.min(), "scale": scale, "zero point": np.rint(-x.min() / scale),
            "in units of the scale": x[index] / scale}


ALIGNMENT = {"SpatialScaleX": 1, "SpatialScaleY": 1, "InputPixelOffset": 0.5, "OutputPixelOffset": -0.5,
             "InterpolationMode": "LINEAR", "AlignRegionsToCorners": False}
TWO_BY_TWO = {"MinimumSamplesPerOutput": 2, "MaximumSamplesPerOutput": 2, "OutOfBoundsInputValue": 0.25,
              "OutputTensor": {"DataType": "FLOAT32", "Sizes": [1, 3, 2, 2]}}
BATCH = {"BatchIndicesTensor": np.zeros(1, "u4")}
BOX = np.array([[-4, 0.5, 4, 1.5]], "f4")  # left, top, right, bottom


def sample(plane, y, x):
    """The linear interpolation, or the value out of bounds."""
    height, width = plane.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.25
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = math.floor(y), math.floor(x)
    pixels = plane[np.ix_([top, math.ceil(y)], [left, math.ceil(x)])]
    return np.array([1 - y + top, y - top]) @ pixels @ np.array([1 - x + left, x - left])


def aligned(name, reduce):
    """Two samples in each direction for an output, of two."""
    def steps(inputs, index):
        left, top, right, bottom = map(float, inputs["ROITensor"][0])
        plane = inputs["InputTensor"][0, index[1]].astype("f8")
        ys = [(2 * index[2] + s + 0.5) * (bottom - top) / 4 + top - 0.5 for s in range(2)]
        xs = [(2 * index[3] + s + 0.5) * (right - left) / 4 + left - 0.5 for s in range(2)]
        return {"left": left, "top": top, "right": right, "bottom": bottom, "samples": 4,
                name: reduce([sample(plane, y, x) for y in ys for x in xs])}
    return steps


def binned(inputs, index):
    """The region's corners are 1, 0, 3 and 1: halves are rounded away from zero."""
    part = inputs["InputTensor"][0, index[1], index[2], 1 + index[3]:3 + index[3]]
    return {"batch item": 0, "left": 1, "top": 0, "right": 3, "bottom": 1, "first row": index[2], "rows": 1,
            "first column": 1 + index[3], "columns": 2, "maximum": np.fmax.reduce(part)}


GRID = np.array([[[[0, 1, 4, 9], [2, 3, 6, 11], [5, 6, 9, 14], [1, 2, 5, 10]]]], "f4")
ONE_SAMPLE = ALIGNMENT | {"ReductionFunction": "AVERAGE", "MinimumSamplesPerOutput": 1, "MaximumSamplesPerOutput": 1}
GRID_GRADIENT = {"InputTensor": GRID, "InputGradientTensor": np.array([[[[1, 2], [3, 4]]]], "f4"),
                 "ROITensor": np.array([[0.5, 0.5, 3.5, 3.5]], "f4")} | BATCH
PIXELS = {(0, 0, 0, 0): 0.0625, (0, 0, 1, 2): 1.125, (0, 0, 2, 1): 1.6875, (0, 0, 3, 3): 0.25}
CORNERS = {(0, 0): 10.5, (0, 1): -2.5, (0, 2): 23.5, (0, 3): -19.5}

QUANTIZATION = {"AScaleTensor": np.full(SCALAR, 0.5, "f4"), "AZeroPointTensor": np.full(SCALAR, 5, "u1"),
                "BScaleTensor": np.full(SCALAR, 0.25, "f4"), "BZeroPointTensor": np.full(SCALAR, -3, "i1")}
QUANTIZED_OUTPUT = {"OutputScaleTensor": np.full(SCALAR, 8, "f4"),
                    "OutputZeroPointTensor": np.full(SCALAR, 100, "u1")}
FLOAT_FILTER = np.array([[[[1, 2], [0.5, -1]], [[3, 0], [0, 1]], [[-2, 1], [1, 1]]]], "f4")
BYTES = (X * 4 + 100).astype("u1")
BYTE_FILTER = (FLOAT_FILTER * 2).astype("i1")
BYTE_X = (X * 3).astype("i1")
MOMENTS = {"MeanTensor": PARAMETER * 2, "VarianceTensor": PARAMETER ** 2}
TENSOR = {"DataType": "FLOAT32", "Sizes": list(X.shape)}
CORNER, MIDDLE, SPECIAL = (0, 0, 0, 0), (0, 2, 1, 1), (0, 1, 1, 0)

# An operator, its fields, its inputs, the elements to explain and the steps for each.
CASES = [
    ("GEMM", {"TransA": "NONE", "TransB": "NONE", "Alpha": 0.5, "Beta": 3}, {
        "ATensor": X[:, :1], "BTensor": np.swapaxes(X[:, 1:2], 2, 3), "CTensor": X[:, 2:3, :, :2]},
     [(0, 0, 0, 0), (0, 0, 1, 1)], matrix_product()),
    ("GEMM", {"TransA": "NONE", "TransB": "NONE", "Alpha": 1, "Beta": 0}, {
        "ATensor": X[:, :1], "BTensor": np.swapaxes(WITH_INFINITY[:, 1:2], 2, 3)},
     [(0, 0, 0, 0), (0, 0, 1, 1)], matrix_product()),
    ("CONVOLUTION", WINDOWS | {"Mode": "CROSS_CORRELATION", "Direction": "FORWARD", "OutputPadding": [0, 0]},
     {"InputTensor": WITH_NAN, "FilterTensor": FLOAT_FILTER, "BiasTensor": np.full(SCALAR, 2, "f4")},
     [(0, 0, 0, 0), (0, 0, 1, 2), (0, 0, 1, 0)], convolution()),
    ("MATRIX_MULTIPLY_INTEGER", {}, {"ATensor": A, "BTensor": B}, [(0, 0, 0, 0), (0, 0, 1, 1)], matrix_product()),
    ("MATRIX_MULTIPLY_INTEGER_TO_FLOAT", {}, {"ATensor": A, "BTensor": B} | QUANTIZATION,
     [(0, 0, 0, 0), (0, 0, 1, 1)], matrix_product((5, -3))),
    ("QUANTIZED_LINEAR_MATRIX_MULTIPLY", {}, {"ATensor": A, "BTensor": B} | QUANTIZATION | QUANTIZED_OUTPUT,
     [(0, 0, 0, 0), (0, 0, 1, 1)], quantized_product),
    ("CONVOLUTION_INTEGER", WINDOWS,
     {"InputTensor": BYTES, "InputZeroPointTensor": np.full(SCALAR, 100, "u1"), "FilterTensor": BYTE_FILTER},
     [(0, 0, 0, 0), (0, 0, 1, 2)], convolution(zero=100)),
    ("QUANTIZED_LINEAR_CONVOLUTION", WINDOWS,
     {"InputTensor": BYTES, "InputScaleTensor": np.full(SCALAR, 0.5, "f4"),
      "InputZeroPointTensor": np.full(SCALAR, 100, "u1"), "FilterTensor": BYTE_FILTER,
      "FilterScaleTensor": np.full(SCALAR, 0.25, "f4"), "BiasTensor": np.full(SCALAR, 7, "i4"),
      "OutputScaleTensor": np.full(SCALAR, 1.5, "f4")},
     [(0, 0, 0, 0), (0, 0, 1, 2)], convolution(zero=100)),
    ("QUANTIZED_LINEAR_AVERAGE_POOLING", POOLING | {"Dilations": [1, 1], "IncludePadding": True},
     {"InputTensor": BYTES, "InputScaleTensor": np.full(SCALAR, 0.5, "f4"), "InputZeroPointTensor": np.full(SCALAR, 100, "u1"),
      "OutputScaleTensor": np.full(SCALAR, 0.375, "f4"), "OutputZeroPointTensor": np.full(SCALAR, 7, "u1")},
     [CORNER, MIDDLE], quantized_average),
    ("AVERAGE_POOLING_GRAD", POOLING | {"IncludePadding": True, "OutputGradientTensor": TENSOR},
     {"InputGradientTensor": X[..., :3]}, [CORNER, MIDDLE], handed_out("sum"), "OutputGradientTensor"),
    ("AVERAGE_POOLING_GRAD", POOLING | {"IncludePadding": False, "OutputGradientTensor": TENSOR},
     {"InputGradientTensor": WITH_INFINITY[..., :3]}, [CORNER, (0, 1, 0, 1)], handed_out("sum of shares"),
     "OutputGradientTensor"),
    ("MAX_POOLING_GRAD", POOLING | {"Dilations": [1, 1]}, {"InputTensor": X, "InputGradientTensor": X[..., 1:]},
     [CORNER, MIDDLE, (0, 1, 1, 1), (0, 0, 1, 0)], won, "OutputGradientTensor"),
    ("MAX_POOLING2", POOLING | {"Dilations": [1, 1]}, {"InputTensor": X}, [CORNER, MIDDLE, SPECIAL], place,
     "OutputIndicesTensor"),
    ("LOCAL_RESPONSE_NORMALIZATION_GRAD", {"CrossChannel": True, "LocalSize": 3, "Alpha": 0.5, "Beta": 0.75, "Bias": 2},
     {"InputTensor": X, "InputGradientTensor": X[..., ::-1]}, [CORNER, MIDDLE], response_gradient, "OutputGradientTensor"),
    ("ADAM_OPTIMIZER", RATES,
     {"InputParametersTensor": X, "InputFirstMomentTensor": X / 2, "InputSecondMomentTensor": X ** 2,
      "GradientTensor": X[..., ::-1], "TrainingStepTensor": np.full(SCALAR, 3, "u4")},
     [CORNER, MIDDLE], adam, "OutputParametersTensor"),
    ("ROI_ALIGN_GRAD", ONE_SAMPLE, GRID_GRADIENT, list(PIXELS), lambda _, index: {"sum of shares": PIXELS[index]},
     "OutputGradientTensor"),
    ("ROI_ALIGN_GRAD", ONE_SAMPLE, GRID_GRADIENT, list(CORNERS), lambda _, index: {"sum of slopes": CORNERS[index]},
     "OutputROIGradientTensor"),
    ("DYNAMIC_QUANTIZE_LINEAR", {}, {"InputTensor": X}, [CORNER, MIDDLE, (0, 0, 0, 2)], dynamic_quantization),
]
NORM = {"Axis": 3, "Epsilon": EPSILON}
AFFINE = {"ScaleTensor": PARAMETER, "BiasTensor": PARAMETER}
BY_MOMENTS = {"Epsilon": EPSILON, "NormalizeVariance": True}
# Operators whose InputTensor is X, once with finite elements only and once with others.
FLOAT_CASES = [
    ("ACTIVATION_SOFTMAX1", {"Axes": [3]}, {}, softmax),
    ("ACTIVATION_LOG_SOFTMAX1", {"Axes": [3]}, {}, softmax),
    ("MEAN_VARIANCE_NORMALIZATION", BY_MOMENTS | {"CrossChannel": False}, AFFINE, moments({2, 3})),
    ("MEAN_VARIANCE_NORMALIZATION1", BY_MOMENTS | {"Axes": [1]}, AFFINE, moments({1})),
    ("MEAN_VARIANCE_NORMALIZATION2", {"Epsilon": EPSILON, "Axes": [3], "UseMean": False, "UseVariance": True}, {},
     moments({3}, use_mean=False)),
    ("BATCH_NORMALIZATION", {"Epsilon": EPSILON, "Spatial": True}, MOMENTS | AFFINE, given),
    ("BATCH_NORMALIZATION_TRAINING", {"Epsilon": EPSILON}, AFFINE, moments({0, 2, 3})),
    ("LP_NORMALIZATION", NORM | {"P": 1}, {}, norm(1)),
    ("LP_NORMALIZATION", NORM | {"P": 2}, {}, norm(2)),
    ("LOCAL_RESPONSE_NORMALIZATION", {"CrossChannel": True, "LocalSize": 3, "Alpha": 0.5, "Beta": 0.75, "Bias": 2}, {},
     response),
    ("AVERAGE_POOLING", POOLING | {"IncludePadding": False}, {}, average("present taps", None)),
    ("AVERAGE_POOLING1", POOLING | {"IncludePadding": True, "Dilations": [1, 1]}, {}, average("counted taps", 4)),
    ("MAX_POOLING", POOLING, {}, greatest),
    ("ROI_POOLING", {"SpatialScale": 1, "PooledSize": {"Width": 2, "Height": 2}},
     {"ROITensor": np.array([[[[0, 0.5, 0, 2.5, 1.4]]]], "f4")}, binned),
    ("ROI_ALIGN1", ALIGNMENT | TWO_BY_TWO | {"ReductionFunction": "AVERAGE"}, {"ROITensor": BOX} | BATCH,
     aligned("sum of samples", np.sum)),
    ("ROI_ALIGN1", ALIGNMENT | TWO_BY_TWO | {"ReductionFunction": "MAX"}, {"ROITensor": BOX} | BATCH,
     aligned("maximum", np.fmax.reduce)),
    ("LP_POOLING", POOLING | {"P": 1}, {}, lp_pooling(1)),
    ("LP_POOLING", POOLING | {"P": 2}, {}, lp_pooling(2)),
    ("LP_POOLING1", POOLING | {"P": 3, "Dilations": [1, 1]}, {}, lp_pooling(3)),
]


# By function: fields, and NumPy's steps of x.
ERF = np.vectorize(math.erf)
FUNCTIONS = [
    ("ACTIVATION_SIGMOID", {}, lambda x: {"exponential": np.exp(-x), "exact value": 1 / (1 + np.exp(-x))}),
    ("ACTIVATION_SWISH", {"SigmoidInputScale": 0.5},
     lambda x: {"exponential": np.exp(-0.5 * x), "exact value": x / (1 + np.exp(-0.5 * x))}),
    ("ACTIVATION_GELU", {},
     lambda x: {"error function": ERF(x / math.sqrt(2)), "exact value": 0.5 * x * (1 + ERF(x / math.sqrt(2)))}),
    ("ACTIVATION_ELU", {"Alpha": 0.5},
     lambda x: {"exact value": x} if x >= 0 else {"exponential": np.exp(x), "exact value": 0.5 * (np.exp(x) - 1)}),
    ("ACTIVATION_CELU", {"Alpha": 2},
     lambda x: {"exponential": np.exp(x / 2),
                "exact value": np.fmax(0, x) + np.fmin(0, 2 * (np.exp(x / 2) - 1))}),
    ("ACTIVATION_SCALED_ELU", {"Alpha": 2, "Gamma": 0.5},
     lambda x: {"exact value": 0.5 * x if x > 0 else 0.5 * (2 * np.exp(x) - 2)}),
    ("ACTIVATION_SCALED_TANH", {"Alpha": 2, "Beta": 0.25},
     lambda x: {"tanh": np.tanh(x / 4), "exact value": 2 * np.tanh(x / 4)}),
    ("ACTIVATION_SOFTPLUS", {"Steepness": 2},
     lambda x: {"exponential": np.exp(2 * x), "exact value": np.log1p(np.exp(2 * x)) / 2}),
    ("ACTIVATION_PARAMETRIC_SOFTPLUS", {"Alpha": 2, "Beta": 0.5}, lambda x: {"exact value": 2 * np.log1p(np.exp(x / 2))}),
    ("ACTIVATION_HARD_SIGMOID", {"Alpha": 0.25, "Beta": 0.5},
     lambda x: {"exact value": np.fmax(0, np.fmin(0.25 * x + 0.5, 1))}),
    ("ACTIVATION_HARD_SWISH", {"Alpha": 0.25, "Beta": 0.5},
     lambda x: {"hard sigmoid": np.fmax(0, np.fmin(0.25 * x + 0.5, 1)),
                "exact value": x * np.fmax(0, np.fmin(0.25 * x + 0.5, 1))}),
    ("ACTIVATION_SOFTSIGN", {}, lambda x: {"exact value": x / (1 + np.abs(x))}),
    ("ACTIVATION_LEAKY_RELU", {"Alpha": 0.25}, lambda x: {"exact value": x if x >= 0 else 0.25 * x}),
    ("ACTIVATION_THRESHOLDED_RELU", {"Alpha": 4}, lambda x: {"exact value": x if x > 4 else 0.0}),
    ("ACTIVATION_SHRINK", {"Bias": 0.5, "Threshold": 2},
     lambda x: {"exact value": x - 0.5 if x > 2 else x + 0.5 if x < -2 else 0.0}),
    ("ACTIVATION_LINEAR", {"Alpha": 0.5, "Beta": -2}, lambda x: {"x * Scale + Bias": 0.5 * x - 2}),
    ("ELEMENT_WISE_ASINH", {}, lambda x: {"root": np.sqrt(x * x + 1), "exact value": np.arcsinh(x)}),
    ("ELEMENT_WISE_ACOSH", {"ScaleBias": {"Scale": 0.5, "Bias": 3}},
     lambda x: {"x * Scale + Bias": 0.5 * x + 3, "exact value": np.arccosh(0.5 * x + 3)}),
    ("ELEMENT_WISE_ATANH", {"ScaleBias": {"Scale": 0.0625, "Bias": 0}},
     lambda x: {"ratio": (1 + x / 16) / (1 - x / 16), "exact value": np.arctanh(x / 16)}),
    ("ELEMENT_WISE_SQRT", {"ScaleBias": {"Scale": 2, "Bias": 0}},
     lambda x: {"x * Scale + Bias": 2 * x, "exact value": np.sqrt(2 * x)}),
    ("ELEMENT_WISE_CLIP", {"Min": -1, "Max": 4}, lambda x: {"exact value": np.fmax(-1, np.fmin(x, 4))}),
    ("ELEMENT_WISE_ROUND", {"RoundingMode": "TOWARD_INFINITY"}, lambda x: {"exact value": np.trunc(x + np.copysign(0.5, x))}),
    ("VALUE_SCALE_2D", {"Scale": 2, "Bias": [3, 3, 3]}, lambda x: {"exact value": 2 * x + 3}),
]
# By function: NumPy's steps of elements a and b.
PAIRS = [
    ("ADD", lambda a, b: {"exact value": a + b}), ("SUBTRACT", lambda a, b: {"exact value": a - b}),
    ("MULTIPLY", lambda a, b: {"exact value": a * b}), ("DIVIDE", lambda a, b: {"exact value": a / b}),
    ("MEAN", lambda a, b: {"exact value": (a + b) / 2}), ("DIFFERENCE_SQUARE", lambda a, b: {"exact value": (a - b) ** 2}),
    ("MAX", lambda a, b: {"exact value": np.fmax(a, b)}), ("MIN", lambda a, b: {"exact value": np.fmin(a, b)}),
    ("MODULUS_FLOOR", lambda a, b: {"quotient": np.floor(a / b), "exact value": np.mod(a, b)}),
    ("MODULUS_TRUNCATE", lambda a, b: {"quotient": np.trunc(a / b), "exact value": np.fmod(a, b)}),
    ("ATAN_YX", lambda a, b: {"exact value": np.arctan2(a, b)})]
OTHER = np.where(X == 0, 3, -X[:, ::-1] / 2).astype("f4")


def quantized(inputs, index):
    quotient = np.float32(inputs["InputTensor"][index]) / np.float32(inputs["ScaleTensor"][index])
    return {"quotient": float(quotient), "rounded": float(np.rint(quotient)) if quotient == quotient else 0}


def quantized_sum(inputs, index):
    real = sum((float(inputs[n + "Tensor"][index]) - float(inputs[n + "ZeroPointTensor"].item())) *
               float(inputs[n + "ScaleTensor"].item()) for n in "AB")
    return {"real value": real, "quotient": real / 8, "rounded": np.rint(real / 8)}


def element_wise_cases():
    for operator, fields, steps in FUNCTIONS:
        yield operator, fields, {}, lambda inputs, index, steps=steps: steps(inputs["InputTensor"][index].astype("f8"))
    yield "ELEMENT_WISE_QUANTIZE_LINEAR", {}, {
        "ScaleTensor": np.full_like(X, 0.4), "ZeroPointTensor": np.full(X.shape, 7, "u1")}, quantized


def all_cases():
    for operator, fields, inputs, elements, steps, *output in CASES:
        yield operator, fields, inputs, elements, steps, *(output or ["OutputTensor"])
    for name, steps in PAIRS:
        yield f"ELEMENT_WISE_{name}", {}, {"ATensor": X, "BTensor": OTHER}, [CORNER, MIDDLE], (
            lambda inputs, index, steps=steps: steps(*(inputs[key][index].astype("f8") for key in ("ATensor", "BTensor")))), "OutputTensor"
    yield "ELEMENT_WISE_QUANTIZED_LINEAR_ADD", {}, {
        "ATensor": BYTES, "BTensor": BYTE_X} | QUANTIZATION | QUANTIZED_OUTPUT, [CORNER, MIDDLE], quantized_sum, "OutputTensor"
    for operator, fields, inputs, steps in [*FLOAT_CASES, *element_wise_cases()]:
        yield operator, fields, {"InputTensor": X} | inputs, [CORNER, MIDDLE], steps, "OutputTensor"
        for special in (WITH_NAN, WITH_INFINITY):
            yield operator, fields, {"InputTensor": special} | inputs, [CORNER, MIDDLE, SPECIAL], steps, "OutputTensor"


class StepsTest(ProgramTest):
    def number(self, value):
        return float(value)  # "nan" and "inf", too

    def assert_near(self, actual, expected, name):
        if not math.isfinite(expected):
            self.assertEqual(repr(self.number(actual)), repr(float(expected)), name)
        else:
            self.assertAlmostEqual(self.number(actual), expected, delta=1e-6 * abs(expected) + 1e-12, msg=name)

    def check(self, arguments, element, result, expected):
        found = json.loads(self.text_of("explain", *arguments, element, "--format", "json"))
        value = np.asarray(self.number(found["element"]["value"]), result.dtype)
        np.testing.assert_array_equal(value, result)
        last = self.text_of("explain", *arguments, element).splitlines()[-1]
        printed = last.removeprefix("result: ").split(" (")[0]
        np.testing.assert_array_equal(np.asarray(self.number(printed), result.dtype), result)
        steps = {step["name"]: step for step in found["calculation"]["steps"]}
        for name, number in expected.items():
            self.assert_near(steps[name]["value"], number, name)

    def check_cases(self, cases):
        for operator, fields, inputs, elements, steps, name in cases:
            self.save(**inputs)
            bindings = {name: name + ".npy" for name in inputs} | {name: "out.npy"}
            self.write("d.json", json.dumps({"type": operator, "bindings": bindings} | fields))
            self.run_program("run", "d.json")
            output = self.load("out")
            for index in elements:
                element = f"{name}[{','.join(map(str, index))}]"
                with self.subTest(operator, element=element), np.errstate(all="ignore"):
                    self.check(["d.json"], element, output[index], steps(inputs, index))


class FormulaTest(StepsTest):
    def test_steps(self):
        self.check_cases(in_turn(all_cases()))

    def test_zeros_have_signs(self):
        descriptor = json.dumps({"type": "AVERAGE_POOLING", "IncludePadding": False} | POOLING)
        for number, exact in ((-0.0, "-0"), (0.0, "0")):
            self.save(x=np.full((1, 1, 1, 2), number, "f4"))
            found = json.loads(self.text_of("explain", descriptor, "OutputTensor[0,0,0,0]", "-i", "x.npy", "--format", "json"))
            self.assertEqual((found["calculation"]["exact"], found["calculation"]["rule"]), (exact, "zero-sign"))

    def test_terms_as_numbers(self):
        self.save(a=np.array([[1, 3]], "f4"), b=np.array([[2], [0.5]], "f4"))
        descriptor = json.dumps({"type": "GEMM", "TransA": "NONE", "TransB": "NONE", "Alpha": 1, "Beta": 0})
        arguments = ["explain", descriptor, "OutputTensor[0,0]", "-i", "a.npy", "-i", "b.npy"]
        calculation = json.loads(self.text_of(*arguments, "--format", "json"))["calculation"]
        self.assertEqual(calculation["steps"], [{
            "name": "sum of products", "operation": "sum", "count": 2, "value": 3.5, "terms": [
                {"expression": f"ATensor[0, {k}] * BTensor[{k}, 0]", "factors": factors, "product": product,
                 "elements": [{"tensor": "ATensor", "index": [0, k], "value": factors[0]},
                              {"tensor": "BTensor", "index": [k, 0], "value": factors[1]}]}
                for k, (factors, product) in enumerate([([1, 2], 2), ([3, 0.5], 1.5)])]}])
        text = self.text_of(*arguments)
        self.assertIn("\nsum of products, 2 terms:\n  ATensor[0, 0] * BTensor[0, 0]: 1 * 2 = 2\n", text)
        self.assertTrue(text.endswith("\nsum of products: 3.5\n"
                                      "result: 3.5 (exact: a FLOAT32 number, so nothing is rounded)\n"), text)

    def test_long_lists_are_abridged(self):
        self.save(a=np.ones((1, 30), "f4"), b=np.ones((30, 1), "f4"))
        descriptor = json.dumps({"type": "GEMM", "TransA": "NONE", "TransB": "NONE", "Alpha": 1, "Beta": 0})
        arguments = ["explain", descriptor, "OutputTensor[0,0]", "-i", "a.npy", "-i", "b.npy"]
        self.assertIn("\n  ... 24 more\n  ATensor[0, 27]", self.text_of(*arguments))
        for options, count in [([], 6), (["--full"], 30)]:
            found = json.loads(self.text_of(*arguments, *options, "--format", "json"))
            step = found["calculation"]["steps"][0]
            self.assertEqual((step["count"], len(step["terms"])), (30, count))


if __name__ == "__main__":
    unittest.main()
