// SPDX-License-Identifier: Apache-2.0
// Random comparisons: the library against the definition, in every layout and with any threads.

#include <gtest/gtest.h>

#include "core/tensor/element.h"
#include "tests/compare/naive_compare.h"
#include "tests/compare/tensor_of.h"
#include "tests/support/random_tensor.h"
#include "tests/support/settings.h"

namespace dmlop {
namespace {

const ComparisonDetails kDetails = {.most_listed = 7};

constexpr int kCasesOfEachType = 150;

// Bits near others, so that ULP errors of all sizes occur.
uint64_t Disturbed(Engine& engine, uint64_t bits) {
  const uint64_t step = engine() >> UniformInt(engine, 0, 63);
  return OneIn(engine, 2) ? bits + step : bits - step;
}

// A tensor that mostly equals `expected`, in its own layout.
TestTensor RandomActual(Engine& engine, const ConstTensorView& expected) {
  TestTensor actual = RandomOutput(engine, expected.type, expected.layout.sizes);
  const int period = UniformInt(engine, 1, 20);
  FillRandomly(engine, actual);
  reference::ForEachIndex(expected.layout.sizes, [&](const Dims& index) {
    if (OneIn(engine, period)) return;
    const uint64_t bits = reference::BitsAt(expected, index);
    reference::SetBitsAt(actual.mutable_view(), index,
                         OneIn(engine, period) ? Disturbed(engine, bits) : bits);
  });
  return actual;
}

Tolerance RandomTolerance(Engine& engine) {
  const double sizes[] = {1e-300, 1e-7, 1e-3, 0.5, 1.0, 100.0, 1e10, 1e300};
  Tolerance tolerance;
  if (OneIn(engine, 3)) tolerance.absolute = OneOf(engine, sizes);
  if (OneIn(engine, 3)) tolerance.relative = OneOf(engine, sizes);
  if (OneIn(engine, 3)) tolerance.ulp = engine() >> UniformInt(engine, 0, 63);
  tolerance.bits = OneIn(engine, 8);
  return tolerance;
}

TestTensor Packed(const ConstTensorView& view) {
  return CopyInto(PackedLayout(view.layout.sizes), view);
}

class CompareProperty : public testing::TestWithParam<DataType> {};

TEST_P(CompareProperty, AgreesWithDefinitionInAnyLayout) {
  for (int i = 0; i < kCasesOfEachType; ++i) {
    SCOPED_TRACE(CaseTrace(i));
    Engine engine = CaseEngine(i);
    const size_t rank = static_cast<size_t>(UniformInt(engine, 1, 5));
    const TestTensor expected = RandomInput(engine, GetParam(), RandomSizes(engine, rank, 9000));
    const TestTensor actual = RandomActual(engine, expected.view());
    const Tolerance tolerance = RandomTolerance(engine);
    const Comparison truth = NaiveCompare(actual.view(), expected.view(), tolerance);
    ExpectSame(Compare(actual.view(), expected.view(), tolerance, kDetails), truth);
    ExpectSame(
        Compare(Packed(actual.view()).view(), Packed(expected.view()).view(), tolerance, kDetails),
        truth);
    if (HasFailure()) break;
  }
}

// Clears the highest bit of a float's exponent, so that the number and its neighbours are finite.
uint64_t FiniteBits(DataType type, uint64_t bits) {
  const bool is_float =
      type == DataType::kFloat16 || type == DataType::kFloat32 || type == DataType::kFloat64;
  return is_float ? bits & ~(uint64_t{1} << (8 * ByteWidth(type) - 2)) : bits;
}

TEST_P(CompareProperty, AgreesWithDefinitionOnEachInstructionSetWhereAllIsFinite) {
  for (int i = 0; i < kCasesOfEachType / 5; ++i) {
    SCOPED_TRACE(CaseTrace(i));
    Engine engine = CaseEngine(i);
    const Dims sizes = {UniformInt(engine, 1, 9000)};
    TestTensor expected(GetParam(), PackedLayout(sizes));
    FillRandomly(engine, expected);
    TestTensor actual = expected;
    const int period = UniformInt(engine, 1, 300);
    const int shift = UniformInt(engine, 64 - 4 * static_cast<int>(ByteWidth(GetParam())), 63);
    reference::ForEachIndex(sizes, [&](const Dims& index) {
      const uint64_t bits = FiniteBits(GetParam(), reference::BitsAt(expected.view(), index));
      const uint64_t step = OneIn(engine, period) ? engine() >> shift : 0;
      reference::SetBitsAt(expected.mutable_view(), index, bits);
      reference::SetBitsAt(actual.mutable_view(), index, bits + step);
    });
    const Tolerance tolerance = RandomTolerance(engine);
    const Comparison truth = NaiveCompare(actual.view(), expected.view(), tolerance);
    const SettingsGuard settings_before;
    for (const std::string_view isa : SupportedIsas()) {
      SCOPED_TRACE(isa);
      SelectIsa(isa);
      ExpectSame(Compare(actual.view(), expected.view(), tolerance, kDetails), truth);
    }
    if (HasFailure()) break;
  }
}

// The values rounded to another float type; some are disturbed.
TestTensor Near(Engine& engine, DataType type, const ConstTensorView& expected) {
  TestTensor near = RandomOutput(engine, type, expected.layout.sizes);
  reference::ForEachIndex(expected.layout.sizes, [&](const Dims& index) {
    double value = 0;
    VisitDataType(AllTypes{}, expected.type, [&]<typename E>() {
      value = AsDouble(reference::FromBits<E>(reference::BitsAt(expected, index)));
    });
    VisitDataType(Join<TypeList<double>, Floats>{}, type, [&]<typename T>() {
      const uint64_t bits = reference::ToBits(FromDouble<T>(value));
      reference::SetBitsAt(near.mutable_view(), index,
                           OneIn(engine, 3) ? Disturbed(engine, bits) : bits);
    });
  });
  return near;
}

TEST_P(CompareProperty, AgreesWithDefinitionBesideOtherFloats) {
  if (!IsFloat(GetParam())) return;
  constexpr DataType kFloats[] = {DataType::kFloat64, DataType::kFloat32, DataType::kFloat16};
  for (int i = 0; i < kCasesOfEachType / 5; ++i) {
    SCOPED_TRACE(CaseTrace(i));
    Engine engine = CaseEngine(i);
    const Dims sizes = RandomSizes(engine, 3, 2000);
    const TestTensor expected = RandomInput(engine, OneOf(engine, kFloats), sizes);
    const TestTensor actual = Near(engine, GetParam(), expected.view());
    const Tolerance tolerance = RandomTolerance(engine);
    ExpectSame(Compare(actual.view(), expected.view(), tolerance, kDetails),
               NaiveCompare(actual.view(), expected.view(), tolerance));
    if (HasFailure()) break;
  }
}

TEST_P(CompareProperty, DoesNotDependOnThreads) {
  SCOPED_TRACE(CaseTrace(0));
  Engine engine = CaseEngine(0);
  const Dims sizes = {3, 500, 217};
  TestTensor expected(GetParam(), PackedLayout(sizes));
  FillRandomly(engine, expected);
  const TestTensor actual = RandomActual(engine, expected.view());
  const TestTensor columns = CopyInto({sizes, FortranStrides(sizes)}, expected.view());
  const Comparison truth = NaiveCompare(actual.view(), expected.view(), {});
  ForEachThreadCount([&](int count) {
    SCOPED_TRACE(count);
    ExpectSame(Compare(actual.view(), expected.view(), {}, kDetails), truth);
    ExpectSame(Compare(actual.view(), columns.view(), {}, kDetails), truth);
  });
}

INSTANTIATE_TEST_SUITE_P(Types, CompareProperty, testing::ValuesIn(TypesOf(AllTypes())), TypeName);

}  // namespace
}  // namespace dmlop
