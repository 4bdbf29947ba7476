# SPDX-License-Identifier: Apache-2.0
"""A command must not write what it reads: tests each pair of its files, with each way to name one file twice."""

import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import COPY, DMLOP, X, ProgramTest, start

QUICK = ["--min-time", "1ms", "--cache", "hot", "-t", "1"]
TENSOR = {"DataType": "FLOAT32", "Sizes": [3, 3]}
SPLIT = {"type": "SPLIT", "Axis": 0, "OutputCount": 3}
SAME, DOTTED, SYMBOLIC, HARD = "the same path", "another spelling", "a symbolic link", "a hard link"


class Command:
    """A command line with files in roles. `line` turns {role: path} into the arguments and the text of the documents
    by role."""

    def __init__(self, name, reads, writes, line, in_place=()):
        self.name, self.reads, self.writes, self.line, self.in_place = name, reads, writes, line, in_place

    def paths(self):
        return {role: f"{i}{'.png' if role == 'the picture' else '.npy'}"
                for i, role in enumerate([*self.reads, *self.writes])}

    def pairs(self):
        """The pairs of roles that exclude each other."""
        for first, second in itertools.chain(itertools.product(self.reads, self.writes),
                                             itertools.combinations(self.writes, 2)):
            if (first, second) not in self.in_place:
                yield first, second


def run(p):
    outputs = [f"OutputTensors[{i}]={p[f'OutputTensors[{i}]']}" for i in (0, 1)]
    return (["run", p["the descriptor"], "-i", p["InputTensor"], "-o", outputs[0], "-o", outputs[1], "-e",
             f"OutputTensors[2]={p['the expected file of OutputTensors[2]']}", "--report", p["the report"]],
            {"the descriptor": SPLIT})


def bound_run(p):
    bindings = {"InputTensor": p["InputTensor"],
                "OutputTensors": [p["OutputTensors[0]"], p["OutputTensors[1]"], "left-alone.npy"]}
    return (["run", p["the descriptor"], "-e", f"OutputTensors[2]={p['the expected file of OutputTensors[2]']}",
             "--report", p["the report"]], {"the descriptor": SPLIT | {"bindings": bindings}})


def model(p):
    buffer = {"initialValuesDataType": "FLOAT32"}
    return (["run", p["the model"], "--report", p["the report"]], {"the model": {
        "resources": {"x": buffer | {"initialValues": {"sourcePath": p["resource 'x'"]}},
                      "y": buffer | {"initialValues": {"valueCount": 9, "value": 0}},
                      "z": buffer | {"initialValues": {"valueCount": 9, "value": 0}}},
        "dispatchables": {"copy": {"type": "ELEMENT_WISE_IDENTITY",
                                   "desc": {"InputTensor": TENSOR, "OutputTensor": TENSOR}}},
        "commands": [{"type": "dispatch", "dispatchable": "copy",
                      "bindings": {"InputTensor": "x", "OutputTensor": name}} for name in "yz"] +
                    [{"type": "writeFile", "resource": name, "targetPath": p[f"resource '{name}'"],
                      "dimensions": [3, 3]} for name in "yz"]}})


def case(source, target):
    return json.dumps(json.loads(COPY) | {"bindings": {"InputTensor": source, "OutputTensor": target}})


def batch(*options):
    def line(p):
        lines = [case(p[of(1)], p[to(1)]), case(p[of(2)], p[to(2)])]
        return ["batch", p["the manifest"], "--report", p["the report"], *options], {"the manifest": "\n".join(lines)}
    of = "InputTensor of line {}".format
    kind = {"--check": "the expected file of ", "--judge": "the judged file of "}.get("".join(options), "")
    to = (kind + "OutputTensor of line {}").format
    return line


def bench(p):
    return (["bench", p["the descriptor"], "--format", "table", "-i", p["InputTensor"], "--baseline", p["the baseline"], "-o",
             p["the results"], *QUICK], {"the descriptor": COPY, "the baseline": None})


