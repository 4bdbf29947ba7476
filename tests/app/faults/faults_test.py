# SPDX-License-Identifier: Apache-2.0
"""Faults of files, and signals: there is a message and the right status, and no file is lost or half written."""

import contextlib
import io
import itertools
import json
import os
import pathlib
import resource
import shutil
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
LARGE = np.arange(3 * (6 << 20), dtype="f4").reshape(3, -1)  # thirds are larger than 16 MiB


def injected(fault, path=".dmlop-"):
    """The environment in which a call of the C library fails; see fault_shim.cpp."""
    return {**os.environ, "LD_PRELOAD": SHIM, "DMLOP_FAULT": fault, "DMLOP_FAULT_PATH": path,
            "ASAN_OPTIONS": "verify_asan_link_order=0"}


NAMED = "tmpfile:EOPNOTSUPP:1:9999"  # the file system has no files without names
OLD_KERNEL = "tmpfile:EISDIR:1:9999,renameat2:EINVAL:1:9999"  # nor can it exchange two files


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
            (thirds, "open:EACCES:1:2", "old.npy"),
            (thirds, "open:EROFS:3:2", "c.npy"),
            (thirds, "pwrite:ENOSPC:1:1", "old.npy"),
            (thirds, "pwrite:ENOSPC:2:1", "new.npy"),
            (thirds, "pwrite:EIO:3:1", "c.npy"),
            (thirds, "close:ENOSPC:1:1", "old.npy"),
            (thirds, "close:EIO:3:1", "c.npy"),
            (thirds, "linkat:EIO:1:9,rename:EPERM:1:1", ".npy"),
            (thirds, "linkat:EIO:3:9,rename:EIO:1:9", "c.npy"),
            (report, "linkat:EIO:4:9,rename:EIO:1:9", "r.json"),
            (large, "posix_fallocate:ENOSPC:2:1", "new.npy"),
            (large, "pwrite:ENOSPC:9:1", ".npy"),
            (large, "close:ENOSPC:2:1", "new.npy"),
            (raw, "mmap:EIO:1:1", "c.raw"),
            ([*thirds, "--sync"], "fdatasync:EIO:2:1", "new.npy"),
        ]:
            with self.subTest(fault=fault, name=name):
                self.assert_fails(arguments, name, env=injected(fault))
        for arguments, fault, name in [
            (thirds, "open:EACCES:1:1", "old.npy"),
            (thirds, "open:EROFS:3:1", "c.npy"),
            (thirds, "close:EIO:3:1", "c.npy"),
            (thirds, "linkat:EPERM:1:1,rename:EPERM:1:1", "new.npy"),
            (report, "linkat:EPERM:3:1,rename:EIO:1:1", "r.json"),
        ]:
            with self.subTest(fault=fault, name=name, named=True):
                self.assert_fails(arguments, name, env=injected(f"{NAMED},{fault}"))

    def test_what_was_replaced_is_put_back_by_every_file_system(self):
        """Without an exchange of two files, a second name keeps the old one; without hard links, the old one is
        renamed."""
        outputs = ["-o", "old.npy", "-o", "a.npy", "-o", "c.npy"]
        for system, fault, name in [
            ("renameat2:EINVAL:1:9", "linkat:EIO:3:9", "c.npy"),
            ("renameat2:EPERM:1:9", "linkat:EIO:3:9", "c.npy"),
            ("renameat2:EINVAL:1:9", "rename:EIO:1:1", "old.npy"),
            (OLD_KERNEL, "linkat:EIO:1:9,rename:EIO:3:1", "c.npy"),
            (f"{OLD_KERNEL},link:EPERM:1:9", "linkat:EIO:1:9,rename:EIO:5:1", "c.npy"),
            (NAMED, "linkat:EIO:1:9,rename:EIO:1:1", "c.npy"),
            (f"{NAMED},linkat:EPERM:1:9", "rename:EIO:1:1", "c.npy"),
        ]:
            with self.subTest(system, fault=fault):
                self.save(old=np.zeros(1), a=np.ones(1))
                self.assert_fails([THIRDS, "-i", "x.npy", *outputs], name, env=injected(f"{system},{fault}"))
                self.run_program("run", THIRDS, "-i", "x.npy", *outputs, env=injected(system))
                self.assertEqual(self.files(), ["a.npy", "c.npy", "old.npy", "x.npy"])
                for name, row in zip(("old", "a", "c"), X):
                    self.assert_same(self.load(name), row[None])
                (self.folder / "c.npy").unlink()

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
                            (f"{NAMED},open:EEXIST:1:2", ".dmlop-")]:
            with self.subTest(fault):
                self.run_program("run", "sum.json", "-i", "x.npy", "-o", "y.npy",
                                 env=injected(fault, path))
                self.assert_same(self.load("y"), X.sum(0, keepdims=True))

    def test_interrupted_calls_for_a_large_file_are_carried_on(self):
        np.save(self.folder / "large.npy", LARGE)
        self.run_program("run", COPY, "-i", "large.npy", "-o", "y.npy", env=injected("posix_fallocate:EINTR:1:2"))
        self.assert_same(self.load("y"), LARGE)

    def test_a_manifest_of_a_pipe(self):
        """It is read in spite of signals, and kept in TMPDIR."""
        case = json.dumps(json.loads(SUM) | {"bindings": {"InputTensor": "x.npy", "OutputTensor": "y.npy"}}) + "\n"
        os.mkfifo(self.folder / "cases.jsonl")
        for fault in ("read:EINTR:1:3", "read:short:1:500"):
            with self.subTest(fault):
                feed = threading.Thread(target=lambda: (self.folder / "cases.jsonl").write_text(case))
                feed.start()
                self.run_program("batch", "cases.jsonl", env=injected(fault, "cases.jsonl"))
                feed.join()
                self.assert_same(self.load("y"), X.sum(0, keepdims=True))
        done = start(["batch", "-"], case.encode(), cwd=self.folder, env=os.environ | {"TMPDIR": str(self.folder / "none")})
        self.assertEqual(done.returncode, 5)
        self.assertIn(f"{self.folder}/none: cannot be created: ", done.stderr.decode())

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
        """Large outputs, and inputs from streams, are kept in a file in TMPDIR."""
        np.save(self.folder / "large.npy", LARGE)
        large = (self.folder / "large.npy").read_bytes()
        with self.small_disk() as disk:
            for folder, message in ((disk, f"{disk}: cannot be written: "),
                                    (disk / "none", f"{disk}/none: cannot be created: ")):
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
        """Small outputs, and large ones, which are composed on disk."""
        def few_at_first():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 4096))

        names = ["old.npy", *(f"part{i}.npy" for i in range(999))]
        split = {"type": "SPLIT", "Axis": 0, "OutputCount": 1000,
                 "bindings": {"InputTensor": "x.npy", "OutputTensors": names}}
        self.write("split.json", split)
        self.write("cases.jsonl", json.dumps(split))
        for width, limit, arguments in [
            (3, few_open_files, ["run", "split.json"]), (3, few_at_first, ["run", "split.json"]),
            (5000, few_open_files, ["run", "split.json"]), (3, few_open_files, ["run", "split.json", "--sync"]),
            (3, few_open_files, ["batch", "cases.jsonl", "-t", "2", "--sync"]),
        ]:
            with self.subTest(width=width, arguments=arguments):
                x = np.arange(1000 * width, dtype="f4").reshape(1000, width)
                self.save(x=x)
                before = set(self.files())
                self.run_program(*arguments, preexec_fn=limit)
                self.assertEqual(set(self.files()), before | set(names))
                for name, row in zip(names, x):
                    self.assertEqual(np.load(self.folder / name).tobytes(), row.tobytes())
                    if name != "old.npy":
                        (self.folder / name).unlink()

    def test_a_fault_among_many_outputs_leaves_none(self):
        names = [f"part{i}.npy" for i in range(99)]
        self.save(x=np.arange(300, dtype="f4").reshape(100, 3))
        split = {"type": "SPLIT", "Axis": 0, "OutputCount": 100}
        self.assert_fails([json.dumps(split), "-i", "x.npy", *(a for name in [*names, "old.npy"] for a in ("-o", name))],
                          "part50.npy", env=injected("pwrite:EIO:51:1"), preexec_fn=few_open_files)

    def test_more_inputs_than_files_may_be_open(self):
        """Inputs are read one after another, whatever their source."""
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

    def test_a_reader_that_leaves_costs_no_file(self):
        self.save(y=X + 1)
        case = json.dumps(json.loads(SUM) | {"bindings": {"InputTensor": "x.npy", "OutputTensor": "z.npy"}})
        self.write("cases.jsonl", case)
        buffer = {"initialValuesDataType": "FLOAT32", "initialValues": [1, 2, 3]}
        self.write("model.json", {"resources": {"A": buffer}, "dispatchables": {}, "commands": [
            {"type": "print", "resource": "A"}, {"type": "writeFile", "resource": "A", "targetPath": "out.npy"}]})
        for arguments, status, files in [
            (["run", SUM, "-i", "x.npy", "--report", "r.json"], 0, ["r.json"]),
            (["run", THIRDS, "-i", "x.npy", "-o", "OutputTensors[1]=out.npy"], 0, ["out.npy"]),
            (["run", COPY, "-i", "x.npy", "--judge", "y.npy", "--report", "r.json"], 1, ["r.json"]),
            (["run", "model.json"], 0, ["out.npy"]),
            (["show", "x.npy", "-o", "p.png"], 0, ["p.png"]),
            (["compare", "x.npy", "y.npy", "--list", "5", "-o", "p.png"], 1, ["p.png"]),
            (["batch", "cases.jsonl", "-v", "--report", "r.jsonl"], 0, ["r.jsonl", "z.npy"]),
        ]:
            with self.subTest(arguments):
                before = self.files()
                read_end, write_end = os.pipe()
                os.close(read_end)
                done = start(arguments, stdout=write_end, cwd=self.folder)
                os.close(write_end)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertEqual(sorted({*self.files()} - {*before}), files)
                for name in files:
                    self.assertGreater((self.folder / name).stat().st_size, 0)
                    (self.folder / name).unlink()

    def test_permissions_follow_the_umask(self):
        for mask, mode in ((0o022, 0o644), (0o077, 0o600), (0o002, 0o664)):
            self.run_program("run", SUM, "-i", "x.npy", "-o", "y.npy",
                             preexec_fn=lambda mask=mask: os.umask(mask))
            self.assertEqual((self.folder / "y.npy").stat().st_mode & 0o777, mode)
            (self.folder / "y.npy").unlink()


    def test_a_planted_link_is_not_followed(self):
        """A link to somebody's file has the first name for a temporary file."""
        (self.folder / "victim").write_text("precious")
        script = 'ln -s victim .dmlop-$$-0.tmp && exec env LD_PRELOAD="$PRELOAD" "$@"'
        for fault in ("", NAMED):
            environment = injected(fault)
            environment["PRELOAD"] = environment.pop("LD_PRELOAD")
            done = subprocess.run(["sh", "-c", script, "sh", DMLOP, "run", SUM, "-i", "x.npy", "-o", "old.npy"],
                                  cwd=self.folder, capture_output=True, check=False, env=environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((self.folder / "victim").read_text(), "precious")
            self.assertFalse((self.folder / "old.npy").is_symlink())
            self.assert_same(self.load("old"), X.sum(0, keepdims=True))
            planted, = self.folder.glob(".dmlop-*")
            self.assertTrue(planted.is_symlink())
            planted.unlink()


class SignalTest(FaultTest):
    def interrupt(self, number, fault="", **options):
        """Sends a signal while one output is written and the other waits for its reader."""
        os.mkfifo(self.folder / "fifo.npy")
        halves = '{"type": "SPLIT", "Axis": 0, "OutputCount": 2}'
        self.save(x=X[:2])
        process = subprocess.Popen(
            [DMLOP, "run", halves, "-i", "x.npy", "-o", "old.npy", "-o", "fifo.npy"],
            cwd=self.folder, stderr=subprocess.PIPE, env=injected(fault), **options)
        try:
            wait_until(lambda: self.has_temporary(process.pid))
            self.assertEqual(bool(list(self.folder.glob(".dmlop-*"))), fault == NAMED)
            process.send_signal(number)
            return process.communicate(timeout=30)[1], process.returncode
        finally:
            process.kill()
            process.communicate()
            (self.folder / "fifo.npy").unlink()

    def has_temporary(self, pid):
        """Whether there is one with a name, or an open file without."""
        with contextlib.suppress(OSError):
            links = [os.readlink(file) for file in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
            return bool(list(self.folder.glob(".dmlop-*"))) or any("(deleted)" in link for link in links)
        return False

    def test_signals_remove_the_temporaries(self):
        names = "HUP INT TERM QUIT USR1 USR2 ALRM XCPU VTALRM PROF POLL PWR STKFLT RTMIN RTMAX"
        for fault in ("", NAMED):
            for name in names.split():
                with self.subTest(name, fault=fault):
                    number = getattr(signal, f"SIG{name}", signal.SIGTERM)
                    self.save(x=X[:2])
                    before = self.snapshot()
                    # The signal ends the process, which a shell shows as 128 + its number.
                    self.assertEqual(self.interrupt(number, fault), (b"", -number))
                    self.assertEqual(self.snapshot(), before)

    def test_kill_leaves_the_targets(self):
        """No other file is left if the file system has files without names."""
        self.save(x=X[:2])
        before = self.snapshot()
        self.interrupt(signal.SIGKILL)
        self.assertEqual(self.snapshot(), before)
        self.interrupt(signal.SIGKILL, NAMED)
        self.assertEqual(before, {n: b for n, b in self.snapshot().items() if not n.startswith(".dmlop-")})

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
        with open(self.folder / "fifo.npy", "wb") as fifo:  # the file opens once big.npy is mapped
            os.truncate(self.folder / "big.npy", 4096)
            fifo.write((self.folder / "other.npy").read_bytes())
        errors = process.communicate(timeout=60)[1].decode()
        self.assertEqual(process.returncode, 5, errors)
        self.assertIn("big.npy", errors)
        self.assertEqual((self.folder / "old.npy").read_bytes(), before)
        self.assertEqual(list(self.folder.glob(".dmlop-*")), [])


class WalkTest(ProgramTest):
    """A fault at each call in turn that concerns the folder out/: kill -9, a signal, a full disk.

    Whatever happens, each target is wholly old or wholly new. After a signal or an error the targets that
    appear together are all old or, where a signal came once they had been published, all new; and there is no
    other file. After kill -9 there may be others with hidden names: where files have no name, only of a target
    that is being replaced, and each is a whole old or new file."""

    OLD = b"precious"

    def setUp(self):
        super().setUp()
        self.save(x=X)
        self.out = self.folder / "out"

    def prepare(self, old):
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        for name in old:
            (self.out / name).write_bytes(self.OLD)

    def start_with(self, fault, arguments):
        return start(arguments, cwd=self.folder, env=injected(fault, "out/")).returncode

    def walk(self, arguments, groups, old=(), step=1, system="", is_new=None):
        """`groups` lists the targets that appear together, `old` those that exist."""
        prefix = system and system + ","
        self.prepare(old)
        self.assertEqual(start(arguments, cwd=self.folder).returncode, 0)
        made = {p.name: p.read_bytes() for p in self.out.iterdir()}
        self.assertEqual(sorted(made), sorted(name for group in groups for name in group))
        before = {name: self.OLD for name in old}

        def is_whole(name, data):
            return data in (before.get(name), made[name]) or (data is not None and is_new and is_new(data))

        def check(exact):
            found = {p.name: p.read_bytes() for p in self.out.iterdir()}
            others = [name for name in found if name not in made]
            for group in groups:
                states = [found.get(name) == before.get(name) for name in group]
                for name in group:
                    self.assertTrue(is_whole(name, found.get(name)), name)
                if exact:
                    self.assertEqual(len(set(states)), 1, "some are old, some are new")
            if exact or not (old or system):
                self.assertEqual(others, [])
            for name in others:
                self.assertRegex(name, r"^\.dmlop-")
                if not system:
                    self.assertTrue(any(is_whole(target, found[name]) for target in old), name)
            return all(found.get(name) == before.get(name) for name in made)

        for what, function, count in (("SIGKILL", "any", 1), ("SIG", "any", 1), ("ENOSPC", "growth", 9999)):
            for call in itertools.count(1, step):
                fault = (("SIGUSR1", "SIGXCPU")[call // step % 2]) if what == "SIG" else what
                with self.subTest(arguments, system=system, fault=fault, call=call):
                    self.prepare(old)
                    status = self.start_with(f"{prefix}{function}:{fault}:{call}:{count}", arguments)
                    all_old = check(exact=fault != "SIGKILL")
                    if status == 0:
                        break
                    self.assertEqual(status, 5 if what == "ENOSPC" else -getattr(signal, fault))
                    if what == "ENOSPC" and len(groups) == 1:
                        self.assertTrue(all_old)
            self.assertGreater(call, 2 * step)

    def test_run(self):
        one = ["run", SUM, "-i", "x.npy", "-o", "out/a.npy"]
        three = ["run", THIRDS, "-i", "x.npy", *(a for name in "abc" for a in ("-o", f"out/{name}.npy"))]
        names = ["a.npy", "b.npy", "c.npy"]
        self.walk(one, [["a.npy"]])
        self.walk(one, [["a.npy"]], ["a.npy"])
        self.walk([*one, "--sync"], [["a.npy"]], ["a.npy"], step=3)
        self.walk(three, [names], step=3)
        self.walk(three, [names], ["a.npy", "c.npy"])
        for system in (NAMED, OLD_KERNEL):
            self.walk(three, [names], ["a.npy", "c.npy"], step=4, system=system)

    def test_batch(self):
        self.write("cases.jsonl", "".join(json.dumps(json.loads(case) | {"bindings": bindings}) + "\n" for case, bindings in [
            (SUM, {"InputTensor": "x.npy", "OutputTensor": "out/sum.npy"}),
            (THIRDS, {"InputTensor": "x.npy", "OutputTensors": [f"out/{name}.npy" for name in "abc"]})]))
        groups = [["sum.npy"], ["a.npy", "b.npy", "c.npy"], ["r.jsonl"]]
        arguments = ["batch", "-q", "-t", "1", "--no-times", "cases.jsonl", "--report", "out/r.jsonl"]

        def is_new(data):
            """A report has the lines of the cases that have ended."""
            with contextlib.suppress(ValueError):
                return [json.loads(line)["line"] for line in data.splitlines()] in ([], [1], [1, 2])
            return False

        self.walk(arguments, groups, ["sum.npy", "b.npy"], step=3, is_new=is_new)
        self.walk([*arguments, "--sync"], groups, ["sum.npy", "b.npy"], step=5, is_new=is_new)

    def test_a_model(self):
        buffer = {"initialValuesDataType": "FLOAT32", "initialValues": [1, 2, 3]}
        self.write("model.json", {
            "$schema": "./_schema.json", "resources": {"A": buffer}, "dispatchables": {},
            "commands": [{"type": "writeFile", "resource": "A", "targetPath": name} for name in ("a.npy", "b.bin")]})
        self.walk(["run", "model.json", "--output-path", "out"], [["a.npy", "b.bin"]], ["b.bin"])

    def test_a_picture(self):
        self.walk(["show", "x.npy", "-o", "out/x.png"], [["x.png"]], ["x.png"])

    def test_a_measurement(self):
        def is_new(data):
            with contextlib.suppress(ValueError):
                return "benchmarks" in json.loads(data)
            return False

        desc = {"DataType": "FLOAT32", "Sizes": [3]}
        document = json.dumps({"type": "ELEMENT_WISE_IDENTITY", "InputTensor": desc, "OutputTensor": desc})
        self.walk(["bench", document, "-t", "1", "--min-time", "0.001", "--cache", "hot", "-q", "-o", "out/b.json"],
                  [["b.json"]], ["b.json"], step=3, is_new=is_new)


if __name__ == "__main__":
    unittest.main()
