# SPDX-License-Identifier: Apache-2.0
"""diagnose: devices that are wrong in one known way, devices that are right, and what nothing explains."""

import json
import math
import os
import shlex
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import ProgramTest, in_turn

F2, F4 = np.float16, np.float32


def numbers(*shape, seed=0):
    return np.random.default_rng((seed, *shape)).standard_normal(shape).astype(F4)


def in_int16(x):
    return np.clip(x, -2**15, 2**15 - 1)


def ending_in_int16(terms):
    total = np.zeros_like(terms[0])
    for term in terms:
        total = in_int16(total + term)
    return total


def windows(x, size, step=(1, 1), spread=(1, 1)):
    """The windows of the last two axes: (..., rows, columns, height, width)."""
    reach = [(n - 1) * d + 1 for n, d in zip(size, spread)]
    view = np.lib.stride_tricks.sliding_window_view(x, reach, axis=(-2, -1))
    return view[..., ::step[0], ::step[1], ::spread[0], ::spread[1]]


def padded(x, start, end, **how):
    return np.pad(x, [(0, 0), (0, 0), (start[0], end[0]), (start[1], end[1])], **how)


def convolution(x, f, start=(0, 0), end=(0, 0), step=(1, 1), spread=(1, 1), **how):
    view = windows(padded(x, start, end, **how), f.shape[2:], step, spread)
    return np.einsum("nchwij,ocij->nohw", view, f, optimize=True).astype(F4)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


A, B, C = numbers(40, 64), numbers(64, 48), numbers(40, 48)
SQUARE, OTHER = numbers(32, 32), numbers(32, 32, seed=1)
X, FILTER, BIAS = numbers(2, 5, 12, 14), numbers(4, 5, 3, 3), numbers(1, 4, 1, 1)
SMALLER = -np.abs(SQUARE)
CUBE, OTHER_CUBE = numbers(3, 8, 40), numbers(3, 8, 40, seed=1)
LONG = numbers(4, 1000)
LONG_TURNED = numbers(1000, 6)
MANY = numbers(60, 3000)
INDICES = np.random.default_rng(3).integers(0, 12, (12, 12)).astype(np.int32)
BYTES, SIGNED_BYTES = (np.random.default_rng(5).integers(low, low + 256, shape).astype(kind)
                       for low, shape, kind in ((0, (20, 40), np.uint8), (-128, (40, 24), np.int8)))
SCATTERED = np.random.default_rng(6).permuted(np.tile(np.arange(32), (12, 1)), axis=1)[:, :12].astype(np.int32)
BATCH, OTHER_BATCH = numbers(1, 3, 20, 30), numbers(1, 3, 30, 24)
GEMM = {"type": "GEMM", "TransA": "NONE", "TransB": "NONE", "Alpha": 1, "Beta": 1}
CONVOLUTION = {"type": "CONVOLUTION", "Mode": "CROSS_CORRELATION", "Direction": "FORWARD", "DimensionCount": 2,
               "Strides": [1, 1], "Dilations": [1, 1], "StartPadding": [1, 1], "EndPadding": [1, 1],
               "OutputPadding": [0, 0], "GroupCount": 1}


def gemm(**fields):
    return GEMM | fields


def conv(**fields):
    return CONVOLUTION | fields


def tiles_exchanged(product):
    device = product.copy()
    device[8:16, 16:32], device[24:32, 0:16] = product[24:32, 0:16], product[8:16, 16:32]
    return device


def columns_exchanged(sums):
    device = sums.copy()
    device[:, :8], device[:, 16:24] = sums[:, 16:24], sums[:, :8]
    return device


def logarithm_by_series(x):
    """From the logarithm of a number in [1/2, 1), of which the series of the inverse hyperbolic tangent has three terms."""
    significand, exponent = np.frexp(x)
    z = (significand - F4(1)) / (significand + F4(1))
    return F4(2) * z * (1 + z * z * (F4(1 / 3) + z * z * F4(1 / 5))) + exponent.astype(F4) * F4(np.log(2))


def reciprocal_root_by_step(x):
    """A step of Newton's method from a guess by the exponent."""
    guess = (0x5F3759DF - (x.view("i4") >> 1)).astype("i4").view(F4)
    return guess * (F4(1.5) - F4(0.5) * x * guess * guess)


def gelu_in_halves(x):
    """Each step is rounded to FLOAT16."""
    error = np.vectorize(math.erf)((x.astype(F4) * F4(0.70710678)).astype(F2).astype("f8")).astype(F2)
    return (F2(0.5) * x) * (F2(1) + error)


def unwritten(product, box, value=0):
    device = product.copy()
    device[box] = value
    return device


def running_sums(x, length):
    return np.concatenate([x[:, i:i + length].cumsum(1) for i in range(0, x.shape[1], length)], 1)


def enlarged(x):
    """Twice as many rows and columns, linearly between the middles of pixels."""
    for axis in (2, 3):
        at = np.clip((np.arange(2 * x.shape[axis]) + 0.5) / 2 - 0.5, 0, x.shape[axis] - 1)
        below = at.astype(int)
        share = (at - below).astype(F4).reshape((-1, 1) if axis == 2 else -1)
        x = x.take(below, axis) * (1 - share) + x.take(np.minimum(below + 1, x.shape[axis] - 1), axis) * share
    return x


def over(x, axes):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 0.01)


def in_bfloat16(x):
    """The nearest numbers of bfloat16 as 2 bytes each, ties to even."""
    bits = x.astype(F4).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16).view("V2")


def through_bfloat16(x):
    return (in_bfloat16(x).view(np.uint16).astype(np.uint32) << 16).view(F4)


def neighbours(x, seed):
    """Every fifth element is the next one, up or down by chance."""
    chance = np.random.default_rng(seed).random((2, *x.shape))
    return np.where(chance[0] < 0.2, np.nextafter(x, x.dtype.type(np.inf) * np.where(chance[1] < 0.5, 1, -1).astype(x.dtype)), x)


def in_tf32(x):
    """The nearest numbers of TF32, ties away from zero."""
    return ((x.view(np.uint32) + 0x1000) >> 13 << 13).view(F4)


def lanes_of_windows(x, f, lanes):
    """A convolution of FLOAT16 with padding of 1, of which the second half of the lanes is added to the first one."""
    view = windows(padded(x, (1, 1), (1, 1)), f.shape[2:])
    terms = (view[:, None] * f[None, :, :, None, None]).transpose(0, 1, 3, 4, 2, 5, 6).reshape(len(x), len(f), *x.shape[2:], -1)
    sums = np.zeros((*terms.shape[:-1], lanes), x.dtype)
    for k in range(terms.shape[-1]):
        sums[..., k % lanes] += terms[..., k]
    while sums.shape[-1] > 1:
        half = sums.shape[-1] // 2
        sums = sums[..., :half] + sums[..., half:]
    return sums[..., 0]


def cut(x, *elements):
    """The elements with these numbers are the next ones toward 0."""
    device = x.copy().reshape(-1)
    device[list(elements)] = np.nextafter(device[list(elements)], x.dtype.type(0))
    return device.reshape(x.shape)


def cut_to_halves(x):
    """The nearest numbers of FLOAT16 that are not beyond."""
    nearest = x.astype(np.float16)
    return np.where(abs(nearest.astype("f8")) > abs(x.astype("f8")), np.nextafter(nearest, np.float16(0)), nearest)


def moved_tile(x):
    device = x.copy()
    device[8:16, 8:16] = x[8:16, 9:17]
    return device


def moved_in(x, distance):
    """Further on along the last axis; other numbers come in."""
    return np.concatenate([numbers(*x.shape[:-1], distance, seed=6), x[..., :-distance]], -1)


def replaced(x, *places):
    device = x.copy()
    for place in places:
        device[place] = (device[place] + 1) % 6
    return device


def last_marked(x):
    """1 for the last of the greatest elements of each row, else 0."""
    places = x.shape[1] - 1 - x[:, ::-1].argmax(1)
    return (np.arange(x.shape[1]) == places[:, None]).astype(x.dtype)


def gradients_of_last(x, gradients):
    """Those of windows of 2 by 2, passed on to the last of their greatest elements."""
    windows_of_x = x.reshape(16, 2, 16, 2).transpose(0, 2, 1, 3).reshape(16, 16, 4)
    passed = last_marked(windows_of_x.reshape(256, 4)).reshape(16, 16, 4) * gradients[..., None]
    return passed.reshape(16, 16, 2, 2).transpose(0, 2, 1, 3).reshape(32, 32).astype(F4)


def added_in_order(a, b):
    """A product of FLOAT16, each product and each sum of which is rounded."""
    total = np.zeros((len(a), b.shape[1]), a.dtype)
    for k in range(len(b)):
        total += a[:, k:k + 1] * b[k:k + 1]
    return total


def added_in_parts(a, b, length):
    """Products of FLOAT16 of parts of the terms, added in the order given."""
    parts = [added_in_order(a[:, k:k + length], b[k:k + length]) for k in range(0, len(b), length)]
    return sum(parts[1:], parts[0])


def scattered(x, places, updates):
    device = x.copy()
    np.put_along_axis(device, places, updates, 1)
    return device


def multiplied_in_order(x):
    """Running products along the last axis, each of which is rounded."""
    products = x.copy()
    for k in range(1, x.shape[-1]):
        products[..., k] *= products[..., k - 1]
    return products


AB = A @ B
A_HALVES, B_HALVES = A.astype(np.float16), B.astype(np.float16)
CONVOLVED = convolution(X, FILTER, (1, 1), (1, 1))

def softmax_of_part(x, count):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e[..., :count].sum(-1, keepdims=True)


def normalized(x, part, count):
    """With the mean and variance of a part, both divided by a count."""
    mean = part.sum(-1, keepdims=True) / F4(count)
    return (x - mean) / np.sqrt(np.square(part - mean).sum(-1, keepdims=True) / F4(count) + F4(0.01))


def states(x, w, r, first, carries=True, bias=F4(0), read=lambda state: state):
    """The states of a network of tanh: {steps, 1, items, size}."""
    rows, state = [], first[0, 0]
    for step in x[0]:
        state = np.tanh(step @ w[0, 0].T + read(state if carries else first[0, 0]) @ r[0, 0].T + bias)
        rows.append(state)
    return np.stack(rows)[:, None]


def states_of_two_ways(x, w, r, first, lengths, read):
    """The same in both directions, 0 behind the end of each item: {steps, 2, items, size}."""
    all_states = np.zeros((x.shape[1], 2, x.shape[2], r.shape[3]), F4)
    for direction in (0, 1):
        for item, length in enumerate(lengths[0, 0, 0]):
            state = first[0, direction, item]
            for time in range(length)[::1 - 2 * direction]:
                state = np.tanh(w[0, direction] @ x[0, time, item] + r[0, direction] @ read(state))
                all_states[time, direction, item] = state
    return all_states


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gated_states(x, w, r, first, read):
    """The states of a GRU without biases whose reset comes after the product: {steps, 1, items, size}."""
    rows, state = [], first[0, 0]
    size = state.shape[1]
    for step in x[0]:
        of_input, of_state = read(step) @ read(w[0, 0]).T, read(state) @ read(r[0, 0]).T
        update, reset = sigmoid((of_input + of_state)[:, :2 * size]).reshape(-1, 2, size).transpose(1, 0, 2)
        added = np.tanh(of_input[:, 2 * size:] + reset * of_state[:, 2 * size:])
        state = (1 - update) * added + update * state
        rows.append(state)
    return np.stack(rows)[:, None]


def attended(query, key, value, scale, read):
    """The attention of one head."""
    return read(softmax(read(query) @ read(key).swapaxes(1, 2) * F4(scale))) @ read(value)


def attended_by_heads(query, key, value):
    return np.concatenate([attended(query[..., h], key[..., h], value[..., h], 0.5, lambda x: x) for h in (np.s_[:4], np.s_[4:])], -1)


def heads_first(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2).reshape(x.shape)


def folded(columns, taps):
    """The sums of some taps of windows of 3 by 3 in an image of 10 by 10."""
    image = np.zeros((1, 3, 10, 10), F4)
    for tap in taps:
        i, j = divmod(tap, 3)
        image[:, :, i:i + 8, j:j + 8] += columns.reshape(1, 3, 9, 8, 8)[:, :, tap]
    return image


def scaled_after_division(x, mean, variance, scale, bias, epsilon):
    return (x - mean) / np.sqrt(variance + epsilon) * scale + bias


def several(product, *boxes, value=0):
    for box in boxes:
        product = unwritten(product, box, value)
    return product


STEPS, WEIGHTS, RECURRENCE, STATE = numbers(1, 6, 3, 5), numbers(1, 1, 4, 5), numbers(1, 1, 4, 4), numbers(1, 1, 3, 4)
NETWORK_BIAS = numbers(1, 1, 1, 8)
RNN = {"type": "RNN", "Direction": "FORWARD", "ActivationDescs": [{"Type": "ACTIVATION_TANH"}],
       "OutputSequenceTensor": {"DataType": "FLOAT32", "Sizes": [6, 1, 3, 4]}}
WEIGHTS_OF_TWO, RECURRENCE_OF_TWO, STATES_OF_TWO = numbers(1, 2, 4, 5), numbers(1, 2, 4, 4), numbers(1, 2, 3, 4)
LENGTHS = np.array([[[[6, 4, 5]]]], np.uint32)
TWO_WAYS = {"type": "RNN", "Direction": "BIDIRECTIONAL", "ActivationDescs": [{"Type": "ACTIVATION_TANH"}] * 2,
            "OutputSequenceTensor": {"DataType": "FLOAT32", "Sizes": [6, 2, 3, 4]}}
