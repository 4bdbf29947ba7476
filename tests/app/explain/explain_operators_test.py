# SPDX-License-Identifier: Apache-2.0
"""dmlop explain: the calculation of elements of every operator that computes; its last line is the run's result.

ONLY=CAST,GEMM in the environment restricts the test to these operators."""

import json
import math
import os
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import ProgramTest, cases_by_file, operators

# Operators that move, choose, compare or fill elements, and round nothing.
OTHERS = set("""
    ACTIVATION_HARDMAX ACTIVATION_HARDMAX1 ACTIVATION_IDENTITY ACTIVATION_RELU_GRAD DEPTH_TO_SPACE DEPTH_TO_SPACE1
    DIAGONAL_MATRIX DIAGONAL_MATRIX1 ELEMENT_WISE_BIT_AND ELEMENT_WISE_BIT_COUNT ELEMENT_WISE_BIT_NOT ELEMENT_WISE_BIT_OR
    ELEMENT_WISE_BIT_SHIFT_LEFT ELEMENT_WISE_BIT_SHIFT_RIGHT ELEMENT_WISE_BIT_XOR ELEMENT_WISE_CLIP_GRAD ELEMENT_WISE_CLIP_GRAD1
    ELEMENT_WISE_IF ELEMENT_WISE_IS_INFINITY ELEMENT_WISE_IS_NAN ELEMENT_WISE_LOGICAL_AND ELEMENT_WISE_LOGICAL_EQUALS
    ELEMENT_WISE_LOGICAL_GREATER_THAN ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL ELEMENT_WISE_LOGICAL_LESS_THAN
    ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL ELEMENT_WISE_LOGICAL_NOT ELEMENT_WISE_LOGICAL_OR ELEMENT_WISE_LOGICAL_XOR
    ELEMENT_WISE_SIGN FILL_VALUE_CONSTANT GATHER GATHER_ELEMENTS GATHER_ND GATHER_ND1 JOIN MAX_UNPOOLING NONZERO_COORDINATES
    ONE_HOT PADDING PADDING1 RANDOM_GENERATOR REVERSE_SUBSEQUENCES SCATTER SCATTER_ND SLICE SLICE1 SLICE_GRAD SPACE_TO_DEPTH
    SPACE_TO_DEPTH1 SPLIT TILE TOP_K TOP_K1 UNFOLD""".split())

# Clamps everything, NaN too.
FINITE = {"ACTIVATION_HARD_SIGMOID"}

MOST_CASES = 3 if os.environ.get("SANITIZE") else 8  # for each operator
ONLY = set(filter(None, os.environ.get("ONLY", "").split(",")))  # names of the operators to test; empty for all


def is_special(value):
    number = float(value)
    return not math.isfinite(number) or (number == 0 and math.copysign(1, number) < 0)


