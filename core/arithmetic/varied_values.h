// SPDX-License-Identifier: Apache-2.0
// Elements of outputs in other arithmetics than the exact one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/arithmetic/arithmetic.h"
#include "core/arithmetic/computation.h"
#include "core/arithmetic/float_format.h"
#include "core/exact/double_double.h"
#include "core/ops/formula.h"
#include "core/tensor/element.h"

namespace dmlop {

class ElementFormula;

// The variations that can make a difference to an output, the simplest first.
std::vector<ArithmeticVariation> ArithmeticVariationsOf(const OperatorDesc& op, InputViews inputs,
                                                        size_t output);

// Returns whether an operator is element-wise and has nothing but operations that any device rounds
// alike, such as sums and products: no quotients, roots, exponentials and the like, which devices
// compute in several ways, and no products with an addend, which may be fused.
bool IsChainOfExactSteps(const OperatorDesc& op, InputViews inputs, size_t output);

// The work of an element's formula, about that of so many additions of many digits.
int64_t FormulaWork(const OperatorDesc& op, InputViews inputs, size_t output);

// Returns whether elements of a type are computed by their formulas in an arithmetic.
bool NeedsFormula(const ArithmeticVariation& variation, DataType type);

// Returns whether variations of a kind leave a fused activation as it is.
bool IsOfOwnResult(ArithmeticKind kind);

// Computes the elements of an output with these row-major numbers in each of the arithmetics, in
// the output's type. What a variation does not change is exact. Many variations of the same
// elements take much less time together than one by one, as formulas are made once.
std::vector<std::vector<ElementBytes>> ComputeVaried(
    const OperatorDesc& op, InputViews inputs, std::span<const ArithmeticVariation> variations,
    size_t output, std::span<const int64_t> elements);

std::vector<ElementBytes> ComputeVaried(const OperatorDesc& op, InputViews inputs,
                                        const ArithmeticVariation& variation, size_t output,
                                        std::span<const int64_t> elements);

// --- fused activations ---------------------------------------------------------------------------

// Returns whether an activation follows an operator's own results in an output.
bool IsActivated(const OperatorDesc& op, size_t output);

// Elements of such an output, by the operator's own ones. Activations that look at each element by
// itself do so as of a row of the asked elements; for others, all are needed.
class FusedElements {
 public:
  FusedElements(const OperatorDesc& host, std::span<const int64_t> elements);

  // The operator's own elements that the asked ones are made of.
  std::span<const int64_t> needed() const { return needed_; }

  // The asked elements, by those that are needed; the activation may be in another arithmetic.
  std::vector<ElementBytes> Of(const std::vector<ElementBytes>& own,
                               const ArithmeticVariation* variation = nullptr) const;

 private:
  OperatorDesc activation_;
  std::vector<int64_t> needed_, asked_;
  Dims sizes_;  // of what is needed
};

// --- what is read, and what becomes of results ---------------------------------------------------

// Arithmetics that change what an operator reads, or what becomes of its results.

// --- inputs --------------------------------------------------------------------------------------

bool ChangesInputs(const ArithmeticVariation& variation);

// The inputs whose elements are multiplied by those of other ones, by number; all if none are.
std::vector<bool> FactorsOf(const OperatorDesc& op, InputViews inputs, size_t output);

// The inputs of a float type that a variation rounds, by number. `factors`: see FactorsOf.
std::vector<bool> RoundedOf(const OperatorDesc& op, InputViews inputs, RoundedInputs which,
                            const std::vector<bool>& factors);

// The same operator on the inputs as the device reads them. `factors`: see FactorsOf.
Computation WithChangedInputs(Computation computation, const ArithmeticVariation& variation,
                              const std::vector<bool>& factors);

// The same as far as these elements of an output need it, which takes little time where they need
// small parts of the inputs. Those of a fused activation are asked for as its host has them.
Computation WithChangedInputs(Computation computation, const ArithmeticVariation& variation,
                              const std::vector<bool>& factors, size_t output,
                              std::span<const int64_t> elements);

// The first input with infinity in place of NaN, and the greatest number in place of infinity.
Computation WithNanGreatest(Computation computation);

// Returns whether an operator does nothing but convert elements to another type.
bool OnlyConverts(const OperatorDesc& op);

// Returns whether the same conversion to integers reads elements that have been rounded to a format
// before.
bool ConvertsThrough(const OperatorDesc& op, FloatFormat format);
Computation WithConvertedInput(Computation computation, FloatFormat format);

// --- outputs -------------------------------------------------------------------------------------

bool ChangesOutputs(const ArithmeticVariation& variation);

void ChangeOutputs(const ArithmeticVariation& variation, DataType type,
                   std::span<ElementBytes> elements);

// `rounded` is the element that is nearest to an exact number.
ElementBytes TowardZero(DataType type, const ElementBytes& rounded, DoubleDouble exact);
// A FLOAT16 that is rounded to FLOAT32 before.
ElementBytes ThroughFloat32(DoubleDouble exact);

// --- other operands and other integers -----------------------------------------------------------

// Formulas in which another operand is chosen than the pages say, or integers become others;
// nothing else is rounded.

// Elements of a type in one of the arithmetics nan-passes, starts-at-zero, last-of-equals,
// saturated and wrapped, or of an integer type in toward-zero.
std::vector<ElementBytes> ChosenElements(const ArithmeticVariation& variation,
                                         const ElementFormula& formula, DataType type);

// Returns whether such a variation may change an element of a formula. This takes much less time
// than to compute it, which is done exactly.
bool ChoosesOther(const ArithmeticVariation& variation, const ElementFormula& formula);

// Returns whether an operator prefers the first of equal elements to others in a way that its
// formula does not have; and the elements of an output if it prefers the last one.
bool ChoosesFirstOfEquals(const OperatorDesc& op);
std::vector<ElementBytes> LastOfEquals(const Computation& computation, size_t output,
                                       std::span<const int64_t> elements);

// Returns whether an operator selects floats in their order, NaN last; and the elements of an
// output if NaN is the greatest number.
bool SelectsInOrder(const OperatorDesc& op);
std::vector<ElementBytes> SelectedNanFirst(const Computation& computation, size_t output,
                                           std::span<const int64_t> elements);

// An element of an output that has the places of the maxima in the first one: that of the last of
// the greatest elements; none if the first output has no maxima.
std::optional<ElementBytes> LastPlaceOfMaximum(const OperatorDesc& op, InputViews inputs,
                                               const Region& element);

// --- rounded states of networks ------------------------------------------------------------------

// Networks that round their states before they multiply them.

// Returns, for an element of a network's output, one of the first direction and of the longest
// item, so that it has steps before it where any has.
Region InLongItem(const OperatorDesc& network, InputViews inputs, Region element);

// Computes elements of a network's output if hidden states are rounded where they are multiplied by
// weights, and nowhere else. Returns nothing for a network with activations of all units together.
std::optional<std::vector<ElementBytes>> ElementsOfRoundedStates(const Computation& network,
                                                                 const FloatRounding& rounding,
                                                                 size_t output,
                                                                 std::span<const int64_t> elements);

}  // namespace dmlop
