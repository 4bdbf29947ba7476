#!/usr/bin/env python3
"""Every row of README.md's tables names tests, and they exist."""

import pathlib
import re
import unittest

TESTS = pathlib.Path(__file__).resolve().parent
ROW = re.compile(r"\|(.+)\|(.+)\|(.+)\|")


class ReadmeTest(unittest.TestCase):
    def test_each_row_has_tests_that_exist(self):
        rows = [ROW.fullmatch(line) for line in (TESTS / "README.md").read_text().splitlines()
                if line.startswith("|") and not line.startswith(("|---", "| fault |"))]
        self.assertGreater(len(rows), 20)
        for row in rows:
            with self.subTest(row[1] if row else None):
                self.assertTrue(row)
                names = re.findall(r"`([^`]+)::([^`]+)`", row[3])
                self.assertTrue(names)
                self.assertEqual(re.sub(r"`[^`]+`|[, ]", "", row[3]), "")
                for path, name in names:
                    text = (TESTS / path).read_text()
                    self.assertTrue(re.search(rf"\b{re.escape(name)}\b", text), name)


if __name__ == "__main__":
    unittest.main()
