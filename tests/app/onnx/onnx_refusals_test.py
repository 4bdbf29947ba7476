# SPDX-License-Identifier: Apache-2.0
"""ONNX models that are refused: what the messages name, and what is judged all the same."""

import itertools
import json
import re
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from onnx_messages import F3, RELU, constant, field, graph, model, node, outputs, value, varint
from onnx_test import OnnxProgramTest
from program import ROOT, X


class OnnxRefusalsTest(OnnxProgramTest):
    def test_each_refusal_names_its_node_and_place(self):
        def one(nodes, *more, **options):
            return model(nodes, [F3], outputs("Y"), *more, **options)

        sub = graph([node("Identity", "X", "b")], (), outputs("b"))
        for _ in range(70):
            sub = graph([node("If", "X", "b", then_branch=sub, else_branch=sub[:0] or graph([]))], (), outputs("b"))
        cases = [
            ("ONX-1", "no graph", field(1, 8)),
            ("ONX-1", "cut off", RELU[:-3]),
            ("ONX-1", "cut off", model([], domains=[("x", 1)])[:2] + varint(7 << 3 | 2) + varint(2**32 + 5) + bytes(5)),
            ("ONX-1", "nested", one([node("If", "X", "Y", then_branch=sub)])),
            ("ONX-1", "65537 bytes", one([node("Relu", "X", "Y", "n" * 65537)])),
            ("ONX-1", "not UTF-8", one([node("Relu", "X", "Y", b"\xff")])),
            ("ONX-1", "'c' (Concat 13): size 2147483648", one([node("ConstantOfShape", "s", "A"), node("Concat", "A,A", "Y", "c", axis=0)], [constant("s", np.array([2**30]))])),
            ("ONX-1", "out of range", one([node("ConstantOfShape", "s", "Y")], [constant("s", np.array([2**31]))])),
            ("ONX-2", "'nms' (NonMaxSuppression 11)", one([node("NonMaxSuppression", "X,X", "Y", "nms")])),
            ("ONX-2", "'x' (Rellu)", one([node("Rellu", "X", "Y", "x")])),
            ("ONX-2", "opset 99", one([node("Relu", "X", "Y")], opset=99)),
            ("ONX-3", "input 1 is left out", one([node("If", "", "Y")])),
            ("ONX-3", "'t' (Transpose 13)", one([node("Transpose", "X", "Y", "t", perm=[0, 0])])),
            ("ONX-4", "'X'", model([node("Relu", "X", "Y")], [value("X", "f4", None)], outputs("Y"))),
            ("ONX-4", "do not broadcast", one([node("Add", "X,c", "Y")], [constant("c", np.zeros(2, "f4"))])),
            ("ONX-5", "'X'", model([node("Reshape", "X,s", "Y")], [F3, value("s", "i8", [1])], outputs("Y"))),
            ("ONX-6", "BFLOAT16", model([node("Relu", "X", "Y")], [value("X", 16, [3])], outputs("Y"))),
            ("ONX-6", "STRING", model([node("Identity", "X", "Y")], [value("X", 8, [3])], outputs("Y"))),
            ("ONX-7", "computed only later", one([node("Add", "X,B", "Y"), node("Neg", "Y", "B")])),
            ("ONX-7", "nothing computes", one([node("Add", "X,B", "Y")])),
            ("ONX-7", "twice", one([node("Relu", "X", "Y"), node("Neg", "X", "Y")])),
        ]
        for code, words, content in cases:
            with self.subTest(f"{code} {words}"):
                told = self.refusal(content).decode()
                self.assertIn(f"[{code}]", told)
                self.assertIn(words.split("'X'")[0], told)
                if (code, words) != ("ONX-4", "'X'"):  # whose file says the sizes
                    np.save(self.folder / "x.npy", X)
                    self.run_program("run", "m.onnx", "-i", "x.npy", status=3)

    def test_all_refusals_of_a_model_are_told(self):
        nodes = [node("NonMaxSuppression", "X,X", "A", "first"), node("Reshape", "X,s", "B", "second"), node("Loop", "A", "C", "third"), node("Relu", "A", "Y", "fourth")]
        told = self.refusal(model(nodes, [F3, value("s", "i8", [1])], outputs("Y"))).decode()
        self.assertEqual(re.findall(r"node '(\w+)'", told), ["first", "second", "third"])
        # Attributes are judged without inputs, too.
        nodes = [node("NonMaxSuppression", "X,X", "A", "first"), node("Resize", "A,,s", "B", "second", mode="cubic"), node("Relu", "B", "C", "between"),
                 node("Cast", "C", "Y", "third", to=8)]
        told = self.refusal(model(nodes, [F3], outputs("Y"), [constant("s", np.ones(2, "f4"))])).decode()
        self.assertEqual(re.findall(r"node '(\w+)'", told), ["first", "second", "third"])

    def test_nodes_behind_refused_ones(self):
        """Those are judged whose inputs the file describes; the others are named."""
        branch = graph([node("Relu", "X", "b")], (), outputs("b"))
        nodes = [node("NonMaxSuppression", "X,X", "A", "refused"), node("If", "c", "B", "unknown", then_branch=branch, else_branch=branch), node("Mystery", "X", "C", "strange"),
                 node("Relu", "A", "D", "runs"), node("Concat", "B,X", "E", "wrong", axis=1), node("Neg", "C", "F", "open"), node("Abs", "F", "G", "behind"),
                 node("Mystery", "X", "H", "other"), node("Neg", "H", "Y", "unsized")]
        inputs = [value("X", "f4", ["N", 3]), value("c", "?", [])]
        values = [value("A", "f4", ["N", 3]), value("B", "f4", [7, 3]), value("H", "f4", ["M", 3])]
        self.write("m.onnx", model(nodes, inputs, outputs("Y"), values=values))
        done = self.run_program("validate", "m.onnx", "-b", "X:2,3", status=3)
        self.assertEqual(re.findall(r"node '(\w+)'", done.stderr.decode()), ["refused", "unknown", "strange", "wrong", "other"])
        told = done.stdout.decode().split("could not be judged")
        self.assertEqual([re.findall(r"node '(\w+)'", part) for part in told], [["runs"], ["open", "behind", "unsized"]])
        verdict = json.loads(self.run_program("validate", "m.onnx", "-b", "X:2,3", "--format", "json", status=3).stdout)
        self.assertEqual((verdict["unjudged"], [one["name"] for one in verdict["nodes"]]), (["open", "behind", "unsized"], ["runs"]))

    def test_levels_are_for_nodes_that_run(self):
        """A size is computed while the model is read, so it may need more than the level has."""
        added = [node("Add", "one,two", "S", "sum"), node("Reshape", "X,S", "Y", "shape")]
        numbers = [constant("one", np.array([4, 1])), constant("two", np.array([5, 0]))]
        self.write("m.onnx", model(added, [F3], outputs("Y"), numbers))
        shown = self.run_program("validate", "m.onnx", "-L", "3_0").stdout.decode()
        self.assertIn("node 'sum' (Add 14): known while the model is read", shown)
        np.save(self.folder / "x.npy", X)
        self.run_program("run", "m.onnx", "-i", "x.npy", "-L", "3_0", "-o", "y.npy")
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), X.reshape(9, 1))
        told = self.refusal(model([*added, node("Add", "I,two", "Z", "there")], [F3, value("I", "i8", [2])], outputs("Y", "Z"), numbers), 3, "-L", "3_0").decode()
        self.assertEqual(set(re.findall(r"node '(\w+)'", told)), {"there"})
        # The size is an output, too, which the device copies.
        told = self.refusal(model(added, [F3], outputs("Y", "S"), numbers), 3, "-L", "3_0").decode()
        self.assertRegex(told, "output 'S': ELEMENT_WISE_IDENTITY: InputTensor/DataType: INT64 .* needs 4_1 \\[FL-1\\]")

    def test_levels_of_nodes_that_are_refused_for_their_sizes(self):
        lengths = [value("X", "f4", [2, 3]), value("n", "i8", [1])]
        for level in ("1_0", "6_4"):
            told = self.refusal(model([node("ReverseSequence", "X,n", "Y", "turned")], lengths, outputs("Y")), 3, "-L", level).decode()
            self.assertIn("node 'turned' (ReverseSequence 10): 'n' of [1] has other sizes", told)
        indices = [value("X", "f4", [1, 1, 1, 1]), value("I", "i8", [])]
        told = self.refusal(model([node("MaxUnpool", "X,I", "Y", "spread", kernel_shape=[2, 2])], indices, outputs("Y"))).decode()
        self.assertIn("node 'spread' (MaxUnpool 11): indices of [] for [1, 1, 1, 1] [ONX-4]", told)

    def test_odd_tensors_are_refused_or_taken_by_every_operator(self):
        """Each operator reads one tensor as all of its inputs: a scalar, an empty one, one of too many dimensions."""
        rows = (ROOT / "core/onnx").glob("rows_*.cpp")
        operators = sorted(set(re.findall(r'^ +\{"([A-Z]\w+)", "\d', "".join(path.read_text() for path in rows), re.M)))
        self.assertGreater(len(operators), 150)
        attributes = {"axis": 0, "block_size": 2, "blocksize": 2, "channels_last": 1, "equation": "a", "hidden_size": 1, "K": 1, "N": 1, "kernel_shape": [2, 2], "kv_num_heads": 1,
                      "num_groups": 1, "groups": 1, "num_heads": 1, "pooled_shape": [1, 1], "q_num_heads": 1, "to": 1}
        sizes_of_all = [[], [0], [0, 3, 4, 4], [3], [2, 3], [2, 3, 4], [2, 0, 4], [2, 3, 4, 4, 5], [1] * 9]
        kinds = ["f4", "i8", "u1"]
        for domain, opset in [("", 18), ("", 24), ("com.microsoft", 21)]:
            nodes = [node(op, ",".join([kind] * count), f"{op} {kind} {count}", "", domain, **attributes)
                     for op in operators for kind in kinds for count in (1, 2, 3, 5, 9)]
            for sizes, is_known in itertools.product(sizes_of_all, [True, False]):
                with self.subTest(f"{domain} {opset} {sizes} {is_known}"):
                    inputs = [] if is_known else [value(kind, kind, sizes) for kind in kinds]
                    constants = [constant(kind, np.ones(sizes, kind)) for kind in kinds] if is_known else []
                    self.write("m.onnx", model(nodes, inputs, (), constants, opset, [("com.microsoft", 1)]))
                    told = self.run_program("validate", "m.onnx", status=3).stderr
                    self.assertNotRegex(told, b"runtime error|Sanitizer")

    def test_every_truncation_is_refused_or_a_model(self):
        content = model([node("Conv", "X,W", "Y", "c", pads=[1, 1, 1, 1])], [value("X", "f4", [1, 1, 3, 3])], outputs("Y"), [constant("W", np.ones((1, 1, 3, 3), "f4"))])
        paths = []
        for length in range(len(content)):
            paths.append(self.write(f"{length}.onnx", content[:length]))
        done = self.run_program("validate", *paths, "--format", "json", status=3)
        verdicts = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(verdicts), len(content))
        for verdict in verdicts:
            self.assertFalse(verdict["valid"], verdict["document"])
            self.assertEqual(verdict["diagnostics"][0]["code"], "ONX-1", verdict)

    def test_wrong_names_and_files_on_the_command_line(self):
        self.write("m.onnx", RELU)
        np.save(self.folder / "x.npy", X)
        np.save(self.folder / "wide.npy", np.zeros((3, 4), "f4"))
        np.save(self.folder / "double.npy", X.astype("f8"))
        for arguments, status, words in [(["-i", "Z=x.npy"], 2, "no input 'Z'"), ([], 2, "'X'"), (["-i", "x.npy", "x.npy"], 2, "1 input"),
                                         (["-i", "wide.npy"], 4, "[3, 3] [ONX-4]"), (["-i", "double.npy"], 4, "FLOAT32 [ONX-6]"), (["-i", "none.npy"], 5, "none.npy"),
                                         (["-i", "x.npy", "-o", "Z=y.npy"], 2, "no output 'Z'"), (["-i", "x.npy", "-b", "Z:3,3"], 2, "Z"), (["-i", "x.npy", "-f", "N"], 2, "NAME:SIZE")]:
            with self.subTest(arguments):
                self.assertIn(words, self.run_program(*["run", "m.onnx", *arguments], status=status).stderr.decode())


if __name__ == "__main__":
    unittest.main()
