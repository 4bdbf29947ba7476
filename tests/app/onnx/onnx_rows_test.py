# SPDX-License-Identifier: Apache-2.0
"""Rows of the table of ONNX's operators, as nodes of one each: their values by NumPy, and their refusals."""

import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from onnx_messages import constant, field, model, node, text, value
from program import ProgramTest

F, I = np.float32, np.int64


def of(*sizes, start=0, kind="f4"):
    """Numbers that any sum of few products keeps exact."""
    return ((np.arange(np.prod(sizes, dtype=int)) + start) % 7 - 3).reshape(sizes).astype(kind)


def model_of(op, inputs, outputs="Y", opset=17, domain="", **attributes):
    """A model of one node 'n', and the tensors of its inputs. Names in capitals are inputs, the others constants."""
    made = node(op, ",".join(inputs), outputs, "n", domain, **attributes)
    bound = {name: np.asarray(array) for name, array in inputs.items() if name.isupper()}
    return model([made], [value(name, array.dtype, array.shape) for name, array in bound.items()],
                 [text(1, name) for name in outputs.split(",") if name],
                 [constant(name, array) for name, array in inputs.items() if name and name not in bound],
                 opset=opset, domains=[(domain, 1)] if domain else []), bound


def matmul(*sizes):
    a, b = of(*sizes[0]), of(*sizes[1], start=2)
    return f"MatMul of {sizes}", model_of("MatMul", {"A": a, "B": b}), np.matmul(a, b)


def integer_matmul(*sizes):
    a, b = of(*sizes[0], start=3, kind="u1") % 7, of(*sizes[1], start=2, kind="i1")
    return f"MatMulInteger of {sizes}", model_of("MatMulInteger", {"A": a, "B": b, "Z": np.uint8(2)}), np.matmul(a.astype("i4") - 2, b.astype("i4"))


def fused_matmul(*sizes, **attributes):
    """Vectors are not transposed."""
    a, b = of(*sizes[0]), of(*sizes[1], start=2)
    transposed = np.swapaxes(b, -1, -2) if b.ndim > 1 else b
    return f"FusedMatMul of {sizes}", model_of("FusedMatMul", {"A": a, "B": b}, domain="com.microsoft", transB=1, **attributes), np.matmul(a, transposed)


def quantized_pool(*sizes):
    """Sums of 2 x 2 elements, as the scale of a mean is 1/4, without channels between them."""
    x = of(*sizes, kind="i1") + np.int8(3)
    sums = sum(x[:, i:sizes[1] - 1 + i, j:sizes[2] - 1 + j].astype("i4") - 1 for i in (0, 1) for j in (0, 1))
    parameters = {"s": F(1), "z": np.int8(1), "t": F(.25), "y": np.int8(-2)}
    return (f"QLinearAveragePool of {sizes} with channels last",
            model_of("QLinearAveragePool", {"X": x} | parameters, domain="com.microsoft", channels_last=1, kernel_shape=[2, 2]), (sums - 2).astype("i1"))


def global_quantized_pool(*sizes):
    x = of(*sizes, kind="u1") % 7
    parameters = {"s": F(1), "z": np.uint8(0), "t": F(1 / np.prod(sizes[1:-1])), "y": np.uint8(5)}
    return (f"QLinearGlobalAveragePool of {sizes} with channels last",
            model_of("QLinearGlobalAveragePool", {"X": x} | parameters, domain="com.microsoft", channels_last=1),
            (x.sum(axis=tuple(range(1, x.ndim - 1)), keepdims=True, dtype="i4") + 5).astype("u1"))


def max_pool_that_drops_a_window():
    x = of(1, 1, 3, 3)
    return ("MaxPool whose last window would begin in the padding", model_of("MaxPool", {"X": x}, kernel_shape=[1, 1], strides=[3, 3], ceil_mode=1, pads=[0, 0, 1, 1]),
            x[:, :, ::3, ::3])


INTEGERS = np.array([[1, 2], [3, 5]], "u1"), np.array([[2, 1], [0, 3]], "u1")
HALF, ONE = np.array([0.5], "f2"), np.array([1], "u1")
VOLUMES = of(2, 3, 2, 3, 2)

