// SPDX-License-Identifier: Apache-2.0
#include "core/engine/training/adam.h"

#include <array>
#include <cmath>

#include "core/base/memory.h"
#include "core/base/parallel.h"
#include "core/exact/double_double.h"
#include "core/exact/rounding.h"
#include "core/tensor/element.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// 1 - beta^step, accurate near 0, too.
double OneLessPower(double beta, uint32_t step) {
  if (step == 0 || beta == 1) return 0;
  if (beta == 0) return 1;
  return -Expm1(Log(DoubleDouble{beta, 0}) * static_cast<double>(step)).head;
}

// The sum of the parts; `plain` is the result in IEEE arithmetic, which decides special values.
HeadTail SumOf(std::span<double> parts, double plain) {
  if (!std::isfinite(plain)) return {plain, 0};
  const HeadTail sum = SumOfParts(parts).sum;
  if (sum.head != 0) return sum;
  const double zero = plain == 0 ? plain : 0.0;
  return {zero, zero};
}

class Step {
 public:
  Step(const AdamRates& rates, uint32_t step)
      : rates_(rates),
        rate_(rates.learning_rate *
              (std::sqrt(OneLessPower(rates.beta2, step)) / OneLessPower(rates.beta1, step))) {}

  // beta1 * M + G - beta1 * G; the products are exact.
  HeadTail FirstMoment(double m, double g) const {
    const double beta = rates_.beta1;
    std::array<double, 3> parts = {beta * m, g, -beta * g};
    return SumOf(parts, beta * m + (1 - beta) * g);
  }

  // beta2 * V + G^2 - beta2 * G^2; the last product has a head and a tail.
  HeadTail SecondMoment(double v, double g) const {
    const double beta = rates_.beta2;
    const double square = g * g;
    const double plain = beta * v + (1 - beta) * g * g;
    if (!std::isfinite(plain)) return {plain, 0};
    const HeadTail product = TwoProduct(beta, square);
    std::array<double, 4> parts = {beta * v, square, -product.head, -product.tail};
    return SumOf(parts, plain);
  }

  // If epsilon is negative, most of the root may cancel, so the divisor is computed precisely.
  double Parameter(double x, HeadTail m, HeadTail v) const {
    const bool is_exact = rates_.epsilon < 0 && v.head > 0 && std::isfinite(v.head);
    const double divisor =
        is_exact ? (SquareRoot(v) + rates_.epsilon).head : std::sqrt(v.head) + rates_.epsilon;
    return x - rate_ * m.head / divisor;
  }

 private:
  AdamRates rates_;
  double rate_;
};

enum Operand : size_t { kX, kM, kV, kG, kNewX, kNewM, kNewV, kOperands };

template <typename T>
void StepElements(const Step& step, const AdamTensors& tensors) {
  const LoopNest<kOperands> nest = Merged(LoopNest<kOperands>{
      tensors.parameters.layout.sizes,
      {tensors.parameters.layout.strides, tensors.first_moment.layout.strides,
       tensors.second_moment.layout.strides, tensors.gradient.layout.strides,
       tensors.new_parameters.layout.strides, tensors.new_first_moment.layout.strides,
       tensors.new_second_moment.layout.strides}});
  const int64_t bytes = 3 * tensors.parameters.element_bytes();
  constexpr int64_t kGrain = kParallelElements / 64;
  ParallelFor(Product(nest.sizes), kGrain, bytes, [&](int64_t begin, int64_t end) {
    Walk<kOperands> walk(nest, begin);
    for (int64_t i = begin; i < end; ++i, walk.Next()) {
      const double x = AsDouble(tensors.parameters.elements<T>()[walk.offset(kX)]);
      const double g = AsDouble(tensors.gradient.elements<T>()[walk.offset(kG)]);
      const HeadTail m =
          step.FirstMoment(AsDouble(tensors.first_moment.elements<T>()[walk.offset(kM)]), g);
      const HeadTail v =
          step.SecondMoment(AsDouble(tensors.second_moment.elements<T>()[walk.offset(kV)]), g);
      const T new_x = RoundOnce<T>(step.Parameter(x, m, v));
      tensors.new_parameters.elements<T>()[walk.offset(kNewX)] = new_x;
      tensors.new_first_moment.elements<T>()[walk.offset(kNewM)] = RoundOnce<T>(m.head, m.tail);
      tensors.new_second_moment.elements<T>()[walk.offset(kNewV)] = RoundOnce<T>(v.head, v.tail);
    }
  });
}

}  // namespace

void StepAdam(const AdamRates& rates, uint32_t step, const AdamTensors& tensors) {
  VisitDataType(Floats(), tensors.parameters.type,
                [&]<typename T>() { StepElements<T>(Step(rates, step), tensors); });
}

}  // namespace dmlop
