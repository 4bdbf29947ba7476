// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <vector>

#include "core/base/integers.h"
#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/engine/copy/copy_views.h"
#include "core/engine/copy/tiled_move.h"
#include "core/engine/index/indexed_rows.h"
#include "core/kernels/copy/stream.h"

namespace dmlop {
namespace {

constexpr int64_t kPartBytes = kReadAheadBytes / 2;  // fits in the second-level cache

// A dimension along which the output is cut into parts: the indices never choose a place beyond
// their own part.
struct PartDim {
  size_t walked;
  size_t data;
  size_t index;
  int64_t size;
  int64_t step;
};

struct Operands {
  ConstTensorView input, index, updates;
  TensorView output;
};

// Parts of the output that no update leaves.
class Parts {
 public:
  Parts(const IndexLinks& links, const Operands& whole) : whole_(whole) {
    const Layout& output = whole.output.layout;
    for (size_t d = 0; d < links.dims.size(); ++d) {
      const auto [data, index] = links.dims[d];
      if (data == IndexLinks::kNone || index == IndexLinks::kNone) continue;
      dims_.push_back({d, data, index, output.sizes[data], output.sizes[data]});
    }
    std::stable_sort(dims_.begin(), dims_.end(), [&](const PartDim& a, const PartDim& b) {
      return output.strides[a.data] > output.strides[b.data];
    });
    const int64_t all = whole.output.element_bytes();
    Cut(std::clamp(all / ThreadsAtHand(), kParallelBytes, kPartBytes));
  }

  int64_t count() const { return Product(grid_); }
  int64_t bytes() const { return bytes_; }

  Operands At(int64_t number) const {
    Operands part = whole_;
    const Dims place = IndexOf(grid_, number);
    for (size_t i = 0; i < dims_.size(); ++i) {
      const PartDim& dim = dims_[i];
      const int64_t start = place[i] * dim.step;
      const int64_t size = std::min(dim.step, dim.size - start);
      part.input = part.input.Slice(dim.data, start, size);
      part.output = part.output.Slice(dim.data, start, size);
      part.index = part.index.Slice(dim.index, start, size);
      part.updates = part.updates.Slice(dim.walked, start, size);
    }
    return part;
  }

 private:
  // Cuts the output into parts of at most `most` bytes, if that is possible with whole cache lines.
  void Cut(int64_t most) {
    const int64_t width = static_cast<int64_t>(ByteWidth(whole_.output.type));
    bytes_ = whole_.output.element_bytes();
    for (PartDim& dim : dims_) {
      const bool is_line = whole_.output.layout.strides[dim.data] == 1;
      const int64_t least = std::min(dim.size, is_line ? kLineBytes / width : 1);
      const int64_t bytes = bytes_ / dim.size;
      if (bytes_ > most) dim.step = std::clamp(most / bytes, least, dim.size);
      bytes_ = bytes * dim.step;
      grid_.push_back(CeilDiv(dim.size, dim.step));
    }
  }

  const Operands& whole_;
  std::vector<PartDim> dims_;  // strides of the output decrease
  Dims grid_;
  int64_t bytes_;  // size of the largest part
};

void Scatter(const IndexLinks& links, const Operands& operands) {
  const auto places = ChosenPlaces(links, operands.output.layout, operands.index);
  ScatterRows(links, *places, operands.updates, operands.index.layout, operands.output);
}

void RunMove(const ConstTensorView& from, const TensorView& to, int64_t all_bytes) {
  const TiledMove move(from, to, all_bytes, nullptr);
  move.Run(0, move.tiles(), 0, 0);
}

}  // namespace

void CopyAndScatter(const IndexLinks& links, const ConstTensorView& input,
                    const ConstTensorView& index, const ConstTensorView& updates,
                    const TensorView& output) {
  const Operands whole{input, index, updates, output};
  const Parts parts(links, whole);
  if (parts.count() == 1 || parts.bytes() > kPartBytes) {
    CopyView(input, output);
    return Scatter(links, whole);
  }
  // A part is packed in a cache even if the lines of the output are far apart.
  const int64_t all_bytes = output.element_bytes();
  ParallelFor(parts.count(), 1, all_bytes, [&](int64_t begin, int64_t end) {
    Buffer buffer(static_cast<size_t>(parts.bytes()));
    for (int64_t number = begin; number < end; ++number) {
      Operands part = parts.At(number);
      const TensorView to = part.output;
      part.output = {buffer.data(), to.type, PackedLayout(to.layout.sizes)};
      RunMove(part.input, part.output, /*all_bytes=*/0);
      Scatter(links, part);
      RunMove(AsConst(part.output), to, all_bytes);
    }
    FlushStreams();
  });
}

}  // namespace dmlop
