#include "tests/reference/element.h"
#include "tests/reference/operators.h"

namespace dmlop::reference {
namespace {

// Positions of the window along each spatial dimension.
Dims BlocksOf(const UnfoldDesc& desc, const Dims& input_sizes) {
  Dims blocks;
  for (size_t d = 0; d < desc.window_sizes->size(); ++d) {
    const int64_t padded =
        input_sizes[d + 2] + int64_t{(*desc.start_padding)[d]} + (*desc.end_padding)[d];
    const int64_t reach = int64_t{(*desc.dilations)[d]} * ((*desc.window_sizes)[d] - 1);
    blocks.push_back((padded - reach - 1) / (*desc.strides)[d] + 1);
  }
  return blocks;
}

}  // namespace

// UNF-6 to UNF-9.
Expectation ExpectedAt(const UnfoldDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                       const Dims& index) {
  const Dims& sizes = inputs[0].layout.sizes;
  const Dims windows(desc.window_sizes->begin(), desc.window_sizes->end());
  const size_t n = index.size() - 3;  // behind the leading 1s of an output of the input's rank
  const int64_t row = index[n + 1];
  const Dims tap = IndexOf(windows, row % Product(windows));
  const Dims block = IndexOf(BlocksOf(desc, sizes), index[n + 2]);

  Dims source = {index[n], row / Product(windows)};
  for (size_t d = 0; d < windows.size(); ++d) {
    const int64_t position = block[d] * (*desc.strides)[d] + tap[d] * (*desc.dilations)[d] -
                             int64_t{(*desc.start_padding)[d]};
    if (position < 0 || position >= sizes[d + 2]) return {0};
    source.push_back(position);
  }
  return {BitsAt(inputs[0], source)};
}

}  // namespace dmlop::reference
