# SPDX-License-Identifier: Apache-2.0
"""Tensors within raw memory: named by the byte at which they begin, described for each side, and found."""

import json
import os
import subprocess
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import DMLOP, SUM, X, ProgramTest

COLUMNS = X.sum(0, keepdims=True)
INPUT = {"DataType": "FLOAT32", "Sizes": [3, 3]}
RAW_SUM = json.dumps(json.loads(SUM) | {"InputTensor": INPUT})


def place(array, memory, offset, strides):
    """Writes an array into bytes."""
    steps = [step * array.itemsize for step in strides]
    np.ndarray(array.shape, array.dtype, buffer=memory.data, offset=offset, strides=steps)[...] = array


class OffsetTest(ProgramTest):
    """FILE@OFFSET is accepted wherever a raw file is read."""

    def setUp(self):
        super().setUp()
        self.write("heap.bin", b"\xff" * 21 + X.tobytes() + b"\xff" * 8 + COLUMNS.tobytes() + b"\xff" * 64)
        self.save(x=X, sum=COLUMNS)
        self.x, self.sum = "heap.bin@21", "heap.bin@0x41"

    def test_every_place_that_reads(self):
        form = ["--type", "FLOAT32", "--sizes"]
        bound = json.loads(RAW_SUM) | {"bindings": {"InputTensor": self.x, "OutputTensor": self.sum}}
        self.write("d.json", json.loads(RAW_SUM) | {"bindings": {"InputTensor": self.x}})
        self.write("c.jsonl", json.dumps(bound))
        for arguments in [
            ["run", "d.json", "-e", "sum.npy"],
            ["run", RAW_SUM, "-i", self.x, "-e", self.sum],
            ["run", RAW_SUM, "-i", f"InputTensor={self.x}", "--judge", f"OutputTensor={self.sum}"],
            ["compare", self.sum, "sum.npy", *form, "1,3"],
            ["compare", "sum.npy", self.sum, *form, "1,3", "--bits"],
            ["compare", self.x, self.x, *form, "3,3"],
            ["batch", "c.jsonl", "--check"], ["batch", "c.jsonl", "--judge"],
            ["bench", "d.json", "--min-time", "1ms", "--cache", "hot"],
        ]:
            with self.subTest(arguments):
                self.run_program(*arguments)
        self.assertIn("[[6, 6, 9]]", self.text_of("show", self.sum, *form, "1,3"))
        self.assertIn("value 3\n", self.text_of("explain", RAW_SUM, "OutputTensor[0,0]", "-i", self.x))
        self.assertIn("[[1, 2, 3]", self.text_of("show", "heap.bin", *form, "3,3", "--offset", "0x15"))
        report = self.run_program("run", "d.json", "--report", "r.json") and json.loads((self.folder / "r.json").read_text())
        self.assertEqual(report["inputs"][0]["path"], self.x)

    def test_resources_of_models(self):
        np.savez(self.folder / "all.npz", x=X)
        for path, type, size in [(self.x, "FLOAT32", 36), ("all.npz:x", None, None)]:
            resource = {"initialValues": {"sourcePath": path}, "initialValuesDataType": type, "sizeInBytes": size}
            self.write("m.json", {
                "resources": {"x": {k: v for k, v in resource.items() if v is not None},
                              "y": {"initialValuesDataType": "FLOAT32", "initialValues": {"valueCount": 3, "value": 0}}},
                "dispatchables": {"sum": {"type": "REDUCE", "Function": "SUM", "AxisCount": 1, "Axes": [0], "InputTensor": INPUT,
                                          "OutputTensor": {"DataType": "FLOAT32", "Sizes": [1, 3]}}},
                "commands": [{"type": "dispatch", "dispatchable": "sum", "bindings": {"InputTensor": "x", "OutputTensor": "y"}},
                             {"type": "print", "resource": "y"}]})
            self.assertIn("6, 6, 9", self.text_of("run", "m.json"))

    def test_a_file_of_such_a_name_is_itself(self):
        self.write("heap.bin@21", COLUMNS.tobytes())
        form = ["--type", "FLOAT32", "--sizes", "1,3"]
        self.assertIn("[[6, 6, 9]]", self.text_of("show", "heap.bin@21", *form))
        self.assertIn("[[1, 2, 3]]", self.text_of("show", "heap.bin@0x15", *form))

    def test_what_does_not_fit(self):
        os.mkdir(self.folder / "in")
        os.symlink("../heap.bin", self.folder / "in/heap.bin")
        self.write("in/d.json", json.loads(RAW_SUM) | {"bindings": {"InputTensor": self.x}})
        self.assertIn("[DOC-5]", self.errors_of("run", "in/d.json", "--confine", "in", status=3))
        for arguments, status, message in [
            (["run", RAW_SUM, "-i", "heap.bin@120"], 4, "heap.bin@120: is too small: it has 141 bytes; expected at least 36 from byte 120 on"),
            (["run", RAW_SUM, "-i", "heap.bin@142"], 4, "heap.bin@142: is too small: it has 141 bytes"),
            (["run", RAW_SUM, "-i", "heap.bin"], 4, "heap.bin: is too large: it has 141 bytes; expected 36 (heap.bin@OFFSET is"),
            (["run", RAW_SUM, "-i", "none.bin@4"], 5, "none.bin: cannot be opened"),
            (["run", RAW_SUM, "-i", "x.npy@4"], 2, "x.npy@4: an offset is for raw files (.bin, .dat, .raw), which x.npy is not"),
            (["run", RAW_SUM, "-i", "heap.bin@4k"], 2, "heap.bin@4k: '4k' is no offset in bytes, such as 1024 or 0x400"),
            (["run", RAW_SUM, "-i", "heap.bin@-4"], 2, "'-4' is no offset"),
            (["run", RAW_SUM, "-i", "heap.bin@0x10000000000000000"], 2, "is no offset"),
            (["run", RAW_SUM, "-i", "x.npy", "-o", "heap.bin@4"], 2, "heap.bin@4: tensors are not written at an offset of a file"),
            (["run", RAW_SUM, "-i", self.x, "-o", "o.npy", "--report", "heap.bin"], 2, "heap.bin"),
            (["show", "heap.bin@4"], 4, "a raw file does not say its type and shape"),
            (["show", "heap.bin", "--type", "FLOAT32", "--offset", "4x"], 2, "'4x' is no number of bytes, such as 1024 or 0x400"),
        ]:
            with self.subTest(arguments):
                self.assertIn(message, self.errors_of(*arguments, status=status))


