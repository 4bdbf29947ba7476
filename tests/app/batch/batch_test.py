# SPDX-License-Identifier: Apache-2.0
"""dmlop batch: runs many cases from one manifest, each as run would."""

import hashlib
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import COLUMN_SUMS, DMLOP, X, ProgramTest, read_screen


def case(source, target, operator=None, **members):
    fields = operator or {"Function": "SUM", "Axes": [0]}
    return {"type": "REDUCE", "desc": fields,
            "bindings": {"InputTensor": source, "OutputTensor": target}} | members


def copy(target, values, data_type="FLOAT32"):
    """A case whose only file is its output."""
    tensor = {"DataType": data_type, "Sizes": list(np.shape(values))}
    return {"type": "ELEMENT_WISE_IDENTITY", "desc": {"InputTensor": tensor},
            "bindings": {"InputTensor": np.asarray(values).tolist(), "OutputTensor": target}}


def missing(descriptor, name):
    """The message about a missing input, from the column on."""
    column = json.dumps(descriptor).index(f'"{name}"') + 1
    return f":{column}: /bindings/InputTensor: {name}: cannot be opened: No such file or directory [DOC-6]"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class BatchTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.save(x=X)

    def manifest(self, *cases, name="cases.jsonl"):
        lines = [line if isinstance(line, str) else json.dumps(line) for line in cases]
        (self.folder / name).write_text("".join(line + "\n" for line in lines))
        return name

    def batch(self, *arguments, **options):
        """The text on standard error, without times."""
        return self.errors_of("batch", *arguments, "--no-times", **options)

    def report(self, name="report.jsonl"):
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]


class RunTest(BatchTest):
    def test_every_case_is_run_and_reported(self):
        (self.folder / "in").mkdir()
        np.save(self.folder / "in/a.npy", X)
        self.manifest(case("a.npy", "sum.npy"), "", "  // a comment", copy("../copy.npy", [1, 2, 3]),
                      name="in/cases.jsonl")
        said = self.batch("in/cases.jsonl", "--report", "report.jsonl")
        self.assertEqual(said, "dmlop: 2 cases: 2 done\n")
        self.assert_same(np.load(self.folder / "in/sum.npy"), COLUMN_SUMS)
        self.assert_same(self.load("copy"), np.array([1, 2, 3], "f4"))
        file_hash = lambda path: sha256((self.folder / path).read_bytes())
        told = self.report()
        for line in told:  # equal to run's report of the case
            self.run_program("run", "in/cases.jsonl", "--line", line["line"], "--report", "run.json")
            of_run = json.loads((self.folder / "run.json").read_text())
            self.assertEqual([line.pop(key) for key in ("dmlop", "descriptor")], [of_run["dmlop"], of_run["descriptor"]])
        self.assertEqual([line.pop("operator") for line in told], ["REDUCE", "ELEMENT_WISE_IDENTITY"])
        self.assertEqual(told, [
            {"line": 1, "status": "done", "exitStatus": 0,
             "inputs": [{"tensor": "InputTensor", "path": "in/a.npy", "sha256": file_hash("in/a.npy")}],
             "outputs": [{"tensor": "OutputTensor", "path": "in/sum.npy", "sha256": file_hash("in/sum.npy")}]},
            {"line": 4, "status": "done", "exitStatus": 0, "inputs": [],
             "outputs": [{"tensor": "OutputTensor", "path": "in/../copy.npy", "sha256": file_hash("copy.npy")}]}])

    def test_times_are_in_report_and_summary(self):
        self.manifest(case("x.npy", "y.npy"))
        said = self.errors_of("batch", "cases.jsonl", "--report", "report.jsonl")
        self.assertRegex(said, r"^dmlop: 1 case in \d+\.\d\d s: 1 done\n$")
        seconds = self.report()[0]["seconds"]
        self.assertEqual(set(seconds), {"load", "run"})
        self.assertGreater(seconds["run"], 0)

    def test_a_manifest_on_standard_input_and_a_report_on_standard_output(self):
        line = json.dumps(case("x.npy", "y.npy")).encode()
        done = self.run_program("batch", "-", "--report", "-", "-q", stdin=line)
        self.assertEqual(done.stderr, b"")
        self.assertEqual(json.loads(done.stdout)["status"], "done")
        self.assert_same(self.load("y"), COLUMN_SUMS)

    def test_an_empty_manifest(self):
        self.manifest("", "// nothing")
        self.assertEqual(self.batch("cases.jsonl", "--allow-empty"), "dmlop: 0 cases\n")
        for options in ([], ["--check"], ["--judge"], ["-q"]):
            self.assertEqual(self.batch("cases.jsonl", *options, status=2),
                             "dmlop: cases.jsonl: has no case; --allow-empty takes that\n")

    def test_cases_in_any_sequence(self):
        """Cases may be on one line each, span lines, follow each other on a line, or be the elements of an array."""
        cases = [copy(f"{i}.npy", [i, i + 1]) for i in range(3)]
        texts = {
            "indented": "\n".join(json.dumps(c, indent=2) for c in cases),
            "one line": " ".join(map(json.dumps, cases)),
            "an array": json.dumps(cases),
            "an indented array": "// cases\n" + json.dumps(cases, indent=1),
            "an array with a comma behind": json.dumps(cases)[:-1] + ",\n]\n",
            "brackets in strings and comments": "\n".join(
                json.dumps(c | {"name": '}"]\\'})[:-1] + "\n /* } { \n ] */ // }\n}" for c in cases),
            "comments that span lines": "/* cases\n { */ " + " /* one\n {\n two */\n".join(map(json.dumps, cases)) + "/*\n*/",
            "comments in an array": "/*\n*/[/* {\n */" + ", /* [\n ] */".join(map(json.dumps, cases)) + "/*\n]*/]",
            "CRLF": "\n".join(json.dumps(c, indent=2) for c in cases).replace("\n", "\r\n"),
        }
        for name, text in texts.items():
            with self.subTest(name):
                (self.folder / "cases.jsonl").write_bytes(text.encode())
                self.assertEqual(self.batch("cases.jsonl"), "dmlop: 3 cases: 3 done\n")
                for i in range(3):
                    self.assert_same(self.load(i), np.array([i, i + 1], "f4"))
                    (self.folder / f"{i}.npy").unlink()

    def test_places_in_cases_of_several_lines(self):
        wrong = json.dumps(case("x.npy", "b.npy") | {"desc": {"Function": "SUM", "Axes": [7]}}, indent=1)
        line = wrong.splitlines().index("   7") + 1
        for text, place in [
            (json.dumps(copy("a.npy", [1])) + "\n" + wrong, f"{line + 1}:4"),
            ("[\n" + json.dumps(copy("a.npy", [1])) + ", " + wrong + "]", f"{line + 1}:4"),
            (json.dumps(copy("\u00e9.npy", [1]), ensure_ascii=False) + " " + json.dumps(json.loads(wrong)),
             f"1:{len(json.dumps(copy('e.npy', [1]))) + 1 + json.dumps(json.loads(wrong)).index('7') + 1}"),
        ]:
            (self.folder / "cases.jsonl").write_text(text)
            said = self.batch("cases.jsonl", "-k", status=3)
            self.assertIn(f"cases.jsonl:{place}: /desc/Axes/0: axis 7 is out of range", said)
            self.assertIn("dmlop: 2 cases: 1 done, 1 failed", said)

    def test_a_case_that_is_cut_off_costs_no_other(self):
        good = [json.dumps(copy(f"{i}.npy", [i])) for i in range(3)]
        for broken in ('{"type": "REDUCE"', '{"type": "REDUCE",\n "desc": {', '{"type": "REDUCE"}}', "word", '"{"'):
            with self.subTest(broken):
                (self.folder / "cases.jsonl").write_text("\n".join([good[0], broken, good[1], good[2]]))
                self.assertIn("dmlop: 4 cases: 3 done, 1 failed", self.batch("cases.jsonl", "-k", status=3))

    def test_an_array_that_does_not_end(self):
        text = json.dumps([copy(f"{i}.npy", [i]) for i in range(2)])[:-1]
        (self.folder / "cases.jsonl").write_text(text + "\n")
        said = self.batch("cases.jsonl", "-k", status=3)
        self.assertIn(f"cases.jsonl:1:{len(text) + 1}: not well-formed JSON: expected a value, found the end [JSON-1]",
                      said)
        self.assertIn("dmlop: 3 cases: 2 done, 1 failed", said)

    def test_a_comment_that_does_not_end(self):
        (self.folder / "cases.jsonl").write_text(json.dumps(copy("a.npy", [1])) + "\n  /* and\nno end")
        said = self.batch("cases.jsonl", "-k", status=3)
        self.assertIn("cases.jsonl:2:3: not well-formed JSON: a comment without its end", said)
        self.assertIn("dmlop: 2 cases: 1 done, 1 failed", said)

    def test_standard_input_is_read_from_where_it_stands(self):
        lines = [json.dumps(copy(f"{i}.npy", [i])) + "\n" for i in range(2)]
        (self.folder / "cases.jsonl").write_text("".join(lines))
        with open(self.folder / "cases.jsonl", "rb") as manifest:
            os.lseek(manifest.fileno(), len(lines[0]), os.SEEK_SET)
            done = subprocess.run([DMLOP, "batch", "-"], stdin=manifest, cwd=self.folder, capture_output=True, check=True)
        self.assertIn(b"dmlop: 1 case", done.stderr)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.sendall(lines[0].encode())
            theirs.shutdown(socket.SHUT_WR)
            subprocess.run([DMLOP, "batch", "-"], stdin=ours, cwd=self.folder, check=True, capture_output=True)
        self.assertEqual([self.load(i)[0] for i in range(2)], [0, 1])

    def test_folders_of_outputs_are_made(self):
        self.manifest(case("x.npy", "new/deep/y.npy"))
        self.batch("cases.jsonl")
        self.assert_same(np.load(self.folder / "new/deep/y.npy"), COLUMN_SUMS)
        self.manifest(case("x.npy", "other/deep/y.npy") | {"bindings": {
            "InputTensor": "none.npy", "OutputTensor": "other/deep/y.npy"}})
        self.batch("cases.jsonl", status=5)
        self.assertFalse((self.folder / "other").exists())

    def test_lines_of_every_length_and_end(self):
        (self.folder / "cases.jsonl").write_bytes(
            json.dumps(copy("a.npy", list(range(30000)))).encode() + b"\r\n\r\n" +
            json.dumps(copy("b.npy", [1])).encode())
        self.assertEqual(self.batch("cases.jsonl"), "dmlop: 2 cases: 2 done\n")
        self.assert_same(self.load("a"), np.arange(30000, dtype="f4"))

    def test_a_byte_order_mark_belongs_to_no_line(self):
        for first in ("", "// a comment", json.dumps(copy("a.npy", [1]))):
            with self.subTest(first):
                (self.folder / "cases.jsonl").write_text(f"\ufeff{first}\n" + json.dumps(copy("b.npy", [1])))
                count = 2 if first.startswith("{") else 1
                self.assertRegex(self.batch("cases.jsonl"), rf"^dmlop: {count} cases?: {count} done\n$")

    def test_paths_of_a_pipe_are_relative_to_the_current_folder(self):
        self.manifest(case("x.npy", "y.npy"))
        said = subprocess.run(["bash", "-c", f"{DMLOP} batch <(cat cases.jsonl) --no-times && {DMLOP} run <(cat cases.jsonl)"],
                              cwd=self.folder, capture_output=True)
        self.assertEqual(said.stderr.decode(), "dmlop: 1 case: 1 done\n")
        self.assert_same(self.load("y"), COLUMN_SUMS)

    def test_large_cases_use_the_threads_of_all(self):
        large = np.arange(3 << 20, dtype="f4").reshape(3, -1)
        self.save(large=large)
        self.manifest(*[case("large.npy" if i % 5 == 2 else "x.npy", f"y{i}.npy") for i in range(20)])
        self.assertEqual(self.batch("cases.jsonl", "-t", 4), "dmlop: 20 cases: 20 done\n")
        for i in range(20):
            self.assert_same(self.load(f"y{i}"), large.sum(0, keepdims=True) if i % 5 == 2 else COLUMN_SUMS)

    def test_only_one_line(self):
        self.manifest(case("x.npy", "a.npy"), case("x.npy", "b.npy"))
        self.assertEqual(self.batch("cases.jsonl", "--line", 2), "dmlop: 1 case: 1 done\n")
        self.assertEqual(self.files(), ["b.npy", "cases.jsonl", "x.npy"])
        self.assertIn("no case in line 3", self.batch("cases.jsonl", "--line", 3, status=2))


