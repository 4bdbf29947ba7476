// SPDX-License-Identifier: Apache-2.0
// The output of a device beside the right one, and hypotheses that are counted on it.
#pragma once

#include <algorithm>
#include <atomic>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/arithmetic/arithmetic.h"
#include "core/arithmetic/computation.h"
#include "core/base/parallel.h"
#include "core/units/units.h"

namespace dmlop {

// An output in row-major order without gaps.
struct PackedOutput {
  Buffer buffer;
  DataType type;
  Dims sizes;

  const std::byte* at(int64_t element) const {
    return buffer.data() + element * static_cast<int64_t>(ByteWidth(type));
  }
  double Value(int64_t element) const { return ValueOf(type, at(element)); }
  ElementBytes Bytes(int64_t element) const;
  ConstTensorView view() const { return {buffer.data(), type, PackedLayout(sizes)}; }
};

PackedOutput Packed(const ConstTensorView& view);

// Returns those elements of which something is true, in their order. Several threads ask at once.
template <typename IsTrue>
std::vector<int64_t> Those(std::span<const int64_t> elements, const IsTrue& is_true) {
  constexpr int64_t kGrain = 4096;
  std::vector<char> are_true(elements.size());
  ParallelFor(std::ssize(elements), kGrain, /*bytes=*/0, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      are_true[i] = is_true(elements[i]);
    }
  });
  std::vector<int64_t> those;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (are_true[i]) those.push_back(elements[i]);
  }
  return those;
}

// Returns whether something is true of all elements. This ends soon after one of which it is not.
template <typename IsTrue>
bool AreAll(std::span<const int64_t> elements, const IsTrue& is_true) {
  constexpr int64_t kGrain = 4096;
  std::atomic<bool> are_all = true;
  ParallelFor(std::ssize(elements), kGrain, /*bytes=*/0, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end) && are_all; ++i) {
      if (!is_true(elements[i])) are_all = false;
    }
  });
  return are_all;
}

// The ways in which a hypothesis can reproduce an element.
enum class Criterion {
  kRounding,  // to the bit, or as if it had been rounded in another order
  kBits,
  kNearer,  // four times nearer than the right value is
};

struct Evidence {
  const Computation& computation;  // as it was asked for
  size_t output;                   // number among its outputs
  PackedOutput actual;
  PackedOutput expected;
  std::optional<ErrorUnits> units;  // none where only equality is right
  std::vector<int64_t> wrong{};     // the elements that a cause must reproduce
  std::vector<int64_t> right{};     // the others, which it must leave as they are
  Criterion criterion = Criterion::kRounding;
  bool is_quantized = false;  // an integer may be off by a step
  bool in_bfloat16 = false;   // both outputs are of numbers of bfloat16
  int64_t formula_work = 1;   // see FormulaWork

  int64_t count() const { return Product(expected.sizes); }
  Region At(int64_t element) const {
    const Dims& sizes = expected.sizes;
    return {output, IndexOf(sizes, element), Dims::Filled(sizes.size(), 1)};
  }
};

// Returns whether a value is apart from what the device has by no more than rounding explains, in
// the units of that element; null: none.
bool IsNoise(const Evidence& evidence, const ErrorUnits* units, int64_t element, double actual,
             double value);

// The most units that rounding explains.
double NoiseOf(const Evidence& evidence, const ErrorUnits& units, int64_t element);

// Functions are allowed relative errors, but a device that takes the logarithm of a sum, such as
// that of 1 + e^x, has the error of the sum, which is absolute there. So has one that computes
// tanh x from e^x and e^-x, or 1 / (1 + e^-x) from tanh(x / 2), unless results are subnormal.
// Returns how many times as large the error may be therefore.
double PartOfNumbersNearOne(const ErrorUnits& units, int64_t element);

// An element as a hypothesis has it.
struct VariedElement {
  ElementBytes bytes{};
  int64_t place = -1;  // the element in whose units its error is measured; -1: nothing is known

  bool is_known() const { return place >= 0; }
};

// The share of the right elements that have a value of the device's by chance: of those that are
// equal or, where few are, of those that are close. What has it on purpose is one of them.
double ShareOfValue(const Evidence& evidence, const ElementBytes& value);

// An event that chance brings about less often than this is evidence.
inline constexpr double kByChance = 0.01;

// Another arithmetic of a computation. `computation` is null if it is the one that was asked for.
struct OtherArithmetic {
  std::shared_ptr<const Computation> computation;
  ArithmeticVariation variation;
};

// The share that a cause reproduces where a part or a block was searched for that fits best.
inline constexpr double kEnoughOfSearched = 0.99;

// Measuring the units of a changed output takes the work of another one.
inline constexpr int64_t kMostWorkForUnits = 200'000'000;

