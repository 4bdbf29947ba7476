// SPDX-License-Identifier: Apache-2.0
// Tensors as text, in the form of the DirectML reference:
//
//  OutputTensor: (Sizes:{1, 3}, DataType:FLOAT32)
//  [[6, 6, 9]]
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include "core/document/document_json.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// The shortest digits that read back as the same value, or "nan", "inf", "-inf".
std::string ElementText(DataType type, const std::byte* element);

// A number that is one of the type, or near one, with the digits of an element.
std::string NumberText(DataType type, double value);

// The bits of an element of this type in hexadecimal: "3F800000".
std::string BitsText(DataType type, uint64_t bits);

// The index, such as "[0, 2]", of the element with row-major number `linear`.
std::string IndexText(const Dims& sizes, int64_t linear);

struct ValuesForm {
  bool full = false;                                    // otherwise a long tensor is abridged
  bool bits = false;                                    // hexadecimal, as 0x3F800000
  size_t columns = std::numeric_limits<size_t>::max();  // width of a line
};

// An object with `dataType`, `sizes` and `values`: nested arrays, or null if long unless `full`.
Json TensorJson(const ConstTensorView& tensor, bool full);

// Takes a long text piece by piece.
using TextSink = std::function<void(std::string_view piece)>;

// The values, one innermost row after another in aligned columns. A long tensor is abridged to the
// first and last three entries of each dimension, with "..." for the others.
void WriteValues(const ConstTensorView& tensor, const ValuesForm& form, const TextSink& sink);

// Both lines of the example above.
void WriteTensor(std::string_view name, const ConstTensorView& tensor, const ValuesForm& form,
                 const TextSink& sink);

}  // namespace dmlop
