// SPDX-License-Identifier: Apache-2.0
// The values of fields of transcendental operators that each level allows, besides types and ranks.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "core/ops/operator.h"
#include "tests/support/desc.h"

namespace dmlop {
namespace {

TensorDesc Tensor(DataType type) {
  TensorDesc desc;
  desc.data_type = type;
  desc.sizes = {1, 1, 1, 2};
  return desc;
}

void ExpectMinimum(OperatorDesc desc, const std::string& level) {
  Complete(desc);
  EXPECT_EQ(ToString(MinimumFeatureLevel(desc)), level);
  for (const FeatureLevel one : FeatureLevels()) {
    Diagnostics diagnostics;
    Check(desc, one, diagnostics);
    EXPECT_EQ(diagnostics.has_errors(), one < MinimumFeatureLevel(desc)) << ToString(one);
  }
}

TEST(LevelRules, FieldsMayNeedALaterLevel) {
  const std::tuple<DataType, DataType, std::string> powers[] = {
      {DataType::kFloat32, DataType::kFloat32, "1_0"},
      {DataType::kFloat32, DataType::kFloat16, "3_0"},
      {DataType::kFloat16, DataType::kInt8, "3_0"},
      {DataType::kUint8, DataType::kUint8, "3_0"}};
  for (const auto& [type, exponent_type, level] : powers) {
    OperatorDesc desc = OperatorNamed("ELEMENT_WISE_POW");
    Set(desc, "InputTensor", Tensor(type));
    Set(desc, "ExponentTensor", Tensor(exponent_type));
    ExpectMinimum(desc, level);
  }
  const std::pair<float, std::string> softplus[] = {
      {1.0f, "1_0"}, {7.0f, "1_0"}, {0.5f, "6_4"}, {-1.0f, "6_4"}, {NAN, "6_4"}};
  for (const auto& [steepness, level] : softplus) {
    OperatorDesc desc = OperatorNamed("ACTIVATION_SOFTPLUS");
    Set(desc, "InputTensor", Tensor(DataType::kFloat32));
    Set(desc, "Steepness", steepness);
    ExpectMinimum(desc, level);
  }
}

}  // namespace
}  // namespace dmlop
