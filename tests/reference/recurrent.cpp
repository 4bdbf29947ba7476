// SPDX-License-Identifier: Apache-2.0
// RNN, LSTM and GRU: the states of one item in one direction, step by step, with exact sums.
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "core/tensor/visit_data_type.h"
#include "tests/reference/element.h"
#include "tests/reference/operators.h"
#include "tests/support/desc.h"

namespace dmlop::reference {
namespace {

using Inputs = std::span<const ConstTensorView>;

// An exact sum of products.
class Sum {
 public:
  Sum& Add(double a, double b) {
    const double product = a * b;  // exact, because both are FLOAT32 numbers
    if (!std::isfinite(product)) {
      special_ += product;
      return *this;
    }
    all_are_negative_zeros_ &= product == 0 && std::signbit(product);
    mpfr_add_d(exact_.get(), exact_.get(), product, MPFR_RNDN);
    return *this;
  }
  Sum& Add(double a) { return Add(a, 1); }

  double Rounded(DataType type) const {
    double result = 0;
    VisitDataType(Floats(), type, [&]<typename T>() {
      if (special_ != 0) {
        result = special_;
      } else if (mpfr_zero_p(exact_.get())) {
        result = all_are_negative_zeros_ ? -0.0 : 0.0;
      } else {
        result = ToDouble(RoundReal<T>(exact_));
      }
    });
    return result;
  }

 private:
  Real exact_{0.0, 1400};
  double special_ = 0;  // NaN or an infinity, if one was added
  bool all_are_negative_zeros_ = true;
};

float Fl32(const Sum& sum) {
  return static_cast<float>(sum.Rounded(DataType::kFloat32));
}

float Activated(OperatorDesc activation, float x) {
  TensorDesc one;
  one.data_type = DataType::kFloat32;
  one.sizes = std::vector<uint32_t>{1};
  for (const Field* tensor : TensorFieldsOf(activation.info())) activation.AddTensor(*tensor);
  for (const MutableTensorSlot& slot : TensorSlots(activation)) *slot.desc = one;
  ElementBytes bytes{};
  std::memcpy(bytes.data(), &x, sizeof(x));
  const ConstTensorView input{bytes.data(), DataType::kFloat32, PackedLayout({1})};
  return FromBits<float>(ExpectedAt(activation, {&input, 1}, 0, {0}).bits);
}

struct States {
  std::vector<double> hidden, memory;
};

class Item {
 public:
  Item(const OperatorDesc& desc, Inputs inputs, int64_t direction, int64_t item)
      : desc_(desc), inputs_(inputs), direction_(direction), item_(item) {
    type_ = inputs[0].type;
    inputs_count_ = inputs[0].layout.sizes[3];
    units_ = InputNamed("RecurrenceTensor")->layout.sizes[3];
    gates_ = InputNamed("RecurrenceTensor")->layout.sizes[2] / units_;
  }

  int64_t Length() const {
    const int64_t steps = inputs_[0].layout.sizes[1];
    const auto lengths = InputNamed("SequenceLengthsTensor");
    if (!lengths) return steps;
    return std::min(steps, static_cast<int64_t>(BitsAt(*lengths, {0, 0, 0, item_})));
  }

  bool IsBackward() const {
    const uint32_t direction = Get<uint32_t>(desc_, "Direction");
    return direction == 1 || direction_ == 1;
  }

  States Initial() const {
    States states;
    for (int64_t u = 0; u < units_; ++u) {
      states.hidden.push_back(At("HiddenInitTensor", {0, direction_, item_, u}));
      states.memory.push_back(At("CellMemInitTensor", {0, direction_, item_, u}));
    }
    return states;
  }

  States After(const States& states, int64_t time) const {
    if (desc_.name() == "RNN") return Rnn(states, time);
    return desc_.name() == "GRU" ? Gru(states, time) : Lstm(states, time);
  }

