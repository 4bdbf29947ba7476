// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "core/engine/recurrent/network.h"
#include "core/exact/exact_sum.h"
#include "core/kernels/recurrent/states.h"

namespace dmlop {

// --- RNN -----------------------------------------------------------------------------------------

//   H' = f(fl32(x W + H R + Wb + Rb))

namespace {

template <typename T>
class Rnn final : public Cell<T> {
 public:
  explicit Rnn(const CellParameters& parameters)
      : parameters_(parameters),
        product_(std::array{parameters.weights, parameters.recurrence}),
        units_(parameters.recurrence.layout.sizes[1]) {}

  void Step(const StepItems<T>& items) override {
    GateValues gate(items.count, 1, units_);
    product_.Run(std::array{items.input, RowsOf<T>(items.hidden, items.count, units_)},
                 BiasesOf(parameters_, items.count, units_, 0, 1), gate);
    ForItems(items.count, units_, [&](Range range) {
      gate.Activate(0, 1, range, parameters_.activations[0]);
      for (int64_t i = range.begin * units_; i < range.end * units_; ++i) {
        items.hidden[i] = RoundOnce<T>(gate.data()[i]);
      }
      items.store_hidden(range);
    });
  }

 private:
  const CellParameters parameters_;
  GateProduct product_;
  int64_t units_;
};

}  // namespace

template <typename T>
std::unique_ptr<Cell<T>> RnnCell(const CellParameters& parameters) {
  return std::make_unique<Rnn<T>>(parameters);
}

template std::unique_ptr<Cell<float>> RnnCell(const CellParameters&);
template std::unique_ptr<Cell<Half>> RnnCell(const CellParameters&);

// --- GRU -----------------------------------------------------------------------------------------

//   z = f(fl32(x W_z + H R_z + Wb_z + Rb_z))
//   r = f(fl32(x W_r + H R_r + Wb_r + Rb_r))
//   h = g(fl32(x W_h + fl32(r * H) R_h + Wb_h + Rb_h)) or, linear before reset,
//       g(fl32(x W_h + r * fl32(H R_h + Rb_h) + Wb_h))
//   H' = (1 - z) * h + z * H

namespace {

enum GruGate : int64_t { kUpdate, kReset, kHidden };

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
    gates_.Run(std::array{items.input, RowsOf<T>(items.hidden, items.count, units_)},
               BiasesOf(parameters_, items.count, units_, kUpdate, 2), gates);
    GateValues candidate(items.count, 1, units_);
    if (linear_before_reset_) {
      ResetLinear(items, gates, candidate);
    } else {
      ResetHidden(items, gates, candidate);
    }
    ForItems(items.count, units_, [&](Range range) {
      candidate.Activate(0, 1, range, parameters_.activations[1]);
      for (int64_t i = range.begin; i < range.end; ++i) {
        for (int64_t u = 0; u < units_; ++u) {
          T& hidden = items.hidden[i * units_ + u];
          hidden =
              RoundMixture<T>(gates.At(i, kUpdate, u), candidate.At(i, 0, u), AsDouble(hidden));
        }
      }
      items.store_hidden(range);
    });
  }

 private:
  ConstTensorView Part(const ConstTensorView& weights, GruGate first, int64_t count) const {
    return GatesOf(weights, units_, first, count);
  }

  // Activates the gates, and calls reset(place, value of the reset gate) for each unit.
  template <typename Reset>
  void ApplyGates(int64_t items, GateValues& gates, Reset&& reset) const {
    ForItems(items, units_, [&](Range range) {
      gates.Activate(kUpdate, 2, range, parameters_.activations[0]);
      for (int64_t i = range.begin; i < range.end; ++i) {
        for (int64_t u = 0; u < units_; ++u) reset(i * units_ + u, gates.At(i, kReset, u));
      }
    });
  }