COMMANDS = [
    Command("run", ["the descriptor", "InputTensor", "the expected file of OutputTensors[2]"],
            ["OutputTensors[0]", "OutputTensors[1]", "the report"], line,
            [("InputTensor", f"OutputTensors[{i}]") for i in (0, 1)])
    for line in (run, bound_run)
] + [
    Command("run", ["the model", "resource 'x'"], ["resource 'y'", "resource 'z'", "the report"], model,
            [("resource 'x'", "resource 'y'"), ("resource 'x'", "resource 'z'")]),
    Command("batch", ["the manifest", "InputTensor of line 1", "InputTensor of line 2"],
            ["OutputTensor of line 1", "OutputTensor of line 2", "the report"], batch(),
            [(f"InputTensor of line {i}", f"OutputTensor of line {i}") for i in (1, 2)]),
    Command("batch", ["the manifest", *(f"{what} of line {i}" for i in (1, 2) for what in (
        "InputTensor", "the expected file of OutputTensor"))], ["the report"], batch("--check")),
    Command("batch", ["the manifest", *(f"{what} of line {i}" for i in (1, 2) for what in (
        "InputTensor", "the judged file of OutputTensor"))], ["the report"], batch("--judge")),
    Command("bench", ["the descriptor", "InputTensor", "the baseline"], ["the results"], bench),
    Command("show", ["the tensor"], ["the picture"], lambda p: (
        ["show", p["the tensor"], "--map", "-o", p["the picture"]], {})),
    Command("compare", ["the actual tensor", "the expected tensor"], ["the picture"], lambda p: (
        ["compare", p["the actual tensor"], p["the expected tensor"], "-o", p["the picture"]], {})),
    Command("report", ["a report"], ["the output"], lambda p: (
        ["report", p["a report"], "-o", p["the output"]], {"a report": {"line": 1, "status": "done"}})),
]


class RolesTest(ProgramTest):
    def fill(self, command, folder, paths):
        """Creates the files that the command reads."""
        _, documents = command.line(paths)
        for role in command.reads:
            path = folder / paths[role]
            if role not in documents:
                np.save(path, X[2:] if role.startswith("the expected file of OutputTensors") else X)
            elif documents[role] is None:
                path.write_bytes(self.baseline())
            else:
                text = documents[role]
                path.write_text(text if isinstance(text, str) else json.dumps(text))

    def baseline(self):
        if not hasattr(self, "measured"):
            self.save(x=X)
            self.measured = self.run_program("bench", COPY, "-i", "x.npy", *QUICK, "--format", "json").stdout
        return self.measured

    @staticmethod
    def snapshot(folder):
        return {p.name: os.readlink(p) if p.is_symlink() else p.read_bytes() for p in folder.iterdir()}

    def with_one_file(self, command, first, second, way, folder):
        """The paths of the files, two of which are the same file; None if a path cannot be both."""
        paths = command.paths()
        if way in (SAME, DOTTED):
            if "the picture" in (first, second):
                return None
            paths[second] = paths[first] if way == SAME else f"./{paths[first]}"
        else:
            paths[second] = f"link{pathlib.Path(paths[second]).suffix}"
        self.fill(command, folder, paths)
        if way == SYMBOLIC:
            (folder / paths[second]).symlink_to(paths[first])
        elif way == HARD:
            if first in command.writes:
                (folder / paths[first]).write_bytes(b"old")
            os.link(folder / paths[first], folder / paths[second])
        return paths

    def test_no_file_has_two_roles(self):
        count = 0
        for command in COMMANDS:
            for (first, second), way in itertools.product(command.pairs(), (SAME, DOTTED, SYMBOLIC, HARD)):
                with self.subTest(command=command.name, first=first, second=second, way=way), \
                        tempfile.TemporaryDirectory() as name:
                    folder = pathlib.Path(name)
                    paths = self.with_one_file(command, first, second, way, folder)
                    if paths is None:
                        continue
                    before = self.snapshot(folder)
                    done = start(command.line(paths)[0], cwd=folder)
                    self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)
                    said = done.stderr.decode()
                    verb = "would be written" if first in command.writes else "is read"
                    for role in (first, second):
                        self.assertIn(f" as {role.partition(' of line ')[0]}", said)
                    self.assertIn(verb, said)
                    self.assertIn(paths[first], said)
                    self.assertEqual(self.snapshot(folder), before)
                    count += 1
        self.assertGreater(count, 150)

    def test_a_run_and_a_case_write_over_their_own_inputs(self):
        for command in COMMANDS:
            for first, second in command.in_place:
                for way in (SAME, DOTTED, SYMBOLIC, HARD):
                    with self.subTest(command=command.name, first=first, second=second, way=way), \
                            tempfile.TemporaryDirectory() as name:
                        folder = pathlib.Path(name)
                        paths = self.with_one_file(command, first, second, way, folder)
                        done = start(command.line(paths)[0], cwd=folder)
                        self.assertEqual(done.returncode, 0, done.stderr)

    def test_separate_files_are_used(self):
        for command in COMMANDS:
            with self.subTest(command.name), tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                self.fill(command, folder, command.paths())
                done = start(command.line(command.paths())[0], cwd=folder)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual({p.name for p in folder.iterdir()}, set(command.paths().values()))

    def test_standard_input_may_be_a_file(self):
        self.save(x=X)
        self.write("cases.jsonl", case("x.npy", "y.npy"))
        before = self.snapshot(self.folder)
        for arguments, source in ((["run", COPY, "-i", "-", "-o", "y.npy", "--report", "x.npy"], "x.npy"),
                                  (["batch", "-", "--report", "cases.jsonl"], "cases.jsonl")):
            with self.subTest(arguments), open(self.folder / source, "rb") as stdin:
                done = subprocess.run([DMLOP, *arguments], cwd=self.folder, stdin=stdin, capture_output=True)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(b"standard input is read as", done.stderr)
                self.assertEqual(self.snapshot(self.folder), before)

    def test_no_other_command_writes_files(self):
        listed = start(["--help"]).stdout.decode().split("Subcommands:")[1]
        for name in (line.split()[0] for line in listed.splitlines() if line.startswith("  ")):
            said = start([name, "--help"]).stdout.decode().split("Examples:")[0]
            writes = any(f"{option} FILE" in said for option in ("--report", "--output")) or "--output [NAME=]FILE" in said
            self.assertEqual(writes, name in {"fuzz"} | {command.name for command in COMMANDS}, name)  # fuzz has its test


