// SPDX-License-Identifier: Apache-2.0
// Operators with indices, on tensors large enough for several threads: the last of several updates
// of a place wins, whatever the threads.

#include <gtest/gtest.h>

#include "tests/reference/element.h"
#include "tests/support/desc.h"
#include "tests/support/operator_call.h"
#include "tests/support/random_tensor.h"
#include "tests/support/settings.h"

namespace dmlop {
namespace {

constexpr int kThreads[] = {1, 2, 3, 8};

TestTensor Filled(const Layout& layout, DataType type = DataType::kUint32) {
  TestTensor tensor(type, layout, 1);
  Engine engine = CaseEngine(0);
  FillRandomly(engine, tensor);
  return tensor;
}

// Indices below a size, many of them equal.
TestTensor Indices(const Dims& sizes, int64_t size) {
  TestTensor indices(DataType::kInt64, PackedLayout(sizes));
  Engine engine = CaseEngine(1);
  reference::ForEachIndex(sizes, [&](const Dims& index) {
    const int64_t value = UniformInt(engine, 0, static_cast<int>(size) - 1);
    reference::SetBitsAt(indices.mutable_view(), index, static_cast<uint64_t>(value));
  });
  return indices;
}

class IndexThreads : public testing::Test {
 protected:
  // Runs the call with several numbers of threads.
  void ExpectOutput(const OperatorCall& fresh, const TestTensor& expected) {
    for (const int threads : kThreads) {
      SetThreadCount(threads);
      OperatorCall call = fresh;
      call.Run();
      ASSERT_TRUE(HaveSameElements(call.outputs[0], expected)) << threads << " threads";
      ASSERT_TRUE(call.outputs[0].GuardsAreIntact()) << threads << " threads";
    }
  }

  void ExpectReference(const OperatorCall& fresh) {
    SetThreadCount(1);
    OperatorCall first = fresh;
    ASSERT_TRUE(RunsLikeReference(first));
    ExpectOutput(fresh, first.outputs[0]);
  }

