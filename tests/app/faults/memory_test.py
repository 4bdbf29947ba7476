# SPDX-License-Identifier: Apache-2.0
"""Tensors larger than the memory that the program may allocate, and inputs without an end.

The limit is RLIMIT_DATA: it counts the heap, stacks and other private memory, but not mapped files, whose pages the
system reclaims when it needs them."""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import COPY, DMLOP, JOIN, ProgramTest, start

LIMIT = 64 << 20
ROWS, COLUMNS = 8192, 4096  # 128 MiB of FLOAT32
REDUCE = '{"type": "REDUCE", "Function": "%s", "Axes": %s}'
HALVES = '{"type": "SPLIT", "Axis": %d, "OutputCount": 2}'


def bounded(limit=LIMIT):
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def sliding(image):
    """The columns of 2 x 2 windows over [1, 1, h, w], as UNFOLD defines them."""
    parts = [image[:, :, y:image.shape[2] - 1 + y, x:image.shape[3] - 1 + x].reshape(1, 1, -1)
             for y in range(2) for x in range(2)]
    return np.concatenate(parts, 1)


class LargeTest(ProgramTest):
    @classmethod
    def setUpClass(cls):
        # Small integers, so that sums are exact in any order.
        cls.x = (np.arange(ROWS * COLUMNS, dtype="u4") * 2654435761 >> 29).astype("f4")
        cls.x = cls.x.reshape(ROWS, COLUMNS)
        folder = tempfile.TemporaryDirectory(prefix="dmlop-test-")
        cls.addClassCleanup(folder.cleanup)
        np.save(pathlib.Path(folder.name) / "x.npy", cls.x)
        cls.source = folder.name

    def setUp(self):
        super().setUp()
        (self.folder / "x.npy").symlink_to(pathlib.Path(self.source) / "x.npy")

    def run_bounded(self, *arguments, **options):
        return self.run_program("run", "-t", "2", *arguments,
                                **({"preexec_fn": bounded} | options))

    def assert_file(self, name, expected):
        actual = np.load(self.folder / f"{name}.npy", mmap_mode="r")
        self.assertEqual((actual.dtype, actual.shape), (expected.dtype, expected.shape))
        self.assertTrue(np.array_equal(actual, expected))

    def test_the_limit_is_felt(self):
        """A whole file does not fit into the allowed memory."""
        reader = f"bytearray({self.x.nbytes})"
        done = subprocess.run([sys.executable, "-c", reader], preexec_fn=bounded,
                              capture_output=True, check=False)
        self.assertIn(b"MemoryError", done.stderr)

    def test_identity(self):
        self.run_bounded(COPY, "-i", "x.npy", "-o", "y.npy")
        self.assert_file("y", self.x)

    def test_identity_transposed(self):
        np.save(self.folder / "f.npy", np.asfortranarray(self.x))
        self.run_bounded(COPY, "-i", "f.npy", "-o", "y.npy")
        self.assert_file("y", self.x)

    def test_identity_into_strides(self):
        tensor = {"DataType": "FLOAT32", "Sizes": [ROWS, COLUMNS]}
        self.write("t.json", {"type": "ELEMENT_WISE_IDENTITY", "desc": {
            "InputTensor": tensor, "OutputTensor": tensor | {"Strides": [1, ROWS]}}})
        self.run_bounded("t.json", "-i", "x.npy", "-o", "y.bin")
        actual = np.memmap(self.folder / "y.bin", "f4", "r", shape=(COLUMNS, ROWS))
        self.assertTrue(np.array_equal(actual, self.x.T))

    def test_quantized_into_half_bytes_and_back(self):
        scale = {"DataType": "FLOAT32", "Sizes": [1, 1]}
        four_bits = {"DataType": "UINT4", "Sizes": [ROWS, COLUMNS]}
        fields = {"QuantizationType": "SCALE_ZERO_POINT",
                  "QuantizationTensors": [scale, scale | {"DataType": "UINT4"}]}
        bindings = {"QuantizationTensors": [[1], [0]]}
        self.write("q.json", {"type": "QUANTIZE", **fields, "OutputTensor": four_bits,
                              "bindings": bindings | {"InputTensor": "x.npy"}})
        self.run_bounded("q.json", "-o", "y.bin")
        packed = self.x[:, 0::2].astype("u1") | self.x[:, 1::2].astype("u1") << 4
        actual = np.memmap(self.folder / "y.bin", "u1", "r", shape=packed.shape)
        self.assertTrue(np.array_equal(actual, packed))
        self.write("d.json", {"type": "DEQUANTIZE", **fields, "InputTensor": four_bits,
                              "bindings": bindings | {"InputTensor": "y.bin"}})
        self.run_bounded("d.json", "-o", "y.npy")
        self.assert_file("y", self.x)

    def test_join_and_split(self):
        for axis in (0, 1):
            with self.subTest(axis=axis):
                self.run_bounded(HALVES % axis, "-i", "x.npy", "-o", "a.npy", "-o", "b.npy")
                for name, half in zip("ab", np.split(self.x, 2, axis)):
                    self.assert_file(name, half)
                join = JOIN.replace("0", str(axis))
                self.run_bounded(join, "-i", "a.npy", "-i", "b.npy", "-o", "y.npy")
                self.assert_file("y", self.x)

    def test_many_small_outputs(self):
        """Each fits into memory, but not all together."""
        count = 32
        outputs = [a for i in range(count) for a in ("-o", f"y{i}.npy")]
        self.run_bounded(HALVES.replace("2", str(count)) % 0, "-i", "x.npy", *outputs)
        for i, part in enumerate(np.split(self.x, count)):
            self.assert_file(f"y{i}", part)

    def test_reduce(self):
        for function, axes, expected in [
            ("SUM", [0], self.x.sum(0, keepdims=True, dtype="f8")),
            ("SUM", [1], self.x.sum(1, keepdims=True, dtype="f8")),
            ("MAX", [0, 1], self.x.max(keepdims=True)),
            ("ARGMAX", [1], self.x.argmax(1)[:, None].astype("u4")),
            ("SUM", [], self.x),
        ]:
            with self.subTest(function=function, axes=axes):
                self.run_bounded(REDUCE % (function, axes), "-i", "x.npy", "-o", "y.npy")
                dtype = "u4" if function == "ARGMAX" else "f4"
                self.assert_file("y", expected.astype(dtype))

    def test_unfold(self):
        image = self.x[:2048].reshape(1, 1, 2048, COLUMNS)
        np.save(self.folder / "image.npy", image)
        self.write("unfold.json", {
            "type": "UNFOLD", "WindowSizes": [2, 2], "Strides": [1, 1], "Dilations": [1, 1],
            "StartPadding": [0, 0], "EndPadding": [0, 0]})
        self.run_bounded("unfold.json", "-i", "image.npy", "-o", "y.npy")
        self.assert_file("y", sliding(image))

    def test_indices(self):
        rows = np.random.default_rng(1).integers(-ROWS, ROWS, (1, ROWS))
        np.save(self.folder / "rows.npy", rows)
        gather = '{"type": "GATHER", "Axis": 0, "IndexDimensions": 1}'
        self.run_bounded(gather, "-i", "x.npy", "-i", "rows.npy", "-o", "y.npy")
        self.assert_file("y", self.x[rows[0]])
        order = np.random.default_rng(2).permutation(ROWS)
        np.save(self.folder / "order.npy", order[:, None])
        scatter = '{"type": "SCATTER_ND", "InputDimensionCount": 2, "IndicesDimensionCount": 2}'
        self.run_bounded(scatter, *(a for file in ("x", "order", "x") for a in ("-i", f"{file}.npy")), "-o", "y.npy")
        expected = np.empty_like(self.x)
        expected[order] = self.x
        self.assert_file("y", expected)

    def test_running_sums(self):
        for axis in (0, 1):
            with self.subTest(axis=axis):
                self.write("sums.json", {"type": "CUMULATIVE_SUMMATION", "Axis": axis,
                                         "AxisDirection": "INCREASING", "HasExclusiveSum": False})
                self.run_bounded("sums.json", "-i", "x.npy", "-o", "y.npy")
                self.assert_file("y", self.x.cumsum(axis, dtype="f4"))

    def test_the_other_byte_order(self):
        np.save(self.folder / "big.npy", self.x.astype(">f4"))
        self.run_bounded(COPY, "-i", "big.npy", "-o", "y.npy")
        self.assert_file("y", self.x)

    def test_streams(self):
        with open(self.folder / "x.npy", "rb") as read, open(self.folder / "y.npy", "wb") as written:
            done = subprocess.run([DMLOP, "run", COPY, "-t", "2", "-i", "-", "-o", "-"], check=False,
                                  stdin=read, stdout=written,
                                  preexec_fn=bounded)
        self.assertEqual(done.returncode, 0)
        self.assert_file("y", self.x)
        self.assertEqual((self.folder / "y.npy").read_bytes(), (self.folder / "x.npy").read_bytes())

    def test_pipes(self):
        for name in ("in.npy", "out.npy"):
            os.mkfifo(self.folder / name)
        copies = [threading.Thread(target=copy_file, args=paths) for paths in (
            (self.folder / "x.npy", self.folder / "in.npy"),
            (self.folder / "out.npy", self.folder / "y.npy"))]
        for copy in copies:
            copy.start()
        self.run_bounded(COPY, "-i", "in.npy", "-o", "out.npy")
        for copy in copies:
            copy.join()
        self.assert_file("y", self.x)

    def test_an_output_that_is_printed_or_compared(self):
        text = self.run_bounded(COPY, "-i", "x.npy").stdout
        self.assertIn(b"(Sizes:{8192, 4096}, DataType:FLOAT32)", text)
        self.run_bounded(COPY, "-i", "x.npy", "-e", "x.npy")

    def test_elements_that_share_a_place(self):
        rows = np.repeat(self.x[:1], ROWS, 0)
        tensor = {"DataType": "FLOAT32", "Sizes": [ROWS, COLUMNS]}
        self.write("shared.json", {"type": "REDUCE", "desc": {
            "Function": "MAX", "Axes": [0], "InputTensor": tensor | {"Strides": [0, 1]}}})
        self.save(rows=rows)
        self.run_bounded("shared.json", "-i", "rows.npy", "-o", "y.npy")
        self.assert_file("y", rows[:1])
        rows[-1, 77] += 1
        self.save(rows=rows)
        done = self.run_bounded("shared.json", "-i", "rows.npy", "-o", "y.npy", status=4)
        self.assertIn(b"share place 77 of the buffer", done.stderr)


