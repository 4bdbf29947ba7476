# SPDX-License-Identifier: Apache-2.0
"""dmlop compare, and run --expect, which compares in the same way."""

import json
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import COLUMN_SUMS, COPY, SUM, X, ProgramTest

NEXT = np.nextafter(np.float32(6), np.float32(7))  # 1 ULP above 6
F32 = np.float32

# Actual and expected values, options, and whether they pass as equal.
PAIRS = [
    ("equal", [1, 2], [1, 2], [], True),
    ("different", [1, 2], [1, 3], [], False),
    ("NaN and NaN", [np.nan], [-np.nan], [], True),
    ("NaN and a number", [np.nan], [1], [], False),
    ("zeros of both signs", [-0.0], [0.0], [], True),
    ("zeros of both signs, by bits", [-0.0], [0.0], ["--bits"], False),
    ("infinities", [np.inf, -np.inf], [np.inf, -np.inf], [], True),
    ("infinities of both signs", [np.inf], [-np.inf], ["--rtol", "1", "--atol", "9"], False),
    ("infinity and the largest number", [np.inf], [np.finfo(F32).max], ["--ulp", "1000"], False),
    ("1 ULP without tolerance", [6], [NEXT], [], False),
    ("1 ULP with --ulp 1", [6], [NEXT], ["--ulp", "1"], True),
    ("2 ULP with --ulp 1", [6], [np.nextafter(NEXT, F32(7))], ["--ulp", "1"], False),
    ("least subnormals of both signs with --ulp 2", [-1e-45], [1e-45], ["--ulp", "2"], True),
    ("within --atol", [1], [1.25], ["--atol", "0.25"], True),
    ("beyond --atol", [1], [1.5], ["--atol", "0.25"], False),
    ("within --rtol of the expected", [90], [100], ["--rtol", "0.1"], True),
    ("beyond --rtol of the expected", [100], [90], ["--rtol", "0.1"], False),
]


def granted(kind, sizes, tolerances, **fields):
    """An operator on inputs of ones of those sizes, and the tolerances for FLOAT32 and FLOAT16."""
    return kind, sizes, tolerances if isinstance(tolerances, tuple) else 2 * (tolerances,), fields


def unary(kind, tolerances, **fields):
    return granted(kind, {"InputTensor": [2]}, tolerances, **fields)


def window(padding_of_output=False, **fields):
    arrays = ["Strides", "Dilations", "StartPadding", "EndPadding"] + padding_of_output * ["OutputPadding"]
    return {name: 2 * [int(name in ("Strides", "Dilations"))] for name in arrays} | fields


def without_dilations(fields):
    return {name: value for name, value in fields.items() if name != "Dilations"}


CONVOLUTION = window(True, Mode="CROSS_CORRELATION", GroupCount=2)
POOLING = window(WindowSize=[2, 3])
MATRICES = {"ATensor": [2, 5], "BTensor": [5, 3]}
GEMM = {"TransA": "NONE", "TransB": "NONE", "Alpha": 1, "Beta": 1}
IMAGE = {"InputTensor": [1, 2, 3, 4]}
MOMENTS = {"NormalizeVariance": True, "Epsilon": 1}
ABSOLUTE = (2.0 ** -10, 2.0 ** -9)

