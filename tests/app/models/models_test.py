# SPDX-License-Identifier: Apache-2.0
"""DxDispatch models: testdata/models, files that they read and write, and round trips of descriptors.

models/MODEL.json runs and prints MODEL.txt; MODEL.err, if it exists, has its warnings.
"""

import json
import os
import random
import re
import resource
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import numpy as np
from program import DMLOP, ROOT, ProgramTest, peak_memory, start

MODELS = ROOT / "testdata/models"
DML_NAMES = {"f8": "FLOAT64", "f4": "FLOAT32", "f2": "FLOAT16", "i8": "INT64", "i4": "INT32",
             "i2": "INT16", "i1": "INT8", "u8": "UINT64", "u4": "UINT32", "u2": "UINT16",
             "u1": "UINT8"}
TYPES = list(DML_NAMES)
INDEX_FUNCTIONS = ["ARGMIN", "ARGMAX"]


def functions_for(type):
    """Functions of REDUCE that support the type at every feature level from 5_0 on."""
    if type in ("f4", "f2"):
        return ["AVERAGE", "L1", "L2", "LOG_SUM", "LOG_SUM_EXP", "MAX", "MIN", "MULTIPLY", "SUM",
                "SUM_SQUARE", *INDEX_FUNCTIONS]
    wide = ["L1", "MULTIPLY", "SUM", "SUM_SQUARE"] if type in ("i4", "u4") else []
    return ["MAX", "MIN", *INDEX_FUNCTIONS, *wide]


def printed_by(name):
    """The text that a model prints, as in the table of published models: the first elements of each resource."""
    cells = []
    for line in (MODELS / name).with_suffix(".txt").read_text().splitlines():
        resource, values = re.fullmatch("Resource '(.*)': (.*)", line).groups()
        values = values.split(", ")
        cells.append(f"{resource}: {', '.join(values[:9])}{', ...' if len(values) > 9 else ''}")
    return "; ".join(cells)


def types_in(name):
    dispatchables = json.loads((MODELS / name).read_text())["dispatchables"].values()
    return ", ".join({dispatchable["type"].removeprefix("DML_OPERATOR_") for dispatchable in dispatchables})


class PublishedModelsTest(unittest.TestCase):
    maxDiff = None

    def test_the_table_says_what_they_print(self):
        rows = re.findall(r"^\| `(dml.*)` \| `(.*)` \| (.*) \| (.*) \|$", (MODELS / "README.md").read_text(), re.M)
        self.assertEqual(len(rows), 20)
        for published, name, types, printed in rows:
            with self.subTest(published):
                self.assertEqual((types, printed), (types_in(name), printed_by(name)))

    def test_prints_what_dxdispatch_prints(self):
        models = sorted(MODELS.glob("*.json"))
        self.assertGreater(len(models), 15)
        for model in models:
            warnings = model.with_suffix(".err")
            with self.subTest(model.name):
                done = start(["run", model.name], cwd=MODELS)
                self.assertEqual(done.stdout.decode(), model.with_suffix(".txt").read_text())
                self.assertEqual(done.stderr.decode(),
                                 warnings.read_text() if warnings.exists() else "")
                self.assertEqual(done.returncode, 0)

    def test_quiet_runs_do_not_warn(self):
        done = start(["run", "ignored.json", "-q"], cwd=MODELS)
        self.assertEqual((done.stdout, done.stderr), (b"Resource 'out': 1, 2\n", b""))

    def test_all_are_valid(self):
        names = [path.name for path in sorted(MODELS.glob("*.json"))]
        done = start(["validate", "--format", "json", *names], cwd=MODELS)
        verdicts = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([v["document"] for v in verdicts if v["valid"]], names)
        self.assertEqual(done.returncode, 0)
        done = start(["validate", "reduce.json"], cwd=MODELS)
        self.assertEqual(done.stdout.decode(), "reduce.json: valid: 2 resources, 1 dispatchable and "
                                               "3 commands; runs from feature level 1_0\n")


def copy_model(resources, commands, count=4, type="FLOAT32"):
    """A model with a dispatchable `copy` of that many elements."""
    tensor = {"DataType": type, "Sizes": [count]}
    copy = {"type": "ELEMENT_WISE_IDENTITY",
            "desc": {"InputTensor": tensor, "OutputTensor": tensor}}
    return {"resources": resources, "dispatchables": {"copy": copy}, "commands": commands}


def source(path, type=None):
    resource = {"initialValues": {"sourcePath": str(path)}}
    return resource | ({"initialValuesDataType": type} if type else {})


def numbers(values, type="FLOAT32"):
    return {"initialValuesDataType": type, "initialValues": values}


PRINT_X = [{"type": "print", "resource": "x"}]


