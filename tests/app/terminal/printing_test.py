# SPDX-License-Identifier: Apache-2.0
"""Printed text: tensors, help, lists of operators, and colors."""

import json
import math
import os
import pty
import re
import sys
import unittest
from fractions import Fraction

import numpy as np

sys.dont_write_bytecode = True
from program import COLUMN_SUMS_TEXT, COPY, SUM, X, ProgramTest, start

COMMANDS = ["run", "validate", "bench", "compare", "show", "explain", "ops"]


class TensorTextTest(ProgramTest):
    def printed(self, array, *options):
        """The values of an array, as run prints them."""
        self.save(a=array)
        head, values = self.text_of("run", COPY, "-i", "a.npy", *options).split("\n", 1)
        self.assertEqual(self.text_of("show", "a.npy", *options).split("\n", 1)[1], values)
        self.assertRegex(head, r"^OutputTensor: \(Sizes:\{[0-9, ]+\}, DataType:[A-Z0-9]+\)$")
        return values.removesuffix("\n")

    def test_rows_stand_below_one_another(self):
        self.assertEqual(self.printed(X), "[[1, 2, 3],\n [3, 0, 4],\n [2, 4, 2]]")
        self.assertEqual(self.printed(np.zeros((2, 1, 2), "i1")), "[[[0, 0]],\n [[0, 0]]]")
        self.assertEqual(self.printed(np.array([7], "u8")), "[7]")

    def test_the_shortest_digits_that_read_back(self):
        for dtype, values, text in [
            ("f4", [3, 0.1, 1 / 3, 16777216], "[3, 0.1, 0.33333334, 16777216]"),
            ("f8", [3, 0.1, 1 / 3, 2**53], "[3, 0.1, 0.3333333333333333, 9007199254740992]"),
            ("f2", [3, 0.1, 1 / 3, 2048, 0.5], "[3, 0.1, 0.3333, 2048, 0.5]"),
            ("f4", [np.nan, -np.nan, np.inf, -np.inf, -0.0, 0], "[nan, nan, inf, -inf, -0, 0]"),
            ("f2", [np.nan, np.inf, -np.inf, -0.0], "[nan, inf, -inf, -0]"),
            ("f8", [np.nan, np.inf, -np.inf, -0.0], "[nan, inf, -inf, -0]"),
            ("i8", [-(2**63), 2**63 - 1], "[-9223372036854775808, 9223372036854775807]"),
            ("u8", [0, 2**64 - 1], "[0, 18446744073709551615]"),
            ("i1", [-128, 65, 127], "[-128, 65, 127]"),  # numbers, not characters
            ("u1", [0, 65, 255], "[0, 65, 255]"),
        ]:
            with self.subTest(f"{dtype} {text}"):
                self.assertEqual(self.printed(np.array(values, dtype)), text)

    def test_every_half_and_many_floats_read_back(self):
        random = np.random.default_rng(3)
        halves = np.arange(1 << 16, dtype="u2").view("f2")
        floats = random.integers(0, 1 << 32, 2000, dtype="u4").view("f4")
        doubles = random.integers(0, 1 << 64, 2000, dtype="u8").view("f8")
        for array in (halves, floats, doubles):
            array = array[np.isfinite(array)]
            words = [word.strip() for word in self.printed(array, "--full").strip("[]").split(",")]
            with np.errstate(over="raise"):
                read = np.array([float(word) for word in words]).astype(array.dtype)
            self.assertEqual(read.tobytes(), array.tobytes())
            for word, value in zip(words[::37], array[::37]):
                digits = len(re.sub(r"e.*|[-.]", "", word).strip("0"))
                shortest = np.format_float_scientific(value, unique=True, trim="-")
                self.assertEqual(digits, len(re.sub(r"e.*|[-.]", "", shortest).strip("0")), word)

    def test_no_half_has_fewer_digits_that_read_back(self):
        """Neither of the two nearest decimals with one digit fewer reads back as the value."""
        halves = np.arange(1 << 16, dtype="u2").view("f2")
        halves = halves[np.isfinite(halves) & (halves != 0)]
        words = [word.strip() for word in self.printed(halves, "--full").strip("[]").split(",")]
        self.assertIn("0.01563", words)
        for word, value in zip(words, halves, strict=True):
            digits = re.sub(r"e.*|[-.]", "", word).strip("0")
            if len(digits) == 1:
                continue
            exact = Fraction(float(value))
            tens = Fraction(10) ** (math.floor(math.log10(abs(exact))) - len(digits) + 2)
            below = exact // tens
            fewer = [float(scaled * tens) for scaled in (below, below + 1)]
            self.assertNotIn(value, np.array(fewer).astype("f2"), word)

    def test_long_tensors_are_abridged_unless_full(self):
        array = np.arange(2000, dtype="i4").reshape(20, 100)
        abridged = self.printed(array)
        self.assertIn("...", abridged)
        self.assertLess(len(abridged), 500)
        self.assertEqual(abridged.splitlines()[2:5], [" [ 200,  201,  202, ...,  297,  298,  299],", " ...,",
                                                      " [1700, 1701, 1702, ..., 1797, 1798, 1799],"])
        full = self.printed(array, "--full")
        self.assertEqual(json.loads(full), array.tolist())
        self.assertEqual(len(full.splitlines()), 20 * 8)  # at most 80 columns, 13 numbers to a line

    def test_columns_line_up(self):
        array = np.array([[1.5, -2, 1e20], [0.25, np.nan, 3]], "f4")
        self.assertEqual(self.printed(array), "[[  1.5,    -2, 1e+20],\n [ 0.25,   nan,     3]]")
        self.assertEqual(self.shown(array, "--hex"),
                         "[[0x3FC00000, 0xC0000000, 0x60AD78EC],\n [0x3E800000, 0x7FC00000, 0x40400000]]")

    def shown(self, array, *options, **environment):
        self.save(a=array)
        done = start(["show", "a.npy", *options], cwd=self.folder, env=os.environ | environment)
        return done.stdout.decode().split("\n", 1)[1].removesuffix("\n")

    def test_lines_fit_and_never_break_within_a_number(self):
        random = np.random.default_rng(5)
        for shape in ((100,), (3, 40), (2, 3, 50), (1,)):
            array = random.random(shape, "f4")
            for columns in (20, 40, 80, 200, None):  # None: in a pipe
                text = self.shown(array, **({"COLUMNS": str(columns)} if columns else {}))
                columns = columns or 80
                np.testing.assert_array_equal(np.array(json.loads(text), "f4"), array)
                self.assertLessEqual(max(map(len, text.splitlines())), columns)
                for row in json.loads("[" + text.replace("\n", "") + "]"):
                    self.assertEqual(np.shape(row), shape)
        self.assertEqual(self.shown(np.arange(12), COLUMNS="20"), "[ 0,  1,  2,  3,  4,\n  5,  6,  7,  8,  9,\n 10, 11]")

    def test_tensors_as_json(self):
        self.save(a=np.array([[0.1, np.nan], [-0.0, np.inf]], "f2"), i=np.array([2**63], "u8"), s=np.float32(2.5),
                  long=np.zeros((40, 50), "i1"))
        self.assertEqual(json.loads(self.text_of("show", "a.npy", "--format", "json")), {
            "file": "a.npy", "dataType": "FLOAT16", "sizes": [2, 2],
            "values": [[float(np.float16(0.1)), "nan"], [0, "inf"]], "order": "C"})
        lines = self.text_of("show", "a.npy", "[1, 0]", "i.npy", "s.npy", "long.npy", "--format", "json").splitlines()
        self.assertIn('"values":-0.0', lines[0])
        self.assertEqual([json.loads(line)["values"] for line in lines], [-0.0, [2**63], 2.5, None])
        self.assertEqual(json.loads(lines[0])["slice"], "[1, 0]")
        full = json.loads(self.text_of("show", "long.npy", "--full", "--stats", "--format", "json"))
        self.assertEqual((full["values"], full["statistics"]), ([[0] * 50] * 40, {
            "count": 2000, "zeroCount": 2000, "nanCount": 0, "positiveInfinityCount": 0, "negativeInfinityCount": 0,
            "min": 0, "max": 0, "mean": 0, "deviation": 0,
            "percentiles": {p: 0 for p in ("1", "5", "25", "50", "75", "95", "99")}, "histogram": [{"least": 0, "count": 2000}]}))

    def test_a_run_as_json(self):
        self.save(x=X, g=np.array([[6, 6, 8]], "f4"))
        run = ["run", SUM, "-i", "x.npy", "--format", "json"]
        self.assertEqual(json.loads(self.text_of(*run)), {
            "outputs": [{"tensor": "OutputTensor", "dataType": "FLOAT32", "sizes": [1, 3], "values": [[6, 6, 9]]}],
            "comparisons": []})
        compared = json.loads(self.text_of(*run, "--judge", "g.npy", status=1))
        self.assertEqual(compared["outputs"], [])
        self.assertEqual((compared["comparisons"][0]["path"], compared["comparisons"][0]["differenceCount"]), ("g.npy", 1))
        self.assertIn("standard output", self.errors_of(*run, "-o", "-", status=2))

    def test_show_says_shape_type_and_order(self):
        self.save(c=X, f=np.asfortranarray(X[:2]), s=np.float64(2.5), e=np.zeros((0, 3), "u1"))
        text = self.text_of("show", "c.npy", "f.npy", "s.npy", "e.npy")
        self.assertIn("c.npy: (Sizes:{3, 3}, DataType:FLOAT32, order:C)\n[[1, 2, 3],", text)
        self.assertIn("f.npy: (Sizes:{2, 3}, DataType:FLOAT32, order:Fortran)\n[[1, 2, 3],\n [3, 0, 4]]\n", text)
        self.assertIn("s.npy: (Sizes:{}, DataType:FLOAT64, order:C)\n2.5\n", text)
        self.assertIn("e.npy: (Sizes:{0, 3}, DataType:UINT8, order:C)\n", text)

    def test_statistics_stand_for_the_values(self):
        self.save(a=X)
        head = "a.npy: (Sizes:{3, 3}, DataType:FLOAT32, order:C)\n"
        alone = self.text_of("show", "a.npy", "--stats")
        self.assertTrue(alone.startswith(head + "count 9, zero 1, subnormal 0,"))
        for asked, values in (("--full", "[[1, 2, 3],\n"), ("--hex", "[[0x3F800000,")):
            self.assertIn(values, self.text_of("show", "a.npy", "--stats", asked))
        for options, has_values in (([], True), (["--stats"], False), (["--stats", "--full"], True)):
            self.assertEqual("values" in json.loads(self.text_of("show", "a.npy", "--format", "json", *options)), has_values)

    def test_subnormal_numbers_are_counted(self):
        for dtype in ("f2", "f4", "f8"):
            least = np.finfo(dtype).smallest_normal
            self.save(a=np.array([0, least, -least, least / 2, -np.finfo(dtype).smallest_subnormal, np.nan], dtype))
            self.assertIn("zero 1, subnormal 2, nan 1", self.text_of("show", "a.npy", "--stats"))
            said = json.loads(self.text_of("show", "a.npy", "--stats", "--format", "json"))
            self.assertEqual(said["statistics"]["subnormalCount"], 2)
        self.save(i=np.array([1]))
        self.assertNotIn("subnormal", self.text_of("show", "i.npy", "--stats"))

    def test_show_statistics(self):
        self.save(a=np.array([1, 2, np.nan, np.inf, -np.inf, 6, 0], "f4"), i=np.array([-(2**63), 2**63 - 1], "i8"))
        text = self.text_of("show", "a.npy", "--stats")
        for part in ("count 7", "nan 1", "inf 1", "min 0", "max 6", "mean 2.25", "deviation 2.27761",
                     "\n1% 0, 5% 0, 25% 0, median 1, 75% 2, 95% 6, 99% 6\n"):
            self.assertIn(part, text)
        self.assertIn("min -9223372036854775808, max 9223372036854775807", self.text_of("show", "i.npy", "--stats"))
        self.save(e=np.zeros((0, 3), "f4"), n=np.array([np.nan], "f2"))
        self.run_program("show", "e.npy", "n.npy", "--stats")

    def test_percentiles_are_those_of_numpy(self):
        rng = np.random.default_rng(1)
        for values in (rng.normal(5, 3, 100_001), rng.normal(0, 1e-30, 5000).astype("f4"), rng.normal(size=777).astype("f2"),
                       rng.integers(-2**63, 2**63, 1000), rng.integers(0, 2**64, 999, dtype="u8"),
                       rng.integers(-128, 128, 100, "i1"), np.array([7], "i4"),
                       np.array([-0.0, 0.0, 5e-324, -1e308, np.inf, np.nan])):
            with self.subTest(values.dtype):
                self.save(v=values)
                of = json.loads(self.text_of("show", "v.npy", "--stats", "--format", "json"))["statistics"]
                finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values
                self.assertEqual({int(p): value for p, value in of["percentiles"].items()},
                                 {p: np.percentile(finite, p, method="inverted_cdf").item() for p in (1, 5, 25, 50, 75, 95, 99)})
                deviation = finite.astype(np.longdouble).std()
                self.assertLessEqual(abs(of["deviation"] - deviation), deviation * 1e-15)

    def test_histograms_have_a_bin_for_each_of_few_values(self):
        self.save(constant=np.full(9, 5, "f4"), few=np.array([0, 3, 3, 2], "u1"), close=np.linspace(5, 5.0001, 99))
        for name, bins in (("constant", [("5", "9")]), ("few", [("0", "1"), ("1", "0"), ("2", "1"), ("3", "2")])):
            lines = self.text_of("show", f"{name}.npy", "--stats").splitlines()[4:]
            self.assertEqual([tuple(line.split()[:2]) for line in lines], bins)
        labels = [line.split()[0] for line in self.text_of("show", "close.npy", "--stats").splitlines()[4:]]
        self.assertEqual((len(labels), len(set(labels))), (16, 16))

    def test_show_needs_a_file_that_says_its_shape(self):
        self.write("x.bin", b"1234")
        self.assertIn("x.bin", self.errors_of("show", "x.bin", status=4))


