# SPDX-License-Identifier: Apache-2.0
"""Valid documents in every spelling, and documents with one change."""

import copy
import math

TYPES = {"FLOAT32": None, "FLOAT16": None, "FLOAT64": None,
         **{f"{sign}{bits}": (0 if sign == "UINT" else -2 ** (bits - 1),
                              2 ** (bits - (sign == "INT")) - 1)
            for sign in ("UINT", "INT") for bits in (8, 16, 32, 64)}}
FUNCTIONS = ["ARGMAX", "ARGMIN", "AVERAGE", "L1", "L2", "LOG_SUM", "LOG_SUM_EXP", "MAX", "MIN",
             "MULTIPLY", "SUM", "SUM_SQUARE"]
FLAGS = ["NONE", "ALLOW_HALF_PRECISION_COMPUTATION", "DISABLE_META_COMMANDS",
         "DESCRIPTORS_VOLATILE"]
FILE = "x.npy"  # two by three, FLOAT32


class Writer:
    """Makes random choices with one generator, so that a seed repeats them."""

    def __init__(self, rng, is_model):
        self.rng = rng
        self.is_model = is_model

    def maybe(self, chance=0.5):
        return self.rng.random() < chance

    def spelled(self, prefix, name):
        return self.rng.choice([prefix + name, name])

    def any_case(self, name):
        return "".join(self.rng.choice([c.upper(), c.lower()]) for c in name)

    def shuffled(self, members):
        """The members in any order; None is left out, or written as null if that means the same."""
        kept = [(k, v) for k, v in members.items()
                if v is not None or (not self.is_model and self.maybe(0.3))]
        self.rng.shuffle(kept)
        return dict(kept)

    def value(self, kind):
        """An element of that type."""
        if TYPES[kind] is None:
            large = {"FLOAT16": [65504, 2048], "FLOAT32": [3e38, 2 ** 53], "FLOAT64": [1e300, 2 ** 53]}[kind]
            return self.rng.choice([0, -1, 2.5, -0.25, *large, self.any_case("nan"),
                                    self.any_case("-inf"), self.any_case("inf")])
        low, high = TYPES[kind]
        return self.rng.choice([low, high, self.rng.randint(low, high)])

    def nested(self, kind, sizes):
        if not sizes:
            return self.value(kind)
        return [self.nested(kind, sizes[1:]) for _ in range(sizes[0])]

    def type_name(self, kind):
        return self.spelled("DML_TENSOR_DATA_TYPE_", kind)

    # --- operators -------------------------------------------------------------------------------

    def tensor(self, kind, sizes, is_input):
        flags = ["NONE", "OWNED_BY_DML"] if is_input and not self.is_model else ["NONE"]
        flags = [self.spelled("DML_TENSOR_FLAG_", flag) for flag in flags]
        strides = [math.prod(sizes[d + 1:]) for d in range(len(sizes))]
        fields = self.shuffled({
            "DataType": self.type_name(kind),
            "Sizes": sizes,
            "DimensionCount": self.rng.choice([None, len(sizes)]),
            "Strides": self.rng.choice([None, [], strides, [2 * stride for stride in strides]]),
            "Flags": self.rng.choice([None, self.rng.choice(flags), flags, []]),
            "TotalTensorSizeInBytes": self.rng.choice([None, 0, 2 ** 20, 2 ** 21]),
            "GuaranteedBaseOffsetAlignment": self.rng.choice([None, 0, 8, 16, 2 ** 8]),
        })
        kind_of_tensor = self.rng.choice([None, self.spelled("DML_TENSOR_TYPE_", "BUFFER")])
        if self.maybe(0.3):
            return self.shuffled({"Type": kind_of_tensor, "Desc": fields})
        return self.shuffled(fields | {"Type": kind_of_tensor, "Desc": None})

    def sizes(self, low=1, high=5):
        return [self.rng.randint(1, 3) for _ in range(self.rng.randint(low, high))]

    def fields(self, name):
        """The fields, and the type and sizes of each tensor."""
        return getattr(self, name.lower())()

    def element_wise_identity(self):
        kind, sizes = self.rng.choice(list(TYPES)), self.sizes()
        scale = self.rng.choice([None, {"Scale": self.rng.choice([0, -2.5, 3e38, self.any_case("-inf")]),
                                        "Bias": 3}])
        shapes = {"InputTensor": (kind, sizes), "OutputTensor": (kind, sizes)}
        return {"ScaleBias": None if kind.endswith("64") else scale}, shapes

    def reduce(self):
        function = self.rng.choice(FUNCTIONS)
        kind = self.rng.choice(["FLOAT32", "FLOAT16"] if function in
                               ("AVERAGE", "L2", "LOG_SUM", "LOG_SUM_EXP") else
                               ["FLOAT16", "UINT32", "INT32", "INT64", "UINT64", "FLOAT32"])
        sizes = self.sizes(1, 8)
        axes = self.rng.sample(range(len(sizes)), self.rng.randint(0, len(sizes)))
        out_kind = (self.rng.choice(["UINT32", "INT32", "INT64", "UINT64"])
                    if function.startswith("ARG") else kind)
        out = [1 if d in axes else size for d, size in enumerate(sizes)]
        return ({"Function": self.spelled("DML_REDUCE_FUNCTION_", function), "Axes": axes,
                 "AxisCount": self.count(len(axes))},
                {"InputTensor": (kind, sizes), "OutputTensor": (out_kind, out)})

    def parts(self):
        kind, sizes = self.rng.choice(list(TYPES)), self.sizes()
        axis, number = self.rng.randrange(len(sizes)), self.rng.randint(1, 4)
        whole = [size * number if d == axis else size for d, size in enumerate(sizes)]
        return kind, axis, [(kind, sizes)] * number, (kind, whole)

    def join(self):
        kind, axis, parts, whole = self.parts()
        return ({"Axis": axis, "InputCount": self.count(len(parts))},
                {"InputTensors": parts, "OutputTensor": whole})

    def split(self):
        kind, axis, parts, whole = self.parts()
        return ({"Axis": axis, "OutputCount": self.count(len(parts))},
                {"InputTensor": whole, "OutputTensors": parts})

    def unfold(self):
        rank = self.rng.randint(1, 3)
        kind, space = self.rng.choice(list(TYPES)), [self.rng.randint(2, 4) for _ in range(rank)]
        window = [self.rng.randint(1, 2) for _ in range(rank)]
        return ({"DimensionCount": self.count(rank), "WindowSizes": window, "Strides": [1] * rank,
                 "Dilations": [1] * rank, "StartPadding": [0] * rank, "EndPadding": [0] * rank},
                {"InputTensor": (kind, [1, 2, *space]),
                 "OutputTensor": (kind, [1, 2 * math.prod(window), math.prod(
                     size - w + 1 for size, w in zip(space, window))])})

    def count(self, number):
        return number if self.is_model else self.rng.choice([None, number])

    def operator(self, other_members):
        """An operator with its tensors, and the shapes of these."""
        name = self.rng.choice(["ELEMENT_WISE_IDENTITY", "JOIN", "SPLIT", "REDUCE", "UNFOLD"])
        fields, shapes = self.fields(name)
        for field, shape in shapes.items():
            is_input = field.startswith("Input")
            if isinstance(shape, list):
                fields[field] = [self.tensor(*one, is_input) for one in shape]
            else:
                fields[field] = self.tensor(*shape, is_input)
        other = other_members(name, fields, shapes)
        other[self.rng.choice(["type", "Type"])] = self.spelled("DML_OPERATOR_", name)
        fields = self.shuffled(fields)
        level = self.rng.choice(["desc", "Desc", None])
        members = other | (fields if level is None else {level: fields})
        if not self.is_model:
            for key in ("type", "Type", "desc", "Desc"):
                members.setdefault(key, None)
        return name, self.shuffled(members), shapes


