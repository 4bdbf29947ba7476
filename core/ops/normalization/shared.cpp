#include "core/ops/normalization/shared.h"

#include <utility>

namespace dmlop::normalization {

SourceMap SliceOfInput(const OperatorDesc& op, size_t input, std::vector<uint32_t> axes) {
  const Sizes& sizes = *TensorSlots(op, TensorRole::kInput)[input].desc->sizes;
  return [input, sizes, axes = std::move(axes)](const Region& output) {
    Region source{input, output.begin, output.sizes};
    for (const uint32_t axis : axes) {
      source.begin[axis] = 0;
      source.sizes[axis] = sizes[axis];
    }
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == 1) source.begin[d] = 0;
      if (sizes[d] == 1) source.sizes[d] = 1;
    }
    return source;
  };
}

}  // namespace dmlop::normalization
