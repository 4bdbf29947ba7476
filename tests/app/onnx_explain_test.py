# SPDX-License-Identifier: Apache-2.0
"""Elements of ONNX models, explained back through the nodes."""

import json
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from onnx_test import F3, constant, model, node, outputs, value
from program import X, ProgramTest


class OnnxExplainTest(ProgramTest):
    def write(self, name, content):
        (self.folder / name).write_bytes(content)

    def test_explain_goes_back_through_nodes(self):
        self.write("m.onnx", model([node("Neg", "X", "A"), node("ReduceSum", "A,axes", "Y", keepdims=0)], [F3], outputs("Y"), [constant("axes", np.array([1]))]))
        np.save(self.folder / "x.npy", X)
        told = self.run_program(*["explain", "m.onnx", "A[1,2]", "-i", "x.npy"]).stdout.decode()
        self.assertRegex(told, r"Neg_0.*\n.*A\[1, 2\] .* value -4\n(.*\n)?  X\[1, 2\] .* value 4\n")

    def test_indices_are_those_of_the_model(self):
        """Descriptors have other sizes: those of what is reshaped, those that are reduced to 1, and more dimensions."""
        nodes = [node("Reshape", "X,to", "A"), node("ReduceMax", "A", "B", axes=[1], keepdims=0), node("MaxPool", "X3", "C", kernel_shape=[1]), node("Flatten", "C", "D")]
        inputs = [value("X", "f4", [2, 6]), value("X3", "f4", [1, 2, 6])]
        self.write("m.onnx", model(nodes, inputs, outputs("B", "D"), [constant("to", np.array([3, 4]))]))
        x = np.arange(12, dtype="f4").reshape(2, 6)
        np.save(self.folder / "x.npy", x)
        np.save(self.folder / "x3.npy", x.reshape(1, 2, 6))
        for element, number, feeding in [("A[1,3]", 7, "X[1, 1]"), ("A[2,3]", 11, "X[1, 5]"), ("B[1]", 7, "A[1, 3]"), ("C[0,1,2]", 8, "X3[0, 1, 2]"), ("D[0,8]", 8, "C[0, 1, 2]")]:
            with self.subTest(element):
                told = self.run_program("explain", "m.onnx", element, "-i", "X=x.npy", "-i", "X3=x3.npy", "--format", "json").stdout
                explained = json.loads(told)
                self.assertEqual(explained["element"]["index"], json.loads(element[1:]))
                self.assertEqual(explained["operators"][0]["outputs"][0]["elements"][0]["value"], number)
                lists = [one for step in explained["operators"] for one in step["outputs"]] + explained["origins"]
                self.assertIn(feeding, [f"{one['name']}{place['index']}" for one in lists for place in one["elements"]])
        for element in ("A[3,0]", "B[1,0]", "D[1,0]"):
            self.run_program("explain", "m.onnx", element, "-i", "X=x.npy", "-i", "X3=x3.npy", status=2)


if __name__ == "__main__":
    unittest.main()