# What it is, the model with its tensors, and the expected output.
VALUES = [
    # Matrices in more dimensions than GEMM has, of which some are repeated.
    *(matmul(*sizes) for sizes in [((2, 3, 2, 3, 4), (4, 5)), ((3, 4), (2, 3, 2, 4, 5)), ((2, 3, 2, 3, 4), (2, 4, 5)), ((2, 2, 2, 2, 3, 4), (2, 2, 1, 1, 4, 5)),
                                   ((2, 1, 2, 3, 4), (1, 1, 2, 4, 5)), ((2, 1, 1, 3, 4), (2, 3, 1, 4, 5)), ((4,), (2, 1, 2, 3, 4, 5))]),
    integer_matmul((2, 3, 2, 3, 4), (4, 5)), integer_matmul((2, 3, 2, 3, 4), (2, 3, 2, 4, 5)),
    fused_matmul((2, 3, 2, 3, 4), (2, 3, 2, 5, 4)), fused_matmul((2, 3, 2, 3, 4), (5, 4)),
    fused_matmul((4,), (4,), transA=1), fused_matmul((4,), (5, 4), transA=1, transBatchA=1), fused_matmul((3, 4), (4,)), fused_matmul((2, 3, 4), (4,)),
    fused_matmul((4,), (2, 3, 2, 5, 4)),
    max_pool_that_drops_a_window(), quantized_pool(2, 3, 4, 5), global_quantized_pool(2, 4, 3), global_quantized_pool(1, 2, 4, 3), global_quantized_pool(1, 2, 2, 2, 3),
    ("QLinearMatMul with scales of FLOAT16",
     model_of("QLinearMatMul", {"A": INTEGERS[0], "s": HALF, "z": ONE, "B": INTEGERS[1], "t": HALF, "y": ONE, "u": HALF / 2, "x": ONE * 9}, opset=21),
     ((INTEGERS[0].astype("i4") - 1) @ (INTEGERS[1].astype("i4") - 1) + 9).astype("u1")),
    # Images of three dimensions, of which those in front are copied.
    ("Resize of volumes", model_of("Resize", {"X": VOLUMES, "": F(0), "s": np.array([1, 1, 2, 1, 3], F)}, mode="nearest"), VOLUMES.repeat(2, 2).repeat(3, 4)),
    # Antialias takes one element from all: the weights 1/4, 1/2, 3/4, 1, 3/4, 1/2, 1/4 sum up to 4, and those up to 1 are for the first element or before it.
    *((f"Resize to one element, {mode}", model_of("Resize", {"X": F([5, 0, 0, 0]), "": F(0), "s": F([.25])}, opset=18, mode="linear", antialias=1, coordinate_transformation_mode=mode), F([3.125]))
      for mode in ("align_corners", "pytorch_half_pixel")),
    # Coordinates 1/2, 1.625, 2.75, 3.875 and 5, where 0.1 x 5 is 1/2 in FLOAT32.
    ("Resize of a part", model_of("Resize", {"X": of(6), "r": F([.1, 1]), "s": F([1])}, mode="nearest", coordinate_transformation_mode="tf_crop_and_resize"), of(6)[[0, 2, 3, 4, 5]]),
    ("RoiAlign of a region without pixels, which is one wide",
     model_of("RoiAlign", {"X": np.arange(16, dtype="f4").reshape(1, 1, 4, 4), "r": F([[1, 1, 1, 1]]), "b": I([0])}, opset=10, sampling_ratio=1), F([[[[7.5]]]])),
    ("RoiAlign of such a region where one pixel of the output is more than all numbers of the input",
     model_of("RoiAlign", {"X": np.arange(1, 17, dtype="f4").reshape(1, 1, 4, 4), "r": F([[1, 1, 1, 1]]), "b": I([0])}, opset=10, sampling_ratio=1, spatial_scale=1e-39),
     F([[[[1]]]])),
    ("GroupNormalization without places", model_of("GroupNormalization", {"X": F([[-1, 1], [3, -5]]), "s": F([2, 3]), "b": F([1, 0])}, opset=21, num_groups=1, epsilon=0.0), F([[-1, 3], [3, -3]])),
    ("Einsum of a repeated column", model_of("Einsum", {"A": of(2, 1), "B": of(3, 4)}, equation="ij,jk->ik"), of(2, 1).repeat(3, 1) @ of(3, 4)),
    ("Einsum of a repeated row", model_of("Einsum", {"A": of(1, 3), "B": of(2, 3)}, equation="ij,ij->ij"), of(1, 3) * of(2, 3)),
    ("Slice backwards of nothing", model_of("Slice", {"X": of(0, 6), "s": I([-1]), "e": I([-9]), "a": I([0]), "t": I([-1])}), of(0, 6)),
    ("Split with a smaller last part", model_of("Split", {"X": of(5)}, "Y,Z", opset=18, num_outputs=2), of(5)[:3]),
]


