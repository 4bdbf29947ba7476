// SPDX-License-Identifier: Apache-2.0
// Brings two tensors into one form, in which they are compared element by element, and compares
// them in bfloat16 where a device has it, as many do and DirectML does not. Its elements are the
// FLOAT32 numbers whose lower half is zero, in 1/65536 as many steps.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/compare/comparison.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// The differences that are ignored, and what bfloat16 has of its own.
struct Leniency {
  bool unit_sizes = false;     // dimensions of size 1
  bool integer_types = false;  // integers of any type, by their values
  bool float_types = false;    // floats of any type, by their values
  // Cuts elements that are compared with bfloat16 to it, as the judged ones were; otherwise they
  // are rounded to the nearest number.
  bool cuts_to_bfloat16 = false;
  // The limits of what is compared in bfloat16, which replace those of its type.
  TypedTolerance of_bfloat16{};
};

enum class Side { kActual, kExpected };

struct ComparedTensor {
  ConstTensorView view;
  std::string_view type_name;  // the name in words: "BOOL" for UINT8 from NumPy's bool
  bool is_bfloat16 = false;    // the elements are of bfloat16, as FLOAT32
};

struct AlignedTensors {
  // Both have equal sizes and types, or two types of floats, unless there are mismatches.
  ComparedTensor actual;
  ComparedTensor expected;
  std::vector<std::string> mismatches;               // why they cannot be compared, each a sentence
  std::vector<std::shared_ptr<const void>> storage;  // storage of converted elements
  bool in_bfloat16 = false;                          // both have such elements, as FLOAT32
  TypedTolerance of_bfloat16{};                      // see Leniency

  // The limits that hold, given those of the type.
  Tolerance LimitsOf(Tolerance tolerance) const {
    return in_bfloat16 ? of_bfloat16.In(tolerance) : tolerance;
  }

  // Returns the tensor whose type and sizes describe the outcome.
  const ComparedTensor& shown() const {
    return actual.view.type == expected.view.type ? expected : actual;
  }
};

// Takes views of types of at least a byte. Both get `shape` if dimensions of size 1 differ.
AlignedTensors Align(const ComparedTensor& actual, const ComparedTensor& expected,
                     const Leniency& leniency, Side shape = Side::kExpected);

// FLOAT32 numbers for each step of bfloat16.
inline constexpr double kFloatStepsOfBfloat16 = 65536;

// Returns a distance in numbers of FLOAT32 as one in numbers of bfloat16.
uint64_t InStepsOfBfloat16(uint64_t float_ulp);

// Rounds once to the nearest bfloat16, ties to even, or toward zero.
float RoundedToBfloat16(double value, bool is_cut = false);

// Returns packed FLOAT32 elements: each float rounded to bfloat16.
std::shared_ptr<const Buffer> RoundedToBfloat16(const ConstTensorView& tensor, bool is_cut = false);

// Compares tensors that have been aligned without mismatches. ULP, of the tolerance too, are those
// of bfloat16 if the tensors are compared in it.
Comparison Compare(const AlignedTensors& aligned, const Tolerance& tolerance,
                   const ComparisonDetails& details = {});

// Figures of the ULP errors in a histogram, as FiguresOf has them; 0 if there are none.
struct UlpFigures {
  double median = 0;
  uint64_t p99 = 0;
};

// Takes the comparison of these tensors. If the bin of a figure holds several errors, the elements
// are looked at again.
UlpFigures UlpFiguresOf(const AlignedTensors& aligned, const Comparison& comparison);

}  // namespace dmlop
