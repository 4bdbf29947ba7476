// SPDX-License-Identifier: Apache-2.0
// Variations of place by id, computed from the operator alone. diagnose finds them from a device's
// values (evidence.h, evidence.h); run and explain take them as they are told.
//
//   not-written, not-written:[0, 128..255], not-written:120..159    0 everywhere, in a box, or from
//                                       one element in memory to another; `=VALUE` behind it states
//                                       another value
//   from-input:ATensor                  elements of an input
//   shifted:[0,0,0,-1], shifted:[0,1],block=[0..7, *]    each element, or each in a block, is the
//                                       one so much further along each axis; 0 comes in at the edge
//   reversed:axis=2, reversed:axes=[1,2]
//   permuted:[0,2,3,1]                  written as if the axes were in this order
//   other-layout:OutputTensor=[1,0]     read as if its axes were in this order in memory
//   permuted:[0,2,1,3],split=2/16, other-layout:OutputTensor=[0,2,1,3],split=2/16    likewise,
//                                       with axis 2 as blocks of 16
//   exchanged:[16,-16],block=[0..15, 16..31]    this block and the one so far from it
//   tail-missing, head-missing, part-missing, other-layout, padding-edge    as in evidence.h
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/arithmetic/computation.h"
#include "core/judge/evidence.h"
#include "core/judge/omitted_terms.h"

namespace dmlop {

enum class PlaceKind : uint8_t {
  kNotWritten,
  kFromInput,
  kShifted,
  kReversed,
  kPermuted,
  kExchanged,
  kMissingPart,
  kBegunAnew,
  kOtherLayout,
  kPaddingEdge
};

// Coordinates along an axis: "*", "3", "0..7" or "1..63 by 2".
struct Stretch {
  int64_t first = 0;
  int64_t last = -1;  // -1: to the end
  int64_t step = 1;

  bool Has(int64_t coordinate) const {
    return coordinate >= first && (last < 0 || coordinate <= last) &&
           (coordinate - first) % step == 0;
  }
};

struct PlaceVariation {
  PlaceKind kind;
  // A shift, axes, an order of axes or a distance; the ends of a run; of a part: its axis, and
  // where it begins and ends, or how long each piece is; -1: at the end.
  std::vector<int64_t> numbers{};
  std::vector<Stretch> box{};
  std::string name{};        // of a tensor, of how padding is made, or of states
  std::string value{};       // a number, or the bits in hexadecimal form
  AxisSplit split{};         // of the axes that are in another order
  bool is_written = false;   // an input is laid out so, not read
  bool is_shorter = false;   // an input is shorter, as for a mean of fewer elements
  bool is_of_terms = false;  // terms are left out of the sums that an element's formula has
  bool is_of_taps = false;   // these are taps of windows
  OmissionKind omission{};   // how they are

  // Returns whether right elements are in other places.
  bool Moves(const OperatorDesc& op) const;

  // Returns, if this moves elements, the number of the one that stands at an index; -1 beyond an
  // edge.
  int64_t SourceAt(const Dims& sizes, Dims index) const;

  // Returns the computation with what it reads changed, if this is of inputs; none if that cannot
  // be done.
  std::optional<Computation> Changed(const Computation& computation) const;

  // Returns the input of which this leaves out a part; none if it fits none.
  std::optional<size_t> InputOf(const Computation& computation, size_t output) const;

  // Returns whether an output of the changed computation has such places.
  bool Fits(const Computation& computation, size_t output) const;

  // Elements of an output that this fits; `compute` finds them as they would be otherwise.
  std::vector<ElementBytes> ElementsOf(const Computation& computation, size_t output,
                                       std::span<const int64_t> elements,
                                       const ElementsFunction& compute) const;

 private:
  int64_t SourceInOrder(const Dims& sizes, const Dims& index) const;
  std::optional<Computation> WithoutPart(const Computation& computation) const;
  bool FitsAxis(const Computation& computation, const TermAxis& axis) const;
  std::optional<TermAxis> FindAxis(const Computation& computation) const;
  std::optional<TermAxis> FindTerms(const Computation& computation, size_t output) const;
  std::vector<ElementBytes> WithoutTerms(const Computation& computation, size_t output,
                                         std::span<const int64_t> elements) const;
  bool IsUnwritten(const Dims& sizes, int64_t element) const;
};

bool IsPlaceId(std::string_view id);

// All ids, without details.
std::vector<std::string> PlaceIds();

// The form of details of a known id, for messages: "shifted:[0,0,0,-1]".
std::string_view FormOfPlace(std::string_view id);

// Returns the meaning of a known id, in words.
std::string_view TextOfPlace(std::string_view id);

// Returns none if the details are not of that form.
std::optional<PlaceVariation> ParsePlace(std::string_view id);

bool IsIn(std::span<const Stretch> box, const Dims& index);

// The coordinates of elements, by dimension, and those between the first and the last in steps that
// divide all distances. There must be an element.
std::vector<Stretch> StretchesOf(const Dims& sizes, std::span<const int64_t> elements);

// A distance, and the elements that stand before others at it.
struct ElementPairing {
  Dims distance;
  std::vector<int64_t> first;
};

// Pairs elements, which ascend: each has just one other, always at the same distance, with which it
// is exchanged. Returns ways to do so, the nearest first, that are found soon. Several threads may
// ask which are exchanged.
using AreExchanged = std::function<bool(int64_t element, int64_t other)>;
std::vector<ElementPairing> PairingsOf(const Dims& sizes, std::span<const int64_t> elements,
                                       const AreExchanged& are_exchanged);

// The text of coordinates: "[*, 0..7, 1..63 by 2]".
std::string BoxText(const Dims& sizes, std::span<const Stretch> box);

// A value of an element, in the form that an id has.
std::string ValueText(DataType type, const ElementBytes& element);

// The elements of an input that a device writes that forgets the operation: in the same places or
// order, or those that a larger input begins with; none if there are not as many.
std::optional<ConstTensorView> AsOutput(ConstTensorView input, DataType type, const Dims& sizes);

// An element of an input, rounded once to another type.
ElementBytes ElementAs(const ConstTensorView& input, int64_t number, DataType type);

}  // namespace dmlop
