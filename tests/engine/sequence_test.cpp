// SPDX-License-Identifier: Apache-2.0
// Values that depend only on their place.

#include "core/engine/element_wise/loop.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <vector>

#include "tests/reference/element.h"
#include "tests/reference/element_wise.h"
#include "tests/support/random.h"
#include "tests/support/random_tensor.h"
#include "tests/support/settings.h"

namespace dmlop {
namespace {

using enum DataType;
using enum ElementWiseFunction;

// DxDispatch's example, dml_fill_value_sequence.json.
TEST(Sequence, HasTheValuesOfTheExample) {
  std::vector<float> values(5);
  const ElementParameters parameters{{double{3.2f}, double{1.5f}}, {}};
  FillSequence(parameters, 0, {5, 5, 5, 1},
               {reinterpret_cast<std::byte*>(values.data()), kFloat32, PackedLayout({1, 1, 1, 5})});
  const uint32_t expected[] = {0x404CCCCD, 0x40966666, 0x40C66666, 0x40F66666, 0x41133333};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(std::bit_cast<uint32_t>(values[i]), expected[i]);
}

TEST(Sequence, IsInRowMajorOrderInAnyLayout) {
  const SettingsGuard before;
  ElementParameters parameters{{double{0.1f}, double{-0.7f}}, {-5, 3}};
  for (int number = 0; number < ShareOf(400); ++number) {
    SCOPED_TRACE(CaseTrace(number));
    Engine engine = CaseEngine(number);
    SetThreadCount(UniformInt(engine, 1, 4));
    const DataType type = OneOf(engine, std::vector{kFloat32, kFloat16, kUint8, kInt16, kInt64});
    const Dims sizes = OneIn(engine, 10) ? Dims{300, 700} : RandomSizes(engine, 4, 3000);
    TestTensor output = RandomOutput(engine, type, sizes);
    FillSequence(parameters, 7, PackedStrides(sizes), output.mutable_view());
    int64_t place = 7;
    reference::ForEachIndex(sizes, [&](const Dims& index) {
      const double k = static_cast<double>(place);
      const reference::StoredElement element =
          IsFloat(type) ? reference::StoredElement{kFloat64, std::bit_cast<uint64_t>(k)}
                        : reference::StoredElement{kUint64, static_cast<uint64_t>(place)};
      ASSERT_EQ(reference::BitsAt(output.view(), index),
                reference::ElementOf({kSequence, parameters, {}}, {&element, 1}, type));
      ++place;
    });
    ASSERT_TRUE(output.GuardsAreIntact());
  }
}

}  // namespace
}  // namespace dmlop
