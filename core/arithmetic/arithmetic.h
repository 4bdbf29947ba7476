// SPDX-License-Identifier: Apache-2.0
// Arithmetics that devices use in place of the exact one, by id. Details follow a colon.
//
//   inputs-tf32 (ties away), inputs-tf32:ties-to-even, inputs-tf32:cut-off
//   inputs-bfloat16, inputs-bfloat16:cut-off, inputs-float16
//       Inputs are rounded; where an operator multiplies some of them, only those. With the detail
//       `all`, those that are added are rounded, too; with `first`, only the first of those that
//       are multiplied; with `weights`, only the others of these, but for states; with `computed`,
//       also what is computed before it is a factor of a sum, such as the weights of attention.
//   sums-float32, sums-float16, sums-bfloat16
//       Each partial sum is rounded: in order of the terms; `pairwise`; `blocks=B`, each in order,
//       and their sums in order; `lanes=L` take every L-th term and are added as a tree, by halves
//       or `neighbours`; `parts=P` are as long as one another, each in order, and so are their
//       sums. A product is added before it is rounded, unless it is `unfused` or sums are pairwise.
//       `in-float32`: the sums of blocks or parts are added in FLOAT32.
//       The terms of windows are those of one tap after another, without those in padding;
//       `backwards`: from the last one to the first; `padded`: with zeros in padding;
//       `by-channel`: those of one channel after another, with zeros in padding. `rounded-addend`:
//       the sum with the addend is rounded like the others; `addend-first`: sums begin with the
//       addend.
//   product-rounded        A sum of products is rounded to the output's type before the addend.
//   float32-steps, float16-steps    Each operation of the formula is rounded; integers are, too, if
//                          there is nothing else. `rounded-constants`:
//                          fractions such as an Alpha of 0.1 are, too. `whole-sums`: the sum of a
//                          list is rounded once, as that of a device that keeps it in FLOAT32.
//                          `quotients-first`: a product is multiplied after its division.
//   through-float16, through-float32    Results are rounded to this type on their way.
//   toward-zero, toward-zero:after-zero-point, toward-zero:floor
//                          Results are rounded toward zero; integers of quantization also after
//                          the zero point is added, or down.
//   flush-subnormals:outputs, flush-subnormals:inputs, flush-subnormals (both)
//   nan-passes             Maxima, minima and choices are NaN if what they compare is.
//   starts-at-zero         A maximum of many is 0 at least, and a minimum at most.
//   last-of-equals         The last one of equal elements wins, or the first where it is the last.
//   fast-functions         Functions are off by more than rounding; this has no values of its own.
//   saturated              Integers end at the ends of their type in place of wrapping; floats at
//                          the greatest finite number.
//   wrapped, wrapped:differences, wrapped:sums    Integers wrap in place of ending there; those
//                          that are subtracted from or added to one another wrap in their own type.
//   saturated:int16, wrapped:int16    Sums of integers end at the ends of INT16, or wrap in it.
//   saturated:int16-steps, saturated:int16-pairs    They do so after each term; only the sums of
//                          every two terms do so.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/arithmetic/float_format.h"
#include "core/ops/operator.h"
#include "core/tensor/element.h"

namespace dmlop {

enum class ArithmeticKind : uint8_t {
  kInputs,
  kSums,
  kProductRounded,
  kSteps,
  kThrough,
  kTowardZero,
  kFlushSubnormals,
  kNanPasses,
  kStartsAtZero,
  kLastOfEquals,
  kFastFunctions,
  kSaturated,
  kWrapped
};

// The inputs that are rounded. Factors are those that an operator multiplies by other ones.
enum class RoundedInputs : uint8_t { kFactors, kAll, kFirstFactor, kWeights, kWithComputed };

enum class SumOrder : uint8_t { kInOrder, kPairwise, kBlocks, kParts, kLanes, kLanesOfNeighbours };

// The terms that are added in this order. Filters have a place for each of them.
enum class TermOrder : uint8_t {
  kOfFormula,    // by tap, without those in padding
  kBackwards,    // the same, from the last one to the first
  kWithPadding,  // by tap, with zeros in padding
  kByChannel     // all taps of a channel, then those of the next, with zeros in padding
};

// When the addend of a sum of products is added.
enum class AddendOrder : uint8_t { kExactly, kRounded, kFirst };

enum class FlushedPart : uint8_t { kOutputs, kInputs, kBoth };

// The integers that wrap or end at the ends of a type.
enum class WrappedPart : uint8_t {
  kResults,
  kDifferences,
  kSums,
  kSumsInInt16,
  kStepsInInt16,  // of sums, term by term
  kPairsInInt16   // of neighbouring terms, whose sums are added in more bits
};

// Quotients become whole before the zero point is added or after that, or are rounded down.
enum class CutOff : uint8_t { kQuotient, kAfterZeroPoint, kFloor };

struct ArithmeticVariation {
  ArithmeticKind kind;
  FloatFormat format = FloatFormat::kFloat32;  // of inputs, sums, steps and what results go through
  RoundingMode mode = RoundingMode::kTiesToEven;  // of inputs
  RoundedInputs inputs = RoundedInputs::kFactors;
  SumOrder order = SumOrder::kInOrder;
  int count = 0;  // of terms in a block, or of lanes
  bool is_fused = true;
  bool adds_blocks_in_float32 = false;
  FlushedPart flushed = FlushedPart::kOutputs;
  WrappedPart wrapped = WrappedPart::kResults;
  TermOrder terms = TermOrder::kOfFormula;
  AddendOrder addend = AddendOrder::kExactly;
  bool rounds_constants = false;
  bool has_whole_sums = false;
  bool divides_first = false;
  CutOff cut_off = CutOff::kQuotient;

  std::string id() const;    // "sums-float16:blocks=64,unfused"
  std::string text() const;  // "sums in FLOAT16, in blocks of 64, products rounded"

  friend bool operator==(const ArithmeticVariation&, const ArithmeticVariation&) = default;
};

// Returns all variations, the simplest first.
std::span<const ArithmeticVariation> AllArithmeticVariations();

// Returns nothing if there is no such id.
std::optional<ArithmeticVariation> ParseArithmetic(std::string_view id);

}  // namespace dmlop