class InputsTest(BatchTest):
    """A golden set consists of inputs and outputs: --inputs writes the inputs that the lines generate."""

    ADD = {"type": "ELEMENT_WISE_ADD", "ATensor": {"DataType": "FLOAT32", "Sizes": [2, 3], "Strides": [0, 1]},
           "bindings": {"ATensor": {"random": "uniform", "seed": 1}, "BTensor": [[1, 2, 3], [4, 5, 6]],
                        "OutputTensor": "golden/add.npy"}}
    JOIN = {"type": "JOIN", "Axis": 0,
            "bindings": {"InputTensors": [[1, 2], [3], "one.npy"], "OutputTensor": "golden/join.bin"}}

    def test_the_files_compute_the_outputs(self):
        self.save(one=np.ones(2, "f4"))
        self.manifest(self.ADD, self.JOIN)
        self.batch("cases.jsonl", "--inputs", "--report", "r.jsonl")
        self.assertEqual(sorted(path.name for path in (self.folder / "golden").iterdir()), [
            "add.ATensor.npy", "add.BTensor.npy", "add.npy", "join.InputTensors-0.bin", "join.InputTensors-1.bin",
            "join.bin"])
        of = lambda name: np.load(self.folder / f"golden/{name}.npy")
        self.assert_same(of("add.BTensor"), np.array([[1, 2, 3], [4, 5, 6]], "f4"))
        self.assert_same(of("add"), of("add.ATensor") + of("add.BTensor"))
        self.assertTrue((of("add.ATensor")[0] == of("add.ATensor")[1]).all())
        self.assertEqual((self.folder / "golden/join.InputTensors-1.bin").read_bytes(), np.array([3], "f4").tobytes())
        for line in self.report("r.jsonl"):
            for file in line["inputs"] + line["outputs"]:
                self.assertEqual(file["sha256"], sha256((self.folder / file["path"]).read_bytes()))
        self.assertEqual([file["tensor"] for file in self.report("r.jsonl")[0]["inputs"]], ["ATensor", "BTensor"])

    def test_raw_ones_have_the_strides_of_their_tensors(self):
        """They are of the form of the output, and fit what reads them again."""
        x = np.arange(1, 7, dtype="f4").reshape(2, 3)
        for strides, sizes, values, raw in (
                ([1, 2], [2, 3], x.tolist(), x.T), ([0, 1], [2, 3], [[1, 2, 3]] * 2, x[0]),
                ([4, 1], [2, 3], x.tolist(), np.float32([1, 2, 3, 0, 4, 5, 6])), ([1, 1], [2, 2], [[1, 2], [2, 3]], x[0])):
            for extension in ("bin", "RAW"):
                with self.subTest(strides=strides, extension=extension):
                    one = {"type": "ELEMENT_WISE_IDENTITY", "InputTensor": {"DataType": "FLOAT32", "Sizes": sizes, "Strides": strides},
                           "bindings": {"InputTensor": values, "OutputTensor": f"golden/y.{extension}"}}
                    self.manifest(one)
                    self.batch("cases.jsonl", "--inputs")
                    name = f"golden/y.InputTensor.{extension}"
                    self.assertEqual((self.folder / name).read_bytes(), np.ascontiguousarray(raw).tobytes())
                    self.manifest(one | {"bindings": one["bindings"] | {"InputTensor": name}})
                    self.assertIn("1 done", self.batch("cases.jsonl", "--check"))
                    shutil.rmtree(self.folder / "golden")

    def test_a_set_that_has_them_in_another_form_is_checked(self):
        self.manifest(self.ADD)
        self.batch("cases.jsonl", "--inputs")
        self.manifest(json.loads(json.dumps(self.ADD).replace("add.npy", "add.bin")))
        self.assertIn("1 done", self.batch("cases.jsonl", "--check", "--inputs"))
        self.save(**{"golden/add.ATensor": np.zeros((2, 3), "f4")})
        self.assertIn("golden/add.ATensor.npy is not what the line says", self.batch("cases.jsonl", "--check", "--inputs", status=1))

    def test_they_belong_to_what_is_up_to_date(self):
        self.manifest(self.ADD)
        old = (self.folder / "cases.jsonl").stat().st_mtime_ns - 10**9
        os.utime(self.folder / "cases.jsonl", ns=(old, old))
        self.assertIn("1 done", self.batch("cases.jsonl"))
        self.assertIn("1 done", self.batch("cases.jsonl", "--inputs", "--resume"))
        self.assertIn("1 up to date", self.batch("cases.jsonl", "--inputs", "--resume"))
        (self.folder / "golden/add.BTensor.npy").unlink()
        self.assertIn("1 done", self.batch("cases.jsonl", "--inputs", "--resume"))

    def test_they_are_reported_where_nothing_is_run_again(self):
        self.save(one=np.ones(2, "f4"))
        manifest = self.manifest(self.ADD, self.JOIN)
        for name in ("one.npy", manifest):
            os.utime(self.folder / name, (10, 10))
        self.batch(manifest, "--inputs", "--report", "whole.jsonl")
        self.assertIn("2 up to date", self.batch(manifest, "--inputs", "--resume", "--report", "resumed.jsonl"))
        self.assertEqual([line | {"status": "done"} for line in self.report("resumed.jsonl")],
                         self.report("whole.jsonl"))

    def test_they_go_with_the_outputs_folder(self):
        self.manifest(self.ADD)
        self.batch("cases.jsonl", "--inputs", "--output-path", "other")
        self.assertEqual(self.files(), ["cases.jsonl", "other", "other/add.ATensor.npy", "other/add.BTensor.npy",
                                        "other/add.npy", "x.npy"])

    def test_they_are_written_beside_no_device(self):
        self.manifest(copy("/dev/null", [1, 2]))
        self.batch("cases.jsonl", "--inputs")
        self.assertEqual(self.files(), ["cases.jsonl", "x.npy"])
        self.assertFalse(os.path.exists("/dev/null.InputTensor.npy"))

    def test_the_order_of_the_bindings_does_not_matter(self):
        top = {"type": "TOP_K", "Axis": 0, "K": 1, "bindings": {
            "InputTensor": [4, 1, 3], "OutputIndexTensor": "index.npy", "OutputValueTensor": "value.npy"}}
        self.save(**{"value.InputTensor": X})
        self.manifest(case("value.InputTensor.npy", "sum.npy"), top)
        self.assertIn("cases.jsonl:2: value.InputTensor.npy is read as InputTensor of line 1 and would be written as "
                      "InputTensor", self.batch("cases.jsonl", "--inputs", status=2))
        self.assert_same(self.load("value.InputTensor"), X)

    def test_they_are_written_over_nothing_else(self):
        self.save(one=np.ones(2, "f4"))
        taken = json.loads(json.dumps(self.JOIN).replace("join.bin", "add.ATensor.npy"))
        self.manifest(self.ADD, taken)
        self.assertIn("cases.jsonl:2: golden/add.ATensor.npy would be written as ATensor of line 1 and also as "
                      "OutputTensor", self.batch("cases.jsonl", "--inputs", status=2))

    def test_a_damaged_one_is_told(self):
        """A damaged input is reported wherever a device may have read it, whatever else is asked for."""
        self.manifest(self.ADD)
        self.batch("cases.jsonl", "--inputs")
        self.batch("cases.jsonl", "--inputs", "--output-path", "gpu")
        (self.folder / "gpu/add.ATensor.npy").unlink()
        (self.folder / "gpu/add.BTensor.npy").unlink()
        path = self.folder / "golden/add.BTensor.npy"
        good = path.read_bytes()
        ways = [["--check"], ["--judge"], ["--check", "--inputs"], ["--judge", "--inputs"],
                ["--judge", "--output-path", "gpu"], ["--check", "--output-path", "gpu", "--inputs"]]
        for way in ways:
            with self.subTest(way):
                path.write_bytes(good)
                self.batch("cases.jsonl", *way, "--report", "r.jsonl")
                line, = self.report("r.jsonl")
                self.assertEqual([(file["path"], file["sha256"]) for file in line["inputs"]], [
                    (f"golden/add.{name}.npy", sha256((self.folder / f"golden/add.{name}.npy").read_bytes()))
                    for name in ("ATensor", "BTensor")])
                path.write_bytes(good[:-4] + np.float32(6.5).tobytes())
                said = self.batch("cases.jsonl", *way, status=1)
                self.assertIn("cases.jsonl:1: golden/add.BTensor.npy is not what the line says of BTensor: "
                              "1 of 6 elements differ", said)
                path.write_bytes(good[:-4])
                self.assertIn("golden/add.BTensor.npy: ", self.batch("cases.jsonl", *way, status=4))
                path.unlink()
                self.assertEqual("add.BTensor.npy: is not there" in
                                 self.batch("cases.jsonl", *way, status=5 if "--inputs" in way else 0), "--inputs" in way)

    def test_no_report_is_written_over_one_that_is_compared(self):
        self.manifest(self.ADD)
        self.batch("cases.jsonl", "--inputs")
        for way in ("--check", "--judge"):
            self.assertIn("golden/add.ATensor.npy is read as ATensor and would be written as the report",
                          self.batch("cases.jsonl", way, "--report", "golden/add.ATensor.npy", status=2))


