// SPDX-License-Identifier: Apache-2.0
// Changes of a descriptor by id, such as a device makes that leaves out a field or mistakes one for
// another:
//
//   /desc/Mode="CONVOLUTION"                 a field, or an entry of one, with another value
//   /desc/BiasTensor=null                    a field that is left out
//   /bindings/ZeroPointTensor=0              a tensor whose elements all have one value
//   /bindings/ValuesTensor=[1,0]             a tensor with these elements
//   /desc/StartPadding<->/desc/EndPadding    two fields, or two tensors with their elements,
//                                            exchanged; outputs must have equal types and sizes
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/arithmetic/computation.h"
#include "core/base/diagnostic.h"

namespace dmlop {

struct DescriptorChange {
  std::string pointer;
  std::string value;  // JSON text; empty for an exchange
  std::string other;  // the pointer that is exchanged with

  std::string id() const { return other.empty() ? pointer + "=" + value : pointer + "<->" + other; }

  // Returns words for people: "BiasTensor left out".
  std::string text() const;
};

// Returns whether two outputs can have the elements of one another.
bool AreExchangeable(const TensorDesc& a, const TensorDesc& b);

// Returns nothing if the text does not have the form of such a change.
std::optional<DescriptorChange> ParseDescriptorChange(std::string_view id);

// Returns the computation with all of the changes. Returns nothing, and says why, if a pointer
// leads nowhere, or if DirectML would refuse the descriptor; sizes and types of the outputs stay as
// they are. Pointers of diagnostics are those of a document.
std::optional<Computation> Changed(const Computation& original,
                                   std::span<const DescriptorChange> changes, Diagnostics& why);

// Lists each change of a single field that a device may make by mistake, the simplest first, by the
// kinds of the fields, and of the values of small tensors. Many of them are not valid.
std::vector<DescriptorChange> SingleChangesOf(const Computation& computation);

// Lists the pairs of changes that are as likely as single ones, as only both are valid: padding
// that moves from one end to the other, dilations that are left out with the padding for them,
// pixel offsets that are both left out, a mask with its type, and tensors of which neither may be
// there alone.
std::vector<std::vector<DescriptorChange>> CommonPairsOf(const OperatorDesc& op);

}  // namespace dmlop
