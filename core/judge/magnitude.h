// SPDX-License-Identifier: Apache-2.0
// The arithmetic of formulas in which every number has a size beside its value: the sum of the
// magnitudes that it is made of, to which the error of rounded steps is proportional (Higham,
// "Accuracy and Stability of Numerical Algorithms", chapter 3).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "core/ops/formula.h"

namespace dmlop {

struct Magnitude {
  enum Kind {
    kExact,     // an element or a number, or one chosen among them
    kRelative,  // a product or quotient of these, whose error is relative to it
    kStep,      // the sum or difference of two exact ones, whose only error is relative to it
    kPositive,  // an exponential, or a sum of positive ones
    kOther,
  };

  double value = 0;
  double size = 0;
  int64_t terms = 1;  // of the longest sum in it
  Kind kind = kOther;
  bool adds_up = true;  // a further sum has as many terms more; not so of what a function makes
};

// Whether a node is an element, a number or a product of such.
bool IsOfElements(const Formula& formula, Formula::Node node);

struct MagnitudeArithmetic {
  using Value = Magnitude;
  using Places = std::function<Dims(const Formula& formula, Formula::Node element)>;

  // Functions of elements are what their pages make them of.
  static Formula::Node Instead(const Formula& formula, Formula::Node node);
  Dims Place(const Formula& formula, Formula::Node element) const {
    return places == nullptr ? formula.index(element) : (*places)(formula, element);
  }

  static Value Element(const ConstTensorView& view, int64_t offset);
  static Value Number(double value, const std::optional<Dyadic>& exact);
  static Value Apply(FormulaOperation operation, std::span<const Value> operands);
  static Value Function(ElementWiseFunction function, std::span<const double> parameters,
                        std::span<const Value> operands);

  const Places* places = nullptr;  // where elements are, if not where the formula has them
};

}  // namespace dmlop
