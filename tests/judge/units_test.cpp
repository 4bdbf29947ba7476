// SPDX-License-Identifier: Apache-2.0
// Errors in units: whatever the order in which a device adds up FLOAT32 numbers, and whatever the
// numbers, it stays within the bound that is proved; and what is evaluated once for a slice is what
// each element's own formula comes to.

#include "core/units/units.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/fuzz/elements.h"
#include "core/fuzz/field_value.h"
#include "core/ops/fused.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"
#include "core/units/formula_character.h"
#include "core/units/magnitude.h"
#include "tests/support/case_name.h"
#include "tests/support/random.h"
#include "tests/support/random_calls.h"

namespace dmlop {
namespace {

using Numbers = std::span<const float>;

// --- a device ------------------------------------------------------------------------------------

float InOrder(Numbers terms) {
  float sum = 0;
  for (const float term : terms) sum += term;
  return sum;
}

float Reversed(Numbers terms) {
  float sum = 0;
  for (size_t i = terms.size(); i-- > 0;) sum += terms[i];
  return sum;
}

float Pairwise(Numbers terms) {
  if (terms.size() < 2) return terms.empty() ? 0 : terms[0];
  const size_t half = terms.size() / 2;
  return Pairwise(terms.first(half)) + Pairwise(terms.subspan(half));
}

template <size_t kBlock>
float InBlocks(Numbers terms) {
  float sum = 0;
  for (size_t i = 0; i < terms.size(); i += kBlock) {
    sum += InOrder(terms.subspan(i, std::min(kBlock, terms.size() - i)));
  }
  return sum;
}

float InLanes(Numbers terms) {
  float lanes[8] = {};
  for (size_t i = 0; i < terms.size(); ++i) lanes[i % 8] += terms[i];
  return Pairwise(lanes);
}

using Order = float (*)(Numbers terms);
constexpr Order kOrders[] = {InOrder, Reversed, Pairwise, InBlocks<16>, InBlocks<256>, InLanes};

// FLOAT32 in each step.
template <Order kOrder>
struct Device {
  using Value = float;

  static float Element(const ConstTensorView& view, int64_t offset) {
    float element = 0;
    VisitDataType(AllTypes(), view.type, [&]<typename T>() {
      element = static_cast<float>(AsDouble(view.elements<T>()[offset]));
    });
    return element;
  }
  static float Number(double value, const std::optional<Dyadic>&) {
    return static_cast<float>(value);
  }
  static float Function(ElementWiseFunction, std::span<const double>, Numbers) {
    return std::nanf("");
  }
  static float Apply(FormulaOperation operation, Numbers x) {
    using enum FormulaOperation;
    switch (operation) {
      case kSum:
        return kOrder(x);
      case kMean:
        return kOrder(x) / static_cast<float>(x.size());
      case kProduct: {
        float product = 1;
        for (const float factor : x) product *= factor;
        return product;
      }
      case kDifference:
        return x[0] - x[1];
      case kQuotient:
        return x[0] / x[1];
      case kNegative:
        return -x[0];
      case kMagnitude:
        return std::abs(x[0]);
      case kSquare:
        return x[0] * x[0];
      default:
        return x[0];  // roundings, which a device leaves out
    }
  }
};

// --- calls ---------------------------------------------------------------------------------------

std::vector<ConstTensorView> InputsOf(const OperatorCall& call) {
  std::vector<ConstTensorView> views;
  for (const TestTensor& input : call.inputs) views.push_back(input.view());
  return views;
}

double NumberAt(const ConstTensorView& view, const Dims& index) {
  double number = 0;
  VisitDataType(AllTypes(), view.type, [&]<typename T>() {
    number = AsDouble(view.elements<T>()[OffsetOf(view.layout, index)]);
  });
  return number;
}

double RoundedTo(DataType type, float x) {
  return type == DataType::kFloat16 ? AsDouble(ToHalf(double{x})) : double{x};
}

// Some numbers of elements, the first and the last among them.
std::vector<int64_t> SomeOf(int64_t count, Engine& engine) {
  std::vector<int64_t> numbers = {0, count - 1};
  while (std::ssize(numbers) < 12) {
    numbers.push_back(static_cast<int64_t>(engine() % static_cast<uint64_t>(count)));
  }
  return numbers;
}

class Units : public testing::TestWithParam<RandomOperator> {
 protected:
  static constexpr int kCases = 24;

