#include "core/ops/unfold_taps.h"

#include "core/ops/tiled_loop.h"
#include "core/ops/unfold_geometry.h"

namespace dmlop {
namespace {

constexpr int64_t kLineBytes = 64;

bool HasPadding(const std::vector<UnfoldDim>& dims) {
  return std::any_of(dims.begin(), dims.end(), [](const UnfoldDim& dim) {
    return Inside(dim, 0).count() < dim.blocks || Inside(dim, dim.window - 1).count() < dim.blocks;
  });
}

void FillWithZeros(const TensorView& output) {
  const uint64_t zero = 0;
  const Dims& sizes = output.layout.sizes;
  CopyView({reinterpret_cast<const std::byte*>(&zero),
            output.type,
            {sizes, Dims::Filled(sizes.size(), 0)}},
           output);
}

// Copies what the tap with that number sees to its place.
void CopyTap(const std::vector<UnfoldDim>& dims, const Dims& windows, int64_t number,
             ConstTensorView input, TensorView output) {
  const Dims tap = IndexOf(windows, number);
  const Dims to = output.layout.strides;
  const size_t n = to.size() - 3;
  int64_t from_offset = 0;
  int64_t to_offset = number * to[n + 1];
  output.layout = {{input.layout.sizes[0], input.layout.sizes[1]},
                   {to[n], Product(windows) * to[n + 1]}};
  Dims blocks;
  for (const UnfoldDim& dim : dims) blocks.push_back(dim.blocks);
  const Dims steps = PackedStrides(blocks);
  for (size_t d = 0; d < dims.size(); ++d) {
    const Range inside = Inside(dims[d], tap[d]);
    if (inside.count() == 0) return;
    from_offset += Offset(dims[d], inside.begin, tap[d]);
    to_offset += inside.begin * steps[d] * to[n + 2];
    input.layout.sizes[d + 2] = inside.count();
    input.layout.strides[d + 2] = dims[d].stride * dims[d].step;
    output.layout.sizes.push_back(inside.count());
    output.layout.strides.push_back(steps[d] * to[n + 2]);
  }
  const int64_t width = static_cast<int64_t>(ByteWidth(input.type));
  input.data += from_offset * width;
  output.data += to_offset * width;
  CopyView(input, output);
}

}  // namespace

bool LiesAcross(const std::vector<UnfoldDim>& dims, const ConstTensorView& input) {
  const int64_t step = dims.back().stride * dims.back().step;
  if (step * static_cast<int64_t>(ByteWidth(input.type)) < kLineBytes) return false;
  for (size_t d = 0; d + 1 < input.layout.rank(); ++d) {
    const int64_t stride = input.layout.strides[d];
    if (stride != 0 && stride < step && input.layout.sizes[d] > 1) return true;
  }
  return false;
}

void UnfoldTaps(const std::vector<UnfoldDim>& dims, const ConstTensorView& input,
                const TensorView& output) {
  Dims windows;
  for (const UnfoldDim& dim : dims) windows.push_back(dim.window);
  if (HasPadding(dims)) FillWithZeros(output);
  for (int64_t tap = 0; tap < Product(windows); ++tap) {
    CopyTap(dims, windows, tap, input, output);
  }
}

}  // namespace dmlop
