# SPDX-License-Identifier: Apache-2.0
"""Standard input and output as sequences of .npy arrays."""

import io
import shlex
import subprocess
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import COLUMN_SUMS, COLUMN_SUMS_TEXT, COPY, DMLOP, JOIN, SUM, THIRDS, X, ProgramTest


def stream(*arrays):
    """The content that several calls of numpy.save leave in one open file."""
    file = io.BytesIO()
    for array in arrays:
        np.save(file, array)
    return file.getvalue()


class StreamsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.save(x=X)

    def test_one_array_in_one_array_out(self):
        done = self.run_program("run", SUM, "-i", "-", "-o", "-", stdin=stream(X))
        self.assertEqual(done.stdout, stream(COLUMN_SUMS))

    def test_several_arrays_follow_one_another(self):
        done = self.run_program("run", THIRDS, "-i", "x.npy", "-o", "-", "-o", "-", "-o", "-")
        self.assertEqual(done.stdout, stream(X[:1], X[1:2], X[2:]))
        done = self.run_program("run", JOIN, "-i", "-", "-i", "-", "-i", "-", "-o", "-", stdin=done.stdout)
        self.assertEqual(done.stdout, stream(X))

    def test_arrays_come_in_the_order_of_the_tensors(self):
        named = ["-o", "OutputTensors[2]=-", "-o", "OutputTensors[0]=-", "-o", "OutputTensors[1]=b.npy"]
        done = self.run_program("run", THIRDS, "-i", "x.npy", *named)
        self.assertEqual(done.stdout, stream(X[:1], X[2:]))

    def test_files_and_streams_mix(self):
        document = '{"type": "JOIN", "Axis": 0, "InputTensors": [null, {"DataType": "FLOAT32", "Sizes": [3, 3]}, null]}'
        inputs = ["-i", "-", "-i", "x.npy", "-i", "-"]
        done = self.run_program("run", document, *inputs, "-o", "-", stdin=stream(X[:1], X[1:]))
        self.assertEqual(done.stdout, stream(np.concatenate([X[:1], X, X[1:]])))

    def test_inference_keeps_the_order_of_a_stream(self):
        """Only the second input must be opened to find its type; the first one is still read first."""
        document = '{"type": "JOIN", "Axis": 0, "InputTensors": [{"DataType": "FLOAT32", "Sizes": [1, 3]}, null]}'
        done = self.run_program("run", document, "-i", "-", "-i", "-", "-o", "-", stdin=stream(X[:1], X[1:]))
        self.assertEqual(done.stdout, stream(X))

    def test_split_and_join_are_filters(self):
        halves = '{"type": "SPLIT", "Axis": 0, "OutputCount": 2}'
        big = np.arange(1 << 20, dtype="i4")  # more than a pipe holds
        np.save(self.folder / "big.npy", big)
        split = subprocess.Popen(
            [DMLOP, "run", halves, "-i", "big.npy", "-o", "-", "-o", "-"],
            stdout=subprocess.PIPE, cwd=self.folder)
        join = subprocess.run(
            [DMLOP, "run", JOIN, "-i", "-", "-i", "-", "-o", "-"], stdin=split.stdout, stdout=subprocess.PIPE)
        split.stdout.close()
        self.assertEqual((split.wait(), join.returncode), (0, 0))
        self.assertEqual(join.stdout, stream(big))

    def test_golden_file_and_input_may_share_the_stream(self):
        self.run_program("run", SUM, "-i", "-", "-e", "-", stdin=stream(X, COLUMN_SUMS))

    def test_show_and_compare_read_streams(self):
        self.assertIn("[[6, 6, 9]]", self.text_of("show", "-", stdin=stream(COLUMN_SUMS)))
        self.run_program("compare", "-", "-", stdin=stream(X, X))
        self.run_program("compare", "-", "x.npy", stdin=stream(X + 1), status=1)

    def test_big_endian_and_fortran_arrays_stream_too(self):
        swapped = np.asfortranarray(X).astype(">f4")
        self.assertEqual(self.text_of("run", SUM, "-i", "-", stdin=stream(swapped)), COLUMN_SUMS_TEXT)

    def test_what_follows_the_last_array_is_left_alone(self):
        self.assertEqual(self.text_of("run", SUM, "-i", "-", stdin=stream(X) + b"more"), COLUMN_SUMS_TEXT)

    def test_a_short_or_broken_stream_does_not_fit(self):
        for name, data, message in [
            ("nothing", b"", "standard input: ends where another .npy array is expected"),
            ("half a magic", b"\x93NUM", "standard input: is not a .npy file"),
            ("half a header", stream(X)[:40], "standard input: is truncated within its header"),
            ("half the data", stream(X)[:-1], "standard input: is truncated"),
            ("text", b"1 2 3\n" * 9, "standard input: is not a .npy file"),
            ("a header that lies", stream(X).replace(b"(3, 3)", b"(3,9999999999)"), "standard input:"),
        ]:
            with self.subTest(name):
                errors = self.errors_of("run", SUM, "-i", "-", "-o", "y.npy", stdin=data, status=4)
                self.assertIn(message, errors)
        self.assertNotIn("y.npy", self.files())

    def test_one_array_too_few(self):
        errors = self.errors_of("run", JOIN, "-i", "-", "-i", "-", stdin=stream(X), status=4)
        self.assertIn("ends where another .npy array is expected", errors)

    def test_a_reader_that_leaves_early_ends_the_writer_quietly(self):
        big = np.zeros(1 << 20, "i4")
        np.save(self.folder / "big.npy", big)
        writer = subprocess.Popen(
            [DMLOP, "run", COPY, "-i", "big.npy", "-o", "-"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder)
        writer.stdout.read(10)
        writer.stdout.close()
        errors = writer.stderr.read()
        writer.stderr.close()
        self.assertIn(writer.wait(), (-13, 5))  # SIGPIPE, or the status of a failed write
        self.assertNotIn(b"internal", errors)


class DescriptorsTest(ProgramTest):
    """Files opened by another process, under the names /dev/fd/N."""

    def setUp(self):
        super().setUp()
        self.save(x=X, sums=COLUMN_SUMS)
        self.write("sum.json", SUM)

    def run_shell(self, command, status=0, **options):
        done = subprocess.run(["bash", "-c", command.replace("dmlop", shlex.quote(DMLOP))], cwd=self.folder,
                              capture_output=True, check=False, **options)
        self.assertEqual(done.returncode, status, (command, done.stderr))
        return done.stdout.decode() + done.stderr.decode()

    def test_a_file_or_a_pipe_behind_a_descriptor_is_an_input(self):
        for command, expected in [
            ("dmlop run sum.json -i {x}", COLUMN_SUMS_TEXT),
            ("dmlop run {sum} -i x.npy", COLUMN_SUMS_TEXT),
            ("dmlop run sum.json -i x.npy -e {sums}", ""),
            ("dmlop show {sums}", "[[6, 6, 9]]"),
            ("dmlop compare {sums} sums.npy", "0 of 3 elements differ"),
            ("dmlop compare {sums} {sums}", "0 of 3 elements differ"),
        ]:
            for way in ("/dev/fd/3", "/proc/self/fd/3", "<(cat FILE)", "/dev/stdin"):
                name = next(name for name in ("x", "sums", "sum") if f"{{{name}}}" in command)
                if way == "/dev/stdin" and command.count("{") > 1:
                    continue  # a stream yields each array once
                file = name + (".json" if name == "sum" else ".npy")
                filled = command.replace(f"{{{name}}}", way.replace("FILE", file))
                with self.subTest(filled):
                    text = self.run_shell(f"{filled} {'<' if way == '/dev/stdin' else '3<'}{file}")
                    self.assertTrue(expected in text and bool(expected) == bool(text), text)

    def test_a_descriptor_takes_an_output_where_it_stands(self):
        expected = stream(COLUMN_SUMS)
        for way in ("/dev/fd/3", "/proc/self/fd/3"):
            self.run_shell(f"exec 3>o.npy; dmlop run sum.json -i x.npy -o {way}; dmlop run sum.json -i x.npy -o {way}")
            self.assertEqual((self.folder / "o.npy").read_bytes(), 2 * expected)
            self.run_shell(f"exec 3>>o.npy; dmlop run sum.json -i x.npy -o {way}")
            self.assertEqual((self.folder / "o.npy").read_bytes(), 3 * expected)
        self.run_shell("dmlop run sum.json -i x.npy -o /dev/stdout >> o.npy")
        self.assertEqual((self.folder / "o.npy").read_bytes(), 4 * expected)
        self.run_shell("dmlop run sum.json -i x.npy -o y.npy --report /dev/fd/3 3>r.json")
        self.assertIn('"sha256"', (self.folder / "r.json").read_text())

    def test_a_descriptor_that_is_not_open(self):
        for command in ("dmlop show /dev/fd/9", "dmlop run sum.json -i /dev/fd/9", "dmlop run /dev/fd/9 -i x.npy",
                        "dmlop run sum.json -i x.npy -o /dev/fd/9"):
            self.assertIn("/dev/fd/9: cannot be opened", self.run_shell(command, status=5))
        # The numbers of files that the program opens itself are not accepted.
        thirds = f"dmlop run '{THIRDS}' -i x.npy -o a.npy"
        for number in range(3, 12):
            self.run_shell(f"exec 3<&- 4<&- 5<&-; {thirds} -o /dev/fd/{number} -o c.npy", status=5)
        self.assertEqual(self.files(), ["sum.json", "sums.npy", "x.npy"])

    def test_what_is_left_of_a_stream_is_told(self):
        note = "dmlop: note: standard input has more behind this array; each - shows one\n"
        self.write("two.npy", 2 * stream(X))
        self.write("junk.npy", stream(X) + b"?")
        for command, told in (("dmlop show - <two.npy", True), ("cat two.npy | dmlop show -", True),
                              ("dmlop show - <junk.npy", True), ("dmlop show - - <two.npy", False),
                              ("dmlop show -q - <two.npy", False), ("dmlop show - <x.npy", False),
                              ("(dmlop show - && dmlop show -q -) <two.npy", True)):
            self.assertEqual(note in self.run_shell(command), told, command)

    def test_what_is_behind_a_descriptor_says_what_it_is(self):
        self.write("text", "1 2 3\n" * 9)
        self.assertIn("is not a .npy file", self.run_shell("dmlop show /dev/fd/3 3<text", status=4))


if __name__ == "__main__":
    unittest.main()
