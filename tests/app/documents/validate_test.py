# SPDX-License-Identifier: Apache-2.0
"""dmlop validate: every fault and its place, the verdict as JSON, and the completed descriptor."""

import json
import os
import re
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import (COPY, ROOT, SUM, THIRDS, X, ProgramTest, cases_by_file, documents_in, in_turn,
                     parsed, start)

VALID = '{"type": "REDUCE", "Function": "SUM", "Axes": [0], "InputTensor": {"DataType": "FLOAT32", "Sizes": [3, 3]}}'
MODELS = ROOT / "testdata/models"


def recurrent(activation):
    one = {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 1]}
    return json.dumps({"type": "RNN", "InputTensor": one, "WeightTensor": one, "RecurrenceTensor": one,
                       "Direction": "FORWARD", "ActivationDescs": [activation]})


LONG = 1_000_000  # characters of two bytes each

# The place of a fault: a document, and the complete message.
PLACES = [
    ("the first line", '{"typ": 1, "type": "ELEMENT_WISE_IDENTITY",\n "InputTensor": {"DataType": "INT8", "Sizes": [1]}}',
     """1:2: error: /typ: 'typ' is not a known field (did you mean 'type'?) [JSON-3]
    1 | {"typ": 1, "type": "ELEMENT_WISE_IDENTITY",
      |  ^
"""),
    ("the last line", '{"type": "ELEMENT_WISE_IDENTITY",\n "InputTensor": {"DataType": "INT8", "Sizes": [1]}\n, "last": 1}',
     """3:3: error: /last: 'last' is not a known field; expected one of InputTensor, OutputTensor, ScaleBias, type, desc, bindings, name, expect, tolerance, $schema [JSON-3]
    3 | , "last": 1}
      |   ^
"""),
    ("nested arrays", '{"type": "ELEMENT_WISE_IDENTITY", "InputTensor": {"DataType": "INT8", "Sizes": [2, 2]},\n'
                      ' "bindings": {"InputTensor": [[1, 2], [3, 400]]}}',
     """2:43: error: /bindings/InputTensor/1/1: 400 is out of range for INT8 [-128, 127] [DOC-2]
    2 |  "bindings": {"InputTensor": [[1, 2], [3, 400]]}}
      |                                           ^
"""),
    ("tabs", '{"type": "ELEMENT_WISE_IDENTITY",\n\t"InputTensor":\t{"DataType": "INT8", "Sizes": [0]}}',
     """2:48: error: /InputTensor/Sizes/0: a size of 0 is not allowed; sizes start at 1 [BUF-3]
    2 | \t"InputTensor":\t{"DataType": "INT8", "Sizes": [0]}}
      | \t              \t                               ^
"""),
    ("characters of two, three and four bytes", '{"type": "ELEMENT_WISE_IDENTITY", "InputTensor": {"DataType": "INT8", "Sizes": [1]},\n'
                                                '/* \u00e9\u20ac\U0001f600 */ "\u00f6": 1}',
     """2:11: error: /\u00f6: '\u00f6' is not a known field; expected one of InputTensor, OutputTensor, ScaleBias, type, desc, bindings, name, expect, tolerance, $schema [JSON-3]
    2 | /* \u00e9\u20ac\U0001f600 */ "\u00f6": 1}
      |            ^
"""),
    ("wide characters and one that combines", '{"type": "ELEMENT_WISE_IDENTITY", "InputTensor": {"DataType": "INT8", "Sizes": [1]},\n'
                                              '/* \u65e5\u672c\u8a9e e\u0301 */ "x": 1}',
     """2:14: error: /x: 'x' is not a known field; expected one of InputTensor, OutputTensor, ScaleBias, type, desc, bindings, name, expect, tolerance, $schema [JSON-3]
    2 | /* \u65e5\u672c\u8a9e e\u0301 */ "x": 1}
      |                ^
"""),
    ("two faults in one line", '{"type": "ELEMENT_WISE_IDENTITY",\n "InputTensor": {"DataType": "INT9", "Sizes": [1, -1]}}',
     """2:30: error: /InputTensor/DataType: 'INT9' is not a known name (did you mean 'INT8'?) [JSON-3]
    2 |  "InputTensor": {"DataType": "INT9", "Sizes": [1, -1]}}
      |                              ^
2:51: error: /InputTensor/Sizes/1: -1 is out of range for UINT32 [0, 4294967295] [DOC-2]
    2 |  "InputTensor": {"DataType": "INT9", "Sizes": [1, -1]}}
      |                                                   ^
"""),
    ("a line of two megabytes", '{"type": "ELEMENT_WISE_IDENTITY", /*' + "\u00e9" * LONG + '*/ "InputTensor": {"DataType": "INT8", "Sizes": [0]}}',
     f"""1:{LONG + 86}: error: /InputTensor/Sizes/0: a size of 0 is not allowed; sizes start at 1 [BUF-3]
    1 | ...{"é" * 31}*/ "InputTensor": {{"DataType": "INT8", "Sizes": [0]}}}}
      |    {" " * 80}^
"""),
]

