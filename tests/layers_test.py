# SPDX-License-Identifier: Apache-2.0
"""Includes only lead down: each folder of core/ may use the folders below it, and each library is included in one
place."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent

# The folders that each folder may include besides itself.
BELOW = {
    "base": set(),
    "tensor": {"base"},
    "exact": {"tensor", "base"},
    "kernels": {"exact", "tensor", "base"},
    "engine": {"kernels", "exact", "tensor", "base"},
    "io": {"tensor", "base"},
    "compare": {"kernels", "exact", "tensor", "base"},
    "ops": {"engine", "exact", "tensor", "base"},
    "explain": {"ops", "compare", "exact", "tensor", "base"},
    "document": {"ops", "io", "exact", "tensor", "base"},
    "arithmetic": {"explain", "ops", "engine", "exact", "tensor", "base"},
    "units": {"arithmetic", "explain", "compare", "ops", "exact", "tensor", "base"},
    "judge": {"units", "arithmetic", "document", "explain", "compare", "ops", "engine", "tensor", "base"},
    "fuzz": {"judge", "units", "arithmetic", "document", "explain", "compare", "ops", "io", "engine", "exact", "tensor", "base"},
    "api": {"document", "ops", "io", "tensor", "base"},
    "graph": {"ops", "io", "tensor", "base"},
    "onnx": {"graph", "ops", "io", "exact", "tensor", "base"},
    "model": {"onnx", "document", "graph", "ops", "io", "tensor", "base"},
    "schema": {"model", "document", "graph", "ops", "io", "tensor", "base"},
}

# The files that may include a library.
LIBRARIES = {
    "hwy/": r"core/kernels/(.*\.cpp|simd/dispatch\.h|.*-inl\.h)",
    "flatbuffers/": r"core/graph/graph_file\.h",
    "tbb/": r"core/base/parallel\.cpp",
    "nlohmann/": r"core/(document/document_json|(model|schema)/.*_text|judge/(descriptor_change|change_list|common_pairs)|fuzz/(condition_text|kept_fields))\.cpp|core/document/document_json\.h|app/.*\.cpp",
    "CLI/": r"app/options/.*\.(h|cpp)",
    "benchmark/": r"app/bench/bench_module\.cpp",
    "png.h": r"(app/text/picture|core/io/picture_file)\.cpp",
    "jpeglib.h": r"core/io/picture_file\.cpp",
    "protozero/": r"core/(io/(tensor_proto\.cpp|wire_bytes\.h)|onnx/onnx_model\.cpp)",
    "nettle/": r"app/files/reported_file\.cpp",
}


def includes():
    for path in sorted([*ROOT.glob("core/**/*"), *ROOT.glob("app/**/*")]):
        if path.suffix in (".h", ".cpp"):
            name = path.relative_to(ROOT).as_posix()
            for included in re.findall(r'#include ["<](.+)[">]', path.read_text()):
                yield name, included


class LayersTest(unittest.TestCase):
    def test_folders_include_only_what_is_below_them(self):
        for name, included in includes():
            folder, target = name.split("/")[1], included.split("/")
            if name.startswith("core/") and target[0] == "core":
                self.assertIn(target[1], BELOW[folder] | {folder}, f"{name} includes {included}")
            self.assertFalse(name.startswith("core/") and target[0] == "app", name)

    def test_a_family_of_operators_knows_no_other(self):
        for name, included in includes():
            folder = re.match("core/ops/([a-z_]+)/", name)
            other = re.match("core/ops/([a-z_]+)/", included)
            if folder and other:
                self.assertEqual(folder[1], other[1], f"{name} includes {included}")

    def test_no_file_outside_of_the_operators_names_one(self):
        operators = set(re.findall(r"^(\w+) \|", (ROOT / "core/ops/words/names.txt").read_text(), re.M))
        self.assertGreater(len(operators), 150)
        operators -= {"ARGMAX", "ARGMIN"}  # functions of REDUCE have these names, too
        operators -= {"ACTIVATION_SOFTMAX", "ACTIVATION_HARDMAX"}  # drawn and judged unlike other activations
        named = re.compile('"(' + "|".join(sorted(operators)) + ')"')
        for path in sorted([*ROOT.glob("core/**/*.[ch]*"), *ROOT.glob("app/**/*.[ch]*")]):
            name = path.relative_to(ROOT).as_posix()
            if name.startswith(("core/ops/", "core/onnx/rows_", "core/onnx/onnx_steps.cpp", "core/fuzz/rows_")):
                continue
            code = re.sub(r"//.*", "", path.read_text())  # examples in comments may
            self.assertIsNone(named.search(code), name)

    def test_each_library_is_included_in_one_place(self):
        for name, included in includes():
            for library, place in LIBRARIES.items():
                if included.startswith(library):
                    self.assertRegex(name, f"^({place})$", f"{name} includes {included}")

    def test_every_source_names_its_license(self):
        sources = [path for folder in ("app", "core", "tests", "bench") for path in (ROOT / folder).rglob("*")
                   if path.suffix in (".h", ".cpp", ".py", ".cmake", ".fbs") or path.name == "CMakeLists.txt"]
        self.assertGreater(len(sources), 900)
        for path in [*sources, ROOT / "CMakeLists.txt", ROOT / "dev", ROOT / ".ci/run"]:
            self.assertIn(" SPDX-License-Identifier: Apache-2.0\n", "".join(path.read_text().splitlines(keepends=True)[:2]), path)


if __name__ == "__main__":
    unittest.main()