GATES, GATES_OF_STATES = numbers(1, 1, 12, 5), numbers(1, 1, 12, 4)
GRU = {"type": "GRU", "Direction": "FORWARD", "ActivationDescs": [{"Type": "ACTIVATION_SIGMOID"}, {"Type": "ACTIVATION_TANH"}], "LinearBeforeReset": True,
       "OutputSequenceTensor": {"DataType": "FLOAT32", "Sizes": [6, 1, 3, 4]}}
QUERY, KEY = numbers(2, 9, 8), numbers(2, 11, 8)
MANY_FILTERS = numbers(8, 5, 3, 3)
ATTENTION = {"type": "MULTIHEAD_ATTENTION", "Scale": 0.5, "MaskFilterValue": -10000, "HeadCount": 1, "MaskType": "NONE"}
ATTENDED = [("QueryTensor", QUERY), ("KeyTensor", KEY), ("ValueTensor", KEY)]
WEIGHTS_OF_KEYS = softmax(QUERY @ KEY.transpose(0, 2, 1) / 2)
STATISTICS = [numbers(1, 5, 1, 1, seed=1), np.abs(numbers(1, 5, 1, 1, seed=2)), numbers(1, 5, 1, 1, seed=3), numbers(1, 5, 1, 1, seed=4)]
POOL = {"type": "AVERAGE_POOLING", "Strides": [1, 1], "WindowSize": [3, 3], "StartPadding": [0, 0], "EndPadding": [0, 0], "IncludePadding": False}
LP_POOL = {"type": "LP_POOLING", "Strides": [1, 1], "WindowSize": [3, 3], "StartPadding": [0, 0], "EndPadding": [0, 0], "P": 2}
COLUMNS = numbers(1, 27, 64)
FOLD = {"type": "FOLD", "WindowSizes": [3, 3], "Strides": [1, 1], "Dilations": [1, 1], "StartPadding": [0, 0], "EndPadding": [0, 0],
        "OutputTensor": {"DataType": "FLOAT32", "Sizes": [1, 3, 10, 10]}}
MVN = {"type": "MEAN_VARIANCE_NORMALIZATION1", "Axes": [2], "NormalizeVariance": True, "Epsilon": 0.01}

# Any small number is within noise of the sums in the middle.
CANCELLED, CANCELLING = (numbers(32, 32, seed=seed) / 8 for seed in (0, 1))
CANCELLED[:, 16:24] += F4(2**20)
CANCELLING[:, 16:24] = -F4(2**20)

FEW, FEW_MORE = (np.random.default_rng(seed).integers(0, 6, (32, 32)).astype(np.int8) for seed in (7, 8))
WIDE_INTEGERS = np.random.default_rng(2).integers(-2**62, 2**62, (20, 20))
TERMS_OF_BYTES = BYTES.T.astype("i4")[:, :, None] * SIGNED_BYTES[:, None, :]
NEAR_TIES = (SQUARE.astype(F2).astype("f8") + np.spacing(SQUARE.astype(F2)).astype("f8") / 2) * np.where(OTHER > 0, 1 + 2.0**-40, 1 - 2.0**-40)
IMAGE = numbers(1, 1, 100, 100)
MAXIMA = np.maximum(FEW, FEW_MORE)
SOME_NAN = np.where(numbers(32, 32, seed=6) > 0, F4(np.nan), SQUARE)
POSITIVE = np.exp(CUBE)
REPEATED = np.random.default_rng(1).integers(0, 20, (40, 300)).astype(np.int32)
MOSTLY_OTHER = np.where(FEW + FEW_MORE == 0, SQUARE, OTHER)
HALVES = CUBE.astype(np.float16)
FACTORS = (1 + CUBE / 8).astype(np.float16)
HALF_A, HALF_B = (A / 8).astype(np.float16), B.astype(np.float16)
SIGMOIDS = (1 / (1 + np.exp(-HALVES.astype("f8")))).astype(np.float16)
LOW = -np.abs(CUBE) - F4(5)
SCALED = {"ScaleBias": {"Scale": 0.75, "Bias": -0.5}}
SMALL = A * F4(2**-13)  # some elements are subnormal in FLOAT16
DEQUANTIZE = {"type": "ELEMENT_WISE_DEQUANTIZE_LINEAR", "OutputTensor": {"DataType": "FLOAT32", "Sizes": [40, 24]}}
QUANTIZE = {"type": "ELEMENT_WISE_QUANTIZE_LINEAR", "OutputTensor": {"DataType": "UINT8", "Sizes": [3, 8, 40]}}
MEANS_BESIDE_AN_EDGE = windows(padded(X, (0, 0), (0, 1)), (3, 3)).mean((-1, -2), dtype=F4)

