// SPDX-License-Identifier: Apache-2.0
// Recurrent networks step through the sequences of a batch. States are rounded once to the tensors'
// type, and all values in between once to FLOAT32 (REC-11 to REC-14).
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/integers.h"
#include "core/base/parallel.h"
#include "core/engine/matrix/matrix_product.h"
#include "core/exact/double_double.h"
#include "core/exact/rounding.h"
#include "core/tensor/element.h"
#include "core/tensor/tensor.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {

// Applies an activation to {1, gates, items, units} of FLOAT32, in place. Several threads call it.
using ActivationFunction = std::function<void(const TensorView& values)>;

// The parameters of one direction. A view without data is left out.
struct CellParameters {
  ConstTensorView weights;     // {gates * H, I}
  ConstTensorView recurrence;  // {gates * H, H}
  ConstTensorView bias;        // {2 * gates * H}: the weights' bias, then the recurrence's
  ConstTensorView peepholes;   // {3 * H}: for the gates i, o, f
  std::vector<ActivationFunction> activations;
};

// Some items of the batch at a step: the input, with a line of I elements for each item, and the
// states {items, H} before the step, packed, which the cell replaces. T is float or Half.
template <typename T>
struct StepItems {
  int64_t count;
  MatrixView input;
  T* hidden;
  T* memory;  // LSTM only
  // The cell calls this with each item once its hidden states are those after the step.
  std::function<void(Range items)> store_hidden;
};

template <typename T>
class Cell {
 public:
  virtual ~Cell() = default;
  virtual void Step(const StepItems<T>& items) = 0;
};

template <typename T>
std::unique_ptr<Cell<T>> RnnCell(const CellParameters& parameters);

struct LstmOptions {
  std::optional<float> clip;
  bool couples = false;  // couples the input gate with the forget gate
};
template <typename T>
std::unique_ptr<Cell<T>> LstmCell(const CellParameters& parameters, const LstmOptions& options);

template <typename T>
std::unique_ptr<Cell<T>> GruCell(const CellParameters& parameters, bool linear_before_reset);

// The tensors of one direction; all have the same type. Initial states without data are 0, and
// outputs without data are not written.
struct SequenceViews {
  ConstTensorView input;                // {S, B, I}
  std::vector<int64_t> lengths;         // at most S, one for each item
  bool backward = false;                // begins with an item's last step
  ConstTensorView hidden, memory;       // initial states {B, H}
  TensorView sequence;                  // {S, B, H}
  TensorView last_hidden, last_memory;  // {B, H}
};

template <typename T>
void RunSequence(const SequenceViews& views, int64_t units, Cell<T>& cell);

// --- gates ---------------------------------------------------------------------------------------

// Code that the cells of recurrent networks share.

// The values of consecutive gates for some items: {gates, items, H}.
class GateValues {
 public:
  GateValues(int64_t items, int64_t gates, int64_t units)
      : items_(items),
        gates_(gates),
        units_(units),
        values_(std::make_unique_for_overwrite<float[]>(static_cast<size_t>(count()))) {}

  float* data() { return values_.get(); }
  // The values of a gate for all units.
  float* Row(int64_t item, int64_t gate) { return data() + (gate * items_ + item) * units_; }
  float At(int64_t item, int64_t gate, int64_t unit) const {
    return values_[static_cast<size_t>((gate * items_ + item) * units_ + unit)];
  }

  // A matrix with a row for each item.
  MatrixOutput Matrix() {
    return {reinterpret_cast<std::byte*>(data()),
            DataType::kFloat32,
            {{items_}, {units_}},
            {{gates_, units_}, {items_ * units_, 1}}};
  }

  // Activates some consecutive gates at once.
  void Activate(int64_t first, int64_t count, Range items, const ActivationFunction& function) {
    function({reinterpret_cast<std::byte*>(Row(items.begin, first)),
              DataType::kFloat32,
              {{1, count, items.count(), units_}, {0, items_ * units_, units_, 1}}});
  }

  void Clip(float most) {
    for (float& value : std::span(data(), static_cast<size_t>(count()))) {
      value = value < -most ? -most : value > most ? most : value;
    }
  }

 private:
  int64_t count() const { return items_ * gates_ * units_; }

  int64_t items_, gates_, units_;
  std::unique_ptr<float[]> values_;
};

// The sums that gates of a recurrent network are computed from: exact sums of products of weights
// with an input and a state, rounded once to FLOAT32.
class GateProduct {
 public:
  // Each of `weights` has a row for each unit of the gates, and all have equally many.
  explicit GateProduct(std::span<const ConstTensorView> weights);

  // Computes, for each line of `inputs` (one input for each of the weights, with as many lines),
  // the sum of their products and of the addends; an addend's element for line i and unit u of all
  // gates is at OffsetOf of both.
  void Run(std::span<const MatrixView> inputs, const std::vector<MatrixAddend>& addends,
           GateValues& results) const;

 private:
  std::unique_ptr<ViewLines> columns_;
  std::unique_ptr<PackedLines> packed_;
};

// Calls body with ranges of items, in parallel if that pays. It suits all that an item does by
// itself, which is everything but the products.
template <typename Body>
void ForItems(int64_t items, int64_t units, Body&& body) {
  constexpr int64_t kLeastElements = 1 << 9;
  ParallelFor(items, std::max<int64_t>(1, kLeastElements / units), 0,
              [&](int64_t begin, int64_t end) {
                body(Range{begin, end});
              });
}

// Packed rows.
template <typename T>
MatrixView RowsOf(const T* data, int64_t count, int64_t length) {
  return {reinterpret_cast<const std::byte*>(data),
          kDataTypeOf<T>,
          {{count}, {length}},
          {{length}, {1}}};
}

// The part of the weights that belongs to some gates.
inline ConstTensorView GatesOf(const ConstTensorView& weights, int64_t units, int64_t first,
                               int64_t count) {
  return weights.Slice(0, first * units, count * units);
}

// The bias of some gates, the same for every item; 0 if it is left out. `rest` is 0 for the
// weights' bias, 1 for the recurrence's.
struct BiasPart {
  int64_t rest, first_gate, gates;
};
MatrixAddend BiasOf(const CellParameters& parameters, int64_t items, int64_t units,
                    const BiasPart& part);
// The biases of both the weights and the recurrence.
std::vector<MatrixAddend> BiasesOf(const CellParameters& parameters, int64_t items, int64_t units,
                                   int64_t first_gate, int64_t gates);

// Exact products of FLOAT32 numbers, packed, for each item and unit.
MatrixAddend ProductsOf(const std::vector<double>& products, int64_t units);

// a * b, computed exactly and rounded once.
template <typename T>
T RoundProduct(double a, double b) {
  return RoundOnce<T>(a * b);
}

}  // namespace dmlop
