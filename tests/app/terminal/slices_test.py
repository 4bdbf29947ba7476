# SPDX-License-Identifier: Apache-2.0
"""Slices of dmlop show, against NumPy's own indexing."""

import os
import re
import subprocess
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import DMLOP, X, ProgramTest

SEED = int(os.environ.get("SEED", np.random.SeedSequence().entropy % 2**32))


def random_subscript(random, size):
    """Text that both NumPy and dmlop accept; indices may be out of range."""
    number = lambda: str(random.integers(-size - 2, size + 3)) if random.random() < 0.97 else str(10**int(random.integers(17, 25)))
    kind = random.random()
    if kind < 0.35:
        return str(random.integers(-size - (random.random() < 0.1), max(size, 1) + (random.random() < 0.1)))
    parts = [number() if random.random() < 0.6 else "" for _ in range(2)]
    if random.random() < 0.5:
        parts.append(random.choice(["", "1", "2", "-1", "-2", "3", "-100", "99999999999999999999"]))
    return (" " * random.integers(0, 2)).join(":".join(parts).partition(":"))


def random_slice(random, shape):
    count = random.integers(1, len(shape) + 1)
    subscripts = [random_subscript(random, size) for size in shape[:count]]
    if random.random() < 0.4:
        kept = random.integers(0, count)
        subscripts = subscripts[:kept] + ["..."] + [random_subscript(random, s) for s in shape[len(shape) - (count - kept) + 1:]]
    return "[" + random.choice([",", ", "]).join(subscripts) + random.choice(["", ","]) + "]"


class SliceTest(ProgramTest):
    def test_random_slices_are_numpys(self):
        random = np.random.default_rng(SEED)
        print(f"SEED={SEED}", file=sys.stderr)
        shapes = [(7,), (4, 5), (3, 1, 6), (2, 3, 4, 3), (1, 0, 3), (2, 2, 1, 2, 2)]
        for number in range(24):
            shape = shapes[number % len(shapes)]
            array = np.arange(np.prod(shape)).reshape(shape).astype(random.choice(["f4", "f2", "i8", "u1"]))
            self.save(x=np.asfortranarray(array) if number % 3 == 0 else array)
            slices = [random_slice(random, shape) for _ in range(20)]
            good = [(text, part) for text in slices if (part := self.numpys(array, text)) is not None]
            for text in set(slices) - {text for text, _ in good}:
                with self.subTest(seed=SEED, shape=shape, slice=text):
                    self.assertRegex(self.errors_of("show", "x.npy", text, status=2), r"\n *\^\n$")
            if not good:
                continue
            shown = self.text_of("show", "x.npy", *(text for text, _ in good), "--full")
            for (text, part), block in zip(good, re.split(r"^(?=x\.npy)", shown, flags=re.M)[1:], strict=True):
                with self.subTest(seed=SEED, shape=shape, slice=text):
                    head, values = block.split("\n", 1)
                    self.assertTrue(head.startswith(f"x.npy{text}: (Sizes:{{{', '.join(map(str, part.shape))}}}, "), head)
                    self.assertEqual(re.sub(r"(, |\[) +(?=[-\d])", r"\1", values), self.printed(part))

    def numpys(self, array, text):
        try:
            return eval(f"array{text}", {"array": array})  # the text is from this test
        except IndexError:
            return None

    def printed(self, part):
        """An array as dmlop prints it."""
        if part.size == 0:
            return "[]\n"
        text = str(part.astype(object).tolist() if part.ndim else part.item()).replace(".0", "")
        for depth in range(part.ndim - 1, 0, -1):
            text = text.replace("]" * depth + ", " + "[" * depth, "]" * depth + ",\n" + " " * (part.ndim - depth) + "[" * depth)
        return text + "\n"

    def test_places_are_slices(self):
        array = np.arange(60, dtype="f4").reshape(3, 4, 5)
        self.save(x=array)
        for place, same in [("[1..2, *, 3]", "[1:3, :, 3]"), ("[*, 0..0]", "[:, 0:1]"), ("[0..9, ..., *]", "[0:10, ..., :]"), ("[2 .. 1]", "[2:2]")]:
            with self.subTest(place):
                shown = [self.text_of("show", "x.npy", text, "--full").replace(text, "", 1) for text in (place, same)]
                self.assertEqual(*shown)

    def test_faults_are_pointed_at(self):
        self.save(x=X, s=np.float64(1))
        for name, text, column, message in [
            ("x", "[3]", 1, "no such index in dimension 0 of size 3"),
            ("x", "[0..]", 4, "expected the last index"), ("x", "[0..-1]", 6, "expected the last index"), ("x", "[*2]", 2, "expected ',' or ']'"),
            ("x", "[0, -4]", 4, "no such index in dimension 1 of size 3"),
            ("x", "[0,0,0]", 5, "only 2 dimensions"),
            ("x", "[...,0, ...]", 8, "is given twice"),
            ("x", "[0:2:0]", 5, "a step cannot be 0"),
            ("x", "[0,1", 4, "expected ',' or ']'"),
            ("x", "[0,,1]", 3, "expected an index"),
            ("x", "[]", 1, "expected an index"),
            ("x", "[", 1, "expected an index"),
            ("x", "[1.5]", 2, "expected ',' or ']'"),
            ("x", "[1:2:3:4]", 6, "expected ',' or ']'"),
            ("x", "[-]", 2, "expected a number"),
            ("x", "[0]]", 3, "text after the slice"),
            ("x", "[é]", 1, "expected an index"),
            ("s", "[0]", 1, "only 0 dimensions"),
        ]:
            with self.subTest(text):
                lines = self.errors_of("show", f"{name}.npy", text, status=2).splitlines()
                self.assertIn(message, lines[0])
                self.assertEqual(lines[1:], ["  " + text, " " * (2 + column) + "^"])
        self.assertIn("no file before it", self.errors_of("show", "[0]", status=2))

    def test_a_slice_follows_its_file(self):
        self.save(x=X, y=X + 1)
        shown = self.text_of("show", "x.npy", "[0]", "[1, 1:]", "y.npy", "y.npy", "[..., -1]", "--hex")
        self.assertEqual([line for line in shown.splitlines() if line.startswith(("x", "y"))], [
            "x.npy[0]: (Sizes:{3}, DataType:FLOAT32, order:C)",
            "x.npy[1, 1:]: (Sizes:{2}, DataType:FLOAT32, order:C)",
            "y.npy: (Sizes:{3, 3}, DataType:FLOAT32, order:C)",
            "y.npy[..., -1]: (Sizes:{3}, DataType:FLOAT32, order:strided)",
        ])
        self.assertIn("[0x3F800000, 0x40000000, 0x40400000]\n", shown)

    def test_slices_of_a_stream(self):
        self.save(x=X)
        shown = self.text_of("show", "-", "[2]", "--stats", "--full", stdin=(self.folder / "x.npy").read_bytes())
        self.assertIn("[2, 4, 2]\ncount 3,", shown)


