"""Faults of files and signals: a message, the right status, and no file lost or half written."""

import contextlib
import io
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import COPY, DMLOP, JOIN, SUM, THIRDS, X, ProgramTest, start

SHIM = os.environ.get("FAULT_SHIM", "")
LARGE = np.arange(3 * (6 << 20), dtype="f4").reshape(3, -1)  # thirds beyond 16 MiB


def injected(fault, path=".dmlop-"):
    """The environment in which a call of the C library fails; see fault_shim.cpp."""
    return {**os.environ, "LD_PRELOAD": SHIM, "DMLOP_FAULT": fault, "DMLOP_FAULT_PATH": path,
            "ASAN_OPTIONS": "verify_asan_link_order=0"}


def wait_until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.005)


def few_open_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


class FaultTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.save(x=X, old=np.zeros(1), a=np.ones(1))

    def snapshot(self, folder=None):
        return {p.name: p.read_bytes() if p.is_file() else None
                for p in (folder or self.folder).iterdir()}

    def assert_fails(self, arguments, name, status=5, folder=None, **options):
        before = self.snapshot(folder)
        done = start(["run", *arguments], **({"cwd": self.folder} | options))
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(name, done.stderr.decode())
        self.assertEqual(self.snapshot(folder), before)


class InjectedTest(FaultTest):
    def test_a_fault_of_a_call_changes_nothing(self):
        thirds = [THIRDS, "-i", "x.npy", "-o", "old.npy", "-o", "new.npy", "-o", "c.npy"]
        report = [*thirds, "--report", "r.json"]
        np.save(self.folder / "large.npy", LARGE)
        large = [THIRDS, "-i", "large.npy", *thirds[3:]]
        raw = [COPY.replace("}", ', "OutputTensor": {"DataType": "FLOAT32", "Sizes": [3, 6291456], '
                            '"Strides": [8000000, 1]}}'), "-i", "large.npy", "-o", "c.raw"]
        for arguments, fault, name in [
            (thirds, "open:EACCES:1:1", "old.npy"),
            (thirds, "open:EROFS:4:1", "c.npy"),
            (thirds, "pwrite:ENOSPC:1:1", "old.npy"),
            (thirds, "pwrite:ENOSPC:2:1", "new.npy"),
            (thirds, "pwrite:EIO:3:1", "c.npy"),
            (thirds, "close:ENOSPC:1:1", "old.npy"),
            (thirds, "close:EIO:3:1", "c.npy"),
            (thirds, "renameat2:EPERM:1:1", None),  # the file system cannot exchange: see below
            (thirds, "rename:EPERM:1:1", "new.npy"),
            (thirds, "rename:EIO:2:1", "c.npy"),
            (report, "rename:EIO:3:1", "r.json"),
            (large, "posix_fallocate:ENOSPC:2:1", "new.npy"),
            (large, "pwrite:ENOSPC:9:1", ".npy"),
            (large, "close:ENOSPC:2:1", "new.npy"),
            (raw, "mmap:EIO:1:1", "c.raw"),
        ]:
            with self.subTest(fault=fault, name=name):
                if name is None:
                    self.run_program("run", *arguments, env=injected(fault))
                    self.assert_same(self.load("old"), X[:1])
                    for made in ("new.npy", "c.npy"):
                        (self.folder / made).unlink()
                else:
                    self.assert_fails(arguments, name, env=injected(fault))

    def test_inputs_that_cannot_be_read(self):
        for fault, path, status in [("open:EACCES:1:1", "x.npy", 5), ("mmap:EIO:1:1", "x.npy", 5)]:
            with self.subTest(fault):
                self.assert_fails([SUM, "-i", "x.npy", "-o", "old.npy"], "x.npy", status,
                                  env=injected(fault, path))
        (self.folder / "sum.json").write_text(SUM)
        self.assert_fails(["sum.json", "-i", "x.npy", "-o", "old.npy"], "sum.json",
                          env=injected("read:EIO:1:1", "sum.json"))

    def test_interrupted_and_short_calls_are_carried_on(self):
        (self.folder / "sum.json").write_text(SUM)
        for fault, path in [("pwrite:EINTR:1:3", ".dmlop-"), ("pwrite:short:1:9", ".dmlop-"),
                            ("read:EINTR:1:3", "sum.json"), ("read:short:1:20", "sum.json"),
                            ("open:EEXIST:1:2", ".dmlop-")]:
            with self.subTest(fault):
                self.run_program("run", "sum.json", "-i", "x.npy", "-o", "y.npy",
                                 env=injected(fault, path))
                self.assert_same(self.load("y"), X.sum(0, keepdims=True))

    def test_a_fifo_in_small_pieces(self):
        os.mkfifo(self.folder / "fifo.npy")
        feed = threading.Thread(
            target=lambda: (self.folder / "fifo.npy").write_bytes((self.folder / "x.npy").read_bytes()))
        feed.start()
        self.run_program("run", SUM, "-i", "fifo.npy", "-o", "y.npy",
                         env=injected("read:short:1:500", "fifo.npy"))
        feed.join()
        self.assert_same(self.load("y"), X.sum(0, keepdims=True))


