# SPDX-License-Identifier: Apache-2.0
"""Words from other libraries, typing errors, and files that are not what their names say."""

import json
import re
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import COLUMN_SUMS_TEXT, ROOT, SUM, X, ProgramTest

RUN = ["run", SUM, "-i", "x.npy"]


class CommandLineTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.save(x=X)
        self.write("sum.json", SUM)

    def test_slips(self):
        for arguments, message in [
            (["run", "--expct", "g.npy", SUM, "-i", "x.npy"], "there is no option '--expct' (did you mean '--expect'?)"),
            ([*RUN, "--ouput", "o.npy"], "there is no option '--ouput' (did you mean '--output'?)"),
            ([*RUN, "--ouput=o.npy"], "there is no option '--ouput' (did you mean '--output'?)"),
            (["run", "--frobnicate"], "there is no option '--frobnicate'\n"),
            (["compare", "x.npy", "x.npy", "--mpa"], "there is no option '--mpa' (did you mean '--map'?)"),
            (["--color", "never"], "a command is required behind '--color'\n"),
            (["run", "x.npy", "sum.json"],
             "'sum.json' is one argument too many; the descriptor is the first argument, and -i binds an input to a file\n"),
            (["run", "sum.json", "x.npy"], "'x.npy' is one argument too many; -i binds an input to a file\n"),
            (["run", "sum.json", "more"], "'more' is one argument too many\n(dmlop run --help lists the options)\n"),
            (["ops", "REDUCE", "JOIN"], "'JOIN' is one argument too many\n"),
            (["explain", "OutputTensor[0,1]", "sum.json", "-i", "x.npy"],
             "the descriptor comes before the element: dmlop explain sum.json 'OutputTensor[0,1]'\n"),
            (["hlep"], "there is no command 'hlep'"),
            ([*RUN, "--out", "y.npy"], "there is no option '--out' (did you mean '--output'?)\n"),
            (["run", SUM, "--inp", "x.npy"], "there is no option '--inp' (did you mean '--input'?)\n"),
            ([*RUN, "-xyz"], "there is no option '-x'\n"),
            ([*RUN, "-qx"], "there is no option '-x'\n"),
            ([*RUN, "--", "-x"], "'-x' is one argument too many\n"),
            (["run", "--", "sum.json", "--full"], "'--full' is one argument too many\n"),
            (["batch", "--", "a", "b"], "'b' is one argument too many; --output-path b writes to that folder, --check and --judge compare with it\n"),
            (["explain", SUM, "OutputTensor[0,0]", "-o", "y.png"], "there is no option '-o'\n"),
            (["show", "x.npy", "-i", "x.npy"], "there is no option '-i'\n"),
            ([*RUN, "--tolerance", "foo"], "--tolerance: 'foo' is not one of webnn, sums, sums=FLOAT32, sums=FLOAT16, noise\n"),
            ([*RUN, "-t"], "--threads needs a value: --threads N\n"),
            (["compare", "x.npy", "x.npy", "--ulp"], "--ulp needs a value: --ulp [TYPE=]N\n"),
            ([*RUN, "-t", "1", "-t", "2"], "--threads is given 2 times; it takes one value\n"),
            ([*RUN, "--sync=often"], "--sync takes no value\n"),
        ]:
            with self.subTest(arguments):
                self.assertIn(message, self.errors_of(*arguments, status=2))

    def test_no_value_is_empty(self):
        for command, options in (
                (["run", "m.json"], ["--report", "--keep-all", "--output-path", "--input-path", "--isa", "--keep", "-i"]),
                (["compare", "x.npy", "x.npy"], ["-o"]), (["explain", "m.json", "y[0]"], ["--dispatchable"]),
                (["bench", SUM], ["--baseline", "-o"]), (["ops"], ["--like"])):
            for option in options:
                with self.subTest(f"{command} {option}"):
                    self.assertIn(": the value is empty\n", self.errors_of(*command, option, "", status=2))

    def test_ways_of_other_programs(self):
        self.assertEqual(self.text_of("help"), self.text_of("--help"))
        self.assertEqual(self.text_of("help", "run"), self.text_of("run", "--help"))
        self.assertEqual(self.text_of("version"), self.text_of("--version"))
        for before in (["-q"], ["--quiet", "-v"], ["--color", "never"], ["-q", "--color=always"]):
            self.assertEqual(self.text_of(*before, *RUN), COLUMN_SUMS_TEXT)
        none = self.errors_of(status=2)
        self.assertIn("Subcommands:", none)
        self.assertTrue(none.endswith("dmlop: a command is required\n"))

    def test_text_with_something_before_its_brace(self):
        for before in ("\n", "  \t\n", "// a comment\n", "/* a comment */"):
            self.assertEqual(self.text_of("run", before + SUM, "-i", "x.npy"), COLUMN_SUMS_TEXT)


