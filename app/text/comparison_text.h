// The outcome of a comparison, for people and for programs.
#pragma once

#include <string>

#include "core/compare/alignment.h"
#include "core/compare/compare.h"
#include "core/document/document_json.h"

namespace dmlop {

// "absolute 0.001, ULP 2"
std::string ToleranceText(const Tolerance& tolerance);
Json ToleranceJson(const Tolerance& tolerance);

// "1 of 3 elements differ"
std::string DifferenceCountText(const Comparison& comparison);

// `tensor` has the type of the actual elements and the sizes of both; its elements are not looked
// at.
std::string ComparisonText(const Comparison& comparison, const ConstTensorView& tensor,
                           const Tolerance& tolerance);

// An object with the figures of a comparison, the worst difference and the tolerance.
Json FiguresJson(const Comparison& comparison, const ComparedTensor& tensor,
                 const Tolerance& tolerance);

// The same with all else: the first difference, the listed ones, the histogram, and the map, where
// there is one.
Json ComparisonJson(const Comparison& comparison, const ComparedTensor& tensor,
                    const Tolerance& tolerance, const DifferenceMap* map);

}  // namespace dmlop
