// x * Scale + Bias on every instruction set, around the widths of their vectors.

#include "core/kernels/scale_bias.h"

#include <gtest/gtest.h>

#include <string>

#include "core/kernels/isa.h"
#include "core/ops/support.h"
#include "tests/support/operator_call.h"
#include "tests/support/random_calls.h"
#include "tests/support/random_tensor.h"

namespace dmlop {
namespace {

const ScaleBias kFactors[] = {{1.0f, 0.0f},           {-1.0f, 0.0f},         {3.0f, -0.1f},
                              {0x1p-140f, 0x1p-149f}, {0x1p100f, -0x1p127f}, {1.5f, 65504.0f}};

OperatorCall CallFor(Engine& engine, DataType type, const ScaleBias& factors, int64_t length) {
  TestTensor input(type, PackedLayout({length}), length % 3);
  FillRandomly(engine, input);
  IdentityDesc desc;
  desc.scale_bias = factors;
  return MakeCall(desc, {input}, {TestTensor(type, PackedLayout({length}), length % 5)});
}

class ScaleBiasOnIsa : public testing::TestWithParam<std::string_view> {
 protected:
  ~ScaleBiasOnIsa() override { SelectIsa(isa_before_); }

  std::string_view isa_before_ = CurrentIsa();
};

// The reference has one answer for every element, so what agrees with it agrees on every set.
TEST_P(ScaleBiasOnIsa, AgreesWithReference) {
  ASSERT_TRUE(SelectIsa(GetParam()));
  int number = 0;
  for (const DataType type : TypesOf(types::kUpTo32)) {
    for (const ScaleBias& factors : kFactors) {
      for (int64_t length = 1; length < 70; ++length) {
        SCOPED_TRACE(CaseTrace(number));
        Engine engine = CaseEngine(number++);
        OperatorCall call = CallFor(engine, type, factors, length);
        ASSERT_TRUE(RunsLikeReference(call));
      }
    }
  }
}

std::string IsaName(const testing::TestParamInfo<std::string_view>& info) {
  return std::string(info.param);
}

INSTANTIATE_TEST_SUITE_P(Isas, ScaleBiasOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

TEST(ScaleBias, RowOfNothingTouchesNothing) {
  for (const DataType type : TypesOf(types::kUpTo32)) {
    uint64_t memory = 42;
    std::byte* to = reinterpret_cast<std::byte*>(&memory);
    ScaleBiasFor(type)({2.0f, 1.0f}, CopyTile{1, 0, 0, 1, 0, 1}, to, to);
    EXPECT_EQ(memory, 42u);
  }
}

}  // namespace
}  // namespace dmlop