# --- descriptors ---------------------------------------------------------------------------------

def descriptor(rng):
    writer = Writer(rng, is_model=False)

    def bound(kind, sizes):
        """An input's binding."""
        constant = writer.shuffled({"value": writer.value(kind)})
        sequence = writer.shuffled({"valueStart": writer.value(kind),
                                    "valueDelta": writer.value(kind)})
        seeded = writer.shuffled({"random": rng.choice(["uniform", "integers", "special"] +
                                                       (["normal"] if kind.startswith("FLOAT") else [])),
                                  "seed": rng.choice([None, 0, 7, 2 ** 64 - 1])})
        if writer.maybe():
            for initializer in (constant, sequence, seeded):
                initializer["valueCount"] = math.prod(sizes)
        return rng.choice([None, FILE, "buffer.bin", "-", constant, sequence, seeded,
                           writer.nested(kind, sizes)])

    def other_members(name, fields, shapes):
        bindings = {}
        for field, shape in shapes.items():
            is_input = field.startswith("Input")
            if isinstance(shape, list):
                bindings[field] = [bound(*one) if is_input else rng.choice([None, "y.npy", "y.raw"])
                                   for one in shape]
            else:
                bindings[field] = bound(*shape) if is_input else rng.choice([None, "y.dat"])
            if writer.maybe(0.2):
                bindings[field] = None
            leave_out(fields, field)
        return {"bindings": rng.choice([None, writer.shuffled(bindings)]),
                "$schema": rng.choice([None, "dmlop.json", 7, {"deep": [{}]}])}

    def leave_out(fields, field):
        """Outputs are implied; their types and sizes may be left out together or alone."""
        if field == "OutputTensor" and writer.maybe(0.3):
            fields[field] = rng.choice([None, {}, {"DataType": None}, {"Desc": {}}])

    return writer.operator(other_members)[1]


