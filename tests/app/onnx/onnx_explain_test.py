# SPDX-License-Identifier: Apache-2.0
"""Elements of ONNX models, explained back through the nodes."""

import json
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from onnx_messages import F3, constant, model, node, outputs, value
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

    def trace(self, nodes, element, constants, **inputs):
        """The operators of an explanation, with the counts of their outputs' elements, and the counts of origins."""
        self.write("m.onnx", model(nodes, [value(name, x.dtype, x.shape) for name, x in inputs.items()], outputs("Y"), constants))
        for name, x in inputs.items():
            np.save(self.folder / f"{name}.npy", x)
        bound = [word for name in inputs for word in ("-i", f"{name}={name}.npy")]
        told = json.loads(self.run_program("explain", "m.onnx", element, *bound, "--format", "json").stdout)
        return ([(one["name"], one["outputs"][0]["count"], one.get("atMost", False)) for one in told["operators"]],
                {one["name"]: one["count"] for one in told["origins"]})

    def test_columns_of_weights_are_followed_together(self):
        """Each element of a layer reads a column, and the next layer needs the elements of some columns only."""
        layers, size = 12, 1024
        names = ["X", *(f"H{i}" for i in range(1, layers)), "H"]
        nodes = [node("MatMul", f"{x},W", y, y) for x, y in zip(names, names[1:])]
        nodes += [node("Slice", "H,begin,end,axis,step", "S", "slice"), node("MatMul", "S,V", "Y", "last")]
        constants = [constant("W", np.zeros((size, size), "f4")), constant("V", np.zeros((size // 32, 3), "f4")), constant("begin", np.array([1])),
                     constant("end", np.array([size])), constant("axis", np.array([1])), constant("step", np.array([32]))]
        operators, origins = self.trace(nodes, "Y[0,2]", constants, X=np.zeros((1, size), "f4"))
        expected = [("last", 1), ("slice", size // 32), ("H", size // 32), *((name, size) for name in names[-2:0:-1])]
        self.assertEqual(operators, [(*one, False) for one in expected])
        self.assertEqual(origins, {"X": size, "W": size * size, "V": size // 32})

    def test_too_many_pieces_are_followed_as_one(self):
        for rows, count in [(65000, 65000), (66000, 2 * 66000 - 1)]:
            nodes = [node("Neg", "X", "A", "negated"), node("ReduceSum", "A,axes", "Y", "sum")]
            operators, origins = self.trace(nodes, "Y[0,1]", [constant("axes", np.array([0]))], X=np.zeros((rows, 2), "f4"))
            self.assertEqual(operators, [("sum", 1, count > rows), ("negated", count, False)])
            self.assertEqual(origins, {"X": count})

    def test_pieces_are_those_of_memory(self):
        """Neither moved nor repeated dimensions take it apart."""
        summed = node("ReduceSum", "B,axes", "Y", "sum")
        for other, constants, size, count in [
            (node("Transpose", "A", "B", "other", perm=[1, 0]), [], (300, 300), 90000),
            (node("Expand", "A,s", "B", "other"), [constant("s", np.array([70000, 3]))], (1, 3), 3),
        ]:
            nodes = [node("Neg", "X", "A", "negated"), other, summed]
            operators, origins = self.trace(nodes, "Y[0,0]", [*constants, constant("axes", np.array([0, 1]))], X=np.zeros(size, "f4"))
            self.assertEqual([one[2] for one in operators], [False] * 3)
            self.assertEqual(origins, {"X": count})


if __name__ == "__main__":
    unittest.main()
