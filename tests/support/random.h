// SPDX-License-Identifier: Apache-2.0
// The randomness of the tests. Every case has its own engine, so that a failing case can be run
// alone. An expression draws at most once: the order in which operands and arguments are evaluated
// differs between machines, but a seed must mean the same case on all of them.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>

#include "core/fuzz/entropy.h"

namespace dmlop {

using Engine = RandomEngine;

// DMLOP_TEST_SEED, or a fixed default.
uint64_t TestSeed();

// Whether every case of the long tests runs: DMLOP_TEST_SHARE is 1.
bool IsFullDepth();

// One in DMLOP_TEST_SHARE of the cases, or in 3, each of which draws from its own engine.
int ShareOf(int cases);

// Whether the next entry of a list of cases runs: as many, drawn by the seed.
bool IsInShare();

Engine CaseEngine(int number);

// For SCOPED_TRACE: tells how to repeat the case.
std::string CaseTrace(int number);

// The engine of a test that is a single case. Prints the seed.
Engine TestEngine();

inline double Uniform(Engine& engine, double low, double high) {
  return DrawReal(engine, low, high);
}

inline int UniformInt(Engine& engine, int low, int high) {
  return low + static_cast<int>(DrawBetween(
                   engine, 0, static_cast<uint64_t>(high) - static_cast<uint64_t>(low)));
}

inline double RandomSign(Engine& engine) {
  return UniformInt(engine, 0, 1) == 0 ? 1.0 : -1.0;
}

inline double WithRandomSign(Engine& engine, double value) {
  return RandomSign(engine) * value;
}

// True once in `period` draws, on average.
inline bool OneIn(Engine& engine, int period) {
  return UniformInt(engine, 1, period) == 1;
}

template <typename Range>
const auto& OneOf(Engine& engine, const Range& range) {
  return range[static_cast<size_t>(UniformInt(engine, 0, static_cast<int>(std::size(range)) - 1))];
}

}  // namespace dmlop