class FailureTest(BatchTest):
    BROKEN = [
        ('{"type": "REDUCE", "desc": {"Function": "SUM", "Axes": [7]}, "bindings": {"InputTensor": "x.npy", "OutputTensor": "b.npy"}}',
         3, ':57: /desc/Axes/0: axis 7 is out of range for InputTensor with 2 dimensions (InputTensor is x.npy) '
            '[RED-3]'),
        ('{"type": "REDUCE"', 3, ":18: not well-formed JSON: "),
        ("[1, 2]", 3, ":1: expected an object, found an array [DOC-1]"),
        (case("none.npy", "b.npy"), 5, missing(case("none.npy", "b.npy"), "none.npy")),
        (case("notes.txt", "b.npy"), 2, ":90: /bindings/InputTensor: notes.txt: is text; the known extensions are"),
        (case("bad.npy", "b.npy"), 4, ":90: /bindings/InputTensor: bad.npy: "),
        (case("x.npy", "b.txt"), 2, ":115: /bindings/OutputTensor: b.txt: is text; the known extensions are"),
        (case("x.npy", "x.npy/b.npy"), 5, ": x.npy: cannot be created: Not a directory"),
        (case("-", "b.npy"), 2, ": InputTensor: a case cannot use a standard stream"),
        ({"type": "REDUCE", "desc": {"Function": "SUM", "Axes": [0]}, "bindings": {"InputTensor": "x.npy"}},
         2, ": OutputTensor has no file in 'bindings'"),
        ({"type": "REDUCE", "desc": {"Function": "SUM", "Axes": [0]}, "bindings": {"OutputTensor": "b.npy"}},
         2, ": InputTensor has no file or values in 'bindings'"),
        ({"resources": {}, "dispatchables": {}, "commands": []}, 2, ": the model writes no file; "),
        (case("x.npy", "b.npy", sweep={"/desc/Function": ["MAX"]}), 2, ": a sweep, of which --expand makes cases"),
    ]

    def setUp(self):
        super().setUp()
        self.write("bad.npy", "no tensor")

    def test_a_broken_line_fails_alone(self):
        for broken, status, message in self.BROKEN:
            with self.subTest(message):
                self.manifest(case("x.npy", "a.npy"), broken, case("x.npy", "c.npy"))
                said = self.batch("cases.jsonl", "-k", "--report", "report.jsonl", status=status)
                self.assertIn("cases.jsonl:2" + message, said)
                is_case = not message.startswith(": a sweep")
                alone = "  dmlop batch cases.jsonl --line 2\n" if is_case else ""
                self.assertTrue(said.endswith(alone + "dmlop: 3 cases: 2 done, 1 failed\n"), said)
                self.assertEqual("--line" in said, is_case)
                self.assertEqual([r["status"] for r in self.report()], ["done", "failed", "done"])
                self.assertEqual(self.report()[1]["exitStatus"], status)
                self.assertIn(message.split(": ", 1)[1].removesuffix(": "), self.report()[1]["error"])
                for name in ("a", "c"):
                    self.assert_same(self.load(name), COLUMN_SUMS)
                    (self.folder / f"{name}.npy").unlink()
                self.assertFalse((self.folder / "b.npy").exists())
                self.assertEqual(list(self.folder.glob(".dmlop-*")), [])

    def test_without_keep_going_nothing_is_begun_behind_a_failure(self):
        self.manifest(*[case("x.npy", f"y{i}.npy") for i in range(50)], case("none.npy", "z.npy"),
                      *[case("x.npy", f"late{i}.npy") for i in range(3000)])
        for threads in (1, 2, 7):
            said = self.batch("cases.jsonl", "-t", threads, "--report", f"r{threads}.jsonl", status=5)
            self.assertEqual(said, f"cases.jsonl:51{missing(case('none.npy', 'z.npy'), 'none.npy')}\n"
                                   "  dmlop batch cases.jsonl --line 51\n"
                                   "dmlop: 3051 cases: 50 done, 1 failed, 3000 not begun, which --keep-going takes too\n")
        self.assertEqual(len(self.report("r1.jsonl")), 51)
        for threads in (2, 7):
            self.assertEqual(self.report("r1.jsonl"), self.report(f"r{threads}.jsonl"))
        self.assertLess(len(list(self.folder.glob("late*"))), 3000)

    def test_the_first_of_many_failures_are_told(self):
        cases = [case("x.npy" if i % 2 else f"none{i}.npy", f"y{i}.npy") for i in range(60)]
        self.manifest(*cases, name="my cases.jsonl")
        faults = [f"my cases.jsonl:{i + 1}{missing(cases[i], f'none{i}.npy')}\n" for i in range(0, 40, 2)]
        told = "".join(f"{fault}  dmlop batch 'my cases.jsonl' --line {2 * i + 1}\n" for i, fault in enumerate(faults))
        self.assertEqual(self.batch("my cases.jsonl", "-k", status=5),
                         told + "dmlop: and 10 more, which --report FILE lists\n"
                                "dmlop: 60 cases: 30 done, 30 failed\n")
        # Commands are left out, because they are not errors.
        self.assertEqual(self.batch("my cases.jsonl", "-k", "-q", "--report", "r.jsonl", status=5),
                         "".join(faults) + "dmlop: and 10 more, which the report has\n")

    def test_what_repeats_a_failure_does(self):
        self.manifest(case("x.npy", "a.npy"), case("none.npy", "b.npy"))
        said = self.batch("cases.jsonl", status=5)
        command = re.search(r"^  dmlop (.*)$", said, re.M)[1].split()
        again = self.errors_of(*command, "--no-times", status=5)
        self.assertEqual(again, f"cases.jsonl:2{missing(case('none.npy', 'b.npy'), 'none.npy')}\n"
                                "dmlop: 1 case: 1 failed\n")

    def test_what_repeats_a_failure_can_be_pasted_into_a_shell(self):
        broken = [json.dumps({"type": "ELEMENT_WISE_IDENTITY", "desc": {"InputTensor": {"DataType": "INT8", "Sizes": [2]}},
                              "bindings": {"InputTensor": {"random": "uniform", "seed": i}, "OutputTensor": f"x.npy/{i}.npy"}})
                  for i in range(2)]
        for name in ("it's $HOME \"b\" \u00e9;&.jsonl", "-k.jsonl", "two  spaces.jsonl"):
            with self.subTest(name):
                self.manifest(*broken, name=name)
                said = self.errors_of("batch", "-k", "-L", "5_0", "--no-times", "--", name, status=5)
                command = re.findall(r"^  (dmlop .*)$", said, re.M)[1]
                again = subprocess.run(["sh", "-c", f'dmlop() {{ "{DMLOP}" "$@"; }}; {command} --no-times'],
                                       cwd=self.folder, capture_output=True)
                self.assertEqual(again.returncode, 5, again.stderr)
                self.assertRegex(again.stderr.decode(), r":2: (\./)?x\.npy: cannot be created: .*\ndmlop: 1 case: 1 failed\n$")

    def test_cases_can_be_confined(self):
        (self.folder / "in").mkdir()
        self.manifest(case("a.npy", "b.npy"), case("../x.npy", "c.npy"), name="in/cases.jsonl")
        np.save(self.folder / "in/a.npy", X)
        said = self.batch("in/cases.jsonl", "-k", "--confine", "in", status=3)
        self.assertIn("in/cases.jsonl:2:90: /bindings/InputTensor: ", said)
        self.assertIn("[DOC-5]", said)
        self.assertIn("  dmlop batch in/cases.jsonl --confine in --line 2\ndmlop: 2 cases: 1 done, 1 failed\n", said)
        self.assertFalse((self.folder / "in/c.npy").exists())

    def test_quiet_says_what_failed_only(self):
        self.manifest(case("x.npy", "a.npy"))
        self.assertEqual(self.batch("cases.jsonl", "-q"), "")

    def test_bad_command_lines(self):
        self.manifest(case("x.npy", "a.npy"))
        for arguments, status, message in [
            (["none.jsonl"], 5, "none.jsonl: cannot be opened: No such file or directory"),
            (["."], 5, "Is a directory"),
            (["cases.jsonl", "--shard", "0/4"], 2, "'0/4' is not K/N"),
            (["cases.jsonl", "--shard", "5/4"], 2, "'5/4' is not K/N"),
            (["cases.jsonl", "--shard", "1/4x"], 2, "'1/4x' is not K/N"),
            (["cases.jsonl", "--shard", "1"], 2, "'1' is not K/N"),
            (["cases.jsonl", "--line", "0"], 2, "--line"),
            (["cases.jsonl", "--check", "--resume"], 2, "--check"),
            *((["cases.jsonl", *rule], 2, f"{rule[0]} needs --check or --judge") for rule in (
                ["--atol", "1"], ["--rtol", "1"], ["--ulp", "1"], ["--bits"], ["--tolerance", "webnn"])),
            (["cases.jsonl", "--expand", "--check"], 2, "--expand"),
            (["cases.jsonl", "--max-cases", "5"], 2, "--expand"),
            (["-", "--resume"], 2, "--resume needs a manifest that is a file"),
            (["cases.jsonl", "--report", "none/r.jsonl"], 5, "none/r.jsonl: cannot be created: there is no folder none"),
            (["cases.jsonl", "--report", "cases.jsonl"], 2, "cases.jsonl is read as the manifest and would be written as the report"),
            (["cases.jsonl", "--report", "a.npy"], 2, "cases.jsonl:1: a.npy would be written as the report and also as OutputTensor"),
            (["cases.jsonl", "--report", "x.npy"], 2, "cases.jsonl:1: x.npy is read as InputTensor and would be written as the report"),
        ]:
            with self.subTest(arguments):
                self.assertIn(message, self.batch(*arguments, status=status))
                self.assertEqual(self.files(), ["bad.npy", "cases.jsonl", "x.npy"])


