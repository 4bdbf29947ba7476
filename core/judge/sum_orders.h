// SPDX-License-Identifier: Apache-2.0
// Sums of the same terms in the orders and formats of devices. Several sums of as many terms are
// computed side by side, one in each place of a column.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/judge/arithmetic.h"

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

}  // namespace dmlop
