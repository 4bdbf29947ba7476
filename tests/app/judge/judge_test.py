# SPDX-License-Identifier: Apache-2.0
"""The actual and expected sides of comparisons: run and batch with --expect, --check and --judge, compare of
folders, and rules of equality."""

import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import COLUMN_SUMS, DMLOP, SUM, THIRDS, X, ProgramTest

READ_X = ["run", SUM, "-i", "x.npy"]
NAN = float("nan")


def reduction(function, axes):
    return json.dumps({"type": "REDUCE", "Function": function, "Axes": axes})


class RolesTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.save(x=np.array([[1]], "f4"), two=np.array([[2]], "f4"))

    def test_relative_errors_refer_to_what_is_expected(self):
        """The result is 1 and the file 2: off by 100 percent of the result, or 50 percent of the file."""
        for role, status in (("-e", 0), ("--judge", 1)):
            with self.subTest(role):
                self.run_program(*READ_X, role, "two.npy", "--rtol", "0.6", status=status)
                self.run_program(*READ_X, role, "two.npy", "--rtol", "1", status=0)

    def test_actual_and_expected_are_told(self):
        for role, words, sides in [
            ("-e", "OutputTensor differs from two.npy: 1 of 1", ("1 ", "2 ")),
            ("--judge", "two.npy differs from OutputTensor as computed here: 1 of 1", ("2 ", "1 ")),
        ]:
            text = self.text_of(*READ_X, role, "two.npy", status=1)
            self.assertIn(words, text)
            for word, value in zip(("actual    ", "expected  "), sides):
                self.assertIn(f"  {word}{value}", text)

    def test_the_record_has_the_role(self):
        for role, name, values in (("-e", "expected", (1, 2)), ("--judge", "actual", (2, 1))):
            self.run_program(*READ_X, role, "two.npy", "--report", "r.json", status=1)
            compared, = json.loads((self.folder / "r.json").read_text())["comparisons"]
            worst = compared["worst"]
            self.assertEqual((compared["role"], worst["actual"], worst["expected"]), (name, *values))

    def test_both_at_once(self):
        self.save(one=np.array([[1]], "f4"))
        self.run_program(*READ_X, "-e", "one.npy", "--judge", "one.npy")
        self.run_program(*READ_X, "-e", "one.npy", "--judge", "two.npy", status=1)

    def test_what_explains_the_worst_element_can_be_typed(self):
        text = self.text_of("run", SUM, "-i", "x.npy", "--judge", "two.npy", status=1)
        command = text.split("how the worst element comes about:\n  dmlop ")[1].strip()
        self.assertEqual(command, f"explain '{SUM}' 'OutputTensor[0, 0]' -i x.npy")
        self.assertIn("value 1", self.text_of("explain", SUM, "OutputTensor[0, 0]", "-i", "x.npy"))

    def test_verbose_tells_what_passed_by_which_rule(self):
        text = self.errors_of(*READ_X, "--judge", "two.npy", "--atol", "1", "--ulp", "FLOAT32=3", "-v")
        self.assertIn("dmlop: OutputTensor and two.npy agree: 1 element, largest ULP error 8388608, 1.68e+07 units; "
                      "allowed: absolute 1, ULP 3\n", text)


