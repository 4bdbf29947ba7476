// What a comparison lets pass, by data type, and how much of it was used.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/compare/comparison.h"
#include "core/tensor/data_type.h"

namespace dmlop {

// What holds for the elements of one data type in place of what holds for all.
struct TypedTolerance {
  DataType type = DataType::kUnknown;
  std::optional<double> absolute;
  std::optional<double> relative;
  std::optional<uint64_t> ulp;
};

struct Tolerances {
  Tolerance all;
  std::vector<TypedTolerance> typed;  // of two for one type, the later one counts

  Tolerance For(DataType type) const;
};

// The share of the tolerance that no element has used: 1 where all are equal, negative where they
// do not pass. All still pass where every limit is made smaller by that share. Empty where nothing
// is tolerated, or where there is a mismatch, which nothing lets pass.
std::optional<double> HeadroomOf(const Comparison& comparison, const Tolerance& tolerance);

}  // namespace dmlop