class ConflictTest(BatchTest):
    def test_files_that_cases_share_are_found_before_anything_runs(self):
        os.symlink("a.npy", self.folder / "link.npy")
        for cases, message in [
            ([case("x.npy", "a.npy"), case("x.npy", "b.npy"), case("x.npy", "./a.npy")],
             "cases.jsonl:3: a.npy would be written as OutputTensor of line 1 and also as OutputTensor (./a.npy)"),
            ([case("x.npy", "a.npy"), case("x.npy", "link.npy")],
             "cases.jsonl:2: a.npy would be written as OutputTensor of line 1 and also as OutputTensor (link.npy)"),
            ([case("x.npy", "x.npy"), case("x.npy", "b.npy")],
             "cases.jsonl:2: x.npy is read as InputTensor and would be written as OutputTensor of line 1"),
            ([case("x.npy", "a.npy"), case("x.npy", "b.npy"), copy("x.npy", [1])],
             "cases.jsonl:3: x.npy is read as InputTensor of line 1 and would be written as OutputTensor"),
            ([{"type": "SPLIT", "desc": {"Axis": 0}, "bindings": {
                "InputTensor": "x.npy", "OutputTensors": ["a.npy", "b.npy", "a.npy"]}}],
             "cases.jsonl:1: a.npy would be written as OutputTensors[0] and also as OutputTensors[2]"),
        ]:
            with self.subTest(message):
                self.manifest(*cases)
                self.assertIn(message, self.batch("cases.jsonl", "-k", status=2))
                self.assertEqual(self.files(), ["cases.jsonl", "link.npy", "x.npy"])

    def test_inputs_whose_names_begin_as_those_of_outputs(self):
        one = {"DataType": "FLOAT32", "Sizes": [1]}
        quantized = {"DataType": "UINT8", "Sizes": [1]}
        np.save(self.folder / "s.npy", np.ones(1, "f4"))
        cases = [{"type": "ELEMENT_WISE_QUANTIZED_LINEAR_ADD",
                  "desc": {"ATensor": quantized, "AScaleTensor": one, "BTensor": quantized, "BScaleTensor": one,
                           "OutputScaleTensor": one, "OutputTensor": quantized},
                  "bindings": {"ATensor": [i], "AScaleTensor": [1], "BTensor": [2], "BScaleTensor": [1],
                               "OutputScaleTensor": "s.npy" if i < 2 else ["nan"], "OutputTensor": f"{i}.npy"}}
                 for i in range(4)]
        self.manifest(*cases)
        self.assertEqual(self.batch("cases.jsonl"), "dmlop: 4 cases: 4 done\n")
        self.assertEqual([self.load(i)[0] for i in range(2)], [2, 3])

    def test_a_case_may_write_over_its_own_input(self):
        self.save(own=X)
        self.manifest(case("own.npy", "own.npy"))
        self.batch("cases.jsonl")
        self.assert_same(self.load("own"), COLUMN_SUMS)

    def test_cases_may_share_devices_and_inputs(self):
        self.manifest(case("x.npy", "/dev/null"), case("x.npy", "/dev/null"))
        self.assertEqual(self.batch("cases.jsonl"), "dmlop: 2 cases: 2 done\n")

    def test_a_hard_link_is_the_same_file(self):
        self.manifest(case("x.npy", "a.npy"), copy("b.npy", [1, 2, 3]))
        os.link(self.folder / "x.npy", self.folder / "b.npy")
        self.assertIn("cases.jsonl:2: x.npy is read as InputTensor of line 1 and would be written as OutputTensor (b.npy)",
                      self.batch("cases.jsonl", status=2))
        os.unlink(self.folder / "b.npy")
        os.link(self.folder / "x.npy", self.folder / "a.npy")
        self.assertEqual(self.batch("cases.jsonl"), "dmlop: 2 cases: 2 done\n")
        self.assert_same(self.load("x"), X)  # replacing one name leaves the other unchanged
        self.assert_same(self.load("a"), COLUMN_SUMS)

    def test_a_check_writes_nothing(self):
        self.manifest(case("x.npy", "a.npy"))
        self.batch("cases.jsonl")
        self.manifest(case("x.npy", "a.npy"), case("x.npy", "a.npy"))
        self.assertEqual(self.batch("cases.jsonl", "--check"), "dmlop: 2 cases: 2 done\n")


