#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The released program uses what the compiler and the linker offer against exploits."""

import os
import subprocess
import unittest

DMLOP = os.environ["DMLOP"]


def readelf(*options):
    return subprocess.run(["readelf", "--wide", *options, DMLOP], capture_output=True, check=True,
                          text=True).stdout


class HardeningTest(unittest.TestCase):
    def test_it_is_position_independent(self):
        self.assertIn("DYN (Position-Independent Executable file)", readelf("--file-header"))

    def test_its_relocations_are_read_only(self):
        self.assertIn("GNU_RELRO", readelf("--program-headers"))
        self.assertIn("BIND_NOW", readelf("--dynamic"))

    def test_its_stack_is_not_executable(self):
        stack = [line for line in readelf("--program-headers").splitlines() if "GNU_STACK" in line]
        self.assertEqual(len(stack), 1)
        self.assertNotIn("RWE", stack[0])

    def test_it_checks_stack_and_buffers(self):
        symbols = readelf("--dyn-syms")
        self.assertIn("__stack_chk_fail", symbols)
        if os.environ["CONFIG"] == "Release":
            self.assertRegex(symbols, r"__\w+_chk@")


if __name__ == "__main__":
    unittest.main()
