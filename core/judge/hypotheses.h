// SPDX-License-Identifier: Apache-2.0
// The hypotheses about an output, of all kinds, that are promising on a few elements.
#pragma once

#include <compare>
#include <vector>

#include "core/judge/evidence.h"

namespace dmlop {

// The least rank decides between equally good hypotheses.
struct Rank {
  int kind = 0;
  size_t number = 0;

  auto operator<=>(const Rank&) const = default;
};

struct RankedHypothesis {
  Hypothesis hypothesis;
  Rank rank;
};

// Each stage is tried only if those before it found no cause.
enum class Stage {
  kSimple,      // single changes of the descriptor, of the arithmetic, and of places
  kInputs,      // inputs in another layout, parts of them, and paddings
  kPairs,       // two changes of the descriptor
  kLastResort,  // functions that are not accurate
  kAmongNoise,  // only arithmetics, whose bits count
};

std::vector<RankedHypothesis> HypothesesOf(const Evidence& evidence, const Sample& few,
                                           Stage stage);

}  // namespace dmlop
