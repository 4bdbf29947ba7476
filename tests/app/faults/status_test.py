# SPDX-License-Identifier: Apache-2.0
"""Every exit status other than success, reached in all the ways that a script can encounter."""

import json
import os
import pathlib
import pty
import resource
import shutil
import subprocess
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import COPY, DMLOP, JOIN, SUM, THIRDS, X, ProgramTest, start

EXTENSIONS = "known extensions are .npy, .pb, .bin, .dat, .raw"
READ_X = ["run", SUM, "-i", "x.npy"]
SPLIT_X = ["run", THIRDS, "-i", "x.npy"]
HUGE = '{"type": "ELEMENT_WISE_IDENTITY", "OutputTensor": {"TotalTensorSizeInBytes": 18446744073709551612}}'

# Each case: a description, the arguments, and a part of the message.
WRONG_COMMAND_LINES = [
    ("no command", [], "required"),
    ("an unknown command", ["fly"], "no command 'fly'"),
    ("a near miss of a command", ["valdate"], "did you mean 'validate'?"),
    ("no descriptor", ["run"], "descriptor is required"),
    ("an unknown option", ["run", SUM, "--bogus"], "--bogus"),
    ("an option without its value", ["run", SUM, "-i"], "--input"),
    ("one argument too many", ["run", SUM, "more"], "more"),
    ("an input with an unknown name", ["run", SUM, "-i", "InputTensr=x.npy"], "no input 'InputTensr'"),
    ("an output named as an input", ["run", SUM, "-i", "OutputTensor=x.npy"], "it has InputTensor"),
    ("an index out of range", [*SPLIT_X, "-o", "OutputTensors/3=a.npy"], "OutputTensors[3]"),
    ("an index in brackets out of range", [*SPLIT_X, "-o", "OutputTensors[3]=a.npy"], "OutputTensors[3]"),
    ("an array without an index", [*SPLIT_X, "-o", "OutputTensors=a.npy"], "OutputTensors"),
    ("one name twice", [*READ_X, "-o", "OutputTensor=a.npy", "-o", "OutputTensor=b.npy"], "twice"),
    ("too many inputs", [*READ_X, "-i", "x.npy"], "one file too many"),
    ("too many outputs", [*READ_X, "-o", "a.npy", "-o", "b.npy"], "one file too many"),
    ("too many golden files", [*READ_X, "-e", "x.npy", "-e", "x.npy"], "one file too many"),
    ("an input bound to nothing", ["run", SUM], "InputTensor has no file that tells DataType and Sizes"),
    ("two outputs in one file", [*SPLIT_X, "-o", "a.npy", "-o", "a.npy", "-o", "b.npy"], "a.npy"),
    ("two spellings of one file", [*SPLIT_X, "-o", "a.npy", "-o", "./a.npy", "-o", "b.npy"], "a.npy"),
    ("an output and the report in one file", [*READ_X, "-o", "a.npy", "--report", "a.npy"], "a.npy"),
    ("descriptor and input both from standard input", ["run", "-", "-i", "-"], "standard input"),
    ("two documents from standard input", ["validate", "-", "-"], "standard input"),
    ("text and a tensor on standard output", [*SPLIT_X, "-o", "-"], "standard output"),
    ("an input of an unknown extension", ["run", SUM, "-i", "x.txt"], EXTENSIONS),
    ("an output of an unknown extension", [*READ_X, "-o", "y.csv"], EXTENSIONS),
    ("an output without an extension", [*READ_X, "-o", "y"], EXTENSIONS),
    ("an output with an empty name", [*READ_X, "-o", ""], ""),
    ("an input with an empty name", ["run", SUM, "-i", ""], ""),
    *((f"{command[0]} of an empty name", [*command, ""], "'' names no file")
      for command in (["run"], ["validate"], ["batch"], ["bench"], ["show"], ["compare", "x.npy"])),
    ("a folder for the outputs of an operator", [*READ_X, "--output-path", "."], "--output-path are for models"),
    ("a folder of the inputs of an operator", [*READ_X, "--input-path", "."], "--input-path and"),
    ("an optional input without its name", ["run", '{"type": "GEMM"}', *["-i", "x.npy"] * 3],
     "GEMM has 2 inputs; an optional one is bound by its name, CTensor=x.npy"),
    ("no threads", [*READ_X, "-t", "0"], "--threads"),
    ("threads in hexadecimal", [*READ_X, "-t", "0x2"], "'0x2' is not a whole number from 1 to 65536"),
    ("threads that are no number", [*READ_X, "-t", "many"], "--threads"),
    ("an unknown instruction set", [*READ_X, "--isa", "mmx"], "'mmx'"),
    ("an unknown feature level", [*READ_X, "-L", "7_0"], "'7_0' is not a feature level"),
    ("an unknown color", [*READ_X, "--color", "red"], "--color"),
    ("an unknown format", ["validate", SUM, "--format", "xml"], "--format"),
    ("a negative tolerance", ["compare", "x.npy", "x.npy", "--ulp", "-1"], "--ulp"),
    ("a tolerance that is not a number", ["compare", "x.npy", "x.npy", "--atol", "nan"], "--atol"),
    ("a tolerance of half a unit", ["compare", "x.npy", "x.npy", "--ulp", "1.5"], "'1.5' is not a whole number"),
    ("a tolerance of too many units", ["compare", "x.npy", "x.npy", "--ulp", "9" * 20], "not a whole number"),
    *((f"{rule[0]} with nothing to compare", [*READ_X, *rule], "--expect")
      for rule in (["--atol", "1"], ["--rtol", "1"], ["--ulp", "1"], ["--bits"], ["--tolerance", "webnn"])),
    ("a tolerance beside equal bits", [*READ_X, "-e", "x.npy", "--tolerance", "webnn", "--bits"], "--bits"),
    ("an unknown tolerance rule", [*READ_X, "--tolerance", "loose"], "--tolerance"),
    ("an unknown operator", ["ops", "REDUZE"], "did you mean 'REDUCE'?"),
    ("one file to compare", ["compare", "x.npy"], "EXPECTED"),
    ("no file to show", ["show"], "file"),
]

