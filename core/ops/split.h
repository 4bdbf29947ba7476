// DML_SPLIT_OPERATOR_DESC: cuts the input tensor into parts along Axis. The inverse of JOIN.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/ops/support.h"
#include "core/tensor/tensor.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {

struct SplitDesc {
  static constexpr std::string_view kName = "SPLIT";
  static constexpr std::string_view kSummary = "cuts a tensor into parts along an axis";
  static constexpr std::array kRules = {
      Rule{"SPLIT-1", "at least one output"},
      Rule{"SPLIT-2", "all tensors agree in DataType and DimensionCount"},
      Rule{"SPLIT-3",
           "Axis is a dimension; Sizes agree but on Axis, where the outputs add up to the input"},
      Rule{"SPLIT-4", "no output is empty along Axis"},
  };
  static constexpr std::array kLimits = {
      FieldLimits{.field = "OutputTensors", .min_count = 1},
      FieldLimits{.field = "Axis", .max = kMaxRank - 1},
  };
  static constexpr std::string_view kEmptyAxisCode = "SPLIT-4";

  TensorDesc input_tensor;
  std::optional<uint32_t> output_count;
  std::optional<std::vector<TensorDesc>> output_tensors;
  std::optional<uint32_t> axis;

  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor& visit) {
    visit.Tensor("InputTensor", TensorRole::kInput, self.input_tensor);
    visit.Count("OutputCount", self.output_count, self.output_tensors);
    visit.Tensors("OutputTensors", TensorRole::kOutput, self.output_tensors);
    visit.Number("Axis", self.axis);
  }
};

std::span<const SupportTable> SupportTables(const SplitDesc&);
const SupportTable* SupportFor(const SplitDesc& desc);

// Outputs that are left out share what the others leave of Axis in equal parts.
void Complete(SplitDesc& desc);
void Validate(const SplitDesc& desc, Diagnostics& diagnostics);
void Run(const SplitDesc& desc, std::span<const ConstTensorView> inputs,
         std::span<const TensorView> outputs);

}  // namespace dmlop
