#include "tests/support/random_layout.h"

#include <algorithm>
#include <numeric>

namespace dmlop {
namespace {

int64_t Draw64(Engine& engine, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(engine);
}

std::vector<size_t> RandomOrder(Engine& engine, size_t count) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), engine);
  return order;
}

// Dimensions nested in any order, the innermost with stride `step`, each behind a gap of at most
// `max_gap` elements.
Layout Nested(Engine& engine, const Dims& sizes, int64_t step, int64_t max_gap) {
  Layout layout{sizes, Dims::Filled(sizes.size(), 0)};
  int64_t stride = step;
  for (const size_t d : RandomOrder(engine, sizes.size())) {
    layout.strides[d] = stride;
    stride = stride * sizes[d] + Draw64(engine, 0, max_gap);
  }
  return layout;
}

// Strides without a system.
Layout Scattered(Engine& engine, const Dims& sizes, int64_t max_stride) {
  Layout layout{sizes, {}};
  while (layout.strides.size() < sizes.size()) {
    layout.strides.push_back(Draw64(engine, 0, max_stride));
  }
  return layout;
}

// As {2, 3} with strides {3, 2}, where rows begin between the elements of others. Only small sizes,
// because the extent grows with the square.
Layout Interleaved(Engine& engine, const Dims& sizes) {
  const int64_t count = Product(sizes);
  if (count > 300) return Nested(engine, sizes, 1, 1);
  for (int attempt = 0; attempt < 20; ++attempt) {
    const Layout layout = Scattered(engine, sizes, count);
    if (!HasOverlap(layout)) return layout;
  }
  return PackedLayout(sizes);
}

Layout Broadcast(Engine& engine, const Dims& sizes) {
  Layout layout = Nested(engine, sizes, 1, 1);
  for (int64_t& stride : layout.strides) {
    if (OneIn(engine, 2)) stride = 0;
  }
  return layout;
}

// The strides of dimensions of one element mean nothing.
void ScrambleIdleStrides(Engine& engine, Layout& layout) {
  for (size_t d = 0; d < layout.rank(); ++d) {
    if (layout.sizes[d] == 1 && OneIn(engine, 4)) layout.strides[d] = Draw64(engine, 0, 9);
  }
}

}  // namespace

Dims RandomSizes(Engine& engine, size_t rank, int64_t max_elements) {
  Dims sizes = Dims::Filled(rank, 1);
  int64_t room = max_elements;
  for (const size_t d : RandomOrder(engine, rank)) {
    const int64_t longest = OneIn(engine, 4) ? 150 : OneIn(engine, 2) ? 7 : 3;
    sizes[d] = Draw64(engine, 1, std::min(longest, room));
    room /= sizes[d];
  }
  return sizes;
}

Layout RandomOutputLayout(Engine& engine, const Dims& sizes) {
  Layout layout = PackedLayout(sizes);
  switch (UniformInt(engine, 0, 4)) {
    case 0:
      break;
    case 1:
      layout = Nested(engine, sizes, 1, 0);
      break;
    case 2:
      layout = Nested(engine, sizes, 1, 3);
      break;
    case 3:
      layout = Nested(engine, sizes, UniformInt(engine, 2, 3), 2);
      break;
    default:
      layout = Interleaved(engine, sizes);
  }
  ScrambleIdleStrides(engine, layout);
  return layout;
}

Layout RandomInputLayout(Engine& engine, const Dims& sizes) {
  switch (UniformInt(engine, 0, 6)) {
    case 0:
      return Broadcast(engine, sizes);
    case 1:
      return Scattered(engine, sizes, 4);
    default:
      return RandomOutputLayout(engine, sizes);
  }
}

}  // namespace dmlop
