// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_layout.h"

#include <algorithm>
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

Dims RandomSizes(const Entropy& from, size_t rank, int64_t max_elements) {
  Dims sizes = Dims::Filled(rank, 1);
  int64_t room = max_elements;
  for (const size_t d : RandomOrder(from, rank)) {
    const int64_t longest = from.OneIn(4) ? 150 : from.OneIn(2) ? 7 : 3;
    sizes[d] = from.Int(1, std::min(longest, room));
    room /= sizes[d];
  }
  return sizes;
}

Layout RandomOutputLayout(const Entropy& from, const Dims& sizes) {
  Layout layout = PackedLayout(sizes);
  switch (from.Int(0, 4)) {
    case 0:
      break;
    case 1:
      layout = Nested(from, sizes, 1, 0);
      break;
    case 2:
      layout = Nested(from, sizes, 1, 3);
      break;
    case 3:
      layout = Nested(from, sizes, from.Int(2, 3), 2);
      break;
    default:
      layout = Interleaved(from, sizes);
  }
  ScrambleIdleStrides(from, layout);
  return layout;
}

Layout RandomInputLayout(const Entropy& from, const Dims& sizes) {
  switch (from.Int(0, 6)) {
    case 0:
      return Broadcast(from, sizes);
    case 1:
      return Scattered(from, sizes, 4);
    default:
      return RandomOutputLayout(from, sizes);
  }
}

}  // namespace dmlop