class RealTest(FaultTest):
    @contextlib.contextmanager
    def small_disk(self, *flags):
        folder = tempfile.mkdtemp(prefix="dmlop-disk-")
        try:
            mounted = subprocess.run(
                ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True)
            if mounted.returncode != 0:
                self.skipTest("a file system cannot be mounted here")
            try:
                yield pathlib.Path(folder)
            finally:
                subprocess.run(["umount", folder], check=True)
        finally:
            os.rmdir(folder)

    def test_a_full_disk(self):
        self.save(x=np.arange(3 * 6000, dtype="f4").reshape(3, -1))  # two thirds fit
        with self.small_disk() as disk:
            (disk / "old.npy").write_bytes(b"precious")
            outputs = [a for name in ("old", "b", "c") for a in ("-o", disk / f"{name}.npy")]
            self.assert_fails([THIRDS, "-i", "x.npy", *outputs], "c.npy", folder=disk)

    def test_a_full_disk_for_what_has_no_name(self):
        """Large outputs and inputs of streams wait in a file of TMPDIR."""
        np.save(self.folder / "large.npy", LARGE)
        large = (self.folder / "large.npy").read_bytes()
        with self.small_disk() as disk:
            for folder, message in ((disk, f"{disk}: cannot be written: "),
                                    (disk / "none", f"{disk}/none: no file can be created there")):
                for arguments, stdin in ((["-i", "large.npy", "-o", "-"], b""),
                                         (["-i", "-", "-o", "y.npy"], large)):
                    done = start(["run", COPY, *arguments], stdin, cwd=self.folder,
                                 env=os.environ | {"TMPDIR": str(folder)})
                    self.assertEqual((done.returncode, done.stdout), (5, b""), done.stderr)
                    self.assertIn(message, done.stderr.decode())
            self.assertEqual(list(disk.iterdir()), [])
        self.assertEqual(self.files(), ["a.npy", "large.npy", "old.npy", "x.npy"])

    def test_a_read_only_folder(self):
        with self.small_disk() as disk:
            (disk / "old.npy").write_bytes(b"precious")
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
            self.assert_fails([SUM, "-i", "x.npy", "-o", disk / "old.npy"], "old.npy", folder=disk)

    def test_a_limit_on_the_size_of_files(self):
        self.save(x=np.zeros((2, 1 << 20), "f4"))
        self.assert_fails([COPY, "-i", "x.npy", "-o", "old.npy"], "old.npy",
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20,) * 2))

    @unittest.skipIf(os.environ.get("SANITIZE"), "sanitizers look at objects through a pipe")
    def test_more_outputs_than_files_may_be_open(self):
        """Outputs are open together, so that they appear together."""
        names = ["old.npy", *(f"part{i}.npy" for i in range(99))]
        self.save(x=np.arange(300, dtype="f4").reshape(100, 3))
        split = {"type": "SPLIT", "Axis": 0, "OutputCount": 100}
        self.assert_fails([json.dumps(split), "-i", "x.npy", *(a for name in names for a in ("-o", name))],
                          ".npy: cannot be created: Too many open files", preexec_fn=few_open_files)

        total = {"type": "REDUCE", "Function": "SUM", "Axes": [0],
                 "bindings": {"InputTensor": "x.npy", "OutputTensor": "sum.npy"}}
        parts = {"bindings": {"InputTensor": "x.npy", "OutputTensors": names}}
        self.write("cases.jsonl", "".join(json.dumps(case) + "\n" for case in (split | parts, total)))
        before = self.snapshot()
        done = self.run_program("batch", "cases.jsonl", "-k", "-t", "1", status=5,
                                preexec_fn=few_open_files)
        self.assertRegex(done.stderr.decode(), r"jsonl:1: \w+\.npy: cannot be created: Too many open files")
        self.assert_same(self.load("sum"), np.load(self.folder / "x.npy").sum(0, keepdims=True))
        (self.folder / "sum.npy").unlink()
        self.assertEqual(self.snapshot(), before)

    def test_more_inputs_than_files_may_be_open(self):
        """Inputs are read one after another, whatever they come from."""
        rows = np.arange(300, dtype="f4").reshape(100, 1, 3)
        for i, row in enumerate(rows):
            np.save(self.folder / f"row{i}.npy", row)
        inputs = [a for i in range(100) for a in ("-i", f"row{i}.npy")]
        self.run_program("run", JOIN, *inputs, "-o", "y.npy", preexec_fn=few_open_files)
        self.assert_same(self.load("y"), rows.reshape(100, 3))

    def test_a_fifo_whose_reader_leaves(self):
        self.save(x=np.zeros((2, 1 << 20), "f4"))
        os.mkfifo(self.folder / "fifo.npy")
        reader = threading.Thread(
            target=lambda: os.close(os.open(self.folder / "fifo.npy", os.O_RDONLY)))
        reader.start()
        done = start(["run", COPY, "-i", "x.npy", "-o", "fifo.npy"], cwd=self.folder)
        reader.join()
        self.assertEqual(done.returncode, 5)
        self.assertIn("fifo.npy", done.stderr.decode())

    def test_a_closed_pipe_ends_quietly(self):
        self.save(x=np.zeros((2000, 600), "f4"))
        for command in (["show", "x.npy", "--full"], ["run", COPY, "-i", "x.npy", "--full"],
                        ["run", COPY, "-i", "x.npy", "-o", "-"], ["schema"]):
            with self.subTest(command):
                read_end, write_end = os.pipe()
                os.close(read_end)
                done = start(command, stdout=write_end, cwd=self.folder)
                os.close(write_end)
                self.assertEqual((done.returncode, done.stderr), (5, b""))

    def test_permissions_follow_the_umask(self):
        for mask, mode in ((0o022, 0o644), (0o077, 0o600), (0o002, 0o664)):
            self.run_program("run", SUM, "-i", "x.npy", "-o", "y.npy",
                             preexec_fn=lambda mask=mask: os.umask(mask))
            self.assertEqual((self.folder / "y.npy").stat().st_mode & 0o777, mode)
            (self.folder / "y.npy").unlink()


    def test_a_planted_link_is_not_followed(self):
        """The first name of a temporary file is taken by a link to somebody's file."""
        (self.folder / "victim").write_text("precious")
        script = 'ln -s victim .dmlop-$$-0.tmp && exec "$@"'
        done = subprocess.run(["sh", "-c", script, "sh", DMLOP, "run", SUM, "-i", "x.npy", "-o", "y.npy"],
                              cwd=self.folder, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "victim").read_text(), "precious")
        self.assertTrue(list(self.folder.glob(".dmlop-*-0.tmp"))[0].is_symlink())
        self.assertFalse((self.folder / "y.npy").is_symlink())
        self.assert_same(self.load("y"), X.sum(0, keepdims=True))


