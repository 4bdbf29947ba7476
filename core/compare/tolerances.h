// SPDX-License-Identifier: Apache-2.0
// The tolerances of a comparison by data type, and how much of them was used.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/compare/comparison.h"
#include "core/tensor/data_type.h"

namespace dmlop {

// Replaces the general limits for elements of one data type.
struct TypedTolerance {
  DataType type = DataType::kUnknown;
  std::optional<double> absolute;
  std::optional<double> relative;
  std::optional<uint64_t> ulp;
};

struct Tolerances {
  Tolerance all;
  std::vector<TypedTolerance> typed;  // the last one for a type counts

  Tolerance For(DataType type) const;
};

// Returns the share of the tolerance that no element has used: 1 if all are equal, negative if they
// do not pass. All would still pass with every limit reduced by that share. Empty if nothing is
// tolerated, or if there is a mismatch, which no tolerance lets pass.
std::optional<double> HeadroomOf(const Comparison& comparison, const Tolerance& tolerance);

}  // namespace dmlop
