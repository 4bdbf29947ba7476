// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_tensor.h"

#include "tests/reference/element.h"

namespace dmlop {

namespace {

// Elements that a large tensor repeats. A prime keeps rows and planes from repeating with them.
constexpr int64_t kDrawn = 65537;

}  // namespace

void FillRandomly(Engine& engine, TestTensor& tensor) {
  const TensorView view = tensor.mutable_view();
  if (view.layout.element_count() <= kDrawn) return FillRandomly(engine, view);
  TestTensor drawn(view.type, PackedLayout({kDrawn}), 0);
  FillRandomly(engine, drawn.mutable_view());
  Dims next{0};
  reference::ForEachIndex(view.layout.sizes, [&](const Dims& index) {
    reference::SetBitsAt(view, index, reference::BitsAt(drawn.view(), next));
    if (++next[0] == kDrawn) next[0] = 0;
  });
}

TestTensor RandomInput(Engine& engine, DataType type, const Dims& sizes) {
  const Layout layout = RandomInputLayout(engine, sizes);
  TestTensor tensor(type, layout, UniformInt(engine, 0, 3));
  FillRandomly(engine, tensor);
  return tensor;
}

TestTensor RandomOutput(Engine& engine, DataType type, const Dims& sizes) {
  const Layout layout = RandomOutputLayout(engine, sizes);
  return TestTensor(type, layout, UniformInt(engine, 0, 3));
}

}  // namespace dmlop
