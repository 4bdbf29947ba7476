# SPDX-License-Identifier: Apache-2.0
"""File names are bytes: those that are not UTF-8 work everywhere, and records keep them completely."""

import json
import os
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import COLUMN_SUMS, COPY, SUM, X, ProgramTest

LATIN = os.fsdecode(b"b\xe9")  # a byte that is not valid UTF-8
SHOWN = "b\ufffd"
UTF8 = "b\u00e9"


class NamesTest(ProgramTest):
    def setUp(self):
        super().setUp()
        for name in (LATIN, UTF8):
            folder = self.folder / name
            folder.mkdir()
            np.save(folder / f"{name}.npy", X)
            np.save(folder / "x.npy", X)
            (folder / "d.json").write_text(json.dumps(json.loads(COPY) | {
                "bindings": {"InputTensor": "x.npy", "OutputTensor": "y.npy"}}))
            (folder / "cases.jsonl").write_text((folder / "d.json").read_text() + "\n")
            buffer = {"initialValuesDataType": "FLOAT32", "initialValues": {"sourcePath": "x.npy"}}
            (folder / "model.json").write_text(json.dumps({
                "resources": {"x": buffer}, "dispatchables": {},
                "commands": [{"type": "print", "resource": "x"},
                             {"type": "writeFile", "resource": "x", "targetPath": "z.npy", "dimensions": [3, 3]}]}))

    def check_file(self, told, member, path):
        """The member of a record and, if the name is not UTF-8, its bytes."""
        self.assertEqual(told[member], path.replace(LATIN, SHOWN))
        self.assertEqual(told.get(f"{member}Bytes"), os.fsencode(path).hex() if LATIN in path else None)

    def test_no_message_ends_at_a_nul(self):
        np.savez(self.folder / "a.npz", **{"w?old": X, "z": X})
        archive = (self.folder / "a.npz").read_bytes()
        self.write("a.npz", archive.replace(b"w?old", b"w\0old"))
        for command, status in (["show", "a.npz"], 2), (["show", "a.npz:q"], 4), (["run", SUM, "-i", "a.npz"], 2):
            self.assertIn(r"w\x00old", self.errors_of(*command, status=status))
            self.assertRegex(self.errors_of(*command, status=status), r"\bz\b.*\n\Z")

    def test_records_of_a_run(self):
        for name in (LATIN, UTF8):
            file = f"{name}/{name}.npy"
            for files in (["-i", file, "-o", f"{name}/o.npy", "-e", file], ["-i", file, "-e", file]):
                self.run_program("run", COPY, *files, "--report", f"{name}.json")
                report = json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
                for told in (report["inputs"][0], report["comparisons"][0]):
                    self.check_file(told, "path", file)
                for told in report["outputs"]:
                    self.check_file(told, "path", f"{name}/o.npy")
            self.assertEqual(report["descriptor"]["bindings"]["InputTensor"], file.replace(LATIN, SHOWN))
            self.run_program("run", f"{name}/d.json", "--report", f"{name}.json")
            report = json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
            self.check_file(report["outputs"][0], "path", f"{name}/y.npy")

    def test_records_of_a_model(self):
        for name in (LATIN, UTF8):
            self.run_program("run", f"{name}/model.json", "--output-path", f"{name}/out", "--report", "r.json")
            report = json.loads((self.folder / "r.json").read_text(encoding="utf-8"))
            self.check_file(report["inputs"][0], "path", f"{name}/x.npy")
            self.check_file(report["outputs"][0], "path", f"{name}/out/z.npy")

    def test_records_of_a_batch(self):
        for name in (LATIN, UTF8):
            for options in ([], ["--check"], ["--resume"]):
                self.run_program("batch", f"{name}/cases.jsonl", *options, "--report", "r.jsonl")
                record = json.loads((self.folder / "r.jsonl").read_text(encoding="utf-8"))
                self.check_file(record["inputs"][0], "path", f"{name}/x.npy")
                files = record["comparisons" if options == ["--check"] else "outputs"]
                self.check_file(files[0], "path", f"{name}/y.npy")
            (self.folder / name / "y.npy").write_bytes(b"")
            self.run_program("batch", f"{name}/cases.jsonl", "--check", "--report", "r.jsonl", status=4)
            self.assertIn(name.replace(LATIN, SHOWN),
                          json.loads((self.folder / "r.jsonl").read_text(encoding="utf-8"))["error"])

    def test_what_validate_says(self):
        for name in (LATIN, UTF8):
            for document, status in ((f"{name}/d.json", 0), (f"{name}/model.json", 0), (f"{name}/none.json", 5),
                                     (f"{name}/x.npy", 3)):
                said = json.loads(self.text_of("validate", document, "--format", "json", status=status))
                self.check_file(said, "document", document)
            for option in ("--to-model", "--print-complete"):
                json.loads(self.text_of("validate", f"{name}/d.json", option))

    def test_other_commands(self):
        for name in (LATIN, UTF8):
            file = f"{name}/{name}.npy"
            self.assertIn(b"[[1, 2, 3],", self.run_program("show", file).stdout)
            self.assertTrue(json.loads(self.text_of("compare", file, file, "--format", "json"))["equal"])
            self.run_program("compare", file, file, "-o", f"{name}/p.png")
            self.assertEqual(json.loads(self.text_of("explain", SUM, "OutputTensor[0,2]", "-i", file, "--format",
                                                     "json"))["count"], 3)
            for form in ("json", "csv", "markdown", "table"):
                said = self.text_of("bench", f"{name}/d.json", "--min-time", "1ms", "--cache", "hot", "--format", form)
                self.assertIn("d.json", said)
            self.run_program("bench", f"{name}/d.json", "--min-time", "1ms", "-o", f"{name}/b.json")
            measured = json.loads((self.folder / name / "b.json").read_text(encoding="utf-8"))
            self.run_program("bench", f"{name}/d.json", "--min-time", "1ms", "--baseline", f"{name}/b.json",
                             "--fail-over", "100000%")
            self.assertTrue(measured["benchmarks"][0]["name"].startswith(name.replace(LATIN, r"b\xe9") + "/d.json"))

    def test_messages_spell_the_bytes_out(self):
        self.assertIn(r"b\xe9.npy: cannot be opened", self.errors_of("run", COPY, "-i", f"{LATIN}.npy", status=5))


