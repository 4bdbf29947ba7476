# SPDX-License-Identifier: Apache-2.0
"""Operators in the arithmetics of devices (run --as), compared to the bit with NumPy's in the order that the ids state."""

import json
import re
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import ROOT, ProgramTest

HALF, SINGLE = np.float16, np.float32


def bfloat16(x):
    """The nearest BFLOAT16, ties to even, of numbers in the middle of its range."""
    part, exponent = np.frexp(np.asarray(x, "f8"))
    return np.ldexp(np.rint(part * 256), exponent - 8).astype(SINGLE)


def tf32(x, mode):
    """FLOAT32 numbers with ten digits behind the point."""
    bits = x.view("u4").astype("u8")
    bits += {"ties-away": 0x1000, "ties-to-even": 0xFFF + (bits >> 13 & 1), "cut-off": 0}[mode]
    return (bits >> 13 << 13).astype("u4").view(SINGLE)


# Names of inputs, the last of which may be left out.
OPTIONAL = {"MATRIX_MULTIPLY_INTEGER": ["", "", "AZeroPointTensor="], "CONVOLUTION": ["", "", "BiasTensor="], "ELEMENT_WISE_DEQUANTIZE_LINEAR": ["", "", "ZeroPointTensor="],
            "ELEMENT_WISE_QUANTIZE_LINEAR": ["", "", "ZeroPointTensor="], "RNN": ["", "", "", "HiddenInitTensor=", "SequenceLengthsTensor="]}

ROUNDINGS = {"float32": lambda x: np.asarray(x).astype(SINGLE), "float16": lambda x: np.asarray(x).astype(HALF),
             "bfloat16": bfloat16}


