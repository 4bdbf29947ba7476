# SPDX-License-Identifier: Apache-2.0
"""Tensor files compared with NumPy: dmlop reads what it writes, and writes the same files."""

import io
import json
import math
import os
import re
import struct
import sys
import unittest
import warnings
import zipfile
import zlib

import numpy as np
from numpy.lib import format as npy

sys.dont_write_bytecode = True
from program import COPY, SUM, X, ProgramTest, start

DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1"]
SHAPES = [(1,), (1000003,), (7, 5), (2, 3, 4), (1, 1, 5, 1), (2, 1, 3, 1, 2, 2, 1, 3)]
KINDS = {"f": "FLOAT", "i": "INT", "u": "UINT"}
NAMES = {dtype: f"{KINDS[dtype[0]]}{8 * int(dtype[1])}" for dtype in DTYPES}


def npy_bytes(array, version=None):
    file = io.BytesIO()
    npy.write_array(file, array, version)
    return file.getvalue()


def with_header(header, data=b"", version=1):
    """A file with a custom header."""
    text = header.encode("latin1") if isinstance(header, str) else header
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def header(descr="'<f4'", order="False", shape="(3,)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


ONES = np.ones(3, "f4").tobytes()

# The fault, the file, and a part of the message.
WRONG = [
    ("zero bytes", b"", "is not a .npy file"),
    ("another magic", b"PK\x03\x04" + bytes(200), "is not a .npy file"),
    ("the magic alone", b"\x93NUMPY", "truncated"),
    ("a truncated header", npy_bytes(X)[:50], "truncated"),
    ("a header length beyond the file", with_header(header()).replace(b"\x3b\x00", b"\xff\xff", 1)[:90], "truncated"),
    ("a header of gigabytes", b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + bytes(99), "header"),
    ("an empty header", with_header(""), "header"),
    ("data cut by a byte", npy_bytes(X)[:-1], "truncated"),
    ("no data", with_header(header()), "truncated"),
    ("a shape beyond the file", with_header(header(shape="(4294967295, 4294967295)"), ONES), ""),
    ("a shape whose product overflows", with_header(header(shape="(4294967296, 4294967296, 4)"), ONES), ""),
    ("a shape that overflows to the right size", with_header(header(shape="(6148914691236517206, 3)"), ONES), ""),
    ("a size beyond 64 bits", with_header(header(shape="(99999999999999999999,)"), ONES), "shape"),
    ("a negative size", with_header(header(shape="(-3,)"), ONES), "shape"),
    ("a size with a fraction", with_header(header(shape="(3.0,)"), ONES), ""),
    ("a shape that is a number", with_header(header(shape="3"), ONES), ""),
    ("a shape that is a list", with_header(header(shape="[3]"), ONES), ""),
    ("no shape", with_header("{'descr': '<f4', 'fortran_order': False}\n", ONES), "'shape' is missing"),
    ("no descr", with_header("{'fortran_order': False, 'shape': (3,)}\n", ONES), "'descr' is missing"),
    ("no order", with_header("{'descr': '<f4', 'shape': (3,)}\n", ONES), "'fortran_order' is missing"),
    ("an order that is a number", with_header(header(order="0"), ONES), "fortran_order"),
    ("no dictionary", with_header("import os\n", ONES), "header"),
    ("a dictionary without an end", with_header(header().split(",)")[0], ONES), "header"),
    ("33 dimensions", with_header(header(shape="(" + "1, " * 33 + ")"), ONES), "dimensions"),
    ("a pickle", npy_bytes(np.array([{}], object)), "pickle"),
    ("a structured dtype", npy_bytes(np.zeros(3, "f4,i2")), "structured"),
    ("complex numbers", npy_bytes(np.zeros(3, "c8")), "dtype '<c8'"),
    ("text", npy_bytes(np.array(["a"], "<U4")), "dtype '<U4'"),
    ("dates", npy_bytes(np.zeros(3, "M8[s]")), "dtype '<M8[s]'"),
    ("long doubles", npy_bytes(np.zeros(3, "g")), "dtype '<f16'"),
    ("a version to come", with_header(header(), ONES, 4), "version 4.0"),
    ("another version 1", with_header(header(), ONES).replace(b"\1\0", b"\1\7", 1), "version 1.7"),
    ("another version 2", with_header(header(), ONES, 2).replace(b"\2\0", b"\2\1", 1), "version 2.1"),
    ("version 0", with_header(header(), ONES, 0).replace(b"\0\0", b"\0\0", 1), "version 0.0"),
]


class ReadTest(ProgramTest):
    def test_all_that_numpy_writes_is_read_and_written_as_numpy_does(self):
        random = np.random.default_rng(1)
        for dtype in DTYPES:
            for shape in SHAPES:
                size = int(np.prod(shape)) * np.dtype(dtype).itemsize
                array = np.frombuffer(random.bytes(size), dtype).reshape(shape)
                expected = npy_bytes(array)
                variants = {("little", "C", (1, 0))}
                if array.size < 1000:
                    variants |= {("big", "F", (2, 0)), ("big", "C", (3, 0)), ("little", "F", (1, 0))}
                for byte_order, order, version in variants:
                    with self.subTest(f"{dtype} {shape} {byte_order} {order} {version}"):
                        swapped = array.astype(array.dtype.newbyteorder(byte_order[0].upper()), order=order)
                        # astype may quieten a signalling NaN, so the bits are swapped instead.
                        if byte_order == "big":
                            swapped = np.asarray(array.byteswap().view(swapped.dtype), order=order)
                        (self.folder / "in.npy").write_bytes(npy_bytes(swapped, version))
                        self.run_program("run", COPY, "-i", "in.npy", "-o", "out.npy")
                        self.assertEqual((self.folder / "out.npy").read_bytes() == expected, True)

    def test_numpy_loads_and_maps_what_is_written(self):
        for dtype in DTYPES:
            array = np.arange(24).astype(dtype).reshape(2, 3, 4)
            self.save(a=array)
            self.run_program("run", COPY, "-i", "a.npy", "-o", "b.npy")
            self.assert_same(self.load("b"), array)
            mapped = np.load(self.folder / "b.npy", mmap_mode="r")
            self.assertEqual(mapped.offset % 64, 0)
            self.assert_same(np.array(mapped), array)

    def test_bool_is_read_as_uint8_and_a_scalar_as_one_element(self):
        self.save(a=np.array([True, False, True]), b=np.float32(2.5))
        for file, text in [
            ("a.npy", "OutputTensor: (Sizes:{3}, DataType:UINT8)\n[1, 0, 1]\n"),
            ("b.npy", "OutputTensor: (Sizes:{1}, DataType:FLOAT32)\n[2.5]\n"),
        ]:
            self.assertEqual(self.text_of("run", COPY, "-i", file), text)

    def test_show_and_compare_name_bool(self):
        self.save(a=np.array([True, False, True]), b=np.array([True, True, True]), u=np.array([1, 0, 1], "u1"),
                  f=np.float32([1, 0, 1]))
        self.assertTrue(self.text_of("show", "a.npy").startswith("a.npy: (Sizes:{3}, DataType:BOOL, order:C)\n"))
        self.assertEqual(json.loads(self.text_of("show", "a.npy", "--format", "json"))["dataType"], "BOOL")
        self.assertEqual(self.text_of("compare", "a.npy", "f.npy", status=1),
                         "data types differ: actual BOOL, expected FLOAT32\n")
        self.assertEqual(self.text_of("compare", "f.npy", "a.npy", status=1),
                         "data types differ: actual FLOAT32, expected BOOL\n")
        for pair, status, name in ((("b", "a"), 1, "BOOL"), (("a", "u"), 0, "UINT8"), (("u", "a"), 0, "BOOL")):
            text = self.text_of("compare", *(f"{side}.npy" for side in pair), "--format", "json", status=status)
            self.assertEqual(json.loads(text)["dataType"], name)

    def test_a_part_of_a_file_has_the_type_that_is_told(self):
        self.save(a=np.zeros(16, bool))
        whole = (self.folder / "a.npy").read_bytes()
        for data in (whole, whole[:6] + b"\x09" + whole[7:]):  # of bool, and of an unknown version
            self.write("b.bin", data)
            text = self.text_of("show", "b.bin", "--type", "FLOAT32", "--sizes", "2,2", "--offset", "128", "--format", "json")
            self.assertEqual(json.loads(text)["dataType"], "FLOAT32")

    def test_headers_as_other_programs_write_them(self):
        for text in [
            header(), header().replace("'", '"'), header(descr="'f4'"), header(descr="'=f4'"),
            "{'shape':(3,),'fortran_order':False,'descr':'<f4'}", header(shape="( 3 , )"),
            header().strip() + " " * 77 + "\n", header(order="True"),
        ]:
            with self.subTest(text):
                self.write("a.npy", with_header(text, ONES))  # unaligned data
                self.assertIn("[1, 1, 1]", self.text_of("run", COPY, "-i", "a.npy"))

    def test_type_codes_without_a_width(self):
        for code in "dfihHbB?":  # as NumPy interprets them
            dtype = np.uint8 if code == "?" else np.dtype(code)
            for text in (code, "<" + code):
                with self.subTest(text):
                    data = np.array([0, 1, 1], dtype)
                    self.write("a.npy", with_header(header(descr=f"'{text}'"), data.tobytes()))
                    self.run_program("run", COPY, "-i", "a.npy", "-o", "b.npy")
                    self.assert_same(self.load("b"), data)
        self.write("a.npy", with_header(header(descr="'u'"), ONES))
        self.assertIn("UINT32", self.text_of("run", COPY, "-i", "a.npy"))

    def test_bytes_after_the_array_are_accepted(self):
        self.write("a.npy", npy_bytes(X) + b"and more")
        self.run_program("run", COPY, "-i", "a.npy", "-o", "b.npy")
        self.assert_same(self.load("b"), X)

    def test_files_that_are_no_tensor_do_not_fit(self):
        for name, data, message in WRONG:
            with self.subTest(name):
                self.write("wrong.npy", data)
                for arguments in (["run", COPY, "-i", "wrong.npy", "-o", "y.npy"], ["show", "wrong.npy"]):
                    done = start(arguments, cwd=self.folder)
                    self.assertEqual(done.returncode, 4, done.stderr)
                    self.assertIn("wrong.npy: ", done.stderr.decode())
                    self.assertIn(message, done.stderr.decode())
        self.assertEqual(self.files(), ["wrong.npy"])

    def test_no_prefix_of_a_file_is_taken_for_the_file(self):
        whole = npy_bytes(X)
        for length in range(0, len(whole), 7):
            self.write("a.npy", whole[:length])
            self.run_program("show", "a.npy", status=4)


class RawTest(ProgramTest):
    """Raw files are the physical buffer; .npy files are the logical tensor."""

    def document(self, sizes, strides=None, output=None, dtype="FLOAT32", **fields):
        tensor = {"DataType": dtype, "Sizes": sizes, "Strides": strides, **fields}
        return json.dumps({"type": "ELEMENT_WISE_IDENTITY", "InputTensor": tensor, "OutputTensor": output})

    def run_raw(self, document, data, name="b.npy"):
        self.write("a.bin", data)
        self.run_program("run", document, "-i", "a.bin", "-o", name)
        return self.load("b") if name == "b.npy" else (self.folder / name).read_bytes()

    def test_each_type_is_read_and_written_raw(self):
        for dtype, name in NAMES.items():
            array = np.arange(5).astype(dtype)
            padding = bytes(-array.nbytes % 4)  # the buffer's size is a multiple of 4
            written = self.run_raw(self.document([5], dtype=name), array.tobytes() + padding, "b.dat")
            self.assertEqual(written, array.tobytes() + padding)

    def test_strides_of_an_input_say_where_its_elements_are(self):
        memory = np.arange(40, dtype="f4")
        for name, sizes, strides in [
            ("packed", [2, 3], None), ("transposed", [2, 3], [1, 2]), ("padded rows", [2, 3], [5, 1]),
            ("broadcast rows", [4, 3], [0, 1]), ("all broadcast", [2, 2], [0, 0]),
            ("NHWC", [1, 3, 2, 2], [12, 1, 6, 3]), ("overlapping windows", [5, 3], [1, 1]),
            ("every other element", [2, 3], [6, 2]), ("gaps all over", [2, 2, 2], [20, 7, 3]),
        ]:
            with self.subTest(name):
                bytes_of = tuple(4 * s for s in strides or [3, 1])
                expected = np.lib.stride_tricks.as_strided(memory, sizes, bytes_of)
                document = self.document(sizes, strides, TotalTensorSizeInBytes=memory.nbytes)
                actual = self.run_raw(document, memory.tobytes())
                self.assert_same(actual, np.ascontiguousarray(expected))

    def test_strides_of_an_output_say_where_its_elements_go(self):
        for sizes, strides in [([2, 3], [5, 1]), ([2, 3], [1, 2]), ([2, 3], [8, 2]), ([1, 3], [0, 1])]:
            with self.subTest(strides):
                count = int(np.prod(sizes))
                extent = 1 + sum((n - 1) * s for n, s in zip(sizes, strides))
                expected = np.zeros(extent, "f4")
                values = np.arange(1, count + 1, dtype="f4").reshape(sizes)
                np.lib.stride_tricks.as_strided(expected, sizes, [4 * s for s in strides])[:] = values
                output = {"Strides": strides}
                written = self.run_raw(self.document(sizes, output=output), values.tobytes(), "b.raw")
                self.assertEqual(written, expected.tobytes())
                self.assert_same(self.run_raw(self.document(sizes, output=output), values.tobytes()), values)

    def test_a_raw_file_is_as_long_as_its_tensor(self):
        """The size may be rounded up to a multiple of 4 bytes, and TotalTensorSizeInBytes may be greater."""
        padded = self.document([2, 3], [5, 1], TotalTensorSizeInBytes=40)
        packed = self.document([2, 3])
        bytes_of_3 = self.document([3], dtype="INT8")
        bytes_of_6 = self.document([3], dtype="INT16", TotalTensorSizeInBytes=16)
        for document, size, message in [
            (padded, 39, "is too small: it has 39 bytes; expected at least 40\n"),
            (padded, 40, None),
            (padded, 41, "is too large: it has 41 bytes; expected 40 (a.bin@OFFSET is what begins at a byte of it, "
                         "and TotalTensorSizeInBytes declares a longer buffer)\n"),
            (packed, 23, "is too small: it has 23 bytes; expected at least 24\n"), (packed, 24, None),
            (packed, 40, "is too large: it has 40 bytes; expected 24"),
            (bytes_of_3, 2, "is too small: it has 2 bytes; expected at least 3, or 4 rounded up to a multiple of 4\n"),
            (bytes_of_3, 3, None), (bytes_of_3, 4, None),
            (bytes_of_3, 5, "is too large: it has 5 bytes; expected 3, or 4 rounded up to a multiple of 4 ("),
            (bytes_of_6, 8, "is too small: it has 8 bytes; expected at least 16\n"), (bytes_of_6, 16, None),
        ]:
            with self.subTest(size=size, message=message):
                self.write("a.bin", bytes(size))
                if message:
                    self.assertIn(f"a.bin: {message}", self.errors_of("run", document, "-i", "a.bin", status=4))
                else:
                    self.run_raw(document, bytes(size))

    def test_a_raw_file_with_the_npy_magic_is_refused(self):
        self.write("a.bin", npy_bytes(np.zeros((2, 3), "f4")))
        self.assertIn(".npy", self.errors_of("run", self.document([2, 3]), "-i", "a.bin", status=4))

    def test_what_numpy_repeats_is_told_and_runs(self):
        """The Sizes and Strides of the message, put into the descriptor, give NumPy's result."""
        for a, b in [((3, 4), (1, 4)), ((3, 4), (4,)), ((3, 4), (3, 1)), ((3, 4), (1,)), ((3, 4), ()), ((1, 4), (3, 4)),
                     ((3, 1), (1, 4)), ((2, 3, 4), (3, 1)), ((2, 1, 4), (2, 3, 4)), ((4,), (3, 4))]:
            with self.subTest(a=a, b=b):
                arrays = {"a": np.arange(1, 1 + math.prod(a), dtype="f4").reshape(a),
                          "b": np.arange(10, 10 + math.prod(b), dtype="f4").reshape(b)}
                self.save(**arrays)
                inputs = ["-i", "a.npy", "-i", "b.npy"]
                operator = {"type": "ELEMENT_WISE_ADD"}
                said = self.errors_of("run", json.dumps(operator), *inputs, status=3)
                descs = {name: {"DataType": "FLOAT32", "Sizes": list(shape) or [1]} for name, shape in zip(("ATensor", "BTensor"), (a, b))}
                self.assertEqual(re.findall("; .* repeat", said),
                                 re.findall("; .* repeat", self.errors_of("validate", json.dumps(operator | descs), status=3)))
                ways = re.findall(r'; ("Sizes": \S.*?\], "Strides": .*?\]) repeat (\w+)', said)
                self.assertGreater(len(ways), 0, said)
                for desc, tensor in ways:
                    operator[tensor] = json.loads("{" + desc + "}")
                self.run_program("run", json.dumps(operator), *inputs, "-o", "sum.npy")
                self.assert_same(self.load("sum"), arrays["a"] + arrays["b"])
        for a, b in [((3, 4), (3,)), ((3, 4), (2, 4)), ((2, 3), (4, 2, 2))]:
            self.save(a=np.ones(a, "f4"), b=np.ones(b, "f4"))
            said = self.errors_of("run", '{"type": "ELEMENT_WISE_ADD"}', "-i", "a.npy", "-i", "b.npy", status=3)
            self.assertNotIn("repeat", said)
        self.save(x=np.ones((2, 3), "f4"), scale=np.array([0.5], "f4"))
        said = self.errors_of("run", '{"type": "ELEMENT_WISE_QUANTIZE_LINEAR", "OutputTensor": {"DataType": "UINT8"}}',
                              "-i", "x.npy", "-i", "scale.npy", status=3)
        self.assertIn('Sizes are {1}; expected {2, 3}; "Sizes": [2, 3], "Strides": [0, 0] repeat ScaleTensor', said)

    def test_an_npy_is_laid_out_into_the_strides(self):
        self.save(a=X)
        for strides in ([1, 3], [5, 1], [3, 1]):
            self.run_program("run", self.document([3, 3], strides), "-i", "a.npy", "-o", "b.npy")
            self.assert_same(self.load("b"), X)

    def test_a_broadcast_dimension_takes_size_1_or_values_that_agree(self):
        document = self.document([3, 3], [0, 1])
        expected = np.broadcast_to(X[:1], (3, 3))
        for array in (X[:1], expected, np.asfortranarray(expected)):
            self.save(a=array)
            self.run_program("run", document, "-i", "a.npy", "-o", "b.npy")
            self.assert_same(self.load("b"), np.ascontiguousarray(expected))
        for array in (X, X[:2], X[:, :1]):
            self.save(a=array)
            self.assertRegex(self.errors_of("run", document, "-i", "a.npy", status=4), "a.npy: (has the shape|by the Strides of the tensor, some)")

    def test_overlapping_elements_of_an_npy_must_agree(self):
        document = self.document([3, 2], [1, 1])
        self.save(a=np.array([[1, 2], [2, 3], [3, 4]], "f4"))
        self.assertIn("[[1, 2],\n [2, 3],\n [3, 4]]", self.text_of("run", document, "-i", "a.npy"))
        self.save(a=np.array([[1, 2], [9, 3], [3, 4]], "f4"))
        self.run_program("run", document, "-i", "a.npy", status=4)


class ShapeTest(ProgramTest):
    """--reshape accepts arrays of any shape with as many elements, in row-major order; without it they are refused."""

    ADD = json.dumps({"type": "ELEMENT_WISE_ADD", "ATensor": {"DataType": "FLOAT32", "Sizes": [2, 2, 18]},
                      "BTensor": {"DataType": "FLOAT32", "Sizes": [2, 2, 18], "Strides": [0, 1, 0]}})

    def setUp(self):
        super().setUp()
        self.x = np.random.default_rng(3).normal(size=(2, 4, 3, 3)).astype("f4")
        self.b = np.float32([1, -1])
        self.sum = self.x.reshape(2, 2, 18) + self.b.reshape(1, 2, 1)
        self.save(x=self.x, f=np.asfortranarray(self.x), b=self.b, sum=self.sum, flat=self.sum.reshape(4, 18), other=self.x[:1])
        np.savez_compressed(self.folder / "all.npz", x=self.x, flat=self.sum.reshape(-1))

    def test_every_command(self):
        document = json.loads(self.ADD)
        self.write("d.json", document | {"bindings": {"ATensor": "x.npy", "BTensor": "b.npy"}})
        self.write("c.jsonl", json.dumps(document | {"bindings": {"ATensor": "all.npz:x", "BTensor": "b.npy", "OutputTensor": "all.npz:flat"}}))
        self.write("r.jsonl", json.dumps(document | {"bindings": {"ATensor": "x.npy", "BTensor": "b.npy", "OutputTensor": "o.npy"}}))
        for arguments, status in [
            (["run", "d.json", "-e", "flat.npy"], 4), (["run", "d.json", "--judge", "all.npz:flat"], 4),
            (["run", self.ADD, "-i", "f.npy", "-i", "b.npy", "-e", "sum.npy"], 4),
            (["run", self.ADD, "-i", "all.npz:x", "b.npy", "-e", "sum.npy"], 4),
            (["batch", "c.jsonl", "--check"], 4), (["batch", "c.jsonl", "--judge"], 4), (["batch", "r.jsonl"], 4),
            (["explain", "d.json", "OutputTensor[1,1,17]"], 4),
            (["bench", "d.json", "--min-time", "1ms", "--cache", "hot"], 4),
            (["validate", "d.json", "--to-model"], 4),
            (["compare", "flat.npy", "sum.npy", "--bits"], 1),
            (["compare", "f.npy", "x.npy", "--bits"], 0),
        ]:
            with self.subTest(arguments):
                self.run_program(*arguments, "--reshape")
                said = self.run_program(*arguments, status=status)
                if status > 0:
                    self.assertIn("--reshape", said.stderr.decode() + said.stdout.decode())
        self.assert_same(self.load("o"), self.sum)
        stream = (self.folder / "x.npy").read_bytes()
        self.run_program("run", self.ADD, "-i", "-", "-i", "b.npy", "-e", "sum.npy", "--reshape", stdin=stream)

    def test_messages_lead_to_it_where_it_helps(self):
        for file, message in [
            ("x.npy", "x.npy: has the shape {2, 4, 3, 3}; expected {2, 2, 18}, of as many elements, which --reshape takes it for\n"),
            ("other.npy", "other.npy: has the shape {1, 4, 3, 3}; expected {2, 2, 18}\n"),
        ]:
            self.assertIn(message, self.errors_of("run", self.ADD, "-i", file, "-i", "b.npy", status=4))
        self.assertIn("other.npy: has the shape {1, 4, 3, 3}; expected {2, 2, 18}\n",
                      self.errors_of("run", self.ADD, "-i", "other.npy", "-i", "b.npy", "--reshape", status=4))
        self.assertIn("which --reshape takes", self.errors_of("run", self.ADD, "-i", "sum.npy", "-i", "b.npy", status=4))
        self.assertEqual(self.text_of("compare", "other.npy", "sum.npy", "--reshape", status=1),
                         "shapes differ: actual {1, 4, 3, 3}, expected {2, 2, 18}\n")
        self.assertIn("--reshape", self.text_of("compare", "flat.npy", "sum.npy", status=1))
        self.errors_of("validate", self.ADD, "--reshape", status=2)

    def test_values_that_a_dimension_repeats_may_stand_once(self):
        for sizes, strides, values in [
            ([3, 4], [0, 0], [2]), ([3, 4], [0, 0], [[2]]), ([3, 4], [0, 1], [1, 2, 3, 4]), ([3, 4], [0, 1], [[1, 2, 3, 4]]),
            ([3, 4], [1, 0], [[1], [2], [3]]), ([3, 4], [1, 0], [1, 2, 3]), ([3, 4], [0, 1], [[1, 2, 3, 4]] * 3), ([4], [0], [5]),
        ]:
            tensor = {"DataType": "FLOAT32", "Sizes": sizes, "Strides": strides}
            document = json.dumps({"type": "ELEMENT_WISE_IDENTITY", "InputTensor": tensor, "bindings": {"InputTensor": values}})
            shape = [1 if stride == 0 else size for size, stride in zip(sizes, strides)]
            array = np.float32(values)
            expected = np.broadcast_to(array if array.size == np.prod(sizes) else array.reshape(shape), sizes)
            self.run_program("run", document, "-o", "y.npy")
            self.assert_same(self.load("y"), np.ascontiguousarray(expected))
        for values, message in [([1, 2], "the array has 2 values; expected 12"), ([[1], [2], [3]], "the array has 1 value; expected 4")]:
            document = json.dumps({"type": "ELEMENT_WISE_IDENTITY", "bindings": {"InputTensor": values},
                                   "InputTensor": {"DataType": "FLOAT32", "Sizes": [3, 4], "Strides": [0, 1]}})
            self.assertIn(message, self.errors_of("run", document, status=3))


class NibbleTest(ProgramTest):
    """INT4 and UINT4: one element per byte in .npy files; two in raw files, the first one in the low half."""

    SCALE = {"DataType": "FLOAT32", "Sizes": [1]}

    def dequantize(self, tensor, name):
        document = {"type": "DEQUANTIZE", "QuantizationType": "SCALE_ZERO_POINT", "InputTensor": tensor,
                    "QuantizationTensors": [self.SCALE, {"DataType": tensor["DataType"], "Sizes": [1]}],
                    "bindings": {"QuantizationTensors": [[1], [0]]}}
        self.run_program("run", json.dumps(document), "-i", name, "-o", "y.npy")
        return self.load("y")

    def quantize(self, values, tensor, name):
        document = {"type": "QUANTIZE", "QuantizationType": "SCALE_ZERO_POINT", "OutputTensor": tensor,
                    "QuantizationTensors": [self.SCALE, {"DataType": tensor["DataType"], "Sizes": [1]}],
                    "bindings": {"QuantizationTensors": [[1], [0]]}}
        self.save(x=np.array(values, "f4"))
        self.run_program("run", json.dumps(document), "-i", "x.npy", "-o", name)

    def test_npy_files_hold_their_values(self):
        for type, dtype, least in (("INT4", "i1", -8), ("UINT4", "u1", 0)):
            values = np.arange(least, least + 16, dtype=dtype)
            self.save(a=values)
            tensor = {"DataType": type, "Sizes": [16]}
            self.assert_same(self.dequantize(tensor, "a.npy"), values.astype("f4"))
            self.quantize(np.arange(least - 2, least + 18), tensor | {"Sizes": [20]}, "b.npy")
            self.assert_same(self.load("b"), np.array([*[least] * 2, *values, *[least + 15] * 2], dtype))

    def test_npy_files_with_other_values_do_not_fit(self):
        for type, array, message in [
            ("UINT4", np.array([3, 16], "u1"), "has the value 16 at [1]; those of UINT4 are in [0, 15]"),
            ("INT4", np.array([-9, 3], "i1"), "has the value -9 at [0]; those of INT4 are in [-8, 7]"),
            ("INT4", np.array([0, 8], "i1"), "has the value 8 at [1]; those of INT4 are in [-8, 7]"),
            ("INT4", np.array([0, 1], "u1"), "has the data type UINT8; expected INT8, whose values are INT4"),
            ("UINT4", np.array([0, 1], "f4"), "has the data type FLOAT32; expected UINT8, whose values are UINT4"),
        ]:
            with self.subTest(message):
                self.save(a=array)
                document = {"type": "DEQUANTIZE", "QuantizationType": "SCALE",
                            "InputTensor": {"DataType": type, "Sizes": [2]},
                            "QuantizationTensors": [self.SCALE], "bindings": {"QuantizationTensors": [[1]]}}
                self.assertIn(f"a.npy: {message}\n",
                              self.errors_of("run", json.dumps(document), "-i", "a.npy", status=4))

    def test_raw_files_are_packed(self):
        tensor = {"DataType": "UINT4", "Sizes": [5]}
        for data in (b"\x21\x43\x05", b"\x21\x43\xf5\xff"):  # the unused half is ignored
            self.write("a.bin", data)
            self.assert_same(self.dequantize(tensor, "a.bin"), np.arange(1, 6, dtype="f4"))
        self.quantize([1, 2, 3, 4, 5], tensor, "b.bin")
        self.assertEqual((self.folder / "b.bin").read_bytes(), b"\x21\x43\x05\0")
        self.quantize([-1, -8, 7], {"DataType": "INT4", "Sizes": [3]}, "b.bin")
        self.assertEqual((self.folder / "b.bin").read_bytes(), b"\x8f\x07\0\0")

    def test_strides_count_elements(self):
        transposed = {"DataType": "INT4", "Sizes": [2, 3], "Strides": [1, 2]}
        self.write("a.bin", b"\x21\x43\xf8")
        self.assert_same(self.dequantize_2d(transposed), np.array([[1, 3, -8], [2, 4, -1]], "f4"))

    def dequantize_2d(self, tensor):
        document = {"type": "DEQUANTIZE", "QuantizationType": "SCALE", "InputTensor": tensor,
                    "QuantizationTensors": [self.SCALE | {"Sizes": [1, 1]}],
                    "bindings": {"QuantizationTensors": [[1]]}}
        self.run_program("run", json.dumps(document), "-i", "a.bin", "-o", "y.npy")
        return self.load("y")

    def test_output_strides_leave_halves_of_bytes_zero(self):
        self.quantize([1, 2, 3], {"DataType": "UINT4", "Sizes": [3], "Strides": [3]}, "b.bin")
        self.assertEqual((self.folder / "b.bin").read_bytes(), b"\x01\x20\0\x03")

    def test_a_raw_file_is_as_long_as_its_tensor(self):
        tensor = {"DataType": "UINT4", "Sizes": [9]}
        for size, message in [(4, "too small: it has 4 bytes; expected at least 5, or 8 rounded up"),
                              (9, "too large: it has 9 bytes; expected 5, or 8 rounded up")]:
            self.write("a.bin", bytes(size))
            document = {"type": "DEQUANTIZE", "QuantizationType": "SCALE", "InputTensor": tensor,
                        "QuantizationTensors": [self.SCALE], "bindings": {"QuantizationTensors": [[1]]}}
            self.assertIn(message, self.errors_of("run", json.dumps(document), "-i", "a.bin", status=4))

    def test_an_array_that_is_left_out_takes_the_files_that_are_left(self):
        document = json.dumps({"type": "QUANTIZE", "QuantizationType": "SCALE_ZERO_POINT"})
        self.save(x=np.array([[1, 2], [3, 4]], "f4"), s=np.array([[0.5, 1]], "f4"),
                  z=np.array([[1, -1]], "i1"))
        expected = "OutputTensor: (Sizes:{2, 2}, DataType:INT8)\n[[3, 1],\n [7, 3]]\n"
        for files in (["x.npy", "s.npy", "z.npy"],
                      ["QuantizationTensors/1=z.npy", "x.npy", "s.npy"],
                      ["s.npy", "InputTensor=x.npy", "z.npy"]):
            arguments = [argument for file in files for argument in ("-i", file)]
            self.assertEqual(self.text_of("run", document, *arguments), expected)


class ArchiveTest(ProgramTest):
    """Arrays of .npz archives, as x.npz:NAME."""

    def setUp(self):
        super().setUp()
        self.x = np.arange(12, dtype="f4").reshape(3, 4)
        self.big = np.random.default_rng(1).normal(size=700_000).astype("f4")  # takes several steps to read
        arrays = {"x": self.x, "deep/y": (self.x + 1).astype(">f4"), "big": self.big, "f": np.asfortranarray(self.x)}
        np.savez(self.folder / "stored.npz", **arrays)
        np.savez_compressed(self.folder / "packed.npz", **arrays)
        self.save(x=self.x, y=self.x + 1, big=self.big)

    # np.savez does not align arrays.
    def test_comparisons_are_those_of_plain_files(self):
        rng = np.random.default_rng(5)
        for dtype in DTYPES:
            for order in "CF":
                with self.subTest(dtype=dtype, order=order):
                    a = np.array(rng.integers(0, 100, (37, 53)), dtype, order=order)
                    b = a.copy()
                    where = rng.random(a.shape) < 0.02
                    b[where] += np.array(rng.integers(1, 3, where.sum()), dtype)
                    if a.dtype.kind == "f":
                        b[rng.random(a.shape) < 0.001] = np.nan
                    self.save(a=a, b=b)
                    for padding, name in enumerate(("a", "b")):
                        np.savez(self.folder / f"{name}.npz", **{"x" * (padding + 1): np.load(self.folder / f"{name}.npy")})
                    for options in ([], ["--rtol", "0.02"], ["--list", "5", "--map"]):
                        verdicts = [json.loads(self.text_of("compare", *files, *options, "--format", "json", status=1))
                                    for files in (("a.npy", "b.npy"), ("a.npz:x", "b.npz:xx"), ("a.npz:x", "b.npy"))]
                        self.assertEqual(verdicts[0], verdicts[1])
                        self.assertEqual(verdicts[0], verdicts[2])

    def test_arrays_are_those_of_the_members(self):
        for archive in ("stored.npz", "packed.npz"):
            for name, file in (("x", "x"), ("x.npy", "x"), ("deep/y", "y"), ("big", "big"), ("f", "x")):
                self.run_program("compare", f"{archive}:{name}", f"{file}.npy", "--bits")
        self.assertIn("[4, 5, 6, 7]", self.text_of("show", "packed.npz:x", "[1]"))

    def test_they_are_inputs_and_expected_files(self):
        self.write("d.json", json.loads(SUM) | {"bindings": {"InputTensor": "packed.npz:x", "OutputTensor": "o.npy"}})
        self.run_program("run", "d.json", "--report", "r.json")
        self.assert_same(self.load("o"), self.x.sum(0, keepdims=True))
        self.assertEqual(json.loads((self.folder / "r.json").read_text())["inputs"][0]["path"], "packed.npz:x")
        np.savez(self.folder / "golden.npz", sum=self.x.sum(0, keepdims=True))
        self.run_program("run", SUM, "-i", "stored.npz:x", "-e", "golden.npz:sum")
        self.assertIn("sum: 12\n", self.text_of("explain", SUM, "OutputTensor[0,0]", "-i", "stored.npz:x"))
        model = json.loads(self.text_of("validate", "d.json", "--to-model"))
        self.assertNotIn("npz", json.dumps(model["resources"]))

    def test_batches(self):
        self.write("c.jsonl", json.dumps(json.loads(SUM) | {"bindings": {"InputTensor": "packed.npz:x", "OutputTensor": "o.npy"}}))
        for name in ("packed.npz", "c.jsonl"):
            os.utime(self.folder / name, (10, 10))
        self.run_program("batch", "c.jsonl", "--report", "a.jsonl", "--no-times")
        self.assertIn("1 up to date", self.errors_of("batch", "c.jsonl", "--resume", "--report", "b.jsonl", "--no-times"))
        done, again = ((self.folder / f"{name}.jsonl").read_text() for name in "ab")
        self.assertEqual(again.replace("up-to-date", "done"), done)
        os.utime(self.folder / "packed.npz")
        self.assertIn("1 done", self.errors_of("batch", "c.jsonl", "--resume"))

    def test_what_does_not_fit(self):
        for arguments, status, message in [
            (["show", "stored.npz"], 2, "stored.npz: is an archive of arrays; one of them is written stored.npz:NAME, and it has x, deep/y, big, f"),
            (["show", "stored.npz:z"], 4, "stored.npz: has no array 'z'; it has x, deep/y, big, f"),
            (["show", "none.npz:x"], 5, "none.npz: cannot be opened"),
            (["run", SUM, "-i", "stored.npz:x", "-o", "new.npz:o"], 2, "new.npz:o: arrays are not written into archives"),
            (["run", SUM, "-i", "stored.npz:x", "-o", "o.npy", "--report", "stored.npz"], 2, "stored.npz"),
            (["run", SUM, "-i", "stored.npz:deep/y", "-e", "stored.npz:x"], 1, "shapes differ"),
        ]:
            self.assertIn(message, (done := self.run_program(*arguments, status=status)).stderr.decode() + done.stdout.decode())

    def test_outputs_that_are_not_written_may_be_bound_to_arrays_of_archives(self):
        bound = json.loads(SUM) | {"bindings": {"InputTensor": "stored.npz:x", "OutputTensor": "stored.npz:f"}}
        refused = "arrays are not written into archives"
        self.write("bound.json", json.dumps(bound))
        self.run_program("run", "bound.json", "-o", "sum.npy")
        for arguments, status in [(["run", "-e", "sum.npy"], 0), (["run", "--judge", "sum.npy"], 0), (["run", "--judge", "stored.npz:f"], 1),
                                  (["run"], 2), (["validate"], 2), (["explain", "OutputTensor[0,0]"], 0), (["diagnose", "sum.npy"], 0),
                                  (["bench", "--min-time", "1ms"], 0)]:
            with self.subTest(arguments):
                done = self.run_program(arguments[0], "bound.json", *arguments[1:], status=status)
                self.assertEqual(refused in done.stderr.decode(), status == 2)

    def test_archives_that_are_damaged(self):
        packed, stored = ((self.folder / f"{name}.npz").read_bytes() for name in ("packed", "stored"))
        where = packed.index(b"x.npy") + 60
        entry = packed.rindex(b"PK\x01\x02", 0, packed.rindex(b"big.npy"))
        huge = packed[:entry + 24] + (0xFFFFFF00).to_bytes(4, "little") + packed[entry + 28:]
        for content, name, message in [
            (b"text", "x", "is not a .npz archive"), (b"", "x", "is not a .npz archive"),
            *((packed[:-cut], "x", "is cut off: an archive ends with the list of its arrays") for cut in (1, 8, 12, 22, 30, 200)),
            (stored.replace(self.x.tobytes(), self.big[:12].tobytes(), 1), "x", "damaged.npz:x: is damaged: its checksum does not match"),
            (packed[:where] + bytes(40) + packed[where + 40:], "x", "damaged.npz:x: is damaged"),
            (huge, "big", "damaged.npz:big: claims to be larger than its compressed bytes can make"),
            (stored[:100] + stored[-900:], "big", ""),
        ]:
            self.write("damaged.npz", content)
            self.assertIn(message, self.errors_of("show", f"damaged.npz:{name}", status=4))

    def of_members(self, *members, method=zipfile.ZIP_STORED, comment=b""):
        """An archive of (name, bytes), as Python's zipfile writes it."""
        file = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about duplicate names
            with zipfile.ZipFile(file, "w", method) as archive:
                for name, data in members:
                    archive.writestr(name, data)
                archive.comment = comment
        return file.getvalue()

    @staticmethod
    def widened(archive):
        """The archive with the sizes and places of the members and of the list as 64-bit numbers."""
        end = archive.rindex(b"PK\5\6")
        count, size, begin = struct.unpack("<HII", archive[end + 10:end + 20])
        wide_list, at = b"", begin
        while at < end:
            entry = archive[at:at + 46]
            packed, plain, name, extra, comment = struct.unpack("<IIHHH", entry[20:34])
            member = struct.unpack("<I", entry[42:46])[0]
            wide = struct.pack("<HHB", 0x5455, 1, 0) + struct.pack("<HHQQQ", 1, 24, plain, packed, member)
            wide_list += entry[:20] + b"\xff" * 8 + struct.pack("<HHH", name, extra + len(wide), comment) + entry[34:42]
            wide_list += b"\xff" * 4 + archive[at + 46:at + 46 + name + extra] + wide
            at += 46 + name + extra + comment
        record = b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, count, count, len(wide_list), begin)
        locator = b"PK\6\7" + struct.pack("<IQI", 0, begin + len(wide_list), 1)
        return archive[:begin] + wide_list + record + locator + b"PK\5\6" + bytes(4) + b"\xff" * 12 + b"\0\0"

    def test_archives_of_all_kinds(self):
        one, two, other = (npy_bytes(np.float32([1, k])) for k in (2, 3, 4))
        plain = self.of_members(("a.npy", one), ("b.npy", two))
        packed = self.of_members(("a.npy", one), ("b.npy", two), method=zipfile.ZIP_DEFLATED)
        for name, archive, arrays in [
            ("numbers of 64 bits", self.widened(plain), {"a": 2, "b": 3}),
            ("numbers of 64 bits, packed", self.widened(packed), {"a": 2, "b": 3}),
            ("64 bits and a comment", self.widened(plain)[:-2] + b"\5\0hello", {"a": 2, "b": 3}),
            ("something before it", b"#!/bin/sh\n" + plain, {"a": 2, "b": 3}),
            ("something before 64 bits", b"#!/bin/sh\n" + self.widened(plain), {"a": 2, "b": 3}),
            ("the longest comment", self.of_members(("a.npy", one), comment=b"c" * 65535), {"a": 2}),
            ("the mark of an end in a comment", self.of_members(("a.npy", one), comment=b"PK\5\6" + bytes(30)), {"a": 2}),
            ("a member without .npy", self.of_members(("a", one)), {"a": 2}),
            ("the same, packed", self.of_members(("a", one), ("b", two), method=zipfile.ZIP_DEFLATED), {"a": 2, "b": 3}),
            ("a name with and without .npy", self.of_members(("a.npy", one), ("a", two)), {"a.npy": 2, "a": 3}),
            ("a name twice", self.of_members(("a.npy", one), ("b.npy", two), ("a.npy", other)), {"a": 4, "b": 3}),
            ("what is no array", self.of_members(("READ.ME", b"text"), ("deep/", b""), ("a.npy", one)), {"a": 2}),
        ]:
            with self.subTest(name):
                self.write("a.npz", archive)
                for array, value in arrays.items():
                    self.assertIn(f"[1, {value}]", self.text_of("show", f"a.npz:{array}"))
                    if name.endswith(("before it", "before 64 bits", "in a comment")):
                        continue  # NumPy does not read these
                    with np.load(self.folder / "a.npz") as loaded:
                        self.assertEqual(loaded[array].tolist(), [1, value])
                self.assertIn(f"and it has {', '.join(arrays)}\n", self.errors_of("show", "a.npz", status=2))

    def test_reasons_why_an_array_is_not_read(self):
        one = npy_bytes(np.float32([1, 2]))
        plain = self.of_members(("a.npy", one))
        entry = plain.index(b"PK\1\2")
        encrypted = bytearray(plain)
        encrypted[entry + 8] |= 1
        for archive, message in [
            (self.of_members(), "x.npz: has no arrays\n"),
            (self.of_members(("READ.ME", b"text")), "x.npz: has no arrays\n"),
            (self.of_members(("a.npy", one), method=zipfile.ZIP_LZMA), "x.npz:a: is packed by method 14 of ZIP; "),
            (self.of_members(("a.npy", one), method=zipfile.ZIP_BZIP2), "x.npz:a: is packed by method 12 of ZIP; "),
            (bytes(encrypted), "x.npz:a: is encrypted\n"),
            (plain[4:], "x.npz: is damaged: the list that it ends with does not fit it\n"),
            (b"QK" + plain[2:], "x.npz:a: is damaged: it does not begin where the list of the archive says\n"),
            (plain[:entry] + b"QK" + plain[entry + 2:], "x.npz: is damaged: the list that it ends with does not fit it\n"),
            (one, "x.npz: is not a .npz archive, but a .npy file\n"),
            (b"\x1f\x8b" + bytes(90), "x.npz: is not a .npz archive, but a gzip file\n"),
        ]:
            with self.subTest(message):
                self.write("x.npz", archive)
                self.assertIn(message, self.errors_of("show", "x.npz:a", status=4))

    def test_an_archive_of_more_than_4_GiB(self):
        """A member and a place in the list beyond 32 bits; the gap between them takes no disk space."""
        first, last = npy_bytes(np.float32([1, 2])), npy_bytes(np.float32([3, 4]))
        gap = 5 << 30
        def member(data, name):
            return b"PK\3\4" + struct.pack("<HHHHHIIIHH", 45, 0, 0, 0, 33, zlib.crc32(data), len(data), len(data),
                                           len(name), 0) + name + data
        def entry(data, name, begin):
            return b"PK\1\2" + struct.pack("<HHHHHHIIIHHHHHII", 45, 45, 0, 0, 0, 33, zlib.crc32(data), len(data),
                                           len(data), len(name), 12, 0, 0, 0, 0, 0xFFFFFFFF) + name + struct.pack(
                                               "<HHQ", 1, 8, begin)
        list_bytes = entry(first, b"a.npy", 0) + entry(last, b"b.npy", gap)
        with open(self.folder / "huge.npz", "wb") as file:
            file.write(member(first, b"a.npy"))
            file.seek(gap)
            file.write(member(last, b"b.npy"))
            begin = file.tell()
            file.write(list_bytes + b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, 2, 2, len(list_bytes), begin) +
                       b"PK\6\7" + struct.pack("<IQI", 0, begin + len(list_bytes), 1) +
                       b"PK\5\6" + bytes(4) + b"\xff" * 12 + bytes(2))
        with np.load(self.folder / "huge.npz") as loaded:
            self.assertEqual(loaded["b"].tolist(), [3, 4])
        self.assertIn("[1, 2]", self.text_of("show", "huge.npz:a"))
        self.assertIn("[3, 4]", self.text_of("show", "huge.npz:b"))

    def test_links_to_archives_do_not_leave_a_folder(self):
        (self.folder / "in").mkdir()
        os.symlink("../stored.npz", self.folder / "in/a.npz")
        self.write("in/d.json", json.loads(SUM) | {"bindings": {"InputTensor": "a.npz:x"}})
        self.run_program("run", "in/d.json")
        self.assertIn("leads out of", self.errors_of("run", "in/d.json", "--confine", "in", status=3))

    def test_a_file_of_such_a_name_is_itself(self):
        self.save(**{"a.npz:x": self.x + 1})
        self.run_program("compare", "a.npz:x.npy", "y.npy", "--bits")


if __name__ == "__main__":
    unittest.main()
