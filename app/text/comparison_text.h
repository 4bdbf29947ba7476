// The outcome of a comparison, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "app/options/options.h"
#include "core/compare/compare.h"

namespace dmlop {

// Why two tensors cannot be compared element by element ("shapes differ: ..."), each reason a line
// without its end; none if they can.
std::vector<std::string> MismatchesOf(const ConstTensorView& actual,
                                      const ConstTensorView& expected);

// `bits`: the comparison demanded equal bits, which no tolerance replaces.
std::string ComparisonText(const Comparison& comparison, const ConstTensorView& tensor, bool bits);

// One line of JSON; with the map, where there is one.
std::string ComparisonJson(const Comparison& comparison, const ConstTensorView& tensor,
                           const DifferenceMap* map);

}  // namespace dmlop
