// SPDX-License-Identifier: Apache-2.0
// The functions of REDUCE as parameters of tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/exact/functions.h"

namespace dmlop {

inline std::vector<ReduceFunction> AllReduceFunctions() {
  std::vector<ReduceFunction> functions;
  for (size_t i = 0; i < kReduceFunctionNames.size(); ++i) {
    functions.push_back(static_cast<ReduceFunction>(i));
  }
  return functions;
}

inline std::string FunctionName(const testing::TestParamInfo<ReduceFunction>& info) {
  return std::string(Name(info.param));
}

}  // namespace dmlop
