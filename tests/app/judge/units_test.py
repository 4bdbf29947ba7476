# SPDX-License-Identifier: Apache-2.0
"""Errors in units: S and the number of terms of a table of operators as NumPy computes them from their definitions,
and which devices the tolerances in units pass."""

import json
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import ProgramTest, start

SEED = 20
U = 2.0**-24
M = 2.0**-126
NAN = float("nan")
random = np.random.default_rng(SEED)


def normal(*sizes):
    return random.standard_normal(sizes).astype("f4")


def operator(name, bindings, **fields):
    return {"type": name, "desc": fields, "bindings": bindings}


A, B, C = normal(5, 7), normal(7, 6), normal(5, 6)
X, Y = normal(4, 9), normal(4, 9)
IMAGE, FILTER, BIAS = normal(1, 3, 6, 6), normal(2, 3, 3, 3), normal(1, 2, 1, 1)
SCALE = normal(1, 9)
POSITIVE = np.abs(X) + np.float32(0.5)


def abs64(x):
    return np.abs(x.astype("f8"))


def padded(x):
    return np.pad(x.astype("f8"), ((0, 0), (0, 0), (1, 1), (1, 1)))


def windows(x):
    """The taps of a 3 x 3 window around each place."""
    p = padded(x)
    return np.stack([p[:, :, i:i + 6, j:j + 6] for i in range(3) for j in range(3)], -1)


def convolved(image, filters):
    return np.einsum("nchwt,oct->nohw", windows(image), filters.astype("f8").reshape(2, 3, 9))


def normalization(x, scale, bias):
    x = x.astype("f8")
    deviation = np.sqrt(x.var(1, keepdims=True) + 1e-3)
    return abs64(scale) * (np.abs(x) + np.abs(x).mean(1, keepdims=True)) / deviation + abs64(bias)


def softmax_sizes(x):
    x = x.astype("f8")
    distance = x - x.max(1, keepdims=True)
    r = np.exp(distance) / np.exp(distance).sum(1, keepdims=True)
    return r * (1 + np.abs(distance))


def log_softmax_sizes(x):
    x = x.astype("f8")
    distance = x - x.max(1, keepdims=True)
    return np.abs(distance) + np.abs(np.log(np.exp(distance).sum(1, keepdims=True)))


def reduced(function, axes=(1,)):
    return operator("REDUCE", {"InputTensor": "a.npy"}, Function=function, Axes=list(axes))


def unary(name, **fields):
    return operator(name, {"InputTensor": "a.npy"}, **fields)


SCALED = {"ScaleBias": {"Scale": 0.75, "Bias": -0.5}}


def scaled(x):
    return 0.75 * x.astype("f8") - 0.5


def of_scaled(r, slope):
    """The result, and the sum of the magnitudes that it is a function of, times its slope."""
    return abs64(r) + np.abs(slope) * (0.75 * abs64(X) + 0.5)


def binary(name):
    return operator(name, {"ATensor": "a.npy", "BTensor": "b.npy"})


GEMM = {"TransA": "NONE", "TransB": "NONE"}
WINDOW = {"Strides": [1, 1], "WindowSize": [3, 3], "StartPadding": [1, 1], "EndPadding": [1, 1]}
TAPS = windows(np.ones((1, 3, 6, 6)))  # that are in the image
AXIS = {"Axis": 1, "AxisDirection": "INCREASING", "HasExclusiveSum": False}
ROW = {"Axes": [1]}
PLACES = np.broadcast_to(np.arange(1, 10), (4, 9))

