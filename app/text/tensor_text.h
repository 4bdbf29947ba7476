// Tensors as people read them, in the form of the DirectML reference:
//
//   OutputTensor: (Sizes:{1, 3}, DataType:FLOAT32)
//   [[6, 6, 9]]
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include "core/document/document_json.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// The shortest digits that read back to the same value; "nan", "inf", "-inf".
std::string ElementText(DataType type, const std::byte* element);

// A number that is, or is near, one of a type, in the digits that an element takes.
std::string NumberText(DataType type, double value);

// The bits of an element of this type in hexadecimal: "3F800000".
std::string BitsText(DataType type, uint64_t bits);

// "[0, 2]": the index of the element with row-major number `linear`.
std::string IndexText(const Dims& sizes, int64_t linear);

struct ValuesForm {
  bool full = false;                                    // else a long tensor is abridged
  bool bits = false;                                    // in hexadecimal, as 0x3F800000
  size_t columns = std::numeric_limits<size_t>::max();  // that a line may take
};

// An object with `dataType`, `sizes` and `values`, arrays within arrays; null for the values of a
// long tensor that is not to be shown in full.
Json TensorJson(const ConstTensorView& tensor, bool full);

// Takes a long text in pieces.
using TextSink = std::function<void(std::string_view piece)>;

// The values, one innermost row after another in columns that line up. A long tensor is abridged to
// the first and last three entries of each dimension; "..." stands for the others.
void WriteValues(const ConstTensorView& tensor, const ValuesForm& form, const TextSink& sink);

// Both lines of the example above.
void WriteTensor(std::string_view name, const ConstTensorView& tensor, const ValuesForm& form,
                 const TextSink& sink);

}  // namespace dmlop
