// DML_JOIN_OPERATOR_DESC: puts the input tensors one after another along Axis. The inverse of
// SPLIT.
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

struct JoinDesc {
  static constexpr std::string_view kName = "JOIN";
  static constexpr std::string_view kSummary = "concatenates tensors along an axis";
  static constexpr std::array kRules = {
      Rule{"JOIN-1", "at least one input"},
      Rule{"JOIN-3", "all tensors agree in DataType and DimensionCount"},
      Rule{"JOIN-4",
           "Axis is a dimension; Sizes agree but on Axis, where the output has the inputs' sum"},
      Rule{"JOIN-5", "no input is empty along Axis"},
  };
  static constexpr std::array kLimits = {
      FieldLimits{.field = "InputTensors", .min_count = 1},
      FieldLimits{.field = "Axis", .max = kMaxRank - 1},
  };
  static constexpr std::string_view kEmptyAxisCode = "JOIN-5";

  std::optional<uint32_t> input_count;
  std::optional<std::vector<TensorDesc>> input_tensors;
  TensorDesc output_tensor;
  std::optional<uint32_t> axis;

  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor& visit) {
    visit.Count("InputCount", self.input_count, self.input_tensors);
    visit.Tensors("InputTensors", TensorRole::kInput, self.input_tensors);
    visit.Tensor("OutputTensor", TensorRole::kOutput, self.output_tensor);
    visit.Number("Axis", self.axis);
  }
};

std::span<const SupportTable> SupportTables(const JoinDesc&);
const SupportTable* SupportFor(const JoinDesc& desc);
void Complete(JoinDesc& desc);
void Validate(const JoinDesc& desc, Diagnostics& diagnostics);
void Run(const JoinDesc& desc, std::span<const ConstTensorView> inputs,
         std::span<const TensorView> outputs);

}  // namespace dmlop
