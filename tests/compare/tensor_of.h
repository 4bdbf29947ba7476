// SPDX-License-Identifier: Apache-2.0
// Tensors made of values or of other tensors, and runs with several numbers of threads.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/parallel.h"
#include "core/tensor/visit_data_type.h"
#include "tests/reference/element.h"
#include "tests/support/test_tensor.h"

namespace dmlop {

template <typename T>
ConstTensorView ViewOf(const std::vector<T>& values) {
  return {reinterpret_cast<const std::byte*>(values.data()), kDataTypeOf<T>,
          PackedLayout({static_cast<int64_t>(values.size())})};
}

// The same elements in another layout.
inline TestTensor CopyInto(const Layout& layout, const ConstTensorView& view) {
  TestTensor copy(view.type, layout);
  const TensorView target = copy.mutable_view();
  reference::ForEachIndex(view.layout.sizes, [&](const Dims& index) {
    reference::SetBitsAt(target, index, reference::BitsAt(view, index));
  });
  return copy;
}

template <typename... Ts>
std::vector<DataType> TypesOf(TypeList<Ts...>) {
  return {kDataTypeOf<Ts>...};
}

// Names a test after its type.
inline std::string TypeName(const testing::TestParamInfo<DataType>& info) {
  return std::string(Name(info.param));
}

// Calls body(count) with the library limited to each of several numbers of threads.
template <typename Body>
void ForEachThreadCount(Body&& body) {
  const int before = ThreadCount();
  for (const int count : {1, 2, 3, 8}) {
    SetThreadCount(count);
    body(count);
  }
  SetThreadCount(before);
}

}  // namespace dmlop
