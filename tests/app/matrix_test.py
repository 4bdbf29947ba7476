# SPDX-License-Identifier: Apache-2.0
"""The conformance matrix, testdata/matrix.jsonl, has cases of every operator, and their results do not depend on how
they are run."""

import json
import sys
import unittest

sys.dont_write_bytecode = True
from program import ROOT, ProgramTest, operators

MATRIX = ROOT / "testdata/matrix.jsonl"


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
        parts = [line for shard in ("1/2", "2/2")
                 for line in report("part.jsonl", "--shard", shard, "-t", "1", "--isa", "portable")]
        self.assertEqual(sorted(parts), sorted(whole))


if __name__ == "__main__":
    unittest.main()