# The operator, its files, S, and n; S is a function of the result r, which is the last argument.
TABLE = [
    (operator("GEMM", {"ATensor": "a.npy", "BTensor": "b.npy"}, Alpha=1, Beta=0, **GEMM), (A, B),
     lambda r: abs64(A) @ abs64(B), 7),
    (operator("GEMM", {"ATensor": "a.npy", "BTensor": "b.npy", "CTensor": "c.npy"}, Alpha=-1.5, Beta=0.25, **GEMM), (A, B, C),
     lambda r: 1.5 * (abs64(A) @ abs64(B)) + 0.25 * abs64(C), 8),
    (operator("CONVOLUTION", {"InputTensor": "a.npy", "FilterTensor": "b.npy", "BiasTensor": "c.npy"},
              Mode="CROSS_CORRELATION", Direction="FORWARD", Strides=[1, 1], Dilations=[1, 1], StartPadding=[1, 1],
              EndPadding=[1, 1], OutputPadding=[0, 0], GroupCount=1), (IMAGE, FILTER, BIAS),
     lambda r: convolved(np.abs(IMAGE), np.abs(FILTER)) + abs64(BIAS),
     np.broadcast_to(TAPS[:, :1].sum(-1) * 3 + 1, (1, 2, 6, 6))),
    (reduced("SUM"), (X,), lambda r: abs64(X).sum(1, keepdims=True), 9),
    (reduced("AVERAGE"), (X,), lambda r: abs64(X).mean(1, keepdims=True), 9),
    (reduced("SUM", (0, 1)), (X,), lambda r: abs64(X).sum(keepdims=True), 36),
    (reduced("L1"), (X,), abs64, 9),
    (reduced("L2"), (X,), abs64, 9),
    (reduced("SUM_SQUARE"), (X,), abs64, 9),
    (reduced("MULTIPLY"), (X,), abs64, 9),
    (reduced("LOG_SUM"), (POSITIVE,), lambda r: 1 + abs64(r), 9),
    (operator("AVERAGE_POOLING", {"InputTensor": "a.npy"}, IncludePadding=False, **WINDOW), (IMAGE,),
     lambda r: windows(np.abs(IMAGE)).sum(-1) / TAPS.sum(-1), TAPS.sum(-1)),
    (operator("AVERAGE_POOLING", {"InputTensor": "a.npy"}, IncludePadding=True, **WINDOW), (IMAGE,),
     lambda r: windows(np.abs(IMAGE)).sum(-1) / 9, TAPS.sum(-1)),
    (unary("CUMULATIVE_SUMMATION", **AXIS), (X,), lambda r: abs64(X).cumsum(1), PLACES),
    (unary("CUMULATIVE_PRODUCT", Axis=1, AxisDirection="INCREASING", HasExclusiveProduct=False), (X,), abs64, PLACES),
    (binary("ELEMENT_WISE_ADD"), (X, Y), lambda r: abs64(X) + abs64(Y), 2),
    (binary("ELEMENT_WISE_SUBTRACT"), (X, Y), lambda r: abs64(X) + abs64(Y), 2),
    (binary("ELEMENT_WISE_MEAN"), (X, Y), lambda r: abs64(X) + abs64(Y), 2),
    (binary("ELEMENT_WISE_MULTIPLY"), (X, Y), abs64, 2),
    (binary("ELEMENT_WISE_DIVIDE"), (X, Y), abs64, 2),
    (binary("ELEMENT_WISE_DIFFERENCE_SQUARE"), (X, Y), abs64, 2),
    (unary("ELEMENT_WISE_EXP"), (X,), abs64, 1),
    (unary("ELEMENT_WISE_SIN"), (X,), abs64, 1),
    (unary("ELEMENT_WISE_EXP", **SCALED), (X,), lambda r: of_scaled(r, r.astype("f8")), 2),
    (unary("ELEMENT_WISE_COS", **SCALED), (X,), lambda r: of_scaled(r, np.sin(scaled(X))), 2),
    (unary("ELEMENT_WISE_TAN", **SCALED), (X,), lambda r: of_scaled(r, 1 + np.square(r.astype("f8"))), 2),
    (unary("ELEMENT_WISE_RECIP", **SCALED), (X,), lambda r: of_scaled(r, np.square(r.astype("f8"))), 2),
    (unary("ELEMENT_WISE_CONSTANT_POW", Exponent=3, **SCALED), (X,), lambda r: of_scaled(r, 3 * np.square(scaled(X))), 2),
    (unary("ELEMENT_WISE_SQRT", **SCALED), (POSITIVE + 2,), lambda r: abs64(r) + (0.75 * (POSITIVE + 2) + 0.5) / (2 * abs64(r)), 2),
    (unary("ACTIVATION_CELU", Alpha=0.5), (POSITIVE + 8,), abs64, None),
    (unary("ACTIVATION_TANH"), (X,), abs64, 1),
    (unary("ACTIVATION_GELU"), (X,), lambda r: abs64(X), None),
    (unary("ACTIVATION_LINEAR", Alpha=-2, Beta=0.5), (X,), lambda r: 2 * abs64(X) + 0.5, 2),
    (unary("ACTIVATION_RELU"), (X,), abs64, 1),
    (unary("ACTIVATION_SOFTMAX1", **ROW), (X,), lambda r: softmax_sizes(X), 9),
    (unary("ACTIVATION_LOG_SOFTMAX1", **ROW), (X,), lambda r: log_softmax_sizes(X), None),
    (operator("MEAN_VARIANCE_NORMALIZATION1", {"InputTensor": "a.npy", "ScaleTensor": "b.npy", "BiasTensor": "c.npy"},
              ScaleTensor={"Sizes": [1, 9]}, BiasTensor={"Sizes": [1, 9]}, Axes=[1], NormalizeVariance=True, Epsilon=1e-3),
     (X, SCALE, SCALE), lambda r: normalization(X, SCALE, SCALE), None),
]


