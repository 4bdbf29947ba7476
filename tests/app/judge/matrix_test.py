# SPDX-License-Identifier: Apache-2.0
"""The conformance matrix: testdata/matrix.jsonl has cases of every operator, and their results do not depend on how they
are run; with the sizes of testdata/matrix-large.jsonl, no device passes that computes something else."""

import collections
import json
import math
import random
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import LONG_SHARE, ROOT, ProgramTest, in_turn, operators, start

MATRIX = ROOT / "testdata/matrix.jsonl"
LARGE = ROOT / "testdata/matrix-large.jsonl"
OPEN = ROOT / "testdata/matrix-open.jsonl"


def tensors_in(desc):
    for name, value in desc.items():
        for tensor in value if isinstance(value, list) else [value]:
            if isinstance(tensor, dict) and "DataType" in tensor:
                yield name, tensor["DataType"], len(tensor["Sizes"])


class MatrixTest(ProgramTest):
    def setUp(self):
        super().setUp()
        expanded = self.run_program("batch", "--expand", MATRIX)
        self.assertNotIn(b"no valid case", expanded.stderr)
        self.write("cases.jsonl", expanded.stdout)
        self.cases = [json.loads(line) for line in expanded.stdout.splitlines()]

    def test_every_operator_has_cases_of_all_its_types_and_ranks(self):
        self.assertGreater(len(self.cases), 20000)
        seen = set()
        for case in self.cases:
            for name, kind, rank in tensors_in(case["desc"]):
                seen |= {(case["type"], name, kind), (case["type"], name, rank)}
        self.assertEqual({case["type"] for case in self.cases}, set(operators()))
        for name, info in operators().items():
            first = next(field["name"] for field in info["fields"] if "tensor" in field["type"])
            for row in info["support"]:
                support = row["tensors"][first]
                wanted = {*support["types"], *range(support["minRank"], support["maxRank"] + 1)}
                self.assertEqual({each for each in wanted if (name, first, each) not in seen}, set(), name)

    def test_every_enumerator_has_a_case(self):
        # Enumerators that no valid descriptor has.
        never = {(name, "QuantizationType"): {"NONE"} for name in ("QUANTIZE", "DEQUANTIZE")}
        for name in ("ROI_ALIGN", "ROI_ALIGN1", "ROI_ALIGN_GRAD"):
            never[name, "ReductionFunction"] = {"ARGMAX", "ARGMIN", "L1", "L2", "LOG_SUM", "LOG_SUM_EXP", "MIN",
                                                "MULTIPLY", "SUM", "SUM_SQUARE"}
        seen = {(case["type"], field, value) for case in self.cases for field, value in case["desc"].items()
                if isinstance(value, str)}
        for name, info in operators().items():
            for field in info["fields"]:
                if not field["type"].startswith("one of "):
                    continue
                words = set(field["type"].removesuffix(", may be left out").removeprefix("one of ").split(", "))
                missing = {word for word in words if (name, field["name"], word) not in seen}
                self.assertEqual(missing, never.get((name, field["name"]), set()), (name, field["name"]))

    def test_results_are_the_same_however_they_are_computed(self):
        def report(name, *options):
            self.run_program("batch", "cases.jsonl", "--no-times", "--report", name, *options)
            return (self.folder / name).read_text().splitlines()

        whole = report("whole.jsonl")
        self.assertEqual(len(whole), len(self.cases))
        shards = 2 * LONG_SHARE
        for k in in_turn(range(shards)):
            part = report("part.jsonl", "--shard", f"{k + 1}/{shards}", "-t", "1", "--isa", "portable")
            self.assertEqual(part, whole[k::shards])


# Devices that compute something else, and the operators of which that is the result by definition.
RIGHT = {
    ("first input", "CAST"): "it has the type of the output only where nothing is converted",
    ("first input", "ACTIVATION_IDENTITY"): "it is the input",
    ("first input", "ELEMENT_WISE_IDENTITY"): "it is the input",
    ("shifted", "FILL_VALUE_CONSTANT"): "all elements are the same",
}
SAMPLE = 16  # cases of an operator in each file, at most


def fakes_of(output, first_input):
    """What a device that does not compute writes in place of an output, by its name; one may have several forms."""
    yield "zeros", np.zeros_like(output)
    yield "ones", np.ones_like(output)
    if output.dtype.kind == "f":
        yield "NaN", np.full_like(output, np.nan)
    if first_input is not None and (first_input.size, first_input.dtype) == (output.size, output.dtype):
        yield "first input", first_input.reshape(output.shape)
    axes = [axis for axis, size in enumerate(output.shape) if size > 1]
    if axes:
        yield "shifted", np.roll(output, 1, axes[-1])
    for axis in axes:
        tail = output.copy()
        tail[(slice(None),) * axis + (-1,)] = 0
        yield "without the last of an axis", tail