class SidesTest(ProgramTest):
    """Each side of a comparison may have its own layout."""

    def test_sides(self):
        memory = np.full(400, 0xEE, "u1")
        place(X, memory, 30, [20, 2])
        self.write("actual.bin", memory.tobytes())
        self.write("expected.bin", X.T.tobytes())
        self.write("padded.bin", memory.tobytes()[30:30 + 45 * 4])
        self.save(x=X)
        form = ["--type", "FLOAT32", "--sizes", "3,3"]
        for arguments in [
            ["actual.bin@30", "expected.bin", *form, "--strides", "actual=20,2", "--strides", "expected=1,3"],
            ["actual.bin", "expected.bin", *form, "--strides", "1,3", "--strides", "actual=20,2", "--offset", "actual=0x1e"],
            ["actual.bin", "expected.bin", *form, "--strides", "actual=20,2", "--strides", "1,3", "--offset", "actual=30"],
            ["padded.bin", "x.npy", *form, "--strides", "20,2"],
            ["x.npy", "padded.bin", "--type", "expected=FLOAT32", "--sizes", "expected=3,3", "--strides", "expected=20,2"],
            ["padded.bin", "padded.bin", *form, "--strides", "20,2"],
        ]:
            with self.subTest(arguments):
                self.run_program("compare", *arguments, "--bits")
        for arguments, status, message in [
            (["padded.bin", "x.npy", "--type", "expected=FLOAT32"], 4, "a raw file does not say its type"),
            (["padded.bin", "expected.bin", *form[:2], "--sizes", "expected=3,3", "--strides", "20,2"], 2, "--strides needs --sizes"),
            (["padded.bin", "x.npy", *form, "--strides", "other=20,2"], 2, "'other=20,2' is not a list such as 2,3,4"),
        ]:
            with self.subTest(arguments):
                self.assertIn(message, self.errors_of("compare", *arguments, status=status))
        os.mkdir(self.folder / "a")
        os.mkdir(self.folder / "b")
        self.write("a/x.bin", memory.tobytes()[30:30 + 45 * 4])
        self.write("b/x.bin", (X + 1).tobytes())
        told = self.text_of("compare", "a", "b", *form, "--strides", "actual=20,2", status=1)
        self.assertIn("dmlop compare a/x.bin b/x.bin --type FLOAT32 --sizes 3,3 --strides actual=20,2\n", told)


