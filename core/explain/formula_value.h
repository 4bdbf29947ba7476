// SPDX-License-Identifier: Apache-2.0
// A number that a formula comes to: exactly where its digits stay few, else to about 100 bits.
#pragma once

#include <optional>
#include <span>

#include "core/exact/double_double.h"
#include "core/exact/dyadic.h"
#include "core/exact/functions.h"
#include "core/ops/formula.h"

namespace dmlop {

// A number, or an infinity, a NaN or a signed zero, as the head alone.
struct FormulaValue {
  DoubleDouble number{};
  std::optional<Dyadic> exact;  // of a finite one, perhaps beyond the range, if it is known
};

FormulaValue Special(double value);         // of NaN there is one, without a sign
FormulaValue Exactly(const Dyadic& value);  // whose digits are dropped where they are too many
FormulaValue Exactly(double value);
FormulaValue Approximately(DoubleDouble value);

bool IsFinite(const FormulaValue& value);
bool IsNan(const FormulaValue& value);
bool IsZero(const FormulaValue& value);
// Returns whether an inexact value is beyond 1e180 or its reciprocal: functions stop there.
bool IsFar(const FormulaValue& value);

// The order of maxima and minima: -0 is less than +0.
bool IsLess(DoubleDouble a, DoubleDouble b);
bool IsLess(const FormulaValue& a, const FormulaValue& b);

// These compare as the operators do, for which all zeros are equal.
bool IsGreater(const FormulaValue& a, const FormulaValue& b);
bool IsAtLeast(const FormulaValue& a, const FormulaValue& b);

// Returns a finite value, as far as it is known.
Dyadic ToDyadic(const FormulaValue& value);

FormulaValue Negated(const FormulaValue& x);

// --- operations that lead to whole numbers -------------------------------------------------------

// These compute kRound and the like of FormulaOperation.
FormulaValue Round(const FormulaValue& x);
FormulaValue Truncate(const FormulaValue& x);
FormulaValue WholeQuotient(bool floors, const FormulaValue& a, const FormulaValue& b);
FormulaValue Clamp(const FormulaValue& x, const FormulaValue& least, const FormulaValue& greatest);
// NaN of a number whose digits were dropped.
FormulaValue Wrap(const FormulaValue& x, const FormulaValue& least, const FormulaValue& greatest);

// Evaluates functions that round floats to whole numbers or take a remainder; none for others.
std::optional<FormulaValue> WholeFunction(ElementWiseFunction function,
                                          std::span<const FormulaValue> x);

// --- values of functions that are numbers with an end --------------------------------------------

// Numbers with more binary digits are not written out.
inline constexpr int64_t kMostProductBits = 1 << 15;

// x^exponent of finite numbers, x not 0; none where it has no end, or too many digits.
std::optional<Dyadic> ExactPower(double x, double exponent);

// Returns what ExactElement does, which gives `value`, finite and not 0; none if it is irrational.
std::optional<Dyadic> ExactValueOf(ElementWiseFunction function, std::span<const double> elements,
                                   std::span<const double> numbers, const HeadTail& value);

// --- arithmetic ----------------------------------------------------------------------------------

// The arithmetic of formulas in which nothing is rounded that people can see: exactly where numbers
// stay short, else to about 100 bits.

struct ExactArithmetic {
  using Value = FormulaValue;

  static Value Element(const ConstTensorView& view, int64_t offset);
  static Value Number(double value, const std::optional<Dyadic>& exact);
  static Value Apply(FormulaOperation operation, std::span<const Value> operands);
  static Value Function(ElementWiseFunction function, std::span<const double> parameters,
                        std::span<const Value> operands);
};

}  // namespace dmlop