class StatusTest(ProgramTest):
    """The status is 1 for any difference, 5 for a missing file and 4 for one that is not a tensor."""

    CASES = [
        ("other values", COLUMN_SUMS + 1, 1),
        ("another shape", COLUMN_SUMS.ravel(), 1),
        ("another rank and size", X, 1),
        ("another type", COLUMN_SUMS.astype("f8"), 1),
        ("the same", COLUMN_SUMS, 0),
        ("no file", None, 5),
        ("no tensor", b"text", 4),
    ]

    def test_of_every_command(self):
        self.save(x=X, good=COLUMN_SUMS)
        for folder in ("gpu", "golden"):
            (self.folder / folder).mkdir()
        np.save(self.folder / "golden/y.npy", COLUMN_SUMS)
        line = json.loads(SUM) | {"bindings": {"InputTensor": "x.npy", "OutputTensor": "gpu/y.npy"}}
        self.write("cases.jsonl", line)
        for name, content, status in self.CASES:
            path = self.folder / "gpu/y.npy"
            path.unlink(missing_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
            elif content is not None:
                np.save(path, content)
            for command in [
                [*READ_X, "-e", "gpu/y.npy"], [*READ_X, "--judge", "gpu/y.npy"],
                ["batch", "cases.jsonl", "--check"], ["batch", "cases.jsonl", "--judge"],
                ["compare", "gpu/y.npy", "good.npy"], ["compare", "gpu", "golden"],
            ]:
                with self.subTest(name, command=command[0], role=command[-2:]):
                    self.run_program(*command, status=status)


    def test_each_has_its_class(self):
        """Another type or shape is a difference, a missing file is told as missing, and other outputs are judged all the same."""
        self.save(x=X, good=COLUMN_SUMS, wide=np.zeros((1, 5), "f4"), double=COLUMN_SUMS.astype("f8"))
        self.write("d.json", SUM)
        line = json.loads(SUM) | {"bindings": {"InputTensor": "x.npy", "OutputTensor": "y.npy"}}
        self.write("cases.jsonl", line)
        for name, found, status in [("wide", "other-type-or-shape", 1), ("double", "other-type-or-shape", 1), ("none", "missing", 5)]:
            (self.folder / name).mkdir()
            if status == 1:
                shutil.copy(self.folder / f"{name}.npy", self.folder / name / "y.npy")
            expected = [{"id": found, "count": 3}]
            with self.subTest(name):
                judged = json.loads(self.text_of("run", "d.json", "-i", "x.npy", "--judge", f"{name}.npy", "--format", "json", status=status))
                self.assertEqual(judged["comparisons"][0]["classes"], expected)
                diagnosed, = json.loads(self.text_of("diagnose", "d.json", f"{name}.npy", "-i", "x.npy", "--format", "json", status=status))["outputs"]
                self.assertEqual((diagnosed["classes"], diagnosed["verdict"], diagnosed["different"], diagnosed["where"]["box"]),
                                 (expected, "unknown", 3, "[0, *]"))
                self.run_program("batch", "cases.jsonl", "--judge", "--diagnose", "--output-path", name, "--report", f"{name}.jsonl", status=status)
                told = json.loads((self.folder / f"{name}.jsonl").read_text())
                self.assertEqual((told["status"], told["comparisons"][0]["classes"]), ("missing" if status == 5 else "different", expected))
                group, = json.loads(self.text_of("report", f"{name}.jsonl", "--by", "cause", "--format", "json"))["groups"]
                self.assertEqual(group["cause"], "the file is missing" if status == 5 else "another type or shape")
                if status == 1:
                    compared = json.loads(self.text_of("compare", f"{name}.npy", "good.npy", "--format", "json", status=1))
                    self.assertEqual(compared["classes"], expected)
        self.assertEqual(self.errors_of("run", "d.json", "-i", "x.npy", "--judge", "none.npy", "-o", "o.npy", status=5),
                         "dmlop: none.npy for OutputTensor: the file is missing\n")
        self.assertFalse((self.folder / "o.npy").exists())

    def test_a_missing_file_hides_no_other(self):
        self.save(x=X, b=X[1:2], c=X[2:])
        split = ["run", THIRDS, "-i", "x.npy", *(word for name in "abc" for word in ("--judge", f"{name}.npy"))]
        told = self.run_program(*split, status=5)
        self.assertIn(b"a.npy for OutputTensors[0]: the file is missing\n", told.stderr)
        compared = json.loads(self.text_of(*split, "--format", "json", status=5))["comparisons"]
        self.assertEqual([one["equal"] for one in compared], [False, True, True])
        case = json.loads(THIRDS) | {"bindings": {"InputTensor": "x.npy", "OutputTensors": ["a.npy", "b.npy", "c.npy"]}}
        self.save(c=X[2:] + 1)
        self.write("cases.jsonl", case)
        self.run_program("batch", "cases.jsonl", "--judge", "--report", "r.jsonl", status=5)
        line = json.loads((self.folder / "r.jsonl").read_text())
        self.assertEqual((line["status"], line["missing"], [one["equal"] for one in line["comparisons"]]), ("different", 1, [False, True, False]))


class LeniencyTest(ProgramTest):
    """Expected files as NumPy writes them."""

    CASES = [  # operator, NumPy's result, and the options that let it pass
        (reduction("SUM", [0, 1]), X.sum(), ["--squeeze"]),
        (reduction("SUM", [1]), X.sum(axis=1), ["--squeeze"]),
        (reduction("SUM", [1]), X.sum(axis=1, keepdims=True), []),
        (reduction("ARGMAX", [1]), X.argmax(axis=1), ["--squeeze", "--any-integers"]),
        (reduction("ARGMAX", [1]), X.argmax(axis=1, keepdims=True), ["--any-integers"]),
        (reduction("ARGMIN", [1]), X.argmin(axis=1).astype("u1"), ["--squeeze", "--any-integers"]),
    ]

    def setUp(self):
        super().setUp()
        self.save(x=X)

    def test_each_passes_with_its_options_alone(self):
        for document, golden, needed in self.CASES:
            self.save(g=golden)
            for role in ("-e", "--judge"):
                with self.subTest(document, role=role):
                    run = ["run", document, "-i", "x.npy", role, "g.npy"]
                    self.run_program(*run, *needed)
                    for left_out in needed:
                        text = self.text_of(*run, *[o for o in needed if o != left_out], status=1)
                        self.assertIn(left_out, text)

    def test_values_still_count(self):
        self.save(g=np.array([2, 0, 2]))
        self.run_program("run", reduction("ARGMAX", [1]), "-i", "x.npy", "-e", "g.npy", "--squeeze", "--any-integers",
                         status=1)

    def test_integers_of_different_signs_differ(self):
        self.save(a=np.array([2**32 - 1], "u4"), b=np.array([-1], "i4"), c=np.array([2**64 - 1], "u8"),
                  d=np.array([2**32 - 1], "i8"))
        for other, status in (("b", 1), ("c", 1), ("d", 0)):
            self.run_program("compare", "a.npy", f"{other}.npy", "--any-integers", status=status)

    def test_the_whole_range_of_integers(self):
        self.save(a=np.array([2**63 + 5, 1], "u8"), b=np.array([5, 1], "i8"), c=np.array([5, -1], "i8"), d=np.array([5, 1], "u1"))
        for other, message in (("b", "1 of 2 elements differ"), ("d", "1 of 2 elements differ"),
                               ("c", "values differ: some are negative, and others are 2^63 or more")):
            self.assertIn(message, self.text_of("compare", "a.npy", f"{other}.npy", "--any-integers", status=1))

    def test_floats_of_other_types(self):
        """FLOAT32 sums compared with NumPy's: errors are those of the values, ULP those of the tested file."""
        exact = np.array([[1 + 2**-24 * 1.5, 2, 1e300]])
        self.save(exact=exact,
                  nearest=np.array([[1 + 2**-23, 2, np.inf]], "f4"), near=np.array([[1, 2, np.inf]], "f4"),
                  half=np.array([[1, 2, np.inf]], "f2"))

        def compared(a, e, *options, status=0):
            files = [f"{a}.npy", f"{e}.npy"]
            return json.loads(self.text_of("compare", *files, "--any-floats", "--format", "json", *options, status=status))

        self.assertEqual(compared("nearest", "exact")["maxAbsoluteError"], 2**-25)
        said = compared("near", "exact", status=1)
        self.assertEqual((said["dataType"], said["expectedDataType"], said["differenceCount"]), ("FLOAT32", "FLOAT64", 1))
        self.assertEqual((said["worst"]["actual"], said["worst"]["expected"]), (1, exact[0, 0]))
        self.assertEqual((said["worst"]["ulpError"], said["worst"]["absoluteError"]), (1, 2**-24 * 1.5))
        self.assertEqual(compared("near", "exact", "--ulp", "FLOAT32=1")["headroom"], 0)
        compared("half", "near")
        compared("half", "exact", "--bits")
        compared("exact", "half", status=1)
        for command in (["compare", "near.npy", "exact.npy"], ["compare", "half.npy", "near.npy"]):
            self.assertIn("; --any-floats compares the values", self.text_of(*command, "--any-integers", status=1))

    def test_a_reference_of_numpy_for_every_command(self):
        self.save(g=X.astype("f8").mean(axis=0, keepdims=True))
        average = reduction("AVERAGE", [0])
        self.write("cases.jsonl", json.loads(average) | {"bindings": {"InputTensor": "x.npy", "OutputTensor": "g.npy"}})
        run = ["run", average, "-i", "x.npy"]
        for command in ([*run, "-e", "g.npy"], [*run, "--judge", "g.npy", "--rtol", "1e-7"],
                        ["batch", "cases.jsonl", "--check"], ["batch", "cases.jsonl", "--judge", "--rtol", "1e-7"]):
            self.run_program(*command, "--any-floats")
            done = self.run_program(*command, status=1)
            self.assertIn(b"--any-floats", done.stdout + done.stderr)

    def test_other_shapes_stay_different(self):
        self.save(a=np.zeros((2, 3), "f4"), b=np.zeros((3, 2), "f4"), c=np.zeros((1, 2, 1, 3), "f4"))
        self.run_program("compare", "a.npy", "b.npy", "--squeeze", status=1)
        self.run_program("compare", "a.npy", "c.npy", "--squeeze")


class ToleranceTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.save(x=X)
        for name, dtype in (("f4", "f4"), ("f2", "f2")):
            one = np.ones(1, dtype)
            self.save(**{name: one, f"{name}_next": np.nextafter(one, one + 1)})

    def test_of_one_type(self):
        for options, single, half in [
            ([], 1, 1),
            (["--ulp", "1"], 0, 0),
            (["--ulp", "FLOAT16=1"], 1, 0),
            (["--ulp", "1", "--ulp", "FLOAT16=0"], 0, 1),
            (["--ulp", "FLOAT16=0", "--ulp", "FLOAT16=1"], 1, 0),
            (["--atol", "FLOAT32=1e-6", "--rtol", "FLOAT16=1e-2"], 0, 0),
        ]:
            with self.subTest(options):
                self.run_program("compare", "f4_next.npy", "f4.npy", *options, status=single)
                self.run_program("compare", "f2_next.npy", "f2.npy", *options, status=half)

    def test_of_bfloat16(self):
        """Its limits hold for what is compared in it, and replace those of FLOAT32 there."""
        one, three_further = np.array([0x3F80], "u2"), np.array([0x3F83], "u2")
        self.save(one=one.view("V2"), further=three_further.view("V2"))
        for options, status in [
            (["--ulp", "BFLOAT16=2"], 1),
            (["--ulp", "bfloat16=3"], 0),
            (["--ulp", "FLOAT32=3"], 0),
            (["--ulp", "FLOAT32=3", "--ulp", "BFLOAT16=2"], 1),
            (["--ulp", "3", "--ulp", "BFLOAT16=0"], 1),
            (["--atol", "BFLOAT16=0.024"], 0),
            (["--rtol", "BFLOAT16=0.01", "--ulp", "FLOAT32=2"], 1),
        ]:
            for expected in ("one.npy", "f4.npy"):
                with self.subTest(options=options, expected=expected):
                    self.run_program("compare", "further.npy", expected, *options, status=status)
        self.run_program("compare", "f4_next.npy", "f4.npy", "--ulp", "BFLOAT16=9", status=1)
        identity = {"type": "ELEMENT_WISE_IDENTITY", "desc": {}, "bindings": {"InputTensor": "f4.npy"}}
        self.write("d.json", identity)
        for limit, status in (("2", 1), ("3", 0)):
            text = self.text_of("run", "d.json", "--judge", "further.npy", "--ulp", "BFLOAT16=" + limit, "--format", "json", status=status)
            self.assertEqual(json.loads(text)["comparisons"][0]["tolerance"]["ulp"], int(limit))
            self.run_program("diagnose", "d.json", "further.npy", "--ulp", "BFLOAT16=" + limit, status=status)

    def test_words_that_are_none(self):
        for options, message in [
            (["--ulp", "FLOAT23=1"], "'FLOAT23' is not a data type (did you mean 'FLOAT32'?)"),
            (["--ulp", "FLOAT32="], "'' is not a whole number of at least 0"),
            (["--atol", "FLOAT32=-1"], "'-1' is not a number of at least 0"),
        ]:
            self.assertIn(message, self.errors_of("compare", "f4.npy", "f4.npy", *options, status=2))

    def test_of_one_case(self):
        """The line's tolerance replaces the command line's."""
        for tolerance, options, status in [
            (None, [], 1),
            ({"ulp": 1}, [], 0),
            ({"ulp": 0}, ["--ulp", "9"], 1),
            ({"atol": 1e-6}, [], 0),
            ({"rtol": "inf"}, [], 0),
            ({"bits": True}, ["--atol", "1"], 1),
            ({"ulp": 1, "atol": None}, [], 0),
            ("webnn", [], 0),  # SUM of three
        ]:
            with self.subTest(tolerance):
                near = (COLUMN_SUMS.view("i4") + 1).view("f4")
                self.save(y=near)
                self.write("cases.jsonl", json.loads(SUM) | {
                    "bindings": {"InputTensor": "x.npy", "OutputTensor": "y.npy"}, "tolerance": tolerance})
                for role in ("--check", "--judge"):
                    self.run_program("batch", "cases.jsonl", role, *options, status=status)
                self.run_program("run", "cases.jsonl", "-e", "y.npy", *options, status=status)

    def test_of_a_case_that_is_wrong(self):
        for tolerance, message in [
            ({"ulps": 1}, "/tolerance/ulps: 'ulps' is not a known field (did you mean 'ulp'?)"),
            ({"atol": -1}, "/tolerance/atol: expected a number of at least 0 [DOC-2]"),
            ({"ulp": 1.5}, "/tolerance/ulp: expected an integer"),
            ({"bits": 1}, "/tolerance/bits: expected"),
            ("loose", "/tolerance: expected 'webnn', 'sums', 'sums=FLOAT32', 'sums=FLOAT16', 'noise' or an object [DOC-1]"),
            (1, "/tolerance: expected an object"),
        ]:
            with self.subTest(tolerance):
                self.write("d.json", json.loads(SUM) | {"tolerance": tolerance})
                self.assertIn(message, self.errors_of("run", "d.json", "-i", "x.npy", status=3))

    def test_headroom(self):
        """The unused share of the tolerance: of 4 ULP with an error of 1, and with a relative error of 2^-23."""
        for options, headroom in [
            ([], None),
            (["--ulp", "4"], 0.75),
            (["--rtol", "1e-6"], 1 - 2**-23 / 1e-6),
            (["--atol", str(2**-22)], 0.5),
            (["--ulp", "2", "--atol", str(2**-20)], 0.875),
            (["--bits"], None),
        ]:
            done = self.text_of("compare", "f4_next.npy", "f4.npy", *options, "--format", "json",
                                status=0 if headroom else 1)
            self.assertEqual(json.loads(done)["headroom"], headroom)
        self.assertIn("headroom: 75 % of the tolerance", self.text_of("compare", "f4_next.npy", "f4.npy", "--ulp", "4"))

    def test_headroom_of_limits_that_count_together(self):
        """1 - max(|a - e| / (atol + rtol * |e|)), or that of --ulp for elements that it lets pass with more
        headroom."""
        random = np.random.default_rng(3)
        for dtype, kind in (("f4", "FLOAT32"), ("f2", "FLOAT16")):
            e = (random.standard_normal(500) * 10.0 ** random.integers(-4, 4, 500)).astype(dtype)
            a = (e + 5e-3 * e * random.standard_normal(500) + 1e-4 * random.standard_normal(500)).astype(dtype)
            self.save(a=a, e=e)
            of = np.abs(a.astype("f8") - e) / (1e-2 + 0.1 * np.abs(e.astype("f8")))
            places = [np.abs(x).view(f"i{x.itemsize}").astype("i8") * np.sign(x).astype("i8") for x in (a, e)]
            steps = np.abs(places[0] - places[1])
            for options, used in [
                (["--atol", "1e-2", "--rtol", "0.1"], of),
                (["--atol", f"{kind}=1e-2", "--rtol", "0.1", "--atol", "FLOAT64=7"], of),
                (["--atol", "1e-2", "--rtol", "0.1", "--ulp", "100"], np.minimum(of, steps / 100)),
            ]:
                with self.subTest(kind, options=options):
                    said = json.loads(self.text_of("compare", "a.npy", "e.npy", *options, "--format", "json"))
                    self.assertAlmostEqual(said["headroom"], 1 - used.max(), places=12)

    def test_figures_are_those_of_what_differs(self):
        """An element that --atol lets pass has a relative error of 1e23."""
        self.save(a=np.array([-1e-7, 101, 1], "f4"), e=np.array([1e-30, 100, 1], "f4"))
        limits = ["--atol", "1e-6", "--rtol", "1e-3"]
        text = self.text_of("compare", "a.npy", "e.npy", *limits, status=1)
        self.assertIn("that differ: absolute 1, relative 0.01, ULP 131072\nallowed: absolute 1e-06, relative 0.001\n", text)
        self.assertRegex(text, r"\(# differ, . pass\):\n +0  1 \.+\n +2\^16-2\^17  1 #+\n +2\^30-2\^31  1 \.+\n")
        said = json.loads(self.text_of("compare", "a.npy", "e.npy", *limits, "--format", "json", status=1))
        self.assertEqual((said["maxAbsoluteError"], said["maxRelativeError"], said["maxUlpError"]), (1, 0.01, 131072))
        self.assertEqual([(row["count"], row["differenceCount"]) for row in said["ulpHistogram"]], [(1, 0), (1, 1), (1, 0)])

    def test_the_ulp_that_would_do_is_told_where_it_is_sane(self):
        for steps, told in ((1, True), (4096, True), (4097, False)):
            self.save(near=(np.ones(1, "f4").view("i4") + steps).view("f4"))
            text = self.text_of("compare", "near.npy", "f4.npy", status=1)
            self.assertEqual(f"passes with --ulp {steps}\n" in text, told)
            self.assertIn("allowed: equal values\n", text)

    def test_subnormal_numbers_are_counted_on_both_sides(self):
        """1e-40 and 1e-7 are below the least normal numbers of FLOAT32 and FLOAT16."""
        for dtype, small in (("f4", 1e-40), ("f2", 1e-7)):
            self.save(a=np.array([0, small, 1, 0, np.nan], dtype), e=np.array([-small, small, 1, small, np.nan], dtype))
            text = self.text_of("compare", "a.npy", "e.npy", status=1)
            self.assertIn("subnormal numbers: actual 1, expected 3\n", text)
            said = json.loads(self.text_of("compare", "a.npy", "e.npy", "--format", "json", status=1))
            self.assertEqual((said["actualSubnormals"], said["expectedSubnormals"]), (1, 3))
        self.assertNotIn("subnormal", self.text_of("compare", "f4.npy", "f4.npy"))


class ListTest(ProgramTest):
    def setUp(self):
        super().setUp()
        expected = np.ones((40, 50), "f4")
        actual = expected.copy()
        steps = np.zeros((40, 50), "i4")
        steps[3, 4], steps[30, 2], steps[5, 6], steps[39, 49] = 7, 9, 7, 1
        actual = (expected.view("i4") + steps).view("f4")
        actual[20, 1] = np.nan
        self.save(a=actual, e=expected)

    def compared(self, *options):
        return json.loads(self.text_of("compare", "a.npy", "e.npy", *options, "--format", "json", status=1))

    def test_the_worst_come_first_and_of_equals_the_first(self):
        worst = [[20, 1], [30, 2], [3, 4], [5, 6], [39, 49]]
        for count in (1, 2, 3, 4, 5, 100):
            listed = self.compared("--list", count)["differences"]
            self.assertEqual([d["index"] for d in listed], worst[:count])
        self.assertNotIn("differences", self.compared())
        self.assertEqual([d["ulpError"] for d in self.compared("--list", "9")["differences"]], [None, 9, 7, 7, 1])

    def test_the_worst_finite_one_beside_a_mismatch(self):
        compared = self.compared()
        self.assertEqual((compared["worst"]["index"], compared["worstFinite"]["index"]), ([20, 1], [30, 2]))
        text = self.text_of("compare", "a.npy", "e.npy", status=1)
        self.assertIn("worst finite: element [30, 2]\n", text)

    def test_columns_line_up(self):
        text = self.text_of("compare", "a.npy", "e.npy", "--list", "3", status=1)
        table = text.split("the 3 worst:\n")[1].splitlines()[:4]
        self.assertEqual(len({len(line) for line in table}), 1)
        self.assertEqual(table[0].split(), ["element", "actual", "expected", "absolute", "relative", "ULP"])

    def test_numbers_are_exact(self):
        """A FLOAT16 number is printed as a double, not as the shortest decimal that rounds to it."""
        self.save(a=np.array([0.3237, 1], "f2"), e=np.array([0.323, 1], "f2"))
        worst = self.compared()["worst"]
        self.assertEqual((worst["actual"], worst["expected"]), (float(np.float16(0.3237)), float(np.float16(0.323))))
        self.assertEqual(worst["actual"] - worst["expected"], worst["absoluteError"])


class FoldersTest(ProgramTest):
    def setUp(self):
        super().setUp()
        for folder in ("gpu/deep", "golden/deep"):
            (self.folder / folder).mkdir(parents=True)
        self.put("a", X, X)
        self.put("deep/near", (X.view("i4") + 1).view("f4"), X)
        self.put("deep/far", (X.view("i4") + 5).view("f4"), X)
        self.put("nan", np.where(X == 0, np.nan, X).astype("f4"), X)
        self.put("shape", X, X[:2])
        (self.folder / "gpu/log.txt").write_text("not a tensor")

    def put(self, name, actual, expected):
        for folder, array in (("gpu", actual), ("golden", expected)):
            if array is not None:
                np.save(self.folder / folder / name, array)

    def compared(self, *options, status=1):
        text = self.text_of("compare", "gpu", "golden", *options, "--format", "json", status=status)
        return {line["file"]: line for line in map(json.loads, text.splitlines())}

    def test_every_file_is_told_the_furthest_off_first(self):
        files = self.compared()
        self.assertEqual(list(files), ["shape.npy", "nan.npy", "deep/far.npy", "deep/near.npy", "a.npy"])
        self.assertEqual(files["shape.npy"], {"file": "shape.npy", "equal": False,
                                              "mismatch": "shapes differ: actual {3, 3}, expected {2, 3}",
                                              "classes": [{"id": "other-type-or-shape", "count": 6}]})
        far = files["deep/far.npy"]
        self.assertEqual((far["elementCount"], far["differenceCount"], far["maxUlpError"], far["worst"]["index"]),
                         (9, 9, 5, [0, 0]))
        self.assertEqual(files["nan.npy"]["nanMismatches"], 1)

    def test_what_passes_makes_no_file_worse(self):
        for name, actual, expected in (("t", [-1e-7, 101], [1e-30, 100]), ("u", [0, 51], [0, 1])):
            self.put(f"deep/{name}", np.array(actual, "f4"), np.array(expected, "f4"))
        limits = ["--atol", "1e-6", "--rtol", "1e-3"]
        rows = [line.split() for line in self.text_of("compare", "gpu/deep", "golden/deep", *limits, status=1).splitlines()]
        self.assertEqual([row[:6] for row in rows[1:3]], [["u.npy", "1", "2", "46923776", "50", "50"],
                                                          ["t.npy", "1", "2", "131072", "1", "0.01"]])

    def test_a_name_without_a_file_is_no_agreement(self):
        for folder in ("gpu", "golden"):
            os.symlink("nowhere", self.folder / folder / "lost.npy")
        self.assertIn("lost.npy", self.errors_of("compare", "gpu", "golden", status=5))

    def special_files(self):
        """Creates special files; returns the message for each by name."""
        os.mkfifo(self.folder / "gpu/pipe.npy")
        os.mkfifo(self.folder / "golden/pipe.npy")
        os.mkfifo(self.folder / "golden/lonely.npz")
        os.symlink("/dev/zero", self.folder / "gpu/zeros.npy")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.folder / "gpu/deep/ear.npy"))
        return {"pipe.npy": "gpu/pipe.npy: is a pipe", "lonely.npz": "golden/lonely.npz: is a pipe",
                "zeros.npy": "gpu/zeros.npy: is a device", "deep/ear.npy": "gpu/deep/ear.npy: is a socket"}

    def test_what_is_no_file_is_told_and_not_opened(self):
        expected = set(self.compared())
        special = self.special_files()
        os.mkfifo(self.folder / "gpu/log.bin")  # which no option describes
        errors = self.errors_of("compare", "gpu", "golden", status=5)
        for words in special.values():
            self.assertIn(f"dmlop: {words}, not a file\n", errors)
        self.assertIn("; 1 raw file left out", errors)
        files = self.compared(status=5)
        self.assertEqual({name for name in files if "error" not in files[name]}, expected)
        self.assertEqual({name for name in files if "error" in files[name]}, set(special))

    def test_a_folder_that_cannot_be_read_hides_no_other(self):
        for folder in ("gpu", "golden"):
            (self.folder / folder / "dark/er").mkdir(parents=True)
            np.save(self.folder / folder / "dark/er/x", X)
        (self.folder / "golden/dark").chmod(0)
        self.addCleanup((self.folder / "golden/dark").chmod, 0o755)
        command = [DMLOP, "compare", "gpu", "golden", "--format", "json"]
        if os.geteuid() == 0:  # root may read everything
            command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 5)
        self.assertIn(b"dmlop: golden/dark: cannot be read: Permission denied\n", done.stderr)
        names = [json.loads(line)["file"] for line in done.stdout.splitlines()]
        self.assertEqual(sorted(names), ["a.npy", "dark", "deep/far.npy", "deep/near.npy", "nan.npy", "shape.npy"])

    def test_the_command_for_more_can_be_typed(self):
        """This holds for any file name."""
        for name in (b"two words", b"tab\tab", b"line\nline", b"it's", b"it's\a bell\\", b"\xff\xfe",
                     "größe\x9b".encode(), b"-dash", b"$'x'", b"\x1b[31m"):
            with self.subTest(name):
                for side, array in ((b"l" + name, X + 9), (b"r" + name, X)):
                    folder = os.path.join(os.fsencode(self.folder), side)
                    os.mkdir(folder)
                    with open(os.path.join(folder, name + b".npy"), "wb") as file:
                        np.save(file, array)
                text = self.run_program("compare", *map(os.fsdecode, (b"l" + name, b"r" + name)), status=1).stdout
                command = text.split(b"more of the worst:\n  dmlop ")[1]
                self.assertNotRegex(command[:-1], rb"[\0-\x1f\x7f]")
                done = subprocess.run(["bash", "-c", b"exec " + os.fsencode(DMLOP) + b" " + command], cwd=self.folder,
                                      capture_output=True, timeout=60)
                self.assertEqual((done.returncode, done.stdout[:22], done.stderr), (1, b"9 of 9 elements differ", b""))

    def test_links_to_folders(self):
        """Links that lead back, directly or through others, have no end and are skipped."""
        files = self.compared()
        for folder, other in (("more", "other"), ("other", "more")):
            (self.folder / folder).mkdir()
            np.save(self.folder / folder / "m", X)
            os.symlink(f"../{other}", self.folder / folder / "link")
        for folder in ("gpu", "golden"):
            for link, to in (("loop", "."), ("up", ".."), ("deep/loop", ".."), ("linked", "../more")):
                os.symlink(to, self.folder / folder / link)
        self.assertEqual(set(self.compared()), {*files, "linked/m.npy", "linked/link/m.npy"})

    def test_the_table(self):
        done = self.run_program("compare", "gpu", "golden", "--ulp", "1", status=1)
        lines = done.stdout.decode().splitlines()
        self.assertEqual([line.split()[0] for line in lines],
                         ["shape.npy:", "file", "nan.npy", "deep/far.npy", "first", "more", "dmlop"])
        self.assertEqual(lines[-1], "  dmlop compare gpu/shape.npy golden/shape.npy --ulp 1")
        self.assertRegex(done.stderr.decode(), r"^dmlop: 5 files in \d+\.\d\d s: 2 equal, 3 different\n$")

    def test_the_table_fits_narrow_terminals(self):
        """Columns are left out, and cells that are still too long lose their beginning."""
        self.put("a-name-that-is-longer-than-forty-columns-are", X + 1, X)
        for columns, headers in ((20, "file differ"), (40, "file differ"), (80, "file differ ULP relative"),
                                 (120, "file differ of ULP absolute relative NaN inf worst at")):
            text = self.text_of("compare", "gpu", "golden", status=1, env=os.environ | {"COLUMNS": str(columns)})
            header, *rows = text.splitlines()[1:5]
            self.assertEqual(header.split(), headers.split())
            self.assertLessEqual(max(map(len, (header, *rows))), columns)
            self.assertTrue(any(row.split()[0].endswith("are.npy") for row in rows))

    def test_a_file_that_one_folder_lacks(self):
        self.put("only", X, None)
        self.put("other", None, X)
        errors = self.errors_of("compare", "gpu", "golden", status=5)
        self.assertIn("dmlop: golden has no only.npy\ndmlop: gpu has no other.npy\n", errors)
        self.assertEqual(self.compared(status=5)["only.npy"], {"file": "only.npy", "error": "golden has no only.npy"})
        # A device that computes a part of the suite has no other.npy; but what the suite lacks is an error.
        errors = self.errors_of("compare", "gpu", "golden", "--skip-missing", status=5)
        self.assertNotIn("gpu has no", errors)
        self.assertRegex(errors, "1 not compared, 1 missing")
        os.remove(self.folder / "gpu/only.npy")
        self.errors_of("compare", "gpu", "golden", "--skip-missing", status=1)
        self.errors_of("compare", "gpu/same.npy", "golden/same.npy", "--skip-missing", status=2)
        os.mkdir(self.folder / "none")
        errors = self.errors_of("compare", "none", "golden", "--skip-missing", status=5)
        self.assertRegex(errors, "none and golden have no files to compare; [0-9]+ missing\n")

    def test_the_first_of_many_are_told(self):
        for i in range(50):
            self.put(f"m{i:02}", X, None)
            self.put(f"d{i:02}", X + 1, X)
        for options, told in (([], 20), (["-v"], 54)):
            done = self.run_program("compare", "gpu", "golden", *options, status=5)
            rows = [line for line in done.stdout.decode().splitlines() if line.split()[0].rstrip(":").endswith(".npy")]
            self.assertEqual(len(rows), told)
            self.assertEqual(done.stderr.decode().count("golden has no"), 50 if options else 20)
            self.assertEqual("dmlop: and 30 more, which -v lists\n" in done.stderr.decode(), not options)

    def test_raw_files_are_compared_where_they_are_described(self):
        for folder, array in (("gpu", X + 1), ("golden", X)):
            (self.folder / folder / "raw.bin").write_bytes(array.tobytes())
        self.assertNotIn("raw.bin", self.compared())
        self.assertIn("; 1 raw file left out, which --type would describe\n",
                      self.errors_of("compare", "gpu", "golden", status=1))
        self.assertEqual(self.compared("--type", "FLOAT32", "--sizes", "3,3")["raw.bin"]["differenceCount"], 9)

    def test_archives_and_extensions_in_capitals(self):
        for folder, array in (("gpu", X + 1), ("golden", X)):
            np.savez(self.folder / folder / "all.npz", a=array, b=X)
            with open(self.folder / folder / "LOUD.NPY", "wb") as file:
                np.save(file, array)
        files = self.compared()
        self.assertEqual({name: files[name]["differenceCount"] for name in ("all.npz:a", "LOUD.NPY")},
                         {"all.npz:a": 9, "LOUD.NPY": 9})
        self.assertIn("8 files in", self.errors_of("compare", "gpu", "golden", status=1))

    def test_arrays_of_an_archive_are_found_by_name_in_any_order(self):
        numbers = range(300)
        for folder, order, seven in (("gpu", numbers, 0), ("golden", numbers[::-1], 7)):
            np.savez(self.folder / folder / "many.npz",
                     **{f"a{i}": np.full(2, seven if i == 7 else i, np.float32) for i in order})
        files = self.compared()
        counts = {name: file["differenceCount"] for name, file in files.items() if name.startswith("many.npz:")}
        self.assertEqual(len(counts), 300)
        self.assertEqual({name for name, count in counts.items() if count > 0}, {"many.npz:a7"})

    def test_a_broken_archive_hides_no_other_file(self):
        for folder in ("gpu", "golden"):
            np.savez(self.folder / folder / "all.npz", a=X)
        archive = self.folder / "gpu/all.npz"
        archive.write_bytes(archive.read_bytes()[:-30])
        files = self.compared(status=4)
        self.assertIn("is cut off", files["all.npz"]["error"])
        self.assertNotIn("all.npz:a", files)
        self.assertEqual(files["deep/far.npy"]["maxUlpError"], 5)

    def test_the_command_for_more_has_the_options_that_were_given(self):
        for folder, array in (("a b", X + 9), ("c", X)):
            (self.folder / folder).mkdir()
            (self.folder / folder / "raw.bin").write_bytes(bytes(4) + array.tobytes() + bytes(4))
        options = ["--type", "FLOAT32", "--sizes", "3,3", "--strides", "3,1", "--offset", "4", "--atol", "0.5",
                   "--rtol", "0.25", "--ulp", "7", "--atol", "FLOAT16=2", "--squeeze", "--any-integers",
                   "--any-floats"]
        text = self.text_of("compare", "a b", "c", *options, status=1)
        command = shlex.split(text.splitlines()[-1])
        self.assertEqual(command, ["dmlop", "compare", "a b/raw.bin", "c/raw.bin", *options])
        self.assertIn("of 9 elements differ", self.text_of(*command[1:], status=1))

    def test_inputs_that_one_folder_has_beside_its_outputs(self):
        for tensor in ("InputTensor", "InputTensors-1", "OutputTensor"):
            self.put("a." + tensor, None, X)
        self.put("b.InputTensor", None, X)
        errors = self.errors_of("compare", "gpu", "golden", status=5)
        self.assertIn("dmlop: gpu has no a.OutputTensor.npy\ndmlop: gpu has no b.InputTensor.npy\n", errors)
        self.assertRegex(errors, "dmlop: 7 files in .*: 1 equal, 4 different, 2 not compared; 2 inputs left out\n$")
        self.put("a.InputTensor", X, X)
        self.assertTrue(self.compared(status=5)["a.InputTensor.npy"]["equal"])

    def test_folders_that_do_not_go_together(self):
        self.save(x=X)
        (self.folder / "empty").mkdir()
        for arguments, status, message in [
            (["gpu", "x.npy"], 5, "gpu: is a folder, not a tensor file"),
            (["empty", "empty"], 5, "have no files to compare"),
            (["gpu", "[0]", "golden"], 2, "slices are of two files, not of folders"),
        ]:
            self.assertIn(message, self.errors_of("compare", *arguments, status=status))