class CheckTest(BatchTest):
    def setUp(self):
        super().setUp()
        self.manifest(case("x.npy", "a.npy"), copy("b.npy", [1, 2, 3]), case("x.npy", "c.bin"))
        self.batch("cases.jsonl")

    def test_equal_outputs_pass(self):
        before = {name: (self.folder / name).stat().st_mtime_ns for name in self.files()}
        self.assertEqual(self.batch("cases.jsonl", "--check"), "dmlop: 3 cases: 3 done\n")
        self.assertEqual(before, {name: (self.folder / name).stat().st_mtime_ns for name in self.files()})

    def test_a_difference_is_told(self):
        self.save(b=np.array([1, np.nextafter(np.float32(2), np.float32(3)), 3], "f4"))
        said = self.batch("cases.jsonl", "--check", "-k", "--report", "report.jsonl", status=1)
        fault = "cases.jsonl:2: OutputTensor differs from b.npy: "
        self.assertTrue(said.startswith(fault), said)
        self.assertIn("\n  dmlop batch cases.jsonl --check --line 2\n", said)
        self.assertTrue(said.endswith("dmlop: 3 cases: 2 done, 1 different\n"), said)
        different = self.report()[1]
        self.assertEqual((different["status"], different["exitStatus"]), ("different", 1))
        self.assertEqual(different["comparisons"][0]["sha256"], sha256((self.folder / "b.npy").read_bytes()))
        alone = self.batch("cases.jsonl", "--check", "--line", 2, status=1)
        self.assertTrue(alone.startswith(fault), alone)
        self.assertIn("ULP", alone)
        for tolerance in (["--ulp", "1"], ["--atol", "1e-6"], ["--rtol", "1e-6"]):
            self.batch("cases.jsonl", "--check", *tolerance)
        self.batch("cases.jsonl", "--check", "--bits", status=1)

    def test_elements_of_4_bits_are_judged_as_files_have_them(self):
        """As integers of 8 bits, with all that these hold."""
        self.save(x=np.array([-3, 2, 7], "f4"), scale=np.array([1], "f4"))
        self.manifest({"type": "QUANTIZE", "bindings": {"InputTensor": "x.npy", "QuantizationTensors": ["scale.npy"], "OutputTensor": "q.npy"},
                       "desc": {"InputTensor": {"DataType": "FLOAT32", "Sizes": [3]}, "QuantizationType": "SCALE",
                                "QuantizationTensors": [{"DataType": "FLOAT32", "Sizes": [1]}], "OutputTensor": {"DataType": "INT4", "Sizes": [3]}}})
        self.batch("cases.jsonl")
        np.testing.assert_array_equal(np.load(self.folder / "q.npy"), np.array([-3, 2, 7], "i1"))
        for side in ("--check", "--judge"):
            self.batch("cases.jsonl", side, "--bits")
        for wrong in (np.array([-3, 2, 6], "i1"), np.array([-3, 2, 23], "i1"), np.array([-3, 2, 7], "i2")):
            self.save(q=wrong)
            self.batch("cases.jsonl", "--judge", status=1)

    def test_a_missing_output_fails(self):
        (self.folder / "a.npy").unlink()
        said = self.batch("cases.jsonl", "--check", "-k", status=5)
        self.assertIn("cases.jsonl:1: a.npy for OutputTensor: the file is missing", said)
        self.assertFalse((self.folder / "a.npy").exists())


