# SPDX-License-Identifier: Apache-2.0
"""Malicious documents: each is refused with a place, in bounded time and memory."""

import json
import os
import re
import resource
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import ProgramTest, peak_memory, start

DESCRIPTOR = b'{"type": "ELEMENT_WISE_IDENTITY",\n "InputTensor": {"DataType": "INT8", "Sizes": [HOLE]}}'
MODEL = b"""{"resources": {"x": {"initialValuesDataType": "INT8", "initialValues": [1],
                    "sizeInBytes": HOLE}},
 "dispatchables": {}, "commands": [{"type": "print", "resource": "x"}]}"""
KINDS = {"descriptor": DESCRIPTOR, "model": MODEL}
COMMANDS = [["validate"], ["run"], ["run", "--report", "report.json"]]

# The text in place of a number, the code of the fault and a part of the message.
HOSTILE = [
    ("arrays nested 100000 deep", b"[" * 100000, "JSON-1", "nested more than 64 deep"),
    ("closed arrays nested 100000 deep", b"[" * 100000 + b"]" * 100000, "JSON-1", "64 deep"),
    ("objects nested 100000 deep", b'{"a":' * 100000, "JSON-1", "nested more than 64 deep"),
    ("1e999", b"1e999", "DOC-1", "expected an integer"),
    ("-1e999", b"-1e999", "DOC-1", "expected an integer"),
    ("an integer of 20 digits", b"18446744073709551616", "DOC-2", "is out of range for UINT"),
    ("a negative integer of 20 digits", b"-9999999999999999999", "DOC-2", "is out of range for UINT"),
    ("an integer of 300 digits", b"9" * 300, "DOC-2", "is out of range for UINT"),
    ("an integer of 1000000 digits", b"9" * 1000000, "DOC-2", "is out of range for UINT"),
    ("a fraction of 1000000 digits", b"0." + b"9" * 1000000, "DOC-1", "expected an integer"),
    ("bytes that are not UTF-8", b'"\xff\xfe"', "JSON-1", "ill-formed UTF-8"),
    ("a NUL byte", b"\0", "JSON-1", "a NUL byte"),
    ("a NUL byte in a string", b'"a\0b"', "JSON-1", "a NUL byte"),
    ("a string of 1000000 characters", b'"' + b"a" * 1000000 + b'"', "DOC-1", "expected an integer"),
    ("the end of the file", None, "JSON-1", "not well-formed JSON"),
]