class BitsTest(ProgramTest):
    def test_bits_are_numpys(self):
        random = np.random.default_rng(SEED)
        for dtype in ("f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
            array = np.frombuffer(random.bytes(8 * 50), dtype)
            self.save(x=array)
            words = re.findall("0x([0-9A-F]+)", self.text_of("show", "x.npy", "--hex", "--full"))
            width = 2 * array.itemsize
            self.assertEqual(words, [f"{bits:0{width}X}" for bits in array.view(f"u{array.itemsize}").tolist()])


class LongTest(ProgramTest):
    def test_long_tensors_are_abridged(self):
        self.save(x=np.arange(40 * 50).reshape(40, 50))
        rows = self.text_of("show", "x.npy").splitlines()[1:]
        self.assertEqual(rows[0], "[[   0,    1,    2, ...,   47,   48,   49],")
        self.assertEqual(rows[3], " ...,")
        self.assertEqual(len(rows), 7)
        hidden = self.text_of("show", "x.npy", "[3:37, 3:47]").splitlines()[0]
        self.assertIn("Sizes:{34, 44}", hidden)

    @unittest.skipIf(os.environ.get("SANITIZE"), "sanitizers take more memory than this")
    def test_a_large_tensor_is_printed_in_pieces(self):
        """The 60 MB of text are never in memory at once; the 20 MB file may be."""
        np.lib.format.open_memmap(self.folder / "x.npy", "w+", "u1", (400, 50000)).flush()
        script = (
            "import resource, subprocess, sys; "
            "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        )
        peaks = [
            int(subprocess.run([sys.executable, "-c", script, DMLOP, "show", "x.npy", *options], cwd=self.folder,
                               capture_output=True, check=True).stdout)
            for options in ([], ["--full"])
        ]
        self.assertLess(peaks[0], 40_000)  # KiB
        self.assertLess(peaks[1], peaks[0] + 30_000)


if __name__ == "__main__":
    unittest.main()