class ManifestTest(ProgramTest):
    """A manifest compared with folders of outputs."""

    def setUp(self):
        super().setUp()
        for folder in ("golden/b", "gpu/b"):
            (self.folder / folder).mkdir(parents=True)
        self.save(x=X)
        cases = [json.loads(reduction(f, [0])) | {
            "name": f.lower(), "bindings": {"InputTensor": "x.npy", "OutputTensor": f"golden/{path}.npy"}}
            for f, path in (("SUM", "sum"), ("MAX", "b/max"), ("MIN", "b/min"), ("L2", "l2"))]
        self.write("cases.jsonl", "\n".join(map(json.dumps, cases)))
        self.run_program("batch", "cases.jsonl", "-q")
        self.run_program("batch", "cases.jsonl", "-q", "--output-path", "gpu")

    def test_outputs_are_written_into_another_folder(self):
        for name in ("sum", "b/max", "b/min", "l2"):
            self.assert_same(np.load(self.folder / f"gpu/{name}.npy"), np.load(self.folder / f"golden/{name}.npy"))

    def test_no_output_leaves_the_other_folder(self):
        (self.folder / "cases").mkdir()
        lines = [json.dumps({"type": "REDUCE", "desc": {"Function": "SUM", "Axes": [0]},
                             "bindings": {"InputTensor": str(self.folder / "x.npy"), "OutputTensor": output}}) + "\n"
                 for output in ("../up.npy", "y.npy", str(self.folder / "golden/absolute.npy"))]
        (self.folder / "cases/all.jsonl").write_text("".join(lines))
        self.run_program("batch", "cases/all.jsonl", "-q", "--output-path", "other")
        found = sorted(str(path.relative_to(self.folder)) for name in ("up", "y", "absolute")
                       for path in self.folder.rglob(f"{name}.npy"))
        self.assertEqual(found, ["other/cases/y.npy", "other/golden/absolute.npy", "other/up.npy"])

    def test_a_line_with_several_cases_means_none_of_them(self):
        lines = (self.folder / "cases.jsonl").read_text().splitlines()
        (self.folder / "array.json").write_text(f"[{lines[0]}, {lines[1]}]")
        for command in (["explain", "array.json", "OutputTensor[0, 0]"], ["validate", "array.json"],
                        ["batch", "array.json"]):
            self.assertIn("array.json has several cases in line 1; put each in a line of its own",
                          self.errors_of(*command, "--line", "1", status=2))

    def test_a_line_tells_how_it_is_explained(self):
        np.save(self.folder / "wrong.npy", np.zeros((1, 3), "f4"))
        said = self.text_of("run", "cases.jsonl", "--line", "2", "--judge", "wrong.npy", status=1)
        self.assertRegex(said, r"dmlop explain cases.jsonl 'OutputTensor\[0, \d\]' --line 2\n")

    def test_the_worst_case_comes_first_with_what_explains_it(self):
        for name, change in (("sum", 1), ("b/max", 100)):
            golden = np.load(self.folder / f"golden/{name}.npy")
            golden[0, 2:] = (golden.view("i4") + change).view("f4")[0, 2:]
            np.save(self.folder / f"gpu/{name}.npy", golden)
        options = ["--judge", "--output-path", "gpu"]
        said = self.errors_of("batch", "cases.jsonl", *options, "-k", "--no-times", status=1)
        self.assertEqual(said, """\
cases.jsonl:2: max: gpu/b/max.npy differs from OutputTensor as computed here: 1 of 3 elements differ in [0, 2]
  dmlop batch cases.jsonl --judge --output-path gpu --line 2
cases.jsonl:1: sum: gpu/sum.npy differs from OutputTensor as computed here: 1 of 3 elements differ in [0, 2]
  dmlop batch cases.jsonl --judge --output-path gpu --line 1
dmlop: 4 cases: 2 done, 2 different
""")
        alone = self.errors_of("batch", "cases.jsonl", *options, "--line", "2", status=1)
        self.assertIn("  dmlop explain cases.jsonl 'OutputTensor[0, 2]' --line 2\n", alone)
        self.assertIn("value 4", self.text_of("explain", "cases.jsonl", "OutputTensor[0, 2]", "--line", "2"))

    def test_the_report_has_the_figures_of_every_case(self):
        np.save(self.folder / "gpu/sum.npy", (COLUMN_SUMS.view("i4") + 3).view("f4"))
        self.run_program("batch", "cases.jsonl", "--judge", "--output-path", "gpu", "--ulp", "4", "--report", "r.jsonl")
        lines = [json.loads(line) for line in (self.folder / "r.jsonl").read_text().splitlines()]
        compared = [line["comparisons"][0] for line in lines]
        self.assertEqual([c["path"] for c in compared], [f"gpu/{n}.npy" for n in ("sum", "b/max", "b/min", "l2")])
        self.assertEqual([(c["role"], c["equal"], c["maxUlpError"], c["headroom"]) for c in compared],
                         [("actual", True, 3, 0.25), *[("actual", True, 0, 1)] * 3])
        self.assertEqual(compared[0]["tolerance"], {"atol": 0, "rtol": 0, "ulp": 4})
        self.assertEqual((compared[0]["dataType"], compared[0]["sizes"], compared[0]["elementCount"]),
                         ("FLOAT32", [1, 3], 3))

    def test_a_folder_that_is_not_there_is_told_once(self):
        for role in ("--judge", "--check"):
            said = self.errors_of("batch", "cases.jsonl", role, "--output-path", "nowhere", "-k", status=5)
            self.assertEqual(said, "dmlop: nowhere: no such folder\n")
        shutil.rmtree(self.folder / "golden")
        for role in ("--judge", "--check"):
            self.assertEqual(self.errors_of("batch", "cases.jsonl", role, "-k", status=5), "dmlop: golden: no such folder\n")
        expected = {"type": "ELEMENT_WISE_IDENTITY", "bindings": {"InputTensor": [1], "OutputTensor": "none/y.npy"}, "expect": {"OutputTensor": [1]}}
        self.write("cases.jsonl", json.dumps(expected))
        self.run_program("batch", "cases.jsonl", "--check")
        self.assertIn("none: no such folder", self.errors_of("batch", "cases.jsonl", "--judge", status=5))

    def test_a_folder_that_lacks_an_output(self):
        (self.folder / "gpu/l2.npy").unlink()
        said = self.errors_of("batch", "cases.jsonl", "--judge", "--output-path", "gpu", "-k", status=5)
        self.assertIn("cases.jsonl:4: l2: gpu/l2.npy for OutputTensor: the file is missing", said)

    def test_one_case_for_other_commands(self):
        for arguments in (["explain", "cases.jsonl", "OutputTensor[0, 0]"], ["run", "cases.jsonl", "-o", "y.npy"],
                          ["validate", "cases.jsonl"], ["bench", "cases.jsonl", "--min-time", "1ms"]):
            self.run_program(*arguments, "--line", "3")
            self.assertIn("no case in line 9", self.errors_of(*arguments, "--line", "9", status=2))
        self.write("cases.jsonl", '// a comment\n\n{"type": "REDUCE", "Axes": [0]}')
        self.assertIn("cases.jsonl:3:1: error: /Function",
                      self.errors_of("validate", "cases.jsonl", "--line", "3", status=3))


