# SPDX-License-Identifier: Apache-2.0
"""Sweeps: one line of a manifest for many cases."""

import json
import re
import sys
import unittest

sys.dont_write_bytecode = True
from program import ProgramTest

SWEEP = {
    "type": "REDUCE",
    "desc": {"Function": "SUM", "Axes": [1], "InputTensor": {"DataType": "FLOAT32", "Sizes": [2, 3]}},
    "bindings": {"InputTensor": {"random": "special", "seed": 1},
                 "OutputTensor": "{/desc/Function}-{/desc/InputTensor/DataType}-{/desc/InputTensor/Sizes}-{case}.npy"},
    "sweep": {"/desc/Function": ["SUM", "L2"], "/desc/InputTensor/DataType": ["FLOAT32", "INT8", "INT32"],
              "/desc/InputTensor/Sizes": [[2, 3], [4, 5]]},
}


class ExpandTest(ProgramTest):
    def expand(self, *lines, arguments=(), **options):
        self.write("sweep.jsonl", "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
        return self.run_program("batch", "--expand", "sweep.jsonl", *arguments, **options)

    def test_a_sweep_becomes_the_product_without_what_is_invalid(self):
        plain = '{"type":  "ELEMENT_WISE_ABS", "bindings": {"InputTensor": [1], "OutputTensor": "a.npy"}} // as it is'
        done = self.expand(plain, SWEEP)
        lines = done.stdout.decode().splitlines()
        self.assertEqual(lines[0], plain)
        expected = []
        for function in ("SUM", "L2"):
            for data_type in ("FLOAT32", "INT8", "INT32"):
                for sizes in ([2, 3], [4, 5]):
                    expected.append((function, data_type, sizes))
        valid = [(i, *combination) for i, combination in enumerate(expected)
                 if combination[1] == "FLOAT32" or combination[:2] == ("SUM", "INT32")]
        for line, (i, function, data_type, sizes) in zip(lines[1:], valid, strict=True):
            self.assertEqual(json.loads(line), {
                "type": "REDUCE",
                "desc": {"Function": function, "Axes": [1], "InputTensor": {"DataType": data_type, "Sizes": sizes}},
                "bindings": {"InputTensor": {"random": "special", "seed": 1},
                             "OutputTensor": f"{function}-{data_type}-{sizes[0]}x{sizes[1]}-{i}.npy"}})
        said = done.stderr.decode().splitlines()
        self.assertEqual(said[-1], f"dmlop: {1 + len(valid)} cases, {12 - len(valid)} combinations left out")
        self.assertEqual(len(said), 4)  # a line for each cause: INT8 with either function, INT32 with L2
        self.assertRegex(said[0], r'^sweep\.jsonl:2: left out: /desc/Function = "SUM", /desc/InputTensor/DataType = "INT8", '
                                  r'/desc/InputTensor/Sizes = \[2,3\]: /desc/InputTensor/DataType: INT8 is not supported by REDUCE SUM .*\[FL-1\], and 1 like it$')

    def test_pointers_that_change_together(self):
        line = SWEEP | {"sweep": {"/desc/Function": ["SUM", "MAX"],
                                  "/desc/InputTensor/DataType, /desc/InputTensor/Sizes": [["FLOAT32", [2, 3]], ["INT32", [4, 5]]]}}
        cases = [json.loads(case) for case in self.expand(line).stdout.splitlines()]
        self.assertEqual([case["bindings"]["OutputTensor"] for case in cases],
                         ["SUM-FLOAT32-2x3-0.npy", "SUM-INT32-4x5-1.npy", "MAX-FLOAT32-2x3-2.npy", "MAX-INT32-4x5-3.npy"])
        self.assertEqual([(case["desc"]["InputTensor"]["DataType"], case["desc"]["InputTensor"]["Sizes"]) for case in cases],
                         [("FLOAT32", [2, 3]), ("INT32", [4, 5])] * 2)

    def test_lines_of_a_sweep_and_of_a_case(self):
        case = {"type": "ELEMENT_WISE_ABS", "name": "plain", "bindings": {"InputTensor": [1], "OutputTensor": "a.npy"}}
        lines = self.expand(json.dumps(case, indent=2), json.dumps(SWEEP, indent=2)).stdout.decode().splitlines()
        self.assertEqual(json.loads(lines[0]), case)
        self.assertEqual(len(lines), 7)

    def test_numbers_stay_as_they_are_written(self):
        """This includes numbers that neither a double nor 64 bits hold."""
        numbers = ["-0", "-0.0", "1e2", "1.50", "1e-400", "18446744073709551616", "-18446744073709551616"]
        array = f"[{', '.join(numbers)}]"
        line = f'{{"type": "ELEMENT_WISE_ABS",\n "bindings": {{"InputTensor": {array}, "OutputTensor": "a.npy"}}}}'
        self.assertIn(f'"InputTensor":[{",".join(numbers)}]', self.expand(line).stdout.decode())
        line = f'{{"type": "FILL_VALUE_CONSTANT", "ValueDataType": "FLOAT64", "OutputTensor": {{"DataType": "FLOAT64", "Sizes": [1]}}, ' \
               f'"bindings": {{"OutputTensor": "{{case}}.npy"}}, "sweep": {{"/Value": {array}}}}}'
        done = self.expand(line)
        self.assertEqual(re.findall(r'"Value":([^,}]*)', done.stdout.decode()), numbers)
        done = self.expand(line.replace("1.50", "1e400"))
        self.assertIn("/Value = 1e400: /Value: the number is too large for any type", done.stderr.decode())
        line = SWEEP | {"bindings": {"InputTensor": [[1, 2, 3]] * 2, "OutputTensor": "y.npy"}, "sweep": {"/desc/Axes": [[0], [2**64]]}}
        self.assertIn("18446744073709551616 is out of range for UINT32", self.expand(line, status=3).stderr.decode())

    def test_the_cases_run(self):
        (self.folder / "cases.jsonl").write_bytes(self.expand(SWEEP).stdout)
        count = len((self.folder / "cases.jsonl").read_text().splitlines())
        self.assertEqual(self.errors_of("batch", "cases.jsonl", "--no-times"), f"dmlop: {count} cases: {count} done\n")
        self.assertEqual(self.load("SUM-INT32-4x5-5").shape, (4, 1))

    def test_outputs_whose_values_are_expected_need_no_file(self):
        sweep = {"type": "REDUCE", "desc": {"Axes": [0]},
                 "bindings": {"InputTensor": [1, 3]}, "sweep": {"/desc/Function, /expect/OutputTensor": [["SUM", [4]], ["MAX", [3]]]}}
        (self.folder / "cases.jsonl").write_bytes(self.expand(sweep).stdout)
        self.assertEqual(self.errors_of("batch", "cases.jsonl", "--check", "--no-times"), "dmlop: 2 cases: 2 done\n")
        self.assertIn("OutputTensor has no file in 'bindings'", self.errors_of("batch", "cases.jsonl", status=2))

    def test_quiet_says_nothing_of_what_is_left_out(self):
        self.assertEqual(self.expand(SWEEP, arguments=["-q"]).stderr, b"")

    def test_faults(self):
        swept = lambda **members: SWEEP | {"sweep": members, "bindings": {}}
        many = swept(**{f"/desc/x{i}": list(range(100)) for i in range(3)}, **{"/desc/y": [1, 2]})
        endless = swept(**{f"/desc/x{i}": list(range(1000)) for i in range(9)})
        for line, message in [
            (many, "the sweep has 2000000 cases; --max-cases 2000000 allows them"),
            (endless, "the sweep has more than 2^53 cases"),
            (SWEEP | {"sweep": []}, "'sweep' is not an object of JSON pointers"),
            (SWEEP | {"sweep": {}}, "'sweep' is not an object of JSON pointers"),
            (swept(**{"/desc/Function": "SUM"}), "the values of '/desc/Function' are not an array"),
            (swept(**{"/desc/Function": []}), "the values of '/desc/Function' are not an array"),
            (swept(**{"desc/Function": ["SUM"]}), "'desc/Function' is not a JSON pointer"),
            (swept(**{"/desc/Function, /desc/Axes": ["SUM"]}),
             "a value of '/desc/Function, /desc/Axes' is not an array of 2, one for each pointer"),
            (swept(**{"/desc/Function, /desc/Axes": [["SUM", [0], 1]]}), "a value of '/desc/Function, /desc/Axes' is"),
            (swept(**{"/desc/Function,/desc/Axes": [["SUM", [0]]]}),
             "'/desc/Function,/desc/Axes': between pointers are a comma and a space"),
            (SWEEP | {"bindings": {"OutputTensor": "{/desc/Functin}.npy"}},
             "'{/desc/Functin}' in '{/desc/Functin}.npy' is not replaced (did you mean '/desc/Function'?)"),
            (SWEEP | {"bindings": {"OutputTensor": "{case}-{foo}.npy"}},
             "'{foo}' in '{case}-{foo}.npy' is not replaced; expected one of case, /desc/Function, /desc/InputTensor/DataType"),
            (swept(**{"": [1]}), "a sweep of whole descriptors is a manifest"),
            (swept(**{"/desc/Axes/x": [1]}), "'sweep' has a pointer that leads to nothing"),
            (swept(**{"/desc/Axes/60000000": [1]}), "'sweep' has the index 60000000 of an array of 1"),
            (swept(**{"/desc/InputTensor/DataType": ["INT8"]}) | {"bindings": {"InputTensor": [[1, 2, 3]] * 2}},
             "the sweep has no valid case"),
            (SWEEP | {"name": "sum-{cas}"}, "'{cas}' in 'sum-{cas}' is not replaced (did you mean 'case'?)"),
            (json.dumps(SWEEP)[:-1] + ', "sweep": {}}', "'sweep' is given twice"),
        ]:
            with self.subTest(message):
                self.assertIn(f"sweep.jsonl:2: {message}", self.expand("", line, status=2).stderr.decode())

    def test_what_is_no_invalid_combination_ends_it(self):
        files = {"type": "REDUCE", "desc": {"Function": "SUM", "Axes": [0]},
                 "bindings": {"InputTensor": "x.npy", "OutputTensor": "{case}.npy"},
                 "sweep": {"/desc/Function": ["SUM", "MAX"]}}
        for line, status, message in [
            ('{"sweep": {', 3, "sweep.jsonl:2:12: not well-formed JSON: expected a name in double quotes, found the end [JSON-1]\n"),
            (files, 5, 'sweep.jsonl:2: /desc/Function = "SUM": /bindings/InputTensor: x.npy: cannot be opened: '
                       "No such file or directory [DOC-6]\n"),
            (files | {"bindings": {"InputTensor": [1]}}, 2, ""),
        ]:
            with self.subTest(message):
                done = self.expand("// one", line, SWEEP, arguments=["-q"], status=status)
                self.assertEqual(done.stdout, b"")
                self.assertIn(message, done.stderr.decode())

    def test_slips_end_it(self):
        """An unknown word, or a value of another kind, is not treated as a combination that DirectML lacks."""
        resample = {"type": "RESAMPLE1", "desc": {
            "InputTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 4, 4]}, "InterpolationMode": "LINEAR",
            "Scales": [1, 1, 2, 2], "InputPixelOffsets": [0, 0, 0.5, 0.5], "OutputPixelOffsets": [0, 0, -0.5, -0.5]},
            "bindings": {"InputTensor": {"random": "uniform", "seed": 1}, "OutputTensor": "{case}.npy"}}
        fill = {"/type": ["FILL_VALUE_CONSTANT"], "/bindings": [{"OutputTensor": "{case}.npy"}], "/desc": [
            {"ValueDataType": "UINT8", "Value": 1, "OutputTensor": {"DataType": "UINT8", "Sizes": [2]}}]}
        for sweep, message in [
            ({"/desc/InterpolationMode": ["LINEAR", "NEARST_NEIGHBOR"]},
             '/desc/InterpolationMode = "NEARST_NEIGHBOR": /desc/InterpolationMode: \'NEARST_NEIGHBOR\' is not a known name '
             "(did you mean 'NEAREST_NEIGHBOR'?) [JSON-3]"),
            ({"/desc/InputTensor/DataType": ["FLOAT32", "FLOAT23"]}, "'FLOAT23' is not a known name"),
            ({"/desc/Scale": [[1, 1, 2, 2]]}, "'Scale' is not a known field (did you mean 'Scales'?)"),
            ({"/type": ["RESAMPLE1", "RESAMPLE11"]}, "'RESAMPLE11'"),
            ({"/desc/Scales": [[1, 1, 2, 2], "2"]}, "[DOC-1]"),
            ({"/desc/Scales": [[1, 1, 2, 2], None]}, "[JSON-2]"),
            ({"/desc/InputTensor/Sizes": [[1, 1, 4, 4], [1, 1, 4, -4]]}, "[DOC-2]"),
            ({"/desc/InputTensor/DataType": ["INT64", "FLOAT23"]}, "'FLOAT23' is not a known name"),
            # These have the code of a rule of DirectML.
            ({"/desc/InputTensor/Flags": ["NONE", "OWNED_BY_ME"]}, "'OWNED_BY_ME' is not a known name (did you mean 'OWNED_BY_DML'?) [BUF-15]"),
            (fill | {"/desc/Value": [1, [1]]}, "expected an integer, found an array [UNI-1]"),
            (fill | {"/desc/Value": [1, "one"]}, "expected an integer, found a string [UNI-1]"),
        ]:
            with self.subTest(message):
                done = self.expand(resample | {"sweep": sweep}, status=3)
                self.assertEqual(done.stdout, b"")
                self.assertRegex(done.stderr.decode(), r"^sweep\.jsonl:1: /")
                self.assertIn(message, done.stderr.decode())
        types = {"/desc/ValueDataType, /desc/OutputTensor/DataType": [["FLOAT32", "FLOAT32"], ["UINT8", "UINT8"]]}
        for swept in (resample | {"sweep": {"/desc/InputTensor/DataType": ["FLOAT32", "INT64"]}},
                      *({"type": "FILL_VALUE_CONSTANT", "sweep": types, "bindings": fill["/bindings"][0], "desc": {
                          "ValueDataType": "UINT8", "Value": value, "OutputTensor": {"DataType": "UINT8", "Sizes": [2]}}}
                        for value in ("-inf", 1.5, 300))):
            with self.subTest(swept):
                self.assertIn("1 combination left out", self.expand(swept).stderr.decode())

    def test_names_of_cases(self):
        line = SWEEP | {"name": "{/desc/Function} of {/desc/InputTensor/Sizes}, {case}",
                        "sweep": {"/desc/Function": ["SUM", "MAX"], "/desc/InputTensor/Sizes": [[2, 3], [4, 5]]},
                        "bindings": {"InputTensor": {"random": "special"}, "OutputTensor": "{case}.npy"}}
        names = [json.loads(case)["name"] for case in self.expand(line).stdout.splitlines()]
        self.assertEqual(names, ["SUM of 2x3, 0", "SUM of 4x5, 1", "MAX of 2x3, 2", "MAX of 4x5, 3"])

    def test_lines_without_a_sweep_are_checked(self):
        done = self.expand('{"type": "REDUCE", "bindings": {"InputTensor": [1], "OutputTensor": "a.npy"}}', SWEEP, status=3)
        self.assertIn("sweep.jsonl:1:1: /Function: 'Function' is missing", done.stderr.decode().replace("/desc/", "/"))
        self.assertEqual(done.stdout, b"")

    def test_max_cases(self):
        said = self.expand(SWEEP, arguments=["--max-cases", "11"], status=2).stderr.decode()
        self.assertIn("--max-cases 12 allows them", said)
        self.expand(SWEEP, arguments=["--max-cases", "12"])


if __name__ == "__main__":
    unittest.main()
