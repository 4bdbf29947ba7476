#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every row of this folder's README.md names existing tests, and every command of the project's README.md runs."""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
TESTS = pathlib.Path(__file__).resolve().parent
from png_reader import decode_png
from program import DMLOP, ROOT, ProgramTest

ROW = re.compile(r"\|(.+)\|(.+)\|(.+)\|")


class ReadmeTest(unittest.TestCase):
    def test_each_row_has_tests_that_exist(self):
        rows = [ROW.fullmatch(line) for line in (TESTS / "README.md").read_text().splitlines()
                if line.startswith("|") and not line.startswith(("|---", "| fault |"))]
        self.assertGreater(len(rows), 20)
        for row in rows:
            with self.subTest(row[1] if row else None):
                self.assertTrue(row)
                names = re.findall(r"`([^`]+)::([^`]+)`", row[3])
                self.assertTrue(names)
                self.assertEqual(re.sub(r"`[^`]+`|[, ]", "", row[3]), "")
                for path, name in names:
                    text = (TESTS / path).read_text()
                    self.assertTrue(re.search(rf"\b{re.escape(name)}\b", text), name)


# Commands whose status reports differing files or an invalid document.
STATUS = {"dmlop run reduce.json --judge gpu.npy": 1, "dmlop compare gpu.npy sum.npy": 1,
          "dmlop compare product-gpu.npy product.npy": 1, "dmlop batch suite.jsonl --judge gpu": 1,
          "dmlop diagnose suite.jsonl": 1, "sed": 3}

# Commands that are not run: those that install packages or build the project, because this test runs within the build,
# and those that enter a copy of testdata/demo, where it runs.
NOT_RUN = {"./dev demo", "./dev test", "PATH=$PWD/build/release:$PATH",
           "cp -r testdata/demo /tmp/dmlop-demo && cd /tmp/dmlop-demo"}


class ExamplesTest(ProgramTest):
    def setUp(self):
        super().setUp()
        shutil.copytree(ROOT / "testdata/demo", self.folder, dirs_exist_ok=True)
        self.pictures = [ROOT / path for path in re.findall(r'<img src="([^"]+)"', (ROOT / "README.md").read_text())]
        for picture in self.pictures:
            (self.folder / picture.name).unlink()

    @staticmethod
    def commands():
        """Each command of a console block with the output shown below it, and those of shell blocks."""
        text = (ROOT / "README.md").read_text()
        found = []
        for kind, block in re.findall(r"^```(\w+)\n(.*?)^```", text, re.M | re.S):
            if kind == "console":
                found += [(c, shown) for c, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)]
            elif kind == "sh":
                found += [(line, "") for line in block.splitlines()]
        return [(re.sub(r"\s+# .*", "", command), shown.strip()) for command, shown in found]

    def test_every_command_runs_and_prints_what_is_shown(self):
        commands = self.commands()
        self.assertGreater(len(commands), 10)
        self.assertLess(NOT_RUN, {command for command, _ in commands})
        for command, shown in commands:
            with self.subTest(command):
                if command in NOT_RUN:
                    continue
                done = subprocess.run(["bash", "-c", f'dmlop() {{ {DMLOP} "$@"; }}; {command}'], cwd=self.folder,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
                expected = next((s for begin, s in STATUS.items() if command.startswith(begin)), 0)
                self.assertEqual(done.returncode, expected, done.stdout)
                if shown.endswith("\n..."):
                    self.assertTrue(done.stdout.startswith(shown.removesuffix("...")), done.stdout)
                elif shown:
                    self.assertEqual(done.stdout.strip(), shown)
        self.assertTrue(self.pictures)
        for picture in self.pictures:  # equal to the pictures that the commands have drawn
            with self.subTest(picture):
                for shown, drawn in zip(decode_png(picture.read_bytes()),
                                        decode_png((self.folder / picture.name).read_bytes()), strict=True):
                    np.testing.assert_array_equal(shown, drawn)

    def test_the_operators_are_counted(self):
        count = len(self.text_of("ops").splitlines())
        self.assertIn(f"\nAll {count} of DirectML's tensor operators", (ROOT / "README.md").read_text())


if __name__ == "__main__":
    unittest.main()