def descriptor_of_file(rng):
    """An operator whose input is described by its file."""
    writer = Writer(rng, is_model=False)
    tensor = rng.choice([None, {}, {"Sizes": [2, 3]}, {"DataType": writer.type_name("FLOAT32")},
                         {"Desc": {"Flags": "NONE"}}, {"DimensionCount": 2, "Strides": [3, 1]}])
    return writer.shuffled({"type": "REDUCE", "Function": "SUM", "Axes": rng.choice([[1], [0, 1]]),
                            "InputTensor": tensor, "OutputTensor": None,
                            "bindings": {"InputTensor": FILE}})


# --- models --------------------------------------------------------------------------------------

def model(rng):
    writer = Writer(rng, is_model=True)
    resources = {}

    def resource():
        kind = rng.choice(list(TYPES))
        count = rng.randint(1, 4)
        values = rng.choice([
            [writer.value(kind) for _ in range(count)],
            {"value": writer.value(kind), "valueCount": count, "valueDelta": "junk"},
            {"valueStart": writer.value(kind), "valueDelta": writer.value(kind),
             "valueCount": count, "sourcePath": 5},
            {"sourcePath": "buffer.bin", "junk": None}, "mixed", "npy"])
        typed = True
        if values == "mixed":
            kinds = rng.choices([k for k in TYPES if k != "FLOAT16"], k=count)
            values = [writer.shuffled({"type": writer.type_name(k), "value": writer.value(k),
                                       "name": rng.choice([None, 5])}) for k in kinds]
            typed = False
        elif values == "npy":
            values, kind = {"sourcePath": rng.choice([FILE, "Y.NPY"])}, "FLOAT32"
            typed = writer.maybe()
        name = f"r{len(resources)}"
        resources[name] = writer.shuffled({
            "initialValues": values,
            "initialValuesDataType": (writer.type_name(kind) if typed
                                      else rng.choice([None, writer.type_name("UNKNOWN")])),
            "sizeInBytes": 2 ** 22 + 4 * rng.randint(0, 3),
            "initialValuesOffsetInBytes": rng.choice([None, 0, 4]),
            "resampleMode": rng.choice([None, "scale", 5]),
            "junk": rng.choice([None, 5, []])})
        return name

    def binding():
        name = resource()
        return rng.choice([name, writer.shuffled({
            "name": name, "elementOffset": rng.choice([None, 0]),
            "elementSizeInBytes": rng.choice([None, 0, 4]), "elementCount": rng.choice([None, "x"]),
            "shape": rng.choice([None, [1]]), "junk": rng.choice([None, {}])})])

    def other_members(name, fields, shapes):
        return {"dmlCompileType": rng.choice([None, "DmlCompileOp", "DmlCompileGraph"]),
                "executionFlags": rng.choice([None, [], writer.spelled("DML_EXECUTION_FLAG_",
                                                                       rng.choice(FLAGS)),
                                              [writer.spelled("DML_EXECUTION_FLAG_", flag)
                                               for flag in FLAGS]]),
                "bindings": rng.choice([None, {}, {"Unknown": 5}]),
                "junk": rng.choice([None, 5])}

    dispatchables, commands = {}, []
    for number in range(rng.randint(1, 2)):
        operator, dispatchables[f"d{number}"], shapes = writer.operator(other_members)
        bindings = {}
        for field, shape in shapes.items():
            one = [binding() for _ in shape] if isinstance(shape, list) else binding()
            bindings[field] = [one] if not isinstance(one, list) and writer.maybe(0.2) else one
        if writer.maybe(0.3):
            bindings[rng.choice(["Unknown", "outputTensor"])] = rng.choice([5, "junk", None, []])
        commands.append(writer.shuffled({
            "type": writer.any_case("dispatch"), "dispatchable": f"d{number}",
            "bindings": bindings, "threadGroupCount": rng.choice([None, [1, 1, 1], 5])}))
    typed = [name for name, r in resources.items()
             if not (isinstance(r["initialValues"], list) and isinstance(r["initialValues"][0], dict))]
    for name in typed[:2]:
        commands.append(writer.shuffled({"type": writer.any_case("print"), "resource": name,
                                         "verbose": rng.choice([None, True, False])}))
        commands.append(writer.shuffled({"type": writer.any_case("writefile"), "resource": name,
                                         "targetPath": rng.choice(["out.npy", "out", "out.bin"]),
                                         "dimensions": rng.choice([None, [], [1, 2]])}))
    sections = {"resources": resources, "dispatchables": dispatchables, "commands": commands,
                "$schema": rng.choice([None, "dmlop.json", {}]), "junk": rng.choice([None, 5])}
    return writer.shuffled(sections)


