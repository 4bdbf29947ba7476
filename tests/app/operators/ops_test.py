# SPDX-License-Identifier: Apache-2.0
"""`dmlop ops`: descriptions of operators and fields, templates, and names in other libraries."""

import json
import os
import pty
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from program import DMLOP, GROUPS, ROOT, ProgramTest, manual_of, operators, start


def listed(text):
    """The operators of a list, which ends with an empty line."""
    return [line.split()[0] for line in text.split("\n\n")[0].splitlines()]


class TemplateTest(ProgramTest):
    def template_of(self, name):
        return self.text_of("ops", name, "--template")

    def test_every_template_is_valid_and_runs(self):
        rows = list(operators().items())
        for name, info in rows[::4] if os.environ.get("SANITIZE") else rows:
            with self.subTest(name):
                text = self.template_of(name)
                for command in ("validate", "run"):
                    done = start([command, "-"], stdin=text.encode())
                    self.assertEqual((done.returncode, done.stderr), (0, b""), text)
                # Every field is there, commented out or not, and without the comments the text is strict JSON.
                told = re.findall(r'^    (?:// )?"(\w+)": ', text.split('"bindings"')[0], re.M)
                self.assertEqual(sorted(told), sorted(field["name"] for field in info["fields"]))
                self.assertEqual(json.loads(re.sub(r"^ *//.*\n", "", text, flags=re.M)), info["example"])
                seeds = re.findall(r'"seed": (\d+)', text)
                self.assertEqual(len(seeds), len(set(seeds)), "each tensor has values of its own")

    def test_what_is_left_out_may_be_put_in(self):
        for name, info in operators().items():
            with self.subTest(name):
                text = re.sub(r"^    // (?=\"\w+\": |    )", "    ", self.template_of(name), flags=re.M)
                json.loads(re.sub(r"^ *//.*\n", "", text.replace("[...]", "[1]"), flags=re.M))

    def test_a_template_is_of_one_operator(self):
        for arguments, message in [(["--template"], "requires operator"), (["GEMM", "--template", "-L", "5_0"], "excludes --template"),
                                   (["GEMM", "--template", "--format", "json"], "excludes --template"),
                                   (["GEM", "--template"], "did you mean 'GEMM'?")]:
            self.assertIn(message, self.errors_of("ops", *arguments, status=2))


class MeaningTest(ProgramTest):
    def test_every_field_has_a_meaning(self):
        for name, info in operators().items():
            for field in info["fields"]:
                self.assertRegex(field["meaning"], r"\A[A-Z].*\.\Z", (name, field["name"]))
                self.assertIn(field["meaning"], " ".join(self.text_of("ops", name).split()))

    def test_rows_are_of_fields_that_there_are(self):
        """Each row of meanings and arguments names existing operators and one of their fields."""
        fields = {name: {field["name"] for field in info["fields"]} for name, info in operators().items()}
        for table in ("meanings", "arguments"):
            text = (ROOT / f"core/ops/words/{table}.txt").read_text()
            rows = re.findall(r"^(?:\[([^]]*)\]|(\w+) \|)", text, re.M)
            self.assertGreater(len(rows), 60)
            for words, field in rows:
                if words:
                    of = [*fields] if words == "*" else words.split()
                    continue
                self.assertTrue(any(field in fields[name] for name in of), (table, of, field))

    def test_meanings_of_what_is_easily_mistaken(self):
        for name, field, words in [
            ("AVERAGE_POOLING", "IncludePadding", "padding are counted as elements with the value 0"),
            ("MAX_POOLING2", "OutputTensor", "padding never is, and NaN only where nothing else is"),
            ("MAX_POOLING2", "Dilations", "1 leaves no gaps"), ("SLICE", "Strides", "from one element to the next"),
            ("CONVOLUTION", "Mode", "CROSS_CORRELATION takes the filter as it is"), ("LP_NORMALIZATION", "Epsilon", "The least divisor"),
            ("ELEMENT_WISE_THRESHOLD", "Min", "the result of NaN"), ("ELEMENT_WISE_CLIP", "Max", "the result of NaN"),
        ]:
            meanings = {told["name"]: told["meaning"] for told in operators()[name]["fields"]}
            self.assertIn(words, meanings[field])

    def test_pages_have_meanings_arguments_and_examples(self):
        pages = "".join(manual_of(group).decode() for group in GROUPS)
        self.assertEqual(len(re.findall(r"^An example:\n\.Bd -literal -offset indent\n\{", pages, re.M)), len(operators()))
        words = " ".join(pages.split())
        self.assertIn("counted as elements with the value 0, or left out of the average.", words)
        self.assertIn("Elsewhere: ONNX count_include_pad, PyTorch count_include_pad", words)