# A descriptor, its inputs, what the device has, and the ids of the cause: alternatives if there are several.
FAULTS = {
    # fields
    "a product without its factor": (gemm(Alpha=0.5), [A, B], AB, "/desc/Alpha=1"),
    "a product without its addend": (gemm(), [A, B, ("CTensor", C)], AB, "/desc/CTensor=null"),
    "a factor of the addend left out": (gemm(Beta=0.25), [A, B, ("CTensor", C)], AB + C, "/desc/Beta=1"),
    "another mode": (conv(), [X, FILTER], convolution(X, FILTER[..., ::-1, ::-1], (1, 1), (1, 1)), '/desc/Mode="CONVOLUTION"'),
    "paddings exchanged": (conv(StartPadding=[2, 0], EndPadding=[0, 1]), [X, FILTER],
                           convolution(X, FILTER, (0, 1), (2, 0)), "/desc/StartPadding<->/desc/EndPadding"),
    "no bias": (conv(), [X, FILTER, ("BiasTensor", BIAS)], CONVOLVED, "/desc/BiasTensor=null"),
    "padding moved by one": (conv(), [X, FILTER], convolution(X, FILTER, (1, 0), (1, 2)), "/desc/StartPadding/1=0 + /desc/EndPadding/1=2"),
    "all padding at the end": (conv(), [X, FILTER], convolution(X, FILTER, (0, 0), (2, 2)),
                               ["/desc/StartPadding=[0,0] + /desc/EndPadding=[2,2]", "shifted"]),
    "another reduction": ({"type": "REDUCE", "Function": "AVERAGE", "Axes": [2]}, [CUBE], CUBE.sum(2, keepdims=True), '/desc/Function="SUM"'),
    "a filter turned without its bias": (conv(), [X, FILTER, ("BiasTensor", BIAS)], convolution(X, FILTER[:, :, ::-1, ::-1], (1, 1), (1, 1)),
                                         ['/desc/Mode="CONVOLUTION" + /desc/BiasTensor=null', '/desc/BiasTensor=null + /desc/Mode="CONVOLUTION"']),
    "inputs in bfloat16 and no bias": (conv(), [X, FILTER, ("BiasTensor", BIAS)], convolution(through_bfloat16(X), through_bfloat16(FILTER), (1, 1), (1, 1)),
                                       "/desc/BiasTensor=null + inputs-bfloat16"),
    "the activation left out": (gemm(FusedActivation={"Type": "ACTIVATION_RELU"}), [A, B], AB, "/desc/FusedActivation=null"),
    "another slope": ({"type": "ACTIVATION_LEAKY_RELU", "Alpha": 0.25}, [CUBE], np.maximum(CUBE, 0), "/desc/Alpha=0"),
    "small exponentials without scale and bias": ({"type": "ELEMENT_WISE_EXP", **SCALED}, [LOW], np.exp(LOW), "/desc/ScaleBias=null"),
    "scale and bias exchanged": ({"type": "ELEMENT_WISE_EXP", **SCALED}, [CUBE], np.exp(F4(-0.5) * CUBE + F4(0.75)), "/desc/ScaleBias/Scale<->/desc/ScaleBias/Bias"),
    "operands exchanged": ({"type": "ELEMENT_WISE_SUBTRACT"}, [SQUARE, OTHER], OTHER - SQUARE, "/desc/ATensor<->/desc/BTensor"),
    "sums include the last": ({"type": "CUMULATIVE_SUMMATION", "Axis": 1, "AxisDirection": "INCREASING", "HasExclusiveSum": True},
                              [LONG], LONG.cumsum(1), "/desc/HasExclusiveSum=false"),
    "sums the other way": ({"type": "CUMULATIVE_SUMMATION", "Axis": 1, "AxisDirection": "INCREASING", "HasExclusiveSum": False},
                           [LONG], LONG[:, ::-1].cumsum(1)[:, ::-1], '/desc/AxisDirection="DECREASING"'),
    "elements gathered along the other axis": ({"type": "GATHER_ELEMENTS", "Axis": 0}, [SQUARE[:12, :12], INDICES],
                                               np.take_along_axis(SQUARE[:12, :12], INDICES, 1), "/desc/Axis=1"),
    "tensors joined in another order": ({"type": "JOIN", "Axis": 0}, [SQUARE[:3], OTHER[:5], SQUARE[9:16]],
                                        np.concatenate([OTHER[:5], SQUARE[:3], SQUARE[9:16]]), "/desc/InputTensors/0<->/desc/InputTensors/1"),
    "a window reversed": ({"type": "SLICE1", "InputWindowOffsets": [0, 2], "InputWindowSizes": [32, 20], "InputWindowStrides": [1, 1]},
                          [SQUARE], SQUARE[:, 21:1:-1], ["/desc/InputWindowStrides/1=-1", "reversed"]),
    "padding of the window counted": ({"type": "AVERAGE_POOLING", "Strides": [1, 1], "WindowSize": [3, 3], "StartPadding": [1, 1],
                                       "EndPadding": [1, 1], "IncludePadding": False}, [X],
                                      windows(padded(X, (1, 1), (1, 1)), (3, 3)).mean((-1, -2), dtype=F4), "/desc/IncludePadding=true"),
    "an axis more": ({"type": "ACTIVATION_SOFTMAX1", "Axes": [2]}, [CUBE], np.exp(CUBE) / np.exp(CUBE).sum((1, 2), keepdims=True), "/desc/Axes=[1,2]"),
    "an axis less": (MVN | {"Axes": [1, 2]}, [CUBE], over(CUBE, 2), "/desc/Axes=[2]"),
    "mostly 0 by the other sign": ({"type": "ACTIVATION_HARD_SIGMOID", "Alpha": 0.2, "Beta": 0.5}, [CUBE],
                                   np.clip(F4(0.2) * CUBE - F4(0.5), 0, 1), "/desc/Beta=-0.5"),
    "linear where the nearest element is asked for": ({"type": "RESAMPLE1", "InterpolationMode": "NEAREST_NEIGHBOR", "Scales": [1, 1, 2, 2],
                                                       "InputPixelOffsets": [0.5] * 4, "OutputPixelOffsets": [-0.5] * 4}, [X], enlarged(X),
                                                      '/desc/InterpolationMode="LINEAR"'),
    "another exponent": ({"type": "ELEMENT_WISE_CONSTANT_POW", "Exponent": 3}, [CUBE], CUBE * CUBE, "/desc/Exponent=2"),
    "another limit of integers": ({"type": "ELEMENT_WISE_CLIP1", "MinMaxDataType": "FLOAT32", "Min": -2, "Max": 20}, [9 * CUBE], np.clip(9 * CUBE, -2, 19), "/desc/Max=19"),
    "a mask not used": (ATTENTION | {"MaskType": "KEY_SEQUENCE_LENGTH"}, [("QueryTensor", QUERY), ("KeyTensor", KEY), ("ValueTensor", KEY), ("MaskTensor", np.int32([[5, 8]]))],
                        attended(QUERY, KEY, KEY, 0.5, lambda x: x), '/desc/MaskType="NONE" + /desc/MaskTensor=null'),
    "the first row gathered for all": ({"type": "GATHER", "Axis": 0, "IndexDimensions": 1}, [SQUARE, INDICES[:1]], SQUARE[INDICES[0] * 0], "/bindings/IndicesTensor=0"),
    "zeros between what is scattered": ({"type": "SCATTER", "Axis": 1}, [SQUARE[:12], SCATTERED, OTHER[:12, :12]], scattered(SQUARE[:12] * 0, SCATTERED, OTHER[:12, :12]),
                                        "/bindings/InputTensor=0"),
    "neither a bias nor an activation": (conv(FusedActivation={"Type": "ACTIVATION_LEAKY_RELU", "Alpha": 0.25}), [("InputTensor", X), ("FilterTensor", FILTER), ("BiasTensor", BIAS)],
                                         convolution(X, FILTER, (1, 1), (1, 1)),
                                         "/desc/FusedActivation=null + /desc/BiasTensor=null"),
    # arithmetics
    "sums in FLOAT16 backwards": (gemm(), [A_HALVES, B_HALVES], added_in_order(A_HALVES[:, ::-1], B_HALVES[::-1]), "sums-float16:unfused,backwards"),
    "sums in FLOAT16 of two halves": (gemm(), [A_HALVES[:, :60], B_HALVES[:60]], added_in_parts(A_HALVES[:, :60], B_HALVES[:60], 30), "sums-float16:parts=2,unfused"),
    "sums that wrap in 16 bits": ({"type": "MATRIX_MULTIPLY_INTEGER"}, [BYTES, SIGNED_BYTES], (BYTES.astype("i4") @ SIGNED_BYTES.astype("i4")).astype("i2").astype("i4"), "wrapped:int16"),
    "sums that end in 16 bits": ({"type": "MATRIX_MULTIPLY_INTEGER"}, [BYTES, SIGNED_BYTES],
                                 np.clip(BYTES.astype("i4") @ SIGNED_BYTES.astype("i4"), -2**15, 2**15 - 1), "saturated:int16"),
    "sums that end in 16 bits at each term": ({"type": "MATRIX_MULTIPLY_INTEGER"}, [BYTES, SIGNED_BYTES], ending_in_int16(TERMS_OF_BYTES), "saturated:int16-steps"),
    "sums of two bytes that end in 16 bits": ({"type": "MATRIX_MULTIPLY_INTEGER"}, [BYTES, SIGNED_BYTES],
                                              in_int16(TERMS_OF_BYTES[::2] + TERMS_OF_BYTES[1::2]).sum(0, dtype="i4"), "saturated:int16-pairs"),
    "integers gathered through FLOAT32": ({"type": "GATHER", "Axis": 0, "IndexDimensions": 1}, [WIDE_INTEGERS, INDICES[:1]],
                                          WIDE_INTEGERS[INDICES[0]].astype(F4).astype("i8"), "through-float32"),
    "halves rounded twice": ({"type": "CAST", "OutputTensor": {"DataType": "FLOAT16", "Sizes": [32, 32]}}, [NEAR_TIES], NEAR_TIES.astype(F4).astype(F2), "through-float32"),
    "a constant of FLOAT32 beside steps in FLOAT16": ({"type": "ACTIVATION_LINEAR", "Alpha": 1.3, "Beta": 0.3}, [HALVES],
                                                      ((F4(1.3) * HALVES.astype(F4)).astype(F2).astype(F4) + F4(0.3)).astype(F2), "float16-steps"),
    "quotients of FLOAT16 by reciprocals": ({"type": "ELEMENT_WISE_DIVIDE"}, [HALVES, FACTORS], HALVES * (F2(1) / FACTORS), "float16-steps:quotients-first"),
    "inputs that are subnormal in FLOAT16": (gemm(), [SMALL, B], SMALL.astype(np.float16).astype(F4) @ B.astype(np.float16).astype(F4), "inputs-float16"),
    "sums in FLOAT16, of which all steps consist": (gemm(), [A_HALVES, B_HALVES], added_in_order(A_HALVES, B_HALVES), "sums-float16:unfused"),
    "inputs and sums in FLOAT16": (gemm(), [A, B], added_in_order(A_HALVES, B_HALVES).astype(F4), "inputs-float16 + sums-float16:unfused"),
    "inputs in bfloat16 and results through FLOAT16": (gemm(), [A, B], (through_bfloat16(A) @ through_bfloat16(B)).astype(F2).astype(F4),
                                                       "inputs-bfloat16 + through-float16"),
    "sums in FLOAT16 and rows that are not written": (gemm(), [A_HALVES, B_HALVES], unwritten(added_in_order(A_HALVES, B_HALVES), np.s_[8:16]),
                                                      "not-written:[8..15, *] + sums-float16:unfused"),
    "integers read through FLOAT32": ({"type": "CAST", "OutputTensor": {"DataType": "FLOAT64", "Sizes": [20, 20]}}, [WIDE_INTEGERS], WIDE_INTEGERS.astype(F4).astype("f8"),
                                      "through-float32"),
    "converted to integers through FLOAT32": ({"type": "CAST", "OutputTensor": {"DataType": "INT64", "Sizes": [32, 32]}}, [SQUARE.astype("f8") * 1e9 / 3],
                                              (SQUARE.astype("f8") * 1e9 / 3).astype(F4).astype("i8"), "through-float32"),
    "cut to bfloat16": (gemm(), [A, B], in_bfloat16((AB.view("u4") >> 16 << 16).view(F4)), "toward-zero"),
    "steps and the factor in FLOAT16": ({"type": "ACTIVATION_LINEAR", "Alpha": 0.3, "Beta": 0.75}, [HALVES], HALVES * np.float16(0.3) + np.float16(0.75),
                                        "float16-steps:rounded-constants"),
    "steps of a softmax in FLOAT16": ({"type": "ACTIVATION_SOFTMAX1", "Axes": [2]}, [HALVES], softmax(HALVES), "float16-steps:whole-sums"),
    "lanes in FLOAT16, channel by channel": (conv(), [X.astype("f2"), FILTER.astype("f2")], lanes_of_windows(X.astype("f2"), FILTER.astype("f2"), 4),
                                             "sums-float16:lanes=4,unfused,by-channel"),
    "inputs in TF32 and no addend": (gemm(), [A, B, ("CTensor", C)], in_tf32(A) @ in_tf32(B), "/desc/CTensor=null + inputs-tf32"),
    "weights of a network in bfloat16": (RNN, [STEPS, WEIGHTS, RECURRENCE, ("BiasTensor", NETWORK_BIAS), ("HiddenInitTensor", STATE)],
                                         states(*map(through_bfloat16, (STEPS, WEIGHTS, RECURRENCE, STATE)), bias=NETWORK_BIAS[0, 0, 0, :4] + NETWORK_BIAS[0, 0, 0, 4:]),
                                         "inputs-bfloat16"),
    "only weights of a network in bfloat16": (RNN, [STEPS, WEIGHTS, RECURRENCE, ("BiasTensor", NETWORK_BIAS), ("HiddenInitTensor", STATE)],
                                              states(STEPS, through_bfloat16(WEIGHTS), through_bfloat16(RECURRENCE), STATE,
                                                     bias=NETWORK_BIAS[0, 0, 0, :4] + NETWORK_BIAS[0, 0, 0, 4:]), "inputs-bfloat16:weights"),
    "only an image in bfloat16": ({"type": "BATCH_NORMALIZATION", "Spatial": True, "Epsilon": 0.01}, [X, *STATISTICS],
                                  (through_bfloat16(X) - STATISTICS[0]) / np.sqrt(STATISTICS[1] + F4(0.01)) * STATISTICS[2] + STATISTICS[3], "inputs-bfloat16:first"),
    "states of a network in bfloat16 before they are multiplied": (
        RNN, [STEPS, WEIGHTS, RECURRENCE, ("HiddenInitTensor", STATE)],
        states(*map(through_bfloat16, (STEPS, WEIGHTS, RECURRENCE)), STATE, read=through_bfloat16), "inputs-bfloat16:computed"),
    "states of two directions and lengths in bfloat16 before they are multiplied": (
        TWO_WAYS, [STEPS, WEIGHTS_OF_TWO, RECURRENCE_OF_TWO, ("HiddenInitTensor", STATES_OF_TWO), ("SequenceLengthsTensor", LENGTHS)],
        states_of_two_ways(*map(through_bfloat16, (STEPS, WEIGHTS_OF_TWO, RECURRENCE_OF_TWO)), STATES_OF_TWO, LENGTHS, through_bfloat16),
        "inputs-bfloat16:computed"),
    "states of gates in bfloat16 before they are multiplied": (
        GRU, [STEPS, GATES, GATES_OF_STATES, ("HiddenInitTensor", STATE)], gated_states(STEPS, GATES, GATES_OF_STATES, STATE, through_bfloat16),
        "inputs-bfloat16:computed"),
    "weights of attention in bfloat16": (ATTENTION, [("QueryTensor", QUERY), ("KeyTensor", KEY), ("ValueTensor", KEY[:, ::-1])],
                                         attended(QUERY, KEY, KEY[:, ::-1], 0.5, through_bfloat16), "inputs-bfloat16:computed"),
    "weights of attention in FLOAT16": (ATTENTION, [("QueryTensor", QUERY.astype(F2)), ("KeyTensor", KEY.astype(F2)), ("ValueTensor", KEY[:, ::-1].astype(F2))],
                                        attended(QUERY, KEY, KEY[:, ::-1], 0.5, lambda x: x.astype(F2).astype(F4)).astype(F2), "inputs-float16:computed"),
    "a normalization in FLOAT16, multiplied after the division": (
        {"type": "BATCH_NORMALIZATION", "Spatial": True, "Epsilon": 0.01}, [x.astype(F2) for x in (X, *STATISTICS)],
        scaled_after_division(*(x.astype(F2) for x in (X, *STATISTICS)), F2(0.01)), "float16-steps"),
    "inputs in TF32 before an activation": (gemm(FusedActivation={"Type": "ACTIVATION_RELU"}), [A / 8, B], np.maximum(in_tf32(A / 8) @ in_tf32(B), 0), "inputs-tf32"),
    "steps in FLOAT16": ({"type": "ACTIVATION_LINEAR", "Alpha": 0.3, "Beta": 0.75}, [HALVES],
                         (HALVES * F4(0.3)).astype(np.float16) + np.float16(0.75), "float16-steps"),
    "running products in FLOAT16": ({"type": "CUMULATIVE_PRODUCT", "Axis": 2, "AxisDirection": "INCREASING", "HasExclusiveProduct": False},
                                    [FACTORS], multiplied_in_order(FACTORS), "float16-steps"),
    "a product of all in FLOAT16": ({"type": "REDUCE", "Function": "MULTIPLY", "Axes": [2]}, [FACTORS], multiplied_in_order(FACTORS)[..., -1:], "float16-steps"),
    "the last of the greatest marked": ({"type": "ACTIVATION_HARDMAX1", "Axes": [1]}, [FEW.astype(F4)], last_marked(FEW.astype(F4)), "last-of-equals"),
    "gradients passed on to the last of the greatest": ({"type": "MAX_POOLING_GRAD", "WindowSize": [2, 2], "Strides": [2, 2], "StartPadding": [0, 0], "EndPadding": [0, 0],
                                                         "Dilations": [1, 1]}, [FEW.astype(F4)[None, None], OTHER[None, None, :16, :16]],
                                                        gradients_of_last(FEW, OTHER[:16, :16])[None, None], "last-of-equals"),
    "the last of the greatest of a row marked": ({"type": "ACTIVATION_HARDMAX"}, [FEW.astype(F4)], last_marked(FEW.astype(F4)), "last-of-equals"),
    "digits of FLOAT32 cut off": ({"type": "CAST", "OutputTensor": {"DataType": "FLOAT16", "Sizes": [3, 8, 40]}}, [CUBE], cut_to_halves(CUBE), "toward-zero"),
    "digits of integers cut off": ({"type": "CAST", "OutputTensor": {"DataType": "FLOAT16", "Sizes": [12, 12]}}, [999 * INDICES],
                                   cut_to_halves(999 * INDICES), "toward-zero"),
    "integers cut off": (QUANTIZE, [CUBE, np.full((3, 8, 40), 0.0371, F4), ("ZeroPointTensor", np.full((3, 8, 40), 100, np.uint8))],
                         np.clip(np.trunc(CUBE.astype("f8") / F4(0.0371)) + 100, 0, 255).astype(np.uint8), "toward-zero"),
    "integers cut off with the zero point": (QUANTIZE, [CUBE, np.full((3, 8, 40), 0.0371, F4), ("ZeroPointTensor", np.full((3, 8, 40), 100, np.uint8))],
                                             np.clip(CUBE.astype("f8") / F4(0.0371) + 100, 0, 255).astype(np.uint8), "toward-zero:after-zero-point"),
    "integers cut off with a zero point and a sign": (QUANTIZE | {"OutputTensor": {"DataType": "INT8", "Sizes": [3, 8, 40]}},
                                                      [CUBE, np.full((3, 8, 40), 0.0371, F4), ("ZeroPointTensor", np.full((3, 8, 40), 10, np.int8))],
                                                      np.clip(CUBE.astype("f8") / F4(0.0371) + 10, -128, 127).astype(np.int8), "toward-zero:after-zero-point"),
    "integers rounded down": (QUANTIZE | {"OutputTensor": {"DataType": "INT8", "Sizes": [3, 8, 40]}},
                              [CUBE, np.full((3, 8, 40), 0.0371, F4), ("ZeroPointTensor", np.full((3, 8, 40), 10, np.int8))],
                              np.clip(np.floor(CUBE.astype("f8") / F4(0.0371)) + 10, -128, 127).astype(np.int8), "toward-zero:floor"),
    "subnormal factors taken for 0": ({"type": "ELEMENT_WISE_MULTIPLY"}, [CUBE * F4(2**-130), CUBE[::-1] * F4(2**20)], CUBE * 0 * CUBE[::-1],
                                      "flush-subnormals:inputs"),
    # places
    "means moved by a column": (POOL | {"EndPadding": [0, 1], "IncludePadding": True}, [X], np.roll(MEANS_BESIDE_AN_EDGE, 1, 3), "shifted"),
    "a tile of few integers moved": ({"type": "ELEMENT_WISE_MAX"}, [FEW, FEW_MORE], moved_tile(MAXIMA), "shifted:[0,1]"),
    "a tile of bfloat16 not written": (gemm(), [A, B], in_bfloat16(unwritten(AB, np.s_[16:32, 32:48])), "not-written"),
    "large units not written": ({"type": "ACTIVATION_CELU", "Alpha": 0.5}, [-LOW], 0 * CUBE, "not-written"),
    "a tile not written": (gemm(), [A, B], unwritten(AB, np.s_[16:32, 32:48]), "not-written"),
    "tiles not written, and another wrong element": (gemm(), [A, B], replaced(several(AB, np.s_[0:16, 0:16], np.s_[16:32, 32:48]), (20, 8)), "not-written"),
    "a pattern at the end": (gemm(), [A, B], unwritten(AB, np.s_[30:, :], F4(-4.3e8)), "not-written"),
    "tiles not written": (gemm(), [A, B], several(AB, np.s_[0:8, 16:24], np.s_[8:16, 40:48], np.s_[32:40, 0:8]), "not-written"),
    "not written from an element on": (gemm(), [A, B], several(AB.reshape(-1), np.s_[1003:], value=np.nan).reshape(AB.shape), "not-written"),
    "minima that begin with 0": ({"type": "REDUCE", "Function": "MIN", "Axes": [2]}, [np.abs(CUBE) - (np.arange(8) < 4).reshape(8, 1)],
                                 np.minimum((np.abs(CUBE) - (np.arange(8) < 4).reshape(8, 1)).min(2, keepdims=True), 0), "starts-at-zero"),
    "maxima that begin with 0": ({"type": "REDUCE", "Function": "MAX", "Axes": [2]}, [-np.abs(CUBE)], np.zeros((3, 8, 1), F4), "starts-at-zero"),
    "an operand written": ({"type": "ELEMENT_WISE_ADD"}, [SQUARE, OTHER], SQUARE, "from-input"),
    "a joined tensor not copied": ({"type": "JOIN", "Axis": 1}, [SQUARE, OTHER, SQUARE + 1], unwritten(np.hstack([SQUARE, OTHER, SQUARE + 1]), np.s_[:, 32:64]),
                                   "not-written:[*, 32..63]"),
    "rows of a product written twice": (gemm(), [A, B], AB[[*range(16), *range(16), *range(32, 40)]], "shifted:[-16,0],block=[16..31, *]"),
    "moved by a column": (conv(), [X, FILTER], np.roll(CONVOLVED, 1, 3), "shifted"),
    "moved by rows and columns": (conv(), [X, FILTER], np.roll(CONVOLVED, (2, -3), (2, 3)), "shifted:[0,0,-2,3]"),
    "padding of columns at the other end": (conv(StartPadding=[2, 1], EndPadding=[0, 3]), [X, FILTER], convolution(X, FILTER, (2, 3), (0, 1)),
                                            "/desc/StartPadding/1=3 + /desc/EndPadding/1=1"),
    "moved by most of the columns": (conv(), [X, FILTER], moved_in(CONVOLVED, 8), "shifted:[0,0,0,-8]"),
    "moved within a channel": (conv(), [X, FILTER], np.where(np.arange(4)[:, None, None] == 2, np.roll(CONVOLVED, -2, 2), CONVOLVED), "shifted"),
    "from the last row to the first": (conv(), [X, FILTER], CONVOLVED[:, :, ::-1], "reversed"),
    "channels last": (conv(), [X, FILTER], CONVOLVED.transpose(0, 2, 3, 1).reshape(CONVOLVED.shape), "permuted"),
    "a product transposed": (gemm(), [A, B], AB.T.reshape(AB.shape), "permuted"),
    "integers read without a sign": ({"type": "MATRIX_MULTIPLY_INTEGER"}, [BYTES, SIGNED_BYTES, ("AZeroPointTensor", np.uint8([[3]])), ("BZeroPointTensor", np.int8([[-5]]))],
                                     (BYTES.astype("i4") - 3) @ (SIGNED_BYTES.view("u1").astype("i4") + 5), '/desc/BTensor/DataType="UINT8"'),
    "integers compared without a sign": ({"type": "ELEMENT_WISE_LOGICAL_LESS_THAN", "OutputTensor": {"DataType": "UINT8", "Sizes": [12, 12]}}, [INDICES - 6, INDICES.T - 6],
                                         ((INDICES - 6).view("u4") < (INDICES.T - 6).astype("i4").view("u4")).astype("u1"), '/desc/ATensor/DataType="UINT32"'),
    "a zero point read without a sign": (DEQUANTIZE, [SIGNED_BYTES, np.full((40, 24), 0.037, F4), ("ZeroPointTensor", np.full((40, 24), -7, np.int8))],
                                         (SIGNED_BYTES.astype(F4) - F4(249)) * F4(0.037), '/desc/ZeroPointTensor/DataType="UINT8"'),
    "integers and zero point read without a sign": (DEQUANTIZE, [SIGNED_BYTES, np.full((40, 24), 0.037, F4), ("ZeroPointTensor", np.full((40, 24), -7, np.int8))],
                                                    (SIGNED_BYTES.view("u1").astype(F4) - F4(249)) * F4(0.037), '/desc/InputTensor/DataType="UINT8"'),
    "the first matrix of a batch taken for all": (gemm(), [BATCH, OTHER_BATCH], BATCH @ OTHER_BATCH[:, :1], "/desc/BTensor/Strides=[2160,0,24,1]"),
    "the first column of an operand taken for all": ({"type": "ELEMENT_WISE_ADD"}, [SQUARE, OTHER], SQUARE + OTHER[:, :1], "/desc/BTensor/Strides=[32,0]"),
    "one number for each row, read one after another": ({"type": "ELEMENT_WISE_ADD"}, [SQUARE, OTHER], SQUARE + OTHER.ravel()[:32, None], "/desc/BTensor/Strides=[1,0]"),
    "maxima without a sign": ({"type": "ELEMENT_WISE_MAX"}, [INDICES - 6, INDICES.T - 6],
                              np.maximum((INDICES - 6).view("u4"), (INDICES.T - 6).astype("i4").view("u4")).view("i4"), '/desc/ATensor/DataType="UINT32"'),
    "a logarithm by a short series": ({"type": "ELEMENT_WISE_LOG"}, [POSITIVE], logarithm_by_series(POSITIVE), "fast-functions"),
    "a square root by a step of Newton's method": ({"type": "ELEMENT_WISE_SQRT"}, [POSITIVE], POSITIVE * reciprocal_root_by_step(POSITIVE), "fast-functions"),
    "a hyperbolic tangent of 11 bits": ({"type": "ACTIVATION_TANH"}, [CUBE], (np.rint(np.tanh(CUBE.astype("f8")) * 2**11) / 2**11).astype(F4), "fast-functions"),
    "GELU in steps of FLOAT16, times a rounded constant of FLOAT32": ({"type": "ACTIVATION_GELU"}, [HALVES], gelu_in_halves(HALVES), "float16-steps"),
    "softmax of fast exponentials": ({"type": "ACTIVATION_SOFTMAX1", "Axes": [2]}, [CUBE], softmax(CUBE) * (1 + numbers(3, 8, 40, seed=2) * F4(2**-19)), "fast-functions"),
    "two tiles exchanged": (gemm(), [A, B], tiles_exchanged(AB), "exchanged"),
    "two tiles of booleans exchanged": ({"type": "ELEMENT_WISE_LOGICAL_LESS_THAN", "OutputTensor": {"DataType": "UINT8", "Sizes": [32, 32]}}, [SQUARE, OTHER],
                                        tiles_exchanged((SQUARE < OTHER).astype(np.uint8)), "exchanged:[16,-16],block=[8..15, 16..31]"),
    "blocks of booleans exchanged": ({"type": "ELEMENT_WISE_IS_NAN", "OutputTensor": {"DataType": "UINT8", "Sizes": [32, 32]}}, [SOME_NAN],
                                     columns_exchanged(np.isnan(SOME_NAN).astype(np.uint8)), "exchanged:[0,16],block=[*, 0..7]"),
    "two rows of booleans exchanged": ({"type": "ELEMENT_WISE_LOGICAL_GREATER_THAN", "OutputTensor": {"DataType": "UINT8", "Sizes": [32, 32]}}, [SQUARE, OTHER],
                                       np.take((SQUARE > OTHER).astype(np.uint8), [*range(5), 21, *range(6, 21), 5, *range(22, 32)], 0), "exchanged:[16,0]"),
    "blocks of few values exchanged": ({"type": "ELEMENT_WISE_IDENTITY"}, [REPEATED], np.take(REPEATED, [*range(13, 19), *range(6, 13), *range(6), *range(19, 40)], 0),
                                       "exchanged:[13,0],block=[0..5, *]"),
    "exchanged for sums that cancel": ({"type": "ELEMENT_WISE_ADD"}, [CANCELLED, CANCELLING], columns_exchanged(CANCELLED + CANCELLING), "exchanged:[0,16],block=[*, 0..7]"),
    "logarithms without a scale, which has none": ({"type": "ELEMENT_WISE_LOG", "ScaleBias": {"Scale": -2, "Bias": 0}}, [1 + np.abs(CUBE)], np.log(1 + np.abs(CUBE)),
                                                   "/desc/ScaleBias=null"),
    # inputs
    "a matrix read by columns": (gemm(), [A, B], A.reshape(64, 40).T @ B, "other-layout"),
    "an image read with channels last": (conv(), [X, FILTER], convolution(X.reshape(2, 12, 14, 5).transpose(0, 3, 1, 2), FILTER, (1, 1), (1, 1)),
                                         "other-layout"),
    "a filter laid out with channels last": (conv(), [X, FILTER], convolution(X, FILTER.transpose(0, 2, 3, 1).reshape(FILTER.shape), (1, 1), (1, 1)),
                                             "other-layout"),
    "heads written before places": (ATTENTION | {"HeadCount": 2}, ATTENDED, heads_first(attended_by_heads(QUERY, KEY, KEY), 2), "permuted:[0,2,1,3],split=2/4"),
    "keys with their heads first": (ATTENTION | {"HeadCount": 2}, ATTENDED, attended_by_heads(QUERY, KEY.reshape(2, 2, 11, 4).swapaxes(1, 2).reshape(KEY.shape), KEY), "other-layout"),
    "channels written in blocks of 4": (conv(), [X, MANY_FILTERS], np.moveaxis(convolution(X, MANY_FILTERS, (1, 1), (1, 1)).reshape(2, 2, 4, 12, 14), 2, 4).reshape(2, 8, 12, 14),
                                        "permuted:[0,1,3,4,2],split=1/4"),
    "a product that is read by columns": (gemm(), [A, B], AB.reshape(48, 40).T, "other-layout:OutputTensor=[1,0]"),
    "the last values of attention missing": (ATTENTION, ATTENDED, WEIGHTS_OF_KEYS[..., :8] @ KEY[:, :8], "tail-missing:axis=1,from=8,of=ValueTensor"),
    "no past of attention": (ATTENTION, ATTENDED + [("PastKeyTensor", numbers(2, 1, 3, 8)), ("PastValueTensor", numbers(2, 1, 3, 8, seed=1))], WEIGHTS_OF_KEYS @ KEY,
                             "/desc/PastKeyTensor=null + /desc/PastValueTensor=null"),
    "the last products missing": (gemm(), [A, B], A[:, :50] @ B[:50], "tail-missing:axis=1,from=50"),
    "the last products missing before an activation": (gemm(FusedActivation={"Type": "ACTIVATION_RELU"}), [A, B], np.maximum(A[:, :50] @ B[:50], 0),
                                                       "tail-missing:axis=1,from=50"),
    "a product missing before an activation": (gemm(FusedActivation={"Type": "ACTIVATION_RELU"}), [A, B],
                                               np.maximum(np.delete(A, 37, 1) @ np.delete(B, 37, 0), 0), "part-missing:axis=1,from=37,to=38"),
    "the first products missing": (gemm(), [A, B], A[:, 3:] @ B[3:], "head-missing:axis=1,to=3"),
    "products in the middle missing": (gemm(), [A, B], AB - A[:, 20:28] @ B[20:28], "part-missing:axis=1,from=20,to=28"),
    "a few of many products missing": (gemm(), [LONG, LONG_TURNED], np.delete(LONG, np.s_[411:430], 1) @ np.delete(LONG_TURNED, np.s_[411:430], 0),
                                       "part-missing:axis=1,from=411,to=430"),
    "one of many products missing": (gemm(), [LONG, LONG_TURNED], LONG @ LONG_TURNED - LONG[:, 77:78] @ LONG_TURNED[77:78], "part-missing:axis=1,from=77,to=78"),
    "a channel missing": (conv(), [X, FILTER], convolution(X[:, [0, 1, 3, 4]], FILTER[:, [0, 1, 3, 4]], (1, 1), (1, 1)), "part-missing:axis=1,from=2,to=3"),
    "the last maxima missing": ({"type": "REDUCE", "Function": "MAX", "Axes": [2]}, [CUBE], CUBE[:, :, :33].max(2, keepdims=True), "tail-missing"),
    "the last of many maxima missing": ({"type": "REDUCE", "Function": "MAX", "Axes": [1]}, [MANY], MANY[:, :1024].max(1, keepdims=True), "tail-missing:axis=1,from=1024,shorter"),
    "the last of many places missing": ({"type": "ARGMAX", "Axes": [1], "AxisDirection": "INCREASING", "OutputTensor": {"DataType": "UINT32", "Sizes": [60, 1]}}, [MANY],
                                        MANY[:, :1024].argmax(1)[:, None].astype("u4"), "tail-missing:axis=1,from=1024,shorter"),
    "the last element not selected": ({"type": "TOP_K1", "Axis": 1, "K": 5, "AxisDirection": "DECREASING"}, [SMALLER], -np.sort(-SMALLER[:, :31], 1)[:, :5],
                                      "tail-missing:axis=1,from=31,shorter"),
    "a mean of fewer": ({"type": "REDUCE", "Function": "AVERAGE", "Axes": [2]}, [CUBE], CUBE[:, :, :32].mean(2, keepdims=True), "tail-missing:axis=2,from=32"),
    "sums begin anew": ({"type": "CUMULATIVE_SUMMATION", "Axis": 1, "AxisDirection": "INCREASING", "HasExclusiveSum": False}, [LONG],
                        running_sums(LONG, 256), "head-missing:axis=1,every=256"),
    "sums that begin anew from the end on": ({"type": "CUMULATIVE_SUMMATION", "Axis": 1, "AxisDirection": "DECREASING", "HasExclusiveSum": False}, [LONG],
                                             running_sums(LONG[:, ::-1], 256)[:, ::-1], "head-missing:axis=1,every=256,from=232"),
    "a column of a filter missing": (conv(), [X, FILTER], convolution(X, FILTER * F4([1, 1, 0]), (1, 1), (1, 1)), "tail-missing:axis=3,from=2"),
    "positive terms missing in the middle": ({"type": "REDUCE", "Function": "L1", "Axes": [2]}, [CUBE],
                                             np.abs(np.delete(CUBE, np.s_[11:19], 2)).sum(2, keepdims=True), "part-missing:axis=2,from=11,to=19"),
    "one of the squares of a root missing": ({"type": "REDUCE", "Function": "L2", "Axes": [2]}, [CUBE], np.sqrt(np.square(np.delete(CUBE, 17, 2)).sum(2, keepdims=True)),
                                             "part-missing:axis=2,from=17,to=18"),
    "one of many exponentials missing": ({"type": "REDUCE", "Function": "LOG_SUM_EXP", "Axes": [1]}, [LONG], np.log(np.exp(np.delete(LONG, 77, 1)).sum(1, keepdims=True)),
                                         "part-missing:axis=1,from=77,to=78"),
    "a softmax without one exponential": ({"type": "ACTIVATION_SOFTMAX1", "Axes": [2]}, [CUBE], np.exp(CUBE) / np.delete(np.exp(CUBE), 17, 2).sum(2, keepdims=True),
                                          "part-missing:axis=2,from=17,to=18,terms"),
    "a norm without the last squares": ({"type": "LP_NORMALIZATION", "Axis": 1, "Epsilon": 1e-5, "P": 2}, [LONG], LONG / np.sqrt(np.square(LONG[:, :512]).sum(1, keepdims=True)),
                                        "tail-missing:axis=1,from=512,terms"),
    "a mean and variance without an element": (MVN, [CUBE], normalized(CUBE, np.delete(CUBE, 17, 2), 39), "part-missing:axis=2,from=17,to=18,terms"),
    "an activated mean and variance without an element": (MVN | {"FusedActivation": {"Type": "ACTIVATION_RELU"}}, [CUBE], np.maximum(normalized(CUBE, np.delete(CUBE, 17, 2), 39), F4(0)),
                                                          "part-missing:axis=2,from=17,to=18,terms"),
    "a softmax of the sum of a part": ({"type": "ACTIVATION_SOFTMAX1", "Axes": [2]}, [CUBE], softmax_of_part(CUBE, 36), "tail-missing:axis=2,from=36"),
    "a mean and variance of a part": (MVN, [CUBE], normalized(CUBE, CUBE[..., 5:], 35), "head-missing:axis=2,to=5"),
    "a mean of a part that is counted": (MVN, [CUBE], normalized(CUBE, CUBE[..., 5:], 40), "head-missing:axis=2,to=5"),
    "a row of a window missing": (POOL, [X], windows(X, (3, 3))[..., :2, :].sum((-1, -2), dtype=F4) / F4(9), "tail-missing:axis=2,from=2"),
    "the last tap of a window missing": (POOL, [X], (windows(X, (3, 3)).sum((-1, -2)) - X[..., 2:, 2:]) / F4(9), "tail-missing:taps,from=8,terms,counted"),
    "a tap of a norm missing": (LP_POOL, [X], np.sqrt(np.square(windows(X, (3, 3))).sum((-1, -2)) - np.square(X[..., 1:-1, 1:-1])),
                                "part-missing:taps,from=4,to=5,terms"),
    "the last tap of a filter missing": (conv(), [X, FILTER], convolution(X, FILTER * (np.arange(9) < 8).reshape(3, 3).astype(F4), (1, 1), (1, 1)),
                                         "tail-missing:taps,from=8,terms"),
    "the last rows of columns missing": (FOLD, [COLUMNS], folded(COLUMNS, range(6)), "tail-missing:taps,from=6,terms"),
    "a state that is not carried": (RNN, [STEPS, WEIGHTS, RECURRENCE, ("HiddenInitTensor", STATE)],
                                    states(STEPS, WEIGHTS, RECURRENCE, STATE, carries=False), "head-missing:axis=0,every=1"),
    "a last state that is of its step alone": ({name: value for name, value in RNN.items() if name != "OutputSequenceTensor"} |
                                               {"OutputSingleTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 3, 4]}},
                                               [STEPS, WEIGHTS, RECURRENCE, ("HiddenInitTensor", STATE)],
                                               states(STEPS, WEIGHTS, RECURRENCE, STATE, carries=False)[-1:], "head-missing:axis=0,every=1"),
    "the edge repeated": (conv(), [X, FILTER], convolution(X, FILTER, (1, 1), (1, 1), mode="edge"), "padding-edge"),
}

INTEGERS, MORE_INTEGERS = (np.random.default_rng(seed).integers(-2**30, 2**30, (6, 20), dtype=np.int32) for seed in (0, 1))
LONG_INTEGERS = INTEGERS.astype("i8") * 1021
WITH_NAN = np.where(np.arange(40) % 7 == 3, F4(np.nan), CUBE)
BACKWARDS = {"Axis": 1, "AxisDirection": "DECREASING"}
LRN = {"type": "LOCAL_RESPONSE_NORMALIZATION", "CrossChannel": True, "LocalSize": 3, "Alpha": 1, "Beta": 0.5, "Bias": 1}
PADDED_MAXIMA = {"type": "MAX_POOLING", "Strides": [2, 2], "WindowSize": [3, 3], "StartPadding": [1, 1], "EndPadding": [1, 1]}
MAX_GRADIENT = {"type": "MAX_POOLING_GRAD", "DimensionCount": 2, "Strides": [1, 1], "WindowSize": [4, 4], "StartPadding": [0, 0], "EndPadding": [0, 0], "Dilations": [1, 1]}
AVERAGE_GRADIENT = {"type": "AVERAGE_POOLING_GRAD", "DimensionCount": 2, "Strides": [2, 2], "WindowSize": [3, 3], "StartPadding": [1, 1], "EndPadding": [1, 1],
                    "IncludePadding": True, "OutputGradientTensor": {"DataType": "FLOAT16", "Sizes": [1, 3, 19, 19]}}
GRADIENTS = numbers(1, 3, 10, 10).astype(F2)


GROUPED, FILTERS_OF_TWO = numbers(2, 8, 9, 7), numbers(6, 4, 3, 3)
BYTES = [(100 * abs(one)).clip(0, 255).astype("u1") for one in (GROUPED, FILTERS_OF_TWO)]
BESIDE, IN_TURN = (lambda channels: np.arange(channels).reshape(2, -1)), (lambda channels: np.arange(channels).reshape(-1, 2).T)  # the channels of both groups


def in_groups(x, f, channels_of, outputs_of):
    outputs = np.zeros((len(x), len(f), *x.shape[2:]), F4)
    for own, written in zip(channels_of(x.shape[1]), outputs_of(len(f))):
        outputs[:, written] = convolution(x[:, own], f[written], (1, 1), (1, 1))
    return outputs


def attended_by_heads(query, key, value, scale, columns):
    """The attention of two heads, whose scores are of these columns of either."""
    parts = [[half[..., columns] for half in np.split(x, 2, 2)] for x in (query, key)]
    return np.concatenate([attended(*of_head, scale, lambda x: x) for of_head in zip(*parts, np.split(value, 2, 2))], 2)


def deviating(x, part, count):
    """With the mean of all, and the squares of differences of a part."""
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(np.square(part - mean).sum(-1, keepdims=True) / F4(count) + F4(0.01))


def lrn_of_two(x):
    """Without the last channel of each window of three."""
    squares = np.square(x.astype("f8"))
    squares[:, 1:] += np.square(x[:, :-1].astype("f8"))
    return (x / np.sqrt(1 + squares / 3)).astype(F4)


def max_gradients(x, gradients):
    """Of windows of 4 by 4, in FLOAT16, window by window."""
    passed = np.zeros_like(x)
    for at in np.ndindex(gradients.shape):
        n, c, i, j = at
        y, z = np.unravel_index(np.argmax(x[n, c, i:i + 4, j:j + 4]), (4, 4))
        passed[n, c, i + y, j + z] += gradients[at]
    return passed


def average_gradients(gradients):
    """Of windows of 3 by 3 two apart, whose sums are in FLOAT16."""
    sums = np.zeros((1, 3, 21, 21), F2)
    for i, j in np.ndindex(10, 10):
        sums[..., 2 * i:2 * i + 3, 2 * j:2 * j + 3] += gradients[..., i:i + 1, j:j + 1]
    return (sums[..., 1:-1, 1:-1].astype("f8") / 9).astype(F2)


FAULTS |= {
    "running sums from the end in FLOAT16": ({"type": "CUMULATIVE_SUMMATION", "HasExclusiveSum": False} | BACKWARDS, [LONG.astype(F2)],
                                             np.add.accumulate(LONG.astype(F2)[:, ::-1], 1)[:, ::-1], "sums-float16"),
    "running products from the end in FLOAT16": ({"type": "CUMULATIVE_PRODUCT", "HasExclusiveProduct": False} | BACKWARDS, [FACTORS[0]],
                                                 multiplied_in_order(FACTORS[0][:, ::-1])[:, ::-1], "float16-steps"),
    "sums of integers in FLOAT32": ({"type": "ELEMENT_WISE_ADD"}, [INTEGERS, MORE_INTEGERS], (INTEGERS.astype(F4) + MORE_INTEGERS.astype(F4)).clip(-2**31, 2147483520).astype("i4"),
                                    "float32-steps"),
    "products of integers in FLOAT32": ({"type": "ELEMENT_WISE_MULTIPLY"}, [INTEGERS // 2**15, MORE_INTEGERS // 2**15],
                                        ((INTEGERS // 2**15).astype(F4) * (MORE_INTEGERS // 2**15).astype(F4)).astype("i4"), ("float32-steps", "through-float32")),
    "long integers through FLOAT32": ({"type": "ELEMENT_WISE_ADD"}, [LONG_INTEGERS, LONG_INTEGERS[::-1]], (LONG_INTEGERS + LONG_INTEGERS[::-1]).astype(F4).astype("i8"), "through-float32"),
    "means of integers whose sums wrap": ({"type": "ELEMENT_WISE_MEAN"}, [2 * INTEGERS, 2 * MORE_INTEGERS],
                                          np.trunc((2 * INTEGERS + 2 * MORE_INTEGERS) / 2).astype("i4"), "wrapped:sums"),
    "a function of maxima that passes NaN": ({"type": "ACTIVATION_CELU", "Alpha": 1}, [WITH_NAN], np.maximum(WITH_NAN, 0) + np.minimum(np.expm1(WITH_NAN.astype("f8")), 0).astype(F4),
                                             "nan-passes"),
    "padding of maxima that is 0": (PADDED_MAXIMA, [X - F4(2)], windows(np.pad(X - F4(2), [(0, 0), (0, 0), (1, 1), (1, 1)]), (3, 3)).max((-1, -2))[..., ::2, ::2], "padding-edge:zero"),
    "the last of a window around an element missing": (LRN, [X], lrn_of_two(X), "tail-missing:axis=1,from=2,terms"),
    "gradients of maxima in FLOAT16": (MAX_GRADIENT, [("InputTensor", X.astype(F2)), ("InputGradientTensor", numbers(2, 5, 9, 11).astype(F2))],
                                       max_gradients(X.astype(F2), numbers(2, 5, 9, 11).astype(F2)), "sums-float16"),
    "a mirror image that has the edge in place of padding": (conv(StartPadding=[2, 1], EndPadding=[1, 2]), [X, FILTER], convolution(X, FILTER, (2, 1), (1, 2), mode="symmetric"),
                                                              "padding-edge:symmetric"),
    "a dilation forgotten around the same middle": (conv(StartPadding=[3, 3], EndPadding=[3, 3], Dilations=[3, 3]), [X, FILTER], CONVOLVED,
                                                    "/desc/Dilations=[1,1] + /desc/StartPadding=[1,1] + /desc/EndPadding=[1,1]"),
    "a dilation of columns forgotten from the same place on": (conv(StartPadding=[1, 1], EndPadding=[1, 5], Dilations=[1, 3]), [X, FILTER], CONVOLVED,
                                                               "/desc/Dilations/1=1 + /desc/EndPadding/1=1"),
    "channels that belong to groups in turn": (conv(GroupCount=2), [GROUPED, FILTERS_OF_TWO], in_groups(GROUPED, FILTERS_OF_TWO, IN_TURN, BESIDE),
                                               "other-layout:InputTensor=[0,2,1,3,4],split=1/4"),
    "channels of the output that belong to groups in turn": (conv(GroupCount=2), [GROUPED, FILTERS_OF_TWO], in_groups(GROUPED, FILTERS_OF_TWO, BESIDE, IN_TURN),
                                                             "other-layout:FilterTensor=[1,0,2,3,4],split=0/3 + other-layout:OutputTensor=[0,2,1,3,4],split=1/2"),
    "channels of integers that belong to groups in turn": (
        {"type": "CONVOLUTION_INTEGER", "Strides": [1, 1], "Dilations": [1, 1], "StartPadding": [1, 1], "EndPadding": [1, 1], "GroupCount": 2, "OutputTensor": {"DataType": "INT32"}},
        [("InputTensor", BYTES[0]), ("InputZeroPointTensor", np.zeros((1, 1, 1, 1), "u1")), ("FilterTensor", BYTES[1])],
        in_groups(*(one.astype(F4) for one in BYTES), IN_TURN, IN_TURN).astype("i4"),
        "other-layout:FilterTensor=[1,0,2,3,4],split=0/3 + other-layout:OutputTensor=[0,2,1,3,4],split=1/2 + other-layout:InputTensor=[0,2,1,3,4],split=1/4"),
    "channels of groups written in turn": (conv(GroupCount=2), [GROUPED, FILTERS_OF_TWO], in_groups(GROUPED, FILTERS_OF_TWO, BESIDE, BESIDE)[:, [0, 3, 1, 4, 2, 5]],
                                           "permuted:[0,2,1,3,4],split=1/3"),
    "what is on and off exchanged": ({"type": "ONE_HOT", "Axis": 1, "OutputTensor": {"DataType": "FLOAT32", "Sizes": [12, 12]}}, [INDICES[:, :1], F4([[0.25, 0.75]])],
                                     np.where(np.arange(12) == INDICES[:, :1], F4(0.25), F4(0.75)), "/bindings/ValuesTensor=[0.75,0.25]"),
    "the last columns of each head missing": (ATTENTION | {"HeadCount": 2}, ATTENDED, attended_by_heads(QUERY, KEY, KEY, 0.5, [0, 1, 2]), "tail-missing:axis=2,from=3,terms"),
    "the first columns of each head missing": (ATTENTION | {"HeadCount": 2}, ATTENDED, attended_by_heads(QUERY, KEY, KEY, 0.5, [2, 3]), "head-missing:axis=2,to=2,terms"),
    "the last columns of each head not written": (ATTENTION | {"HeadCount": 2}, ATTENDED, np.where(np.arange(8) % 4 < 2, attended_by_heads(QUERY, KEY, KEY, 0.5, [0, 1, 2, 3]), F4(0)),
                                                  "not-written:blocks,[*, *, 2..7]"),
    "a variance of a part around the mean of all": (MVN, [CUBE], deviating(CUBE, CUBE[..., :35], 35), "tail-missing:axis=2,from=35,terms,last"),
    "a variance of a part that is counted": (MVN, [CUBE], deviating(CUBE, CUBE[..., 5:], 40), "head-missing:axis=2,to=5,terms,counted,last"),
    "a state that is 0 for each step": (GRU, [STEPS, GATES, GATES_OF_STATES, ("HiddenInitTensor", STATE)],
                                        np.concatenate([gated_states(STEPS[:, [t]], GATES, GATES_OF_STATES, 0 * STATE, lambda x: x) for t in range(6)]),
                                        "head-missing:axis=0,every=1,zeros"),
    "a state that is 0 for each step but the first": (GRU, [STEPS, GATES, GATES_OF_STATES, ("HiddenInitTensor", STATE)],
                                                      np.concatenate([gated_states(STEPS[:, [t]], GATES, GATES_OF_STATES, STATE * (t == 0), lambda x: x) for t in range(6)]),
                                                      "head-missing:axis=0,every=1,later-zeros"),
    "gradients of averages in FLOAT16": (AVERAGE_GRADIENT, [GRADIENTS], average_gradients(GRADIENTS), "sums-float16"),
}

# A sanitized program takes ten times as long.
TRIED = list(FAULTS.items())[::3 if os.environ.get("SANITIZE") else 1]

LARGE = np.float16(256)


def soft_signs(a, b):
    sums = a.astype("f8") @ b.astype("f8")
    return (sums / (1 + np.abs(sums))).astype(np.float16)


def long_short_states(x, w, r, first, memory, kept):
    """The states of a network of sigmoids and tanh, whose steps are in FLOAT32, and of which a device keeps `kept(state)`."""
    x, w, r, state, cell = (one[0].astype(F4) for one in (x, w[0], r[0], first[0], memory[0]))
    rows = []
    for step in x:
        gates = step @ w.T + state @ r.T
        given, output, forgotten = (1 / (1 + np.exp(-gates[:, part:part + 6])) for part in (0, 6, 12))
        cell = forgotten * cell + given * np.tanh(gates[:, 18:])
        state = output * np.tanh(cell)
        rows.append(state.astype(F2))
        state, cell = kept(state), kept(cell)
    return np.stack(rows)[:, None]


LSTM = {"type": "LSTM", "Direction": "FORWARD", "ActivationDescs": [{"Type": "ACTIVATION_SIGMOID"}, {"Type": "ACTIVATION_TANH"}, {"Type": "ACTIVATION_TANH"}],
        "ClipThreshold": 1, "UseClipThreshold": False, "CoupleInputForget": False, "OutputSequenceTensor": {"DataType": "FLOAT16", "Sizes": [8, 1, 4, 6]}}
HALF_STATES = [numbers(1, 8, 4, 5).astype(F2), (numbers(1, 1, 24, 5) * F4(0.5)).astype(F2), (numbers(1, 1, 24, 6) * F4(0.5)).astype(F2),
               numbers(1, 1, 4, 6).astype(F2), numbers(1, 1, 4, 6, seed=1).astype(F2)]
HALF_NETWORK = [*HALF_STATES[:3], ("HiddenInitTensor", HALF_STATES[3]), ("CellMemInitTensor", HALF_STATES[4])]
HALF_QUERY, HALF_KEY, HALF_BIAS = QUERY.astype(F2), KEY.astype(F2), (numbers(24) * F4(3)).astype(F2)


def attention_with_bias(query, key, bias):
    query, key, bias = (one.astype(F4) for one in (query, key, bias))
    return (softmax((query + bias[:8]) @ (key + bias[8:16]).swapaxes(1, 2) * F4(0.5)) @ (key + bias[16:])).astype(F2)


def normalized_by_rounded(x, scale, bias):
    """Mean and variance are those of the other outputs, in FLOAT16."""
    mean, variance = (of(x, axis=(0, 2, 3), keepdims=True).astype(F2).astype(F4) for of in (np.mean, np.var))
    return ((x - mean) / np.sqrt(variance + F4(0.001)) * scale + bias).astype(F2)


TRAINED = [numbers(3, 4, 5, 6).astype(F2) * F2(2) + F2(1), numbers(1, 4, 1, 1).astype(F2), numbers(1, 4, 1, 1, seed=1).astype(F2)]
ABOVE_ONE = 1 + np.abs(CUBE) / F4(64)
TANGENT_OF_HALF = np.tanh(F4(0.5) * (4 * CUBE))

HEALTHY = {
    "an exponent that is rounded": ({"type": "ACTIVATION_SWISH", "SigmoidInputScale": 1.5}, [4 * CUBE], 4 * CUBE / (1 + np.exp(F4(-1.5) * (4 * CUBE)))),
    "a sigmoid made of a hyperbolic tangent": ({"type": "ACTIVATION_SIGMOID"}, [4 * CUBE], F4(0.5) * TANGENT_OF_HALF + F4(0.5)),
    "a hyperbolic tangent made of exponentials": ({"type": "ELEMENT_WISE_TANH"}, [CUBE / 8], 1 - 2 / (np.exp(2 * (CUBE / 8)) + 1)),
    "a hyperbolic sine made of exponentials": ({"type": "ELEMENT_WISE_SINH"}, [CUBE / 8], F4(0.5) * (np.exp(CUBE / 8) - np.exp(-CUBE / 8))),
    "a logarithm of a number near 1": ({"type": "ELEMENT_WISE_ACOSH"}, [ABOVE_ONE], np.log(ABOVE_ONE + np.sqrt(ABOVE_ONE * ABOVE_ONE - 1))),
    "a quotient in steps": ({"type": "ACTIVATION_SOFTSIGN"}, [CUBE], CUBE / (1 + np.abs(CUBE))),
    "moments in FLOAT16": ({"type": "BATCH_NORMALIZATION_TRAINING", "Epsilon": 0.001}, TRAINED, normalized_by_rounded(*(x.astype(F4) for x in TRAINED))),
    "a network whose output activation takes the cell state unrounded": (LSTM, HALF_NETWORK, long_short_states(*HALF_STATES, kept=lambda x: x.astype(F2).astype(F4))),
    "a network that keeps its states in FLOAT32": (LSTM, HALF_NETWORK, long_short_states(*HALF_STATES, kept=lambda x: x)),
    "sums with a bias that attention leaves unrounded": (ATTENTION, [("QueryTensor", HALF_QUERY), ("KeyTensor", HALF_KEY), ("ValueTensor", HALF_KEY), ("BiasTensor", HALF_BIAS)],
                                                         attention_with_bias(HALF_QUERY, HALF_KEY, HALF_BIAS)),
    "a product": (gemm(), [A, B, ("CTensor", C)], AB + C),
    "a product by pairs of terms": (gemm(), [A, B], (A[:, ::2] @ B[::2]) + (A[:, 1::2] @ B[1::2])),
    "a convolution": (conv(), [X, FILTER, ("BiasTensor", BIAS)], CONVOLVED + BIAS),
    "exponentials and their sums": ({"type": "ACTIVATION_SOFTMAX1", "Axes": [2]}, [CUBE], softmax(CUBE)),
    "sums that are activated unrounded": (gemm(FusedActivation={"Type": "ACTIVATION_SIGMOID"}), [HALF_A, HALF_B],
                                          (1 / (1 + np.exp(-(HALF_A.astype("f8") @ HALF_B.astype("f8"))))).astype(np.float16)),
    "shares of sums that are not rounded": (gemm(FusedActivation={"Type": "ACTIVATION_SOFTMAX"}), [HALF_A[None, None] * F2(4), HALF_B[None, None]],
                                            softmax((HALF_A[None, None] * F2(4)).astype("f8") @ HALF_B.astype("f8")).astype(F2)),
    "sums that are too large for FLOAT16 before they are activated": (gemm(FusedActivation={"Type": "ACTIVATION_SOFTSIGN"}), [HALF_A * LARGE, HALF_B * LARGE],
                                                                      soft_signs(HALF_A * LARGE, HALF_B * LARGE)),
    "sums that round to a threshold": ({"type": "ELEMENT_WISE_ADD1", "FusedActivation": {"Type": "ACTIVATION_THRESHOLDED_RELU", "Alpha": 2048}},
                                       [np.float16([[2048, 2046]]), np.float16([[1, 1]])], np.float16([[2048, 0]])),
    "sums behind which nothing is activated": ({"type": "ELEMENT_WISE_ADD1", "FusedActivation": {"Type": "ACTIVATION_IDENTITY"}}, [CUBE, CUBE[::-1]],
                                               np.nextafter(CUBE + CUBE[::-1], F4(0))),
    "sums of FLOAT32 rounded to ties of FLOAT16": (gemm(), [np.float16([[4096, 1, 2**-11, 2**-15, -4096]] * 4 + [[0, 1, 0, 0, 0]] * 4),
                                                            np.float16([[4096], [1], [1], [2**-15], [4096]])], np.ones((8, 1), "f2")),
    "means that are scaled unrounded": (MVN | {"FusedActivation": {"Type": "ACTIVATION_SCALED_TANH", "Alpha": 1.75, "Beta": 0.6}}, [HALVES],
                                        (1.75 * np.tanh(np.float32(0.6) * over(HALVES.astype("f8"), 2))).astype(np.float16)),
    "running sums": ({"type": "CUMULATIVE_SUMMATION", "Axis": 1, "AxisDirection": "INCREASING", "HasExclusiveSum": False}, [LONG], LONG.cumsum(1)),
    "logarithms of sums": ({"type": "ACTIVATION_SOFTPLUS", "Steepness": 1}, [3 * CUBE], np.log(1 + np.exp(3 * CUBE))),
    "logarithms of quotients of sums": ({"type": "ELEMENT_WISE_ATANH", "ScaleBias": {"Scale": 0.5, "Bias": 2**-13}}, [CUBE / 4096],
                                        F4(0.5) * np.log((1 + (CUBE / 8192 + F4(2**-13))) / (1 - (CUBE / 8192 + F4(2**-13))))),
    "a product in bfloat16": (gemm(), [A, B], in_bfloat16(AB * F4(1 + 2**-20))),
    "an element of FLOAT16 cut off": ({"type": "ACTIVATION_SIGMOID"}, [HALVES], cut(SIGMOIDS, 345)),
    "elements of FLOAT16 cut off": ({"type": "ACTIVATION_SIGMOID"}, [HALVES], cut(SIGMOIDS, 345, 678)),
    "two elements, both cut off": ({"type": "ELEMENT_WISE_EXP"}, [F4([[2, 3]])], np.nextafter(np.exp(np.array([[2.0, 3.0]])).astype(F4), F4(0))),
    "products of all": ({"type": "REDUCE", "Function": "MULTIPLY", "Axes": [2]}, [1 + CUBE / 8], multiplied_in_order(1 + CUBE / 8)[..., -1:]),
    "means": ({"type": "REDUCE", "Function": "AVERAGE", "Axes": [2]}, [CUBE], CUBE.mean(2, keepdims=True)),
    "reciprocals of sums in steps": ({"type": "ELEMENT_WISE_RECIP", "ScaleBias": {"Scale": 0.7, "Bias": -0.3}}, [CUBE], F4(1) / (F4(0.7) * CUBE - F4(0.3))),
    "cosines of sums in steps": ({"type": "ELEMENT_WISE_COS", "ScaleBias": {"Scale": 0.7, "Bias": -0.3}}, [CUBE], np.cos((F4(0.7) * CUBE - F4(0.3)).astype("f8")).astype(F4)),
}

# Of each plane, the places are those of the first one.
UNPOOLED, PLACES = numbers(1, 2, 3, 4), np.random.default_rng(4).permuted(np.tile(np.arange(48), (2, 1)), axis=1)[:, :12].astype(np.uint32)
FIRST_PLANE = np.zeros(96, F4)
FIRST_PLANE[PLACES.ravel()] = UNPOOLED.ravel()

EXPONENTIALS = np.exp(CUBE - CUBE.max(2, keepdims=True))
TWO_OFF = np.exp(CUBE.astype("f8")).astype(F4)
TWO_OFF[1, 2, 3:5] *= F4([1.00002, 0.99998])


def with_errors(right):
    """Of 960 elements of FLOAT16, 300 are the next ones, and three small ones are up to some units beyond that."""
    chance = np.random.default_rng(0)
    device = right.copy().reshape(-1)
    beside = chance.choice(device.size, 300, replace=False)
    device[beside] = np.nextafter(device[beside], np.where(chance.random(300) < 0.5, F2(-9), F2(9)))
    small = np.flatnonzero(np.abs(device) < 2**-6)
    few = sorted(chance.choice(small, 3, replace=False), key=lambda k: HALVES.ravel()[k])
    device[few] = (device[few] + F4([1, -1, 1]) * F4(2**-15)).astype(F2)
    return device.reshape(right.shape)


UNEXPLAINED = {
    "a few elements of a normalization just beyond noise": (MVN, [HALVES], with_errors(over(HALVES.astype("f8"), 2).astype(F2))),
    "another curve that crosses the right one": ({"type": "ACTIVATION_GELU"}, [CUBE], F4(0.5) * CUBE * (1 + np.tanh(F4(0.79788456) * (CUBE + F4(0.044715) * CUBE**3)))),
    "a square root a little larger": ({"type": "ELEMENT_WISE_SQRT"}, [POSITIVE], np.sqrt(POSITIVE) * F4(1 + 2**-12)),
    "a square root of a number that is a little larger": ({"type": "ELEMENT_WISE_SQRT"}, [POSITIVE], np.sqrt(POSITIVE * F4(1.0002) + F4(2**-14))),
    "a sine a little larger": ({"type": "ELEMENT_WISE_SIN"}, [50 * CUBE], (np.sin((50 * CUBE).astype("f8")) * (1 + 2**-12)).astype(F4)),
    "a sine of numbers that are a little larger": ({"type": "ELEMENT_WISE_SIN"}, [50 * CUBE], np.sin((50 * CUBE).astype("f8") + 1e-4).astype(F4)),
    "a square root with an addend": ({"type": "ELEMENT_WISE_SQRT"}, [np.abs(CUBE)], np.sqrt(np.abs(CUBE) + F4(1e-5))),
    "a quotient whose divisor has an addend": ({"type": "ELEMENT_WISE_DIVIDE"}, [CUBE, OTHER_CUBE], CUBE / (OTHER_CUBE + F4(1e-5))),
    "a softmax whose sum has an addend": ({"type": "ACTIVATION_SOFTMAX1", "Axes": [2]}, [CUBE], EXPONENTIALS / (EXPONENTIALS.sum(2, keepdims=True) + F4(2e-4))),
    "two results of a function": ({"type": "ELEMENT_WISE_EXP"}, [CUBE], TWO_OFF),
    "unpooled into the first plane": ({"type": "MAX_UNPOOLING", "OutputTensor": {"DataType": "FLOAT32", "Sizes": [1, 2, 6, 8]}},
                                      [UNPOOLED, (PLACES + np.uint32([[0], [48]])).reshape(1, 2, 3, 4)], FIRST_PLANE.reshape(1, 2, 6, 8)),
    "all a little larger": (gemm(), [A, B], AB * F4(1.01)),
    "a normalization a little larger": (MVN | {"Axes": [2, 3], "Epsilon": 1e-5}, [IMAGE], (IMAGE - IMAGE.mean()) / IMAGE.std() * F4(1.01)),
    "another number everywhere": ({"type": "ELEMENT_WISE_CLIP", "Min": 3, "Max": 4}, [CUBE / 8], np.full_like(CUBE, 3.06)),
    "other numbers here and there": (gemm(), [A, B], np.where(numbers(*AB.shape, seed=4) > 1, numbers(*AB.shape, seed=5), AB)),
    "another function": ({"type": "ACTIVATION_SIGMOID"}, [CUBE], np.arctan(CUBE)),
    "another one of few integers": ({"type": "ELEMENT_WISE_MAX"}, [FEW, FEW_MORE], replaced(MAXIMA, (5, 7))),
    "a predicate inverted": ({"type": "ELEMENT_WISE_LOGICAL_EQUALS", "OutputTensor": {"DataType": "UINT8", "Sizes": [32, 32]}}, [SQUARE, MOSTLY_OTHER],
                             (SQUARE != MOSTLY_OTHER).astype(np.uint8)),
    "the next ones gathered": ({"type": "GATHER", "Axis": 0, "IndexDimensions": 1}, [SQUARE, INDICES[:1]], SQUARE[INDICES[0] + 1]),
    "two other ones of few integers": ({"type": "ELEMENT_WISE_MAX"}, [FEW, FEW_MORE], replaced(MAXIMA, (5, 7), (20, 11))),
}


class DiagnoseTest(ProgramTest):
    def diagnosis(self, document, inputs, actual, *options, status=1):
        self.write("d.json", document)
        self.save(actual=np.ascontiguousarray(actual))
        bound = []
        for k, values in enumerate(inputs):  # an optional one has a name
            name, values = values if isinstance(values, tuple) else ("", values)
            self.save(**{f"i{k}": np.ascontiguousarray(values)})
            bound += ["-i", f"{name}=i{k}.npy" if name else f"i{k}.npy"]
        text = self.text_of("diagnose", "d.json", "actual.npy", *bound, "--format", "json", *options, status=status)
        output, = json.loads(text)["outputs"]
        return output

    def test_causes(self):
        for name, (document, inputs, actual, ids) in TRIED:
            with self.subTest(name):
                output = self.diagnosis(document, inputs, actual)
                self.assertEqual(output["verdict"], "cause", output)
                found = " + ".join(output["causes"][0]["ids"])
                any_of = [ids] if isinstance(ids, str) else ids
                self.assertTrue(any(found == one or found.startswith((one + ":", one + ",", one + "=")) for one in any_of), (found, output["causes"]))

    def test_places_of_what_is_selected(self):
        top = {"type": "TOP_K1", "Axis": 1, "K": 5, "AxisDirection": "DECREASING"}
        self.write("d.json", top)
        self.save(x=SMALLER, places=np.argsort(-SMALLER[:, :31], 1)[:, :5].astype(np.uint32))
        output, = json.loads(self.text_of("diagnose", "d.json", "-i", "x.npy", "OutputIndexTensor=places.npy", "--format", "json", status=1))["outputs"]
        self.assertEqual(output["causes"][0]["ids"], ["tail-missing:axis=1,from=31,shorter"])

    def test_nan_that_is_selected_first(self):
        x = np.where(np.arange(32) % 16 == 9, F4(np.nan), SQUARE)
        x[:4, 5] = np.inf
        places = np.argsort(np.where(np.isnan(x), -np.inf, np.maximum(-x, F4(-1e38))), 1, kind="stable")[:, :5]
        self.write("d.json", {"type": "TOP_K1", "Axis": 1, "K": 5, "AxisDirection": "DECREASING"})
        self.save(x=x, values=np.take_along_axis(x, places, 1), places=places.astype(np.uint32))
        outputs = json.loads(self.text_of("diagnose", "d.json", "-i", "x.npy", "OutputValueTensor=values.npy", "OutputIndexTensor=places.npy",
                                          "--format", "json", status=1))["outputs"]
        self.assertEqual([output["causes"][0]["ids"] for output in outputs], [["nan-passes"]] * 2)

    def test_right_devices_are_not_blamed(self):
        for name, (document, inputs, actual) in HEALTHY.items():
            with self.subTest(name):
                output = self.diagnosis(document, inputs, actual, status=0)
                self.assertEqual((output["verdict"], output["beyondNoise"]), ("noise", 0))
                self.assertGreater(output["different"], 0)

    def test_neighbours_of_right_values_are_not_blamed(self):
        """Whichever of them are nearer to 0."""
        right = np.cos(CUBE.astype("f8")).astype(F4)
        for seed in range(12):
            with self.subTest(seed):
                output = self.diagnosis({"type": "ELEMENT_WISE_COS"}, [CUBE], neighbours(right, seed), status=0)
                self.assertEqual(output["verdict"], "noise", output)

    def test_what_nothing_explains_has_no_cause(self):
        for name, (document, inputs, actual) in UNEXPLAINED.items():
            with self.subTest(name):
                output = self.diagnosis(document, inputs, actual)
                self.assertEqual((output["verdict"], output["causes"]), ("unknown", []))

    def test_both_forms_tell_the_same(self):
        document, inputs, actual, _ = FAULTS["no bias"]
        output = self.diagnosis(document, inputs, actual)
        text = self.text_of("diagnose", "d.json", "actual.npy", "-i", "i0.npy", "-i", "i1.npy", "-i", "BiasTensor=i2.npy", status=1)
        head, *lines, check = text.splitlines()
        cause = next(line for line in lines if line.startswith("  1  "))
        self.assertTrue(head.startswith(f"actual.npy differs from OutputTensor in {output['different']} of {output['elements']} elements: "), head)
        self.assertTrue(head.endswith(f" units at most, in {output['where']['box']}"), head)
        best = output["causes"][0]
        self.assertEqual((best["explains"], best["of"], best["sampled"]), (output["beyondNoise"], output["beyondNoise"], False))
        self.assertRegex(cause, rf"^  1  BiasTensor left out  {best['explains']} of {best['of']} elements .*  /desc/BiasTensor=null$")
        self.assertEqual(check, "check: " + best["check"])
        self.assertIn("/bindings/BiasTensor=0", best["same"])

    def test_a_check_finds_the_device_right(self):
        """Except for what is shifted in at an edge, and for blocks that the id does not list."""
        in_part = {"a tile of few integers moved", "rows of a product written twice"}
        for name, (document, inputs, actual, _) in in_turn(TRIED):
            for cause in self.diagnosis(document, inputs, actual)["causes"][:1]:
                with self.subTest(name, check=cause["check"]):
                    words, ids = shlex.split(cause["check"]), cause["ids"]
                    is_computed = not ids[0].startswith(("not-written:blocks", "fast-functions"))
                    self.assertEqual(words[:3], ["dmlop", "run", "d.json"])
                    self.assertEqual([word for word, before in zip(words[1:], words) if before == "--as"], ids if is_computed else [])
                    self.assertIn(words[-1], ("--bits", "sums") if is_computed else ("--map",))
                    self.run_program(*words[1:], status=int((ids[0].startswith("shifted") and name not in in_part) or not is_computed))

    def test_a_check_takes_what_the_diagnosis_takes(self):
        """Other shapes and types of the file, and not the tolerance that a case states for DirectML's results."""
        own = gemm(Alpha=0.5) | {"tolerance": {"ulp": 1}}
        for document, device, options in ((gemm(Alpha=0.5), AB.ravel(), ["--reshape"]), (gemm(Alpha=0.5), AB[None], ["--squeeze"]),
                                          (gemm(Alpha=0.5), AB.astype("f8"), ["--any-floats"]), (own, AB, [])):
            with self.subTest(options):
                best = self.diagnosis(document, [A, B], device, *options)["causes"][0]
                self.assertEqual(best["ids"], ["/desc/Alpha=1"])
                self.run_program(*shlex.split(best["check"])[1:])
        self.run_program("run", "d.json", "-i", "i0.npy", "-i", "i1.npy", "--as", "/desc/Alpha=1", "--judge", "actual.npy", status=1)

    def test_a_step_of_an_integer_is_noise_where_few_are_off(self):
        numbers_of = (np.arange(-50, 50) * 0.37).astype("f4").reshape(10, 10)
        quantized = np.clip(np.rint(numbers_of / F4(0.25)) + 100, 0, 255).astype("u1")
        document = {"type": "ELEMENT_WISE_QUANTIZE_LINEAR", "OutputTensor": {"DataType": "UINT8"}}
        inputs = [numbers_of, np.full((10, 10), 0.25, "f4"), ("ZeroPointTensor", np.full((10, 10), 100, "u1"))]
        few = quantized.copy()
        few[3, 4] += 1
        for device, verdict in ((few, "noise"), (quantized + 1, "unknown"), (quantized ^ 1, "unknown")):
            found = self.diagnosis(document, inputs, device.astype("u1"), status=int(verdict != "noise"))
            self.assertEqual(found["verdict"], verdict)

    def test_a_nan_that_is_passed_on_keeps_its_bits(self):
        marked = numbers(8, 8).view("u4")
        marked[2, 3:6] = [0x7FC00123, 0xFFC00000, 0x7F812345]
        marked = marked.view("f4")
        for kind, inputs, device in (("ACTIVATION_RELU", [marked], np.where(marked < 0, F4(0), marked)),
                                     ("ELEMENT_WISE_MAX", [marked, A[:8, :8]], np.where(marked < A[:8, :8], A[:8, :8], marked))):
            best = self.diagnosis({"type": kind}, inputs, device)["causes"][0]
            self.assertEqual((best["ids"], best["exact"], best["of"]), (["nan-passes"], 3, 3))

    def test_networks_of_many_items(self):
        """Elements of a few items are computed without the others."""
        steps, items, units = 6, 64, 4
        x, weights, recurrence = numbers(1, steps, items, 3), numbers(1, 1, units, 3), numbers(1, 1, units, units)
        state, states = np.zeros((items, units)), []
        for step in range(steps):
            state = np.tanh(x[0, step].astype("f8") @ weights[0, 0].T + state @ recurrence[0, 0].T)
            states.append(state)
        document = {"type": "RNN", "Direction": "FORWARD", "ActivationDescs": [{"Type": "ACTIVATION_TANH"}],
                    "OutputSequenceTensor": {"DataType": "FLOAT32", "Sizes": [steps, 1, items, units]}}
        bias = ("BiasTensor", numbers(1, 1, 1, 2 * units))
        best = self.diagnosis(document, [x, weights, recurrence, bias], np.stack(states)[:, None].astype("f4"))["causes"][0]
        self.assertEqual((best["ids"], best["explains"]), (["/desc/BiasTensor=null"], best["of"]))

    def test_large_outputs_are_looked_at_in_part(self):
        a, b = numbers(300, 400), numbers(400, 300)
        output = self.diagnosis(gemm(Alpha=0.5), [a, b], a @ b)
        best = output["causes"][0]
        self.assertEqual((best["ids"], best["sampled"]), (["/desc/Alpha=1"], True))
        self.assertLess(best["of"], output["beyondNoise"])
        thorough = self.diagnosis(gemm(Alpha=0.5), [a, b], a @ b, "--thorough")["causes"][0]
        self.assertEqual((thorough["of"], thorough["sampled"]), (output["beyondNoise"], False))

    def test_parts_of_large_outputs_are_found(self):
        rows = numbers(500, 1000)
        output = self.diagnosis({"type": "ACTIVATION_SOFTMAX1", "Axes": [1]}, [rows], softmax_of_part(rows, 900))
        self.assertEqual(output["causes"][0]["ids"], ["tail-missing:axis=1,from=900,terms"])

    def test_what_cannot_be_the_output(self):
        for actual in (AB.astype("f8"), AB[:, :-1]):
            output = self.diagnosis(gemm(), [A, B], actual)
            self.assertEqual((output["verdict"], [one["id"] for one in output["classes"]]), ("unknown", ["other-type-or-shape"]))
        self.run_program("diagnose", "d.json", "missing.npy", "-i", "i0.npy", "-i", "i1.npy", status=5)
        self.run_program("diagnose", "d.json", "X=actual.npy", "-i", "i0.npy", "-i", "i1.npy", status=2)
        self.run_program("diagnose", "d.json", "actual.npy", "-i", "i0.npy", status=2)

    def test_within_the_tolerance_nothing_differs(self):
        output = self.diagnosis(gemm(), [A, B], AB + F4(1e-3), "--atol", "1e-2", status=0)
        self.assertEqual((output["verdict"], output["different"], output["causes"]), ("equal", 0, []))

    def test_one_cause_of_several_outputs_is_told_once(self):
        self.save(x=CUBE, first=2 * CUBE[:1], rest=2 * CUBE[1:])
        split = {"type": "SPLIT", "Axis": 0, "OutputTensors": [{"DataType": "FLOAT32", "Sizes": [n, 8, 40]} for n in (1, 2)]}
        self.write("split.json", split)
        text = self.text_of("diagnose", "split.json", "first.npy", "rest.npy", "-i", "x.npy", status=1)
        self.assertEqual((text.count("no cause found"), text.count("one cause explains all")), (2, 0))
        self.save(rest=CUBE[1:][:, ::-1], first=CUBE[:1][:, ::-1])
        text = self.text_of("diagnose", "split.json", "first.npy", "rest.npy", "-i", "x.npy", status=1)
        self.assertEqual(text.splitlines()[-1], "one cause explains all: reversed along axis 1")

    def test_a_cause_of_all_outputs_comes_first(self):
        """The statistics of the first image alone could be those of an image that is read for all, but the rest could not."""
        image = CUBE.reshape(2, 3, 20, 8)
        mean, variance = image[:1].mean((0, 2, 3), keepdims=True), image[:1].var((0, 2, 3), keepdims=True)
        self.save(x=image, scale=np.ones((1, 3, 1, 1), F4), bias=np.zeros((1, 3, 1, 1), F4),
                  y=(image - mean) / np.sqrt(variance + F4(0.1)), mean=mean, variance=variance)
        self.write("d.json", {"type": "BATCH_NORMALIZATION_TRAINING", "Epsilon": 0.1})
        files = ["OutputTensor=y.npy", "OutputMeanTensor=mean.npy", "OutputVarianceTensor=variance.npy"]
        bound = ["-i", "x.npy", "-i", "scale.npy", "-i", "bias.npy"]
        found = json.loads(self.text_of("diagnose", "d.json", *files, *bound, "--format", "json", status=1))["outputs"]
        self.assertEqual([one["causes"][0]["ids"] for one in found], [["tail-missing:axis=0,from=1,terms"]] * 3)
        for one in found:
            self.run_program(*shlex.split(one["causes"][0]["check"])[1:], status=0)
        self.assertIn("one cause explains all: ", self.text_of("diagnose", "d.json", *files, *bound, status=1))

    def test_statistics_of_a_part(self):
        """The last row is missing in the variance, whose mean is right, or in the mean."""
        image = numbers(2, 3, 5, 8)
        mean = image.mean((0, 2, 3), keepdims=True)
        self.save(x=image, scale=np.ones((1, 3, 1, 1), F4), bias=np.zeros((1, 3, 1, 1), F4), mean=image[:, :, :-1].mean((0, 2, 3), keepdims=True),
                  variance=np.square(image - mean)[:, :, :-1].mean((0, 2, 3), keepdims=True))
        self.write("d.json", {"type": "BATCH_NORMALIZATION_TRAINING", "Epsilon": 0.1})
        bound = ["-i", "x.npy", "-i", "scale.npy", "-i", "bias.npy"]
        for file, part in [("OutputVarianceTensor=variance.npy", "terms,last"), ("OutputMeanTensor=mean.npy", "terms")]:
            output, = json.loads(self.text_of("diagnose", "d.json", file, *bound, "--format", "json", status=1))["outputs"]
            self.assertEqual(output["causes"][0]["ids"], [f"tail-missing:axis=2,from=4,{part}"])
            self.run_program(*shlex.split(output["causes"][0]["check"])[1:], status=0)

    def test_what_comes_in_at_an_edge_is_counted(self):
        for name, device, explained in [("other elements", np.roll(SQUARE, 8, 1), 24), ("zeros", np.hstack([np.zeros((32, 8), F4), SQUARE[:, :-8]]), 32)]:
            with self.subTest(name):
                best = self.diagnosis({"type": "ELEMENT_WISE_IDENTITY"}, [SQUARE], device)["causes"][0]
                self.assertEqual((best["ids"], best["explains"], best["of"]), (["shifted:[0,-8]"], 32 * explained, 32 * 32))
                self.assertEqual(best.get("atEdge", 0), 32 * (32 - explained))

    def test_what_cannot_be_repeated_has_no_check(self):
        document, inputs, actual, _ = FAULTS["no bias"]
        self.diagnosis(document, inputs, actual)
        run = ["-", "actual.npy", "-i", "i0.npy", "-i", "i1.npy", "-i", "BiasTensor=i2.npy", "--format", "json"]
        given = self.run_program("diagnose", *run, status=1, stdin=(self.folder / "d.json").read_bytes()).stdout
        self.assertEqual(json.loads(given)["outputs"][0]["causes"][0]["check"], "")

    def test_one_spelling_of_what_is_not_written(self):
        causes = self.diagnosis({"type": "ELEMENT_WISE_IDENTITY"}, [SQUARE], unwritten(SQUARE, np.s_[8:16]))["causes"]
        self.assertEqual([(one["ids"], one["same"]) for one in causes], [(["not-written:[8..15, *]"], [])])


    def test_outputs_in_place_of_one_another(self):
        training = {"type": "BATCH_NORMALIZATION_TRAINING", "Epsilon": 0.01}
        halves = {"type": "SPLIT", "Axis": 2, "OutputTensors": [{"DataType": "FLOAT32", "Sizes": [3, 8, 20]}] * 2}
        for name, document, inputs, outputs, change in [
            ("halves", halves, [CUBE], [CUBE[..., 20:], CUBE[..., :20]], "/desc/OutputTensors/0<->/desc/OutputTensors/1"),
            ("statistics", training, [CUBE[None], np.ones((1, 3, 1, 1), F4), np.zeros((1, 3, 1, 1), F4)],
             {"OutputMeanTensor": CUBE[None].var((0, 2, 3), keepdims=True), "OutputVarianceTensor": CUBE[None].mean((0, 2, 3), keepdims=True)},
             "/desc/OutputMeanTensor<->/desc/OutputVarianceTensor")]:
            with self.subTest(name):
                self.write("d.json", document)
                names = dict(outputs) if isinstance(outputs, dict) else {f"OutputTensors[{k}]": one for k, one in enumerate(outputs)}
                self.save(**{f"i{k}": np.ascontiguousarray(one) for k, one in enumerate(inputs)},
                          **{f"o{k}": np.ascontiguousarray(one) for k, one in enumerate(names.values())})
                bound = [word for k in range(len(inputs)) for word in ("-i", f"i{k}.npy")]
                files = [f"{one}=o{k}.npy" for k, one in enumerate(names)]
                found = json.loads(self.text_of("diagnose", "d.json", *files, *bound, "--format", "json", status=1))["outputs"]
                self.assertEqual([one["causes"][0]["ids"] for one in found], [[change]] * 2)
                judged = [word for file in files for word in ("--judge", file)]
                self.run_program("run", "d.json", *bound, "--as", change, *judged, "--tolerance", "sums", status=0)

    def test_orders_of_sums_are_no_causes(self):
        total = np.zeros((40, 48), F4)
        for k in range(64):
            total += A[:, k:k + 1] * B[k:k + 1]
        output = self.diagnosis(gemm(), [A, B], total, status=0)
        self.assertEqual((output["verdict"], output["causes"], output["sameAs"]), ("noise", [], ["sums-float32:unfused"]))
        text = self.text_of("diagnose", "d.json", "actual.npy", "-i", "i0.npy", "-i", "i1.npy", status=0)
        self.assertEqual(text.splitlines()[1], "noise: rounding explains every difference, as of sums in FLOAT32, in order, products rounded (sums-float32:unfused)")

    def test_fast_functions_have_no_bits(self):
        right = np.exp(CUBE.astype("f8"))
        output = self.diagnosis({"type": "ELEMENT_WISE_EXP"}, [CUBE], (right * (1 + 3e-5 * np.sin(1e3 * CUBE))).astype(F4))
        best = output["causes"][0]
        self.assertEqual((best["ids"], best["exact"]), (["fast-functions"], 0))
        text = self.text_of("diagnose", "d.json", "actual.npy", "-i", "i0.npy", status=1)
        self.assertIn(f"{best['explains']} of {best['of']} elements by the size of their errors", text)

    def test_what_has_no_cause_is_told_with_its_place(self):
        device = AB.copy()
        device[8:16] = numbers(8, 48, seed=9)
        output = self.diagnosis(gemm(), [A, B], device)
        text = self.text_of("diagnose", "d.json", "actual.npy", "-i", "i0.npy", "-i", "i1.npy", status=1)
        self.assertEqual(text.splitlines()[1], f"no cause found; all wrong elements are in [8..15, *]: {output['where']['text']}")

    def test_medians_are_means_of_the_middle(self):
        x = np.ones(4, F4)
        device = x + np.arange(1, 5, dtype=F4) * F4(2**-20)
        output = self.diagnosis({"type": "ELEMENT_WISE_IDENTITY"}, [x], device)
        self.assertEqual(output["errors"]["ulp"]["median"], np.median([8, 16, 24, 32]))


class BatchTest(ProgramTest):
    def test_cases_are_grouped_by_cause(self):
        (self.folder / "gpu").mkdir()
        lines = []
        tiles = [np.s_[0:16, 16:32], np.s_[16:32, 0:16], np.s_[16:32, 16:32]]
        unwritten_tiles = [several(AB, tile, value=value) for tile, value in zip(tiles, (0, 0, np.nan))]
        for k, actual in enumerate([AB, AB, AB.T.reshape(AB.shape), AB * F4(1.01), AB * F4(0.5), *unwritten_tiles]):
            np.save(self.folder / f"gpu/{k}.npy", actual)
            bindings = {"ATensor": "a.npy", "BTensor": "b.npy", "OutputTensor": f"out/{k}.npy"}
            alpha = 0.5 if k in (1, 4) else 1  # the second device leaves it out, the last one does not
            lines.append(json.dumps(gemm(Alpha=alpha) | {"name": f"case {k}", "bindings": bindings}))
        self.save(a=A, b=B)
        self.write("cases.jsonl", "\n".join(lines))
        text = self.errors_of("batch", "cases.jsonl", "--judge", "--diagnose", "--output-path", "gpu", "--report", "r.jsonl", "--no-times", status=1)
        summary, *groups = text.splitlines()
        self.assertTrue(summary.startswith("8 of 8 differ: 2 noise; 2 not written, or all 0, in "), text)
        self.assertEqual([line.split()[0] for line in groups[:6]], ["2", "2", "1", "1", "1", "1"])
        self.assertIn("       1  not written, or all nan, in [16..31, 16..31], as cases.jsonl:8: case 7\n", text)
        self.assertIn("       1  Alpha is 1, as cases.jsonl:2: case 1\n", text)
        self.assertIn("       1  no cause found, in [*, *], as cases.jsonl:4: case 3\n", text)
        found = [json.loads(line)["diagnoses"][0] for line in (self.folder / "r.jsonl").read_text().splitlines()]
        self.assertEqual([one["verdict"] for one in found], ["noise", "cause", "cause", "unknown", "noise"] + 3 * ["cause"])
        by_cause = json.loads(self.text_of("report", "r.jsonl", "--by", "cause", "--format", "json"))
        self.assertIn("no cause found", json.dumps(by_cause))
        check = found[1]["causes"][0]["check"]
        self.assertIn("dmlop run cases.jsonl --line 2 --as", check)
        self.run_program(*shlex.split(check)[1:])

    def test_causes_that_differ_in_details_are_one_group(self):
        devices = [A[:, :50] @ B[:50], A[:, :40] @ B[:40], columns_exchanged(AB), tiles_exchanged(AB), SQUARE + OTHER[:, :1], A + (A - 1)[:, :1]]
        (self.folder / "gpu").mkdir()
        self.save(a=A, b=B, square=SQUARE, other=OTHER, less=A - 1)
        operands = 4 * [("a", "b", gemm())] + [("square", "other", {"type": "ELEMENT_WISE_ADD"}), ("a", "less", {"type": "ELEMENT_WISE_ADD"})]
        lines = []
        for k, (device, (a, b, document)) in enumerate(zip(devices, operands)):
            np.save(self.folder / f"gpu/{k}.npy", device)
            lines.append(json.dumps(document | {"bindings": {"ATensor": f"{a}.npy", "BTensor": f"{b}.npy", "OutputTensor": f"out/{k}.npy"}}))
        self.write("cases.jsonl", "\n".join(lines))
        summary, *groups = self.errors_of("batch", "cases.jsonl", "--judge", "--diagnose", "--output-path", "gpu", status=1).splitlines()
        self.assertTrue(summary.startswith("6 of 6 differ: 2 "), summary)
        self.assertEqual(summary.count(" and the like"), 3)
        self.assertEqual([line.split()[0] for line in groups[:3]], ["2", "2", "2"])


if __name__ == "__main__":
    unittest.main()
