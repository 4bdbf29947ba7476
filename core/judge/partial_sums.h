// SPDX-License-Identifier: Apache-2.0
// How a device comes to a sum in one of the orders, for people.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/judge/arithmetic.h"

namespace dmlop {

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
