# SPDX-License-Identifier: Apache-2.0
"""Maps of differences and of values on screen, in JSON and as pictures, checked with NumPy."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import unittest

import numpy as np

sys.dont_write_bytecode = True
from png_reader import decode_png
from program import DMLOP, X, ProgramTest

SEED = int(os.environ.get("SEED", np.random.SeedSequence().entropy % 2**32))
UNICODE = {**os.environ, "LC_ALL": "C.UTF-8"}
PLAIN = {**os.environ, "LC_ALL": "C"}
SHADES = {"unicode": "·░▒▓█", "plain": ".-+*#"}
MISMATCH = 67  # the palette's entry
PAPER, INK = MISMATCH + 1, MISMATCH + 2


def edges(size, most):
    cells = min(size, most)
    return [i * size // cells for i in range(cells + 1)]


def plane_of(shape):
    """The last two axes that are longer than 1."""
    return tuple(axis for axis in range(len(shape)) if shape[axis] > 1)[-2:]


def planes_of(array):
    """The planes of a tensor by the indices of the axes before."""
    plane = plane_of(array.shape)
    if not plane:
        return {(): array.reshape(1, 1)}
    if len(plane) == 1:
        return {(): array.reshape(1, -1)}
    outer = array.shape[:plane[0]]
    planes = array.reshape((-1,) + tuple(array.shape[axis] for axis in plane))
    return {tuple(map(int, index)) if len(planes) > 1 else (): one
            for index, one in zip(np.ndindex(*outer), planes)}


def shown_planes(bad):
    """Few planes are all drawn; of many, those that differ."""
    planes = planes_of(bad)
    some = {at: plane for at, plane in planes.items() if len(planes) <= 12 or plane.any()}
    return some or dict(list(planes.items())[:12])


def runs(flags):
    """The ranges of true flags."""
    at = np.flatnonzero(np.diff(np.concatenate([[0], flags, [0]])))
    return list(zip(at[::2].tolist(), at[1::2].tolist()))


def panels_of(pixels, paper, ink):
    """The maps in a picture in their order, and where the first begins: what is neither paper nor ink, above the scale."""
    drawn = (pixels != paper) & (pixels != ink)
    bands = runs(drawn.any(axis=1))
    return [pixels[a:b, c:d] for a, b in bands[:-2] for c, d in runs(drawn[a:b].any(axis=0))], bands[-2][0], bands


def proportioned(shape, most, least, height):
    """A cell for each element, or numbers of cells, of that height, that keep the proportions of the plane."""
    if shape[0] <= most[0] and shape[1] <= most[1]:
        return list(shape)
    rows, columns = shape[0] / height, shape[1]
    elements = max(rows / most[0], columns / most[1])
    return [min(max(int(size / elements + 0.5), fewest), limit)
            for size, fewest, limit in zip((rows, columns), least, most)]


def drawing_limits(shape, width):
    columns = width - len(str(shape[0] - 1)) - 3
    return proportioned(shape, (32, columns), (4, 8), 2)


def picture_limits(shape):
    return proportioned(shape, (2048, 2048), (64, 64), 1)


def pixels_of_cells(rows, columns):
    """Height and width."""
    scale = max(1, 1024 // max(rows, columns))
    return max(scale, -(-64 // rows)), max(scale, -(-64 // columns))


def with_marks(worst, height, width):
    """Isolated differences become squares of at least 5 pixels."""
    mark = max(5, max(worst.shape[0] * height, worst.shape[1] * width) // 256)
    reach = np.array([mark // 2 // height, mark // 2 // width])
    around = 3 * (2 * reach + 1)
    marked = worst.copy()
    for at in np.argwhere(worst):
        def square(distance):
            return tuple(slice(max(0, a - d), a + d + 1) for a, d in zip(at, distance))
        if np.count_nonzero(worst[square(around)]) <= 2 * max(around) + 1:
            marked[square(reach)] = np.maximum(marked[square(reach)], worst[tuple(at)])
    return marked


def cells_of(plane, most_rows, most_columns, combine):
    rows, columns = edges(plane.shape[0], most_rows), edges(plane.shape[1], most_columns)
    return [[combine(plane[a:b, c:d]) for c, d in zip(columns, columns[1:])] for a, b in zip(rows, rows[1:])]


def ordinals(array):
    """Maps neighbours in value to neighbouring integers, and both zeros to 0."""
    if array.dtype.kind != "f":
        return array.astype(object)
    bits = array.view(f"i{array.itemsize}").astype(object)
    least = -(1 << (8 * array.itemsize - 1))
    return np.where(bits < 0, least - bits, bits)


def badness(a, b):
    """The expected value of each pixel: 0 for equal, 1 + the bin of the ULP error, or a mismatch."""
    result = np.zeros(a.shape, int)
    nan_a, nan_b = np.isnan(a), np.isnan(b)
    for index in np.argwhere(~((a == b) | (nan_a & nan_b))):
        at = tuple(index)
        if np.isfinite(a[at]) and np.isfinite(b[at]):
            ulp = abs(int(ordinals(a[at].reshape(1))[0]) - int(ordinals(b[at].reshape(1))[0]))
            result[at] = 1 + (0 if ulp == 0 else 1 + (ulp - 1).bit_length())
        else:
            result[at] = MISMATCH
    return result


class MapTest(ProgramTest):
    @classmethod
    def setUpClass(cls):
        print(f"SEED={SEED}", file=sys.stderr)

    def random_pair(self, random, shape, dtype):
        """Two tensors that differ in places, with special values among the floats."""
        if np.dtype(dtype).kind == "f":
            a = random.standard_normal(shape).astype(dtype)
            flat = a.reshape(-1)
            for value in (np.nan, np.inf, -np.inf, 0.0, -0.0):
                flat[random.integers(0, a.size, 1 + a.size // 50)] = value
        else:
            info = np.iinfo(dtype)
            a = random.integers(info.min, info.max, shape, dtype, endpoint=True)
        b = a.copy()
        where = random.random(shape) < random.choice([0.002, 0.05, 0.6])
        other = random.permutation(a.reshape(-1)).reshape(shape)
        near = (a.view(f"u{a.itemsize}") ^ random.integers(0, 8, shape).astype(f"u{a.itemsize}")).view(a.dtype)
        b[where] = np.where(random.random(shape) < 0.5, other, near)[where]
        return a, b

    def lines_of(self, text):
        """The cells that a map draws, line by line."""
        return [match[1] for match in re.finditer(r"^ *\d+ \|(.*)\|$", text, re.M)]


class DifferenceMapTest(MapTest):
    def test_cells_are_numpys_counts(self):
        random = np.random.default_rng(SEED)
        shapes = [(16, 40), (33, 65), (1000, 3), (3, 1000), (2, 3, 40, 70), (4, 1, 9, 1), (17,), (1,), (100, 1), (2,) * 6]
        dtypes = ["f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
        for number in range(22):
            shape, dtype = shapes[number % len(shapes)], dtypes[number % len(dtypes)]
            with self.subTest(seed=SEED, shape=shape, dtype=dtype):
                a, b = self.random_pair(random, shape, dtype)
                if random.random() < 0.3:
                    a = np.asfortranarray(a)
                self.save(a=a, b=b)
                bad = badness(a, b)
                compare = ["compare", "a.npy", "b.npy", "--map", "-o", "d.png"]
                status = int(bad.any())
                verdict = json.loads(self.text_of(*compare, "--format", "json", status=status))
                self.check_json(verdict["map"], bad)
                axes = [verdict["map"][f"{name}Dimension"] for name in ("row", "column")]
                self.assertEqual([axis for axis in axes if axis is not None], list(plane_of(shape)))
                self.check_histogram(verdict, a, b, bad)
                self.check_picture(bad)
                for name, environment in (("unicode", UNICODE), ("plain", PLAIN)):
                    text = self.text_of(*compare[:-2], status=status, env={**environment, "COLUMNS": "70"})
                    self.check_drawing(text, bad, SHADES[name], 70)

    def check_json(self, drawn, bad):
        planes = shown_planes(bad)
        self.assertEqual(drawn["planes"], [{"at": list(at), "differenceCounts": cells_of(
            plane > 0, 32, 64, lambda c: int(c.sum()))} for at, plane in planes.items()])
        self.assertEqual([drawn["rows"], drawn["columns"]], list(next(iter(planes.values())).shape))
        every = planes_of(bad)
        self.assertEqual((drawn["planeCount"], drawn["differentPlanes"]),
                         (len(every), sum(int(plane.any()) for plane in every.values())))

    def check_histogram(self, verdict, a, b, bad):
        bins = np.where(bad == MISMATCH, -1, np.maximum(bad - 1, 0)).reshape(-1)
        for row in verdict["ulpHistogram"]:
            least, most, count = row["leastUlp"], row["mostUlp"], row["count"]
            number = 0 if most == 0 else 1 + (most - 1).bit_length()
            self.assertEqual(least, 0 if number == 0 else 1 if number == 1 else 2 ** (number - 2) + 1)
            self.assertEqual(count, int((bins == number).sum()))
        in_bins = sum(row["count"] for row in verdict["ulpHistogram"])
        self.assertEqual(in_bins, int((bins >= 0).sum()))
        self.assertEqual(verdict["nanMismatches"] + verdict["infinityMismatches"], int((bins < 0).sum()))

    def check_picture(self, bad):
        palette, pixels = decode_png((self.folder / "d.png").read_bytes())
        panels, scale, _ = panels_of(pixels, PAPER, INK)
        planes = list(shown_planes(bad).values())
        self.assertEqual(len(panels), len(planes))
        for drawn, plane in zip(panels, planes):
            limits = picture_limits(plane.shape) if len(planes) == 1 else plane.shape
            worst = np.array(cells_of(plane, *limits, lambda c: c.max()))
            height, width = (drawn.shape[axis] // worst.shape[axis] for axis in (0, 1))
            if len(planes) == 1:
                self.assertEqual((height, width), pixels_of_cells(*worst.shape))
            expected = np.kron(with_marks(worst, height, width), np.ones((height, width), int))
            np.testing.assert_array_equal(drawn, expected)
        self.assertEqual(len(palette), INK + 1)
        self.assertEqual(len({tuple(color) for color in palette[[0, 1, 5, 9, MISMATCH, PAPER, INK]]}), 7)
        self.check_scale(pixels[scale - 17:], int(bad[bad < MISMATCH].max(initial=0)))

    def check_scale(self, pixels, worst):
        """A bar from 1 ULP to the largest error, at least 256, and the meanings of other colors."""
        bar = [color for color in dict.fromkeys(pixels[20, 16:416])]
        self.assertEqual(bar, list(range(2, max(worst, 10) + 1)))
        self.assertIn(INK, pixels[40:54])
        self.assertEqual([color for color in dict.fromkeys(pixels[80]) if color not in (PAPER, INK)], [0, MISMATCH])

    def check_drawing(self, text, bad, shades, width):
        if not bad.any():
            return self.assertIn("map: all elements pass; nothing to draw\n", text)
        self.assertLessEqual(max(map(len, text[text.index("map of") :].splitlines())), width)
        lines = self.lines_of(text)
        planes = shown_planes(bad)
        if len(planes_of(bad)) > 1:
            return self.check_panels(text, planes, shades)
        (plane,) = planes.values()
        self.assertEqual(lines, self.drawing_of(plane, shades, *drawing_limits(plane.shape, width)))

    def drawing_of(self, plane, shades, *limits):
        shares = cells_of(plane > 0, *limits, lambda c: c.mean())
        marked = cells_of(plane == MISMATCH, *limits, lambda c: c.any())
        return ["".join(
            "!" if mark else shades[0] if share == 0 else shades[1 + np.searchsorted([0.01, 0.1, 0.5], share, "right")]
            for share, mark in zip(line_shares, line_marked)) for line_shares, line_marked in zip(shares, marked)]

    def check_panels(self, text, planes, shades):
        """Panels side by side, each below its index."""
        drawn = {}
        for block in re.split(r"^(?= +\[)", text[text.index("map of"):], flags=re.M)[1:]:
            titles = re.findall(r"\[[\d, ]+\]", block.splitlines()[0])
            rows = [line.split("|") for line in self.lines_of(block)]
            for number, title in enumerate(titles):
                drawn[title] = [row[number].rstrip() for row in rows]
        self.assertEqual(list(drawn), [f"[{', '.join(map(str, at))}]" for at in planes][:len(drawn)])
        self.assertTrue(len(drawn) == len(planes) or "the first" in text)
        for title, plane in zip(drawn, planes.values()):
            rows, columns = len(drawn[title]), max(map(len, drawn[title]))
            self.assertEqual(drawn[title], self.drawing_of(plane, shades, rows, columns))

    def test_a_wrong_last_column_and_a_wrong_tile_are_seen(self):
        a = np.random.default_rng(SEED).standard_normal((2, 96, 600)).astype("f4")
        b = a.copy()
        b[0, :, -1] += 1
        b[1, 30:33, 100:120] += 1
        self.save(a=a, b=b)
        text = self.text_of("compare", "a.npy", "b.npy", "--map", status=1, env={**PLAIN, "COLUMNS": "65"})
        self.check_panels(text, planes_of(np.where(a == b, 0, 5)), SHADES["plain"])
        self.assertIn("map of axis 1 (down), axis 2 (across) {96, 600}, 2 planes", text)

    def test_of_many_planes_those_that_differ_are_drawn(self):
        a = np.zeros((3, 50, 4, 9), "f4")
        b = a.copy()
        b[1, 7, 2] = 1
        b[2, 40:45, :, 3] = 1
        self.save(a=a, b=b)
        text = self.text_of("compare", "a.npy", "b.npy", "--map", "-o", "d.png", status=1, env={**PLAIN, "COLUMNS": "60"})
        self.assertRegex(text, r"map of h \(down\), w \(across\) \{4, 9\},?\s+the 6 of 150 planes that differ")
        self.check_panels(text, {at: np.where(b[at] == 1, 5, 0) for at in [(1, 7), *((2, c) for c in range(40, 45))]},
                          SHADES["plain"])
        self.assertEqual(len(panels_of(decode_png((self.folder / "d.png").read_bytes())[1], PAPER, INK)[0]), 6)
        b += 1
        self.save(b=b)
        text = self.text_of("compare", "a.npy", "b.npy", "--map", status=1, env={**PLAIN, "COLUMNS": "60"})
        self.assertRegex(text, r"the first \d+ of 150 planes that differ,\s+of 150")
        self.assertLess(len(text[text.index("map of"):].splitlines()), 40)

    def test_ticks_tell_the_places(self):
        """Short lines of ink at the upper and the left edge, at round coordinates."""
        a = np.zeros((30, 100), "f4")
        self.save(a=a, b=a + 1)
        self.text_of("compare", "a.npy", "b.npy", "-o", "d.png", status=1)
        pixels = decode_png((self.folder / "d.png").read_bytes())[1]
        _, _, bands = panels_of(pixels, PAPER, INK)
        top = bands[0][0]
        left = int(np.flatnonzero((pixels[top] != PAPER) & (pixels[top] != INK))[0])
        for size, ticks, cell in ((100, runs(pixels[top - 1, left:left + 1000] == INK), 10),
                                  (30, runs(pixels[top:top + 300, left - 1] == INK), 10)):
            at = [begin // cell for begin, _ in ticks]
            self.assertGreater(len(at), 3)
            step = at[1]
            self.assertIn(step, (1, 2, 5, 10, 20, 50))
            self.assertEqual(at, list(range(0, size, step)))
        self.assertTrue((pixels[:top - 8, left:] == INK).any())  # numbers

    def test_the_measure_decides_the_colors(self):
        """Errors alike are drawn alike in one measure, and apart in another."""
        b = np.array([[1e-3, 1, 1e3, 1e6]], "f4").repeat(4, 0)
        same = {"absolute": b + 1, "relative": b * np.float32(1.5)}
        for measure, a in same.items():
            self.save(a=a, b=b)
            for drawn in ("absolute", "relative", "ulp"):
                with self.subTest(measure, drawn=drawn):
                    text = self.text_of("compare", "a.npy", "b.npy", "--map", "--measure", drawn, "-o", "d.png", status=1, env=PLAIN)
                    self.assertIn(f"by {'ULP' if drawn == 'ulp' else drawn} error", text)
                    (panel,), _, _ = panels_of(decode_png((self.folder / "d.png").read_bytes())[1], PAPER, INK)
                    colors = set(panel[::panel.shape[0] // 4, ::panel.shape[1] // 4].reshape(-1).tolist())
                    self.assertEqual(len(colors) == 1, measure == drawn, colors)
                    self.assertEqual(len({line for line in self.lines_of(text)}), 1)
        self.assertIn("no units", self.errors_of("compare", "a.npy", "b.npy", "--map", "--measure", "units", status=2))

    def test_wide_characters_take_two_columns(self):
        self.save(x=X)
        picture = "漢字" * 10 + ".png"
        for columns, place in ((97, ".png: map of [:, :] {3, 3}\n  341"), (98, ".png: map of [:, :] {3, 3}, 341")):
            text = self.text_of("show", "x.npy", "-o", picture, env={**UNICODE, "COLUMNS": str(columns)})
            self.assertIn(place, text)

    def test_tolerated_elements_are_not_on_the_map(self):
        self.save(a=X, b=np.nextafter(X, np.float32(9)))
        done = self.text_of("compare", "a.npy", "b.npy", "--map", "--ulp", "1", env=PLAIN)
        self.assertIn("map: all elements pass; nothing to draw\n", done)
        self.assertRegex(done, r"elements by ULP error:\n +1 +9 #{40}\n")

    def test_bits_show_zeros_of_both_signs(self):
        self.save(a=np.array([[0.0, 1]], "f4"), b=np.array([[-0.0, 1]], "f4"))
        text = self.text_of("compare", "a.npy", "b.npy", "--map", "--bits", "-o", "d.png", status=1, env=PLAIN)
        self.assertEqual(self.lines_of(text), ["#."])
        (panel,), _, _ = panels_of(decode_png((self.folder / "d.png").read_bytes())[1], PAPER, INK)
        self.assertEqual((panel[0, 0], panel[-1, -1]), (1, 0))

    def test_nothing_to_draw(self):
        self.save(x=X, flat=X.ravel(), empty=np.zeros((0, 3), "f4"))
        for draw in (["--map"], ["-o", "d.png"]):
            done = self.run_program("compare", "x.npy", "flat.npy", *draw, status=1)
            self.assertIn(b"shapes differ", done.stdout)
            self.assertIn(b"no map", done.stderr)
            self.assertIn("no elements", self.errors_of("compare", "empty.npy", "empty.npy", *draw, status=4))
            self.assertIn("no elements", self.errors_of("show", "empty.npy", *draw, status=4))
            self.assertIn("no elements", self.errors_of("show", "x.npy", "[3:]", *draw, status=4))
        self.assertNotIn("d.png", self.files())


class ValueMapTest(MapTest):
    def expected_cells(self, plane, most_rows, most_columns):
        """Each cell as a position between the least and the largest mean, or as a mark if it is not finite."""
        def mean(values):
            values = values.astype("f8")
            finite = values[np.isfinite(values)]
            return finite.mean() if finite.size else np.nan

        means = np.array(cells_of(plane, most_rows, most_columns, mean))
        low, high = np.nanmin(means), np.nanmax(means)

        def cell(values):
            values = values.astype("f8")
            for mark, marked in (("N", np.isnan(values)), (">", values == np.inf), ("<", values == -np.inf)):
                if marked.any():
                    return mark
            return 0.5 if low == high else (values.mean() - low) / (high - low)

        return cells_of(plane, most_rows, most_columns, cell)

    def test_drawings_and_pictures_are_numpys_means(self):
        random = np.random.default_rng(SEED)
        cases = [((9, 30), "f4"), ((60, 133), "f2"), ((3, 40, 20), "i8"), ((2500, 3), "f8"), ((50,), "u1"), ((1, 1), "f4")]
        for number, (shape, dtype) in enumerate(cases):
            with self.subTest(seed=SEED, shape=shape, dtype=dtype):
                array, _ = self.random_pair(random, shape, dtype)
                if array.size == 1:
                    array[:] = 7
                self.save(x=np.asfortranarray(array) if number % 2 else array)
                plane = array[(0,) * max(array.ndim - 2, 0)]
                plane = plane.reshape((1,) * (2 - plane.ndim) + plane.shape)
                cells = self.expected_cells(plane, *drawing_limits(plane.shape, 66))
                for shades, environment in ((" ░▒▓█", UNICODE), (" .:-=+*#%@", PLAIN)):
                    text = self.text_of("show", "x.npy", "--map", env={**environment, "COLUMNS": "66"})
                    for line, row in zip(self.lines_of(text), cells, strict=True):
                        for character, cell in zip(line, row, strict=True):
                            self.assertIn(character, self.possible(cell, shades))
                self.text_of("show", "x.npy", "-o", "x.png")
                self.check_picture(plane)

    def possible(self, cell, shades):
        """The shades that a position may have if its last bits are uncertain."""
        if isinstance(cell, str):
            return cell
        near = [min(len(shades) - 1, int(max(0, cell + slack) * len(shades))) for slack in (-1e-9, 1e-9)]
        return shades[min(near) : max(near) + 1]

    def margins(self, shape):
        """The room for ticks and their numbers, of 12 pixels a digit, on axes longer than 1."""
        rows, columns = shape
        left = 0 if rows == 1 else 16 + 12 * len(str(rows - 1)) + 6
        return left, 0 if rows == columns == 1 else 16 + 14 + 6

    def check_picture(self, plane):
        palette, pixels = decode_png((self.folder / "x.png").read_bytes())
        cells = self.expected_cells(plane, *picture_limits(plane.shape))
        height, width = pixels_of_cells(len(cells), len(cells[0]))
        bar = [row for row in pixels if len(set(row[16:416].tolist())) > 200][0]  # black and white are ink and paper, too
        self.assertEqual(bar[16:416].tolist(), sorted(bar[16:416]))  # from black to white
        self.assertEqual({bar[16], bar[415]}, {0, 252})
        left, top = self.margins(plane.shape)
        pixels = pixels[top:top + len(cells) * height, left:left + len(cells[0]) * width]
        np.testing.assert_array_equal(pixels, np.kron(pixels[::height, ::width], np.ones((height, width), int)))
        special = {"N": (230, 0, 0), ">": (255, 150, 0), "<": (0, 90, 255)}
        for row, colors in zip(cells, palette[pixels[::height, ::width]], strict=True):
            for cell, color in zip(row, colors, strict=True):
                if isinstance(cell, str):
                    self.assertEqual(tuple(color), special[cell])
                else:
                    self.assertEqual(len(set(color)), 1)
                    self.assertLessEqual(abs(int(color[0]) - 255 * cell), 1.01)

    def test_extremes_do_not_overflow(self):
        most = np.finfo("f8").max
        self.save(x=np.array([[-most] * 3, [0] * 3, [most] * 3]))
        lines = self.lines_of(self.text_of("show", "x.npy", "--map", env=PLAIN))
        self.assertEqual(lines, ["   ", "+++", "@@@"])

    def test_nothing_finite(self):
        self.save(x=np.array([[np.nan, np.inf, -np.inf]], "f4"))
        self.assertEqual(self.lines_of(self.text_of("show", "x.npy", "--map", "-o", "x.png")), ["N><"])


class ScreenTest(MapTest):
    def on_terminal(self, columns, *arguments, **environment):
        """The output that a terminal of so many columns receives."""
        terminal, end = pty.openpty()
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        clean = {name: value for name, value in UNICODE.items() if name not in ("COLUMNS", "NO_COLOR")}
        text = b""
        with subprocess.Popen([DMLOP, *arguments], cwd=self.folder, stdout=end, env={**clean, **environment}):
            os.close(end)
            try:
                while piece := os.read(terminal, 1 << 16):
                    text += piece
            except OSError:
                pass  # Linux reports that the other end is closed in this way
        os.close(terminal)
        return text.decode().replace("\r\n", "\n")

    def test_lines_fit_the_screen(self):
        a = np.random.default_rng(SEED).standard_normal((500, 500)).astype("f4")
        self.save(a=a, b=a + np.float32(1e-3))
        for columns in (40, 80, 120):
            for command in (["show", "a.npy", "--map", "--stats"], ["compare", "a.npy", "b.npy", "--map"]):
                text = self.on_terminal(columns, *command)
                self.assertIn("\x1b[", text)
                plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
                drawn = plain[plain.index("map of") :].split("count ")[0].splitlines()
                bars = [line for line in plain.splitlines() if line.endswith("#")]
                self.assertTrue(bars)
                self.assertLessEqual(max(map(len, drawn + bars)), columns)
                self.assertEqual(len(self.lines_of(plain)[0]), min(columns - 6, 64))  # a map of 32 lines needs no more columns
                # COLUMNS takes precedence over the terminal; the drawing is the same without color.
                forced = self.on_terminal(columns + 9, *command, COLUMNS=str(columns), NO_COLOR="1")
                self.assertNotIn("\x1b[", forced)
                if command[0] == "compare":
                    self.assertEqual(forced, plain)

    def test_color_is_for_terminals(self):
        self.save(a=X, b=X + 1)
        for command in (["show", "a.npy", "--map"], ["compare", "a.npy", "b.npy", "--map"]):
            status = int(command[0] == "compare")
            self.assertNotIn("\x1b[", self.text_of(*command, status=status))
            self.assertIn("\x1b[", self.text_of(*command, "--color", "always", status=status))
            self.assertNotIn("\x1b[", self.on_terminal(80, *command, "--color", "never"))


class JudgedMapTest(MapTest):
    """Lists, maps and pictures of what run, batch and compare of folders judge."""

    def setUp(self):
        super().setUp()
        self.x = np.random.default_rng(SEED).standard_normal((2, 3, 8, 9)).astype("f4")
        self.bad = np.zeros(self.x.shape, int)
        self.bad[1, 2, 2:4] = 5
        self.case = {"type": "ELEMENT_WISE_IDENTITY", "InputTensor": {"DataType": "FLOAT32", "Sizes": [2, 3, 8, 9]},
                     "bindings": {"InputTensor": "x.npy", "OutputTensor": "golden/y.npy"}}
        self.write("case.json", json.dumps(self.case))
        self.write("cases.jsonl", json.dumps(self.case) + "\n")
        for folder in ("golden", "gpu"):
            os.mkdir(self.folder / folder)
        self.save(x=self.x)
        np.save(self.folder / "golden/y.npy", self.x)
        np.save(self.folder / "gpu/y.npy", np.where(self.bad, 0, self.x).astype("f4"))
        self.commands = {
            "run": ["run", "case.json", "--judge", "gpu/y.npy"],
            "batch": ["batch", "cases.jsonl", "--judge", "--output-path", "gpu", "--line", "1"],
            "files": ["compare", "gpu/y.npy", "golden/y.npy"],
            "folders": ["compare", "gpu", "golden"]}

    def test_they_are_those_of_compare(self):
        pictures = set()
        for name, command in self.commands.items():
            with self.subTest(name):
                done = self.run_program(*command, "--map", "--list", "3", "--picture", f"{name}.png", status=1, env=PLAIN)
                text = (done.stdout + done.stderr).decode()
                self.assertIn("the 3 worst:\n", text)
                self.assertIn("map of h (down), w (across) {8, 9}, 6 planes", text)
                self.assertIn(f"{name}.png: map of", text)
                self.assertLess(text.index("where: [1, 2, 2..3, *]"), text.index("the 3 worst"))
                planes = {at: plane for at, plane in planes_of(self.bad).items()}
                DifferenceMapTest.check_panels(self, text, planes, SHADES["plain"])
                pictures.add((self.folder / f"{name}.png").read_bytes())
        self.assertEqual(len(pictures), 1)

    def drawing_of(self, *arguments):
        return DifferenceMapTest.drawing_of(self, *arguments)

    def test_json_has_them(self):
        drawn = []
        for command in (["run", "case.json", "--judge", "gpu/y.npy", "--format", "json"],
                        ["compare", "gpu/y.npy", "golden/y.npy", "--format", "json"],
                        ["compare", "gpu", "golden", "--format", "json"]):
            verdict = json.loads(self.text_of(*command, "--map", "--list", "2", status=1))
            verdict = verdict.get("comparisons", [verdict])[0]
            self.assertEqual(len(verdict["differences"]), 2)
            self.assertEqual(verdict["where"]["box"], "[1, 2, 2..3, *]")
            self.assertEqual([(one["id"], one["count"]) for one in verdict["classes"]], [("zero", 18)])
            drawn.append(verdict["map"])
        self.run_program(*self.commands["batch"], "--map", "--report", "r.jsonl", status=1)
        drawn.append(json.loads((self.folder / "r.jsonl").read_text())["comparisons"][0]["map"])
        for one in drawn:
            DifferenceMapTest.check_json(self, one, self.bad)

    def test_what_passes_has_a_gray_picture(self):
        np.save(self.folder / "gpu/y.npy", self.x)
        for name, command in self.commands.items():
            self.run_program(*command, "--picture", "d.png", "--map", "--list", "4", "-q")
            panels, _, _ = panels_of(decode_png((self.folder / "d.png").read_bytes())[1], PAPER, INK)
            self.assertEqual([set(panel.reshape(-1).tolist()) for panel in panels], [{0}] * 6, name)
            os.remove(self.folder / "d.png")

    def test_where_they_cannot_be(self):
        for command, message in (
                (["run", "case.json", "--map"], "--map needs --expect or --judge"),
                (["batch", "cases.jsonl", "--judge", "--map"], "--line"),
                (["run", "case.json", "--judge", "gpu/y.npy", "--picture", "-"], "takes a file here"),
                (["run", "case.json", "--judge", "gpu/y.npy", "-e", "golden/y.npy", "--picture", "d.png"],
                 "a picture shows one comparison; there are 2"),
                (["compare", "gpu", "[1]", "golden"], "not of folders")):
            with self.subTest(command):
                self.assertIn(message, self.errors_of(*command, status=2))
        self.assertNotIn("d.png", self.files())


class SlicedComparisonTest(MapTest):
    def test_parts_are_compared(self):
        a = np.arange(24, dtype="f4").reshape(2, 3, 4)
        b = a.copy()
        b[1, 2, 3] = 0
        self.save(a=a, b=b)
        for slices, different in ((("[0]", "[0]"), 0), (("[1]", "[1]"), 1), (("[:, :2]", "[:, :2]"), 0),
                                  (("[1, 2, 3]", "[1, 2, 3]"), 1), (("[1, ::-1]", "[1, ::-1]"), 1),
                                  (("[0]", "[0, :, :]"), 0), (("[1]", "[0]"), 11)):
            with self.subTest(slices):
                verdict = json.loads(self.text_of("compare", "a.npy", slices[0], "b.npy", slices[1], "--format", "json",
                                                  status=int(different > 0)))
                ours, theirs = (eval(f"array{one}", {"array": array}) for array, one in ((a, slices[0]), (b, slices[1])))
                self.assertEqual(verdict["differenceCount"], int((ours != theirs).sum()))
        self.assertIn("shapes differ", self.text_of("compare", "a.npy", "[0]", "b.npy", status=1))
        for arguments, message in ((["a.npy", "[3]", "b.npy"], "no such index in dimension 0 of size 2"), (["a.npy", "[0]", "[1]", "b.npy"], "one is compared"),
                                   (["[0]", "a.npy", "b.npy"], "has no file before it"), (["a.npy", "[0]"], "EXPECTED is missing"),
                                   (["a.npy", "b.npy", "a.npy"], "one argument too many")):
            with self.subTest(arguments):
                self.assertIn(message, self.errors_of("compare", *arguments, status=2))


class PictureFileTest(MapTest):
    def test_a_picture_replaces_what_was_there_whole(self):
        self.save(a=X, b=X + 1)
        for command in (["show", "a.npy"], ["compare", "a.npy", "b.npy"]):
            status = int(command[0] == "compare")
            self.write("old.png", "old")
            os.chmod(self.folder / "old.png", 0o644)
            self.text_of(*command, "-o", "old.png", status=status)
            decode_png((self.folder / "old.png").read_bytes())
            self.assertEqual([name for name in self.files() if "tmp" in name], [])
            self.write("old.png", "old")
            with open("/dev/full", "wb") as full:
                self.run_program(*command, "-o", "old.png", status=5, stdout=full)
            self.assertEqual((self.folder / "old.png").read_bytes(), b"old")

    def test_only_png_files_take_pictures(self):
        self.save(a=X)
        self.write("t.npy", "keep")
        for path in ("t.npy", "picture"):
            self.assertIn(".png", self.errors_of("show", "a.npy", "-o", path, status=2))
            self.assertIn(".png", self.errors_of("compare", "a.npy", "a.npy", "-o", path, status=2))
        self.assertIn("several", self.errors_of("show", "a.npy", "a.npy", "-o", "x.png", status=2))
        self.assertIn("none", self.errors_of("show", "a.npy", "-o", "none/x.png", status=5))
        self.assertEqual((self.folder / "t.npy").read_bytes(), b"keep")

    def test_a_pipe_takes_a_picture_and_a_terminal_takes_none(self):
        """The text then goes to standard error, where -q omits it."""
        self.save(a=X, b=X + 1)
        for command, words in ((["show", "a.npy"], "a.npy: (Sizes:{3, 3}"),
                               (["compare", "a.npy", "b.npy"], "9 of 9 elements differ")):
            status = int(command[0] == "compare")
            self.run_program(*command, "-o", "a.png", status=status)
            picture = (self.folder / "a.png").read_bytes()
            for path in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
                with self.subTest(command[0], path=path):
                    done = self.run_program(*command, "-o", path, status=status)
                    self.assertEqual(done.stdout, picture)
                    self.assertIn(words, done.stderr.decode())
                    done = self.run_program(*command, "-o", path, "-q", status=status)
                    self.assertEqual((done.stdout, done.stderr), (picture, b""))
                    terminal, end = pty.openpty()
                    done = self.run_program(*command, "-o", path, status=2, stdout=end)
                    self.assertIn(b" is a terminal; a picture is binary", done.stderr)
                    os.close(end)
                    os.close(terminal)
            os.mkfifo(self.folder / f"{command[0]}.fifo")
            with subprocess.Popen(["cat", f"{command[0]}.fifo"], cwd=self.folder, stdout=subprocess.PIPE) as reader:
                self.assertIn(words, self.text_of(*command, "-o", f"{command[0]}.fifo", status=status))
                self.assertEqual(reader.stdout.read(), picture)
        self.assertIn("both the picture and JSON",
                      self.errors_of("compare", "a.npy", "b.npy", "-o", "-", "--format", "json", status=2))


if __name__ == "__main__":
    unittest.main()
