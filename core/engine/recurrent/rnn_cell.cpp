// SPDX-License-Identifier: Apache-2.0
//   H' = f(fl32(x W + H R + Wb + Rb))
#include <array>

#include "core/engine/recurrent/gates.h"

namespace dmlop {
namespace {

template <typename T>
class Rnn final : public Cell<T> {
 public:
  explicit Rnn(const CellParameters& parameters)
      : parameters_(parameters),
        product_(std::array{parameters.weights, parameters.recurrence}),
        inputs_(parameters.weights.layout.sizes[1]),
        units_(parameters.recurrence.layout.sizes[1]) {}

  void Step(const StepItems<T>& items) override {
    GateValues gate(items.count, 1, units_);
    product_.Run(items.count,
                 std::array{RowsOf(items.input, inputs_), RowsOf<T>(items.hidden, units_)},
                 BiasesOf(parameters_, items.count, units_, 0, 1), gate.data());
    gate.Activate(0, parameters_.activations[0]);
    for (int64_t i = 0; i < items.count * units_; ++i) {
      items.hidden[i] = RoundOnce<T>(gate.data()[i]);
    }
  }

 private:
  const CellParameters parameters_;
  GateProduct product_;
  int64_t inputs_, units_;
};

}  // namespace

template <typename T>
std::unique_ptr<Cell<T>> RnnCell(const CellParameters& parameters) {
  return std::make_unique<Rnn<T>>(parameters);
}

template std::unique_ptr<Cell<float>> RnnCell(const CellParameters&);
template std::unique_ptr<Cell<Half>> RnnCell(const CellParameters&);

}  // namespace dmlop