class ComparedTest(ProgramTest):
    """A comparison does not write the outputs that the document binds, but those that -o names."""

    def setUp(self):
        super().setUp()
        self.save(x=X, gold=np.zeros((1, 3), "f4"))
        self.write("bound.json", {"type": "REDUCE", "Function": "SUM", "Axes": [0],
                                  "bindings": {"InputTensor": "x.npy", "OutputTensor": "gold.npy"}})
        self.write("split.json", SPLIT | {"bindings": {
            "InputTensor": "x.npy", "OutputTensors": ["a.npy", "b.npy", "c.npy"]}})

    def test_a_golden_file_stays_as_it_is(self):
        before = (self.folder / "gold.npy").read_bytes()
        for _ in range(2):
            self.run_program("run", "bound.json", "-e", "gold.npy", "--report", "r.json", status=1)
            self.assertEqual((self.folder / "gold.npy").read_bytes(), before)
        report = json.loads((self.folder / "r.json").read_text())
        self.assertEqual(report["outputs"], [])
        self.assertIsNone(report["descriptor"]["bindings"]["OutputTensor"])

    def test_what_is_asked_for_is_written_and_what_is_not_compared(self):
        self.save(golden=X[:1])
        for options, status, written in (([], 0, "bc"), (["-o", "a.npy"], 0, "abc"), (["-o", "q.npy"], 0, "qbc"),
                                         (["-o", "OutputTensors/1=q.npy"], 0, "qc")):
            with self.subTest(options):
                self.run_program("run", "split.json", "-e", "golden.npy", *options, status=status)
                self.assertEqual({name for name in "abcq" if (self.folder / f"{name}.npy").exists()}, set(written))
                for name in written:
                    (self.folder / f"{name}.npy").unlink()


if __name__ == "__main__":
    unittest.main()
