# SPDX-License-Identifier: Apache-2.0
"""The verdicts of dmlop and of its schema on documents, and the faults for which these may differ."""

import json
import re
import warnings

from program import start

warnings.simplefilter("ignore", DeprecationWarning)
from jsonschema import Draft202012Validator

# The bind points of each operator.
BIND_POINTS = {
    "ELEMENT_WISE_IDENTITY": {"InputTensor", "OutputTensor"},
    "JOIN": {"InputTensors", "OutputTensor"},
    "SPLIT": {"InputTensor", "OutputTensors"},
    "REDUCE": {"InputTensor", "OutputTensor"},
    "UNFOLD": {"InputTensor", "OutputTensor"},
}


def load_schema():
    return json.loads(start(["schema"]).stdout)


def validator_of(schema):
    return Draft202012Validator(schema)


def read_verdicts(paths, cwd):
    """One verdict for each document, all from one process."""
    done = start(["validate", "--format", "json", *paths], cwd=cwd)
    verdicts = [json.loads(line) for line in done.stdout.splitlines()]
    if len(verdicts) != len(paths):
        raise AssertionError(f"{len(verdicts)} verdicts for {len(paths)} documents: {done.stderr.decode()}")
    return verdicts


# --- faults that a schema cannot express --------------------------------------------------------

def at(document, names):
    for name in names:
        document = document[int(name) if isinstance(document, list) else name]
    return document


def is_inline_value(document, pointer):
    return pointer.startswith(("/bindings/", "/expect/"))


def is_value_of_array(document, pointer):
    return re.match("/(bindings|expect)/\\w+s/", pointer)


def has_no_sizes(document, pointer):
    tensor = at(document, pointer.split("/")[1:-1])
    return tensor.get("Sizes") is None


def is_bound_by_command_line(document, pointer):
    """Whether the document binds nothing to the input, so that run -i may."""
    names = [name for name in pointer.split("/")[1:] if name not in ("desc", "Desc")]
    try:
        return at(document["bindings"], names[:2 if names[0].endswith("s") else 1]) is None
    except (KeyError, IndexError, TypeError, ValueError):
        return True


def is_in_array(document, pointer):
    return re.match("(/[dD]esc)?/InputTensors/", pointer)


def may_be_ignored(document, pointer):
    """Whether the place is below a bind point that some dispatchable lacks, where any value is allowed."""
    place = re.match(r"/commands/\d+/bindings/(\w+)", pointer)
    if not place:
        return False
    for dispatchable in document["dispatchables"].values():
        fields = dispatchable if isinstance(dispatchable, dict) else {}
        name = str(fields.get("Type", fields.get("type"))).removeprefix("DML_OPERATOR_")
        if place[1] not in BIND_POINTS.get(name, ()):
            return True
    return False


always = lambda document, pointer: True

# Code, message, condition, and the reason why a schema may miss the fault.
BEYOND_A_SCHEMA = [
    ("JSON-1", "", always, "the text is no JSON"),
    ("JSON-5", "is given twice", always, "of members with one name a parser keeps one"),
    ("JSON-6", "", always, "a name refers to a member elsewhere"),
    ("JSON-2", "no .npy file", is_bound_by_command_line, "run -i may bind a .npy file"),
    ("JSON-2", "no .npy file", is_in_array, "entries of two arrays cannot be paired"),
    ("JSON-2", "'(In|Out)putTensors' is missing", always, "run -i and run -o may tell how many"),
    ("JSON-2", "other fields do not imply", always, "follows from several fields"),
    ("DOC-2", "not exact", always, "a schema knows numbers, not how they are represented"),
    ("DOC-2", "infinity is written as", is_value_of_array, "entries of two arrays cannot be paired"),
    ("DOC-1", "a number, found an array|an integer, found an array", is_inline_value,
     "how deep values are nested is told by Sizes"),
    ("DOC-3", "", always, "the length of an array without a limit, and of arrays of bindings"),
    ("DOC-4", "", always, "the shape of values is that of Sizes"),
    ("MB-[124]", "", always, "depends on the operator that a command names, and on its flags"),
    ("BIND-.*", "", always, "bytes are computed"),
    ("RES-[36]", "", always, "bytes are computed, and files opened"),
    ("CMD-1", "", always, "depends on the resource that a command names"),
    ("BUF-8|BUF-9|BUF-11", "", always, "elements and bytes are computed"),
    ("BUF-12", "is less than", always, "compares a number with the width of a type"),
    ("BUF-13", "", has_no_sizes, "Sizes are implied"),
    ("ID-1|JOIN-[34]|SPLIT-[23]|RED-[123]|UNF-[245]|UNF-10|ELW-[14]|VAL-2|MOV-[14]|SLW-[123]|"
     "CMP-1|QNT-[45]|QLA-[12]|QZ-[134]|VS2D-2|GAT-[1246]|GEL-1|GND-[1-5]|SCE-[12]|SND-[123]|MUP-1|REV-1|"
     "OHT-[124]|TPK-[12]|NZC-1|RNG-1|CUM-1|LRN-1|LRG-1|SLC-[12]|PDG-1|TIL-1|DSP-[12]|DIA-[13]|RSM-1|"
     "RSM-2[01]|FLD-[12]|CTR-4|POOL-[124]|MXP-1|MM[IF]-1|MMF-2|QMM-1|QSH-[12]|CVI-1|QCV-1|RPL-1|"
     "RAL-1|RAG-1|SMX-[124]|[AM]PG-1|QAP-1|MVN-[124]|LPN-[12]|BN-[12]|BNG-[12]|BNT-1|ADAM-[12]|"
     "DQL-[12]|MHA-[0-9]+|REC-[1348]|LSTM-3|GEMM-[12]|CONV-[124]", "", always,
     "compares tensors with one another and with Axis or Axes"),
    ("CTR-4", "two less", always, "compares arrays with Sizes"),
    ("QZ-2", "NONE|takes", always, "depends on the kind of quantization"),
    ("ID-6|FL-1|UNI-[12]|SB-4", "", always, "depends on the type, the function and the feature level"),
    ("RAL-2", "expected AVERAGE|is less|for each", always, "a function of few fields, and their products"),
    ("MVN-3|BN-3", "", always, "depends on the feature level"),
    ("RSM-2|BN-4|MVN-9|LPN-4|ADAM-3", "", always, "the schema takes all numbers of FLOAT32 for FLOATs"),
    (".*", "", may_be_ignored, "the operator that a command names may not have the bind point"),
]


def reasons(document, diagnostic):
    return [reason for code, message, when, reason in BEYOND_A_SCHEMA
            if re.fullmatch(code, diagnostic["code"])
            and re.search(message, diagnostic["message"])
            and when(document, diagnostic["pointer"])]


def must_refuse(document, verdict):
    """True if a schema can express one of the faults."""
    return any(diagnostic["severity"] == "error" and not reasons(document, diagnostic)
               for diagnostic in verdict["diagnostics"])
