// DML_UNFOLD_OPERATOR_DESC: copies every position of a sliding window into a column ("im2col").
// The input has shape (N, C, S0, .., S(D-1)), the output (N, C * prod(WindowSizes), BlockCount):
//
//   Blocks[d]  = floor((S[d] + StartPadding[d] + EndPadding[d] - Dilations[d] * (WindowSizes[d] -
//   1)
//                - 1) / Strides[d]) + 1
//   BlockCount = prod(Blocks)
//   Output[n, c * prod(W) + lin(t), lin(b)] = Input[n, c, p], or 0 where p lies in the padding;
//   p[d] = b[d] * Strides[d] - StartPadding[d] + t[d] * Dilations[d]
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/ops/support.h"
#include "core/ops/unfold_loop.h"
#include "core/tensor/tensor.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {

inline constexpr uint32_t kMaxSpatialRank = kMaxRank - 2;

struct UnfoldDesc {
  static constexpr std::string_view kName = "UNFOLD";
  static constexpr std::string_view kSummary = "copies sliding windows into columns (im2col)";
  static constexpr std::array kRules = {
      Rule{"UNF-1", "1 to 6 spatial dimensions, as many in each of the five arrays"},
      Rule{"UNF-2", "the input has two dimensions more"},
      Rule{"UNF-4",
           "the output is {N, C * prod(WindowSizes), BlockCount}, or that behind leading 1s up to "
           "the input's rank"},
      Rule{"UNF-5", "input and output agree in DataType"},
      Rule{"UNF-10", "the padded input holds at least one window"},
      Rule{"UNF-11", "WindowSizes, Strides and Dilations are not 0"},
      Rule{"UNF-14", "exists from feature level 6_4"},
  };
  static constexpr std::array kLimits = {
      FieldLimits{.field = "WindowSizes", .min_count = 1, .max_count = kMaxSpatialRank, .min = 1},
      FieldLimits{.field = "Strides", .min_count = 1, .max_count = kMaxSpatialRank, .min = 1},
      FieldLimits{.field = "Dilations", .min_count = 1, .max_count = kMaxSpatialRank, .min = 1},
      FieldLimits{.field = "StartPadding", .min_count = 1, .max_count = kMaxSpatialRank},
      FieldLimits{.field = "EndPadding", .min_count = 1, .max_count = kMaxSpatialRank},
  };

  TensorDesc input_tensor;
  TensorDesc output_tensor;
  std::optional<uint32_t> dimension_count;
  std::optional<std::vector<uint32_t>> window_sizes;
  std::optional<std::vector<uint32_t>> strides;
  std::optional<std::vector<uint32_t>> dilations;
  std::optional<std::vector<uint32_t>> start_padding;
  std::optional<std::vector<uint32_t>> end_padding;

  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor& visit) {
    visit.Tensor("InputTensor", TensorRole::kInput, self.input_tensor);
    visit.Tensor("OutputTensor", TensorRole::kOutput, self.output_tensor);
    visit.Count("DimensionCount", self.dimension_count, self.window_sizes);
    visit.Numbers("WindowSizes", self.window_sizes);
    visit.Numbers("Strides", self.strides);
    visit.Numbers("Dilations", self.dilations);
    visit.Numbers("StartPadding", self.start_padding);
    visit.Numbers("EndPadding", self.end_padding);
  }
};

std::span<const SupportTable> SupportTables(const UnfoldDesc&);
const SupportTable* SupportFor(const UnfoldDesc& desc);
void Complete(UnfoldDesc& desc);
void Validate(const UnfoldDesc& desc, Diagnostics& diagnostics);
std::vector<UnfoldDim> UnfoldDims(const UnfoldDesc& desc, const ConstTensorView& input);
void Run(const UnfoldDesc& desc, std::span<const ConstTensorView> inputs,
         std::span<const TensorView> outputs);

}  // namespace dmlop
