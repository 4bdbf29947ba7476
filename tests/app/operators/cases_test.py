# SPDX-License-Identifier: Apache-2.0
"""Runs testdata/operators and reads testdata/invalid. A new case is a line; it needs no code.

operators/NAME.jsonl   cases of that operator, as `dmlop batch --check` takes them: "name", "type",
                       "desc", "bindings" and "expect"; a name that begins with chromium_COMMIT or
                       webnn is of what DirectML gave in Chromium's tests of WebNN, or was said
                       to give there: the rule confirmed, or kept where that device was off
invalid/*.jsonl        broken documents: the "rule" that each breaks, the "document", the "message"
                       of `dmlop validate` behind the place, or a list of them, and further "args"
invalid/RULE[-WHAT].json   a document whose fault is in how it is written, or that has many lines;
                           the .txt beside it is all that `dmlop validate` prints
"""

import json
import re
import sys
import unittest

sys.dont_write_bytecode = True
from program import ROOT, ProgramTest, operators, read_lines, start

OPERATORS = ROOT / "testdata/operators"
INVALID = ROOT / "testdata/invalid"


class CasesTest(unittest.TestCase):
    maxDiff = None

    def test_every_case_gives_what_it_expects(self):
        for path in sorted(OPERATORS.glob("*.jsonl")):
            with self.subTest(path.name):
                done = start(["batch", path, "--check", "--bits", "-k", "--report", "-"])
                self.assertEqual(done.returncode, 0, done.stderr.decode())
                cases = [json.loads(line) for line in done.stdout.splitlines()]
                self.assertEqual({case["status"] for case in cases}, {"done"})
                names = [case["name"] for case in cases]
                self.assertEqual(len(set(names)), len(names))

    def test_every_operator_has_cases_in_its_file(self):
        for place, case in read_lines("operators"):
            with self.subTest(place):
                operator = case.get("type", case.get("Type")).removeprefix("DML_OPERATOR_").lower()
                self.assertEqual(place.split(".")[0], operator)
        files = {path.stem for path in OPERATORS.glob("*.jsonl")}
        self.assertEqual(files, {name.lower() for name in operators()})


class Printed:
    """A document in one line, and where each value and its key begin, by JSON pointer."""

    def __init__(self, document):
        self.text = ""
        self.places = {}
        self.add(document, "")

    def add(self, value, pointer):
        self.places.setdefault(pointer, []).append(len(self.text))
        if not isinstance(value, (dict, list)):
            self.text += json.dumps(value, ensure_ascii=False)
            return
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        self.text += opening
        for i, key in enumerate(value):
            self.text += ", " if i > 0 else ""
            here = f"{pointer}/{key if opening == '{' else i}"
            if opening == "{":
                # A null member may be left out; then the object that lacks it is reported.
                self.places[here] = [*self.places[pointer]] if value[key] is None else []
                self.places[here].append(len(self.text))
                self.text += json.dumps(key, ensure_ascii=False) + ": "
            self.add(value[key] if opening == "{" else key, here)
        self.text += closing

    def places_of(self, pointer):
        """The places for a missing value: where the object that lacks it begins, or a member of it, which may be
        reported instead."""
        if pointer in self.places:
            return self.places[pointer]
        while pointer not in self.places:
            pointer = pointer.rpartition("/")[0]
        members = [place for key, places in self.places.items() if key.rpartition("/")[0] == pointer for place in places]
        return self.places[pointer] + members


def message_of(fault):
    pointer = fault["pointer"] + ": " if fault["pointer"] else ""
    return f"{fault['severity']}: {pointer}{fault['message']} [{fault['code']}]"


def listed(message):
    return message if isinstance(message, list) else [message]


