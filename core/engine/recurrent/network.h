// SPDX-License-Identifier: Apache-2.0
// Recurrent networks step through the sequences of a batch. States are rounded once to the tensors'
// type, and all values in between once to FLOAT32 (REC-11 to REC-14).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/tensor/half.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Applies an activation to {1, 1, items, units} of FLOAT32, in place. Several threads call it.
using ActivationFunction = std::function<void(const TensorView& values)>;

// The parameters of one direction. A view without data is left out.
struct CellParameters {
  ConstTensorView weights;     // {gates * H, I}
  ConstTensorView recurrence;  // {gates * H, H}
  ConstTensorView bias;        // {2 * gates * H}: the weights' bias, then the recurrence's
  ConstTensorView peepholes;   // {3 * H}: for the gates i, o, f
  std::vector<ActivationFunction> activations;
};

// Some items of the batch at a step, packed: the input {items, I}, and the states {items, H} before
// the step, which the cell replaces. T is float or Half.
template <typename T>
struct StepItems {
  int64_t count;
  const T* input;
  T* hidden;
  T* memory;  // LSTM only
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

}  // namespace dmlop