  // Calls check(call, inputs, output, result, engine) for the outputs that are floats.
  template <typename Check>
  void ForEachOutput(Check&& check) {
    for (int i = 0; i < ShareOf(kCases); ++i) {
      SCOPED_TRACE(CaseTrace(i));
      Engine engine = CaseEngine(i);
      OperatorCall call = GetParam().draw(engine);
      if (FusedActivationOf(call.desc) != nullptr) continue;
      call.Run();
      const std::vector<ConstTensorView> inputs = InputsOf(call);
      for (size_t output = 0; output < call.outputs.size(); ++output) {
        const ConstTensorView result = call.outputs[output].view();
        if (!IsFloat(result.type) || result.layout.element_count() == 0) continue;
        check(call, inputs, output, result, engine);
      }
    }
  }
};

template <Order kOrder>
void ExpectWithin(const ErrorUnits& units, const Formula& formula, Formula::Node last,
                  double expected, int64_t element) {
  const float sum = FormulaEvaluation<Device<kOrder>>(formula).At(last);
  const double actual = RoundedTo(units.output_type, sum);
  // S is rounded, too.
  const double allowed = units.AllowedSums(element) * (1 + 0x1p-20);
  EXPECT_LE(units.UnitsOf(element, actual, expected, units.output_type), allowed)
      << actual << " for " << expected << " of element " << element << ", S "
      << units.scale[static_cast<size_t>(element)];
}

TEST_P(Units, OfFloat32SumsInAnyOrderAreWithinTheBound) {
  ForEachOutput([](const OperatorCall& call, InputViews inputs, size_t output,
                   const ConstTensorView& result, Engine& engine) {
    const auto units = ErrorUnitsOf(call.desc, inputs, result, output);
    if (!units || units->bound != ErrorUnits::Bound::kProved) return;
    if (units->unit_type == DataType::kFloat64) return;
    for (const int64_t number : SomeOf(result.layout.element_count(), engine)) {
      const Dims index = IndexOf(result.layout.sizes, number);
      Formula formula(inputs);
      const auto last =
          FormulaOf(call.desc, {output, index, Dims::Filled(index.size(), 1)}, formula);
      ASSERT_TRUE(last);
      const double expected = NumberAt(result, index);
      [&]<size_t... kNumbers>(std::index_sequence<kNumbers...>) {
        (ExpectWithin<kOrders[kNumbers]>(*units, formula, *last, expected, number), ...);
      }
      (std::make_index_sequence<std::size(kOrders)>());
      if (testing::Test::HasFailure()) FAIL() << ToString(call);
    }
  });
}

TEST_P(Units, OfExactResultsAreNone) {
  ForEachOutput([](const OperatorCall& call, InputViews inputs, size_t output,
                   const ConstTensorView& result, Engine& engine) {
    const auto units = ErrorUnitsOf(call.desc, inputs, result, output);
    if (!units) return;
    for (const int64_t number : SomeOf(result.layout.element_count(), engine)) {
      const double r = NumberAt(result, IndexOf(result.layout.sizes, number));
      EXPECT_EQ(units->UnitsOf(number, r, r, result.type), 0);
      EXPECT_GE(units->TermsOf(number), 1);
      EXPECT_GE(units->AllowedSums(number), 0);
    }
  });
}

TEST_P(Units, OfASliceAreThoseOfEachFormula) {
  ForEachOutput([](const OperatorCall& call, InputViews inputs, size_t output,
                   const ConstTensorView& result, Engine& engine) {
    const Dims& sizes = result.layout.sizes;
    const Dims one = Dims::Filled(sizes.size(), 1);
    {
      Formula formula(inputs);
      if (!FormulaOf(call.desc, {output, Dims::Filled(sizes.size(), 0), one}, formula)) return;
    }
    const SizesAndTerms all = EvaluateSizes(call.desc, inputs, sizes, output);
    for (const int64_t number : SomeOf(result.layout.element_count(), engine)) {
      Formula formula(inputs);
      const auto last = FormulaOf(call.desc, {output, IndexOf(sizes, number), one}, formula);
      ASSERT_TRUE(last);
      const Magnitude own = FormulaEvaluation<MagnitudeArithmetic>(formula).At(*last);
      const auto i = static_cast<size_t>(number);
      const double size = std::isnan(own.size) ? std::abs(own.value) : own.size;
      EXPECT_TRUE(all.sizes[i] == size || (std::isnan(all.sizes[i]) && std::isnan(size)))
          << all.sizes[i] << ", " << size << " of element " << number << "\n"
          << ToString(call);
      EXPECT_EQ(all.terms[i], own.terms);
    }
  });
}

// Lists of two elements are made of the same operations as longer ones.
TEST_P(Units, OfAbridgedFormulasAreThoseOfWholeOnes) {
  ForEachOutput([](const OperatorCall& call, InputViews inputs, size_t output,
                   const ConstTensorView& result, Engine& engine) {
    const std::vector<int> unknown(inputs.size(), 0);
    for (const int64_t number : SomeOf(result.layout.element_count(), engine)) {
      const Dims index = IndexOf(result.layout.sizes, number);
      const Region place{output, index, Dims::Filled(index.size(), 1)};
      Formula whole(inputs), abridged(inputs, /*most_listed=*/2);
      const auto last = FormulaOf(call.desc, place, whole);
      const auto last_of_few = FormulaOf(call.desc, place, abridged);
      ASSERT_EQ(last.has_value(), last_of_few.has_value()) << ToString(call);
      if (!last) return;
      const FormulaCharacter own = CharacterOf(whole, *last, unknown);
      const FormulaCharacter of_few = CharacterOf(abridged, *last_of_few, unknown);
      EXPECT_EQ(own.rounds, of_few.rounds) << ToString(call);
      EXPECT_EQ(own.has_function, of_few.has_function) << ToString(call);
      EXPECT_EQ(own.is_polynomial, of_few.is_polynomial) << ToString(call);
      if (!abridged.is_abridged()) {
        EXPECT_EQ(whole.WholeSize(), abridged.WholeSize());
      }
    }
  });
}

// --- coordinates ---------------------------------------------------------------------------------

// Calls change(corner) for all corners of the regions of a call.
template <typename Change>
void ForEachCorner(OperatorCall& call, Change&& change) {
  const std::vector<TensorSlot> slots = TensorSlots(call.desc, TensorRole::kInput);
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].path != "ROITensor") continue;
    ForEachElement(call.inputs[i].mutable_view(), [&](std::byte* element) {
      float& corner = *reinterpret_cast<float*>(element);
      corner = change(corner);
    });
  }
}