 private:
  std::optional<ConstTensorView> InputNamed(std::string_view name) const {
    const std::vector<TensorSlot> slots = TensorSlots(desc_, TensorRole::kInput);
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].path == name) return inputs_[i];
    }
    return std::nullopt;
  }

  // The number in a tensor; 0 if the tensor is left out.
  double At(std::string_view name, const Dims& index) const {
    const auto view = InputNamed(name);
    double value = 0;
    if (!view) return value;
    VisitDataType(Floats(), view->type,
                  [&]<typename T>() { value = ToDouble(FromBits<T>(BitsAt(*view, index))); });
    return value;
  }

  double Bias(int64_t row, int64_t rest) const {
    return At("BiasTensor", {0, 0, direction_, rest * gates_ * units_ + row});
  }

  void AddInput(int64_t row, int64_t time, Sum& sum) const {
    for (int64_t i = 0; i < inputs_count_; ++i) {
      sum.Add(At("InputTensor", {0, time, item_, i}), At("WeightTensor", {0, direction_, row, i}));
    }
  }
  template <typename Number>
  void AddHidden(int64_t row, const std::vector<Number>& hidden, Sum& sum) const {
    for (int64_t i = 0; i < units_; ++i) {
      sum.Add(hidden[static_cast<size_t>(i)], At("RecurrenceTensor", {0, direction_, row, i}));
    }
  }

  // The complete sum for a unit of a gate, without peepholes.
  Sum GateSum(int64_t gate, int64_t unit, const std::vector<double>& hidden, int64_t time) const {
    const int64_t row = gate * units_ + unit;
    Sum sum;
    AddInput(row, time, sum);
    AddHidden(row, hidden, sum);
    sum.Add(Bias(row, 0)).Add(Bias(row, 1));
    return sum;
  }

  float Act(size_t number, float x) const {
    const auto& all = Get<std::vector<OperatorDesc>>(desc_, "ActivationDescs");
    const size_t directions = Get<uint32_t>(desc_, "Direction") == 2 ? 2 : 1;
    return Activated(all[all.size() / directions * static_cast<size_t>(direction_) + number], x);
  }

  States Rnn(const States& states, int64_t time) const {
    States next;
    for (int64_t u = 0; u < units_; ++u) {
      const float f = Act(0, Fl32(GateSum(0, u, states.hidden, time)));
      next.hidden.push_back(Sum().Add(f).Rounded(type_));
    }
    return next;
  }

  float Clipped(float x) const {
    if (!Get<bool>(desc_, "UseClipThreshold")) return x;
    const float most = Get<float>(desc_, "ClipThreshold");
    if (x > most) return most;
    return x < -most ? -most : x;
  }

  float LstmGate(int64_t gate, int64_t unit, const States& states, double memory,
                 std::optional<int64_t> peephole, int64_t time) const {
    Sum sum = GateSum(gate, unit, states.hidden, time);
    if (peephole && InputNamed("PeepholeTensor")) {
      sum.Add(At("PeepholeTensor", {0, 0, direction_, *peephole * units_ + unit}), memory);
    }
    return Clipped(Fl32(sum));
  }

  States Lstm(const States& states, int64_t time) const {
    enum Gate { kI, kO, kF, kC };
    States next;
    for (int64_t u = 0; u < units_; ++u) {
      const double memory = states.memory[static_cast<size_t>(u)];
      const float i = Act(0, LstmGate(kI, u, states, memory, 0, time));
      const float f = Get<bool>(desc_, "CoupleInputForget")
                          ? Fl32(Sum().Add(1).Add(-i))
                          : Act(0, LstmGate(kF, u, states, memory, 2, time));
      const float c = Act(1, LstmGate(kC, u, states, memory, std::nullopt, time));
      next.memory.push_back(Sum().Add(f, memory).Add(i, c).Rounded(type_));
      const float o = Act(0, LstmGate(kO, u, states, next.memory.back(), 1, time));
      const float h = Act(2, static_cast<float>(next.memory.back()));
      next.hidden.push_back(Sum().Add(o, h).Rounded(type_));
    }
    return next;
  }

  float Candidate(int64_t unit, const std::vector<float>& reset, const States& states,
                  int64_t time) const {
    const int64_t row = 2 * units_ + unit;
    Sum sum;
    AddInput(row, time, sum);
    sum.Add(Bias(row, 0));
    if (Get<bool>(desc_, "LinearBeforeReset")) {
      Sum linear;
      AddHidden(row, states.hidden, linear);
      linear.Add(Bias(row, 1));
      sum.Add(reset[static_cast<size_t>(unit)], Fl32(linear));
    } else {
      std::vector<float> hidden;
      for (size_t u = 0; u < reset.size(); ++u) {
        hidden.push_back(Fl32(Sum().Add(reset[u], states.hidden[u])));
      }
      AddHidden(row, hidden, sum);
      sum.Add(Bias(row, 1));
    }
    return Act(1, Fl32(sum));
  }

  States Gru(const States& states, int64_t time) const {
    std::vector<float> update, reset;
    for (int64_t u = 0; u < units_; ++u) {
      update.push_back(Act(0, Fl32(GateSum(0, u, states.hidden, time))));
      reset.push_back(Act(0, Fl32(GateSum(1, u, states.hidden, time))));
    }
    States next;
    for (size_t u = 0; u < update.size(); ++u) {
      const double z = update[u];
      const double h = Candidate(static_cast<int64_t>(u), reset, states, time);
      const double before = states.hidden[u];
      const double plain = (1 - z) * h + z * before;
      next.hidden.push_back(std::isfinite(plain) ? Mixture(z, h, before, plain) : plain);
    }
    return next;
  }

  // (1 - z) * h + z * H for finite numbers.
  double Mixture(double z, double h, double hidden, double plain) const {
    const double mixed = Sum().Add(h).Add(-z, h).Add(z, hidden).Rounded(type_);
    return mixed == 0 && plain == 0 ? plain : mixed;
  }

  const OperatorDesc& desc_;
  Inputs inputs_;
  int64_t direction_, item_;
  DataType type_;
  int64_t inputs_count_, units_, gates_;
};

uint64_t BitsAs(DataType type, double value) {
  uint64_t bits = 0;
  VisitDataType(Floats(), type, [&]<typename T>() {
    bits = ToBits(FromDouble<T>(std::isnan(value) ? std::nan("") : value));
  });
  return bits;
}

Expectation Network(const OperatorDesc& desc, Inputs inputs, size_t output, const Dims& index) {
  const std::string path = TensorSlots(desc, TensorRole::kOutput)[output].path;
  const Item item(desc, inputs, index[1], index[2]);
  const int64_t length = item.Length();
  const bool is_sequence = path == "OutputSequenceTensor";
  if (length == 0 || (is_sequence && index[0] >= length)) return {0};
  int64_t steps = length;
  if (is_sequence) steps = item.IsBackward() ? length - index[0] : index[0] + 1;
  States states = item.Initial();
  for (int64_t step = 0; step < steps; ++step) {
    states = item.After(states, item.IsBackward() ? length - 1 - step : step);
  }
  const auto& state = path == "OutputCellSingleTensor" ? states.memory : states.hidden;
  return {BitsAs(inputs[0].type, state[static_cast<size_t>(index[3])])};
}

constexpr NamedOracle kOracles[] = {{"GRU", Network}, {"LSTM", Network}, {"RNN", Network}};

}  // namespace

std::span<const NamedOracle> RecurrentOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
