// SPDX-License-Identifier: Apache-2.0
// Times a model with ONNX Runtime's CPU provider, in turns with other programs:
//
//   node onnx_runtime.js PACKAGES MODEL THREADS
//
// PACKAGES is the folder in which npm has installed onnxruntime-node. The model's inputs get
// ordinary values, and its outputs are written in place. First prints an empty line; then each line
// of standard input is a turn, whose answer is the median of its calls' seconds, as operator_turns
// gives it. onnx_runtime.py calls it.
'use strict';
const path = require('path');
const readline = require('readline');

const [packages, model, threads] = process.argv.slice(2);
const {InferenceSession, Tensor} = require(path.join(packages, 'onnxruntime-node'));

const SECONDS_PER_TURN = 0.02;
const ARRAYS = {float32: Float32Array, int8: Int8Array, uint8: Uint8Array};

// Floats are uniform in [-1, 1), integers of any bits.
function ordinary({name, type, shape}) {
  const values = new ARRAYS[type](shape.reduce((a, b) => a * b, 1));
  for (let i = 0; i < values.length; ++i) {
    values[i] = type === 'float32' ? 2 * Math.random() - 1 : Math.floor(256 * Math.random());
  }
  return [name, new Tensor(type, values, shape)];
}

async function secondsOf(call) {
  const start = process.hrtime.bigint();
  await call();
  return Number(process.hrtime.bigint() - start) * 1e-9;
}

// The first call is not timed, as it wakes the threads up.
async function takeTurn(call) {
  await call();
  const seconds = [];
  for (let sum = 0; sum < SECONDS_PER_TURN; sum += seconds.at(-1)) {
    seconds.push(await secondsOf(call));
  }
  return seconds.sort((a, b) => a - b)[seconds.length >> 1];
}

async function main() {
  const session = await InferenceSession.create(model, {
    intraOpNumThreads: Number(threads),
    // Threads that wait in a loop for the next call would slow the others' turns.
    extra: {session: {force_spinning_stop: '1'}},
  });
  const inputs = Object.fromEntries(session.inputMetadata.map(ordinary));
  const outputs = await session.run(inputs);
  console.log();
  for await (const _ of readline.createInterface({input: process.stdin})) {
    console.log(await takeTurn(() => session.run(inputs, outputs)));
  }
}

main();