UNREADABLE = [
    ("a descriptor that is missing", ["run", "none.json"], "none.json"),
    ("a descriptor that is a folder", ["run", "folder.npy"], "Is a directory"),
    ("a document that is missing", ["validate", "none.json"], "none.json"),
    ("an input that is missing", ["run", SUM, "-i", "none.npy"], "none.npy"),
    ("an input that is a folder", ["run", SUM, "-i", "folder.npy"], "Is a directory"),
    ("an output that is a folder", [*READ_X, "-o", "folder.npy"], "Is a directory"),
    ("an output in a folder that is missing", [*READ_X, "-o", "none/y.npy"],
     "none/y.npy: cannot be created: there is no folder none\n"),
    ("an output in a folder that takes no files", [*READ_X, "-o", "/proc/y.npy"], "/proc/y.npy"),
    ("an output below a file", [*READ_X, "-o", "x.npy/y.npy"], "Not a directory"),
    ("an output on a full disk", [*READ_X, "-o", "/dev/full"], "No space left on device"),
    ("an output that links to itself", [*READ_X, "-o", "loop.npy"], "loop.npy"),
    ("an input that links to itself", ["run", SUM, "-i", "loop.npy"], "loop.npy"),
    ("an output larger than any file", ["run", HUGE, "-i", "x.npy", "-o", "y.bin"], "y.bin"),
    ("a golden file that is missing", [*READ_X, "-e", "none.npy"], "none.npy"),
    ("a report in a folder that is missing", [*READ_X, "-o", "y.npy", "--report", "none/r.json"],
     "none/r.json: cannot be created: there is no folder none\n"),
    ("a missing file to compare", ["compare", "x.npy", "none.npy"], "none.npy"),
    ("a folder to compare", ["compare", "x.npy", "."], "is a folder"),
    ("a folder to compare with nothing", ["compare", ".", "none"], "none: cannot be opened: No such file"),
    ("nothing to compare with a folder", ["compare", "none", "."], "none: cannot be opened: No such file"),
    ("a folder to show", ["show", "."], "is a folder"),
    ("a folder as an input", ["run", SUM, "-i", "."], "is a folder"),
    ("a folder as an output", [*READ_X, "-o", "."], "is a folder"),
    ("a folder without the golden file", [*READ_X, "-e", "."], "OutputTensor.npy"),
    ("a missing file to show", ["show", "none.npy"], "none.npy"),
]


