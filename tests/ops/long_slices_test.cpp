// SPDX-License-Identifier: Apache-2.0
// Slices too long to be processed whole, with any threads, strides and instruction sets.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/reference/element.h"
#include "tests/reference/operators.h"
#include "tests/support/case_name.h"
#include "tests/support/desc.h"
#include "tests/support/operator_call.h"
#include "tests/support/settings.h"

namespace dmlop {
namespace {

struct LongCase {
  std::string name;
  OperatorDesc desc;
  Dims sizes;

  friend void PrintTo(const LongCase& one, std::ostream* out) { *out << one.name; }
};

OperatorDesc Along(std::string_view name, std::vector<uint32_t> axes) {
  OperatorDesc desc = OperatorNamed(name);
  Set(desc, "Axes", std::move(axes));
  return desc;
}

OperatorDesc Normalization(std::vector<uint32_t> axes) {
  OperatorDesc desc = Along("MEAN_VARIANCE_NORMALIZATION1", std::move(axes));
  Set(desc, "NormalizeVariance", true);
  Set(desc, "Epsilon", 1e-5f);
  return desc;
}

std::vector<LongCase> LongCases() {
  return {
      {"RowsOfSoftmax", Along("ACTIVATION_SOFTMAX1", {1}), {2, 33001}},
      {"ColumnsOfSoftmax", Along("ACTIVATION_SOFTMAX1", {0}), {33001, 17}},
      {"ColumnsOfLogSoftmax", Along("ACTIVATION_LOG_SOFTMAX1", {0}), {40000, 3}},
      {"JointSlicesOfLogSoftmax", Along("ACTIVATION_LOG_SOFTMAX1", {0, 2}), {7, 2, 6007}},
      {"JointSlicesOfHardmax", Along("ACTIVATION_HARDMAX1", {0, 2}), {7, 2, 6007}},
      {"JointRowsOfNormalization", Normalization({0, 2, 3}), {5, 3, 90, 91}},
      {"WholeSlicesOfNormalization", Normalization({0, 2}), {101, 5, 77}},
  };
}

// Numbers around an offset, with few distinct values.
TestTensor Input(const Layout& layout) {
  TestTensor tensor(DataType::kFloat32, layout, 1);
  uint32_t state = 1;
  reference::ForEachIndex(layout.sizes, [&](const Dims& index) {
    state = state * 1664525 + 1013904223;
    const float x = 3 + static_cast<float>(state >> 16) * 0x1p-14f;
    reference::SetBitsAt(tensor.mutable_view(), index, reference::ToBits(x));
  });
  return tensor;
}

class LongSlices : public testing::TestWithParam<LongCase> {
 protected:
  SettingsGuard guard_;
};

TEST_P(LongSlices, AgreeWithReferenceHereAndThere) {
  const TestTensor input = Input(PackedLayout(GetParam().sizes));
  OperatorCall call = MakeCall(GetParam().desc, {input}, {input});
  call.Run();
  const ConstTensorView view = call.inputs[0].view();
  const int64_t count = input.layout().element_count();
  for (const int64_t k : {int64_t{0}, int64_t{1}, count / 2, count - 1}) {
    const Dims index = IndexOf(GetParam().sizes, k);
    const uint64_t actual = reference::BitsAt(call.outputs[0].view(), index);
    const auto expected = reference::ExpectedAt(call.desc, {&view, 1}, 0, index);
    EXPECT_TRUE(expected.Allows(DataType::kFloat32, actual)) << k;
  }
}

TEST_P(LongSlices, GiveTheSameBits) {
  const Dims& sizes = GetParam().sizes;
  const TestTensor input = Input(PackedLayout(sizes));
  OperatorCall first = MakeCall(GetParam().desc, {input}, {input});
  ASSERT_TRUE(SelectIsa("portable"));
  SetThreadCount(1);
  first.Run();
  const TestTensor turned = Input({sizes, FortranStrides(sizes)});
  for (const std::string_view isa : SupportedIsas()) {
    for (const int threads : {1, 5}) {
      ASSERT_TRUE(SelectIsa(isa));
      SetThreadCount(threads);
      for (const TestTensor* tensor : {&input, &turned}) {
        OperatorCall call = MakeCall(GetParam().desc, {*tensor}, {*tensor});
        call.Run();
        ASSERT_TRUE(HaveSameElements(call.outputs[0], first.outputs[0])) << isa << ' ' << threads;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, LongSlices, testing::ValuesIn(LongCases()), CaseName<LongCase>);

}  // namespace
}  // namespace dmlop