  void ResetHidden(const StepItems<T>& items, GateValues& gates, GateValues& candidate) const {
    std::vector<float> reset(static_cast<size_t>(items.count * units_));
    ApplyGates(items.count, gates, [&](int64_t place, float gate) {
      reset[static_cast<size_t>(place)] = RoundProduct<float>(gate, AsDouble(items.hidden[place]));
    });
    products_[0].Run(std::array{items.input, RowsOf(reset.data(), items.count, units_)},
                     BiasesOf(parameters_, items.count, units_, kHidden, 1), candidate);
  }

  void ResetLinear(const StepItems<T>& items, GateValues& gates, GateValues& candidate) const {
    GateValues linear(items.count, 1, units_);
    products_[0].Run(std::array{RowsOf<T>(items.hidden, items.count, units_)},
                     {BiasOf(parameters_, items.count, units_, {1, kHidden, 1})}, linear);
    std::vector<double> reset(static_cast<size_t>(items.count * units_));
    ApplyGates(items.count, gates, [&](int64_t place, float gate) {
      reset[static_cast<size_t>(place)] = static_cast<double>(gate) * linear.data()[place];
    });
    products_[1].Run(
        std::array{items.input},
        {BiasOf(parameters_, items.count, units_, {0, kHidden, 1}), ProductsOf(reset, units_)},
        candidate);
  }

  const CellParameters parameters_;
  const bool linear_before_reset_;
  int64_t units_;
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

// --- LSTM ----------------------------------------------------------------------------------------

// Without a clip, clip(a) = a; without peepholes, P = 0:
//
//   i  = f(clip(fl32(x W_i + H R_i + P_i * C + Wb_i + Rb_i)))
//   fg = f(clip(fl32(x W_f + H R_f + P_f * C + Wb_f + Rb_f))), or fl32(1 - i)
//   c  = g(clip(fl32(x W_c + H R_c + Wb_c + Rb_c)))
//   C' = fg * C + i * c
//   o  = f(clip(fl32(x W_o + H R_o + P_o * C' + Wb_o + Rb_o)))
//   H' = o * h(C')

namespace {

enum LstmGate : int64_t { kInput, kOutput, kForget, kMemory };
constexpr int64_t kGates = 4;

template <typename T>
class Lstm final : public Cell<T> {
 public:
  Lstm(const CellParameters& parameters, const LstmOptions& options)
      : parameters_(parameters), options_(options), units_(parameters.recurrence.layout.sizes[1]) {
    if (HasPeepholes()) {
      // Gates are separate products, because the output gate peeps at the new memory.
      products_.push_back(ProductOf({kInput, 1}));
      products_.push_back(ProductOf({kForget, 2}));
      products_.push_back(ProductOf({kOutput, 1}));
    } else {
      products_.push_back(ProductOf({kInput, kGates}));
    }
  }

  void Step(const StepItems<T>& items) override {
    if (HasPeepholes()) return StepByPeepholes(items);
    GateValues gates = Run(products_[0], items, {});
    ForItems(items.count, units_, [&](Range range) {
      gates.Activate(kInput, options_.couples ? 2 : 3, range, F());
      UpdateMemory(items, range, {gates, kInput, gates, kForget});
      UpdateHidden(items, range, {gates, kOutput, gates, kForget});
    });
  }

 private:
  // Consecutive gates.
  struct Gates {
    int64_t first, count;
  };
  struct Product {
    Gates gates;
    GateProduct product;
  };
  // The places of the input gate or of the output gate, and of the forget gate, which the memory's
  // gate follows and the memory replaces.
  struct Places {
    GateValues& gates;
    int64_t gate;
    GateValues& forget;
    int64_t forget_gate;
  };

  bool HasPeepholes() const { return parameters_.peepholes.data != nullptr; }
  const ActivationFunction& F() const { return parameters_.activations[0]; }

  Product ProductOf(Gates gates) const {
    return {gates, GateProduct(std::array{
                       GatesOf(parameters_.weights, units_, gates.first, gates.count),
                       GatesOf(parameters_.recurrence, units_, gates.first, gates.count)})};
  }

