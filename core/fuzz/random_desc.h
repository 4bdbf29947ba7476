// SPDX-License-Identifier: Apache-2.0
// Random descriptors of any operator, covering all that its row of the table allows.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "core/fuzz/entropy.h"
#include "core/fuzz/field_value.h"
#include "core/ops/operator.h"
#include "core/ops/signature.h"
#include "core/tensor/layout.h"

namespace dmlop {

// --- sizes and layouts ---------------------------------------------------------------------------

enum class LayoutForms : uint8_t {
  kPacked,
  kUsual,  // packed, permuted, padded or broadcast
  kAll,    // also every other element, interleaved and otherwise overlapping rows, and any strides
           // where they have no meaning
};

// A size: mostly 1 to 9, otherwise powers of two, their neighbours and multiples, or any other
// number up to `most`.
int64_t RandomSize(const Entropy& from, int64_t most);

// Sizes with at most `max_elements` elements; many sizes are 1, and sometimes one is large.
Dims RandomSizes(const Entropy& from, size_t rank, int64_t max_elements);

// A layout for an output. No two elements share a place.
Layout RandomOutputLayout(const Entropy& from, const Dims& sizes,
                          LayoutForms forms = LayoutForms::kAll);

// A layout for an input: that of an output, or a broadcast or otherwise overlapping one.
Layout RandomInputLayout(const Entropy& from, const Dims& sizes,
                         LayoutForms forms = LayoutForms::kAll);

// --- descriptors ---------------------------------------------------------------------------------

// Draws keep to these limits beside the operator's rules.
struct DescLimits {
  FeatureLevel level = kHighestFeatureLevel;
  DataTypeSet types = {};          // of the type variable T; empty: all
  std::vector<size_t> ranks = {};  // of the first tensor; empty: all
  int64_t max_elements = 2000;     // of most tensors; some operators have larger ones
  // An element may depend on a whole slice of the tensor, which the tests' reference visits.
  int64_t max_slice_elements = 150;
  LayoutForms layouts = LayoutForms::kAll;
  // Draws infinities, NaN and sizes for which DirectML leaves the results open, too.
  bool open = true;
};

// Draws numbers of a descriptor.
class DescEntropy : public Entropy {
 public:
  DescEntropy(const Entropy& from, const DescLimits& limits) : Entropy(from), limits_(limits) {}

  const DescLimits& limits() const { return limits_; }

  Sizes Numbers(size_t count, uint64_t low, uint64_t high) const;

  // A size that is small in three of four cases.
  uint32_t SmallSize(uint64_t usual, uint64_t most) const {
    return OneIn(4) ? Size(most) : Number(1, usual);
  }

  // A number of steps, taps, groups or the like: seldom more than is usual.
  uint32_t Few(uint64_t usual, uint64_t most) const { return Number(1, OneIn(8) ? most : usual); }
  Sizes Few(size_t count, uint64_t usual, uint64_t most) const;

  // A size: mostly 1 to 9, otherwise powers of two, their neighbours and multiples, or any other
  // number up to `most`.
  uint32_t Size(uint64_t most) const;

  // A number for an attribute: mostly plain, otherwise at the ends of the range, or any.
  float Factor() const;

 private:
  const DescLimits& limits_;
};

// The element types in a set.
std::vector<DataType> TypesOf(DataTypeSet set);

// Draws all fields that are not set but layouts: types and ranks that the operator's newest row
// allows, numbers within the limits of their fields. The sizes of most outputs are left out, as
// they follow from the rest. Only draws enumerators if RowWithin returns null for these.
OperatorDesc DrawBareDesc(const Entropy& from, OperatorDesc begun, const DescLimits& limits);

// Draws strides for tensors of known sizes that have none.
void DrawLayouts(const Entropy& from, LayoutForms forms, OperatorDesc& op);

// A whole descriptor, which the operator may refuse.
OperatorDesc DrawDesc(const Entropy& from, OperatorDesc begun);

// The row of the table in force; null if the level, types or ranks leave none.
const SupportRow* RowWithin(const OperatorDesc& op, const DescLimits& limits);

// A number for an attribute: plain, special or any.
float RandomFactor(const Entropy& from);

// --- operators with a signature ------------------------------------------------------------------

// Draws sizes of an operator's tensors, of which the first has a rank, from a size for each word of
// its signature. Few tensors have more than `room` elements. Those of outputs may not hold. Also
// sets the number of groups, if that is left out.
std::map<const Field*, Sizes> DrawShapes(const DescEntropy& from, const SupportRow& row,
                                         size_t rank, int64_t room, OperatorDesc& op);

// --- operators with sizes of their own -----------------------------------------------------------

// Draws the sizes of an operator whose tensors and fields have interdependent ones, first and
// together.
struct SizesRow {
  std::string_view operators;  // patterns, separated by blanks
  // Sets fields and tensor sizes, with the tensors' types already set, to match the sizes of a
  // first tensor; leaves independent ones alone.
  void (*draw)(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op);
  bool draws_tensors = false;  // also draws optional tensors: those that it omits stay omitted
};

// Null if the operator's sizes do not depend on one another.
const SizesRow* SizesRowOf(const OperatorInfo& info);

// Rows defined in separate sources.
std::span<const SizesRow> MovementSizes();
std::span<const SizesRow> WindowSizes();

}  // namespace dmlop
