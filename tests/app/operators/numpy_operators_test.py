# SPDX-License-Identifier: Apache-2.0
"""The operators compared with NumPy on random data. DMLOP_TEST_SEED repeats a run."""

import json
import os
import random
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import ProgramTest

SEED = int(os.environ.get("DMLOP_TEST_SEED", random.randrange(1 << 32)))
ROUNDS = 40
ALL = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1"]
INTEGERS = ["i8", "i4", "u8", "u4"]

# NumPy's names for the functions, and the types that dmlop supports for them.
REDUCTIONS = {
    "SUM": (lambda x, axes: x.sum(axes, dtype=x.dtype, keepdims=True), INTEGERS),
    "MULTIPLY": (lambda x, axes: x.prod(axes, dtype=x.dtype, keepdims=True), INTEGERS),
    "L1": (lambda x, axes: np.abs(x).sum(axes, dtype=x.dtype, keepdims=True), INTEGERS),
    "SUM_SQUARE": (lambda x, axes: (x * x).sum(axes, dtype=x.dtype, keepdims=True), INTEGERS),
    "MIN": (lambda x, axes: x.min(axes, keepdims=True), [t for t in ALL if t != "f8"]),
    "MAX": (lambda x, axes: x.max(axes, keepdims=True), [t for t in ALL if t != "f8"]),
}


class OperatorsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(SEED)

    def test_long_integer_groups_wrap_like_short_ones(self):
        for dtype in INTEGERS:
            x = self.array((3, 70001), dtype) | 1  # odd, so that products do not become zero
            self.save(x=x)
            for name in ("SUM", "MULTIPLY", "L1", "SUM_SQUARE"):
                descriptor = json.dumps({"type": "REDUCE", "Function": name, "Axes": [0, 1]})
                self.run_program("run", descriptor, "-i", "x.npy", "-o", "y.npy")
                with self.subTest(name=name, dtype=dtype):
                    self.assert_same(self.load("y"), REDUCTIONS[name][0](x, (0, 1)))

    def test_halves_of_subnormals_are_rounded_by_what_follows(self):
        """These functions are x / 2 + c * x^2 + ... near 0; x / 2 is a tie of FLOAT32 for each odd subnormal, which
        the sign of c decides."""
        half = np.arange(1, 1 << 23, 5, dtype="i8")
        k = np.concatenate([half, -half])  # multiples of the least subnormal number
        x = np.where(k < 0, (1 << 31) - k, k).astype("u4").view("f4")
        self.save(x=x)
        for name, fields, sign in [("GELU", {}, 1), ("SWISH", {"SigmoidInputScale": 1}, 1), ("SWISH", {"SigmoidInputScale": -3}, -1),
                                   ("ELU", {"Alpha": 0.5}, 1), ("SCALED_ELU", {"Alpha": 0.25, "Gamma": 2}, 1)]:
            with self.subTest(name, **fields):
                self.run_program("run", json.dumps({"type": f"ACTIVATION_{name}"} | fields), "-i", "x.npy", "-o", "y.npy")
                curved = k < 0 if "ELU" in name and name != "GELU" else np.full(k.shape, True)
                # Rounded up or down; without a curve, the function is linear and nothing is halved.
                halved = np.where(k % 2 == 0, k // 2, (k + sign) // 2)
                scale = 1 if name == "ELU" else fields.get("Gamma", 1)
                expected = np.where(curved, halved, k * scale)
                bits = np.where((expected < 0) | ((expected == 0) & (k < 0)), (1 << 31) - expected, expected).astype("u4")
                self.assert_same(self.load("y"), bits.view("f4"))

    def integer(self, low, high):
        return int(self.random.integers(low, high + 1))

    def shape(self, low=1, high=5, largest=6):
        return tuple(self.integer(1, largest) for _ in range(self.integer(low, high)))

    def array(self, shape, dtype):
        """Random bits for integers; exact numbers for floats."""
        if dtype[0] == "f":
            return self.random.integers(-99, 100, shape).astype(dtype)
        info = np.iinfo(dtype)
        return self.random.integers(info.min, info.max, shape, dtype, endpoint=True)

    def pick(self, choices):
        return choices[self.integer(0, len(choices) - 1)]

    def compute(self, document, inputs, outputs=1):
        """Runs an operator on arrays in varying memory order."""
        arguments = []
        for i, array in enumerate(inputs):
            ordered = np.asarray(array, order=self.pick("CF"))
            np.save(self.folder / f"in{i}.npy", ordered.astype(ordered.dtype.newbyteorder(self.pick("<>"))))
            arguments += ["-i", f"in{i}.npy"]
        for i in range(outputs):
            arguments += ["-o", f"out{i}.npy"]
        self.run_program("run", json.dumps(document), *arguments)
        return [self.load(f"out{i}") for i in range(outputs)]

    def test_join_is_concatenate(self):
        for _ in range(ROUNDS):
            shape, dtype = self.shape(), self.pick(ALL)
            axis = self.integer(0, len(shape) - 1)
            parts = []
            for _ in range(self.integer(1, 4)):
                size = self.integer(1, 5)
                parts.append(self.array(shape[:axis] + (size,) + shape[axis + 1 :], dtype))
            (joined,) = self.compute({"type": "JOIN", "Axis": axis}, parts)
            self.assert_same(joined, np.concatenate(parts, axis))

    def test_split_is_array_split(self):
        for _ in range(ROUNDS):
            x = self.array(self.shape(), self.pick(ALL))
            axis = self.integer(0, x.ndim - 1)
            count = self.integer(1, x.shape[axis])
            parts = np.array_split(x, count, axis)
            outputs = [{"Sizes": part.shape} for part in parts]
            document = {"type": "SPLIT", "Axis": axis, "OutputTensors": outputs}
            for actual, part in zip(self.compute(document, [x], count), parts, strict=True):
                self.assert_same(actual, np.ascontiguousarray(part))

    def test_gathers_and_scatters_are_those_of_numpy(self):
        for _ in range(20):
            x = self.array(self.shape(2, 4), self.pick(ALL))
            axis = self.integer(0, x.ndim - 1)
            places = self.random.integers(-x.shape[axis], x.shape[axis], x.shape)
            with self.subTest(shape=x.shape, dtype=x.dtype, axis=axis):
                (taken,) = self.compute({"type": "GATHER_ELEMENTS", "Axis": axis}, [x, places])
                self.assert_same(taken, np.take_along_axis(x, places, axis))
                order = self.random.random(x.shape).argsort(axis)
                (scattered,) = self.compute({"type": "SCATTER", "Axis": axis}, [x, order, taken])
                expected = x.copy()
                np.put_along_axis(expected, order, taken, axis)
                self.assert_same(scattered, expected)
                indices = self.random.integers(0, x.shape[0], (1,) * (x.ndim - 1) + (7,))
                document = {"type": "GATHER", "Axis": 0, "IndexDimensions": 1}
                self.assert_same(self.compute(document, [x, indices])[0], x.take(indices.ravel(), 0))

    def test_selections_and_running_sums_are_those_of_numpy(self):
        for _ in range(20):
            x = self.array(self.shape(1, 4), self.pick(["i4", "u4", "i8", "u8", "f2", "f4"]))
            axis = self.integer(0, x.ndim - 1)
            sequence = {"Axis": axis, "AxisDirection": "INCREASING"}
            with self.subTest(shape=x.shape, dtype=x.dtype, axis=axis):
                values, places = self.compute({"type": "TOP_K1", "K": x.shape[axis], **sequence}, [x], 2)
                self.assert_same(values, np.sort(x, axis))
                self.assert_same(places, x.argsort(axis, "stable").astype("u4"))
                document = {"type": "CUMULATIVE_SUMMATION", "HasExclusiveSum": False, **sequence}
                self.assert_same(self.compute(document, [x])[0], x.cumsum(axis, x.dtype))
                count, coordinates = self.compute({"type": "NONZERO_COORDINATES"}, [x.astype("i4")], 2)
                expected = np.argwhere(x.astype("i4"))
                self.assertEqual(count.ravel().tolist(), [len(expected)])
                self.assert_same(coordinates.reshape(-1, x.ndim)[:len(expected)], expected.astype("u4"))

    def test_identity_with_permuted_strides_transposes(self):
        for _ in range(ROUNDS):
            x = self.array(self.shape(high=8, largest=4), self.pick(ALL))
            order = self.random.permutation(x.ndim)
            transposed = np.empty(x.shape, x.dtype).transpose(order)
            strides = np.empty(x.ndim, int)
            strides[order] = np.ascontiguousarray(transposed).strides
            # The output's buffer, read as packed, is the transposed tensor.
            name = {"f": "FLOAT", "i": "INT", "u": "UINT"}[x.dtype.kind] + str(8 * x.itemsize)
            document = {
                "type": "ELEMENT_WISE_IDENTITY",
                "InputTensor": {"DataType": name, "Sizes": x.shape},
                "OutputTensor": {"Strides": [int(s) // x.itemsize for s in strides]},
            }
            np.save(self.folder / "x.npy", x)
            self.run_program("run", json.dumps(document), "-i", "x.npy", "-o", "y.bin")
            y = np.fromfile(self.folder / "y.bin", x.dtype)[: x.size]
            self.assert_same(y.reshape(x.transpose(order).shape), np.ascontiguousarray(x.transpose(order)))

    def test_padding_is_pad(self):
        modes = {"CONSTANT": "constant", "EDGE": "edge", "REFLECTION": "reflect", "SYMMETRIC": "symmetric",
                 "WRAP": "wrap"}
        for _ in range(ROUNDS):
            x = self.array(self.shape(largest=8), self.pick(ALL))
            mode = self.pick(list(modes))
            # NumPy breaks the period if the padding is as long as the input.
            pads = [(self.integer(0, n - 1), self.integer(0, n - 1)) for n in x.shape]
            (padded,) = self.compute({
                "type": "PADDING", "PaddingMode": mode, "PaddingValue": 7,
                "StartPadding": [start for start, _ in pads], "EndPadding": [end for _, end in pads]}, [x])
            options = {"constant_values": 7} if mode == "CONSTANT" else {}
            self.assert_same(padded, np.pad(x, pads, modes[mode], **options))

    def test_tile_is_tile(self):
        for _ in range(ROUNDS):
            x = self.array(self.shape(high=8, largest=3), self.pick(ALL[1:]))
            repeats = [self.integer(1, 3) for _ in x.shape]
            self.assert_same(self.compute({"type": "TILE", "Repeats": repeats}, [x])[0], np.tile(x, repeats))

    def test_diagonals_are_triangles(self):
        for _ in range(ROUNDS):
            x = self.array(self.shape(2, 4), self.pick(ALL))
            k = self.integer(-5, 5)
            least, most = -(2**31), 2**31 - 1
            for begin, end, expected in ((least, k, np.triu(x, k)), (k + 1, most, np.tril(x, k))):
                document = {"type": "DIAGONAL_MATRIX1", "InputTensor": {}, "Value": 0, "DiagonalFillBegin": begin,
                            "DiagonalFillEnd": end}
                self.assert_same(self.compute(document, [x])[0], expected)

    def test_depth_to_space_is_a_transpose(self):
        for _ in range(ROUNDS):
            n, c, h, w, b = (self.integer(1, 4) for _ in range(5))
            x = self.array((n, c * b * b, h, w), self.pick(ALL))
            orders = {"DEPTH_COLUMN_ROW": (x.reshape(n, b, b, c, h, w), (0, 3, 4, 1, 5, 2)),
                      "COLUMN_ROW_DEPTH": (x.reshape(n, c, b, b, h, w), (0, 1, 4, 2, 5, 3))}
            for order, (split, axes) in orders.items():
                wide = np.ascontiguousarray(split.transpose(axes)).reshape(n, c, h * b, w * b)
                document = {"BlockSize": b, "Order": order}
                self.assert_same(self.compute({"type": "DEPTH_TO_SPACE1"} | document, [x])[0], wide)
                self.assert_same(self.compute({"type": "SPACE_TO_DEPTH1"} | document, [wide])[0], x)

    def test_unfold_is_a_sliding_window_view_of_the_padded_input(self):
        for _ in range(ROUNDS):
            count = self.integer(1, 3)
            x = self.array((self.integer(1, 2), self.integer(1, 3)) + self.shape(count, count, 7), self.pick(ALL))
            window = [self.integer(1, 3) for _ in range(count)]
            stride = [self.integer(1, 3) for _ in range(count)]
            dilation = [self.integer(1, 2) for _ in range(count)]
            start = [self.integer(0, 3) for _ in range(count)]
            reach = [d * (w - 1) + 1 for d, w in zip(dilation, window)]
            end = [max(self.integer(0, 3), r - s - p) for r, s, p in zip(reach, x.shape[2:], start)]
            document = {
                "type": "UNFOLD", "WindowSizes": window, "Strides": stride, "Dilations": dilation,
                "StartPadding": start, "EndPadding": end,
            }
            padded = np.pad(x, [(0, 0), (0, 0), *zip(start, end)])
            spatial = tuple(range(2, x.ndim))
            view = np.lib.stride_tricks.sliding_window_view(padded, reach, spatial)
            steps = [slice(None, None, s) for s in stride] + [slice(None, None, d) for d in dilation]
            view = view[(slice(None), slice(None), *steps)]
            taps = tuple(range(2 + count, 2 + 2 * count))
            expected = view.transpose((0, 1) + taps + spatial)
            rows, blocks = x.shape[1] * int(np.prod(window)), int(np.prod(view.shape[2 : 2 + count]))
            (unfolded,) = self.compute(document, [x])
            self.assert_same(unfolded, expected.reshape(x.shape[0], rows, blocks))

    def reduction(self, dtype):
        x = self.array(self.shape(), dtype)
        axes = [axis for axis in self.random.permutation(x.ndim).tolist() if self.integer(0, 1)]
        return x, axes or [self.integer(0, x.ndim - 1)]

    def test_reductions_of_integers_wrap_as_numpys_do(self):
        for _ in range(ROUNDS):
            for function, (expected, dtypes) in REDUCTIONS.items():
                x, axes = self.reduction(self.pick(dtypes))
                document = {"type": "REDUCE", "Function": function, "Axes": axes}
                (reduced,) = self.compute(document, [x])
                self.assert_same(reduced, expected(x, tuple(axes)))

    def test_index_of_the_extreme_within_the_reduced_axes(self):
        for _ in range(ROUNDS):
            for function, find in (("ARGMAX", np.argmax), ("ARGMIN", np.argmin)):
                x, axes = self.reduction(self.pick(["i1", "f4"]))
                x %= 7  # so that ties are common
                kept = [axis for axis in range(x.ndim) if axis not in axes]
                rows = x.transpose(kept + sorted(axes)).reshape([x.shape[axis] for axis in kept] + [-1])
                shape = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
                dtype, name = self.pick([("i8", "INT64"), ("i4", "INT32"), ("u8", "UINT64"), ("u4", "UINT32")])
                document = {"type": "REDUCE", "Function": function, "Axes": axes, "OutputTensor": {"DataType": name}}
                (index,) = self.compute(document, [x])
                self.assert_same(index, find(rows, -1).astype(dtype).reshape(shape))

    def test_sums_of_small_integers_in_floats_are_exact(self):
        for _ in range(ROUNDS):
            for dtype in ("f4", "f2"):
                shape = self.shape(high=4)
                x = self.random.integers(-3, 4, shape).astype(dtype)
                axes = [self.integer(0, x.ndim - 1)]
                for function, expected in (("SUM", x.sum), ("L1", np.abs(x).sum), ("SUM_SQUARE", (x * x).sum)):
                    document = {"type": "REDUCE", "Function": function, "Axes": axes}
                    (reduced,) = self.compute(document, [x])
                    # Adding 0 turns -0, which a sum of only -0 may give, into +0.
                    exact = expected(tuple(axes), dtype="f8", keepdims=True).astype(dtype)
                    self.assert_same(reduced + np.zeros((), dtype), exact + np.zeros((), dtype))

    def test_average_and_norm_are_rounded_once(self):
        """Double precision is accurate enough to round to the right half."""
        for _ in range(ROUNDS):
            x = self.random.standard_normal(self.shape(high=3)).astype("f2")
            axes = (self.integer(0, x.ndim - 1),)
            wide = x.astype("f8")
            average = wide.mean(axes, keepdims=True)
            norm = np.sqrt((wide * wide).sum(axes, keepdims=True))
            for function, exact in (("AVERAGE", average), ("L2", norm)):
                (reduced,) = self.compute({"type": "REDUCE", "Function": function, "Axes": list(axes)}, [x])
                self.assert_same(reduced + np.zeros((), "f2"), exact.astype("f2") + np.zeros((), "f2"))


if __name__ == "__main__":
    print(f"DMLOP_TEST_SEED={SEED}", file=sys.stderr)
    unittest.main()
