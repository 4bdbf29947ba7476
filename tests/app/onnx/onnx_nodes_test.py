# SPDX-License-Identifier: Apache-2.0
"""The tests of ONNX's operators that Debian's package libonnx-testdata has: each runs to its outputs, or is refused for
the reason that it has here."""

import concurrent.futures
import os
import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
from program import start

DATA = pathlib.Path("/usr/share/libonnx-testdata/data")
FOLDERS = ["node", "pytorch-converted", "pytorch-operator", "simple"]

# What messages say of tests that do not run, and the names of these tests: patterns of whole names, without "test_".
REFUSED = {
    r"no DirectML operator computes it; ORT runs it on the CPU \[ONX-2\]": """
        adagrad(_multiple)? adam(_multiple)? (nesterov_)?momentum(_multiple)? gradient_of_add(_and_mul)?
        bernoulli(_.*)? (blackman|hamming|hann)window(_symmetric)? melweightmatrix dft(_.*)? stft(_.*)?
        compress_.* unique_.* nonmaxsuppression_.* tfidfvectorizer_.* det_.* gridsample(_.*)?
        nllloss_((?!expanded).)* sce_.*
        if_opt if_seq loop11 range_(float|int32)_type_.*_expanded scan9_sum scan_sum sequence_model.*""",
    r"DirectML has no type STRING \[ONX-6\]": """
        cast(like)?_STRING_to_FLOAT castlike_STRING_to_FLOAT_expanded castlike_FLOAT_to_STRING(_expanded)?
        strnorm(alizer|_model)_.*""",
    r"DirectML has no type (STRING|BFLOAT16) \[ONX-6\]": """
        cast_FLOAT_to_STRING cast_BFLOAT16_to_FLOAT cast_FLOAT_to_BFLOAT16
        castlike_(BFLOAT16_to_FLOAT|FLOAT_to_BFLOAT16)(_expanded)?""",
    # Operators of DirectML without this type.
    r"FLOAT64 is not supported by": """
        cumsum_.* (max|min)_float64 mod_mixed_sign_float64 reduce_log_sum_exp_.*
        einsum_batch_matmul einsum_inner_prod einsum_sum""",
    r"the equation '...ii ->...i' \[ONX-3\]": "einsum_batch_diagonal",
    r"powers of INT64 \[ONX-6\]": "pow_types_float pow_types_int64_.*",
    # Files of sequences and optional values, which are other messages.
    r"has a shape|bytes of data|is no tensor|not say that it is a tensor|holds ": """
        identity_opt identity_sequence loop13_seq loop16_seq_none optional_.* sequence_insert_.* sequence_map_.*""",
    r"training_mode 1 \[ONX-3\]": "batchnorm_.*_training_mode training_dropout.*",
    r"storage_order 1 \[ONX-3\]": "maxpool_with_argmax_2d_precomputed_strides",
    r"output_shape is \[1, 1, 5, 5\]": "maxunpool_export_with_output_shape",
    r"mode 'cubic' \[ONX-3\]": "resize_.*cubic.*",
    r"extrapolation_value 10 \[ONX-3\]": "resize_tf_crop_and_resize",
    r"reduction '(add|mul)' \[ONX-3\]": "scatter_elements_with_duplicate_indices scatternd_(add|multiply)",
    r"attribute broadcast is of old models \[ONX-3\]": """
        Softsign operator_add_broadcast operator_add_size1_.*broadcast operator_addconstant""",
    # ONNX's reference takes another size of the output, which is not an integer, for the scale.
    r"^exit status 1$": "resize_downsample_scales_linear_align_corners",
}


def reason_of(name):
    for reason, patterns in REFUSED.items():
        if any(re.fullmatch(pattern, name) for pattern in patterns.split()):
            return reason
    return None


def run(folder):
    """The exit status and the messages of a test; of the first set of data that fails."""
    for data in sorted(folder.glob("test_data_set_*")):
        files = {"-i": [], "-e": []}
        for option, kind in (("-i", "input"), ("-e", "output")):
            while (file := data / f"{kind}_{len(files[option])}.pb").exists():
                files[option].append(file)
        arguments = [part for option, paths in files.items() for path in paths for part in (option, path)]
        done = start(["run", folder / "model.onnx", *arguments, "--rtol", "1e-3", "--atol", "1e-7", "-q"])
        if done.returncode != 0:
            said = (done.stderr + done.stdout).decode(errors="replace")
            return done.returncode, f"{said}exit status {done.returncode}"
    return 0, ""


@unittest.skipUnless(DATA.is_dir(), "libonnx-testdata is not installed")
class NodesTest(unittest.TestCase):
    def test_each_runs_to_its_outputs_or_is_refused_by_name(self):
        folders = [path for name in FOLDERS for path in sorted((DATA / name).iterdir())]
        self.assertGreater(len(folders), 1000)
        if os.environ.get("SANITIZE"):
            folders = folders[::20]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            results = list(pool.map(run, folders))
        for folder, (status, said) in zip(folders, results, strict=True):
            name = folder.name.removeprefix("test_")
            with self.subTest(f"{folder.parent.name}/{name}"):
                reason = reason_of(name)
                if reason is None:
                    self.assertEqual(status, 0, said[:400])
                else:
                    self.assertNotEqual(status, 0, "it runs, and needs no reason any more")
                    self.assertRegex(said, reason)

    def test_each_reason_is_needed(self):
        names = [path.name.removeprefix("test_") for folder in FOLDERS for path in (DATA / folder).iterdir()]
        for patterns in REFUSED.values():
            for pattern in patterns.split():
                self.assertTrue(any(re.fullmatch(pattern, name) for name in names), pattern)


if __name__ == "__main__":
    unittest.main()