class EqualsTest(ProgramTest):
    """The text before = is a tensor's name only if it can be one and no file has the whole name."""

    def setUp(self):
        super().setUp()
        self.save(x=X, **{"a=b": X, "=x": X, "a-b=c": X, "InputTensor=y": X, "a[1]=b": X})

    def test_files_with_an_equals_sign(self):
        for argument in ("a=b.npy", "./a=b.npy", "=x.npy", "a-b=c.npy", "InputTensor=a=b.npy", "a[1]=b.npy",
                         "InputTensor=x.npy", "./InputTensor=y.npy"):
            with self.subTest(argument):
                self.run_program("run", SUM, "-i", argument, "-o", "s.npy")
                self.assert_same(self.load("s"), COLUMN_SUMS)

    def test_names_that_no_tensor_has(self):
        for option, name in (("-i", "input"), ("-o", "output")):
            said = self.errors_of("run", SUM, "-i", "x.npy", option, "b=none.npy", status=2)
            self.assertIn(f"REDUCE has no {name} 'b'; it has ", said)
            self.assertIn("; a file of that name is written ./b=none.npy", said)
        for name in ("InputTensor[-1]", "OutputTensor[+1]", "OutputTensor[1]x", "OutputTensor.1", "Output-Tensor", "0"):
            said = self.errors_of("run", SUM, "-i", "x.npy", "-o", f"{name}=none.npy", status=2)
            self.assertIn(f"REDUCE has no output '{name}'; it has OutputTensor; a file of that name is written ./", said)
        self.assertIn("'=none.npy' has no name before the '='", self.errors_of("run", SUM, "-o", "=none.npy", status=2))
        self.assertIn("InputTensor=y.npy", self.files())
        self.assertIn("y.npy", self.errors_of("run", SUM, "-i", "InputTensor=y.npy", status=5))

    def test_an_equals_sign_behind_a_short_option(self):
        for arguments in (["-i=x.npy", "-o=s.npy"], ["-ix.npy", "-os.npy"], ["-i", "x.npy", "-o=OutputTensor=s.npy"],
                          ["--input=x.npy", "--output=s.npy", "-t=2"]):
            with self.subTest(arguments):
                self.run_program("run", SUM, *arguments)
                self.assert_same(self.load("s"), COLUMN_SUMS)
                (self.folder / "s.npy").unlink()
        self.assertIn("--input: the value is empty", self.errors_of("run", SUM, "-i=", status=2))
        self.assertIn("'-1' is not a whole number", self.errors_of("run", SUM, "-t=-1", status=2))
        self.run_program("show", "--", "a=b.npy")


if __name__ == "__main__":
    unittest.main()
