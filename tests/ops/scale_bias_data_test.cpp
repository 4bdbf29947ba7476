// SPDX-License-Identifier: Apache-2.0
// x * Scale + Bias where a second rounding, or one that comes too early, would show.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/element.h"
#include "tests/support/desc.h"
#include "tests/support/float_families.h"
#include "tests/support/operator_call.h"
#include "tests/support/settings.h"

namespace dmlop {
namespace {

// --- floats --------------------------------------------------------------------------------------

// Factors for which x * scale + bias is a tie of T, or nearly a tie, for one x.
template <typename T>
struct Trap {
  T x;
  ScaleBias factors;
};

// The product is a tie, and the bias is negligible.
template <typename T>
Trap<T> ProductIsTie(Engine& engine) {
  const int small = 2 * UniformInt(engine, 1, 100) + 1;
  const int from = (1 << Format<T>::kPrecision) / small + 1;
  const int large = UniformInt(engine, from, 2 * from - 4) | 1;
  const int exponent = UniformInt(engine, Format<T>::kLeastExponent + 26, 0);
  const double tie = std::ldexp(small * large, exponent);
  const double biases[] = {0, 0x1p-149, std::ldexp(tie, -UniformInt(engine, 20, 100))};
  const double bias = WithRandomSign(engine, OneOf(engine, biases));
  const double scale = std::ldexp(RandomSign(engine) * small, exponent);
  return {FromDouble<T>(large), {static_cast<float>(scale), static_cast<float>(bias)}};
}

// The bias has one bit more than T (FLOAT16), or the product is half a unit in its last place
// (FLOAT32), or slightly more or less.
template <typename T>
Trap<T> SumIsTie(Engine& engine) {
  const double number = TowardZero<T>(RandomMidpoint<T>(engine));
  const double half = std::ldexp(0.5, static_cast<int>(LastPlace<T>(Real(number))));
  const int power = UniformInt(engine, 0, 14);
  const double last_place = std::ldexp(1.0, 1 - Format<float>::kPrecision);
  const double scale =
      std::ldexp(1 + UniformInt(engine, -1, 1) * last_place, std::ilogb(half) - power);
  return {FromDouble<T>(RandomSign(engine) * std::ldexp(1.0, power)),
          {static_cast<float>(scale), static_cast<float>(RandomSign(engine) * number)}};
}

// The product nearly cancels the bias.
template <typename T>
Trap<T> SumCancels(Engine& engine) {
  const double x = ToDouble(FromDouble<T>(Uniform(engine, 1, 2)));
  const float scale = static_cast<float>(Uniform(engine, 1, 2));
  return {FromDouble<T>(x), {scale, static_cast<float>(-x * static_cast<double>(scale))}};
}

// Puts the trap at one place in a row, so that it falls into vectors or the remainder.
template <typename T>
OperatorCall CallFor(Engine& engine, DataType type, const Trap<T>& trap) {
  const Layout layout = PackedLayout({UniformInt(engine, 1, 40)});
  TestTensor input(type, layout, UniformInt(engine, 0, 3));
  const int at = UniformInt(engine, 0, static_cast<int>(layout.sizes[0]) - 1);
  for (int64_t i = 0; i < layout.sizes[0]; ++i) {
    const bool near = i != at && OneIn(engine, 2);
    const uint64_t bits = reference::ToBits(trap.x);
    reference::SetBitsAt(input.mutable_view(), {i},
                         near               ? bits + engine() % 8
                         : OneIn(engine, 4) ? engine()
                                            : bits);
  }
  OperatorDesc desc = OperatorNamed("ELEMENT_WISE_IDENTITY");
  Set(desc, "ScaleBias", trap.factors);
  return MakeCall(desc, {input}, {TestTensor(type, layout, UniformInt(engine, 0, 3))});
}

void ExpectReferenceOnEveryIsa(const OperatorCall& fresh) {
  const SettingsGuard guard;
  for (const std::string_view isa : SupportedIsas()) {
    SelectIsa(isa);
    OperatorCall call = fresh;
    ASSERT_TRUE(RunsLikeReference(call)) << isa;
  }
}

template <typename T>
void SpringTraps(DataType type) {
  int number = 0;
  for (const auto draw : {ProductIsTie<T>, SumIsTie<T>, SumCancels<T>}) {
    for (int i = 0; i < 1000; ++i) {
      SCOPED_TRACE(CaseTrace(number));
      Engine engine = CaseEngine(number++);
      const Trap<T> trap = draw(engine);
      ASSERT_NO_FATAL_FAILURE(ExpectReferenceOnEveryIsa(CallFor(engine, type, trap)));
    }
  }
}

TEST(ScaleBiasData, Float32IsRoundedOnce) {
  SpringTraps<float>(DataType::kFloat32);
}

TEST(ScaleBiasData, Float16IsRoundedOnce) {
  SpringTraps<Half>(DataType::kFloat16);
}

// All FLOAT16 values.
TEST(ScaleBiasData, EveryFloat16) {
  TestTensor input(DataType::kFloat16, PackedLayout({1 << 16}));
  for (int64_t i = 0; i < 1 << 16; ++i) {
    reference::SetBitsAt(input.mutable_view(), {i}, static_cast<uint64_t>(i));
  }
  for (const ScaleBias& factors :
       {ScaleBias{1.0f, 0x1p-24f}, ScaleBias{1.00048828f, 0x1p-149f}, ScaleBias{3.0f, -1e-7f}}) {
    OperatorDesc desc = OperatorNamed("ELEMENT_WISE_IDENTITY");
    Set(desc, "ScaleBias", factors);
    ExpectReferenceOnEveryIsa(
        MakeCall(desc, {input}, {TestTensor(DataType::kFloat16, input.layout())}));
  }
}

// --- integers ------------------------------------------------------------------------------------

// The x for which x * scale is a multiple of 2^30, less one.
int32_t JustBelowAMultiple(uint32_t scale) {
  uint32_t inverse = scale;  // correct modulo 2^3; each turn doubles the number of correct bits
  for (int bits = 3; bits < 30; bits *= 2) inverse *= 2 - scale * inverse;
  return static_cast<int32_t>(-inverse % (1u << 30));
}

// The sum is 1 if the product is rounded first, and otherwise just below 1.
TEST(ScaleBiasData, ProductOfIntegerIsRoundedBeforeTheSum) {
  int unlike = 0;
  for (int number = 0; number < 1000; ++number) {
    SCOPED_TRACE(CaseTrace(number));
    Engine engine = CaseEngine(number);
    const int integer = UniformInt(engine, 1 << 23, (1 << 24) - 1) | 1;
    const int32_t x = JustBelowAMultiple(static_cast<uint32_t>(integer));
    const double scale = std::ldexp(integer, -30);
    const double bias = 1 - std::round(x * scale);
    unlike += std::trunc(std::fma(x, scale, bias)) != std::trunc(x * scale + bias);

    TestTensor input(DataType::kInt32, PackedLayout({37}));
    for (int64_t i = 0; i < 37; ++i) {
      reference::SetBitsAt(input.mutable_view(), {i}, reference::ToBits(x));
    }
    OperatorDesc desc = OperatorNamed("ELEMENT_WISE_IDENTITY");
    Set(desc, "ScaleBias", ScaleBias{static_cast<float>(scale), static_cast<float>(bias)});
    const TestTensor output(DataType::kInt32, input.layout());
    ASSERT_NO_FATAL_FAILURE(ExpectReferenceOnEveryIsa(MakeCall(desc, {input}, {output})));
  }
  EXPECT_GT(unlike, 0);
}

}  // namespace
}  // namespace dmlop