class OtherLibrariesTest(ProgramTest):
    def test_every_operator_has_a_row(self):
        rows = re.findall(r"^(\w+) \|", (ROOT / "core/ops/words/names.txt").read_text(), re.M)
        fields = (ROOT / "testdata/api/fields.tsv").read_text()
        self.assertEqual(sorted(rows), sorted(set(re.findall(r"^([A-Z]\w*)\t", fields, re.M))))


class NamesTest(ProgramTest):
    def test_other_names(self):
        copy = {"type": "ELEMENT_WISE_IDENTITY"}
        for document, message in [
            ({"type": "REDUCE", "Function": "MEAN"}, "'MEAN' is not a known name (did you mean 'AVERAGE'?)"),
            ({"type": "REDUCE", "Function": "PROD"}, "(did you mean 'MULTIPLY'?)"),
            ({"type": "REDUCE", "Function": "LOGSUMEXP"}, "(did you mean 'LOG_SUM_EXP'?)"),
            ({"type": "CONCAT"}, "(did you mean 'JOIN'?)"),
            ({"type": "im2col"}, "(did you mean 'UNFOLD'?)"),
            ({"type": "IDENTITY"}, "(did you mean 'ELEMENT_WISE_IDENTITY'?)"),
            ({"type": "REDUCE_SUM"}, """(did you mean 'REDUCE' with "Function": "SUM"?)"""),
            ({"type": "MEAN"}, """(did you mean 'REDUCE' with "Function": "AVERAGE"?)"""),
            ({"type": "prod"}, """(did you mean 'REDUCE' with "Function": "MULTIPLY"?)"""),
            (copy | {"InputTensor": {"dtype": "FLOAT32"}}, "'dtype' is not a known field (did you mean 'DataType'?)"),
            (copy | {"InputTensor": {"shape": [2]}}, "'shape' is not a known field (did you mean 'Sizes'?)"),
            (copy | {"InputTensor": {"Szies": [2]}}, "(did you mean 'Sizes'?)"),
            ({"type": "REDUCE", "dim": 1}, "/dim: 'dim' is not a known field (did you mean 'Axes'?)"),
            ({"type": "JOIN", "dim": 1}, "/dim: 'dim' is not a known field (did you mean 'Axis'?)"),
            ({"type": "REDUCE", "keepdims": 1}, "'keepdims' is not a known field; the dimensions that are reduced are always kept"),
            ({"type": "REDUCE", "Func": "SUM"}, "(did you mean 'Function'?)"),
            *((copy | {"InputTensor": {"DataType": word}}, f"'{word}' is not a known name (did you mean '{name}'?)")
              for word, name in (("FLOAT", "FLOAT32"), ("f32", "FLOAT32"), ("DOUBLE", "FLOAT64"), ("HALF", "FLOAT16"),
                                 ("fp16", "FLOAT16"), ("BOOL", "UINT8"), ("INT", "INT32"), ("UINT", "UINT32"), ("long", "INT64"))),
        ]:
            with self.subTest(document):
                self.assertIn(message, self.errors_of("validate", json.dumps(document), status=3))
        for path, said in (("shaders/hlsl_add_fp16.hlsl", "does not run; ELEMENT_WISE_ADD does what its name says"), ("hlsl_frob.hlsl", "does not run [DISP-1]")):
            shader = {"resources": {}, "dispatchables": {"s": {"type": "hlsl", "sourcePath": path}}, "commands": []}
            self.assertIn(said, self.errors_of("validate", json.dumps(shader), status=3))
        other = copy | {"InputTensor": {"DataType": "BFLOAT16", "Sizes": [1]}}
        said = self.errors_of("validate", json.dumps(other), status=3)
        self.assertNotIn("did you mean", said)  # that would be another format


