// The support tables of transcendental operators, in the shorthand of the reference page, and what
// their fields may be at which level.

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

#include "core/ops/operator.h"
#include "core/ops/support_check.h"
#include "tests/support/desc.h"

namespace dmlop {
namespace {

struct PageRow {
  std::string operators;
  std::string rows;  // level, ranks, types; "f" is FLOAT32 and FLOAT16, "i8" INT8 and UINT8
};

const PageRow kPage[] = {
    {"ELEMENT_WISE_ACOS ELEMENT_WISE_ASIN ELEMENT_WISE_ATAN ELEMENT_WISE_COS ELEMENT_WISE_EXP "
     "ELEMENT_WISE_LOG ELEMENT_WISE_SIN ELEMENT_WISE_TAN",
     "1_0 4-4 f; 3_0 1-8 f"},
    {"ELEMENT_WISE_ACOSH ELEMENT_WISE_ASINH ELEMENT_WISE_ATANH ELEMENT_WISE_COSH ELEMENT_WISE_ERF "
     "ELEMENT_WISE_SINH ELEMENT_WISE_TANH",
     "2_0 4-4 f; 3_0 1-8 f"},
    {"ELEMENT_WISE_POW ELEMENT_WISE_CONSTANT_POW", "1_0 4-4 f; 3_0 1-8 f i32 i16 i8"},
    {"ELEMENT_WISE_ATAN_YX", "3_1 1-8 f"},
    {"ACTIVATION_ELU ACTIVATION_PARAMETRIC_SOFTPLUS ACTIVATION_SCALED_ELU ACTIVATION_SCALED_TANH "
     "ACTIVATION_SIGMOID ACTIVATION_SOFTPLUS ACTIVATION_TANH",
     "1_0 4-4 f; 2_0 4-5 f; 3_0 1-8 f"},
    {"ACTIVATION_CELU", "3_0 1-8 f"},
    {"ACTIVATION_GELU", "5_1 1-8 f"},
    {"ACTIVATION_SWISH", "6_2 1-8 f"},
};

std::string Shorthand(const SupportRow& row) {
  const std::pair<const char*, DataTypeSet> groups[] = {{"f", types::kFloats},
                                                        {"i64", types::kInt64s},
                                                        {"i32", types::kInt32s},
                                                        {"i16", types::kInt16s},
                                                        {"i8", types::kInt8s}};
  std::ostringstream text;
  text << ToString(row.since) << " " << row.min_rank << "-" << row.max_rank;
  const std::string all = ToString(row.TypesOf(TypeVariable::kT));
  DataTypeSet named;
  for (const auto& [name, set] : groups) {
    if (ToString(row.TypesOf(TypeVariable::kT) | set) != all) continue;
    text << " " << name;
    named = named | set;
  }
  if (ToString(named) != all) text << " and others";
  return text.str();
}

TEST(TranscendentalSupport, IsThatOfThePage) {
  for (const PageRow& page : kPage) {
    std::istringstream names(page.operators);
    for (std::string name; names >> name;) {
      const OperatorInfo* info = FindOperator(name);
      ASSERT_NE(info, nullptr) << name;
      ASSERT_EQ(info->support.size(), 1u) << name;
      std::string rows;
      for (const SupportRow& row : info->support[0].rows) {
        rows += (rows.empty() ? "" : "; ") + Shorthand(row);
      }
      EXPECT_EQ(rows, page.rows) << name;
      EXPECT_TRUE(info->in_place) << name;
      EXPECT_EQ(info->fusable, name.starts_with("ACTIVATION_") && name != "ACTIVATION_SWISH")
          << name;
    }
  }
}

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

TEST(TranscendentalSupport, FieldsMayNeedALaterLevel) {
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
