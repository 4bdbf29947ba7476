// The elements that REDUCE puts together, one after another.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "core/base/progress.h"
#include "core/explain/data_flow.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Elements of an input that a reduction takes together.
struct Group {
  const std::string& tensor;  // which it is, for people
  const Region& box;
  const ConstTensorView& view;  // of the box alone

  int64_t count() const { return box.count(); }

  std::string NameOf(int64_t k) const {
    return fmt::format("{}[{}]", tensor, fmt::join(box.IndexAt(k), ", "));
  }
};

// Calls visit(k, x) for each element in row-major order.
template <typename T, typename Visitor>
void ForEach(const Group& group, Visitor&& visit) {
  const LoopNest<1> nest = Merged<1>({group.view.layout.sizes, {group.view.layout.strides}});
  const T* elements = group.view.elements<T>();
  Walk<1> walk(nest, 0);
  constexpr int64_t kStep = 1 << 12;
  for (int64_t k = 0; k < group.count(); ++k, walk.Next()) {
    visit(k, elements[walk.offset(0)]);
    if (k % kStep == 0) AddDone(std::min(kStep, group.count() - k) * int64_t{sizeof(T)});
  }
}

}  // namespace dmlop
