"""`dmlop schema` against an independent validator: it takes every valid document, and refuses those
whose fault is one of structure."""

import json
import re
import sys
import unittest
import warnings

sys.dont_write_bytecode = True
from program import ROOT, start

warnings.simplefilter("ignore", DeprecationWarning)
from jsonschema import Draft202012Validator

TESTDATA = ROOT / "testdata"

# What a schema cannot tell: text that is no JSON, keys that stand twice, and whatever depends on
# other values or on files.
STRUCTURAL = re.compile("(JSON-[234]|DOC-[12]|DISP)")
BEYOND_A_SCHEMA = {
    "JSON-2-count.json": "a count may stand for an array that is left out, if it is not too large",
    "DOC-2-element.json": "the limits of an element are those of its tensor's type",
}


def parsed(path):
    """The document without the comments and trailing commas that dmlop takes and Python does not."""
    text = path.read_text(encoding="utf-8-sig")
    token = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.S)
    text = token.sub(lambda match: match[1] or " ", text)
    token = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[\]}])', re.S)
    return json.loads(token.sub(lambda match: match[1] or "", text))


class SchemaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = start(["schema"])
        cls.schema = json.loads(done.stdout)
        cls.validator = Draft202012Validator(cls.schema)

    def test_is_a_schema(self):
        Draft202012Validator.check_schema(self.schema)

    def test_takes_every_valid_document(self):
        paths = [*TESTDATA.glob("cases/*/*.json"), *TESTDATA.glob("models/*.json"),
                 *TESTDATA.glob("demo/*.json")]
        self.assertGreater(len(paths), 100)
        for path in sorted(paths):
            with self.subTest(path.name):
                self.validator.validate(parsed(path))

    def test_refuses_every_document_of_wrong_structure(self):
        refused = 0
        for path in sorted(TESTDATA.glob("invalid/*.json")):
            if not STRUCTURAL.match(path.name) or path.name in BEYOND_A_SCHEMA:
                continue
            with self.subTest(path.name):
                self.assertFalse(self.validator.is_valid(parsed(path)))
                refused += 1
        self.assertGreater(refused, 15)

    def test_takes_what_print_complete_and_to_model_print(self):
        for path in sorted(TESTDATA.glob("cases/*/*.json")):
            for option in ("--print-complete", "--to-model"):
                with self.subTest(path.name, option=option):
                    done = start(["validate", path.name, option], cwd=path.parent)
                    self.assertEqual((done.stderr, done.returncode), (b"", 0))
                    self.validator.validate(json.loads(done.stdout))

    def test_knows_both_spellings_of_every_name(self):
        for description in json.loads(start(["ops", "--format", "json"]).stdout):
            name = description["name"]
            fields = self.schema["$defs"][f"{name} fields"]["properties"]
            self.assertEqual(list(fields), [field["name"] for field in description["fields"]])
            both = self.schema["$defs"]["operator"]["properties"]["type"]["enum"]
            self.assertIn(name, both)
            self.assertIn(f"DML_OPERATOR_{name}", both)
        functions = self.schema["$defs"]["REDUCE fields"]["properties"]["Function"]["enum"]
        self.assertIn("LOG_SUM_EXP", functions)
        self.assertIn("DML_REDUCE_FUNCTION_LOG_SUM_EXP", functions)


if __name__ == "__main__":
    unittest.main()
