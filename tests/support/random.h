// The randomness of the tests of tensors and operators: every case has its own engine, so that one
// failing case can be looked at alone.
#pragma once

#include <string>

#include "tests/exact/random_cases.h"

namespace dmlop {

// DMLOP_TEST_SEED, or a fixed default.
uint64_t TestSeed();

Engine CaseEngine(int number);

// For SCOPED_TRACE: how to see the same case again.
std::string CaseTrace(int number);

// True once in `period` draws, on average.
inline bool OneIn(Engine& engine, int period) {
  return UniformInt(engine, 1, period) == 1;
}

template <typename Range>
const auto& OneOf(Engine& engine, const Range& range) {
  return range[static_cast<size_t>(UniformInt(engine, 0, static_cast<int>(std::size(range)) - 1))];
}

}  // namespace dmlop
