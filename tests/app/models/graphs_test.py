# SPDX-License-Identifier: Apache-2.0
"""Serialized graphs in models: written as JSON, made by flatc, and compared with NumPy; and their faults."""

import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import types
import unittest

sys.dont_write_bytecode = True
import numpy as np
from program import ROOT, ProgramTest, documents_in, start

SCHEMA = ROOT / "core/graph/dml_graph.fbs"
X = np.array([4, -2, 3, -5], "f4")


def tensor(*sizes, type="FLOAT32", strides=None):
    width = int(np.dtype(type.lower()).itemsize)
    stated = {"data_type": type, "sizes": list(sizes), "total_size": (int(np.prod(sizes)) * width + 3) // 4 * 4}
    return stated if strides is None else {**stated, "strides": strides}


def attribute(kind, **value):
    return {"name": "any", "value_type": kind, "value": value}


NO_ATTRIBUTE = {"name": ""}


def node(type, inputs, outputs, attributes=(), name=None, descs=None, out_descs=None):
    """A node whose tensors have four FLOAT32 elements unless descs are given."""
    inputs, outputs = list(inputs), list(outputs)
    return {"name": name or outputs[0], "inputs": inputs, "outputs": outputs, "kind_type": "OperatorNode",
            "kind": {"type": "DML_OPERATOR_" + type,
                     "inputs": descs or [tensor(4) for edge in inputs if edge],
                     "outputs": out_descs or [tensor(4) for edge in outputs if edge],
                     "attributes": list(attributes)}}


def constant(edge, **value):
    kind = "ConstantName" if "name" in value else "ConstantBytes"
    return {"name": edge, "outputs": [edge], "kind_type": "ConstantNode", "kind": {"value_type": kind, "value": value}}


def graph(*nodes, inputs=("x",), outputs=("y",)):
    return {"nodes": list(nodes), "inputs": list(inputs), "outputs": list(outputs)}


SCALE = node("ELEMENT_WISE_IDENTITY", ["x"], ["s"], [attribute("Linear", scale=2, bias=10)])
TIMES = node("ELEMENT_WISE_MULTIPLY", ["x", "s"], ["m"])
THREES = constant("three", bytes=list(np.full(4, 3, "f4").tobytes()))
PLUS = node("ELEMENT_WISE_ADD1", ["m", "three"], ["y"],
            [attribute("Activation", type="DML_OPERATOR_ACTIVATION_LEAKY_RELU",
                       attributes=[attribute("Float32", number=0.5)])])
QUADRATIC = graph(SCALE, TIMES, THREES, PLUS)
COPY = node("ELEMENT_WISE_IDENTITY", ["x"], ["y"], [NO_ATTRIBUTE])


def uint(number):
    return attribute("Uint32", number=number)


def uints(*numbers):
    return attribute("UintArray", numbers=list(numbers))


def scalar(value):
    return attribute("ScalarUnion", value_type="Bytes", value={"bytes": list(value.tobytes().ljust(8, b"\0"))})


GRID = np.arange(6, dtype="f4").reshape(1, 1, 2, 3)
FLAT = tensor(1, 1, 2, 3)


# For each kind of attribute: a node from x to y, the values of x, and those of y.
OPERATORS = {
    "enum and array": (node("REDUCE", ["x"], ["y"], [uint(10), uint(1), uints(3)], descs=[FLAT],
                            out_descs=[tensor(1, 1, 2, 1)]), GRID, [3, 12]),
    "two floats": (node("ELEMENT_WISE_CLIP", ["x"], ["y"],
                        [NO_ATTRIBUTE, attribute("Float32", number=-2.5), attribute("Float32", number=3)]),
                   X, [3, -2, 3, -2.5]),
    "scalars": (node("ELEMENT_WISE_CLIP1", ["x"], ["y"],
                     [NO_ATTRIBUTE, uint(1), scalar(np.float32(-2.5)), scalar(np.float32(3))]), X, [3, -2, 3, -2.5]),
    "sizes": (node("UPSAMPLE_2D", ["x"], ["y"], [attribute("TwoSizes", width=2, height=1), uint(0)],
                   descs=[FLAT], out_descs=[tensor(1, 1, 2, 6)]), GRID, np.repeat(GRID, 2)),
    "signed numbers": (node("SLICE1", ["x"], ["y"],
                            [uint(4), uints(0, 0, 0, 0), uints(1, 1, 2, 3),
                             attribute("IntArray", numbers=[1, 1, 1, -2])], descs=[FLAT],
                            out_descs=[tensor(1, 1, 2, 2)]), GRID, [2, 0, 5, 3]),
    "tensors": (node("JOIN", ["x", "x"], ["y"], [uint(2), uint(0)], out_descs=[tensor(8)]), X, [*X, *X]),
    "truth": (node("CUMULATIVE_SUMMATION", ["x"], ["y"], [uint(0), uint(0), attribute("Bool", number=1)]),
              X, [0, 4, 2, 5]),
    "truth as a number": (node("CUMULATIVE_SUMMATION", ["x"], ["y"], [uint(0), uint(1), uint(0)]),
                          X, [0, -4, -2, -5]),
    "strides": (node("ELEMENT_WISE_IDENTITY", ["x"], ["y"], [NO_ATTRIBUTE],
                     descs=[tensor(2, 2, strides=[1, 2])], out_descs=[tensor(2, 2)]), X, [4, 3, -2, -5]),
    "another type": (node("CAST", ["x"], ["y"], out_descs=[tensor(4, type="INT32")]), X, X.astype("i4")),
}

# The message about a graph, after the path.
FAULTS = [
    ("SGR-1", graph(TIMES, SCALE, THREES, PLUS),
     "node 'm': reads 's', which is no input of the graph and no node before fills"),
    ("SGR-1", graph(node("ELEMENT_WISE_ADD", ["x", "y"], ["y"])),
     "node 'y': reads 'y', which is no input of the graph and no node before fills"),
    ("SGR-1", graph(COPY, COPY), "node 'y': 'y' is filled twice"),
    ("SGR-1", graph(COPY, inputs=("x", "x")), "the graph: 'x' is filled twice"),
    ("SGR-1", graph(COPY, outputs=("y", "y")), "the graph has the output 'y' twice"),
    ("SGR-1", graph(COPY, outputs=("y", "z")), "no node computes the graph's output 'z'"),
    ("SGR-1", graph(COPY, inputs=("x", "")), "the graph: a tensor without a name"),
    ("SGR-2", graph(node("ELEMENT_WISE_FROBNICATE", ["x"], ["y"])),
     "node 'y': 'DML_OPERATOR_ELEMENT_WISE_FROBNICATE' is not an operator that dmlop runs"),
    ("SGR-2", graph(node("REDUCE", ["x"], ["y"], [uint(9), uint(1)])), "node 'y': Axes is missing"),
    ("SGR-2", graph(node("REDUCE", ["x"], ["y"], [uint(99), uint(1), uints(0)])),
     "node 'y': Function is 99; expected 0 to 11"),
    ("SGR-2", graph(node("REDUCE", ["x"], ["y"], [uints(9), uint(1), uints(0)])),
     "node 'y': Function has a value of another kind, UintArray"),
    ("SGR-2", graph(node("ELEMENT_WISE_ADD", ["x", "x"], ["y"], [uint(1)])),
     "node 'y': 1 attribute; ELEMENT_WISE_ADD has 0"),
    ("SGR-2", graph(node("ELEMENT_WISE_ADD", ["x"], ["y"])), "node 'y': BTensor has no name"),
    ("SGR-2", graph(node("ELEMENT_WISE_ADD", ["x", "x", "x"], ["y"])),
     "node 'y': more tensors than ELEMENT_WISE_ADD has"),
    ("SGR-2", graph(node("ELEMENT_WISE_ADD", ["x", "x"], ["y"], descs=[tensor(4)])),
     "node 'y': BTensor has a name and no desc"),
    ("SGR-2", graph(node("JOIN", ["x", ""], ["y"], [uint(1), uint(0)])),
     "node 'y': a tensor of InputTensors has no name"),
    ("SGR-2", graph(node("ELEMENT_WISE_ABS", ["x"], ["y"], [NO_ATTRIBUTE],
                         descs=[{"data_type": "FLOAT33", "sizes": [4]}])),
     "node 'y': InputTensor: 'FLOAT33' is not a data type"),
    ("SGR-2", graph(node("ELEMENT_WISE_ADD1", ["x", "x"], ["y"], [attribute("Activation", type="GEMM")])),
     "node 'y': 'GEMM' is no activation"),
    ("SGR-3", graph(constant("c", bytes=[0] * 12), node("ELEMENT_WISE_ADD", ["x", "c"], ["y"])),
     "the constant 'c' has 12 bytes; its tensor needs 16"),
    ("SGR-4", graph({**COPY, "name": ""}), "a node without a name"),
    ("SGR-4", graph({"name": "nothing", "outputs": ["z"]}, COPY),
     "node 'nothing': is neither an operator nor a constant"),
    ("SGR-4", graph({**constant("c", bytes=[0]), "outputs": ["c", "d"]}, COPY),
     "node 'c': a constant has one output, not 2"),
    ("SGR-4", graph(SCALE, node("ELEMENT_WISE_ABS", ["s"], ["y"], [NO_ATTRIBUTE], descs=[tensor(5)],
                                out_descs=[tensor(5)])),
     "node 'y': InputTensor needs 20 bytes of 's', which has 16"),
]


def with_one_node_often(file, count):
    """A file whose list of nodes has the first node of another file `count` times."""
    def follow(place):
        return place + int.from_bytes(file[place:place + 4], "little")

    def field(table, number):
        fields = table - int.from_bytes(file[table:table + 4], "little", signed=True)
        at = fields + 4 + 2 * number
        return follow(table + int.from_bytes(file[at:at + 2], "little"))

    root = follow(0)
    head = 36 + 4 * count  # where the other file begins: after the root's place and fields, itself, and its list
    head += -head % 8
    first = field(root, 0) + 4
    node = head + follow(first)
    numbers = [16, 10 | 16 << 16, 4 | 8 << 16, 12, 12, 12, head + field(root, 1) - 24, head + field(root, 2) - 28, count]
    numbers += [node - (36 + 4 * i) for i in range(count)]
    return np.array(numbers, "u4").tobytes().ljust(head, b"\0") + file


class GraphTest(ProgramTest):
    def make(self, graph, name="g"):
        """Writes the graph as NAME.bin."""
        self.write(f"{name}.json", graph)
        made = subprocess.run(["flatc", "--binary", "-o", self.folder, SCHEMA, self.path(f"{name}.json")],
                              capture_output=True, text=True)
        self.assertEqual((made.returncode, made.stdout + made.stderr), (0, ""))

    def path(self, name):
        return str(self.folder / name)

    def write(self, name, content):
        super().write(name, content)
        return name

    def dmlop(self, *arguments):
        """Runs dmlop with any status, and decodes its texts."""
        done = start(arguments, cwd=self.folder)
        return types.SimpleNamespace(returncode=done.returncode, stdout=done.stdout.decode(),
                                     stderr=done.stderr.decode())

    def model(self, x, outputs, bindings=None, source="g.bin", type="dmlSerializedGraph"):
        resources = {"x": self.resource(x)} | {name: self.resource(like) for name, like in outputs.items()}
        return json.dumps({
            "resources": resources,
            "dispatchables": {"g": {"type": type, "sourcePath": source}},
            "commands": [{"type": "dispatch", "dispatchable": "g",
                          "bindings": bindings or {name: name for name in resources}},
                         *({"type": "print", "resource": name} for name in outputs)]})

    @staticmethod
    def resource(values):
        return {"initialValuesDataType": np.asarray(values).dtype.name.upper(),
                "initialValues": np.ravel(values).tolist()}

    def run_graph(self, graph, x, outputs, *options):
        self.make(graph)
        return self.dmlop("run", self.write("m.json", self.model(x, outputs)), *options)


class RunTest(GraphTest):
    def expect(self, graph, x, y):
        y = np.asarray(y, getattr(y, "dtype", "f4"))
        done = self.run_graph(graph, x, {"y": np.zeros_like(y)})
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.stdout, f"Resource 'y': {', '.join(f'{v:g}' for v in y.ravel())}\n")

    def test_a_chain_with_constants_and_an_activation(self):
        y = X * (2 * X + 10) + 3
        self.expect(QUADRATIC, X, np.where(y < 0, y / 2, y))

    def test_attributes_of_each_kind(self):
        for name, (operator, x, y) in OPERATORS.items():
            with self.subTest(name):
                self.expect(graph(operator), x, y)

    def test_a_constant_in_a_file_of_its_own(self):
        np.full(4, 7, "f4").tofile(self.path("seven.bin"))
        self.expect(graph(constant("seven", name="seven"), node("ELEMENT_WISE_ADD", ["x", "seven"], ["y"])), X, X + 7)

    def test_no_tensor_between_nodes_is_overwritten_too_early(self):
        """In a random graph, each node adds two earlier edges."""
        seed = random.randrange(1 << 32)
        chance = random.Random(seed)
        values, nodes = {"x": X.astype(int)}, []
        for i in range(60):
            a, b = chance.choice(list(values)[-9:]), chance.choice(list(values))
            sign = chance.choice(["ADD", "SUBTRACT"])
            nodes.append(node(f"ELEMENT_WISE_{sign}", [a, b], [f"e{i}"]))
            values[f"e{i}"] = np.mod((values[a] + values[b] if sign == "ADD" else values[a] - values[b]), 1 << 20)
            nodes.append(node("ELEMENT_WISE_MODULUS_FLOOR", [f"e{i}", "limit"], [f"m{i}"]))
            values[f"m{i}"] = values.pop(f"e{i}")
        limit = constant("limit", bytes=list(np.full(4, 1 << 20, "f4").tobytes()))
        outputs = {name: values[name].astype("f4") for name in chance.sample([f"m{i}" for i in range(60)], 5)}
        done = self.run_graph(graph(limit, *nodes, outputs=outputs), X, outputs, "--output-path", self.folder,
                              "--keep-all", self.path("kept"))
        for name in outputs:
            kept = next((self.folder / "kept").glob(f"*-{name}.npy"))
            np.testing.assert_array_equal(np.load(kept), values[name], f"{name} with the seed {seed}")
        self.assertEqual((done.stderr, done.returncode), ("", 0))

    def test_what_no_element_of_a_tensor_between_nodes_fills_is_zero(self):
        """A node reads another tensor's gaps or tail, in memory that an unused tensor occupied before."""
        def copy(a, b, desc, out_desc):
            return node("ELEMENT_WISE_IDENTITY", [a], [b], [NO_ATTRIBUTE], descs=[desc], out_descs=[out_desc])

        def join(a, b, desc):
            return node("JOIN", [a], [b], [uint(1), uint(0)], descs=[desc], out_descs=[desc])

        floats, bytes = np.arange(1, 8, dtype="f4"), np.arange(1, 9, dtype="u1")
        four, spread, five = tensor(4), tensor(4, strides=[2]) | {"total_size": 28}, tensor(5, type="UINT8")
        softmax = node("ACTIVATION_SOFTMAX", ["zeros"], ["b"], out_descs=[spread])
        for case, x, fills_b, y in (
                ("gaps", floats, [softmax], [.25, 0, .25, 0, .25, 0, .25]),
                ("gaps of a chain", floats, [copy("zeros", "c", four, four), copy("c", "b", four, spread)], [0] * 7),
                ("tail", bytes, [copy("zeros", "b", five, five)], [0] * 8)):
            full = tensor(len(x), type=x.dtype.name.upper())
            self.make(graph(constant("zeros", bytes=[0] * 16), copy("x", "a", full, full), join("a", "r", full), *fills_b,
                            join("b", "y", full), outputs=["r", "y"]))
            self.write("m.json", self.model(x, {"r": x, "y": x}))
            for options in [], ["--keep-all", "kept"]:
                with self.subTest(f"{case} {options}"):
                    done = self.dmlop("run", "m.json", *options)
                    self.assertEqual(done.stdout.splitlines()[1], f"Resource 'y': {', '.join(f'{v:g}' for v in y)}")
            with self.subTest(f"{case}, explained"):
                done = self.dmlop("explain", "m.json", "y[5]")
                self.assertIn("operator 'y'", done.stdout)
                self.assertEqual(done.stdout.count("operator"), 1)
                self.assertNotIn("resource", done.stdout)

    def chain(self, chance, sizes, length):
        """Random element-wise nodes, most of which continue from the last one, with their values by NumPy."""
        half = {"data_type": "FLOAT32", "sizes": list(sizes), "strides": [0] * len(sizes), "total_size": 4}
        values, nodes = {"x": np.array([chance.uniform(-4, 4) for _ in range(1000)], "f4")}, []
        values["x"] = np.resize(values["x"], sizes)

        def desc(value):
            return tensor(*value.shape, type=value.dtype.name.upper())

        for i in range(length):
            name, a = f"e{i}", chance.choice(list(values)[-2:])
            b = chance.choice([e for e in values if values[e].dtype == values[a].dtype and values[e].shape == values[a].shape])
            x, y, attributes, edges = values[a], values[b], [], [a]
            kind = chance.choice(["ADD", "SUBTRACT", "CAST", "CLIP", "MULTIPLY", "ABS"])
            if kind == "CLIP" or max(abs(x).max(), abs(y).max()) > 1000:
                kind, value = "CLIP", np.clip(x, -8, 8).astype(x.dtype)
                attributes = [NO_ATTRIBUTE, attribute("Float32", number=-8), attribute("Float32", number=8)]
            elif kind == "CAST":
                value = x.astype("f2" if x.dtype == "f4" else "f4")
            elif kind == "MULTIPLY" and x.dtype == "f4" and x.shape == sizes:
                edges, value = [a, "half"], x * np.float32(0.5)
            elif kind == "ABS":  # it flattens the tensor
                attributes, value = [NO_ATTRIBUTE], abs(x).ravel()
            elif kind == "SUBTRACT":
                edges, value = [a, b], x - y
            else:
                kind, edges, value = "ADD", [a, b], x + y
            descs = [half if e == "half" else desc(values[e].reshape(value.shape)) for e in edges]
            type = kind if kind == "CAST" else f"ELEMENT_WISE_{kind}"
            nodes.append(node(type, edges, [name], attributes, descs=descs, out_descs=[desc(value)]))
            values[name] = value
        return [constant("half", bytes=list(np.float32(0.5).tobytes())), *nodes], values

    def test_chains_give_what_their_operators_give_one_by_one(self):
        seed = random.randrange(1 << 32)
        chance = random.Random(seed)
        for sizes in (7,), (3, 1, 5), (2, 3, 30011), (1, 70001), (260, 300):
            nodes, values = self.chain(chance, sizes, 25)
            outputs = sorted({*chance.sample(list(values)[1:], 3), list(values)[-1]})
            self.make(graph(*nodes, outputs=outputs))
            self.save(x=values["x"])
            model = json.loads(self.model(X, {}, bindings={name: name for name in ("x", *outputs)}))
            model["resources"]["x"] = {"initialValues": {"sourcePath": "x.npy"}}
            for name in outputs:
                kind = values[name].dtype.name.upper()
                model["resources"][name] = {"initialValuesDataType": kind, "initialValues": {"valueCount": values[name].size, "value": 0}}
                model["commands"].append({"type": "writeFile", "resource": name, "targetPath": f"{name}.npy"})
            self.write("m.json", json.dumps(model))
            for options in [], ["-t", "1"], ["--keep-all", "kept"]:
                done = self.dmlop("run", "m.json", *options)
                self.assertEqual((done.stdout, done.stderr, done.returncode), ("", "", 0))
                for name in outputs:
                    with self.subTest(f"{name} with the seed {seed}"):
                        self.assert_same(self.load(name), values[name].ravel())

    def test_time_is_in_proportion_to_the_nodes(self):
        """Tests many short chains, and many tensors that are needed until the end."""
        softmax = node("ACTIVATION_SOFTMAX", ["x"], ["y"])["kind"]

        def chains(count):
            edges = ["x", *(f"e{i}" for i in range(1, count)), "y"]
            return [node("ELEMENT_WISE_NEGATE", [a], [b]) | ({} if i % 3 else {"kind": softmax})
                    for i, (a, b) in enumerate(zip(edges, edges[1:]))]

        def live(count):
            made = [node("ELEMENT_WISE_NEGATE", ["x"], [f"e{i}"]) | {"kind": softmax} for i in range(count // 2)]
            sums = ["x", *(f"s{i}" for i in range(1, count // 2)), "y"]
            return made + [node("ELEMENT_WISE_ADD", [a, f"e{i}"], [b]) for i, (a, b) in enumerate(zip(sums, sums[1:]))]

        def seconds(nodes, *command):
            self.make(graph(*nodes))
            self.write("m.json", self.model(X, {"y": X}))
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            self.assertEqual(self.dmlop(*command).returncode, 0)
            return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

        for nodes, command in (chains, ["run", "m.json", "-t", "1"]), (chains, ["explain", "m.json", "y[0]"]), \
                (live, ["run", "m.json", "-t", "1"]):
            with self.subTest(f"{nodes.__name__} {command}"):
                self.assertLess(seconds(nodes(32000), *command), 8 * (seconds(nodes(8000), *command) + .05))

    def test_a_graph_within_a_model_of_others(self):
        self.make(QUADRATIC)
        model = json.loads(self.model(X, {"y": X}))
        model["dispatchables"]["a"] = {"type": "ELEMENT_WISE_ABS",
                                       "desc": {"InputTensor": {"DataType": "FLOAT32", "Sizes": [4]},
                                                "OutputTensor": {"DataType": "FLOAT32", "Sizes": [4]}}}
        model["commands"].insert(1, {"type": "dispatch", "dispatchable": "a",
                                     "bindings": {"InputTensor": "y", "OutputTensor": "x"}})
        self.write("m.json", json.dumps(model))
        done = self.dmlop("run", "m.json", "--keep", "a.OutputTensor=a.npy", "--keep", "s=s.npy")
        self.assertEqual((done.stdout, done.stderr), ("Resource 'y': 75, -4.5, 51, 3\n", ""))
        np.testing.assert_array_equal(self.load("a"), [75, 4.5, 51, 3])
        np.testing.assert_array_equal(self.load("s"), [18, 6, 16, 0])

    def test_kept_edges_of_several_graphs(self):
        """Edges of several graphs must be named with their graph, which is always allowed."""
        self.make(QUADRATIC)
        model = json.loads(self.model(X, {"y": X, "w": X}, bindings={"x": "x", "y": "y"}))
        model["dispatchables"]["h"] = model["dispatchables"]["g"]
        model["commands"].insert(1, {"type": "dispatch", "dispatchable": "h", "bindings": {"x": "y", "y": "w"}})
        self.write("m.json", json.dumps(model))
        for argument, message in (("s=s.npy", "'s' is a tensor of 2 graphs; say which, as g.s or h.s\n"),
                                  ("t=s.npy", "no operator of the model fills 't'; expected one of g.s, g.m, g.y, h.s, h.m, h.y\n"),
                                  ("g.mm=s.npy", "no operator of the model fills 'g.mm' (did you mean 'g.m'?)\n")):
            with self.subTest(argument):
                done = self.dmlop("run", "m.json", "--keep", argument)
                self.assertEqual((done.returncode, done.stderr), (2, f"dmlop: --keep {argument}: {message}"))
                self.assertFalse((self.folder / "s.npy").exists())
        y = X * (2 * X + 10) + 3
        y = np.where(y < 0, y / 2, y)
        done = self.dmlop("run", "m.json", "--keep", "g.s=a.npy", "--keep", "h.s=b.npy", "--keep-all", "kept", "--report", "r.json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        np.testing.assert_array_equal(self.load("a"), 2 * X + 10)
        np.testing.assert_array_equal(self.load("b"), 2 * y + 10)
        names = [f"{graph}.{edge}" for graph in "gh" for edge in "smy"]
        self.assertEqual(sorted(os.listdir(self.folder / "kept")), [f"{i:04}-{name}.npy" for i, name in enumerate(names, 1)])
        outputs = json.loads((self.folder / "r.json").read_text())["outputs"]
        self.assertEqual([file["tensor"] for file in outputs], sorted([*names, "g.s", "h.s"], key=names.index))
        self.write("m.json", self.model(X, {"y": X}))
        self.dmlop("run", "m.json", "--keep", "g.s=c.npy")
        np.testing.assert_array_equal(self.load("c"), 2 * X + 10)

    def test_the_first_of_the_kept_tensors_that_differs(self):
        self.run_graph(QUADRATIC, X, {"y": X}, "--keep-all", "good")
        self.make({**QUADRATIC, "nodes": [SCALE, node("ELEMENT_WISE_ADD", ["x", "s"], ["m"]), THREES, PLUS]})
        self.dmlop("run", "m.json", "--keep-all", "bad")
        done = self.dmlop("compare", "bad", "good")
        self.assertIn("first by name: 0002-m.npy\n", done.stdout)
        self.assertNotIn("0001-s.npy", done.stdout)
        self.assertEqual(done.returncode, 1)

    def test_files_of_kept_tensors_sort_in_the_order_of_the_operators(self):
        """This holds for any number of operators and any length of names."""
        count, last = 10001, "é" * 200 + "/"
        edges = ["x", *(f"e{i}" for i in range(1, count)), last]
        nodes = [node("ELEMENT_WISE_NEGATE", [a], [b], descs=[tensor(1)], out_descs=[tensor(1)]) for a, b in zip(edges, edges[1:])]
        self.make(graph(*nodes, outputs=[last]))
        self.write("m.json", self.model(X[:1], {"y": X[:1]}, bindings={"x": "x", last: "y"}))
        self.assertEqual(self.dmlop("run", "m.json", "--keep-all", "kept").returncode, 0)
        names = sorted(os.listdir(self.folder / "kept"))
        self.assertEqual([name.split("-")[0] for name in names], [f"{i:05}" for i in range(1, count + 1)])
        self.assertEqual((names[9998], names[-1]), ("09999-e9999.npy", f"10001-{'é' * 100}.npy"))

    def test_kept_tensors_of_4_bits_are_compared(self):
        quantize = node("QUANTIZE", ["x", "one"], ["q"], [uint(1), uint(1)], descs=[tensor(4), tensor(1)],
                        out_descs=[{"data_type": "INT4", "sizes": [4], "total_size": 4}])
        back = node("DEQUANTIZE", ["q", "one"], ["y"], [uint(1), uint(1)],
                    descs=[{"data_type": "INT4", "sizes": [4], "total_size": 4}, tensor(1)])
        one = constant("one", bytes=list(np.float32(1).tobytes()))
        for name, values in ("a", [5, 1, 2, -3]), ("b", [4, 1, 2, -3]):
            self.run_graph(graph(one, quantize, back), np.array(values, "f4"), {"y": X}, "--keep-all", name)
            np.testing.assert_array_equal(np.load(self.folder / f"{name}/0001-q.npy"), np.array(values, "i1"))
        self.assertIn("first by name: 0001-q.npy\n", self.dmlop("compare", "a", "b").stdout)

    def test_a_kept_buffer_is_that_of_the_desc(self):
        """It includes the gaps between elements, which are zero."""
        spread = tensor(4, strides=[2]) | {"total_size": 32}
        self.make(graph(node("ELEMENT_WISE_NEGATE", ["x"], ["s"], out_descs=[spread]),
                        node("ELEMENT_WISE_NEGATE", ["s"], ["y"], descs=[spread])))
        self.write("m.json", self.model(X, {"y": X}))
        for options in ["--keep", "s=s.bin"], ["--keep", "s=s.npy"]:
            self.dmlop("run", "m.json", *options)
        np.testing.assert_array_equal(np.fromfile(self.folder / "s.bin", "f4"), [-4, 0, 2, 0, -3, 0, 5, 0])
        np.testing.assert_array_equal(self.load("s"), -X)

    def test_kept_tensors_are_reported(self):
        self.run_graph(QUADRATIC, X, {"y": X}, "--keep", "s=s.npy", "--keep-all", "kept", "--report", "r.json")
        outputs = json.loads((self.folder / "r.json").read_text())["outputs"]
        self.assertEqual([(file["tensor"], file["path"]) for file in outputs],
                         [("s", "kept/0001-s.npy"), ("s", "s.npy"), ("m", "kept/0002-m.npy"), ("y", "kept/0003-y.npy")])
        for file in outputs:
            self.assertEqual(hashlib.sha256((self.folder / file["path"]).read_bytes()).hexdigest(), file["sha256"])

    def test_what_the_file_says_is_told_by_validate_and_report(self):
        self.make(QUADRATIC)
        self.write("m.json", self.model(X, {"y": X}))
        done = self.dmlop("validate", "m.json")
        self.assertEqual(done.stdout, "m.json: valid: 2 resources, 1 dispatchable and 2 commands; runs from feature "
                                      "level 3_0\n")
        self.dmlop("run", "m.json", "--report", "r.json")
        report = json.loads((self.folder / "r.json").read_text())
        self.assertEqual([n["name"] for n in report["dispatchables"]["g"]["nodes"]], ["s", "m", "y"])
        self.assertEqual(report["inputs"][0]["path"], "g.bin")
        done = self.dmlop("validate", "--print-complete", "m.json")
        bound = [descriptor["bindings"] for descriptor in documents_in(done.stdout)]
        self.assertEqual(bound[1], {"ATensor": X.tolist(), "BTensor": [18, 6, 16, 0]})


class ExplainTest(GraphTest):
    def explain(self, element, *options):
        done = self.dmlop("explain", "m.json", element, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_an_element_is_followed_to_what_the_model_begins_with(self):
        self.make(QUADRATIC)
        self.write("m.json", self.model(X, {"y": X}))
        self.assertEqual(self.explain("m[-2]"), """\
m[2]: FLOAT32, byte offset 8
operator 'm': ELEMENT_WISE_MULTIPLY of x, s
  m[2]  byte offset 8  value 48
operator 's': ELEMENT_WISE_IDENTITY with Scale 2 and Bias 10 of x
  s[2]  byte offset 8  value 16
resource 'x':
  x[2]  byte offset 8  value 3
""")
        found = json.loads(self.explain("y@4", "--format", "json"))

        def element(name, value):
            return {"tensor": name, "index": [1], "dataType": "FLOAT32", "byteOffset": 4, "value": value}

        def elements(name, value):
            return {"name": name, "count": 1, "elements": [element(name, value)]}

        self.assertEqual(found["element"], element("y", -4.5))
        self.assertEqual(found["operators"], [
            {"name": "y", "operator": "ELEMENT_WISE_ADD1", "inputs": ["m", "three"], "outputs": [elements("y", -4.5)]},
            {"name": "m", "operator": "ELEMENT_WISE_MULTIPLY", "inputs": ["x", "s"], "outputs": [elements("m", -12)]},
            {"name": "s", "operator": "ELEMENT_WISE_IDENTITY", "inputs": ["x"], "outputs": [elements("s", 6)]}])
        self.assertEqual(found["origins"], [elements("x", -2) | {"kind": "resource"},
                                            elements("three", 3) | {"kind": "constant"}])

    def shadowed(self, *graphs):
        """Graphs with an edge y and a node 'scale' that negate x, and an operator 'scale' that doubles y of the
        first graph."""
        self.make(graph(node("ELEMENT_WISE_NEGATE", ["x"], ["y"], [], name="scale")))
        self.write("m.json", json.dumps({
            "resources": {name: self.resource(X) for name in ("x", "o", "y")},
            "dispatchables": {name: {"type": "dmlSerializedGraph", "sourcePath": "g.bin"} for name in graphs} | {
                "scale": {"type": "ELEMENT_WISE_ADD", "desc": {tensor: {"DataType": "FLOAT32", "Sizes": [4]}
                                                               for tensor in ("ATensor", "BTensor", "OutputTensor")}}},
            "commands": [*({"type": "dispatch", "dispatchable": name, "bindings": {"x": "x", "y": "o"}} for name in graphs),
                         {"type": "dispatch", "dispatchable": "scale",
                          "bindings": {"ATensor": "o", "BTensor": "o", "OutputTensor": "y"}}]}))

    def test_names_of_the_document_hide_those_of_a_graph(self):
        self.shadowed("g")
        for element, value in ("y[0]", -8), ("g.y[0]", -4), ("scale.OutputTensor[0]", -8), ("o[0]", -4):
            with self.subTest(element):
                self.assertEqual(json.loads(self.explain(element, "--format", "json"))["element"]["value"], value)
        self.assertIn("ELEMENT_WISE_ADD", self.explain("OutputTensor[0]", "--dispatchable", "scale"))
        self.assertIn("ELEMENT_WISE_NEGATE", self.explain("OutputTensor[0]", "--dispatchable", "g.scale"))

    def test_names_of_several_graphs_are_refused(self):
        self.shadowed("g", "h")
        model = json.loads((self.folder / "m.json").read_text())
        del model["dispatchables"]["scale"], model["resources"]["y"], model["commands"][2]
        self.write("m.json", json.dumps(model))
        done = self.dmlop("explain", "m.json", "y[0]")
        self.assertIn("'y' is a tensor of 2 graphs; say which, as g.y or h.y [ELEM-2]", done.stderr)
        self.assertEqual(done.returncode, 2)
        done = self.dmlop("explain", "m.json", "OutputTensor[0]", "--dispatchable", "scale")
        self.assertIn("--dispatchable scale: is the name of 2 nodes, g.scale, h.scale", done.stderr)
        self.assertEqual(done.returncode, 2)
        done = self.dmlop("explain", "m.json", "OutputTensor[0]", "--dispatchable", "scal")
        self.assertIn("which of g.scale, h.scale is meant, and there is no 'scal'", done.stderr)
        self.assertIn("h.y[0]: ", self.explain("h.y[0]"))
        self.assertIn("ELEMENT_WISE_NEGATE", self.explain("OutputTensor[0]", "--dispatchable", "h.scale"))

    def test_a_resource_has_its_own_index_and_those_of_the_tensor_that_it_holds(self):
        turned = tensor(2, 2, strides=[1, 2])
        self.make(graph(node("ELEMENT_WISE_NEGATE", ["x"], ["y"], descs=[turned], out_descs=[turned])))
        self.write("m.json", self.model(X, {"y": X}))
        for i, j in np.ndindex(2, 2):
            place = i + 2 * j
            for name, index in (f"y[{place}]", [place]), (f"y[{place - 4}]", [place]), (f"y[{i},{j}]", [i, j]), (f"y@{4 * place}", [i, j]):
                found = json.loads(self.explain(name, "--format", "json"))
                self.assertEqual(found["element"], {"tensor": "y", "index": index, "dataType": "FLOAT32",
                                                    "byteOffset": 4 * place, "value": -X[place]})
                self.assertEqual([one["elements"][0]["byteOffset"] for one in found["origins"]], [4 * place])
        for name in "y[4]", "y[2,0]":
            self.assertIn("[ELEM-4]", self.dmlop("explain", "m.json", name).stderr)

    def test_long_lists_have_both_ends(self):
        x = np.arange(30, dtype="f4")
        total = node("REDUCE", ["s"], ["y"], [uint(10), uint(1), uints(0)], descs=[tensor(30)], out_descs=[tensor(1)])
        scale = node("ELEMENT_WISE_IDENTITY", ["x"], ["s"], [attribute("Linear", scale=2, bias=1)], descs=[tensor(30)],
                     out_descs=[tensor(30)])
        self.make(graph(scale, total))
        self.write("m.json", self.model(x, {"y": x[:1]}))
        text = self.explain("y[0]")
        self.assertIn("  s[2]   byte offset   8  value 5\n  ... 24 more\n  s[27]  byte offset 108  value 55\n", text)
        self.assertEqual(text.count("\n  x["), 6)
        self.assertEqual(self.explain("y[0]", "--full").count("\n  x["), 30)

    def test_commands_share_resources(self):
        """The earlier content of a resource does not matter; elements in two views are one."""
        def desc(*sizes, **more):
            return {"DataType": "FLOAT32", "Sizes": list(sizes)} | more

        def bound(name, offset):
            return {"name": name, "elementOffset": offset}

        def dispatch(name, **bindings):
            return {"type": "dispatch", "dispatchable": name, "bindings": bindings}

        self.write("m.json", json.dumps({
            "resources": {name: self.resource(np.arange(8, dtype="f4") + 10 * k) for k, name in enumerate(("a", "b", "c d"))},
            "dispatchables": {
                "square": {"type": "ELEMENT_WISE_MULTIPLY", "desc": {t: desc(4) for t in ("ATensor", "BTensor", "OutputTensor")}},
                "sum": {"type": "REDUCE", "desc": {"Function": "SUM", "AxisCount": 1, "Axes": [0], "InputTensor": desc(2, 2, Strides=[1, 2]),
                                                   "OutputTensor": desc(1, 2)}}},
            "commands": [dispatch("square", ATensor="a", BTensor="a", OutputTensor="b"),
                         dispatch("square", ATensor=bound("a", 4), BTensor=bound("b", 4), OutputTensor="b"),
                         dispatch("sum", InputTensor="b", OutputTensor=bound("c d", 4))]}))
        # c d[5] is b[2] + b[3], which are a[6] * b[6] and a[7] * b[7]
        text = """\
operator 'sum': REDUCE SUM over axes {0} of square.OutputTensor
  sum.OutputTensor[0, 1]  byte offset 4  value 215
operator 'square': ELEMENT_WISE_MULTIPLY of a, b
  square.OutputTensor[2]  byte offset  8  value 96
  square.OutputTensor[3]  byte offset 12  value 119
resource 'a':
  a[6]  byte offset 24  value 6
  a[7]  byte offset 28  value 7
resource 'b':
  b[6]  byte offset 24  value 16
  b[7]  byte offset 28  value 17
"""
        self.assertEqual(self.explain("sum.OutputTensor[0,1]"), "sum.OutputTensor[0, 1]: FLOAT32, byte offset 4\n" + text)
        self.assertEqual(self.explain("c d[5]"), "c d[5]: FLOAT32, byte offset 20\n" + text)
        self.assertEqual(self.explain("c d@5"), "c d[1]: FLOAT32, byte offset 4\nresource 'c d':\n"
                                                "  c d[1]  byte offset 4  value 21\n")
        self.assertIn("ELEM-4", self.dmlop("explain", "m.json", "c d[8]").stderr)
        self.assertIn("the model has no tensor 'cd' (did you mean 'c d'?)", self.dmlop("explain", "m.json", "cd[8]").stderr)

    def test_a_resource_that_is_two_tensors_is_told_of_once(self):
        first = {"DataType": "FLOAT32", "Sizes": [4], "Strides": [0]}
        each = {"DataType": "FLOAT32", "Sizes": [4]}
        self.write("m.json", json.dumps({
            "resources": {"x": self.resource(X), "y": self.resource(X)},
            "dispatchables": {"add": {"type": "ELEMENT_WISE_ADD", "desc": {"ATensor": first, "BTensor": each, "OutputTensor": each}}},
            "commands": [{"type": "dispatch", "dispatchable": "add", "bindings": {"ATensor": "x", "BTensor": "x", "OutputTensor": "y"}}]}))
        self.assertTrue(self.explain("y[2]").endswith("resource 'x':\n  x[0]  byte offset 0  value 4\n  x[2]  byte offset 8  value 3\n"))
        found = json.loads(self.explain("y[2]", "--format", "json"))["origins"]
        self.assertEqual([(one["name"], one["count"], len(one["elements"])) for one in found], [("x", 2, 2)])

    def test_what_does_not_matter_may_have_any_value(self):
        """In a random graph of integers, the element depends only on the elements found."""
        seed = random.randrange(1 << 32)
        chance = random.Random(seed)
        shapes, nodes = {"x": (2, 3, 4)}, []
        for i in range(12):
            a = chance.choice(list(shapes)[-3:])
            name, sizes = f"e{i}", shapes[a]
            flat = tensor(*sizes, type="INT32")
            kind = chance.choice(["turn", "slice", "reduce", "add", "join"])
            if kind == "turn":  # the last two dimensions are swapped
                turned = (sizes[0], sizes[2], sizes[1])
                descs = [tensor(*turned, type="INT32", strides=[sizes[1] * sizes[2], 1, sizes[2]])]
                new = node("ELEMENT_WISE_IDENTITY", [a], [name], [NO_ATTRIBUTE], descs=descs,
                           out_descs=[tensor(*turned, type="INT32")])
                shapes[name] = turned
            elif kind == "slice":
                size = [chance.randint(1, n) for n in sizes]
                begin = [chance.randint(0, n - s) for n, s in zip(sizes, size)]
                new = node("SLICE", [a], [name], [uint(3), uints(*begin), uints(*size), uints(1, 1, 1)], descs=[flat],
                           out_descs=[tensor(*size, type="INT32")])
                shapes[name] = tuple(size)
            elif kind == "reduce":
                axis = chance.randrange(3)
                size = tuple(1 if d == axis else n for d, n in enumerate(sizes))
                new = node("REDUCE", [a], [name], [uint(10), uint(1), uints(axis)], descs=[flat],
                           out_descs=[tensor(*size, type="INT32")])
                shapes[name] = size
            elif kind == "add":
                b = chance.choice([e for e in shapes if shapes[e] == sizes])
                new = node("ELEMENT_WISE_ADD", [a, b], [name], descs=[flat, flat], out_descs=[flat])
                shapes[name] = sizes
            else:
                axis = chance.randrange(3)
                size = tuple(2 * n if d == axis and n < 8 else n for d, n in enumerate(sizes))
                if size == sizes:
                    continue
                new = node("JOIN", [a, a], [name], [uint(2), uint(axis)], descs=[flat, flat],
                           out_descs=[tensor(*size, type="INT32")])
                shapes[name] = size
            nodes.append(new)
        last = list(shapes)[-1]
        self.make(graph(*nodes, outputs=[last]))

        def value(x, element):
            self.write("m.json", self.model(x, {last: np.zeros(shapes[last], "i4")}))
            return json.loads(self.explain(f"{last}{element}", "--full", "--format", "json"))

        x = np.array([chance.randrange(1000) for _ in range(24)], "i4").reshape(2, 3, 4)
        element = [chance.randrange(n) for n in shapes[last]]
        found = value(x, element)
        matters = np.zeros_like(x, bool)
        for origin in found["origins"]:
            for each in origin["elements"]:
                place = np.unravel_index(each["byteOffset"] // 4, x.shape)
                self.assertEqual(each["value"], x[place])
                matters[place] = True
        self.assertTrue(matters.any())
        other = value(np.where(matters, x, -7), element)
        self.assertEqual(other["element"], found["element"], f"seed {seed}")
        for place in np.argwhere(matters):  # each is added with a factor of at least one
            changed = x.copy()
            changed[tuple(place)] += 1
            self.assertGreater(value(changed, element)["element"]["value"], found["element"]["value"], f"seed {seed}")


class PartTest(GraphTest):
    """Graphs and their constants may begin at any byte of a file."""

    def test_graphs(self):
        self.make(QUADRATIC)
        whole = self.dmlop("run", self.write("m.json", self.model(X, {"y": X})))
        self.assertEqual((whole.returncode, whole.stderr), (0, ""))
        for offset in ("0", "1", "7", "0x40"):
            with self.subTest(offset):
                before = bytes(range(int(offset, 0)))
                (self.folder / "dump.bin").write_bytes(before + (self.folder / "g.bin").read_bytes())
                done = self.dmlop("run", self.write("m.json", self.model(X, {"y": X}, source=f"dump.bin@{offset}")))
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, whole.stdout, ""))
        done = self.dmlop("run", self.write("m.json", self.model(X, {"y": X}, source="dump.bin@0xFFFF")))
        self.assertIn("dump.bin@0xFFFF: has", done.stderr)
        self.assertEqual(done.returncode, 4)

    def test_constants(self):
        halves = np.arange(8, dtype="f4")
        (self.folder / "w.bin").write_bytes(b"?" + halves.tobytes())
        (self.folder / "w@17.bin").write_bytes((10 * halves[:4]).tobytes())
        for name, values in (("w@1", halves[:4]), ("w@0x11", halves[4:]), ("w@17", 10 * halves[:4])):
            with self.subTest(name):
                add = graph(constant("c", name=name), node("ELEMENT_WISE_ADD", ["x", "c"], ["y"]))
                done = self.run_graph(add, X, {"y": X})
                self.assertEqual(done.stdout, f"Resource 'y': {', '.join(f'{v:g}' for v in X + values)}\n", done.stderr)
        for name, message, status in (("w@0x100", "w.bin@0x100: has 33 bytes, and none at that offset", 4),
                                      ("w@30", "30.bin has 3 bytes; its tensor needs 16", 4),
                                      ("w@x", "w@x.bin: cannot be opened", 5), ("v@1", "v.bin: cannot be opened", 5)):
            with self.subTest(name):
                add = graph(constant("c", name=name), node("ELEMENT_WISE_ADD", ["x", "c"], ["y"]))
                done = self.run_graph(add, X, {"y": X})
                self.assertIn(message, done.stderr)
                self.assertEqual(done.returncode, status)


class JudgeTest(GraphTest):
    """The quadratic graph alone, and what a device made of it that adds where it should multiply and forgets the constant."""

    def setUp(self):
        super().setUp()
        self.make(QUADRATIC)
        s = 2 * X + 10
        self.right = {"x": X, "s": s, "m": X * s, "y": self.leaky(X * s + 3)}
        for name, values in self.right.items():
            np.save(self.path(f"{name}.npy"), values)

    @staticmethod
    def leaky(values):
        return np.where(values < 0, values / 2, values)

    def save_in(self, folder, **arrays):
        (self.folder / folder).mkdir(exist_ok=True)
        for name, values in arrays.items():
            np.save(self.folder / folder / f"{name}.npy", values)

    def test_show_lists_graphs_and_still_raw_tensors(self):
        self.assertEqual(self.dmlop("show", "g.bin").stdout,
                         "g.bin: 3 nodes\n  input 'x': FLOAT32 [4]\n  output 'y': FLOAT32 [4]\n"
                         "  node 's' (ELEMENT_WISE_IDENTITY): ELEMENT_WISE_IDENTITY -> 's' FLOAT32 [4]\n"
                         "  node 'm' (ELEMENT_WISE_MULTIPLY): ELEMENT_WISE_MULTIPLY -> 'm' FLOAT32 [4]\n"
                         "  node 'y' (ELEMENT_WISE_ADD1): ELEMENT_WISE_ADD1 -> 'y' FLOAT32 [4]\n")
        self.assertEqual(self.dmlop("show", "g.bin", "--type", "UINT8").returncode, 0)
        X.tofile(self.path("x.bin"))
        self.assertIn("--type and --sizes do", self.dmlop("show", "x.bin").stderr)
        self.make(graph(COPY, COPY))
        self.assertIn("'y' is filled twice [SGR-1]", self.dmlop("show", "g.bin").stderr)

    def test_nodes_are_diagnosed(self):
        s, m = self.right["s"], self.right["m"]
        self.save_in("dump", s=s, m=X + s, y=self.leaky(X + s + 3))
        done = self.dmlop("diagnose", "g.bin", "--from", "dump", "-i", "x.npy", "--format", "json")
        told = json.loads(done.stdout)
        self.assertEqual((done.returncode, told["node"], told["judged"]), (1, "m", 2))
        self.save_in("dump", m=m, y=self.leaky(m))
        told = json.loads(self.dmlop("diagnose", "g.bin", "--node", "y", "--from", "dump", "--format", "json").stdout)
        self.assertIn(["/bindings/BTensor=0"], [one["ids"] for one in told["outputs"][0]["causes"]])
        self.assertEqual(self.dmlop("diagnose", "g.bin", "--node", "y", "y.npy", "-i", "x.npy").returncode, 0)

    def test_graphs_are_cases_of_batches(self):
        lines = [{"model": "g.bin", "inputs": ["x.npy"], "outputs": {"y": "gold/y.npy", "m.m": "gold/m.npy"}},
                 {"model": "g.bin", "inputs": {"x": "x.npy"}, "outputs": ["gold/y2.npy"]}]
        (self.folder / "all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.assertEqual(self.dmlop("batch", "all.jsonl", "-q").stderr, "")
        for name, like in [("y", "y"), ("y2", "y"), ("m", "m")]:
            np.testing.assert_array_equal(np.load(self.folder / f"gold/{name}.npy"), self.right[like])
        self.save_in("gpu", y=self.leaky(self.right["m"]), m=self.right["m"], y2=self.right["y"])
        done = self.dmlop("batch", "all.jsonl", "--judge", "--output-path", "gpu", "--diagnose", "--report", "r.jsonl")
        first, second = [json.loads(line) for line in (self.folder / "r.jsonl").read_text().splitlines()]
        self.assertEqual((done.returncode, second["status"]), (1, "done"))
        self.assertEqual([one["name"] for one in first["diagnoses"]], ["y"])
        self.assertIn(["/bindings/BTensor=0"], [one["ids"] for one in first["diagnoses"][0]["causes"]])


class FaultTest(GraphTest):
    def test_faults_are_told_by_node_and_field(self):
        for rule, wrong, message in FAULTS:
            with self.subTest(message):
                done = self.run_graph(wrong, X, {"y": X})
                self.assertIn(f"g.bin: {message}", done.stderr)
                self.assertIn(f"[{rule}]", done.stderr)
                self.assertEqual(done.returncode, 3)

    def test_faults_of_a_constants_file_have_their_status(self):
        (self.folder / "short.bin").write_bytes(bytes(12))
        for name, message, status in (("nowhere", "nowhere.bin: cannot be opened: No such file or directory", 5),
                                      ("short", "short.bin has 12 bytes; its tensor needs 16", 4)):
            with self.subTest(name):
                done = self.run_graph(graph(constant("c", name=name), node("ELEMENT_WISE_ADD", ["x", "c"], ["y"])), X, {"y": X})
                self.assertIn(f"g.bin: the constant 'c': {message} [SGR-3]", done.stderr)
                self.assertEqual(done.returncode, status)

    def test_names_may_have_any_bytes(self):
        """A file's name cannot contain NUL, and the part before it names another file. Messages do not end at NUL."""
        (self.folder / "weights").write_bytes(bytes(16))
        (self.folder / "weights.bin").write_bytes(bytes(16))
        add = node("ELEMENT_WISE_ADD", ["x", "c"], ["y"])
        missing = "cannot be opened: No such file or directory"
        for name, shown, status in (
                ("weights\0old", r"'weights\x00old.bin' names no file, for it has a NUL byte", 3),
                ("\0", r"'\x00.bin' names no file, for it has a NUL byte", 3),
                ("weights\n", rf"weights\x0a.bin: {missing}", 5), ("\x1b[7m", rf"\x1b[7m.bin: {missing}", 5)):
            with self.subTest(name):
                done = self.run_graph(graph(constant("c", name=name), add), X, {"y": X})
                self.assertIn(f"g.bin: the constant 'c': {shown} [SGR-3]\n", done.stderr)
                self.assertEqual(done.returncode, status)
                self.assertEqual(done.stdout, "")
        for edge, what in (("c\0d", r"c\x00d"), ("\x1b[7m", r"\x1b[7m")):
            done = self.run_graph(graph(constant(edge, name="none"), node("ELEMENT_WISE_ADD", ["x", edge], ["y"])), X, {"y": X})
            self.assertIn(f"g.bin: the constant '{what}': none.bin: {missing} [SGR-3]\n", done.stderr)
            done = self.run_graph(graph(node("ELEMENT_WISE_ADD", ["x", edge], ["y"])), X, {"y": X})
            self.assertIn(what, done.stderr)
            self.assertEqual(done.returncode, 3)

    def test_rules_of_the_operators_hold_in_graphs(self):
        self.make(graph(node("ELEMENT_WISE_ADD", ["x", "x"], ["y"], descs=[tensor(4), tensor(3)])))
        done = self.dmlop("run", self.write("m.json", self.model(X, {"y": X})))
        self.assertIn("g.bin: node 'y': ELEMENT_WISE_ADD BTensor/Sizes: Sizes are {3}; expected {4} [ELW-1]", done.stderr)
        self.assertEqual(done.returncode, 3)

    def test_levels_hold_in_graphs(self):
        self.make(QUADRATIC)
        done = self.dmlop("run", self.write("m.json", self.model(X, {"y": X})), "-L", "2_0")
        self.assertIn("node 's'", done.stderr)
        self.assertEqual(done.returncode, 3)

    def test_bindings_are_those_of_inputs_and_outputs(self):
        self.make(QUADRATIC)
        self.write("m.json", self.model(X, {"y": X}, bindings={"x": "x", "Y": "y"}))
        done = self.dmlop("run", "m.json")
        self.assertIn("dmlSerializedGraph has no bind point 'Y' (did you mean 'y'?)", done.stderr)
        self.assertIn("'y' is bound to no resource", done.stderr)
        self.write("m.json", self.model(X, {"y": X}, bindings={"x": "x", "y": "x"}))
        self.assertIn("BIND-7", self.dmlop("run", "m.json").stderr)
        self.write("m.json", self.model(X[:3], {"y": X}))
        self.assertIn("x needs 16 bytes; the resource has 12", self.dmlop("run", "m.json").stderr)

    def test_what_is_no_graph(self):
        self.write("m.json", self.model(X, {"y": X}))
        for content in b"", b"\0", b"{}" * 300, bytes(range(256)):
            (self.folder / "g.bin").write_bytes(content)
            done = self.dmlop("run", "m.json")
            self.assertIn("g.bin: is not a serialized DirectML graph [SGR-4]", done.stderr)
            self.assertEqual(done.returncode, 3)
        done = self.dmlop("run", self.write("m.json", self.model(X, {"y": X}, source="nowhere.bin")))
        self.assertIn("nowhere.bin: cannot be opened", done.stderr)
        self.assertEqual(done.returncode, 5)

    def test_no_memory_is_as_large_as_some_tensors(self):
        for size in (1 << 64) - 64, (1 << 64) - 60, (1 << 64) - 4:
            large = tensor(4) | {"total_size": size}
            for between in [node("ELEMENT_WISE_ABS", ["x"], ["a"], [NO_ATTRIBUTE], out_descs=[large])], \
                    [node("ELEMENT_WISE_ABS", ["x"], [e], [NO_ATTRIBUTE], out_descs=[large]) for e in "ab"]:
                self.make(graph(*between, node("ELEMENT_WISE_ADD", ["a", between[-1]["name"]], ["y"])))
                self.write("m.json", self.model(X, {"y": X}))
                for command in ["run", "m.json"], ["run", "m.json", "--keep", "a=a.npy"], ["explain", "m.json", "y[0]"], \
                        ["validate", "m.json", "--print-complete"]:
                    with self.subTest(f"{size} bytes, {len(between)} tensors: {command}"):
                        done = self.dmlop(*command)
                        self.assertIn("[RES-7]", done.stderr)
                        self.assertEqual(done.returncode, 5)

    def test_small_files_that_are_large_graphs_are_refused(self):
        """All entries of the list of nodes are one node with long lists."""
        many = 100000
        for case, one in (("names", node("ELEMENT_WISE_ABS", ["x"] * many, ["y"], descs=[tensor(4)])),
                          ("numbers", node("REDUCE", ["x"], ["y"], [uint(10), uint(1), uints(*[0] * many)]))):
            with self.subTest(case):
                self.make(graph(one))
                path = self.folder / "g.bin"
                path.write_bytes(with_one_node_often(path.read_bytes(), 2000))
                self.write("m.json", self.model(X, {"y": X}))
                done = self.dmlop("run", "m.json")
                size = path.stat().st_size
                self.assertIn(f"g.bin: is far more than its {size} bytes: its parts refer to more than {64 * size + (1 << 24)} in all, "
                              "each time that one is shared [SGR-4]", done.stderr)
                self.assertEqual(done.returncode, 3)

    def test_damaged_files_never_crash(self):
        self.make(QUADRATIC)
        self.write("m.json", self.model(X, {"y": X}))
        whole = (self.folder / "g.bin").read_bytes()
        seed = random.randrange(1 << 32)
        chance = random.Random(seed)
        damaged = [whole[:length] for length in range(0, len(whole), 31)]
        for _ in range(150):
            content = bytearray(whole)
            for _ in range(chance.randrange(1, 4)):
                content[chance.randrange(len(whole))] = chance.choice([0, 1, 0x7F, 0xFF, chance.randrange(256)])
            damaged.append(bytes(content))
        for content in damaged:
            (self.folder / "g.bin").write_bytes(content)
            done = self.dmlop("run", "m.json", "-q")
            self.assertIn(done.returncode, (0, 3, 5), f"seed {seed}: {done.stderr}")

    def test_confined_models_open_no_graph_elsewhere(self):
        self.make(QUADRATIC)
        (self.folder / "in").mkdir()
        self.write("in/m.json", self.model(X, {"y": X}, source="../g.bin"))
        done = self.dmlop("run", "in/m.json", "--confine", "in")
        self.assertIn("DOC-5", done.stderr)
        self.assertEqual(done.returncode, 3)

    def test_keep_is_for_tensors_of_models(self):
        self.make(QUADRATIC)
        self.write("m.json", self.model(X, {"y": X}))
        for argument, message in (("t=t.npy", "no operator of the model fills 't'"),
                                  ("t.npy", "expected NAME=FILE")):
            done = self.dmlop("run", "m.json", "--keep", argument)
            self.assertIn(message, done.stderr)
            self.assertEqual(done.returncode, 2)
        self.save(x=X)
        self.write("read.json", json.dumps(json.loads(self.model(X, {"y": X})) |
                                           {"resources": {"x": {"initialValues": {"sourcePath": "x.npy"}}, "y": self.resource(X)}}))
        done = self.dmlop("run", "read.json", "--keep", "s=x.npy")
        self.assertIn("x.npy is read as resource 'x' and would be written as tensor 's'", done.stderr)
        self.assertEqual(done.returncode, 2)
        model = json.loads(self.model(X, {"y": X}))
        model["commands"].insert(0, model["commands"][0])
        self.write("twice.json", json.dumps(model))
        done = self.dmlop("run", "twice.json", "--keep", "other=t.npy")
        self.assertIn("no operator of the model fills 'other'; expected one of s, m, y\n", done.stderr)
        done = self.dmlop("run", "m.json", "--keep", "s=g.bin")
        self.assertIn("the graph 'g'", done.stderr)
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
