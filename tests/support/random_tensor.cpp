// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_tensor.h"

namespace dmlop {

void FillRandomly(Engine& engine, TestTensor& tensor) {
  FillRandomly(engine, tensor.mutable_view());
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
