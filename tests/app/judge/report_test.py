# SPDX-License-Identifier: Apache-2.0
"""dmlop report, and what it reads: the reports of batches on a device that is right, wrong, or has not written all."""

import csv
import html
import io
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree as xml

import numpy as np

sys.dont_write_bytecode = True
from program import ProgramTest
from schema_verdicts import validator_of

KINDS = ["ELEMENT_WISE_IDENTITY", "ELEMENT_WISE_ABS", "ELEMENT_WISE_EXP"]
TYPES = ["FLOAT32", "FLOAT16"]
SIZES = [4, 8]

# How much of the table is hidden, the width that the page needs and has, what it loads, and what it could load.
MEASURE = """onload = () => document.body.textContent = JSON.stringify([...document.querySelectorAll("iframe")].map(frame => {
  const page = frame.contentDocument;
  page.querySelectorAll("details").forEach(each => each.open = true);
  const table = page.querySelector(".scroll");
  return {hidden: table.scrollWidth - table.clientWidth, needs: page.documentElement.scrollWidth,
          width: page.documentElement.clientWidth,
          loads: frame.contentWindow.performance.getEntriesByType("resource").length,
          links: page.querySelectorAll("[src], link[href]").length, pictures: page.querySelectorAll("svg").length};
}));"""


def case(kind, data_type, number):
    return {"name": f"{kind.lower()} <{number}> & \"{data_type}\"", "type": kind,
            "desc": {"InputTensor": {"DataType": data_type, "Sizes": SIZES}},
            "bindings": {"InputTensor": {"random": "uniform", "seed": number, "low": 1, "high": 2},
                         "OutputTensor": f"golden/{number}.npy"}}


class JudgedTest(ProgramTest):
    """The device is off in the last 5 columns of the second case, by 3 ULP, and has NaN in the fourth one."""

    def setUp(self):
        super().setUp()
        self.cases = [case(kind, data_type, i) for i, (kind, data_type) in enumerate(
            (kind, data_type) for kind in KINDS for data_type in TYPES)]
        self.write("cases.jsonl", "".join(json.dumps(each) + "\n" for each in self.cases))
        self.run_program("batch", "cases.jsonl", "--report", "made.jsonl")
        shutil.copytree(self.folder / "golden", self.folder / "device")
        for number, change in ((1, self.nudge), (3, self.spoil)):
            path = self.folder / f"device/{number}.npy"
            np.save(path, change(np.load(path)))
        self.judge("good", "golden", 0)
        self.judge("bad", "device", 1)

    @staticmethod
    def nudge(values):
        bits = values.view("u2").copy()
        bits[:, 3:] += 3
        return bits.view("f2")

    @staticmethod
    def spoil(values):
        values = values.copy()
        values[2, 5] = np.nan
        return values

    def judge(self, name, folder, status, *options):
        return self.errors_of("batch", "cases.jsonl", "--judge", "--output-path", folder, "-k", "--report",
                              f"{name}.jsonl", *options, status=status)

    def lines(self, name):
        return [json.loads(line) for line in (self.folder / f"{name}.jsonl").read_text().splitlines()]


