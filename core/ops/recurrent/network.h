// SPDX-License-Identifier: Apache-2.0
// The networks RNN, LSTM and GRU. Sizes: S steps, B items, I inputs, H units, D directions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/engine/recurrent/network.h"
#include "core/ops/formula.h"
#include "core/ops/hardware_tolerance.h"
#include "core/ops/inference.h"
#include "core/ops/operator.h"
#include "core/ops/signature.h"

namespace dmlop::recurrent {

// --- steps ---------------------------------------------------------------------------------------

// The formula of one unit of an item at one step of a recurrent network.

struct UnitPlace {
  int64_t direction, item, unit;
};

// States of an item, before a step or after it.
struct StateNodes {
  std::vector<FormulaNode> hidden;  // of all units
  FormulaNode memory;               // of the unit; of an LSTM only
};

// The parts of a formula that cells are made of. A gate is an activation of a sum, which is rounded
// to FLOAT32 before and after.
class UnitStep {
 public:
  // `time` is the step's place in the sequence. `tells_sums`: sums of gates are steps of their own.
  UnitStep(const OperatorDesc& op, const UnitPlace& place, int64_t time, const StateNodes& before,
           bool tells_sums, Formula& formula);

  const OperatorDesc& op() const { return op_; }
  Formula& formula() { return formula_; }
  int64_t units() const { return static_cast<int64_t>(before_.hidden.size()); }
  int64_t unit() const { return place_.unit; }
  const StateNodes& before() const { return before_; }
  FormulaNode own_hidden() const { return before_.hidden[static_cast<size_t>(place_.unit)]; }

  // Products of the weights of a gate, for a unit, with the input and with a state.
  std::vector<FormulaNode> InputProducts(int64_t gate, int64_t unit);
  std::vector<FormulaNode> HiddenProducts(int64_t gate, int64_t unit,
                                          const std::vector<FormulaNode>& hidden);
  // The biases of a gate beside the weights and beside the recurrence; none where left out.
  std::optional<FormulaNode> InputBias(int64_t gate, int64_t unit) { return Bias(0, gate, unit); }
  std::optional<FormulaNode> HiddenBias(int64_t gate, int64_t unit) { return Bias(1, gate, unit); }
  // All of these for the states before.
  std::vector<FormulaNode> Terms(int64_t gate, int64_t unit);
  // The element of a tensor {1, 1, D, n * H} for the unit; none where it is left out.
  std::optional<FormulaNode> OfUnit(const Field& tensor, int64_t part);

  FormulaNode Rounded(FormulaNode x) { return formula_.Rounded(DataType::kFloat32, x); }
  // Rounded to the type of the tensors.
  FormulaNode State(std::string_view name, FormulaNode x);
  FormulaNode SumOf(std::string_view name, const std::vector<FormulaNode>& terms);
  // The number is that among the activations of a direction.
  FormulaNode Activated(size_t activation, FormulaNode x);
  FormulaNode Named(std::string_view name, FormulaNode x);

 private:
  std::vector<FormulaNode> Products(const Field& weights, int64_t row,
                                    const std::vector<FormulaNode>& factors);
  std::optional<FormulaNode> Bias(int64_t half, int64_t gate, int64_t unit);