# Text that is not a JSON document, and the line where that shows.
NOT_JSON = [
    ("empty", b"", 1),
    ("blank", b" \n\n", None),
    ("only a comment", b"// nothing\n", None),
    ("an unquoted key", b'{\n  type: "JOIN" }', 2),
    ("a missing comma", b'{ "type": "JOIN"\n  "desc": {} }', 2),
    ("a leading zero", b'{\n "type": 01 }', 2),
    ("a leading plus", b'{\n "type": +1 }', 2),
    ("a hexadecimal number", b'{\n "type": 0x1 }', 2),
    ("NaN without quotes", b'{\n "type": NaN }', 2),
    ("a wrong literal", b'{\n "type": True }', 2),
    ("text after the document", VALID.encode() + b"\nand more", 2),
    ("a comment without an end", VALID.encode() + b" /* and so on", None),
    ("a comma before the first value", b'{\n "type": [,1] }', 2),
    ("two commas at the end", b'{\n "type": [1,,] }', 2),
    ("a comma after the document", VALID.encode() + b"\n,", 2),
    ("a string without an end", b'{\n "type": "JOIN }', 2),
    ("an unknown escape", b'{\n "type": "\\q" }', 2),
    ("half a surrogate pair", b'{\n "type": "\\ud800" }', 2),
    ("a control character", b'{\n "type": "\x01" }', 2),
    ("a NUL byte", b'{ "type":\n\0 "JOIN" }', 2),
    ("a NUL byte after the document", VALID.encode() + b"\n\0", 2),
    ("a byte that is not UTF-8", b'{\n "type": "\xff" }', 2),
    ("an overlong encoding", b'{\n "type": "\xc0\xaf" }', 2),
    ("a byte in a comment that is not UTF-8", b'{\n /* \xc3\xa9 \xed\xa0\x80 */ "type": "JOIN" }', 2),
    ("a cut character in a comment", VALID.encode() + b"\n// \xe2\x82", 2),
    ("the wrong bracket", b'{\n "type": [1} }', 2),
    ("an object that ends at a name", b'{\n "type" }', 2),
    ("a name that is a number", b'{\n 1: "JOIN" }', 2),
    ("a sign alone", b'{\n "type": - }', 2),
    ("a fraction without digits", b'{\n "type": 1. }', 2),
    ("an exponent without digits", b'{\n "type": 1e+ }', 2),
    ("a letter behind a number", b'{\n "type": 1x }', 2),
    ("a letter behind a literal", b'{\n "type": nullx }', 2),
    ("a slash that begins no comment", b'{\n / "type": "JOIN" }', 2),
    ("a comment without an end in the document", b'{\n /* "type": "JOIN" }', 2),
    ("an escape cut short", b'{\n "type": "\\u00e" }', 2),
    ("the wrong half of a surrogate pair", b'{\n "type": "\\udc00" }', 2),
    ("two first halves of a surrogate pair", b'{\n "type": "\\ud800\\ud800" }', 2),
    ("a tab in a string", b'{\n "type": "\t" }', 2),
    ("arrays nested 100000 deep", b"[" * 100000, 1),
    ("objects nested 100000 deep", b'{"a":' * 100000, 1),
    ("UTF-16", '{"type": "JOIN"}'.encode("utf-16"), 1),
]


# The last line for these documents and its caret, at a width of the terminal.
WIDTHS = [
    (40, '{"type": "JOIN", "Axis": 0, "InputTensors": [{"DataType": "INT9"}], "OutputTensor": {}}',
     """    1 | ...{"DataType": "INT9"}], "Ou...
      |                 ^
"""),
    (40, '{"type":' + "\t" * 20 + '"JOI"}',
     """    1 | ...\t"JOI"}
      |    \t^
"""),
    (40, '{"type": "JOI", "' + "\u65e5" * 99 + '": 0}',
     """    1 | {"type": "JOI", "\u65e5\u65e5\u65e5\u65e5...
      |          ^
"""),
    (30, '{"type": "JOI", "' + "\u65e5" * 99 + '": 0}',
     """    1 | ..."type": "JOI", "...
      |            ^
"""),
]

TENSOR = {"DataType": "FLOAT32", "Sizes": [2, 3]}
MISBOUND = {  # an input that is neither aligned nor large enough
    "resources": {name: {"initialValuesDataType": "FLOAT32", "initialValues": {"valueCount": count, "value": 0}}
                  for name, count in (("In", 3), ("Out", 6))},
    "dispatchables": {"copy": {"type": "ELEMENT_WISE_IDENTITY", "InputTensor": TENSOR, "OutputTensor": TENSOR}},
    "commands": [{"type": "dispatch", "dispatchable": "copy",
                  "bindings": {"InputTensor": {"name": "In", "elementOffset": 1}, "OutputTensor": "Out"}}],
}