class LikeTest(ProgramTest):
    def test_names_as_they_stand_in_programs(self):
        resamplings = ["RESAMPLE", "RESAMPLE1", "RESAMPLE2", "RESAMPLE3", "UPSAMPLE_2D"]
        for name, names in [
            ("Concat", ["JOIN"]), ("CONCAT", ["JOIN"]), ("reduce_sum", ["REDUCE"]), ("IM2COL", ["UNFOLD"]), ("PROD", ["REDUCE"]),
            ("clamp", ["ELEMENT_WISE_CLIP", "ELEMENT_WISE_CLIP1"]), ("torch.nn.functional.interpolate", resamplings),
            ("F.interpolate", resamplings), ("torch.nn.functional.conv2d", ["CONVOLUTION"]), ("F.conv1d", ["CONVOLUTION"]),
            ("nn.Conv2d", ["CONVOLUTION"]), ("nn.ConvTranspose3d", ["CONVOLUTION"]), ("tf.nn.conv2d", ["CONVOLUTION"]),
            ("np.concatenate", ["JOIN"]), ("torch.flip", ["REVERSE_SUBSEQUENCES", "SLICE1"]), ("onnx MatMul", ["GEMM"]),
            ("onnx::MatMul", ["GEMM"]), ("ai.onnx.MatMul", ["GEMM"]), ("builder.matmul()", ["GEMM"]), ("torch.matmul(a, b)", ["GEMM"]),
            # The same word in several libraries.
            ("torch.gather", ["GATHER_ELEMENTS"]), ("onnx.Gather", ["GATHER"]), ("gather", ["GATHER", "GATHER_ELEMENTS"]),
            ("MEAN", ["REDUCE", "ELEMENT_WISE_MEAN"]), ("torch.mean", ["REDUCE"]), ("onnx.Mean", ["ELEMENT_WISE_MEAN"]),
            ("Sum", ["ELEMENT_WISE_ADD", "REDUCE"]), ("nn.BatchNorm2d", ["BATCH_NORMALIZATION", "BATCH_NORMALIZATION_TRAINING"]),
            ("GEMM", ["GEMM"]), ("TOP_K1", ["TOP_K1"]),
        ]:
            with self.subTest(name):
                self.assertEqual(listed(self.text_of("ops", "--like", name)), names)

    def test_what_no_single_operator_is(self):
        for name, names, note in [
            *((name, ["ELEMENT_WISE_IDENTITY"], "the same elements with other Sizes")
              for name in ("Reshape", "Flatten", "Squeeze", "torch.unsqueeze", "np.expand_dims", "x.view")),
            ("broadcast_to", ["ELEMENT_WISE_IDENTITY"], '"Strides": [0, 1]'),
            ("Einsum", ["GEMM", "ELEMENT_WISE_MULTIPLY", "REDUCE"], "GEMM"), ("masked_fill", ["ELEMENT_WISE_IF"], "the mask"),
            *((name, ["MEAN_VARIANCE_NORMALIZATION1"], "{N, groups, C / groups, rest}")
              for name in ("GroupNormalization", "F.group_norm", "nn.GroupNorm")),
        ]:
            with self.subTest(name):
                text = self.text_of("ops", "--like", name)
                self.assertEqual(listed(text), names)
                self.assertIn(note, text)
                self.assertIn(note, json.loads(self.text_of("ops", "--like", name, "--format", "json"))[0]["note"])
        self.assertIn("; no operator computes it", self.errors_of("ops", "--like", "nms", status=2))

    def test_every_composition_is_of_operators(self):
        table = re.sub(r"\n +", " ", (ROOT / "core/ops/words/compositions.txt").read_text())
        rows = re.findall(r"^([^#|\n]+) \| ([A-Z0-9_ ]+?)(?: \||$)", table, re.M)
        self.assertGreater(len(rows), 40)
        for names, composed in rows:
            self.assertLessEqual(set(composed.split()), set(operators()), names)
            for name in names.split():
                self.assertLessEqual(set(composed.split()), set(listed(self.text_of("ops", "--like", name))), name)

    def test_names_of_onnx_are_those_by_which_models_are_read(self):
        known = operators()
        rows = re.findall(r"^\.It Ql (\w+)[^\n]*\n([A-Z_0-9]+)[.;]", self.text_of("ops", "--manual", "onnx"), re.M)
        self.assertGreater(len(rows), 120)
        for name, operator in rows:
            self.assertIn(name, known[operator]["otherNames"]["onnx"])
        for name, composed in [("MatMulNBits", ["DEQUANTIZE", "GEMM"]), ("QLinearSigmoid", ["ELEMENT_WISE_DEQUANTIZE_LINEAR", "ACTIVATION_SIGMOID", "ELEMENT_WISE_QUANTIZE_LINEAR"])]:
            self.assertEqual(listed(self.text_of("ops", "--like", f"com.microsoft.{name}")), composed)

    def test_misspellings(self):
        for name, meant in [("sofmax", "Softmax"), ("MatMull", "MatMul"), ("torch.nn.functional.conv_transpos2d", "conv_transpose2d"),
                            ("Reshap", "Reshape"), ("FILL_VALUE_CONSTNT", "FILL_VALUE_CONSTANT")]:
            self.assertIn(f"(did you mean '{meant}'?)", self.errors_of("ops", "--like", name, status=2))
        self.assertTrue(self.errors_of("ops", "--like", "frobnicate", status=2).endswith("in ONNX, WebNN or PyTorch\n"))
        for name, meant in (("MEAN", "REDUCE"), ("nn.Conv2d", "CONVOLUTION"), ("IDENTITY", "ELEMENT_WISE_IDENTITY")):
            self.assertIn(f"did you mean '{meant}'", self.errors_of("ops", name, status=2))

    def test_arguments(self):
        for name, operator, field, words in [
            ("F.interpolate", "RESAMPLE3", "InputPixelOffsets", "0.5 for half_pixel and align_corners=False"),
            ("F.interpolate", "RESAMPLE3", "OutputPixelOffsets", "-0.5 for half_pixel, align_corners=False"),
            ("F.interpolate", "RESAMPLE3", "Antialiased", "values differ"), ("F.interpolate", "RESAMPLE3", "Scales", "scale_factor"),
            ("nn.Conv2d", "CONVOLUTION", "GroupCount", "groups"), ("onnx.Conv", "CONVOLUTION", "GroupCount", "group"),
            ("nn.Conv2d", "CONVOLUTION", "EndPadding", "padding"), ("nn.AvgPool2d", "AVERAGE_POOLING", "IncludePadding", "count_include_pad"),
            ("onnx.MaxPool", "MAX_POOLING2", "OutputTensor", "ceil_mode"), ("nn.LayerNorm", "MEAN_VARIANCE_NORMALIZATION1", "Epsilon", "eps"),
            ("nn.BatchNorm2d", "BATCH_NORMALIZATION_TRAINING", "OutputMeanTensor", "momentum"), ("F.softmax", "ACTIVATION_SOFTMAX1", "Axes", "dim"),
            ("torch.topk", "TOP_K1", "AxisDirection", "largest"), ("TopK", "TOP_K1", "AxisDirection", "sorted always"),
            ("onnx.LRN", "LOCAL_RESPONSE_NORMALIZATION", "LocalSize", "size"),
        ]:
            with self.subTest(name, field=field):
                text = self.text_of("ops", "--like", name)
                fields = text.split(f"\n{operator}:\n")[1].split("\n\n")[0]
                self.assertRegex(fields, rf"(?m)^  {field} +.*{re.escape(words)}")
        for info in json.loads(self.text_of("ops", "--like", "F.conv2d", "--format", "json")):
            arguments = {field["name"]: field["arguments"] for field in info["fields"]}
            self.assertEqual((arguments["Dilations"]["onnx"], arguments["Dilations"]["pytorch"]), ("dilations", "dilation"))

    def test_arguments_of_each_field_of_an_operator(self):
        for name, info in operators().items():
            with self.subTest(name):
                text = self.text_of("ops", name, "--like")
                self.assertTrue(text.startswith(f"{name} {info['summary']}\n\n"), text)
                if not any(info["otherNames"].values()):
                    self.assertIn("no such operator", text)
                    continue
                names, fields = text.split("\nNames elsewhere\n")[1].split("\nFields\n")
                for of_library in info["otherNames"].values():
                    self.assertLessEqual(set(of_library), set(re.findall(r"\w+", names)))
                told = dict(line.strip().split(None, 1) for line in fields.splitlines())
                self.assertEqual(list(told), [field["name"] for field in info["fields"]])
                for field in info["fields"]:
                    none = "the result" if field["type"].startswith("output") else "no argument there"
                    words = [word for word in field["arguments"].values() if word] or [none]
                    for word in words:
                        self.assertIn(word, told[field["name"]])
                self.assertEqual(self.text_of("ops", name, "--like", "--format", "json"), self.text_of("ops", name, "--format", "json"))
        told = self.text_of("ops", "convolution", "--like")
        self.assertRegex(told, r"(?m)^  GroupCount +ONNX group, WebNN groups, PyTorch groups$")
        self.assertRegex(told, r"(?m)^  StartPadding +.*PyTorch's padding is that of both ends")
        for arguments, message in [(["--like"], "--like needs a value: --like NAME, or an operator: OPERATOR --like"),
                                   (["--like", "--format", "json"], "--like needs a value"),
                                   (["GEMM", "--like", "Conv"], "with the operator GEMM it takes no value"),
                                   (["GEM", "--like"], "did you mean 'GEMM'?"), (["GEMM", "--like", "--template"], "excludes")]:
            self.assertIn(message, self.errors_of("ops", *arguments, status=2))

    def test_libraries_without_the_operator_have_no_arguments_for_it(self):
        for name, info in operators().items():
            for field in info["fields"]:
                for library, names in info["otherNames"].items():
                    if not names:
                        self.assertEqual(field["arguments"][library], "", (name, field["name"]))


