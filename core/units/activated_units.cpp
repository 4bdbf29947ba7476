// SPDX-License-Identifier: Apache-2.0
// The units of results that an operator activates.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/arithmetic/computation.h"
#include "core/arithmetic/float_format.h"
#include "core/ops/fused.h"
#include "core/tensor/element.h"
#include "core/units/units.h"

namespace dmlop {
namespace {

// A tensor of an operator's output type and sizes.
struct Result {
  Buffer buffer;
  TensorView view;

  Result(DataType type, const Dims& sizes)
      : buffer(static_cast<size_t>(Product(sizes)) * ByteWidth(type)),
        view{buffer.data(), type, PackedLayout(sizes)} {}
};

double ResultAt(const ConstTensorView& view, int64_t element) {
  const int64_t offset = OffsetOfElement(view.layout, element);
  return ValueOf(view.type, view.data + offset * static_cast<int64_t>(ByteWidth(view.type)));
}

std::vector<Result> ResultsOf(const OperatorDesc& op, InputViews inputs) {
  std::vector<Result> results;
  for (const TensorSlot& slot : TensorSlots(op, TensorRole::kOutput)) {
    results.emplace_back(*slot.desc->data_type,
                         Dims(slot.desc->sizes->begin(), slot.desc->sizes->end()));
  }
  std::vector<TensorView> views;
  for (const Result& result : results) views.push_back(result.view);
  Run(op, inputs, views);
  return results;
}

// The steepest slope of an activation between -8 and 8; beyond, none is steeper. A jump has none:
// it lies in one half of a pair of steps, whose slope would be twice that of the pair.
double SlopeOf(const OperatorDesc& activation) {
  constexpr int64_t kSteps = 2048;
  constexpr float kStep = 16.0f / kSteps;
  const Result x(DataType::kFloat32, {1, 1, 1, kSteps + 1}), y(x.view.type, x.view.layout.sizes);
  float* const numbers = x.view.elements<float>();
  for (int64_t i = 0; i <= kSteps; ++i) numbers[i] = static_cast<float>(i) * kStep - 8;
  RunActivation(activation, AsConst(x.view), y.view);
  double slope = 0;
  const float* const values = y.view.elements<float>();
  const auto difference = [&](int64_t from, int64_t to) {
    return std::abs(AsDouble(values[to]) - AsDouble(values[from])) / kStep;
  };
  for (int64_t i = 0; i < kSteps; i += 2) {
    const double half = std::max(difference(i, i + 1), difference(i + 1, i + 2));
    slope = std::max(slope, difference(i, i + 2) - half);
  }
  return slope;
}

// Returns how far a softmax moves, at most, when what is activated moves by so much: one element
// one way, which moves its exponential, and all others the other way, which moves their sum. `own`
// is the result, and `moved` that with all of them moved one way.
double MovedShare(double own, double moved, double step) {
  if (own == 0 || !std::isfinite(step)) return 0;
  const double of_sum = std::max(0.0, step - std::log(moved / own));
  return own * std::expm1(step + of_sum);
}

// Returns how far results move, at most, when what is activated moves by half an ulp: a device that
// keeps sums in FLOAT32 does not round them to FLOAT16 before it activates them. Infinite where it
// need not be infinite before that, as the size of the sum is not, and the result is another one
// then. An activation that only chooses rounds nothing again, so that there only jumps count.
std::vector<double> MovedByRounding(const OperatorDesc& activation, const ConstTensorView& before,
                                    bool rounds, const std::vector<double>& sums) {
  if (before.type != DataType::kFloat16) return {};
  const Dims& sizes = before.layout.sizes;
  const Half* const numbers = before.elements<Half>();
  const auto activated = [&](double ulps) {
    Result x(DataType::kFloat32, sizes), y(x.view.type, sizes);
    for (int64_t i = 0; i < Product(sizes); ++i) {
      const double number = AsDouble(numbers[i]);
      const FloatForm form = FormOf(before.type);
      const double nearest = ulps == 0 ? number : form.Finite(number);
      x.view.elements<float>()[i] = static_cast<float>(nearest + ulps * form.Ulp(nearest));
    }
    RunActivation(activation, AsConst(x.view), y.view);
    return y;
  };
  const Result own = activated(0), less = activated(-0.5), more = activated(0.5);
  std::vector<double> moved;
  for (int64_t i = 0; i < Product(sizes); ++i) {
    const auto at = [&](const Result& result) {
      return AsDouble(result.view.elements<float>()[i]);
    };
    const double number = AsDouble(numbers[i]);
    const double most = RunsOnAnyPart(activation)
                            ? std::max(std::abs(at(less) - at(own)), std::abs(at(more) - at(own)))
                            : MovedShare(at(own), at(more), FormOf(before.type).Ulp(number) / 2);
    const double least = rounds ? 0 : FormOf(before.type).Ulp(number);
    if (std::isinf(number)) {
      moved.push_back(at(less) == at(own) || std::isinf(sums[static_cast<size_t>(i)])
                          ? 0
                          : std::numeric_limits<double>::infinity());
    } else {
      moved.push_back(std::isfinite(most) && most > least ? most : 0);
    }
  }
  return moved;
}

}  // namespace

// An activation passes the error of its argument on, times its slope at most, and adds its own.
std::optional<ErrorUnits> ActivatedUnitsOf(const OperatorDesc& op, InputViews inputs,
                                           const ConstTensorView& exact) {
  const OperatorDesc own = WithoutActivation(op);
  const OperatorDesc activation = *FusedAlone(op);
  const std::vector<Result> results = ResultsOf(own, inputs);
  const ConstTensorView before = AsConst(results[0].view);
  std::optional<ErrorUnits> units = OwnUnitsOf(own, inputs, before, 0);
  const auto last = OwnUnitsOf(activation, {&before, 1}, exact, 0);
  if (!units) return last;
  const bool rounds = last && last->bound != ErrorUnits::Bound::kExact;
  const std::vector<double> moved = std::exchange(
      units->rounded_before, MovedByRounding(activation, before, rounds, units->scale));
  if (units->unscaled.empty()) units->unscaled = units->scale;
  const double steepest = RunsOnAnyPart(activation) ? SlopeOf(activation) : 0;
  for (size_t i = 0; i < units->scale.size(); ++i) {
    // The share of a sum moves by twice as large a part of it as the exponents do, at most.
    const double slope =
        RunsOnAnyPart(activation)
            ? steepest
            : 2 * std::max(std::abs(ResultAt(exact, static_cast<int64_t>(i))), units->least);
    units->scale[i] = slope * units->scale[i] + (rounds ? last->scale[i] : 0);
    if (!moved.empty()) units->rounded_before[i] += slope * moved[i];
  }
  if (rounds) units->bound = ErrorUnits::Bound::kGenerous;
  return units;
}

}  // namespace dmlop
