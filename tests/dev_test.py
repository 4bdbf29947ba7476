# SPDX-License-Identifier: Apache-2.0
"""Each step of ./dev builds what it needs, whatever an earlier step left in the build tree."""

import itertools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent

# The options that each step needs in the tree of its preset.
STEPS = {("demo",): set(), ("test",): {"TESTS"}, ("test", "tsan"): {"TESTS"}, ("build",): {"TESTS", "BENCH"},
         ("peers",): {"BENCH"}, ("arm64", "quick"): {"TESTS"}, ("fuzz", "1"): {"TESTS"}}

# Replaces every program that ./dev starts; reports all packages as installed.
STAND_IN = """#!/bin/sh
echo "${0##*/} $*" >>"$LOG"
case "$*" in
  *Status*) echo "install ok installed" ;;
  --print-foreign-architectures) echo arm64 ;;
esac
"""


class DevTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dmlop-dev-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        shutil.copy(ROOT / "dev", self.folder)
        (self.folder / "testdata").mkdir()
        programs = ["cmake", "ctest", "dpkg", "dpkg-query", "npm", "qemu-aarch64", "bench/peers.py", "build/release/dmlop",
                    "build/release/tests/dmlop_digest"]
        programs += [f"build/asan-ubsan/tests/fuzz/{name}_fuzz" for name in ("document", "graph", "npy", "operator")]
        for name in programs:
            path = self.folder / (name if "/" in name else f"bin/{name}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(STAND_IN)
            path.chmod(0o755)
        (self.folder / "tests/fuzz").mkdir(parents=True)
        shutil.copy(ROOT / "tests/fuzz/seeds.py", self.folder / "tests/fuzz")
        (self.folder / "tests/fuzz/npy.dict").touch()
        (self.folder / "testdata/a.json").write_text('{"a": 1}')
        (self.folder / "testdata/a.npy").touch()

    def parts(self, step):
        """The options that are on in each preset's tree when it is built."""
        log = self.folder / "log"
        log.write_text("")
        environment = os.environ | {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "LOG": str(log)}
        subprocess.run([self.folder / "dev", *step], env=environment, capture_output=True, timeout=60)
        for line in log.read_text().splitlines():
            words = line.split()
            if words[:2] == ["cmake", "--preset"]:
                self.cache.setdefault(words[2], {}).update(word[2:].split("=") for word in words if word.startswith("-D"))
            if words[:3] == ["cmake", "--build", "--preset"]:
                preset = "asan-ubsan" if words[3] == "fuzz" else words[3]
                yield {name.removeprefix("DMLOP_BUILD_") for name, value in self.cache[preset].items() if value == "ON"}

    def test_steps_do_not_depend_on_what_demo_left_out(self):
        self.cache = {}
        for step in itertools.chain.from_iterable((("demo",), step) for step in STEPS):
            with self.subTest(step):
                built = list(self.parts(step))
                self.assertTrue(built)
                for parts in built:
                    self.assertLessEqual(STEPS[step], parts)


if __name__ == "__main__":
    unittest.main()