class ReportTest(JudgedTest):
    def test_a_line_has_every_figure_of_its_case(self):
        line = self.lines("bad")[1]
        compared = line["comparisons"][0]
        self.assertEqual((line["operator"], line["name"], line["status"]),
                         (KINDS[0], self.cases[1]["name"], "different"))
        self.assertEqual((compared["dataType"], compared["sizes"], compared["elementCount"], compared["differenceCount"]),
                         ("FLOAT16", SIZES, 32, 20))
        self.assertEqual((compared["maxUlpError"], compared["medianUlpError"], compared["p99UlpError"]), (3, 3, 3))
        self.assertEqual([(row["mostUlp"], row["count"]) for row in compared["ulpHistogram"]], [(0, 12), (4, 20)])
        self.assertEqual(compared["bias"], {"above": 20, "below": 0, "towardZero": 0})
        self.assertEqual(compared["map"]["differenceCounts"], [[0] * 3 + [1] * 5] * 4)
        self.assertEqual(self.lines("good")[1]["comparisons"][0]["medianUlpError"], 0)
        self.assertNotIn("map", self.lines("good")[1]["comparisons"][0])

    def test_the_schema_accepts_what_is_written_and_nothing_else(self):
        os.remove(self.folder / "device/5.npy")
        np.save(self.folder / "device/4.npy", np.zeros((1, 2), "f4"))
        self.judge("found", "device", 5, "--diagnose", "--tolerance", "sums")
        self.write("cases.jsonl", json.dumps(self.cases[0]) + "\n" + json.dumps(self.cases[1] | {"desc": {}}) + "\n")
        self.judge("broken", "golden", 3)
        schema = json.loads(self.text_of("schema"))
        validator = validator_of({"$schema": schema["$schema"], "$ref": "#/$defs/report-line", "$defs": schema["$defs"]})
        lines = [line for name in ("made", "good", "bad", "found", "broken") for line in self.lines(name)]
        self.assertEqual({line["status"] for line in lines}, {"done", "different", "missing", "failed"})
        for line in lines:
            self.assertEqual([error.message for error in validator.iter_errors(line)], [])
        found = self.lines("found")[1]
        for wrong in ({"status": "fine"}, {"line": 0}, {"colour": 1}, {"comparisons": [{"tensor": "x"}]}, {"exitStatus": 6},
                      {"diagnoses": [found["diagnoses"][0] | {"verdict": "guilty"}]}, {"inputs": [{"tensor": "x"}]}):
            self.assertFalse(validator.is_valid(found | wrong), wrong)

    def test_the_table_in_every_form(self):
        forms = {form: self.text_of("report", "bad.jsonl", "--format", form, "--by", "operator")
                 for form in ("csv", "markdown", "json", "table")}
        rows = list(csv.reader(io.StringIO(forms["csv"])))
        self.assertEqual(rows[0], ["operator", "cases", "pass", "differ", "failed", "missing", "ULP", "units", "furthest off"])
        self.assertEqual([row[:7] for row in rows[1:]], [
            ["ELEMENT_WISE_ABS", "2", "1", "1", "0", "0", "0"], ["ELEMENT_WISE_EXP", "2", "2", "0", "0", "0", "0"],
            ["ELEMENT_WISE_IDENTITY", "2", "1", "1", "0", "0", "3"], ["all", "6", "4", "2", "0", "0", "3"]])
        self.assertEqual(rows[3][-1], self.cases[1]["name"])
        markdown = [[cell.strip() for cell in line.split("|")[1:-1]] for line in forms["markdown"].splitlines()]
        self.assertEqual([markdown[0], *markdown[2:]], rows)
        for row, line in zip(rows, forms["table"].splitlines()):
            self.assertEqual(line.split()[:3], row[:3])
        groups = json.loads(forms["json"])
        self.assertEqual((groups["by"], [group["operator"] for group in groups["groups"]]),
                         (["operator"], sorted(KINDS)))
        self.assertEqual([group["devices"][0]["passes"] for group in groups["groups"]], [1, 2, 1])
        self.assertEqual(groups["total"][0]["differs"], 2)

    def test_several_devices_stand_beside_one_another(self):
        groups = json.loads(self.text_of("report", "good.jsonl", "bad.jsonl", "--format", "json"))
        self.assertEqual([(group["operator"], group["type"]) for group in groups["groups"]],
                         sorted((kind, data_type) for kind in KINDS for data_type in TYPES))
        self.assertEqual([(one["device"], one["differs"]) for one in groups["total"]], [("good", 0), ("bad", 2)])
        titles = self.text_of("report", "good.jsonl", "bad.jsonl").splitlines()[0]
        self.assertLess(titles.index("good pass"), titles.index("bad pass"))

    def test_every_key(self):
        for key, groups in (("operator", 3), ("type", 2), ("sizes", 1), ("name", 6), ("tolerance", 1), ("status", 2)):
            found = json.loads(self.text_of("report", "bad.jsonl", "--by", key, "--format", "json"))
            self.assertEqual(len(found["groups"]), groups, key)
        self.assertIn("'colour' is not one of operator, type", self.errors_of("report", "bad.jsonl", "--by", "colour", status=2))

    def test_junit(self):
        self.run_program("report", "bad.jsonl", "--format", "junit", "-o", "junit.xml")
        suite = xml.parse(self.folder / "junit.xml").getroot().find("testsuite")
        self.assertEqual([suite.get(name) for name in ("name", "tests", "failures", "errors", "skipped")],
                         ["bad", "6", "2", "0", "0"])
        cases = suite.findall("testcase")
        self.assertEqual([one.get("name") for one in cases], [each["name"] for each in self.cases])
        self.assertEqual([len(one.findall("failure")) for one in cases], [0, 1, 0, 1, 0, 0])
        self.assertIn("20 of 32 elements differ", cases[1].find("failure").get("message"))

    def test_what_is_no_report(self):
        good = (self.folder / "good.jsonl").read_text().splitlines()[0]
        for name, text, said in (
                ("cut", good + "\n" + good[:40] + "\n", "cut.jsonl:2: not JSON, or cut off"),
                ("other", "\n" + json.dumps(self.cases[0]) + "\n", "other.jsonl:2: no line of a report"),
                ("status", json.dumps({"line": 1, "status": "fine"}), "status.jsonl:1: no line of a report"),
                ("array", "[1, 2]\n", "array.jsonl:1: no line of a report"),
                ("empty", "\n", "empty.jsonl: has no line of a report"), ("deep", "[" * 100000, "deep.jsonl:1: not JSON")):
            self.write(f"{name}.jsonl", text)
            self.assertIn(said, self.errors_of("report", "good.jsonl", f"{name}.jsonl", "-o", "r.html", status=3))
        self.assertIn("none.jsonl", self.errors_of("report", "none.jsonl", status=5))
        self.assertIn("is read as a report", self.errors_of("report", "good.jsonl", "-o", "good.jsonl", status=2))
        self.assertFalse((self.folder / "r.html").exists())

    def test_members_of_other_types_are_taken_for_missing(self):
        line = {"line": 1, "status": "different", "name": 7, "operator": [], "descriptor": 3, "seconds": "x", "error": {},
                "comparisons": [5, {"units": 3, "sizes": "x", "tolerance": [], "where": 1, "map": {"differenceCounts": 2},
                                    "ulpHistogram": {"a": 1}, "worst": [], "causes": {}}]}
        self.write("odd.jsonl", json.dumps(line))
        for form in ("table", "csv", "markdown", "json", "junit", "html"):
            self.run_program("report", "odd.jsonl", "--format", form, "--by", ",".join(
                ("operator", "type", "sizes", "name", "tolerance", "where", "cause", "status")))

    def test_cases_of_one_name_are_told_apart(self):
        lines = [json.dumps(line | {"name": "conv"}) for line in self.lines("bad")]
        self.write("same.jsonl", "\n".join(lines))
        names = {f"conv, line {line['line']}" for line in self.lines("bad")}
        cases = xml.fromstring(self.text_of("report", "same.jsonl", "--format", "junit")).iter("testcase")
        self.assertEqual({one.get("name") for one in cases}, names)

    def test_a_case_has_the_type_and_sizes_of_its_output_whatever_a_device_has(self):
        self.write("cases.jsonl", json.dumps(
            {"type": "ARGMAX", "Axes": [1], "AxisDirection": "INCREASING",
             "InputTensor": {"DataType": "FLOAT16", "Sizes": [3, 4]}, "OutputTensor": {"DataType": "UINT32", "Sizes": [3, 1]},
             "bindings": {"InputTensor": {"random": "uniform", "seed": 1}, "OutputTensor": "golden/a.npy"}}))
        self.run_program("batch", "cases.jsonl")
        self.judge("right", "golden", 0)
        self.judge("silent", "device", 5)
        self.save(**{"device/a": np.zeros((2, 2), "f4")})
        self.judge("odd", "device", 1)
        rows = list(csv.reader(io.StringIO(self.text_of(
            "report", "right.jsonl", "silent.jsonl", "odd.jsonl", "--format", "csv", "--by", "type,sizes"))))
        self.assertEqual([row[:2] for row in rows[1:]], [["UINT32", "3x1"], ["all", ""]])

    def test_devices_of_one_name_are_told_apart_by_their_folders(self):
        for name in ("one", "other"):
            (self.folder / name).mkdir()
            shutil.copy(self.folder / "bad.jsonl", self.folder / name / "report.jsonl")
        found = json.loads(self.text_of("report", "one/report.jsonl", "other/report.jsonl", "good.jsonl", "--format", "json"))
        self.assertEqual([each["device"] for each in found["total"]], ["one/report", "other/report", "good"])

    def test_the_page_draws_each_plane_that_differs(self):
        right = np.zeros((2, 3, 4, 5), "f4")
        wrong = right.copy()
        wrong[1, 2, :, 3:] = 1
        wrong[0, 1, 2] = 1
        self.write("cases.jsonl", json.dumps(
            {"type": "ELEMENT_WISE_ABS", "InputTensor": {"DataType": "FLOAT32", "Sizes": right.shape},
             "bindings": {"InputTensor": {"value": 0}, "OutputTensor": "golden/planes.npy"}}))
        self.save(**{"device/planes": wrong})
        self.judge("planes", "device", 1)
        page = self.text_of("report", "planes.jsonl", "--format", "html")
        drawn = re.search(r'<div class="planes">(.*?)</div>', page, re.S)[1].split("</svg>")[:-1]
        self.assertEqual([re.findall(r">([^<>]+)</text>", plane) for plane in drawn],
                         [[title, "0", "3", "0", "4"] for title in ("[0, 1, *, *]", "[1, 2, *, *]")])
        self.assertEqual([plane.count('class="cell"') for plane in drawn], [5, 8])

    def test_the_page(self):
        page = self.text_of("report", "bad.jsonl", "good.jsonl", "--format", "html")
        self.assertEqual(re.findall(r'(?:src|href)\s*=|url\(|@import|<script', page), [])
        text = html.unescape(re.sub(r"<[^>]*>", "", page))
        for number in (1, 3):
            self.assertIn(self.cases[number]["name"], text)
        self.assertIn("20 of 32 elements differ", text)
        self.assertIn("FLOAT16 4x8: 1 mismatch of NaN or infinity\n", text)
        self.assertLess(text.index("What differs on bad"), text.index(self.cases[1]["name"] + " "))

    def test_the_page_fits_narrow_and_wide_windows(self):
        if shutil.which("chromium") is None:
            self.skipTest("chromium is not installed")
        self.run_program("report", "bad.jsonl", "good.jsonl", "--format", "html", "-o", "page.html")
        frames = "".join(f'<iframe src="page.html" style="width: {width}px; border: 0; color-scheme: {scheme}"></iframe>'
                         for scheme, width in (("light", 400), ("dark", 1280)))
        self.write("measure.html", f"<body>{frames}<script>{MEASURE}</script></body>")
        shown = subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
             f"--user-data-dir={self.folder}/chromium", "--dump-dom", (self.folder / "measure.html").as_uri()],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60, check=True).stdout.decode()
        found_in_windows = json.loads(html.unescape(re.search(r"<body>(.*)</body>", shown, re.S)[1]))
        self.assertEqual(found_in_windows[0]["hidden"], 0)  # in the narrow one
        for found in found_in_windows:
            self.assertEqual((found["needs"], found["loads"], found["links"]), (found["width"], 0, 0))
            self.assertGreaterEqual(found["pictures"], 3)


