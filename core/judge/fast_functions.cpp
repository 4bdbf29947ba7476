// SPDX-License-Identifier: Apache-2.0
// Functions that are far less accurate than their type: errors of many units but few digits, which
// go both ways or, as those of approximations in pieces, become larger and smaller in turn.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/arithmetic/varied_values.h"
#include "core/base/parallel.h"
#include "core/judge/evidence.h"
#include "core/ops/formula.h"
#include "core/tensor/element.h"

namespace dmlop {
namespace {

// So few errors may be due to anything.
constexpr size_t kFewestErrors = 3;
// Neither is so small a part of what differs beyond noise, nor most of it so small a part of noise.
constexpr double kLeastPart = 1.0 / 16;
// From argument to argument, an approximation goes to the other side of the function for this share
// of them at least, or so often.
constexpr double kLeastShare = 0.05;
constexpr double kOften = 16;
// The relative error of an approximation turns so often, at least, as it is made piece by piece;
// that of a wrong formula grows or falls for as long as the function does.
constexpr int kFewestTurns = 6;
// More elements are not looked at.
constexpr size_t kMostErrors = 100'000;

double ArgumentAt(const ConstTensorView& input, int64_t element) {
  const int64_t offset = OffsetOfElement(input.layout, element);
  return ValueOf(input.type, input.data + offset * static_cast<int64_t>(ByteWidth(input.type)));
}

// A fast logarithm has an absolute error beside 1, where few digits of its argument are left.
bool IsLogarithm(const Evidence& evidence) {
  const auto& [op, inputs, storage, sources] = evidence.computation;
  Formula formula(inputs, Formula::kAbridged);
  const auto last = FormulaOf(op, evidence.At(0), formula);
  return last && formula.operation(*last) == FormulaOperation::kLogarithm;
}

// The error of an element in units, of functions that have the error of a number near 1 in those of
// that number and the result.
double UnitsOf(const Evidence& evidence, bool is_logarithm, int64_t element) {
  const ErrorUnits& units = *evidence.units;
  const double size = units.scale[static_cast<size_t>(element)];
  const double part = is_logarithm && std::isfinite(size) ? 1 + 1 / (size + units.least)
                                                          : PartOfNumbersNearOne(units, element);
  return units.UnitsOf(element, evidence.actual.Value(element), evidence.expected.Value(element),
                       evidence.actual.type) /
         part;
}

// Counts how often errors of elements whose arguments have the same signs change theirs, in the
// order of the first argument. Those of a wrong formula keep it over a long way: a divisor with an
// addend is always greater, thus the quotient nearer to zero where the divisor is positive, and
// another curve crosses the right one in a few places.
class ErrorSigns {
 public:
  ErrorSigns(const Evidence& evidence, bool is_logarithm)
      : evidence_(evidence), is_logarithm_(is_logarithm) {
    for (const ConstTensorView& input : evidence.computation.inputs) {
      if (input.layout.sizes == evidence.expected.sizes) arguments_.push_back(&input);
    }
    std::vector<Error> errors = Errors(SampleOf(evidence, kMostErrors).wrong);
    std::erase_if(errors, [](const Error& error) { return !error.is_finite; });
    std::ranges::sort(errors, {}, &Error::first_argument);
    for (const Error& error : errors) Count(error);
    const double enough = std::min(kLeastShare * static_cast<double>(errors.size()), kOften);
    are_mixed_ = static_cast<double>(std::min(ups_, aways_)) >= enough;
    if (is_function_of_one_argument()) CountTurns(errors);
  }

  bool are_mixed() const { return are_mixed_; }
  bool turn_often() const { return turn_often_; }

 private:
  struct Error {
    double first_argument = 0;
    double expected = 0;
    double units = 0;        // of functions of one argument
    uint64_t signs = 0;      // of arguments
    bool is_finite = false;  // and its first argument is a number
    bool is_up = false;      // from the right value
    bool is_away = false;    // from zero
  };

  std::vector<Error> Errors(const std::vector<int64_t>& elements) const {
    constexpr int64_t kGrain = 4096;
    std::vector<Error> errors(elements.size());
    ParallelFor(std::ssize(elements), kGrain, /*bytes=*/0, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        errors[i] = ErrorOf(elements[i]);
      }
    });
    return errors;
  }