// Regions whose samples lie within images of up to 6 pixels, mostly, but on none of them.
void PlaceRegions(Engine& engine, OperatorCall& call) {
  const auto set = [&](std::string_view field, FieldValue value) {
    if (HasField(call.desc, field)) ValueOf(call.desc, field) = value;
  };
  set("ReductionFunction", uint32_t{2});  // AVERAGE
  set("SpatialScaleX", 0.5f);
  set("SpatialScaleY", 0.75f);
  set("InputPixelOffset", 0.25f);
  set("OutputPixelOffset", -0.125f);
  ForEachCorner(call, [&](float) { return static_cast<float>(Uniform(engine, 0.5, 9)); });
}

void ExpectCoordinatesWithinTheBound(OperatorCall call) {
  call.Run();
  OperatorCall device = call;
  ForEachCorner(device, [](float corner) { return std::nextafter(corner, 100.0f); });
  device.Run();
  const std::vector<ConstTensorView> inputs = InputsOf(call);
  for (size_t output = 0; output < call.outputs.size(); ++output) {
    const ConstTensorView exact = call.outputs[output].view();
    const auto units = ErrorUnitsOf(call.desc, inputs, exact, output);
    ASSERT_TRUE(units);
    for (int64_t i = 0; i < exact.layout.element_count(); ++i) {
      const Dims index = IndexOf(exact.layout.sizes, i);
      const double r = NumberAt(exact, index), a = NumberAt(device.outputs[output].view(), index);
      if (!std::isfinite(r) || !std::isfinite(a)) continue;
      EXPECT_LE(units->UnitsOf(i, a, r, exact.type), units->AllowedSums(i))
          << a << " for " << r << " of element " << i << ", S "
          << units->scale[static_cast<size_t>(i)] << "\n"
          << ToString(call);
    }
  }
}

// A device that rounds coordinates is as far from them as one whose regions lie an ulp beside.
TEST(RegionUnits, KnowThatCoordinatesAreRounded) {
  constexpr int kRegionCases = 200;
  for (const RandomOperator& random : RandomOperators()) {
    if (!random.name.starts_with("ROI_ALIGN")) continue;
    SCOPED_TRACE(random.name);
    for (int i = 0; i < ShareOf(kRegionCases); ++i) {
      SCOPED_TRACE(CaseTrace(i));
      Engine engine = CaseEngine(i);
      OperatorCall call = random.draw(engine);
      const auto is_suitable = [](const TestTensor& x) {
        return x.type() != DataType::kFloat16 && !HasOverlap(x.layout());
      };
      if (!std::ranges::all_of(call.inputs, is_suitable)) continue;
      PlaceRegions(engine, call);
      ExpectCoordinatesWithinTheBound(call);
      if (testing::Test::HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, Units, testing::ValuesIn(RandomOperators()),
                         CaseName<RandomOperator>);

}  // namespace
}  // namespace dmlop