# --- one change ----------------------------------------------------------------------------------

OTHERS = [None, True, "text", 7, -1, 2.5, [], {}, [1], {"a": 1}, [None], ["text"], 2 ** 32, 2 ** 64,
          300, "UINT4", "UNKNOWN", "nan"]
FILE_NAMES = ["", "a\0.npy", FILE, "buffer.bin"]


def places(value, path=()):
    yield path
    children = (value.items() if isinstance(value, dict)
                else enumerate(value) if isinstance(value, list) else ())
    for key, child in children:
        yield from places(child, (*path, key))


def parent_of(document, path):
    for key in path[:-1]:
        document = document[key]
    return document


def changed(rng, document):
    """A copy with one change, and a description of the change."""
    document = copy.deepcopy(document)
    path = rng.choice([path for path in places(document) if path])
    parent, key = parent_of(document, path), path[-1]
    value = parent[key]
    kinds = ["replace", "replace", "drop"]
    kinds += ["surplus"] * isinstance(value, dict) + ["recase"] * isinstance(key, str)
    kinds += ["nudge"] * 2 * isinstance(value, int) + ["longer"] * bool(isinstance(value, list) and value)
    kind = rng.choice(kinds)
    if kind == "replace":
        others = OTHERS
        if path[0] == "bindings" or key == "sourcePath":  # other names are refused before they are read
            others = [other for other in OTHERS if not isinstance(other, str)] + FILE_NAMES
            if path[0] == "bindings":
                others = [other for other in others if other != ["text"]]
        parent[key] = rng.choice(others)
    elif kind == "drop":
        del parent[key]
    elif kind == "surplus":
        value["surplus"] = rng.choice(OTHERS)
    elif kind == "recase":
        parent[rng.choice([key.swapcase(), key + "s", "desc", "Desc", "Type"])] = parent.pop(key)
    elif kind == "nudge":
        parent[key] = value + rng.choice([-1, 1, 8, 2 ** 31, -2 ** 31])
    elif kind == "longer":
        value.extend(copy.deepcopy(value[:1]) * rng.choice([1, 8]))
    return document, f"{kind} at /{'/'.join(map(str, path))}"
