# SPDX-License-Identifier: Apache-2.0
"""bench: its statistics recomputed from its samples, its formats read by other programs, and its errors.

No time is asserted, only relations between figures.
"""

import csv
import datetime
import fcntl
import io
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import COPY, DMLOP, JOIN, ROOT, SUM, X, ProgramTest, start

QUICK = ["--min-time", "2ms", "--cache", "hot"]
BIG_SUM = ('{"type": "REDUCE", "Function": "SUM", "Axes": [1],'
           ' "InputTensor": {"DataType": "FLOAT32", "Sizes": [64, 100]}}')

# Requires a machine without memory for 32 GiB twice.
HUGE_SUM = BIG_SUM.replace("[64, 100]", "[65535, 65535]").replace("FLOAT32", "INT64")
MEMORY = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
TOO_LARGE = [([HUGE_SUM], 5, "the machine has")] if MEMORY < 1 << 36 else []

# How each aggregate is computed from the samples.
STATISTICS = {
    "median": np.median,
    "min": np.min,
    "mean": np.mean,
    "stddev": lambda x: np.std(x, ddof=1),
    "cv": lambda x: np.std(x, ddof=1) / np.mean(x),
    "p5": lambda x: np.percentile(x, 5),
    "p25": lambda x: np.percentile(x, 25),
    "p75": lambda x: np.percentile(x, 75),
    "p95": lambda x: np.percentile(x, 95),
    "max": np.max,
}


def outliers(x):
    distance = np.abs(x - np.median(x))
    return np.count_nonzero(distance > 3.5 / 0.6745 * np.median(distance))


class BenchProgramTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.save(x=X)
        self.write("sum.json", SUM)
        self.write("big.json", BIG_SUM)

    def json_of(self, *arguments, **options):
        return json.loads(self.text_of("bench", *arguments, "--format", "json", **options))

    def entries(self, result, run_name):
        """The samples and the aggregates of a row."""
        entries = [e for e in result["benchmarks"] if e["run_name"] == run_name]
        return ([e for e in entries if e["run_type"] == "iteration"],
                {e["aggregate_name"]: e for e in entries if e["run_type"] == "aggregate"})

    def on_terminal(self, *arguments, columns, environment=()):
        """Standard output as a terminal of that width shows it."""
        terminal, end = pty.openpty()
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        kept = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
        kept |= {"LC_ALL": "C.UTF-8"} | dict(environment)
        start(["bench", *arguments], cwd=self.folder, stdout=end, env=kept)
        os.close(end)
        text = b""
        try:
            while part := os.read(terminal, 1 << 16):
                text += part
        except OSError:
            pass  # Linux reports the end of a terminal in this way
        os.close(terminal)
        return text.decode().replace("\r\n", "\n")


