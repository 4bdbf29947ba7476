# SPDX-License-Identifier: Apache-2.0
"""The progress line on a terminal; work is slow here because its input is."""

import concurrent.futures
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import time
import unittest

import numpy as np

sys.dont_write_bytecode = True
from program import DMLOP, SUM, ProgramTest, read_screen

PIECES = 12
PAUSE = 0.15  # seconds after each
TEXT_SIZE = 2_200_000  # text that --full prints of the slowly printed array
CLEAR = "\r\x1b[K"
KNOWN = re.compile(r"reading standard input: \d+%  \d\.\d of 3\.\d MB  \d+\.\d [kM]B/s  \d+ s left")
SAMPLES = re.compile(r"\[1/1\] big\.json, 1 thread, hot caches: \d+%  median [\d.]+ [mun]?s  [\d.]+ GB/s  \d+ s left")
BIG_SUM = """{"type": "REDUCE", "Function": "SUM", "Axes": [1],
              "InputTensor": {"DataType": "FLOAT32", "Sizes": [64, 100]}}"""


def array_bytes():
    file = io.BytesIO()
    np.save(file, np.zeros((3, 1 << 18), "f4"))
    return file.getvalue()


def feed(stream, data, pause, silence):
    """Each piece is larger than a pipe's buffer, so that writing waits for the reader to start."""
    size = len(data) // PIECES + 1
    time.sleep(silence)
    with stream:
        for begin in range(0, len(data), size):
            stream.write(data[begin:begin + size])
            stream.flush()
            time.sleep(pause)


class ProgressTest(ProgramTest):
    def run_fed(self, *arguments, data=None, pause=PAUSE, silence=0, columns=80, fifo=None, status=0, terminal=True,
                slow_reader=False, **environment):
        """The text on standard error while standard input or a FIFO gives `data` piece by piece, or while standard
        output is read that way."""
        kept = {k: v for k, v in os.environ.items() if k != "COLUMNS"} | environment
        screen, end = pty.openpty() if terminal else os.pipe()
        if terminal:
            fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([DMLOP, *arguments], cwd=self.folder, env=kept,
                                   stdin=subprocess.PIPE, stderr=end,
                                   stdout=subprocess.PIPE if slow_reader else subprocess.DEVNULL)
        os.close(end)

        def give():
            if fifo:
                process.stdin.close()
            stream = open(self.folder / fifo, "wb") if fifo else process.stdin
            feed(stream, array_bytes() if data is None else data, pause, silence)

        def take():
            process.stdin.close()
            with process.stdout as stream:
                while stream.read(TEXT_SIZE // PIECES):
                    time.sleep(pause)

        feeder = threading.Thread(target=take if slow_reader else give)
        feeder.start()
        text = read_screen(screen)
        feeder.join()
        self.assertEqual(process.wait(), status, text)
        return text.decode()

    def lines(self, text):
        """The lines that were drawn; the last one must be erased."""
        drawn = text.split(CLEAR)
        self.assertEqual((drawn[0], drawn[-1]), ("", ""), text)
        return [line.removeprefix("\x1b[?7l").removesuffix("\x1b[?7h") for line in drawn[1:-1]]

    def test_slow_work_is_shown_on_a_terminal_only(self):
        run = ["run", SUM, "-i", "-", "-o", "y.npy"]
        os.mkfifo(self.folder / "slow")
        np.save(self.folder / "x.npy", np.zeros((3, 1 << 18), "f4"))
        cut = array_bytes()[:-100]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            start = lambda *arguments, **options: pool.submit(self.run_fed, *arguments, **options)
            wide = start(*run)
            narrow = start("compare", "-", "x.npy", columns=40)
            stated = start("show", "-", "--stats", COLUMNS="30")
            pipe = start("show", "slow", fifo="slow")
            quiet = start(*run, "-q")
            piped = start(*run, terminal=False)
            short = start(*run, pause=0)
            broken = start(*run, data=cut, status=4)
            late = start(*run, silence=1.2)
            plain = start("show", "-", "--stats", columns=20, LC_ALL="C")
            np.save(self.folder / "long.npy", np.full((200, 1000), 1 / 3, "f4"))
            printing = start("show", "long.npy", "--full", slow_reader=True)
            self.write("big.json", BIG_SUM)
            samples = start("bench", "big.json", "-t", "1", "--cache", "hot", "--min-time", "700ms", data=b"")

        lines = self.lines(wide.result())
        self.assertGreater(len(lines), 1)
        self.assertRegex(lines[0], KNOWN)
        shares = [int(re.search(r"(\d+)%", line)[1]) for line in lines if line.startswith("reading")]
        self.assertEqual(shares, sorted(set(shares)))

        self.assertRegex(self.lines(narrow.result())[0], r"^reading standard input: \d+%  \d\.\d of 3\.\d MB$|^reading standard input: \d+%$")
        self.assertLessEqual(max(map(len, self.lines(narrow.result()))), 40)
        self.assertRegex(self.lines(stated.result())[0], r"^reading standard input: \d+%$")
        self.assertLessEqual(max(map(len, self.lines(stated.result()))), 30)
        self.assertRegex(self.lines(pipe.result())[0], r"^reading slow: \d+%  \d\.\d of 3\.\d MB")

        for nothing in (quiet, piped, short):
            self.assertEqual(nothing.result(), "")

        for line in self.lines(late.result()):  # nothing is shown before the size is known
            if line.startswith("reading"):
                self.assertRegex(line, r"^reading standard input: \d+%  \d\.\d of 3\.\d MB")
        self.assertRegex(self.lines(plain.result())[0], r"^reading stan\w+~: \d+%$")

        shares = [int(re.match(r"printing: (\d+)%", line)[1]) for line in self.lines(printing.result()) if line]
        self.assertLess(shares[0], 100)
        self.assertEqual(shares, sorted(shares))
        self.assertLess(shares.count(100), len(shares) / 2)

        lines = self.lines(samples.result().split("dmlop: ")[0])
        self.assertEqual(lines[0], "[1/1] big.json, 1 thread, hot caches: warming up")
        self.assertTrue(any(map(SAMPLES.fullmatch, lines)), lines)

        *drawn, message = broken.result().split(CLEAR)
        self.assertGreater(len(drawn), 1)
        self.assertRegex(message, r"^dmlop: standard input: is truncated.*\r\n$")


if __name__ == "__main__":
    unittest.main()
