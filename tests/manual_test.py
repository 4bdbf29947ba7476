# SPDX-License-Identifier: Apache-2.0
"""The manual: well-formed, true to --help, and every example runs."""

import base64
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

sys.dont_write_bytecode = True
from png_reader import decode_png
from program import DMLOP, GROUPS, ROOT, X, ProgramTest, manual_of, operators, start

TUTORIAL = ROOT / "man/dmlop-tutorial.7"
PAGES = sorted((ROOT / "man").glob("*.[157]"))
COMMANDS = [page.stem.removeprefix("dmlop-") for page in PAGES if page.name.endswith(".1") and page.stem != "dmlop"]
COMMON = {"-h", "--help", "-q", "--quiet", "-v", "--verbose", "--color"}
# cluster_test.py runs examples of the first two; the others are engines, which fuzz_test.py has of its own.
TOOLS = ("parallel", "sbatch", "run-on-gpu", "run-many")


def options_of_help(command):
    """The names of each option."""
    text = start([command, "--help"]).stdout.decode()
    listed = text[text.index("\nOptions:"):text.index("\nExamples:")]
    return {frozenset(line.split()[0].split(",")) for line in listed.splitlines() if line.startswith("  -")}


def options_of_page(page):
    """The names on the lines that begin list items."""
    found = set()
    for line in re.findall(r"^\.It (.*\bFl .*)$", page.read_text(), re.M):
        for names in re.findall(r"\bFl ((?:\S+ , )*\S+)", line.replace(" , Fl ", " Fl ")):
            found.update("-" + name for name in names.split(" , "))
    return found


def literal(block):
    """The text of a literal block as a reader sees it."""
    named = re.sub(r"\\\[u([0-9A-F]{4})\]", lambda match: chr(int(match[1], 16)), block)
    return named.replace("\\e", "\\").replace("\\&", "")


def examples_of(page):
    """The commands that a page shows as examples."""
    text = page.read_text()
    if ".Sh EXAMPLES" not in text:
        return []
    shown = text[text.index(".Sh EXAMPLES"):].replace("\\(dq", '"').replace("\\(aq", "'")
    blocks = re.findall(r"^\.Bd -literal.*\n((?:.*\n)*?)\.Ed$", shown, re.M)
    lines = re.findall(r"^\.Dl (.*)$", shown, re.M)
    return [*lines, *(literal(block) for block in blocks)]


def session_of(page):
    """Blocks of commands, each with the output that the page shows, if any: blocks that are indented further."""
    steps = []
    blocks = re.findall(r"^\.Bd -literal -offset (indent|indent-two)\n((?:.*\n)*?)\.Ed$", page.read_text(), re.M)
    for offset, block in blocks:
        if offset == "indent":
            steps.append((literal(block), ""))
        else:
            steps[-1] = (steps[-1][0], literal(block))
    return steps


def shown_pattern(shown):
    """A pattern for output of which a page shows a part: '...' stands for what is left out, and times vary."""
    escaped = re.sub(r"in\\ \d+\\\.\d+\\ s", r"in \\d+\\.\\d+ s", re.escape(shown))
    return re.sub(r"(?:\\\.){3}", "(?s:.*)", escaped)


def run_shell(script, folder, **options):
    """Runs commands as typed, with the program and the Python of this test."""
    tools = f"PATH={os.path.dirname(DMLOP)}:$PATH\npython3() {{ {sys.executable} \"$@\"; }}\n"
    return subprocess.run(["bash", "-c", tools + script], cwd=folder, text=True, timeout=60, **options)


class PagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.pages = list(PAGES)
        for group in GROUPS:
            page = pathlib.Path(cls.folder.name) / f"dmlop-{group}.7"
            page.write_bytes(manual_of(group))
            cls.pages.append(page)
        page = pathlib.Path(cls.folder.name) / "dmlop-onnx.5"
        page.write_bytes(manual_of("onnx"))
        cls.pages.append(page)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_every_operator_is_on_one_page(self):
        told = [name for group in GROUPS for name in re.findall(r"^\.Ss (.*)$", manual_of(group).decode(), re.M)]
        self.assertEqual(sorted(told), sorted(operators()))

    def test_pages_of_operators_have_their_fields_and_rules(self):
        all = operators()
        for group in GROUPS:
            for section in manual_of(group).decode().split("\n.Ss ")[1:]:
                name = section.splitlines()[0]
                info = all[name]
                items = re.findall(r"^\.It (?:Ql )?(\S+)$", section, re.M)
                listed = [field["name"] for field in info["fields"]] + [rule["code"] for rule in info["rules"]]
                self.assertEqual(items[:len(listed)], listed, name)
                self.assertEqual(items[len(listed):], [row["since"] for row in info["support"]], name)

    def test_every_command_has_a_page(self):
        listed = start(["--help"]).stdout.decode()
        names = re.findall(r"^  (\w+) ", listed[listed.index("Subcommands:"):], re.M)
        self.assertEqual(sorted(names), sorted(COMMANDS))
        for name in names:
            self.assertIn(f".Xr dmlop-{name} 1 .", (ROOT / "man/dmlop.1").read_text())

    def test_pages_are_well_formed(self):
        names = {page.name for page in self.pages} | {"mdoc.7"}
        for page in self.pages:
            said = subprocess.run(["mandoc", "-T", "lint", page], capture_output=True, text=True).stdout
            for line in said.splitlines():
                missing = re.search(r"referenced manual not found: Xr (\S+) (\d)", line)
                self.assertIsNotNone(missing, line)  # for pages that are not installed here
                self.assertIn(f"{missing[1]}.{missing[2]}", names, line)

    def test_pages_can_be_read_in_terminals_of_any_width(self):
        """groff never ends if the volume's name leaves too little of a line for a page's header."""
        for page, width in itertools.product(self.pages, ("30", "80")):
            try:
                shown = subprocess.run(["man", "-l", page], env=os.environ | {"MANWIDTH": width}, capture_output=True, timeout=20)
            except FileNotFoundError:
                return print("man is not installed: no page was formatted by it", file=sys.stderr)
            self.assertEqual(shown.returncode, 0)
            self.assertGreater(len(shown.stdout.splitlines()), 10, (page.name, width))

    def test_pages_fit_a_terminal(self):
        for page in self.pages:
            lines = self.rendered(page, "ascii").splitlines()
            self.assertGreater(len(lines), 10)
            self.assertEqual([line for line in lines if len(line) > 79], [], page.name)

    def test_each_word_has_its_own_quotes(self):
        for page in self.pages:
            text = " ".join(self.rendered(page, "utf8").split())
            self.assertEqual(re.findall("‘[^’]*‘[^’]*’", text), [], page.name)
            self.assertEqual(re.findall(r"‘[\w-]+, [^’]*’", text), [], page.name)

    @staticmethod
    def rendered(page, device):
        shown = subprocess.run(["mandoc", "-T", device, page], capture_output=True, text=True).stdout
        return re.sub(".\b", "", shown)  # bold and underlined characters are overstruck

    def test_pages_have_the_options_of_help(self):
        for command in COMMANDS:
            with self.subTest(command):
                told = {name for names in options_of_help(command) for name in names} - COMMON
                self.assertEqual(options_of_page(ROOT / f"man/dmlop-{command}.1"), told)

    def test_the_common_options_are_those_of_every_command(self):
        self.assertEqual(options_of_page(ROOT / "man/dmlop.1") - {"--version"}, COMMON)
        for command in COMMANDS:
            self.assertLess(COMMON, {name for names in options_of_help(command) for name in names} | {""})


