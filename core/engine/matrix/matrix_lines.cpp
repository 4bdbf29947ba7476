// SPDX-License-Identifier: Apache-2.0
#include "core/engine/matrix/matrix_lines.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core/base/parallel.h"
#include "core/kernels/matrix/integer_tile.h"
#include "core/kernels/matrix/pack.h"
#include "core/kernels/matrix/product.h"
#include "core/tensor/loop_nest.h"

namespace dmlop {
namespace {

constexpr uint64_t kAbsentBits = 0x7FF8000000000001;

int64_t TotalLength(std::span<const MatrixView> parts) {
  int64_t length = 0;
  for (const MatrixView& part : parts) length += part.inner.element_count();
  return length;
}

// As few loops as reach all elements in order.
LoopNest<1> Flattened(const Layout& layout) {
  LoopNest<1> nest;
  for (size_t d = 0; d < layout.rank(); ++d) nest.Push(layout.sizes[d], {layout.strides[d]});
  return Merged(nest);
}

// The single stride that reaches all elements in order; null if there is none.
std::optional<int64_t> OnlyStride(const Layout& layout) {
  const LoopNest<1> merged = Flattened(layout);
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

LineOffsets::LineOffsets(const Layout& lines) {
  const LoopNest<1> loops = WithARow(Flattened(lines));
  layout_ = {loops.sizes, loops.strides[0]};
  step_ = layout_.strides.back();
}

void LineOffsets::FindRow(int64_t line) {
  const int64_t begin = line - line % layout_.sizes.back();
  row_ = {begin, begin + layout_.sizes.back()};
  offset_ = OffsetOfElement(layout_, begin);
}

MatrixView MatrixView::Of(const ConstTensorView& view, size_t line_dim, size_t inner_dim) {
  const auto along = [&](size_t d) {
    return Layout{{view.layout.sizes[d]}, {view.layout.strides[d]}};
  };
  return {view.data, view.type, along(line_dim), along(inner_dim)};
}

ViewLines::Part::Part(const MatrixView& from)
    : view(from), length(from.inner.element_count()), stride(OnlyStride(from.inner)) {}

void ViewLines::Part::Pack(IndexRange lines, IndexRange elements, int64_t width, double* to) const {
  std::array<int64_t, kMaxPanelWidth> line_offsets;
  FillOffsets(view.lines, lines, line_offsets.data());
  PackCall call{view.data, line_offsets.data(), lines.count, nullptr, elements.count, width, to};
  std::array<int64_t, kChainLength> inner_offsets;
  if (stride == 1) {
    call.data += elements.begin * static_cast<int64_t>(ByteWidth(view.type));
  } else {
    FillOffsets(view.inner, elements, inner_offsets.data());
    call.inner = inner_offsets.data();
  }
  PackFunctionFor(view.type)(call);
}

ViewLines::ViewLines(std::span<const MatrixView> parts)
    : MatrixLines(parts[0].type, parts[0].lines.element_count(), TotalLength(parts)),
      parts_(parts.begin(), parts.end()) {
  const Part& first = parts_[0];
  const std::optional<int64_t> line_stride = OnlyStride(first.view.lines);
  if (parts.size() > 1 || !line_stride || !first.stride) return;
  plain_ = {first.view.data, type(), *line_stride, *first.stride};
}

void ViewLines::Pack(IndexRange lines, IndexRange elements, int64_t width, double* to) const {
  for (const Part& part : parts_) {
    const int64_t count = std::clamp<int64_t>(part.length - elements.begin, 0, elements.count);
    if (count > 0) part.Pack(lines, {elements.begin, count}, width, to);
    to += count * width;
    elements = {std::max<int64_t>(elements.begin - part.length, 0), elements.count - count};
  }
}

// Lines without fixed strides are copied first.
void ViewLines::PackPairs(IndexRange lines, IndexRange elements, const int16_t* less, int64_t width,
                          int16_t* panel) const {
  const auto pack = [&](const std::byte* first, int64_t line_stride, int64_t stride) {
    PackBytes({first, type() == DataType::kInt8, line_stride, stride}, lines.count, elements.count,
              less, width, panel);
  };
  if (plain_) {
    const auto& [data, type, line_stride, stride] = *plain_;
    return pack(data + lines.begin * line_stride + elements.begin * stride, line_stride, stride);
  }
  const MatrixView& view = parts_[0].view;
  std::vector<int64_t> offsets(static_cast<size_t>(lines.count + elements.count));
  int64_t* const inner = offsets.data() + lines.count;
  FillOffsets(view.lines, lines, offsets.data());
  FillOffsets(view.inner, elements, inner);
  std::vector<std::byte> copy;
  for (int64_t i = 0; i < lines.count; ++i) {
    for (int64_t k = 0; k < elements.count; ++k)
      copy.push_back(view.data[inner[k] + offsets[static_cast<size_t>(i)]]);
  }
  pack(copy.data(), elements.count, 1);
}

void ViewLines::Extract(int64_t line, double* to) const {
  for (int64_t k = 0; k < length(); k += kChainLength) {
    Pack({line, 1}, {k, std::min(kChainLength, length() - k)}, 1, to + k);
  }
}

namespace {

int64_t PanelWidth(PanelSide side) {
  const ProductKernels kernels = ProductKernelsNow();
  return side == PanelSide::kRows ? kernels.row_width : kernels.column_width;
}

// A part of a panel that stays in the first-level cache while it is packed and looked at.
constexpr int64_t kDepthAtOnce = kChainLength / 4;
static_assert(kChainLength % kDepthAtOnce == 0);

// Sums of numbers whose ratio is greater are hardly ever exact.
constexpr double kGreatestSpan = 0x1p22;

}  // namespace

// Finds the lowest bit of numbers piece by piece, and gives up early.
class PackedLines::BitSearch {
 public:
  void Add(int64_t count, const double* numbers) {
    constexpr int64_t kPiece = 512;
    for (int64_t i = 0; i < count && lowest_ != 0; i += kPiece) {
      AddPiece(std::min(kPiece, count - i), numbers + i);
    }
  }
  double lowest() const { return lowest_; }

 private:
  void AddPiece(int64_t count, const double* numbers) {
    double lowest = 0;
    double greatest = 0;
    ProductKernelsNow().scan_bits(count, numbers, &lowest, &greatest);
    lowest_ = std::min(lowest_, lowest);
    greatest_ = std::max(greatest_, greatest);
    if (greatest_ > lowest_ * kGreatestSpan || std::isinf(greatest_)) lowest_ = 0;
  }

  double lowest_ = std::numeric_limits<double>::infinity();
  double greatest_ = 0;
};

PackedLines::PackedLines(const MatrixLines& lines, IndexRange range, PanelSide side)
    : lines_(lines),
      range_(range),
      width_(PanelWidth(side)),
      length_(lines.length()),
      data_(panels() * width_ * length_) {
  Pack(range);
}

void PackedLines::Pack(IndexRange range) {
  range_ = range;
  error_norms_.assign(static_cast<size_t>(panels() * width_), 0);
  absent_.assign(static_cast<size_t>(panels()), 0);
  std::vector<double> lowest_bits(static_cast<size_t>(panels()), BitSearch().lowest());
  const int64_t grain = PackingGrain(panels(), width_ * length_);
  ParallelFor(panels(), grain, 0, [&](int64_t begin, int64_t end) {
    BitSearch search;
    for (int64_t panel = begin; panel < end; ++panel) PackPanel(panel, search);
    lowest_bits[static_cast<size_t>(begin)] = search.lowest();
  });
  lowest_bit_ = *std::min_element(lowest_bits.begin(), lowest_bits.end());
}

int64_t PackedLines::LinesIn(int64_t panel) const {
  return std::min(width_, range_.count - panel * width_);
}

// Sums the squares of a line's elements up to each addition in a product with it, as the kernels
// order these, and then all these sums. An addition errs by a rounding unit of what is summed up so
// far, which is at most the product of the norms of both lines up to there; by the inequality of
// Cauchy and Schwarz, all additions err by the product of the roots of both totals.
class PackedLines::PartialSquares {
 public:
  using Squares = std::array<double, kMaxPanelWidth>;  // one for each line

  explicit PartialSquares(int64_t width) : width_(width) {}

  // Takes the next few elements of a panel, all of one chain. The sum up to the last of them stands
  // for those up to each.
  void Add(IndexRange elements, const double* panel) {
    if (elements.begin % kChainLength == 0 && elements.begin > 0) EndChain();
    ProductKernelsNow().add_squares(elements.count, width_, panel, chain_.data());
    for (size_t i = 0; i < Width(); ++i) {
      total_[i] += static_cast<double>(elements.count) * chain_[i];
    }
  }

  // Returns the sums of all these sums.
  const Squares& Total() {
    EndChain();
    return total_;
  }

 private:
  size_t Width() const { return static_cast<size_t>(width_); }

  // Each chain but the first is added to those before it.
  void EndChain() {
    for (size_t i = 0; i < Width(); ++i) {
      chains_[i] += chain_[i];
      if (has_chains_) total_[i] += chains_[i];
    }
    chain_ = {};
    has_chains_ = true;
  }

  int64_t width_;
  Squares total_{}, chains_{}, chain_{};
  bool has_chains_ = false;
};

void PackedLines::PackPanel(int64_t panel, BitSearch& search) {
  PartialSquares squares(width_);
  for (int64_t k = 0; k < length_; k += kDepthAtOnce) {
    const int64_t depth = std::min(kDepthAtOnce, length_ - k);
    double* to = data_.data() + (panel * length_ + k) * width_;
    lines_.Pack(LinesOf(panel), {k, depth}, width_, to);
    squares.Add({k, depth}, to);
    search.Add(depth * width_, to);
  }
  // Each addition has lost less than 2^-52 of the sum of squares.
  const double rounding = 1 + static_cast<double>(2 * length_ + 8) * 0x1p-52;
  const PartialSquares::Squares& total = squares.Total();
  for (int64_t i = 0; i < width_; ++i) {
    error_norms_[static_cast<size_t>(panel * width_ + i)] =
        std::sqrt(total[static_cast<size_t>(i)] * rounding) * (1 + 0x1p-50);
  }
  absent_[static_cast<size_t>(panel)] = lines_.WithAbsent(LinesOf(panel));
}

}  // namespace dmlop
