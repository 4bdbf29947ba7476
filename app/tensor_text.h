// Tensors as people read them, in the form of the DirectML reference:
//
//   OutputTensor: (Sizes:{1, 3}, DataType:FLOAT32)
//   [[6, 6, 9]]
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/tensor/tensor.h"

namespace dmlop {

// The shortest digits that read back to the same value; "nan", "inf", "-inf".
std::string ElementText(DataType type, const std::byte* element);

// The same as JSON, which has no infinities or NaN: those as strings that a descriptor would take.
std::string ElementJson(DataType type, const std::byte* element);

// A number in the same form.
std::string NumberText(double value);

// "{1, 3}"
std::string SizesText(const Dims& sizes);

// "[0, 2]": the index of the element with row-major number `linear`.
std::string IndexText(const Dims& sizes, int64_t linear);

// The values, one innermost row a line. A long tensor is abridged to the first and last three
// entries of each dimension, unless `full`.
std::string ValuesText(const ConstTensorView& tensor, bool full);

// Both lines of the example above.
std::string TensorText(std::string_view name, const ConstTensorView& tensor, bool full);

}  // namespace dmlop
