// SPDX-License-Identifier: Apache-2.0
// The errors of an output in units, and how many of them a tolerance allows each element.
#pragma once

#include "core/compare/error_measure.h"
#include "core/judge/units.h"
#include "core/tensor/unit_tolerance.h"

namespace dmlop {

// Takes floats of any type, as many as the units are of. Throws an Error of kind kUsage for sums in
// FLOAT16 of so many terms that zeros would pass.
UnitErrors MeasureErrors(const ErrorUnits& units, const ConstTensorView& actual,
                         const ConstTensorView& expected, const UnitTolerance& tolerance);

}  // namespace dmlop