  GateValues Run(const Product& product, const StepItems<T>& items,
                 const std::vector<double>& peeped) const {
    const auto [first, count] = product.gates;
    GateValues gates(items.count, count, units_);
    std::vector<MatrixAddend> addends = BiasesOf(parameters_, items.count, units_, first, count);
    if (!peeped.empty()) addends.push_back(ProductsOf(peeped, count * units_));
    product.product.Run(std::array{items.input, RowsOf<T>(items.hidden, items.count, units_)},
                        addends, gates);
    if (options_.clip) gates.Clip(*options_.clip);
    return gates;
  }

  // Products of a peephole with the memory; all `gates` but the first get -0, adding nothing.
  std::vector<double> Peeped(const StepItems<T>& items, LstmGate gate, int64_t gates) const {
    const int64_t width = gates * units_;
    std::vector<double> products(static_cast<size_t>(items.count * width), -0.0);
    const int64_t stride = parameters_.peepholes.layout.strides[0];
    const T* peephole = parameters_.peepholes.elements<T>() + gate * units_ * stride;
    for (int64_t i = 0; i < items.count; ++i) {
      for (int64_t u = 0; u < units_; ++u) {
        products[static_cast<size_t>(i * width + u)] =
            AsDouble(peephole[u * stride]) * AsDouble(items.memory[i * units_ + u]);
      }
    }
    return products;
  }

  void StepByPeepholes(const StepItems<T>& items) const {
    GateValues input = Run(products_[0], items, Peeped(items, kInput, 1));
    GateValues forget = Run(products_[1], items, Peeped(items, kForget, 2));
    ForItems(items.count, units_, [&](Range range) {
      input.Activate(0, 1, range, F());
      if (!options_.couples) forget.Activate(0, 1, range, F());
      UpdateMemory(items, range, {input, 0, forget, 0});
    });
    GateValues output = Run(products_[2], items, Peeped(items, kOutput, 1));
    ForItems(items.count, units_, [&](Range range) {
      output.Activate(0, 1, range, F());
      UpdateHidden(items, range, {output, 0, forget, 0});
    });
  }

  void UpdateMemory(const StepItems<T>& items, Range range, const Places& at) const {
    at.forget.Activate(at.forget_gate + 1, 1, range, parameters_.activations[1]);
    for (int64_t i = range.begin; i < range.end; ++i) {
      const float* input = at.gates.Row(i, at.gate);
      float* forget = at.forget.Row(i, at.forget_gate);
      if (options_.couples) {
        std::transform(input, input + units_, forget, [](float gate) { return 1.0f - gate; });
      }
      kernels_.mix(units_, forget, input, at.forget.Row(i, at.forget_gate + 1),
                   items.memory + i * units_);
    }
  }

  void UpdateHidden(const StepItems<T>& items, Range range, const Places& at) const {
    at.forget.Activate(at.forget_gate, 1, range, parameters_.activations[2]);
    for (int64_t i = range.begin; i < range.end; ++i) {
      kernels_.multiply(units_, at.gates.Row(i, at.gate), at.forget.Row(i, at.forget_gate),
                        items.hidden + i * units_);
    }
    items.store_hidden(range);
  }

  const CellParameters parameters_;
  const LstmOptions options_;
  int64_t units_;
  StateKernels<T> kernels_ = StateKernelsFor<T>();
  std::vector<Product> products_;
};

}  // namespace

template <typename T>
std::unique_ptr<Cell<T>> LstmCell(const CellParameters& parameters, const LstmOptions& options) {
  return std::make_unique<Lstm<T>>(parameters, options);
}

template std::unique_ptr<Cell<float>> LstmCell(const CellParameters&, const LstmOptions&);
template std::unique_ptr<Cell<Half>> LstmCell(const CellParameters&, const LstmOptions&);

}  // namespace dmlop
