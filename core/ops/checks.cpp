#include "core/ops/checks.h"

#include <fmt/format.h>

namespace dmlop {

std::string DisplayName(std::string_view path) {
  const size_t slash = path.find('/');
  if (slash == std::string_view::npos) return std::string(path);
  return fmt::format("{}[{}]", path.substr(0, slash), path.substr(slash + 1));
}

void CheckSameDataType(std::string_view code, const NamedTensor& tensor, const NamedTensor& like,
                       Diagnostics& diagnostics) {
  if (!tensor.desc.data_type || !like.desc.data_type) return;
  if (tensor.desc.data_type == like.desc.data_type) return;
  diagnostics.Error(code, tensor.path + "/DataType",
                    fmt::format("{} does not match {} of {}", Name(*tensor.desc.data_type),
                                Name(*like.desc.data_type), DisplayName(like.path)));
}

bool CheckSameRank(std::string_view code, const NamedTensor& tensor, const NamedTensor& like,
                   Diagnostics& diagnostics) {
  if (!tensor.desc.sizes || !like.desc.sizes) return false;
  if (tensor.desc.rank() == like.desc.rank()) return true;
  diagnostics.Error(
      code, tensor.path + "/Sizes",
      fmt::format("Sizes are {}; expected {} dimension{}, as many as {} has with {}",
                  ToString(*tensor.desc.sizes), like.desc.rank(), like.desc.rank() == 1 ? "" : "s",
                  DisplayName(like.path), ToString(*like.desc.sizes)));
  return false;
}

bool CheckAxis(std::string_view code, uint32_t axis, const std::string& axis_path,
               const NamedTensor& tensor, Diagnostics& diagnostics) {
  if (!tensor.desc.sizes) return false;
  if (axis < tensor.desc.rank()) return true;
  diagnostics.Error(code, axis_path,
                    fmt::format("axis {} is out of range for {} with {} dimension{}", axis,
                                DisplayName(tensor.path), tensor.desc.rank(),
                                tensor.desc.rank() == 1 ? "" : "s"));
  return false;
}

void CheckSizes(std::string_view code, const NamedTensor& tensor,
                const std::vector<uint32_t>& expected, Diagnostics& diagnostics) {
  if (*tensor.desc.sizes == expected) return;
  diagnostics.Error(
      code, tensor.path + "/Sizes",
      fmt::format("Sizes are {}; expected {}", ToString(*tensor.desc.sizes), ToString(expected)));
}

void CheckSizesExcept(std::string_view code, const NamedTensor& tensor, const NamedTensor& like,
                      size_t axis, Diagnostics& diagnostics) {
  std::vector<uint32_t> expected = *like.desc.sizes;
  expected[axis] = (*tensor.desc.sizes)[axis];
  CheckSizes(code, tensor, expected, diagnostics);
}

void FillIn(TensorDesc& desc, std::optional<DataType> implied_type,
            const std::optional<std::vector<uint32_t>>& implied_sizes) {
  if (!desc.data_type) desc.data_type = implied_type;
  if (!desc.sizes) desc.sizes = implied_sizes;
}

}  // namespace dmlop