TENSOR = {"DataType": "FLOAT32", "Sizes": [2]}
LSTM = {"type": "LSTM", "Direction": "FORWARD", "ClipThreshold": 0, "UseClipThreshold": False, "CoupleInputForget": False,
        "InputTensor": {"DataType": "FLOAT32", "Sizes": [1, 3, 2, 4]},
        "WeightTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 32, 4]},
        "RecurrenceTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 32, 8]}}
ADD1 = {"type": "ELEMENT_WISE_ADD1", "ATensor": TENSOR, "BTensor": TENSOR}
COPY_OF_TWO = {"type": "ELEMENT_WISE_IDENTITY", "InputTensor": TENSOR}


def model(resources=("A", "B"), dispatchable="copy", bound="A"):
    return {"resources": {name: {"initialValuesDataType": "FLOAT32", "initialValues": [1, 2]} for name in resources},
            "dispatchables": {"copy": COPY_OF_TWO | {"OutputTensor": TENSOR}},
            "commands": [{"type": "dispatch", "dispatchable": dispatchable,
                          "bindings": {"InputTensor": bound, "OutputTensor": resources[1]}}]}


class PlaceTest(ProgramTest):
    """Each proposal fits the place for which it is made."""

    def messages_of(self, document, *arguments, status=3):
        said = self.errors_of(*arguments or ("validate",), json.dumps(document), status=status)
        return [line for line in said.splitlines() if " error: " in line]

    def test_what_is_proposed_fits_the_place(self):
        sixty = [f"resource{i:02}" for i in range(60)]
        for document, message in [
            *((LSTM | {"ActivationDescs": [{"type": word}] * 3}, f"'{word}' is not a known name (did you mean '{name}'?)")
              for word, name in (("TANH", "ACTIVATION_TANH"), ("SIGMOID", "ACTIVATION_SIGMOID"), ("selu", "ACTIVATION_SCALED_ELU"),
                                 ("ACTIVATION_TAHN", "ACTIVATION_TANH"))),
            (LSTM | {"ActivationDescs": [{"type": "ELEMENT_WISE_TANH"}] * 3},
             "ELEMENT_WISE_TANH cannot be fused (did you mean 'ACTIVATION_TANH'?) [FUS-2]"),
            (ADD1 | {"FusedActivation": {"type": "GEMM"}}, "GEMM cannot be fused; expected one of ACTIVATION_"),
            (ADD1 | {"FusedActivation": {"type": "frobnicate"}}, "'frobnicate' is not a known name; expected one of ACTIVATION_"),
            ({"type": "CONVOLUTION", "padding": 1},
             "'padding' is not a known field; expected one of StartPadding, EndPadding, OutputPadding, InputTensor, FilterTensor, "),
            ({"type": "GEMM", "InputTensor": TENSOR}, "expected one of ATensor, BTensor, CTensor, OutputTensor, TransA, "),
            (COPY_OF_TWO | {"frobnicate": 1}, "; expected one of InputTensor, OutputTensor, ScaleBias, type, desc, bindings, "),
            (model(bound="C"), "there is no resource 'C'; expected one of A, B [JSON-6]"),
            (model(dispatchable="q"), "there is no dispatchable 'q'; expected one of copy [JSON-6]"),
            (model(dispatchable="cpy"), "there is no dispatchable 'cpy' (did you mean 'copy'?)"),
            (model(sixty, bound="x"), f"expected one of {', '.join(sixty[:20])} and 40 more [JSON-6]"),
        ]:
            with self.subTest(message):
                self.assertTrue(any(message in line for line in self.messages_of(document)), self.messages_of(document))

    def test_a_name_in_place_of_another_is_one_fault(self):
        for document, message in [
            ({"op": "GATHER"}, "/type: 'type' is missing (did you write 'op' for 'type'?) [JSON-2]"),
            ({"tpye": "GATHER"}, "(did you write 'tpye' for 'type'?)"),
            ({**model(), "comands": [], "commands": None}, "/commands: null"),
            ({key if key != "commands" else "comands": value for key, value in model().items()},
             "/commands: 'commands' is missing (did you write 'comands' for 'commands'?) [JSON-2]"),
            (model() | {"commands": [{"typ": "print", "resource": "A"}]}, "(did you write 'typ' for 'type'?)"),
            (model() | {"commands": [{"type": "print", "resorce": "A"}]}, "(did you write 'resorce' for 'resource'?)"),
        ]:
            with self.subTest(message):
                self.assertEqual([message in line for line in self.messages_of(document)], [True])

    def test_values_of_another_kind(self):
        gemm = {"type": "GEMM", "ATensor": {"DataType": "FLOAT32", "Sizes": [2, 2]},
                "BTensor": {"DataType": "FLOAT32", "Sizes": [2, 2]}, "TransA": "NONE", "TransB": "NONE", "Alpha": 1, "Beta": 0}
        sum_of_two = {"type": "REDUCE", "Function": "SUM", "Axes": [0], "InputTensor": TENSOR}
        for document, message in [
            (ADD1 | {"FusedActivation": "RELU"},
             """/FusedActivation: expected an object ({"type": "ACTIVATION_RELU"}), found a string [DOC-1]"""),
            (sum_of_two | {"Axes": 1}, "/Axes: expected an array ([1]), found an integer [DOC-1]"),
            (sum_of_two | {"Function": 3}, "/Function: expected a string (one of ARGMAX, ARGMIN, AVERAGE, L1, "),
            (gemm | {"TransA": True}, "/TransA: expected a string (one of NONE, TRANSPOSE), found a boolean [DOC-1]"),
            (COPY_OF_TWO | {"InputTensor": [1, 2]},
             """/InputTensor: expected an object ({"DataType": "FLOAT32", "Sizes": [2, 3]}), found an array [DOC-1]"""),
            (COPY_OF_TWO | {"ScaleBias": 2}, """expected an object ({"Scale": 1, "Bias": 1}), found an integer"""),
            (LSTM | {"ActivationDescs": [{"type": "ACTIVATION_TANH"}] * 3, "UseClipThreshold": 0},
             "/UseClipThreshold: expected a boolean (true or false), found an integer"),
            ({"type": "JOIN", "Axis": 0, "InputTensors": TENSOR}, "/InputTensors: expected an array ([{...}]), found an object"),
            ({"type": "JOIN", "Axis": 0, "InputTensors": [TENSOR], "bindings": {"InputTensors": "x.npy"}},
             """/bindings/InputTensors: expected an array (["x.npy"]), found a string"""),
        ]:
            with self.subTest(message):
                found = self.messages_of(document)
                self.assertEqual([message in line for line in found], [True], found)

    def test_words_of_other_notations(self):
        for word, here in (("NaN", '"nan"'), ("nan", '"nan"'), ("Infinity", '"inf"'), ("-Infinity", '"-inf"'), ("inf", '"inf"'),
                           ("-inf", '"-inf"'), ("True", "true"), ("False", "false"), ("None", "null")):
            document = '{"type": "ELEMENT_WISE_IDENTITY", "bindings": {"InputTensor": [1, %s]}}' % word
            said = self.errors_of("validate", document, status=3)
            self.assertIn(f"error: not well-formed JSON: expected a value, found '{word}'; write {here} [JSON-1]\n", said)

    def test_an_operator_in_place_of_a_descriptor(self):
        commands = [["run"], ["validate"], ["bench"], ["explain"], ["run", "-i", "x.npy"], ["batch"], ["batch", "--check"],
                    ["batch", "--expand"], *([command, "--line", "2"] for command in ("run", "validate", "explain", "batch"))]
        for word, message in [
            ("GEMM", """; the operator GEMM is written {"type": "GEMM", ...}, and 'dmlop ops GEMM' lists its fields\n"""),
            ("gemm", "; the operator GEMM is written"),
            ("DML_OPERATOR_GEMM", "; the operator GEMM is written"),
            ("conv2d", "; the operator CONVOLUTION is written"),
            ("CONVOLUTON", "; 'dmlop ops' lists the operators (did you mean 'CONVOLUTION'?)\n"),
            ("frobnicate", "frobnicate: cannot be opened: No such file or directory\n"),
            ("gemm.json", "gemm.json: cannot be opened: No such file or directory\n"),
        ]:
            for command, *options in commands:
                with self.subTest(word, command=command):
                    element = ["OutputTensor[0]"] if command == "explain" else []
                    self.assertIn(message, self.errors_of(command, word, *element, *options, status=5))

    def test_elements_that_may_be_repeated(self):
        """As NumPy broadcasts: the strides are told that make the values, or the file, fit."""
        tensor = {"DataType": "FLOAT32", "Sizes": [3, 4]}
        add = {"type": "ELEMENT_WISE_ADD", "ATensor": tensor, "BTensor": tensor, "OutputTensor": tensor}
        self.save(a=np.arange(12, dtype="f4").reshape(3, 4))
        for values, strides in (([1], [0, 0]), ([[1]], [0, 0]), ([1, 2, 3, 4], [0, 1]), ([[1, 2, 3, 4]], [0, 1]), ([[1], [2], [3]], [1, 0]),
                                ([1, 2, 3], None), ([[1, 2]], None), ([[[1]]], None)):
            with self.subTest(values):
                b = np.array(values, "f4")
                self.save(b=b)
                hint = f'; "Strides": {strides} repeat it'
                for way in (values, "b.npy"):
                    document = json.dumps(add | {"bindings": {"ATensor": "a.npy", "BTensor": way}})
                    said = self.errors_of("run", document, status=4 if way == "b.npy" else 3)
                    self.assertEqual(said.count("repeat it"), strides is not None, said)
                    if strides is None:
                        continue
                    self.assertIn(hint, said)
                    repeated = json.loads(document)
                    repeated["BTensor"] = tensor | {"Strides": strides}
                    self.run_program("run", json.dumps(repeated), "-o", "y.npy")
                    self.assert_same(self.load("y"), self.load("a") + b)
        wrong = add | {"bindings": {"ATensor": "a.npy", "BTensor": [1]}, "expect": {"OutputTensor": [1]}}
        self.assertEqual(self.errors_of("run", json.dumps(wrong), status=3).count("repeat it"), 1)
        strided = add | {"BTensor": tensor | {"Strides": [8, 1]}, "bindings": {"ATensor": "a.npy", "BTensor": [1]}}
        self.assertNotIn("repeat it", self.errors_of("run", json.dumps(strided), status=3))

    def test_what_values_imply(self):
        gather = {"type": "GATHER", "Axis": 0, "IndexDimensions": 1,
                  "bindings": {"InputTensor": [1, 2, 3], "IndicesTensor": [0, 2, 1]}}
        found = self.messages_of(gather, "run")
        self.assertEqual(len(found), 1)
        written = """(the values of IndicesTensor are FLOAT32, as they have no DataType; write "IndicesTensor": """
        self.assertIn("""/IndicesTensor/DataType: FLOAT32 is not supported by GATHER at""", found[0])
        self.assertIn(f"""{written}{{"DataType": "INT32"}}) [FL-1]""", found[0])
        self.text_of("run", json.dumps(gather | {"IndicesTensor": {"DataType": "INT32"}}))
        add = {"type": "ELEMENT_WISE_ADD", "ATensor": {"DataType": "INT8", "Sizes": [2]},
               "bindings": {"ATensor": [1, 2], "BTensor": [3, 4]}}
        self.assertIn("""write "BTensor": {"DataType": "INT8"}) [""", "\n".join(self.messages_of(add, "run")))
        short = {"type": "ELEMENT_WISE_ADD", "bindings": {"ATensor": [1, 2], "BTensor": [3, 4, 5]}}
        self.assertIn("(BTensor has the shape of its values) [ELW-1]", "\n".join(self.messages_of(short, "run")))


class CaseOfLettersTest(ProgramTest):
    def test_words_of_options(self):
        self.save(x=X)
        self.write("x.bin", X.tobytes())
        for words, others in [
            (["show", "x.bin", "--type", "FLOAT32", "--sizes", "3,3"], ["show", "x.bin", "--type", "float32", "--sizes", "3x3"]),
            (["show", "x.npy", "--format", "json"], ["show", "x.npy", "--format", "JSON"]),
            (["compare", "x.npy", "x.npy", "--ulp", "FLOAT32=1"], ["compare", "x.npy", "x.npy", "--ulp", "Float32=1"]),
            ([*RUN, "-L", "DML_FEATURE_LEVEL_5_0"], [*RUN, "-L", "dml_feature_level_5_0"]),
            ([*RUN, "--isa", "portable"], [*RUN, "--isa", "Portable"]),
            (["ops", "GEMM"], ["ops", "gemm"]),
        ]:
            with self.subTest(others):
                self.assertEqual(self.text_of(*words), self.text_of(*others))

    def test_words_of_documents_are_those_of_the_header(self):
        said = self.errors_of("validate", json.dumps(COPY_OF_TWO | {"InputTensor": TENSOR | {"DataType": "float32"}}), status=3)
        self.assertIn("'float32' is not a known name (did you mean 'FLOAT32'?)", said)


class CauseTest(ProgramTest):
    """Messages name the cause, not its consequences, and the file that is at fault."""

    def setUp(self):
        super().setUp()
        self.save(x=X, i=np.ones((3, 3), "i8"), b=np.ones((3, 3), bool), short=X[:2])

    def test_axes_as_in_numpy(self):
        for document, message in [
            ({"type": "REDUCE", "Function": "SUM", "Axes": [0, -1]},
             "/Axes/1: -1 is not an axis; axes are counted from 0, and NumPy's axis -1 of the 2 that InputTensor has is axis 1 "
             "(InputTensor is x.npy) [DOC-2]"),
            ({"type": "REDUCE", "Function": "SUM", "Axes": [-10**60]},
             "/Axes/0: -1000000000000000000... (62 characters) is out of range for UINT32 [0, 4294967295]"),
            ({"type": "REDUCE", "Function": "SUM", "Axes": [-4]}, "axes are counted from 0, and InputTensor has 2"),
            ({"type": "JOIN", "Axis": -2, "InputTensors": [{"DataType": "FLOAT32", "Sizes": [1, 2, 3]}]},
             "NumPy's axis -2 of the 3 that InputTensors[0] has is axis 1 [DOC-2]"),
        ]:
            said = self.errors_of("run", json.dumps(document), "-i", "x.npy", status=3)
            self.assertIn(message, said)
            self.assertEqual(said.count("error:"), 1)
        said = self.errors_of("validate", '{"type": "JOIN", "Axis": -1}', status=3)
        self.assertIn("axes are counted from 0, and the last of n is n - 1", said)

    def test_a_slip_hides_what_follows_from_it(self):
        tensor = {"DataType": "FLOAT32", "Sizes": [2]}
        for document, message in [
            ({"type": "JOIN", "Axi": 0, "InputTensors": [tensor]}, "/Axi: 'Axi' is not a known field (did you mean 'Axis'?)"),
            ({"type": "JOIN", "Axis": 0, "InputTensors": [{"dtype": "FLOAT32", "Sizes": [2]}]}, "/InputTensors/0/dtype: "),
            (json.loads(SUM) | {"bindings": {"Input": "x.npy"}}, "/bindings/Input: 'Input' is not a known field"),
            (json.loads(SUM) | {"bindings": {"InputTenso": [1]}}, "(did you mean 'InputTensor'?)"),
            ({"type": "REDUCE", "sweep": {"/Function": ["SUM", "MAX"]}},
             "/sweep: 'sweep' is not a known field; 'dmlop batch FILE --expand' makes a manifest of a sweep [JSON-3]"),
        ]:
            said = self.errors_of("run", json.dumps(document), status=3)
            self.assertIn(message, said)
            self.assertEqual(said.count("error:"), 1, said)

    def test_a_line_is_shown_once(self):
        said = self.errors_of("validate", '{"type": "UNFOLD", "InputTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 4, 4]}}',
                              status=3)
        self.assertEqual((said.count("error:"), said.count(" | ")), (5, 2))

    def test_files_are_named(self):
        join, add = '{"type": "JOIN", "Axis": 1}', '{"type": "ELEMENT_WISE_ADD"}'
        for arguments, message in [
            ([SUM, "-i", "b.npy"], "<command line>: error: /InputTensor/DataType: UINT8 is not supported by REDUCE SUM"),
            ([SUM, "-i", "b.npy"], " (InputTensor is b.npy, of bool) [FL-1]\n"),
            ([join, "-i", "x.npy", "-i", "i.npy"], "INT64 does not match FLOAT32 of InputTensors[0] "
             "(InputTensors[0] is x.npy; InputTensors[1] is i.npy) [JOIN-3]\n"),
            ([join, "-i", "x.npy", "-i", "short.npy"], "/InputTensors/1/Sizes: Sizes are {2, 3}; expected {3, 3} "
             "(InputTensors[1] is short.npy)"),
            ([add, "-i", "x.npy", "-i", "short.npy"], "(BTensor is short.npy) [ELW-1]\n"),
            ([add[:-1] + ', "bindings": {"ATensor": "x.npy", "BTensor": "i.npy"}}'],
             "<command line>:1:74: error: /BTensor/DataType: INT64 does not match FLOAT32 of ATensor "
             "(ATensor is x.npy; BTensor is i.npy)"),
        ]:
            self.assertIn(message, self.errors_of("run", *arguments, status=3))
        stated = '{"type": "ELEMENT_WISE_IDENTITY", "InputTensor": {"DataType": "FLOAT32", "Sizes": [3, 3]}}'
        self.assertIn("b.npy: has the data type bool, which is taken for UINT8; expected FLOAT32",
                      self.errors_of("run", stated, "-i", "b.npy", status=4))


class ContentTest(ProgramTest):
    CASES = [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "a Git LFS pointer; git lfs pull fetches the file"),
        (b"PK\x03\x04" + bytes(30), "a zip archive, as .npz files are"),
        (b"PK\x05\x06" + bytes(18), "an empty zip archive"),
        (b"\x08\x08\x12\x07pytorch\x1a\x052.0.0:\x9a\x02\n\x20\n\x05input", "an ONNX model"),
        (b"\x08\x0a:\xb2\x01\n'\n\x01x\n\x01y", "an ONNX model"),
        (b"\x1f\x8b\x08" + bytes(30), "a gzip file"),
        (b"\x80\x04\x95" + bytes(30), "a pickle of Python"),
        (b"<!DOCTYPE html>", "an HTML page"),
        ('{"type": 1}'.encode("utf-16"), "text in UTF-16; it has to be UTF-8"),
        ('{"type": 1}'.encode("utf-16-le"), "text in UTF-16; it has to be UTF-8"),
        ('{"type": 1}'.encode("utf-16-be"), "text in UTF-16; it has to be UTF-8"),
    ]

    def test_what_is_no_npy_file(self):
        for content, kind in [*self.CASES, (b"", "empty")]:
            self.write("x.npy", content)
            self.assertEqual(self.errors_of("show", "x.npy", status=4), f"dmlop: x.npy: is not a .npy file, but {kind}\n")

    def test_what_is_no_document(self):
        self.save(x=X)
        npy = (self.folder / "x.npy").read_bytes()
        for content, kind in [*self.CASES, (npy, "a .npy file")]:
            self.write("d.json", content)
            for command in ("run", "validate", "bench"):
                said = self.errors_of(command, "d.json", status=3)
                self.assertTrue(said.endswith(f": error: not JSON, but {kind} [JSON-1]\n"), said)  # without the file's bytes

    def test_bytes_that_are_no_text_stay_off_the_screen(self):
        for seed in range(8):
            self.write("d.json", np.random.default_rng(seed).bytes(300))
            said = self.errors_of("run", "d.json", status=3)
            self.assertEqual((said.count("\n"), said.count("error: not well-formed JSON: ")), (1, 1), said)

    def test_files_of_other_kinds_are_called_what_they_are(self):
        known = "; the known extensions are .npy, .pb, .bin, .dat, .raw, .png, .jpg, .jpeg and, of archives, .npz:NAME\n"
        for name, kind in [("m.onnx", "is an ONNX model"), ("M.ONNX", "is an ONNX model"), ("x.csv", "is text"),
                           ("x.txt", "is text"),
                           ("d.json", "is a JSON document"), ("x", "unknown kind of file"), ("x.tensor", "unknown kind of file")]:
            self.write(name, b"1, 2")
            for arguments in (["show", name], ["run", SUM, "-i", name], ["compare", name, name],
                              ["run", SUM, "-i", "x.npy", "-o", name]):
                if arguments == ["show", "m.onnx"] or arguments == ["show", "M.ONNX"]:
                    continue  # lists the model
                self.save(x=X)
                self.assertIn(f"{name}: {kind}{known}", self.errors_of(*arguments, status=2))

    def test_several_files_behind_one_option(self):
        join = '{"type": "JOIN", "Axis": 0}'
        self.save(a=X, b=X + 1, c=X + 2)
        np.savez(self.folder / "all.npz", b=X + 1)
        self.write("c.bin", b"\0" * 8 + (X + 2).tobytes())
        typed = json.dumps({"type": "JOIN", "Axis": 0, "InputTensors": [{"DataType": "FLOAT32", "Sizes": [3, 3]}] * 3})
        for document, files in [(join, ["-i", "a.npy", "b.npy", "c.npy"]), (join, ["--input", "a.npy", "all.npz:b", "-i", "c.npy"]),
                                (join, ["-i", "InputTensors/2=c.npy", "a.npy", "InputTensors[1]=b.npy"]),
                                (typed, ["-i", "a.npy", "b.npy", "c.bin@8"])]:
            self.run_program("run", document, *files, "-o", "y.npy")
            self.assert_same(self.load("y"), np.concatenate([X, X + 1, X + 2]))
            self.run_program("run", *files, document, "-e", "y.npy")
        self.assertIn("'c' is one argument too many", self.errors_of("run", join, "-i", "a.npy", "b.npy", "c", status=2))

    def test_an_index_that_is_no_number_is_a_wrong_command_line(self):
        join = '{"type": "JOIN", "Axis": 0, "InputTensors": [{"DataType": "FLOAT32", "Sizes": [3, 3]}]}'
        bare = '{"type": "JOIN", "Axis": 0}'  # has as many inputs as there are files
        self.save(x=X)
        for option, role, name in [("-i", "input", "InputTensors/a"), ("-i", "input", "InputTensors/"), ("-i", "input", "InputTensors/0/1"),
                                   ("-i", "input", "InputTensors[a]"), ("-i", "input", "InputTensors/-1"),
                                   ("-o", "output", "OutputTensor/a"), ("-e", "output", "OutputTensor/a"),
                                   ("--judge", "output", "OutputTensor[x]"), ("--judge", "output", "OutputTensor/0")]:
            bound = ["-i", "x.npy"] if option != "-i" else []
            for document in (join, bare):
                said = self.errors_of("run", document, *bound, option, f"{name}=x.npy", status=2)
                self.assertIn(f"JOIN has no {role} '", said)
                self.assertIn(f"a file of that name is written ./{name}=x.npy", said)
        for option in ("-i", "-o", "-e", "--judge"):
            self.assertIn("names no file", self.errors_of("run", join, option, "InputTensors/0=", status=2))

    def header(self, **fields):
        text = "{" + ", ".join(f"'{key}': {value}" for key, value in fields.items()) + "}"
        return b"\x93NUMPY\x01\x00" + (len(text) + 1).to_bytes(2, "little") + text.encode() + b"\n"

    def test_bfloat16_as_ml_dtypes_saves_it(self):
        """The upper halves of FLOAT32 numbers, which show and compare convert; DirectML has no such type."""
        values = np.array([[1, -2.5, 0.15625], [3e38, np.inf, 0]], "f4")
        halves = (values.view("u4") >> 16).astype("u2")
        values = (halves.astype("u4") << 16).view("f4")
        self.save(y=values)
        for descr, order in (("'<V2'", "<"), ("'|V2'", "<"), ("'bfloat16'", "<"), ("'>V2'", ">")):
            for padding in ("", " " * 3):  # data at any alignment
                self.write("x.npy", self.header(descr=descr, fortran_order="False" + padding, shape=(2, 3)) +
                           halves.astype(order + "u2").tobytes())
                shown = json.loads(self.text_of("show", "x.npy", "--format", "json"))
                self.assertEqual((shown["dataType"], shown["values"][0]), ("FLOAT32", values[0].tolist()))
                self.run_program("compare", "x.npy", "y.npy", "--bits")
                self.run_program("compare", "-", "y.npy", "--bits", stdin=(self.folder / "x.npy").read_bytes())
        said = self.errors_of("run", SUM, "-i", "x.npy", status=4)
        self.assertIn("has dtype '>V2', which is no DirectML data type (bfloat16 is saved so; save it as float32)", said)
        big = np.random.default_rng(1).integers(0, 2**15 - 2**8, 1_500_000).astype("u2")
        self.write("x.npy", self.header(descr="'<V2'", fortran_order=False, shape=(1_500_000,)) + big.tobytes())
        self.save(y=(big.astype("u4") << 16).view("f4"))
        self.run_program("compare", "x.npy", "y.npy", "--bits")

    def test_bfloat16_is_a_type_of_its_own(self):
        """What is computed is rounded to it once, and ULP are its own, wherever a device's file may stand."""
        x = np.array([1, 1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-8 + 2.0**-20, -3e38, 1e-40, np.nan, 0], "f4")
        bits = x.view("u4").astype("u8")
        rounded = np.where(np.isnan(x), 0x7FC0, (bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("u2")
        case = {"type": "ELEMENT_WISE_IDENTITY", "bindings": {"InputTensor": "x.npy", "OutputTensor": "y.npy"}}
        self.save(x=x, wide=x.astype("f8"), half=x[:1].astype("f2"))
        self.write("cases.jsonl", json.dumps(case))
        for descr in ("'<V2'", "'bfloat16'"):
            for steps in (0, 1, 2):
                stored = rounded.copy()
                stored[2] += steps
                self.write("y.npy", self.header(descr=descr, fortran_order=False, shape=(8,)) + stored.tobytes())
                for ulp in (0, 1):
                    status = int(steps > ulp)
                    for command in (["run", json.dumps(case), "--judge", "y.npy"], ["run", json.dumps(case), "-e", "y.npy"],
                                    ["compare", "y.npy", "x.npy"], ["compare", "x.npy", "y.npy"],
                                    ["compare", "y.npy", "wide.npy", "--any-floats"], ["compare", "y.npy", "y.npy"],
                                    ["batch", "cases.jsonl", "--judge"], ["batch", "cases.jsonl", "--check"]):
                        passes = command == ["compare", "y.npy", "y.npy"] or not status
                        self.run_program(*command, "--ulp", str(ulp), status=0 if passes else 1)
        for command in (["compare", "y.npy", "x.npy"], ["run", json.dumps(case), "--judge", "y.npy"]):
            figures = json.loads(self.text_of(*command, "--format", "json", status=1))
            figures = figures["comparisons"][0] if "comparisons" in figures else figures
            self.assertEqual((figures["dataType"], figures["differenceCount"], figures["maxUlpError"],
                              figures["worst"]["index"], figures["worst"]["ulpError"], figures["smallestPassingUlp"]),
                             ("BFLOAT16", 1, 2, [2], 2, 2))
        self.assertEqual([row["count"] for row in json.loads(self.text_of(
            "compare", "y.npy", "x.npy", "--format", "json", status=1))["ulpHistogram"]], [7, 1])
        self.write("y.npy", self.header(descr="'<V2'", fortran_order=False, shape=(1,)) + rounded[:1].tobytes())
        self.assertIn("actual BFLOAT16, expected FLOAT16", self.text_of("compare", "y.npy", "half.npy", status=1))

    def test_headers_of_others(self):
        data = np.arange(6, dtype="f4")
        for descr, shape in [("'<f4'", "(2L, 3L)"), ("'<f4'", "(2L,3L,)"), ("'float32'", "(2, 3)"), ("'<f4'", "(2, 3)")]:
            self.write("x.npy", self.header(descr=descr, fortran_order=False, shape=shape) + data.tobytes())
            self.assertIn("[[0, 1, 2],\n [3, 4, 5]]", self.text_of("show", "x.npy"))
        for descr, shape, message in [
            ("'|V1'", "(3,)", "(float8 is saved so; save it as float16)"),
            ("'<c8'", "(3,)", "has dtype '<c8', which is no DirectML data type\n"),
            ("'<f4'", "(np.int64(2), 3)", "'shape' is not a tuple of sizes: (np.int64(2), 3)\n"),
            ("'<f4\0'", "(6,)", "not a valid .npy header: a zero byte in the dictionary\n"),
            ("'<f4'", "(6)", "'shape' is not a tuple of sizes: (6)\n"),
            ("'<f4'", "(2,-3)", "'shape' is not a tuple of sizes: (2,-3)\n"),
        ]:
            with self.subTest(descr=descr, shape=shape):
                self.write("x.npy", self.header(descr=descr, fortran_order=False, shape=shape) + data.tobytes())
                self.assertIn(message, self.errors_of("show", "x.npy", status=4))


if __name__ == "__main__":
    unittest.main()