class ValidateTest(ProgramTest):
    def verdicts(self, *documents, status=0, stdin=b""):
        done = self.run_program("validate", "--format", "json", *documents, status=status, stdin=stdin)
        return [json.loads(line) for line in done.stdout.decode().splitlines()]

    def codes(self, document, *options):
        text = document if isinstance(document, bytes) else document.encode()
        done = start(["validate", "--format", "json", "-", *options], text, self.folder)
        return [d["code"] for d in json.loads(done.stdout)["diagnostics"]]

    def test_text_that_is_not_json(self):
        for name, text, line in NOT_JSON:
            with self.subTest(name):
                (verdict,) = self.verdicts("-", stdin=text, status=3)
                (fault,) = verdict["diagnostics"]
                self.assertEqual((fault["code"], fault["pointer"]), ("JSON-1", ""))
                self.assertEqual(fault["line"], line or fault["line"])

    def test_numbers_too_large_for_any_field(self):
        for number in ("1e999", "-1e999", "1" + "0" * 400, "0.1e+310", "1E9999999999999999999999"):
            for bound in ("[0, %s]", '{"value": %s}'):
                with self.subTest(number, bound=bound):
                    text = ('{"type": "REDUCE", "Function": "SUMM", "Axes": [0], "InputTensor": '
                            '{"DataType": "FLOAT32", "Sizes": [2]}, "bindings": {"InputTensor": '
                            + bound % number + "}}")
                    (verdict,) = self.verdicts(text, status=3)
                    faults = [(d["code"], d["pointer"]) for d in verdict["diagnostics"]]
                    inner = "/1" if "0," in bound else "/value"
                    self.assertEqual(faults, [("JSON-3", "/Function"),
                                              ("DOC-2", "/bindings/InputTensor" + inner)])

    def test_numbers_that_a_type_rounds_to_infinity(self):
        """This holds wherever values occur: an error in descriptors, a warning in models, which DxDispatch accepts."""
        def copy(type, **members):
            return {"type": "ELEMENT_WISE_IDENTITY", "InputTensor": {"DataType": type, "Sizes": [1]}} | members

        def holding(type, initial):
            return {"resources": {"x": {"initialValuesDataType": type, "initialValues": initial}}, "dispatchables": {}, "commands": []}

        fill = {"type": "FILL_VALUE_CONSTANT", "OutputTensor": {"Sizes": [1]}}
        for type, number, next_below in (("FLOAT32", 1e39, 3.4e38), ("FLOAT16", 65520, 65519.0), ("FLOAT16", -1e5, -65504),
                                         ("FLOAT32", -3.4028236e38, -3.4028235e38)):
            for place, document in [
                ("/bindings/InputTensor/0", lambda n: copy(type, bindings={"InputTensor": [n]})),
                ("/bindings/InputTensor/value", lambda n: copy(type, bindings={"InputTensor": {"value": n}})),
                ("/bindings/InputTensor/valueStart", lambda n: copy(type, bindings={"InputTensor": {"valueStart": n, "valueDelta": 0}})),
                ("/bindings/InputTensor/low", lambda n: copy(type, bindings={"InputTensor": {"random": "uniform", "low": n, "high": n}})),
                ("/expect/OutputTensor/0", lambda n: copy(type, expect={"OutputTensor": [n]})),
                ("/Value", lambda n: fill | {"ValueDataType": type, "Value": n}),
                ("/resources/x/initialValues/0", lambda n: holding(type, [n])),
                ("/resources/x/initialValues/value", lambda n: holding(type, {"value": n, "valueCount": 1})),
            ]:
                with self.subTest(place, number=number):
                    is_model = place.startswith("/resources")
                    (verdict,) = self.verdicts(json.dumps(document(number)), status=0 if is_model else 3)
                    (fault, *_) = verdict["diagnostics"]
                    self.assertEqual((fault["pointer"], fault["severity"]), (place, "warning" if is_model else "error"))
                    self.assertIn(f" is out of range for {type}", fault["message"])
                    for fitting in (next_below, "inf" if number > 0 else "-inf"):
                        if "random" in json.dumps(document(fitting)) and fitting != next_below:
                            continue
                        (verdict,) = self.verdicts(json.dumps(document(fitting)))
                        self.assertEqual(verdict["diagnostics"], [])

    def test_large_numbers_that_are_no_json_are_not_well_formed(self):
        for number in ("01e999", "1.e999", "1e999x", "--1e999", "1e99.9e9"):
            with self.subTest(number):
                self.assertEqual(self.codes(SUM.replace("[0]", f"[{number}]")), ["JSON-1"])

    def test_every_fault_is_reported_in_the_order_of_the_text(self):
        document = """{ "type": "REDUCE",
          "Function": "SUMM",
          "InputTensor": { "DataType": "FLOAT32", "Sizes": [3, 0], "Flag": "NONE" },
          "OutputTensor": { "DataType": "FLOAT32", "Sizes": [3, 1], "TotalTensorSizeInBytes": 10 },
          "AxisCount": 3,
          "Axes": [5, 1.0] }"""
        (verdict,) = self.verdicts(document, status=3)
        faults = [(d["line"], d["code"]) for d in verdict["diagnostics"]]
        self.assertEqual(faults, sorted(faults, key=lambda fault: fault[0]))
        expected = {(2, "JSON-3"), (3, "BUF-3"), (3, "JSON-3"), (4, "BUF-9"), (4, "BUF-10"), (6, "DOC-1")}
        self.assertLessEqual(expected, set(faults))

    def test_faults_beside_elements_that_cannot_be_read(self):
        tensor = '"InputTensor": {"DataType": "FLOAT32", "Sizes": [2, 3, 4]}'
        reduce = f'{{"type": "REDUCE", "Function": "SUM", {tensor}, "Axes": %s}}'
        for document, expected in [
            (reduce % '[1, "a", 7]', [("/Axes/1", "DOC-1"), ("/Axes/2", "RED-3")]),
            (reduce % '["a", 7, 2, 2]', [("/Axes/0", "DOC-1"), ("/Axes/1", "RED-3"), ("/Axes/3", "RED-4")]),
            (reduce.replace("[2, 3, 4]", "[2, -1, 0]") % "[2, 2]",
             [("/InputTensor/Sizes/1", "DOC-2"), ("/InputTensor/Sizes/2", "BUF-3"), ("/Axes/1", "RED-4")]),
            (COPY.replace("}", ', "InputTensor": {"DataType": "INT8", "Sizes": [2, null], "Strides": [1]}}'),
             [("/InputTensor/Sizes/1", "DOC-1"), ("/InputTensor/Strides", "BUF-13")]),
        ]:
            with self.subTest(document):
                (verdict,) = self.verdicts(document, status=3)
                self.assertEqual([(d["pointer"], d["code"]) for d in verdict["diagnostics"]], expected)

    def test_faults_beside_others(self):
        def tensor(*sizes):
            return {"DataType": "FLOAT32", "Sizes": sizes}

        values = {"type": "ELEMENT_WISE_IDENTITY", "InputTensor": tensor(3)}
        for document, expected in [
            ({"type": "SPLIT", "Axis": 0, "InputTensor": tensor(6, 3),
              "OutputTensors": [{"Sizes": [2, 3]}, {"Sizes": [3, 3]}, {"Sizes": [2, 4]}]},
             [("/InputTensor/Sizes/0", "SPLIT-3"), ("/OutputTensors/2/Sizes", "SPLIT-3")]),
            ({"type": "JOIN", "Axis": 0, "InputTensors": [tensor(2, 3), tensor(2, 4)], "OutputTensor": {"Sizes": [5, 3]}},
             [("/InputTensors/1/Sizes", "JOIN-4"), ("/OutputTensor/Sizes/0", "JOIN-4")]),
            (values | {"bindings": {"InputTensor": [1, "x", 3, "y"]}},
             [("/bindings/InputTensor", "DOC-4"), ("/bindings/InputTensor/1", "DOC-2"), ("/bindings/InputTensor/3", "DOC-2")]),
            (values | {"InputTensor": tensor(2, 2), "bindings": {"InputTensor": [[1, "x"], [1, None, 3]]}},
             [("/bindings/InputTensor/0/1", "DOC-2"), ("/bindings/InputTensor/1", "DOC-4"), ("/bindings/InputTensor/1/1", "DOC-1")]),
            ({"resources": {}, "dispatchables": {}, "commands": [{"type": "dispatch", "dispatchable": "nope"}]},
             [("/commands/0/bindings", "JSON-2"), ("/commands/0/dispatchable", "JSON-6")]),
        ]:
            with self.subTest(document):
                (verdict,) = self.verdicts(json.dumps(document), status=3)
                self.assertEqual([(d["pointer"], d["code"]) for d in verdict["diagnostics"]], expected)

    def test_a_fault_hides_no_other(self):
        def reduction(**fields):
            return {"type": "REDUCE", "Function": "SUM", "Axes": [1, 1],
                    "InputTensor": {"DataType": "FLOAT32", "Sizes": [2, 3]} | fields}

        whole = reduction() | {"Axes": [1]}
        for document, expected in [
            (reduction(GuaranteedBaseOffsetAlignment=3), [("/Axes/1", "RED-4"), ("/InputTensor/GuaranteedBaseOffsetAlignment", "BUF-12")]),
            (reduction(DimensionCount=3), [("/Axes/1", "RED-4"), ("/InputTensor/DimensionCount", "BUF-13")]),
            (reduction(Strides=[1], TotalTensorSizeInBytes=3),
             [("/Axes/1", "RED-4"), ("/InputTensor/Strides", "BUF-13"), ("/InputTensor/TotalTensorSizeInBytes", "BUF-10")]),
            (reduction(Sizes=[2, 0]), [("/Axes/1", "RED-4"), ("/InputTensor/Sizes/1", "BUF-3")]),
            (whole | {"expect": {"OutputTensor": [1, 2, 3]}, "name": 7}, [("/expect/OutputTensor", "DOC-4"), ("/name", "DOC-1")]),
            ({"type": "FILL_VALUE_CONSTANT", "Value": 3}, [("/OutputTensor/DataType", "JSON-2"), ("/OutputTensor/Sizes", "JSON-2")]),
            (MISBOUND, [("/commands/0/bindings/InputTensor", "BIND-3"), ("/commands/0/bindings/InputTensor", "BIND-2")]),
        ]:
            with self.subTest(document):
                (verdict,) = self.verdicts(json.dumps(document), status=3)
                self.assertEqual([(d["pointer"], d["code"]) for d in verdict["diagnostics"]], expected)

    def test_what_follows_from_a_fault_is_not_told(self):
        tensor = {"DataType": "FLOAT32", "Sizes": [2, 3]}
        for document, pointer in [
            ({"type": "REDUCE", "Function": "SUM", "Axes": [0], "binding": {"InputTensor": "x.npy"}}, "/binding"),
            ({"type": "JOIN", "Axis": 0, "inputs": [tensor]}, "/inputs"),
            ({"type": "REDUCE", "dsc": {"Function": "SUM", "Axes": [0], "InputTensor": tensor}}, "/dsc"),
            ({"type": "REDUCE", "Function": "SUM", "Axes": [0], "InputTensor": {"desc": tensor}}, "/InputTensor/desc"),
            ({"type": "ELEMENT_WISE_IDENTITY", "InputTensor": {"DataType": "FLOAT32", "Sizes": [0]},
              "OutputTensor": {"DataType": "FLOAT32", "Sizes": [3]}}, "/InputTensor/Sizes/0"),
            ({name: value for name, value in MISBOUND.items() if name != "resources"}, "/resources"),
        ]:
            with self.subTest(document):
                (verdict,) = self.verdicts(json.dumps(document), status=3)
                self.assertEqual([d["pointer"] for d in verdict["diagnostics"]], [pointer])

    def test_values_that_share_a_place(self):
        tensor = {"DataType": "FLOAT32", "Sizes": [2, 3], "Strides": [0, 1]}
        for values, status in [
            ([[1, 2, 3], [4, 5, 6]], 3), ([[1, 2, 3], [1, 2, 3]], 0), ({"value": 7}, 0),
            ({"valueStart": 0, "valueDelta": 1}, 0), ({"valueStart": 5, "valueDelta": 0}, 0),
        ]:
            document = {"type": "ELEMENT_WISE_IDENTITY", "InputTensor": tensor, "bindings": {"InputTensor": values}}
            with self.subTest(values):
                (verdict,) = self.verdicts(json.dumps(document), status=status)
                self.assertEqual([d["code"] for d in verdict["diagnostics"]], ["DOC-4"] if status else [])
                self.run_program("run", json.dumps(document), status=status)

    def test_a_fault_of_an_array_that_a_count_stands_for(self):
        for count, code in [(4, "SPLIT-3"), (0, "SPLIT-1"), (4294967295, "JSON-2")]:
            with self.subTest(count):
                (verdict,) = self.verdicts(
                    f'{{"type": "SPLIT", "Axis": 0, "OutputCount": {count}, "InputTensor": {{"DataType": "INT8", "Sizes": [6]}}}}', status=3)
                (fault,) = verdict["diagnostics"]
                self.assertEqual((fault["pointer"], fault["code"], fault["column"]), ("/OutputCount", code, 45))

    def test_an_element_that_cannot_be_read_is_the_only_fault(self):
        models = [parsed(path) for path in sorted(MODELS.glob("*.json"))]
        floats = re.compile("/(Bias|Scales|(In|Out)putPixelOffsets)/")
        for place, documents in in_turn({**cases_by_file(), "models": models}.items()):
            broken = [one for document in documents for one in with_one_element_replaced(document)]
            for i, (text, _) in enumerate(broken):
                self.write(f"{i}.json", text)
            verdicts = self.verdicts(*[f"{i}.json" for i in range(len(broken))], status=3) if broken else []
            for (_, pointer), verdict in zip(broken, verdicts, strict=True):
                if "/FusedActivation/desc/InputTensor/" in pointer:
                    continue  # models may state these, without effect
                with self.subTest(place, pointer=pointer):
                    faults = [(d["pointer"], d["code"]) for d in verdict["diagnostics"] if d["severity"] == "error"]
                    # A number may be written as text only if it may be infinite.
                    self.assertEqual(faults, [(pointer, "DOC-2" if floats.search(pointer) else "DOC-1")])

    def test_a_size_of_0_is_the_only_fault(self):
        sizes = re.compile(r"Tensors?(/\d+)?/(desc/)?Sizes/\d+$")
        for place, documents in in_turn(cases_by_file().items()):
            broken = [(text, pointer) for document in documents
                      for text, pointer in with_one_element_replaced(document, 0) if sizes.search(pointer)]
            for i, (text, _) in enumerate(broken):
                self.write(f"{i}.json", text)
            verdicts = self.verdicts(*[f"{i}.json" for i in range(len(broken))], status=3) if broken else []
            for (_, pointer), verdict in zip(broken, verdicts, strict=True):
                with self.subTest(place, pointer=pointer):
                    faults = {(d["pointer"], d["code"]) for d in verdict["diagnostics"] if d["severity"] == "error"}
                    # JOIN and SPLIT have a rule of their own along their axis.
                    self.assertIn(faults, [{(pointer, code)} for code in ("BUF-3", "JOIN-5", "SPLIT-4")])

    def test_rules_that_come_with_others(self):
        def unfold(count, rank, **fields):
            ones, zeros = [1] * count, [0] * count
            return json.dumps({
                "type": "UNFOLD", "InputTensor": {"DataType": "INT8", "Sizes": [1] * rank},
                "WindowSizes": ones, "Strides": ones, "Dilations": ones,
                "StartPadding": zeros, "EndPadding": zeros, **fields})

        for rule, document in [
            ("UNF-1", unfold(7, 8)),
            ("UNF-1", unfold(0, 3)),
            ("UNF-4", unfold(1, 3, OutputTensor={"Sizes": [1, 1]})),
            ("FL-1", '{"type": "UNFOLD"}'),
            ("JSON-2", '{"type": "JOIN"}'),
            ("BUF-3", COPY.replace("}", ', "InputTensor": {"DataType": "INT8", "Sizes": [0]}}')),
            ("RED-3", VALID.replace("[0]", "[2]")),
            ("JOIN-1", '{"type": "JOIN", "InputTensors": [], "Axis": 0}'),
            ("SPLIT-1", '{"type": "SPLIT", "OutputTensors": [], "Axis": 0}'),
        ]:
            with self.subTest(document):
                options = ["-L", "6_3"] if rule == "FL-1" else []
                self.assertIn(rule, self.codes(document, *options))

    def test_valid_documents_are_answered_with_level_and_bytes(self):
        text = self.text_of("validate", VALID)
        self.assertIn("3_0", text)
        self.assertRegex(text, r"reads 36 bytes and writes 12\n$")
        for document, level in [
            (VALID, "3_0"), (VALID.replace("FLOAT32", "INT64"), "5_0"),
            (VALID.replace("[3, 3]", "[1, 1, 3, 3]"), "1_0"), (VALID.replace("FLOAT32", "UINT32"), "3_0"),
            (VALID.replace("FLOAT32", "INT32").replace("[3, 3]", "[1, 1, 3, 3]"), "2_1"),
            (COPY.replace("}", ', "InputTensor": {"DataType": "FLOAT64", "Sizes": [1]}}'), "4_1"),
            (recurrent({"Type": "ACTIVATION_SOFTPLUS", "Steepness": 1}), "1_0"),
            (recurrent({"Type": "ACTIVATION_SOFTPLUS", "Steepness": 0.5}), "6_4"),
            (recurrent({"Type": "ACTIVATION_GELU"}), "5_1"),
        ]:
            (verdict,) = self.verdicts(document)
            self.assertEqual((verdict["valid"], verdict["minimumFeatureLevel"]), (True, level))
            self.assertEqual(verdict["diagnostics"], [])
            self.run_program("validate", document, "-L", level, "-q")

    def test_one_line_of_json_for_each_document(self):
        self.write("bad.json", "{")
        verdicts = self.verdicts(VALID, "bad.json", VALID, status=3)
        self.assertEqual([v["valid"] for v in verdicts], [True, False, True])
        fault = verdicts[1]["diagnostics"][0]
        self.assertEqual(set(fault), {"severity", "code", "pointer", "line", "column", "message"})
        self.assertEqual(fault["severity"], "error")

    def test_quiet_says_nothing_of_valid_documents(self):
        done = self.run_program("validate", "-q", VALID)
        self.assertEqual((done.stdout, done.stderr), (b"", b""))

    def test_places_count_characters_and_tabs(self):
        document = '{\n\t"type": "ELEMENT_WISE_IDENTITY", /* äöü€ */ "é": 1,\n"InputTensor": null }'
        self.write("d.json", document)
        errors = self.errors_of("validate", "d.json", status=3)
        column = document.splitlines()[1].index('"é"') + 1
        self.assertIn(f"d.json:2:{column}: error: ", errors)
        lines = errors.splitlines()
        caret = next(i for i, line in enumerate(lines) if "^" in line)
        self.assertEqual(lines[caret].index("^"), lines[caret - 1].index('"é"'))

    def test_places(self):
        for name, document, expected in PLACES:
            if len(document) < 100_000:  # the longest argument that is possible
                self.check_places(name, document, "<command line>", expected)
            self.write("d.json", document)
            self.check_places(name, "d.json", "d.json", expected)
            self.check_places(name, "-", "<standard input>", expected, stdin=document.encode())

    def check_places(self, name, argument, shown, expected, **options):
        with self.subTest(f"{name}, {shown}"):
            expected = re.sub("^(?=[0-9])", f"{shown}:", expected, flags=re.M)
            for command in ("validate", "run"):
                self.assertEqual(self.errors_of(command, argument, status=3, **options), expected)

    def test_lines_are_cut_to_the_width_of_the_terminal(self):
        for columns, document, expected in WIDTHS:
            with self.subTest(document, columns=columns):
                environment = os.environ | {"COLUMNS": str(columns)}
                errors = self.errors_of("validate", "-", stdin=document.encode(), status=3,
                                        env=environment)
                self.assertIn(expected, errors)

    def test_line_ends_of_windows_and_a_byte_order_mark(self):
        self.write("d.json", b"\xef\xbb\xbf" + VALID.replace(",", ",\r\n").encode())
        self.run_program("validate", "d.json")

    def test_what_a_message_quotes_cannot_drive_the_terminal(self):
        self.write("d.json", r'{"type": "JO\u001b[31mIN", "\u001b]0;title\u0007": 1}')
        errors = self.errors_of("validate", "d.json", "--color", "never", status=3)
        self.assertNotRegex(errors, "[\x00-\x08\x0b-\x1f]")
        self.write("d.json", '{"type": "JO\u009b31mIN"}')
        errors = self.errors_of("validate", "d.json", "--color", "never", status=3)
        self.assertIn(r"'JO\xc2\x9b31mIN' is not a known name", errors)
        self.assertNotRegex(errors, "[\x80-\x9f]")


