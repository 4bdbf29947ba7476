# SPDX-License-Identifier: Apache-2.0
"""Batches across processes: the manual's recipes for GNU parallel and Slurm run on this machine."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
from program import DMLOP, ROOT, X, ProgramTest

CASES = 60
MATRIX = ROOT / "testdata/matrix.jsonl"
SLURM = ["munged", "slurmctld", "slurmd", "sbatch", "scontrol"]
SEARCH = os.environ["PATH"] + ":/usr/sbin:/sbin"


def recipe(tool):
    """The commands that the manual shows for a tool."""
    page = (ROOT / "man/dmlop-batch.1").read_text()
    blocks = re.findall(r"^\.Bd -literal.*\n((?:.*\n)*?)\.Ed$", page, re.M)
    return next(block for block in blocks if block.startswith(tool)).replace("\\e", "\\")


class ClusterTest(ProgramTest):
    def setUp(self):
        super().setUp()
        (self.folder / "bin").mkdir()
        os.symlink(DMLOP, self.folder / "bin/dmlop")
        self.save(x=X)

    def write_cases(self):
        """Writes cases, some of which fail."""
        functions = ["SUM", "MAX", "L2", "ARGMIN"]
        cases = [{"type": "REDUCE", "desc": {"Function": functions[i % 4], "Axes": [0]},
                  "bindings": {"InputTensor": "x.npy" if i % 13 else "none.npy", "OutputTensor": f"y{i}.npy"}}
                 for i in range(CASES)]
        self.write("cases.jsonl", "".join(json.dumps(case) + "\n" for case in cases))
        self.run_as_one_process(status=5)

    def run_as_one_process(self, status=0):
        self.run_program("batch", "cases.jsonl", "-k", "--no-times", "--report", "whole.jsonl", status=status)
        self.outputs = {path: path.read_bytes() for path in self.folder.rglob("*.npy") if path.name != "x.npy"}
        self.assertGreater(len(self.outputs), CASES // 2)
        for path in self.outputs:
            path.unlink()

    def follow(self, script, **environment):
        """Runs a recipe; shards with failed cases end with that status, which does not end the recipe."""
        return subprocess.run(["bash", "-c", script], cwd=self.folder, capture_output=True, text=True, timeout=120,
                              env=os.environ | environment | {"PATH": f"{self.folder}/bin:{SEARCH}", "HOME": str(self.folder)})

    def assert_as_one_process(self, done):
        said = done.stdout + done.stderr + "".join(log.read_text() for log in self.folder.glob("slurm-*.out"))
        self.assertTrue((self.folder / "report.jsonl").exists(), said)
        reports = [(self.folder / name).read_text() for name in ("report.jsonl", "whole.jsonl")]
        self.assertTrue(reports[0] == reports[1], f"{said}{reports[0][:500]}")
        for path, content in self.outputs.items():
            self.assertEqual(path.read_bytes(), content, path)
            path.unlink()

    def test_gnu_parallel(self):
        which = shutil.which("parallel", path=SEARCH)
        if which is None or b"GNU" not in subprocess.run([which, "--version"], capture_output=True).stdout:
            self.skipTest("GNU parallel is not installed")
        self.write_cases()
        self.assert_as_one_process(self.follow(recipe("parallel")))
        self.assertEqual(len(list(self.folder.glob("part-*.jsonl"))), 2)

    def test_slurm(self):
        missing = [tool for tool in SLURM if shutil.which(tool, path=SEARCH) is None]
        if missing:
            self.skipTest(f"Slurm is not installed: {', '.join(missing)}")
        if os.geteuid() != 0:
            self.skipTest("the daemons of Slurm need root")
        with OneNode() as cluster:
            self.write_cases()
            self.assert_as_one_process(self.follow(recipe("sbatch"), **cluster.environment))
            self.assertEqual(len(list(self.folder.glob("part-*.jsonl"))), 4)
            self.write("cases.jsonl", self.run_program("batch", "--expand", MATRIX).stdout)
            self.run_as_one_process()
            self.assert_as_one_process(self.follow(recipe("sbatch"), **cluster.environment))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.1)


class OneNode:
    """A Slurm cluster of just this machine, with all of its files in one folder."""

    def __enter__(self):
        self.processes = []
        self.directory = tempfile.TemporaryDirectory(prefix="dmlop-slurm-")
        self.folder = pathlib.Path(self.directory.name)
        try:
            self.start_munge()
            self.start_slurm()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        self.directory.cleanup()

    def start(self, *command):
        program = shutil.which(command[0], path=SEARCH)
        with open(self.folder / f"{command[0]}.log", "wb") as log:
            self.processes.append(subprocess.Popen([program, *map(str, command[1:])], stdin=subprocess.DEVNULL,
                                                   stdout=log, stderr=log, env=self.environment))

    def start_munge(self):
        self.environment = os.environ | {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": SEARCH}
        os.chmod(self.folder, 0o755)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        self.start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.folder}/munge.socket",
                   f"--pid-file={self.folder}/munge.pid", f"--log-file={self.folder}/munge.log",
                   f"--seed-file={self.folder}/munge.seed")
        wait_until((self.folder / "munge.socket").exists, "munged")

    def start_slurm(self):
        name = socket.gethostname().split(".")[0]
        for kept in ("state", "spool"):
            (self.folder / kept).mkdir()
        (self.folder / "slurm.conf").write_text(f"""
ClusterName=dmlop
SlurmctldHost={name}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
AuthType=auth/munge
AuthInfo=socket={self.folder}/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
NodeName={name} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes={name} Default=YES MaxTime=INFINITE State=UP
""")
        self.start("slurmctld", "-D", "-c", "-f", self.environment["SLURM_CONF"])
        self.start("slurmd", "-D", "-f", self.environment["SLURM_CONF"], "-N", name)
        wait_until(self.is_idle, "a node that is idle")

    def logs(self):
        return "".join(log.read_text(errors="replace") for log in self.folder.glob("*.log"))

    def is_idle(self):
        for process in self.processes:
            if process.poll() is not None:
                raise RuntimeError(f"{process.args[0]} has ended: {self.logs()}")
        asked = subprocess.run([shutil.which("scontrol", path=SEARCH), "show", "nodes"], capture_output=True, text=True,
                               env=self.environment)
        return "State=IDLE" in asked.stdout


if __name__ == "__main__":
    unittest.main()
