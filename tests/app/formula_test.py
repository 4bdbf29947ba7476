"""dmlop explain: the steps from elements to a result, judged by NumPy's float64, and the result by dmlop run."""

import json
import math
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import ProgramTest

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


QUANTIZATION = {"AScaleTensor": np.full(SCALAR, 0.5, "f4"), "AZeroPointTensor": np.full(SCALAR, 5, "u1"),
                "BScaleTensor": np.full(SCALAR, 0.25, "f4"), "BZeroPointTensor": np.full(SCALAR, -3, "i1")}
QUANTIZED_OUTPUT = {"OutputScaleTensor": np.full(SCALAR, 8, "f4"),
                    "OutputZeroPointTensor": np.full(SCALAR, 100, "u1")}
FLOAT_FILTER = np.array([[[[1, 2], [0.5, -1]], [[3, 0], [0, 1]], [[-2, 1], [1, 1]]]], "f4")
BYTES = (X * 4 + 100).astype("u1")
BYTE_FILTER = (FLOAT_FILTER * 2).astype("i1")
MOMENTS = {"MeanTensor": PARAMETER * 2, "VarianceTensor": PARAMETER ** 2}
CORNER, MIDDLE, SPECIAL = (0, 0, 0, 0), (0, 2, 1, 1), (0, 1, 1, 0)

# An operator, its fields, its inputs, the elements to explain and the steps that lead to each.
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
]
NORM = {"Axis": 3, "Epsilon": EPSILON}
AFFINE = {"ScaleTensor": PARAMETER, "BiasTensor": PARAMETER}
BY_MOMENTS = {"Epsilon": EPSILON, "NormalizeVariance": True}
# The same of operators whose InputTensor is X, without and with elements that are not finite.
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
]


def all_cases():
    for operator, fields, inputs, elements, steps in CASES:
        yield operator, fields, inputs, elements, steps
    for operator, fields, inputs, steps in FLOAT_CASES:
        yield operator, fields, {"InputTensor": X} | inputs, [CORNER, MIDDLE], steps
        for special in (WITH_NAN, WITH_INFINITY):
            yield operator, fields, {"InputTensor": special} | inputs, [CORNER, MIDDLE, SPECIAL], steps


class FormulaTest(ProgramTest):
    def number(self, value):
        return float(value)  # "nan" and "inf", too

    def assert_near(self, actual, expected, name):
        if not math.isfinite(expected):
            self.assertEqual(repr(self.number(actual)), repr(float(expected)), name)
        else:
            self.assertAlmostEqual(self.number(actual), expected, delta=1e-6 * abs(expected) + 1e-12, msg=name)

    def check(self, arguments, index, result, expected):
        element = f"OutputTensor[{','.join(map(str, index))}]"
        found = json.loads(self.text_of("explain", *arguments, element, "--format", "json"))
        value = np.asarray(self.number(found["element"]["value"]), result.dtype)
        np.testing.assert_array_equal(value, result)
        last = self.text_of("explain", *arguments, element).splitlines()[-1]
        printed = last.removeprefix("result: ").split(" (")[0]
        np.testing.assert_array_equal(np.asarray(self.number(printed), result.dtype), result)
        steps = {step["name"]: step for step in found["calculation"]["steps"]}
        for name, number in expected.items():
            self.assert_near(steps[name]["value"], number, name)
        for step in steps.values():
            self.check_terms(step)

    def check_terms(self, step):
        terms = step.get("terms", [])
        values = [self.number(term.get("product", term.get("value"))) for term in terms]
        if step["operation"] in ("sum", "mean") and len(terms) == step["count"]:
            total = math.fsum(values) if all(map(math.isfinite, values)) else float(np.sum(values))
            divisor = step["count"] if step["operation"] == "mean" else 1
            self.assert_near(step["value"], total / divisor, step["name"])
        for term, value in zip(terms, values):
            if "factors" in term:
                self.assert_near(value, math.prod(map(self.number, term["factors"])), term["expression"])

    def test_steps(self):
        for operator, fields, inputs, elements, steps in all_cases():
            self.save(**inputs)
            self.write("d.json", json.dumps({
                "type": operator, "bindings": {name: name + ".npy" for name in inputs}} | fields))
            self.run_program("run", "d.json", "-o", "out.npy")
            output = self.load("out")
            for index in elements:
                with self.subTest(operator, index=index), np.errstate(all="ignore"):
                    self.check(["d.json"], index, output[index], steps(inputs, index))

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