def normal(random, shape):
    return random.normal(size=shape)


def relu(random, shape):
    return np.maximum(random.normal(size=shape), 0)


def sparse(random, shape):
    return (random.random(shape) < 0.03) * random.normal(size=shape)


def any_bytes(random, shape):
    return random.integers(0, 256, shape)


def digits(random, shape):
    return random.integers(0, 10, shape)


def equal_rows(random, shape):
    return np.broadcast_to(random.normal(size=shape[-1]), shape)


# Type, shape, strides, offset, values, number of wrong elements, and relative error of all elements.
FOUND = {
    "packed": ("f4", (2, 3, 8, 8), (192, 64, 8, 1), 4096, normal, 0, 0),
    "padded rows and planes": ("f2", (1, 3, 6, 8), (384, 128, 16, 1), 1024, normal, 1, 0),
    "NHWC": ("f4", (2, 3, 8, 9), (216, 1, 27, 3), 4000, normal, 5, 0),
    "not aligned": ("f4", (4, 5), (5, 1), 1001, normal, 0, 0),
    "bytes": ("u1", (3, 40, 40), (2000, 50, 1), 777, any_bytes, 3, 0),
    "NHWC of bytes": ("u1", (1, 3, 20, 20), (1200, 1, 60, 3), 512, any_bytes, 4, 0),
    "a channel of four": ("u1", (1, 1, 20, 20), (1600, 1, 80, 4), 512, any_bytes, 4, 0),
    "every third element": ("f4", (10, 20), (64, 3), 512, normal, 4, 0),
    "rounded otherwise": ("f4", (16, 32), (40, 1), 49380, normal, 0, 1e-4),
    "FLOAT16 rounded otherwise": ("f2", (16, 32), (32, 1), 2048, normal, 9, 1e-3),
    "FLOAT64 rounded otherwise": ("f8", (5, 6), (8, 1), 4096, normal, 0, 1e-5),
    "small integers": ("i4", (10, 10), (16, 1), 2048, digits, 3, 0),
    "indices": ("i8", (6, 7), (7, 1), 2048, digits, 0, 0),
    "mostly zeros": ("f4", (30, 30), (32, 1), 4096, sparse, 0, 0),
    "half zeros": ("f2", (1, 8, 14, 14), (2048, 224, 16, 1), 4096, relu, 30, 0),
    "transposed": ("f4", (33, 17), (1, 40), 4096, normal, 20, 0),
    "equal rows": ("f4", (5, 16), (16, 1), 4096, equal_rows, 0, 0),
    "a row of which many are wrong": ("f4", (1000,), (1,), 4096, normal, 100, 0),
    "five dimensions": ("f2", (2, 3, 4, 5, 6), (1000, 300, 50, 8, 1), 4096, normal, 3, 0),
    "a scalar": ("f8", (), (), 4096, normal, 0, 0),
}


