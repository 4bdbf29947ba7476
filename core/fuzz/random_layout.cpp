// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/random_desc.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace dmlop {

namespace {

std::vector<size_t> RandomOrder(const Entropy& from, size_t count) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[from.Index(i)]);
  return order;
}

// Dimensions nested in any order, the innermost with stride `step`, each after a gap of at most
// `max_gap` elements.
Layout Nested(const Entropy& from, const Dims& sizes, int64_t step, int64_t max_gap) {
  Layout layout{sizes, Dims::Filled(sizes.size(), 0)};
  int64_t stride = step;
  for (const size_t d : RandomOrder(from, sizes.size())) {
    layout.strides[d] = stride;
    stride = stride * sizes[d] + from.Int(0, max_gap);
  }
  return layout;
}

// Rows, planes and so on that begin after gaps.
Layout Padded(const Entropy& from, const Dims& sizes) {
  Layout layout = PackedLayout(sizes);
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    layout.strides[d] = stride;
    stride = stride * sizes[d] + (from.OneIn(2) ? from.Int(1, 3) : 0);
  }
  return layout;
}

// Arbitrary strides.
Layout Scattered(const Entropy& from, const Dims& sizes, int64_t max_stride) {
  Layout layout{sizes, {}};
  while (layout.strides.size() < sizes.size()) {
    layout.strides.push_back(from.Int(0, max_stride));
  }
  return layout;
}

// Rows that begin between the elements of others, such as {2, 3} with strides {3, 2}. Only for
// small sizes, because the extent grows with the square.
Layout Interleaved(const Entropy& from, const Dims& sizes) {
  const int64_t count = Product(sizes);
  if (count > 300) return Nested(from, sizes, 1, 1);
  for (int attempt = 0; attempt < 20; ++attempt) {
    const Layout layout = Scattered(from, sizes, count);
    if (!HasOverlap(layout)) return layout;
  }
  return PackedLayout(sizes);
}

Layout Broadcast(const Entropy& from, const Dims& sizes) {
  Layout layout = Nested(from, sizes, 1, 1);
  for (int64_t& stride : layout.strides) {
    if (from.OneIn(2)) stride = 0;
  }
  return layout;
}

// Strides of dimensions of size 1 have no meaning.
void ScrambleIdleStrides(const Entropy& from, Layout& layout) {
  for (size_t d = 0; d < layout.rank(); ++d) {
    if (layout.sizes[d] == 1 && from.OneIn(4)) layout.strides[d] = from.Int(0, 9);
  }
}

}  // namespace

int64_t RandomSize(const Entropy& from, int64_t most) {
  if (most < 16 || from.OneIn(4))
    return from.Int(1, std::min<int64_t>(most, from.OneIn(2) ? 3 : 9));
  switch (from.Index(8)) {
    case 0:
    case 1:
      return 1;
    case 2: {
      int64_t power = 16;
      while (power * 2 <= most && from.OneIn(2)) power *= 2;
      return std::min(most, power + from.Int(-1, 1));
    }
    case 3:
      return 16 * from.Int(1, std::min<int64_t>(most / 16, 10));
    case 4:
      return from.Int(10, std::min<int64_t>(most, from.OneIn(4) ? most : 150));
    default:
      return from.Int(1, 9);
  }
}

Dims RandomSizes(const Entropy& from, size_t rank, int64_t max_elements) {
  Dims sizes = Dims::Filled(rank, 1);
  int64_t room = max_elements;
  for (const size_t d : RandomOrder(from, rank)) {
    sizes[d] = RandomSize(from, room);
    room /= sizes[d];
  }
  return sizes;
}

Layout RandomOutputLayout(const Entropy& from, const Dims& sizes, LayoutForms forms) {
  Layout layout = PackedLayout(sizes);
  if (forms == LayoutForms::kPacked) return layout;
  const bool has_all = forms == LayoutForms::kAll;
  switch (from.Int(0, has_all ? 4 : 3)) {
    case 0:
      break;
    case 1:
      layout = Nested(from, sizes, 1, 0);
      break;
    case 2:
      layout = Padded(from, sizes);
      break;
    case 3:
      if (has_all) layout = Nested(from, sizes, from.Int(2, 3), 2);
      break;
    default:
      layout = Interleaved(from, sizes);
  }
  if (has_all) ScrambleIdleStrides(from, layout);
  return layout;
}

Layout RandomInputLayout(const Entropy& from, const Dims& sizes, LayoutForms forms) {
  if (forms == LayoutForms::kPacked) return PackedLayout(sizes);
  const int64_t kind = from.Int(0, 6);
  if (kind == 0) return Broadcast(from, sizes);
  if (kind == 1 && forms == LayoutForms::kAll) return Scattered(from, sizes, 4);
  return RandomOutputLayout(from, sizes, forms);
}

// --- operators with sizes of their own -----------------------------------------------------------

namespace {

std::map<std::string_view, const SizesRow*> RowsByName() {
  std::map<std::string_view, const SizesRow*> rows;
  for (const auto some : {AttentionSizes(), IndexingSizes(), MovementSizes(), NormalizationSizes(),
                          ProductSizes(), RecurrentSizes(), RegionSizes(), WindowSizes()}) {
    for (const SizesRow& row : some) rows[row.name] = &row;
  }
  return rows;
}

}  // namespace

const SizesRow* SizesRowOf(const OperatorInfo& info) {
  static const std::map<std::string_view, const SizesRow*> rows = RowsByName();
  const auto found = rows.find(info.name);
  return found == rows.end() ? nullptr : found->second;
}

}  // namespace dmlop
