"""Includes only lead down: each folder of core/ knows the folders below it, and each library is known in one place."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What a folder may include besides itself.
BELOW = {
    "base": set(),
    "tensor": {"base"},
    "exact": {"tensor", "base"},
    "kernels": {"exact", "tensor", "base"},
    "io": {"tensor", "base"},
    "compare": {"kernels", "exact", "tensor", "base"},
    "engine": {"ops", "kernels", "exact", "tensor", "base"},  # "ops": the tiled loop
    "ops": {"kernels", "exact", "tensor", "base"},
    "explain": {"ops", "compare", "exact", "tensor", "base"},
    "document": {"ops", "io", "exact", "tensor", "base"},
    "api": {"document", "ops", "io", "tensor", "base"},
    "model": {"document", "ops", "io", "tensor", "base"},
}

# Where a library may be included.
LIBRARIES = {
    "hwy/": r"core/kernels/(.*\.cpp|dispatch\.h|.*-inl\.h)",
    "tbb/": r"core/base/parallel\.cpp",
    "nlohmann/": r"core/(document/document_json|model/.*_text)\.cpp|core/document/document_json\.h|app/.*\.cpp",
    "CLI/": r"app/(options|\w+_options)\.cpp|app/option_kinds\.(h|cpp)",
    "benchmark/": r"app/bench_module\.cpp",
    "png.h": r"app/picture\.cpp",
    "nettle/": r"app/run_report\.cpp",
}


def includes():
    for path in sorted([*ROOT.glob("core/**/*"), *ROOT.glob("app/*")]):
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

    def test_each_library_is_included_in_one_place(self):
        for name, included in includes():
            for library, place in LIBRARIES.items():
                if included.startswith(library):
                    self.assertRegex(name, f"^({place})$", f"{name} includes {included}")


if __name__ == "__main__":
    unittest.main()
