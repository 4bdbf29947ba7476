# SPDX-License-Identifier: Apache-2.0
"""The sources of documents, the assignment of files to tensors, and what may be left out."""

import json
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import COLUMN_SUMS, COLUMN_SUMS_TEXT, COPY, JOIN, SUM, THIRDS, X, ProgramTest

UNFOLD = """{"type": "UNFOLD", "WindowSizes": [2], "Strides": [1], "Dilations": [1],
             "StartPadding": [0], "EndPadding": [1]}"""


class DocumentsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.save(x=X)

    def test_descriptor_is_a_path_standard_input_or_text(self):
        self.write("sum.json", SUM)
        for descriptor in ("sum.json", self.folder / "sum.json", "./sum.json", SUM):
            self.assertEqual(self.text_of("run", descriptor, "-i", "x.npy"), COLUMN_SUMS_TEXT)
        read = self.text_of("run", "-", "-i", "x.npy", stdin=SUM.encode())
        self.assertEqual(read, COLUMN_SUMS_TEXT)

    def test_bindings_are_relative_to_the_descriptors_folder(self):
        inner = self.folder / "inner"
        inner.mkdir()
        (self.folder / "x.npy").rename(inner / "x.npy")
        bindings = {"InputTensor": "x.npy", "OutputTensor": "../sum.npy"}
        self.write("inner/sum.json", {**json.loads(SUM), "bindings": bindings})
        self.run_program("run", "inner/sum.json")
        self.assert_same(self.load("sum"), COLUMN_SUMS)

    def test_names_are_read_with_their_escapes(self):
        for written, name in [(r"\u0078", "x"), (r"\u00e9", "\u00e9"), (r"\u20AC\u20ac", "\u20ac\u20ac"),
                              (r"\ud83d\ude00", "\U0001f600"), (r"\uDBFF\uDFFF", "\U0010ffff"),
                              (r"\"\\\b\f\n\r\t", '"\\\b\f\n\r\t'), (r"in\/x", "in/x"), ("\u00e9\u20ac\U0001f600\x7f",) * 2]:
            with self.subTest(written):
                (self.folder / name).parent.mkdir(exist_ok=True)
                np.save(self.folder / f"{name}.npy", X)
                document = SUM.rstrip()[:-1] + ', "bindings": {"InputTensor": "' + written + '.npy"}}'
                self.assertEqual(self.text_of("run", document), COLUMN_SUMS_TEXT)

    def test_an_operator_may_have_another_name(self):
        document = {"type": "DML_OPERATOR_SCATTER_ELEMENTS", "Axis": 0,
                    "InputTensor": {"DataType": "FLOAT32", "Sizes": [3]},
                    "IndicesTensor": {"DataType": "UINT32", "Sizes": [1]},
                    "UpdatesTensor": {"DataType": "FLOAT32", "Sizes": [1]},
                    "bindings": {"InputTensor": [1, 2, 3], "IndicesTensor": [1], "UpdatesTensor": [9]}}
        self.assertIn("[1, 9, 3]", self.text_of("run", json.dumps(document)))
        complete = json.loads(self.text_of("validate", "--print-complete", json.dumps(document)))
        self.assertEqual(complete["type"], "DML_OPERATOR_SCATTER")

    def test_type_may_be_a_field(self):
        """RNG-6: next to "type" it is a field; alone it names the operator."""
        fields = {"InputStateTensor": {"DataType": "UINT32", "Sizes": [6]},
                  "OutputTensor": {"DataType": "UINT32", "Sizes": [2]}}
        bound = {"bindings": {"InputStateTensor": [0, 0, 0, 0, 0, 0]}}
        name, kind = {"type": "RANDOM_GENERATOR"}, {"Type": "PHILOX_4X32_10"}
        for document in (name | fields, {"Type": "RANDOM_GENERATOR"} | fields, name | kind | fields,
                         name | {"desc": fields | kind}, {"Type": "RANDOM_GENERATOR", "Desc": fields | kind}):
            with self.subTest(document):
                self.assertIn("[1713891541, 3781805453]", self.text_of("run", json.dumps(document | bound)))
        refused = self.errors_of("validate", json.dumps(name | {"desc": fields | {"Type": "XORSHIFT"}}), status=3)
        self.assertIn("'XORSHIFT' is not a known name", refused)

    def test_bindings_may_be_absolute(self):
        bindings = {"InputTensor": str(self.folder / "x.npy")}
        text = self.text_of("run", json.dumps({**json.loads(SUM), "bindings": bindings}), cwd=None)
        self.assertEqual(text, COLUMN_SUMS_TEXT)

    def test_command_line_wins_over_bindings(self):
        self.save(y=2 * X)
        bindings = {"InputTensor": "none.npy", "OutputTensor": "none/none.npy"}
        document = json.dumps({**json.loads(SUM), "bindings": bindings})
        self.run_program("run", document, "-i", "y.npy", "-o", "sum.npy")
        self.assert_same(self.load("sum"), 2 * COLUMN_SUMS)

    def test_command_line_may_replace_one_binding_of_an_array(self):
        self.save(a=X[:1], b=X[1:2], c=X[2:])
        document = {**json.loads(JOIN), "bindings": {"InputTensors": ["a.npy", "b.npy"]}}
        self.write("join.json", document)
        self.run_program("run", "join.json", "-i", "InputTensors[1]=c.npy", "-o", "j.npy")
        self.assert_same(self.load("j"), X[[0, 2]])

    def test_null_is_left_out(self):
        document = {
            "type": "REDUCE", "Function": "SUM", "Axes": [0], "AxisCount": None, "OutputTensor": None,
            "InputTensor": {"DataType": None, "Sizes": None, "Strides": None, "Flags": None},
            "bindings": None,
        }
        self.assertEqual(self.text_of("run", json.dumps(document), "-i", "x.npy"), COLUMN_SUMS_TEXT)

    def test_null_in_an_array_of_bindings_is_an_entry(self):
        split = {"type": "SPLIT", "Axis": 0, "bindings": {"InputTensor": "x.npy"}}
        for outputs, printed in ([["a.npy", None, "b.npy"], 1], [[None, "a.npy", None], 0], [["a.npy", "b.npy", None], 2]):
            with self.subTest(outputs):
                split["bindings"]["OutputTensors"] = outputs
                text = self.text_of("run", json.dumps(split))
                self.assertIn(f"OutputTensors[{printed}]: (Sizes:{{1, 3}}", text)
                self.assert_same(self.load("a"), X[outputs.index("a.npy")][None])
        join = {"type": "JOIN", "Axis": 0, "bindings": {"InputTensors": ["x.npy", None]}}
        self.assertIn("InputTensors[1]", self.errors_of("run", json.dumps(join), status=2))

    def test_arguments_in_brackets(self):
        (self.folder / "x.npy").rename(self.folder / "[1]x.npy")
        self.run_program("run", SUM, "-i", "[1]x.npy", "-o", "[s].npy", "--report", "[r]")
        self.assertTrue({"[s].npy", "[r]"} <= set(self.files()))
        self.assertIn("dmlop: [z]: cannot be opened", self.errors_of("run", "[z]", status=5))

    def test_a_type_in_the_document_is_not_blamed_on_the_file(self):
        for member, column in (('"DataType": "FLOAT", "Sizes": [3, 3]', 72), ('"DataType": 5', 72), ('"Sizes": "x"', 69),
                               ('"Sizes": [3, -3]', 73)):
            with self.subTest(member):
                document = '{"type": "ELEMENT_WISE_IDENTITY", "desc": {"InputTensor": {' + member + "}}}"
                said = self.errors_of("run", document, "-i", "x.npy", status=3)
                self.assertIn(f"<command line>:1:{column}: error: /desc/InputTensor/", said)
                self.assertNotIn("x.npy", said)
                self.assertEqual(said.count("error:"), 1)

    def test_files_without_a_name_fill_the_tensors_in_order(self):
        self.save(a=X[:1], b=X[1:2], c=X[2:])
        three = '{"type": "JOIN", "Axis": 0, "InputCount": 3}'
        for inputs in (
            ["a.npy", "b.npy", "c.npy"],
            ["InputTensors/0=a.npy", "InputTensors/1=b.npy", "InputTensors/2=c.npy"],
            ["InputTensors[2]=c.npy", "InputTensors[0]=a.npy", "InputTensors[1]=b.npy"],
            ["InputTensors/1=b.npy", "a.npy", "c.npy"],
        ):
            with self.subTest(inputs):
                options = [a for name in inputs for a in ("-i", name)]
                self.run_program("run", three, *options, "-o", "OutputTensor=j.npy")
                self.assert_same(self.load("j"), X)

    def test_an_equals_sign_in_a_path_is_no_name(self):
        (self.folder / "x.npy").rename(self.folder / "a=b.npy")
        self.assertEqual(self.text_of("run", SUM, "-i", "./a=b.npy"), COLUMN_SUMS_TEXT)
        self.assertEqual(self.text_of("run", SUM, "-i", "InputTensor=a=b.npy"), COLUMN_SUMS_TEXT)

    def test_what_the_input_file_says_may_be_left_out(self):
        for desc in ({}, {"DataType": "FLOAT32"}, {"Sizes": [3, 3]}, {"Flags": "NONE"}):
            with self.subTest(desc):
                document = json.dumps({**json.loads(SUM), "InputTensor": desc})
                self.assertEqual(self.text_of("run", document, "-i", "x.npy"), COLUMN_SUMS_TEXT)

    def test_plain_numbers_say_their_type_and_shape(self):
        for values, desc, shown in [
            ([[1, 2], [3, 4]], {}, "(Sizes:{2, 2}, DataType:FLOAT32)\n[[1, 2],\n [3, 4]]\n"),
            ([1.5, "nan"], {}, "(Sizes:{2}, DataType:FLOAT32)\n[1.5, nan]\n"),
            ([1, 2, 3, 4], {"Sizes": [2, 2]}, "(Sizes:{2, 2}, DataType:FLOAT32)\n[[1, 2],\n [3, 4]]\n"),
            ([[1, 2]], {"DataType": "INT8"}, "(Sizes:{1, 2}, DataType:INT8)\n[[1, 2]]\n"),
            ({"value": 2}, {"Sizes": [3]}, "(Sizes:{3}, DataType:FLOAT32)\n[2, 2, 2]\n"),
        ]:
            document = {"type": "ELEMENT_WISE_IDENTITY", "InputTensor": desc, "bindings": {"InputTensor": values}}
            self.assertEqual(self.text_of("run", json.dumps(document)), "OutputTensor: " + shown)
        for values, message in [([[1, 2], [3]], "the array has 1 value; expected 2 [DOC-4]"),
                                ({"value": 2}, "'Sizes' is missing"), ([], "[BUF-3]")]:
            document = {"type": "ELEMENT_WISE_IDENTITY", "bindings": {"InputTensor": values}}
            self.assertIn(message, self.errors_of("run", json.dumps(document), status=3))

    def test_initializers_fill_the_places_of_a_buffer(self):
        """As in DxDispatch, elements that share a place have its value."""
        for sizes, strides, places in [([2, 3], [0, 1], 3), ([2, 3], [1, 1], 4), ([2, 2, 2], [4, 0, 1], 6), ([2, 2], [0, 0], 1)]:
            offsets = sum(s * i for s, i in zip(strides, np.indices(sizes)))
            for initializer, buffer in [
                ({"valueStart": 5, "valueDelta": 2}, 5 + 2 * np.arange(places)),
                ({"valueStart": 5, "valueDelta": 2, "valueCount": places}, 5 + 2 * np.arange(places)),
                ({"random": "integers", "seed": 3, "low": 0, "high": 99}, None),
            ]:
                desc = {"DataType": "INT32", "Sizes": sizes, "Strides": strides}
                document = {"type": "ELEMENT_WISE_IDENTITY", "InputTensor": desc, "bindings": {"InputTensor": initializer}}
                if buffer is None:
                    packed = document | {"InputTensor": {"DataType": "INT32", "Sizes": [places]}}
                    self.run_program("run", json.dumps(packed), "-o", "b.npy")
                    buffer = self.load("b")
                self.run_program("run", json.dumps(document), "-o", "y.npy")
                np.testing.assert_array_equal(self.load("y"), buffer[offsets])

    def test_a_stated_field_must_agree_with_the_file(self):
        for desc, message in (
            ({"DataType": "FLOAT16"}, "x.npy: has the data type FLOAT32; expected FLOAT16"),
            ({"Sizes": [9]}, "x.npy: has the shape {3, 3}; expected {9}"),
        ):
            document = json.dumps({**json.loads(SUM), "InputTensor": desc})
            self.assertIn(message, self.errors_of("run", document, "-i", "x.npy", status=4))

    def test_an_output_left_out_is_what_the_operator_implies(self):
        self.save(v=np.arange(1, 4, dtype="i2").reshape(1, 1, 3), a=X[:1], b=X[1:])
        for document, inputs, header in [
            (COPY, ["x.npy"], "OutputTensor: (Sizes:{3, 3}, DataType:FLOAT32)"),
            (SUM, ["x.npy"], "OutputTensor: (Sizes:{1, 3}, DataType:FLOAT32)"),
            (SUM.replace("SUM", "ARGMIN"), ["x.npy"], "OutputTensor: (Sizes:{1, 3}, DataType:UINT32)"),
            (JOIN, ["a.npy", "b.npy"], "OutputTensor: (Sizes:{3, 3}, DataType:FLOAT32)"),
            (UNFOLD, ["v.npy"], "OutputTensor: (Sizes:{1, 2, 3}, DataType:INT16)"),
            (THIRDS, ["x.npy"], "OutputTensors[0]: (Sizes:{1, 3}, DataType:FLOAT32)"),
        ]:
            with self.subTest(document):
                options = [a for name in inputs for a in ("-i", name)]
                text = self.text_of("run", document, *options)
                self.assertEqual(text.splitlines()[0], header)

    def test_an_output_may_leave_out_a_part(self):
        for desc in ({"Sizes": [1, 3]}, {"DataType": "FLOAT32"}, {"Strides": [3, 1]}, {}):
            document = json.dumps({**json.loads(SUM), "OutputTensor": desc})
            self.assertEqual(self.text_of("run", document, "-i", "x.npy"), COLUMN_SUMS_TEXT)

    def test_split_shares_out_equal_parts(self):
        for count_from in (["-o", "OutputTensors[2]=c.npy", "-o", "a.npy", "-o", "b.npy"],):
            self.run_program("run", THIRDS, "-i", "x.npy", *count_from)
            for name, row in zip("abc", X):
                self.assert_same(self.load(name), row[None])

    def test_an_output_that_is_bound_is_the_only_one(self):
        document = {"type": "RNN", "InputTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 1]},
                    "WeightTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 1]},
                    "RecurrenceTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 1]},
                    "ActivationDescs": [{"type": "ACTIVATION_IDENTITY"}], "Direction": "FORWARD",
                    "bindings": {"InputTensor": [2], "WeightTensor": [3], "RecurrenceTensor": [1]}}
        both = self.text_of("run", json.dumps(document))
        self.assertIn("OutputSequenceTensor", both)
        self.assertIn("OutputSingleTensor", both)
        done = self.run_program("run", json.dumps(document), "-o", "OutputSingleTensor=h.npy")
        self.assertNotIn(b"OutputSequenceTensor", done.stdout)

    def test_the_files_bound_say_how_many_tensors_an_array_has(self):
        self.save(a=X[:1], b=X[1:])
        joined = self.text_of("run", JOIN, "-i", "a.npy", "-i", "b.npy")
        self.assertIn("[[1, 2, 3],\n [3, 0, 4],\n [2, 4, 2]]", joined)
        halves = '{"type": "SPLIT", "Axis": 1}'
        self.run_program("run", halves, "-i", "x.npy", "-o", "p.npy", "-o", "q.npy", "-o", "r.npy")
        self.assert_same(self.load("q"), X[:, 1:2])

    def test_split_that_does_not_come_out_even_is_invalid(self):
        errors = self.errors_of("run", THIRDS.replace("3", "2"), "-i", "x.npy", status=3)
        self.assertIn("/OutputCount: ", errors)

    def test_inference_works_from_standard_input(self):
        np_bytes = (self.folder / "x.npy").read_bytes()
        self.assertEqual(self.text_of("run", SUM, "-i", "-", stdin=np_bytes), COLUMN_SUMS_TEXT)

    def test_feature_levels_have_three_spellings(self):
        for level in ("3_0", "3.0", "DML_FEATURE_LEVEL_3_0"):
            self.assertEqual(self.text_of("run", SUM, "-i", "x.npy", "-L", level), COLUMN_SUMS_TEXT)
            self.run_program("run", SUM.replace("SUM", "ARGMAX"), "-i", "x.npy", "-L", level)
        errors = self.errors_of("run", SUM, "-i", "x.npy", "-L", "2_1", status=3)
        self.assertIn("[FL-1]", errors)


if __name__ == "__main__":
    unittest.main()
