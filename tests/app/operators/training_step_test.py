# SPDX-License-Identifier: Apache-2.0
"""A training step of 0, for which DirectML's formula gives NaN: a warning, but a result, too."""

import json
import sys
import unittest

sys.dont_write_bytecode = True
from program import ProgramTest

TENSORS = ["InputParametersTensor", "InputFirstMomentTensor", "InputSecondMomentTensor", "GradientTensor"]


def step(number):
    one = {"DataType": "FLOAT32", "Sizes": [1]}
    return json.dumps({
        "type": "ADAM_OPTIMIZER", **{name: one for name in TENSORS},
        "TrainingStepTensor": {"DataType": "UINT32", "Sizes": [1]},
        "LearningRate": 0.5, "Beta1": 0.5, "Beta2": 0.5, "Epsilon": 0,
        "bindings": {**{name: [1] for name in TENSORS}, "TrainingStepTensor": [number]}})


class TrainingStepTest(ProgramTest):
    def warnings_of(self, *arguments):
        lines = self.run_program("run", *arguments).stderr.decode().splitlines()
        return [line[line.index("warning: "):] for line in lines if "warning: " in line]

    def test_step_0_is_warned_of(self):
        self.assertEqual(self.warnings_of(step(0)), [
            "warning: /TrainingStepTensor: the training step is 0, so all parameters become NaN; the first "
            "step is 1 [ADAM-4]"])
        self.assertEqual(self.warnings_of(step(0), "-q"), [])
        self.assertIn("[nan]", self.text_of("run", step(0)))

    def test_step_1_is_not(self):
        self.assertEqual(self.warnings_of(step(1)), [])


if __name__ == "__main__":
    unittest.main()
