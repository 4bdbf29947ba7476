# SPDX-License-Identifier: Apache-2.0
"""`dmlop schema` with an independent validator accepts every valid document, and refuses those with structural
faults."""

import json
import re
import sys
import unittest

sys.dont_write_bytecode = True
from program import ROOT, cases_by_file, documents_in, in_turn, operators, parsed, read_lines, start
from schema_verdicts import (BEYOND_A_SCHEMA, load_schema, must_refuse, read_verdicts, reasons,
                             validator_of)

TESTDATA = ROOT / "testdata"


def without_repetitions(node, seen=None):
    """The same with {} in place of each object that has been seen: most of the schema says what another part says, too."""
    seen = set() if seen is None else seen
    if isinstance(node, list):
        return [without_repetitions(child, seen) for child in node]
    if not isinstance(node, dict):
        return node
    text = json.dumps({key: value for key, value in node.items() if key != "description" or not isinstance(value, str)})
    if text in seen:
        return {}
    seen.add(text)
    return {key: without_repetitions(value, seen) for key, value in node.items()}


# --- documents that differ in one place ----------------------------------------------------------

def tensor(**fields):
    return {"DataType": "FLOAT32", "Sizes": [2]} | fields


def copy_of(binding=None, **fields):
    """A descriptor whose input has these fields."""
    document = {"type": "ELEMENT_WISE_IDENTITY", "InputTensor": tensor(**fields)}
    return document if binding is None else document | {"bindings": {"InputTensor": binding}}


def output(**fields):
    return {"type": "ELEMENT_WISE_IDENTITY", "InputTensor": tensor(),
            "OutputTensor": tensor(**fields)}


def scaled(**scale_bias):
    return copy_of() | {"ScaleBias": scale_bias}


def reduced(**fields):
    return {"type": "REDUCE", "Function": "SUM", "InputTensor": tensor(Sizes=[2, 3])} | fields


def split(**fields):
    return {"type": "SPLIT", "Axis": 0, "InputTensor": tensor(Sizes=[65536])} | fields


def unfolded(**fields):
    return {"type": "UNFOLD", "InputTensor": tensor(Sizes=[1, 1, 3, 3]), "WindowSizes": [2, 2],
            "Strides": [1, 1], "Dilations": [1, 1], "StartPadding": [0, 0],
            "EndPadding": [0, 0]} | fields


def model(dispatchable={}, command={}, resource={}, more={}, commands=[]):
    copy = {"type": "ELEMENT_WISE_IDENTITY", "InputTensor": tensor(), "OutputTensor": tensor()}
    buffer = {"initialValuesDataType": "FLOAT32", "initialValues": [1, 2]}
    dispatch = {"type": "dispatch", "dispatchable": "copy",
                "bindings": {"InputTensor": "x", "OutputTensor": "y"}}
    return {"resources": {"x": buffer, "y": buffer, "r": buffer | resource},
            "dispatchables": {"copy": copy | dispatchable},
            "commands": [dispatch | command, *commands]} | more


def values(data_type, initial_values):
    return model(resource={"initialValuesDataType": data_type, "initialValues": initial_values})


def untyped(initial_values):
    document = values("FLOAT32", initial_values)
    del document["resources"]["r"]["initialValuesDataType"]
    return document


def bound(**bindings):
    return model(command={"bindings": {"InputTensor": "x", "OutputTensor": "y"} | bindings})


def join_and_copy(**bindings):
    join = {"type": "JOIN", "Axis": 0, "InputCount": 1, "InputTensors": [tensor()],
            "OutputTensor": tensor()}
    document = bound(**bindings)
    document["dispatchables"]["join"] = join
    return document


def fused(**members):
    return {"type": "ELEMENT_WISE_ADD1", "ATensor": tensor(), "BTensor": tensor(),
            "FusedActivation": {"type": "ACTIVATION_RELU"} | members}