class BenchTest(BenchProgramTest):
    def test_json_has_what_google_benchmarks_compare_tool_reads(self):
        result = self.json_of("sum.json", "-i", "x.npy", "-t", "1,2", *QUICK)
        context = result["context"]
        datetime.datetime.fromisoformat(context["date"])
        for key, kind in {"host_name": str, "executable": str, "num_cpus": int, "mhz_per_cpu": int,
                          "caches": list, "load_avg": list, "library_build_type": str,
                          "dmlop_version": str, "cpu_model": str, "isa": str,
                          "governor": str}.items():
            self.assertIsInstance(context[key], kind, key)
        for entry in result["benchmarks"]:
            for key, kind in {"name": str, "run_name": str, "run_type": str, "repetitions": int,
                              "threads": int, "iterations": int, "real_time": float,
                              "cpu_time": float, "time_unit": str, "family_index": int,
                              "per_family_instance_index": int}.items():
                self.assertIsInstance(entry[key], kind, key)
            self.assertEqual(entry["time_unit"], "ns")
            if entry["run_type"] == "iteration":
                self.assertEqual(entry["name"], entry["run_name"])
                self.assertLess(entry["repetition_index"], entry["repetitions"])
            else:
                self.assertEqual(entry["name"], f"{entry['run_name']}_{entry['aggregate_name']}")
                unit = "percentage" if entry["aggregate_name"] == "cv" else "time"
                self.assertEqual(entry["aggregate_unit"], unit)
        self.assertEqual(list(dict.fromkeys(e["run_name"] for e in result["benchmarks"])),
                         [f"sum.json{limit}/hot/threads:{threads}" for threads in (1, 2)
                          for limit in ("", "/limit")])

    def test_aggregates_are_those_of_the_samples(self):
        result = self.json_of("big.json", "-t", "1", "--min-time", "5ms", "--cache", "both")
        for state in "hot", "cold":
            for row in f"big.json/{state}/threads:1", f"big.json/limit/{state}/threads:1":
                samples, aggregates = self.entries(result, row)
                self.assertGreaterEqual(len(samples), 10)
                self.assertEqual(set(aggregates), set(STATISTICS))
                for time in "real_time", "cpu_time":
                    values = np.array([sample[time] for sample in samples])
                    for name, statistic in STATISTICS.items():
                        np.testing.assert_allclose(aggregates[name][time], statistic(values),
                                                   rtol=1e-9, err_msg=f"{row} {name} {time}")
            samples, aggregates = self.entries(result, f"big.json/{state}/threads:1")
            times = np.array([sample["real_time"] for sample in samples])
            self.assertEqual(aggregates["median"]["outliers"], outliers(times))
        self.assertGreater(aggregates["median"]["memory_bytes_per_second"], 0)  # for the cold row

    # No busy machine causes such a factor.
    def test_samples_together_take_longer_where_more_time_is_asked_for(self):
        def time_of(min_time):
            result = self.json_of("big.json", "-t", "1", "--min-time", min_time, "--cache", "hot")
            samples, _ = self.entries(result, "big.json/hot/threads:1")
            return sum(sample["real_time"] * sample["iterations"] for sample in samples)

        self.assertGreater(time_of("300ms"), time_of("1ms"))

    def test_rates_are_bytes_by_median_times(self):
        result = self.json_of("big.json", *QUICK, "-t", "1")
        _, own = self.entries(result, "big.json/hot/threads:1")
        _, limit = self.entries(result, "big.json/limit/hot/threads:1")
        median = own["median"]
        self.assertEqual((median["bytes_read"], median["bytes_written"]), (25600, 256))
        self.assertEqual(limit["median"]["label"], "read")
        for rate, time in ((median["bytes_per_second"], median["real_time"]),
                           (median["limit_bytes_per_second"], limit["median"]["real_time"])):
            np.testing.assert_allclose(rate, 25856 / (time * 1e-9), rtol=1e-9)
        np.testing.assert_allclose(
            median["limit_share"], median["bytes_per_second"] / median["limit_bytes_per_second"],
            rtol=1e-9)

    def test_bytes_are_those_of_the_bound_tensors(self):
        self.save(row=np.ones((1, 8), "f4"), fortran=np.ones((100, 8), "f4", order="F"))
        broadcast = ('{"type": "ELEMENT_WISE_IDENTITY", "InputTensor": {"DataType": "FLOAT32",'
                     ' "Sizes": [100, 8], "Strides": [0, 1]}}')
        for descriptor, file, moved in ((broadcast, "row.npy", (32, 3200)),
                                        (COPY, "fortran.npy", (3200, 3200))):
            result = self.json_of(descriptor, "-i", file, *QUICK)
            entry = result["benchmarks"][0]
            self.assertEqual((entry["bytes_read"], entry["bytes_written"]), moved)

    def test_csv_is_a_line_a_row(self):
        text = self.text_of("bench", "sum.json", SUM, "-i", "x.npy", "-t", "2,1", *QUICK,
                            "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        self.assertEqual([(r["name"], r["threads"], r["cache"]) for r in rows],
                         [("sum.json", "2", "hot"), ("sum.json", "1", "hot"),
                          ("REDUCE", "2", "hot"), ("REDUCE", "1", "hot")])
        for row in rows:
            times = [float(row[f"{name}_s"])
                     for name in ("min", "p5", "p25", "median", "p75", "p95", "max")]
            self.assertEqual(times, sorted(times))
            self.assertEqual((row["bytes_read"], row["bytes_written"]), ("36", "12"))
            self.assertNotIn(None, row.values())
            self.assertNotIn(None, row)

    def test_csv_quotes_names(self):
        self.write('a,"b".json', SUM)
        text = self.text_of("bench", 'a,"b".json', "-i", "x.npy", *QUICK, "--format", "csv")
        self.assertEqual(list(csv.DictReader(io.StringIO(text)))[0]["name"], 'a,"b".json')

    def test_markdown_is_a_table(self):
        self.write("a|b.json", SUM)
        text = self.text_of("bench", "a|b.json", "-i", "x.npy", *QUICK, "-t", "1", "--format",
                            "markdown")
        lines = text.splitlines()
        self.assertEqual(lines[1], "")
        cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines[2:]]
        self.assertEqual(len({len(row) for row in cells}), 1)
        self.assertEqual(cells[0][0].strip(), "operator")
        self.assertRegex(lines[3], r"^(\| (---|---:) )+\|$")
        self.assertEqual(cells[2][0].strip(), "a\\|b.json")

    def test_table_states_the_machine_and_has_no_bars_in_a_pipe(self):
        text = self.text_of("bench", "big.json", *QUICK, "-t", "1")
        lines = text.splitlines()
        self.assertRegex(lines[0], r"^.+, \d+ CPUs?, \w+; .*governor.*; load average \d+\.\d\d$")
        self.assertEqual(re.split("  +", lines[1].strip()),
                         ["operator", "threads", "cache", "median", "min", "mean", "stddev", "p5",
                          "p95", "moved", "GB/s", "limit"])
        self.assertRegex(lines[2], r"^big\.json +1  hot .* 25\.25 KiB .*% read$")
        self.assertEqual(len(lines), 3)

    def test_table_fits_the_terminal_and_has_bars(self):
        name = "a-long-name-of-a-descriptor-for-terminals.json"
        self.write(name, BIG_SUM)
        for columns in (200, 120, 80, 60):
            text = self.on_terminal(name, *QUICK, "-t", "1", columns=columns)
            header, row = text.splitlines()[1:3]
            self.assertLessEqual(len(row), columns, row)
            self.assertRegex(row, r"\d% read  [█▉▊▋▌▍▎▏]*$")
            for needed in ("operator", "cache", "median", "limit"):
                self.assertIn(needed, header)
            self.assertEqual("p95" in header, columns == 200)
            self.assertTrue(row.startswith(name) or row.startswith("…"), row)
        text = self.on_terminal(name, *QUICK, "-t", "1,2", columns=60)
        self.assertIn("threads", text)  # which distinguishes the rows
        text = self.on_terminal(name, *QUICK, "-t", "1", columns=60,
                                environment={"COLUMNS": "200"})
        self.assertIn("p95", text)

    def test_wide_characters_take_two_columns(self):
        name = "漢字" * 20 + ".json"
        self.write(name, BIG_SUM)
        for columns in (100, 80, 60, 40):
            row = self.on_terminal(name, *QUICK, "-t", "1", columns=columns).splitlines()[2]
            shown = re.match("…([漢字]+)\\.json ", row)
            self.assertTrue(shown and name.endswith(shown[1] + ".json"), row)
            if columns >= 60:
                self.assertLessEqual(len(row) + len(shown[1]), columns, row)

    def test_bars_show_the_share(self):
        result = self.on_terminal("big.json", *QUICK, "-t", "1,2", columns=100)
        for row in result.splitlines()[2:]:
            share, bar = re.search(r"(\d+)% read  ([█▉▊▋▌▍▎▏]*)$", row).groups()
            eighths = sum(8 - "█▉▊▋▌▍▎▏".index(c) for c in bar)
            width = min(24, 100 - len(row) + len(bar))
            self.assertAlmostEqual(eighths / 8 / width, min(int(share), 100) / 100, delta=0.03)

    def test_other_locales_get_plain_characters(self):
        self.write("a-long-name-of-a-descriptor-for-terminals.json", BIG_SUM)
        text = self.on_terminal("a-long-name-of-a-descriptor-for-terminals.json", *QUICK, "-t", "1",
                                columns=60, environment={"LC_ALL": "C"})
        self.assertRegex(text.splitlines()[2], r"^~.*\.json .*\d% read(  #+)?$")
        self.assertTrue(text.isascii())

    def test_file_takes_the_format_of_its_name(self):
        for name, begins in (("r.json", "{"), ("r.csv", "name,threads"), ("r.md", ""), ("r.txt", ""), ("r", "")):
            text = self.text_of("bench", "big.json", *QUICK, "-t", "1", "-o", name)
            self.assertTrue(text.splitlines()[1].startswith("operator"))  # standard output
            self.assertTrue((self.folder / name).read_text().startswith(begins))
        json.loads((self.folder / "r.json").read_text())
        self.assertIn("| ---", (self.folder / "r.md").read_text())
        self.assertEqual(self.text_of("bench", "big.json", *QUICK, "-q", "-o", "r", "--format",
                                      "csv"), "")
        self.assertTrue((self.folder / "r").read_text().startswith("name,"))

    def test_models_have_a_row_for_each_dispatchable(self):
        model = ROOT / "testdata/models/reduce.json"
        names = list(json.loads(re.sub(r"//.*", "", model.read_text()))["dispatchables"])
        result = self.json_of(model, *QUICK, "-t", "1")
        rows = [e["run_name"] for e in result["benchmarks"] if e.get("aggregate_name") == "median"]
        self.assertEqual([r for r in rows if "/limit/" not in r],
                         [f"{model}:{name}/hot/threads:1" for name in names])

    def test_rows_of_one_name_are_numbered(self):
        text = self.text_of("bench", SUM, SUM, "sum.json", "sum.json", "-i", "x.npy", *QUICK, "-t",
                            "1", "--format", "csv")
        self.assertEqual([r["name"] for r in csv.DictReader(io.StringIO(text))],
                         ["REDUCE", "REDUCE#2", "sum.json", "sum.json#2"])

    def test_streams_are_descriptors_and_inputs(self):
        self.assertIn("REDUCE ", self.text_of("bench", "-", *QUICK, stdin=BIG_SUM.encode()))
        stream = io.BytesIO()
        np.save(stream, X)
        self.assertIn("sum.json ",
                      self.text_of("bench", "sum.json", "-i", "-", *QUICK, stdin=stream.getvalue()))

    def test_isa_is_taken_and_said(self):
        result = self.json_of("big.json", *QUICK, "--isa", "portable")
        self.assertEqual(result["context"]["isa"], "portable")


