# SPDX-License-Identifier: Apache-2.0
"""dmlop explain: the gates and states of recurrent networks and the scores of attention, judged by NumPy's float64."""

import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
from formula_test import StepsTest


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def activations(*names):
    return [{"type": f"ACTIVATION_{name}"} for name in names]


def network(gates, **more):
    """The inputs of a network of one direction: 4 steps, 2 items, 2 inputs, 3 units."""
    rng = np.random.default_rng(gates)
    sizes = {"InputTensor": (1, 4, 2, 2), "WeightTensor": (1, 1, 3 * gates, 2), "RecurrenceTensor": (1, 1, 3 * gates, 3),
             "BiasTensor": (1, 1, 1, 6 * gates), "HiddenInitTensor": (1, 1, 2, 3)} | more
    return {name: rng.normal(size=size).astype("f4") for name, size in sizes.items()}


def steps_of_network(inputs, gates, index, step):
    """Runs step(x, h, c, of_input, of_hidden), which gives h, c and gates; gives the gates that are told of the unit."""
    x, w, r, b = (inputs[name].astype("f8")[0, 0] for name in ("InputTensor", "WeightTensor", "RecurrenceTensor", "BiasTensor"))
    x, b = inputs["InputTensor"].astype("f8")[0], b.reshape(2, gates, 3)
    w, r = w.reshape(gates, 3, -1), r.reshape(gates, 3, -1)
    h, c, unit, found = inputs["HiddenInitTensor"].astype("f8")[0, 0, index[2]], np.zeros(3), index[3], {}
    for time in range(index[0] + 1):
        h, c, told = step(x[time, index[2]], h, c, lambda g, x: w[g] @ x + b[0, g], lambda g, h: r[g] @ h + b[1, g])
        found |= {f"{name} at step {time}": value[unit] for name, value in told.items()
                  if time == index[0] or (time >= index[0] - 2 and not name.startswith("sum"))}
    return found


def lstm(inputs, index):
    peephole = inputs["PeepholeTensor"].astype("f8")[0, 0, 0].reshape(3, 3)

    def step(x, h, c, of_input, of_hidden):
        sums = [of_input(g, x) + of_hidden(g, h) for g in range(4)]
        i, f = (sigmoid(np.clip(sums[g] + peephole[p] * c, -2, 2)) for g, p in ((0, 0), (2, 2)))
        memory = f * c + i * np.tanh(np.clip(sums[3], -2, 2))
        o = sums[1] + peephole[1] * memory
        gates = {"input gate": i, "forget gate": f, "cell state": memory, "sum of the output gate": o,
                 "output gate": sigmoid(np.clip(o, -2, 2))}
        return gates["output gate"] * np.tanh(memory), memory, gates

    return steps_of_network(inputs, 4, index, step)


def gru(is_linear):
    def steps(inputs, index):
        def step(x, h, c, of_input, of_hidden):
            z, r = (sigmoid(of_input(g, x) + of_hidden(g, h)) for g in (0, 1))
            new = np.tanh(of_input(2, x) + (r * of_hidden(2, h) if is_linear else of_hidden(2, r * h)))
            return (1 - z) * new + z * h, c, {"update gate": z, "reset gate": r, "new state": new}
        return steps_of_network(inputs, 3, index, step)
    return steps


def rnn(inputs, index):
    def step(x, h, c, of_input, of_hidden):
        total = of_input(0, x) + of_hidden(0, h)
        return np.tanh(total), c, {"sum of the gate": total}
    return steps_of_network(inputs, 1, index, step)


def with_nan(inputs):
    """From step 1 of item 1 on."""
    x = inputs["InputTensor"].copy()
    x[0, 1, 1, 0] = np.nan
    return inputs | {"InputTensor": x}


SEQUENCE = {"Direction": "FORWARD", "OutputSequenceTensor": {}}
LSTM = SEQUENCE | {"ActivationDescs": activations("SIGMOID", "TANH", "TANH"), "UseClipThreshold": True, "ClipThreshold": 2,
                   "CoupleInputForget": False}
LSTM_INPUTS = network(4, PeepholeTensor=(1, 1, 1, 9))
NETWORK_CASES = [
    ("RNN", SEQUENCE | {"ActivationDescs": activations("TANH")}, network(1), rnn),
    ("LSTM", LSTM, LSTM_INPUTS, lstm),
    ("LSTM", LSTM, with_nan(LSTM_INPUTS), lstm),
    *(("GRU", SEQUENCE | {"ActivationDescs": activations("SIGMOID", "TANH"), "LinearBeforeReset": is_linear}, network(3),
       gru(is_linear)) for is_linear in (False, True)),
]


def attention(inputs, index):
    """Of two heads of size 2 with a bias, and a mask that keeps the first two keys."""
    heads = [inputs[name].astype("f8") + bias for name, bias in
             zip(("QueryTensor", "KeyTensor", "ValueTensor"), inputs["BiasTensor"].astype("f8").reshape(3, 4))]
    first = index[2] // 2 * 2
    q, k = (x[0, :, first:first + 2] for x in heads[:2])
    scores = 0.5 * k @ q[index[1]] + np.where(np.arange(3) < inputs["MaskTensor"][0, 0], 0, -3)
    weights = np.exp(scores - scores.max())
    return {f"score of key {key}": score for key, score in enumerate(scores)} | {
        "maximum": scores.max(), "sum of exponentials": weights.sum(),
        "weighted sum of values": weights @ heads[2][0, :, index[2]]}


ATTENTION = {name: np.random.default_rng(n).integers(-9, 9, (1, 3, 4)).astype("f4") / 4
             for n, name in enumerate(("QueryTensor", "KeyTensor", "ValueTensor"))}
ATTENTION_CASE = ("MULTIHEAD_ATTENTION", {"Scale": 0.5, "MaskFilterValue": -3, "HeadCount": 2, "MaskType": "KEY_SEQUENCE_LENGTH"},
              ATTENTION | {"BiasTensor": np.arange(12, dtype="f4") / 4, "MaskTensor": np.array([[2]], "i4")},
              [(0, 0, 0), (0, 2, 3)], attention, "OutputTensor")


class NetworksTest(StepsTest):
    def test_recurrent(self):
        self.check_cases((*case[:3], [(0, 0, 0, 0), (3, 0, 1, 1)], case[3], "OutputSequenceTensor") for case in NETWORK_CASES)

    def test_attention(self):
        self.check_cases([ATTENTION_CASE])


if __name__ == "__main__":
    unittest.main()
