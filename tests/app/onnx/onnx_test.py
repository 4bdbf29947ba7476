# SPDX-License-Identifier: Apache-2.0
"""ONNX models: run, judged, listed and explained, node by node."""

import json
import os
import re
import subprocess
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from onnx_messages import F3, RELU, constant, field, function, graph, model, node, outputs, reference, tensor, text, value
from program import DMLOP, X, ProgramTest


class OnnxProgramTest(ProgramTest):
    def write(self, name, content):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(content)
        return name

    def refusal(self, content, status=3, *arguments):
        self.write("m.onnx", content)
        return self.run_program("validate", "m.onnx", *arguments, status=status).stderr


class OnnxTest(OnnxProgramTest):
    # --- run --------------------------------------------------------------------------------------

    def test_nodes_run_one_after_another(self):
        nodes = [node("MatMul", "X,W", "A", "m"), node("Add", "A,b", "B", "a"), node("Relu", "B", "Y")]
        w, b = np.arange(6, dtype="f4").reshape(3, 2) - 2, np.array([1, -20], "f4")
        self.write("m.onnx", model(nodes, [F3], outputs("Y"), [constant("W", w), constant("b", b)]))
        np.save(self.folder / "x.npy", X)
        self.run_program("run", "m.onnx", "-i", "x.npy", "-o", "y.npy", "--keep-all", "gold")
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), np.maximum(X @ w + b, 0))
        self.assertEqual(sorted(os.listdir(self.folder / "gold")), ["0001-m.A.npy", "0002-a.B.npy", "0003-Relu_0.Y.npy"])
        np.testing.assert_array_equal(np.load(self.folder / "gold/0001-m.A.npy"), X @ w)

    def test_names_have_any_characters(self):
        name = "a=b/c:0 d"
        self.write("m.onnx", model([node("Neg", name, "Y=1", "n/1")], [value(name, "f4", [3, 3])], outputs("Y=1")))
        np.save(self.folder / "x=y.npy", X)
        self.run_program("run", "m.onnx", "-i", f"{name}=x=y.npy", "-o", "Y=1=y.npy", "--keep-all", "gold")
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), -X)
        self.assertEqual(os.listdir(self.folder / "gold"), ["0001-n_1.Y=1.npy"])

    def test_messages_of_tensors_are_read_and_written(self):
        self.write("m.onnx", model([node("Greater", "X,z", "Y")], [F3], [value("Y", "?", [3, 3])], [constant("z", np.float32(2))]))
        self.write("input_0.pb", constant("X", X))
        self.write("output_0.pb", constant("Y", X > 2))
        self.run_program("run", "m.onnx", "-i", "input_0.pb", "-e", "output_0.pb", "-o", "y.pb")
        self.assertEqual((self.folder / "y.pb").read_bytes(), (self.folder / "output_0.pb").read_bytes())
        self.write("output_0.pb", constant("Y", X > 3))
        self.run_program("run", "m.onnx", "-i", "input_0.pb", "-e", "output_0.pb", "-q", status=1)

    def test_scalars_and_empty_tensors_keep_their_shape(self):
        nodes = [node("Size", "X", "S"), node("Cast", "S", "F", to=1), node("Neg", "F", "Y"), node("Slice", "X,one,one,zero", "E")]
        numbers = [constant("one", np.array([1])), constant("zero", np.array([0]))]
        self.write("m.onnx", model(nodes, [F3], outputs("Y", "E"), numbers))
        np.save(self.folder / "x.npy", X)
        self.run_program("run", "m.onnx", "-i", "x.npy", "-o", "Y=y.npy", "-o", "E=e.npy")
        self.assertEqual((np.load(self.folder / "y.npy").shape, np.load(self.folder / "y.npy")), ((), -9))
        self.assertEqual(np.load(self.folder / "e.npy").shape, (0, 3))

    def test_sizes_follow_from_values(self):
        nodes = [node("Shape", "X", "S"), node("Slice", "S,zero,one", "N"), node("Concat", "N,rest", "to", axis=0), node("Reshape", "X,to", "Y")]
        numbers = [constant("zero", np.array([0])), constant("one", np.array([1])), constant("rest", np.array([1, -1]))]
        self.write("m.onnx", model(nodes, [value("X", "f4", ["N", 3])], outputs("Y"), numbers))
        for count in (1, 4):
            x = np.arange(3 * count, dtype="f4").reshape(count, 3)
            np.save(self.folder / "x.npy", x)
            self.run_program("run", "m.onnx", "-i", "x.npy", "-o", "y.npy")
            np.testing.assert_array_equal(np.load(self.folder / "y.npy"), x.reshape(count, 1, 3))

    def test_the_branch_of_a_known_condition_runs(self):
        branches = [graph([node("Neg" if negates else "Identity", "X", "b")], (), outputs("b")) for negates in (True, False)]
        nodes = [node("If", "c", "Y", then_branch=branches[0], else_branch=branches[1])]
        self.write("m.onnx", model(nodes, [F3, value("c", "?", [])], outputs("Y")))
        np.save(self.folder / "x.npy", X)
        for negates in (True, False):
            np.save(self.folder / "c.npy", np.array(negates))
            self.run_program("run", "m.onnx", "-i", "x.npy", "-i", "c=c.npy", "-o", "y.npy")
            np.testing.assert_array_equal(np.load(self.folder / "y.npy"), -X if negates else X)
        self.assertIn(b"ONX-9", self.run_program("validate", "m.onnx", status=3).stderr)

    def test_functions_of_the_model_are_their_nodes(self):
        leaky = function("Leaky", "a", "b", [node("LeakyRelu", "a", "b") + reference("alpha", "slope", 1)], slope=.5)
        twice = function("Twice", "a,low", "c", [node("Leaky", "a", "h", "", "my") + reference("slope", "s", 1), node("Add", "h,h", "k", "sum"), node("Clip", "k,low", "c")],
                         opset=13, s=None)
        nodes = [node("Leaky", "X", "A", "l", "my"), node("Twice", "A", "B", "", "my", s=.25), node("Twice", "B,limit", "Y", "t", "my", s=.125)]
        content = model(nodes, [F3], outputs("Y"), [constant("limit", np.float32(-1))], domains=[("my", 1)]) + leaky + twice
        self.write("m.onnx", content)
        x = X - 3
        np.save(self.folder / "x.npy", x)
        self.run_program("run", "m.onnx", "-i", "x.npy", "-o", "y.npy", "--keep-all", "gold")
        a = np.where(x < 0, x / 2, x)
        b = np.where(a < 0, a / 4, a) * 2
        h = np.where(b < 0, b / 8, b)
        y = np.maximum(2 * h, -1)
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), y)
        expected = {"0001-l_LeakyRelu_0.A": a, "0002-Twice_0_Leaky_0_LeakyRelu_0.Twice_0_h": b / 2, "0003-Twice_0_sum.Twice_0_k": b, "0004-Twice_0_Clip_0.B": b,
                    "0005-t_Leaky_0_LeakyRelu_0.t_h": h, "0006-t_sum.t_k": 2 * h, "0007-t_Clip_0.Y": y}
        self.assertEqual(sorted(os.listdir(self.folder / "gold")), [f"{name}.npy" for name in expected])
        for name, values in expected.items():
            np.testing.assert_array_equal(np.load(self.folder / f"gold/{name}.npy"), values)
        self.assertIn(b"node 't/Clip_0' (Clip 13)", self.run_program("show", "m.onnx").stdout)

    def test_what_a_call_leaves_out(self):
        """An output may be left out that is an input that is left out, too; and branches are named as their calls."""
        split = function("F", "a,l", "l,b", [node("Constant", "", "c", value=np.array(True)),
                                                      node("If", "c", "b", then_branch=graph([node("Neg", "a", "n")], (), outputs("n")),
                                                           else_branch=graph([node("Abs", "a", "n")], (), outputs("n")))])
        self.write("m.onnx", model([node("F", "X", ",Y", "f", "my")], [F3], outputs("Y"), domains=[("my", 1)]) + split)
        np.save(self.folder / "x.npy", X)
        self.run_program("run", "m.onnx", "-i", "x.npy", "-o", "y.npy")
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), -X)
        shown = self.run_program("show", "m.onnx").stdout
        self.assertIn(b"'f/If_0' (If)", shown)
        self.assertIn(b"'f/Neg_0' (Neg 13)", shown)

    def test_functions_that_cannot_be_called_are_refused(self):
        def calling(*functions):
            return model([node("F", "X", "Y", "f", "my")], [F3], outputs("Y"), domains=[("my", 1)]) + b"".join(functions)

        def doubling(i, name="D"):
            return function(f"{name}{i}", "a", "b", [node(f"{name}{i + 1}", "a", "t", "", "my"), node(f"{name}{i + 1}", "t", "b", "", "my")])

        def chain(name, count):
            names = [name, *(f"t{i}" for i in range(1, count)), "b"]
            return [node("Relu", a, b) for a, b in zip(names, names[1:])]

        relu = [node("Relu", "a", "b")]
        branch = graph(chain("a", 600), (), outputs("b"))
        for code, words, content in [
                ("ONX-1", "'f/F_0' (my.F): the function calls itself", calling(function("F", "a", "b", [node("F", "a", "b", "", "my")]))),
                ("ONX-1", "'f/G_0/F_0'", calling(function("F", "a", "b", [node("G", "a", "b", "", "my")]), function("G", "a", "b", [node("F", "a", "b", "", "my")]))),
                ("ONX-1", "131072 nodes", calling(function("F", "a", "b", [node("D0", "a", "b", "", "my")]), *map(doubling, range(60)), function("D60", "a", "b", relu))),
                ("ONX-1", "64 deep", calling(function("F", "a", "b", [node("D0", "a", "b", "", "my")]),
                                             *(function(f"D{i}", "a", "b", [node(f"D{i + 1}", "a", "b", "", "my")]) for i in range(99)))),
                ("ONX-1", "bytes of names", calling(function("F", "a", "b", [node("G", "a", "b", "n" * 65536, "my")]), function("G", "a", "b", chain("a", 1025)))),
                ("ONX-1", "bytes of names", calling(function("F", "a", "b", [node("G", "a", "b", "n" * 65536, "my")]), function("G", "a", "b", [node("Split", "a", ",".join(["b", *map(str, range(1100))]))]))),
                ("ONX-1", "131072 nodes", calling(function("F", "a", "b", [node("D0", "a", "b", "", "my")]), *map(doubling, range(8)),
                                                  function("D8", "a", "b", [node("Constant", "", "c", value=np.array(True)), node("If", "c", "b", then_branch=branch, else_branch=branch)]))),
                ("ONX-2", "'f/Rellu_0' (Rellu)", calling(function("F", "a", "b", [node("Rellu", "a", "b")]))),
                ("ONX-2", "opset 99", calling(function("F", "a", "b", relu, opset=99))),
                ("ONX-3", "the attribute 'slope' is missing", calling(function("F", "a", "b", relu, slope=None))),
                ("ONX-3", "the attribute 'alpha' refers to one of a function", model([node("LeakyRelu", "X", "Y") + reference("alpha", "slope", 1)], [F3], outputs("Y"))),
                ("ONX-3", "more inputs or outputs", model([node("F", "X,X", "Y", "f", "my")], [F3], outputs("Y")) + function("F", "a", "b", relu)),
                ("ONX-7", "reads 'X'", calling(function("F", "a", "b", [node("Add", "a,X", "b")]))),
                ("ONX-7", "nothing computes 'b' in its function", calling(function("F", "a", "b", []))),
                ("ONX-7", "it is there twice", calling(function("F", "a", "b", relu), function("F", "a", "b", relu)))]:
            with self.subTest(words):
                told = self.refusal(content).decode()
                self.assertIn(f"[{code}]", told)
                self.assertIn(words, told)

    def test_outputs_have_their_names_whatever_computes_them(self):
        branch = graph([node("Neg", "X", "b")], (), outputs("b"))
        nodes = [node("Shape", "X", "S"), node("If", "c", "Y", then_branch=branch, else_branch=branch)]
        self.write("m.onnx", model(nodes, [F3], [*outputs("Y", "W"), value("S", "i8", None)], [constant("c", np.array(True)), constant("W", X)]))
        np.save(self.folder / "x.npy", X)
        self.run_program("run", "m.onnx", "-i", "x.npy", "--keep-all", "gold")
        self.assertEqual([name.split(".")[-2] for name in sorted(os.listdir(self.folder / "gold"))], ["Y", "W", "S"])

    def test_initializers_lie_at_any_byte_and_may_be_bound_over(self):
        for padding in range(8):
            w = X + padding
            self.write("m.onnx", model([node("Add", "X,W", "Y", "n" * (padding + 1))], [F3, value("W", "f4", [3, 3])], outputs("Y"), [constant("W", w)]))
            np.save(self.folder / "x.npy", X)
            np.save(self.folder / "w.npy", -X)
            self.run_program("run", "m.onnx", "-i", "x.npy", "-o", "y.npy")
            np.testing.assert_array_equal(np.load(self.folder / "y.npy"), X + w)
            self.run_program("run", "m.onnx", "-i", "x.npy", "-i", "W=w.npy", "-o", "y.npy")
            np.testing.assert_array_equal(np.load(self.folder / "y.npy"), 0 * X)

    def test_constants_are_filled_only_where_they_are_read(self):
        count, size = 24, 2**22
        sizes = constant("s", np.array([1, size]))
        nodes = [node("ConstantOfShape", "s", f"W{i}") for i in range(count)]
        nodes += [node("ReduceMax", f"W{i}", f"M{i}") for i in range(count)]
        nodes.append(node("Sum", ",".join(["X", *(f"M{i}" for i in range(count))]), "Y"))
        self.write("m.onnx", model(nodes, [value("X", "f4", [1, 1])], outputs("Y"), [sizes]))
        np.save(self.folder / "x.npy", np.array([[7]], "f4"))
        arguments = [DMLOP, "run", "m.onnx", "-i", "x.npy", "-o", "y.npy"]
        process = subprocess.Popen(arguments, cwd=self.folder)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual((process.returncode, np.load(self.folder / "y.npy")), (0, 7))
        if not os.environ.get("SANITIZE"):
            self.assertLess(used.ru_maxrss, count * size * 4 // 1024 // 2)

    def test_external_data_lie_beside_the_model(self):
        def entry(key, content):
            return field(13, text(1, key) + text(2, content))

        def of(location, offset="36", length="36"):
            outside = tensor(1, (3, 3), text(8, "W"), entry("location", location), entry("offset", offset), entry("length", length), field(14, 1))
            return model([node("Add", "X,W", "Y")], [F3], outputs("Y"), [outside])

        np.save(self.folder / "x.npy", X)
        self.write("sub/data.bin", np.concatenate([X, -X]).tobytes())
        self.write("m.onnx", of("sub/data.bin"))
        self.run_program("run", "m.onnx", "-i", "x.npy", "-o", "y.npy", "--confine", ".")
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), 0 * X)
        # They are read, so they are not written.
        for arguments in [("run", "-o", "Y=sub/data.bin"), ("run", "--keep", "Add_0.Y=sub/data.bin"), ("run", "--report", "sub/data.bin"), ("bench", "--format", "json", "-o", "sub/data.bin")]:
            command, *files = arguments
            self.assertIn(b"sub/data.bin is read as constants of the model", self.run_program(command, "m.onnx", "-i", "x.npy", *files, status=2).stderr)
        self.write("all.jsonl", json.dumps({"model": "m.onnx", "inputs": ["x.npy"], "outputs": ["sub/data.bin"]}).encode())
        self.assertIn(b"sub/data.bin is read as constants of the model", self.run_program("batch", "all.jsonl", status=2).stderr)
        self.assertEqual((self.folder / "sub/data.bin").read_bytes(), np.concatenate([X, -X]).tobytes())
        for location, offset, status in [("../data.bin", "0", 3), ("/etc/passwd", "0", 3), ("sub/data.bin\0x", "0", 3), ("sub/none.bin", "0", 5), ("sub/data.bin", "37", 4),
                                         ("sub/data.bin", "-4", 4), ("sub/data.bin", "4x", 4)]:
            with self.subTest(location):
                self.assertIn(b"[ONX-8]", self.refusal(of(location, offset), status))

    # --- validate, show, explain, bench, batch ----------------------------------------------------

    def test_validate_lists_nodes_with_their_levels(self):
        self.write("m.onnx", model([node("Relu", "X", "A", "r"), node("Gelu", "A", "Y", "g")], [F3], outputs("Y"), opset=20))
        done = self.run_program("validate", "m.onnx", "--format", "json")
        verdict = json.loads(done.stdout)
        self.assertEqual([(one["name"], one["operators"]) for one in verdict["nodes"]], [("r", ["ACTIVATION_RELU"]), ("g", ["ACTIVATION_GELU"])])
        lowest = verdict["minimumFeatureLevel"]
        self.assertEqual(lowest, max(one["minimumFeatureLevel"] for one in verdict["nodes"]))
        self.run_program("validate", "m.onnx", "-L", lowest, "-q")
        done = self.run_program("validate", "m.onnx", "-L", "3_0", status=3)
        self.assertIn(b"node 'g' (Gelu 20): ACTIVATION_GELU is not available", done.stderr)
        self.assertEqual(done.stdout.decode(), "m.onnx: 1 of 2 nodes runs at feature level 3_0:\n"
                         "  node 'r' (Relu 14): ACTIVATION_RELU, from feature level 3_0\n")
        verdict = json.loads(self.run_program("validate", "m.onnx", "-L", "3_0", "--format", "json", status=3).stdout)
        self.assertEqual([one["name"] for one in verdict["nodes"]], ["r"])

    def test_all_nodes_above_a_level_are_told(self):
        told = self.refusal(model([node("Gelu", "X", "A", "a"), node("Softmax", "A", "B", "b"), node("Gelu", "B", "Y", "c")], [F3], outputs("Y"), opset=20), 3, "-L", "1_0")
        self.assertEqual(re.findall(r"node '(\w+)'", told.decode()), ["a", "b", "c"])

    def test_show_lists_inputs_outputs_and_nodes(self):
        self.write("m.onnx", RELU)
        self.assertEqual(self.run_program("show", "m.onnx").stdout.decode(),
                         "m.onnx: 1 node\n  input 'X': FLOAT32 [3, 3]\n  output 'Y': FLOAT32 [3, 3]\n"
                         "  node 'r' (Relu 14): ACTIVATION_RELU -> 'Y' FLOAT32 [3, 3]\n")
        np.save(self.folder / "x.npy", X)
        several = self.run_program("show", "m.onnx", "x.npy", "m.onnx").stdout.decode()
        self.assertEqual([several.count("m.onnx: 1 node"), several.count("x.npy: ")], [2, 1])

    def test_models_without_a_node_have_nothing_to_time(self):
        self.write("m.onnx", model([node("Relu", "X", "Y")], [value("X", "f4", [0, 3])], outputs("Y")))
        self.assertIn(b"no operator to time", self.run_program("bench", "m.onnx", status=2).stderr)

    def test_files_without_a_shape_have_the_stated_one(self):
        self.write("m.onnx", model([node("Neg", "X", "Y")], [value("X", "f4", ["N", 3])], outputs("Y")))
        self.write("x.raw", X[:2].tobytes())
        self.run_program("run", "m.onnx", "-i", "x.raw", "-f", "N:2", "-o", "y.npy")
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), -X[:2])
        self.run_program("run", "m.onnx", "-i", "x.raw", status=4)
        np.save(self.folder / "x.npy", np.arange(60, dtype="f4").reshape(1, 3, 4, 5) / 60)
        self.write("m.onnx", model([node("Identity", "X", "Y")], [value("X", "f4", [1, 3, "H", "W"])], outputs("Y")))
        self.run_program("run", "m.onnx", "-i", "x.npy", "-o", "y.png")
        self.run_program("run", "m.onnx", "-i", "y.png", "-o", "y.npy")
        self.assertEqual(np.load(self.folder / "y.npy").shape, (1, 3, 4, 5))
        self.run_program("run", "m.onnx", "-i", "y.png", "-f", "H:8", "-f", "W:5", status=4)
        self.assertIn(b"no input has a free size 'M'", self.run_program("validate", "m.onnx", "-f", "M:3").stderr)

    def test_batch_judges_models_by_their_data(self):
        self.write("t/m.onnx", RELU)
        self.write("t/set/input_0.pb", constant("X", X - 2))
        self.write("t/set/output_0.pb", constant("Y", np.maximum(X - 2, 0)))
        self.write("t/bad/input_0.pb", constant("X", X - 2))
        self.write("t/bad/output_0.pb", constant("Y", X))
        lines = [{"model": "t/m.onnx", "data": "set"}, {"model": "t/m.onnx", "data": "t/bad"}, {"model": "t/none.onnx", "data": "t/set"}]
        self.write("all.jsonl", "\n".join(map(json.dumps, lines[:1])).encode())
        self.run_program("batch", "all.jsonl", "-q")
        self.write("none.jsonl", json.dumps({"model": "t/m.onnx", "data": "t/none"}).encode())
        self.assertIn(b"t/none: there is no such folder", self.run_program("batch", "none.jsonl", "--check", status=5).stderr)
        self.write("all.jsonl", "\n".join(map(json.dumps, lines[:2])).encode())
        done = self.run_program("batch", "all.jsonl", status=1)
        self.assertIn(b"t/bad", done.stdout + done.stderr)

    def test_serialized_and_dispatched_models_agree(self):
        self.write("m.onnx", model([node("Concat", "a,b", "Y", axis=0)], [value("a", "f4", ["N", 2]), value("b", "f4", ["N", 2])], outputs("Y")))
        document = {
            "resources": {"A": {"initialValuesDataType": "FLOAT32", "initialValues": [1, 2, 3, 4]},
                          "Y": {"initialValuesDataType": "FLOAT32", "initialValues": "deferred"}},
            "dispatchables": {"join": {"type": "onnx", "sourcePath": "m.onnx", "graphOptimizationLevel": 0}},
            "commands": [{"type": "dispatch", "dispatchable": "join",
                          "bindings": {"a": {"name": "A", "shape": [2, 2]}, "b": {"name": "A", "shape": [2, 2]}, "Y": "Y"}},
                         {"type": "print", "resource": "Y"}]}
        self.write("model.json", json.dumps(document).encode())
        done = self.run_program("run", "model.json")
        self.assertEqual(re.findall(rb"\d+", done.stdout.split(b"'Y':")[1]), [b"1", b"2", b"3", b"4"] * 2)
        self.assertIn(b"graphOptimizationLevel", done.stderr)
        document["commands"][0]["bindings"]["Z"] = "Y"
        self.write("model.json", json.dumps(document).encode())
        self.assertIn(b"onnx has no bind point 'Z'", self.run_program("validate", "model.json").stderr)
        document["dispatchables"]["join"]["sourcePath"] = "none.onnx"
        self.write("model.json", json.dumps(document).encode())
        self.assertNotIn(b"RES-4", self.run_program("validate", "model.json", status=5).stderr)

    def test_free_sizes_that_one_of_several_models_has(self):
        for name, size in [("a", "N"), ("b", "M")]:
            self.write(f"{name}.onnx", model([node("Neg", "X", "Y")], [value("X", "f4", [size])], outputs("Y")))
        zeros = {"initialValuesDataType": "FLOAT32", "initialValues": [0, 0]}
        document = {
            "resources": {"X": zeros, "Y": zeros}, "dispatchables": {name: {"type": "onnx", "sourcePath": f"{name}.onnx"} for name in "ab"},
            "commands": [{"type": "dispatch", "dispatchable": name, "bindings": {"X": "X", "Y": "Y"}} for name in "aabb"]}
        self.write("model.json", json.dumps(document).encode())
        self.assertEqual(self.run_program("validate", "model.json", "-f", "N:2", "-f", "M:2").stderr, b"")
        told = self.run_program("validate", "model.json", "-f", "N:2", "-f", "M:2", "-f", "K:2").stderr
        self.assertEqual(told.count(b"no input has a free size 'K'"), 1)
        document["dispatchables"]["a"]["freeDimensionNameOverrides"] = {"M": 2}
        self.write("model.json", json.dumps(document).encode())
        told = self.run_program("validate", "model.json", "-f", "N:2", "-f", "M:2").stderr
        self.assertEqual(told.count(b"no input has a free size 'M'"), 1)


if __name__ == "__main__":
    unittest.main()