class RawTest(ProgramTest):
    """show and compare of raw files."""

    def setUp(self):
        super().setUp()
        self.write("x.bin", X.tobytes())
        self.write("y.bin", (X + (X == 4)).astype("f4").tobytes())
        self.write("bf16.bin", (X.view("u4") >> 16).astype("u2").tobytes())
        self.write("padded.dat", np.pad(X, ((0, 0), (0, 2))).tobytes())

    def test_show(self):
        for arguments, text in [
            (["x.bin", "--type", "FLOAT32", "--sizes", "3,3"], "[[1, 2, 3],\n [3, 0, 4],\n [2, 4, 2]]"),
            (["x.bin", "--type", "FLOAT32"], "[1, 2, 3, 3, 0, 4, 2, 4, 2]"),
            (["x.bin", "--type", "FLOAT32", "--sizes", "2,2", "--offset", "8"], "[[3, 3],\n [0, 4]]"),
            (["x.bin", "--type", "FLOAT32", "--offset", "28"], "[4, 2]"),
            (["padded.dat", "--type", "FLOAT32", "--sizes", "3,3", "--strides", "5,1", "--offset", "0"],
             "[[1, 2, 3],\n [3, 0, 4],\n [2, 4, 2]]"),
            (["x.bin", "[1]", "--type", "FLOAT32", "--sizes", "3,3"], "[3, 0, 4]"),
            (["bf16.bin", "--type", "BFLOAT16"], "[1, 2, 3, 3, 0, 4, 2, 4, 2]"),
            (["bf16.bin", "--type", "BFLOAT16", "--sizes", "2,3", "--strides", "1,3", "--offset", "2"], "[[2, 0, 4],\n [3, 4, 2]]"),
        ]:
            with self.subTest(arguments):
                self.assertEqual(self.text_of("show", *arguments).split("\n", 1)[1], text + "\n")

    def test_compare(self):
        form = ["--type", "FLOAT32", "--sizes", "3,3"]
        self.run_program("compare", "x.bin", "x.bin", *form)
        text = self.text_of("compare", "y.bin", "x.bin", *form, "--map", status=1)
        self.assertIn("first: element [1, 2]", text)
        self.save(x=X)
        self.run_program("compare", "x.bin", "x.npy", *form)
        self.run_program("compare", "bf16.bin", "x.npy", "--type", "actual=BFLOAT16", "--sizes", "actual=3,3")

    def test_what_does_not_fit(self):
        for arguments, status, message in [
            (["x.bin"], 4, "x.bin: a raw file does not say its type and shape; --type and --sizes do"),
            (["x.bin", "--type", "FLOAT32", "--sizes", "3,2"], 4,
             "is too large: it has 36 bytes; expected 24 (x.bin@OFFSET is what begins at a byte of it)"),
            (["x.bin", "--type", "FLOAT32", "--sizes", "3,4"], 4, "is too small"),
            (["x.bin", "--type", "FLOAT32", "--sizes", "3", "--offset", "28"], 4,
             "is too small: it has 36 bytes; expected at least 12 from byte 28 on"),
            (["x.bin", "--type", "FLOAT32", "--offset", "99"], 4, "has 0 elements"),
            (["x.bin", "--type", "UINT4", "--sizes", "3"], 2, "elements of UINT4 are not whole bytes"),
            (["x.bin", "--type", "FLOAT23", "--sizes", "3"], 2, "did you mean 'FLOAT32'?"),
            (["x.bin", "--type", "FLOAT32", "--sizes", "3,x"], 2, "'3,x' is not a list such as 2,3,4"),
            (["x.bin", "--type", "FLOAT32", "--sizes", "3,0"], 2, "[BUF-3]"),
            (["x.bin", "--type", "FLOAT32", "--sizes", "3,3", "--strides", "1"], 2, "[BUF-13]"),
            (["x.bin", "--sizes", "3"], 2, "--type"),
        ]:
            with self.subTest(arguments):
                self.assertIn(message, self.errors_of("show", *arguments, status=status))


if __name__ == "__main__":
    unittest.main()