class PartTest(JudgedTest):
    """A device that has computed a part of the suite."""

    def setUp(self):
        super().setUp()
        for number in (0, 2, 4):
            os.remove(self.folder / f"device/{number}.npy")

    def test_what_is_missing_is_a_number(self):
        said = self.judge("part", "device", 1, "--skip-missing")
        self.assertIn("dmlop: 3 files of outputs are not there\n", said)
        self.assertRegex(said, r"dmlop: 6 cases in .*: 1 done, 2 different, 3 missing\n$")
        self.assertEqual([line["status"] for line in self.lines("part")],
                         ["missing", "different", "missing", "different", "missing", "done"])
        total = json.loads(self.text_of("report", "part.jsonl", "--format", "json"))["total"][0]
        self.assertEqual((total["passes"], total["differs"], total["failed"], total["missing"]), (1, 2, 0, 3))
        suite = xml.fromstring(self.text_of("report", "part.jsonl", "--format", "junit")).find("testsuite")
        self.assertEqual(suite.get("skipped"), "3")
        for number in (1, 3):
            os.remove(self.folder / f"device/{number}.npy")
        self.judge("part", "device", 0, "--skip-missing")
        os.remove(self.folder / "device/5.npy")
        said = self.judge("part", "device", 5, "--skip-missing")
        self.assertIn("dmlop: 6 files of outputs are not there, so nothing is judged; --allow-empty takes that\n", said)
        self.judge("part", "device", 0, "--skip-missing", "--allow-empty")

    def test_without_the_option_it_fails_behind_what_differs(self):
        said = self.judge("part", "device", 5)
        order = [said.index(f"cases.jsonl:{line}") for line in (2, 4, 1, 3, 5)]
        self.assertLess(max(order[:2]), min(order[2:]))
        self.assertIn("dmlop: 3 files of outputs are not there; --skip-missing leaves them out\n", said)
        self.assertRegex(said, r"1 done, 2 different, 3 missing\n$")
        suite = xml.fromstring(self.text_of("report", "part.jsonl", "--format", "junit")).find("testsuite")
        self.assertEqual([suite.get(name) for name in ("failures", "errors", "skipped")], ["2", "3", "0"])

    def test_a_case_may_lack_one_of_its_outputs(self):
        split = {"type": "SPLIT", "Axis": 0, "OutputCount": 2, "InputTensor": {"DataType": "FLOAT32", "Sizes": [4]},
                 "bindings": {"InputTensor": [1, 2, 3, 4], "OutputTensors": ["golden/a.npy", "golden/b.npy"]}}
        self.write("cases.jsonl", json.dumps(split))
        self.save(**{"device/b": np.array([3, 5], "f4")})
        said = self.judge("part", "device", 1, "--skip-missing")
        self.assertIn("dmlop: 1 file of outputs is not there\n", said)
        self.save(**{"device/b": np.array([3, 4], "f4")})
        self.judge("part", "device", 0, "--skip-missing")
        self.assertEqual((self.lines("part")[0]["status"], self.lines("part")[0]["missing"]), ("done", 1))

    def test_the_folder_may_follow(self):
        for option in ("--check", "--judge"):
            self.run_program("batch", "cases.jsonl", option, "golden")
            self.run_program("batch", option, "cases.jsonl", "golden", "--skip-missing")
            self.errors_of("batch", "cases.jsonl", option, "device", "-k", "--skip-missing", status=1)
            self.assertIn("excludes", self.errors_of("batch", "cases.jsonl", option, "golden", "--output-path", "device", status=2))
        self.assertIn("'new' is one argument too many; --output-path new writes to that folder",
                      self.errors_of("batch", "cases.jsonl", "new", status=2))

    def test_it_needs_a_comparison(self):
        self.assertIn("--skip-missing needs --check or --judge",
                      self.errors_of("batch", "cases.jsonl", "--skip-missing", status=2))


