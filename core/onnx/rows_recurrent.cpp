// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM.
#include <algorithm>

#include "core/base/text.h"
#include "core/onnx/onnx_steps.h"

namespace dmlop::onnx_recurrent {
namespace {

// --- activations ---------------------------------------------------------------------------------

// An activation of ONNX with the fields that its alpha and beta are, and their defaults.
struct Activation {
  std::string_view name, op;
  std::string_view alpha = {}, beta = {};
  double default_alpha = 0, default_beta = 0;
};

constexpr Activation kActivations[] = {
    {"affine", "ACTIVATION_LINEAR", "Alpha", "Beta", 1, 0},
    {"elu", "ACTIVATION_ELU", "Alpha", {}, 1},
    {"hardsigmoid", "ACTIVATION_HARD_SIGMOID", "Alpha", "Beta", 0.2, 0.5},
    {"leakyrelu", "ACTIVATION_LEAKY_RELU", "Alpha", {}, 0.01},
    {"relu", "ACTIVATION_RELU"},
    {"scaledtanh", "ACTIVATION_SCALED_TANH", "Alpha", "Beta", 1, 1},
    {"sigmoid", "ACTIVATION_SIGMOID"},
    {"softplus", "ACTIVATION_SOFTPLUS"},
    {"softsign", "ACTIVATION_SOFTSIGN"},
    {"tanh", "ACTIVATION_TANH"},
    {"thresholdedrelu", "ACTIVATION_THRESHOLDED_RELU", "Alpha", {}, 1},
};

// Takes one number after another of an attribute.
class NumberQueue {
 public:
  explicit NumberQueue(std::optional<std::vector<float>> numbers)
      : numbers_(std::move(numbers).value_or(std::vector<float>())) {}

  double Next(double otherwise) {
    return next_ < numbers_.size() ? static_cast<double>(numbers_[next_++]) : otherwise;
  }

 private:
  std::vector<float> numbers_;
  size_t next_ = 0;
};

std::vector<OperatorDesc> ActivationsOf(const OnnxCall& call,
                                        const std::vector<std::string_view>& defaults,
                                        int64_t directions) {
  std::vector<std::string_view> names;
  for (int64_t i = 0; i < directions; ++i) {
    names.insert(names.end(), defaults.begin(), defaults.end());
  }
  if (const auto given = call.Texts("activations")) {
    if (given->size() != names.size()) {
      call.Refuse("ONX-3", "{}; expected {}", Counted(given->size(), "activation"), names.size());
    }
    names = *given;
  }
  // Each list has numbers only for the activations that take them.
  NumberQueue alphas(call.Floats("activation_alpha")), betas(call.Floats("activation_beta"));
  std::vector<OperatorDesc> activations;
  for (const std::string_view name : names) {
    const auto* known = std::ranges::find(kActivations, LowerCase(name), &Activation::name);
    if (known == std::end(kActivations)) call.Refuse("ONX-3", "the activation '{}'", name);
    OnnxSettings settings;
    if (!known->alpha.empty())
      settings.emplace_back(known->alpha, alphas.Next(known->default_alpha));
    if (!known->beta.empty()) settings.emplace_back(known->beta, betas.Next(known->default_beta));
    if (known->op == "ACTIVATION_SOFTPLUS") settings.emplace_back("Steepness", 1);
    activations.push_back(OnnxActivation(known->op, settings));
  }
  return activations;
}

// --- tensors -------------------------------------------------------------------------------------

struct Direction {
  std::string_view onnx, direction;
  int64_t count;
};
constexpr Direction kDirections[] = {
    {"forward", "FORWARD", 1}, {"reverse", "BACKWARD", 1}, {"bidirectional", "BIDIRECTIONAL", 2}};

// The sizes of a network. With layout 1, the batch comes before the steps and the directions.
struct Network {
  int64_t steps, batch, directions, hidden;
  bool batch_first;

