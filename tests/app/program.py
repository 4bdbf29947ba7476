# SPDX-License-Identifier: Apache-2.0
"""Runs the program under test in a folder that is removed afterwards."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import zlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DMLOP = str(pathlib.Path(os.environ.get("DMLOP", ROOT / "build/release/dmlop")).resolve())

# Where a program takes long, one in so many tests runs, and the next one in the next turn.
SHARE = int(os.environ.get("DMLOP_PROGRAM_TEST_SHARE", 1))
TURN = int(os.environ.get("DMLOP_TEST_TURN", 0))
LONG_SHARE = int(os.environ.get("DMLOP_TEST_SHARE", 3))

SUM = '{"type": "REDUCE", "Function": "SUM", "Axes": [0]}'
COPY = '{"type": "ELEMENT_WISE_IDENTITY"}'
THIRDS = '{"type": "SPLIT", "Axis": 0, "OutputCount": 3}'
JOIN = '{"type": "JOIN", "Axis": 0}'

X = np.array([[1, 2, 3], [3, 0, 4], [2, 4, 2]], "f4")  # the matrix of the REDUCE page
COLUMN_SUMS = np.array([[6, 6, 9]], "f4")
COLUMN_SUMS_TEXT = "OutputTensor: (Sizes:{1, 3}, DataType:FLOAT32)\n[[6, 6, 9]]\n"


def start(arguments, stdin=b"", cwd=None, **options):
    """Runs dmlop to its end; its output is returned as bytes."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 120} | options
    return subprocess.run([DMLOP, *map(str, arguments)], input=stdin, cwd=cwd, **options)


def parsed(path):
    """The document without the comments and trailing commas that dmlop accepts and Python does not."""
    text = path.read_text(encoding="utf-8-sig")
    token = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.S)
    text = token.sub(lambda match: match[1] or " ", text)
    token = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[\]}])', re.S)
    return json.loads(token.sub(lambda match: match[1] or "", text))


def in_turn(rows):
    """One in DMLOP_TEST_SHARE of the rows of a table that takes long, or in 3, and the next ones in the next turn."""
    return list(rows)[TURN % LONG_SHARE::LONG_SHARE]


def read_lines(folder):
    """The lines of testdata/FOLDER/*.jsonl as values, each with its place."""
    for path in sorted((ROOT / "testdata" / folder).glob("*.jsonl")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.strip() and not line.startswith("//"):
                yield f"{path.name}:{number}", json.loads(line)


def cases_by_file():
    """The cases of each operator, by the name of their file."""
    files = {}
    for place, case in read_lines("operators"):
        files.setdefault(place.split(":")[0], []).append(case)
    return files


def documents_in(text):
    """The consecutive JSON values in a text."""
    documents, at = [], 0
    while at < len(text):
        document, at = json.JSONDecoder().raw_decode(text, at)
        documents.append(document)
        at += len(text[at:]) - len(text[at:].lstrip())
    return documents


GROUPS = ["elements", "indexing", "movement", "norms", "products", "recurrent", "reduction", "windows"]


def manual_of(group):
    """The page on a group of operators, which the program generates."""
    return start(["ops", "--manual", group]).stdout


def operators():
    """The description of each operator in `dmlop ops`, by its name."""
    return {info["name"]: info for info in json.loads(start(["ops", "--format", "json"]).stdout)}


def read_screen(screen):
    """Reads what is written to a pseudo-terminal until its other end is closed; then closes it."""
    text = b""
    try:
        while part := os.read(screen, 1 << 16):
            text += part
    except OSError:
        pass  # Linux reports the end of a terminal in this way
    os.close(screen)
    return text


def peak_memory(arguments, cwd):
    """The exit status of a run without a reader, and its peak memory in bytes, which is at least that of the test
    itself."""
    process = subprocess.Popen([DMLOP, *map(str, arguments)], cwd=cwd, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss * 1024


class ProgramTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        if (zlib.crc32(self.id().encode()) + TURN) % SHARE != 0:
            self.skipTest("in another turn")
        folder = tempfile.TemporaryDirectory(prefix="dmlop-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, *arguments, stdin=b"", status=0, **options):
        """Runs dmlop in the test's folder and checks the exit status."""
        done = start(arguments, stdin, **({"cwd": self.folder} | options))
        shown = (done.stdout or b"")[:2000], (done.stderr or b"")[:2000]
        self.assertEqual(done.returncode, status, f"{arguments}: {shown}")
        return done

    def text_of(self, *arguments, **options):
        return self.run_program(*arguments, **options).stdout.decode()

    def errors_of(self, *arguments, **options):
        return self.run_program(*arguments, **options).stderr.decode()

    def save(self, **arrays):
        for name, array in arrays.items():
            np.save(self.folder / f"{name}.npy", array)

    def load(self, name):
        return np.load(self.folder / f"{name}.npy")

    def write(self, name, content):
        text = content if isinstance(content, (str, bytes)) else json.dumps(content)
        data = text if isinstance(text, bytes) else text.encode()
        (self.folder / name).write_bytes(data)

    def files(self):
        return sorted(str(p.relative_to(self.folder)) for p in self.folder.rglob("*"))

    def assert_same(self, actual, expected):
        self.assertEqual((actual.dtype, actual.shape), (expected.dtype, expected.shape))
        self.assertEqual(actual.tobytes(), expected.tobytes())
