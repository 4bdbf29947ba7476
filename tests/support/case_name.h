// SPDX-License-Identifier: Apache-2.0
// Names the cases of a parameterized test after their `name` members.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace dmlop {

template <typename Case>
std::string CaseName(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

}  // namespace dmlop
