# SPDX-License-Identifier: Apache-2.0
"""Output files appear together or not at all, and in the right place."""

import hashlib
import json
import os
import shlex
import shutil
import stat
import struct
import subprocess
import sys
import threading
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import COLUMN_SUMS, COPY, DMLOP, JOIN, SUM, THIRDS, X, ProgramTest, start


class AtomicTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.save(x=X, old=np.zeros(1), wrong_type=X.astype("f8"), wrong_shape=X.ravel())
        (self.folder / "folder.npy").mkdir()
        self.write("raw.bin", b"\x93NUMPY")
        self.write("text.npy", "text")

    def snapshot(self):
        return {p.name: p.read_bytes() for p in self.folder.iterdir() if p.is_file()}

    def test_a_failure_creates_changes_and_leaves_nothing(self):
        tensor = {"DataType": "FLOAT32", "Sizes": [3, 3]}
        typed = json.dumps({**json.loads(THIRDS), "InputTensor": tensor})
        good = ["-i", "x.npy", "-o", "old.npy", "-o", "new.npy"]
        for name, status, arguments in [
            ("the last output's folder is missing", 5, [THIRDS, *good, "-o", "none/c.npy"]),
            ("the last output is a folder", 5, [THIRDS, *good, "-o", "folder.npy"]),
            ("the last output's extension is unknown", 2, [THIRDS, *good, "-o", "c.txt"]),
            ("the last output's device is full", 5, [THIRDS, *good, "-o", "/dev/full"]),
            ("the golden file is missing", 5, [THIRDS, *good, "-o", "c.npy", "-e", "none.npy"]),
            ("the expected file is no tensor", 4, [THIRDS, *good, "-o", "c.npy", "-e", "text.npy"]),
            ("the report's folder is missing", 5, [THIRDS, *good, "-o", "c.npy", "--report", "none/r.json"]),
            ("the report is a folder", 5, [THIRDS, *good, "-o", "c.npy", "--report", "folder.npy"]),
            ("the input's type is wrong", 4, [typed, "-i", "wrong_type.npy", *good[2:]]),
            ("the input's shape is wrong", 4, [typed, "-i", "wrong_shape.npy", *good[2:]]),
            ("the input is no tensor", 4, [typed, "-i", "raw.bin", *good[2:]]),
            ("the document is invalid", 3, [THIRDS.replace("0", "7", 1), *good]),
            ("the level is too low", 3, [THIRDS, *good, "-L", "2_1"]),
        ]:
            with self.subTest(name):
                before = self.snapshot()
                done = start(["run", *arguments], cwd=self.folder)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertNotEqual(done.stderr, b"")
                self.assertEqual(self.snapshot(), before)

    def test_status_1_still_writes_the_outputs(self):
        self.save(golden=2 * COLUMN_SUMS)
        self.run_program("run", SUM, "-i", "x.npy", "-o", "y.npy", "-e", "golden.npy", status=1)
        self.assert_same(self.load("y"), COLUMN_SUMS)

    def test_outputs_replace_what_was_there_and_leave_no_temporary(self):
        before = self.files()
        self.run_program("run", SUM, "-i", "x.npy", "-o", "old.npy")
        self.assert_same(self.load("old"), COLUMN_SUMS)
        self.assertEqual(self.files(), before)


class PlacesTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.save(x=X)

    def npy_bytes(self, array):
        np.save(self.folder / "expected.npy", array)
        return (self.folder / "expected.npy").read_bytes()

    def test_a_closed_standard_output_is_not_an_output_file(self):
        command = f"exec {shlex.quote(DMLOP)} run '{THIRDS}' -i x.npy -o a.npy -o b.npy >&-"
        done = subprocess.run(["sh", "-c", command], cwd=self.folder, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertEqual([name for name in self.files() if name[0] in "ab."], [])

    def test_an_output_may_be_its_own_input(self):
        self.run_program("run", SUM, "-i", "x.npy", "-o", "x.npy")
        self.assert_same(self.load("x"), COLUMN_SUMS)

    def test_outputs_may_swap_with_the_inputs_of_a_split(self):
        self.run_program("run", THIRDS, "-i", "x.npy", "-o", "a.npy", "-o", "x.npy", "-o", "b.npy")
        self.assert_same(self.load("x"), X[1:2])

    def test_the_file_that_a_link_names_is_replaced(self):
        (self.folder / "inner").mkdir()
        (self.folder / "a.npy").symlink_to("inner/b.npy")
        (self.folder / "inner/b.npy").symlink_to("c.npy")  # dangling, for now
        for _ in range(2):
            self.run_program("run", SUM, "-i", "x.npy", "-o", "a.npy")
            self.assertTrue((self.folder / "a.npy").is_symlink())
            self.assertTrue((self.folder / "inner/b.npy").is_symlink())
            self.assertFalse((self.folder / "inner/c.npy").is_symlink())
            self.assert_same(np.load(self.folder / "inner/c.npy"), COLUMN_SUMS)

    def test_a_device_takes_the_output(self):
        self.run_program("run", SUM, "-i", "x.npy", "-o", "/dev/null")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_standard_output_by_name_takes_npy_wherever_it_leads(self):
        expected = self.npy_bytes(COLUMN_SUMS)
        arguments = ["run", SUM, "-i", "x.npy", "-o", "/dev/stdout"]
        self.assertEqual(self.run_program(*arguments).stdout, expected)
        with open(self.folder / "redirected", "w+b") as file:
            self.run_program(*arguments, stdout=file)
            file.seek(0)
            self.assertEqual(file.read(), expected)

    def test_a_fifo_gives_the_input_and_takes_the_output(self):
        for name in ("in", "out.npy"):
            os.mkfifo(self.folder / name)
        received = []
        feeder = threading.Thread(target=lambda: (self.folder / "in").write_bytes(self.npy_bytes(X)))
        reader = threading.Thread(target=lambda: received.append((self.folder / "out.npy").read_bytes()))
        feeder.start()
        reader.start()
        self.run_program("run", SUM, "-i", "in", "-o", "out.npy")
        feeder.join()
        reader.join()
        self.assertEqual(received, [self.npy_bytes(COLUMN_SUMS)])
        self.assertTrue((self.folder / "out.npy").is_fifo())

    def test_permissions_follow_the_umask(self):
        for mask in (0o022, 0o027, 0o077):
            self.run_program("run", SUM, "-i", "x.npy", "-o", "y.npy", umask=mask)
            mode = stat.S_IMODE((self.folder / "y.npy").stat().st_mode)
            self.assertEqual(oct(mode), oct(0o666 & ~mask))
            (self.folder / "y.npy").unlink()

    def replace(self, name="y.npy", **options):
        """Writes the file again; returns its new status."""
        self.run_program("run", SUM, "-i", "x.npy", "-o", name, **options)
        self.assert_same(np.load(self.folder / name), COLUMN_SUMS)
        return (self.folder / name).stat()

    def test_replacing_does_not_show(self):
        """Mode, owner and group are kept, also if files have names until they are published."""
        target = self.folder / "y.npy"
        for mode in (0o600, 0o644, 0o666, 0o640, 0o4755, 0o2664, 0o1777):
            target.write_bytes(b"old")
            if os.getuid() == 0:
                os.chown(target, 1234, 2345)
            target.chmod(mode)
            before = target.stat()
            after = self.replace(umask=0o022)
            for field in ("st_mode", "st_uid", "st_gid"):
                self.assertEqual(getattr(after, field), getattr(before, field), f"{field} {mode:o}")
            target.unlink()

    def test_attributes_stay(self):
        """A private file that one other user may read, in a folder whose default ACL opens new files to everybody."""
        def acl(*entries):
            return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)

        everybody = 0xFFFFFFFF
        private = acl((1, 6, everybody), (2, 4, 1234), (4, 0, everybody), (16, 4, everybody), (32, 0, everybody))
        public = acl((1, 6, everybody), (2, 6, 4321), (4, 6, everybody), (16, 6, everybody), (32, 4, everybody))
        target = self.folder / "y.npy"
        target.write_bytes(b"old")
        try:
            os.setxattr(target, "user.note", b"mine")
            os.setxattr(target, "system.posix_acl_access", private)
            os.setxattr(self.folder, "system.posix_acl_default", public)
        except OSError:
            self.skipTest("this file system has no attributes")
        self.assertEqual(stat.S_IMODE(self.replace().st_mode), 0o640)
        self.assertEqual(os.getxattr(target, "user.note"), b"mine")
        self.assertEqual(os.getxattr(target, "system.posix_acl_access"), private)
        os.removexattr(target, "system.posix_acl_access")
        target.chmod(0o600)
        self.assertEqual(stat.S_IMODE(self.replace().st_mode), 0o600)
        self.assertEqual(os.listxattr(target), ["user.note"])

    def run_as_nobody(self, *arguments):
        """Runs as a user other than root, if the tests run as root."""
        program = self.folder / "dmlop"
        shutil.copy(DMLOP, program)
        self.folder.chmod(0o777)
        user = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
        return subprocess.run([program, *arguments], cwd=self.folder, capture_output=True, check=False, **user)

    def test_a_file_that_may_not_be_written_is_refused(self):
        """The file is refused before the work is done: the input would fail, too."""
        (self.folder / "y.npy").write_bytes(b"precious")
        (self.folder / "y.npy").chmod(0o444)
        self.write("wide.json", {"type": "ELEMENT_WISE_IDENTITY", "InputTensor": {"DataType": "FLOAT32", "Sizes": [3, 3]}})
        state = lambda: [getattr((self.folder / "y.npy").stat(), "st_" + field) for field in ("mode", "ino", "uid", "mtime_ns")]
        before = state()
        for arguments in (["run", SUM, "-i", "x.npy", "-o", "y.npy"], ["run", SUM, "-i", "x.npy", "--report", "y.npy"],
                          ["bench", "wide.json", "-o", "y.npy", "--format", "table"]):
            done = self.run_as_nobody(*arguments)
            self.assertEqual((done.returncode, done.stdout), (5, b""), done.stderr)
            self.assertEqual(done.stderr, b"dmlop: y.npy: cannot be written: Permission denied\n")
            self.assertEqual((self.folder / "y.npy").read_bytes(), b"precious")
            self.assertEqual(state(), before)

    @unittest.skipIf(os.getuid() != 0, "a file of somebody else is made by root")
    def test_another_owner_opens_nothing(self):
        """The file belongs to the user who writes it; set-ID bits and the group's rights are not transferred."""
        target = self.folder / "y.npy"
        for mode, expected in ((0o666, 0o666), (0o4777, 0o777), (0o2772, 0o722), (0o662, 0o622)):
            target.write_bytes(b"old")
            target.chmod(mode)
            self.assertEqual(self.run_as_nobody("run", SUM, "-i", "x.npy", "-o", "y.npy").returncode, 0)
            self.assertEqual((target.stat().st_uid, oct(stat.S_IMODE(target.stat().st_mode))), (65534, oct(expected)))
            target.unlink()

    def test_synced_files_are_the_same(self):
        self.run_program("run", THIRDS, "-i", "x.npy", "-o", "a.npy", "-o", "x.npy", "-o", "b.npy", "--sync")
        for name, row in zip(("a", "x", "b"), X):
            self.assert_same(self.load(name), row[None])
        self.assertEqual(self.files(), ["a.npy", "b.npy", "x.npy"])

    def test_raw_outputs_are_the_buffer_with_zeros_in_its_gaps(self):
        output = {"Strides": [5, 1], "TotalTensorSizeInBytes": 64}
        document = json.dumps({**json.loads(COPY), "OutputTensor": output})
        (self.folder / "y.raw").write_bytes(b"\xff" * 100)
        self.run_program("run", document, "-i", "x.npy", "-o", "y.raw")
        expected = np.zeros(16, "f4")
        expected[:15].reshape(3, 5)[:, :3] = X
        self.assertEqual((self.folder / "y.raw").read_bytes(), expected.tobytes())


class ReportTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.save(x=X)

    def hash_of(self, name):
        return hashlib.sha256((self.folder / name).read_bytes()).hexdigest()

    def report(self):
        return json.loads((self.folder / "r.json").read_text())

    def test_report_has_the_hashes_of_all_files(self):
        before = self.hash_of("x.npy")
        outputs = [a for name in ("a.npy", "b.bin", "x.npy") for a in ("-o", name)]
        self.run_program("run", THIRDS, "-i", "x.npy", *outputs, "--report", "r.json", "-t", "1")
        report = self.report()
        self.assertEqual([f["sha256"] for f in report["inputs"]], [before])
        for file, name in zip(report["outputs"], ("a.npy", "b.bin", "x.npy"), strict=True):
            self.assertEqual((file["path"], file["sha256"]), (name, self.hash_of(name)))
        self.assertEqual(report["threads"], 1)

    def test_report_has_the_complete_descriptor(self):
        self.run_program("run", SUM, "-i", "x.npy", "-o", "y.npy", "--report", "r.json")
        desc = self.report()["descriptor"]["desc"]
        self.assertEqual(desc["Function"], "DML_REDUCE_FUNCTION_SUM")
        self.assertEqual(desc["InputTensor"]["Sizes"], [3, 3])
        self.assertEqual(desc["OutputTensor"]["Sizes"], [1, 3])
        self.assertEqual(desc["AxisCount"], 1)

    def test_report_says_what_ran_how_long(self):
        version, instruction_sets = self.text_of("--version").splitlines()
        isa = instruction_sets.removeprefix("instruction sets: ").split(", ")[-1]
        arguments = ["run", SUM, "-i", "x.npy", "-o", "y.npy", "--report", "r.json", "--isa", isa, "-t", "3"]
        self.run_program(*arguments)
        report = self.report()
        self.assertEqual(list(report), ["dmlop", "descriptor", "inputs", "outputs", "threads", "isa", "seconds"])
        self.assertEqual((f"dmlop {report['dmlop']}", report["threads"], report["isa"]), (version, 3, isa))
        for part in ("load", "run"):
            self.assertGreater(report["seconds"][part], 0)
        self.assertEqual([(f["tensor"], f["path"]) for f in report["inputs"] + report["outputs"]],
                         [("InputTensor", "x.npy"), ("OutputTensor", "y.npy")])

    def test_report_hashes_what_was_read_from_a_pipe(self):
        x = (self.folder / "x.npy").read_bytes()
        self.run_program("run", SUM, "-i", "/dev/stdin", "-o", "y.npy", "--report", "r.json", stdin=x)
        self.assertEqual([f["sha256"] for f in self.report()["inputs"]], [self.hash_of("x.npy")])

    def test_report_has_the_bindings_that_were_used(self):
        bound = {"InputTensor": "none.npy", "OutputTensor": "y.npy"}
        self.write("sum.json", json.loads(SUM) | {"bindings": bound})
        self.write("join.json", json.loads(JOIN) | {"bindings": {
            "InputTensors": ["x.npy", [[1, 2, 3]]], "OutputTensor": "y.npy"},
            "InputTensors": [{"DataType": "FLOAT32", "Sizes": [n, 3]} for n in (3, 1)]})
        x = (self.folder / "x.npy").read_bytes()
        for arguments, bindings in [
            (["sum.json", "-i", "-"], {"InputTensor": "-", "OutputTensor": "y.npy"}),
            (["sum.json", "-i", "x.npy", "-o", "z.npy"], {"InputTensor": "x.npy", "OutputTensor": "z.npy"}),
            ([SUM, "-i", "x.npy"], {"InputTensor": "x.npy", "OutputTensor": None}),
            (["join.json", "-o", "z.npy"], {"InputTensors": ["x.npy", [[1, 2, 3]]], "OutputTensor": "z.npy"}),
        ]:
            with self.subTest(arguments):
                self.run_program("run", *arguments, "--report", "r.json", stdin=x)
                report = self.report()
                self.assertEqual(report["descriptor"]["bindings"], bindings)
                self.write("again.json", report["descriptor"])
                self.run_program("run", "again.json", stdin=x)

    def test_report_has_the_verdict_of_each_comparison(self):
        self.save(good=COLUMN_SUMS, bad=COLUMN_SUMS + 1)
        for file, count, rule, tolerance in [
            ("good.npy", 0, [], {"atol": 0, "rtol": 0, "ulp": 0}),
            ("bad.npy", 3, ["--ulp", "7", "--atol", "0.5"], {"atol": 0.5, "rtol": 0, "ulp": 7}),
            ("bad.npy", 0, ["--rtol", "inf"], {"atol": 0, "rtol": "inf", "ulp": 0}),
            ("bad.npy", 3, ["--bits"], {"bits": True}),
        ]:
            with self.subTest(rule):
                self.run_program("run", SUM, "-i", "x.npy", "-e", file, *rule, "--report", "r.json", status=count > 0)
                report = self.report()
                compared, = report["comparisons"]
                self.assertLessEqual({
                    "tensor": "OutputTensor", "path": file, "sha256": self.hash_of(file), "role": "expected",
                    "equal": count == 0, "differenceCount": count, "elementCount": 3}.items(), compared.items())
                self.assertEqual(compared["tolerance"], tolerance)

    def test_report_may_go_to_standard_output(self):
        arguments = ["run", SUM, "-i", "x.npy", "-o", "y.npy", "--report", "/dev/stdout"]
        self.assertIn("sha256", json.loads(self.run_program(*arguments).stdout)["outputs"][0])
        with open(self.folder / "log", "w+") as log:
            self.run_program(*arguments, stdout=log)
            log.seek(0)
            self.assertIn("sha256", json.load(log)["outputs"][0])


if __name__ == "__main__":
    unittest.main()