  const OperatorDesc& op_;
  UnitPlace place_;
  int64_t time_;
  const StateNodes& before_;
  bool tells_sums_;
  Formula& formula_;
  std::vector<FormulaNode> input_;
};

// Both states of the unit behind a step, before they are rounded to the tensors' type; of a cell
// without memory, and where that alone is asked for, the other is any.
struct UnitStates {
  FormulaNode hidden, memory;
  FormulaNode rounded_memory;  // as the next step reads it
};
using CellFormula = UnitStates (*)(UnitStep& step, bool memory_only);

// --- networks ------------------------------------------------------------------------------------

inline constexpr auto kWeightTensor = field::Input("WeightTensor");
inline constexpr auto kRecurrenceTensor = field::Input("RecurrenceTensor");
inline constexpr auto kHiddenInitTensor = field::Optional(field::Input("HiddenInitTensor"));
inline constexpr auto kCellMemInitTensor = field::Optional(field::Input("CellMemInitTensor"));
inline constexpr auto kSequenceLengthsTensor =
    field::Optional(field::Input("SequenceLengthsTensor", TypeVariable::kU));
inline constexpr auto kPeepholeTensor = field::Optional(field::Input("PeepholeTensor"));
inline constexpr auto kOutputSequenceTensor =
    field::Optional(field::Output("OutputSequenceTensor"));
inline constexpr auto kOutputSingleTensor = field::Optional(field::Output("OutputSingleTensor"));
inline constexpr auto kOutputCellSingleTensor =
    field::Optional(field::Output("OutputCellSingleTensor"));
inline constexpr auto kActivationDescCount = field::Count("ActivationDescCount");
inline constexpr auto kActivationDescs = field::Activations("ActivationDescs");
inline constexpr std::string_view kDirectionNames[] = {"FORWARD", "BACKWARD", "BIDIRECTIONAL"};
inline constexpr auto kDirection =
    field::Enum("Direction", {"DML_RECURRENT_NETWORK_DIRECTION_", kDirectionNames});

// The numbers of gates and activations of an operator.
struct NetworkKind {
  uint32_t gates;
  uint32_t activations;
};

uint32_t Directions(const OperatorDesc& op);

// S, B, I, H, D and G are steps, items, inputs, units, directions and gates. An element of the
// sequence depends on elements of earlier or, backward, later steps: NetworkSources knows which.
inline constexpr std::string_view kState = "{1, D, B, H}";
inline constexpr TensorShape kTensors[] = {
    {&kInputTensor, "{1, S', B, I}"},          {&kRecurrenceTensor, "{1, D, G*H, H'}"},
    {&kWeightTensor, "{1, D, G*H, I}"},        {&kBiasTensor, "{1, 1, D, 2*G*H}"},
    {&kHiddenInitTensor, "{1, D, B, H'}"},     {&kCellMemInitTensor, "{1, D, B, H'}"},
    {&kSequenceLengthsTensor, "{1, 1, 1, B}"}, {&kPeepholeTensor, "{1, 1, D, 3*H}"},
    {&kOutputSequenceTensor, "{S, D, B, H}"},  {&kOutputSingleTensor, kState},
    {&kOutputCellSingleTensor, kState},
};
template <const NetworkKind& kKind>
constexpr Signature kShapes = {.rank_rule = "REC-1",
                               .size_rule = "REC-1",
                               .tensors = kTensors,
                               .known = [](const OperatorDesc& op) -> std::vector<KnownSize> {
                                 return {{"G", kKind.gates}, {"D", Directions(op)}};
                               }};

void InferNetwork(const NetworkKind& kind, const OperatorDesc& op, Inference& infer);

// Makes a cell from the parameters of one direction.
template <typename T>
using CellMaker = std::unique_ptr<Cell<T>> (*)(const OperatorDesc& op,
                                               const CellParameters& parameters);
struct CellMakers {
  CellMaker<float> of_float;
  CellMaker<Half> of_half;
};

void RunNetwork(const NetworkKind& kind, const CellMakers& makers, const OperatorDesc& op,
                InputViews inputs, OutputViews outputs);

bool IsBackward(const OperatorDesc& op, int64_t direction);

// The steps that an item has.
int64_t LengthOf(const OperatorDesc& op, InputViews inputs, int64_t item);

// The states of an item's units behind some of its steps, at least one, from the first computed.
struct ItemSteps {
  int64_t direction, item, begin, count;
};
struct ItemStates {
  std::vector<double> hidden, memory;
};
// `before`: the states before these steps; null: those that the network begins with.
ItemStates StatesAfter(const NetworkKind& kind, const CellMakers& makers, const OperatorDesc& op,
                       InputViews inputs, const ItemSteps& steps, const ItemStates* before);

std::vector<SourceMap> NetworkSources(const OperatorDesc& op);
// Warns of lengths beyond that of the input (REC-9).
void WarnOfLengths(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics);
int64_t NetworkOperations(const OperatorDesc& op);

// The formula of an element of a state: that of its unit at the last step that it depends on, and
// of a few steps before in short. Further states are given.
FormulaNode FormulaOfState(const NetworkKind& kind, const CellMakers& makers, CellFormula cell,
                           const OperatorDesc& op, const Region& element, Formula& formula);

// WebNN has networks and single cells.
template <uint64_t kSequence, uint64_t kCell>
Tolerance NetworkTolerance(const OperatorDesc& op) {
  return op.sizes(kInputTensor)[1] > 1 ? Ulp<kSequence>(op) : Ulp<kCell>(op);
}

template <const NetworkKind& kKind, const CellMakers& kMakers, CellFormula kCell>
constexpr OperatorInfo Network(std::string_view name, std::span<const Field* const> fields) {
  const Computed family = {
      .run = [](const OperatorDesc& op, InputViews inputs,
                OutputViews outputs) { RunNetwork(kKind, kMakers, op, inputs, outputs); },
      .sources = NetworkSources,
      .unsplittable_dims = AllDimensions,
      .warn = WarnOfLengths,
      .operations = NetworkOperations,
      .formula =
          [](const OperatorDesc& op, const Region& element, Formula& formula) {
            return FormulaOfState(kKind, kMakers, kCell, op, element, formula);
          }};
  return OperatorRow(
      name,
      {fields, "REC-1",
       [](const OperatorDesc& op, Inference& infer) { InferNetwork(kKind, op, infer); },
       &kShapes<kKind>},
      family, {.reads_by_index = true, .implies_outputs = true});
}

}  // namespace dmlop::recurrent