# The tolerances of the WebNN conformance tests: units in the last place, or an absolute error.
GRANTED = [
    *[unary(f"ELEMENT_WISE_{name}", ABSOLUTE) for name in ("COS", "SIN", "TAN", "ERF")],
    *[unary(name, 16) for name in ("ELEMENT_WISE_TANH", "ACTIVATION_TANH")],
    unary("ELEMENT_WISE_LOG", 2.0 ** -10),
    unary("ELEMENT_WISE_EXP", (32, 1)),
    unary("ELEMENT_WISE_CONSTANT_POW", (32, 2), Exponent=3),
    unary("ELEMENT_WISE_SQRT", 1),
    unary("ELEMENT_WISE_RECIP", 2),
    unary("ELEMENT_WISE_ABS", 0),
    unary("ELEMENT_WISE_SINH", 0),  # no tolerance is stated
    unary("ACTIVATION_SIGMOID", (34, 10)),
    unary("ACTIVATION_SOFTPLUS", 18, Steepness=1),
    unary("ACTIVATION_ELU", 18, Alpha=1),
    unary("ACTIVATION_GELU", 18),
    unary("ACTIVATION_LEAKY_RELU", (1, 2), Alpha=1),
    unary("ACTIVATION_LINEAR", 2, Alpha=1, Beta=1),
    unary("ACTIVATION_HARD_SIGMOID", 2, Alpha=0.25, Beta=0.5),
    unary("ACTIVATION_HARD_SWISH", 4, Alpha=0.25, Beta=0.5),
    unary("ACTIVATION_SOFTSIGN", 3),
    unary("ACTIVATION_CELU", 0, Alpha=1),
    granted("ACTIVATION_PARAMETERIZED_RELU", {"InputTensor": [2], "SlopeTensor": [2]}, 1),
    unary("CAST", 1, OutputTensor=[2]),
    granted("CUMULATIVE_SUMMATION", {"InputTensor": [2, 5]}, 4, Axis=1, AxisDirection="INCREASING",
            HasExclusiveSum=False),
    granted("CUMULATIVE_SUMMATION", {"InputTensor": [2, 5]}, 1, Axis=0, AxisDirection="DECREASING", HasExclusiveSum=False),
    *[granted("RESAMPLE", {"InputTensor": [2, 5]}, ulp, OutputTensor=[2, 7], InterpolationMode=mode, Scales=[1, 1.4])
      for mode, ulp in (("LINEAR", (84, 10)), ("NEAREST_NEIGHBOR", 0))],
    granted("UPSAMPLE_2D", IMAGE, (84, 10), ScaleSize={"Width": 2, "Height": 3}, InterpolationMode="LINEAR"),
    granted("ELEMENT_WISE_ADD1", {"ATensor": [2], "BTensor": [2]}, 1),
    granted("ELEMENT_WISE_ADD1", {"ATensor": [2], "BTensor": [2]}, 1 + 2,
            FusedActivation={"Type": "ACTIVATION_LINEAR", "Alpha": 1, "Beta": 1}),
    *[granted(f"ELEMENT_WISE_{name}", {"ATensor": [2], "BTensor": [2]}, ulp) for name, ulp in (("MAX", 1), ("MIN", 0))],
    granted("ELEMENT_WISE_DIVIDE", {"ATensor": [2], "BTensor": [2]}, 2),
    granted("GEMM", MATRICES, 10, **GEMM),
    granted("GEMM", {"ATensor": [5, 2], "BTensor": [5, 3]}, 11, **GEMM | {"TransA": "TRANSPOSE", "Alpha": 2, "Beta": 2}),
    granted("GEMM", MATRICES | {"CTensor": [2, 3]}, 11, **GEMM),
    granted("GEMM", MATRICES | {"CTensor": [2, 3]}, 13, **GEMM | {"Alpha": 2, "Beta": 2}),
    granted("CONVOLUTION", {"InputTensor": [1, 4, 5, 5], "FilterTensor": [6, 2, 3, 2]}, 2 * 6 * 2,
            Direction="FORWARD", **CONVOLUTION),
    granted("CONVOLUTION", {"InputTensor": [1, 4, 5, 5], "FilterTensor": [4, 3, 3, 2]}, 2 * 6 * 2,
            Direction="BACKWARD", **CONVOLUTION),
    granted("AVERAGE_POOLING", IMAGE, 6 + 2, IncludePadding=False, **without_dilations(POOLING)),
    granted("AVERAGE_POOLING1", IMAGE, 6 + 2, IncludePadding=True, **POOLING),
    granted("LP_POOLING", IMAGE, 6 + 2, P=2, **without_dilations(POOLING)),
    granted("LP_POOLING1", IMAGE, 0, P=1, **POOLING),
    granted("MAX_POOLING2", IMAGE, 0, **POOLING),
    unary("ACTIVATION_SOFTMAX", 3 * 2 + 3),
    granted("ACTIVATION_SOFTMAX1", IMAGE, 3 * 6 + 3, Axes=[1, 2]),
    granted("BATCH_NORMALIZATION", IMAGE | {name: [1, 2, 1, 1] for name in (
        "MeanTensor", "VarianceTensor", "ScaleTensor", "BiasTensor")}, 6, Spatial=True, Epsilon=0),
    granted("MEAN_VARIANCE_NORMALIZATION", IMAGE | {"ScaleTensor": [1, 2, 1, 1], "BiasTensor": [1, 2, 1, 1]},
            (840, 8400), CrossChannel=False, **MOMENTS),
    granted("MEAN_VARIANCE_NORMALIZATION1", IMAGE | {"BiasTensor": [1, 2, 1, 1]}, (840, 8400), Axes=[3, 2], **MOMENTS),
    granted("MEAN_VARIANCE_NORMALIZATION1", IMAGE | {"BiasTensor": [1, 2, 1, 1]}, 14, Axes=[1, 2, 3], **MOMENTS),
    granted("MEAN_VARIANCE_NORMALIZATION2", IMAGE | {"BiasTensor": [1, 2, 1, 1]}, (840, 8400), Axes=[2, 3],
            UseMean=True, UseVariance=True, Epsilon=1),
    granted("LSTM", {"InputTensor": [1, 1, 1, 1], "WeightTensor": [1, 1, 4, 1], "RecurrenceTensor": [1, 1, 4, 1]}, 1,
            OutputSingleTensor=[1, 1, 1, 1], ActivationDescs=[{"type": f"ACTIVATION_{name}"} for name in (
                "SIGMOID", "TANH", "TANH")], Direction="FORWARD", ClipThreshold=0, UseClipThreshold=False,
            CoupleInputForget=False),
    *[granted("GRU", {"InputTensor": [1, steps, 1, 1], "WeightTensor": [1, 1, 3, 1], "RecurrenceTensor": [1, 1, 3, 1]},
              ulp, OutputSingleTensor=[1, 1, 1, 1], ActivationDescs=[{"type": f"ACTIVATION_{name}"} for name in (
                  "SIGMOID", "TANH")], Direction="FORWARD", LinearBeforeReset=True) for steps, ulp in ((1, 3), (2, 6))],
]


