# SPDX-License-Identifier: Apache-2.0
"""Tensors in files other than NumPy's: .pb, the messages of ONNX's test data, and pictures."""

import json
import struct
import sys
import unittest
import zlib

import numpy as np

sys.dont_write_bytecode = True
from onnx_messages import TYPES, field, packed, tensor, varint
from program import COPY, X, ProgramTest

HALVES = np.array([1, -2.5, np.inf], "f2")

# What it is, the message, and its elements.
MESSAGES = [
    *((f"raw {name}", tensor(number, (2, 3), field(9, np.arange(6).astype(name).tobytes())), np.arange(6).astype(name).reshape(2, 3))
      for number, name in TYPES.items()),
    ("sizes one by one", tensor(1, (3, 1), field(9, X[0].tobytes()), packs_shape=False), X[:1].T),
    ("a name and what is not known before it", tensor(1, (3,), field(8, b"x"), field(99, 5), field(12, b"doc"), field(9, X[0].tobytes())), X[0]),
    ("packed float_data", tensor(1, (3,), field(4, X[0].tobytes())), X[0]),
    ("float_data one by one", tensor(1, (3,), *(b"\x25" + value.tobytes() for value in X[0])), X[0]),
    ("packed double_data", tensor(11, (3,), field(10, X[0].astype("f8").tobytes())), X[0].astype("f8")),
    ("packed int32_data", tensor(6, (3,), field(5, packed([1, -2, 2**31 - 1]))), np.array([1, -2, 2**31 - 1], "i4")),
    ("int32_data one by one and packed", tensor(3, (3,), field(5, 7), field(5, packed([-1, -128]))), np.array([7, -1, -128], "i1")),
    ("FLOAT16 in int32_data", tensor(10, (3,), field(5, packed(HALVES.view("u2").tolist()))), HALVES),
    ("int64_data", tensor(7, (2,), field(7, packed([-2**63, 5]))), np.array([-2**63, 5])),
    ("UINT32 in uint64_data", tensor(12, (2,), field(11, packed([2**32 - 1, 5]))), np.array([2**32 - 1, 5], "u4")),
    ("BOOL", tensor(9, (3,), field(5, packed([1, 0, 1]))), np.array([1, 0, 1], "u1")),
    ("a scalar", tensor(7, (), field(9, struct.pack("<q", 9))), np.array(9)),
]

# Messages as `show` tells them.
SHOWN = [
    (MESSAGES[-1][1], "{}, DataType:INT64, order:C)\n9\n"), (MESSAGES[-2][1], "{3}, DataType:BOOL, order:C)\n[1, 0, 1]\n"),
    (tensor(21, (3,), field(9, b"\x21\x0f")), "{3}, DataType:UINT4, order:C)\n[1, 2, 15]\n"),
    (tensor(22, (3,), field(5, packed([0x8F, 0x07]))), "{3}, DataType:INT4, order:C)\n[-1, -8, 7]\n"),
]

WHOLE = tensor(1, (3,), field(9, X[0].tobytes()))

# The fault, the file, and a part of the message.
WRONG = [
    ("nothing", b"", "UNDEFINED"),
    ("a sequence", field(1, b"x") + field(2, 1) + field(3, WHOLE), "is no tensor, but a sequence or an optional value of ONNX [ONX-6]"),
    ("an optional sequence", field(1, b"maybe") + field(2, 3) + field(5, field(2, 1) + field(3, WHOLE)), "is no tensor, but a sequence"),
    ("an empty optional", field(1, b"optional_input") + field(2, 0), "is no tensor, but a sequence"),
    ("cut within its data", WHOLE[:-1], "truncated"),
    ("cut within a field", WHOLE[:4], "truncated"),
    ("a length that has the right lower half", tensor(1, (3,), varint(9 << 3 | 2) + varint(2**32 + 12) + X[0].tobytes()), "truncated"),
    ("no message", b"\xff" * 40, "is no tensor of ONNX"),
    ("too few bytes", tensor(1, (3,), field(9, bytes(8))), "has 8 bytes of data; FLOAT of the shape {3} need 12"),
    ("too many bytes", tensor(1, (1,), field(9, bytes(8))), "has 8 bytes of data; FLOAT of the shape {1} need 4"),
    ("too few numbers", tensor(7, (3,), field(7, packed([1, 2]))), "has 16 bytes of data; INT64 of the shape {3} need 24"),
    ("far too many numbers", tensor(7, (1,), field(7, bytes(10**6))), "has 8000000 bytes of data"),
    ("gigabytes promised", tensor(1, (2**40,), field(9, bytes(8))), "need 4398046511104"),
    ("sizes that overflow", tensor(1, (2**62, 2**62), field(9, bytes(8))), "more elements than any file can hold"),
    ("a negative size", tensor(1, (-1,), field(9, bytes(8))), "size -1"),
    ("many dimensions", tensor(1, (1,) * 17, field(9, bytes(4))), "more than 16 dimensions"),
    ("text", tensor(8, (1,), field(6, b"text")), "holds STRING"),
    ("bfloat16", tensor(16, (1,), field(9, bytes(2))), "holds BFLOAT16"),
    ("a type to come", tensor(77, (1,), field(9, bytes(2))), "type 77"),
    ("a packed list that is cut", tensor(7, (2,), field(7, b"\x01\xff")), "damaged"),
    ("data elsewhere", tensor(1, (1,), field(13, field(1, b"location") + field(2, b"w.bin")), field(14, 1)), "another file, 'w.bin'"),
]


