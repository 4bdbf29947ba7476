// A formula in words and numbers, from the elements to the result.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/explain/calculation.h"
#include "core/explain/exact_arithmetic.h"

namespace dmlop {

class FormulaSteps {
 public:
  FormulaSteps(const Formula& formula, const OperatorDesc& op);

  // Those with a name, in the order of evaluation.
  std::vector<FormulaStep> All(ListLength length);

  FormulaValue ValueOf(Formula::Node node) { return values_.At(node); }

  // The operands that a maximum or minimum is equal to; none of a NaN.
  std::vector<Formula::Node> WinnersOf(Formula::Node extreme);

  // The name of a node or, if it has none, its expression.
  std::string TextOf(Formula::Node node);

 private:
  // What stands for nodes in an expression: names, or their values.
  enum class Spelling { kNames, kNumbers };

  FormulaStep StepAt(Formula::Node node, ListLength length);
  bool HasTerms(Formula::Node node) const;
  std::optional<FormulaTerm> WinnerOf(Formula::Node node);
  FormulaTerm TermAt(Formula::Node node);
  void AddElements(Formula::Node node, FormulaTerm& term);
  FormulaTerm::Element ElementAt(Formula::Node node);
  // Without a look at the node's own name.
  std::string Expression(Formula::Node node, Spelling spelling);
  std::string Operand(Formula::Node node, Spelling spelling);
  std::string FunctionText(Formula::Node node, Spelling spelling);
  std::string Joined(Formula::Node node, std::string_view sign, Spelling spelling);

  const Formula& formula_;
  std::vector<std::string> tensors_;
  FormulaEvaluation<ExactArithmetic> values_;
};

}  // namespace dmlop
