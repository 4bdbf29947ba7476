// SPDX-License-Identifier: Apache-2.0
// Convolutions with one output channel for each group, whose windows share rows of the input:
// engine against reference, on every instruction set.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/reference/element.h"
#include "tests/support/case_name.h"
#include "tests/support/desc.h"
#include "tests/support/operator_call.h"
#include "tests/support/random.h"
#include "tests/support/settings.h"

namespace dmlop {
namespace {

// All spatial dimensions have the same numbers.
struct Form {
  std::string name;
  Dims input, filter, output;
  uint32_t stride, dilation, padding, groups, output_padding = 0;
  bool is_forward = true;

  friend void PrintTo(const Form& one, std::ostream* out) { *out << one.name; }
};

const Form kForms[] = {
    {"Planes", {2, 3, 9, 11}, {3, 1, 3, 3}, {2, 3, 9, 11}, 1, 1, 1, 3},
    {"Strides", {1, 2, 17, 40}, {2, 1, 3, 3}, {1, 2, 5, 13}, 3, 1, 0, 2},
    {"LongStrides", {1, 2, 40, 31}, {2, 1, 3, 3}, {1, 2, 8, 7}, 5, 1, 1, 2},
    {"RowsFarApart", {1, 2, 250}, {2, 1, 3}, {1, 2, 85}, 2, 70, 30, 2},
    {"ManyTaps", {1, 2, 700}, {2, 1, 301}, {1, 2, 700}, 1, 1, 150, 2},
    {"ManyChannels", {2, 70, 5, 6}, {1, 70, 2, 2}, {2, 1, 6, 7}, 1, 1, 1, 1},
    {"ManyTapsAndChannels", {1, 3, 400}, {1, 3, 300}, {1, 1, 101}, 1, 1, 0, 1},
    {"MostlyPadding", {1, 2, 3, 4}, {2, 1, 3, 3}, {1, 2, 19, 20}, 1, 1, 9, 2},
    {"Volumes", {1, 2, 5, 6, 30}, {2, 1, 3, 3, 3}, {1, 2, 5, 6, 30}, 1, 1, 1, 2},
    {"Backward", {1, 2, 9, 9}, {2, 1, 3, 3}, {1, 2, 27, 27}, 3, 2, 1, 2, 0, false},
    {"BackwardWithMore", {1, 2, 5, 9}, {2, 1, 2, 2}, {1, 2, 15, 27}, 3, 1, 0, 2, 1, false},
};

// Finite numbers, of which some cancel, and a few infinities.
TestTensor Numbers(const Dims& sizes, Engine& engine) {
  TestTensor tensor(DataType::kFloat32, PackedLayout(sizes), 1);
  reference::ForEachIndex(sizes, [&](const Dims& index) {
    const auto number = static_cast<float>(static_cast<int>(engine() % 9) - 4);
    const float x = engine() % 200 == 0 ? INFINITY : number * (1 + std::ldexp(1.0f, -20));
    reference::SetBitsAt(tensor.mutable_view(), index, reference::ToBits(x));
  });
  return tensor;
}

OperatorDesc Convolution(const Form& form) {
  const size_t rank = form.input.size() - 2;
  OperatorDesc desc = OperatorNamed("CONVOLUTION");
  Set(desc, "Mode", uint32_t{1});
  Set(desc, "Direction", uint32_t{form.is_forward ? 0u : 1u});
  Set(desc, "Strides", std::vector(rank, form.stride));
  Set(desc, "Dilations", std::vector(rank, form.dilation));
  Set(desc, "StartPadding", std::vector(rank, form.padding));
  Set(desc, "EndPadding", std::vector(rank, form.padding));
  Set(desc, "OutputPadding", std::vector(rank, form.output_padding));
  Set(desc, "GroupCount", form.groups);
  return desc;
}

class SingleChannel : public testing::TestWithParam<Form> {
 protected:
  SettingsGuard guard_;
};

TEST_P(SingleChannel, AgreesWithReference) {
  Engine engine = TestEngine();
  const Form& form = GetParam();
  const TestTensor input = Numbers(form.input, engine), filter = Numbers(form.filter, engine);
  for (const std::string_view isa : SupportedIsas()) {
    ASSERT_TRUE(SelectIsa(isa));
    OperatorCall call =
        MakeCall(Convolution(form), {input, filter}, {Numbers(form.output, engine)});
    EXPECT_TRUE(RunsLikeReference(call)) << isa;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, SingleChannel, testing::ValuesIn(kForms), CaseName<Form>);

}  // namespace
}  // namespace dmlop