# The rule, words of the message, and the model.
REFUSED = [
    ("ONX-1", "has 9 dimensions", model_of("Relu", {"X": of(*[1] * 8, 2)})),
    *(("ONX-3", "broadcast", model_of(op, {"X": of(2, 3, kind=kind), "B": of(3, kind=kind)}, opset=6, broadcast=1)) for op, kind in [("Sub", "f4"), ("Pow", "f4"), ("PRelu", "f4"), ("And", "?")]),
    ("ONX-3", "more dimensions", matmul((2, 1, 2, 3, 4), (1, 3, 1, 4, 5))[1]),
    ("ONX-3", "blocksize", model_of("SpaceToDepth", {"X": of(1, 1, 2, 2)}, blocksize=2**40)),
    ("ONX-3", "output 1 is left out", model_of("Relu", {"X": of(2)}, "")),
    ("ONX-3", "has 1 dimension; batch, channels", model_of("LpPool", {"X": of(3)}, kernel_shape=[1])),
    ("ONX-3", r"is out of range for 1 dimension\b", model_of("Softmax", {"X": of(3)}, axis=2)),
    ("ONX-3", r"pads .* for 1 dimension\b", model_of("MaxPool", {"X": of(1, 1, 3)}, kernel_shape=[1], pads=[1])),
    ("ONX-4", "of 2 elements in 3 parts of 1, none is left", model_of("Split", {"X": of(2)}, "Y,Z,W", opset=18, num_outputs=3)),
    # Numbers that no tensor has, or that contradict each other.
    ("ONX-1", "size -1 of", model_of("Tile", {"X": of(2, 3), "r": I([-1, 1])})),
    ("ONX-1", "pads .* are out of range", model_of("Pad", {"X": of(2, 3), "p": I([2**63 - 1, 0, 2**63 - 1, 0])})),
    ("ONX-4", r"\[2\] has no channels", model_of("GroupNormalization", {"X": of(2), "s": of(2), "b": of(2)}, opset=21, num_groups=1)),
    ("ONX-4", "'i' is 1 and 3", model_of("Einsum", {"X": of(1, 3)}, equation="ii->i")),
    ("ONX-1", "size 2147483648 of", model_of("Range", {"s": I(-2**63), "l": I(2**63 - 1), "d": I(1)})),
    ("ONX-3", "group 4611686018427387904", model_of("ConvTranspose", {"X": of(1, 1, 5, 5), "w": of(1, 4, 3, 3)}, group=2**62)),
    *(("ONX-3", "axis -?[02] is there twice", model_of(op, {"X": of(2, 3)} | more, opset=18, **attributes)) for op, more, attributes in [
        ("Slice", {"s": I([0, 0]), "e": I([1, 1]), "a": I([0, -2])}, {}), ("Pad", {"p": I([1, 1, 1, 1]), "": F(0), "a": I([-2, 0])}, {}),
        ("Resize", {"": F(0), "t": F([2, 2])}, {"axes": [0, 0]})]),
    ("ONX-4", "make up 3 outputs", model_of("Split", {"X": of(5), "s": I([2**63 - 1, 2**63 - 1, 7])}, "Y,Z,W")),
    ("ONX-4", "both given", model_of("Resize", {"X": of(2), "r": F([]), "s": F([2]), "t": I([4])})),
    ("ONX-4", "hidden_size 2 with R", model_of("GRU", {"X": of(1, 1, 2), "w": of(1, 3, 2), "r": of(1, 3, 1)}, hidden_size=2)),
    ("ONX-4", "4 columns cannot be split into 3 heads", model_of("MultiHeadAttention", {"X": of(1, 2, 4), "k": of(1, 2, 4), "v": of(1, 2, 4)}, domain="com.microsoft", num_heads=3)),
    ("ONX-4", "matrix", model_of("MatMulNBits", {"X": of(2, 32), "b": of(16, kind="u1"), "s": of(1)}, domain="com.microsoft", K=32, N=2**61 + 1, bits=4, block_size=32)),
    ("ONX-4", r"block_size 3 on axis 1 of \[2, 4\]", model_of("DequantizeLinear", {"X": of(2, 4, kind="i1"), "s": of(2, 4)}, opset=21, block_size=3)),
    ("ONX-4", "has no element", model_of("Clip", {"X": of(2), "l": of(0)})),
    ("ONX-4", "is for axis 1 of 0 dimensions", model_of("QLinearConv", {"X": np.uint8(1), "s": F([1, 1]), "z": ONE, "w": of(1, 1, 1, kind="u1"), "t": F(1), "y": ONE, "u": F(1), "v": ONE})),
    ("ONX-6", "4294967297", model_of("Cast", {"X": of(2)}, to=2**32 + 1)),
    ("ONX-4", r"\b1 scale for 2 axes", model_of("Resize", {"X": of(2, 3), "": F(0), "s": F([1])})),
    ("ONX-4", r"\b3 roi numbers for 1 axis\b", model_of("Resize", {"X": of(3), "r": F([0, 1, 1]), "s": F([1])}, coordinate_transformation_mode="tf_crop_and_resize")),
    ("ONX-4", r"\b1 repeat for", model_of("Tile", {"X": of(2, 3), "r": I([1])})),
    ("ONX-3", r"\b1 input with an equation of 2", model_of("Einsum", {"X": of(2, 3)}, equation="ij,jk->ik")),
    ("ONX-3", r"\b1 activation; expected 2", model_of("GRU", {"X": of(1, 1, 2), "w": of(1, 3, 2), "r": of(1, 3, 1)}, hidden_size=1, activations=["Tanh"])),
    ("ONX-4", "make up 1 output of", model_of("Split", {"X": of(4), "s": I([2, 2])})),
    *(("ONX-4", "cannot be split into 2 equal parts", model_of("Split", {"X": of(size)}, "Y,Z", opset=opset)) for size, opset in [(1, 13), (7, 18), (1, 18)]),
    ("ONX-4", "said twice", model_of("Split", {"X": of(4), "s": I([1, 3])}, "Y,Z", opset=18, num_outputs=2)),
    # What versions have.
    *(("ONX-2", f"ONNX has it from opset {first} on", model_of(op, {"X": of(2, 3)}, opset=first - 1, **attributes)) for op, first, attributes in [
        ("Gelu", 20, {}), ("HardSwish", 14, {}), ("Sign", 9, {}), ("Trilu", 14, {}), ("Celu", 12, {})]),
    *(("ONX-3", "mode 'wrap'", model_of("Pad", {"X": of(2, 3), "p": I([1, 1, 1, 1])}, opset=opset, mode="wrap")) for opset in (11, 18)),
    ("ONX-3", "which only version 11 has", model_of("Resize", {"X": of(2), "": F(0), "s": F([2])}, opset=13, coordinate_transformation_mode="tf_half_pixel_for_nn")),
    ("ONX-3", "there is no direction", model_of("BitShift", {"X": of(2, kind="u1"), "Z": of(2, kind="u1")})),
]

