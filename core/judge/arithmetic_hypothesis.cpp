// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/arithmetic/float_format.h"
#include "core/arithmetic/varied_values.h"
#include "core/judge/evidence.h"
#include "core/tensor/element.h"

namespace dmlop {
namespace {

using VariedList = std::vector<VariedElement>;

// A result in bfloat16 is rounded toward zero to that.
ElementBytes CutToBfloat16(const ElementBytes& element, DataType type) {
  const FloatRounding rounding(FloatFormat::kBfloat16, RoundingMode::kTowardZero);
  return ConvertElement(static_cast<float>(rounding(ValueOf(type, element.data()))), type);
}

const Computation& ComputationOf(const Evidence& evidence, const OtherArithmetic& arithmetic) {
  return arithmetic.computation ? *arithmetic.computation : evidence.computation;
}

}  // namespace

Hypothesis OfArithmetic(const Evidence& evidence, const OtherArithmetic& arithmetic) {
  const ArithmeticVariation& variation = arithmetic.variation;
  Hypothesis hypothesis{{variation.id()}, variation.text(), nullptr, nullptr, /*is_slow=*/true};
  hypothesis.compute = [&evidence, arithmetic](std::span<const int64_t> elements) {
    return ElementsOfArithmetics(evidence, ComputationOf(evidence, arithmetic),
                                 {&arithmetic.variation, 1}, elements)[0];
  };
  hypothesis.arithmetic = arithmetic;
  return hypothesis;
}

std::vector<VariedList> ElementsOfArithmetics(const Evidence& evidence,
                                              const Computation& computation,
                                              std::span<const ArithmeticVariation> variations,
                                              std::span<const int64_t> elements) {
  const DataType type = evidence.actual.type;
  const auto values = ComputeVaried(computation.op, computation.inputs, variations,
                                    computation.SourceOf(evidence.output), elements);
  std::vector<VariedList> all(variations.size());
  for (size_t v = 0; v < values.size(); ++v) {
    const bool is_cut = evidence.in_bfloat16 && variations[v].kind == ArithmeticKind::kTowardZero;
    for (size_t i = 0; i < values[v].size(); ++i) {
      const ElementBytes& value = values[v][i];
      all[v].push_back({is_cut ? CutToBfloat16(value, type) : value, elements[i]});
    }
  }
  return all;
}

std::vector<std::optional<VariedList>> ComputedTogether(
    const Evidence& evidence, std::span<const Hypothesis* const> hypotheses,
    std::span<const int64_t> elements) {
  // The elements of many arithmetics would take much memory.
  constexpr size_t kMostElements = size_t{1} << 19;
  std::vector<std::optional<VariedList>> computed(hypotheses.size());
  if (elements.size() > kMostElements) return computed;
  std::map<const Computation*, std::vector<size_t>> together;
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    const auto& arithmetic = hypotheses[i]->arithmetic;
    if (arithmetic && NeedsFormula(arithmetic->variation, evidence.actual.type)) {
      together[&ComputationOf(evidence, *arithmetic)].push_back(i);
    }
  }
  for (const auto& [computation, numbers] : together) {
    std::vector<ArithmeticVariation> variations;
    for (const size_t i : numbers) variations.push_back(hypotheses[i]->arithmetic->variation);
    std::vector<VariedList> found =
        ElementsOfArithmetics(evidence, *computation, variations, elements);
    for (size_t k = 0; k < numbers.size(); ++k) computed[numbers[k]] = std::move(found[k]);
  }
  return computed;
}

}  // namespace dmlop
