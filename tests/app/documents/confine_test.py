# SPDX-License-Identifier: Apache-2.0
"""--confine DIR: the files that a document names must lie in a folder, wherever its paths seem to lead."""

import json
import os
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import SUM, X, ProgramTest, start


def descriptor(**bindings):
    return json.loads(SUM) | {"bindings": bindings}


def model(source, target):
    return {"resources": {"x": {"initialValuesDataType": "FLOAT32", "sizeInBytes": 1024,
                                "initialValues": {"sourcePath": source}}},
            "dispatchables": {},
            "commands": [{"type": "writeFile", "resource": "x", "targetPath": target}]}


class ConfineTest(ProgramTest):
    def setUp(self):
        super().setUp()
        for folder in ("in", "in/sub", "out", "inner"):
            (self.folder / folder).mkdir()
        self.save(**{"in/x": X, "in/sub/x": X, "out/x": X, "inner/x": X})
        (self.folder / "in/to_x.npy").symlink_to("x.npy")
        (self.folder / "in/away.npy").symlink_to("../out/x.npy")
        (self.folder / "in/new.npy").symlink_to(self.folder / "out/new.npy")  # nothing exists there yet
        (self.folder / "in/door").symlink_to("../out")
        (self.folder / "in/back").symlink_to(self.folder / "in")

    def check(self, document, places, commands=("run", "validate", "bench")):
        """With --confine, exactly these places are faults, and nothing is read or written."""
        self.write("in/d.json", document)
        before = self.files()
        for command in commands:
            with self.subTest(command, document=document):
                done = start([command, "in/d.json", "--confine", "in"], cwd=self.folder)
                errors = done.stderr.decode()
                self.assertEqual(done.returncode, 3, errors)
                for place in places:
                    self.assertIn(f"error: {place}: '", errors)
                self.assertEqual(errors.count("leads out of in, to which"), len(places), errors)
                self.assertEqual(errors.count("[DOC-5]"), len(places), errors)
                self.assertEqual(self.files(), before)

    def allow(self, document):
        self.write("in/d.json", document)
        self.run_program("run", "in/d.json", "--confine", "in")

    def test_inputs_outside(self):
        for path in ("../out/x.npy", "sub/../../out/x.npy", str(self.folder / "out/x.npy"),
                     "away.npy", "door/x.npy", "../inner/x.npy", "/dev/stdin", "/etc/passwd",
                     "../missing.npy"):
            self.check(descriptor(InputTensor=path), ["/bindings/InputTensor"])

    def test_outputs_outside(self):
        for path in ("../out/y.npy", str(self.folder / "y.npy"), "new.npy", "door/y.npy",
                     "/dev/null", ".."):
            self.check(descriptor(InputTensor="x.npy", OutputTensor=path),
                       ["/bindings/OutputTensor"])

    def test_both_at_once(self):
        self.check(descriptor(InputTensor="../out/x.npy", OutputTensor="../y.npy"),
                   ["/bindings/InputTensor", "/bindings/OutputTensor"])

    def test_inside(self):
        for source in ("x.npy", "sub/x.npy", "sub/../x.npy", "../in/x.npy", "to_x.npy",
                       str(self.folder / "in/x.npy"), "back/back/x.npy"):
            self.allow(descriptor(InputTensor=source, OutputTensor="sub/y.npy"))
        values = descriptor(InputTensor=X.tolist())
        self.allow(values | {"InputTensor": {"DataType": "FLOAT32", "Sizes": [3, 3]}})

    def test_names_that_are_made_of_others(self):
        """Exported inputs, stand-in files and outputs in another folder do not follow links out of the folder."""
        for folder in ("to", "to/sub"):
            (self.folder / folder).mkdir()
        for name in ("in/y.InputTensor.npy", "in/z.bin", "to/sub/y.npy"):
            (self.folder / name).symlink_to(self.folder / "out/secret.npy")
        line = {"type": "ELEMENT_WISE_ABS", "InputTensor": {"DataType": "FLOAT32", "Sizes": [2]}}
        made = line | {"bindings": {"InputTensor": [1, -2], "OutputTensor": "y.npy"}}
        stand_in = line | {"bindings": {"InputTensor": [1, -2], "OutputTensor": "z.npy"}}
        moved = [line | {"bindings": {"InputTensor": [1, -2], "OutputTensor": name}} for name in ("sub/y.npy", "w.npy")]
        for lines, options, place in [
            ([made], ["--inputs"], "/bindings/InputTensor: 'in/y.InputTensor.npy'"),
            ([made], ["--check"], "/bindings/InputTensor: 'in/y.InputTensor.npy'"),
            ([stand_in], ["--judge"], "/bindings/OutputTensor: 'in/z.bin'"),
            (moved, ["--output-path", "to"], "/bindings/OutputTensor: 'to/sub/y.npy'"),
        ]:
            for there in (False, True):
                with self.subTest(options=options, there=there):
                    if there:
                        np.save(self.folder / "out/secret.npy", np.array([1, -2], "f4"))
                    self.write("in/m.jsonl", "".join(json.dumps(one) + "\n" for one in lines))
                    if options == ["--check"]:
                        np.save(self.folder / "in/y.npy", np.array([1, 2], "f4"))
                    before = self.files()
                    said = self.errors_of("batch", "in/m.jsonl", *options, "--confine", "in",
                                          status=3 if there or options != ["--judge"] else 5)
                    if there or options != ["--judge"]:
                        self.assertIn(f"{place} leads out of in, to which --confine keeps this document [DOC-5]", said)
                    self.assertEqual([name for name in self.files() if name != "to/w.npy"], before)
                    (self.folder / "to/w.npy").unlink(missing_ok=True)
            (self.folder / "out/secret.npy").unlink()
        (self.folder / "to/sub/y.npy").unlink()
        self.write("in/m.jsonl", "".join(json.dumps(one) + "\n" for one in moved))
        self.run_program("batch", "in/m.jsonl", "--confine", "in", "--output-path", "to", "--inputs")
        self.run_program("batch", "in/m.jsonl", "--confine", "in", "--output-path", "new", "--inputs")

    def test_what_is_kept_of_a_model(self):
        tensor = {"DataType": "FLOAT32", "Sizes": [3]}
        buffer = {"initialValuesDataType": "FLOAT32", "initialValues": [1, 2, 3]}
        self.write("in/m.json", {
            "resources": {"A": buffer, "B": buffer},
            "dispatchables": {"abs": {"type": "ELEMENT_WISE_ABS", "desc": {"InputTensor": tensor, "OutputTensor": tensor}}},
            "commands": [{"type": "dispatch", "dispatchable": "abs", "bindings": {"InputTensor": "A", "OutputTensor": "B"}}]})
        arguments = ["run", "in/m.json", "--confine", "in", "--keep-all"]
        for folder in ("in", "kept"):
            self.run_program(*arguments, folder)
            kept = self.folder / folder / "0001-abs.OutputTensor.npy"
            self.assertTrue(kept.exists())
            kept.unlink()
            kept.symlink_to(self.folder / "out/kept.npy")
            self.assertIn(f"'{folder}/0001-abs.OutputTensor.npy' leads out of in, to which",
                          self.errors_of(*arguments, folder, status=3))
            self.assertFalse((self.folder / "out/kept.npy").exists())

    def test_files_of_the_command_line_may_lie_anywhere(self):
        self.write("in/d.json", descriptor(OutputTensor="y.npy"))
        self.run_program("run", "in/d.json", "--confine", "in", "-i", "out/x.npy")
        self.run_program("run", "in/d.json", "--confine", "in", "-i", "out/x.npy", "-o", "out/y.npy")
        self.run_program("run", SUM, "--confine", "in", "-i", "-", "-o", "-",
                         stdin=(self.folder / "out/x.npy").read_bytes())

    def test_explain(self):
        self.write("in/d.json", descriptor(InputTensor="../out/x.npy"))
        arguments = ["explain", "in/d.json", "OutputTensor[0,0]"]
        self.run_program(*arguments)
        self.assertIn("[DOC-5]", self.errors_of(*arguments, "--confine", "in", status=3))

    def test_models(self):
        for source, target, places in [
            ("../out/x.npy", "y.npy", ["/resources/x/initialValues/sourcePath"]),
            ("x.npy", "../out/y.npy", ["/commands/0/targetPath"]),
            ("x.npy", str(self.folder / "out/y.npy"), ["/commands/0/targetPath"]),
            ("x.npy", "door/y.npy", ["/commands/0/targetPath"]),
            ("x.npy", "door/made/y.npy", ["/commands/0/targetPath"]),
            ("away.npy", "new.npy", ["/resources/x/initialValues/sourcePath", "/commands/0/targetPath"]),
        ]:
            self.write("in/d.json", model(source, target))
            before = self.files()
            arguments = ["run", "in/d.json", "--output-path", "in", "--confine", "in"]
            errors = self.errors_of(*arguments, status=3)
            with self.subTest(source=source, target=target):
                for place in places:
                    self.assertIn(f"error: {place}: '", errors)
                self.assertEqual(errors.count("[DOC-5]"), len(places), errors)
                self.assertEqual(self.files(), before)
        self.write("in/d.json", model("x.npy", "made/y.npy"))
        self.run_program("run", "in/d.json", "--output-path", "in", "--confine", "in")
        self.assertIn("in/made/y.npy", self.files())
        # Outputs are relative to the current folder, not to the model's.
        self.errors_of("run", "in/d.json", "--confine", "in", status=3)

    def test_behind_many_other_faults(self):
        """There are more faults than are kept. The pipe is outside the folder; opening it would wait forever."""
        os.mkfifo(self.folder / "out/pipe.npy")
        others = {f"unknown{i}": 1 for i in range(100)}  # errors for an operator, warnings for a model
        for document in (descriptor(InputTensor="../out/pipe.npy"), model("../out/pipe.npy", "y.npy")):
            self.write("in/d.json", document | others)
            before = self.files()
            for command in ("run", "validate", "bench"):
                with self.subTest(command, document=document):
                    self.errors_of(command, "in/d.json", "--confine", "in", status=3)
                    self.assertEqual(self.files(), before)

    def test_without_it_paths_lead_anywhere(self):
        self.write("in/d.json", model("../out/x.npy", "../out/deep/y.npy"))
        self.run_program("run", "in/d.json", "--output-path", "in")
        self.assertIn("out/deep/y.npy", self.files())
        self.write("in/d.json", model("x.npy", str(self.folder / "out/z.npy")))
        self.run_program("run", "in/d.json", "--output-path", "in")
        self.assertIn("out/z.npy", self.files())

    def test_what_is_no_folder(self):
        for name in ("missing", "in/x.npy", ""):
            errors = self.errors_of("run", SUM, "--confine", name, status=2)
            self.assertIn(f"'{name}' is not a folder", errors)

    def test_the_root_confines_nothing(self):
        self.write("in/d.json", descriptor(InputTensor="../out/x.npy"))
        self.run_program("run", "in/d.json", "--confine", "/")

    def test_a_relative_and_a_linked_folder(self):
        self.write("in/d.json", descriptor(InputTensor="x.npy"))
        for folder in (".", "in/", "in/back", str(self.folder / "in"), "out/../in"):
            self.run_program("run", "in/d.json", "--confine", folder)
        self.run_program("run", "d.json", "--confine", ".", cwd=self.folder / "in")


if __name__ == "__main__":
    unittest.main()
