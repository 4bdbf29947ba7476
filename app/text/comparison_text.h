// SPDX-License-Identifier: Apache-2.0
// The outcome of a comparison, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "app/compare/judgement.h"
#include "core/compare/alignment.h"
#include "core/compare/comparison.h"
#include "core/compare/map_plane.h"
#include "core/document/document_json.h"
#include "core/tensor/unit_tolerance.h"

namespace dmlop {

// Returns text such as "absolute 0.001, ULP 2, sums".
std::string ToleranceText(const Tolerance& tolerance, const UnitTolerance& units = {});
Json ToleranceJson(const Tolerance& tolerance, const UnitTolerance& units = {});

// Returns text such as "1 of 3 elements differ".
std::string DifferenceCountText(const Comparison& comparison);

// Tells where the differing elements lie and how they are wrong, in two lines or as an object.
std::string WhereText(const Comparison& comparison);
Json WhereJson(const Comparison& comparison);

// `tensor` has the type of the actual elements and the sizes of both; its elements are not read.
std::string ComparisonText(const Comparison& comparison, const ConstTensorView& tensor,
                           const Tolerance& tolerance, const UnitTolerance& units = {});

// An object with the figures of a comparison, the worst differences and the tolerance.
Json FiguresJson(const Comparison& comparison, const ComparedTensor& tensor,
                 const Tolerance& tolerance, const UnitTolerance& units = {});

// The first difference and the histogram.
Json DetailsJson(const Comparison& comparison, const ComparedTensor& tensor);

// The planes of a map with the counts of their cells.
Json MapJson(const DifferenceMap& map);

// An object with how the errors are spread: the histogram, its figures, and the map, if any.
Json SpreadJson(const Comparison& comparison, const UlpFigures& figures, const DifferenceMap* map);

// --- diagnoses -----------------------------------------------------------------------------------

// Several lines. A cause that explains all outputs is told once, at the end.
std::string DiagnosisText(const std::vector<DiagnosedFile>& files);

// The ids of a cause, joined as people write them.
std::string IdsText(const Cause& cause);

// A line about why the output differs: "sums in FLOAT16, in order".
std::string DiagnosisLine(const DiagnosedFile& file);

Json DiagnosisJson(const DiagnosedFile& file);

}  // namespace dmlop
