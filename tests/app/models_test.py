"""DxDispatch models: testdata/models, files that they read and write, and the way there and back.

models/MODEL.json runs and prints MODEL.txt; MODEL.err, where it exists, are its warnings.
"""

import json
import os
import random
import sys
import unittest

sys.dont_write_bytecode = True
import numpy as np
from program import ROOT, ProgramTest, start

MODELS = ROOT / "testdata/models"
TYPES = ["f4", "f2", "i4", "u1", "i8"]
DML_NAMES = {"f4": "FLOAT32", "f2": "FLOAT16", "i4": "INT32", "u1": "UINT8", "i8": "INT64"}


class PublishedModelsTest(unittest.TestCase):
    maxDiff = None

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
        self.assertIn(b"4 bytes of data, its shape needs 12; the rest is zero", done.stderr)

    def test_refuses_files_that_do_not_fit(self):
        np.save(self.folder / "fortran.npy", np.asfortranarray(np.ones((2, 3), "f4")))
        np.save(self.folder / "int.npy", np.ones(4, "i4"))
        (self.folder / "text.npy").write_text("no magic")
        for resource, status, message in (
                (source("fortran.npy"), 4, "fortran.npy: is in Fortran order"),
                (source("int.npy", "FLOAT32"), 4, "int.npy: holds INT32; resource 'x' has the type"),
                (source("text.npy"), 4, "text.npy: is not a .npy file"),
                (source("missing.npy"), 5, "missing.npy: cannot be opened: No such file")):
            with self.subTest(message):
                self.write("model.json", copy_model({"x": resource}, PRINT_X))
                self.assertIn(message, self.errors_of("run", "model.json", status=status))
                self.assertIn(message, self.errors_of("validate", "model.json", status=status))

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
        self.assertIn("are for operator descriptors",
                      self.errors_of("run", "model.json", "-i", "x.npy", status=2))
        self.assertIn("is a model already",
                      self.errors_of("validate", "model.json", "--to-model", status=2))

    def test_refuses_more_memory_than_there_is(self):
        huge = {"initialValuesDataType": "FLOAT64",
                "initialValues": {"valueCount": 4294967295, "value": 0},
                "sizeInBytes": 1 << 60}
        self.write("model.json", copy_model({"x": huge}, PRINT_X))
        self.assertIn("bytes of memory", self.errors_of("run", "model.json", status=5))
        self.text_of("validate", "model.json")

    def test_reads_standard_input_and_inline_text(self):
        text = json.dumps(copy_model({"x": numbers([7])}, PRINT_X))
        self.assertEqual(self.text_of("run", "-", stdin=text.encode()), "Resource 'x': 7\n")
        self.assertEqual(self.text_of("run", text), "Resource 'x': 7\n")
        done = self.run_program("run", "-", stdin=text.encode() + b" rest")
        self.assertIn(b"warning: text after the document is ignored [JSON-1]", done.stderr)


class RoundTripTest(ProgramTest):
    """A descriptor, and the model that it becomes, give the same bytes."""

    def random_array(self, engine, type, shape):
        bits = engine.randbytes(int(np.prod(shape)) * np.dtype(type).itemsize)
        return np.frombuffer(bits, type).reshape(shape)  # NaN with payloads among them

    def random_input(self, engine, name, type, shape):
        """A binding and a desc for the tensor, in one of the forms that there are."""
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
        type = engine.choice(TYPES)
        shape = [engine.randint(1, 4) for _ in range(engine.randint(1, 4))]
        axis = engine.randrange(len(shape))
        kind = engine.choice(["ELEMENT_WISE_IDENTITY", "JOIN", "SPLIT", "REDUCE"])
        widths = [engine.randint(1, 3) for _ in range(engine.randint(1, 3))]
        parts = [[*shape[:axis], width, *shape[axis + 1:]] for width in widths]
        whole = [*shape[:axis], sum(widths), *shape[axis + 1:]]
        inputs = {"JOIN": parts, "SPLIT": [whole]}.get(kind, [shape])
        reduced = [*shape[:axis], 1, *shape[axis + 1:]]
        outputs = {"JOIN": [whole], "SPLIT": parts, "REDUCE": [reduced]}.get(kind, [shape])
        bound_inputs = [self.random_input(engine, f"in{i}", type, s) for i, s in enumerate(inputs)]
        bound_outputs = [self.random_output(engine, type, s) for s in outputs]
        paths = [f"out{i}{extension}" for i, (_, extension) in enumerate(bound_outputs)]
        desc, bindings = {}, {}
        self.put(desc, bindings, "Input", kind == "JOIN", bound_inputs)
        self.put(desc, bindings, "Output", kind == "SPLIT",
                 [(tensor, path) for (tensor, _), path in zip(bound_outputs, paths)])
        if kind in ("JOIN", "SPLIT"):
            desc["Axis"] = axis
        if kind == "REDUCE":
            desc |= {"Function": engine.choice(["MIN", "MAX"]), "Axes": [axis]}
        return {"type": kind, "desc": desc, "bindings": bindings}, paths

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

    def test_models_come_back_as_descriptors(self):
        for name in ("element_wise_identity", "join", "reduce", "split", "unfold", "strides",
                     "owned_by_dml"):
            with self.subTest(name):
                model = str(MODELS / f"{name}.json")
                text = self.run_program("validate", model, "--print-complete").stdout.decode()
                descriptor, _ = json.JSONDecoder().raw_decode(text)
                self.write("op.json", descriptor)
                printed = self.text_of("run", "op.json")
                values = printed.replace("[", "").replace("]", "").split("\n")[1::2]
                lines = (MODELS / f"{name}.txt").read_text().splitlines()
                for line in values:
                    self.assertIn(line.strip(), " | ".join(lines))


if __name__ == "__main__":
    unittest.main()
