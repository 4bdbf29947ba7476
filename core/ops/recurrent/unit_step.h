// SPDX-License-Identifier: Apache-2.0
// The formula of one unit of an item at one step of a recurrent network.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ops/formula.h"
#include "core/ops/operator.h"

namespace dmlop::recurrent {

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
  // The biases of a gate, that beside the weights and that beside the recurrence; none where they
  // are left out.
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

}  // namespace dmlop::recurrent
