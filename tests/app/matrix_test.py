"""The matrix of conformance, testdata/matrix.jsonl: it has cases of every operator, and their results do not depend on how they are run."""

import json
import sys
import unittest

sys.dont_write_bytecode = True
from program import ROOT, ProgramTest, operators

MATRIX = ROOT / "testdata/matrix.jsonl"
# Where one combination of types is not the only condition.
PARTLY = {("QUANTIZE", "InputTensor"), ("ROI_ALIGN_GRAD", "InputTensor")}


def tensors_in(desc):
    for name, value in desc.items():
        for tensor in value if isinstance(value, list) else [value]:
            if isinstance(tensor, dict) and "DataType" in tensor:
                yield name, tensor["DataType"]


class MatrixTest(ProgramTest):
    def setUp(self):
        super().setUp()
        expanded = self.run_program("batch", "--expand", MATRIX)
        self.assertNotIn(b"no valid case", expanded.stderr)
        self.write("cases.jsonl", expanded.stdout)
        self.cases = [json.loads(line) for line in expanded.stdout.splitlines()]

    def test_every_operator_has_cases_of_all_its_types(self):
        self.assertGreater(len(self.cases), 20000)
        seen = {(case["type"], *tensor) for case in self.cases for tensor in tensors_in(case["desc"])}
        self.assertEqual({case["type"] for case in self.cases}, set(operators()))
        for name, info in operators().items():
            first = next(field["name"] for field in info["fields"] if "tensor" in field["type"])
            types = {kind for row in info["support"] for kind in row["tensors"][first]["types"]}
            if (name, first) not in PARTLY:
                self.assertEqual({kind for kind in types if (name, first, kind) not in seen}, set(), name)

    def test_results_are_the_same_however_they_are_computed(self):
        def report(name, *options):
            self.run_program("batch", "cases.jsonl", "--no-times", "--report", name, *options)
            return (self.folder / name).read_text().splitlines()

        whole = report("whole.jsonl")
        self.assertEqual(len(whole), len(self.cases))
        parts = [line for shard in ("1/2", "2/2")
                 for line in report("part.jsonl", "--shard", shard, "-t", "1", "--isa", "portable")]
        self.assertEqual(sorted(parts), sorted(whole))


if __name__ == "__main__":
    unittest.main()