def rounded_to_tf32(array):
    """To the nearest number of 11 bits, ties to even."""
    bits = array.view("u4")
    return ((bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000).view("f4")


def terms_of(name, desc, inputs):
    """The number of terms of the longest sum of a linear operator of FLOAT32; none for other descriptors."""
    shapes = [array.shape for array in inputs]
    if any(array.dtype != np.float32 for array in inputs) or desc.get("FusedActivation"):
        return None
    if name == "GEMM":
        return shapes[0][-2 if desc["TransA"].endswith("TRANSPOSE") else -1] + 1
    if name == "CONVOLUTION":
        return math.prod(shapes[1]) + 1
    if name == "REDUCE" and desc["Function"].endswith(("SUM", "AVERAGE")):
        return math.prod(shapes[0][axis] for axis in desc["Axes"])
    if name.startswith("AVERAGE_POOLING"):
        return math.prod(desc["WindowSize"])
    return shapes[0][desc["Axis"]] if name == "CUMULATIVE_SUMMATION" else None


class FakesTest(ProgramTest):
    """No operator is passed by a device that does not compute it."""

    def run_cases(self, name, cases, *options):
        """The lines of the report on the cases, which all pass without a warning."""
        self.write(f"{name}.jsonl", "".join(json.dumps(case) + "\n" for case in cases))
        done = self.run_program("batch", f"{name}.jsonl", "--output-path", name, "--report", f"{name}.report", *options)
        self.assertNotIn(b"warning", done.stderr)
        return [json.loads(line) for line in (self.folder / f"{name}.report").read_text().splitlines()]

    def arrays(self, files):
        """The tensors; a raw file, which holds what .npy cannot, as its bytes."""
        return [np.load(self.folder / file["path"]) if file["path"].endswith(".npy")
                else np.fromfile(self.folder / file["path"], "u1") for file in files]

    def sampled(self, manifest):
        """Some cases of each operator."""
        by_type = {}
        for line in self.run_program("batch", "--expand", "-q", manifest).stdout.splitlines():
            case = json.loads(line)
            by_type.setdefault(case["type"], []).append(case)
        choose = random.Random(1)
        return [case for cases in by_type.values() for case in choose.sample(cases, min(len(cases), SAMPLE))]

    def test_no_operator_is_passed_by_a_device_that_does_not_compute_it(self):
        counts, passed = collections.Counter(), collections.Counter()
        for name, manifest in (("small", MATRIX), ("large", LARGE)):
            for line in self.run_cases(name, self.sampled(manifest), "--inputs"):
                first = self.arrays(line["inputs"][:1])
                passes = collections.defaultdict(lambda: True)
                for output in self.arrays(line["outputs"]):
                    for fake, values in fakes_of(output, first[0] if first else None):
                        passes[fake] &= np.array_equal(values, output, equal_nan=output.dtype.kind == "f")
                for fake, is_same in passes.items():
                    counts[fake, line["operator"]] += 1
                    passed[fake, line["operator"]] += bool(is_same)
        # Of single cases, some cannot tell: the sign of what happens to be 0, a reduction to one element.
        weak = {pair: f"{passed[pair]} of {count}" for pair, count in counts.items() if passed[pair] * 3 > count}
        self.assertEqual(set(weak), set(RIGHT), weak)

    def test_what_is_open_has_several_results_of_which_one_is_computed(self):
        """A device passes with any of the results of a case, and with no other."""
        cases = [json.loads(line) for line in OPEN.read_text().splitlines() if line.startswith("{")]
        self.assertGreater(len(cases), 10)
        self.run_program("batch", OPEN, "--check", "--report", "open.report")
        for line in map(json.loads, (self.folder / "open.report").read_text().splitlines()):
            self.assertGreater(line["comparisons"][0]["allowed"], 1, line)
        self.run_program("batch", OPEN, "--output-path", "right", "-q")
        right = [np.load(self.folder / "right" / self.file_of(case)) for case in cases]
        most = max(len(self.allowed_in(case)) for case in cases)
        for number in range(most + 1):
            (self.folder / f"device{number}").mkdir()
            for case, result in zip(cases, right):
                allowed = [np.array(values).astype(result.dtype).reshape(result.shape) for values in self.allowed_in(case)]
                self.assertEqual(sum(np.array_equal(each, result) for each in allowed), 1, case["name"])
                values = [*allowed, result + result.dtype.type(100)][min(number, len(allowed) if number == most else len(allowed) - 1)]
                np.save(self.folder / f"device{number}" / self.file_of(case), values)
            said = self.errors_of("batch", OPEN, "--judge", "--output-path", f"device{number}", "-k", status=int(number == most))
            self.assertIn(f"{len(cases)} different" if number == most else f"{len(cases)} done", said)
        self.assertIn("differs from each of the 2 results that OutputTensor may have", said)

    @staticmethod
    def allowed_in(case):
        values, = case["expect"].values()
        return values["anyOf"]

    @staticmethod
    def file_of(case):
        name, = case["expect"]
        return case["bindings"][name].removeprefix("open/")

    def test_no_float16_sum_passes_for_one_of_float32(self):
        """Of FLOAT16 tensors, whose results hide most of it."""
        linear = {"GEMM", "CONVOLUTION", "REDUCE", "AVERAGE_POOLING", "CUMULATIVE_SUMMATION"}
        caught = set()
        for case in map(json.loads, self.run_program("batch", "--expand", "-q", LARGE).stdout.splitlines()):
            kinds = {kind for _, kind, _ in tensors_in(case["desc"])}
            is_sum = case["type"] in linear and case["desc"].get("Function", "SUM") in ("SUM", "AVERAGE")
            if not is_sum or kinds != {"FLOAT16"} or case["type"] in caught or case["desc"].get("FusedActivation"):
                continue
            case["bindings"] = {name: file for name, file in case["bindings"].items() if name != "OutputTensor"}
            self.write("case.json", case)
            self.run_program("run", "case.json", "--as", "sums-float16", "-o", "half.npy", "-q")
            judged = start(["run", "case.json", "--judge", "half.npy", "--tolerance", "sums", "-q"], cwd=self.folder)
            if judged.returncode == 1:
                caught.add(case["type"])
        self.assertEqual(caught, linear)

    def test_no_sum_is_passed_by_a_device_of_less_precision(self):
        """A right device is within n * 2^-24 of the sum of magnitudes in each element; TF32 inputs and FLOAT16 sums,
        which are no better than their result rounded to FLOAT16, are beyond it in some case of each operator."""
        linear = {"GEMM", "CONVOLUTION", "REDUCE", "AVERAGE_POOLING", "AVERAGE_POOLING1", "CUMULATIVE_SUMMATION"}
        cases = [case for manifest in (MATRIX, LARGE) for case in self.sampled(manifest) if case["type"] in linear]
        exact = self.run_cases("exact", cases, "--inputs")
        changed = {"tf32": rounded_to_tf32, "magnitudes": np.abs}
        lines, kept = {name: [] for name in changed}, []
        for number, line in enumerate(exact):
            inputs = self.arrays(line["inputs"])
            terms = terms_of(line["operator"], line["descriptor"]["desc"], inputs)
            if terms is None or not all(np.isfinite(array).all() for array in inputs):
                continue
            kept.append((line, terms))
            for name, change in changed.items():
                case = {"type": line["operator"], "desc": dict(line["descriptor"]["desc"]), "bindings": {}}
                for file, array in zip(line["inputs"], inputs):
                    file_name = f"{number}-{name}-{file['tensor']}.npy"
                    np.save(self.folder / file_name, change(array))
                    case["bindings"][file["tensor"]] = file_name
                for scale in ("Alpha", "Beta"):
                    if name == "magnitudes" and scale in case["desc"]:
                        case["desc"][scale] = abs(case["desc"][scale])
                case["bindings"]["OutputTensor"] = f"{name}/{number}.npy"
                lines[name].append(case)
        results = {name: self.run_cases(name, lines[name]) for name in changed}
        caught = set()
        for (line, terms), tf32, magnitudes in zip(kept, results["tf32"], results["magnitudes"]):
            right, tf32, scale = (self.arrays(each["outputs"])[0].astype("f8") for each in (line, tf32, magnitudes))
            allowed = terms * 2.0**-24 * scale + np.spacing(np.abs(right).astype("f4"))
            with np.errstate(over="ignore"):
                halves = right.astype("f2").astype("f8")
            for fake, values in (("TF32 inputs", tf32), ("FLOAT16 sums", halves)):
                if (np.abs(values - right) > allowed).any():
                    caught.add((fake, line["operator"]))
        self.assertEqual(caught, {(fake, name) for fake in ("TF32 inputs", "FLOAT16 sums") for name in linear})


if __name__ == "__main__":
    unittest.main()