 private:
  SettingsGuard guard_;
};

// Rows of `row` elements, written one after another to places in a vector of rows.
struct Rows {
  int64_t places;
  int64_t updates;
  int64_t row;
  int64_t gap = 0;  // after each row of the output
};

void ScatterInOrder(const Rows& rows, const TestTensor& indices, const TestTensor& updates,
                    TestTensor& output) {
  for (int64_t update = 0; update < rows.updates; ++update) {
    const auto place = static_cast<int64_t>(reference::BitsAt(indices.view(), {update, 0}));
    for (int64_t i = 0; i < rows.row; ++i) {
      reference::SetBitsAt(output.mutable_view(), {place, i},
                           reference::BitsAt(updates.view(), {update, i}));
    }
  }
}

OperatorDesc Tuples(std::string_view name) {
  OperatorDesc desc = OperatorNamed(name);
  Set(desc, "InputDimensionCount", 2);
  Set(desc, "IndicesDimensionCount", 2);
  return desc;
}

TEST_F(IndexThreads, TheLastUpdateWins) {
  const Rows kRows[] = {{100, 300000, 1}, {50, 20000, 7}, {40, 9000, 5, 3}, {2, 3, 262200}};
  for (const Rows& rows : kRows) {
    const Layout layout{{rows.places, rows.row}, {rows.row + rows.gap, 1}};
    const TestTensor input = Filled(PackedLayout(layout.sizes));
    const TestTensor indices = Indices({rows.updates, 1}, rows.places);
    const TestTensor updates = Filled(PackedLayout({rows.updates, rows.row}));
    const TestTensor output(input.type(), layout, 2);
    TestTensor expected = output;
    CopyElements(input, expected);
    ScatterInOrder(rows, indices, updates, expected);
    ExpectOutput(MakeCall(Tuples("SCATTER_ND"), {input, indices, updates}, {output}), expected);
  }
}

TEST_F(IndexThreads, TheLastElementWinsAlongEachAxis) {
  for (const uint32_t axis : {0u, 1u}) {
    const Dims sizes = axis == 0 ? Dims{60, 3000} : Dims{3000, 60};
    Dims of_updates = sizes;
    of_updates[axis] = 90;
    OperatorDesc desc = OperatorNamed("SCATTER");
    Set(desc, "Axis", axis);
    ExpectReference(MakeCall(desc,
                             {Filled(PackedLayout(sizes)), Indices(of_updates, sizes[axis]),
                              Filled(PackedLayout(of_updates))},
                             {TestTensor(DataType::kUint32, {sizes, {sizes[1] + 3, 1}}, 1)}));
  }
}

TEST_F(IndexThreads, TheLastElementWinsWhereAllHaveOneIndex) {
  const Dims sizes = {3, 40000};
  TestTensor indices(DataType::kInt32, {sizes, {0, 0}});
  reference::SetBitsAt(indices.mutable_view(), {0, 0}, 17);
  const TestTensor input = Filled(PackedLayout({3, 50}));
  const TestTensor updates = Filled(PackedLayout(sizes));
  TestTensor expected = input;
  for (int64_t row = 0; row < 3; ++row) {
    reference::SetBitsAt(expected.mutable_view(), {row, 17},
                         reference::BitsAt(updates.view(), {row, sizes[1] - 1}));
  }
  OperatorDesc desc = OperatorNamed("SCATTER");
  Set(desc, "Axis", 1);
  const TestTensor output(input.type(), input.layout());
  ExpectOutput(MakeCall(desc, {input, indices, updates}, {output}), expected);
}

TEST_F(IndexThreads, TheLastPooledElementWins) {
  const Dims sizes = {1, 2, 200, 100};
  const Layout layout{{1, 2, 10, 11}, {256, 127, 12, 1}};
  TestTensor indices(DataType::kUint64, PackedLayout(sizes));
  CopyElements(Indices(sizes, 225), indices);  // five of them are out of range
  const TestTensor input = Filled(PackedLayout(sizes));
  const TestTensor output(input.type(), layout, 1);
  TestTensor expected = output;
  reference::ForEachIndex(layout.sizes, [&](const Dims& index) {
    reference::SetBitsAt(expected.mutable_view(), index, 0);
  });
  reference::ForEachIndex(sizes, [&](const Dims& index) {
    const auto place = static_cast<int64_t>(reference::BitsAt(indices.view(), index));
    if (place >= Product(layout.sizes)) return;
    reference::SetBitsAt(expected.mutable_view(), IndexOf(layout.sizes, place),
                         reference::BitsAt(input.view(), index));
  });
  ExpectOutput(MakeCall(OperatorNamed("MAX_UNPOOLING"), {input, indices}, {output}), expected);
}

TEST_F(IndexThreads, GathersRowsOfAnyLength) {
  const Rows kRows[] = {
      {1000, 20000, 1}, {300, 2000, 16}, {200, 2000, 5, 1}, {300, 17000, 125}, {2, 1, 262200}};
  for (const Rows& rows : kRows) {
    const Layout from{{rows.places, rows.row}, {rows.row + rows.gap, 1}};
    ExpectReference(
        MakeCall(Tuples("GATHER_ND"), {Filled(from), Indices({rows.updates, 1}, rows.places)},
                 {TestTensor(DataType::kUint32, PackedLayout({rows.updates, rows.row}), 3)}));
  }
}

// The rows after the last nonzero element are zero.
TEST_F(IndexThreads, NonzeroElementsAreCountedAcrossBlocks) {
  const Dims sizes = {41, 701};
  TestTensor input(DataType::kUint8, {sizes, {1, 41}});
  std::vector<Dims> rows;
  reference::ForEachIndex(sizes, [&](const Dims& index) {
    const bool is_zero = (index[0] * 7 + index[1] * index[1]) % 3 == 0;
    reference::SetBitsAt(input.mutable_view(), index, is_zero ? 0 : 5);
    if (!is_zero) rows.push_back(index);
  });
  const Dims of_output = {Product(sizes), 2};
  TestTensor expected(DataType::kUint32, PackedLayout(of_output));
  reference::ForEachIndex(of_output, [&](const Dims& index) {
    const size_t row = static_cast<size_t>(index[0]);
    const int64_t value = row < rows.size() ? rows[row][static_cast<size_t>(index[1])] : 0;
    reference::SetBitsAt(expected.mutable_view(), index, static_cast<uint64_t>(value));
  });
  const TestTensor count(DataType::kUint32, PackedLayout({1, 1}));
  const TestTensor coordinates(DataType::kUint32, PackedLayout(of_output));
  for (const int threads : kThreads) {
    SetThreadCount(threads);
    OperatorCall call =
        MakeCall(OperatorNamed("NONZERO_COORDINATES"), {input}, {count, coordinates});
    call.Run();
    ASSERT_EQ(reference::BitsAt(call.outputs[0].view(), {0, 0}), rows.size());
    ASSERT_TRUE(HaveSameElements(call.outputs[1], expected)) << threads << " threads";
  }
}

TEST_F(IndexThreads, RandomNumbersDependOnTheirPlaceOnly) {
  ExpectReference(MakeCall(OperatorNamed("RANDOM_GENERATOR"), {Filled(PackedLayout({6}))},
                           {TestTensor(DataType::kUint32, {{301, 103}, {1, 302}})}));
}

TEST_F(IndexThreads, SequencesAreScannedSideBySide) {
  for (const DataType type : {DataType::kInt64, DataType::kFloat32, DataType::kFloat16}) {
    for (const uint32_t axis : {0u, 1u}) {
      const Dims sizes = axis == 0 ? Dims{15, 700} : Dims{700, 15};
      OperatorDesc desc = OperatorNamed("CUMULATIVE_SUMMATION");
      Set(desc, "Axis", axis);
      Set(desc, "AxisDirection", 1);
      Set(desc, "HasExclusiveSum", false);
      ExpectReference(MakeCall(desc, {Filled(PackedLayout(sizes), type)},
                               {TestTensor(type, PackedLayout(sizes))}));
    }
  }
}

}  // namespace
}  // namespace dmlop