  Error ErrorOf(int64_t element) const {
    const double actual = evidence_.actual.Value(element);
    const double expected = evidence_.expected.Value(element);
    Error error;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const double argument = ArgumentAt(*arguments_[i], element);
      if (i == 0) error.first_argument = argument;
      error.signs |= uint64_t{argument < 0} << i;
    }
    error.is_finite =
        std::isfinite(actual) && std::isfinite(expected) && !std::isnan(error.first_argument);
    error.expected = expected;
    if (is_function_of_one_argument()) error.units = UnitsOf(evidence_, is_logarithm_, element);
    error.is_up = actual > expected;
    error.is_away = std::abs(actual) > std::abs(expected);
    return error;
  }

  void Count(const Error& error) {
    const auto [last, is_first] = last_.emplace(error.signs, error);
    ups_ += last->second.is_up != error.is_up;
    aways_ += last->second.is_away != error.is_away;
    last->second = error;
  }

  // Few digits are rounded so far that this alone makes errors turn.
  bool is_function_of_one_argument() const {
    return arguments_.size() == 1 && evidence_.units->bound == ErrorUnits::Bound::kOneValue &&
           evidence_.actual.type != DataType::kFloat16 && !evidence_.in_bfloat16;
  }

  // Counts how often relative errors go from the smallest quarter to the largest, and back.
  // `errors` are in the order of arguments.
  void CountTurns(const std::vector<Error>& errors) {
    constexpr double kLeastRange = 16;  // in units; rounding alone makes errors differ by less
    if (errors.empty()) return;
    std::vector<double> sorted;
    for (const Error& error : errors) sorted.push_back(error.units);
    std::ranges::sort(sorted);
    const double low = sorted[sorted.size() / 4], high = sorted[sorted.size() * 3 / 4];
    if (!(high - low >= kLeastRange)) return;
    std::optional<bool> was_high;
    int turns = 0;
    for (const Error& error : errors) {
      if (error.units > low && error.units < high) continue;
      turns += was_high && *was_high != (error.units >= high);
      was_high = error.units >= high;
    }
    turn_often_ = turns >= kFewestTurns * StretchesOfFunction(errors);
  }

  // Counts those in which the function grows, and in which it falls.
  static int StretchesOfFunction(const std::vector<Error>& errors) {
    int stretches = 1;
    std::optional<bool> has_grown;
    double last = errors.front().expected;
    for (const Error& error : errors) {
      if (error.expected == last) continue;
      stretches += has_grown && *has_grown != (error.expected > last);
      has_grown = error.expected > last;
      last = error.expected;
    }
    return stretches;
  }

  const Evidence& evidence_;
  const bool is_logarithm_;
  std::vector<const ConstTensorView*> arguments_;
  std::map<uint64_t, Error> last_;  // by the signs of arguments
  int64_t ups_ = 0, aways_ = 0;     // changes of either
  bool are_mixed_ = false;
  bool turn_often_ = false;
};

// Powers that are computed by logarithms have no negative bases.
bool IsOfNegative(const Evidence& evidence, int64_t element) {
  const ConstTensorView& input = evidence.computation.inputs.front();
  return input.layout.sizes == evidence.expected.sizes && ArgumentAt(input, element) < 0;
}

// The errors that functions of few digits may have.
struct FastErrors {
  double most_units;
  bool is_logarithm;

  bool Has(const Evidence& evidence, int64_t element) const {
    if (std::isnan(evidence.actual.Value(element))) return IsOfNegative(evidence, element);
    return UnitsOf(evidence, is_logarithm, element) <= most_units;
  }
};

Hypothesis WithinErrors(const Evidence& evidence, const ArithmeticVariation& variation,
                        const FastErrors& errors) {
  Hypothesis hypothesis{{variation.id()}, variation.text(), nullptr, nullptr};
  hypothesis.has_bits = false;
  hypothesis.compute = [&evidence, errors](std::span<const int64_t> elements) {
    std::vector<VariedElement> varied;
    for (const int64_t element : elements) {
      const PackedOutput& source =
          errors.Has(evidence, element) ? evidence.actual : evidence.expected;
      varied.push_back({source.Bytes(element), element});
    }
    return varied;
  };
  return hypothesis;
}

// Returns whether a good part of what differs is beyond noise, or most is a good way there. Of a
// right device, a few elements may be just beyond it, as units of functions are only generous.
bool AreManyBeyondNoise(const Evidence& evidence) {
  const std::vector<int64_t> others = Those(evidence.right, [&](int64_t element) {
    return evidence.actual.Bytes(element) != evidence.expected.Bytes(element);
  });
  const auto wrong = static_cast<double>(evidence.wrong.size());
  const auto different = wrong + static_cast<double>(others.size());
  if (wrong >= kLeastPart * different) return true;
  const std::vector<int64_t> near = Those(others, [&](int64_t element) {
    const double units =
        evidence.units->UnitsOf(element, evidence.actual.Value(element),
                                evidence.expected.Value(element), evidence.actual.type);
    return units >= kLeastPart * evidence.units->AllowedSums(element);
  });
  return wrong + static_cast<double>(near.size()) >= different / 2;
}

std::optional<FastErrors> FastErrorsOf(const Evidence& evidence) {
  using Bound = ErrorUnits::Bound;
  if (!evidence.units || evidence.wrong.size() < kFewestErrors) return std::nullopt;
  const Bound bound = evidence.units->bound;
  const bool has_function = bound == Bound::kOneValue || bound == Bound::kGenerous;
  if (!has_function || !AreManyBeyondNoise(evidence)) return std::nullopt;
  const bool is_logarithm = IsLogarithm(evidence);
  const ErrorSigns signs(evidence, is_logarithm);
  if (!signs.turn_often() && !signs.are_mixed()) return std::nullopt;
  // Several functions and sums have smaller errors than sums in FLOAT16. A step of Newton's method
  // from a guess by the exponent leaves larger ones than most functions have.
  constexpr double kMostOfSeveral = 512, kMostOfOne = 4096, kMostOfOneStep = 32768;
  const double most_units = signs.turn_often()          ? kMostOfOneStep
                            : bound == Bound::kOneValue ? kMostOfOne
                                                        : kMostOfSeveral;
  return FastErrors{most_units, is_logarithm};
}

}  // namespace

std::vector<Hypothesis> FastFunctionsOf(const Evidence& evidence) {
  const std::optional<FastErrors> errors = FastErrorsOf(evidence);
  if (!errors) return {};
  const auto& [op, inputs, storage, sources] = evidence.computation;
  std::vector<Hypothesis> found;
  for (const ArithmeticVariation& variation : ArithmeticVariationsOf(op, inputs, evidence.output)) {
    if (variation.kind != ArithmeticKind::kFastFunctions) continue;
    found.push_back(WithinErrors(evidence, variation, *errors));
  }
  return found;
}

}  // namespace dmlop
