// Two tensors brought into one form, in which they are compared element by element.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor/tensor.h"

namespace dmlop {

// What may differ beside the values.
struct Leniency {
  bool unit_sizes = false;     // dimensions of size 1
  bool integer_types = false;  // integers of any type, by their values
  bool float_types = false;    // the same of floats
};

enum class Side { kActual, kExpected };

struct ComparedTensor {
  ConstTensorView view;
  std::string_view type_name;  // in words: "BOOL" for UINT8 of a file of NumPy's bool
};

struct AlignedTensors {
  // Of equal sizes and types, or of two types of floats, unless there are mismatches.
  ComparedTensor actual;
  ComparedTensor expected;
  std::vector<std::string> mismatches;               // why they cannot be compared, each a sentence
  std::vector<std::shared_ptr<const void>> storage;  // of what had to be converted

  // What the outcome is told in the type and the sizes of.
  const ComparedTensor& shown() const {
    return actual.view.type == expected.view.type ? expected : actual;
  }
};

// Views of types that are at least a byte wide. `shape` says whose sizes both get where they differ
// by dimensions of size 1.
AlignedTensors Align(const ComparedTensor& actual, const ComparedTensor& expected,
                     const Leniency& leniency, Side shape = Side::kExpected);

}  // namespace dmlop
