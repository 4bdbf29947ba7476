# SPDX-License-Identifier: Apache-2.0
"""Indices and lengths that are out of range: a warning for each tensor on standard error, but a result, too."""

import json
import sys
import unittest

sys.dont_write_bytecode = True
from program import ProgramTest

GATHER = {
    "type": "GATHER",
    "InputTensor": {"DataType": "FLOAT32", "Sizes": [1, 4]},
    "IndicesTensor": {"DataType": "INT32", "Sizes": [2, 2]},
    "OutputTensor": {"DataType": "FLOAT32", "Sizes": [2, 2]},
    "Axis": 1,
    "IndexDimensions": 2,
}
JUDGE = "such elements judge no device"
WARNING = "warning: {}IndicesTensor: {}; " + JUDGE + " [IDX-5]"


def bound(indices, **fields):
    return GATHER | fields | {"bindings": {"InputTensor": [[1, 2, 3, 4]], "IndicesTensor": indices}}


class IndexWarningsTest(ProgramTest):
    def warnings_of(self, *arguments):
        """The warnings of a run with status 0, without the lines that show the place."""
        done = self.run_program("run", *arguments)
        lines = done.stderr.decode().splitlines()
        return [line[line.index("warning: "):] for line in lines if "warning: " in line]

    def test_there_are_none_in_range(self):
        self.assertEqual(self.warnings_of(json.dumps(bound([[0, -1], [-4, 3]]))), [])

    def test_the_first_is_named_and_all_are_counted(self):
        document = json.dumps(bound([[0, -1], [-5, 7]]))
        message = "2 of 4 indices are out of range and clamped; the first is -5 at [1, 0]"
        self.assertEqual(self.warnings_of(document), [WARNING.format("/", message)])
        self.assertIn("[1, 4]", self.text_of("run", document))
        self.assertEqual(self.warnings_of(document, "-q"), [])

    def test_one_is_one(self):
        message = "1 of 4 indices is out of range and clamped; the first is 4 at [0, 1]"
        self.assertEqual(self.warnings_of(json.dumps(bound([[0, 4], [1, 2]]))), [WARNING.format("/", message)])

    def test_each_index_of_a_tuple_has_its_own_dimension(self):
        document = {"type": "GATHER_ND", "InputDimensionCount": 2, "IndicesDimensionCount": 2,
                    "InputTensor": {"DataType": "FLOAT32", "Sizes": [2, 3]},
                    "IndicesTensor": {"DataType": "INT64", "Sizes": [2, 2]},
                    "bindings": {"InputTensor": [1, 2, 3, 4, 5, 6], "IndicesTensor": [[1, 2], [2, -3]]}}
        message = "1 of 4 indices is out of range and clamped; the first is 2 at [1, 0]"
        self.assertEqual(self.warnings_of(json.dumps(document)), [WARNING.format("/", message)])

    def test_unpooling_drops(self):
        document = {"type": "MAX_UNPOOLING", "InputTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 2]},
                    "IndicesTensor": {"DataType": "UINT64", "Sizes": [1, 1, 1, 2]},
                    "OutputTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 2, 2]},
                    "bindings": {"InputTensor": [1, 2], "IndicesTensor": [3, 4]}}
        message = "1 of 2 indices is out of range and dropped; the first is 4 at [0, 0, 0, 1]"
        self.assertEqual(self.warnings_of(json.dumps(document)), [WARNING.format("/", message)])

    def test_batches_of_regions(self):
        document = {"type": "ROI_ALIGN", "InputTensor": {"DataType": "FLOAT32", "Sizes": [2, 1, 1, 1]},
                    "ROITensor": {"DataType": "FLOAT32", "Sizes": [2, 4]},
                    "BatchIndicesTensor": {"DataType": "UINT32", "Sizes": [2]},
                    "OutputTensor": {"DataType": "FLOAT32", "Sizes": [2, 1, 1, 1]},
                    "ReductionFunction": "MAX", "InterpolationMode": "LINEAR", "SpatialScaleX": 1,
                    "SpatialScaleY": 1, "OutOfBoundsInputValue": 0, "MinimumSamplesPerOutput": 1,
                    "MaximumSamplesPerOutput": 1,
                    "bindings": {"InputTensor": [1, 2], "ROITensor": 8 * [0], "BatchIndicesTensor": [1, 2]}}
        message = ("warning: /BatchIndicesTensor: 1 of 2 indices is out of range and clamped; the first is 2 at [1]; "
                   f"{JUDGE} [IDX-5]")
        self.assertEqual(self.warnings_of(json.dumps(document)), [message])
        document = {"type": "ROI_POOLING", "InputTensor": {"DataType": "FLOAT32", "Sizes": [2, 1, 1, 1]},
                    "ROITensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 3, 5]}, "SpatialScale": 1,
                    "PooledSize": {"Width": 1, "Height": 1},
                    "bindings": {"InputTensor": [1, 2],
                                 "ROITensor": [1.5, 0, 0, 0, 0, "nan", 0, 0, 0, 0, -1, 0, 0, 0, 0]}}
        message = ("warning: /ROITensor: 2 of 3 indices are out of range and clamped; "
                   f"the first is nan at [0, 0, 1, 0]; {JUDGE} [IDX-5]")
        self.assertEqual(self.warnings_of(json.dumps(document)), [message])

    def test_a_length_beyond_the_steps_counts_as_those(self):
        document = {"type": "RNN", "InputTensor": {"DataType": "FLOAT32", "Sizes": [1, 2, 3, 1]},
                    "WeightTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 1]},
                    "RecurrenceTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 1]},
                    "SequenceLengthsTensor": {"DataType": "UINT32", "Sizes": [1, 1, 1, 3]},
                    "ActivationDescs": [{"type": "ACTIVATION_IDENTITY"}], "Direction": "FORWARD",
                    "bindings": {"InputTensor": [1, 2, 3, 4, 5, 6], "WeightTensor": [1], "RecurrenceTensor": [1],
                                 "SequenceLengthsTensor": [2, 3, 9]}}
        message = ("2 of 3 lengths are more than the 2 steps and count as those; the first is 3 at [0, 0, 0, 1]")
        self.assertEqual(self.warnings_of(json.dumps(document)),
                         [f"warning: /SequenceLengthsTensor: {message} [REC-9]"])

    def test_lengths_of_the_past(self):
        tokens = {"DataType": "FLOAT32", "Sizes": [2, 1, 1]}
        document = {"type": "MULTIHEAD_ATTENTION1", "QueryTensor": tokens, "KeyTensor": tokens, "ValueTensor": tokens,
                    "PastSequenceLengthsTensor": {"DataType": "FLOAT32", "Sizes": [2]}, "Scale": 1,
                    "MaskFilterValue": 0, "QueryHeadCount": 1, "KeyValueHeadCount": 1, "MaskType": "NONE"}
        for lengths, message in (
                (["nan", 5.5], "2 of 2 lengths are out of range [0, 0] and clamped; the first is nan at [0]"),
                ([0, 5.5], "1 of 2 lengths is out of range [0, 0] and clamped; the first is 5.5 at [1]"),
                ([-0.0, 0], None)):
            bound = {"QueryTensor": [1, 2], "KeyTensor": [1, 2], "ValueTensor": [3, 4], "PastSequenceLengthsTensor": lengths}
            expected = [f"warning: /PastSequenceLengthsTensor: {message} [CTR-10]"] if message else []
            self.assertEqual(self.warnings_of(json.dumps(document | {"bindings": bound})), expected)

    def test_a_model_warns_of_each_dispatch(self):
        fields = {name: value for name, value in GATHER.items() if name != "type"}
        model = {
            "resources": {
                "In": {"initialValuesDataType": "FLOAT32", "initialValues": [1, 2, 3, 4]},
                "Indices": {"initialValuesDataType": "INT32", "initialValues": [0, 1, 2, 9]},
                "Out": {"initialValuesDataType": "FLOAT32", "initialValues": {"valueCount": 4, "value": 0}},
            },
            "dispatchables": {"gather": {"type": "GATHER", "desc": fields}},
            "commands": 2 * [{"type": "dispatch", "dispatchable": "gather", "bindings": {
                "InputTensor": "In", "IndicesTensor": "Indices", "OutputTensor": "Out"}}],
        }
        self.write("model.json", model)
        message = "1 of 4 indices is out of range and clamped; the first is 9 at [1, 1]"
        warning = WARNING.format("/dispatchables/gather/desc/", message)
        self.assertEqual(self.warnings_of("model.json"), [warning, warning])
        self.assertEqual(self.warnings_of("model.json", "-q"), [])


if __name__ == "__main__":
    unittest.main()
