// SPDX-License-Identifier: Apache-2.0
// The errors of single elements: by a measure, for maps, or in units in which somebody who knows
// their operator has measured them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/tensor/tensor.h"

namespace dmlop {

enum class ErrorMeasure { kUlp, kUnits, kAbsolute, kRelative };

// Returns the error of the element with a row-major number. It is NaN if only one side is NaN or
// infinite, and infinite if it is relative to 0.
using ElementError = std::function<double(int64_t number)>;

// Measures in anything but units, which take an operator. The views must outlive it.
ElementError ElementErrorOf(const ConstTensorView& actual, const ConstTensorView& expected,
                            ErrorMeasure measure);

// By row-major number of the element.
struct UnitErrors {
  std::vector<double> units;    // infinite where a number faces NaN
  std::vector<double> allowed;  // units with which an element passes; empty if none do
  int64_t most_terms = 1;       // of the sums that the elements are

  double UnitsOf(int64_t element) const { return units[static_cast<size_t>(element)]; }
  double AllowedOf(int64_t element) const {
    return allowed.empty() ? 0 : allowed[static_cast<size_t>(element)];
  }
  bool Allows(int64_t element) const {
    return !allowed.empty() && UnitsOf(element) <= AllowedOf(element);
  }
};

// Counts of errors in units by powers of two: bin 0 holds errors of 0, bin 1 those up to 1, bin k
// those of (2^(k-2), 2^(k-1)]; the last one all beyond.
using UnitHistogram = std::array<int64_t, 66>;
size_t UnitBin(double units);

// Figures of the errors of some elements.
struct ErrorFigures {
  double median = 0;
  double p99 = 0;
  double max = 0;
};

// Takes at least one error. The median of an even number of them is the mean of the two in the
// middle.
ErrorFigures FiguresOf(std::vector<double> errors);

struct UnitStatistics : ErrorFigures {
  int64_t most_terms = 1;
  bool has_limits = false;  // a tolerance in units was given
  UnitHistogram histogram{};
};

// Takes all elements of a comparison, of which there is at least one.
UnitStatistics StatisticsOf(const UnitErrors& errors);

// --- signs of errors -----------------------------------------------------------------------------

// The signs of the errors of a tensor: those of a right device have both, those of one that cuts
// off instead of rounding do not.

struct Bias {
  int64_t above = 0;        // elements that are greater than expected
  int64_t below = 0;        // and less
  int64_t toward_zero = 0;  // of both, those of less magnitude
};

// Takes views of equal sizes, and of equal types or two of floats. NaN is neither.
Bias BiasOf(const ConstTensorView& actual, const ConstTensorView& expected);

}  // namespace dmlop