// A change of the computation that may be what the device does.
struct Hypothesis {
  std::vector<std::string> ids;
  std::string text;
  std::function<std::vector<VariedElement>(std::span<const int64_t> elements)> compute;
  // The units of the changed output; null: those of the right one.
  std::function<std::optional<ErrorUnits>()> units = nullptr;
  bool is_slow = false;     // computes by formulas, which takes many times as long
  bool needs_bits = false;  // of what is wrong, as it is one of many
  bool has_bits = true;     // false: it says how far off results are, not what they are
  // A cause reproduces at least this share.
  double enough = 0.9;
  std::optional<OtherArithmetic> arithmetic{};  // that computes it, if one does
};

// A changed computation as a hypothesis about an output.
Hypothesis OfComputation(std::string id, std::string text, Computation changed, size_t output);

// The share of the evidence that a hypothesis explains.
struct Score {
  int64_t of = 0;         // wrong elements that were looked at
  int64_t unknown = 0;    // wrong elements that nothing is known about, such as at an edge
  int64_t zeros = 0;      // those of them that are 0, as what comes in at an edge often is
  int64_t explained = 0;  // those that are reproduced, to the bit or up to noise
  int64_t exact = 0;      // to the bit
  double broken = 0;      // right elements that would be wrong, in terms of all elements
  double rest = 0;        // the mean square of the units that are left where it explains
  uint64_t hash = 0;      // of all values

  double share() const {
    return of == 0 ? 0 : (static_cast<double>(explained) - broken) / static_cast<double>(of);
  }
  // The share of all wrong elements, unknown ones included.
  double share_of_all() const {
    return (static_cast<double>(explained + zeros) - broken) /
           static_cast<double>(std::max<int64_t>(of + unknown, 1));
  }
  double exact_share() const {
    return of == 0 ? 0 : static_cast<double>(exact) / static_cast<double>(of);
  }
};

// The elements that are looked at: evenly spread ones of the evidence, if there are too many.
struct SampledElements {
  std::vector<int64_t> wrong;
  std::vector<int64_t> right;

  std::vector<int64_t> all() const;  // the wrong ones, then the right ones
};
SampledElements SampleOf(const Evidence& evidence, size_t most);

// Returns whether a hypothesis brings most of a few wrong elements much closer to what the device
// has, and leaves most right ones as they are. `computed` has the wrong ones, then the right ones,
// which a device may have rounded if `are_rounded`.
bool IsPromising(const Evidence& evidence, const Hypothesis& hypothesis,
                 const SampledElements& few);
bool ArePromising(const Evidence& evidence, const SampledElements& few,
                  std::vector<VariedElement> computed, bool are_rounded);

// As many of a few wrong elements as most hypotheses need not be computed for more to be dismissed,
// and whether one that has `computed` these may still be promising.
std::span<const int64_t> FirstOf(const SampledElements& few);
bool MayStillBePromising(const Evidence& evidence, const SampledElements& few,
                         std::vector<VariedElement> computed, bool are_rounded);

// Returns whether one of some elements, at least, is the device's to the bit.
bool HasAnyBits(const Evidence& evidence, std::span<const int64_t> elements,
                std::vector<VariedElement> computed);

// Returns whether values, which nothing is known about where there are none, bring so many of a few
// wrong elements nearer that a hypothesis with them may be promising. This ends as soon as it is
// false.
bool MayBePromising(const Evidence& evidence, std::span<const int64_t> few,
                    const std::function<std::optional<double>(int64_t element)>& value_of);

// A quick score has the units of the right output, if it has any, as those of its own take long.
enum class ScoreAccuracy { kQuick, kFull };

// `computed`: what the hypothesis computes of the sample, if that has been done.
Score ScoreOf(const Evidence& evidence, const Hypothesis& hypothesis, const SampledElements& sample,
              ScoreAccuracy accuracy = ScoreAccuracy::kFull,
              std::optional<std::vector<VariedElement>> computed = std::nullopt);

// --- hypotheses of all kinds ---------------------------------------------------------------------

// The hypotheses about an output, of all kinds, that are promising on a few elements.

// The least rank decides between equally good hypotheses.
struct Rank {
  int kind = 0;
  size_t number = 0;

  auto operator<=>(const Rank&) const = default;
};

struct RankedHypothesis {
  Hypothesis hypothesis;
  Rank rank;
};

// Each stage is tried only if those before it found no cause.
enum class Stage {
  kSimple,  // single changes of the descriptor, of the arithmetic, and of places
  kInputs,  // tensors in another layout, and parts of inputs
  kPairs,   // two changes of the descriptor
  kChangeAndArithmetic,
  kTwoArithmetics,
  kLastResort,  // functions that are not accurate
  kAmongNoise,  // only arithmetics, whose bits count
};

std::vector<RankedHypothesis> HypothesesOf(const Evidence& evidence, const SampledElements& few,
                                           Stage stage);

// --- other arithmetics ---------------------------------------------------------------------------

// Arithmetics of one computation that are computed together build the formula of each element once.

// The computation that was asked for, or another one, in another arithmetic.
Hypothesis OfArithmetic(const Evidence& evidence, const OtherArithmetic& arithmetic);

// The elements of each of several arithmetics as a device's file has them.
std::vector<std::vector<VariedElement>> ElementsOfArithmetics(
    const Evidence& evidence, const Computation& computation,
    std::span<const ArithmeticVariation> variations, std::span<const int64_t> elements);

