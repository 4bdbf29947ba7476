# SPDX-License-Identifier: Apache-2.0
"""Devices with planted faults: what fuzz and shrink find of them, how engines may end, and what is left behind."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import DMLOP, ROOT, ProgramTest, in_turn, peak_memory

# What the engines of this test share: the cases of a folder, which are run by dmlop and spoiled by one rule. A start
# takes as long as it must, so they do without NumPy: the elements of a file are its bytes from `begin` on.
DEVICE = f"""
import json, os, subprocess, sys

WIDTHS = {{"FLOAT64": 8, "INT64": 8, "UINT64": 8, "FLOAT32": 4, "INT32": 4, "UINT32": 4, "FLOAT16": 2, "INT16": 2,
          "UINT16": 2, "INT8": 1, "UINT8": 1}}

class Case:
    def __init__(self, folder, doc):
        self.folder, self.doc, self.desc, self.bindings = folder, doc, doc["desc"], doc["bindings"]
        self.output = self.desc["OutputTensor"]
        self.type = self.output["DataType"].replace("DML_TENSOR_DATA_TYPE_", "")
        self.width = WIDTHS.get(self.type, 1)
    def run(self, **changed):
        desc = {{k: v for k, v in {{**self.desc, **changed}}.items() if v is not None}}
        bindings = {{k: v for k, v in self.bindings.items() if changed.get(k, 0) is not None}}
        with open(os.path.join(self.folder, "changed.json"), "w") as f:
            json.dump({{"type": self.doc["type"], "desc": desc, "bindings": bindings}}, f)
        subprocess.run([{DMLOP!r}, "run", "-q", f.name], check=True)
    def path(self):
        return os.path.join(self.folder, self.bindings["OutputTensor"])
    def load(self):
        with open(self.path(), "rb") as f:
            a = bytearray(f.read())
        return a, 10 + int.from_bytes(a[8:10], "little")
    def save(self, a):
        with open(self.path(), "wb") as f:
            f.write(a)

folder = sys.argv[1]
many = os.path.join(folder, "cases.jsonl")
lines = open(many).readlines() if os.path.exists(many) else [open(os.path.join(folder, "case.json")).read()]
cases = [Case(folder, json.loads(x)) for x in lines]
"""

# All right outputs at once, which a rule then spoils.
RIGHT = f"""
if os.path.exists(many):
    subprocess.run([{DMLOP!r}, "batch", "-q", many], check=True)
else:
    cases[0].run()
