// SPDX-License-Identifier: Apache-2.0
#include "core/engine/matrix/matrix_lines.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "core/kernels/matrix/pack.h"
#include "core/kernels/matrix/product.h"
#include "core/tensor/loop_nest.h"

namespace dmlop {
namespace {

constexpr uint64_t kAbsentBits = 0x7FF8000000000001;

int64_t TotalLength(const std::vector<const MatrixLines*>& parts) {
  int64_t length = 0;
  for (const MatrixLines* part : parts) length += part->length();
  return length;
}

// The single stride that reaches all elements in order; null if there is none.
std::optional<int64_t> OnlyStride(const Layout& layout) {
  LoopNest<1> nest;
  for (size_t d = 0; d < layout.rank(); ++d) nest.Push(layout.sizes[d], {layout.strides[d]});
  const LoopNest<1> merged = Merged(nest);
  if (merged.rank() == 0) return 1;
  return merged.rank() == 1 ? std::optional(merged.strides[0][0]) : std::nullopt;
}

}  // namespace

bool MatrixLines::IsAbsent(double element) {
  return std::bit_cast<uint64_t>(element) == kAbsentBits;
}
double MatrixLines::Absent() {
  return std::bit_cast<double>(kAbsentBits);
}

void FillOffsets(const Layout& layout, IndexRange range, int64_t* offsets) {
  if (layout.rank() == 0) {
    std::fill_n(offsets, range.count, 0);
    return;
  }
  Dims index = IndexOf(layout.sizes, range.begin);
  const size_t last = layout.rank() - 1;
  const int64_t stride = layout.strides[last];
  for (int64_t done = 0; done < range.count;) {
    const int64_t count = std::min(range.count - done, layout.sizes[last] - index[last]);
    int64_t offset = OffsetOf(layout, index);
    for (int64_t i = 0; i < count; ++i, offset += stride) offsets[done + i] = offset;
    done += count;
    index[last] += count - 1;
    Advance(layout.sizes, index);
  }
}

ViewLines::ViewLines(const MatrixView& view)
    : MatrixLines(view.lines.element_count(), view.inner.element_count()), view_(view) {}

void ViewLines::Pack(IndexRange lines, IndexRange elements, int64_t width, double* to) const {
  std::array<int64_t, kMaxPanelWidth> line_offsets;
  std::array<int64_t, kChainLength> inner_offsets;
  FillOffsets(view_.lines, lines, line_offsets.data());
  FillOffsets(view_.inner, elements, inner_offsets.data());
  PackFunctionFor(view_.type)({view_.data, line_offsets.data(), lines.count, inner_offsets.data(),
                               elements.count, width, to});
}

void ViewLines::Extract(int64_t line, double* to) const {
  for (int64_t k = 0; k < length(); k += kChainLength) {
    Pack({line, 1}, {k, std::min(kChainLength, length() - k)}, 1, to + k);
  }
}

std::optional<PlainLines> ViewLines::AsPlain() const {
  const std::optional<int64_t> line_stride = OnlyStride(view_.lines);
  const std::optional<int64_t> inner_stride = OnlyStride(view_.inner);
  if (!line_stride || !inner_stride) return std::nullopt;
  return PlainLines{view_.data, view_.type, *line_stride, *inner_stride};
}

JoinedLines::JoinedLines(std::vector<const MatrixLines*> parts)
    : MatrixLines(parts[0]->count(), TotalLength(parts)), parts_(std::move(parts)) {}

void JoinedLines::Pack(IndexRange lines, IndexRange elements, int64_t width, double* to) const {
  for (const MatrixLines* part : parts_) {
    if (elements.count == 0) return;
    const int64_t count = std::min(part->length() - elements.begin, elements.count);
    if (count > 0) {
      part->Pack(lines, {elements.begin, count}, width, to);
      to += count * width;
      elements = {0, elements.count - count};
    } else {
      elements.begin -= part->length();
    }
  }
}

uint32_t JoinedLines::WithAbsent(IndexRange lines) const {
  uint32_t with_absent = 0;
  for (const MatrixLines* part : parts_) with_absent |= part->WithAbsent(lines);
  return with_absent;
}

void JoinedLines::Extract(int64_t line, double* to) const {
  for (const MatrixLines* part : parts_) {
    part->Extract(line, to);
    to += part->length();
  }
}

}  // namespace dmlop
