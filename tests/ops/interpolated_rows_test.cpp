// SPDX-License-Identifier: Apache-2.0
// Linear interpolation along rows of more results than a vector has: engine against reference.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/tensor/element.h"
#include "tests/reference/element.h"
#include "tests/support/desc.h"
#include "tests/support/on_isa.h"
#include "tests/support/operator_call.h"
#include "tests/support/random.h"
#include "tests/support/random_tensor.h"

namespace dmlop {
namespace {

constexpr int64_t kRows = 3;

// Sums of a few quarters are often ties; other values may have any exponents.
TestTensor InputOf(Engine& engine, DataType type, int64_t width, bool has_quarters) {
  TestTensor input(type, PackedLayout({1, 1, kRows, width}), 1);
  FillRandomly(engine, input);
  if (!has_quarters) return input;
  reference::ForEachIndex(input.view().layout.sizes, [&](const Dims& index) {
    const float ulps = type == DataType::kFloat32 ? 0x1p-23F : 0x1p-10F;
    const float value = 1 + ulps * static_cast<float>(UniformInt(engine, 0, 3));
    const ElementBytes bytes = ConvertElement(OneIn(engine, 2) ? value : -value, type);
    std::memcpy(reference::Address(input.mutable_view(), index), bytes.data(), ByteWidth(type));
  });
  return input;
}

OperatorCall CallOf(TestTensor input, float scale, float offset) {
  Dims sizes = input.view().layout.sizes;
  for (size_t d = 2; d < 4; ++d) {
    sizes[d] = static_cast<int64_t>(std::floor(static_cast<float>(sizes[d]) * scale));
  }
  OperatorDesc desc = OperatorNamed("RESAMPLE1");
  Set(desc, "InterpolationMode", uint32_t{1});  // LINEAR
  Set(desc, "Scales", std::vector<float>{1, 1, scale, scale});
  Set(desc, "InputPixelOffsets", std::vector<float>{0.5F, 0.5F, 0.5F, offset});
  Set(desc, "OutputPixelOffsets", std::vector<float>{-0.5F, -0.5F, -0.5F, -0.5F});
  const DataType type = input.view().type;
  return MakeCall(desc, {std::move(input)}, {TestTensor(type, PackedLayout(sizes))});
}

class InterpolatedRows : public OnIsa {};

TEST_P(InterpolatedRows, MatchReference) {
  Engine engine = TestEngine();
  for (const float scale : {0.5F, 1.25F, 1.5F, 2.0F, 3.0F}) {
    for (const int64_t width : {7, 16, 21, 38}) {
      for (const float offset : {0.5F, 2.5F}) {
        for (const DataType type : {DataType::kFloat32, DataType::kFloat16}) {
          for (const bool has_quarters : {false, true}) {
            OperatorCall call = CallOf(InputOf(engine, type, width, has_quarters), scale, offset);
            ASSERT_TRUE(RunsLikeReference(call)) << ToString(call);
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, InterpolatedRows, testing::ValuesIn(SupportedIsas()), IsaName);

}  // namespace
}  // namespace dmlop
