// What ONNX, WebNN and PyTorch call the operators, for those who know these names.
#pragma once

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

// The operators that have the name elsewhere, in the order of the table. Case and underscores do
// not count.
std::vector<const OperatorInfo*> OperatorsLike(std::string_view name);

// " (did you mean 'GEMM'?)": by another library's name, or the nearest spelling; empty where none
// is near.
std::string DidYouMeanOperator(std::string_view name);

}  // namespace dmlop
