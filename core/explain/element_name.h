// SPDX-License-Identifier: Apache-2.0
// An element of an operator as a user names it: "OutputTensor[0, 2, 5]", "InputTensors[1][0, -1]"
// or "InputTensors/1[0, -1]". Negative indices count from the end, as in NumPy. "OutputTensor@24"
// and "OutputTensor@0x18" are the element with byte 24 of the tensor's buffer; if several elements
// share a place, it is the first in row-major order.
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

// The parsed text, independent of any operator.
struct ElementName {
  struct Number {
    int64_t value;     // saturates
    std::string text;  // as it was written
    size_t offset;
  };
  struct Group {  // "[0, 2]"
    std::vector<Number> numbers;
    size_t begin, end;  // offsets of the brackets
  };

  std::string field;
  std::optional<Number> number;  // the number in "/1"
  std::vector<Group> groups;     // one or two, or one fewer with a byte; none for a bare name
  std::optional<Number> byte;    // the number in "@24"
  size_t end = 0;                // offset of the end of the text
};

std::optional<ElementName> ParseElementName(std::string_view text, Diagnostics& diagnostics);

// Names a tensor of a model, whose name may have any characters: "scale.OutputTensor[0, 2]".
std::optional<ElementName> ParseModelElementName(std::string_view text, Diagnostics& diagnostics);

// Returns the tensor's name even if what follows it is wrong.
std::string_view ModelTensorIn(std::string_view text);

// An element of a valid operator: its tensor, that tensor's index among those of its role, and the
// element's index, which counts from the beginning.
struct NamedElement {
  TensorSlot slot;
  size_t number;
  Dims index;
};

std::optional<NamedElement> FindElement(const ElementName& name, const OperatorDesc& desc,
                                        Diagnostics& diagnostics);

// Returns the index in a tensor with this descriptor; `tensor` is its name for messages.
std::optional<Dims> FindIndex(const ElementName& name, const std::string& tensor,
                              const TensorDesc& desc, Diagnostics& diagnostics);

// Returns the index of the first element in row-major order at a place of the tensor's buffer;
// empty if there is none.
Dims IndexAtPlace(const Layout& layout, int64_t place);

}  // namespace dmlop
