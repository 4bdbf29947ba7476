// SPDX-License-Identifier: Apache-2.0
// Functions that are far less accurate than their type: errors of many units but few digits, which
// go both ways.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/arithmetic/varied_values.h"
#include "core/judge/evidence.h"
#include "core/tensor/element.h"

namespace dmlop {
namespace {

// So few errors may be due to anything.
constexpr size_t kFewestErrors = 3;
// So few may all go one way by chance.
constexpr size_t kFewestOfBothSigns = 8;
// An approximation is on either side of the function at least for this share of arguments.
constexpr double kLeastShare = 0.05;

double ArgumentAt(const ConstTensorView& input, int64_t element) {
  const int64_t offset = OffsetOfElement(input.layout, element);
  return ValueOf(input.type, input.data + offset * static_cast<int64_t>(ByteWidth(input.type)));
}

// Counts errors by the signs of an element's arguments, on which those of a wrong formula depend:
// a divisor with an addend is always greater, thus the quotient nearer to zero where the divisor is
// positive, and farther from it where that is negative.
class ErrorSigns {
 public:
  explicit ErrorSigns(const Evidence& evidence) : evidence_(evidence) {
    for (const ConstTensorView& input : evidence.computation.inputs) {
      if (input.layout.sizes == evidence.expected.sizes) arguments_.push_back(&input);
    }
    for (const int64_t element : evidence.wrong) Count(element);
  }

  bool AreBoth() const { return IsEnough(Errors::kUp) && IsEnough(Errors::kAway); }

 private:
  struct Errors {
    enum Direction { kUp, kAway, kDirections };  // from the right value, from zero

    std::array<int64_t, kDirections> count{};
    int64_t all = 0;
  };

  void Count(int64_t element) {
    const double actual = evidence_.actual.Value(element);
    const double expected = evidence_.expected.Value(element);
    if (!std::isfinite(actual) || !std::isfinite(expected)) return;
    std::vector<bool> signs;
    for (const ConstTensorView* argument : arguments_) {
      signs.push_back(ArgumentAt(*argument, element) < 0);
    }
    Errors& errors = errors_[signs];
    errors.count[Errors::kUp] += actual > expected;
    errors.count[Errors::kAway] += std::abs(actual) > std::abs(expected);
    ++errors.all;
  }

  bool IsEnough(Errors::Direction direction) const {
    int64_t fewer = 0, all = 0;
    for (const auto& [signs, errors] : errors_) {
      fewer += std::min(errors.count[direction], errors.all - errors.count[direction]);
      all += errors.all;
    }
    return static_cast<double>(fewer) >= kLeastShare * static_cast<double>(all);
  }

  const Evidence& evidence_;
  std::vector<const ConstTensorView*> arguments_;
  std::map<std::vector<bool>, Errors> errors_;
};

// Powers that are computed by logarithms have no negative bases.
bool IsOfNegative(const Evidence& evidence, int64_t element) {
  const ConstTensorView& input = evidence.computation.inputs.front();
  return input.layout.sizes == evidence.expected.sizes && ArgumentAt(input, element) < 0;
}

bool IsOfFastFunction(const Evidence& evidence, int64_t element) {
  // Several functions and sums have smaller errors than these sums in FLOAT16.
  const bool is_one = evidence.units->bound == ErrorUnits::Bound::kOneValue;
  const double most_units = is_one ? 4096 : 512;
  const double actual = evidence.actual.Value(element);
  if (std::isnan(actual)) return IsOfNegative(evidence, element);
  return evidence.units->UnitsOf(element, actual, evidence.expected.Value(element),
                                 evidence.actual.type) <= most_units;
}

Hypothesis WithinUnits(const Evidence& evidence, const ArithmeticVariation& variation) {
  Hypothesis hypothesis{{variation.id()}, variation.text(), nullptr, nullptr};
  hypothesis.has_bits = false;
  hypothesis.compute = [&evidence](std::span<const int64_t> elements) {
    std::vector<VariedElement> varied;
    for (const int64_t element : elements) {
      const PackedOutput& source =
          IsOfFastFunction(evidence, element) ? evidence.actual : evidence.expected;
      varied.push_back({source.Bytes(element), element});
    }
    return varied;
  };
  return hypothesis;
}

bool MayBeFast(const Evidence& evidence) {
  using Bound = ErrorUnits::Bound;
  const bool has_function = evidence.units && (evidence.units->bound == Bound::kOneValue ||
                                               evidence.units->bound == Bound::kGenerous);
  if (!has_function || evidence.wrong.size() < kFewestErrors) return false;
  return evidence.wrong.size() < kFewestOfBothSigns || ErrorSigns(evidence).AreBoth();
}

}  // namespace

std::vector<Hypothesis> FastFunctionsOf(const Evidence& evidence) {
  if (!MayBeFast(evidence)) return {};
  const auto& [op, inputs, storage, sources] = evidence.computation;
  std::vector<Hypothesis> found;
  for (const ArithmeticVariation& variation : ArithmeticVariationsOf(op, inputs, evidence.output)) {
    if (variation.kind != ArithmeticKind::kFastFunctions) continue;
    found.push_back(WithinUnits(evidence, variation));
  }
  return found;
}

}  // namespace dmlop
