# SPDX-License-Identifier: Apache-2.0
"""Writes the documents of testdata's JSON Lines as files into a folder, as seeds for the fuzzer:
seeds.py FOLDER"""

import json
import pathlib
import sys

TESTDATA = pathlib.Path(__file__).resolve().parent.parent.parent / "testdata"


def values(text):
    """The JSON values of a manifest: any sequence, possibly over several lines, with comment lines."""
    rest = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//")).lstrip()
    while rest:
        value, end = json.JSONDecoder().raw_decode(rest)
        yield value
        rest = rest[end:].lstrip()


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(TESTDATA.glob("*/*.jsonl")):
        for number, case in enumerate(values(path.read_text()), 1):
            seed = folder / f"{path.parent.name}-{path.stem}-{number}.json"
            seed.write_text(json.dumps(case.get("document", case), ensure_ascii=False))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