class FindTest(ProgramTest):
    """show --find reports the byte and the strides at which a tensor lies."""

    SIZE = 1 << 18

    def memory(self, kind, random):
        if kind == "zeros":
            return np.zeros(self.SIZE, "u1")
        if kind == "bytes":
            return random.integers(0, 256, self.SIZE).astype("u1")
        return relu(random, self.SIZE // 4).astype("f4").view("u1").copy()

    def found(self, *arguments, status=0):
        return json.loads(self.text_of("show", *arguments, "--format", "json", status=status))["places"]

    def test_every_layout(self):
        random = np.random.default_rng(7)
        for name, (dtype, shape, strides, offset, values, wrong, noise) in FOUND.items():
            for kind in ("zeros", "bytes", "floats"):
                with self.subTest(name=name, memory=kind):
                    expected = np.asarray(values(random, shape)).astype(dtype)
                    actual = np.array(expected * (1 + noise * random.normal(size=shape)), dtype) if noise else expected.copy()
                    places = random.permutation(actual.size)[:wrong]
                    actual.flat[places] = (actual.flat[places].astype("f8") * 3 + 1).astype(dtype)
                    memory = self.memory(kind, random)
                    place(actual, memory, offset, strides)
                    self.write("dump.bin", memory.tobytes())
                    self.save(expected=expected)
                    best = self.found("dump.bin", "--find", "expected.npy")[0]
                    self.assertEqual(best["offset"], offset)
                    self.assertEqual([s for s, n in zip(best["strides"], shape) if n > 1],
                                     [s for s, n in zip(strides, shape) if n > 1])
                    unsigned = f"u{actual.itemsize}"
                    self.assertEqual(best["equalCount"], int((actual.view(unsigned) == expected.view(unsigned)).sum()))
                    self.assertGreaterEqual(best["nearCount"], best["equalCount"])

    def test_the_command_that_it_tells_runs(self):
        memory = np.full(5000, 0x3C, "u1")
        wrong = X.copy()
        wrong[1, 2] = 7
        place(wrong, memory, 1024, [16, 1])
        self.write("heap.bin", memory.tobytes())
        self.save(**{"the sum": X})
        self.write("x.bin", X.T.tobytes())
        text = self.text_of("show", "heap.bin", "--find", "the sum.npy")
        self.assertEqual(text, "the sum.npy is in heap.bin:\n"
                         "  at byte 1024 (0x400), Strides {16, 1}: 8 of 9 elements are equal\n"
                         "to compare it:\n"
                         "  dmlop compare heap.bin@0x400 'the sum.npy' --type FLOAT32 --sizes 3,3 --strides 16,1\n")
        for arguments, strides in ((["--find", "the sum.npy"], "--strides 16,1"),
                                   (["--find", "x.bin", "--type", "FLOAT32", "--sizes", "3,3", "--strides", "1,3"],
                                    "--strides actual=16,1 --strides expected=1,3")):
            command = self.found("heap.bin", *arguments)[0]["command"]
            self.assertIn(strides, command)
            words = command.replace("'", "").replace("the sum", "the%sum").split()[1:]
            verdict = self.text_of(*(word.replace("%", " ") for word in words), status=1)
            self.assertTrue(verdict.startswith("1 of 9 elements differ\nfirst: element [1, 2]\n"), verdict)

    def test_files_that_have_no_places_get_a_name_that_does(self):
        memory = np.full(5000, 0x3C, "u1")
        place(X, memory, 1024, [3, 1])
        self.save(x=X)
        (self.folder / "in").mkdir()
        for name in ("in/my heap", "heap.npy", "heap.DMP"):
            self.write(name, memory.tobytes())
            command = self.found(name, "--find", "x.npy")[0]["command"]
            done = subprocess.run(["sh", "-c", command.replace("dmlop ", f"{DMLOP} ")], cwd=self.folder, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (0, "0 of 9 elements differ\n"), command + done.stderr)

    def test_places_in_arrays_are_told_by_their_elements(self):
        tiles = np.zeros((4, 6, 5), "f4")
        tiles[2, 1:4, 1:4] = X
        self.save(x=X, c=tiles, f=np.asfortranarray(tiles), d=tiles.astype("f8"), b=np.frombuffer(tiles.tobytes(), "u1"))
        np.savez(self.folder / "all.npz", x=tiles)
        for name, strides in (("c.npy", [5, 1]), ("f.npy", [4, 24]), ("all.npz:x", [5, 1])):
            with self.subTest(name):
                best = self.found(name, "--find", "x.npy")[0]
                self.assertEqual((best["element"], best["strides"], best.get("command")), ([2, 1, 1], strides, None))
                text = self.text_of("show", name, "--find", "x.npy")
                self.assertIn("element [2, 1, 1] of the array, ", text)
                self.assertNotIn("compare", text)
        self.assertNotIn("element", self.found("b.npy", "--find", "x.npy")[0])

    def test_equal_elements_are_looked_for_without_strides(self):
        equal = "its elements are all equal, which no Strides can be told from\n"
        for value, shape in ((0, (4, 4)), (-1.5, (2, 3)), (7, (400,)), (0, (50, 60))):
            with self.subTest(value=value, shape=shape):
                tensor = np.full(shape, value, "f4")
                self.save(equal=tensor)
                memory = np.random.default_rng(5).integers(1, 256, 60_000).astype("u1")
                packed = list(np.array(tensor.strides) // 4)
                for offset in (801, 30_000):
                    place(tensor, memory, offset, packed)
                self.write("heap.bin", memory.tobytes())
                places = self.found("heap.bin", "--find", "equal.npy")
                self.assertEqual([(p["offset"], p["strides"], p["equalCount"]) for p in places],
                                 [(offset, packed, tensor.size) for offset in (801, 30_000)])
                self.assertIn(equal, self.text_of("show", "heap.bin", "--find", "equal.npy"))
        self.save(one=np.float32(3))
        self.write("heap.bin", np.float32([1, 2, 3]).tobytes())
        self.assertNotIn("equal,", self.text_of("show", "heap.bin", "--find", "one.npy"))

    def test_an_offset_is_where_the_search_begins(self):
        memory = np.zeros(5000, "u1")
        place(X, memory, 100, [3, 1])
        place(X, memory, 3000, [3, 1])
        self.write("heap.dump", memory.tobytes())
        self.save(x=X)
        self.assertEqual([p["offset"] for p in self.found("heap.dump", "--find", "x.npy")], [100, 3000])
        self.assertEqual([p["offset"] for p in self.found("heap.dump@101", "--find", "x.npy")], [3000])
        self.assertEqual(self.found("heap.dump@3001", "--find", "x.npy", status=1), [])

    def test_what_is_not_there(self):
        self.save(x=X, big=np.arange(9999, dtype="f4"), empty=np.zeros((0, 3), "f4"), zeros=np.zeros((4, 4), "f4"))
        self.write("heap.bin", np.random.default_rng(1).integers(0, 256, 5000).astype("u1").tobytes())
        self.write("nothing.bin", b"")
        self.write("zeros.bin", bytes(100_000))
        for file, tensor, status, message in [
            ("heap.bin", "x.npy", 1, "x.npy is not in heap.bin\n"), ("heap.bin", "big.npy", 1, "big.npy is not in heap.bin\n"),
            ("nothing.bin", "x.npy", 1, "x.npy is not in nothing.bin\n"),
            ("zeros.bin", "zeros.npy", 1, "zeros.npy is not in zeros.bin, as far as can be told: its values are all over it\n"),
        ]:
            self.assertEqual(self.text_of("show", file, "--find", tensor, status=status), message)
        for arguments, status, message in [
            (["heap.bin", "--find", "empty.npy"], 4, "empty.npy"), (["none.bin", "--find", "x.npy"], 5, "none.bin: cannot be opened"),
            (["heap.bin", "--find", "none.npy"], 5, "none.npy: cannot be opened"),
            (["heap.bin", "x.npy", "--find", "x.npy"], 2, "--find looks into one file"),
            (["heap.bin", "[0]", "--find", "x.npy"], 2, "--find looks into one file"),
            (["heap.bin", "--find", "x.npy", "--stats"], 2, "--find"),
        ]:
            self.assertIn(message, self.errors_of("show", *arguments, status=status))


if __name__ == "__main__":
    unittest.main()
