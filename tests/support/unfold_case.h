// SPDX-License-Identifier: Apache-2.0
// Cases of UNFOLD for parameterized tests.
#pragma once

#include <string>
#include <vector>

#include "tests/support/desc.h"
#include "tests/support/operator_call.h"
#include "tests/support/random_tensor.h"

namespace dmlop {

struct UnfoldCase {
  std::string name;
  DataType type;
  Dims sizes;  // N, C, spatial sizes
  std::vector<uint32_t> windows, strides, dilations, start_padding, end_padding;
  Dims blocks;
};

// The call for a random input, with packed tensors; the output is `offset` elements into its
// memory.
inline OperatorCall UnfoldCall(const UnfoldCase& c, int64_t offset, Engine& engine) {
  OperatorDesc desc = OperatorNamed("UNFOLD");
  Set(desc, "WindowSizes", c.windows);
  Set(desc, "Strides", c.strides);
  Set(desc, "Dilations", c.dilations);
  Set(desc, "StartPadding", c.start_padding);
  Set(desc, "EndPadding", c.end_padding);
  TestTensor input(c.type, PackedLayout(c.sizes), 1);
  FillRandomly(engine, input);
  int64_t taps = 1;
  for (const uint32_t window : c.windows) taps *= window;
  const Layout columns = PackedLayout({c.sizes[0], c.sizes[1] * taps, Product(c.blocks)});
  return MakeCall(desc, {input}, {TestTensor(c.type, columns, offset)});
}

}  // namespace dmlop