def with_one_element_replaced(document, replacement="x"):
    """The document once for each number in an operator's arrays, replaced, and the pointer to it."""
    def visit(value, pointer):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            here = f"{pointer}/{key}"
            if isinstance(value, list) and isinstance(child, int):
                value[key] = replacement
                yield json.dumps(document), here
                value[key] = child
            elif isinstance(child, (dict, list)) and key not in ("bindings", "expect"):
                yield from visit(child, here)
    if "commands" not in document:
        yield from visit(document, "")
    for name, operator in document.get("dispatchables", {}).items():
        yield from visit(operator, f"/dispatchables/{name}")


class CompleteTest(ProgramTest):
    def test_files_give_sizes(self):
        self.save(x=np.zeros((2, 5), np.float16))
        said = self.text_of("validate", SUM, "-i", "x.npy")
        self.assertIn("valid: REDUCE runs from feature level", said)
        self.assertIn("it reads 20 bytes and writes 10", said)
        said = self.errors_of("validate", MODELS / "add.json", "-i", "x.npy", status=2)
        self.assertIn("-i is not for DxDispatch models", said)

    def setUp(self):
        super().setUp()
        self.save(x=X)

    def complete(self, *documents, **options):
        return self.text_of("validate", *documents, "--print-complete", **options)

    def test_complete_is_valid_and_runs_the_same(self):
        for place, cases in cases_by_file().items():
            with self.subTest(place):
                complete = self.complete(*map(json.dumps, cases))
                lines = [json.dumps(document) for document in documents_in(complete)]
                self.assertEqual(len(lines), len(cases))
                self.assertEqual(self.complete(*lines), complete)
                self.write("c.jsonl", "\n".join(lines))
                self.run_program("batch", "c.jsonl", "--check", "--bits")

    def test_complete_leaves_nothing_out(self):
        for document, bound in [(COPY, {}), (SUM, {}), (THIRDS, {})]:
            bindings = {"InputTensor": "x.npy"} | bound
            self.write("d.json", {**json.loads(document), "bindings": bindings})
            complete = json.loads(self.complete("d.json"))
            self.assertTrue(complete["type"].startswith("DML_OPERATOR_"))
            self.assertEqual(complete["bindings"], bindings)
            desc = complete["desc"]
            tensors = [desc["InputTensor"], *desc.get("OutputTensors", [desc.get("OutputTensor")])]
            for tensor in tensors:
                self.assertEqual(
                    set(tensor) - {"Type"},
                    {"DataType", "Flags", "DimensionCount", "Sizes", "Strides",
                     "TotalTensorSizeInBytes", "GuaranteedBaseOffsetAlignment"})
                self.assertEqual(tensor["DimensionCount"], len(tensor["Sizes"]))
                self.assertGreaterEqual(tensor["TotalTensorSizeInBytes"], 4 * np.prod(tensor["Sizes"]))
            for count, array in [("AxisCount", "Axes"), ("OutputCount", "OutputTensors")]:
                self.assertEqual(desc.get(count), len(desc[array]) if array in desc else None)

    def test_complete_has_what_stands_beside_the_operator(self):
        beside = {"name": "n", "bindings": {"InputTensor": [-0.0, 0.1]}, "expect": {"OutputTensor": [0, 0.1]},
                  "tolerance": {"ulp": 2, "rtol": 1e-3}}
        complete = json.loads(self.complete(json.dumps({"$schema": "s.json", **json.loads(COPY), **beside})))
        self.assertEqual({key: value for key, value in complete.items() if key not in ("type", "desc")}, beside)

    def test_a_nan_keeps_its_bits(self):
        """"nan" stands only for the default NaN."""
        for bits, written in ((0x7E00, "nan"), (0x7D01, {"UInt16": 0x7D01}), (0xFE00, {"UInt16": 0xFE00}), (0xFC00, "-inf")):
            document = {"name": "f", "type": "FILL_VALUE_CONSTANT", "OutputTensor": {"DataType": "FLOAT16", "Sizes": [1]},
                        "Value": {"UInt16": bits}}
            complete = json.loads(self.complete(json.dumps(document)))
            self.assertEqual(complete["desc"]["Value"], written)
            self.assertEqual(json.loads(self.complete(json.dumps(complete))), complete)
            model = json.loads(self.text_of("validate", json.dumps(document), "--to-model"))
            (fill,) = model["dispatchables"].values()
            self.assertEqual(fill["desc"]["Value"], written)

    def test_a_bound_file_that_is_missing_is_not_a_fault_of_the_document(self):
        self.write("d.json", {**json.loads(SUM), "bindings": {"InputTensor": "none.npy"}})
        self.assertIn("none.npy", self.errors_of("validate", "d.json", status=5))
        self.write("d.json", {**json.loads(VALID), "bindings": {"InputTensor": "none.npy"}})
        self.run_program("validate", "d.json")  # needs nothing from the file


