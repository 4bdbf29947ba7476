// SPDX-License-Identifier: Apache-2.0
// A formula in words and numbers, from the elements to the result.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/explain/calculation.h"
#include "core/explain/formula_value.h"

namespace dmlop {

class FormulaSteps {
 public:
  // With the names of the inputs.
  FormulaSteps(const Formula& formula, std::vector<std::string> inputs)
      : formula_(formula), tensors_(std::move(inputs)), values_(formula) {}

  // Returns the steps with a name in the order of evaluation, without those of choices not taken.
  std::vector<FormulaStep> All(Formula::Node last, ListLength length);

  FormulaValue ValueOf(Formula::Node node) { return values_.At(node); }

  // The name of a node or, if it has none, its expression.
  std::string TextOf(Formula::Node node);

  // Its expression with values in place of elements and names.
  std::string NumbersOf(Formula::Node node) { return Expression(node, Spelling::kNumbers); }

  // The operand that a choice takes; any other node itself.
  Formula::Node Taken(Formula::Node node);

  // The same, with a function replaced by its definition.
  Formula::Node MadeOf(Formula::Node node);

 private:
  // Expressions show the names of nodes, or their values.
  enum class Spelling { kNames, kNumbers };

  // Nodes with a name that the last one is made of, or would be if choices were others.
  struct Reached {
    std::set<Formula::Node> taken, left_out;
  };
  void Reach(Formula::Node node, bool is_taken, Reached& reached);
  FormulaStep StepAt(Formula::Node node, ListLength length);
  bool HasTerms(Formula::Node node) const;
  void AddTerms(std::span<const Formula::Node> operands, ListLength length, FormulaStep& step);
  std::optional<FormulaTerm> WinnerOf(Formula::Node node);
  FormulaTerm TermAt(Formula::Node node);
  void AddElements(Formula::Node node, FormulaTerm& term);
  FormulaTerm::Element ElementAt(Formula::Node node);
  bool IsChoice(Formula::Node node) const;
  bool IsMet(Formula::Node choice);
  // ", as x >= y" of a choice and of those that it comes to; empty of others.
  std::string Conditions(Formula::Node node);
  std::string Condition(Formula::Node choice);
  // Without a look at the node's own name.
  std::string Expression(Formula::Node node, Spelling spelling);
  std::string Operand(Formula::Node node, Spelling spelling);
  // An operand that brackets enclose already.
  std::string Argument(Formula::Node node, Spelling spelling);
  std::string SquareText(Formula::Node x, Spelling spelling);
  std::string FunctionText(Formula::Node node, Spelling spelling);
  std::string Joined(Formula::Node node, std::string_view sign, Spelling spelling);

  const Formula& formula_;
  std::vector<std::string> tensors_;
  FormulaEvaluation<ExactArithmetic> values_;
};

// --- elements that decide alone ------------------------------------------------------------------

// Elements that decide a formula's value alone: a NaN, an infinity, the greatest of a list.

struct Decision {
  ValueRule rule;
  std::string reason;                 // a sentence
  std::vector<FormulaNode> deciding;  // elements
};

// Tells which elements make a node NaN or infinite.
Decision DecisionOfSpecial(const Formula& formula, FormulaNode node, FormulaSteps& steps);

// Tells which element a maximum or minimum of a list, or the place of one, takes.
bool IsExtreme(const Formula& formula, FormulaNode node);
Decision DecisionOfExtreme(const Formula& formula, FormulaNode node, FormulaSteps& steps);

// Tells which elements decide the sign of a node that is zero.
Decision DecisionOfZero(const Formula& formula, FormulaNode node, FormulaSteps& steps);

}  // namespace dmlop