class PassTest(BatchTest):
    def setUp(self):
        super().setUp()
        self.save(gpu=X.max(0, keepdims=True))
        self.manifest(*[case("x.npy", "gpu.npy", {"Function": function, "Axes": [0]}, name=function)
                        for function in ("SUM", "MIN", "MAX", "L2")])

    def test_the_one_that_passes_among_many_is_told(self):
        passes = "cases.jsonl:3: MAX: OutputTensor and gpu.npy agree: 3 elements, largest ULP error 0"
        said = self.batch("cases.jsonl", "--judge", "-k", status=1)
        self.assertIn(f"{passes}; allowed: ", said)
        self.assertTrue(said.endswith("dmlop: 4 cases: 1 done, 3 different\n"), said)
        self.assertEqual(self.batch("cases.jsonl", "--judge", "-k", "-v", status=1).count(passes), 1)
        self.assertNotIn(passes, self.batch("cases.jsonl", "--judge", "-k", "-q", status=1))
        self.assertNotIn(passes, self.batch("cases.jsonl", "--judge", status=1))

    def test_verbose_lists_all_that_pass(self):
        self.manifest(*[case("x.npy", f"{i}.npy") for i in range(30)])
        self.assertEqual(self.batch("cases.jsonl", "-v").count(": done\n"), 30)
        self.assertEqual(self.batch("cases.jsonl", "--check", "-v").count(" agree: 3 elements, "), 30)

    def test_a_file_of_another_form_stands_for_one_that_is_not_there(self):
        """Raw files are read as the descriptor says; here the rows are 4 elements apart."""
        wide = {"DataType": "FLOAT32", "Sizes": [3, 3], "Strides": [4, 1]}
        line = {"type": "ELEMENT_WISE_IDENTITY", "InputTensor": wide, "OutputTensor": wide,
                "bindings": {"InputTensor": "x.npy", "OutputTensor": "out.npy"}}
        self.manifest(line)
        rows = np.zeros((3, 4), "f4")
        rows[:, :3] = X
        for name, data in (("out.bin", rows.tobytes()[:-4]), ("out.raw", rows.tobytes()[:-4])):
            for way in ("--check", "--judge"):
                with self.subTest(name, way=way):
                    (self.folder / name).write_bytes(data)
                    self.batch("cases.jsonl", way, "--report", "r.jsonl")
                    self.assertEqual(self.report("r.jsonl")[0]["comparisons"][0]["path"], name)
                    (self.folder / name).write_bytes(bytes(4) + data[4:])
                    self.assertIn(name, self.batch("cases.jsonl", way, status=1))
                    self.assertIn(f"{name} is read as the ", self.batch("cases.jsonl", way, "--report", name, status=2))
                    (self.folder / name).unlink()
        self.assertIn("out.npy for OutputTensor: the file is missing", self.batch("cases.jsonl", "--judge", status=5))
        self.manifest(json.loads(json.dumps(line).replace("out.npy", "out.bin")))
        self.save(out=X)
        self.batch("cases.jsonl", "--judge")


class WarningTest(BatchTest):
    LINE = {"type": "GATHER", "InputTensor": {"DataType": "FLOAT32", "Sizes": [1, 4]},
            "IndicesTensor": {"DataType": "INT32", "Sizes": [2, 2]}, "OutputTensor": {"DataType": "FLOAT32", "Sizes": [2, 2]},
            "Axis": 1, "IndexDimensions": 2,
            "bindings": {"InputTensor": [[1, 2, 3, 4]], "IndicesTensor": [[0, -1], [-5, 7]], "OutputTensor": "y.npy"}}
    WARNING = "/IndicesTensor: 2 of 4 indices are out of range and clamped; the first is -5 at [1, 0]; such elements judge no device [IDX-5]"

    def test_values_are_warned_of_as_in_run(self):
        self.manifest("// one", self.LINE)
        of_run = self.errors_of("run", "cases.jsonl", "--line", 2).splitlines()[0]
        self.assertIn(f"warning: {self.WARNING}", of_run)
        for way in ([], ["--check"], ["--judge"]):
            with self.subTest(way):
                said = self.batch("cases.jsonl", *way, "--report", "r.jsonl")
                self.assertIn(f"{of_run}\n", said)
                self.assertEqual(self.report("r.jsonl")[0]["warnings"], [self.WARNING])
                self.assertEqual(self.batch("cases.jsonl", *way, "-q"), "")
        self.run_program("run", "cases.jsonl", "--line", 2, "--judge", "y.npy", "--report", "run.json")
        self.assertEqual(json.loads((self.folder / "run.json").read_text())["warnings"], [self.WARNING])

    def test_the_first_of_many_are_told(self):
        line = json.dumps(self.LINE)
        self.manifest(*[line.replace("y.npy", f"{i}.npy") for i in range(30)])
        said = self.batch("cases.jsonl")
        self.assertEqual(said.count("[IDX-5]"), 20)
        self.assertIn("dmlop: and 10 more warnings, which --report FILE lists\n", said)


