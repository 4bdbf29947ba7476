// SPDX-License-Identifier: Apache-2.0
//   z = f(fl32(x W_z + H R_z + Wb_z + Rb_z))
//   r = f(fl32(x W_r + H R_r + Wb_r + Rb_r))
//   h = g(fl32(x W_h + fl32(r * H) R_h + Wb_h + Rb_h)) or, linear before reset,
//       g(fl32(x W_h + r * fl32(H R_h + Rb_h) + Wb_h))
//   H' = (1 - z) * h + z * H
#include <array>
#include <cmath>

#include "core/engine/recurrent/gates.h"
#include "core/exact/exact_sum.h"

namespace dmlop {
namespace {

enum Gate : int64_t { kUpdate, kReset, kHidden };

// (1 - z) * h + z * H
template <typename T>
T RoundMixture(double z, double h, double hidden) {
  const double plain = (1 - z) * h + z * hidden;
  if (!std::isfinite(plain)) return RoundOnce<T>(plain);
  std::array<double, 3> parts = {h, z * hidden, -z * h};
  const BoundedSum near = SumOfParts(parts);
  if (near.bound == 0 && near.sum.head != 0) return RoundOnce<T>(near.sum.head, near.sum.tail);
  ExactSum sum;
  for (const double part : {h, z * hidden, -z * h}) sum.Add(part);
  if (sum.Sign() != 0) return RoundSum<T>(sum);
  return RoundOnce<T>(plain == 0 ? plain : 0.0);
}

template <typename T>
class Gru final : public Cell<T> {
 public:
  Gru(const CellParameters& parameters, bool linear_before_reset)
      : parameters_(parameters),
        linear_before_reset_(linear_before_reset),
        inputs_(parameters.weights.layout.sizes[1]),
        units_(parameters.recurrence.layout.sizes[1]),
        gates_(std::array{Part(parameters.weights, kUpdate, 2),
                          Part(parameters.recurrence, kUpdate, 2)}) {
    const ConstTensorView weights = Part(parameters.weights, kHidden, 1);
    const ConstTensorView recurrence = Part(parameters.recurrence, kHidden, 1);
    if (linear_before_reset) {
      products_.emplace_back(std::array{recurrence});
      products_.emplace_back(std::array{weights});
    } else {
      products_.emplace_back(std::array{weights, recurrence});
    }
  }

  void Step(const StepItems<T>& items) override {
    GateValues gates(items.count, 2, units_);
    gates_.Run(items.count,
               std::array{RowsOf<T>(items.input, inputs_), RowsOf<T>(items.hidden, units_)},
               BiasesOf(parameters_, items.count, units_, kUpdate, 2), gates.data());
    gates.Activate(kUpdate, parameters_.activations[0]);
    gates.Activate(kReset, parameters_.activations[0]);
    GateValues candidate(items.count, 1, units_);
    if (linear_before_reset_) {
      ResetLinear(items, gates, candidate);
    } else {
      ResetHidden(items, gates, candidate);
    }
    candidate.Activate(0, parameters_.activations[1]);
    for (int64_t i = 0; i < items.count; ++i) {
      for (int64_t u = 0; u < units_; ++u) {
        T& hidden = items.hidden[i * units_ + u];
        hidden = RoundMixture<T>(gates.At(i, kUpdate, u), candidate.At(i, 0, u), AsDouble(hidden));
      }
    }
  }

 private:
  ConstTensorView Part(const ConstTensorView& weights, Gate first, int64_t count) const {
    return GatesOf(weights, units_, first, count);
  }

  void ResetHidden(const StepItems<T>& items, const GateValues& gates, GateValues& candidate) {
    std::vector<float> reset(static_cast<size_t>(items.count * units_));
    for (int64_t i = 0; i < items.count; ++i) {
      for (int64_t u = 0; u < units_; ++u) {
        const int64_t place = i * units_ + u;
        reset[static_cast<size_t>(place)] =
            RoundProduct<float>(gates.At(i, kReset, u), AsDouble(items.hidden[place]));
      }
    }
    products_[0].Run(items.count,
                     std::array{RowsOf<T>(items.input, inputs_), RowsOf(reset.data(), units_)},
                     BiasesOf(parameters_, items.count, units_, kHidden, 1), candidate.data());
  }

  void ResetLinear(const StepItems<T>& items, const GateValues& gates, GateValues& candidate) {
    GateValues linear(items.count, 1, units_);
    products_[0].Run(items.count, std::array{RowsOf<T>(items.hidden, units_)},
                     {BiasOf(parameters_, items.count, units_, {1, kHidden, 1})}, linear.data());
    std::vector<double> reset(static_cast<size_t>(items.count * units_));
    for (int64_t i = 0; i < items.count; ++i) {
      for (int64_t u = 0; u < units_; ++u) {
        reset[static_cast<size_t>(i * units_ + u)] =
            static_cast<double>(gates.At(i, kReset, u)) * linear.At(i, 0, u);
      }
    }
    products_[1].Run(
        items.count, std::array{RowsOf<T>(items.input, inputs_)},
        {BiasOf(parameters_, items.count, units_, {0, kHidden, 1}), ProductsOf(reset, units_)},
        candidate.data());
  }

  const CellParameters parameters_;
  const bool linear_before_reset_;
  int64_t inputs_, units_;
  GateProduct gates_;
  std::vector<GateProduct> products_;
};

}  // namespace

template <typename T>
std::unique_ptr<Cell<T>> GruCell(const CellParameters& parameters, bool linear_before_reset) {
  return std::make_unique<Gru<T>>(parameters, linear_before_reset);
}

template std::unique_ptr<Cell<float>> GruCell(const CellParameters&, bool);
template std::unique_ptr<Cell<Half>> GruCell(const CellParameters&, bool);

}  // namespace dmlop
