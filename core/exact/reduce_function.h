// SPDX-License-Identifier: Apache-2.0
// DML_REDUCE_FUNCTION. x1..xN are the elements that share an output coordinate:
//
//   ARGMAX, ARGMIN  index of the extreme element, flattened over the reduced axes; the first of
//                   equals; NaN only if there is nothing else
//   AVERAGE         (x1 + ... + xN) / N                  MAX, MIN     the extreme; NaN is skipped
//   L1              |x1| + ... + |xN|                    MULTIPLY     x1 * ... * xN
//   L2              sqrt(x1^2 + ... + xN^2)              SUM          x1 + ... + xN
//   LOG_SUM         ln(x1 + ... + xN)                    SUM_SQUARE   x1^2 + ... + xN^2
//   LOG_SUM_EXP     ln(e^x1 + ... + e^xN)
//
// Float results are the exact result rounded once (MULTIPLY, LOG_SUM and LOG_SUM_EXP: within a
// hundredth of that); integers wrap.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace dmlop {

enum class ReduceFunction : uint8_t {  // values as in DirectML.h
  kArgMax,
  kArgMin,
  kAverage,
  kL1,
  kL2,
  kLogSum,
  kLogSumExp,
  kMax,
  kMin,
  kMultiply,
  kSum,
  kSumSquare,
};

inline constexpr std::array<std::string_view, 12> kReduceFunctionNames = {  // indexed by value
    "ARGMAX",      "ARGMIN", "AVERAGE", "L1",       "L2",  "LOG_SUM",
    "LOG_SUM_EXP", "MAX",    "MIN",     "MULTIPLY", "SUM", "SUM_SQUARE"};

inline std::string_view Name(ReduceFunction function) {
  return kReduceFunctionNames[static_cast<size_t>(function)];
}

// The parameters of a reduction.
struct ReductionCall {
  ReduceFunction function;
  const std::vector<uint32_t>& axes;
  bool takes_last = false;  // ARGMAX and ARGMIN: the last of equals, even if all are NaN
};

inline bool GivesIndex(ReduceFunction function) {
  return function == ReduceFunction::kArgMax || function == ReduceFunction::kArgMin;
}

}  // namespace dmlop