class InvalidTest(ProgramTest):
    @classmethod
    def setUpClass(cls):
        """Reads all documents with the same arguments in one process."""
        cls.cases = [(place, case, Printed(case["document"])) for place, case in read_lines("invalid")]
        cls.verdicts = {}
        for args in {tuple(case.get("args", [])) for _, case, _ in cls.cases}:
            own = [(place, printed.text) for place, case, printed in cls.cases
                   if tuple(case.get("args", [])) == args]
            done = start(["validate", "--format", "json", *args, *[text for _, text in own]])
            lines = done.stdout.splitlines()
            assert done.returncode == 3 and len(lines) == len(own), done.stderr.decode()
            cls.verdicts |= {place: json.loads(line) for (place, _), line in zip(own, lines)}

    def test_validate_says_what_is_wrong(self):
        for place, case, _ in self.cases:
            with self.subTest(place):
                faults = self.verdicts[place]["diagnostics"]
                self.assertEqual([message_of(fault) for fault in faults], listed(case["message"]))
                self.assertIn(case["rule"], [fault["code"] for fault in faults])
                self.assertFalse(self.verdicts[place]["valid"])

    def test_validate_says_where_it_is(self):
        for place, _, printed in self.cases:
            for fault in self.verdicts[place]["diagnostics"]:
                with self.subTest(place, pointer=fault["pointer"]):
                    self.assertEqual(fault["line"], 1)
                    self.assertIn(fault["column"] - 1, printed.places_of(fault["pointer"]))

    def test_text_shows_the_place_in_files(self):
        names = sorted(path.name for path in INVALID.glob("*.json"))
        texts = [(INVALID / name).with_suffix(".txt").read_text(errors="replace") for name in names]
        done = start(["validate", *names], cwd=INVALID)
        self.assertEqual(done.stderr.decode(errors="replace"), "".join(texts))
        self.assertEqual((done.stdout, done.returncode), (b"", 3))
        done = start(["validate", "--format", "json", *names], cwd=INVALID)
        for name, text, line in zip(names, texts, done.stdout.splitlines(), strict=True):
            verdict = json.loads(line)
            with self.subTest(name):
                rule = re.match("[A-Z]+-[0-9]+", name)[0]
                self.assertIn(rule, [fault["code"] for fault in verdict["diagnostics"]])
                for fault in verdict["diagnostics"]:
                    place = f"{name}:{fault['line']}:{fault['column']}: "
                    self.assertIn(place + message_of(fault) + "\n", text)

    def test_every_rule_of_an_operator_is_broken_by_a_document(self):
        rules = {rule["code"] for info in operators().values() for rule in info["rules"]}
        self.assertEqual(rules - {case["rule"] for _, case, _ in self.cases}, set())

    def test_every_rule_is_told_in_a_test(self):
        """Includes rules of models, graphs and files, which other tests cover."""
        def codes_in(folders, suffixes, pattern):
            return {code for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in suffixes
                    for code in re.findall(pattern, path.read_text(errors="replace"))}
        code = "[A-Z][A-Z0-9]+-[0-9]+"
        told = codes_in(("core", "app"), (".h", ".cpp"), rf'"({code})"')
        self.assertGreater(len(told), 200)
        self.assertEqual(told - codes_in(("tests", "testdata/invalid"), (".py", ".cpp", ".jsonl", ".txt"), rf"\b{code}\b"), set())

    def test_hosts_of_activations_name_the_rules_of_those(self):
        hosts = [info for info in operators().values()
                 if {"FusedActivation", "ActivationDescs"} & {field["name"] for field in info["fields"]}]
        self.assertEqual(len(hosts), 11)
        for info in hosts:
            with self.subTest(info["name"]):
                self.assertLessEqual({"FUS-2", "FUS-4", "ACT-2"}, {rule["code"] for rule in info["rules"]})

    def test_nothing_is_written_for_what_is_invalid(self):
        lines = []
        for _, case, _ in self.cases:
            document = case["document"]
            files = {"OutputTensor": f"{len(lines)}.npy"}
            if document.get("type") in ("SPLIT", "DML_OPERATOR_SPLIT"):
                files = {"OutputTensors": [f"{len(lines)}.npy"]}
            if "args" not in case:
                lines.append(json.dumps({"bindings": files} | document))
        self.write("cases.jsonl", "\n".join(lines))
        report = self.text_of("batch", "cases.jsonl", "-k", "-q", "--report", "-", status=3)
        statuses = [json.loads(line)["exitStatus"] for line in report.splitlines()]
        self.assertEqual(len(statuses), len(lines))
        self.assertLessEqual(set(statuses), {2, 3})
        self.assertEqual(self.files(), ["cases.jsonl"])


if __name__ == "__main__":
    unittest.main()
