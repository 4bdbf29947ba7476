// SPDX-License-Identifier: Apache-2.0
// The unit of the error of an element. If r is the exactly rounded result, an actual value a is off
// by
//
//   max(0, |a - r| - (ulp(a) + ulp(r)) / 2) / (u * (S + m))
//
// units, where u and m are the unit roundoff and the least normal number of the type that sums are
// kept in, and S is the sum of the magnitudes that the element is made of. A sum of n terms that is
// rounded in any order of additions is within n units (Higham, "Accuracy and Stability of Numerical
// Algorithms", chapter 3; without terms of second order: Jeannerod and Rump, 2013). What is
// activated is rounded before that, and so are states of networks and what attention adds a bias
// to. A device need not do so, and half an ulp of it, as what follows passes it on, is excused like
// those of a and r.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/compare/error_measure.h"
#include "core/ops/operator.h"
#include "core/tensor/unit_tolerance.h"
#include "core/units/magnitude.h"

namespace dmlop {

struct ErrorUnits {
  // The kinds of bounds on the error of a right device.
  enum class Bound {
    kExact,     // none, for what is only chosen
    kProved,    // n units, for sums of products
    kOneValue,  // a few units, for functions of one value, products and roots
    kGenerous,  // n units and a few, for what has several steps
  };

  DataType unit_type = DataType::kFloat32;  // that sums are kept in; kFloat64 for such tensors
  DataType output_type = DataType::kFloat32;
  double least = 0;            // m
  std::vector<double> scale;   // S, by row-major number of the element; infinite beyond the type
  std::vector<int64_t> terms;  // n; one entry if all elements have the same
  Bound bound = Bound::kProved;
  std::vector<int64_t> steps{};  // of a network so far, each of which adds its own error; or empty
  bool has_logarithm = false;    // of a sum, whose error is absolute
  bool is_beside_one = false;    // a function that may have the error of numbers near 1
  std::vector<double> unscaled;  // S before a scale, divisor or activation; empty if there is none

  // The distances that roundings to FLOAT16 before the last one may move a result, infinite where
  // one before an activation makes infinity of a number; or empty.
  std::vector<double> rounded_before{};

  std::vector<InfiniteResult> infinite{};  // results, by element
  bool has_orders = true;                  // steps that a device may take in another order

  bool in_bfloat16 = false;  // the tensors were rounded to it, and u is its roundoff, 2^-8

  double UnitsOf(int64_t element, double actual, double expected, DataType actual_type) const;
  int64_t TermsOf(int64_t element) const;
  // The most units of a right device that keeps sums in a float type; UNKNOWN: in `unit_type`.
  double AllowedSums(int64_t element, DataType sums = DataType::kUnknown) const;
  // Returns whether any value is right, beside a pole or where only FLOAT16 is infinite.
  bool MayBeAnything(int64_t element) const;
  // Returns whether partial sums may be beyond that type, so that infinity and NaN may be right.
  bool MayOverflow(int64_t element, DataType sums = DataType::kUnknown) const;

 private:
  const InfiniteResult* InfiniteAt(int64_t element) const;
};

// Returns the units of an output of a valid operator, given its inputs as Run takes them and its
// result; none where equality is asked for: of integers, and of floats that are only moved.
std::optional<ErrorUnits> ErrorUnitsOf(const OperatorDesc& op, InputViews inputs,
                                       const ConstTensorView& exact_output, size_t output);

// These are for an operator that activates nothing, and for results that are activated.
std::optional<ErrorUnits> OwnUnitsOf(const OperatorDesc& op, InputViews inputs,
                                     const ConstTensorView& exact_output, size_t output);
std::optional<ErrorUnits> ActivatedUnitsOf(const OperatorDesc& op, InputViews inputs,
                                           const ConstTensorView& exact_output);

// --- errors in units -----------------------------------------------------------------------------

// The errors of an output in units, and how many of them a tolerance allows each element.

// Takes floats of any type, as many as the units are of. Throws an Error of kind kUsage for sums in
// FLOAT16, or results in bfloat16, of so many terms that zeros would pass.
UnitErrors MeasureErrors(const ErrorUnits& units, const ConstTensorView& actual,
                         const ConstTensorView& expected, const UnitTolerance& tolerance);

}  // namespace dmlop