  OnnxSizes StateSizes() const {
    return batch_first ? OnnxSizes{batch, directions, hidden}
                       : OnnxSizes{directions, batch, hidden};
  }
  OnnxSizes SequenceSizes() const {
    return batch_first ? OnnxSizes{batch, steps, directions, hidden}
                       : OnnxSizes{steps, directions, batch, hidden};
  }
  OnnxOperand State(OnnxValue& value) const {
    const OnnxSizes sizes = {1, directions, batch, hidden};
    if (!batch_first) return Reshaped(value, sizes);
    return Strided(value, sizes, {batch * directions * hidden, hidden, directions * hidden, 1});
  }
  OnnxOperand Sequence(OnnxValue& value) const {
    const OnnxSizes sizes = {steps, directions, batch, hidden};
    if (!batch_first) return Reshaped(value, sizes);
    const int64_t step = directions * hidden;
    return Strided(value, sizes, {step, hidden, steps * step, 1});
  }
  OnnxOperand Input(OnnxValue& x) const {
    const int64_t width = x.sizes[2];
    const OnnxSizes sizes = {1, steps, batch, width};
    if (!batch_first) return Reshaped(x, sizes);
    return Strided(x, sizes, {steps * batch * width, width, steps * width, 1});
  }
};

Network NetworkOf(const OnnxCall& call, int64_t directions) {
  const OnnxSizes& x = call.In(0).sizes;
  const OnnxSizes& r = call.In(2).sizes;
  if (x.size() != 3 || r.size() != 3 || call.In(1).rank() != 3) {
    call.Refuse("ONX-4", "X, W and R are {}, {} and {}", ToString(x), ToString(call.In(1).sizes),
                ToString(r));
  }
  const int64_t hidden = call.Int("hidden_size", r[2]);
  if (hidden != r[2]) call.Refuse("ONX-4", "hidden_size {} with R {}", hidden, ToString(r));
  const bool batch_first = call.Int("layout", 0) != 0;
  return {x[batch_first ? 1 : 0], x[batch_first ? 0 : 1], directions, r[2], batch_first};
}

const Direction& DirectionOf(const OnnxCall& call) {
  const std::string_view name = call.Text("direction", "forward");
  const auto* found = std::ranges::find(kDirections, name, &Direction::onnx);
  if (found == std::end(kDirections)) call.Refuse("ONX-3", "direction '{}'", name);
  return *found;
}

// The inputs that all networks have, the outputs that are wanted, and the activations.
OnnxSettings Common(OnnxCall& call, const Network& network, const Direction& direction,
                    const std::vector<std::string_view>& defaults) {
  OnnxValue& x = call.In(0);
  OnnxSettings settings = {{"InputTensor", network.Input(x)},
                           {"WeightTensor", AtRank(call.In(1), 4)},
                           {"RecurrenceTensor", AtRank(call.In(2), 4)},
                           {"ActivationDescs", ActivationsOf(call, defaults, network.directions)},
                           {"Direction", direction.direction}};
  if (call.Has(3)) settings.emplace_back("BiasTensor", AtRank(call.In(3), 4));
  if (call.Has(4)) {
    settings.emplace_back("SequenceLengthsTensor",
                          AsType(AtRank(call.In(4), 4), DataType::kUint32));
  }
  if (call.Has(5)) settings.emplace_back("HiddenInitTensor", network.State(call.In(5)));
  if (call.Wants(0)) {
    const OnnxOperand y = call.Out(0, x.type, network.SequenceSizes());
    settings.emplace_back("OutputSequenceTensor", network.Sequence(*y.value));
  }
  if (call.Wants(1)) {
    const OnnxOperand last = call.Out(1, x.type, network.StateSizes());
    settings.emplace_back("OutputSingleTensor", network.State(*last.value));
  }
  return settings;
}

void RefuseClip(const OnnxCall& call) {
  if (call.HasAttribute("clip")) call.Refuse("ONX-3", "no DirectML operator has clip");
}

void Rnn(OnnxCall& call) {
  RefuseClip(call);
  const Direction& direction = DirectionOf(call);
  call.Emit("RNN", Common(call, NetworkOf(call, direction.count), direction, {"Tanh"}));
}

void Gru(OnnxCall& call) {
  RefuseClip(call);
  const Direction& direction = DirectionOf(call);
  OnnxSettings settings =
      Common(call, NetworkOf(call, direction.count), direction, {"Sigmoid", "Tanh"});
  settings.emplace_back("LinearBeforeReset", call.Int("linear_before_reset", 0) != 0);
  call.Emit("GRU", settings);
}

void Lstm(OnnxCall& call) {
  const Direction& direction = DirectionOf(call);
  const Network network = NetworkOf(call, direction.count);
  OnnxSettings settings = Common(call, network, direction, {"Sigmoid", "Tanh", "Tanh"});
  if (call.Has(6)) settings.emplace_back("CellMemInitTensor", network.State(call.In(6)));
  if (call.Has(7)) settings.emplace_back("PeepholeTensor", AtRank(call.In(7), 4));
  if (call.Wants(2)) {
    const OnnxOperand cell = call.Out(2, call.In(0).type, network.StateSizes());
    settings.emplace_back("OutputCellSingleTensor", network.State(*cell.value));
  }
  settings.emplace_back("ClipThreshold", call.Float("clip", 0));
  settings.emplace_back("UseClipThreshold", call.HasAttribute("clip"));
  settings.emplace_back("CoupleInputForget", call.Int("input_forget", 0) != 0);
  call.Emit("LSTM", settings);
}

const OnnxRow kRows[] = {
    {"GRU", "7 14 22", "GRU", Gru, "without clip"},
    {"LSTM", "7 14 22", "LSTM", Lstm},
    {"RNN", "7 14 22", "RNN", Rnn, "without clip"},
};

}  // namespace

extern const std::span<const OnnxRow> kOnnxRows = kRows;

}  // namespace dmlop::onnx_recurrent