class InterruptionTest(BatchTest):
    """An interrupted batch leaves a report of what it has done, and says how to continue."""

    def start_and_stop(self, number, *options, cases=40):
        """Runs cases before one that waits for a reader of its output."""
        os.mkfifo(self.folder / "wait.npy")
        self.manifest(*[case("x.npy", f"y{i}.npy") for i in range(cases)], case("x.npy", "wait.npy"),
                      *[case("x.npy", f"z{i}.npy") for i in range(cases)])
        process = subprocess.Popen([DMLOP, "batch", "cases.jsonl", "-t", "1", "--report", "r.jsonl", *options],
                                   cwd=self.folder, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while not (self.folder / f"y{cases - 1}.npy").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1)
        process.send_signal(number)
        return process.communicate(timeout=60)[1].decode(), process.returncode

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number):
                (self.folder / "r.jsonl").write_text("old")
                said, status = self.start_and_stop(number)
                (self.folder / "wait.npy").unlink()
                self.assertEqual(status, -number, said)
                self.assertEqual([line["line"] for line in self.report("r.jsonl")], list(range(1, 41)))
                self.assertEqual([line["status"] for line in self.report("r.jsonl")], ["done"] * 40)
                if number != signal.SIGKILL:
                    self.assertEqual(said, "dmlop: interrupted: 40 of 81 cases have ended; the same command with "
                                           "--resume goes on\n")
                for i in range(40):
                    (self.folder / f"y{i}.npy").unlink()

    def test_a_report_keeps_what_a_file_has(self):
        self.manifest(case("x.npy", "y.npy"))
        (self.folder / "real.jsonl").write_text("old")
        os.chmod(self.folder / "real.jsonl", 0o600)
        os.symlink("real.jsonl", self.folder / "r.jsonl")
        self.batch("cases.jsonl", "--report", "r.jsonl")
        self.assertTrue((self.folder / "r.jsonl").is_symlink())
        self.assertEqual((self.folder / "real.jsonl").stat().st_mode & 0o777, 0o600)
        self.assertEqual(len(self.report("real.jsonl")), 1)
        os.chmod(self.folder / "real.jsonl", 0o600)
        self.batch("none.jsonl", "--report", "r.jsonl", status=5)
        self.assertEqual(len(self.report("real.jsonl")), 1)


class EndlessTest(BatchTest):
    """Manifests from a pipe are judged as they come."""

    def feed(self, text, *options):
        """The result for an endless stream that begins with a text and repeats its last line."""
        *lines, last = text.splitlines()
        script = f"{{ printf %s \"$FIRST\"; exec yes \"$LAST\"; }} | {DMLOP} batch - --no-times {' '.join(options)}"
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, capture_output=True, timeout=120,
                              env=os.environ | {"FIRST": "".join(line + "\n" for line in lines), "LAST": last})
        return done.returncode, done.stderr.decode()

    def test_a_line_that_cannot_be_a_case_ends_them(self):
        good = json.dumps(copy("a.npy", [1, 2]))
        for last in ("y", "{}", '{"type": "REDUCEE"}'):
            with self.subTest(last):
                status, said = self.feed(f"// a comment\n{good}\n{last}")
                self.assertIn("<standard input>:3", said)
                self.assertIn("dmlop: 2 cases: 1 done, 1 failed\n", said)
                self.assertIn(status, (2, 3))
                self.assert_same(self.load("a"), np.array([1, 2], "f4"))

    def test_what_is_longer_than_a_document_ends_them_always(self):
        for options in ([], ["-k"]):
            said = self.batch("/dev/zero", *options, status=3)
            self.assertIn("the document has more than 67108864 bytes", said)
            self.assertIn("dmlop: 1 case: 1 failed\n", said)

    def test_no_more_is_kept_than_there_may_be(self):
        status, said = self.feed("// nothing")
        self.assertEqual(status, 2, said)
        self.assertIn("a manifest that is no file may have 268435456 bytes; write it to a file", said)


class ExpectTest(BatchTest):
    def expecting(self, values, type="FLOAT32", name="one", **bindings):
        tensor = {"DataType": type, "Sizes": [2, 2]}
        return {"name": name, "type": "ELEMENT_WISE_IDENTITY", "desc": {"InputTensor": tensor},
                "bindings": {"InputTensor": {"valueStart": 1, "valueDelta": 1}} | bindings,
                "expect": {"OutputTensor": values}}

    def test_values_in_any_form(self):
        forms = [[[1, 2], [3, 4]], [1, 2, 3, 4], {"valueStart": 1, "valueDelta": 1}]
        self.manifest(*[self.expecting(form) for form in forms])
        self.batch("cases.jsonl", "--check", "--bits", "--report", "report.jsonl")
        for case in self.report():
            self.assertEqual((case["name"], case["status"], case["outputs"]), ("one", "done", []))
        self.assertEqual(self.files(), ["cases.jsonl", "report.jsonl", "x.npy"])

    def test_a_difference_is_told_by_name(self):
        self.manifest(self.expecting([1, 2, 3, 5]), self.expecting({"value": 1}, name="two"))
        said = self.batch("cases.jsonl", "--check", "-k", status=1)
        self.assertIn("cases.jsonl:1: one: OutputTensor differs from what the case expects: "
                      "1 of 4 elements differ in [1, 1]\n", said)
        self.assertIn("cases.jsonl:2: two: OutputTensor differs", said)
        self.batch("cases.jsonl", "--check", "--atol", "1", "--line", "1")

    def test_bits_tell_zeros_and_nan_apart(self):
        zeros = self.expecting([0, 0, 0, -0.0]) | {"bindings": {"InputTensor": {"value": 0}}}
        self.manifest(zeros)
        self.batch("cases.jsonl", "--check")
        self.batch("cases.jsonl", "--check", "--bits", status=1)
        np.save(self.folder / "nan.npy", np.array([0x7FC00001], "u4").view("f4"))
        nan = {"type": "ELEMENT_WISE_IDENTITY", "bindings": {"InputTensor": "nan.npy"},
               "expect": {"OutputTensor": ["nan"]}}
        self.manifest(nan)
        self.batch("cases.jsonl", "--check")
        self.batch("cases.jsonl", "--check", "--bits", status=1)

    def test_only_some_outputs_are_expected(self):
        self.save(second=np.array([3, 4], "f4"))
        split = {"type": "SPLIT", "Axis": 0, "OutputCount": 2,
                 "InputTensor": {"DataType": "FLOAT32", "Sizes": [4]},
                 "bindings": {"InputTensor": [1, 2, 3, 4], "OutputTensors": [None, "second.npy"]},
                 "expect": {"OutputTensors": [[1, 2]]}}
        self.manifest(split)
        self.batch("cases.jsonl", "--check", "--bits")
        self.save(second=np.array([3, 5], "f4"))
        self.assertIn("OutputTensors[1] differs from second.npy",
                      self.batch("cases.jsonl", "--check", "--bits", status=1))
        del split["bindings"]["OutputTensors"]
        self.manifest(split)
        self.assertIn("OutputTensors[1] has no file in 'bindings'",
                      self.batch("cases.jsonl", "--check", status=2))

    def test_what_is_expected_is_preferred_to_a_file(self):
        self.manifest(self.expecting([1, 2, 3, 4], OutputTensor="out.npy"))
        self.batch("cases.jsonl", "--check")
        self.batch("cases.jsonl")
        self.assert_same(self.load("out"), np.array([[1, 2], [3, 4]], "f4"))
        self.manifest(self.expecting([1, 2, 3, 5], OutputTensor="out.npy"))
        self.batch("cases.jsonl", "--check", status=1)

    def test_without_a_check_outputs_are_bound(self):
        self.manifest(self.expecting([1, 2, 3, 4]))
        self.assertIn("OutputTensor has no file in 'bindings'", self.batch("cases.jsonl", status=2))

    def test_expectations_that_do_not_fit(self):
        for expect, fault in [
            ({"OutputTensor": [1, 2, 3]}, "/expect/OutputTensor: the array has 3 values; expected 4 [DOC-4]"),
            ({"OutputTensor": [[1, 2], [3, "x"]]}, "/expect/OutputTensor/1/1: 'x' is not"),
            ({"OutputTensor": "x.npy"}, "/expect/OutputTensor: expected values or an initializer, found a string [DOC-1]"),
            ({"InputTensor": [1, 2, 3, 4]}, "/expect/InputTensor: 'InputTensor' is not a known"),
            ([1], "/expect: expected an object"),
        ]:
            with self.subTest(expect):
                self.manifest(self.expecting([1, 2, 3, 4]) | {"expect": expect})
                self.assertIn(fault, self.batch("cases.jsonl", "--check", status=3))