class BaselineTest(BenchProgramTest):
    def baseline(self, change=lambda result: None):
        """Writes a baseline of this machine after `change` has been applied."""
        self.text_of("bench", "big.json", *QUICK, "-t", "1", "-o", "base.json")
        result = json.loads((self.folder / "base.json").read_text())
        change(result)
        self.write("base.json", result)

    def scaled(self, factor):
        def change(result):
            for entry in result["benchmarks"]:
                entry["real_time"] *= factor
        return change

    def bench(self, *arguments, **options):
        return self.run_program("bench", "big.json", *QUICK, "-t", "1", "--baseline", "base.json",
                                *arguments, **options)

    def test_ratio_is_that_of_the_medians(self):
        self.baseline()
        before = json.loads((self.folder / "base.json").read_text())
        now = json.loads(self.bench("--format", "json").stdout)
        medians = [self.entries(result, "big.json/hot/threads:1")[1]["median"]
                   for result in (now, before)]
        np.testing.assert_allclose(medians[0]["ratio_to_baseline"],
                                   medians[0]["real_time"] / medians[1]["real_time"], rtol=1e-9)
        table = self.bench().stdout.decode().splitlines()
        self.assertRegex(table[1], "to baseline +p$")
        self.assertRegex(table[2], r" \d+\.\d{3} +[\d.e-]+$")

    def test_a_row_that_is_slower_is_status_1(self):
        self.baseline(self.scaled(1e-3))
        self.assertIn("times as long as in the baseline",
                      self.bench("--fail-over", "5%", status=1).stderr.decode())
        self.bench(status=0)  # without --fail-over, the ratio is only shown
        said = self.bench("-q", "--fail-over", "5", "-o", "now.json", status=1)
        self.assertEqual(said.stdout, b"")
        self.assertRegex(said.stderr.decode(), r"\Admlop: big.json\S+ takes .* times as long as in the "
                                               r"baseline; .* is allowed \(p = .*\)\n\Z")

    def test_a_row_that_is_not_slower_is_status_0(self):
        self.baseline(self.scaled(1e3))
        self.bench("--fail-over", "5%", status=0)

    # Half of the samples are above and half below what this run takes, so they prove nothing, whatever their median.
    def test_a_slower_median_without_a_difference_of_samples_is_chance(self):
        def change(result):
            self.scaled(1e-3)(result)
            for i, entry in enumerate(e for e in result["benchmarks"] if e["run_type"] == "iteration"):
                if i % 2 == 1:
                    entry["real_time"] *= 1e9

        self.baseline(change)
        said = self.bench("--fail-over", "5%", "--format", "json", status=0)
        self.assertRegex(said.stderr.decode(), r"note: by the medians big.json/hot/threads:1 \(p = .*\) "
                                               "would be too slow, but the samples may be so by chance")
        _, aggregates = self.entries(json.loads(said.stdout), "big.json/hot/threads:1")
        self.assertGreater(aggregates["median"]["ratio_to_baseline"], 1.05)
        self.assertGreater(aggregates["median"]["p_value"], 0.05)
        self.assertEqual(self.bench("-q", "--fail-over", "5%", "-o", "now.txt").stderr, b"")

    def test_too_few_samples_are_judged_by_the_median_and_said(self):
        def few_samples(result):
            self.scaled(1e-3)(result)
            samples = [e for e in result["benchmarks"] if e["run_type"] == "iteration"]
            for entry in samples[8:]:
                if "/limit/" not in entry["run_name"]:
                    result["benchmarks"].remove(entry)

        self.baseline(few_samples)
        said = self.bench("--fail-over", "5%", status=1).stderr.decode()
        self.assertIn("judged by the median alone: the test needs 9 samples in both files", said)
        self.assertRegex(said, r"baseline; 1\.050 is allowed\n")

    def test_missing_rows_are_said(self):
        self.baseline()
        done = self.bench("-t", "2")
        self.assertIn("base.json has no big.json/hot/threads:2", done.stderr.decode())
        done = self.run_program("bench", "sum.json", "-i", "x.npy", *QUICK, "--baseline",
                                "base.json", "-t", "1")
        self.assertIn("big.json/hot/threads:1 of base.json was not measured", done.stderr.decode())
        self.assertRegex(done.stdout.decode().splitlines()[2], " none *$")
        # A gate that lets everything pass is an error.
        done = self.run_program("bench", "sum.json", "-i", "x.npy", *QUICK, "--baseline",
                                "base.json", "-t", "1", "--fail-over", "5%", status=2)
        self.assertIn("none of the rows", done.stderr.decode())

    def test_another_instruction_set_is_said(self):
        self.baseline()
        self.assertIn("base.json was measured with", self.bench("--isa", "portable").stderr.decode())

    def test_baselines_of_another_machine_or_layout_are_refused(self):
        def of_model(result):
            result["context"]["cpu_model"] = "Another CPU"

        def of_cpus(result):
            result["context"]["num_cpus"] += 1

        for change in of_model, of_cpus:
            self.baseline(change)
            self.assertIn("another machine", self.bench(status=3).stderr.decode())
        for text, part in (("{", "base.json:1:"), ("[]", "is not what bench"), ("", "base.json"),
                           ('{"context": {"date": ""}, "benchmarks": []}', "is not what bench"),
                           ('{"context": {"dmlop_version": "1"}}', "is not what bench"),
                           ("not JSON", "base.json:1:1")):
            self.write("base.json", text)
            done = self.bench(status=3)
            self.assertIn(part, done.stderr.decode(), text)
            self.assertEqual(done.stdout, b"")

        def without_time(result):
            for entry in result["benchmarks"]:
                entry["real_time"] = "fast"

        def without_rows(result):
            result["benchmarks"] = []

        for change, part in (without_time, "real_time"), (without_rows, "has no medians"):
            self.baseline(change)
            self.assertIn(part, self.bench(status=3).stderr.decode())


    OTHER_SIZES = BIG_SUM.replace("[64, 100]", "[64, 101]")
    OTHER_TYPE = BIG_SUM.replace("FLOAT32", "FLOAT16")
    OTHER_OPERATOR = BIG_SUM.replace("SUM", "MAX")
    SPELLED = BIG_SUM.replace('"REDUCE"', '"DML_OPERATOR_REDUCE"')

    def test_rows_are_compared_where_they_measured_the_same(self):
        """Each case: what a row of a name measured before, and what is measured now under that or another name."""
        row = "/hot/threads:1"
        for before, now, name, ratio, message in [
            (BIG_SUM, BIG_SUM, "big.json", True, None),
            (BIG_SUM, self.SPELLED, "big.json", True, None),
            (BIG_SUM, BIG_SUM, "renamed.json", True,
             f"compared by their equal descriptors: renamed.json{row} with big.json{row} of base.json"),
            (BIG_SUM, self.OTHER_SIZES, "big.json", False, f"base.json has big.json{row} with another descriptor; not compared"),
            (BIG_SUM, self.OTHER_TYPE, "big.json", False, f"base.json has big.json{row} with another descriptor; not compared"),
            (BIG_SUM, self.OTHER_OPERATOR, "big.json", False, f"base.json has big.json{row} with another descriptor; not compared"),
            (BIG_SUM, self.OTHER_SIZES, "renamed.json", False, f"base.json has no renamed.json{row}"),
        ]:
            with self.subTest(name=name, now=now):
                self.write("big.json", before)
                self.baseline()
                self.write(name, now)
                arguments = ["bench", name, *QUICK, "-t", "1", "--baseline", "base.json", "--format", "csv"]
                done = self.run_program(*arguments)
                fields, = csv.DictReader(io.StringIO(done.stdout.decode(), newline=""))
                self.assertEqual(fields["ratio_to_baseline"] != "", ratio)
                warnings = [line for line in done.stderr.decode().splitlines() if "warning" in line]
                if message is None:
                    self.assertEqual(warnings, [])
                else:
                    self.assertIn(f"dmlop: warning: {message}", warnings)
                if not ratio:  # a gate reports it at once, and writes nothing
                    before_files = self.files()
                    said = self.errors_of(*arguments[:-2], "--fail-over", "5%", "-o", "now.json", status=2)
                    self.assertIn("none of the rows", said)
                    self.assertEqual(self.files(), before_files)

    def test_names_decide_between_rows_that_measured_the_same(self):
        for name in "abc":
            self.write(f"{name}.json", BIG_SUM)
        self.text_of("bench", "a.json", "b.json", *QUICK, "-t", "1", "-o", "base.json")
        result = json.loads((self.folder / "base.json").read_text())
        for entry in result["benchmarks"]:
            entry["real_time"] *= 1e6 if entry["run_name"].startswith("b.json") else 1e-6
        self.write("base.json", result)
        for names, slower in (("b", [False]), ("ab", [True, False]), ("cb", [True, False]), ("ca", [False, True])):
            text = self.text_of("bench", *(f"{name}.json" for name in names), *QUICK, "-t", "1", "--baseline", "base.json",
                                "--format", "csv")
            ratios = [float(row["ratio_to_baseline"]) for row in csv.DictReader(io.StringIO(text, newline=""))]
            self.assertEqual([ratio > 1 for ratio in ratios], slower, names)

    def test_rows_that_are_not_judged_are_said_in_any_case(self):
        self.baseline(self.scaled(1e3))
        said = self.run_program("bench", "big.json", "sum.json", "-i", "InputTensor=x.npy", *QUICK, "-t", "1", "-q",
                                "--baseline", "base.json", "--fail-over", "5%", status=4)  # x.npy is not for big.json
        self.assertEqual(said.stdout, b"")
        self.write("sum.json", self.OTHER_SIZES)
        said = self.errors_of("bench", "big.json", "sum.json", *QUICK, "-t", "1", "-q", "--baseline", "base.json",
                              "--fail-over", "5%")
        self.assertEqual(said, "dmlop: warning: base.json has no sum.json/hot/threads:1\n")

    def test_baselines_that_are_not_json_are_told_what_they_are(self):
        self.text_of("bench", "big.json", *QUICK, "-t", "1", "-o", "b.csv")
        self.text_of("bench", "big.json", *QUICK, "-t", "1", "-o", "b.txt")
        for name, kind in (("b.csv", "CSV"), ("b.txt", "no JSON")):
            said = self.errors_of("bench", "big.json", *QUICK, "--baseline", name, status=3)
            self.assertIn(f"{name}:1:1: error: is {kind}; a baseline is what bench -o FILE.json writes [BASELINE]", said)

    def test_a_baseline_without_descriptors_is_refused(self):
        def forget(result):
            del result["context"]["descriptor of big.json"]

        self.baseline(forget)
        self.assertIn("measure it again", self.bench(status=3).stderr.decode())


