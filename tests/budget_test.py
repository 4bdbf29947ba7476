#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Neither the program nor a source of it compiles to more than its share: excessive instantiation shows here first."""

import os
import pathlib
import re
import subprocess
import unittest

BUILD = pathlib.Path(os.environ["BUILD"])
MOST = 500_000  # bytes of code and data; for each source of a unity build
MOST_OF_PROGRAM = 11_000_000  # bytes of code and constants, as GCC makes them of it for x86-64


def loaded_bytes(objects):
    """The size that each object adds to a program, without names and relocations."""
    lines = subprocess.run(["size", *objects], capture_output=True, check=True, text=True).stdout
    for line in lines.splitlines()[1:]:
        text, data, _, _, _, path = line.split(maxsplit=5)
        yield pathlib.Path(path), int(text) + int(data)


def source_count(path):
    """Number of sources of an object: CMake combines some."""
    if path.parent.name != "Unity":
        return 1
    return len(re.findall("^#include", path.with_suffix("").read_text(), re.M))


class BudgetTest(unittest.TestCase):
    def test_no_object_is_too_large(self):
        objects = [path for part in ("app", "core") for path in (BUILD / part).rglob("*.o")]
        self.assertGreater(len(objects), 50)
        for path, size in loaded_bytes(objects):
            with self.subTest(path.relative_to(BUILD)):
                self.assertLessEqual(size, MOST * source_count(path))

    @unittest.skipUnless((os.environ["COMPILER"], os.environ["PROCESSOR"]) == ("GNU", "x86_64"), "others differ")
    def test_the_program_is_not_too_large(self):
        lines = subprocess.run(["size", BUILD / "dmlop"], capture_output=True, check=True, text=True).stdout
        self.assertLessEqual(int(lines.splitlines()[1].split()[0]), MOST_OF_PROGRAM)


if __name__ == "__main__":
    unittest.main()