class ModelFilesTest(ProgramTest):
    def printed(self, model, *arguments, **options):
        self.write("model.json", model)
        return self.text_of("run", "model.json", *arguments, **options)

    def write_file(self, target, **options):
        return {"type": "writeFile", "resource": "x", "targetPath": target} | options

    def test_reads_npy_files_as_flat_buffers(self):
        np.save(self.folder / "x.npy", np.arange(6, dtype="f4").reshape(2, 3))
        text = self.printed(copy_model({"x": source("x.npy")}, PRINT_X))
        self.assertEqual(text, "Resource 'x': 0, 1, 2, 3, 4, 5\n")

    def test_reads_other_byte_orders_and_bool(self):
        np.save(self.folder / "big.npy", np.array([1, -2], ">i4"))
        np.save(self.folder / "bool.npy", np.array([True, False]))
        self.assertEqual(self.printed(copy_model({"x": source("big.npy")}, PRINT_X)),
                         "Resource 'x': 1, -2\n")
        self.assertEqual(self.printed(copy_model({"x": source("bool.npy")}, PRINT_X)),
                         "Resource 'x': 1, 0\n")

    def test_reads_raw_files_of_any_length(self):
        (self.folder / "x.raw").write_bytes(bytes(range(7)))
        model = copy_model({"x": source("x.raw", "UINT16")}, PRINT_X)
        self.assertEqual(self.printed(model), "Resource 'x': 256, 770, 1284\n")

    def test_adds_a_npy_file_and_a_raw_file_into_a_npy_file(self):
        np.save(self.folder / "a.npy", np.arange(6, dtype="f4").reshape(2, 3))
        np.full(6, 0.5, "f4").tofile(self.folder / "b.dat")
        tensor = {"DataType": "FLOAT32", "Sizes": [6]}
        add = {"type": "DML_OPERATOR_ELEMENT_WISE_ADD",
               "desc": {"ATensor": tensor, "BTensor": tensor, "OutputTensor": tensor}}
        names = {"ATensor": "a", "BTensor": "b", "OutputTensor": "x"}
        text = self.printed({
            "resources": {"a": source("a.npy"), "b": source("b.dat", "FLOAT32"),
                          "x": numbers({"valueCount": 6, "value": 0})},
            "dispatchables": {"add": add},
            "commands": [{"type": "dispatch", "dispatchable": "add", "bindings": names}, *PRINT_X,
                         self.write_file("sum.npy")]})
        self.assertEqual(text, "Resource 'x': 0.5, 1.5, 2.5, 3.5, 4.5, 5.5\n")
        self.assertEqual(np.load(self.folder / "sum.npy").tolist(), [0.5, 1.5, 2.5, 3.5, 4.5, 5.5])

    def test_looks_beside_the_model_then_in_the_current_folder(self):
        (self.folder / "models").mkdir()
        (self.folder / "inputs").mkdir()
        self.write("models/model.json", copy_model({"x": source("x.npy")}, PRINT_X))
        np.save(self.folder / "x.npy", np.array([1], "f4"))
        self.assertEqual(self.text_of("run", "models/model.json"), "Resource 'x': 1\n")
        np.save(self.folder / "models/x.npy", np.array([2], "f4"))
        self.assertEqual(self.text_of("run", "models/model.json"), "Resource 'x': 2\n")
        np.save(self.folder / "inputs/x.npy", np.array([3], "f4"))
        text = self.text_of("run", "models/model.json", "--input-path", "inputs")
        self.assertEqual(text, "Resource 'x': 3\n")

    def test_extends_a_short_npy_file_with_zeros_and_says_so(self):
        np.save(self.folder / "x.npy", np.array([1, 2, 3], "f4"))
        whole = (self.folder / "x.npy").read_bytes()
        (self.folder / "x.npy").write_bytes(whole[:-8])
        self.write("model.json", copy_model({"x": source("x.npy")}, PRINT_X))
        done = self.run_program("run", "model.json")
        self.assertEqual(done.stdout, b"Resource 'x': 1, 0, 0\n")
        self.assertIn(b"4 bytes of data, its shape needs 12; the rest is zero [RES-5]", done.stderr)

    def test_refuses_files_that_do_not_fit(self):
        np.save(self.folder / "fortran.npy", np.asfortranarray(np.ones((2, 3), "f4")))
        np.save(self.folder / "int.npy", np.ones(4, "i4"))
        (self.folder / "text.npy").write_text("no magic")
        whole = (self.folder / "int.npy").read_bytes()
        (self.folder / "cut.npy").write_bytes(whole[:40])
        unreadable = [
            (source("fortran.npy"), 4, "fortran.npy: is in Fortran order, which DxDispatch does not read"),
            (source("int.npy", "FLOAT32"), 4, "int.npy: holds INT32; resource 'x' has the type FLOAT32"),
            (source("text.npy"), 4, "text.npy: is not a .npy file"),
            (source("cut.npy"), 4, "cut.npy: "),
            (source("missing.npy"), 5, "missing.npy: cannot be opened: No such file or directory"),
            (source(".", "INT8"), 5, ".: cannot be read: Is a directory")]
        for unread, status, message in unreadable:
            with self.subTest(message):
                model = copy_model({"x": unread}, PRINT_X)
                self.write("model.json", model)
                column = json.dumps(model).index('"' + unread["initialValues"]["sourcePath"]) + 1
                place = f"model.json:1:{column}: error: /resources/x/initialValues/sourcePath: {message}"
                for command in (["run"], ["validate"], ["validate", "--print-complete"]):
                    errors = self.errors_of(*command, "model.json", status=status)
                    self.assertIn(place, errors)
                    self.assertEqual(len(errors.splitlines()), 3, errors)
                    self.assertIn("[RES-6]", errors.splitlines()[0])
                    line, caret = errors.splitlines()[1:]
                    self.assertTrue(line[caret.index("^"):].startswith('"' + unread["initialValues"]["sourcePath"]))
                done = self.run_program("validate", "model.json", "--format", "json", status=status)
                (fault,) = json.loads(done.stdout)["diagnostics"]
                self.assertEqual((fault["code"], fault["column"]), ("RES-6", column))

    def test_warns_of_resources_that_are_read_as_another_type(self):
        tensor = {"DataType": "FLOAT16", "Sizes": [2]}
        dispatch = {"type": "dispatch", "dispatchable": "add", "bindings": {"ATensor": "a", "BTensor": "a", "OutputTensor": "y"}}
        model = {"resources": {"a": numbers([1, 2]), "y": numbers([0], "UINT32")},
                 "dispatchables": {"add": {"type": "ELEMENT_WISE_ADD", "desc": dict.fromkeys(("ATensor", "BTensor", "OutputTensor"), tensor)}},
                 "commands": [dispatch, dispatch, {"type": "print", "resource": "y"}]}
        done = self.run_program("run", json.dumps(model))
        halves = np.array([1, 2], "f4").view("f2")[:2]
        self.assertEqual(done.stdout.decode(), f"Resource 'y': {(halves + halves).view('u4')[0]}\n")
        self.assertEqual(re.findall("warning: (.*)", done.stderr.decode()), [
            "/commands/0/bindings/ATensor: resource 'a' holds FLOAT32; ATensor reads its bytes as FLOAT16 [MB-6]",
            "/commands/0/bindings/OutputTensor: resource 'y' holds UINT32; OutputTensor writes its bytes as FLOAT16 [MB-6]"])
        self.assertIn("FLOAT32", self.errors_of("validate", json.dumps(model)))

    def test_warns_of_bind_points_that_are_none(self):
        x = numbers([1, 2, 3, 4])
        bindings = {"InputTensor": "x", "InputTenser": "x", "OutputTensor": "y"}
        done = self.run_program("run", json.dumps(copy_model(
            {"x": x, "y": x}, [{"type": "dispatch", "dispatchable": "copy", "bindings": bindings}])))
        self.assertIn(b"warning: /commands/0/bindings/InputTenser: ELEMENT_WISE_IDENTITY has no bind point 'InputTenser'"
                      b" (did you mean 'InputTensor'?); it is ignored [MB-3]", done.stderr)

    def test_a_file_that_is_unreadable_hides_no_other_fault(self):
        np.save(self.folder / "int.npy", np.ones(4, "i4"))
        resources = {"x": source("int.npy", "FLOAT32"), "y": source("missing.npy")}
        for commands, status, codes in (
                (PRINT_X, 4, ["RES-6", "RES-6"]),  # the status of the first one
                ([{"type": "print", "resource": "z"}], 3, ["RES-6", "RES-6", "JSON-6"])):
            self.write("model.json", copy_model(resources, commands))
            for command in ("validate", "run"):
                errors = self.errors_of(command, "model.json", status=status)
                self.assertEqual(re.findall(r"\[([A-Z]+-[0-9]+)\]", errors), codes)

    def test_writes_npy_files_with_and_without_dimensions(self):
        x = numbers([1, 2, 3, 4, 5, 6]) | {"sizeInBytes": 64}
        self.printed(copy_model({"x": x}, [
            self.write_file("flat.npy"), self.write_file("a/b/table.npy", dimensions=[2, 3]),
            self.write_file("more.npy", dimensions=[16]), self.write_file("whole.bin")]))
        expected = np.arange(1, 7, dtype="f4")
        np.testing.assert_array_equal(self.load("flat"), expected)
        np.testing.assert_array_equal(self.load("a/b/table"), expected.reshape(2, 3))
        np.testing.assert_array_equal(self.load("more"), np.pad(expected, (0, 10)))
        padded = np.pad(expected, (0, 10)).tobytes()
        self.assertEqual((self.folder / "whole.bin").read_bytes(), padded)

    def test_writes_what_a_resource_holds_at_that_moment(self):
        copy = {"type": "dispatch", "dispatchable": "copy",
                "bindings": {"InputTensor": "y", "OutputTensor": "x"}}
        model = copy_model({"x": numbers([1, 2, 3, 4]), "y": numbers([5, 6, 7, 8])},
                           [self.write_file("before.npy"), copy, self.write_file("after.npy")])
        self.printed(model, "--output-path", "results")
        self.assertEqual(self.load("results/before").tolist(), [1, 2, 3, 4])
        self.assertEqual(self.load("results/after").tolist(), [5, 6, 7, 8])

    def test_a_file_that_cannot_be_written_leaves_no_other(self):
        (self.folder / "folder.npy").mkdir()
        self.write("model.json", copy_model(
            {"x": numbers([1])}, [self.write_file("first.npy"), self.write_file("folder.npy")]))
        self.assertIn("folder.npy: cannot be written",
                      self.errors_of("run", "model.json", status=5))
        self.assertEqual(sorted(os.listdir(self.folder)), ["folder.npy", "model.json"])

    def test_folders_that_were_made_go_where_nothing_is_written(self):
        self.write("model.json", copy_model(
            {"x": numbers([1])}, [self.write_file("new/deep/first.npy"), {"type": "print", "resource": "x"}]))
        with open("/dev/full", "w") as full:
            done = subprocess.run([DMLOP, "run", "model.json"], stdout=full, stderr=subprocess.PIPE, cwd=self.folder)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertEqual(os.listdir(self.folder), ["model.json"])

    def test_standard_output_takes_tensors_or_text(self):
        dispatch = {"type": "dispatch", "dispatchable": "copy", "bindings": {"InputTensor": "x", "OutputTensor": "y"}}
        self.write("model.json", copy_model({"x": numbers([1]), "y": numbers([2])},
                                            [dispatch, {"type": "print", "resource": "y"}], count=1))
        for options in (["--keep", "copy.OutputTensor=-"], ["--keep", "copy.OutputTensor=/dev/stdout"]):
            with self.subTest(options):
                self.assertIn("standard output cannot be both the file of tensor 'copy.OutputTensor' and the print",
                              self.errors_of("run", "model.json", *options, status=2))

    def test_a_report_is_not_mixed_with_what_is_printed(self):
        self.write("model.json", copy_model({"x": numbers([1])}, [{"type": "print", "resource": "x"}], count=1))
        self.assertIn("standard output cannot be both the file of the report and the print of the model",
                      self.errors_of("run", "model.json", "--report", "-", status=2))
        self.write("model.json", copy_model({"x": numbers([1])}, [], count=1))
        self.assertIn("inputs", json.loads(self.text_of("run", "model.json", "--report", "-")))

    def test_backslashes_separate_unless_a_file_has_them(self):
        (self.folder / "in").mkdir()
        np.save(self.folder / "in/x.npy", np.ones(2, "f4"))
        self.write("model.json", copy_model({"x": source(r"in\x.npy")}, [self.write_file(r"out\deep\y.npy")]))
        said = self.errors_of("run", "model.json")
        self.assertEqual(said.count("warning: /"), 2)
        self.assertIn("targetPath: backslashes are taken for separators, unless a file has that name [DOC-7]", said)
        self.assert_same(self.load("out/deep/y"), np.ones(2, "f4"))
        np.save(self.folder / r"in\x.npy", np.zeros(2, "f4"))
        np.save(self.folder / r"out\deep\y.npy", np.zeros(1, "f4"))
        self.run_program("run", "model.json")
        self.assert_same(self.load(r"out\deep\y"), np.zeros(2, "f4"))
        (self.folder / r"out\deep\y.npy").unlink()
        self.write("model.json", copy_model({"x": numbers([1])}, [self.write_file(r"..\y.npy")]))
        self.assertIn("leads out of", self.errors_of("run", "model.json", "--confine", ".", status=3))

    def test_reports_the_run(self):
        np.save(self.folder / "x.npy", np.ones(4, "f4"))
        self.printed(copy_model({"x": source("x.npy")}, [self.write_file("y.npy")]),
                     "--report", "report.json")
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual(list(report["dispatchables"]), ["copy"])
        self.assertEqual([f["path"] for f in report["inputs"] + report["outputs"]],
                         ["x.npy", "y.npy"])
        self.assertEqual(report["inputs"][0]["sha256"], report["outputs"][0]["sha256"])

    def test_refuses_what_only_descriptors_take(self):
        self.write("model.json", copy_model({"x": numbers([1])}, PRINT_X))
        for option in ("-i", "-o"):
            self.assertIn('-i and -o are for operator descriptors; a model binds its tensors itself, writes them by "writeFile" '
                          "or --keep, and",
                          self.errors_of("run", "model.json", option, "x.npy", status=2))
        self.assertIn("is a model already",
                      self.errors_of("validate", "model.json", "--to-model", status=2))

    def test_refuses_more_memory_than_there_is(self):
        huge = {"initialValuesDataType": "FLOAT64",
                "initialValues": {"valueCount": 4294967295, "value": 0},
                "sizeInBytes": 1 << 60}
        self.write("model.json", copy_model({"x": numbers([1]), "y": huge, "z": huge}, PRINT_X))
        for command in (["run"], ["validate", "--print-complete"]):
            errors = self.errors_of(*command, "model.json", status=5)
            self.assertRegex(errors, rf"model.json:1:\d+: error: /resources/y/sizeInBytes: "
                                     rf"needs {1 << 60} bytes of memory; \d+ are left \[RES-7\]\n.*\n +\| +\^\n"
                                     r"model.json:1:\d+: error: /resources/z/sizeInBytes: ")
        self.text_of("validate", "model.json")

    @unittest.skipIf(os.environ.get("SANITIZE"), "sanitizers take more of the address space than this")
    def test_what_is_owned_by_dml_takes_memory_twice(self):
        count = 1 << 28
        x = {"initialValuesDataType": "UINT8", "initialValues": {"valueCount": count, "value": 0}}
        model = copy_model({"x": x}, [], count, "UINT8")
        tensor = {"DataType": "UINT8", "Sizes": [count], "Flags": "OWNED_BY_DML"}
        model["dispatchables"]["copy"]["desc"]["InputTensor"] = tensor
        model["dispatchables"]["copy"]["bindings"] = {"InputTensor": "x"}
        self.write("model.json", model)
        limit = count * 3 // 2
        done = start(["run", "model.json", "-t", "1"], cwd=self.folder, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_AS, (limit, limit)))
        self.assertRegex(done.stderr.decode(), r"error: /dispatchables/copy/bindings: needs 268435456 bytes of memory; \d+ are left \[RES-7\]")
        self.assertEqual(done.returncode, 5)

    def test_prints_a_large_resource_in_pieces(self):
        def model(count):
            x = {"initialValuesDataType": "UINT8", "initialValues": {"valueCount": count, "value": 255}}
            return copy_model({"x": x}, [{"type": "print", "resource": "x", "verbose": True}])

        count = 1 << 22
        text = self.printed(model(count))
        self.assertTrue(text.startswith("Resource 'x':\n[      0] 255 (0xFF)\n"))
        self.assertTrue(text.endswith("\n[4194303] 255 (0xFF)\n"))
        self.assertEqual(len(text), len("Resource 'x':\n") + count * len("[      0] 255 (0xFF)\n"))
        peaks = []
        for c in (1, count):
            self.write("model.json", model(c))
            status, peak = peak_memory(["run", "model.json"], self.folder)
            self.assertEqual(status, 0)
            peaks.append(peak)
        self.assertLess(peaks[1] - peaks[0], len(text) // 2)

    def test_validate_looks_where_run_does(self):
        (self.folder / "inputs").mkdir()
        np.save(self.folder / "inputs/x.npy", np.array([3], "f4"))
        self.write("model.json", copy_model({"x": source("x.npy")}, PRINT_X))
        self.errors_of("validate", "model.json", status=5)
        self.text_of("validate", "model.json", "--input-path", "inputs")

    def test_reads_standard_input_and_inline_text(self):
        text = json.dumps(copy_model({"x": numbers([7])}, PRINT_X))
        self.assertEqual(self.text_of("run", "-", stdin=text.encode()), "Resource 'x': 7\n")
        self.assertEqual(self.text_of("run", text), "Resource 'x': 7\n")
        for rest in (b" rest", b"\0", b" // rest\0", b"\0\xff {"):
            for command in ("run", "validate"):
                with self.subTest((command, rest)):
                    done = self.run_program(command, "-", stdin=text.encode() + rest)
                    self.assertIn(b"warning: text after the document is ignored [JSON-1]", done.stderr)
        for nul in (text.replace("{", "{\0", 1), text.replace("[7]", "[7\0]")):
            done = self.run_program("run", "-", stdin=nul.encode(), status=3)
            self.assertIn(b"error: not well-formed JSON: a NUL byte [JSON-1]", done.stderr)


class RoundTripTest(ProgramTest):
    """A descriptor, and the model that it becomes, give the same bytes."""

    def random_array(self, engine, type, shape):
        bits = engine.randbytes(int(np.prod(shape)) * np.dtype(type).itemsize)
        return np.frombuffer(bits, type).reshape(shape)  # includes NaN with payloads

    def random_input(self, engine, name, type, shape):
        """A binding and a desc for the tensor, in any of the possible forms."""
        array = self.random_array(engine, type, shape)
        desc = {"DataType": DML_NAMES[type], "Sizes": list(shape)}
        form = engine.choice(["npy", "fortran", "raw", "inline", "gaps"])
        if form == "gaps":
            strides = 2 * np.array(array.strides) // array.itemsize
            desc["Strides"] = [int(stride) for stride in strides]
        if form == "raw":
            bytes = array.tobytes()
            (self.folder / f"{name}.raw").write_bytes(bytes + b"\0" * (-len(bytes) % 4))
            return desc, f"{name}.raw"
        if form == "inline" and np.dtype(type).kind != "f":
            return desc, array.tolist()
        np.save(self.folder / f"{name}.npy",
                np.asfortranarray(array) if form == "fortran" else array)
        return desc, f"{name}.npy"

    def random_output(self, engine, type, shape):
        desc = {"DataType": DML_NAMES[type], "Sizes": list(shape)}
        if engine.random() < 0.3:
            desc["Strides"] = [3 * int(np.prod(shape[d + 1:])) for d in range(len(shape))]
        return desc, engine.choice([".npy", ".npy", ".bin"])

    def random_descriptor(self, engine):
        kind = engine.choice(["ELEMENT_WISE_IDENTITY", "JOIN", "SPLIT", "REDUCE", "UNFOLD"])
        type = engine.choice([t for t in TYPES if t != "f8"] if kind == "REDUCE" else TYPES)
        shape = [engine.randint(1, 4) for _ in range(engine.randint(1, 4))]
        fields, inputs, outputs = getattr(self, kind.lower())(engine, type, shape)
        output_type = "u4" if fields.get("Function") in INDEX_FUNCTIONS else type
        bound_inputs = [self.random_input(engine, f"in{i}", type, s) for i, s in enumerate(inputs)]
        bound_outputs = [self.random_output(engine, output_type, s) for s in outputs]
        paths = [f"out{i}{extension}" for i, (_, extension) in enumerate(bound_outputs)]
        desc, bindings = dict(fields), {}
        self.put(desc, bindings, "Input", kind == "JOIN", bound_inputs)
        self.put(desc, bindings, "Output", kind == "SPLIT",
                 [(tensor, path) for (tensor, _), path in zip(bound_outputs, paths)])
        return {"type": kind, "desc": desc, "bindings": bindings}, paths

    # Each returns the fields except tensors, and the shapes of inputs and outputs.

    def element_wise_identity(self, engine, type, shape):
        scaled = type in ("f4", "f2") and engine.random() < 0.5
        return {"ScaleBias": {"Scale": -1.5, "Bias": 0.1}} if scaled else {}, [shape], [shape]

    def join(self, engine, type, shape):
        axis = engine.randrange(len(shape))
        widths = [engine.randint(1, 3) for _ in range(engine.randint(1, 3))]
        parts = [[*shape[:axis], width, *shape[axis + 1:]] for width in widths]
        return {"Axis": axis}, parts, [[*shape[:axis], sum(widths), *shape[axis + 1:]]]

    def split(self, engine, type, shape):
        fields, parts, whole = self.join(engine, type, shape)
        return fields, whole, parts

    def reduce(self, engine, type, shape):
        axes = engine.sample(range(len(shape)), engine.randint(1, len(shape)))
        reduced = [1 if d in axes else size for d, size in enumerate(shape)]
        fields = {"Function": engine.choice(functions_for(type)), "Axes": axes}
        return fields, [shape], [reduced]

    def unfold(self, engine, type, shape):
        windows = [engine.randint(1, 3) for _ in range(engine.randint(1, 2))]
        ones = [1] * len(windows)
        sizes = [engine.randint(3, 6) for _ in windows]
        strides = [engine.randint(1, 2) for _ in windows]
        padding = [engine.randint(0, 2) for _ in windows]
        positions = [(size + pad - window) // stride + 1
                     for size, pad, window, stride in zip(sizes, padding, windows, strides)]
        channels = 2 * int(np.prod(windows))
        fields = {"WindowSizes": windows, "Strides": strides, "Dilations": ones,
                  "StartPadding": padding, "EndPadding": [0] * len(windows)}
        return fields, [[1, 2, *sizes]], [[1, channels, int(np.prod(positions))]]

    def put(self, desc, bindings, role, is_array, tensors):
        name = f"{role}Tensors" if is_array else f"{role}Tensor"
        desc[name] = [tensor for tensor, _ in tensors] if is_array else tensors[0][0]
        bindings[name] = [bound for _, bound in tensors] if is_array else tensors[0][1]

    def files(self, paths):
        contents = [(self.folder / path).read_bytes() for path in paths]
        for path in paths:
            (self.folder / path).unlink()
        return contents

    def test_random_descriptors(self):
        seed = int(os.environ.get("DMLOP_TEST_SEED", random.randrange(1 << 30)))
        for number in range(60):
            with self.subTest(f"DMLOP_TEST_SEED={seed}, case {number}"):
                engine = random.Random(f"{seed}/{number}")
                descriptor, paths = self.random_descriptor(engine)
                self.write("op.json", descriptor)
                self.run_program("run", "op.json")
                expected = self.files(paths)
                model = self.run_program("validate", "op.json", "--to-model").stdout
                self.write("model.json", model)
                self.run_program("run", "model.json")
                self.assertEqual(self.files(paths), expected, descriptor)

    def test_very_many_tensors(self):
        """Time grows with their number, not with its square."""
        count = 65000
        self.write("op.json", {
            "type": "SPLIT", "Axis": 0, "OutputCount": count,
            "InputTensor": {"DataType": "INT8", "Sizes": [count]},
            "bindings": {"InputTensor": {"value": 7}}})
        model = json.loads(self.text_of("validate", "op.json", "--to-model"))
        self.assertEqual(len(model["resources"]), count + 1)
        self.assertEqual(list(model["resources"])[-1], f"OutputTensors[{count - 1}]")

    def test_elements_of_4_bits_are_bytes(self):
        for type, strides in (("INT4", [3, 1]), ("UINT4", [3, 1]), ("INT4", [9, 2])):
            with self.subTest(type=type, strides=strides):
                of_type = {"DataType": type, "Sizes": [2, 3], "Strides": strides}
                fields = {"QuantizationType": "SCALE_ZERO_POINT", "QuantizationTensors": [
                    {"DataType": "FLOAT32", "Sizes": [2, 1]}, {"DataType": type, "Sizes": [2, 1]}]}
                bindings = {"QuantizationTensors": [[0.5, 2], [3, 1]]}
                x = {"DataType": "FLOAT32", "Sizes": [2, 3]}
                for operator, input, output, bound, path in (
                        ("QUANTIZE", x, of_type, [1, 2, -1, 4, 5, 60], "y.bin"),
                        ("DEQUANTIZE", of_type, x, "y.bin", "z.npy"),
                        ("DEQUANTIZE", of_type, x, [[1, 2, 3], [4, 5, 6]], "z.npy")):
                    self.write("op.json", {
                        "type": operator, **fields, "InputTensor": input, "OutputTensor": output,
                        "bindings": bindings | {"InputTensor": bound, "OutputTensor": path}})
                    self.run_program("run", "op.json")
                    expected = (self.folder / path).read_bytes()
                    model = self.run_program("validate", "op.json", "--to-model").stdout
                    self.write("model.json", model)
                    self.run_program("run", "model.json")
                    self.assertEqual((self.folder / path).read_bytes(), expected)

    def test_what_a_model_needs_is_told(self):
        tensor = {"DataType": "FLOAT32", "Sizes": [1, 1, 2, 2]}
        unfold = {"type": "UNFOLD", "InputTensor": tensor, "bindings": {"InputTensor": {"valueCount": 4, "value": 1}},
                  "WindowSizes": [1, 1], "Strides": [1, 1], "Dilations": [1, 1], "StartPadding": [0, 0], "EndPadding": [0, 0]}
        quantize = {"type": "DEQUANTIZE", "InputTensor": {"DataType": "UINT4", "Sizes": [1]}, "QuantizationType": "SCALE",
                    "QuantizationTensors": [{"DataType": "FLOAT32", "Sizes": [1]}],
                    "bindings": {"InputTensor": [1], "QuantizationTensors": [[2]]}}
        for document, message in ((unfold, "dmlop: warning: DxDispatch cannot run the model: it has no UNFOLD,"),
                                  (quantize, "dmlop: warning: the model needs feature level 6_3;")):
            self.assertIn(message, self.errors_of("validate", json.dumps(document), "--to-model"))
            self.assertEqual(self.run_program("validate", json.dumps(document), "--to-model", "-q").stderr, b"")

    def test_bool_files_are_written_out(self):
        """DxDispatch reads NumPy's bool as INT8, a descriptor as UINT8."""
        np.save(self.folder / "x.npy", np.array([True, False, True]))
        self.write("op.json", {"type": "ELEMENT_WISE_IDENTITY", "bindings": {"InputTensor": "x.npy"}})
        model = json.loads(self.text_of("validate", "op.json", "--to-model"))
        self.assertEqual(model["resources"]["InputTensor"],
                         {"initialValuesDataType": "UINT8", "initialValues": [1, 0, 1],
                          "sizeInBytes": 4})
        self.assertEqual(self.text_of("run", json.dumps(model)), "Resource 'OutputTensor': 1, 0, 1\n")


class DescriptorsTest(ProgramTest):
    """validate --print-complete of a model prints descriptors that compute what the dispatches do."""

    def descriptors(self, model):
        text = self.text_of("validate", model, "--print-complete")
        all, at = [], 0
        while text[at:].strip():
            descriptor, end = json.JSONDecoder().raw_decode(text[at:])
            all.append(descriptor)
            at += end + 1
        return all

    def results(self, descriptor):
        """The arrays that running the descriptor prints, one for each output."""
        lines = self.text_of("run", json.dumps(descriptor), "--full")
        return [np.array(json.loads(values)).reshape(-1).tolist()
                for values in re.split(r"Output.*\n", lines)[1:]]

    def bytes_after_first_dispatches(self, model):
        """The operators in the order of their first dispatches, with the bytes of each output's resource, from its
        offset on, right afterwards."""
        seen, shortened = [], dict(model, commands=[])
        for command in model["commands"]:
            if command["type"].lower() != "dispatch":
                continue
            shortened["commands"].append(command)
            if command["dispatchable"] in seen:
                continue
            seen.append(command["dispatchable"])
            operator = model["dispatchables"][command["dispatchable"]]
            outputs = [b for field, bound in command["bindings"].items()
                       if field.startswith("Output") and field in operator.get("desc", operator)
                       for b in (bound if isinstance(bound, list) else [bound])]
            writes = [{"type": "writeFile", "resource": b["name"] if isinstance(b, dict) else b,
                       "targetPath": f"out{i}.bin"} for i, b in enumerate(outputs)]
            self.write("short.json", dict(shortened, commands=shortened["commands"] + writes))
            self.run_program("run", "short.json", "-q")
            yield command["dispatchable"], [
                (self.folder / f"out{i}.bin").read_bytes()[
                    4 * b.get("elementOffset", 0) if isinstance(b, dict) else 0:]
                for i, b in enumerate(outputs)]

    def test_published_models(self):
        for path in sorted(MODELS.glob("*.json")):
            with self.subTest(path.name):
                model = json.loads(path.read_text())
                if any(d.get("type") == "dmlSerializedGraph" for d in model["dispatchables"].values()):
                    continue  # its descriptors are those of nodes; see graphs_test.py
                expected = list(self.bytes_after_first_dispatches(model))
                descriptors = self.descriptors(path)
                self.assertEqual(len(descriptors), len(model["dispatchables"]))
                for descriptor, (_, outputs) in zip(descriptors, expected):
                    names = []
                    for i in range(len(outputs)):
                        names += ["-o", f"copy{i}.bin"]
                    self.run_program("run", json.dumps(descriptor), *names)
                    for i, output in enumerate(outputs):
                        copy = (self.folder / f"copy{i}.bin").read_bytes()
                        self.assertEqual(copy, output[:len(copy)], descriptor)

    def test_inputs_are_those_of_the_first_dispatch(self):
        model = copy_model({"x": numbers([1, 2, 3, 4]), "y": numbers([0] * 4), "z": numbers([0] * 8)}, [])
        tensor = {"DataType": "FLOAT32", "Sizes": [4]}
        model["dispatchables"] |= {
            "double": {"type": "ELEMENT_WISE_IDENTITY", "desc": {
                "InputTensor": tensor, "OutputTensor": tensor, "ScaleBias": {"Scale": 2, "Bias": 0}}},
            "join": {"type": "JOIN", "desc": {
                "InputCount": 2, "InputTensors": [tensor, tensor], "Axis": 0,
                "OutputTensor": {"DataType": "FLOAT32", "Sizes": [8]}}}}
        bind = {"InputTensor": "x", "OutputTensor": "x"}
        write = {"type": "writeFile", "resource": "z", "targetPath": "z.npy"}
        model["commands"] = [
            {"type": "dispatch", "dispatchable": "double", "bindings": bind},
            {"type": "dispatch", "dispatchable": "double", "bindings": bind},
            {"type": "dispatch", "dispatchable": "join",
             "bindings": {"InputTensors": ["x", "y"], "OutputTensor": "z"}},
            write]
        double, join, copy = self.descriptors(json.dumps(model))
        self.assertEqual(double["bindings"], {"InputTensor": [1, 2, 3, 4]})
        self.assertEqual(join["bindings"], {"InputTensors": [[4, 8, 12, 16], [0, 0, 0, 0]]})
        self.assertNotIn("bindings", copy)  # it is never dispatched
        self.assertEqual(self.results(double), [[2, 4, 6, 8]])
        self.assertEqual(self.results(join), [[4, 8, 12, 16, 0, 0, 0, 0]])

    def test_what_no_number_tells_stays_unbound(self):
        quiet, payload, default = 0x7FC00001, 0x7F800001, 0x7FC00000
        for bits, bound in (([default, 1 << 31], {"InputTensor": ["nan", -0.0]}),
                            ([quiet, 0], None), ([payload, 0], None)):
            with self.subTest(bits):
                dispatch = {"type": "dispatch", "dispatchable": "copy",
                            "bindings": {"InputTensor": "x", "OutputTensor": "y"}}
                model = copy_model({"x": numbers(bits, "UINT32"), "y": numbers([0, 0])}, [dispatch], 2)
                (descriptor,) = self.descriptors(json.dumps(model))
                self.assertEqual(descriptor.get("bindings"), bound)
                if bound is None:
                    self.assertIn("InputTensor has no file",
                                  self.errors_of("run", json.dumps(descriptor), status=2))

    def test_many_values_stay_unbound(self):
        count = (1 << 20) + 1
        dispatch = {"type": "dispatch", "dispatchable": "copy",
                    "bindings": {"InputTensor": "x", "OutputTensor": "y"}}
        x = numbers({"valueCount": count, "value": 1}, "INT8")
        model = copy_model({"x": x, "y": x}, [dispatch], count, "INT8")
        (descriptor,) = self.descriptors(json.dumps(model))
        self.assertNotIn("bindings", descriptor)


if __name__ == "__main__":
    unittest.main()