def name_of(document):
    return document["type"] + "".join(f" {value}" for value in document["desc"].values() if isinstance(value, str))


class UnitsTest(ProgramTest):
    def judged(self, document, actual, *options, status=1):
        self.write("d.json", document)
        np.save(self.folder / "actual.npy", actual)
        text = self.text_of("run", "d.json", "--judge", "actual.npy", "--format", "json", *options, status=status)
        return json.loads(text)["comparisons"][0]

    def bind(self, arrays):
        self.save(**dict(zip("abc", arrays)))

    def result_of(self, document):
        self.write("d.json", document)
        self.run_program("run", "d.json", "-o", "r.npy")
        return self.load("r")

    def test_units_of_a_table_of_operators(self):
        """Each case has one element that is off by a part of 2^-10, or by 1 if it is 0."""
        print("seed", SEED)
        for number, (document, arrays, size, terms) in enumerate(TABLE):
            self.bind(arrays)
            r = self.result_of(document)
            sizes = np.broadcast_to(size(r), r.shape)
            for place in (0, r.size // 2, r.size - 1):
                with self.subTest(name_of(document), place=place):
                    actual = r.copy()
                    actual.flat[place] += np.float32(max(1, abs(r.flat[place])) * 2.0**-10 * (1 + number % 3))
                    found = self.judged(document, actual)
                    a, e = float(actual.flat[place]), float(r.flat[place])
                    excused = (np.spacing(abs(actual.flat[place])) + np.spacing(abs(r.flat[place]))) / 2
                    expected = (abs(a - e) - excused) / (U * (sizes.flat[place] + M))
                    self.assertAlmostEqual(found["worst"]["unitError"] / expected, 1, delta=1e-4)
                    self.assertEqual(found["units"]["max"], found["worst"]["unitError"])
                    if terms is not None:
                        self.assertEqual(found["terms"], np.max(terms))
                        allowed = np.broadcast_to(terms, r.shape).flat[place]
                        self.assertLessEqual(allowed, found["terms"])

    def test_outputs_without_units(self):
        self.bind((X,))
        for document in (unary("ELEMENT_WISE_IDENTITY"), unary("CAST", OutputTensor={"DataType": "INT32"}),
                         operator("SLICE1", {"InputTensor": "a.npy"}, InputWindowOffsets=[0, 0], InputWindowSizes=[4, 3],
                                  InputWindowStrides=[1, 1])):
            with self.subTest(document["type"]):
                r = self.result_of(document)
                for tolerance in ([], ["--tolerance", "sums"], ["--tolerance", "noise"], ["--units", "1e30"]):
                    self.assertNotIn("units", self.judged(document, r + r.dtype.type(1), *tolerance))
                    self.judged(document, r, *tolerance, status=0)

    # --- devices ----------------------------------------------------------------------------------

    def product(self, terms, dtype="f4"):
        a, b = (random.standard_normal(shape).astype(dtype) for shape in ((48, terms), (terms, 48)))
        self.bind((a, b))
        return operator("GEMM", {"ATensor": "a.npy", "BTensor": "b.npy"}, Alpha=1, Beta=0, **GEMM), a, b

    def statuses(self, document, actual):
        def passes(*options):
            self.write("d.json", document)
            np.save(self.folder / "actual.npy", actual)
            return start(["run", "d.json", "--judge", "actual.npy", "-q", *options], cwd=self.folder).returncode == 0
        return passes("--tolerance", "sums"), passes("--tolerance", "noise")

    def test_right_devices_pass(self):
        for terms in (64, 256, 1024):
            document, a, b = self.product(terms)
            in_order = np.zeros((48, 48), "f4")
            for k in range(terms):
                in_order += a[:, k:k + 1] * b[k:k + 1]
            halves = np.add.reduce(a[:, :, None] * b[None], 1, dtype="f4")
            for actual in (in_order, halves, (a.astype("f8") @ b.astype("f8")).astype("f4")):
                self.assertEqual(self.statuses(document, actual), (True, True))

    def test_devices_that_lose_digits_or_terms_fail(self):
        def cut(x, bits):  # to so many binary digits, ties away
            unit = np.uint32(1 << (24 - bits))
            return ((x.view("u4") + unit // 2) & ~(unit - np.uint32(1))).view("f4")
        for terms in (64, 256):
            document, a, b = self.product(terms)
            halves = np.zeros((48, 48), "f2")
            for k in range(terms):
                halves = (halves + (a[:, k:k + 1] * b[k:k + 1]).astype("f2")).astype("f2")
            for name, actual in [("FLOAT16 sums", halves.astype("f4")),
                                 ("TF32", (cut(a, 11).astype("f8") @ cut(b, 11).astype("f8")).astype("f4")),
                                 ("bfloat16", (cut(a, 8).astype("f8") @ cut(b, 8).astype("f8")).astype("f4")),
                                 ("a lost term", (a[:, 1:].astype("f8") @ b[1:].astype("f8")).astype("f4"))]:
                with self.subTest(name, terms=terms):
                    self.assertEqual(self.statuses(document, actual), (False, False))

    def test_sums_that_values_choose(self):
        """One pixel of a gradient of maxima wins nine windows, whose gradients cancel; all others win one or none."""
        image, gradients = np.zeros((1, 1, 64, 64), "f4"), np.zeros((1, 1, 62, 62), "f4")
        image[0, 0, 30, 33] = 1
        won = normal(9)
        won[8] = np.float32(1e-3) - won[:8].sum(dtype="f8")
        gradients[0, 0, 28:31, 31:34] = won.reshape(3, 3)
        self.bind((image, gradients))
        document = operator("MAX_POOLING_GRAD", {"InputTensor": "a.npy", "InputGradientTensor": "b.npy"}, Strides=[1, 1],
                            WindowSize=[3, 3], StartPadding=[0, 0], EndPadding=[0, 0], Dilations=[1, 1])
        actual = self.result_of(document)
        right = actual[0, 0, 30, 33]
        self.assertEqual(right, np.float32(won.sum(dtype="f8")))
        actual[0, 0, 30, 33] += np.float32(8 * U * np.abs(won).sum())
        self.assertGreater(abs(actual[0, 0, 30, 33] - right), 100 * U * abs(right))
        found = self.judged(document, actual, "--tolerance", "sums", status=0)
        excused = (np.spacing(actual[0, 0, 30, 33]) + np.spacing(right)) / 2
        error = abs(float(actual[0, 0, 30, 33]) - float(right)) - excused
        self.assertAlmostEqual(found["units"]["max"] / (error / (U * np.abs(won).sum(dtype="f8"))), 1, delta=1e-4)
        self.assertEqual(found["terms"], 9)

    def test_noise_is_a_matter_of_the_median(self):
        """TF32 at 16384 terms passes `sums`, but not `noise`."""
        a, b = (random.standard_normal(shape).astype("f4") for shape in ((32, 16384), (16384, 32)))
        self.bind((a, b))
        document = operator("GEMM", {"ATensor": "a.npy", "BTensor": "b.npy"}, Alpha=1, Beta=0, **GEMM)
        cut = [((x.view("u4") + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view("f4").astype("f8") for x in (a, b)]
        self.assertEqual(self.statuses(document, (cut[0] @ cut[1]).astype("f4")), (True, False))

    def test_sums_of_float16(self):
        document, a, b = self.product(256)
        halves = np.zeros((48, 48), "f2")
        for k in range(256):
            halves = (halves + (a[:, k:k + 1] * b[k:k + 1]).astype("f2")).astype("f2")
        self.judged(document, halves.astype("f4"), "--tolerance", "sums=FLOAT16", status=0)
        self.judged(document, halves.astype("f4"), "--tolerance", "SUMS=float32", status=1)
        document, a, b = self.product(2048)
        self.write("d.json", document)
        np.save(self.folder / "actual.npy", self.result_of(document))
        self.assertIn("zeros would pass", self.errors_of("run", "d.json", "--judge", "actual.npy", "--tolerance",
                                                         "sums=FLOAT16", status=2))

    def test_bfloat16_of_many_terms(self):
        """Its roundoff is 2^-8, so that 256 terms may come to nothing; a maximum of many is only moved."""
        def bfloat16(x):
            return (x.view("u4") >> 16).astype("u2").view("V2")
        for terms, options, status in ((255, ("--tolerance", "sums"), 0), (256, ("--tolerance", "sums"), 2), (256, ("--tolerance", "noise"), 2),
                                       (256, ("--units", "4"), 0)):
            with self.subTest(terms=terms, options=options):
                document, _, _ = self.product(terms)
                actual = bfloat16(self.result_of(document))
                self.write("d.json", document)
                np.save(self.folder / "actual.npy", actual)
                judged = ("run", "d.json", "--judge", "actual.npy", *options)
                if status == 2:
                    self.assertIn(f"sums of bfloat16 are no tolerance for {terms} terms: from 256 on, zeros would pass",
                                  self.errors_of(*judged, status=status))
                else:
                    self.run_program(*judged, status=status)
        self.bind((np.ones((4, 512), "f4"),))
        document = reduced("SUM")
        np.save(self.folder / "actual.npy", bfloat16(self.result_of(document)))  # equal, which is no reason to pass
        self.assertIn("zeros would pass", self.errors_of("run", "d.json", "--judge", "actual.npy", "--tolerance", "sums", status=2))
        self.bind((normal(4, 512),))
        document = reduced("MAX")
        np.save(self.folder / "actual.npy", bfloat16(self.result_of(document)))
        self.run_program("run", "d.json", "--judge", "actual.npy", "--tolerance", "sums", status=0)

    def test_coordinates_of_regions_are_rounded(self):
        """ROI_ALIGN far from the origin: a coordinate that is off by half an ulp moves a sample along a slope."""
        image = np.zeros((1, 1, 4, 300), "f4") + (np.arange(300, dtype="f4") % 2) * 64
        roi = np.array([[250.3, 1, 258.9, 3]], "f4")
        self.bind((image, roi))
        self.save(c=np.zeros(1, "u4"))
        document = operator("ROI_ALIGN", {"InputTensor": "a.npy", "ROITensor": "b.npy", "BatchIndicesTensor": "c.npy"},
                            OutputTensor={"Sizes": [1, 1, 1, 2]}, ReductionFunction="AVERAGE", InterpolationMode="LINEAR", SpatialScaleX=1,
                            SpatialScaleY=1, OutOfBoundsInputValue=0, MinimumSamplesPerOutput=1, MaximumSamplesPerOutput=1)
        r = self.result_of(document)
        shifted = r + np.float32(64 * 250 * U * 4)
        self.judged(document, shifted, "--tolerance", "sums", status=0)
        found = self.judged(document, r * np.float32(1.01))
        self.assertLess(found["units"]["max"] * U * 64 * 250, 1.01 * np.abs(r).max() * 64)
        self.judged(document, r + np.float32(64 * 250 * 300 * U), "--tolerance", "sums", status=1)

    def test_networks_may_be_off_by_more_at_each_step(self):
        x, w, h = (normal(*sizes) * np.float32(0.1) for sizes in ((1, 6, 1, 3), (1, 1, 4, 3), (1, 1, 4, 4)))
        self.bind((x, w, h))
        document = operator("RNN", {"InputTensor": "a.npy", "WeightTensor": "b.npy", "RecurrenceTensor": "c.npy"},
                            ActivationDescs=[{"Type": "ACTIVATION_TANH"}], Direction="FORWARD", OutputSequenceTensor={"Sizes": [6, 1, 1, 4]})
        self.write("d.json", document)
        self.run_program("run", "d.json", "-o", "r.npy")
        r = self.load("r")
        for direction, steps in (("FORWARD", range(1, 7)), ("BACKWARD", range(6, 0, -1))):
            document["desc"]["Direction"] = direction
            self.write("d.json", document)
            self.run_program("run", "d.json", "-o", "r.npy")
            r = self.load("r")
            for place, so_far in zip(range(6), steps):
                def off(units):
                    actual = r.copy()
                    actual[place] += np.float32(2.0**-10)
                    one = self.judged(document, actual)["worst"]["unitError"] / 2.0**-10
                    actual[place] = r[place] + np.float32(units / one)
                    return actual
                n = self.judged(document, off(1000))["terms"]
                self.judged(document, off((n + 8) * so_far * 0.8), "--tolerance", "sums", status=0)
                self.judged(document, off((n + 8) * so_far * 1.3), "--tolerance", "sums", status=1)

    def test_half_an_ulp_of_a_state_is_excused(self):
        """A state of 2049 becomes 2048, half an ulp of FLOAT16 less, which a device that keeps FLOAT32 passes on to the next step."""
        self.bind((np.array([[[[2048, 1]], [[-2048, 0]]]], "f2"), np.ones((1, 1, 1, 2), "f2"), np.full((1, 1, 1, 1), 1, "f2")))
        document = operator("RNN", {"InputTensor": "a.npy", "WeightTensor": "b.npy", "RecurrenceTensor": "c.npy"}, Direction="FORWARD",
                            ActivationDescs=[{"Type": "ACTIVATION_LINEAR", "Alpha": 1, "Beta": 0}], OutputSingleTensor={"Sizes": [1, 1, 1, 1]})
        self.assertEqual(self.result_of(document).item(), 0)
        for value, status in ((1, 0), (1.1, 1)):
            for tolerance in ("sums", "noise"):
                self.judged(document, np.full((1, 1, 1, 1), value, "f2"), "--tolerance", tolerance, status=status)

    def test_gates_of_networks_whose_terms_cancel(self):
        """S of a gate are the magnitudes of its terms, unless they are clipped for sure."""
        def input_of(last):
            return np.array([[[[4096, 4096, last]]]], "f4")
        def network(name, gates, **fields):
            self.bind((input_of(0), np.tile(np.array([4096, -4096, 1], "f4"), (1, 1, gates, 1)), np.zeros((1, 1, gates, 1), "f4")))
            return operator(name, {"InputTensor": "a.npy", "WeightTensor": "b.npy", "RecurrenceTensor": "c.npy"}, Direction="FORWARD",
                            OutputSingleTensor={"Sizes": [1, 1, 1, 1]}, **fields)
        document = network("RNN", 1, ActivationDescs=[{"Type": "ACTIVATION_SOFTSIGN"}])
        self.save(a=input_of(0.5))
        r = self.result_of(document)
        found = self.judged(document, r * np.float32(0.5))
        error = r.item() / 2 - (np.spacing(r.item() / 2, dtype="f4") + np.spacing(r).item()) / 2
        self.assertAlmostEqual(found["units"]["max"] / (error / (U * (2.0**25 + 0.5 + r.item()))), 1, delta=1e-4)
        self.judged(document, r * 0, "--tolerance", "sums", status=0)
        document = network("LSTM", 4, ActivationDescs=[{"Type": "ACTIVATION_RELU"}] * 3, ClipThreshold=2, UseClipThreshold=True,
                           CoupleInputForget=False)
        for last, status in ((1, 0), (3, 0), (2.0**26, 1)):
            with self.subTest(last=last):
                self.save(a=input_of(last))
                r = self.result_of(document)
                self.assertEqual(r.item(), min(last, 2) ** 3)
                self.judged(document, r * 0, "--tolerance", "sums", status=status)

    def test_functions_of_scaled_arguments_that_jump_or_turn(self):
        """A device that rounds Scale * x before it adds Bias takes the function of another number, which is right."""
        tenths = np.float32(0.1) * np.arange(-50, 51, dtype="f4").reshape(1, -1)
        thirds = np.arange(-50, 51, dtype="f4").reshape(1, -1) / np.float32(3)
        large = np.random.default_rng(SEED).normal(size=(1, 99)).astype("f4") * np.float32(1e5)
        beside = np.float32(10) + np.float32(2.0**-20) * np.arange(-50, 51, dtype="f4").reshape(1, -1)
        for name, x, scale, bias, fields in (
                ("FLOOR", tenths, 10, 3, {}), ("CEIL", thirds, 3, -1, {}), ("SQRT", tenths, 10, 3, {}), ("RECIP", tenths, 10, 3, {}),
                ("LOG", tenths, 10, 3, {}), ("CONSTANT_POW", tenths, 10, 3, {"Exponent": -1.5}), ("SIN", large, 1.7, 0.3, {}),
                ("COS", large, 1.7, 0.3, {}), ("TAN", large, 1.7, 0.3, {}), ("ATANH", beside, 10, -101, {}), ("ACOS", beside, 10, -101, {}),
                ("ERF", beside, 10, -100, {}), ("CLIP", beside, 10, -100, {"Min": -1e-4, "Max": 1e-4})):
            with self.subTest(name):
                self.bind((x * np.float32(scale) + np.float32(bias),))
                actual = self.result_of(unary("ELEMENT_WISE_" + name, **fields))
                self.bind((x,))
                document = unary("ELEMENT_WISE_" + name, ScaleBias={"Scale": scale, "Bias": bias}, **fields)
                r = self.result_of(document)
                self.assertFalse(np.array_equal(r, actual, equal_nan=True))
                self.judged(document, actual, "--tolerance", "sums", status=0)
        self.bind((tenths,))
        for name in ("FLOOR", "RECIP"):  # far from integers and the pole
            document = unary("ELEMENT_WISE_" + name, ScaleBias={"Scale": 10, "Bias": 3.5})
            r = self.result_of(document)
            r[0, 3] += r.dtype.type(1)
            self.judged(document, r, "--tolerance", "sums", status=1)

    def test_half_an_ulp_before_an_activation_is_excused(self):
        """2049 becomes 2048, half an ulp of FLOAT16 less, of which LINEAR passes on a quarter."""
        self.bind((np.array([[1, 1]], "f2"), np.array([[2048], [1]], "f2")))
        document = operator("GEMM", {"ATensor": "a.npy", "BTensor": "b.npy"}, Alpha=1, Beta=0, **GEMM,
                            FusedActivation={"Type": "ACTIVATION_LINEAR", "Alpha": 0.25, "Beta": -512})
        self.assertEqual(self.result_of(document).item(), 0)
        self.assertEqual(self.judged(document, np.array([[0.25]], "f2"), "--tolerance", "sums", status=0)["units"]["max"], 0)
        self.judged(document, np.array([[0.2509765625]], "f2"), "--tolerance", "sums", status=0)
        self.judged(document, np.array([[0.275]], "f2"), "--tolerance", "sums", status=1)

    def test_only_halves_are_infinite_before_an_activation(self):
        """70000 is infinite in FLOAT16, and the SOFTSIGN of infinity NaN, but an infinite element is so for all devices."""
        document = operator("GEMM", {"ATensor": "a.npy", "BTensor": "b.npy"}, Alpha=1, Beta=0, **GEMM, FusedActivation={"Type": "ACTIVATION_SOFTSIGN"})
        for element, status in ((35000, 0), (np.inf, 1)):
            self.bind((np.full((1, 2), element, "f2"), np.ones((2, 1), "f2")))
            self.assertTrue(np.isnan(self.result_of(document).item()))
            self.judged(document, np.array([[1]], "f2"), "--tolerance", "sums", status=status)

    def test_sums_beyond_the_type(self):
        """A device may overflow before it scales."""
        a = np.full((1, 4), 3e38, "f4")
        self.bind((a, np.array([[1], [1], [-1], [-1]], "f4")))
        document = operator("GEMM", {"ATensor": "a.npy", "BTensor": "b.npy"}, Alpha=1e-30, Beta=0, **GEMM)
        for value in (np.inf, NAN, 0):
            self.judged(document, np.array([[value]], "f4"), "--tolerance", "sums", status=0)
        document["desc"]["Alpha"] = 1
        self.bind((a / 8, np.array([[1], [1], [-1], [-1]], "f4")))
        for value in (np.inf, NAN, 3e37):
            self.judged(document, np.array([[value]], "f4"), "--tolerance", "sums", status=1)
        document["desc"]["FusedActivation"] = {"Type": "ACTIVATION_LINEAR", "Alpha": 0.25, "Beta": 0}
        for inputs, status in ((a, 0), (a / 8, 1)):
            self.bind((inputs, np.array([[1], [1], [-1], [-1]], "f4")))
            for value in (np.inf, NAN):
                self.judged(document, np.array([[value]], "f4"), "--tolerance", "sums", status=status)

    def test_sums_beyond_the_type_before_a_division(self):
        """A device may add up a slice before it divides by the count: there, not where the sum fits."""
        x = np.array([[3e38, 2.9e38, -1e38, 2.5e38], [3e37, 2.9e37, -1e37, 2.5e37]], "f4")
        self.bind((x,))
        for variance in (True, False):
            document = unary("MEAN_VARIANCE_NORMALIZATION1", Axes=[1], NormalizeVariance=variance, Epsilon=1e-5)
            expected = self.result_of(document)
            for value in (np.inf, -np.inf, NAN):
                for row, status in ((0, 0), (1, 1)):
                    with self.subTest(variance=variance, value=value, row=row):
                        actual = expected.copy()
                        actual[row] = value
                        self.judged(document, actual, "--tolerance", "sums", status=status)
            self.judged(document, np.zeros_like(x), "--tolerance", "sums", status=1)

    def test_an_infinite_result_is_no_number(self):
        """It may be NaN, or the other infinity, only where an order of additions or factors makes it so."""
        most, huge = np.finfo("f4").max, 3e38
        number, sign = {1, most}, {1, most, NAN, -np.inf}
        pair = {"ATensor": "a.npy", "BTensor": "b.npy"}
        table = [(operator("ELEMENT_WISE_DIVIDE", pair), [1], [0], sign),
                 (operator("ELEMENT_WISE_MULTIPLY", pair), [huge], [4], sign),
                 (operator("ELEMENT_WISE_ADD", pair), [np.inf], [1], sign),
                 (operator("ELEMENT_WISE_ADD", pair), [huge], [huge], sign),
                 (operator("ELEMENT_WISE_MAX", pair), [np.inf], [1], sign),
                 (operator("ELEMENT_WISE_POW", {"InputTensor": "a.npy", "ExponentTensor": "b.npy"}), [10], [40], sign),
                 (unary("ELEMENT_WISE_EXP"), [100], [], sign),
                 (unary("ELEMENT_WISE_RECIP"), [1e-40], [], sign),
                 (unary("ELEMENT_WISE_ATANH"), [1], [], sign),
                 (unary("ACTIVATION_LINEAR", Alpha=4, Beta=0), [huge], [], sign),
                 (unary("ACTIVATION_GELU"), [np.inf], [], sign),
                 (reduced("MAX"), [[np.inf, 1]], [], sign),
                 (reduced("L1"), [[huge, huge]], [], sign),
                 (reduced("SUM_SQUARE"), [[huge, 1]], [], sign),
                 (reduced("SUM"), [[huge, huge, -1]], [], number),
                 (reduced("MULTIPLY"), [[huge, 4, 0.5]], [], number)]
        for document, a, b, wrong in table:
            self.bind((np.array(a, "f4"), np.array(b, "f4")))
            expected = self.result_of(document)
            for value in sign:
                actual = np.full_like(expected, value)
                with self.subTest(document=document, value=value):
                    self.assertEqual(self.statuses(document, actual), (value not in wrong, value not in wrong))

    def test_long_sums_that_are_infinite(self):
        """Each has all the terms before it, so that only some of them can be evaluated."""
        self.bind((np.full((1, 1, 1, 200000), np.inf, "f4"),))
        document = unary("CUMULATIVE_SUMMATION", Axis=3, AxisDirection="INCREASING", HasExclusiveSum=False)
        actual = np.full((1, 1, 1, 200000), np.inf, "f4")
        actual[0, 0, 0, 5] = 1
        self.assertEqual(self.statuses(document, actual), (False, False))

    def test_numbers_beside_the_end_of_the_range(self):
        """The greatest FLOAT16 is a faithful value of what is between it and 65536, which rounds to infinity."""
        for terms, passes in (((32768, 32752), True), ((32768, 32832), False), ((65504, 65504), False)):
            self.bind((np.array([terms], "f2"),))
            document = reduced("SUM")
            self.assertTrue(np.isinf(self.result_of(document).item()))
            self.assertEqual(self.statuses(document, np.array([[65504]], "f2")), (passes, passes))

    # --- words ------------------------------------------------------------------------------------

    def test_units_decide_which_element_is_the_worst(self):
        """The first element cancels, so that its ULP are many."""
        self.bind((np.array([[1, 1], [-1, 1]], "f4"), np.array([[1, 1], [1.0000001, 1]], "f4")))
        document = operator("ELEMENT_WISE_ADD", {"ATensor": "a.npy", "BTensor": "b.npy"})
        actual = np.array([[2, 2.0001], [2e-7, 2]], "f4")
        found = self.judged(document, actual)
        self.assertEqual(found["worst"]["index"], [0, 1])
        self.judged(document, actual, "--units", "1000", status=0)
        self.write("d.json", document | {"tolerance": {"units": 1000}})
        self.run_program("run", "d.json", "--judge", "actual.npy")
        text = self.text_of("run", "d.json", "--judge", "actual.npy", "-v")
        self.assertEqual(text, "")

    def test_a_batch_reports_units(self):
        self.bind((X, Y))
        case = binary("ELEMENT_WISE_ADD")
        case["bindings"]["OutputTensor"] = "o.npy"
        self.write("cases.jsonl", case)
        actual = X + Y
        actual[0, 0] = np.nextafter(np.nextafter(actual[0, 0], np.float32(9)), np.float32(9))
        np.save(self.folder / "o.npy", actual)
        self.run_program("batch", "cases.jsonl", "--judge", "--tolerance", "sums", "--report", "r.jsonl")
        compared, = json.loads((self.folder / "r.jsonl").read_text())["comparisons"]
        self.assertEqual(compared["tolerance"]["rule"], "sums")
        self.assertEqual(compared["terms"], 2)
        self.assertEqual(sum(bin["count"] for bin in compared["units"]["histogram"]), X.size)


if __name__ == "__main__":
    unittest.main()
