// Comparisons between the tensors of one operator, in the words that all operators share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {

// A tensor by its path in the operator: "InputTensor", "OutputTensors/1".
struct NamedTensor {
  std::string path;
  const TensorDesc& desc;
};

// "InputTensors[1]" for "InputTensors/1".
std::string DisplayName(std::string_view path);

// The checks pass over what was left out; that is reported elsewhere.
void CheckSameDataType(std::string_view code, const NamedTensor& tensor, const NamedTensor& like,
                       Diagnostics& diagnostics);

// Return true when the check holds, so that rules which build on it know. Both tensors then have
// sizes.
bool CheckSameRank(std::string_view code, const NamedTensor& tensor, const NamedTensor& like,
                   Diagnostics& diagnostics);
bool CheckAxis(std::string_view code, uint32_t axis, const std::string& axis_path,
               const NamedTensor& tensor, Diagnostics& diagnostics);

// The tensor has sizes.
void CheckSizes(std::string_view code, const NamedTensor& tensor,
                const std::vector<uint32_t>& expected, Diagnostics& diagnostics);

// The same but for one dimension, which may have any size.
void CheckSizesExcept(std::string_view code, const NamedTensor& tensor, const NamedTensor& like,
                      size_t axis, Diagnostics& diagnostics);

// Takes type and sizes that were left out from the tensor that the rules imply; `implied_sizes`
// empty: they cannot be told.
void FillIn(TensorDesc& desc, std::optional<DataType> implied_type,
            const std::optional<std::vector<uint32_t>>& implied_sizes);

}  // namespace dmlop
