// SPDX-License-Identifier: Apache-2.0
// Tests whether two sets of measurements differ by more than chance.
#pragma once

#include <span>

namespace dmlop {

// The two-sided p value of the Mann-Whitney U test: the probability of ranks at least as uneven if
// both sets come from the same distribution. Uses the normal approximation with corrections for
// ties and continuity, as Google Benchmark's compare.py does from 9 samples on. Neither set is
// empty.
double MannWhitneyP(std::span<const double> a, std::span<const double> b);

}  // namespace dmlop