class TerminalTest(ProgramTest):
    def test_text_fits_narrow_terminals(self):
        for columns in (40, 60, 80):
            for arguments in ([], ["LSTM"], ["REDUCE"], ["--like", "interpolate"], ["--like", "Einsum"]):
                with self.subTest(columns=columns, arguments=arguments):
                    text = start(["ops", *arguments], env=os.environ | {"COLUMNS": str(columns)}).stdout.decode().split("\nExample\n")[0]
                    wide = [line for line in text.splitlines() if len(line) > columns and " " in line.strip()]
                    self.assertEqual(wide, [])
                    self.assertNotIn("\n    \n", text)

    def test_a_page_is_shown_by_man_on_a_terminal(self):
        man = self.folder / "man"
        man.write_text('#!/bin/sh\necho "man $*: $(head -1)"\n')
        man.chmod(0o755)
        here, there = pty.openpty()
        environment = os.environ | {"PATH": f"{self.folder}:{os.environ['PATH']}"}
        done = subprocess.run([DMLOP, "ops", "--manual", "windows"], stdout=there, env=environment)
        os.close(there)
        shown = os.read(here, 200).decode()
        os.close(here)
        self.assertEqual(done.returncode, 0)
        self.assertTrue(shown.startswith("man -l -: .Dd "), shown)
        self.assertTrue(manual_of("windows").startswith(b".Dd "))


if __name__ == "__main__":
    unittest.main()
