// The operators, as a closed set: everything that can be asked of any one of them. To add one,
// write its two files beside these and name its desc in the variant.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/ops/identity.h"
#include "core/ops/join.h"
#include "core/ops/reduce.h"
#include "core/ops/split.h"
#include "core/ops/support.h"
#include "core/ops/unfold.h"

namespace dmlop {

using OperatorDesc = std::variant<IdentityDesc, JoinDesc, SplitDesc, ReduceDesc, UnfoldDesc>;

inline constexpr std::string_view kOperatorPrefix = "DML_OPERATOR_";

std::span<const std::string_view> OperatorNames();  // "ELEMENT_WISE_IDENTITY", ...
std::string_view Name(const OperatorDesc& desc);
std::string_view Summary(const OperatorDesc& desc);
std::span<const Rule> Rules(const OperatorDesc& desc);  // besides those of tensors alone
std::span<const FieldLimits> Limits(const OperatorDesc& desc);

// An operator with nothing filled in, by a name with or without its prefix.
std::optional<OperatorDesc> MakeOperator(std::string_view name);

// A field that is a tensor, or an array of them.
struct TensorField {
  std::string_view name;
  TensorRole role;
  bool is_array;
};
std::vector<TensorField> TensorFieldsOf(const OperatorDesc& desc);

// A tensor of an operator, by its path: "InputTensor", "OutputTensors/1".
template <typename Desc>
struct BasicTensorSlot {
  std::string path;
  TensorRole role;
  Desc* desc;
};
using TensorSlot = BasicTensorSlot<const TensorDesc>;
using MutableTensorSlot = BasicTensorSlot<TensorDesc>;

// Inputs and outputs in the order of the fields.
std::vector<TensorSlot> TensorSlots(const OperatorDesc& desc);
std::vector<MutableTensorSlot> TensorSlots(OperatorDesc& desc);

// More tensors than this of an array that was left out are not made up from a count alone.
inline constexpr size_t kMaxImpliedTensors = 1 << 16;

// Fills in what was left out as far as the rest implies it: counts, and the outputs' types and
// sizes.
void Complete(OperatorDesc& desc);

// Reports every rule that a completed desc breaks at `level`, into a list that has no errors yet.
// Pointers are relative to the desc.
void Validate(const OperatorDesc& desc, FeatureLevel level, Diagnostics& diagnostics);

// The lowest level at which a valid desc runs.
FeatureLevel MinimumFeatureLevel(const OperatorDesc& desc);

std::span<const SupportTable> SupportTables(const OperatorDesc& desc);

// Runs a valid desc. The views have the sizes and types of the slots of their role, in order; their
// strides are their own and need not be those of the desc. Outputs overlap nothing.
void Run(const OperatorDesc& desc, std::span<const ConstTensorView> inputs,
         std::span<const TensorView> outputs);

}  // namespace dmlop
