# SPDX-License-Identifier: Apache-2.0
"""The files that 'cmake --install' and the Debian packages install, and a project that builds against them."""

import gzip
import html
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ["BUILD"])
COMPILER = os.environ["CXX_COMPILER"]
CONSUMER = ROOT / "tests/consumer"
SUMS = "6 6 9\n"  # of main.cpp
# Groups whose pages the program generates.
GROUPS = ["elements", "indexing", "movement", "norms", "products", "recurrent", "reduction", "windows"]


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def listing(folder):
    return sorted(str(p.relative_to(folder)) for p in pathlib.Path(folder).rglob("*") if not p.is_dir())


def cached(name):
    return re.search(rf"^{name}:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.M)[1]


LIBRARIES = cached("CMAKE_INSTALL_LIBDIR")  # relative to the prefix

DEMO = ROOT / "testdata/demo"

# The place of each installed file, by Debian package.
PAGES = sorted([page.name for page in (ROOT / "man").iterdir()] + [f"dmlop-{group}.7" for group in GROUPS] + ["dmlop-onnx.5"])
PLACES = {
    "dmlop": [
        "bin/dmlop", f"{LIBRARIES}/dmlop/dmlop-bench.so",
        "share/bash-completion/completions/dmlop", "share/fish/vendor_completions.d/dmlop.fish",
        "share/doc/dmlop/changelog.gz", "share/doc/dmlop/copyright",
        *(f"share/doc/dmlop/examples/{file.relative_to(DEMO)}" for file in DEMO.rglob("*") if file.is_file()),
        "share/doc/dmlop/examples/matrix.jsonl", "share/doc/dmlop/examples/matrix-large.jsonl",
        "share/doc/dmlop/examples/matrix-open.jsonl",
        *(f"share/doc/dmlop/html/{file}" for file in ("differences.png", "index.html", "manual.css", "product.png")),
        *(f"share/doc/dmlop/html/{page}.html" for page in PAGES),
        *(f"share/man/man{page[-1]}/{page}.gz" for page in PAGES)],
    "libdmlop0": [f"{LIBRARIES}/libdmlop.so.0", f"{LIBRARIES}/libdmlop.so.0.1.0"],
    "libdmlop-dev": [
        "include/dmlop/operator.h",
        *(f"{LIBRARIES}/{name}" for name in (
            "libdmlop.so", "pkgconfig/dmlop.pc", "cmake/dmlop/dmlop-config.cmake",
            "cmake/dmlop/dmlop-config-release.cmake", "cmake/dmlop/dmlop-config-version.cmake"))],
}

# Files that differ between 'cmake --install' and the packages.
LOCAL = ["share/zsh/site-functions/_dmlop"]
PACKAGED = {
    "dmlop": ["share/zsh/vendor-completions/_dmlop", "share/lintian/overrides/dmlop"],
    "libdmlop0": ["share/doc/libdmlop0/changelog.gz", "share/doc/libdmlop0/copyright"],
    "libdmlop-dev": ["share/doc/libdmlop-dev/changelog.gz", "share/doc/libdmlop-dev/copyright"],
}


# Measures how a browser renders the pages in frames: options that are broken over lines, monospace that is smaller than
# the text around it, cells of a synopsis that do not begin at the top, and more.
MEASURE = """
const measure = frame => {
  const page = frame.contentDocument, root = page.documentElement;
  const style = element => frame.contentWindow.getComputedStyle(element);
  const all = selector => [...page.querySelectorAll(selector)];
  const texts = elements => elements.map(element => element.textContent);
  return {
    width: root.clientWidth, needs: root.scrollWidth,
    broken: texts(all("code.Fl").filter(one => one.getClientRects().length > 1)),
    small: texts(all("code, pre").filter(one => style(one).fontSize != style(one.parentElement).fontSize)),
    low: texts(all("table.Nm td").filter(one => style(one).verticalAlign != "top")),
    pictures: all("img").map(one => one.naturalWidth > 0 && one.width <= root.clientWidth),
    colors: [style(page.body).color, style(page.body).backgroundColor],
    subsections: all("h2").length, listed: all("body > div nav li").length,
  };
};
addEventListener("load", () => {
  document.body.textContent = JSON.stringify([...document.querySelectorAll("iframe")].map(measure));
});
"""


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="dmlop-install-")
        cls.folder = pathlib.Path(cls.directory.name)
        cls.prefix = cls.folder / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def test_everything_is_in_its_place(self):
        self.assertEqual(listing(self.prefix), sorted([*sum(PLACES.values(), []), *LOCAL]))
        for page in (ROOT / "man").iterdir():
            with gzip.open(self.prefix / f"share/man/man{page.suffix[1]}/{page.name}.gz") as installed:
                self.assertEqual(installed.read(), page.read_bytes())
        for group in GROUPS:
            with gzip.open(self.prefix / f"share/man/man7/dmlop-{group}.7.gz") as installed:
                self.assertEqual(installed.read().decode(), run(self.prefix / "bin/dmlop", "ops", "--manual", group))

    def test_links_of_the_html_pages_lead_to_pages(self):
        folder = self.prefix / "share/doc/dmlop/html"
        texts = {page.name: " ".join(page.read_text().split()) for page in folder.glob("*.html")}  # links may be broken over lines
        places = {name: set(re.findall(r'id="([^"]+)"', text)) for name, text in texts.items()}
        files = {file.name for file in folder.iterdir()}
        for name, text in texts.items():
            links = re.findall(r'(?:href|src)="([^"]+)"', text)
            self.assertIn("manual.css", links)
            for link in links:
                file, _, place = link.partition("#")
                outside = re.fullmatch(r"https://manpages\.debian\.org/(?!dmlop)[\w-]+\.\d", link)
                self.assertTrue(outside or (file or name) in files, link)
                self.assertTrue(not place or place in places[file or name], link)
            self.assertTrue(name == "index.html" or "index.html" in links, name)
            self.assertEqual(re.findall("<title>(.*?)</title>", text),
                             ["dmlop Manual" if name == "index.html" else re.sub(r"\.(.)\.html", r"(\1)", name)])

    def test_the_index_has_every_page_and_operator(self):
        index = " ".join((self.prefix / "share/doc/dmlop/html/index.html").read_text().split())
        told = dict(re.findall(r'<dt><a href="([^"#]+)\.html">[^<]*</a></dt> <dd>([^<]*?) <', index))
        self.assertEqual(sorted(told), PAGES)
        for page, description in told.items():
            source = gzip.decompress((self.prefix / f"share/man/man{page[-1]}/{page}.gz").read_bytes()).decode()
            self.assertIn(f"\n.Nd {html.unescape(description)}\n", source)
        operators = [line.split()[0] for line in run(self.prefix / "bin/dmlop", "ops").splitlines()]
        self.assertEqual(sorted(re.findall(r'<li><a href="[^"]*">([A-Z0-9_]+)</a>', index)), sorted(operators))

    def test_the_html_pages_fit_narrow_and_wide_windows(self):
        if shutil.which("chromium") is None:
            self.skipTest("chromium is not installed")
        looks = {"light": 400, "dark": 1280}
        pages = sorted((self.prefix / "share/doc/dmlop/html").glob("*.html"))
        frames = [f'<iframe src="{page.as_uri()}" style="width: {width}px; border: 0; color-scheme: {scheme}"></iframe>'
                  for page in pages for scheme, width in looks.items()]
        (self.folder / "measure.html").write_text(f"<body>{''.join(frames)}<script>{MEASURE}</script></body>")
        shown = run("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
                    f"--user-data-dir={self.folder}/chromium", "--dump-dom", (self.folder / "measure.html").as_uri(), timeout=60)
        measured = json.loads(html.unescape(re.search(r"<body>(.*)</body>", shown, re.S)[1]))
        self.assertEqual(len(measured), 2 * len(pages))
        for number, (page, scheme) in enumerate(itertools.product(pages, looks)):
            with self.subTest(page=page.name, scheme=scheme):
                found = measured[number]
                self.assertEqual(found["needs"], found["width"])
                self.assertEqual((found["broken"], found["small"], found["low"]), ([], [], []))
                self.assertEqual(found["pictures"], [True] * (2 if page.name == "dmlop-tutorial.7.html" else 0))
                ink, paper = (sum(map(int, re.findall(r"\d+", color)[:3])) for color in found["colors"])
                self.assertEqual(ink > paper, scheme == "dark")
                self.assertEqual(found["listed"], found["subsections"] if found["subsections"] > 1 else 0)

    def test_the_program_runs_and_finds_its_module(self):
        program = self.prefix / "bin/dmlop"
        self.assertTrue(run(program, "--version").startswith("dmlop 0.1.0\n"))
        timed = run(program, "bench", '{"type": "ELEMENT_WISE_IDENTITY", "InputTensor": {"DataType": "INT8", '
                    '"Sizes": [4]}}', "--min-time", "1ms", "--cache", "hot", "--format", "csv")
        self.assertEqual(len(timed.splitlines()), 2)
        for shell, path in (("bash", "bash-completion/completions/dmlop"), ("zsh", "zsh/site-functions/_dmlop"),
                            ("fish", "fish/vendor_completions.d/dmlop.fish")):
            self.assertEqual((self.prefix / "share" / path).read_text(), run(program, "completion", shell))

    def test_a_project_builds_with_find_package(self):
        build = self.folder / "consumer"
        run("cmake", "-S", CONSUMER, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_BUILD_TYPE=Release",
            f"-DCMAKE_CXX_COMPILER={COMPILER}")
        run("cmake", "--build", build)
        self.assertEqual(run(build / "consumer"), SUMS)

    def test_a_program_builds_with_pkg_config(self):
        environment = os.environ | {"PKG_CONFIG_PATH": str(self.prefix / LIBRARIES / "pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "dmlop", env=environment).split()
        self.assertEqual(run("pkg-config", "--modversion", "dmlop", env=environment), "0.1.0\n")
        run(COMPILER, "-std=c++20", CONSUMER / "main.cpp", "-o", self.folder / "by_flags", *flags)
        self.assertEqual(run(self.folder / "by_flags", env=self.finding_the_library()), SUMS)
        with self.assertRaisesRegex(AssertionError, r"dmlop/operator\.h needs C\+\+20"):
            run(COMPILER, "-std=c++17", "-fsyntax-only", CONSUMER / "main.cpp", *flags)

    def finding_the_library(self):
        return {"LD_LIBRARY_PATH": str(self.prefix / LIBRARIES)}

    def test_the_example_of_the_header_runs(self):
        header = (ROOT / "core/api/operator.h").read_text()
        example = "".join(line.removeprefix("//") + "\n" for line in header.split("#pragma once")[0].splitlines()
                          if line.startswith("//   "))
        name, values = re.search(r"// (\w+) is \{(.*)\}", example).groups()
        source = self.folder / "example.cpp"
        source.write_text(f"#include <dmlop/operator.h>\n#include <cstdio>\nint main() {{\n{example}"
                          f'for (const float x : {name}) std::printf("%g, ", x);\n}}\n')
        program = self.folder / "example"
        run(COMPILER, "-std=c++20", source, "-o", program, f"-I{self.prefix}/include", f"-L{self.prefix / LIBRARIES}", "-ldmlop")
        self.assertEqual(run(program, env=self.finding_the_library()), values + ", ")

    def test_the_library_refuses_what_is_wrong(self):
        source = self.folder / "wrong.cpp"
        source.write_text(r'''
#include <dmlop/operator.h>
#include <cstdio>
template <typename Call> void Expect(Call&& call) {
  try { call(); std::puts("nothing"); } catch (const std::invalid_argument& e) { std::puts(e.what()); }
}
int main() {
  Expect([] { dmlop::Operator(R"({"type": "REDUCE", "Function": "SUM", "Axes": [4],
"InputTensor": {"DataType": "FLOAT32", "Sizes": [2, 2]}, "Axis": 1})"); });
  try { dmlop::Operator("{"); } catch (const dmlop::InvalidDescriptor&) { std::puts("InvalidDescriptor"); }
  dmlop::Operator copy(R"({"type": "ELEMENT_WISE_IDENTITY", "InputTensor": {"DataType": "FLOAT32",
      "Sizes": [2, 2], "Strides": [4, 1]}})");
  const dmlop::Operator op = std::move(copy);
  const auto& in = op.inputs()[0];
  std::printf("%s %s %zu %zu %u,%u %u,%u\n", in.name.c_str(), in.data_type.c_str(), in.element_bytes, in.bytes,
              in.sizes[0], in.sizes[1], in.strides[0], in.strides[1]);
  const float x[6] = {1, 2, -1, -1, 3, 4};
  float y[4];
  const auto xs = std::as_bytes(std::span(x));
  const auto ys = std::as_writable_bytes(std::span(y));
  Expect([&] { op.Run({}, {ys}); });
  Expect([&] { op.Run({xs.first(20)}, {ys}); });
  Expect([&] { op.Run({xs}, {ys.subspan(1)}); });
  alignas(4) std::byte bytes[32];
  Expect([&] { op.Run({xs}, {std::span(bytes).subspan(1)}); });
  Expect([&] { op.Run({xs, xs}, {ys}); });
  Expect([&] { op.Run({xs}, {}); });
  Expect([] { dmlop::SetMaximumThreads(0); });
  dmlop::SetMaximumThreads(1);
  op.Run({xs}, {ys});
  std::printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
}
''')
        program = self.folder / "wrong"
        run(COMPILER, "-std=c++20", source, "-o", program, f"-I{self.prefix}/include", f"-L{self.prefix / LIBRARIES}", "-ldmlop")
        said = run(program, env=self.finding_the_library()).splitlines()
        self.assertEqual(said[0], "1:48: /Axes/0: axis 4 is out of range for InputTensor with 2 dimensions [RED-3]")
        self.assertEqual(said[1], "2:58: /Axis: 'Axis' is not a known field (did you mean 'Axes'?) [JSON-3]")
        self.assertEqual(said[2:], [
            "InvalidDescriptor",
            "InputTensor FLOAT32 4 24 2,2 4,1",
            "0 buffers for 1 input",
            "InputTensor has 20 bytes; it needs 24",
            "OutputTensor has 15 bytes; it needs 16",
            "OutputTensor is not aligned to 4 bytes",
            "2 buffers for 1 input",
            "0 buffers for 1 output",
            "0 threads",
            "1 2 3 4"])

    def test_the_library_refuses_outputs_that_overlap(self):
        """Each input has the elements 1 to 4. The places of the tensors are in elements of one buffer, the inputs'
        first."""
        two = '{"DataType": "FLOAT32", "Sizes": [4]}'
        add = f'{{"type": "ELEMENT_WISE_ADD", "ATensor": {two}, "BTensor": {two}}}'
        wide = add.replace("]}}", ']}, "OutputTensor": {"DataType": "FLOAT32", "Sizes": [4], "Strides": [2]}}')
        join = f'{{"type": "JOIN", "Axis": 0, "InputTensors": [{two}, {two}]}}'
        split = (f'{{"type": "SPLIT", "Axis": 0, "InputTensor": {two}, "OutputTensors": '
                 '[{"DataType": "FLOAT32", "Sizes": [2]}, {"DataType": "FLOAT32", "Sizes": [2]}]}')
        apart = "; in place, both begin together and have one DataType, Sizes and Strides"
        calls = [(add, [0, 4, 8], "2 4 6 8"), (add, [0, 4, 0], "2 4 6 8"), (add, [0, 4, 4], "2 4 6 8"), (add, [0, 0, 0], "2 4 6 8"),
                 (add, [0, 4, 1], "OutputTensor overlaps ATensor" + apart),
                 (add, [0, 4, 7], "OutputTensor overlaps BTensor" + apart),
                 (wide, [0, 8, 0], "OutputTensor overlaps ATensor" + apart), (wide, [0, 4, 8], "2 0 4 0"),
                 (join, [0, 4, 8], "1 2 3 4"), (join, [0, 4, 0], "OutputTensor overlaps InputTensors[0]; JOIN does not run in place"),
                 (split, [0, 4, 6], "1 2 3 4"), (split, [0, 4, 5], "OutputTensors[1] overlaps OutputTensors[0]"),
                 (split, [4, 1, 3], "OutputTensors[1] overlaps InputTensor; SPLIT does not run in place")]
        rows = "".join(f'  Call(R"({document})", {{{", ".join(map(str, places))}}});\n' for document, places, _ in calls)
        source = self.folder / "overlaps.cpp"
        source.write_text(r"""
#include <dmlop/operator.h>
#include <cstdio>
void Call(const char* descriptor, std::vector<size_t> places) {
  float buffer[24] = {};
  const dmlop::Operator op(descriptor);
  std::vector<std::span<const std::byte>> inputs;
  std::vector<std::span<std::byte>> outputs;
  for (const auto& tensor : op.inputs()) {
    const std::span<float> at = std::span(buffer).subspan(places[inputs.size()], tensor.sizes[0]);
    for (size_t i = 0; i < at.size(); ++i) at[i] = static_cast<float>(i + 1);
    inputs.push_back(std::as_bytes(at));
  }
  for (const auto& tensor : op.outputs()) {
    const size_t begin = places[inputs.size() + outputs.size()];
    outputs.push_back(std::as_writable_bytes(std::span(buffer).subspan(begin, tensor.bytes / 4)));
  }
  try {
    op.Run(inputs, outputs);
    const float* y = reinterpret_cast<const float*>(outputs[0].data());
    std::printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
  } catch (const std::invalid_argument& e) { std::puts(e.what()); }
}
int main() {
""" + rows + "}\n")
        program = self.folder / "overlaps"
        run(COMPILER, "-std=c++20", source, "-o", program, f"-I{self.prefix}/include", f"-L{self.prefix / LIBRARIES}", "-ldmlop")
        said = run(program, env=self.finding_the_library()).splitlines()
        self.assertEqual(said, [expected for _, _, expected in calls])

    def test_only_the_interface_can_be_seen(self):
        symbols = run("nm", "--dynamic", "--defined-only", "--demangle", self.prefix / LIBRARIES / "libdmlop.so.0")
        names = [line.split(maxsplit=2)[2] for line in symbols.splitlines()]
        declared = re.findall(r"\b(\w+)\(", (ROOT / "core/api/operator.h").read_text())
        for name in names:
            self.assertRegex(name, r"^(vtable for |typeinfo (name )?for )?dmlop::(Operator|InvalidDescriptor|SetMaximumThreads|Version)\b")
        for name in ("Operator", "Run", "inputs", "outputs", "SetMaximumThreads", "Version", "InvalidDescriptor"):
            self.assertIn(name, declared)
            self.assertTrue(any(re.search(rf"\b{name}\(", symbol) for symbol in names), name)


class DebianTest(unittest.TestCase):
    def setUp(self):
        missing = [tool for tool in ("dpkg-deb", "dpkg-shlibdeps", "cpack") if shutil.which(tool) is None]
        if missing:
            self.skipTest(f"not installed: {', '.join(missing)}")
        directory = tempfile.TemporaryDirectory(prefix="dmlop-deb-")
        self.addCleanup(directory.cleanup)
        self.folder = pathlib.Path(directory.name)
        run("cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", self.folder)
        self.packages = {package.name.split("_")[0]: package for package in self.folder.glob("*.deb")}
        self.assertEqual(set(self.packages), set(PLACES))

    def test_they_install_and_remove_cleanly(self):
        maintainer = cached("DMLOP_MAINTAINER")
        self.assertRegex(maintainer, "^.* <.+@.+>$")
        depends = {"dmlop": r"\blibc6 .*\blibtbb12\b", "libdmlop0": r"\blibc6 .*\blibtbb12\b", "libdmlop-dev": r"libdmlop0 \(= 0\.1\.0\)"}
        for name, package in self.packages.items():
            self.assertRegex(package.name, rf"^{name}_0\.1\.0_\w+\.deb$")
            fields = run("dpkg-deb", "--field", package)
            self.assertRegex(fields, rf"(?m)^Depends: .*{depends[name]}")
            self.assertIn(f"\nMaintainer: {maintainer}\n", fields)
            listed = re.findall(r" \./usr/(\S*[^/\s])(?: -> .*)?$", run("dpkg-deb", "--contents", package), re.M)
            self.assertEqual(sorted(listed), sorted(PLACES[name] + PACKAGED[name]))
        root = self.folder / "root"
        for made in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"):
            (root / made).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        dpkg = ["dpkg", f"--root={root}", "--force-depends", "--force-not-root", f"--log={root}/log"]
        run(*dpkg, "--install", *self.packages.values())
        with gzip.open(root / "usr/share/doc/dmlop/changelog.gz", "rt") as changelog:
            self.assertIn(f"\n -- {maintainer}  ", changelog.read())
        self.assertEqual((root / "var/lib/dpkg/status").read_text().count("Status: install ok installed"), 3)
        self.assertTrue(run(root / "usr/bin/dmlop", "--version").startswith("dmlop 0.1.0\n"))
        run(*dpkg, "--purge", *self.packages)
        self.assertEqual([str(p) for p in root.rglob("*dmlop*")], [])
        self.assertFalse((root / "usr").exists())

    def test_lintian_has_nothing_to_say(self):
        if shutil.which("lintian") is None:
            self.skipTest("lintian is not installed")
        self.assertEqual(run("lintian", "--allow-root", "--fail-on", "none", *self.packages.values()), "")


if __name__ == "__main__":
    unittest.main()
