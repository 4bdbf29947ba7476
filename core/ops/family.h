// What operators compute, as far as they do it in one way: an operator names its family and says
// what is its own. Everything else that can be asked of it is answered once for each family.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/engine/element_wise/loop.h"
#include "core/engine/fill/diagonal_band.h"
#include "core/engine/weighted/weighted_sum.h"
#include "core/exact/reduce_function.h"
#include "core/tensor/dims.h"
#include "core/tensor/element.h"
#include "core/tensor/scale_bias.h"
#include "core/tensor/tensor.h"

namespace dmlop {

class OperatorDesc;
struct Region;

// For each way that leads from an input to an output, the part of the input that a part of the
// output is computed from; for one element exactly, for several perhaps more. Empty where there is
// none. The descriptor must outlive the maps.
using SourceMap = std::function<std::optional<Region>(const Region& output)>;

// The tensors of an operator by role, in the order of its slots.
using InputViews = std::span<const ConstTensorView>;
using OutputViews = std::span<const TensorView>;

// --- formulas ------------------------------------------------------------------------------------

// Says what an element of an output is made of; the node is the element before it is rounded. See
// formula.h. Null where an operator does not say it yet.
class Formula;
using FormulaNode = uint32_t;
using FormulaFunction = FormulaNode (*)(const OperatorDesc& op, const Region& element,
                                        Formula& formula);

// --- elements are computed from those at their place in the inputs -------------------------------

struct ElementWise {
  ElementWiseFunction function = ElementWiseFunction::kCast;
  // Sets what fields say besides ScaleBias: parameters, or another function. Null: nothing.
  void (*prepare)(const OperatorDesc& op, ElementWiseCall& call) = nullptr;
  // What the function takes, in its order, and what else elements of the inputs say. The first has
  // the output's sizes, the others too, or sizes that divide them: then each element is that of a
  // block of the output's. Null: the inputs.
  std::vector<ConstTensorView> (*operands)(const OperatorDesc& op, InputViews inputs,
                                           ElementWiseCall& call) = nullptr;
  FormulaFunction formula = nullptr;  // null: that of the function
};

// --- elements change their places, and nothing else ----------------------------------------------

// What becomes what: a view of an input and a view of an output, with equal sizes.
struct TensorMove {
  size_t input;
  ConstTensorView from;
  size_t output;
  TensorView to;

  // Adds a dimension with a stride on each side.
  void PushDim(int64_t size, int64_t from_stride, int64_t to_stride) {
    from.layout.sizes.push_back(size);
    from.layout.strides.push_back(from_stride);
    to.layout.sizes.push_back(size);
    to.layout.strides.push_back(to_stride);
  }
};

// Where an element of the output lies in the windows of an input: the window and the tap within it.
struct WindowPlace {
  Dims block;       // the window's place in each spatial dimension, counted in steps
  Dims tap;         // within the window
  int64_t channel;  // of the input
  Dims position;    // spatial dimensions of the input; outside it in the padding
  bool in_padding;
};

struct Movement {
  // Null: nothing is moved.
  std::vector<TensorMove> (*moves)(const OperatorDesc& op, InputViews inputs, OutputViews outputs);
  // What elements have that no move reaches. Null, or nothing: moves reach all.
  std::optional<ElementBytes> (*fill)(const OperatorDesc& op) = nullptr;
  // Does the same as the moves, where that is quicker. Null: nothing is.
  void (*run)(const OperatorDesc& op, InputViews inputs, OutputViews outputs) = nullptr;
  // Null: there are no windows.
  WindowPlace (*window)(const OperatorDesc& op, const Dims& output_index) = nullptr;
  // What covers a part of the only output, whatever moves there. Null: nothing does.
  DiagonalBand (*band)(const OperatorDesc& op) = nullptr;
};

// --- the elements along some axes become one -----------------------------------------------------

struct Reduction {
  ReductionCall (*call)(const OperatorDesc& op);
};

// --- a function of the tensors' views ------------------------------------------------------------

// A part of the outputs is the same function of parts of the inputs: matrix products, gathering by
// indices, statistics of slices.
struct Custom {
  // All that it needs of sizes and strides is in the views.
  void (*run)(const OperatorDesc& op, InputViews inputs, OutputViews outputs);
  // Elements that are read only where values say so count as sources. One map at most for an input.
  std::vector<SourceMap> (*sources)(const OperatorDesc& op);
  // Dimensions of the outputs, which have equal sizes in the others, along which no part is
  // computed by itself. Null: there are none.
  std::vector<uint32_t> (*whole)(const OperatorDesc& op) = nullptr;
  // Warns of values of the inputs. Null: of none.
  void (*warn)(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics) = nullptr;
  // Multiply-adds of the whole. Null: none that count beside the memory's time.
  int64_t (*operations)(const OperatorDesc& op) = nullptr;
  // Indices choose the elements of the first input that are read.
  bool chooses = false;
  FormulaFunction formula = nullptr;
};

// Of outputs that are computed as a whole.
std::vector<uint32_t> AllDimensions(const OperatorDesc& op);

// --- a function of the places of elements --------------------------------------------------------

// What an element is computed from depends on where it is in the whole tensor, as with windows that
// padding cuts off.
struct Placed {
  // Computes the part of the outputs that begins at an index. `inputs` are whole. Outputs have
  // equal sizes, and one without data is not wanted.
  void (*run)(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs);
  std::vector<SourceMap> (*sources)(const OperatorDesc& op);
  int64_t (*operations)(const OperatorDesc& op) = nullptr;  // as of Custom
  FormulaFunction formula = nullptr;
  void (*warn)(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics) = nullptr;
  // Of which weighted sums of the first input the only output is. Null: it is nothing of that kind.
  WeightedSource (*weights)(const OperatorDesc& op, const ConstTensorView& input) = nullptr;
};

using Family = std::variant<Custom, ElementWise, Movement, Placed, Reduction>;

// --- what each family answers --------------------------------------------------------------------

// A part of a tensor: the elements whose indices lie in a box, in row-major order.
struct Region {
  size_t tensor;  // its number among those of its role
  Dims begin;
  Dims sizes;

  int64_t count() const { return Product(sizes); }
  Dims IndexAt(int64_t k) const;
};

// Runs a valid descriptor. The views have the sizes and types of the slots of their role, in order;
// their strides are their own and need not be those of the descriptor. Outputs overlap nothing, but
// for an operator that runs in place.
void Run(const OperatorDesc& op, InputViews inputs, OutputViews outputs);

std::vector<SourceMap> SourcesOf(const OperatorDesc& op);

// Computes a part of an output into a view of that part's sizes.
void RunPart(const OperatorDesc& op, InputViews inputs, const Region& part,
             const TensorView& output);

// What of an output is computed together with a part of it, such as whole rows.
Region ComputedWith(const OperatorDesc& op, const Region& part);

// Whether parts that are computed by themselves take together no more work than all at once.
bool HasCheapParts(const OperatorDesc& op);

// Whether each element of the outputs is computed from those at its place in the inputs, and from
// nothing else: then Run takes views of one part of all tensors, too.
bool RunsOnAnyPart(const OperatorDesc& op);

// The multiply-adds of a valid descriptor; 0 where only memory counts.
int64_t OperationsOf(const OperatorDesc& op);

// Warns of values of the inputs that are most likely wrong, such as an index that is out of range
// (IDX-5). Pointers are relative to the descriptor. A run itself says nothing of them.
void WarnOfValues(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics);

}  // namespace dmlop
