"""Runs testdata/cases and testdata/invalid. A new case is a file; it needs no code.

cases/OPERATOR/CASE.json        a descriptor with its inputs; CASE.txt is what `dmlop run` prints
invalid/RULE[-WHAT].json        a descriptor that breaks that rule; RULE[-WHAT].txt is what
                                `dmlop validate` reports; .args holds further arguments
"""

import json
import re
import shlex
import sys
import unittest

sys.dont_write_bytecode = True
from program import ROOT, start

CASES = ROOT / "testdata/cases"
INVALID = ROOT / "testdata/invalid"


class CasesTest(unittest.TestCase):
    maxDiff = None

    def test_run_prints_what_the_reference_states(self):
        descriptors = sorted(CASES.glob("*/*.json"))
        self.assertGreater(len(descriptors), 80)
        for descriptor in descriptors:
            name = descriptor.relative_to(CASES)
            with self.subTest(name):
                done = start(["run", name], cwd=CASES)
                self.assertEqual(done.stderr.decode(), "")
                self.assertEqual(done.stdout.decode(), descriptor.with_suffix(".txt").read_text())
                self.assertEqual(done.returncode, 0)

    def test_every_case_has_its_text_and_every_text_its_case(self):
        for folder in (CASES, INVALID):
            for path in folder.rglob("*.*"):
                twin = path.with_suffix(".txt" if path.suffix == ".json" else ".json")
                self.assertTrue(twin.exists(), twin)

    def test_all_cases_are_valid_documents(self):
        names = [str(p.relative_to(CASES)) for p in sorted(CASES.glob("*/*.json"))]
        done = start(["validate", "--format", "json", *names], cwd=CASES)
        verdicts = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([v["document"] for v in verdicts if not v["valid"]], [])
        self.assertEqual(len(verdicts), len(names))
        self.assertEqual(done.returncode, 0)


class InvalidTest(unittest.TestCase):
    maxDiff = None

    def invalid(self):
        for descriptor in sorted(INVALID.glob("*.json")):
            options = descriptor.with_suffix(".args")
            yield descriptor, shlex.split(options.read_text()) if options.exists() else []

    def test_validate_reports_the_rule_that_the_file_name_says(self):
        for descriptor, options in self.invalid():
            with self.subTest(descriptor.name):
                done = start(["validate", descriptor.name, *options], cwd=INVALID)
                self.assertEqual(
                    done.stderr.decode(errors="replace"),
                    descriptor.with_suffix(".txt").read_text(errors="replace"),
                )
                self.assertEqual((done.stdout, done.returncode), (b"", 3))

    def test_json_verdict_has_the_code_and_the_same_places(self):
        for descriptor, options in self.invalid():
            with self.subTest(descriptor.name):
                arguments = ["validate", descriptor.name, "--format", "json", *options]
                done = start(arguments, cwd=INVALID)
                verdict = json.loads(done.stdout)
                self.assertFalse(verdict["valid"])
                rule = re.match("[A-Z]+-[0-9]+", descriptor.name)[0]
                self.assertIn(rule, [d["code"] for d in verdict["diagnostics"]])
                text = descriptor.with_suffix(".txt").read_text(errors="replace")
                for d in verdict["diagnostics"]:
                    place = f"{descriptor.name}:{d['line']}:{d['column']}: {d['severity']}: "
                    pointer = d["pointer"] + ": " if d["pointer"] else ""
                    self.assertIn(f"{place}{pointer}{d['message']} [{d['code']}]\n", text)

    def test_run_refuses_before_it_looks_at_files(self):
        """What is invalid stays so with any file bound, and nothing is written."""
        for descriptor, options in self.invalid():
            with self.subTest(descriptor.name):
                arguments = ["run", descriptor.name, *options, "-o", "must-not-appear.npy"]
                done = start(arguments, cwd=INVALID)
                # A document that leaves inputs unbound may be refused for that.
                self.assertIn(done.returncode, (2, 3))
                self.assertEqual(done.stdout, b"")
                self.assertFalse((INVALID / "must-not-appear.npy").exists())


if __name__ == "__main__":
    unittest.main()