class SignalTest(FaultTest):
    def interrupt(self, number, **options):
        """Sends a signal while one output is written and the other waits for its reader."""
        os.mkfifo(self.folder / "fifo.npy")
        halves = '{"type": "SPLIT", "Axis": 0, "OutputCount": 2}'
        self.save(x=X[:2])
        process = subprocess.Popen(
            [DMLOP, "run", halves, "-i", "x.npy", "-o", "old.npy", "-o", "fifo.npy"],
            cwd=self.folder, stderr=subprocess.PIPE, **options)
        try:
            wait_until(lambda: list(self.folder.glob(".dmlop-*")))
            process.send_signal(number)
            return process.communicate(timeout=30)[1], process.returncode
        finally:
            process.kill()
            process.communicate()
            (self.folder / "fifo.npy").unlink()

    def test_signals_remove_the_temporaries(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                self.save(x=X[:2])
                before = self.snapshot()
                # Ended by the signal, which a shell shows as 128 + its number.
                self.assertEqual(self.interrupt(number), (b"", -number))
                self.assertEqual(self.snapshot(), before)

    def test_kill_leaves_the_targets(self):
        before = (self.folder / "old.npy").read_bytes()
        self.interrupt(signal.SIGKILL)
        self.assertEqual((self.folder / "old.npy").read_bytes(), before)

    def test_an_ignored_signal_stays_ignored(self):
        os.mkfifo(self.folder / "fifo.npy")
        process = subprocess.Popen(
            [DMLOP, "run", COPY, "-i", "x.npy", "-o", "fifo.npy"], cwd=self.folder,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        time.sleep(0.2)
        process.send_signal(signal.SIGHUP)
        with open(self.folder / "fifo.npy", "rb") as fifo:
            self.assert_same(np.load(io.BytesIO(fifo.read())), X)
        self.assertEqual(process.wait(30), 0)

    def test_an_input_that_shrinks(self):
        self.save(big=np.zeros((3, 1 << 20), "f4"), other=np.zeros((3, 1 << 20), "f4"))
        os.mkfifo(self.folder / "fifo.npy")
        process = subprocess.Popen(
            [DMLOP, "run", JOIN, "-i", "big.npy", "-i", "fifo.npy", "-o", "old.npy"],
            cwd=self.folder, stderr=subprocess.PIPE)
        before = (self.folder / "old.npy").read_bytes()
        with open(self.folder / "fifo.npy", "wb") as fifo:  # opens once big.npy is mapped
            os.truncate(self.folder / "big.npy", 4096)
            fifo.write((self.folder / "other.npy").read_bytes())
        errors = process.communicate(timeout=60)[1].decode()
        self.assertEqual(process.returncode, 5, errors)
        self.assertIn("big.npy", errors)
        self.assertEqual((self.folder / "old.npy").read_bytes(), before)
        self.assertEqual(list(self.folder.glob(".dmlop-*")), [])


if __name__ == "__main__":
    unittest.main()
