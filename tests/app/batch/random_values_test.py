# SPDX-License-Identifier: Apache-2.0
"""Inputs with seeded values are the same on every machine."""

import json
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import ProgramTest

TYPES = {"FLOAT64": "f8", "FLOAT32": "f4", "FLOAT16": "f2", "INT64": "i8", "INT32": "i4", "INT16": "i2",
         "INT8": "i1", "UINT64": "u8", "UINT32": "u4", "UINT16": "u2", "UINT8": "u1"}
MASK = 2 ** 64 - 1


def mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


IMPLIED_SEED = 2 ** 32  # for the first tensor; the next tensors' seeds are greater by 1 each


def bits(seed, count):
    """The documented generator in integer arithmetic."""
    first = 1 if seed == 0 else 0
    return [mix((mix(seed) + i * 0x9E3779B97F4A7C15) & MASK) for i in range(first, first + count)]


def special_values(dtype):
    if dtype.kind != "f":
        least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        return np.array([0, 1, most if least == 0 else -1, least, most, least + 1, most - 1], dtype)
    info = np.finfo(dtype)
    positive = np.array([0, 1, np.nextafter(info.tiny, dtype.type(0)), info.tiny, info.smallest_subnormal,
                         info.max, np.nextafter(dtype.type(1), dtype.type(2)), np.inf], dtype)
    return np.append(np.column_stack([positive, -positive]).ravel(), dtype.type(np.nan))


def expected_values(dtype, random, count):
    dtype = np.dtype(dtype)
    drawn = bits(random.get("seed", IMPLIED_SEED), count)
    kind = random["random"]
    if kind == "special":
        values = special_values(dtype)
        return values[[b * len(values) >> 64 for b in drawn]]
    if kind == "normal":
        mean, deviation = (float(dtype.type(random.get(name, value))) for name, value in (("mean", 0), ("deviation", 1)))
        sums = [sum(b >> 11 for b in drawn) - 6 * (2 ** 53 - 1)
                for drawn in zip(*[iter(bits(random.get("seed", IMPLIED_SEED), 12 * count))] * 12)]
        return np.array([mean + deviation * (float(s) * 2.0 ** -53) for s in sums]).astype(dtype)
    if dtype.kind != "f":
        low = random.get("low", int(np.iinfo(dtype).min))
        high = random.get("high", int(np.iinfo(dtype).max))
        return np.array([low + (b * (high - low + 1) >> 64) for b in drawn], dtype)
    bound = 8 if kind == "integers" else 1
    low, high = (float(dtype.type(random.get(name, value))) for name, value in (("low", -bound), ("high", bound)))
    if kind == "integers":
        return np.array([low + (b * int(high - low + 1) >> 64) for b in drawn]).astype(dtype)
    return np.array([low + (high - low) * ((b >> 11) * 2.0 ** -53) for b in drawn]).astype(dtype)