"""

ABS = "ELEMENT_WISE_ABS"
HEALTHY = f"{DMLOP} run -q {{}}/case.json"


class FuzzTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()

    def fuzz(self, engine, *arguments, command="fuzz", **options):
        # Engines are started hundreds of times, beside other tests.
        options = {"env": os.environ | {"TMPDIR": str(self.temporary)}, "timeout": 300} | options
        done = self.run_program(command, *arguments, "--engine", engine, **options)
        self.assertEqual(list(self.temporary.iterdir()), [])
        return done

    def engine(self, rule, right=RIGHT):
        self.write("engine.py", DEVICE + right + rule)
        return f"{sys.executable} -I -S {self.folder}/engine.py {{}}"

    def findings(self, folder="findings"):
        path = self.folder / folder / "findings.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class ProtocolTest(FuzzTest):
    # An engine, the class of its failure (none: 0), and what is told of it.
    ENGINES = [
        ("healthy", HEALTHY, None, "0 fail"),
        ("healthy without braces", "f() { " + DMLOP + ' run -q "$1"/case.json; }; f', None, "0 fail"),
        ("its file is valid", f"{DMLOP} validate -q {{}}/case.json && {HEALTHY}", None, "0 fail"),
        ("another status", "echo broken >&2; exit 3", "engine", "status 3: broken"),
        ("a signal", "kill -SEGV $$", "engine", "signal 11"),
        ("much to say", "head -c 9999999 /dev/zero | tr '\\0' y >&2; exit 3", "engine", "status 3: y"),
        ("too slow", "sleep 100; : {}", "hang", "takes longer than 0.5 s"),
        ("too slow and deaf", "trap '' TERM INT; while :; do sleep 1; done; : {}", "hang", "takes longer"),
        ("nothing written", "true", "missing", "OutputTensor.npy is not there"),
        ("a pipe", "mkfifo {}/OutputTensor.npy", "missing", "is no regular file"),
        ("a folder", "mkdir -p {}/OutputTensor.npy/x && chmod 0 {}/OutputTensor.npy", "missing", "no regular file"),
        ("an endless device", "ln -s /dev/zero {}/OutputTensor.npy", "missing", "is no regular file"),
        ("a link to itself", "ln -s OutputTensor.npy {}/OutputTensor.npy", "missing", "is no regular file"),
        ("a right file behind a link", HEALTHY + " && mv {}/OutputTensor.npy {}/x && ln -s x {}/OutputTensor.npy",
         None, "0 fail"),
        ("no tensor", "echo no > {}/OutputTensor.npy", "missing", "OutputTensor.npy"),
        ("half a tensor", HEALTHY + " && truncate -s -1 {}/OutputTensor.npy", "missing", "OutputTensor.npy"),
        ("another shape", "cp other.npy {}/OutputTensor.npy", "shape", "OutputTensor"),
        ("another function", f"{DMLOP} run -q '{{\"type\": \"ELEMENT_WISE_EXP\"}}' -i {{}}/InputTensor.npy "
         "-o {}/OutputTensor.npy", "wrong", "wrong values in"),
        ("not supported", "exit 125", None, "2 not supported: FLOAT32 2"),
        ("a file says so", "touch {}/unsupported", None, "2 not supported"),
    ]

    def test_how_engines_end(self):
        self.save(other=np.zeros((3, 5, 7), "f4"))
        for name, engine, what, told in self.ENGINES[::4] if os.environ.get("SANITIZE") else self.ENGINES:
            for per_start in ("1", "3") if name in ("healthy", "nothing written") else ("1",):
                with self.subTest(name, per_start=per_start):
                    if per_start == "3":
                        engine = engine.replace("run -q {}/case.json", "batch -q {}/cases.jsonl")
                    folder = name.replace(" ", "-") + per_start
                    done = self.fuzz(engine, ABS, "--type", "FLOAT32", "-n", "2", "--shrink-runs", "0", "--timeout",
                                     "0.5" if what == "hang" else "20", "--per-start", per_start, "-o", folder,
                                     "--set", "/desc/ScaleBias=null", status=0 if what is None else 1)
                    self.assertIn(told, done.stdout.decode())
                    self.assertEqual([finding["class"] for finding in self.findings(folder)], [what] if what else [])

    def test_what_cannot_be_run(self):
        for engine, words in (("no-such-command {}", "not found"), ("/dev/null {}", "denied")):
            errors = self.fuzz(engine, ABS, "-n", "2", status=5).stderr.decode()
            self.assertIn("dmlop: the engine cannot be run: ", errors)
            self.assertIn(words, errors)
        self.assertEqual(self.files(), ["tmp"])

    def test_nothing_of_an_engine_is_left(self):
        """Neither a process in the background nor one that hangs outlives the run."""
        for end in (HEALTHY, "sleep 300; : {}"):
            self.fuzz(f"(sleep 300 & echo $! >> pids); {end}", ABS, "-n", "2", "--shrink-runs", "0", "--timeout",
                      "0.5" if end != HEALTHY else "20", status=0 if end == HEALTHY else 1)
        ended = time.monotonic() + 20  # a process that has been killed takes a moment to go
        for pid in (self.folder / "pids").read_text().split():
            while self.is_sleeping(pid):
                self.assertLess(time.monotonic(), ended, pid)
                time.sleep(0.05)

    @staticmethod
    def is_sleeping(pid):
        try:
            return b"sleep" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False

    def test_an_engine_has_the_callers_folder_and_environment_and_no_input(self):
        engine = f'test -z "$(cat)" && test "$PWD" = {self.folder} && test "$PROBE" = 1 && ' + HEALTHY
        os.environ["PROBE"] = "1"
        self.addCleanup(os.environ.pop, "PROBE")
        self.fuzz(engine, ABS, "-n", "1", stdin=b"not for engines")

    def test_a_device_that_cannot_be_called(self):
        self.run_program("fuzz", ABS, "GEMM", "-n", "5", "--write", "cases")
        self.run_program("batch", "cases/cases.jsonl", "--judge", "cases", "-k", status=5)
        self.run_program("batch", "cases/cases.jsonl")
        self.run_program("batch", "cases/cases.jsonl", "--judge", "cases", "-k", "--tolerance", "sums")
        os.rename(self.folder / "cases", self.folder / "device")
        self.run_program("fuzz", ABS, "GEMM", "-n", "5", "--write", "cases")
        (self.folder / "device/3/OutputTensor.npy").unlink()
        (self.folder / "device/3/unsupported").touch()
        said = self.errors_of("batch", "cases/cases.jsonl", "--judge", "device", "-k", "--tolerance", "sums")
        self.assertIn("9 done, 1 not supported", said)

    @unittest.skipIf(os.environ.get("SANITIZE"), "sanitizers take memory of their own")
    def test_cases_to_be_carried_are_not_kept_in_memory(self):
        peaks = []
        for count in ("300", "1500"):
            options = ["--type", "FLOAT32", "--max-elements", "65536", "-n", count, "--write", count]
            status, peak = peak_memory(["fuzz", "ELEMENT_WISE_ADD", *options], self.folder)
            self.assertEqual(status, 0)
            peaks.append(peak)
        self.assertLess(peaks[1], peaks[0] + (8 << 20))

    def test_one_case_for_a_device_that_cannot_be_called(self):
        """The command that is told judges what comes back."""
        told = self.run_program("fuzz", "--write", "cases", "--case", f"{ABS}/0/3").stderr.decode()
        self.run_program("batch", "-q", "cases/cases.jsonl")
        command = told.splitlines()[-1].split()
        self.assertEqual(command, "dmlop batch cases/cases.jsonl --judge cases -k".split())
        self.assertIn("1 done", self.run_program(*command[1:]).stderr.decode())

    def test_models_for_dxdispatch(self):
        """The model writes the files that case.json names."""
        self.fuzz(f"cd {{}} && {DMLOP} run -q model.json", "GEMM", ABS, "-n", "10", "--layouts", "packed", "--form",
                  "dxdispatch")


class UnsteadyTest(FuzzTest):
    def test_an_unsteady_engine(self):
        """It fails every third time."""
        engine = f"n=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n > n; test $((n % 3)) != 1 && {HEALTHY}"
        self.fuzz(engine, ABS, "-n", "1", "--shrink-runs", "0", status=1)
        finding, = self.findings()
        self.assertEqual(finding["class"], "unsteady")
        self.assertRegex(finding["what"], "^fails in [34] of 10 runs")

    def test_a_failure_in_company(self):
        """FLOAT32 fails behind FLOAT16; each case alone is right."""
        engine = self.engine("""
