// SPDX-License-Identifier: Apache-2.0
// Sums of the same terms in the orders and formats of devices. Several sums of as many terms are
// computed side by side, one in each place of a column.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/arithmetic/arithmetic.h"
#include "core/arithmetic/element_formula.h"

namespace dmlop {

template <size_t kWidth>
class SumOrders {
 public:
  using Column = std::array<double, kWidth>;

  // Row k has the k-th term of each sum, not rounded. A sum of fewer terms has zeros at its end.
  explicit SumOrders(std::span<const Column> terms) : terms_(terms) {}

  // `sums` is of kind kSums.
  Column SumOf(const ArithmeticVariation& sums);

 private:
  std::span<const Column> RoundedTo(FloatFormat format);

  std::span<const Column> terms_;
  std::map<FloatFormat, std::vector<Column>> rounded_;
};

// --- the steps of a sum, for people --------------------------------------------------------------

// A step of a device on its way to a sum.
struct PartialSum {
  std::string of;  // "terms 0..31", "lane 2", "the sum so far"
  double value;
};

// The partial sums of terms that are not rounded, in the order in which they are computed: each
// prefix of a sum in order; blocks and prefixes of them; lanes or pairs, and those of each level of
// a tree. The last one is the sum. `sums` is of kind kSums.
std::vector<PartialSum> PartialSumsOf(const ArithmeticVariation& sums,
                                      std::span<const double> terms);

// --- terms in a device's order -------------------------------------------------------------------

// The terms of a sum in the order in which a device takes them. Formulas of convolutions go from
// tap to tap, and leave padding out; filters have a place for each term.

// Returns whether sums of an operator have terms in an order that may differ from that of its
// formula.
bool HasTermOrder(const OperatorDesc& op, TermOrder order);

// The terms of a sum that are not rounded, with the addend before them where sums begin with it.
// `sums` is of kind kSums.
std::vector<double> OrderedTerms(const OperatorDesc& op, const ElementFormula& formula,
                                 FormulaNode sum, const ArithmeticVariation& sums);

}  // namespace dmlop
