// Rows of elements as elements of another type, as CAST has it: integers modulo 2^width; floats to
// integers truncated and clamped, NaN as 0; to floats rounded once, NaN as the default one.
#pragma once

#include <array>
#include <span>

#include "core/kernels/element_wise/row.h"

namespace dmlop {

// What is done by one row after another, through the types between.
struct ConversionStep {
  RowFunction* compute;
  DataType type;  // what it gives
};

class Conversion {
 public:
  void Add(ConversionStep step) { steps_[count_++] = step; }
  std::span<const ConversionStep> steps() const { return {steps_.data(), count_}; }

 private:
  std::array<ConversionStep, 5> steps_;
  size_t count_ = 0;
};

// No steps where the bits stay the same.
Conversion ConversionFor(DataType from, DataType to);

}  // namespace dmlop