class Sum:
    """Sums of terms along the first axis, in the order of an id; the exact terms are binary64."""

    def __init__(self, form, details):
        self.round = lambda x: ROUNDINGS[form](x).astype("f8")
        self.details = details.split(",") if details else []
        self.total = ROUNDINGS["float32"] if "in-float32" in self.details else self.round

    def value(self, word):
        return next((int(d.split("=")[1]) for d in self.details if d.startswith(word)), None)

    def chain(self, terms, add=None):
        total = np.zeros(terms.shape[1:])
        for term in terms:
            total = (add or self.round)(total + term).astype("f8")
        return total

    def tree(self, terms, halves):
        while len(terms) > 1:
            pairs = len(terms) // 2
            a, b = (terms[:pairs], terms[pairs:]) if halves else (terms[: 2 * pairs : 2], terms[1::2])
            terms = np.concatenate([self.round(a + b[:pairs]), terms[2 * pairs:]])
        return terms[0]

    def __call__(self, terms):
        if "unfused" in self.details or "pairwise" in self.details:
            terms = self.round(terms)
        if "pairwise" in self.details:
            return self.tree(terms, False)
        if "backwards" in self.details:
            terms = terms[::-1]
        parts = self.value("parts")
        if size := -(-len(terms) // parts) if parts else self.value("blocks"):
            blocks = [self.chain(terms[i: i + size]) for i in range(0, len(terms), size)]
            return self.chain(np.array(blocks), self.total)
        if count := self.value("lanes"):
            lanes = np.array([self.chain(terms[i::count]) for i in range(count)])
            return self.tree(lanes, "neighbours" not in self.details)
        return self.chain(terms)


ORDERS = ["", "unfused", "pairwise", "blocks=4", "blocks=32,unfused", "blocks=64,in-float32", "blocks=256", "lanes=2",
          "lanes=32,unfused", "lanes=8,neighbours", "blocks=16,unfused,in-float32", "parts=2", "parts=8,unfused", "parts=4,in-float32", "backwards", "unfused,backwards"]


def gemm(dtype, m, k, n, **fields):
    name = {HALF: "FLOAT16", SINGLE: "FLOAT32"}[dtype]
    tensors = {t: {"DataType": name, "Sizes": s} for t, s in [("ATensor", [m, k]), ("BTensor", [k, n])]}
    if fields.pop("c", False):
        tensors["CTensor"] = {"DataType": name, "Sizes": [m, n]}
    return {"type": "GEMM", "TransA": "NONE", "TransB": "NONE", "Alpha": 1, "Beta": 1} | tensors | fields


def products(a, b):
    return a.T.astype("f8")[:, :, None] * b.astype("f8")[:, None, :]


def sigmoid_in_steps(x, dtype):
    with np.errstate(over="ignore"):
        e = np.exp(-x.astype("f8")).astype(dtype)
    return dtype(1) / (dtype(1) + e)


class ArithmeticTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(20)

    def normal(self, *shape, dtype=SINGLE):
        return self.random.normal(size=shape).astype(dtype)

    def result(self, descriptor, inputs, *ids):
        names = OPTIONAL.get(descriptor["type"], [""] * len(inputs))
        self.save(**{f"x{i}": x for i, x in enumerate(inputs)})
        arguments = [a for i in range(len(inputs)) for a in ("-i", f"{names[i]}x{i}.npy")]
        arguments += [a for name in ids for a in ("--as", name)]
        self.run_program("run", json.dumps(descriptor), *arguments, "-o", "y.npy")
        return self.load("y")

    def check(self, descriptor, inputs, ids, expected):
        ids = [ids] if isinstance(ids, str) else ids
        with self.subTest(" + ".join(ids), type=descriptor["type"]):
            actual = self.result(descriptor, inputs, *ids)
            np.testing.assert_array_equal(actual, expected, strict=True)
            self.assertGreater(np.count_nonzero(actual != self.result(descriptor, inputs)), 0, "it makes no difference")

    def test_sums_in_every_order(self):
        for form in ROUNDINGS:
            for details in ORDERS:
                if form == "float32" and any(word in details for word in ("in-float32", "backwards", "parts")):
                    continue
                name = f"sums-{form}" + (f":{details}" if details else "")
                dtype = SINGLE if form != "float16" else HALF
                a, b = self.normal(19, 283, dtype=dtype), self.normal(283, 7, dtype=dtype)
                self.check(gemm(dtype, 19, 283, 7), [a, b], name, Sum(form, details)(products(a, b)).astype(dtype))

    def test_sums_of_other_operators(self):
        x = self.normal(5, 40, 6, dtype=HALF)
        by_axis = np.moveaxis(x.astype("f8"), 1, 0)
        total = Sum("float16", "lanes=8")(by_axis)[:, None, :]
        reduce = {"type": "REDUCE", "Axes": [1], "Function": "SUM"}
        self.check(reduce, [x], "sums-float16:lanes=8", total.astype(HALF))
        self.check(reduce | {"Function": "AVERAGE"}, [x], "sums-float16:lanes=8", (total / 40).astype(HALF))
        prefixes = [Sum("float16", "blocks=32")(by_axis[: k + 1]) for k in range(40)]
        scan = {"type": "CUMULATIVE_SUMMATION", "Axis": 1, "AxisDirection": "INCREASING", "HasExclusiveSum": False}
        self.check(scan, [x], "sums-float16:blocks=32", np.stack(prefixes, 1).astype(HALF))
        image, taps, bias = self.normal(1, 3, 9, 8), self.normal(4, 3, 3, 2), self.normal(1, 4, 1, 1)
        convolution = {"type": "CONVOLUTION", "Mode": "CROSS_CORRELATION", "Direction": "FORWARD", "GroupCount": 1} | {
            name: [value] * 2 for name, value in [("Strides", 1), ("Dilations", 1), ("StartPadding", 0), ("EndPadding", 0), ("OutputPadding", 0)]}
        windows = np.lib.stride_tricks.sliding_window_view(image[0], (3, 2), (1, 2)).astype("f8")
        # Terms by tap, and by channel within a tap.
        terms = np.einsum("cyxij,ocij->ijcoyx", windows, taps.astype("f8")).reshape(18, 4, 7, 7)
        summed = Sum("bfloat16", "unfused")(terms)
        self.check(convolution, [image, taps, bias], "sums-bfloat16:unfused", (summed + bias[0]).astype(SINGLE)[None])

    def test_sums_of_windows_in_other_orders(self):
        """Windows over padding have zeros there; the bias may be the first term, or rounded as the last one."""
        image, taps, bias = self.normal(1, 3, 9, 8), self.normal(4, 3, 3, 2), self.normal(1, 4, 1, 1)
        convolution = {"type": "CONVOLUTION", "Mode": "CROSS_CORRELATION", "Direction": "FORWARD", "GroupCount": 1} | {
            name: [value] * 2 for name, value in [("Strides", 1), ("Dilations", 1), ("StartPadding", 1), ("EndPadding", 1), ("OutputPadding", 0)]}
        around = np.pad(image[0], ((0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(around, (3, 2), (1, 2)).astype("f8")
        by_tap, by_channel = (np.einsum(f"cyxij,ocij->{order}oyx", windows, taps.astype("f8")).reshape(18, 4, 9, 9) for order in ("ijc", "cij"))
        addend = np.broadcast_to(bias[0].astype("f8"), (4, 9, 9))
        for form in ["float16", "bfloat16"]:
            for terms, detail, orders in [(by_tap, "padded", ["pairwise", "blocks=4", "blocks=8,unfused", "lanes=4"]),
                                          (by_channel, "by-channel", ["", "unfused", "pairwise", "blocks=4", "blocks=8,unfused,in-float32", "lanes=4,unfused"])]:
                for order in orders:
                    total = Sum(form, order)(terms)
                    name = f"sums-{form}:{order}{',' if order else ''}{detail}"
                    self.check(convolution, [image, taps], name, total.astype(SINGLE)[None])
            for terms, detail in [(by_tap, ""), (by_channel, "by-channel,")]:
                order = Sum(form, "")
                self.check(convolution, [image, taps, bias], f"sums-{form}:{detail}rounded-addend", order.round(order(terms) + addend).astype(SINGLE)[None])
                self.check(convolution, [image, taps, bias], f"sums-{form}:{detail}addend-first", order(np.concatenate([addend[None], terms])).astype(SINGLE)[None])

    def test_sums_of_a_normalization(self):
        """Each sum is rounded: that of the mean, and that of the squares."""
        x = self.normal(3, 48, dtype=HALF) + HALF(2)
        order = Sum("float16", "unfused")
        mean = order(x.T.astype("f8")) / 48
        variance = order(((x.astype("f8").T - mean) ** 2)) / 48
        expected = (x.T - mean) / np.sqrt(variance + SINGLE(1e-3))
        self.check({"type": "MEAN_VARIANCE_NORMALIZATION1", "Axes": [1], "NormalizeVariance": True, "Epsilon": 1e-3}, [x],
                   "sums-float16:unfused", expected.T.astype(HALF))

    def test_windows_at_the_ends_of_a_slice(self):
        """Only from its middle they cover all of it; elements are the same in any order."""
        x = self.normal(1, 1, 1, 6)
        tensor = {"DataType": "FLOAT32", "Sizes": x.shape}
        windows = {"type": "LOCAL_RESPONSE_NORMALIZATION", "InputTensor": tensor, "OutputTensor": tensor, "CrossChannel": False,
                   "LocalSize": 9, "Alpha": 3, "Beta": .75, "Bias": 1}
        expected = self.result(windows, [x], "sums-float16")[..., [4, 5, 2, 3, 0, 1]]
        self.check(windows, [x], ["sums-float16", "exchanged:[0,0,0,4],block=[0,0,0,0..1]"], expected)

    def test_inputs(self):
        a, b, c = self.normal(6, 5), self.normal(5, 7), self.normal(6, 7)
        modes = [("inputs-tf32", lambda x: tf32(x, "ties-away")), ("inputs-tf32:ties-to-even", lambda x: tf32(x, "ties-to-even")),
                 ("inputs-tf32:cut-off", lambda x: tf32(x, "cut-off")), ("inputs-bfloat16", bfloat16),
                 ("inputs-bfloat16:cut-off", lambda x: (x.view("u4") >> 16 << 16).view(SINGLE)),
                 ("inputs-float16", lambda x: x.astype(HALF).astype(SINGLE))]
        a.flat[0] = np.array(0x3F801000, "u4").view(SINGLE)  # a tie of TF32
        for name, rounded in modes:
            for everything in (False, True):
                full = name + (("," if ":" in name else ":") + "all" if everything else "")
                exact = products(rounded(a), rounded(b)).sum(0) + (rounded(c) if everything else c).astype("f8")
                self.check(gemm(SINGLE, 6, 5, 7, c=True), [a, b, c], full, exact.astype(SINGLE))
        for name, parts in (("inputs-bfloat16:first", (bfloat16(a), b)), ("inputs-bfloat16:weights", (a, bfloat16(b)))):
            self.check(gemm(SINGLE, 6, 5, 7, c=True), [a, b, c], name, (products(*parts).sum(0) + c.astype("f8")).astype(SINGLE))
        self.check({"type": "ELEMENT_WISE_ADD"}, [a, a[::-1].copy()], "inputs-bfloat16",
                   (bfloat16(a).astype("f8") + bfloat16(a[::-1].copy())).astype(SINGLE))

    def test_chains(self):
        x, y = self.normal(400), self.normal(400)
        half = (x * 3).astype(HALF)
        self.check({"type": "ELEMENT_WISE_DIFFERENCE_SQUARE"}, [x, y], "float32-steps", (x - y) * (x - y))
        self.check({"type": "ACTIVATION_SIGMOID"}, [half], "float16-steps", sigmoid_in_steps(half, HALF))
        self.check({"type": "ACTIVATION_SIGMOID"}, [x], "float32-steps", sigmoid_in_steps(x, SINGLE))
        self.check({"type": "ACTIVATION_HARD_SWISH", "Alpha": 0.1640625, "Beta": 0.5}, [half], "float16-steps",
                   half * np.clip(HALF(0.1640625) * half + HALF(0.5), HALF(0), HALF(1)))
        self.check({"type": "ACTIVATION_HARD_SIGMOID", "Alpha": 0.2, "Beta": 0.5}, [half], "float16-steps:rounded-constants",
                   np.clip(HALF(0.2) * half + HALF(0.5), HALF(0), HALF(1)))
        rows = half.reshape(20, 20)
        exponentials = np.exp(rows - rows.max(1, keepdims=True))  # in FLOAT16
        total = exponentials.astype("f8").sum(1, keepdims=True).astype(HALF)
        self.check({"type": "ACTIVATION_SOFTMAX1", "Axes": [1]}, [rows], "float16-steps:whole-sums", exponentials / total)
        table = gemm(HALF, 8, 16, 9, c=True, Alpha=0.3125, Beta=1.75)
        a, b, c = self.normal(8, 16, dtype=HALF), self.normal(16, 9, dtype=HALF), self.normal(8, 9, dtype=HALF)
        product = (products(a, b).sum(0) * 0.3125).astype(HALF).astype("f8")
        self.check(table, [a, b, c], "product-rounded", (product + 1.75 * c.astype("f8")).astype(HALF))

    def test_products_after_divisions(self):
        x = self.normal(1, 4, 9, 11, dtype=HALF)
        mean, variance, scale, bias = (self.random.uniform(0.5, 2, (1, 4, 1, 1)).astype(HALF) for _ in range(4))
        self.check({"type": "BATCH_NORMALIZATION", "Spatial": True, "Epsilon": 0.0625}, [x, mean, variance, scale, bias],
                   "float16-steps:quotients-first", (x - mean) / np.sqrt(variance + HALF(0.0625)) * scale + bias)
        self.check({"type": "ELEMENT_WISE_DIVIDE"}, [x[0, 0], x[0, 1]], "float16-steps:quotients-first", x[0, 0] * (HALF(1) / x[0, 1]))

    def test_steps_in_half_are_of_single_arithmetic(self):
        """A constant that FLOAT16 lacks makes ties of products that were none."""
        x = self.normal(4000, dtype=HALF)
        steps = ((SINGLE(1.3) * x.astype(SINGLE)).astype(HALF).astype(SINGLE) + SINGLE(0.3)).astype(HALF)
        self.check({"type": "ACTIVATION_LINEAR", "Alpha": 1.3, "Beta": 0.3}, [x], "float16-steps", steps)

    def test_states_that_are_rounded_before_products(self):
        steps, size, count = 5, 4, 3
        x, w, r = self.normal(1, steps, count, 6), self.normal(1, 1, size, 6) / 4, self.normal(1, 1, size, size) / 4
        for direction, times in (("FORWARD", range(steps)), ("BACKWARD", range(steps)[::-1])):
            network = {"type": "RNN", "Direction": direction, "ActivationDescs": [{"Type": "ACTIVATION_IDENTITY"}],
                       "OutputSequenceTensor": {"DataType": "FLOAT32", "Sizes": [steps, 1, count, size]}}
            state, states = np.zeros((count, size), SINGLE), np.empty((steps, 1, count, size), SINGLE)
            for time in times:
                terms = [products(bfloat16(a), bfloat16(b[0, 0].T.copy())) for a, b in ((x[0, time], w), (state, r))]
                states[time, 0] = state = np.concatenate(terms).sum(0).astype(SINGLE)
            self.check(network, [x, w, r], "inputs-bfloat16:computed", states)

    def test_results(self):
        x = self.normal(500)
        exact = np.exp(x.astype("f8"))
        nearest = exact.astype(SINGLE)
        self.check({"type": "ELEMENT_WISE_EXP"}, [x], "through-float16", nearest.astype(HALF).astype(SINGLE))
        below = np.nextafter(nearest, SINGLE(0))
        self.check({"type": "ELEMENT_WISE_EXP"}, [x], "toward-zero", np.where(nearest > exact, below, nearest))
        whole = np.array([2**60 - 1, -(2**24) - 3, 5], "i8")
        self.check({"type": "CAST", "OutputTensor": {"DataType": "FLOAT32"}}, [whole], "toward-zero", np.array([2**60 - 2**36, -(2**24) - 2, 5], SINGLE))
        quotients, whole = np.array([[-1.5, -0.5, 0.75, 2.75]], SINGLE), {"type": "ELEMENT_WISE_QUANTIZE_LINEAR", "OutputTensor": {"DataType": "INT8"}}
        for cut, rounded in (("", [0, 1, 1, 3]), (":after-zero-point", [0, 0, 1, 3]), (":floor", [-1, 0, 1, 3])):
            self.check(whole, [quotients, np.ones((1, 4), SINGLE), np.ones((1, 4), np.int8)], "toward-zero" + cut, np.array([rounded], np.int8))
        sums = np.array([[65504], [65504]], HALF)
        self.check({"type": "REDUCE", "Function": "SUM", "Axes": [0]}, [sums], "toward-zero", np.array([[65504]], HALF))
        # 1 + 2^-11 is a tie of FLOAT16, and what is added to it is less than FLOAT32 can tell.
        terms = np.array([[1], [2.0**-11], [2.0**-24]], HALF)
        tie = np.concatenate([terms, np.zeros((1, 1), HALF)])
        self.check({"type": "REDUCE", "Function": "SUM", "Axes": [0]}, [tie], "through-float32", np.array([[1]], HALF))
        tiny = np.array([1e-39, -1e-39, 2e-38, 1.5], SINGLE)
        self.check({"type": "ELEMENT_WISE_ABS"}, [tiny], "flush-subnormals:outputs", np.array([0, 0, 2e-38, 1.5], SINGLE))
        self.check({"type": "ACTIVATION_SCALED_TANH", "Alpha": 2.0**100, "Beta": 1}, [tiny], "flush-subnormals:inputs",
                   self.result({"type": "ACTIVATION_SCALED_TANH", "Alpha": 2.0**100, "Beta": 1}, [np.where(abs(tiny) < 2.0**-126, tiny * 0, tiny)]))
        self.check({"type": "ELEMENT_WISE_MULTIPLY"}, [tiny, np.array([1, 2.0**20, 0.25, 1], SINGLE)], "flush-subnormals",
                   np.array([0, -0.0, 0, 1.5], SINGLE))
        large = np.array([60000, -60000, 3], HALF)
        self.check({"type": "ELEMENT_WISE_ADD"}, [large, large], "saturated", np.array([65504, -65504, 6], HALF))

    def test_what_is_chosen(self):
        nan = np.array([np.nan, 1, -2, 0.5], SINGLE)
        other = np.array([0, np.nan, 7, 7], SINGLE)
        self.check({"type": "ACTIVATION_RELU"}, [nan], "nan-passes", np.array([np.nan, 1, 0, 0.5], SINGLE))
        self.check({"type": "ELEMENT_WISE_CLIP", "Min": -1, "Max": 0.75}, [nan], "nan-passes", np.array([np.nan, 0.75, -1, 0.5], SINGLE))
        self.check({"type": "ELEMENT_WISE_MAX"}, [nan, other], "nan-passes", np.maximum(nan, other))
        self.check({"type": "ACTIVATION_THRESHOLDED_RELU", "Alpha": 0.75}, [nan], "nan-passes", np.array([np.nan, 1, 0, 0], SINGLE))
        self.check({"type": "ACTIVATION_SHRINK", "Bias": 0, "Threshold": 0.75}, [nan], "nan-passes", np.array([np.nan, 1, -2, 0], SINGLE))
        self.check({"type": "ELEMENT_WISE_MIN"}, [nan, other], "nan-passes", np.minimum(nan, other))
        image = np.array([-1, -2, np.nan, -3, -4, -5, 2, 2], SINGLE).reshape(1, 1, 2, 4)
        pool = {"type": "MAX_POOLING1", "WindowSize": [2, 2], "Strides": [2, 2], "StartPadding": [0, 0], "EndPadding": [0, 0]}
        shaped = lambda *values: np.array(values, SINGLE).reshape(1, 1, 1, 2)
        self.check(pool, [image], "nan-passes", shaped(-1, np.nan))
        self.check(pool, [image], "starts-at-zero", shaped(0, 2))
        self.check({"type": "REDUCE", "Function": "MAX", "Axes": [3]}, [image], "starts-at-zero", np.array([0, 2], SINGLE).reshape(1, 1, 2, 1))
        ties = np.array([[3, 1, 3, 3], [2, 2, 1, 0]], SINGLE)
        for name, sign in [("ARGMAX", 1), ("ARGMIN", -1)]:
            for direction, expected in [("INCREASING", [[3], [1]]), ("DECREASING", [[0], [0]])]:
                arg = {"type": name, "Axes": [1], "AxisDirection": direction, "OutputTensor": {"DataType": "UINT32"}}
                self.check(arg, [sign * ties], "last-of-equals", np.array(expected, "u4"))
        places = pool | {"OutputIndicesTensor": {"DataType": "UINT32"}}
        self.save(x=image)
        self.run_program("run", json.dumps(places), "-i", "x.npy", "--as", "last-of-equals", "-o", "OutputTensor=y.npy", "-o", "OutputIndicesTensor=z.npy")
        self.assertEqual(self.load("z").ravel().tolist(), [0, 7])

    def test_integers(self):
        x = self.random.uniform(-400, 400, 300).astype(SINGLE)
        cast = lambda dtype: {"type": "CAST", "OutputTensor": {"DataType": dtype}}
        self.check(cast("INT8"), [x], "wrapped", np.trunc(x).astype("i8").astype("i1"))
        wide = self.random.integers(-2**62, 2**62, 300)
        wide[:2] = [2**63 - 1, -2**63]
        self.check(cast("INT16"), [wide], "saturated", np.clip(wide, -2**15, 2**15 - 1).astype("i2"))
        a, b = self.random.integers(0, 256, (2, 300)).astype("u1")
        self.check({"type": "ELEMENT_WISE_ADD"}, [a, b], "saturated", np.minimum(a.astype("i4") + b, 255).astype("u1"))
        zero = np.full(300, 121, "u1")
        scale = np.full(300, 0.013, SINGLE)
        dequantize = {"type": "ELEMENT_WISE_DEQUANTIZE_LINEAR"}
        self.check(dequantize, [a, scale, zero], "wrapped:differences", (a - zero) * scale)
        self.check(dequantize, [a, scale, zero], "inputs-float16", ((a.astype("f8") - 121) * scale.astype(HALF)).astype(SINGLE))
        a, b = (self.random.integers(0, 256, shape).astype("u1") for shape in ((40, 60), (60, 9)))
        sums = a.astype("i8") @ b.astype("i8")
        product = {"type": "MATRIX_MULTIPLY_INTEGER"}
        self.check(product, [a, b], "wrapped:int16", sums.astype("i2").astype("i4"))
        self.check(product, [a, b], "saturated:int16", np.clip(sums, -2**15, 2**15 - 1).astype("i4"))
        terms = a.T.astype("i8")[:, :, None] * b[:, None, :]
        self.check(product, [a, b], "saturated:int16-pairs", np.clip(terms[::2] + terms[1::2], -2**15, 2**15 - 1).sum(0).astype("i4"))
        mixed = b.view("i1")
        total = np.zeros((40, 9), "i8")
        for k in range(60):
            total = np.clip(total + a[:, k:k + 1].astype("i8") * mixed[k], -2**15, 2**15 - 1)
        self.check(product, [a, mixed], "saturated:int16-steps", total.astype("i4"))
        zero = self.random.integers(0, 256, 40).astype("u1")[:, None]
        signed = {name: f'/desc/{name}Tensor/DataType="INT8"' for name in ("A", "AZeroPoint")}
        for names, left, offset in [(["A"], a.view("i1"), zero), (["AZeroPoint"], a, zero.view("i1")),
                                    (["A", "AZeroPoint"], a.view("i1"), zero.view("i1")), (["AZeroPoint", "A"], a.view("i1"), zero.view("i1"))]:
            self.check(product, [a, b, zero], [signed[name] for name in names],
                       ((left.astype("i8") - offset) @ b.astype("i8")).astype("i4"))
        wide = a.astype("i4") << 4
        self.check({"type": "REDUCE", "Function": "SUM", "Axes": [0]}, [wide], "wrapped:int16", wide.sum(0, keepdims=True).astype("i2").astype("i4"))

    def test_activations_follow(self):
        """What is varied is the operator's own result, then the activation of that."""
        a, b = self.normal(9, 64, dtype=HALF), self.normal(64, 5, dtype=HALF)
        relu = gemm(HALF, 9, 64, 5, FusedActivation={"Type": "ACTIVATION_RELU"})
        own = Sum("float16", "blocks=8")(products(a, b)).astype(HALF)
        self.check(relu, [a, b], "sums-float16:blocks=8", np.maximum(own, HALF(0)))
        nan = a.copy()
        nan[0, 0] = np.nan
        own = self.result(gemm(HALF, 9, 64, 5), [nan, b])
        self.check(relu, [nan, b], "nan-passes", np.maximum(own, HALF(0)))

    def test_places(self):
        x = self.normal(2, 6, 5)
        y = self.normal(2, 6, 5)
        total = np.add(x, y)
        add = {"type": "ELEMENT_WISE_ADD"}
        shifted = np.zeros_like(total)
        shifted[:, :-2, 1:] = total[:, 2:, :-1]
        box, nan, bits, part = total.copy(), total.copy(), total.copy(), total.copy()
        part[:, 2:4, 1:3], box[:, 1:4, 4], nan[1], bits[:, ::2, 0] = total[:, 1:3, 1:3], 0, np.nan, np.array(0xFFC00001, "u4").view("f4")
        run = total.copy()
        run.ravel()[7:12] = 0.1
        tiles = total.copy()
        tiles[0, 0:2, 3:], tiles[0, 4:, 1:3] = total[0, 4:, 1:3], total[0, 0:2, 3:]
        for name, expected in [("shifted:[0,2,-1]", shifted), ("reversed:axis=1", total[:, ::-1]), ("reversed:axes=[0,2]", total[::-1, :, ::-1]),
                               ("permuted:[2,0,1]", total.transpose(2, 0, 1).reshape(total.shape)), ("from-input:BTensor", y),
                               ("shifted:[0,-1,0],block=[*, 2..3, 1..2]", part), ("not-written:[*, 1..3, 4]", box), ("not-written:[1, *, *]=nan", nan),
                               ("not-written", np.zeros_like(total)), ("not-written=-inf", np.full_like(total, -np.inf)), ("not-written:7..11=0.1", run),
                               ("not-written:[*, 0..4 by 2, 0]=0xffc00001", bits), ("exchanged:[0,4,-2],block=[0, 0..1, 3..4]", tiles)]:
            self.check(add, [x, y], name, expected)
        self.check(add, [x, y], "reversed:axis=0 + shifted:[1,0,0]", np.concatenate([total[:1], 0 * total[:1]]))
        total_of = lambda function, axis: {"type": "REDUCE", "Function": function, "Axes": [axis]}
        mean = lambda z: z.astype("f8").mean(1, keepdims=True).astype(SINGLE)
        zeros = np.where(np.arange(6)[:, None] < 4, x, SINGLE(0))
        self.check(total_of("AVERAGE", 1), [x], "tail-missing:axis=1,from=4", mean(zeros))
        self.check(total_of("AVERAGE", 1), [x], "tail-missing:axis=1,from=4,shorter", mean(x[:, :4]))
        self.check(total_of("MAX", 1), [x], "head-missing:axis=1,to=3,shorter", x[:, 3:].max(1, keepdims=True))
        self.check(total_of("MIN", 1), [x], "part-missing:axis=1,from=1,to=5,shorter", x[:, [0, 5]].min(1, keepdims=True))
        a, b = self.normal(4, 6), self.normal(6, 4)
        product = lambda a, b: products(a, b).sum(0).astype(SINGLE)
        self.check(gemm(SINGLE, 4, 6, 4), [a, b], "other-layout:ATensor=[1,0]", product(a.reshape(6, 4).T, b))
        self.check(gemm(SINGLE, 4, 6, 4), [a, b], "other-layout:ATensor:written=[1,0]", product(a.T.reshape(4, 6), b))
        self.check(gemm(SINGLE, 4, 6, 4), [a, b], "part-missing:axis=1,from=2,to=3", product(np.delete(a, 2, 1), np.delete(b, 2, 0)))
        self.check(gemm(SINGLE, 4, 6, 4), [a, b], "part-missing:axis=1,from=2,to=3,of=BTensor", product(a, b * SINGLE([1, 1, 0, 1])))
        self.check(add, [x, y], "permuted:[0,1,3,2],split=1/2", total.reshape(*total.shape[:1], -1, 2, total.shape[2]).swapaxes(2, 3).reshape(total.shape))
        self.check(add, [x, y], "other-layout:OutputTensor=[2,0,1]", total.reshape(5, 2, 6).transpose(1, 2, 0))
        self.check(add, [x, y], "other-layout:OutputTensor:written=[2,0,1]", total.transpose(2, 0, 1).reshape(total.shape))
        self.check(gemm(SINGLE, 4, 6, 4), [a, b], "other-layout:ATensor=[0,2,1],split=1/3", product(a[:, [0, 2, 4, 1, 3, 5]], b))
        self.check(add, [x, y], "other-layout:OutputTensor=[0,2,1,3],split=1/2", total[:, [0, 3, 1, 4, 2, 5]])
        self.check(gemm(SINGLE, 2, 2, 4), [a[:2, :2], b[:2]], "/bindings/ATensor=[3,0.5,-1,2]", product(SINGLE([[3, 0.5], [-1, 2]]), b[:2]))
        network = {"type": "RNN", "Direction": "BACKWARD", "ActivationDescs": [{"Type": "ACTIVATION_IDENTITY"}]}
        steps, sums = SINGLE([[[[2], [4]], [[8], [16]], [[32], [64]]]]), SINGLE([[[[1]]]])
        first, lengths = SINGLE([[[[128], [256]]]]), np.uint32([[[[3, 2]]]])
        for details, sequence in [("", [130, 260, 136, 272, 160, 0]), (",zeros", [2, 4, 8, 16, 32, 0]), (",later-zeros", [2, 4, 8, 272, 160, 0])]:
            self.check(network | {"OutputSequenceTensor": {"DataType": "FLOAT32", "Sizes": [3, 1, 2, 1]}}, [steps, sums, sums, first, lengths],
                       "head-missing:axis=0,every=1" + details, SINGLE(sequence).reshape(3, 1, 2, 1))
            self.check(network | {"OutputSingleTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 2, 1]}}, [steps, sums, sums, first, lengths],
                       "head-missing:axis=0,every=1" + details, SINGLE(sequence[:2]).reshape(1, 1, 2, 1))
        scan = {"type": "CUMULATIVE_SUMMATION", "Axis": 1, "AxisDirection": "INCREASING", "HasExclusiveSum": False}
        parts = np.concatenate([x[:, :4].astype("f8").cumsum(1), x[:, 4:].astype("f8").cumsum(1)], 1).astype(SINGLE)
        self.check(scan, [x], "head-missing:axis=1,every=4", parts)
        halves = x.astype(HALF)
        sums = np.concatenate([np.add.accumulate(halves[:, :4], 1), np.add.accumulate(halves[:, 4:], 1)], 1)
        self.check(scan, [halves], ["head-missing:axis=1,every=4", "sums-float16"], sums)
        image = self.normal(1, 1, 3, 4)
        pool = {"type": "AVERAGE_POOLING", "WindowSize": [1, 3], "Strides": [1, 1], "StartPadding": [0, 1], "EndPadding": [0, 1], "IncludePadding": True}
        pairs = (image + np.pad(image, [(0, 0), (0, 0), (0, 0), (1, 0)])[..., :-1].astype("f8")) / 3
        self.check(pool, [image], "tail-missing:taps,from=2,terms,counted", pairs.astype(SINGLE))
        rows = self.normal(3, 40_000)  # whose elements have a formula in common
        powers = np.exp(rows.astype("longdouble"))
        shares = powers / powers[:, :39_999].sum(1, keepdims=True)
        self.check({"type": "ACTIVATION_SOFTMAX1", "Axes": [1]}, [rows], "tail-missing:axis=1,from=39999,terms", shares.astype(SINGLE))
        for name, activated in [("RELU", lambda z: np.maximum(z, 0)), ("SOFTMAX", lambda z: np.exp(z) / np.exp(z).sum(1, keepdims=True))]:
            self.check(gemm(SINGLE, 4, 6, 4, FusedActivation={"Type": f"ACTIVATION_{name}"}), [a, b], "tail-missing:axis=1,from=4,terms",
                       activated(product(a[:, :4], b[:4]).astype("f8")).astype(SINGLE))
        for name, mode in [("padding-edge", "edge"), ("padding-edge:mirrored", "reflect"), ("padding-edge:symmetric", "symmetric"), ("padding-edge:wrapped", "wrap")]:
            # Where padding is longer than the image, it goes back and forth.
            wide = np.pad(image, [(0, 0), (0, 0), (0, 0), (6, 6)], mode).astype("f8")
            long = pool | {"StartPadding": [0, 6], "EndPadding": [0, 6], "IncludePadding": True}
            self.check(long, [image], name, ((wide[..., :-2] + wide[..., 1:-1] + wide[..., 2:]) / 3).astype(SINGLE))

    def test_several_at_once(self):
        a, b = self.normal(6, 50), self.normal(50, 4)
        rounded = bfloat16(a), bfloat16(b)
        self.check(gemm(SINGLE, 6, 50, 4), [a, b], ["inputs-bfloat16", "sums-float32:unfused"],
                   Sum("float32", "unfused")(products(*rounded)).astype(SINGLE))
        self.check(gemm(SINGLE, 6, 50, 4), [a, b], ["/desc/Alpha=-2", "sums-float32"],
                   (-2 * Sum("float32", "")(products(a, b))).astype(SINGLE))

    def test_activations_with_and_without_their_prefix(self):
        a, b = self.normal(6, 5), self.normal(6, 5)
        expected = np.maximum((a.astype("f8") + b).astype(SINGLE), 0)
        for fused in ({}, {"FusedActivation": {"Type": "ACTIVATION_LINEAR", "Alpha": 1, "Beta": 2}}):
            for name in ("RELU", "ACTIVATION_RELU"):
                self.check({"type": "ELEMENT_WISE_ADD1"} | fused, [a, b], f'/desc/FusedActivation/Type="{name}"', expected)

    def test_every_record_says_so(self):
        self.save(x=self.normal(3, 9, dtype=HALF))
        run = ["run", json.dumps({"type": "REDUCE", "Function": "SUM", "Axes": [1]}), "-i", "x.npy", "--as", "sums-float16", "--as", '/desc/Function="AVERAGE"']
        done = self.run_program(*run, "--report", "r.json")
        self.assertIn(b"OutputTensor as sums-float16 + /desc/Function=\"AVERAGE\", not DirectML's: ", done.stdout)
        self.assertIn(b'computed as /desc/Function="AVERAGE" (', done.stderr)
        self.assertIn(b"which is not DirectML's result", done.stderr)
        ids = ["sums-float16", '/desc/Function="AVERAGE"']
        self.assertEqual(json.loads((self.folder / "r.json").read_text())["as"], ids)
        self.assertEqual(json.loads(self.text_of(*run, "--format", "json"))["as"], ids)
        joined = [*run[:4], "--as", " + ".join(ids)]
        self.assertEqual(json.loads(self.text_of(*joined, "--format", "json"))["as"], ids)
        explain = ["explain", run[1], "OutputTensor[0,0]", "-i", "x.npy", "--format", "json"]
        told = json.loads(self.text_of(*explain, "--as", "reversed:axis=0 + " + ids[0]))["as"]
        self.assertEqual(told["ids"], ["reversed:axis=0", ids[0]])
        self.assertEqual(told["value"], told["partialSums"][0]["sums"][-1]["value"])
        self.assertEqual(told["value"], float(np.add.accumulate(self.load("x")[2])[-1]))

    def test_what_makes_no_difference_is_refused(self):
        self.save(x=self.normal(3, 9))
        for id in ("shifted:[0,0]", "/desc/ScaleBias=null", "/desc/InputTensor/Sizes=[3,9]"):
            self.errors_of("run", '{"type": "ELEMENT_WISE_IDENTITY"}', "-i", "x.npy", "--as", id, status=2)

    def test_the_manual_describes_each_id(self):
        ids = re.search(r"run:--as\) _dmlop_words ([^;]*)", self.text_of("completion", "bash"))[1].split()
        self.assertGreater(len(ids), 25)
        page = (ROOT / "man/dmlop-judging.7").read_text()
        listed = {name for line in re.findall(r"^\.It Cm (.*)$", page, re.M) for name in line.split(" , ")}
        for name in ids:
            self.assertIn(name, listed)

    def test_the_last_of_equals_are_selected_first(self):
        ties = np.array([[3, 1, 3, 2, 2], [0, 0, 5, 0, 5]], SINGLE)
        self.save(x=ties)
        for direction, places in [("DECREASING", [[2, 0, 4], [4, 2, 3]]), ("INCREASING", [[1, 4, 3], [3, 1, 0]])]:
            top = {"type": "TOP_K1", "Axis": 1, "K": 3, "AxisDirection": direction}
            self.run_program("run", json.dumps(top), "-i", "x.npy", "--as", "last-of-equals", "-o", "OutputValueTensor=y.npy", "-o", "OutputIndexTensor=z.npy")
            self.assertEqual(self.load("z").tolist(), places)
            self.assertEqual(self.load("y").tolist(), np.take_along_axis(ties, np.array(places), 1).tolist())

    def test_elements_that_are_not_chosen(self):
        self.save(x=self.normal(3, 9))
        errors = self.errors_of("run", json.dumps({"type": "CAST", "OutputTensor": {"DataType": "INT16"}}), "-i", "x.npy", "--as", "last-of-equals", status=2)
        self.assertIn("last-of-equals: makes no difference to CAST of these types", errors)

    def test_ids_that_are_refused(self):
        self.save(x=self.normal(3, 9, dtype=HALF))
        for ids, said in [(["sums-flaot16"], "there is no such variation (did you mean 'sums-float16'?)"),
                          (["/desc/Function=SUM"], """expected a value in JSON, such as '/desc/Function="SUM"'"""),
                          (["/desc/Function"], """expected a value in JSON, such as '/desc/Function="VALUE"'"""),
                          (["tail-missing:axis=1"], "has no such details; expected tail-missing:axis=1,from=80"),
                          (["tail-missing:axis=1,from=9"], "fits no input of REDUCE: InputTensor {3, 9}"),
                          (["shifted:[0,1,0]"], "fits no output of REDUCE: OutputTensor {3, 1}"), (["shifted:[0,1],block=[0]"], "fits no output of REDUCE: OutputTensor {3, 1}"),
                          *(([f"{part},terms"], "fits no input of REDUCE: InputTensor {3, 9}") for part in (
                              "tail-missing:axis=1,from=9", "part-missing:axis=1,from=5,to=2", "part-missing:axis=1,from=3,to=3", "head-missing:axis=1,to=10")),
                          (["shifted:[9223372036854775807,0]"], "fits no output of REDUCE: OutputTensor {3, 1}"),
                          (["tail-missing:taps,from=1"], "no such details"), (["shifted"], "expected shifted:[0,0,0,-1]"),
                          (["permuted:[0,0]"], "fits no output of REDUCE: OutputTensor {3, 1}"),
                          (["other-layout:OutputTensor=[0,0]"], "fits no output of REDUCE: OutputTensor {3, 1}"),
                          (["tail-missing:axis=1,from=5,of=X"], "fits no input of REDUCE: InputTensor {3, 9}"),
                          (["not-written:[*, 1]"], "fits no output of REDUCE: OutputTensor {3, 1}"),
                          (["not-written:[*, 0]=x"], "has no such details"),
                          (["from-input:XTensor"], "fits no input of REDUCE: InputTensor {3, 9}"),
                          (["other-layout:InputTensor=[0]"], "fits no input of REDUCE: InputTensor {3, 9}"),
                          (["other-layout:InputTensor=[0,2,1],split=1/2"], "fits no input of REDUCE: InputTensor {3, 9}"),
                          (["head-missing:axis=1,every=4,zeros"], "fits no output of REDUCE"), (["head-missing:axis=1,every=4,ones"], "has no such details"),
                          (["/bindings/InputTensor=[1,2]"], "this leads to nothing that can be changed so"),
                          (["padding-edge"], "REDUCE has no padding"),
                          (["padding-edge:torn"], "expected padding-edge"),
                          (["head-missing:axis=1,every=0"], "has no such details"),
                          (["sums-float16:block=4"], "sums-float16 has no such detail (did you mean 'blocks=4'?)"),
                          (["toward-zero:x"], "toward-zero has no such detail; expected one of after-zero-point, floor"),
                          (["nan-passes:x"], "nan-passes has no details"),
                          (["toward-zero:floor"], "toward-zero:floor: makes no difference to"),
                          (["nan-passes"], "nan-passes: makes no difference to REDUCE of these types"),
                          (["through-float16"], "through-float16: makes no difference to REDUCE of these types"),
                          (["fast-functions"], "there is nothing to run"),
                          (["sums-float16", "toward-zero"], "toward-zero: excludes sums-float16"),
                          (["/desc/Axes=[5]"], "/desc/Axes=[5]: ")]:
            with self.subTest(ids):
                options = [a for name in ids for a in ("--as", name)]
                errors = self.errors_of("run", json.dumps({"type": "REDUCE", "Function": "SUM", "Axes": [1]}), "-i", "x.npy", *options,
                                        "-o", "y.npy", status=2)
                self.assertIn(said, errors)
                self.assertFalse((self.folder / "y.npy").exists())


class ExplainTest(ProgramTest):
    def setUp(self):
        super().setUp()
        x = np.array([[0.1, 2048, -0.3, 1.5, 3, -2047, 0.25]], HALF)
        self.terms = x[0]
        self.save(x=x)
        self.descriptor = json.dumps({"type": "REDUCE", "Function": "SUM", "Axes": [1]})
        self.command = ["explain", self.descriptor, "OutputTensor[0,0]", "-i", "x.npy"]

    def explained(self, *options):
        return json.loads(self.text_of(*self.command, "--format", "json", "--full", *options))

    def partial_sums(self, name):
        told = self.explained("--as", name)["as"]
        self.assertEqual(told["ids"], [name])
        [sums] = told["partialSums"]
        self.assertEqual(sums["count"], len(sums["sums"]))
        return {sum["of"]: sum["value"] for sum in sums["sums"]}, told["value"]

    def test_partial_sums(self):
        x = self.terms
        prefixes = np.add.accumulate(x)
        sums, value = self.partial_sums("sums-float16")
        self.assertEqual(sums, {f"up to term {k}": float(prefix) for k, prefix in enumerate(prefixes)})
        self.assertEqual(value, float(prefixes[-1]))
        first, last = np.add.accumulate(x[:4])[-1], np.add.accumulate(x[4:])[-1]
        sums, value = self.partial_sums("sums-float16:blocks=4")
        self.assertEqual(sums, {"terms 0..3": float(first), "up to term 3": float(first), "terms 4..6": float(last), "up to term 6": float(first + last)})
        lanes = [x[0] + x[4], x[1] + x[5], x[2] + x[6], x[3]]
        halves = [lanes[0] + lanes[2], lanes[1] + lanes[3]]
        sums, value = self.partial_sums("sums-float16:lanes=4")
        self.assertEqual(sums, {f"lane {k}": float(lane) for k, lane in enumerate(lanes)} | {
            "level 1, sum 0": float(halves[0]), "level 1, sum 1": float(halves[1]), "level 2, sum 0": float(halves[0] + halves[1])})
        pairs = [x[0] + x[1], x[2] + x[3], x[4] + x[5]]
        next_pairs = [pairs[0] + pairs[1], pairs[2] + x[6]]
        sums, value = self.partial_sums("sums-float16:pairwise")
        self.assertEqual(sums, {f"level 1, sum {k}": float(pair) for k, pair in enumerate(pairs)} | {
            f"level 2, sum {k}": float(pair) for k, pair in enumerate(next_pairs)} | {"level 3, sum 0": float(next_pairs[0] + next_pairs[1])})
        self.assertEqual(value, float(next_pairs[0] + next_pairs[1]))

    def test_text_says_that_it_is_not_the_result(self):
        text = self.text_of(*self.command, "--as", "sums-float16", "--as", "inputs-bfloat16")
        self.assertIn("as inputs-bfloat16 (inputs rounded to BFLOAT16)", text.replace("as sums-float16 (sums in FLOAT16, in order) + ", "as "))
        self.assertIn("which is not DirectML's result:\n7 partial sums:\n  up to term 0: 0.10009765625\n", text)
        self.assertIn("DirectML's result: ", text)

    def test_changes_of_the_descriptor_are_explained(self):
        told = self.explained("--as", '/desc/Function="L1"')
        self.assertEqual(told["function"], "L1")
        self.assertEqual(told["as"]["value"], float(HALF(np.abs(self.terms.astype("f8")).sum())))
        self.assertEqual(told["as"]["exact"], float(HALF(self.terms.astype("f8").sum())))

    def test_elements_of_networks(self):
        """An element is computed from its item and the steps that it needs, and has the bits of the whole output."""
        gates = {"RNN": (1, ["TANH"]), "GRU": (3, ["SIGMOID", "TANH"]), "LSTM": (4, ["SIGMOID", "TANH", "TANH"])}
        steps, items, units, size = 6, 6, 4, 3
        for kind, (count, activations) in gates.items():
            for direction, directions in (("FORWARD", 1), ("BACKWARD", 1), ("BIDIRECTIONAL", 2)):
                sizes = {"InputTensor": [1, steps, items, size], "WeightTensor": [1, directions, count * units, size],
                         "RecurrenceTensor": [1, directions, count * units, units], "BiasTensor": [1, 1, directions, 2 * count * units],
                         "HiddenInitTensor": [1, directions, items, units]}
                bindings = {name: {"random": "normal", "seed": k} for k, name in enumerate(sizes)}
                desc = {name: {"DataType": "FLOAT32", "Sizes": one} for name, one in sizes.items()} | {
                    "SequenceLengthsTensor": {"DataType": "UINT32", "Sizes": [1, 1, 1, items]}, "Direction": direction,
                    "ActivationDescs": [{"Type": f"ACTIVATION_{one}"} for one in directions * activations],
                    "OutputSequenceTensor": {"Sizes": [steps, directions, items, units]},
                    "OutputSingleTensor": {"Sizes": [1, directions, items, units]}}
                desc |= {"LinearBeforeReset": True} if kind == "GRU" else {}
                desc |= {"ClipThreshold": 1, "UseClipThreshold": False, "CoupleInputForget": False} if kind == "LSTM" else {}
                self.write("n.json", {"type": kind, "desc": desc, "bindings": bindings | {"SequenceLengthsTensor": [6, 2, 0, 6, 4, 1]}})
                change = ["--as", "/desc/BiasTensor=null"]
                outputs = {"OutputSequenceTensor": "sequence.npy", "OutputSingleTensor": "single.npy"}
                self.run_program("run", "n.json", *change, *(f"-o{name}={file}" for name, file in outputs.items()), "-q")
                for name, file in outputs.items():
                    whole = np.load(self.folder / file)
                    for place in ((0, 0, 0, 0), (-1, -1, 3, 2), (whole.shape[0] // 2, -1, 4, 1), (whole.shape[0] // 3, 0, 1, 3)):
                        index = [i % n for i, n in zip(place, whole.shape)]
                        with self.subTest(kind, direction=direction, place=(name, index)):
                            found = json.loads(self.text_of("explain", "n.json", f"{name}{index}".replace(" ", ""), *change, "--format", "json"))
                            self.assertEqual(SINGLE(found["as"]["value"]), whole[tuple(index)])

    def test_the_value_of_a_device(self):
        exact = HALF(self.terms.astype("f8").sum())
        given = np.nextafter(np.nextafter(exact, HALF(9)), HALF(9))
        self.save(gpu=np.array([[given]]))
        size = np.abs(self.terms.astype("f8")).sum() + 2.0**-126
        ulp = float(np.nextafter(given, HALF(9)) - given)
        units = (float(given) - float(exact) - ulp) / (2.0**-24 * size)
        spellings = [str(float(given)), f"{float(given):.5}", f"0x{given.view('u2'):04x}"]
        for options in (*(["--actual", spelling] for spelling in spellings), ["--judge", "gpu.npy"], ["--judge", "OutputTensor=gpu.npy"]):
            actual = self.explained(*options)["actual"]
            self.assertEqual([actual[key] for key in ("value", "error", "ulp", "terms")], [float(given), float(given) - float(exact), 2, 7])
            self.assertAlmostEqual(actual["units"], units, delta=units * 1e-6)
            self.assertIn(f"actual: {float(given)}, off by ", self.text_of(*self.command, *options))
        for value in ("nan", "inf", "-inf"):
            self.assertEqual(self.explained("--actual", value)["actual"], {"value": value, "error": value, "terms": 7})
        self.assertIn("the same", self.text_of(*self.command, "--actual", f"{float(exact):.4g}"))

    def test_a_value_of_bfloat16(self):
        x = np.array([[0.1, 20, -0.3, 7.77]], SINGLE)
        exact = bfloat16(x.astype("f8").sum(axis=1, keepdims=True))
        given = exact.view("u4") + (3 << 16)  # three steps further
        self.save(x=x, gpu=(given >> 16).astype("u2").view("V2"))
        value = float(given.view(SINGLE)[0, 0])
        told = self.explained("--judge", "gpu.npy")["actual"]
        self.assertEqual([told[key] for key in ("value", "error", "ulp", "terms")], [value, value - float(exact[0, 0]), 3, 4])
        units = (value - float(exact[0, 0])) * 2 / 3 / (2.0**-8 * np.abs(x.astype("f8")).sum())
        self.assertAlmostEqual(told["units"], units, delta=units * 1e-6)
        self.assertIn("3 ULP of BFLOAT16", self.text_of(*self.command, "--judge", "gpu.npy"))

    def test_what_is_refused(self):
        self.save(wide=np.zeros((1, 2), HALF), single=np.zeros((1, 1), SINGLE))
        self.assertIn("for elements of outputs", self.errors_of("explain", self.descriptor, "InputTensor[0,0]", "-i", "x.npy", "--actual", 1, status=2))
        self.assertIn("excludes", self.errors_of(*self.command, "--actual", 1, "--judge", "wide.npy", status=2))
        self.assertIn("has sizes {1, 2}; expected {1, 1} [other-type-or-shape]", self.errors_of(*self.command, "--judge", "wide.npy", status=1))
        self.assertIn("has type FLOAT32; expected FLOAT16 [other-type-or-shape]", self.errors_of(*self.command, "--judge", "single.npy", status=1))
        self.errors_of(*self.command[:3], "--as", "sums-float16", status=2)
        for text in ("foo", "1x", "0x1", "0x12345"):
            self.assertIn(f"--actual: '{text}' is no number", self.errors_of(*self.command, "--actual", text, status=2))


if __name__ == "__main__":
    unittest.main()