class ExamplesTest(ProgramTest):
    def setUp(self):
        super().setUp()
        reduce = {"type": "REDUCE", "desc": {"Function": "SUM", "Axes": [0]}}
        gpu = X.sum(0, keepdims=True)
        self.save(x=X, a=X, b=X, gpu=gpu, cpu=gpu + 1)
        self.write("reduce.json", reduce)
        self.write("bound.json", reduce | {"bindings": {"InputTensor": "x.npy", "OutputTensor": "bound.npy"}})
        self.write("split.json", {"type": "SPLIT", "desc": {"Axis": 0, "OutputTensors": [
            {"DataType": "FLOAT32", "Sizes": [1, 3]}, {"DataType": "FLOAT32", "Sizes": [2, 3]}]}})
        self.write("join.json", {"type": "JOIN", "desc": {"Axis": 0}})
        page = (ROOT / "man/dmlop-descriptor.5").read_text()
        self.write("model.json", next(b for b in self.blocks(page) if '"dispatchables"' in b))
        sweep = next(b for b in self.blocks((ROOT / "man/dmlop-batch.1").read_text()) if '"sweep"' in b)
        self.write("sweep.jsonl", sweep.replace("\n", " ") + "\n")
        (self.folder / "model.onnx").write_bytes(base64.b64decode(re.search(r"<<'END'\n(CAh\S+\n(?:\S+\n)*?)END", TUTORIAL.read_text())[1]))
        np.save(self.folder / "in.npy", np.ones((2, 4), "f4"))
        self.run_program("run", "model.onnx", "-i", "in.npy", "-o", "out.npy", "--keep-all", "dump")
        for folder in ("gpu", "golden"):
            (self.folder / folder).mkdir()
        self.write("cases.jsonl", self.text_of("batch", "--expand", "sweep.jsonl"))
        for folder in ("gpu", "golden"):
            self.run_program("batch", "cases.jsonl", "--output-path", folder)
        for device in ("a100", "h100"):
            self.run_program("batch", "cases.jsonl", "--judge", "--output-path", "gpu", "--report", f"{device}.jsonl")

    @staticmethod
    def blocks(text):
        return re.findall(r"^\.Bd -literal.*\n((?:.*\n)*?)\.Ed$", text, re.M)

    def test_every_example_runs(self):
        count = 0
        for page in PAGES:
            for example in examples_of(page):
                if any(re.search(rf"\b{tool} ", example) for tool in TOOLS):
                    continue
                with self.subTest(page=page.name, example=example):
                    done = run_shell("set -e -o pipefail\n" + example, self.folder, capture_output=True)
                    differs = re.search("compare|judge|--fail-over", example)  # or the machine is busy
                    self.assertIn(done.returncode, (0, 1) if differs else (0,), done.stderr)
                    count += 1
        self.assertGreater(count, 12)

    def test_every_document_is_valid(self):
        documents = []
        for page in PAGES:
            documents += [(page.name, b) for b in self.blocks(page.read_text()) if b.startswith("{")]
        self.assertEqual(len(documents), 3)
        for name, document in documents:
            with self.subTest(name):
                if '"sweep"' in document:
                    self.assertIn(b"dmlop: 6 cases, 3 combinations left out", start(["batch", "--expand", "sweep.jsonl"], cwd=self.folder).stderr)
                else:
                    self.run_program("validate", "-", stdin=document.encode())


class TutorialTest(ProgramTest):
    def test_every_command_prints_what_is_shown(self):
        steps = session_of(TUTORIAL)
        self.assertGreater(len(steps), 12)
        for commands, shown in steps:
            with self.subTest(commands):
                done = run_shell(commands, self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 env=os.environ | {"LC_ALL": "C.UTF-8", "COLUMNS": "80"})
                differs = re.search("compare|judge|diagnose|dmlop fuzz PADDING", commands)
                self.assertIn(done.returncode, (0, 1) if differs else (0,), done.stdout)
                self.assertRegex(done.stdout, rf"\A{shown_pattern(shown)}\Z")
        drawn, installed = (decode_png((folder / "differences.png").read_bytes())
                            for folder in (self.folder, ROOT / "app/packaging"))
        for pair in zip(drawn, installed, strict=True):
            np.testing.assert_array_equal(*pair)


if __name__ == "__main__":
    unittest.main()
