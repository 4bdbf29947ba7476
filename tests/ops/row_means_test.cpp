// SPDX-License-Identifier: Apache-2.0
// Means of rows are exact before they are rounded, whatever cancels.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/reference/element.h"
#include "tests/support/case_name.h"
#include "tests/support/desc.h"
#include "tests/support/operator_call.h"
#include "tests/support/settings.h"

namespace dmlop {
namespace {

constexpr int64_t kLength = 32;

// `large` and -`large` cancel in a row of zeros, and leave `small`. It lies where a kernel adds it
// to `large`, 16 elements on.
struct CancellingRow {
  std::string name;
  float large, small;
  float mean;

  friend void PrintTo(const CancellingRow& row, std::ostream* out) { *out << row.name; }
};

const CancellingRow kCancellingRows[] = {
    {"Near", 0x1p+20F, 1.0F, 0x1p-5F},
    {"AtTheEndOfDouble", 0x1p+28F, 0x1.000002p+0F, 0x1.000002p-5F},
    {"BeyondTheEndOfDouble", 0x1p+31F, 0x1.000002p+0F, 0x1.000002p-5F},
    {"FarApart", 0x1p+60F, 1.0F, 0x1p-5F},
    {"Subnormal", 1.0F, 0x1p-140F, 0x1p-145F},
    {"OnlySubnormal", 0x1p-130F, 0x1p-140F, 0x1p-145F},
};

class RowMeans : public testing::TestWithParam<CancellingRow> {
 protected:
  SettingsGuard guard_;
};

TEST_P(RowMeans, AreExact) {
  TestTensor input(DataType::kFloat32, PackedLayout({1, kLength}));
  for (int64_t i = 0; i < kLength; ++i) {
    const float x = i == 0    ? GetParam().large
                    : i == 1  ? -GetParam().large
                    : i == 16 ? GetParam().small
                              : 0.0F;
    reference::SetBitsAt(input.mutable_view(), {0, i}, reference::ToBits(x));
  }
  OperatorDesc desc = OperatorNamed("MEAN_VARIANCE_NORMALIZATION1");
  Set(desc, "Axes", std::vector<uint32_t>{1});
  Set(desc, "NormalizeVariance", false);
  Set(desc, "Epsilon", 1e-5F);
  for (const std::string_view isa : SupportedIsas()) {
    ASSERT_TRUE(SelectIsa(isa));
    OperatorCall call = MakeCall(desc, {input}, {input});
    call.Run();
    const uint64_t of_zero = reference::BitsAt(call.outputs[0].view(), {0, 2});
    EXPECT_EQ(of_zero, reference::ToBits(-GetParam().mean)) << isa;
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, RowMeans, testing::ValuesIn(kCancellingRows),
                         CaseName<CancellingRow>);

}  // namespace
}  // namespace dmlop