before = ""
for c in cases:
    if before == "FLOAT16" and c.type == "FLOAT32":
        a, _ = c.load()
        a[-1] ^= 0x40
        c.save(a)
    before = c.type
""")
        self.fuzz(engine, ABS, "--type", "FLOAT32", "--type", "FLOAT16", "-n", "12", "--per-start", "6", status=1)
        finding, = self.findings()
        self.assertEqual(finding["class"], "company")
        lines = (self.folder / "findings/1-ELEMENT_WISE_ABS/cases.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(line)["desc"]["InputTensor"]["DataType"].split("_")[-1] for line in lines],
                         ["FLOAT16", "FLOAT32"])
        self.fuzz(engine, "--replay", "findings", "--per-start", "6", status=1)
        self.fuzz(f"{DMLOP} batch -q {{}}/cases.jsonl", "--replay", "findings", "--per-start", "6")
        (self.folder / "findings/1-ELEMENT_WISE_ABS/cases.jsonl").unlink()
        self.fuzz(engine, "--replay", "findings", "--per-start", "6", status=5)


def elements_of(case):
    tensors = [value for value in case["desc"].values() if isinstance(value, dict) and "Sizes" in value]
    return sum(int(np.prod(tensor["Sizes"])) for tensor in tensors)


def arithmetic_ids():
    """The variations of the arithmetic that the manual lists, without their details."""
    page = (ROOT / "man" / "dmlop-judging.7").read_text()
    section = page.split(".Ss Variations of the arithmetic\n")[1].split("\n.Ss ")[0]
    depth, ids = 0, []
    for line in section.splitlines():
        depth += line.startswith(".Bl") - line.startswith(".El")
        if depth == 1 and line.startswith(".It Cm "):
            ids += line.removeprefix(".It Cm ").split(" , ")
    return ids


@unittest.skipIf(os.environ.get("SANITIZE"), "starts of a sanitized program take ten times as long")
class VariationTest(FuzzTest):
    # An operator that each variation changes, and the options by which it is not taken for noise.
    ROWS = {
        "inputs-tf32": "GEMM -n 6 --type FLOAT32",
        "inputs-bfloat16": "GEMM -n 6 --type FLOAT32",
        "inputs-float16": "GEMM -n 6 --type FLOAT32",
        "sums-float32": "GEMM -n 48 --type FLOAT32 --bits",
        "sums-float16": "GEMM -n 6 --type FLOAT32",
        "sums-bfloat16": "GEMM -n 6 --type FLOAT32",
        "product-rounded": "GEMM -n 12 --type FLOAT16 --bits",
        "float32-steps": "ELEMENT_WISE_DIFFERENCE_SQUARE -n 6 --bits",
        "float16-steps": "ELEMENT_WISE_DIFFERENCE_SQUARE -n 6 --bits",
        "through-float16": "ELEMENT_WISE_ADD -n 6 --type FLOAT32",
        "through-float32": "CAST -n 24 --type FLOAT64 --bits",
        "toward-zero": "ELEMENT_WISE_DIVIDE -n 6 --type FLOAT32 --bits",
        "flush-subnormals": "ELEMENT_WISE_MULTIPLY -n 6 --type FLOAT32 --bits",
        "nan-passes": "ACTIVATION_RELU -n 40 --open",
        "starts-at-zero": "MAX_POOLING -n 6 --type FLOAT32",
        "last-of-equals": "ARGMAX -n 6",
        "saturated": "ELEMENT_WISE_ADD -n 6 --type INT8",
        "wrapped": "ELEMENT_WISE_QUANTIZE_LINEAR -n 3",
    }

    def test_each_is_found_as_the_cause(self):
        self.assertEqual(set(self.ROWS), set(arithmetic_ids()) - {"fast-functions"}, "which computes nothing by itself")
        for variation, arguments in in_turn(self.ROWS.items()):
            with self.subTest(variation):
                engine = f"{DMLOP} run -q {{}}/case.json --as {variation} || {HEALTHY}"
                self.fuzz(engine, *arguments.split(), "--shrink-runs", "0", "-o", variation, status=1)
                causes = [cause["ids"][0].split(":")[0] for finding in self.findings(variation) for cause in finding["causes"]]
                self.assertIn(variation, causes)


@unittest.skipIf(os.environ.get("SANITIZE"), "starts of a sanitized program take ten times as long")
class PlantedTest(FuzzTest):
    # A rule, the arguments, the class, the elements of the smallest case, its first cause, and conditions that are told.
    FAULTS = [
        ("exchanged padding", "for c in cases:\n c.run(StartPadding=c.desc['EndPadding'], EndPadding=c.desc['StartPadding'])", "",
         ["PADDING", "-n", "20", "--per-start", "20", "--set", "/desc/PaddingMode=CONSTANT"], "wrong", 3,
         "/desc/StartPadding<->/desc/EndPadding", [{"kind": "relation", "relation": "!="}]),
        ("a tail of blocks", """
