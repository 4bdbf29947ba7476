// The randomness of the tests: every case has its own engine, so that one failing case can be
// looked at alone. One expression draws once: in which order operands and arguments are evaluated
// differs between machines, and a seed means the same case on all of them.
#pragma once

#include <cstdint>
#include <iterator>
#include <random>
#include <string>

namespace dmlop {

using Engine = std::mt19937_64;

// DMLOP_TEST_SEED, or a fixed default.
uint64_t TestSeed();

// Whether every case of the long tests is asked for: DMLOP_TEST_FULL is set.
bool IsFullDepth();

// A third of so many cases that an engine each draws, or all at full depth.
int ShareOf(int cases);

// Whether the next entry of a list of cases is run: one in three, drawn by the seed, or each at
// full depth.
bool IsInShare();

Engine CaseEngine(int number);

// For SCOPED_TRACE: how to see the same case again.
std::string CaseTrace(int number);

// For a test that is one case. Prints the seed.
Engine TestEngine();

inline double Uniform(Engine& engine, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(engine);
}

inline int UniformInt(Engine& engine, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(engine);
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