ACCEPTED = {
    "every execution flag in either spelling": model({"executionFlags": [
        "NONE", "DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE"]}),
    "one execution flag": model({"executionFlags": "ALLOW_HALF_PRECISION_COMPUTATION"}),
    "no execution flag": model({"executionFlags": []}),
    "the limits of UINT8": values("UINT8", [0, 255]),
    "the limits of INT64": values("INT64", [-2 ** 63, 2 ** 63 - 1]),
    "named numbers in any case": values("FLOAT16", ["NaN", "-INF", "inf"]),
    "a mixed list without a type": untyped([{"type": "UINT8", "value": 7, "name": None}]),
    "a mixed list of the type UNKNOWN": values("UNKNOWN", [{"type": "UINT8", "value": 7}]),
    "anything under an unknown bind point": bound(Unknown=None, InputTensors=5),
    "anything where a dispatchable lacks the bind point": join_and_copy(InputTensors=5),
    "a schema": copy_of() | {"$schema": {"deep": [{"$schema": 1}]}},
    "a schema anywhere in a model": model({"$schema": 1}, {"$schema": []}, {"$schema": None},
                                          {"$schema": {"deep": {}}}),
    "a type that is null beside the other": copy_of() | {"Type": None, "Desc": None, "desc": None},
    "both names of a type in a model": model({"Type": "ELEMENT_WISE_IDENTITY", "type": 5}),
    "both names of a desc in a model": model({"desc": 5, "Desc": {
        "InputTensor": tensor(), "OutputTensor": tensor()}}),
    "no tensors in a fused activation": fused(InputTensor=None, OutputTensor=None),
    "no tensors in the desc of a fused activation": fused(desc={"InputTensor": None, "OutputTensor": None}),
    "eight dimensions": copy_of(Sizes=[1] * 8, Strides=[1] * 8, DimensionCount=8),
    "no strides": copy_of(Strides=[]),
    "no axes by their count": reduced(AxisCount=0),
    "as many parts as a count may stand for": split(OutputCount=65536),
    "bindings of null": {"type": "JOIN", "Axis": 0, "InputTensors": [tensor()],
                         "bindings": {"InputTensors": None, "OutputTensor": None}},
    "values of the tensor's type": copy_of([0, 255], DataType="UINT8"),
    "values that are expected": copy_of() | {"name": "one", "expect": {"OutputTensor": [0, "nan"]}},
    "values any of which are expected": copy_of() | {"expect": {"OutputTensor": {"anyOf": [[0, 1], {"value": 2}]}}},
    "nothing that is expected": copy_of() | {"name": None, "expect": {"OutputTensor": None}},
    "seeded values": copy_of({"random": "integers", "seed": None, "low": 0, "high": 9, "valueCount": 2},
                             DataType="UINT8"),
    "normal values": copy_of({"random": "normal", "seed": 1, "mean": 2, "deviation": None}),
    "the largest floats": copy_of([65519.99, -65519], DataType="FLOAT16"),
    "values of a model that become infinite": values("FLOAT16", [65520, -1e39]),
    "values of a model whose steps become infinite": values(
        "FLOAT32", {"valueStart": 0, "valueDelta": 1e39, "valueCount": 2}),
    "a value of mixed types that becomes infinite": untyped([{"type": "FLOAT32", "value": 1e39}]),
    "a double": copy_of([1.7976931348623157e308, 1e39], DataType="FLOAT64"),
    "values that are FLOAT32 without a type": copy_of([3.4028235e38, "-inf"], DataType=None),
    "a large value of a type that is implied": copy_of(DataType="FLOAT64") | {"expect": {"OutputTensor": [1e39, 1]}},
    "special values": copy_of({"random": "special", "seed": 2 ** 64 - 1}),
    "values of a tensor below Desc": {
        "type": "JOIN", "desc": {"Axis": 0, "InputTensors": [{"Desc": tensor(DataType="INT8")}]},
        "bindings": {"InputTensors": [[-128, 127]]}},
}