class RandomTest(ProgramTest):
    def copy_of(self, random, data_type="FLOAT32", sizes=(3, 5, 7), status=0):
        descriptor = {"type": "ELEMENT_WISE_IDENTITY",
                      "desc": {"InputTensor": {"DataType": data_type, "Sizes": list(sizes)}},
                      "bindings": {"InputTensor": random, "OutputTensor": "y.npy"}}
        return self.errors_of("run", json.dumps(descriptor), status=status, cwd=self.folder)

    def test_values_are_those_of_the_documented_generator(self):
        for data_type, dtype in TYPES.items():
            for random in [{"random": "uniform"}, {"random": "uniform", "seed": 0}, {"random": "uniform", "seed": 2 ** 64 - 1, "low": 3, "high": 100},
                           {"random": "integers", "seed": 7}, {"random": "integers", "seed": 8, "low": 0, "high": 1},
                           {"random": "special", "seed": 9}, {"random": "uniform", "seed": 3, "low": 5, "high": 5}]:
                with self.subTest(data_type=data_type, random=random):
                    self.copy_of(random, data_type)
                    self.assert_same(self.load("y"), expected_values(dtype, random, 105).reshape(3, 5, 7))

    def test_normal_values(self):
        for data_type in ("FLOAT64", "FLOAT32", "FLOAT16"):
            for random in [{"random": "normal"}, {"random": "normal", "seed": 5, "mean": -3, "deviation": 0.1},
                           {"random": "normal", "mean": 2, "deviation": 0}]:
                with self.subTest(data_type=data_type, random=random):
                    self.copy_of(random, data_type)
                    self.assert_same(self.load("y"), expected_values(TYPES[data_type], random, 105).reshape(3, 5, 7))
        self.copy_of({"random": "normal", "seed": 1}, "FLOAT64", sizes=[1 << 18])
        values = self.load("y")
        for what, actual, expected in [("mean", values.mean(), 0), ("deviation", values.std(), 1),
                                       ("skewness", (values ** 3).mean(), 0), ("kurtosis", (values ** 4).mean(), 3 - 0.1),
                                       ("within 1", (abs(values) < 1).mean(), 0.6827)]:
            self.assertLess(abs(actual - expected), 0.02 if what != "kurtosis" else 0.05, what)

    def test_no_tensor_has_the_values_of_another(self):
        """Tensors without a seed have different values, whatever their names; none begins with a bound."""
        one = {"DataType": "FLOAT32", "Sizes": [5]}
        for document, names in [
            ({"type": "ELEMENT_WISE_SUBTRACT", "ATensor": one, "BTensor": one}, ["ATensor", "BTensor"]),
            ({"type": "JOIN", "Axis": 0, "InputTensors": [one] * 3}, ["InputTensors-0", "InputTensors-1", "InputTensors-2"]),
            ({"type": "ELEMENT_WISE_IF", "ConditionTensor": {"DataType": "UINT8", "Sizes": [5]}, "ATensor": one, "BTensor": one},
             ["ConditionTensor", "ATensor", "BTensor"]),
        ]:
            with self.subTest(document["type"]):
                random = {"random": "uniform"}
                fields = {name.split("-")[0]: random for name in names}
                if "InputTensors" in fields:
                    fields["InputTensors"] = [random] * 3
                self.write("case.json", document | {"bindings": fields | {"OutputTensor": "y.npy"}})
                self.run_program("batch", "case.json", "--inputs")
                for number, name in enumerate(names):
                    values = self.load(f"y.{name}")
                    seeded = {"random": "uniform", "seed": IMPLIED_SEED + number}
                    self.assert_same(values, expected_values(values.dtype, seeded, 5))
                    self.assertNotEqual(values[0], -1)

    def test_elements_of_4_bits_have_their_range(self):
        drawn = bits(7, 105)
        for data_type, least in (("INT4", -8), ("UINT4", 0)):
            most = least + 15
            special = [0, 1, most if least == 0 else -1, least, most, least + 1, most - 1]
            for values, expected in [
                ({"random": "uniform", "seed": 7}, [least + (b * 16 >> 64) for b in drawn]),
                ({"random": "integers", "seed": 7, "low": 2, "high": 6}, [2 + (b * 5 >> 64) for b in drawn]),
                ({"random": "special", "seed": 7}, [special[b * 7 >> 64] for b in drawn]),
                ({"valueStart": 5, "valueDelta": 3}, [(5 + 3 * i - least) % 16 + least for i in range(105)]),
            ]:
                with self.subTest(data_type=data_type, values=values):
                    self.run_program("run", json.dumps({
                        "type": "DEQUANTIZE", "InputTensor": {"DataType": data_type, "Sizes": [105]},
                        "QuantizationType": "SCALE_ZERO_POINT",
                        "QuantizationTensors": [{"DataType": "FLOAT32", "Sizes": [1]},
                                                {"DataType": data_type, "Sizes": [1]}],
                        "bindings": {"InputTensor": values, "QuantizationTensors": [[1], [0]],
                                     "OutputTensor": "y.npy"}}))
                    self.assert_same(self.load("y"), np.array(expected, "f4"))

    def test_long_tensors_have_the_values_of_short_ones_and_then_more(self):
        random = {"random": "uniform", "seed": 7, "low": -1, "high": 1}
        self.copy_of(random, sizes=[1 << 20])
        long = self.load("y")
        self.assert_same(long[:1000], expected_values("f4", random, 1000))
        self.assert_same(long[-1:], expected_values("f4", random, 1 << 20)[-1:])
        self.assertLess(abs(float(long.mean(dtype="f8"))), 0.01)
        self.assertEqual((long.min() >= -1, long.max() <= 1), (True, True))

    def test_faults(self):
        for random, data_type, message in [
            ({"random": "gauss"}, "FLOAT32",
             "'gauss' is not a known name; expected one of uniform, integers, normal, special"),
            ({"random": "normal"}, "INT32", "normal values are of the float types"),
            ({"random": "normal", "low": 1}, "FLOAT32", "'low' is not a known field"),
            ({"random": "uniform", "mean": 1}, "FLOAT32", "'mean' is not a known field"),
            ({"random": "normal", "deviation": -1}, "FLOAT32", "'deviation' is negative"),
            ({"random": "normal", "mean": "inf"}, "FLOAT32", "/mean: 'mean' is not finite in FLOAT32"),
            ({"random": 1}, "FLOAT32", "expected a string"),
            ({"random": "uniform", "sed": 1}, "FLOAT32", "did you mean 'seed'?"),
            ({"random": "special", "low": 1}, "FLOAT32", "'low' is not a known field"),
            ({"random": "uniform", "seed": -1}, "FLOAT32", "-1"),
            ({"random": "uniform", "seed": 2 ** 64}, "FLOAT32", "18446744073709551616"),
            ({"random": "uniform", "low": -1}, "UINT8", "-1"),
            ({"random": "normal", "mean": 70000}, "FLOAT16", "/mean: 70000 is out of range for FLOAT16"),
            ({"random": "uniform", "low": 2}, "FLOAT32", "'low' is above 'high', and 'high' is 1 where it is left out [DOC-2]"),
            ({"random": "uniform", "high": -9}, "FLOAT16", "'low' is above 'high', and 'low' is -1 where it is left out [DOC-2]"),
            ({"random": "integers", "low": 200, "high": 100}, "UINT8", "'low' is above 'high' [DOC-2]"),
            ({"random": "uniform", "low": 5, "high": 4}, "INT8", "'low' is above 'high'"),
            ({"random": "uniform", "low": "nan"}, "FLOAT32", "is not finite"),
            ({"random": "uniform", "low": -1e308, "high": 1e308}, "FLOAT64", "is not finite"),
            ({"random": "integers", "low": 0.5}, "FLOAT32", "are not whole numbers within 2^53"),
            ({"random": "integers", "low": -1e20, "high": 1e20}, "FLOAT32", "are not whole numbers within 2^53"),
            ({"random": "uniform", "valueCount": 3}, "FLOAT32", "3 values; expected 105"),
        ]:
            with self.subTest(message):
                self.assertIn(message, self.copy_of(random, data_type, status=3))
                self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main()
