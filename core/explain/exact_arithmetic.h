// SPDX-License-Identifier: Apache-2.0
// The arithmetic of formulas in which nothing is rounded that people can see: exactly where numbers
// stay short, else to about 100 bits.
#pragma once

#include <optional>
#include <span>

#include "core/explain/formula_value.h"
#include "core/ops/formula.h"

namespace dmlop {

struct ExactArithmetic {
  using Value = FormulaValue;

  static Value Element(const ConstTensorView& view, int64_t offset);
  static Value Number(double value, const std::optional<Dyadic>& exact);
  static Value Apply(FormulaOperation operation, std::span<const Value> operands);
  static Value Function(ElementWiseFunction function, std::span<const double> parameters,
                        std::span<const Value> operands);
};

}  // namespace dmlop