# Documents that the reader refuses with a code, and the schema, too.
REFUSED = {
    "JSON-3": [
        copy_of() | {"$Schema": 1},
        copy_of() | {"expect": {"InputTensor": [1, 2]}},
        {"type": "ELEMENT_WISE_IDENTITY", "desc": {"InputTensor": tensor(), "$schema": 1}},
        {"type": "ELEMENT_WISE_IDENTITY", "desc": {"InputTensor": tensor()}, "ScaleBias": None},
        {"type": "ELEMENT_WISE_IDENTITY", "InputTensor": {"Desc": tensor(), "Sizes": [2]}},
        {"type": "ELEMENT_WISE_IDENTITY", "InputTensor": {"Desc": tensor(Type="BUFFER")}},
        model({"executionFlags": "DML_EXECUTION_FLAG_FAST"}),
        model({"executionFlags": ["NONE", "none"]}),
        model({"dmlCompileType": "Graph"}),
        copy_of({"value": 1, "valueStart": 1}),
        copy_of({"value": 1, "sourcePath": "x.npy"}),
        copy_of({"random": "special", "low": 1}),
        copy_of({"random": "gauss"}),
        copy_of({"random": "normal", "low": 1}),
        copy_of({"random": "uniform", "mean": 1}),
        untyped([{"type": "UINT9", "value": 1}]),
    ],
    "DOC-1": [
        model({"executionFlags": 4}),
        model({"executionFlags": [None]}),
        values("UINT8", ["nan"]),
        values("UINT8", [2.5]),
        bound(InputTensor=5),
        bound(OutputTensor=[["y"]]),
        model(commands=[{"type": "print", "resource": "r", "verbose": 1}]),
        copy_of("a\0.npy"),
        copy_of(""),
        copy_of([0.5, 1], DataType="INT8"),
        output(DataType="INT8") | {"expect": {"OutputTensor": [0.5, 1]}},
        copy_of() | {"expect": {"OutputTensor": "x.npy"}},
        copy_of() | {"expect": {"OutputTensor": {"anyOf": [[0, 1], "x.npy"]}}},
        copy_of() | {"expect": {"OutputTensor": {"anyOf": 5}}},
        copy_of() | {"expect": [1, 2]},
        copy_of() | {"name": 1},
        copy_of([[1], 2]),
        values("FLOAT32", {"sourcePath": ""}),
    ],
    "DOC-2": [
        values("UINT8", [256]),
        values("INT8", [-129]),
        copy_of({"random": "normal"}, DataType="INT32"),
        values("UINT16", {"value": 65536, "valueCount": 1}),
        values("INT64", {"valueStart": 0, "valueDelta": 2 ** 63, "valueCount": 1}),
        untyped([{"type": "UINT8", "value": 256}]),
        values("FLOAT32", ["infinity"]),
        values("FLOAT32", {"value": 1, "valueCount": 2 ** 32}),
        copy_of([0, 256], DataType="UINT8"),
        copy_of([0, 65520.0], DataType="FLOAT16"),
        copy_of([0, -1e39]),
        copy_of([1e39, 1], DataType=None),
        copy_of({"value": 1e39}),
        copy_of({"random": "uniform", "high": 1e5}, DataType="FLOAT16"),
        output() | {"expect": {"OutputTensor": [1e39, 1]}},
        copy_of({"value": -1}, DataType="UINT32"),
        copy_of(TotalTensorSizeInBytes=2 ** 64),
        {"type": "JOIN", "desc": {"Axis": 0, "InputTensors": [{"Desc": tensor(DataType="INT8")}]},
         "bindings": {"InputTensors": [[-129, 127]]}},
    ],
    "RES-1": [
        values("UINT8", []),
        values("UINT8", {"value": 1, "valueStart": 1, "valueDelta": 1, "valueCount": 1}),
        values("UINT8", {"value": 1, "valueCount": 1, "sourcePath": "x.bin"}),
        values("UINT8", {"value": 1, "valueCount": 0}),
        values("UINT8", {"valueDelta": 1}),
        untyped([]),
    ],
    "RES-2": [
        untyped([1]),
        untyped({"value": 1, "valueCount": 1}),
        untyped({"valueStart": 1, "valueDelta": 1, "valueCount": 1}),
        untyped({"sourcePath": "x.bin"}),
        untyped({"sourcePath": "folder/.npy"}),
        untyped([{"type": "FLOAT16", "value": 1}]),
        untyped([{"type": "UNKNOWN", "value": 1}]),
        untyped([{"type": "UINT4", "value": 1}]),
        values("INT4", [1]),
        values("UNKNOWN", {"value": 1, "valueCount": 1}),
    ],
    "RES-4": [
        model(resource={"initialValues": {"sourcePath": "cat.png"}, "resampleMode": "crop"}),
        model(resource={"initialValues": {"sourcePath": "cat.JPeG"}, "resampleSize": [1, 3, 8]}),
    ],
    "JSON-4": [
        model({"executionFlags": None}),
        model({"dmlCompileType": None}),
        model({"bindings": None}),
        model(resource={"resampleMode": None}),
        model(command={"threadGroupCount": None}),
        bound(InputTensor={"name": "x", "elementCount": None}),
        model({"InputTensor": tensor(Strides=None)}),
    ],
    "JSON-5": [
        copy_of() | {"Type": "ELEMENT_WISE_IDENTITY"},
        {"type": "ELEMENT_WISE_IDENTITY", "desc": {"InputTensor": tensor()},
         "Desc": {"InputTensor": tensor()}},
    ],
    "JSON-2": [
        split(OutputCount=65537),
        {"type": "JOIN", "Axis": 0, "InputCount": 65537, "InputTensors": None},
        copy_of({"value": 1}, Sizes=None),
        copy_of("x.raw", DataType=None),
        reduced(),
        reduced(Axes=None),
        reduced(Axes=None, AxisCount=1),
        unfolded(Strides=None),
        copy_of({"sourcePath": "x.npy"}),
        scaled(Scale=None, Bias=1),
        bound(InputTensor={"elementOffset": 0}),
        model({"InputTensor": {"DataType": "FLOAT32"}}),
        model(commands=[{"type": "writeFile", "resource": "r"}]),
    ],
    "DOC-4": [copy_of([])],
    "BUF-1": [copy_of(Sizes=[]), copy_of(Sizes=[1] * 9)],
    "BUF-3": [copy_of(Sizes=[0])],
    "BUF-10": [copy_of(TotalTensorSizeInBytes=18)],
    "BUF-12": [copy_of(GuaranteedBaseOffsetAlignment=24)],
    "BUF-13": [copy_of(DimensionCount=3), copy_of(Strides=[1, 1]), output(DimensionCount=0)],
    "BUF-14": [copy_of(DataType="UNKNOWN")],
    "BUF-15": [copy_of(Flags="OWNED"), output(Flags=["OWNED_BY_DML"])],
    "JOIN-1": [{"type": "JOIN", "Axis": 0, "InputTensors": []}],
    "JOIN-5": [{"type": "JOIN", "Axis": 0, "InputTensors": [tensor(Sizes=[0])]}],
    "SPLIT-1": [{"type": "SPLIT", "Axis": 0, "InputTensor": tensor(), "OutputTensors": []}],
    "RED-3": [reduced(Axes=[8])],
    "RED-4": [reduced(Axes=[1, 1])],
    "DOC-3": [reduced(Axes=[1], AxisCount=2), unfolded(DimensionCount=3)],
    "UNF-1": [unfolded(WindowSizes=[2, 2, 2]), unfolded(EndPadding=[0]),
              unfolded(WindowSizes=[1] * 7, Strides=[1] * 7, Dilations=[1] * 7,
                       StartPadding=[0] * 7, EndPadding=[0] * 7)],
    "UNF-11": [unfolded(WindowSizes=[2, 0]), unfolded(Strides=[0, 1]), unfolded(Dilations=[1, 0])],
    "DISP-1": [model({"type": "HLSL"}), model({"type": "reduce"})],
}