class ResumeTest(BatchTest):
    def test_newer_outputs_are_skipped(self):
        self.save(other=X)
        manifest = self.manifest(case("x.npy", "a.npy"), case("other.npy", "b.npy"), copy("c.npy", [1]))
        for name, second in [("x.npy", 10), ("other.npy", 10), (manifest, 20)]:
            os.utime(self.folder / name, (second, second))
        self.assertEqual(self.batch(manifest, "--resume"), "dmlop: 3 cases: 3 done\n")
        whole = self.batch(manifest, "--report", "whole.jsonl")
        self.assertEqual(whole, "dmlop: 3 cases: 3 done\n")
        said = self.batch(manifest, "--resume", "--report", "resumed.jsonl")
        self.assertEqual(said, "dmlop: 3 cases: 3 up to date\n")
        self.assertEqual([line | {"status": "done"} for line in self.report("resumed.jsonl")],
                         self.report("whole.jsonl"))
        later = (self.folder / "b.npy").stat().st_mtime + 100
        os.utime(self.folder / "other.npy", (later, later))
        (self.folder / "c.npy").unlink()
        self.assertEqual(self.batch(manifest, "--resume"), "dmlop: 3 cases: 2 done, 1 up to date\n")
        os.utime(self.folder / manifest, (later, later))
        self.assertEqual(self.batch(manifest, "--resume"), "dmlop: 3 cases: 3 done\n")


    def test_a_device_is_never_up_to_date(self):
        manifest = self.manifest(case("x.npy", "/dev/null"), case("x.npy", "a.npy"))
        for name in ("x.npy", manifest):
            os.utime(self.folder / name, (10, 10))
        self.assertEqual(self.batch(manifest), "dmlop: 2 cases: 2 done\n")
        self.assertEqual(self.batch(manifest, "--resume"), "dmlop: 2 cases: 1 done, 1 up to date\n")


class SameEverywhereTest(BatchTest):
    def cases(self, count):
        functions = ["SUM", "MAX", "L2", "ARGMIN", "AVERAGE"]
        return [case("x.npy" if i % 11 else "none.npy", f"out/y{i}.npy",
                     {"Function": functions[i % 5], "Axes": [i % 2]}) for i in range(count)]

    def test_reports_do_not_depend_on_threads(self):
        (self.folder / "out").mkdir()
        self.manifest(*self.cases(400))
        reports = []
        for threads in (1, 2, 5):
            said = self.batch("cases.jsonl", "-k", "-t", threads, "--report", "report.jsonl", status=5)
            reports.append((said, (self.folder / "report.jsonl").read_bytes()))
        self.assertEqual(reports[0], reports[1])
        self.assertEqual(reports[0], reports[2])

    def test_shards_cover_the_manifest(self):
        (self.folder / "out").mkdir()
        self.manifest(*self.cases(50))
        self.batch("cases.jsonl", "-k", "--report", "whole.jsonl", status=5)
        merged = []
        for k in (1, 2, 3):
            self.batch("cases.jsonl", "-k", "--shard", f"{k}/3", "--report", f"part{k}.jsonl", status=5)
            part = (self.folder / f"part{k}.jsonl").read_text().splitlines()
            self.assertEqual([json.loads(line)["line"] for line in part], list(range(k, 51, 3)))
            merged += part
        self.assertIn("0 cases", self.batch("cases.jsonl", "--shard", "51/51"))
        merged.sort(key=lambda line: json.loads(line)["line"])
        self.assertEqual(merged, (self.folder / "whole.jsonl").read_text().splitlines())

    @unittest.skipIf(b"libasan" in pathlib.Path(DMLOP).read_bytes(), "the sanitizer keeps what is freed")
    def test_memory_does_not_grow_with_the_cases(self):
        peaks = []
        for count in (5000, 40000):
            name = self.manifest(*[copy("/dev/null", [[i, 2], [3, 4]]) for i in range(count)])
            # Measured from a small process, because a child inherits its parent's peak.
            measured = subprocess.run(
                [sys.executable, "-c", "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
                 "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)",
                 DMLOP, "batch", name, "-t", "2", "-q", "--report", "/dev/null"],
                cwd=self.folder, capture_output=True, check=True)
            peaks.append(int(measured.stdout) << 10)
        self.assertLess(peaks[1], peaks[0] + (4 << 20), peaks)


class ProgressTest(BatchTest):
    def test_progress_is_drawn_on_a_terminal_only(self):
        # Each case computes the norm of 8 MiB of generated values.
        line = {"type": "REDUCE", "desc": {"Function": "L2", "Axes": [0, 1], "InputTensor": {
            "DataType": "FLOAT32", "Sizes": [1024, 2048]}},
            "bindings": {"InputTensor": {"random": "uniform", "seed": 1}, "OutputTensor": "/dev/null"}}
        failure = case("none.npy", "/dev/null")
        command = [DMLOP, "batch", self.manifest(*[line] * 40, failure), "-k", "-t", "1"]
        piped = subprocess.run(command, cwd=self.folder, stderr=subprocess.PIPE)
        self.assertNotIn(b"\x1b", piped.stderr)
        self.assertNotIn(b"%", piped.stderr)
        environment = os.environ | {"COLUMNS": "100"}
        for count in (40, 160, 640, 2560):  # progress is shown after a second
            self.manifest(*[line] * count, failure)
            screen, end = pty.openpty()
            process = subprocess.Popen(command, cwd=self.folder, stderr=end, env=environment)
            os.close(end)
            drawn = read_screen(screen).decode()
            process.wait()
            if "s left" in drawn:
                break
        self.assertRegex(
            drawn, rf"batch: \d+%  \d+ of {count + 1} cases  \d failed  \d+ cases/s  \d+ s left")
        self.assertRegex(
            drawn, rf"\r\x1b\[K[^\x1b]*dmlop: {count + 1} cases in .*: {count} done, 1 failed\r\n$")


if __name__ == "__main__":
    unittest.main()