class ManifestTest(ProgramTest):
    GOOD = {"type": "ELEMENT_WISE_ABS", "bindings": {"InputTensor": [1, 2], "OutputTensor": "a.npy"}}
    HALF = {"type": "ELEMENT_WISE_SQRT", "InputTensor": {"DataType": "FLOAT16", "Sizes": [3]},
            "bindings": {"InputTensor": {"value": 1}, "OutputTensor": "d.npy"}}
    MISSPELT = {"type": "ELEMENT_WISE_ABS", "name": "third", "bindings": {"InputTensor": [1], "OutputTensr": "c.npy"}}
    UNBOUND = {"type": "ELEMENT_WISE_ABS", "bindings": {"InputTensor": [1]}}

    def lines(self, *cases, name="m.jsonl"):
        self.write(name, "// a manifest\n" + "".join(json.dumps(case) + "\n" for case in cases))

    def test_valid_cases(self):
        """Two FLOAT32 are 8 bytes, three FLOAT16 are 6; one dimension is supported from 3_0 on."""
        said = "valid: 2 cases; from feature level 3_0 on all run; they read 14 bytes and write 14\n"
        self.lines(self.GOOD, self.HALF)
        self.assertEqual(self.text_of("validate", "m.jsonl"), f"m.jsonl: {said}")
        self.assertEqual(self.text_of("validate", "m.jsonl", "-q"), "")
        self.lines(self.GOOD, self.HALF, name="m.json")
        self.assertEqual(self.text_of("validate", "m.json"), f"m.json: {said}")
        self.write("a.json", json.dumps([self.GOOD, self.HALF]))
        self.assertEqual(self.text_of("validate", "a.json"), f"a.json: {said}")
        self.assertEqual(self.files(), ["a.json", "m.json", "m.jsonl"])
        for name in self.files():
            manifest = (self.folder / name).read_bytes()
            self.assertEqual(self.text_of("validate", "-", stdin=manifest), f"<standard input>: {said}")

    def test_each_fault_has_its_place(self):
        self.lines(self.GOOD, self.MISSPELT, self.UNBOUND, self.HALF)
        column = json.dumps(self.MISSPELT).index('"OutputTensr"') + 1
        fault = "/bindings/OutputTensr: 'OutputTensr' is not a known field (did you mean 'OutputTensor'?)"
        said = self.errors_of("validate", "m.jsonl", status=3)
        self.assertIn(f"m.jsonl:3:{column}: third: {fault} [JSON-3]\n", said)
        self.assertIn("m.jsonl:4: OutputTensor has no file in 'bindings'\n", said)
        self.assertTrue(said.endswith("m.jsonl: 2 of 4 cases are not valid\n"), said)
        piped = self.errors_of("validate", "-", stdin=(self.folder / "m.jsonl").read_bytes(), status=3)
        self.assertEqual(piped.replace("<standard input>", "m.jsonl"), said)
        done = self.run_program("validate", "m.jsonl", "--format", "json", status=3)
        verdicts = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([(v["line"], v["valid"]) for v in verdicts], [(2, True), (3, False), (4, False), (5, True)])
        self.assertEqual(verdicts[1]["name"], "third")
        self.assertEqual(verdicts[1]["diagnostics"][0], {
            "severity": "error", "code": "JSON-3", "pointer": "/bindings/OutputTensr", "line": 3, "column": column,
            "message": fault.split(": ", 1)[1]})
        self.assertEqual((verdicts[3]["bytesRead"], verdicts[3]["minimumFeatureLevel"]), (6, "3_0"))

    def test_one_case_of_a_manifest(self):
        self.lines(self.GOOD, self.MISSPELT)
        self.assertIn("valid: ELEMENT_WISE_ABS", self.text_of("validate", "m.jsonl", "--line", 2))
        self.assertIn("another after the document; --line N takes one case of a manifest",
                      self.errors_of("validate", "m.jsonl", "--print-complete", status=3))


if __name__ == "__main__":
    unittest.main()
