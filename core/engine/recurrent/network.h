// Recurrent networks: steps through sequences of a batch, whose states are rounded once to the
// tensors' type, and all between them once to FLOAT32 (REC-11 to REC-14).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/tensor/half.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Runs an activation on {1, 1, items, units} of FLOAT32.
using ActivationFunction = std::function<void(const ConstTensorView& from, const TensorView& to)>;

// Of one direction. A view without data is left out.
struct CellParameters {
  ConstTensorView weights;     // {gates * H, I}
  ConstTensorView recurrence;  // {gates * H, H}
  ConstTensorView bias;        // {2 * gates * H}: beside the weights, then beside the recurrence
  ConstTensorView peepholes;   // {3 * H}: of the gates i, o, f
  std::vector<ActivationFunction> activations;
};

// Some items of the batch at a step, packed: the input {items, I}, and the states {items, H} of
// before the step, which the cell replaces. T is float or Half.
template <typename T>
struct StepItems {
  int64_t count;
  const T* input;
  T* hidden;
  T* memory;  // of an LSTM only
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
  bool couples = false;  // the input gate with the forget gate
};
template <typename T>
std::unique_ptr<Cell<T>> LstmCell(const CellParameters& parameters, const LstmOptions& options);

template <typename T>
std::unique_ptr<Cell<T>> GruCell(const CellParameters& parameters, bool linear_before_reset);

// The tensors of one direction, all of one type but for the lengths. Without data, initial states
// are 0, and outputs are not wanted.
struct SequenceViews {
  ConstTensorView input;                // {S, B, I}
  std::vector<int64_t> lengths;         // of each item, at most S
  bool backward = false;                // from the last step of an item on
  ConstTensorView hidden, memory;       // initial {B, H}
  TensorView sequence;                  // {S, B, H}
  TensorView last_hidden, last_memory;  // {B, H}
};

template <typename T>
void RunSequence(const SequenceViews& views, int64_t units, Cell<T>& cell);

}  // namespace dmlop
