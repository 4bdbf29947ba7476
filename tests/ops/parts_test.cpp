// SPDX-License-Identifier: Apache-2.0
// JOIN and SPLIT of narrow and wide parts of every element width, on every instruction set, and
// UNFOLD in the forms that its loop distinguishes.

#include <gtest/gtest.h>

#include "tests/support/desc.h"
#include "tests/support/on_isa.h"
#include "tests/support/operator_call.h"
#include "tests/support/random_tensor.h"

namespace dmlop {
namespace {

constexpr DataType kTypes[] = {DataType::kUint8, DataType::kFloat16, DataType::kFloat32,
                               DataType::kInt64};

class PartsOnIsa : public OnIsa {};

INSTANTIATE_TEST_SUITE_P(Isas, PartsOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

// Rows of `columns` columns with a gap after each.
Layout Rows(int64_t rows, int64_t columns, int64_t gap) {
  return {{rows, columns}, {columns + gap, 1}};
}

TestTensor Filled(DataType type, const Layout& layout) {
  TestTensor tensor(type, layout, 1);
  Engine engine = CaseEngine(0);
  FillRandomly(engine, tensor);
  return tensor;
}

struct Parts {
  DataType type;
  int64_t rows;
  std::vector<int64_t> columns;
  int64_t part_gap = 0;
  int64_t whole_gap = 0;
};

int64_t Sum(const std::vector<int64_t>& values) {
  int64_t sum = 0;
  for (const int64_t value : values) sum += value;
  return sum;
}

void ExpectJoins(const Parts& parts) {
  std::vector<TestTensor> inputs;
  for (const int64_t columns : parts.columns) {
    inputs.push_back(Filled(parts.type, Rows(parts.rows, columns, parts.part_gap)));
  }
  OperatorDesc desc = OperatorNamed("JOIN");
  Set(desc, "Axis", 1);
  Set(desc, "InputTensors", std::vector<TensorDesc>(parts.columns.size()));
  const Layout whole = Rows(parts.rows, Sum(parts.columns), parts.whole_gap);
  OperatorCall call = MakeCall(desc, inputs, {TestTensor(parts.type, whole, 3)});
  ASSERT_TRUE(RunsLikeReference(call));
}

void ExpectSplits(const Parts& parts) {
  std::vector<TestTensor> outputs;
  for (const int64_t columns : parts.columns) {
    outputs.emplace_back(parts.type, Rows(parts.rows, columns, parts.part_gap), columns);
  }
  OperatorDesc desc = OperatorNamed("SPLIT");
  Set(desc, "Axis", 1);
  Set(desc, "OutputTensors", std::vector<TensorDesc>(parts.columns.size()));
  const Layout whole = Rows(parts.rows, Sum(parts.columns), parts.whole_gap);
  OperatorCall call = MakeCall(desc, {Filled(parts.type, whole)}, outputs);
  ASSERT_TRUE(RunsLikeReference(call));
}

void ExpectJoinsAndSplits(const Parts& parts) {
  ExpectJoins(parts);
  ExpectSplits(parts);
}

const std::vector<int64_t> kColumns[] = {{1, 1},
                                         {1, 1, 1},
                                         {1, 1, 1, 1},
                                         {2, 2},
                                         {3, 1},
                                         {3, 5, 7},
                                         {4, 12},
                                         {5, 1, 2},
                                         {16, 16},
                                         {1, 30},
                                         {17, 2},
                                         {33, 31, 1},
                                         {8, 8},
                                         {1, 2, 300},
                                         {70, 50},
                                         {6, 6, 6},
                                         std::vector<int64_t>(20, 3),
                                         std::vector<int64_t>(16, 1),
                                         std::vector<int64_t>(70, 1)};

// Numbers of rows that end in a partial block.
TEST_P(PartsOnIsa, OfAnyWidth) {
  for (const DataType type : kTypes) {
    for (const std::vector<int64_t>& columns : kColumns) {
      if (!IsInShare()) continue;
      ExpectJoinsAndSplits({type, 1, columns});
      ExpectJoinsAndSplits({type, 1037, columns});
    }
  }
}

TEST_P(PartsOnIsa, WithGaps) {
  for (const DataType type : kTypes) {
    for (const std::vector<int64_t>& columns : kColumns) {
      if (!IsInShare()) continue;
      if (Sum(columns) > 60) continue;  // the shapes of rows make no difference there
      ExpectJoinsAndSplits({type, 1031, columns, 1, 0});
      ExpectJoinsAndSplits({type, 1033, columns, 0, 3});
    }
  }
}

struct Windows {
  Dims input;  // N, C, spatial sizes
  std::vector<uint32_t> sizes, strides, dilations, padding;
};

const Windows kWindows[] = {
    {{2, 3, 7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},    // shifted planes
    {{2, 3, 5, 70}, {3, 5}, {1, 1}, {2, 2}, {2, 4}},   // the same, dilated
    {{1, 2, 20, 9}, {3, 3}, {1, 1}, {1, 1}, {0, 0}},   // rows
    {{1, 2, 8, 8}, {1, 1}, {1, 1}, {1, 1}, {2, 3}},    // every tap sees more than padding
    {{1, 1, 3, 3}, {7, 7}, {1, 1}, {1, 1}, {5, 5}},    // some taps see only padding
    {{2, 3, 40, 45}, {7, 7}, {2, 2}, {1, 1}, {3, 3}},  // strided columns
    {{1, 2, 31, 200}, {3, 4}, {1, 3}, {1, 2}, {1, 5}},
    {{1, 2, 16, 16}, {4, 4}, {4, 4}, {1, 1}, {0, 0}},
    {{1, 1, 3, 9000}, {1, 3}, {1, 2}, {1, 1}, {0, 1}},  // rows longer than a piece
    {{2, 3, 64}, {3}, {1}, {1}, {1}},                   // lines
    {{1, 2, 333}, {5}, {3}, {2}, {6}},
    {{1, 2, 4, 9, 11}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    {{1, 2, 5, 9, 40}, {3, 2, 3}, {2, 1, 2}, {1, 1, 1}, {1, 0, 1}},
    {{1, 1, 2, 92, 93}, {2, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},  // strips of planes
};

int64_t Blocks(const Windows& windows, size_t d) {
  return (windows.input[d + 2] + 2 * windows.padding[d] -
          windows.dilations[d] * (windows.sizes[d] - 1) - 1) /
             windows.strides[d] +
         1;
}

// Each row of the output is followed by `gap` elements.
void ExpectUnfolds(const Windows& windows, DataType type, const Layout& from, int64_t output_stride,
                   int64_t gap) {
  OperatorDesc desc = OperatorNamed("UNFOLD");
  Set(desc, "WindowSizes", windows.sizes);
  Set(desc, "Strides", windows.strides);
  Set(desc, "Dilations", windows.dilations);
  for (const char* field : {"StartPadding", "EndPadding"}) Set(desc, field, windows.padding);
  Dims sizes = {windows.input[0], windows.input[1], 1};
  for (size_t d = 0; d < windows.sizes.size(); ++d) {
    sizes[1] *= windows.sizes[d];
    sizes[2] *= Blocks(windows, d);
  }
  Layout to{sizes, PackedStrides({sizes[0], sizes[1], sizes[2] + gap})};
  for (int64_t& stride : to.strides) stride *= output_stride;
  OperatorCall call = MakeCall(desc, {Filled(type, from)}, {TestTensor(type, to, 3)});
  ASSERT_TRUE(RunsLikeReference(call));
}

TEST_P(PartsOnIsa, UnfoldOfEveryForm) {
  for (const DataType type : kTypes) {
    for (const Windows& windows : kWindows) {
      const Layout packed = PackedLayout(windows.input);
      const Layout reversed{windows.input, FortranStrides(windows.input)};  // tap by tap
      Layout with_gaps = packed;
      for (int64_t& stride : with_gaps.strides) stride *= 2;
      for (const Layout& from : {packed, reversed, with_gaps}) {
        for (const auto& [stride, gap] : {std::pair{1, 0}, {1, 5}, {2, 0}}) {
          if (IsInShare()) ExpectUnfolds(windows, type, from, stride, gap);
        }
      }
    }
  }
}

}  // namespace
}  // namespace dmlop
