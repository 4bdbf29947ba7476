"""Writes the documents of testdata's JSON Lines as files into a folder, for the fuzzer to begin with:
seeds.py FOLDER"""

import json
import pathlib
import sys

TESTDATA = pathlib.Path(__file__).resolve().parent.parent.parent / "testdata"


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(TESTDATA.glob("*/*.jsonl")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not line.strip() or line.startswith("//"):
                continue
            case = json.loads(line)
            seed = folder / f"{path.parent.name}-{path.stem}-{number}.json"
            seed.write_text(json.dumps(case.get("document", case), ensure_ascii=False))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
