# SPDX-License-Identifier: Apache-2.0
"""All cases of all operators under Valgrind's memcheck, without errors or leaks. Skipped if Valgrind is not
installed."""

import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from program import DMLOP, ROOT, ProgramTest

VALGRIND = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full",
            "--errors-for-leak-kinds=definite"]


@unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
class MemcheckTest(ProgramTest):
    def test_no_operator_misuses_memory(self):
        files = sorted((ROOT / "testdata/operators").glob("*.jsonl"))
        self.write("cases.jsonl", "".join(path.read_text() for path in files))
        # A thread that still waits for work at the end has its own memory, which would count as lost.
        # --bits is not used: in Valgrind, -(0 * 1) + 0 with one rounding is -0.
        command = [*VALGRIND, DMLOP, "batch", "cases.jsonl", "--check", "-q", "-t", "1"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, check=False)
        self.assertEqual((done.stderr, done.returncode), ("", 0))


if __name__ == "__main__":
    unittest.main()
