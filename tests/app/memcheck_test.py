"""Cases of each operator and of each function of REDUCE under Valgrind's memcheck: no error and
nothing lost. Skipped where Valgrind is not installed."""

import shutil
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
from program import DMLOP, ROOT

CASES = ROOT / "testdata/cases"
MOVES = ["identity/scale_bias", "identity/transpose", "join/uneven_parts", "split/equal_parts",
         "unfold/padded"]
VALGRIND = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full",
            "--errors-for-leak-kinds=definite"]


def check(case):
    command = [*VALGRIND, DMLOP, "run", case.name]
    return subprocess.run(command, capture_output=True, text=True, cwd=case.parent, check=False)


@unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
class MemcheckTest(unittest.TestCase):
    def test_no_operator_misuses_memory(self):
        functions = sorted(CASES.glob("reduce/*_of_rows.json"))
        self.assertEqual(len(functions), 12)
        cases = [CASES / f"{name}.json" for name in MOVES] + functions
        with ThreadPoolExecutor() as pool:
            for case, done in zip(cases, pool.map(check, cases)):
                with self.subTest(case.relative_to(CASES)):
                    self.assertEqual(done.stderr, "")
                    self.assertEqual(done.stdout, case.with_suffix(".txt").read_text())
                    self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()