for c in cases:
    length = c.output["Sizes"][-1]
    if length % 16 == 15:
        a, begin = c.load()
        for last in range(begin + (length - 1) * c.width, len(a), length * c.width):
            a[last:last + c.width] = bytes(c.width)
        c.save(a)
""", RIGHT, ["ELEMENT_WISE_ADD", "-n", "300", "--per-start", "100"], "wrong", 45, None,
         [{"kind": "residue", "modulus": 16, "residue": 15}]),
        ("zeros, which other functions have by chance", """
for c in cases:
    if len(c.desc["Axes"]) > 1:
        a, begin = c.load()
        a[begin:] = bytes(len(a) - begin)
        c.save(a)
""", RIGHT, ["REDUCE", "-n", "20", "--per-start", "20", "--set", "/desc/Function=SUM"], "wrong", 2, None,
         [{"of": ["/desc/AxisCount"], "kind": "atLeast", "value": 2}]),
        ("elements of all ranks", """
for c in cases:
    a, begin = c.load()
    if len(a) > begin + 20 * c.width:
        a[begin + 20 * c.width:] = bytes(len(a) - begin - 20 * c.width)
        c.save(a)
""", RIGHT, [ABS, "-n", "40", "--per-start", "40", "--type", "FLOAT32"], "wrong", 42, None,
         [{"of": ["W"], "kind": "atLeast", "value": 21}]),
        ("a rank", """
for c in cases:
    if c.type == "FLOAT64":
        sys.exit(125)
    if len(c.desc["InputTensor"]["Sizes"]) > 5:
        os.kill(os.getpid(), 11)
    c.run()
""", "", ["ELEMENT_WISE_NEGATE", "-n", "10", "--shrink-runs", "150"], "engine", 2, None, [{"of": ["rank"], "kind": "atLeast", "value": 6}]),
    ]

    def test_each_is_found_made_small_and_explained(self):
        for name, rule, right, arguments, what, elements, cause, conditions in in_turn(self.FAULTS):
            with self.subTest(name):
                folder = name.replace(" ", "-")
                self.fuzz(self.engine(rule, right), *arguments, "-o", folder, status=1)
                finding, = self.findings(folder)
                self.assertEqual(finding["class"], what)
                self.assertLessEqual(elements_of(finding["smallest"]), elements)
                self.assertTrue(finding["minimal"])
                if cause:
                    self.assertEqual(finding["causes"][0]["ids"], [cause])
                for condition in conditions:
                    self.assertTrue(any(condition.items() <= told.items() for told in finding["conditions"]),
                                    (condition, finding["conditions"]))

    def test_what_is_left_behind(self):
        """The smallest case and its files are what run, batch and explain take; another run adds to them."""
        rule = """
for c in cases:
    a, begin = c.load()
    for i in range(begin, len(a), c.width):
        if not any(a[i:i + c.width]):
            a[i + c.width - 1] = 0x3c
    c.save(a)
