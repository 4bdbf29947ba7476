// An element of an operator as a user names it: "OutputTensor[0, 2, 5]", "InputTensors[1][0, -1]"
// or "InputTensors/1[0, -1]". Negative indices count from the end, as in NumPy. "OutputTensor@24"
// is the element that has byte 24 of the tensor's buffer, "@0x18" too; of several in one place the
// first in row-major order.
//
// Faults are reported with their offset in the text, under the codes
//
//   ELEM-1   the text is not the name of an element
//   ELEM-2   the operator has no such tensor
//   ELEM-3   the number of indices is not the number of dimensions
//   ELEM-4   an index is out of range
//   ELEM-5   no element has that byte
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/ops/operator.h"

namespace dmlop {

// The text taken apart, whatever operator it is for.
struct ElementName {
  struct Number {
    int64_t value;     // saturates
    std::string text;  // as it was written
    size_t offset;
  };
  struct Group {  // "[0, 2]"
    std::vector<Number> numbers;
    size_t begin, end;  // of the brackets
  };

  std::string field;
  std::optional<Number> number;  // of "/1"
  std::vector<Group> groups;     // one or two, or one fewer with a byte; none of a bare name
  std::optional<Number> byte;    // of "@24"
  size_t end = 0;                // of the text
};

std::optional<ElementName> ParseElementName(std::string_view text, Diagnostics& diagnostics);

// Of a tensor of a model, whose name may have any characters: "scale.OutputTensor[0, 2]".
std::optional<ElementName> ParseModelElementName(std::string_view text, Diagnostics& diagnostics);

// The name in it, also where what is behind it is wrong.
std::string_view ModelTensorIn(std::string_view text);

// An element of a valid operator: its tensor, that tensor's number among those of its role, and the
// index, which counts from the beginning.
struct NamedElement {
  TensorSlot slot;
  size_t number;
  Dims index;
};

std::optional<NamedElement> FindElement(const ElementName& name, const OperatorDesc& desc,
                                        Diagnostics& diagnostics);

// The index in a tensor of that desc; `tensor` is what it is called.
std::optional<Dims> FindIndex(const ElementName& name, const std::string& tensor,
                              const TensorDesc& desc, Diagnostics& diagnostics);

}  // namespace dmlop