def copy_file(source, target):
    with open(source, "rb") as read, open(target, "wb") as written:
        while part := read.read(1 << 20):
            written.write(part)


class EndlessTest(ProgramTest):
    """Only as much is read as a header and a descriptor require."""

    def test_devices_that_hold_no_array(self):
        for arguments in (["run", COPY, "-i", "/dev/zero"], ["show", "/dev/zero"],
                          ["compare", "/dev/zero", "/dev/zero"]):
            with self.subTest(arguments):
                done = start(arguments, cwd=self.folder, preexec_fn=bounded)
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertIn(b"/dev/zero: is not a .npy file", done.stderr)

    def feed(self, begin):
        """A pipe that begins like this and never ends."""
        os.mkfifo(self.folder / "endless.npy")

        def write():
            try:
                with open(self.folder / "endless.npy", "wb", buffering=0) as pipe:
                    pipe.write(begin)
                    while True:
                        pipe.write(bytes(1 << 16))
            except BrokenPipeError:
                pass

        thread = threading.Thread(target=write)
        thread.start()
        self.addCleanup(thread.join)

    def test_what_follows_an_array_is_not_read(self):
        self.save(x=np.arange(6, dtype="f4"))
        self.feed((self.folder / "x.npy").read_bytes())
        self.run_program("run", COPY, "-i", "endless.npy", "-o", "y.npy", preexec_fn=bounded)
        self.assert_same(self.load("y"), np.arange(6, dtype="f4"))

    def test_an_array_that_does_not_fit_is_not_read(self):
        self.save(x=np.arange(6, dtype="f4"))
        header = (self.folder / "x.npy").read_bytes()[:128]
        self.feed(header.replace(b"(6,), }             ", b"(1000000000000,), } "))
        self.write("d.json", {"type": "ELEMENT_WISE_IDENTITY",
                              "desc": {"InputTensor": {"DataType": "FLOAT32", "Sizes": [6]}}})
        errors = self.errors_of("run", "d.json", "-i", "endless.npy", status=4, preexec_fn=bounded)
        self.assertIn("endless.npy: has the shape {1000000000000}; expected {6}", errors)

    def test_a_resource(self):
        for size, limit in ((16, 16), (1 << 40, None)):
            with self.subTest(size):
                self.write("m.json", {
                    "resources": {"x": {"initialValuesDataType": "INT8", "sizeInBytes": size,
                                        "initialValues": {"sourcePath": "/dev/zero"}}},
                    "dispatchables": {}, "commands": [{"type": "print", "resource": "x"}]})
                with_room = lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
                errors = self.errors_of("run", "m.json", status=4, preexec_fn=with_room)
                self.assertRegex(errors, r"/dev/zero: has more than \d+ bytes \[RES-6\]")
                if limit is not None:
                    self.assertIn(f"more than {limit} bytes", errors)


if __name__ == "__main__":
    unittest.main()
