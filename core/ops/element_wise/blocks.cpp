// SPDX-License-Identifier: Apache-2.0
#include "core/ops/families.h"

#include <algorithm>
#include <vector>

namespace dmlop {
namespace {

class BlockLoop {
 public:
  BlockLoop(const ElementWiseCall& call, std::span<const ConstTensorView> operands,
            const Region& part, const TensorView& output)
      : call_(call),
        operands_(operands),
        sizes_(operands[0].layout.sizes),
        part_(part),
        output_(output),
        blocks_(Dims::Filled(sizes_.size(), 1)) {
    for (const ConstTensorView& operand : operands) {
      for (size_t d = 0; d < sizes_.size(); ++d) {
        blocks_[d] = std::max(blocks_[d], sizes_[d] / operand.layout.sizes[d]);
      }
    }
  }

  void Run() const { CutDimension(0, part_); }

 private:
  // Cuts the box so that along each dimension a piece has whole blocks, or lies within one.
  void CutDimension(size_t d, const Region& box) const {
    if (d == sizes_.size()) return ComputeBox(box);
    const int64_t block = blocks_[d];
    const int64_t end = box.begin[d] + box.sizes[d];
    Region piece = box;
    for (int64_t begin = box.begin[d]; begin < end; begin += piece.sizes[d]) {
      const int64_t whole = (end - begin) / block * block;
      const int64_t rest = std::min(end - begin, block - begin % block);
      piece.begin[d] = begin;
      piece.sizes[d] = begin % block == 0 && whole > 0 ? whole : rest;
      CutDimension(d + 1, piece);
    }
  }

  void ComputeBox(const Region& box) const {
    std::vector<ConstTensorView> operands;
    for (const ConstTensorView& operand : operands_) operands.push_back(InBox(operand, box));
    Region place = box;  // relative to the part
    for (size_t d = 0; d < sizes_.size(); ++d) place.begin[d] -= part_.begin[d];
    TensorView output = output_;
    output.data +=
        OffsetOf(output.layout, place.begin) * static_cast<int64_t>(ByteWidth(output.type));
    output.layout = SplitLayout(output.layout.strides, Dims::Filled(sizes_.size(), 1), box);
    ComputeElements(call_, operands, output);
  }

  ConstTensorView InBox(const ConstTensorView& operand, const Region& box) const {
    Dims begin = box.begin;
    Dims blocks;  // those of this operand
    for (size_t d = 0; d < sizes_.size(); ++d) {
      blocks.push_back(sizes_[d] / operand.layout.sizes[d]);
      begin[d] /= blocks[d];
    }
    ConstTensorView view = operand;
    view.data += OffsetOf(operand.layout, begin) * static_cast<int64_t>(ByteWidth(operand.type));
    view.layout = SplitLayout(operand.layout.strides, blocks, box);
    return view;
  }

  // A dimension with several blocks becomes two: the blocks, and the elements of a block.
  Layout SplitLayout(const Dims& strides, const Dims& blocks, const Region& box) const {
    Layout layout;
    const auto push = [&](int64_t size, int64_t stride) {
      layout.sizes.push_back(size);
      layout.strides.push_back(stride);
    };
    for (size_t d = 0; d < sizes_.size(); ++d) {
      const int64_t block = blocks_[d];
      const int64_t inner = blocks[d] == 1 ? strides[d] : 0;
      if (block > 1 && box.sizes[d] > block) {
        push(box.sizes[d] / block, blocks[d] == 1 ? block * strides[d] : strides[d]);
        push(block, inner);
      } else {
        push(box.sizes[d], inner);
      }
    }
    return layout;
  }

  const ElementWiseCall& call_;
  std::span<const ConstTensorView> operands_;
  const Dims& sizes_;  // sizes of the whole output
  const Region& part_;
  const TensorView& output_;
  Dims blocks_;
};

}  // namespace

bool HaveBlocks(std::span<const ConstTensorView> operands) {
  return std::any_of(operands.begin(), operands.end(), [&](const ConstTensorView& operand) {
    return !(operand.layout.sizes == operands[0].layout.sizes);
  });
}

void ComputeInBlocks(const ElementWiseCall& call, std::span<const ConstTensorView> operands,
                     const Region& part, const TensorView& output) {
  BlockLoop(call, operands, part, output).Run();
}

}  // namespace dmlop