class HostileTest(ProgramTest):
    def check(self, text, code, message, commands=COMMANDS, excerpt=r" +\d+ \| .*\n +\| +\^\n"):
        self.write("d.json", text)
        for command in commands:
            with self.subTest(command):
                done = start([command[0], "d.json", *command[1:]], cwd=self.folder)
                errors = done.stderr.decode(errors="replace")
                self.assertEqual((done.returncode, done.stdout), (3, b""), errors[:2000])
                self.assertRegex(errors, rf"^d\.json:\d+:\d+: error: .*\[{code}\]\n{excerpt}")
                self.assertIn(message, errors)
                self.assertLess(len(errors), 150 * 1500)
                self.assertEqual(self.files(), ["d.json"])

    def test_values(self):
        for kind, skeleton in KINDS.items():
            for name, hole, code, message in HOSTILE:
                with self.subTest(f"{name} in a {kind}"):
                    whole = skeleton.replace(b"HOLE", hole) if hole else skeleton.split(b"HOLE")[0]
                    self.check(whole, code, message)

    def test_files_without_a_document(self):
        for text in (b"", b" \n", b"\xef\xbb\xbf", b"\0"):
            with self.subTest(text):
                self.check(text, "JSON-1", "not well-formed JSON")
        # Binary content is not shown.
        self.check(b"\0" * 1000, "JSON-1", "not well-formed JSON", excerpt="$")

    def test_an_array_of_more_values_than_are_read(self):
        self.check(DESCRIPTOR.replace(b"HOLE", b"1," * 4194304 + b"1"), "JSON-1",
                   "more than 4194304 values", [["validate"]])

    def test_an_array_longer_than_any_document(self):
        before, after = MODEL.split(b"HOLE")
        self.check(before + b"1, " * 25_000_000 + b"1" + after, "JSON-1",
                   "has more than 67108864 bytes", [["run"]])
        self.write("small.json", b"{")
        _, small = peak_memory(["validate", "small.json"], self.folder)
        _, large = peak_memory(["validate", "d.json"], self.folder)
        self.assertLess(large - small, 512 << 20)

    def test_keys_that_stand_twice(self):
        twice = b'"Sizes": [1], ' * 100000
        self.check(DESCRIPTOR.replace(b'"Sizes"', twice + b'"Sizes"').replace(b"HOLE", b"1"),
                   "JSON-5", "'Sizes' is given twice")
        twice = b'"sizeInBytes": 4, ' * 100000
        self.write("m.json", MODEL.replace(b'"sizeInBytes"', twice + b'"sizeInBytes"')
                   .replace(b"HOLE", b"4"))
        for command in ("validate", "run"):  # like DxDispatch, they take the first one
            errors = self.errors_of(command, "m.json")
            self.assertIn("warning: /resources/x/sizeInBytes: 'sizeInBytes' is given twice; it is ignored", errors)
            self.assertIn("m.json: and 99900 more\n", errors)

    def test_names_that_take_long_to_search(self):
        unknown = b"".join(b'"Size%05d": 1, ' % i for i in range(100000))
        self.check(DESCRIPTOR.replace(b'"Sizes"', unknown + b'"Sizes"').replace(b"HOLE", b"1"),
                   "JSON-3", "'Size00000' is not a known field")
        long = b'"' + b"Sizes" * 400000 + b'": 1, '
        self.check(DESCRIPTOR.replace(b'"Sizes"', long + b'"Sizes"').replace(b"HOLE", b"1"),
                   "JSON-3", "Sizes' is not a known field")
        resources = {f"{'resource' * 7}{i:06}": {"initialValuesDataType": "INT8",
                                                 "initialValues": [1]} for i in range(20000)}
        resources["x" * 100000] = {}
        commands = [{"type": "print", "resource": "resourec" * 8}] * 1000
        self.check(json.dumps({"resources": resources, "dispatchables": {}, "commands": commands}).encode(),
                   "RES-1|JSON-2|JSON-6", "there is no resource 'resourec")

    def test_faults_below_a_long_name(self):
        resource = {"initialValuesDataType": "INT8", "initialValues": ["x"] * 200}
        self.check(json.dumps({"resources": {"n" * 100000: resource}, "dispatchables": {},
                               "commands": []}).encode(), "DOC-1", "expected an integer, found a string")

    def test_long_lists_of_values_take_time_in_proportion(self):
        """Values of missing tensors, of the wrong kind, or of files: quadratic time would exceed the limit on CPU time by
        far."""
        many = 300_000
        desc = '{"DataType": "FLOAT32", "Sizes": [1]}'
        join = '{"type": "JOIN", "Axis": 0, "InputTensors": [%s], "bindings": {"InputTensors": [%s]}}'
        split = ('{"type": "SPLIT", "Axis": 0, "OutputCount": 1, "InputTensor": %s, "bindings": {"InputTensor": [1]},'
                 ' "expect": {"OutputTensors": [%s]}}')
        model = '{"resources": {"x": {"initialValuesDataType": "FLOAT32", "initialValues": [%s]}}, "dispatchables": {}, "commands": [%s]}'
        for name, text, message in [
            ("values for tensors that are not there", join % (desc, ",".join(["[1]"] * many)), "there is no tensor InputTensors[1] to bind"),
            ("numbers in place of values", join % (desc, ",".join(["5"] * many)), "expected a file name, values or an initializer"),
            ("words in place of numbers", join % (desc, "[" + ",".join(['"a"'] * many) + "]"), "'a' is not a number"),
            ("expected values of tensors that are not there", split % (desc, ",".join(["[1]"] * many)),
             "there is no tensor OutputTensors[1] to expect values of"),
            ("numbers in place of expected values", split % (desc, ",".join(["5"] * many)), "expected values or an initializer"),
            ("initial values that are words", model % (",".join(['"a"'] * many), ""), "'a' is not a number"),
            ("commands that are numbers", model % ("1", ",".join(["5"] * many)), "expected an object"),
        ]:
            with self.subTest(name):
                self.write("d.json", text)
                done = start(["validate", "d.json"], cwd=self.folder,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (20, 20)))
                errors = done.stderr.decode()
                self.assertEqual(done.returncode, 3, errors[:1000])
                self.assertIn(message, errors)
                self.assertRegex(errors, r"d\.json: and [23]\d{5} more\n$")

    def test_many_tensors_with_values_take_time_in_proportion(self):
        many = 10_000 if os.environ.get("SANITIZE") else 50_000
        descs = ",".join(['{"DataType": "FLOAT32", "Sizes": [1]}'] * many)
        for value in ("[1]", '{"value": 1}', '{"random": "uniform"}'):
            values = ",".join([value] * many)
            self.write("join.json", '{"type": "JOIN", "Axis": 0, "InputTensors": [%s], "bindings": {"InputTensors": [%s],'
                       ' "OutputTensor": "y.npy"}}' % (descs, values))
            others = [["run", "join.json"], ["explain", "join.json", "OutputTensor[5]"], ["batch", "join.json", "--check"],
                      ["batch", "join.json", "--expand", "--complete"],
                      ["bench", "join.json", "--min-time", "1ms", "--cache", "hot", "-t", "1"]]
            for arguments in [["validate", "join.json"], *(others if value == "[1]" else [])]:
                with self.subTest(value, command=arguments[0]):
                    self.start_briefly(arguments)
        self.write("split.json", '{"type": "SPLIT", "Axis": 0, "InputTensor": {"DataType": "FLOAT32", "Sizes": [%d]}, "OutputTensors": [%s],'
                   ' "bindings": {"InputTensor": {"value": 1}}, "expect": {"OutputTensors": [%s]}}' % (many, descs, ",".join(["[1]"] * many)))
        self.start_briefly(["validate", "split.json"])

    def start_briefly(self, arguments):
        done = start(arguments, cwd=self.folder, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (10, 10)))
        self.assertEqual(done.returncode, 0, done.stderr[:1000])

    def test_many_files_take_time_in_proportion(self):
        many = 20_000
        np.save(self.folder / "x.npy", np.ones(1, "f4"))
        for name, status in (("x.npy", 0), ("none.npy", 5)):
            self.write("d.json", {"type": "JOIN", "Axis": 0, "bindings": {"InputTensors": [name] * many, "OutputTensor": "y.npy"}})
            done = start(["run", "d.json"], cwd=self.folder, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (20, 20)))
            self.assertEqual(done.returncode, status, done.stderr[:1000])
        self.assertEqual(np.load(self.folder / "y.npy").tolist(), [1] * many)

    def test_windows_of_any_size_take_time_in_proportion_to_tensors(self):
        many, window = 200_000, 100_000
        count = many - window + 1
        x = (np.arange(many) * 7919 % 13).astype("f4")
        sums = np.concatenate([[0], np.cumsum(x, dtype="f8")])
        squares = np.concatenate([[0], np.cumsum(x.astype("f8") ** 2)])
        places = np.arange(many)
        reaching = np.minimum(places, count - 1) - np.maximum(0, places - window + 1) + 1
        wide = many - 999  # has a thousand windows
        few = np.minimum(places, 999) - np.maximum(0, places - wide + 1) + 1
        whole = np.maximum(0, np.minimum(places + 1, 999) - np.maximum(1, places - wide + 1) + 1)  # of those, all but the first
        rising = np.arange(many, dtype="f4")
        plain = {"StartPadding": [0, 0], "EndPadding": [0, 0]}
        padded = {"StartPadding": [0, window - 1], "EndPadding": [0, window - 1], "IncludePadding": False}
        for name, type, fields, values, expected in [
            ("an average", "AVERAGE_POOLING", plain | {"IncludePadding": True}, x, (sums[window:] - sums[:count]) / window),
            ("a norm", "LP_POOLING", plain | {"P": 2}, x, np.sqrt(squares[window:] - squares[:count])),
            ("a norm with a power", "LP_POOLING", plain | {"P": 5}, np.full(many, 3, "f4"), np.full(count, 3 * window ** 0.2)),
            ("a maximum", "MAX_POOLING", plain, rising, rising[window - 1:]),
            ("the gradient of an average", "AVERAGE_POOLING_GRAD", plain | {"IncludePadding": False}, None, reaching / window),
            ("the gradient of an average of few elements", "AVERAGE_POOLING_GRAD", padded, None, None),
            ("the gradient of few averages", "AVERAGE_POOLING_GRAD",
             plain | {"IncludePadding": False, "WindowSize": [1, wide]}, None, few / wide),
            ("the gradient of few averages of different counts", "AVERAGE_POOLING_GRAD",
             plain | {"StartPadding": [0, 1], "IncludePadding": False, "WindowSize": [1, wide + 1]}, None,
             (places < wide) / wide + whole / (wide + 1)),
            ("the gradient of a maximum", "MAX_POOLING_GRAD", plain | {"Dilations": [1, 1]}, np.zeros(many, "f4"),
             places < count),
        ]:
            with self.subTest(name):
                sizes = [1, 1, 1, many]
                tensor = {"DataType": "FLOAT32", "Sizes": sizes}
                windows = many + fields["StartPadding"][1] - fields.get("WindowSize", [1, window])[1] + 1
                gradient = {"DataType": "FLOAT32", "Sizes": [1, 1, 1, windows]}
                np.save(self.folder / "ones.npy", np.ones((1, 1, 1, windows), "f4"))
                bindings = {"OutputGradientTensor" if "GRAD" in type else "OutputTensor": "y.npy"}
                document = {"type": type, "Strides": [1, 1], "WindowSize": [1, window], **fields, "bindings": bindings}
                if values is not None:
                    np.save(self.folder / "x.npy", values.reshape(sizes))
                    document |= {"InputTensor": tensor}
                    bindings |= {"InputTensor": "x.npy"}
                if "GRAD" in type:
                    if expected is None:
                        gradient["Sizes"][3] = many + window - 1
                    document |= {"InputGradientTensor": gradient, "OutputGradientTensor": tensor}
                    bindings |= {"InputGradientTensor": "ones.npy" if expected is not None else {"value": 1}}
                self.write("d.json", document)
                done = start(["run", "d.json"], cwd=self.folder,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (20, 20)))
                self.assertEqual(done.returncode, 0, done.stderr[:1000])
                y = np.load(self.folder / "y.npy").reshape(-1)
                if expected is not None:
                    np.testing.assert_array_equal(y, np.asarray(expected, "f4"))
                else:  # each window hands out one whole
                    np.testing.assert_allclose(y.sum(dtype="f8"), gradient["Sizes"][3], rtol=1e-6)

    def test_windows_that_lie_in_padding(self):
        """All windows are beyond the only column, so that nothing is shared out."""
        np.save(self.folder / "g.npy", np.ones((1, 2, 62, 2), "f4"))
        document = {"type": "AVERAGE_POOLING_GRAD", "Strides": [2, 3], "WindowSize": [9, 2], "StartPadding": [0, 2],
                    "EndPadding": [2, 2], "IncludePadding": True,
                    "InputGradientTensor": {"DataType": "FLOAT32", "Sizes": [1, 2, 62, 2]},
                    "OutputGradientTensor": {"DataType": "FLOAT32", "Sizes": [1, 2, 128, 1]},
                    "bindings": {"InputGradientTensor": "g.npy", "OutputGradientTensor": "y.npy"}}
        self.run_program("run", json.dumps(document))
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), np.zeros((1, 2, 128, 1), "f4"))

    def test_messages_are_a_screen_long_at_most(self):
        many = 300_000
        desc = '{"DataType": "FLOAT32", "Sizes": [1]}'
        inputs = ",".join([desc] * many)
        self.write("join.json", '{"type": "JOIN", "Axis": 0, "InputTensors": [%s]}' % inputs)
        self.write("cases.jsonl", '{"type": "JOIN", "Axis": 0, "InputTensors": [%s], "bindings": {"OutputTensor": "y.npy"}}\n' % inputs)
        self.write("split.jsonl", '{"type": "SPLIT", "Axis": 0, "InputTensor": {"DataType": "FLOAT32", "Sizes": [%d]}, "OutputCount": %d,'
                   ' "bindings": {"InputTensor": {"value": 1}}}\n' % (many // 10, many // 10))
        names = ", ".join(f"InputTensors[{i}]" for i in range(20))
        outputs = ", ".join(f"OutputTensors[{i}]" for i in range(20))
        self.write("model.json", {
            "resources": {}, "commands": [], "dispatchables": {
                f"d{i:05}": {"type": "ELEMENT_WISE_IDENTITY", "desc": {"InputTensor": json.loads(desc), "OutputTensor": json.loads(desc)}}
                for i in range(3000)}})
        operators = ", ".join(f"d{i:05}" for i in range(20))
        for command, status, message in [
            (["run", "join.json"], 2, f"{names} and 299,980 more have no file or values; -i NAME=FILE binds one"),
            (["batch", "cases.jsonl"], 2, f"{names} and 299,980 more have no file or values in 'bindings'"),
            (["batch", "split.jsonl"], 2, f"{outputs} and 29,980 more have no file in 'bindings'"),
            (["explain", "model.json", "InputTensor[0]"], 2, f"which of {operators} and 2,980 more is meant"),
        ]:
            with self.subTest(command):
                errors = self.errors_of(*command, status=status)
                self.assertIn(message, errors)
                self.assertLess(len(errors), 24 * 80)


class OmittedTest(ProgramTest):
    def test_what_is_not_shown_is_counted(self):
        bad = {"DataType": "INT8", "Sizes": [0]}
        join = {"type": "JOIN", "desc": {"InputCount": 150, "InputTensors": [bad] * 150, "Axis": 0,
                                         "OutputTensor": {"DataType": "INT8", "Sizes": [1]}}}
        for document in (join, {"resources": {}, "dispatchables": {"join": join}, "commands": []}):
            with self.subTest(list(document)):
                self.write("d.json", document)
                done = self.run_program("validate", "d.json", "--format", "json", status=3)
                verdict = json.loads(done.stdout)
                self.assertEqual(len(verdict["diagnostics"]), 100)
                self.assertEqual({d["code"] for d in verdict["diagnostics"]}, {"JOIN-5"})
                self.assertEqual(verdict["omitted"], 50)
                shown = self.errors_of("validate", "d.json", status=3)
                self.assertTrue(re.search(rf"and {verdict['omitted']} more\n$", shown), shown[-200:])


if __name__ == "__main__":
    unittest.main()
