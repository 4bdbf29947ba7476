// What ONNX, WebNN and PyTorch call the operators and their fields, for those who know these names.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ops/operator.h"

namespace dmlop {

// Operators there that the operator computes, alone or with other fields left at rest.
struct OtherNames {
  std::vector<std::string_view> onnx, webnn, pytorch;
};

OtherNames OtherNamesOf(const OperatorInfo& info);

// What a field is there, each empty where it is nothing; the note says what differs.
struct Argument {
  std::string_view onnx, webnn, pytorch;
  std::string_view note;
};

Argument ArgumentOf(const OperatorInfo& info, const Field& field);

// The libraries that are looked at.
struct Libraries {
  bool onnx = true, webnn = true, pytorch = true;
};

// What stands here for an operator elsewhere.
struct Likeness {
  std::vector<const OperatorInfo*> operators;  // each alone, or together as `note` says; best first
  std::string_view note;
  Libraries libraries;  // that have the name
};

// By the name that the operator has there, or in programs: "torch.nn.functional.conv2d",
// "F.conv2d", "nn.Conv2d", "np.concatenate", "onnx::MatMul". Case, underscores and "2d" do not
// count.
Likeness FindLike(std::string_view name);

// Every name that FindLike knows, sorted.
std::vector<std::string_view> NamesElsewhere();

// " (did you mean 'Softmax'?)" for a name that is nearly one of these; empty where none is near.
std::string DidYouMeanElsewhere(std::string_view name);

// The operator that a name means elsewhere, or that has it here, of those that can stand in a
// place; null where there is none.
const OperatorInfo* NearestOperator(std::string_view name,
                                    std::span<const OperatorInfo* const> among);

// " (did you mean 'GEMM'?)" of those that can stand in a place: by another library's name, or the
// nearest spelling; empty where none is near. What others call mean is 'REDUCE' with "Function":
// "AVERAGE", and perhaps another operator.
std::string DidYouMeanOperator(std::string_view name,
                               std::span<const OperatorInfo* const> among = Operators());

}  // namespace dmlop
