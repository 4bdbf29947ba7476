// SPDX-License-Identifier: Apache-2.0
// Converts rows of elements to another type by the rules of CAST: integers modulo 2^width; floats
// to integers truncated and clamped, NaN to 0; to floats rounded once, NaN to the default NaN.
#pragma once

#include <array>
#include <span>

#include "core/kernels/element_wise/row.h"

namespace dmlop {

// A row of a conversion, which runs through intermediate types.
struct ConversionStep {
  RowFunction* compute;
  DataType type;  // type of its results
};

class Conversion {
 public:
  void Add(ConversionStep step) { steps_[count_++] = step; }
  std::span<const ConversionStep> steps() const { return {steps_.data(), count_}; }

 private:
  std::array<ConversionStep, 5> steps_;
  size_t count_ = 0;
};

// Has no steps if the bits stay the same.
Conversion ConversionFor(DataType from, DataType to);

}  // namespace dmlop