// The elements of hypotheses that are slow arithmetics of one computation; none for others.
std::vector<std::optional<std::vector<VariedElement>>> ComputedTogether(
    const Evidence& evidence, std::span<const Hypothesis* const> hypotheses,
    std::span<const int64_t> elements);

// If an operator has functions or quotients, errors of few digits that go both ways are theirs.
std::vector<Hypothesis> FastFunctionsOf(const Evidence& evidence);

// --- places --------------------------------------------------------------------------------------

// Variations of place: right values in wrong places, and elements that no computation explains.
//
//   not-written                 one value, or an untouched pattern, everywhere
//   not-written:[*, 8..15]      in a box; `120..159`: from one element to another in memory;
//                               `blocks,[*, *]`: in blocks within the box
//   from-input:ATensor          elements of an input
//   shifted:[0,0,1,1]           each element is the one so much further along each axis; in a part
//                               of the output: `shifted:[0,1],block=[0..7, *]`
//   reversed:axis=2             from the last to the first
//   permuted:[0,2,3,1]          written as if the axes were in this order
//   exchanged:[0,16]            two blocks, so far from one another, in each other's place

// Finds those that are promising, the simplest first. `few` are elements to try them on.
std::vector<Hypothesis> PlaceChangesOf(const Evidence& evidence, const SampledElements& few);

// Returns the forms that unwritten elements may have, promising or not.
std::vector<Hypothesis> UnwrittenOf(const Evidence& evidence);

// --- what is read --------------------------------------------------------------------------------

// Variations of what is read: terms of sums that are left out, inputs in another layout, and
// padding with what is at the edge.
//
//   tail-missing:axis=1,from=80            the terms from 80 on, along an axis of an input
//   head-missing:axis=1,to=16              the terms before 16
//   part-missing:axis=1,from=3,to=4        the terms between
//   part-missing:taps,from=3,to=4,terms    taps of windows, in row-major order
//   tail-missing:axis=1,from=80,of=BTensor    where that is not the first input that fits
//   head-missing:axis=1,every=1024         sums, or states, begin anew at every 1024-th element
//   head-missing:axis=1,every=32,from=4    likewise, at 4, 36, and so on
//   other-layout:BTensor=[1,0]             read as if its axes were in this order in memory
//   other-layout:BTensor:written=[1,0]     laid out so in memory, and read in the usual order
//   other-layout:BTensor=[0,1,3,4,2],split=1/8    axis 1 is two: of blocks of 8, and within them
//   padding-edge                           the nearest element of the input in place of padding

// Finds those that are promising, the simplest first. `few` are elements to try them on.
std::vector<Hypothesis> LayoutChangesOf(const Evidence& evidence, const SampledElements& few);
// The output, which is read, not written, has its axes in another order.
std::vector<Hypothesis> OutputLayoutsOf(const Evidence& evidence, const SampledElements& few);
std::vector<Hypothesis> EdgePaddingsOf(const Evidence& evidence, const SampledElements& few);
std::vector<Hypothesis> MissingPartsOf(const Evidence& evidence, const SampledElements& few);
// Sums or states begin anew.
std::vector<Hypothesis> NewBeginningsOf(const Evidence& evidence, const SampledElements& few);

// --- the changed computations --------------------------------------------------------------------

// Returns orders of axes that differ in memory from the usual one and from one another, as axes of
// size 1 do not count; none of more axes than `most_axes`.
std::vector<std::vector<size_t>> OrdersOf(const Dims& sizes, size_t most_axes);

// An axis that is two in memory: one of blocks of this length, and one within them.
struct AxisSplit {
  size_t axis = 0;
  int64_t length = 0;  // 0: no axis is split

  bool Fits(const Dims& sizes) const {
    return length == 0 || (axis < sizes.size() && sizes[axis] % length == 0);
  }
  Dims Of(const Dims& sizes) const;
};

// Axes as they lie in memory, after one of them has been split.
struct AxisOrder {
  std::vector<size_t> axes;
  AxisSplit split{};

  std::string text() const;  // "[0,1,3,4,2],split=1/8"
};

// Returns orders that have an axis split, of a tensor of an operator: blocks in turn, as of groups,
// heads before the places in a sequence, and blocks of channels that are the last axis.
std::vector<AxisOrder> SplitOrdersOf(const OperatorDesc& op, const Dims& sizes);

// The axes of an input are in this order in memory and read in the usual one, or the other way
// round.
Computation WithLayout(const Computation& original, size_t input, const AxisOrder& order,
                       bool is_written);

enum class Beyond { kNearest, kMirrored, kSymmetric, kWrapped, kZero };

// Returns how padding is made by the name that an id has; none if there is no such name.
std::optional<Beyond> FindBeyond(std::string_view name);

// Padding is made of elements, or of zeros; none if there is no padding.
std::optional<Computation> WithEdges(const Computation& original, Beyond beyond);

}  // namespace dmlop