def places_in(output, number):
    """A corner, a middle and a special element of each output: all of them for the first cases, one for others."""
    flat = output.ravel()
    places = [0, flat.size // 2, flat.size - 1]
    if output.dtype.kind == "f":
        places = [i for i in range(flat.size) if is_special(flat[i])][:1] + places
    if number >= 2:
        places = places[:1] if is_special(flat[places[0]]) else places[number % 3:][:1]
    return [np.unravel_index(place, output.shape) for place in dict.fromkeys(places)]


def chosen(cases):
    """Some of the cases, evenly spaced."""
    step = max(1, len(cases) / MOST_CASES)
    return sorted({int(k * step) for k in range(min(len(cases), MOST_CASES))})


def special_twins(case):
    """The case with an infinity, and with a NaN, among the numbers of its first input that has a float type."""
    for field, tensor in case.get("desc", case).items():
        is_bound = field in case.get("bindings", {}) and isinstance(tensor, dict)
        if is_bound and tensor.get("DataType", "").startswith("FLOAT"):
            count = math.prod(tensor["Sizes"])
            return [case | {"bindings": case["bindings"] | {field: [(special, 0.5, -2, 1.25)[i % 4] for i in range(count)]}}
                    for special in ("inf", "nan")]
    return []


def is_moved(found):
    """Whether the element has the bits of the only element that feeds it."""
    element, sources = found["element"], found["elements"]
    return len(sources) == 1 and all(sources[0].get(key) == element.get(key) for key in ("dataType", "value"))


def files_of(case, number):
    """The file of each expected output: {"OutputTensor": "7-OutputTensor.npy", "OutputTensors":
    ["7-OutputTensors-0.npy"]}."""
    def name(value, key):
        is_array = key.endswith("Tensors") and isinstance(value, list)
        return [f"{number}-{key}-{i}.npy" for i in range(len(value))] if is_array else f"{number}-{key}.npy"
    return {key: name(value, key) for key, value in case["expect"].items()}


def lead_of(calculation):
    """The result of the last step, before it is rounded."""
    for key in ("result", "exact", "approximate"):
        if key in calculation:
            return float(calculation[key])
    return None


class ExplainOperatorsTest(ProgramTest):
    def run_cases(self):
        """Runs the chosen cases of all operators at once; returns, by operator, the file, the line and the outputs'
        files."""
        lines, runs = [], {}
        for name, cases in cases_by_file().items():
            operator = name.removesuffix(".jsonl").upper()
            if operator in OTHERS or (ONLY and operator not in ONLY):
                continue
            twins = next(filter(None, map(special_twins, cases)), [])
            for case in [cases[number] for number in chosen(cases)] + twins:
                files = files_of(case, len(lines))
                bound = {key: value for key, value in case.items() if key != "expect"}
                bound |= {"name": str(len(lines)), "bindings": case.get("bindings", {}) | files}
                lines.append(json.dumps(bound))
                runs.setdefault(operator, []).append((len(lines), files))
        self.write("cases.jsonl", "\n".join(lines))
        self.run_program("batch", "cases.jsonl", "-q")
        return runs

    def check_number(self, printed, result):
        """Compares all bits, except those of a NaN."""
        number = float(printed) if result.dtype.kind == "f" else int(printed)
        value = np.asarray(number).astype(result.dtype)
        np.testing.assert_array_equal(value, result)
        if not np.isnan(result):
            self.assertEqual(value.tobytes(), result.tobytes())

    def check_text(self, arguments, result):
        last = self.text_of("explain", *arguments).splitlines()[-1]
        self.assertRegex(last, "^result: ")
        self.check_number(last.removeprefix("result: ").split(" (")[0], result)

    def check_lead(self, calculation, result):
        """The result of the steps must become the element by rounding, or by what the rule names."""
        lead, rule = lead_of(calculation), calculation["rule"]
        if rule in ("nan", "infinity") and result.dtype.kind == "f":
            self.assertEqual(rule == "nan", bool(np.isnan(result)))
            self.assertFalse(np.isfinite(result))
        elif lead is not None and result.dtype.kind == "f":
            rounded = np.asarray(lead).astype(result.dtype)
            if not np.isfinite(result):
                np.testing.assert_array_equal(rounded, result)
            else:
                self.assertLessEqual(abs(float(rounded) - float(result)), 8 * float(np.spacing(abs(result))), calculation)
        elif lead is not None and rule not in ("modulo", "clamped"):
            self.assertLess(abs(lead - int(result)), 1, calculation)

    def check_terms(self, step):
        terms = step.get("terms", [])
        values = [float(term.get("product", term.get("value"))) for term in terms]
        if step["operation"] in ("sum", "mean") and len(terms) == step["count"] > 0:
            total = math.fsum(values) if all(map(math.isfinite, values)) else float(np.sum(values))
            total /= len(values) if step["operation"] == "mean" else 1
            scale = sum(map(abs, values)) if math.isfinite(total) else 0
            np.testing.assert_allclose(float(step["value"]), total, rtol=1e-12, atol=1e-14 * scale, err_msg=step["name"])
        for term, value in zip(terms, values):
            if "factors" in term:
                product = math.prod(map(float, term["factors"]))
                np.testing.assert_allclose(value, product, rtol=1e-12, err_msg=term["expression"])

    def is_explained(self, arguments, result):
        """Checks everything reported about an element; returns whether its calculation is explained."""
        found = json.loads(self.text_of("explain", *arguments, "--format", "json"))
        self.check_number(found["element"]["value"], result)
        if "calculation" not in found:
            return is_moved(found)
        if "activation" in found:
            return "calculation" in found["activation"]
        self.check_lead(found["calculation"], result)
        for step in found["calculation"].get("steps", []):
            self.check_terms(step)
        return True

    def elements_of(self, runs):
        for k, (line, files) in enumerate(runs):
            for name, paths in files.items():
                for i, path in enumerate(paths if isinstance(paths, list) else [paths]):
                    tensor = f"{name}[{i}]" if isinstance(paths, list) else name
                    output = np.load(self.folder / path)
                    for index in places_in(output, k):
                        place = ",".join(map(str, index))
                        yield ["cases.jsonl", f"{tensor}[{place}]", "--line", line], output[index]

    def test_elements(self):
        runs = self.run_cases()
        self.assertEqual(set(runs) | OTHERS, (ONLY | OTHERS) if ONLY else set(operators()))
        with np.errstate(all="ignore"):
            for operator, own in runs.items():
                missing, floats, is_first = [], [], True
                for arguments, result in self.elements_of(own):
                    floats += [result] if result.dtype.kind == "f" else []
                    with self.subTest(operator, arguments=arguments):
                        if is_first:
                            self.check_text(arguments, result)
                        is_first = False
                        if not self.is_explained(arguments, result):
                            missing.append(arguments)
                with self.subTest(operator):
                    self.assertEqual(missing, [])
                    if not os.environ.get("SANITIZE"):  # of fewer cases
                        self.assertEqual(any(map(is_special, floats)), floats != [] and operator not in FINITE)


if __name__ == "__main__":
    unittest.main()