class MessageTest(ProgramTest):
    def test_messages_in_all_forms(self):
        for what, message, expected in MESSAGES:
            with self.subTest(what):
                self.write("x.pb", message)
                self.run_program("run", COPY, "-i", "x.pb", "-o", "y.npy")
                self.assert_same(self.load("y"), expected if expected.shape else expected.reshape(1))
                self.run_program("compare", "x.pb", "x.pb")

    def test_messages_are_written(self):
        for number, name in TYPES.items():
            values = np.arange(6).astype(name).reshape(1, 2, 3)
            self.save(x=values)
            self.run_program("run", COPY, "-i", "x.npy", "-o", "y.pb")
            expected = tensor(number, values.shape, field(8, b"OutputTensor"), field(9, values.tobytes()))
            self.assertEqual((self.folder / "y.pb").read_bytes(), expected)

    def test_two_elements_of_4_bits_share_a_byte(self):
        document = {"type": "QUANTIZE", "QuantizationType": "SCALE", "OutputTensor": {"DataType": "INT4"}}
        self.save(x=np.array([-8, 7, -1], "f4"), one=np.ones(1, "f4"))
        self.run_program("run", "-", "-i", "x.npy", "-i", "one.npy", "-o", "y.pb", stdin=json.dumps(document).encode())
        self.assertEqual((self.folder / "y.pb").read_bytes(), tensor(22, (3,), field(8, b"OutputTensor"), field(9, b"\x78\x0f")))

    def test_large_messages_are_staged_on_the_disk(self):
        values = np.arange(5 << 20, dtype="f4")
        self.save(x=values)
        self.run_program("run", COPY, "-i", "x.npy", "-o", "y.pb", "-q")
        self.assertEqual((self.folder / "y.pb").read_bytes()[-values.nbytes:], values.tobytes())

    def test_show_says_type_and_shape(self):
        for message, said in SHOWN:
            self.write("x.pb", message)
            self.assertEqual(self.text_of("show", "x.pb"), "x.pb: (Sizes:" + said)

    def test_damaged_messages(self):
        for what, message, part in WRONG:
            with self.subTest(what):
                self.write("x.pb", message)
                for arguments in (["run", COPY, "-i", "x.pb", "-o", "y.npy"], ["show", "x.pb"]):
                    self.assertIn(part, self.errors_of(*arguments, status=4))
        self.assertEqual(self.files(), ["x.pb"])


def png_of(pixels, header=None, color=None):
    """A PNG file of bytes: [height, width, channels]."""
    height, width, channels = pixels.shape
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels] if color is None else color
    chunks = [(b"IHDR", header or struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)),
              (b"IDAT", zlib.compress(b"".join(b"\0" + row.tobytes() for row in pixels))), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
                                          for name, body in chunks)


def gray(rgb):
    weighted = (rgb.astype(int) * [19595, 38470, 7471]).sum(-1)
    return (weighted + 32768 >> 16).astype("u1")[..., np.newaxis]


def copy_of(sizes, data_type="FLOAT32"):
    return f'{{"type": "ELEMENT_WISE_IDENTITY", "InputTensor": {{"DataType": "{data_type}", "Sizes": {list(sizes)}}}}}'


class PictureTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.pixels = np.random.default_rng(3).integers(0, 256, (5, 7, 4), "u1")

    def test_pictures_are_tensors_by_their_sizes(self):
        rgb = self.pixels[..., :3]
        opaque = np.dstack([rgb, np.full((5, 7, 1), 255, "u1")])
        self.write("rgb.png", png_of(rgb))
        self.write("rgba.png", png_of(self.pixels))
        self.write("gray.png", png_of(rgb[..., :1]))
        for file, sizes, expected in [
            ("rgb.png", (1, 3, 5, 7), rgb.transpose(2, 0, 1)), ("rgb.png", (3, 5, 7), rgb.transpose(2, 0, 1)),
            ("rgb.png", (1, 5, 7, 3), rgb), ("rgb.png", (1, 1, 5, 7), gray(rgb)), ("rgb.png", (5, 7), gray(rgb)),
            ("rgb.png", (1, 4, 5, 7), opaque.transpose(2, 0, 1)), ("rgba.png", (1, 4, 5, 7), self.pixels.transpose(2, 0, 1)),
            ("rgba.png", (1, 1, 1, 5, 7, 4), self.pixels), ("rgba.png", (5, 7, 3), rgb),
            ("gray.png", (1, 3, 5, 7), np.repeat(rgb[..., :1], 3, 2).transpose(2, 0, 1)), ("gray.png", (1, 1, 5, 7), rgb[..., 0]),
        ]:
            with self.subTest(file, sizes=sizes):
                for name, of_bytes in [("FLOAT32", lambda b: b.astype("f4") / np.float32(255)), ("UINT8", lambda b: b),
                                       ("FLOAT16", lambda b: (b.astype("f8") / 255).astype("f2"))]:
                    self.run_program("run", copy_of(sizes, name), "-i", file, "-o", "y.npy")
                    self.assert_same(self.load("y"), of_bytes(expected).reshape(sizes))

    def test_tensors_are_written_as_pictures(self):
        values = np.random.default_rng(1).uniform(-0.2, 1.2, (1, 3, 5, 7)).astype("f4")
        values[0, 0, 0, :4] = np.nan, np.inf, -np.inf, 1
        self.save(x=values)
        self.run_program("run", COPY, "-i", "x.npy", "-o", "y.png")
        clamped = np.clip(np.nan_to_num(values, nan=0, posinf=1, neginf=0), 0, 1)
        expected = (clamped[0].transpose(1, 2, 0) * np.float32(255)).astype("u1")
        self.run_program("run", copy_of((5, 7, 3), "UINT8"), "-i", "y.png", "-o", "z.npy")
        self.assert_same(self.load("z"), expected)
        self.run_program("run", COPY, "-i", "x.npy", "-o", "y.jpg")
        said = self.text_of("show", "y.jpg")
        self.assertTrue(said.startswith("y.jpg: JPEG picture of 7 x 5 pixels, 3 channels\ny.jpg: (Sizes:{5, 7, 3}, DataType:UINT8, order:C)\n"), said)
        smooth = np.linspace(0, 1, 64 * 64, dtype="f4").reshape(1, 1, 64, 64)
        self.save(x=smooth)
        self.run_program("run", COPY, "-i", "x.npy", "-o", "y.jpg")
        self.run_program("run", copy_of((1, 1, 64, 64)), "-i", "y.jpg", "-o", "z.npy")
        self.assertLess(np.abs(self.load("z") - smooth).max(), 0.03)

    def test_pictures_that_do_not_fit(self):
        self.write("x.png", png_of(self.pixels))
        self.assertIn("is a picture of 7 x 5 pixels; expected 5 x 7", self.errors_of("run", copy_of((1, 3, 7, 5)), "-i", "x.png", status=4))
        self.assertIn("FLOAT32, FLOAT16 or UINT8", self.errors_of("run", copy_of((1, 3, 5, 7), "INT32"), "-i", "x.png", status=4))
        self.save(x=np.ones((2, 3, 5, 7), "f4"))
        for name in ("y.png", "y.jpeg"):
            self.assertIn("1, 3 or 4 channels", self.errors_of("run", COPY, "-i", "x.npy", "-o", name, status=2))
        self.assertEqual(self.files(), ["x.npy", "x.png"])

    def test_damaged_pictures(self):
        whole = png_of(self.pixels)
        self.save(x=np.ones((1, 3, 5, 7), "f4"))
        self.run_program("run", COPY, "-i", "x.npy", "-o", "x.jpg")
        jpeg = (self.folder / "x.jpg").read_bytes()
        huge = struct.pack(">IIBBBBB", 2**30, 2**30, 8, 6, 0, 0, 0)
        for name, content, part in [("x.png", b"", "neither PNG nor JPEG"), ("x.png", whole[:40], "damaged"), ("x.png", whole[:-30], "damaged"),
                                    ("x.png", png_of(self.pixels, header=huge), "picture"), ("x.jpg", jpeg[:-20], "damaged"),
                                    ("x.jpg", jpeg[:30], "damaged"), ("x.jpg", jpeg[:2], "damaged")]:
            with self.subTest(name, size=len(content)):
                self.write(name, content)
                self.assertIn(part, self.errors_of("run", copy_of((1, 3, 5, 7)), "-i", name, status=4))
                self.assertIn(part, self.errors_of("show", name, status=4))

    def model(self, resource, sizes, target="out.png", dimensions=None):
        """A model that copies a picture into a file."""
        tensor = {"DataType": "FLOAT32", "Sizes": sizes}
        return {"resources": {"in": {"initialValuesDataType": "FLOAT32", "initialValues": {"sourcePath": "x.png"}} | resource,
                              "out": {"initialValuesDataType": "FLOAT32", "initialValues": {"value": 0, "valueCount": int(np.prod(sizes))}}},
                "dispatchables": {"copy": {"type": "ELEMENT_WISE_IDENTITY", "desc": {"InputTensor": tensor, "OutputTensor": tensor}}},
                "commands": [{"type": "dispatch", "dispatchable": "copy", "bindings": {"InputTensor": "in", "OutputTensor": "out"}},
                             {"type": "writeFile", "resource": "out", "targetPath": target, "dimensions": dimensions or sizes}]}

    def test_pictures_in_models(self):
        rgb = self.pixels[..., :3]
        self.write("x.png", png_of(rgb))
        for resource, sizes in [({}, (1, 3, 5, 7)), ({"resampleSize": [1, 3, 5, 7], "resampleMode": "scale"}, (1, 3, 5, 7))]:
            self.write("m.json", self.model(resource, sizes, "out.npy"))
            self.assertEqual(self.errors_of("run", "m.json"), "")
            self.assert_same(self.load("out"), (rgb.transpose(2, 0, 1)[np.newaxis].astype("f4") / np.float32(255)))
        self.write("m.json", self.model({"resampleSize": [1, 3, 10, 14]}, (1, 3, 10, 14)))
        self.assertIn("Windows has a cubic filter of its own [RES-4]", self.errors_of("run", "m.json"))
        self.run_program("run", copy_of((1, 3, 5, 7)), "-i", "x.png", "-o", "x.npy")
        scale = {"type": "RESAMPLE3", "InterpolationMode": "LINEAR", "RoundingDirection": "DECREASING", "Scales": [1, 1, 2, 2],
                 "InputPixelOffsets": [0.5] * 4, "OutputPixelOffsets": [-0.5] * 4, "Antialiased": True}
        self.write("scale.json", scale)
        self.run_program("run", "scale.json", "-i", "x.npy", "-o", "scaled.png")
        self.assertEqual((self.folder / "out.png").read_bytes(), (self.folder / "scaled.png").read_bytes())

    def test_pictures_in_models_that_do_not_fit(self):
        self.write("x.png", png_of(self.pixels[..., :3]))
        for resource, part in [({"resampleMode": "crop"}, "by 'scale' only [RES-4]"), ({"resampleSize": [3, 5, 7]}, "expected four"),
                               ({"resampleSize": [2, 3, 5, 7]}, "[1, C, H, W]"), ({"initialValuesDataType": "INT32"}, "FLOAT32 or FLOAT16")]:
            self.write("m.json", self.model(resource, (1, 3, 5, 7)))
            self.assertIn(part, self.errors_of("run", "m.json", status=4 if "[1, C" in part or "FLOAT" in part else 3))
        self.write("m.json", self.model({}, (1, 3, 5, 7), dimensions=[3, 3, 5]))
        self.run_program("run", "m.json")
        self.write("m.json", self.model({}, (1, 3, 5, 7), dimensions=[5, 2, 2]))
        self.assertIn("[CMD-1]", self.errors_of("run", "m.json", status=3))


if __name__ == "__main__":
    unittest.main()