class CompareTest(ProgramTest):
    def test_pairs_pass_or_differ(self):
        for name, actual, expected, options, equal in PAIRS:
            with self.subTest(name):
                self.save(a=np.array(actual, "f4"), b=np.array(expected, "f4"))
                status = 0 if equal else 1
                compare = ["compare", "a.npy", "b.npy", *options]
                verdict = json.loads(self.text_of(*compare, "--format", "json", status=status))
                self.assertEqual(verdict["equal"], equal)
                self.assertNotEqual(self.text_of(*compare, status=status), "")
                self.assertEqual(self.text_of(*compare, "-q", status=status), "")
                golden = ["-i", "a.npy", "-e", "b.npy", "-q"]
                self.assertEqual(self.text_of("run", COPY, *golden, *options, status=status), "")

    def test_the_first_and_the_worst_difference_are_shown(self):
        self.save(a=np.array([[1, 6, 3]], "f4"), b=np.array([[1, NEXT, 300]], "f4"))
        text = self.text_of("compare", "a.npy", "b.npy", status=1)
        for part in ("2 of 3 elements differ", "[0, 1]", "6.0000005", "0x40C00000", "0x40C00001", "[0, 2]", "300"):
            self.assertIn(part, text)
        verdict = json.loads(self.text_of("compare", "a.npy", "b.npy", "--format", "json", status=1))
        self.assertEqual((verdict["elementCount"], verdict["differenceCount"]), (3, 2))
        first, worst = verdict["first"], verdict["worst"]
        self.assertEqual((first["index"], first["actualBits"], first["expectedBits"]), ([0, 1], "40C00000", "40C00001"))
        self.assertEqual((first["ulpError"], worst["index"], worst["absoluteError"]), (1, [0, 2], 297))
        self.assertAlmostEqual(worst["relativeError"], 0.99)

    def test_the_smallest_ulp_that_is_named_passes_and_one_less_does_not(self):
        random = np.random.default_rng(7)
        a = random.standard_normal(100).astype("f4")
        self.save(a=a, b=a * F32(1.00001))
        verdict = json.loads(self.text_of("compare", "a.npy", "b.npy", "--format", "json", status=1))
        ulp = verdict["smallestPassingUlp"]
        self.assertIn(f"--ulp {ulp}", self.text_of("compare", "a.npy", "b.npy", status=1))
        self.run_program("compare", "a.npy", "b.npy", "--ulp", ulp)
        self.run_program("compare", "a.npy", "b.npy", "--ulp", ulp - 1, status=1)

    def test_mismatches_of_nan_and_infinity_are_counted_apart(self):
        self.save(a=np.array([np.nan, 1, np.inf, 2], "f4"), b=np.array([1, np.nan, 5, 2], "f4"))
        verdict = json.loads(self.text_of("compare", "a.npy", "b.npy", "--format", "json", status=1))
        self.assertEqual((verdict["nanMismatches"], verdict["infinityMismatches"]), (2, 1))
        self.assertIsNone(verdict["smallestPassingUlp"])

    def test_the_median_of_ulp_errors_is_exact(self):
        """So many steps from random numbers as NumPy counts them; of the type of the actual values, and without mismatches."""
        chance = np.random.default_rng(5)
        for kind, ordered in [("f2", "u2"), ("f4", "u4"), ("f8", "u8"), ("i4", "u4"), ("u1", "u1"), ("V2", "u2")]:
            for count in (7, 200, 5000):
                with self.subTest(kind, count=count):
                    steps = np.floor(2.0 ** chance.uniform(0, 6 if kind == "u1" else 12, count)).astype(ordered) - 1
                    expected = chance.integers(2, 100 if kind == "u1" else 2**14, count).astype(ordered)
                    actual = (expected + steps).view(kind)
                    if kind[0] == "f":
                        actual[3] = np.nan
                        steps = np.delete(steps, 3)
                    self.save(actual=actual, expected=expected.view(kind))
                    said = json.loads(self.text_of("compare", "actual.npy", "expected.npy", "--format", "json", status=1))
                    self.assertEqual((said["medianUlpError"], said["p99UlpError"], said["maxUlpError"]),
                                     (np.median(steps), np.sort(steps)[(len(steps) - 1) * 99 // 100], steps.max()))

    def test_integers_compare_exactly(self):
        self.save(a=np.array([2**63 - 1, 5], "i8"), b=np.array([2**63 - 2, 5], "i8"))
        text = self.text_of("compare", "a.npy", "b.npy", status=1)
        self.assertIn("9223372036854775806", text)
        self.assertIn("9223372036854775807", text)
        self.run_program("compare", "a.npy", "b.npy", "--atol", "1")

    def test_order_and_byte_order_of_files_do_not_matter(self):
        self.save(a=X, b=np.asfortranarray(X).astype(">f4"))
        self.run_program("compare", "a.npy", "b.npy", "--bits")

    def test_other_shapes_and_types_are_a_difference(self):
        self.save(x=X, flat=X.ravel(), double=X.astype("f8"), both=X.ravel().astype("f8"))
        shape = "shapes differ: actual {3, 3}, expected {9}; --reshape compares as many elements in their order"
        kind = "data types differ: actual FLOAT32, expected FLOAT64; --any-floats compares the values"
        for other, lines in (("flat", [shape]), ("double", [kind]), ("both", [kind, shape])):
            files = ("x.npy", f"{other}.npy")
            self.assertEqual(self.text_of("compare", *files, status=1).splitlines(), lines)
            verdict = json.loads(self.text_of("compare", *files, "--format", "json", status=1))
            self.assertEqual(verdict, {"equal": False, "mismatch": "; ".join(lines), "classes": [{"id": "other-type-or-shape", "count": 9}]})

    def test_a_file_that_is_no_tensor_does_not_fit(self):
        self.save(x=X)
        self.write("text.npy", "1 2 3")
        self.write("x.bin", b"1234")
        for other in ("text.npy", "x.bin"):
            for pair in ((other, "x.npy"), ("x.npy", other)):
                self.assertIn(other, self.errors_of("compare", *pair, status=4))

    def test_what_is_not_there_has_no_kind(self):
        self.save(x=X)
        for pair in (("here", "there"), ("x.npy", "here"), ("here", "x.npy")):
            self.assertIn("here: cannot be opened: No such file or directory", self.errors_of("compare", *pair, status=5))


class ExpectTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.save(x=X, good=COLUMN_SUMS, near=np.array([[6, NEXT, 9]], "f4"))

    def test_the_output_is_compared_instead_of_printed(self):
        self.assertEqual(self.text_of("run", SUM, "-i", "x.npy", "-e", "good.npy"), "")
        text = self.text_of("run", SUM, "-i", "x.npy", "-e", "OutputTensor=near.npy", status=1)
        for part in ("near.npy", "1 of 3 elements differ", "[0, 1]", "6.0000005", "0x40C00001"):
            self.assertIn(part, text)

    def test_tolerance_webnn_is_the_rule_of_the_operator(self):
        """SUM of N = 3 elements may be off by 3 ULP; MAX by none."""
        for steps, status in ((3, 0), (4, 1)):
            golden = COLUMN_SUMS.view("i4") + steps
            self.save(g=golden.view("f4"))
            self.run_program("run", SUM, "-i", "x.npy", "-e", "g.npy", "--tolerance", "webnn", status=status)
        largest = SUM.replace("SUM", "MAX")
        self.save(g=np.array([[3, 4, np.nextafter(F32(4), F32(5))]], "f4"))
        self.run_program("run", largest, "-i", "x.npy", "-e", "g.npy", "--tolerance", "webnn", status=1)

    def test_tolerance_webnn_of_each_function(self):
        """As in the WebNN conformance suite, for N = 3 ones with a last place of 2^-23 or 2^-24."""
        allowed = {"MIN": 0, "MAX": 0, "SUM": 3, "L1": 3, "MULTIPLY": 3, "SUM_SQUARE": 6, "AVERAGE": 5, "L2": 7,
                   "LOG_SUM": 21, "LOG_SUM_EXP": 24}
        self.save(x=np.ones((3, 1), "f4"))
        for function, ulp in allowed.items():
            document = SUM.replace("SUM", function)
            self.run_program("run", document, "-i", "x.npy", "-o", "y.npy")
            for steps, status in ((ulp, 0), (-ulp, 0), (ulp + 1, 1), (-ulp - 1, 1)):
                with self.subTest(function, steps=steps):
                    self.save(g=(self.load("y").view("i4") + np.int32(steps)).view("f4"))
                    self.run_program("run", document, "-i", "x.npy", "-e", "g.npy", "--tolerance", "webnn", status=status)

    def test_tolerance_webnn_of_each_operator(self):
        for kind, sizes, tolerances, fields in GRANTED:
            for (name, dtype, integer), tolerance in zip((("FLOAT32", "f4", "i4"), ("FLOAT16", "f2", "i2")), tolerances):
                with self.subTest(kind, type=name, **fields):
                    self.check_granted(kind, sizes, fields, (name, dtype, integer), tolerance)

    def check_granted(self, kind, sizes, fields, types, tolerance):
        name, dtype, integer = types
        output = "OutputSingleTensor" if "OutputSingleTensor" in fields else "OutputTensor"
        tensors = {tensor: {"DataType": name, "Sizes": of} for tensor, of in sizes.items()}
        if output in fields:
            tensors[output] = {"DataType": name, "Sizes": fields[output]}
        ones = {tensor: np.ones(of).tolist() for tensor, of in sizes.items()}
        document = json.dumps({"type": kind} | fields | tensors | {"bindings": ones})
        self.run_program("run", document, "-o", f"{output}=y.npy")
        y = self.load("y")
        if isinstance(tolerance, int):
            pairs = [((y.view(integer) + np.array(steps, integer)).view(dtype), steps <= tolerance)
                     for steps in (tolerance, tolerance + 1)]
        else:
            pairs = [((y.astype("f8") + tolerance * factor).astype(dtype), factor < 1) for factor in (0.99, 1.6)]
        for golden, passes in pairs:
            self.save(g=golden)
            self.run_program("run", document, "-e", f"{output}=g.npy", "--tolerance", "webnn", status=0 if passes else 1)

    def test_tolerance_webnn_lacks_what_is_fused(self):
        """Then equal values pass, as for an operator that it lacks."""
        document = json.dumps({"type": "GEMM", "TransA": "NONE", "TransB": "NONE", "Alpha": 1, "Beta": 0,
                               "ATensor": {"DataType": "FLOAT32", "Sizes": [1, 3]}, "BTensor": {"DataType": "FLOAT32", "Sizes": [3, 1]},
                               "FusedActivation": {"Type": "ACTIVATION_CELU", "Alpha": 1}, "bindings": {"ATensor": [1, 2, 3], "BTensor": [1, 1, 1]}})
        for steps in (0, 3):
            self.save(g=(np.full((1, 1), 6, "f4").view("i4") + np.int32(steps)).view("f4"))
            self.assertIn("WebNN has no tolerance for GEMM with ACTIVATION_CELU: equal values pass",
                          self.errors_of("run", document, "--judge", "g.npy", "--tolerance", "webnn", status=int(steps > 0)))

    def test_tolerance_webnn_of_what_is_quantized(self):
        """Quantized values may be off by one."""
        document = json.dumps({"type": "ELEMENT_WISE_QUANTIZE_LINEAR", "InputTensor": {"DataType": "FLOAT32", "Sizes": [1]},
                               "ScaleTensor": {"DataType": "FLOAT32", "Sizes": [1]},
                               "OutputTensor": {"DataType": "UINT8", "Sizes": [1]},
                               "bindings": {"InputTensor": [7], "ScaleTensor": [1]}})
        for golden, status in ((6, 0), (8, 0), (9, 1)):
            self.save(g=np.array([golden], "u1"))
            self.run_program("run", document, "-e", "g.npy", "--tolerance", "webnn", status=status)

    def test_tolerance_webnn_of_resampled_integers(self):
        """They may be off by one where they are interpolated."""
        document = json.dumps({"type": "RESAMPLE", "InputTensor": {"DataType": "UINT8", "Sizes": [2]}, "Scales": [2],
                               "OutputTensor": {"DataType": "UINT8", "Sizes": [4]}, "InterpolationMode": "LINEAR",
                               "bindings": {"InputTensor": [10, 20]}})
        self.run_program("run", document, "-o", "y.npy")
        for more, status in ((1, 0), (2, 1)):
            self.save(g=self.load("y") + np.uint8(more))
            self.run_program("run", document, "-e", "g.npy", "--tolerance", "webnn", status=status)

    def test_what_webnn_lacks_is_told_once(self):
        word = "dmlop: WebNN has no tolerance for {}: equal values pass\n"
        for kind, lacks, fields in (("ELEMENT_WISE_ACOS", True, {}), ("ELEMENT_WISE_COS", False, {}), ("ELEMENT_WISE_ABS", False, {}),
                                    ("ELEMENT_WISE_ROUND", True, {"RoundingMode": "TOWARD_ZERO"}), ("ELEMENT_WISE_IS_NAN", True, {}),
                                    ("LP_POOLING1", True, POOLING | {"P": 1}), ("LP_POOLING1", False, POOLING | {"P": 2})):
            document = json.dumps({"type": kind} | fields)
            self.save(x=np.full([1, 1, 2, 3], 0.5, "f4"))
            self.run_program("run", document, "-i", "x.npy", "-o", "y.npy")
            for options, told in ((["--tolerance", "webnn"], lacks), ([], False), (["--tolerance", "webnn", "-q"], False)):
                text = self.errors_of("run", document, "-i", "x.npy", "-e", "y.npy", *options)
                self.assertEqual(text, word.format(kind) if told else "")
        cases = [{"type": kind, "bindings": {"InputTensor": "x.npy", "OutputTensor": f"{kind}.npy"}}
                 for kind in ("ELEMENT_WISE_ACOS", "ELEMENT_WISE_SINH", "ELEMENT_WISE_COS")]
        self.write("cases.jsonl", "".join(json.dumps(case) + "\n" for case in cases))
        self.run_program("batch", "cases.jsonl")
        text = self.errors_of("batch", "cases.jsonl", "--judge", "--tolerance", "webnn")
        self.assertEqual(text.splitlines()[0] + "\n", word.format("ELEMENT_WISE_ACOS, ELEMENT_WISE_SINH"))

    def test_tolerance_webnn_of_what_is_exact(self):
        self.save(whole=np.ones((3, 1), "i4"), sum=np.array([[4]], "i4"), index=np.array([[1]], "u4"))
        for function, golden in (("SUM", "sum.npy"), ("ARGMAX", "index.npy")):
            document = SUM.replace("SUM", function)
            self.run_program("run", document, "-i", "whole.npy", "-e", golden, "--tolerance", "webnn", status=1)

    def test_a_raw_golden_file_is_the_buffer(self):
        self.write("good.bin", COLUMN_SUMS.tobytes())
        self.run_program("run", SUM, "-i", "x.npy", "-e", "good.bin")

    def test_each_output_has_its_own_golden_file(self):
        thirds = '{"type": "SPLIT", "Axis": 0, "OutputCount": 3}'
        self.save(a=X[:1], b=X[1:2], c=X[2:] + 1)
        golden = ["-e", "OutputTensors[1]=b.npy", "-e", "a.npy"]
        self.assertIn("OutputTensors[2]", self.text_of("run", thirds, "-i", "x.npy", *golden))
        text = self.text_of("run", thirds, "-i", "x.npy", *golden, "-e", "c.npy", status=1)
        self.assertIn("OutputTensors[2] differs from c.npy", text)


if __name__ == "__main__":
    unittest.main()
