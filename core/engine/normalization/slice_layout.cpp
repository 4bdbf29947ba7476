// SPDX-License-Identifier: Apache-2.0
#include "core/engine/normalization/slice_layout.h"

#include <algorithm>

#include "core/base/integers.h"

namespace dmlop {
namespace {

// Calls visit(first, box) for boxes that together cover the iterations of a range, in order. A box
// begins at iteration `first`; its sizes say how far it goes.
template <typename Visit>
void ForBoxes(const Dims& sizes, size_t d, Range range, Visit&& visit) {
  if (range.begin == range.end) return;
  int64_t inner = 1;
  for (size_t i = d + 1; i < sizes.size(); ++i) inner *= sizes[i];
  const int64_t first = CeilDiv(range.begin, inner);
  const int64_t last = range.end / inner;
  if (first >= last && d + 1 < sizes.size()) {
    const int64_t middle = std::clamp(first * inner, range.begin, range.end);
    ForBoxes(sizes, d + 1, {range.begin, middle}, visit);
    ForBoxes(sizes, d + 1, {middle, range.end}, visit);
    return;
  }
  if (range.begin < first * inner) ForBoxes(sizes, d + 1, {range.begin, first * inner}, visit);
  Dims box = sizes;
  for (size_t i = 0; i < d; ++i) box[i] = 1;
  box[d] = last - first;
  visit(first * inner, box);
  if (last * inner < range.end) ForBoxes(sizes, d + 1, {last * inner, range.end}, visit);
}

// Adds a dimension for each loop of a box that is longer than 1.
void PushBox(const Dims& box, const Dims& strides, const Dims& packed, Layout& tensor,
             Layout& rows) {
  for (size_t d = 0; d < box.size(); ++d) {
    if (box[d] == 1) continue;
    tensor.sizes.push_back(box[d]);
    tensor.strides.push_back(strides[d]);
    rows.sizes.push_back(box[d]);
    rows.strides.push_back(packed[d]);
  }
}

// Calls visit(offset in the tensor, its layout, offset in the rows, their layout).
template <typename Visit>
void ForPieces(const LoopNest<kSliceOperands>& slices, const LoopNest<kSliceOperands>& elements,
               const SliceLayout::Rows& rows, size_t k, Visit&& visit) {
  Dims rows_of_slices = PackedStrides(slices.sizes);
  for (int64_t& stride : rows_of_slices) stride *= rows.pitch;
  const Dims places = PackedStrides(elements.sizes);
  ForBoxes(slices.sizes, 0, rows.slices, [&](int64_t slice, const Dims& slice_box) {
    ForBoxes(elements.sizes, 0, rows.elements, [&](int64_t element, const Dims& element_box) {
      Layout tensor;
      Layout packed;
      PushBox(slice_box, slices.strides[k], rows_of_slices, tensor, packed);
      PushBox(element_box, elements.strides[k], places, tensor, packed);
      if (tensor.sizes.empty()) {
        tensor = packed = PackedLayout({1});
      }
      visit(OffsetOfElement({slices.sizes, slices.strides[k]}, slice) +
                OffsetOfElement({elements.sizes, elements.strides[k]}, element),
            tensor, (slice - rows.slices.begin) * rows.pitch + (element - rows.elements.begin),
            packed);
    });
  });
}

// Strides that are 0 where the operand is broadcast.
Dims StridesIn(const Layout& layout, const Dims& sizes) {
  Dims strides = layout.strides;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (layout.sizes[d] == 1) strides[d] = 0;
  }
  return strides;
}

InSlice LiesIn(const LoopNest<kSliceOperands>& elements, size_t k, bool may_be_one) {
  const Dims& strides = elements.strides[k];
  const bool is_one =
      std::all_of(strides.begin(), strides.end(), [](int64_t stride) { return stride == 0; });
  if (is_one && may_be_one) return InSlice::kOneForAll;
  if (Product(elements.sizes) == 1) return InSlice::kSideBySide;
  return strides == PackedStrides(elements.sizes) ? InSlice::kSideBySide : InSlice::kApart;
}

}  // namespace

SliceLayout::SliceLayout(const std::vector<uint32_t>& axes, const SliceTensors& tensors,
                         size_t seen_inputs) {
  const Dims& sizes = tensors.output.layout.sizes;
  std::array<Dims, kSliceOperands> strides;
  for (Dims& one : strides) one = Dims::Filled(sizes.size(), 0);
  for (size_t i = 0; i < tensors.inputs.size(); ++i) {
    strides[i] = StridesIn(tensors.inputs[i].layout, sizes);
  }
  strides[kMaxSliceInputs] = StridesIn(tensors.output.layout, sizes);
  for (size_t i = 0; i < tensors.results.size(); ++i) {
    strides[kMaxSliceInputs + 1 + i] = StridesIn(tensors.results[i].layout, sizes);
  }
  const LoopNest<kSliceOperands> all{sizes, strides};
  for (size_t d = 0; d < all.rank(); ++d) {
    const bool in_slice = std::find(axes.begin(), axes.end(), d) != axes.end();
    (in_slice ? elements_ : slices_).Push(sizes[d], all.Step(d));
  }
  elements_ = WithARow(Merged(elements_));
  slices_ = WithARow(Merged(SortedByStride(Merged(slices_), 0)));
  for (size_t k = 0; k < kSliceOperands; ++k) {
    const bool may_be_one = k >= seen_inputs && k < tensors.inputs.size();
    lies_[k] = LiesIn(elements_, k, may_be_one);
  }
}

void SliceLayout::AddGathering(const Rows& rows, size_t operand, const ConstTensorView& from,
                               std::byte* to, std::vector<Move>& moves) const {
  const int64_t width = static_cast<int64_t>(ByteWidth(from.type));
  ForPieces(slices_, elements_, rows, operand,
            [&](int64_t offset, const Layout& tensor, int64_t place, const Layout& packed) {
              moves.push_back({{from.data + offset * width, from.type, tensor},
                               {to + place * width, from.type, packed}});
            });
}

void SliceLayout::AddScattering(const Rows& rows, size_t operand, const std::byte* from,
                                const TensorView& to, std::vector<Move>& moves) const {
  const int64_t width = static_cast<int64_t>(ByteWidth(to.type));
  ForPieces(slices_, elements_, rows, operand,
            [&](int64_t offset, const Layout& tensor, int64_t place, const Layout& packed) {
              moves.push_back({{from + place * width, to.type, packed},
                               {to.data + offset * width, to.type, tensor}});
            });
}

}  // namespace dmlop
