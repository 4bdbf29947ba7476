// SPDX-License-Identifier: Apache-2.0
// Families of operators that compute in the same way. An operator names its family and adds what is
// specific to it; every other question about it is answered once per family.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/engine/element_wise/loop.h"
#include "core/engine/fill/diagonal_band.h"
#include "core/engine/weighted/weighted_sum.h"
#include "core/exact/functions.h"
#include "core/tensor/element.h"
#include "core/tensor/layout.h"
#include "core/tensor/tensor.h"

namespace dmlop {

class OperatorDesc;
struct Region;

// Maps a part of an output to the part of an input that it is computed from: exactly for a single
// element, perhaps more for several; nothing if that output does not depend on the input. There is
// one map for each way from an input to an output. The descriptor must outlive the maps.
using SourceMap = std::function<std::optional<Region>(const Region& output)>;

// The tensors of one role, in the order of the operator's slots.
using InputViews = std::span<const ConstTensorView>;
using OutputViews = std::span<const TensorView>;

// --- formulas ------------------------------------------------------------------------------------

// Says what an element of an output is made of; the node is the element before it is rounded. See
// formula.h. Null where an operator does not say it yet.
class Formula;
using FormulaNode = uint32_t;
using FormulaFunction = FormulaNode (*)(const OperatorDesc& op, const Region& element,
                                        Formula& formula);

// --- elements computed from those at the same place in the inputs --------------------------------

struct ElementWise {
  ElementWiseFunction function = ElementWiseFunction::kCast;
  // Sets what other fields than ScaleBias say: parameters, or another function. Null: nothing.
  void (*prepare)(const OperatorDesc& op, ElementWiseCall& call) = nullptr;
  // Returns the function's operands in its order, and sets what elements of inputs determine. The
  // first operand has the output's sizes. The others have the same sizes or divisors of them; then
  // each of their elements applies to a block of the output. Null: the operands are the inputs.
  std::vector<ConstTensorView> (*operands)(const OperatorDesc& op, InputViews inputs,
                                           ElementWiseCall& call) = nullptr;
  FormulaFunction formula = nullptr;  // null: that of the function
};

// --- elements that only change their places ------------------------------------------------------

// Moves a view of an input to a view of an output with the same sizes.
struct TensorMove {
  size_t input;
  ConstTensorView from;
  size_t output;
  TensorView to;

