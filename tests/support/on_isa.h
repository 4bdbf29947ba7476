// SPDX-License-Identifier: Apache-2.0
// Tests that run once with every instruction set:
//
//  class CopyOnIsa : public OnIsa {};
//  TEST_P(CopyOnIsa, ...)
//  INSTANTIATE_TEST_SUITE_P(Isas, CopyOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/settings.h"

namespace dmlop {

// Runs a test with the instruction set that is its parameter.
class OnIsa : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override { ASSERT_TRUE(SelectIsa(GetParam())); }

 private:
  SettingsGuard settings_before_;
};

inline std::string IsaName(const testing::TestParamInfo<std::string_view>& info) {
  return std::string(info.param);
}

}  // namespace dmlop
