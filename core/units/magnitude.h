// SPDX-License-Identifier: Apache-2.0
// The arithmetic of formulas in which every number has a size beside its value: the sum of the
// magnitudes that it is made of, to which the error of rounded steps is proportional (Higham,
// "Accuracy and Stability of Numerical Algorithms", chapter 3).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/ops/formula.h"
#include "core/ops/operator.h"

namespace dmlop {

// The size of what may be any number, or none, since a pole or an end of the domain of the function
// is within the error of its argument.
inline constexpr double kUnboundedSize = std::numeric_limits<double>::max();

struct Magnitude {
  enum Kind {
    kExact,     // an element or a number, or one chosen among them
    kRelative,  // a product or quotient of these, whose error is relative to it
    kStep,      // the sum or difference of two exact ones, whose only error is relative to it
    kLinear,    // another sum of exact and relative ones, which may be much smaller than these
    kPositive,  // an exponential, or a sum of positive ones
    kAboveOne,  // an exponential added to an exact positive number
    kOther,
  };

  double value = 0;
  double size = 0;
  int64_t terms = 1;  // of the longest sum in it
  Kind kind = kOther;
  bool adds_up = true;  // a further sum has as many terms more; not so of what a function makes
  double moved = 0;     // at most, by roundings to FLOAT16 on the way
};

// Returns how far a number may have been moved by its rounding to FLOAT16.
double HalfUlpOfFloat16(double x);

// Returns whether a node is an element, a number or a product of such.
bool IsOfElements(const Formula& formula, Formula::Node node);

struct MagnitudeArithmetic {
  using Value = Magnitude;

  // Functions of elements are what their pages make them of.
  static Formula::Node Instead(const Formula& formula, Formula::Node node);

  static Value Element(const ConstTensorView& view, int64_t offset);
  static Value Number(double value, const std::optional<Dyadic>& exact);
  static Value Apply(FormulaOperation operation, std::span<const Value> operands);
  static Value Function(ElementWiseFunction function, std::span<const double> parameters,
                        std::span<const Value> operands);
};

// The same before sums are divided by numbers above 1, as by the count of a mean.
struct UndividedArithmetic : MagnitudeArithmetic {
  static Value Apply(FormulaOperation operation, std::span<const Value> operands) {
    if (operation == FormulaOperation::kMean) operation = FormulaOperation::kSum;
    const bool divides = operation == FormulaOperation::kQuotient ||
                         operation == FormulaOperation::kQuotientOrDividend;
    return divides && std::abs(operands[1].value) > 1
               ? operands[0]
               : MagnitudeArithmetic::Apply(operation, operands);
  }
};

// --- sizes of elements ---------------------------------------------------------------------------

// The sizes that formulas have in the arithmetic of magnitudes, element by element, and the share
// of rounded coordinates in the sizes of interpolated elements.

struct SizesAndTerms {
  std::vector<double> sizes;
  std::vector<int64_t> terms;
  std::vector<double> moved;
};

// These are those of all elements of an output, in row-major order. States of networks of FLOAT16
// that are given were rounded to it, too.
SizesAndTerms EvaluateSizes(const OperatorDesc& op, InputViews inputs, const Dims& sizes,
                            size_t output);

// The sizes before sums are divided, which may exceed a type where the results do not.
std::vector<double> SizesBeforeDivisors(const OperatorDesc& op, InputViews inputs,
                                        const Dims& sizes, size_t output);

// An infinite result before it is rounded, and its size.
struct InfiniteResult {
  int64_t element = 0;
  double value = 0;  // infinite beside a pole or because an element is
  double size = 0;
};

// Returns those of all infinite elements of an output, in order; only of the first ones if their
// formulas are too long to evaluate all.
std::vector<InfiniteResult> EvaluateInfiniteResults(const OperatorDesc& op, InputViews inputs,
                                                    const ConstTensorView& exact, size_t output);

// Adds, for each dimension of a linear interpolation, the magnitude of the coordinate times the
// difference of the neighbours; nothing for operators that interpolate in another way. `sizes` are
// those of the output.
void AddCoordinateSizes(const OperatorDesc& op, InputViews inputs, const Dims& sizes,
                        std::vector<double>& scale);

// Returns whether an operator samples regions of images, or passes gradients of samples back.
bool SamplesRegions(const OperatorDesc& op);

// Does the same for such an operator: adds the larger coordinate times the difference on either
// side of each neighbour, or, to gradients of pixels, times what samples around them give.
// `sizes` are those of the output, `sample` some of its elements.
void AddRegionSizes(const OperatorDesc& op, InputViews inputs, size_t output, const Dims& sizes,
                    std::span<const Dims> sample, std::vector<double>& scale);

// --- operators run on magnitudes -----------------------------------------------------------------

// An operator run on the magnitudes of its inputs and parameters, which gives the sums of the
// magnitudes of their terms where the operator is nothing but sums and products.

class MagnitudeRun {
 public:
  // Takes an operator without a fused activation and some elements of the output. FLOAT16 becomes
  // FLOAT32, since sums may exceed FLOAT16.
  MagnitudeRun(const OperatorDesc& op, InputViews inputs, size_t output,
               std::span<const Dims> elements);

  // False if no signs of the inputs make all terms of the sums positive.
  bool is_possible() const { return is_possible_; }

  // Returns whether there are numbers such as Alpha.
  bool has_parameters() const { return !parameters_.empty(); }

  // By row-major number of the element; infinite beyond the type.
  std::vector<double> Sizes() const { return SizesOf(op_); }
  // The same before parameters below 1 make them smaller; empty if there are none.
  std::vector<double> UnscaledSizes() const;
  // The same with every magnitude of an element 1; with `factors`, parameters keep theirs.
  std::vector<double> Ones(bool factors) const;

 private:
  bool HasSigns(std::span<const Dims> elements);
  bool IsOfOneSign(std::span<const Dims> elements) const;
  std::vector<double> SizesOf(const OperatorDesc& op) const;
  std::vector<double> Run(const OperatorDesc& op, InputViews inputs) const;

  OperatorDesc op_;
  InputViews inputs_;
  size_t output_;
  std::vector<int> signs_;     // by which the magnitudes of each input's elements are multiplied
  std::vector<bool> is_read_;  // whether elements of the input are in formulas
  std::vector<size_t> parameters_;  // numbers of the fields whose numbers are in formulas
  bool is_possible_ = false;
};

// The sizes of elements before they are multiplied by scales below 1, for an operator that
// multiplies them by several; else none.
std::vector<double> SizesBeforeScales(const OperatorDesc& op, InputViews inputs, const Dims& sizes,
                                      size_t output);

}  // namespace dmlop
