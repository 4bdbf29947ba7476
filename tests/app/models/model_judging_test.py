# SPDX-License-Identifier: Apache-2.0
"""Models of all kinds with what a device made of them: judged, diagnosed node by node, explained, and as cases of batches."""

import json
import os
import shutil
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from onnx_messages import constant, model, node, outputs, value
from program import ProgramTest

CHANCE = np.random.default_rng(1)
X = CHANCE.integers(-4, 5, (4, 6)).astype("f4")
W = CHANCE.integers(-4, 5, (6, 5)).astype("f4")
V = CHANCE.integers(-4, 5, (5, 3)).astype("f4")
C = np.array([9, -7, 5], "f4")
A, B = X @ W, (X @ W) @ V + C
Y = np.maximum(B, 0)
NODES = [node("MatMul", "X,W", "A", "/layer/m"), node("Gemm", "A,V,C", "B", "g"), node("Relu", "B", "Y")]
MODEL = model(NODES, [value("X", "f4", [4, 6])], outputs("Y"), [constant("W", W), constant("V", V), constant("C", C)])


class ModelTest(ProgramTest):
    """The model as m.onnx and m.json, and what a device made of it in dump/: it forgot C, and all else is right."""

    def setUp(self):
        super().setUp()
        (self.folder / "m.onnx").write_bytes(MODEL)
        self.save(x=X, y=Y, b=B)
        (self.folder / "m.json").write_bytes(self.run_program("validate", "m.onnx", "-i", "x.npy", "--to-model").stdout)
        os.mkdir(self.folder / "dump")
        self.dump = {"0001-_layer_m.A": A, "0002-g.B": A @ V, "0003-Relu_0.Y": np.maximum(A @ V, 0)}
        for name, values in self.dump.items():
            np.save(self.folder / "dump" / f"{name}.npy", values)

    def save(self, **arrays):
        for name, values in arrays.items():
            np.save(self.folder / f"{name}.npy", values)

    def printed(self, *arguments, status=0):
        done = self.run_program(*arguments, status=status)
        return json.loads(done.stdout) if "json" in arguments else done.stdout.decode()

    def models(self):
        """Each kind of model with what binds its input."""
        return [("m.onnx", ["-i", "x.npy"]), ("m.json", [])]

    # --- diagnose ---------------------------------------------------------------------------------

    def test_the_first_wrong_node_of_a_dump_is_found_with_its_cause(self):
        for path, inputs in self.models():
            with self.subTest(path):
                found = self.printed("diagnose", path, "--from", "dump", *inputs, "--format", "json", status=1)
                self.assertEqual((found["node"], found["judged"], found["notJudged"]), ("g", 2, []))
                self.assertEqual(found["outputs"][0]["causes"][0]["ids"], ["/desc/CTensor=null"])
        text = self.printed("diagnose", "m.onnx", "--from", "dump", status=1)
        self.assertIn("0 nodes are right about what they were given; the first wrong one is node 'g' (Gemm 13)\n"
                      "1 node is not judged: dump has no X.npy, which node '/layer/m' (MatMul 13) reads\n", text)

    def test_a_node_is_judged_on_what_it_was_given(self):
        for path, inputs in self.models():
            with self.subTest(path):
                right = self.printed("diagnose", path, "--node", "Relu_0", "--from", "dump", *inputs, "--format", "json")
                self.assertEqual((right["node"], right["outputs"][0]["verdict"]), ("Relu_0", "equal"))
                wrong = self.printed("diagnose", path, "--node", "Relu_0", "dump/0003-Relu_0.Y.npy", *inputs, "--format", "json", status=1)
                self.assertNotEqual(wrong["outputs"][0]["verdict"], "equal")

    def test_a_right_dump_passes(self):
        for name in self.dump:
            os.remove(self.folder / "dump" / f"{name}.npy")
        for name, values in {"_layer_m.A.npy": A, "B.npy": B, "17-Y.npy": Y, "0009-Relu_0.Y.npy": Y, "X.npy": X}.items():
            np.save(self.folder / "dump" / name, values)
        self.assertEqual(self.printed("diagnose", "m.onnx", "--from", "dump"), "3 nodes are right about what they were given\n")
        os.remove(self.folder / "dump/B.npy")
        self.assertEqual(self.printed("diagnose", "m.onnx", "--from", "dump"),
                         "1 node is right about what it was given\n1 node is not judged: dump has no 0002-g.B.npy, which node 'Relu_0' (Relu 14) reads\n")

    def test_names_of_nodes(self):
        np.save(self.folder / "a.npy", A)
        for name in ["/layer/m", "_layer_m", "A", "/layer/m.A", "0001-_layer_m.A.npy", "1"]:
            with self.subTest(name):
                self.assertTrue(self.printed("diagnose", "m.onnx", "--node", name, "a.npy", "-i", "x.npy").startswith("node '/layer/m' (MatMul 13):\n"))

    def test_what_is_wrong_on_the_command_line_or_in_the_dump(self):
        os.mkdir(self.folder / "empty")
        os.mkdir(self.folder / "part")
        shutil.copy(self.folder / "dump/0002-g.B.npy", self.folder / "part")
        self.save(wide=np.zeros((4, 4), "f4"))
        for arguments, status, words in [
                (["m.onnx", "--node", "gg", "b.npy", "-i", "x.npy"], 2, "no node 'gg'"),
                (["m.onnx", "--node", "/layer/n", "b.npy", "-i", "x.npy"], 2, "did you mean '/layer/m'?"),
                (["m.onnx", "b.npy", "-i", "x.npy"], 2, "--node NAME says which of /layer/m, g, Relu_0 is meant"),
                (["m.onnx", "--node", "g", "-i", "x.npy"], 2, "ACTUAL is missing"),
                (["m.onnx", "--node", "g", "b.npy"], 2, "'X'"),
                (["m.onnx", "--node", "g", "Z=b.npy", "-i", "x.npy"], 2, "no output 'Z'"),
                (["m.onnx", "--node", "g", "b.npy", "x.npy", "-i", "x.npy"], 2, "1 output"),
                (["m.onnx", "--node", "g", "none.npy", "-i", "x.npy"], 5, "none.npy"),
                (["m.onnx", "--from", "none", "-i", "x.npy"], 5, "none"),
                (["m.onnx", "--from", "empty", "-i", "x.npy"], 5, "files such as 0001-_layer_m.A.npy"),
                (["m.onnx", "--node", "g", "--from", "part", "-i", "x.npy"], 5, "part: has no file of what node 'g' (Gemm 13) reads; expected 0001-_layer_m.A.npy"),
                (["m.onnx", "--node", "/layer/m", "--from", "part", "-i", "x.npy"], 5, "expected 0001-_layer_m.A.npy"),
                (["m.onnx", "--node", "/layer/m", "--from", "dump"], 5,
                 "dump: has no file of what node '/layer/m' (MatMul 13) reads; expected X.npy, or -i for an input of the model"),
                (["m.json", "--node", "g", "b.npy", "-i", "x.npy"], 2, "-i"),
                (['{"type": "ELEMENT_WISE_ABS"}', "--node", "g", "b.npy"], 2, "--node and --from are for models")]:
            with self.subTest(arguments):
                self.assertIn(words, self.run_program("diagnose", *arguments, status=status).stderr.decode())
        told = self.printed("diagnose", "m.onnx", "--node", "g", "wide.npy", "-i", "x.npy", status=1)
        self.assertIn("cannot be g.B", told)

    # --- run --------------------------------------------------------------------------------------

    def test_tensors_of_models_are_judged(self):
        for path, inputs in self.models():
            for options, status in [(["Y=y.npy"], 0), (["y.npy"], 0), (["B=b.npy"], 0), (["B=dump/0002-g.B.npy"], 1), (["g.B=b.npy"], 0)]:
                if path == "m.json" and options[0].startswith("g."):
                    options = ["g.OutputTensor=b.npy"]
                for side in "--judge", "-e":
                    with self.subTest(f"{path} {options} {side}"):
                        done = self.run_program("run", path, *inputs, side, *options, "--map", status=status)
                        self.assertEqual(b"elements differ" in done.stdout, status == 1)
        self.run_program("run", "m.json", "--judge", "B=dump/0002-g.B.npy", "--list", "2", "--picture", "d.png", "--report", "r.json", status=1)
        self.assertEqual((self.folder / "d.png").read_bytes()[:4], b"\x89PNG")
        self.assertEqual(json.loads((self.folder / "r.json").read_text())["comparisons"][0]["tensor"], "B")
        for path, inputs in self.models():
            self.assertIn(b"no tensor 'Q'", self.run_program("run", path, *inputs, "--judge", "Q=y.npy", status=2).stderr)
            said = self.run_program("run", path, *inputs, "--judge", "another=y.npy", status=2).stderr.decode()
            names = said.rstrip("\n").split("; expected one of ")[1].split(", ")
            self.assertEqual(len(names), len(set(names)), said)

    def test_errors_have_units_where_an_operator_reads_what_the_model_begins_with(self):
        a = A.copy()
        a[1, 2] = np.nextafter(a[1, 2], np.float32(99))
        self.save(a=a, near=np.nextafter(Y, np.float32(99)))
        for path, inputs in self.models():
            with self.subTest(path):
                done = self.run_program("run", path, *inputs, "--judge", "A=a.npy", "--tolerance", "sums")
                self.assertNotIn(b"warning", done.stderr)
                done = self.run_program("run", path, *inputs, "--judge", "Y=near.npy", "--tolerance", "sums", status=1)
                self.assertIn(b"diagnose --from", done.stderr)

    # --- explain ----------------------------------------------------------------------------------

    def test_elements_of_models_beside_those_of_devices(self):
        x = X + np.float32(1e-3)
        self.save(x=x)
        (self.folder / "m.json").write_bytes(self.run_program("validate", "m.onnx", "-i", "x.npy", "--to-model").stdout)
        for path, inputs in self.models():
            with self.subTest(path):
                a, b = ("A", "B") if inputs else ("/layer/m.OutputTensor", "g.OutputTensor")
                told = self.printed("explain", path, f"{a}[1,2]", *inputs, "--as", "sums-float16", "--actual", "3.5", "--format", "json")
                expected = np.float16(0)
                for left, right in zip(x[1], W[:, 2]):
                    expected = np.float16(np.float64(expected) + np.float64(left) * right)
                self.assertEqual(told["as"]["value"], float(expected))
                self.assertEqual(told["actual"]["value"], 3.5)
                told = self.printed("explain", path, f"{b}[0,0]", *inputs, "--judge", f"{b}=dump/0002-g.B.npy", "--format", "json")
                self.assertEqual(told["actual"]["value"], float((A @ V)[0, 0]))
                self.assertIn(b"not the tensor of one", self.run_program("explain", path, "X[0,0]" if inputs else "X[0]", *inputs, "--actual", "1", status=2).stderr)

    # --- batch ------------------------------------------------------------------------------------

    def lines(self, *lines):
        (self.folder / "all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def test_models_of_all_kinds_are_cases(self):
        document = json.loads((self.folder / "m.json").read_text())
        document["commands"] = [one for one in document["commands"] if one["type"] != "print"]
        document["commands"].append({"type": "writeFile", "resource": "Y", "targetPath": "gold/written.npy", "dimensions": [4, 3]})
        (self.folder / "w.json").write_text(json.dumps(document))
        self.lines({"model": "m.onnx", "inputs": {"X": "x.npy"}, "outputs": {"Y": "gold/y.npy", "g.B": "gold/b.npy"}},
                   {"model": "m.onnx", "inputs": ["x.npy"], "outputs": ["gold/y2.npy"], "name": "second"},
                   {"model": "m.json", "outputs": {"Y": "gold/y3.npy", "g.OutputTensor": "gold/b3.npy"}},
                   document | {"commands": document["commands"][:-1] + [document["commands"][-1] | {"targetPath": "gold/whole.npy"}]},
                   {"model": "w.json"},
                   {"type": "ELEMENT_WISE_ABS", "bindings": {"InputTensor": "x.npy", "OutputTensor": "gold/abs.npy"}})
        for path in self.folder.glob("*.*"):
            os.utime(path, (10, 10))  # a clock may be too coarse to tell them from what is written next
        self.run_program("batch", "all.jsonl", "-q", "--report", "r.jsonl")
        expected = {"y": Y, "y2": Y, "y3": Y, "b": B, "b3": B, "whole": Y, "written": Y, "abs": abs(X)}
        self.assertEqual(sorted(os.listdir(self.folder / "gold")), sorted(f"{name}.npy" for name in expected))
        for name, values in expected.items():
            np.testing.assert_array_equal(np.load(self.folder / f"gold/{name}.npy"), values)
        self.run_program("validate", "all.jsonl", "-q")
        self.run_program("batch", "all.jsonl", "--check", "-q")
        self.assertIn(b"6 up to date", self.run_program("batch", "all.jsonl", "--resume").stderr)
        shutil.copytree(self.folder / "gold", self.folder / "gpu")
        np.save(self.folder / "gpu/written.npy", A @ V)
        np.save(self.folder / "gpu/b.npy", A @ V)
        os.remove(self.folder / "gpu/y2.npy")
        done = self.run_program("batch", "all.jsonl", "--judge", "--output-path", "gpu", "-k", "--skip-missing", status=1)
        self.assertIn(b"3 done, 2 different, 1 missing", done.stderr)
        reported = [json.loads(line) for line in (self.folder / "r.jsonl").read_text().splitlines()]
        self.assertEqual([len(one["outputs"]) for one in reported], [2, 1, 2, 1, 1, 1])

    def test_lines_of_test_data_follow_the_command_line(self):
        os.mkdir(self.folder / "set")
        (self.folder / "set/input_0.pb").write_bytes(constant("X", X))
        (self.folder / "set/output_0.pb").write_bytes(constant("Y", Y + np.float32(.001)))
        self.lines({"model": "m.onnx", "data": "set"})
        self.run_program("batch", "all.jsonl", "-q", status=1)
        self.run_program("batch", "all.jsonl", "-q", "--check", "--atol", ".01")
        self.run_program("batch", "-", "-q", "--check", "--atol", ".01", stdin=(self.folder / "all.jsonl").read_bytes())
        os.makedirs(self.folder / "gpu/set")
        (self.folder / "gpu/set/output_0.pb").write_bytes(constant("Y", Y))
        self.run_program("batch", "all.jsonl", "-q", "--judge", "--output-path", "gpu")

    def judged_lines(self, device, *options, status=0):
        """What a report says of the files that a device has written for the tensors A and B of each kind of model."""
        document = json.loads((self.folder / "m.json").read_text())
        document["commands"] += [{"type": "writeFile", "resource": name, "targetPath": f"gold/{name}.npy"} for name in "AB"]
        self.lines({"model": "m.onnx", "inputs": ["x.npy"], "outputs": {"A": "gold/A.npy", "B": "gold/B.npy"}},
                   {"model": "m.json", "outputs": {"A": "gold/A.npy", "g.OutputTensor": "gold/B.npy"}}, document)
        os.makedirs(self.folder / "gpu", exist_ok=True)
        for name, values in device.items():
            np.save(self.folder / f"gpu/{name}.npy", values)
        self.run_program("batch", "all.jsonl", "--judge", "--output-path", "gpu", "-k", "--report", "r.jsonl", *options, status=status)
        return [json.loads(line) for line in (self.folder / "r.jsonl").read_text().splitlines()]

    def test_what_differs_in_models_of_batches_is_diagnosed(self):
        near = A.copy()
        near[1, 2] = np.nextafter(near[1, 2], np.float32(99))
        for case in self.judged_lines({"A": near, "B": A @ V}, "--diagnose", status=1):
            found = [(one["name"], one["verdict"], [cause["ids"] for cause in one["causes"][:1]]) for one in case["diagnoses"]]
            of_b = case["comparisons"][1]["tensor"]
            self.assertEqual(found, [("A", "noise", []), (of_b, "cause", [["/desc/CTensor=null"]])])
        done = self.run_program("batch", "all.jsonl", "--judge", "--output-path", "gpu", "-k", "--diagnose", status=1)
        self.assertIn(b"3 of 3 differ: 3 CTensor left out\n", done.stderr)
        for case in self.judged_lines({"A": near, "B": B}, "--diagnose"):
            self.assertEqual((case["status"], [one["verdict"] for one in case["diagnoses"]]), ("done", ["noise"]))

    def test_what_has_overwritten_its_inputs_is_not_diagnosed(self):
        """A square in place, and a device's square of the square."""
        tensor = {"DataType": "FLOAT32", "Sizes": [3]}
        x = np.float32([1, 2, 3])
        self.lines({"resources": {"x": {"initialValuesDataType": "FLOAT32", "initialValues": x.tolist()}},
                    "dispatchables": {"square": {"type": "DML_OPERATOR_ELEMENT_WISE_MULTIPLY", "desc": dict.fromkeys(["ATensor", "BTensor", "OutputTensor"], tensor)}},
                    "commands": [{"type": "dispatch", "dispatchable": "square", "bindings": dict.fromkeys(["ATensor", "BTensor", "OutputTensor"], "x")},
                                 {"type": "writeFile", "resource": "x", "targetPath": "x.npy"}]})
        os.makedirs(self.folder / "gpu", exist_ok=True)
        for values, status in [(x ** 2, 0), (x ** 4, 1)]:
            np.save(self.folder / "gpu/x.npy", values)
            self.run_program("batch", "all.jsonl", "--judge", "--output-path", "gpu", "--diagnose", status=status)

    def test_errors_have_units_in_models_of_batches(self):
        near = A.copy()
        near[1, 2] = np.nextafter(near[1, 2], np.float32(99))
        for options, status in [((), 1), (("--tolerance", "sums"), 0)]:
            for case in self.judged_lines({"A": near, "B": B}, *options, status=status):
                self.assertEqual([(one["equal"], "units" in one) for one in case["comparisons"]], [(status == 0, True), (True, False)])
        for case in self.judged_lines({"A": A, "B": np.nextafter(B, np.float32(99))}, "--tolerance", "sums", status=1):
            self.assertEqual([one["equal"] for one in case["comparisons"]], [True, False])  # a device was given another A

    def test_each_missing_file_of_a_model_is_told(self):
        for case in self.judged_lines({"B": A @ V}, status=5):
            self.assertEqual((case["missing"], len(case["comparisons"])), (1, 2))

    def test_what_no_case_can_be(self):
        for line, status, words in [
                ({"model": "m.onnx", "inputs": ["x.npy"]}, 2, "neither 'data'"),
                ({"model": "m.onnx", "outputs": ["y2.npy"]}, 2, "'X'"),
                ({"model": "m.onnx", "inputs": {"Z": "x.npy"}, "outputs": ["y2.npy"]}, 2, "no input 'Z'"),
                ({"model": "m.onnx", "inputs": ["x.npy"], "outputs": {"Z": "y2.npy"}}, 2, "no output 'Z'"),
                ({"model": "m.onnx", "inputs": ["x.npy"], "outputs": ["y2.npy", "z.npy"]}, 2, "1 output"),
                ({"model": "none.onnx", "inputs": ["x.npy"], "outputs": ["y2.npy"]}, 5, "none.onnx"),
                ({"model": "m.json", "inputs": ["x.npy"]}, 2, "binds its tensors itself"),
                ({"model": "m.json"}, 2, "writes no file"),
                ({"model": "x.npy", "outputs": ["y2.npy"]}, 3, "x.npy"),
                ({"model": "m.onnx", "output": ["y2.npy"]}, 3, "'outputs'?")]:
            with self.subTest(line):
                self.lines(line)
                self.assertIn(words, self.run_program("batch", "all.jsonl", status=status).stderr.decode())
                self.assertFalse((self.folder / "y2.npy").exists())
        self.lines({"model": "m.onnx", "inputs": ["x.npy"], "outputs": ["x.npy"]}, {"model": "m.onnx", "inputs": ["x.npy"], "outputs": ["y2.npy"]})
        self.assertIn(b"x.npy", self.run_program("batch", "all.jsonl", status=2).stderr)
        np.testing.assert_array_equal(np.load(self.folder / "x.npy"), X)

    # --- other forms, and sizes -------------------------------------------------------------------

    def test_models_in_other_forms(self):
        printed = self.run_program("validate", "m.onnx", "-i", "x.npy", "--print-complete").stdout
        self.assertIn(b"DML_OPERATOR_GEMM", printed)
        self.run_program("validate", "m.onnx", "-i", "x.npy", "--cases", "cases")
        self.run_program("batch", "cases/cases.jsonl", "--check", "-q")
        self.assertEqual(len(list((self.folder / "cases").glob("000*.json"))), 3)
        self.assertIn(b"x.npy", self.run_program("validate", "m.onnx", "-i", "cases/0001-_layer_m.ATensor.npy", "--cases", "cases", status=2).stderr.replace(b"ATensor", b"x"))

    def test_a_model_without_operators_has_no_cases(self):
        nothing = model([node("Slice", "X,zero,zero", "Y")], [value("X", "f4", [4, 6])], outputs("Y"), [constant("zero", np.array([0]))])
        (self.folder / "n.onnx").write_bytes(nothing)
        self.run_program("validate", "n.onnx", "-i", "x.npy", "--cases", "new/cases")
        self.assertEqual([(one.name, one.read_bytes()) for one in (self.folder / "new/cases").iterdir()], [("cases.jsonl", b"")])

    def test_sizes_of_the_command_line_hold_within_other_models(self):
        (self.folder / "n.onnx").write_bytes(model([node("Shape", "X", "S"), node("Cast", "S", "Y", to=1)], [value("X", "f4", ["N", 3])], outputs("Y")))
        document = {"resources": {"X": {"initialValuesDataType": "FLOAT32", "initialValues": {"valueCount": 30, "value": 1}},
                                  "Y": {"initialValuesDataType": "FLOAT32", "initialValues": [0, 0]}},
                    "dispatchables": {"n": {"type": "onnx", "sourcePath": "n.onnx", "freeDimensionNameOverrides": {"N": 2}}},
                    "commands": [{"type": "dispatch", "dispatchable": "n", "bindings": {"X": "X", "Y": "Y"}}, {"type": "print", "resource": "Y"},
                                 {"type": "writeFile", "resource": "Y", "targetPath": "n.npy"}]}
        (self.folder / "n.json").write_text(json.dumps(document))
        (self.folder / "n.jsonl").write_text(json.dumps(document) + "\n")
        for sizes, first in [([], 2), (["-f", "N:5"], 5), (["-b", "X:7,3"], 7)]:
            with self.subTest(sizes):
                self.assertIn(f"Resource 'Y': {first}, 3", self.printed("run", "n.json", *sizes))
                self.run_program("batch", "n.jsonl", "-q", *sizes)
                np.testing.assert_array_equal(np.load(self.folder / "n.npy"), [first, 3])
        self.assertIn(b"for ONNX models", self.run_program("run", '{"type": "ELEMENT_WISE_ABS"}', "-i", "x.npy", "-f", "N:2", status=2).stderr)


if __name__ == "__main__":
    unittest.main()
