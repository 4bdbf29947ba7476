// SPDX-License-Identifier: Apache-2.0
// Elements without some terms of the sums in their formulas, such as a device has that ends a loop
// too early: of a softmax, of a mean, of a window.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/arithmetic/computation.h"
#include "core/judge/evidence.h"
#include "core/ops/formula.h"

namespace dmlop {

// --- parts of axes -------------------------------------------------------------------------------

// Computations in which a part of an axis is left out, or that begin anew along one.

// Computes elements of an output by their row-major numbers.
using ElementsFunction = std::function<std::vector<ElementBytes>(
    const Computation& computation, size_t output, std::span<const int64_t> elements)>;

// The coordinates [from, to).
struct AxisPart {
  int64_t from;
  int64_t to;

  int64_t count() const { return to - from; }
  auto operator<=>(const AxisPart&) const = default;
};

// An axis of an input along which terms lie. Its coordinates are those of the input or, where an
// operator has windows or heads, those within one of these. The taps of windows are one axis, too,
// in row-major order.
struct TermAxis {
  size_t input;
  size_t axis;  // the first one that windows have
  int64_t size;
  bool is_of_taps = false;

  auto operator<=>(const TermAxis&) const = default;
};

// Returns the axes along which one of the elements of an output needs all coordinates, by input and
// axis.
std::vector<TermAxis> ReducedAxesOf(const Computation& computation, size_t output,
                                    std::span<const int64_t> elements);

// The part is 0, as for sums whose terms were never added.
Computation WithZeros(const Computation& original, const TermAxis& axis, const AxisPart& part);

// The input is shorter, as for a mean of fewer terms or a maximum, with those of `all` that have as
// many coordinates, if it cannot be so alone; none if it cannot be so at all.
std::optional<Computation> Without(const Computation& original, const TermAxis& axis,
                                   std::vector<TermAxis> all, const AxisPart& part);

// The states that the pieces of a network begin with: those that are given; or zeros, or zeros in
// all pieces but the first.
enum class FirstState : uint8_t { kGiven, kZero, kZeroLater };

// Returns the states by the name that an id has; none if there is no such name.
std::optional<FirstState> FindFirstState(std::string_view name);

// Pieces of so many coordinates along an axis, each of which is computed by itself, as of running
// sums that begin anew. The first has another length where those of a scan that runs backwards are
// counted from the end.
struct AxisPieces {
  size_t axis;
  int64_t length;
  int64_t first;  // the length of the first piece
  FirstState state = FirstState::kGiven;
};

// Elements of an output that is computed in pieces; none if the tensors cannot be cut so.
std::vector<ElementBytes> BegunAnew(const Computation& original, size_t output,
                                    const AxisPieces& pieces, std::span<const int64_t> elements,
                                    const ElementsFunction& compute);

// --- omitted terms -------------------------------------------------------------------------------

struct ElementQuestion;

// The axes of the sums of an element. Where there are no sums, maxima and minima have terms.
// Formulas that would have more nodes take too long where many are tried.
std::vector<TermAxis> TermAxesOf(const Computation& computation, const Region& element,
                                 size_t most_nodes = size_t{1} << 16);

// The elements that tell the terms of a list apart: the first in which they differ, or those of
// one input.
enum class TermPath { kAny, kToInput };
constexpr TermPath TermPathAlong(const TermAxis& axis) {
  return axis.is_of_taps ? TermPath::kToInput : TermPath::kAny;
}

// The coordinates of the terms of a list along an axis; -1 for a term without one.
std::vector<int64_t> CoordinatesOfTerms(const Computation& computation, const Region& element,
                                        const Formula& formula, FormulaNode list,
                                        const TermAxis& axis, TermPath path);

// How terms are left out of the sums of an element.
struct OmissionKind {
  bool is_counted = false;  // though means divide by their number, too
  bool is_last = false;     // only of sums that no other such sum depends on, as of squares of
                            // differences from a mean

  auto operator<=>(const OmissionKind&) const = default;
};

class OmittedTerms {
 public:
  // `few` are elements that are asked for many times.
  OmittedTerms(const Evidence& evidence, const TermAxis& axis, std::span<const int64_t> few);

  // The most operations that one of the few takes without a part.
  int64_t WorkOfFew() const;

  // The kinds that make a difference to the few: of means, it matters what they are divided by, and
  // of sums that depend on others, whether these have all terms.
  std::vector<OmissionKind> Kinds() const;

  // The elements without the terms of a part; nothing is known of those that have no formula.
  std::vector<VariedElement> Without(const AxisPart& part, const OmissionKind& kind,
                                     std::span<const int64_t> elements) const;

 private:
  struct Known;

  ElementQuestion QuestionOf(std::span<const int64_t> elements) const;
  // Returns all that the first elements of a group have in common; no formula if there is none.
  Known KnownOf(const ElementQuestion& question, std::span<const size_t> group) const;
  // The same before a fused activation.
  std::vector<VariedElement> OwnWithout(const AxisPart& part, const OmissionKind& kind,
                                        std::span<const int64_t> elements) const;

  const Evidence& evidence_;
  TermAxis axis_;
  std::map<int64_t, std::shared_ptr<const Known>> few_;
};

}  // namespace dmlop