# Operators that exporters put into opsets before ONNX has them, and a model that states only another domain's opset.
VALUES += [
    ("LayerNormalization of opset 11", model_of("LayerNormalization", {"X": F([[1, 3]]), "s": F([1, 2])}, opset=11, epsilon=0.0), F([[-1, 2]])),
    ("HardSwish without an opset", (model_of("HardSwish", {"X": F([-4, 0, 4])}, opset=14)[0].replace(field(8, text(1, "") + field(2, 14)), field(8, text(1, "my") + field(2, 1))), {"X": F([-4, 0, 4])}), F([0, 0, 4])),
]

# Where ORT's DirectML provider computes something else: words of the note, and the model.
NOTES = [
    ("sizes of the input", model_of("Resize", {"X": of(4), "": F(0), "s": F([.25])}, coordinate_transformation_mode="pytorch_half_pixel")),
    ("other scales", model_of("Resize", {"X": of(4), "r": F([0, .25]), "s": F([1])}, coordinate_transformation_mode="tf_crop_and_resize")),
    ("roi with axes", model_of("Resize", {"X": of(2, 4), "r": F([0, .5]), "s": F([1])}, opset=18, coordinate_transformation_mode="tf_crop_and_resize", axes=[1])),
    ("a last window", model_of("MaxPool", {"X": of(1, 1, 3, 3)}, kernel_shape=[1, 1], strides=[3, 3], ceil_mode=1, pads=[0, 0, 1, 1])),
    ("infers no size", model_of("Reshape", {"X": of(4), "s": I([2, -1])}, allowzero=1)),
    ("-INT64_MAX", model_of("Clip", {"X": of(4, kind="i8"), "": I(0), "m": I(1)})),
]


class RowsTest(ProgramTest):
    def write(self, content, tensors):
        (self.folder / "m.onnx").write_bytes(content)
        for name, array in tensors.items():
            np.save(self.folder / f"{name}.npy", array)
        return [part for name in tensors for part in ("-i", f"{name}={name}.npy")]

    def test_values_are_those_of_numpy(self):
        for name, made, expected in VALUES:
            with self.subTest(name):
                self.run_program("run", "m.onnx", *self.write(*made), "-o", "Y=y.npy", "-q")
                found = np.load(self.folder / "y.npy")
                self.assertEqual(found.dtype, expected.dtype)
                np.testing.assert_array_equal(found, expected)

    def test_notes_say_what_another_provider_computes(self):
        for words, made in NOTES:
            with self.subTest(words):
                self.write(*made)
                told = self.run_program("validate", "m.onnx").stdout.decode()
                self.assertEqual(told.count(words), 1, told)

    def test_refusals_name_the_node_and_the_rule(self):
        for code, words, made in REFUSED:
            with self.subTest(f"{code} {words}"):
                self.write(*made)
                told = self.run_program("validate", "m.onnx", status=3).stderr.decode()
                self.assertRegex(told, rf"node 'n' .*{words}.* \[{code}\]")


if __name__ == "__main__":
    unittest.main()