"""
        engine = self.engine(rule)
        options = ["ELEMENT_WISE_SUBTRACT", "-n", "40", "--per-start", "40", "--report", "report.jsonl"]
        text = self.fuzz(engine, *options, "--shrink-runs", "60", status=1).stdout.decode()
        own = "findings/1-ELEMENT_WISE_SUBTRACT"
        names = ["README.md", "actual/OutputTensor.npy", "case.json", "expected/OutputTensor.npy", "first.json"]
        self.assertEqual([name for name in names if not (self.folder / own / name).exists()], [])
        self.run_program("run", f"{own}/case.json", "--judge", f"{own}/actual", status=1)
        self.run_program("run", f"{own}/case.json", "--judge", f"{own}/expected", "--bits")
        self.run_program("run", f"{own}/first.json", "-o", "first.npy")
        self.run_program("batch", "findings/cases.jsonl", "--check", "--bits")
        readme = (self.folder / own / "README.md").read_text()
        for words in (text, readme):
            self.assertIn(f"dmlop run {own}/case.json --judge {own}/actual", words)
        self.assertIn("explain", readme)
        cases = [json.loads(line) for line in (self.folder / "report.jsonl").read_text().splitlines()]
        self.assertEqual([case["name"] for case in cases[:-1]], [f"ELEMENT_WISE_SUBTRACT/0/{i}" for i in range(40)])
        self.assertEqual({case["status"] for case in cases[:-1]} - {"done", "wrong"}, set())
        self.assertEqual(cases[-1]["operators"]["ELEMENT_WISE_SUBTRACT"]["cases"], 40)
        self.run_program("report", "report.jsonl")
        first, = self.findings()
        self.fuzz(engine, "--case", first["first"], "--shrink-runs", "0", status=1)
        self.assertEqual([finding["finding"] for finding in self.findings()], [1, 2])
        self.fuzz(engine, "--replay", "findings", status=1)
        self.fuzz(HEALTHY, "--replay", "findings")

    def test_cases_have_the_fields_that_are_kept(self):
        """Also sizes with fewer places than there could be indices, and members of tensors that nothing draws."""
        for name, kept, value in [("SCATTER", "InputTensor/Sizes", [2, 2]), ("SCATTER_ND", "InputTensor/Sizes", [1, 2, 5, 7]),
                                  ("GEMM", "ATensor/TotalTensorSizeInBytes", 4096), ("CONVOLUTION", "BiasTensor", None)]:
            with self.subTest(name):
                self.run_program("fuzz", "-q", name, "-n", "4", "--set", f"/desc/{kept}={json.dumps(value)}", "--write", name)
                self.run_program("batch", "-q", f"{name}/cases.jsonl")
                for line in (self.folder / name / "cases.jsonl").read_text().splitlines():
                    found = json.loads(line)["desc"]
                    for part in kept.split("/"):
                        found = found.get(part)
                    self.assertEqual(found, value)

    def test_activations_that_are_kept(self):
        relu = {"Type": "ACTIVATION_RELU"}
        for name, kept, value in [("GEMM", "FusedActivation", relu), ("RNN", "ActivationDescs", [relu])]:
            with self.subTest(name):
                self.run_program("fuzz", "-q", name, "-n", "2", "--set", f"/desc/{kept}={json.dumps(value)}", "--write", name)
                for line in (self.folder / name / "cases.jsonl").read_text().splitlines():
                    self.assertIn("ACTIVATION_RELU", json.dumps(json.loads(line)["desc"][kept]))

    def test_fields_that_are_kept(self):
        """They stay in the smallest case, and nothing is said to hang on them."""
        self.fuzz(f"{DMLOP} run -q {{}}/case.json --as '/desc/StartPadding<->/desc/EndPadding'", "CONVOLUTION", "-n", "2",
                  "--set", "/desc/Direction=FORWARD", "--set", "/desc/Strides/0=2", "--shrink-runs", "50", status=1)
        for finding in self.findings():
            self.assertEqual(finding["smallest"]["desc"]["Strides"][0], 2)
            told = {of for condition in finding["conditions"] for of in condition["of"]}
            self.assertEqual(told & {"/desc/Direction", "/desc/Strides/0"}, set())
            self.assertIn("/desc/Mode", told)
            self.assertTrue(finding["text"].endswith("; with Direction and Strides[0] kept"), finding["text"])

    def test_accepted_causes(self):
        self.fuzz(f"{DMLOP} run -q {{}}/case.json --as flush-subnormals || {HEALTHY}", "ELEMENT_WISE_MULTIPLY", "--type",
                  "FLOAT32", "-n", "60", "--accept", "flush-subnormals")

    def test_shrink_of_a_case_from_elsewhere(self):
        self.save(a=np.full((2, 3, 4), 2, "f4"), b=np.full((2, 3, 4), 3, "f4"))
        self.write("add.json", {"type": "ELEMENT_WISE_ADD", "bindings": {"ATensor": "a.npy", "BTensor": "b.npy"}})
        engine = f"{DMLOP} run -q {{}}/case.json --as '/desc/ATensor<->/desc/BTensor'; " + HEALTHY
        self.fuzz(engine, "add.json", command="shrink")
        rule = "for c in cases:\n a, begin = c.load()\n a[begin:] = bytes(x ^ 0x40 for x in a[begin:])\n c.save(a)"
        self.fuzz(self.engine(rule), "add.json", command="shrink", status=1)
        finding, = self.findings()
        self.assertEqual((finding["first"], elements_of(finding["smallest"])), ("add.json", 3))


    def test_a_replay_has_the_tolerance_of_the_run(self):
        engine = f"{DMLOP} run -q {{}}/case.json --as toward-zero"
        self.fuzz(engine, "ELEMENT_WISE_SQRT", "--type", "FLOAT32", "-n", "4", "--bits", "--shrink-runs", "20", status=1)
        self.fuzz(engine, "--replay", "findings", status=1)
        self.fuzz(engine, "--replay", "findings", "--tolerance", "sums")
        self.fuzz(HEALTHY, "--replay", "findings")

    def test_a_field_that_may_be_left_out_is_told_where_it_is_there(self):
        rule = "for c in cases:\n a, begin = c.load()\n if c.desc.get('ScaleBias'):\n  a[-1] ^= 0x40\n c.save(a)"
        text = self.fuzz(self.engine(rule), ABS, "-n", "10", "--type", "FLOAT32", "--shrink-runs", "60", status=1).stdout.decode()
        self.assertRegex(text, r"smallest +InputTensor \{1\}, ScaleBias \{.*\}, FLOAT32 ")

    def test_what_was_not_varied_is_told(self):
        text = self.fuzz("exit 3", ABS, "-n", "1", "--shrink-runs", "3", status=1).stdout.decode()
        self.assertIn("not varied: ", text)
        self.assertNotIn("any ", text)

    def test_the_last_line_of_what_an_engine_says_is_its_heading(self):
        text = self.fuzz("echo first >&2; echo last >&2; exit 3", ABS, "-n", "1", status=1).stdout.decode()
        self.assertIn("the engine ended with status 3: last ", text)
        readme = (self.folder / f"findings/1-{ABS}/README.md").read_text()
        self.assertIn("```\nfirst\nlast\n```\n", readme)


class InterruptedTest(FuzzTest):
    def interrupt(self, starts, *command):
        """Sends SIGINT after so many starts of an engine that counts them. Returns what was printed, and the errors."""
        (self.folder / "starts").write_text("")
        process = subprocess.Popen([DMLOP, *command], cwd=self.folder, env=os.environ | {"TMPDIR": str(self.temporary)},
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while len((self.folder / "starts").read_text().splitlines()) < starts and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        printed, errors = process.communicate()
        self.assertEqual(process.returncode, -signal.SIGINT, errors)
        self.assertEqual(list(self.temporary.iterdir()), [])
        return printed.decode(), errors.decode()

    def contents_of(self, folder):
        """The files of a folder but its state, with what they hold."""
        files = [path for path in (self.folder / folder).rglob("*") if path.is_file() and path.name != "state.json"]
        return {str(path): path.read_bytes() for path in files}

    def test_a_finding_goes_on(self):
        """What was found when a signal came is told and whole; what goes on ends as if there had been none."""
        rule = "for c in cases:\n a, begin = c.load()\n if c.width > 1:\n  a[-1] ^= 0x40\n c.save(a)"
        engine = f"echo {{}} >> starts; {self.engine(rule)}"
        options = [ABS, "-n", "2", "--type", "FLOAT32", "--max-elements", "30", "--shrink-runs", "30", "--engine", engine]
        self.run_program("fuzz", *options, "-o", "whole", status=1)
        whole, = self.findings("whole")
        for starts in in_turn((3, 20, len((self.folder / "starts").read_text().splitlines()) - 12)):
            with self.subTest(starts=starts):
                folder = f"cut-{starts}"
                printed, errors = self.interrupt(starts, "fuzz", *options, "-o", folder)
                self.assertIn(f"--resume {folder}", errors)
                cut, = self.findings(folder)
                own = f"{folder}/{cut['finding']}-{ABS}"
                self.assertIn(f"dmlop run {own}/case.json --judge {own}/actual", printed)
                self.run_program("run", f"{own}/case.json", "--judge", f"{own}/actual", status=1)
                before = self.contents_of(folder)
                limit = ["bash", "-c", 'ulimit -f 1; exec "$@"', "bash", DMLOP, "fuzz", "--resume", folder]
                full = subprocess.run([*limit, "--engine", engine], cwd=self.folder, capture_output=True,
                                      env=os.environ | {"TMPDIR": str(self.temporary)})
                self.assertEqual(full.returncode, 5, full.stderr)
                self.assertEqual(self.contents_of(folder), before, "a full disk takes nothing away")
                self.run_program("fuzz", "--resume", folder, "--engine", engine, status=1)
                self.assertEqual(set(self.contents_of(folder)), set(before), "in place of the one before")
                found, = self.findings(folder)
                for member in ("cases", "smallest", "conditions", "minimal", "runs", "what"):
                    self.assertEqual(found[member], whole[member], member)
        printed, _ = self.interrupt(5, "shrink", "whole/1-ELEMENT_WISE_ABS/first.json", "--engine", engine, "-o", "shrunk")
        self.assertIn("not minimal", printed)
        self.run_program("run", f"shrunk/1-{ABS}/case.json", "--judge", f"shrunk/1-{ABS}/actual", status=1)

    def test_a_run_goes_on(self):
        """The cases of both parts are those of a run that is not interrupted, each run once."""
        engine = f"echo {{}} >> starts; sleep 0.05; {HEALTHY}"
        environment = os.environ | {"TMPDIR": str(self.temporary)}
        command = [DMLOP, "fuzz", ABS, "-n", "60", "--engine", engine, "--report", "report.jsonl"]
        process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        while not (self.folder / "starts").exists() or len((self.folder / "starts").read_text().split()) < 5:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertIn(b"--resume findings", errors)
        self.assertEqual(list(self.temporary.iterdir()), [])
        self.fuzz(f"echo {{}} >> starts; {HEALTHY}", "--resume", "findings")
        lines = [json.loads(line) for line in (self.folder / "report.jsonl").read_text().splitlines()]
        self.assertEqual([line["name"] for line in lines[:-1]], [f"{ABS}/0/{i}" for i in range(60)])
        self.assertEqual(lines[-1]["operators"][ABS]["cases"], 60)
        self.assertEqual(len((self.folder / "starts").read_text().splitlines()), 60)

    def pairs_of(self, folder):
        return json.loads((self.folder / folder / "state.json").read_text())["operators"][ABS]["pairs"]

    def test_only_pairs_that_were_run_are_counted(self):
        """Of a run that ends between two starts, of one that goes on, and of a case that is run alone."""
        engine = f"echo {{}} >> starts; {DMLOP} batch -q {{}}/cases.jsonl"
        options = [ABS, "--per-start", "4", "--jobs", "1"]
        self.fuzz(engine, *options, "-n", "4", "-o", "some")
        self.fuzz(engine, *options, "-n", "12", "-o", "all")
        self.interrupt(1, "fuzz", *options, "-n", "12", "-o", "cut", "--engine", engine)
        self.assertEqual(self.pairs_of("cut"), self.pairs_of("some"))
        self.interrupt(1, "fuzz", "--resume", "cut",
                       "--engine", "echo {} >> starts; kill -INT $PPID; sleep 9")
        self.assertEqual(self.pairs_of("cut"), self.pairs_of("some"))
        self.fuzz(engine, "--resume", "cut")
        self.assertEqual(self.pairs_of("cut"), self.pairs_of("all"))
        self.fuzz(HEALTHY, "--case", f"{ABS}/0/11", "-o", "alone")
        self.assertLess(self.pairs_of("alone")["seen"], self.pairs_of("some")["seen"])

    def test_a_run_goes_on_with_its_own_options(self):
        """The time and the number of engines may be others, and the last ones that were given are not kept."""
        self.fuzz(HEALTHY, ABS, "-n", "2", "--type", "FLOAT32", "--timeout", "20", "--jobs", "1")
        state = json.loads((self.folder / "findings/state.json").read_text())
        state["operators"] = {}  # as if it had ended before its first case
        self.write("findings/state.json", state)
        for options, refused in ((["--seed", "1"], "--seed"), (["-n", "9"], "--cases"), (["-o", "other"], "--output")):
            errors = self.fuzz(HEALTHY, "--resume", "findings", *options, status=2).stderr.decode()
            self.assertIn(f"--resume goes on with the options of that run: {refused} cannot be another one", errors)
        self.fuzz("sleep 9; : {}", "--resume", "findings", "--timeout", "0.2", "--jobs", "2", "-q", status=1)
        self.assertEqual({finding["class"] for finding in self.findings()}, {"hang"})

    def test_what_was_found_is_told_again(self):
        """The cause, the cases in company and the command of a finding are those that the first run told."""
        crash = "if len(cases) > 1:\n os.kill(os.getpid(), 11)"
        for name, engine, arguments, told in (
                ("cause", f"{DMLOP} run -q {{}}/case.json --as '/desc/ATensor<->/desc/BTensor'", [], "   cause  "),
                ("company", self.engine(crash, RIGHT), ["--per-start", "3"], "   company  ")):
            with self.subTest(name):
                text = self.fuzz(engine, "ELEMENT_WISE_SUBTRACT", "-n", "3", "--type", "FLOAT32", "--shrink-runs", "10",
                                 *arguments, "-o", name, status=1).stdout.decode()
                self.assertIn(told, text)
                self.assertEqual(self.fuzz(engine, "--resume", name, status=1).stdout.decode(), text)
        findings = self.folder / "cause/findings.jsonl"
        findings.write_text(findings.read_text().replace('"causes":[', '"causes":[5,'))
        self.assertIn("is damaged", self.errors_of("fuzz", "--engine", "x", "--resume", "cause", status=2))

    def test_a_full_disk(self):
        """What was found is told, and no part of it is left that could be taken for the whole."""
        engine = f"{DMLOP} run -q {{}}/case.json --as '/desc/ATensor<->/desc/BTensor'"
        command = ["-n", "3", "--type", "FLOAT32", "--shrink-runs", "10", "--max-elements", "30", "ELEMENT_WISE_SUBTRACT"]
        for blocks, arguments, full, left in (
                (1, ["--engine", engine], "cannot be written", []),
                (0, ["--write", "cases"], "cannot be written", []),
                (4, ["--engine", engine, "--report", "report.jsonl"], "report.jsonl: cannot be written",
                 ["findings", "report.jsonl"])):
            with self.subTest(blocks=blocks, arguments=arguments):
                done = subprocess.run(["bash", "-c", f'ulimit -f {blocks}; exec "$@"', "bash", DMLOP, "fuzz",
                                       *command, *arguments],
                                      cwd=self.folder, env=os.environ | {"TMPDIR": str(self.temporary)},
                                      capture_output=True)
                self.assertEqual(done.returncode, 5, done.stderr)
                self.assertIn(full, done.stderr.decode())
                self.assertEqual(sorted(path.name for path in self.folder.iterdir()), [*left, "tmp"])
                self.assertEqual(list(self.temporary.iterdir()), [])
                if "--engine" in arguments:
                    self.assertIn("1  ELEMENT_WISE_SUBTRACT  wrong values in", done.stdout.decode())
                    self.assertEqual("try  " in done.stdout.decode(), "findings" in left)

    def test_twice_is_at_once(self):
        process = subprocess.Popen([DMLOP, "fuzz", ABS, "-n", "9", "--engine", "touch started; sleep 300; : {}"],
                                   cwd=self.folder, env=os.environ | {"TMPDIR": str(self.temporary)},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not (self.folder / "started").exists():
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), -signal.SIGTERM)
        self.assertEqual(list(self.temporary.iterdir()), [])


class CommandLineTest(FuzzTest):
    def test_what_is_refused(self):
        for arguments, words in [
            ([ABS], "--engine is missing"),
            (["NO_SUCH", "--engine", "x"], "'NO_SUCH' is no operator"),
            ([ABS, "--engine", "x", "--type", "FLOAT31"], "'FLOAT31' is not a data type"),
            ([ABS, "--engine", "x", "--rank", "9"], "'9' is not a rank from 1 to 8"),
            ([ABS, "--engine", "x", "--set", "Mode=1"], "--set 'Mode=1' is not a field and its value"),
            ([ABS, "--engine", "x", "--set", "/desc/NoField=1"], f"{ABS} has no such cases: --set /desc/NoField: "),
            (["--engine", "x", "--set", "/desc/NoField/Sizes=[1]"], "none of the operators has such cases; "),
            *((["GEMM", "--engine", "x", f"--set=/desc/{one}"], f"GEMM has no such cases: --set /desc/{one.split('=')[0]}: {why}")
              for one, why in [
                  ("ATensor/NoMember=[1,2]", "'NoMember' is not"), ("ATensor/Sizes/8=3", "there are at most 4 dimensions"),
                  ("TransA/0=3", "expected a string"), ("TransA=FOO", "'FOO' is not"), ("ATensor=null", "cannot be left out"),
                  ("FusedActivation/Alpha=FOO", "'FOO' is not a number"), ("FusedActivation/Nope=1", "'Nope' is not")]),
            *((["GEMM", "--engine", "x", *(f"--set=/desc/{one}" for one in kept)], "GEMM has no such cases") for kept in [
                ["Alpha=" + "[" * 3000 + "]" * 3000], ["ATensor=5", "ATensor/Sizes=[1,1,2,3]"], ["A~=1"], ["ATensor=null"]]),
            (["--engine", "x", "--case", "ABS"], "--case 'ABS' is no name of a case"),
            (["GEMM", "--engine", "x", "--type", "INT64"], "GEMM has no such cases"),
            ([ABS, "--engine", "x", "--accept", "nonsense"], "--accept 'nonsense': there is no such cause"),
        ]:
            with self.subTest(arguments):
                self.assertIn(words, self.errors_of("fuzz", *arguments, status=2))
        self.assertEqual(self.files(), ["tmp"])


if __name__ == "__main__":
    unittest.main()
