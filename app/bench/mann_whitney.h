// Whether two sets of measurements differ by more than chance.
#pragma once

#include <span>

namespace dmlop {

// The two-sided p value of Mann and Whitney's U test: how likely ranks that are so uneven are if
// both sets come from the same distribution. By the normal approximation, with the corrections for
// ties and continuity; Google Benchmark's compare.py takes the same from 9 samples on. Neither set
// is empty.
double MannWhitneyP(std::span<const double> a, std::span<const double> b);

}  // namespace dmlop