# The kind of a document before it is complete.
KINDS = [
    ({"dispatchables": {}}, "model"),
    ({"dispatchables": None, "type": "JOIN"}, "model"),
    ({"resources": {}}, "model"),
    ({"commands": []}, "model"),
    ({"resources": {}, "type": "JOIN"}, "operator"),
    ({"Type": "JOIN"}, "operator"),
    ({}, "operator"),
]


class SchemaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = load_schema()
        cls.validator = validator_of(cls.schema)

    def read(self, documents):
        """The verdicts on documents given as text."""
        return read_verdicts([json.dumps(document) for document in documents], ROOT)

    def test_is_a_schema(self):
        self.validator.check_schema(without_repetitions(self.schema))
        self.assertEqual(self.schema["$schema"], "https://json-schema.org/draft/2020-12/schema")

    def test_fields_are_described_as_by_ops(self):
        for name, info in operators().items():
            properties = self.schema["$defs"][f"{name}-fields"]["properties"]
            self.assertEqual({field: schema["description"] for field, schema in properties.items()},
                             {field["name"]: field["meaning"] for field in info["fields"]}, name)

    def test_every_reference_leads_to_a_definition_and_each_is_used(self):
        used = set(re.findall(r'"\$ref": "#/\$defs/([^"]+)"', json.dumps(self.schema)))
        self.assertEqual(used | {"report-line"}, set(self.schema["$defs"]))

    def test_takes_every_valid_document(self):
        paths = sorted([*TESTDATA.glob("models/*.json"), *TESTDATA.glob("demo/*.json")])
        documents = [*read_lines("operators"), *[(path.name, parsed(path)) for path in paths]]
        self.assertGreater(len(documents), 100)
        for place, document in in_turn(documents):
            with self.subTest(place):
                self.validator.validate(document)

    def test_refuses_every_document_of_wrong_structure(self):
        cases = list(read_lines("invalid"))
        documents = [case["document"] for _, case in cases]
        refused = 0
        for (place, _), document, verdict in zip(cases, documents, self.read(documents)):
            with self.subTest(place):
                if must_refuse(document, verdict):
                    self.assertFalse(self.validator.is_valid(document))
                    refused += 1
        self.assertGreater(refused, 40)

    def test_every_reason_to_pass_over_a_fault_is_needed(self):
        codes = {case["rule"] for _, case in read_lines("invalid")} | {"JSON-1", "JSON-5", "JSON-6"}
        for code, *_ in BEYOND_A_SCHEMA:
            with self.subTest(code):
                self.assertTrue(any(re.match(code, known) for known in codes))

    def test_takes_what_the_reader_takes(self):
        for (what, document), verdict in zip(ACCEPTED.items(), self.read(ACCEPTED.values())):
            with self.subTest(what):
                self.assertTrue(verdict["valid"], verdict)
                self.validator.validate(document)

    def test_refuses_what_the_reader_refuses(self):
        cases = [(code, document) for code, documents in REFUSED.items() for document in documents]
        for (code, document), verdict in zip(cases, self.read(d for _, d in cases)):
            with self.subTest(code, document=json.dumps(document)):
                codes = [d["code"] for d in verdict["diagnostics"] if d["severity"] == "error"]
                self.assertIn(code, codes)
                self.assertFalse(self.validator.is_valid(document))

    def test_cannot_tell_how_a_number_is_written(self):
        document = copy_of(Sizes=[2.0])
        [diagnostic] = self.read([document])[0]["diagnostics"]
        self.assertEqual((diagnostic["code"], reasons(document, diagnostic)), ("DOC-1", []))
        self.validator.validate(document)

    def test_takes_pictures_as_files_to_write(self):
        write = {"type": "writeFile", "resource": "r", "targetPath": "out.PNG"}
        self.assertTrue(self.validator.is_valid(model(commands=[write])))

    def test_tells_the_kinds_apart(self):
        kinds = {"model": self.schema["then"], "operator": self.schema["else"]}
        self.assertEqual(kinds, {kind: {"$ref": f"#/$defs/{kind}"} for kind in kinds})
        is_model = self.validator.evolve(schema=self.schema["if"])
        for document, kind in KINDS:
            with self.subTest(json.dumps(document)):
                self.assertEqual(is_model.is_valid(document), kind == "model")
                self.assertFalse(self.validator.is_valid(document))

    def test_takes_what_print_complete_and_to_model_print(self):
        firsts = [json.dumps(cases[0]) for cases in cases_by_file().values()]
        for option in ("--print-complete", "--to-model"):
            done = start(["validate", "-q", option, *firsts])
            self.assertEqual((done.stderr, done.returncode), (b"", 0))
            printed = documents_in(done.stdout.decode())
            self.assertEqual(len(printed), len(firsts))
            for document in printed:
                with self.subTest(option, document=json.dumps(document)):
                    self.validator.validate(document)

    def test_knows_both_spellings_of_every_name(self):
        definitions = self.schema["$defs"]
        types = definitions["operator"]["else"]["properties"]["type"]["enum"]
        for name, description in operators().items():
            for kind in ("", "model-"):
                fields = definitions[f"{kind}{name}-fields"]["properties"]
                self.assertEqual(list(fields), [field["name"] for field in description["fields"]])
            self.assertIn(name, types)
            self.assertIn(f"DML_OPERATOR_{name}", types)
            elements = {name for row in description["support"] for name in row["input"]}
            self.assertLessEqual(elements, set(definitions["data-type"]["enum"]))
        functions = definitions["REDUCE-fields"]["properties"]["Function"]["enum"]
        self.assertIn("LOG_SUM_EXP", functions)
        self.assertIn("DML_REDUCE_FUNCTION_LOG_SUM_EXP", functions)


if __name__ == "__main__":
    unittest.main()