class InterruptedTest(BenchProgramTest):
    ROWS = 400

    def begin(self, *arguments, **options):
        """Starts a measurement of many rows, and returns once the first one is printed."""
        process = subprocess.Popen([DMLOP, "bench", *[BIG_SUM] * (self.ROWS // 2), "-t", "1,2", "--cache", "hot", "--min-time", "50ms",
                                    *arguments], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.addCleanup(process.kill)
        text = b""
        while b"REDUCE" not in text or (b"REDUCE/hot" not in text and b"{" in text):
            part = os.read(process.stdout.fileno(), 1 << 16)
            self.assertNotEqual(part, b"", process.returncode)
            text += part
        return process, text

    def interrupt(self, number, *arguments):
        process, text = self.begin(*arguments)
        process.send_signal(number)
        rest, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -number, errors)
        self.assertRegex(errors.decode(), rf"^dmlop: note: interrupted after \d+ of {self.ROWS} rows(; .*)?\n$")
        rows = int(re.search(r"after (\d+)", errors.decode())[1])
        self.assertTrue(1 <= rows < self.ROWS)
        return rows, (text + rest).decode(), errors.decode()

    def rows_in(self, text, format):
        if format == "json":
            entries = json.loads(text)["benchmarks"]
            return sum(e.get("aggregate_name") == "median" and "/limit/" not in e["run_name"] for e in entries)
        if format == "csv":
            rows = list(csv.DictReader(io.StringIO(text, newline="")))
            self.assertTrue(all(None not in row.values() for row in rows))
            return len(rows)
        return sum(line.strip("| ").startswith("REDUCE") for line in text.splitlines())

    def test_rows_are_printed_as_they_are_measured_and_a_signal_ends_them(self):
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            for format in "table", "json", "csv", "markdown":
                with self.subTest(number, format=format):
                    rows, text, _ = self.interrupt(number, "--format", format)
                    self.assertEqual(self.rows_in(text, format), rows)
                    self.assertEqual(self.files(), ["big.json", "sum.json", "x.npy"])

    def test_a_signal_leaves_the_file_with_the_rows_that_there_are(self):
        for name, format in (("r.json", "json"), ("r.csv", "csv"), ("r.md", "markdown"), ("r.txt", "table")):
            for before in None, "precious":
                with self.subTest(name, before=before):
                    if before is not None:
                        self.write(name, before)
                    rows, text, errors = self.interrupt(signal.SIGTERM, "-o", name)
                    self.assertIn(f"; {name} has them\n", errors)
                    self.assertEqual(self.rows_in((self.folder / name).read_bytes().decode(), format), rows)
                    self.assertEqual(self.rows_in(text, "table"), rows)
                    (self.folder / name).unlink()
                    self.assertEqual(self.files(), ["big.json", "sum.json", "x.npy"])

    def test_signals_that_are_ignored_are(self):
        process, _ = self.begin("-o", "r.csv", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        process.send_signal(signal.SIGINT)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGTERM)

    def test_a_reader_that_leaves_ends_it_quietly_but_costs_no_file(self):
        process, _ = self.begin()
        process.stdout.close()
        self.assertEqual((process.stderr.read(), process.wait(60)), (b"", 5))
        read, write = os.pipe()
        process = subprocess.Popen([DMLOP, "bench", "big.json", *QUICK, "-t", "1,2", "-o", "r.json"], cwd=self.folder,
                                   stdout=write, stderr=subprocess.PIPE)
        os.close(write)
        os.close(read)
        errors = process.communicate(timeout=60)[1].decode()
        self.assertEqual(process.returncode, 0, errors)
        self.assertNotIn("standard output", errors)
        self.assertEqual(self.rows_in((self.folder / "r.json").read_text(), "json"), 2)

    def test_a_stream_gets_rows_as_they_are_measured(self):
        read, write = os.pipe()
        process = subprocess.Popen([DMLOP, "bench", *[BIG_SUM] * 100, "-t", "1", *QUICK, "--format", "csv", "-o", f"/dev/fd/{write}"],
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[write])
        os.close(write)
        with open(read, newline="") as stream:
            text = stream.readline() + stream.readline()
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            text += stream.read()
        self.assertEqual(process.wait(60), -signal.SIGINT)
        self.assertGreaterEqual(self.rows_in(text, "csv"), 1)
        process.communicate()


class EnvironmentTest(BenchProgramTest):
    """Linked libraries read nothing from the environment on their own."""

    BENCHMARK = {"FILTER": ["BM_", "(", "ABS/hot"], "LIST_TESTS": ["true"], "REPORT_AGGREGATES_ONLY": ["true"],
                 "DISPLAY_AGGREGATES_ONLY": ["true"], "OUT": ["made.json"], "OUT_FORMAT": ["csv", "none"], "FORMAT": ["csv", "none"],
                 "REPETITIONS": ["1"], "MIN_TIME": ["30", "none"], "ENABLE_RANDOM_INTERLEAVING": ["false"], "COLOR": ["true"],
                 "COUNTERS_TABULAR": ["true"], "PERF_COUNTERS": ["CYCLES"], "CONTEXT": ["a=b", "a"], "TIME_UNIT": ["s", "none"],
                 "V": ["9"]}
    OTHERS = {"TBB_VERSION": "1", "TBB_MALLOC_USE_HUGE_PAGES": "1", "NETTLE_FAT_VERBOSE": "1", "NETTLE_FAT_OVERRIDE": "vendor:intel",
              "INTEL_LIBITTNOTIFY64": "./none.so", "INTEL_ITTNOTIFY_GROUPS": "all", "KMP_FOR_TPROFILE": "1",
              "MALLOC_PERTURB_": "165", "MALLOC_ARENA_MAX": "1", "GLIBC_TUNABLES": "glibc.malloc.perturb=90", "LANGUAGE": "de",
              "LC_NUMERIC": "de_DE.UTF-8", "LOCPATH": ".", "GLIBCXX_TUNABLES": "glibcxx.eh_pool.obj_count=1", "POSIXLY_CORRECT": "1",
              "ZLIB_DEBUG": "1", "HWLOC_COMPONENTS": "none", "FLATBUFFERS_TEST_LOCALE": "de_DE.UTF-8"}
    if os.environ.get("SANITIZE"):
        # The C library leaks some bytes for each locale name that it does not find.
        del OTHERS["LOCPATH"]

    def test_of_google_benchmark(self):
        self.write("made.json", "precious")
        names = self.files()
        for name, values in self.BENCHMARK.items():
            for value in values:
                with self.subTest(name, value=value):
                    done = self.run_program("bench", "big.json", "--cache", "hot", "--min-time", "1ms", "-t", "1", "-q", "--format", "csv",
                                            env=os.environ | {f"BENCHMARK_{name}": value})
                    row, = csv.DictReader(io.StringIO(done.stdout.decode(), newline=""))
                    self.assertGreaterEqual(int(row["samples"]), 10)
                    self.assertEqual(done.stderr, b"")
                    self.assertEqual(self.files(), names)
                    self.assertEqual((self.folder / "made.json").read_text(), "precious")

    def test_of_other_libraries(self):
        commands = [["run", "sum.json", "-i", "x.npy"], ["run", "sum.json", "-i", "x.npy", "--no-times", "--report", "-"],
                    ["show", "x.npy", "--map", "-o", "/dev/stdout"], ["validate", "big.json"], ["show", "none.npy"],
                    ["explain", "sum.json", "OutputTensor[0,0]", "-i", "x.npy"], ["--version"]]
        for command in commands:
            with self.subTest(command):
                plain, changed = (start(command, cwd=self.folder, env=os.environ | more) for more in ({}, self.OTHERS))
                self.assertEqual((changed.returncode, changed.stdout, changed.stderr), (plain.returncode, plain.stdout, plain.stderr))
        for name, value in self.OTHERS.items():
            with self.subTest(name):
                done = self.run_program("bench", "big.json", *QUICK, "-t", "2", "-q", "--format", "csv", env=os.environ | {name: value})
                self.assertEqual((len(done.stdout.splitlines()), done.stderr), (2, b""))


class RefusalTest(BenchProgramTest):
    def test_wrong_command_lines(self):
        for arguments, part in [
                ([], "descriptor is required"),
                (["big.json", "--min-time", "fast"], "'fast' is not a time"),
                (["big.json", "--min-time", "0"], "is not a time"),
                (["big.json", "--min-time", "-1s"], "is not a time"),
                (["big.json", "--min-time", "1d"], "is not a time"),
                (["big.json", "--min-time", "inf"], "is not a time"),
                (["big.json", "-t", "0"], "--threads"),
                (["big.json", "-t", "1,0"], "--threads"),
                (["big.json", "-t", "one"], "--threads"),
                (["big.json", "-t", "1,"], "'1,' is not a list"),
                (["big.json", "-t", ",1"], "',1' is not a list"),
                (["big.json", "-t", ""], "the value is empty"),
                (["big.json", "-t", "65537"], "from 1 to 65536"),
                (["big.json", "--min-time", "3601s"], "at most an hour"),
                (["big.json", "--min-time", "61min"], "at most an hour"),
                (["big.json", "--format", "xml"], "--format"),
                (["big.json", "--cache", "warm"], "--cache"),
                (["big.json", "--fail-over", "5%"], "--baseline"),
                (["big.json", "--baseline", "b.json", "--fail-over", "much"], "is not a percentage"),
                (["big.json", "--baseline", "b.json", "--fail-over", "-5%"], "is not a percentage"),
                (["big.json", "--isa", "mmx"], "'mmx'"),
                (["sum.json"], "InputTensor has no file that tells DataType and Sizes; -i NAME=FILE binds one"),
                (["big.json", "-o", "t.html"], "t.html: unknown kind of file; the known extensions are .json, .csv, .md and .txt"),
                (["big.json", "-i", "Wrong=x.npy"], "no input 'Wrong'"),
                (["-", "-"], "standard input"),
                (["-", "-i", "-"], "standard input"),
                (["big.json", "sum.json", "-i", "-"], "standard input"),
                ([ROOT / "testdata/models/reduce.json", "-i", "x.npy"], "a model binds"),
        ]:
            with self.subTest(arguments):
                self.assertIn(part, self.errors_of("bench", *arguments, stdin=SUM.encode(),
                                                   status=2))

    def test_wrong_documents_and_files(self):
        self.write("bad.json", SUM.replace("SUM", "ADD"))
        self.write("text.npy", "text")
        for arguments, status, part in [
                (["bad.json"], 3, "bad.json:1:"),
                (["big.json", "-L", "7_7"], 2, "is not a feature level"),
                ([JOIN.replace("JOIN", "UNFOLD"), "-i", "x.npy"], 3, "WindowSizes"),
                (["sum.json", "-i", "text.npy"], 4, "text.npy"),
                (["sum.json", "big.json", "-i", "x.npy"], 4, "expected {64, 100}"),
                (["none.json"], 5, "none.json"),
                (["sum.json", "-i", "none.npy"], 5, "none.npy"),
                (["big.json", "-o", "none/r.json"], 5, "none/r.json"),
                (["big.json", "-o", "/proc/r.json"], 5, "/proc/r.json"),
                (["big.json", "--baseline", "none.json"], 5, "none.json"),
                *TOO_LARGE,
        ]:
            with self.subTest(arguments):
                before = self.files()
                self.assertIn(part, self.errors_of("bench", *arguments, status=status))
                self.assertEqual(self.files(), before)

    def test_a_number_of_threads_counts_once(self):
        lines = self.text_of("bench", "big.json", *QUICK, "-t", "1,1", "-t", "2,1", "--format", "csv").splitlines()
        self.assertEqual([line.split(",")[1] for line in lines[1:]], ["1", "2"])

    def test_times_have_units(self):
        for time in ("0.001", "0.001s", "1ms", "1000us", "0.00002min"):
            self.run_program("bench", "big.json", "--cache", "hot", "--min-time", time)


if __name__ == "__main__":
    unittest.main()
