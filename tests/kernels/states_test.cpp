// SPDX-License-Identifier: Apache-2.0
// States of recurrent cells are exact and rounded once, on every instruction set.

#include <gtest/gtest.h>

#include <vector>

#include "core/exact/double_double.h"
#include "core/exact/rounding.h"
#include "core/kernels/recurrent/states.h"
#include "core/tensor/element.h"
#include "tests/kernels/kernel_cases.h"

namespace dmlop {
namespace {

class StatesOnIsa : public OnIsa {};

template <typename T>
void ExpectRoundedStates(Engine& engine, const FloatFamily& family, int64_t count) {
  const auto forget = DrawRow<float>(family, engine, count);
  const auto input = DrawRow<float>(family, engine, count);
  const auto added = DrawRow<float>(family, engine, count);
  const auto before = DrawRow<T>(family, engine, count);
  std::vector<T> memory = before, products = before;
  std::vector<float> kept = forget;
  StateKernelsFor<T>().mix(count, kept.data(), input.data(), added.data(), memory.data());
  StateKernelsFor<T>().multiply(count, forget.data(), input.data(), products.data());
  for (size_t i = 0; i < memory.size(); ++i) {
    const double f = forget[i], x = input[i], a = added[i];
    const HeadTail sum = TwoSum(f * AsDouble(before[i]), x * a);
    ASSERT_EQ(ElementBits(memory[i]), ElementBits(RoundOnce<T>(sum.head, sum.tail)))
        << f << " * " << AsDouble(before[i]) << " + " << x << " * " << a;
    ASSERT_EQ(ElementBits(kept[i]), ElementBits(static_cast<float>(AsDouble(memory[i]))));
    ASSERT_EQ(ElementBits(products[i]), ElementBits(RoundOnce<T>(f * x))) << f << " * " << x;
  }
}

TEST_P(StatesOnIsa, AreRoundedOnce) {
  ForEachRow([](Engine& engine, const FloatFamily& family, int64_t count) {
    ExpectRoundedStates<float>(engine, family, count);
    ExpectRoundedStates<Half>(engine, family, count);
  });
}

// (1 + 2^-12) ^ 2 is halfway between two FLOAT32 numbers, and a sum in FLOAT64 does not see 2^-60.
TEST_P(StatesOnIsa, AreNotRoundedTwice) {
  const float factor = 1 + 0x1p-12f, below = 1 + 0x1p-11f, above = below + 0x1p-23f;
  for (const float nudge : {0x1p-60f, -0x1p-60f}) {
    const std::vector<float> input(9, 1), added(9, nudge);
    std::vector<float> forget(9, factor), memory = forget;
    StateKernelsFor<float>().mix(9, forget.data(), input.data(), added.data(), memory.data());
    EXPECT_EQ(memory, std::vector<float>(9, nudge > 0 ? above : below));
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, StatesOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

}  // namespace
}  // namespace dmlop