@unittest.skipIf(os.environ.get("SANITIZE"), "sanitizers have a thread and memory of their own")
class LimitTest(ProgramTest):
    """Every command that computes, if the system allows only the first thread, or little memory."""

    SIZE = 256
    GEMM = ('{"type": "GEMM", "ATensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 256, 256]},'
            ' "BTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 256, 256]},'
            ' "TransA": "NONE", "TransB": "NONE", "Alpha": 1, "Beta": 0}')
    FILES = ["-i", "a.npy", "-i", "a.npy"]
    COMMANDS = [
        ["run", GEMM, *FILES, "-o", "y.npy", "--report", "r.json"], ["run", "model.json"], ["batch", "cases.jsonl"],
        ["batch", "cases.jsonl", "--check"], ["bench", GEMM, "--min-time", "1ms", "-q"], ["compare", "large.npy", "other.npy", "-q"],
        ["show", "large.npy", "--stats"], ["explain", GEMM, *FILES, "OutputTensor[0,0,1,2]"], ["validate", "cases.jsonl", "--line", "1"]]
    # Commands with another status than 0.
    STATUS = {"compare": 1}

    def setUp(self):
        super().setUp()
        # The files are where every user may read and write them.
        for file in (DMLOP, pathlib.Path(DMLOP).with_name("dmlop-bench.so")):
            shutil.copy(file, self.folder)
        self.folder.chmod(0o777)
        random = np.random.default_rng(1)
        large = random.random((2048, 1024), "f4")
        self.save(a=random.random((1, 1, self.SIZE, self.SIZE), "f4"), large=large, other=large + 1)
        self.write("cases.jsonl", "".join(json.dumps(json.loads(self.GEMM) | {"bindings": {
            "ATensor": "a.npy", "BTensor": "a.npy", "OutputTensor": f"{i}.npy"}}) + "\n" for i in range(20)))
        buffer = {"initialValuesDataType": "FLOAT32", "initialValues": {"valueCount": 1 << 20, "value": 2}}
        desc = {"DataType": "FLOAT32", "Sizes": [1 << 20]}
        self.write("model.json", {
            "resources": {"x": buffer, "y": buffer},
            "dispatchables": {"exp": {"type": "ELEMENT_WISE_EXP", "desc": {"InputTensor": desc, "OutputTensor": desc}}},
            "commands": [{"type": "dispatch", "dispatchable": "exp", "bindings": {"InputTensor": "x", "OutputTensor": "y"}}]})

    def limited(self, arguments, limits):
        """Runs as a separate user without other processes: limits on threads do not apply to root."""
        user = 100_000 + os.getpid()

        def bind():
            for limit, value in limits:
                resource.setrlimit(limit, (value, value))
            if os.getuid() == 0:
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)

        return subprocess.run([self.folder / "dmlop", *arguments], cwd=self.folder, capture_output=True, preexec_fn=bind, timeout=60)

    def test_without_another_thread_everything_runs(self):
        for count in (1, 2) if os.getuid() == 0 else (1,):
            for command in self.COMMANDS:
                with self.subTest(command, threads=count):
                    done = self.limited(command, [(resource.RLIMIT_NPROC, count)])
                    self.assertEqual(done.returncode, self.STATUS.get(command[0], 0), done.stderr)
            self.assertEqual(json.loads((self.folder / "r.json").read_text())["threads"], min(count, len(os.sched_getaffinity(0))))
            self.assert_same(self.load("y"), self.load("0"))

    def test_threads_that_are_asked_for_and_not_to_be_had(self):
        for command in self.COMMANDS:
            if command[0] not in ("run", "batch", "bench"):
                continue
            with self.subTest(command):
                before = self.files()
                done = self.limited([*command, "-t", "4"], [(resource.RLIMIT_NPROC, 1)])
                self.assertEqual((done.returncode, done.stdout), (5, b""), done.stderr)
                self.assertIn(b"there are no 4 threads to be had; the system ends at 1", done.stderr)
                self.assertEqual(self.files(), before)

    def test_little_memory_is_no_fault_of_the_program(self):
        """Memory ranges from too little to load the program to more than enough."""
        for command in self.COMMANDS:
            statuses = set()
            for megabytes in (*range(16, 64, 4), 96, 4096):
                with self.subTest(command, megabytes=megabytes):
                    done = self.limited(command, [(resource.RLIMIT_AS, megabytes << 20)])
                    is_loaded = b"error while loading shared libraries" not in done.stderr and done.returncode != -11
                    self.assertTrue(not is_loaded or done.returncode in (5, self.STATUS.get(command[0], 0)), (done.returncode, done.stderr))
                    if done.returncode == 5:
                        self.assertRegex(done.stderr.decode(), r"memory|thread|batch|Cannot allocate|failed to map")
                    statuses.add(done.returncode)
            self.assertIn(self.STATUS.get(command[0], 0), statuses)


class StatusTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.save(x=X)
        (self.folder / "folder.npy").mkdir()
        (self.folder / "loop.npy").symlink_to("loop.npy")

    def check(self, cases, status):
        for name, arguments, message in cases:
            with self.subTest(name):
                before = self.files()
                done = start(arguments, cwd=self.folder, stdin=SUM.encode())
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(message, done.stderr.decode())
                self.assertEqual(done.stdout, b"")
                self.assertEqual(self.files(), before)

    def test_2_is_for_a_wrong_command_line(self):
        self.check(WRONG_COMMAND_LINES, 2)

    def test_names_cannot_drive_the_terminal(self):
        self.save(**{"\x1b[7mx": X})
        for arguments, status in [
            (["\x1b[7m"], 2),
            (["run", SUM, "--isa", "\x1b[7m"], 2),
            (["run", SUM, "\x1b[7m"], 2),
            (["run", SUM, "-i", "\x1b[7m.npy"], 5),
            (["run", COPY, "-i", "x.npy", "-e", "\x1b[7mx.npy"], 0),
            (["run", THIRDS, "-i", "x.npy", "-e", "\x1b[7mx.npy"], 1),
            (["run", SUM, "-i", "x.npy", "-e", "\x1b[7mfirst.npy"], 1),
            (["show", "\x1b[7mx.npy"], 0),
            (["show", "\x1b[7mx.npy", "[9]"], 2),
            (["show", "\x1b[7mx.npy", "--map", "-o", "\x1b[7m.png"], 0),
        ]:
            with self.subTest(arguments):
                np.save(self.folder / "\x1b[7mfirst.npy", X[:1])
                done = start(arguments, cwd=self.folder, stdin=SUM.encode())
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertNotIn(b"\x1b", done.stdout + done.stderr)

    def test_2_is_for_a_tensor_on_a_terminal(self):
        terminal, end = pty.openpty()
        self.addCleanup(os.close, terminal)
        self.addCleanup(os.close, end)
        for name in ("-", "/dev/stdout", os.ttyname(end)):
            with self.subTest(name):
                done = start([*READ_X, "-o", name], cwd=self.folder, stdout=end)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(b"terminal", done.stderr)

    def test_3_is_for_a_document_at_fault(self):
        for document in ("{", "{}", '{"type": "JOIN"}', '{"type": "CONV"}', "[]", ""):
            with self.subTest(document):
                self.errors_of("validate", "-", stdin=document.encode(), status=3)
                self.errors_of("run", "-", stdin=document.encode(), status=3)
        self.errors_of("run", COPY, "-L", "2_0", "-i", "x.npy", status=3)

    def test_3_where_the_document_leaves_open_which_tensors_there_are(self):
        """Files of the command line are not blamed: they cannot be too many then, nor their names unknown."""
        arrays = [("SPLIT", "Output", "-o"), ("JOIN", "Input", "-i")]
        for operator, role, option in arrays:
            for fields, message in [
                ({f"{role}Count": 0}, "at least one tensor is needed"),
                ({f"{role}Count": 4_000_000_000}, "a count alone may stand for up to 65536 tensors"),
                ({f"{role}Tensors": []}, "at least one tensor is needed"),
                ({f"{role}Count": 2, f"{role}Tensors": [{}] * 3}, "2 does not match the array, which has 3"),
                ({f"{role}Cout": 3}, f"did you mean '{role}Count'?"),
            ]:
                document = json.dumps({"type": operator, "Axis": 0} | fields)
                files = [[], [option, "x.npy"], [option, "x.npy"] * 4, [option, f"{role}Tensors/7=x.npy"],
                         [option, "Nonsense=x.npy"], ["-i", "x.npy", "-o", "y.npy", "-o", "z.npy", "-o", "w.npy"]]
                for bound in files:
                    with self.subTest(document=document, files=bound):
                        before = self.files()
                        said = self.errors_of("run", document, *bound, status=3)
                        self.assertIn(message, said)
                        self.assertIn("<command line>:1:", said)
                        self.assertEqual(self.files(), before)
                if option == "-i":
                    for command in (["explain", document, "OutputTensor[0,0]"], ["bench", document]):
                        self.assertIn(message, self.errors_of(*command, *["-i", "x.npy"] * 5, status=3))

    def test_2_where_the_document_says_which_tensors_there_are(self):
        for document in (THIRDS, '{"type": "SPLIT", "Axis": 7, "OutputCount": 3}'):
            self.assertIn("one file too many", self.errors_of("run", document, "-i", "x.npy", *["-o", "a.npy"] * 4, status=2))

    def test_4_is_for_a_tensor_that_does_not_fit(self):
        self.save(wrong=X.astype("f8"), flat=X.ravel())
        self.write("text.npy", "text")
        typed = '{"type": "ELEMENT_WISE_IDENTITY", "InputTensor": {"DataType": "FLOAT32", "Sizes": [3, 3]}}'
        for arguments, message in [
            (["run", typed, "-i", "wrong.npy"], "wrong.npy: has the data type FLOAT64; expected FLOAT32"),
            (["run", typed, "-i", "flat.npy"], "flat.npy: has the shape {9}; expected {3, 3}"),
            ([*READ_X, "-e", "text.npy"], "text.npy: is not a .npy file"),
            ([*READ_X, "--judge", "text.npy"], "text.npy: is not a .npy file"),
        ]:
            with self.subTest(arguments):
                self.assertIn(message, self.errors_of(*arguments, status=4))

    def test_5_is_for_what_cannot_be_read_or_written(self):
        self.check(UNREADABLE, 5)

    def test_threads_are_those_that_ran(self):
        core = min(os.sched_getaffinity(0))
        for bound, available in ((["taskset", "-c", str(core)], 1), ([], len(os.sched_getaffinity(0)))):
            for options, threads in (([], available), (["-t", "1"], 1), (["-t", "7"], 7)):
                with self.subTest(bound=bound, options=options):
                    done = subprocess.run([*bound, DMLOP, *READ_X, *options, "-v", "-o", "y.npy", "--report", "r.json"],
                                          cwd=self.folder, capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn(f" on {threads} thread{'' if threads == 1 else 's'} with ", done.stderr)
                    self.assertEqual(json.loads((self.folder / "r.json").read_text())["threads"], threads)
                    timed = subprocess.run([*bound, DMLOP, "bench", SUM, "-i", "x.npy", *options, "--min-time", "1ms",
                                            "--cache", "hot", "-o", "b.json"], cwd=self.folder, capture_output=True,
                                           text=True)
                    self.assertEqual(timed.returncode, 0, timed.stderr)
                    measured = json.loads((self.folder / "b.json").read_text())
                    self.assertEqual({entry["threads"] for entry in measured["benchmarks"]}, {threads})
                    self.assertEqual(measured["context"]["num_cpus"], available)
                    self.assertIn(f", {available} CPU{'' if available == 1 else 's'}, ", timed.stdout)
                    self.assertRegex(timed.stdout, rf"REDUCE SUM +{threads} +hot|REDUCE +{threads} +hot")

    def test_5_is_for_a_full_standard_output(self):
        commands = [
            ["--help"], ["--version"], ["run", "--help"], ["ops"], ["ops", "JOIN", "--format", "json"],
            ["run", SUM, "-i", "x.npy"], [*READ_X, "-o", "-"],
            ["show", "x.npy"], ["show", "x.npy", "--stats"], ["compare", "x.npy", "x.npy"],
            ["validate", COPY.replace("}", ', "InputTensor": {"DataType": "INT8", "Sizes": [1]}}')],
        ]
        with open("/dev/full", "wb") as full:
            for arguments in commands:
                with self.subTest(arguments):
                    done = start(arguments, cwd=self.folder, stdout=full)
                    self.assertEqual(done.returncode, 5)
                    self.assertIn(b"standard output", done.stderr)

    def test_5_leaves_no_file_when_standard_output_is_full(self):
        before = self.files()
        with open("/dev/full", "wb") as full:
            for outputs in (["a.npy", "-", "-"], ["-", "-", "a.npy"]):
                options = [a for name in outputs for a in ("-o", name)]
                done = start(["run", THIRDS, "-i", "x.npy", *options], cwd=self.folder, stdout=full)
                self.assertEqual(done.returncode, 5)
                self.assertEqual(self.files(), before)

    def test_the_worst_status_of_several_documents_counts(self):
        self.write("bad.json", "{")
        valid = '{"type": "ELEMENT_WISE_IDENTITY", "InputTensor": {"DataType": "INT8", "Sizes": [1]}}'
        self.run_program("validate", valid, "bad.json", status=3)
        self.run_program("validate", "bad.json", valid, status=3)
        self.run_program("validate", "none.json", "bad.json", status=5)

    def test_joined_files_of_different_shape_are_a_fault_of_the_document(self):
        self.save(a=np.zeros((2, 3), "f4"), b=np.zeros((2, 4), "f4"))
        errors = self.errors_of("run", JOIN, "-i", "a.npy", "-i", "b.npy", "-o", "c.npy", status=3)
        self.assertIn("[JOIN-4]", errors)
        self.assertNotIn("c.npy", self.files())


if __name__ == "__main__":
    unittest.main()