  // Adds a dimension with one stride for each side.
  void PushDim(int64_t size, int64_t from_stride, int64_t to_stride) {
    from.layout.sizes.push_back(size);
    from.layout.strides.push_back(from_stride);
    to.layout.sizes.push_back(size);
    to.layout.strides.push_back(to_stride);
  }
};

// The window of an input, and the tap within it, that an element of the output lies in.
struct WindowPlace {
  Dims block;       // the window's place in each spatial dimension, counted in steps
  Dims tap;         // within the window, in each spatial dimension
  int64_t channel;  // of the input
  Dims position;    // in the input's spatial dimensions; outside of them if in the padding
  bool in_padding;
};

struct Movement {
  // Null: nothing is moved.
  std::vector<TensorMove> (*moves)(const OperatorDesc& op, InputViews inputs, OutputViews outputs);
  // The value of elements that no move reaches. Null, or no value: moves reach all.
  std::optional<ElementBytes> (*fill)(const OperatorDesc& op) = nullptr;
  // Does the same as the moves, but faster. Null: there is nothing faster.
  void (*run)(const OperatorDesc& op, InputViews inputs, OutputViews outputs) = nullptr;
  // Null: there are no windows.
  WindowPlace (*window)(const OperatorDesc& op, const Dims& output_index) = nullptr;
  // The band that overwrites a part of the only output after the moves. Null: there is none.
  DiagonalBand (*band)(const OperatorDesc& op) = nullptr;
};

// --- elements along some axes reduced to one -----------------------------------------------------

struct Reduction {
  ReductionCall (*call)(const OperatorDesc& op);
};

// --- any other function of the inputs ------------------------------------------------------------

// Computes parts of the outputs as the same function of parts of the inputs, as in matrix products,
// gathering by indices, and statistics of slices. Sizes and strides come from the views alone.
using RunOnParts = void (*)(const OperatorDesc& op, InputViews inputs, OutputViews outputs);
// Computes the part of the outputs that begins at `begin` from whole inputs, since an element
// depends on its place, as with windows that are clipped at the padding. Outputs have equal sizes,
// or one of them is computed, or all as a whole; those without data are not.
using RunAtPlace = void (*)(const OperatorDesc& op, InputViews inputs, const Dims& begin,
                            OutputViews outputs);

struct Computed {
  std::variant<RunOnParts, RunAtPlace> run;
  // Elements that are read only if values say so are sources. There is at most one map per input.
  std::vector<SourceMap> (*sources)(const OperatorDesc& op);
  // Dimensions of the outputs that cannot be computed in parts. Outputs have equal sizes in the
  // other dimensions. Null: there are none.
  std::vector<uint32_t> (*unsplittable_dims)(const OperatorDesc& op) = nullptr;
  // Widens a part of an output that can be computed by itself to what takes little more work than
  // that. Null: any part takes its share of the work, apart from these dimensions.
  Region (*together)(const OperatorDesc& op, Region part) = nullptr;
  // Warns of suspicious values of the inputs. Null: there is nothing to warn of.
  void (*warn)(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics) = nullptr;
  // The multiply-adds of the whole operator. Null: too few to matter beside memory traffic.
  int64_t (*operations)(const OperatorDesc& op) = nullptr;
  // Indices select the elements of the first input that are read.
  bool gathers = false;
  FormulaFunction formula = nullptr;
  // The output as a weighted sum of the first input, which is its formula; null if it is none.
  WeightedSource (*weights)(const OperatorDesc& op, const ConstTensorView& input) = nullptr;
};

// The operator's family if parts of its outputs are the same function of parts of its inputs; null
// if not, or if the family is another one.
const Computed* ComputedOnParts(const OperatorDesc& op);

// Every dimension: such an output is computed as a whole.
std::vector<uint32_t> AllDimensions(const OperatorDesc& op);

using Family = std::variant<Computed, ElementWise, Movement, Reduction>;

// --- questions that every family answers ---------------------------------------------------------

// A part of a tensor: the elements whose indices lie in a box, in row-major order.
struct Region {
  size_t tensor;  // index among the tensors of its role
  Dims begin;
  Dims sizes;

  int64_t count() const { return Product(sizes); }
  Dims IndexAt(int64_t k) const;
};

// Runs a valid descriptor. The views have the sizes and types of the slots of their role, in order,
// but may have other strides than the descriptor. No output overlaps another tensor, unless the
// operator runs in place.
void Run(const OperatorDesc& op, InputViews inputs, OutputViews outputs);

std::vector<SourceMap> SourcesOf(const OperatorDesc& op);

// Computes a part of an output into a view of that part's sizes.
void RunPart(const OperatorDesc& op, InputViews inputs, const Region& part,
             const TensorView& output);

// Returns the part of an output that is best computed together with `part`, such as whole rows.
Region ComputedWith(const OperatorDesc& op, const Region& part);

// Returns whether computing parts one by one takes no more work than computing all at once.
bool HasCheapParts(const OperatorDesc& op);

// Returns whether each output element depends only on the elements at its place in the inputs; then
// Run also accepts views of the same part of all tensors.
bool RunsOnAnyPart(const OperatorDesc& op);

// The multiply-adds of a valid descriptor; 0 if only memory traffic counts.
int64_t OperationsOf(const OperatorDesc& op);

// Warns of values of the inputs that are most likely wrong, such as indices out of range (IDX-5).
// Pointers are relative to the descriptor. Run itself does not warn.
void WarnOfValues(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics);

}  // namespace dmlop