class TextTest(ProgramTest):
    def test_help_fits_a_terminal(self):
        texts = [self.text_of("--help")]
        commands = [line.split()[0] for line in texts[0].split("Subcommands:\n")[1].split("\n\n")[0].splitlines()
                    if line.startswith("  ") and line[2] != " "]
        self.assertIn("completion", commands)
        for command in commands:
            texts.append(self.text_of(command, "--help"))
        for text in texts:
            self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])
        for command in [[], *([name] for name in commands)]:  # examples are commands, which are not wrapped
            text = self.text_of(*command, "--help", env=os.environ | {"COLUMNS": "40"}).split("\nExamples:")[0]
            self.assertEqual([line for line in text.splitlines() if len(line) > 40 and " " in line.strip()], [])
            self.assertEqual(text.split(), self.text_of(*command, "--help").split("\nExamples:")[0].split())
        self.assertIn("Strides of raw files, in elements (default:\n" + 30 * " " + "packed); with --sizes\n",
                      self.text_of("show", "--help"))

    def test_every_command_has_help_with_two_examples(self):
        self.assertIn("run", self.text_of("--help"))
        self.assertEqual(self.text_of("-h"), self.text_of("--help"))
        for command in COMMANDS:
            text = self.text_of(command, "--help")
            self.assertEqual(self.text_of(command, "-h"), text)
            examples = [line for line in text.splitlines() if line.strip().startswith(f"dmlop {command}")]
            self.assertGreaterEqual(len(examples), 2, command)
            for option in ("--quiet", "--verbose", "--color"):
                self.assertIn(option, text)

    def test_version_names_the_program_and_the_instruction_sets(self):
        text = self.text_of("--version")
        self.assertRegex(text, r"^dmlop \d+\.\d+\.\d+\n")
        self.save(x=np.linspace(-5, 7, 10007, dtype="f4").reshape(-1, 1))
        names = re.search("instruction sets: (.*)", text)[1].split(", ")
        function = '{"type": "REDUCE", "Function": "LOG_SUM_EXP", "Axes": [0]}'
        bytes_of = []
        for options in [["--isa", name] for name in names] + [["-t", "1"], ["-t", "3"], ["-t", "64"]]:
            self.run_program("run", function, "-i", "x.npy", "-o", "y.npy", *options)
            bytes_of.append((self.folder / "y.npy").read_bytes())
        self.assertEqual(len(set(bytes_of)), 1)

    def test_ops_lists_the_operators(self):
        names = ["ELEMENT_WISE_IDENTITY", "JOIN", "SPLIT", "REDUCE", "UNFOLD"]
        self.assertLessEqual(set(names), {line.split()[0] for line in self.text_of("ops").splitlines()})
        listed = json.loads(self.text_of("ops", "--format", "json"))
        self.assertLessEqual(set(names), {op["name"] for op in listed})

    def test_ops_describes_one_operator(self):
        for name in ("REDUCE", "DML_OPERATOR_REDUCE"):
            text = self.text_of("ops", name)
            for part in ("Function", "Axes", "RED-4", "LOG_SUM_EXP", "5_0"):
                self.assertIn(part, text)
        join = json.loads(self.text_of("ops", "JOIN", "--format", "json"))
        rows = {row["since"]: (row["minRank"], row["maxRank"], len(row["input"])) for row in join["support"]}
        self.assertEqual(
            rows, {"1_0": (4, 4, 6), "2_1": (4, 4, 8), "3_0": (4, 5, 8), "3_1": (1, 8, 8), "4_1": (1, 8, 11)})
        at = json.loads(self.text_of("ops", "JOIN", "-L", "4_0", "--format", "json"))
        self.assertEqual([row["since"] for row in at["support"]], ["3_1"])
        self.assertEqual(json.loads(self.text_of("ops", "UNFOLD", "-L", "6_3", "--format", "json"))["support"], [])

    def test_results_go_to_standard_output_and_messages_to_standard_error(self):
        self.save(x=X)
        done = self.run_program("run", SUM, "-i", "x.npy", "-v")
        self.assertEqual(done.stdout.decode(), COLUMN_SUMS_TEXT)
        self.assertNotEqual(done.stderr, b"")
        self.assertEqual(self.run_program("run", SUM, "-i", "x.npy").stderr, b"")
        self.assertEqual(self.run_program("run", SUM, "-i", "x.npy", "-q", "-o", "y.npy").stderr, b"")

    def test_colors_only_where_they_are_wanted(self):
        def colored(*options, **environment):
            return b"\x1b[" in start(["validate", "{}", *options], env=environment).stderr

        def colored_on_terminal(*options, **environment):
            terminal, end = pty.openpty()
            start(["validate", "{}", *options], env=environment, stderr=end)
            os.close(end)
            text = os.read(terminal, 10000)
            os.close(terminal)
            return b"\x1b[" in text

        self.assertFalse(colored())  # not a terminal
        self.assertTrue(colored_on_terminal())
        self.assertFalse(colored_on_terminal(NO_COLOR="1"))
        self.assertFalse(colored_on_terminal("--color", "never"))
        self.assertTrue(colored_on_terminal("--color", "always", NO_COLOR="1"))
        self.assertTrue(colored("--color", "always"))
        self.assertTrue(colored("--color", "always", NO_COLOR="1"))
        self.assertFalse(colored("--color", "never"))
        self.assertFalse(colored("--color", "auto", NO_COLOR="1"))


if __name__ == "__main__":
    unittest.main()