class SuiteTest(JudgedTest):
    def test_only_one_operator(self):
        for name in ("ELEMENT_WISE_ABS", "element_wise_abs", "DML_OPERATOR_ELEMENT_WISE_ABS"):
            self.assertRegex(self.judge("part", "device", 1, "--only", name), "2 cases in .*: 1 done, 1 different\n$")
        self.assertRegex(self.judge("part", "device", 0, "--only", "ELEMENT_WISE_ABS", "--shard", "1/2"), "1 case in")
        self.assertIn("has no case of GEMM", self.judge("part", "device", 2, "--only", "GEMM"))
        self.assertIn("'ELEMENT_WISE_APS' is not one of dmlop's operators", self.judge("part", "device", 2, "--only", "ELEMENT_WISE_APS"))
        cases = self.text_of("batch", "--expand", "cases.jsonl", "--only", "ELEMENT_WISE_EXP")
        self.assertEqual([json.loads(line) for line in cases.splitlines()], self.cases[4:])

    def test_complete_cases_need_json_and_tensors_alone(self):
        sweep = {"name": "{/desc/Function}", "type": "REDUCE", "Function": "SUM", "Axes": [0], "tolerance": {"ulp": 1},
                 "InputTensor": {"DataType": "FLOAT32", "Sizes": [3, 2]},
                 "bindings": {"InputTensor": {"random": "uniform", "seed": 1}, "OutputTensor": "set/{case}.npy"}}
        sweep = {key: value for key, value in sweep.items() if key not in ("Function", "Axes", "InputTensor")} | {
            "desc": {key: sweep[key] for key in ("Function", "Axes", "InputTensor")}, "sweep": {"/desc/Function": ["SUM", "MAX"]}}
        (self.folder / "sub").mkdir()
        self.write("sub/sweep.jsonl", json.dumps(sweep))
        text = self.text_of("batch", "--expand", "--complete", "sub/sweep.jsonl")
        self.write("sub/cases.jsonl", text)
        self.write("sub/plain.jsonl", self.text_of("batch", "--expand", "sub/sweep.jsonl"))
        for number, line in enumerate(map(json.loads, text.splitlines())):
            self.assertEqual(line["bindings"], {"InputTensor": f"set/{number}.InputTensor.npy", "OutputTensor": f"set/{number}.npy"})
            self.assertEqual((line["name"], line["tolerance"], line["desc"]["OutputTensor"]["Sizes"]),
                             (["SUM", "MAX"][number], {"ulp": 1}, [1, 2]))
        self.run_program("batch", "sub/plain.jsonl", "--inputs")
        self.run_program("batch", "sub/cases.jsonl", "--check")
        self.assertIn("--complete", self.errors_of("batch", "cases.jsonl", "--complete", status=2))

    def test_equal_inputs_are_stored_once(self):
        same = [each | {"bindings": each["bindings"] | {"InputTensor": {"random": "uniform", "seed": 7}}}
                for each in self.cases]
        self.write("cases.jsonl", "".join(json.dumps(each) + "\n" for each in same))
        for _ in range(2):  # and again, over what is shared
            self.run_program("batch", "cases.jsonl", "--inputs")
            inputs = [os.stat(self.folder / f"golden/{number}.InputTensor.npy") for number in range(6)]
            self.assertEqual({each.st_nlink for each in inputs}, {3})  # of three cases of a type
            self.assertEqual(len({each.st_ino for each in inputs}), 2)
            self.assertEqual(len(os.listdir(self.folder / "golden")), 12)
        self.run_program("batch", "cases.jsonl", "--inputs", "--check")
        (self.folder / "golden/0.InputTensor.npy").unlink()
        self.save(**{"golden/0.InputTensor": np.zeros(SIZES, "f4")})
        self.assertIn("is not what the line says of InputTensor", self.errors_of("batch", "cases.jsonl", "--check", status=1))


if __name__ == "__main__":
    unittest.main()
